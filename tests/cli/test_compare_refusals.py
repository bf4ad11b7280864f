"""What `compare` refuses before any work, and pages of few results."""

import os
import sys

import numpy as np
import pytest

from peckorder.cli.compare.charts import pictures
from peckorder.cli.compare.report import leaderboard
from peckorder.comparison.contest import Contest, Result, run_contest
from peckorder.comparison.measures import Measure
from peckorder.comparison.table_case import make_table_case
from peckorder.tables.columns import Columns
from peckorder.tables.task import recognise
from support.command_line import check_refused, output_of


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "t.csv"
    rng = np.random.default_rng(0)
    rows = [f"{a:.3f},{b:.3f},{k % 3}" for k, (a, b) in enumerate(rng.random((45, 2)))]
    path.write_text("\n".join(["a,b,grade", *rows]) + "\n")
    return path


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--save", "-"), "compare: save must be a file; got '-'."),
        (("--out", "-"), "compare: out must be a file; got '-'."),
        (
            ("--out", "x.html", "--save", "./x.html"),
            "compare: --save and -o must be two files; got 'x.html' for both.",
        ),
        (("--seed", 2**32), "compare: seed must be an integer from 0 to 2**31; got 4294967296."),
        (
            ("--target", "grade", "--drop", "grade"),
            "compare: drop must not name what --target does; got 'grade'.",
        ),
        (("--save", "caf\udce9"), "compare: save must have a name in UTF-8; got 'caf\\udce9'."),
    ],
)
def test_refused_before_any_work(file, tmp_path, capsys, monkeypatch, flags, sentence):
    monkeypatch.chdir(tmp_path)
    assert check_refused(capsys, "compare", file, *flags) == sentence
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("-o", "-"), "compare: out must be a file; got '-'."),
        (("--repeats", "1"), "compare: repeats must be an integer >= 2; got 1."),
        (
            ("--target", "quality"),
            "compare: target must be left out without a file; got 'quality'.",
        ),
        (("--drop", "a", "--drop", "b"), "compare: drop must be left out without a file; got"),
        (("-o", "no/r.html"), "write: path must be in a folder that exists; got "),
    ],
)
def test_refused_without_a_file(tmp_path, capsys, monkeypatch, flags, sentence):
    monkeypatch.chdir(tmp_path)
    assert check_refused(capsys, "compare", *flags).startswith(sentence)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux")
def test_a_name_that_is_not_utf_8(file, tmp_path, capsys):
    name = os.fsdecode(bytes(tmp_path) + b"/caf\xe9.csv")
    file.rename(name)
    sentence = check_refused(capsys, "compare", name, "-o", tmp_path / "r.html")
    assert sentence.startswith("compare: file must have a name in UTF-8; got '")


def test_judgements_without_their_columns(tmp_path, capsys):
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 2.0 a\nq1 Q0 d2 2 1.0 a\n")
    (tmp_path / "q.csv").write_text("query,doc,grade\nq1,d1,1\n")
    words = ("compare", tmp_path / "a.run", "--qrels", tmp_path / "q.csv")
    sentence = check_refused(capsys, *words, "-o", tmp_path / "r.html")
    assert sentence.startswith("compare: qid must be a column of ")
    assert "which has query, doc, grade" in sentence


def test_classes_by_task_with_queries(tmp_path, capsys):
    path = tmp_path / "t.csv"
    rng = np.random.default_rng(0)
    rows = [f"{k // 5},{x:.3f},{k % 3}" for k, x in enumerate(rng.random(60))]
    path.write_text("\n".join(["qid,x,grade", *rows]) + "\n")
    out = tmp_path / "r.html"
    words = ("compare", path, "--task", "ordinal", "--rankers", "MPRank", "--folds", 2)
    shown = output_of(capsys, *words, "-o", out)
    assert "qid: query (its name)" in shown
    assert "95 % intervals over queries" in shown
    assert "Queries are kept whole: rows of those of a fold" in out.read_text()


def test_a_page_of_one_result():
    one = Result("it", "", {"loss": np.arange(3.0)}, seconds=[0.1])
    contest = Contest((Measure("loss"),), (one,), (("other", "tired"),), 5, 0, "rows")
    section = leaderboard(contest)
    assert section.charts == ()
    assert section.tables[0].rows[0][0] == "1. it"
    assert contest.summary == "it is alone: there is nothing to compare it with."


def test_classes_are_shown_for_the_first_few_and_the_baseline():
    rng = np.random.default_rng(0)
    arrays = {"a": rng.random(60), "b": rng.random(60), "grade": np.arange(60) % 3}
    columns = Columns(arrays, "made.csv")
    case = make_table_case(columns, recognise(columns))
    rankers = ["PRank", "MPRank", "Ridge", "PRank, quadratic"]
    contest = run_contest(case, n_splits=2, only=rankers)
    first = [result.name for result in contest.results if result.origin][:3]
    chart = pictures(case, contest)[0].charts[0]
    assert chart.title == "Which classes are hard"
    names = [curve.label for curve in chart.curves]
    assert names == [*first, "(always the median class)"]
