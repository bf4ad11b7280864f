"""Labels that cannot be learnt are refused, and the model is as it was."""

import numpy as np
import pytest

from peckorder import PRank
from peckorder.exceptions import DataError
from support.helpers import LEARNERS, exactly, integer_data, make, raises_unchanged

X, Y = integer_data(1, k=3)
every_learner = pytest.mark.parametrize("name", LEARNERS)
LEARN = ["fit", "partial_fit", "progressive"]


def fitted(name):
    model = make(name).fit(X, Y)
    return model, type(model).__name__


def with_bad_label(label, kind=None):
    y = Y.tolist()
    y[50] = label
    return np.array(y, dtype=kind)


NAN = float("nan")


def outside(who, label):
    if label is NAN:
        return f"{who}: y must be without missing labels; got nan in row 50."
    return (
        f"{who}: y must be one of the classes [1, 2, 3]; got {label!r} in row 50. Name "
        "every class in classes=, lowest first."
    )


@every_learner
@pytest.mark.parametrize("method", ["partial_fit", "progressive", "score"])
@pytest.mark.parametrize("label", [4, 0, -1, 2.5, NAN, float("inf"), 2**53 + 1])
def test_an_unknown_label_is_refused(name, method, label):
    model, who = fitted(name)
    with raises_unchanged(model, DataError, outside(who, label)):
        getattr(model, method)(X, with_bad_label(label))


@every_learner
def test_an_unknown_label_is_refused_by_fit(name):
    model = make(name, classes=[1, 2, 3]).fit(X, Y)
    with raises_unchanged(model, DataError, outside(type(model).__name__, 7)):
        model.fit(X, with_bad_label(7))


@every_learner
def test_a_word_among_numbers_is_refused(name):
    model, who = fitted(name)
    with raises_unchanged(model, DataError, outside(who, "two")):
        model.partial_fit(X, with_bad_label("two", object))


@every_learner
def test_an_unknown_word_is_refused(name):
    model = make(name, classes=["lo", "hi"]).fit(X, np.array(["lo", "hi"])[Y % 2])
    sentence = (
        f"{type(model).__name__}: y must be one of the classes ['lo', 'hi']; got "
        "'HI' in row 1. Name every class in classes=, lowest first."
    )
    with raises_unchanged(model, DataError, sentence):
        model.partial_fit(X[:2], ["lo", "HI"])


def test_a_long_list_of_classes_is_cut_short():
    model = PRank(classes=range(20)).fit(X, Y)
    sentence = (
        "PRank: y must be one of the classes [0, 1, 2, 3, ..., 19] (20 in all); got 20 "
        "in row 0. Name every class in classes=, lowest first."
    )
    with raises_unchanged(model, DataError, sentence):
        model.partial_fit(X[:1], [20])


@every_learner
@pytest.mark.parametrize("method", LEARN)
def test_words_without_an_order_are_refused(name, method):
    model = make(name)
    sentence = (
        f"{type(model).__name__}: y must be numbers, an ordered categorical, or labels "
        "whose order classes= gives; got ['a', 'b']. Pass classes=[...] with the "
        "lowest first (the order of the alphabet is rarely meant)."
    )
    with raises_unchanged(model, DataError, sentence):
        getattr(model, method)(X[:2], ["b", "a"])


@every_learner
def test_a_single_class_is_refused_by_fit(name):
    model, who = fitted(name)
    sentence = f"{who}: y must hold at least two classes; got one class, [1]."
    with raises_unchanged(model, DataError, sentence):
        model.fit(X, np.ones(len(X), dtype=int))


@every_learner
@pytest.mark.parametrize("method", ["partial_fit", "progressive"])
def test_a_single_class_in_the_first_batch_is_refused(name, method):
    model = make(name)
    sentence = (
        f"{type(model).__name__}: y must hold at least two classes; got one class, "
        "[2]. Name all of them in classes=, lowest first."
    )
    with raises_unchanged(model, DataError, sentence):
        getattr(model, method)(X[:2], [2, 2])


@every_learner
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_label_that_is_not_finite_is_refused(name, value):
    model, who = fitted(name)
    sentence = f"{who}: y must be finite; got {float(value)!r} in row 50."
    with raises_unchanged(model, DataError, sentence):
        model.fit(X, with_bad_label(value))


@every_learner
@pytest.mark.parametrize("method", LEARN)
def test_another_number_of_labels_is_refused(name, method):
    model, who = fitted(name)
    sentence = f"{who}: y must be one label per row; got 59 labels for 60 rows."
    with raises_unchanged(model, ValueError, sentence):
        getattr(model, method)(X, Y[:-1])


@every_learner
def test_another_number_of_labels_is_not_scored(name):
    model, who = fitted(name)
    sentence = f"{who}: y must be one label per row; got 59 labels for 60 rows."
    with raises_unchanged(model, ValueError, sentence):
        model.score(X, Y[:-1])


