"""From columns of a table to a matrix of numbers: which coder each column gets, and scaling."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from reprlib import repr as short
from typing import Any, Final, NamedTuple, Self

import numpy as np

from peckorder._core import column_names as words
from peckorder._core.cells import MARKS
from peckorder._core.errors import refusal
from peckorder._core.typing import Array, Floats
from peckorder.feedback import is_missing
from peckorder.tables.coded_columns import Coders, coded, coded_names, with_codes
from peckorder.tables.coders import (
    PARTS,
    Amount,
    ByTarget,
    Coder,
    Dates,
    LeftOut,
    Number,
    OneHot,
    Ordered,
    as_numbers,
    as_texts,
    is_number,
)
from peckorder.tables.columns import Columns, check_column, numbers_rows, split_names
from peckorder.tables.roles import ColumnRole, Role
from peckorder.tables.scaling import Scaling
from peckorder.tables.text_cells import AmountForm, DateForm, order_of_words

# More different texts are coded by the target, in one column.
MOST_LEVELS: Final = 20
# Of fewer rows, and of a smaller share of rows, levels are put together.
_FEW_ROWS: Final = 10
_FEW_SHARE: Final = 50
# The name of a scaled feature in model files that are older than `TableRanker`.
SCALED: Final = re.compile(r"\((.*) - (\S+)\) / (\S+)", re.DOTALL)


@dataclass(frozen=True, slots=True, eq=False)
class Coding:
    """Which columns are features, and how they become numbers.

    `coders` has the columns that are features, in their order; `column_roles` the role
    of every column; `notes` are sentences about what was guessed.
    """

    coders: Coders
    column_roles: tuple[ColumnRole, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        columns: Columns,
        names: Iterable[str],
        whole: Columns | None = None,
        *,
        category: Iterable[str] = (),
        keep: Iterable[str] = (),
        by_values: bool = True,
    ) -> Self:
        """Choose features; leave out columns without information, or that cannot be coded.

        `whole` is the table of which `columns` are some rows; in it a column may count
        the rows. `category` are columns of unordered text, also if they are numbers;
        `keep` are columns that no rule leaves out. Not `by_values`: columns of numbers
        are left out by their names alone.
        """
        names = tuple(names)
        categories = _features("category", category, columns, names)
        kept = _features("keep", keep, columns, names)
        coders: dict[str, Coder] = {}
        column_roles: list[ColumnRole] = []
        notes: list[str] = []
        for name in names:
            column = _Column(
                name,
                columns.arrays[name],
                whole=(whole or columns).arrays[name],
                order=columns.orders.get(name),
                is_kept=name in kept,
                is_category=name in categories,
                by_values=by_values,
            )
            coder, why, note = next(filter(None, (rule(column) for rule in _RULES)))
            notes += filter(None, (note, _note_of_marks(column, coder)))
            role = Role.FEATURE if type(coder) is Number else Role.TEXT_FEATURES
            if isinstance(coder, LeftOut):
                role = Role.IGNORED
            else:
                coders[name] = coder
            if type(coder) is Number and by_values:
                _check_finite(name, columns.arrays[name])
            column_roles.append(ColumnRole(name, role, why))
        if not coders:
            got = "; ".join(f"{role.column} ({role.why})" for role in column_roles)
            raise refusal(columns.source, "have a column to learn from", got)
        return cls(coders, tuple(column_roles), tuple(notes))

    @property
    def features(self) -> tuple[str, ...]:
        """The names of columns of numbers: ``alcohol``, ``colour=red``."""
        return tuple(coded_names(self.coders))

    def with_roles(self, roles: Iterable[ColumnRole]) -> tuple[ColumnRole, ...]:
        """Return the roles of a table's columns; those of features as coded here."""
        coded_roles = {role.column: role for role in self.column_roles}
        return tuple(coded_roles.get(role.column, role) for role in roles)

    def matrix(self, columns: Columns) -> Floats:
        """Return the features of all rows; NaN where a cell is empty.

        Columns that are coded by the target, of which no codes are learnt yet, have the
        numbers of levels.
        """
        return coded(self.coders, columns.arrays, len(columns))

    def with_codes(
        self, X: Floats, y: Floats, qid: Array | None = None, groups: Array | None = None
    ) -> tuple[Self, Floats]:
        """Learn codes from rows, which are returned with codes from other rows."""
        coders, X = with_codes(self.coders, X, y, qid, groups)
        return replace(self, coders=coders), X


def _features(
    what: str, given: Iterable[str], columns: Columns, names: Collection[str]
) -> frozenset[str]:
    """Return columns that are given; refuse those that are no features."""
    found = frozenset(split_names(given, columns.names))
    for name in sorted(found):
        check_column(columns, what, name)
        if name not in names:
            raise refusal(what, "name columns to learn from", f"{name!r}, which has another role")
    return found


class _Choice(NamedTuple):
    """The coder of a column, the reason for it, and what users should know of it."""

    coder: Coder
    why: str
    note: str = ""


