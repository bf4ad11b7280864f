"""Preferences: which row should rank above which, as listed pairs or graded rows."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, NoReturn, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from peckorder._core.errors import entry, refusal, unnamed
from peckorder._core.typing import Array, Bools, Floats, Ints, Labels
from peckorder._core.validation import is_number, not_negative, one_of, unmasked
from peckorder.feedback._labels_and_queries import Queries, read_grades, read_only

_KINDS = one_of("unit", "gap", "exponential")
# Row numbers below this multiple of their count are looked up in a table.
_DENSE = 8


class Pairs(NamedTuple):
    """Pairs of rows with weights.

    better (n_pairs,) and worse (n_pairs,) are row numbers; weight (n_pairs,) >= 0.
    """

    better: Ints
    worse: Ints
    weight: Floats


@dataclass(frozen=True, eq=False)
class PairList:
    """Feedback whose pairs are listed, in read-only arrays; size None is 1 for all."""

    pairs: Pairs
    size: Floats | None = None

    @property
    def n_pairs(self) -> int:
        """The number of pairs."""
        return len(self.pairs.better)

    @cached_property
    def total_weight(self) -> float:
        """The sum of all weights."""
        return float(np.sum(self.pairs.weight))

    @property
    def last_row(self) -> int:
        """The largest row number, -1 if there is none."""
        better, worse, _ = self.pairs
        return int(max(better.max(initial=-1), worse.max(initial=-1)))

    def listed(self) -> Pairs:
        """Return the pairs."""
        return self.pairs

    def sizes(self) -> Floats:
        """Return by how much the better row of each pair should score more."""
        return np.ones(self.n_pairs) if self.size is None else self.size

    def ordered(self) -> Self:
        """Drop sizes, and pairs of size 0."""
        if self.size is None:
            return self
        return replace(self, pairs=Pairs(*_kept(self.size > 0, *self.pairs)), size=None)

    def scaled(self, factor: float) -> Self:
        """Multiply all weights."""
        better, worse, weight = self.pairs
        return replace(self, pairs=Pairs(better, worse, read_only(factor * weight)))

    def restricted(self, rows: Ints) -> Self:
        """Renumber rows by their positions in `rows`; drop pairs with other rows."""
        better = positions_in(rows, self.pairs.better)
        worse = positions_in(rows, self.pairs.worse)
        kept = (better >= 0) & (worse >= 0)
        size = None if self.size is None else read_only(self.size[kept])
        pairs = Pairs(*_kept(kept, better, worse, self.pairs.weight))
        return replace(self, pairs=pairs, size=size)


@dataclass(frozen=True, eq=False)
class GradedRows:
    """Feedback whose pairs follow from grades and are not listed; read-only arrays.

    Query q has the rows ``rows[offsets[q] : offsets[q + 1]]``, ascending by grade
    (n_rows,). The weight of a pair is `scale` times 1, g1 - g0 or 2**g1 - 2**g0, if
    `kind` is "unit", "gap" or "exponential".
    """

    rows: Ints
    grade: Floats
    offsets: Ints
    kind: str
    scale: float = 1.0

    @property
    def utility(self) -> Floats:
        """What weights are differences of; the grade for "unit"."""
        return np.exp2(self.grade) if self.kind == "exponential" else self.grade

    @cached_property
    def level_starts(self) -> Ints:
        """The start of each level: a run of equal grades within a query."""
        is_start = np.ones(len(self.rows), dtype=bool)
        is_start[1:] = self.grade[1:] != self.grade[:-1]
        is_start[self.offsets[:-1]] = True
        return np.flatnonzero(is_start)

    @cached_property
    def _query_of_level(self) -> Ints:
        return np.searchsorted(self.offsets, self.level_starts, side="right") - 1

    @property
    def n_flat_queries(self) -> int:
        """The number of queries with a single grade."""
        is_paired = self.n_below > 0
        return len(self.offsets) - 1 - len(np.unique(self._query_of_level[is_paired]))

    @cached_property
    def n_below(self) -> Ints:
        """The number of rows with a lower grade in the query, per level."""
        return self.level_starts - self.offsets[self._query_of_level]

    @property
    def level_sizes(self) -> Ints:
        """The number of rows per level."""
        return np.diff(self.level_starts, append=len(self.rows))

    @cached_property
    def n_pairs(self) -> int:
        """The number of pairs."""
        return int(np.sum(self.level_sizes * self.n_below))

    @cached_property
    def total_weight(self) -> float:
        """The sum of all weights."""
        if self.kind == "unit":
            return self.scale * self.n_pairs
        # The step between two levels is part of the weight of every pair of a row below
        # and a row above it, so the total is a sum of positive numbers.
        step = np.flatnonzero(self.n_below)
        starts = self.level_starts
        utility = self.utility[starts]
        n_above = self.offsets[1:][self._query_of_level[step]] - starts[step]
        n_pairs = self.n_below[step] * n_above
        return self.scale * float(np.sum(n_pairs * (utility[step] - utility[step - 1])))

    @property
    def last_row(self) -> int:
        """The largest row number, -1 if there is none."""
        return int(self.rows.max(initial=-1))

    def listed(self) -> Pairs:
        """List the pairs: O(n_pairs) time and memory."""
        starts = np.repeat(self.offsets[:-1], np.diff(self.offsets))
        better, worse = _with_first_rows(starts, np.repeat(self.n_below, self.level_sizes))
        if self.kind == "unit":
            weight = np.full(len(better), self.scale)
        else:
            weight = self.scale * (self.utility[better] - self.utility[worse])
        return Pairs(self.rows[better], self.rows[worse], weight)

    def sizes(self) -> Floats:
        """Return 1 for each pair: grades have an order only."""
        return np.ones(self.n_pairs)

    def ordered(self) -> Self:
        """Return the same: there are no sizes."""
        return self

    def scaled(self, factor: float) -> Self:
        """Multiply all weights."""
        return replace(self, scale=factor * self.scale)

    def restricted(self, rows: Ints) -> Self:
        """Renumber rows by their positions in `rows`; drop the others."""
        position = positions_in(rows, self.rows)
        kept = position >= 0
        n_before = np.concatenate([[0], np.cumsum(kept)])
        return replace(
            self,
            rows=read_only(position[kept]),
            grade=read_only(self.grade[kept]),
            offsets=read_only(np.unique(n_before[self.offsets])),  # no empty queries
        )


Part: TypeAlias = PairList | GradedRows


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
    def from_grades(cls, y: ArrayLike, qid: ArrayLike | None = None, weight: str = "unit") -> Self:
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
        return cls.of_labels(y, qid, weight)

    @classmethod
    def from_labels(cls, y: ArrayLike, qid: ArrayLike | None = None) -> Self:
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
        label = read_grades(y)
        queries = Queries.of(qid, len(label))
        order = np.lexsort((label, queries.of_rows()))
        # A row is paired with all that stand before it in its query.
        starts = np.repeat(queries.offsets[:-1], queries.sizes)
        better, worse = _with_first_rows(starts, np.arange(len(order)) - starts)
        with np.errstate(over="ignore"):
            size = label[order[better]] - label[order[worse]]
        if not np.isfinite(size).all():
            raise refusal("y", "have finite differences", "an overflow")
        weight = read_only(np.ones(len(better)))
        pairs = Pairs(read_only(order[better]), read_only(order[worse]), weight)
        return cls._of((PairList(pairs, read_only(size)),))

    @classmethod
    @unnamed
    def of_labels(
        cls, y: ArrayLike, qid: ArrayLike | None, weight: str = "unit", n_rows: int | None = None
    ) -> Self:
        """Return the same as `from_grades`, for authors of estimators.

        Parameters
        ----------
        y, qid, weight
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
        grade = read_grades(y, weight)
        if n_rows is not None and len(grade) != n_rows:
            raise refusal("y", f"be one grade per row, {n_rows} in all", len(grade))
        queries = Queries.of(qid, len(grade))
        order = np.lexsort((grade, queries.of_rows()))
        offsets = read_only(queries.offsets.copy())
        part = GradedRows(read_only(order), read_only(grade[order]), offsets, weight)
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
        row_numbers = np.asarray(rows)
        if row_numbers.dtype == bool and row_numbers.ndim == 1:
            last = max(part.last_row for part in self.parts)
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
        return self._of(tuple(part.restricted(kept) for part in self.parts))

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
        last = max(part.last_row for part in self.parts)
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


