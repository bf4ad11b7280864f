"""What commands print: text for people on a terminal, JSON for programs."""

import json as text
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from typing import Any, Final, TypeAlias

import numpy as np
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table as Screen

from peckorder._core.errors import refusal
from peckorder.cli.options import OutputOptions
from peckorder.tables.files.standard_streams import is_standard
from peckorder.tables.roles import ColumnRole, Role

_MOST_LINES: Final = 4
_MOST_NAMES: Final = 6

# Takes (steps done, steps in all, what comes next).
ReportProgress: TypeAlias = Callable[..., None]


class ResultPrinter:
    """Prints a result in the one form that the options ask for.

    Where a table goes to standard output, text goes to standard error.
    """

    def __init__(self, output: OutputOptions, out: object = None) -> None:
        is_piped = is_standard(out)
        if output.json and is_piped:
            raise refusal("--json", "not be given where rows go to standard output", "--out -")
        self._json = output.json
        is_silent = output.quiet or output.json
        self.console = Console(quiet=is_silent, stderr=is_piped, soft_wrap=True)
        self._bars = Console(stderr=True)
        self._shows_bars = self._bars.is_terminal and not output.quiet
        self._notes: list[str] = []
        if output.json:
            warnings.showwarning = self._keep_warning  # type: ignore[assignment]
        elif output.quiet:
            warnings.simplefilter("ignore", UserWarning)

    def _keep_warning(self, message: object, *details: object) -> None:
        """Keep a warning for the result, where programs look for it."""
        self._notes.append(str(message))

    def emit(self, result: Mapping[str, object], *shown: RenderableType) -> None:
        """Print a result: all of it as JSON, or what people want to see of it."""
        if self._json:
            if self._notes:
                own: Any = result.get("notes", ())
                notes = [*own, *dict.fromkeys(self._notes)]
                result = {**result, "notes": notes}
            sys.stdout.write(text.dumps(as_plain(result), ensure_ascii=False) + "\n")
        for renderable in shown:
            self.console.print(renderable, highlight=False, markup=False)

    @contextmanager
    def progress(self, label: str) -> Iterator[ReportProgress]:
        """Show a progress bar, to people only; yields a function to report to."""
        if not self._shows_bars:
            # A bar that is switched off leaves an empty line, before rich 15.
            yield lambda done, total=None, label="": None
            return
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self._bars, transient=True) as bar:
            task = bar.add_task(label, total=None)

            def report_progress(done: int, total: int | None = None, label: str = label) -> None:
                bar.update(task, completed=done, total=total, description=label)

            yield report_progress


def role_lines(column_roles: Iterable[ColumnRole]) -> list[str]:
    """Describe the roles of columns, in one line for all left out for one reason.

    Features are not listed here.

    Examples
    --------
    >>> from peckorder.cli.console import role_lines
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
        description = f"{role.value} ({why})" if why else role.value
        if len(columns) <= _MOST_LINES:
            lines += [f"{column}: {description}" for column in columns]
        else:
            more = ", ..." if len(columns) > _MOST_NAMES else ""
            names = ", ".join(columns[:_MOST_NAMES]) + more
            lines.append(f"{len(columns)} columns: {description}: {names}")
    return lines


def roles_as_json(column_roles: Iterable[ColumnRole]) -> dict[str, list[str]]:
    """Return the roles of columns, and why they have them, for programs."""
    return {role.column: [role.role.value, role.why] for role in column_roles}


def as_plain(value: object) -> Any:
    """Return a value as JSON has it; what is not finite is null."""
    if isinstance(value, Mapping):
        return {str(key): as_plain(cell) for key, cell in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [as_plain(cell) for cell in value]
    if isinstance(value, np.generic):
        return as_plain(value.item())
    if isinstance(value, float) and not isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


def screen(title: str, headings: tuple[str, ...], rows: Iterable[Iterable[str | float]]) -> Screen:
    """Return a table for the terminal; the first column is text, others numbers."""
    table = Screen(title=title, title_justify="left", title_style="bold")
    for k, heading in enumerate(headings):
        table.add_column(heading, justify="right" if k else "left")
    for row in rows:
        table.add_row(*(c if isinstance(c, str) else number(c) for c in row))
    return table


def number(value: float) -> str:
    """Write a number as a table has it."""
    if isinstance(value, int):
        return str(value)
    return f"{value:.4f}" if isfinite(value) else "\N{EN DASH}"
