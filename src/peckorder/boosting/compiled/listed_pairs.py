"""The distribution over pairs that are listed.

Pair p prefers row better[p] to row worse[p]; log_weight (p,) are the logarithms of the
weights. With scores H it weighs ``w exp(H0 - H1)``.
"""

from math import exp, inf

import numpy as np

from peckorder._core.compiled.jit import compiled
from peckorder._core.typing import Floats, Ints


@compiled
def largest(better: Ints, worse: Ints, log_weight: Floats, scores: Floats) -> float:
    """Return the logarithm of the largest weight."""
    top = -inf
    for p in range(better.shape[0]):
        top = max(top, log_weight[p] + scores[worse[p]] - scores[better[p]])
    return top


@compiled
def total(
    better: Ints,
    worse: Ints,
    log_weight: Floats,
    scores: Floats,
    top: float,
    unit: float,
) -> int:
    """Return the weights of pairs over exp(top), in units: exact integers."""
    mass = 0
    for p in range(better.shape[0]):
        gap = scores[worse[p]] - scores[better[p]]
        mass += int(np.rint(exp(log_weight[p] + gap - top) * unit))
    return mass


@compiled
def spread(
    better: Ints,
    worse: Ints,
    log_weight: Floats,
    scores: Floats,
    log_total: float,
    unit: float,
    potentials: Ints,
) -> None:
    """Add to potentials (m,) the weights of pairs over exp(log_total), in units."""
    for p in range(better.shape[0]):
        gap = scores[worse[p]] - scores[better[p]]
        weight = int(np.rint(exp(log_weight[p] + gap - log_total) * unit))
        potentials[better[p]] += weight
        potentials[worse[p]] -= weight


@compiled
def moments(
    better: Ints,
    worse: Ints,
    log_weight: Floats,
    scores: Floats,
    log_total: float,
    ranking: Floats,
) -> tuple[float, float, float]:
    """Return the sums of D, D s and D s**2, s being how much a ranking errs on a pair.

    D is the weight over exp(log_total), s = h(x0) - h(x1).
    """
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
def span(better: Ints, worse: Ints, ranking: Floats) -> float:
    """Return the largest difference of a ranking on a pair."""
    largest = 0.0
    for p in range(better.shape[0]):
        largest = max(largest, abs(ranking[better[p]] - ranking[worse[p]]))
    return largest
