"""Ranked lists: what systems list, what is known of it, and the two as one table."""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peckorder._core.typing import Floats, Ints, Labels
from peckorder._core.validation import Rule, one_of, optional
from peckorder.exceptions import DataError

IS_RUN = Rule("a Run", lambda value: isinstance(value, Run))
IS_QRELS = Rule("a Qrels", lambda value: isinstance(value, Qrels))
_FEATURE = one_of("reciprocal_rank", "score", "minus_rank")


@dataclass(frozen=True, slots=True, eq=False)
class Documents:
    """Documents of queries, one a row; unpacks as ``X, y, qid``.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n_rows, n_features)
        The features.
    y : ndarray of shape (n_rows,)
        The grades.
    qid : ndarray of shape (n_rows,) or None
        The queries; None where the source knows of none.
    docid : ndarray of shape (n_rows,) or None
        The names of the documents, if known.
    comments : ndarray of shape (n_rows,) or None
        What the source says about each row.

    Examples
    --------
    >>> import io
    >>> from peckorder.datasets import load_letor
    >>> documents = load_letor(io.StringIO("2 qid:1 1:0.5 #docid = GX0"), comments=True)
    >>> X, y, qid = documents
    >>> documents.docid.tolist()
    ['GX0']
    """

    X: Any
    y: Floats
    qid: Labels | None
    docid: Labels | None = None
    comments: Labels | None = None

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y, self.qid))

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """What one system lists for some queries: a TREC run, one document a row.

    Parameters
    ----------
    qid, docid : array-like of shape (n_rows,)
        The query and the document; kept as text, as in a file.
    score : array-like of shape (n_rows,)
        Larger is better.
    rank : array-like of shape (n_rows,), default=None
        The places a file gives. None: places from 1 on by falling score within each
        query, equal scores in the order of rows.
    tag : str or array-like of shape (n_rows,), default="peckorder"
        The name of the system.

    Examples
    --------
    >>> from peckorder.datasets import Run
    >>> Run(["a", "a", "b"], ["d1", "d2", "d1"], [0.1, 0.7, 0.3]).rank
    array([2, 1, 1])
    """

    qid: Labels
    docid: Labels
    score: Floats
    rank: Ints = None  # type: ignore[assignment]
    tag: Labels = "peckorder"  # type: ignore[assignment]

    def __post_init__(self) -> None:
        qid = _words("Run", "qid", self.qid)
        docid = _words("Run", "docid", self.docid)
        score = _numbers("Run", "score", self.score).astype(np.float64)
        given: Any = self.rank
        if given is None:
            # Columns of other lengths are refused when they are stored.
            is_even = len(score) == len(qid)
            given = _places(qid, score) if is_even else np.arange(len(qid))
        rank = np.asarray(given)
        if rank.dtype.kind not in "iu":
            raise DataError(f"Run: rank must be integers; got {rank.dtype} values.")
        tag: Any = self.tag
        tag = _words("Run", "tag", [tag] * len(qid) if isinstance(tag, str) else tag)
        _store("Run", self, qid=qid, docid=docid, score=score, rank=rank, tag=tag)

    def __len__(self) -> int:
        return len(self.qid)


@dataclass(frozen=True, slots=True, eq=False)
class Qrels:
    """What is known of documents: TREC judgements, one document a row.

    Parameters
    ----------
    qid, docid : array-like of shape (n_rows,)
        The query and the document; kept as text, as in a file.
    grade : array-like of shape (n_rows,)
        Larger is better; a document without a row is not judged.

    Examples
    --------
    >>> from peckorder.datasets import Qrels
    >>> len(Qrels(["a", "a"], ["d1", "d2"], [0, 2]))
    2
    """

    qid: Labels
    docid: Labels
    grade: Ints | Floats

    def __post_init__(self) -> None:
        qid = _words("Qrels", "qid", self.qid)
        docid = _words("Qrels", "docid", self.docid)
        grade = _numbers("Qrels", "grade", self.grade)
        _store("Qrels", self, qid=qid, docid=docid, grade=grade)

    def __len__(self) -> int:
        return len(self.qid)


