"""Losses of pairs one by one: the logistic loss, and weights that follow NDCG.

The slope of a row is by how much the loss falls when its score rises, the curvature the
second derivative by its score alone. Pairs of a query are visited in one order, and
queries are shared among threads whole, so that sums have the same bits on any number.
"""

from math import exp, inf, log, log1p, log2
from typing import NamedTuple

from peckorder._core.compiled.jit import compiled, inlined
from peckorder._core.typing import Floats, Ints
from peckorder.boosting.compiled.pairs import GradedPairs, ListedPairs

# Sums over the pairs of a query: of weights, of weighted losses, and of the weights that
# pairs have in this round.
WEIGHT, LOSS, ROUND_WEIGHT = range(3)
SUMS = 3
# What is kept of rows by position while their query is visited.
SCORE, ROW_WEIGHT, SLOPE, CURVATURE = range(4)
WORK = 4
# Scores this close have exponentials that can be divided, and a quotient times _LARGE is
# no infinity. Of smaller numbers than _SMALL the cube does not count beside them.
_NARROW, _LARGE, _SMALL = 300.0, 1e150, 1e-8


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


@compiled
def largest_gap(pairs: GradedPairs, scores: Floats) -> float:
    """Return the most by which the worse row of a pair is above the better one."""
    levels, starts, rows = pairs.levels, pairs.starts, pairs.rows
    largest = -inf
    for q in range(levels.shape[0] - 1):
        below = -inf
        for level in range(levels[q], levels[q + 1]):
            low, high = inf, -inf
            for i in range(starts[level], starts[level + 1]):
                score = scores[rows[i] if rows.shape[0] > 0 else i]
                low, high = min(low, score), max(high, score)
            largest = max(largest, below - low)
            below = max(below, high)
    return largest


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


@inlined
def heaviest_pair(first_level: int, last_level: int, starts: Ints, log_weight: Floats) -> float:
    """Return the largest logarithm of the weight of a pair of rows of different levels."""
    below, heaviest = -inf, -inf
    for level in range(first_level, last_level):
        high = -inf
        for i in range(starts[level], starts[level + 1]):
            high = max(high, log_weight[i])
        heaviest = max(heaviest, below + high)
        below = max(below, high)
    return heaviest


@inlined
def copy_rows(
    first: int,
    last: int,
    rows: Ints,
    log_weight: Floats,
    log_unit: float,
    scores: Floats,
    work: Floats,
) -> float:
    """Write scores, weights and zeros to work (4, n); return the range of the scores.

    Weights are over exp(log_unit). If the range is narrow, scores become exponentials,
    which can be divided by each other.
    """
    low, high = inf, -inf
    for i in range(first, last):
        score = scores[rows[i] if rows.shape[0] > 0 else i]
        low, high = min(low, score), max(high, score)
        work[SCORE, i] = score
        work[ROW_WEIGHT, i] = exp(log_weight[i] - log_unit) if log_weight.shape[0] > 0 else 1.0
        work[SLOPE, i] = 0.0
        work[CURVATURE, i] = 0.0
    if high - low < _NARROW:
        middle = 0.5 * low + 0.5 * high
        for i in range(first, last):
            work[SCORE, i] = exp(work[SCORE, i] - middle)
    return high - low


@inlined
def log_of_product(first: int, last: int, up: float, work: Floats) -> float:
    """Return the sum of log(1 + down / up) over positions: few logarithms of products."""
    total, product = 0.0, 1.0
    for i in range(first, last):
        share = work[SCORE, i] / up
        if share < _SMALL:
            # One more would lose its digits.
            total += share - 0.5 * share * share
            continue
        product *= 1.0 + share
        if product > _LARGE:
            total += log(product)
            product = 1.0
    return total + log(product)


@inlined
def loss_of_level(
    first: int, last: int, better: int, is_narrow: bool, is_weighted: bool, work: Floats
) -> float:
    """Return the weighted logistic losses of a row's pairs with worse rows first..last."""
    score = work[SCORE, better]
    if is_narrow and not is_weighted:
        return log_of_product(first, last, score, work)
    total = 0.0
    for i in range(first, last):
        if is_narrow:
            total += work[ROW_WEIGHT, i] * log1p(work[SCORE, i] / score)
        else:
            total += work[ROW_WEIGHT, i] * logistic(work[SCORE, i] - score)[0]
    return total


