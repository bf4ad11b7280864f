"""What commands print, for people and for programs."""

import json as text
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from textwrap import fill
from time import perf_counter
from typing import Any, Final, TypeAlias

from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table as Screen

from peckorder._core.text_files import as_json
from peckorder.cli.options import OutputOptions
from peckorder.tables.columns import RARE, Columns, counted, is_empty, short
from peckorder.tables.files.standard_streams import is_standard
from peckorder.tables.roles import ColumnRole, Role

_MOST_LINES: Final = 4
_MOST_NAMES: Final = 6
_UNSAFE: Final = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]"
)
_ANY_WIDTH: Final = 10_000
# Names in the first column of a table are divided if they are longer.
_MOST_NAME: Final = 30
# Columns whose gaps are noted one by one.
_MOST_GAPS: Final = 5

# Takes (steps done, steps in all, what comes next).
ReportProgress: TypeAlias = Callable[..., None]


class ResultPrinter:
    """Prints a result in the one form that the options ask for.

    Where a table goes to standard output, text goes to standard error.
    """

    def __init__(self, output: OutputOptions, out: object = None) -> None:
        is_piped = is_standard(out)
        self._json = output.json
        is_silent = output.quiet or output.json
        self.console = Console(quiet=is_silent, stderr=is_piped, soft_wrap=True)
        if not self.console.is_terminal and "COLUMNS" not in os.environ:
            self.console.width = _ANY_WIDTH
        self._bars = Console(stderr=True)
        self._shows_bars = self._bars.is_terminal and not output.quiet
        self._shows_lines = output.verbose and not output.quiet and not self._shows_bars
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
            line = text.dumps(as_json(result), ensure_ascii=False)
            sys.stdout.write(_UNSAFE.sub(lambda mark: f"\\u{ord(mark[0]):04x}", line) + "\n")
        for part in shown:
            self.show(part)

    def show(self, part: RenderableType) -> None:
        """Print text, or a table as wide as the terminal; files and pipes take any width."""
        if isinstance(part, Screen):
            left_out = narrowed(part, self.console)
            self.console.print(part, highlight=False, markup=False)
            if not left_out:
                return
            names = ", ".join(left_out)
            part = f"The terminal is too narrow for {names}; see --json."
        text_part = printable(part) if isinstance(part, str) else part
        self.console.print(text_part, highlight=False, markup=False)

    @contextmanager
    def progress(self, label: str) -> Iterator[ReportProgress]:
        """Show a progress bar, to people only; yields a function to report to.

        Where no terminal is, there are lines if the options ask for them.
        """
        if self._shows_lines:
            report_lines = _Lines(self._bars)
            report_lines(0, None, label)
            yield report_lines
            return
        if not self._shows_bars:
            # A bar that is switched off leaves an empty line, before rich 15.
            yield lambda done, total=None, label="": None
            return
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        # What is printed meanwhile goes above the bar, but not what goes into a file.
        in_one = self.console.is_terminal
        with Progress(*columns, console=self._bars, transient=True, redirect_stdout=in_one) as bar:
            task = bar.add_task(label, total=None)

            def report_progress(done: int, total: int | None = None, label: str = label) -> None:
                bar.update(task, completed=done, total=total, description=printable(label))

            yield report_progress

    def remark(self, text: str) -> None:
        """Print a line beside the progress, where that is shown."""
        if self._shows_bars or self._shows_lines:
            self._bars.print(printable(text), markup=False, highlight=False, soft_wrap=True)


