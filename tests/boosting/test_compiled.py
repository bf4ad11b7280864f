"""Compiled functions of RankBoost's rounds against the obvious."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal

from peckorder._core.compiled.bins import N_BINS, fill_bins
from peckorder._core.compiled.jit import compiled
from peckorder.boosting.compiled import binned_columns, graded_pairs, pairs, rounds, search_by_r
from peckorder.boosting.compiled.binned_columns import TOGETHER
from peckorder.boosting.compiled.graded_pairs import exp_moderate

pytestmark = pytest.mark.jit_off


@compiled
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
    search_by_r.order_by_ceilings(n_ahead, features, ceilings, order)
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
    padded = np.full(N_BINS, -np.inf)
    padded[: len(tops)] = tops
    bins = np.empty(len(column), dtype=np.uint8)
    cells = np.empty(n_cells, dtype=np.int16)
    fill_bins(column, padded, len(tops), low, cells, bins)
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
    moved = pairs.drift(after, before)
    assert abs(int(after[some].sum()) - int(before[some].sum())) <= moved
    assert moved == np.maximum(after - before, 0).sum()


@compiled
def sum_column(bins, potentials, sums):
    """Call the inlined function of that name."""
    binned_columns.sum_column(bins, potentials, sums)


@given(arrays(np.uint8, st.integers(1, 30)), st.integers(0, 2**31))
def test_one_column_is_summed_as_by_numpy(bins, seed):
    potentials = np.random.default_rng(seed).integers(-(2**40), 2**40, len(bins))
    sums = np.full((TOGETHER, N_BINS), 7)
    sum_column(bins, potentials, sums)
    expected = np.zeros(N_BINS, dtype=np.int64)
    np.add.at(expected, bins, potentials)
    assert_array_equal(sums[0], expected)


@given(
    arrays(np.uint8, st.integers(1, 30)),
    st.integers(0, 255),
    st.sampled_from([0.0, 1.0]),
    st.floats(-3.0, 3.0),
    st.integers(0, 2**31),
)
def test_a_ranking_by_bins_is_added_as_if_written_first(bins, cut, default, a, seed):
    scores = np.random.default_rng(seed).standard_normal(len(bins))
    ranking, expected = np.empty(len(bins)), scores.copy()
    binned_columns.rank_binned(bins, cut, default, ranking)
    largest = rounds.add_ranking(a, ranking, expected)
    assert binned_columns.add_binned(a, bins, cut, default, scores) == largest
    assert_array_equal(scores, expected)
    assert largest == np.abs(scores).max()


@compiled
def copy_scores(rows, scores, up, ends):
    """Call the inlined function of that name, for all places."""
    n = np.uintp(scores.shape[0])
    ends[0], ends[1] = graded_pairs.copy_scores(np.uintp(0), n, rows, scores, up)


@given(
    arrays(np.float64, st.integers(1, 20), elements=st.floats(-1e300, 1e300)),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_copied_scores_come_with_their_least_and_largest(scores, moved, random):
    rows = np.arange(len(scores))
    random.shuffle(rows)
    up, ends = np.empty(len(scores)), np.empty(2)
    copy_scores(rows if moved else rows[:0], scores, up, ends)
    assert_array_equal(up, scores[rows] if moved else scores)
    assert ends.tolist() == [scores.min(), scores.max()]
