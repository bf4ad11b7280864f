"""Queries: ids of any kind and in any order become contiguous rows."""

import datetime
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from helpers import exactly
from peckorder.exceptions import DataError
from peckorder.feedback import Queries

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
    check(Queries.of("Test", qid, len(qid)), qid)
    check(Queries.of("Test", tuple(qid), len(qid)), qid)
    check(Queries.of("Test", iter(qid), len(qid)), qid)


@every_kind
@FEW
@given(st.data())
def test_what_is_arranged_can_be_restored(kind, data):
    qid = data.draw(st.lists(IDS[kind], max_size=12))
    queries = Queries.of("Test", qid, len(qid))
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
    ],
)
def test_columns_of_every_kind_are_taken(form):
    qid = [5, 5, 2, 5, 9, 2]
    check(Queries.of("Test", form(qid), 6), qid)


@pytest.mark.parametrize(
    "form",
    [
        np.array,
        pd.Series,
        lambda q: pd.Series(q, dtype="category"),
        lambda q: pd.Series(q, dtype=object),
        pl.Series,
        lambda q: pl.Series(q, dtype=pl.Categorical),
    ],
)
def test_columns_of_strings_are_taken(form):
    qid = ["no", "no", "yes", "no"]
    check(Queries.of("Test", form(qid), 4), qid)


def test_no_qid_is_one_query():
    queries = Queries.of("Test", None, 4)
    assert queries.offsets.tolist() == [0, 4]
    assert queries.order is None
    assert queries.of_rows().tolist() == [0, 0, 0, 0]


def test_rows_that_stand_together_are_not_moved():
    queries = Queries.of("Test", ["b", "b", "a", "c"], 4)
    assert queries.order is None
    values = np.arange(4)
    assert queries.arrange(values) is values
    assert queries.restore(values) is values


def test_equal_ids_of_different_types_are_one_query():
    check(Queries.of("Test", [1, 1.0, True, "1"], 4), [1, 1.0, True, "1"])


def test_values_that_are_equal_as_floats_only_stay_apart():
    assert len(Queries.of("Test", [2**53, 2**53 + 1], 2)) == 2


REFUSED = {
    "too few": ([1, 2], "qid must be one value a row, 3 in all; got 2."),
    "too many": (list("abcd"), "qid must be one value a row, 3 in all; got 4."),
    "empty": ([], "qid must be one value a row, 3 in all; got 0."),
    "a matrix": (
        np.zeros((3, 1)),
        "qid must be one-dimensional; got an array of shape (3, 1).",
    ),
    "a number": (
        np.array(3),
        "qid must be one-dimensional; got an array of shape ().",
    ),
    "nan": ([1.0, np.nan, 2.0], "qid must be without gaps; got nan in row 1."),
    "float32 nan": (
        np.array([1, 2, np.nan], dtype=np.float32),
        "qid must be without gaps; got nan in row 2.",
    ),
    "a pandas nan": (
        pd.Series([np.nan, 1, 2]),
        "qid must be without gaps; got nan in row 0.",
    ),
    "a pandas NA": (
        pd.Series([1, None, 2], dtype="Int64"),
        "qid must be without gaps; got nan in row 1.",
    ),
    "a polars null": (
        pl.Series([1, None, 2]),
        "qid must be without gaps; got nan in row 1.",
    ),
}


@pytest.mark.parametrize(("qid", "sentence"), REFUSED.values(), ids=REFUSED)
def test_refused(qid, sentence):
    with pytest.raises(DataError, match=exactly(f"Test: {sentence}")):
        Queries.of("Test", qid, 3)


def test_values_that_cannot_be_hashed_are_refused():
    # The words after "got" are Python's, and change with it.
    with pytest.raises(DataError, match=r"^Test: qid must be hashable values; got .*"):
        Queries.of("Test", [[1], [2], [1]], 3)


@pytest.mark.parametrize("qid", [["a", "a\0"], [b"a", b"a\0"]])
def test_a_zero_at_the_end_counts(qid):
    check(Queries.of("Test", qid, 2), qid)


@pytest.mark.parametrize(
    "qid",
    [
        ["a", None, "b"],
        ["a", float("nan"), "b"],
        pd.Series(["a", None, "b"]),
        pd.Series(["a", None, "b"], dtype="category"),
        pl.Series(["a", None, "b"]),
        np.array(["2020-01-01", "NaT", "NaT"], dtype="M8[D]"),
    ],
    ids=lambda qid: f"{type(qid).__module__} {getattr(qid, 'dtype', '')}",
)
def test_missing_values_of_other_kinds_are_refused(qid):
    with pytest.raises(DataError, match=r"^Test: qid must be without gaps; got "):
        Queries.of("Test", qid, 3)