def from_runs(
    runs: Mapping[str, Run] | Iterable[Run],
    qrels: Qrels | None = None,
    *,
    feature: str = "reciprocal_rank",
) -> Documents:
    """Put several ranked lists side by side: a row a document, a column a run.

    A run that does not list a document abstains: NaN. The place of a document in a
    run is 1 plus the number of documents of its query with a higher score; where
    scores are equal, the run's own ranks decide, then the order of its rows.
    O(n log n) for n rows of all runs.

    Parameters
    ----------
    runs : mapping of names to Run, or iterable of Run
        The columns, in this order.
    qrels : Qrels, default=None
        The grades. Documents that no run lists are left out.
    feature : {"reciprocal_rank", "score", "minus_rank"}, default="reciprocal_rank"
        What stands in a cell: 1 / place, the run's own score, or -place. In all of
        them larger is better.

    Returns
    -------
    documents : Documents
        ``X, y, qid`` with the `docid` of each row. Queries, and the documents of a
        query, stand in the order in which they are first listed; grades of documents
        that are not judged are 0.

    Examples
    --------
    >>> from peckorder.datasets import Qrels, Run, from_runs
    >>> runs = {
    ...     "old": Run(["q", "q"], ["a", "b"], [9.0, 8.0]),
    ...     "new": Run(["q", "q"], ["c", "a"], [0.7, 0.6]),
    ... }
    >>> documents = from_runs(runs, Qrels(["q"], ["c"], [2]))
    >>> documents.docid.tolist(), documents.y.tolist()
    (['a', 'b', 'c'], [0.0, 0.0, 2.0])
    >>> documents.X
    array([[1. , 0.5],
           [0.5, nan],
           [nan, 1. ]])
    """
    _FEATURE.check("from_runs", "feature", feature)
    listed = _listed(runs)
    optional(IS_QRELS).check("from_runs", "qrels", qrels)
    if qrels is None:
        qrels = Qrels([], [], [])  # type: ignore[arg-type]
    sizes = [len(run) for run in listed.values()]
    n_listed = sum(sizes)
    tables: list[Run | Qrels] = [*listed.values(), qrels]
    queries, query = np.unique(
        np.concatenate([table.qid for table in tables]), return_inverse=True
    )
    names, name = np.unique(
        np.concatenate([table.docid for table in tables]), return_inverse=True
    )
    pair = query * len(names) + name
    pairs, first, row = np.unique(
        pair[:n_listed], return_index=True, return_inverse=True
    )
    column = np.repeat(np.arange(len(sizes)), sizes)
    _check_once(listed, row, column)
    grade, judged = _grades(qrels, pair[n_listed:])

    first_of_query = np.full(len(queries), n_listed)
    np.minimum.at(first_of_query, query[:n_listed], np.arange(n_listed))
    order = np.lexsort((first, first_of_query[query[first]]))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))

    X = np.full((len(pairs), len(sizes)), np.nan)
    values = [_cells(run, feature) for run in listed.values()]
    X[place[row], column] = np.concatenate(values)
    y = np.zeros(len(pairs))
    if len(judged):
        at = np.minimum(np.searchsorted(judged, pairs), len(judged) - 1)
        is_judged = judged[at] == pairs
        if len(pairs) and not is_judged.any():
            warnings.warn(
                f"from_runs: none of the {len(pairs)} documents listed is judged, so "
                "that all grades are 0. Are queries and documents called the same in "
                "runs and qrels?",
                UserWarning,
                stacklevel=2,
            )
        y = np.where(is_judged, grade[at], 0.0)
    kept = first[order]
    return Documents(X, y[order], queries[query[kept]], names[name[kept]])


def _listed(runs: Any) -> dict[str, Run]:
    """Return the runs by name; those of a list are named by their place."""
    is_named = isinstance(runs, Mapping)
    if not is_named and (isinstance(runs, Run) or not isinstance(runs, Iterable)):
        rule = "a mapping of names to Run, or a list of Run"
        kind = type(runs).__name__
        raise ValueError(
            f"from_runs: runs must be {rule}; got an object of type {kind}."
        )
    listed = dict(runs) if is_named else {str(k): run for k, run in enumerate(runs)}
    if not listed:
        raise ValueError("from_runs: runs must be at least one Run; got none.")
    for name, run in listed.items():
        IS_RUN.check("from_runs", f"run {name!r}", run)
    return listed


