"""Rankers compared on pairs of items: a leaderboard, a page, a model."""

import numpy as np
import pandas as pd
import pytest

import peckorder
from peckorder import MPRank, Preferences
from peckorder.comparison.contest import run_contest
from peckorder.comparison.pairs_case import ItemsInPairs, PairsCase, measures_of_pairs
from peckorder.exceptions import DataError
from peckorder.metrics import disagreement, kendall_tau, mean_squared_difference, misranking
from peckorder.model_selection import PairKFold
from peckorder.tables.columns import Columns
from peckorder.tables.features import Coding
from peckorder.tables.scaling import Scaling
from support.command_line import check_refused, output_of, result_of, run

N = 30
RNG = np.random.default_rng(5)
X = RNG.normal(size=(N, 2)).round(3)
GROUP = np.repeat(np.arange(6), 5)
ENDS = np.array([RNG.choice(5, 2, replace=False) + 5 * g for g in range(6) for _ in range(30)])
GAP = X[ENDS[:, 0], 0] - X[ENDS[:, 1], 0] + 0.3 * RNG.normal(size=len(ENDS))
ENDS = np.where(GAP[:, None] < 0, ENDS[:, ::-1], ENDS)
SIZE = np.where(RNG.random(len(GAP)) < 0.1, 0.0, 0.01 + np.abs(GAP).round(2))
WEIGHT = RNG.choice([0.5, 1.0, 4.0], len(GAP))
PAIRS = Preferences(ENDS[:, 0], ENDS[:, 1], WEIGHT, SIZE)


def case_of(by, metric=None, pairs=PAIRS):
    items = Columns({"a": X[:, 0], "b": X[:, 1]}, "items.csv")
    data = ItemsInPairs(pairs, items, Coding.of(items, ["a", "b"]))
    return PairsCase("pairs.csv", data, by, measures_of_pairs(metric))


@pytest.mark.parametrize("by", ["pair", "row", "component"])
@pytest.mark.parametrize("metric", ["disagreement", "msd", "tau", "misranking"])
def test_means_are_those_over_the_pairs_left_out(by, metric):
    contest = run_contest(case_of(by, metric), n_splits=3, seed=2, only=["MPRank"])
    found = {result.name: result for result in contest.results}
    functions = {
        "disagreement": disagreement,
        "msd": mean_squared_difference,
        "tau": kendall_tau,
        "misranking": misranking,
    }
    rows = Scaling.learn(X).apply(X)
    folds = list(PairKFold(3, by=by, random_state=2).split(PAIRS))
    total = mass = 0.0
    for (train, test), chosen in zip(folds, found["MPRank"].chosen, strict=True):
        scores = MPRank(**chosen).fit(rows, train).predict(rows)
        # Those of order have no value for pairs of size 0.
        weight = test.total_weight if metric == "msd" else test.without_sizes().total_weight
        total += weight * functions[metric](test, scores)
        mass += weight
    assert found["MPRank"].mean(contest.measures[0]) == pytest.approx(total / mass)
    assert contest.interval_unit == "connected components"


def test_the_record_counts_the_pairs_that_are_learnt_from():
    contest = run_contest(case_of("pair"), n_splits=3, seed=0, only=["MPRank"])
    record = next(result for result in contest.results if not result.origin)
    total = mass = 0.0
    for train, test in PairKFold(3, random_state=0).split(PAIRS):
        better, worse, weight = train.pairs()
        scores = np.bincount(better, weight, N) - np.bincount(worse, weight, N)
        weight = test.without_sizes().total_weight
        total, mass = total + weight * disagreement(test, scores), mass + weight
    assert record.mean(contest.measures[0]) == pytest.approx(total / mass)


def test_there_are_no_more_folds_than_components():
    contest = run_contest(case_of("component"), n_splits=9, only=["MPRank"])
    assert contest.n_splits == 6
    with pytest.raises(DataError, match="at least n_splits=2 connected components"):
        run_contest(case_of("component", pairs=PAIRS.among(range(5))))


def test_settings_are_chosen_on_as_many_components_as_there_are():
    few = PAIRS.among(range(20))  # four, of which three are learnt from
    contest = run_contest(case_of("component", pairs=few), only=["MPRank"])
    ranker = next(result for result in contest.results if result.name == "MPRank")
    assert [sorted(chosen) for chosen in ranker.chosen] == [["C"]] * 4


