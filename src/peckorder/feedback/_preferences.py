"""Preferences: which row should stand above which."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike

from peckorder._core.typing import Floats, Ints, Labels
from peckorder._core.validation import not_negative, one_of
from peckorder.exceptions import DataError
from peckorder.feedback._labels import read_grades
from peckorder.feedback._pairs import GradedRows, PairList, Pairs, Part, read_only
from peckorder.feedback._queries import Queries

_WHO = "Preferences"
_KINDS = one_of("unit", "gap", "exponential")


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Preferences:
    """Feedback in the form of pairs: this row should stand above that one.

    The feedback of RankBoost [1]_: a weight Phi(x0, x1) >= 0 for each pair in which
    x1 should be above x0. Pairs may repeat, when their weights add up, and may
    contradict each other. The object never changes.

    Parameters
    ----------
    better : array-like of shape (n_pairs,)
        The row number of the one that should stand above.
    worse : array-like of shape (n_pairs,)
        The row number of the one that should stand below.
    weight : array-like of shape (n_pairs,), default=None
        How much each pair counts, not negative; None for 1 each.

    Attributes
    ----------
    parts : tuple
        What the feedback is the sum of: pairs that are listed, or grades from which
        they follow. For those who write estimators.

    See Also
    --------
    peckorder.model_selection.train_test_split_queries : Restricts preferences too.

    Notes
    -----
    The length of preferences is their number of pairs, not of rows; so
    cross-validation over rows goes through `restrict`.

    Memory is O(n_pairs), but O(n_rows) for preferences made by `from_grades`.

    References
    ----------
    .. [1] Y. Freund, R. Iyer, R. E. Schapire and Y. Singer, "An Efficient Boosting
       Algorithm for Combining Preferences", JMLR 4, 2003.

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
    """

    parts: tuple[Part, ...]

    # Else NumPy would take `np.float64(2) * preferences` for a product of arrays.
    __array_ufunc__ = None

    def __init__(
        self, better: ArrayLike, worse: ArrayLike, weight: ArrayLike | None = None
    ) -> None:
        above, below = _row_numbers("better", better), _row_numbers("worse", worse)
        if len(above) == 0 and len(below) == 0:
            raise DataError(f"{_WHO}: better must be at least one row number; got [].")
        if len(above) != len(below):
            raise DataError(
                f"{_WHO}: worse must be as long as better, {len(above)} in all; got "
                f"{len(below)}."
            )
        if np.any(above == below):
            pair = int(np.argmax(above == below))
            raise DataError(
                f"{_WHO}: worse must be other rows than better; got row {above[pair]} "
                f"for both in pair {pair}."
            )
        part = PairList(Pairs(above, below, _weights(weight, len(above))))
        object.__setattr__(self, "parts", _checked((part,), "weight"))

    @classmethod
    def from_grades(
        cls, y: ArrayLike, qid: ArrayLike | None = None, weight: str = "unit"
    ) -> Self:
        """Prefer every row to those of its query that have a lower grade.

        A pair of rows with the grades g1 > g0 weighs 1, g1 - g0 or 2**g1 - 2**g0.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            The grades: real numbers, larger is better, or an ordered categorical,
            whose categories count as 0, 1, ... from the lowest.
        qid : array-like of shape (n_rows,), default=None
            The query of each row, of any type and in any order; rows of different
            queries make no pair. None stands for one query of all rows.
        weight : {"unit", "gap", "exponential"}, default="unit"
            Whether a pair weighs 1, g1 - g0 or 2**g1 - 2**g0; the last is for grades
            that are integers from 0 on.

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
        return cls.of_labels(_WHO, y, qid, weight)

    @classmethod
    def of_labels(
        cls,
        who: str,
        y: Any,
        qid: Any,
        weight: str = "unit",
        n_rows: int | None = None,
    ) -> Self:
        """Do as `from_grades`, refusing labels in the name of `who`.

        Parameters
        ----------
        who : str
            The estimator that speaks.
        y, qid, weight
            As in `from_grades`.
        n_rows : int or None, default=None
            How many labels there must be, if it is known.

        Returns
        -------
        preferences : Preferences
            In the form that does not list the pairs.

        Examples
        --------
        >>> from peckorder import Preferences
        >>> Preferences.of_labels("RankBoost", [1, 0], None).n_pairs
        1
        """
        _KINDS.check(who, "weight", weight)
        grade = read_grades(who, y, weight)
        if n_rows is not None and len(grade) != n_rows:
            raise DataError(
                f"{who}: y must be one grade a row, {n_rows} in all; got {len(grade)}."
            )
        queries = Queries.of(who, qid, len(grade))
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
        return f"{_WHO}(n_pairs={self.n_pairs}, total_weight={self.total_weight!r})"

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

    def restrict(self, rows: ArrayLike) -> Self:
        """Keep the pairs among some rows, as feedback on those rows alone.

        If the preferences are about the rows of X, the result is about those of
        ``X[rows]``: row ``rows[i]`` becomes row i, and pairs with an end that is not
        in `rows` are left out. Nothing may be left.

        Parameters
        ----------
        rows : array-like of int or bool
            Distinct row numbers, or a mask.

        Returns
        -------
        preferences : Preferences
            In the form they had, listed or not. Takes O(n log(len(rows))) time, n
            being the pairs listed or the rows graded.

        Examples
        --------
        >>> from peckorder import Preferences
        >>> Preferences([0, 3], [1, 1]).restrict([3, 2, 1]).pairs().better.tolist()
        [0]
        """
        chosen = np.asarray(rows)
        if chosen.dtype == bool and chosen.ndim == 1:
            last = max(part.last_row for part in self.parts)
            if last >= len(chosen):
                raise DataError(
                    f"{_WHO}: rows must be a mask of all rows, {last + 1} at least; "
                    f"got {len(chosen)}."
                )
            chosen = np.flatnonzero(chosen)
        chosen = _row_numbers("rows", chosen)
        ascending = np.sort(chosen)
        is_repeated = ascending[1:] == ascending[:-1]
        if is_repeated.any():
            row = ascending[int(np.argmax(is_repeated))]
            raise DataError(f"{_WHO}: rows must be distinct; got row {row} twice.")
        return self._of(tuple(part.restricted(chosen) for part in self.parts))

    def check_rows(self, who: str, n_rows: int) -> None:
        """Refuse, in the name of `who`, what cannot be learnt from `n_rows` rows.

        Parameters
        ----------
        who : str
            The estimator that speaks.
        n_rows : int
            The number of rows of its X.

        Raises
        ------
        DataError
            If a row number is too large, or no pair has a weight.

        Examples
        --------
        >>> from peckorder import Preferences
        >>> Preferences([0], [4]).check_rows("RankBoost", n_rows=5)
        """
        last = max(part.last_row for part in self.parts)
        if last >= n_rows:
            raise DataError(
                f"{who}: y must be preferences among the {n_rows} rows of X; got row "
                f"{last}."
            )
        if not self.total_weight > 0:
            what = "weights of zero only" if self.n_pairs else "no pair at all"
            raise DataError(
                f"{who}: y must be at least one pair with a weight > 0; got {what}."
            )

    def __add__(self, other: object) -> Self:
        if not isinstance(other, Preferences):
            return NotImplemented
        return self._of(_checked(self.parts + other.parts, "a sum"))

    def __radd__(self, other: object) -> Self:
        # What sum() begins with.
        return self if type(other) is int and other == 0 else NotImplemented

    def __mul__(self, factor: object) -> Self:
        if type(factor) is bool or not isinstance(factor, Real):
            return NotImplemented
        not_negative.check(_WHO, "a factor", factor)
        with np.errstate(over="ignore"):
            parts = tuple(part.scaled(float(factor)) for part in self.parts)
        return self._of(_checked(parts, "a factor"))

    __rmul__ = __mul__


