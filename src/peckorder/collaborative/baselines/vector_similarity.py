"""Viewers weighted by their similarity to the person."""

from typing import ClassVar

import numpy as np

from peckorder._core.typing import Floats
from peckorder._core.validation import Rules, one_of
from peckorder.collaborative._means import column_means
from peckorder.collaborative.baselines.base import ViewerModel
from peckorder.storage.fields import Field, Table, floats, number


class VectorSimilarity(ViewerModel, stored=True):
    r"""Adds the ratings of viewers above their means, weighted by similarity.

    With the person's ratings a and those V_v of viewer v,
    ``w_v = <a, V_v> / (|a| |V_v|)``, the product over the items that both rated and
    each norm over all items that the one rated;
    ``score_j = mean(a) + sum_v w_v (V_vj - mean_v) / sum_v |w_v|`` over those who rated
    j.

    Parameters
    ----------
    normalization : {"all", "item"}, default="all"
        Which ``|w_v|`` are added: those of all viewers, as in the formula, which keeps
        the order; or of those who rated the item, for a weighted mean.

    Attributes
    ----------
    weights_ : ndarray of shape (n_viewers,)
        The similarities.
    means_ : ndarray of shape (n_viewers,)
        The mean rating of each viewer.
    mean_ : float
        The person's mean.
    n_features_in_ : int
        The number of viewers.

    Notes
    -----
    O(n_items n_viewers) time.

    Examples
    --------
    >>> from peckorder.collaborative import VectorSimilarity
    >>> nan = float("nan")
    >>> X, y = [[5, 1], [3, nan], [1, 5], [nan, 5]], [5, 3, 1, nan]
    >>> VectorSimilarity().fit(X, y).predict(X).round(3).tolist()
    [4.107, 3.0, 1.638, 3.255]
    """

    _rules: ClassVar[Rules] = {"normalization": one_of("all", "item")}
    _stored_fields: ClassVar = Table(
        Field("weights_", floats("features")),
        Field("means_", floats("features")),
        Field("mean_", number()),
    )

    def __init__(self, *, normalization: str = "all") -> None:
        self.normalization = normalization

    def _learn(self, X: Floats, y: Floats) -> None:
        rated = ~np.isnan(y)
        values = np.where(np.isnan(X), 0.0, X)
        product = y[rated] @ values[rated]
        size = np.linalg.norm(y[rated]) * np.linalg.norm(values, axis=0)
        self.weights_ = np.divide(product, size, out=np.zeros(len(product)), where=size > 0)
        self.means_ = column_means(X)
        self.mean_ = float(y[rated].mean())

    def _scores(self, X: Floats) -> Floats:
        is_rated = ~np.isnan(X)
        above = np.where(is_rated, X - self.means_, 0.0) @ self.weights_
        mass = np.full(len(X), np.abs(self.weights_).sum())
        if self.normalization == "item":
            mass = is_rated @ np.abs(self.weights_)
        shift = np.divide(above, mass, out=np.zeros(len(X)), where=mass > 0)
        scores: Floats = self.mean_ + shift
        return scores
