"""Pieces of any size become blocks of whole queries."""

from collections import deque
from collections.abc import Iterator
from hashlib import blake2b
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from peckorder._core.errors import refusal
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
    queries = Queries(stream)
    waiting = _Waiting(stream.rows)
    number = start
    for piece in stream.pieces(start, queries.begin):
        check_piece(stream, piece, number)
        number += len(piece)
        if len(piece) == 0:
            continue
        if piece.qid is None:
            waiting.add(piece, None)
        else:
            waiting.add(piece, queries.begin(piece.qid))
        while (n_rows := waiting.next_size()) > 0:
            yield waiting.take(n_rows)
    while len(waiting):
        yield waiting.take(waiting.next_size(ended=True))


def check_piece(stream: Stream, piece: Block, number: int) -> None:
    """Refuse rows that are not like those promised; the first has a number."""
    who, y, qid = stream.who, piece.y, piece.qid
    if piece.X.shape != (len(y), stream.n_features):
        raise refusal(
            "every row",
            f"have {stream.n_features} features and a label",
            f"{piece.X.shape[0]} rows of {piece.X.shape[1]} features with "
            f"{len(y)} labels from row {number} on",
        )
    check_gaps(stream, "y", y, number)
    if (qid is not None) != stream.has_queries or (
        piece.weight is not None
    ) != stream.has_weights:
        raise refusal(
            "all rows",
            "have a query and a weight, or none of them",
            f"others from row {number} on",
        )
    if qid is not None:
        check_gaps(stream, "qid", qid, number)


def check_gaps(stream: Stream, name: str, column: Labels, number: int) -> None:
    """Refuse a column with a missing value; its first row has a number."""
    is_missing = missing_cells(column)
    if is_missing.any():
        row = int(np.argmax(is_missing))
        value = column[row : row + 1].tolist()[0]
        raise refusal(
            name, "be without gaps", f"{value!r} in {stream.called(number + row)}"
        )


class Queries:
    """The queries that have begun, each of which may begin once.

    Eight bytes a query: numbers as they are, texts by a digest.
    """

    def __init__(self, stream: Stream) -> None:
        self.who, self._stream = stream.who, stream
        self._n_rows = 0  # before the column at hand
        self._last: object = None
        self._kind: str | None = None
        # Sorted, each more than twice as long as the next.
        self._known: list[NDArray[np.uint64]] = []

    def begin(self, qid: Labels) -> Ints:
        """Return the places in a column at which a query begins."""
        if len(qid) == 0:
            return np.empty(0, dtype=np.int64)
        self._check_kind(qid)
        is_new = np.empty(len(qid), dtype=bool)
        is_new[0] = self._last is None or qid[0] != self._last
        np.not_equal(qid[1:], qid[:-1], out=is_new[1:])
        starts = np.flatnonzero(is_new)
        self._last = qid[-1]
        self._remember(qid[starts], starts)
        self._n_rows += len(qid)
        return starts

    def _check_kind(self, qid: Labels) -> None:
        kind = qid.dtype.kind
        if kind not in "biufUSM":
            raise refusal("qid", "be numbers, texts or dates", qid.dtype)
        if kind != (self._kind or kind):
            raise refusal(
                "qid", "be of one type throughout", f"{qid.dtype} beside another"
            )
        self._kind = kind

    def _remember(self, ids: Labels, starts: Ints) -> None:
        if len(ids) == 0:
            return
        keys = _keys(ids)
        fresh, first = np.unique(keys, return_index=True)
        if len(fresh) < len(keys):
            is_again = np.ones(len(ids), dtype=bool)
            is_again[first] = False
            self._refuse(ids, starts, is_again)
        for known in self._known:
            place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
            is_known = known[place] == keys
            if is_known.any():
                self._refuse(ids, starts, is_known)
        while self._known and len(self._known[-1]) <= 2 * len(fresh):
            fresh = np.sort(np.concatenate([self._known.pop(), fresh]))
        self._known.append(fresh)

    def _refuse(self, ids: Labels, starts: Ints, is_again: Bools) -> NoReturn:
        place = int(np.argmax(is_again))
        row = self._n_rows + int(starts[place])
        raise refusal(
            "the rows of a query",
            "stand together",
            f"the query {ids[place : place + 1].tolist()[0]!r} again after "
            f"others, in {self._stream.called(row)}",
            hint="Sort the rows by query.",
        )


def _keys(ids: Labels) -> NDArray[np.uint64]:
    """Return a number for each query, of its own."""
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


class _Waiting:
    """Rows that have been read and not been given yet.

    Places are counted from the first row of all, so that they need not be moved.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._parts: deque[Block] = deque()
        self._n_used = 0  # rows of the first part
        self._begin = self._end = 0
        # Where queries end whose rows are all there; None without queries.
        self._ends: deque[int] | None = None

    def __len__(self) -> int:
        return self._end - self._begin

    def add(self, piece: Block, starts: Ints | None) -> None:
        """Let a piece wait, in which queries begin at the places given."""
        if starts is not None:
            # A query is whole where the next one begins.
            places = starts + self._end
            self._ends = deque() if self._ends is None else self._ends
            self._ends.extend(places[places > 0].tolist())
        self._parts.append(piece)
        self._end += len(piece)

    def next_size(self, *, ended: bool = False) -> int:
        """Return how many rows the next block has; 0 if that is not known yet."""
        if ended and len(self) <= self.most:
            return len(self)
        if self._ends is None:
            return self.most if len(self) >= self.most else 0
        # With no more rows than this a query may yet turn out to end at the last.
        if len(self) <= self.most:
            return 0
        if ended and (not self._ends or self._ends[-1] < self._end):
            self._ends.append(self._end)
        size = 0
        while self._ends and (size == 0 or self._ends[0] - self._begin <= self.most):
            size = self._ends.popleft() - self._begin
        return size

    def take(self, n_rows: int) -> Block:
        """Return the first rows, and have them no more."""
        self._begin += n_rows
        taken: list[Block] = []
        while n_rows:
            part, begin = self._parts[0], self._n_used
            end = min(len(part), begin + n_rows)
            is_whole = end - begin == len(part)
            taken.append(part if is_whole else part.part(begin, end))
            n_rows -= end - begin
            self._n_used = end
            if end == len(part):
                self._parts.popleft()
                self._n_used = 0
        return Block.joined(taken)