def _checked(parts: tuple[Part, ...], what: str) -> tuple[Part, ...]:
    """Return the parts; refuse weights too large to be added up."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = sum(part.total_weight for part in parts)
    if not np.isfinite(total):
        raise DataError(
            f"{_WHO}: {what} must be small enough for a finite sum of weights; got an "
            "overflow."
        )
    return parts


def _row_numbers(name: str, values: Any) -> Ints:
    """Return a read-only copy of row numbers."""
    numbers = np.asarray(values)
    if numbers.ndim != 1:
        raise DataError(
            f"{_WHO}: {name} must be one-dimensional; got an array of shape "
            f"{numbers.shape}."
        )
    if numbers.size and numbers.dtype.kind not in "iu":
        _refuse_value(name, "row numbers, integers >= 0", numbers, 0)
    is_row = (numbers >= 0) & (numbers <= np.iinfo(np.int64).max)
    if not is_row.all():
        place = int(np.argmin(is_row))
        _refuse_value(name, "row numbers, integers >= 0", numbers, place)
    return read_only(numbers.astype(np.int64))  # type: ignore[no-any-return]


def _weights(values: Any, n_pairs: int) -> Floats:
    """Return a read-only copy of the weights of pairs."""
    if values is None:
        return read_only(np.ones(n_pairs))  # type: ignore[no-any-return]
    numbers = np.asarray(values)
    if numbers.shape != (n_pairs,):
        raise DataError(
            f"{_WHO}: weight must be one number a pair, {n_pairs} in all; got an array "
            f"of shape {numbers.shape}."
        )
    if numbers.dtype.kind not in "biuf":
        _refuse_value("weight", "finite numbers >= 0", numbers, 0)
    is_weight = np.isfinite(numbers) & (numbers >= 0)
    if not is_weight.all():
        _refuse_value("weight", "finite numbers >= 0", numbers, int(is_weight.argmin()))
    return read_only(numbers.astype(np.float64))  # type: ignore[no-any-return]


def _refuse_value(name: str, rule: str, values: Labels, place: int) -> NoReturn:
    value = values[place : place + 1].tolist()[0]
    raise DataError(f"{_WHO}: {name} must be {rule}; got {value!r} in place {place}.")
