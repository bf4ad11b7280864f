"""Sums over a stream of rows that a magnitude-preserving ranker can be read from."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from peckorder._typing import Floats, Ints
from peckorder.solvers import mprank_primal as primal
from peckorder.solvers.gram import Matrix
from peckorder.solvers.mprank_weighing import Weighing


@dataclass(frozen=True, eq=False)
class RunningMoments:
    """Second moments of rows and labels about their means, so far.

    Without queries all rows ever given belong to one; its means move, and moments are
    taken along. With queries each is complete in its batch, and weighs its mass.
    """

    has_queries: bool
    scatter: Floats
    cross: Floats
    square: float
    mass: float
    squared_masses: float
    mean_row: Floats
    mean_label: float

    @classmethod
    def none(cls, n_features: int, *, has_queries: bool) -> Self:
        """Return what is known before the first row."""
        d = n_features
        return cls(
            has_queries, np.zeros((d, d)), np.zeros(d), 0.0, 0.0, 0.0, np.zeros(d), 0.0
        )

    def add(self, X: Matrix, label: Floats, query: Ints, weight: Floats | None) -> Self:
        """Return the moments with another batch. O(n d^2) time, O(d^2) memory."""
        weighing = Weighing.of(query, weight)
        target = weighing.root * weighing.centred(label)
        scatter, cross = primal.moments(X, target, weighing)
        given = np.ones(len(label)) if weight is None else weight
        mass = float(given.sum())
        squared = float(np.sum(np.bincount(query, given) ** 2))
        # What the weighing has divided by: for one query, without its mass.
        scale = squared / (2.0 * weighing.unit) / (1.0 if self.has_queries else mass)
        row = primal.times_transposed(X, given) / mass
        mean = float(given @ label / mass)
        total = self.mass + mass
        apart, off = row - self.mean_row, mean - self.mean_label
        between = 0.0 if self.has_queries else self.mass * mass / total
        return type(self)(
            self.has_queries,
            self.scatter + scale * scatter + between * np.outer(apart, apart),
            self.cross + scale * cross + between * off * apart,
            self.square + scale * float(target @ target) + between * off * off,
            total,
            self.squared_masses + squared,
            self.mean_row + apart * (mass / total),
            self.mean_label + off * (mass / total),
        )

    def solve(self, C: float, *, by_eigenvalues: bool) -> tuple[Floats, float, float]:
        """Return coefficients, the objective and the duality gap. O(d^3)."""
        normaliser = self.squared_masses if self.has_queries else self.mass
        ridge = normaliser / (2.0 * C)
        A, g = self.scatter, self.cross
        coef = None if by_eigenvalues else primal.cholesky(A, g, ridge)
        if coef is None:
            coef = primal.by_eigenvalues(A, g, ridge)
        image = A @ coef
        off = max(0.0, self.square - 2.0 * float(coef @ g) + float(coef @ image))
        rest = (g - image) / ridge - coef
        return coef, float(coef @ coef) + off / ridge, float(rest @ rest)

    def intercept(self, coef: Floats) -> float:
        """Return the mean of what labels exceed the scores by."""
        return self.mean_label - float(self.mean_row @ coef)
