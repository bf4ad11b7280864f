"""Losses on an ordered scale."""

import numpy as np
from numpy.typing import ArrayLike

from peckorder._core.errors import entry, refusal
from peckorder._core.typing import Floats, VectorLike
from peckorder._core.validation import numbers
from peckorder.feedback import LabelColumn, Scale, read_labels
from peckorder.metrics._errors import SOME_WEIGHT, errors_of, queries_and_weights
from peckorder.metrics._lists import MetricValue, WeightsOfQueries, mean_over_queries, query_means


@entry
def rank_loss(
    y_true: VectorLike, y_pred: VectorLike, *, classes: VectorLike | None = None
) -> float:
    """Return the mean number of steps between predicted and true classes.

    ``(1/T) sum |yhat_t - y_t|``, the loss of all the papers on on-line ranking.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true labels.
    y_pred : array-like of shape (n_samples,)
        The predicted labels; may be real numbers if the labels are numbers.
    classes : array-like, default=None
        All classes, lowest first: a loss is then counted in steps from one to the
        next. Without them numbers are subtracted as they are, which is the same for
        consecutive integers, and ordered categoricals bring their own.

    Returns
    -------
    loss : float
        Zero at best. O(n_samples) time.

    Examples
    --------
    >>> from peckorder.metrics import rank_loss
    >>> rank_loss([1, 2, 3, 5], [1, 3, 3, 2])
    1.0
    >>> rank_loss(["poor", "good"], ["good", "good"], classes=["poor", "fair", "good"])
    1.0
    """
    return float(np.mean(rank_steps(y_true, y_pred, classes)))


@entry
def time_averaged_rank_loss(
    y_true: VectorLike, y_pred: VectorLike, *, classes: VectorLike | None = None
) -> Floats:
    """Return the mean rank loss of the first t predictions, for every t.

    ``L_t = (1/t) sum_{s <= t} |yhat_s - y_s|``. With the predictions of
    `progressive`, which are made before each row is learnt, this is the curve that
    the papers on on-line ranking show.

    Parameters
    ----------
    y_true, y_pred, classes
        As in `rank_loss`, in the order of time.

    Returns
    -------
    losses : ndarray of shape (n_samples,)
        The running mean. O(n_samples) time.

    Examples
    --------
    >>> from peckorder.metrics import time_averaged_rank_loss
    >>> time_averaged_rank_loss([1, 2, 3, 3], [3, 2, 3, 1]).round(2).tolist()
    [2.0, 1.0, 0.67, 1.0]
    """
    steps = rank_steps(y_true, y_pred, classes)
    return np.cumsum(steps) / np.arange(1, steps.size + 1)


@entry
def quadratic_weighted_kappa(
    y_true: VectorLike,
    y_pred: VectorLike,
    *,
    classes: VectorLike | None = None,
    qid: VectorLike | None = None,
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
    undefined: str = "skip",
    query_weight: WeightsOfQueries = None,
) -> MetricValue:
    """Return Cohen's kappa with squared steps between predicted and true classes.

    ``1 - sum_i (yhat_i - y_i)**2 / ((1/m) sum_ij (yhat_i - y_j)**2)``: the squared
    steps of the predictions in relation to those of the same predictions in a random
    order.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true labels.
    y_pred : array-like of shape (n_samples,)
        The predicted labels; may be real numbers if the labels are numbers.
    classes : array-like, default=None
        All classes, lowest first, as in `rank_loss`: without them numbers are
        subtracted as they are. A class that no row has still is a step.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    qid, per_query, undefined, query_weight
        As in `disagreement`. Kappa is undefined if all labels, true and predicted, are
        the same.

    Returns
    -------
    kappa : float or ndarray of shape (n_queries,)
        1 at best, 0 as good as chance, down to -1. O(n) time if the rows of each query
        stand together.

    Examples
    --------
    >>> from peckorder.metrics import quadratic_weighted_kappa
    >>> quadratic_weighted_kappa([1, 2, 3, 4], [1, 2, 4, 3])
    0.8
    >>> classes = ["poor", "fair", "good"]
    >>> quadratic_weighted_kappa(["poor", "good"], ["fair", "good"], classes=classes)
    0.6666666666666667
    """
    truth, guess = _on_scale(y_true, y_pred, classes)
    queries, weight = queries_and_weights(len(truth), qid, sample_weight)
    # From 0 to 1 in each query, which changes nothing: no square can overflow.
    starts, counts = queries.offsets[:-1], weight > 0
    low, high = np.minimum(truth, guess), np.maximum(truth, guess)
    low = np.minimum.reduceat(queries.arrange(np.where(counts, low, np.inf)), starts)
    high = np.maximum.reduceat(queries.arrange(np.where(counts, high, -np.inf)), starts)
    of_rows = queries.of_rows()
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.where(high > low, high / 2 - low / 2, np.nan)[of_rows]
        truth, guess = (
            np.where(counts, (values / 2 - low[of_rows] / 2) / spread, 0.0)
            for values in (truth, guess)
        )

    def means(values: Floats) -> Floats:
        return query_means(queries, values, weight)

    true_mean, guessed_mean = means(truth), means(guess)
    by_chance = (
        means((truth - true_mean[of_rows]) ** 2)
        + means((guess - guessed_mean[of_rows]) ** 2)
        + (true_mean - guessed_mean) ** 2
    )
    value = 1.0 - means((guess - truth) ** 2) / by_chance
    needs = "a pair of different labels"
    return mean_over_queries(queries, value, needs, per_query, undefined, query_weight)


