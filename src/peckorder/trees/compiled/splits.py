"""The search for the best split of a leaf, by its histograms.

With slope S and curvature C of the rows of a leaf, the score v that it adds changes the
objective by ``S v - C v**2 / 2``, less ``l2 v**2 / 2``, to second order: at best by
``S**2 / (C + l2) / 2`` for ``v = S / (C + l2)``. A split gains what its two sides have
more than the leaf. Rows without a value go to the better side.

What goes above are the largest values of a column, bins 0 to the cut; or, of a column
of categories, those whose rows rise most, which is the best of all ways to divide them.
"""

from math import inf
from typing import NamedTuple

import numpy as np

from peckorder._core.compiled.bins import ABSTAINS
from peckorder._core.compiled.jit import inlined_exact
from peckorder._core.typing import Floats, Ints
from peckorder.trees.compiled.histograms import MASS, SLOPE

# What is known of a split: its column, where it cuts, whether rows without a value go
# above, the sums above, and the categories that go above as bits.
COLUMN, CUT, MISSING_ABOVE, SLOPE_ABOVE, MASS_ABOVE, CATEGORIES = range(6)
SPLIT = CATEGORIES + 4
# Gains that differ in later bits than these are equal: they would depend on the unit of
# the sums, and on how often rows are repeated instead of weighted.
_ROUNDING = 2.0**21 + 1.0
_ONE, _LOW_BITS, _GOLDEN = np.uint64(1), np.uint64(0xFFFFFFFF), np.uint64(0x9E3779B97F4A7C15)


class Rules(NamedTuple):
    """How trees grow.

    slope_unit and curvature_unit are the values of one unit of the sums; the lowest
    row_bits bits of a mass count rows. A split looks at a column with probability
    feature_share, and at one column at least. Categories are ordered by
    ``slope / (curvature + smoothing)``, and sides of theirs get category_l2 more.
    """

    max_leaves: int
    max_depth: int
    min_rows: int
    l2: float
    slope_unit: float
    curvature_unit: float
    row_bits: int
    feature_share: float
    seed: int
    smoothing: float
    category_l2: float


class Leaf(NamedTuple):
    """The sums of a leaf, the least and the largest score that it may add.

    A side of a split must count least_rows: each row as often as the leaf has
    thresholds.
    """

    slope: int
    mass: int
    lower: float
    upper: float
    least_rows: int


@inlined_exact
def curvature_of(mass: int, rules: Rules) -> float:
    """Return the curvature of a sum of masses."""
    return (mass >> rules.row_bits) * rules.curvature_unit


@inlined_exact
def rows_of(mass: int, rules: Rules) -> int:
    """Return the rows that are counted in a sum of masses."""
    return mass & ((1 << rules.row_bits) - 1)


@inlined_exact
def value_of(slope: float, curvature: float, lower: float, upper: float) -> float:
    """Return the score that gains most within bounds; the curvature has l2 in it."""
    return min(max(slope / curvature if curvature > 0.0 else 0.0, lower), upper)


@inlined_exact
def rounded(gain: float) -> float:
    """Return a gain with 32 leading bits."""
    large = gain * _ROUNDING
    return large - (large - gain)


@inlined_exact
def gain_of(slope: float, curvature: float, value: float) -> float:
    """Return twice what a score gains."""
    return (2.0 * slope - curvature * value) * value


@inlined_exact
def leaf_gain(leaf: Leaf, rules: Rules) -> float:
    """Return twice what a leaf gains that is not split."""
    slope = leaf.slope * rules.slope_unit
    curvature = curvature_of(leaf.mass, rules) + rules.l2
    return rounded(gain_of(slope, curvature, value_of(slope, curvature, leaf.lower, leaf.upper)))


@inlined_exact
def draw(node: int, column: int, rules: Rules) -> np.uint64:
    """Return a random number below 2**32: a function of seed, node and column."""
    z = np.uint64(rules.seed) + _GOLDEN * (np.uint64(node) + _ONE)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = z + _GOLDEN * (np.uint64(column) + _ONE)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.uint64((z ^ (z >> np.uint64(31))) >> np.uint64(32))


@inlined_exact
def drawn_below(node: int, n_bins: Ints, rules: Rules) -> np.uint64:
    """Return the number below which are the draws of the columns that a split looks at.

    These are a share of the columns, and one at least that has several values. O(columns)
    time.
    """
    limit = np.uint64(rules.feature_share * 4294967296.0)
    if rules.feature_share < 1.0:
        least = _LOW_BITS
        for c in range(n_bins.shape[0]):
            if n_bins[c] > 1:
                least = min(least, draw(node, c, rules))
        limit = max(limit, least + _ONE)
    return limit


@inlined_exact
def split_gain(
    above: int, mass_above: int, leaf: Leaf, rise: int, extra: float, rules: Rules
) -> float:
    """Return twice what both sides of a split gain; -inf where it is not allowed.

    The side above must not add less (more) than the other if `rise` is 1 (-1).
    """
    slope_a = above * rules.slope_unit
    slope_b = (leaf.slope - above) * rules.slope_unit
    curvature_a = curvature_of(mass_above, rules) + rules.l2 + extra
    curvature_b = curvature_of(leaf.mass - mass_above, rules) + rules.l2 + extra
    if not (curvature_a > 0.0 and curvature_b > 0.0):
        return -inf
    a = value_of(slope_a, curvature_a, leaf.lower, leaf.upper)
    b = value_of(slope_b, curvature_b, leaf.lower, leaf.upper)
    if (rise > 0 and a < b) or (rise < 0 and a > b):
        return -inf
    return rounded(gain_of(slope_a, curvature_a, a) + gain_of(slope_b, curvature_b, b))


