import numpy as np
import pandas as pd
import pytest

import peckorder
from peckorder.comparison.candidates import CANDIDATES, plain_name
from peckorder.comparison.refit import fitted_candidates
from peckorder.tables.files.read import read_columns
from peckorder.tables.scaling import Scaling
from support.command_line import check_refused, output_of, result_of, run, table, write_table


@pytest.fixture
def data(tmp_path):
    return write_table(tmp_path / "w.csv", colours=False)


def test_fits_what_python_would(tmp_path, capsys, data):
    out = tmp_path / "m.peckorder"
    words = ("fit", data, "--target", "grade", "--ranker", "MPRank", "--set", "C=10")
    shown = output_of(capsys, *words, "--no-scale", "--out", out)
    assert "qid: query" in shown
    assert f"MPRank: fitted to 120 rows, in {out}" in shown
    model = peckorder.load(out)
    X, y, qid = table()
    assert model.ranker_.C == 10
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    expected = peckorder.MPRank(C=10).fit(X, y.astype(float), qid=qid)
    np.testing.assert_array_equal(model.ranker_.coef_, expected.coef_)


def test_scales_unless_told_not_to(tmp_path, data):
    out = tmp_path / "m.peckorder"
    words = ("fit", data, "--target", "grade", "--ranker", "MPRank", "--quiet")
    assert run(*words, "--set", "C=1", "-o", out) == 0
    X, y, qid = table()
    scaling = Scaling.learn(X)
    expected = peckorder.MPRank().fit(scaling.apply(X), y.astype(float), qid=qid)
    model = peckorder.load(out)
    np.testing.assert_array_equal(model.ranker_.coef_, expected.coef_)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    scores = expected.predict(scaling.apply(X))
    np.testing.assert_array_equal(model.predict(pd.read_csv(data)), scores)
    np.testing.assert_array_equal(model.predict(X), scores)


def test_settings_are_those_of_compare_unless_set(tmp_path, capsys):
    file, out = tmp_path / "w.csv", tmp_path / "m.peckorder"
    X, y, _ = table()
    rows = [f"{a},{b},{c},{n}" for (a, b, c), n in zip(X, y, strict=True)]
    file.write_text("\n".join(["a,b,c,size", *rows]) + "\n")
    words = ("fit", file, "--target", "size", "-o", out, "--json", "--ranker")
    settings, models = {}, {}
    for more in ("PRank", "PRank --set max_iter=3", "MPRank", "MPRank --set C=7"):
        settings[more] = result_of(capsys, *words, *more.split())["settings"]
        models[more] = peckorder.load(out).ranker_
    fixed = {"random_state": 0, "shuffle": True, "unit_norm": False}
    assert settings["PRank"]["as_in_compare"] == fixed
    assert set(settings["PRank"]["chosen"]) == {"max_iter"}
    assert settings["PRank --set max_iter=3"]["as_in_compare"] == fixed
    assert settings["PRank --set max_iter=3"]["by_hand"] == {"max_iter": 3}
    assert models["PRank --set max_iter=3"].n_iter_ == 3
    scaled = Scaling.learn(X).apply(X)
    best = peckorder.MPRankCV().fit(scaled, y.astype(float))
    assert settings["MPRank"]["chosen"] == {"C": best.C_}
    np.testing.assert_array_equal(models["MPRank"].coef_, best.coef_)
    assert models["MPRank --set C=7"].C == 7
    assert "(as in compare); max_iter=" in output_of(
        capsys, "fit", file, "--ranker", "PRank", "--target", "size", "-o", out
    )


