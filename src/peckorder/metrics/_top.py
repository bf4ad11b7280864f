"""Metrics of the top of a list: where the good rows are, gains, and the first k rows.

All are expectations over random orders of equal scores, in closed form, unless `ties`
says otherwise. Undefined for queries without a good row.
"""

from collections.abc import Callable
from reprlib import repr as repr_

import numpy as np
from numpy.typing import ArrayLike

from peckorder._core.errors import entry, refusal, warn
from peckorder._core.typing import Bools, Floats, Ints, VectorLike
from peckorder._core.validation import finite, one_of, optional, unmasked, whole
from peckorder.metrics import _compiled as compiled
from peckorder.metrics._lists import (
    MetricValue,
    RankedLists,
    WeightsOfQueries,
    check_lengths,
    mean_over_queries,
)

GOOD = "a good row"
_GAIN = one_of("linear", "exponential")


@entry
def average_precision(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    good: ArrayLike = 1,
    qid: VectorLike | None = None,
    ties: str = "expected",
    docid: VectorLike | None = None,
    per_query: bool = False,
    undefined: str = "skip",
    query_weight: WeightsOfQueries = None,
) -> MetricValue:
    """Return the mean precision at the good rows.

    ``(1/K) sum_k k / rank(t_k)`` over the K good rows, t_k being the k-th of them in
    the list.

    Parameters
    ----------
    y_true, y_score, qid, ties, docid, per_query, undefined, query_weight
        As in `disagreement`.
    good : float, "top" or array-like of bool, default=1
        The grade from which on rows are good; "top" for those of the highest grade of
        each query; or a mask, one value per row.

    Returns
    -------
    ap : float or ndarray of shape (n_queries,)
        1 if all good rows are first. O(n log n) time.

    Examples
    --------
    >>> from peckorder.metrics import average_precision
    >>> average_precision([1, 0, 1], [0.9, 0.5, 0.2])
    0.8333333333333333
    """
    lists = RankedLists.of(y_true, y_score, qid, ties, docid, good)
    value = measured(compiled.average_precision, 1, lists, good_rows(lists, good))[0]
    return mean_over_queries(lists.queries, value, GOOD, per_query, undefined, query_weight)


@entry
def reciprocal_rank(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    k: int | None = None,
    good: ArrayLike = 1,
    qid: VectorLike | None = None,
    ties: str = "expected",
    docid: VectorLike | None = None,
    per_query: bool = False,
    undefined: str = "skip",
    query_weight: WeightsOfQueries = None,
) -> MetricValue:
    """Return one over the rank of the first good row.

    The mean over queries is known as MRR, with `k` as MRR@k.

    Parameters
    ----------
    y_true, y_score, qid, ties, docid, per_query, undefined, query_weight
        As in `disagreement`.
    k : int or None, default=None
        Zero if there is no good row among the first k; None for all.
    good : float, "top" or array-like of bool, default=1
        As in `average_precision`.

    Returns
    -------
    rr : float or ndarray of shape (n_queries,)
        1 if a good row is first. O(n log n) time.

    Examples
    --------
    >>> from peckorder.metrics import reciprocal_rank
    >>> round(reciprocal_rank([0, 0, 0, 0, 1, 0, 0, 0, 0, 0], [7.0] * 10), 3)
    0.293
    """
    optional(whole(1)).check("k", k)
    lists = RankedLists.of(y_true, y_score, qid, ties, docid, good)
    value = _first_good(lists, good_rows(lists, good), k)[0]
    return mean_over_queries(lists.queries, value, GOOD, per_query, undefined, query_weight)


@entry
def predicted_rank_of_top(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    qid: VectorLike | None = None,
    ties: str = "expected",
    docid: VectorLike | None = None,
    per_query: bool = False,
    undefined: str = "skip",
    query_weight: WeightsOfQueries = None,
) -> MetricValue:
    """Return one over the rank of the first row of the highest grade.

    ``reciprocal_rank(good="top")``, the PROT of the paper on RankBoost. Queries of one
    grade only have 1 in any order, with a warning.

    Parameters
    ----------
    y_true, y_score, qid, ties, docid, per_query, undefined, query_weight
        As in `disagreement`.

    Returns
    -------
    prot : float or ndarray of shape (n_queries,)
        1 if such a row is first. O(n log n) time.

    Examples
    --------
    >>> from peckorder.metrics import predicted_rank_of_top
    >>> predicted_rank_of_top([1, 2, 3], [3.0, 1.0, 2.0])
    0.5
    """
    lists = RankedLists.of(y_true, y_score, qid, ties, docid)
    is_top = good_rows(lists, "top", "every row is good, being of the highest grade", hint="")
    value = _first_good(lists, is_top)[0]
    return mean_over_queries(lists.queries, value, GOOD, per_query, undefined, query_weight)


