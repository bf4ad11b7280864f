"""Ratings from arrays, frames and matrices; parts of them; what is refused."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from peckorder import Ratings
from peckorder.exceptions import DataError
from support.helpers import exactly

USER = ["bob", "ann", "ann", "cid", "bob"]
ITEM = [9, 7, 9, 9, 3]
VALUE = [3, 5, 0, 1, 2]


@pytest.fixture
def ratings():
    return Ratings(USER, ITEM, VALUE)


def test_ids_ascend_and_zeros_are_ratings(ratings):
    assert ratings.users.tolist() == ["ann", "bob", "cid"]
    assert ratings.items.tolist() == [3, 7, 9]
    expected = [[np.nan, 5, 0], [2, np.nan, 3], [np.nan, np.nan, 1]]
    assert_array_equal(ratings.matrix(), expected)
    assert len(ratings) == 5
    assert ratings.per_user.tolist() == [2, 2, 1]
    assert ratings.per_item.tolist() == [1, 1, 3]
    assert_array_equal(ratings.csc.toarray(), ratings.csr.toarray())
    assert ratings.csc.nnz == 5
    assert repr(ratings) == "Ratings(n_ratings=5, n_users=3, n_items=3)"


def test_the_order_of_rows_does_not_matter(ratings):
    order = [4, 2, 0, 3, 1]
    again = Ratings(*(np.array(c, object)[order] for c in (USER, ITEM, VALUE)))
    assert_array_equal(again.users, ratings.users)
    assert_array_equal(again.csr.data, ratings.csr.data)
    assert_array_equal(again.csr.indices, ratings.csr.indices)


def test_ids_that_cannot_be_compared_come_in_their_order():
    ratings = Ratings([("a", 1), 7, "x", 7], [1, 1, 1, 2], [1, 2, 3, 4])
    assert ratings.users.tolist() == [("a", 1), 7, "x"]
    assert ratings.of(("a", 1)).values.tolist() == [1]


def test_dates_are_ids():
    days = np.array(["2001-02-03", "2001-01-01"], dtype="datetime64[D]")
    ratings = Ratings(days, [1, 1], [4, 2])
    assert ratings.of(days[1]).values.tolist() == [2]


def test_nothing_can_be_changed(ratings):
    for array in (ratings.users, ratings.csr.data, ratings.csc.indices):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[-1]
    with pytest.raises(AttributeError):
        ratings.csr = None


def test_ratings_are_pickled(ratings):
    again = pickle.loads(pickle.dumps(ratings))
    assert_array_equal(again.matrix(), ratings.matrix())
    assert again.of("ann").items.tolist() == [7, 9]


def of_stars(frame, stars):
    table = frame({"user": [1, 1, 2], "item": [1, 2, 1], "stars": stars})
    return Ratings.from_frame(table, rating="stars")


@pytest.mark.parametrize(
    "frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"]
)
def test_frames(frame, ratings):
    table = frame({"who": USER, "what": ITEM, "rating": VALUE, "more": ITEM})
    read = Ratings.from_frame(table, user="who", item="what")
    assert_array_equal(read.matrix(), ratings.matrix())
    assert read.users.tolist() == ratings.users.tolist()


def test_categories_are_ids():
    frame = pd.DataFrame({"user": pd.Categorical(["b", "a"]), "item": [1, 1], "rating": [1, 2]})
    assert Ratings.from_frame(frame).users.tolist() == ["a", "b"]


def test_a_parquet_file(tmp_path, ratings):
    path = tmp_path / "a.parquet"
    pl.DataFrame({"user": USER, "item": ITEM, "rating": VALUE}).write_parquet(path)
    assert_array_equal(Ratings.read_parquet(path).matrix(), ratings.matrix())
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match=r"^Ratings: path must be a sound Parquet file"):
        Ratings.read_parquet(path)


def test_a_matrix_leaves_out_who_rates_nothing():
    ratings = Ratings.from_matrix(
        [[0, 4, 0], [0, 0, 0], [1, 0, 0]], missing=0, users=["x", "y", "a"]
    )
    assert ratings.users.tolist() == ["a", "x"]
    assert ratings.items.tolist() == [0, 1]
    assert_array_equal(ratings.matrix(missing=0), [[1, 0], [0, 4]])


@pytest.mark.parametrize(("rule", "expected"), [("last", 2), ("mean", 3), ("max", 6)])
def test_duplicates_are_merged(rule, expected):
    ratings = Ratings([1, 1, 2, 1], [5, 5, 5, 5], [1, 6, 4, 2], duplicates=rule)
    assert ratings.of(1).values.tolist() == [expected]
    assert ratings.of(2).values.tolist() == [4]


def test_a_mean_of_large_numbers_is_finite():
    ratings = Ratings([1, 1], [1, 1], [1.7e308, 1.5e308], duplicates="mean")
    assert ratings.of(1).values.tolist() == [1.6e308]


def test_restricted_in_the_order_given(ratings):
    part = ratings.restrict(users=["cid", "ann"], items=[9, 7])
    assert part.users.tolist() == ["cid", "ann"]
    assert_array_equal(part.matrix(), [[1, np.nan], [0, 5]])
    assert part.csr.has_sorted_indices
    assert ratings.restrict(users=["cid"], items=[3]).csr.shape == (1, 1)
    assert len(ratings.restrict(users=["cid"], items=[3])) == 0
    assert len(ratings.restrict()) == 5


def test_filtered_until_nothing_changes():
    # d has one rating; without it item 4 has one; without that c has one, ...
    user = ["a", "a", "b", "b", "c", "c", "d"]
    ratings = Ratings(user, [1, 2, 1, 2, 3, 4, 4], range(7))
    kept = ratings.filter(min_per_user=2, min_per_item=2)
    assert kept.users.tolist() == ["a", "b"]
    assert kept.items.tolist() == [1, 2]
    assert_array_equal(kept.matrix(), [[0, 1], [2, 3]])
    once = ratings.filter(min_per_user=2, min_per_item=2, repeat=False)
    assert once.users.tolist() == ["a", "b", "c"]
    assert once.items.tolist() == [1, 2, 4]
    few = ratings.filter(max_per_user=1)
    assert few.users.tolist() == ["d"]
    assert few.items.tolist() == [4]


def test_a_split_takes_a_share_of_each_user():
    user = np.repeat([1, 2, 3], [10, 5, 1])
    ratings = Ratings(user, np.arange(16), np.arange(16))
    train, test = ratings.split(0.3, random_state=0)
    assert test.per_user.tolist() == [3, 1, 0]
    assert train.per_user.tolist() == [7, 4, 1]
    both = np.concatenate([train.triples().value, test.triples().value])
    assert sorted(both.tolist()) == list(range(16))
    assert train.users.tolist() == test.users.tolist() == [1, 2, 3]
    assert train.csr.shape == test.csr.shape == (3, 16)
    same = ratings.split(0.3, random_state=0)[1]
    assert_array_equal(same.matrix(), test.matrix())
    others = [ratings.split(0.3, random_state=s)[1].matrix() for s in range(5)]
    assert any(not np.array_equal(o, test.matrix(), equal_nan=True) for o in others)


def test_a_split_of_all_ratings():
    ratings = Ratings(np.arange(100), [0] * 100, np.arange(100))
    train, test = ratings.split(0.29, per_user=False, random_state=0)
    assert (len(train), len(test)) == (71, 29)


KNOWN = "must be one of the 3 that are known; got"


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda r: Ratings([1, 1], [2, 2], [3, 4]),
            "Ratings: a user must rate an item once; got user 1 and item 2 again in "
            "row 1. With duplicates='last', 'mean' or 'max' such ratings are merged.",
        ),
        (
            lambda r: Ratings([1, 2], [2, 2], [3, np.nan]),
            "Ratings: value must be finite; got nan in row 1.",
        ),
        (
            lambda r: Ratings([1, 2], [2, 2], [np.inf, 3]),
            "Ratings: value must be finite; got inf in row 0.",
        ),
        (
            lambda r: Ratings([1, 2], [2], [4, 3]),
            "Ratings: item must be one value per row, 2 in all; got 1.",
        ),
        (
            lambda r: Ratings([1, None], [2, 2], [4, 3]),
            "Ratings: user must be without gaps; got None in row 1.",
        ),
        (
            lambda r: Ratings(None, [2, 2], [4, 3]),
            "Ratings: user must be one id per row; got None.",
        ),
        (
            lambda r: Ratings([], [], []),
            "Ratings: value must be one number per row, of one row at least; got an "
            "array of shape (0,).",
        ),
        (
            lambda r: Ratings([1], [1], [1], duplicates="first"),
            "Ratings: duplicates must be one of 'refuse', 'last', 'mean', 'max'; got 'first'.",
        ),
        (lambda r: r.of("anne"), f"Ratings: user {KNOWN} 'anne'. Did you mean 'ann'?"),
        (lambda r: r.of("Bob"), f"Ratings: user {KNOWN} 'Bob'. Did you mean 'bob'?"),
        (lambda r: r.item_index("9"), f"Ratings: item {KNOWN} '9'. Did you mean 9?"),
        (lambda r: r.of([1]), f"Ratings: user {KNOWN} [1]."),
        (lambda r: r.restrict(users="ann"), "Ratings: users must be a list of ids; got 'ann'."),
        (lambda r: r.restrict(items=[9, 3, 9]), "Ratings: items must be distinct; got 9 again."),
        (
            lambda r: r.filter(min_per_user=3),
            "Ratings: bounds must leave a rating; got none left with min_per_user=3.",
        ),
        (
            lambda r: r.filter(min_per_item=0),
            "Ratings: min_per_item must be None or an integer >= 1; got 0.",
        ),
        (lambda r: r.split(1.0), "Ratings: test must be a number > 0 and < 1; got 1.0."),
        (lambda r: r.matrix("x"), "Ratings: missing must be a number; got 'x'."),
        (
            lambda r: Ratings.from_matrix([1, 2]),
            "Ratings: matrix must be two-dimensional, of numbers; got an array of "
            "shape (2,) and type int64.",
        ),
        (
            lambda r: Ratings.from_matrix([[1], [2]], users=["a", "a"]),
            "Ratings: users must be distinct; got some again.",
        ),
        (lambda r: Ratings.from_frame([1]), "Ratings: frame must have columns; got a list."),
        (
            lambda r: Ratings.from_frame(pd.DataFrame({"users": [1]})),
            "Ratings: user must be a column of the frame; got 'user'. Did you mean 'users'?",
        ),
        (
            lambda r: of_stars(pd.DataFrame, [4, 2, "good"]),
            "Ratings: column 'stars' must be numbers; got 'good' in row 2.",
        ),
        (
            lambda r: of_stars(pl.DataFrame, ["4", "2", "good"]),
            "Ratings: column 'stars' must be numbers; got '4' in row 0.",
        ),
        (
            lambda r: of_stars(pa.table, ["4", "2", "good"]),
            "Ratings: column 'stars' must be numbers; got '4' in row 0.",
        ),
        (
            lambda r: of_stars(pd.DataFrame, [4, np.nan, 2]),
            "Ratings: column 'stars' must be finite; got nan in row 1.",
        ),
    ],
)
def test_refusals(ratings, call, sentence):
    with pytest.raises(ValueError, match=exactly(sentence)):
        call(ratings)


@pytest.mark.parametrize("damage", ["cut", "folder", None])
def test_a_parquet_file_that_is_none_raises(damage, tmp_path):
    path = tmp_path / "ratings.parquet"
    if damage == "cut":
        pd.DataFrame({"user": [1], "item": [2], "rating": [3.0]}).to_parquet(path)
        whole = path.read_bytes()
        path.write_bytes(whole[:20] + b"x" * 30 + whole[50:])
    elif damage == "folder":
        path.mkdir()
    with pytest.raises(ValueError, match="path must be a sound Parquet file"):
        Ratings.read_parquet(None if damage is None else path)
