"""Kernels of RankBoost's rounds against the obvious."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal

from peckorder.kernels import binning, rounds, thresholds
from peckorder.kernels._jit import kernel
from peckorder.kernels.exponential import exp_moderate

pytestmark = pytest.mark.jit_off


@kernel
def exponential(x, result):
    """Write the exponentials of x."""
    for i in range(x.shape[0]):
        result[i] = exp_moderate(x[i])


@given(st.lists(st.floats(-700.0, 700.0), min_size=1, max_size=20))
def test_the_exponential_is_right_to_a_unit_in_the_last_place(values):
    x, result = np.array(values), np.empty(len(values))
    exponential(x, result)
    for value, found in zip(values, result.tolist(), strict=True):
        expected = math.exp(value)
        assert abs(found - expected) <= math.ulp(expected)


def test_the_exponential_of_zero_is_one():
    result = np.empty(2)
    exponential(np.array([0.0, -0.0]), result)
    assert_array_equal(result, 1.0)


@given(
    st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0, math.inf]), min_size=0, max_size=12),
    st.integers(1, 6),
)
def test_the_highest_ceilings_come_first_and_the_rest_as_they_are(heights, n_ahead):
    ceilings = np.array(heights, dtype=float)
    features = np.arange(len(heights))[::-1].copy()
    order = np.full(len(heights), -1)
    thresholds.put_ahead(n_ahead, features, ceilings, order)
    column_heights = ceilings[features].tolist()
    expected = sorted(range(len(heights)), key=lambda c: (-column_heights[c], c))
    ahead = expected[:n_ahead]
    rest = [c for c in range(len(heights)) if c not in ahead]
    assert order.tolist() == ahead + rest


@st.composite
def columns_and_tops(draw):
    """Return a column of values, some of them NaN, and up to 255 of its values."""
    size = draw(st.integers(1, 60))
    scale = draw(st.sampled_from([1.0, 1e-310, 1e300, 5e307]))
    value = st.one_of(st.integers(-3, 3).map(float), st.floats(-1.0, 1.0))
    column = np.array(draw(st.lists(value, min_size=size, max_size=size))) * scale
    chosen = draw(arrays(bool, size))
    chosen[column.argmax()] = True
    tops = np.unique(column[chosen])[::-1]
    low = column.min()
    column[draw(arrays(bool, size))] = np.nan
    return column, tops, low


@given(columns_and_tops(), st.sampled_from([2, 16, 2048]))
def test_a_bin_is_the_last_group_whose_top_is_not_below(case, n_cells):
    column, tops, low = case
    padded = np.full(thresholds.N_BINS, -np.inf)
    padded[: len(tops)] = tops
    bins = np.empty(len(column), dtype=np.uint8)
    cells = np.empty(n_cells, dtype=np.int16)
    binning.fill_bins(column, padded, len(tops), low, 255, cells, bins)
    for value, found in zip(column.tolist(), bins.tolist(), strict=True):
        if math.isnan(value):
            assert found == 255
        else:
            assert found == sum(top >= value for top in tops.tolist()) - 1


@given(arrays(np.float64, st.integers(1, 9), elements=st.floats(-1e3, 1e3)))
def test_noise_grows_with_the_largest_score(scores):
    assert rounds.noise(scores) == rounds.NOTHING * (1.0 + np.abs(scores).max())


def test_noise_of_no_scores_is_that_of_zeros():
    scores = np.array([1e30, 1.0])
    assert rounds.noise(scores[1:1]) == rounds.NOTHING


@given(
    arrays(np.int64, 7, elements=st.integers(-(2**40), 2**40)),
    arrays(np.int64, 7, elements=st.integers(-(2**40), 2**40)),
    arrays(bool, 7),
)
def test_no_sum_of_potentials_changes_by_more_than_the_drift(before, after, some):
    before[-1] -= before.sum()
    after[-1] -= after.sum()
    moved = thresholds.drift(after, before)
    assert abs(int(after[some].sum()) - int(before[some].sum())) <= moved
    assert moved == np.maximum(after - before, 0).sum()
