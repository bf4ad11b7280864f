"""What once went wrong with RankBoost, and must not again."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning, UndefinedMetricWarning
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from peckorder import RankBoost
from peckorder.boosting import run_rounds
from peckorder.exceptions import DataError
from support import rankboost_oracle
from support.helpers import same

RNG = np.random.default_rng(5)
X = RNG.standard_normal((200, 4))
Y = RNG.integers(0, 3, 200)
QID = np.repeat(np.arange(10), 20)


def product(model, X, y, qid):
    """Return the bound after the last round, from the pairs themselves."""
    pairs = rankboost_oracle.pairs_of(y.tolist(), qid.tolist())
    scores = model.predict(X)
    weights = [w * np.exp(scores[a] - scores[b]) for a, b, w in pairs]
    return sum(weights) / sum(w for _, _, w in pairs)


@pytest.mark.parametrize("shift", [0.0, 0.3])
def test_a_warm_start_goes_on_from_what_the_old_rounds_say_of_these_rows(shift):
    model = RankBoost(n_rounds=10, warm_start=True).fit(X, Y, qid=QID)
    model.set_params(n_rounds=20, max_bins=3).fit(X + shift, Y, qid=QID)
    assert_allclose(model.bounds_[-1], product(model, X + shift, Y, QID), rtol=1e-10)


def test_the_first_of_complements_is_chosen():
    both = np.column_stack([X[:, 0], -X[:, 0]])
    model = RankBoost(n_rounds=30, cumulative=False).fit(both, Y, qid=QID)
    assert not model.weak_rankers_["feature"].any()


@pytest.mark.filterwarnings("ignore:.*no weak ranking separates the rows")
@pytest.mark.parametrize("smoothing", [1e-3, 1e17])
def test_the_compiled_rounds_are_those_of_python(monkeypatch, smoothing):
    model = RankBoost(n_rounds=30, smoothing=smoothing)
    models = []
    for is_compiled in (run_rounds.has_compiled_loop, lambda _: False):
        monkeypatch.setattr(run_rounds, "has_compiled_loop", is_compiled)
        models.append(RankBoost(**model.get_params()).fit(X, Y, qid=QID))
    assert same(models[0].weak_rankers_, models[1].weak_rankers_)
    assert same(models[0].bounds_, models[1].bounds_)


@pytest.mark.filterwarnings("ignore:.*no round is better than none")
def test_more_rounds_than_there_can_be_take_no_memory():
    model = RankBoost(
        n_rounds=10**10, validation_fraction=0.3, n_iter_no_change=3, random_state=0
    ).fit(X, Y, qid=QID)
    assert len(model.validation_scores_) < 1000


def test_a_large_feature_does_not_silence_a_small_one():
    rows = np.array([[1e15, 0.0], [1e15, 1.0]] * 2)
    model = RankBoost(n_rounds=3, weak="feature", alpha="numeric")
    model.fit(rows, [0, 1] * 2)
    assert (model.weak_rankers_["feature"] == 1).all()
    assert len(model.weak_rankers_) > 0


def test_a_class_of_learners_is_refused():
    with pytest.raises(ValueError, match="RankBoost: weak must be"):
        RankBoost(weak=Ridge).fit(X, Y, qid=QID)


def test_what_was_excluded_may_be_chosen_in_the_next_round():
    def helper(X, potentials):
        order = np.argsort(np.argsort(X[:, 1]))
        return lambda Z: order / len(order)

    options = {"alpha": "numeric", "n_rounds": 40, "learning_rate": 1.0}
    model = RankBoost(weak=["threshold", helper], **options).fit(X, Y, qid=QID)
    # The sum of the alphas of a threshold stays positive.
    sums = {}
    for feature, threshold, default, alpha in model.weak_rankers_.tolist():
        if feature >= 0:
            key = feature, threshold, default
            sums[key] = sums.get(key, 0.0) + alpha
            assert sums[key] > 0


def test_a_regressor_counts_by_its_order():
    tree = DecisionTreeRegressor(max_depth=2, random_state=0)
    model = RankBoost(n_rounds=20, weak=tree).fit(X, Y, qid=QID)
    # Potentials are tiny, and so are its own predictions.
    assert model.bounds_[-1] < 0.9
    mixed = RankBoost(n_rounds=20, weak=["threshold", tree]).fit(X, Y, qid=QID)
    assert (mixed.weak_rankers_["feature"] == -1).any()


def test_a_ranking_of_words_is_refused():
    model = RankBoost(weak=lambda X, p: lambda X: ["a"] * len(X))
    with pytest.raises(DataError, match="RankBoost: a ranking by weak must be numbers"):
        model.fit(X, Y, qid=QID)


def test_a_warning_of_held_out_queries_comes_once():
    y = np.where(QID < 8, Y, 1)  # two queries have one grade only
    model = RankBoost(n_rounds=9, validation_fraction=0.9, random_state=0)
    with pytest.warns(UndefinedMetricWarning) as caught:
        model.fit(X, y, qid=QID)
    found = [w for w in caught if w.category is UndefinedMetricWarning]
    assert len(found) == 1


def test_a_fit_without_a_round_better_than_none_warns():
    # What is learnt from some queries is wrong of the others.
    rows, y = np.tile([[0.0], [1.0]], (20, 1)), np.tile([0, 1], 20)
    qid = np.repeat(np.arange(20), 2)
    model = RankBoost(n_rounds=3, validation_fraction=0.5, random_state=0)
    held = model.fit(rows, y, qid=qid)
    assert held.n_rounds_ > 0
    is_held = np.isin(qid, np.random.RandomState(0).permutation(20)[:10])
    y = np.where(is_held, 1 - y, y)
    with pytest.warns(ConvergenceWarning, match="no round is better than none"):
        model.fit(rows, y, qid=qid)
