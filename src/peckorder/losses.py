"""Losses of pairs of rows, which magnitude-preserving rankers minimise."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from peckorder._core.errors import entry, refusal
from peckorder._core.typing import Floats, VectorLike
from peckorder._core.validation import (
    not_negative,
    numbers,
    one_of,
    one_or_two,
    one_per_row,
    weights,
)
from peckorder.feedback import Queries
from peckorder.magnitude.svrank_solver.loss import PairRisk

__all__ = ["PairLoss", "pair_loss"]

_KIND = one_of("mp", "svr", "hr", "hmp", "hmpc", aliases={"mprank": "mp", "svrank": "svr"})


class PairLoss(NamedTuple):
    """A sum over pairs, and its slope in the score of each row."""

    value: float
    gradient: Floats


@entry
def pair_loss(
    kind: str,
    scores: ArrayLike,
    y: ArrayLike,
    *,
    power: int = 1,
    epsilon: float = 0.0,
    top_weight: float = 0.0,
    qid: VectorLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> PairLoss:
    """Return a loss summed over pairs of rows, and its gradient in the scores.

    For a pair (i, j) with the score difference ``Dh = h_j - h_i``, the true difference
    ``Dy = y_j - y_i`` and ``De = Dh - Dy``, the losses [1]_ are, to the power n ::

        mp    |De|                      magnitudes are kept
        svr   max(0, |De| - epsilon)    but for a band
        hr    |Dh|          if Dh Dy < 0, else 0
        hmp   |De|          if Dh Dy < 0, else 0
        hmpc  max(0, |Dy| - sign(Dy) Dh) if Dy != 0, else 0

    "hmp" is as printed: neither convex nor continuous (a pair with Dy = 1 costs 1.001
    at Dh = -0.001, and nothing at Dh = 0), so it is a measure, not to be minimised.
    "hmpc" is the convex loss that is meant: only one side of "mp" counts, that of
    scores too near each other or in the wrong order.

    Parameters
    ----------
    kind : {"mp", "svr", "hr", "hmp", "hmpc"}
        The loss of a pair.
    scores : array-like of shape (n_samples,)
        Predicted scores h, finite.
    y : array-like of shape (n_samples,)
        True values, finite; larger is better.
    power : {1, 2}, default=1
        The power n.
    epsilon : float, default=0.0
        Half the width of the band of "svr"; the others have none.
    top_weight : float, default=0.0
        How much more the top counts. A pair weighs ``1 + top_weight t`` times as much,
        where t is the height of the larger of its two true values: 0 at the lowest of
        its query, 1 at the highest, in proportion between (0 if all are equal). Neither
        a constant added to `y` nor a factor changes t. The weight does not depend on
        the scores, so that what is convex stays so.
    qid : array-like of shape (n_samples,), default=None
        The query of each row, of any type and in any order: pairs are of rows of one
        query. None is one query.
    sample_weight : array-like of shape (n_samples,), default=None
        A pair weighs the product of its rows' weights.

    Returns
    -------
    value : float
        The sum over ordered pairs, in which each two rows count twice. Not divided by
        anything.
    gradient : ndarray of shape (n_samples,)
        Its derivatives with respect to `scores`. At a kink (De = 0, De = epsilon or
        -epsilon, Dh = 0) a pair contributes 0, which is a sub-gradient of those that
        are convex.

    Notes
    -----
    O(n log n) time, O(n) memory: rows are sorted by errors ("mp", "svr"), or by true
    values and then merged by scores or errors (the others, and all with a top_weight).
    "mp" with power 2, which is a variance, takes O(n). Sums over pairs are built of
    terms of one sign, so they are exact to rounding, however far scores are from `y` as
    a whole ("hmp" apart, whose rounding is relative to the widest difference). Queries
    are shared among threads, which does not change a bit.

    References
    ----------
    .. [1] C. Cortes, M. Mohri and A. Rastogi, "Magnitude-preserving ranking
       algorithms", ICML 2007.

    Examples
    --------
    >>> from peckorder.losses import pair_loss
    >>> value, gradient = pair_loss("svr", [0.0, 1.0, 5.0], [0, 1, 2], epsilon=0.5)
    >>> value, gradient
    (10.0, array([-2., -2.,  4.]))
    >>> pair_loss("svr", [0.0, 1.0, 5.0], [0, 1, 2], epsilon=0.5, top_weight=1.0).value
    20.0
    """
    _KIND.check("kind", kind)
    one_or_two.check("power", power)
    not_negative.check("epsilon", epsilon)
    not_negative.check("top_weight", top_weight)
    if epsilon > 0 and kind != "svr":
        raise refusal("epsilon", "be 0 unless kind is 'svr'", repr(epsilon), error=ValueError)
    score = numbers("scores", scores, finite=True)
    truth = one_per_row("y", y, len(score))
    queries = Queries.of(qid, len(score))
    weight: Floats = np.ones(len(score))
    if sample_weight is not None:
        weight = weights(sample_weight, len(score))
    how = int(power), float(epsilon), float(top_weight)
    risk = PairRisk(kind, truth, truth, queries, weight, *how)
    with np.errstate(over="ignore", invalid="ignore"):
        loss = PairLoss(*risk(score))
    if not (np.isfinite(loss.value) and np.isfinite(loss.gradient).all()):
        raise refusal(
            "scores, y and sample_weight", "be small enough for finite sums", "an overflow"
        )
    return loss
