"""The commands and their exit codes: 0 done, 2 wrong input, 130 interrupted.

What is imported here, and by the modules of the commands, is what `--help` and a wrong
option wait for; what does the work is imported when a command runs.
"""

import os
import sys
import warnings

from cyclopts import App, CycloptsError
from rich.console import Console

from peckorder import __version__
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
_WORDS = {
    "load: path must be": "model must be",
    "names must be a metric": "metric must be one",
}

app = App(
    name="peckorder",
    help="Learn to put things in order: from ratings, grades, preferences and lists.",
    version=__version__,
    suppress_keyboard_interrupt=False,
)
for command in (compare, fit, rank, evaluate, fuse, explain, info, data, reproduce):
    app.command(command)


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
    except (ValueError, OSError, ImportError, CycloptsError) as error:
        _leave(_worded(str(error)), 2)


def _warn(message: object, *details: object) -> None:
    from peckorder.cli.console import note_text

    _print(f"Note: {note_text(message)}", "yellow")


def _worded(sentence: str) -> str:
    """Use the names of options where the library names its parameters."""
    for ours, here in _WORDS.items():
        sentence = sentence.replace(ours, here, 1)
    return sentence


def _leave(message: str, code: int) -> None:
    _print(message, "red")
    sys.exit(code)


def _print(message: str, style: str) -> None:
    Console(stderr=True, soft_wrap=True).print(
        message, style=style, markup=False, highlight=False
    )
