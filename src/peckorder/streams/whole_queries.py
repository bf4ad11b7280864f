"""Pieces of any size become blocks of whole queries."""

from collections import deque
from collections.abc import Iterator
from hashlib import blake2b
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from peckorder._core.errors import named, refusal
from peckorder._core.text_files import ENCODING
from peckorder._core.typing import Bools, Ints, Labels
from peckorder.feedback import missing_cells
from peckorder.streams.block import Block, Stream


def whole_queries(stream: Stream, start: int) -> Iterator[Block]:
    """Yield the blocks of a stream from row number `start` on.

    Where a block ends depends on its own rows and those of the next query alone, so
    that it does not matter where reading began. A row is copied once at most, and only
    if its block spans pieces.
    """
    starts = QueryStarts(stream)
    buffer = _RowBuffer(stream.rows)
    number = start
    for piece in stream.pieces(start, starts.find):
        check_piece(stream, piece, number)
        number += len(piece)
        if len(piece) == 0:
            continue
        buffer.add(piece, None if piece.qid is None else starts.find(piece.qid))
        while (n_rows := buffer.next_size()) > 0:
            yield buffer.pop(n_rows)
    while len(buffer):
        yield buffer.pop(buffer.next_size(ended=True))


def check_piece(stream: Stream, piece: Block, number: int) -> None:
    """Refuse rows unlike those that the stream declares; `number` is of the first."""
    y, qid = piece.y, piece.qid
    if piece.X.shape != (len(y), stream.n_features):
        raise refusal(
            "every row",
            f"have {stream.n_features} features and a label",
            f"{piece.X.shape[0]} rows of {piece.X.shape[1]} features with "
            f"{len(y)} labels from row {number} on",
        )
    check_gaps(stream, "y", y, number)
    if (qid is not None) != stream.has_queries or (piece.weight is not None) != stream.has_weights:
        raise refusal(
            "all rows", "have a query and a weight, or none of them", f"others from row {number} on"
        )
    if qid is not None:
        check_gaps(stream, "qid", qid, number)


def check_gaps(stream: Stream, name: str, column: Labels, number: int) -> None:
    """Refuse a column with a missing value; `number` is of its first row."""
    is_missing = missing_cells(column)
    if is_missing.any():
        row = int(np.argmax(is_missing))
        value = column[row : row + 1].tolist()[0]
        got = f"{value!r} in {stream.called(number + row)}"
        with named(stream.source_name):
            raise refusal(name, "be without gaps", got)