@dataclass(frozen=True, eq=False)
class _Column:
    """A column for which a coder is to be chosen; `whole` has the rows that were left out."""

    name: str
    array: Array
    whole: Array
    order: tuple[str, ...] | None
    is_kept: bool
    is_category: bool
    by_values: bool

    @cached_property
    def known(self) -> list[Any]:
        """The cells of a column of objects that are not empty."""
        cells = self.array.tolist() if self.array.dtype == object else ()
        return [cell for cell in cells if not is_missing(cell)]

    @cached_property
    def are_numbers(self) -> bool:
        """Whether all cells are numbers."""
        return self.array.dtype.kind in "biuf" or (
            self.array.dtype == object and all(map(is_number, self.known))
        )

    @cached_property
    def are_dates(self) -> bool:
        """Whether all cells are dates, not text."""
        return self.array.dtype.kind == "M" or (
            len(self.known) > 0 and all(isinstance(cell, date) for cell in self.known)
        )

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each text comes; numbers as text."""
        if not self.are_numbers:
            _check_text(self.name, self.array, self.known)
        array = as_numbers(self.name, self.array) if self.are_numbers else self.array
        return Counter(text for text in as_texts(array) if text is not None)

    @cached_property
    def n_values(self) -> int:
        """How many values differ."""
        array = self.array
        if array.dtype == object:
            return len(set(self.known) if self.are_numbers or self.are_dates else self.counts)
        return len(np.unique(array[array == array]))  # noqa: PLR0124

    @property
    def is_many(self) -> bool:
        """Whether more values differ than are a column each."""
        return self.n_values > MOST_LEVELS and not self.is_kept

    @property
    def is_id(self) -> bool:
        """Whether there are many values, none of them a fraction, and the name is that of ids."""
        # Numbers that are called q are measurements as well.
        queries = words.QUERY - {"q"} if self.are_numbers else words.QUERY
        usual = words.USER | words.ITEM | words.CODE | queries
        if words.first_named([self.name], usual) is None or not self.is_many:
            return False
        numbers = as_numbers(self.name, self.array) if self.are_numbers else np.empty(0)
        numbers = numbers[np.isfinite(numbers)]
        return bool((numbers == np.floor(numbers)).all())

    @property
    def left_out(self) -> str:
        """Why the name is that of no feature; empty if it may be."""
        return "" if self.is_kept or self.is_category else words.carried(self.name)


def _check_text(name: str, array: Array, known: Iterable[object]) -> None:
    if array.dtype != object:
        raise refusal(f"column {name!r}", "be numbers or text", array.dtype, error=TypeError)
    for cell in known:
        if not isinstance(cell, str) and not is_number(cell):
            # Scikit-learn's words for what no estimator can take.
            raise refusal(
                "argument",
                f"be a string or a number in column {name!r}",
                short(cell),
                error=TypeError,
            )


def _note_of_marks(column: _Column, coder: Coder) -> str:
    """Return whether cells such as NA or ? are gaps of a column of text, or values of it."""
    if isinstance(coder, LeftOut | Number) or column.are_numbers or column.are_dates:
        return ""
    count = {text: n for text, n in column.counts.items() if text.strip() in MARKS}
    known = coder.known()
    if not count:
        return ""
    which, n = ", ".join(map(repr, count)), sum(count.values())
    times = "1 time" if n == 1 else f"{n} times"
    if known is None or (isinstance(coder, Ordered) and known.isdisjoint(count)):
        return f"{column.name}: {which} was taken for an empty cell, {times}."
    hint = "leave cells empty where none is known"
    return f"{column.name}: {which} was taken for a value, {times}; {hint}."


def _left_out(why: str) -> _Choice:
    return _Choice(LeftOut(why), why)


def _if_it_says_nothing(column: _Column) -> _Choice | None:
    if column.is_kept or not column.by_values:
        return None
    if column.n_values < 2:
        return _left_out("the same value in all rows" if column.n_values else "empty")
    if numbers_rows(column.whole) and not column.left_out:
        return _left_out("the numbers of rows, by its values")
    return None


def _if_category(column: _Column) -> _Choice | None:
    if not column.is_category:
        return None
    of_numbers = column.are_numbers
    return _as_levels(column.counts, len(column.array), of_numbers=of_numbers, is_kept=True)


def _if_ordered(column: _Column) -> _Choice | None:
    if column.order is None:
        return None
    coder = Ordered(column.order, of_numbers=column.are_numbers)
    return _Choice(coder, f"ordered, {_shown(column.order)}, as in the table")


def _if_numbers(column: _Column) -> _Choice | None:
    if not column.are_numbers:
        return None
    if column.left_out:
        return _left_out(column.left_out)
    if column.is_id:
        return _left_out("an id, by its name")
    return _Choice(Number(), "numbers")


def _if_dates(column: _Column) -> _Choice | None:
    """Choose the parts of dates that differ; dates may be called so."""
    if column.are_dates:
        form: DateForm | None = DateForm("ymd")
    elif column.left_out and not words.is_time(column.name):
        form = None
    else:
        form = DateForm.of(column.counts)
    if form is None:
        return None
    X = Dates(form.order).apply(column.name, column.array)
    is_known = ~np.isnan(X[:, 0])
    differ = [part for k, part in enumerate(PARTS) if len(np.unique(X[is_known, k])) > 1]
    parts, note = tuple(differ) or PARTS[-1:], ""
    if not form.is_sure:
        which = "day" if form.order == "dmy" else "month"
        note = f"{column.name}: dates, of which the first number was taken for the {which}."
    return _Choice(Dates(form.order, parts), f"dates, as {', '.join(parts)}", note)


def _if_id(column: _Column) -> _Choice | None:
    if column.left_out:
        return _left_out(column.left_out)
    if column.is_id:
        return _left_out("an id, by its name")
    are_digits = column.is_many and all(re.fullmatch("[0-9]+", text) for text in column.counts)
    if are_digits and any(text.startswith("0") and len(text) > 1 for text in column.counts):
        n_texts = len(column.counts)
        return _left_out(f"an id, by zeros before its digits; {n_texts} different ones")
    return None


def _if_amounts(column: _Column) -> _Choice | None:
    form = AmountForm.of(column.counts)
    if form is None:
        return None
    unit = f", in {form.unit}" if form.unit else ""
    return _Choice(Amount(form), f"numbers written as text{unit}")


def _if_words_of_a_scale(column: _Column) -> _Choice | None:
    words_alone = [text for text in column.counts if text.strip() not in MARKS]
    ordered = order_of_words(column.counts) or order_of_words(words_alone)
    if ordered is None:
        return None
    shown, name = _shown(ordered), column.name
    note = f"{name}: ordered, {shown}, by its words (--category {name!r} if it is not)."
    return _Choice(Ordered(ordered), f"ordered, {shown}, by its words", note)


def _text(column: _Column) -> _Choice:
    n_rows = len(column.array)
    return _as_levels(column.counts, n_rows, of_numbers=False, is_kept=column.is_kept)


# The first that returns a coder has chosen.
_RULES: Final[tuple[Callable[[_Column], _Choice | None], ...]] = (
    _if_it_says_nothing,
    _if_category,
    _if_ordered,
    _if_numbers,
    _if_dates,
    _if_id,
    _if_amounts,
    _if_words_of_a_scale,
    _text,
)


def _shown(levels: Sequence[str]) -> str:
    few = [*levels[:3], "...", levels[-1]] if len(levels) > 7 else levels
    return " < ".join(few)


def _as_levels(
    counts: Mapping[str, int], n_rows: int, *, of_numbers: bool, is_kept: bool
) -> _Choice:
    """Return a column for each text, or one for all of many texts."""
    n_texts = len(counts)
    if n_texts <= MOST_LEVELS:
        fewest = min(_FEW_ROWS, n_rows // _FEW_SHARE)
        levels = tuple(sorted(text for text, n in counts.items() if n >= fewest))
        n_rare = n_texts - len(levels)
        why = f"text, a column for each of {len(levels)} values"
        if n_rare:
            why += f", one for {n_rare} rare ones"
        return _Choice(OneHot(levels, of_numbers, has_other=n_rare > 0), why)
    levels = tuple(sorted(text for text, n in counts.items() if n > 1))
    if not is_kept and 2 * sum(counts[level] for level in levels) < n_rows:
        why = f"text of {n_texts} different values, most of which come once"
        return _Choice(LeftOut(why), why)
    why = f"text of {n_texts} different values, each as the mean target of other rows with it"
    return _Choice(ByTarget(levels, of_numbers), why)


def values_of(columns: Columns, feature: str) -> Floats:
    """Return the values of a feature by its name: a column, or one of its values."""
    if feature in columns.arrays:
        return np.asarray(columns.arrays[feature], dtype=np.float64)
    for at in (m.start() for m in re.finditer("=", feature)):
        name, level = feature[:at], feature[at + 1 :]
        if name in columns.arrays:
            return OneHot((level,)).apply(name, columns.arrays[name])[:, 0]
    raise refusal(columns.source, "have what the model learnt from", f"no column for {feature!r}")


def matrix_of(columns: Columns, features: Sequence[str]) -> Floats:
    """Return the matrix that a model wants, by the names of its features.

    Names are those of columns, of a column and a value, or formulas: model files that
    are older than `TableRanker` have their scaling in the names of features.
    """
    X = np.empty((len(columns), len(features)))
    for position, name in enumerate(features):
        formula = None if name in columns.arrays else SCALED.fullmatch(name)
        if formula is None:
            X[:, position] = values_of(columns, name)
        else:
            scaling = Scaling(np.array(float(formula[2])), np.array(float(formula[3])))
            X[:, position] = scaling.apply(values_of(columns, formula[1]))
    return X


def _check_finite(name: str, array: Array) -> None:
    is_infinite = np.isinf(array.astype(np.float64))
    if is_infinite.any():
        row = int(np.argmax(is_infinite))
        raise refusal(
            f"column {name!r}",
            "be finite",
            f"{array[row]} in row {row + 1}",
            hint=f"Leave it out with --drop {name!r}.",
        )
