"""Metrics by how people read a list, and by judgements that are incomplete or graded.

All are expectations over random orders of equal scores, in closed form, unless `ties`
says otherwise. Undefined for queries without a good row.
"""

import numpy as np
from numpy.typing import ArrayLike

from peckorder._core.errors import entry, refusal
from peckorder._core.typing import VectorLike
from peckorder._core.validation import Rule, finite, optional, whole
from peckorder.metrics import _compiled as compiled
from peckorder.metrics._lists import MetricValue, RankedLists, WeightsOfQueries, mean_over_queries
from peckorder.metrics._top import GOOD, at_top, good_rows, measured

_SHARE = Rule("a number between 0 and 1", lambda value: finite.accepts(value) and 0 < value < 1)
_MOST_GRADES = 256


@entry
def expected_reciprocal_rank(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    k: int | None = None,
    highest: float | None = None,
    qid: VectorLike | None = None,
    ties: str = "expected",
    docid: VectorLike | None = None,
    per_query: bool = False,
    undefined: str = "skip",
    query_weight: WeightsOfQueries = None,
) -> MetricValue:
    """Return one over the rank at which a reader is content, on average.

    Who reads down the list stops at a row of grade g with probability
    ``R = (2**g - 1) / 2**highest``::

        ERR = sum_p 1/p R_p prod_{i<p} (1 - R_i)

    over ranks p, up to `k`. Metric of Chapelle, Metzler, Zhang and Grinspan (2009).

    Parameters
    ----------
    y_true, y_score, qid, ties, docid, per_query, undefined, query_weight
        As in `disagreement`; grades must not be negative.
    k : int or None, default=None
        How many rows from the top on are read; None for all.
    highest : float or None, default=None
        The highest grade there could be; None for that of `y_true`.

    Returns
    -------
    err : float or ndarray of shape (n_queries,)
        Below 1; undefined where all grades are 0. O(n log n) time, and for t rows with
        one score O(t min(t, k)) more.

    Examples
    --------
    >>> from peckorder.metrics import expected_reciprocal_rank
    >>> expected_reciprocal_rank([0, 2, 1], [3.0, 2.0, 1.0], highest=2)
    0.3958333333333333
    """
    optional(whole(1)).check("k", k)
    optional(finite).check("highest", highest)
    lists = RankedLists.of(y_true, y_score, qid, ties, docid)
    lowest, largest = float(lists.truth.min()), float(lists.truth.max())
    if lowest < 0:
        raise refusal("y_true", "be >= 0 to be grades", repr(lowest))
    top = largest if highest is None else float(highest)
    if largest > min(top, 1000.0):
        rule = f"be grades of at most {min(top, 1000.0):g}"
        raise refusal("y_true", rule, repr(largest), hint=" Set `highest`." * (top < largest))
    content = np.exp2(lists.truth - top) - np.exp2(-top)
    # The products of a group of equal scores need a place each.
    products = np.empty(len(lists))
    value = lists.empty()
    depth = min(k or len(lists), len(lists))
    lists.measure(compiled.content_at, lists.score, content, lists.broken, depth, products, value)
    what = "a row with a grade above 0"
    return mean_over_queries(lists.queries, value, what, per_query, undefined, query_weight)


@entry
def rank_biased_precision(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    p: float = 0.8,
    good: ArrayLike = 1,
    qid: VectorLike | None = None,
    ties: str = "expected",
    docid: VectorLike | None = None,
    per_query: bool = False,
    undefined: str = "skip",
    query_weight: WeightsOfQueries = None,
) -> MetricValue:
    """Return how many good rows are read per row, if each next row is read with probability p.

    ``RBP = (1 - p) sum_r p**(r - 1)`` over the ranks r of good rows. Metric of Moffat and
    Zobel (2008).

    Parameters
    ----------
    y_true, y_score, qid, ties, docid, per_query, undefined, query_weight
        As in `disagreement`.
    p : float, default=0.8
        How patient the reader is: ``1 / (1 - p)`` rows are read on average.
    good : float, "top" or array-like of bool, default=1
        As in `average_precision`.

    Returns
    -------
    rbp : float or ndarray of shape (n_queries,)
        Below 1, however good the order. O(n log n) time.

    Examples
    --------
    >>> from peckorder.metrics import rank_biased_precision
    >>> rank_biased_precision([1, 0, 1], [3.0, 2.0, 1.0], p=0.5)
    0.625
    """
    _SHARE.check("p", p)
    lists = RankedLists.of(y_true, y_score, qid, ties, docid, good)
    value = lists.empty()
    is_good = good_rows(lists, good)
    lists.measure(compiled.rank_biased, lists.score, is_good, lists.broken, float(p), value)
    return mean_over_queries(lists.queries, value, GOOD, per_query, undefined, query_weight)


