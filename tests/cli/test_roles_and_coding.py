"""A table with all troubles of columns goes through all commands."""

import json

import numpy as np
import pandas as pd
import pytest

import peckorder
from peckorder.tables.files.read import read_columns
from support.command_line import check_refused, output_of, run

N = 160
rng = np.random.default_rng(2)
SHOPS = np.array([f"shop {k}" for k in range(30)], dtype=object)
BEGIN = rng.bit_generator.state


@pytest.fixture(autouse=True)
def same_numbers_in_any_order_of_tests():
    rng.bit_generator.state = BEGIN


def troubled():
    """Return rows with text of many kinds, gaps, a rate called q, two names of targets."""
    shop, size = rng.integers(0, 30, N), rng.normal(size=N).round(3)
    share, price = rng.uniform(0, 100, N), rng.uniform(5, 9000, N)
    fit = rng.integers(0, 3, N)
    height = np.sin(shop) + size + fit / 2 + share / 60
    frame = pd.DataFrame(
        {
            "name": [f"n{k}" for k in range(N)],
            "q": rng.integers(-50, 51, N) / 100,
            "shop": SHOPS[shop],
            "size": size,
            "share": [f"{cell:.1f}%" for cell in share],
            "price": [f"${cell:,.2f}" for cell in price],
            "seen": (np.datetime64("2023-01-01") + rng.integers(0, 700, N)).astype(str),
            "fit": np.array(["low", "medium", "high"])[fit],
            "city": np.array(["Oslo", "Rome", "Bern"])[rng.integers(0, 3, N)],
            "score": rng.normal(size=N).round(2),
            "grade": np.digitize(height, [0.5, 1.5, 2.5]),
        }
    ).astype(object)
    for column in ("shop", "share", "price", "seen", "fit", "city", "size"):
        frame.loc[rng.random(N) < 0.05, column] = None
    frame.loc[:1, "city"] = "Lima"
    return frame


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    troubled().to_csv("t.csv", index=False)
    return tmp_path


def said(capsys):
    return json.loads(capsys.readouterr().out)


def test_compare_save_rank_evaluate_explain(folder, capsys):
    rankers = ("--rankers", "MPRank,PRank,RankBoost", "--folds", "3", "-o", "r.html")
    assert run("compare", "t.csv", *rankers, "--save", "m.peckorder", "--json") == 0
    told = said(capsys)
    assert told["task"] == "ordinal"
    assert told["left_out"] == {}
    assert {name: why for name, (_, why) in told["taken"].items()} == {
        "name": "an id, by its name",
        "q": "numbers",
        "shop": "text of 30 different values, each as the mean target of other rows with it",
        "size": "numbers",
        "share": "numbers written as text, in %",
        "price": "numbers written as text, in $",
        "seen": "dates, as year, month, day, weekday, days",
        "fit": "ordered, low < medium < high, by its words",
        "city": "text, a column for each of 3 values, one for 1 rare ones",
        "score": "numbers",
        "grade": "its name",
    }
    notes = "\n".join(told["notes"])
    for note in ("q: not taken for queries", "'score' could be that, too", "--category 'fit'"):
        assert note in notes
    best, baseline = told["leaderboard"][0], told["leaderboard"][-1]
    assert best["mean rank loss"] < 0.7 * baseline["mean rank loss"]
    assert run("rank", "m.peckorder", "t.csv", "-o", "o.csv", "--json") == 0
    notes = "\n".join(said(capsys)["notes"])
    assert "city: 2 rows have a value that is new or rare, such as 'Lima'; it counts as" in notes
    assert "of 160 rows empty, taken as the mean." in notes
    # Rows are recognised by names, ids and text of many values.
    shops = pd.read_csv("o.csv")
    assert list(shops)[:3] == ["name", "shop", "grade"]
    pd.testing.assert_series_equal(shops["shop"], pd.read_csv("t.csv")["shop"])
    assert run("evaluate", "o.csv", "-m", "disagreement", "--json") == 0
    assert said(capsys)["metrics"]["disagreement"]["mean"] < 0.2
    # In Python the same; a frame has types where a file has text.
    ranked = read_columns("o.csv").arrays["score"]
    model = peckorder.load("m.peckorder")
    inner = model.ranker_
    score = getattr(inner, "decision_function", inner.predict)
    for frame in (pd.read_csv("t.csv"), pd.read_csv("t.csv", parse_dates=["seen"])):
        np.testing.assert_allclose(score(model.prepare(frame)), ranked, rtol=1e-12, atol=1e-12)
    assert run("info", "m.peckorder", "--json") == 0
    assert said(capsys)["feature_names"][:2] == ["q", "shop"]


