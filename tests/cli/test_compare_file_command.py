import csv
import gzip
import html
import json
import re
import shlex

import numpy as np
import pytest

import peckorder
from peckorder.cli import compare as work
from peckorder.comparison.contest import Interrupted, run_contest
from peckorder.comparison.table_case import make_table_case
from peckorder.datasets import dump_letor, make_letor
from peckorder.tables.columns import Columns
from peckorder.tables.files.read import read_columns
from peckorder.tables.task import recognise
from support.command_line import give_standard_input, output_of, result_of
from support.command_line import run as run_command
from support.tables import written


@pytest.fixture
def wine(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    grade = np.searchsorted([-1.0, 1.0], X @ [2.0, -1.0])
    lines = ["alcohol;acid, total;kind;quality"]
    lines += [
        f"{a:.3f};{b:.3f};{'red' if a > 0 else 'white'};{g + 3}"
        for (a, b), g in zip(X, grade, strict=True)
    ]
    return written(tmp_path / "wine.csv", "\n".join(lines) + "\n")


def run(*arguments):
    return run_command("compare", *arguments)


FEW = ("--rankers", "PRank", "--rankers", "MPRank", "--rankers", "RankBoost")


def test_ordered_classes_from_a_file_to_a_model(wine, tmp_path, capsys):
    out, model = tmp_path / "report.html", tmp_path / "wine.peckorder"
    code = run(wine, *FEW, "--folds", 3, "-o", out, "--save", model)
    shown = capsys.readouterr()
    assert (code, shown.err) == (0, "")
    for words in (
        "wine.csv: ordered classes",
        "quality: to predict (its name)",
        "3 columns to learn from: alcohol, acid, total, kind",
        "(always the median class)",
        f"Report: {out}",
        f"Model: {model} (",
    ):
        assert words in shown.out
    page = out.read_text()
    for heading in (
        "Which ranker is best on wine.csv?",
        "What was asked",
        "The data at a glance",
        "Leaderboard",
        "Where each ranker wins",
        "Which classes are hard",
        "Boosting, round by round",
        "Are predicted distances true?",
        "What MPRank goes by",
        "What to do next",
        "SHA-256 of wine.csv",
        "text, a column for each of 2 values",
    ):
        assert heading in page
    assert "http" not in page.replace("http://www.w3.org", "")
    loaded = peckorder.load(model)
    assert loaded.feature_names_in_.tolist() == ["alcohol", "acid, total", "kind"]
    assert len(loaded.prepared_names_) == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("report.html", "wine.csv", "wine.peckorder")
    ]


def test_json_has_the_leaderboard_and_nothing_else_is_printed(wine, tmp_path, capsys):
    code = run(*(wine, "--rankers", "PRank", "--folds", 2, "--json", "-o", tmp_path / "r.html"))
    shown = capsys.readouterr()
    result = json.loads(shown.out)
    assert (code, shown.err) == (0, "")
    assert result["task"] == "ordinal"
    assert result["taken"]["quality"] == ["to predict", "its name"]
    first, last = result["leaderboard"]
    assert (first["ranker"], first["level_with_the_first"]) == ("PRank", True)
    assert first["mean rank loss"] < last["mean rank loss"]
    assert last["behind"] == pytest.approx(last["mean rank loss"] - first["mean rank loss"])
    assert result["saved"] is None


def test_quiet_prints_nothing(wine, tmp_path, capsys):
    out = tmp_path / "r.html"
    assert run(wine, "--rankers", "PRank", "--folds", 2, "--quiet", "-o", out) == 0
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "")
    assert out.exists()


def test_letor_files_are_graded_queries(tmp_path, capsys):
    X, y, qid = make_letor(12, random_state=0)
    path = tmp_path / "train.txt"
    dump_letor(X[:, :5], y, path, qid=qid)
    packed = written(tmp_path / "train.txt.gz", gzip.compress(path.read_bytes()))
    out = tmp_path / "r.html"
    code = run(*(packed, "--rankers", "MPRank", "--folds", 2, "--metric", "ndcg@5", "-o", out))
    shown = capsys.readouterr()
    assert (code, shown.err) == (0, "")
    assert "grades within queries" in shown.out
    assert "ndcg@5" in shown.out
    assert "Who is best on how many queries" in out.read_text()


