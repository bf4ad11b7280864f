"""Rows within queries: their weights, centring, and products of features."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np
from scipy import sparse

from peckorder._core.errors import refusal
from peckorder._core.threads import Stop, share_rows
from peckorder._core.typing import Floats, Ints
from peckorder.magnitude.compiled import mprank as compiled
from peckorder.similarity.kernel_function import Matrix

# From here on squares of sums may not be finite.
LARGEST = 1e140
# Beyond these the ridge is as good as zero or infinite.
SMALLEST_RIDGE, LARGEST_RIDGE = 1e-290, 1e290
# The least weight relative to the largest: one can still divide by its root.
LIGHTEST = 1e-280
# Entries from which on it pays to save a pass over them.
_MANY = 1 << 22
# Entries of the blocks in which rows are processed.
_ENTRIES = 1 << 17


@dataclass(frozen=True, eq=False)
class QueryWeights:
    """Turns the sum over pairs within queries into a sum over rows.

    With rows' weights w, W the sum of a query's and P that of all W^2::

        C/P sum_q sum_ij w_i w_j (e_j - e_i)^2 = 1/ridge sum_i v_i (e_i - mean_q e)^2
        v_i = W w_i / largest,  ridge = P / (2 C largest)

    so that v is 1 for a single query without weights. Queries are numbered 0..q-1.
    Multiplied by ``root = sqrt(v)``, centring is an orthogonal projection ("scaled").
    """

    query: Ints
    weight: Floats
    root: Floats
    unit: float

    @classmethod
    def of(cls, query: Ints, weight: Floats | None) -> Self:
        """Return the weights of rows, all of them positive."""
        n = len(query)
        if weight is None and not query.any():
            return cls(query, np.ones(n), np.ones(n), n / 2.0)
        weight = np.ones(n) if weight is None else weight / weight.max()
        mass = np.bincount(query, weight)
        product = mass[query] * weight
        largest = product.max()
        root = np.sqrt(np.maximum(product / largest, LIGHTEST))
        return cls(query, weight, root, float(mass @ mass / (2.0 * largest)))

    def __len__(self) -> int:
        return len(self.query)

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return len(self.mass)

    @cached_property
    def is_plain(self) -> bool:
        """Whether there is only one query, and all weights are equal."""
        return self.n_queries == 1 and bool(np.all(self.root == self.root[0]))

    def ridge(self, C: float, left_out: int = 0) -> float:
        """Return the ridge of C; without so many rows, if `is_plain`."""
        share = 1.0 - left_out / len(self)
        return float(np.clip(self.unit * share / C, SMALLEST_RIDGE, LARGEST_RIDGE))

    @cached_property
    def _v(self) -> Floats:
        return self.root**2

    @cached_property
    def mass(self) -> Floats:
        """The sum of v in each query."""
        return np.bincount(self.query, self._v).astype(np.float64)

    def _sums(self, values: Floats) -> Floats:
        """Return the sum of each query."""
        if self.n_queries == 1:
            return np.array([values.sum()])
        return np.bincount(self.query, values).astype(np.float64, copy=False)

    def means(self, values: Floats) -> Floats:
        """Return the weighted mean of each query."""
        return self._sums(self._v * values) / self.mass

    def centred(self, values: Floats) -> Floats:
        """Subtract from each value the weighted mean of its query."""
        # Twice: the first time leaves the rounding of a large mean.
        values = values - self._spread(self.means(values))
        return values - self._spread(self.means(values))

    def _spread(self, values: Floats) -> Floats:
        """Return the value of its query for each row."""
        spread: Floats = values if self.n_queries == 1 else values[self.query]
        return spread

    def project(self, scaled: Floats) -> Floats:
        """Centre values that are multiplied by `root` already."""
        means = self._sums(self.root * scaled) / self.mass
        return scaled - self.root * self._spread(means)

    def scaled(self, product: Callable[[Floats], Floats]) -> Callable[[Floats], Floats]:
        """Return the product with ``R V K V R``, of that with kernels K.

        R centres, V has the roots of weights.
        """
        return lambda beta: self.project(self.root * product(self.root * beta))

    def mean(self, values: Floats) -> float:
        """Return the weighted mean over all rows."""
        return float(self.weight @ values / self.weight.sum())

    @cached_property
    def share(self) -> Floats:
        """The share of each row in the weight of its query."""
        share: Floats = self._v / self.mass[self.query]
        return share

    @cached_property
    def averaging(self) -> Any:
        """The sparse matrix (q, n) whose products are weighted means of queries."""
        n = len(self)
        entries = self.share, (self.query, np.arange(n))
        return sparse.csr_array(entries, shape=(self.n_queries, n))

    @cached_property
    def first(self) -> Ints:
        """The first row of each query."""
        return np.unique(self.query, return_index=True)[1]

    @cached_property
    def direction(self) -> Floats:
        """The scaled unit vectors that centring removes, of all queries in one."""
        return self.root / np.sqrt(self.mass[self.query])

    @cached_property
    def normal(self) -> Floats:
        """The normals N, ``N' N = 2``, of Householder reflections ``I - N N'``.

        They map the `direction` of each query to its first row, up to the sign: the
        other rows are an orthonormal basis of the complement.
        """
        normal = self.direction.copy()
        lengths = np.sqrt(1.0 + normal[self.first])
        normal[self.first] += 1.0
        return normal / lengths[self.query]  # type: ignore[no-any-return]

    def reflect(self, scaled: Floats) -> Floats:
        """Apply the reflections to a vector, or to each column of a matrix."""
        if scaled.ndim == 1:
            sums = np.bincount(self.query, self.normal * scaled)
            return scaled - self.normal * sums[self.query]
        sums = self.columns(self.normal).T @ scaled
        reflected: Floats = scaled - self.normal[:, np.newaxis] * sums[self.query]
        return reflected

    def columns(self, vector: Floats) -> Any:
        """Return the matrix (n, q) with each entry in the column of its query."""
        n = len(self)
        if self.n_queries == 1:
            return vector[:, np.newaxis]
        entries = vector, (np.arange(n), self.query)
        return sparse.csr_array(entries, shape=(n, self.n_queries))


def blocks(X: Matrix) -> Iterator[slice]:
    """Yield blocks of rows that fit into a processor cache."""
    size = _block_size(X)
    for first in range(0, X.shape[0], size):
        yield slice(first, min(first + size, X.shape[0]))


def _block_size(X: Matrix) -> int:
    n_entries = X.nnz if sparse.issparse(X) else X.size
    return max(64, _ENTRIES * int(X.shape[0]) // max(1, int(n_entries)))


def times(X: Matrix, coef: Floats) -> Floats:
    """Return ``X coef`` in double precision, without a copy of all rows."""
    if X.dtype == np.float64:
        return np.asarray(X @ coef)
    out = np.empty(X.shape[0])
    for block in blocks(X):
        out[block] = X[block].astype(np.float64) @ coef
    return out


def times_transposed(X: Matrix, a: Floats) -> Floats:
    """Return ``X' a`` in double precision, without a copy of all rows."""
    if X.dtype == np.float64:
        return np.asarray(X.T @ a)
    total = np.zeros(X.shape[1])
    for block in blocks(X):
        total += a[block] @ X[block].astype(np.float64)
    return total


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
    def near(self) -> Matrix:
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
    def near_means(self) -> Matrix:
        """The weighted mean of each query, of sparse rows near zero."""
        return self.weights.averaging @ self.near

    def _rows(self, block: slice) -> Floats:
        """Return a block of dense rows less their queries' means."""
        means, query = self.means, self.weights.query
        less = means[0] if len(means) == 1 else means[query[block]]
        rows: Floats = np.subtract(self.X[block], less, dtype=np.float64)
        return rows

    def dense(self, block: slice = slice(None)) -> Floats:
        """Return a block of rows, or the whole matrix."""
        query = self.weights.query[block]
        if sparse.issparse(self.X):
            rows = self.near[block].toarray() - self.near_means[query].toarray()
        else:
            rows = self._rows(block) - self._left[query]
        scaled: Floats = rows * self.weights.root[block, np.newaxis]
        return scaled

    def times(self, coef: Floats) -> Floats:
        """Return ``R V X coef``."""
        if sparse.issparse(self.X):
            scores = self.near @ coef
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
            return np.asarray(self.near.T @ scaled)
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
        near, means = self.near, self.near_means
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

    def gram(self) -> Floats:
        """Return products of rows near their queries' means, not yet scaled."""
        X, weights = self.X, self.weights
        if sparse.issparse(X):
            return np.ascontiguousarray((self.near @ self.near.T).toarray())
        K = np.zeros((len(weights), len(weights)))
        step = max(64, 64 * _ENTRIES // max(1, len(weights)))
        for first in range(0, X.shape[1], step):
            block = X[:, first : first + step].astype(np.float64)
            block -= (weights.averaging @ block)[weights.query]
            K += block @ block.T
        return K

    def factor(self, target: Floats) -> Floats:
        """Return the triangular factor of rows with a target as last column. O(n d^2)."""
        d = self.X.shape[1] + 1
        factor = np.zeros((d, d))
        size = max(256, 4 * d)
        for first in range(0, len(target), size):
            block = slice(first, first + size)
            joined = np.column_stack([self.dense(block), target[block]])
            factor = triangle(np.vstack([factor, joined]))
        return factor

    def moments(self, target: Floats, dtype: np.dtype[Any]) -> tuple[Floats, Floats]:
        """Return ``A = X' V R V X`` and ``g = X' V R target``.

        Dense rows are multiplied in the precision `dtype`, and blocks of them summed in
        double.
        """
        X, weights = self.X, self.weights
        if sparse.issparse(X):
            scaled = sparse.diags_array(weights.root) @ self.near
            lowered = sparse.diags_array(np.sqrt(weights.mass)) @ self.near_means
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


def refuse_large() -> NoReturn:
    """Refuse numbers that are too large to be multiplied."""
    raise refusal(
        "X and y", "be small enough for their squares to be finite", "an objective that is not"
    )
