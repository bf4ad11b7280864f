"""What can be asked of ratings, and parts of them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from peckorder._core.pickling import SavedPlainly
from peckorder._core.typing import Floats, Ints, Labels, Seed, SparseMatrix
from peckorder._core.validation import Rule, boolean, finite, optional, whole
from peckorder.exceptions import DataError
from peckorder.feedback._ids import Ids
from peckorder.feedback._pairs import read_only

_WHO = "Ratings"
_SHARE = Rule(
    "a number > 0 and < 1",
    lambda value: finite.accepts(value) and 0 < value < 1,
)
_MISSING = Rule(
    "a number", lambda value: isinstance(value, int | float | np.integer | np.floating)
)


class Rated(NamedTuple):
    """What one user rated: the items, and the values given to them."""

    items: Labels
    values: Floats


class Triples(NamedTuple):
    """All ratings, one a row, by users and within these by items."""

    user: Labels
    item: Labels
    value: Floats


@dataclass(frozen=True, eq=False, init=False, repr=False)
class RatingTable(SavedPlainly):
    """Users, items and the ratings that are known; never changes.

    csr (n_users, n_items) stores what is rated, zeros too; its arrays are read-only.
    """

    csr: SparseMatrix
    _users: Ids
    _items: Ids

    def _store(self, users: Ids, items: Ids, csr: SparseMatrix) -> None:
        for part in (csr.data, csr.indices, csr.indptr):
            part.flags.writeable = False
        object.__setattr__(self, "csr", csr)
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
        """How many items each user rated."""
        return np.diff(self.csr.indptr).astype(np.int64)

    @property
    def per_item(self) -> Ints:
        """How many users rated each item."""
        return np.bincount(self.csr.indices, minlength=self.n_items)

    @cached_property
    def csc(self) -> SparseMatrix:
        """The ratings by item, in the shape of `csr`; made when first asked for."""
        csc = self.csr.tocsc()
        for part in (csc.data, csc.indices, csc.indptr):
            part.flags.writeable = False
        return csc

    def __len__(self) -> int:
        return len(self.csr.data)

    def __repr__(self) -> str:
        sizes = f"n_users={self.n_users}, n_items={self.n_items}"
        return f"{_WHO}(n_ratings={len(self)}, {sizes})"

    def user_index(self, user: Any) -> int:
        """Return the row of a user in `csr`; an unknown one is refused by name."""
        return self._users.place(_WHO, user)

    def item_index(self, item: Any) -> int:
        """Return the column of an item in `csr`; an unknown one is refused by name."""
        return self._items.place(_WHO, item)

    def of(self, user: Any) -> Rated:
        """Return what a user rated.

        Parameters
        ----------
        user : hashable
            The id; one that is not known is refused.

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
        """List all ratings: ``Ratings(*ratings.triples())`` is the same again.

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
        """Return a dense table, a row a user and a column an item.

        Parameters
        ----------
        missing : float, default=nan
            What stands where there is no rating.

        Returns
        -------
        matrix : ndarray of shape (n_users, n_items)
            O(n_users * n_items) memory: of many users take some with `restrict`.

        Examples
        --------
        >>> from peckorder import Ratings
        >>> Ratings(["ann", "bob"], [7, 9], [5, 0]).matrix(missing=-1)
        array([[ 5., -1.],
               [-1.,  0.]])
        """
        _MISSING.check(_WHO, "missing", missing)
        matrix = np.full(self.csr.shape, float(missing))
        row = np.repeat(np.arange(self.n_users), self.per_user)
        matrix[row, self.csr.indices] = self.csr.data
        return matrix

    def restrict(
        self, *, users: ArrayLike | None = None, items: ArrayLike | None = None
    ) -> Self:
        """Keep some users and items, in the order in which they are given.

        Ids that have no rating left stay, so that the shape is what was asked for.

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
            places = self._users.places(_WHO, users)
            kept_users, csr = Ids("user", read_only(self.users[places])), csr[places]
        if items is not None:
            places = self._items.places(_WHO, items)
            kept_items = Ids("item", read_only(self.items[places]))
            csr = _columns(csr, places)
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
        """Keep users and items that have enough ratings, and not too many.

        All bounds are held against the same counts; then the ratings of those who
        fall outside are dropped, and with them users and items left without any.

        Parameters
        ----------
        min_per_user, max_per_user : int, default=None
            The least and the most ratings of a user who stays.
        min_per_item, max_per_item : int, default=None
            The least and the most ratings of an item that stays.
        repeat : bool, default=True
            Begin again with the new counts until nothing changes, so that the result
            is within the bounds. False: count once.

        Raises
        ------
        DataError
            If nothing stays.

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
            optional(whole(1)).check(_WHO, name, bound)
        boolean.check(_WHO, "repeat", repeat)
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
            asked = ", ".join(f"{k}={v}" for k, v in bounds.items() if v is not None)
            raise DataError(
                f"{_WHO}: bounds must leave a rating; got none left with {asked}."
            )
        left = self._with(is_kept)
        rows, columns = np.flatnonzero(left.per_user), np.flatnonzero(left.per_item)
        csr = _columns(left.csr[rows], columns)
        return self._of(
            Ids("user", read_only(self.users[rows])),
            Ids("item", read_only(self.items[columns])),
            csr,
        )

    def split(
        self, test: float = 0.5, *, per_user: bool = True, random_state: Seed = None
    ) -> tuple[Self, Self]:
        """Divide the ratings at random; both parts have all ids.

        Parameters
        ----------
        test : float, default=0.5
            The share of ratings that goes to the second part, rounded down.
        per_user : bool, default=True
            Take this share of each user's ratings, so that all have some in the first
            part. False: of all ratings together.
        random_state : int, RandomState or None, default=None
            Decides which.

        Returns
        -------
        train, test : tuple of two Ratings
            Of the same `users` and `items`.

        Examples
        --------
        >>> from peckorder import Ratings
        >>> ratings = Ratings([1, 1, 1, 1, 2], [1, 2, 3, 4, 1], [5, 4, 3, 2, 1])
        >>> train, test = ratings.split(0.5, random_state=0)
        >>> train.per_user.tolist(), test.per_user.tolist()
        ([2, 1], [2, 0])
        """
        _SHARE.check(_WHO, "test", test)
        boolean.check(_WHO, "per_user", per_user)
        rng = check_random_state(random_state)
        sizes = self.per_user if per_user else np.array([len(self)])
        group = np.repeat(np.arange(len(sizes)), sizes)
        order = np.lexsort((rng.random_sample(len(self)), group))
        place = np.arange(len(self)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        # 0.29 * 100 is a little less than 29.
        taken = np.floor(sizes * test + 1e-9)
        is_test = np.empty(len(self), dtype=bool)
        is_test[order] = place < taken[group]
        return self._with(~is_test), self._with(is_test)

    def _with(self, is_kept: NDArray[np.bool_]) -> Self:
        """Return some of the ratings, with all ids."""
        before = np.concatenate([[0], np.cumsum(is_kept)])
        parts = (
            self.csr.data[is_kept],
            self.csr.indices[is_kept],
            before[self.csr.indptr],
        )
        csr = sparse.csr_array(parts, shape=self.csr.shape)
        return self._of(self._users, self._items, csr)


def _columns(csr: SparseMatrix, places: Ints) -> SparseMatrix:
    csr = csr[:, places]
    csr.sort_indices()
    return csr
