"""compare, rank and evaluate are one path: a model knows its columns by name."""

import numpy as np
import pandas as pd
import pytest

import peckorder
from peckorder import metrics
from peckorder.cli.models import known_columns
from peckorder.exceptions import ModelFileError
from peckorder.storage.format import read_file, write_file
from support.command_line import check_refused, output_of, result_of, run

RNG = np.random.default_rng(5)


def frame(n_rows=60):
    """Return rows of races: the target and the queries have names that nobody knows."""
    a, b = RNG.normal(size=(2, n_rows))
    time = (10 + a - b + 0.3 * RNG.normal(size=n_rows)).round(3)
    race = np.repeat([f"r{k}" for k in range(n_rows // 10)], 10)
    ids = [f"horse {k}" for k in range(n_rows)]
    return pd.DataFrame({"name": ids, "race": race, "time_s": time, "a": a, "b": b})


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    frame().to_csv(folder / "t.csv", index=False)
    roles = ("--target", "time_s", "--qid", "race")
    fit = ("fit", folder / "t.csv", *roles, "--ranker", "MPRank", "--quiet")
    assert run(*fit, "-o", folder / "m.peckorder") == 0
    assert run("rank", folder / "m.peckorder", folder / "t.csv", "-o", folder / "o.csv") == 0
    return folder


def measured(capsys, *words):
    capsys.readouterr()
    return result_of(capsys, "evaluate", *words, "--json")


def test_the_model_knows_its_columns(made, capsys):
    assert known_columns(peckorder.load(made / "m.peckorder")) == {
        "target": "time_s",
        "qid": "race",
    }
    assert "target='time_s', qid='race'" in output_of(capsys, "info", made / "m.peckorder")


def test_compare_keeps_them_too(made, tmp_path):
    model = tmp_path / "c.peckorder"
    words = ("compare", made / "t.csv", "--target", "time_s", "--qid", "race")
    more = ("--rankers", "MPRank", "--folds", "2", "-o", tmp_path / "r.html")
    assert run(*words, *more, "--save", model, "--quiet") == 0
    assert known_columns(peckorder.load(model)) == {"target": "time_s", "qid": "race"}


def test_rank_numbers_the_rows_of_the_queries_that_were_learnt(made, tmp_path, capsys):
    out = tmp_path / "o.csv"
    result = result_of(capsys, "rank", made / "m.peckorder", made / "t.csv", "-o", out, "--json")
    assert result["taken"] == {
        "time_s": ["target", "as the model learnt"],
        "race": ["query", "as the model learnt"],
    }
    written = pd.read_csv(out)
    assert list(written)[:4] == ["name", "race", "time_s", "score"]
    expected = written.groupby("race")["score"].rank(ascending=False)
    np.testing.assert_array_equal(written["position"], expected)


def test_evaluate_finds_them_by_the_model(made, capsys):
    result = measured(capsys, made / "o.csv", "--model", made / "m.peckorder")
    assert result["taken"]["time_s"] == ["target", "as the model learnt"]
    assert result["taken"]["race"] == ["query", "as the model learnt"]
    written = pd.read_csv(made / "o.csv")
    names = ["disagreement", "msd", "rmse", "mae"]
    columns = (written["time_s"], written["score"])
    expected = metrics.evaluate(*columns, names, qid=written["race"])
    assert {name: result["metrics"][name]["mean"] for name in result["metrics"]} == pytest.approx(
        dict(expected.means)
    )


def test_without_the_model_the_only_numbers_are_the_target(made, capsys):
    result = measured(capsys, made / "o.csv", "--qid", "race")
    assert result["taken"]["time_s"] == ["target", "the only numbers beside what rank writes"]
    assert list(result["metrics"]) == ["disagreement", "msd", "rmse", "mae"]


def test_two_columns_of_numbers_are_not_guessed_from(made, tmp_path, capsys):
    written = pd.read_csv(made / "o.csv").assign(weight=1.5)
    written.to_csv(tmp_path / "o.csv", index=False)
    said = check_refused(capsys, "evaluate", tmp_path / "o.csv")
    assert said.endswith(
        "got none by its usual names. Add --target NAME, or --model FILE, which knows it."
    )


def test_a_target_that_is_not_there_is_refused(made, tmp_path, capsys):
    pd.read_csv(made / "o.csv").drop(columns="time_s").to_csv(tmp_path / "o.csv", index=False)
    words = ("evaluate", tmp_path / "o.csv", "--model", made / "m.peckorder")
    assert "target must be a column of " in check_refused(capsys, *words)


def test_text_classes_are_those_of_the_model(tmp_path, capsys):
    rows = frame()
    rows["level"] = np.array(["poor", "fair", "good"])[np.digitize(rows["time_s"], [9.5, 10.5])]
    rows = rows.drop(columns=["time_s", "race"])
    rows.to_csv(tmp_path / "t.csv", index=False)
    model, out = tmp_path / "m.peckorder", tmp_path / "o.csv"
    fit = ("fit", tmp_path / "t.csv", "--target", "level", "--classes", "poor,fair,good")
    assert run(*fit, "--ranker", "PRank", "-o", model) == 0
    assert run("rank", model, tmp_path / "t.csv", "-o", out) == 0
    result = measured(capsys, out, "--model", model)["metrics"]
    written = pd.read_csv(out)
    columns, order = (written["level"], written["predicted"]), ["poor", "fair", "good"]
    assert list(result) == ["disagreement", "mean rank loss", "exactly right", "macro_mae", "qwk"]
    for name, metric in (
        ("mean rank loss", metrics.rank_loss),
        ("macro_mae", metrics.macro_mae),
        ("qwk", metrics.quadratic_weighted_kappa),
    ):
        assert result[name]["mean"] == pytest.approx(metric(*columns, classes=order))
        assert result[name]["low"] < result[name]["mean"] < result[name]["high"]


def test_the_interval_of_kappa_is_as_wide_as_theory_says(tmp_path, capsys):
    # Of right answers by chance in two classes kappa is about twice a share.
    truth, guess = RNG.integers(0, 2, (2, 4000))
    table = pd.DataFrame({"label": truth, "predicted": guess})
    table.to_csv(tmp_path / "t.csv", index=False)
    found = measured(capsys, tmp_path / "t.csv", "-m", "qwk")["metrics"]["qwk"]
    width = found["high"] - found["low"]
    assert width == pytest.approx(2 * 1.96 * 2 * 0.5 / np.sqrt(4000), rel=0.1)


def test_metrics_may_stand_between_commas(made, capsys):
    result = measured(capsys, made / "o.csv", "--qid", "race", "-m", "rmse,tau", "-m", "mae")
    assert list(result["metrics"]) == ["rmse", "tau", "mae"]


@pytest.mark.parametrize("name", ["mean rank loss", "rank_loss", "qwk", "macro-mae", "macro_mae"])
def test_all_names_that_are_shown_are_taken(tmp_path, capsys, name):
    table = pd.DataFrame({"label": [1, 2, 3, 3], "predicted": [1, 3, 3, 2]})
    table.to_csv(tmp_path / "t.csv", index=False)
    assert len(measured(capsys, tmp_path / "t.csv", "-m", name)["metrics"]) == 1


def test_an_unknown_metric_is_answered_by_all_names(made, capsys):
    said = check_refused(capsys, "evaluate", made / "o.csv", "-m", "kappa")
    for name in ("'rmse'", "'qwk'", "'macro_mae'", "'mean rank loss'", "'exactly right'"):
        assert name in said


def test_series_with_names_are_remembered_in_python(tmp_path):
    rows = frame()
    model = peckorder.TableRanker(peckorder.MPRank())
    model.fit(rows[["a", "b"]], rows["time_s"], qid=rows["race"])
    assert known_columns(model) == {"target": "time_s", "qid": "race"}
    again = peckorder.io.from_bytes(model.to_bytes())
    assert known_columns(again) == {"target": "time_s", "qid": "race"}
    model.fit(rows[["a", "b"]], rows["time_s"].to_numpy())
    assert known_columns(model) == {}
    assert known_columns(peckorder.io.from_bytes(model.to_bytes())) == {}


def test_a_name_that_is_no_text_is_refused_in_a_file(made, tmp_path):
    contents = read_file(made / "m.peckorder")
    contents.header["state"]["target"] = 7
    write_file(tmp_path / "bad.peckorder", contents)
    with pytest.raises(ModelFileError, match=r"state\.target must be a text"):
        peckorder.load(tmp_path / "bad.peckorder")


@pytest.mark.parametrize(
    ("grades", "metrics_shown"),
    [
        ([-1, 0, 1, 2], ["disagreement"]),
        ([1, 2, 3, 4], ["disagreement", "ndcg@10"]),
        ([0.5, 1, 4.5, 2], ["disagreement", "ndcg@10"]),
        ([0, 1, 2, 3], ["ndcg@10", "ap", "rr"]),
    ],
)
def test_grades_below_0_are_no_gains_and_good_rows_have_no_precision(
    tmp_path, capsys, grades, metrics_shown
):
    rows = pd.DataFrame({"qid": [1, 1, 2, 2], "label": grades, "score": [0.1, 0.2, 0.3, 0.4]})
    rows.to_csv(tmp_path / "o.csv", index=False)
    assert list(measured(capsys, tmp_path / "o.csv")["metrics"]) == metrics_shown


def test_few_whole_prices_are_real_numbers_to_a_model_of_prices(tmp_path, capsys):
    a = 3.0 * np.arange(40.0)[::-1]
    pd.DataFrame({"a": a, "price": 1000 + 7 * a}).to_csv(tmp_path / "t.csv", index=False)
    model, ranked = tmp_path / "m.peckorder", tmp_path / "o.csv"
    fit = ("fit", tmp_path / "t.csv", "--target", "price", "--ranker", "MPRank", "--quiet")
    assert run(*fit, "-o", model) == 0
    pd.DataFrame({"a": a[:5], "price": 1000 + 7 * a[:5]}).to_csv(tmp_path / "few.csv", index=False)
    assert run("rank", model, tmp_path / "few.csv", "-o", ranked) == 0
    found = measured(capsys, ranked, "--model", model)["metrics"]
    assert list(found) == ["disagreement", "msd", "rmse", "mae"]


def test_steps_are_those_between_the_classes_that_were_learnt(tmp_path, capsys):
    a = RNG.normal(size=120)
    rows = pd.DataFrame({"a": a, "stars": np.array([3, 4, 7, 9])[np.digitize(a, [-1, 0, 1])]})
    rows.to_csv(tmp_path / "t.csv", index=False)
    fit = ("fit", tmp_path / "t.csv", "--ranker", "PRank", "-o", tmp_path / "m.peckorder")
    assert run(*fit, "--quiet") == 0
    capsys.readouterr()
    # No row has the class 4: from 3 to 7 are two steps all the same.
    written = pd.DataFrame({"stars": [3, 7, 9], "predicted": [7, 7, 9], "score": [1, 2, 3]})
    written.to_csv(tmp_path / "o.csv", index=False)
    found = measured(capsys, tmp_path / "o.csv", "--model", tmp_path / "m.peckorder")
    assert found["metrics"]["mean rank loss"]["mean"] == pytest.approx(2 / 3)


def test_predicted_grades_of_queries_are_measured_as_grades_too(tmp_path, capsys):
    file, model, out = (tmp_path / name for name in ("t.csv", "m.peckorder", "o.csv"))
    a = RNG.normal(size=120)
    rows = {"qid": np.arange(120) // 10, "a": a, "grade": np.digitize(a, [0, 1])}
    pd.DataFrame(rows).to_csv(file, index=False)
    assert run("fit", file, "--ranker", "PRank on grades", "-o", model, "--quiet") == 0
    assert run("rank", model, file, "-o", out, "--quiet") == 0
    assert {"ndcg@10", "disagreement", "mean rank loss"} <= set(measured(capsys, out)["metrics"])


@pytest.mark.parametrize("form", ["${:,.2f}", "{:.1f}%", "{:.0f} stars"])
def test_targets_in_text_go_all_the_way(tmp_path, capsys, form):
    file, model, out = (tmp_path / name for name in ("t.csv", "m.peckorder", "o.csv"))
    a = RNG.normal(size=90)
    numbers = np.clip(np.rint(a + 3), 1, 5) if "stars" in form else 2000 + 500 * a
    frame = pd.DataFrame({"a": a, "worth": [form.format(number) for number in numbers]})
    frame.to_csv(file, index=False)
    words = ("compare", file, "--rankers", "MPRank", "--folds", 2, "-o", tmp_path / "r.html")
    assert run(*words, "--save", model, "--quiet") == 0
    assert run("rank", model, file, "-o", out, "--quiet") == 0
    capsys.readouterr()
    found = measured(capsys, out, "--model", model)["metrics"]
    assert found["disagreement"]["mean"] < 0.02
    if "stars" in form:
        assert found["exactly right"]["mean"] > 0.9
    else:
        assert found["rmse"]["mean"] < 1.0
