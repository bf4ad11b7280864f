"""The rows of the leaves of a tree in progress: divided, and summed by bins.

Of the two leaves that a split makes the one with fewer rows is summed, while its rows
are being divided from the others: what they have in memory is read once for both.
"""

from typing import NamedTuple

import numpy as np

from peckorder._core.compiled.barrier import share_of
from peckorder._core.compiled.bins import ABSTAINS, N_BINS
from peckorder._core.compiled.jit import add_to_four, inlined, prefetch
from peckorder._core.typing import Ints
from peckorder.trees.compiled import splits
from peckorder.trees.compiled.histograms import (
    MASS,
    SLOPE,
    WIDTH,
    TiledColumns,
    bin_of,
    clear_histogram,
    sum_bins,
)

# A division of a leaf: the leaf, or none if all rows are to be summed for the first one;
# the new one, which is summed if either may be split again; whether its rows are those
# above; its thresholds; how many threads share its rows; the split.
SLOT, NEW, IS_SUMMED, NEW_IS_ABOVE, FIRST_LEVEL, LAST_LEVEL, N_SHARES, SPLIT = range(8)
DIVISION = SPLIT + splits.SPLIT
# Rows between a hint to the processor and its use, where rows are copied and where they
# are divided; bytes of a cache line.
_AHEAD, _FAR_AHEAD, _LINE = np.uintp(32), np.uintp(64), 64
# Up to so many tiles rows are summed where they are: all histograms stay near.
_FEW_TILES = 5
# Rows that repay another histogram, which is cleared and added by all threads together.
_LEAST_ROWS = 2048


class LeafRows(NamedTuple):
    """The rows of leaves.

    Those of leaf k are rows[ranges[k, 0]:ranges[k, 1]], rows without a leaf begin at
    top[0]. sums (n, thresholds, 2) are slopes and masses of all rows. Of threads, parts
    (threads - 1, columns, 256, 2), but for the first, and level_parts (threads,
    thresholds, 2) are the sums of their shares of the new leaf's rows, counts (threads,
    16) how many of theirs went above; bins (threads, tiles, m), terms (threads, m, 2)
    and spare (n,) are workspace: m rows are divided, and those of the new leaf summed,
    at a time.
    """

    sums: Ints
    rows: Ints
    ranges: Ints
    top: Ints
    parts: Ints
    level_parts: Ints
    counts: Ints
    bins: Ints
    terms: Ints
    spare: Ints


@inlined
def n_shares_of(n_rows: int, n_threads: int) -> int:
    """Return how many threads share the rows of a leaf.

    The rows of a share take time, as do the histograms of all shares: their number is
    best like the root of that of rows.
    """
    n_shares = 1
    while n_shares < n_threads and n_shares * n_shares * _LEAST_ROWS < n_rows * n_threads:
        n_shares += 1
    return n_shares


