"""Leaves of a tree in progress: what they are, how one becomes two."""

from math import inf
from typing import NamedTuple

from peckorder._core.compiled.jit import inlined, inlined_exact
from peckorder._core.typing import Floats, Ints
from peckorder.trees.compiled import splits
from peckorder.trees.compiled.splits import Leaf, Rules

# A leaf: its node, where its rows begin and end and in which of the two buffers, its
# depth, its range of thresholds, and its sums.
NODE, START, STOP, BUFFER, DEPTH, FIRST, LAST, LEAF_SLOPE, LEAF_MASS = range(9)
LEAF = 9
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
# What threads share: the leaf that is split, how many leaves and nodes there are, where
# rows without a leaf begin.
SPLIT_LEAF, N_LEAVES, N_NODES, TOP, GOES_ON = range(5)
STATE = 5


class Growth(NamedTuple):
    """A tree in progress.

    rows (2, m) are the rows of the leaves, in one buffer or the other; gathered (m, 2)
    is workspace for their sums. histograms (leaves, columns, 256, 2) and level_sums
    (leaves, thresholds, 2) are the sums of leaves; of threads, thread_levels
    (threads, thresholds, 2), counts (threads, 16), found (threads, 2, 16) and
    found_gains (threads, 16) are what they have found, scratch (threads, 16), order and
    keys (threads, 256) workspace.
    """

    rows: Ints
    gathered: Ints
    histograms: Ints
    level_sums: Ints
    leaves: Ints
    limits: Floats
    best: Ints
    nodes: Ints
    node_values: Floats
    state: Ints
    barrier: Ints
    thread_levels: Ints
    counts: Ints
    found: Ints
    found_gains: Floats
    scratch: Ints
    order: Ints
    keys: Floats


@inlined_exact
def leaf_of(slot: int, rules: Rules, growth: Growth) -> Leaf:
    """Return the sums and bounds of a leaf."""
    leaf, limits = growth.leaves[slot], growth.limits[slot]
    least_rows = rules.min_rows * (leaf[LAST] - leaf[FIRST])
    return Leaf(leaf[LEAF_SLOPE], leaf[LEAF_MASS], limits[LOWER], limits[UPPER], least_rows)


@inlined
def n_rows_of(leaf: Ints) -> int:
    """Return how many rows a leaf has."""
    return int(leaf[STOP] - leaf[START])


@inlined
def can_split(leaf: Ints, rules: Rules) -> bool:
    """Return whether a leaf is deep or small enough to be left alone."""
    is_wide = leaf[LAST] - leaf[FIRST] > 1
    return bool(
        leaf[DEPTH] < rules.max_depth and (n_rows_of(leaf) >= 2 * rules.min_rows or is_wide)
    )


@inlined_exact
def open_leaf(slot: int, parent: Ints, node: int, slope: int, mass: int, growth: Growth) -> None:
    """Make a leaf with the rows, range and depth of another, one deeper."""
    leaf = growth.leaves[slot]
    for k in range(LEAF):
        leaf[k] = parent[k]
    leaf[NODE] = node
    leaf[DEPTH] = parent[DEPTH] + 1
    leaf[LEAF_SLOPE] = slope
    leaf[LEAF_MASS] = mass
    growth.limits[slot, GAIN] = -inf