@entry
def r_precision(
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
    """Return the share of good rows among the first R, where R rows are good.

    Precision and recall at R are one.

    Parameters
    ----------
    y_true, y_score, qid, ties, docid, per_query, undefined, query_weight
        As in `disagreement`.
    good : float, "top" or array-like of bool, default=1
        As in `average_precision`.

    Returns
    -------
    precision : float or ndarray of shape (n_queries,)
        1 if all good rows are first. O(n log n) time.

    Examples
    --------
    >>> from peckorder.metrics import r_precision
    >>> r_precision([1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0])
    0.5
    """
    lists = RankedLists.of(y_true, y_score, qid, ties, docid, good)
    n_found, n_good = at_top(lists, good_rows(lists, good), None)
    value = np.where(n_good > 0, n_found / np.maximum(n_good, 1), np.nan)
    return mean_over_queries(lists.queries, value, GOOD, per_query, undefined, query_weight)


@entry
def bpref(
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
    """Return the preference of judged good rows over the first judged bad ones.

    ::

        bpref = 1/R sum_t (1 - min(n_t, R) / min(R, N))

    over the R good rows t, above which are n_t of the N bad ones. Rows that nobody judged
    do not count: leave them out, or give them NaN in `evaluate` with
    ``missing_labels="skip"``. Metric of Buckley and Voorhees (2004), as in trec_eval.

    Parameters
    ----------
    y_true, y_score, qid, ties, docid, per_query, undefined, query_weight
        As in `disagreement`.
    good : float, "top" or array-like of bool, default=1
        As in `average_precision`.

    Returns
    -------
    bpref : float or ndarray of shape (n_queries,)
        1 if all good rows are first. O(n log n) time.

    Examples
    --------
    >>> from peckorder.metrics import bpref
    >>> bpref([1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0])
    0.75
    """
    lists = RankedLists.of(y_true, y_score, qid, ties, docid, good)
    value = measured(compiled.bad_above_good, 1, lists, good_rows(lists, good))[0]
    return mean_over_queries(lists.queries, value, GOOD, per_query, undefined, query_weight)


@entry
def graded_average_precision(
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
    """Return the average precision for a reader of whom it is unknown which grades are good.

    Rows of grade t and above are good, with t anywhere between 0 and the highest grade::

        sum_p 1/p sum_{i<=p} min(y_i, y_p) / sum_p y_p

    over ranks p: the mean of `average_precision` over t, where t weighs as much as rows
    are good. Metric of Robertson, Kanoulas and Yilmaz (2010).

    Parameters
    ----------
    y_true, y_score, qid, ties, docid, per_query, undefined, query_weight
        As in `disagreement`; grades must not be negative, and 256 different ones at most.

    Returns
    -------
    gap : float or ndarray of shape (n_queries,)
        1 for the best order; `average_precision` if grades are 0 and 1. O(n log n + n g)
        time for g grades.

    Examples
    --------
    >>> from peckorder.metrics import graded_average_precision
    >>> graded_average_precision([1, 2, 0], [3.0, 2.0, 1.0])
    0.8333333333333334
    """
    lists = RankedLists.of(y_true, y_score, qid, ties, docid)
    grades = np.unique(lists.truth)
    if grades[0] < 0:
        raise refusal("y_true", "be >= 0 to be grades", repr(float(grades[0])))
    if len(grades) > _MOST_GRADES:
        raise refusal("y_true", f"have at most {_MOST_GRADES} different grades", len(grades))
    total, weight = np.zeros(len(lists.queries)), np.zeros(len(lists.queries))
    for below, grade in zip(np.append(0.0, grades), grades, strict=False):
        if grade == 0:
            continue
        is_good = (lists.truth >= grade).astype(np.int64)
        value = measured(compiled.average_precision, 1, lists, is_good)[0]
        n_good = np.add.reduceat(is_good, lists.queries.offsets[:-1])
        total += (grade - below) * n_good * np.nan_to_num(value)
        weight += (grade - below) * n_good
    value = np.divide(total, weight, out=np.full(len(weight), np.nan), where=weight > 0)
    what = "a row with a grade above 0"
    return mean_over_queries(lists.queries, value, what, per_query, undefined, query_weight)
