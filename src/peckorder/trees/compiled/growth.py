"""Growing a tree, the leaf that gains most first.

A leaf holds rows and, where an objective has several thresholds, a range of those: the
slope of a row is then that of all thresholds in the range. Leaves are split by columns,
or in the range. Of the two new leaves the one with fewer rows is summed; the other has
what is left of the histograms of both. All threads do this at the same time: each has
its own share of rows and of tiles, and they meet at barriers.
"""

from math import inf
from typing import NamedTuple

import numpy as np

from peckorder._core.compiled.barrier import barrier_wait, share_of
from peckorder._core.compiled.bins import ABSTAINS
from peckorder._core.compiled.jit import compiled, inlined, inlined_exact
from peckorder._core.typing import Floats, Ints
from peckorder.trees.compiled import histograms as sums_of
from peckorder.trees.compiled import splits
from peckorder.trees.compiled.histograms import MASS, SLOPE, TiledColumns, bin_of
from peckorder.trees.compiled.leaves import (
    BUFFER,
    FIRST,
    GAIN,
    GOES_ON,
    IS_LEAF,
    LAST,
    N_LEAVES,
    N_NODES,
    NODE,
    SPLIT_LEAF,
    START,
    STOP,
    TOP,
    Growth,
    begin_split,
    can_split,
    close_levels,
    leaf_of,
    n_rows_of,
    swap_slots,
    write_leaves,
)
from peckorder.trees.compiled.splits import Rules


class Data(NamedTuple):
    """What a tree is grown from.

    sums (n, thresholds, 2) are the slopes and masses of all rows; if the first leaf has
    all of them, in order, and there is one threshold, whole (n, 2) are the same, else
    it has no rows.
    """

    columns: TiledColumns
    sums: Ints
    whole: Ints


@inlined
def gather(thread: int, n_threads: int, slot: int, sums: Ints, growth: Growth) -> None:
    """Write the sums of the rows of a leaf next to each other, and by threshold."""
    leaf, gathered = growth.leaves[slot], growth.gathered
    rows = growth.rows[leaf[BUFFER]]
    first, last = np.uintp(leaf[FIRST]), np.uintp(leaf[LAST] - 1)
    begin, end = share_of(thread, n_threads, n_rows_of(leaf))
    start = np.uintp(leaf[START])
    slope, mass = np.uintp(SLOPE), np.uintp(MASS)
    if sums.shape[1] == 1:
        for i in range(np.uintp(begin), np.uintp(end)):
            row = np.uintp(rows[start + i])
            gathered[i, slope] = sums[row, np.uintp(0), slope]
            gathered[i, mass] = sums[row, np.uintp(0), mass]
        return
    levels = growth.thread_levels[thread]
    for t in range(levels.shape[0]):
        levels[t, SLOPE] = 0
        levels[t, MASS] = 0
    for i in range(np.uintp(begin), np.uintp(end)):
        row = np.uintp(rows[start + i])
        total_slope, total_mass = 0, 0
        for t in range(first, last + np.uintp(1)):
            total_slope += sums[row, t, slope]
            total_mass += sums[row, t, mass]
            levels[t, slope] += sums[row, t, slope]
            levels[t, mass] += sums[row, t, mass]
        gathered[i, slope] = total_slope
        gathered[i, mass] = total_mass


@inlined
def sum_levels(slot: int, other: int, growth: Growth) -> None:
    """Write the sums of a leaf by threshold; take them away from those of another."""
    level_sums, parts = growth.level_sums, growth.thread_levels
    for t in range(level_sums.shape[1]):
        for k in range(2):
            total = 0
            for thread in range(parts.shape[0]):
                total += parts[thread, t, k]
            level_sums[slot, t, k] = total
            if other >= 0:
                level_sums[other, t, k] -= total


