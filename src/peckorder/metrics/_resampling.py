"""Intervals of means: by resampling queries, or by Student's t."""

from collections.abc import Callable

import numpy as np
from scipy import stats

from peckorder._core.threads import Stop, share
from peckorder._core.typing import Floats, Labels
from peckorder.metrics._compiled import GROUP, bootstrap, random_signs
from peckorder.metrics._lists import n_threads

# Samples between two checks whether to stop.
_SAMPLES_PER_CALL = 64


def weighted_means(values: Floats, weight: Floats) -> Floats:
    """Return the means of values (m, n), without NaN, for weights (n,)."""
    tops, masses = _sums(values, weight)
    with np.errstate(invalid="ignore"):
        return np.asarray(tops.sum(axis=1) / masses.sum(axis=1))


def intervals(values: Floats, weight: Floats, n_samples: int, seed: int | None) -> Floats:
    """Return the 95 % bootstrap intervals (m, 2) of `weighted_means`.

    All m share the samples. NaN where fewer than two of n have a value.
    """
    tops, masses = _sums(values, weight)
    distinct, index = np.unique(masses, axis=0, return_inverse=True)
    columns = np.concatenate([tops, distinct])
    columns.flags.writeable = False
    sums, key = np.empty((len(columns), n_samples)), _key(seed)

    def work(samples: slice, stopped: Stop) -> None:
        count = np.empty(values.shape[1], dtype=np.uint16)
        for first in range(samples.start, samples.stop, _SAMPLES_PER_CALL):
            if stopped():
                break
            last = min(first + _SAMPLES_PER_CALL, samples.stop)
            bootstrap(first, last, key, columns, count, sums)

    share(n_samples, n_threads(n_samples * values.shape[1]), work)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums[: len(values)] / sums[len(values) :][index.ravel()]
    bounds = np.full((len(values), 2), np.nan)
    for m in np.flatnonzero((masses > 0).sum(axis=1) >= 2):
        drawn = means[m][~np.isnan(means[m])]  # a sample may have no value
        if drawn.size:
            bounds[m] = np.quantile(drawn, [0.025, 0.975])
    return bounds


def interval_by_counts(
    metric: Callable[..., Floats], truth: Labels, guess: Labels, n_samples: int, seed: int | None
) -> tuple[float, float, float]:
    """Return a metric of rows that is no mean over them, and its 95 % bootstrap interval.

    Rows of the same labels are drawn together: how many of them there are is all that
    changes. NaN where there is one row.
    """
    pairs, counts = np.unique(np.stack([truth, guess]), axis=1, return_counts=True)
    n_rows = len(truth)
    drawn = np.random.default_rng(seed).multinomial(n_rows, counts / n_rows, n_samples)
    value, *others = (
        float(metric(*pairs, sample_weight=weight, per_query=True)[0])
        for weight in (counts, *drawn)
    )
    if n_rows == 1 or np.isnan(others).all():
        return value, np.nan, np.nan
    low, high = np.nanquantile(others, [0.025, 0.975]).tolist()
    return value, low, high


def chances(gaps: Floats, weight: Floats, n_samples: int, seed: int | None) -> Floats:
    """Return how often random signs of gaps (m, n) give means as far from zero."""
    columns, masses = _sums(gaps, weight)
    columns.flags.writeable = False
    n_words = -(-n_samples // GROUP)
    sums, key = np.zeros((len(gaps), n_words * GROUP)), _key(seed)

    def work(words: slice, stopped: Stop) -> None:
        table = np.empty((len(gaps), 1 << GROUP))
        for first in range(words.start, words.stop, _SAMPLES_PER_CALL):
            if stopped():
                break
            last = min(first + _SAMPLES_PER_CALL, words.stop)
            random_signs(first, last, key, columns, table, sums)

    share(n_words, n_threads(n_samples * gaps.shape[1]), work)
    # A sum that differs by rounding only is as large.
    observed = np.abs(columns.sum(axis=1)) - 1e-12 * np.abs(columns).sum(axis=1)
    n_as_large = (np.abs(sums[:, :n_samples]) >= observed[:, np.newaxis]).sum(axis=1)
    # The observed signs are one of the possible choices.
    p = (n_as_large + 1) / (n_samples + 1)
    return np.where(masses.any(axis=1), p, np.nan)


def half_width(values: Floats, groups: Labels | None = None) -> Floats:
    """Return half the 95 % Student interval of the mean over the first axis.

    With `groups`, only sums over groups of values (n,) vary independently. NaN for
    fewer than two values or groups.
    """
    n = m = values.shape[0]
    if n == 0:
        return np.full(values.shape[1:], np.nan)
    deviations = values - values.mean(axis=0)
    if groups is not None:
        deviations = np.bincount(np.unique(groups, return_inverse=True)[1], deviations)
        m = len(deviations)
    if m < 2:
        return np.full(values.shape[1:], np.nan)
    error = np.sqrt((deviations**2).sum(axis=0) * m / (m - 1)) / n
    return np.asarray(stats.t.ppf(0.975, m - 1) * error)


def _sums(values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return values times weights, and weights; zero where a value is NaN."""
    is_missing = np.isnan(values)
    return np.where(is_missing, 0.0, values * weight), np.where(is_missing, 0.0, weight)


def _key(seed: int | None) -> np.uint64:
    return np.random.default_rng(seed).integers(2**64, dtype=np.uint64)
