"""Rounds of RankBoost in one piece: graded rows, thresholds by |r|.

What Python does between kernels would otherwise cost more than a round on few rows.
"""

from math import inf, log

import numpy as np

from peckorder._core.compiled.jit import bits_of, compiled, from_bits, inlined
from peckorder._core.typing import Floats, Ints
from peckorder.boosting.compiled import candidates, graded_pairs, weak_rankings
from peckorder.boosting.compiled import search_by_r as search
from peckorder.boosting.compiled.barrier import meet

# What rounding leaves of a weight of zero, which a logarithm would magnify.
NOTHING = 1e-14
# Makes what is rounded down larger again.
_UP = 1.0 + 1e-15
# What is written of a round.
FEATURE, CUT, DEFAULT, ALPHA, LOG_TOTAL = range(5)
RECORD = 5


@compiled
def approximate(r: float, smoothing: float) -> float:
    """Return ``log((1 + r + e) / (1 - r + e)) / 2``, the weight of a ranking."""
    up = 1.0 + r if 1.0 + r > NOTHING else 0.0
    down = 1.0 - r if 1.0 - r > NOTHING else 0.0
    if up + smoothing == 0.0:
        return -inf
    if down + smoothing == 0.0:
        return inf
    return 0.5 * log((up + smoothing) / (down + smoothing))


@compiled
def noise(scores: Floats) -> float:
    """Return what rounding may leave of an r of zero: it grows with the scores."""
    largest = 0
    for i in range(np.uintp(scores.shape[0])):
        # By bits, of which processors compare several at a time.
        largest = max(largest, bits_of(abs(scores[i])))
    return noise_of(from_bits(largest))


@inlined
def noise_of(largest: float) -> float:
    """Return the `noise` of scores whose largest size is known."""
    return NOTHING * (1.0 + largest)


@compiled
def add(alpha: float, ranking: Floats, scores: Floats) -> float:
    """Add alpha times a ranking to the scores; return the largest size of these."""
    largest = 0
    for i in range(np.uintp(scores.shape[0])):
        score = scores[i] + alpha * ranking[i]
        scores[i] = score
        largest = max(largest, bits_of(abs(score)))
    return from_bits(largest)


@compiled
def add_binned(
    alpha: float, bins: Ints, cut: int, default: float, scores: Floats
) -> float:
    """Add alpha times a column of bins (n,), cut; return the largest size of scores."""
    largest = 0
    for i in range(np.uintp(scores.shape[0])):
        value = 1.0 if bins[i] < cut else 0.0
        value = default if bins[i] == search.ABSTAINS else value
        score = scores[i] + alpha * value
        scores[i] = score
        largest = max(largest, bits_of(abs(score)))
    return from_bits(largest)


@compiled
def further(travelled: float, moved: int, n_rows: int) -> float:
    """Return how far potentials have come after a move, with room for all rounding."""
    return (travelled + 1.000001 * float(moved) + 4.0 * n_rows + 1024.0) * _UP


@inlined
def rank_all(
    c: int,
    cut: int,
    default: float,
    starts: Ints,
    rows: Ints,
    groups: Ints,
    group_ends: Ints,
    zero: Ints,
    ranking: Floats,
) -> None:
    """Write to ranking (n,) what a sorted column, cut, says of all rows."""
    unstored = default
    if zero[c] >= 0:
        unstored = 1.0 if zero[c] < cut else 0.0
    ends = group_ends[groups[c] : groups[c + 1]]
    weak_rankings.rank_sorted(
        starts[c], starts[c + 1], rows, ends, cut, unstored, default, ranking
    )


@inlined
def share_of(thread: int, n_threads: int, n: int) -> tuple[int, int]:
    """Return where the share of a thread of 0..n begins and ends."""
    return n * thread // n_threads, n * (thread + 1) // n_threads


@inlined
def largest_of(values: Floats) -> float:
    """Return the largest of what the threads say."""
    largest = values[0]
    for k in range(1, values.shape[0]):
        largest = max(largest, values[k])
    return float(largest)


@inlined
def sum_of(values: Ints) -> int:
    """Return the sum of what the threads say."""
    result = 0
    for k in range(values.shape[0]):
        result += values[k]
    return result


@inlined
def best_of(founds: Ints) -> int:
    """Return which thread found the first feature of those with the largest |r|."""
    best = 0
    for k in range(1, founds.shape[0]):
        more = founds[k, search.SIZE] - founds[best, search.SIZE]
        is_earlier = founds[k, search.FEATURE] < founds[best, search.FEATURE]
        if more > 0 or (more == 0 and is_earlier):
            best = k
    return best


