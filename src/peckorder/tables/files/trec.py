"""LETOR files, TREC runs and TREC judgements as named columns."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from scipy import sparse as sp

from peckorder._core.errors import refusal
from peckorder._core.typing import Array, Ints, SparseMatrix
from peckorder.datasets import Documents, iter_letor, load_letor, load_qrels, load_run
from peckorder.exceptions import DataError
from peckorder.tables.columns import Columns
from peckorder.tables.files.source import Inflated, text_of

_T = TypeVar("_T")

TARGET, QID, DOCID, COMMENT = "target", "qid", "docid", "comment"
# As dense columns more than this would not be what anybody wants.
_MOST_CELLS = 1 << 29
_MOST_COLUMNS = 1 << 20
MOST_FEATURES = 2**31 - 1
_ONE_LIST = "No line has a query, as in qid:7; all rows are one list."
# What `rank` adds to rows.
_ADDED = ("score", "position", "gap", "above_cut")
_SAID = re.compile(r"(\w+) = ([^,]*?)(?:, |$)")


def letor_columns(file: Inflated) -> Columns:
    """Read a LETOR file: target, qid, features named 1, 2, ... and docid."""
    return documents_to_columns(read_letor(file), None)


def read_letor(file: Inflated) -> Documents:
    """Read a LETOR file whole; the features are sparse if most are absent."""
    source = text_of(file)
    return renamed("load_letor", lambda: load_letor(source, comments=True))


def iter_letor_documents(file: Inflated, rows: int) -> Iterator[Documents]:
    """Yield the rows of a LETOR file with sparse features, however many there are."""
    source = text_of(file)
    parts = iter_letor(
        source, n_features=MOST_FEATURES, rows=rows, sparse=True, comments=True
    )
    while True:
        part = renamed("iter_letor", lambda: next(parts, None))
        if part is None:
            return
        yield part


def documents_to_columns(
    documents: Documents, features: int | Sequence[int] | None
) -> Columns:
    """Return documents as columns: so many features, or some of sparse ones.

    Those are given by their numbers, in ascending order.
    """
    X = documents.X
    if isinstance(features, int):
        X = X[:, :features]
    elif features is not None:
        X = _picked(X, np.asarray(features, dtype=np.int64) - 1)
    n_rows, n_columns = X.shape
    if n_rows * n_columns > _MOST_CELLS or n_columns > _MOST_COLUMNS:
        raise refusal(
            "rows times features",
            f"be at most {_MOST_CELLS} for this, and features {_MOST_COLUMNS}",
            f"{n_rows} times {n_columns}",
        )
    every = range(1, n_columns + 1)
    numbers = features if isinstance(features, Sequence) else every
    dense = X.toarray() if sp.issparse(X) else X
    arrays: dict[str, Array] = {TARGET: whole_numbers(documents.y)}
    if documents.qid is not None:
        arrays[QID] = _objects(documents.qid)
    notes = () if QID in arrays else (_ONE_LIST,)
    arrays |= {str(number): dense[:, k] for k, number in enumerate(numbers)}
    said = _said(documents.comments)
    if said:
        arrays |= said
    elif documents.docid is not None:
        arrays[DOCID] = _objects(documents.docid)
    elif documents.comments is not None and any(documents.comments):
        arrays[COMMENT] = _objects(documents.comments)
    return Columns(arrays, who, notes)


def _picked(X: SparseMatrix, positions: Ints) -> SparseMatrix:
    """Return some columns, in ascending order, of sparse rows.

    By hand: SciPy would count all columns that there may be.
    """
    found = np.searchsorted(positions, X.indices)
    is_there = np.append(positions, -1)[found] == X.indices
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    cells = X.data[is_there], (row[is_there], found[is_there])
    picked: SparseMatrix = sp.csr_array(cells, shape=(X.shape[0], len(positions)))
    return picked


def _said(comments: Array | None) -> dict[str, Array]:
    """Return what `rank` writes behind ``#``, `score = 1.5, position = 2`, as columns.

    Nothing if it is not that in all rows.
    """
    if comments is None or not len(comments):
        return {}
    rows = [_SAID.findall(comment) for comment in comments]
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
    source = text_of(file)
    run = renamed("load_run", lambda: load_run(source))
    arrays = {
        QID: _objects(run.qid),
        DOCID: _objects(run.docid),
        "rank": run.rank,
        "score": run.score,
        "tag": _objects(run.tag),
    }
    return Columns(arrays, who)


def qrels_columns(file: Inflated) -> Columns:
    """Read TREC judgements: qid, docid and grade."""
    source = text_of(file)
    qrels = renamed("load_qrels", lambda: load_qrels(source))
    arrays = {
        QID: _objects(qrels.qid),
        DOCID: _objects(qrels.docid),
        "grade": qrels.grade,
    }
    return Columns(arrays, who)


def renamed(function: str, read: Callable[[], _T]) -> _T:
    """Read; let an error name the file, not the function of ours that read it."""
    try:
        return read()
    except DataError as error:
        raise DataError(str(error).replace(f"{function}: ", f"{who}: ", 1)) from None


def whole_numbers(grades: Array) -> Array:
    """Return grades as integers if all are."""
    is_whole = np.isfinite(grades).all() and (np.trunc(grades) == grades).all()
    if is_whole and np.abs(grades).max(initial=0) < 2**53:
        return grades.astype(np.int64)
    return grades


def _objects(values: Array) -> Array:
    return values if values.dtype.kind in "iuf" else values.astype(object)
