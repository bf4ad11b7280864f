"""Weak rankings added to scores, one at a time or all of them by a table per feature.

In the tables feature u of those used is column features[u]; its thresholds
``starts[u] : starts[u + 1]`` ascend. A value above k of them has the score
``steps[starts[u] + u + k]``, plus `slopes[u]` times itself; if it is missing,
missing[u].
"""

from typing import Any, NamedTuple

import numpy as np

from peckorder._core.compiled.jit import bits_of, compiled, from_bits, inlined
from peckorder._core.typing import Floats, Ints
from peckorder.boosting.compiled.binned_columns import ABSTAINS


class FeatureTables(NamedTuple):
    """The scores of values, feature by feature."""

    features: Ints
    starts: Ints
    thresholds: Floats
    steps: Floats
    slopes: Floats
    missing: Floats


@compiled
def rank_binned(bins: Ints, cut: int, default: float, ranking: Floats) -> None:
    """Write to ranking (n,) a column of bins (n,), cut."""
    for i in range(ranking.shape[0]):
        value = 1.0 if bins[i] < cut else 0.0
        ranking[i] = default if bins[i] == ABSTAINS else value


@compiled
def add_ranking(alpha: float, ranking: Floats, scores: Floats) -> float:
    """Add alpha times a ranking to the scores; return the largest absolute score."""
    largest = 0
    for i in range(np.uintp(scores.shape[0])):
        score = scores[i] + alpha * ranking[i]
        scores[i] = score
        # By bits, of which processors compare several at a time.
        largest = max(largest, bits_of(abs(score)))
    return from_bits(largest)


@compiled
def add_binned(alpha: float, bins: Ints, cut: int, default: float, scores: Floats) -> float:
    """Add alpha times a column of bins (n,), cut; return the largest absolute score."""
    largest = 0
    for i in range(np.uintp(scores.shape[0])):
        value = 1.0 if bins[i] < cut else 0.0
        value = default if bins[i] == ABSTAINS else value
        score = scores[i] + alpha * value
        scores[i] = score
        largest = max(largest, bits_of(abs(score)))
    return from_bits(largest)


@compiled
def sum_steps(starts: Ints, added: Floats, steps: Floats) -> None:
    """Write to `steps` the sums of what is added at thresholds, feature by feature."""
    for u in range(starts.shape[0] - 1):
        score = 0.0
        steps[starts[u] + u] = score
        for k in range(starts[u], starts[u + 1]):
            score += added[k]
            steps[k + u + 1] = score


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
def dense_scores(first: int, last: int, X: Floats, tables: FeatureTables, scores: Floats) -> None:
    """Add to scores (n,) those of the rows first..last of X."""
    features = tables.features
    for i in range(first, last):
        score = 0.0
        for u in range(features.shape[0]):
            score += look_up(X[i, features[u]], u, tables)
        scores[i] += score


@compiled
def sparse_scores(
    first: int,
    last: int,
    data: Floats,
    indices: Ints,
    indptr: Ints,
    tables: FeatureTables,
    position_of: Ints,
    unstored: Floats,
    base: float,
    scores: Floats,
) -> None:
    """Add to scores (n,) those of the rows first..last of a CSR matrix.

    position_of (columns,) is the position of a column among the features used, or -1.
    What is not stored has the score unstored[u]; base is the sum of these.
    """
    for i in range(first, last):
        score = base
        for k in range(indptr[i], indptr[i + 1]):
            u = position_of[indices[k]]
            if u >= 0:
                score += look_up(data[k], u, tables) - unstored[u]
        scores[i] += score