def _check_once(listed: dict[str, Run], row: Ints, column: Ints) -> None:
    """Raise if a run lists a document twice for one query."""
    key = row * len(listed) + column
    order = np.argsort(key, kind="stable")
    again = order[1:][key[order[1:]] == key[order[:-1]]]
    if len(again):
        which = int(column[again[0]])
        name, run = list(listed.items())[which]
        at = int(again[0]) - sum(len(other) for other in list(listed.values())[:which])
        raise DataError(
            f"from_runs: run {name!r} must list a document once a query; got "
            f"{str(run.docid[at])!r} again for query {str(run.qid[at])!r}."
        )


def _grades(qrels: Qrels, pair: Ints) -> tuple[Floats, Ints]:
    """Return the grades in the order of the judged pairs, and these."""
    order = np.argsort(pair, kind="stable")
    judged = pair[order]
    again = order[1:][judged[1:] == judged[:-1]]
    if len(again):
        document, query = str(qrels.docid[again[0]]), str(qrels.qid[again[0]])
        raise DataError(
            "from_runs: qrels must judge a document once a query; got "
            f"{document!r} again for query {query!r}."
        )
    return qrels.grade[order].astype(np.float64), judged


def _cells(run: Run, feature: str) -> Floats:
    if feature == "score":
        return run.score
    place = _places(run.qid, run.score, run.rank).astype(np.float64)
    return 1 / place if feature == "reciprocal_rank" else -place


def _places(qid: Labels, score: Floats, rank: Ints | None = None) -> Ints:
    """Return places from 1 on by falling score within each query."""
    query = np.unique(qid, return_inverse=True)[1]
    keys = (-score, query) if rank is None else (rank, -score, query)
    order = np.lexsort(keys)
    begins = np.searchsorted(query[order], np.arange(query.max(initial=-1) + 1))
    place = np.empty(len(qid), dtype=np.int64)
    place[order] = 1 + np.arange(len(qid)) - begins[query[order]]
    return place


def _words(who: str, what: str, values: Any) -> Labels:
    """Return a column of text, each a word that a file can hold."""
    column: Labels = np.asarray(values)
    if column.ndim != 1:
        raise DataError(
            f"{who}: {what} must be one-dimensional; got an array of shape "
            f"{column.shape}."
        )
    column = column.astype(str)
    words = column.tolist()
    text = "\n".join(words).encode("utf-8", "surrogateescape")
    if words and (len(text.split()) != len(words) or text.split() != text.split(b"\n")):
        wrong = (word for word in words if _is_no_word(word))
        raise DataError(
            f"{who}: {what} must be words without spaces; got {next(wrong)!r}."
        )
    return column


def _is_no_word(text: str) -> bool:
    # Of bytes only ASCII white space counts, as when a file is read.
    encoded = text.encode("utf-8", "surrogateescape")
    return encoded.split() != [encoded]


def _numbers(who: str, what: str, values: Any) -> NDArray[Any]:
    """Return a column of finite numbers."""
    column: NDArray[Any] = np.asarray(values)
    if column.dtype.kind not in "iuf" and column.size:
        raise DataError(f"{who}: {what} must be numbers; got {column.dtype} values.")
    if column.ndim != 1:
        raise DataError(
            f"{who}: {what} must be one number per row; got an array of shape "
            f"{column.shape}."
        )
    if not np.isfinite(column).all():
        row = int(np.argmin(np.isfinite(column)))
        raise DataError(
            f"{who}: {what} must be finite; got {column[row]} in row {row}."
        )
    return column


def _store(who: str, owner: Any, **columns: NDArray[Any]) -> None:
    """Set the attributes of a frozen `owner`, of one length all."""
    n_rows = len(columns["qid"])
    for name, column in columns.items():
        if column.shape != (n_rows,):
            raise DataError(
                f"{who}: {name} must be one value a row, {n_rows} in all; got an array "
                f"of shape {column.shape}."
            )
        object.__setattr__(owner, name, column)
