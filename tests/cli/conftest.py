"""What tests of commands share: a wide terminal, a table and a model of it."""

import pytest

from support.command_line import run, write_table


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return a table and an MPRank that was fitted to it."""
    folder = tmp_path_factory.mktemp("rows")
    data, model = write_table(folder / "t.csv"), folder / "m.peckorder"
    fit = ("fit", data, "--ranker", "MPRank", "--target", "grade", "--quiet")
    assert run(*fit, "-o", model) == 0
    return data, model
