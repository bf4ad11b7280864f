"""Magnitude-preserving ranking of listed pairs, from training rows to a solution."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh, lapack

from peckorder._core.typing import Floats
from peckorder.magnitude.mprank_solver.iterative import Apply, IterationResult
from peckorder.magnitude.mprank_solver.kernel_matrix import (
    NEGATIVE,
    STORED_ROWS,
    Gram,
    Spectrum,
    check_size,
    refuse_indefinite,
)
from peckorder.magnitude.mprank_solver.pairs import GroundedPairs, PairRows, PairWeights
from peckorder.magnitude.mprank_solver.ridge import (
    FEW_FEATURES,
    FEW_ROWS,
    Method,
    RidgeProblem,
    Rows,
    Solution,
)
from peckorder.magnitude.mprank_solver.rows import LARGEST, refuse_large
from peckorder.magnitude.mprank_solver.solve import KeptRows
from peckorder.similarity.kernel_function import Matrix


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainingPairs(KeptRows):
    """What a model is learnt from: rows that are in some pair, and the pairs."""

    weights: PairWeights

    @property
    def has_queries(self) -> bool:
        """As with queries, what belongs together comes together."""
        return True


@dataclass(frozen=True, eq=False)
class PairProblem(RidgeProblem):
    """Pairs whose sizes are to be fitted by differences of scores.

    `equations` are the pairs, or fewer that are equivalent.
    """

    training: TrainingPairs
    C: float
    equations: PairWeights | GroundedPairs

    @classmethod
    def of(cls, training: TrainingPairs, C: float) -> "PairProblem":
        """Return the problem with one equation per pair."""
        return cls(training, C, training.weights)

    @property
    def rows(self) -> Gram | Matrix:
        """The rows, or their kernels."""
        return self.training.rows

    @property
    def ridge(self) -> float:
        """The ridge of the linear system."""
        return self.training.weights.ridge(self.C)

    @property
    def target(self) -> Floats:
        """What differences of scores should be, scaled."""
        return self.equations.target

    def _to_rows(self, scaled: Floats) -> Floats:
        return self.equations.to_rows(scaled)

    def _intercept(self, rows: Rows, coef: Floats) -> float:
        return 0.0  # pairs have no level

    def _solve_kernel(self, gram: Gram, method: Method) -> Solution:
        """Return coefficients of rows. O(n^3), or O(n^2 + n_pairs) per iteration."""
        name = method.name
        if name == "auto":
            name = "cholesky" if len(gram) <= FEW_ROWS else "cg"
        if name == "cg" and len(gram) > STORED_ROWS:
            gram.check()
            return self._solve_cg(gram.product, gram.largest(), method)
        K, largest = gram.dense_matrix()
        largest = float(np.abs(K).max()) if largest is None else largest
        check_size(largest)
        if name == "cg":
            return self._solve_cg(lambda coef: K @ coef, largest, method)
        return self._solve_dense(K, gram.eps * largest, name, None)

    def _solve_linear(self, X: Matrix, method: Method) -> Solution:
        """Return coefficients of features. O(n_pairs d + n d^2), or O(n_pairs + n d) an iteration.

        O(n^2 d + n^3) if there are more features than rows.
        """
        n, d = X.shape
        name = method.name
        if name == "auto":
            name = "cholesky" if min(n, d) <= FEW_FEATURES else "cg"
        rows = PairRows(X, self.training.weights)
        if name == "cg" and not rows.column_squares.sum() < LARGEST:
            refuse_large()
        if d <= n or name == "cg":
            return self._solve_primal(rows, name, method.limits)
        K = rows.gram()
        largest = float(K.diagonal().max())
        if not largest < LARGEST:
            refuse_large()
        return self._solve_dense(K, float(np.finfo(np.float64).eps) * largest, name, rows)

    def _solve_cg(self, product: Apply, largest: float, method: Method) -> Solution:
        """Return coefficients of rows by conjugate gradients, given the product with kernels."""

        def times(beta: Floats) -> Floats:
            return self.equations.differences(product(self._to_rows(beta)))

        # By pairs their matrix is larger, by no more than twice the weights of a row.
        noise = largest * 2.0 * float(self.training.weights.laplacian.diagonal().max())
        result = self._cg(times, noise, method)
        image = times(result.x)
        _check_curvature(result.x, image, noise)
        return self._of_dual(result, result.x, image, None, 0.0, None)

    def _solve_dense(self, K: Floats, noise: float, name: str, rows: PairRows | None) -> Solution:
        """Return coefficients by a matrix of kernels, given how precise these are."""
        grounded = self.training.weights.grounded
        few = replace(self, equations=grounded)
        matrix = grounded.between(K)
        noise *= len(matrix) * float(np.square(grounded.factor).sum(axis=1).max(initial=0.0))
        coef, spectrum = _solve(matrix, grounded.target, few.ridge, noise, name)
        dual = grounded.to_rows(coef)
        image = grounded.differences(K @ dual)
        _check_curvature(coef, matrix @ coef, float(np.abs(matrix.diagonal()).max(initial=0.0)))
        features = None if rows is None else rows.centred.times_transposed(dual)
        solution = few._of_dual(
            IterationResult(coef, 1, True), coef, image, features, 0.0, spectrum
        )
        # What no scores can fit, since pairs contradict each other.
        rest = self.target - self.equations.differences(grounded.potentials(grounded.target))
        return replace(solution, objective=solution.objective + float(rest @ rest) / self.ridge)


def _check_curvature(x: Floats, image: Floats, largest: float) -> None:
    """Refuse a matrix, with its product with x, that is negative along x."""
    square = float(x @ x)
    if x @ image < -NEGATIVE * largest * square:
        refuse_indefinite(float(x @ image) / square)


def _solve(
    matrix: Floats, target: Floats, ridge: float, noise: float, name: str
) -> tuple[Floats, Spectrum | None]:
    """Solve ``(matrix + ridge) x = target``; with the spectrum if that was needed.

    By Cholesky's decomposition unless rounding, of eigenvalues by `noise`, would show.
    """
    blur = noise / float(np.sqrt(np.finfo(np.float64).eps))
    if name == "cholesky":
        shifted = matrix.copy()
        np.fill_diagonal(shifted, shifted.diagonal() + ridge)
        factor, info = lapack.dpotrf(shifted.T, lower=0, overwrite_a=1, clean=0)
        if info == 0 and (ridge >= blur or lapack.dpocon(factor, 1.0, uplo="U")[0] >= blur):
            coef: Floats = lapack.dpotrs(factor, target, lower=0)[0]
            error = target - matrix @ coef - ridge * coef
            return coef + lapack.dpotrs(factor, error, lower=0)[0], None
    values, vectors = eigh(matrix, driver="evd")
    if values[0] < -max(NEGATIVE * float(values[-1]), noise):
        refuse_indefinite(float(values[0]))
    values[values <= noise] = 0.0
    spectrum = Spectrum(values, vectors, noise=noise)
    return spectrum.solve(target, ridge, blur), spectrum
