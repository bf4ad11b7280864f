"""Turn plain data into one self-contained HTML page.

The page needs nothing but itself: the pictures are inline SVG, the style is in
the page, and rendering the same report twice gives the same text.
"""

import os
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import count
from math import floor, isfinite, isnan, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from peckorder._core.errors import entry, entry_named
from peckorder._core.text_files import check_target, whole_file
from peckorder.exceptions import MissingExtraError
from peckorder.reports.contents import Cell, Chart, Curve, Dot, Dots, Report, Section, Table

if TYPE_CHECKING:
    from jinja2 import Template

__all__ = [
    "Cell",
    "Chart",
    "Curve",
    "Dot",
    "Dots",
    "Report",
    "Section",
    "Table",
    "check_path",
    "render",
    "write",
]

# How numbers begin, and what stands in for one.
_FIGURES = re.compile(r"[<+\-\N{MINUS SIGN}]?\s*[\d.]|-?[\N{MINUS SIGN}\N{EN DASH}\N{INFINITY}]")


def render(report: Report) -> str:
    """Turn a report into the text of one self-contained HTML page.

    All text is escaped. The same report gives the same page, byte for byte,
    as long as the versions of matplotlib and Jinja2 stay the same.

    Parameters
    ----------
    report : Report
        What the page shows.

    Returns
    -------
    str
        The page, which refers to nothing outside itself.

    Raises
    ------
    MissingExtraError
        If matplotlib or Jinja2 is not installed.

    Examples
    --------
    >>> from peckorder.reports import Report, render
    >>> page = render(Report("A & B", "B wins.", (), "peckorder compare", ()))
    >>> "<h1>A &amp; B</h1>" in page
    True
    """
    try:
        template = load_template()
        from peckorder.reports.charts import draw
    except ModuleNotFoundError as missing:
        if missing.name not in {"jinja2", "matplotlib"}:
            raise
        raise MissingExtraError(
            f"{missing.name} is not installed; run pip install 'peckorder[cli]'."
        ) from missing
    numbers = count(1)
    sections = [
        {
            "section": section,
            "tables": [
                (table, write_cells(table), kinds_of_columns(table)) for table in section.tables
            ],
            "charts": [
                (chart, draw(chart, f"chart{next(numbers)}"), describe(chart))
                for chart in section.charts
            ],
        }
        for section in report.sections
    ]
    return template.render(report=report, sections=sections)


@entry
def write(report: Report, path: str | os.PathLike[str]) -> None:
    """Write a report to `path` as one HTML file, whole or not at all.

    The page goes to a new file beside `path` first, which then takes the place
    of any old one; a failure on the way leaves the old file as it was. A link stays
    one, to the new page; a pipe or a device is written to.

    Parameters
    ----------
    report : Report
        What the page shows.
    path : str or path-like
        Where the file goes; its folder must exist.

    Raises
    ------
    FileNotFoundError
        If the folder is missing; nothing has been rendered then.
    IsADirectoryError
        If `path` is itself a folder.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from peckorder.reports import Report, write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(Report("T", "L", (), "c", ()), f"{folder}/page.html")
    ...     [entry.name for entry in Path(folder).iterdir()]
    ['page.html']
    """
    path = check_path(path)
    page = render(report).encode("utf-8")
    with whole_file(path) as file:
        file.write(page)


@entry_named("write")
def check_path(path: str | os.PathLike[str]) -> Path:
    """Return `path` if a report can be written there; raise as `write` does.

    For those who want to know before the work that the report is to show.

    Parameters
    ----------
    path : str or path-like
        Where a file is to go.

    Returns
    -------
    Path
        The same.

    Examples
    --------
    >>> from peckorder.reports import check_path
    >>> check_path("no/p.html")
    Traceback (most recent call last):
    FileNotFoundError: write: path must be in a folder that exists; got 'no/p.html'.
    """
    check_target("path", path)
    return Path(path)


@cache
def load_template() -> "Template":
    """Read the template that stands beside this module."""
    from jinja2 import Environment, StrictUndefined

    source = files("peckorder.reports").joinpath("page.html.j2").read_text("utf-8")
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.from_string(source)


def write_cells(table: Table) -> list[tuple[str, ...]]:
    """Write the cells of a table, column by column so that decimals line up."""
    columns: list[Any] = list(zip(*table.rows, strict=True))
    return list(zip(*map(write_column, columns), strict=True))


def kinds_of_columns(table: Table) -> list[str]:
    """Say which columns hold "words", sentences that are set as such, or a "name"."""
    rows = write_cells(table)
    kinds = [_kind([row[place] for row in rows]) for place in range(len(table.columns))]
    # The first column is one of names in any case.
    return ["" if kinds[0] == "name" else kinds[0], *kinds[1:]]


def _kind(cells: list[str]) -> str:
    if any(len(cell) > 30 for cell in cells):
        return "words"
    texts = [cell for cell in cells if cell]
    is_name = texts and not any(_FIGURES.match(cell) for cell in texts)
    return "name" if is_name else ""


def write_column(cells: Sequence[Cell]) -> list[str]:
    """Write one column, its fractions with four figures for the largest."""
    sizes = [
        abs(float(cell))
        for cell in cells
        if not isinstance(cell, str) and isfinite(cell) and cell != 0
    ]
    n_decimals = 3 - floor(log10(max(sizes))) if sizes else 1
    return [write_cell(cell, min(max(n_decimals, 0), 6)) for cell in cells]


def write_cell(cell: Cell, n_decimals: int) -> str:
    """Write one cell; a number that is missing is a dash."""
    if isinstance(cell, str):
        # A line may end before an interval, not within.
        return cell.replace("± ", "±\N{NO-BREAK SPACE}").replace(" ≈", "\N{NO-BREAK SPACE}≈")
    if isinstance(cell, int | np.integer):
        text = f"{int(cell):,}"
    elif isnan(cell):
        text = "\N{EN DASH}"
    elif not isfinite(cell):
        text = "\N{INFINITY}" if cell > 0 else "-\N{INFINITY}"
    else:
        text = f"{cell:,.{n_decimals}f}"
    return text.replace("-", "\N{MINUS SIGN}")


def describe(chart: Chart | Dots) -> str:
    """Say in words what a chart shows, for those who cannot see it."""
    if isinstance(chart, Dots):
        values = "; ".join(f"{dot.label} {dot.value:.4g}" for dot in chart.dots)
        return f"{chart.title}. {chart.x_label}: {values}. {chart.caption}".strip()
    ends = []
    for curve in chart.curves:
        known = curve.y[np.isfinite(curve.y)]
        ends.append(
            f"{curve.label} ends at {known[-1]:.4g}"
            if known.size
            else f"{curve.label} has no values"
        )
    if chart.reference is not None:
        ends.append(f"{chart.reference[0]} stands at {chart.reference[1]:.4g}")
    axes = f"Line chart of {chart.y_label} against {chart.x_label}"
    return f"{chart.title}. {axes}: {'; '.join(ends)}. {chart.caption}".strip()
