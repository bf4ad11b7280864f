"""Columns of rows that come in blocks: kept in a file until they can be binned."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from peckorder._core.threads import Team
from peckorder._core.typing import Ints
from peckorder.boosting.columns.binned import MOST_BINS, Cuts, cells
from peckorder.boosting.columns.scratch_files import Scratch, free_memory
from peckorder.boosting.compiled import binning
from peckorder.exceptions import DataError

# Bytes that are gathered before they are written, and columns taken at a time.
_CHUNK = 1 << 26
_AT_ONCE = 8
# Entries that are looked up at a time.
_PIECE = 1 << 18


class Spool:
    """Rows in a file, chunk by chunk, each chunk column by column.

    `dtype` is that of all blocks. With max_bins None a column with too many values to
    have a bin each is refused as soon as they are seen.
    """

    def __init__(
        self, scratch: Scratch, n_columns: int, dtype: Any, max_bins: int | None
    ) -> None:
        self.n_columns, self.dtype, self.max_bins = n_columns, np.dtype(dtype), max_bins
        self.n_rows = 0
        self._scratch, self._file = scratch, scratch.file()
        n_rows = max(1, _CHUNK // (self.dtype.itemsize * n_columns))
        self._chunk = np.empty((n_columns, n_rows), dtype=dtype)
        self._n_waiting = 0
        self._seen = [np.empty(0, dtype=dtype) for _ in range(n_columns)]

    def close(self) -> None:
        """Free the disk."""
        self._file.close()

    def add(self, X: Any, rows: Ints) -> None:
        """Put some rows of X behind those that are there."""
        if X.dtype != self.dtype:
            raise DataError(
                f"{self._scratch.who}: X must be of one type in all blocks, "
                f"{self.dtype} as in the first; got {X.dtype}."
            )
        n_taken, most = 0, self._chunk.shape[1]
        while n_taken < len(rows):
            n_more = min(len(rows) - n_taken, most - self._n_waiting)
            some = rows[n_taken : n_taken + n_more]
            room = self._chunk[:, self._n_waiting : self._n_waiting + n_more]
            for first in range(0, self.n_columns, _AT_ONCE):
                binning.take_columns(X, some, first, room[first : first + _AT_ONCE])
            if self.max_bins is None:
                self._look_at(room)
            n_taken += n_more
            self._n_waiting += n_more
            self.n_rows += n_more
            if self._n_waiting == most:
                self._write()

    def _write(self) -> None:
        self._scratch.check(self._chunk.nbytes, "the next rows")
        self._file.write(self._chunk.data)
        self._n_waiting = 0

    def _look_at(self, columns: Any) -> None:
        """Note the values of columns; refuse one with too many."""
        for c, column in enumerate(columns):
            seen, others = self._seen[c], column
            if len(seen):
                place = np.searchsorted(seen, column).clip(max=len(seen) - 1)
                others = column[seen[place] != column]
            others = np.unique(others)
            self._seen[c] = np.union1d(seen, others[~np.isnan(others)])
            if len(self._seen[c]) > MOST_BINS:
                raise DataError(
                    f"{self._scratch.who}: max_bins must be an integer from 2 to 255 "
                    f"on a stream if a feature has more than 255 values; got None, and "
                    f"more of feature {c}. Use max_bins=255."
                )

    def bin(self, bins: Ints, team: Team) -> Cuts:
        """Cut all columns; write to bins (columns, n) what is where.

        One column is in memory at a time, and another one a thread where it has room.
        """
        cuts, stored = Cuts(self.n_columns), self._chunks()

        def work(some: slice, give_up: Callable[[], bool]) -> None:
            room_for_cells = cells()
            ordered = np.empty(self.n_rows, dtype=self.dtype)
            for c in range(some.start, some.stop):
                if give_up():
                    return
                for start, piece in self._pieces(stored, c):
                    ordered[start : start + len(piece)] = piece
                ordered.sort()
                cuts.find(c, ordered, self.max_bins)
                for start, piece in self._pieces(stored, c):
                    values = piece.astype(np.float64)
                    place = bins[c, start : start + len(piece)]
                    cuts.fill(c, values, place, room_for_cells)

        a_column = self.n_rows * self.dtype.itemsize
        team.share(self.n_columns, work, max(1, free_memory() // (2 * a_column)))
        return cuts

    def _chunks(self) -> list[Any]:
        """Return all there is, the rows that still wait as the last chunk."""
        chunks = [self._chunk[:, : self._n_waiting]]
        if self.n_rows > self._n_waiting:
            self._file.flush()
            written = np.memmap(self._file, self.dtype, mode="r")
            chunks = [*written.reshape(-1, *self._chunk.shape), *chunks]
        return chunks

    def _pieces(self, chunks: list[Any], c: int) -> Iterator[tuple[int, Any]]:
        """Yield the entries of a column, with where they begin."""
        start = 0
        for chunk in chunks:
            for first in range(0, chunk.shape[1], _PIECE):
                piece = chunk[c, first : first + _PIECE]
                yield start + first, piece
            start += chunk.shape[1]
