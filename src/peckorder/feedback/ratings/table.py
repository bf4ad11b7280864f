"""Ratings as a sparse table of users and items: construction, queries, subsets."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, NoReturn, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from peckorder._core.errors import entry, refusal
from peckorder._core.pickling import SavedPlainly
from peckorder._core.typing import Bools, Floats, Ints, Labels, Seed, SparseMatrix, VectorLike
from peckorder._core.validation import Rule, boolean, finite, one_of, optional, whole
from peckorder.feedback._ids import Ids
from peckorder.feedback._pairs import read_only

_SHARE = Rule("a number > 0 and < 1", lambda value: finite.accepts(value) and 0 < value < 1)
_MISSING = Rule("a number", lambda value: isinstance(value, int | float | np.integer | np.floating))


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
        return _sealed(cast(SparseMatrix, csr))

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


class Rated(NamedTuple):
    """The ratings of one user: items and values."""

    items: Labels
    values: Floats


class Triples(NamedTuple):
    """All ratings, one per row, by users and within these by items."""

    user: Labels
    item: Labels
    value: Floats


@entry
@dataclass(frozen=True, eq=False, init=False, repr=False)
class RatingTable(SavedPlainly):
    """Users, items and their ratings; immutable.

    csr (n_users, n_items) stores all ratings, zeros too; its arrays are read-only.
    """

    csr: SparseMatrix
    _users: Ids
    _items: Ids

    def _store(self, users: Ids, items: Ids, csr: SparseMatrix) -> None:
        object.__setattr__(self, "csr", _sealed(csr))
        object.__setattr__(self, "_users", users)
        object.__setattr__(self, "_items", items)

    @classmethod
    def _of(cls, users: Ids, items: Ids, csr: SparseMatrix) -> Self:
        ratings = object.__new__(cls)
        ratings._store(users, items, csr)
        return ratings

    @property
    def users(self) -> Labels:
        """The ids of users, in the order of rows."""
        return self._users.values

    @property
    def items(self) -> Labels:
        """The ids of items, in the order of columns."""
        return self._items.values

    @property
    def n_users(self) -> int:
        """The number of users."""
        return len(self._users)

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self._items)

    @property
    def per_user(self) -> Ints:
        """The number of ratings per user."""
        return np.diff(self.csr.indptr).astype(np.int64)

    @property
    def per_item(self) -> Ints:
        """The number of ratings per item."""
        return np.bincount(self.csr.indices, minlength=self.n_items)

    @cached_property
    def csc(self) -> SparseMatrix:
        """The ratings by item, in the shape of `csr`; computed at the first access."""
        return _sealed(self.csr.tocsc())

    def __len__(self) -> int:
        return len(self.csr.data)

    def __repr__(self) -> str:
        sizes = f"n_users={self.n_users}, n_items={self.n_items}"
        return f"Ratings(n_ratings={len(self)}, {sizes})"

    def user_index(self, user: object) -> int:
        """Return the row of a user in `csr`; raise for an unknown id."""
        return self._users.position(user)

    def item_index(self, item: object) -> int:
        """Return the column of an item in `csr`; raise for an unknown id."""
        return self._items.position(item)

    def of(self, user: object) -> Rated:
        """Return the ratings of a user.

        Parameters
        ----------
        user : hashable
            The id; an unknown one is an error.

        Returns
        -------
        rated : tuple of two ndarrays
            `items`, the ids in the order of `Ratings.items`, and their `values`.

        Examples
        --------
        >>> from peckorder import Ratings
        >>> items, values = Ratings(["ann", "bob"], [7, 9], [5, 3]).of("bob")
        >>> items.tolist(), values.tolist()
        ([9], [3.0])
        """
        row = self.user_index(user)
        stored = slice(self.csr.indptr[row], self.csr.indptr[row + 1])
        return Rated(self.items[self.csr.indices[stored]], self.csr.data[stored])

    def triples(self) -> Triples:
        """List all ratings: ``Ratings(*ratings.triples())`` gives them back.

        Returns
        -------
        triples : tuple of three ndarrays of shape (n_ratings,)
            `user`, `item` and `value`.

        Examples
        --------
        >>> from peckorder import Ratings
        >>> Ratings(["bob", "ann"], [9, 7], [3, 5]).triples().user.tolist()
        ['ann', 'bob']
        """
        user = np.repeat(self.users, self.per_user)
        return Triples(user, self.items[self.csr.indices], self.csr.data)

    def matrix(self, missing: float = np.nan) -> Floats:
        """Return a dense table with one row per user and one column per item.

        Parameters
        ----------
        missing : float, default=nan
            The value of missing ratings.

        Returns
        -------
        matrix : ndarray of shape (n_users, n_items)
            O(n_users * n_items) memory; use `restrict` if there are many users.

        Examples
        --------
        >>> from peckorder import Ratings
        >>> Ratings(["ann", "bob"], [7, 9], [5, 0]).matrix(missing=-1)
        array([[ 5., -1.],
               [-1.,  0.]])
        """
        _MISSING.check("missing", missing)
        matrix = np.full(self.csr.shape, float(missing))
        row = np.repeat(np.arange(self.n_users), self.per_user)
        matrix[row, self.csr.indices] = self.csr.data
        return matrix

    def restrict(self, *, users: VectorLike | None = None, items: VectorLike | None = None) -> Self:
        """Keep these users and items, in the order in which they are given.

        Ids without ratings stay, so that the shape is as requested.

        Parameters
        ----------
        users, items : array-like, default=None
            Distinct ids; None keeps all.

        Examples
        --------
        >>> from peckorder import Ratings
        >>> ratings = Ratings(["ann", "ann", "bob"], [7, 9, 9], [5, 0, 3])
        >>> ratings.restrict(users=["bob"]).matrix()
        array([[nan,  3.]])
        """
        kept_users, kept_items, csr = self._users, self._items, self.csr
        if users is not None:
            positions = self._users.positions(users)
            kept_users, csr = self._users.subset(positions), csr[positions]
        if items is not None:
            positions = self._items.positions(items)
            kept_items = self._items.subset(positions)
            csr = _columns(csr, positions)
        return self._of(kept_users, kept_items, csr)

    def filter(
        self,
        *,
        min_per_user: int | None = None,
        max_per_user: int | None = None,
        min_per_item: int | None = None,
        max_per_item: int | None = None,
        repeat: bool = True,
    ) -> Self:
        """Keep users and items whose number of ratings is within bounds.

        All bounds apply to the same counts. The ratings of users and items outside them
        are dropped, and with these the users and items left without ratings.

        Parameters
        ----------
        min_per_user, max_per_user : int, default=None
            The smallest and the largest number of ratings of a user.
        min_per_item, max_per_item : int, default=None
            The smallest and the largest number of ratings of an item.
        repeat : bool, default=True
            Repeat with the new counts until nothing changes, so that the result is
            within the bounds. False: count once.

        Raises
        ------
        DataError
            If no rating is left.

        Examples
        --------
        >>> from peckorder import Ratings
        >>> ratings = Ratings(["ann", "ann", "bob", "cid"], [7, 9, 9, 9], [5, 0, 3, 1])
        >>> ratings.filter(min_per_item=2)
        Ratings(n_ratings=3, n_users=3, n_items=1)
        >>> ratings.filter(min_per_user=2, min_per_item=2, repeat=False)
        Ratings(n_ratings=1, n_users=1, n_items=1)
        """
        bounds = {
            "min_per_user": min_per_user,
            "max_per_user": max_per_user,
            "min_per_item": min_per_item,
            "max_per_item": max_per_item,
        }
        for name, bound in bounds.items():
            optional(whole(1)).check(name, bound)
        boolean.check("repeat", repeat)
        user = np.repeat(np.arange(self.n_users), self.per_user)
        item, is_kept = self.csr.indices, np.ones(len(self), dtype=bool)
        while True:
            stays = is_kept.copy()
            for code, least, most in (
                (user, min_per_user, max_per_user),
                (item, min_per_item, max_per_item),
            ):
                count = np.bincount(code[is_kept], minlength=code.max(initial=0) + 1)
                fits = (count >= (least or 1)) & (count <= (most or len(self)))
                stays &= fits[code]
            is_stable = stays.sum() == is_kept.sum()
            is_kept = stays
            if is_stable or not repeat:
                break
        if not is_kept.any():
            given = ", ".join(f"{k}={v}" for k, v in bounds.items() if v is not None)
            raise refusal("bounds", "leave a rating", f"none left with {given}")
        left = self._with(is_kept)
        rows, columns = np.flatnonzero(left.per_user), np.flatnonzero(left.per_item)
        csr = _columns(left.csr[rows], columns)
        return self._of(self._users.subset(rows), self._items.subset(columns), csr)

    def split(
        self, test: float = 0.5, *, per_user: bool = True, random_state: Seed = None
    ) -> tuple[Self, Self]:
        """Split the ratings at random; both parts have all ids.

        Parameters
        ----------
        test : float, default=0.5
            The share of ratings in the second part, rounded down.
        per_user : bool, default=True
            Draw this share of each user's ratings, so that all have some in the first
            part. False: of all ratings together.
        random_state : int, RandomState or None, default=None
            Draws the ratings.

        Returns
        -------
        train, test : tuple of two Ratings
            With the same `users` and `items`.

        Examples
        --------
        >>> from peckorder import Ratings
        >>> ratings = Ratings([1, 1, 1, 1, 2], [1, 2, 3, 4, 1], [5, 4, 3, 2, 1])
        >>> train, test = ratings.split(0.5, random_state=0)
        >>> train.per_user.tolist(), test.per_user.tolist()
        ([2, 1], [2, 0])
        """
        _SHARE.check("test", test)
        boolean.check("per_user", per_user)
        rng = check_random_state(random_state)
        sizes = self.per_user if per_user else np.array([len(self)])
        group = np.repeat(np.arange(len(sizes)), sizes)
        order = np.lexsort((rng.random_sample(len(self)), group))
        position = np.arange(len(self)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        # 0.29 * 100 is a little less than 29.
        n_test = np.floor(sizes * test + 1e-9)
        is_test = np.empty(len(self), dtype=bool)
        is_test[order] = position < n_test[group]
        return self._with(~is_test), self._with(is_test)

    def _with(self, is_kept: NDArray[np.bool_]) -> Self:
        """Return the ratings of a mask, with all ids."""
        before = np.concatenate([[0], np.cumsum(is_kept)])
        parts = (self.csr.data[is_kept], self.csr.indices[is_kept], before[self.csr.indptr])
        csr = sparse.csr_array(parts, shape=self.csr.shape)
        return self._of(self._users, self._items, csr)


def _columns(csr: SparseMatrix, columns: Ints) -> SparseMatrix:
    csr = csr[:, columns]
    csr.sort_indices()
    return csr


def _sealed(matrix: SparseMatrix) -> SparseMatrix:
    """Make the arrays of a matrix read-only."""
    for array in (matrix.data, matrix.indices, matrix.indptr):
        read_only(array)
    return matrix
