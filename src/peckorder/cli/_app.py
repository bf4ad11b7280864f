"""The commands and their exit codes: 0 done, 2 wrong input, 130 interrupted."""

import sys

from cyclopts import App
from rich.console import Console

from peckorder import __version__
from peckorder.cli._compare import compare
from peckorder.cli._reproduce import reproduce

app = App(
    name="peckorder",
    help="Learn to put things in order: from ratings, grades, preferences and lists.",
    version=__version__,
    suppress_keyboard_interrupt=False,
)
app.command(compare)
app.command(reproduce)


def run(arguments: list[str] | None = None) -> None:
    """Run one command; say what is wrong in one line instead of a traceback."""
    try:
        app(arguments)
    except KeyboardInterrupt as stop:
        _leave(str(stop) or "Interrupted.", 130)
    except (ValueError, OSError, ImportError) as error:
        _leave(str(error), 2)


def _leave(message: str, code: int) -> None:
    Console(stderr=True).print(message, style="red", markup=False, highlight=False)
    sys.exit(code)
