import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, cohen_kappa_score

import peckorder
from peckorder.cli.compare.charts import confusion, pictures, reliability, shares_won
from peckorder.comparison import candidates
from peckorder.comparison.contest import Contest, Result, run_contest
from peckorder.comparison.fusion import make_runs_case
from peckorder.comparison.measures import Measure, of_levels, of_pairs, of_runs
from peckorder.comparison.ratings_case import make_ratings_case
from peckorder.comparison.refit import refit
from peckorder.comparison.table_case import make_table_case
from peckorder.comparison.tuning import inner_folds
from peckorder.datasets import Qrels, Run, make_letor, make_ratings
from peckorder.exceptions import DataError
from peckorder.metrics import disagreement, half_width, mean_squared_difference, rank_loss
from peckorder.tables.answers import least_errors
from peckorder.tables.columns import Columns
from peckorder.tables.task import recognise


def ordinal_table(n=90, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    score = X @ [2.0, -1.0] + 0.3 * rng.normal(size=n)
    grade = np.searchsorted(np.quantile(score, [0.3, 0.7]), score)
    columns = {"a": 100 + 10 * X[:, 0], "b": X[:, 1], "noise": rng.normal(size=n)}
    return Columns({**columns, "grade": grade + 1}, "made.csv")


def case_of(columns, **asked):
    return make_table_case(columns, recognise(columns, **asked))


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), min_size=1, max_size=9))
def test_thresholds_lose_the_fewest_steps(rows):
    scores = np.array([float(score) for score, _ in rows])
    levels = np.array([level for _, level in rows])
    cuts = least_errors(scores, levels, 4)
    assert (cuts[1:] >= cuts[:-1]).all()

    def loss(thresholds):
        return np.abs(np.searchsorted(thresholds, scores) - levels).sum()

    places = np.arange(-0.5, 7.0)
    every = (np.array(some) for some in product(places, repeat=3) if sorted(some) == list(some))
    assert loss(cuts) == min(loss(some) for some in every)


def test_inner_folds_leave_every_query_out_once_and_whole():
    qid = np.array([3, 3, 1, 1, 1, 8, 9, 9, 4, 3])
    left = []
    for train, test in inner_folds(len(qid), qid, 0):
        assert not set(qid[train]) & set(qid[test])
        left.extend(test.tolist())
    assert sorted(left) == list(range(len(qid)))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-3, 3)), min_size=4, max_size=12))
def test_means_of_rows_are_means_over_pairs(rows):
    y = np.array([float(a) for a, _ in rows])
    scores = np.array([float(b) for _, b in rows])
    values = of_pairs(y, np.zeros(len(y), dtype=int))(scores)
    n = len(y)
    pairs = [
        ((scores[i] - scores[j]) - (y[i] - y[j])) ** 2 for i in range(n) for j in range(n) if i != j
    ]
    assert values["msd"].mean() == pytest.approx(np.mean(pairs))
    # The metric counts each row with itself, too.
    whole = mean_squared_difference(y, scores)
    assert values["msd"].mean() == pytest.approx(whole * n / (n - 1))
    assert values["rmsd"].mean() == pytest.approx(np.sqrt(whole * n / (n - 1)), abs=1e-12)
    if len(set(y.tolist())) == 1:
        assert np.isnan(values["disagreement"]).all()
    else:
        assert values["disagreement"].mean() == pytest.approx(disagreement(y, scores))
    said = np.zeros(n)
    if len(set(y.tolist())) > 1:
        same = of_pairs(y, np.zeros(n, dtype=int))(said)["disagreement"]
        np.testing.assert_allclose(same, 0.5)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=12))
def test_means_of_rows_are_the_measures_of_classes(rows):
    levels, guesses = (np.array(column) for column in zip(*rows, strict=True))
    values = of_levels(levels)(guesses.astype(float))
    assert values["mean rank loss"].mean() == rank_loss(levels, guesses)
    assert values["exactly right"].mean() == accuracy_score(levels, guesses)
    each = [np.abs(guesses - levels)[levels == k].mean() for k in np.unique(levels)]
    assert values["macro_mae"].mean() == pytest.approx(np.mean(each))
    if (levels == levels[0]).all() and (guesses == levels[0]).all():
        assert np.isnan(values["qwk"]).all()
    else:
        kappa = cohen_kappa_score(levels, guesses, labels=[0, 1, 2, 3], weights="quadratic")
        assert values["qwk"].mean() == pytest.approx(kappa)


