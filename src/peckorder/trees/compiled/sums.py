"""Slopes and curvatures as integers, and scores that trees add."""

import numpy as np

from peckorder._core.compiled.barrier import share_of
from peckorder._core.compiled.bins import ABSTAINS
from peckorder._core.compiled.jit import compiled, inlined
from peckorder._core.typing import Floats, Ints
from peckorder.trees.compiled.histograms import MASS, SLOPE, TiledColumns, bin_of
from peckorder.trees.compiled.leaf_rows import LeafRows
from peckorder.trees.compiled.leaves import (
    BELOW,
    FIRST,
    IS_LEAF,
    LAST,
    N_LEAVES,
    NODE,
    SETS,
    SPLIT_COLUMN,
    SPLIT_CUT,
    SPLIT_MISSING,
    VALUE,
    Growth,
)
from peckorder.trees.compiled.splits import Rules


@compiled
def write_sums(
    slopes: Floats, curvatures: Floats, first: int, last: int, rules: Rules, sums: Ints
) -> None:
    """Write to sums (n, thresholds, 2) slopes and curvatures of rows, in whole units.

    A curvature is rounded up, so that none above zero becomes zero.
    """
    slope, mass, bits = np.uintp(SLOPE), np.uintp(MASS), np.int64(rules.row_bits)
    by_slope, by_curvature = 1.0 / rules.slope_unit, 1.0 / rules.curvature_unit
    for i in range(np.uintp(first), np.uintp(last)):
        for t in range(np.uintp(slopes.shape[1])):
            sums[i, t, slope] = np.int64(np.rint(slopes[i, t] * by_slope))
            curvature = np.int64(np.ceil(curvatures[i, t] * by_curvature))
            sums[i, t, mass] = (curvature << bits) + 1


@compiled
def sum_of_rows(rows: Ints, first: int, last: int, held: LeafRows, level_sums: Ints) -> None:
    """Add to level_sums (thresholds, 2) the sums of some rows, rows[first:last]."""
    for i in range(np.uintp(first), np.uintp(last)):
        row = np.uintp(rows[i])
        for t in range(np.uintp(level_sums.shape[0])):
            level_sums[t, np.uintp(SLOPE)] += held.sums[row, t, np.uintp(SLOPE)]
            level_sums[t, np.uintp(MASS)] += held.sums[row, t, np.uintp(MASS)]


@compiled
def add_leaves(thread: int, rate: float, held: LeafRows, growth: Growth, scores: Floats) -> None:
    """Add to scores (n, thresholds) what the leaves of a tree add to their rows."""
    for slot in range(growth.state[N_LEAVES]):
        leaf = growth.leaves[slot]
        added = rate * growth.node_values[leaf[NODE], VALUE]
        start, stop = held.ranges[slot, 0], held.ranges[slot, 1]
        begin, end = share_of(thread, held.counts.shape[0], stop - start)
        for i in range(np.uintp(start + begin), np.uintp(start + end)):
            row = np.uintp(held.rows[i])
            for t in range(np.uintp(leaf[FIRST]), np.uintp(leaf[LAST])):
                scores[row, t] += added


@inlined
def child_of(node: Ints, row: np.uintp, level: int, columns: TiledColumns) -> int:
    """Return the node to which a row goes at one of its thresholds."""
    column, below = node[SPLIT_COLUMN], node[BELOW]
    if column == columns.n_bins.shape[0]:
        return int(below + (level < node[SPLIT_CUT]))
    b = bin_of(columns, column, row)
    if b == np.uintp(ABSTAINS):
        return int(below + node[SPLIT_MISSING])
    if columns.is_category[column]:
        word = np.uint64(node[np.uintp(SETS) + (b >> np.uintp(6))])
        return int(below + np.int64((word >> np.uint64(b & np.uintp(63))) & np.uint64(1)))
    return int(below + (b <= np.uintp(node[SPLIT_CUT])))


@compiled
def add_to_rows(
    rows: Ints, rate: float, columns: TiledColumns, growth: Growth, scores: Floats
) -> None:
    """Add to scores (n, thresholds) what a tree adds to rows that it has not seen."""
    nodes = growth.nodes
    for i in range(rows.shape[0]):
        row = np.uintp(rows[i])
        for t in range(scores.shape[1]):
            node = 0
            while nodes[node, SPLIT_COLUMN] != IS_LEAF:
                node = child_of(nodes[node], row, t, columns)
            scores[row, t] += rate * growth.node_values[node, VALUE]
