"""The search for the threshold with the largest |r|, over columns sorted or binned.

Every column is cut into groups of rows with equal values, the largest value first. Cut
g lies below the groups 0..g-1: the weak ranking is 1 for those and 0 for the others,
and q for rows on which the column abstains; so ``r = L - q R``, L being the potentials
of the rows above the cut and R those of all rows that have a value. All sums are exact
integers.

Most columns need not be looked at in most rounds: ceilings (features,) are what |r| of
a feature cannot exceed, given what it was when last looked at and by how much
potentials have moved since. A column with a ceiling below what is found is left out.
"""

from typing import Any

import numpy as np

from peckorder._typing import Floats, Ints
from peckorder.kernels._jit import kernel, part

# Binned columns that are searched together: as many as have their addresses in
# registers.
TOGETHER = 4
# The bin of rows on which a column abstains.
ABSTAINS = 255
N_BINS = 256
# What a search finds: |r|, the column's feature, the cut, q, r.
SIZE, FEATURE, CUT, DEFAULT, R = range(5)
FOUND = 5
# How q is chosen: as given, or the better of 0 and 1.
LEARNT = -1


@part
def consider(found: Ints, r: int, feature: int, cut: int, q: int) -> None:
    """Take a candidate if it is better than what was found, or as good and earlier."""
    size = abs(r)
    is_earlier = feature < found[FEATURE] or (
        feature == found[FEATURE]
        and (cut < found[CUT] or (cut == found[CUT] and q < found[DEFAULT]))
    )
    if size > found[SIZE] or (size == found[SIZE] and is_earlier):
        found[SIZE] = size
        found[FEATURE] = feature
        found[CUT] = cut
        found[DEFAULT] = q
        found[R] = r


@part
def search(
    sums: Ints,
    n_groups: int,
    abstains: bool,
    default: int,
    feature: int,
    cumulative: bool,
    heads: Ints,
    cuts: Ints,
    defaults: Ints,
    following: Ints,
    floors: Ints,
    found: Ints,
) -> int:
    """Consider all cuts of a column whose groups have the potentials `sums`.

    If `cumulative`, a candidate with r < 0 must have been taken in a round before, and
    r be above its floor; those are in a list by cuts that begins at heads[feature].
    Returns the largest |r|, or r if nothing with r < 0 could be taken.
    """
    ranked = 0
    for g in range(n_groups):
        ranked += sums[g]
    if not abstains:
        # What is left of zero by rounding must not speak for a default.
        ranked = 0
    lowest = default if default != LEARNT else 0
    highest = 1 if abstains and default == LEARNT else lowest
    top, bottom = 0, 0
    for q in range(lowest, highest + 1):
        # Extremes first: most columns have nothing else to show.
        above = -q * ranked
        high, low, high_cut, low_cut = above, above, 0, 0
        for g in range(n_groups):
            above += sums[g]
            high_cut = g + 1 if above > high else high_cut
            high = max(above, high)
            low_cut = g + 1 if above < low else low_cut
            low = min(above, low)
        if high > 0:
            consider(found, high, feature, high_cut, q)
        if low < 0 and not cumulative:
            consider(found, low, feature, low_cut, q)
        top, bottom = max(top, high), min(bottom, low)
    if not cumulative:
        return max(top, -bottom)
    place = heads[feature]
    if place < 0:
        return top
    above, g = 0, 0
    while place >= 0:
        while g < cuts[place]:
            above += sums[g]
            g += 1
        r = above - defaults[place] * ranked
        if floors[place] < r < 0:
            consider(found, r, feature, cuts[place], defaults[place])
        place = following[place]
    return max(top, -bottom)


@part
def most_promising(first: int, last: int, features: Ints, ceilings: Floats) -> int:
    """Return the column of first..last with the highest ceiling."""
    best = first
    for c in range(first, last):
        if ceilings[features[c]] > ceilings[features[best]]:
            best = c
    return best