def test_fit_and_explain_prepare_as_compare_does(folder, capsys):
    saved, fitted = "s.peckorder", "f.peckorder"
    words = ("compare", "t.csv", "--rankers", "PRank", "--folds", 2, "--quiet", "-o", "r.html")
    assert run(*words, "--save", saved) == 0
    assert run("fit", "t.csv", "--ranker", "PRank", "--quiet", "-o", fitted) == 0
    frame = pd.read_csv("t.csv")
    one, other = (peckorder.load(path) for path in (saved, fitted))
    np.testing.assert_array_equal(one.prepare(frame), other.prepare(frame))
    np.testing.assert_array_equal(one.decision_function(frame), other.decision_function(frame))
    features = [name for name in frame if name not in ("name", "grade")]
    settings = {"max_iter": 10, "random_state": 0, "shuffle": True, "unit_norm": False}
    ours = peckorder.TableRanker(peckorder.PRank(**settings)).fit(frame[features], frame["grade"])
    np.testing.assert_allclose(ours.prepare(frame), one.prepare(frame), atol=1e-12)
    assert run("explain", fitted, "t.csv", "-o", "ex.csv", "--json") == 0
    capsys.readouterr()
    explained = read_columns("ex.csv").arrays
    assert set(ours.prepared_names_) < set(explained)
    scores = one.decision_function(frame)
    np.testing.assert_allclose(explained["score"], scores, rtol=1e-9, atol=1e-9)


def test_flags_decide_about_columns(folder, capsys):
    words = ("fit", "t.csv", "--ranker", "RankBoost", "--set", "n_rounds=3", "-o", "m.peckorder")
    more = ("--category", "fit,q", "--keep", "name", "--drop", "score", "--target", "grade")
    assert run(*words, *more, "--json") == 0
    told = said(capsys)
    assert told["taken"]["fit"][1] == "text, a column for each of 3 values"
    assert told["taken"]["q"][1].endswith("each as the mean target of other rows with it")
    assert told["taken"]["name"][0] == "features"
    assert told["taken"]["score"] == ["left out", "--drop"]
    assert run("rank", "m.peckorder", "t.csv", "-o", "o.csv", "--quiet") == 0
    compare = ("compare", "t.csv", "--rankers", "MPRank", "--folds", "2", "-o", "r.html")
    assert run(*compare, *more, "--json") == 0
    assert said(capsys)["taken"] == told["taken"]
    page = (folder / "r.html").read_text()
    assert "--drop score --category fit,q --keep name" in page
    assert check_refused(capsys, *words, "--keep", "grade") == (
        "fit: keep must name columns to learn from; got 'grade', which has another role."
    )


