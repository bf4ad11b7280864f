"""The search for the threshold with the largest |r|, over columns sorted or binned.

Every column is cut into groups of rows with equal values, the largest value first. Cut
g lies below the groups 0..g-1: the weak ranking is 1 for those and 0 for the others,
and q for rows on which the column abstains; so ``r = L - q R``, L being the potentials
of the rows above the cut and R those of all rows that have a value. All sums are exact
integers.
"""

from peckorder._typing import Floats, Ints
from peckorder.kernels._jit import kernel, part

# Columns binned together; their histograms fit into the nearest cache.
BLOCK = 8
# The bin of rows on which a column abstains.
ABSTAINS = 255
N_BINS = 256
# What a search finds: |r|, the column's feature, the cut, q, r.
SIZE, FEATURE, CUT, DEFAULT, R = range(5)
FOUND = 5
# How q is chosen: as given, or the better of 0 and 1.
LEARNT = -1


@part
def take(found: Ints, r: int, feature: int, cut: int, q: int) -> None:
    """Keep a candidate that is better than what was found, or as good and earlier."""
    found[SIZE] = abs(r)
    found[FEATURE] = feature
    found[CUT] = cut
    found[DEFAULT] = q
    found[R] = r


@part
def consider(
    found: Ints,
    r: int,
    feature: int,
    cut: int,
    q: int,
    cumulative: bool,
    place: int,
    cuts: Ints,
    defaults: Ints,
    following: Ints,
    floors: Ints,
) -> None:
    """Take a candidate if it is better than all before.

    If `cumulative`, one with r < 0 must have been taken in a round before, and r be
    above its floor. The candidates taken are a list by cuts: `place` is where those of
    this cut begin.
    """
    if abs(r) <= found[SIZE]:
        return
    if cumulative and r < 0:
        while place >= 0 and cuts[place] == cut and defaults[place] != q:
            place = following[place]
        if place < 0 or cuts[place] != cut or r <= floors[place]:
            return
    take(found, r, feature, cut, q)


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
) -> None:
    """Consider all cuts of a column whose groups have the potentials `sums`."""
    ranked = 0
    for g in range(n_groups):
        ranked += sums[g]
    if not abstains:
        # What is left of zero by rounding must not speak for a default.
        ranked = 0
    both = abstains and default == LEARNT
    q = default if default != LEARNT else 0
    above = 0
    place = heads[feature] if cumulative else -1
    for cut in range(n_groups + 1):
        while place >= 0 and cuts[place] < cut:
            place = following[place]
        r = above - q * ranked
        consider(
            found, r, feature, cut, q,
            cumulative, place, cuts, defaults, following, floors,
        )  # fmt: skip
        if both:
            consider(
                found, above - ranked, feature, cut, 1,
                cumulative, place, cuts, defaults, following, floors,
            )  # fmt: skip
        if cut < n_groups:
            above += sums[cut]


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
    sums: Ints,
    found: Ints,
) -> None:
    """Search the columns first..last, whose entries are sorted; write to found (5,).

    Column c has the entries ``starts[c] : starts[c + 1]`` of rows; its groups
    ``groups[c] : groups[c + 1]`` end at group_ends. Entries behind the last group
    abstain. Group zero[c], if any, holds the rows that are not stored as well: their
    potentials are what is missing from `total`, that of all rows. sums is room for as
    many groups as any column has. O(entries) time.
    """
    for c in range(first, last):
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
        search(
            sums, n_groups, abstains[c] != 0, default, features[c],
            cumulative, heads, cuts, defaults, following, floors, found,
        )  # fmt: skip


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
    sums: Ints,
    found: Ints,
) -> None:
    """Search blocks of eight columns, whose entries are bins; write to found (5,).

    bins (blocks, n, 8) count from the largest values on, 255 where a column abstains;
    n_bins (8 blocks,), features (8 blocks,), -1 for none. sums (8, 256) is room for the
    potentials of bins. O(n) time a column, one byte of memory traffic an entry.
    """
    n_rows = bins.shape[1]
    for block in range(first, last):
        for c in range(BLOCK):
            for b in range(N_BINS):
                sums[c, b] = 0
        # Eight at a time: a potential is read once, and additions to different
        # histograms need not wait for each other.
        for i in range(n_rows):
            potential = potentials[i]
            sums[0, bins[block, i, 0]] += potential
            sums[1, bins[block, i, 1]] += potential
            sums[2, bins[block, i, 2]] += potential
            sums[3, bins[block, i, 3]] += potential
            sums[4, bins[block, i, 4]] += potential
            sums[5, bins[block, i, 5]] += potential
            sums[6, bins[block, i, 6]] += potential
            sums[7, bins[block, i, 7]] += potential
        for c in range(BLOCK):
            column = BLOCK * block + c
            if features[column] < 0:
                continue
            search(
                sums[c], n_bins[column], abstains[column] != 0, default,
                features[column],
                cumulative, heads, cuts, defaults, following, floors, found,
            )  # fmt: skip


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
def rank_binned(
    bins: Ints, block: int, c: int, cut: int, default: float, ranking: Floats
) -> None:
    """Write to ranking (n,) column c of a block, cut."""
    for i in range(ranking.shape[0]):
        b = bins[block, i, c]
        if b == ABSTAINS:
            ranking[i] = default
        else:
            ranking[i] = 1.0 if b < cut else 0.0


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
