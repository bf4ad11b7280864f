"""How one column of a table becomes numbers: a class for each kind of column.

A coder is learnt from the cells of a column, names the columns of numbers that it makes,
and has a table of stored fields. Only `ByTarget` looks at what is to be predicted: it is
learnt in two steps (`with_codes`), the second inside the rows that a model learns from.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from numbers import Real
from reprlib import repr as short
from typing import Any, ClassVar, Final, Self

import numpy as np

from peckorder._core.errors import refusal
from peckorder._core.typing import Array, Floats, Ints
from peckorder.feedback import is_missing
from peckorder.storage.fields import Field, FieldType, Table, flag, texts, word
from peckorder.storage.format import Node
from peckorder.tables.columns import RARE
from peckorder.tables.text_cells import DATE_ORDERS, AmountForm, parse_date

_text: Final = FieldType(Node.text)
_numbers: Final = FieldType(lambda node, name: tuple(node.floats(name, None).tolist()), np.array)


def is_number(cell: object) -> bool:
    """Return whether a cell is a number, or true or false."""
    return isinstance(cell, Real | np.bool_ | Decimal)


def as_numbers(name: str, column: Array) -> Floats:
    """Return a column of numbers, NaN where a cell is empty; refuse other text."""
    if column.dtype.kind in "biuf":
        return column.astype(np.float64)
    numbers = np.empty(len(column))
    for row, cell in enumerate(column.tolist()):
        try:
            numbers[row] = np.nan if is_missing(cell) else float(cell)
        except (TypeError, ValueError):
            raise refusal(f"column {name!r}", "be numbers", f"{short(cell)} in row {row}") from None
    return numbers


def as_texts(column: Array) -> list[str | None]:
    """Return cells as text, None where they are empty; 3.0 among numbers is ``3``."""
    if column.dtype.kind in "biu":
        return [str(int(cell)) for cell in column.tolist()]
    if column.dtype.kind == "f":
        return [None if cell != cell else _plain(cell) for cell in column.tolist()]  # noqa: PLR0124
    return [None if is_missing(cell) else str(cell) for cell in column.tolist()]


def _plain(number: float) -> str:
    return str(int(number)) if number.is_integer() else str(number)


@dataclass(frozen=True)
class Coder(ABC):
    """How one column becomes columns of numbers."""

    # The word for it in a model file, and what it stores there.
    kind: ClassVar[str]
    fields: ClassVar[Table] = Table()
    # What cells must be.
    rule: ClassVar[str] = "be text"
    # What an empty cell means; "" where that is NaN.
    gap: ClassVar[str] = ""

    @property
    def unseen(self) -> str:
        """What text means that was not learnt from; "" where that is NaN."""
        return ""

    @property
    def reads_numbers(self) -> bool:
        """Whether cells of a file without types are to be read as numbers."""
        return False

    def names(self, name: str) -> list[str]:
        """Return the names of the columns that are made of a column."""
        return [name]

    @abstractmethod
    def apply(self, name: str, column: Array) -> Floats:
        """Return the columns of numbers, NaN for what is not known."""

    def known(self) -> frozenset[str] | None:
        """Return the texts that were learnt from; None where any cell can be read."""
        return None

    def first_wrong(self, column: Array) -> int | None:
        """Return the first row with a cell that cannot be read."""
        return None


class Number(Coder):
    """Numbers as they are."""

    kind = "number"
    rule = "be numbers"

    @property
    def reads_numbers(self) -> bool:
        """True."""
        return True

    def apply(self, name: str, column: Array) -> Floats:
        """Return the numbers."""
        return as_numbers(name, column)[:, None]

    def first_wrong(self, column: Array) -> int | None:
        """Return the first row with text."""
        cells = column.tolist() if column.dtype == object else ()
        return next((row for row, cell in enumerate(cells) if isinstance(cell, str)), None)


@dataclass(frozen=True)
class LeftOut(Coder):
    """Nothing is made of the column, for the reason `why`."""

    why: str = ""
    kind = "left out"
    fields = Table(Field("why", _text))

    def names(self, name: str) -> list[str]:
        """Return nothing."""
        return []

    def apply(self, name: str, column: Array) -> Floats:
        """Return no columns."""
        return np.empty((len(column), 0))


def _check_levels(node: Node) -> None:
    levels = node.values["levels"] = tuple(node.values["levels"])
    if len(set(levels)) < len(levels):
        raise node.refuse("levels", "texts that differ")


def or_nan(position: Ints) -> Floats:
    """Return positions as numbers, NaN in place of -1."""
    return np.where(position < 0, np.nan, position)


_LEVELS: Final = Field("levels", texts())
_OF_NUMBERS: Final = Field("of_numbers", flag())


@dataclass(frozen=True)
class _Levels(Coder):
    """A column of texts, `levels`, or of numbers that stand for nothing else (`of_numbers`)."""

    levels: tuple[str, ...]
    of_numbers: bool = False

    @property
    def reads_numbers(self) -> bool:
        """Whether there were numbers, of which 7 and 7.0 are one."""
        return self.of_numbers

    def known(self) -> frozenset[str]:
        """Return the levels."""
        return frozenset(self.levels)

    def positions(self, name: str, column: Array, other: int) -> Ints:
        """Return the number of each cell's level; -1 of empty cells, `other` of other text."""
        cells = as_texts(as_numbers(name, column) if self.of_numbers else column)
        number: dict[str | None, int] = {level: k for k, level in enumerate(self.levels)}
        number[None] = -1
        return np.array([number.get(cell, other) for cell in cells], dtype=np.int64)

    def first_wrong(self, column: Array) -> int | None:
        """Return the first row with text, where there were numbers."""
        return Number().first_wrong(column) if self.of_numbers else None


