"""What a contest shows beyond who is first: plain values for pictures and tables."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from peckorder._core.typing import Floats, Ints
from peckorder.compare.contest.contest import Contest, Result
from peckorder.compare.contest.measures import Measure

_MOST_PAIRS: Final = 2_000_000
_N_BINS: Final = 10
CUTOFFS: Final = np.array([1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20])


class Reliability(NamedTuple):
    """Pairs by how far apart they were predicted: the means said, the means true."""

    said: Floats
    true: Floats
    low: Floats
    high: Floats


class Weights(NamedTuple):
    """The weights of features, largest first: means over folds, least and most."""

    features: tuple[str, ...]
    mean: Floats
    low: Floats
    high: Floats


def reliability(
    y: Floats, scores: Floats, group: Ints, seed: int = 0
) -> Reliability | None:
    """Compare predicted distances with true ones, over pairs of a group.

    Pairs are turned so that the predicted distance is positive, and divided into ten
    bins of equal size. The limits are quartiles of true distances.
    """
    rng = np.random.default_rng(seed)
    said, true = [], []
    groups = np.unique(group)
    for k in groups.tolist():
        rows = np.flatnonzero(group == k)
        n_pairs = min(_MOST_PAIRS // len(groups), len(rows) * (len(rows) - 1) // 2)
        first = rng.integers(0, len(rows), n_pairs)
        second = rng.integers(0, len(rows), n_pairs)
        gap = scores[rows[first]] - scores[rows[second]]
        truth = y[rows[first]] - y[rows[second]]
        kept = gap != 0
        said.append(np.abs(gap[kept]))
        true.append(truth[kept] * np.sign(gap[kept]))
    distance, truth = np.concatenate(said), np.concatenate(true)
    if len(distance) < 10 * _N_BINS:
        return None
    bins = np.array_split(np.argsort(distance, kind="stable"), _N_BINS)
    quartiles = np.array([np.quantile(truth[some], [0.25, 0.75]) for some in bins])
    return Reliability(
        np.array([distance[some].mean() for some in bins]),
        np.array([truth[some].mean() for some in bins]),
        quartiles[:, 0],
        quartiles[:, 1],
    )


def weights(result: Result, features: Sequence[str], most: int = 15) -> Weights | None:
    """Return the features that weigh most in the models of all folds."""
    if not result.weights:
        return None
    table = np.stack(result.weights)
    mean = table.mean(axis=0)
    order = np.argsort(-np.abs(mean), kind="stable")[:most]
    return Weights(
        tuple(features[k] for k in order.tolist()),
        mean[order],
        table.min(axis=0)[order],
        table.max(axis=0)[order],
    )


def shares_won(contest: Contest, results: Sequence[Result]) -> Floats:
    """Return the share of units on which each ranker is best; equals share it."""
    measure = contest.measures[0]
    sign = -1.0 if measure.larger_is_better else 1.0
    table = np.stack([sign * result.values[measure.name] for result in results])
    table = table[:, ~np.isnan(table).any(axis=0)]
    is_best = table == table.min(axis=0)
    return np.asarray((is_best / is_best.sum(axis=0)).mean(axis=1))


def means_by(
    result: Result, measure: Measure, part: Ints, parts: Sequence[int]
) -> Floats:
    """Return the mean of a measure over the units of each part; NaN for none."""
    values = result.values[measure.name]
    means = []
    for k in parts:
        some = values[(part == k) & ~np.isnan(values)]
        means.append(some.mean() if len(some) else np.nan)
    return np.array(means)


def confusion(levels: Ints, guesses: Ints, n_levels: int) -> Ints:
    """Return how often each level (row) was taken for each (column)."""
    table = np.zeros((n_levels, n_levels), dtype=np.int64)
    np.add.at(table, (levels, guesses), 1)
    return table
