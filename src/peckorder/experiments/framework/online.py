"""What Crammer and Singer (2001) and Harrington (2003) have in common."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from scipy import sparse

from peckorder._core.typing import Floats, Ints
from peckorder.experiments.framework import Data

# The square problem: the standard deviation of its noise, and by quadrature the loss of
# the rank that a point has without its noise. No rule has a lower expected loss.
NOISE = 0.125
LEAST_LOSS = 0.15259


def running_median(y: Ints, n_ranks: int) -> Ints:
    """Return, for every round, the lower median of the ranks before it.

    The first is the middle of the scale, rounded upwards.
    """
    is_rank = y[:, None] == np.arange(1, n_ranks + 1)
    before = np.cumsum(is_rank, axis=0) - is_rank
    at_most = np.cumsum(before, axis=1)
    median = 1 + (2 * at_most < np.arange(y.size)[:, None]).sum(axis=1)
    median[0] = (n_ranks + 2) // 2
    return np.asarray(median)


def lowest(losses: Mapping[str, Floats], names: Sequence[str]) -> str:
    """Return which of `names` has the lowest mean loss, NaN counting as infinity."""
    means = [np.mean(losses[name]) for name in names]
    return names[int(np.argmin(np.where(np.isnan(means), np.inf, means)))]


def rounds_shown(
    n_rounds: int, n_points: int, *, first: int = 1, log: bool = False, include: Iterable[int] = ()
) -> Ints:
    """Return about `n_points` rounds at which curves are stored, and those to include.

    Evenly spaced, on a logarithmic axis if `log`, from `first` to the last.
    """
    space = np.geomspace if log else np.linspace
    spaced = np.rint(space(min(first, n_rounds), n_rounds, n_points))
    rounds = np.union1d(spaced, [n for n in include if n <= n_rounds])
    return rounds.astype(np.int64)


def centred(X: Data, middle: float) -> Data:
    """Return ratings, dense or sparse, minus the middle of their scale.

    Entries that are not stored in a sparse matrix stay zero; the middle is stored.
    """
    if not sparse.issparse(X):
        return X - middle
    moved = X.astype(float)
    moved.data -= middle
    return moved
