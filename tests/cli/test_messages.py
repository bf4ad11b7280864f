"""Sentences that help: what is wrong, where, and what to do."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from peckorder.tables.columns import Columns
from peckorder.tables.files.read import read_columns, write_columns
from support.command_line import check_refused, output_of, result_of, run, write_table
from support.tables import written


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "t.arff",
            b"% about\n@RELATION x\n@attribute a real\n@data\n{0 1}\n",
            "rows must have all their values; got sparse ones, in braces.",
        ),
        (
            "t.csv",
            b"a,b\n1,2\n3,4,5\n",
            "lines must have as many cells as the first, 2; got 3 in line 3, '3,4,5'",
        ),
        (
            "t.csv",
            "a,b\n1,x\n2,café\n".encode("latin1"),
            "got other bytes in column 'b' in line 3. Change it before, as by iconv",
        ),
        ("t.csv", "é,b\n1,x\n".encode("latin1"), "in line 1. Change it before"),
        ("t.csv", b"a,a\n1,2\n", "If the first line has no names, give them by"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, capsys, name, text, said):
    (tmp_path / name).write_bytes(text)
    assert said in check_refused(capsys, "compare", tmp_path / name)


def test_a_file_that_is_not_there(tmp_path, capsys):
    (tmp_path / "wine.csv").write_text("a,b\n1,2\n")
    said = check_refused(capsys, "compare", tmp_path / "wien.csv")
    assert said.endswith("wien.csv: there is no such file. Did you mean 'wine.csv'?")


def test_a_ranker_of_another_task(tmp_path, capsys):
    path = tmp_path / "t.csv"
    size = np.random.default_rng(0).random(40)
    path.write_text("size,price\n" + "".join(f"{x},{2 * x + 0.1}\n" for x in size))
    said = check_refused(capsys, "compare", path, "--rankers", "prank")
    assert said.endswith("got 'prank'. PRank is not for real-valued relevance.")


def test_letor_without_queries_is_said_and_columns_are_told_in_one_line(tmp_path, capsys):
    rng = np.random.default_rng(0)
    lines = [
        f"{int(x > 0.5)} 1:{x} " + " ".join(f"{k}:1" for k in range(2, 12)) for x in rng.random(40)
    ]
    (tmp_path / "t.txt").write_text("\n".join(lines) + "\n")
    command = ("compare", tmp_path / "t.txt", "--rankers", "PRank")
    out = tmp_path / "r.html"
    shown = output_of(capsys, *command, "-o", out)
    assert "No line has a query, as in qid:7; all rows are one list." in shown
    assert "10 columns: left out (the same value in all rows): 2, 3, 4" in shown
    assert "written over" not in shown
    assert "(written over the one that was there)" in output_of(capsys, *command, "-o", out)


def test_ranked_letor_can_be_measured(tmp_path, capsys):
    rng = np.random.default_rng(1)
    lines = [
        f"{int(x > 0.5)} qid:{k // 10} 1:{x} 2:{y} #docid = d{k}"
        for k, (x, y) in enumerate(rng.random((60, 2)))
    ]
    data, model = tmp_path / "t.txt", tmp_path / "m.peckorder"
    data.write_text("\n".join(lines) + "\n")
    fit = ("fit", data, "--ranker", "MPRank", "--quiet")
    assert run(*fit, "-o", model) == 0
    values = []
    for out in (tmp_path / "o.txt", tmp_path / "o.csv"):
        assert run("rank", model, data, "--quiet", "-o", out) == 0
        capsys.readouterr()
        values.append(result_of(capsys, "evaluate", out, "--json", "-m", "ap")["metrics"])
    assert values[0] == values[1]
    found = read_columns(tmp_path / "o.txt").arrays
    assert found["docid"].tolist() == [f"d{k}" for k in range(60)]


def test_notes_are_quiet_or_in_the_result(tmp_path, capsys):
    path = written(tmp_path / "t.csv", "qid,target,score\na,1,2\na,1,1\nb,1,2\nb,0,1\n")
    command = ("evaluate", path, "-m", "ap")
    assert run(*command) == 0
    said = capsys.readouterr().err
    assert "Note: average_precision: in 1 of 2 queries every row is good" in said
    assert "Rows of grade 1 and above are good." in said
    assert run(*command, "--quiet") == 0
    assert capsys.readouterr() == ("", "")
    assert run(*command, "--json") == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    (note,) = json.loads(shown.out)["notes"]
    assert f"Note: {note}\n" == said


def test_values_of_queries_on_standard_output(tmp_path, capfdbinary):
    path = write_table(tmp_path / "t.csv")
    words = ("--target", "grade", "--score", "a", "-m", "ap", "--quiet")
    assert run("evaluate", path, *words, "--per-query", "-") == 0
    assert capfdbinary.readouterr().out.startswith(b"qid,ap\n")


def test_the_option_for_what_is_written_is_named(tmp_path, capsys):
    path, model = write_table(tmp_path / "t.csv"), tmp_path / "m.peckorder"
    fit = ("fit", path, "--target", "grade", "--ranker", "PRank", "--quiet")
    assert run(*fit, "-o", model) == 0
    said = check_refused(capsys, "rank", model, path, "-o", tmp_path / "o.xyz")
    assert said.endswith("Or say what it is, as by --out-format csv.")


def test_only_cells_that_need_them_are_in_quotes(tmp_path):
    cells = np.array(["a", "b,c", None, 'd"e'], dtype=object)
    table = Columns({"x": cells, "n": np.array([1.0, 2.5, np.nan, 1e-7])}, "t")
    write_columns(tmp_path / "t.csv", table)
    text = (tmp_path / "t.csv").read_text()
    assert text == 'x,n\na,1\n"b,c",2.5\n,\n"d""e",1e-7\n'
    back = read_columns(tmp_path / "t.csv").arrays
    assert back["x"].tolist() == cells.tolist()


def test_of_one_list_there_is_no_interval(tmp_path, capsys):
    path = written(tmp_path / "t.csv", "target,score\n1,3\n0,2\n1,1\n")
    shown = output_of(capsys, "evaluate", path, "-m", "ap")
    assert "Intervals are over lists; of one list there is none." in shown
    assert "nan" not in shown


def test_options_are_called_by_their_names(tmp_path, capsys):
    path = write_table(tmp_path / "t.csv")
    said = check_refused(capsys, "evaluate", path, "-m", "nosuch")
    assert said.startswith("evaluate: metric must be a metric such as 'ap'")
    said = check_refused(capsys, "info", path)
    assert said.startswith("model must be a sound model file; got ")


def test_info_tells_values_or_how_many_there_are(tmp_path, capsys):
    path, model = write_table(tmp_path / "t.csv"), tmp_path / "m.peckorder"
    fit = ("fit", path, "--target", "grade", "--ranker", "PRank", "--quiet")
    assert run(*fit, "-o", model) == 0
    assert "classes_=[0, 1, 2]" in output_of(capsys, "info", model)


HEAVY = {"numba", "sklearn", "scipy", "pandas", "pyarrow", "peckorder.metrics"}
# Refuses, and prints what had to be imported for it.
CODE = """
import sys
from peckorder.cli.app import run
try:
    run(sys.argv[1:])