def _with_first_rows(starts: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Pair each row with rows from its start on, so many of them."""
    better = np.repeat(np.arange(len(counts)), counts)
    worse = np.repeat(starts - np.cumsum(counts) + counts, counts)
    return better, worse + np.arange(len(better))


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


def _kept(kept: Bools, *columns: Array) -> Iterator[Array]:
    """Yield some entries of columns, read-only."""
    return (read_only(column[kept]) for column in columns)


def _refuse_value(name: str, rule: str, values: Labels, i: int) -> NoReturn:
    value = values[i : i + 1].tolist()[0]
    raise refusal(name, f"be {rule}", f"{value!r} in place {i}")


def positions_in(rows: Ints, wanted: Ints) -> Ints:
    """Return the position of each wanted number in `rows`, -1 if it is not there."""
    if len(rows) == 0:
        return np.full(len(wanted), -1)
    last = max(int(rows.max()), int(wanted.max(initial=0)))
    if last < _DENSE * (len(rows) + len(wanted)):
        position = np.full(last + 1, -1)
        position[rows] = np.arange(len(rows))
        return position[wanted]
    order = np.argsort(rows)
    nearest = order[np.searchsorted(rows, wanted, sorter=order).clip(max=len(rows) - 1)]
    return np.where(rows[nearest] == wanted, nearest, -1)
