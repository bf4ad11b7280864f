"""What `rank` writes, `evaluate` reads; and both say which cells were empty."""

import numpy as np
import pandas as pd
import pytest

from peckorder.cli.evaluate.roles import find_roles
from peckorder.tables.columns import Columns
from peckorder.tables.files.read import read_columns
from support.command_line import check_refused, output_of, result_of, run, table, write_table
from support.tables import written


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    data = write_table(folder / "w.csv")
    for name, ranker in (("p", "PRank"), ("b", "RankBoost"), ("t", "RankBoost (trees)")):
        words = ("fit", data, "--target", "grade", "--ranker", ranker, "--quiet")
        more = ("--set", "n_rounds=5") if name != "p" else ()
        assert run(*words, *more, "-o", folder / f"{name}.peckorder") == 0
    return folder


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "letor"])
def test_all_formats_are_measured_alike(trained, tmp_path, capsys, suffix):
    model, result = trained / "p.peckorder", []
    for name in ("o.csv", f"o.{suffix}"):
        out = tmp_path / name
        assert run("rank", model, trained / "w.csv", "-o", out, "--quiet") == 0
        result.append(result_of(capsys, "evaluate", out, "--json")["metrics"])
    assert result[0] == result[1]
    of_classes = {"mean rank loss", "exactly right", "macro_mae", "qwk"}
    assert set(result[0]) == of_classes | {"ndcg@10", "disagreement"}


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
        notes = result_of(capsys, *words, *(("--target", *more) if more else ()))["notes"]
        assert any(n.startswith("No column of targets") for n in notes) is says
        assert read_columns(out).arrays["target"].tolist() == targets
    said = check_refused(capsys, *words, "--target", "wort")
    assert "target must be a column of" in said
    lines = text.splitlines()
    lines[2] = lines[2][:-1]  # a row without a label
    renamed.write_text("\n".join(lines) + "\n")
    (note,) = result_of(capsys, *words)["notes"]
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
    first, second = (result_of(capsys, "evaluate", path, "--json") for path in (every, known))
    assert first["metrics"] == second["metrics"]
    assert first["rows"] == 4
    assert first["notes"][:3] == [
        "2 rows have no 'grade': left out.",
        "2 rows have no 'score': left out.",
        "1 row has no 'qid': left out.",
    ]
    every.write_text("grade,score\n1,\n,2\n")
    assert check_refused(capsys, "evaluate", every) == (
        f"evaluate: {every} must have rows with all of 'grade', 'score'; got none."
    )


@pytest.mark.parametrize(
    ("model", "what"), [("p", "the mean"), ("b", "an abstention"), ("t", "a missing value")]
)
@pytest.mark.parametrize("rows", [7, 1000])
def test_gaps_in_learnt_columns_are_said(trained, tmp_path, capsys, model, what, rows):
    frame = pd.read_csv(trained / "w.csv", dtype=str)
    frame.loc[::3, "a"] = "?"
    frame.loc[:, "b"] = ""
    frame.loc[5, "colour"] = ""
    frame.to_csv(tmp_path / "w.csv", index=False)
    words = ("rank", trained / f"{model}.peckorder", tmp_path / "w.csv", "--json")
    assert result_of(capsys, *words, "--rows", rows, "-o", tmp_path / "o.csv")["notes"] == [
        f"a: 40 of 120 rows empty, taken as {what}.",
        f"b: 120 of 120 rows empty, taken as {what}.",
        # Trees have one column of categories for it.
        f"colour: 1 of 120 rows empty, taken as {what if model == 't' else 'none of its values'}.",
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
        assert "mean rank loss" in result_of(capsys, "evaluate", out, "--json")["metrics"]
    # As numbers they are put on a scale, not in classes.
    if ranker not in ("PRank",):
        assert run(*fit, "--task", "magnitude", "--quiet") == 0
        assert run("rank", model, tmp_path / "w.csv", "-o", out, "--quiet") == 0
        assert "predicted" not in pd.read_csv(out)


def announced(capsys, folder, *words):
    """Compare and save; return the figure of the saved model, and half its interval."""
    out = ("--save", folder / "m.peckorder", "-o", folder / "r.html", "--folds", 3)
    result = result_of(capsys, "compare", *words, *out, "--json")
    (kept,) = (r for r in result["leaderboard"] if r["ranker"] == result["saved"]["ranker"])
    return kept[result["decides"]], kept["half_width"]


def measured(capsys, folder, name, *words):
    """Rank and evaluate; return a metric, and half its interval."""
    out = folder / "ranked.csv"
    assert run("rank", folder / "m.peckorder", *words, "-o", out, "--quiet") == 0
    value = result_of(capsys, "evaluate", out, "-m", name, "--json")["metrics"][name]
    low, high = value.get("low"), value.get("high")
    return value["mean"], 0.0 if low is None else (high - low) / 2


def check_as_announced(found, expected):
    assert abs(found[0] - expected[0]) <= expected[1] + found[1]


def rows_of_table(n=500):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 3)).round(3)
    height = X @ [1.0, -0.5, 0.0] + np.abs(X[:, 2]) + 0.4 * rng.normal(size=n)
    return X, height


