"""The base of baselines that score items by the ratings of viewers."""

from abc import ABCMeta, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from peckorder._base import all_or_nothing
from peckorder._core.errors import caller, entry, refusal
from peckorder._core.typing import Floats
from peckorder._core.validation import Rules, check_parameters
from peckorder.storage.mixin import StoredModel

_LARGEST = 1e100


@entry
class ViewerModel(StoredModel, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """Scores items, one per row, by the ratings of viewers, one per column.

    NaN means "not rated", in X and in y. A subclass defines `_learn`, which sets the
    attributes, `_scores`, which uses them, and `_stored_fields`, which lists them.
    """

    _rules: ClassVar[Rules] = {}
    _may_be_inner = False

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from the ratings of viewers and of one person.

        Parameters
        ----------
        X : array-like of shape (n_items, n_viewers)
            The viewers' ratings; NaN if missing. Include items that the person has not
            rated: the mean of a viewer is that of all their ratings.
        y : array-like of shape (n_items,)
            The person's ratings; NaN if missing.

        Returns
        -------
        self
            The fitted estimator.
        """
        check_parameters(self, self._rules)
        with all_or_nothing(self):
            table = self._table(X, reset=True)
            self._learn(table, self._person(y, table))
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return a score for each item; larger is better.

        Parameters
        ----------
        X : array-like of shape (n_items, n_viewers)
            The ratings of the same viewers.

        Returns
        -------
        scores : ndarray of shape (n_items,)
            One per item, rated by the person or not.
        """
        check_is_fitted(self)
        return self._scores(self._table(X, reset=False))

    @abstractmethod
    def _learn(self, X: Floats, y: Floats) -> None:
        """Set the attributes that `_scores` needs; X and y may contain NaN."""

    @abstractmethod
    def _scores(self, X: Floats) -> Floats:
        """Return the scores of checked rows."""

    def _table(self, X: ArrayLike, *, reset: bool) -> Floats:
        table: Floats = validate_data(
            self, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan"
        )
        if np.nanmax(np.abs(table), initial=0.0) > _LARGEST:
            raise refusal(
                "X",
                "be at most 1e+100 in size, so that ratings can be squared",
                repr(float(np.nanmax(np.abs(table)))),
            )
        return table

    def _person(self, y: ArrayLike | None, X: Floats) -> Floats:
        if y is None:
            raise ValueError(f"{caller()} requires y to be passed, but the target y is None")
        person: Floats = column_or_1d(y, warn=True, dtype=np.float64)
        check_consistent_length(X, person)
        if np.isinf(person).any():
            raise refusal(
                "y",
                "be finite, or NaN where there is no rating",
                f"infinity in row {int(np.argmax(np.isinf(person)))}: Input y contains infinity",
            )
        if np.isnan(person).all():
            raise refusal("y", "have a rating", "NaN alone")
        return person

    def __sklearn_tags__(self) -> Any:
        """Declare to scikit-learn which data the estimator accepts."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags
