"""Rounds of RankBoost in one compiled loop, and the scores that they give to rows.

The loop is for graded rows and thresholds by |r|. The Python between compiled functions
would otherwise cost more than a round on few rows. Its threads meet at barriers.

Scores go by a table per feature. Feature u of those used is column features[u]; its
thresholds ``starts[u] : starts[u + 1]`` ascend. A value above k of them has the score
``steps[starts[u] + u + k]``, plus `slopes[u]` times itself; if it is missing,
missing[u].
"""

from math import inf, log
from typing import Any, NamedTuple

import numpy as np

from peckorder._core.compiled.barrier import barrier_wait, largest_of, share_of, sum_of
from peckorder._core.compiled.jit import compiled, inlined
from peckorder._core.typing import Floats, Ints, Rows
from peckorder.boosting.compiled import graded_pairs
from peckorder.boosting.compiled import search_by_r as search
from peckorder.boosting.compiled.binned_columns import BinnedColumns, add_binned
from peckorder.boosting.compiled.pairs import UNIT, GradedPairs
from peckorder.boosting.compiled.search_by_r import Candidates, Settings, add_to_candidate
from peckorder.boosting.compiled.sorted_columns import SortedColumns, rank_by_cut

# What rounding leaves of a weight of zero, which a logarithm would magnify.
NOTHING = 1e-14
# Makes up for rounding down.
_UP = 1.0 + 1e-15
# What is recorded of a round.
FEATURE, CUT, DEFAULT, ALPHA, LOG_TOTAL = range(5)
RECORD = 5


class GradedDistribution(NamedTuple):
    """The distribution over graded pairs, at the scores of the rounds so far.

    total_drift (1,) is the sum of the drifts of the potentials; mass_unit is how many
    units a mass of 1 has.
    """

    pairs: GradedPairs
    sums: graded_pairs.PairSums
    scores: Floats
    potentials: Ints
    total_drift: Floats
    mass_unit: float


class Workspace(NamedTuple):
    """What a round needs, and nobody reads afterwards, but for the ceilings.

    column_of (features,) is the number of a sorted column, -1 for a binned one.
    """

    column_of: Ints
    ceilings: Floats
    binned_order: Ints
    sorted_order: Ints
    histograms: Ints
    group_sums: Ints
    ranking: Floats


class Shared(NamedTuple):
    """What threads share: an element of each array per thread, but for the first three.

    best (threads, at least 5) has the best threshold of each.
    """

    barrier: Ints
    turns: Ints
    best_size: Ints
    best: Ints
    noises: Floats
    tops: Floats
    masses: Ints
    moves: Ints


@compiled
def approximate_alpha(r: float, smoothing: float) -> float:
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
    largest: Any = 0
    for i in range(np.uintp(scores.shape[0])):
        # By bits, of which processors compare several at a time.
        largest = max(largest, np.float64(abs(scores[i])).view(np.int64))
    return noise_of(np.int64(largest).view(np.float64))


@inlined
def noise_of(largest: float) -> float:
    """Return the `noise` of scores whose largest absolute value is known."""
    return NOTHING * (1.0 + largest)


@compiled
def add_ranking(alpha: float, ranking: Floats, scores: Floats) -> float:
    """Add alpha times a ranking to the scores; return the largest absolute score."""
    largest: Any = 0
    for i in range(np.uintp(scores.shape[0])):
        score = scores[i] + alpha * ranking[i]
        scores[i] = score
        # By bits, of which processors compare several at a time.
        largest = max(largest, np.float64(abs(score)).view(np.int64))
    return np.int64(largest).view(np.float64)


@compiled
def add_drift(total_drift: float, moved: int, n_rows: int) -> float:
    """Return the total drift of potentials after a move, rounded up generously."""
    return (total_drift + 1.000001 * float(moved) + 4.0 * n_rows + 1024.0) * _UP


@inlined
def best_of(best: Ints) -> int:
    """Return the thread that has the first feature of those with the largest |r|."""
    result = 0
    for k in range(1, best.shape[0]):
        more = best[k, search.SIZE] - best[result, search.SIZE]
        is_earlier = best[k, search.FEATURE] < best[result, search.FEATURE]
        if more > 0 or (more == 0 and is_earlier):
            result = k
    return result