@pytest.mark.parametrize("measure", ["qwk", "macro_mae", "rmsd"])
def test_intervals_of_what_is_no_mean_of_rows_are_as_wide_as_it_varies(measure):
    rng = np.random.default_rng(0)
    n, found, halves = 300, [], []
    for _ in range(200):
        levels = rng.integers(0, 4, n)
        guesses = np.clip(levels + rng.integers(-1, 2, n), 0, 3).astype(float)
        if measure == "rmsd":
            values = of_pairs(levels.astype(float), np.zeros(n, int))(guesses)[measure]
        else:
            values = of_levels(levels)(guesses)[measure]
        found.append(values.mean())
        halves.append((2 if measure == "rmsd" else 1) * half_width(values))
    # Of a normal distribution 1.96 deviations to both sides; how many rows a class has
    # varies here too.
    assert np.mean(halves) == pytest.approx(1.96 * np.std(found), rel=0.2)


def test_disagreement_of_a_row_is_its_share_where_labels_differ():
    y, scores = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 2.0])
    values = of_pairs(y, np.zeros(4, dtype=int))(scores)
    assert (3 * values["disagreement"]).tolist() == pytest.approx([0, 2, 1.5, 1.5])


def test_a_row_alone_in_its_fold_has_no_distances():
    fold = np.arange(12) % 8
    values = of_pairs(np.arange(12.0), fold)(np.zeros(12))
    assert np.flatnonzero(np.isnan(values["msd"])).tolist() == [4, 5, 6, 7]
    assert np.nanmean(values["msd"]) == pytest.approx(64.0)
    arrays = {"a": np.sqrt(np.arange(12.0)), "y": np.linspace(0, 3, 12) ** 2}
    contest = run_contest(case_of(Columns(arrays, "made.csv")), n_splits=12, only=["Ridge"])
    assert contest.n_splits == 6
    assert not np.isnan(contest.best.values["msd"]).any()


def test_what_a_run_does_not_list_is_not_found():
    y, qid = np.array([1.0, 0.0, 2.0, 1.0]), np.array([0, 0, 0, 1])
    measuring = of_runs(y, qid, {0: np.array([1.0])}, ["ap", "ndcg@2"])
    # Query 0 has three relevant documents, one of which nobody lists; the run lists
    # the first two, the relevant one second. It lists nothing for query 1.
    values = measuring(np.array([1.0, 2.0, np.nan, np.nan]))
    assert values["ap"].tolist() == pytest.approx([0.5 / 3, 0.0])
    ideal = 2 + 1 / np.log2(3)
    assert values["ndcg@2"].tolist() == pytest.approx([1 / np.log2(3) / ideal, 0.0])


def test_queries_of_runs_are_looked_up_once():
    class Counted(np.ndarray):
        n_compared = 0

        def __eq__(self, other):
            Counted.n_compared += 1
            return np.asarray(self) == other

        __hash__ = None

    rng = np.random.default_rng(0)
    qid = rng.integers(0, 20, 200)
    y, scores = rng.integers(0, 3, 200).astype(float), rng.normal(size=200)
    scores[::3] = np.nan
    unlisted = {3: np.array([1.0, 2.0])}
    names = ["ap", "ndcg@5"]
    values = of_runs(y, qid.view(Counted), unlisted, names)(scores)
    assert Counted.n_compared < 5
    for query in range(20):
        mine = qid == query
        alone = of_runs(
            y[mine], np.zeros(mine.sum(), dtype=int), {0: unlisted.get(query, [])}, names
        )(scores[mine])
        for name in names:
            assert values[name][query] == pytest.approx(alone[name][0])


def test_of_one_value_there_is_no_interval():
    results = tuple(
        Result(name, "", {"loss": np.array([value])}) for name, value in [("a", 0), ("b", 1)]
    )
    contest = Contest((Measure("loss"),), results, (), 5, 0, "queries")
    assert contest.behind(results[1]).mean == 1
    assert np.isnan(contest.behind(results[1]).half_width)
    assert contest.level() == (results[1],)


