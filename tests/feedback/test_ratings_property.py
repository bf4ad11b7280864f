"""Ratings against a dict of dicts."""

import io
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from peckorder import Ratings

IDS = st.one_of(st.integers(-5, 5), st.sampled_from(["a", "b", "ä", "c d"]))
ROWS = st.lists(st.tuples(IDS, IDS, st.integers(-3, 3)), min_size=1, max_size=30)
MERGE = {"last": lambda v: v[-1], "mean": np.mean, "max": max}


def merged(rows, rule):
    gathered = {}
    for user, item, value in rows:
        gathered.setdefault((user, item), []).append(value)
    return {pair: float(MERGE[rule](values)) for pair, values in gathered.items()}


def as_dict(ratings):
    user, item, value = ratings.triples()
    pairs = zip(user.tolist(), item.tolist(), strict=True)
    found = dict(zip(pairs, value.tolist(), strict=True))
    assert len(found) == len(ratings)
    return found


@given(ROWS, st.sampled_from(sorted(MERGE)))
def test_what_is_rated(rows, rule):
    ratings = Ratings(*zip(*rows, strict=True), duplicates=rule)
    expected = merged(rows, rule)
    assert as_dict(ratings) == expected
    matrix = ratings.matrix()
    for i, user in enumerate(ratings.users.tolist()):
        items, values = ratings.of(user)
        own = {item: v for (who, item), v in expected.items() if who == user}
        assert dict(zip(items.tolist(), values.tolist(), strict=True)) == own
        for j, item in enumerate(ratings.items.tolist()):
            assert_array_equal(matrix[i, j], own.get(item, np.nan))
    again = Ratings(*ratings.triples())
    assert as_dict(again) == expected


@given(ROWS, st.integers(1, 3), st.integers(1, 3), st.integers(3, 6))
def test_filters(rows, least_of_user, least_of_item, most_of_user):
    expected = merged(rows, "last")
    ratings = Ratings(*zip(*rows, strict=True), duplicates="last")
    while True:
        users = Counter(user for user, _ in expected)
        items = Counter(item for _, item in expected)
        kept = {
            pair: value
            for pair, value in expected.items()
            if least_of_user <= users[pair[0]] <= most_of_user and items[pair[1]] >= least_of_item
        }
        if kept == expected:
            break
        expected = kept
    bounds = {
        "min_per_user": least_of_user,
        "max_per_user": most_of_user,
        "min_per_item": least_of_item,
    }
    try:
        found = as_dict(ratings.filter(**bounds))
    except ValueError:
        found = {}
    assert found == expected


@given(ROWS, st.floats(0.01, 0.99), st.booleans(), st.integers(0, 9))
def test_the_two_parts_of_a_split_are_all(rows, share, per_user, seed):
    ratings = Ratings(*zip(*rows, strict=True), duplicates="last")
    train, test = ratings.split(share, per_user=per_user, random_state=seed)
    one, other = as_dict(train), as_dict(test)
    assert not one.keys() & other.keys()
    assert one | other == as_dict(ratings)
    if per_user:
        taken = np.floor(ratings.per_user * share + 1e-9)
        assert_array_equal(test.per_user, taken)
    else:
        assert len(test) == np.floor(len(ratings) * share + 1e-9)


FIELD = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), min_size=1)


@given(
    st.dictionaries(
        st.tuples(FIELD, FIELD), st.floats(allow_nan=False, allow_infinity=False),
        min_size=1,
    )
)  # fmt: skip
def test_quoted_text_comes_back(expected):
    def quoted(text):
        return '"' + text.replace('"', '""') + '"'

    lines = [f"{quoted(u)},{quoted(i)},{v!r}\n" for (u, i), v in expected.items()]
    file = io.BytesIO("".join(["user,item,rating\n", *lines]).encode())
    ratings = Ratings.read_csv(file, user_dtype=str, item_dtype=str)
    assert as_dict(ratings) == expected
