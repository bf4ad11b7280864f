"""Magnitude-preserving ranking by a matrix of kernels that is held in memory."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import blas, eigh, lapack

from peckorder._typing import Floats
from peckorder.exceptions import DataError
from peckorder.kernels import mprank as kernels
from peckorder.solvers.mprank_weighing import Weighing

# Eigenvalues so far below zero, beside the largest, are not due to rounding.
_NEGATIVE = 1e-7


@dataclass(eq=False)
class HeldMatrix:
    """A symmetric matrix K whose lower triangle may be worked on.

    The upper one stays as it is, and the diagonal is remembered, so that products with
    K are possible at any time.
    """

    who: str
    K: Floats
    weighing: Weighing
    diagonal: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.diagonal = self.K.diagonal().copy()

    def product(self, x: Floats) -> Floats:
        """Return ``K x``, whatever the lower triangle has become."""
        # BLAS sees columns where there are rows, and below what is above.
        y = blas.dsymv(1.0, self.K.T, x, lower=1)
        return y + (self.diagonal - self.K.diagonal()) * x  # type: ignore[no-any-return]

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
        weighing = self.weighing
        self.centre(weighing.normal, ridge, drop=True)
        factor, info = lapack.dpotrf(self.K.T, lower=0, overwrite_a=1, clean=0)
        if info != 0:
            kernels.mirror(self.K, self.diagonal)
            return None

        def solve(right: Floats) -> Floats:
            reflected = weighing.reflect(right)
            reflected[weighing.first] = 0.0
            solution: Floats = lapack.dpotrs(factor, reflected, lower=0)[0]
            return weighing.reflect(solution)

        beta = solve(target)
        rest = target - self.scaled_product(beta) - ridge * beta
        if rest @ rest > 1e-24 * (target @ target):
            beta = beta + solve(weighing.project(rest))
        return beta

    def whole_centred(self) -> Floats:
        """Return ``R V K V R``, in place."""
        self.centre(self.weighing.direction, 0.0, drop=False)
        # The triangle above is given up.
        self.K += np.tril(self.K, -1).T - np.triu(self.K, 1)
        return self.K

    def spectrum(self) -> "Spectrum":
        """Return the spectrum of the scaled K in the complement of the constants."""
        weighing = self.weighing
        self.centre(weighing.normal, 0.0, drop=True)
        kept = np.ones(len(self.K), dtype=bool)
        kept[weighing.first] = False
        inner = self.K[np.ix_(kept, kept)]
        kernels.mirror(self.K, self.diagonal)
        if len(inner) == 0:
            return Spectrum(np.zeros(0), np.zeros((len(self.K), 0)))
        values, inside = eigh(inner.T, lower=False, overwrite_a=True, driver="evd")
        if values[0] < -_NEGATIVE * np.abs(values).max():
            refuse_indefinite(self.who, float(values[0]))
        vectors = np.zeros((len(self.K), len(inner)))
        vectors[kept] = inside
        return Spectrum(np.maximum(values, 0.0), weighing.reflect(vectors))


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues and -vectors (n, k) of a centred matrix, whose others are zero.

    There may be fewer vectors than dimensions: in the complement of these vectors, and
    of the constants, the matrix is zero if `is_complete` is not set.
    """

    values: Floats
    vectors: Floats
    is_complete: bool = True

    def solve(self, target: Floats, ridge: float) -> Floats:
        """Return ``(matrix + ridge)^-1 target``, of a centred target."""
        inside = self.vectors.T @ target
        if self.is_complete:
            return self.vectors @ (inside / (self.values + ridge))
        shrunk = inside * self.values / (self.values + ridge)
        return (target - self.vectors @ shrunk) / ridge


def refuse_indefinite(who: str, value: float) -> Any:
    """Say that a kernel is none."""
    raise DataError(
        f"{who}: kernel must be positive semidefinite, up to rounding and a constant; "
        f"got one with the eigenvalue {value!r} on these rows."
    )


def _times(K: Floats, columns: Any) -> Floats:
    """Return a symmetric K times columns: a dense one, or sparse ones."""
    if isinstance(columns, np.ndarray):
        return (K @ columns[:, 0])[:, np.newaxis]
    return np.ascontiguousarray((columns.T.tocsr() @ K).T)
