"""Minimises ``|w|^2 + risk(scores of w)`` for a convex risk of pairs."""

from dataclasses import dataclass, field

import numpy as np

from peckorder._core.typing import Floats
from peckorder.magnitude.compiled.svrank import best_mixture
from peckorder.magnitude.mprank_solver.iterative import Limits
from peckorder.magnitude.svrank_solver.loss import Risk
from peckorder.magnitude.svrank_solver.space import Space, dot, inner, square_norm

# Steps remembered by the quasi-Newton method, and tries along a line.
_MEMORY, _TRIES = 20, 60
# How much shorter a step becomes if its end is not finite.
_SHORTER = 2.0**-20
# How far beyond the lowest point on a line a plane touches; steps to find that point.
_AHEAD, _LOOKS = 0.1, 3
# The least share of the remaining interval that a step leaves at either end.
_LEAST_SHARE = 0.1
# Iterations after which the gap must have fallen below this share of itself.
_PATIENCE, _SLOW = 100, 0.999
# Iterations after which a plane that has been of no use is dropped.
_IDLE = 50
_EPS = float(np.finfo(np.float64).eps)
# What sums over many rows may be wrong by, beside their terms.
_ROUNDING = 32.0 * _EPS


@dataclass(frozen=True, eq=False)
class Minimum:
    """A point w with its scores and objective, at most `gap` above the minimum.

    If neither converged nor out of iterations, rounding prevents more.
    """

    w: Floats
    scores: Floats
    objective: float
    gap: float
    n_iter: int
    is_converged: bool


@dataclass(frozen=True, eq=False)
class Point:
    """A w with its scores, the objective there, and the slope of the risk in scores."""

    w: Floats
    scores: Floats
    objective: float
    slope: Floats


def minimise(space: Space, risk: Risk, limits: Limits) -> Minimum:
    """Minimise to within `limits.tol` of the objective, if the limits allow."""
    return (cutting_planes if risk.power == 1 else quasi_newton)(space, risk, limits)


def cutting_planes(space: Space, risk: Risk, limits: Limits) -> Minimum:
    """Minimise a risk with kinks by the planes that touch it from below.

    The largest of the planes is minimised in place of the risk, which gives a bound.
    The next plane touches a little ahead of the lowest point on the way there from the
    best w so far, which takes far fewer iterations than planes at its end. Some risks,
    and two products with the rows, an iteration.
    """
    w, scores = space.zero(), space.scores(space.zero())
    here = Point(w, scores, np.inf, scores)
    master = Master()
    lower, highest, n_iter, left = 0.0, -np.inf, 0, [np.inf, np.inf]
    while True:
        n_iter += 1
        value, slope = risk(scores)
        there = Point(w, scores, square_norm(w) + value, slope)
        here = here if there.objective >= here.objective else there
        plane = space.of_slope(slope)
        if not np.isfinite([there.objective, inner(plane, plane)]).all():
            return Minimum(w, scores, np.inf, np.inf, n_iter, False)
        master.add(plane, value, w)
        lowest, bound, noise = master.solve()
        lower, highest = max(lower, bound - noise), max(highest, bound)
        gap = here.objective - lower
        if gap <= limits.tol * here.objective or n_iter == limits.max_iter:
            break
        if n_iter % _PATIENCE == 0:
            # The bound itself may rise long before it is above what is rounding.
            left, before = [gap, here.objective - highest], left
            if not any(0.0 < a < _SLOW * b for a, b in zip(left, before, strict=True)):
                break
        direction, along = lowest - here.w, space.scores(lowest) - here.scores
        length, lower_point = _lower_end(risk, here, direction, along)
        ahead = length + _AHEAD * (1.0 - length)
        w, scores = here.w + ahead * direction, here.scores + ahead * along
        here = here if lower_point.objective >= here.objective else lower_point
    # As good a point, if C is so small that all are: here scores differ.
    scores = space.scores(lowest)
    value, slope = risk(scores)
    there = Point(lowest, scores, square_norm(lowest) + value, slope)
    here = there if there.objective <= here.objective else here
    gap = max(0.0, here.objective - lower)
    is_converged = gap <= limits.tol * here.objective
    return Minimum(here.w, here.scores, here.objective, gap, n_iter, is_converged)


def _lower_end(risk: Risk, start: Point, direction: Floats, along: Floats) -> tuple[float, Point]:
    """Return a length up to 1 that lowers the objective, and the point there.

    A few steps of false position towards where the objective begins to rise; more of
    them if it falls only near the start: the length is of another order.
    """
    across, square = inner(start.w, direction), inner(direction, direction)

    def slope_at(length: float, slope: Floats) -> float:
        return 2.0 * (across + length * square) + dot(slope, along)

    low, high, point = 0.0, 1.0, start
    low_slope, high_slope = slope_at(0.0, start.slope), np.inf
    tries = 0
    while low_slope < 0.0 and (tries < _LOOKS or (low == 0.0 and tries < _TRIES)):
        share = 0.5 if high == 1.0 else low_slope / (low_slope - high_slope)
        least = _LEAST_SHARE if tries < _LOOKS else _SHORTER
        share = min(max(least, share), 1.0 - _LEAST_SHARE)
        length = low + share * (high - low)
        tries += 1
        w, scores = start.w + length * direction, start.scores + length * along
        value, slope = risk(scores)
        here = slope_at(length, slope)
        if here < 0.0:
            low, low_slope = length, here
            point = Point(w, scores, square_norm(w) + value, slope)
        else:
            high, high_slope = length, here
    return low, point


