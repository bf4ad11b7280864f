"""Metrics of the top of a list: where the good rows are.

All are expectations over random orders of equal scores, in closed form, unless `ties`
says otherwise. Undefined for queries without a good row.
"""

from typing import Any

from numpy.typing import ArrayLike

from peckorder._core.typing import Floats, Ints
from peckorder._core.validation import optional, whole
from peckorder.metrics._lists import RankedLists, mean_over_queries
from peckorder.metrics._relevance import GOOD, good_rows, top_rows
from peckorder.metrics.compiled import rankings as kernels


def average_precision(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    good: Any = 1,
    qid: Any = None,
    ties: str = "expected",
    docid: Any = None,
    per_query: bool = False,
    undefined: str = "skip",
    query_weight: Any = None,
) -> Any:
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
    lists = RankedLists.of("average_precision", y_true, y_score, qid, ties, docid, good)
    value = lists.empty()
    is_good = good_rows(lists, good)
    lists.measure(kernels.average_precision, lists.score, is_good, lists.broken, value)
    return mean_over_queries(
        lists,
        value,
        GOOD,
        per_query=per_query,
        undefined=undefined,
        query_weight=query_weight,
    )


def reciprocal_rank(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    k: int | None = None,
    good: Any = 1,
    qid: Any = None,
    ties: str = "expected",
    docid: Any = None,
    per_query: bool = False,
    undefined: str = "skip",
    query_weight: Any = None,
) -> Any:
    """Return one over the rank of the first good row.

    The mean over queries is known as MRR, with `k` as MRR@k.

    Parameters
    ----------
    y_true, y_score, qid, ties, docid, per_query, undefined, query_weight
        As in `disagreement`.
    k : int or None, default=None
        Zero if there is no good row among the first k; None for all.
    good : float, "top" or array-like of bool, default=1
        The grade from which on rows are good; "top" for those of the highest grade of
        each query; or a mask, one value per row.

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
    optional(whole(1)).check("reciprocal_rank", "k", k)
    lists = RankedLists.of("reciprocal_rank", y_true, y_score, qid, ties, docid, good)
    value = first_good(lists, good_rows(lists, good), k or len(lists))[0]
    return mean_over_queries(
        lists,
        value,
        GOOD,
        per_query=per_query,
        undefined=undefined,
        query_weight=query_weight,
    )


def predicted_rank_of_top(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    qid: Any = None,
    ties: str = "expected",
    docid: Any = None,
    per_query: bool = False,
    undefined: str = "skip",
    query_weight: Any = None,
) -> Any:
    """Return one over the rank of the first row of the highest grade.

    ``reciprocal_rank(good="top")``, the PROT of the paper on RankBoost. Queries of one
    grade only have 1 in any order, and are told of.

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
    who = "predicted_rank_of_top"
    lists = RankedLists.of(who, y_true, y_score, qid, ties, docid)
    value = first_good(lists, top_rows(lists), len(lists))[0]
    return mean_over_queries(
        lists,
        value,
        GOOD,
        per_query=per_query,
        undefined=undefined,
        query_weight=query_weight,
    )


def coverage(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    good: Any = "top",
    qid: Any = None,
    ties: str = "expected",
    docid: Any = None,
    per_query: bool = False,
    undefined: str = "skip",
    query_weight: Any = None,
) -> Any:
    """Return the number of good rows over the rank of the last of them.

    ``K / rank(t_K)``: how much further than needed one must read to find all.

    Parameters
    ----------
    y_true, y_score, qid, ties, docid, per_query, undefined, query_weight
        As in `disagreement`.
    good : float, "top" or array-like of bool, default="top"
        The grade from which on rows are good; "top" for those of the highest grade of
        each query; or a mask, one value per row.

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
    lists = RankedLists.of("coverage", y_true, y_score, qid, ties, docid, good)
    value = lists.empty()
    is_good = good_rows(lists, good)
    lists.measure(kernels.last_good, lists.score, is_good, lists.broken, value)
    return mean_over_queries(
        lists,
        value,
        GOOD,
        per_query=per_query,
        undefined=undefined,
        query_weight=query_weight,
    )


def expected_rank(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    cap: int | None = None,
    good: Any = 1,
    qid: Any = None,
    ties: str = "expected",
    docid: Any = None,
    per_query: bool = False,
    undefined: str = "skip",
    query_weight: Any = None,
) -> Any:
    """Return the rank at which the first good row is expected.

    ``E min(rank(t_1), cap)``.

    Parameters
    ----------
    y_true, y_score, qid, ties, docid, per_query, undefined, query_weight
        As in `disagreement`.
    cap : int or None, default=None
        Ranks beyond count as this one.
    good : float, "top" or array-like of bool, default=1
        The grade from which on rows are good; "top" for those of the highest grade of
        each query; or a mask, one value per row.

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
    optional(whole(1)).check("expected_rank", "cap", cap)
    lists = RankedLists.of("expected_rank", y_true, y_score, qid, ties, docid, good)
    value = first_good(lists, good_rows(lists, good), cap or len(lists))[1]
    return mean_over_queries(
        lists,
        value,
        GOOD,
        per_query=per_query,
        undefined=undefined,
        query_weight=query_weight,
    )


def first_good(
    lists: RankedLists, is_good: Ints, cap: int
) -> tuple[Floats, Floats, Floats]:
    """Return what to expect of the first good row's rank, as the kernel says."""
    values = lists.empty(), lists.empty(), lists.empty()
    cap = min(cap, len(lists) + 1)
    lists.measure(kernels.first_good, lists.score, is_good, lists.broken, cap, *values)
    return values
