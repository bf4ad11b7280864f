"""What chance does to means over queries."""

from collections.abc import Callable

import numpy as np

from peckorder._core.threads import share
from peckorder._core.typing import Floats
from peckorder.metrics._lists import n_threads
from peckorder.metrics.compiled import resampling as kernels

# Samples between two questions whether to give up.
_SOME = 64


def weighted_means(values: Floats, weight: Floats) -> Floats:
    """Return the means of values (m, n), a weight for each of n, without the NaN."""
    tops, masses = _sums(values, weight)
    with np.errstate(invalid="ignore"):
        return np.asarray(tops.sum(axis=1) / masses.sum(axis=1))


def intervals(
    values: Floats, weight: Floats, n_samples: int, seed: int | None
) -> Floats:
    """Return the 95 % bootstrap intervals (m, 2) of such means.

    The n are drawn, the same ones for all m. NaN where fewer than two have a value.
    """
    tops, masses = _sums(values, weight)
    kinds, kind = np.unique(masses, axis=0, return_inverse=True)
    columns = np.concatenate([tops, kinds])
    columns.flags.writeable = False
    sums, key = np.empty((len(columns), n_samples)), _key(seed)

    def work(samples: slice, give_up: Callable[[], bool]) -> None:
        count = np.empty(values.shape[1], dtype=np.uint16)
        for first in range(samples.start, samples.stop, _SOME):
            if give_up():
                break
            last = min(first + _SOME, samples.stop)
            kernels.bootstrap(first, last, key, columns, count, sums)

    share(n_samples, n_threads(n_samples * values.shape[1]), work)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums[: len(values)] / sums[len(values) :][kind.ravel()]
    bounds = np.full((len(values), 2), np.nan)
    for m in np.flatnonzero((masses > 0).sum(axis=1) >= 2):
        drawn = means[m][~np.isnan(means[m])]  # a sample may hold none with a value
        if drawn.size:
            bounds[m] = np.quantile(drawn, [0.025, 0.975])
    return bounds


def chances(gaps: Floats, weight: Floats, n_samples: int, seed: int | None) -> Floats:
    """Return how often random signs of gaps (m, n) give means as far from zero."""
    columns, masses = _sums(gaps, weight)
    columns.flags.writeable = False
    n_words = -(-n_samples // kernels.GROUP)
    sums, key = np.zeros((len(gaps), n_words * kernels.GROUP)), _key(seed)

    def work(words: slice, give_up: Callable[[], bool]) -> None:
        table = np.empty((len(gaps), 1 << kernels.GROUP))
        for first in range(words.start, words.stop, _SOME):
            if give_up():
                break
            last = min(first + _SOME, words.stop)
            kernels.random_signs(first, last, key, columns, table, sums)

    share(n_words, n_threads(n_samples * gaps.shape[1]), work)
    # What differs by rounding only is as large.
    seen = np.abs(columns.sum(axis=1)) - 1e-12 * np.abs(columns).sum(axis=1)
    found = (np.abs(sums[:, :n_samples]) >= seen[:, np.newaxis]).sum(axis=1)
    # The order as it is is one of the possible ones.
    p = (found + 1) / (n_samples + 1)
    return np.where(masses.any(axis=1), p, np.nan)


def _sums(values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return values by their weights, and weights, with zeros where there is none."""
    is_missing = np.isnan(values)
    return np.where(is_missing, 0.0, values * weight), np.where(is_missing, 0.0, weight)


def _key(seed: int | None) -> np.uint64:
    return np.random.default_rng(seed).integers(2**64, dtype=np.uint64)
