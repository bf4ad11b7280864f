"""Pairs of items in one file, features of items in another: fit, rank, evaluate."""

import json

import numpy as np
import pandas as pd
import pytest

import peckorder
from peckorder import MPRank, Preferences, RankBoost
from peckorder.metrics import disagreement, evaluate, mean_squared_difference
from peckorder.model_selection import PairKFold
from peckorder.tables.scaling import Scaling
from support.command_line import check_refused, output_of, result_of, run

N, SIZES = 40, ["speed", "fatigue", "noise"]


@pytest.fixture
def data(tmp_path):
    """Write teams with features, and matches between teams of four groups."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3)).round(3)
    strength = X[:, 0] - 0.5 * X[:, 1]
    teams = pd.DataFrame(X, columns=SIZES).assign(team=[f"t{k:02d}" for k in range(N)])
    ends = np.array(
        [rng.choice(10, 2, replace=False) + 10 * g for g in range(4) for _ in range(60)]
    )
    gap = strength[ends[:, 0]] - strength[ends[:, 1]] + 0.3 * rng.normal(size=240)
    ends = np.where(gap[:, None] < 0, ends[:, ::-1], ends)
    names = teams.team.to_numpy()
    matches = {"winner": names[ends[:, 0]], "loser": names[ends[:, 1]]}
    matches = pd.DataFrame(matches).assign(margin=0.01 + np.abs(gap).round(2))
    teams[["team", *SIZES]].to_csv(tmp_path / "teams.csv", index=False)
    matches.to_csv(tmp_path / "matches.csv", index=False)
    matches.drop(columns="margin").to_csv(tmp_path / "plain.csv", index=False)
    return tmp_path


def words(data, command, file, *more):
    return command, data / file, "--items", data / "teams.csv", *more


def in_python(data, file="matches.csv"):
    teams = pd.read_csv(data / "teams.csv")
    return teams[SIZES].to_numpy(), Preferences.read_csv(data / file, teams.team)


def test_fits_what_python_would(data, capsys):
    out = data / "m.peckorder"
    shown = output_of(
        capsys, *words(data, "fit", "matches.csv", "--ranker", "MPRank", "--set", "C=10", "-o", out)
    )
    assert "winner: the better item (its name)" in shown
    assert "margin: by how much it is better (its name)" in shown
    assert "team: item (it has all ids of the pairs)" in shown
    assert "settings: C=10 (--set)" in shown
    assert f"MPRank: fitted to 240 pairs of 40 items, in {out}" in shown
    X, matches = in_python(data)
    expected = MPRank(C=10).fit(Scaling.learn(X).apply(X), matches)
    model = peckorder.load(out)
    np.testing.assert_allclose(model.ranker_.coef_, expected.coef_, rtol=1e-10)
    assert model.feature_names_in_.tolist() == SIZES
    assert output_of(capsys, "rank", out, data / "teams.csv", "--sort").startswith("team,score,")


def test_columns_that_could_be_meant_are_said(data, capsys):
    teams = pd.read_csv(data / "teams.csv")
    matches = pd.read_csv(data / "matches.csv").rename(columns={"margin": "goals"})
    matches.to_csv(data / "goals.csv", index=False)
    learnt = ("--ranker", "MPRank", "-o", data / "m.peckorder")
    shown = output_of(capsys, *words(data, "fit", "goals.csv", *learnt))
    assert "goals: left out (no part of a pair; see --size and --weight)" in shown
    # Another column could be that of ids as well.
    teams.assign(alias=teams.team.to_numpy()[::-1]).to_csv(data / "teams.csv", index=False)
    said = check_refused(capsys, *words(data, "fit", "plain.csv", *learnt))
    assert said == (
        "fit: id must be given where several columns have all ids of the pairs; got team, alias. "
        "Add --id 'team', or another."
    )
    output_of(capsys, *words(data, "fit", "plain.csv", "--id", "team", *learnt))


def test_one_wrong_id_is_named(data, capsys):
    learnt = ("--ranker", "MPRank", "-o", data / "m.peckorder")
    text = (data / "plain.csv").read_text()
    (data / "wrong.csv").write_text(text + "t99,t01\n")
    said = check_refused(capsys, *words(data, "fit", "wrong.csv", *learnt))
    assert said.endswith(f"in column 'team' of {data / 'teams.csv'}; got 't99' in row 241.")
    with (data / "teams.csv").open("a") as file:
        file.write("t03,1,2,3\n")
    said = check_refused(capsys, *words(data, "fit", "plain.csv", *learnt))
    assert said.endswith("must have every id once; got 't03' in rows 4 and 41.")


@pytest.mark.parametrize("file", ["plain.csv", "matches.csv"])
@pytest.mark.parametrize("command", [("fit", "--ranker", "RankBoost"), ("compare",)])
def test_pairs_without_items_are_told_from_a_table(data, capsys, file, command):
    said = check_refused(capsys, command[0], data / file, *command[1:], "-o", data / "out")
    assert "must be rows with features and something to predict; got pairs of items" in said
    assert "Give the features of items, by --items FILE" in said


def test_settings_do_best_on_pairs_left_out(data, capsys):
    out = data / "m.peckorder"
    more = ("--ranker", "RankBoost", "-o", out)
    result = result_of(capsys, *words(data, "fit", "plain.csv", *more, "--json"))
    X, matches = in_python(data, "plain.csv")
    folds = list(PairKFold(5, random_state=0).split(matches))

    def loss(**settings):
        models = [RankBoost(**settings).fit(X, train) for train, _ in folds]
        wrong = (
            len(test) * disagreement(test, model.predict(X))
            for model, (_, test) in zip(models, folds, strict=True)
        )
        return sum(wrong) / len(matches)

    chosen = result["settings"]["chosen"]
    assert chosen["cumulative"] is False  # fatigue falls
    losses = {(c, n): loss(cumulative=c, n_rounds=n) for c in (True, False) for n in (1, 30, 300)}
    assert loss(**chosen) <= min(losses.values())
    assert result["left_out"]["value"] == pytest.approx(loss(**chosen))
    assert (result["left_out"]["by"], result["left_out"]["n_settings"]) == ("pair", 30)
    expected = RankBoost(**chosen).fit(X, matches)
    np.testing.assert_array_equal(peckorder.load(out).ranker_.predict(X), expected.predict(X))
    assert (result["rows"], result["items"], result["scaled"]) == (240, 40, False)


def test_what_is_left_out_can_be_asked_for(data, capsys):
    out = data / "m.peckorder"
    more = ("--ranker", "MPRank", "--set", "C=10", "--by", "row", "-o", out)
    result = result_of(capsys, *words(data, "fit", "matches.csv", *more, "--json"))
    X, matches = in_python(data)
    X = Scaling.learn(X).apply(X)
    folds = list(PairKFold(5, by="row", random_state=0).split(matches))
    losses = [
        len(test) * mean_squared_difference(test, MPRank(C=10).fit(X, train).predict(X))
        for train, test in folds
    ]
    value = sum(losses) / sum(len(test) for _, test in folds)
    assert result["left_out"]["value"] == pytest.approx(value)
    shown = output_of(capsys, *words(data, "fit", "matches.csv", *more))
    assert f"Items left out, 5 folds: msd {value:.4g}." in shown


def test_few_components_are_left_out_in_fewer_folds(data, capsys):
    more = ("--ranker", "MPRank", "--by", "component", "-o", data / "m.peckorder")
    shown = output_of(capsys, *words(data, "fit", "matches.csv", *more))
    assert "(chosen on connected components left out)" in shown
    assert "Connected components left out, 4 folds: msd " in shown


@pytest.mark.parametrize(
    "ranker", ["SVRank", "MPRankCV", "MPRank (RBF kernel)", "RankBoost (trees)"]
)
def test_other_rankers_learn_from_pairs(data, capsys, ranker):
    out = data / "m.peckorder"
    shown = output_of(capsys, *words(data, "fit", "matches.csv", "--ranker", ranker, "-o", out))
    assert ("(chosen on pairs left out)" in shown) == (ranker != "MPRankCV")
    assert ("RankBoost learns the order only: sizes are not used." in shown) == ("trees" in ranker)
    model = peckorder.load(out)
    X, matches = in_python(data)
    assert disagreement(matches, model.predict(X)) < 0.1


def test_evaluates_the_scores_of_a_model(data, capsys):
    out = data / "m.peckorder"
    assert run(*words(data, "fit", "matches.csv", "--ranker", "MPRank", "-o", out, "--quiet")) == 0
    result = result_of(capsys, *words(data, "evaluate", "matches.csv", "--model", out, "--json"))
    X, matches = in_python(data)
    expected = evaluate(matches, peckorder.load(out).predict(X), ["disagreement", "msd", "mad"])
    assert result["rows"] == 240
    for name, values in result["metrics"].items():
        assert values["mean"] == expected[name]
        assert (values["low"], values["high"]) == expected.intervals[name]
        assert values["components"] == 4
    shown = output_of(capsys, *words(data, "evaluate", "matches.csv", "--model", out))
    assert "matches.csv (240 pairs, 95 % intervals)" in shown
    assert "components" in shown
    assert "queries" not in shown
    shown = output_of(capsys, *words(data, "evaluate", "plain.csv", "--model", out))
    assert "disagreement" in shown
    assert "msd" not in shown


def test_evaluates_scores_that_items_have(data, capsys):
    teams = pd.read_csv(data / "teams.csv").assign(score=lambda t: t.speed)
    teams.to_csv(data / "teams.csv", index=False)
    X, matches = in_python(data)
    more = ("-m", "tau,msd", "--json")
    result = result_of(capsys, *words(data, "evaluate", "matches.csv", *more))
    assert result["metrics"]["msd"]["mean"] == pytest.approx(
        mean_squared_difference(matches, X[:, 0])
    )
    assert result["taken"]["score"] == ["score", "its name"]
    given = result_of(capsys, *words(data, "evaluate", "matches.csv", "--score", "speed", *more))
    assert given["metrics"] == result["metrics"]


def test_a_model_of_order_is_measured_by_order_alone(data, capsys):
    out = data / "m.peckorder"
    more = ("--ranker", "RankBoost", "--set", "n_rounds=5", "-o", out, "--quiet")
    assert run(*words(data, "fit", "matches.csv", *more)) == 0
    result = result_of(capsys, *words(data, "evaluate", "matches.csv", "--model", out, "--json"))
    assert list(result["metrics"]) == ["disagreement"]


def test_draws_have_sizes_only_and_connected_pairs_are_the_unit(tmp_path, capsys):
    (tmp_path / "teams.csv").write_text("id,score\n007,3\n7,1\n08,0\n")
    (tmp_path / "m.csv").write_text("better,worse,size\n007,7,2\n7,08,0\n")
    result = result_of(capsys, *words(tmp_path, "evaluate", "m.csv", "--json"))
    assert result["metrics"]["msd"] == {
        "mean": 0.5,
        "low": 0.0,
        "high": 1.0,
        "pairs": 2,
        "undefined": 0,
    }
    assert list(result["metrics"]) == ["msd", "mad"]
    assert result["notes"] == [
        "All pairs are connected: intervals are over pairs, and too narrow where pairs share items."
    ]
    result = result_of(capsys, *words(tmp_path, "evaluate", "m.csv", "--size", "none", "--json"))
    assert result["metrics"]["disagreement"]["mean"] == 0


def test_columns_as_they_are_given(data, capsys):
    matches = pd.read_csv(data / "matches.csv")
    matches.columns = ["loser", "winner", "weight"]  # the other way round
    matches.to_csv(data / "odd.csv", index=False)
    out = data / "m.peckorder"
    more = ("--better", "loser", "--worse", "winner", "--size", "weight", "--weight", "none")
    more += ("--id", "team", "--drop", "noise", "--ranker", "MPRank", "--set", "C=1", "-o", out)
    shown = output_of(capsys, *words(data, "fit", "odd.csv", *more))
    assert "loser: the better item (--better)" in shown
    assert "noise: left out (--drop)" in shown
    X, found = in_python(data)[0][:, :2], peckorder.load(out).ranker_
    expected = MPRank().fit(Scaling.learn(X).apply(X), in_python(data)[1])
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-10)


def test_decimal_commas_where_semicolons_separate(tmp_path, capsys):
    (tmp_path / "i.csv").write_text("name;year\nx;1\ny;2\nz;3\n")
    (tmp_path / "p.csv").write_text("chosen_id;rejected_id;Weight\nx;y;1,5\nz;y;0,5\n")
    result = result_of(
        capsys,
        "evaluate",
        tmp_path / "p.csv",
        "--items",
        tmp_path / "i.csv",
        "--score",
        "year",
        "--json",
    )
    assert result["metrics"]["disagreement"]["mean"] == 0.75


def test_other_formats_and_ids_that_are_numbers(data, capsys):
    teams, matches = pd.read_csv(data / "teams.csv"), pd.read_csv(data / "matches.csv")
    number = {name: k + 1 for k, name in enumerate(teams.team)}
    teams.assign(team=teams.team.map(number)).to_parquet(data / "teams.parquet")
    matches = matches.assign(winner=matches.winner.map(number), loser=matches.loser.map(number))
    lines = [json.dumps(row) for row in matches.to_dict("records")]
    (data / "m.jsonl").write_text("\n".join(lines) + "\n")
    matches.to_csv(data / "m.csv", index=False)
    coefs = []
    for file in ("m.jsonl", "m.csv"):
        out = data / "m.peckorder"
        more = ("--ranker", "MPRank", "--set", "C=1", "-o", out, "--quiet")
        assert run("fit", data / file, "--items", data / "teams.parquet", *more) == 0
        coefs.append(peckorder.load(out).ranker_.coef_)
    np.testing.assert_array_equal(*coefs)


FIT = ("--ranker", "RankBoost", "-o", "new.peckorder")
TEAMS = "id,a,b\nx,1,2\ny,2,1\nz,3,5\n"
REFUSED = {
    "unknown id": (
        "fit",
        "better,worse\nx,y\nw,z\nz,w2\nw,x\n",
        TEAMS,
        FIT,
        "fit: column 'better' of pairs.csv must have ids that are in column 'id' of items.csv; got "
        "'w' in row 2, and 1 more row.",
    ),
    "an id twice": (
        "fit",
        "better,worse\nx,y\n",
        TEAMS + "x,1,1\n",
        FIT,
        "fit: column 'id' of items.csv must have every id once; got 'x' in rows 1 and 4.",
    ),
    "no id": (
        "fit",
        "better,worse\nx,\n",
        TEAMS,
        FIT,
        "fit: column 'worse' of pairs.csv must have an id in every row; got an empty cell in row "
        "1.",
    ),
    "an item without id": (
        "fit",
        "better,worse\nx,y\n",
        TEAMS + ",1,1\n",
        FIT,
        "fit: column 'id' of items.csv must have an id in every row; got an empty cell in row 4.",
    ),
    "no columns of pairs": (
        "fit",
        "a,b\nx,y\n",
        TEAMS,
        FIT,
        "fit: pairs.csv must have two columns of ids, the better one and the worse one (better and "
        "worse, winner and loser, preferred and other, chosen and rejected); got a, b. Add "
        "--better NAME --worse NAME.",
    ),
    "no such column": (
        "fit",
        "a,b\nx,y\n",
        TEAMS,
        (*FIT, "--better", "A"),
        "fit: better must be a column of pairs.csv, which has a, b; got 'A'. Did you mean 'a'?",
    ),
    "no ids among items": (
        "fit",
        "better,worse\nx,y\n",
        "a,b\n1,2\n2,3\n",
        FIT,
        "fit: items.csv must have a column with the ids of the pairs; got a, b. Add --id NAME.",
    ),
    "one item twice in a pair": (
        "fit",
        "better,worse\nx,y\nz,z\n",
        TEAMS,
        FIT,
        "fit: pairs.csv must have two items in each row; got 'z' twice in row 2.",
    ),
    "a negative weight": (
        "fit",
        "better,worse,weight\nx,y,1\nz,x,-2\n",
        TEAMS,
        FIT,
        "fit: column 'weight' of pairs.csv must be numbers >= 0; got -2 in row 2.",
    ),
    "a size in words": (
        "fit",
        "better,worse,size\nx,y,much\n",
        TEAMS,
        FIT,
        "pairs.csv: column 'size' must be numbers; got 'much' in row 1.",
    ),
    "a ranker of classes": (
        "fit",
        "better,worse\nx,y\n",
        TEAMS,
        ("--ranker", "PRank", "-o", "new.peckorder"),
        "fit: ranker must be one of RankBoost, RankBoost (trees), MPRank, MPRank (RBF kernel), "
        "SVRank, MPRankCV for task='pairs'; got 'PRank'.",
    ),
    "a target": (
        "fit",
        "better,worse\nx,y\n",
        TEAMS,
        (*FIT, "--target", "a"),
        "fit: target must be left out with --items, where the file is of pairs; got 'a'.",
    ),
    "nothing to learn from": (
        "fit",
        "better,worse\nx,y\n",
        "id\nx\ny\n",
        FIT,
        "fit: items.csv must have a column to learn from.",
    ),
    "no scores": (
        "evaluate",
        "better,worse\nx,y\n",
        TEAMS,
        (),
        "evaluate: items.csv must have a column of scores, where no model is given; got id, a, b. "
        "Add --model FILE or --score NAME.",
    ),
    "a metric of lists": (
        "evaluate",
        "better,worse\nx,y\n",
        TEAMS,
        ("--score", "a", "-m", "ndcg@10"),
        "evaluate: names must be of pairs, tau, disagreement, misranking, msd, mad, with "
        "preferences; got 'ndcg@10'.",
    ),
    "judgements": (
        "evaluate",
        "better,worse\nx,y\n",
        TEAMS,
        ("--qrels", "q.txt"),
        "evaluate: qrels must be left out with --items, where the file is of pairs; got 'q.txt'.",
    ),
}


def test_features_that_the_model_needs(data, capsys):
    out = data / "m.peckorder"
    more = ("--ranker", "MPRank", "--set", "C=1", "-o", out, "--quiet")
    assert run(*words(data, "fit", "matches.csv", *more)) == 0
    pd.read_csv(data / "teams.csv").drop(columns="speed").to_csv(data / "teams.csv", index=False)
    sentence = check_refused(capsys, *words(data, "evaluate", "matches.csv", "--model", out))
    assert sentence == (
        f"evaluate: {data / 'teams.csv'} must have all columns that the model learnt from; got "
        "none for speed. It has team, fatigue, noise."
    )


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_refused(tmp_path, monkeypatch, capsys, case):
    command, pairs, items, more, sentence = case
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.csv").write_text(pairs)
    (tmp_path / "items.csv").write_text(items)
    found = check_refused(capsys, command, "pairs.csv", "--items", "items.csv", *more)
    assert found == sentence
    assert not (tmp_path / "new.peckorder").exists()


def test_scores_of_a_model_and_of_a_column_are_not_both_taken(data, capsys):
    out = data / "m.peckorder"
    assert run(*words(data, "fit", "matches.csv", "--ranker", "MPRank", "-o", out, "--quiet")) == 0
    more = ("--model", out, "--score", "speed")
    sentence = check_refused(capsys, *words(data, "evaluate", "matches.csv", *more))
    assert sentence == (
        "evaluate: score must be left out with --model, which scores the items; got 'speed'."
    )


def test_items_are_asked_for(data, capsys):
    sentence = check_refused(capsys, "evaluate", data / "matches.csv", "--better", "winner")
    assert sentence == (
        "evaluate: better must go with --items FILE, which has the items that a file of pairs "
        "names; got 'winner'."
    )
    sentence = check_refused(capsys, "fit", data / "plain.csv", "--by", "row", *FIT)
    assert sentence == "fit: by must go with --items FILE, of pairs; got 'row'."
    of_teams = words(data, "fit", "plain.csv", *FIT)
    pd.read_csv(data / "plain.csv").head(60).to_csv(data / "one.csv", index=False)
    sentence = check_refused(capsys, *words(data, "fit", "one.csv", *FIT), "--by", "component")
    assert sentence == (
        "PairKFold: preferences must have at least n_splits=2 connected components of pairs; got 1."
    )
    sentence = check_refused(capsys, *of_teams, "--by", "team")
    assert sentence == "fit: by must be one of 'pair', 'row', 'component'; got 'team'."
    sentence = check_refused(capsys, "fit", data / "plain.csv", "--items", "-", *FIT)
    assert sentence == "fit: items must be a file; got '-'."
    sentence = check_refused(capsys, "fit", data / "plain.csv", "--items", data / "no.csv", *FIT)
    assert "no.csv" in sentence
