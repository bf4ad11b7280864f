"""A matrix as columns of bins, for trees to be grown from."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from typing import Any, NamedTuple

import numpy as np

from peckorder._core.compiled.bins import ABSTAINS, N_BINS, copy_columns, cut_points, fill_bins
from peckorder._core.threads import Stop, Team
from peckorder._core.typing import Array, Bools, Floats, Ints, Matrix
from peckorder.trees.compiled.histograms import (
    WIDTH,
    TiledColumns,
    close_cuts,
    lowest_values,
    write_tile,
)

# The most bins of a column; the last of 256 is for rows without a value.
MOST_BINS = N_BINS - 1
# Tiles in a cache line.
_LINE = 16
# Cells of equal width in which values are looked up.
_CELLS = 2048
# Rows whose values tell where columns with more than MOST_BINS are cut.
_MOST_CUTTING_ROWS = 200_000
# Rows whose values are looked up at a time.
_ROWS_TOGETHER = 1 << 16


class Columns(NamedTuple):
    """Columns of bins, and where their cuts are among real values.

    A row is above the cut behind bin b of column c if its value is at least
    ``cuts[c, b]``.
    """

    tiled: TiledColumns
    cuts: Floats

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.tiled.tiles.shape[0])


def bin_columns(
    X: Matrix | Sequence[Floats],
    team: Team,
    *,
    is_category: Bools | None = None,
    rises: Ints | None = None,
    max_bins: int = MOST_BINS,
    unstored: bool = True,
    order: Ints | None = None,
    allocate: Callable[..., Array] = np.empty,
) -> Columns:
    """Cut the columns of X into at most `max_bins` bins each, four columns at a time.

    X is dense, finite or NaN where there is no value, or in CSR form; entries that it does not
    store are zero if `unstored`, else missing. It may be a file mapped to memory, or several
    dense blocks of rows: they are read once, but for the rows that tell where to cut.
    `order` has the rows of a matrix that are binned, in their order; all without it.
    The values of a column that is_category (n_columns,) are the bins of its categories.
    Where rises (n_columns,) is 1 (-1), trees never fall (rise) with the column. `allocate`
    makes the array of bins, a byte per entry. Takes O(n log n) time per column for 200,000
    rows, spread evenly, O(n) for the others.
    """
    rows = _Rows(X, unstored, order)
    n_columns, n_tiles = rows.n_columns, -(-rows.n_columns // WIDTH)
    binning = _Binning(
        rows=rows,
        max_bins=max_bins,
        tiles=_allocate_tiles(rows.n_rows, n_tiles, allocate),
        categories=np.zeros(n_columns, dtype=np.int64),
        n_bins=np.zeros(n_columns, dtype=np.int64),
        tops=np.full((n_columns, N_BINS), -np.inf),
        lows=np.zeros(n_columns),
    )
    directions = np.zeros(n_columns, dtype=np.int64)
    if is_category is not None:
        binning.categories[:] = is_category
    if rises is not None:
        directions[:] = rises
    if rows.is_sparse or rows.step == 1:
        found = team.share(n_tiles, binning.bin_tiles)
    else:
        team.share(n_tiles, binning.cut_tiles)
        found = team.share(rows.n_rows, binning.fill_rows)
    cuts = np.minimum.reduce([lowest for lowest, _ in found])
    n_bins = np.maximum.reduce([n_categories for _, n_categories in found])
    for c in np.flatnonzero(binning.categories == 0):
        n_bins[c] = close_cuts(binning.tops[c], binning.n_bins[c], cuts[c])
    cuts[binning.categories != 0] = -np.inf
    return Columns(TiledColumns(binning.tiles, n_bins, binning.categories, directions), cuts)


@dataclass(frozen=True, eq=False)
class _Binning:
    """Columns on the way to bins: which are categories, their largest values in each bin.

    What threads find by their shares are the smallest values in each bin (columns, 256),
    and the numbers of categories.
    """

    rows: "_Rows"
    max_bins: int
    tiles: Ints
    categories: Ints
    n_bins: Ints
    tops: Floats
    lows: Floats

    def bin_tiles(self, share: slice, give_up: Stop) -> tuple[Floats, Ints]:
        """Cut the columns of some tiles, and write their bins."""
        found, every = self._nothing(), slice(0, self.rows.n_rows)
        for tile in range(share.start, share.stop):
            if give_up():
                break
            columns = self.rows.columns(tile, every)
            self._cut(tile, columns[:, :: self.rows.step])
            self._fill(every, tile, columns, *found)
        return found

    def cut_tiles(self, share: slice, give_up: Stop) -> None:
        """Cut the columns of some tiles."""
        every = slice(0, self.rows.n_rows, self.rows.step)
        for tile in range(share.start, share.stop):
            if give_up():
                break
            self._cut(tile, self.rows.columns(tile, every))

    def fill_rows(self, share: slice, give_up: Stop) -> tuple[Floats, Ints]:
        """Write the bins of some rows, piece by piece."""
        found = self._nothing()
        for piece in self.rows.pieces(share):
            for tile in range(-(-self.rows.n_columns // WIDTH)):
                if give_up():
                    break
                self._fill(piece, tile, self.rows.columns(tile, piece), *found)
        return found

    def _nothing(self) -> tuple[Floats, Ints]:
        n_columns = self.rows.n_columns
        return np.full((n_columns, N_BINS), np.inf), np.zeros(n_columns, dtype=np.int64)

    def _cut(self, tile: int, columns: Floats) -> None:
        """Find where columns are cut, by some of their rows."""
        for c, column in enumerate(columns, tile * WIDTH):
            if self.categories[c]:
                continue
            ordered = np.sort(column)
            ordered = ordered[: np.searchsorted(ordered, np.inf, side="right")]
            tops = self.tops[c]
            self.n_bins[c] = cut_points(ordered, len(ordered), self.max_bins, tops[:-1])
            if self.n_bins[c] > 0:
                self.lows[c] = ordered[0]
            else:
                # Maybe other rows have values.
                self.n_bins[c], tops[0] = 1, 0.0

    def _fill(
        self, rows: slice, tile: int, columns: Floats, lowest: Floats, n_categories: Ints
    ) -> None:
        """Write the bins of some rows; columns may be written to."""
        cells = np.empty(_CELLS, dtype=np.int16)
        bins = np.empty((WIDTH, columns.shape[1]), dtype=np.uint8)
        # Additions to the same bin, row after row, would wait for each other.
        bins[len(columns) :] = np.arange(columns.shape[1]) % N_BINS
        for c, column, own in zip(count(tile * WIDTH), columns, bins, strict=False):
            if self.categories[c]:
                is_missing = np.isnan(column)
                own[:] = np.where(is_missing, ABSTAINS, column)
                largest = column.max(initial=-1.0, where=~is_missing)
                n_categories[c] = max(n_categories[c], 1 + largest)
                continue
            tops, low = self.tops[c], self.lows[c]
            if self.rows.step > 1:
                # Values of other rows may lie outside.
                np.clip(column, low, tops[0], out=column)
            fill_bins(column, tops, self.n_bins[c], low, cells, own)
            lowest_values(column, own, lowest[c])
        write_tile(bins, tile, self.tiles[rows])


def _allocate_tiles(n_rows: int, n_tiles: int, allocate: Callable[..., Array]) -> Ints:
    """Return tiles (n_rows, n_tiles or a few more), each row in as few cache lines as can be."""
    rest = n_tiles % _LINE
    width = n_tiles + (_LINE - rest if rest >= _LINE - _LINE // 4 else 0)
    room = allocate(n_rows * width + _LINE, dtype=np.uint32)
    first = -room.ctypes.data // room.itemsize % _LINE
    tiles: Ints = room[first : first + n_rows * width].reshape(n_rows, width)
    return tiles


class _Rows:
    """Rows to be binned: dense blocks one behind the other, or one that is sparse.

    Every `step`-th row tells where to cut.
    """

    def __init__(self, X: Any, unstored: bool, order: Ints | None) -> None:
        self.is_sparse, self._order = hasattr(X, "tocsc"), order
        if self.is_sparse and order is not None:
            X = X[order]
        self._stored: Any = X.tocsc() if self.is_sparse else None
        self._fill = 0.0 if unstored else np.nan
        blocks = [X] if hasattr(X, "shape") else X
        self._blocks = (
            blocks
            if self.is_sparse
            else [np.asarray(block, order="K" if order is None else "C") for block in blocks]
        )
        sizes = [block.shape[0] for block in blocks] if order is None else [len(order)]
        self._starts = np.cumsum([0, *sizes]).tolist()
        self.n_rows, self.n_columns = self._starts[-1], blocks[0].shape[1]
        self.step = max(1, -(-self.n_rows // _MOST_CUTTING_ROWS))

    def pieces(self, rows: slice) -> Iterator[slice]:
        """Yield pieces of rows, each of one block."""
        for start, end in pairwise(self._starts):
            last = min(rows.stop, end)
            for first in range(max(rows.start, start), last, _ROWS_TOGETHER):
                yield slice(first, min(first + _ROWS_TOGETHER, last))

    def columns(self, tile: int, rows: slice) -> Floats:
        """Return a copy of the columns (4, m) of a tile: of all rows, if they are sparse."""
        of = slice(tile * WIDTH, min((tile + 1) * WIDTH, self.n_columns))
        if self.is_sparse:
            return self._stored_columns(of)
        step, parts = rows.step or 1, []
        for (start, end), block in zip(pairwise(self._starts), self._blocks, strict=True):
            first, last = max(rows.start - start, 0), min(rows.stop, end) - start
            first += (rows.start - start - first) % step
            if first >= last:
                continue
            numbers = np.arange(first, last, step)
            if self._order is not None:
                numbers = self._order[numbers]
            columns = np.empty((of.stop - of.start, len(numbers)))
            if block.flags.c_contiguous:
                copy_columns(block, numbers, of.start, columns)
            else:
                columns[:] = block[first:last:step, of].T
            parts.append(columns)
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def _stored_columns(self, of: slice) -> Floats:
        stored = self._stored
        columns = np.full((of.stop - of.start, self.n_rows), self._fill)
        for column, c in zip(columns, range(of.start, of.stop), strict=True):
            entries = slice(stored.indptr[c], stored.indptr[c + 1])
            column[stored.indices[entries]] = stored.data[entries]
        return columns