except SystemExit as left:
    print(left.code, *sys.modules)
"""


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "absent.csv"),
        ("compare", "t.csv", "--folds", "1"),
        ("compare", "t.csv", "--format", "xls"),
        ("compare", "t.csv", "--seed", "-1"),
        ("compare", "t.csv", "-o", "no/r.html"),
        ("compare", "t.csv", "--save", "t.csv"),
        ("fit", "absent.csv", "--ranker", "MPRank", "-o", "m.peckorder"),
        ("rank", "absent.peckorder", "t.csv"),
        ("rank", "t.csv", "absent.csv"),
        ("rank", "t.csv", "t.csv", "--max-rows", "0"),
        ("rank", "t.csv", "t.csv", "-o", "o.nothing"),
        ("evaluate", "absent.csv"),
        ("evaluate", "t.csv", "--qrels", "absent.qrels"),
        ("evaluate", "t.csv", "--ties", "bset"),
        ("fuse", "a.run", "b.run"),
        ("explain", "absent.peckorder"),
        ("explain", "t.csv", "--top", "0"),
        ("info", "absent.peckorder"),
    ],
)
def test_names_and_options_are_refused_before_anything_heavy_is_imported(tmp_path, words):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    command = [sys.executable, "-c", CODE, *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    code, *imported = done.stdout.split()
    assert (code, HEAVY & set(imported)) == ("2", set())
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device here")
def test_a_full_standard_output_is_named():
    words = [sys.executable, "-m", "peckorder", "data", "--json"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "standard output: No space left on device\n")