@kernel
def search_sorted(
    first: int,
    last: int,
    features: Ints,
    starts: Ints,
    rows: Ints,
    groups: Ints,
    group_ends: Ints,
    zero: Ints,
    abstains: Ints,
    potentials: Ints,
    total: int,
    default: int,
    cumulative: bool,
    heads: Ints,
    cuts: Ints,
    defaults: Ints,
    following: Ints,
    floors: Ints,
    ceilings: Floats,
    sums: Ints,
    found: Ints,
) -> None:
    """Search the columns first..last, whose entries are sorted; write to found (5,).

    Column c has the entries ``starts[c] : starts[c + 1]`` of rows; its groups
    ``groups[c] : groups[c + 1]`` end at group_ends. Entries behind the last group
    abstain. Group zero[c], if any, holds the rows that are not stored as well: their
    potentials are what is missing from `total`, that of all rows. sums is room for as
    many groups as any column has. O(entries) time at most.
    """
    start = most_promising(first, last, features, ceilings)
    for turn in range(last - first + 1):
        # The best one first, so that others can be left out.
        c = start if turn == 0 else first + turn - 1
        if (turn > 0 and c == start) or ceilings[features[c]] < found[SIZE]:
            continue
        n_groups = groups[c + 1] - groups[c]
        k = starts[c]
        stored = 0
        for g in range(n_groups):
            end = group_ends[groups[c] + g]
            group = 0
            while k < end:
                group += potentials[rows[k]]
                k += 1
            sums[g] = group
            stored += group
        if zero[c] >= 0:
            while k < starts[c + 1]:
                stored += potentials[rows[k]]
                k += 1
            sums[zero[c]] += total - stored
        ceilings[features[c]] = search(
            sums, n_groups, abstains[c] != 0, default, features[c],
            cumulative, heads, cuts, defaults, following, floors, found,
        )  # fmt: skip


@part
def count(bins: Ints, columns: Ints, potentials: Ints, sums: Ints) -> None:
    """Write to sums (4, 256) the potentials of the bins of four columns.

    Four at a time: a potential is read once, and additions to different histograms
    need not wait for each other.
    """
    for c in range(TOGETHER):
        for b in range(N_BINS):
            sums[c, b] = 0
    bins_0, bins_1 = bins[columns[0]], bins[columns[1]]
    bins_2, bins_3 = bins[columns[2]], bins[columns[3]]
    sums_0, sums_1, sums_2, sums_3 = sums[0], sums[1], sums[2], sums[3]
    for i in range(np.uintp(potentials.shape[0])):
        potential = potentials[i]
        sums_0[bins_0[i]] += potential
        sums_1[bins_1[i]] += potential
        sums_2[bins_2[i]] += potential
        sums_3[bins_3[i]] += potential


@kernel
def search_binned(
    first: int,
    last: int,
    features: Ints,
    bins: Ints,
    n_bins: Ints,
    abstains: Ints,
    potentials: Ints,
    default: int,
    cumulative: bool,
    heads: Ints,
    cuts: Ints,
    defaults: Ints,
    following: Ints,
    floors: Ints,
    ceilings: Floats,
    columns: Ints,
    sums: Ints,
    found: Ints,
) -> None:
    """Search the columns first..last, whose entries are bins; write to found (5,).

    bins (features, n) count from the largest values on, 255 where a feature abstains;
    column c, of feature features[c], has n_bins[c]. columns (8,) and sums (4, 256) are
    room for work. O(n) time a column at most, one byte of memory traffic an entry.
    """
    waiting = 0
    start = most_promising(first, last, features, ceilings)
    for turn in range(last - first + 1):
        c = start if turn == 0 else first + turn - 1
        is_new = turn == 0 or c != start
        if is_new and ceilings[features[c]] >= found[SIZE]:
            columns[waiting] = c
            waiting += 1
        if waiting < TOGETHER and (turn < last - first or waiting == 0):
            continue
        for k in range(TOGETHER):
            # Where there are fewer than four the last one is counted again.
            columns[k] = columns[min(k, waiting - 1)]
            columns[k + TOGETHER] = features[columns[k]]
        count(bins, columns[TOGETHER:], potentials, sums)
        for k in range(waiting):
            column = columns[k]
            ceilings[features[column]] = search(
                sums[k], n_bins[column], abstains[column] != 0, default,
                features[column],
                cumulative, heads, cuts, defaults, following, floors, found,
            )  # fmt: skip
        waiting = 0


