"""Pairs of rows, graded or listed: their weights, and how a ranking errs on them.

Potentials are the weight of the pairs in which a row is the better one, minus that of
the pairs in which it is the worse one.
"""

from math import exp, inf
from typing import NamedTuple

import numpy as np

from peckorder._core.compiled.jit import compiled, inlined
from peckorder._core.typing import Floats, Ints

# Potentials are counted in these units: their absolute sum is at most 2, so a sum of
# any of them is an exact integer of 64 bits, whatever the order of its terms.
UNIT = 2.0**61
# The factors of a row, in pairs of which it is the worse one and the better one.
DOWN, UP = range(2)
# Up to this exponentials can be divided by each other.
_NARROW = 300.0

Moments = tuple[float, float, float, float]


class GradedPairs(NamedTuple):
    """All pairs of rows of a query whose grades differ, without listing them.

    Rows stand query by query and, within a query, level by level, the worst grade
    first: query q has the levels ``levels[q] : levels[q + 1]``, level l the positions
    ``starts[l] : starts[l + 1]`` of `rows`, which is empty if each row stands at the
    position of its number. A pair x0 below x1 has the weight ``w0 w1 c``; c is the
    difference of `utility` (levels,), and log_step (levels,) is log(phi_l - phi_{l-1});
    both are empty if c is 1. log_weight (n,) has the logarithms of w, and may be empty,
    log_query (queries,) those of a factor per query.
    """

    levels: Ints
    starts: Ints
    rows: Ints
    log_weight: Floats
    utility: Floats
    log_step: Floats
    log_query: Floats


class ListedPairs(NamedTuple):
    """Pairs that prefer row better[p] to row worse[p], with log(weight)."""

    better: Ints
    worse: Ints
    log_weight: Floats


@compiled
def largest_listed(pairs: ListedPairs, scores: Floats) -> float:
    """Return the logarithm of the largest weight, which is ``w exp(H0 - H1)``."""
    better, worse, log_weight = pairs.better, pairs.worse, pairs.log_weight
    top = -inf
    for p in range(better.shape[0]):
        top = max(top, log_weight[p] + scores[worse[p]] - scores[better[p]])
    return top


@compiled
def total_listed(pairs: ListedPairs, scores: Floats, top: float, unit: float) -> int:
    """Return the weights of pairs over exp(top), in units: exact integers."""
    better, worse, log_weight = pairs.better, pairs.worse, pairs.log_weight
    mass = 0
    for p in range(better.shape[0]):
        gap = scores[worse[p]] - scores[better[p]]
        mass += int(np.rint(exp(log_weight[p] + gap - top) * unit))
    return mass


@compiled
def spread_listed(pairs: ListedPairs, scores: Floats, log_total: float, potentials: Ints) -> None:
    """Add to potentials (m,) the weights of pairs over exp(log_total), in units."""
    better, worse, log_weight = pairs.better, pairs.worse, pairs.log_weight
    for p in range(better.shape[0]):
        gap = scores[worse[p]] - scores[better[p]]
        weight = int(np.rint(exp(log_weight[p] + gap - log_total) * UNIT))
        potentials[better[p]] += weight
        potentials[worse[p]] -= weight


@compiled
def add_masses_listed(pairs: ListedPairs, scores: Floats, log_total: float, masses: Floats) -> None:
    """Add to masses (m,) the weight of the pairs of each row, over exp(log_total)."""
    better, worse, log_weight = pairs.better, pairs.worse, pairs.log_weight
    for p in range(better.shape[0]):
        gap = scores[worse[p]] - scores[better[p]]
        weight = exp(log_weight[p] + gap - log_total)
        masses[better[p]] += weight
        masses[worse[p]] += weight


