"""Growing a tree, the leaf that gains most first.

A leaf holds rows and, where an objective has several thresholds, a range of those: the
slope of a row is then that of all thresholds in the range. Leaves are split by columns,
or in the range. Of the two new leaves the one with fewer rows is summed; the other has
what is left of the histograms of both. All threads do this at the same time: each has
its own share of rows, then of columns, and they meet at barriers.
"""

from math import inf

import numpy as np

from peckorder._core.compiled.barrier import barrier_wait, share_of
from peckorder._core.compiled.jit import compiled, inlined, inlined_exact
from peckorder._core.typing import Floats, Ints
from peckorder.trees.compiled import splits
from peckorder.trees.compiled.histograms import MASS, SLOPE, TiledColumns, add_histogram
from peckorder.trees.compiled.leaf_rows import (
    IS_SUMMED,
    N_SHARES,
    NEW,
    SLOT,
    SPLIT,
    LeafRows,
    close_rows,
    divide,
    settle,
    start_rows,
)
from peckorder.trees.compiled.leaves import (
    FIRST,
    GAIN,
    GOES_ON,
    IS_LEAF,
    LAST,
    N_NODES,
    NODE,
    Growth,
    begin_split,
    begin_tree,
    can_split,
    leaf_of,
    write_leaves,
)
from peckorder.trees.compiled.splits import Rules
from peckorder.trees.compiled.sums import with_units, write_extremes, write_sums

# Rows whose sums are written, and added up, at a time.
_BLOCK = 1024


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
def scan_column(
    thread: int,
    slot: int,
    side: int,
    c: int,
    limit: np.uint64,
    columns: TiledColumns,
    rules: Rules,
    growth: Growth,
) -> None:
    """Search a column for the best split of a leaf, if its draw is below the limit."""
    leaf = leaf_of(slot, rules, growth)
    scratch, histogram = growth.scratch[thread], growth.histograms[slot, c]
    is_sampled = rules.feature_share < 1.0
    if is_sampled and splits.draw(growth.leaves[slot, NODE], c, rules) >= limit:
        return
    if columns.is_category[c]:
        gain = splits.scan_categories(
            histogram, columns.n_bins[c], leaf, rules,
            growth.sums[thread, 0], growth.keys[thread], scratch,
        )  # fmt: skip
    else:
        gain = splits.scan_values(
            histogram, columns.n_bins[c], leaf, columns.rises[c], rules,
            growth.sums[thread], growth.keys[thread], scratch,
        )  # fmt: skip
    keep_if_better(gain, c, scratch, growth.found[thread, side], growth.found_gains[thread], side)


@inlined_exact
def reset_found(thread: int, growth: Growth) -> None:
    """Forget what a thread has found."""
    for side in range(2):
        growth.found_gains[thread, side] = -inf
        growth.found[thread, side, splits.COLUMN] = IS_LEAF


@inlined_exact
def keep_best(slot: int, side: int, n_threads: int, rules: Rules, growth: Growth) -> None:
    """Keep the best split of a leaf that any thread has found, if it gains at all."""
    found, gains = growth.found, growth.found_gains
    best = 0
    for k in range(1, n_threads):
        # Threads have their columns in order: the first of equal ones is the earliest.
        is_earlier = found[k, side, splits.COLUMN] < found[best, side, splits.COLUMN]
        if gains[k, side] > gains[best, side] or (
            gains[k, side] == gains[best, side] and is_earlier
        ):
            best = k
    whole = splits.leaf_gain(leaf_of(slot, rules, growth), rules)
    gain = gains[best, side]
    is_gain = gain - whole > 1e-9 * abs(gain)
    growth.limits[slot, GAIN] = gain - whole if is_gain else -inf
    for k in range(splits.SPLIT):
        growth.best[slot, k] = found[best, side, k]


@inlined
def sum_levels(small: int, large: int, n_shares: int, parts: Ints, growth: Growth) -> None:
    """Write the sums of a leaf by threshold; take them away from those of another."""
    level_sums = growth.level_sums
    for t in range(level_sums.shape[1]):
        for k in range(2):
            total = 0
            for thread in range(n_shares):
                total += parts[thread, t, k]
            level_sums[small, t, k] = total
            if large >= 0:
                level_sums[large, t, k] -= total


@inlined
def search_columns(
    thread: int, n_threads: int, columns: TiledColumns, rules: Rules, parts: Ints, growth: Growth
) -> None:
    """Put together the histograms of both leaves of a division, and search them.

    A thread does so for its share of the columns.
    """
    large, small = growth.division[SLOT], growth.division[NEW]
    small_too = can_split(growth.leaves[small], rules)
    large_too = large >= 0 and can_split(growth.leaves[large], rules)
    n_columns, histograms = columns.n_bins.shape[0], growth.histograms
    first, last = share_of(thread, n_threads, n_columns)
    of_small = splits.drawn_below(growth.leaves[small, NODE], columns.n_bins, rules)
    of_large = np.uint64(0)
    if large_too:
        of_large = splits.drawn_below(growth.leaves[large, NODE], columns.n_bins, rules)
    for c in range(first, last):
        n_bins = columns.n_bins[c]
        if n_bins == 0:
            continue
        for k in range(growth.division[N_SHARES] - 1):
            add_histogram(n_bins, histograms[small, c], parts[k, c], 1)
        if large_too:
            add_histogram(n_bins, histograms[large, c], histograms[small, c], -1)
        for side in range(2):
            if small_too if side == 0 else large_too:
                slot, limit = (small, of_small) if side == 0 else (large, of_large)
                scan_column(thread, slot, side, c, limit, columns, rules, growth)


