"""Magnitude-preserving ranking by features: products of rows, and their sums."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
from scipy import sparse
from scipy.linalg import eigh, lapack

from peckorder._core.threads import Stop, share_rows
from peckorder._core.typing import Floats
from peckorder.magnitude.compiled import mprank as compiled
from peckorder.magnitude.mprank_solver.query_weights import QueryWeights
from peckorder.similarity.kernel_function import Matrix

Apply: TypeAlias = Callable[[Floats], Floats]

# Entries from which on it pays to save a pass over them.
_MANY = 1 << 22
# Entries of the blocks in which dense rows are processed.
_ENTRIES = 1 << 17


def blocks(X: Matrix) -> Iterator[slice]:
    """Yield blocks of rows that fit into a processor cache."""
    size = _block_size(X)
    for first in range(0, X.shape[0], size):
        yield slice(first, min(first + size, X.shape[0]))


def _block_size(X: Matrix) -> int:
    return max(64, _ENTRIES // max(1, int(X.shape[1])))


def times(X: Matrix, coef: Floats) -> Floats:
    """Return ``X coef`` in double precision, without a copy of all rows."""
    if sparse.issparse(X) or X.dtype == np.float64:
        return np.asarray(X @ coef)
    out = np.empty(X.shape[0])
    for block in blocks(X):
        out[block] = X[block].astype(np.float64) @ coef
    return out


def times_transposed(X: Matrix, a: Floats) -> Floats:
    """Return ``X' a`` in double precision, without a copy of all rows."""
    if sparse.issparse(X) or X.dtype == np.float64:
        return np.asarray(X.T @ a)
    return np.sum(  # type: ignore[no-any-return]
        [a[block] @ X[block].astype(np.float64) for block in blocks(X)], axis=0
    )


