"""What is true of every run: order, bounds, sums."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from peckorder import PRank
from peckorder.bounds import prank_mistake_bound
from support import online_oracles
from support.helpers import LEARNERS, PAPER, RULES, integer_data, make, real_data

seeds = st.integers(0, 10_000)
sizes = st.floats(-1e3, 1e3, width=32)
FEW = settings(max_examples=25)


@pytest.mark.parametrize("rule", ["last", "averaged"])
@FEW
@given(
    st.integers(2, 6),
    hnp.arrays(np.float64, (12, 2), elements=sizes),
    seeds,
    st.booleans(),
    st.data(),
)
def test_thresholds_stay_in_order_after_every_round(rule, k, X, seed, unit_norm, data):
    start = sorted(data.draw(st.lists(st.integers(-5, 5), min_size=k - 1, max_size=k - 1)))
    y = np.random.default_rng(seed).integers(1, k + 1, 12)
    model = PRank(rule=rule, unit_norm=unit_norm, classes=range(1, k + 1))
    model.fit(X[:1], y[:1], thresholds_init=start)
    seen = [model.thresholds_] + [
        model.partial_fit([x], [label]).thresholds_ for x, label in zip(X[1:], y[1:], strict=True)
    ]
    assert np.all(np.diff(seen, axis=1) >= 0)


@FEW
@given(seeds, st.booleans())
def test_the_last_rule_has_integer_thresholds(seed, unit_norm):
    X, y = real_data(seed)
    model = PRank(rule="last", unit_norm=unit_norm).fit(X, y)
    assert_array_equal(model.thresholds_, np.round(model.thresholds_))


@FEW
@given(seeds, st.integers(2, 5), st.integers(1, 5))
def test_the_loss_on_separable_data_is_below_both_bounds(seed, k, passes):
    rng = np.random.default_rng(seed)
    w, b = rng.standard_normal(3), np.sort(rng.standard_normal(k - 1))
    X = rng.standard_normal((80, 3))
    score = X @ w
    clear = np.abs(score[:, np.newaxis] - b).min(axis=1) > 0.05
    X, y = X[clear], 1 + np.searchsorted(b, score[clear])
    classes = range(1, k + 1)
    bound = prank_mistake_bound(X, y, w, b, classes=classes)
    model = PRank(rule="last", max_iter=passes, classes=classes, **PAPER).fit(X, y)
    assert model.cumulative_loss_ <= bound.tight <= bound.printed < np.inf


@FEW
@given(seeds, st.booleans())
def test_the_averaged_rule_is_the_mean_of_the_last_rules(seed, intercept):
    X, y = integer_data(seed, n=20)
    view = {"fit_intercept": intercept, "unit_norm": False, "classes": range(1, 5)}
    last, averaged = PRank(rule="last", **view), PRank(rule="averaged", **view)
    rules = []
    for i in range(len(y)):
        last.partial_fit(X[i : i + 1], y[i : i + 1])
        rules.append(np.concatenate([last.coef_, [last.intercept_], last.thresholds_]))
    averaged.fit(X, y)
    means = averaged.coef_, [averaged.intercept_], averaged.thresholds_
    # A sum of integers has no rounding, so neither has its quotient but the last.
    assert_array_equal(np.concatenate(means), np.sum(rules, axis=0) / len(y))


@FEW
@given(seeds)
def test_the_mean_includes_the_start(seed):
    X, y = integer_data(seed, n=20)
    start = {"coef_init": [1, -2, 3], "thresholds_init": [-1, 0, 2]}
    model = PRank(**PAPER).fit(X, y, **start)
    oracle = online_oracles.PRank(3, 4, "averaged", w0=[1, -2, 3], b0=[-1, 0, 2])
    oracle.progressive(X.tolist(), y.tolist())
    assert_array_equal(model.coef_, oracle.weights())
    assert_array_equal(model.thresholds_, oracle.thresholds())


@FEW
@given(seeds)
def test_the_votes_include_those_of_the_start(seed):
    X, y = integer_data(seed, n=20)
    start = {"coef_init": [1, -2, 3], "thresholds_init": [-1, 0, 2]}
    model = PRank(rule="voted", **PAPER).fit(X, y, **start)
    oracle = online_oracles.PRank(3, 4, "voted", w0=[1, -2, 3], b0=[-1, 0, 2])
    oracle.progressive(X.tolist(), y.tolist())
    assert_array_equal(model.mean_rank(X), [oracle.mean_rank(x) for x in X.tolist()])


@FEW
@given(seeds)
def test_the_votes_are_the_rounds_without_a_mistake(seed):
    X, y = real_data(seed)
    model = PRank(rule="voted", max_iter=2).fit(X, y)
    assert model.votes_.sum() == model.n_rounds_ - model.n_mistakes_


@pytest.mark.parametrize("rule", RULES)
@FEW
@given(seeds)
def test_all_rules_learn_from_the_same_mistakes(rule, seed):
    X, y = real_data(seed)
    model, last = PRank(rule=rule).fit(X, y), PRank(rule="last").fit(X, y)
    counts = model.n_mistakes_, model.cumulative_loss_
    assert counts == (last.n_mistakes_, last.cumulative_loss_)


@FEW
@given(seeds)
def test_the_cumulative_loss_is_that_of_the_progressive_predictions(seed):
    X, y = real_data(seed)
    model = PRank(rule="last")
    assert np.abs(model.progressive(X, y) - y).sum() == model.cumulative_loss_


@pytest.mark.parametrize("name", LEARNERS)
@FEW
@given(seeds, st.booleans())
def test_sparse_rows_are_predicted_as_dense_ones_are(name, seed, unit_norm):
    X, y = real_data(seed)
    X[X < 0] = 0
    model = make(name, unit_norm=unit_norm).fit(X, y)
    assert_array_equal(model.predict(sparse.csr_array(X)), model.predict(X))


@pytest.mark.parametrize("rule", ["last", "averaged"])
@FEW
@given(seeds)
def test_the_scores_and_thresholds_are_those_that_predict(rule, seed):
    X, y = real_data(seed)
    model = PRank(rule=rule).fit(X, y)
    level = np.searchsorted(model.thresholds_, model.decision_function(X), side="right")
    assert_array_equal(model.predict(X), model.classes_[level])


@pytest.mark.parametrize("rule", ["last", "averaged"])
@FEW
@given(seeds)
def test_the_scores_are_the_weights_times_the_row(rule, seed):
    X, y = real_data(seed)
    model = PRank(rule=rule, unit_norm=False).fit(X, y)
    expected = X @ model.coef_ + model.intercept_
    assert_allclose(model.decision_function(X), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", LEARNERS)
@FEW
@given(seeds, st.floats(0.01, 100))
def test_unit_norm_makes_the_length_of_a_row_irrelevant(name, seed, factor):
    X, y = real_data(seed)
    model = make(name, fit_intercept=False).fit(X, y)
    lengths = factor * np.random.default_rng(seed).uniform(0.5, 2, (len(y), 1))
    assert_array_equal(model.predict(X * lengths), model.predict(X))


@pytest.mark.parametrize("name", LEARNERS)
@FEW
@given(seeds)
def test_the_score_is_minus_the_mean_loss_in_steps(name, seed):
    X, y = real_data(seed)
    # Labels far apart are one step apart all the same.
    model = make(name).fit(X, 10 * y)
    loss = online_oracles.rank_loss((y - 1).tolist(), (model.predict(X) // 10 - 1).tolist())
    assert model.score(X, 10 * y) == pytest.approx(-loss, rel=1e-12)