@entry
def macro_mae(
    y_true: VectorLike,
    y_pred: VectorLike,
    *,
    classes: VectorLike | None = None,
    qid: VectorLike | None = None,
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
    undefined: str = "skip",
    query_weight: WeightsOfQueries = None,
) -> MetricValue:
    """Return the mean absolute error per true class, averaged over classes.

    ``(1/k) sum_c (1/m_c) sum_{i: y_i = c} |yhat_i - c|`` over the k classes that a query
    has rows of: a rare class counts as much as a common one.

    Parameters
    ----------
    y_true, y_pred, classes, qid, sample_weight, per_query, query_weight
        As in `quadratic_weighted_kappa`; errors are counted in steps between classes.
    undefined : {"skip", "zero", "raise"}, default="skip"
        As in `disagreement`, of queries whose rows have no weight.

    Returns
    -------
    error : float or ndarray of shape (n_queries,)
        Zero at best. O(n log n) time.

    Examples
    --------
    >>> from peckorder.metrics import macro_mae, rank_loss
    >>> y, guess = [1, 1, 1, 3], [1, 1, 1, 1]
    >>> macro_mae(y, guess), rank_loss(y, guess)
    (1.0, 0.5)
    """
    truth, guess = _on_scale(y_true, y_pred, classes)
    queries, weight = queries_and_weights(len(truth), qid, sample_weight)
    level = np.unique(truth, return_inverse=True)[1]
    n_levels = int(level.max()) + 1
    group, of_rows = np.unique(queries.of_rows() * n_levels + level, return_inverse=True)
    mass = np.bincount(of_rows, weight)
    total = np.bincount(of_rows, weight * np.abs(errors_of(truth, guess, "y_pred")))
    counts = mass > 0
    error = np.divide(total, mass, out=np.zeros(len(mass)), where=counts)
    query = group // n_levels
    n_classes = np.bincount(query, counts)
    with np.errstate(invalid="ignore"):
        value = np.bincount(query, error) / n_classes
    return mean_over_queries(queries, value, SOME_WEIGHT, per_query, undefined, query_weight)


def rank_steps(y_true: VectorLike, y_pred: VectorLike, classes: VectorLike | None) -> Floats:
    """Return the distance between predicted and true class per row, in steps."""
    truth, guess = _on_scale(y_true, y_pred, classes)
    return np.asarray(np.abs(errors_of(truth, guess, "y_pred")))


def _on_scale(
    y_true: VectorLike, y_pred: VectorLike, classes: VectorLike | None
) -> tuple[Floats, Floats]:
    """Return true and predicted labels as numbers, or as their levels among classes."""
    truth = read_labels(y_true, "y_true")
    guess = read_labels(y_pred, "y_pred")
    if len(truth) != len(guess):
        raise refusal(
            "y_pred",
            "be as long as y_true",
            f"{len(guess)} labels for {len(truth)}",
            error=ValueError,
        )
    if len(truth) == 0:
        raise refusal("y_true", "be at least one label", "none")
    if classes is None and truth.categories is None:
        guesses = _numbers(guess, "y_pred")
        return _numbers(truth, "y_true"), guesses
    scale = Scale.given(truth.categories if classes is None else classes)
    everything = slice(None)
    true_level = scale.levels(truth, everything, "y_true")
    guessed_level = scale.levels(guess, everything, "y_pred")
    return true_level.astype(np.float64), guessed_level.astype(np.float64)


def _numbers(column: LabelColumn, name: str) -> Floats:
    if not column.is_numeric:
        raise refusal(
            name,
            "be numbers unless classes= names all labels, lowest first",
            f"{column.label(0)!r} in row 0",
        )
    return numbers(name, column.values, finite=True)
