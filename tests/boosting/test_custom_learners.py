"""Weak rankings by custom learners."""

from math import exp, log

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from peckorder import Preferences, RankBoost
from peckorder.exceptions import DataError
from support import rankboost_oracle
from support.helpers import exactly, raises_unchanged

RNG = np.random.default_rng(0)
N, D = 60, 3
X = np.round(RNG.standard_normal((N, D)), 1) + 0.0
Y = np.digitize(X.sum(axis=1) + RNG.standard_normal(N), [-1, 1])
QID = RNG.integers(0, 5, N)
PAIRS = rankboost_oracle.pairs_of(Y, QID)
ALPHAS = ["approximate", "analytic", "numeric"]
every_alpha = pytest.mark.parametrize("alpha", ALPHAS)


def fitted(weak, rows=X, y=Y, qid=QID, **options):
    options = {"n_rounds": 6, "alpha": "numeric"} | options
    return RankBoost(weak=weak, **options).fit(rows, y, qid=qid)


def returns(ranking):
    """Make a learner that always finds the same."""
    return lambda X, potentials: ranking


def best_threshold(X, potentials):
    """Look for the best threshold, slowly."""
    feature, threshold = max(
        ((f, t) for f in range(D) for t in sorted(set(X[:, f]), reverse=True)),
        key=lambda cut: float(potentials @ (X[:, cut[0]] > cut[1])),
    )
    return lambda X: (X[:, feature] > threshold).astype(float)


@every_alpha
def test_a_function_that_does_as_we_do_learns_the_same(alpha):
    # The least Z is another choice than the largest r.
    n_rounds = 1 if alpha == "analytic" else 6
    model = fitted(best_threshold, alpha=alpha, n_rounds=n_rounds)
    ours = fitted("threshold", alpha=alpha, n_rounds=n_rounds)
    if alpha != "analytic":
        assert_allclose(model.bounds_, ours.bounds_, rtol=1e-12)
        assert_allclose(model.predict(X), ours.predict(X), rtol=0, atol=1e-12)
    assert ours.bounds_[-1] <= model.bounds_[-1] * (1 + 1e-12)


def test_a_stump_is_fitted_to_the_potentials():
    stump = DecisionTreeRegressor(max_depth=1, random_state=0)
    model = fitted(stump, n_rounds=4)
    H = np.zeros(N)
    records = zip(model.weak_rankers_["alpha"], model.own_rankings_, strict=True)
    for alpha, ranking in records:
        potentials, _ = rankboost_oracle.potentials(PAIRS, H)
        expected = DecisionTreeRegressor(max_depth=1, random_state=0)
        found = expected.fit(X, potentials).predict(X)
        widest = max(abs(found[a] - found[b]) for a, b, _ in PAIRS)
        assert_allclose(ranking(X), found / widest, rtol=0, atol=1e-9)
        H += alpha * ranking(X)
    assert_allclose(model.predict(X), H, rtol=0, atol=1e-12)
    assert not hasattr(stump, "tree_")  # the one given stays as it was


def test_own_rankings_are_recorded():
    model = fitted(Ridge(), n_rounds=3)
    assert model.weak_rankers_["feature"].tolist() == [-1] * 3
    assert np.isnan(model.weak_rankers_["threshold"]).all()
    assert np.isnan(model.weak_rankers_["default"]).all()
    assert len(model.own_rankings_) == model.n_rounds_ == 3
    assert model.feature_importances_.tolist() == [0.0] * D


@pytest.mark.parametrize("weak", [Ridge(), DecisionTreeRegressor(max_depth=2, random_state=0)])
def test_a_regressor_lowers_the_bound_and_the_loss(weak):
    model = fitted(weak, n_rounds=10)
    assert np.all(np.diff(model.bounds_) < 0)
    for scores, bound in zip(model.staged_predict(X), model.bounds_[1:], strict=True):
        assert rankboost_oracle.ranking_loss(PAIRS, np.round(scores, 9)) <= bound
    assert model.score(X, Y, qid=QID) > 0.7


