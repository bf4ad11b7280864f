"""What the baselines share that score items by what viewers gave them."""

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

from peckorder._base.transaction import all_or_nothing
from peckorder._core.typing import Floats
from peckorder._core.validation import Rules, check_parameters
from peckorder.exceptions import DataError
from peckorder.storage.mixin import StoredModel

_LARGEST = 1e100


class ViewerModel(StoredModel, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """Scores items, one a row, by the ratings of viewers, one a column.

    NaN is "not rated", in X and in y. A subclass says in `_learn` what it makes of all
    rows and of a person's ratings, and in `_scores` what it makes of rows then;
    `_stored_fields` are the attributes that this needs.
    """

    _rules: ClassVar[Rules] = {}
    _may_be_inner = False

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from what viewers, and one person, gave to items.

        Parameters
        ----------
        X : array-like of shape (n_items, n_viewers)
            The viewers' ratings; NaN where there is none. Rows that the person has not
            rated belong here too: a viewer's mean runs over all that he rated.
        y : array-like of shape (n_items,)
            The person's ratings; NaN where there is none.

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
            Of all items, rated by the person or not.
        """
        check_is_fitted(self)
        return self._scores(self._table(X, reset=False))

    @abstractmethod
    def _learn(self, X: Floats, y: Floats) -> None:
        """Set the attributes that `_scores` needs; y has NaN where X may have more."""

    @abstractmethod
    def _scores(self, X: Floats) -> Floats:
        """Return the scores of checked rows."""

    def _table(self, X: Any, *, reset: bool) -> Floats:
        X = validate_data(
            self, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan"
        )
        table: Floats = X
        if np.nanmax(np.abs(table), initial=0.0) > _LARGEST:
            raise DataError(
                f"{self._who}: X must be at most 1e+100 in size, so that ratings can "
                f"be squared; got {float(np.nanmax(np.abs(table)))!r}."
            )
        return table

    def _person(self, y: Any, X: Floats) -> Floats:
        if y is None:
            raise ValueError(
                f"{self._who} requires y to be passed, but the target y is None"
            )
        given = column_or_1d(y, warn=True, dtype=np.float64)
        check_consistent_length(X, given)
        if np.isinf(given).any():
            raise DataError(
                f"{self._who}: y must be finite, or NaN where there is no rating; got "
                f"infinity in row {int(np.argmax(np.isinf(given)))}: Input y contains "
                "infinity."
            )
        if np.isnan(given).all():
            raise DataError(f"{self._who}: y must have a rating; got NaN alone.")
        person: Floats = given
        return person

    def __sklearn_tags__(self) -> Any:
        """Declare to scikit-learn what the estimator takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags

    @property
    def _who(self) -> str:
        return type(self).__name__


def column_means(X: Floats, empty: float = 0.0) -> Floats:
    """Return the mean of what each viewer rated; `empty` for one who rated nothing."""
    is_rated = ~np.isnan(X)
    count = is_rated.sum(axis=0)
    means = np.full(X.shape[1], empty)
    total = np.where(is_rated, X, 0.0).sum(axis=0)
    return np.divide(total, count, out=means, where=count > 0)  # type: ignore[no-any-return]