@compiled
def moments_listed(
    pairs: ListedPairs, scores: Floats, log_total: float, ranking: Floats
) -> tuple[float, float, float]:
    """Return the sums of D, D s and D s**2, as `moments_graded` does."""
    better, worse, log_weight = pairs.better, pairs.worse, pairs.log_weight
    mass, first, second = 0.0, 0.0, 0.0
    for p in range(better.shape[0]):
        gap = scores[worse[p]] - scores[better[p]]
        weight = exp(log_weight[p] + gap - log_total)
        wrong = ranking[worse[p]] - ranking[better[p]]
        mass += weight
        first += weight * wrong
        second += weight * wrong * wrong
    return mass, first, second


@compiled
def span_listed(pairs: ListedPairs, ranking: Floats) -> float:
    """Return the largest difference of a ranking on a pair."""
    largest = 0.0
    for p in range(pairs.better.shape[0]):
        largest = max(largest, abs(ranking[pairs.better[p]] - ranking[pairs.worse[p]]))
    return largest


@compiled
def masses_listed(pairs: ListedPairs, scores: Floats, log_total: float, weight: Floats) -> None:
    """Write to weight (p,) the share of each listed pair in the total."""
    better, worse, log_weight = pairs.better, pairs.worse, pairs.log_weight
    for p in range(better.shape[0]):
        gap = scores[worse[p]] - scores[better[p]]
        weight[p] = exp(log_weight[p] + gap - log_total)


@inlined
def add_moments(a: Moments, b: Moments) -> Moments:
    """Add sums (scale, m0, m1, m2), each of which stands for exp(scale) m."""
    scale = max(a[0], b[0])
    if scale == -inf:
        return a
    of_a, of_b = exp(a[0] - scale), exp(b[0] - scale)
    return (scale, of_a * a[1] + of_b * b[1], of_a * a[2] + of_b * b[2], of_a * a[3] + of_b * b[3])


@inlined
def level_moments(
    level: int, pairs: GradedPairs, scores: Floats, ranking: Floats, sign: float
) -> Moments:
    """Return the moments of a ranking in a level; row x has weight w exp(sign H)."""
    first, last = pairs.starts[level], pairs.starts[level + 1]
    rows, log_weight = pairs.rows, pairs.log_weight
    is_weighted = log_weight.shape[0] > 0
    top = -inf
    for i in range(first, last):
        extra = log_weight[i] if is_weighted else 0.0
        top = max(top, extra + sign * scores[rows[i]])
    m0, m1, m2 = 0.0, 0.0, 0.0
    for i in range(first, last):
        extra = log_weight[i] if is_weighted else 0.0
        weight = exp(extra + sign * scores[rows[i]] - top)
        h = ranking[rows[i]]
        m0 += weight
        m1 += weight * h
        m2 += weight * h * h
    return top, m0, m1, m2


@compiled
def moments_graded(
    pairs: GradedPairs, scores: Floats, log_total: float, ranking: Floats
) -> tuple[float, float, float]:
    """Return the sums of D, D s and D s**2, s being how much a ranking errs on a pair.

    D is the weight over exp(log_total), s = h(x0) - h(x1). pairs.rows is not empty.
    The sums over levels have three moments and a common scale, so that scores may be
    in the thousands. O(n) time.
    """
    levels, log_step, log_query = pairs.levels, pairs.log_step, pairs.log_query
    is_unit = log_step.shape[0] == 0
    mass, first, second = 0.0, 0.0, 0.0
    for q in range(levels.shape[0] - 1):
        below = (-inf, 0.0, 0.0, 0.0)
        weighted = (-inf, 0.0, 0.0, 0.0)
        for level in range(levels[q], levels[q + 1]):
            better = level_moments(level, pairs, scores, ranking, -1.0)
            if is_unit:
                weighted = below
            elif level > levels[q]:
                step = (below[0] + log_step[level], below[1], below[2], below[3])
                weighted = add_moments(weighted, step)
            factor = exp(weighted[0] + better[0] + log_query[q] - log_total)
            mass += factor * weighted[1] * better[1]
            first += factor * (weighted[2] * better[1] - weighted[1] * better[2])
            second += factor * (
                weighted[3] * better[1] - 2.0 * weighted[2] * better[2] + weighted[1] * better[3]
            )
            worse = level_moments(level, pairs, scores, ranking, 1.0)
            below = add_moments(below, worse)
    return mass, first, second


