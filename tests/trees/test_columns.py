"""Columns of bins against the obvious."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from scipy import sparse

from peckorder._core.threads import Team
from peckorder.trees import columns as module
from peckorder.trees.columns import MOST_BINS, bin_columns

pytestmark = pytest.mark.jit_off
VALUES = st.one_of(st.floats(-3, 3, width=16), st.sampled_from([np.nan, 1e300, -1e300, 0.0]))


def bins_of(columns, c):
    """The bins of a column, from the lowest byte of a tile on."""
    return (columns.tiled.tiles[:, c // 4] >> np.uint32(8 * (c % 4))) & 255


@given(arrays(np.float64, st.tuples(st.integers(1, 30), st.integers(1, 6)), elements=VALUES))
@settings(max_examples=60, deadline=None)
def test_bins_are_those_of_distinct_values(X):
    with Team(2) as team:
        columns = bin_columns(X, team)
    for c, column in enumerate(X.T):
        distinct = np.unique(column[~np.isnan(column)])[::-1]
        assert columns.tiled.n_bins[c] == len(distinct)
        for x, b in zip(column, bins_of(columns, c), strict=True):
            assert b == 255 if np.isnan(x) else distinct[b] == x
        # From a cut on, rows are in the bins above it.
        for b in range(len(distinct)):
            assert ((column >= columns.cuts[c, b]) == (column >= distinct[b])).all()


@pytest.mark.parametrize("most", [2, 10, MOST_BINS])
def test_many_values_share_bins_that_are_alike_in_size(most):
    x = np.random.default_rng(0).normal(size=5000)
    with Team(1) as team:
        columns = bin_columns(x[:, np.newaxis], team, max_bins=most)
    bins = bins_of(columns, 0)
    counts = np.bincount(bins)
    assert len(counts) == most
    assert counts.max() - counts.min() <= 1
    for b in range(most - 1):
        assert ((x >= columns.cuts[0, b]) == (bins <= b)).all()


def test_cuts_come_from_some_of_many_rows(monkeypatch):
    monkeypatch.setattr(module, "_MOST_CUTTING_ROWS", 500)
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=5001), np.full(5001, np.nan), rng.integers(0, 9, 5001)])
    X[3, 1], X[7, 0] = 2.0, 50.0
    with Team(1) as team:
        columns = bin_columns(X, team)
    for c, column in enumerate(X.T):
        bins, n_bins = bins_of(columns, c), columns.tiled.n_bins[c]
        assert (bins[np.isnan(column)] == 255).all()
        for b in range(n_bins):
            known = ~np.isnan(column)
            assert ((column >= columns.cuts[c, b]) == (bins <= b))[known].all()


@pytest.mark.parametrize("most", [10**6, 500])
def test_blocks_of_rows_and_files_have_the_bins_of_one_matrix(monkeypatch, tmp_path, most):
    monkeypatch.setattr(module, "_MOST_CUTTING_ROWS", most)
    monkeypatch.setattr(module, "_ROWS_TOGETHER", 100)
    rng = np.random.default_rng(0)
    X = np.where(rng.random((1203, 6)) < 0.1, np.nan, rng.normal(size=(1203, 6)))
    X[:, 1], X[:, 4], X[7, 2] = rng.integers(0, 9, 1203), np.nan, 30.0
    np.save(tmp_path / "X.npy", X)
    blocks = [X[:5], np.asfortranarray(X[5:700]), X[700:]]
    in_file = np.load(tmp_path / "X.npy", mmap_mode="r")
    made = []

    def allocate(shape, dtype):
        made.append(np.zeros(shape, dtype))
        return made[-1]

    with Team(3) as team:
        how = {"is_category": np.arange(6) == 1, "max_bins": 40}
        one = bin_columns(X, team, **how)
        for other in (in_file, blocks):
            columns = bin_columns(other, team, allocate=allocate, **how)
            assert np.shares_memory(columns.tiled.tiles, made[-1])
            for c in range(6):
                assert_array_equal(bins_of(columns, c), bins_of(one, c))
            assert_array_equal(columns.tiled.n_bins, one.tiled.n_bins)
            assert_array_equal(columns.cuts, one.cuts)


@pytest.mark.parametrize("most", [10**6, 300])
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sparse.csr_array])
def test_some_rows_in_any_order_are_as_if_they_were_all(monkeypatch, form, most):
    monkeypatch.setattr(module, "_MOST_CUTTING_ROWS", most)
    monkeypatch.setattr(module, "_ROWS_TOGETHER", 100)
    rng = np.random.default_rng(0)
    X, order = form(rng.normal(size=(900, 5)).round(2)), rng.permutation(900)[:777]
    with Team(2) as team:
        one, other = bin_columns(X[order], team), bin_columns(X, team, order=order)
    assert one.n_rows == other.n_rows == 777
    for c in range(5):
        assert_array_equal(bins_of(other, c), bins_of(one, c))
    assert_array_equal(other.cuts, one.cuts)
