"""Magnitude-preserving ranking, from training rows to a solution."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.linalg import eigh, lapack

from peckorder._core.errors import warn
from peckorder._core.threads import share_rows
from peckorder._core.typing import Array, Floats, Ints
from peckorder.magnitude.compiled import mprank as compiled
from peckorder.magnitude.mprank_solver.collinear import HIDDEN, without_collinear
from peckorder.magnitude.mprank_solver.iterative import (
    Apply,
    Diverged,
    Indefinite,
    IterationResult,
    Limits,
    conjugate_gradients,
    sweeps,
)
from peckorder.magnitude.mprank_solver.kernel_matrix import (
    NEGATIVE,
    STORED_ROWS,
    DenseKernelMatrix,
    Gram,
    Spectrum,
    refuse_indefinite,
)
from peckorder.magnitude.mprank_solver.rows import LARGEST, QueryWeights, ScaledRows, refuse_large
from peckorder.similarity.kernel_function import Matrix

# Rows (of features, or of kernels) up to which a matrix is factorised by default.
_FEW_FEATURES, _FEW_ROWS = 4_000, 10_000
# Relative errors of coefficients below which a direct solution is not refined.
_PRECISE = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-7}
# The smallest eigenvalue over the largest from which on single precision is accurate.
_SOUND = 1e-4
# Rows of more bytes than this are not copied to protect them against changes.
_LARGE = 1 << 20


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """What a model is learnt from: rows or their kernels, labels and weights.

    Checked, and without rows of zero weight: `kept` selects the others out of all
    `n_rows`. `label` is y less the offset, `weight` as it was given. Rows that are no
    copy may be changed by their owner, which their fingerprint shows.
    """

    rows: Gram | Matrix
    y: Floats
    label: Floats
    offset: Floats | None
    weights: QueryWeights
    weight: Floats | None
    has_queries: bool
    kept: slice | Ints
    n_rows: int
    is_copy: bool
    fingerprint: int | None = None

    @property
    def columns(self) -> tuple[Matrix, Floats, Ints, Floats | None]:
        """Rows, labels, queries and weights, as `RunningMoments` adds them."""
        return self.rows, self.label, self.weights.query, self.weight

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


@dataclass(frozen=True)
class Method:
    """The name of a solver, and the options of iterative ones."""

    name: str
    step: float | None
    by_gap: bool
    limits: Limits


@dataclass(frozen=True, eq=False)
class Solution:
    """Coefficients of features and of rows, or one of them; how good they are.

    `intercept` is the mean of labels minus scores.
    """

    coef: Floats | None
    dual: Floats | None
    intercept: float
    objective: float
    gap: float
    n_iter: int
    is_converged: bool


@dataclass(frozen=True, eq=False)
class Point:
    """Coefficients of features, and how good they are.

    residual : labels minus scores, centred and scaled.
    descent : minus half the gradient of the objective, times the ridge.
    """

    coef: Floats
    residual: Floats
    descent: Floats
    objective: float
    gap: float


@dataclass(frozen=True, eq=False)
class Problem:
    """Training rows whose labels are to be fitted, and the weight C of their pairs."""

    training: TrainingRows
    C: float

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

    def solve(self, method: Method) -> Solution:
        """Return the solution: by kernels if rows have one, else by features."""
        if not np.isfinite(self.target @ self.target / self.ridge):
            refuse_large()
        rows = self.training.rows
        if isinstance(rows, Gram):
            return self._solve_kernel(rows, method)
        return self._solve_linear(rows, method)

    def _solve_kernel(self, gram: Gram, method: Method) -> Solution:
        """Return coefficients of rows. O(n^3), or O(n^2 d) per iteration."""
        name = method.name
        if name == "auto":
            name = "cholesky" if len(gram) <= _FEW_ROWS else "cg"
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
            name = "cholesky" if min(n, d) <= _FEW_FEATURES else "cg"
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

    def _intercept(self, rows: ScaledRows, coef: Floats) -> float:
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

    def _cg(self, product: Apply, largest: float, method: Method) -> IterationResult:
        ridge, target = self.ridge, self.target

        def apply(beta: Floats) -> Floats:
            return product(beta) + ridge * beta

        try:
            return conjugate_gradients(
                apply,
                target,
                lambda beta: target - apply(beta),
                # Another preconditioner would leave the centred vectors.
                1.0,
                method.limits.tol * float(target @ target),
                method.limits.max_iter,
                noise=NEGATIVE * largest,
            )
        except Indefinite as error:
            refuse_indefinite(error.curvature)

    def _of_dual(
        self,
        result: IterationResult,
        beta: Floats,
        image: Floats,
        coef: Floats | None,
        intercept: float,
        spectrum: Spectrum | None,
    ) -> Solution:
        """Return the solution of scaled coefficients of rows and their scores."""
        ridge = self.ridge
        residual = self.target - image
        error = residual - ridge * beta
        if spectrum is None:
            gap = float(error @ error) / ridge
        else:
            gap = spectrum.gap(error, ridge)
        objective = float(beta @ image) + float(residual @ residual) / ridge
        return Solution(
            coef,
            self.weights.root * beta,
            intercept,
            objective,
            min(gap, abs(objective)),
            result.n_iter,
            result.is_converged,
        )

    def _solve_primal(self, rows: ScaledRows, name: str, limits: Limits) -> Solution:
        if name == "cg":
            result = self._primal_cg(rows, limits)
            point = self._point(rows, result.x)
            is_hidden = self.ridge < HIDDEN * rows.column_squares.max()
        else:
            point, is_hidden = self._refined(rows, by_eigenvalues=name == "eigh")
            result = IterationResult(point.coef, 1, True)
        if is_hidden and len(point.coef) <= _FEW_FEATURES:
            factor = rows.factor(self.target)[:-1, :-1]
            point = self._point(rows, without_collinear(point.coef, factor))
        elif is_hidden:
            warn(
                f"C={self.C:g} is so large that coefficients of collinear features are rounding: "
                "lower C, or leave out features that follow from others."
            )
        return Solution(
            point.coef,
            self.weights.root * (point.residual / self.ridge),
            self._intercept(rows, point.coef),
            point.objective,
            point.gap,
            result.n_iter,
            result.is_converged,
        )

    def _point(self, rows: ScaledRows, coef: Floats) -> Point:
        """Evaluate coefficients. One pass over the rows."""
        ridge = self.ridge
        residual, descent = rows.residual(self.target, coef)
        descent = descent - ridge * coef
        objective = float(coef @ coef) + float(residual @ residual) / ridge
        # The objective is strongly convex: a quarter of its squared gradient bounds it.
        gap = float((descent / ridge) @ (descent / ridge))
        # No objective is below zero.
        return Point(coef, residual, descent, objective, min(gap, objective))

    def _refined(self, rows: ScaledRows, *, by_eigenvalues: bool) -> tuple[Point, bool]:
        """Solve by products of features, then correct the rounding of these.

        Those in single precision are computed again in double if that fails. Also returns
        whether the ridge is hidden by rounding.
        """
        dtype = np.dtype(np.float64) if sparse.issparse(rows.X) else rows.X.dtype
        best: Point | None = None
        for precision in dict.fromkeys((dtype, np.dtype(np.float64))):
            A, g = rows.moments(self.target, precision)
            if not A.diagonal().max() < LARGEST:
                if precision == np.float64:
                    refuse_large()
                continue
            solve, share = _inverse(A, self.ridge, by_eigenvalues=by_eigenvalues)
            # In single precision a step is about the error, if no eigenvalue is lost.
            is_sound = precision != np.float64 and share > _SOUND
            if best is None or not np.isfinite(best.objective):
                best = self._point(rows, solve(g))
            step, is_better = solve(best.descent), True
            while is_better and not (is_done := _is_precise(best, step, dtype, is_sound)):
                point = self._point(rows, best.coef + step)
                next_step = solve(point.descent)
                # By twice what a step gains: rounding of scores may hide it in the gap.
                is_better = bool(point.descent @ next_step < 0.25 * (best.descent @ step))
                if is_better:
                    best, step = point, next_step
            if is_done:
                break
        assert best is not None
        return best, share < HIDDEN

    def _primal_cg(self, rows: ScaledRows, limits: Limits) -> IterationResult:
        ridge, target = self.ridge, self.target
        squares, rows = rows.column_squares, rows.nearer()

        def apply(coef: Floats) -> Floats:
            return rows.times_transposed(rows.times(coef)) + ridge * coef

        return conjugate_gradients(
            apply,
            rows.times_transposed(target),
            lambda coef: self._point(rows, coef).descent,
            squares + ridge,
            limits.tol * ridge * float(target @ target),
            limits.max_iter,
        )


def _is_precise(point: Point, step: Floats, dtype: np.dtype[Any], is_sound: bool) -> bool:
    """Return whether coefficients are as precise as the type of the rows allows.

    A gap is no less than their squared error, but may be far more. The next step is
    about as long as the error itself, if products are sound.
    """
    limit = _PRECISE[dtype] * float(np.linalg.norm(point.coef))
    return point.gap <= limit**2 or (is_sound and float(np.linalg.norm(step)) <= limit)


def _inverse(A: Floats, ridge: float, *, by_eigenvalues: bool) -> tuple[Apply, float]:
    """Return the solver of ``(A + ridge) x = g``, and an eigenvalue ratio.

    By eigenvalues if Cholesky's decomposition fails: the solution of least norm, if
    rounding hides the ridge. The ratio is about the smallest eigenvalue over the
    largest, for features scaled alike.
    """
    scale = 1.0 / np.sqrt(A.diagonal() + ridge)
    B = scale[:, np.newaxis] * A * scale
    np.fill_diagonal(B, 1.0)
    if not by_eigenvalues:
        factor, info = lapack.dpotrf(B.T.copy(order="F"), lower=0, overwrite_a=1)
        if info == 0:
            share, _ = lapack.dpocon(factor, float(np.abs(B).sum(axis=0).max()))
            return (lambda g: scale * lapack.dpotrs(factor, scale * g, lower=0)[0], float(share))
    values, vectors = eigh(B, driver="evd")
    largest = values.max(initial=0.0)
    noise = len(values) * np.finfo(np.float64).eps * largest
    is_certain = values > noise
    shares = np.divide(1.0, values, out=np.zeros(len(values)), where=is_certain)
    smallest = values.min(initial=largest)
    return (
        lambda g: scale * (vectors @ (shares * (vectors.T @ (scale * g)))),
        float(smallest / largest) if largest > 0.0 else 0.0,
    )
