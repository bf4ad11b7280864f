"""Rows sorted into ranked lists, and means over queries."""

from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from reprlib import repr as repr_
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from peckorder._core.compiled.lists import sort_lists
from peckorder._core.errors import refusal, warn
from peckorder._core.threads import MIN_ITEMS_PER_THREAD, Stop, n_cores, share
from peckorder._core.typing import Array, Floats, Ints, Labels, VectorLike
from peckorder._core.validation import numbers, one_of, unmasked, weights
from peckorder.feedback import MISSING_LABELS, Preferences, Queries, read_column, read_labels

TIES = one_of("expected", "best", "worst", "order", "docid")
UNDEFINED = one_of("skip", "zero", "raise")
# For those who have NaN among truths.
SKIPPED = "Rows without a label are left out by evaluate(..., missing_labels='skip')."

# What a metric returns: a float or, if `per_query`, an array of one value per query.
MetricValue: TypeAlias = Any
# Weights of queries, by their ids or in the order of their first rows.
WeightsOfQueries: TypeAlias = Mapping[Hashable, float] | ArrayLike | None

# From this length on NumPy sorts a list faster than the compiled function does.
_LONG = 256


@dataclass(frozen=True, slots=True, eq=False)
class RankedLists:
    """Rows in the order of queries and, within each, of scores, the best first.

    `order` holds the rows in that order, `score` and `truth` their values. If ties are
    `broken`, equal scores count as ranked the way they stand.
    """

    queries: Queries
    order: Ints
    score: Floats
    truth: Floats
    broken: bool

    @classmethod
    def of(
        cls,
        y_true: "ArrayLike | RankedLists",
        y_score: ArrayLike | None,
        qid: VectorLike | None = None,
        ties: str = "expected",
        docid: VectorLike | None = None,
        good: ArrayLike | None = None,
    ) -> Self:
        """Check the input and sort it, unless `y_true` is such lists already.

        The best and the worst order of equal scores are by truth, or by a mask `good`.
        """
        if isinstance(y_true, cls):
            return y_true
        TIES.check("ties", ties)
        truth = numbers("y_true", y_true, finite=True, hint=SKIPPED)
        score = numbers("y_score", y_score)
        check_lengths(len(truth), y_score=len(score))
        queries = Queries.of(qid, len(truth))
        if docid is not None and ties != "docid":
            raise refusal("ties", "be 'docid' for docid to matter", repr(ties), error=ValueError)
        if ties == "docid":
            # As trec_eval does, which holds scores in single precision.
            with np.errstate(over="ignore"):
                score = score.astype(np.float32).astype(np.float64)
        worth = truth
        with suppress(ValueError):  # an invalid mask is refused later
            mask = np.asarray(good)
            if mask.shape == truth.shape and mask.dtype.kind == "b":
                worth = mask.astype(np.float64)
        order, score = _ranked(score, worth, queries, ties, docid)
        return cls(queries, order, score, truth[order], ties != "expected")

    def __len__(self) -> int:
        return len(self.order)

    def measure(self, function: Callable[..., None], *arguments: object) -> None:
        """Call a compiled function for ranges of lists, shared among threads."""
        share_lists(self.queries.offsets, function, *arguments)

    def empty(self) -> Floats:
        """Return an array for one value per query."""
        return np.empty(len(self.queries))

    def descending(self, values: Floats) -> Floats:
        """Sort values, which are in the order of the lists, in each list."""
        offsets = self.queries.offsets
        if self.queries.sizes.mean() < _LONG:
            ordered = np.array(values)
            sort_within_lists(ordered, np.zeros(len(values)), offsets)
            return ordered
        ordered = np.negative(values)
        for first, last in pairwise(offsets.tolist()):
            ordered[first:last].sort()
        return np.negative(ordered, out=ordered)


