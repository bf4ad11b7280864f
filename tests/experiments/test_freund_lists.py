"""Weak learners, ranked lists and documents: the protocol of the RankBoost paper."""

import numpy as np
import pytest

from peckorder import RankBoost, experiments
from peckorder.datasets import Documents
from peckorder.experiments.freund_2003 import documents, learners, lists
from peckorder.metrics import disagreement, half_width

EXPERIMENT = experiments.find("freund-2003")
QUICK = EXPERIMENT.presets["quick"]


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
        for last in (config.film_rounds, config.list_rounds):
            rounds = learners.rounds_of(last)
            assert rounds[0] == 1
            assert rounds[-1] == last
            assert len(rounds) <= 43
            assert set(learners.judged_rounds(last)) <= set(rounds)
    assert learners.judged_rounds(200).tolist() == [40, 50, 200, 200]
    assert learners.judged_rounds(1000).tolist() == [40, 50, 200, 1000]
    assert learners.judged_rounds(10).tolist() == [2, 2, 10, 10]
    # In 1,000 rounds the second method grows without bound on films.
    assert EXPERIMENT.presets["paper"].film_rounds == 200


# Lists.


@pytest.fixture
def two_queries():
    X = np.array([[-1.0, -2.0], [-2.0, np.nan], [-3.0, -1.0], [-1.0, np.nan]])
    return lists.Lists(X, np.array([0.0, 1.0, 0.0, 1.0]), np.array([0, 0, 0, 1]))


def test_targets_are_documents_of_the_highest_grade():
    y = np.array([1.0, 2.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0])
    qid = np.array(["b", "b", "c", "c", "a", "a", "d", "d"])
    synthetic = lists.targeted(Documents(np.arange(16.0).reshape(8, 2), y, qid))
    assert synthetic.query.tolist() == [0, 0, 1, 1, 2, 2]
    assert synthetic.target.tolist() == [0, 1, 0, 1, 1, 0]
    assert synthetic.X[:, 0].tolist() == [8, 10, 0, 2, 12, 14]
    assert synthetic.n_queries == 3


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
    found = lists.summed(lists.target_ranks(few, np.zeros(40)))
    assert found[:-1] == pytest.approx([k / 40 for k in lists.TOPS])
    assert found[-1] == pytest.approx((sum(range(1, 32)) + 9 * 31) / 40)
    last = lists.summed(lists.target_ranks(few, -target))
    assert last.tolist() == [0, 0, 0, 0, 0, 0, 31]


def test_errors_count_pairs_of_all_queries_alike(two_queries):
    synthetic = lists.synthetic_lists(0)
    rows = np.flatnonzero(synthetic.query < 4)
    scores = lists.fusion(synthetic)[rows]
    wrong, count = 0.0, 0
    for i in rows:
        for j in rows:
            is_pair = (
                synthetic.query[i] == synthetic.query[j]
                and synthetic.target[i] > synthetic.target[j]
            )
            if is_pair:
                one, other = scores[i], scores[j]
                wrong += float(one < other) + 0.5 * float(one == other)
                count += 1
    assert lists.error(synthetic, rows, scores) == pytest.approx(wrong / count)


def test_each_fold_is_ranked_by_what_the_others_taught():
    synthetic = lists.synthetic_lists(1)
    fold = np.arange(synthetic.n_queries) % lists.N_FOLDS
    settings = learners.LEARNERS["WeakLearn.3.cum"]
    found = lists.boost(QUICK, synthetic, fold, settings)
    scores = found.scores
    is_test = fold[synthetic.query] == 2
    model = RankBoost(n_rounds=QUICK.fold_rounds, default=0, **settings)
    model.fit(synthetic.X[~is_test], synthetic.target[~is_test], qid=synthetic.query[~is_test])
    assert scores[is_test] == pytest.approx(model.predict(synthetic.X[is_test]), abs=1e-12)
    # The error of each query is that of the model which did not see it.
    judged = learners.judged_rounds(QUICK.list_rounds)
    assert {half: len(values) for half, values in found.by_query.items()} == {
        "train": len(judged),
        "test": len(judged),
    }
    model = RankBoost(n_rounds=int(judged[-1]), default=0, **settings)
    model.fit(synthetic.X[~is_test], synthetic.target[~is_test], qid=synthetic.query[~is_test])
    for query in np.unique(synthetic.query[is_test]):
        rows = np.flatnonzero(synthetic.query == query)
        wrong = disagreement(synthetic.target[rows], model.predict(synthetic.X[rows]))
        assert found.by_query["test"][-1][query] == pytest.approx(wrong, abs=1e-5)


def test_errors_of_queries_have_the_mean_that_is_shown():
    synthetic = lists.synthetic_lists(0)
    rng = np.random.default_rng(0)
    fold = rng.permutation(synthetic.n_queries) % lists.N_FOLDS
    found = lists.boost(QUICK, synthetic, fold, learners.LEARNERS["WeakLearn.3.cum"])
    unit = {"pairs": lists.pairs_of(synthetic), "by query": {"x": found.by_query}}
    terms = lists.errors_after([unit], "x", "train", 3)
    # A fold's share of the pairs is not exactly a quarter.
    assert terms.mean() == pytest.approx(found.curves["train"][-1], abs=0.01)
    weight = unit["pairs"]
    assert terms.mean() == pytest.approx(
        np.average(found.by_query["train"][3], weights=weight), abs=1e-12
    )


def test_the_interval_over_queries_is_that_of_queries_drawn_anew():
    rng = np.random.default_rng(0)
    n = 300
    pairs = rng.integers(1, 60, n)
    errors = rng.random((4, n)) * 30 / (pairs + 30)
    units = [{"pairs": pairs, "by query": {"x": {"test": errors}}}]
    half = half_width(lists.errors_after(units, "x", "test", 2))
    drawn = rng.integers(n, size=(4000, n))
    means = np.average(errors[2][drawn], weights=pairs[drawn], axis=1)
    assert half == pytest.approx(1.96 * means.std(), rel=0.05)
    # Two partitions of the same queries are one set of queries.
    assert lists.errors_after(units * 2, "x", "test", 2) == pytest.approx(
        lists.errors_after(units, "x", "test", 2)
    )


def test_synthetic_lists_have_ranks_and_ends():
    synthetic = lists.synthetic_lists(0)
    rows = synthetic.X[synthetic.query == 0]
    for column in rows.T:
        listed = np.sort(-column[~np.isnan(column)])
        assert listed.tolist() == list(range(1, len(listed) + 1))
    assert np.isnan(synthetic.X).any()


# Documents.


def test_ndcg_counts_the_first_two_places_alike():
    synthetic = Documents(np.zeros((3, 1)), np.array([0.0, 1.0, 2.0]), np.array([1, 1, 1]))
    swapped = documents.ndcg_and_map(synthetic, np.array([1.0, 3.0, 2.0]))
    assert swapped[:2] == pytest.approx([1 / 3, 1.0])
    assert documents.ndcg_and_map(synthetic, np.array([1.0, 2.0, 3.0])) == pytest.approx(1.0)
    tied = documents.ndcg_and_map(synthetic, np.zeros(3))
    assert tied[0] == pytest.approx(np.mean([0, 1, 3]) / 3)


def test_leads_are_written_with_their_sign():
    assert lists._text(-0.25) == "\N{MINUS SIGN}0.2"
