"""Ratings of items by users, from columns, frames, matrices and files."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import IO, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from peckorder._core.column_names import rating_column
from peckorder._core.errors import entry, entry_named, refusal, requiring, unnamed
from peckorder._core.pickling import SavedPlainly
from peckorder._core.text_files import Source
from peckorder._core.typing import (
    Bools,
    Floats,
    Frame,
    Ints,
    Labels,
    PathLike,
    Seed,
    SparseMatrix,
    VectorLike,
)
from peckorder._core.validation import (
    Rule,
    boolean,
    did_you_mean,
    generator,
    is_number,
    numbers,
    open_fraction,
    optional,
    unmasked,
    whole,
)
from peckorder.feedback.ratings.csv import CsvForm, read_rows
from peckorder.feedback.ratings.ids import Ids
from peckorder.feedback.ratings.rows import DUPLICATES, RatingRows, sealed

_MISSING = Rule("a number", lambda value: isinstance(value, int | float | np.integer | np.floating))


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
class Ratings(SavedPlainly):
    """Ratings of items by users: sparse, with ids of any type; immutable.

    Parameters
    ----------
    user, item : array-like of shape (n_ratings,)
        The ids: any hashable values, in any order.
    value : array-like of shape (n_ratings,)
        The ratings, finite numbers. Zero is a rating like any other.
    duplicates : {"refuse", "last", "mean", "max"}, default="refuse"
        If a user rates an item several times: raise, or keep the last of the ratings,
        their mean or the highest.

    Attributes
    ----------
    users, items : ndarray of shape (n_users,), (n_items,)
        The ids, ascending if they can be compared, else in the order of first rows.
    csr : scipy.sparse.csr_array of shape (n_users, n_items)
        The ratings by user, zeros stored too. Read-only.

    Notes
    -----
    Construction takes O(n log n) time for n ratings and O(n) memory; look-ups of ids
    take O(1) time.

    Examples
    --------
    >>> from peckorder import Ratings
    >>> ratings = Ratings(["ann", "ann", "bob"], [7, 9, 9], [5, 0, 3])
    >>> ratings
    Ratings(n_ratings=3, n_users=2, n_items=2)
    >>> ratings.of("ann")
    Rated(items=array([7, 9]), values=array([5., 0.]))
    >>> ratings.matrix()
    array([[ 5.,  0.],
           [nan,  3.]])
    """

    csr: SparseMatrix
    _users: Ids
    _items: Ids

    def __init__(
        self, user: ArrayLike, item: ArrayLike, value: ArrayLike, *, duplicates: str = "refuse"
    ) -> None:
        DUPLICATES.check("duplicates", duplicates)
        values = numbers("value", value, finite=True)
        user_codes, users = Ids.from_column("user", user, len(values))
        item_codes, items = Ids.from_column("item", item, len(values))
        rows = RatingRows(user_codes, users, item_codes, items, values)
        self._store(users, items, rows.to_csr(duplicates))

    @classmethod
    @unnamed
    def from_rows(cls, rows: RatingRows, duplicates: str = "refuse") -> Self:
        """Return ratings from rows with coded ids; for authors of readers.

        Parameters
        ----------
        rows : RatingRows
            The columns.
        duplicates : {"refuse", "last", "mean", "max"}, default="refuse"
            As in the class.
        """
        return cls._of(rows.users, rows.items, rows.to_csr(duplicates))

    @classmethod
    def from_frame(
        cls,
        frame: Frame,
        *,
        user: str | None = None,
        item: str | None = None,
        rating: str | None = None,
        duplicates: str = "refuse",
    ) -> Self:
        """Return ratings from three columns of a frame: pandas, polars or Arrow.

        Parameters
        ----------
        frame : frame
            One rating per row; other columns are ignored.
        user, item, rating : str, default=None
            The names of its columns. None: user, item and rating, or other usual names,
            such as userId, movie_id and stars.
        duplicates : {"refuse", "last", "mean", "max"}, default="refuse"
            As in the class.

        Examples
        --------
        >>> import pandas as pd
        >>> from peckorder import Ratings
        >>> frame = pd.DataFrame({"who": ["a", "b"], "movie": [1, 1], "stars": [4, 2]})
        >>> Ratings.from_frame(frame, user="who").users.tolist()
        ['a', 'b']
        """
        names = getattr(frame, "column_names", None) or getattr(frame, "columns", None)
        if not isinstance(names, Iterable) or not hasattr(frame, "__getitem__"):
            kind = type(frame).__name__
            raise refusal("frame", "have columns", f"a {kind}")
        listed = list(names)
        words = [word for word in listed if isinstance(word, str)]
        found = []
        for role, given in (("user", user), ("item", item), ("rating", rating)):
            name = rating_column(words, role) or role if given is None else given
            if name not in listed:
                hint = did_you_mean(name, words, {})
                raise refusal(role, "be a column of the frame", repr(name), hint=hint)
            found.append(name)
        values = _rating_column(found[2], frame[found[2]])
        return cls(frame[found[0]], frame[found[1]], values, duplicates=duplicates)

    @classmethod
    def from_matrix(
        cls,
        matrix: ArrayLike,
        *,
        missing: float = np.nan,
        users: ArrayLike | None = None,
        items: ArrayLike | None = None,
    ) -> Self:
        """Return ratings from a table with one row per user and one column per item.

        Parameters
        ----------
        matrix : array-like of shape (n_users, n_items)
            The ratings.
        missing : float, default=nan
            The value of missing ratings.
        users, items : array-like, default=None
            The ids of rows and columns. None: their numbers from 0 on. Ids without
            ratings are left out.

        Examples
        --------
        >>> from peckorder import Ratings
        >>> Ratings.from_matrix([[5, 0], [0, 3]], missing=0, users=["a", "b"]).of("b")
        Rated(items=array([1]), values=array([3.]))
        """
        table = np.asarray(matrix)
        if table.ndim != 2 or table.dtype.kind not in "biuf":
            raise refusal(
                "matrix",
                "be two-dimensional, of numbers",
                f"an array of shape {table.shape} and type {table.dtype}",
            )
        is_rated = ~np.isnan(table) if np.isnan(missing) else table != missing
        if isinstance(matrix, np.ma.MaskedArray):
            is_rated &= ~np.ma.getmaskarray(matrix)
        row, column = np.nonzero(is_rated)
        ids = []
        for name, labels, size, position in (
            ("users", users, table.shape[0], row),
            ("items", items, table.shape[1], column),
        ):
            values: Labels = np.arange(size)
            if labels is not None:
                codes, distinct = Ids.from_column(name, labels, size)
                values = distinct.values[codes]
                if len(distinct) != size:
                    raise refusal(name, "be distinct", "some again")
            ids.append(values[position])
        return cls(ids[0], ids[1], table[is_rated])

    @classmethod
    @entry_named("read_csv")
    def read_csv(
        cls,
        path: Source,
        *,
        user: str | int | None = None,
        item: str | int | None = None,
        rating: str | int | None = None,
        header: bool = True,
        sep: str = ",",
        encoding: str = "utf-8",
        scale: tuple[float, float] | None = None,
        user_dtype: type | None = None,
        item_dtype: type | None = None,
        duplicates: str = "refuse",
    ) -> Self:
        r"""Read a text file with one rating per line.

        Parameters
        ----------
        path : path or file
            Decompressed if it is a gzip file.
        user, item, rating : str or int, default=None
            The names of columns, or their positions from 0 on. None: user, item and
            rating, or other usual names, such as userId, movie_id and stars. Other
            columns are ignored, but every line must have as many as the first.
        header : bool, default=True
            Whether the first line contains the names of columns.
        sep : str, default=","
            The separator of fields. Fields may be quoted if it is one character; no
            field may contain a line break.
        encoding : str, default="utf-8"
            The encoding of the text.
        scale : (lowest, highest), default=None
            Ratings outside this range are an error.
        user_dtype, item_dtype : {None, int, str}, default=None
            The type of ids. None: integers if all are written as such, without leading
            zeros, else text.
        duplicates : {"refuse", "last", "mean", "max"}, default="refuse"
            As in the class.

        Raises
        ------
        DataError
            For the first malformed line, with its number.

        Notes
        -----
        O(n) time for n lines, about a quarter of it where pyarrow is installed. The
        ratings are the same with and without it.

        Examples
        --------
        >>> import io
        >>> from peckorder import Ratings
        >>> text = "user,item,rating,when\nann,7,5,881250949\nbob,9,3,891717742\n"
        >>> Ratings.read_csv(io.StringIO(text)).items
        array([7, 9])
        """
        DUPLICATES.check("duplicates", duplicates)
        form = CsvForm(
            user, item, rating, header, sep, encoding, scale, user_dtype, item_dtype, advise=True
        )
        return cls.from_rows(read_rows(path, form), duplicates)

    @classmethod
    def read_parquet(
        cls,
        path: PathLike | IO[bytes],
        *,
        user: str | None = None,
        item: str | None = None,
        rating: str | None = None,
        duplicates: str = "refuse",
    ) -> Self:
        """Read a Parquet file with one rating per row; requires pyarrow.

        Parameters
        ----------
        path : path or file
            Anything pyarrow can read.
        user, item, rating, duplicates
            As in `from_frame`.
        """
        with requiring("pyarrow", "to read Parquet", "'peckorder[frames]'"):
            parquet = import_module("pyarrow.parquet")
        try:
            table = parquet.ParquetFile(path).read()
        except FileNotFoundError:
            raise
        except (import_module("pyarrow").ArrowInvalid, OSError, TypeError) as error:
            raise refusal("path", "be a sound Parquet file", error) from None
        return cls.from_frame(table, user=user, item=item, rating=rating, duplicates=duplicates)

    def _store(self, users: Ids, items: Ids, csr: SparseMatrix) -> None:
        vars(self).update(csr=sealed(csr), _users=users, _items=items)

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
        return sealed(self.csr.tocsc())

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
        open_fraction.check("test", test)
        boolean.check("per_user", per_user)
        rng = generator(random_state)
        sizes = self.per_user if per_user else np.array([len(self)])
        group = np.repeat(np.arange(len(sizes)), sizes)
        order = np.lexsort((rng.random_sample(len(self)), group))
        position = np.arange(len(self)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        # 0.29 * 100 is a little less than 29.
        n_test = np.floor(sizes * test + 1e-9)
        is_test = np.empty(len(self), dtype=bool)
        is_test[order] = position < n_test[group]
        return self._with(~is_test), self._with(is_test)

    def _with(self, is_kept: Bools) -> Self:
        """Return the ratings of a mask, with all ids."""
        before = np.concatenate([[0], np.cumsum(is_kept)])
        parts = (self.csr.data[is_kept], self.csr.indices[is_kept], before[self.csr.indptr])
        csr = sparse.csr_array(parts, shape=self.csr.shape)
        return self._of(self._users, self._items, csr)


def _rating_column(name: str, column: ArrayLike) -> Floats:
    """Return the ratings of a frame as numbers; errors name the column and row."""
    values = np.asarray(unmasked(f"column {name!r}", column))
    if values.dtype.kind not in "biuf":
        are_numbers = [v is None or is_number(v) for v in values.tolist()]
        if not all(are_numbers):
            row = are_numbers.index(False)
            raise refusal(
                f"column {name!r}", "be numbers", f"{values.tolist()[row]!r} in row {row}"
            )
    return numbers(f"column {name!r}", values, finite=True)


def _columns(csr: SparseMatrix, columns: Ints) -> SparseMatrix:
    csr = csr[:, columns]
    csr.sort_indices()
    return csr
