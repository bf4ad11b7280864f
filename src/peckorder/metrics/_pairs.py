"""Metrics of pairs: which of two rows should be first, and by how much."""

import numpy as np
from numpy.typing import ArrayLike

from peckorder._core.compiled import lists as compiled
from peckorder._core.errors import entry
from peckorder._core.threads import Stop, share
from peckorder._core.typing import Floats, Ints, VectorLike
from peckorder.feedback import Preferences, Queries
from peckorder.metrics._errors import SOME_WEIGHT, truth_and_error
from peckorder.metrics._lists import (
    TIES,
    MetricValue,
    RankedLists,
    WeightsOfQueries,
    labelled,
    mean_over_queries,
    row_weights,
)
from peckorder.metrics._preferences import order_counts, size_errors

# Grades up to this many are counted, more are sorted.
_FEW_GRADES = 64
# A single list of this length is worth two threads.
_VERY_LONG = 1 << 18
# How many of the pairs with equal scores are wrong.
_OF_TIES = {"expected": 0.5, "best": 0.0, "worst": 1.0}
_PAIR = "a pair of rows whose truths differ"


@entry
def disagreement(
    y_true: ArrayLike | Preferences,
    y_score: ArrayLike,
    *,
    qid: VectorLike | None = None,
    ties: str = "expected",
    docid: VectorLike | None = None,
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
    undefined: str = "skip",
    query_weight: WeightsOfQueries = None,
    missing_labels: str = "raise",
) -> MetricValue:
    """Return the share of pairs that are ranked the wrong way.

    The mean over pairs with c(x0) < c(x1) of ``[s(x0) > s(x1)] + [s(x0) = s(x1)] / 2``:
    a tie is wrong half of the time, as it is if ties are broken at random.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or Preferences
        How good each row is: any real numbers, larger is better. Of preferences the
        mean is over their pairs, by their weights; those of size 0 have no order.
    y_score : array-like of shape (n_samples,)
        Predicted scores, larger is ranked first.
    qid : array-like of shape (n_samples,), default=None
        The query of each row, of any type and in any order: rows are compared within
        a query only. None is one query; preferences need none.
    ties : {"expected", "best", "worst", "order", "docid"}, default="expected"
        What equal scores mean: the expectation over all orders of them; the best or
        the worst order; the order of the rows; or, as in trec_eval, descending
        `docid`, with scores in single precision.
    docid : array-like of shape (n_samples,), default=None
        Names of the rows, for ``ties="docid"``.
    sample_weight : array-like of shape (n_samples,), default=None
        A pair weighs the product of its rows' weights.
    per_query : bool, default=False
        Return one value per query, in the order of their first rows.
    undefined : {"skip", "zero", "raise"}, default="skip"
        What to do with queries for which there is no value: leave them out of the
        mean, with a warning that says how many (NaN if `per_query`); count them as
        zero (the best value there is where less is better); or refuse.
    query_weight : mapping or array-like of shape (n_queries,), default=None
        Weights of the queries in the mean, by their ids or in the order of their first
        rows.
    missing_labels : {"raise", "skip"}, default="raise"
        What a missing truth is (NaN or None): refused; or no opinion on its row, which is
        then left out.

    Returns
    -------
    disagreement : float or ndarray of shape (n_queries,)
        0 for the right order, 1 for its reverse. O(n log n) time, O(n) memory; of
        preferences O(n_pairs).

    Examples
    --------
    >>> from peckorder.metrics import disagreement
    >>> disagreement([0, 1, 2], [0.1, 0.3, 0.3])
    0.16666666666666666
    >>> from peckorder import Preferences
    >>> disagreement(Preferences([2, 1], [0, 0], weight=[3, 1]), [2, 2, 1])
    0.875
    """
    queries, counts = _pairs(y_true, y_score, qid, ties, docid, sample_weight, missing_labels)
    value = _share(counts, _OF_TIES.get(ties, 0.0))
    return mean_over_queries(queries, value, _PAIR, per_query, undefined, query_weight)


@entry
def misranking(
    y_true: ArrayLike | Preferences,
    y_score: ArrayLike,
    *,
    qid: VectorLike | None = None,
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
    undefined: str = "skip",
    query_weight: WeightsOfQueries = None,
    missing_labels: str = "raise",
) -> MetricValue:
    """Return the share of pairs that are not ranked the right way: ties are wrong.

    ``disagreement(ties="worst")``, which is what RankBoost's bound is on: of
    preferences, the ranking loss rloss_D(H) of its paper, D the weights over their sum.

    Parameters
    ----------
    y_true, y_score, qid, sample_weight, per_query, undefined, query_weight,
    missing_labels
        As in `disagreement`.

    Returns
    -------
    misranking : float or ndarray of shape (n_queries,)
        0 for the right order without ties. O(n log n) time, O(n) memory.

    Examples
    --------
    >>> from peckorder.metrics import misranking
    >>> misranking([0, 1, 2], [0.1, 0.3, 0.3])
    0.3333333333333333
    """
    queries, counts = _pairs(y_true, y_score, qid, "expected", None, sample_weight, missing_labels)
    value = _share(counts, 1.0)
    return mean_over_queries(queries, value, _PAIR, per_query, undefined, query_weight)


