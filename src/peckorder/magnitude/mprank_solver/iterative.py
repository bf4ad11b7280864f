"""Magnitude-preserving ranking by iteration: conjugate gradients, and sweeps."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from peckorder._core.typing import Floats
from peckorder.magnitude.compiled import mprank as compiled

Apply: TypeAlias = Callable[[Floats], Floats]


class Indefinite(Exception):
    """A matrix is indefinite: its curvature along a vector is negative."""

    def __init__(self, curvature: float) -> None:
        super().__init__(curvature)
        self.curvature = curvature


class Diverged(Indefinite):
    """Steps were too long, or the matrix is indefinite."""


@dataclass(frozen=True)
class Limits:
    """When to stop: at `tol` relative to the start, or after `max_iter` iterations."""

    tol: float
    max_iter: int


@dataclass(frozen=True, eq=False)
class IterationResult:
    """The result of an iteration."""

    x: Floats
    n_iter: int
    is_converged: bool


def conjugate_gradients(
    apply: Apply,
    right: Floats,
    residual: Apply,
    diagonal: Floats | float,
    enough: float,
    max_iter: int,
    *,
    noise: float = np.inf,
) -> IterationResult:
    """Solve ``apply(x) = right`` until the squared residual is `enough`.

    Preconditioned by the diagonal. The updated residual drifts from the true one, so
    the iteration restarts from ``residual(x)`` until that is small, too. Curvatures as
    far below zero as `noise` may be due to rounding, and end the iteration.
    """
    best, least, n_iter = np.zeros_like(right), float(right @ right), 0
    x, rest, before = best, right, np.inf
    while least > enough and n_iter < max_iter and least <= 0.25 * before:
        before = least
        z = rest / diagonal
        p, rho = z, float(rest @ z)
        while n_iter < max_iter and float(rest @ rest) > 0.5 * enough:
            image = apply(p)
            curvature = float(p @ image)
            if curvature < -noise * float(p @ p):
                raise Indefinite(curvature / float(p @ p))
            if not np.isfinite(curvature):
                # Numbers are too large for a solution.
                return IterationResult(np.full_like(x, np.nan), n_iter, False)
            if curvature <= 0.0:
                break
            step = rho / curvature
            x = x + step * p
            rest = rest - step * image
            n_iter += 1
            z = rest / diagonal
            rho, last = float(rest @ z), rho
            p = z + (rho / last) * p
        rest = residual(x)
        size = float(rest @ rest)
        if size < least:
            best, least = x, size
    return IterationResult(best, n_iter, least <= enough)


def sweeps(
    K: Floats, target: Floats, ridge: float, step: Floats, limits: Limits, *, by_gap: bool
) -> IterationResult:
    """Relax ``(K + ridge) beta = target`` one coordinate after the other.

    A pass does ``beta_i += step_i [2 (target - K beta)_i - 2 ridge beta_i]`` for all i.
    It ends when the duality gap, the squared residual over the ridge, is `tol` of the
    objective at zero; or when the objective changes by no more than `tol` of itself.
    Raises Diverged if the gap grows without end.
    """
    beta = np.zeros_like(target)
    at_zero = float(target @ target) / ridge
    before = at_zero
    for n_iter in range(1, limits.max_iter + 1):
        with np.errstate(over="ignore", invalid="ignore"):
            compiled.sweep(K, target, ridge, step, beta)
            image = K @ beta
            rest = target - image - ridge * beta
            gap = float(rest @ rest) / ridge
            off = image - target
            objective = float(beta @ image) + float(off @ off) / ridge
        if not np.isfinite(gap) or gap > 1e12 * max(at_zero, 1e-280):
            raise Diverged(_curvature(K, beta))
        if by_gap:
            is_done = gap <= limits.tol * at_zero
        else:
            is_done = abs(before - objective) <= limits.tol * objective
        if is_done:
            return IterationResult(beta, n_iter, True)
        before = objective
    return IterationResult(beta, limits.max_iter, False)


def _curvature(K: Floats, beta: Floats) -> float:
    """Return that of K along beta, however long it is."""
    unit = beta / np.abs(beta).max()
    return float(unit @ K @ unit) / float(unit @ unit)