def test_pairs_are_the_unit_if_all_are_connected():
    chain = Preferences(range(1, N), range(N - 1))
    contest = run_contest(case_of("pair", pairs=chain), n_splits=2, only=["MPRank"])
    assert contest.interval_unit == "pairs"
    assert contest.groups is None


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = np.array([f"t{k:02d}" for k in range(N)])
    items = pd.DataFrame(X, columns=["a", "b"]).assign(team=names)
    items.to_csv("teams.csv", index=False)
    pairs = {"winner": names[ENDS[:, 0]], "loser": names[ENDS[:, 1]]}
    pd.DataFrame(pairs).assign(weight=WEIGHT).to_csv("matches.csv", index=False)
    return tmp_path


COMPARE = ("compare", "matches.csv", "--items", "teams.csv")


def test_a_leaderboard_a_page_and_a_model(data, capsys):
    more = ("--rankers", "MPRank,RankBoost", "--folds", "3", "-o", "page.html")
    shown = output_of(capsys, *COMPARE, *more, "--save", "best.peckorder")
    assert "matches.csv: pairs of items, 180 pairs of 30 items with 2 features" in shown
    assert "3 folds" in shown
    assert "95 % intervals over connected components" in shown
    assert "(won less lost)" in shown
    page = (data / "page.html").read_text()
    for text in ("Which ranker is best on matches.csv?", "--items teams.csv", "won less lost"):
        assert text in page
    result = result_of(capsys, *COMPARE, *more, "--json")
    order = Preferences(ENDS[:, 0], ENDS[:, 1], WEIGHT)
    contest = run_contest(case_of("pair", pairs=order), n_splits=3, only=["MPRank", "RankBoost"])
    for entry, expected in zip(result["leaderboard"], contest.results, strict=True):
        assert entry["ranker"] == expected.name
        assert entry["disagreement"] == pytest.approx(expected.mean(contest.measures[0]))
    assert (result["by"], result["task"], result["saved"]) == ("pair", "pairs", None)
    best = result["leaderboard"][0]["ranker"]
    assert f"Model: best.peckorder ({best}, fitted to all pairs)" in shown
    words = ("fit", *COMPARE[1:], "--ranker", best, "-o", "fit.peckorder", "--quiet")
    assert run(*words) == 0
    models = [peckorder.load(data / f"{name}.peckorder") for name in ("best", "fit")]
    teams = pd.read_csv("teams.csv")
    np.testing.assert_array_equal(*(model.predict(teams) for model in models))


def test_intervals_of_connected_pairs_are_said_to_be_too_narrow(data, capsys):
    names = [f"t{k:02d}" for k in range(N)]
    pd.DataFrame({"winner": names[1:], "loser": names[:-1]}).to_csv("chain.csv", index=False)
    words = ("compare", "chain.csv", "--items", "teams.csv", "--rankers", "MPRank", "-o", "c.html")
    shown = output_of(capsys, *words)
    assert "intervals are over pairs, and too narrow where pairs share items." in shown
    assert "too narrow" in (data / "c.html").read_text()


def test_what_is_left_out_can_be_asked_for(data, capsys):
    more = ("--by", "component", "--rankers", "MPRank", "-o", "page.html")
    result = result_of(capsys, *COMPARE, *more, "--json")
    record = next(e for e in result["leaderboard"] if e["from"] == "baseline")
    assert record["disagreement"] == pytest.approx(0.5)  # nothing is known of new items
    assert "--by component" in (data / "page.html").read_text()


REFUSED = {
    "a metric of lists": (
        ("--metric", "ndcg@10"),
        "compare: metric must be of pairs, tau, disagreement, misranking, msd, mad, with "
        "preferences; got 'ndcg@10'.",
    ),
    "a target": (
        ("--target", "a"),
        "compare: target must be left out with --items, where the file is of pairs; got 'a'.",
    ),
    "rows": (
        ("--rows", "100"),
        "compare: rows must be left out with --items, where the file is of pairs; got '100'.",
    ),
    "two files": (
        ("teams.csv",),
        "compare: file must be one of pairs, with --items; got matches.csv, teams.csv.",
    ),
    "a ranker of classes": (
        ("--rankers", "PRank"),
        "compare: rankers must be some of 'RankBoost', 'RankBoost (trees)', 'MPRank', 'MPRank (RBF "
        "kernel)', 'SVRank'; got 'PRank'. PRank is not for pairs of items.",
    ),
}


@pytest.mark.parametrize(("more", "sentence"), REFUSED.values(), ids=REFUSED)
def test_refused(data, capsys, more, sentence):
    assert run(*COMPARE, *more, "--quiet") == 2
    assert capsys.readouterr().err.rstrip("\n") == sentence


def test_items_go_with_pairs(data, capsys):
    sentence = check_refused(capsys, "compare", "--items", "teams.csv")
    assert sentence == "compare: file must be one of pairs, with --items; got none."
    sentence = check_refused(capsys, "compare", "matches.csv", "--by", "row")
    assert sentence == "compare: by must go with --items FILE, of pairs; got 'row'."
