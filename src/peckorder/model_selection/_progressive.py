"""Progressive validation: every batch is predicted before it is learnt."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from inspect import signature
from typing import Any, NamedTuple, TypeAlias

from sklearn.exceptions import NotFittedError

from peckorder._core.errors import entry, entry_named, refusal
from peckorder._core.typing import Labels, MatrixLike, VectorLike
from peckorder.feedback import Scale, read_labels
from peckorder.metrics import rank_loss

# An estimator with `progressive`, or with `predict` and `partial_fit`.
OnlineEstimator: TypeAlias = Any
Batch: TypeAlias = tuple[MatrixLike, VectorLike]


class Progress(NamedTuple):
    """How well a stream has been predicted so far.

    rounds are the rows predicted, rank_loss their mean loss, batch_loss the mean loss
    of the last batch alone; NaN while nothing has been predicted.
    """

    rounds: int
    rank_loss: float
    batch_loss: float


@entry
def progressive_validation(
    estimator: OnlineEstimator, stream: Iterable[Batch], *, classes: VectorLike | None = None
) -> Iterator[Progress]:
    """Predict a stream before learning it, and return the losses after each batch.

    ``(1/T) sum |yhat_t - y_t|``, in steps between classes, of predictions made before
    their rows were learnt: an honest estimate of the error that needs no test set.

    Parameters
    ----------
    estimator : object
        Continues learning from its state, fitted or not. With a method `progressive`,
        as all ordinal estimators of ours have, each row is predicted by what was learnt
        from all rows before it. Others need `predict` and `partial_fit`: a batch is
        predicted, then learnt; if such an estimator is not fitted yet, the first batch
        is only learnt.
    stream : iterable of pairs (X, y)
        The batches. Each is requested once, after the one before was processed, and
        none is kept.
    classes : array-like, default=None
        All classes, lowest first. Without them those of the estimator are used, or
        those of the first batch.

    Yields
    ------
    progress : Progress
        `rounds`, `rank_loss` and `batch_loss`, after every batch.

    See Also
    --------
    peckorder.metrics.time_averaged_rank_loss : The same, row by row.

    Notes
    -----
    Costs what learning costs. Batches are predicted and learnt only as the result is
    iterated over.

    Examples
    --------
    >>> from peckorder import PRank
    >>> from peckorder.datasets import make_square
    >>> from peckorder.model_selection import progressive_validation
    >>> batches = (make_square(500, random_state=seed) for seed in range(3))
    >>> for progress in progressive_validation(PRank(), batches):
    ...     print(progress.rounds, round(progress.rank_loss, 2))
    500 0.81
    1000 0.65
    1500 0.55
    """
    if isinstance(estimator, type):
        raise refusal(
            "estimator",
            "be an object, not a class",
            repr(estimator),
            hint=f"Write {estimator.__name__}().",
            error=TypeError,
        )
    steps = _has(estimator, "progressive")
    if not steps and not _has(estimator, "predict", "partial_fit"):
        raise refusal(
            "estimator",
            "be an object with progressive, or with predict and partial_fit",
            repr(estimator),
            error=TypeError,
        )
    if not isinstance(stream, Iterable):
        raise refusal("stream", "be batches (X, y)", repr(stream), error=TypeError)
    if classes is not None:
        Scale.given(classes)
    runner = _ByRows(estimator, classes) if steps else _ByBatches(estimator, classes)
    return _progress(runner, stream)


def _has(estimator: object, *methods: str) -> bool:
    return all(callable(getattr(estimator, method, None)) for method in methods)


class _ByRows:
    """Uses the estimator's method that predicts each row before learning it."""

    def __init__(self, estimator: OnlineEstimator, classes: VectorLike | None) -> None:
        self.estimator = estimator
        self.options = {} if classes is None else {"classes": classes}

    @property
    def classes(self) -> VectorLike | None:
        """The classes in whose steps losses are counted."""
        return self.options.get("classes", getattr(self.estimator, "classes_", None))

    def predict_and_learn(self, X: MatrixLike, y: VectorLike) -> Labels | None:
        """Return the predictions."""
        predicted: Labels = self.estimator.progressive(X, y, **self.options)
        return predicted


class _ByBatches:
    """Predicts each batch, then learns it."""

    def __init__(self, estimator: OnlineEstimator, classes: VectorLike | None) -> None:
        self.estimator = estimator
        self.classes = classes
        # Losses are counted in classes; regressors do not take them.
        self.takes_classes = "classes" in signature(estimator.partial_fit).parameters

    def predict_and_learn(self, X: MatrixLike, y: VectorLike) -> Labels | None:
        """Return the predictions; None if the estimator was not fitted yet."""
        if self.takes_classes and self.classes is None:
            column = read_labels(getattr(self.estimator, "classes_", y))
            hint = " Name all of them in classes=, lowest first."
            self.classes = Scale.inferred(column, hint).classes
        predicted: Labels | None = None
        with suppress(NotFittedError):
            predicted = self.estimator.predict(X)
        if self.takes_classes:
            self.estimator.partial_fit(X, y, classes=self.classes)
        else:
            self.estimator.partial_fit(X, y)
        return predicted


def _shape_of(batch: object) -> str:
    name = type(batch).__name__
    return f"{name} of {len(batch)}" if isinstance(batch, tuple | list) else name


@entry_named("progressive_validation")
def _progress(runner: _ByRows | _ByBatches, stream: Iterable[Batch]) -> Iterator[Progress]:
    rounds, total = 0, 0.0
    for number, batch in enumerate(stream):
        if not isinstance(batch, tuple | list) or len(batch) != 2:
            raise refusal(
                "stream", "be batches (X, y), two each", f"{_shape_of(batch)} as batch {number}"
            )
        X, y = batch
        predicted = runner.predict_and_learn(X, y)
        loss = float("nan")
        if predicted is not None:
            loss = rank_loss(y, predicted, classes=runner.classes)
            steps = loss * len(predicted)
            total += steps if runner.classes is None else round(steps)
            rounds += len(predicted)
        yield Progress(rounds, total / rounds if rounds else float("nan"), loss)