@inlined
def gather(thread: int, rows: Ints, division: Ints, tiles: Ints, held: LeafRows) -> None:
    """Write the bins and sums of rows next to each other; add the sums by threshold."""
    sums, terms, levels = held.sums, held.terms[thread], held.level_parts[thread]
    slope, mass, zero, one = np.uintp(SLOPE), np.uintp(MASS), np.uintp(0), np.uintp(1)
    bins, n_rows = held.bins[thread], np.uintp(rows.shape[0])
    n_tiles, width, n_levels = (
        np.uintp(bins.shape[0]), np.uintp(tiles.shape[1]), np.uintp(sums.shape[1]),
    )  # fmt: skip
    middle = min(np.uintp(_LINE // 4), n_tiles - one)
    first, last = np.uintp(division[FIRST_LEVEL]), np.uintp(division[LAST_LEVEL])
    for k in range(n_rows):
        later = np.uintp(rows[min(k + _AHEAD, n_rows - one)])
        prefetch(tiles, later * width)
        prefetch(tiles, later * width + middle)
        prefetch(tiles, later * width + n_tiles - one)
        prefetch(sums, later * n_levels * np.uintp(2))
        row = np.uintp(rows[k])
        for tile in range(n_tiles):
            bins[tile, k] = tiles[row, tile]
        if sums.shape[1] == 1:
            terms[k, slope] = sums[row, zero, slope]
            terms[k, mass] = sums[row, zero, mass]
            continue
        total_slope, total_mass = 0, 0
        for t in range(first, last):
            total_slope += sums[row, t, slope]
            total_mass += sums[row, t, mass]
            levels[t, slope] += sums[row, t, slope]
            levels[t, mass] += sums[row, t, mass]
        terms[k, slope] = total_slope
        terms[k, mass] = total_mass


@inlined
def sum_in_place(rows: Ints, tiles: Ints, n_tiles: np.uintp, sums: Ints, histograms: Ints) -> None:
    """Add the sums of rows, with one threshold, to the histograms of a few tiles."""
    n_rows, width, one = np.uintp(rows.shape[0]), np.uintp(tiles.shape[1]), np.uintp(1)
    for k in range(n_rows):
        later = np.uintp(rows[min(k + _AHEAD, n_rows - one)])
        prefetch(tiles, later * width)
        prefetch(sums, later * np.uintp(2))
        row = np.uintp(rows[k])
        for tile in range(n_tiles):
            first = tile * np.uintp(WIDTH * N_BINS)
            add_to_four(histograms, first, tiles[row, tile], sums, row)


@inlined
def sum_rows(
    thread: int,
    rows: Ints,
    division: Ints,
    tiles: Ints,
    held: LeafRows,
    next_rows: Ints,
    histograms: Ints,
) -> None:
    """Add the sums of rows to histograms."""
    n_tiles = held.bins.shape[1]
    if n_tiles <= _FEW_TILES and held.sums.shape[1] == 1:
        sum_in_place(rows, tiles, np.uintp(n_tiles), held.sums, histograms)
    elif rows.shape[0] > 0:
        column = np.uintp(max(division[SPLIT + splits.COLUMN], 0) >> 2)
        gather(thread, rows, division, tiles, held)
        sum_bins(
            held.bins[thread], np.uintp(rows.shape[0]), held.terms[thread], histograms,
            tiles, column, next_rows,
        )  # fmt: skip


@inlined
def divide_values(
    base: np.uintp, first: np.uintp, last: np.uintp, limit: np.uintp, above: np.uintp,
    below: np.uintp, split: Ints, columns: TiledColumns, held: LeafRows,
) -> np.uintp:  # fmt: skip
    """Divide rows by the values of a column; return where those above end in `spare`.

    Rows base + first to base + last of `rows` are written to `spare`: those above from
    `above` on, those below before `below`, the last first. More are to follow up to
    base + limit.
    """
    rows, spare, tiles, one = held.rows[base:], held.spare, columns.tiles, np.uintp(1)
    width, column = np.uintp(tiles.shape[1]), np.uintp(split[splits.COLUMN])
    tile, shift = column >> np.uintp(2), np.uintp(8) * (column & np.uintp(3))
    # Rows without a value are in the last bin: one more and they are in the first.
    more = np.uintp(split[splits.MISSING_ABOVE])
    cut = np.uintp(split[splits.CUT]) + more
    for k in range(first, last):
        prefetch(tiles, np.uintp(rows[min(k + _FAR_AHEAD, limit - one)]) * width + tile)
        row = rows[k]
        b = ((np.uintp(tiles[np.uintp(row), tile]) >> shift) + more) & np.uintp(255)
        is_above = np.uintp(b <= cut)
        # Without a branch, which the processor could not foresee: what is written in
        # vain is overwritten.
        below -= one
        spare[above] = row
        spare[below] = row
        above += is_above
        below += is_above
    return above


@inlined
def divide_categories(
    base: np.uintp, first: np.uintp, last: np.uintp, limit: np.uintp, above: np.uintp,
    below: np.uintp, split: Ints, columns: TiledColumns, held: LeafRows,
) -> np.uintp:  # fmt: skip
    """Divide rows by their categories, as `divide_values` does by values."""
    one, width = np.uintp(1), np.uintp(columns.tiles.shape[1])
    tile = np.uintp(split[splits.COLUMN] >> 2)
    for k in range(base + first, base + last):
        later = np.uintp(held.rows[min(k + _FAR_AHEAD, base + limit - one)])
        prefetch(columns.tiles, later * width + tile)
        row = held.rows[k]
        b = bin_of(columns, split[splits.COLUMN], np.uintp(row))
        if b == np.uintp(ABSTAINS):
            is_above = np.uintp(split[splits.MISSING_ABOVE])
        else:
            word = np.uint64(split[np.uintp(splits.CATEGORIES) + (b >> np.uintp(6))])
            is_above = np.uintp((word >> np.uint64(b & np.uintp(63))) & np.uint64(1))
        below -= one
        held.spare[above] = row
        held.spare[below] = row
        above += is_above
        below += is_above
    return above


@inlined
def clear_sums(thread: int, columns: TiledColumns, held: LeafRows, histograms: Ints) -> None:
    """Write zeros where a thread sums its share of rows."""
    for c in range(histograms.shape[0]):
        # The last tile may have more columns than there are.
        n_bins = columns.n_bins[c] if c < columns.n_bins.shape[0] else 0
        clear_histogram(n_bins, histograms[c])
    for t in range(held.level_parts.shape[1]):
        held.level_parts[thread, t, SLOPE] = 0
        held.level_parts[thread, t, MASS] = 0


@inlined
def divide(
    thread: int, division: Ints, columns: TiledColumns, held: LeafRows, histograms: Ints
) -> None:
    """Divide a thread's share of the rows of a leaf, and sum those of the new one.

    The sums are written to histograms (columns, 256, 2). Rows above are written to the
    front of the share in `spare`, those below to its end, the last first.
    """
    if thread >= division[N_SHARES]:
        return
    n_columns, rows, spare = columns.n_bins.shape[0], held.rows, held.spare
    slot, split = division[SLOT], division[SPLIT:]
    is_all = slot < 0 or split[splits.COLUMN] == n_columns
    leaf = np.uintp(max(slot, 0))
    start, stop = held.ranges[leaf, 0], held.ranges[leaf, 1]
    begin, end = share_of(thread, division[N_SHARES], stop - start)
    base, top = np.uintp(start), np.uintp(held.top[0])
    above, below = np.uintp(begin), np.uintp(end)
    is_summed = division[IS_SUMMED] != 0
    if is_summed:
        clear_sums(thread, columns, held, histograms)
    i, last, n_together = np.uintp(begin), np.uintp(end), np.uintp(held.terms.shape[1])
    while i < last:
        till = min(i + n_together, last)
        summed = rows[base + i : base + till]
        if not is_all:
            if columns.is_category[split[splits.COLUMN]]:
                next_above = divide_categories(
                    base, i, till, last, above, below, split, columns, held
                )
            else:
                next_above = divide_values(base, i, till, last, above, below, split, columns, held)
            next_below = below - (till - i) + (next_above - above)
            new_is_above = division[NEW_IS_ABOVE] != 0
            summed = spare[above:next_above] if new_is_above else spare[next_below:below]
            above, below = next_above, next_below
        elif slot >= 0:
            for k in range(i, till):
                rows[top + k] = rows[base + k]
        if is_summed:
            next_rows = rows[base + till : base + min(till + n_together, last)]
            sum_rows(thread, summed, division, columns.tiles, held, next_rows, histograms)
        i = till
    held.counts[thread, 0] = np.int64(above) - begin


@inlined
def settle(thread: int, division: Ints, n_columns: int, held: LeafRows) -> None:
    """Put a thread's share of the rows of a leaf where they belong, those above first."""
    slot, n_shares = division[SLOT], division[N_SHARES]
    if slot < 0 or division[SPLIT + splits.COLUMN] == n_columns or thread >= n_shares:
        return
    rows, spare, counts, one = held.rows, held.spare, held.counts, np.uintp(1)
    start, stop = held.ranges[slot, 0], held.ranges[slot, 1]
    begin, end = share_of(thread, n_shares, stop - start)
    n_above, before = 0, 0
    for k in range(n_shares):
        n_above += counts[k, 0]
        before += counts[k, 0] if k < thread else 0
    own = counts[thread, 0]
    to = np.uintp(start + before)
    for k in range(np.uintp(begin), np.uintp(begin + own)):
        rows[to] = spare[k]
        to += one
    to = np.uintp(start + n_above + begin - before)
    source = np.uintp(end)
    for _ in range(end - begin - own):
        source -= one
        rows[to] = spare[source]
        to += one


@inlined
def close_rows(division: Ints, n_columns: int, held: LeafRows) -> None:
    """Give the two leaves of a division their rows; done by one thread."""
    slot, new = division[SLOT], division[NEW]
    if slot < 0:
        return
    start, stop = held.ranges[slot, 0], held.ranges[slot, 1]
    if division[SPLIT + splits.COLUMN] == n_columns:
        held.ranges[new, 0] = held.top[0]
        held.top[0] += stop - start
        held.ranges[new, 1] = held.top[0]
        return
    middle = start
    for k in range(division[N_SHARES]):
        middle += held.counts[k, 0]
    above, below = (new, slot) if division[NEW_IS_ABOVE] else (slot, new)
    held.ranges[above, 0], held.ranges[above, 1] = start, middle
    held.ranges[below, 0], held.ranges[below, 1] = middle, stop


@inlined
def start_rows(thread: int, first: int, last: int, chosen: Ints, held: LeafRows) -> None:
    """Give the first leaf its rows, the chosen ones; add up their sums by threshold."""
    rows, sums, levels = held.rows, held.sums, held.level_parts[thread]
    slope, mass = np.uintp(SLOPE), np.uintp(MASS)
    for t in range(np.uintp(sums.shape[1])):
        total_slope, total_mass = 0, 0
        for i in range(np.uintp(first), np.uintp(last)):
            row = np.uintp(chosen[i])
            rows[i] = row
            total_slope += sums[row, t, slope]
            total_mass += sums[row, t, mass]
        levels[t, slope] += total_slope
        levels[t, mass] += total_mass