def labelled(missing_labels: str, y_true: Any, qid: Any, **columns: Any) -> tuple[Any, ...]:
    """Return columns, of which rows without a label are left out if they are to be skipped."""
    MISSING_LABELS.check("missing_labels", missing_labels)
    given = y_true, qid, *columns.values()
    if missing_labels == "raise" or isinstance(y_true, Preferences):
        return given
    labels = read_labels(y_true, "y_true")
    rows, n_rows = labels.labelled_rows(), len(labels)
    if rows is None or labels.categories is not None:
        return given
    if len(rows) == 0:
        raise refusal("y_true", "have a label in some row", "none")
    arrays = {
        name: None if c is None else np.asarray(unmasked(name, c)) for name, c in columns.items()
    }
    arrays["qid"] = None if qid is None else read_column("qid", qid)
    check_lengths(
        n_rows, **{name: len(array) for name, array in arrays.items() if array is not None}
    )
    kept = {name: None if array is None else array[rows] for name, array in arrays.items()}
    return labels.at(rows).values, kept.pop("qid"), *kept.values()


def check_lengths(n_rows: int, **lengths: int) -> None:
    """Refuse columns that are longer or shorter than `y_true`."""
    for name, length in lengths.items():
        if length != n_rows:
            raise refusal(name, f"be as long as y_true, {n_rows} rows", length)


def row_weights(lists: RankedLists, sample_weight: ArrayLike | None) -> Floats:
    """Return one weight per row, in the order of the lists, relative as `near_one`."""
    if sample_weight is None:
        return np.ones(len(lists))
    weight = weights(sample_weight, len(lists))[lists.order]
    return near_one(weight, lists.queries.offsets)


def near_one(weight: Floats, offsets: Ints) -> Floats:
    """Return weights relative to a power of two near the largest of each query.

    So sums of products of two are neither infinite nor zero. This changes no bit of
    them, and no mean over a query.
    """
    _, power = np.frexp(np.maximum.reduceat(weight, offsets[:-1]))
    relative: Floats = np.ldexp(weight, -np.repeat(power, np.diff(offsets)))
    return relative


def query_means(queries: Queries, values: Floats, weight: Floats) -> Floats:
    """Return the weighted mean over the rows of each query; NaN if all weigh nothing."""
    starts = queries.offsets[:-1]
    mass = np.add.reduceat(queries.arrange(weight), starts)
    with np.errstate(invalid="ignore"):
        means: Floats = np.add.reduceat(queries.arrange(weight * values), starts) / mass
    return means