@dataclass(frozen=True)
class OneHot(_Levels):
    """A column of 1 and 0 for each level, and perhaps one for all other text.

    `has_other`: levels of few rows are one, which new text belongs to.
    """

    has_other: bool = False
    kind = "levels"
    gap = "none of its values"
    fields = Table(_LEVELS, _OF_NUMBERS, Field("has_other", flag()), complete=_check_levels)

    @property
    def unseen(self) -> str:
        """What other text counts as."""
        return RARE if self.has_other else "none"

    @property
    def is_plain(self) -> bool:
        """Whether its levels are all there is to it, as in older files."""
        return not (self.has_other or self.of_numbers)

    def names(self, name: str) -> list[str]:
        """Return ``colour=red`` and so on."""
        return [f"{name}={level}" for level in (*self.levels, *["(other)"] * self.has_other)]

    def apply(self, name: str, column: Array) -> Floats:
        """Return 1 where a column has a level."""
        n_levels = len(self.levels)
        position = self.positions(name, column, n_levels)
        width = n_levels + self.has_other
        return np.asarray(position[:, None] == np.arange(width), dtype=np.float64)


@dataclass(frozen=True)
class Category(_Levels):
    """One column: the number of a level, for trees that divide levels into two sets.

    `has_other`: all other text is one level more, the last.
    """

    has_other: bool = False
    kind = "category"
    fields = Table(_LEVELS, _OF_NUMBERS, Field("has_other", flag()), complete=_check_levels)

    @property
    def unseen(self) -> str:
        """What other text counts as."""
        return RARE if self.has_other else ""

    def apply(self, name: str, column: Array) -> Floats:
        """Return numbers of levels; NaN where there is none."""
        other = len(self.levels) if self.has_other else -1
        return or_nan(self.positions(name, column, other))[:, None]


@dataclass(frozen=True)
class Ordered(_Levels):
    """One column: the position of a level in its order, from 0 on."""

    kind = "ordered"
    fields = Table(_LEVELS, _OF_NUMBERS, complete=_check_levels)

    def apply(self, name: str, column: Array) -> Floats:
        """Return positions; NaN where a text is not known."""
        return or_nan(self.positions(name, column, -1))[:, None]


def _check_codes(node: Node) -> None:
    _check_levels(node)
    if len(node.values["codes"]) != len(node.values["levels"]) + 1:
        raise node.refuse("codes", "one for each level, and one for others")


@dataclass(frozen=True)
class ByTarget(_Levels):
    """One column: what is to be predicted, on average over the rows of a level.

    `levels` are texts of several rows; all others are one more level. `codes` are the
    means of levels and of the others, drawn towards the mean of all rows; without codes
    the numbers of levels stand for them.
    """

    codes: tuple[float, ...] | None = None
    kind = "by target"
    fields = Table(_LEVELS, _OF_NUMBERS, Field("codes", _numbers), complete=_check_codes)

    def apply(self, name: str, column: Array) -> Floats:
        """Return codes of levels, or their numbers."""
        return self.code(or_nan(self.positions(name, column, len(self.levels))))[:, None]

    @property
    def unseen(self) -> str:
        """What other text counts as."""
        return RARE

    def code(self, position: Floats) -> Floats:
        """Return the codes of levels by their numbers."""
        if self.codes is None:
            return position
        is_known = ~np.isnan(position)
        found = np.full(len(position), np.nan)
        found[is_known] = np.array(self.codes)[position[is_known].astype(np.int64)]
        return found

    def learn(self, position: Floats, y: Floats) -> Self:
        """Learn codes from rows with the numbers of their levels, those that have a label.

        The mean of n rows is drawn to that of all by ``n b / (n b + w)``, where b and w
        are the variances between and within levels: so much of it is not chance. (The
        encoder of scikit-learn draws by the variance of each level alone, which of one
        row is 0.)
        """
        is_known = ~np.isnan(position) & ~np.isnan(y)
        level, y = position[is_known].astype(np.int64), y[is_known]
        n_levels, mean = len(self.levels) + 1, float(y.mean()) if len(y) else 0.0
        count = np.bincount(level, minlength=n_levels)
        sums = np.bincount(level, y - mean, minlength=n_levels)
        above = sums / np.maximum(count, 1)
        free = len(y) - int((count > 0).sum())
        if free <= 0:  # one row per level says nothing about chance
            return replace(self, codes=(mean,) * n_levels)
        within = float(((y - mean - above[level]) ** 2).sum()) / free
        size = len(y) - float((count.astype(np.float64) ** 2).sum()) / len(y)
        n_others = int((count > 0).sum()) - 1
        explained = float((count * above**2).sum()) - n_others * within
        between = max(explained / size, 0.0) if size > 0 else 0.0
        total = count * between + within
        share = np.divide(count * between, total, out=np.zeros(n_levels), where=total > 0)
        return replace(self, codes=tuple((mean + share * above).tolist()))


