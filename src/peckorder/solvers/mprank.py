"""Magnitude-preserving ranking, from rows to a solution."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from peckorder._typing import Floats
from peckorder.solvers import mprank_primal as primal
from peckorder.solvers.gram import Matrix
from peckorder.solvers.mprank_dual import HeldMatrix, refuse_indefinite
from peckorder.solvers.mprank_gram import Gram
from peckorder.solvers.mprank_iterative import (
    Apply,
    Iterated,
    Limits,
    NotPositive,
    conjugate_gradients,
    sweeps,
)
from peckorder.solvers.mprank_primal import ScaledRows
from peckorder.solvers.mprank_weighing import Weighing

# Rows (of features, or of kernels) up to which a matrix is factorised by default.
_FEW_FEATURES, _FEW_ROWS = 4_000, 10_000
# Rows up to which conjugate gradients keep the kernels rather than compute them anew.
_KEPT_ROWS = 6_000


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

    `error` is what labels exceed the scores by.
    """

    coef: Floats | None
    dual: Floats
    error: Floats
    objective: float
    gap: float
    n_iter: int
    is_converged: bool


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

    @property
    def target(self) -> Floats:
        """Labels centred and scaled."""
        return self.weighing.root * self.weighing.centred(self.label)

    def solve_kernel(self, gram: Gram, method: Method) -> Solution:
        """Learn coefficients of rows. O(n^3), or O(n^2 d) an iteration."""
        name = method.name
        if name == "auto":
            name = "cholesky" if len(gram) <= _FEW_ROWS else "cg"
        if name == "cg" and len(gram) > _KEPT_ROWS:
            gram.check()
            done = self._cg(gram.product, gram.diagonal(), method.limits)
            return self._of_dual(done, gram.product)
        held = HeldMatrix(self.who, gram.whole(), self.weighing)
        done, product = self._solve_held(held, name, method)
        return self._of_dual(done, product)

    def solve_linear(self, X: Matrix, method: Method) -> Solution:
        """Learn coefficients of features. O(n d min(n, d)), or O(n d) an iteration."""
        n, d = X.shape
        name = method.name
        if name == "auto":
            name = "cholesky" if min(n, d) <= _FEW_FEATURES else "cg"
        if d <= n and name in ("cholesky", "eigh", "cg"):
            return self._solve_primal(X, name, method.limits)
        rows = ScaledRows(X, self.weighing)

        def product(a: Floats) -> Floats:
            return primal.times(X, primal.times_transposed(X, a))

        if name == "cg":
            if sparse.issparse(X):
                squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
            else:
                squares = np.einsum("ij,ij->i", X, X, dtype=np.float64)
            done = self._cg(product, squares, method.limits)
        else:
            held = HeldMatrix(self.who, rows.gram(), self.weighing)
            done, _ = self._solve_held(held, name, method)
        solution = self._of_dual(done, product)
        coef = primal.times_transposed(X, solution.dual)
        return Solution(coef, *list(vars(solution).values())[1:])

    def _solve_held(
        self, held: HeldMatrix, name: str, method: Method
    ) -> tuple[Iterated, Callable[[Floats], Floats]]:
        if name in ("cholesky", "eigh"):
            beta = (
                held.cholesky(self.target, self.ridge) if name == "cholesky" else None
            )
            if beta is None:
                beta = held.spectrum().solve(self.target, self.ridge)
            return Iterated(beta, 1, True), held.product
        if name == "cg":
            done = self._cg(held.product, held.diagonal, method.limits)
            return done, held.product
        apart = HeldMatrix(self.who, held.K.copy(), self.weighing)
        return self._sweep(apart.whole_centred(), name, method), held.product

    def _sweep(self, K: Floats, name: str, method: Method) -> Iterated:
        curvature = 2.0 * (K.diagonal() + self.ridge)
        if name == "gradient":
            step = method.step or 1.0 / float(curvature.max())
            steps = np.full(len(K), step)
        else:
            steps = 1.0 / curvature
        return sweeps(
            K, self.target, self.ridge, steps, method.limits, by_gap=method.by_gap
        )

    def _cg(self, product: Apply, diagonal: Floats, limits: Limits) -> Iterated:
        weighing, ridge, root = self.weighing, self.ridge, self.weighing.root

        def apply(beta: Floats) -> Floats:
            scaled = root * product(root * beta)
            return weighing.project(scaled) + ridge * beta

        target = self.target
        enough = limits.tol * float(target @ target)
        # One number for all: another preconditioner would leave the centred vectors.
        mean = float(root**2 @ np.maximum(diagonal, 0.0)) / len(root) + ridge
        return self._iterate(apply, target, np.full(len(root), mean), enough, limits)

    def _iterate(
        self, apply: Apply, right: Floats, diagonal: Floats, enough: float, at: Limits
    ) -> Iterated:
        try:
            return conjugate_gradients(apply, right, diagonal, enough, at.max_iter)
        except NotPositive as found:
            refuse_indefinite(self.who, found.curvature)
            raise

    def _of_dual(self, done: Iterated, product: Apply) -> Solution:
        """Put together what coefficients of rows, scaled, say."""
        weighing, ridge = self.weighing, self.ridge
        beta = weighing.project(done.x)
        dual = weighing.root * beta
        scores = product(dual)
        error = self.label - scores
        off = weighing.root * weighing.centred(error)
        rest = off - ridge * beta
        objective = float(dual @ scores) + float(off @ off) / ridge
        gap = float(rest @ rest) / ridge
        return Solution(
            None, dual, error, objective, gap, done.n_iter, done.is_converged
        )

    def _solve_primal(self, X: Matrix, name: str, limits: Limits) -> Solution:
        weighing, ridge, target = self.weighing, self.ridge, self.target
        if name == "cg":
            done, rest = self._primal_cg(X, limits)
        else:
            A, g = primal.moments(X, target, weighing)
            coef = primal.cholesky(A, g, ridge) if name == "cholesky" else None
            if coef is None:
                coef = primal.by_eigenvalues(A, g, ridge)
            done, rest = Iterated(coef, 1, True), g - A @ coef - ridge * coef
        error = self.label - primal.times(X, done.x)
        off = weighing.root * weighing.centred(error)
        objective = float(done.x @ done.x) + float(off @ off) / ridge
        return Solution(
            done.x,
            weighing.root * (off / ridge),
            error,
            objective,
            float((rest / ridge) @ (rest / ridge)),
            done.n_iter,
            done.is_converged,
        )

    def _primal_cg(self, X: Matrix, limits: Limits) -> tuple[Iterated, Floats]:
        if sparse.issparse(X):
            X = X.astype(np.float64)
        rows, ridge, target = ScaledRows(X, self.weighing), self.ridge, self.target

        def apply(coef: Floats) -> Floats:
            return rows.times_transposed(rows.times(coef)) + ridge * coef

        right = rows.times_transposed(target)
        enough = limits.tol * ridge * float(target @ target)
        diagonal = rows.column_squares() + ridge
        done = self._iterate(apply, right, diagonal, enough, limits)
        return done, right - apply(done.x)
