"""The search for the threshold with the largest |r|, over columns sorted or binned.

Every column is cut into groups of rows with equal values, the largest value first. Cut
g lies below the groups 0..g-1: the weak ranking is 1 for those and 0 for the others,
and q for rows on which the column abstains; so ``r = L - q R``, L being the potentials
of the rows above the cut and R those of all rows that have a value. All sums are exact
integers.

Most columns need not be looked at in most rounds: |r| of a feature cannot exceed what
it was when last looked at by more than potentials have moved since. ceilings
(features,) are that |r| minus the total drift of potentials by then; plus the drift so
far, they are a limit. A column with a limit below the best |r|, of this thread or
another, is skipped.

A threshold that was added is a candidate, with the sum of its alphas. If sums must stay
positive, the r of a candidate has to be above its floor, or the weights of pairs ranked
right and wrong in a ratio above its ratio: else its alpha would make the sum negative.
"""

from math import exp
from typing import Any, NamedTuple

import numpy as np

from peckorder._core.compiled.jit import atomic_add, compiled, inlined
from peckorder._core.typing import Floats, Ints
from peckorder.boosting.compiled.binned_columns import (
    TOGETHER,
    BinnedColumns,
    sum_column,
    sum_four_columns,
)
from peckorder.boosting.compiled.pairs import UNIT
from peckorder.boosting.compiled.sorted_columns import SortedColumns, sum_groups

# Columns that are looked at before all others, by each thread.
AHEAD = 4
# A threshold: |r|, the column's feature, the cut, q, r.
SIZE, FEATURE, CUT, DEFAULT, R = range(5)
CHOICE = 5
# How q is chosen: as given, or the better of 0 and 1.
LEARNT = -1


class Settings(NamedTuple):
    """How thresholds are chosen and weighted.

    `default` is 0, 1 or LEARNT, what a ranking gives to rows on which its feature
    abstains. If `cumulative`, the sum of the alphas of a threshold stays positive.
    """

    default: int
    cumulative: bool
    rate: float
    smoothing: float


class Candidates(NamedTuple):
    """The thresholds that were added: a linked list per feature, by cuts.

    Those of a feature begin at heads[feature] and go on by `following`, -1 at the end;
    candidate p has cuts[p], defaults[p] and the sum of its alphas, sums[p].
    """

    heads: Ints
    cuts: Ints
    defaults: Ints
    following: Ints
    sums: Floats
    floors: Ints
    ratios: Floats


class ColumnQueue(NamedTuple):
    """Columns in an order (columns,), which threads share by turns (1,)."""

    n_threads: int
    turns: Ints
    order: Ints


class Limits(NamedTuple):
    """What lets columns be skipped; best_size (1,) is the largest |r| of all threads.

    An inspected column gets a new ceiling in ceilings (features,).
    """

    ceilings: Floats
    drift_so_far: float
    best_size: Ints


@compiled
def find_candidate(feature: int, cut: int, q: int, candidates: Candidates) -> int:
    """Return the number of a candidate, -1 if there is none."""
    p = candidates.heads[feature]
    while p >= 0 and (candidates.cuts[p] != cut or candidates.defaults[p] != q):
        p = candidates.following[p]
    return int(p)


@compiled
def set_floor(p: int, settings: Settings, candidates: Candidates) -> None:
    """Write how far a candidate may fall.

    ``alpha = rate log((1 + r + e) / (1 - r + e)) / 2`` is minus its sum at the floor.
    """
    ratio = exp(max(-2.0 * candidates.sums[p] / settings.rate, -700.0))
    floor = (1.0 + settings.smoothing) * (ratio - 1.0) / (ratio + 1.0)
    candidates.floors[p] = int(max(floor, -1.5) * UNIT)
    candidates.ratios[p] = ratio


@compiled
def add_to_candidate(
    feature: int,
    cut: int,
    q: int,
    alpha: float,
    size: int,
    settings: Settings,
    candidates: Candidates,
) -> int:
    """Add alpha to a candidate, which becomes number `size` if it is new.

    Returns the number of candidates there are now.
    """
    heads, cuts, following = candidates.heads, candidates.cuts, candidates.following
    p = find_candidate(feature, cut, q, candidates)
    if p < 0:
        p = size
        before, after = -1, heads[feature]
        while after >= 0 and cuts[after] < cut:
            before, after = after, following[after]
        cuts[p] = cut
        candidates.defaults[p] = q
        candidates.sums[p] = 0.0
        following[p] = after
        if before < 0:
            heads[feature] = p
        else:
            following[before] = p
    candidates.sums[p] += alpha
    set_floor(p, settings, candidates)
    return max(size, p + 1)