@entry
def coverage(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    good: ArrayLike = "top",
    qid: VectorLike | None = None,
    ties: str = "expected",
    docid: VectorLike | None = None,
    per_query: bool = False,
    undefined: str = "skip",
    query_weight: WeightsOfQueries = None,
) -> MetricValue:
    """Return the number of good rows over the rank of the last of them.

    ``K / rank(t_K)``: how much further than needed one must read to find all.

    Parameters
    ----------
    y_true, y_score, qid, ties, docid, per_query, undefined, query_weight
        As in `disagreement`.
    good : float, "top" or array-like of bool, default="top"
        As in `average_precision`.

    Returns
    -------
    coverage : float or ndarray of shape (n_queries,)
        1 if all good rows are first. O(n log n) time.

    Examples
    --------
    >>> from peckorder.metrics import coverage
    >>> coverage([2, 2, 1, 0], [4.0, 2.0, 3.0, 1.0])
    0.6666666666666666
    """
    lists = RankedLists.of(y_true, y_score, qid, ties, docid, good)
    value = measured(compiled.last_good, 1, lists, good_rows(lists, good))[0]
    return mean_over_queries(lists.queries, value, GOOD, per_query, undefined, query_weight)


@entry
def expected_rank(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    cap: int | None = None,
    good: ArrayLike = 1,
    qid: VectorLike | None = None,
    ties: str = "expected",
    docid: VectorLike | None = None,
    per_query: bool = False,
    undefined: str = "skip",
    query_weight: WeightsOfQueries = None,
) -> MetricValue:
    """Return the rank at which the first good row is expected.

    ``E min(rank(t_1), cap)``.

    Parameters
    ----------
    y_true, y_score, qid, ties, docid, per_query, undefined, query_weight
        As in `disagreement`.
    cap : int or None, default=None
        Ranks beyond count as this one.
    good : float, "top" or array-like of bool, default=1
        As in `average_precision`.

    Returns
    -------
    rank : float or ndarray of shape (n_queries,)
        1 if a good row is first. O(n log n) time.

    Examples
    --------
    >>> from peckorder.metrics import expected_rank
    >>> expected_rank([0, 0, 1], [1.0, 1.0, 1.0])
    2.0
    """
    optional(whole(1)).check("cap", cap)
    lists = RankedLists.of(y_true, y_score, qid, ties, docid, good)
    value = _first_good(lists, good_rows(lists, good), cap)[1]
    return mean_over_queries(lists.queries, value, GOOD, per_query, undefined, query_weight)


@entry
def precision_at(
    y_true: ArrayLike,
    y_score: ArrayLike,
    k: int,
    *,
    good: ArrayLike = 1,
    qid: VectorLike | None = None,
    ties: str = "expected",
    docid: VectorLike | None = None,
    per_query: bool = False,
    undefined: str = "skip",
    query_weight: WeightsOfQueries = None,
) -> MetricValue:
    """Return the share of good rows among the first k.

    Lists shorter than k are divided by k all the same, as in trec_eval.

    Parameters
    ----------
    y_true, y_score, qid, ties, docid, per_query, undefined, query_weight
        As in `disagreement`.
    k : int
        How many rows from the top on count.
    good : float, "top" or array-like of bool, default=1
        As in `average_precision`.

    Returns
    -------
    precision : float or ndarray of shape (n_queries,)
        O(n log n) time.

    Examples
    --------
    >>> from peckorder.metrics import precision_at
    >>> precision_at([1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0], 2)
    0.5
    """
    whole(1).check("k", k)
    lists = RankedLists.of(y_true, y_score, qid, ties, docid, good)
    n_found, n_good = at_top(lists, good_rows(lists, good), k)
    value = np.where(n_good > 0, n_found / k, np.nan)
    return mean_over_queries(lists.queries, value, GOOD, per_query, undefined, query_weight)


