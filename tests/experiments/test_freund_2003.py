import dataclasses
import os
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from peckorder import RankBoost, experiments
from peckorder.collaborative import (
    ItemMean,
    MinNormRegression,
    NearestRanker,
    VectorSimilarity,
)
from peckorder.datasets import Documents, make_ratings
from peckorder.experiments import _freund_feedback as feedback
from peckorder.experiments import _freund_ideas as ideas
from peckorder.experiments import _freund_learners as learners
from peckorder.experiments import _freund_letor as letor
from peckorder.experiments import _freund_lists as lists
from peckorder.experiments import _freund_movies as movies
from peckorder.experiments._freund_config import QUICK
from peckorder.experiments._freund_features import bin_name, in_bin, thinned
from peckorder.experiments._freund_figures import holds, judged

EXPERIMENT = experiments.find("freund-2003")
FOLDER = os.environ.get("PECKORDER_DATA")

# What the paper claims, in the words of the tables below the figures.
CLAIMS = (
    "RankBoost beats regression and nearest neighbour on all four measures at every "
    "number of features.",
    "RankBoost beats vector similarity above 200 features.",
    "Vector similarity is best when the target has rated at most 40 movies.",
    "Nearest neighbour is worse than random guessing on PROT; regression's "
    "disagreement is little better than 0.5.",
    "RankBoost gains most from more features.",
    "RankBoost gains most from denser features.",
    "In meta-search RankBoost is as good as the best single list, chosen on the test "
    "data, for every measure (MQ2007-agg).",
)


@pytest.fixture(scope="module")
def outcome():
    return experiments.run(EXPERIMENT, "quick")


@pytest.fixture(scope="module")
def films():
    return make_ratings(40, 60, density=0.4, min_per_user=10, random_state=3)


def only(*names, **changes):
    """Return a part or two of the experiment, smaller than quick."""
    config = dataclasses.replace(QUICK, **changes)
    parts = tuple(part for part in EXPERIMENT.parts if part.name in names)
    return dataclasses.replace(EXPERIMENT, parts=parts, presets={"quick": config})


def labels(table):
    return [row[0] for row in table.rows]


# The run.


def test_every_part_is_shown_with_charts_and_tables(outcome):
    shown = {each.part.name: each for each in outcome.parts}
    assert list(shown) == [
        "figure-4",
        "figure-5",
        "figure-6",
        "figure-7",
        "figure-8",
        "ideas",
        "table-1-mq2007",
        "table-1-trec9",
        "ohsumed",
    ]
    assert not any(each.left_out for each in outcome.parts)
    assert all(each.shown.tables for each in outcome.parts)
    n_charts = {name: len(each.shown.charts) for name, each in shown.items()}
    assert n_charts == {
        "figure-4": 2,
        "figure-5": 4,
        "figure-6": 4,
        "figure-7": 4,
        "figure-8": 2,
        "ideas": 0,
        "table-1-mq2007": 2,
        "table-1-trec9": 2,
        "ohsumed": 0,
    }


def test_tables_have_the_rows_that_figures_are_read_against(outcome):
    shown = {each.part.name: each.shown for each in outcome.parts}
    for name in ("figure-5", "figure-7", "ideas"):
        rows = labels(shown[name].tables[0])
        assert {*movies.PRINTED, movies.MEAN, movies.CONSTANT} <= set(rows)
    assert {*learners.LEARNERS, "item mean", "constant"} == set(
        labels(shown["figure-4"].tables[0])
    )
    rows = labels(shown["table-1-mq2007"].tables[0])
    assert rows[:7] == [
        "RankBoost",
        "best single list for top 1",
        "best single list for top 10",
        "best single list for top 30",
        "Borda",
        "reciprocal ranks",
        "random",
    ]
    assert len(rows) == 7 + len(lists.PRINTED)
    assert {"constant", "RankBoost, published"} <= set(
        labels(shown["ohsumed"].tables[0])
    )


def test_all_claims_are_judged(outcome):
    claims = [claim for each in outcome.parts for claim in each.shown.claims]
    assert {claim.holds for claim in claims} <= {"yes", "no", "in part", "not tried"}
    assert set(CLAIMS) <= {claim.text for claim in claims}
    assert all(claim.found for claim in claims)