def test_a_learner_sees_all_rows_and_their_potentials():
    seen = []

    def learn(rows, potentials):
        seen.append((rows, potentials))
        return lambda rows: rows[:, 0]

    weight = np.where(np.arange(N) < 50, 1.0, 0.0)
    RankBoost(n_rounds=1, alpha="numeric", weak=learn).fit(X, Y, qid=QID, sample_weight=weight)
    rows, potentials = seen[0]
    assert_array_equal(rows, X)
    pairs = rankboost_oracle.pairs_of(Y, QID, sample_weight=weight)
    expected, _ = rankboost_oracle.potentials(pairs, np.zeros(N))
    assert_allclose(potentials, expected, rtol=0, atol=1e-15)
    assert np.all(potentials[50:] == 0)


def test_a_learner_may_take_gaps_and_sparse_rows():
    gaps = np.where(RNG.random((N, D)) < 0.3, np.nan, X)
    assert fitted(DecisionTreeRegressor(max_depth=2), gaps).n_rounds_ == 6
    rows = sparse.csr_array(X)
    model, expected = fitted(Ridge(), rows), fitted(Ridge())
    assert_allclose(model.predict(rows), expected.predict(X), rtol=0, atol=1e-6)


def test_the_best_of_several_is_taken_in_every_round():
    seen = []

    def wide(X):
        return X.sum(axis=1)

    def learn(X, potentials):
        seen.append(float(potentials @ wide(X)))
        return wide

    model = fitted(["threshold", learn], n_rounds=12, learning_rate=0.3)
    is_own = model.weak_rankers_["feature"] < 0
    assert 0 < is_own.sum() < 12
    H = np.zeros(N)
    for record, own in zip(model.weak_rankers_, seen, strict=True):
        potentials, _ = rankboost_oracle.potentials(PAIRS, H)
        ours = max(float(potentials @ (X[:, f] > t)) for f in range(D) for t in set(X[:, f]))
        feature, threshold, _, alpha = record.tolist()
        # Thresholds of earlier rounds may lose weight.
        assert feature >= 0 or own >= ours - 1e-12
        H += alpha * (wide(X) if feature < 0 else X[:, feature] > threshold)


def test_a_list_may_name_words_only():
    both = fitted(["feature", "threshold"])
    assert set(np.isnan(both.weak_rankers_["threshold"])) <= {True, False}
    assert both.own_rankings_ == []
    assert_allclose(fitted(["threshold"]).predict(X), fitted("threshold").predict(X), rtol=0)
    assert fitted(("threshold",)).n_rounds_ == 6


def h_of(seed):
    h = np.random.default_rng(seed).uniform(-2, 2, N)
    return h + 0.3 * Y


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("listed", [False, True])
def test_alpha_is_where_Z_is_least(seed, listed):
    h = h_of(seed)
    worse, better, weight = zip(*PAIRS, strict=True)
    y, qid = (Preferences(better, worse, weight), None) if listed else (Y, QID)
    model = fitted(returns(lambda X: h), y=y, qid=qid, n_rounds=1, cumulative=False)
    alpha = model.weak_rankers_["alpha"][0]

    def Z(a):
        return sum(w * exp(a * (h[x0] - h[x1])) for x0, x1, w in PAIRS) / len(PAIRS)

    slope = sum(w * (h[x0] - h[x1]) * exp(alpha * (h[x0] - h[x1])) for x0, x1, w in PAIRS)
    assert abs(slope) / len(PAIRS) < 1e-13
    assert_allclose(model.bounds_[1], Z(alpha), rtol=1e-13)
    assert Z(alpha) <= min(Z(0.999 * alpha), Z(1.001 * alpha))


def test_a_ranking_that_errs_on_no_pair_is_cut():
    rows, y = [[0.0], [1.0], [50.0]], [0, 1, 1]
    options = {"y": y, "qid": None, "n_rounds": 1, "smoothing": 0.01}
    model = fitted(returns(lambda X: X[:, 0]), rows, **options)
    limit = 0.5 * log(2.01 / 0.01) / 50
    assert_allclose(model.weak_rankers_["alpha"], [limit], rtol=1e-12)


def test_a_ranking_that_errs_on_no_pair_needs_smoothing():
    model = RankBoost(alpha="numeric", weak=returns(lambda X: X[:, 0]), smoothing=0)
    sentence = "RankBoost: smoothing must be > 0 where a weak ranking errs on no pair; got 0."
    with raises_unchanged(model, DataError, sentence):
        model.fit([[0.0], [1.0], [50.0]], [0, 1, 1])


