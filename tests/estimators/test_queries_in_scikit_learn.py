"""Queries reach estimators and splitters through scikit-learn's own tools."""

from functools import partial
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from peckorder import MPRank, MPRankCV, Preferences, RankBoost, SVRank, metrics
from peckorder.exceptions import DataError
from peckorder.feedback import Queries
from peckorder.io import from_bytes
from peckorder.model_selection import QueryKFold
from support.helpers import exactly


class Dummy(BaseEstimator):
    """Takes queries as our estimators do, and minds what it is given."""

    __metadata_request__fit: ClassVar = {"qid": True}
    # Pipeline.score passes sample_weight=None, which a step has to have heard of.
    __metadata_request__score: ClassVar = {"qid": True, "sample_weight": None}

    def __init__(self, *, size=1.0, max_iter=1):
        self.size = size
        self.max_iter = max_iter

    def fit(self, X, y, *, qid=None):
        assert qid is not None, "fit was given no qid"
        self.queries_ = set(Queries.of(qid, len(y)).ids.tolist())
        return self

    def predict(self, X):
        return np.zeros(len(X))

    def score(self, X, y, *, qid=None):
        assert qid is not None, "score was given no qid"
        tested = set(Queries.of(qid, len(y)).ids.tolist())
        assert not tested & self.queries_, "a query was cut in two"
        return self.size + len(tested)


# Every estimator that takes qid: how it is made, and a parameter to search over.
TAKE_QID = {
    "Dummy": (Dummy, {"size": [1.0, 3.0, 2.0]}),
    "RankBoost": (partial(RankBoost, n_rounds=4), {"n_rounds": [1, 3, 2]}),
}
every_estimator = pytest.mark.parametrize(("make", "grid"), TAKE_QID.values(), ids=TAKE_QID)

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = rng.integers(0, 3, 60)
QID = rng.integers(0, 12, 60)
NAMES = [f"query {q}" for q in QID]
FORMS = {
    "array": QID,
    "list of strings": NAMES,
    "array of objects": np.array(NAMES, dtype=object),
    "list of tuples": [("shop", int(q)) for q in QID],
    "mixed": [int(q) if q % 2 else f"q{q}" for q in QID],
    "pandas": pd.Series(NAMES, index=QID),
    "categorical": pd.Series(NAMES, dtype="category"),
    "polars": pl.Series(NAMES),
}
every_form = pytest.mark.parametrize("qid", FORMS.values(), ids=FORMS)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@every_form
@every_estimator
@pytest.mark.usefixtures("routing")
def test_cross_validate_hands_queries_on(make, grid, qid):
    options = {"params": {"qid": qid}, "error_score": "raise"}
    result = cross_validate(make(), X, Y, cv=QueryKFold(4), return_indices=True, **options)
    assert np.isfinite(result["test_score"]).all()
    tests = result["indices"]["test"]
    assert_array_equal(np.sort(np.concatenate(tests)), np.arange(60))


@every_estimator
@pytest.mark.usefixtures("routing")
def test_the_other_tools_hand_queries_on(make, grid):
    options = {"cv": QueryKFold(3), "params": {"qid": QID}}
    assert len(cross_val_score(make(), X, Y, error_score="raise", **options)) == 3
    assert len(cross_val_predict(make(), X, Y, **options)) == 60


@every_form
@every_estimator
@pytest.mark.usefixtures("routing")
def test_a_grid_search_hands_queries_on(make, grid, qid):
    search = GridSearchCV(make(), grid, cv=QueryKFold(3), error_score="raise")
    search.fit(X, Y, qid=qid)
    assert search.n_splits_ == 3
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@every_estimator
@pytest.mark.usefixtures("routing")
def test_a_random_search_inside_of_cross_validation(make, grid):
    options = {"cv": QueryKFold(2), "error_score": "raise"}
    search = RandomizedSearchCV(make(), grid, n_iter=2, random_state=0, **options)
    result = cross_validate(search, X, Y, params={"qid": QID}, **options)
    assert np.isfinite(result["test_score"]).all()


