"""Errors of predicted numbers, on the scale of the labels."""

import numpy as np
from numpy.typing import ArrayLike

from peckorder._core.errors import entry, refusal
from peckorder._core.typing import Floats, VectorLike
from peckorder._core.validation import numbers, weights
from peckorder.feedback import Queries
from peckorder.metrics._lists import (
    SKIPPED,
    MetricValue,
    WeightsOfQueries,
    check_lengths,
    mean_over_queries,
    near_one,
    query_means,
)

# Squares of errors up to this can be summed.
_LARGEST_ERROR = 1e145
# What a query must have for its mean over rows to be defined.
SOME_WEIGHT = "a weight > 0"


@entry
def rmse(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    qid: VectorLike | None = None,
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
    undefined: str = "skip",
    query_weight: WeightsOfQueries = None,
) -> MetricValue:
    """Return the root of the mean squared error of predicted numbers.

    ``sqrt((1/m) sum_i (s_i - y_i)**2)`` over the rows of a query: in the unit of the
    labels. Unlike differences of pairs it counts a constant that all scores are off.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true numbers.
    y_pred : array-like of shape (n_samples,)
        The predicted numbers, on the scale of the true ones.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows in the mean over rows.
    qid, per_query, undefined, query_weight
        As in `disagreement`.

    Returns
    -------
    error : float or ndarray of shape (n_queries,)
        Zero at best. O(n) time if the rows of each query stand together.

    Examples
    --------
    >>> from peckorder.metrics import rmse
    >>> rmse([1, 2, 3], [2, 2, 1])
    1.2909944487358056
    >>> rmse([1, 2, 3], [2, 2, 1], qid=["a", "a", "b"], per_query=True)
    array([0.70710678, 2.        ])
    """
    queries, error, weight = _errors(y_true, y_pred, qid, sample_weight)
    value = np.sqrt(query_means(queries, error**2, weight))
    return mean_over_queries(queries, value, SOME_WEIGHT, per_query, undefined, query_weight)


@entry
def mae(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    qid: VectorLike | None = None,
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
    undefined: str = "skip",
    query_weight: WeightsOfQueries = None,
) -> MetricValue:
    """Return the mean absolute error of predicted numbers.

    ``(1/m) sum_i |s_i - y_i|`` over the rows of a query, in the unit of the labels.

    Parameters
    ----------
    y_true, y_pred, qid, sample_weight, per_query, undefined, query_weight
        As in `rmse`.

    Returns
    -------
    error : float or ndarray of shape (n_queries,)
        Zero at best. O(n) time if the rows of each query stand together.

    Examples
    --------
    >>> from peckorder.metrics import mae
    >>> mae([1, 2, 3], [2, 2, 1])
    1.0
    """
    queries, error, weight = _errors(y_true, y_pred, qid, sample_weight)
    value = query_means(queries, np.abs(error), weight)
    return mean_over_queries(queries, value, SOME_WEIGHT, per_query, undefined, query_weight)


def _errors(
    y_true: ArrayLike, y_pred: ArrayLike, qid: VectorLike | None, sample_weight: ArrayLike | None
) -> tuple[Queries, Floats, Floats]:
    """Return the queries, and the error and the weight of each row."""
    _, error = truth_and_error(y_true, y_pred, "y_pred")
    queries, weight = queries_and_weights(len(error), qid, sample_weight)
    return queries, error, weight


def queries_and_weights(
    n_rows: int, qid: VectorLike | None, sample_weight: ArrayLike | None
) -> tuple[Queries, Floats]:
    """Return the queries, and the weights of rows relative as `near_one`; 1 if None."""
    queries = Queries.of(qid, n_rows)
    if sample_weight is None:
        return queries, np.ones(n_rows)
    weight = queries.arrange(weights(sample_weight, n_rows))
    return queries, queries.restore(near_one(weight, queries.offsets))


def truth_and_error(
    y_true: ArrayLike, y_score: ArrayLike, name: str = "y_score"
) -> tuple[Floats, Floats]:
    """Return the truths, and by how much scores are above them; squares are finite."""
    truth = numbers("y_true", y_true, finite=True, hint=SKIPPED)
    score = numbers(name, y_score, finite=True)
    check_lengths(len(truth), **{name: len(score)})
    return truth, errors_of(truth, score, name)


def errors_of(truth: Floats, score: Floats, name: str) -> Floats:
    """Return by how much scores are above the truths; sums of squares are finite."""
    with np.errstate(over="ignore"):
        error: Floats = score - truth
    largest = float(np.abs(error).max())
    if largest > _LARGEST_ERROR:
        raise refusal(
            name,
            f"be within {_LARGEST_ERROR:g} of y_true, so that squares are finite",
            repr(largest),
        )
    return error
