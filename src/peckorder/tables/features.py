"""From columns of a table to a matrix of numbers, and how to scale it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Self

import numpy as np

from peckorder._core.errors import refusal
from peckorder._core.typing import Array, Floats
from peckorder.tables import column_names as words
from peckorder.tables.columns import Columns, distinct, numeric
from peckorder.tables.preparing import apply_scaling, coded, learn_scaling, one_hot
from peckorder.tables.roles import ColumnRole, Role

MOST_LEVELS: Final = 20
# 2024-1-31, 2024/01/31, 31.1.2024, 1/31/24; a time may follow.
_DATE: Final = re.compile(
    r"(\d{4}([-/.])\d\d?\2\d\d?|\d\d?([-/.])\d\d?\3(\d\d){1,2})([T ]\d\d?:.*)?"
)
# How files of before `TableRanker` name a feature that is scaled.
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
        """Look at columns; leave out what says nothing, or what cannot be coded.

        `whole` is the table of which `columns` are some rows: numbers of rows are told
        there, before rows were left out.

        Examples
        --------
        >>> import numpy as np
        >>> from peckorder.tables.columns import Columns
        >>> from peckorder.tables.features import Coding
        >>> colour = np.array(["red", "blue", None], dtype=object)
        >>> table = Columns({"id": np.arange(3), "colour": colour}, "things.csv")
        >>> coding = Coding.of(table, table.names)
        >>> coding.features
        ('colour=blue', 'colour=red')
        >>> coding.matrix(table).tolist()
        [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]
        """
        features: list[str] = []
        column_roles: list[ColumnRole] = []
        seen: dict[str, tuple[str, ...] | None] = {}
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
                seen[name] = None
                column_roles.append(ColumnRole(name, Role.FEATURE, "numbers"))
            else:
                levels = distinct(array).tolist()
                seen[name] = tuple(levels)
                features.extend(f"{name}={level}" for level in levels)
                why = f"text, a column for each of {len(levels)} values"
                column_roles.append(ColumnRole(name, Role.TEXT_FEATURES, why))
        if not features:
            got = "; ".join(f"{role.column} ({role.why})" for role in column_roles)
            raise refusal(columns.source, "have a column to learn from", got)
        return cls(tuple(features), tuple(column_roles), seen)

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


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """Means and standard deviations of features, learnt on some rows.

    Empty cells become the mean, 0 after scaling.
    """

    mean: Floats
    scale: Floats

    @classmethod
    def learn(cls, X: Floats) -> Self:
        """Learn from rows; what is constant or empty is scaled by 1."""
        return cls(*learn_scaling(X))

    def apply(self, X: Floats) -> Floats:
        """Return scaled rows without gaps."""
        return apply_scaling(X, self.mean, self.scale)


def matrix_of(columns: Columns, features: Sequence[str]) -> Floats:
    """Return the matrix that a model wants, by the names of its features.

    Names are those of columns, of a column and a value, or formulas: files of before
    `TableRanker` keep their scaling in the names of features.

    Examples
    --------
    >>> import numpy as np
    >>> from peckorder.tables.columns import Columns
    >>> from peckorder.tables.features import matrix_of
    >>> table = Columns({"size": np.array([1.0, 3.0, np.nan])}, "things.csv")
    >>> matrix_of(table, ["size", "(size - 2.0) / 0.5"]).tolist()
    [[1.0, -2.0], [3.0, 2.0], [nan, 0.0]]
    """
    X = np.empty((len(columns), len(features)))
    for place, name in enumerate(features):
        formula = None if name in columns.arrays else SCALED.fullmatch(name)
        if formula is None:
            X[:, place] = values_of(columns, name)
        else:
            values = values_of(columns, formula[1])
            one = Scaling(np.array([float(formula[2])]), np.array([float(formula[3])]))
            X[:, place] = one.apply(values[:, None])[:, 0]
    return X


def _useless(name: str, array: Array) -> str:
    """Say why a column cannot be learnt from; nothing if it can."""
    levels = distinct(array)
    n_levels = len(levels)
    usual = words.USER | words.ITEM | words.CODE
    is_code = words.first_named([name], usual) is not None
    why = ""
    if n_levels == 0:
        why = "empty"
    elif n_levels == 1:
        why = "the same value in all rows"
    elif words.carried(name):
        why = words.carried(name)
    elif not numeric(array) and all(map(_DATE.fullmatch, levels)):
        why = "dates, by its values"
    elif is_code and n_levels > MOST_LEVELS:
        why = "an id, by its name"
    elif not numeric(array) and n_levels > MOST_LEVELS:
        why = f"text of {n_levels} different values, more than {MOST_LEVELS}"
        if all(str(v).isdecimal() for v in array.tolist() if v is not None):
            why = f"an id, by zeros before its digits; {n_levels} different ones"
    return why


def _numbers_rows(array: Array) -> bool:
    """Say whether a column counts the rows up or down; some may have been left out."""
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
