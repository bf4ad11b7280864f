"""Queries: ids of any kind and in any order become contiguous rows."""

import datetime
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from peckorder.exceptions import DataError
from peckorder.feedback import Queries, _labels_and_queries
from support.helpers import exactly

# No NUL: NumPy's strings lose those at their ends (see the last test but one).
text = st.text(st.characters(exclude_characters="\0"), max_size=3)
floats = st.floats(allow_nan=False)
IDS = {
    "integers": st.integers(-3, 3),
    "huge integers": st.sampled_from([2**70, 2**70 + 1, -(2**80)]),
    "large integers": st.sampled_from([2**53, 2**53 + 1, 2**63 - 1, -(2**63)]),
    "floats": st.sampled_from([0.0, -0.0, 0.1, 1e-300, -np.inf, np.inf]) | floats,
    "booleans": st.booleans(),
    "strings": text,
    "bytes": st.sampled_from([b"a", b"b", b"ab"]),
    "tuples": st.tuples(st.integers(0, 1), text),
    "tuples of any length": st.lists(st.integers(0, 1), max_size=2).map(tuple),
    "fractions": st.sampled_from([Fraction(1, 3), Fraction(2, 3)]),
    "dates": st.dates(datetime.date(2020, 1, 1), datetime.date(2020, 1, 4)),
    "sets": st.frozensets(st.integers(0, 1)),
    "mixed": st.integers(0, 2) | text | floats | st.tuples(st.integers(0, 1)),
}
FEW = settings(max_examples=25)
every_kind = pytest.mark.parametrize("kind", IDS)


def by_definition(qid):
    """Return the rows of each query, queries in the order of their first rows."""
    rows = {}
    for row, name in enumerate(qid):
        rows.setdefault(name, []).append(row)
    return rows


def check(queries, qid):
    """Compare with the definition; `qid` is a list."""
    expected = by_definition(qid)
    assert queries.ids.tolist() == list(expected)
    assert len(queries) == len(expected)
    assert queries.sizes.tolist() == [len(rows) for rows in expected.values()]
    arranged = queries.arrange(np.arange(len(qid)))
    parts = np.split(arranged, queries.offsets[1:-1]) if qid else []
    assert [part.tolist() for part in parts] == list(expected.values())
    place = {name: i for i, name in enumerate(expected)}
    assert queries.of_rows().tolist() == [place[name] for name in qid]


@every_kind
@FEW
@given(st.data())
def test_queries_are_what_the_definition_says(kind, data):
    qid = data.draw(st.lists(IDS[kind], max_size=12))
    check(Queries.of(qid, len(qid)), qid)
    check(Queries.of(tuple(qid), len(qid)), qid)
    check(Queries.of(iter(qid), len(qid)), qid)


@every_kind
@FEW
@given(st.data())
def test_what_is_arranged_can_be_restored(kind, data):
    qid = data.draw(st.lists(IDS[kind], max_size=12))
    queries = Queries.of(qid, len(qid))
    matrix = np.arange(2.0 * len(qid)).reshape(-1, 2)
    for values in (matrix, matrix[:, 0], matrix[:, 1].astype(object)):
        assert_array_equal(queries.restore(queries.arrange(values)), values)
        assert_array_equal(queries.arrange(queries.restore(values)), values)


@pytest.mark.parametrize(
    "form",
    [
        np.array,
        lambda q: np.array(q, dtype=np.uint8),
        lambda q: np.array(q, dtype=">i4"),
        lambda q: np.array(q, dtype=np.float32),
        lambda q: np.array(q, dtype=object),
        lambda q: np.repeat(q, 2)[::2],
        lambda q: pd.Series(q, index=q),
        lambda q: pd.Series(q, dtype="Int64"),
        lambda q: pd.Series(q, dtype="category"),
        pl.Series,
        pytest.param(lambda q: pl.Series(q, dtype=pl.Int128), id="Int128"),
    ],
)
def test_columns_of_every_kind_are_taken(form):
    qid = [5, 5, 2, 5, 9, 2]
    check(Queries.of(form(qid), 6), qid)