def test_what_fit_learns_is_what_compare_saves(tmp_path, capsys):
    file = tmp_path / "w.csv"
    X, y, _ = table()
    rows = [f"{a},{b},{c},{n}" for (a, b, c), n in zip(X, y, strict=True)]
    file.write_text("\n".join(["a,b,c,quality", *rows]) + "\n")
    others = {c.name for c in CANDIDATES["ordinal"]() if c.origin not in ("peckorder", "")}
    assert {plain_name(name) for name in others} <= fitted_candidates("ordinal").keys()
    for ranker in ("PRank", "MPRank", "RankBoost", *(others & {"Ridge", "LightGBM"})):
        saved, fitted = tmp_path / "s.peckorder", tmp_path / "f.peckorder"
        words = ("compare", file, "--rankers", ranker, "--folds", 2, "--quiet")
        assert run(*words, "--save", saved, "-o", tmp_path / "r.html") == 0
        assert run("fit", file, "--ranker", ranker.upper(), "-o", fitted, "--quiet") == 0
        frame = pd.read_csv(file)[["a", "b", "c"]]
        one, other = (peckorder.load(path).predict(frame) for path in (saved, fitted))
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("ranker", "by_hand", "chosen"),
    [
        ("MPRank", {"kernel": "rbf"}, {"C", "gamma"}),
        ("MPRank", {"kernel": "rbf", "gamma": 0.1}, {"C"}),
        ("MPRank", {"kernel": "rbf", "C": 10}, {"gamma"}),
        ("MPRank", {"kernel": "poly"}, {"C"}),
        ("MPRank", {"solver": "cholesky"}, {"C"}),
        ("MPRank", {"C": 10}, set()),
        ("mprank, rbf kernel", {}, {"C", "gamma"}),
        ("RankBoost", {"max_bins": 8}, {"cumulative", "learning_rate", "n_rounds"}),
        ("RankBoost", {"cumulative": False}, {"learning_rate", "n_rounds"}),
        ("RankBoost", {"n_rounds": 5}, {"cumulative", "learning_rate"}),
        ("RankBoost", {"weak": "tree", "n_rounds": 5}, {"max_leaf_nodes"}),
        ("PRank", {"kernel": "rbf"}, {"gamma"}),
        ("PRANK, QUADRATIC", {"max_iter": 2}, set()),
        ("AggregatePRank", {"n_estimators": 3}, {"max_iter"}),
        ("OAP-BPM (100 PRanks)", {"n_estimators": 3}, {"max_iter"}),
        ("SVRank", {"epsilon": 0.2}, {"C"}),
    ],
)
def test_what_is_not_set_by_hand_is_chosen(tmp_path, capsys, ranker, by_hand, chosen):
    file, out = tmp_path / "w.csv", tmp_path / "m.peckorder"
    X, y, _ = table()
    rows = [f"{a},{b},{c},{n}" for (a, b, c), n in zip(X, y, strict=True)]
    file.write_text("\n".join(["a,b,c,size", *rows]) + "\n")
    words = [word for name, value in by_hand.items() for word in ("--set", f"{name}={value}")]
    result = result_of(capsys, "fit", file, "--ranker", ranker, *words, "-o", out, "--json")
    assert result["settings"]["by_hand"] == by_hand
    assert set(result["settings"]["chosen"]) == chosen
    model = peckorder.load(out)
    params = model.ranker_.get_params()
    for name, value in by_hand.items():
        if name not in ("gamma", "C") or "Cs" not in params:
            assert params[name] == value
    frame = pd.read_csv(file)
    assert (model.predict(frame) == frame["size"]).mean() > 0.7


def test_a_candidate_of_another_task_is_refused(tmp_path, capsys, data):
    out = ("-o", tmp_path / "m.peckorder")
    said = check_refused(capsys, "fit", data, "--ranker", "MPRank, RBF kernel", *out)
    assert said.startswith("fit: ranker must be one of RankBoost, RankBoost (trees), MPRank, SV")
    assert said.endswith("for task='graded'; got 'MPRank, RBF kernel'.")
    words = ("fit", data, "--ranker", "PRank", "--task", "graded", *out)
    assert check_refused(capsys, *words) == ("fit: task must be 'ordinal' for PRank; got 'graded'.")


