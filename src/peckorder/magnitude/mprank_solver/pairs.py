"""Listed pairs of rows: their weighted differences, and products of features."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.linalg import lapack, solve_triangular
from scipy.sparse import csgraph

from peckorder._core.errors import refusal
from peckorder._core.typing import Floats, Ints, Matrix
from peckorder.feedback import Preferences
from peckorder.magnitude.mprank_solver.rows import (
    LARGEST_RIDGE,
    LIGHTEST,
    SMALLEST_RIDGE,
    QueryWeights,
    ScaledRows,
    triangle,
)

# Entries of the blocks in which differences of rows are formed.
_ENTRIES = 1 << 20


@dataclass(frozen=True, eq=False)
class PairWeights:
    """Listed pairs among rows that are all in some pair, weighted and with sizes.

    The pairs B (n_pairs, n_rows) have +1 for the better row, -1 for the worse. `lead` are
    the differences of an offset, `apart` is what is left of the sizes. With weights v
    relative to the largest::

        C/P sum_k weight_k [(B h)_k - apart_k]^2 = 1/ridge |V B h - V apart|^2

    where V has the roots of v ("scaled"), and P is the sum over connected components of
    ``W m / (m - 1)`` for m rows whose pairs weigh W: ``m^2 / 2`` if all m rows are
    paired, as the labels of one query pair them. `unit` is the root of the largest
    weight.
    """

    better: Ints
    worse: Ints
    root: Floats
    size: Floats
    lead: Floats
    component: Ints
    unit: float

    @classmethod
    def of(
        cls,
        preferences: Preferences,
        n_rows: int,
        sample_weight: Floats | None,
        offset: Floats | None,
    ) -> tuple[Self, Ints]:
        """Return the pairs with positive weight, and the rows that are in one."""
        preferences.check_rows(n_rows)
        better, worse, weight = preferences.pairs()
        size = preferences.sizes()
        unit = 1.0
        if sample_weight is not None:
            unit = max(float(sample_weight.max(initial=0.0)), LIGHTEST)
            row_weight = sample_weight / unit
            weight = weight * row_weight[better] * row_weight[worse]
        if not weight.any():
            raise refusal("sample_weight", "be > 0 for both rows of some pair", "zero")
        kept = weight > 0
        better, worse, weight, size = better[kept], worse[kept], weight[kept], size[kept]
        lead = np.zeros(len(size)) if offset is None else offset[better] - offset[worse]
        is_used = np.zeros(n_rows, dtype=bool)
        is_used[better] = is_used[worse] = True
        place = np.cumsum(is_used) - 1
        root = np.sqrt(np.maximum(weight / weight.max(), LIGHTEST))
        unit *= float(np.sqrt(weight.max()))
        pairs = cls.connected(place[better], place[worse], root, size, lead, unit)
        return pairs, np.flatnonzero(is_used)

    @classmethod
    def connected(
        cls, better: Ints, worse: Ints, root: Floats, size: Floats, lead: Floats, unit: float = 1.0
    ) -> Self:
        """Find the connected components of rows 0..n-1, all in some pair."""
        n_rows = int(max(better.max(), worse.max())) + 1
        links = sparse.coo_array((root > 0.0, (better, worse)), shape=(n_rows, n_rows))
        component = csgraph.connected_components(links.tocsr(), directed=False)[1]
        return cls(better, worse, root, size, lead, component, unit)

    def __len__(self) -> int:
        return len(self.better)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.component)

    @cached_property
    def normaliser(self) -> float:
        """P, for weights relative to the largest."""
        n_rows = np.bincount(self.component)
        return float(
            np.bincount(self.component[self.better], self.root**2) @ (n_rows / (n_rows - 1))
        )

    def ridge(self, C: float) -> float:
        """Return the ridge of C."""
        return float(np.clip(self.normaliser / C, SMALLEST_RIDGE, LARGEST_RIDGE))

    @cached_property
    def apart(self) -> Floats:
        """What differences of scores should be: sizes less those of an offset."""
        return self.size - self.lead

    @cached_property
    def target(self) -> Floats:
        """Scaled sizes, less those of an offset."""
        return self.root * self.apart

    def differences(self, scores: Floats) -> Floats:
        """Return ``V B scores``."""
        return self.root * (scores[self.better] - scores[self.worse])

    def sums(self, values: Floats) -> Floats:
        """Return ``B' values``: the sum over pairs of each row."""
        above: Floats = np.bincount(self.better, values, self.n_rows).astype(np.float64)
        return above - np.bincount(self.worse, values, self.n_rows)

    def to_rows(self, scaled: Floats) -> Floats:
        """Return ``(V B)' scaled``."""
        return self.sums(self.root * scaled)

    @cached_property
    def laplacian(self) -> Any:
        """The sparse matrix ``L = (V B)' V B``, whose rows sum to zero."""
        v = self.root**2
        i, j = np.concatenate([self.better, self.worse]), np.concatenate([self.worse, self.better])
        shape = self.n_rows, self.n_rows
        adjacent = sparse.coo_array((np.tile(v, 2), (i, j)), shape=shape).tocsr()
        degrees = np.bincount(i, np.tile(v, 2), self.n_rows)
        return (sparse.diags_array(degrees) - adjacent).tocsr()

    @cached_property
    def first(self) -> Ints:
        """The first row of each component."""
        return np.unique(self.component, return_index=True)[1]

    @cached_property
    def grounded(self) -> "GroundedPairs":
        """The same problem with as few equations as possible, for dense matrices."""
        return GroundedPairs.of(self)


