"""Baselines of comparisons, which learn next to nothing."""

from typing import Self

import numpy as np
from sklearn.base import BaseEstimator

from peckorder._core.typing import Floats, Ints, Labels
from peckorder.metrics import disagreement


class BestFeature(BaseEstimator):  # type: ignore[misc]
    """The one feature that disagrees least with the grades it learns from."""

    def fit(self, X: Floats, y: Labels, *, qid: Labels | None = None) -> Self:
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


class BestSignedFeature(BaseEstimator):  # type: ignore[misc]
    """The feature that, rising or falling, disagrees least with the labels."""

    def fit(self, X: Floats, y: Floats, qid: Ints | None = None) -> Self:
        """Choose it."""
        self.model_ = BestFeature().fit(np.hstack([X, -X]), y, qid=qid)
        self.feature_ = self.model_.feature_ % X.shape[1]
        return self

    def predict(self, X: Floats) -> Floats:
        """Return it, gaps last."""
        return self.model_.predict(np.hstack([X, -X]))


class Constant(BaseEstimator):  # type: ignore[misc]
    """The same answer for all rows: the lower median of the labels."""

    def fit(self, X: Floats, y: Floats) -> Self:
        """Learn the median."""
        self.answer_ = float(np.quantile(y, 0.5, method="lower"))
        return self

    def predict(self, X: Floats) -> Floats:
        """Return it."""
        return np.full(len(X), self.answer_)
