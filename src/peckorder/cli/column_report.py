"""What columns were taken for, in few lines."""

from collections.abc import Iterable
from typing import Final

from peckorder.tables.task import Taken

_MOST_LINES: Final = 4
_MOST_NAMES: Final = 6


def taken_lines(taken: Iterable[Taken]) -> list[str]:
    """Write a line a column; one for all that are left out for the same reason.

    Features are not listed here.

    Examples
    --------
    >>> from peckorder.cli.column_report import taken_lines
    >>> from peckorder.tables.task import Taken
    >>> same = [Taken(str(k), "left out", "empty") for k in range(9)]
    >>> taken_lines([Taken("y", "to predict", "its name"), *same])
    ['y: to predict (its name)', '9 columns: left out (empty): 0, 1, 2, 3, 4, 5, ...']
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for column, role, why in taken:
        if not role.startswith("feature"):
            groups.setdefault((role, why), []).append(column)
    lines = []
    for (role, why), columns in groups.items():
        said = f"{role} ({why})" if why else role
        if len(columns) <= _MOST_LINES:
            lines += [f"{column}: {said}" for column in columns]
        else:
            more = ", ..." if len(columns) > _MOST_NAMES else ""
            names = ", ".join(columns[:_MOST_NAMES]) + more
            lines.append(f"{len(columns)} columns: {said}: {names}")
    return lines