@inlined
def add_level(
    first: int,
    last: int,
    better: int,
    step: float,
    top: float,
    is_narrow: bool,
    discount: Floats,
    work: Floats,
) -> float:
    """Add the derivatives of a row's pairs with worse rows first..last, weighted by step.

    Returns the sum of their weights.
    """
    has_swaps, is_logistic = discount.shape[0] > 0, top == inf
    score, of_better = work[SCORE, better], discount[better] if has_swaps else 0.0
    scale = 1.0 if is_logistic else exp(-top)
    weights, slope, curvature = 0.0, 0.0, 0.0
    for i in range(first, last):
        weight = step * work[ROW_WEIGHT, i]
        if has_swaps:
            weight *= abs(of_better - discount[i])
        other = work[SCORE, i]
        if not is_narrow:
            if is_logistic:
                _, once, twice = logistic(other - score)
            else:
                once = twice = exp(other - score - top)
        elif is_logistic:
            once = other / (other + score)
            twice = once * (1.0 - once)
        else:
            once = twice = scale * other / score
        weights += weight
        slope += weight * once
        curvature += weight * twice
        work[SLOPE, i] -= weight * once
        work[CURVATURE, i] += weight * twice
    work[SLOPE, better] += slope
    work[CURVATURE, better] += curvature
    return weights


@compiled
def graded_derivatives(
    first_query: int,
    last_query: int,
    pairs: GradedPairs,
    swaps: Swaps,
    scores: Floats,
    log_total: float,
    top: float,
    work: Floats,
    slopes: Floats,
    curvatures: Floats,
    sums: Floats,
) -> None:
    """Add to slopes and curvatures (m,) those of rows; write to sums (queries, 3).

    Weights are those of pairs over exp(log_total). The loss of a pair x0 below x1 is a
    function of H(x0) - H(x1): logistic if top is infinite, else exponential, over
    exp(top), whose losses are not summed. work (4, n) is workspace. O(pairs) time.
    """
    levels, starts, rows = pairs.levels, pairs.starts, pairs.rows
    utility, is_weighted = pairs.utility, pairs.log_weight.shape[0] > 0
    has_swaps = swaps.gain.shape[0] > 0
    for q in range(first_query, last_query):
        first, last = starts[levels[q]], starts[levels[q + 1]]
        # The weights of a query may all be tiny, or one of them huge: pairs are numbers.
        log_pair = 0.0
        if is_weighted:
            log_pair = heaviest_pair(levels[q], levels[q + 1], starts, pairs.log_weight)
        width = copy_rows(first, last, rows, pairs.log_weight, 0.5 * log_pair, scores, work)
        is_narrow = width < _NARROW
        weights, losses, round_weights = 0.0, 0.0, 0.0
        of_query = exp(pairs.log_query[q] + log_pair - log_total)
        for level in range(levels[q] + 1, levels[q + 1]):
            for lower in range(levels[q], level):
                a, b = starts[lower], starts[lower + 1]
                step = of_query
                if utility.shape[0] > 0:
                    step *= utility[level] - utility[lower]
                gain = swaps.gain[level] - swaps.gain[lower] if has_swaps else 1.0
                lower_weight = 0.0
                for i in range(a, b):
                    lower_weight += work[ROW_WEIGHT, i]
                for better in range(starts[level], starts[level + 1]):
                    own = step * work[ROW_WEIGHT, better]
                    weights += own * lower_weight
                    if top == inf:
                        losses += own * loss_of_level(a, b, better, is_narrow, is_weighted, work)
                    round_weights += add_level(
                        a, b, better, own * gain, top, is_narrow, swaps.discount, work
                    )
        for i in range(first, last):
            row = rows[i] if rows.shape[0] > 0 else i
            slopes[row] += work[SLOPE, i]
            curvatures[row] += work[CURVATURE, i]
        sums[q, WEIGHT], sums[q, LOSS], sums[q, ROUND_WEIGHT] = weights, losses, round_weights


@compiled
def listed_derivatives(
    pairs: ListedPairs,
    scores: Floats,
    log_total: float,
    slopes: Floats,
    curvatures: Floats,
    sums: Floats,
) -> None:
    """Add to slopes and curvatures (m,) those of rows by the logistic loss; write sums (1, 3)."""
    weights, losses = 0.0, 0.0
    for p in range(pairs.better.shape[0]):
        better, worse = pairs.better[p], pairs.worse[p]
        weight = exp(pairs.log_weight[p] - log_total)
        value, first, second = logistic(scores[worse] - scores[better])
        weights += weight
        losses += weight * value
        slopes[better] += weight * first
        slopes[worse] -= weight * first
        curvatures[better] += weight * second
        curvatures[worse] += weight * second
    sums[0, WEIGHT] = sums[0, ROUND_WEIGHT] = weights
    sums[0, LOSS] = losses