def test_differences_are_paired_and_the_first_is_marked():
    loss = Measure("loss")
    base = np.random.default_rng(0).normal(size=50)
    named = {"first": base, "same": base + 0.001 * np.tile([1, -1], 25), "far": base + 1}
    results = tuple(Result(n, "", {"loss": v}) for n, v in named.items())
    contest = Contest((loss,), results, (), 5, 0, "rows")
    assert contest.behind(results[2]).mean == pytest.approx(1)
    assert contest.behind(results[2]).half_width == pytest.approx(0, abs=1e-12)
    assert [result.name for result in contest.level()] == ["same"]
    # Student's t for 49 is 2.0096.
    wide = 2.0096 * np.std(base, ddof=1) / np.sqrt(50)
    assert contest.half_width(base) == pytest.approx(wide, rel=1e-4)
    assert shares_won(results, loss).tolist() == [0.5, 0.5, 0.0]


def test_rounding_is_no_difference():
    gain = Measure("gain", larger_is_better=True)
    gains = np.random.default_rng(0).random(20)
    # By one last digit at some places, always in the same direction.
    other = np.where(np.arange(20) % 3 > 0, np.nextafter(gains, 2), gains)
    results = (Result("first", "", {"gain": gains}), Result("same", "", {"gain": other}))
    contest = Contest((gain,), results, (), 5, 0, "queries")
    assert contest.behind(results[1]) == (0.0, 0.0)
    assert contest.behind_text(results[1]) == "0.0000 ± 0.0000 ≈"
    results[1].values["gain"] = gains + 1e-9
    assert contest.behind(results[1]).mean == pytest.approx(-1e-9, rel=1e-3)


def test_rankers_beat_the_baseline_on_ordered_classes():
    case = case_of(ordinal_table())
    contest = run_contest(case, n_splits=3, only=["PRank", "mprank", "RankBoost", "Ridge"])
    names = [result.name for result in contest.results]
    assert set(names) == {*("PRank", "MPRank", "RankBoost", "Ridge", "(always the median class)")}
    assert names[-1] == "(always the median class)"
    assert contest.best.mean(contest.measures[0]) < 0.3
    for result in contest.results:
        assert set(np.unique(result.answers)) <= {0.0, 1.0, 2.0}
        np.testing.assert_array_equal(
            result.values["mean rank loss"], np.abs(result.answers - case.y)
        )
    boosted = next(r for r in contest.results if r.name == "RankBoost")
    assert len(boosted.curves) == 3
    assert set(boosted.chosen[0]) == {"cumulative", "learning_rate", "n_rounds"}
    assert boosted.weights[0].shape == (3,)
    again = run_contest(case, n_splits=3, only=["RankBoost"])
    np.testing.assert_array_equal(
        next(r for r in again.results if r.name == "RankBoost").answers, boosted.answers
    )


def test_nothing_is_learnt_from_rows_left_out():
    # Labels are drawn by chance: only with a leak would a ranker do better.
    rng = np.random.default_rng(1)
    columns = {f"x{k}": rng.normal(size=120) for k in range(30)}
    table = Columns({**columns, "y": rng.integers(0, 2, 120)}, "coins.csv")
    contest = run_contest(case_of(table), n_splits=4, only=["PRank", "MPRank", "Ridge"])
    for result in contest.results:
        assert result.mean(contest.measures[0]) > 0.35


def test_magnitude_contest_keeps_distances():
    table = ordinal_table()
    arrays = {**table.arrays, "grade": table.arrays["a"] / 3 + table.arrays["b"]}
    contest = run_contest(case_of(Columns(arrays, "made.csv")), n_splits=3, only=["MPRank"])
    assert contest.best.name == "MPRank"
    assert contest.best.mean(Measure("msd")) < 1e-6
    assert contest.spread == 2.0
    found = reliability(arrays["grade"], contest.best.scores, np.zeros(len(table), dtype=int))
    np.testing.assert_allclose(found.predicted, found.true, rtol=1e-3)


def test_queries_are_whole_in_every_fold_and_ndcg_decides():
    X, y, qid = make_letor(24, random_state=0)
    columns = {f"f{k}": X[:, k] for k in range(6)}
    case = case_of(Columns({**columns, "grade": y, "qid": qid}, "made.csv"))
    fold = case.folds(5, 0)
    assert all(len(set(fold[qid == query])) == 1 for query in np.unique(qid))
    contest = run_contest(case, n_splits=3, only=["RankBoost", "MPRank"])
    assert contest.measures[0] == Measure("ndcg@10", True)
    assert contest.unit == "queries"
    assert len(contest.best.values["ndcg@10"]) == 24
    assert contest.results[-1].name == "(a random order)"
    assert contest.results[-1].values["disagreement"].mean() == 0.5


