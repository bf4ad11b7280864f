"""Commands on files with random damage: a result, or one sentence; never a traceback."""

import gzip
import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from peckorder.tables.files.read import read_columns
from support import damaged_files
from support.command_line import run, write_table

COMMANDS = {
    "rank": ("rank", "MODEL", "FILE", "--quiet", "-o", "OUT"),
    "explain": ("explain", "MODEL", "FILE", "--json"),
    "evaluate": ("evaluate", "FILE", "--target", "grade", "--score", "a", "--json"),
    "fit": ("fit", "FILE", "--target", "grade", "--ranker", "MPRank", "--quiet", "-o", "OUT"),
    "info": ("info", "MODEL", "--json"),
}
# What is put in the place of some bytes.
PIECES = [b"\n", b"\r", b",", b";", b'"', b"'", b"{", b"]", b":", b" ", b"\0", b"\xff", b"\x1b[2J"]
PIECES += [b"-", b"1e999", b"nan", b"9" * 40, b"0x1F", b"1,5", b"True", b"qid:1", b"#", b"\\", b"?"]


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """Return the contents of a table in several formats, and a model of it."""
    folder = tmp_path_factory.mktemp("good")
    table, model = write_table(folder / "t.csv"), folder / "m.peckorder"
    words = ("--target", "grade", "--ranker", "MPRank", "--quiet", "-o", model)
    assert run("fit", table, *words) == 0
    columns = read_columns(table)
    cells = {name: array.tolist() for name, array in columns.arrays.items()}
    pq.write_table(pa.table(cells), folder / "t.parquet")
    rows = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    letor = "".join(f"{r['grade']} qid:{r['qid']} 1:{r['a']} 2:{r['b']} 3:{r['c']}\n" for r in rows)
    return {
        "t.csv": table.read_bytes(),
        "t.csv.gz": gzip.compress(table.read_bytes()),
        "t.jsonl": lines.encode(),
        "t.letor": letor.encode(),
        "t.parquet": (folder / "t.parquet").read_bytes(),
        "m.peckorder": model.read_bytes(),
    }


def damaged(data, rng):
    """Return bytes of which some were replaced, removed, put in or repeated."""
    data = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        place, size = int(rng.integers(len(data) + 1)), int(rng.integers(0, 9))
        what = rng.integers(4)
        if what == 0:
            data[place : place + size] = PIECES[rng.integers(len(PIECES))]
        elif what == 1:
            data[place:place] = PIECES[rng.integers(len(PIECES))] * int(rng.integers(1, 40))
        elif what == 2:
            data[place:place] = data[place : place + int(rng.integers(400))]
        elif rng.random() < 0.2:
            del data[place:]
        else:
            del data[place : place + int(rng.integers(100))]
    return bytes(data)


def check(capsys, words):
    code = run(*words)
    shown = capsys.readouterr()
    assert code in (0, 2), (code, shown.err)
    assert "Traceback" not in shown.err
    assert len(shown.err) < 5000
    assert not set(shown.err) & set("\x00\x1b\x07\x9b")
    if code == 2:
        assert shown.out == ""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.jsonl", "t.letor", "t.parquet"])
@pytest.mark.parametrize("command", ["rank", "explain", "evaluate", "fit"])
def test_damaged_tables(tmp_path, capsys, good, command, name):
    rng = np.random.default_rng([len(command), len(name)])
    model, path = tmp_path / "m.peckorder", tmp_path / name
    model.write_bytes(good["m.peckorder"])
    places = {"FILE": path, "MODEL": model, "OUT": tmp_path / "out"}
    words = [places.get(word, word) for word in COMMANDS[command]]
    if command == "rank":
        words += ["--out-format", "csv"]
    for _ in range(60):
        path.write_bytes(damaged(good[name], rng))
        check(capsys, words)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("command", ["rank", "explain", "info"])
def test_damaged_models(tmp_path, capsys, good, command):
    rng = np.random.default_rng(len(command))
    model, path = tmp_path / "m.peckorder", tmp_path / "t.csv"
    path.write_bytes(good["t.csv"])
    places = {"FILE": path, "MODEL": model, "OUT": tmp_path / "out"}
    words = [places.get(word, word) for word in COMMANDS[command]]
    if command == "rank":
        words += ["--out-format", "csv"]
    for k in range(120):
        damage = (damaged, damaged_files.header_value, damaged_files.array_value)[k % 3]
        model.write_bytes(damage(good["m.peckorder"], rng))
        check(capsys, words)
