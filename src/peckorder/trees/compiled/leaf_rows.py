"""The rows of the leaves of a tree in progress: divided, and summed by bins.

Of the two leaves that a split makes the one with fewer rows is summed, while its rows
are being divided from the others: what they have in memory is read once for both.
"""

from typing import NamedTuple

import numpy as np

from peckorder._core.compiled.barrier import share_of
from peckorder._core.compiled.bins import ABSTAINS
from peckorder._core.compiled.jit import compiled, inlined, prefetch
from peckorder._core.typing import Ints
from peckorder.trees.compiled import splits
from peckorder.trees.compiled.histograms import (
    MASS,
    SLOPE,
    TiledColumns,
    bin_of,
    clear_histogram,
    sum_bins,
)

# A division of a leaf: the leaf, or none if all rows are to be summed for the first one;
# the new one, which is summed if either may be split again; whether its rows are those
# above; its thresholds; the split.
SLOT, NEW, IS_SUMMED, NEW_IS_ABOVE, FIRST_LEVEL, LAST_LEVEL, SPLIT = range(7)
DIVISION = SPLIT + splits.SPLIT
# Rows between a hint to the processor and its use; bytes of a cache line.
_AHEAD, _LINE = np.uintp(16), 64


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
def gather(thread: int, rows: Ints, division: Ints, tiles: Ints, held: LeafRows) -> None:
    """Write the bins and sums of rows next to each other; add the sums by threshold."""
    sums, terms, levels = held.sums, held.terms[thread], held.level_parts[thread]
    slope, mass, zero, one = np.uintp(SLOPE), np.uintp(MASS), np.uintp(0), np.uintp(1)
    bins, n_rows, n_tiles = held.bins[thread], np.uintp(rows.shape[0]), np.uintp(tiles.shape[1])
    middle = min(np.uintp(_LINE // 4), n_tiles - one)
    first, last = np.uintp(division[FIRST_LEVEL]), np.uintp(division[LAST_LEVEL])
    for k in range(n_rows):
        later = np.uintp(rows[min(k + _AHEAD, n_rows - one)])
        prefetch(tiles, later * n_tiles)
        prefetch(tiles, later * n_tiles + middle)
        prefetch(tiles, later * n_tiles + n_tiles - one)
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
    if rows.shape[0] > 0:
        column = np.uintp(max(division[SPLIT + splits.COLUMN], 0) >> 2)
        gather(thread, rows, division, tiles, held)
        sum_bins(
            held.bins[thread], np.uintp(rows.shape[0]), held.terms[thread], histograms,
            tiles, column, next_rows,
        )  # fmt: skip


@inlined
def goes_above(row: np.uintp, split: Ints, is_category: bool, columns: TiledColumns) -> bool:
    """Return whether a row goes above a split."""
    b = bin_of(columns, split[splits.COLUMN], row)
    if is_category and b != np.uintp(ABSTAINS):
        word = np.uint64(split[np.uintp(splits.CATEGORIES) + (b >> np.uintp(6))])
        return bool((word >> np.uint64(b & np.uintp(63))) & np.uint64(1))
    # Without branches, which the processor could not foresee.
    is_missing = b == np.uintp(ABSTAINS)
    return bool(
        (b <= np.uintp(split[splits.CUT])) | (is_missing & (split[splits.MISSING_ABOVE] != 0))
    )


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
    n_columns, n_threads = columns.n_bins.shape[0], held.counts.shape[0]
    rows, spare, tiles, split = held.rows, held.spare, columns.tiles, division[SPLIT:]
    slot, column = division[SLOT], split[splits.COLUMN]
    is_all = slot < 0 or column == n_columns
    is_category = not is_all and columns.is_category[column] != 0
    leaf = np.uintp(max(slot, 0))
    start, stop = held.ranges[leaf, 0], held.ranges[leaf, 1]
    begin, end = share_of(thread, n_threads, stop - start)
    base, one, top = np.uintp(start), np.uintp(1), np.uintp(held.top[0])
    above, below = np.uintp(begin), np.uintp(end)
    new_is_above = np.uintp(division[NEW_IS_ABOVE])
    is_summed = np.uintp(division[IS_SUMMED])
    if division[IS_SUMMED]:
        clear_sums(thread, columns, held, histograms)
    n_tiles, n_levels = np.uintp(tiles.shape[1]), np.uintp(held.sums.shape[1])
    tile = np.uintp(max(column, 0) >> 2)
    i, last, n_together = np.uintp(begin), np.uintp(end), np.uintp(held.terms.shape[1])
    while i < last:
        till = min(i + n_together, last)
        first_above, last_below = above, below
        if not is_all:
            for k in range(i, till):
                later = np.uintp(rows[base + min(k + _AHEAD, last - one)])
                prefetch(tiles, later * n_tiles + tile)
                row = rows[base + k]
                is_above = np.uintp(goes_above(np.uintp(row), split, is_category, columns))
                is_new = is_summed & (one - (is_above ^ new_is_above))
                prefetch(held.sums, np.uintp(row) * n_levels * np.uintp(2) * is_new)
                below -= one - is_above
                # Without a branch, which the processor could not foresee.
                spare[below - (below - above) * is_above] = row
                above += is_above
        elif slot >= 0:
            for k in range(i, till):
                rows[top + k] = rows[base + k]
        if is_summed != 0:
            next_rows = rows[base + till : base + min(till + n_together, last)]
            if is_all:
                summed = rows[base + i : base + till]
            else:
                summed = spare[first_above:above] if new_is_above != 0 else spare[below:last_below]
            sum_rows(thread, summed, division, tiles, held, next_rows, histograms)
        i = till
    held.counts[thread, 0] = np.int64(above) - begin


@inlined
def settle(thread: int, division: Ints, n_columns: int, held: LeafRows) -> None:
    """Put a thread's share of the rows of a leaf where they belong, those above first."""
    slot = division[SLOT]
    if slot < 0 or division[SPLIT + splits.COLUMN] == n_columns:
        return
    rows, spare, counts, one = held.rows, held.spare, held.counts, np.uintp(1)
    start, stop = held.ranges[slot, 0], held.ranges[slot, 1]
    begin, end = share_of(thread, counts.shape[0], stop - start)
    n_above, before = 0, 0
    for k in range(counts.shape[0]):
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
    for k in range(held.counts.shape[0]):
        middle += held.counts[k, 0]
    above, below = (new, slot) if division[NEW_IS_ABOVE] else (slot, new)
    held.ranges[above, 0], held.ranges[above, 1] = start, middle
    held.ranges[below, 0], held.ranges[below, 1] = middle, stop


@compiled
def start_rows(first: int, last: int, chosen: Ints, held: LeafRows) -> None:
    """Give the first leaf its rows: the chosen ones, or all if there are none chosen."""
    for i in range(np.uintp(first), np.uintp(last)):
        held.rows[i] = chosen[i] if chosen.shape[0] > 0 else i
