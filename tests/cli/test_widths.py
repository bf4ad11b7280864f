"""Tables are as wide as the terminal; files and pipes take any width."""

import io

import pytest
from rich.console import Console

from peckorder.cli.options import OutputOptions
from peckorder.cli.outputs import ResultPrinter, screen

NAMES = ["PRank", "(always the median class)"]
HEADINGS = ("ranker", "mean rank loss", "behind the first", "exactly right", "macro_mae", "qwk")


def shown(monkeypatch, width, is_terminal=True):
    monkeypatch.delenv("COLUMNS", raising=False)
    printer = ResultPrinter(OutputOptions())
    if is_terminal:
        printer.console = Console(width=width, soft_wrap=True, file=io.StringIO())
    else:
        printer.console.file = io.StringIO()
    rows = [[name, 0.35, "0.0420 ± 0.0356 ≈", 0.61, 0.4, 0.7] for name in NAMES]
    printer.show(screen("2 folds", HEADINGS, rows))
    return printer.console.file.getvalue()


@pytest.mark.parametrize(
    ("width", "left_out"),
    [(110, []), (90, []), (80, ["qwk"]), (60, ["exactly right", "macro_mae", "qwk"]), (5, None)],
)
def test_names_are_never_cut(monkeypatch, width, left_out):
    text = shown(monkeypatch, width)
    *table, last = text.splitlines()
    if width > 5:
        assert all(name in text for name in NAMES)
        assert max(map(len, table)) <= width
    if left_out:
        assert last == f"The terminal is too narrow for {', '.join(left_out)}; see --json."
    if left_out == []:
        assert "too narrow" not in text
        assert "0.7000" in text


def test_a_pipe_has_no_width(monkeypatch):
    text = shown(monkeypatch, 0, is_terminal=False)
    heading = next(line for line in text.splitlines() if "ranker" in line)
    assert all(word in heading for word in HEADINGS)


def test_long_names_of_rows_are_divided(monkeypatch):
    printer = ResultPrinter(OutputOptions())
    printer.console = Console(width=60, soft_wrap=True, file=io.StringIO())
    printer.show(screen("features", ("feature", "adds"), [["long " * 40, 1.0]]))
    assert max(map(len, printer.console.file.getvalue().splitlines())) <= 60
