"""The weight of a real-valued ranking is where Z is least, to the last digits."""

from math import log

import numba
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from sklearn.exceptions import ConvergenceWarning

from peckorder import Preferences, RankBoost
from support import rankboost_oracle

pytestmark = pytest.mark.jit_off
EXAMPLES = settings(max_examples=10 if numba.config.DISABLE_JIT else 60)
ALPHAS = ["approximate", "analytic", "numeric"]


@st.composite
def rankings(draw, sizes=(0.0, 1.0)):
    """Return a ranking, weighted pairs, how they are told, and an offset."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(3, 15))
    scale = draw(st.sampled_from([1e-3, 1.0, 50.0]))
    h = scale * draw(st.sampled_from([rng.standard_normal, rng.random]))(n)
    y, qid = rng.integers(0, 3, n), rng.integers(0, 2, n)
    kind = draw(st.sampled_from(["unit", "gap", "exponential"]))
    weight = rng.uniform(0.2, 2.0, n)
    pairs = rankboost_oracle.pairs_of(y, qid, gap=kind, sample_weight=weight)
    assume(pairs)
    feedback = Preferences.from_grades(y, qid, weight=kind)
    if draw(st.booleans()):
        feedback = Preferences(*feedback.pairs())
    offset = draw(st.sampled_from(sizes)) * rng.standard_normal(n)
    return h, pairs, feedback, weight, offset


def learnt(problem, smoothing):
    """Return the alpha that the one ranking there is was given."""
    h, _, feedback, weight, offset = problem
    model = RankBoost(
        n_rounds=1,
        alpha="numeric",
        weak=lambda X, potentials: lambda X: h,
        cumulative=False,
        smoothing=smoothing,
    )
    model.fit(np.zeros((len(h), 1)), feedback, sample_weight=weight, offset=offset)
    return model.weak_rankers_["alpha"][0], model


def check_alpha(problem, smoothing):
    h, pairs, *_, offset = problem
    D, wrong = (
        np.array(rankboost_oracle.shares(pairs, offset)),
        np.array([h[a] - h[b] for a, b, _ in pairs]),
    )
    r = -float(D @ wrong)
    assume(abs(r) > 1e-6 * np.abs(wrong).max())
    limit = 0.5 * log((2 + smoothing) / smoothing) / max(1.0, np.abs(wrong).max())
    span = (0.0, limit) if r > 0 else (-limit, 0.0)

    def log_Z(alpha):
        return log(float(D @ np.exp(alpha * wrong)))

    found, model = learnt(problem, smoothing)
    best = minimize_scalar(log_Z, bounds=span, method="bounded", options={"xatol": 1e-12 * limit})
    assert log_Z(found) <= best.fun + 1e-14
    # The flatter Z, the less is known of the place of its least value.
    curve = float(D @ (wrong**2 * np.exp(found * wrong)))
    assert_allclose(found, best.x, rtol=1e-6, atol=10 * (1e-15 / curve) ** 0.5)
    # The slope tells it much more exactly.
    slope = float(D @ (wrong * np.exp(found * wrong)))
    size = float(D @ (np.abs(wrong) * np.exp(found * wrong)))
    is_cut = abs(found) >= limit * (1 - 1e-12)
    if is_cut:
        assert slope * np.sign(r) <= 1e-12 * size
    else:
        assert abs(slope) <= 1e-12 * size
    before, after = model.bounds_
    if 1e-300 < before < 1e300:
        assert_allclose(log(after / before), log_Z(found), rtol=0, atol=1e-11)


@EXAMPLES
@given(rankings(), st.sampled_from([1e-3, 0.1]))
def test_alpha_is_where_Z_is_least(problem, smoothing):
    check_alpha(problem, smoothing)


@EXAMPLES
@given(rankings(sizes=(3000.0,)), st.sampled_from([1e-3, 0.1]))
def test_alpha_is_where_Z_is_least_on_top_of_thousands(problem, smoothing):
    check_alpha(problem, smoothing)


@EXAMPLES
@given(rankings())
def test_without_smoothing_nothing_is_cut(problem):
    h, pairs, *_ = problem
    rises = [h[b] - h[a] for a, b, _ in pairs]
    assume(min(rises) < 0 < max(rises))
    D, wrong = np.array(rankboost_oracle.shares(pairs, problem[-1])), -np.array(rises)
    assume(abs(D @ wrong) > 1e-6 * np.abs(wrong).max())
    found, _ = learnt(problem, 0.0)
    slope = float(D @ (wrong * np.exp(found * wrong)))
    assert abs(slope) <= 1e-12 * float(D @ (np.abs(wrong) * np.exp(found * wrong)))


WEAK = {"threshold": "threshold", "own": lambda X, potentials: lambda X: np.ones(len(X))}


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("cumulative", [True, False])
@pytest.mark.parametrize("weak", WEAK)
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_rounding_is_no_ranking(alpha, cumulative, weak, seed):
    # The larger the scores, the more rounding leaves of an r of zero.
    size = 300.0 if alpha == "analytic" else 3000.0
    noise = np.random.default_rng(seed).standard_normal(12)
    offset = np.where(np.arange(12) % 2, size, -size) + noise
    model = RankBoost(n_rounds=3, alpha=alpha, cumulative=cumulative, weak=WEAK[weak])
    with pytest.warns(ConvergenceWarning, match="no weak ranking separates the rows"):
        model.fit(np.ones((12, 1)), np.arange(12) % 3, qid=np.repeat([0, 1, 2], 4), offset=offset)
