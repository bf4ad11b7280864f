"""Files and models that ask for more memory than they are worth; what is written."""

import gzip
import json
import re
import subprocess
import sys
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

import peckorder
from peckorder._core import text_files
from peckorder.datasets import load_letor
from peckorder.exceptions import DataError
from peckorder.tables.columns import Columns
from peckorder.tables.files.arrow import label_array
from peckorder.tables.files.read import iter_columns, read_columns, write_columns
from support.command_line import check_refused, run
from support.tables import written


def test_a_parquet_file_of_next_to_nothing_is_not_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "_ALWAYS_ALLOWED", 1 << 16)
    path = tmp_path / "bomb.parquet"
    names = [f"c{k}" for k in range(20)]
    pq.write_table(pa.table({name: np.zeros(200_000) for name in names}), path)
    with pytest.raises(DataError) as caught:
        read_columns(path)
    assert str(caught.value) == (
        f"{path}: a compressed file must hold less than 200 times its size; got more "
        f"than 30 MB out of {path.stat().st_size >> 10} kB."
    )
    # In blocks it may be as large as it is.
    assert len(next(iter_columns(path, rows=100))) == 100
    honest = tmp_path / "honest.parquet"
    cells = np.random.default_rng(0).normal(size=(3, 200_000))
    pq.write_table(pa.table(dict(zip("abc", cells, strict=True))), honest)
    assert len(read_columns(honest)) == 200_000


@pytest.mark.parametrize("more", [(), ("--features",)])
def test_a_feature_with_a_large_number_takes_no_memory(tmp_path, more):
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = peckorder.RankBoost(n_rounds=3).fit(X, X[:, 1] > 0)
    model.feature_names_in_ = np.array(["150000000", "2"], dtype=object)
    model.save(tmp_path / "m.peckorder")
    file, out = tmp_path / "t.letor", tmp_path / "o.csv"
    file.write_text("1 qid:1 1:9 2:0.5 3:1\n0 qid:1 2:-1 150000000:2\n")
    command = ("rank", tmp_path / "m.peckorder", file, "--quiet", "-o", out)
    tracemalloc.start()
    assert run(*command, *more) == 0
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 27
    found = read_columns(out).arrays
    del model.feature_names_in_
    expected = model.predict([[0.0, 0.5], [2.0, -1.0]])
    np.testing.assert_allclose(found["score"], expected, rtol=1e-13)
    if more:
        assert found["2"].tolist() == [0.5, -1]
        assert found["150000000"].tolist() == [0, 2]


def test_json_has_no_infinity(tmp_path):
    path = tmp_path / "o.jsonl"
    cells = np.array([1.5, np.inf, -np.inf, np.nan])
    write_columns(path, Columns({"gap": cells}, "t"))

    def refuse(word):
        raise AssertionError(word)

    lines = path.read_text().splitlines()
    found = [json.loads(line, parse_constant=refuse)["gap"] for line in lines]
    assert found == [1.5, None, None, None]


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\v", "\x85", "\u2028"])
def test_letor_remarks_stay_in_their_lines(tmp_path, end):
    path = tmp_path / "o.letor"
    ids = np.array([f"a{end}2 qid:9 1:7", "b"], dtype=object)
    write_columns(path, Columns({"target": np.array([1, 0]), "docid": ids}, "t"))
    assert path.read_text().splitlines() == ["1 #docid = a 2 qid:9 1:7", "0 #docid = b"]


def test_letor_has_no_words_for_targets(tmp_path):
    path = tmp_path / "o.letor"
    good = np.array(["1", " 2.5"], dtype=object)
    write_columns(path, Columns({"target": good, "1": np.arange(2.0)}, "t"))
    assert read_columns(path).arrays["target"].tolist() == [1, 2.5]
    bad = np.array(["1", "good"], dtype=object)
    with pytest.raises(DataError) as caught:
        write_columns(path, Columns({"target": bad}, "t"))
    assert str(caught.value) == (
        f"{path}: column 'target' must be numbers to be written as LETOR; got 'good' in row 2."
    )
    assert read_columns(path).arrays["target"].tolist() == [1, 2.5]


@pytest.mark.parametrize(
    "more",
    [
        ("--target", "nonsense"),
        ("--qid", "nonsense"),
        ("--user", "1"),
        ("--drop", "3"),
        ("--classes", "a,b"),
        ("--scale",),
    ],
)
def test_sparse_letor_takes_no_orders(tmp_path, capsys, more):
    file, out = tmp_path / "train.txt", tmp_path / "m.peckorder"
    lines = [f"{k % 2} qid:{k // 4} {1 + 7 * k % 50}:1 60:{k % 2}" for k in range(40)]
    file.write_text("\n".join(lines) + "\n")
    fit = ("fit", file, "--ranker", "RankBoost", "-o", out)
    assert check_refused(capsys, *fit, *more) == (
        f"fit: {more[0][2:]} must not be asked for where most features of a LETOR file "
        f"are absent; got {more[0]}."
    )
    assert not out.exists()
    assert run(*fit, "--target", "target", "--qid", "qid", "--quiet") == 0


