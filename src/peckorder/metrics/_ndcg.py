"""Discounted gains, and where a good row may be."""

import numpy as np
from numpy.typing import ArrayLike

from peckorder._core.errors import entry, refusal
from peckorder._core.typing import Floats, VectorLike
from peckorder._core.validation import one_of, optional, whole
from peckorder.metrics import _compiled as compiled
from peckorder.metrics._lists import MetricValue, RankedLists, WeightsOfQueries, mean_over_queries
from peckorder.metrics._top import good_rows

_GAIN = one_of("linear", "exponential")


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
    return mean_over_queries(lists, value, "a row with a gain", per_query, undefined, query_weight)


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