@pytest.mark.parametrize(
    "form",
    [
        np.array,
        pd.Series,
        lambda q: pd.Series(q, dtype="category"),
        lambda q: pd.Series(q, dtype=object),
        pl.Series,
        lambda q: pl.Series(q, dtype=pl.Categorical),
        pa.array,
        lambda q: np.array(q, dtype=">U5"),
        lambda q: np.array(q, dtype=np.dtypes.StringDType()),
    ],
)
def test_columns_of_strings_are_taken(form):
    qid = ["no", "no", "yes", "no"]
    check(Queries.of(form(qid), 4), qid)


@pytest.mark.parametrize("dtype", ["U", "S"])
@FEW
@given(st.lists(st.text("ab", max_size=9), max_size=30))
def test_arrays_of_texts_are_what_the_definition_says(dtype, qid):
    column = np.array(qid, dtype=dtype)
    queries = Queries.of(column, len(qid))
    check(queries, column.tolist())
    assert queries.ids.dtype == column.dtype


def test_texts_with_the_same_digest_stay_apart(monkeypatch):
    monkeypatch.setattr(_labels_and_queries, "_digests", lambda texts: np.zeros(len(texts)))
    qid = ["b", "a", "b", "c", "a"]
    check(Queries.of(np.array(qid), 5), qid)


def test_more_queries_than_16_bits_can_number():
    n_queries = 2**16 + 3
    qid = np.concatenate([np.arange(n_queries), np.arange(n_queries)[::-1]])
    queries = Queries.of(qid, len(qid))
    assert_array_equal(queries.ids, np.arange(n_queries))
    assert_array_equal(queries.of_rows(), qid)
    rows = queries.arrange(np.arange(len(qid))).reshape(-1, 2)
    assert_array_equal(rows[:, 0], np.arange(n_queries))
    assert_array_equal(rows[:, 1], len(qid) - 1 - np.arange(n_queries))


def test_without_a_number_of_rows_every_length_will_do():
    check(Queries.of(iter("abaa")), list("abaa"))


def test_no_qid_is_one_query():
    queries = Queries.of(None, 4)
    assert queries.offsets.tolist() == [0, 4]
    assert queries.order is None
    assert queries.of_rows().tolist() == [0, 0, 0, 0]


def test_rows_that_stand_together_are_not_moved():
    queries = Queries.of(["b", "b", "a", "c"], 4)
    assert queries.order is None
    values = np.arange(4)
    assert queries.arrange(values) is values
    assert queries.restore(values) is values


def test_equal_ids_of_different_types_are_one_query():
    check(Queries.of([1, 1.0, True, "1"], 4), [1, 1.0, True, "1"])


def test_values_that_are_equal_as_floats_only_stay_apart():
    assert len(Queries.of([2**53, 2**53 + 1], 2)) == 2


REFUSED = {
    "too few": ([1, 2], "qid must be one value per row, 3 in all; got 2."),
    "too many": (list("abcd"), "qid must be one value per row, 3 in all; got 4."),
    "empty": ([], "qid must be one value per row, 3 in all; got 0."),
    "a matrix": (np.zeros((3, 1)), "qid must be one-dimensional; got an array of shape (3, 1)."),
    "a number": (np.array(3), "qid must be one-dimensional; got an array of shape ()."),
    "a frame": (
        pd.DataFrame({"a": [1, 2, 3]}),
        "qid must be one-dimensional; got an array of shape (3, 1).",
    ),
    "a polars frame": (
        pl.DataFrame({"a": [1, 2, 3]}),
        "qid must be one-dimensional; got an array of shape (3, 1).",
    ),
    "a sparse matrix": (
        sparse.csr_array((1, 3)),
        "qid must be one-dimensional; got an array of shape (1, 3).",
    ),
    "a plain number": (3, "qid must be one value per row; got 3."),
    "a word": ("abc", "qid must be one value per row; got 'abc'."),
    "a class": (list, "qid must be one value per row; got <class 'list'>."),
    "a set": ({1, 2, 3}, "qid must be one value per row; got {1, 2, 3}."),
    "a dict": ({1: 1, 2: 2}, "qid must be one value per row; got {1: 1, 2: 2}."),
    "a masked value": (
        np.ma.array([1, 2, 3], mask=[False, True, False]),
        "qid must be without gaps; got None in row 1.",
    ),
    "complex nan": (
        np.array([1j, complex("nan"), 1]),
        "qid must be without gaps; got (nan+0j) in row 1.",
    ),
    "nan in a record": (
        np.array([(1, 2.0), (1, np.nan), (1, np.nan)], dtype="i8, f8"),
        "qid must be without gaps; got (1, nan) in row 1.",
    ),
    "nan in a tuple": (
        [("a", None), ("a", None), ("a", float("nan"))],
        "qid must be without gaps; got ('a', nan) in row 2.",
    ),
    "nan": ([1.0, np.nan, 2.0], "qid must be without gaps; got nan in row 1."),
    "float32 nan": (
        np.array([1, 2, np.nan], dtype=np.float32),
        "qid must be without gaps; got nan in row 2.",
    ),
    "a pandas nan": (pd.Series([np.nan, 1, 2]), "qid must be without gaps; got nan in row 0."),
    "a pandas NA": (
        pd.Series([1, None, 2], dtype="Int64"),
        "qid must be without gaps; got nan in row 1.",
    ),
    "a polars null": (pl.Series([1, None, 2]), "qid must be without gaps; got nan in row 1."),
}