def test_a_ranking_that_falls_is_of_no_use_if_cumulative():
    falling = returns(lambda X: -X.sum(axis=1))
    with pytest.warns(ConvergenceWarning, match="no weak ranking separates the rows"):
        assert fitted(falling).n_rounds_ == 0
    assert fitted(falling, cumulative=False).weak_rankers_["alpha"][0] < 0


@every_alpha
@pytest.mark.parametrize("cumulative", [True, False])
def test_a_ranking_that_says_nothing_ends_the_run(alpha, cumulative):
    nothing = returns(lambda X: np.ones(len(X)))
    with pytest.warns(ConvergenceWarning, match="no weak ranking separates the rows"):
        model = fitted(nothing, alpha=alpha, cumulative=cumulative)
    assert model.n_rounds_ == 0


def test_approximate_and_analytic_take_zeros_and_ones():
    step = returns(lambda X: (X[:, 0] > 0).astype(float))
    for alpha in ("approximate", "analytic"):
        model = fitted(step, alpha=alpha, n_rounds=1)
        h = X[:, 0] > 0
        right = np.mean([h[b] and not h[a] for a, b, _ in PAIRS])
        wrong = np.mean([h[a] and not h[b] for a, b, _ in PAIRS])
        e = model.smoothing_
        r = right - wrong
        expected = {
            "approximate": 0.5 * log((1 + r + e) / (1 - r + e)),
            "analytic": 0.5 * log((right + e / 2) / (wrong + e / 2)),
        }
        assert_allclose(model.weak_rankers_["alpha"], [expected[alpha]], rtol=1e-12)


RISING = np.linspace(0, 1.5, N)
WIDTH = float(max(abs(RISING[a] - RISING[b]) for a, b, _ in PAIRS))
ROWS = "a ranking by weak must be one number per row, 60 in all"
# How alpha is chosen, the learner, and what is said of it.
REFUSED = {
    "too few": ("numeric", returns(lambda X: X[1:, 0]), f"{ROWS}; got an array of shape (59,)."),
    "a matrix": ("numeric", returns(lambda X: X), f"{ROWS}; got an array of shape (60, 3)."),
    "one number": ("numeric", returns(lambda X: 1.0), f"{ROWS}; got an array of shape ()."),
    "gaps": (
        "numeric",
        returns(lambda X: np.full(len(X), np.nan)),
        f"{ROWS}, finite; got nan in row 0.",
    ),
    "infinite": (
        "numeric",
        returns(lambda X: np.full(len(X), np.inf)),
        f"{ROWS}, finite; got inf in row 0.",
    ),
    "no function": (
        "numeric",
        lambda X, potentials: 3,
        "what weak returns must be a function of X, the ranking; got 3.",
    ),
    "too wide": (
        "approximate",
        returns(lambda X: RISING),
        "a ranking by weak must be within a range of 1 if alpha='approximate'; "
        f"got {WIDTH!r}. Scale it, or use alpha='numeric'.",
    ),
    "not zeros and ones": (
        "analytic",
        returns(lambda X: X[:, 0]),
        "a ranking by weak must be 0 or 1 everywhere if alpha='analytic'; "
        "got other values. Use alpha='numeric'.",
    ),
}


@pytest.mark.parametrize(("alpha", "weak", "sentence"), REFUSED.values(), ids=REFUSED)
def test_a_ranking_is_refused(alpha, weak, sentence):
    model = RankBoost(alpha=alpha, weak=weak)
    with raises_unchanged(model, DataError, f"RankBoost: {sentence}"):
        model.fit(X, Y, qid=QID)


def test_a_ranking_that_breaks_down_later_is_refused_too():
    def moody(rows):
        return rows[:, 0] if len(rows) == N else np.full(len(rows), np.nan)

    model = fitted(returns(moody), n_rounds=1)
    sentence = (
        "RankBoost: a ranking by weak must be one number per row, 5 in all, finite; "
        "got nan in row 0."
    )
    for ask in (model.predict, lambda rows: list(model.staged_predict(rows))):
        with pytest.raises(DataError, match=exactly(sentence)):
            ask(X[:5])


def test_an_error_of_a_learner_is_passed_on():
    def learn(X, potentials):
        raise RuntimeError("I am tired.")

    model = RankBoost(weak=learn)
    with raises_unchanged(model, RuntimeError, "I am tired."):
        model.fit(X, Y, qid=QID)
