"""Weights of rows in magnitude-preserving ranking, centring, and numeric limits."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np
from scipy import sparse

from peckorder._core.errors import refusal
from peckorder._core.typing import Floats, Ints

# From here on squares of sums may not be finite.
LARGEST = 1e140
# Beyond these the ridge is as good as zero or infinite.
SMALLEST_RIDGE, LARGEST_RIDGE = 1e-290, 1e290
# The least weight relative to the largest: one can still divide by its root.
_LIGHTEST = 1e-280


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
        root = np.sqrt(np.maximum(product / largest, _LIGHTEST))
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


def refuse_indefinite(value: float) -> NoReturn:
    """Refuse a kernel with a negative eigenvalue."""
    raise refusal(
        "kernel",
        "be positive semidefinite, up to rounding and a constant",
        f"one with the eigenvalue {value!r} on these rows",
    )


def refuse_large() -> NoReturn:
    """Refuse numbers that are too large to be multiplied."""
    raise refusal(
        "X and y", "be small enough for their squares to be finite", "an objective that is not"
    )


def check_size(largest: float) -> None:
    """Refuse kernels that are too large to be multiplied."""
    if not largest < LARGEST:
        raise refusal(
            "kernel",
            f"be below {LARGEST} in size, for its squares to be finite",
            f"{float(largest)!r} on these rows",
        )
