"""Kernel matrices: whole, or a tile at a time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite

from peckorder._core.pickling import SavedPlainly
from peckorder._core.threads import n_cores, share
from peckorder._core.typing import Floats
from peckorder.exceptions import DataError
from peckorder.magnitude.compiled import mprank as kernels
from peckorder.magnitude.mprank_solver.errors import LARGEST, check_size, refuse_large
from peckorder.similarity.kernel_function import Items, KernelFunction, Matrix

# Rows and columns of a tile: 8 MiB of kernels.
_TILE = 1024
# Rows whose kernels among themselves cost little more than those with themselves.
_FEW = 32


@dataclass(frozen=True, eq=False)
class Gram(SavedPlainly):
    """The kernels among rows that a model is learnt from, and of others with them.

    Computed by matrix products, for speed: two rows' kernel depends on the shapes
    around it in its last bits. O(n^2 d) time for all. `X` is as the kernel sees it:
    rows in double precision, less `centre` for "rbf"; what was given for others'
    functions and matrices.
    """

    function: KernelFunction
    X: Matrix
    centre: Floats | None = None

    @classmethod
    def of(cls, function: KernelFunction, X: Matrix, *, is_own: bool) -> Self:
        """Look at rows, so that they may change later on, unless they are one's own.

        Matrices of kernels, which scores do not need, are left where they are: `copied`
        is for those who go on to use them.
        """
        if function.is_precomputed:
            return cls(function, X)
        if function.function is not None:
            return cls(function, X if is_own else X.copy())
        if function.name == "rbf" and not sparse.issparse(X):
            # Distances are the sounder for it.
            centre = X.mean(axis=0, dtype=np.float64)
            return cls(function, X - centre, centre)
        return cls(function, X.astype(np.float64, copy=not is_own))

    def copied(self) -> Self:
        """Return the same, whatever becomes of the matrix that was given."""
        return replace(self, X=self.X.copy()) if self.function.is_precomputed else self

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def _view(self, X: Matrix) -> Matrix:
        """Look at other rows."""
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
            refuse_large(self.function.who)

    @property
    def eps(self) -> float:
        """How well kernels are known, beside the largest."""
        is_given = self.function.is_precomputed
        return float(np.finfo(self.X.dtype if is_given else np.float64).eps)

    def largest(self) -> float:
        """Return the largest kernel there is, by size."""
        largest = float(np.abs(self.diagonal()).max())
        check_size(self.function.who, largest)
        return largest

    def whole(self) -> Floats:
        """Return the matrix, one's own to change, or say that it is not symmetric."""
        return self.held()[0]

    def held(self) -> tuple[Floats, float | None]:
        """Return the `whole` matrix, and its largest entry if that is known."""
        if self.function.is_precomputed:
            return self._symmetric(_dense(self.X), _noise(self.X))
        if self.function.function is not None:
            return self._symmetric(self._values(self.X, self.X, slice(None)), 1e-8)
        self._check_rows()
        K = self._values(self.X, self.X, slice(None), self._squares)
        if self.function.name == "rbf":
            np.fill_diagonal(K, 1.0)
        return K, None

    def check(self) -> None:
        """Say it if given kernels are not symmetric, or rows are too large."""
        if self.function.is_precomputed:
            found = np.empty(2)
            kernels.asymmetry(np.ascontiguousarray(_dense(self.X)), found)
            self._refuse_asymmetric(self.X, found, _noise(self.X))
        elif self.function.function is None:
            self._check_rows()

    def _symmetric(self, given: Floats, tolerance: float) -> tuple[Floats, float]:
        """Return a copy in doubles of what has to be symmetric, and its largest."""
        K, found = np.empty(given.shape), np.empty(2)
        kernels.copy_symmetric(np.ascontiguousarray(given), K, found)
        self._refuse_asymmetric(given, found, tolerance)
        return K, float(found[0])

    def _refuse_asymmetric(
        self, given: Matrix, found: Floats, tolerance: float
    ) -> None:
        if not np.isfinite(found[0]):
            name = "X" if self.function.is_precomputed else "kernel"
            who = self.function.who
            assert_all_finite(given, estimator_name=who, input_name=name)
        if found[1] > tolerance * found[0]:
            what = "X" if self.function.is_precomputed else "kernel"
            raise DataError(
                f"{self.function.who}: {what} must be symmetric, the kernels of rows "
                f"among themselves; got entries that differ by {float(found[1])!r} "
                "from those of the transpose."
            )

    def product(self, x: Floats) -> Floats:
        """Return the matrix times a vector, of which nothing but tiles is kept."""
        n = len(self)
        tiles = list(self._tiles())

        def work(some: slice, give_up: Callable[[], bool]) -> Floats:
            total = np.zeros(n)
            for rows, columns in tiles[some]:
                if give_up():
                    break
                square = None if self.function.name != "rbf" else self._squares[rows]
                K = self._values(self.X[rows], self.X[columns], columns, square)
                total[rows] += K @ x[columns]
                if rows != columns:
                    total[columns] += x[rows] @ K
            return total

        n_threads = 1 if self.function.function is not None else n_cores()
        return np.sum(share(len(tiles), n_threads, work), axis=0)  # type: ignore[no-any-return]

    def _tiles(self) -> Iterator[tuple[slice, slice]]:
        """Yield where tiles are, on the diagonal and on one side of it."""
        n = len(self)
        for i in range(0, n, _TILE):
            for j in range(0, i + 1, _TILE):
                yield slice(i, min(i + _TILE, n)), slice(j, min(j + _TILE, n))

    def diagonal(self) -> Floats:
        """Return the kernel of each row with itself."""
        if self.function.is_precomputed:
            return np.asarray(self.X.diagonal(), dtype=np.float64)
        if self.function.function is not None:
            parts = (self.X[i : i + _FEW] for i in range(0, len(self), _FEW))
            own = [self._values(x, x, slice(None)).diagonal() for x in parts]
            return np.concatenate(own)
        if self.function.name == "rbf":
            return np.ones(len(self))
        return self._of_products(self._squares.copy())

    def scores(self, X: Matrix, coef: Floats) -> Floats:
        """Return the sums of kernels with rows that the model was learnt from."""
        chosen = np.flatnonzero(coef)
        scores = np.zeros(X.shape[0])
        if len(chosen) == 0:
            return scores
        is_all = len(chosen) == len(self)
        support = self.X if is_all else self.X[chosen]
        size = max(1, _TILE * _TILE // len(chosen))
        for first in range(0, X.shape[0], size):
            some = slice(first, first + size)
            K = self._values(self._view(X[some]), support, chosen)
            scores[some] = K @ coef[chosen]
        return scores

    def _values(
        self, x: Matrix, z: Matrix, columns: Any, x_square: Floats | None = None
    ) -> Floats:
        """Return kernels of `x` with `z`, which are the rows `columns` of all."""
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


def _dense(matrix: Matrix) -> Floats:
    dense: Floats = matrix.toarray() if sparse.issparse(matrix) else matrix
    return dense


def _noise(X: Matrix) -> float:
    return float(np.sqrt(np.finfo(X.dtype).eps))


def _squares(X: Matrix) -> Floats:
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)  # type: ignore[no-any-return]
