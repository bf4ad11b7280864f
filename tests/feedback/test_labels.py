"""Labels of every kind, and their order."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning

from peckorder import MPRank, PRank, RankBoost
from peckorder.exceptions import DataError
from peckorder.feedback import Scale, _scale, read_labels
from support.helpers import LEARNERS, exactly, make, real_data, same, shown

X, RANK = real_data(1, k=3)
SIZES = np.array(["small", "medium", "large"])


def expected(labels):
    """Return what a model of ranks 1, 2, 3 predicts, written in other labels."""
    return np.asarray(labels)[PRank().fit(X, RANK).predict(X) - 1]


@pytest.mark.parametrize(
    "labels",
    [
        [1, 2, 3],
        [-7, 0, 40],
        [0.5, 1.0, 1.5],
        np.array([0.5, 1.0, 1.5], dtype=np.float32),
        np.array([1, 2, 3], dtype=np.uint8),
        np.array([1, 2, 3], dtype=">i4"),
        [2**53, 2**53 + 1, 2**53 + 2],
        [-(2**53) - 1, -(2**53), 2**53],
        np.array([1, 2**64 - 2, 2**64 - 1], dtype=np.uint64),
        [1.0, 1e100, 1e300],
    ],
    ids=str,
)
def test_numbers_are_in_the_order_of_numbers(labels):
    labels = np.asarray(labels)
    model = PRank().fit(X, labels[RANK - 1])
    assert_array_equal(model.classes_, labels)
    assert_array_equal(model.predict(X), expected(labels))


def test_false_is_below_true():
    model = PRank().fit(X, RANK > 2)
    assert model.classes_.dtype == bool
    assert_array_equal(model.predict(X), PRank().fit(X, 1 + (RANK > 2)).predict(X) == 2)


def test_numbers_may_be_objects():
    labels = np.array([1, 2.5, 4], dtype=object)
    model = PRank().fit(X, labels[RANK - 1])
    assert_array_equal(model.classes_, [1.0, 2.5, 4.0])
    assert_array_equal(model.predict(X), expected([1.0, 2.5, 4.0]))


@pytest.mark.parametrize("labels", [[1, 2, 4], [2**70, 2**70 + 1, 2**71]], ids=str)
def test_integers_of_128_bits(labels):
    column = pl.Series(np.array(labels, dtype=object)[RANK - 1].tolist(), dtype=pl.Int128)
    model = PRank(classes=labels).fit(X, column)
    assert (
        model.predict(X).tolist()
        == np.array(labels, dtype=object)[PRank().fit(X, RANK).predict(X) - 1].tolist()
    )
    missing = pl.concat([column[:-1], pl.Series([None], dtype=pl.Int128)])
    with pytest.raises(
        DataError,
        match=exactly(f"PRank: y must be without missing labels; got None in row {len(X) - 1}."),
    ):
        PRank(classes=labels).fit(X, missing)


def test_integers_of_128_bits_are_grades():
    column = pl.Series(RANK.tolist(), dtype=pl.Int128)
    assert_array_equal(MPRank().fit(X, column).coef_, MPRank().fit(X, RANK).coef_)


@pytest.mark.parametrize("form", [list, np.array, lambda y: np.array(y, dtype=object)])
def test_strings_are_in_the_order_of_classes(form):
    y = form(SIZES[RANK - 1].tolist())
    model = PRank(classes=["small", "medium", "large"]).fit(X, y)
    assert_array_equal(model.classes_, SIZES)
    assert_array_equal(model.predict(X), expected(SIZES))


@pytest.mark.parametrize("form", [list, tuple, np.array])
def test_classes_may_be_any_sequence(form):
    model = PRank(classes=form(SIZES.tolist())).fit(X, SIZES[RANK - 1])
    assert_array_equal(model.predict(X), expected(SIZES))


def test_numbers_follow_classes_that_do_not_ascend():
    model = PRank(classes=[3, 1, 2]).fit(X, np.array([3, 1, 2])[RANK - 1])
    assert_array_equal(model.classes_, [3, 1, 2])
    assert_array_equal(model.predict(X), expected([3, 1, 2]))


def test_loss_is_counted_along_classes_that_do_not_ascend():
    # 3 is lowest and 2 highest: two steps.
    model = PRank(classes=[3, 1, 2], rule="last").fit([[1.0]], [3])
    assert model.cumulative_loss_ == 2


def test_huge_numbers_follow_classes_that_do_not_ascend():
    labels = [2**53 + 1, 2**53, 2**53 + 2]
    model = PRank(classes=labels).fit(X, np.array(labels)[RANK - 1])
    assert_array_equal(model.predict(X), expected(labels))


def test_classes_may_be_of_mixed_kinds():
    labels = np.array([0, "some", None], dtype=object)
    model = PRank(classes=[0, "some", None]).fit(X, labels[RANK - 1])
    assert model.predict(X).tolist() == expected(labels).tolist()


def test_whole_floats_are_the_integers_they_equal():
    model = PRank(classes=[1, 2, 3]).fit(X, RANK.astype(float))
    assert same(shown(model, X), shown(PRank().fit(X, RANK), X))


@pytest.mark.parametrize("name", LEARNERS)
def test_a_column_of_labels_is_flattened_with_a_warning(name):
    with pytest.warns(DataConversionWarning, match="^A column-vector y was passed"):
        model = make(name).fit(X, RANK[:, np.newaxis])
    assert same(shown(model, X), shown(make(name).fit(X, RANK), X))


@pytest.mark.parametrize("name", LEARNERS)
def test_classes_that_do_not_occur_have_their_place(name):
    model = make(name, classes=range(6)).fit(X, RANK)
    assert_array_equal(model.classes_, range(6))
    assert set(model.predict(X)) <= set(range(6))


def test_partial_fit_takes_the_classes_of_its_first_call():
    model = PRank().partial_fit(X[:1], SIZES[RANK[:1] - 1], classes=SIZES)
    model.partial_fit(X[1:], SIZES[RANK[1:] - 1])
    assert_array_equal(model.predict(X), expected(SIZES))


def test_partial_fit_may_be_told_the_same_classes_again():
    model = PRank(classes=[1, 2, 3]).partial_fit(X, RANK, classes=(1, 2, 3))
    once = model.n_rounds_
    assert model.partial_fit(X, RANK, classes=[1, 2, 3]).n_rounds_ == 2 * once


def test_numbers_are_not_copied():
    values = read_labels(RANK).values
    assert np.shares_memory(values, RANK)


@pytest.mark.parametrize(
    "labels", [[1, 2, 3], [2**53, 2**53 + 1, 2**53 + 2], [0.5, 1.5, 9.0]], ids=str
)
@pytest.mark.parametrize("block", [1, 2, 7])
def test_classes_are_found_block_by_block(labels, block, monkeypatch):
    monkeypatch.setattr(_scale, "_BLOCK", block)
    # Sorted, so that every block but the first brings a class or none.
    column = read_labels(np.repeat(labels, 5))
    assert_array_equal(Scale.inferred(column).classes, labels)


def test_a_label_that_is_not_finite_is_found_in_a_later_block(monkeypatch):
    monkeypatch.setattr(_scale, "_BLOCK", 2)
    column = read_labels([1.0, 2.0, 1.0, 2.0, 1.0, np.inf])
    sentence = "y must be finite; got inf in row 5."
    with pytest.raises(DataError, match=exactly(sentence)):
        Scale.inferred(column)


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        ([1, 2], [1, 2], True),
        ([1, 2], [1.0, 2.0], True),
        ([1, 2], [2, 1], False),
        ([1, 2], [1, 2, 3], False),
        (["a", "b"], ["a", "b"], True),
    ],
)
def test_scales_are_equal_if_their_classes_are(a, b, equal):
    assert (Scale.given(a) == Scale.given(b)) is equal


def test_a_scale_equals_nothing_else():
    assert Scale.given([1, 2]) != [1, 2]


@pytest.mark.parametrize("classes", [[(1, 2), (3,)], [(1, 2), (3, 4)], [(1,), "a"]])
def test_tuples_are_labels_whatever_their_lengths(classes):
    assert Scale.given(classes).classes.tolist() == classes


def test_labels_of_several_lengths_are_refused():
    with pytest.raises(DataError, match=r"^y must be one label per row, tuples in"):
        read_labels([(1, 2), (3,)])


def test_dates_of_nanoseconds_stay_dates():
    days = np.array(["2020-01-01", "2021-01-01"], "datetime64[ns]")
    for given in (days, list(days), pd.DatetimeIndex(days)):
        model = PRank(classes=given).fit([[0.0], [1.0]], days)
        assert model.classes_.tolist() == list(days)
        assert set(model.predict([[0.0], [1.0]]).tolist()) <= set(days)


@pytest.mark.skipif(np.longdouble(1) + np.longdouble(2) ** -60 == 1, reason="no long doubles")
@pytest.mark.parametrize("model", [PRank(), MPRank(), RankBoost()])
def test_long_doubles_are_taken_if_they_differ_as_float64(model):
    X = [[0.0], [1.0], [2.0]]
    labels = np.array([1, 2, 3], np.longdouble) / 3
    wanted = clone(model).fit(X, labels.astype(float)).predict(X)
    found = clone(model).fit(X, labels).predict(X)
    np.testing.assert_array_equal(found.astype(float), wanted)
    labels = 1 + np.array([0, 1, 2**60], np.longdouble) * np.longdouble(2) ** -60
    rule = f"y must be numbers that differ as float64; got {labels.dtype} with more digits."
    with pytest.raises(DataError, match=rule):
        model.fit(X, labels)
    with pytest.raises(DataError, match=rule.replace("y must", "classes must")):
        PRank(classes=labels).fit(X, labels[[0, 2, 2]])


@pytest.mark.parametrize("model", [PRank(), MPRank(), RankBoost()])
@pytest.mark.parametrize(
    ("labels", "rule"),
    [
        ([0.5, 2**53, 2**53 + 1], r"below 2\*\*53, exact as float64; got 9007199254740993\."),
        (np.array([0.5, 2**53, 2**53 + 1], object), r"below 2\*\*53, exact as float64; got 9"),
        ([1, 2, 10**400], r"numbers below 2\*\*1024; got a larger one\."),
        ([1, 2, 10**5000], r"numbers below 2\*\*1024; got a larger one\."),
    ],
    ids=["beside a fraction", "objects", "400 digits", "5000 digits"],
)
def test_integers_that_no_float64_can_tell_apart(model, labels, rule):
    with pytest.raises(DataError, match=f"y must be {rule}"):
        model.fit([[0.0], [1.0], [2.0]], labels)