def test_magnitudes_have_pictures_of_distances(wine, tmp_path, capsys):
    out = tmp_path / "r.html"
    code = run(*(wine, "--target", "alcohol", "--rankers", "MPRank", "--folds", 2, "-o", out))
    assert (code, capsys.readouterr().err) == (0, "")
    assert "Which rows are hard" in out.read_text()


@pytest.mark.parametrize("names", [True, False])
def test_ratings_without_a_header(tmp_path, capsys, names):
    rng = np.random.default_rng(0)
    pairs = rng.permutation(30 * 25)[:400]
    taste, worth = rng.normal(size=(30, 2)), rng.normal(size=(25, 2))
    lines = []
    for pair in pairs.tolist():
        user, item = divmod(pair, 25)
        rating = np.clip(np.rint(3 + taste[user] @ worth[item]), 1, 5)
        lines.append(f"{user}\t{item}\t{rating:.0f}\t88{pair:04d}")
    path = written(tmp_path / "u.data", "\n".join(lines) + "\n")
    out, model = tmp_path / "r.html", tmp_path / "m.peckorder"
    flags = ["--columns", "user,item,rating,timestamp"] if names else []
    code = run(
        *(path, *flags, "--folds", 2, "--rankers", "PersonalRanker", "-o", out), *("--save", model)
    )
    shown = capsys.readouterr()
    assert (code, shown.err) == (0, "")
    user = "user" if names else "column 1"
    assert "ratings of items by people" in shown.out
    assert f"{user}: user (" in shown.out
    assert "Few ratings or many" in out.read_text()
    assert type(peckorder.load(model)).__name__ == "PersonalRanker"


def test_runs_with_judgements(tmp_path, capsys):
    rng = np.random.default_rng(0)
    judged, lists = [], {"good": [], "poor": []}
    for query in range(8):
        grades = rng.integers(0, 3, 12)
        judged += [f"q{query} 0 d{k} {g}" for k, g in enumerate(grades)]
        for name, scores in (("good", grades + rng.random(12)), ("poor", rng.random(12))):
            order = np.argsort(-scores)
            lists[name] += [
                f"q{query} Q0 d{k} {place + 1} {scores[k]:.4f} {name}"
                for place, k in enumerate(order)
            ]
    for name, lines in lists.items():
        (tmp_path / f"{name}.run").write_text("\n".join(lines) + "\n")
    (tmp_path / "qrels.txt").write_text("\n".join(judged) + "\n")
    code = run(
        *(tmp_path / "good.run", tmp_path / "poor.run", "--folds", 2),
        *("--qrels", tmp_path / "qrels.txt", "-o", tmp_path / "r.html"),
        *("--rankers", "good", "--rankers", "poor", "--rankers", "RankBoost"),
    )
    shown = capsys.readouterr()
    assert (code, shown.err) == (0, "")
    assert shown.out.index("good") < shown.out.index("poor")
    page = (tmp_path / "r.html").read_text()
    assert "What RankBoost goes by" in page
    assert "peckorder fuse" in page
    assert run(tmp_path / "good.run", "-o", tmp_path / "r.html") == 2
    assert capsys.readouterr().err.startswith("compare: qrels must be given")


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--target", "qualty"], "Did you mean 'quality'?"),
        (["--folds", "1"], "compare: folds must be an integer >= 2; got 1."),
        (["--metric", "ap"], "for task='ordinal'; got 'ap'."),
        (["--columns", "a,b"], ": columns must be 4 names, one for each column"),
        (["--repeats", "3"], "compare: repeats must be left out with a file"),
        (["--rows", "3"], "compare: rows must be an integer >= 20; got 3."),
        (["--save", "no/where"], "no/where: the output must be in a folder that exists"),
        (["--task", "ratings"], "compare: user must be a column"),
    ],
)
def test_a_refusal_is_one_sentence_and_nothing_is_written(wine, tmp_path, capsys, flags, sentence):
    assert run(wine, *flags, "-o", tmp_path / "r.html") == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert sentence in shown.err
    assert shown.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["wine.csv"]


