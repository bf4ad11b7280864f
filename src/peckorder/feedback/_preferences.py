"""Preferences: which row should rank above which, as listed pairs or graded rows."""

from dataclasses import dataclass
from typing import IO, Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse import csgraph

from peckorder._core.errors import entry, refusal, unnamed
from peckorder._core.text_files import Source
from peckorder._core.typing import Floats, Frame, Ints, Labels, PathLike
from peckorder._core.validation import is_number, not_negative, one_of, unmasked, whole
from peckorder.feedback._labels_and_queries import Opinions, read_only
from peckorder.feedback._pair_lists import GradedRows, PairList, Pairs, Part, with_first_rows
from peckorder.feedback._pairs_by_id import (
    PairColumns,
    columns_of_csv,
    columns_of_frame,
    columns_of_parquet,
    row_numbers,
    to_frame,
)

_KINDS = one_of("unit", "gap", "exponential")


@entry
@dataclass(frozen=True, eq=False, init=False, repr=False)
class Preferences:
    """Feedback as pairs of rows: the first should rank above the second.

    The feedback of RankBoost [1]_: a weight Phi(x0, x1) >= 0 for each pair in which
    x1 should rank above x0. Pairs may repeat, in which case their weights add up, and
    may contradict each other. With sizes, they are the feedback of magnitude-preserving
    ranking [2]_: x1 should score `size` more than x0. The object is immutable.

    Parameters
    ----------
    better : array-like of shape (n_pairs,)
        The row numbers of those that should rank above.
    worse : array-like of shape (n_pairs,)
        The row numbers of those that should rank below.
    weight : array-like of shape (n_pairs,), default=None
        The weight of each pair, not negative; None for 1 each.
    size : array-like of shape (n_pairs,), default=None
        By how much the score of the better row should be above that of the worse one,
        not negative; 0 for two rows that should score the same. None for 1 each, and
        for rankers of which only the order matters: RankBoost refuses pairs with sizes,
        of which `without_sizes` keeps the order.

    Attributes
    ----------
    parts : tuple
        The terms whose sum the feedback is: listed pairs, or grades from which pairs
        follow. For authors of estimators.

    See Also
    --------
    peckorder.model_selection.train_test_split_queries : Restricts preferences too.

    Notes
    -----
    The length of preferences is their number of pairs, not of rows; so
    cross-validation over rows goes through `restrict`.

    Memory is O(n_pairs), but O(n_rows) for preferences from `from_grades`.

    References
    ----------
    .. [1] Y. Freund, R. Iyer, R. E. Schapire and Y. Singer, "An Efficient Boosting
       Algorithm for Combining Preferences", JMLR 4, 2003.
    .. [2] C. Cortes, M. Mohri and A. Rastogi, "Magnitude-Preserving Ranking
       Algorithms", ICML 2007.

    Examples
    --------
    >>> from peckorder import Preferences
    >>> clicks = Preferences(better=[2, 2, 0], worse=[0, 1, 1], weight=[1, 3, 1])
    >>> clicks
    Preferences(n_pairs=3, total_weight=5.0)
    >>> grades = Preferences.from_grades([1, 0, 2])
    >>> both = clicks + 0.5 * grades
    >>> both.pairs().weight.tolist()
    [1.0, 3.0, 1.0, 0.5, 0.5, 0.5]

    Two matches, one won by three goals, and one drawn:

    >>> Preferences(better=[0, 1], worse=[1, 2], size=[3, 0]).sizes()
    array([3., 0.])
    """

    parts: tuple[Part, ...]

    # Or NumPy would take `np.float64(2) * preferences` for a product of arrays.
    __array_ufunc__ = None

    def __init__(
        self,
        better: ArrayLike,
        worse: ArrayLike,
        weight: ArrayLike | None = None,
        size: ArrayLike | None = None,
    ) -> None:
        above, below = _row_numbers("better", better), _row_numbers("worse", worse)
        if len(above) == 0 and len(below) == 0:
            raise refusal("better", "be at least one row number", "[]")
        if len(above) != len(below):
            raise refusal("worse", f"be as long as better, {len(above)} in all", len(below))
        if np.any(above == below):
            pair = int(np.argmax(above == below))
            raise refusal(
                "worse", "be other rows than better", f"row {above[pair]} for both in pair {pair}"
            )
        weights = _not_negative("weight", weight, len(above))
        sizes = None if size is None else _not_negative("size", size, len(above))
        part = PairList(Pairs(above, below, weights), sizes)
        object.__setattr__(self, "parts", _checked((part,), "weight"))

    @classmethod
    def from_grades(
        cls,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        weight: str = "unit",
        missing_labels: str = "raise",
    ) -> Self:
        """Prefer every row to those of its query that have a lower grade.

        The weight of a pair with grades g1 > g0 is 1, g1 - g0 or 2**g1 - 2**g0.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            The grades: real numbers, larger is better, or an ordered categorical,
            whose categories count as 0, 1, ... from the lowest.
        qid : array-like of shape (n_rows,), default=None
            The query of each row, of any type and in any order; rows of different
            queries form no pair. None: one query of all rows.
        weight : {"unit", "gap", "exponential"}, default="unit"
            Whether the weight of a pair is 1, g1 - g0 or 2**g1 - 2**g0; the last is for
            grades that are integers >= 0.
        missing_labels : {"raise", "skip"}, default="raise"
            Whether NaN, None or no category in `y` is refused, or means no opinion: such
            rows form no pair.

        Returns
        -------
        preferences : Preferences
            In a form that does not list the pairs: O(n_rows) memory,
            O(n_rows log(n_rows)) time.

        Examples
        --------
        >>> import numpy as np
        >>> from peckorder import Preferences
        >>> Preferences.from_grades([2, 0, 1, 5], qid=["a", "a", "a", "b"])
        Preferences(n_pairs=3, total_weight=3.0)
        >>> Preferences.from_grades([2, 0, 1], weight="exponential").pairs().weight
        array([1., 3., 2.])
        >>> len(Preferences.from_grades(np.arange(100_000.0)))
        4999950000
        """
        return cls.of_labels(y, qid, weight, missing_labels=missing_labels)

    @classmethod
    def from_labels(
        cls, y: ArrayLike, qid: ArrayLike | None = None, missing_labels: str = "raise"
    ) -> Self:
        """Return every two rows of a query as a pair whose size is y1 - y0.

        Rows of equal labels are pairs of size 0. The sums over pairs in the losses of
        `MPRank` and `SVRank` are over these, each pair once.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            The labels: real numbers, larger is better, or an ordered categorical.
        qid : array-like of shape (n_rows,), default=None
            The query of each row; rows of different queries form no pair. None: one
            query of all rows.
        missing_labels : {"raise", "skip"}, default="raise"
            As in `from_grades`.

        Returns
        -------
        preferences : Preferences
            O(n_pairs) time and memory, n (n - 1) / 2 pairs of n rows of a query: for
            labels of many rows give a ranker, or a metric, the labels themselves.

        Examples
        --------
        >>> from peckorder import Preferences
        >>> margins = Preferences.from_labels([2.0, 0.5, 2.0])
        >>> better, worse, _ = margins.pairs()
        >>> better.tolist(), worse.tolist(), margins.sizes().tolist()
        ([0, 2, 2], [1, 1, 0], [1.5, 1.5, 0.0])
        """
        opinions = Opinions.of(y, missing_labels)
        label, queries = opinions.grade, opinions.queries(qid)
        order = np.lexsort((label, queries.of_rows()))
        # A row is paired with all that stand before it in its query.
        starts = np.repeat(queries.offsets[:-1], queries.sizes)
        better, worse = with_first_rows(starts, np.arange(len(order)) - starts)
        with np.errstate(over="ignore"):
            size = label[order[better]] - label[order[worse]]
        if not np.isfinite(size).all():
            raise refusal("y", "have finite differences", "an overflow")
        weight = read_only(np.ones(len(better)))
        pairs = Pairs(read_only(order[better]), read_only(order[worse]), weight)
        part = PairList(pairs, read_only(size))
        return cls._of((part if opinions.rows is None else part.renumbered(opinions.rows),))

    @classmethod
    def from_frame(
        cls,
        frame: Frame,
        ids: ArrayLike,
        *,
        better: str | None = None,
        worse: str | None = None,
        weight: str | None = None,
        size: str | None = None,
    ) -> Self:
        """Return the pairs of a frame that names rows by ids.

        Parameters
        ----------
        frame : frame or mapping of columns
            One pair per row: pandas, polars or Arrow. Other columns are ignored.
        ids : array-like of shape (n_rows,)
            The id of each row of the X that the preferences are about.
        better, worse : str, default=None
            The columns of the two ids. None: better and worse, or winner and loser,
            preferred and other, chosen and rejected, each also with `_id`.
        weight, size : str, default=None
            The columns of weights and sizes. None: weight and size, or margin, if there
            are any.

        Returns
        -------
        preferences : Preferences
            Takes O(n_rows + n_pairs) time, and a sort of the ids.

        Examples
        --------
        >>> from peckorder import Preferences
        >>> matches = {"winner": ["ann", "eve"], "loser": ["bob", "ann"], "margin": [3, 1]}
        >>> Preferences.from_frame(matches, ids=["ann", "bob", "eve"]).pairs().better
        array([0, 2])
        """
        given = {"better": better, "worse": worse, "weight": weight, "size": size}
        return cls._by_id(columns_of_frame(frame, given), ids)

    @classmethod
    def read_csv(
        cls,
        path: Source,
        ids: ArrayLike,
        *,
        better: str | None = None,
        worse: str | None = None,
        weight: str | None = None,
        size: str | None = None,
        sep: str = ",",
    ) -> Self:
        r"""Read a text file with one pair per line, under a line of names.

        Parameters
        ----------
        path : path or file
            UTF-8 text; decompressed if it is a gzip file.
        ids, better, worse, weight, size
            As in `from_frame`. Text of whole numbers is numbers if ids are.
        sep : str, default=","
            The character between fields, which may be quoted.

        Returns
        -------
        preferences : Preferences
            Takes O(n_rows + n_pairs) time, and a sort of the ids.

        Examples
        --------
        >>> import io
        >>> from peckorder import Preferences
        >>> text = "winner,loser,weight\nann,bob,2\neve,ann,1\n"
        >>> Preferences.read_csv(io.StringIO(text), ids=["ann", "bob", "eve"])
        Preferences(n_pairs=2, total_weight=3.0)
        """
        given = {"better": better, "worse": worse, "weight": weight, "size": size}
        return cls._by_id(columns_of_csv(path, sep, given), ids)

    @classmethod
    def read_parquet(
        cls,
        path: PathLike | IO[bytes],
        ids: ArrayLike,
        *,
        better: str | None = None,
        worse: str | None = None,
        weight: str | None = None,
        size: str | None = None,
    ) -> Self:
        """Read a Parquet file with one pair per row; requires pyarrow.

        Parameters
        ----------
        path : path or file
            Anything pyarrow can read.
        ids, better, worse, weight, size
            As in `from_frame`.

        Returns
        -------
        preferences : Preferences
            Takes O(n_rows + n_pairs) time, and a sort of the ids.
        """
        given = {"better": better, "worse": worse, "weight": weight, "size": size}
        return cls._by_id(columns_of_parquet(path, given), ids)

    @classmethod
    def _by_id(cls, columns: PairColumns, ids: ArrayLike) -> Self:
        return cls(*row_numbers(columns, ids), columns.weight, columns.size)

    @classmethod
    @unnamed
    def of_labels(
        cls,
        y: ArrayLike,
        qid: ArrayLike | None,
        weight: str = "unit",
        n_rows: int | None = None,
        missing_labels: str = "raise",
    ) -> Self:
        """Return the same as `from_grades`, for authors of estimators.

        Parameters
        ----------
        y, qid, weight, missing_labels
            As in `from_grades`.
        n_rows : int or None, default=None
            The required number of labels, if known.

        Returns
        -------
        preferences : Preferences
            In the form that does not list pairs.

        Examples
        --------
        >>> from peckorder import Preferences
        >>> Preferences.of_labels([1, 0], None).n_pairs
        1
        """
        _KINDS.check("weight", weight)
        opinions = Opinions.of(y, missing_labels, weight, n_rows)
        grade, queries = opinions.grade, opinions.queries(qid)
        order = np.lexsort((grade, queries.of_rows()))
        offsets = read_only(queries.offsets.copy())
        part = GradedRows(read_only(order), read_only(grade[order]), offsets, weight)
        part = part if opinions.rows is None else part.renumbered(opinions.rows)
        return cls._of(_checked((part,), "y"))

    @classmethod
    def _of(cls, parts: tuple[Part, ...]) -> Self:
        preferences = object.__new__(cls)
        object.__setattr__(preferences, "parts", parts)
        return preferences

    @property
    def n_pairs(self) -> int:
        """The number of pairs."""
        return sum(part.n_pairs for part in self.parts)

    @property
    def total_weight(self) -> float:
        """The sum of the weights of all pairs."""
        return sum(part.total_weight for part in self.parts)

    def __len__(self) -> int:
        return self.n_pairs

    def __repr__(self) -> str:
        return f"Preferences(n_pairs={self.n_pairs}, total_weight={self.total_weight!r})"

    def pairs(self) -> Pairs:
        """List all pairs: O(n_pairs) time and memory.

        Returns
        -------
        pairs : tuple of three ndarrays of shape (n_pairs,)
            `better`, `worse` and `weight`.

        Examples
        --------
        >>> from peckorder import Preferences
        >>> better, worse, weight = Preferences.from_grades([7, 3, 3]).pairs()
        >>> better.tolist(), worse.tolist()
        ([0, 0], [1, 2])
        """
        columns = zip(*(part.listed() for part in self.parts), strict=True)
        return Pairs(*(read_only(np.concatenate(column)) for column in columns))

    @property
    def has_sizes(self) -> bool:
        """Whether sizes were given for any of the pairs."""
        return any(isinstance(part, PairList) and part.size is not None for part in self.parts)

    def sizes(self) -> Floats:
        """Return the size of each pair, in the order of `pairs`: 1 where none was given.

        Returns
        -------
        size : ndarray of shape (n_pairs,)
            By how much the better row should score more. O(n_pairs) time and memory.

        Examples
        --------
        >>> from peckorder import Preferences
        >>> (Preferences([0], [1], size=[2.5]) + Preferences([1], [2])).sizes()
        array([2.5, 1. ])
        """
        return read_only(np.concatenate([part.sizes() for part in self.parts]))

    def without_sizes(self) -> Self:
        """Keep the order of pairs only: no sizes, and no pairs of size 0.

        Returns
        -------
        preferences : Preferences
            What is left may be empty.

        Examples
        --------
        >>> from peckorder import Preferences
        >>> len(Preferences([0, 1], [1, 2], size=[3, 0]).without_sizes())
        1
        """
        return self._of(tuple(part.ordered() for part in self.parts))

    def to_pandas(self, ids: ArrayLike | None = None) -> Frame:
        """Return the pairs as a pandas frame: better, worse, weight, and size if given.

        Parameters
        ----------
        ids : array-like of shape (n_rows,), default=None
            The id of each row, to name rows by. None: by their numbers.
        """
        return self._to_frame("pandas", ids)

    def to_polars(self, ids: ArrayLike | None = None) -> Frame:
        """Return the pairs as a polars frame: better, worse, weight, and size if given.

        Parameters
        ----------
        ids : array-like of shape (n_rows,), default=None
            The id of each row, to name rows by. None: by their numbers.
        """
        return self._to_frame("polars", ids)

    def _to_frame(self, library: str, ids: ArrayLike | None) -> Frame:
        columns = self.pairs()._asdict() | ({"size": self.sizes()} if self.has_sizes else {})
        return to_frame(library, columns, ids, self.last_row + 1)

    @property
    def last_row(self) -> int:
        """The largest row number, -1 if there is none."""
        return max(part.last_row for part in self.parts)

    def components(self, n_rows: int) -> Ints:
        """Return the connected component of each row: what pairs lead to, over other rows.

        Parameters
        ----------
        n_rows : int
            The number of rows that the preferences are about.

        Returns
        -------
        component : ndarray of shape (n_rows,)
            Numbers from 0 on, in the order of first rows. A row in no pair with a
            weight > 0 is alone. O(n_rows + n_pairs) time, O(n_rows) for graded rows.

        Examples
        --------
        >>> from peckorder import Preferences
        >>> Preferences([0, 3], [2, 4]).components(5).tolist()
        [0, 1, 0, 2, 2]
        """
        if not whole(self.last_row + 1).accepts(n_rows):
            rule = f"be a number of rows, {self.last_row + 1} at least"
            raise refusal("n_rows", rule, n_rows, error=ValueError)
        ends = self._links()
        ones = np.ones(len(ends[0]), dtype=bool)
        graph = sparse.coo_array((ones, ends), shape=(n_rows, n_rows))
        label = csgraph.connected_components(graph.tocsr(), directed=False)[1]
        first, code = np.unique(label, return_index=True, return_inverse=True)[1:]
        return np.argsort(np.argsort(first))[code]

    def paired_rows(self) -> Ints:
        """Return the rows that are in a pair with a weight > 0.

        Returns
        -------
        rows : ndarray
            Ascending. O(n_pairs) time, O(n_rows) for graded rows, and a sort.

        Examples
        --------
        >>> from peckorder import Preferences
        >>> Preferences([0, 3], [2, 4], weight=[1, 0]).paired_rows()
        array([0, 2])
        """
        return np.unique(np.concatenate(self._links()))

    def _links(self) -> tuple[Ints, Ints]:
        """Return pairs of rows by which all that have a weight are connected."""
        one, other = zip(*(part.links() for part in self.parts), strict=True)
        return np.concatenate(one), np.concatenate(other)

    def restrict(self, rows: ArrayLike) -> Self:
        """Keep the pairs among these rows, as feedback on those rows alone.

        If the preferences are about the rows of X, the result is about those of
        ``X[rows]``: row ``rows[i]`` becomes row i, and pairs with a row that is not in
        `rows` are left out. The result may be empty.

        Parameters
        ----------
        rows : array-like of int or bool
            Distinct row numbers, or a mask.

        Returns
        -------
        preferences : Preferences
            In the same form, listed or not. Takes O(n log(len(rows))) time for n listed
            pairs or graded rows.

        Examples
        --------
        >>> from peckorder import Preferences
        >>> Preferences([0, 3], [1, 1]).restrict([3, 2, 1]).pairs().better.tolist()
        [0]
        """
        kept = self._checked_rows(rows)
        return self._of(tuple(part.restricted(kept) for part in self.parts))

    def among(self, rows: ArrayLike) -> Self:
        """Keep the pairs among these rows, as feedback on all rows.

        As `restrict`, but rows keep their numbers: the result is about the same X.

        Parameters
        ----------
        rows : array-like of int or bool
            Distinct row numbers, or a mask.

        Returns
        -------
        preferences : Preferences
            In the same form, listed or not. O(n log(len(rows))) time for n listed pairs
            or graded rows.

        Examples
        --------
        >>> from peckorder import Preferences
        >>> Preferences([0, 3], [1, 1]).among([3, 2, 1]).pairs().better.tolist()
        [3]
        """
        kept = self._checked_rows(rows)
        return self._of(tuple(part.restricted(kept).renumbered(kept) for part in self.parts))

    def _checked_rows(self, rows: ArrayLike) -> Ints:
        row_numbers = np.asarray(rows)
        if row_numbers.dtype == bool and row_numbers.ndim == 1:
            last = self.last_row
            if last >= len(row_numbers):
                raise refusal(
                    "rows", f"be a mask of all rows, {last + 1} at least", len(row_numbers)
                )
            row_numbers = np.flatnonzero(row_numbers)
        kept = _row_numbers("rows", row_numbers)
        ascending = np.sort(kept)
        is_repeated = ascending[1:] == ascending[:-1]
        if is_repeated.any():
            row = ascending[int(np.argmax(is_repeated))]
            raise refusal("rows", "be distinct", f"row {row} twice")
        return kept

    @unnamed
    def check_rows(self, n_rows: int) -> None:
        """Raise unless there is a pair among `n_rows` rows; for authors of estimators.

        Parameters
        ----------
        n_rows : int
            The number of rows of its X.

        Raises
        ------
        DataError
            If a row number is too large, or no pair has a positive weight.

        Examples
        --------
        >>> from peckorder import Preferences
        >>> Preferences([0], [4]).check_rows(n_rows=5)
        """
        last = self.last_row
        if last >= n_rows:
            raise refusal("y", f"be preferences among the {n_rows} rows of X", f"row {last}")
        if not self.total_weight > 0:
            what = "weights of zero only" if self.n_pairs else "no pair at all"
            raise refusal("y", "be at least one pair with a weight > 0", what)

    def __add__(self, other: object) -> Self:
        if not isinstance(other, Preferences):
            return NotImplemented
        return self._of(_checked(self.parts + other.parts, "a sum"))

    def __radd__(self, other: object) -> Self:
        # sum() starts with 0.
        return self if type(other) is int and other == 0 else NotImplemented

    def __mul__(self, factor: Any) -> Self:
        if type(factor) is bool or not is_number(factor):
            return NotImplemented
        not_negative.check("a factor", factor)
        with np.errstate(over="ignore"):
            parts = tuple(part.scaled(float(factor)) for part in self.parts)
        return self._of(_checked(parts, "a factor"))

    __rmul__ = __mul__


