"""What on-line ordinal estimators share: the scale, the learner, and model files."""

from abc import ABCMeta, abstractmethod
from copy import copy
from functools import partial
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from peckorder._base import all_or_nothing
from peckorder._core.errors import entry, named, refusal
from peckorder._core.row_transform import RowTransform, UnusableRow
from peckorder._core.typing import Array, Ints, Labels, MatrixLike, Rows, Seed, VectorLike
from peckorder._core.validation import (
    Rules,
    boolean,
    check_parameters,
    check_rows,
    check_unusable_row,
    count_rows,
    generator,
    whole,
)
from peckorder.feedback import LabelColumn, Scale, read_labels
from peckorder.ordinal.learners.base import Learner, learn, read_learner, write_learner
from peckorder.storage.fields import Field, FieldType, Table, scale
from peckorder.storage.format import Node, read_value
from peckorder.storage.mixin import StoredModel
from peckorder.storage.models import check_bounds, refused_parameters, stored_parameter


def _is_ready(y: Any) -> bool:
    """Whether labels are read as they are.

    Scikit-learn takes longer to find out than PRank to learn a row.
    """
    is_plain = type(y) is np.ndarray and y.ndim == 1 and y.flags.c_contiguous
    return is_plain and y.dtype.kind in "biuf" and y.dtype.itemsize <= 8


def _begun_with(model: "OrdinalEstimator") -> dict[str, Any]:
    return {name: stored_parameter(name, value) for name, value in model._begun_with.items()}


def _read_begun(node: Node, name: str) -> "OrdinalEstimator":
    """Return the model with the parameters that learning began with.

    They may have been set to other values since.
    """
    entries, begun = node.child(name), copy(node.owner)
    for parameter in begun._fixed:
        if parameter in begun._not_in_old_files and parameter not in entries.names():
            value = begun._not_in_old_files[parameter]
        else:
            value = read_value(entries.path, entries.raw(parameter))
        setattr(begun, parameter, value)
    with refused_parameters(), named(type(begun).__name__):
        begun._check()
    check_bounds({parameter: getattr(begun, parameter) for parameter in begun._fixed})
    model: OrdinalEstimator = begun
    return model


def _read_learner(node: Node, name: str) -> Any:
    begun, n_levels = node.values["begun_with"], len(node.values["_scale"])
    n_features = node.sizes["features"]
    # Before arrays are allocated: a file must not ask for more memory than its size.
    for part, shape in begun._shapes(n_features, n_levels).items():
        if shape not in (node.shape(name, part), node.shape(name, "linear", part)):
            raise node.refuse(f"{name}.{part}", f"of shape {shape}")
    rng = np.random.RandomState(0)  # for keys that are replaced
    blank = begun._new_learner(n_features, n_levels, rng)
    return read_learner(blank, node.child(name, inherit=True))


def _complete(node: Node) -> None:
    values = node.values
    begun = values.pop("begun_with")
    begun._begin(values["_scale"])
    begun._store(values["_learner"], values["n_iter_"])
    parameters = begun.get_params(deep=False)
    values |= {k: v for k, v in vars(begun).items() if k not in parameters}


