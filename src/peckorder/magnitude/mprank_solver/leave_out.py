"""Errors of models learnt without a pair or a row, from one decomposition."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from scipy import sparse
from scipy.linalg import blas, qr, svd

from peckorder._core.typing import Floats, Ints
from peckorder.magnitude.compiled import mprank as compiled
from peckorder.magnitude.mprank_solver.kernel_matrix import DenseKernelMatrix, Gram, Spectrum
from peckorder.magnitude.mprank_solver.rows import LARGEST, ScaledRows, refuse_large, triangle
from peckorder.magnitude.mprank_solver.solve import TrainingRows

COSTS: Final = {
    "squared": compiled.SQUARED,
    "absolute": compiled.ABSOLUTE,
    "misranking": compiled.MISRANKING,
}
# Below this, differences of numbers of size 1 have lost too many digits.
_DOUBTFUL = 1e-5


@dataclass(eq=False)
class LeaveOut:
    """Errors of models learnt without a pair, or a row, for any C.

    With the residual matrix ``G = R - K (K + ridge)^-1`` of the scaled, centred kernels
    and ``e = G target``, the residuals at rows that are left out solve the system of
    their entries of G. O(n^3) for the decomposition, then one matrix product per C;
    O(n^2 d) with d features, if d < n.
    """

    training: TrainingRows

    @cached_property
    def _complete(self) -> Spectrum:
        rows = self.training.rows
        weights = self.training.weights
        if isinstance(rows, Gram):
            K = rows.dense_matrix()[0]
            return DenseKernelMatrix(K, weights, rows.eps).spectrum()
        if sparse.issparse(rows) and rows.shape[1] > rows.shape[0]:
            # There may be millions of features.
            K = ScaledRows(rows, weights).gram()
            if not K.diagonal().max() < LARGEST:
                refuse_large()
            return DenseKernelMatrix(K, weights).spectrum()
        kept = np.ones(len(weights), dtype=bool)
        kept[weights.first] = False
        values, inside = left_singular(weights.reflect(self._scaled())[kept])
        vectors = np.zeros((len(kept), len(values)))
        vectors[kept] = inside
        return Spectrum(values, weights.reflect(vectors))

    @cached_property
    def _thin(self) -> Spectrum | None:
        """The spectrum in the space of features, if these are few."""
        rows = self.training.rows
        if isinstance(rows, Gram) or 4 * rows.shape[1] > rows.shape[0]:
            return None
        vectors, singular, _ = svd(self._scaled(), full_matrices=False)
        return Spectrum(singular**2, vectors, is_complete=False)

    def _scaled(self) -> Floats:
        """Return rows of features, centred and scaled."""
        scaled = ScaledRows(self.training.rows, self.training.weights).dense()
        if not np.abs(scaled).max() < np.sqrt(LARGEST):
            refuse_large()
        return scaled

    def pair_error(self, ridge: float, cost: str) -> float:
        """Return the mean cost of pairs within queries, each left out of training.

        Pairs weigh the product of their rows' weights. NaN if there is no pair.
        """
        if cost == "misranking":
            spectrum = self._complete if self._thin is None else self._thin
            largest = spectrum.values.max(initial=0.0)
            if largest <= ridge:
                total, mass = self._misranked(spectrum, ridge)
                return total / mass if mass else np.nan
        if self._thin is not None:
            total, mass, least = self._sum_of_costs(self._thin, ridge, cost)
            if least > _DOUBTFUL:
                return total / mass if mass else np.nan
        total, mass, _ = self._sum_of_costs(self._complete, ridge, cost)
        return total / mass if mass else np.nan

    def _misranked(self, spectrum: Spectrum, ridge: float) -> Floats:
        """Return the weights of misranked pairs, and of all pairs, for small scores."""
        training, weights, target = self.training, self.training.weights, self._target
        shares = spectrum.values / (spectrum.values + ridge)
        half = spectrum.vectors * np.sqrt(shares)
        smooth = half @ (half.T @ target)
        # Not y less the label, in which a small offset may be lost.
        offset = np.zeros(len(target)) if training.offset is None else training.offset
        size = float(shares.max(initial=0.0) * np.sqrt(target @ target))
        result = np.zeros(2)
        for rows in self._queries():
            compiled.misrank_pairs_left_out(
                _gram(half[rows]),
                smooth[rows],
                target[rows],
                training.y[rows],
                offset[rows],
                weights.root[rows],
                weights.direction[rows],
                weights.weight[rows],
                size,
                result,
            )
        return result

    def _sum_of_costs(self, spectrum: Spectrum, ridge: float, cost: str) -> Floats:
        weights, y = self.training.weights, self.training.y
        e = self._residuals(spectrum, ridge)
        result = np.array([0.0, 0.0, np.inf])
        for rows in self._queries():
            compiled.leave_pairs_out(
                COSTS[cost],
                self._matrix(spectrum, ridge, rows),
                e[rows],
                y[rows],
                weights.root[rows],
                weights.weight[rows],
                result,
            )
        return result

    def _queries(self) -> Iterator[Ints]:
        """Yield the rows of each query that has pairs."""
        query = self.training.weights.query
        order = np.argsort(query, kind="stable")
        for rows in np.split(order, np.cumsum(np.bincount(query))[:-1]):
            if len(rows) > 1:
                yield rows

    @cached_property
    def _target(self) -> Floats:
        weights = self.training.weights
        return weights.root * weights.centred(self.training.label)

    def _residuals(self, spectrum: Spectrum, ridge: float) -> Floats:
        inside = spectrum.vectors.T @ self._target
        share = ridge / (spectrum.values + ridge)
        if spectrum.is_complete:
            return spectrum.vectors @ (share * inside)
        return self._target - spectrum.vectors @ ((1.0 - share) * inside)

    def _matrix(self, spectrum: Spectrum, ridge: float, rows: Ints) -> Floats:
        """Return the lower triangle of G among rows."""
        is_all = len(rows) == len(spectrum.vectors)
        vectors = spectrum.vectors if is_all else spectrum.vectors[rows]
        values = spectrum.values
        if spectrum.is_complete:
            return _gram(vectors * np.sqrt(ridge / (values + ridge)))
        half = vectors * np.sqrt(values / (values + ridge))
        direction = self.training.weights.direction[rows]
        G = -(half @ half.T) - np.outer(direction, direction)
        np.fill_diagonal(G, G.diagonal() + 1.0)
        return G

    def _diagonal(self, spectrum: Spectrum, ridge: float) -> Floats:
        share = ridge / (spectrum.values + ridge)
        if spectrum.is_complete:
            return spectrum.vectors**2 @ share
        less = spectrum.vectors**2 @ (1.0 - share)
        return 1.0 - self.training.weights.direction**2 - less

    def _precise(self, ridge: float) -> tuple[Spectrum, Floats]:
        """Return a decomposition that is precise enough, and the diagonal of G."""
        if self._thin is not None:
            diagonal = self._diagonal(self._thin, ridge)
            if diagonal.min() > _DOUBTFUL:
                return self._thin, diagonal
        return self._complete, self._diagonal(self._complete, ridge)

    def row_residuals(self, ridge: float) -> Floats:
        """Return label minus score of each row, by the model learnt without it.

        The constant is that of the other rows of the query; NaN if there are none.
        """
        weights = self.training.weights
        spectrum, diagonal = self._precise(ridge)
        alone = np.bincount(weights.query)[weights.query] == 1
        residuals = np.full(len(alone), np.nan)
        e = self._residuals(spectrum, ridge)
        np.divide(e, diagonal * weights.root, out=residuals, where=~alone)
        return residuals

    def approximate_pair_error(self, ridge: float) -> float:
        """Return an estimate of the mean squared cost of pairs left out, if `is_plain`.

        ``2 n / (n - 1) Var(e_i / (G_ii + 1 / n))``: O(n^2) once decomposed.
        """
        n = len(self.training.weights)
        spectrum, diagonal = self._precise(ridge)
        rough = self._residuals(spectrum, ridge) / (diagonal + 1.0 / n)
        return float(2.0 * n / (n - 1) * rough.var())

    def pair_error_as_printed(self, ridge: float, cost: str) -> float:
        """Return the approximation of the paper, if `is_plain`: O(n^3)."""
        rows, label = self.training.rows, self.training.label
        spectrum = self._complete
        if isinstance(rows, Gram):
            K = rows.dense_matrix()[0]
        else:
            wide = rows.astype(np.float64)
            K = wide @ wide.T
            K = K if isinstance(K, np.ndarray) else K.toarray()
        U = (K @ spectrum.vectors / (spectrum.values + ridge)) @ spectrum.vectors.T
        score = U @ (label - label.mean())
        result = np.empty(2)
        compiled.leave_pairs_out_as_printed(COSTS[cost], U, score, label, self.training.y, result)
        return float(result[0] / result[1]) if result[1] else np.nan


def left_singular(M: Floats) -> tuple[Floats, Floats]:
    """Return the eigenvalues of ``M M'``, and as many vectors as M has rows.

    By orthogonal transformations, so that no square hides the small ones. O(n d min(n,
    d)) time, and memory for M and a square matrix of its rows.
    """
    n, d = M.shape
    if n == 0:
        return np.zeros(0), np.zeros((0, 0))
    if d > n:
        # The same up to a rotation of the features.
        M = triangle(M.T).T
    vectors, R = qr(M)
    k = min(n, d)
    left, singular, _ = svd(R[:k], full_matrices=False)
    vectors[:, :k] = vectors[:, :k] @ left
    values = np.zeros(n)
    values[:k] = singular**2
    return values, vectors


def _gram(half: Floats) -> Floats:
    """Return ``half half'``: its lower triangle."""
    # BLAS works on the transposes, and fills their upper triangle.
    return blas.dsyrk(1.0, half.T, trans=1).T  # type: ignore[no-any-return]
