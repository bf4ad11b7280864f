"""Ranked lists of systems, judgements, and both as one table."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from peckorder._core.errors import entry, refusal, warn
from peckorder._core.text_files import ENCODING
from peckorder._core.typing import Array, Floats, Ints, Labels
from peckorder._core.validation import Rule, one_of, optional

IS_RUN = Rule("a Run", lambda value: isinstance(value, Run))
IS_QRELS = Rule("a Qrels", lambda value: isinstance(value, Qrels))
_FEATURE = one_of("reciprocal_rank", "score", "minus_rank")


@dataclass(frozen=True, slots=True, eq=False)
class Documents:
    """Documents of queries, one per row; unpacks as ``X, y, qid``.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n_rows, n_features)
        The features.
    y : ndarray of shape (n_rows,)
        The grades.
    qid : ndarray of shape (n_rows,) or None
        The queries; None if the source has none.
    docid : ndarray of shape (n_rows,) or None
        The names of the documents, if known.
    comments : ndarray of shape (n_rows,) or None
        The comments of the source.

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


@entry
@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """The ranked lists of one system: a TREC run, one document per row.

    Parameters
    ----------
    qid, docid : array-like of shape (n_rows,)
        The query and the document; kept as text, as in a file.
    score : array-like of shape (n_rows,)
        Larger is better.
    rank : array-like of shape (n_rows,), default=None
        The ranks in a file. None: ranks from 1 on by descending score within each
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
        qid, docid = _words("qid", self.qid), _words("docid", self.docid)
        score = _numbers("score", self.score).astype(np.float64)
        rank: Any = self.rank
        if rank is None:
            # Columns of other lengths are refused when they are stored.
            is_even = len(score) == len(qid)
            rank = _ranks(qid, score) if is_even else np.arange(len(qid))
        rank = np.asarray(rank)
        if rank.dtype.kind not in "iu":
            raise refusal("rank", "be integers", f"{rank.dtype} values")
        tag: Any = self.tag
        tag = _words("tag", [tag] * len(qid) if isinstance(tag, str) else tag)
        _store(self, qid=qid, docid=docid, score=score, rank=rank, tag=tag)

    def __len__(self) -> int:
        return len(self.qid)


@entry
@dataclass(frozen=True, slots=True, eq=False)
class Qrels:
    """Grades of documents: TREC judgements, one document per row.

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
        qid, docid = _words("qid", self.qid), _words("docid", self.docid)
        _store(self, qid=qid, docid=docid, grade=_numbers("grade", self.grade))

    def __len__(self) -> int:
        return len(self.qid)