def test_the_constant_disagrees_by_half_everywhere(outcome):
    for each in outcome.parts:
        for unit in each.units:
            for values in unit.get("rankers", {}).get("constant", {}).items():
                if values[0] == "disagreement":
                    assert values[1] == [0.5] * len(values[1])


def test_a_resumed_run_finds_the_same(tmp_path):
    small = only("figure-5", "table-1-trec9", splits=2, targets=2, run_partitions=1)
    first = experiments.run(small, "quick", seed=3)

    class Stop(Exception):
        pass

    def stop(done, total, label):
        if done == 2:
            raise Stop

    journal = tmp_path / "journal"
    with pytest.raises(Stop):
        experiments.run(small, "quick", seed=3, journal=journal, on_progress=stop)
    assert len(journal.read_text().splitlines()) == 3
    again = experiments.run(small, "quick", seed=3, journal=journal)
    assert again.results() == first.results()
    other = experiments.run(small, "quick", seed=4)
    assert other.results()["parts"] != first.results()["parts"]


def test_without_data_every_part_says_what_to_get(tmp_path):
    real = dataclasses.replace(
        EXPERIMENT, presets={"full": dataclasses.replace(QUICK, made=False)}
    )
    outcome = experiments.run(real, "full", data=tmp_path)
    said = {each.part.name: each.left_out for each in outcome.parts}
    assert said["figure-5"].startswith("load_movielens_1m: ")
    assert said["table-1-mq2007"].startswith("load_mq2007_agg_fold: ")
    assert said["table-1-trec9"].startswith("load_ohsumed_trec9: ")
    assert said["ohsumed"].startswith("load_ohsumed_fold: ")
    assert all("Get " in each for each in said.values())


def test_presets_differ_in_size_alone():
    quick, full, paper = (EXPERIMENT.presets[k] for k in ("quick", "full", "paper"))
    assert quick.made
    assert not full.made
    assert not paper.made
    assert full.sizes == paper.sizes == (100, 200, 500, 750, 1000, 2000)
    assert (paper.splits, paper.targets) == (5, 2000)
    assert full.fold_rounds == paper.fold_rounds == 50


# The protocol of films.


def test_halves_are_disjoint_and_all_that_was_rated(films):
    rng = np.random.default_rng(0)
    for person in range(films.n_users):
        target = movies.halve(films.csr, person, rng)
        if target is None:
            continue
        items, values = films.csr[[person]].indices, films.csr[[person]].data
        assert not set(target.learnt) & set(target.tested)
        assert set(target.learnt) | set(target.tested) == set(items)
        assert len(target.learnt) == len(items) // 2
        given = dict(zip(target.learnt, target.given, strict=True))
        given |= dict(zip(target.tested, target.truth, strict=True))
        assert given == dict(zip(items, values, strict=True))


def test_who_cannot_be_ordered_is_passed_over():
    ratings = make_ratings(3, 12, density=1.0, random_state=0).csr.copy()
    ratings.data[ratings.indptr[1] : ratings.indptr[2]] = 4.0
    targets = movies.draw_targets(
        ratings, np.array([1, 0, 2]), 3, np.random.default_rng(0)
    )
    assert len(targets) == 2


@pytest.fixture(scope="module")
def case(films):
    """A target, viewers, and all that is known as dense tables."""
    viewers = movies.Viewers(films.csr[:30])
    target = movies.halve(films.csr, 35, np.random.default_rng(1))
    X = films.csr[:30].toarray().T
    y = np.full(films.n_items, np.nan)
    y[target.learnt] = target.given
    return movies.Tables.of(viewers, target), np.where(X == 0, np.nan, X), y