@pytest.mark.parametrize("ranker", ["RankBoost", "MPRank", "SVRank", "PRank on grades"])
def test_grades_below_zero_are_learnt_as_in_compare(tmp_path, ranker):
    file, saved, fitted = (tmp_path / name for name in ("g.csv", "s.peckorder", "f.peckorder"))
    X, y, qid = table()
    rows = [f"{q},{a},{b},{c},{n - 2}" for q, (a, b, c), n in zip(qid, X, y, strict=True)]
    file.write_text("\n".join(["qid,a,b,c,grade", *rows]) + "\n")
    assert run("fit", file, "--ranker", ranker, "-o", fitted, "--quiet") == 0
    words = ("compare", file, "--rankers", ranker, "--folds", 2, "--quiet")
    assert run(*words, "--save", saved, "-o", tmp_path / "r.html") == 0
    frame = pd.read_csv(file)
    one, other = (peckorder.load(path).predict(frame) for path in (saved, fitted))
    np.testing.assert_array_equal(one, other)


def test_rows_without_a_label_are_left_out_and_counted(tmp_path, capsys, data):
    lines = data.read_text().splitlines()
    for row in (5, 9):
        lines[row] = lines[row].rsplit(",", 1)[0] + ","
    data.write_text("\n".join(lines) + "\n")
    out = tmp_path / "m.peckorder"
    words = ("fit", data, "--target", "grade", "--ranker", "MPRank", "-o", out)
    shown = output_of(capsys, *words, "--set", "C=1")
    assert "2 rows have no 'grade': left out." in shown
    assert "fitted to 118 rows" in shown


def test_json_says_what_columns_were_taken_for(tmp_path, capsys, data):
    out = tmp_path / "m.peckorder"
    words = ("fit", data, "--target", "grade", "--ranker", "RankBoost", "--json")
    result = result_of(capsys, *words, "--set", "n_rounds=5", "-o", out, "--drop", "c")
    assert result["rows"] == 120
    assert result["parameters"]["n_rounds"] == 5
    assert result["features"] == ["a", "b"]
    assert result["taken"]["c"] == ["left out", "--drop"]
    assert result["taken"]["docid"][0] == "left out"
    assert result["taken"]["grade"] == ["to predict", "--target"]


def test_words_as_ordered_classes(tmp_path, capsys):
    file, out = tmp_path / "w.csv", tmp_path / "m.peckorder"
    X, y, _ = table()
    names = np.array(["hay", "mud", "oak"])[y]
    rows = [f"{a},{b},{c},{n}" for (a, b, c), n in zip(X, names, strict=True)]
    file.write_text("\n".join(["a,b,c,size", *rows]) + "\n")
    words = ("fit", file, "--ranker", "PRank", "--target", "size", "-o", out)
    sentence = check_refused(capsys, *words)
    assert sentence.startswith("fit: classes must be given, lowest first,")
    given = ("--classes", "hay", "--classes", "mud", "--classes", "oak")
    assert run(*words, *given, "--quiet") == 0
    assert peckorder.load(out).classes_.tolist() == ["hay", "mud", "oak"]


def test_words_of_a_usual_scale_have_their_order(tmp_path, capsys):
    file, out = tmp_path / "w.csv", tmp_path / "m.peckorder"
    X, y, _ = table()
    names = np.array(["low", "medium", "high"])[y]
    rows = [f"{a},{b},{c},{n}" for (a, b, c), n in zip(X, names, strict=True)]
    file.write_text("\n".join(["a,b,c,size", *rows]) + "\n")
    words = ("fit", file, "--ranker", "PRank", "--target", "size", "-o", out)
    assert run(*words) == 0
    said = "'size' has the classes low < medium < high (--classes for another order)."
    assert said in capsys.readouterr().out
    assert peckorder.load(out).classes_.tolist() == ["low", "medium", "high"]
    assert run(*words, "--classes", "high,medium,low", "--quiet") == 0
    assert peckorder.load(out).classes_.tolist() == ["high", "medium", "low"]