class QueryStarts:
    """Finds where queries begin, each of which may begin once.

    Eight bytes of memory per query: numbers as they are, texts by a digest.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._n_rows = 0  # before the current column
        self._last: object = None
        self._dtype_kind: str | None = None
        # Sorted arrays of all queries so far, each more than twice as long as the next.
        self._known: list[NDArray[np.uint64]] = []

    def find(self, qid: Labels) -> Ints:
        """Return the positions in the next column at which a query begins."""
        if len(qid) == 0:
            return np.empty(0, dtype=np.int64)
        self._check_dtype(qid)
        is_new = np.empty(len(qid), dtype=bool)
        is_new[0] = self._last is None or qid[0] != self._last
        np.not_equal(qid[1:], qid[:-1], out=is_new[1:])
        starts = np.flatnonzero(is_new)
        self._last = qid[-1]
        self._add(qid[starts], starts)
        self._n_rows += len(qid)
        return starts

    def _check_dtype(self, qid: Labels) -> None:
        kind = qid.dtype.kind
        if kind not in "biufUSM":
            raise refusal("qid", "be numbers, texts or dates", qid.dtype)
        if kind != (self._dtype_kind or kind):
            got = f"{qid.dtype} beside another"
            raise refusal("qid", "be of one type throughout", got)
        self._dtype_kind = kind

    def _add(self, ids: Labels, starts: Ints) -> None:
        """Store the keys of queries; refuse one that began before."""
        if len(ids) == 0:
            return
        keys = _keys(ids)
        new_keys, first = np.unique(keys, return_index=True)
        if len(new_keys) < len(keys):
            is_repeated = np.ones(len(ids), dtype=bool)
            is_repeated[first] = False
            self._refuse(ids, starts, is_repeated)
        for known in self._known:
            position = np.minimum(np.searchsorted(known, keys), len(known) - 1)
            is_repeated = known[position] == keys
            if is_repeated.any():
                self._refuse(ids, starts, is_repeated)
        while self._known and len(self._known[-1]) <= 2 * len(new_keys):
            new_keys = np.sort(np.concatenate([self._known.pop(), new_keys]))
        self._known.append(new_keys)

    def _refuse(self, ids: Labels, starts: Ints, is_repeated: Bools) -> NoReturn:
        first = int(np.argmax(is_repeated))
        query = ids[first : first + 1].tolist()[0]
        row = self._stream.called(self._n_rows + int(starts[first]))
        raise refusal(
            "the rows of a query",
            "be consecutive",
            f"the query {query!r} again after others, in {row}",
            hint="Sort the rows by query.",
        )


def _keys(ids: Labels) -> NDArray[np.uint64]:
    """Return one number per query, different for different queries."""
    match ids.dtype.kind:
        case "u":
            return ids.astype(np.uint64)
        case "i" | "b":
            return ids.astype(np.int64).view(np.uint64)
        case "f":
            # Zero has two signs.
            return (ids.astype(np.float64) + 0.0).view(np.uint64)
        case "M":
            return ids.view(np.int64).view(np.uint64)
    names = ids if ids.dtype.kind == "S" else np.char.encode(ids, *ENCODING)
    digests = [blake2b(name, digest_size=8).digest() for name in names.tolist()]
    return np.frombuffer(b"".join(digests), dtype=np.uint64)


class _RowBuffer:
    """Rows that have been read and not yet been yielded.

    Positions count from the first row that was added, so that they never change.
    """

    def __init__(self, max_rows: int) -> None:
        self._max_rows = max_rows
        self._pieces: deque[Block] = deque()
        self._n_used = 0  # rows of the first piece that were yielded
        self._begin = self._end = 0
        # Where complete queries end; None without queries.
        self._ends: deque[int] | None = None

    def __len__(self) -> int:
        return self._end - self._begin

    def add(self, piece: Block, starts: Ints | None) -> None:
        """Append a piece in which queries begin at `starts`."""
        if starts is not None:
            # A query is complete where the next one begins.
            ends = starts + self._end
            self._ends = deque() if self._ends is None else self._ends
            self._ends.extend(ends[ends > 0].tolist())
        self._pieces.append(piece)
        self._end += len(piece)

    def next_size(self, *, ended: bool = False) -> int:
        """Return how many rows the next block has; 0 if more rows must be read."""
        if ended and len(self) <= self._max_rows:
            return len(self)
        if self._ends is None:
            return self._max_rows if len(self) >= self._max_rows else 0
        # The last row may be the end of a query that still fits.
        if len(self) <= self._max_rows:
            return 0
        if ended and (not self._ends or self._ends[-1] < self._end):
            self._ends.append(self._end)
        size = 0
        limit = self._begin + self._max_rows
        while self._ends and (size == 0 or self._ends[0] <= limit):
            size = self._ends.popleft() - self._begin
        return size

    def pop(self, n_rows: int) -> Block:
        """Remove the first rows and return them."""
        self._begin += n_rows
        popped: list[Block] = []
        while n_rows:
            piece, begin = self._pieces[0], self._n_used
            end = min(len(piece), begin + n_rows)
            is_whole = end - begin == len(piece)
            popped.append(piece if is_whole else piece.part(begin, end))
            n_rows -= end - begin
            self._n_used = end
            if end == len(piece):
                self._pieces.popleft()
                self._n_used = 0
        return Block.joined(popped)
