"""Text files of learning to rank: the SVMlight format with queries, as in LETOR."""

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy import sparse as sp
from sklearn.utils import check_array, column_or_1d

from peckorder._core.errors import caller, entry, entry_named, refusal
from peckorder._core.text_files import Source, check_source, write_text
from peckorder._core.typing import Labels, Matrix, MatrixLike
from peckorder._core.validation import Rule, boolean, masked_as_nan, optional, unmasked, whole
from peckorder.datasets.formats.letor_compiled import scatter
from peckorder.datasets.formats.letor_reader import LetorBlock, LetorReader, join_labels, rechunk
from peckorder.datasets.formats.runs import Documents

# From this share of stored entries on, learning from a dense array is faster, and it is
# less than three times as large.
_DENSE = 0.25
_DOCID = re.compile(r"docid\s*=\s*(\S+)")


def _is_float(value: DTypeLike) -> bool:
    try:
        return np.dtype(value).name in ("float64", "float32")
    except TypeError:
        return False


DTYPE = Rule("float64 or float32", _is_float)
_ZERO_BASED = Rule("True, False or 'auto'", lambda value: boolean.accepts(value) or value == "auto")
MISSING = Rule("a number", lambda value: isinstance(value, int | float | np.number))
QID_DTYPE = Rule("None, int or str", lambda value: value in (None, int, str))
_RULES = {
    "n_features": optional(whole(1)),
    "dtype": DTYPE,
    "sparse": optional(boolean),
    "missing": MISSING,
    "qid_dtype": QID_DTYPE,
    "comments": boolean,
}


@entry
def load_letor(
    path: Source,
    *,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    sparse: bool | None = None,
    zero_based: bool | str = False,
    missing: float = np.nan,
    qid_dtype: type | None = None,
    comments: bool = False,
) -> Documents:
    r"""Read graded documents: lines of ``grade qid:ID index:value ... # comment``.

    Numbers are rounded correctly, as by Python's `float`. Indices may be in any order,
    each at most once per line. A feature without an index is 0; a value NULL (in files
    of rank aggregation: the ranker does not list the document) is `missing`. One
    compiled pass, O(bytes) time, in blocks of a few MB in addition to the result.

    Parameters
    ----------
    path : path or file
        Decompressed if it is a gzip file.
    n_features : int, default=None
        The number of columns. None: the highest index.
    dtype : {float64, float32}, default=float64
        Type of the features.
    sparse : bool, default=None
        Return a CSR array, or a dense one. None: dense if at least a quarter of the
        entries is stored.
    zero_based : bool or "auto", default=False
        Whether the first feature has the index 0 instead of 1. "auto": if the index 0
        occurs.
    missing : float, default=nan
        The value of NULL.
    qid_dtype : {None, int, str}, default=None
        Type of the queries. None: integers if all are written as such, else text.
    comments : bool, default=False
        Keep what follows ``#``, and the `docid` if each comment has one.

    Returns
    -------
    documents : Documents
        Unpacks as ``X, y, qid``; `qid` is None if no line has one.

    Raises
    ------
    DataError
        For the first malformed line, with its number.

    See Also
    --------
    iter_letor : Reads files that do not fit in memory.

    Examples
    --------
    >>> import io
    >>> from peckorder.datasets import load_letor
    >>> file = io.StringIO("2 qid:10 1:0.5 2:NULL #docid = GX0\n0 qid:10 2:-1e-3\n")
    >>> X, y, qid = load_letor(file)
    >>> X, y, qid
    (array([[ 0.5  ,    nan],
           [ 0.   , -0.001]]), array([2., 0.]), array([10, 10]))
    """
    _ZERO_BASED.check("zero_based", zero_based)
    reader = _reader(path, zero_based, n_features, dtype, sparse, missing, qid_dtype, comments)
    blocks = list(reader.blocks(path))
    if zero_based == "auto" and all(b.column.min(initial=1) > 0 for b in blocks):
        for block in blocks:
            np.subtract(block.column, 1, out=block.column)
    highest = max(int(block.column.max(initial=-1)) for block in blocks)
    width = highest + 1 if n_features is None else n_features
    if highest >= width:
        raise refusal("indices", f"be from 0 to {width - 1} where 0 is one of them", highest)
    return documents(blocks, width, dtype, sparse)


