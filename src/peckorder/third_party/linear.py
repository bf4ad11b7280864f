"""Linear rankers of scikit-learn and mord, which are a few numbers once they are fitted."""

import warnings
from importlib import import_module
from typing import ClassVar, Final, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from peckorder._base import ScoreEstimator, all_or_nothing
from peckorder._core.errors import entry, named, requiring
from peckorder._core.typing import Floats, Labels, MatrixLike, VectorLike
from peckorder._core.validation import Rules, check_parameters, not_negative
from peckorder.feedback import Scale, read_labels
from peckorder.metrics import rank_loss
from peckorder.storage.fields import Field, Table, floats, ints, number
from peckorder.storage.format import Node
from peckorder.storage.mixin import StoredModel
from peckorder.storage.models import refused_parameters

_RIDGES: Final = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)


@entry
class Ridge(ScoreEstimator, stored=True):
    """scikit-learn's ridge regression, whose ridge leaves rows out, one at a time.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weights.
    intercept_ : float
        The constant.
    alpha_ : float
        The ridge, of 0.01 to 1000.
    n_features_in_ : int
        The number of features.

    Notes
    -----
    `predict`, `save` and copying may run in several threads at once; `fit` may not run
    beside anything else on the same object.
    """

    _stored_fields: ClassVar = Table(
        Field("coef", floats("features"), "coef_"),
        Field("intercept", number(), "intercept_"),
        Field("alpha", number(), "alpha_"),
    )
    _rules: ClassVar[Rules] = {}
    _has_offset = False

    def fit(self, X: MatrixLike, y: VectorLike) -> Self:
        """Fit least squares.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The labels.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        # Only now: it takes long to be imported.
        from sklearn.linear_model import RidgeCV

        with all_or_nothing(self):
            rows = validate_data(self, X, dtype=np.float64)
            fitted = RidgeCV(_RIDGES).fit(rows, np.asarray(y, dtype=np.float64))
            self.coef_ = np.asarray(fitted.coef_)
            self.intercept_, self.alpha_ = float(fitted.intercept_), float(fitted.alpha_)
        return self

    def _scores(self, X: MatrixLike) -> Floats:
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=np.float64)
        return np.asarray(rows @ self.coef_ + self.intercept_)


def _complete(node: Node) -> None:
    values, owner = node.values, node.owner
    with refused_parameters(), named("Mord"):
        scale = Scale.given(owner.classes)
    seen = values["seen_"]
    if not 0 < len(seen) <= len(scale) or seen[-1] >= len(scale):
        raise node.refuse("seen", "levels of the classes")
    if len(values["thresholds_"]) != len(seen) - 1:
        raise node.refuse("thresholds", "one between each two seen levels")
    values["classes_"] = scale.classes


@entry
class Mord(StoredModel, BaseEstimator, stored=True):  # type: ignore[misc]
    """mord's ordinal logistic regression, all thresholds.

    Parameters
    ----------
    alpha : float, default=1.0
        The ridge.
    classes : array-like, default=None
        All classes, lowest first; needed.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weights.
    thresholds_ : ndarray
        The thresholds between classes that were seen.
    classes_ : ndarray of shape (n_classes,)
        All classes.
    seen_ : ndarray
        The positions of those that were seen.
    n_features_in_ : int
        The number of features.

    Notes
    -----
    `fit` needs mord: ``pip install mord``. What was fitted does not.

    `predict`, `save` and copying may run in several threads at once; `fit` may not run
    beside anything else on the same object.
    """

    _stored_fields: ClassVar = Table(
        Field("coef", floats("features"), "coef_"),
        Field("thresholds", floats("cuts", ascending=True), "thresholds_"),
        Field("seen", ints(None, rising=True), "seen_"),
        complete=_complete,
    )
    _rules: ClassVar[Rules] = {"alpha": not_negative}

    def __init__(self, alpha: float = 1.0, *, classes: VectorLike | None = None) -> None:
        self.alpha = alpha
        self.classes = classes

    def fit(self, X: MatrixLike, y: VectorLike) -> Self:
        """Fit; mord takes levels without gaps.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Some of `classes`.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_parameters(self, self._rules)
        with requiring("mord", "to fit a Mord model", "mord"):
            mord = import_module("mord")
        with all_or_nothing(self):
            rows = validate_data(self, X, dtype=np.float64)
            scale = Scale.given(self.classes)
            levels = scale.levels(read_labels(y), slice(None))
            self.classes_ = scale.classes
            self.seen_, target = np.unique(levels, return_inverse=True)
            self.coef_, self.thresholds_ = np.zeros(rows.shape[1]), np.empty(0)
            if len(self.seen_) > 1:
                with warnings.catch_warnings():
                    # Of options of SciPy that mord still names.
                    warnings.simplefilter("ignore", DeprecationWarning)
                    fitted = mord.LogisticAT(alpha=self.alpha).fit(rows, target)
                self.coef_, self.thresholds_ = np.asarray(fitted.coef_), np.asarray(fitted.theta_)
        return self

    def rename(self, classes: VectorLike) -> Self:
        """Give the classes of a fitted ranker other names, in the same order."""
        self.classes_ = Scale.given(classes).classes
        return self.set_params(classes=classes)  # type: ignore[no-any-return]

    def decision_function(self, X: MatrixLike) -> Floats:
        """Return the scores that are compared with the thresholds."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=np.float64)
        return np.asarray(rows @ self.coef_)

    def predict(self, X: MatrixLike) -> Labels:
        """Return one of the classes for each row."""
        level = np.searchsorted(self.thresholds_, self.decision_function(X))
        return np.asarray(self.classes_[self.seen_[level]])

    def score(self, X: MatrixLike, y: VectorLike) -> float:
        """Return minus the mean rank loss."""
        return -float(rank_loss(y, self.predict(X), classes=self.classes_))
