"""Metrics of the first k rows of a list.

All are expectations over random orders of equal scores, in closed form, unless `ties`
says otherwise. Undefined for queries without a good row.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from peckorder._core.typing import Floats, Ints
from peckorder._core.validation import whole
from peckorder.metrics._lists import RankedLists, mean_over_queries
from peckorder.metrics._relevance import GOOD, good_rows
from peckorder.metrics._top import first_good
from peckorder.metrics.compiled import rankings as kernels


def precision_at(
    y_true: ArrayLike,
    y_score: ArrayLike,
    k: int,
    *,
    good: Any = 1,
    qid: Any = None,
    ties: str = "expected",
    docid: Any = None,
    per_query: bool = False,
    undefined: str = "skip",
    query_weight: Any = None,
) -> Any:
    """Return the share of good rows among the first k.

    Lists shorter than k are divided by k all the same, as in trec_eval.

    Parameters
    ----------
    y_true, y_score, qid, ties, docid, per_query, undefined, query_weight
        As in `disagreement`.
    k : int
        How many rows from the top on count.
    good : float, "top" or array-like of bool, default=1
        The grade from which on rows are good; "top" for those of the highest grade of
        each query; or a mask, one value per row.

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
    whole(1).check("precision_at", "k", k)
    lists = RankedLists.of("precision_at", y_true, y_score, qid, ties, docid, good)
    at_top, n_good = _at_top(lists, good_rows(lists, good), k)
    value = np.where(n_good > 0, at_top / k, np.nan)
    return mean_over_queries(
        lists,
        value,
        GOOD,
        per_query=per_query,
        undefined=undefined,
        query_weight=query_weight,
    )


def recall_at(
    y_true: ArrayLike,
    y_score: ArrayLike,
    k: int,
    *,
    good: Any = 1,
    qid: Any = None,
    ties: str = "expected",
    docid: Any = None,
    per_query: bool = False,
    undefined: str = "skip",
    query_weight: Any = None,
) -> Any:
    """Return the share of the good rows that are among the first k.

    Expected good rows among the first k over all good rows.

    Parameters
    ----------
    y_true, y_score, qid, ties, docid, per_query, undefined, query_weight
        As in `disagreement`.
    k : int
        How many rows from the top on count.
    good : float, "top" or array-like of bool, default=1
        The grade from which on rows are good; "top" for those of the highest grade of
        each query; or a mask, one value per row.

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
    whole(1).check("recall_at", "k", k)
    lists = RankedLists.of("recall_at", y_true, y_score, qid, ties, docid, good)
    at_top, n_good = _at_top(lists, good_rows(lists, good), k)
    value = np.where(n_good > 0, at_top / np.maximum(n_good, 1), np.nan)
    return mean_over_queries(
        lists,
        value,
        GOOD,
        per_query=per_query,
        undefined=undefined,
        query_weight=query_weight,
    )


def hits_at(
    y_true: ArrayLike,
    y_score: ArrayLike,
    k: int,
    *,
    good: Any = 1,
    qid: Any = None,
    ties: str = "expected",
    docid: Any = None,
    per_query: bool = False,
    undefined: str = "skip",
    query_weight: Any = None,
) -> Any:
    """Return the probability that a good row is among the first k.

    Without ties it is 1 or 0; its mean over queries is the share of queries answered.

    Parameters
    ----------
    y_true, y_score, qid, ties, docid, per_query, undefined, query_weight
        As in `disagreement`.
    k : int
        How many rows from the top on count.
    good : float, "top" or array-like of bool, default=1
        The grade from which on rows are good; "top" for those of the highest grade of
        each query; or a mask, one value per row.

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
    whole(1).check("hits_at", "k", k)
    lists = RankedLists.of("hits_at", y_true, y_score, qid, ties, docid, good)
    value = first_good(lists, good_rows(lists, good), k)[2]
    return mean_over_queries(
        lists,
        value,
        GOOD,
        per_query=per_query,
        undefined=undefined,
        query_weight=query_weight,
    )


def _at_top(lists: RankedLists, is_good: Ints, k: int) -> tuple[Floats, Floats]:
    """Return the expected good rows among the first k, and all good rows."""
    values = lists.empty(), lists.empty()
    k = min(k, len(lists))
    lists.measure(kernels.good_at_top, lists.score, is_good, lists.broken, k, *values)
    return values