@entry
def from_runs(
    runs: Mapping[str, Run] | Iterable[Run],
    qrels: Qrels | None = None,
    *,
    feature: str = "reciprocal_rank",
) -> Documents:
    """Combine ranked lists: one row per document, one column per run.

    A run that does not list a document abstains: NaN. The rank of a document in a run
    is 1 plus the number of documents of its query with a higher score; equal scores
    are ordered by the run's own ranks, then by its rows.
    O(n log n) for n rows of all runs.

    Parameters
    ----------
    runs : mapping of names to Run, or iterable of Run
        The columns, in this order.
    qrels : Qrels, default=None
        The grades. Documents that no run lists are left out.
    feature : {"reciprocal_rank", "score", "minus_rank"}, default="reciprocal_rank"
        The value of a cell: 1 / rank, the run's own score, or -rank. In all of them
        larger is better.

    Returns
    -------
    documents : Documents
        ``X, y, qid`` with the `docid` of each row. Queries, and the documents of a
        query, are in the order in which they are first listed. Documents that are not
        judged have grade 0.

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
    _FEATURE.check("feature", feature)
    by_name = _runs_by_name(runs)
    optional(IS_QRELS).check("qrels", qrels)
    if qrels is None:
        qrels = Qrels([], [], [])  # type: ignore[arg-type]
    sizes = [len(run) for run in by_name.values()]
    n_listed = sum(sizes)
    tables: list[Run | Qrels] = [*by_name.values(), qrels]
    queries, query = np.unique(np.concatenate([table.qid for table in tables]), return_inverse=True)
    names, name = np.unique(np.concatenate([table.docid for table in tables]), return_inverse=True)
    pair = query * len(names) + name
    pairs, first, row = np.unique(pair[:n_listed], return_index=True, return_inverse=True)
    column = np.repeat(np.arange(len(sizes)), sizes)
    _check_once(by_name, row, column)
    grade, judged = _grades(qrels, pair[n_listed:])

    first_of_query = np.full(len(queries), n_listed)
    np.minimum.at(first_of_query, query[:n_listed], np.arange(n_listed))
    order = np.lexsort((first, first_of_query[query[first]]))
    position = np.empty_like(order)
    position[order] = np.arange(len(order))

    X = np.full((len(pairs), len(sizes)), np.nan)
    values = [_cells(run, feature) for run in by_name.values()]
    X[position[row], column] = np.concatenate(values)
    y = np.zeros(len(pairs))
    if len(judged):
        nearest = np.minimum(np.searchsorted(judged, pairs), len(judged) - 1)
        is_judged = judged[nearest] == pairs
        if len(pairs) and not is_judged.any():
            warn(
                f"none of the {len(pairs)} documents listed is judged, so "
                "that all grades are 0. Are queries and documents called the same in "
                "runs and qrels?"
            )
        y = np.where(is_judged, grade[nearest], 0.0)
    kept = first[order]
    return Documents(X, y[order], queries[query[kept]], names[name[kept]])


def _runs_by_name(runs: Mapping[str, Run] | Iterable[Run]) -> dict[str, Run]:
    """Return the runs by name; those of a list are named by their position."""
    if isinstance(runs, Run) or not isinstance(runs, Iterable):
        raise refusal(
            "runs",
            "be a mapping of names to Run, or a list of Run",
            f"an object of type {type(runs).__name__}",
            error=ValueError,
        )
    if isinstance(runs, Mapping):
        by_name = dict(runs)
    else:
        by_name = {str(k): run for k, run in enumerate(runs)}
    if not by_name:
        raise refusal("runs", "be at least one Run", "none", error=ValueError)
    for name, run in by_name.items():
        IS_RUN.check(f"run {name!r}", run)
    return by_name


def _check_once(runs: dict[str, Run], row: Ints, column: Ints) -> None:
    """Raise if a run lists a document twice for one query."""
    key = row * len(runs) + column
    order = np.argsort(key, kind="stable")
    again = order[1:][key[order[1:]] == key[order[:-1]]]
    if len(again):
        k = int(column[again[0]])
        name, run = list(runs.items())[k]
        at = int(again[0]) - sum(len(other) for other in list(runs.values())[:k])
        raise refusal(
            f"run {name!r}",
            "list a document once per query",
            f"{str(run.docid[at])!r} again for query {str(run.qid[at])!r}",
        )


def _grades(qrels: Qrels, pair: Ints) -> tuple[Floats, Ints]:
    """Return the judged pairs, ascending, after their grades."""
    order = np.argsort(pair, kind="stable")
    judged = pair[order]
    again = order[1:][judged[1:] == judged[:-1]]
    if len(again):
        document, query = str(qrels.docid[again[0]]), str(qrels.qid[again[0]])
        raise refusal(
            "qrels", "judge a document once per query", f"{document!r} again for query {query!r}"
        )
    return qrels.grade[order].astype(np.float64), judged


def _cells(run: Run, feature: str) -> Floats:
    if feature == "score":
        return run.score
    rank = _ranks(run.qid, run.score, run.rank).astype(np.float64)
    return 1 / rank if feature == "reciprocal_rank" else -rank


def _ranks(qid: Labels, score: Floats, rank: Ints | None = None) -> Ints:
    """Return ranks from 1 on by descending score within each query."""
    query = np.unique(qid, return_inverse=True)[1]
    keys = (-score, query) if rank is None else (rank, -score, query)
    order = np.lexsort(keys)
    begins = np.searchsorted(query[order], np.arange(query.max(initial=-1) + 1))
    ranks = np.empty(len(qid), dtype=np.int64)
    ranks[order] = 1 + np.arange(len(qid)) - begins[query[order]]
    return ranks


def _words(what: str, values: ArrayLike) -> Labels:
    """Return a column of text without white space."""
    column: Labels = np.asarray(values)
    if column.ndim != 1:
        raise refusal(what, "be one-dimensional", f"an array of shape {column.shape}")
    column = column.astype(str)
    words = column.tolist()
    # In bytes only ASCII white space counts, as when a file is read.
    text = "\n".join(words).encode(*ENCODING)
    if words and (len(text.split()) != len(words) or text.split() != text.split(b"\n")):
        encoded = ((word, word.encode(*ENCODING)) for word in words)
        wrong = next(word for word, code in encoded if code.split() != [code])
        raise refusal(what, "be words without spaces", repr(wrong))
    return column


def _numbers(what: str, values: ArrayLike) -> Array:
    """Return a column of finite numbers."""
    column: Array = np.asarray(values)
    if column.dtype.kind not in "iuf" and column.size:
        raise refusal(what, "be numbers", f"{column.dtype} values")
    if column.ndim != 1:
        raise refusal(what, "be one number per row", f"an array of shape {column.shape}")
    if not np.isfinite(column).all():
        row = int(np.argmin(np.isfinite(column)))
        raise refusal(what, "be finite", f"{column[row]} in row {row}")
    return column


def _store(owner: Run | Qrels, **columns: Array) -> None:
    """Set the columns of a frozen `owner`; all must have the same length."""
    n_rows = len(columns["qid"])
    for name, column in columns.items():
        if column.shape != (n_rows,):
            raise refusal(
                name, f"be one value per row, {n_rows} in all", f"an array of shape {column.shape}"
            )
        object.__setattr__(owner, name, column)
