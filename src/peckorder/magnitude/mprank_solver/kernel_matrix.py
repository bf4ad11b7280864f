"""Kernel matrices: in memory, or one tile at a time; their spectrum."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np
from scipy import sparse
from scipy.linalg import blas, eigh, lapack
from sklearn.utils import assert_all_finite

from peckorder._core.errors import caller, refusal
from peckorder._core.pickling import SavedPlainly
from peckorder._core.threads import n_cores, share
from peckorder._core.typing import Floats
from peckorder.magnitude.compiled import mprank as compiled
from peckorder.magnitude.mprank_solver.rows import LARGEST, QueryWeights, refuse_large
from peckorder.similarity.kernel_function import Items, KernelFunction, Matrix, stack

# Eigenvalues so far below zero, beside the largest kernel, are not due to rounding.
NEGATIVE = 1e-7
# Rows up to which iterations store the kernels instead of recomputing them.
STORED_ROWS = 6_000
# Rows and columns of a tile: 8 MiB of kernels.
_TILE = 1024
# Rows whose kernels among themselves cost little more than those with themselves.
_FEW = 32
_NO_COPY = np.empty((0, 0))


@dataclass(frozen=True, eq=False)
class Gram(SavedPlainly):
    """The kernels among training rows, and of other rows with them.

    Computed by matrix products, for speed: the last bits of a kernel depend on the
    shapes around it. O(n^2 d) time for all. `X` are the rows in double precision, less
    `centre` for "rbf"; unchanged for kernel functions of users and kernel matrices.
    """

    function: KernelFunction
    X: Matrix
    centre: Floats | None = None

    @classmethod
    def of(cls, function: KernelFunction, X: Matrix, *, is_copy: bool) -> Self:
        """Copy rows that may change later, but not a kernel matrix: see `copy`."""
        if function.is_precomputed:
            return cls(function, X)
        if function.function is not None:
            return cls(function, X if is_copy else X.copy())
        if function.name == "rbf" and not sparse.issparse(X):
            # Distances are more precise for it.
            centre = X.mean(axis=0, dtype=np.float64)
            return cls(function, X - centre, centre)
        return cls(function, X.astype(np.float64, copy=not is_copy))

    def copy(self) -> Self:
        """Return a copy that does not change with a kernel matrix of the user."""
        return replace(self, X=self.X.copy()) if self.function.is_precomputed else self

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def _prepared(self, X: Matrix) -> Matrix:
        """Return other rows in the form of `X`."""
        if self.function.is_precomputed or self.function.function is not None:
            return X
        if self.centre is not None:
            return _dense(X) - self.centre
        return X.astype(np.float64)

    @cached_property
    def _squares(self) -> Floats:
        return _squares(self.X)

    def _check_rows(self) -> None:
        if not self._squares.max() < LARGEST:
            refuse_large()

    @property
    def eps(self) -> float:
        """The precision of kernels, relative to the largest."""
        is_given = self.function.is_precomputed
        return float(np.finfo(self.X.dtype if is_given else np.float64).eps)

    def largest(self) -> float:
        """Return the largest absolute value of a kernel."""
        largest = float(np.abs(self.diagonal()).max())
        check_size(largest)
        return largest

    def dense_matrix(self) -> tuple[Floats, float | None]:
        """Return a matrix that may be overwritten, and its largest entry or None."""
        if self.function.is_precomputed:
            K = np.empty(self.X.shape)
            return K, self._check_symmetric(_dense(self.X), K, _noise(self.X))
        if self.function.function is not None:
            K = self._values(self.X, self.X, slice(None))
            return K, self._check_symmetric(K, _NO_COPY, 1e-8)
        self._check_rows()
        K = self._values(self.X, self.X, slice(None), self._squares)
        if self.function.name == "rbf":
            np.fill_diagonal(K, 1.0)
        return K, None

    def check(self) -> None:
        """Refuse a kernel matrix that is not symmetric, or rows that are too large."""
        if self.function.is_precomputed:
            self._check_symmetric(_dense(self.X), _NO_COPY, _noise(self.X))
        elif self.function.function is None:
            self._check_rows()

    def _check_symmetric(self, given: Floats, K: Floats, tolerance: float) -> float:
        """Copy a matrix to K, unless that is empty; return its largest entry."""
        name, extremes = "X" if self.function.is_precomputed else "kernel", np.empty(2)
        compiled.copy_symmetric(np.ascontiguousarray(given), K, extremes)
        largest, difference = extremes.tolist()
        if not np.isfinite(largest):
            assert_all_finite(given, estimator_name=caller(), input_name=name)
        if difference > tolerance * largest:
            raise refusal(
                name,
                "be symmetric, the kernels of rows among themselves",
                f"entries that differ by {difference!r} from those of the transpose",
            )
        return float(largest)

    def product(self, x: Floats) -> Floats:
        """Return the matrix times a vector, tile by tile."""
        n = len(self)
        tiles = list(self._tiles())

        def work(block: slice, stopped: Callable[[], bool]) -> Floats:
            total = np.zeros(n)
            for rows, columns in tiles[block]:
                if stopped():
                    break
                square = None if self.function.name != "rbf" else self._squares[rows]
                K = self._values(self.X[rows], self.X[columns], columns, square)
                total[rows] += K @ x[columns]
                if rows != columns:
                    total[columns] += x[rows] @ K
            return total

        n_threads = 1 if self.function.function is not None else n_cores()
        return np.sum(share(len(tiles), n_threads, work), axis=0)  # type: ignore[no-any-return]

    def extended(self, X: Matrix) -> Self:
        """Return the kernels among these rows and others behind them."""
        return replace(self, X=stack([self.X, self._prepared(X)]))

    def block(self, rows: slice, n: int) -> Floats:
        """Return the kernels of a range of rows with the first n. O(n d) time for each."""
        K = np.ascontiguousarray(self._values(self.X[rows], self.X[:n], slice(n)))
        if self.function.name == "rbf":
            np.fill_diagonal(K[:, rows], 1.0)
        return K

    def _tiles(self) -> Iterator[tuple[slice, slice]]:
        """Yield the tiles on the diagonal and on one side of it."""
        n = len(self)
        for i in range(0, n, _TILE):
            for j in range(0, i + 1, _TILE):
                yield slice(i, min(i + _TILE, n)), slice(j, min(j + _TILE, n))

    def diagonal(self) -> Floats:
        """Return the kernel of each row with itself."""
        if self.function.is_precomputed:
            return np.asarray(self.X.diagonal(), dtype=np.float64)
        if self.function.function is not None:
            blocks = (self.X[i : i + _FEW] for i in range(0, len(self), _FEW))
            diagonals = [self._values(x, x, slice(None)).diagonal() for x in blocks]
            return np.concatenate(diagonals)
        if self.function.name == "rbf":
            return np.ones(len(self))
        return self._of_products(self._squares.copy())

    def scores(self, X: Matrix, coef: Floats) -> Floats:
        """Return scores: sums of kernels with training rows times coefficients."""
        chosen = np.flatnonzero(coef)
        scores = np.zeros(X.shape[0])
        if len(chosen) == 0:
            return scores
        is_all = len(chosen) == len(self)
        support = self.X if is_all else self.X[chosen]
        size = max(1, _TILE * _TILE // len(chosen))
        for first in range(0, X.shape[0], size):
            block = slice(first, first + size)
            K = self._values(self._prepared(X[block]), support, chosen)
            scores[block] = K @ coef[chosen]
        return scores

    def _values(self, x: Matrix, z: Matrix, columns: Any, x_square: Floats | None = None) -> Floats:
        """Return kernels of `x` with `z`, the training rows `columns`."""
        if self.function.is_precomputed:
            return np.asarray(_dense(x)[:, columns], dtype=np.float64)
        if self.function.function is not None:
            numbers = np.arange(x.shape[0]), np.arange(z.shape[0])
            return self.function.values(Items(x, numbers[0]), Items(z, numbers[1]))
        K = np.ascontiguousarray(_dense(x @ z.T))
        if self.function.name != "rbf":
            return self._of_products(K)
        K *= -2.0
        K += (_squares(x) if x_square is None else x_square)[:, np.newaxis]
        K += _squares(z)
        np.maximum(K, 0.0, out=K)
        K *= -self.function.gamma
        return np.exp(K, out=K)

    def _of_products(self, K: Floats) -> Floats:
        if self.function.name == "poly":
            K *= self.function.gamma
            K += self.function.coef0
            np.power(K, self.function.degree, out=K)
        return K


class DenseKernelMatrix:
    """A symmetric matrix K in memory, whose lower triangle is used as scratch.

    The upper triangle stays as it is, and the diagonal is stored, so that products with
    K are possible at any time. `eps` is the precision of entries, relative to the
    largest, which is computed unless it is given.
    """

    def __init__(
        self,
        K: Floats,
        weights: QueryWeights,
        eps: float = float(np.finfo(np.float64).eps),
        largest: float | None = None,
    ) -> None:
        self.K, self.weights, self.eps = K, weights, eps
        self.diagonal = K.diagonal().copy()
        flat = K.ravel()
        self.largest = abs(float(flat[blas.idamax(flat)])) if largest is None else largest
        check_size(self.largest)

    @property
    def noise(self) -> float:
        """The precision of eigenvalues."""
        return len(self.K) * self.eps * self.largest

    @property
    def blur(self) -> float:
        """The least sum of an eigenvalue and the ridge that gives precise scores.

        Below it, rounding of kernels changes scores by more than the root of eps,
        unless coefficients have no part along these eigenvectors.
        """
        return self.noise / float(np.sqrt(self.eps))

    def product(self, x: Floats) -> Floats:
        """Return ``K x``, whatever is in the lower triangle."""
        scratch = self.K.diagonal().copy()
        np.fill_diagonal(self.K, self.diagonal)
        # For BLAS, rows are columns, and the upper triangle is the lower one.
        y: Floats = blas.dsymv(1.0, self.K.T, x, lower=1)
        np.fill_diagonal(self.K, scratch)
        return y

    def centre(self, normal: Floats, ridge: float, *, drop: bool) -> None:
        """Write the scaled K between ``I - N N'``, + ridge, to the lower triangle.

        The reflections drop the first row of each query.
        """
        weights, K = self.weights, self.K
        columns = weights.columns(normal)
        B = weights.root[:, np.newaxis] * _symmetric_product(
            K, weights.columns(weights.root * normal)
        )
        by_row = np.ascontiguousarray(B - columns @ (columns.T @ B) / 2.0)
        is_dropped = np.zeros(len(K), dtype=np.int64)
        if drop:
            is_dropped[weights.first] = 1
        compiled.correct(
            K,
            weights.root,
            normal,
            weights.query,
            by_row,
            np.ascontiguousarray(by_row.T),
            is_dropped,
            ridge,
        )

    def cholesky(self, target: Floats, ridge: float) -> Floats | None:
        """Solve ``(R V K V R + ridge) beta = target``; None if rounding forbids it."""
        weights, first = self.weights, self.weights.first
        self.centre(weights.normal, ridge, drop=True)
        # Dropped rows must not look like small eigenvalues.
        self.K[first, first] = self.largest + ridge
        factor, info = lapack.dpotrf(self.K.T, lower=0, overwrite_a=1, clean=0)
        if info != 0 or self._is_blurred(factor, ridge):
            compiled.mirror(self.K, self.diagonal)
            return None

        def solve(right: Floats) -> Floats:
            reflected = weights.reflect(right)
            reflected[first] = 0.0
            solution: Floats = lapack.dpotrs(factor, reflected, lower=0)[0]
            return weights.reflect(solution)

        beta = solve(target)
        error = target - weights.scaled(self.product)(beta) - ridge * beta
        if error @ error > 1e-24 * (target @ target):
            beta = beta + solve(weights.project(error))
        return beta

    def _is_blurred(self, factor: Floats, ridge: float) -> bool:
        """Return whether an eigenvalue plus the ridge is too small. O(n^2)."""
        if ridge >= self.blur:
            return False
        smallest, _ = lapack.dpocon(factor, 1.0, uplo="U")
        return float(smallest) < self.blur

    def centred_product(self) -> Callable[[Floats], Floats]:
        """Return the product with ``R V K V R``, now in the lower triangle.

        A constant common to all kernels does not add to its rounding.
        """
        self.centre(self.weights.direction, 0.0, drop=False)
        # For BLAS, the lower triangle is the upper one.
        return lambda beta: self.weights.project(blas.dsymv(1.0, self.K.T, beta, lower=0))

    def centred_matrix(self) -> Floats:
        """Return ``R V K V R``, in place."""
        self.centre(self.weights.direction, 0.0, drop=False)
        # The upper triangle is overwritten.
        self.K += np.tril(self.K, -1).T - np.triu(self.K, 1)
        return self.K

    def spectrum(self) -> "Spectrum":
        """Return the spectrum of the scaled K in the complement of the constants.

        Eigenvalues that may be rounding are zero.
        """
        weights = self.weights
        self.centre(weights.normal, 0.0, drop=True)
        kept = np.ones(len(self.K), dtype=bool)
        kept[weights.first] = False
        inner = self.K[np.ix_(kept, kept)]
        compiled.mirror(self.K, self.diagonal)
        if len(inner) == 0:
            return Spectrum(np.zeros(0), np.zeros((len(self.K), 0)))
        values, inside = eigh(inner.T, lower=False, overwrite_a=True, driver="evd")
        tolerance = NEGATIVE * max(self.largest, float(np.abs(values).max()))
        if values[0] < -max(tolerance, self.noise):
            refuse_indefinite(float(values[0]))
        values[values <= self.noise] = 0.0
        vectors = np.zeros((len(self.K), len(inner)))
        vectors[kept] = inside
        return Spectrum(values, weights.reflect(vectors), noise=self.noise)


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues and -vectors (n, k) of a centred matrix, whose others are zero.

    If not `is_complete`, there are fewer vectors than dimensions: the matrix is zero in
    the complement of these vectors and of the constants. Values are precise to `noise`.
    """

    values: Floats
    vectors: Floats
    is_complete: bool = True
    noise: float = 0.0

    def solve(self, target: Floats, ridge: float, blur: float) -> Floats:
        """Return ``(matrix + ridge)^-1 target``, of a centred target, if complete.

        If rounding would blur scores, eigenvectors of the eigenvalue zero are left out.
        """
        shares = 1.0 / (self.values + ridge)
        if ridge < blur:
            shares[self.values == 0.0] = 0.0
        return self.vectors @ (shares * (self.vectors.T @ target))

    def gap(self, error: Floats, ridge: float) -> float:
        """Bound how far the objective is above its minimum.

        `error` is the residual of the linear system. Along each eigenvector, the better
        of two dual points is used: the coefficients, or the residual of the scores over
        the ridge.
        """
        inside, values = self.vectors.T @ error, np.maximum(self.values, self.noise)
        return float(inside**2 @ np.minimum(values / ridge, 1.0)) / ridge


