"""RankBoost is the slow one, whatever the feedback and the options."""

import numba
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from peckorder import Preferences, RankBoost
from support import rankboost_oracle

pytestmark = [
    pytest.mark.jit_off,
    pytest.mark.filterwarnings("ignore:.*no weak ranking separates the rows"),
]

EXAMPLES = settings(max_examples=10 if numba.config.DISABLE_JIT else 80)
FEW = settings(max_examples=5 if numba.config.DISABLE_JIT else 25)
# What comes nearer than this is decided by rounding.
CLEAR = 1e-9
ALPHAS = ["approximate", "analytic", "numeric"]
KINDS = ["unit", "gap", "exponential"]
seeds = st.integers(0, 2**32 - 1)
shares = st.sampled_from([0.0, 0.3])
every_alpha = pytest.mark.parametrize("alpha", ALPHAS)


@st.composite
def options_of(draw, weak="threshold", alphas=ALPHAS):
    defaults = [None, 0, 1] if weak == "threshold" else [None, 0, 0.5, 1.0]
    return {
        "weak": weak,
        "alpha": draw(st.sampled_from(alphas)),
        "cumulative": draw(st.booleans()),
        "default": draw(st.sampled_from(defaults)),
        "smoothing": draw(st.sampled_from([0.01, 0.3])),
        "learning_rate": draw(st.sampled_from([1.0, 0.3, 1.25])),
        "n_rounds": draw(st.integers(1, 6)),
    }


def features(rng, n, share, *, few, within_one=False):
    d = rng.integers(1, 4)
    X = rng.integers(0, 4, (n, d)) / 1.0 if few else rng.standard_normal((n, d))
    if within_one:
        X = X / 3 if few else 1 / (1 + np.exp(-X))
    X[rng.random((n, d)) < share] = np.nan
    return X


@st.composite
def rows(draw, *, within_one=False):
    """Return X, weights of rows and an offset, maybe None each."""
    rng = np.random.default_rng(draw(seeds))
    n = draw(st.integers(3, 10))
    X = features(rng, n, draw(shares), few=draw(st.booleans()), within_one=within_one)
    weights = {
        "none": None,
        "some zeros": rng.choice([0.0, 0.5, 1.0, 2.0], n),
        "all differ": rng.uniform(0.5, 2.0, n),
    }
    # Unless weights or offsets differ, ties are frequent.
    weight = draw(st.sampled_from(["all differ", "some zeros", "none"]))
    offset = draw(st.sampled_from([True, False])) or weight == "none"
    return rng, X, weights[weight], rng.standard_normal(n) if offset else None


def graded(rng, n):
    return rng.integers(0, 3, n), rng.integers(0, rng.integers(1, 4), n)


def listed(rng, n):
    """Draw pairs that contradict each other, repeat, or weigh nothing."""
    n_pairs = rng.integers(1, 9)
    better = rng.integers(0, n, n_pairs)
    worse = (better + rng.integers(1, n, n_pairs)) % n
    weight = rng.uniform(0.2, 3.0, n_pairs) * (rng.random(n_pairs) < 0.9)
    pairs = list(zip(worse.tolist(), better.tolist(), weight.tolist(), strict=True))
    return Preferences(better, worse, weight), pairs


def weighed(pairs, weight):
    if weight is None:
        return pairs
    return [(a, b, w * weight[a] * weight[b]) for a, b, w in pairs]


def centred(scores, rows):
    return scores[rows] - scores[rows].mean()


def assert_learns_the_same(model, X, pairs, offset):
    """Compare a fitted model with the oracle on explicit pairs."""
    feedback = rankboost_oracle.feedback_of(pairs)
    names = ("weak", "alpha", "cumulative", "default", "learning_rate", "n_rounds")
    options = {name: getattr(model, name) for name in names}
    smoothing = 1 / len(pairs) if model.smoothing == "auto" else model.smoothing
    oracle = rankboost_oracle.boost(
        X.tolist(), pairs, offset=offset, smoothing=smoothing, **options
    )
    assume(oracle.closest > CLEAR)
    assert_allclose(model.smoothing_, smoothing, rtol=1e-15)
    assert_allclose(model.bounds_, oracle.bounds, rtol=1e-10)
    found = centred(model.predict(X, offset=np.zeros(len(X))), feedback)
    expected = centred(np.array(oracle.H), feedback)
    assert_allclose(found, expected, rtol=0, atol=1e-8)


def check_grades(problem, options, more, equal):
    rng, X, weight, offset = problem
    y, qid = graded(rng, len(X))
    query_weight = "equal" if equal else "pairs"
    pairs = rankboost_oracle.pairs_of(y, qid, sample_weight=weight, query_weight=query_weight)
    assume(pairs)
    model = RankBoost(**options | more, query_weight=query_weight)
    model.fit(X, y, qid=qid, sample_weight=weight, offset=offset)
    assert_learns_the_same(model, X, pairs, offset)


@EXAMPLES
@given(rows(), options_of(), st.sampled_from([{}, {"smoothing": "auto"}]), st.booleans())
def test_thresholds_of_graded_rows(problem, options, more, equal):
    check_grades(problem, options, more, equal)