@pytest.mark.parametrize("size", [7, 20, 30])
@pytest.mark.parametrize("normalize", [False, True])
def test_regression_is_that_of_the_library(case, size, normalize):
    tables, X, y = case
    model = MinNormRegression(normalize=normalize).fit(X[:, :size], y)
    expected = model.predict(X[tables.target.tested][:, :size])
    found = tables.regression(size, normalize=normalize)
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("size", [3, 20, 30])
@pytest.mark.parametrize("k", [1, 4])
def test_nearest_is_that_of_the_library_for_the_first_viewers(case, size, k):
    tables, X, y = case
    model = NearestRanker(ratings=movies.SCALE, n_neighbors=k).fit(X[:, :size], y)
    expected = model.predict(X[tables.target.tested][:, :size])
    found = tables.nearest(tables.neighbors(), size, k)
    assert found == pytest.approx(expected, abs=1e-12)


def test_nearest_by_what_they_rated_is_that_of_the_library(case):
    tables, X, y = case
    settings = {"ratings": movies.SCALE, "shrinkage": 10.0}
    model = NearestRanker(n_neighbors=5, weights="rated", **settings).fit(X, y)
    expected = model.predict(X[tables.target.tested])
    found = tables.nearest(tables.neighbors(shrinkage=10.0), 30, 5, by_rated=True)
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("size", [7, 30])
def test_similarity_and_means_are_those_of_the_library(case, size):
    tables, X, y = case
    tested = X[tables.target.tested][:, :size]
    similar = VectorSimilarity().fit(X[:, :size], y).predict(tested)
    assert tables.vector_similarity(size) == pytest.approx(similar, abs=1e-12)
    mean = ItemMean(damping=movies.DAMPING).fit(X[:, :size], y).predict(tested)
    assert tables.item_mean(size) == pytest.approx(mean, abs=1e-12)


def test_boosting_has_the_rounds_of_the_paper(case):
    tables, X, _ = case
    target = tables.target
    scores, model = movies.boosted(tables.viewers, target, 20)
    assert model.n_rounds == 42
    dense = RankBoost(n_rounds=42).fit(X[target.learnt][:, :20], target.given)
    expected = dense.predict(X[target.tested][:, :20])
    assert scores == pytest.approx(expected, abs=1e-12)


def test_nobody_near_means_no_order(case):
    tables, _, _ = case
    model = tables.neighbors()
    model.neighbors_ = model.neighbors_ + 30
    assert tables.nearest(model, 30).tolist() == [0.0] * len(tables.tested)


def test_thinned_viewers_keep_some_of_their_ratings(films):
    before = films.csr[:20]
    after = thinned(before, np.random.default_rng(0))
    count = np.diff(after.indptr)
    full = np.diff(before.indptr)
    assert (count >= np.minimum(full, 10)).all()
    assert (count <= 20).all()
    rows, columns = after.nonzero()
    assert after.data.tolist() == before[rows, columns].tolist()


def test_bins_include_their_limits(films):
    people = np.arange(films.n_users)
    parts = [in_bin(films, people, limits) for limits in ((0, 19), (20, 999))]
    assert sorted(np.concatenate(parts)) == people.tolist()
    assert films.per_user[parts[1]].min() >= 20
    assert bin_name((21, 40)) == "21-40"
    assert bin_name((101, 100_000)) == "over 100"


def test_measures_are_means_over_people():
    truths = [np.array([2.0, 1.0]), np.array([3.0, 1.0, 3.0])]
    scores = [np.array([1.0, 2.0]), np.array([2.0, 3.0, 1.0])]
    found = movies.measures(truths, scores)
    assert found["disagreement"] == pytest.approx((1 + 1) / 2)
    assert found["PROT"] == pytest.approx((1 / 2 + 1 / 2) / 2)
    assert found["AP"] == pytest.approx((1 / 2 + (1 / 2 + 2 / 3) / 2) / 2)
    assert found["coverage"] == pytest.approx((1 / 2 + 2 / 3) / 2)


# Chance.


def test_random_guessing_is_the_mean_over_all_orders():
    found = feedback.by_chance_alone(6, 1 / 3)
    sums = np.zeros(3)
    orders = set(permutations([1, 1, 0, 0, 0, 0]))
    for order in orders:
        ranks = np.flatnonzero(order) + 1
        sums += [np.mean([1, 2] / ranks), 1 / ranks[0], 2 / ranks[1]]
    expected = sums / len(orders)
    assert [found[which] for which in feedback.TOP] == pytest.approx(expected)


