"""Samples of queries: against NumPy's own, and against all signs there are."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from peckorder.metrics._compiled import bootstrap, random_signs
from peckorder.metrics._resampling import chances, intervals, weighted_means

RNG = np.random.default_rng(3)


def test_every_item_is_drawn_as_often_as_any_other():
    n = 50
    values, sums = np.eye(n), np.empty((n, 2000))
    values.flags.writeable = False
    bootstrap(0, 2000, np.uint64(1), values, np.empty(n, np.uint16), sums)
    assert (sums.sum(axis=0) == n).all()
    assert stats.chisquare(sums.sum(axis=1)).pvalue > 0.001
    # A count is binomial, with n draws of probability 1/n.
    assert sums.var() == pytest.approx(1 - 1 / n, rel=0.05)


def test_samples_do_not_depend_on_how_they_are_shared():
    values, key = RNG.random((2, 37)), np.uint64(9)
    values.flags.writeable = False
    once, parts = np.empty((2, 20)), np.empty((2, 20))
    bootstrap(0, 20, key, values, np.empty(37, np.uint16), once)
    for first, last in ((13, 20), (0, 13)):
        bootstrap(first, last, key, values, np.empty(37, np.uint16), parts)
    assert (once == parts).all()


@pytest.mark.parametrize("n", [1, 7, 8, 20])
def test_signs_are_fair_coins(n):
    values = np.exp2(np.arange(n))[np.newaxis]
    values.flags.writeable = False
    sums, table = np.zeros((1, 4096)), np.empty((1, 256))
    random_signs(0, 512, np.uint64(4), values, table, sums)
    # A sum of powers of two tells all its signs.
    bits = ((sums[0].astype(int) + 2**n - 1) // 2)[:, np.newaxis] >> np.arange(n) & 1
    assert ((2 * bits - 1) @ values[0] == sums[0]).all()
    assert_allclose(bits.mean(axis=0), 0.5, atol=0.04)
    if n > 1:
        together = np.corrcoef(bits.T) - np.eye(n)
        assert np.abs(together).max() < 0.08


def test_an_interval_is_that_of_scipy():
    values = RNG.exponential(size=(2, 25))
    ours = intervals(values, np.ones(25), 20_000, 0)
    for row, bounds in zip(values, ours, strict=True):
        theirs = stats.bootstrap(
            (row,), np.mean, method="percentile", n_resamples=20_000, rng=RNG
        ).confidence_interval
        assert_allclose(bounds, theirs, rtol=0.03)


def test_missing_values_are_left_out_of_means_and_intervals():
    values = RNG.random((2, 400))
    values[1, ::2] = np.nan
    assert_allclose(weighted_means(values, np.ones(400)), np.nanmean(values, axis=1), rtol=1e-14)
    low, high = intervals(values, np.ones(400), 5000, 0)[1]
    spread = np.nanstd(values[1]) / np.sqrt(200)
    assert high - low == pytest.approx(2 * 1.96 * spread, rel=0.1)


def test_a_chance_is_that_of_all_signs():
    gaps = np.array([0.3, -0.1, 0.2, 0.4, -0.2, 0.1, 0.05])
    all_signs = np.array(list(product([1, -1], repeat=7))) @ gaps
    exact = (np.abs(all_signs) >= abs(gaps.sum()) - 1e-9).mean()
    assert chances(gaps[np.newaxis], np.ones(7), 50_000, 0)[0] == pytest.approx(exact, abs=0.01)


def test_the_number_of_samples_need_not_be_a_multiple():
    gaps = np.full((1, 40), 0.5)
    assert chances(gaps, np.ones(40), 13, 0)[0] == 1 / 14


def test_nothing_to_compare_has_no_chance():
    assert np.isnan(chances(np.full((1, 3), np.nan), np.ones(3), 10, 0)).all()


def test_metrics_with_other_gaps_have_other_means():
    values = RNG.random((3, 60))
    values[0, :50], values[2, 10:] = np.nan, np.nan
    bounds = intervals(values, np.ones(60), 4000, 0)
    means = np.nanmean(values, axis=1)
    assert (bounds[:, 0] < means).all()
    assert (means < bounds[:, 1]).all()
    spread = np.nanstd(values, axis=1) / np.sqrt((~np.isnan(values)).sum(axis=1))
    assert_allclose(np.diff(bounds, axis=1)[:, 0], 3.92 * spread, rtol=0.15)


def test_samples_without_a_value_are_left_out():
    values = np.full((1, 200), np.nan)
    values[0, :2] = 0.5
    for seed in range(5):
        bounds = intervals(values, np.ones(200), 1, seed)[0]
        assert np.isnan(bounds).all() or (bounds == 0.5).all()


def test_rounding_does_not_make_a_gap_larger():
    gaps = np.array([[0.1, 0.2, 0.3, -0.6 + 1e-16]])
    assert chances(gaps, np.ones(4), 500, 0)[0] == 1.0