@dataclass(frozen=True, eq=False)
class GroundedPairs:
    """As many equations as rows that are not the first of their connected component.

    Let E subtract from such a row the first of its component. As the rows of L sum to
    zero, ``L = E' L_g E`` with the part L_g of these rows, positive definite, whose
    Cholesky factor is C. So ``|V B h - V apart|^2`` is ``|G' h - target|^2`` and a constant,
    with ``G' = C' E``.
    """

    kept: Ints
    anchor: Ints
    n_rows: int
    factor: Floats
    target: Floats

    @classmethod
    def of(cls, pairs: PairWeights) -> Self:
        """Decompose. O(n_rows^3) time, O(n_rows^2) memory."""
        is_kept = np.ones(pairs.n_rows, dtype=bool)
        is_kept[pairs.first] = False
        kept = np.flatnonzero(is_kept)
        grounded = pairs.laplacian[kept][:, kept].toarray()
        factor, info = lapack.dpotrf(grounded.T, lower=1, overwrite_a=1, clean=1)
        if info != 0:
            raise refusal(
                "weight",
                "be within a factor of 1e14 or so in connected pairs, so that sums show all",
                f"{float(pairs.root.min() ** 2):.1g} times the largest",
                hint="Or use solver='cg', or features fewer than rows.",
            )
        target = solve_triangular(factor, pairs.to_rows(pairs.target)[kept], lower=True)
        anchor = pairs.first[pairs.component[kept]]
        return cls(kept, anchor, pairs.n_rows, factor, target)

    def differences(self, scores: Floats) -> Floats:
        """Return ``G' scores``, of a vector or of each column of a matrix."""
        differences: Floats = self.factor.T @ (scores[self.kept] - scores[self.anchor])
        return differences

    def potentials(self, values: Floats) -> Floats:
        """Return rows' scores of which the equations are `values`, or columns of these.

        Zero for the first row of each component.
        """
        out = np.zeros((self.n_rows, *values.shape[1:]))
        out[self.kept] = solve_triangular(self.factor, values, lower=True, trans="T")
        return out

    def to_rows(self, coef: Floats) -> Floats:
        """Return ``G coef``."""
        out = np.zeros(self.n_rows)
        out[self.kept] = self.factor @ coef
        np.subtract.at(out, self.anchor, out[self.kept])
        return out

    def between(self, K: Floats) -> Floats:
        """Return ``G' K G`` for a symmetric K. O(n_rows^3)."""
        half = self.differences(K)
        return self.differences(half.T)


