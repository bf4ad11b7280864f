"""Streams of arrays, memory maps above all: views, no copies."""

import mmap
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from weakref import finalize

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from peckorder._core.errors import entry, refusal
from peckorder._core.typing import Array, Ints, Labels, Matrix
from peckorder._core.validation import optional, unmasked, whole
from peckorder.streams.block import OF_ARRAYS, Block, Stream, default_rows
from peckorder.tables.columns import frame_names

# Queries of skipped rows are read in pieces of so many rows.
_MANY = 1 << 16
# Bytes of the pieces of an array that identify it; of a map only some pieces.
_SAMPLE = 1 << 16
# Maps whose changes, if any, are in the file: their pages can be had again.
_SHARED = ("r", "r+", "w+")
# Reading a page may load so many bytes around it, which were given back before.
_AROUND = 1 << 22


@entry
def from_arrays(
    X: ArrayLike,
    y: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    weight: ArrayLike | None = None,
    rows: int | None = None,
) -> Stream:
    """Return the rows of arrays as a stream, without copies.

    Made for memory maps (`numpy.load(path, mmap_mode="r")`, `numpy.memmap`): blocks are
    views of them, the pages of a finished block are given back to the system, and those
    of the next are requested in advance. So a file of any size needs little memory.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_rows, n_features)
        The features; those of a frame have names. What is neither float64 nor float32,
        or not stored by rows, is copied, block by block.
    y : array-like of shape (n_rows,)
        The labels.
    qid : array-like of shape (n_rows,), default=None
        The queries: numbers, texts or dates. The rows of a query are consecutive.
    weight : array-like of shape (n_rows,), default=None
        The weights of rows.
    rows : int, default=None
        The most rows of a block, unless a query has more. None: as many as have 8 MiB
        of features.

    Returns
    -------
    stream : Stream
        To be iterated, or for `peckorder.streams.fit`.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from peckorder.streams import from_arrays
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/X.npy", np.arange(12.0).reshape(6, 2))
    ...     X = np.load(f"{folder}/X.npy", mmap_mode="r")
    ...     stream = from_arrays(X, np.arange(6), rows=4)
    ...     [block.X.shape for block in stream]
    [(4, 2), (2, 2)]
    """
    optional(whole(1)).check("rows", rows)
    stream = _Arrays(_features(X), y, qid, weight, rows)
    stream.feature_names = frame_names(X)
    return stream


class _Arrays(Stream):
    source_name = "from_arrays"
    n_rows: int

    def __init__(
        self,
        X: Matrix,
        y: ArrayLike,
        qid: ArrayLike | None,
        weight: ArrayLike | None,
        rows: int | None,
    ) -> None:
        self.n_rows, self.n_features = X.shape
        self._X = X
        self._y = _column("y", y, self.n_rows)
        self._qid = None if qid is None else _column("qid", qid, self.n_rows)
        self._weight = None if weight is None else _column("weight", weight, self.n_rows)
        self.has_queries = qid is not None
        self.has_weights = weight is not None
        self.rows = rows or default_rows(
            self.n_features, 4 if X.dtype == np.float32 else 8, OF_ARRAYS
        )

    def pieces(self, start: int, skipped: Callable[[Labels], object]) -> Iterator[Block]:
        """Yield the rows from number `start` on, pieces that are blocks already."""
        if self._qid is not None:
            for first in range(0, start, _MANY):
                skipped(_plain(self._qid[first : min(first + _MANY, start)]))
        qid, weight = self._qid, self._weight
        pages = _Pages.of(self._X, self._y, qid, weight)
        while start < self.n_rows:
            end = self._end_of_block(start)
            pages.expect(end, end + self.rows)
            some = slice(start, end)
            block = Block(
                _ready(self._X[some]),
                _plain(self._y[some]),
                None if qid is None else _plain(qid[some]),
                None if weight is None else _plain(weight[some]),
            )
            # Its pages are given back with the last reference to the block.
            finalize(block, pages.leave, start, end).atexit = False
            yield block
            del block
            start = end

    def _end_of_block(self, first: int) -> int:
        """Return the end of a block: blocks that span two pieces would be copies."""
        end = min(first + self.rows, self.n_rows)
        if self._qid is None or end == self.n_rows:
            return end
        ends = _changes(self._qid[first : end + 1])
        if len(ends):
            return first + int(ends[-1])
        while not len(ends) and end < self.n_rows:  # a long query
            first, end = end, min(end + self.rows, self.n_rows)
            ends = _changes(self._qid[first : end + 1])
        return first + int(ends[0]) if len(ends) else self.n_rows

    def labels(self) -> Iterator[Labels]:
        """Yield the labels alone, in their order."""
        pages = _Pages.of(self._y)
        for first in range(0, self.n_rows, _MANY):
            yield _plain(self._y[first : first + _MANY])
            pages.leave(first, first + _MANY)

    def identity(self) -> dict[str, object]:
        columns = {"y": self._y, "qid": self._qid, "weight": self._weight}
        return {
            "source": "arrays",
            "X": _digest(self._X),
            **{name: None if c is None else _digest(c) for name, c in columns.items()},
            "rows": self.rows,
        }


