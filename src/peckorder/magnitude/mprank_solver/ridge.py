"""Ridge regression on rows that are never formed: by features, or by coefficients of rows."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from scipy import sparse
from scipy.linalg import eigh, lapack

from peckorder._core.errors import warn
from peckorder._core.typing import Floats
from peckorder.magnitude.mprank_solver.collinear import HIDDEN, without_collinear
from peckorder.magnitude.mprank_solver.iterative import (
    Apply,
    Indefinite,
    IterationResult,
    Limits,
    conjugate_gradients,
)
from peckorder.magnitude.mprank_solver.kernel_matrix import (
    NEGATIVE,
    Gram,
    Spectrum,
    refuse_indefinite,
)
from peckorder.magnitude.mprank_solver.pairs import PairRows
from peckorder.magnitude.mprank_solver.rows import LARGEST, ScaledRows, refuse_large
from peckorder.similarity.kernel_function import Matrix

Rows: TypeAlias = ScaledRows | PairRows
# Rows (of features, or of kernels) up to which a matrix is factorised by default.
FEW_FEATURES, FEW_ROWS = 4_000, 10_000
# Relative errors of coefficients below which a direct solution is not refined.
_PRECISE: Final = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-7}
# The smallest eigenvalue over the largest from which on single precision is accurate.
_SOUND = 1e-4


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


class RidgeProblem(ABC):
    """Minimises ``|w|^2 + |target - A w|^2 / ridge``.

    The equations A are what becomes of rows: `_to_rows` multiplies by their transpose.
    """

    C: float

    @property
    @abstractmethod
    def rows(self) -> Gram | Matrix:
        """The rows, or their kernels."""

    @property
    @abstractmethod
    def ridge(self) -> float:
        """The ridge of the linear system."""

    @property
    @abstractmethod
    def target(self) -> Floats:
        """What the equations should give."""

    @abstractmethod
    def _to_rows(self, scaled: Floats) -> Floats:
        """Return coefficients of rows, given those of equations."""

    @abstractmethod
    def _intercept(self, rows: Rows, coef: Floats) -> float:
        """Return the mean of labels minus scores."""

    @abstractmethod
    def _solve_kernel(self, gram: Gram, method: Method) -> Solution:
        """Return coefficients of rows."""

    @abstractmethod
    def _solve_linear(self, X: Matrix, method: Method) -> Solution:
        """Return coefficients of features."""

    def solve(self, method: Method) -> Solution:
        """Return the solution: by kernels if rows have one, else by features."""
        if not np.isfinite(self.target @ self.target / self.ridge):
            refuse_large()
        rows = self.rows
        if isinstance(rows, Gram):
            return self._solve_kernel(rows, method)
        return self._solve_linear(rows, method)

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
            self._to_rows(beta),
            intercept,
            objective,
            min(gap, abs(objective)),
            result.n_iter,
            result.is_converged,
        )

    def _solve_primal(self, rows: Rows, name: str, limits: Limits) -> Solution:
        if name == "cg":
            result = self._primal_cg(rows, limits)
            point = self._point(rows, result.x)
            is_hidden = self.ridge < HIDDEN * rows.column_squares.max()
        else:
            point, is_hidden = self._refined(rows, by_eigenvalues=name == "eigh")
            result = IterationResult(point.coef, 1, True)
        if is_hidden and len(point.coef) <= FEW_FEATURES:
            factor = rows.factor(self.target)[:-1, :-1]
            point = self._point(rows, without_collinear(point.coef, factor))
        elif is_hidden:
            warn(
                f"C={self.C:g} is so large that coefficients of collinear features are rounding: "
                "lower C, or leave out features that follow from others."
            )
        return Solution(
            point.coef,
            self._to_rows(point.residual / self.ridge),
            self._intercept(rows, point.coef),
            point.objective,
            point.gap,
            result.n_iter,
            result.is_converged,
        )

    def _point(self, rows: Rows, coef: Floats) -> Point:
        """Evaluate coefficients. One pass over the rows."""
        ridge = self.ridge
        residual, descent = rows.residual(self.target, coef)
        descent = descent - ridge * coef
        objective = float(coef @ coef) + float(residual @ residual) / ridge
        # The objective is strongly convex: a quarter of its squared gradient bounds it.
        gap = float((descent / ridge) @ (descent / ridge))
        # No objective is below zero.
        return Point(coef, residual, descent, objective, min(gap, objective))

    def _refined(self, rows: Rows, *, by_eigenvalues: bool) -> tuple[Point, bool]:
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

    def _primal_cg(self, rows: Rows, limits: Limits) -> IterationResult:
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
