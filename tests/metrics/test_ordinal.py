import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from peckorder import metrics
from peckorder.exceptions import DataError
from peckorder.metrics import rank_loss, time_averaged_rank_loss
from support import online_oracles
from support.helpers import exactly

ranks = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1)
BOTH = [rank_loss, time_averaged_rank_loss]
either = pytest.mark.parametrize("metric", BOTH, ids=lambda metric: metric.__name__)


@given(ranks)
def test_the_loss_is_the_mean_distance(pairs):
    true, guessed = zip(*pairs, strict=True)
    expected = online_oracles.rank_loss(true, guessed)
    assert rank_loss(true, guessed) == pytest.approx(expected, rel=1e-12)


@given(ranks)
def test_the_loss_at_a_time_is_that_of_the_rows_so_far(pairs):
    true, guessed = zip(*pairs, strict=True)
    expected = [online_oracles.rank_loss(true[:t], guessed[:t]) for t in range(1, len(true) + 1)]
    assert_allclose(time_averaged_rank_loss(true, guessed), expected, rtol=1e-12)


@given(ranks)
def test_the_loss_is_symmetric(pairs):
    true, guessed = zip(*pairs, strict=True)
    assert rank_loss(true, guessed) == rank_loss(guessed, true)


def test_predictions_may_lie_between_classes():
    # |1.5 - 1| and |2.75 - 3|, halved.
    assert rank_loss([1, 3], [1.5, 2.75]) == 0.375


def test_numbers_are_subtracted_as_they_are():
    assert rank_loss([10, 20], [20, 20]) == 5.0


def test_with_classes_a_loss_is_counted_in_steps():
    assert rank_loss([10, 20], [40, 20], classes=[10, 20, 40]) == 1.0


def test_unsigned_numbers_do_not_wrap():
    one, two = np.array([1], dtype=np.uint8), np.array([2], dtype=np.uint8)
    assert rank_loss(two, one) == rank_loss(one, two) == 1.0


def test_booleans_are_one_step_apart():
    assert rank_loss([True, False], [False, False]) == 0.5


def test_words_are_counted_along_classes():
    steps = time_averaged_rank_loss(["lo", "hi"], ["hi", "hi"], classes=["lo", "mid", "hi"])
    assert_array_equal(steps, [2.0, 1.0])


@either
def test_other_numbers_of_labels_are_refused(metric):
    sentence = f"{metric.__name__}: y_pred must be as long as y_true; got 1 labels for 2."
    with pytest.raises(ValueError, match=exactly(sentence)):
        metric([1, 2], [1])


@either
def test_no_labels_are_refused(metric):
    sentence = f"{metric.__name__}: y_true must be at least one label; got none."
    with pytest.raises(DataError, match=exactly(sentence)):
        metric([], [])


@either
def test_words_without_classes_are_refused(metric):
    sentence = (
        f"{metric.__name__}: y_pred must be numbers unless classes= names all labels, "
        "lowest first; got 'a' in row 0."
    )
    with pytest.raises(DataError, match=exactly(sentence)):
        metric([1, 2], ["a", "b"])


@either
def test_true_words_without_classes_are_refused(metric):
    sentence = (
        f"{metric.__name__}: y_true must be numbers unless classes= names all labels, "
        "lowest first; got 'a' in row 0."
    )
    with pytest.raises(DataError, match=exactly(sentence)):
        metric(["a", "b"], [1, 2])


@either
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_predictions_that_are_not_finite_are_refused(metric, value):
    sentence = f"{metric.__name__}: y_pred must be finite; got {value} in row 1."
    with pytest.raises(DataError, match=exactly(sentence)):
        metric([1, 2], [1, value])


@either
def test_labels_outside_the_classes_are_refused(metric):
    sentence = (
        f"{metric.__name__}: y_pred must be one of the classes [1, 2]; got 3 in row 1. "
        "Name every class in classes=, lowest first."
    )
    with pytest.raises(DataError, match=exactly(sentence)):
        metric([1, 2], [1, 3], classes=[1, 2])


@either
def test_true_labels_outside_the_classes_are_refused(metric):
    sentence = (
        f"{metric.__name__}: y_true must be one of the classes [1, 2]; got 3 in row 0. "
        "Name every class in classes=, lowest first."
    )
    with pytest.raises(DataError, match=exactly(sentence)):
        metric([3, 2], [1, 2], classes=[1, 2])


@pytest.mark.parametrize("name", ["rank_loss", "macro_mae", "quadratic_weighted_kappa"])
@pytest.mark.parametrize("kind", [np.int64, object])
def test_classes_that_float64_cannot_tell_apart_are_refused(name, kind):
    classes = np.array([2**60, 2**60 + 1], dtype=kind)
    with pytest.raises(DataError, match=r"y_pred must be below 2\*\*53, exact as float64; got 1"):
        getattr(metrics, name)([1, 2], classes)
    with pytest.raises(DataError, match=r"y_true must be below 2\*\*53, exact as float64; got 1"):
        getattr(metrics, name)(classes, [1, 2])
    assert getattr(metrics, name)(classes, classes[::-1], classes=classes) != 0.0


@pytest.mark.parametrize("name", ["rank_loss", "macro_mae"])
def test_errors_whose_mean_is_not_finite_are_refused(name):
    with pytest.raises(DataError, match="y_pred must be within 1e"):
        getattr(metrics, name)([1.0, -1e308], [1.0, 1e308])