@entry
class OrdinalEstimator(StoredModel, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """Learns rows one after another; predicts a class on an ordered scale.

    A subclass defines how to start a learner and what to publish of it. An error, or
    an interrupt, leaves the estimator as it was.
    """

    _stored_fields: ClassVar = Table(
        Field("classes", scale, "_scale"),
        Field("begun_with", FieldType(_read_begun), _begun_with),
        Field("n_iter", FieldType(lambda node, name: node.whole(name, 1)), "n_iter_"),
        Field("learner", FieldType(_read_learner, write_learner), "_learner"),
        complete=_complete,
    )
    _rules: ClassVar[Rules] = {
        "max_iter": whole(1),
        "shuffle": boolean,
        "fit_intercept": boolean,
        "unit_norm": boolean,
    }
    # Parameters that are part of what has been learnt so far.
    _fixed: ClassVar[tuple[str, ...]] = ("fit_intercept", "unit_norm")
    # Those of them that files of earlier versions lack, and what models did then.
    _not_in_old_files: ClassVar[dict[str, Any]] = {}

    # Pipelines want it of every last step under metadata routing.
    __metadata_request__score: ClassVar = {"sample_weight": None}

    max_iter: int
    shuffle: bool
    fit_intercept: bool
    unit_norm: bool
    classes: VectorLike | None
    random_state: Seed
    _learner: Learner

    @abstractmethod
    def _new_learner(
        self, n_features: int, n_levels: int, rng: RandomState, **start: ArrayLike | None
    ) -> Learner:
        """Return a learner that has learnt nothing yet, started from `start`."""

    def _shapes(self, n_features: int, n_levels: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of a learner's arrays that grow with its data."""
        return {"weights": (n_features + bool(self.fit_intercept),)}

    @abstractmethod
    def _publish(self) -> None:
        """Set the public attributes that show what the learner has learnt."""

    def fit(self, X: MatrixLike, y: VectorLike) -> Self:
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

    def partial_fit(self, X: MatrixLike, y: VectorLike, classes: VectorLike | None = None) -> Self:
        """Continue learning: one pass over the rows in the order given.

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
            self._continue(X, y, classes)
        return self

    def progressive(
        self, X: MatrixLike, y: VectorLike, classes: VectorLike | None = None
    ) -> Labels:
        """Predict each row, then learn it, continuing from the current state.

        The losses of these predictions are an honest estimate of the error without a
        test set, because no row has been learnt when it is predicted. The predictions
        are those of `predict` before each row (but for rounding, where the score of an
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
            predicted = self._continue(X, y, classes, predict=True)
        return self.classes_[predicted]

    def predict(self, X: MatrixLike) -> Labels:
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
        level = self._from_learner("levels", X)
        predicted: Labels = self.classes_[level]
        return predicted

    def score(self, X: MatrixLike, y: VectorLike) -> float:
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
        guess = self._from_learner("levels", X)
        column = self._column(y, len(guess))
        truth = self._scale.levels(column, slice(None))
        return -float(np.mean(np.abs(guess - truth)))

    def __sklearn_tags__(self) -> Tags:
        """Declare to scikit-learn what the estimator accepts."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def _transform(self) -> RowTransform:
        return RowTransform(bool(self.fit_intercept), bool(self.unit_norm))

    def _check(self) -> None:
        """Refuse parameters that break a rule."""
        check_parameters(self, self._rules)
        generator(self.random_state)

    def _check_first_rows(self, rows: Rows) -> None:
        """Refuse rows that learning cannot begin with."""

    def _needs_norms(self) -> bool:
        """Whether learning needs the norms of rows."""
        return bool(self.unit_norm)

    def _fit(
        self,
        X: MatrixLike,
        y: VectorLike,
        how: dict[str, Any] | None = None,
        **start: ArrayLike | None,
    ) -> None:
        """Learn from scratch, or from a rule given by `start`; `how` as in `_learn`."""
        self._check()
        rows = check_rows(self, X, reset=True, norms=self._needs_norms())
        self._check_first_rows(rows)
        column = self._column(y, count_rows(rows))
        if self.classes is None:
            scale = Scale.inferred(column)
        else:
            scale = Scale.given(self.classes)
        rng = generator(self.random_state)
        learner = self._new_learner(self.n_features_in_, len(scale), rng, **start)
        learner = self._learn_passes(learner, rows, column, scale, rng, **(how or {}))
        self._begin(scale)
        self._store(learner, n_iter=self.max_iter)

    def _learn_passes(
        self,
        learner: Learner,
        rows: Rows,
        column: LabelColumn,
        scale: Scale,
        rng: RandomState,
        **how: Any,
    ) -> Learner:
        """Return the learner, which has learnt all rows `max_iter` times."""
        for _ in range(self.max_iter):
            order = rng.permutation(count_rows(rows)) if self.shuffle else None
            self._learn(learner, rows, column, scale, order=order, **how)
        return learner

    def _continue(
        self,
        X: MatrixLike,
        y: VectorLike,
        classes: VectorLike | None,
        *,
        predict: bool = False,
        **how: Any,
    ) -> Ints:
        """Learn one pass from the current state; return predictions if wanted."""
        self._check()
        is_new = not hasattr(self, "_learner")
        rows = check_rows(self, X, reset=is_new, norms=self._needs_norms())
        column = self._column(y, count_rows(rows))
        scale = self._first_scale(column, classes) if is_new else self._scale
        if is_new:
            self._check_first_rows(rows)
            rng = generator(self.random_state)
            learner = self._new_learner(self.n_features_in_, len(scale), rng)
        else:
            self._check_unchanged(classes)
            learner = self._resumed()
        predicted = np.empty(len(column) if predict else 0, dtype=np.int64)
        # Rows are numbered on from where the last call ended.
        self._learn(
            learner,
            rows,
            column,
            scale,
            predicted=predicted if predict else None,
            first_number=learner.tally.rounds,
            **how,
        )
        if is_new:
            self._begin(scale)
        self._store(learner, n_iter=1)
        return predicted

    def _column(self, y: VectorLike, n_rows: int) -> LabelColumn:
        column = LabelColumn(np.asarray(y)) if _is_ready(y) else read_labels(y)
        column.check_length(n_rows)
        return column

    def _first_scale(self, column: LabelColumn, classes: VectorLike | None) -> Scale:
        """Find the scale of a stream from its classes or its first batch."""
        if classes is None:
            classes = self.classes
        elif self.classes is not None:
            self._check_classes(Scale.given(self.classes), classes)
        if classes is not None:
            return Scale.given(classes)
        hint = " Name all of them in classes=, lowest first."
        return Scale.inferred(column, hint)

    def _check_unchanged(self, classes: VectorLike | None) -> None:
        """Refuse to continue with other parameters than those begun with."""
        if classes is not None:
            self._check_classes(self._scale, classes)
        for name, value in self._begun_with.items():
            if getattr(self, name) != value:
                raise refusal(
                    name,
                    f"be {value!r} as when learning began",
                    repr(getattr(self, name)),
                    hint="Call fit to start anew.",
                    error=ValueError,
                )

    def _check_classes(self, scale: Scale, classes: VectorLike) -> None:
        given = Scale.given(classes)
        if given != scale:
            raise refusal(
                "classes",
                f"be {scale} as given before",
                given,
                hint="Call fit to start anew.",
                error=ValueError,
            )

    def _resumed(self) -> Learner:
        """Return a copy of the learner to continue with."""
        return self._learner.copy()

    def _learn(
        self, learner: Learner, rows: Rows, column: LabelColumn, scale: Scale, **how: Any
    ) -> None:
        """Learn rows, by the options of `learn`; refuse one that cannot be learnt."""
        try:
            learn(learner, rows, partial(scale.levels, column), **how)
        except UnusableRow as unusable:
            self._refuse_to_learn(rows, unusable.row)

    def _from_learner(self, method: str, X: MatrixLike) -> Array:
        """Return what a method of the learner computes for rows."""
        if not hasattr(self, "classes_"):  # quicker than scikit-learn finds out
            check_is_fitted(self, "classes_")
        # As when it learnt, whatever the parameters may have been set to since.
        learner = self._predicting()
        rows = check_rows(self, X, reset=False, norms=learner.transform.unit_norm)
        try:
            result: Array = getattr(learner, method)(rows)
        except UnusableRow as unusable:
            self._refuse(rows, unusable.row)
        return result

    def _predicting(self) -> Learner:
        """Return the learner that predicts."""
        return self._learner

    def _refuse_to_learn(self, rows: Rows, row: int | None) -> NoReturn:
        """Raise because `row`, or one that is not known, cannot be learnt."""
        self._refuse(rows, row)

    def _refuse(self, rows: Rows, row: int | None) -> NoReturn:
        """Raise because `row` has no finite score."""
        where = ""
        if row is not None:
            check_unusable_row(rows, row, self.n_features_in_)
            where = f" by row {row}"
        advice = "." if self.unit_norm else ", or set unit_norm=True."
        raise refusal(
            "X",
            "be small enough for finite scores",
            f"an overflow{where}",
            hint=f"Scale the features{advice}",
        ) from None

    def _begin(self, scale: Scale) -> None:
        self._scale = scale
        self.classes_ = scale.classes
        self._begun_with = {name: getattr(self, name) for name in self._fixed}

    def _store(self, learner: Learner, n_iter: int) -> None:
        self._learner = learner
        self.n_iter_ = n_iter
        self.n_rounds_ = learner.tally.rounds
        self.n_mistakes_ = learner.tally.mistakes
        self.cumulative_loss_ = learner.tally.loss
        self._publish()
