"""Columns of bins, and histograms of leaves: exact sums over the rows in each bin.

What is summed are two integers per row: its slope, by how much the objective falls when
the score rises, and its mass, the curvature of the objective with a count of rows in
the lowest bits. Sums of integers do not depend on the order of their terms, so that the
same tree grows on any number of threads, from disk and on a cluster.
"""

from typing import NamedTuple

import numpy as np

from peckorder._core.compiled.bins import ABSTAINS, N_BINS
from peckorder._core.compiled.jit import add_pair, compiled, inlined
from peckorder._core.typing import Floats, Ints

# Columns whose bins stand together in one integer of a tile.
WIDTH = 4
# The sums of a bin.
SLOPE, MASS = range(2)


class TiledColumns(NamedTuple):
    """Columns of bins, four of them in one integer of 32 bits.

    Column c of row i is byte ``c % 4`` of ``tiles[c // 4, i]``, counted from the lowest.
    Its values are in the bins below n_bins[c], the largest first, or in the bin of
    their category if is_category[c]; ABSTAINS is the bin of rows without a value.
    Where rises[c] is 1 (-1) trees never fall (rise) with the column.
    """

    tiles: Ints
    n_bins: Ints
    is_category: Ints
    rises: Ints


@inlined
def bin_of(columns: TiledColumns, column: int, row: np.uintp) -> np.uintp:
    """Return the bin of a row."""
    shift = np.uint32(8 * (column & 3))
    return np.uintp((columns.tiles[column >> 2, row] >> shift) & np.uint32(255))


@compiled
def write_tile(bins: Ints, tile: Ints) -> None:
    """Write to tile (n,) the bins (4, n) of four columns, the first in the lowest byte."""
    for i in range(np.uintp(tile.shape[0])):
        low = np.uint32(bins[0, i]) | (np.uint32(bins[1, i]) << np.uint32(8))
        high = np.uint32(bins[2, i]) | (np.uint32(bins[3, i]) << np.uint32(8))
        tile[i] = low | (high << np.uint32(16))


@compiled
def cut_values(column: Floats, bins: Ints, tops: Floats, n_bins: int, cuts: Floats) -> None:
    """Write to cuts (256,) from which value on rows are above a cut behind each bin.

    The middle between the smallest value in a bin and the largest in the next, if it
    can be told from the latter; behind the last bin everything is above. bins (n,) are
    those of the column, tops (256,) their largest values, which descend.
    """
    for b in range(n_bins):
        cuts[b] = np.inf
    for i in range(np.uintp(column.shape[0])):
        b = bins[i]
        if b != ABSTAINS:
            cuts[b] = min(cuts[b], column[i])
    for b in range(n_bins - 1):
        below, above = tops[b + 1], cuts[b]
        cut = 0.5 * below + 0.5 * above
        cuts[b] = cut if below < cut <= above else above
    if n_bins > 0:
        cuts[n_bins - 1] = -np.inf


@inlined
def clear_histogram(n_bins: int, histogram: Ints) -> None:
    """Write zeros to histogram (256, 2), as far as a column uses it."""
    for b in range(n_bins):
        histogram[b, SLOPE] = 0
        histogram[b, MASS] = 0
    histogram[ABSTAINS, SLOPE] = 0
    histogram[ABSTAINS, MASS] = 0


@inlined
def subtract_histogram(n_bins: int, part: Ints, histogram: Ints) -> None:
    """Take away from a histogram what a part of its rows has added."""
    for b in range(n_bins):
        histogram[b, SLOPE] -= part[b, SLOPE]
        histogram[b, MASS] -= part[b, MASS]
    histogram[ABSTAINS, SLOPE] -= part[ABSTAINS, SLOPE]
    histogram[ABSTAINS, MASS] -= part[ABSTAINS, MASS]


@compiled
def sum_tile(tile: Ints, rows: Ints, sums: Ints, histograms: Ints) -> None:
    """Add to histograms (4, 256, 2) the sums of some rows of the columns of a tile.

    rows (m,) are the numbers of the rows, sums (m, 2) their slopes and masses; without
    rows these are all rows of the tile. Four columns at a time: what a row adds is read
    once, and additions to different histograms need not wait for each other.
    """
    first, second, third, fourth = histograms[0], histograms[1], histograms[2], histograms[3]
    low = np.uint32(N_BINS - 1)
    is_part = rows.shape[0] > 0
    for i in range(np.uintp(sums.shape[0])):
        bins = tile[np.uintp(rows[i])] if is_part else tile[i]
        add_pair(first, np.uintp(bins & low), sums, i)
        add_pair(second, np.uintp((bins >> np.uint32(8)) & low), sums, i)
        add_pair(third, np.uintp((bins >> np.uint32(16)) & low), sums, i)
        add_pair(fourth, np.uintp(bins >> np.uint32(24)), sums, i)
