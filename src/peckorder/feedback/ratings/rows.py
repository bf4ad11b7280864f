"""Ratings one per row, as they are read, and the matrix that they make."""

from dataclasses import dataclass
from typing import NoReturn, cast

import numpy as np
from scipy import sparse

from peckorder._core.errors import refusal
from peckorder._core.typing import Bools, Floats, Ints, SparseMatrix
from peckorder._core.validation import one_of
from peckorder.feedback._labels_and_queries import read_only
from peckorder.feedback.ratings.ids import Ids

DUPLICATES = one_of("refuse", "last", "mean", "max")


@dataclass(frozen=True, slots=True, eq=False)
class RatingRows:
    """One rating per row: user (n,) and item (n,) are positions among the ids.

    lines (n,) are the line numbers of the rows in a file, if there is one.
    """

    user: Ints
    users: Ids
    item: Ints
    items: Ids
    value: Floats
    lines: Ints | None = None

    def to_csr(self, duplicates: str) -> SparseMatrix:
        """Return a CSR array of users and items in which zeros are stored as well."""
        n_users, n_items = len(self.users), len(self.items)
        key = self.user * np.int64(n_items) + self.item
        order = np.argsort(key, kind="stable")
        key = key[order]
        is_first = np.ones(len(key), dtype=bool)
        is_first[1:] = key[1:] != key[:-1]
        if is_first.all():
            data = self.value[order]
        elif duplicates == "refuse":
            self._refuse(order, is_first)
        else:
            data = _merged(self.value[order], np.flatnonzero(is_first), duplicates)
        row, column = np.divmod(key[is_first], n_items)
        ends = np.cumsum(np.bincount(row, minlength=n_users))
        indptr = np.concatenate([[0], ends])
        shape = (n_users, n_items)
        csr = sparse.csr_array((data, column, indptr), shape=shape)
        return sealed(cast(SparseMatrix, csr))

    def _refuse(self, order: Ints, is_first: Bools) -> NoReturn:
        row = int(order[~is_first].min())
        where = f"row {row}" if self.lines is None else f"line {self.lines[row]}"
        user, item = (
            ids.values[codes[row : row + 1]].tolist()[0]
            for ids, codes in ((self.users, self.user), (self.items, self.item))
        )
        raise refusal(
            "a user",
            "rate an item once",
            f"user {user!r} and item {item!r} again in {where}",
            hint="With duplicates='last', 'mean' or 'max' such ratings are merged.",
        )


def _merged(value: Floats, starts: Ints, duplicates: str) -> Floats:
    """Return one value per run of ratings of the same user and item."""
    ends: Ints = np.append(starts[1:], len(value))
    if duplicates == "last":
        return value[ends - 1]
    if duplicates == "max":
        return np.maximum.reduceat(value, starts)
    count: Ints = ends - starts
    with np.errstate(over="ignore"):
        mean = np.add.reduceat(value, starts) / count
    # The sum of finite numbers may overflow; that of their shares does not.
    shares = np.add.reduceat(value / np.repeat(count, count), starts)
    return np.where(np.isfinite(mean), mean, shares)


def sealed(matrix: SparseMatrix) -> SparseMatrix:
    """Make the arrays of a matrix read-only."""
    for array in (matrix.data, matrix.indices, matrix.indptr):
        read_only(array)
    return matrix
