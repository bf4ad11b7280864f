"""Weak rankings put together: what a boosted estimator knows once it is fitted."""

import warnings
from collections.abc import Iterator
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from peckorder._base.scores import ScoreEstimator, checked_offset
from peckorder._core.typing import Floats
from peckorder._core.validation import check_csr
from peckorder.boosting.early_stopping import EarlyStopping
from peckorder.boosting.solver.rounds import Finished, bounds
from peckorder.boosting.solver.run import RECORD
from peckorder.boosting.solver.score_table import Columns, ScoreTable
from peckorder.boosting.storage import BOOSTED
from peckorder.boosting.weak.custom import ranked
from peckorder.exceptions import DataError


class BoostedEstimator(ScoreEstimator):
    """Scores rows by weak rankings and their weights."""

    missing: str
    _stored_fields: ClassVar = BOOSTED

    def staged_predict(
        self, X: ArrayLike, *, offset: ArrayLike | None = None
    ) -> Iterator[Floats]:
        """Yield the scores of rows after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        offset : array-like of shape (n_samples,), default=None
            Known scores to add.

        Yields
        ------
        scores : ndarray of shape (n_samples,)
            A new array each time. O(n_samples) time a round.
        """
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        scores = np.zeros(rows.shape[0])
        if offset is not None:
            scores += checked_offset(self._who, offset, len(scores))
        columns, own = Columns(rows, unstored=self._unstored), iter(self.own_rankings_)
        for feature, threshold, default, alpha in self.weak_rankers_.tolist():
            if feature < 0:
                scores = scores + alpha * ranked(next(own), rows)
            else:
                scores = scores + alpha * columns.rank(feature, threshold, default)
            yield scores

    def explain(self, X: ArrayLike) -> Floats:
        """Return how much each feature contributes to the scores of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        contributions : ndarray of shape (n_samples, n_features)
            Their sums over features are the scores, without an offset and without
            rankings found by learners of one's own. O(n_samples) time a feature used,
            for sparse X O(stored entries).

        Examples
        --------
        >>> from peckorder import RankBoost
        >>> X, y = [[1, 0], [2, 0], [3, 1]], [0, 1, 1]
        >>> model = RankBoost(n_rounds=1, smoothing=1.0).fit(X, y)
        >>> model.explain(X).round(2).tolist()
        [[0.0, 0.0], [0.55, 0.0], [0.55, 0.0]]
        """
        check_is_fitted(self)
        X = self._rows(X, reset=False)
        return self._table.contributions(X, unstored=self._unstored)

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self)
        X = self._rows(X, reset=False)
        scores = self._table.scores(X, unstored=self._unstored)
        alphas = self.weak_rankers_["alpha"][self.weak_rankers_["feature"] < 0]
        for alpha, ranking in zip(alphas.tolist(), self.own_rankings_, strict=True):
            scores += alpha * ranked(ranking, X)
        return scores

    def __sklearn_tags__(self) -> Any:
        """Declare to scikit-learn what the estimator takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _rows(self, X: Any, *, reset: bool) -> Any:
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            ensure_all_finite="allow-nan",
        )
        return check_csr(self._who, X) if sparse.issparse(X) else X

    def _publish(self, run: Finished, stopping: EarlyStopping | None) -> None:
        boosted = run.boosted
        n_rounds = len(boosted.rounds) if stopping is None else stopping.best
        if len(boosted.rounds) == 0:
            warnings.warn(
                f"{self._who}: no weak ranking tells the rows of a pair apart, so that "
                "all scores are equal. Do all features abstain? If they fall with "
                "relevance, set cumulative=False.",
                ConvergenceWarning,
                stacklevel=4,
            )
        elif n_rounds == 0:
            warnings.warn(
                f"{self._who}: no round is better than none on the queries held out, "
                "so that all scores are equal. Hold out more of them, or other ones.",
                ConvergenceWarning,
                stacklevel=4,
            )
        rounds = boosted.rounds[:n_rounds]
        self.weak_rankers_ = np.array([tuple(r[:4]) for r in rounds], dtype=RECORD)
        self.own_rankings_ = [r.ranking for r in rounds if r.ranking is not None]
        self.n_rounds_ = n_rounds
        self.bounds_ = bounds(boosted.log_bounds[: n_rounds + 1])
        self.smoothing_ = run.smoothing
        self.feature_importances_ = self._importances(boosted.log_bounds)
        if stopping is not None:
            self.validation_scores_ = np.array(stopping.values)
        elif hasattr(self, "validation_scores_"):
            del self.validation_scores_  # of an earlier fit
        self.__dict__.pop("traffic_", None)  # of a fit on a cluster
        self._unstored = self.missing == "zero"
        self._table = ScoreTable.of(self.weak_rankers_)

    def _importances(self, log_bounds: list[float]) -> Floats:
        falls = -np.diff(log_bounds[: self.n_rounds_ + 1])
        feature = self.weak_rankers_["feature"]
        is_own = feature < 0
        shares = np.bincount(
            feature[~is_own], falls[~is_own], minlength=self.n_features_in_
        )
        total = falls.sum()
        return shares / total if total > 0 else np.zeros(self.n_features_in_)


NOTHING_WEIGHS = "every weight zero"


def without_pairs(n_rows: int, n_queries: int, n_flat: int) -> str:
    """Return what rows are in which no grade is above another of its query."""
    if n_rows == 1:
        return "one sample"
    return f"{n_flat} of {n_queries} queries with one grade only"


def refuse_feedback(who: str, got: str) -> NoReturn:
    """Say why there is nothing to learn from."""
    raise DataError(f"{who}: y must prefer some row that weighs to another; got {got}.")
