"""The similarity of items: by factors, by residuals and by who rated them."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse

from peckorder._core.pickling import SavedPlainly
from peckorder._core.typing import Floats, Ints, SparseMatrix
from peckorder.collaborative.personal.factors import Factors, indicators, residuals, unit_columns

# Up to this many items all cosines are stored: 4 bytes per pair, at most 256 MiB.
MAX_STORED_ITEMS = 8192
_BLOCK = 512


@dataclass(frozen=True, eq=False)
class ItemKernel(SavedPlainly):
    """``K_ij = f_i . f_j / noise + a cos(residuals) + b cos(who rated them)``.

    In units of the noise, so that the matching ridge is 1. `factors` (n_items, k) are
    scaled by the noise already. `viewers` (2 n_users, n_items) has two rows per viewer,
    one for residuals and one for having rated; its columns are scaled so that their
    products are the weighted cosines. `held` (n_items, n_items) are these products if
    there are few items; else they are computed from the columns that a person needs.
    """

    factors: Floats
    viewers: SparseMatrix
    held: Floats | None

    @classmethod
    def learn(
        cls, csr: SparseMatrix, factors: Factors, cosine_weight: float, audience_weight: float
    ) -> Self:
        """Compute the cosines of residuals, and of who rated what, from all ratings.

        O(sum of squared counts of ratings per person) time if all cosines are stored,
        else O(n_ratings).
        """
        blocks = [
            unit_columns(matrix) * np.float32(np.sqrt(weight))
            for weight, matrix in (
                (cosine_weight, residuals(csr, factors)),
                (audience_weight, indicators(csr)),
            )
        ]
        viewers = sparse.vstack(blocks).tocsc()
        held = _products(viewers) if csr.shape[1] <= MAX_STORED_ITEMS else None
        return cls(factors.factors / np.sqrt(factors.noise), viewers, held)

    def between(self, a: Ints | slice, b: Ints) -> Floats:
        """Return the kernel matrix of items a (rows) and items b (columns)."""
        K: Floats = self.factors[a] @ self.factors[b].T
        if self.held is not None:
            K += self.held[a][:, b]
        else:
            K += (self.viewers[:, a].T @ self.viewers[:, b]).toarray()
        return K

    def scores(self, items: Ints | slice, rated: Ints, coef: Floats) -> Floats:
        """Return the weighted sums of the kernels with the rated items."""
        scores: Floats = self.factors[items] @ (coef @ self.factors[rated])
        if self.held is not None:
            # The matrix is symmetric, so whole rows serve as columns.
            scores += (coef.astype(np.float32) @ self.held[rated])[items]
        else:
            by_viewer = self.viewers[:, rated] @ coef
            scores += self.viewers[:, items].T @ by_viewer
        return scores


def _products(columns: SparseMatrix) -> Floats:
    n_items = columns.shape[1]
    held = np.empty((n_items, n_items), dtype=np.float32)
    rows = columns.T.tocsr()
    for first in range(0, n_items, _BLOCK):
        block = slice(first, first + _BLOCK)
        held[:, block] = (rows @ columns[:, block]).toarray()
    return held