@compiled
def span_graded(pairs: GradedPairs, ranking: Floats) -> float:
    """Return the largest difference of a ranking on a pair."""
    levels, starts, rows = pairs.levels, pairs.starts, pairs.rows
    largest = 0.0
    for q in range(levels.shape[0] - 1):
        low, high = inf, -inf
        for level in range(levels[q], levels[q + 1]):
            own_low, own_high = inf, -inf
            for i in range(starts[level], starts[level + 1]):
                own_low = min(own_low, ranking[rows[i]])
                own_high = max(own_high, ranking[rows[i]])
            if low <= high:
                largest = max(largest, own_high - low, high - own_low)
            low, high = min(low, own_low), max(high, own_high)
    return largest


@compiled
def masses_graded(
    first: int,
    last: int,
    pairs: GradedPairs,
    log_total: float,
    scores: Floats,
    masses: Floats,
    others: Floats,
) -> float:
    """Write to masses (n, 2) the factors of the rows of queries first..last.

    The weight of a pair, x0 below x1, is the product ``down(x0) up(x1)``, times the
    step between the grades. others (levels, 2) has for each level the sum of `down` of
    the lower levels of its query, and that of `up` of the higher ones, times the steps.
    Half of the query's and of the total's logarithm goes into either factor, and scores
    are taken from the middle of their query. Returns the largest difference of scores
    in a query; up to 1300 no product is lost. O(n) time.
    """
    levels, starts, rows = pairs.levels, pairs.starts, pairs.rows
    log_weight, utility, log_query = pairs.log_weight, pairs.utility, pairs.log_query
    is_weighted, is_unit = log_weight.shape[0] > 0, utility.shape[0] == 0
    widest = 0.0
    for q in range(first, last):
        begin, end = levels[q], levels[q + 1]
        low, high = scores[rows[starts[begin]]], scores[rows[starts[begin]]]
        for i in range(starts[begin], starts[end]):
            low = min(low, scores[rows[i]])
            high = max(high, scores[rows[i]])
        widest = max(widest, high - low)
        middle, half = (low + high) / 2, (log_query[q] - log_total) / 2
        is_narrow = not is_weighted and abs(half) + (high - low) / 2 < _NARROW
        product = exp(2.0 * half) if is_narrow else 0.0
        # The sum of lower levels, and the same with the steps to this level.
        below, weighted = 0.0, 0.0
        for level in range(begin, end):
            if is_unit:
                weighted = below
            elif level > begin:
                weighted += (utility[level] - utility[level - 1]) * below
            others[level, DOWN] = weighted
            sum_up = 0.0
            for i in range(starts[level], starts[level + 1]):
                x = rows[i]
                extra = half + (log_weight[i] if is_weighted else 0.0)
                up = exp(min(extra + middle - scores[x], 700.0))
                if is_narrow:
                    down = product / up  # costs less than another exponential
                else:
                    down = exp(min(extra + scores[x] - middle, 700.0))
                masses[x, UP] = up
                masses[x, DOWN] = down
                sum_up += up
                below += down
            others[level, UP] = sum_up
        above, weighted = 0.0, 0.0
        for level in range(end - 1, begin - 1, -1):
            if is_unit:
                weighted = above
            elif level < end - 1:
                weighted += (utility[level + 1] - utility[level]) * above
            above += others[level, UP]
            others[level, UP] = weighted
    return widest


@compiled
def update_scores(scores: Floats, before: Floats) -> float:
    """Copy scores to `before`; return the most that a difference of two has changed."""
    low, high = inf, -inf
    for i in range(scores.shape[0]):
        rise = scores[i] - before[i]
        low, high = min(low, rise), max(high, rise)
        before[i] = scores[i]
    return high - low


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