@entry
def iter_letor(
    path: Source,
    *,
    n_features: int,
    rows: int | None = None,
    dtype: DTypeLike = np.float64,
    sparse: bool = False,
    zero_based: bool = False,
    missing: float = np.nan,
    qid_dtype: type | None = None,
    comments: bool = False,
) -> Iterator[Documents]:
    r"""Read graded documents in parts, for `partial_fit`.

    The parts together are what `load_letor` returns. Memory does not grow with the
    file.

    Parameters
    ----------
    path, dtype, zero_based, missing, comments
        As in `load_letor`.
    n_features : int
        The number of columns.
    rows : int, default=None
        Documents per part; the last may have fewer. None: a few MB of text.
    sparse : bool, default=False
        Yield CSR arrays.
    qid_dtype : {None, int, str}, default=None
        Type of the queries. None: decided by the first part; text in a later part is an
        error then.

    Yields
    ------
    documents : Documents
        Unpacks as ``X, y, qid``. A query may continue in the next part.

    Examples
    --------
    >>> import io
    >>> from peckorder.datasets import iter_letor
    >>> file = io.StringIO("1 qid:1 1:0.5\n0 qid:1 1:0.25\n2 qid:2 1:4\n")
    >>> [y.tolist() for X, y, qid in iter_letor(file, n_features=1, rows=2)]
    [[1.0, 0.0], [2.0]]
    """
    whole(1).check("n_features", n_features)
    optional(whole(1)).check("rows", rows)
    boolean.check("sparse", sparse)
    boolean.check("zero_based", zero_based)
    reader = _reader(path, zero_based, n_features, dtype, sparse, missing, qid_dtype, comments)
    reader.first_block_decides = True
    parts = rechunk(reader.blocks(path), rows)
    return _documents_of(parts, n_features, dtype, sparse)


@entry_named("iter_letor")
def _documents_of(
    parts: Iterator[LetorBlock], n_features: int, dtype: DTypeLike, sparse: bool
) -> Iterator[Documents]:
    for part in parts:
        yield documents([part], n_features, dtype, sparse)


def documents(
    blocks: list[LetorBlock], width: int, dtype: DTypeLike, sparse: bool | None
) -> Documents:
    """Return the rows of all blocks with a dense or sparse matrix."""
    n_rows = sum(len(block) for block in blocks)
    n_entries = sum(len(block.column) for block in blocks)
    X: Matrix
    if sparse or (sparse is None and n_entries < _DENSE * n_rows * width):
        block = LetorBlock.join(blocks)
        value = block.value.astype(dtype, copy=False)
        # SciPy requires both index arrays to have one type.
        pointer = np.int32 if n_entries < 2**31 else np.int64
        pointers = [p.astype(pointer, copy=False) for p in (block.column, block.ends)]
        X = sp.csr_array((value, *pointers), shape=(n_rows, width))
    else:
        X = np.zeros((n_rows, width), dtype=dtype)
        begin = 0
        for block in blocks:
            rows = X[begin : begin + len(block)]
            scatter(block.column, block.value, block.ends, rows)
            begin += len(block)
    comments = join_labels([block.comments for block in blocks])
    return Documents(
        X,
        np.concatenate([block.grade for block in blocks]),
        join_labels([block.qid for block in blocks]),
        None if comments is None else _docid(comments),
        comments,
    )


def _docid(comments: Labels) -> Labels | None:
    """Return the names of the documents if every comment has one."""
    matches = [_DOCID.search(comment) for comment in comments]
    docid = [match[1] for match in matches if match]
    return np.array(docid, dtype=str) if len(docid) == len(matches) else None