def test_good_films_have_the_highest_rating_given():
    assert feedback.good_fraction(np.array([3.0, 4.0, 4.0, 1.0])) == 0.5


# Weak learners.


def test_stages_stay_as_they_are_after_the_last_round():
    X, y = np.array([[1.0], [2.0], [3.0]]), [0, 1, 2]
    model = RankBoost(n_rounds=3).fit(X, y)
    staged = list(model.staged_predict(X))
    found = learners.stages(model, X, np.array([1, 3, 9]))
    assert [each.tolist() for each in found] == [
        staged[0].tolist(),
        staged[-1].tolist(),
        staged[-1].tolist(),
    ]


def test_errors_are_taken_at_the_rounds_that_are_tabled():
    for config in EXPERIMENT.presets.values():
        rounds = learners.rounds_of(config)
        assert rounds[0] == 1
        assert rounds[-1] == config.rounds_shown
        assert len(rounds) <= 42
    assert 50 in learners.rounds_of(EXPERIMENT.presets["full"])


# Lists.


@pytest.fixture
def two_queries():
    X = np.array([[-1.0, -2.0], [-2.0, np.nan], [-3.0, -1.0], [-1.0, np.nan]])
    return lists.Lists(X, np.array([0.0, 1.0, 0.0, 1.0]), np.array([0, 0, 0, 1]))


def test_targets_are_documents_of_the_highest_grade():
    y = np.array([1.0, 2.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0])
    qid = np.array(["b", "b", "c", "c", "a", "a", "d", "d"])
    made = lists.targeted(Documents(np.arange(16.0).reshape(8, 2), y, qid))
    assert made.query.tolist() == [0, 0, 1, 1, 2, 2]
    assert made.target.tolist() == [0, 1, 0, 1, 1, 0]
    assert made.X[:, 0].tolist() == [8, 10, 0, 2, 12, 14]
    assert made.n_queries == 3


def test_counts_of_one_list_of_borda_and_of_reciprocal_ranks(two_queries):
    assert lists.alone(two_queries, 1).tolist() == [-2.0, -1e9, -1.0, -1e9]
    assert lists.borda(two_queries).tolist() == [3 + 2, 2 + 0, 1 + 3, 1]
    expected = [1 / 61 + 1 / 62, 1 / 62, 1 / 63 + 1 / 61, 1 / 61]
    assert lists.fusion(two_queries) == pytest.approx(expected)


def test_targets_are_found_in_expectation_and_ranks_are_cut():
    target = np.zeros(40)
    target[3] = 1.0
    query = np.zeros(40, dtype=int)
    few = lists.Lists(np.zeros((40, 1)), target, query)
    found = lists.summed(lists.found(few, np.zeros(40)))
    assert found[:-1] == pytest.approx([k / 40 for k in lists.TOPS])
    assert found[-1] == pytest.approx((sum(range(1, 32)) + 9 * 31) / 40)
    last = lists.summed(lists.found(few, -target))
    assert last.tolist() == [0, 0, 0, 0, 0, 0, 31]


def test_errors_count_pairs_of_all_queries_alike(two_queries):
    made = lists.made_lists(0)
    rows = np.flatnonzero(made.query < 4)
    scores = lists.fusion(made)[rows]
    wrong, count = 0.0, 0
    for i in rows:
        for j in rows:
            is_pair = made.query[i] == made.query[j] and made.target[i] > made.target[j]
            if is_pair:
                one, other = scores[i], scores[j]
                wrong += float(one < other) + 0.5 * float(one == other)
                count += 1
    assert lists.error(made, rows, scores) == pytest.approx(wrong / count)


def test_each_fold_is_ranked_by_what_the_others_taught():
    made = lists.made_lists(1)
    fold = np.arange(made.n_queries) % lists.N_FOLDS
    settings = learners.LEARNERS["WeakLearn.3.cum"]
    _, scores = lists.boost(QUICK, made, fold, settings)
    is_test = fold[made.query] == 2
    model = RankBoost(n_rounds=QUICK.fold_rounds, default=0, **settings)
    model.fit(made.X[~is_test], made.target[~is_test], qid=made.query[~is_test])
    assert scores[is_test] == pytest.approx(model.predict(made.X[is_test]), abs=1e-12)


