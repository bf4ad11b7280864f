"""Losses of pairs one by one: the logistic loss, and weights that follow NDCG.

The slope of a row is by how much the loss falls when its score rises, the curvature the
second derivative by its score alone. Pairs of a query are visited in one order, and
queries are shared among threads whole, so that sums have the same bits on any number.
"""

from math import exp, inf, log1p, log2
from typing import NamedTuple

from peckorder._core.compiled.jit import compiled, inlined
from peckorder._core.typing import Floats, Ints
from peckorder.boosting.compiled.pairs import GradedPairs, ListedPairs

# Sums over the pairs of a query: of weights, of weighted losses, and the same with the
# weights that pairs have in this round.
WEIGHT, LOSS, ROUND_WEIGHT, ROUND_LOSS = range(4)
SUMS = 4


class Swaps(NamedTuple):
    """What exchanging two rows of a query would change in its NDCG.

    gain (levels,) are those of grades over the discounted gain of the best order of the
    query, discount (n,) those of the rows at the scores of the round, by position;
    order (n,) is workspace. All are empty if pairs keep their weights.
    """

    gain: Floats
    discount: Floats
    order: Ints


@inlined
def is_behind(i: int, j: int, first: int, rows: Ints, scores: Floats) -> bool:
    """Return whether position i is behind position j: by score, worse grades first."""
    a, b = first + i, first + j
    score_a = scores[rows[a] if rows.shape[0] > 0 else a]
    score_b = scores[rows[b] if rows.shape[0] > 0 else b]
    return bool(score_a < score_b or (score_a == score_b and i > j))


@inlined
def sift(start: int, n: int, first: int, rows: Ints, scores: Floats, order: Ints) -> None:
    """Let an element of a heap sink; the one behind all others is at the top."""
    parent = start
    while True:
        child = 2 * parent + 1
        if child >= n:
            break
        if child + 1 < n and is_behind(order[child + 1], order[child], first, rows, scores):
            child += 1
        if not is_behind(order[child], order[parent], first, rows, scores):
            break
        order[child], order[parent] = order[parent], order[child]
        parent = child


@compiled
def write_discounts(
    first_query: int, last_query: int, pairs: GradedPairs, scores: Floats, swaps: Swaps
) -> None:
    """Write the discounts of the rows of some queries, ``1 / log2(1 + rank)``.

    Of rows with equal scores those of lower grades come first. O(n log n) time.
    """
    levels, starts, rows = pairs.levels, pairs.starts, pairs.rows
    for q in range(first_query, last_query):
        first, last = starts[levels[q]], starts[levels[q + 1]]
        n, order = last - first, swaps.order[first:last]
        for i in range(n):
            order[i] = i
        for start in range(n // 2 - 1, -1, -1):
            sift(start, n, first, rows, scores, order)
        for end in range(n - 1, -1, -1):
            # Ranks are given from the last.
            order[0], order[end] = order[end], order[0]
            swaps.discount[first + order[end]] = 1.0 / log2(2.0 + end)
            sift(0, end, first, rows, scores, order)


@inlined
def logistic(gap: float) -> tuple[float, float, float]:
    """Return log(1 + exp(gap)), its derivative and the second one."""
    small = exp(-abs(gap))
    share = small / (1.0 + small)
    return (
        max(gap, 0.0) + log1p(small),
        (share if gap < 0.0 else 1.0 - share),
        share * (1.0 - share),
    )


@compiled
def graded_derivatives(
    first_query: int,
    last_query: int,
    pairs: GradedPairs,
    swaps: Swaps,
    scores: Floats,
    top: float,
    slopes: Floats,
    curvatures: Floats,
    sums: Floats,
) -> None:
    """Add to slopes and curvatures (m,) those of rows; write to sums (queries, 4).

    The loss of a pair x0 below x1 is a function of H(x0) - H(x1): logistic if top is
    infinite, else exponential, over exp(top). O(pairs) time.
    """
    levels, starts, rows = pairs.levels, pairs.starts, pairs.rows
    utility, log_weight = pairs.utility, pairs.log_weight
    is_unit, is_weighted = utility.shape[0] == 0, log_weight.shape[0] > 0
    has_swaps = swaps.gain.shape[0] > 0
    for q in range(first_query, last_query):
        weights, losses, round_weights, round_losses = 0.0, 0.0, 0.0, 0.0
        of_query = exp(pairs.log_query[q])
        for level in range(levels[q] + 1, levels[q + 1]):
            for j in range(starts[level], starts[level + 1]):
                better = rows[j] if rows.shape[0] > 0 else j
                of_better = of_query * (exp(log_weight[j]) if is_weighted else 1.0)
                slope, curvature = 0.0, 0.0
                for lower in range(levels[q], level):
                    step = of_better * (1.0 if is_unit else utility[level] - utility[lower])
                    for i in range(starts[lower], starts[lower + 1]):
                        worse = rows[i] if rows.shape[0] > 0 else i
                        weight = step * (exp(log_weight[i]) if is_weighted else 1.0)
                        gap = scores[worse] - scores[better]
                        if top == inf:
                            value, first, second = logistic(gap)
                        else:
                            value = exp(gap - top)
                            first, second = value, value
                        weights += weight
                        losses += weight * value
                        if has_swaps:
                            gain = swaps.gain[level] - swaps.gain[lower]
                            weight *= gain * abs(swaps.discount[j] - swaps.discount[i])
                            round_weights += weight
                            round_losses += weight * value
                        slope += weight * first
                        curvature += weight * second
                        slopes[worse] -= weight * first
                        curvatures[worse] += weight * second
                slopes[better] += slope
                curvatures[better] += curvature
        sums[q, WEIGHT], sums[q, LOSS] = weights, losses
        sums[q, ROUND_WEIGHT] = round_weights if has_swaps else weights
        sums[q, ROUND_LOSS] = round_losses if has_swaps else losses


@compiled
def listed_derivatives(
    pairs: ListedPairs, scores: Floats, slopes: Floats, curvatures: Floats, sums: Floats
) -> None:
    """Add to slopes and curvatures (m,) those of rows by the logistic loss; write sums (1, 4)."""
    weights, losses = 0.0, 0.0
    for p in range(pairs.better.shape[0]):
        better, worse = pairs.better[p], pairs.worse[p]
        weight = exp(pairs.log_weight[p])
        value, first, second = logistic(scores[worse] - scores[better])
        weights += weight
        losses += weight * value
        slopes[better] += weight * first
        slopes[worse] -= weight * first
        curvatures[better] += weight * second
        curvatures[worse] += weight * second
    sums[0, WEIGHT] = sums[0, ROUND_WEIGHT] = weights
    sums[0, LOSS] = sums[0, ROUND_LOSS] = losses
