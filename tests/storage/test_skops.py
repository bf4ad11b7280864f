"""Saved by skops, a model holds no types that are not harmless or peckorder's own."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest
import skops.io
from numpy.testing import assert_array_equal
from scipy import sparse

from peckorder import (
    AggregatePRank,
    MPRank,
    MPRankCV,
    MulticlassPerceptron,
    PRank,
    RankBoost,
    Ratings,
    SVRank,
    TableRanker,
    WidrowHoff,
)
from peckorder._core.pickling import PlainMatrix
from peckorder.collaborative import (
    Correlation,
    ItemMean,
    MinNormRegression,
    NearestRanker,
    PersonalRanker,
    VectorSimilarity,
)
from peckorder.datasets import make_ratings
from peckorder.tables.answers import Cuts, LabelScale
from support.helpers import same, shown

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3)).round(1)
SCORE = X @ [1.0, -2.0, 0.5]
LEVEL = np.digitize(SCORE, [-1.0, 1.0])
few = partial(AggregatePRank, n_estimators=3)
ONLINE = {
    "averaged": PRank(),
    "last": PRank(rule="last"),
    "voted": PRank(rule="voted"),
    "rbf": PRank(kernel="rbf"),
    "rbf voted": PRank(kernel="rbf", rule="voted"),
    "rbf budget": PRank(kernel="rbf", budget=5),
    "poly": PRank(kernel="poly"),
    "shuffled": PRank(shuffle=True, random_state=np.random.RandomState(0)),
    "widrow-hoff": WidrowHoff(),
    "perceptron": MulticlassPerceptron(),
    "bayes point": few(random_state=0),
    "votes": few(aggregate="voted", random_state=np.random.RandomState(1)),
    "median rbf": few(aggregate="median", kernel="rbf", random_state=0),
}
SCORING = {
    "mprank": MPRank(),
    "mprank rbf": MPRank(kernel="rbf"),
    "mprank cv poly": MPRankCV(kernel="poly"),
    "svrank": SVRank(),
    "svrank rbf": SVRank(kernel="rbf"),
    "thresholds": RankBoost(n_rounds=5),
    "features": RankBoost(n_rounds=5, weak="feature", alpha="numeric"),
}
FORMS = {
    "dense": np.asarray,
    "float32": partial(np.asarray, dtype=np.float32),
    "array": sparse.csr_array,
    "matrix": sparse.csr_matrix,
}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def loaded(thing):
    """Save, trust peckorder's own types and no other, load."""
    packed = skops.io.dumps(thing)
    types = skops.io.get_untrusted_types(data=packed)
    assert [name for name in types if not name.startswith("peckorder.")] == []
    return skops.io.loads(packed, trusted=types)


@every_form
@pytest.mark.parametrize("model", ONLINE.values(), ids=ONLINE)
def test_on_line_learners(model, form):
    rows = form(X)
    model = copy.deepcopy(model).fit(rows, LEVEL)
    again = loaded(model)
    assert type(again) is type(model)
    assert same(shown(again, rows), shown(model, rows))
    # Where it was in its stream is a part of it.
    for one in (model, again):
        one.partial_fit(rows[::-1], LEVEL[::-1])
    assert same(shown(again, rows), shown(model, rows))


@every_form
@pytest.mark.parametrize("model", SCORING.values(), ids=SCORING)
def test_rankers(model, form):
    rows, y = form(X / 10), LEVEL if isinstance(model, RankBoost) else SCORE
    model = copy.deepcopy(model).fit(rows, y)
    assert_array_equal(loaded(model).predict(rows), model.predict(rows))


def test_rankers_of_tables():
    kinds = np.array(["red", "blue", None], dtype=object)[np.arange(60) % 3]
    table = np.c_[X.astype(object), kinds]
    for ranker in (MPRank(), RankBoost(n_rounds=5)):
        model = TableRanker(ranker).fit(table, SCORE)
        for answer in (None, Cuts(np.array([0.0]), np.array([2, 5])), LabelScale(2.0, 1.0)):
            model.answer_ = answer
            assert_array_equal(loaded(model).predict(table), model.predict(table))


def test_words_for_classes():
    words = np.array(["low", "middle", "high"])
    model = PRank(classes=words).fit(X, words[LEVEL])
    assert loaded(model).predict(X).tolist() == model.predict(X).tolist()


def test_a_running_fit_is_continued():
    model = MPRank().partial_fit(X[:30], SCORE[:30])
    again = loaded(model).partial_fit(X[30:], SCORE[30:])
    model.partial_fit(X[30:], SCORE[30:])
    assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize(
    "model",
    [
        ItemMean(),
        MinNormRegression(),
        NearestRanker(ratings=[1, 2, 3, 4, 5]),
        VectorSimilarity(),
        Correlation(),
    ],
)
def test_baselines_of_viewers(model):
    table = np.random.default_rng(1).integers(1, 6, (12, 4)).astype(float)
    table[::5, 1] = np.nan
    model = copy.deepcopy(model).fit(table, table[:, 0])
    assert_array_equal(loaded(model).predict(table), model.predict(table))


def test_ratings_and_personal_rankers():
    ratings = make_ratings(40, 50, random_state=0)
    model = PersonalRanker(n_factors=2, random_state=0).fit(ratings)
    someone = next(iter(ratings.users))
    ours, theirs = model.recommend(someone), loaded(model).recommend(someone)
    assert ours.items.tolist() == theirs.items.tolist()
    again = loaded(ratings)
    assert isinstance(again, Ratings)
    assert (again.csr != ratings.csr).nnz == 0
    assert again.users.tolist() == ratings.users.tolist()


@pytest.mark.parametrize("again", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.parametrize(
    "kind", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.csc_matrix]
)
def test_a_matrix_taken_apart_is_put_together(kind, again):
    matrix = kind(X)
    matrix.indices = matrix.indices.astype(np.int64)
    matrix.indptr = matrix.indptr.astype(np.int64)
    back = again(PlainMatrix.of(matrix)).matrix()
    assert type(back) is kind
    for name in ("data", "indices", "indptr"):
        assert_array_equal(getattr(back, name), getattr(matrix, name), strict=True)
    assert back.shape == matrix.shape


@pytest.mark.parametrize("index", [-1, 3])
def test_a_damaged_matrix_is_refused(index):
    plain = PlainMatrix.of(sparse.csr_array(X))
    plain.indices[5] = index
    with pytest.raises(ValueError, match=r"indices must be"):
        plain.matrix()
