"""LETOR files, TREC runs and TREC judgements as named columns."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse as sp

from peckorder._core.errors import name_caller, named, refusal
from peckorder._core.text_files import most_bytes
from peckorder._core.typing import Array, Ints, SparseMatrix
from peckorder.datasets import Documents, iter_letor, load_letor, load_qrels, load_run
from peckorder.exceptions import DataError
from peckorder.tables.columns import Columns
from peckorder.tables.files.source import Inflated, text_of

TARGET, QID, DOCID, COMMENT = "target", "qid", "docid", "comment"
# Larger dense tables are refused.
_MAX_CELLS = 1 << 29
_MAX_FEATURES = 1 << 20
# What rankers need for each feature, even of sparse rows.
_BYTES_PER_FEATURE = 256
MOST_FEATURES = 2**31 - 1
ONE_LIST = "No line has a query, as in qid:7; all rows are one list."
# Columns that `rank` adds.
_ADDED = ("score", "position", "gap", "above_cut")
_COMMENT_FIELD = re.compile(r"(\w+) = ([^,]*?)(?:, |$)")


def read_letor(file: Inflated) -> Documents:
    """Read all of a LETOR file; the features are sparse if most are absent."""
    with _named_after(file):
        documents = load_letor(text_of(file), comments=True)
        most = max(_MAX_FEATURES, most_bytes(documents.X.data.nbytes) // _BYTES_PER_FEATURE)
        if documents.X.shape[1] > most:
            rule = f"be numbered up to {most} in a file of this size"
            raise refusal("features", rule, documents.X.shape[1])
        return documents


def iter_letor_documents(file: Inflated, rows: int) -> Iterator[Documents]:
    """Yield the rows of a LETOR file in blocks with any number of sparse features."""
    options: dict[str, Any] = {"rows": rows, "sparse": True, "comments": True}
    with _named_after(file):
        yield from iter_letor(text_of(file), n_features=MOST_FEATURES, **options)


def documents_to_columns(
    source: str, documents: Documents, features: int | Sequence[int] | None
) -> Columns:
    """Return documents as columns: the first features, or selected ones, or all.

    `features` is how many, or the numbers of sparse ones in ascending order.
    """
    X = documents.X
    if isinstance(features, int):
        X = X[:, :features]
    elif features is not None:
        X = _select_columns(X, np.asarray(features, dtype=np.int64) - 1)
    n_rows, n_columns = X.shape
    most = _MAX_CELLS
    if sp.issparse(X) and not isinstance(features, Sequence):
        most = min(most, most_bytes(X.data.nbytes) // 8)
    if n_rows * n_columns > most or n_columns > _MAX_FEATURES:
        rule = f"be at most {most} for this, and features {_MAX_FEATURES}"
        with named(source):
            raise refusal("rows times features", rule, f"{n_rows} times {n_columns}")
    all_numbers = range(1, n_columns + 1)
    numbers = features if isinstance(features, Sequence) else all_numbers
    dense = X.toarray() if sp.issparse(X) else X
    arrays: dict[str, Array] = {TARGET: whole_numbers(documents.y)}
    if documents.qid is not None:
        arrays[QID] = _objects(documents.qid)
    notes = () if QID in arrays else (ONE_LIST,)
    arrays |= {str(number): dense[:, k] for k, number in enumerate(numbers)}
    comment_columns = _comment_columns(documents.comments)
    if comment_columns:
        arrays |= comment_columns
    elif documents.docid is not None:
        arrays[DOCID] = _objects(documents.docid)
    elif documents.comments is not None and any(documents.comments):
        arrays[COMMENT] = _objects(documents.comments)
    return Columns(arrays, source, notes)


def _select_columns(X: SparseMatrix, columns: Ints) -> SparseMatrix:
    """Return columns, in ascending order, of sparse rows.

    SciPy's own indexing takes memory for every column that may exist.
    """
    position = np.searchsorted(columns, X.indices)
    is_selected = np.append(columns, -1)[position] == X.indices
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    cells = X.data[is_selected], (row[is_selected], position[is_selected])
    selected: SparseMatrix = sp.csr_array(cells, shape=(X.shape[0], len(columns)))
    return selected


def _comment_columns(comments: Array | None) -> dict[str, Array]:
    """Return the columns that `rank` writes as ``# score = 1.5, position = 2``.

    Empty unless all comments have these fields.
    """
    if comments is None or not len(comments):
        return {}
    rows = [_COMMENT_FIELD.findall(comment) for comment in comments]
    names = [name for name, _ in rows[0]]
    if "score" not in names or any([n for n, _ in row] != names for row in rows):
        return {}
    cells = zip(*([cell for _, cell in row] for row in rows), strict=True)
    return {
        name: _numbers(texts) if name in _ADDED else np.array(texts, dtype=object)
        for name, texts in zip(names, cells, strict=True)
    }


def _numbers(texts: tuple[str, ...]) -> Array:
    return whole_numbers(np.array([float(t) if t else np.nan for t in texts]))


def run_columns(file: Inflated) -> Columns:
    """Read a TREC run: qid, docid, rank, score and tag."""
    with _named_after(file):
        run = load_run(text_of(file))
    arrays = {
        QID: _objects(run.qid),
        DOCID: _objects(run.docid),
        "rank": run.rank,
        "score": run.score,
        "tag": _objects(run.tag),
    }
    return Columns(arrays, file.source)


def qrels_columns(file: Inflated) -> Columns:
    """Read TREC judgements: qid, docid and grade."""
    with _named_after(file):
        qrels = load_qrels(text_of(file))
    arrays = {QID: _objects(qrels.qid), DOCID: _objects(qrels.docid), "grade": qrels.grade}
    return Columns(arrays, file.source)


@contextmanager
def _named_after(file: Inflated) -> Iterator[None]:
    """Let refusals begin with the file, not with the public function that reads it."""
    try:
        yield
    except DataError as error:
        name_caller(error, file.source, override=True)
        raise


def whole_numbers(grades: Array) -> Array:
    """Return grades as integers if all are."""
    is_whole = np.isfinite(grades).all() and (np.trunc(grades) == grades).all()
    if is_whole and np.abs(grades).max(initial=0) < 2**53:
        return grades.astype(np.int64)
    return grades


def _objects(values: Array) -> Array:
    return values if values.dtype.kind in "iuf" else values.astype(object)