def queries(path="t.csv"):
    """Write rows in two queries, the column of which is called qid."""
    frame = pd.DataFrame({"qid": np.arange(40) // 10, "a": rng.normal(size=40).round(3)})
    frame["grade"] = (frame["a"] + rng.normal(size=40) > 0).astype(int)
    frame.to_csv(path, index=False)


@pytest.mark.parametrize("nothing", ["none", ""])
def test_all_commands_take_no_column_of_queries(tmp_path, monkeypatch, capsys, nothing):
    monkeypatch.chdir(tmp_path)
    queries()
    no_qid = ("--qid", nothing, "--json")
    fit = ("fit", "t.csv", "--ranker", "MPRank", "--set", "C=1", "-o", "m.peckorder")
    assert run(*fit, "--json") == 0
    assert said(capsys)["taken"]["qid"][0] == "query"
    assert run(*fit, *no_qid) == 0
    assert said(capsys)["taken"]["qid"][0] == "feature"
    compare = ("compare", "t.csv", "--rankers", "MPRank", "--folds", "2", "-o", "r.html")
    assert run(*compare, *no_qid) == 0
    assert said(capsys)["task"] == "ordinal"
    assert run(*fit, "--drop", "qid", "--quiet") == 0
    assert run("rank", "m.peckorder", "t.csv", "-o", "o.csv", *no_qid) == 0
    assert said(capsys)["lists"] == 1
    assert run("evaluate", "o.csv", "-m", "ap", *no_qid) == 0
    assert said(capsys)["metrics"]["ap"]["queries"] == 1
    assert run("rank", "m.peckorder", "t.csv", "-o", "o.csv", "--json") == 0
    assert said(capsys)["lists"] == 4


def test_scores_and_classes_can_be_unset_in_evaluate(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = [f"{k % 3},{k / 7},{k % 2}" for k in range(12)]
    (tmp_path / "o.csv").write_text("\n".join(["grade,score,predicted", *lines]) + "\n")
    assert run("evaluate", "o.csv", "--score", "none", "--json") == 0
    assert "disagreement" not in said(capsys)["metrics"]
    assert run("evaluate", "o.csv", "--predicted", "none", "--json") == 0
    assert set(said(capsys)["metrics"]) == {"ndcg@10", "ap", "rr"}


def test_ordered_words_are_evaluated_in_their_order(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["poor", "fair", "excellent"]
    lines = [f"{words[k % 3]},{k / 7},{words[k % 2]}" for k in range(12)]
    (tmp_path / "o.csv").write_text("\n".join(["grade,score,predicted", *lines]) + "\n")
    assert run("evaluate", "o.csv", "--json") == 0
    guessed = said(capsys)
    sentence = "The classes are poor < fair < excellent (--classes for another order)."
    assert sentence in guessed["notes"]
    assert run("evaluate", "o.csv", "--classes", "poor,fair,excellent", "--json") == 0
    assert said(capsys)["metrics"] == guessed["metrics"]


def test_sparse_letor_without_queries(tmp_path, capsys):
    file, out = tmp_path / "train.txt", tmp_path / "m.peckorder"
    lines = [f"{k % 2} qid:{k // 4} {1 + 7 * k % 50}:1 60:{k % 2}" for k in range(40)]
    file.write_text("\n".join(lines) + "\n")
    fit = ("fit", file, "--ranker", "RankBoost", "--set", "n_rounds=2", "-o", out, "--json")
    assert run(*fit, "--qid", "none") == 0
    assert "qid" not in said(capsys)["taken"]
    for option in ("--category", "--keep"):
        assert f"got {option}." in check_refused(capsys, *fit, option, "1")


def test_ordered_categoricals_of_parquet_keep_their_order(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    steps = ["dire", "so-so", "fine", "superb"]
    kind, wish = rng.integers(0, 4, 90), rng.integers(0, 3, 90)
    frame = pd.DataFrame(
        {
            "kind": pd.Categorical.from_codes(kind, steps, ordered=True),
            "size": rng.normal(size=90),
            "wish": pd.Categorical.from_codes(wish, steps, ordered=True),
        }
    )
    frame.to_parquet("t.parquet", row_group_size=40)
    assert run("fit", "t.parquet", "--ranker", "PRank", "-o", "m.peckorder", "--json") == 0
    told = said(capsys)
    shown = "dire < so-so < fine < superb"
    assert told["taken"]["kind"] == ["features", f"ordered, {shown}, as in the table"]
    assert "'wish' has the classes dire < so-so < fine (--classes" in "\n".join(told["notes"])
    model = peckorder.load("m.peckorder")
    assert model.classes_.tolist() == steps[:3]
    frame.to_csv("t.csv", index=False)
    for file in ("t.csv", "t.parquet"):
        assert run("rank", "m.peckorder", file, "-o", f"{file}.o.csv", "--quiet") == 0
    found = [read_columns(f"{file}.o.csv").arrays["score"] for file in ("t.csv", "t.parquet")]
    np.testing.assert_array_equal(*found)
    np.testing.assert_array_equal(model.decision_function(frame), found[0])


def test_cells_that_cannot_be_read_are_refused_by_their_row(folder, capsys):
    words = ("fit", "t.csv", "--ranker", "MPRank", "--set", "C=1", "-o", "m.peckorder")
    assert run(*words, "--quiet") == 0
    frame = pd.read_csv("t.csv", dtype=str)
    wrong = {"share": ("5 kg", "numbers, or none"), "seen": ("soon", "dates")}
    for name, (cell, rule) in wrong.items():
        rows = frame.copy()
        rows.loc[70, name] = cell
        rows.to_csv("new.csv", index=False)
        for more in (("--rows", "50"), ()):
            refused = check_refused(capsys, "rank", "m.peckorder", "new.csv", "-o", "o.csv", *more)
            expected = f": column '{name}' of new.csv must be {rule}; got '{cell}' in row 71."
            assert refused.endswith(expected)
    (folder / "new.csv").write_text("q\n1\n")
    refused = check_refused(capsys, "rank", "m.peckorder", "new.csv", "-o", "o.csv")
    assert "none for shop, size, share" in refused


def test_marks_of_gaps_among_words_are_no_words(tmp_path, capsys):
    level = np.array(["low", "medium", "high"], dtype=object)[np.arange(90) % 3]
    y = np.arange(90) % 3 + 0.5
    level[::10], shop = "NA", np.array(["here", "there", "?"], dtype=object)[np.arange(90) % 3]
    date = np.array([f"2024-01-{k % 28 + 1:02}" for k in range(90)], dtype=object)
    date[5] = "n/a"
    columns = {"level": level, "shop": shop, "when": date, "size": np.arange(90) % 11, "y": y}
    pd.DataFrame(columns).to_csv(tmp_path / "t.csv", index=False)
    words = ("fit", tmp_path / "t.csv", "--ranker", "MPRank", "-o", tmp_path / "m.peckorder")
    said = output_of(capsys, *words)
    assert "level: ordered, low < medium < high, by its words" in said
    assert "level: 'NA' was taken for an empty cell, 9 times." in said
    assert "when: 'n/a' was taken for an empty cell, 1 time." in said
    assert "shop: '?' was taken for a value, 30 times; leave cells empty where none" in said
    model = peckorder.load(tmp_path / "m.peckorder")
    assert model.prepared_names_[0] == "level"
    # pandas makes a gap of NA, the command line a text: both mean that nothing is known.
    output_of(
        capsys, "rank", tmp_path / "m.peckorder", tmp_path / "t.csv", "-o", tmp_path / "r.csv"
    )
    scores = model.decision_function(pd.read_csv(tmp_path / "t.csv"))
    found = pd.read_csv(tmp_path / "r.csv")["score"]
    np.testing.assert_allclose(found, scores, rtol=0, atol=1e-14)  # products in blocks


def test_labels_with_commas_and_one_star(tmp_path, capsys):
    size = np.arange(60) % 4
    words = np.array(["so, so", "good", "very good", "top, really"], dtype=object)[size]
    stars = np.array(["1 star", "2 stars", "3 stars", "4 stars"], dtype=object)[size]
    for name, label in (("words", words), ("stars", stars)):
        table = pd.DataFrame({"size": size + rng.normal(size=60), "label": label})
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    model, ranked = tmp_path / "m.peckorder", tmp_path / "r.csv"
    classes = ("--classes", "so, so,good,very good,top, really")
    learnt = ("--ranker", "PRank", "-o", model)
    output_of(capsys, "fit", tmp_path / "words.csv", *classes, *learnt)
    assert peckorder.load(model).classes_.tolist()[::3] == ["so, so", "top, really"]
    output_of(capsys, "rank", model, tmp_path / "words.csv", "-o", ranked)
    for more in (("--model", model), classes):
        output_of(capsys, "evaluate", ranked, *more)
    output_of(capsys, "fit", tmp_path / "stars.csv", *learnt)
    assert peckorder.load(model).classes_.tolist() == [1, 2, 3, 4]
