"""Losses on an ordered scale."""

import numpy as np

from peckorder._core.errors import entry, refusal
from peckorder._core.typing import Floats, VectorLike
from peckorder.feedback import LabelColumn, Scale, read_labels


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


def rank_steps(y_true: VectorLike, y_pred: VectorLike, classes: VectorLike | None) -> Floats:
    """Return the distance between predicted and true class per row, in steps."""
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
        guesses, truths = _numbers(guess, "y_pred"), _numbers(truth, "y_true")
        return np.asarray(np.abs(guesses - truths))
    scale = Scale.given(truth.categories if classes is None else classes)
    everything = slice(None)
    true_level = scale.levels(truth, everything, "y_true")
    guessed_level = scale.levels(guess, everything, "y_pred")
    return np.asarray(np.abs(guessed_level - true_level), dtype=np.float64)


def _numbers(column: LabelColumn, name: str) -> Floats:
    if not column.is_numeric:
        raise refusal(
            name,
            "be numbers unless classes= names all labels, lowest first",
            f"{column.label(0)!r} in row 0",
        )
    values = column.values.astype(np.float64)
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise refusal(name, "be finite", f"{values[row]} in row {row}")
    return values
