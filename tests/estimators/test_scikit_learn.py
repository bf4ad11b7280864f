"""Scikit-learn's own checks, for every public estimator."""

import inspect

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import peckorder
from peckorder import (
    AggregatePRank,
    CalibratedOrdinal,
    MPRank,
    MPRankCV,
    MulticlassPerceptron,
    OrdinalBoost,
    PRank,
    RankBoost,
    SVRank,
    TableRanker,
    WidrowHoff,
    metrics,
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
    WidrowHoff(eta=1.0, rule="averaged"),
    WidrowHoff(kernel="rbf"),
    MulticlassPerceptron(),
    MulticlassPerceptron(unit_norm=False),
    MulticlassPerceptron(update="uniform", rule="averaged"),
    MulticlassPerceptron(kernel="rbf"),
    PRank(kernel="poly"),
    PRank(kernel="rbf"),
    PRank(kernel="rbf", budget=10),
    PRank(kernel="rbf", rule="voted"),
    PRank(update="projection"),
    PRank(update="projection", rule="voted"),
    PRank(update="romma"),
    PRank(update="romma", kernel="rbf"),
    *(
        AggregatePRank(n_estimators=5, aggregate=aggregate, random_state=0)
        for aggregate in ("bayes_point", "bagging", "voted", "median")
    ),
    AggregatePRank(n_estimators=5, sampling="poisson", random_state=0),
    AggregatePRank(n_estimators=5, sampling="permutation", random_state=0),
    AggregatePRank(n_estimators=5, kernel="poly", random_state=0),
    AggregatePRank(n_estimators=5, kernel="rbf", random_state=0),
    TableRanker(PRank()),
    CalibratedOrdinal(MPRank(), cv=3),
    CalibratedOrdinal(PRank(), cv=3),
    OrdinalBoost(odds="proportional", n_rounds=5, subsample=1.0, min_samples_leaf=1),
    # Of more rounds some have splits that gain the same but for rounding.
    OrdinalBoost(odds="free", n_rounds=3, max_leaf_nodes=4, subsample=1.0, min_samples_leaf=1),
    TableRanker(OrdinalBoost(n_rounds=5, random_state=0)),
]
# Those that score rows within queries, of which there may be one.
RANKERS = [
    RankBoost(n_rounds=5, smoothing=0.1),
    RankBoost(n_rounds=5, smoothing=0.1, alpha="analytic", missing="abstain"),
    RankBoost(n_rounds=5, smoothing=0.1, alpha="numeric", weak="feature", cumulative=False),
    # Repeated rows count as several, for the leaves and beside l2.
    RankBoost(n_rounds=5, weak="tree", min_samples_leaf=1, l2=0.0, random_state=0),
    RankBoost(n_rounds=5, weak="tree", min_samples_leaf=1, l2=0.0, loss="logistic"),
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


ROWS, GRADE = make_square(120, random_state=1)
QUANTITY = GRADE + np.sin(np.arange(120))
TREES = RankBoost(n_rounds=5, weak="tree", random_state=0)
SCORERS = [MPRank(), MPRankCV(Cs=[1.0]), SVRank(), RankBoost(n_rounds=5), TREES]
ORDINAL = [
    PRank(),
    AggregatePRank(n_estimators=5, random_state=0),
    WidrowHoff(),
    MulticlassPerceptron(),
    OrdinalBoost(n_rounds=20, random_state=0),
]
every_scorer = pytest.mark.parametrize("ranker", SCORERS, ids=repr)
every_ordinal = pytest.mark.parametrize("ranker", ORDINAL, ids=repr)


@every_scorer
def test_a_ranker_works_within_what_transforms(ranker):
    union = make_union(StandardScaler(), PolynomialFeatures(2))
    features = union.fit_transform(ROWS)
    expected = clone(ranker).fit(features, QUANTITY).predict(features)
    chained = make_pipeline(union, ranker).fit(ROWS, QUANTITY)
    np.testing.assert_array_equal(chained.predict(ROWS), expected)
    doubled = TransformedTargetRegressor(
        ranker, func=lambda y: 2.0 * y, inverse_func=lambda y: y / 2.0
    )
    expected = clone(ranker).fit(ROWS, 2.0 * QUANTITY).predict(ROWS) / 2.0
    np.testing.assert_array_equal(doubled.fit(ROWS, QUANTITY).predict(ROWS), expected)


@every_scorer
def test_a_ranker_works_within_ensembles(ranker):
    for ensemble in (
        BaggingRegressor(ranker, n_estimators=3, random_state=0),
        AdaBoostRegressor(ranker, n_estimators=3, random_state=0),
    ):
        scores = ensemble.fit(ROWS, QUANTITY).predict(ROWS)
        assert metrics.disagreement(QUANTITY, scores) < 0.48
    labels = (GRADE > 3).astype(int)
    stack = StackingClassifier([("ranker", ranker), ("other", LogisticRegression())])
    assert stack.fit(ROWS, labels).score(ROWS, labels) > 0.6


@every_scorer
def test_a_ranker_is_no_regressor(ranker):
    name = type(ranker).__name__
    for ensemble in (StackingRegressor, VotingRegressor):
        with pytest.raises(ValueError, match=f"^The estimator {name} should be a regressor"):
            ensemble([("ranker", ranker), ("other", Ridge())]).fit(ROWS, QUANTITY)


class MPRankRegressor(RegressorMixin, MPRank):
    """As the guide shows it."""


def test_a_ranker_of_magnitudes_can_be_made_a_regressor():
    pair = [("ranker", MPRankRegressor(C=100.0)), ("other", Ridge())]
    for ensemble in (StackingRegressor(pair), VotingRegressor(pair)):
        assert ensemble.fit(ROWS, QUANTITY).score(ROWS, QUANTITY) > 0.1
    r2 = r2_score(QUANTITY, MPRank().fit(ROWS, QUANTITY).predict(ROWS))
    assert MPRankRegressor().fit(ROWS, QUANTITY).score(ROWS, QUANTITY) == r2


@every_ordinal
def test_an_ordinal_ranker_works_within_ensembles(ranker):
    for method in ("auto", "predict"):
        pair = [("ranker", ranker), ("other", LogisticRegression())]
        stack = StackingClassifier(pair, stack_method=method).fit(ROWS, GRADE)
        assert set(stack.predict(ROWS)) <= set(GRADE)
    bag = BaggingClassifier(ranker, n_estimators=3, random_state=0).fit(ROWS, GRADE)
    assert set(bag.predict(ROWS)) <= set(GRADE)
    # Of classes given by numbers the mean, as scores.
    mean = BaggingRegressor(ranker, n_estimators=3, random_state=0).fit(ROWS, GRADE)
    assert metrics.disagreement(GRADE, mean.predict(ROWS)) < 0.48


@every_ordinal
def test_an_ordinal_ranker_is_no_classifier(ranker):
    # Its score is not the share of rows placed rightly, by which classifiers are chosen.
    name = type(ranker).__name__
    with pytest.raises(ValueError, match=f"^The estimator {name} should be a classifier"):
        VotingClassifier([("ranker", ranker), ("other", LogisticRegression())]).fit(ROWS, GRADE)


def test_is_tuned_by_a_grid_search():
    X, y = make_square(300, random_state=0)
    grid = {"rule": ["last", "averaged"], "unit_norm": [True, False]}
    search = GridSearchCV(PRank(), grid, cv=3).fit(X, y)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
