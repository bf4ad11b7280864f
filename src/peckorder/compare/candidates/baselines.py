"""What a ranker of documents has to beat."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from peckorder._core.typing import Floats, Labels
from peckorder.metrics import disagreement


class BestFeature(BaseEstimator):  # type: ignore[misc]
    """The one feature that disagrees least with the grades it learns from."""

    def fit(self, X: Floats, y: Labels, *, qid: Any = None) -> Self:
        """Choose the feature."""
        losses = [
            np.nanmean(disagreement(y, column, qid=qid, per_query=True))
            for column in _gaps_last(X).T
        ]
        self.feature_ = int(np.argmin(losses))
        return self

    def predict(self, X: Floats) -> Floats:
        """Return the feature; rows on which it abstains come last."""
        return _gaps_last(X)[:, self.feature_]


class MeanFeature(BaseEstimator):  # type: ignore[misc]
    """The mean of those features of a row that do not abstain."""

    def fit(self, X: Floats, y: Labels) -> Self:
        """Learn nothing."""
        return self

    def predict(self, X: Floats) -> Floats:
        """Return the means."""
        return np.asarray(np.nanmean(X, axis=1))


def _gaps_last(X: Floats) -> Floats:
    return np.where(np.isnan(X), np.nanmin(X) - 1.0, X)
