"""Means of ratings where some are missing, drawn towards a common mean."""

import numpy as np

from peckorder._core.typing import Floats, Ints


def damped_means(
    total: Floats | Ints, count: Floats | Ints, mean: float = 0.0, damping: float = 0.0
) -> Floats:
    """Return ``(total + damping * mean) / (count + damping)``, or `mean` for 0 / 0."""
    size = count + damping
    means = np.full(len(size), mean)
    np.divide(total + damping * mean, size, out=means, where=size > 0)
    return means


def column_means(X: Floats) -> Floats:
    """Return the mean of each column without NaN; 0 for a column of NaN."""
    is_rated = ~np.isnan(X)
    return damped_means(np.where(is_rated, X, 0.0).sum(axis=0), is_rated.sum(axis=0))
