"""Slopes and curvatures as integers, and scores that trees add."""

from math import frexp, ldexp

import numpy as np

from peckorder._core.compiled.barrier import largest_of, share_of
from peckorder._core.compiled.bins import ABSTAINS
from peckorder._core.compiled.jit import compiled, inlined, inlined_exact
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

# Sums stay below it, whatever the signs of their terms.
_SUM_BITS = 62
_NO_SIGN = np.int64((1 << 63) - 1)


@inlined_exact
def largest_bits(values: Floats, first: int, last: int) -> int:
    """Return the bits of the largest of some values, without signs: they are ordered as the values.

    Integers, of which the compiler takes several at a time.
    """
    bits, largest = values.view(np.int64), np.int64(0)
    for i in range(np.uintp(first), np.uintp(last)):
        largest = max(largest, bits[i] & _NO_SIGN)
    return int(largest)


@inlined_exact
def write_extremes(
    slopes: Floats, curvatures: Floats, first: int, last: int, extremes: Floats
) -> None:
    """Write to extremes the largest slope, without its sign, and the largest curvature."""
    bits = extremes.view(np.int64)
    bits[0] = largest_bits(slopes, first, last)
    bits[1] = largest_bits(curvatures, first, last)


@inlined_exact
def unit_of(extremes: Floats, bits: int) -> float:
    """Return a power of two of which no value of any thread has as many as ``2**bits``."""
    largest = largest_of(extremes)
    return ldexp(1.0, frexp(largest)[1] - bits) if largest > 0.0 else 1.0


@inlined_exact
def with_units(rules: Rules, extremes: Floats) -> Rules:
    """Return the rules with the units of sums, by the extremes of all threads."""
    return Rules(
        rules.max_leaves, rules.max_depth, rules.min_rows, rules.l2,
        unit_of(extremes[:, 0], _SUM_BITS - rules.row_bits),
        unit_of(extremes[:, 1], _SUM_BITS - 2 * rules.row_bits),
        rules.row_bits, rules.feature_share, rules.seed, rules.smoothing, rules.category_l2,
    )  # fmt: skip


@inlined_exact
def write_sums(
    slopes: Floats, curvatures: Floats, first: int, last: int, rules: Rules, sums: Ints
) -> None:
    """Write to sums (n, 2) slopes and curvatures, in whole units.

    A curvature is rounded up, so that none above zero becomes zero.
    """
    slope, mass, bits = np.uintp(SLOPE), np.uintp(MASS), np.int64(rules.row_bits)
    by_slope, by_curvature = 1.0 / rules.slope_unit, 1.0 / rules.curvature_unit
    for i in range(np.uintp(first), np.uintp(last)):
        sums[i, slope] = np.int64(np.rint(slopes[i] * by_slope))
        sums[i, mass] = (np.int64(np.ceil(curvatures[i] * by_curvature)) << bits) + 1


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