@dataclass(frozen=True, eq=False)
class ScaledRows:
    """``R V X``: rows times the roots of their weights, centred, never formed.

    R subtracts the mean of each query, before rows are multiplied: rounding of rows far
    from zero would hide their differences. Dense rows near zero (see `nearer`) are
    multiplied as they are.
    """

    X: Matrix
    weights: QueryWeights
    is_near: bool = False

    @cached_property
    def means(self) -> Floats:
        """The weighted mean of each query, of dense rows (q, d)."""
        if self.weights.n_queries == 1:
            X, share = self.X, self.weights.share

            def add(block: slice, stopped: Stop) -> Floats:
                part, total = np.zeros(X.shape[1]), np.zeros(X.shape[1])
                compiled.add_rows(X[block], share[block], part, total)
                return total

            total: Floats = np.sum(share_rows(X, add), axis=0, keepdims=True)
            return total
        return self._averages(lambda block: self.X[block].astype(np.float64, copy=False))

    @cached_property
    def _left(self) -> Floats:
        """The means of rows less their means, which are due to rounding."""
        return self._averages(self._rows)

    def _averages(self, rows: Callable[[slice], Floats]) -> Floats:
        """Return the weighted mean of each query, of blocks of rows."""
        weights = self.weights
        total = np.zeros((weights.n_queries, self.X.shape[1]))
        for block in blocks(self.X):
            share = weights.share[block]
            if len(total) == 1:
                total[0] += share @ rows(block)
                continue
            queries, index = np.unique(weights.query[block], return_inverse=True)
            entries = share, (index, np.arange(len(index)))
            shape = len(queries), len(index)
            total[queries] += sparse.csr_array(entries, shape=shape) @ rows(block)
        return total

    @cached_property
    def _near(self) -> Matrix:
        """Sparse rows near zero, in double precision, with twice the entries at most.

        The mean is subtracted from features that most rows of a query have. Others do
        not need it: R leaves at least half of their sum of squares (if weights are
        equal), so that no digit is lost.
        """
        X, query = self.X.astype(np.float64, copy=False), self.weights.query
        n = len(query)
        entries = np.ones(n), (query, np.arange(n))
        members = sparse.csr_array(entries, shape=(query.max() + 1, n))
        pattern = sparse.csr_array((np.ones(X.nnz), X.indices, X.indptr), X.shape)
        count = (members @ pattern).tocoo()
        is_common = 2.0 * count.data > np.bincount(query)[count.row]
        if not is_common.any():
            return X
        chosen = count.row[is_common], count.col[is_common]
        sums = (members @ X).tocsr()
        means = np.asarray(sums[chosen]).ravel() / count.data[is_common]
        shift = sparse.csr_array((means, chosen), shape=count.shape)
        return X - members.T.tocsr() @ shift

    @cached_property
    def _near_means(self) -> Matrix:
        """The weighted mean of each query, of sparse rows near zero."""
        return self.weights.averaging @ self._near

    def _rows(self, block: slice) -> Floats:
        """Return a block of dense rows less their queries' means."""
        means, query = self.means, self.weights.query
        less = means[0] if len(means) == 1 else means[query[block]]
        rows: Floats = np.subtract(self.X[block], less, dtype=np.float64)
        return rows

    def dense_block(self, block: slice) -> Floats:
        """Return a block of rows."""
        query = self.weights.query[block]
        if sparse.issparse(self.X):
            rows = self._near[block].toarray() - self._near_means[query].toarray()
        else:
            rows = self._rows(block) - self._left[query]
        scaled: Floats = rows * self.weights.root[block, np.newaxis]
        return scaled

    def times(self, coef: Floats) -> Floats:
        """Return ``R V X coef``."""
        if sparse.issparse(self.X):
            scores = self._near @ coef
        elif self.is_near:
            scores = self.X @ coef
        else:
            scores = np.empty(len(self.weights))
            for block in blocks(self.X):
                scores[block] = self._rows(block) @ coef
        return self.weights.project(self.weights.root * scores)

    def times_transposed(self, beta: Floats) -> Floats:
        """Return ``(R V X)' beta``."""
        scaled = self.weights.root * self.weights.project(beta)
        if sparse.issparse(self.X):
            return np.asarray(self._near.T @ scaled)
        if self.is_near:
            return np.asarray(self.X.T @ scaled)
        total = np.zeros(self.X.shape[1])
        for block in blocks(self.X):
            total += scaled[block] @ self._rows(block)
        return total

    def residual(self, target: Floats, coef: Floats) -> tuple[Floats, Floats]:
        """Return ``r = target - R V X coef`` and ``(R V X)' r``, in one pass."""
        if sparse.issparse(self.X) or self.is_near:
            residual = target - self.times(coef)
            return residual, self.times_transposed(residual)
        X, weights, means = self.X, self.weights, self.means
        scores = np.empty(len(target))

        def add(block: slice, stopped: Stop) -> Floats:
            part, total = np.zeros(X.shape[1]), np.zeros(X.shape[1])
            compiled.residual(
                X[block],
                weights.query[block],
                means,
                weights.root[block],
                target[block],
                coef,
                scores[block],
                part,
                total,
            )
            return total

        # Centred rows need no R but for rounding.
        total: Floats = np.sum(share_rows(X, add), axis=0)
        return target - weights.project(scores), total

    def mean(self) -> Floats:
        """Return the weighted mean of all rows, not centred."""
        weights = self.weights
        share = weights.weight / weights.weight.sum()
        if sparse.issparse(self.X):
            return times_transposed(self.X, share)
        return np.bincount(weights.query, share) @ self.means

    @cached_property
    def column_squares(self) -> Floats:
        """The squared norm of each column."""
        X, weights = self.X, self.weights
        v = weights.root**2
        if not sparse.issparse(X):
            parts = [v[block] @ self._rows(block) ** 2 for block in blocks(X)]
            return np.sum(parts, axis=0)  # type: ignore[no-any-return]
        near, means = self._near, self._near_means
        less = np.asarray(means.multiply(means).T @ weights.mass)
        sums: Floats = np.asarray(near.multiply(near).T @ v)
        squares: Floats = np.maximum(sums - less, 0.0)
        return squares

    def nearer(self) -> Self:
        """Return the same for many products, faster if rows are near zero.

        They are if no mean of a feature is much larger than its deviations.
        """
        if sparse.issparse(self.X) or self.X.dtype != np.float64:
            return self
        common = self.weights.mass @ self.means**2
        return replace(self, is_near=bool(np.all(common <= 8.0 * self.column_squares)))

    def dense(self) -> Floats:
        """Return the whole matrix, for few entries."""
        X, weights = self.X, self.weights
        rows = (X.toarray() if sparse.issparse(X) else X).astype(np.float64)
        rows -= (weights.averaging @ rows)[weights.query]
        rows -= (weights.averaging @ rows)[weights.query]
        scaled: Floats = rows * weights.root[:, np.newaxis]
        return scaled

    def gram(self) -> Floats:
        """Return products of rows near their queries' means, not yet scaled."""
        X, weights = self.X, self.weights
        if sparse.issparse(X):
            return np.ascontiguousarray((self._near @ self._near.T).toarray())
        K = np.zeros((len(weights), len(weights)))
        step = max(64, 64 * _ENTRIES // max(1, len(weights)))
        for first in range(0, X.shape[1], step):
            block = X[:, first : first + step].astype(np.float64)
            block -= (weights.averaging @ block)[weights.query]
            K += block @ block.T
        return K

    def moments(self, target: Floats, dtype: np.dtype[Any]) -> tuple[Floats, Floats]:
        """Return ``A = X' V R V X`` and ``g = X' V R target``.

        Dense rows are multiplied in the precision `dtype`, and blocks of them summed in
        double.
        """
        X, weights = self.X, self.weights
        if sparse.issparse(X):
            scaled = sparse.diags_array(weights.root) @ self._near
            lowered = sparse.diags_array(np.sqrt(weights.mass)) @ self._near_means
            A: Floats = (scaled.T @ scaled).toarray() - (lowered.T @ lowered).toarray()
            return A, self.times_transposed(target)
        if "means" in self.__dict__ or len(weights.mass) > 1 or X.size < _MANY:
            return self._products(self.means, target, dtype)[:2]
        # To save a pass over the rows, the mean of the first block is subtracted from
        # all; the rest of the mean is computed, and corrected for, with the products.
        block, mass = next(blocks(X)), float(weights.mass[0])
        common = X[block].mean(axis=0, dtype=np.float64)[np.newaxis].astype(dtype)
        A, g, sums = self._products(common, target, dtype)
        left = sums / mass
        less = mass * np.outer(left, left)
        if np.all(less.diagonal() <= A.diagonal() / 2.0):
            self.__dict__["means"] = common.astype(np.float64) + left
            return A - less, g
        # The first block is far from the others.
        return self._products(self.means, target, dtype)[:2]

    def _products(self, means: Floats, target: Floats, dtype: Any) -> tuple[Floats, Floats, Floats]:
        """Return products of dense rows less `means`, those with a target, and sums.

        The sums of rows times their weights are not computed, but zero, if `means` are
        those of the rows.
        """
        X, weights = self.X, self.weights
        d = X.shape[1]
        A, g, sums = np.zeros((d, d)), np.zeros(d), np.zeros(d)
        needs_sums = "means" not in self.__dict__
        means, root = means.astype(dtype), weights.root.astype(dtype)
        right = target.astype(dtype)
        buffer = np.empty((_block_size(X), d), dtype)  # new pages are expensive
        for block in blocks(X):
            rows = buffer[: block.stop - block.start]
            query = weights.query[block]
            compiled.centre(
                X[block], query, means, root[block], rows, sums if needs_sums else sums[:0]
            )
            A += rows.T @ rows
            g += right[block] @ rows
        return A, g, sums


def triangle(M: Floats) -> Floats:
    """Return the upper triangular R of ``M = Q R``."""
    return np.asarray(np.linalg.qr(M, mode="r"))


def inverse(A: Floats, ridge: float, *, by_eigenvalues: bool) -> tuple[Apply, float]:
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
