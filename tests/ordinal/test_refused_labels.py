"""Labels that cannot be learnt are refused, and the model is as it was."""

from functools import partial
from operator import methodcaller

import numpy as np
import pytest

from peckorder import PRank
from peckorder.exceptions import DataError
from support.helpers import LEARNERS, exactly, integer_data, make, raises_unchanged

X, Y = integer_data(1, k=3)
LEARN = ["fit", "partial_fit", "progressive"]
NAN = float("nan")


def new(name, **options):
    return make(name, **options)


def fitted(name, y=Y, **options):
    return make(name, **options).fit(X, y)


def with_bad_label(label, kind=None):
    y = Y.tolist()
    y[50] = label
    return np.array(y, dtype=kind)


def outside(label, row=50, classes="[1, 2, 3]"):
    if label is NAN:
        return f"y must be without missing labels; got nan in row {row}."
    return (
        f"y must be one of the classes {classes}; got {label!r} in row {row}. Name "
        "every class in classes=, lowest first."
    )


def calls(methods, *arguments, **options):
    return [methodcaller(method, *arguments, **options) for method in methods]


of_words = partial(fitted, y=np.array(["lo", "hi"])[Y % 2], classes=["lo", "hi"])
LENGTHS = "y must be one label per row; got 59 labels for 60 rows."
MISSING = (
    "y must be one label per row; got None (it requires y to be passed, but the target y is None)."
)
UNORDERED = (
    "y must be numbers, an ordered categorical, or labels whose order classes= gives; got "
    "['a', 'b']. Pass classes=[...] with the lowest first (the order of the alphabet is rarely "
    "meant)."
)
ONE_CLASS = "y must hold at least two classes; got one class,"
NAME_THEM = "Name all of them in classes=, lowest first."
ANEW = "Call fit to start anew."
BAD_CLASSES = [
    (TypeError, "abc", "a list of labels, lowest first; got 'abc'."),
    (TypeError, 3, "a list of labels, lowest first; got 3."),
    (ValueError, [1], "at least two labels; got [1]."),
    (ValueError, [], "at least two labels; got []."),
    (ValueError, [1, 2, 1], "distinct labels, lowest first; got [1, 2, 1]."),
    (ValueError, [1, 1.0], "distinct labels, lowest first; got [1, 1.0]."),
]
# How a learner is made, what is called, the error, and its sentence.
REFUSED = [
    *(
        (fitted, call, DataError, outside(label))
        for label in (4, 0, -1, 2.5, NAN, float("inf"), 2**53 + 1)
        for call in calls(["partial_fit", "progressive", "score"], X, with_bad_label(label))
    ),
    (
        partial(fitted, classes=[1, 2, 3]),
        methodcaller("fit", X, with_bad_label(7)),
        DataError,
        outside(7),
    ),
    (
        fitted,
        methodcaller("partial_fit", X, with_bad_label("two", object)),
        DataError,
        outside("two"),
    ),
    (
        of_words,
        methodcaller("partial_fit", X[:2], ["lo", "HI"]),
        DataError,
        outside("HI", 1, "['lo', 'hi']"),
    ),
    *((new, call, DataError, UNORDERED) for call in calls(LEARN, X[:2], ["b", "a"])),
    (fitted, methodcaller("fit", X, np.ones(60, dtype=int)), DataError, f"{ONE_CLASS} [1]."),
    *(
        (new, call, DataError, f"{ONE_CLASS} [2]. {NAME_THEM}")
        for call in calls(["partial_fit", "progressive"], X[:2], [2, 2])
    ),
    *(
        (
            fitted,
            methodcaller("fit", X, with_bad_label(value)),
            DataError,
            f"y must be finite; got {value!r} in row 50.",
        )
        for value in (NAN, float("inf"), float("-inf"))
    ),
    *((fitted, call, ValueError, LENGTHS) for call in calls([*LEARN, "score"], X, Y[:-1])),
    *((fitted, call, ValueError, MISSING) for call in calls([*LEARN, "score"], X, None)),
    *(
        (
            partial(new, classes=classes),
            methodcaller("fit", X, Y),
            error,
            f"classes must be {expected}",
        )
        for error, classes, expected in BAD_CLASSES
    ),
    (
        fitted,
        methodcaller("partial_fit", X, Y, classes=[3, 2, 1]),
        ValueError,
        f"classes must be [1, 2, 3] as given before; got [3, 2, 1]. {ANEW}",
    ),
    (
        partial(new, classes=[1, 2, 3]),
        methodcaller("partial_fit", X, Y, classes=[1, 2, 3, 4]),
        ValueError,
        f"classes must be [1, 2, 3] as given before; got [1, 2, 3, 4]. {ANEW}",
    ),
]


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize(("begin", "call", "error", "sentence"), REFUSED, ids=range(len(REFUSED)))
def test_labels_are_refused_by_every_learner(name, begin, call, error, sentence):
    model = begin(name)
    with raises_unchanged(model, error, f"{type(model).__name__}: {sentence}"):
        call(model)


