"""Magnitude-preserving ranking, from rows to a solution."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from peckorder._core.typing import Floats
from peckorder.magnitude.mprank_solver import primal
from peckorder.magnitude.mprank_solver.dual import NEGATIVE, HeldMatrix, Spectrum
from peckorder.magnitude.mprank_solver.errors import (
    LARGEST,
    refuse_indefinite,
    refuse_large,
)
from peckorder.magnitude.mprank_solver.gram import Gram
from peckorder.magnitude.mprank_solver.iterative import (
    Apply,
    Diverged,
    Iterated,
    Limits,
    NotPositive,
    conjugate_gradients,
    sweeps,
)
from peckorder.magnitude.mprank_solver.primal import ScaledRows
from peckorder.magnitude.mprank_solver.weighting import Weighing
from peckorder.similarity.kernel_function import Matrix

# Rows (of features, or of kernels) up to which a matrix is factorised by default.
_FEW_FEATURES, _FEW_ROWS = 4_000, 10_000
# Rows up to which conjugate gradients keep the kernels rather than compute them anew.
_KEPT_ROWS = 6_000
# Relative errors of coefficients that a direct solution is not refined for.
_PRECISE = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-7}
# The smallest eigenvalue beside the largest that single precision leaves alone.
_SOUND = 1e-4


@dataclass(frozen=True)
class Method:
    """How to solve: by name, with what the iterative ones need."""

    name: str
    step: float | None
    by_gap: bool
    limits: Limits


@dataclass(frozen=True, eq=False)
class Solution:
    """What was found: coefficients of features or None, and of rows.

    `intercept` is the mean of what labels exceed the scores by.
    """

    coef: Floats | None
    dual: Floats
    intercept: float
    objective: float
    gap: float
    n_iter: int
    is_converged: bool


@dataclass(frozen=True, eq=False)
class Point:
    """Coefficients of features, and how good they are, told by the rows themselves.

    off : what the labels exceed the scores by, centred and scaled.
    rest : minus half the gradient of the objective, times the ridge.
    """

    coef: Floats
    off: Floats
    rest: Floats
    objective: float
    gap: float


@dataclass(frozen=True, eq=False)
class Problem:
    """Labels to be met, less their offset, by rows that weigh, with a penalty C."""

    who: str
    label: Floats
    weighing: Weighing
    C: float

    @property
    def ridge(self) -> float:
        """The ridge of the system that is solved."""
        return self.weighing.ridge(self.C)

    @cached_property
    def target(self) -> Floats:
        """Labels centred and scaled."""
        return self.weighing.root * self.weighing.centred(self.label)

    def solve_kernel(self, gram: Gram, method: Method) -> Solution:
        """Learn coefficients of rows. O(n^3), or O(n^2 d) an iteration."""
        self._check_labels()
        name = method.name
        if name == "auto":
            name = "cholesky" if len(gram) <= _FEW_ROWS else "cg"
        if name == "cg" and len(gram) > _KEPT_ROWS:
            gram.check()
            product, largest = gram.product, gram.largest()
            done, spectrum = self._cg(self._scaled(product), largest, method), None
        else:
            K, largest_known = gram.held()
            held = HeldMatrix(self.who, K, self.weighing, gram.eps, largest_known)
            product, largest = held.product, held.largest
            done, spectrum = self._solve_held(held, name, method)
        beta = self.weighing.project(done.x)
        scores = product(self.weighing.root * beta)
        image = self.weighing.root * self.weighing.centred(scores)
        if beta @ image < -NEGATIVE * largest * (beta @ beta):
            refuse_indefinite(self.who, float(beta @ image) / float(beta @ beta))
        intercept = self.weighing.mean(self.label - scores)
        return self._of_dual(done, beta, image, None, intercept, spectrum)

    def solve_linear(self, X: Matrix, method: Method) -> Solution:
        """Learn coefficients of features. O(n d min(n, d)), or O(n d) an iteration."""
        self._check_labels()
        n, d = X.shape
        name = method.name
        if name == "auto":
            name = "cholesky" if min(n, d) <= _FEW_FEATURES else "cg"
        rows = ScaledRows(X, self.weighing)
        if name == "cg" and not rows.column_squares.sum() < LARGEST:
            refuse_large(self.who)
        if d <= n and name in ("cholesky", "eigh", "cg"):
            return self._solve_primal(rows, name, method.limits)
        spectrum = None
        if name == "cg":
            done = self._cg(self._products(rows.nearer()), np.inf, method)
        else:
            K = rows.gram()
            if not K.diagonal().max() < LARGEST:
                refuse_large(self.who)
            held = HeldMatrix(self.who, K, self.weighing)
            done, spectrum = self._solve_held(held, name, method)
        beta = self.weighing.project(done.x)
        coef = rows.times_transposed(beta)
        return self._of_dual(
            done, beta, rows.times(coef), coef, self._intercept(rows, coef), spectrum
        )

    def _intercept(self, rows: ScaledRows, coef: Floats) -> float:
        return self.weighing.mean(self.label) - float(rows.mean() @ coef)

    def _check_labels(self) -> None:
        if not np.isfinite(self.target @ self.target / self.ridge):
            refuse_large(self.who)

    def _solve_held(
        self, held: HeldMatrix, name: str, method: Method
    ) -> tuple[Iterated, Spectrum | None]:
        if name == "cg":
            return self._cg(held.centred_product(), held.largest, method), None
        if name in ("coordinate", "gradient"):
            apart = HeldMatrix(self.who, held.K.copy(), self.weighing)
            return self._sweep(apart.whole_centred(), name, method), None
        beta = held.cholesky(self.target, self.ridge) if name == "cholesky" else None
        if beta is not None:
            return Iterated(beta, 1, True), None
        spectrum = held.spectrum()
        beta = spectrum.solve(self.target, self.ridge, held.blur)
        return Iterated(beta, 1, True), spectrum

    def _sweep(self, K: Floats, name: str, method: Method) -> Iterated:
        curvature = 2.0 * (K.diagonal() + self.ridge)
        lowest, highest = float(curvature.min()), float(curvature.max())
        if not lowest > 0.0:
            refuse_indefinite(self.who, lowest / 2.0 - self.ridge)
        is_safe = method.step is None or method.step < 2.0 / highest
        if name == "gradient":
            steps = np.full(len(K), method.step or 1.0 / highest)
        else:
            steps = 1.0 / curvature
        try:
            return sweeps(
                K, self.target, self.ridge, steps, method.limits, by_gap=method.by_gap
            )
        except Diverged as far:
            if not is_safe:
                raise
            refuse_indefinite(self.who, far.curvature)

    def _scaled(self, product: Apply) -> Apply:
        """Return products with centred, scaled kernels, given those with kernels."""
        weighing, root = self.weighing, self.weighing.root
        return lambda beta: weighing.project(root * product(root * beta))

    def _products(self, rows: ScaledRows) -> Apply:
        """Return products with the kernels of rows."""
        return lambda beta: rows.times(rows.times_transposed(beta))

    def _cg(self, product: Apply, largest: float, method: Method) -> Iterated:
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
        except NotPositive as found:
            refuse_indefinite(self.who, found.curvature)

    def _of_dual(
        self,
        done: Iterated,
        beta: Floats,
        image: Floats,
        coef: Floats | None,
        intercept: float,
        spectrum: Spectrum | None,
    ) -> Solution:
        """Put together what coefficients of rows, scaled, and their scores say."""
        ridge = self.ridge
        off = self.target - image
        rest = off - ridge * beta
        if spectrum is None:
            gap = float(rest @ rest) / ridge
        else:
            gap = spectrum.gap(rest, ridge)
        objective = float(beta @ image) + float(off @ off) / ridge
        return Solution(
            coef,
            self.weighing.root * beta,
            intercept,
            objective,
            min(gap, abs(objective)),
            done.n_iter,
            done.is_converged,
        )

    def _solve_primal(self, rows: ScaledRows, name: str, limits: Limits) -> Solution:
        if name == "cg":
            done = self._primal_cg(rows, limits)
            point = self._point(rows, done.x)
        else:
            point = self._refined(rows, by_eigenvalues=name == "eigh")
            done = Iterated(point.coef, 1, True)
        return Solution(
            point.coef,
            self.weighing.root * (point.off / self.ridge),
            self._intercept(rows, point.coef),
            point.objective,
            point.gap,
            done.n_iter,
            done.is_converged,
        )

    def _point(self, rows: ScaledRows, coef: Floats) -> Point:
        """Look at coefficients. A pass over the rows."""
        ridge = self.ridge
        off, rest = rows.residual(self.target, coef)
        rest = rest - ridge * coef
        objective = float(coef @ coef) + float(off @ off) / ridge
        # The objective is strongly convex: a quarter of its squared gradient bounds it.
        gap = float((rest / ridge) @ (rest / ridge))
        # No objective is below zero.
        return Point(coef, off, rest, objective, min(gap, objective))

    def _refined(self, rows: ScaledRows, *, by_eigenvalues: bool) -> Point:
        """Solve by products of features, then mend what rounding of these has spoilt.

        Those in single precision are done again in double if they cannot be mended.
        """
        dtype = np.dtype(np.float64) if sparse.issparse(rows.X) else rows.X.dtype
        best: Point | None = None
        for precision in dict.fromkeys((dtype, np.dtype(np.float64))):
            A, g = rows.moments(self.target, precision)
            if not A.diagonal().max() < LARGEST:
                if precision == np.float64:
                    refuse_large(self.who)
                continue
            solve, share = primal.inverse(A, self.ridge, by_eigenvalues=by_eigenvalues)
            # In single precision a step tells the error, unless an eigenvalue is lost.
            is_sound = precision != np.float64 and share > _SOUND
            if best is None or not np.isfinite(best.objective):
                best = self._point(rows, solve(g))
            is_better, is_done = True, False
            while is_better and not (
                is_done := _is_precise(best, solve, dtype, is_sound)
            ):
                point = self._point(rows, best.coef + solve(best.rest))
                is_better = point.gap < 0.25 * best.gap
                best = point if is_better else best
            if is_done:
                break
        assert best is not None
        return best

    def _primal_cg(self, rows: ScaledRows, limits: Limits) -> Iterated:
        ridge, target = self.ridge, self.target
        squares, rows = rows.column_squares, rows.nearer()

        def apply(coef: Floats) -> Floats:
            return rows.times_transposed(rows.times(coef)) + ridge * coef

        return conjugate_gradients(
            apply,
            rows.times_transposed(target),
            lambda coef: self._point(rows, coef).rest,
            squares + ridge,
            limits.tol * ridge * float(target @ target),
            limits.max_iter,
        )


def _is_precise(point: Point, solve: primal.Apply, dtype: Any, is_sound: bool) -> bool:
    """Tell whether coefficients are as good as rows of a type deserve.

    A gap is no less than their squared error, but may be far more; what another step
    would change is about the error itself, if products are sound.
    """
    limit = _PRECISE[dtype] * float(np.linalg.norm(point.coef))
    if point.gap <= limit**2:
        return True
    return is_sound and float(np.linalg.norm(solve(point.rest))) <= limit
