"""Our scorers inside scikit-learn's model selection."""

from typing import ClassVar

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from peckorder.metrics import ndcg, scorer
from peckorder.model_selection import QueryKFold

QID = np.repeat(np.arange(12), 5)
RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
Y = RNG.integers(0, 3, 60)
Y[::5], Y[1::5] = 0, 2  # every query has rows that are good, and that are not


class FirstColumn(BaseEstimator):
    """A ranker that scores by a column, and remembers with what it was called."""

    __metadata_request__fit: ClassVar = {"qid": True}

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y, *, qid):
        self.n_queries_ = len(set(qid))
        return self

    def predict(self, X, *, offset=None):
        return X[:, self.column] + (0 if offset is None else np.asarray(offset))


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_equals_the_metric():
    model = FirstColumn().fit(X, Y, qid=QID)
    expected = ndcg(Y, X[:, 0], qid=QID, k=3)
    assert scorer("ndcg@3")(model, X, Y, qid=QID) == expected


def test_less_is_better_is_negated():
    model = FirstColumn().fit(X, Y, qid=QID)
    assert scorer("disagreement")(model, X, Y, qid=QID) < 0


def test_the_offset_reaches_predict():
    model = FirstColumn().fit(X, Y, qid=QID)
    offset = Y - X[:, 0]
    assert scorer("ndcg")(model, X, Y, qid=QID, offset=offset) == pytest.approx(1.0)


@pytest.mark.usefixtures("routing")
def test_queries_reach_fit_splitter_and_scorer():
    found = cross_validate(
        FirstColumn(),
        X,
        Y,
        cv=QueryKFold(3),
        scoring=scorer("ndcg"),
        params={"qid": QID},
        return_estimator=True,
        return_indices=True,
        error_score="raise",
    )
    assert [model.n_queries_ for model in found["estimator"]] == [8, 8, 8]
    expected = [
        ndcg(Y[test], X[test, 0], qid=QID[test]) for test in found["indices"]["test"]
    ]
    assert found["test_score"].tolist() == expected


@pytest.mark.usefixtures("routing")
def test_offsets_reach_the_scorer_through_routing():
    found = cross_validate(
        FirstColumn(),
        X,
        Y,
        cv=QueryKFold(3),
        scoring=scorer("ndcg"),
        params={"qid": QID, "offset": Y - X[:, 0]},
        error_score="raise",
    )
    assert found["test_score"] == pytest.approx([1.0] * 3)


@pytest.mark.usefixtures("routing")
def test_works_in_a_grid_search_over_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), FirstColumn())
    grid = {"firstcolumn__column": [0, 1, 2]}
    search = GridSearchCV(
        pipeline, grid, cv=QueryKFold(3), scoring=scorer("ap"), error_score="raise"
    )
    search.fit(X, Y, qid=QID)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])


def test_an_unknown_name_is_refused_at_once():
    with pytest.raises(ValueError, match=r"^scorer: names must be a metric"):
        scorer("accuracy")
