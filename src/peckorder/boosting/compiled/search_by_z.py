"""The search for the threshold with the least Z.

As a threshold falls, rows pass from below it to above it. Of the pairs in which a row
is, those with rows below are ranked from then on, those with rows above no longer; so
the weights of the pairs ranked right and wrong change by sums over the other levels of
its query, and over the pairs in which it is listed. All cuts of a column cost one scan.
``1 - Z = (sqrt(right) - sqrt(wrong))**2``.
"""

from math import sqrt
from typing import Any

import numpy as np

from peckorder._core.compiled.jit import compiled, inlined, prefetch
from peckorder._core.typing import Floats, Ints
from peckorder.boosting.compiled.candidates import find
from peckorder.boosting.compiled.row_masses import DOWN, UP
from peckorder.boosting.compiled.search_by_r import ABSTAINS, N_BINS
from peckorder.boosting.compiled.search_by_z_bounds import (
    SAFE,
    first_default,
    last_default,
)

# What is smaller is what rounding left of zero; a square root would magnify it.
_NOTHING = 1e-14
# 1 - Z is compared in these units, so that rounding does not tell equal cuts apart.
_UNIT = 2.0**40
# What a search finds: 1 - Z in units, the feature, the cut, q, right, wrong.
GAIN, FEATURE, CUT, DEFAULT, RIGHT, WRONG = range(6)
FOUND = 6
# Rows between a hint to the processor and its use.
_AHEAD = 32


@inlined
def raise_graded(
    x: Any,
    own: Any,
    level_begin: Ints,
    level_end: Ints,
    utility: Floats,
    masses: Floats,
    others: Floats,
    above: Floats,
) -> tuple[float, float]:
    """Put a row of level `own` above the threshold; see `pass_rows`.

    above (2 levels,) has of each query, behind a zero, for every level but the lowest
    the sum of `down` of what is above the threshold in lower levels, then for every
    level but the highest that of `up` of higher ones, and a zero; times the steps. So
    all that a row is added to stands in line: first by its `down`, then by its `up`.
    """
    one, begin, end = np.uintp(1), np.uintp(level_begin[own]), np.uintp(level_end[own])
    start, n_others, n_higher = begin + own + one, end - begin - one, end - own - one
    up, down = masses[x, UP], masses[x, DOWN]
    both = up * above[start - one] + down * above[start + n_others]
    # Levels are as good as random: no branch may depend on them.
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
def raise_listed(
    x: Any,
    links: Ints,
    pairs: Ints,
    better: Ints,
    worse: Ints,
    weight: Floats,
    is_above: Ints,
) -> tuple[float, float]:
    """Put a row above the threshold, as far as listed pairs go; see `pass_rows`."""
    right, wrong = 0.0, 0.0
    is_above[x] = 1
    for k in range(links[x], links[x + np.uintp(1)]):
        p = pairs[k]
        if better[p] == x:
            right += 0.0 if is_above[worse[p]] else weight[p]
            wrong -= weight[p] if is_above[worse[p]] else 0.0
        else:
            wrong += 0.0 if is_above[better[p]] else weight[p]
            right -= weight[p] if is_above[better[p]] else 0.0
    return right, wrong


@inlined
def pass_rows(
    first: Any,
    last: Any,
    queue: Ints,
    level_of: Ints,
    level_begin: Ints,
    level_end: Ints,
    utility: Floats,
    masses: Floats,
    others: Floats,
    links: Ints,
    pairs: Ints,
    better: Ints,
    worse: Ints,
    weight: Floats,
    above: Floats,
    is_above: Ints,
) -> tuple[float, float]:
    """Put the rows first..last of a queue above the threshold.

    Returns by how much the weights of the pairs ranked right and wrong change: pairs
    with rows below are ranked from now on, pairs with rows above no longer.
    """
    right, wrong = 0.0, 0.0
    final = np.uintp(queue.shape[0] - 1)
    for i in range(first, last):
        # Rows are far apart in memory: they are asked for long before they are needed.
        ahead = np.uintp(queue[min(i + np.uintp(_AHEAD), final)])
        prefetch(masses, np.uintp(2) * ahead)
        prefetch(level_of, ahead)
        x = np.uintp(queue[i])
        if level_of[x] >= 0:
            more, less = raise_graded(
                x, np.uintp(level_of[x]), level_begin, level_end, utility,
                masses, others, above,
            )  # fmt: skip
            right += more
            wrong += less
        if pairs.shape[0] > 0:
            more, less = raise_listed(x, links, pairs, better, worse, weight, is_above)
            right += more
            wrong += less
    return right, wrong


