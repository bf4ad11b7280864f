"""Passes over many rows that several threads share."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from peckorder import AggregatePRank, MPRank, RankBoost
from peckorder._core import threads
from peckorder._core.threads import MIN_ITEMS_PER_THREAD
from peckorder.magnitude.mprank_solver import rows


@pytest.fixture
def _shared(monkeypatch):
    """Have a thread for every few entries, on any machine."""
    monkeypatch.setitem(MIN_ITEMS_PER_THREAD, "values", 8)
    monkeypatch.setattr(threads, "cpu_count", lambda: 3)


def problem(n_rows, dtype=np.float32):
    rng = np.random.default_rng(0)
    X = (2.0 + rng.standard_normal((n_rows, 3))).astype(dtype)
    return X, X @ [1.0, -2.0, 0.5] + rng.standard_normal(n_rows)


def test_a_limit_holds_where_work_is_begun(monkeypatch):
    monkeypatch.setattr(threads, "cpu_count", lambda: 3)
    alone, several = RankBoost(n_jobs=-1), RankBoost(n_jobs=8)
    assert (threads.n_cores(), several._n_threads()) == (3, 8)
    with threads.at_most(2):
        assert (threads.n_cores(), threads.allowed(1)) == (2, 1)
        assert (alone._n_threads(), several._n_threads()) == (2, 2)
        assert AggregatePRank(n_jobs=8)._n_threads() == 2
    assert (alone._n_threads(), several._n_threads()) == (3, 8)


@pytest.mark.usefixtures("_shared")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_change_nothing_but_rounding(dtype, monkeypatch):
    X, y = problem(3_001, dtype)
    shared = MPRank(C=10.0).fit(X, y)
    monkeypatch.setitem(MIN_ITEMS_PER_THREAD, "values", 1 << 40)
    alone = MPRank(C=10.0).fit(X, y)
    assert_allclose(shared.coef_, alone.coef_, rtol=1e-10)
    assert_allclose(shared.dual_gap_, alone.dual_gap_, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("jump", [0.0, 1.0, 1e4])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_mean_of_many_rows_is_found_beside_their_products(dtype, jump, weighted, monkeypatch):
    X, y = problem(5_000, dtype)
    X[:700] += dtype(jump)  # the first rows are not like the others
    weight = np.linspace(0.5, 2.0, len(y)) if weighted else None
    plain = MPRank(C=10.0).fit(X, y, sample_weight=weight)
    monkeypatch.setattr(rows, "_MANY", 1)
    monkeypatch.setattr(rows, "_ENTRIES", 1 << 10)
    saved = MPRank(C=10.0).fit(X, y, sample_weight=weight)
    # Single precision is refined to 1e-7.
    accuracy = 1e-10 if dtype == np.float64 else 1e-6
    assert_allclose(saved.coef_, plain.coef_, rtol=accuracy)
    assert_allclose(saved.intercept_, plain.intercept_, rtol=accuracy, atol=accuracy)


@pytest.mark.usefixtures("_shared")
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, 500, 1_000])
def test_what_is_not_finite_is_found_in_every_part(value, row):
    X, y = problem(1_001)
    X[row, 1] = value
    with pytest.raises(ValueError, match="Input X contains"):
        MPRank().fit(X, y)


@pytest.mark.usefixtures("_shared")
def test_a_sum_that_overflows_is_not_taken_for_an_infinity():
    X = np.full((10, 2), 1e308)
    assert MPRank().fit(X, np.arange(10.0)).coef_.tolist() == [0.0, 0.0]


@pytest.mark.usefixtures("_shared")
def test_rows_changed_in_any_part_are_noticed():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((1_000, 200)), rng.standard_normal(1_000)
    model = MPRank(C=10.0).fit(X, y)
    model.leave_pair_out_error()
    X[700, 2] += 1.0
    with pytest.raises(ValueError, match="changed"):
        model.leave_pair_out_error()


@pytest.mark.parametrize("solver", ["auto", "cholesky", "eigh", "cg", "coordinate"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0), (3, 20), (24, 24)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_given_kernels_that_are_not_finite_are_refused(solver, value, place, dtype):
    K = np.eye(25, dtype=dtype)
    K[place] = K[place[::-1]] = value
    with pytest.raises(ValueError, match="Input X contains"):
        MPRank(kernel="precomputed", solver=solver).fit(K, np.arange(25.0))


def test_given_kernels_of_rows_without_weight_are_checked():
    K = np.eye(5)
    K[0, 0] = np.nan
    weight = np.array([0.0, 1.0, 1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="Input X contains NaN"):
        MPRank(kernel="precomputed").fit(K, np.arange(5.0), sample_weight=weight)
