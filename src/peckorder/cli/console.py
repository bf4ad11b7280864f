"""What commands say: to people on a terminal, to programs as JSON."""

import json as text
import sys
import warnings
from collections.abc import Mapping
from contextlib import contextmanager
from math import isfinite
from typing import Any, Final

import numpy as np
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table as Screen

from peckorder.tables.files.standard_streams import is_standard

# What functions of peckorder.metrics are called here.
_METRICS: Final = {
    "average_precision": "ap",
    "reciprocal_rank": "rr",
    "precision_at": "p@k",
    "recall_at": "recall@k",
    "pairwise_disagreement": "disagreement",
}


class Speaker:
    """Says what came out, in the one form that was asked for.

    What a table goes to on standard output must not be mixed with words: they go to
    standard error then.
    """

    def __init__(self, *, json: bool, quiet: bool, out: object = None) -> None:
        is_piped = is_standard(out)
        if json and is_piped:
            raise ValueError(
                "--json must not be given where rows go to standard output; got "
                "--out -."
            )
        self._json = json
        self.console = Console(quiet=quiet or json, stderr=is_piped, soft_wrap=True)
        self._bars = Console(stderr=True)
        self._shows_bars = self._bars.is_terminal and not quiet
        self._notes: list[str] = []
        if json:
            warnings.showwarning = self._note  # type: ignore[assignment]
        elif quiet:
            warnings.simplefilter("ignore", UserWarning)

    def _note(self, message: Any, *rest: Any) -> None:
        """Keep a warning for the result, where programs look for it."""
        self._notes.append(note_text(message))

    def say(self, result: Mapping[str, Any], *shown: RenderableType) -> None:
        """Print a result: all of it as JSON, or what people want to see of it."""
        if self._json:
            if self._notes:
                notes = [*result.get("notes", ()), *dict.fromkeys(self._notes)]
                result = {**result, "notes": notes}
            sys.stdout.write(text.dumps(plain(result), ensure_ascii=False) + "\n")
        for each in shown:
            self.console.print(each, highlight=False, markup=False)

    @contextmanager
    def bar(self, label: str) -> Any:
        """Show that work goes on, to people only; yields a function that is told."""
        if not self._shows_bars:
            # A bar that is switched off leaves an empty line, before rich 15.
            yield lambda done, total=None, label="": None
            return
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self._bars, transient=True) as shown:
            task = shown.add_task(label, total=None)

            def tell(done: int, total: int | None = None, label: str = label) -> None:
                shown.update(task, completed=done, total=total, description=label)

            yield tell


def note_text(message: object) -> str:
    """Write a warning with the names that metrics have here.

    Examples
    --------
    >>> from peckorder.cli.console import note_text
    >>> note_text("average_precision: all are good. Is `good` what you mean?")
    'ap: all are good. Rows of grade 1 and above are.'
    """
    asked, answer = "Is `good` what you mean?", "Rows of grade 1 and above are."
    said = str(message).replace(asked, answer)
    name = said.partition(":")[0]
    return said.replace(name, _METRICS.get(name, name), 1)


def plain(value: Any) -> Any:
    """Return a value as JSON has it; what is not finite is null."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


def screen(title: str, headings: tuple[str, ...], rows: Any) -> Screen:
    """Return a table for the terminal; the first column is text, others numbers."""
    shown = Screen(title=title, title_justify="left", title_style="bold")
    for place, heading in enumerate(headings):
        shown.add_column(heading, justify="right" if place else "left")
    for row in rows:
        shown.add_row(*(c if isinstance(c, str) else number(c) for c in row))
    return shown


def number(value: Any) -> str:
    """Write a number as a table has it."""
    if isinstance(value, int):
        return str(value)
    return f"{value:.4f}" if isfinite(value) else "\N{EN DASH}"