def n_threads(n_rows: int) -> int:
    """Return the number of threads for so many rows."""
    return max(1, min(n_cores(), n_rows // MIN_ITEMS_PER_THREAD["rows"]))


def share_lists(offsets: Ints, function: Callable[..., None], *arguments: object) -> None:
    """Call ``function(offsets, first, last, ...)`` for ranges of lists, in threads."""

    def work(block: slice, stopped: Stop) -> None:
        function(offsets, block.start, block.stop, *arguments)

    share(len(offsets) - 1, n_threads(int(offsets[-1])), work)


def ranks(scores: Floats, qid: VectorLike | None, docid: VectorLike | None = None) -> Ints:
    """Return the rank of each row in its query, from 1.

    Ties in the order of rows or, as in trec_eval, by descending `docid`.
    """
    queries = Queries.of(qid, len(scores))
    keys = [-scores, queries.of_rows()]
    if docid is not None:
        keys.insert(0, _descending(np.asarray(docid)))
    order = np.lexsort(keys)
    rank = np.empty(len(scores), dtype=np.int64)
    starts = np.repeat(queries.offsets[:-1], queries.sizes)
    rank[order] = 1 + np.arange(len(scores)) - starts
    return rank


def _ranked(
    score: Floats, worth: Floats, queries: Queries, ties: str, docid: VectorLike | None
) -> tuple[Ints, Floats]:
    """Return the rows in the order of queries and scores, and their scores."""
    if ties in {"expected", "order"}:
        key = np.array(queries.arrange(score))
        rows = np.arange(len(key)) if queries.order is None else queries.order.copy()
        sort_within_lists(key, rows, queries.offsets, stable=ties == "order")
        return rows, key
    if ties == "docid":
        if docid is None:
            raise refusal("docid", "be one name per row with ties='docid'", "None")
        names = np.asarray(unmasked("docid", docid))
        if names.ndim != 1 or any(name is None for name in names.tolist()):
            raise refusal("docid", "be one name per row", repr_(docid))
        check_lengths(len(score), docid=len(names))
        second: Floats | Ints = _descending(names)
    else:
        second = -worth if ties == "best" else worth
    order = np.lexsort((second, -score, queries.of_rows()))
    return order, score[order]


def _descending(docid: Labels) -> Ints:
    """Return numbers by which names sort in descending order, as trec_eval compares them."""
    return -np.unique(docid.astype(str), return_inverse=True)[1]


def sort_within_lists(key: Floats, item: Array, offsets: Ints, *, stable: bool = True) -> None:
    """Sort the keys of each list, descending, and the items with them, in place."""
    sizes = np.diff(offsets)
    spare_key, spare_item = np.empty_like(key), np.empty_like(item)

    def work(block: slice, stopped: Stop) -> None:
        start = block.start
        # Short lists between two long ones in one call; long ones by NumPy.
        for q in (*(block.start + np.flatnonzero(sizes[block] >= _LONG)), block.stop):
            sort_lists(offsets, start, q, key, item, spare_key, spare_item)
            if q < block.stop:
                rows = slice(offsets[q], offsets[q + 1])
                order = np.argsort(-key[rows], kind="stable" if stable else "quicksort")
                key[rows] = key[rows][order]
                item[rows] = item[rows][order]
            start = q + 1

    share(len(sizes), n_threads(len(key)), work)


def mean_over_queries(
    queries: Queries,
    values: Floats,
    needs: str,
    per_query: bool,
    undefined: str,
    query_weight: WeightsOfQueries,
) -> MetricValue:
    """Return one value per query, or their mean, with a warning if some are undefined.

    `needs` is what a query must have for its value to be defined.
    """
    UNDEFINED.check("undefined", undefined)
    weight = query_weights(query_weight, queries)
    is_missing = np.isnan(values)
    n_missing = int(is_missing.sum())
    if n_missing and undefined == "raise":
        first = queries.ids.tolist()[int(np.argmax(is_missing))]
        raise refusal("every query", f"have {needs}", f"query {first!r} without")
    if undefined == "zero":
        values = np.where(is_missing, 0.0, values)
        is_missing = np.zeros_like(is_missing)
    if per_query:
        return values
    if is_missing.any():
        warn(
            f"{n_missing} of {len(values)} queries are left out of the mean, "
            f"having no {needs.removeprefix('a ')}.",
            UndefinedMetricWarning,
        )
    weight = weight[~is_missing]
    if not weight.sum() > 0:
        return float("nan")
    return float(np.average(values[~is_missing], weights=weight))


def query_weights(given: WeightsOfQueries, queries: Queries) -> Floats:
    """Return one weight per query, in the order of their first rows."""
    if given is None:
        return np.ones(len(queries))
    if hasattr(given, "to_dict"):
        given = given.to_dict()  # a pandas series: by its index, not by position
    if isinstance(given, Mapping):
        try:
            given = [given[name] for name in queries.ids.tolist()]
        except KeyError as error:
            raise refusal(
                "query_weight", "have a weight for every query", f"none for {error}"
            ) from None
    weight = numbers("query_weight", given, finite=True)
    if len(weight) != len(queries) or weight.min() < 0:
        raise refusal(
            "query_weight",
            f"be one weight >= 0 per query, {len(queries)} in the order of their first rows",
            repr_(weight.tolist()),
        )
    return near_one(weight, np.array([0, len(weight)]))
