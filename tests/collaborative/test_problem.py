"""One person's X and y: against the table of ratings, and refusals."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from peckorder import Ratings
from peckorder.collaborative import problem
from peckorder.exceptions import DataError
from support.helpers import exactly

NAN = np.nan
TABLE = np.array(
    [[5, 1, 3, NAN, NAN], [4, 2, NAN, 1, 1], [NAN, 1, 5, 0, NAN], [NAN, NAN, NAN, 2, NAN]]
)
RATINGS = Ratings.from_matrix(TABLE, users=list("abcd"), items=list("vwxyz"))


def test_gaps_get_the_median_of_all_that_the_viewer_rated():
    X, y = problem(RATINGS, "a", ["b", "c"])
    assert y.tolist() == [5, 1, 3]
    assert X.tolist() == [[4, 1], [2, 1], [1.5, 5]]


@pytest.mark.parametrize(
    ("fill", "center", "wanted"),
    [
        ("mean", None, [[4, 2], [2, 1], [2, 5]]),
        ("zero", None, [[4, 0], [2, 1], [0, 5]]),
        ("abstain", None, [[4, NAN], [2, 1], [NAN, 5]]),
        ("mean", "viewer", [[2, 0], [0, -1], [0, 3]]),
        ("zero", "middle", [[1.5, 0], [-0.5, -1.5], [0, 2.5]]),
        ("median", 1.0, [[3, 0], [1, 0], [0.5, 4]]),
        ("zero", 3, [[1, 0], [-1, -2], [0, 2]]),
    ],
)
def test_fill_and_center(fill, center, wanted):
    X, _ = problem(RATINGS, "a", ["b", "c"], fill, center)
    assert_array_equal(X, wanted)


def test_all_items_have_a_row_if_asked_for():
    X, y, items = problem(RATINGS, "d", ["c", "a"], "abstain", items="all", return_items=True)
    assert_array_equal(y, TABLE[3])
    assert_array_equal(X, TABLE[[2, 0]].T)
    assert items.tolist() == list("vwxyz")


def test_items_may_be_named():
    X, y = problem(RATINGS, "a", ["b"], items=["x", "v"])
    assert (X.tolist(), y.tolist()) == ([[1.5], [4]], [3, 5])


def test_what_is_given_does_not_change():
    problem(RATINGS, "a", ["b", "c"], center="viewer")
    assert_array_equal(RATINGS.matrix(), TABLE)


@pytest.mark.parametrize(
    ("given", "error", "sentence"),
    [
        ({"user": "e"}, DataError, "Ratings: user must be one of the 4 that are known; got 'e'."),
        (
            {"references": ["b", "a"]},
            DataError,
            "problem: references must be others than the user; got 'a' among them.",
        ),
        ({"references": ["b", "b"]}, DataError, "Ratings: users must be distinct; got 'b' again."),
        (
            {"fill": "nan"},
            ValueError,
            "problem: fill must be one of 'median', 'mean', 'zero', 'abstain'; got "
            "'nan'. Did you mean 'abstain'?",
        ),
        (
            {"center": "median"},
            ValueError,
            "problem: center must be None, 'viewer', 'middle' or a finite number; got 'median'.",
        ),
        (
            {"center": NAN},
            ValueError,
            "problem: center must be None, 'viewer', 'middle' or a finite number; got nan.",
        ),
        ({"items": "some"}, DataError, "problem: items must be None, 'all' or ids; got 'some'."),
        (
            {"ratings": TABLE},
            TypeError,
            "problem: ratings must be Ratings; got an object of type ndarray.",
        ),
    ],
)
def test_refusals(given, error, sentence):
    arguments = {"ratings": RATINGS, "user": "a", "references": ["b"]} | given
    with pytest.raises(error, match=exactly(sentence)):
        problem(**arguments)


def test_refuses_a_reference_without_ratings_to_fill_with():
    left = RATINGS.restrict(items=["v", "w", "x"])
    sentence = "problem: references must have ratings to fill gaps with; got none of 'd'."
    with pytest.raises(DataError, match=exactly(sentence)):
        problem(left, "a", ["b", "d"])
    X, _ = problem(left, "a", ["d"], fill="zero")
    assert X.tolist() == [[0], [0], [0]]
