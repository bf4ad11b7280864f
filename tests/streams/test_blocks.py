"""Blocks hold whole queries and all rows in their order, wherever pieces end."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from peckorder.exceptions import DataError
from peckorder.streams import Block, Stream, from_arrays
from support.helpers import exactly
from support.stream_files import expected_sizes, rows_of

queries = st.lists(st.integers(1, 9), min_size=1, max_size=12)


class Pieces(Stream):
    """A stream whose source gives pieces of sizes of its own."""

    source_name = "pieces"

    def __init__(self, X, y, qid, cuts, rows):
        self.X, self.y, self.qid, self.cuts, self.rows = X, y, qid, cuts, rows
        self.n_features, self.has_queries = X.shape[1], qid is not None

    def pieces(self, start, skipped):
        if self.qid is not None:
            skipped(self.qid[:start])
        bounds = sorted({start, len(self.y), *(c for c in self.cuts if c > start)})
        # One piece more has no rows.
        for begin, end in [(start, start), *pairwise(bounds)]:
            qid = None if self.qid is None else self.qid[begin:end]
            yield Block(self.X[begin:end], self.y[begin:end], qid)

    def identity(self):
        return {}


def made(lengths, names="numbers", has_queries=True):
    """Return rows of queries of the lengths given."""
    n_rows = sum(lengths)
    X = np.arange(2.0 * n_rows).reshape(n_rows, 2)
    ids = np.random.default_rng(0).permutation(len(lengths))
    if names == "texts":
        ids = np.array([f"q{'x' * one}{one}" for one in ids])
    if names == "dates":
        ids = np.datetime64("2020-01-01") + ids
    if names == "floats":
        ids = ids / 4.0
    qid = np.repeat(ids, lengths) if has_queries else None
    return X, np.arange(n_rows), qid


@given(
    queries,
    st.lists(st.integers(0, 60), max_size=8),
    st.integers(1, 20),
    st.sampled_from(["numbers", "texts", "dates", "floats"]),
    st.booleans(),
    st.booleans(),
)
def test_blocks_of_whole_queries(lengths, cuts, rows, names, has_queries, is_sparse):
    X, y, qid = made(lengths, names, has_queries)
    cuts = [cut for cut in cuts if cut < len(y)]
    stream = Pieces(sparse.csr_array(X) if is_sparse else X, y, qid, cuts, rows)
    blocks = list(stream)
    assert [len(block) for block in blocks] == expected_sizes(qid, len(y), rows)
    everything = {"X": X.tolist(), "y": y.tolist()}
    everything["qid"] = None if qid is None else qid.tolist()
    assert rows_of(blocks) == everything


@given(queries, st.lists(st.integers(0, 60), max_size=8), st.integers(1, 20))
def test_blocks_from_a_later_row_are_those_that_follow(lengths, cuts, rows):
    X, y, qid = made(lengths)
    stream = Pieces(X, y, qid, [cut for cut in cuts if cut < len(y)], rows)
    blocks = list(stream)
    starts = np.cumsum([0, *map(len, blocks)])
    for number, start in enumerate(starts[:-1]):
        rest = list(stream.blocks(int(start)))
        assert [len(b) for b in rest] == [len(b) for b in blocks[number:]]
        assert rows_of(rest) == rows_of(blocks[number:])
    assert list(stream.blocks(len(y))) == []


@given(
    st.lists(st.integers(1, 4), min_size=3, max_size=9),
    st.lists(st.integers(0, 40), max_size=6),
    st.integers(1, 12),
    st.sampled_from(["numbers", "texts", "dates", "floats"]),
    st.data(),
)
@settings(max_examples=80)
def test_a_query_that_comes_again_is_refused(lengths, cuts, rows, names, data):
    X, y, qid = made(lengths, names)
    first = data.draw(st.integers(0, len(lengths) - 3))
    later = data.draw(st.integers(first + 2, len(lengths) - 1))
    ends = np.cumsum(lengths)
    again = qid[ends[first] - 1]
    qid[ends[later] - lengths[later] : ends[later]] = again
    stream = Pieces(X, y, qid, [cut for cut in cuts if cut < len(y)], rows)
    sentence = (
        "pieces: the rows of a query must be consecutive; got the query "
        f"{again.tolist()!r} again after others, in row {ends[later - 1]}. Sort the "
        "rows by query."
    )
    with pytest.raises(DataError, match=exactly(sentence)):
        list(stream)
    # Also if the first of its rows were learnt before.
    with pytest.raises(DataError, match=exactly(sentence)):
        list(stream.blocks(int(ends[later] - lengths[later])))


def test_many_queries_are_recognised():
    qid = np.arange(100_000)
    qid[-1] = 3
    stream = from_arrays(np.zeros((len(qid), 1)), np.zeros(len(qid)), qid, rows=1000)
    with pytest.raises(DataError, match="got the query 3 again after others"):
        for _ in stream:
            pass


def test_queries_of_unknown_types():
    sentence = "from_arrays: qid must be numbers, texts or dates; got complex128."
    with pytest.raises(DataError, match=exactly(sentence)):
        list(from_arrays([[1.0]], [1], [1j]))
    with pytest.raises(DataError, match="got objects of other kinds"):
        from_arrays([[1.0]], [1], np.array([object()]))


@pytest.mark.parametrize(
    ("y", "qid", "sentence"),
    [
        ([1.0, np.nan], [1, 1], "y must be without gaps; got nan in row 1."),
        ([1.0, 2.0], [1.0, np.nan], "qid must be without gaps; got nan in row 1."),
        (["a", None], [1, 1], "y must be without gaps; got None in row 1."),
    ],
)
def test_gaps(y, qid, sentence):
    y = np.array(y, dtype=object if None in y else None)
    with pytest.raises(DataError, match=exactly(f"from_arrays: {sentence}")):
        list(from_arrays([[0.0], [1.0]], y, qid))


def test_gaps_are_counted_from_the_first_row():
    y = np.zeros(100)
    y[77] = np.nan
    with pytest.raises(DataError, match=r"got nan in row 77\.$"):
        list(from_arrays(np.zeros((100, 1)), y, rows=10))


def test_rows_unlike_those_before():
    class Odd(Pieces):
        def pieces(self, start, skipped):
            yield Block(np.zeros((2, 3)), np.zeros(2))

    with pytest.raises(DataError, match="every row must have 2 features and a label"):
        list(Odd(np.zeros((2, 2)), np.zeros(2), None, [], 5))

    class Queried(Pieces):
        def pieces(self, start, skipped):
            yield Block(np.zeros((2, 2)), np.zeros(2), np.zeros(2))

    with pytest.raises(DataError, match="all rows must have a query and a weight"):
        list(Queried(np.zeros((2, 2)), np.zeros(2), None, [], 5))

    class Mixed(Pieces):
        def pieces(self, start, skipped):
            yield Block(np.zeros((1, 2)), np.zeros(1), np.array([1]))
            yield Block(np.zeros((1, 2)), np.zeros(1), np.array(["1"]))

    with pytest.raises(DataError, match="qid must be of one type throughout"):
        list(Mixed(np.zeros((2, 2)), np.zeros(2), np.zeros(2), [], 5))


def test_a_block_is_a_view_where_it_can_be():
    X = np.arange(20.0).reshape(10, 2)
    for block in from_arrays(X, np.arange(10), rows=5):
        assert np.shares_memory(block.X, X)
    # Two pieces, but one block.
    (block,) = Pieces(X, np.arange(10), None, [5], 10)
    assert not np.shares_memory(block.X, X)


def test_blocks_travel():
    block = Block(np.eye(2), np.arange(2), np.array([1, 1]), np.ones(2))
    again = pickle.loads(pickle.dumps(block))
    assert rows_of([again]) == rows_of([block])
    assert len(again) == 2
    with pytest.raises(AttributeError):
        block.y = block.qid