@inlined_exact
def write_gains(
    sums: Ints, first: np.uintp, last: np.uintp, leaf: Leaf, rules: Rules, gains: Floats
) -> None:
    """Write twice what both sides of cuts gain where nothing bounds their scores.

    Without branches, so that the compiler can use vector instructions.
    """
    for b in range(first, last):
        slope, mass = sums[SLOPE, b], sums[MASS, b]
        a = slope * rules.slope_unit
        z = (leaf.slope - slope) * rules.slope_unit
        curvature_a = curvature_of(mass, rules) + rules.l2
        curvature_z = curvature_of(leaf.mass - mass, rules) + rules.l2
        product = curvature_a * curvature_z
        gain = (a * a * curvature_z + z * z * curvature_a) / (product if product > 0.0 else 1.0)
        gains[b] = rounded(gain) if product > 0.0 else -inf


@inlined_exact
def scan_values(
    histogram: Ints,
    n_bins: int,
    leaf: Leaf,
    rise: int,
    rules: Rules,
    sums: Ints,
    gains: Floats,
    found: Ints,
) -> float:
    """Search the cuts of a column; write the best to `found`.

    Returns twice what its sides gain, or -inf. sums (2, 256) and gains (256,) are
    workspace. O(bins) time.
    """
    missing_slope, missing_mass = histogram[ABSTAINS, SLOPE], histogram[ABSTAINS, MASS]
    n_missing, n_rows = rows_of(missing_mass, rules), rows_of(leaf.mass, rules)
    is_plain = rise == 0 and leaf.lower == -inf and leaf.upper == inf
    best, one = -inf, np.uintp(1)
    for side in range(2 if n_missing > 0 else 1):
        slope, mass = 0, 0
        if side == 1:
            slope, mass = missing_slope, missing_mass
        # All values against none is a split of their own kind, above all of them.
        n_cuts = np.uintp(n_bins if n_missing > 0 and side == 0 else n_bins - 1)
        for b in range(n_cuts):
            slope += histogram[b, np.uintp(SLOPE)]
            mass += histogram[b, np.uintp(MASS)]
            sums[np.uintp(SLOPE), b] = slope
            sums[np.uintp(MASS), b] = mass
        # Cuts from first to last have rows enough on either side.
        first, last = np.uintp(0), n_cuts
        while first < last and rows_of(sums[MASS, first], rules) < leaf.least_rows:
            first += one
        while first < last and (n_rows - rows_of(sums[MASS, last - one], rules) < leaf.least_rows):
            last -= one
        if is_plain:
            write_gains(sums, first, last, leaf, rules, gains)
        else:
            for b in range(first, last):
                gains[b] = split_gain(sums[SLOPE, b], sums[MASS, b], leaf, rise, 0.0, rules)
        for b in range(first, last):
            if gains[b] > best:
                best = gains[b]
                found[CUT] = b
                found[MISSING_ABOVE] = side
                found[SLOPE_ABOVE] = sums[SLOPE, b]
                found[MASS_ABOVE] = sums[MASS, b]
    if n_missing == 0 and best > -inf:
        # Where none is missing, those that come later go with the most rows.
        n_above = rows_of(found[MASS_ABOVE], rules)
        found[MISSING_ABOVE] = 1 if 2 * n_above >= n_rows else 0
    return best


@inlined_exact
def scan_categories(
    histogram: Ints, n_bins: int, leaf: Leaf, rules: Rules, order: Ints, keys: Floats, found: Ints
) -> float:
    """Search the sets of categories that may go above; write the best to `found`.

    Categories are put in the order of their steepness; rows without one count as one
    more. order (256,) and keys (256,) are workspace.
    """
    n, n_rows = 0, rows_of(leaf.mass, rules)
    for k in range(n_bins + 1):
        b = ABSTAINS if k == n_bins else k
        if rows_of(histogram[b, MASS], rules) == 0:
            continue
        curvature = curvature_of(histogram[b, MASS], rules) + rules.smoothing
        key = histogram[b, SLOPE] * rules.slope_unit / curvature if curvature > 0.0 else 0.0
        position = n
        while position > 0 and keys[position - 1] < key:
            keys[position], order[position] = keys[position - 1], order[position - 1]
            position -= 1
        keys[position], order[position] = key, b
        n += 1
    best, last, slope, mass = -inf, -1, 0, 0
    for k in range(n - 1):
        slope += histogram[order[k], SLOPE]
        mass += histogram[order[k], MASS]
        n_above = rows_of(mass, rules)
        if n_above < leaf.least_rows:
            continue
        if n_rows - n_above < leaf.least_rows:
            break
        gain = split_gain(slope, mass, leaf, 0, rules.category_l2, rules)
        if gain > best:
            best, last = gain, k
            found[SLOPE_ABOVE] = slope
            found[MASS_ABOVE] = mass
    if last < 0:
        return -inf
    found[CUT] = last
    # Those that come later, and are not among these, go with the most rows.
    found[MISSING_ABOVE] = 1 if 2 * rows_of(found[MASS_ABOVE], rules) >= n_rows else 0
    for word in range(4):
        found[CATEGORIES + word] = 0
    for k in range(n):
        b = order[k]
        if b == ABSTAINS:
            found[MISSING_ABOVE] = 1 if k <= last else 0
        elif k <= last:
            found[CATEGORIES + (b >> 6)] |= np.int64(1) << np.int64(b & 63)
    # Categories without rows here go the way of those that training did not have.
    for b in range(n_bins if found[MISSING_ABOVE] == 1 else 0):
        if rows_of(histogram[b, MASS], rules) == 0:
            found[CATEGORIES + (b >> 6)] |= np.int64(1) << np.int64(b & 63)
    return best
