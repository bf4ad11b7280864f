"""The commands and their exit codes: 0 done, 2 wrong input, 130 interrupted.

What is imported here, and by the modules of the commands, is what `--help` and a wrong
option wait for; what does the work is imported when a command runs.
"""

import os
import sys
import warnings
from dataclasses import replace

from cyclopts import App, CycloptsError
from rich.console import Console

from peckorder import __version__
from peckorder._core.errors import entry, refusal_of
from peckorder.cli.compare.command import compare
from peckorder.cli.data import data
from peckorder.cli.evaluate.command import evaluate
from peckorder.cli.explain.command import explain
from peckorder.cli.fit.command import fit
from peckorder.cli.fuse.command import fuse
from peckorder.cli.info import info
from peckorder.cli.rank.command import rank
from peckorder.cli.reproduce import reproduce
from peckorder.tables.files.standard_streams import DASH, STDIN

# What the work of some commands needs beside the parser.
_EXTRA = {"pyarrow", "jinja2", "matplotlib"}
_INSTALL = "pip install 'peckorder[cli]'"

app = App(
    name="peckorder",
    help="Learn to put things in order: from ratings, grades, preferences and lists.",
    version=__version__,
    suppress_keyboard_interrupt=False,
)
for command in (compare, fit, rank, evaluate, fuse, explain, info, reproduce):
    app.command(entry(command))
app.command(data)


def run(arguments: list[str] | None = None) -> None:
    """Run one command; print what is wrong in one line instead of a traceback."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _warn  # type: ignore[assignment]
            words = sys.argv[1:] if arguments is None else arguments
            words = [DASH if word == STDIN else word for word in words]
            app(words, exit_on_error=False, print_error=False)
    except KeyboardInterrupt as stop:
        _leave(str(stop) or "Interrupted.", 130)
    except BrokenPipeError:
        # Nobody reads on, as behind `| head`; Python must not try again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except MemoryError:
        _leave("There is not enough memory for this.", 2)
    except ModuleNotFoundError as missing:
        advice = f"{missing.name} is not installed; run {_INSTALL}."
        _leave(advice if missing.name in _EXTRA else str(missing), 2)
    except (ValueError, TypeError, OSError, ImportError, CycloptsError) as error:
        if isinstance(error, TypeError) and refusal_of(error) is None:
            raise
        _leave(_sentence(error), 2)


def _warn(message: object, *details: object) -> None:
    _print(f"Note: {message}", "yellow")


def _sentence(error: Exception) -> str:
    """Return the message; the path of a model that is loaded is called `model`."""
    refused = refusal_of(error)
    if refused is None or (refused.caller, refused.what) != ("load", "path"):
        return str(error)
    return str(replace(refused, caller="", what="model"))


def _leave(message: str, code: int) -> None:
    _print(message, "red")
    sys.exit(code)


def _print(message: str, style: str) -> None:
    Console(stderr=True, soft_wrap=True).print(message, style=style, markup=False, highlight=False)
