"""How a real-valued ranking errs on pairs of rows with different grades.

Rows stand as in `graded`. The sums over levels have three moments and a common scale,
so that scores may be in the thousands.
"""

from math import exp, inf

from peckorder._core.compiled.jit import compiled, inlined
from peckorder._core.typing import Floats, Ints

Moments = tuple[float, float, float, float]


@inlined
def add(a: Moments, b: Moments) -> Moments:
    """Add sums (scale, m0, m1, m2), each of which stands for exp(scale) m."""
    scale = max(a[0], b[0])
    if scale == -inf:
        return a
    of_a, of_b = exp(a[0] - scale), exp(b[0] - scale)
    return (
        scale,
        of_a * a[1] + of_b * b[1],
        of_a * a[2] + of_b * b[2],
        of_a * a[3] + of_b * b[3],
    )


@inlined
def level_moments(
    first: int,
    last: int,
    rows: Ints,
    log_weight: Floats,
    scores: Floats,
    ranking: Floats,
    sign: float,
) -> Moments:
    """Return the moments of a ranking in a level, row x weighing w exp(sign H)."""
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
def moments(
    levels: Ints,
    starts: Ints,
    rows: Ints,
    log_weight: Floats,
    log_step: Floats,
    log_query: Floats,
    scores: Floats,
    log_total: float,
    ranking: Floats,
) -> tuple[float, float, float]:
    """Return the sums of D, D s and D s**2, s being how much a ranking errs on a pair.

    D is the weight over exp(log_total), s = h(x0) - h(x1). O(n) time.
    """
    is_unit = log_step.shape[0] == 0
    mass, first, second = 0.0, 0.0, 0.0
    for q in range(levels.shape[0] - 1):
        below = (-inf, 0.0, 0.0, 0.0)
        weighted = (-inf, 0.0, 0.0, 0.0)
        for level in range(levels[q], levels[q + 1]):
            a, b = starts[level], starts[level + 1]
            better = level_moments(a, b, rows, log_weight, scores, ranking, -1.0)
            if is_unit:
                weighted = below
            elif level > levels[q]:
                step = (below[0] + log_step[level], below[1], below[2], below[3])
                weighted = add(weighted, step)
            factor = exp(weighted[0] + better[0] + log_query[q] - log_total)
            mass += factor * weighted[1] * better[1]
            first += factor * (weighted[2] * better[1] - weighted[1] * better[2])
            second += factor * (
                weighted[3] * better[1]
                - 2.0 * weighted[2] * better[2]
                + weighted[1] * better[3]
            )
            worse = level_moments(a, b, rows, log_weight, scores, ranking, 1.0)
            below = add(below, worse)
    return mass, first, second


@compiled
def span(levels: Ints, starts: Ints, rows: Ints, ranking: Floats) -> float:
    """Return the largest difference of a ranking on a pair."""
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