@pytest.mark.parametrize("ranker", ["PRank", "MPRank", "RankBoost"])
def test_the_figure_of_classes_is_the_one_announced(tmp_path, capsys, ranker):
    X, height = rows_of_table()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["stars"] = np.array([3, 4, 7, 9])[np.searchsorted([-0.5, 0.5, 1.5], height)]
    frame[:250].to_csv(tmp_path / "train.csv", index=False)
    frame[250:].to_csv(tmp_path / "test.csv", index=False)
    words = (tmp_path / "train.csv", "--target", "stars", "--rankers", ranker)
    expected = announced(capsys, tmp_path, *words)
    assert expected[0] < 0.6
    predicted = measured(capsys, tmp_path, "exactly right", tmp_path / "test.csv")
    right = announced(capsys, tmp_path, *words, "--metric", "exactly right")
    check_as_announced(predicted, right)
    # Steps are between classes, and numbers 3, 4, 7 and 9 are no scale of steps.
    ranked = pd.read_csv(tmp_path / "ranked.csv")
    level = {3: 0, 4: 1, 7: 2, 9: 3}
    steps = (ranked["predicted"].map(level) - ranked["stars"].map(level)).abs()
    check_as_announced((steps.mean(), 2 * steps.std() / 250**0.5), expected)


@pytest.mark.parametrize("ranker", ["MPRank", "SVRank", "RankBoost"])
def test_the_figure_of_magnitudes_is_the_one_announced(tmp_path, capsys, ranker):
    X, height = rows_of_table()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(target=1e5 * height)
    frame[:250].to_csv(tmp_path / "train.csv", index=False)
    frame[250:].to_csv(tmp_path / "test.csv", index=False)
    words = (tmp_path / "train.csv", "--rankers", ranker)
    expected = announced(capsys, tmp_path, *words)
    found = measured(capsys, tmp_path, "msd", tmp_path / "test.csv")[0] ** 0.5
    check_as_announced((found, expected[1]), expected)
    spread = frame["target"].std() * 2**0.5
    assert found < 0.95 * spread


@pytest.mark.parametrize("ranker", ["MPRank", "SVRank", "RankBoost", "PRank on grades"])
def test_the_figure_of_grades_is_the_one_announced(tmp_path, capsys, ranker):
    X, height = rows_of_table(600)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["qid"], frame["grade"] = np.arange(600) // 10, np.searchsorted([0.5, 1.5], height)
    frame[:300].to_csv(tmp_path / "train.csv", index=False)
    frame[300:].to_csv(tmp_path / "test.csv", index=False)
    expected = announced(capsys, tmp_path, tmp_path / "train.csv", "--rankers", ranker)
    check_as_announced(measured(capsys, tmp_path, "ndcg@10", tmp_path / "test.csv"), expected)


def test_the_figure_of_ratings_is_the_one_announced(tmp_path, capsys):
    rng = np.random.default_rng(0)
    taste, worth = rng.normal(size=(60, 2)), rng.normal(size=(40, 2))
    user, item = np.divmod(rng.permutation(60 * 40)[:1500], 40)
    given = np.einsum("ij,ij->i", taste[user], worth[item]) + 0.3 * rng.normal(size=1500)
    rating = np.clip(np.rint(3 + given), 1, 5).astype(int)
    frame = pd.DataFrame({"user": user, "item": item, "rating": rating})
    # Of a third of the people half of what they gave, as people are tested in a fold.
    is_held = (user < 20) & (rng.random(1500) < 0.5)
    frame[~is_held].to_csv(tmp_path / "train.csv", index=False)
    frame[is_held].to_csv(tmp_path / "test.csv", index=False)
    words = (tmp_path / "train.csv", "--rankers", "PersonalRanker")
    expected = announced(capsys, tmp_path, *words)
    check_as_announced(measured(capsys, tmp_path, "disagreement", tmp_path / "test.csv"), expected)


@pytest.mark.parametrize("ranker", ["MPRank", "RankBoost"])
def test_the_figure_of_fused_runs_is_the_one_announced(tmp_path, capsys, ranker):
    rng = np.random.default_rng(0)
    for part in ("train", "test"):
        judged, lists = [], {"one": [], "two": []}
        (tmp_path / part).mkdir()
        for query in range(30):
            grades = rng.integers(0, 3, 15)
            judged += [f"q{query} 0 d{k} {g}" for k, g in enumerate(grades)]
            for name, noise in (("one", 1.0), ("two", 2.0)):
                scores = grades + noise * rng.normal(size=15)
                lists[name] += [
                    f"q{query} Q0 d{k} {place + 1} {scores[k]:.6f} {name}"
                    for place, k in enumerate(np.argsort(-scores))
                ]
        for name, lines in (*lists.items(), ("qrels", judged)):
            written(
                tmp_path / part / f"{name}.{'txt' if name == 'qrels' else 'run'}",
                "\n".join(lines) + "\n",
            )
    train, test = (
        [tmp_path / part / f"{name}.run" for name in lists] for part in ("train", "test")
    )
    words = (*train, "--qrels", tmp_path / "train" / "qrels.txt", "--rankers", ranker)
    expected = announced(capsys, tmp_path, *words)
    out = tmp_path / "fused.run"
    assert run("rank", tmp_path / "m.peckorder", *test, "-o", out, "--quiet") == 0
    judge = ("--qrels", tmp_path / "test" / "qrels.txt", "-m", "ndcg@10", "--json")
    value = result_of(capsys, "evaluate", out, *judge)["metrics"]["ndcg@10"]
    check_as_announced((value["mean"], (value["high"] - value["low"]) / 2), expected)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "jsonl"])
