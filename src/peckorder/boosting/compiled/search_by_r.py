"""The search for the threshold with the largest |r|, over columns sorted or binned.

Every column is cut into groups of rows with equal values, the largest value first. Cut
g lies below the groups 0..g-1: the weak ranking is 1 for those and 0 for the others,
and q for rows on which the column abstains; so ``r = L - q R``, L being the potentials
of the rows above the cut and R those of all rows that have a value. All sums are exact
integers.

Most columns need not be looked at in most rounds: |r| of a feature cannot exceed what
it was when last looked at by more than potentials have moved since. ceilings
(features,) are that |r| minus `travelled`, how far potentials had come by then; with
how far they have come now, they are a limit. A column with a limit below what is
found, by this thread or another, is left out.
"""

import numpy as np

from peckorder._core.compiled.jit import compiled, inlined
from peckorder._core.typing import Floats, Ints
from peckorder.boosting.compiled.barrier import take_turn

# Binned columns that are searched together: as many as have their addresses in
# registers.
TOGETHER = 4
# Columns that are looked at before all others, by each thread.
AHEAD = 4
# The bin of rows on which a column abstains.
ABSTAINS = 255
N_BINS = 256
# What a search finds: |r|, the column's feature, the cut, q, r.
SIZE, FEATURE, CUT, DEFAULT, R = range(5)
FOUND = 5
# How q is chosen: as given, or the better of 0 and 1.
LEARNT = -1


@inlined
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


@inlined
def ceiling(
    high: int,
    low: int,
    ranked: int,
    abstains: bool,
    default: int,
    positive: bool,
) -> int:
    """Return the largest |r| of a column, or the largest r if `positive`.

    high >= 0 and low <= 0 are the extremes of L, the potentials above a cut.
    """
    shift = ranked if abstains else 0
    if default == LEARNT:
        # q is 0 or 1, whichever is better.
        top, bottom = max(high, high - shift), min(low, low - shift)
    else:
        top, bottom = high - default * shift, low - default * shift
    return max(top, 0) if positive else max(top, -bottom)


@inlined
def height(limit: int, travelled: float) -> float:
    """Return ``limit - travelled``, rounded up."""
    return (limit - travelled) + 1e-15 * (limit + travelled) + 1.0


@inlined
def first_cut(sums: Ints, above: int) -> int:
    """Return the first cut above which there are these potentials."""
    cut, found = 0, 0
    while found != above:
        found += sums[cut]
        cut += 1
    return cut


