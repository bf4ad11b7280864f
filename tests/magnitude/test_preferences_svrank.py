"""SVRank of preferences: the sum over listed pairs, and the program over them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from peckorder import MPRank, Preferences, SVRank
from peckorder.magnitude.mprank_solver.pairs import PairWeights
from peckorder.magnitude.svrank_solver.loss import ListedRisk
from support import slow_pairs
from support.helpers import refuses
from support.slow_pairs import kernels, problems


@settings(max_examples=60)
@given(
    problems(),
    st.sampled_from(["linear", "rbf"]),
    st.sampled_from([1, 2]),
    st.sampled_from(["svr", "hmpc"]),
    st.sampled_from([0.0, 0.2]),
    st.sampled_from([0.1, 1.0, 30.0]),
)
def test_reaches_the_bound_of_listed_pairs(problem, kernel, power, loss, epsilon, C):
    X, feedback, more = problem
    model = SVRank(
        C=C, epsilon=epsilon, power=power, loss=loss, kernel=kernel, gamma=0.05, tol=1e-9
    )
    model.fit(X, feedback, **more)
    K, band = kernels(model, X, X), epsilon if loss == "svr" else 0.0
    everything = list(slow_pairs.listed(feedback, **more))
    sizes = [size for *_, size in slow_pairs.listed(feedback, more.get("sample_weight"))]
    # One-sided losses leave out pairs of size 0, whatever the offset.
    pairs = zip(everything, sizes, strict=True)
    kept = [pair for pair, size in pairs if loss == "svr" or size > 0]
    D = np.zeros((len(kept), len(X)))
    for k, (better, worse, _, _) in enumerate(kept):
        D[k, better], D[k, worse] = 1.0, -1.0
    c = np.array([pair[2] for pair in kept]) * C / slow_pairs.normaliser(everything)
    t = np.array([pair[3] for pair in kept])
    scores = model.predict(X, offset=np.zeros(len(X)))
    w = model.coef_ if kernel == "linear" else model.dual_coef_
    miss = t - D @ scores if loss == "hmpc" else np.abs(D @ scores - t)
    square = w @ w if kernel == "linear" else w @ K @ w
    objective = square + c @ np.maximum(0.0, miss - band) ** power
    # Scores far from zero have lost digits.
    assert model.objective_ == pytest.approx(objective, rel=1e-7, abs=1e-9)
    least = slow_pairs.lower_bound(K, c, D, t, band, power, loss)
    assert least <= objective + 1e-7 * (1.0 + objective)
    assert objective - least <= 1e-5 * objective + 1e-7
    assert model.intercept_ == 0.0


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("loss", ["svr", "hmpc"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("queries", [1, 3])
def test_labels_as_pairs_give_the_model_of_labels(power, loss, kernel, queries):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(15, 3)), rng.integers(0, 4, size=15)
    qid = np.arange(15) % queries
    model = SVRank(C=5.0, power=power, loss=loss, kernel=kernel, tol=1e-12)
    expected = model.fit(X, y, qid=qid)
    of_labels = expected.predict(X) - expected.intercept_
    objective = expected.objective_
    found = model.fit(X, Preferences.from_labels(y, qid))
    assert found.objective_ == pytest.approx(objective, rel=1e-11)
    np.testing.assert_allclose(found.predict(X), of_labels, atol=1e-5)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@given(problems())
def test_squares_without_a_band_are_those_of_mprank(kernel, problem):
    X, feedback, more = problem
    parameters = {"C": 3.0, "kernel": kernel, "gamma": 0.05}
    model = SVRank(epsilon=0.0, power=2, tol=1e-13, **parameters).fit(X, feedback, **more)
    expected = MPRank(**parameters).fit(X, feedback, **more)
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("kind", ["svr", "hmpc"])
@given(problems(), st.integers(0, 2**32 - 1))
def test_the_slope_of_the_risk_is_that_of_each_pair(kind, problem, seed):
    X, feedback, more = problem
    scores = np.random.default_rng(seed).normal(size=len(X))
    pairs, rows = PairWeights.of(feedback, len(X), more.get("sample_weight"), more.get("offset"))
    for power in (1, 2):
        risk = ListedRisk(kind, pairs, power, 0.3 if kind == "svr" else 0.0, 2.0)
        value, slope = risk(scores[rows])
        step = 1e-6 * np.random.default_rng(seed + 1).normal(size=len(rows))
        rise = risk(scores[rows] + step)[0] - risk(scores[rows] - step)[0]
        assert rise == pytest.approx(2.0 * slope @ step, rel=1e-4, abs=1e-9)
        assert value >= 0.0


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_rows_in_no_pair_and_any_form_of_rows(power, kernel):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9, 3)).astype(np.float32)
    X.flags.writeable = False
    pairs = Preferences([1, 5, 8], [5, 8, 1], weight=[1, 2, 1], size=[1, 2, 3])
    model = SVRank(power=power, kernel=kernel, tol=1e-11)
    expected = model.fit(X[[1, 5, 8]], pairs.restrict([1, 5, 8])).predict(X)
    for form in (X, np.asfortranarray(X), sparse.csr_array(X)):
        np.testing.assert_allclose(model.fit(form, pairs).predict(X), expected, atol=1e-5)


def test_outliers_count_less_than_squares():
    X = np.arange(5.0)[:, np.newaxis]
    # Each is one more than the one before, but the last match was a rout.
    pairs = Preferences([1, 2, 3, 4], [0, 1, 2, 3], size=[1, 1, 1, 40])
    assert MPRank(C=1e6).fit(X, pairs).coef_[0] > 10.0
    assert SVRank(C=1e6, epsilon=0.0).fit(X, pairs).coef_[0] == pytest.approx(1.0)


def test_weights_of_the_top_need_labels():
    sentence = "SVRank: top_weight must be 0 with Preferences, whose rows have no labels; got 1.0."
    with refuses(sentence):
        SVRank(top_weight=1.0).fit(np.eye(3), Preferences([0, 1], [1, 2]))
