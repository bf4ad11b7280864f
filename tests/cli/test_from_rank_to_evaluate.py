"""What `rank` writes, `evaluate` reads; and both say which cells were empty."""

import json

import pandas as pd
import pytest

from peckorder.tables.files.read import read_columns
from support.command_line import check_refused, run, table, write_table


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    data = write_table(folder / "w.csv")
    for name, ranker in (("p", "PRank"), ("b", "RankBoost")):
        words = ("fit", data, "--target", "grade", "--ranker", ranker, "--quiet")
        more = ("--set", "n_rounds=5") if name == "b" else ()
        assert run(*words, *more, "-o", folder / f"{name}.peckorder") == 0
    return folder


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "letor"])
def test_all_formats_are_measured_alike(trained, tmp_path, capsys, suffix):
    model, told = trained / "p.peckorder", []
    for name in ("o.csv", f"o.{suffix}"):
        out = tmp_path / name
        assert run("rank", model, trained / "w.csv", "-o", out, "--quiet") == 0
        assert run("evaluate", out, "--json") == 0
        told.append(json.loads(capsys.readouterr().out)["metrics"])
    assert told[0] == told[1]
    assert set(told[0]) == {"mean rank loss", "exactly right", "disagreement"}


@pytest.mark.parametrize("rows", [7, 1000])
@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
@pytest.mark.parametrize("order", [(), ("--no-positions",), ("--qid", "one", "--sort")])
def test_columns_are_numbers_if_all_cells_are(trained, tmp_path, rows, suffix, order):
    cells = {
        "whole": lambda k: k - 50,
        "large": lambda k: 2**62 + k,
        "decimal": lambda k: k / 8,
        "some": lambda k: "" if k == 90 else k,
        "code": lambda k: f"{k:03}",
        "late": lambda k: "x" if k == 119 else k,
        "cents": lambda k: f"{k}.50",
        "lossy": lambda k: 2**53 + 1 if k == 3 else k / 2,
        "id": lambda k: "10.0" if k == 7 else k,
        "one": lambda k: 1,
    }
    frame = pd.read_csv(trained / "w.csv", dtype=str).drop(columns="qid")
    for name, cell in cells.items():
        frame[name] = [str(cell(k)) for k in range(len(frame))]
    data, out = tmp_path / "w.csv", tmp_path / f"o.{suffix}"
    frame.to_csv(data, index=False)
    words = ("rank", trained / "p.peckorder", data, "--rows", rows, *order)
    assert run(*words, "-o", out, "--quiet") == 0
    found = read_columns(out).arrays
    kinds = {name: found[name].dtype.kind for name in cells}
    assert kinds == {
        **dict.fromkeys(("whole", "large", "one"), "i"),
        **dict.fromkeys(("decimal", "some"), "f"),
        **dict.fromkeys(("code", "late", "cents", "lossy", "id"), "O"),
    }
    assert sorted(found["large"].tolist()) == [2**62 + k for k in range(120)]
    assert sorted(found["id"]) == sorted(frame["id"])


def test_text_of_a_format_with_types_stays_text(trained, tmp_path):
    frame = pd.read_csv(trained / "w.csv", dtype={"grade": str})
    frame.to_parquet(tmp_path / "w.parquet")
    out = tmp_path / "o.parquet"
    words = (trained / "p.peckorder", tmp_path / "w.parquet", "-o", out)
    assert run("rank", *words, "--quiet") == 0
    assert pd.read_parquet(out)["grade"].tolist() == frame["grade"].tolist()


def test_letor_begins_with_targets(trained, tmp_path, capsys):
    _, y, _ = table()
    renamed = tmp_path / "w.csv"
    text = (trained / "w.csv").read_text()
    renamed.write_text(text.replace("grade", "worth", 1))
    out = tmp_path / "o.letor"
    words = ("rank", trained / "p.peckorder", renamed, "-o", out, "--json")
    for more, targets, says in (((), [0] * 120, True), (("worth",), y.tolist(), False)):
        assert run(*words, *(("--target", *more) if more else ())) == 0
        notes = json.loads(capsys.readouterr().out)["notes"]
        assert any(n.startswith("No column of targets") for n in notes) is says
        assert read_columns(out).arrays["target"].tolist() == targets
    said = check_refused(capsys, *words, "--target", "wort")
    assert "target must be a column of" in said
    lines = text.splitlines()
    lines[2] = lines[2][:-1]  # a row without a label
    renamed.write_text("\n".join(lines) + "\n")
    assert run(*words) == 0
    (note,) = json.loads(capsys.readouterr().out)["notes"]
    assert note == "1 row has no 'grade': 0 in LETOR, which has no gaps."
    assert read_columns(out).arrays["target"].tolist() == [y[0], 0, *y[2:]]
    renamed.write_text("\n".join(line + "x" for line in lines).replace("gradex", "y"))
    said = check_refused(capsys, *words)
    assert said.endswith("in 'y'. Add --target none to do without.")
    assert run(*words, "--target", "none", "--quiet") == 0