@dataclass(frozen=True)
class _Parsed(Coder):
    """A column of text that stands for something else, cell by cell."""

    @abstractmethod
    def parse(self, cell: Any) -> Any:
        """Return what a cell that is not empty stands for; None if for nothing."""

    def values(self, name: str, column: Array, empty: Any) -> list[Any]:
        """Return what cells stand for; refuse one that stands for nothing."""
        row = self.first_wrong(column)
        if row is not None:
            raise refusal(f"column {name!r}", self.rule, f"{short(column[row])} in row {row}")
        found = {cell: self.parse(cell) for cell in set(_cells(column)) - {None}}
        found[None] = empty
        return [found[cell] for cell in _cells(column)]

    def first_wrong(self, column: Array) -> int | None:
        """Return the first row with a cell that stands for nothing."""
        cells = _cells(column)
        wrong = {cell for cell in set(cells) if cell is not None and self.parse(cell) is None}
        return next((row for row, cell in enumerate(cells) if cell in wrong), None)


def _cells(column: Array) -> list[Any]:
    """Return cells, None where they are empty."""
    return [None if is_missing(cell) else cell for cell in column.tolist()]


def _take_form(node: Node) -> None:
    node.values["form"] = AmountForm(node.values.pop("unit"), node.values.pop("has_comma"))


@dataclass(frozen=True)
class Amount(_Parsed):
    """Numbers written as text: ``53.3%``, ``$6,188.62``, ``12 km``."""

    form: AmountForm
    kind = "amount"
    rule = "be numbers, or none"
    fields = Table(
        Field("unit", _text, lambda coder: coder.form.unit),
        Field("has_comma", flag(), lambda coder: coder.form.has_comma),
        complete=_take_form,
    )

    def parse(self, cell: Any) -> float | None:
        """Return the number of a cell."""
        if isinstance(cell, str):
            return self.form.parse(cell)
        return float(cell) if is_number(cell) else None

    def apply(self, name: str, column: Array) -> Floats:
        """Return the numbers."""
        return np.array(self.values(name, column, np.nan), dtype=np.float64).reshape(-1, 1)


PARTS: Final = ("year", "month", "day", "weekday", "hour", "days")
_NOT_A_TIME: Final = np.datetime64("NaT", "s")


def _check_parts(node: Node) -> None:
    parts = node.values["parts"] = tuple(node.values["parts"])
    if not parts or [part for part in PARTS if part in parts] != list(parts):
        raise node.refuse("parts", f"some of {', '.join(PARTS)}")


@dataclass(frozen=True)
class Dates(_Parsed):
    """Columns of the parts of dates: year, month, day, weekday, hour, days since 1970.

    `parts` are those that are not the same in all rows. Monday is 0; days have the time
    as their fraction.
    """

    order: str
    parts: tuple[str, ...] = PARTS
    kind = "dates"
    rule = "be dates"
    fields = Table(
        Field("order", word(*DATE_ORDERS)), Field("parts", texts()), complete=_check_parts
    )

    def names(self, name: str) -> list[str]:
        """Return ``seen.year`` and so on."""
        return [f"{name}.{part}" for part in self.parts]

    def parse(self, cell: Any) -> np.datetime64 | None:
        """Return the date and time of a cell."""
        if isinstance(cell, str):
            return parse_date(cell, self.order)
        if isinstance(cell, datetime):
            return np.datetime64(cell.replace(tzinfo=None), "s")
        return np.datetime64(cell, "s") if isinstance(cell, date) else None

    def apply(self, name: str, column: Array) -> Floats:
        """Return the parts."""
        if column.dtype.kind == "M":
            seconds = column.astype("M8[s]")
        else:
            seconds = np.array(self.values(name, column, _NOT_A_TIME), dtype="M8[s]")
        is_gap = np.isnat(seconds)
        seconds = np.where(is_gap, np.datetime64(0, "s"), seconds)
        day, month = seconds.astype("M8[D]"), seconds.astype("M8[M]")
        numbers: Mapping[str, Ints] = {
            "year": seconds.astype("M8[Y]").astype(np.int64) + 1970,
            "month": month.astype(np.int64) % 12 + 1,
            "day": (day - month.astype("M8[D]")).astype(np.int64) + 1,
            "weekday": (day.astype(np.int64) + 3) % 7,
            "hour": (seconds - day.astype("M8[s]")).astype(np.int64) // 3600,
        }
        X = np.empty((len(column), len(self.parts)))
        for k, part in enumerate(self.parts):
            X[:, k] = seconds.astype(np.int64) / 86400 if part == "days" else numbers[part]
        X[is_gap] = np.nan
        return X