@inlined
def goes_above(row: np.uintp, split: Ints, is_category: bool, columns: TiledColumns) -> bool:
    """Return whether a row goes above a split."""
    b = bin_of(columns, split[splits.COLUMN], row)
    if b == np.uintp(ABSTAINS):
        return bool(split[splits.MISSING_ABOVE])
    if is_category:
        word = np.uint64(split[np.uintp(splits.CATEGORIES) + (b >> np.uintp(6))])
        return bool((word >> np.uint64(b & np.uintp(63))) & np.uint64(1))
    return bool(b <= np.uintp(split[splits.CUT]))


@inlined
def count_above(
    thread: int, n_threads: int, slot: int, columns: TiledColumns, growth: Growth
) -> None:
    """Count the rows of a thread's share that go above."""
    leaf, split = growth.leaves[slot], growth.best[slot]
    rows, start = growth.rows[leaf[BUFFER]], np.uintp(leaf[START])
    is_category = columns.is_category[split[splits.COLUMN]] != 0
    begin, end = share_of(thread, n_threads, n_rows_of(leaf))
    n_above = 0
    for i in range(np.uintp(begin), np.uintp(end)):
        n_above += 1 if goes_above(np.uintp(rows[start + i]), split, is_category, columns) else 0
    growth.counts[thread, 0] = n_above


@inlined
def divide_rows(
    thread: int, n_threads: int, slot: int, columns: TiledColumns, growth: Growth
) -> None:
    """Write the rows of a thread's share to the other buffer, those above first."""
    leaf, split = growth.leaves[slot], growth.best[slot]
    rows, others = growth.rows[leaf[BUFFER]], growth.rows[1 - leaf[BUFFER]]
    is_category = columns.is_category[split[splits.COLUMN]] != 0
    start = np.uintp(leaf[START])
    begin, end = share_of(thread, n_threads, n_rows_of(leaf))
    n_above, before = 0, 0
    for k in range(n_threads):
        n_above += growth.counts[k, 0]
        before += growth.counts[k, 0] if k < thread else 0
    above = start + np.uintp(before)
    below = start + np.uintp(n_above + begin - before)
    one = np.uintp(1)
    for i in range(np.uintp(begin), np.uintp(end)):
        row = rows[start + i]
        if goes_above(np.uintp(row), split, is_category, columns):
            others[above] = row
            above += one
        else:
            others[below] = row
            below += one


@inlined
def close_rows(slot: int, new: int, n_threads: int, growth: Growth) -> None:
    """Give the two new leaves the rows that were divided; done by one thread."""
    below, above = growth.leaves[slot], growth.leaves[new]
    n_above = 0
    for k in range(n_threads):
        n_above += growth.counts[k, 0]
    below[BUFFER] = above[BUFFER] = 1 - below[BUFFER]
    above[STOP] = above[START] + n_above
    below[START] = above[STOP]


@inlined
def copy_rows(thread: int, n_threads: int, slot: int, growth: Growth) -> None:
    """Copy the rows of a leaf to where rows without a leaf begin."""
    leaf, top = growth.leaves[slot], np.uintp(growth.state[TOP])
    rows, start = growth.rows[leaf[BUFFER]], np.uintp(leaf[START])
    begin, end = share_of(thread, n_threads, n_rows_of(leaf))
    for i in range(np.uintp(begin), np.uintp(end)):
        rows[top + i] = rows[start + i]


@inlined_exact
def keep_if_better(
    gain: float, column: int, scratch: Ints, found: Ints, gains: Floats, side: int
) -> None:
    """Replace the best split of a leaf by a better one."""
    if gain > gains[side]:
        gains[side] = gain
        found[splits.COLUMN] = column
        for k in range(1, splits.SPLIT):
            found[k] = scratch[k]


@inlined_exact
def scan_levels(slot: int, growth: Growth, rules: Rules, scratch: Ints) -> float:
    """Search where the range of a leaf is best cut; lower thresholds go above."""
    leaf = growth.leaves[slot]
    sums, whole = growth.level_sums[slot], leaf_of(slot, rules, growth)
    best, slope, mass = -inf, 0, 0
    for t in range(leaf[FIRST], leaf[LAST] - 1):
        slope += sums[t, SLOPE]
        mass += sums[t, MASS]
        gain = splits.split_gain(slope, mass, whole, 1, 0.0, rules)
        if gain > best:
            best = gain
            scratch[splits.CUT] = t + 1
            scratch[splits.MISSING_ABOVE] = 0
            scratch[splits.SLOPE_ABOVE] = slope
            scratch[splits.MASS_ABOVE] = mass
    return best