@compiled
def run(  # noqa: PLR0911, PLR0915
    thread: int,
    n_threads: int,
    n_rounds: int,
    # The distribution.
    mass_unit: float,
    unit: float,
    levels: Ints,
    level_starts: Ints,
    level_rows: Ints,
    log_weight: Floats,
    log_step: Floats,
    log_query: Floats,
    up: Floats,
    down: Floats,
    up_scale: Floats,
    down_scale: Floats,
    base: Floats,
    log_mass: Floats,
    scores: Floats,
    potentials: Ints,
    # The columns.
    binned_features: Ints,
    bins: Ints,
    n_bins: Ints,
    binned_abstain: Ints,
    sorted_features: Ints,
    starts: Ints,
    rows: Ints,
    is_last: Ints,
    groups: Ints,
    group_ends: Ints,
    zero: Ints,
    abstain: Ints,
    column_of: Ints,
    # The rules.
    default: int,
    cumulative: bool,
    rate: float,
    smoothing: float,
    # What was added so far.
    size: int,
    heads: Ints,
    cuts: Ints,
    defaults: Ints,
    following: Ints,
    sums: Floats,
    floors: Ints,
    ratios: Floats,
    # Room for work.
    ceilings: Floats,
    travelled: Floats,
    binned_order: Ints,
    sorted_order: Ints,
    rooms: Ints,
    group_sums: Ints,
    ranking: Floats,
    # What threads share.
    places: Ints,
    turns: Ints,
    best: Ints,
    founds: Ints,
    noises: Floats,
    tops: Floats,
    masses: Ints,
    moves: Ints,
    record: Floats,
) -> tuple[int, int]:
    """Do rounds; write them to record (n_rounds, 5).

    Returns how many were done, fewer if no threshold is of any use, and the number of
    candidates there are now. An infinite alpha ends the rounds, written but not added.
    All threads do this at the same time; each has its own share of columns, of queries
    and of rows, and whatever depends on all of these it works out by itself.
    """
    n_rows, n_queries = potentials.shape[0], levels.shape[0] - 1
    first_row, last_row = share_of(thread, n_threads, n_rows)
    first_query, last_query = share_of(thread, n_threads, n_queries)
    my_scores = scores[first_row:last_row]
    my_noise = noise(my_scores)
    found = founds[thread]
    columns, histograms = rooms[thread, 0], rooms[thread, 1 : 1 + search.TOGETHER]
    for t in range(n_rounds):
        if thread == 0:
            best[0], turns[0], turns[1] = 0, 0, 0
            n_ahead = search.AHEAD * n_threads
            search.put_ahead(n_ahead, binned_features, ceilings, binned_order)
            search.put_ahead(n_ahead, sorted_features, ceilings, sorted_order)
        for k in range(found.shape[0]):
            found[k] = 0
        found[search.FEATURE] = -1
        noises[thread] = my_noise
        if not meet(n_threads, places):
            return t, size
        come = travelled[0]
        search.search_binned(
            n_threads, turns, binned_order, binned_features, bins, n_bins,
            binned_abstain, potentials, default, cumulative, heads, cuts, defaults,
            following, floors, ceilings, come, best, columns, histograms, found,
        )  # fmt: skip
        search.search_sorted(
            n_threads, turns[1:], sorted_order, sorted_features, starts, rows, is_last,
            groups, group_ends, zero, abstain, potentials, default, cumulative, heads,
            cuts, defaults, following, floors, ceilings, come, best,
            group_sums[thread], found,
        )  # fmt: skip
        if not meet(n_threads, places):
            return t, size
        chosen = founds[best_of(founds)]
        feature, cut, q = (
            chosen[search.FEATURE],
            chosen[search.CUT],
            chosen[search.DEFAULT],
        )
        r = chosen[search.R] / unit
        alpha = rate * approximate(r, smoothing)
        is_noise = chosen[search.SIZE] <= largest_of(noises) * unit
        if is_noise or not alpha * r > 0.0:
            return t, size
        if thread == 0:
            record[t, FEATURE] = feature
            record[t, CUT] = cut
            record[t, DEFAULT] = q
            record[t, ALPHA] = alpha
        if abs(alpha) == inf:
            return t + 1, size
        column = column_of[feature]
        if column < 0:
            some = bins[feature, first_row:last_row]
            my_noise = noise_of(add_binned(alpha, some, cut, float(q), my_scores))
        else:
            # Of a sorted column it takes all rows to rank any.
            if thread == 0:
                rank_all(
                    column, cut, float(q), starts, rows, groups, group_ends, zero,
                    ranking,
                )  # fmt: skip
            if not meet(n_threads, places):
                return t, size
            my_noise = noise_of(add(alpha, ranking[first_row:last_row], my_scores))
        if not meet(n_threads, places):
            return t, size
        graded_pairs.weigh(
            first_query, last_query, levels, level_starts, level_rows, log_weight,
            log_step, log_query, scores, up, down, up_scale, down_scale, base, log_mass,
        )  # fmt: skip
        tops[thread] = graded_pairs.largest(first_query, last_query, levels, log_mass)
        if not meet(n_threads, places):
            return t, size
        top = largest_of(tops)
        masses[thread] = graded_pairs.total(
            first_query, last_query, levels, log_mass, top, mass_unit
        )
        if not meet(n_threads, places):
            return t, size
        log_total = graded_pairs.log_of_total(top, sum_of(masses), mass_unit)
        moves[thread] = graded_pairs.spread(
            first_query, last_query, levels, level_starts, level_rows, up, down,
            up_scale, down_scale, base, log_total, unit, True, potentials,
        )  # fmt: skip
        if not meet(n_threads, places):
            return t, size
        if thread == 0:
            record[t, LOG_TOTAL] = log_total
            travelled[0] = further(travelled[0], sum_of(moves), n_rows)
            size = candidates.enter(
                feature, cut, q, alpha, size, rate, smoothing, unit,
                heads, cuts, defaults, following, sums, floors, ratios,
            )  # fmt: skip
            # From now on it may count with r < 0, too.
            ceilings[feature] = inf
    return n_rounds, size
