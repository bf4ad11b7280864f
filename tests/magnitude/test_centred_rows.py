"""Passes over rows against NumPy."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from peckorder.magnitude.compiled import mprank as compiled

pytestmark = pytest.mark.jit_off

sizes = st.tuples(st.integers(1, 600), st.integers(1, 5), st.integers(1, 3))
dtypes = st.sampled_from([np.float32, np.float64])


@given(sizes, dtypes, st.integers(0, 2**31))
def test_residuals_are_those_of_centred_rows(size, dtype, seed):
    n, d, n_queries = size
    rng = np.random.default_rng(seed)
    X = (10.0 + rng.standard_normal((n, d))).astype(dtype)
    query = rng.integers(0, n_queries, n)
    means, coef = 10.0 + rng.standard_normal((n_queries, d)), rng.standard_normal(d)
    root, target = rng.random(n), rng.standard_normal(n)
    scores, total = np.empty(n), np.zeros(d)
    compiled.residual(X, query, means, root, target, coef, scores, np.zeros(d), total)
    rows = X.astype(np.float64) - means[query]
    expected = root * (rows @ coef)
    assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)
    off = root * (target - expected)
    assert_allclose(total, off @ rows, rtol=1e-9, atol=1e-9)


@given(sizes, dtypes, st.integers(0, 2**31))
def test_sums_of_rows_are_those_of_doubles(size, dtype, seed):
    n, d, _ = size
    rng = np.random.default_rng(seed)
    X, share = rng.standard_normal((n, d)).astype(dtype), rng.random(n)
    total = np.zeros(d)
    compiled.add_rows(X, share, np.zeros(d), total)
    assert_allclose(total, share @ X.astype(np.float64), rtol=1e-9, atol=1e-9)


@given(sizes, dtypes, st.integers(0, 2**31))
def test_centred_rows_are_scaled_differences_in_the_precision_of_the_output(size, dtype, seed):
    n, d, n_queries = size
    rng = np.random.default_rng(seed)
    X = (10.0 + rng.standard_normal((n, d))).astype(dtype)
    query, root = rng.integers(0, n_queries, n), rng.random(n).astype(dtype)
    means = (10.0 + rng.standard_normal((n_queries, d))).astype(dtype)
    out, sums = np.empty((n, d), dtype), np.zeros(d)
    compiled.centre(X, query, means, root, out, sums)
    assert_allclose(sums, root.astype(float) @ out.astype(float), rtol=1e-5, atol=1e-5)
    compiled.centre(X, query, means, root, out, sums[:0])
    expected = root[:, np.newaxis] * (X - means[query])
    assert_allclose(out, expected, rtol=4 * np.finfo(dtype).eps)


@given(st.integers(1, 3_000), st.lists(st.integers(0, 3_000)), st.integers(0, 2**31))
def test_fingerprints_of_parts_add_up_and_depend_on_positions(n, cuts, seed):
    bits = np.random.default_rng(seed).integers(-(2**62), 2**62, n)
    with np.errstate(over="ignore"):  # they run over on purpose
        assert_parts_add_up(bits, cuts, seed % n)


def assert_parts_add_up(bits, cuts, place):
    n, whole = len(bits), compiled.fingerprint(bits, 0)
    ends = [0, *sorted(min(cut, n) for cut in cuts), n]
    parts = [compiled.fingerprint(bits[a:b], a) for a, b in itertools.pairwise(ends)]
    assert np.sum(parts, dtype=np.int64) == whole
    changed = bits.copy()
    changed[place] += 1
    assert compiled.fingerprint(changed, 0) != whole


@given(st.integers(1, 40), dtypes, st.booleans(), st.integers(0, 2**31))
def test_a_copy_comes_with_its_largest_entry_and_asymmetry(n, dtype, equal, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, n)).astype(dtype)
    X = X + X.T if equal else X
    K, found, again = np.empty((n, n)), np.empty(2), np.empty(2)
    compiled.copy_symmetric(X, K, found)
    compiled.copy_symmetric(X, np.empty((0, 0)), again)
    np.testing.assert_array_equal(K, X)
    assert found[0] == np.abs(X).max() == again[0]
    doubles = X.astype(np.float64)
    assert found[1] == np.abs(doubles - doubles.T).max()
    assert_allclose(again[1], found[1], rtol=1e-6)
