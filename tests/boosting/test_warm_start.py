"""RankBoost goes on where it ended, as if it had never stopped."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeRegressor

from peckorder import Preferences, RankBoost
from peckorder.boosting import columns
from support.helpers import raises_unchanged, same

RNG = np.random.default_rng(0)
N, D = 90, 6
X = np.round(RNG.standard_normal((N, D)), 1) + 0.0
GAPS = np.where(RNG.random((N, D)) < 0.2, np.nan, X)
Y = np.digitize(X @ RNG.uniform(-0.5, 2, D) + 2 * RNG.standard_normal(N), [-1, 1])
QID = RNG.integers(0, 9, N)


def row_sum(X):
    return X.sum(axis=1)


KINDS = {
    "approximate": {"alpha": "approximate"},
    "falling": {"alpha": "approximate", "cumulative": False},
    "analytic": {"alpha": "analytic"},
    "numeric": {"alpha": "numeric"},
    "slow": {"alpha": "numeric", "learning_rate": 0.1},
    "bins": {"max_bins": 5},
    "default": {"default": 1},
    "features": {"alpha": "numeric", "weak": "feature"},
    "falling features": {"alpha": "numeric", "weak": "feature", "cumulative": False},
    "both": {"alpha": "numeric", "weak": ["feature", "threshold"]},
}
OWN = {
    "own": {"alpha": "numeric", "weak": DecisionTreeRegressor(max_depth=2, random_state=0)},
    "function": {"alpha": "numeric", "weak": lambda X, potentials: row_sum},
    "all": {"alpha": "numeric", "weak": ["threshold", "feature", lambda X, potentials: row_sum]},
}
every_kind = pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
SHOWN = ("weak_rankers_", "bounds_", "feature_importances_", "n_rounds_", "smoothing_")


def assert_same(model, expected, rows):
    for name in SHOWN:
        assert same(getattr(model, name), getattr(expected, name)), name
    assert_array_equal(model.predict(rows), expected.predict(rows))


def gone_on(stops, rows, y=Y, qid=QID, options=None, **more):
    """Fit again and again, with more rounds every time."""
    model = RankBoost(warm_start=True, **options or {})
    for n_rounds in stops:
        model.set_params(n_rounds=n_rounds).fit(rows, y, qid=qid, **more)
    return model


@every_kind
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_more_rounds_are_those_of_one_fit(options, form):
    rows = GAPS if form is np.asarray else form(X)
    model = gone_on([1, 2, 40], rows, options=options)
    assert_same(model, RankBoost(n_rounds=40, **options).fit(rows, Y, qid=QID), rows)


@pytest.mark.parametrize("options", OWN.values(), ids=OWN)
def test_own_rankings_are_kept(options):
    model = gone_on([2, 5, 9], X, options=options)
    assert_same(model, RankBoost(n_rounds=9, **options).fit(X, Y, qid=QID), X)
    is_own = model.weak_rankers_["feature"] < 0
    assert len(model.own_rankings_) == is_own.sum() > 0


@pytest.mark.parametrize("alpha", ["approximate", "analytic", "numeric"])
def test_weights_and_offsets_are_minded(alpha):
    options = {"alpha": alpha, "query_weight": "equal"}
    weight, offset = RNG.choice([0.0, 1.0, 2.0], N), RNG.standard_normal(N)
    more = {"sample_weight": weight, "offset": offset}
    model = gone_on([3, 20], GAPS, options=options, **more)
    expected = RankBoost(n_rounds=20, **options).fit(GAPS, Y, qid=QID, **more)
    for name in SHOWN:
        assert same(getattr(model, name), getattr(expected, name)), name


@pytest.mark.parametrize("alpha", ["approximate", "analytic", "numeric"])
def test_preferences_may_be_gone_on_with(alpha):
    better = RNG.permutation(N)
    y = Preferences(better, (better + 7) % N) + Preferences.from_grades(Y, QID)
    model = gone_on([3, 20], GAPS, y, None, {"alpha": alpha})
    assert_same(model, RankBoost(n_rounds=20, alpha=alpha).fit(GAPS, y), GAPS)


@pytest.mark.parametrize("alpha", ["approximate", "numeric"])
@pytest.mark.parametrize("cumulative", [True, False])
@pytest.mark.parametrize("short", [0, 10**9])
def test_what_a_run_remembers_changes_nothing(alpha, cumulative, short, monkeypatch):
    # Each fit looks at all features anew; one fit only at those that can still win.
    monkeypatch.setattr(columns, "_SHORT", short)
    rng = np.random.default_rng(1)
    rows = np.round(rng.standard_normal((60, 25)), 1) + 0.0
    rows[rng.random(rows.shape) < 0.1 * (np.arange(25) % 3)] = np.nan
    y, qid = rng.integers(0, 3, 60), rng.integers(0, 5, 60)
    options = {"alpha": alpha, "cumulative": cumulative}
    model = gone_on(range(1, 41), rows, y, qid, options)
    assert_same(model, RankBoost(n_rounds=40, **options).fit(rows, y, qid=qid), rows)


@pytest.mark.parametrize("alpha", ["approximate", "analytic", "numeric"])
def test_rankings_that_lost_weight_are_remembered(alpha):
    # A ranking loses weight only after many rounds.
    rng = np.random.default_rng(8)
    rows = rng.standard_normal((9, 2))
    rows[rng.random((9, 2)) < 0.2] = np.nan
    y, qid = rng.permutation(np.arange(9) % 3), np.arange(9) % 2
    weight = rng.uniform(0.5, 2, 9)
    options = {"alpha": alpha, "smoothing": 0.05}
    more = {"sample_weight": weight}
    model = gone_on([10, 40, 41, 80], rows, y, qid, options, **more)
    expected = RankBoost(n_rounds=80, **options).fit(rows, y, qid=qid, **more)
    assert_same(model, expected, rows)
    assert model.weak_rankers_["alpha"].min() < 0
    sums = {}
    for *key, added in model.weak_rankers_.tolist():
        sums[tuple(key)] = sums.get(tuple(key), 0.0) + added
        assert sums[tuple(key)] > 0


def test_as_many_rounds_as_there_are_change_nothing():
    model = gone_on([5, 5], GAPS)
    assert_same(model, RankBoost(n_rounds=5).fit(GAPS, Y, qid=QID), GAPS)


def test_a_run_that_ended_early_ends_again():
    rows, y = [[1.0], [1.0]], [0, 1]
    model = RankBoost(warm_start=True, n_rounds=2)
    for n_rounds in (2, 5):
        with pytest.warns(ConvergenceWarning):
            model.set_params(n_rounds=n_rounds).fit(rows, y)
    assert model.n_rounds_ == 0


def test_without_warm_start_all_begins_anew():
    model = RankBoost(n_rounds=9).fit(GAPS, Y, qid=QID)
    model.set_params(n_rounds=4).fit(X, Y)
    assert_same(model, RankBoost(n_rounds=4).fit(X, Y), X)


def test_fewer_rounds_are_refused():
    model = gone_on([5], GAPS).set_params(n_rounds=4)
    sentence = "RankBoost: n_rounds must be >= 5, the rounds there are, with warm_start; got 4."
    with raises_unchanged(model, ValueError, sentence):
        model.fit(GAPS, Y, qid=QID)


@pytest.mark.parametrize(
    ("before", "after"), [("threshold", "feature"), ("feature", "threshold"), ("feature", row_sum)]
)
def test_other_weak_rankings_are_refused(before, after):
    model = gone_on([3], X, options={"weak": before, "alpha": "numeric"})
    model.set_params(weak=after, n_rounds=5)
    got = repr((after,))
    sentence = f"RankBoost: weak must be as in the last fit with warm_start; got {got}."
    with raises_unchanged(model, ValueError, sentence):
        model.fit(X, Y, qid=QID)


def test_more_weak_rankings_may_be_given():
    model = gone_on([3], X, options={"alpha": "numeric"})
    model.set_params(weak=["threshold", "feature"], n_rounds=9).fit(X, Y, qid=QID)
    assert model.n_rounds_ == 9


def test_another_number_of_features_is_refused():
    model = gone_on([3], X)
    sentence = f"X has {D - 1} features, but RankBoost is expecting {D} features as "
    with raises_unchanged(model, ValueError, sentence + "input."):
        model.fit(X[:, 1:], Y, qid=QID)


def test_an_interruption_leaves_the_model_as_it_was():
    calls = []

    def learn(X, potentials):
        calls.append(potentials)
        if len(calls) > 4:
            raise KeyboardInterrupt("now")
        return row_sum

    options = {"alpha": "numeric", "learning_rate": 0.1, "warm_start": True}
    model = RankBoost(n_rounds=3, weak=learn, **options)
    before = model.fit(X, Y, qid=QID).weak_rankers_.copy()
    with pytest.raises(KeyboardInterrupt, match=r"^now$"):
        model.set_params(n_rounds=8).fit(X, Y, qid=QID)
    assert same(model.weak_rankers_, before)
    assert (model.n_rounds_, len(model.own_rankings_)) == (3, 3)