def test_an_interrupt_leaves_nothing_behind(wine, tmp_path, capsys, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(work, "run_contest", interrupt)
    assert run(wine, "-o", tmp_path / "r.html", "--save", tmp_path / "m") == 130
    assert "Interrupted" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["wine.csv"]


def test_a_file_that_is_not_there(tmp_path, capsys):
    assert run(tmp_path / "no.csv", "-o", tmp_path / "r.html") == 2
    assert "there is no such file" in capsys.readouterr().err


def test_standard_input(wine, tmp_path, capsys, monkeypatch):
    give_standard_input(monkeypatch, wine.read_bytes())
    out = tmp_path / "r.html"
    words = ("--format", "csv", "--rankers", "MPRank", "--folds", 2, "-o", out)
    assert "standard input: ordered classes" in output_of(capsys, "compare", "-", *words)
    assert "peckorder compare - " in out.read_text()


def test_commands_of_the_next_steps_work(wine, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "r.html"
    rankers = ("--rankers", "PRank, quadratic", "--rankers", "PRank (RBF kernel)")
    assert run("wine.csv", *rankers, "--folds", 2, "-o", out, "--quiet") == 0
    page = html.unescape(out.read_text())
    assert "peckorder explain" not in page  # of squares there is no sum over features
    found = re.findall(r">(peckorder compare wine\.csv [^<]*)<", page)
    said = [c for c in dict.fromkeys(found) if "NAME" not in c]
    assert any("--save" in command for command in said)
    assert any("--seed 1" in command for command in said)
    for command in said:
        assert run(*shlex.split(command)[2:], "--quiet", "-o", out) == 0
    (tmp_path / "new.csv").write_text(wine.read_text())
    assert run_command("rank", "winner.peckorder", "new.csv", "-o", "ranked.csv") == 0
    assert run("wine.csv", "--rankers", "Ridge", "--folds", 2, "-o", out) == 0
    page = html.unescape(out.read_text())
    assert "peckorder explain winner.peckorder" in page
    words = ("compare", "wine.csv", "--rankers", "Ridge", "--folds", 2, "-o", out)
    shown = " ".join(output_of(capsys, *words, "--save", "r.p").split())
    assert "Model: r.p (Ridge, fitted to all rows)" in shown
    assert run_command("explain", "r.p", "new.csv", "--row", 2) == 0
    assert run_command("info", "r.p") == 0
    assert "Ridge" in capsys.readouterr().out


@pytest.mark.parametrize("ranker", ["LightGBM", "LightGBM (median class)"])
def test_trees_of_another_library_are_kept_where_they_win(wine, tmp_path, capsys, ranker):
    pytest.importorskip("lightgbm")
    model, ranked = tmp_path / "w.peckorder", tmp_path / "ranked.csv"
    words = ("--rankers", ranker, "--folds", 2, "--json", "-o", tmp_path / "r.html")
    saved = result_of(capsys, "compare", wine, *words, "--save", model)["saved"]
    assert saved["ranker"] == ranker
    assert saved["needs"] == "lightgbm"
    is_median = "median" in ranker
    assert ("explained" in saved["limits"]) is is_median
    assert run_command("rank", model, wine, "-o", ranked) == 0
    right = [
        row["predicted"] == row["quality"]
        for row in csv.DictReader(ranked.read_text().splitlines())
    ]
    assert sum(right) > 0.8 * len(right)
    assert run_command("evaluate", ranked, "--model", model) == 0
    assert run_command("info", model) == 0
    assert "LightGBM" in capsys.readouterr().out
    assert run_command("explain", model, wine) == (2 if is_median else 0)
    said = capsys.readouterr()
    if is_median:
        assert "must be boosted for scores, PersonalRanker or linear" in said.err


@pytest.mark.parametrize("grade", ["{}", "{}.25"])
def test_grades_below_zero_are_no_gains(tmp_path, capsys, grade):
    path, out = tmp_path / "g.csv", tmp_path / "r.html"
    cells = [(k // 5, k % 7, grade.format(k % 3 - 2)) for k in range(60)]
    lines = [",".join(map(str, row)) for row in cells]
    path.write_text("\n".join(["qid,a,grade", *lines]) + "\n")
    words = (path, "--rankers", "MPRank", "--folds", 2, "-o", out)
    assert "ndcg" not in output_of(capsys, "compare", *words)
    assert run(*words, "--metric", "ndcg@5") == 2
    assert capsys.readouterr().err.startswith("compare: metric must be ")


def test_ratings_below_zero(tmp_path, capsys):
    path, out = tmp_path / "jokes.csv", tmp_path / "r.html"
    pairs = [(u, i) for u in range(12) for i in range(12)]
    lines = [f"{u},{i},{(u * i + i) % 21 - 10}" for u, i in pairs]
    path.write_text("\n".join(["user,joke,rating", *lines]) + "\n")
    words = (path, "--rankers", "Ridge", "--folds", 2, "-o", out)
    assert "disagreement" in output_of(capsys, "compare", *words)


@pytest.mark.parametrize(
    ("ranker", "sentence"),
    [
        ("PRank", "It cannot be exported (to_onnx): columns of text are coded for it."),
        (
            "MPRank, RBF kernel",
            "It cannot be explained (peckorder explain) or exported (to_onnx): "
            "MPRankCV with kernel='rbf'.",
        ),
    ],
)
def test_limits_of_a_saved_model_are_printed(wine, tmp_path, capsys, ranker, sentence):
    out = ("-o", tmp_path / "r.html", "--save", tmp_path / "m.peckorder")
    words = (wine, "--rankers", ranker, "--folds", 2, *out)
    assert result_of(capsys, "compare", *words, "--json")["saved"]["limits"] == sentence
    assert sentence in " ".join(output_of(capsys, "compare", *words).split())


def test_an_interrupt_shows_the_folds_that_are_complete(wine, tmp_path, capsys, monkeypatch):
    fitted = []
    fit = peckorder.MPRankCV.fit

    def count(self, *given, **options):
        fitted.append(self)
        if len(fitted) == 3:
            raise KeyboardInterrupt
        return fit(self, *given, **options)

    words = (wine, "--rankers", "MPRank", "--rankers", "Ridge", "--folds", 4)
    out = tmp_path / "r.html"
    whole = result_of(capsys, "compare", *words, "-o", out, "--json")["leaderboard"]
    out.unlink()
    monkeypatch.setattr(peckorder.MPRankCV, "fit", count)
    assert run(*words, "-o", out, "--save", tmp_path / "m") == 130
    shown = capsys.readouterr()
    assert shown.err == "Interrupted after 2 splits; nothing was written.\n"
    assert "2 folds, " in shown.out
    assert all(row["ranker"] in shown.out for row in whole)
    assert [path.name for path in tmp_path.iterdir()] == ["wine.csv"]


@pytest.mark.parametrize("task", ["ordinal", "magnitude", "graded"])
def test_interrupted_contests_are_measured_on_what_is_done(wine, tmp_path, task, monkeypatch):
    columns = read_columns(wine)
    arrays = {**columns.arrays, "qid": np.arange(90) // 6}
    arrays = arrays if task == "graded" else columns.arrays
    table = Columns(arrays, "made.csv")
    case = make_table_case(table, recognise(table, target="quality", task=task))
    whole = run_contest(case, n_splits=3, only=["Ridge"])
    ends = iter([False, False, True])

    def stop(done, total, label):
        if next(ends):
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as caught:
        run_contest(case, n_splits=3, only=["Ridge"], on_progress=stop)
    part, fold = caught.value.contest, case.folds(3, 0)
    assert part.n_splits == 2
    one, other = (next(r for r in c.results if r.name == "Ridge") for c in (part, whole))
    name = case.measures[0].name
    assert name == {"ordinal": "mean rank loss", "magnitude": "rmsd", "graded": "ndcg@10"}[task]
    name = "msd" if task == "magnitude" else name
    if task == "graded":
        kept = np.array([fold[case.qid == query][0] < 2 for query in range(15)])
    else:
        kept = fold < 2
    np.testing.assert_allclose(one.values[name], other.values[name][kept], equal_nan=True)
    assert np.isfinite(part.behind(part.results[-1]).half_width)


def test_verbose_prints_lines_where_there_is_no_terminal(wine, tmp_path, capsys):
    words = (wine, "--rankers", "PRank", "--folds", 2, "-o", tmp_path / "r.html")
    assert run(*words, "--verbose", "--json") == 0
    started, reading, *lines = capsys.readouterr().err.splitlines()
    assert (started, reading) == ("Loading", "Reading (0 s)")
    assert re.fullmatch(r"fold 1: PRank \(\d+ s\)", lines[0])
    ahead = r"after 1 fold, mean rank loss: PRank 0\.\d+, \(always the median class\) \d\.\d+"
    assert re.fullmatch(ahead, lines[1])
    assert re.fullmatch(r"fold 2: PRank \(1 of 2, \d+ s, about \d+ s left\)", lines[2])
    assert lines[3].startswith("measuring (2 of 2, ")
    assert run(*words, "--verbose", "--quiet") == 0
    assert capsys.readouterr().err == ""