HOSTILE = ["[" * 10_000, '{"b":' * 10_000, '"]]]]]]]]","b":' + "[" * 10_000]
# Lines are no bounds of an object to Arrow, and a string is not what its marks say.
HOSTILE += ["\n".join("[" * 10_000), '"\\"]]]\\\\","b":' + "[" * 10_000, "[" * 40]


@pytest.mark.parametrize("cell", HOSTILE)
@pytest.mark.parametrize("read", [read_columns, lambda path: list(iter_columns(path))])
def test_json_is_not_nested_until_the_stack_ends(tmp_path, read, cell):
    path = written(tmp_path / "t.jsonl", f'{{"a":1}}\n{{"a":{cell}\n')
    with pytest.raises(DataError) as caught:
        read(path)
    sentence = r".*: lines must be objects of JSON that are not nested; got line \d+, which is\."
    assert re.fullmatch(sentence, str(caught.value))


def test_brackets_in_text_are_no_depth(tmp_path):
    path = tmp_path / "t.jsonl"
    texts = ["[" * 100, "]" * 100, '"' + "{" * 100, "\\" + "[" * 100, "\\\\" + "[" * 100 + '\\"']
    path.write_text("".join(json.dumps({"a": text, "b": 1}) + "\n" for text in texts))
    assert read_columns(path).arrays["a"].tolist() == texts


READ = """
import resource, sys
from peckorder.tables.files.read import read_columns, read_table
with open("/proc/self/statm") as file:  # threads of many cores reserve much
    most = int(file.read().split()[0]) * resource.getpagesize() + (3 << 30)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
read = {"columns": read_columns, "table": read_table}[sys.argv[1]]
for path in sys.argv[2:]:
    try:
        print(len(read(path)), "rows")
    except ValueError as error:
        print(str(error).partition(": ")[2])
"""


def letor(n_rows, feature):
    return "".join(f"{k % 3} qid:{k // 5} 1:{k} {feature}:1\n" for k in range(n_rows))


def names_that_differ(name):
    return "".join(f'{{"{name(k)}":1,"grade":1}}\n' for k in range(30_000))