def test_letor_with_few_features_a_row_stays_sparse(tmp_path):
    file, out = tmp_path / "train.txt", tmp_path / "m.peckorder"
    lines = [f"{k % 2} qid:{k // 4} {1 + 7 * k % 50}:1 60:{k % 2}" for k in range(40)]
    file.write_text("\n".join(lines) + "\n")
    assert run("fit", file, "--ranker", "RankBoost", "-o", out, "--quiet") == 0
    model = peckorder.load(out)
    assert model.n_features_in_ == 60
    assert not hasattr(model, "feature_names_in_")


def test_rankers_of_other_libraries_take_no_sparse_letor(tmp_path, capsys):
    file = tmp_path / "t.txt"
    rows = (f"{k % 3} qid:{k // 5} {1 + 7 * k}:1 {2 + 9 * k}:0.5" for k in range(60))
    file.write_text("\n".join(rows) + "\n")
    said = check_refused(capsys, "fit", file, "--ranker", "ridge", "-o", tmp_path / "m.peckorder")
    assert said.startswith("fit: ranker must be one of peckorder's where most features of a LETOR ")


def test_a_log_says_what_is_done(tmp_path, capsys, data):
    words = ("fit", data, "--ranker", "mprank", "-o", tmp_path / "m.peckorder", "--verbose")
    assert run(*words, "--json") == 0
    lines = [line.partition(" (")[0] for line in capsys.readouterr().err.splitlines()]
    rows = "Fitting mprank to 120 rows, choosing on rows left out"
    assert lines == ["Loading", "Reading", rows, "Writing the model"]
    assert run(*words, "--quiet") == 0
    assert capsys.readouterr().err == ""


def test_ratings(tmp_path, capsys):
    file, out = tmp_path / "r.csv", tmp_path / "m.peckorder"
    rng = np.random.default_rng(0)
    rows = {(u, i) for u, i in rng.integers(0, 12, (90, 2)).tolist()}
    lines = [f"u{u},{i},{(u * i) % 5 + 1}" for u, i in sorted(rows)]
    file.write_text("\n".join(["who,what,stars", *lines]) + "\n")
    words = ("fit", file, "--ranker", "PersonalRanker", "-o", out)
    sentence = check_refused(capsys, *words)
    assert sentence.startswith(f"fit: user must be a column of {file}, given by --user")
    roles = ("--user", "who", "--item", "what", "--rating", "stars")
    assert run(*words, *roles, "--set", "random_state=0", "--quiet") == 0
    assert len(peckorder.load(out).users_) == 12


def test_what_is_left_out_is_not_the_query(tmp_path, capsys, data):
    words = ("fit", data, "--target", "grade", "--ranker", "MPRank", "--set", "C=1")
    out = ("-o", tmp_path / "m.peckorder")
    result = result_of(capsys, *words, *out, "--drop", "docid,qid", "--json")
    assert result["taken"]["qid"] == ["left out", "--drop"]
    X, y, _ = table()
    expected = peckorder.MPRank().fit(Scaling.learn(X).apply(X), y.astype(float))
    found = peckorder.load(tmp_path / "m.peckorder").ranker_
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    sentence = check_refused(capsys, *words, *out, "--qid", "qid", "--drop", "qid")
    assert sentence == "fit: drop must not name what --qid does; got 'qid'."


