"""What 1 - Z of a column cannot exceed, from sums that cost little.

With p the weight of the pairs that a threshold ranks and r how much more of it is right
than wrong, ``1 - Z = p - sqrt(p**2 - r**2)``. It rises with |r| and falls with p. All r
of a column take one sum of potentials, as in `thresholds`. A scan for all p costs many
times as much; but p is known from the last one, and since then no pair has lost more
than a certain share of its weight. So `kept` (defaults, cuts) has what p was at least,
of column c from cut_starts[c] on, and shares[c] is what must be left of it.
"""

from math import sqrt

import numpy as np

from peckorder._core.compiled.jit import compiled, inlined
from peckorder._core.typing import Floats, Ints
from peckorder.boosting.compiled.search_by_r import LEARNT, TOGETHER, count

# More than rounding can make of any r and p.
_SLACK = 1e-9
# What is sure of a share, and of a number kept in single precision.
SAFE = 1.0 - 1e-6


@inlined
def first_default(default: int) -> int:
    """Return the lowest q to look at, which has the first row of what is kept."""
    return default if default != LEARNT else 0


@inlined
def last_default(default: int, abstains: int) -> int:
    """Return the highest q to look at."""
    return 1 if default == LEARNT and abstains else first_default(default)


@inlined
def heights_binned(sums: Ints, n_groups: int, unit: float, heights: Floats) -> None:
    """Write to heights (groups + 1,) the potentials above the cuts of binned rows."""
    above = 0
    heights[0] = 0.0
    for g in range(n_groups):
        above += sums[g]
        heights[g + 1] = above * unit


@inlined
def heights_sorted(
    rows: Ints,
    is_last: Ints,
    group_ends: Ints,
    start: int,
    zero: int,
    potentials: Ints,
    unit: float,
    heights: Floats,
) -> None:
    """Write to heights (groups + 1,) the potentials above the cuts of a sorted column.

    Its groups, of entries `rows`, end at group_ends, which count from `start` on.
    """
    above, n_groups = 0, group_ends.shape[0]
    heights[0] = 0.0
    if zero < 0:
        cut = np.uintp(1)
        n_ranked = group_ends[n_groups - 1] - start if n_groups > 0 else 0
        for k in range(np.uintp(n_ranked)):
            # Without a branch; what is written before the last of a group is replaced.
            above += potentials[np.uintp(rows[k])]
            heights[cut] = above * unit
            cut += np.uintp(is_last[k])
        return
    hidden = 0
    for k in range(rows.shape[0]):
        hidden -= potentials[rows[k]]  # all add up to zero
    k = 0
    for g in range(n_groups):
        above += hidden if g == zero else 0
        while k < group_ends[g] - start:
            above += potentials[rows[k]]
            k += 1
        heights[g + 1] = above * unit


@inlined
def raised(limit: float, r: float, least: float) -> float:
    """Return the limit, or 1 - Z at an r and the least possible p, if that is more."""
    size = abs(r) + _SLACK
    p = max(least - _SLACK, size)
    # The comparison without a square root, which is seldom needed then.
    if size > limit and size * size > limit * (2.0 * p - limit):
        return p - sqrt((p - size) * (p + size))
    return limit


@inlined
def limit_of(
    heights: Floats,
    n_groups: int,
    abstains: int,
    feature: int,
    default: int,
    cumulative: bool,
    heads: Ints,
    cuts: Ints,
    defaults: Ints,
    following: Ints,
    kept: Floats,
    start: int,
    share: float,
) -> float:
    """Return the limit of a column.

    If `cumulative`, only a candidate of a round before may have r < 0.
    """
    limit, lowest = 0.0, first_default(default)
    for q in range(lowest, last_default(default, abstains) + 1):
        below = q * heights[n_groups] if abstains else 0.0
        p = kept[q - lowest, start : start + n_groups + 1]
        for cut in range(np.uintp(n_groups + 1)):
            r = heights[cut] - below
            limit = raised(limit, max(r, 0.0) if cumulative else r, share * p[cut])
        old = heads[feature] if cumulative else -1
        while old >= 0:
            r = heights[cuts[old]] - below
            limit = raised(limit, r, share * p[cuts[old]])
            old = following[old]
    return limit


@compiled
def limit_binned(
    first: int,
    last: int,
    features: Ints,
    bins: Ints,
    n_bins: Ints,
    abstains: Ints,
    potentials: Ints,
    unit: float,
    default: int,
    cumulative: bool,
    heads: Ints,
    cuts: Ints,
    defaults: Ints,
    following: Ints,
    kept: Floats,
    cut_starts: Ints,
    shares: Floats,
    columns: Ints,
    sums: Ints,
    heights: Floats,
    limits: Floats,
) -> None:
    """Write to limits those of the binned columns first..last.

    All but what is kept is as in `thresholds.search_binned`. O(n) time a column.
    """
    for c in range(first, last, TOGETHER):
        n_together = min(TOGETHER, last - c)
        for k in range(TOGETHER):
            # Where there are fewer than four the last one is counted again.
            columns[k] = features[c + min(k, n_together - 1)]
        count(bins, columns, potentials, sums)
        for k in range(n_together):
            heights_binned(sums[k], n_bins[c + k], unit, heights)
            limits[c + k] = limit_of(
                heights, n_bins[c + k], abstains[c + k], features[c + k],
                default, cumulative, heads, cuts, defaults, following,
                kept, cut_starts[c + k], shares[c + k],
            )  # fmt: skip


@compiled
def limit_sorted(
    first: int,
    last: int,
    features: Ints,
    starts: Ints,
    rows: Ints,
    is_last: Ints,
    groups: Ints,
    group_ends: Ints,
    zero: Ints,
    abstains: Ints,
    potentials: Ints,
    unit: float,
    default: int,
    cumulative: bool,
    heads: Ints,
    cuts: Ints,
    defaults: Ints,
    following: Ints,
    kept: Floats,
    cut_starts: Ints,
    shares: Floats,
    heights: Floats,
    limits: Floats,
) -> None:
    """Write to limits those of the sorted columns first..last.

    All but what is kept is as in `thresholds.search_sorted`. O(entries) time.
    """
    for c in range(first, last):
        heights_sorted(
            rows[starts[c] : starts[c + 1]], is_last[starts[c] : starts[c + 1]],
            group_ends[groups[c] : groups[c + 1]], starts[c], zero[c],
            potentials, unit, heights,
        )  # fmt: skip
        limits[c] = limit_of(
            heights, groups[c + 1] - groups[c], abstains[c], features[c],
            default, cumulative, heads, cuts, defaults, following,
            kept, cut_starts[c], shares[c],
        )  # fmt: skip
