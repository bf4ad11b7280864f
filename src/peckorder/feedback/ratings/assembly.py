"""Rows of ratings: from codes and values to a matrix with each rating once."""

from dataclasses import dataclass
from typing import cast

import numpy as np
from scipy import sparse

from peckorder._core.typing import Bools, Floats, Ints, SparseMatrix
from peckorder._core.validation import one_of
from peckorder.exceptions import DataError
from peckorder.feedback._ids import Ids

DUPLICATES = one_of("refuse", "last", "mean", "max")


@dataclass(frozen=True, slots=True, eq=False)
class RatingRows:
    """One rating a row: user (n,) and item (n,) are places among the ids.

    lines (n,) tell where the rows stand in a file; None where there is no file.
    """

    user: Ints
    users: Ids
    item: Ints
    items: Ids
    value: Floats
    lines: Ints | None = None

    def to_csr(self, who: str, duplicates: str) -> SparseMatrix:
        """Return a read-only CSR array of users and items, zeros stored as well."""
        n_users, n_items = len(self.users), len(self.items)
        key = self.user * np.int64(n_items) + self.item
        order = np.argsort(key, kind="stable")
        key = key[order]
        is_first = np.ones(len(key), dtype=bool)
        is_first[1:] = key[1:] != key[:-1]
        if is_first.all():
            data = self.value[order]
        elif duplicates == "refuse":
            self._refuse(who, order, is_first)
        else:
            data = _merged(self.value[order], np.flatnonzero(is_first), duplicates)
        row, column = np.divmod(key[is_first], n_items)
        ends = np.cumsum(np.bincount(row, minlength=n_users))
        indptr = np.concatenate([[0], ends])
        shape = (n_users, n_items)
        csr = sparse.csr_array((data, column, indptr), shape=shape)
        for part in (csr.data, csr.indices, csr.indptr):
            part.flags.writeable = False
        return cast(SparseMatrix, csr)

    def _refuse(self, who: str, order: Ints, is_first: Bools) -> None:
        row = int(order[~is_first].min())
        where = f"row {row}" if self.lines is None else f"line {self.lines[row]}"
        user, item = (
            ids.values[codes[row : row + 1]].tolist()[0]
            for ids, codes in ((self.users, self.user), (self.items, self.item))
        )
        raise DataError(
            f"{who}: a user must rate an item once; got user {user!r} and item "
            f"{item!r} again in {where}. With duplicates='last', 'mean' or 'max' such "
            "ratings are merged."
        )


def _merged(value: Floats, starts: Ints, duplicates: str) -> Floats:
    """Return one value for each run of ratings of the same pair."""
    ends: Ints = np.append(starts[1:], len(value))
    if duplicates == "last":
        return value[ends - 1]
    if duplicates == "max":
        return np.maximum.reduceat(value, starts)
    count: Ints = ends - starts
    with np.errstate(over="ignore"):
        mean = np.add.reduceat(value, starts) / count
    # The sum of two finite numbers need not be finite; that of their shares is.
    shares = np.add.reduceat(value / np.repeat(count, count), starts)
    return np.where(np.isfinite(mean), mean, shares)