@inlined
def next_turn(n_threads: int, turns: Any) -> int:
    """Return 0, 1, 2, ..., each number to one thread only; turns (1,) counts them."""
    if n_threads == 1:
        turns[0] += 1
        return int(turns[0] - 1)
    return int(atomic_add(turns, 0, 1))


@inlined
def consider(best: Ints, r: int, feature: int, cut: int, q: int) -> None:
    """Replace the best threshold by a better one, or by one as good and earlier."""
    size = abs(r)
    is_earlier = feature < best[FEATURE] or (
        feature == best[FEATURE] and (cut < best[CUT] or (cut == best[CUT] and q < best[DEFAULT]))
    )
    if size > best[SIZE] or (size == best[SIZE] and is_earlier):
        best[SIZE] = size
        best[FEATURE] = feature
        best[CUT] = cut
        best[DEFAULT] = q
        best[R] = r


@inlined
def ceiling(high: int, low: int, ranked: int, abstains: bool, default: int, positive: bool) -> int:
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
def height(limit: int, drift_so_far: float) -> float:
    """Return ``limit - drift_so_far``, rounded up."""
    return (limit - drift_so_far) + 1e-15 * (limit + drift_so_far) + 1.0


@inlined
def first_cut(sums: Ints, above: int) -> int:
    """Return the first cut above which the potentials sum to `above`."""
    cut, total = 0, 0
    while total != above:
        total += sums[cut]
        cut += 1
    return cut


@compiled
def search_sums(
    sums: Ints,
    n_groups: int,
    abstains: bool,
    feature: int,
    settings: Settings,
    candidates: Candidates,
    best: Ints,
) -> int:
    """Search a column whose groups have the potentials `sums`; return its ceiling.

    If `cumulative`, a threshold with r < 0 must be a candidate with a lower floor.
    """
    default, cumulative = settings.default, settings.cumulative
    cuts, defaults, floors = candidates.cuts, candidates.defaults, candidates.floors
    above, high, low = 0, 0, 0
    for g in range(n_groups):
        above += sums[g]
        high, low = max(above, high), min(above, low)
    # What rounding leaves of zero must not decide on a default.
    ranked = above if abstains else 0
    p = candidates.heads[feature] if cumulative else -1
    limit = ceiling(high, low, ranked, abstains, default, cumulative and p < 0)
    if limit < best[SIZE]:
        return limit
    first = default if default != LEARNT else 0
    last = 1 if abstains and default == LEARNT else first
    for q in range(first, last + 1):
        if high - q * ranked > 0:
            cut = first_cut(sums, high)
            consider(best, high - q * ranked, feature, cut, q)
        if low - q * ranked < 0 and not cumulative:
            cut = first_cut(sums, low)
            consider(best, low - q * ranked, feature, cut, q)
    above, g = 0, 0
    while p >= 0:
        while g < cuts[p]:
            above += sums[g]
            g += 1
        r = above - defaults[p] * ranked
        if floors[p] < r < 0:
            consider(best, r, feature, cuts[p], defaults[p])
        p = candidates.following[p]
    return limit


@compiled
def order_by_ceilings(n_ahead: int, features: Ints, ceilings: Floats, order: Ints) -> None:
    """Write to order (columns,) all columns, those with the highest ceilings first.

    So that the others can be skipped. Behind those n_ahead they keep their order.
    """
    n_columns = features.shape[0]
    n_ahead = min(n_ahead, n_columns)
    n_sorted = 0
    for c in range(n_columns):
        own = ceilings[features[c]]
        if n_sorted == n_ahead and own <= ceilings[features[order[n_ahead - 1]]]:
            continue
        position = min(n_sorted, n_ahead - 1)
        while position > 0 and own > ceilings[features[order[position - 1]]]:
            order[position] = order[position - 1]
            position -= 1
        order[position] = c
        n_sorted = min(n_sorted + 1, n_ahead)
    n_written = n_ahead
    for c in range(n_columns):
        is_ahead = False
        for k in range(n_ahead):
            is_ahead |= order[k] == c
        if not is_ahead:
            order[n_written] = c
            n_written += 1


