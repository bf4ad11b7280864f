"""Moments that are learnt apart and joined: those of all rows."""

from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from peckorder.exceptions import DataError
from peckorder.magnitude.mprank_solver.moments import RunningMoments


def batch(rng, n_rows, spread):
    """Rows far from zero, in queries, with weights of any size."""
    X = rng.normal(size=(n_rows, 3)) * [1.0, 20.0, 0.1] + [100.0, 5.0, 0.0]
    label = X @ [1.0, 0.1, 3.0] + rng.normal(size=n_rows)
    query = np.unique(rng.integers(0, 4, size=n_rows), return_inverse=True)[1]
    return X, label, query, rng.uniform(0.1, 1.0, size=n_rows) * 10.0**spread


@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=6),
    has_queries=st.booleans(),
    power=st.integers(0, 8),
)
def test_joined_moments_are_those_of_a_stream(seed, sizes, has_queries, power):
    rng = np.random.default_rng(seed)
    none = RunningMoments.empty(3, has_queries=has_queries)
    stream, parts = none, [none]
    for k, size in enumerate(sizes):
        X, label, query, weight = batch(rng, size, power * (-1) ** k)
        query = query if has_queries else np.zeros(size, dtype=np.int64)
        stream = stream.add(X, label, query, weight)
        parts.append(none.add(X, label, query, weight))
    cut = rng.integers(0, len(parts) + 1)
    some = [reduce(RunningMoments.merge, p, none) for p in (parts[:cut], parts[cut:])]
    joined = some[0].merge(some[1])
    products = joined.factor.T @ joined.factor
    expected = stream.factor.T @ stream.factor
    scale = np.sqrt(np.outer(expected.diagonal(), expected.diagonal()))
    assert_allclose(products, expected, rtol=1e-9, atol=1e-9 * scale.max())
    assert joined.unit == stream.unit
    assert joined.mass == pytest.approx(stream.mass, rel=1e-12)
    assert joined.squared_masses == pytest.approx(stream.squared_masses, rel=1e-12)
    assert_allclose(joined.origin + joined.mean, stream.origin + stream.mean, rtol=1e-12)


def test_moments_too_large_to_be_joined():
    none = RunningMoments.empty(1, has_queries=False)
    query = np.zeros(2, dtype=np.int64)
    low = none.add(np.array([[-9e69], [-8e69]]), np.zeros(2), query, None)
    high = none.add(np.array([[8e69], [9e69]]), np.zeros(2), query, None)
    with pytest.raises(DataError, match="small enough for their squares"):
        low.merge(high)
