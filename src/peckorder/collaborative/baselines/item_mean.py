"""The mean rating of each item, damped: the baseline to beat."""

from typing import ClassVar

import numpy as np

from peckorder._core.errors import entry, refusal
from peckorder._core.typing import Floats
from peckorder._core.validation import Rules, not_negative
from peckorder.collaborative._means import damped_means
from peckorder.collaborative.baselines.base import ViewerModel
from peckorder.storage.fields import Field, Table, number


@entry
class ItemMean(ViewerModel, stored=True):
    r"""Scores an item by the mean of its ratings, shrunk towards the mean of all.

    ``score_j = (damping * mu + sum_v X_jv) / (damping + n_j)`` over the n_j viewers who
    rated j, with mu the mean of all ratings. The same for every person: `y` is only
    checked.

    Parameters
    ----------
    damping : float, default=5.0
        How many ratings equal to mu are added to every item; 0 for plain means. Items
        without a rating score mu.

    Attributes
    ----------
    mean_ : float
        The mean of all ratings.
    n_features_in_ : int
        The number of viewers.

    Notes
    -----
    O(n_items n_viewers) time.

    Examples
    --------
    >>> from peckorder.collaborative import ItemMean
    >>> nan = float("nan")
    >>> X, y = [[5, 4], [nan, 3], [nan, nan]], [4, nan, nan]
    >>> ItemMean(damping=1.0).fit(X, y).predict(X).tolist()
    [4.333333333333333, 3.5, 4.0]
    """

    _rules: ClassVar[Rules] = {"damping": not_negative}
    _stored_fields: ClassVar = Table(Field("mean_", number()))

    def __init__(self, *, damping: float = 5.0) -> None:
        self.damping = damping

    def _learn(self, X: Floats, y: Floats) -> None:
        if np.isnan(X).all():
            raise refusal("X", "have a rating", "NaN alone")
        self.mean_ = float(np.nanmean(X))

    def _scores(self, X: Floats) -> Floats:
        is_rated = ~np.isnan(X)
        above = np.where(is_rated, X - self.mean_, 0.0).sum(axis=1)
        count = is_rated.sum(axis=1)
        return self.mean_ + damped_means(above, count, damping=self.damping)
