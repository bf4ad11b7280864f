"""What rows weigh in magnitude-preserving ranking, and how they are centred."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np
from scipy import sparse

from peckorder._core.typing import Floats, Ints
from peckorder.exceptions import DataError

# From here on squares of sums may not be finite.
LARGEST = 1e140
# Beyond these the ridge says no more than "nothing" or "everything".
SMALLEST_RIDGE, LARGEST_RIDGE = 1e-290, 1e290
# What a row weighs at least beside the heaviest: its root can still be divided by.
_LIGHTEST = 1e-280


@dataclass(frozen=True, eq=False)
class QueryWeights:
    """Turns the sum over pairs within queries into one over rows.

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
        """Weigh rows, all of which weigh something."""
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
        """Whether there is one query only, and all rows weigh the same."""
        return self.n_queries == 1 and bool(np.all(self.root == self.root[0]))

    def ridge(self, C: float, left_out: int = 0) -> float:
        """Return the ridge; of plain rows without so many rows, at the same C."""
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
        # Twice: what the first time leaves of a large mean is rounding.
        values = values - self._spread(self.means(values))
        return values - self._spread(self.means(values))

    def _spread(self, values: Floats) -> Floats:
        """Give each row what its query has."""
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
        """What each row is of its query, by weight."""
        share: Floats = self._v / self.mass[self.query]
        return share

    @cached_property
    def averaging(self) -> Any:
        """The sparse matrix (q, n) that takes the weighted means of queries."""
        n = len(self)
        places = (self.query, np.arange(n))
        return sparse.csr_array((self.share, places), shape=(self.n_queries, n))

    @cached_property
    def first(self) -> Ints:
        """The first row of each query."""
        return np.unique(self.query, return_index=True)[1]

    @cached_property
    def direction(self) -> Floats:
        """The unit vector of each query that centring removes, scaled, in one."""
        return self.root / np.sqrt(self.mass[self.query])

    @cached_property
    def normal(self) -> Floats:
        """The normals N, ``N' N = 2``, of Householder reflections ``I - N N'``.

        They turn the `direction` of each query to its first row, up to its sign: in
        all others the rest of space has an orthonormal basis.
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
        places = (np.arange(n), self.query)
        return sparse.csr_array((vector, places), shape=(n, self.n_queries))


def refuse_indefinite(who: str, value: float) -> NoReturn:
    """Say that a kernel is none."""
    raise DataError(
        f"{who}: kernel must be positive semidefinite, up to rounding and a constant; "
        f"got one with the eigenvalue {value!r} on these rows."
    )


def refuse_large(who: str) -> NoReturn:
    """Say that numbers are too large to be multiplied."""
    raise DataError(
        f"{who}: X and y must be small enough for their squares to be finite; got an "
        "objective that is not."
    )


def check_size(who: str, largest: float) -> None:
    """Say that kernels are too large to be multiplied, if they are."""
    if not largest < LARGEST:
        raise DataError(
            f"{who}: kernel must be below {LARGEST} in size, for its squares to be "
            f"finite; got {float(largest)!r} on these rows."
        )
