"""Leaves of a tree in progress: what they are, how one becomes two."""

from math import inf
from typing import NamedTuple

from peckorder._core.compiled.jit import compiled, inlined_exact
from peckorder._core.typing import Floats, Ints
from peckorder.trees.compiled import splits
from peckorder.trees.compiled.histograms import MASS, SLOPE
from peckorder.trees.compiled.leaf_rows import (
    FIRST_LEVEL,
    IS_SUMMED,
    LAST_LEVEL,
    N_SHARES,
    NEW,
    NEW_IS_ABOVE,
    SLOT,
    SPLIT,
    n_shares_of,
)
from peckorder.trees.compiled.splits import Leaf, Rules

# A leaf: its node, its depth, its range of thresholds, and its sums.
NODE, DEPTH, FIRST, LAST, LEAF_SLOPE, LEAF_MASS = range(6)
LEAF = 6
# The least and largest score that a leaf may add, and what its best split gains.
LOWER, UPPER, GAIN = range(3)
# A node: the column that it splits, or IS_LEAF; where it cuts; whether rows without a
# value go above; the node below, which the one above follows; how many rows it has;
# categories that go above.
SPLIT_COLUMN, SPLIT_CUT, SPLIT_MISSING, BELOW, ROWS, SETS = range(6)
NODE_INTS = SETS + 4
# What a node gains, the score that a leaf adds, its curvature.
NODE_GAIN, VALUE, CURVATURE = range(3)
NODE_FLOATS = 3
IS_LEAF = -1
# What threads share: how many leaves and nodes there are, whether there is a leaf to be
# divided.
N_LEAVES, N_NODES, GOES_ON = range(3)
STATE = 3


class Growth(NamedTuple):
    """A tree in progress, but for its rows.

    histograms (leaves, columns, 256, 2) and level_sums (leaves, thresholds, 2) are the
    sums of leaves; leaves, limits and best are what is known of them: position, bounds
    of their scores, their best split. nodes and node_values are the tree so far, state
    counts its leaves and nodes, division is what is to be done to rows next. Of threads,
    found and found_gains are the best splits of two leaves that they have found; scratch,
    sums and keys are workspace. They wait for each other at the barrier.
    """

    histograms: Ints
    level_sums: Ints
    leaves: Ints
    limits: Floats
    best: Ints
    nodes: Ints
    node_values: Floats
    state: Ints
    division: Ints
    barrier: Ints
    found: Ints
    found_gains: Floats
    scratch: Ints
    sums: Ints
    keys: Floats


@inlined_exact
def leaf_of(slot: int, rules: Rules, growth: Growth) -> Leaf:
    """Return the sums and bounds of a leaf."""
    leaf, limits = growth.leaves[slot], growth.limits[slot]
    least_rows = rules.min_rows * (leaf[LAST] - leaf[FIRST])
    return Leaf(leaf[LEAF_SLOPE], leaf[LEAF_MASS], limits[LOWER], limits[UPPER], least_rows)