@inlined_exact
def begin_split(rules: Rules, n_columns: int, rises: Ints, growth: Growth) -> bool:
    """Turn the leaf that gains most into two, but for their rows; done by one thread.

    Returns whether there was one to split.
    """
    state, leaves, limits, nodes = growth.state, growth.leaves, growth.limits, growth.nodes
    n_leaves, slot = state[N_LEAVES], -1
    for k in range(n_leaves):
        if limits[k, GAIN] > (limits[slot, GAIN] if slot >= 0 else 0.0):
            slot = k
    if slot < 0 or n_leaves == rules.max_leaves:
        return False
    best, parent = growth.best[slot], growth.scratch[0]
    for k in range(LEAF):
        parent[k] = leaves[slot, k]
    node, new = parent[NODE], n_leaves
    below, above = state[N_NODES], state[N_NODES] + 1
    nodes[node, SPLIT_COLUMN] = best[splits.COLUMN]
    nodes[node, SPLIT_CUT] = best[splits.CUT]
    nodes[node, SPLIT_MISSING] = best[splits.MISSING_ABOVE]
    nodes[node, BELOW] = below
    nodes[node, ROWS] = parent[STOP] - parent[START]
    for k in range(4):
        nodes[node, SETS + k] = best[splits.CATEGORIES + k]
    growth.node_values[node, NODE_GAIN] = limits[slot, GAIN]
    lower, upper = limits[slot, LOWER], limits[slot, UPPER]
    slope, mass = best[splits.SLOPE_ABOVE], best[splits.MASS_ABOVE]
    rise = 1 if best[splits.COLUMN] == n_columns else rises[best[splits.COLUMN]]
    middle_low, middle_high = -inf, inf
    if rise != 0:
        whole = Leaf(parent[LEAF_SLOPE], parent[LEAF_MASS], lower, upper, 0)
        middle = middle_of(slope, mass, whole, rules)
        middle_low = middle_high = middle
    open_leaf(slot, parent, below, parent[LEAF_SLOPE] - slope, parent[LEAF_MASS] - mass, growth)
    open_leaf(new, parent, above, slope, mass, growth)
    # Nothing below may add more than the middle, nothing above less; or the reverse.
    limits[slot, LOWER] = max(lower, middle_low) if rise < 0 else lower
    limits[slot, UPPER] = min(upper, middle_high) if rise > 0 else upper
    limits[new, LOWER] = max(lower, middle_low) if rise > 0 else lower
    limits[new, UPPER] = min(upper, middle_high) if rise < 0 else upper
    state[SPLIT_LEAF] = slot
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


@inlined
def close_levels(slot: int, new: int, growth: Growth) -> None:
    """Give the two new leaves the same rows and their own ranges; by one thread.

    The upper thresholds are below: a score that rises passes them last.
    """
    below, above = growth.leaves[slot], growth.leaves[new]
    cut, top = growth.best[slot, splits.CUT], growth.state[TOP]
    above[START], above[STOP] = top, top + n_rows_of(below)
    growth.state[TOP] = above[STOP]
    above[LAST] = cut
    below[FIRST] = cut
    for t in range(growth.level_sums.shape[1]):
        for k in range(2):
            growth.level_sums[new, t, k] = growth.level_sums[slot, t, k]


@inlined
def swap_slots(a: int, b: int, growth: Growth) -> None:
    """Exchange two leaves, but for their histograms and sums by threshold."""
    for k in range(LEAF):
        other = growth.leaves[a, k]
        growth.leaves[a, k] = growth.leaves[b, k]
        growth.leaves[b, k] = other
    for k in range(3):
        limit = growth.limits[a, k]
        growth.limits[a, k] = growth.limits[b, k]
        growth.limits[b, k] = limit


@inlined
def write_leaves(rules: Rules, growth: Growth) -> None:
    """Write what leaves are to their nodes."""
    for slot in range(growth.state[N_LEAVES]):
        node, leaf = growth.leaves[slot, NODE], leaf_of(slot, rules, growth)
        curvature = splits.curvature_of(leaf.mass, rules)
        growth.nodes[node, SPLIT_COLUMN] = IS_LEAF
        growth.nodes[node, ROWS] = n_rows_of(growth.leaves[slot])
        growth.node_values[node, NODE_GAIN] = 0.0
        growth.node_values[node, CURVATURE] = curvature
        growth.node_values[node, VALUE] = splits.value_of(
            leaf.slope * rules.slope_unit, curvature + rules.l2, leaf.lower, leaf.upper
        )