def test_ratings_given_again_count_as_in_compare(tmp_path, capsys):
    file, out = tmp_path / "r.csv", tmp_path / "m.peckorder"
    lines = [f"{u},{i},{(u * i) % 5 + 1}" for u in range(12) for i in range(9)]
    file.write_text("\n".join(["user,item,rating", "3,4,1", "3,5,1", *lines]) + "\n")
    words = ("fit", file, "--ranker", "PersonalRanker", "-o", out, "--set")
    assert run(*words, "random_state=0") == 0
    sentence = "2 ratings were given again later: the last one counts."
    assert sentence in capsys.readouterr().out
    again = peckorder.load(out).predict(3)
    file.write_text("\n".join(["user,item,rating", *lines]) + "\n")
    assert run(*words, "random_state=0", "--quiet") == 0
    np.testing.assert_array_equal(again, peckorder.load(out).predict(3))


def test_rounds_are_chosen_on_people_left_out(tmp_path):
    rng = np.random.default_rng(0)
    file = tmp_path / "w.csv"
    grade = rng.integers(0, 3, 20)
    mark = rng.normal(size=20)  # of each person the same, and of no use for another
    rows = [f"u{k % 20},{mark[k % 20]},{grade[k % 20]}" for k in range(100)]
    file.write_text("\n".join(["user,mark,grade", *rows]) + "\n")
    rounds = {}
    for more in ((), ("--drop", "user")):
        out = tmp_path / "m.peckorder"
        assert run("fit", file, "--ranker", "RankBoost", "-o", out, *more) == 0
        rounds[more] = peckorder.load(out).ranker_.n_rounds
    assert rounds[()] < rounds["--drop", "user"]


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--ranker", "MPRnk"), "fit: ranker must be one of AggregatePRank, "),
        (
            ("--ranker", "MPRank", "--set", "D=1"),
            "fit: set must be NAME=VALUE, NAME one of C, kernel, gamma, ",
        ),
        (("--ranker", "MPRank", "--set", "C=-1"), "MPRank: C must be a finite number > 0; got -1."),
        (
            ("--ranker", "MPRank", "--target", "grad"),
            "fit: target must be a column of FILE, which has docid, qid, a, b, c, "
            "grade; got 'grad'. Did you mean 'grade'?",
        ),
        (("--ranker", "MPRank", "--out", "-"), "fit: out must be a file; got '-'."),
        (("--ranker",), "Command fit parameter --ranker requires an argument."),
        (("--ranker", "MPRank", "--scal"), "Unknown option: --scal. Did you mean "),
    ],
)
def test_refusals(tmp_path, capsys, data, more, sentence):
    out = ("-o", tmp_path / "m.peckorder") if "--out" not in more else ()
    said = check_refused(capsys, "fit", data, *out, *more)
    # Versions of cyclopts differ in where they quote.
    assert said.replace(str(data), "FILE").replace('"', "").startswith(sentence)
    assert not (tmp_path / "m.peckorder").exists()


def test_interrupt_leaves_nothing_behind(tmp_path, capsys, data, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(peckorder.MPRank, "fit", interrupt)
    words = ("fit", data, "--target", "grade", "--ranker", "MPRank", "--set", "C=1")
    assert run(*words, "-o", tmp_path / "m.peckorder") == 130
    assert capsys.readouterr().err == "Interrupted.\n"
    assert list(tmp_path.iterdir()) == [data]


@pytest.mark.parametrize("name", ["t.txt", "t.xyz", "t"])
def test_all_commands_read_a_table_of_any_name(tmp_path, capsys, data, name):
    file, out = tmp_path / name, tmp_path / "m.peckorder"
    file.write_bytes(data.read_bytes())
    words = ("--target", "grade", "--ranker", "MPRank", "--quiet", "-o", out)
    assert run("fit", file, *words) == 0
    found = []
    for each in (file, data):
        assert run("rank", out, each, "--quiet", "-o", tmp_path / "o.csv") == 0
        found.append((tmp_path / "o.csv").read_text())
        ask = ("--target", "grade", "--score", "a", "-m", "ap", "--json")
        found.append(result_of(capsys, "evaluate", each, *ask)["metrics"])
    assert found[:2] == found[2:]
    assert read_columns(file).names == read_columns(data).names