@every_estimator
@pytest.mark.usefixtures("routing")
def test_a_pipeline_hands_queries_on(make, grid):
    pipeline = make_pipeline(StandardScaler(), make())
    options = {"cv": QueryKFold(3), "error_score": "raise"}
    result = cross_validate(pipeline, X, Y, params={"qid": QID}, **options)
    assert np.isfinite(result["test_score"]).all()
    step = pipeline.steps[-1][0]
    within = {f"{step}__{name}": values for name, values in grid.items()}
    search = GridSearchCV(pipeline, within, **options).fit(X, Y, qid=QID)
    assert np.isfinite(search.best_score_)


@every_estimator
@pytest.mark.usefixtures("routing")
def test_our_scorers_are_handed_queries_too(make, grid):
    options = {"cv": QueryKFold(3), "error_score": "raise"}
    scoring = {name: metrics.scorer(name) for name in ("disagreement", "ndcg@5")}
    for model in (make(), make_pipeline(StandardScaler(), make())):
        result = cross_validate(model, X, Y, scoring=scoring, params={"qid": QID}, **options)
        for name in scoring:
            assert np.isfinite(result[f"test_{name}"]).all()


@pytest.mark.usefixtures("routing")
def test_the_best_of_a_grid_is_found():
    search = GridSearchCV(Dummy(), {"size": [1.0, 3.0, 2.0]}, cv=QueryKFold(3))
    assert search.fit(X, Y, qid=QID).best_params_ == {"size": 3.0}
    # 12 queries in 3 folds
    assert search.best_score_ == 3.0 + len(set(QID)) / 3


@pytest.mark.usefixtures("routing")
def test_halving_over_a_parameter_leaves_queries_whole():
    search = HalvingGridSearchCV(
        Dummy(),
        {"size": [1.0, 3.0, 2.0, 0.0]},
        resource="max_iter",
        max_resources=4,
        factor=2,
        cv=QueryKFold(3, shuffle=True, random_state=0),
        return_train_score=False,
        error_score="raise",
    )
    assert search.fit(X, Y, qid=QID).best_params_["size"] == 3.0
    assert search.best_params_["max_iter"] == 4


@pytest.mark.usefixtures("routing")
def test_halving_over_rows_cuts_queries():
    # As the docstring of QueryKFold warns: scikit-learn draws from the rows of folds.
    sizes = []

    class Watcher(Dummy):
        def fit(self, X, y, *, qid=None):
            sizes.append(Queries.of(qid, len(y)).sizes.tolist())
            return super().fit(X, y, qid=qid)

    cv, grid = QueryKFold(2), {"size": [1.0, 2.0, 3.0]}
    search = HalvingGridSearchCV(Watcher(), grid, cv=cv, min_resources=12, return_train_score=False)
    search.fit(X, Y, qid=QID)
    whole = np.bincount(QID)
    assert max(map(max, sizes[:6])) < max(whole)


@pytest.mark.usefixtures("routing")
def test_groups_are_not_handed_on_in_silence():
    with pytest.raises(UnsetMetadataPassedError, match="groups"):
        cross_validate(Dummy(), X, Y, cv=QueryKFold(3), params={"groups": QID})


@every_estimator
def test_without_routing_the_switch_is_named(make, grid):
    with pytest.raises(ValueError, match="enable_metadata_routing=True"):
        cross_validate(make(), X, Y, cv=QueryKFold(3), params={"qid": QID}, error_score="raise")
    sentence = (
        "QueryKFold: qid or groups must be one value per row; got None for both. "
        "Scikit-learn passes groups as it is, and qid after "
        "sklearn.set_config(enable_metadata_routing=True)."
    )
    with pytest.raises(DataError, match=exactly(sentence)):
        cross_validate(make(), X, Y, cv=QueryKFold(3))