def long_texts(path):
    texts = pa.array([100_000 * chr(65 + k) for k in range(50)])
    column = pa.DictionaryArray.from_arrays(np.arange(50_000) % 50, texts)
    pq.write_table(pa.table({"a": column}), path, store_schema=False, compression="zstd")
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
def test_small_files_take_little_memory(tmp_path):
    def escaped(k):
        return "".join(r"\\" if k >> bit & 1 else r"\"" for bit in range(15))

    names = (
        "objects of JSON must have the same names in all lines; got 30,001 names in 30,000 lines."
    )
    numbered = "features must be numbered up to 1048576 in a file of this size; got 2000000000."
    columns = "a table must have at most 32,768 columns in a file of this size; got 125,001."
    cells = "rows times features must be at most 33554432 for this, and features 1048576; got 500"
    files = {
        written(tmp_path / "a.jsonl", names_that_differ(str)): names,
        written(tmp_path / "b.jsonl", names_that_differ(escaped)): names,
        written(tmp_path / "far.letor", letor(30, 2_000_000_000)): numbered,
        written(tmp_path / "wide.letor", letor(500, 1 << 20)): f"{cells} times 1048576.",
        long_texts(tmp_path / "texts.parquet"): "50000 rows",
        written(tmp_path / "wide.csv", ("," * 125_000 + "\n") * 3): columns,
    }
    for read in ("columns", "table"):
        paths = [path for path in files if read == "columns" or path.name != "wide.letor"]
        child = [sys.executable, "-c", READ, read, *map(str, paths)]
        done = subprocess.run(child, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == [files[path] for path in paths]


def test_lines_of_json_may_have_many_names_if_there_are_few_lines(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(
        "".join(json.dumps({f"k{j}": j for j in range(9000)}) + "\n" for _ in range(90))
    )
    assert len(read_columns(path).names) == 9000


def test_gzip_is_inflated_within_bounds(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "_ALWAYS_ALLOWED", 1 << 20)
    path = tmp_path / "t.letor.gz"
    path.write_bytes(gzip.compress(b"1 qid:1 1:2\n" + b"\n" * (1 << 22)))
    with pytest.raises(DataError, match="a compressed file must hold less than 200 times its"):
        load_letor(path)


COMMANDS = {
    "compare": ("compare", "FILE"),
    "fit": ("fit", "FILE", "--ranker", "MPRank", "-o", "OUT"),
    "evaluate": ("evaluate", "FILE"),
    "rank": ("rank", "MODEL", "FILE", "-o", "OUT"),
    "explain": ("explain", "MODEL", "FILE"),
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "m.peckorder"
    rows = np.random.default_rng(0).normal(size=(30, 1))
    peckorder.TableRanker(peckorder.MPRank()).fit(rows, rows[:, 0]).save(path)
    frame = Columns({"a": rows[:, 0], "grade": rows[:, 0]}, "t")
    write_columns(path.with_suffix(".csv"), frame)
    words = ("fit", path.with_suffix(".csv"), "--ranker", "MPRank", "--quiet", "-o", path)
    assert run(*words) == 0
    return path


def refused(tmp_path, capsys, model, command, name, text):
    path = written(tmp_path / name, text)
    places = {"FILE": path, "MODEL": model, "OUT": tmp_path / "out.csv"}
    return check_refused(capsys, *(places.get(word, word) for word in COMMANDS[command]))


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("text", ["qid\n1\n1\n2\n2\n", "user\n1\n1\n2\n2\n", "grade\n1\n2\n"])
def test_a_table_of_one_column_is_refused(tmp_path, capsys, model, command, text):
    refused(tmp_path, capsys, model, command, "t.csv", text)


@pytest.mark.parametrize("command", ["rank", "explain"])
@pytest.mark.parametrize(
    ("name", "cells", "odd"),
    [
        ("t.csv", ["True", "3", "4"], "'True' in row 1"),
        ("t.csv", ["3", "True", "false", "True"], "'3' in row 1"),
        ("t.dat", ["1,5", "2.5", "2.5"], "'1,5' in row 1"),
        ("t.dat", ["2.5", "1,5", "1,5"], "'2.5' in row 1"),
        ("t.csv", ['"1,5"', "2.5", "2.5"], "'1,5' in row 1"),
    ],
)
def test_the_rarer_kind_of_cell_is_named(tmp_path, capsys, model, command, name, cells, odd):
    mark = ";" if name.endswith("dat") else ","
    text = "".join(f"{a}{mark}{k}\n" for k, a in enumerate(cells))
    said = refused(tmp_path, capsys, model, command, name, f"a{mark}grade\n{text}")
    assert said.endswith(f"t{name[1:]}: column 'a' must be numbers; got {odd}.")


UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_names_that_a_terminal_would_obey_are_shown_escaped(tmp_path, capsys, more):
    size, colour, target = "si\x1b[31mze", "col\u202eour\x9b", "gra\x07de\u2066"
    path, out = tmp_path / "t.csv", tmp_path / "m.peckorder"
    colours = ["r\x1b[2J", "b"]
    rows = "".join(f"{k},{colours[k % 2]},{k % 3}\n" for k in range(30))
    path.write_text(f"{size},{colour},{target}\n{rows}")
    assert run("fit", path, "--ranker", "MPRank", "-o", out, *more) == 0
    assert run("explain", out, path, *more) == 0
    assert run("info", out, *more) == 0
    assert run("evaluate", path, *more) == 2
    assert run("rank", out, path, "-o", tmp_path / "no\x1b[2J" / "o.csv", *more) == 2
    shown = capsys.readouterr()
    assert "si\\u001b[31mze" in shown.out if more else "si\\x1b[31mze" in shown.out
    assert UNSAFE.search(shown.out + shown.err) is None


SHORT_ROWS = [
    b"a,b,c\n1,2,3\n\xff\xfe\n4,2,1\n",
    b"a;b;c\n1;2;3\n3;\xff\n",
    b"a b c\n1 2 3\n3 \xff\n",
]


@pytest.mark.parametrize("text", SHORT_ROWS)
def test_a_short_row_that_is_not_utf_8_is_refused_in_one_sentence(tmp_path, capfd, text):
    path = tmp_path / "t.txt"
    path.write_bytes(text)
    with pytest.raises(DataError, match="lines must have as many cells as the first, 3; got "):
        read_columns(path, format="csv")
    assert capfd.readouterr().err == ""


def test_a_short_row_that_is_long_is_found(tmp_path):
    path = written(tmp_path / "t.csv", "a,b,c\n1,2,3\n1," + "x" * 300 + "\n")
    with pytest.raises(DataError, match=r"got 2 in line 3, '1,xxx[x.]*'\."):
        read_columns(path)


def test_one_long_label_does_not_make_all_labels_long():
    labels = ["x" * 1_000_000, *["a", "b"] * 30_000]
    assert label_array(pa.array(labels)).tolist() == labels
    assert label_array(pa.array(["a", "b"])).dtype == np.dtype("U1")