@kernel
def drift(potentials: Ints, last: Ints) -> Any:
    """Return by how much the r of any ranking may have changed; note the potentials.

    ``sum h (pi - pi')`` is at most the sum of the positive differences, or of the
    negative ones. In units, with room for all rounding.
    """
    up, down = 0.0, 0.0
    for i in range(potentials.shape[0]):
        change = float(potentials[i] - last[i])
        up += max(change, 0.0)
        down -= min(change, 0.0)
        last[i] = potentials[i]
    return max(up, down) * (1.0 + 1e-9) + 4.0 * potentials.shape[0] + 1024.0


@kernel
def rank_sorted(
    start: int,
    stop: int,
    rows: Ints,
    group_ends: Ints,
    cut: int,
    unstored: float,
    default: float,
    ranking: Floats,
) -> None:
    """Write to ranking (n,) a column, cut: 1 above, 0 below, `default` if it abstains.

    group_ends are those of the column's own groups; rows that are not stored get
    `unstored`.
    """
    for i in range(ranking.shape[0]):
        ranking[i] = unstored
    n_groups = group_ends.shape[0]
    above = group_ends[cut - 1] if cut > 0 else start
    ranked = group_ends[n_groups - 1] if n_groups > 0 else start
    for k in range(start, stop):
        value = 1.0 if k < above else 0.0
        ranking[rows[k]] = value if k < ranked else default


@kernel
def rank_binned(bins: Ints, cut: int, default: float, ranking: Floats) -> None:
    """Write to ranking (n,) a column of bins (n,), cut."""
    for i in range(ranking.shape[0]):
        value = 1.0 if bins[i] < cut else 0.0
        ranking[i] = default if bins[i] == ABSTAINS else value


@kernel
def enlist(
    feature: int,
    cut: int,
    q: int,
    place: int,
    heads: Ints,
    cuts: Ints,
    defaults: Ints,
    following: Ints,
) -> None:
    """Put a candidate, as number `place`, into the list of its feature, by cuts."""
    before, here = -1, heads[feature]
    while here >= 0 and cuts[here] < cut:
        before, here = here, following[here]
    cuts[place] = cut
    defaults[place] = q
    following[place] = here
    if before < 0:
        heads[feature] = place
    else:
        following[before] = place


@kernel
def value_sums(
    starts: Ints,
    rows: Ints,
    groups: Ints,
    group_ends: Ints,
    values: Floats,
    zero: Ints,
    potentials: Ints,
    total: int,
    unit: float,
    weighted: Floats,
    ranked: Floats,
) -> None:
    """Write what potentials give with the values of columns, and without them.

    To weighted (c,) the sums of ``f(x) pi(x)`` over the rows that have a value, to
    ranked (c,) those of ``pi(x)``. Columns are as in `search_sorted`. Sums go group by
    group, so that it does not matter how a column is stored.
    """
    for c in range(weighted.shape[0]):
        k, stored, all_ranked = starts[c], 0, 0
        result = 0.0
        hidden = 0
        if zero[c] >= 0:
            for entry in range(starts[c], starts[c + 1]):
                stored += potentials[rows[entry]]
            hidden = total - stored
        for g in range(groups[c], groups[c + 1]):
            group = hidden if g - groups[c] == zero[c] else 0
            while k < group_ends[g]:
                group += potentials[rows[k]]
                k += 1
            all_ranked += group
            result += values[g] * (group / unit)
        weighted[c] = result
        ranked[c] = all_ranked / unit


@kernel
def rank_values(
    start: int,
    stop: int,
    rows: Ints,
    group_ends: Ints,
    values: Floats,
    unstored: float,
    default: float,
    ranking: Floats,
) -> None:
    """Write to ranking (n,) the values of a column, `default` where it abstains."""
    for i in range(ranking.shape[0]):
        ranking[i] = unstored
    k = start
    for g in range(group_ends.shape[0]):
        while k < group_ends[g]:
            ranking[rows[k]] = values[g]
            k += 1
    while k < stop:
        ranking[rows[k]] = default
        k += 1