def refuse_indefinite(value: float) -> NoReturn:
    """Refuse a kernel with a negative eigenvalue."""
    raise refusal(
        "kernel",
        "be positive semidefinite, up to rounding and a constant",
        f"one with the eigenvalue {value!r} on these rows",
    )


def check_size(largest: float) -> None:
    """Refuse kernels that are too large to be multiplied."""
    if not largest < LARGEST:
        raise refusal(
            "kernel",
            f"be below {LARGEST} in size, for its squares to be finite",
            f"{float(largest)!r} on these rows",
        )


def _dense(matrix: Matrix) -> Floats:
    dense: Floats = matrix.toarray() if sparse.issparse(matrix) else matrix
    return dense


def _noise(X: Matrix) -> float:
    return float(np.sqrt(np.finfo(X.dtype).eps))


def _squares(X: Matrix) -> Floats:
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)  # type: ignore[no-any-return]


def _symmetric_product(K: Floats, columns: Any) -> Floats:
    """Return a symmetric K times columns: a dense one, or sparse ones."""
    if isinstance(columns, np.ndarray):
        # By SciPy's BLAS, as all else here: threads of NumPy's would compete with it.
        y: Floats = blas.dsymv(1.0, K.T, columns[:, 0], lower=1)
        return y[:, np.newaxis]
    return np.ascontiguousarray((columns.T.tocsr() @ K).T)