@inlined_exact
def n_rows_of(leaf: Ints, rules: Rules) -> int:
    """Return how many rows a leaf has."""
    return int(splits.rows_of(leaf[LEAF_MASS], rules) // (leaf[LAST] - leaf[FIRST]))


@inlined_exact
def can_split(leaf: Ints, rules: Rules) -> bool:
    """Return whether a leaf is neither too deep nor too small to be split."""
    is_wide = leaf[LAST] - leaf[FIRST] > 1
    return bool(
        leaf[DEPTH] < rules.max_depth and (n_rows_of(leaf, rules) >= 2 * rules.min_rows or is_wide)
    )


@inlined_exact
def open_leaf(slot: int, parent: Ints, node: int, slope: int, mass: int, growth: Growth) -> None:
    """Make a leaf with the range of another, one deeper."""
    leaf = growth.leaves[slot]
    for k in range(LEAF):
        leaf[k] = parent[k]
    leaf[NODE] = node
    leaf[DEPTH] = parent[DEPTH] + 1
    leaf[LEAF_SLOPE] = slope
    leaf[LEAF_MASS] = mass
    growth.limits[slot, GAIN] = -inf


@inlined_exact
def begin_tree(rules: Rules, n_threads: int, n_levels: int, growth: Growth) -> None:
    """Begin a tree with one leaf, whose level_sums are known."""
    leaf, limits, division = growth.leaves[0], growth.limits[0], growth.division
    for k in range(LEAF):
        leaf[k] = 0
    leaf[LAST] = n_levels
    for t in range(n_levels):
        leaf[LEAF_SLOPE] += growth.level_sums[0, t, SLOPE]
        leaf[LEAF_MASS] += growth.level_sums[0, t, MASS]
    limits[LOWER], limits[UPPER], limits[GAIN] = -inf, inf, -inf
    growth.state[N_LEAVES] = growth.state[N_NODES] = 1
    division[SLOT], division[NEW] = -1, 0
    division[FIRST_LEVEL], division[LAST_LEVEL] = 0, n_levels
    division[N_SHARES] = n_shares_of(n_rows_of(leaf, rules), n_threads)
    division[IS_SUMMED] = rules.max_leaves > 1 and can_split(leaf, rules)


@inlined_exact
def begin_split(rules: Rules, n_threads: int, n_columns: int, rises: Ints, growth: Growth) -> bool:
    """Turn the leaf that gains most into two, but for their rows; done by one thread.

    The new leaf is the one with fewer rows. Returns whether there was one to split.
    """
    state, leaves, limits, nodes = growth.state, growth.leaves, growth.limits, growth.nodes
    n_leaves, slot = state[N_LEAVES], -1
    for k in range(n_leaves):
        if limits[k, GAIN] > (limits[slot, GAIN] if slot >= 0 else 0.0):
            slot = k
    if slot < 0 or n_leaves == rules.max_leaves:
        return False
    best, parent, division = growth.best[slot], growth.scratch[0], growth.division
    for k in range(LEAF):
        parent[k] = leaves[slot, k]
    node, below, above = parent[NODE], state[N_NODES], state[N_NODES] + 1
    nodes[node, SPLIT_COLUMN] = best[splits.COLUMN]
    nodes[node, SPLIT_CUT] = best[splits.CUT]
    nodes[node, SPLIT_MISSING] = best[splits.MISSING_ABOVE]
    nodes[node, BELOW] = below
    nodes[node, ROWS] = n_rows_of(parent, rules)
    for k in range(4):
        nodes[node, SETS + k] = best[splits.CATEGORIES + k]
    growth.node_values[node, NODE_GAIN] = limits[slot, GAIN]
    by_level = best[splits.COLUMN] == n_columns
    lower, upper = limits[slot, LOWER], limits[slot, UPPER]
    slope, mass = best[splits.SLOPE_ABOVE], best[splits.MASS_ABOVE]
    rise = 1 if by_level else rises[best[splits.COLUMN]]
    middle_low, middle_high = -inf, inf
    if rise != 0:
        whole = Leaf(parent[LEAF_SLOPE], parent[LEAF_MASS], lower, upper, 0)
        middle_low = middle_high = middle_of(slope, mass, whole, rules)
    n_above = splits.rows_of(mass, rules)
    is_above = by_level or 2 * n_above <= splits.rows_of(parent[LEAF_MASS], rules)
    at_above, at_below = (n_leaves, slot) if is_above else (slot, n_leaves)
    open_leaf(at_below, parent, below, parent[LEAF_SLOPE] - slope, parent[LEAF_MASS] - mass, growth)
    open_leaf(at_above, parent, above, slope, mass, growth)
    # Nothing below may add more than the middle, nothing above less; or the reverse.
    limits[at_below, LOWER] = max(lower, middle_low) if rise < 0 else lower
    limits[at_below, UPPER] = min(upper, middle_high) if rise > 0 else upper
    limits[at_above, LOWER] = max(lower, middle_low) if rise > 0 else lower
    limits[at_above, UPPER] = min(upper, middle_high) if rise < 0 else upper
    if by_level:
        # The upper thresholds are below: a score that rises passes them last.
        leaves[at_above, LAST] = leaves[at_below, FIRST] = best[splits.CUT]
        for t in range(growth.level_sums.shape[1]):
            for k in range(2):
                growth.level_sums[at_above, t, k] = growth.level_sums[at_below, t, k]
    division[SLOT], division[NEW], division[NEW_IS_ABOVE] = slot, n_leaves, is_above
    division[N_SHARES] = n_shares_of(n_rows_of(parent, rules), n_threads)
    division[FIRST_LEVEL] = leaves[n_leaves, FIRST]
    division[LAST_LEVEL] = leaves[n_leaves, LAST]
    division[IS_SUMMED] = n_leaves + 1 < rules.max_leaves and (
        can_split(leaves[slot], rules) or can_split(leaves[n_leaves], rules)
    )
    for k in range(splits.SPLIT):
        division[SPLIT + k] = best[k]
    state[N_LEAVES], state[N_NODES] = n_leaves + 1, above + 1
    return True


@inlined_exact
def middle_of(slope: int, mass: int, whole: Leaf, rules: Rules) -> float:
    """Return the middle between the scores that the two sides of a split would add."""
    above = splits.value_of(
        slope * rules.slope_unit,
        splits.curvature_of(mass, rules) + rules.l2,
        whole.lower,
        whole.upper,
    )
    below = splits.value_of(
        (whole.slope - slope) * rules.slope_unit,
        splits.curvature_of(whole.mass - mass, rules) + rules.l2,
        whole.lower,
        whole.upper,
    )
    return 0.5 * (above + below)


@inlined_exact
def write_leaves(rules: Rules, growth: Growth) -> None:
    """Write what leaves are to their nodes."""
    for slot in range(growth.state[N_LEAVES]):
        node, leaf = growth.leaves[slot, NODE], leaf_of(slot, rules, growth)
        curvature = splits.curvature_of(leaf.mass, rules)
        growth.nodes[node, SPLIT_COLUMN] = IS_LEAF
        growth.nodes[node, ROWS] = n_rows_of(growth.leaves[slot], rules)
        growth.node_values[node, NODE_GAIN] = 0.0
        growth.node_values[node, CURVATURE] = curvature
        growth.node_values[node, VALUE] = splits.value_of(
            leaf.slope * rules.slope_unit, curvature + rules.l2, leaf.lower, leaf.upper
        )


@compiled
def write_tree(
    nodes: Ints, node_values: Floats, cuts: Floats, is_category: Ints, ints: Ints, floats: Floats,
    sets: Ints,
) -> None:  # fmt: skip
    """Write the nodes of a tree as `Tree` has them: what a node does not use is zero.

    ints (4, n) are columns, sides of missing values, nodes below and rows; floats (3, n)
    are cuts, values and gains.
    """
    n_columns = is_category.shape[0]
    for i in range(ints.shape[1]):
        node, values, column = nodes[i], node_values[i], nodes[i, SPLIT_COLUMN]
        is_split, has_set = column != IS_LEAF, 0 <= column < n_columns and is_category[column] != 0
        ints[0, i], ints[3, i] = column, node[ROWS]
        ints[1, i] = node[SPLIT_MISSING] if is_split else 0
        ints[2, i] = node[BELOW] if is_split else 0
        for k in range(4):
            sets[i, k] = node[SETS + k] if has_set else 0
        floats[0, i] = floats[1, i] = floats[2, i] = 0.0
        if not is_split:
            floats[1, i] = values[VALUE]
            continue
        floats[2, i] = values[NODE_GAIN]
        if column == n_columns:
            floats[0, i] = node[SPLIT_CUT]
        elif not has_set:
            floats[0, i] = cuts[column, node[SPLIT_CUT]]