def test_made_lists_have_places_and_ends():
    made = lists.made_lists(0)
    rows = made.X[made.query == 0]
    for column in rows.T:
        listed = np.sort(-column[~np.isnan(column)])
        assert listed.tolist() == list(range(1, len(listed) + 1))
    assert np.isnan(made.X).any()


# Ideas.


def test_similarity_gets_the_threshold_with_the_largest_r(case):
    tables, _, _ = case
    X = tables.viewers.by_item[tables.target.learnt]
    potentials = np.random.default_rng(5).standard_normal(X.shape[0])
    potentials -= potentials.mean()
    learner = ideas.similarity_learner(tables, 30)
    found = float(learner(X, potentials)(X) @ potentials)
    centred = np.nan_to_num(tables.learnt - tables.viewers.means)
    values = centred @ tables.similarities(30)
    best = max(float((values > cut) @ potentials) for cut in values)
    assert found == pytest.approx(best, abs=1e-12)


def test_a_hybrid_is_no_worse_on_what_it_learnt(case):
    tables, _, _ = case
    viewers, target = tables.viewers, tables.target
    weak = ["threshold", ideas.similarity_learner(tables, 30)]
    _, model = movies.boosted(viewers, target, 30, weak=weak, n_rounds=1)
    _, plain = movies.boosted(viewers, target, 30, n_rounds=1)
    assert model.bounds_[-1] <= plain.bounds_[-1] + 1e-12


def test_stumps_may_put_unrated_films_on_either_side():
    table = np.array([[1.0, np.nan]])
    assert ideas.stump_table(table).tolist() == [[1.0, 0.0, 1.0, 6.0]]


# Documents, and verdicts.


def test_ndcg_counts_the_first_two_places_alike():
    made = Documents(np.zeros((3, 1)), np.array([0.0, 1.0, 2.0]), np.array([1, 1, 1]))
    swapped = letor.figures(made, np.array([1.0, 3.0, 2.0]))
    assert swapped[:2] == pytest.approx([1 / 3, 1.0])
    assert letor.figures(made, np.array([1.0, 2.0, 3.0])) == pytest.approx(1.0)
    tied = letor.figures(made, np.zeros(3))
    assert tied[0] == pytest.approx(np.mean([0, 1, 3]) / 3)


def test_verdicts():
    assert [holds(True), holds(True, False), holds(False)] == ["yes", "in part", "no"]
    assert judged(np.array([1, 1])) == "yes"
    assert judged(np.array([1, -1])) == "in part"
    assert judged(np.array([1, 0, -1])) == "no"
    assert lists._text(-0.25, 0.5) == "\N{MINUS SIGN}0.2 ± 0.5"


@pytest.mark.paper
@pytest.mark.skipif(
    not FOLDER, reason="PECKORDER_DATA does not name a folder of real data"
)
def test_films_are_ordered_as_well_as_measured_before():
    full = EXPERIMENT.presets["full"]
    config = dataclasses.replace(full, sizes=(100, 1000), splits=10, targets=40)
    parts = tuple(part for part in EXPERIMENT.parts if part.name == "figure-5")
    real = dataclasses.replace(EXPERIMENT, parts=parts, presets={"full": config})
    outcome = experiments.run(real, "full", data=Path(FOLDER), jobs=os.cpu_count())
    if outcome.parts[0].left_out:
        pytest.skip(outcome.parts[0].left_out)
    mean = {
        name: np.mean(
            [u["rankers"][name]["disagreement"][1] for u in outcome.parts[0].units]
        )
        for name in outcome.parts[0].units[0]["rankers"]
    }
    assert 0.325 <= mean[movies.BOOST] <= 0.35
    assert 0.04 <= mean[movies.NEAREST] - mean[movies.BOOST] <= 0.07
    assert 0.015 <= mean[movies.BOOST] - mean[movies.SIMILARITY] <= 0.045
    assert mean[movies.PLAIN] > mean[movies.BOOST]
    assert mean[movies.MEAN] < mean[movies.SIMILARITY]
