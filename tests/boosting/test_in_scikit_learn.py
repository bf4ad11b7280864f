"""Queries, weights and offsets reach RankBoost through scikit-learn's tools."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.impute import SimpleImputer
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    cross_val_predict,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from peckorder import RankBoost, metrics
from peckorder.model_selection import QueryKFold

RNG = np.random.default_rng(0)
N = 120
X = np.round(RNG.standard_normal((N, 4)), 2) + 0.0
GAPS = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
Y = np.digitize(X[:, 0] + X[:, 1] + RNG.standard_normal(N), [-1, 1])
QID = RNG.permutation(np.arange(N) % 15)
WEIGHT, OFFSET = RNG.uniform(0.5, 2, N), 2 * RNG.standard_normal(N)
CV = QueryKFold(3)
MORE = {
    "qid": {"qid": QID},
    "offset": {"qid": QID, "offset": OFFSET},
    "weight": {"qid": QID, "sample_weight": WEIGHT},
    "all": {"qid": QID, "offset": OFFSET, "sample_weight": WEIGHT},
}
every_metadata = pytest.mark.parametrize("more", MORE.values(), ids=MORE)


@pytest.fixture(autouse=True)
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def ranker(**options):
    # Scores know no weights of rows, which has to be said.
    return RankBoost(**options).set_score_request(sample_weight=False)


def by_hand(model, rows, more):
    """Cross-validate without scikit-learn; return scores and models."""
    scores, models = [], []
    for train, test in CV.split(rows, qid=QID):
        of_train = {name: values[train] for name, values in more.items()}
        of_test = {name: values[test] for name, values in more.items() if name != "sample_weight"}
        models.append(clone(model).fit(rows[train], Y[train], **of_train))
        scores.append(models[-1].score(rows[test], Y[test], **of_test))
    return scores, models


@every_metadata
@pytest.mark.parametrize("rows", [GAPS, sparse.csr_array(X)], ids=["dense", "sparse"])
def test_cross_validation_is_what_it_is_by_hand(more, rows):
    model = ranker(n_rounds=8)
    result = cross_validate(
        model, rows, Y, cv=CV, params=more, return_estimator=True, error_score="raise"
    )
    scores, models = by_hand(model, rows, more)
    assert_allclose(result["test_score"], scores, rtol=1e-12)
    for found, expected in zip(result["estimator"], models, strict=True):
        assert found.weak_rankers_.tobytes() == expected.weak_rankers_.tobytes()


def test_our_scorers_are_handed_queries():
    scoring = {name: metrics.scorer(name) for name in ("disagreement", "ndcg@5")}
    options = {"scoring": scoring, "params": {"qid": QID}, "error_score": "raise"}
    result = cross_validate(RankBoost(n_rounds=4), X, Y, cv=CV, **options)
    scores, _ = by_hand(RankBoost(n_rounds=4), X, {"qid": QID})
    assert_allclose(result["test_disagreement"], np.array(scores) - 1, rtol=1e-12)
    assert np.all(result["test_ndcg@5"] > 0)


@pytest.mark.parametrize("name", ["qid", "weight"])
def test_predictions_of_folds_are_those_of_their_models(name):
    # Scikit-learn hands nothing on to predict here, so an offset would be missed.
    model = RankBoost(n_rounds=5)
    found = cross_val_predict(model, X, Y, cv=CV, params=MORE[name])
    expected = np.empty(N)
    folds = zip(by_hand(model, X, MORE[name])[1], CV.split(X, qid=QID), strict=True)
    for fold, (_, test) in folds:
        expected[test] = fold.predict(X[test])
    assert_array_equal(found, expected)


@every_metadata
def test_a_grid_search_chooses_the_best(more):
    grid = {"n_rounds": [1, 5, 20], "alpha": ["approximate", "numeric"]}
    search = GridSearchCV(ranker(), grid, cv=CV, error_score="raise")
    search.fit(X, Y, **more)
    scores = by_hand(RankBoost(**search.best_params_), X, more)[0]
    assert_allclose(search.best_score_, np.mean(scores), rtol=1e-12)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    whole = RankBoost(**search.best_params_).fit(X, Y, **more)
    found = search.best_estimator_.weak_rankers_
    assert found.tobytes() == whole.weak_rankers_.tobytes()


def test_a_search_by_halves_over_rounds():
    search = HalvingGridSearchCV(
        RankBoost(),
        {"learning_rate": [0.1, 0.5, 1.0, 2.0]},
        resource="n_rounds",
        max_resources=16,
        factor=2,
        cv=QueryKFold(3, shuffle=True, random_state=0),
        return_train_score=False,
        error_score="raise",
    )
    search.fit(X, Y, qid=QID)
    assert search.best_params_["n_rounds"] == 16
    assert search.best_estimator_.n_rounds_ == 16


@pytest.mark.parametrize("name", ["qid", "offset"])
def test_a_pipeline_hands_all_on(name):
    more = MORE[name]
    pipeline = make_pipeline(StandardScaler(), RankBoost(n_rounds=6))
    result = cross_validate(pipeline, X, Y, cv=CV, params=more, error_score="raise")
    # Scales have no meaning for thresholds.
    scores, _ = by_hand(RankBoost(n_rounds=6), X, more)
    assert_allclose(result["test_score"], scores, rtol=1e-12)


def test_a_pipeline_hands_an_offset_on_when_asked():
    pipeline = make_pipeline(StandardScaler(), RankBoost(n_rounds=6))
    pipeline.fit(X, Y, qid=QID, offset=OFFSET)
    alone = RankBoost(n_rounds=6).fit(X, Y, qid=QID, offset=OFFSET)
    found = pipeline.predict(X, offset=OFFSET)
    assert_allclose(found, alone.predict(X, offset=OFFSET), rtol=0, atol=1e-12)
    score = pipeline.score(X, Y, qid=QID, offset=OFFSET)
    assert score == alone.score(X, Y, qid=QID, offset=OFFSET)


def test_gaps_need_no_imputation_but_may_have_it():
    options = {"cv": CV, "params": {"qid": QID}, "error_score": "raise"}
    for step in (FunctionTransformer(), SimpleImputer()):
        pipeline = make_pipeline(step, RankBoost(n_rounds=5))
        result = cross_validate(pipeline, GAPS, Y, **options)
        assert result["test_score"].mean() > 0.6


def test_early_stopping_works_inside_of_cross_validation():
    model = RankBoost(n_rounds=60, validation_fraction=0.3, n_iter_no_change=5, random_state=0)
    more = {"qid": QID}
    result = cross_validate(
        model, X, Y, cv=CV, params=more, return_estimator=True, error_score="raise"
    )
    assert result["test_score"].mean() > 0.6
    for fold in result["estimator"]:
        assert fold.n_rounds_ < len(fold.validation_scores_) <= 61


def test_learning_is_worth_it():
    scores = cross_validate(RankBoost(), X, Y, cv=CV, params={"qid": QID})
    assert scores["test_score"].mean() > 0.7
