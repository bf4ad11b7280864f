"""Ratings of items by users, from columns, frames, matrices and files."""

from collections.abc import Iterable
from importlib import import_module
from numbers import Real
from typing import IO, Self

import numpy as np
from numpy.typing import ArrayLike

from peckorder._core.errors import entry, entry_named, refusal, unnamed
from peckorder._core.text_files import Source
from peckorder._core.typing import Floats, Frame, Labels, PathLike
from peckorder._core.validation import did_you_mean, numbers
from peckorder.exceptions import MissingExtraError
from peckorder.feedback._ids import Ids
from peckorder.feedback.ratings.csv import CsvForm, read_rows
from peckorder.feedback.ratings.table import DUPLICATES, RatingRows, RatingTable


@entry
class Ratings(RatingTable):
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
        user: str = "user",
        item: str = "item",
        rating: str = "rating",
        duplicates: str = "refuse",
    ) -> Self:
        """Return ratings from three columns of a frame: pandas, polars or Arrow.

        Parameters
        ----------
        frame : frame
            One rating per row; other columns are ignored.
        user, item, rating : str
            The names of its columns.
        duplicates : {"refuse", "last", "mean", "max"}, default="refuse"
            As in the class.

        Examples
        --------
        >>> import pandas as pd
        >>> from peckorder import Ratings
        >>> frame = pd.DataFrame({"user": ["a", "b"], "movie": [1, 1], "stars": [4, 2]})
        >>> Ratings.from_frame(frame, item="movie", rating="stars").users.tolist()
        ['a', 'b']
        """
        names = getattr(frame, "column_names", None) or getattr(frame, "columns", None)
        if not isinstance(names, Iterable) or not hasattr(frame, "__getitem__"):
            kind = type(frame).__name__
            raise refusal("frame", "have columns", f"a {kind}")
        listed = list(names)
        for role, name in (("user", user), ("item", item), ("rating", rating)):
            if name not in listed:
                words = [word for word in listed if isinstance(word, str)]
                raise refusal(
                    role, "be a column of the frame", repr(name), hint=did_you_mean(name, words, {})
                )
        values = _rating_column(rating, frame[rating])
        return cls(frame[user], frame[item], values, duplicates=duplicates)

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
        user: str | int = "user",
        item: str | int = "item",
        rating: str | int = "rating",
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
        user, item, rating : str or int
            The names of columns, or their positions from 0 on. Other columns are
            ignored, but every line must have as many as the first.
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
        user: str = "user",
        item: str = "item",
        rating: str = "rating",
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
        try:
            parquet = import_module("pyarrow.parquet")
        except ImportError:
            raise refusal(
                "pyarrow",
                "be installed to read Parquet",
                "none",
                hint="Type pip install 'peckorder[frames]'.",
                error=MissingExtraError,
            ) from None
        try:
            table = parquet.ParquetFile(path).read()
        except FileNotFoundError:
            raise
        except (import_module("pyarrow").ArrowInvalid, OSError, TypeError) as error:
            raise refusal("path", "be a sound Parquet file", error) from None
        columns = {"user": user, "item": item, "rating": rating}
        return cls.from_frame(table, **columns, duplicates=duplicates)


def _rating_column(name: str, column: ArrayLike) -> Floats:
    """Return the ratings of a frame as numbers; errors name the column and row."""
    values = np.asarray(column)
    if values.dtype.kind not in "biuf":
        is_number = [v is None or isinstance(v, Real) for v in values.tolist()]
        if not all(is_number):
            row = is_number.index(False)
            raise refusal(
                f"column {name!r}", "be numbers", f"{values.tolist()[row]!r} in row {row}"
            )
    return numbers(f"column {name!r}", values, finite=True)
