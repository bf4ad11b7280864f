"""The search for the threshold with the least Z.

As a threshold falls, rows pass from below it to above it. Of the pairs in which a row
is, those with rows below are ranked from then on, those with rows above no longer; so
the weights of the pairs ranked right and wrong change by sums over the other levels of
its query, and over the pairs in which it is listed. All cuts of a column cost one scan.
``1 - Z = (sqrt(right) - sqrt(wrong))**2``.

Most columns are not scanned, as a limit of their 1 - Z is below the best. With p the
weight of the pairs that a threshold ranks and r how much more of it is right than
wrong, ``1 - Z = p - sqrt(p**2 - r**2)``. It rises with |r| and falls with p. All r of a
column take one sum of potentials, as in `search_by_r`. A scan for all p costs many
times as much; but p is known from the last one, and since then no pair has lost more
than a certain share of its weight.
"""

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from peckorder._core.compiled.jit import compiled, inlined, prefetch
from peckorder._core.typing import Floats, Ints
from peckorder.boosting.compiled.binned_columns import (
    TOGETHER,
    BinnedColumns,
    order_binned_rows,
    sum_four_columns,
)
from peckorder.boosting.compiled.pairs import DOWN, UNIT, UP
from peckorder.boosting.compiled.search_by_r import LEARNT, Candidates, Settings, find_candidate
from peckorder.boosting.compiled.sorted_columns import SortedColumns, order_sorted_rows

# What is smaller is what rounding left of zero; a square root would magnify it.
_NOTHING = 1e-14
# 1 - Z is compared in these units, so that rounding does not separate equal cuts.
GAIN_UNIT = 2.0**40
# A threshold: 1 - Z in units, the feature, the cut, q, right, wrong.
GAIN, FEATURE, CUT, DEFAULT, RIGHT, WRONG = range(6)
CHOICE = 6
# Rows between a hint to the processor and its use.
_AHEAD = 32
# More than rounding can make of any r and p.
_SLACK = 1e-9
# What is sure of a share, and of a number kept in single precision.
SAFE = 1.0 - 1e-6


class ScannedColumns(NamedTuple):
    """All columns, the binned ones first, and what is known of their 1 - Z.

    kept (defaults, cuts) has the least p of column c at its last scan, from
    cut_starts[c] on; shares[c] is what must be left of it; limits[c] is the limit of
    its 1 - Z.
    """

    binned: BinnedColumns
    sorted: SortedColumns
    features: Ints
    abstains: Ints
    cut_starts: Ints
    kept: Floats
    shares: Floats
    limits: Floats


class PairMasses(NamedTuple):
    """The weights of pairs: graded ones as products, level by level, and listed ones.

    level_of (n,) is -1 for rows without grades; the levels of level l's query are
    ``level_begin[l] : level_end[l]``. masses (n, 2) and others (levels, 2) are as in
    `masses_graded`. Row x is in the listed pairs ``pairs[links[x] : links[x + 1]]``.
    """

    level_of: Ints
    level_begin: Ints
    level_end: Ints
    utility: Floats
    masses: Floats
    others: Floats
    links: Ints
    pairs: Ints
    better: Ints
    worse: Ints
    weight: Floats


class ScanWorkspace(NamedTuple):
    """Workspace of one thread.

    above (2 levels,), is_above, is_stored and queue (n,), counts (256,), stops
    (groups + 1,).
    """

    above: Floats
    is_above: Ints
    is_stored: Ints
    counts: Ints
    queue: Ints
    stops: Ints


@inlined
def first_default(default: int) -> int:
    """Return the lowest q to look at, which has the first row of what is kept."""
    return default if default != LEARNT else 0


@inlined
def last_default(default: int, abstains: int) -> int:
    """Return the highest q to look at."""
    return 1 if default == LEARNT and abstains else first_default(default)


@inlined
def heights_binned(sums: Ints, n_groups: int, heights: Floats) -> None:
    """Write to heights (groups + 1,) the potentials above the cuts of binned rows."""
    above = 0
    heights[0] = 0.0
    for g in range(n_groups):
        above += sums[g]
        heights[g + 1] = above * (1.0 / UNIT)


