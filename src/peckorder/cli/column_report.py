"""What columns are for, in few lines."""

from collections.abc import Iterable
from typing import Final

from peckorder.tables.roles import ColumnRole, Role

_MOST_LINES: Final = 4
_MOST_NAMES: Final = 6


def role_lines(column_roles: Iterable[ColumnRole]) -> list[str]:
    """Write a line a column; one for all that are left out for the same reason.

    Features are not listed here.

    Examples
    --------
    >>> from peckorder.cli.column_report import role_lines
    >>> from peckorder.tables.roles import ColumnRole, Role
    >>> same = [ColumnRole(str(k), Role.IGNORED, "empty") for k in range(9)]
    >>> role_lines([ColumnRole("y", Role.TARGET, "its name"), *same])
    ['y: to predict (its name)', '9 columns: left out (empty): 0, 1, 2, 3, 4, 5, ...']
    """
    groups: dict[tuple[Role, str], list[str]] = {}
    for column, role, why in column_roles:
        if not role.is_feature:
            groups.setdefault((role, why), []).append(column)
    lines = []
    for (role, why), columns in groups.items():
        said = f"{role.value} ({why})" if why else role.value
        if len(columns) <= _MOST_LINES:
            lines += [f"{column}: {said}" for column in columns]
        else:
            more = ", ..." if len(columns) > _MOST_NAMES else ""
            names = ", ".join(columns[:_MOST_NAMES]) + more
            lines.append(f"{len(columns)} columns: {said}: {names}")
    return lines
