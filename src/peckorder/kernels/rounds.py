"""Rounds of RankBoost in one piece: graded rows, thresholds by |r|, one thread.

What Python does between kernels would otherwise cost more than a round on few rows.
"""

from math import inf, log

from peckorder._typing import Floats, Ints
from peckorder.kernels import account, graded, weak_rankings
from peckorder.kernels import thresholds as search
from peckorder.kernels._jit import kernel

# What rounding leaves of a weight of zero, which a logarithm would magnify.
NOTHING = 1e-14
# What is written of a round.
FEATURE, CUT, DEFAULT, ALPHA, LOG_TOTAL = range(5)
RECORD = 5


@kernel
def approximate(r: float, smoothing: float) -> float:
    """Return ``log((1 + r + e) / (1 - r + e)) / 2``, the weight of a ranking."""
    up = 1.0 + r if 1.0 + r > NOTHING else 0.0
    down = 1.0 - r if 1.0 - r > NOTHING else 0.0
    if up + smoothing == 0.0:
        return -inf
    if down + smoothing == 0.0:
        return inf
    return 0.5 * log((up + smoothing) / (down + smoothing))


@kernel
def noise(scores: Floats) -> float:
    """Return what rounding may leave of an r of zero: it grows with the scores."""
    largest = 0.0
    for i in range(scores.shape[0]):
        largest = max(largest, abs(scores[i]))
    return NOTHING * (1.0 + largest)


@kernel
def rank_feature(
    feature: int,
    cut: int,
    default: float,
    column_of: Ints,
    bins: Ints,
    starts: Ints,
    rows: Ints,
    groups: Ints,
    group_ends: Ints,
    zero: Ints,
    ranking: Floats,
) -> None:
    """Write to ranking (n,) a feature, cut; column_of is its sorted column, or -1."""
    c = column_of[feature]
    if c < 0:
        weak_rankings.rank_binned(bins[feature], cut, default, ranking)
        return
    unstored = default
    if zero[c] >= 0:
        unstored = 1.0 if zero[c] < cut else 0.0
    ends = group_ends[groups[c] : groups[c + 1]]
    weak_rankings.rank_sorted(
        starts[c], starts[c + 1], rows, ends, cut, unstored, default, ranking
    )


@kernel
def run(
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
    last: Ints,
    columns: Ints,
    histograms: Ints,
    group_sums: Ints,
    found: Ints,
    ranking: Floats,
    record: Floats,
) -> tuple[int, int]:
    """Do rounds; write them to record (n_rounds, 5).

    Returns how many were done, fewer if no threshold is of any use, and the number of
    candidates there are now. An infinite alpha ends the rounds, written but not added.
    """
    n_rows, n_queries = potentials.shape[0], levels.shape[0] - 1
    for t in range(n_rounds):
        drift = search.drift(potentials, last)
        total = 0
        for i in range(n_rows):
            total += potentials[i]
        for feature in range(ceilings.shape[0]):
            ceilings[feature] += drift
        for k in range(found.shape[0]):
            found[k] = 0
        found[search.FEATURE] = -1
        if binned_features.shape[0] > 0:
            search.search_binned(
                0, binned_features.shape[0], binned_features, bins, n_bins,
                binned_abstain, potentials, default, cumulative,
                heads, cuts, defaults, following, floors, ceilings,
                columns, histograms, found,
            )  # fmt: skip
        if sorted_features.shape[0] > 0:
            search.search_sorted(
                0, sorted_features.shape[0], sorted_features, starts, rows, is_last,
                groups, group_ends, zero, abstain, potentials, total, default,
                cumulative, heads, cuts, defaults, following, floors, ceilings,
                group_sums, found,
            )  # fmt: skip
        if found[search.SIZE] <= noise(scores) * unit:
            return t, size
        feature, cut = found[search.FEATURE], found[search.CUT]
        q = found[search.DEFAULT]
        alpha = rate * approximate(found[search.R] / unit, smoothing)
        if alpha == 0.0:
            return t, size
        record[t, FEATURE] = feature
        record[t, CUT] = cut
        record[t, DEFAULT] = q
        record[t, ALPHA] = alpha
        if abs(alpha) == inf:
            return t + 1, size
        rank_feature(
            feature, cut, float(q), column_of, bins, starts, rows, groups, group_ends,
            zero, ranking,
        )  # fmt: skip
        for i in range(n_rows):
            scores[i] += alpha * ranking[i]
            potentials[i] = 0
        size = account.enter(
            feature, cut, q, alpha, size, rate, smoothing, unit,
            heads, cuts, defaults, following, sums, floors, ratios,
        )  # fmt: skip
        # From now on it may count with r < 0, too.
        ceilings[feature] = inf
        graded.weigh(
            0, n_queries, levels, level_starts, level_rows, log_weight, log_step,
            log_query, scores, up, down, up_scale, down_scale, base, log_mass,
        )  # fmt: skip
        top = graded.largest(0, n_queries, levels, log_mass)
        mass = graded.total(0, n_queries, levels, log_mass, top, mass_unit)
        log_total = graded.log_of_total(top, mass, mass_unit)
        graded.spread(
            0, n_queries, levels, level_starts, level_rows, up, down, up_scale,
            down_scale, base, log_total, unit, potentials,
        )  # fmt: skip
        record[t, LOG_TOTAL] = log_total
    return n_rounds, size
