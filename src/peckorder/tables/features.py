"""From columns of a table to a matrix of numbers, and how to scale it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from reprlib import repr as short
from typing import Final, NamedTuple, Self, TypeAlias

import numpy as np

from peckorder._core import column_names as words
from peckorder._core.errors import refusal
from peckorder._core.typing import Array, Floats
from peckorder.feedback import is_missing
from peckorder.tables.columns import Columns, distinct, numeric
from peckorder.tables.roles import ColumnRole, Role

# Of a column of text its values in order; None of one of numbers.
Levels: TypeAlias = Sequence[Sequence[str] | None]

# Deviations relative to the mean of numbers that differ by their last bits.
_ROUNDING: Final = 4.0 * np.finfo(np.float64).eps


class Scaling(NamedTuple):
    """Means and standard deviations of columns, learnt on some rows."""

    mean: Floats
    scale: Floats

    @classmethod
    def learn(cls, X: Floats) -> Self:
        """Learn from rows; columns that are constant or empty have the scale 1.

        Columns are halved or doubled to below 1 first, so that no square overflows, and
        measured from one of their values, so that little is lost to a large mean.
        """
        if not len(X):
            return cls(np.zeros(X.shape[1]), np.ones(X.shape[1]))
        known = ~np.isnan(X)
        count = np.maximum(known.sum(axis=0), 1)
        _, power = np.frexp(np.abs(X).max(axis=0, initial=0.0, where=known))
        small = np.where(known, np.ldexp(X, -power), 0.0)
        origin = small[known.argmax(axis=0), np.arange(X.shape[1])]
        mean = origin + np.where(known, small - origin, 0.0).sum(axis=0) / count
        spread = np.sqrt((np.where(known, small - mean, 0.0) ** 2).sum(axis=0) / count)
        scale = np.where(spread > _ROUNDING * np.abs(mean), np.ldexp(spread, power), 1.0)
        return cls(np.ldexp(mean, power), scale)

    def apply(self, X: Floats) -> Floats:
        """Return ``(X - mean) / scale``, 0 for gaps, which is the mean."""
        scaled = X - self.mean
        scaled /= self.scale
        scaled[np.isnan(scaled)] = 0.0
        return scaled


def learn_levels(name: str, column: Array) -> tuple[str, ...] | None:
    """Return the values of a column of text, ascending; None of one of numbers."""
    if column.dtype.kind in "biuf":
        return None
    if column.dtype != object:
        raise refusal(f"column {name!r}", "be numbers or text", column.dtype, error=TypeError)
    known = [cell for cell in column.tolist() if not is_missing(cell)]
    if all(isinstance(cell, Real) for cell in known):
        return None
    for cell in known:
        if not isinstance(cell, str | Real):
            # Scikit-learn's words for what no estimator can take.
            raise refusal(
                "argument",
                f"be a string or a number in column {name!r}",
                short(cell),
                error=TypeError,
            )
    return tuple(sorted({str(cell) for cell in known}))


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


def one_hot(column: Array, levels: Sequence[str]) -> Floats:
    """Return, for each of some texts, 1 where a column has it, else 0."""
    position = {level: k for k, level in enumerate(levels)}
    positions = [-1 if is_missing(v) else position.get(str(v), -1) for v in column.tolist()]
    code = np.array(positions, dtype=np.int64)
    return np.asarray(code[:, None] == np.arange(len(levels)), dtype=np.float64)


def coded(names: Sequence[str], columns: Sequence[Array], levels: Levels) -> Floats:
    """Return numbers as they are, and for each value of text a column of 1 and 0."""
    X = np.empty((len(columns[0]) if columns else 0, n_coded(levels)))
    position = 0
    for name, column, values in zip(names, columns, levels, strict=True):
        if values is None:
            X[:, position] = as_numbers(name, column)
            position += 1
        else:
            X[:, position : position + len(values)] = one_hot(column, values)
            position += len(values)
    return X


def n_coded(levels: Levels) -> int:
    """Return how many columns there are when text is coded."""
    return sum(1 if values is None else len(values) for values in levels)


def coded_names(names: Sequence[str], levels: Levels) -> list[str]:
    """Return names of coded columns: ``alcohol``, ``colour=red``."""
    found: list[str] = []
    for name, values in zip(names, levels, strict=True):
        found.extend([name] if values is None else [f"{name}={v}" for v in values])
    return found


MOST_LEVELS: Final = 20
# 2024-1-31, 2024/01/31, 31.1.2024, 1/31/24; a time may follow.
_DATE: Final = re.compile(
    r"(\d{4}([-/.])\d\d?\2\d\d?|\d\d?([-/.])\d\d?\3(\d\d){1,2})([T ]\d\d?:.*)?"
)
# The name of a scaled feature in model files that are older than `TableRanker`.
SCALED: Final = re.compile(r"\((.*) - (\S+)\) / (\S+)", re.DOTALL)


@dataclass(frozen=True, slots=True, eq=False)
class Coding:
    """Which columns are features, and how text becomes numbers.

    `features` are names: of a column, or of a column and a value, ``colour=red``, for
    1.0 where the column has it. `column_roles` has the role of every column; `levels`
    has the columns that are features, with their values if they are text, else None.
    """

    features: tuple[str, ...]
    column_roles: tuple[ColumnRole, ...] = ()
    levels: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)

    @classmethod
    def of(cls, columns: Columns, names: Iterable[str], whole: Columns | None = None) -> Self:
        """Choose features; leave out columns without information, or that cannot be coded.

        `whole` is the table of which `columns` are some rows; in it a column may count
        the rows.
        """
        features: list[str] = []
        column_roles: list[ColumnRole] = []
        levels: dict[str, tuple[str, ...] | None] = {}
        for name in names:
            array = columns.arrays[name]
            why = _useless(name, array)
            if not why and _numbers_rows((whole or columns).arrays[name]):
                why = "the numbers of rows, by its values"
            if why:
                column_roles.append(ColumnRole(name, Role.IGNORED, why))
            elif numeric(array):
                _check_finite(name, array)
                features.append(name)
                levels[name] = None
                column_roles.append(ColumnRole(name, Role.FEATURE, "numbers"))
            else:
                values = tuple(distinct(array).tolist())
                features += coded_names([name], [values])
                levels[name] = values
                why = f"text, a column for each of {len(values)} values"
                column_roles.append(ColumnRole(name, Role.TEXT_FEATURES, why))
        if not features:
            got = "; ".join(f"{role.column} ({role.why})" for role in column_roles)
            raise refusal(columns.source, "have a column to learn from", got)
        return cls(tuple(features), tuple(column_roles), levels)

    def with_roles(self, roles: Iterable[ColumnRole]) -> tuple[ColumnRole, ...]:
        """Return the roles of a table's columns; those of features as coded here."""
        coded_roles = {role.column: role for role in self.column_roles}
        return tuple(coded_roles.get(role.column, role) for role in roles)

    def matrix(self, columns: Columns) -> Floats:
        """Return the features of all rows; NaN where a cell is empty."""
        names = list(self.levels)
        arrays = [columns.arrays[name] for name in names]
        return coded(names, arrays, list(self.levels.values()))


