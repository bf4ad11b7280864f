"""Minimises ``|w|^2 + risk(scores of w)`` for a convex risk of pairs."""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from peckorder._typing import Floats
from peckorder.solvers.gram import Matrix
from peckorder.solvers.mprank_dual import refuse_indefinite
from peckorder.solvers.mprank_gram import Gram
from peckorder.solvers.mprank_iterative import Limits
from peckorder.solvers.mprank_primal import times, times_transposed
from peckorder.solvers.svrank_loss import PairRisk
from peckorder.solvers.svrank_master import Master

# Rows up to which kernels are kept rather than computed anew.
_KEPT_ROWS = 6_000
# Squares of norms so far below zero, beside the largest, are not due to rounding.
_NEGATIVE = 1e-7
# Steps remembered by the quasi-Newton method, and tries along a line.
_MEMORY, _TRIES = 20, 60
# How far ahead of the best point a plane touches; how closely that point is sought.
_AHEAD, _HALVINGS = 0.1, 5


class Space(Protocol):
    """Where w is: elements are arrays u with ``<u, v> = u[0] . v[-1]``."""

    def zero(self) -> Floats:
        """Return the origin."""

    def of_slope(self, slope: Floats) -> Floats:
        """Return the gradient in w, given that in the scores."""

    def scores(self, w: Floats) -> Floats:
        """Return the scores of all rows."""


def inner(u: Floats, v: Floats) -> float:
    """Return the inner product of two elements of a space."""
    return float(u[0] @ v[-1])


@dataclass(frozen=True, eq=False)
class Features:
    """Elements are (1, d): weights of features."""

    X: Matrix

    def zero(self) -> Floats:
        """Return the origin."""
        return np.zeros((1, self.X.shape[1]))

    def of_slope(self, slope: Floats) -> Floats:
        """Return ``X' slope``. Slopes sum to zero in a query: no need to centre."""
        return times_transposed(self.X, slope)[np.newaxis]

    def scores(self, w: Floats) -> Floats:
        """Return ``X w``."""
        return times(self.X, w[0])


@dataclass(eq=False)
class Kernels:
    """Elements are (2, n): coefficients of rows, and their scores."""

    who: str
    gram: Gram
    K: Floats | None = field(init=False)

    def __post_init__(self) -> None:
        is_kept = len(self.gram) <= _KEPT_ROWS
        if not is_kept:
            self.gram.check()
        self.K = self.gram.whole() if is_kept else None
        diagonal = self.gram.diagonal() if self.K is None else self.K.diagonal()
        self._largest = float(np.abs(diagonal).max(initial=0.0))

    def zero(self) -> Floats:
        """Return the origin."""
        return np.zeros((2, len(self.gram)))

    def of_slope(self, slope: Floats) -> Floats:
        """Return the slope itself, and kernels times it."""
        image = self.gram.product(slope) if self.K is None else self.K @ slope
        square, length = float(slope @ image), float(slope @ slope)
        if square < -_NEGATIVE * self._largest * length:
            refuse_indefinite(self.who, square / length)
        return np.stack([slope, image])

    def scores(self, w: Floats) -> Floats:
        """Return the scores, which are part of the element."""
        scores: Floats = w[1]
        return scores


@dataclass(frozen=True, eq=False)
class Minimum:
    """What was found: w, its scores, the objective, how far it may be from the best."""

    w: Floats
    scores: Floats
    objective: float
    gap: float
    n_iter: int
    is_converged: bool


def minimise(space: Space, risk: PairRisk, limits: Limits) -> Minimum:
    """Minimise to within `limits.tol` of the objective, or give up."""
    return (cutting_planes if risk.power == 1 else quasi_newton)(space, risk, limits)


def cutting_planes(space: Space, risk: PairRisk, limits: Limits) -> Minimum:
    """Minimise a risk with kinks by the planes that touch it from below.

    The largest of the planes is minimised in place of the risk, which gives a bound.
    The next plane touches a little ahead of the lowest point on the way there from the
    best w so far, which takes far fewer iterations than planes at its end. Some risks,
    and two products with the rows, an iteration.
    """
    w = best = space.zero()
    scores = best_scores = space.scores(w)
    master = Master()
    least, lower, n_iter = np.inf, 0.0, 0
    while n_iter < limits.max_iter:
        n_iter += 1
        value, slope = risk(scores)
        objective = inner(w, w) + value
        if not objective >= least:
            least, best, best_scores = objective, w, scores
        plane = space.of_slope(slope)
        if not np.isfinite([objective, inner(plane, plane)]).all():
            least = np.inf
            break
        master.add(plane, value - inner(plane, w))
        lowest, bound = master.solve()
        lower = max(lower, bound)
        if least - lower <= limits.tol * least:
            break
        direction, along = lowest - best, space.scores(lowest) - best_scores
        length, value = _lower_end(risk, best, best_scores, direction, along)
        ahead = length + _AHEAD * (1.0 - length)
        w, scores = best + ahead * direction, best_scores + ahead * along
        here = best + length * direction
        objective = inner(here, here) + value
        if objective < least:
            least, best = objective, here
            best_scores = best_scores + length * along
    gap = max(0.0, least - lower)
    is_converged = gap <= limits.tol * least
    return Minimum(best, best_scores, least, gap, n_iter, is_converged)


