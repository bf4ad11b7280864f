"""Errors of predicted numbers and classes equal their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import cohen_kappa_score

from peckorder import metrics
from peckorder.exceptions import DataError
from support import metrics_of_rows
from support.helpers import exactly

OF_NUMBERS = ["rmse", "mae"]
OF_CLASSES = ["quadratic_weighted_kappa", "macro_mae"]
EVERY = [*OF_NUMBERS, *OF_CLASSES]
every_metric = pytest.mark.parametrize("name", EVERY)
every_metric_of_numbers = pytest.mark.parametrize("name", OF_NUMBERS)
every_metric_of_classes = pytest.mark.parametrize("name", OF_CLASSES)

grades = st.integers(-2, 3)
weights = st.one_of(st.sampled_from([0.0, 1.0, 2.0]), st.floats(0.1, 10.0))
queries = st.integers(0, 3)
table = st.one_of(
    st.lists(st.tuples(label, label, weights, queries), min_size=1, max_size=30)
    for label in (grades, st.floats(-10, 10))
).map(lambda rows: [list(column) for column in zip(*rows, strict=True)])


def close(got, wanted):
    assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)


def is_clear(truth, guess, weight):
    """Whether labels are equal or clearly different, so that rounding decides nothing."""
    labels = np.array([*truth, *guess])[np.tile(weight, 2) > 0]
    return not labels.size or np.ptp(labels) == 0 or np.ptp(labels) > 1e-6


@every_metric
@given(table)
def test_every_query_has_its_value_by_definition(name, columns):
    columns = truth, guess, weight, qid = [np.array(column) for column in columns]
    got = getattr(metrics, name)(truth, guess, qid=qid, sample_weight=weight, per_query=True)
    for query, value in zip(dict.fromkeys(qid.tolist()), got, strict=True):
        rows = [column[qid == query].tolist() for column in columns[:3]]
        if is_clear(*rows):
            close(value, getattr(metrics_of_rows, name)(*rows))


@every_metric
@given(table)
def test_without_queries_and_weights_all_rows_count_once(name, columns):
    truth, guess, _, _ = columns
    ones = [1.0] * len(truth)
    if is_clear(truth, guess, ones):
        got = getattr(metrics, name)(truth, guess, per_query=True)
        close(got, [getattr(metrics_of_rows, name)(truth, guess, ones)])


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), weights), min_size=1))
def test_kappa_is_that_of_scikit_learn(rows):
    truth, guess, weight = zip(*rows, strict=True)
    counts = np.array(weight) > 0
    if len({*np.array(truth)[counts], *np.array(guess)[counts]}) < 2:
        return  # undefined
    wanted = cohen_kappa_score(
        truth, guess, labels=range(5), weights="quadratic", sample_weight=weight
    )
    got = metrics.quadratic_weighted_kappa(
        truth, guess, classes=list(range(5)), sample_weight=weight
    )
    close(got, wanted)


@every_metric_of_classes
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1))
def test_classes_are_counted_in_steps(name, rows):
    truth, guess = (np.array(column) for column in zip(*rows, strict=True))
    words = np.array(["poor", "fair", "good", "best"])
    metric = getattr(metrics, name)
    got = metric(words[truth], words[guess], classes=words, undefined="zero")
    close(got, metric(truth, guess, undefined="zero"))


def test_the_root_of_differences_is_of_each_query():
    y, score, qid = [1, 2, 3, 1, 2], [0, 2, 3, 2, 1], [0, 0, 0, 1, 1]
    squared = metrics.mean_squared_difference(y, score, qid=qid, per_query=True)
    root = metrics.root_mean_squared_difference(y, score, qid=qid)
    assert root == pytest.approx(np.sqrt(squared).mean(), rel=1e-14)


def test_numbers_may_be_off_by_a_constant_that_differences_do_not_see():
    y, score = [1.0, 2.0, 4.0], [3.0, 4.0, 6.0]
    assert metrics.root_mean_squared_difference(y, score) == 0.0
    assert (metrics.rmse(y, score), metrics.mae(y, score)) == (2.0, 2.0)


def test_large_classes_do_not_overflow():
    y, guess = [-1.7e308, 0.0, 1.7e308], [-1.7e308, 1.7e308, 1.7e308]
    assert metrics.quadratic_weighted_kappa(y, guess) == pytest.approx(0.8)


def test_a_constant_that_is_no_binary_fraction_has_no_kappa():
    with pytest.warns(UndefinedMetricWarning, match="no pair of different labels"):
        assert np.isnan(metrics.quadratic_weighted_kappa([0.1] * 3, [0.1] * 3))


def test_rows_without_weight_do_not_make_kappa_defined():
    options = {"sample_weight": [1, 1, 0], "per_query": True}
    assert np.isnan(metrics.quadratic_weighted_kappa([1, 1, 9], [1, 1, 2], **options))


@every_metric
def test_a_query_without_weight_is_left_out(name):
    options = {"qid": [1, 1, 2], "sample_weight": [1, 1, 0]}
    with pytest.warns(UndefinedMetricWarning, match="1 of 2 queries are left out of the mean"):
        got = getattr(metrics, name)([1, 2, 3], [1, 1, 3], **options)
    assert got == getattr(metrics, name)([1, 2], [1, 1])


@every_metric
def test_queries_may_weigh(name):
    metric, columns = getattr(metrics, name), ([1, 2, 3, 4], [1, 3, 4, 4])
    values = metric(*columns, qid=[1, 1, 2, 2], per_query=True)
    got = metric(*columns, qid=[1, 1, 2, 2], query_weight={1: 1.0, 2: 3.0})
    assert got == pytest.approx(np.average(values, weights=[1, 3]))


@every_metric
def test_columns_may_be_single_precision_and_read_only(name):
    y, guess = np.array([1, 2, 3], np.float32), np.array([1, 3, 3], np.float32)
    y.flags.writeable = guess.flags.writeable = False
    assert getattr(metrics, name)(y, guess) == getattr(metrics, name)([1, 2, 3], [1, 3, 3])


@every_metric_of_numbers
@pytest.mark.parametrize(
    ("y", "guess", "sentence"),
    [
        ([1, 2], [1], "y_pred must be as long as y_true, 2 rows; got 1."),
        ([1, 2], [1, np.nan], "y_pred must be finite; got nan in row 1."),
        ([1, np.inf], [1, 2], "y_true must be finite; got inf in row 1."),
        ([1, 2], ["a", "b"], "y_pred must be numbers; got ['a', 'b']."),
        ([], [], "y_true must be one number per row, of one row at least; got an array of "
         "shape (0,)."),
        ([0, 1e200], [0, 1], "y_pred must be within 1e+145 of y_true, so that squares are "
         "finite; got 1e+200."),
    ],
)  # fmt: skip
def test_numbers_that_cannot_be_measured_are_refused(name, y, guess, sentence):
    with pytest.raises(DataError, match=exactly(f"{name}: {sentence}")):
        getattr(metrics, name)(y, guess)


@every_metric_of_classes
@pytest.mark.parametrize(
    ("y", "guess", "options", "sentence"),
    [
        ([1, 2], [1], {}, "y_pred must be as long as y_true; got 1 labels for 2."),
        ([], [], {}, "y_true must be at least one label; got none."),
        (["a", "b"], [1, 2], {}, "y_true must be numbers unless classes= names all labels, "
         "lowest first; got 'a' in row 0."),
        ([1, 3], [1, 2], {"classes": [1, 2]}, "y_true must be one of the classes [1, 2]; got 3 "
         "in row 1. Name every class in classes=, lowest first."),
    ],
)  # fmt: skip
def test_classes_that_cannot_be_measured_are_refused(name, y, guess, options, sentence):
    with pytest.raises(ValueError, match=exactly(f"{name}: {sentence}")):
        getattr(metrics, name)(y, guess, **options)


@every_metric
def test_weights_below_zero_are_refused(name):
    sentence = f"{name}: sample_weight must be >= 0; got -1.0 in row 1."
    with pytest.raises(DataError, match=exactly(sentence)):
        getattr(metrics, name)([1, 2], [1, 2], sample_weight=[1, -1])
