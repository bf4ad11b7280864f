"""Our scorers inside scikit-learn's model selection."""

import copy
import pickle
from dataclasses import FrozenInstanceError
from typing import ClassVar

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import DBSCAN
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from peckorder import PRank
from peckorder.exceptions import DataError
from peckorder.metrics import kendall_tau, ndcg, scorer
from peckorder.model_selection import QueryKFold
from support.helpers import exactly

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
    expected = [ndcg(Y[test], X[test, 0], qid=QID[test]) for test in found["indices"]["test"]]
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


# --- as values ---

COPIES = {
    "pickle": lambda it: pickle.loads(pickle.dumps(it)),
    "deepcopy": copy.deepcopy,
    "clone": lambda it: clone(it, safe=False),
    "repr": lambda it: eval(repr(it), {"scorer": scorer}),
    "search": lambda it: clone(GridSearchCV(FirstColumn(), {}, scoring=it)).scoring,
}


@pytest.mark.parametrize("name", ["ndcg@10", "p@5(2)", "ap(top)"])
@pytest.mark.parametrize("again", COPIES)
def test_a_copy_is_equal(again, name):
    original, other = scorer(name), COPIES[again](scorer(name))
    assert (other, hash(other)) == (original, hash(original))
    model = FirstColumn().fit(X, Y, qid=QID)
    assert other(model, X, Y, qid=QID) == original(model, X, Y, qid=QID)


def test_scorers_of_other_names_are_others():
    assert len({scorer("ap"), scorer("ap(2)"), scorer("ndcg"), scorer("ap")}) == 3
    assert scorer("ap") != "ap"


def test_a_name_may_be_of_numpy():
    assert repr(scorer(np.str_("ap"))) == "scorer('ap')"


def test_a_scorer_keeps_its_name():
    with pytest.raises(FrozenInstanceError):
        scorer("ap").name = "rr"


# --- what is predicted ---

WORDS = np.array(["poor", "fair", "good"])
ORDINAL = {
    "ranker": PRank(classes=WORDS),
    "classifier": LogisticRegression(),
    "pipeline": make_pipeline(StandardScaler(), PRank(classes=WORDS)),
}


@pytest.mark.parametrize("model", [PRank(), LogisticRegression()], ids=repr)
def test_classes_that_are_numbers_are_scores(model):
    model = clone(model).fit(X, Y)
    expected = kendall_tau(Y, model.predict(X), qid=QID)
    assert scorer("tau")(model, X, Y, qid=QID) == expected


@pytest.mark.parametrize("kind", [np.asarray, list])
def test_truths_that_are_words_are_refused(kind):
    sentence = (
        "scorer: y must be numbers for 'ndcg@3'; got 'poor'. Number the classes in their order."
    )
    with pytest.raises(DataError, match=exactly(sentence)):
        scorer("ndcg@3")(LinearRegression(), X, kind(WORDS[Y]))


@pytest.mark.parametrize("name", ORDINAL)
@pytest.mark.parametrize("metric", ["ndcg", "misranking"])
def test_predictions_that_are_words_are_refused(name, metric):
    model = clone(ORDINAL[name]).fit(X, WORDS[Y])
    sentence = (
        f"scorer: what {type(model).__name__} predicts must be numbers for {metric!r}; "
        f"got {str(model.predict(X)[0])!r}. Number the classes in their order."
    )
    with pytest.raises(DataError, match=exactly(sentence)):
        scorer(metric)(model, X, Y)


@pytest.mark.parametrize(
    ("model", "shown"),
    [(DBSCAN(), "DBSCAN()"), (None, "None"), (PRank, "<class 'pecko....prank.PRank'>")],
)
def test_what_cannot_predict_is_refused(model, shown):
    sentence = f"scorer: estimator must be a model that can predict; got {shown}."
    with pytest.raises(TypeError, match=exactly(sentence)):
        scorer("ap")(model, X, Y)


@pytest.mark.parametrize("y", [None, [], [[1], [2, 3]]], ids=repr)
def test_what_is_no_column_is_left_to_the_metric(y):
    model = FirstColumn().fit(X, Y, qid=QID)
    with pytest.raises(DataError, match=r"^ndcg: y_true must be "):
        scorer("ndcg")(model, X, y)
