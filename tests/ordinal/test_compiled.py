"""Compiled functions on plain arrays, and the same as plain Python."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from peckorder._core.row_transform import RowTransform
from peckorder._core.validation import as_rows
from peckorder.feedback._scale import _encode
from peckorder.ordinal.compiled import linear
from support.helpers import messy_csr

pytestmark = pytest.mark.jit_off

X = np.array([[3.0, 4.0], [0.0, 0.0], [-1.0, 2.0]])
FORMS = {"dense": np.asarray, "csr": sparse.csr_array, "messy": lambda X: messy_csr(X, 1)}


@settings(max_examples=40)
@given(
    st.lists(st.floats(-100, 100), min_size=1, max_size=9, unique=True).map(sorted),
    st.lists(st.integers(0, 8), max_size=20),
)
def test_encode_finds_every_class(classes, places):
    places = np.array([place % len(classes) for place in places], dtype=np.int64)
    classes, level = np.array(classes), np.full(len(places), -7)
    assert _encode(classes[places], classes, level) == -1
    # 0.0 and -0.0 are two classes to nobody.
    assert_array_equal(classes[level], classes[places])


@pytest.mark.parametrize("value", [0.0, 1.5, 9.0, np.nan, np.inf, -np.inf])
def test_encode_stops_at_the_first_unknown_label(value):
    level = np.empty(4, dtype=np.int64)
    values = np.array([2.0, 1.0, value, value])
    assert _encode(values, np.array([1.0, 2.0, 3.0]), level) == 2
    assert_array_equal(level[:2], [1, 0])


def test_encode_finds_nothing_among_no_classes():
    assert _encode(np.ones(1), np.empty(0), np.empty(1, dtype=np.int64)) == 0


def test_encode_accepts_no_labels():
    none = np.empty(0)
    assert _encode(none, np.ones(1), none.astype(np.int64)) == -1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("intercept", "expected"), [(False, [11.0, 0.0, 3.0]), (True, [21.0, 10.0, 13.0])]
)
def test_scores_are_products(form, intercept, expected):
    weights = np.array([1.0, 2.0, 10.0][: 2 + intercept])
    score = np.empty(3)
    linear.scores(as_rows(FORMS[form](X)), RowTransform(intercept, False), weights, score)
    assert_array_equal(score, expected)


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_scores_at_unit_norm_are_divided_by_it(form):
    score, weights = np.empty(3), np.array([1.0, 2.0])
    linear.scores(as_rows(FORMS[form](X)), RowTransform(False, True), weights, score)
    assert_allclose(score, [11 / 5, 0, 3 / np.sqrt(5)], rtol=1e-15)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="NumPy warns of what Numba does in silence")
def test_scores_of_a_norm_that_overflows_are_not_finite():
    score = np.empty(1)
    rows = as_rows(np.array([[1e200, 1.0]]))
    linear.scores(rows, RowTransform(False, True), np.zeros(2), score)
    assert np.isnan(score[0])


def test_scores_of_single_precision_are_double():
    rows = as_rows(np.array([[1.0, 2.0**-40]], dtype=np.float32))
    score = np.empty(1)
    linear.scores(rows, RowTransform(False, False), np.ones(2), score)
    assert score[0] == 1 + 2.0**-40


def test_functions_are_compiled_unless_disabled():
    plain = numba.config.DISABLE_JIT
    assert hasattr(linear.prank, "py_func") is not bool(plain)


@pytest.mark.parametrize("width", [1, 7, 8, 9, 64, 511, 512, 513])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_rows_of_any_width_are_read_to_their_end(width, kind):
    rows = np.arange(3 * width, dtype=kind).reshape(3, width)
    score = np.empty(3)
    linear.scores(as_rows(rows), RowTransform(False, False), np.ones(width), score)
    assert_array_equal(score, rows.astype(float).sum(axis=1))
