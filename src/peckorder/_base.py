"""What estimators of several families share."""

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from peckorder._core.errors import entry, refusal, warn
from peckorder._core.typing import Floats, Ints, MatrixLike, VectorLike
from peckorder._core.validation import one_per_row, weights
from peckorder.feedback import Preferences
from peckorder.metrics import disagreement, ranks
from peckorder.storage.mixin import StoredModel

# What reaches a ranker of scores under scikit-learn's metadata routing. Pipelines ask
# every last step for weights to score by.
ROUTED_TO_FIT: Final = {"qid": True, "sample_weight": True, "offset": True}
ROUTED_TO_PREDICT: Final = {"offset": True}
ROUTED_TO_SCORE: Final = {"qid": True, "offset": True, "sample_weight": None}


@entry
class ScoreEstimator(StoredModel, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """Gives every row a real score, larger is better.

    A subclass computes scores in `_scores`, and remembers in `_has_offset` whether it
    was fitted on top of given scores, in `_has_queries` whether to several queries.
    """

    __metadata_request__fit: ClassVar = ROUTED_TO_FIT
    __metadata_request__predict: ClassVar = ROUTED_TO_PREDICT
    __metadata_request__score: ClassVar = ROUTED_TO_SCORE

    missing_labels: str
    _has_offset: bool
    _has_queries = False

    @abstractmethod
    def _scores(self, X: MatrixLike) -> Floats:
        """Check rows and return their scores, without an offset."""

    def predict(self, X: MatrixLike, *, offset: ArrayLike | None = None) -> Floats:
        """Return a score for each row; larger is better.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        offset : array-like of shape (n_samples,), default=None
            Known scores to add. A model fitted with an offset needs one.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Only their order within a query has a meaning.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self._scores(X)
        is_finite = np.isfinite(scores)
        if not is_finite.all():
            row = int(np.argmin(is_finite))
            rule = "have rows small enough for finite scores"
            raise refusal("X", rule, f"{float(scores[row])!r} for row {row}")
        if offset is not None:
            return scores + checked_offset(offset, len(scores))
        if self._has_offset:
            warn(
                "fitted with an offset, asked without one: the scores "
                "are what was learnt on top of it."
            )
        return scores

    def rank(
        self, X: MatrixLike, qid: VectorLike | None = None, *, offset: ArrayLike | None = None
    ) -> Ints:
        """Return the rank of each row in the list of its query, 1 for the best.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        qid : array-like of shape (n_samples,), default=None
            The query of each row; None for one query of all rows, with a warning if the
            model was fitted with several.
        offset : array-like of shape (n_samples,), default=None
            Known scores to add.

        Returns
        -------
        ranks : ndarray of shape (n_samples,)
            Rows with equal scores stand in the order in which they are given.
        """
        found = ranks(self.predict(X, offset=offset), qid)
        self._warn_of_no_queries(qid)
        return found

    def score(
        self,
        X: MatrixLike,
        y: ArrayLike | Preferences,
        *,
        qid: VectorLike | None = None,
        offset: ArrayLike | None = None,
    ) -> float:
        """Return the share of pairs that are in the right order, averaged over queries.

        1 minus the `disagreement`: a tie counts one half. Of preferences, the mean is over
        all their pairs.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,) or Preferences
            How good they are, or which of two is better.
        qid : array-like of shape (n_samples,), default=None
            The query of each row; None for one query of all rows, with a warning if the
            model was fitted with several.
        offset : array-like of shape (n_samples,), default=None
            Known scores to add.

        Returns
        -------
        score : float
            1 at best.
        """
        scores = self.predict(X, offset=offset)
        wrong = disagreement(y, scores, qid=qid, missing_labels=self.missing_labels)
        if not isinstance(y, Preferences):
            self._warn_of_no_queries(qid)
        return 1.0 - float(wrong)

    def _warn_of_no_queries(self, qid: object) -> None:
        if qid is None and self._has_queries:
            warn(
                "fitted with queries, asked without: all rows count as one query, whose "
                "scores are compared. Give qid=, one value per row; the same one for all "
                "rows of one query."
            )

    def __sklearn_tags__(self) -> Tags:
        """Declare to scikit-learn what the estimator accepts."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def checked_offset(offset: object, n_rows: int) -> Floats:
    """Return an offset as finite numbers, one per row."""
    return one_per_row("offset", offset, n_rows)


def checked_weight(sample_weight: object, n_rows: int) -> Floats | None:
    """Return weights of rows, none of them negative; None if there are none."""
    return None if sample_weight is None else weights(sample_weight, n_rows)


# By id of an estimator that is being changed: the thread that does so, in a list that is
# told apart from those of nested calls by its identity.
_changing: dict[int, list[int]] = {}


@contextmanager
def all_or_nothing(estimator: BaseEstimator) -> Iterator[None]:
    """Put the estimator back as it was if anything goes wrong inside.

    Refuses to begin while another thread is inside with the same estimator, since what
    one of them learns would be lost, or mixed with what the other does.
    """
    claim = [get_ident()]
    try:
        owner = _changing.setdefault(id(estimator), claim)
        if owner != claim:
            raise refusal(
                "a model",
                "be changed by one thread at a time",
                "another thread is changing this model",
                error=RuntimeError,
            )
        before = dict(vars(estimator))
        try:
            yield
        except BaseException:
            estimator.__dict__.clear()
            estimator.__dict__.update(before)
            raise
    finally:
        if _changing.get(id(estimator)) is claim:
            del _changing[id(estimator)]


def shares_of(log_odds: Floats) -> Floats:
    """Return the probability of each class, given the log odds of being above all but the last.

    log_odds (n, k - 1) never rise from one class to the next. Each probability is a
    difference on the side on which it is exact: one of two numbers near 1 would have
    lost its digits.
    """
    edge = np.zeros((len(log_odds), 1))
    below = np.hstack([edge, expit(-log_odds), edge + 1.0])
    above = np.hstack([edge + 1.0, expit(log_odds), edge])
    is_low = below[:, 1:] < 0.5
    shares = np.where(is_low, np.diff(below, axis=1), above[:, :-1] - above[:, 1:])
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