@entry
def kendall_tau(
    y_true: ArrayLike | Preferences,
    y_score: ArrayLike,
    *,
    qid: VectorLike | None = None,
    ties: str = "expected",
    docid: VectorLike | None = None,
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
    undefined: str = "skip",
    query_weight: WeightsOfQueries = None,
    missing_labels: str = "raise",
) -> MetricValue:
    """Return Kendall's tau over the pairs whose truths differ.

    ``1 - 2 disagreement``: pairs in the right order minus those in the wrong one, over
    all of them. Without ties it is the usual tau.

    Parameters
    ----------
    y_true, y_score, qid, ties, docid, sample_weight, per_query, undefined,
    query_weight, missing_labels
        As in `disagreement`.

    Returns
    -------
    tau : float or ndarray of shape (n_queries,)
        From -1, the reverse order, to 1. O(n log n) time, O(n) memory.

    Examples
    --------
    >>> from peckorder.metrics import kendall_tau
    >>> kendall_tau([1, 2, 3, 4], [1, 3, 2, 4])
    0.6666666666666667
    """
    queries, counts = _pairs(y_true, y_score, qid, ties, docid, sample_weight, missing_labels)
    value = 1.0 - 2.0 * _share(counts, _OF_TIES.get(ties, 0.0))
    return mean_over_queries(queries, value, _PAIR, per_query, undefined, query_weight)


@entry
def mean_squared_difference(
    y_true: ArrayLike | Preferences,
    y_score: ArrayLike,
    *,
    qid: VectorLike | None = None,
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
    undefined: str = "skip",
    query_weight: WeightsOfQueries = None,
    missing_labels: str = "raise",
) -> MetricValue:
    """Return by how much the differences of scores miss those of truths, squared.

    ``(1/m**2) sum_ij ((s_j - s_i) - (y_j - y_i))**2``, which is twice the variance of
    s - y. It depends on the scale of the scores. Of preferences it is the mean over
    pairs, by their weights, of ``((s1 - s0) - size)**2``: over those of labels, from
    `Preferences.from_labels`, m / (m - 1) times as much, since no row stands beside itself.

    Parameters
    ----------
    y_true, y_score, qid, sample_weight, per_query, undefined, query_weight,
    missing_labels
        As in `disagreement`.

    Returns
    -------
    difference : float or ndarray of shape (n_queries,)
        Zero if scores are the truths but for a constant. O(n log n) time.

    Examples
    --------
    >>> from peckorder.metrics import mean_squared_difference
    >>> mean_squared_difference([1, 2, 3], [11, 12, 14])
    0.4444444444444444
    """
    queries, squared, _ = _differences(y_true, y_score, qid, sample_weight, missing_labels)
    return mean_over_queries(queries, squared, SOME_WEIGHT, per_query, undefined, query_weight)


@entry
def root_mean_squared_difference(
    y_true: ArrayLike | Preferences,
    y_score: ArrayLike,
    *,
    qid: VectorLike | None = None,
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
    undefined: str = "skip",
    query_weight: WeightsOfQueries = None,
    missing_labels: str = "raise",
) -> MetricValue:
    """Return the root of `mean_squared_difference` of each query.

    ``sqrt((1/m**2) sum_ij ((s_j - s_i) - (y_j - y_i))**2)``, in the unit of the labels.

    Parameters
    ----------
    y_true, y_score, qid, sample_weight, per_query, undefined, query_weight,
    missing_labels
        As in `disagreement`.

    Returns
    -------
    difference : float or ndarray of shape (n_queries,)
        Zero if scores are the truths but for a constant. O(n log n) time.

    Examples
    --------
    >>> from peckorder.metrics import root_mean_squared_difference
    >>> root_mean_squared_difference([1, 2, 3], [11, 12, 14])
    0.6666666666666666
    """
    queries, squared, _ = _differences(y_true, y_score, qid, sample_weight, missing_labels)
    value = np.sqrt(squared)
    return mean_over_queries(queries, value, SOME_WEIGHT, per_query, undefined, query_weight)


@entry
def mean_absolute_difference(
    y_true: ArrayLike | Preferences,
    y_score: ArrayLike,
    *,
    qid: VectorLike | None = None,
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
    undefined: str = "skip",
    query_weight: WeightsOfQueries = None,
    missing_labels: str = "raise",
) -> MetricValue:
    """Return by how much the differences of scores miss those of truths.

    ``(1/m**2) sum_ij |(s_j - s_i) - (y_j - y_i)|``; of preferences the mean over pairs
    of ``|(s1 - s0) - size|``, as in `mean_squared_difference`.

    Parameters
    ----------
    y_true, y_score, qid, sample_weight, per_query, undefined, query_weight,
    missing_labels
        As in `disagreement`.

    Returns
    -------
    difference : float or ndarray of shape (n_queries,)
        Zero if scores are the truths but for a constant. O(n log n) time.

    Examples
    --------
    >>> from peckorder.metrics import mean_absolute_difference
    >>> mean_absolute_difference([1, 2, 3], [11, 12, 14])
    0.4444444444444444
    """
    queries, _, absolute = _differences(y_true, y_score, qid, sample_weight, missing_labels)
    return mean_over_queries(queries, absolute, SOME_WEIGHT, per_query, undefined, query_weight)


