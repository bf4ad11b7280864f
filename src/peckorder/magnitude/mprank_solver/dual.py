"""Magnitude-preserving ranking by a matrix of kernels that is held in memory."""

from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import blas, eigh, lapack

from peckorder._core.typing import Floats
from peckorder.magnitude.compiled import mprank as kernels
from peckorder.magnitude.mprank_solver.errors import check_size, refuse_indefinite
from peckorder.magnitude.mprank_solver.weighting import Weighing

__all__ = ["NEGATIVE", "HeldMatrix", "Spectrum", "refuse_indefinite"]

# Eigenvalues so far below zero, beside the largest kernel, are not due to rounding.
NEGATIVE = 1e-7


@dataclass(eq=False)
class HeldMatrix:
    """A symmetric matrix K whose lower triangle may be worked on.

    The upper one stays as it is, and the diagonal is remembered, so that products with
    K are possible at any time. `eps` is how well entries are known, beside the
    largest, which may itself be known.
    """

    who: str
    K: Floats
    weighing: Weighing
    eps: float = float(np.finfo(np.float64).eps)
    known: InitVar[float | None] = None
    diagonal: Floats = field(init=False)
    largest: float = field(init=False)

    def __post_init__(self, known: float | None) -> None:
        self.diagonal = self.K.diagonal().copy()
        if known is None:
            flat = self.K.ravel()
            known = abs(float(flat[blas.idamax(flat)]))
        self.largest = known
        check_size(self.who, self.largest)

    @property
    def noise(self) -> float:
        """How well eigenvalues are known."""
        return len(self.K) * self.eps * self.largest

    @property
    def blur(self) -> float:
        """The least sum of an eigenvalue and the ridge that tells scores well.

        Below it, rounding of kernels is seen in scores, by more than the root of eps,
        unless coefficients do without these eigenvectors.
        """
        return self.noise / float(np.sqrt(self.eps))

    def product(self, x: Floats) -> Floats:
        """Return ``K x``, whatever the lower triangle has become."""
        become = self.K.diagonal().copy()
        np.fill_diagonal(self.K, self.diagonal)
        # BLAS sees columns where there are rows, and below what is above.
        y: Floats = blas.dsymv(1.0, self.K.T, x, lower=1)
        np.fill_diagonal(self.K, become)
        return y

    def scaled_product(self, beta: Floats) -> Floats:
        """Return ``R V K V R beta``, R being centring and V the roots of weights."""
        root = self.weighing.root
        return self.weighing.project(root * self.product(root * beta))

    def centre(self, normal: Floats, ridge: float, *, drop: bool) -> None:
        """Make the lower triangle that of the scaled K between ``I - N N'``, + ridge.

        The reflections drop the first row of each query.
        """
        weighing, K = self.weighing, self.K
        columns = weighing.columns(normal)
        B = weighing.root[:, np.newaxis] * _times(
            K, weighing.columns(weighing.root * normal)
        )
        by_row = np.ascontiguousarray(B - columns @ (columns.T @ B) / 2.0)
        is_dropped = np.zeros(len(K), dtype=np.int64)
        if drop:
            is_dropped[weighing.first] = 1
        kernels.correct(
            K,
            weighing.root,
            normal,
            weighing.query,
            by_row,
            np.ascontiguousarray(by_row.T),
            is_dropped,
            ridge,
        )

    def cholesky(self, target: Floats, ridge: float) -> Floats | None:
        """Solve ``(R V K V R + ridge) beta = target``; None if rounding forbids it."""
        weighing, first = self.weighing, self.weighing.first
        self.centre(weighing.normal, ridge, drop=True)
        # What is dropped must not be what looks small.
        self.K[first, first] = self.largest + ridge
        factor, info = lapack.dpotrf(self.K.T, lower=0, overwrite_a=1, clean=0)
        if info != 0 or self._is_blurred(factor, ridge):
            kernels.mirror(self.K, self.diagonal)
            return None

        def solve(right: Floats) -> Floats:
            reflected = weighing.reflect(right)
            reflected[first] = 0.0
            solution: Floats = lapack.dpotrs(factor, reflected, lower=0)[0]
            return weighing.reflect(solution)

        beta = solve(target)
        rest = target - self.scaled_product(beta) - ridge * beta
        if rest @ rest > 1e-24 * (target @ target):
            beta = beta + solve(weighing.project(rest))
        return beta

    def _is_blurred(self, factor: Floats, ridge: float) -> bool:
        """Tell whether some eigenvalue, with the ridge, is too small. O(n^2)."""
        if ridge >= self.blur:
            return False
        smallest, _ = lapack.dpocon(factor, 1.0, uplo="U")
        return float(smallest) < self.blur

    def centred_product(self) -> Callable[[Floats], Floats]:
        """Return what multiplies by ``R V K V R``, in the lower triangle from now on.

        What all kernels have in common is no part of its rounding.
        """
        self.centre(self.weighing.direction, 0.0, drop=False)
        # BLAS sees above what is below.
        return lambda beta: self.weighing.project(
            blas.dsymv(1.0, self.K.T, beta, lower=0)
        )

    def whole_centred(self) -> Floats:
        """Return ``R V K V R``, in place."""
        self.centre(self.weighing.direction, 0.0, drop=False)
        # The triangle above is given up.
        self.K += np.tril(self.K, -1).T - np.triu(self.K, 1)
        return self.K

    def spectrum(self) -> "Spectrum":
        """Return the spectrum of the scaled K in the complement of the constants.

        Eigenvalues that may be rounding are zero.
        """
        weighing = self.weighing
        self.centre(weighing.normal, 0.0, drop=True)
        kept = np.ones(len(self.K), dtype=bool)
        kept[weighing.first] = False
        inner = self.K[np.ix_(kept, kept)]
        kernels.mirror(self.K, self.diagonal)
        if len(inner) == 0:
            return Spectrum(np.zeros(0), np.zeros((len(self.K), 0)))
        values, inside = eigh(inner.T, lower=False, overwrite_a=True, driver="evd")
        tolerance = NEGATIVE * max(self.largest, float(np.abs(values).max()))
        if values[0] < -max(tolerance, self.noise):
            refuse_indefinite(self.who, float(values[0]))
        values[values <= self.noise] = 0.0
        vectors = np.zeros((len(self.K), len(inner)))
        vectors[kept] = inside
        return Spectrum(values, weighing.reflect(vectors), noise=self.noise)


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues and -vectors (n, k) of a centred matrix, whose others are zero.

    There may be fewer vectors than dimensions: in the complement of these vectors, and
    of the constants, the matrix is zero if `is_complete` is not set. Values are known
    up to `noise`.
    """

    values: Floats
    vectors: Floats
    is_complete: bool = True
    noise: float = 0.0

    def solve(self, target: Floats, ridge: float, blur: float) -> Floats:
        """Return ``(matrix + ridge)^-1 target``, of a centred target, if complete.

        If rounding would blur scores, without eigenvectors that make no difference.
        """
        shares = 1.0 / (self.values + ridge)
        if ridge < blur:
            shares[self.values == 0.0] = 0.0
        return self.vectors @ (shares * (self.vectors.T @ target))

    def gap(self, rest: Floats, ridge: float) -> float:
        """Return how far the objective is above its minimum, at most.

        `rest` is the residual of the system that is solved. In each eigenvector, the
        dual is taken where it is the better of two: at the coefficients, or at the
        residual of the scores over the ridge.
        """
        inside, most = self.vectors.T @ rest, np.maximum(self.values, self.noise)
        return float(inside**2 @ np.minimum(most / ridge, 1.0)) / ridge


def _times(K: Floats, columns: Any) -> Floats:
    """Return a symmetric K times columns: a dense one, or sparse ones."""
    if isinstance(columns, np.ndarray):
        # By SciPy's BLAS, as all else here: the threads of NumPy's would spin beside.
        y: Floats = blas.dsymv(1.0, K.T, columns[:, 0], lower=1)
        return y[:, np.newaxis]
    return np.ascontiguousarray((columns.T.tocsr() @ K).T)