@inlined
def line_up_binned(
    bins: Ints,
    n_groups: int,
    abstainers_first: bool,
    counts: Ints,
    queue: Ints,
    stops: Ints,
) -> None:
    """Write to queue (n,) the rows in the order in which they pass the threshold.

    Those on which the column abstains are first, or behind all others. stops
    (groups + 1,) tell how many have passed at each cut. counts (256,) is room for work.
    """
    for b in range(N_BINS):
        counts[b] = 0
    for i in range(np.uintp(bins.shape[0])):
        counts[bins[i]] += np.uintp(1)
    size = counts[ABSTAINS] if abstainers_first else np.uintp(0)
    for g in range(n_groups):
        stops[g] = size
        size += counts[g]
        counts[g] = stops[g]
    stops[n_groups] = size
    counts[ABSTAINS] = np.uintp(0) if abstainers_first else size
    for i in range(np.uintp(bins.shape[0])):
        queue[counts[bins[i]]] = i
        counts[bins[i]] += np.uintp(1)


@inlined
def line_up_sorted(
    rows: Ints,
    group_ends: Ints,
    start: int,
    zero: int,
    abstainers_first: bool,
    is_stored: Ints,
    queue: Ints,
    stops: Ints,
) -> None:
    """Do the same for a column of entries `rows`, whose groups end at group_ends.

    These count from `start` on. is_stored (n,) is room for work.
    """
    n_groups = group_ends.shape[0]
    valid = group_ends[n_groups - 1] - start if n_groups > 0 else 0
    for i in range(is_stored.shape[0]):
        is_stored[i] = 0
    for k in range(rows.shape[0]):
        # Entries behind the last group abstain.
        is_stored[rows[k]] = 1 if k < valid else 2
    size = 0
    if abstainers_first:
        for i in range(is_stored.shape[0]):
            if is_stored[i] == 2 or (is_stored[i] == 0 and zero < 0):
                queue[size] = i
                size += 1
    k = 0
    for g in range(n_groups):
        stops[g] = size
        while k < group_ends[g] - start:
            queue[size] = rows[k]
            size += 1
            k += 1
        if g == zero:
            for i in range(is_stored.shape[0]):
                if is_stored[i] == 0:
                    queue[size] = i
                    size += 1
    stops[n_groups] = size


@inlined
def consider(
    found: Floats,
    feature: int,
    cut: int,
    q: int,
    good: float,
    bad: float,
    smoothing: float,
    cumulative: bool,
    heads: Ints,
    cuts: Ints,
    defaults: Ints,
    following: Ints,
    ratios: Floats,
) -> None:
    """Take a candidate if it is better than what was found, or as good and earlier.

    If `cumulative` and it is wrong more often than right, it must have been taken in a
    round before, and ``right > ratio wrong``, both smoothed.
    """
    # Most are worse by far: that is seen without square roots.
    least, p, r = (found[GAIN] - 1.0) / _UNIT, good + bad, good - bad
    if r * r < least * (2.0 * p - least):
        return
    gain = np.rint((sqrt(good) - sqrt(bad)) ** 2 * _UNIT)
    is_earlier = feature < found[FEATURE] or (
        feature == found[FEATURE]
        and (cut < found[CUT] or (cut == found[CUT] and q < found[DEFAULT]))
    )
    if gain < found[GAIN] or gain == 0.0 or (gain == found[GAIN] and not is_earlier):
        return
    if cumulative and good <= bad:
        half = smoothing / 2.0
        old = find(feature, cut, q, heads, cuts, defaults, following)
        if old < 0 or good + half <= ratios[old] * (bad + half):
            return
    found[GAIN] = gain
    found[FEATURE] = feature
    found[CUT] = cut
    found[DEFAULT] = q
    found[RIGHT] = good
    found[WRONG] = bad