def labels_that_are_lists():
    y = np.empty(2, dtype=object)
    y[:] = [["a"], ["b"]]
    return y


TWO = [[0.0], [1.0]]
# How a PRank is made, what is called, the error, and its whole message.
REFUSED_BY_PRANK = [
    (
        lambda: PRank(classes=range(20)).fit(X, Y),
        methodcaller("partial_fit", X[:1], [20]),
        DataError,
        f"PRank: {outside(20, 0, '[0, 1, 2, 3, ..., 19] (20 in all)')}",
    ),
    (
        lambda: PRank(rule="last").fit(X, Y),
        methodcaller("fit", X, np.column_stack([Y, Y])),
        ValueError,
        "y should be a 1d array, got an array of shape (60, 2) instead.",
    ),
    (
        partial(PRank, classes=[1, NAN]),
        methodcaller("fit", TWO, [1, 1]),
        ValueError,
        "PRank: classes must be distinct labels, lowest first; got [1, nan].",
    ),
    (
        partial(PRank, classes=[[1], [2]]),
        methodcaller("fit", TWO, [1, 1]),
        TypeError,
        "PRank: classes must be a list of labels, not of lists; got [[1], [2]].",
    ),
    (
        partial(PRank, classes=["a", "b"]),
        methodcaller("fit", TWO, labels_that_are_lists()),
        DataError,
        "PRank: y must be labels that can be compared; got an unhashable type: 'list'.",
    ),
]


@pytest.mark.parametrize(
    ("begin", "call", "error", "message"), REFUSED_BY_PRANK, ids=range(len(REFUSED_BY_PRANK))
)
def test_labels_are_refused(begin, call, error, message):
    model = begin()
    with raises_unchanged(model, error, message):
        call(model)


# Not of the table: some of them cannot be copied.
@pytest.mark.parametrize("classes", [{"a", "b"}, {"a": 1, "b": 2}, "ab", 3, (c for c in "ab")])
def test_classes_without_an_order_are_refused(classes):
    model = PRank(classes=classes)
    expected = f"PRank: classes must be a list of labels, lowest first; got {classes!r}."
    with pytest.raises(TypeError, match=exactly(expected)):
        model.fit(TWO, ["a", "b"])
    assert not hasattr(model, "classes_")


def test_a_refused_first_batch_may_be_tried_again():
    model = PRank()
    with raises_unchanged(model, DataError, f"PRank: {ONE_CLASS} [1]. {NAME_THEM}"):
        model.partial_fit(X[:1], [1])
    model.partial_fit(X[:1, :2], [1], classes=[1, 2])
    assert model.n_features_in_ == 2


def test_a_rule_set_after_fitting_does_not_change_the_methods():
    model = PRank().fit(TWO, [1, 2]).set_params(rule="voted")
    assert hasattr(model, "decision_function")
    assert not hasattr(model, "mean_rank")


def test_labels_that_look_like_a_quantity_cause_a_warning():
    y = np.random.default_rng(0).normal(size=300)
    expected = (
        "PRank: y has 300 classes in 300 rows; if it is a quantity, cut it into grades first."
    )
    with pytest.warns(UserWarning, match=exactly(expected)):
        PRank().fit(np.zeros((300, 1)), y)
