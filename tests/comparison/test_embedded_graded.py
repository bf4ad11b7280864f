import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import Ridge

from peckorder import PRank, RankBoost
from peckorder import comparison as compare
from peckorder.comparison import GRADED_RANKERS, PROBLEMS, GradedProblem, Split
from peckorder.comparison.baselines import BestFeature, MeanFeature
from peckorder.metrics import disagreement, ndcg

SEARCH = PROBLEMS[2]


def draw(seed):
    """Thirty queries of eight rows, whose grades are the second of three features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(240, 3))
    y = np.digitize(X[:, 1] + 0.3 * rng.normal(size=240), [0.0, 1.0])
    qid = np.repeat(np.arange(30), 8)
    return Split(X[:160], y[:160], X[160:], y[160:], qid[:160], qid[160:])


EASY = GradedProblem("easy", "Grades of one feature.", draw, settings={"n_rounds": 7})


def measured(scores, split):
    """Means over the queries for which there is a value."""
    about = {"qid": split.qid_test, "per_query": True}
    values = [
        disagreement(split.y_test, scores, **about),
        ndcg(split.y_test, scores, k=10, **about),
    ]
    return np.nanmean(values, axis=1)


def test_measures_are_those_of_a_fit_by_hand_with_queries():
    ((_, contest),) = compare.run([EASY], {"RankBoost": RankBoost()}, repeats=2, seed=5)
    values = contest.best.values
    for k, seed in enumerate((5, 6)):
        split = draw(seed)
        model = RankBoost(n_rounds=7)
        model.fit(split.X_train, split.y_train, qid=split.qid_train)
        found = [values["disagreement"][k], values["ndcg@10"][k]]
        assert found == measured(model.predict(split.X_test), split).tolist()


def test_curves_follow_the_rounds_and_are_level_where_there_are_none():
    rankers = {"boost": RankBoost(), "short": RankBoost(n_rounds=3), "ridge": Ridge()}
    ((_, contest),) = compare.run([EASY], rankers, repeats=2)
    by_name = {result.name: result for result in contest.results}
    boost, short, ridge = (by_name[name] for name in rankers)
    split = draw(0)
    model = RankBoost(n_rounds=7)
    model.fit(split.X_train, split.y_train, qid=split.qid_train)
    stages = [measured(s, split)[0] for s in model.staged_predict(split.X_test)]
    assert boost.curves[0].tolist() == stages
    assert boost.curves[0][-1] == boost.values["disagreement"][0]
    assert short.curves[0].tolist() == stages[:3] + stages[2:3] * 4
    levels = [[loss] * 7 for loss in ridge.values["disagreement"]]
    assert np.array(ridge.curves).tolist() == levels


def test_a_random_order_stands_beside_the_rankers():
    ((_, contest),) = compare.run([EASY], {"Ridge": Ridge()}, repeats=2)
    last = contest.results[-1]
    assert (last.name, last.curves) == ("(a random order)", [])
    np.testing.assert_allclose(last.values["disagreement"], 0.5, rtol=1e-12)
    rng, split = np.random.default_rng(0), draw(0)
    orders = [measured(rng.permutation(80), split)[1] for _ in range(400)]
    assert last.values["ndcg@10"][0] == pytest.approx(np.mean(orders), abs=0.02)


def test_scores_are_used_where_a_model_has_finer_ones_than_predictions():
    split = draw(0)
    model = PRank(unit_norm=False).fit(split.X_train, split.y_train)
    by_score = measured(model.decision_function(split.X_test), split)
    assert EASY.measure(model, split) == tuple(by_score)


def test_queries_without_a_value_are_left_out():
    X, y, qid = np.array([[1.0], [0.0], [2.0], [3.0]]), [1, 0, 0, 0], [1, 1, 2, 2]
    split = Split(X, y, X, y, qid, qid)
    model = BestFeature().fit(X, y, qid=qid)
    assert EASY.measure(model, split) == (0.0, 1.0)


def test_the_best_feature_is_chosen_on_the_queries_to_learn_from():
    split = draw(0)
    model = BestFeature().fit(split.X_train, split.y_train, qid=split.qid_train)
    assert model.feature_ == 1
    assert model.predict(split.X_test).tolist() == split.X_test[:, 1].tolist()


def test_gaps_of_the_best_feature_come_last_and_are_no_part_of_a_mean():
    X = np.array([[np.nan, 5.0], [-3.0, 4.0], [1.0, 6.0]])
    model = BestFeature().fit(X, [0, 1, 2])
    assert model.feature_ == 0
    assert model.predict(X).argsort().tolist() == [0, 1, 2]
    assert MeanFeature().fit(X, [0, 1, 2]).predict(X).tolist() == [5.0, 0.5, 3.5]


def test_search_splits_by_whole_queries():
    split = SEARCH.draw(0)
    train, test = set(split.qid_train), set(split.qid_test)
    assert (len(train), len(test), train & test) == (50, 50, set())
    assert len(split.y_train) == len(split.qid_train) == len(split.X_train)


def test_search_features_are_between_0_and_1_in_every_query():
    split = SEARCH.draw(0)
    for query in (split.qid_train[0], split.qid_train[-1]):
        rows = split.X_train[split.qid_train == query]
        low, high = np.nanmin(rows, axis=0), np.nanmax(rows, axis=0)
        is_constant = np.arange(24) % 6 == 4
        assert low.tolist() == [0.0] * 24
        assert (high == np.where(is_constant, 0.0, 1.0)).all()


def test_the_true_relevance_loses_what_the_problem_says():
    rng, n = np.random.default_rng(0), 4000
    qid = np.repeat(np.arange(n), rng.integers(20, 81, n))
    relevance = 0.5 * rng.normal(size=n)[qid] + rng.normal(size=len(qid))
    cuts = norm.isf(0.4 ** np.arange(1, 5), scale=1.5**0.5)
    y = np.digitize(relevance + 0.5 * rng.normal(size=len(qid)), cuts)
    losses = disagreement(y, relevance, qid=qid, per_query=True)
    assert np.nanmean(losses) == pytest.approx(SEARCH.reference[1], abs=0.002)


@pytest.mark.parametrize("name", GRADED_RANKERS)
def test_every_ranker_is_better_than_a_random_order(name):
    ranker: BaseEstimator = clone(GRADED_RANKERS[name])
    ((_, contest),) = compare.run([SEARCH], {name: ranker}, repeats=2)
    assert contest.best.name == name
    assert contest.best.values["disagreement"].mean() < 0.25