@compiled
def boost(  # noqa: PLR0911, PLR0915
    thread: int,
    n_rounds: int,
    distribution: GradedDistribution,
    binned: BinnedColumns | None,
    sorted_: SortedColumns | None,
    settings: Settings,
    candidates: Candidates,
    size: int,
    workspace: Workspace,
    shared: Shared,
    record: Floats,
) -> tuple[int, int]:
    """Do rounds; write them to record (n_rounds, 5).

    Returns how many were done, fewer if no threshold is of any use, and the number of
    candidates there are now, `size` before. An infinite alpha ends the rounds, written
    but not added. All threads do this at the same time; each has its own share of
    columns, of queries and of rows, and computes what depends on all of them by itself.
    What only binned or only sorted columns need is not compiled if there are none.
    """
    pairs, sums = distribution.pairs, distribution.sums
    scores, potentials = distribution.scores, distribution.potentials
    total_drift, mass_unit = distribution.total_drift, distribution.mass_unit
    levels, log_mass = pairs.levels, sums.log_mass
    column_of, ceilings, ranking = workspace.column_of, workspace.ceilings, workspace.ranking
    binned_order, sorted_order = workspace.binned_order, workspace.sorted_order
    histograms, group_sums = workspace.histograms[thread], workspace.group_sums[thread]
    barrier, turns, best_size = shared.barrier, shared.turns, shared.best_size
    noises, tops, masses, moves = shared.noises, shared.tops, shared.masses, shared.moves
    thread_best = shared.best
    n_threads, best = thread_best.shape[0], thread_best[thread]
    rate, smoothing = settings.rate, settings.smoothing
    binned_queue = search.ColumnQueue(n_threads, turns, binned_order)
    sorted_queue = search.ColumnQueue(n_threads, turns[1:], sorted_order)
    n_rows, n_queries = potentials.shape[0], levels.shape[0] - 1
    first_row, last_row = share_of(thread, n_threads, n_rows)
    first_query, last_query = share_of(thread, n_threads, n_queries)
    my_scores = scores[first_row:last_row]
    my_noise = noise(my_scores)
    # True, but no literal, for which Numba would compile `spread` once more.
    overwrite = n_threads > 0
    for t in range(n_rounds):
        if thread == 0:
            best_size[0], turns[0], turns[1] = 0, 0, 0
            n_ahead = search.AHEAD * n_threads
            if binned is not None:
                search.order_by_ceilings(n_ahead, binned.features, ceilings, binned_order)
            if sorted_ is not None:
                search.order_by_ceilings(n_ahead, sorted_.features, ceilings, sorted_order)
        for k in range(best.shape[0]):
            best[k] = 0
        best[search.FEATURE] = -1
        noises[thread] = my_noise
        if not barrier_wait(n_threads, barrier):
            return t, size
        limits = search.Limits(ceilings, total_drift[0], best_size)
        if binned is not None:
            search.search_binned(
                binned_queue, binned, potentials, settings, candidates, limits,
                histograms, best,
            )  # fmt: skip
        if sorted_ is not None:
            search.search_sorted(
                sorted_queue, sorted_, potentials, settings, candidates, limits,
                group_sums, best,
            )  # fmt: skip
        if not barrier_wait(n_threads, barrier):
            return t, size
        chosen = thread_best[best_of(thread_best)]
        feature, cut = chosen[search.FEATURE], chosen[search.CUT]
        q, r = chosen[search.DEFAULT], chosen[search.R] / UNIT
        alpha = rate * approximate_alpha(r, smoothing)
        is_noise = chosen[search.SIZE] <= largest_of(noises) * UNIT
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
        if binned is not None and column < 0:
            my_bins = binned.bins[feature, first_row:last_row]
            my_noise = noise_of(add_binned(alpha, my_bins, cut, float(q), my_scores))
        if sorted_ is not None and column >= 0:
            # Of a sorted column it takes all rows to rank any.
            if thread == 0:
                rank_by_cut(sorted_, column, cut, float(q), ranking)
            if not barrier_wait(n_threads, barrier):
                return t, size
            my_ranking = ranking[first_row:last_row]
            my_noise = noise_of(add_ranking(alpha, my_ranking, my_scores))
        if not barrier_wait(n_threads, barrier):
            return t, size
        graded_pairs.weigh(first_query, last_query, pairs, scores, sums)
        tops[thread] = graded_pairs.largest(first_query, last_query, levels, log_mass)
        if not barrier_wait(n_threads, barrier):
            return t, size
        top = largest_of(tops)
        masses[thread] = graded_pairs.total(
            first_query, last_query, levels, log_mass, top, mass_unit
        )
        if not barrier_wait(n_threads, barrier):
            return t, size
        log_total = graded_pairs.log_of_total(top, sum_of(masses), mass_unit)
        moves[thread] = graded_pairs.spread(
            first_query, last_query, pairs, sums, log_total, overwrite, potentials
        )
        if not barrier_wait(n_threads, barrier):
            return t, size
        if thread == 0:
            record[t, LOG_TOTAL] = log_total
            total_drift[0] = add_drift(total_drift[0], sum_of(moves), n_rows)
            size = add_to_candidate(feature, cut, q, alpha, size, settings, candidates)
            # From now on it may count with r < 0, too.
            ceilings[feature] = inf
    return n_rounds, size


class FeatureTables(NamedTuple):
    """The scores of values, feature by feature."""

    features: Ints
    starts: Ints
    thresholds: Floats
    steps: Floats
    slopes: Floats
    missing: Floats


@inlined
def look_up(value: float, u: int, tables: FeatureTables) -> Any:
    """Return the score of a value of a feature."""
    if np.isnan(value):
        return tables.missing[u]
    first = tables.starts[u]
    low, size = 0, tables.starts[u + 1] - first
    while size > 0:
        half = size >> 1
        is_above = value > tables.thresholds[first + low + half]
        low += half + 1 if is_above else 0
        size = size - half - 1 if is_above else half
    score = tables.steps[first + u + low]
    slope = tables.slopes[u]
    return score + slope * value if slope != 0.0 else score


@compiled
def add_scores(
    first: int,
    last: int,
    rows: Rows,
    tables: FeatureTables,
    position_of: Ints,
    unstored: Floats,
    base: float,
    scores: Floats,
) -> None:
    """Add to scores (n,) those of the rows first..last.

    For CSR position_of (columns,) is the position of a column among the features used,
    or -1. What is not stored has the score unstored[u]; base is the sum of these.
    """
    features = tables.features
    for i in range(first, last):
        score = base
        if len(rows) == 1:
            for u in range(features.shape[0]):
                score += look_up(rows[0][i, features[u]], u, tables)
        else:
            data, indices, indptr = rows
            for k in range(indptr[i], indptr[i + 1]):
                u = position_of[indices[k]]
                if u >= 0:
                    score += look_up(data[k], u, tables) - unstored[u]
        scores[i] += score
