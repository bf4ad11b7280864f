"""What all on-line ordinal estimators share."""

from abc import ABCMeta, abstractmethod
from functools import partial
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from peckorder._base.transaction import all_or_nothing
from peckorder._core.row_transform import Stopped, View
from peckorder._core.typing import Ints, Labels, Rows
from peckorder._core.validation import (
    Rules,
    boolean,
    check_parameters,
    check_rows,
    check_stopped_row,
    count_rows,
    whole,
)
from peckorder.exceptions import DataError
from peckorder.feedback import LabelColumn, Scale, read_labels
from peckorder.ordinal.learners.base import Learner, learn
from peckorder.ordinal.storage import ORDINAL
from peckorder.storage.mixin import StoredModel


class OrdinalEstimator(StoredModel, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """Learns rows one after another; predicts a class on an ordered scale.

    A subclass says how to start a learner and what to show of it. Whatever goes
    wrong, or is interrupted, leaves the estimator as it was.
    """

    _stored_fields: ClassVar = ORDINAL
    _rules: ClassVar[Rules] = {
        "max_iter": whole(1),
        "shuffle": boolean,
        "fit_intercept": boolean,
        "unit_norm": boolean,
    }
    # Parameters that are part of what has been learnt so far.
    _fixed: ClassVar[tuple[str, ...]] = ("fit_intercept", "unit_norm")

    # Pipelines ask every last step for it under metadata routing.
    __metadata_request__score: ClassVar = {"sample_weight": None}

    max_iter: int
    shuffle: bool
    fit_intercept: bool
    unit_norm: bool
    classes: Any
    random_state: Any

    @abstractmethod
    def _new_learner(
        self, n_features: int, n_levels: int, rng: RandomState, **start: Any
    ) -> Learner:
        """Return a learner that knows nothing yet but what `start` tells it."""

    @abstractmethod
    def _publish(self, learner: Any) -> None:
        """Set the public attributes that show what `learner` has learnt."""

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from scratch.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels: numbers, an ordered categorical, or any of `classes`.

        Returns
        -------
        self
            The fitted estimator.
        """
        with all_or_nothing(self):
            self._fit(X, y)
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: Any = None) -> Self:
        """Go on learning: one pass over the rows in the order given.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The next rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like, default=None
            All classes that will ever occur, lowest first. Only the first call
            needs them, and only if its own labels don't show them all.

        Returns
        -------
        self
            The estimator, having learnt the rows.
        """
        with all_or_nothing(self):
            self._go_on(X, y, classes)
        return self

    def progressive(self, X: ArrayLike, y: ArrayLike, classes: Any = None) -> Labels:
        """Predict each row, then learn it, going on from the current state.

        The losses of these predictions estimate the error honestly without a test
        set, because no row has been seen when it is predicted. The predictions are
        those of `predict` before each row (but for rounding, where the score of an
        average or an ensemble lies on a threshold); what has been learnt afterwards
        is the same as after `partial_fit`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The next rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like, default=None
            All classes, lowest first, as in `partial_fit`.

        Returns
        -------
        predicted : ndarray of shape (n_samples,)
            The class predicted for each row before it was learnt.
        """
        with all_or_nothing(self):
            predicted = self._go_on(X, y, classes, predict=True)
        return self.classes_[predicted]

    def predict(self, X: ArrayLike) -> Labels:
        """Predict the class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        predicted : ndarray of shape (n_samples,)
            One of `classes_` for each row.
        """
        level = self._ask("levels", X)
        predicted: Labels = self.classes_[level]
        return predicted

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Return minus the mean rank loss, so that larger is better.

        The rank loss of a row is the number of steps on the scale of `classes_`
        between the predicted class and the true one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        score : float
            Zero at best.
        """
        guess = self._ask("levels", X)
        column = self._column(y, len(guess))
        truth = self._scale.levels(self._who, column, slice(None))
        return -float(np.mean(np.abs(guess - truth)))

    def __sklearn_tags__(self) -> Any:
        """Declare to scikit-learn what the estimator takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    @property
    def _who(self) -> str:
        return type(self).__name__

    def _view(self) -> View:
        return View(bool(self.fit_intercept), bool(self.unit_norm))

    def _check(self) -> None:
        """Refuse parameters that break a rule."""
        check_parameters(self, self._rules)
        check_random_state(self.random_state)

    def _check_first_rows(self, rows: Rows) -> None:
        """Refuse rows that learning cannot begin with."""

    def _takes_norms(self) -> bool:
        """Whether learning needs the norms of rows."""
        return bool(self.unit_norm)

    def _fit(self, X: ArrayLike, y: ArrayLike, **start: Any) -> None:
        """Learn from scratch, from a learner started with the options `start`."""
        self._check()
        rows = check_rows(self, X, reset=True, norms=self._takes_norms())
        self._check_first_rows(rows)
        column = self._column(y, count_rows(rows))
        if self.classes is None:
            scale = Scale.inferred(self._who, column)
        else:
            scale = Scale.given(self._who, self.classes)
        rng = check_random_state(self.random_state)
        learner = self._new_learner(self.n_features_in_, len(scale), rng, **start)
        for _ in range(self.max_iter):
            order = rng.permutation(count_rows(rows)) if self.shuffle else None
            self._learn(learner, rows, column, scale, order=order)
        self._begin(scale)
        self._store(learner, n_iter=self.max_iter)

    def _go_on(
        self, X: ArrayLike, y: ArrayLike, classes: Any, *, predict: bool = False
    ) -> Ints:
        """Learn one pass from the current state; return predictions if asked for."""
        self._check()
        is_new = not hasattr(self, "_learner")
        rows = check_rows(self, X, reset=is_new, norms=self._takes_norms())
        column = self._column(y, count_rows(rows))
        scale = self._first_scale(column, classes) if is_new else self._scale
        if is_new:
            self._check_first_rows(rows)
            rng = check_random_state(self.random_state)
            learner = self._new_learner(self.n_features_in_, len(scale), rng)
        else:
            self._check_unchanged(classes)
            learner = self._resumed(self._learner)
        predicted = np.empty(len(column) if predict else 0, dtype=np.int64)
        wanted = predicted if predict else None
        # The rows go on being counted where the last call ended.
        first = learner.tally.rounds
        self._learn(learner, rows, column, scale, predicted=wanted, first_number=first)
        if is_new:
            self._begin(scale)
        self._store(learner, n_iter=1)
        return predicted

    def _column(self, y: ArrayLike, n_rows: int) -> LabelColumn:
        column = read_labels(self._who, y)
        column.check_length(self._who, n_rows)
        return column

    def _first_scale(self, column: LabelColumn, classes: Any) -> Scale:
        """Find the scale of a stream from its classes or its first batch."""
        if classes is None:
            classes = self.classes
        elif self.classes is not None:
            self._check_classes(Scale.given(self._who, self.classes), classes)
        if classes is not None:
            return Scale.given(self._who, classes)
        hint = " Name all of them in classes=, lowest first."
        return Scale.inferred(self._who, column, hint)

    def _check_unchanged(self, classes: Any) -> None:
        """Refuse to go on under other terms than those begun with."""
        if classes is not None:
            self._check_classes(self._scale, classes)
        for name, value in self._begun_with.items():
            if getattr(self, name) != value:
                raise ValueError(
                    f"{self._who}: {name} must be {value!r} as when learning began; "
                    f"got {getattr(self, name)!r}. Call fit to start anew."
                )

    def _check_classes(self, scale: Scale, classes: Any) -> None:
        given = Scale.given(self._who, classes)
        if given != scale:
            raise ValueError(
                f"{self._who}: classes must be {scale} as given before; got {given}. "
                "Call fit to start anew."
            )

    def _resumed(self, learner: Any) -> Any:
        """Return a copy of `learner` to go on with."""
        return learner.copy()

    def _learn(
        self,
        learner: Learner,
        rows: Rows,
        column: LabelColumn,
        scale: Scale,
        *,
        order: Ints | None = None,
        predicted: Ints | None = None,
        first_number: int = 0,
    ) -> None:
        levels = partial(scale.levels, self._who, column)
        try:
            learn(
                learner,
                rows,
                levels,
                order=order,
                predicted=predicted,
                first_number=first_number,
            )
        except Stopped as stopped:
            self._refuse_to_learn(rows, stopped.row)

    def _ask(self, question: str, X: ArrayLike) -> Any:
        """Put a question about rows to the learner."""
        check_is_fitted(self, "classes_")
        # As when it learnt, whatever the parameters may have been set to since.
        learner = self._asked()
        rows = check_rows(self, X, reset=False, norms=learner.view.unit_norm)
        try:
            return getattr(learner, question)(rows)
        except Stopped as stopped:
            self._refuse(rows, stopped.row)

    def _asked(self) -> Any:
        """Return the learner that answers questions."""
        return self._learner

    def _refuse_to_learn(self, rows: Rows, row: int | None) -> NoReturn:
        """Say why `row`, or one that is not known, cannot be learnt."""
        self._refuse(rows, row)

    def _refuse(self, rows: Rows, row: int | None) -> NoReturn:
        """Say why `row` has no finite score."""
        place = ""
        if row is not None:
            check_stopped_row(self._who, rows, row, self.n_features_in_)
            place = f" by row {row}"
        advice = "." if self.unit_norm else ", or set unit_norm=True."
        raise DataError(
            f"{self._who}: X must be small enough for finite scores; got an overflow"
            f"{place}. Scale the features{advice}"
        ) from None

    def _begin(self, scale: Scale) -> None:
        self._scale = scale
        self.classes_ = scale.classes
        self._begun_with = {name: getattr(self, name) for name in self._fixed}

    def _store(self, learner: Any, n_iter: int) -> None:
        self._learner = learner
        self.n_iter_ = n_iter
        self.n_rounds_ = learner.tally.rounds
        self.n_mistakes_ = learner.tally.mistakes
        self.cumulative_loss_ = learner.tally.loss
        self._publish(learner)