def test_queries_that_a_measure_leaves_out_are_counted():
    X, y, qid = make_letor(24, random_state=0)
    qid = np.unique(qid, return_inverse=True)[1]
    y = np.where(qid < 5, 0, y)
    columns = {f"f{k}": X[:, k] for k in range(4)}
    case = case_of(Columns({**columns, "grade": y, "qid": qid}, "made.csv"))
    contest = run_contest(case, n_splits=3, only=["MPRank"])
    n_without = sum(y[qid == query].max() == 0 for query in range(24))
    n_same = sum(np.ptp(y[qid == query]) == 0 for query in range(24))
    assert n_without >= 5
    assert contest.undefined == {"ndcg@10": n_without, "disagreement": n_same}
    assert contest.undefined_notes() == [
        f"ndcg@10 leaves out {n_without} of 24 queries, in which nothing is relevant.",
        f"disagreement leaves out {n_same} of 24 queries, in which all labels are the same.",
    ]
    assert run_contest(case_of(ordinal_table()), n_splits=2, only=["PRank"]).undefined == {}


@pytest.mark.parametrize(
    ("metric", "asked", "first"),
    [
        (None, {}, "mean rank loss"),
        ("accuracy", {}, "exactly right"),
        ("Macro-MAE", {}, "macro_mae"),
        ("quadratic_weighted_kappa", {}, "qwk"),
        (None, {"task": "magnitude"}, "rmsd"),
        ("msd", {"task": "magnitude"}, "msd"),
        ("disagreement", {"task": "magnitude"}, "disagreement"),
    ],
)
def test_what_is_shown_can_decide(metric, asked, first):
    columns = ordinal_table()
    case = make_table_case(columns, recognise(columns, **asked), metric=metric)
    assert case.measures[0].name == first
    contest = run_contest(case, n_splits=2, only=["MPRank", "RankBoost"])
    means = [result.mean(case.measures[0]) for result in contest.results]
    assert means == sorted(means, reverse=case.measures[0].larger_is_better)
    assert not any(result.origin for result in contest.results[2:])
    assert pictures(case, contest)
    for measure in case.measures:
        make_table_case(columns, recognise(columns, **asked), metric=measure.name)


class Strange(Exception):
    """As other packages have them: of no kind that one knows."""


class StrangePerson:
    def fit(self, ratings):
        raise Strange("no luck")


def test_a_ranker_of_people_that_fails_is_left_out():
    case, _ = _ratings()
    strange = candidates.Candidate("strange", lambda s: StrangePerson())
    taking_part = (strange, case.candidates[-1])
    contest = run_contest(replace(case, candidates=taking_part), n_splits=2)
    assert contest.left_out == (("strange", "failed: no luck"),)
    assert [r.name for r in contest.results] == ["(a random order)"]


def test_a_candidate_that_fails_is_left_out_with_the_reason():
    def broken(setting):
        raise ValueError("no luck today.\nMore.")

    def stranger(setting):
        raise Strange

    case = case_of(ordinal_table())
    taking_part = (
        candidates.Candidate("broken", broken),
        candidates.Candidate("stranger", stranger),
        candidates.Candidate("huge", broken, most_rows=10),
        *case.candidates[:1],
        case.candidates[-1],
    )
    contest = run_contest(replace(case, candidates=taking_part), n_splits=2)
    assert dict(contest.left_out) == {
        "broken": "failed: no luck today.",
        "stranger": "failed: Strange",
        "huge": "more than 10 rows to learn from",
    }
    assert [r.name for r in contest.results] == ["PRank", "(always the median class)"]