@inlined
def search_sums(
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
    """Search a column whose groups have the potentials `sums`; return its ceiling.

    If `cumulative`, a candidate with r < 0 must have been taken in a round before, and
    r be above its floor; those are in a list by cuts that begins at heads[feature].
    """
    above, high, low = 0, 0, 0
    for g in range(n_groups):
        above += sums[g]
        high, low = max(above, high), min(above, low)
    # What is left of zero by rounding must not speak for a default.
    ranked = above if abstains else 0
    each = heads[feature] if cumulative else -1
    limit = ceiling(high, low, ranked, abstains, default, cumulative and each < 0)
    if limit < found[SIZE]:
        return limit
    first = default if default != LEARNT else 0
    last = 1 if abstains and default == LEARNT else first
    for q in range(first, last + 1):
        if high - q * ranked > 0:
            cut = first_cut(sums, high)
            consider(found, high - q * ranked, feature, cut, q)
        if low - q * ranked < 0 and not cumulative:
            cut = first_cut(sums, low)
            consider(found, low - q * ranked, feature, cut, q)
    above, g = 0, 0
    while each >= 0:
        while g < cuts[each]:
            above += sums[g]
            g += 1
        r = above - defaults[each] * ranked
        if floors[each] < r < 0:
            consider(found, r, feature, cuts[each], defaults[each])
        each = following[each]
    return limit


@compiled
def put_ahead(n_ahead: int, features: Ints, ceilings: Floats, order: Ints) -> None:
    """Write to order (columns,) all of them, those with the highest ceilings first.

    So that the others can be left out. Behind those few they stand as they are.
    """
    n_columns = features.shape[0]
    n_ahead = min(n_ahead, n_columns)
    n_found = 0
    for c in range(n_columns):
        height = ceilings[features[c]]
        if n_found == n_ahead and height <= ceilings[features[order[n_ahead - 1]]]:
            continue
        place = min(n_found, n_ahead - 1)
        while place > 0 and height > ceilings[features[order[place - 1]]]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = c
        n_found = min(n_found + 1, n_ahead)
    n_written = n_ahead
    for c in range(n_columns):
        is_ahead = False
        for k in range(n_ahead):
            is_ahead |= order[k] == c
        if not is_ahead:
            order[n_written] = c
            n_written += 1


@inlined
def group_sums(
    c: int,
    starts: Ints,
    rows: Ints,
    groups: Ints,
    group_ends: Ints,
    zero: int,
    potentials: Ints,
    sums: Ints,
) -> None:
    """Write to `sums` the potentials of the groups of a sorted column."""
    k, stored = starts[c], 0
    for g in range(groups[c + 1] - groups[c]):
        end, group = group_ends[groups[c] + g], 0
        while k < end:
            group += potentials[rows[k]]
            k += 1
        sums[g] = group
        stored += group
    if zero >= 0:
        while k < starts[c + 1]:
            stored += potentials[rows[k]]
            k += 1
        # Potentials add up to zero.
        sums[zero] -= stored


@compiled
def search_sorted(
    n_threads: int,
    turns: Ints,
    order: Ints,
    features: Ints,
    starts: Ints,
    rows: Ints,
    is_last: Ints,
    groups: Ints,
    group_ends: Ints,
    zero: Ints,
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
    travelled: float,
    best: Ints,
    sums: Ints,
    found: Ints,
) -> None:
    """Search columns, their entries sorted, in an order; write to found (5,).

    Threads share the columns by turns (1,); best (1,) is the largest |r| that any of
    them has found. Column c has the entries ``starts[c] : starts[c + 1]`` of rows; its
    groups ``groups[c] : groups[c + 1]`` end at group_ends, where is_last is 1. Entries
    behind the last group abstain. Group zero[c], if any, holds the rows that are not
    stored as well: all potentials add up to zero, so theirs are minus those of the
    others. sums is room for as many groups as any column has. O(entries) time at most.
    """
    while True:
        place = take_turn(n_threads, turns)
        if place >= order.shape[0]:
            return
        c = order[place]
        feature = features[c]
        if ceilings[feature] + travelled < best[0]:
            continue
        if zero[c] < 0:
            # Most columns are not good enough: a loop without branches will do.
            above, high, low = 0, 0, 0
            has_groups = groups[c + 1] > groups[c]
            end = group_ends[groups[c + 1] - 1] if has_groups else starts[c]
            for k in range(np.uintp(starts[c]), np.uintp(end)):
                above += potentials[rows[k]]
                at_cut = above if is_last[k] != 0 else 0
                high, low = max(at_cut, high), min(at_cut, low)
            is_new = cumulative and heads[feature] < 0
            limit = ceiling(high, low, above, abstains[c] != 0, default, is_new)
            if limit < best[0]:
                ceilings[feature] = height(limit, travelled)
                continue
        group_sums(c, starts, rows, groups, group_ends, zero[c], potentials, sums)
        limit = search_sums(
            sums, groups[c + 1] - groups[c], abstains[c] != 0, default, feature,
            cumulative, heads, cuts, defaults, following, floors, found,
        )  # fmt: skip
        ceilings[feature] = height(limit, travelled)
        best[0] = max(best[0], found[SIZE])


@inlined
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


@inlined
def count_one(bins: Ints, potentials: Ints, sums: Ints) -> None:
    """Write to sums[0] the potentials of the bins (n,) of one column.

    A quarter of the rows for each of sums (4, 256), which then are added up.
    """
    for k in range(TOGETHER):
        for b in range(N_BINS):
            sums[k, b] = 0
    n_rows = np.uintp(potentials.shape[0])
    quarter = n_rows // np.uintp(4)
    second, third = quarter, quarter + quarter
    fourth = third + quarter
    sums_0, sums_1, sums_2, sums_3 = sums[0], sums[1], sums[2], sums[3]
    for i in range(quarter):
        sums_0[bins[i]] += potentials[i]
        sums_1[bins[second + i]] += potentials[second + i]
        sums_2[bins[third + i]] += potentials[third + i]
        sums_3[bins[fourth + i]] += potentials[fourth + i]
    for i in range(fourth + quarter, n_rows):
        sums_0[bins[i]] += potentials[i]
    for b in range(N_BINS):
        sums_0[b] += sums_1[b] + sums_2[b] + sums_3[b]


@compiled
def search_binned(
    n_threads: int,
    turns: Ints,
    order: Ints,
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
    travelled: float,
    best: Ints,
    columns: Ints,
    sums: Ints,
    found: Ints,
) -> None:
    """Search columns, their entries bins, in an order; write to found (5,).

    Threads share the columns by turns (1,); best (1,) is the largest |r| that any of
    them has found. bins (features, n) count from the largest values on, 255 where a
    feature abstains; column c, of feature features[c], has n_bins[c]. columns (8,) and
    sums (4, 256) are room for work. O(n) time a column at most, one byte of memory
    traffic an entry.
    """
    place, n_columns = 0, order.shape[0]
    while place < n_columns:
        waiting = 0
        while waiting < TOGETHER and place < n_columns:
            place = take_turn(n_threads, turns)
            if place < n_columns:
                c = order[place]
                if ceilings[features[c]] + travelled >= best[0]:
                    columns[waiting] = c
                    waiting += 1
        if waiting == 0:
            return
        is_few = 2 * waiting <= TOGETHER
        if not is_few:
            for k in range(TOGETHER):
                # Where there are three the last one is counted again.
                columns[k] = columns[min(k, waiting - 1)]
                columns[k + TOGETHER] = features[columns[k]]
            count(bins, columns[TOGETHER:], potentials, sums)
        for k in range(waiting):
            column = columns[k]
            place_of_sums = k
            if is_few:
                count_one(bins[features[column]], potentials, sums)
                place_of_sums = 0
            limit = search_sums(
                sums[place_of_sums], n_bins[column], abstains[column] != 0, default,
                features[column],
                cumulative, heads, cuts, defaults, following, floors, found,
            )  # fmt: skip
            ceilings[features[column]] = height(limit, travelled)
        best[0] = max(best[0], found[SIZE])


@compiled
def drift(potentials: Ints, before: Ints) -> int:
    """Return by how much the r of any ranking may have changed, in units.

    ``sum h (pi - pi')`` is at most the sum of the positive differences, or of the
    negative ones; these are equal, for each sum of potentials is zero.
    """
    up = 0
    for i in range(potentials.shape[0]):
        up += max(potentials[i] - before[i], 0)
    return up
