"""Rounds for ordered classes: losses, their derivatives, thresholds, trees."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from peckorder._core.threads import Team
from peckorder.boosting import ordinal_rounds
from peckorder.boosting.compiled import ordinal_loss
from peckorder.boosting.ordinal_rounds import OrdinalBooster, OrdinalOptions, newton_step
from peckorder.trees.columns import bin_columns
from peckorder.trees.growing import TreeOptions
from support import slow_ordinal as slow

pytestmark = pytest.mark.jit_off
EXACT = TreeOptions(4, None, 1, 0.3)


def problem(seed, n, n_classes):
    """Rows with ties, levels each of which occurs, weights."""
    rng = np.random.default_rng(seed)
    level = rng.permutation(np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n)]))
    X = rng.integers(0, 5, (len(level), 2)) + 0.7 * level[:, np.newaxis] * rng.random(2)
    # No two splits gain the same, or rounding would choose.
    return X, level, rng.uniform(0.5, 2.0, len(level))


def sums_of(scores, thresholds, level, weight):
    sums = np.empty((len(thresholds), 2))
    ordinal_loss.sum_by_threshold(
        scores[:, np.newaxis], thresholds, level, weight, 0, len(level), sums
    )
    return sums


@given(
    score=st.floats(-30, 30),
    gaps=st.lists(st.floats(0.05, 5.0), min_size=1, max_size=4),
    data=st.data(),
)
def test_slope_and_curvature_are_the_derivatives(score, gaps, data):
    thresholds = np.cumsum(gaps) - 3.0
    level = data.draw(st.integers(0, len(gaps)))
    slopes, curvatures = np.empty((2, 1, 1))
    ends = np.concatenate([[-np.inf], thresholds, [np.inf]])
    ordinal_loss.proportional_terms(
        np.array([[score]]), ends, np.array([level]), np.array([2.0]), np.inf, 0, 1,
        slopes, curvatures,
    )  # fmt: skip

    def slope(at):
        out, other = np.empty((2, 1, 1))
        ordinal_loss.proportional_terms(
            np.array([[at]]), ends, np.array([level]), np.ones(1), np.inf, 0, 1, out, other
        )
        return out[0, 0]

    numerical = slow.derivative(lambda f: slow.proportional_loss(f, thresholds, level), score)
    assert_allclose(slopes[0, 0], -2.0 * numerical, rtol=1e-4, atol=1e-6)
    assert_allclose(curvatures[0, 0], -2.0 * slow.derivative(slope, score), rtol=1e-5, atol=1e-8)


@given(seed=st.integers(0, 10**6), n_classes=st.integers(2, 5))
def test_free_terms_are_the_derivatives(seed, n_classes):
    rng = np.random.default_rng(seed)
    m = n_classes - 1
    scores, thresholds = rng.normal(0, 2, (1, m)), np.sort(rng.normal(0, 1, m))
    level = rng.integers(0, n_classes, 1)
    slopes, curvatures = np.empty((2, 1, m))
    ordinal_loss.free_terms(
        scores, thresholds, level, np.array([3.0]), np.inf, 0, 1, slopes, curvatures
    )
    for k in range(m):
        loss = lambda f, k=k: slow.free_loss(f, thresholds[k], level[0] > k)  # noqa: E731
        assert_allclose(slopes[0, k], -3.0 * slow.derivative(loss, scores[0, k]), atol=1e-6)
        second = slow.derivative(lambda f, loss=loss: slow.derivative(loss, f, 1e-3), scores[0, k])
        assert_allclose(curvatures[0, k], 3.0 * second, atol=1e-3)


@given(seed=st.integers(0, 10**6), n_classes=st.integers(2, 5), spread=st.floats(0.0, 4.0))
@settings(max_examples=15)
def test_steps_of_thresholds_lower_the_loss_to_the_least_there_is(seed, n_classes, spread):
    _, level, weight = problem(seed, 12, n_classes)
    rng = np.random.default_rng(seed)
    scores = spread * rng.normal(size=len(level)) + level
    counts = np.bincount(level, weight)
    thresholds = np.sort(rng.normal(0, 3, n_classes - 1)) + 1e-3 * np.arange(n_classes - 1)
    loss = slow.total_loss(scores, thresholds, level, weight)
    for _ in range(200):
        gaps = np.diff(thresholds)
        thresholds = newton_step(thresholds, *sums_of(scores, thresholds, level, weight).T, counts)
        assert (np.diff(thresholds) >= 0.499 * gaps).all()
        last, loss = loss, slow.total_loss(scores, thresholds, level, weight)
        assert loss <= last + 1e-9 * abs(last)
    best = slow.best_thresholds(scores, level, weight, n_classes)
    assert loss <= slow.total_loss(scores, best, level, weight) + 1e-6


def test_thresholds_stay_apart_where_a_class_is_all_but_empty():
    scores, level = np.array([-50.0, 50.0, 50.0]), np.array([0, 2, 1])
    weight = np.array([1.0, 1.0, 1e-12])
    thresholds = np.array([-1e-9, 1e-9])
    for _ in range(500):
        thresholds = newton_step(
            thresholds, *sums_of(scores, thresholds, level, weight).T, np.bincount(level, weight)
        )
        assert np.isfinite(thresholds).all()
        assert thresholds[0] < thresholds[1]


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 14),
    n_classes=st.integers(2, 4),
    free=st.booleans(),
)
@settings(max_examples=20)
def test_rounds_are_the_obvious_ones(seed, n, n_classes, free):
    X, level, weight = problem(seed, n, n_classes)
    with Team(1) as team:
        columns = bin_columns(X, team)
        options = OrdinalOptions(3, 0.3, 1.0, 0, EXACT)
        booster = OrdinalBooster(columns, level, weight, options, team, free=free)
        start = booster.thresholds[0]
        counts = np.bincount(level, weight)
        assert_allclose(
            1.0 / (1.0 + np.exp(start)), np.cumsum(counts[::-1])[::-1][1:] / counts.sum()
        )
        obvious = slow.SlowBoost(
            X, level, weight, EXACT, start, free=free, longest=ordinal_rounds._LONGEST_STEP
        )
        for _ in range(3):
            booster.add_round()
            obvious.add_round(0.3)
            assert_allclose(booster.scores, obvious.scores, rtol=1e-6, atol=1e-6)
            obvious.thresholds = booster.thresholds[-1]
    log_odds = booster.scores - booster.thresholds[-1]
    assert (np.diff(log_odds, axis=1) < 0.0).all()
    every = np.arange(len(level))
    p = 1.0 / (1.0 + np.exp(-log_odds))
    ranked = ((p - (level[:, None] > np.arange(n_classes - 1))) ** 2).sum(axis=1)
    steps = np.abs((p > 0.5).sum(axis=1) - level)
    assert_allclose(booster.loss_of(every, weight), weight @ (ranked + steps))


@pytest.mark.parametrize("light", [1e-12, 1e-40, 5e-324])
def test_a_class_may_weigh_next_to_nothing(light):
    X, level, _ = problem(0, 60, 4)
    for scarce in range(4):
        weight = np.where(level == scarce, light, 1.0)
        with Team(1) as team:
            columns = bin_columns(X, team)
            booster = OrdinalBooster(
                columns, level, weight, OrdinalOptions(30, 0.3, 1.0, 0, EXACT), team, free=False
            )
            booster.boost()
        assert np.isfinite(booster.thresholds).all()
        assert (np.diff(booster.thresholds, axis=1) > 0.0).all()


def test_steps_are_found_where_thresholds_all_but_meet():
    thresholds, counts = 1e-9 * np.arange(4), np.array([1.0, 1e3, 1e3, 1e3, 1.0])
    found = newton_step(thresholds, np.ones(4), np.zeros(4), counts)
    assert np.isfinite(found).all()
    assert (np.diff(found) > 0.0).all()
    assert found[-1] - found[0] > thresholds[-1]


@pytest.mark.parametrize("scale", [0.4, 1.0, 3.0])
def test_log_odds_are_scaled_to_be_right(scale):
    rng = np.random.default_rng(0)
    true = rng.normal(0, 2, (20_000, 1)) - np.array([-1.0, 1.0])
    level = (1.0 / (1.0 + np.exp(-true)) > rng.random((20_000, 1))).sum(axis=1)
    is_above, weight = level[:, np.newaxis] > np.arange(2), np.ones(20_000)
    factor = ordinal_rounds.calibrating_factor(scale * true, is_above, weight)
    assert factor == pytest.approx(1.0 / scale, rel=0.05)
    # Where any larger factor is better the largest is taken.
    assert ordinal_rounds.calibrating_factor(true, true > 0.0, weight) == pytest.approx(4.0)


@pytest.mark.parametrize("free", [False, True])
def test_neither_threads_nor_blocks_matter(free, monkeypatch):
    X, level, weight = problem(0, 300, 4)
    monkeypatch.setattr(ordinal_rounds, "_BLOCK", 64)
    results = []
    for n_threads in (1, 3):
        with Team(n_threads) as team:
            options = OrdinalOptions(4, 0.3, 0.7, 5, EXACT)
            columns = bin_columns(X, team)
            booster = OrdinalBooster(columns, level, weight, options, team, free=free)
            booster._n_threads = n_threads
            booster.boost()
            results.append((booster.scores, np.array(booster.thresholds)))
    for one, other in zip(*results, strict=True):
        assert_array_equal(one, other)


def test_no_leaf_is_further_than_the_longest_step():
    # Each class far on the wrong side, where the curvature is next to nothing.
    scores, level = np.array([[60.0], [-60.0]]), np.array([0, 1])
    slopes, curvatures = np.empty((2, 2, 1))
    ends = np.array([-np.inf, 0.0, np.inf])
    ordinal_loss.proportional_terms(scores, ends, level, np.ones(2), 8.0, 0, 2, slopes, curvatures)
    assert_allclose(slopes / curvatures, [[-8.0], [8.0]])
    ordinal_loss.free_terms(scores, ends[1:2], level, np.ones(2), 8.0, 0, 2, slopes, curvatures)
    assert_allclose(slopes / curvatures, [[-8.0], [8.0]])