@inlined
def search_levels(n_columns: int, rules: Rules, growth: Growth) -> None:
    """Search where the ranges of two leaves are best cut; done by the first thread."""
    for side in range(2):
        slot = growth.division[NEW] if side == 0 else growth.division[SLOT]
        if slot >= 0 and can_split(growth.leaves[slot], rules):
            gain = scan_levels(slot, growth, rules, growth.scratch[0])
            # Behind all columns: one that gains as much is preferred.
            keep_if_better(
                gain, n_columns, growth.scratch[0], growth.found[0, side],
                growth.found_gains[0], side,
            )  # fmt: skip


@inlined
def search(
    thread: int,
    n_threads: int,
    columns: TiledColumns,
    rules: Rules,
    parts: Ints,
    level_parts: Ints,
    growth: Growth,
) -> None:
    """Search for the best splits of both leaves of a division, by the sums of the new one.

    parts (k, columns, 256, 2) are not yet added to its histograms; level_parts
    (k, thresholds, 2) add up to its sums by threshold.
    """
    n_columns, division = columns.n_bins.shape[0], growth.division
    reset_found(thread, growth)
    search_columns(thread, n_threads, columns, rules, parts, growth)
    if level_parts.shape[1] > 1 and thread == 0:
        if division[SLOT] >= 0 and division[SPLIT + splits.COLUMN] != n_columns:
            sum_levels(division[NEW], division[SLOT], division[N_SHARES], level_parts, growth)
        search_levels(n_columns, rules, growth)


@inlined
def choose(n_threads: int, columns: TiledColumns, rules: Rules, growth: Growth) -> bool:
    """Choose the next division, by what has been found for the last; by one thread.

    Returns whether there is one.
    """
    division = growth.division
    if division[IS_SUMMED]:
        keep_best(division[NEW], 0, n_threads, rules, growth)
        if division[SLOT] >= 0:
            keep_best(division[SLOT], 1, n_threads, rules, growth)
    return begin_split(rules, n_threads, columns.n_bins.shape[0], columns.rises, growth)


@inlined
def begin(
    thread: int, slopes: Floats, curvatures: Floats, chosen: Ints, rules: Rules, held: LeafRows,
    growth: Growth,
) -> bool:  # fmt: skip
    """Write the sums of rows, and begin the first leaf; return False if a thread has left."""
    n_threads, n_rows, n_levels = held.counts.shape[0], held.sums.shape[0], held.sums.shape[1]
    sums = held.sums.reshape((n_rows * n_levels, 2))
    levels = held.level_parts[thread]
    for t in range(levels.shape[0]):
        levels[t, SLOPE] = levels[t, MASS] = 0
    first, last = share_of(thread, n_threads, n_rows)
    for start in range(first, last, _BLOCK):
        stop = min(start + _BLOCK, last)
        write_sums(slopes, curvatures, start * n_levels, stop * n_levels, rules, sums)
        if chosen.shape[0] == n_rows:
            start_rows(thread, start, stop, chosen, held)
    if chosen.shape[0] != n_rows:
        if not barrier_wait(n_threads, growth.barrier):
            return False
        first, last = share_of(thread, n_threads, chosen.shape[0])
        start_rows(thread, first, last, chosen, held)
    if not barrier_wait(n_threads, growth.barrier):
        return False
    if thread == 0:
        held.ranges[0, 0], held.ranges[0, 1], held.top[0] = 0, chosen.shape[0], chosen.shape[0]
        sum_levels(0, -1, n_threads, held.level_parts, growth)
        begin_tree(rules, n_threads, n_levels, growth)
    return barrier_wait(n_threads, growth.barrier)


@compiled
def grow(
    thread: int, slopes: Floats, curvatures: Floats, chosen: Ints, columns: TiledColumns,
    rules: Rules, held: LeafRows, growth: Growth,
) -> int:  # fmt: skip
    """Grow a tree from chosen rows; return how many nodes it has, 0 if a thread has left for good.

    slopes and curvatures (n * thresholds,) are those of all rows; the rules need no units.
    """
    n_threads, n_columns = held.counts.shape[0], columns.n_bins.shape[0]
    state, division, barrier = growth.state, growth.division, growth.barrier
    first, last = share_of(thread, n_threads, slopes.shape[0])
    write_extremes(slopes, curvatures, first, last, growth.found_gains[thread])
    if not barrier_wait(n_threads, barrier):
        return 0
    rules = with_units(rules, growth.found_gains)
    if not begin(thread, slopes, curvatures, chosen, rules, held, growth):
        return 0
    while True:
        histograms = growth.histograms[division[NEW]] if thread == 0 else held.parts[thread - 1]
        divide(thread, division, columns, held, histograms)
        if not barrier_wait(n_threads, barrier):
            return 0
        settle(thread, division, n_columns, held)
        if division[IS_SUMMED]:
            search(thread, n_threads, columns, rules, held.parts, held.level_parts, growth)
        if not barrier_wait(n_threads, barrier):
            return 0
        if thread == 0:
            close_rows(division, n_columns, held)
            state[GOES_ON] = choose(n_threads, columns, rules, growth)
        if not barrier_wait(n_threads, barrier):
            return 0
        if not state[GOES_ON]:
            break
    if thread == 0:
        write_leaves(rules, growth)
    return int(state[N_NODES])
