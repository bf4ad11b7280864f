"""A person as a linear combination of viewers: the minimum-norm least squares."""

from typing import ClassVar

import numpy as np
from scipy.linalg import lstsq

from peckorder._core.typing import Floats
from peckorder._core.validation import Rules, boolean
from peckorder.collaborative._means import column_means
from peckorder.collaborative.baselines.base import ViewerModel
from peckorder.storage.fields import Field, Table, floats, number

# The mean of equal numbers may differ from them by rounding.
_ROUNDING = 1e-12


class MinNormRegression(ViewerModel, stored=True):
    r"""Regresses a person's ratings on those of the viewers.

    Missing ratings of a viewer are replaced by the mean of their ratings: the matrix C.
    w is the vector of the smallest norm that minimises ``|C w - y|`` over the items
    that the person rated, without an intercept; ``score = C w``.

    Parameters
    ----------
    normalize : bool, default=False
        First scale the ratings of every viewer, and of the person, to mean 0 and
        variance 1, with 0 for missing ratings; scores are scaled back to the person's
        ratings.

    Attributes
    ----------
    coef_ : ndarray of shape (n_viewers,)
        The weights of the viewers; 0 for those without ratings.
    n_features_in_ : int
        The number of viewers.

    Notes
    -----
    O(n m min(n, m)) time for the n items that the person rated and m viewers.

    Examples
    --------
    >>> from peckorder.collaborative import MinNormRegression
    >>> nan = float("nan")
    >>> X, y = [[5, 1], [3, nan], [1, 5], [nan, 5]], [5, 3, 1, nan]
    >>> MinNormRegression().fit(X, y).predict(X).round(3).tolist()
    [5.0, 3.0, 1.0, 3.0]
    """

    _rules: ClassVar[Rules] = {"normalize": boolean}
    _stored_fields: ClassVar = Table(
        Field("coef_", floats("features")),
        Field("_means", floats("features")),
        Field("_scales", floats("features")),
        Field("_centre", number()),
        Field("_scale", number(low=0.0)),
    )

    def __init__(self, *, normalize: bool = False) -> None:
        self.normalize = normalize

    def _learn(self, X: Floats, y: Floats) -> None:
        self._means = column_means(X)
        self._scales = np.ones(X.shape[1])
        rated = ~np.isnan(y)
        self._centre, self._scale = 0.0, 1.0
        if self.normalize:
            self._scales = np.sqrt(column_means((X - self._means) ** 2))
            self._scales[self._scales <= _ROUNDING * np.abs(self._means)] = 0.0
            self._centre, self._scale = float(y[rated].mean()), float(y[rated].std())
            if self._scale <= _ROUNDING * abs(self._centre):
                self._scale = 0.0
        target = _scaled(y[rated] - self._centre, np.float64(self._scale))
        self.coef_: Floats = lstsq(self._filled(X[rated]), target)[0]

    def _filled(self, X: Floats) -> Floats:
        if self.normalize:
            return _scaled(np.where(np.isnan(X), 0.0, X - self._means), self._scales)
        return np.where(np.isnan(X), self._means, X)

    def _scores(self, X: Floats) -> Floats:
        scores: Floats = self._centre + self._scale * (self._filled(X) @ self.coef_)
        return scores


def _scaled(values: Floats, scale: Floats | np.float64) -> Floats:
    """Divide by a scale; return 0 where it is 0."""
    varies = np.broadcast_to(scale > 0.0, values.shape)
    return np.divide(values, scale, out=np.zeros(values.shape), where=varies)