def _checked(parts: tuple[Part, ...], what: str) -> tuple[Part, ...]:
    """Return the parts; raise if the sum of their weights overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = sum(part.total_weight for part in parts)
    if not np.isfinite(total):
        raise refusal(what, "be small enough for a finite sum of weights", "an overflow")
    return parts


def _row_numbers(name: str, values: ArrayLike) -> Ints:
    """Return a read-only copy of row numbers."""
    numbers = np.asarray(unmasked(name, values))
    if numbers.ndim != 1:
        raise refusal(name, "be one-dimensional", f"an array of shape {numbers.shape}")
    if numbers.size and numbers.dtype.kind not in "iu":
        _refuse_value(name, "row numbers, integers >= 0", numbers, 0)
    is_row = (numbers >= 0) & (numbers <= np.iinfo(np.int64).max)
    if not is_row.all():
        _refuse_value(name, "row numbers, integers >= 0", numbers, int(is_row.argmin()))
    return read_only(numbers.astype(np.int64))


def _not_negative(name: str, values: ArrayLike | None, n_pairs: int) -> Floats:
    """Return a read-only copy of one number per pair, 1 each if there are none."""
    if values is None:
        return read_only(np.ones(n_pairs))
    numbers = np.asarray(unmasked(name, values))
    if numbers.shape != (n_pairs,):
        raise refusal(
            name, f"be one number per pair, {n_pairs} in all", f"an array of shape {numbers.shape}"
        )
    if numbers.dtype.kind not in "biuf":
        _refuse_value(name, "finite numbers >= 0", numbers, 0)
    is_valid = np.isfinite(numbers) & (numbers >= 0)
    if not is_valid.all():
        _refuse_value(name, "finite numbers >= 0", numbers, int(is_valid.argmin()))
    return read_only(numbers.astype(np.float64))


def _refuse_value(name: str, rule: str, values: Labels, i: int) -> NoReturn:
    value = values[i : i + 1].tolist()[0]
    raise refusal(name, f"be {rule}", f"{value!r} in place {i}")
