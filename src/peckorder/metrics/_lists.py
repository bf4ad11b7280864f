"""Ranked lists as metrics see them, and means over them."""

import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from reprlib import repr as repr_
from typing import Any, Self

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from peckorder._core.compiled import lists as kernels
from peckorder._core.threads import MIN_ITEMS_PER_THREAD, n_cores, share
from peckorder._core.typing import Floats, Ints
from peckorder._core.validation import numbers, one_of
from peckorder.exceptions import DataError
from peckorder.feedback import Queries

TIES = one_of("expected", "best", "worst", "order", "docid")
UNDEFINED = one_of("skip", "zero", "raise")

# From this length on NumPy sorts a list faster than our own kernel does.
_LONG = 256


@dataclass(frozen=True, slots=True, eq=False)
class RankedLists:
    """Rows in the order of queries and, within each, of scores, the best first.

    `order` holds the rows in that order, `score` and `truth` their values. If ties are
    `broken`, equal scores count as ranked the way they stand.
    """

    who: str
    queries: Queries
    order: Ints
    score: Floats
    truth: Floats
    broken: bool

    @classmethod
    def of(
        cls,
        who: str,
        y_true: Any,
        y_score: Any,
        qid: Any,
        ties: str,
        docid: Any = None,
        good: Any = None,
    ) -> Self:
        """Check the input and sort it, unless `y_true` is such lists already.

        Of equal scores the best, or the worst, order is by truth, or by `good` if that
        is a mask.
        """
        if isinstance(y_true, cls):
            return replace(y_true, who=who)
        TIES.check(who, "ties", ties)
        truth = numbers(who, "y_true", y_true, finite=True)
        score = numbers(who, "y_score", y_score)
        check_lengths(who, len(truth), y_score=len(score))
        queries = Queries.of(who, qid, len(truth))
        if docid is not None and ties != "docid":
            raise ValueError(
                f"{who}: ties must be 'docid' for docid to matter; got {ties!r}."
            )
        if ties == "docid":
            # As trec_eval does, which holds scores in single precision.
            with np.errstate(over="ignore"):
                score = score.astype(np.float32).astype(np.float64)
        worth = truth
        with suppress(ValueError):  # a mask that is none is refused later
            mask = np.asarray(good)
            if mask.shape == truth.shape and mask.dtype.kind == "b":
                worth = mask.astype(np.float64)
        order, score = _ranked(who, score, worth, queries, ties, docid)
        return cls(who, queries, order, score, truth[order], ties != "expected")

    def __len__(self) -> int:
        return len(self.order)

    def measure(self, kernel: Callable[..., None], *arguments: Any) -> None:
        """Call a kernel for ranges of lists, shared among threads."""
        offsets = self.queries.offsets

        def work(some: slice, give_up: Callable[[], bool]) -> None:
            kernel(offsets, some.start, some.stop, *arguments)

        share(len(self.queries), n_threads(len(self)), work)

    def empty(self) -> Floats:
        """Return a place for a value a query."""
        return np.empty(len(self.queries))

    def descending(self, values: Floats) -> Floats:
        """Sort values, which are in the order of the lists, in each list."""
        offsets = self.queries.offsets
        if self.queries.sizes.mean() < _LONG:
            ordered = np.array(values)
            _sort(ordered, np.zeros(len(values)), offsets)
            return ordered
        ordered = np.negative(values)
        for first, last in pairwise(offsets.tolist()):
            ordered[first:last].sort()
        return np.negative(ordered, out=ordered)


def check_lengths(who: str, n_rows: int, **lengths: int) -> None:
    """Refuse columns that are longer or shorter than `y_true`."""
    for name, length in lengths.items():
        if length != n_rows:
            raise DataError(
                f"{who}: {name} must be as long as y_true, {n_rows} rows; got {length}."
            )


def row_weights(lists: RankedLists, sample_weight: Any) -> Floats:
    """Return a weight for each row, in the order of the lists."""
    who, n_rows = lists.who, len(lists)
    if sample_weight is None:
        return np.ones(n_rows)
    weight = numbers(who, "sample_weight", sample_weight, finite=True)
    check_lengths(who, n_rows, sample_weight=len(weight))
    if weight.min() < 0:
        row = int(np.argmin(weight))
        raise DataError(
            f"{who}: sample_weight must be >= 0; got {float(weight[row])!r} in row "
            f"{row}."
        )
    return weight[lists.order]


