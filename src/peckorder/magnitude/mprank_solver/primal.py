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

# Entries from which on a pass over them is worth saving.
_MANY = 1 << 22
# Entries of the blocks in which dense rows are looked at.
_ENTRIES = 1 << 17


def blocks(X: Matrix) -> Iterator[slice]:
    """Cut rows into blocks that a processor cache holds."""
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

    R takes away whatever rows of a query have in common. It is taken from them before
    they are multiplied, lest rounding of what is far from zero hide what differs.
    Dense rows that are near zero, as `nearer` finds out, are multiplied as they are.
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
        return self._averages(
            lambda block: self.X[block].astype(np.float64, copy=False)
        )

    @cached_property
    def _left(self) -> Floats:
        """What rounding has left of these means in rows that are without them."""
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
            here, place = np.unique(weights.query[block], return_inverse=True)
            places, shape = (place, np.arange(len(place))), (len(here), len(place))
            total[here] += sparse.csr_array((share, places), shape=shape) @ rows(block)
        return total

    @cached_property
    def _near(self) -> Any:
        """Sparse rows near zero, in double precision, with twice the entries at most.

        A mean is taken from the features that most rows of a query have. From others it
        need not be: R leaves at least half of their sum of squares (if weights are
        equal), so that no digit is lost.
        """
        X, query = self.X.astype(np.float64, copy=False), self.weights.query
        n = len(query)
        places = (query, np.arange(n))
        members = sparse.csr_array((np.ones(n), places), shape=(query.max() + 1, n))
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
    def _near_means(self) -> Any:
        """The weighted mean of each query, of what is left of sparse rows."""
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
        """Return ``off = target - R V X coef``, and ``(R V X)' off``: one pass."""
        if sparse.issparse(self.X) or self.is_near:
            off = target - self.times(coef)
            return off, self.times_transposed(off)
        X, weights, means = self.X, self.weights, self.means
        scores = np.empty(len(target))

        def look(block: slice, stopped: Stop) -> Floats:
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

        # What R still takes from rows is rounding, as what it meets there is.
        total: Floats = np.sum(share_rows(X, look), axis=0)
        return target - weights.project(scores), total

    def mean(self) -> Floats:
        """Return the weighted mean of all rows, as they were given."""
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
        """Return the same, for many products: faster, if rows are near zero.

        Each feature has to have less in common than it has of its own, about.
        """
        if sparse.issparse(self.X) or self.X.dtype != np.float64:
            return self
        common = self.weights.mass @ self.means**2
        return replace(self, is_near=bool(np.all(common <= 8.0 * self.column_squares)))

    def dense(self) -> Floats:
        """Form the matrix, for few entries."""
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

    def moments(self, target: Floats, dtype: Any) -> tuple[Floats, Floats]:
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
        # A pass over the rows less: what blocks have in common is taken from all, and
        # what that leaves of the mean is found, and mended, beside the products.
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

    def _products(
        self, means: Floats, target: Floats, dtype: Any
    ) -> tuple[Floats, Floats, Floats]:
        """Return products of dense rows less `means`, theirs with a target, their sum.

        The sum is of rows times their weights, and is zero if not asked for: if these
        are the means of the rows.
        """
        X, weights = self.X, self.weights
        d = X.shape[1]
        A, g, sums = np.zeros((d, d)), np.zeros(d), np.zeros(d)
        is_asked = "means" not in self.__dict__
        means, root = means.astype(dtype), weights.root.astype(dtype)
        right = target.astype(dtype)
        room = np.empty((_block_size(X), d), dtype)  # new pages would cost as much
        for block in blocks(X):
            rows = room[: block.stop - block.start]
            query = weights.query[block]
            compiled.centre(
                X[block],
                query,
                means,
                root[block],
                rows,
                sums if is_asked else sums[:0],
            )
            A += rows.T @ rows
            g += right[block] @ rows
        return A, g, sums


def triangle(M: Floats) -> Floats:
    """Return the upper triangular R of ``M = Q R``."""
    R: Any = np.linalg.qr(M, mode="r")
    triangular: Floats = R
    return triangular


def inverse(A: Floats, ridge: float, *, by_eigenvalues: bool) -> tuple[Apply, float]:
    """Return what solves ``(A + ridge) x = g``; by eigenvalues where rounding asks.

    There it is of least norm, if rounding hides the ridge. Beside it, an estimate of
    the smallest eigenvalue over the largest. All this for features scaled alike.
    """
    scale = 1.0 / np.sqrt(A.diagonal() + ridge)
    B = scale[:, np.newaxis] * A * scale
    np.fill_diagonal(B, 1.0)
    if not by_eigenvalues:
        factor, info = lapack.dpotrf(B.T.copy(order="F"), lower=0, overwrite_a=1)
        if info == 0:
            share, _ = lapack.dpocon(factor, float(np.abs(B).sum(axis=0).max()))
            return (
                lambda g: scale * lapack.dpotrs(factor, scale * g, lower=0)[0],
                float(share),
            )
    values, vectors = eigh(B, driver="evd")
    largest = values.max(initial=0.0)
    noise = len(values) * np.finfo(np.float64).eps * largest
    is_known = values > noise
    shares = np.divide(1.0, values, out=np.zeros(len(values)), where=is_known)
    smallest = values.min(initial=largest)
    return (
        lambda g: scale * (vectors @ (shares * (vectors.T @ (scale * g)))),
        float(smallest / largest) if largest > 0.0 else 0.0,
    )