class WithoutQueries(Dummy):
    def fit(self, X, y):
        return super().fit(X, y, qid=[0] * len(y))

    def score(self, X, y):
        return -float(np.mean(y))


@every_form
def test_without_routing_groups_reach_the_splitter(qid):
    cv = QueryKFold(3)
    result = cross_validate(WithoutQueries(), X, Y, groups=qid, cv=cv, return_indices=True)
    ours = [test for _, test in cv.split(X, qid=qid)]
    for test, expected in zip(result["indices"]["test"], ours, strict=True):
        assert_array_equal(test, expected)
    search = GridSearchCV(WithoutQueries(), {"size": [1.0]}, cv=cv)
    assert search.fit(X, Y, groups=qid).n_splits_ == 3
    assert learning_curve(WithoutQueries(), X, Y, groups=qid, cv=cv)[0].size == 5


def test_a_splitter_is_a_parameter_like_others():
    cv = QueryKFold(3, shuffle=True, random_state=7)
    assert repr(cv) == "QueryKFold(n_splits=3, random_state=7, shuffle=True)"
    copy = clone(GridSearchCV(Dummy(), {}, cv=cv)).cv
    assert copy.get_params() == cv.get_params()


@pytest.mark.parametrize("estimator", [MPRank(), MPRank(kernel="poly"), SVRank()], ids=repr)
def test_rows_with_infinite_scores_are_refused(estimator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3)) * 1e3
    estimator.fit(X, X.sum(axis=1))
    huge = np.full((2, 3), 1.5e308)
    huge[0] = 1.0
    for call in (estimator.predict, estimator.rank):
        with pytest.raises(ValueError, match=r"X must have rows small enough for finite scores; "):
            call(huge)


WITHOUT_QUERIES = (
    "{}: fitted with queries, asked without: all rows count as one query, whose scores are "
    "compared. Give qid=, one value per row; the same one for all rows of one query."
)
RANKERS = [RankBoost(n_rounds=3), MPRank(), MPRankCV(Cs=[1.0]), SVRank()]


@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
@pytest.mark.parametrize("loaded", [False, True])
def test_a_model_of_queries_warns_without_them(ranker, loaded):
    model = clone(ranker).fit(X, Y, qid=QID)
    if loaded:
        model = from_bytes(model.to_bytes())
    sentence = exactly(WITHOUT_QUERIES.format(type(ranker).__name__))
    with pytest.warns(UserWarning, match=sentence):
        model.score(X, Y)
    with pytest.warns(UserWarning, match=sentence):
        model.rank(X)
    one = np.zeros(len(X))
    assert model.score(X, Y, qid=one) != model.score(X, Y, qid=QID)
    assert_array_equal(model.rank(X, one), metrics.ranks(model.predict(X), None))


@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
def test_a_model_of_one_query_does_not_warn(ranker):
    for options in ({}, {"qid": np.zeros(len(X))}):
        model = clone(ranker).fit(X, Y, qid=QID).fit(X, Y, **options)
        assert model.score(X, Y) == model.score(X, Y, qid=np.zeros(len(X)))
        assert len(model.rank(X)) == len(X)


def test_a_stream_of_queries_warns_without_them():
    model = MPRank().partial_fit(X[:30], Y[:30], qid=QID[:30])
    with pytest.warns(UserWarning, match="asked without"):
        model.score(X, Y)
    with pytest.warns(UserWarning, match="asked without"):
        model.partial_fit(X[30:], Y[30:], qid=QID[30:]).rank(X)


def test_preferences_within_queries_warn_without_them():
    model = RankBoost(n_rounds=3).fit(X, Preferences.of_labels(Y, QID))
    with pytest.warns(UserWarning, match="asked without"):
        model.rank(X)
    listed = RankBoost(n_rounds=3).fit(X, Preferences([0, 1], [2, 3]))
    assert len(listed.rank(X)) == len(X)
