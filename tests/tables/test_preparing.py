"""Columns are scaled to mean 0 and deviation 1, however large and far off they are."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from peckorder.tables.scaling import Scaling

VALUES = np.random.default_rng(0).normal(size=(200, 1))


@pytest.mark.parametrize("size", [1e-310, 1e-300, 1e-12, 1.0, 1e12, 1e298])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e9])
def test_scale_and_offset_leave_no_trace(size, offset):
    X = size * (offset + VALUES)
    scaled = Scaling.learn(X).apply(X)
    # A value of that offset is known to so many digits, a subnormal one to fewer.
    known = (1e-15 if size > 1e-305 else 1e-12) * (1.0 + offset)
    expected = (VALUES - VALUES.mean()) / VALUES.std()
    assert_allclose(scaled, expected, atol=10 * known, rtol=0)


def test_an_offset_of_a_million_billions_is_taken_away():
    X = 1e15 + np.round(100 * VALUES)
    scaled = Scaling.learn(X).apply(X)
    whole = np.round(100 * VALUES)
    assert_allclose(scaled, (whole - whole.mean()) / whole.std(), atol=0.01)


def test_columns_that_are_constant_up_to_rounding_or_empty_keep_their_scale():
    X = np.array([[0.1, np.nan, 0.3], [0.1, np.nan, 0.1 + 0.2], [np.nan, np.nan, 0.3]])
    mean, scale = Scaling.learn(X)
    assert_array_equal(scale, 1.0)
    assert_allclose(mean, [0.1, 0.0, 0.3])
    assert_array_equal(Scaling.learn(X[:0]), [np.zeros(3), np.ones(3)])


def test_gaps_are_not_counted():
    with_gaps = np.full((400, 1), np.nan)
    with_gaps[::2] = VALUES
    assert_allclose(Scaling.learn(with_gaps), Scaling.learn(VALUES), rtol=1e-13)