@compiled
def search(
    first: int,
    step: int,
    order: Ints,
    limits: Floats,
    best: Floats,
    # The columns.
    features: Ints,
    abstains: Ints,
    cut_starts: Ints,
    kept: Floats,
    shares: Floats,
    n_binned: int,
    bins: Ints,
    starts: Ints,
    rows: Ints,
    groups: Ints,
    group_ends: Ints,
    zero: Ints,
    # The rules.
    smoothing: float,
    default: int,
    cumulative: bool,
    heads: Ints,
    cuts: Ints,
    defaults: Ints,
    following: Ints,
    ratios: Floats,
    # The weights.
    level_of: Ints,
    level_begin: Ints,
    level_end: Ints,
    utility: Floats,
    masses: Floats,
    others: Floats,
    links: Ints,
    pairs: Ints,
    better: Ints,
    worse: Ints,
    weight: Floats,
    # Room for work.
    above: Floats,
    is_above: Ints,
    is_stored: Ints,
    counts: Ints,
    room: Ints,
    stops: Ints,
    found: Floats,
) -> None:
    """Search every step-th column of an order, by falling limits; write to found (6,).

    best (1,) is the most that any thread has found; a column that is limited to less
    ends the search. The first n_binned columns are as in `thresholds.search_binned`,
    those behind as in `search_sorted`. What is kept of a column that is scanned, and
    its share, are renewed. level_of (n,) is -1 for rows without grades; the levels of
    level l's query are ``level_begin[l] : level_end[l]``. above (2 levels,), is_above,
    is_stored and room (n,), counts (256,), stops (groups + 1,) are room for work; room
    has numbers of rows. O(n levels) time a column.
    """
    n_rows, lowest = masses.shape[0], first_default(default)
    for turn in range(first, order.shape[0], step):
        column = order[turn]
        # One unit more for rounding.
        if limits[column] * _UNIT + 1.0 < best[0]:
            return
        feature, c, start = features[column], column - n_binned, cut_starts[column]
        n_groups = cut_starts[column + 1] - start - 1
        for q in range(lowest, last_default(default, abstains[column]) + 1):
            queue = room
            if c < 0:
                line_up_binned(bins[feature], n_groups, q == 1, counts, queue, stops)
            elif starts[c + 1] - starts[c] == n_rows and not abstains[column]:
                # Where every row has a value they stand in line already.
                queue = rows[starts[c] : starts[c + 1]]
                stops[0] = 0
                for g in range(n_groups):
                    stops[g + 1] = group_ends[groups[c] + g] - starts[c]
            else:
                line_up_sorted(
                    rows[starts[c] : starts[c + 1]],
                    group_ends[groups[c] : groups[c + 1]],
                    starts[c], zero[c], q == 1, is_stored, queue, stops,
                )  # fmt: skip
            for k in range(above.shape[0]):
                above[k] = 0.0
            if pairs.shape[0] > 0:
                for i in range(n_rows):
                    is_above[i] = 0
            right, wrong, passed = 0.0, 0.0, np.uintp(0)
            for cut in range(n_groups + 1):
                more, less = pass_rows(
                    passed, np.uintp(stops[cut]), queue, level_of, level_begin,
                    level_end, utility, masses, others,
                    links, pairs, better, worse, weight, above, is_above,
                )  # fmt: skip
                right += more
                wrong += less
                passed = np.uintp(stops[cut])
                good = right if right > _NOTHING else 0.0
                bad = wrong if wrong > _NOTHING else 0.0
                kept[q - lowest, start + cut] = good + bad
                consider(
                    found, feature, cut, q, good, bad, smoothing,
                    cumulative, heads, cuts, defaults, following, ratios,
                )  # fmt: skip
        shares[column] = SAFE
        best[0] = max(best[0], found[GAIN])


def gain_of(found: Floats) -> float:
    """Return 1 - Z of what a search has found."""
    return float(found[GAIN] / _UNIT)