@entry
def dump_letor(
    X: MatrixLike,
    y: ArrayLike,
    path: str | os.PathLike[str],
    *,
    qid: ArrayLike | None = None,
    comments: Sequence[str] | None = None,
    zero_based: bool = False,
) -> None:
    r"""Write graded documents in the format of `load_letor`; atomically.

    Numbers are read back exactly. NaN is written as NULL. All entries of a dense `X`
    are written, of a sparse one those stored.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, n_features)
        The features.
    y : array-like of shape (n_rows,)
        The grades.
    path : path
        Compressed if its name ends in ``.gz``.
    qid : array-like of shape (n_rows,), default=None
        The queries: integers, or words without spaces and ``#``.
    comments : sequence of str, default=None
        One line of text per row.
    zero_based : bool, default=False
        Give the first feature the index 0.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from peckorder.datasets import dump_letor
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "train.txt"
    ...     dump_letor([[0.5, float("nan")]], [2], file, qid=[10], comments=["G7"])
    ...     file.read_text()
    '2 qid:10 1:0.5 2:NULL #G7\n'
    """
    boolean.check("zero_based", zero_based)
    matrix = check_array(
        masked_as_nan(X),
        accept_sparse="csr",
        dtype=np.float64,
        ensure_all_finite="allow-nan",
        ensure_min_samples=0,
        ensure_min_features=0,
        estimator=caller(),
    )
    if sp.issparse(matrix) and not matrix.has_canonical_format:
        # Duplicate entries would be written as two.
        matrix = matrix.copy()
        matrix.sum_duplicates()
    grades = column_or_1d(
        check_array(
            unmasked("y", y),
            ensure_2d=False,
            dtype=np.float64,
            ensure_min_samples=0,
            input_name="y",
            estimator=caller(),
        )
    )
    columns = {"y": [_grade_text(grade) for grade in grades.tolist()]}
    if qid is not None:
        ids = np.asarray(unmasked("qid", qid)).tolist()
        columns["qid"] = [f"qid:{_checked_text('qid', q, is_word=True)}" for q in ids]
    if comments is not None:
        columns["comments"] = [_checked_text("comments", c) for c in comments]
    for name, column in columns.items():
        if len(column) != matrix.shape[0]:
            raise refusal(name, f"be one value per row, {matrix.shape[0]} in all", len(column))
    write_text(path, _lines(matrix, columns, 0 if zero_based else 1))


def _reader(path: Source, zero_based: bool | str, *values: Any) -> LetorReader:
    """Check the path and the values of the parameters in `_RULES`, in this order."""
    check_source(path)
    options = dict(zip(_RULES, values, strict=True))
    for name, rule in _RULES.items():
        rule.check(name, options[name])
    n_features = options["n_features"]
    return LetorReader(
        # With "auto", the base is known when all is read.
        base=0 if zero_based else 1,
        n_columns=n_features and n_features + (zero_based == "auto"),
        largest=float(np.finfo(options["dtype"]).max),
        missing=options["missing"],
        qid_dtype=options["qid_dtype"],
        keeps_comments=options["comments"],
    )


def _lines(X: Any, columns: dict[str, list[str]], base: int) -> Iterator[str]:
    comments = columns.pop("comments", None)
    heads = zip(*columns.values(), strict=True)
    all_keys = [f"{k}:" for k in range(base, X.shape[1] + base)]
    for row, head in enumerate(heads):
        if sp.issparse(X):
            stored = slice(X.indptr[row], X.indptr[row + 1])
            values = X.data[stored].tolist()
            keys = [all_keys[k] for k in X.indices[stored].tolist()]
        else:
            keys, values = all_keys, X[row].tolist()
        # Only NaN is not equal to itself.
        pairs = [
            f"{key}{value!r}" if value == value else f"{key}NULL"  # noqa: PLR0124
            for key, value in zip(keys, values, strict=True)
        ]
        comment = [] if comments is None else [f"#{comments[row]}"]
        yield " ".join([*head, *pairs, *comment]) + "\n"


def _grade_text(grade: float) -> str:
    return repr(int(grade)) if grade.is_integer() and abs(grade) < 2**53 else repr(grade)


def _checked_text(what: str, value: object, *, is_word: bool = False) -> str:
    text = str(value)
    refused = "\n\r #\t\0" if is_word else "\n\r"
    if any(mark in text for mark in refused) or (is_word and not text):
        rule = "words without spaces and '#'" if is_word else "lines of text"
        raise refusal(what, f"be {rule}", repr(text))
    return text