@inlined_exact
def scan_columns(
    thread: int,
    slot: int,
    side: int,
    tile: int,
    columns: TiledColumns,
    rules: Rules,
    growth: Growth,
) -> None:
    """Search the columns of a tile for the best split of a leaf."""
    leaf, node = leaf_of(slot, rules, growth), growth.leaves[slot, NODE]
    found, gains = growth.found[thread, side], growth.found_gains[thread]
    scratch, histograms = growth.scratch[thread], growth.histograms[slot]
    n_columns = columns.n_bins.shape[0]
    for c in range(sums_of.WIDTH * tile, min(sums_of.WIDTH * (tile + 1), n_columns)):
        if columns.n_bins[c] == 0 or not splits.is_looked_at(node, c, rules):
            continue
        if columns.is_category[c]:
            gain = splits.scan_categories(
                histograms[c], columns.n_bins[c], leaf, rules,
                growth.order[thread], growth.keys[thread], scratch,
            )  # fmt: skip
        else:
            gain = splits.scan_values(
                histograms[c], columns.n_bins[c], leaf, columns.rises[c], rules, scratch
            )
        keep_if_better(gain, c, scratch, found, gains, side)


@inlined_exact
def reset_found(thread: int, growth: Growth) -> None:
    """Forget what a thread has found."""
    for side in range(2):
        growth.found_gains[thread, side] = -inf
        growth.found[thread, side, splits.COLUMN] = IS_LEAF


@inlined_exact
def keep_best(slot: int, side: int, rules: Rules, growth: Growth) -> None:
    """Keep the best split of a leaf that any thread has found, if it gains at all."""
    found, gains = growth.found, growth.found_gains
    best = 0
    for k in range(1, gains.shape[0]):
        # Threads have their columns in order: the first of equal ones is the earliest.
        is_earlier = found[k, side, splits.COLUMN] < found[best, side, splits.COLUMN]
        if gains[k, side] > gains[best, side] or (
            gains[k, side] == gains[best, side] and is_earlier
        ):
            best = k
    whole = splits.leaf_gain(leaf_of(slot, rules, growth), rules)
    gain = gains[best, side]
    is_gain = gain - whole > 1e-12 * abs(gain)
    growth.limits[slot, GAIN] = gain - whole if is_gain else -inf
    for k in range(splits.SPLIT):
        growth.best[slot, k] = found[best, side, k]


@inlined
def examine(
    thread: int,
    n_threads: int,
    small: int,
    large: int,
    gathered: Ints,
    rows: Ints,
    columns: TiledColumns,
    rules: Rules,
    growth: Growth,
) -> None:
    """Sum the histograms of a leaf in a thread's share of tiles, and search them.

    Then the same for another leaf, if there is one, which had the rows of both.
    """
    n_tiles = columns.tiles.shape[0]
    first, last = share_of(thread, n_threads, n_tiles)
    histograms, n_columns = growth.histograms, columns.n_bins.shape[0]
    width = sums_of.WIDTH
    for tile in range(first, last):
        part = histograms[small, width * tile : width * (tile + 1)]
        for k in range(width):
            c = width * tile + k
            sums_of.clear_histogram(columns.n_bins[c] if c < n_columns else 1, part[k])
        sums_of.sum_tile(columns.tiles[tile], rows, gathered, part)
        if can_split(growth.leaves[small], rules):
            scan_columns(thread, small, 0, tile, columns, rules, growth)
        if large >= 0:
            for k in range(width):
                c = width * tile + k
                if c < n_columns:
                    whole = histograms[large, c]
                    sums_of.subtract_histogram(columns.n_bins[c], part[k], whole)
            scan_columns(thread, large, 1, tile, columns, rules, growth)


