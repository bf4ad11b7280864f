"""Every round of RankBoost is one that the paper would choose, and bounds the loss.

Here ties are no trouble: a round must be as good as any other, not be the first.
"""

from math import exp, isnan, log

import numba
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from peckorder import Preferences, RankBoost
from support import rankboost_oracle

pytestmark = [
    pytest.mark.jit_off,
    pytest.mark.filterwarnings("ignore:.*no weak ranking separates the rows"),
]

EXAMPLES = settings(max_examples=5 if numba.config.DISABLE_JIT else 15)
WEAK = [
    ("approximate", "threshold"),
    ("analytic", "threshold"),
    ("numeric", "threshold"),
    ("approximate", "feature"),
    ("numeric", "feature"),
]
every_kind = pytest.mark.parametrize(("alpha", "weak"), WEAK)
# Where rounding may have decided.
UNCLEAR = 1e-9
# How far apart scores are before the first round.
sizes = st.sampled_from([0.0, 1.0, 30.0])


@st.composite
def problems(draw, sizes=sizes):
    """Return rows of few values, pairs and how they are told, and an offset."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(3, 9)), draw(st.integers(1, 3))
    X = rng.integers(0, 3, (n, d)) / 2
    X[rng.random((n, d)) < draw(st.sampled_from([0.0, 0.3]))] = np.nan
    y, qid = rng.integers(0, 3, n), rng.integers(0, draw(st.integers(1, 3)), n)
    pairs = rankboost_oracle.pairs_of(y, qid)
    feedback = {"y": y, "qid": qid}
    if draw(st.booleans()):
        pairs += [(0, 1, 1.0), (1, 0, 0.5), (2, 0, 1.0)]
        both = Preferences.from_grades(y, qid) + Preferences([1, 0, 0], [0, 1, 2], [1, 0.5, 1])
        feedback = {"y": both}
    assume(pairs)
    offset = draw(sizes) * rng.standard_normal(n)
    return X, pairs, feedback | {"offset": offset}


def fitted(problem, alpha, weak, **options):
    X, _, feedback = problem
    options = {"n_rounds": 6, "smoothing": 0.05} | options
    return RankBoost(alpha=alpha, weak=weak, **options).fit(X, **feedback)


def left(pairs, H):
    """Return the weights of pairs over their total, and the total's logarithm."""
    log_total = rankboost_oracle.potentials(pairs, H)[1]
    return [exp(log(w) + H[a] - H[b] - log_total) for a, b, w in pairs], log_total


def check_rounds(problem, model):
    X, pairs, feedback = problem
    rows = rankboost_oracle.feedback_of(pairs)
    known = rankboost_oracle.weak_rankings(X.tolist(), rows, model.weak, model.default)
    by_key = {weak.key: weak for weak in known}
    H, start = feedback["offset"].copy(), left(pairs, np.zeros(len(X)))[1]
    total, logs = {}, []
    for record in [*model.weak_rankers_.tolist(), None]:
        D, log_total = left(pairs, H)
        logs.append(log_total - start)

        def judged(weak, D=D):
            """Return the gain of a ranking, its step, and what it has afterwards."""
            sums = rankboost_oracle.sums_of(pairs, D, weak.h)
            gain = rankboost_oracle.gain_of(model.alpha, sums)
            if gain < UNCLEAR:
                return gain, None, 0.0
            step = rankboost_oracle.step_of(model.alpha, sums, pairs, D, weak.h, model.smoothing)
            step *= 1.0 if model.learning_rate == "auto" else model.learning_rate
            has = total[weak.key] + step if weak.key in total else sums.r
            return gain, step, has if model.cumulative else 1.0

        others = [judged(weak) for weak in known]
        most = max((gain for gain, _, has in others if has > UNCLEAR), default=0.0)
        if record is None:
            break
        feature, threshold, default, alpha = record
        key = feature, None if isnan(threshold) else threshold, default
        gain, step, has = judged(by_key[key])
        assert gain >= most - UNCLEAR
        if step is not None:
            assert_allclose(alpha, step, rtol=1e-7, atol=1e-9)
            assert has > 0.0
        total[key] = total.get(key, 0.0) + alpha
        H = H + alpha * np.array(by_key[key].h)
    assert model.n_rounds_ == model.n_rounds or most < UNCLEAR
    expected = np.exp(np.minimum(logs, 700.0))
    assert_allclose(model.bounds_, expected, rtol=1e-9, atol=1e-290)


@every_kind
@EXAMPLES
@given(
    problem=problems(),
    cumulative=st.booleans(),
    rate=st.sampled_from([1.0, 0.4]),
    default=st.sampled_from([None, 0, 1]),
)
def test_a_round_is_as_good_as_any(alpha, weak, problem, cumulative, rate, default):
    options = {"cumulative": cumulative, "learning_rate": rate, "default": default}
    check_rounds(problem, fitted(problem, alpha, weak, **options))


@pytest.mark.parametrize(("alpha", "weak"), [k for k in WEAK if k[0] != "analytic"])
@EXAMPLES
@given(problem=problems(sizes=st.just(3000.0)), cumulative=st.booleans())
def test_scores_may_be_in_the_thousands(alpha, weak, problem, cumulative):
    check_rounds(problem, fitted(problem, alpha, weak, cumulative=cumulative))


@EXAMPLES
@given(problem=problems(sizes=st.just(200.0)), cumulative=st.booleans())
def test_scores_may_be_a_thousand_apart_for_the_least_Z(problem, cumulative):
    assume(np.ptp(problem[2]["offset"]) < 1200)
    model = fitted(problem, "analytic", "threshold", cumulative=cumulative)
    check_rounds(problem, model)


@every_kind
@EXAMPLES
@given(
    problem=problems(),
    cumulative=st.booleans(),
    rate=st.sampled_from([1.0, 0.3, 1.5]),
    n_rounds=st.integers(1, 15),
)
def test_the_bounds_bound_the_loss_after_every_round(
    alpha, weak, problem, cumulative, rate, n_rounds
):
    X, pairs, feedback = problem
    options = {"cumulative": cumulative, "learning_rate": rate, "n_rounds": n_rounds}
    model = fitted(problem, alpha, weak, **options)
    offset = feedback["offset"]
    stages = [offset, *model.staged_predict(X, offset=offset)]
    assert len(stages) == len(model.bounds_) == model.n_rounds_ + 1
    for scores, bound in zip(stages, model.bounds_, strict=True):
        # Equal sums of alphas in another order differ in the last bits.
        for seen in (scores, np.round(scores, 9)):
            assert rankboost_oracle.ranking_loss(pairs, seen) <= bound * (1 + 1e-9)


@every_kind
@EXAMPLES
@given(problem=problems(), cumulative=st.booleans())
def test_no_round_raises_the_bound(alpha, weak, problem, cumulative):
    model = fitted(problem, alpha, weak, cumulative=cumulative)
    assert np.all(np.diff(model.bounds_) <= 1e-12 * model.bounds_[:-1])
    assert np.all(model.feature_importances_ >= -1e-9)