def test_rows_without_a_label_or_a_score_are_left_out(tmp_path, capsys):
    every, known = tmp_path / "r.csv", tmp_path / "k.csv"
    rows = ["a,2,1.5", "a,0,", "a,0,0.5", "b,,3", "b,1,2", ",1,1", "b,0,1", "a,,"]
    every.write_text("\n".join(["qid,grade,score", *rows]) + "\n")
    whole = [row for row in rows if all(row.split(","))]
    known.write_text("\n".join(["qid,grade,score", *whole]) + "\n")
    told = []
    for path in (every, known):
        assert run("evaluate", path, "--json") == 0
        told.append(json.loads(capsys.readouterr().out))
    assert told[0]["metrics"] == told[1]["metrics"]
    assert told[0]["rows"] == 4
    assert told[0]["notes"][:3] == [
        "2 rows have no 'grade': left out.",
        "2 rows have no 'score': left out.",
        "1 row has no 'qid': left out.",
    ]
    every.write_text("grade,score\n1,\n,2\n")
    assert check_refused(capsys, "evaluate", every) == (
        f"evaluate: {every} must have rows with all of 'grade', 'score'; got none."
    )


@pytest.mark.parametrize(("model", "what"), [("p", "the mean"), ("b", "an abstention")])
@pytest.mark.parametrize("rows", [7, 1000])
def test_gaps_in_learnt_columns_are_said(trained, tmp_path, capsys, model, what, rows):
    frame = pd.read_csv(trained / "w.csv", dtype=str)
    frame.loc[::3, "a"] = "?"
    frame.loc[:, "b"] = ""
    frame.loc[5, "colour"] = ""
    frame.to_csv(tmp_path / "w.csv", index=False)
    words = ("rank", trained / f"{model}.peckorder", tmp_path / "w.csv", "--json")
    assert run(*words, "--rows", rows, "-o", tmp_path / "o.csv") == 0
    assert json.loads(capsys.readouterr().out)["notes"] == [
        f"a: 40 of 120 rows empty, taken as {what}.",
        f"b: 120 of 120 rows empty, taken as {what}.",
        "colour: 1 of 120 rows empty, taken as none of its values.",
    ]


@pytest.mark.parametrize("ranker", ["PRank", "MPRank", "MPRankCV", "SVRank", "RankBoost"])
def test_rank_writes_classes_where_labels_are_classes(tmp_path, capsys, ranker):
    frame = pd.read_csv(write_table(tmp_path / "w.csv")).drop(columns=["qid", "colour"])
    frame.to_csv(tmp_path / "w.csv", index=False)
    model, out = tmp_path / "m.peckorder", tmp_path / "o.csv"
    fit = ("fit", tmp_path / "w.csv", "--ranker", ranker, "-o", model)
    compare = ("compare", tmp_path / "w.csv", "--rankers", ranker, "-o", tmp_path / "r.html")
    in_board = ranker not in ("MPRankCV", "SVRank")
    ways = [fit, *([(*compare, "--save", model, "--folds", 2)] if in_board else [])]
    for words in ways:
        assert run(*words, "--quiet") == 0
        assert run("rank", model, tmp_path / "w.csv", "-o", out, "--quiet") == 0
        ranked = pd.read_csv(out)
        assert (ranked["predicted"] == ranked["grade"]).mean() > 0.7
        assert run("evaluate", out, "--json") == 0
        assert "mean rank loss" in json.loads(capsys.readouterr().out)["metrics"]
    # As numbers they are put on a scale, not in classes.
    if ranker not in ("PRank",):
        assert run(*fit, "--task", "magnitude", "--quiet") == 0
        assert run("rank", model, tmp_path / "w.csv", "-o", out, "--quiet") == 0
        assert "predicted" not in pd.read_csv(out)
