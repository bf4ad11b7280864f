"""Columns of bins, and histograms of leaves: exact sums over the rows in each bin.

What is summed are two integers per row: its slope, by how much the objective falls when
the score rises, and its mass, the curvature of the objective with a count of rows in
the lowest bits. Sums of integers do not depend on the order of their terms, so that the
same tree grows on any number of threads, from disk and on a cluster.
"""

from typing import NamedTuple

import numpy as np

from peckorder._core.compiled.bins import ABSTAINS, N_BINS
from peckorder._core.compiled.jit import add_to_four, compiled, inlined, prefetch
from peckorder._core.typing import Floats, Ints

# Columns whose bins stand together in one integer of a tile.
WIDTH = 4
# The sums of a bin.
SLOPE, MASS = range(2)


class TiledColumns(NamedTuple):
    """Columns of bins, four of them in one integer of 32 bits.

    Column c of row i is byte ``c % 4`` of ``tiles[i, c // 4]``, counted from the lowest.
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
    return np.uintp((columns.tiles[row, np.uintp(column >> 2)] >> shift) & np.uint32(255))


@compiled
def write_tile(bins: Ints, tile: int, tiles: Ints) -> None:
    """Write to a tile of rows the bins (4, n) of four columns, the first in the lowest byte."""
    for i in range(np.uintp(bins.shape[1])):
        low = np.uint32(bins[0, i]) | (np.uint32(bins[1, i]) << np.uint32(8))
        high = np.uint32(bins[2, i]) | (np.uint32(bins[3, i]) << np.uint32(8))
        tiles[i, np.uintp(tile)] = low | (high << np.uint32(16))


@compiled
def lowest_values(column: Floats, bins: Ints, lowest: Floats) -> None:
    """Lower lowest (256,) to the smallest values in each bin; bins (n,) are those of the column."""
    for i in range(np.uintp(column.shape[0])):
        b = bins[i]
        if b != ABSTAINS:
            lowest[b] = min(lowest[b], column[i])


@compiled
def close_cuts(tops: Floats, n_bins: int, cuts: Floats) -> int:
    """Write to cuts (256,) from which value on rows are above a cut behind each bin.

    cuts has the smallest value in each bin, tops (256,) the largest, which descend. A cut
    is the middle between the smallest value in a bin and the largest in the next, if it
    can be told from the latter; behind the last bin everything is above. Returns the
    number of bins: none if there is no value.
    """
    if n_bins == 1 and cuts[0] == np.inf:
        n_bins = 0
    for b in range(n_bins - 1):
        below, above = tops[b + 1], cuts[b]
        cut = 0.5 * below + 0.5 * above
        cuts[b] = cut if below < cut <= above else above
    for b in range(max(n_bins - 1, 0), N_BINS):
        cuts[b] = -np.inf
    return n_bins


@inlined
def clear_histogram(n_bins: int, histogram: Ints) -> None:
    """Write zeros to histogram (256, 2), as far as a column uses it."""
    slope, mass = np.uintp(SLOPE), np.uintp(MASS)
    for b in range(np.uintp(n_bins)):
        histogram[b, slope] = 0
        histogram[b, mass] = 0
    histogram[ABSTAINS, slope] = 0
    histogram[ABSTAINS, mass] = 0


@inlined
def add_histogram(n_bins: int, histogram: Ints, part: Ints, sign: int) -> None:
    """Add to a histogram another one, or take it away."""
    slope, mass = np.uintp(SLOPE), np.uintp(MASS)
    for b in range(np.uintp(n_bins)):
        histogram[b, slope] += sign * part[b, slope]
        histogram[b, mass] += sign * part[b, mass]
    histogram[ABSTAINS, slope] += sign * part[ABSTAINS, slope]
    histogram[ABSTAINS, mass] += sign * part[ABSTAINS, mass]


@inlined
def sum_bins(
    bins: Ints,
    n_rows: np.uintp,
    terms: Ints,
    histograms: Ints,
    tiles: Ints,
    column: np.uintp,
    next_rows: Ints,
) -> None:
    """Add to histograms (columns, 256, 2) the terms of rows with the given bins.

    bins (tiles, n) are those of the first n_rows rows, terms (n, 2) what they add. One tile
    after another: its four histograms stay in the nearest cache, and additions to
    different ones need not wait for each other. Meanwhile the tile `column` of the
    next rows is fetched from memory.
    """
    n_tiles, n_next = np.uintp(bins.shape[0]), np.uintp(next_rows.shape[0])
    width = np.uintp(tiles.shape[1])
    ahead, zero = np.uintp(0), np.uintp(0)
    for tile in range(n_tiles):
        first = tile * np.uintp(WIDTH * N_BINS)
        n_fetched = min(n_rows, n_next - ahead)
        for k in range(zero, n_fetched):
            prefetch(tiles, np.uintp(next_rows[ahead + k]) * width + column)
            add_to_four(histograms, first, bins[tile, k], terms, k)
        ahead += n_fetched
        for k in range(n_fetched, n_rows):
            add_to_four(histograms, first, bins[tile, k], terms, k)
