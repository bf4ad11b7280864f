"""Commands run in this process, and small files for them."""

import io
import json
from types import SimpleNamespace

import numpy as np

from peckorder.cli import app


def run(*arguments):
    """Run a command in this process; return its exit code."""
    try:
        app.run([str(word) for word in arguments])
    except SystemExit as left:
        return left.code
    return 0


def output_of(capsys, *arguments):
    """Run a command, which must succeed; return what it prints."""
    assert run(*arguments) == 0
    return capsys.readouterr().out


def result_of(capsys, *arguments):
    """Run a command with --json, which must succeed; return its result."""
    return json.loads(output_of(capsys, *arguments))


def check_refused(capsys, *arguments):
    """Run a command that must refuse in one sentence; return that sentence."""
    assert run(*arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert "Traceback" not in shown.err
    assert len(shown.err) < 1000
    return shown.err.rstrip("\n")


def give_standard_input(monkeypatch, data):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))


def table(n_rows=120, n_queries=12):
    """Return a matrix, grades that follow from it, and queries that stand together."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n_rows, 3)).round(3)
    y = np.digitize(X @ [1.0, 2.0, 0.0] + 0.3 * rng.normal(size=n_rows), [-1, 1])
    return X, y, np.sort(rng.integers(0, n_queries, n_rows))


def write_table(path, n_rows=120, sep=",", colours=True):
    X, y, qid = table(n_rows)
    names = ["docid", "qid", "a", "b", "c", *(["colour"] if colours else []), "grade"]
    lines = [sep.join(names)]
    for k in range(n_rows):
        colour = [("red", "blue")[k % 2]] if colours else []
        cells = [f"d{k}", qid[k], *X[k], *colour, y[k]]
        lines.append(sep.join(map(str, cells)))
    path.write_text("\n".join(lines) + "\n")
    return path
