"""Which column is what: as one says, or by the usual names."""

from collections.abc import Iterable
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from peckorder._core.typing import Floats
from peckorder.exceptions import DataError
from peckorder.feedback import is_missing
from peckorder.tables.columns import Columns, check_column, listed
from peckorder.tables.files.source import short
from peckorder.tables.task import is_empty


@overload
def column_of(
    who: str, columns: Columns, what: str, given: str | None, usual: Iterable[str]
) -> str: ...
@overload
def column_of(
    who: str,
    columns: Columns,
    what: str,
    given: str | None,
    usual: Iterable[str],
    *,
    optional: bool,
) -> str | None: ...
def column_of(
    who: str,
    columns: Columns,
    what: str,
    given: str | None,
    usual: Iterable[str],
    *,
    optional: bool = False,
) -> str | None:
    """Return the column that was named, or the first that has a usual name."""
    if given is not None:
        check_column(who, columns, what, given)
        return given
    small = {name.lower(): name for name in reversed(columns.names)}
    for word in usual:
        if word in small:
            return small[word]
    if optional:
        return None
    raise DataError(
        f"{who}: {columns.source} must have a column of the {what}, which has "
        f"{listed(columns.names)}; got none by its usual names. Add --{what} NAME."
    )


def numbers_of(who: str, columns: Columns, name: str, *, gaps: bool = False) -> Floats:
    """Return a column of numbers; refuse text, and gaps unless asked; name the row."""
    column = columns.arrays[name]
    found = column if column.dtype.kind in "iuf" else _parsed(column)
    is_bad = np.isnan(found)
    if gaps:
        is_bad &= ~is_empty(column)
    if is_bad.any():
        row = int(np.argmax(is_bad))
        cell = column[row]
        got = "an empty cell" if is_missing(cell) else short(cell)
        raise DataError(
            f"{who}: column {short(name)} of {columns.source} must be numbers; got "
            f"{got} in row {row + 1}."
        )
    return np.asarray(found, dtype=np.float64)


def _parsed(column: NDArray[Any]) -> Floats:
    """Return the numbers that text stands for; NaN for other text."""
    return np.array([_number(cell) for cell in column.tolist()], dtype=np.float64)


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return float("nan")