@EXAMPLES
@given(rows(within_one=True), options_of("feature", ["approximate", "numeric"]), st.booleans())
def test_features_of_graded_rows(problem, options, equal):
    check_grades(problem, options, {}, equal)


@FEW
@given(rows(), options_of("feature", ["numeric"]))
def test_features_of_any_size(problem, options):
    rng, X, *more = problem
    check_grades((rng, 10 * X, *more), options, {}, False)


def check_preferences(preferences, pairs, problem, options):
    _, X, weight, offset = problem
    pairs = rankboost_oracle.weighing(weighed(pairs, weight))
    assume(pairs)
    model = RankBoost(**options)
    model.fit(X, preferences, sample_weight=weight, offset=offset)
    assert_learns_the_same(model, X, pairs, offset)


@EXAMPLES
@given(rows(), options_of())
def test_explicit_pairs(problem, options):
    rng, X, *_ = problem
    check_preferences(*listed(rng, len(X)), problem, options)


@FEW
@given(rows(within_one=True), options_of("feature", ["approximate", "numeric"]))
def test_features_of_explicit_pairs(problem, options):
    rng, X, *_ = problem
    check_preferences(*listed(rng, len(X)), problem, options)


@EXAMPLES
@given(rows(), options_of(), st.sampled_from(KINDS))
def test_grades_that_weigh_more_the_more_they_differ(problem, options, kind):
    rng, X, *_ = problem
    y, qid = graded(rng, len(X))
    preferences = Preferences.from_grades(y, qid, weight=kind)
    assume(preferences.n_pairs)
    pairs = rankboost_oracle.pairs_of(y, qid, gap=kind)
    check_preferences(preferences, pairs, problem, options)


@st.composite
def sums(draw):
    """Return two or three feedbacks of any kind, added up, and all their pairs."""
    problem = draw(rows())
    rng, n = problem[0], len(problem[1])
    parts, pairs = [], []
    for kind in draw(st.lists(st.sampled_from([*KINDS, "listed"]), min_size=2)):
        factor = draw(st.sampled_from([0, 0.5, 3]))
        if kind == "listed":
            part, of_part = listed(rng, n)
        else:
            y, qid = graded(rng, n)
            part = Preferences.from_grades(y, qid, weight=kind)
            of_part = rankboost_oracle.pairs_of(y, qid, gap=kind)
        parts.append(factor * part)
        pairs += [(a, b, factor * w) for a, b, w in of_part]
    return sum(parts), pairs, problem


@EXAMPLES
@given(sums(), options_of())
def test_sums_of_feedback(feedback, options):
    preferences, pairs, problem = feedback
    assume(preferences.total_weight > 0)
    check_preferences(preferences, pairs, problem, options)


@FEW
@given(rows(), st.sampled_from([None, 0, 1]), st.integers(1, 6))
def test_good_and_bad_rows_are_what_keeps_a_weight_for_each(problem, default, n_rounds):
    rng, X, weight, _ = problem
    is_good = rng.choice([True, False, None], len(X)).tolist()
    # A row that is neither is the only one of its query.
    qid = [f"row {x}" if good is None else "all" for x, good in enumerate(is_good)]
    y = [bool(good) for good in is_good]
    pairs = rankboost_oracle.pairs_of(y, qid, sample_weight=weight)
    assume(pairs)
    options = {"n_rounds": n_rounds, "default": default, "smoothing": 0.05}
    closest = rankboost_oracle.boost(X.tolist(), pairs, **options).closest
    assume(closest > CLEAR)
    oracle = rankboost_oracle.bipartite(X.tolist(), is_good, sample_weight=weight, **options)
    model = RankBoost(cumulative=False, **options)
    model.fit(X, y, qid=qid, sample_weight=weight)
    assert_allclose(model.bounds_, oracle.bounds, rtol=1e-10)
    feedback = rankboost_oracle.feedback_of(pairs)
    expected = centred(np.array(oracle.H), feedback)
    assert_allclose(centred(model.predict(X), feedback), expected, rtol=0, atol=1e-9)


@every_alpha
@pytest.mark.parametrize("cumulative", [True, False])
@settings(max_examples=3)
@given(seeds)
def test_grades_are_the_pairs_they_stand_for(alpha, cumulative, seed):
    rng = np.random.default_rng(seed)
    X, weight = rng.standard_normal((60, 4)), rng.uniform(0.5, 2, 60)
    X[rng.random(X.shape) < 0.2] = np.nan
    y, qid = rng.integers(0, 4, 60), rng.integers(0, 5, 60)
    # With defaults to choose, a round may leave two that are equally good.
    options = {"alpha": alpha, "cumulative": cumulative, "default": 0, "n_rounds": 8}
    model = RankBoost(**options).fit(X, y, qid=qid, sample_weight=weight)
    worse, better, weights = zip(*rankboost_oracle.pairs_of(y, qid), strict=True)
    listed = RankBoost(**options)
    listed.fit(X, Preferences(better, worse, weights), sample_weight=weight)
    assert_allclose(model.bounds_, listed.bounds_, rtol=1e-11)
    everywhere = np.arange(60)
    found, expected = model.predict(X), listed.predict(X)
    assert_allclose(centred(found, everywhere), centred(expected, everywhere), rtol=0, atol=1e-10)
    assert_array_equal(model.weak_rankers_["feature"], listed.weak_rankers_["feature"])