def test_decimal_commas_of_targets_do_not_become_thousands(tmp_path, capsys, suffix):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 2)).round(3), columns=["a", "b"])
    labels = frame["a"] + 0.1 * frame["b"] + 5
    frame["price"] = [f"{label:.3f}".replace(".", ",") for label in labels]
    frame["note"] = frame["price"]
    data, model, out = tmp_path / "t.csv", tmp_path / "m.peckorder", tmp_path / f"o.{suffix}"
    frame.to_csv(data, sep=";", decimal=",", index=False)
    fit = ("fit", data, "--ranker", "MPRank", "--target", "price", "--drop", "note", "--quiet")
    assert run(*fit, "-o", model) == 0
    assert run("rank", model, data, "-o", out, "--quiet") == 0
    words = ("evaluate", out, "--model", model, "-m", "rmse", "--json")
    assert result_of(capsys, *words)["metrics"]["rmse"]["mean"] < 0.1
    if suffix == "csv":  # other columns are copied
        assert pd.read_csv(out, dtype=str)["note"].tolist() == frame["note"].tolist()


@pytest.mark.parametrize("name", ["t.arff", "t.xlsx"])
def test_what_is_only_read_is_ranked_as_csv(trained, tmp_path, capsys, name):
    frame = pd.read_csv(trained / "w.csv")[:9]
    if name == "t.xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(tmp_path / name, index=False)
    else:
        names = "".join(f"@attribute {column} string\n" for column in frame)
        rows = frame.to_csv(index=False, header=False)
        written(tmp_path / name, f"@relation r\n{names}@data\n{rows}")
    assert run("rank", trained / "p.peckorder", tmp_path / name, "--quiet") == 0
    first, *others = capsys.readouterr().out.splitlines()
    assert "score" in first.split(",")
    assert len(others) == 9


@pytest.mark.parametrize("more", [(), ("--features",)])
def test_whole_numbers_called_q_are_measurements(tmp_path, capsys, more):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"q": rng.integers(0, 40, 200), "a": rng.normal(size=200).round(2)})
    frame["stars"] = 1 + np.digitize(frame["q"], [10, 20, 30])
    data, model, out = tmp_path / "t.csv", tmp_path / "m.peckorder", tmp_path / "o.csv"
    frame.to_csv(data, index=False)
    shown = output_of(capsys, "fit", data, "--ranker", "PRank", "-o", model)
    assert "q: not taken for queries, since rows of one do not stand together" in shown
    assert "q: left out" not in shown
    assert run("rank", model, data, "-o", out, *more, "--quiet") == 0
    assert ("q" in pd.read_csv(out)) is bool(more)
    result = result_of(capsys, "evaluate", out, "--json")
    assert result["metrics"]["mean rank loss"]["mean"] < 0.1


@pytest.mark.parametrize("name", ["customer_id", "user"])
def test_ids_of_one_row_each_are_no_queries(tmp_path, capsys, name):
    frame = pd.DataFrame({"x": np.arange(60) % 7.0, "price": np.arange(60) % 7 + 0.5})
    frame.insert(0, name, [f"C{k:03}" for k in range(60)])
    frame.to_csv(tmp_path / "t.csv", index=False)
    model, ranked = tmp_path / "m.peckorder", tmp_path / "r.csv"
    output_of(capsys, "fit", tmp_path / "t.csv", "--ranker", "MPRank", "-o", model)
    output_of(capsys, "rank", model, tmp_path / "t.csv", "-o", ranked)
    for words in (("--model", model), ("--target", "price")):
        result = result_of(capsys, "evaluate", ranked, *words, "--metric", "disagreement", "--json")
        assert result["metrics"]["disagreement"]["queries"] == 1
    # With several rows each they are.
    frame[name] = frame[name].str[:3]
    frame["score"] = frame["x"]
    frame.to_csv(ranked, index=False)
    result = result_of(capsys, "evaluate", ranked, "--target", "price", "-m", "tau", "--json")
    assert result["metrics"]["tau"]["queries"] == 6


def test_ratings_without_names_are_found_by_their_place():
    names = ("column 1", "column 2", "column 3", "column 4", "score", "position")
    found = find_roles(Columns({name: np.arange(4.0) for name in names}, "ranked.tsv"), {})
    assert found[:4] == ("column 3", "score", None, "column 1")
    assert found.notes == (
        "'column 3' was taken for ratings, 'column 1' for people, by their place.",
    )
