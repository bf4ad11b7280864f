"""Losses of ordered classes: slopes and curvatures by score, sums by threshold.

Rows have a level, from 0 to the number of thresholds. See `peckorder.boosting.ordinal_rounds`
for what is computed here.
"""

from math import exp

from peckorder._core.compiled.jit import compiled, inlined_exact
from peckorder._core.typing import Floats, Ints


@inlined_exact
def sigmoid(x: float) -> float:
    """Return ``1 / (1 + exp(-x))``, without overflow."""
    e = exp(-abs(x))
    return 1.0 / (1.0 + e) if x >= 0.0 else e / (1.0 + e)


@inlined_exact
def bounded(slope: float, curvature: float, most: float) -> float:
    """Return a curvature by which no step is longer than `most`."""
    return max(curvature, abs(slope) / most)


@compiled
def proportional_terms(
    scores: Floats,
    ends: Floats,
    level: Ints,
    weight: Floats,
    most: float,
    first: int,
    last: int,
    slopes: Floats,
    curvatures: Floats,
) -> None:
    """Write slopes and curvatures (n, 1) of the log-likelihood of rows first to last.

    scores (n, 1); ends are the thresholds between an infinity on either side.
    """
    for i in range(first, last):
        above = sigmoid(ends[level[i] + 1] - scores[i, 0])
        below = sigmoid(ends[level[i]] - scores[i, 0])
        slope = above + below - 1.0
        curvature = above * (1.0 - above) + below * (1.0 - below)
        slopes[i, 0] = weight[i] * slope
        curvatures[i, 0] = weight[i] * bounded(slope, curvature, most)


@compiled
def free_terms(
    scores: Floats,
    thresholds: Floats,
    level: Ints,
    weight: Floats,
    most: float,
    first: int,
    last: int,
    slopes: Floats,
    curvatures: Floats,
) -> None:
    """Write slopes and curvatures (n, m) of the log-likelihoods of all m thresholds.

    scores (n, m).
    """
    for i in range(first, last):
        for k in range(thresholds.shape[0]):
            p = sigmoid(scores[i, k] - thresholds[k])
            slope = (1.0 if level[i] > k else 0.0) - p
            slopes[i, k] = weight[i] * slope
            curvatures[i, k] = weight[i] * bounded(slope, p * (1.0 - p), most)


@compiled
def sum_by_threshold(
    scores: Floats,
    thresholds: Floats,
    level: Ints,
    weight: Floats,
    first: int,
    last: int,
    sums: Floats,
) -> None:
    """Write to sums (m, 2) slopes and curvatures of the loss by each of m thresholds.

    Of rows first to last, without the terms of gaps between thresholds.
    """
    n_thresholds = thresholds.shape[0]
    sums[:, :] = 0.0
    for i in range(first, last):
        above, below = level[i], level[i] - 1
        if above < n_thresholds:
            p = sigmoid(thresholds[above] - scores[i, 0])
            sums[above, 0] -= weight[i] * (1.0 - p)
            sums[above, 1] += weight[i] * p * (1.0 - p)
        if below >= 0:
            p = sigmoid(thresholds[below] - scores[i, 0])
            sums[below, 0] += weight[i] * p
            sums[below, 1] += weight[i] * p * (1.0 - p)


@compiled
def sum_held_out_losses(
    scores: Floats, thresholds: Floats, level: Ints, weight: Floats, rows: Ints
) -> float:
    """Return the weighted sum of the rank losses and ranked probability scores of rows.

    scores (n, 1) or (n, m).
    """
    total, width = 0.0, scores.shape[1]
    for i in range(rows.shape[0]):
        row = rows[i]
        loss, median = 0.0, 0
        for k in range(thresholds.shape[0]):
            log_odds = scores[row, k if width > 1 else 0] - thresholds[k]
            error = sigmoid(log_odds) - (1.0 if level[row] > k else 0.0)
            loss += error * error
            median += 1 if log_odds > 0.0 else 0
        total += weight[row] * (loss + abs(median - level[row]))
    return total