def n_threads(n_rows: int) -> int:
    """Return how many threads are worth their start."""
    return max(1, min(n_cores(), n_rows // MIN_ITEMS_PER_THREAD["rows"]))


def _ranked(
    who: str, score: Floats, worth: Floats, queries: Queries, ties: str, docid: Any
) -> tuple[Ints, Floats]:
    """Return the rows in the order of queries and scores, and their scores."""
    if ties in {"expected", "order"}:
        key = np.array(queries.arrange(score))
        rows = np.arange(len(key)) if queries.order is None else queries.order.copy()
        _sort(key, rows, queries.offsets, stable=ties == "order")
        return rows, key
    if ties == "docid":
        if docid is None:
            raise DataError(
                f"{who}: docid must be one name a row with ties='docid'; got None."
            )
        names = np.asarray(docid)
        if names.ndim != 1 or any(name is None for name in names.tolist()):
            raise DataError(f"{who}: docid must be one name a row; got {repr_(docid)}.")
        check_lengths(who, len(score), docid=len(names))
        names = names.astype(str)  # by which trec_eval compares
        second: Any = -np.unique(names, return_inverse=True)[1]
    else:
        second = -worth if ties == "best" else worth
    order = np.lexsort((second, -score, queries.of_rows()))
    return order, score[order]


def _sort(key: Floats, item: Any, offsets: Ints, *, stable: bool = True) -> None:
    """Sort the keys of each list, descending, and the items with them, in place."""
    sizes = np.diff(offsets)
    kind: Any = "stable" if stable else "quicksort"
    spare_key, spare_item = np.empty_like(key), np.empty_like(item)

    def work(some: slice, give_up: Callable[[], bool]) -> None:
        start = some.start
        # Runs of short lists in one call, long ones by NumPy, one at a time.
        for q in (*(some.start + np.flatnonzero(sizes[some] >= _LONG)), some.stop):
            kernels.sort_lists(offsets, start, q, key, item, spare_key, spare_item)
            if q < some.stop:
                places = slice(offsets[q], offsets[q + 1])
                order = np.argsort(-key[places], kind=kind)
                key[places] = key[places][order]
                item[places] = item[places][order]
            start = q + 1

    share(len(sizes), n_threads(len(key)), work)


def mean_over_queries(
    lists: RankedLists,
    values: Floats,
    needs: str,
    *,
    per_query: bool,
    undefined: str,
    query_weight: Any,
) -> Any:
    """Return a value a query, or their mean; say what is left out of it.

    `needs` tells what a query must have for its value to be defined.
    """
    who, queries = lists.who, lists.queries
    UNDEFINED.check(who, "undefined", undefined)
    weight = query_weights(who, query_weight, queries)
    is_missing = np.isnan(values)
    n_missing = int(is_missing.sum())
    if n_missing and undefined == "raise":
        first = queries.ids.tolist()[int(np.argmax(is_missing))]
        raise DataError(
            f"{who}: every query must have {needs}; got query {first!r} without."
        )
    if undefined == "zero":
        values = np.where(is_missing, 0.0, values)
        is_missing = np.zeros_like(is_missing)
    if per_query:
        return values
    if is_missing.any():
        warnings.warn(
            f"{who}: {n_missing} of {len(values)} queries are left out of the mean, "
            f"having no {needs.removeprefix('a ')}.",
            UndefinedMetricWarning,
            stacklevel=3,
        )
    weight = weight[~is_missing]
    if not weight.sum() > 0:
        return float("nan")
    return float(np.average(values[~is_missing], weights=weight))


def query_weights(who: str, given: Any, queries: Queries) -> Floats:
    """Return a weight for each query, in the order of their first rows."""
    if given is None:
        return np.ones(len(queries))
    if hasattr(given, "to_dict"):
        given = given.to_dict()  # a pandas series: by its index, not by position
    if isinstance(given, Mapping):
        try:
            given = [given[name] for name in queries.ids.tolist()]
        except KeyError as error:
            raise DataError(
                f"{who}: query_weight must have a weight for every query; got none for "
                f"{error}."
            ) from None
    weight = numbers(who, "query_weight", given, finite=True)
    if len(weight) != len(queries) or weight.min() < 0:
        raise DataError(
            f"{who}: query_weight must be one weight >= 0 a query, {len(queries)} in "
            f"the order of their first rows; got {repr_(weight.tolist())}."
        )
    return weight
