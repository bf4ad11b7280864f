"""The example of fifteen films, where there are no films."""

import runpy
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "fifteen_films.py"


@pytest.mark.parametrize("options", [[], ["--data", "none"]])
def test_without_data_it_ends_with_a_sentence(options, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PECKORDER_DATA", raising=False)
    monkeypatch.setenv("PECKORDER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *options])
    with pytest.raises(SystemExit) as info:
        runpy.run_path(str(SCRIPT), run_name="__main__")
    assert info.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("load_movielens_100k: ")
    assert "Get ml-100k.zip" in said.err
    assert said.err.count("\n") == 1