@inlined
def heights_sorted(columns: SortedColumns, c: int, potentials: Ints, heights: Floats) -> None:
    """Write to heights (groups + 1,) the potentials above the cuts of a column."""
    start, zero = columns.starts[c], columns.zero[c]
    rows = columns.rows[start : columns.starts[c + 1]]
    is_last = columns.is_last[start : columns.starts[c + 1]]
    group_ends = columns.group_ends[columns.groups[c] : columns.groups[c + 1]]
    above, n_groups = 0, group_ends.shape[0]
    heights[0] = 0.0
    if zero < 0:
        cut = np.uintp(1)
        n_ranked = group_ends[n_groups - 1] - start if n_groups > 0 else 0
        for k in range(np.uintp(n_ranked)):
            # Without a branch; what is written before the last of a group is replaced.
            above += potentials[np.uintp(rows[k])]
            heights[cut] = above * (1.0 / UNIT)
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
        heights[g + 1] = above * (1.0 / UNIT)


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
    column: int,
    columns: ScannedColumns,
    heights: Floats,
    settings: Settings,
    candidates: Candidates,
) -> float:
    """Return the limit of a column, given the potentials above its cuts.

    If `cumulative`, only a candidate may have r < 0.
    """
    cumulative, cuts = settings.cumulative, candidates.cuts
    abstains, share = columns.abstains[column], columns.shares[column]
    start = columns.cut_starts[column]
    n_groups = columns.cut_starts[column + 1] - start - 1
    limit, lowest = 0.0, first_default(settings.default)
    for q in range(lowest, last_default(settings.default, abstains) + 1):
        below = q * heights[n_groups] if abstains else 0.0
        p = columns.kept[q - lowest, start : start + n_groups + 1]
        for cut in range(np.uintp(n_groups + 1)):
            r = heights[cut] - below
            limit = raised(limit, max(r, 0.0) if cumulative else r, share * p[cut])
        old = candidates.heads[columns.features[column]] if cumulative else -1
        while old >= 0:
            r = heights[cuts[old]] - below
            limit = raised(limit, r, share * p[cuts[old]])
            old = candidates.following[old]
    return limit


@compiled
def limit_binned(
    first: int,
    last: int,
    columns: ScannedColumns,
    potentials: Ints,
    settings: Settings,
    candidates: Candidates,
    workspace: Ints,
    heights: Floats,
) -> None:
    """Write the limits of the binned columns first..last.

    workspace is (5, 256), heights (257,). O(n) time per column.
    """
    binned = columns.binned
    sums, together = workspace[:TOGETHER], workspace[TOGETHER]
    for c in range(first, last, TOGETHER):
        n_together = min(TOGETHER, last - c)
        for k in range(TOGETHER):
            # Where there are fewer than four the last one is summed again.
            together[k] = binned.features[c + min(k, n_together - 1)]
        sum_four_columns(binned.bins, together, potentials, sums)
        for k in range(n_together):
            heights_binned(sums[k], binned.n_bins[c + k], heights)
            columns.limits[c + k] = limit_of(c + k, columns, heights, settings, candidates)


@compiled
def limit_sorted(
    first: int,
    last: int,
    columns: ScannedColumns,
    potentials: Ints,
    settings: Settings,
    candidates: Candidates,
    heights: Floats,
) -> None:
    """Write the limits of the sorted columns first..last. O(entries) time."""
    n_binned = columns.binned.features.shape[0]
    for c in range(first, last):
        heights_sorted(columns.sorted, c, potentials, heights)
        columns.limits[n_binned + c] = limit_of(
            n_binned + c, columns, heights, settings, candidates
        )


@inlined
def raise_graded(x: Any, own: Any, weights: PairMasses, above: Floats) -> tuple[float, float]:
    """Put a row of level `own` above the threshold; see `pass_rows`.

    above (2 levels,) has of each query, behind a zero, for every level but the lowest
    the sum of `down` of what is above the threshold in lower levels, then for every
    level but the highest that of `up` of higher ones, and a zero; times the steps. So
    all that a row is added to stands in line: first by its `down`, then by its `up`.
    """
    utility, masses, others = weights.utility, weights.masses, weights.others
    one = np.uintp(1)
    begin, end = np.uintp(weights.level_begin[own]), np.uintp(weights.level_end[own])
    start, n_others, n_higher = begin + own + one, end - begin - one, end - own - one
    up, down = masses[x, UP], masses[x, DOWN]
    both = up * above[start - one] + down * above[start + n_others]
    # Levels are unpredictable: no branch may depend on them.
    if utility.shape[0] == 0:
        for k in range(n_others):
            above[start + k] += down if k < n_higher else up
    else:
        for k in range(n_others):
            other = own + one + k if k < n_higher else begin + k - n_higher
            step = abs(utility[own] - utility[other])
            above[start + k] += step * (down if k < n_higher else up)
    return up * others[own, DOWN] - both, down * others[own, UP] - both


@inlined
def raise_listed(x: Any, weights: PairMasses, is_above: Ints) -> tuple[float, float]:
    """Put a row above the threshold, as far as listed pairs go; see `pass_rows`."""
    links, better, worse = weights.links, weights.better, weights.worse
    weight = weights.weight
    right, wrong = 0.0, 0.0
    is_above[x] = 1
    for k in range(links[x], links[x + np.uintp(1)]):
        p = weights.pairs[k]
        if better[p] == x:
            right += 0.0 if is_above[worse[p]] else weight[p]
            wrong -= weight[p] if is_above[worse[p]] else 0.0
        else:
            wrong += 0.0 if is_above[better[p]] else weight[p]
            right -= weight[p] if is_above[better[p]] else 0.0
    return right, wrong