@compiled
def search_sorted(
    queue: ColumnQueue,
    columns: SortedColumns,
    potentials: Ints,
    settings: Settings,
    candidates: Candidates,
    limits: Limits,
    sums: Ints,
    best: Ints,
) -> None:
    """Search sorted columns in the order of a queue; write to best (5,).

    All potentials add up to zero, so those of rows that are not stored are minus those
    of the others. sums is workspace with one element per group of the largest column.
    O(entries) time at most.
    """
    features, starts, rows = columns.features, columns.starts, columns.rows
    is_last, groups, group_ends = columns.is_last, columns.groups, columns.group_ends
    zero, abstains = columns.zero, columns.abstains
    ceilings, drift, best_size = limits.ceilings, limits.drift_so_far, limits.best_size
    while True:
        turn = next_turn(queue.n_threads, queue.turns)
        if turn >= queue.order.shape[0]:
            return
        c = queue.order[turn]
        feature = features[c]
        if ceilings[feature] + drift < best_size[0]:
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
            is_new = settings.cumulative and candidates.heads[feature] < 0
            limit = ceiling(high, low, above, abstains[c] != 0, settings.default, is_new)
            if limit < best_size[0]:
                ceilings[feature] = height(limit, drift)
                continue
        sum_groups(columns, c, potentials, sums)
        limit = search_sums(
            sums, groups[c + 1] - groups[c], abstains[c] != 0, feature, settings,
            candidates, best,
        )  # fmt: skip
        ceilings[feature] = height(limit, drift)
        best_size[0] = max(best_size[0], best[SIZE])


@compiled
def search_binned(
    queue: ColumnQueue,
    columns: BinnedColumns,
    potentials: Ints,
    settings: Settings,
    candidates: Candidates,
    limits: Limits,
    workspace: Ints,
    best: Ints,
) -> None:
    """Search binned columns in the order of a queue; write to best (5,).

    workspace is (5, 256). O(n) time per column at most, one byte of memory traffic per
    entry.
    """
    features, bins, n_bins = columns.features, columns.bins, columns.n_bins
    ceilings, drift, best_size = limits.ceilings, limits.drift_so_far, limits.best_size
    sums, together = workspace[:TOGETHER], workspace[TOGETHER]
    turn, n_columns = 0, queue.order.shape[0]
    while turn < n_columns:
        n_waiting = 0
        while n_waiting < TOGETHER and turn < n_columns:
            turn = next_turn(queue.n_threads, queue.turns)
            if turn < n_columns:
                c = queue.order[turn]
                if ceilings[features[c]] + drift >= best_size[0]:
                    together[n_waiting] = c
                    n_waiting += 1
        if n_waiting == 0:
            return
        is_few = 2 * n_waiting <= TOGETHER
        if not is_few:
            for k in range(TOGETHER):
                # Where there are three the last one is summed again.
                together[k] = together[min(k, n_waiting - 1)]
                together[k + TOGETHER] = features[together[k]]
            sum_four_columns(bins, together[TOGETHER:], potentials, sums)
        for k in range(n_waiting):
            column = together[k]
            own_sums = k
            if is_few:
                sum_column(bins[features[column]], potentials, sums)
                own_sums = 0
            limit = search_sums(
                sums[own_sums], n_bins[column], columns.abstains[column] != 0,
                features[column], settings, candidates, best,
            )  # fmt: skip
            ceilings[features[column]] = height(limit, drift)
        best_size[0] = max(best_size[0], best[SIZE])


@compiled
def search_histograms(
    features: Ints,
    sums: Ints,
    columns: BinnedColumns,
    settings: Settings,
    candidates: Candidates,
    ceilings: Floats,
    drift_so_far: float,
    best: Ints,
) -> None:
    """Search features whose bins have the potentials `sums`; write to best (5,).

    All features are binned columns. O(bins) time.
    """
    for k in range(features.shape[0]):
        feature = features[k]
        limit = search_sums(
            sums[k], columns.n_bins[feature], columns.abstains[feature] != 0, feature,
            settings, candidates, best,
        )  # fmt: skip
        ceilings[feature] = height(limit, drift_so_far)