@dataclass(frozen=True, eq=False)
class PairRows:
    """``V B X``: the scaled differences of features of pairs, never formed.

    The means of connected components are subtracted from rows first: the rounding of
    rows far from zero would hide their differences.
    """

    X: Matrix
    pairs: PairWeights
    is_near: bool = False

    @cached_property
    def centred(self) -> ScaledRows:
        """The rows less the means of their components."""
        one = np.ones(self.pairs.n_rows)
        weights = QueryWeights(self.pairs.component, one, one, 1.0)
        return ScaledRows(self.X, weights, self.is_near)

    def nearer(self) -> Self:
        """Return the same for many products, faster if rows are near zero."""
        return replace(self, is_near=self.centred.nearer().is_near)

    def times(self, coef: Floats) -> Floats:
        """Return ``V B X coef``. One pass over the rows, and one over the pairs."""
        return self.pairs.differences(self.centred.times(coef))

    def times_transposed(self, scaled: Floats) -> Floats:
        """Return ``(V B X)' scaled``."""
        return self.centred.times_transposed(self.pairs.to_rows(scaled))

    def times_columns(self, coef: Floats) -> Floats:
        """Return ``X coef`` for columns, up to a constant of each component. (n_rows, k)."""
        if sparse.issparse(self.X):
            return np.asarray(self.centred.near @ coef)
        out = np.empty((self.pairs.n_rows, coef.shape[1]))
        size = max(256, _ENTRIES // self.X.shape[1])
        for start in range(0, len(out), size):
            block = np.arange(start, min(start + size, len(out)))
            out[block] = self._less_means(block) @ coef
        return out

    def residual(self, target: Floats, coef: Floats) -> tuple[Floats, Floats]:
        """Return ``r = target - V B X coef`` and ``(V B X)' r``."""
        residual = target - self.times(coef)
        return residual, self.times_transposed(residual)

    @cached_property
    def column_squares(self) -> Floats:
        """The squared norm of each column."""
        squares = np.zeros(self.X.shape[1])
        for rows, block in self._blocks(_ENTRIES // self._per_row):
            square = rows.multiply(rows) if sparse.issparse(rows) else rows**2
            squares += square.T @ np.square(self.pairs.root[block])
        return squares

    @property
    def _per_row(self) -> int:
        """How many entries a row has, about."""
        X: Any = self.X
        n_entries = X.nnz if sparse.issparse(X) else X.size
        return max(1, int(n_entries) // self.pairs.n_rows)

    def _blocks(self, size: int) -> Iterator[tuple[Any, slice]]:
        """Yield differences of rows, not yet scaled, with the blocks of pairs they are of."""
        for start in range(0, len(self.pairs), max(256, size)):
            block = slice(start, start + max(256, size))
            better, worse = self.pairs.better[block], self.pairs.worse[block]
            if sparse.issparse(self.X):
                yield self.X[better].astype(np.float64) - self.X[worse].astype(np.float64), block
            else:
                yield np.subtract(self.X[better], self.X[worse], dtype=np.float64), block

    def _dense_blocks(self, size: int) -> Iterator[tuple[Floats, slice]]:
        """Yield blocks of ``V B X``, with the pairs that they have."""
        for rows, block in self._blocks(size):
            dense = rows.toarray() if sparse.issparse(rows) else rows
            yield dense * self.pairs.root[block, np.newaxis], block

    def moments(self, target: Floats, dtype: np.dtype[Any]) -> tuple[Floats, Floats]:
        """Return ``A = X' L X`` and ``g = (V B X)' target``.

        Of pairs, or of L where rows are few beside pairs: O(min(n_pairs, n_rows) d^2 +
        n_pairs d).
        """
        X, d = self.X, self.X.shape[1]
        right = self.times_transposed(target)
        if sparse.issparse(X):
            near, laplacian = self.centred.near, self.pairs.laplacian
            A = np.zeros((d, d))
            size = max(256, _ENTRIES // self._per_row)
            for start in range(0, X.shape[0], size):
                part = slice(start, start + size)
                A += (near[part].T @ (laplacian[part] @ near)).toarray()
            return A, right
        A = np.zeros((d, d))
        if len(self.pairs) <= 2 * X.shape[0]:
            for rows, _ in self._dense_blocks(_ENTRIES // d):
                A += rows.T @ rows
            return A, right
        size = max(256, _ENTRIES // d)
        for start in range(0, X.shape[0], size):
            block = np.arange(start, min(start + size, X.shape[0]))
            beside = self.pairs.laplacian[block]
            is_used = np.zeros(X.shape[0], dtype=bool)
            is_used[beside.indices] = True
            used, columns = np.flatnonzero(is_used), (np.cumsum(is_used) - 1)[beside.indices]
            shape = len(block), len(used)
            beside = sparse.csr_array((beside.data, columns, beside.indptr), shape=shape)
            A += self._less_means(block).T @ (beside @ self._less_means(used))
        return (A + A.T) / 2.0, right

    def _less_means(self, rows: Ints) -> Floats:
        """Return dense rows less the means of their components."""
        means = self.centred.means
        means = means if len(means) == 1 else means[self.pairs.component[rows]]
        less: Floats = np.subtract(self.X[rows], means, dtype=np.float64)
        return less

    def factor(self, target: Floats) -> Floats:
        """Return the triangular factor of ``V B X`` with a target as last column."""
        d = self.X.shape[1] + 1
        factor = np.zeros((d, d))
        for rows, block in self._dense_blocks(4 * d):
            joined = np.column_stack([rows, target[block]])
            factor = triangle(np.vstack([factor, joined]))
        return factor

    def gram(self) -> Floats:
        """Return products of rows less the means of their components."""
        return self.centred.gram()
