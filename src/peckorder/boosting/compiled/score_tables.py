"""Scores of rows from a table for each feature, whatever the number of rounds.

Feature u of those used is column features[u]; its thresholds ``starts[u] : starts[u +
1]`` ascend. A value above k of them has the score ``steps[starts[u] + u + k]``, plus
`slopes[u]` times itself; if it is missing, missing[u].
"""

from typing import Any

import numpy as np

from peckorder._core.compiled.jit import compiled, inlined
from peckorder._core.typing import Floats, Ints


@compiled
def pile_up(starts: Ints, added: Floats, steps: Floats) -> None:
    """Write to `steps` the sums of what is added at thresholds, feature by feature."""
    for u in range(starts.shape[0] - 1):
        score = 0.0
        steps[starts[u] + u] = score
        for k in range(starts[u], starts[u + 1]):
            score += added[k]
            steps[k + u + 1] = score


@inlined
def look_up(
    value: float,
    u: int,
    starts: Ints,
    thresholds: Floats,
    steps: Floats,
    slopes: Floats,
    missing: Floats,
) -> Any:
    """Return the score of a value of a feature."""
    if np.isnan(value):
        return missing[u]
    first = starts[u]
    low, size = 0, starts[u + 1] - first
    while size > 0:
        half = size >> 1
        is_above = value > thresholds[first + low + half]
        low += half + 1 if is_above else 0
        size = size - half - 1 if is_above else half
    score = steps[first + u + low]
    return score + slopes[u] * value if slopes[u] != 0.0 else score


@compiled
def dense_scores(
    first: int,
    last: int,
    X: Floats,
    features: Ints,
    starts: Ints,
    thresholds: Floats,
    steps: Floats,
    slopes: Floats,
    missing: Floats,
    scores: Floats,
) -> None:
    """Add to scores (n,) those of the rows first..last of X."""
    for i in range(first, last):
        score = 0.0
        for u in range(features.shape[0]):
            value = X[i, features[u]]
            score += look_up(value, u, starts, thresholds, steps, slopes, missing)
        scores[i] += score


@compiled
def sparse_scores(
    first: int,
    last: int,
    data: Floats,
    indices: Ints,
    indptr: Ints,
    place_of: Ints,
    starts: Ints,
    thresholds: Floats,
    steps: Floats,
    slopes: Floats,
    missing: Floats,
    unstored: Floats,
    base: float,
    scores: Floats,
) -> None:
    """Add to scores (n,) those of the rows first..last of a CSR matrix.

    place_of (columns,) is the place of a column among the features used, or -1. What is
    not stored has the score unstored[u]; base is the sum of these.
    """
    for i in range(first, last):
        score = base
        for k in range(indptr[i], indptr[i + 1]):
            u = place_of[indices[k]]
            if u >= 0:
                value = data[k]
                score += (
                    look_up(value, u, starts, thresholds, steps, slopes, missing)
                    - unstored[u]
                )
        scores[i] += score