@inlined
def examine_levels(small: int, large: int, n_columns: int, rules: Rules, growth: Growth) -> None:
    """Search where the ranges of two leaves are best cut; done by the first thread."""
    for side in range(2):
        slot = small if side == 0 else large
        if slot >= 0 and can_split(growth.leaves[slot], rules):
            gain = scan_levels(slot, growth, rules, growth.scratch[0])
            # Behind all columns: one that gains as much is preferred.
            keep_if_better(
                gain, n_columns, growth.scratch[0], growth.found[0, side],
                growth.found_gains[0], side,
            )  # fmt: skip


@inlined
def search(
    thread: int, small: int, large: int, by_level: bool, data: Data, rules: Rules, growth: Growth
) -> bool:
    """Search for the best splits of two leaves, the first of which has fewer rows.

    Returns False if a thread has left for good, as all that wait for others do.
    """
    n_threads, n_columns = growth.counts.shape[0], data.columns.n_bins.shape[0]
    leaf = growth.leaves[small]
    n_rows = n_rows_of(leaf)
    rows = growth.rows[leaf[BUFFER]][leaf[START] :][:n_rows]
    gathered = growth.gathered[:n_rows]
    if data.whole.shape[0] > 0 and large < 0:
        rows, gathered = rows[:0], data.whole
    else:
        gather(thread, n_threads, small, data.sums, growth)
    if not barrier_wait(n_threads, growth.barrier):
        return False
    reset_found(thread, growth)
    examine(thread, n_threads, small, large, gathered, rows, data.columns, rules, growth)
    if data.sums.shape[1] > 1 and thread == 0:
        if not by_level:
            sum_levels(small, large, growth)
        examine_levels(small, large, n_columns, rules, growth)
    if not barrier_wait(n_threads, growth.barrier):
        return False
    if thread == 0:
        keep_best(small, 0, rules, growth)
        if large >= 0:
            keep_best(large, 1, rules, growth)
    return True


@inlined
def divide(thread: int, slot: int, new: int, columns: TiledColumns, growth: Growth) -> bool:
    """Divide the rows of a leaf, or its range, between two; the first gets more rows.

    Returns False if a thread has left for good.
    """
    n_threads, barrier = growth.counts.shape[0], growth.barrier
    by_level = growth.best[slot, splits.COLUMN] == columns.n_bins.shape[0]
    if by_level:
        copy_rows(thread, n_threads, slot, growth)
    else:
        count_above(thread, n_threads, slot, columns, growth)
        if not barrier_wait(n_threads, barrier):
            return False
        divide_rows(thread, n_threads, slot, columns, growth)
    if not barrier_wait(n_threads, barrier):
        return False
    if thread == 0:
        if by_level:
            close_levels(slot, new, growth)
        else:
            close_rows(slot, new, n_threads, growth)
            if n_rows_of(growth.leaves[new]) > n_rows_of(growth.leaves[slot]):
                swap_slots(new, slot, growth)
    return barrier_wait(n_threads, barrier)


@compiled
def grow(thread: int, data: Data, rules: Rules, growth: Growth) -> int:
    """Grow a tree; return how many nodes it has, 0 if a thread has left for good.

    growth has the first leaf, with its rows and sums.
    """
    state, leaves, columns = growth.state, growth.leaves, data.columns
    small, large, by_level = 0, -1, False
    while True:
        is_worth = can_split(leaves[small], rules) or (
            large >= 0 and can_split(leaves[large], rules)
        )
        if (
            is_worth
            and state[N_LEAVES] < rules.max_leaves
            and not search(thread, small, large, by_level, data, rules, growth)
        ):
            return 0
        if thread == 0:
            state[GOES_ON] = begin_split(rules, columns.n_bins.shape[0], columns.rises, growth)
        if not barrier_wait(growth.counts.shape[0], growth.barrier):
            return 0
        if not state[GOES_ON]:
            break
        large, small = state[SPLIT_LEAF], state[N_LEAVES] - 1
        by_level = growth.best[large, splits.COLUMN] == columns.n_bins.shape[0]
        if not divide(thread, large, small, columns, growth):
            return 0
    if thread == 0:
        write_leaves(rules, growth)
    return int(state[N_NODES])
