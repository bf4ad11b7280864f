"""Blocks of rows, and what a stream of them is."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from scipy import sparse

from peckorder._core.errors import entry_named, with_location
from peckorder._core.typing import Array, Bools, Floats, Labels

# Bytes of a block from files: learning takes less time than reading.
OF_FILES: Final = 1 << 22
# Views take no memory, and a call costs as much as learning a thousand rows.
OF_ARRAYS: Final = 1 << 23
# Names of columns that a stream shows.
_FEW = 3


def default_rows(n_features: int, item_size: int, n_bytes: int = OF_FILES) -> int:
    """Return the number of rows whose features take `n_bytes` bytes."""
    return max(1, n_bytes // (n_features * item_size))


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive rows of a stream; all rows of a query are in the same block.

    Attributes
    ----------
    X : ndarray or CSR array of shape (n_rows, n_features)
        The features, float64 or float32.
    y : ndarray of shape (n_rows,)
        The labels.
    qid : ndarray of shape (n_rows,) or None
        The queries.
    weight : ndarray of shape (n_rows,) or None
        The weights of rows.

    Examples
    --------
    >>> from peckorder.streams import from_arrays
    >>> stream = from_arrays([[0.0], [1.0], [2.0]], [1, 2, 3], qid=[7, 7, 8], rows=2)
    >>> [(len(block), block.qid.tolist()) for block in stream]
    [(2, [7, 7]), (1, [8])]
    """

    X: Any  # a dense or CSR array
    y: Labels
    qid: Labels | None = None
    weight: Floats | None = None

    def __len__(self) -> int:
        return len(self.y)

    def part(self, begin: int, end: int) -> Self:
        """Return a range of rows, as views where they are dense."""
        rows = slice(begin, end)
        return type(self)(
            self.X[rows],
            self.y[rows],
            None if self.qid is None else self.qid[rows],
            None if self.weight is None else self.weight[rows],
        )

    @classmethod
    def joined(cls, parts: "list[Block]") -> "Block":
        """Return the rows of all parts, of which there is at least one."""
        if len(parts) == 1:
            return parts[0]
        rows = [part.X for part in parts]
        is_sparse = sparse.issparse(rows[0])
        return cls(
            sparse.vstack(rows, format="csr") if is_sparse else np.concatenate(rows),
            np.concatenate([part.y for part in parts]),
            _joined([part.qid for part in parts]),
            _joined([part.weight for part in parts]),
        )


class Stream(ABC):
    """Rows that come in blocks, always in the same order.

    Iterating yields one `Block` after another, from the first row on; a stream can be
    iterated repeatedly. The end of a block depends only on the rows from its beginning
    on: it has as many whole queries as there are in `rows` rows, or one query if that is
    longer, or just `rows` rows without queries.

    A stream from a custom source derives from this class and defines `pieces`,
    `identity`, and the attributes.

    Attributes
    ----------
    source_name : str
        The name of the source, with which error messages begin.
    rows : int
        The maximal number of rows per block, unless a query has more.
    n_features : int
        The number of columns of every block.
    feature_names : tuple of str or None
        Their names, where the source has names.
    has_queries : bool
        Whether blocks have a `qid`.
    has_weights : bool
        Whether blocks have a `weight`.
    n_rows : int or None
        The number of all rows; None if it is unknown before reading.

    Examples
    --------
    >>> import numpy as np
    >>> from peckorder import WidrowHoff
    >>> from peckorder.streams import Block, Stream, fit
    >>> class Waves(Stream):
    ...     source_name, rows, n_features = "Waves", 100, 2
    ...
    ...     def pieces(self, start, skipped):
    ...         for first in range(start, 1000, 200):
    ...             t = np.arange(first, min(first + 200, 1000))
    ...             yield Block(np.column_stack([np.sin(t), np.cos(t)]), np.sin(t) > 0)
    ...
    ...     def identity(self):
    ...         return {"source": "waves"}
    >>> fit(WidrowHoff(), Waves()).n_rounds_
    1000
    """

    source_name: str
    rows: int
    n_features: int
    feature_names: tuple[str, ...] | None = None
    has_queries: bool = False
    has_weights: bool = False
    n_rows: int | None = None
    _shown: str = ""  # what the repr adds, such as files

    @abstractmethod
    def pieces(self, start: int, skipped: Callable[[Labels], object]) -> Iterator[Block]:
        """Yield the rows from number `start` on, in pieces of any size.

        If there are queries, those of the rows before `start` are passed to `skipped`
        in their order, in pieces of any size.
        """

    @abstractmethod
    def identity(self) -> dict[str, object]:
        """Return what identifies this stream, as values of JSON by name.

        A checkpoint of a stream with other values is refused.
        """

    def labels(self) -> Iterator[Labels]:
        """Yield the labels alone, in their order, in pieces of any size."""
        for block in self.blocks():
            yield block.y

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the blocks from row number `start` on, at which a block begins."""
        from peckorder.streams.whole_queries import whole_queries

        return entry_named(self.source_name)(whole_queries)(self, start)

    def where(self, row: int) -> str | None:
        """Return the location of a row that was read, such as its file, or None."""
        return None

    def called(self, row: int) -> str:
        """Return the number and the location of a row, for error messages."""
        where = self.where(row)
        return f"row {row}" + ("" if where is None else f" ({where})")

    def __iter__(self) -> Iterator[Block]:
        return self.blocks()

    def __repr__(self) -> str:
        parts = [self._shown] if self._shown else []
        if self.n_rows is not None:
            parts.append(f"{self.n_rows:,} rows")
        columns = f"{self.n_features:,} features"
        if self.feature_names is not None:
            few = ", ".join(map(repr, self.feature_names[:_FEW]))
            columns += f" {few}{', ...' if self.n_features > _FEW else ''}"
        parts.append(columns)
        parts += ["queries"] * self.has_queries + ["weights"] * self.has_weights
        return f"<{self.source_name}: {'; '.join(parts)}>"


def _joined(columns: list[Array | None]) -> Array | None:
    present = [column for column in columns if column is not None]
    return np.concatenate(present) if present else None


@contextmanager
def locate_errors(stream: Stream, block: Block, first: int) -> Iterator[None]:
    """Add the location in the stream to an error about a block that begins at row `first`."""
    try:
        yield
    except ValueError as error:
        located = with_location(error, _where(stream, block, first, str(error)))
        if located is None:
            raise
        raise located from None


def _where(stream: Stream, block: Block, first: int, message: str) -> str:
    row = _refused_row(block, message)
    if row is not None:
        return f"This is in {stream.called(first + row)} of the stream."
    return (
        f"This is of {len(block)} rows of the stream, of which the first is {stream.called(first)}."
    )


def _refused_row(block: Block, message: str) -> int | None:
    """Return the first row with the value that scikit-learn refuses; None if none."""
    is_odd = np.isnan if "contains NaN" in message else np.isinf
    if message.startswith("Input X contains"):
        return _first_row(block.X, is_odd)
    if message.startswith("Input y contains") and block.y.dtype.kind == "f":
        return _first(is_odd(block.y))
    return None


def _first_row(X: Any, is_odd: np.ufunc) -> int | None:
    if sparse.issparse(X):
        place = _first(is_odd(X.data))
        if place is None:
            return None
        return int(np.searchsorted(X.indptr, place, side="right")) - 1
    return _first(is_odd(X).any(axis=1))


def _first(is_odd: Bools) -> int | None:
    return int(np.argmax(is_odd)) if is_odd.any() else None
