"""Columns of numbers with mean 0 and deviation 1, without gaps."""

from typing import Final, NamedTuple, Self

import numpy as np

from peckorder._core.typing import Floats

# Deviations relative to the mean of numbers that differ by their last bits.
_ROUNDING: Final = 4.0 * np.finfo(np.float64).eps


class Scaling(NamedTuple):
    """Means and standard deviations of columns, learnt on some rows."""

    mean: Floats
    scale: Floats

    @classmethod
    def learn(cls, X: Floats) -> Self:
        """Learn from rows; columns that are constant or empty have the scale 1.

        Columns are halved or doubled to below 1 first, so that no square overflows, and
        measured from one of their values, so that little is lost to a large mean.
        """
        if not len(X):
            return cls(np.zeros(X.shape[1]), np.ones(X.shape[1]))
        known = ~np.isnan(X)
        count = np.maximum(known.sum(axis=0), 1)
        _, power = np.frexp(np.abs(X).max(axis=0, initial=0.0, where=known))
        small = np.where(known, np.ldexp(X, -power), 0.0)
        origin = small[known.argmax(axis=0), np.arange(X.shape[1])]
        mean = origin + np.where(known, small - origin, 0.0).sum(axis=0) / count
        spread = np.sqrt((np.where(known, small - mean, 0.0) ** 2).sum(axis=0) / count)
        scale = np.where(spread > _ROUNDING * np.abs(mean), np.ldexp(spread, power), 1.0)
        return cls(np.ldexp(mean, power), scale)

    def apply(self, X: Floats) -> Floats:
        """Return ``(X - mean) / scale``, 0 for gaps, which is the mean."""
        scaled = X - self.mean
        scaled /= self.scale
        scaled[np.isnan(scaled)] = 0.0
        return scaled