def values_of(columns: Columns, feature: str) -> Floats:
    """Return the values of a feature by its name: a column, or one of its values."""
    if feature in columns.arrays:
        return np.asarray(columns.arrays[feature], dtype=np.float64)
    for at in (m.start() for m in re.finditer("=", feature)):
        name, level = feature[:at], feature[at + 1 :]
        if name in columns.arrays:
            return one_hot(columns.arrays[name], [level])[:, 0]
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


def _useless(name: str, array: Array) -> str:
    """Return why a column cannot be learnt from, empty if it can."""
    levels, is_text = distinct(array), not numeric(array)
    is_many, by_name = len(levels) > MOST_LEVELS, words.carried(name)
    is_id = words.first_named([name], words.USER | words.ITEM | words.CODE) is not None
    reasons = (
        ("empty", len(levels) == 0),
        ("the same value in all rows", len(levels) == 1),
        (by_name, by_name != ""),
        ("dates, by its values", is_text and all(map(_DATE.fullmatch, levels))),
        ("an id, by its name", is_many and is_id),
        (
            f"an id, by zeros before its digits; {len(levels)} different ones",
            is_many and is_text and all(map(str.isdecimal, levels)),
        ),
        (f"text of {len(levels)} different values, more than {MOST_LEVELS}", is_many and is_text),
    )
    return next((why for why, holds in reasons if holds), "")


def _numbers_rows(array: Array) -> bool:
    """Return whether a column counts the rows up or down; some may have been left out."""
    if not numeric(array) or len(array) < 3:
        return False
    steps = np.diff(array.astype(np.float64))
    steps = steps if steps[0] > 0 else -steps
    return bool((steps > 0).all() and (steps == 1).mean() > 0.9)


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