@entry
def recall_at(
    y_true: ArrayLike,
    y_score: ArrayLike,
    k: int,
    *,
    good: ArrayLike = 1,
    qid: VectorLike | None = None,
    ties: str = "expected",
    docid: VectorLike | None = None,
    per_query: bool = False,
    undefined: str = "skip",
    query_weight: WeightsOfQueries = None,
) -> MetricValue:
    """Return the share of the good rows that are among the first k.

    Expected good rows among the first k over all good rows.

    Parameters
    ----------
    y_true, y_score, qid, ties, docid, per_query, undefined, query_weight
        As in `disagreement`.
    k : int
        How many rows from the top on count.
    good : float, "top" or array-like of bool, default=1
        As in `average_precision`.

    Returns
    -------
    recall : float or ndarray of shape (n_queries,)
        O(n log n) time.

    Examples
    --------
    >>> from peckorder.metrics import recall_at
    >>> recall_at([1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0], 2)
    0.5
    """
    whole(1).check("k", k)
    lists = RankedLists.of(y_true, y_score, qid, ties, docid, good)
    n_found, n_good = at_top(lists, good_rows(lists, good), k)
    value = np.where(n_good > 0, n_found / np.maximum(n_good, 1), np.nan)
    return mean_over_queries(lists.queries, value, GOOD, per_query, undefined, query_weight)


@entry
def hits_at(
    y_true: ArrayLike,
    y_score: ArrayLike,
    k: int,
    *,
    good: ArrayLike = 1,
    qid: VectorLike | None = None,
    ties: str = "expected",
    docid: VectorLike | None = None,
    per_query: bool = False,
    undefined: str = "skip",
    query_weight: WeightsOfQueries = None,
) -> MetricValue:
    """Return the probability that a good row is among the first k.

    Without ties it is 1 or 0; its mean over queries is the share of queries answered.

    Parameters
    ----------
    y_true, y_score, qid, ties, docid, per_query, undefined, query_weight
        As in `disagreement`.
    k : int
        How many rows from the top on count.
    good : float, "top" or array-like of bool, default=1
        As in `average_precision`.

    Returns
    -------
    hits : float or ndarray of shape (n_queries,)
        O(n log n) time.

    Examples
    --------
    >>> from peckorder.metrics import hits_at
    >>> hits_at([0, 0, 1, 0], [1.0, 1.0, 1.0, 1.0], 2)
    0.5
    """
    whole(1).check("k", k)
    lists = RankedLists.of(y_true, y_score, qid, ties, docid, good)
    value = _first_good(lists, good_rows(lists, good), k)[2]
    return mean_over_queries(lists.queries, value, GOOD, per_query, undefined, query_weight)


@entry
def ndcg(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    k: int | None = None,
    gain: str = "linear",
    qid: VectorLike | None = None,
    ties: str = "expected",
    docid: VectorLike | None = None,
    per_query: bool = False,
    undefined: str = "skip",
    query_weight: WeightsOfQueries = None,
) -> MetricValue:
    """Return the discounted gain of a list over that of the best order.

    ``DCG = sum_p gain(y_p) / log2(1 + p)`` over ranks p, up to `k`; rows with equal
    scores share the mean of their gains.

    Parameters
    ----------
    y_true, y_score, qid, ties, docid, per_query, undefined, query_weight
        As in `disagreement`; grades must not be negative.
    k : int or None, default=None
        How many rows from the top on count; None for all.
    gain : {"linear", "exponential"}, default="linear"
        The grade itself, or ``2**grade - 1``.

    Returns
    -------
    ndcg : float or ndarray of shape (n_queries,)
        1 for the best order; undefined where no row has a gain. O(n log n) time.

    Examples
    --------
    >>> from peckorder.metrics import ndcg
    >>> round(ndcg([3, 2, 0, 1], [4.0, 2.0, 3.0, 1.0]), 4)
    0.9305
    """
    optional(whole(1)).check("k", k)
    _GAIN.check("gain", gain)
    lists = RankedLists.of(y_true, y_score, qid, ties, docid)
    lowest = float(lists.truth.min())
    if lowest < 0:
        raise refusal("y_true", "be >= 0 to be a gain", repr(lowest))
    highest = float(lists.truth.max())
    if highest > (1000 if gain == "exponential" else 1e300):
        raise refusal("y_true", "be small enough for a sum of gains", repr(highest))
    gains = lists.truth if gain == "linear" else np.exp2(lists.truth) - 1.0
    longest = int(lists.queries.sizes.max())
    discount = np.zeros(longest + 1)
    np.cumsum(1.0 / np.log2(np.arange(2, longest + 2)), out=discount[1:])
    value = lists.empty()
    lists.measure(
        compiled.gains,
        lists.score,
        gains,
        lists.descending(gains),
        discount,
        lists.broken,
        longest if k is None else min(k, longest),
        value,
    )
    return mean_over_queries(
        lists.queries, value, "a row with a gain", per_query, undefined, query_weight
    )


