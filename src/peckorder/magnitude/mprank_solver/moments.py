"""Running moments, from which linear MPRank learns a stream of rows."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy import sparse
from scipy.linalg import lapack, solve_triangular, svd

from peckorder._core.typing import Floats, Ints
from peckorder.magnitude.mprank_solver.collinear import HIDDEN, without_collinear
from peckorder.magnitude.mprank_solver.pairs import PairRows, PairWeights
from peckorder.magnitude.mprank_solver.ridge import Solution
from peckorder.magnitude.mprank_solver.rows import (
    LARGEST,
    LARGEST_RIDGE,
    SMALLEST_RIDGE,
    QueryWeights,
    ScaledRows,
    blocks,
    refuse_large,
    times_transposed,
    triangle,
)
from peckorder.similarity.kernel_function import Matrix

# The least eigenvalue, of features and label at unit norm, from which on products are
# as precise as reflections, which take several times as long.
_EVEN = 1e-3


@dataclass(frozen=True, eq=False)
class RunningMoments:
    """Second moments of rows and labels about their means, so far.

    They are the products of a triangular `factor` (d + 1, d + 1) with its transpose,
    the label being the last column: of the moments themselves small ones would be lost.
    Without queries all rows belong to one, whose means move with each batch. With
    queries each is complete in its batch, and weighs its mass. Weights are relative to
    the largest, `unit`. The `mean` is that of rows less the first row, `origin`.

    Those of listed pairs are sums over batches, as with queries: the products of the
    differences of rows, with their sizes in place of labels, which have no mean.
    `squared_masses` is 2 P, and `unit` the root of the largest weight.
    """

    has_queries: bool
    factor: Floats
    unit: float
    mass: float
    squared_masses: float
    origin: Floats
    mean: Floats
    has_pairs: bool = False

    @classmethod
    def empty(cls, n_features: int, *, has_queries: bool, has_pairs: bool = False) -> Self:
        """Return the moments of no rows."""
        d = n_features + 1
        zeros = np.zeros(d)
        return cls(has_queries, np.zeros((d, d)), 0.0, 0.0, 0.0, zeros, zeros, has_pairs)

    def add(self, X: Matrix, label: Floats, query: Ints, weight: Floats | None) -> Self:
        """Return the moments with another batch. O(n d^2 + d^3) time."""
        weights = QueryWeights.of(query, weight)
        masses = np.bincount(query, weights.weight)
        # The heaviest row of a batch weighs 1 in the factor of its scaled rows.
        heaviest = (masses[query] * weights.weight).max() if self.has_queries else 1.0
        origin = _joined(X, label, slice(1))[0]
        batch = type(self)(
            self.has_queries,
            np.sqrt(heaviest) * _factor(X, label, weights),
            1.0 if weight is None else float(weight.max()),
            float(masses.sum()),
            float(masses @ masses),
            origin,
            _mean(X, label, weights.weight / weights.weight.sum(), origin),
        )
        return self.merge(batch)

    def add_pairs(self, X: Matrix, pairs: PairWeights) -> Self:
        """Return the moments with another batch of pairs. O(n_pairs d^2 + d^3) time."""
        zeros, squares = np.zeros(len(self.mean)), 2.0 * pairs.normaliser
        factor = _triangular(PairRows(X, pairs), pairs.target)
        batch = type(self)(True, factor, pairs.unit, 1.0, squares, zeros, zeros, True)
        return self.merge(batch)

    def merge(self, other: Self) -> Self:
        """Return the moments of the rows of both, up to rounding. O(d^3) time."""
        if not other.mass:
            return self
        unit = max(self.unit, other.unit)
        ratios = np.array([self.unit / unit, other.unit / unit])
        mass, more = ratios * (self.mass, other.mass)
        origin = self.origin if self.mass else other.origin
        apart = (other.origin - origin) + (other.mean - self.mean)
        # The heaviest row of a factor weighs 1, or its query's mass.
        scales = ratios if self.has_queries else np.sqrt(ratios)
        rows = [scales[0] * self.factor, scales[1] * other.factor]
        if not self.has_queries:
            rows.append(np.sqrt(mass * (more / (mass + more))) * apart[np.newaxis])
        factor = triangle(np.vstack(rows))
        if not np.abs(factor).max() < np.sqrt(LARGEST):
            refuse_large()
        squares = ratios**2 @ (self.squared_masses, other.squared_masses)
        return replace(
            self,
            factor=factor,
            unit=unit,
            mass=float(mass + more),
            squared_masses=float(squares),
            origin=origin,
            mean=self.mean + apart * (more / (mass + more)),
        )

    def solve(self, C: float) -> Solution:
        """Return coefficients of features. O(d^3)."""
        normaliser = self.squared_masses if self.has_queries else self.mass
        ridge = float(np.clip(normaliser / 2.0 / C, SMALLEST_RIDGE, LARGEST_RIDGE))
        A = self.factor[:-1, :-1]
        coef = _ridge_regression(A, self.factor[:-1, -1], ridge)
        residual = self.factor[:, -1] - self.factor[:, :-1] @ coef
        descent = A.T @ residual[:-1] / ridge - coef
        objective = float(coef @ coef) + float(residual @ residual) / ridge
        if not np.isfinite(objective):
            refuse_large()
        signs = np.append(-coef, 1.0)
        intercept = float(self.origin @ signs + self.mean @ signs)
        return Solution(coef, None, intercept, objective, float(descent @ descent), 1, True)


def _factor(X: Matrix, label: Floats, weights: QueryWeights) -> Floats:
    """Return a factor of the moments of a batch, scaled and centred by query.

    As many rows as columns at most, triangular or not.
    """
    n, d = X.shape
    rows, target = ScaledRows(X, weights), weights.root * weights.centred(label)
    if n <= d + 1:
        return np.column_stack([rows.dense(), target])
    return _triangular(rows, target)


def _triangular(rows: ScaledRows | PairRows, target: Floats) -> Floats:
    """Return the triangular factor of scaled rows with a target as last column."""
    d = rows.X.shape[1]
    if len(target) >= 2 * d:
        moments = np.empty((d + 1, d + 1))
        moments[:d, :d], cross = rows.moments(target, np.dtype(np.float64))
        moments[:d, d] = moments[d, :d] = cross
        moments[d, d] = target @ target
        factor = _of_moments(moments)
        if factor is not None:
            return factor
    return rows.factor(target)


def _joined(X: Matrix, label: Floats, block: slice) -> Floats:
    """Return a block of rows with their labels as the last column."""
    rows = X[block].toarray() if sparse.issparse(X) else X[block]
    return np.column_stack([rows, label[block]])


def _mean(X: Matrix, label: Floats, share: Floats, origin: Floats) -> Floats:
    """Return the mean of rows, and labels, less an origin."""
    total = np.zeros(len(origin))
    if sparse.issparse(X):
        # Features that few rows have are near zero relative to their spread.
        is_common = 2 * np.bincount(X.indices, minlength=X.shape[1]) > X.shape[0]
        rare = np.append(~is_common, False)
        total[rare] = times_transposed(X, share)[~is_common] - origin[rare]
        total[~rare] = _mean(X[:, is_common].toarray(), label, share, origin[~rare])
        return total
    for block in blocks(X):
        total += share[block] @ (_joined(X, label, block) - origin)
    return total


def _of_moments(moments: Floats) -> Floats | None:
    """Return a factor of moments, or None if it would lose digits."""
    scale = np.sqrt(moments.diagonal())
    if not (scale > 0.0).all():
        return None
    even = moments / scale / scale[:, np.newaxis]
    factor, info = lapack.dpotrf(even.T, lower=0, clean=1)
    if info != 0 or not lapack.dpocon(factor, 1.0, uplo="U")[0] > _EVEN:
        return None
    return factor * scale  # type: ignore[no-any-return]


def _ridge_regression(A: Floats, b: Floats, ridge: float) -> Floats:
    """Return the minimum of ``|A x - b|^2 + ridge |x|^2``, by reflections.

    Of least norm, if rounding hides the ridge.
    """
    d = len(b)
    both = np.zeros((2 * d, d + 1))
    both[:d, :d], both[:d, d] = A, b
    np.fill_diagonal(both[d:], np.sqrt(ridge))
    R = triangle(both)
    pivots = np.abs(R.diagonal()[:d])
    noise = d * np.finfo(np.float64).eps
    if pivots.min() > noise * pivots.max():
        coef: Floats = solve_triangular(R[:d, :d], R[:d, d])
    else:
        left, values, right = svd(A)
        shares = values / (values**2 + ridge)
        shares[values <= noise * values.max()] = 0.0
        coef = right.T @ (shares * (left.T @ b))
    is_hidden = ridge < HIDDEN * np.square(A).sum(axis=0).max()
    return without_collinear(coef, A) if is_hidden else coef