def quasi_newton(space: Space, risk: Risk, limits: Limits) -> Minimum:
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
    n_iter, before = 0, np.inf
    while True:
        objective = square_norm(w) + value
        gap = square_norm(gradient) / 4.0
        if not np.isfinite([objective, gap]).all():
            return Minimum(w, scores, np.inf, np.inf, max(1, n_iter), False)
        # The minimum is not negative either.
        gap = min(gap, objective)
        is_converged = gap <= limits.tol * objective
        # At least one step: if C is small, scores differ only after it.
        is_done = is_converged and (n_iter > 0 or not slope.any())
        if is_done or n_iter == limits.max_iter:
            break
        if n_iter % _PATIENCE == 0:
            if objective > (1.0 - _EPS) * before:
                break
            before = objective
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
        if min(inner(step, change), inner(change, change)) <= 0.0:
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
    """Return the gradient times the inverse Hessian estimated from the last steps."""
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
    risk: Risk, w: Floats, scores: Floats, direction: Floats, along: Floats, descent: float
) -> tuple[float, float, Floats]:
    """Return a length at which the slope is nearly zero, with the risk there.

    The slope grows along a line, so its zero is found by false position, which needs no
    difference of nearly equal objectives.
    """
    across, square = inner(w, direction), inner(direction, direction)
    low, low_slope, high, high_slope, further = 0.0, descent, np.inf, np.inf, 1.0
    for _ in range(_TRIES):
        length = further
        value, slope = risk(scores + length * along)
        here = 2.0 * (across + length * square) + dot(slope, along)
        if abs(here) <= 0.1 * abs(descent):
            break
        if here < 0.0:
            # An end that does not move counts less each time, so that it moves at last.
            high_slope /= 2.0
            low, low_slope = length, here
        else:
            low_slope /= 2.0
            high, high_slope = length, here if np.isfinite(here) else np.inf
        if np.isinf(high):
            further = 4.0 * length
        elif np.isinf(high_slope):
            further = low + (high - low) * _SHORTER
        else:
            further = low + (high - low) * low_slope / (low_slope - high_slope)
    return length, value, slope


@dataclass(eq=False)
class Master:
    """Minimises ``|w|^2 + max_t (<a_t, w> + b_t)`` over planes that come one by one.

    The dual, ``max b'x - x' G x / 4`` over shares x of the planes with G their inner
    products, is solved by an active set; ``w = -1/2 sum_t x_t a_t``. Any x gives a
    lower bound. `_noise` is how much rounding there may be in each b.
    """

    _planes: list[Floats] = field(default_factory=list)
    _idle: list[int] = field(default_factory=list)
    _b: Floats = field(default_factory=lambda: np.zeros(0))
    _noise: Floats = field(default_factory=lambda: np.zeros(0))
    _G: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    _x: Floats = field(default_factory=lambda: np.zeros(0))

    def add(self, plane: Floats, value: float, w: Floats) -> None:
        """Add the plane that has a slope, and a value at w. O(T d) for T planes."""
        kept = [t for t, idle in enumerate(self._idle) if idle < _IDLE]
        self._planes = [self._planes[t] for t in kept] + [plane]
        self._idle = [self._idle[t] for t in kept] + [0]
        n = len(kept)
        G = np.empty((n + 1, n + 1))
        G[:n, :n] = self._G[np.ix_(kept, kept)]
        G[n] = G[:, n] = [inner(plane, other) for other in self._planes]
        size = np.sqrt(square_norm(plane)) * np.sqrt(square_norm(w))
        self._G, self._b = G, np.append(self._b[kept], value - inner(plane, w))
        self._noise = np.append(self._noise[kept], _ROUNDING * (value + size))
        self._x = np.append(self._x[kept], 0.0 if n else 1.0)

    def solve(self) -> tuple[Floats, float, float]:
        """Return w, a lower bound of the minimum, and how much of it may be rounding.

        Where planes are far steeper than their mixture, it is a small difference.
        """
        self._x = x = shares(self._G, self._b, self._x)
        w = np.zeros_like(self._planes[0])
        for t in range(len(x)):
            if x[t] > 0.0:
                w -= (0.5 * x[t]) * self._planes[t]
                self._idle[t] = 0
            else:
                self._idle[t] += 1
        square = square_norm(w)
        lost = _ROUNDING * float(x @ np.sqrt(np.maximum(self._G.diagonal(), 0.0)))
        noise = float(self._noise @ x) + lost * (2.0 * np.sqrt(square) + lost)
        return w, float(self._b @ x) - square, noise


def shares(G: Floats, b: Floats, x: Floats) -> Floats:
    """Return the x on the simplex with the largest ``b'x - x' G x / 4``.

    From a given x on. O(k^3) for k planes that have a share, and O(T k) for each of T
    that gets or loses one on the way.
    """
    x, size = x.copy(), len(x) + 1
    scratch = np.empty((size, size)), np.empty((3, size))
    best_mixture(G, b, x, np.empty(size, dtype=np.int64), *scratch, 2 * size + 10)
    return x