def test_rows_without_labels_are_left_out_and_many_rows_are_drawn():
    table = ordinal_table()
    gaps = np.where(np.arange(90) < 3, np.nan, table.arrays["grade"])
    arrays = {**table.arrays, "grade": gaps}
    case = case_of(Columns(arrays, "made.csv"))
    assert (len(case.y), case.notes) == (87, ("3 rows have no 'grade': left out.",))
    task = recognise(table)
    drawn = make_table_case(table, task, most_rows=40)
    assert len(drawn.y) == 40
    assert "40 of 90 rows were drawn at random" in drawn.notes[0]
    with pytest.raises(DataError, match="must have at least 10 rows with a 'grade'"):
        case_of(Columns({n: a[:9] for n, a in table.arrays.items()}, "made.csv"))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_splits": 1}, "folds must be an integer >= 2; got 1."),
        ({"seed": -1}, "seed must be an integer from 0 to"),
        ({"seed": 2**32}, "seed must be an integer from 0 to"),
        ({"only": ["PRnk"]}, "got 'PRnk'. Did you mean 'PRank' or 'MPRank'?"),
    ],
)
def test_wrong_options_are_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence.replace("?", r"\?")):
        run_contest(case_of(ordinal_table()), **options)


def test_the_winner_is_fitted_to_all_rows_and_kept_with_its_scaling(tmp_path):
    columns = ordinal_table()
    case = case_of(columns)
    contest = run_contest(case, n_splits=2, only=["PRank"])
    assert contest.best_saved.name == "PRank"
    model = refit(case, contest, "PRank")
    assert model.classes_.tolist() == [1, 2, 3]
    model.save(tmp_path / "winner.peckorder")
    loaded = peckorder.load(tmp_path / "winner.peckorder")
    frame = pd.DataFrame(dict(columns.arrays))
    right = (loaded.predict(frame) == columns.arrays["grade"]).mean()
    assert right > 0.7
    boosted = refit(case, contest, "RankBoost")
    assert type(boosted.ranker_).__name__ == "RankBoost"
    assert boosted.feature_names_in_.tolist() == ["a", "b", "noise"]
    # Columns are found by their names, as for rankers whose columns are scaled.
    scores = boosted.decision_function(frame)
    assert_array_equal = np.testing.assert_array_equal
    assert_array_equal(boosted.decision_function(frame[frame.columns[::-1]]), scores)
    assert_array_equal(boosted.ranker_.predict(case.X), scores)


def test_people_are_tested_on_ratings_held_out():
    ratings, _ = _ratings()
    contest = run_contest(ratings, n_splits=3)
    asked = ratings.held_out(seed=0)
    assert contest.unit == "people"
    order = [result.name for result in contest.results]
    assert order.index("PersonalRanker") < order.index("(a random order)")
    # Half of each person's ratings is asked for, once.
    keys = list(zip(asked.user.tolist(), asked.item.tolist(), strict=True))
    assert len(set(keys)) == len(keys)
    per_user = np.bincount(asked.user, minlength=ratings.ratings.n_users)
    np.testing.assert_array_equal(
        per_user[ratings.people], ratings.ratings.per_user[ratings.people] // 2
    )
    model = refit(ratings, contest, "PersonalRanker")
    assert len(model.recommend(ratings.ratings.users[0], 3).items) == 3


def _ratings():
    made = make_ratings(40, 30, random_state=0)
    triples = getattr(made, "ratings", made).triples()
    columns = Columns({"user": triples[0], "item": triples[1], "rating": triples[2]}, "made.csv")
    return make_ratings_case(columns, recognise(columns)), columns


def test_runs_are_compared_with_their_fusions():
    rng = np.random.default_rng(0)
    queries = np.repeat([f"q{k}" for k in range(12)], 20)
    documents = np.tile([f"d{k}" for k in range(20)], 12)
    grade = rng.integers(0, 3, 240)
    good = Run(queries, documents, grade + rng.normal(size=240))
    poor = Run(queries[::2], documents[::2], rng.normal(size=120))
    case = make_runs_case({"good": good, "poor": poor}, Qrels(queries, documents, grade))
    contest = run_contest(case, n_splits=3, only=["good", "poor", "RankBoost", "MPRank"])
    means = {r.name: r.mean(contest.measures[0]) for r in contest.results}
    assert means["good"] > means["poor"]
    assert means["RankBoost"] > means["poor"]
    model = refit(case, contest, "RankBoost")
    assert model.feature_names_in_.tolist() == ["good", "poor"]
    assert model.n_features_in_ == 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        strange = Qrels(["z"], ["d1"], [1])
        with pytest.raises(DataError, match="qrels must judge queries of the runs"):
            make_runs_case({"good": good}, strange)


def test_confusion_counts_rows():
    table = confusion(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 1]), 3)
    assert table.tolist() == [[1, 1, 0], [0, 1, 0], [0, 1, 0]]
