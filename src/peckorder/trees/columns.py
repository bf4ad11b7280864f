"""A matrix as columns of bins, for trees to be grown from."""

from typing import NamedTuple

import numpy as np

from peckorder._core.compiled.bins import ABSTAINS, N_BINS, copy_columns, cut_points, fill_bins
from peckorder._core.threads import Stop, Team
from peckorder._core.typing import Bools, Floats, Ints, Matrix
from peckorder.trees.compiled.histograms import WIDTH, TiledColumns, cut_values, write_tile

# The most bins of a column; the last of 256 is for rows without a value.
MOST_BINS = N_BINS - 1
# Tiles in a cache line.
_LINE = 16
# Cells of equal width in which values are looked up.
_CELLS = 2048
# Rows whose values tell where columns with more than MOST_BINS are cut.
_MOST_CUTTING_ROWS = 200_000


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
    X: Matrix,
    team: Team,
    *,
    is_category: Bools | None = None,
    rises: Ints | None = None,
    max_bins: int = MOST_BINS,
    unstored: bool = True,
) -> Columns:
    """Cut the columns of X into at most `max_bins` bins each, four columns at a time.

    X is dense, finite or NaN where there is no value, or in CSR form; entries that it does not
    store are zero if `unstored`, else missing. The values of a column that is_category
    (n_columns,) are the bins of its categories. Where rises (n_columns,) is 1 (-1),
    trees never fall (rise) with the column. Takes a byte per entry, O(n log n) time
    per column for the first 200,000 rows, spread evenly, O(n) for the others.
    """
    n_rows, n_columns = X.shape
    n_tiles = -(-n_columns // WIDTH)
    tiles = _allocate(n_rows, n_tiles)
    n_bins = np.zeros(n_columns, dtype=np.int64)
    cuts = np.full((n_columns, N_BINS), -np.inf)
    categories = np.zeros(n_columns, dtype=np.int64)
    if is_category is not None:
        categories[:] = is_category
    directions = np.zeros(n_columns, dtype=np.int64)
    if rises is not None:
        directions[:] = rises
    everything = np.arange(n_rows)
    stored = None if isinstance(X, np.ndarray) else X.tocsc()

    def work(share: slice, give_up: Stop) -> None:
        copied = np.empty((WIDTH, n_rows))
        bins = np.full((WIDTH, n_rows), ABSTAINS, dtype=np.uint8)
        cells = np.empty(_CELLS, dtype=np.int16)
        for tile in range(share.start, share.stop):
            if give_up():
                return
            first = tile * WIDTH
            columns = copied[: min(WIDTH, n_columns - first)]
            if isinstance(X, np.ndarray):
                copy_columns(X, everything, first, columns)
            elif stored is not None:
                columns[:] = 0.0 if unstored else np.nan
                for c, column in enumerate(columns, first):
                    entries = slice(stored.indptr[c], stored.indptr[c + 1])
                    column[stored.indices[entries]] = stored.data[entries]
            for k, column in enumerate(columns):
                c = first + k
                if categories[c]:
                    n_bins[c] = _take_categories(column, bins[k])
                else:
                    n_bins[c] = _cut(column, max_bins, cuts[c], cells, bins[k])
            # Additions to the same bin, row after row, would wait for each other.
            bins[len(columns) :] = np.arange(n_rows) % N_BINS
            write_tile(bins, tile, tiles)

    team.share(n_tiles, work)
    return Columns(TiledColumns(tiles, n_bins, categories, directions), cuts)


def _allocate(n_rows: int, n_tiles: int) -> Ints:
    """Return tiles (n_rows, n_tiles or a few more), each row in as few cache lines as can be."""
    rest = n_tiles % _LINE
    width = n_tiles + (_LINE - rest if rest >= _LINE - _LINE // 4 else 0)
    room = np.empty(n_rows * width + _LINE, dtype=np.uint32)
    first = -room.ctypes.data // room.itemsize % _LINE
    return room[first : first + n_rows * width].reshape(n_rows, width)


def _take_categories(column: Floats, bins: Ints) -> int:
    """Write the bins that a column has as its values; return how many there are."""
    is_missing = np.isnan(column)
    bins[:] = np.where(is_missing, ABSTAINS, column)
    return int(column.max(initial=-1.0, where=~is_missing)) + 1


def _cut(column: Floats, max_bins: int, cuts: Floats, cells: Ints, bins: Ints) -> int:
    """Write the bins of a column, and its cuts; return how many bins there are."""
    step = -(-len(column) // _MOST_CUTTING_ROWS)
    ordered = np.sort(column[::step])
    ordered = ordered[: np.searchsorted(ordered, np.inf, side="right")]
    tops = np.full(N_BINS, -np.inf)
    n_bins = int(cut_points(ordered, len(ordered), max_bins, tops[:-1]))
    if n_bins == 0:
        # Maybe the rows in between have values.
        if step == 1 or np.isnan(column).all():
            bins[:] = ABSTAINS
            return 0
        ordered = tops[:1] = np.full(1, np.nanmax(column))
        n_bins = 1
    low = float(ordered[0])
    if step > 1:
        # Values of other rows may lie outside.
        top = np.fmax.reduce(column)
        low, tops[0] = float(np.fmin.reduce(column)), top
    fill_bins(column, tops, n_bins, low, cells, bins)
    cut_values(column, bins, tops, n_bins, cuts)
    return n_bins