def _features(X: Any) -> Any:
    unmasked("X", X)
    if sparse.issparse(X):
        X = X.tocsr()
    elif not isinstance(X, np.ndarray):
        X = np.asarray(X)
    if X.ndim != 2 or X.shape[1] == 0 or X.dtype.kind not in "biuf":
        raise refusal(
            "X", "be numbers in rows and columns", f"an array of shape {X.shape} and type {X.dtype}"
        )
    return X


def _column(name: str, values: ArrayLike, n_rows: int | None) -> Array:
    unmasked(name, values)
    column = values if isinstance(values, np.ndarray) else np.asarray(values)
    if column.ndim != 1 or len(column) != n_rows:
        raise refusal(
            name, f"be one value per row, {n_rows} in all", f"an array of shape {column.shape}"
        )
    if name == "qid" and column.dtype.kind == "O":
        if not all(isinstance(value, str) for value in column):
            raise refusal("qid", "be numbers, texts or dates", "objects of other kinds")
        column = column.astype(str)
    return column


def _plain(values: Array) -> Array:
    return values.view(np.ndarray)


def _ready(X: Any) -> Any:
    """Return rows as float64 or float32."""
    if sparse.issparse(X):
        return X if X.dtype in (np.float64, np.float32) else X.astype(np.float64)
    kind = X.dtype if X.dtype in (np.float64, np.float32) else np.float64
    return np.asarray(_plain(X), dtype=kind, order="C")


def _changes(values: Array) -> Array:
    """Return the positions at which a value differs from the one before."""
    return np.flatnonzero(values[1:] != values[:-1]) + 1


class _Map(NamedTuple):
    """The position of an array in a memory map: a row begins every `stride` bytes."""

    source: mmap.mmap
    begin: int
    stride: int
    end: int


class _Pages:
    """The pages of rows in memory maps; pages given back too early are read again."""

    def __init__(self, maps: list[_Map]) -> None:
        self._maps = maps

    @classmethod
    def of(cls, *arrays: Any) -> "_Pages":
        """Return the pages of all arrays that lie in a shared map, row by row."""
        found = []
        for array in arrays:
            if not isinstance(array, np.memmap) or array.mode not in _SHARED:
                continue
            source: Any = getattr(array, "_mmap", None)
            is_plain = array.size and array.flags.c_contiguous
            if is_plain and hasattr(source, "madvise"):
                first = np.frombuffer(source, dtype=np.uint8).ctypes.data
                begin = array.ctypes.data - first
                place = begin, array.strides[0], begin + array.nbytes
                found.append(_Map(source, *place))
        return cls(found)

    def expect(self, first: int, last: int) -> None:
        """Request the pages of rows, to be read while others are learnt."""
        self._advise("MADV_WILLNEED", first, last, 0)

    def leave(self, first: int, last: int) -> None:
        """Give back the pages of rows, and of those just before."""
        self._advise("MADV_DONTNEED", first, last, _AROUND)

    def _advise(self, advice: str, first: int, last: int, before: int) -> None:
        for source, origin, stride, most in self._maps:
            begin = max(0, origin + first * stride - before)
            begin = begin // mmap.PAGESIZE * mmap.PAGESIZE
            end = min(origin + last * stride, most)
            if end > begin:
                source.madvise(getattr(mmap, advice), begin, end - begin)


def _digest(array: Any) -> list[object]:
    """Return what identifies an array: shape, type, and a digest of its bytes.

    Of a map, which may be large, some of them, and the time of its file.
    """
    if sparse.issparse(array):
        inner = (array.data, array.indices, array.indptr)
        return [list(array.shape), *map(_digest, inner)]
    mixed = sha256()
    n_rows = len(array)
    parts: list[object] = [list(array.shape), array.dtype.str]
    size = max(1, _SAMPLE // max(array[:1].nbytes, 1))
    positions: Sequence[int] | Ints = range(0, n_rows, size)
    if isinstance(array, np.memmap):
        positions = np.unique(np.linspace(0, max(n_rows - size, 0), 16).astype(int))
        if array.filename is not None:
            parts.append(Path(array.filename).stat().st_mtime_ns)
    for first in positions:
        some = np.ascontiguousarray(array[first : first + size])
        mixed.update(
            repr(some.tolist()).encode() if array.dtype.kind == "O" else some.view(np.uint8).data
        )
    return [*parts, mixed.hexdigest()]
