"""Magnitude-preserving ranking, from training rows to a solution."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from scipy import sparse

from peckorder._core.threads import share_rows
from peckorder._core.typing import Array, Floats, Ints
from peckorder.magnitude.compiled import mprank as compiled
from peckorder.magnitude.mprank_solver.iterative import Diverged, IterationResult, sweeps
from peckorder.magnitude.mprank_solver.kernel_matrix import (
    NEGATIVE,
    STORED_ROWS,
    DenseKernelMatrix,
    Gram,
    Spectrum,
    refuse_indefinite,
)
from peckorder.magnitude.mprank_solver.ridge import (
    FEW_FEATURES,
    FEW_ROWS,
    Method,
    RidgeProblem,
    Rows,
    Solution,
)
from peckorder.magnitude.mprank_solver.rows import LARGEST, QueryWeights, ScaledRows, refuse_large
from peckorder.similarity.kernel_function import Matrix

# Rows of more bytes than this are not copied to protect them against changes.
_LARGE = 1 << 20


@dataclass(frozen=True, eq=False, kw_only=True)
class KeptRows:
    """Checked rows, or their kernels, that a model may need after its fit.

    `kept` selects them out of all `n_rows`. Rows that are no copy may be changed by
    their owner, which their fingerprint shows.
    """

    rows: Gram | Matrix
    kept: slice | Ints
    n_rows: int
    is_copy: bool
    fingerprint: int | None = None

    @property
    def _matrix(self) -> Matrix:
        return self.rows.X if isinstance(self.rows, Gram) else self.rows

    def protected(self) -> Self:
        """Copy rows that may change, or store their fingerprint if they are large."""
        rows = self.rows
        if self.is_copy or (isinstance(rows, Gram) and not rows.function.is_precomputed):
            return self
        if self._matrix.data.nbytes > _LARGE:
            return replace(self, fingerprint=_fingerprint(self._matrix))
        return replace(self, rows=rows.copy(), is_copy=True)

    def has_changed(self) -> bool:
        """Return whether the rows were changed since. One pass over them."""
        before = self.fingerprint
        return before is not None and before != _fingerprint(self._matrix)


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainingRows(KeptRows):
    """What a model is learnt from: rows or their kernels, labels and weights.

    Without rows of zero weight. `label` is y less the offset, `weight` as it was given.
    """

    y: Floats
    label: Floats
    offset: Floats | None
    weights: QueryWeights
    weight: Floats | None
    has_queries: bool

    @property
    def columns(self) -> tuple[Matrix, Floats, Ints, Floats | None]:
        """Rows, labels, queries and weights, as `RunningMoments` adds them."""
        return self.rows, self.label, self.weights.query, self.weight


def _fingerprint(X: Matrix) -> int:
    arrays: list[Array] = [X.data, X.indices] if sparse.issparse(X) else [X]
    return hash(tuple(_fingerprint_of_bits(_bits(array)) for array in arrays))


def _fingerprint_of_bits(bits: Ints) -> int:
    parts = share_rows(bits, lambda block, stopped: compiled.fingerprint(bits[block], block.start))
    return int(np.sum(parts, dtype=np.int64))


def _bits(array: Array) -> Ints:
    flat = np.ascontiguousarray(array).reshape(-1)
    # 64 bits at a time if the number of bytes is a multiple of 8.
    return flat.view(np.int64 if flat.nbytes % 8 == 0 else np.int32)


@dataclass(frozen=True, eq=False)
class Problem(RidgeProblem):
    """Training rows whose labels are to be fitted, and the weight C of their pairs."""

    training: TrainingRows
    C: float

    @property
    def rows(self) -> Gram | Matrix:
        """The rows, or their kernels."""
        return self.training.rows

    @property
    def weights(self) -> QueryWeights:
        """The weights of rows, with which they are centred."""
        return self.training.weights

    @property
    def ridge(self) -> float:
        """The ridge of the linear system."""
        return self.weights.ridge(self.C)

    @cached_property
    def target(self) -> Floats:
        """Labels centred and scaled."""
        return self.weights.root * self.weights.centred(self.training.label)

    def _solve_kernel(self, gram: Gram, method: Method) -> Solution:
        """Return coefficients of rows. O(n^3), or O(n^2 d) per iteration."""
        name = method.name
        if name == "auto":
            name = "cholesky" if len(gram) <= FEW_ROWS else "cg"
        if name == "cg" and len(gram) > STORED_ROWS:
            gram.check()
            product, largest = gram.product, gram.largest()
            result, spectrum = self._cg(self.weights.scaled(product), largest, method), None
        else:
            K, largest_entry = gram.dense_matrix()
            matrix = DenseKernelMatrix(K, self.weights, gram.eps, largest_entry)
            product, largest = matrix.product, matrix.largest
            result, spectrum = self._solve_dense(matrix, name, method)
        beta = self.weights.project(result.x)
        scores = product(self.weights.root * beta)
        image = self.weights.root * self.weights.centred(scores)
        if beta @ image < -NEGATIVE * largest * (beta @ beta):
            refuse_indefinite(float(beta @ image) / float(beta @ beta))
        intercept = self.weights.mean(self.training.label - scores)
        return self._of_dual(result, beta, image, None, intercept, spectrum)

    def _solve_linear(self, X: Matrix, method: Method) -> Solution:
        """Return coefficients of features. O(n d min(n, d)), or O(n d) an iteration."""
        n, d = X.shape
        name = method.name
        if name == "auto":
            name = "cholesky" if min(n, d) <= FEW_FEATURES else "cg"
        rows = ScaledRows(X, self.weights)
        if name == "cg" and not rows.column_squares.sum() < LARGEST:
            refuse_large()
        if d <= n and name in ("cholesky", "eigh", "cg"):
            return self._solve_primal(rows, name, method.limits)
        spectrum = None
        if name == "cg":
            near = rows.nearer()
            result = self._cg(lambda beta: near.times(near.times_transposed(beta)), np.inf, method)
        else:
            K = rows.gram()
            if not K.diagonal().max() < LARGEST:
                refuse_large()
            matrix = DenseKernelMatrix(K, self.weights)
            result, spectrum = self._solve_dense(matrix, name, method)
        beta = self.weights.project(result.x)
        coef = rows.times_transposed(beta)
        return self._of_dual(
            result, beta, rows.times(coef), coef, self._intercept(rows, coef), spectrum
        )

    def _to_rows(self, scaled: Floats) -> Floats:
        return self.weights.root * scaled

    def _intercept(self, rows: Rows, coef: Floats) -> float:
        assert isinstance(rows, ScaledRows)
        return self.weights.mean(self.training.label) - float(rows.mean() @ coef)

    def _solve_dense(
        self, matrix: DenseKernelMatrix, name: str, method: Method
    ) -> tuple[IterationResult, Spectrum | None]:
        """Solve by a kernel matrix in memory; with its spectrum if that was needed."""
        if name == "cg":
            return self._cg(matrix.centred_product(), matrix.largest, method), None
        if name in ("coordinate", "gradient"):
            copy = DenseKernelMatrix(matrix.K.copy(), self.weights)
            return self._sweep(copy.centred_matrix(), name, method), None
        beta = matrix.cholesky(self.target, self.ridge) if name == "cholesky" else None
        if beta is not None:
            return IterationResult(beta, 1, True), None
        spectrum = matrix.spectrum()
        beta = spectrum.solve(self.target, self.ridge, matrix.blur)
        return IterationResult(beta, 1, True), spectrum

    def _sweep(self, K: Floats, name: str, method: Method) -> IterationResult:
        curvature = 2.0 * (K.diagonal() + self.ridge)
        lowest, highest = float(curvature.min()), float(curvature.max())
        if not lowest > 0.0:
            refuse_indefinite(lowest / 2.0 - self.ridge)
        is_safe = method.step is None or method.step < 2.0 / highest
        if name == "gradient":
            steps = np.full(len(K), method.step or 1.0 / highest)
        else:
            steps = 1.0 / curvature
        try:
            return sweeps(K, self.target, self.ridge, steps, method.limits, by_gap=method.by_gap)
        except Diverged as error:
            if not is_safe:
                raise
            refuse_indefinite(error.curvature)