def _lower_end(
    risk: PairRisk, w: Floats, scores: Floats, direction: Floats, along: Floats
) -> tuple[float, float]:
    """Return a length up to 1 that lowers the objective, and the risk there.

    Halves what is left, for as long as the objective rises at its end.
    """
    across, square = inner(w, direction), inner(direction, direction)
    low, high, risk_low = 0.0, 1.0, np.inf
    for _ in range(_HALVINGS):
        length = (low + high) / 2.0
        value, slope = risk(scores + length * along)
        if 2.0 * (across + length * square) + float(slope @ along) < 0.0:
            low, risk_low = length, value
        else:
            high = length
    return low, risk_low


def quasi_newton(space: Space, risk: PairRisk, limits: Limits) -> Minimum:
    """Minimise a smooth risk by L-BFGS.

    The objective is strongly convex: it is above its minimum by no more than a quarter
    of the squared norm of its gradient. One product with the rows each way an
    iteration; looking along a line takes risks only.
    """
    w = space.zero()
    scores = space.scores(w)
    steps: list[tuple[Floats, Floats]] = []
    value, slope = risk(scores)
    gradient = space.of_slope(slope)
    n_iter = 0
    while True:
        objective = inner(w, w) + value
        gap = max(0.0, inner(gradient, gradient)) / 4.0
        is_converged = gap <= limits.tol * objective
        if is_converged or n_iter == limits.max_iter or not np.isfinite(objective):
            break
        n_iter += 1
        direction = -_times_inverse(steps, gradient)
        along = space.scores(direction)
        length, value, slope = _line_minimum(
            risk, w, scores, direction, along, inner(gradient, direction)
        )
        step = length * direction
        w, scores = w + step, scores + length * along
        new = 2.0 * w + space.of_slope(slope)
        change = new - gradient
        if inner(step, change) <= 0.0:
            # Rounding is all that is left.
            gradient = new
            steps.clear()
            if length == 0.0:
                break
            continue
        steps.append((step, change))
        del steps[:-_MEMORY]
        gradient = new
    return Minimum(w, scores, objective, gap, max(1, n_iter), is_converged)


def _times_inverse(steps: list[tuple[Floats, Floats]], gradient: Floats) -> Floats:
    """Return the gradient times what the last steps tell of the inverse Hessian."""
    q, factors = gradient.copy(), []
    for step, change in reversed(steps):
        factor = inner(step, q) / inner(step, change)
        q -= factor * change
        factors.append(factor)
    if steps:
        step, change = steps[-1]
        q *= inner(step, change) / inner(change, change)
    else:
        q *= 0.5
    for (step, change), factor in zip(steps, reversed(factors), strict=True):
        q += (factor - inner(change, q) / inner(step, change)) * step
    return q


def _line_minimum(
    risk: PairRisk,
    w: Floats,
    scores: Floats,
    direction: Floats,
    along: Floats,
    descent: float,
) -> tuple[float, float, Floats]:
    """Return a length at which the slope has gone, mostly, with the risk there.

    The slope along a line grows all the way: where it is zero is looked for by the
    rule of false position, which needs no difference of nearly equal objectives.
    """
    across, square = inner(w, direction), inner(direction, direction)
    low, low_slope, high, high_slope, length = 0.0, descent, np.inf, np.inf, 1.0
    for _ in range(_TRIES):
        value, slope = risk(scores + length * along)
        here = 2.0 * (across + length * square) + float(slope @ along)
        if not abs(here) > 0.1 * abs(descent):
            break
        if here < 0.0:
            # A side that is left alone counts for less, so that it moves at last.
            high_slope /= 2.0
            low, low_slope = length, here
        else:
            low_slope /= 2.0
            high, high_slope = length, here
        if np.isinf(high):
            length *= 4.0
        else:
            length = low + (high - low) * low_slope / (low_slope - high_slope)
    return length, value, slope
