"""How alike items are: by factors, by residuals and by who rated them."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from peckorder._core.pickling import SavedPlainly
from peckorder._core.typing import Floats, Ints
from peckorder.collaborative.personal.factors import Factors, residuals, unit_columns

# Up to so many items all cosines are held: 4 bytes a pair, 256 MiB in all.
MOST_HELD = 8192
_BLOCK = 512


@dataclass(frozen=True, eq=False)
class ItemKernel(SavedPlainly):
    """``K_ij = f_i . f_j / noise + a cos(residuals) + b cos(who rated them)``.

    In units of the noise, so that 1 is the ridge that goes with it. `factors`
    (n_items, k) are scaled by the noise already; `viewers` (2 n_users, n_items) has a
    row a viewer for residuals and one for having rated, columns scaled so that their
    products are the weighted cosines. `held` (n_items, n_items) are these products, if
    items are few; else they are computed from the columns that a person needs.
    """

    factors: Floats
    viewers: Any
    held: Floats | None

    @classmethod
    def learn(cls, csr: Any, factors: Factors, alike: float, audience: float) -> Self:
        """Take the cosines of residuals, and of who rated what, from all ratings.

        O(sum of squares of people's ratings) time where all cosines are held, else
        O(n_ratings).
        """
        ones = sparse.csr_array(
            (np.ones(len(csr.data)), csr.indices, csr.indptr), shape=csr.shape
        )
        parts = [
            np.float32(np.sqrt(alike)) * unit_columns(residuals(csr, factors)),
            np.float32(np.sqrt(audience)) * unit_columns(ones),
        ]
        viewers = sparse.vstack(parts).tocsc()
        held = _products(viewers) if csr.shape[1] <= MOST_HELD else None
        return cls(factors.factors / np.sqrt(factors.noise), viewers, held)

    def between(self, a: Ints | slice, b: Ints) -> Floats:
        """Return the kernels of items a (rows) with items b (columns)."""
        K: Floats = self.factors[a] @ self.factors[b].T
        if self.held is not None:
            K += self.held[a][:, b]
        else:
            K += (self.viewers[:, a].T @ self.viewers[:, b]).toarray()
        return K

    def scores(self, items: Ints | slice, rated: Ints, coef: Floats) -> Floats:
        """Return sums of kernels with rated items; for all items a pass over rows."""
        scores: Floats = self.factors[items] @ (coef @ self.factors[rated])
        if self.held is not None:
            # Rows are whole: symmetric, so that columns need not be picked.
            scores += (coef.astype(np.float32) @ self.held[rated])[items]
        else:
            by_viewer = self.viewers[:, rated] @ coef
            scores += self.viewers[:, items].T @ by_viewer
        return scores


def _products(columns: Any) -> Floats:
    n_items = columns.shape[1]
    held = np.empty((n_items, n_items), dtype=np.float32)
    rows = columns.T.tocsr()
    for first in range(0, n_items, _BLOCK):
        some = slice(first, first + _BLOCK)
        held[:, some] = (rows @ columns[:, some]).toarray()
    return held
