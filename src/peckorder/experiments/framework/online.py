"""What Crammer and Singer (2001) and Harrington (2003) have in common."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from peckorder._core.typing import Floats, Ints
from peckorder.experiments.framework.verdicts import side

# The square: the standard deviation of its noise, and by quadrature the loss of the
# rank that a point has without its noise. No rule has less on average.
NOISE = 0.125
LEAST_LOSS = 0.15259
FIRST_OF_ALL = (
    "What is claimed to be lowest, or first, must be below all its rivals: that is one "
    "comparison, for the claim if all intervals are, against it if one is above zero."
)


def running_median(y: Ints, n_ranks: int) -> Ints:
    """Return, for every round, the lower median of the ranks before it.

    The first is the middle of the scale, rounded upwards.
    """
    is_rank = y[:, None] == np.arange(1, n_ranks + 1)
    seen = np.cumsum(is_rank, axis=0) - is_rank
    at_most = np.cumsum(seen, axis=1)
    median = 1 + (2 * at_most < np.arange(y.size)[:, None]).sum(axis=1)
    median[0] = (n_ranks + 2) // 2
    return np.asarray(median)


def rounds_shown(
    n_rounds: int,
    n_points: int,
    *,
    first: int = 1,
    log: bool = False,
    wanted: Iterable[int] = (),
) -> Ints:
    """Return about `n_points` rounds after which curves are kept, and those wanted.

    Evenly spaced, on a logarithmic axis if `log`, from `first` to the last.
    """
    space = np.geomspace if log else np.linspace
    spaced = np.rint(space(min(first, n_rounds), n_rounds, n_points))
    shown = np.union1d(spaced, [each for each in wanted if each <= n_rounds])
    return shown.astype(np.int64)


def centred(X: Any, middle: float) -> Any:
    """Return ratings less the middle of their scale.

    What is not stored in a sparse row stays zero, and what is in the middle is stored.
    """
    if not sparse.issparse(X):
        return X - middle
    moved = X.astype(float, copy=True)
    moved.data -= middle
    return moved


def lower_than_all(ours: Floats, rivals: Iterable[Floats]) -> int:
    """Return 1 if ours is lower than every rival for sure, -1 if one is lower, else 0.

    Losses are paired, one a repetition.
    """
    return min(-side(ours - theirs) for theirs in rivals)