def _pairs(
    y_true: ArrayLike | Preferences,
    y_score: ArrayLike,
    qid: VectorLike | None,
    ties: str,
    docid: VectorLike | None,
    weights: ArrayLike | None,
    missing_labels: str,
) -> tuple[Queries, Floats]:
    """Return the weight of pairs per query: wrong, tied, all."""
    TIES.check("ties", ties)
    y_true, qid, y_score, docid, weights = labelled(
        missing_labels, y_true, qid, y_score=y_score, docid=docid, sample_weight=weights
    )
    if isinstance(y_true, Preferences):
        return order_counts(y_true, y_score, qid, ties, docid, weights)
    # The best and the worst order are the extremes of ties: no need to sort by them.
    order = "expected" if ties in _OF_TIES else ties
    lists = RankedLists.of(y_true, y_score, qid, order, docid)
    counts = np.empty((len(lists.queries), 3))
    low, high = lists.truth.min(), lists.truth.max()
    with np.errstate(over="ignore"):
        is_narrow = high - low < _FEW_GRADES
    if is_narrow and bool((lists.truth == np.floor(lists.truth)).all()):
        _count_grades(lists, low, int(high - low) + 1, row_weights(lists, weights), counts)
    elif weights is None and len(lists.queries) == 1 and len(lists) >= _VERY_LONG:
        counts[0] = _count_in_parts(lists)
    else:
        weight = None if weights is None else row_weights(lists, weights)
        spares = np.empty(len(lists)), None if weights is None else np.empty(len(lists))
        truth, is_broken = lists.truth.copy(), lists.broken
        lists.measure(compiled.pairs, lists.score, truth, weight, *spares, is_broken, counts)
    return lists.queries, counts


def _count_grades(
    lists: RankedLists, lowest: float, n_grades: int, weight: Floats, counts: Floats
) -> None:
    """Weigh the pairs of rows with few different grades, without sorting them."""
    grade = (lists.truth - lowest).astype(np.int64)

    def count(offsets: Ints, first: int, last: int) -> None:
        above, group = np.empty(n_grades), np.empty(n_grades)
        score, is_broken = lists.score, lists.broken
        compiled.graded_pairs(
            offsets, first, last, score, grade, weight, above, group, is_broken, counts
        )

    lists.measure(count)


def _count_in_parts(lists: RankedLists) -> tuple[float, float, float]:
    """Count the pairs of one very long list, its two halves by a thread each."""
    n, truth, spare = len(lists), lists.truth.copy(), np.empty(len(lists))
    # Equal scores stay together.
    middle = n // 2
    if not lists.broken:
        middle = int(np.searchsorted(-lists.score, -lists.score[middle], side="left"))
    cuts = (0, middle, n)

    def count(block: slice, stopped: Stop) -> tuple[float, float]:
        part = cuts[block.start], cuts[block.stop]
        return compiled.sort_part(lists.score, truth, spare, *part, lists.broken)

    wrong, tied = np.sum(share(2, 2, count), axis=0).tolist()
    between, differing = compiled.join_parts(truth, spare, middle)
    return wrong + between, tied, differing


def _share(counts: Floats, of_ties: float) -> Floats:
    """Return the share of wrong pairs; NaN where there are none at all."""
    wrong, tied, total = counts.T
    with np.errstate(invalid="ignore", divide="ignore"):
        share = (wrong + of_ties * tied) / total
    return np.where(total > 0, share, np.nan)


def _differences(
    y_true: ArrayLike | Preferences,
    y_score: ArrayLike,
    qid: VectorLike | None,
    weights: ArrayLike | None,
    missing_labels: str,
) -> tuple[Queries, Floats, Floats]:
    """Return the mean squared and the mean absolute difference per query."""
    y_true, qid, y_score, weights = labelled(
        missing_labels, y_true, qid, y_score=y_score, sample_weight=weights
    )
    if isinstance(y_true, Preferences):
        return size_errors(y_true, y_score, qid, weights)
    truth, error = truth_and_error(y_true, y_score)
    # Sorted by their errors, for which the lists' own order by scores is used.
    lists = RankedLists.of(truth, error, qid, "expected")
    weight = row_weights(lists, weights)
    squared, absolute = lists.empty(), lists.empty()
    lists.measure(compiled.differences, lists.score, weight, squared, absolute)
    return lists.queries, squared, absolute