@every_learner
@pytest.mark.parametrize("method", [*LEARN, "score"])
def test_no_labels_are_refused(name, method):
    model, who = fitted(name)
    sentence = (
        f"{who}: y must be one label per row; got None (it requires y to be passed, "
        "but the target y is None)."
    )
    with raises_unchanged(model, ValueError, sentence):
        getattr(model, method)(X, None)


def test_a_table_of_labels_is_refused():
    model, _ = fitted("last")
    sentence = "y should be a 1d array, got an array of shape (60, 2) instead."
    with raises_unchanged(model, ValueError, sentence):
        model.fit(X, np.column_stack([Y, Y]))


BAD_CLASSES = {
    "word": (TypeError, "abc", "a list of labels, lowest first; got 'abc'."),
    "number": (TypeError, 3, "a list of labels, lowest first; got 3."),
    "one": (ValueError, [1], "at least two labels; got [1]."),
    "none": (ValueError, [], "at least two labels; got []."),
    "twice": (ValueError, [1, 2, 1], "distinct labels, lowest first; got [1, 2, 1]."),
    "equal": (ValueError, [1, 1.0], "distinct labels, lowest first; got [1, 1.0]."),
}


@every_learner
@pytest.mark.parametrize(("error", "classes", "said"), BAD_CLASSES.values(), ids=BAD_CLASSES)
def test_classes_that_are_no_scale_are_refused(name, error, classes, said):
    model = make(name, classes=classes)
    with raises_unchanged(model, error, f"{type(model).__name__}: classes must be {said}"):
        model.fit(X, Y)


@every_learner
def test_other_classes_later_are_refused(name):
    model, who = fitted(name)
    sentence = (
        f"{who}: classes must be [1, 2, 3] as given before; got [3, 2, 1]. Call fit to start anew."
    )
    with raises_unchanged(model, ValueError, sentence):
        model.partial_fit(X, Y, classes=[3, 2, 1])


@every_learner
def test_classes_that_contradict_the_parameter_are_refused(name):
    model = make(name, classes=[1, 2, 3])
    sentence = (
        f"{type(model).__name__}: classes must be [1, 2, 3] as given before; got [1, "
        "2, 3, 4]. Call fit to start anew."
    )
    with raises_unchanged(model, ValueError, sentence):
        model.partial_fit(X, Y, classes=[1, 2, 3, 4])


def test_a_refused_first_batch_may_be_tried_again():
    model = PRank()
    sentence = (
        "PRank: y must hold at least two classes; got one class, [1]. Name all of them "
        "in classes=, lowest first."
    )
    with raises_unchanged(model, DataError, sentence):
        model.partial_fit(X[:1], [1])
    model.partial_fit(X[:1, :2], [1], classes=[1, 2])
    assert model.n_features_in_ == 2


def test_refuses_a_missing_class():
    expected = "PRank: classes must be distinct labels, lowest first; got [1, nan]."
    model = PRank(classes=[1, float("nan")])
    with raises_unchanged(model, ValueError, expected):
        model.fit([[0.0], [1.0]], [1, 1])


def test_a_rule_set_after_fitting_does_not_change_what_can_be_asked():
    model = PRank().fit([[0.0], [1.0]], [1, 2]).set_params(rule="voted")
    assert hasattr(model, "decision_function")
    assert not hasattr(model, "mean_rank")


@pytest.mark.parametrize("classes", [{"a", "b"}, {"a": 1, "b": 2}, "ab", 3, (c for c in "ab")])
def test_classes_without_an_order_are_refused(classes):
    model = PRank(classes=classes)
    expected = f"PRank: classes must be a list of labels, lowest first; got {classes!r}."
    with pytest.raises(TypeError, match=exactly(expected)):
        model.fit([[0.0], [1.0]], ["a", "b"])
    assert not hasattr(model, "classes_")


def test_classes_that_are_lists_are_refused():
    model = PRank(classes=[[1], [2]])
    expected = "PRank: classes must be a list of labels, not of lists; got [[1], [2]]."
    with raises_unchanged(model, TypeError, expected):
        model.fit([[0.0], [1.0]], [1, 2])


def test_a_quantity_taken_for_classes_is_warned_of():
    y = np.random.default_rng(0).normal(size=300)
    expected = (
        "PRank: y has 300 classes in 300 rows; if it is a quantity, cut it into grades first."
    )
    with pytest.warns(UserWarning, match=exactly(expected)):
        PRank().fit(np.zeros((300, 1)), y)


def test_lists_as_labels_are_refused():
    y = np.empty(2, dtype=object)
    y[:] = [["a"], ["b"]]
    model = PRank(classes=["a", "b"])
    expected = "PRank: y must be labels that can be compared; got an unhashable type: 'list'."
    with raises_unchanged(model, DataError, expected):
        model.fit([[0.0], [1.0]], y)
