"""Scikit-learn's own checks, for every public estimator."""

import inspect

import pytest
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import peckorder
from peckorder import (
    AggregatePRank,
    MPRank,
    MPRankCV,
    MulticlassPerceptron,
    PRank,
    RankBoost,
    SVRank,
    TableRanker,
    WidrowHoff,
)
from peckorder.datasets import make_square

ESTIMATORS = [
    *(
        PRank(rule=rule, unit_norm=unit_norm)
        for rule in ("last", "averaged", "voted")
        for unit_norm in (True, False)
    ),
    WidrowHoff(),
    WidrowHoff(step="normalized", unit_norm=False),
    MulticlassPerceptron(),
    MulticlassPerceptron(unit_norm=False),
    PRank(kernel="poly"),
    PRank(kernel="rbf"),
    PRank(kernel="rbf", budget=10),
    PRank(kernel="rbf", rule="voted"),
    *(
        AggregatePRank(n_estimators=5, aggregate=aggregate, random_state=0)
        for aggregate in ("bayes_point", "bagging", "voted", "median")
    ),
    AggregatePRank(n_estimators=5, kernel="poly", random_state=0),
    AggregatePRank(n_estimators=5, kernel="rbf", random_state=0),
    TableRanker(PRank()),
]
# Those that score rows within queries, of which there may be one.
RANKERS = [
    RankBoost(n_rounds=5, smoothing=0.1),
    RankBoost(n_rounds=5, smoothing=0.1, alpha="analytic", missing="abstain"),
    RankBoost(n_rounds=5, smoothing=0.1, alpha="numeric", weak="feature", cumulative=False),
    MPRank(),
    # Of several C the best need not be that of rows repeated.
    MPRankCV(Cs=[1.0]),
    SVRank(),
    SVRank(power=2, loss="hmpc"),
    SVRank(kernel="rbf"),
    TableRanker(MPRank()),
    TableRanker(RankBoost(n_rounds=5, smoothing=0.1), scale=False),
]

# Name of a check: why it must fail. For every estimator alike.
EXPECTED_FAILURES: dict[str, str] = {}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:.*no weak ranking separates the rows")
@parametrize_with_checks(
    ESTIMATORS + RANKERS, expected_failed_checks=lambda estimator: EXPECTED_FAILURES
)
def test_obeys_scikit_learn(estimator, check):
    assert check(estimator) is None


def test_every_public_estimator_is_checked():
    public = {
        thing
        for thing in (getattr(peckorder, name) for name in peckorder.__all__)
        if inspect.isclass(thing) and issubclass(thing, BaseEstimator)
    }
    assert public == {type(estimator) for estimator in ESTIMATORS + RANKERS}


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_works_in_a_pipeline_under_cross_validation(estimator):
    X, y = make_square(200, random_state=0)
    scores = cross_val_score(make_pipeline(StandardScaler(), estimator), X, y, cv=3)
    # A constant loses 1.01 steps, a blind guess more.
    assert all(-1.5 < score < 0 for score in scores)


@pytest.mark.parametrize("estimator", RANKERS, ids=repr)
def test_a_ranker_works_in_a_pipeline_under_cross_validation(estimator):
    X, y = make_square(200, random_state=0)
    scores = cross_val_score(make_pipeline(StandardScaler(), estimator), X, y, cv=3)
    # A constant, and a blind guess, put half of the pairs in order.
    assert all(0.5 < score <= 1 for score in scores)


def test_is_tuned_by_a_grid_search():
    X, y = make_square(300, random_state=0)
    grid = {"rule": ["last", "averaged"], "unit_norm": [True, False]}
    search = GridSearchCV(PRank(), grid, cv=3).fit(X, y)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