@pytest.mark.parametrize(("qid", "sentence"), REFUSED.values(), ids=REFUSED)
def test_refused(qid, sentence):
    with pytest.raises(DataError, match=exactly(sentence)):
        Queries.of(qid, 3)


UNHASHABLE = {
    "lists": ([[1], [2], [1]], "list"),
    "dicts": ([{}, {}, {}], "dict"),
    "lists in tuples": ([(1, [2]), 1, 1], "list"),
    "arrays": ([np.array([1, 2])] * 3, "numpy.ndarray"),
    "pandas lists": (pd.Series([[1], [2], [1]]), "list"),
    "polars lists": (pl.Series([[1], [2], [1]]), "numpy.ndarray"),
    "polars structs": (pl.Series([{"a": 1}, {"a": 2}, {"a": 1}]), "dict"),
    "polars arrays": (pl.Series([[1, 2]] * 3, dtype=pl.Array(pl.Int64, 2)), "list"),
}


@pytest.mark.parametrize(("qid", "kind"), UNHASHABLE.values(), ids=UNHASHABLE)
def test_values_that_cannot_be_hashed_are_refused(qid, kind):
    # The words after "got" are Python's, and change with it.
    sentence = rf"^qid must be hashable values; got .*'{kind}'.*\.$"
    with pytest.raises(DataError, match=sentence):
        Queries.of(qid, 3)


@pytest.mark.parametrize("qid", [["a", "a\0"], [b"a", b"a\0"]])
def test_a_zero_at_the_end_counts(qid):
    check(Queries.of(qid, 2), qid)


@pytest.mark.parametrize(
    "qid",
    [
        ["a", None, "b"],
        ["a", float("nan"), "b"],
        pd.Series(["a", None, "b"]),
        pd.Series(["a", None, "b"], dtype="category"),
        pl.Series(["a", None, "b"]),
        np.array(["2020-01-01", "NaT", "NaT"], dtype="M8[D]"),
        np.array(["a", None, "b"], dtype=np.dtypes.StringDType(na_object=None)),
        pa.array(["a", None, "b"]),
        [("a", pd.NA), ("a", 1), ("b", 1)],
    ],
    ids=lambda qid: f"{type(qid).__module__} {getattr(qid, 'dtype', type(qid[0]))}",
)
def test_missing_values_of_other_kinds_are_refused(qid):
    with pytest.raises(DataError, match=r"^qid must be without gaps; got "):
        Queries.of(qid, 3)


def test_a_column_that_cannot_be_read_says_why():
    class Elsewhere:
        shape = (3,)

        def __iter__(self):
            raise AssertionError("must not be asked one by one")

        def __array__(self, dtype=None, copy=None):
            raise TypeError("on another device")

    with pytest.raises(TypeError, match="on another device"):
        Queries.of(Elsewhere(), 3)