@inlined
def pass_rows(
    first: Any, last: Any, queue: Ints, weights: PairMasses, above: Floats, is_above: Ints
) -> tuple[float, float]:
    """Put the rows first..last of a queue above the threshold.

    Returns by how much the weights of the pairs ranked right and wrong change: pairs
    with rows below are ranked from now on, pairs with rows above no longer.
    """
    level_of = weights.level_of
    right, wrong = 0.0, 0.0
    final = np.uintp(queue.shape[0] - 1)
    for i in range(first, last):
        # Rows are far apart in memory: they are requested long before they are needed.
        ahead = np.uintp(queue[min(i + np.uintp(_AHEAD), final)])
        prefetch(weights.masses, np.uintp(2) * ahead)
        prefetch(level_of, ahead)
        x = np.uintp(queue[i])
        if level_of[x] >= 0:
            more, less = raise_graded(x, np.uintp(level_of[x]), weights, above)
            right += more
            wrong += less
        if weights.pairs.shape[0] > 0:
            more, less = raise_listed(x, weights, is_above)
            right += more
            wrong += less
    return right, wrong


@inlined
def consider(
    best: Floats,
    feature: int,
    cut: int,
    q: int,
    good: float,
    bad: float,
    settings: Settings,
    candidates: Candidates,
) -> None:
    """Replace the best threshold by a better one, or by one as good and earlier.

    If `cumulative` and it is wrong more often than right, it must be a candidate, and
    ``right > ratio wrong``, both smoothed.
    """
    # Most are worse by far: that is seen without square roots.
    least, p, r = (best[GAIN] - 1.0) / GAIN_UNIT, good + bad, good - bad
    if r * r < least * (2.0 * p - least):
        return
    gain = np.rint((sqrt(good) - sqrt(bad)) ** 2 * GAIN_UNIT)
    is_earlier = feature < best[FEATURE] or (
        feature == best[FEATURE] and (cut < best[CUT] or (cut == best[CUT] and q < best[DEFAULT]))
    )
    if gain < best[GAIN] or gain == 0.0 or (gain == best[GAIN] and not is_earlier):
        return
    if settings.cumulative and good <= bad:
        half = settings.smoothing / 2.0
        old = find_candidate(feature, cut, q, candidates)
        if old < 0 or good + half <= candidates.ratios[old] * (bad + half):
            return
    best[GAIN] = gain
    best[FEATURE] = feature
    best[CUT] = cut
    best[DEFAULT] = q
    best[RIGHT] = good
    best[WRONG] = bad


@compiled
def search(
    first: int,
    step: int,
    order: Ints,
    best_gain: Floats,
    columns: ScannedColumns,
    settings: Settings,
    candidates: Candidates,
    weights: PairMasses,
    workspace: ScanWorkspace,
    best: Floats,
) -> None:
    """Search every step-th column of an order, by falling limits; write to best (6,).

    best_gain (1,) is the largest gain of all threads; a column whose limit is less ends
    the search. What is kept of a column that is scanned, and its share, are renewed.
    O(n levels) time per column.
    """
    binned, sorted_, stops = columns.binned, columns.sorted, workspace.stops
    starts, groups, group_ends = sorted_.starts, sorted_.groups, sorted_.group_ends
    above, is_above = workspace.above, workspace.is_above
    n_rows, lowest = weights.masses.shape[0], first_default(settings.default)
    n_binned = binned.features.shape[0]
    for turn in range(first, order.shape[0], step):
        column = order[turn]
        # One unit more for rounding.
        if columns.limits[column] * GAIN_UNIT + 1.0 < best_gain[0]:
            return
        feature, c = columns.features[column], column - n_binned
        start, abstains = columns.cut_starts[column], columns.abstains[column]
        n_groups = columns.cut_starts[column + 1] - start - 1
        for q in range(lowest, last_default(settings.default, abstains) + 1):
            queue = workspace.queue
            if c < 0:
                order_binned_rows(
                    binned.bins[feature], n_groups, q == 1, workspace.counts, queue,
                    stops,
                )  # fmt: skip
            elif starts[c + 1] - starts[c] == n_rows and not abstains:
                # Where every row has a value they stand in line already.
                queue = sorted_.rows[starts[c] : starts[c + 1]]
                stops[0] = 0
                for g in range(n_groups):
                    stops[g + 1] = group_ends[groups[c] + g] - starts[c]
            else:
                order_sorted_rows(sorted_, c, q == 1, workspace.is_stored, queue, stops)
            for k in range(above.shape[0]):
                above[k] = 0.0
            if weights.pairs.shape[0] > 0:
                for i in range(n_rows):
                    is_above[i] = 0
            right, wrong, passed = 0.0, 0.0, np.uintp(0)
            for cut in range(n_groups + 1):
                more, less = pass_rows(
                    passed, np.uintp(stops[cut]), queue, weights, above, is_above
                )
                right += more
                wrong += less
                passed = np.uintp(stops[cut])
                good = right if right > _NOTHING else 0.0
                bad = wrong if wrong > _NOTHING else 0.0
                columns.kept[q - lowest, start + cut] = good + bad
                consider(best, feature, cut, q, good, bad, settings, candidates)
        columns.shares[column] = SAFE
        best_gain[0] = max(best_gain[0], best[GAIN])
