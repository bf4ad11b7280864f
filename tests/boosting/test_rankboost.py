"""What a fitted RankBoost says of rows, and of itself."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.tree import DecisionTreeRegressor

from peckorder import Preferences, RankBoost
from peckorder.metrics import disagreement
from support.helpers import exactly, raises_unchanged, same

stump = DecisionTreeRegressor(max_depth=1, random_state=0)


def first_two(X):
    return X[:, :2].sum(axis=1) / 2


def learn_first_two(X, potentials):
    return first_two


KINDS = {
    "approximate": {"alpha": "approximate"},
    "falling": {"alpha": "approximate", "cumulative": False},
    "analytic": {"alpha": "analytic"},
    "numeric": {"alpha": "numeric", "learning_rate": 0.5},
    "default": {"default": 1},
    "features": {"alpha": "numeric", "weak": "feature"},
    "both": {"alpha": "numeric", "weak": ["feature", "threshold"]},
}
OWN = {
    "own": {"alpha": "numeric", "weak": stump},
    "own and thresholds": {"alpha": "numeric", "weak": ["threshold", learn_first_two]},
}
every_kind = pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
with_own = pytest.mark.parametrize("options", (KINDS | OWN).values(), ids=list(KINDS | OWN))
every_form = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])

RNG = np.random.default_rng(0)
N, D = 80, 4
WHOLE = np.round(RNG.standard_normal((N, D)), 1) + 0.0
X = np.where(RNG.random((N, D)) < 0.2, np.nan, WHOLE)
Y = np.digitize(WHOLE @ [2, 1, 0.5, -1] + 2 * RNG.standard_normal(N), [-1, 1])
QID = RNG.integers(0, 8, N)
OFFSET = RNG.standard_normal(N)


def fitted(rows=X, **options):
    return RankBoost(**{"n_rounds": 20} | options).fit(rows, Y, qid=QID)


@with_own
def test_the_last_stage_is_the_prediction(options):
    model = fitted(WHOLE, **options)
    stages = list(model.staged_predict(WHOLE))
    assert len(stages) == model.n_rounds_ == len(model.weak_rankers_)
    assert_allclose(stages[-1], model.predict(WHOLE), rtol=0, atol=1e-12)
    shifted = list(model.staged_predict(WHOLE, offset=OFFSET))
    assert_allclose(shifted, np.array(stages) + OFFSET, rtol=0, atol=1e-12)


@every_kind
def test_every_stage_adds_one_weak_ranking(options):
    model = fitted(**options)
    before = np.zeros(N)
    records = model.weak_rankers_.tolist()
    for record, scores in zip(records, model.staged_predict(X), strict=True):
        feature, threshold, default, alpha = record
        column = X[:, feature]
        h = column if np.isnan(threshold) else column > threshold
        h = np.where(np.isnan(column), default, h)
        assert_allclose(scores, before + alpha * h, rtol=0, atol=1e-12)
        before = scores


@with_own
def test_stages_are_the_models_of_fewer_rounds(options):
    model = fitted(WHOLE, **options)
    for n_rounds, scores in enumerate(model.staged_predict(WHOLE), 1):
        if n_rounds % 7 == 1:
            shorter = fitted(WHOLE, **options | {"n_rounds": n_rounds})
            assert_allclose(scores, shorter.predict(WHOLE), rtol=0, atol=1e-12)
            assert shorter.bounds_.tobytes() == model.bounds_[: n_rounds + 1].tobytes()


@every_kind
@every_form
def test_contributions_add_up_to_the_prediction(options, form):
    rows = form(WHOLE) if form is sparse.csr_array else X
    model = fitted(rows, **options)
    contributions = model.explain(rows)
    assert contributions.shape == (N, D)
    assert_allclose(contributions.sum(axis=1), model.predict(rows), rtol=0, atol=1e-12)
    unused = sorted(set(range(D)) - set(model.weak_rankers_["feature"].tolist()))
    assert np.all(contributions[:, unused] == 0)


def test_contributions_of_own_rankings_are_left_out():
    model = fitted(WHOLE, **OWN["own and thresholds"])
    alphas = model.weak_rankers_["alpha"][model.weak_rankers_["feature"] < 0]
    assert len(alphas) == len(model.own_rankings_) > 0
    rest = model.predict(WHOLE) - model.explain(WHOLE).sum(axis=1)
    assert_allclose(rest, alphas.sum() * first_two(WHOLE), rtol=0, atol=1e-12)


@every_kind
def test_importances_are_shares(options):
    model = fitted(**options)
    assert model.feature_importances_.shape == (D,)
    assert np.all(model.feature_importances_ >= 0)
    assert_allclose(model.feature_importances_.sum(), 1.0, rtol=1e-12)
    falls = -np.diff(np.log(model.bounds_))
    for feature, share in enumerate(model.feature_importances_):
        own = falls[model.weak_rankers_["feature"] == feature].sum()
        assert_allclose(share, own / falls.sum(), rtol=0, atol=1e-12)


def test_own_rankings_have_their_share_of_the_importances():
    model = fitted(WHOLE, **OWN["own and thresholds"])
    falls = -np.diff(np.log(model.bounds_))
    own = falls[model.weak_rankers_["feature"] < 0].sum() / falls.sum()
    assert 0 < own < 1
    assert_allclose(model.feature_importances_.sum(), 1 - own, rtol=1e-12)


@every_kind
def test_rounds_do_not_make_predictions_dearer(options):
    model = fitted(**options | {"n_rounds": 200})
    used = {(f, t) for f, t, _, _ in model.weak_rankers_.tolist() if not np.isnan(t)}
    assert len(model._table.thresholds) == len(used) < 200
    features = set(model.weak_rankers_["feature"].tolist())
    assert model._table.features.tolist() == sorted(features)


def test_a_row_unlike_all_others_has_a_score():
    model = fitted()
    rows = np.array([[np.nan] * D, [1e300] * D, [-1e300] * D])
    assert np.isfinite(model.predict(rows)).all()
    falls = model.predict(np.linspace(-3, 3, 50)[:, np.newaxis] * np.ones(D))
    assert np.all(np.diff(falls) >= -1e-12)  # cumulative: larger values only raise


def test_bounds_begin_with_one_and_fall():
    model = fitted()
    assert model.bounds_[0] == 1.0
    assert len(model.bounds_) == model.n_rounds_ + 1
    assert np.all(np.diff(model.bounds_) < 0)


def test_the_smoothing_is_one_over_the_number_of_pairs():
    graded = Preferences.from_grades(Y, QID)
    assert fitted().smoothing_ == 1 / graded.n_pairs
    assert fitted(smoothing=0.25).smoothing_ == 0.25
    weight = np.where(np.arange(N) < 40, 1.0, 0.0)
    model = RankBoost(n_rounds=2).fit(X, Y, qid=QID, sample_weight=weight)
    assert model.smoothing_ == 1 / Preferences.from_grades(Y[:40], QID[:40]).n_pairs


def test_the_parameters_are_what_was_given():
    model = RankBoost(n_rounds=3, alpha="numeric", weak=["threshold"])
    assert model.get_params()["weak"] == ["threshold"]
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    assert not hasattr(copied, "weak_rankers_")
    assert repr(model) == "RankBoost(alpha='numeric', n_rounds=3, weak=['threshold'])"


def pickled(model):
    return pickle.loads(pickle.dumps(model))


@with_own
@pytest.mark.parametrize("carry", [copy.deepcopy, pickled])
def test_a_model_can_be_carried_away(options, carry):
    model = fitted(WHOLE, **options)
    carried = carry(model)
    assert_array_equal(carried.predict(WHOLE), model.predict(WHOLE))
    assert same(carried.weak_rankers_, model.weak_rankers_)
    assert same(*(list(m.staged_predict(WHOLE)) for m in (carried, model)))


def places(scores):
    """Return the places of scores, the first of equals first."""
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    return [1 + order.index(i) for i in range(len(scores))]


def test_places_are_counted_within_queries():
    model = fitted()
    scores = model.predict(X)
    assert model.rank(X, np.zeros(len(X))).tolist() == places(scores)
    found = model.rank(X, QID)
    for query in set(QID.tolist()):
        own = query == QID
        assert found[own].tolist() == places(scores[own])


def test_equal_scores_stand_in_their_order():
    model = RankBoost(n_rounds=1).fit([[0.0], [1.0]], [0, 1])
    assert model.rank([[1.0], [0.0], [1.0], [0.0]]).tolist() == [1, 3, 2, 4]
    assert model.rank([[1.0]] * 3, [2, 2, 1]).tolist() == [1, 2, 1]


def test_the_score_is_the_share_of_pairs_in_order():
    model = fitted()
    expected = 1 - disagreement(Y, model.predict(X), qid=QID)
    assert model.score(X, Y, qid=QID) == expected
    one_query = np.zeros(len(X))
    assert model.score(X, Y, qid=one_query) == 1 - disagreement(Y, model.predict(X))
    perfect = RankBoost(n_rounds=1).fit([[0.0], [1.0]], [0, 1])
    assert perfect.score([[0.0], [1.0]], [0, 1]) == 1.0
    assert perfect.score([[0.0], [1.0]], [1, 0]) == 0.0
    assert perfect.score([[1.0], [1.0]], [0, 1]) == 0.5


WITHOUT = (
    "RankBoost: fitted with an offset, asked without one: the scores are what was "
    "learnt on top of it."
)


@pytest.fixture
def on_top():
    return RankBoost(n_rounds=10).fit(X, Y, qid=QID, offset=OFFSET)


def test_an_offset_is_added(on_top):
    assert_array_equal(
        on_top.predict(X, offset=OFFSET), on_top.predict(X, offset=np.zeros(N)) + OFFSET
    )
    assert_array_equal(fitted().predict(X, offset=OFFSET), fitted().predict(X) + OFFSET)


def test_a_missing_offset_is_missed(on_top):
    with pytest.warns(UserWarning, match=exactly(WITHOUT)) as caught:
        scores = on_top.predict(X)
    assert caught[0].filename == __file__
    assert_array_equal(scores, on_top.predict(X, offset=np.zeros(N)))
    with pytest.warns(UserWarning, match=exactly(WITHOUT)):
        on_top.rank(X, QID)
    with pytest.warns(UserWarning, match=exactly(WITHOUT)):
        on_top.score(X, Y, qid=QID)


def test_a_model_without_an_offset_misses_none():
    model = RankBoost(n_rounds=5).fit(X, Y, qid=QID, offset=OFFSET)
    assert np.isfinite(model.fit(X, Y, qid=QID).predict(X)).all()


def test_places_and_score_take_an_offset(on_top):
    scores = on_top.predict(X, offset=OFFSET)
    found = on_top.score(X, Y, qid=QID, offset=OFFSET)
    assert found == 1 - disagreement(Y, scores, qid=QID)
    seen = on_top.rank(X, QID, offset=OFFSET)
    for query in set(QID.tolist()):
        assert seen[query == QID].tolist() == places(scores[query == QID])


def test_an_offset_begins_the_bounds(on_top):
    better, worse, weight = Preferences.from_grades(Y, QID).pairs()
    start = np.average(np.exp(OFFSET[worse] - OFFSET[better]), weights=weight)
    assert_allclose(on_top.bounds_[0], start, rtol=1e-12)


def test_a_constant_offset_is_none():
    model = RankBoost(n_rounds=10).fit(X, Y, qid=QID, offset=np.full(N, 7.0))
    assert_allclose(model.bounds_, fitted(n_rounds=10).bounds_, rtol=1e-12)


def test_a_huge_offset_has_a_finite_bound():
    model = RankBoost(n_rounds=3).fit([[0.0], [1.0]], [0, 1], offset=[5000.0, -5000.0])
    assert np.isfinite(model.bounds_).all()
    assert model.n_rounds_ == 3


METHODS = {
    "predict": lambda model: model.predict(X),
    "rank": lambda model: model.rank(X),
    "score": lambda model: model.score(X, Y),
    "explain": lambda model: model.explain(X),
    "staged_predict": lambda model: next(model.staged_predict(X)),
}


@pytest.mark.parametrize("ask", METHODS.values(), ids=METHODS)
def test_a_model_that_knows_nothing_is_not_asked(ask):
    model = RankBoost()
    sentence = (
        "This RankBoost instance is not fitted yet. Call 'fit' with appropriate "
        "arguments before using this estimator."
    )
    with raises_unchanged(model, NotFittedError, sentence):
        ask(model)


def test_features_that_fall_with_relevance_are_of_no_use_if_cumulative():
    rows, y = [[3.0], [2.0], [1.0]], [0, 1, 2]
    with pytest.warns(ConvergenceWarning, match="set cumulative=False"):
        assert RankBoost().fit(rows, y).n_rounds_ == 0
    assert RankBoost(cumulative=False).fit(rows, y).score(rows, y) == 1.0


def test_the_warning_names_the_line_of_the_caller():
    with pytest.warns(ConvergenceWarning) as caught:
        RankBoost().fit([[1.0], [1.0]], [0, 1])
    assert caught[0].filename == __file__