@entry
def rank_probability(
    y_true: ArrayLike, y_score: ArrayLike, k: int, *, good: ArrayLike = 1
) -> Floats:
    """Return the probability of every rank for the k-th good row of a list.

    With R rows above its group of Q equal scores, q of them good, and r good rows
    above: ``C(i-R-1, k-r-1) C(Q-i+R, q-k+r) / C(Q, q)`` for rank i.

    Parameters
    ----------
    y_true, y_score
        As in `disagreement`; one list.
    k : int
        Which of the good rows, from 1, the highest, to their number.
    good : float, "top" or array-like of bool, default=1
        The grade from which on rows are good; "top" for those of the highest grade;
        or a mask, one value per row.

    Returns
    -------
    probability : ndarray of shape (n_samples,)
        That of rank 1, 2, ..., to the last digit or so for lists of any length.
        O(n log n) time.

    Examples
    --------
    >>> from peckorder.metrics import rank_probability
    >>> rank_probability([1, 0, 1], [5.0, 5.0, 5.0], 1).round(3)
    array([0.667, 0.333, 0.   ])
    """
    whole(1).check("k", k)
    lists = RankedLists.of(y_true, y_score, None, "expected")
    is_good = good_rows(lists, good)
    n_good = int(is_good.sum())
    if k > n_good:
        raise refusal("k", f"be at most the number of good rows, {n_good}", repr(k))
    row = int(np.flatnonzero(is_good)[k - 1])
    group = np.flatnonzero(lists.score == lists.score[row])
    above, among = int(is_good[: group[0]].sum()), int(is_good[group].sum())
    weight = np.empty(len(group))
    compiled.rank_weights(among, int(k) - above, weight)
    probability = np.zeros(len(lists))
    probability[group] = weight / weight.sum()
    return probability


def measured(
    function: Callable[..., None], n_values: int, lists: RankedLists, is_good: Ints, *options: int
) -> Floats:
    """Return what a compiled function writes of each query, (n_values, n_queries)."""
    values = np.empty((n_values, len(lists.queries)))
    lists.measure(function, lists.score, is_good, lists.broken, *options, *values)
    return values


def _first_good(lists: RankedLists, is_good: Ints, cap: int | None = None) -> Floats:
    """Return the expected 1 / rank, rank and hit of the first good row."""
    cap = min(cap or len(lists), len(lists) + 1)
    return measured(compiled.first_good, 3, lists, is_good, cap)


def at_top(lists: RankedLists, is_good: Ints, k: int | None) -> Floats:
    """Return the expected good rows among the first k, and all good rows.

    None for as many rows as are good in a list.
    """
    return measured(compiled.good_at_top, 2, lists, is_good, min(k or 0, len(lists)))


def good_rows(
    lists: RankedLists,
    good: ArrayLike,
    what: str = "every row is good",
    hint: str = " Is `good` what you mean?",
) -> Ints:
    """Return 1 for the good rows of the lists, else 0; warn of lists without others."""
    starts = lists.queries.offsets[:-1]
    if isinstance(good, str) and good == "top":
        highest = np.maximum.reduceat(lists.truth, starts)
        is_good = lists.truth == np.repeat(highest, lists.queries.sizes)
    elif finite.accepts(good):
        least = float(good)  # type: ignore[arg-type]
        is_good = lists.truth >= least
        hint = f" Rows of grade {least:g} and above are good. Set `good` for another."
    else:
        is_good = _checked_mask(good, len(lists))[lists.order]
    all_good = int(np.logical_and.reduceat(is_good, starts).sum())
    if all_good:
        warn(
            f"in {all_good} of {len(lists.queries)} queries {what}, so "
            f"that every order is perfect.{hint}"
        )
    return np.asarray(is_good, dtype=np.int64)


def _checked_mask(good: ArrayLike, n_rows: int) -> Bools:
    unmasked("good", good)
    try:
        mask = np.asarray(good)
    except ValueError:
        mask = np.array("of rows of different lengths")
    if mask.ndim != 1 or mask.dtype.kind != "b":
        raise refusal("good", "be a grade, 'top' or a mask", repr_(good))
    check_lengths(n_rows, good=len(mask))
    return mask
