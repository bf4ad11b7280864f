"""What rows weigh in the pairs of a distribution.

The weight of a pair of graded rows, x0 below x1, is a product ``down(x0) up(x1)``, but
for the step between the grades; that of a listed pair is a number of its own.
"""

from math import exp, inf

from peckorder._core.compiled.jit import compiled
from peckorder._core.typing import Floats, Ints

# The factors of a row, in pairs of which it is the worse one and the better one.
DOWN, UP = range(2)
# Up to this exponentials can be divided by each other.
_NARROW = 300.0


@compiled
def graded_masses(
    first: int,
    last: int,
    levels: Ints,
    starts: Ints,
    rows: Ints,
    log_weight: Floats,
    utility: Floats,
    log_query: Floats,
    log_total: float,
    scores: Floats,
    masses: Floats,
    others: Floats,
) -> float:
    """Write to masses (n, 2) the factors of the rows of queries first..last.

    others (levels, 2) has for each level the sum of `down` of the lower levels of its
    query, and that of `up` of the higher ones, times the steps. Rows and levels stand
    as in `graded`. Half of the query's and of the total's logarithm goes into either
    factor, and scores are taken from the middle of their query. Returns the largest
    difference of scores in a query; up to 1300 no product is lost. O(n) time.
    """
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
        # What is below, and the same with the steps to where we are.
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
def listed_masses(
    better: Ints,
    worse: Ints,
    log_weight: Floats,
    scores: Floats,
    log_total: float,
    weight: Floats,
) -> None:
    """Write to weight (p,) the share of each listed pair in the total."""
    for p in range(better.shape[0]):
        gap = scores[worse[p]] - scores[better[p]]
        weight[p] = exp(log_weight[p] + gap - log_total)


@compiled
def change(scores: Floats, before: Floats) -> float:
    """Return by how much the differences of scores have changed at most; note them."""
    low, high = inf, -inf
    for i in range(scores.shape[0]):
        rise = scores[i] - before[i]
        low, high = min(low, rise), max(high, rise)
        before[i] = scores[i]
    return high - low