class _Lines:
    """Progress as lines of a log: what comes next, and how long it may take."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._begin = perf_counter()
        self._last = ""

    def __call__(self, done: int, total: int | None = None, label: str = "") -> None:
        """Print a line where something else begins."""
        if label in ("", self._last):
            return
        self._last, elapsed = label, perf_counter() - self._begin
        words = f"{elapsed:.0f} s"
        if total and done:
            words = (
                f"{done} of {total}, {words}, about {elapsed * (total - done) / done:.0f} s left"
            )
        self._console.print(
            printable(f"{label} ({words})"), markup=False, highlight=False, soft_wrap=True
        )


class Notes:
    """What users should know of the rows of a file, counted block by block."""

    def __init__(self) -> None:
        self._sentences: list[str] = []
        self.n_lists = 0
        self.column_roles: list[ColumnRole] = []
        self._unseen: dict[str, tuple[int, str, str]] = {}
        self._gaps: dict[str, tuple[int, str]] = {}
        self._n_rows = 0

    def add(self, sentence: str) -> None:
        """Add a sentence."""
        self._sentences.append(sentence)

    def count_unseen(
        self, columns: Columns, levels: Mapping[str, tuple[frozenset[str], str]]
    ) -> None:
        """Count texts that a model has not learnt from, of columns with known ones."""
        for column, (known, meaning) in levels.items():
            cells = columns.arrays[column].tolist()
            unseen = [c for c in cells if c is not None and str(c) not in known]
            if unseen:
                n_before, first, _ = self._unseen.get(column, (0, str(unseen[0]), ""))
                self._unseen[column] = n_before + len(unseen), first, meaning

    def count_gaps(self, columns: Columns, replacements: Mapping[str, str]) -> None:
        """Count the empty cells of columns, for which a model uses something else."""
        self._n_rows += len(columns)
        for column, what in replacements.items():
            n = int(is_empty(columns.arrays[column]).sum())
            if n:
                self._gaps[column] = self._gaps.get(column, (0, ""))[0] + n, what

    @property
    def sentences(self) -> list[str]:
        """All sentences."""
        unseen = [
            f"{column}: {counted(n, 'row has', 'rows have')} a value that "
            f"{'is new or rare' if meaning == RARE else 'the model has not learnt from'}, such "
            f"as {short(first)}; it counts as {meaning}."
            for column, (n, first, meaning) in self._unseen.items()
        ]
        rows = counted(self._n_rows, "row", "rows")
        gaps = [
            f"{column}: {n:,} of {rows} empty, taken as {what}."
            for column, (n, what) in self._gaps.items()
        ]
        more = len(gaps) - _MOST_GAPS
        if more > 1:
            gaps = [*gaps[:_MOST_GAPS], f"And {more} more columns have empty cells."]
        return [*self._sentences, *unseen, *gaps]


def role_lines(column_roles: Iterable[ColumnRole]) -> list[str]:
    """Describe the roles of columns, in one line for all left out for one reason.

    Features are not listed here.

    Examples
    --------
    >>> from peckorder.cli.outputs import role_lines
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


def printable(text: str) -> str:
    r"""Return text without what a terminal would obey, as a file may have it in names.

    Control characters other than tabs and new lines, and those that change the direction
    of writing, are shown as in Python.

    Examples
    --------
    >>> from peckorder.cli.outputs import printable
    >>> print(printable("size" + chr(27) + "[31m"))
    size\x1b[31m
    """
    return _UNSAFE.sub(lambda mark: repr(mark[0])[1:-1], text)


def screen(title: str, headings: tuple[str, ...], rows: Iterable[Iterable[str | float]]) -> Screen:
    """Return a table for the terminal; the first column is text, others numbers."""
    table = Screen(title=printable(title), title_justify="left", title_style="bold")
    for k, heading in enumerate(headings):
        table.add_column(printable(heading), justify="right" if k else "left", no_wrap=k > 0)
    for row in rows:
        table.add_row(*(printable(c) if isinstance(c, str) else number(c) for c in row))
    return table


def narrowed(table: Screen, console: Console) -> list[str]:
    """Make a table fit a console: headings on several lines, then without the last columns.

    Returns the headings of the columns that were left out.
    """
    names, *others = table.columns
    longest = max((len(str(cell)) for cell in names.cells), default=0)
    names.min_width = min(max(longest, len(str(names.header))), _MOST_NAME)

    def is_too_wide() -> bool:
        needed: int = Measurement.get(console, options, table).maximum
        return needed - max(longest - _MOST_NAME, 0) > console.width

    options = console.options.update(max_width=_ANY_WIDTH)
    if is_too_wide():
        for column in others:
            words = [*map(str, column.cells), *str(column.header).split()]
            column.header = fill(str(column.header), max(map(len, words)))
    left_out: list[str] = []
    while len(table.columns) > 2 and is_too_wide():
        left_out.insert(0, " ".join(str(table.columns.pop().header).split()))
    return left_out


def number(value: float) -> str:
    """Write a number as a table has it."""
    if isinstance(value, int):
        return str(value)
    return f"{value:.4f}" if isfinite(value) else "\N{EN DASH}"
