"""Progressive validation: every batch is predicted before it is learnt."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from inspect import signature
from typing import Any, NamedTuple

from sklearn.exceptions import NotFittedError

from peckorder._core.typing import Labels
from peckorder.exceptions import DataError
from peckorder.feedback import Scale, read_labels
from peckorder.metrics import rank_loss

_WHO = "progressive_validation"


class Progress(NamedTuple):
    """How well a stream has been predicted so far.

    rounds are the rows predicted, rank_loss their mean loss, batch_loss the mean loss
    of the last batch alone; NaN while nothing has been predicted.
    """

    rounds: int
    rank_loss: float
    batch_loss: float


def progressive_validation(
    estimator: Any, stream: Iterable[tuple[Any, Any]], *, classes: Any = None
) -> Iterator[Progress]:
    """Predict a stream before learning it, and say after each batch how it goes.

    ``(1/T) sum |yhat_t - y_t|``, in steps between classes, of predictions made before
    their rows were learnt: an honest estimate of the error that needs no test set.

    Parameters
    ----------
    estimator : object
        Goes on learning from the state it is in, fitted or not. With a method
        `progressive`, as all ordinal estimators of ours have, each row is
        predicted by what was learnt from all rows before it. Others need `predict`
        and `partial_fit`: a batch is predicted, then learnt; if such an estimator
        knows nothing yet, the first batch is only learnt.
    stream : iterable of pairs (X, y)
        The batches. Each is asked for once, when the one before is done with, and
        none is kept.
    classes : array-like, default=None
        All classes, lowest first. Without them the estimator's own are taken, or
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
    Costs what learning costs. Nothing happens, and nothing is learnt, but what is
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
        raise TypeError(
            f"{_WHO}: estimator must be an object, not a class; got {estimator!r}. "
            f"Write {estimator.__name__}()."
        )
    steps = _has(estimator, "progressive")
    if not steps and not _has(estimator, "predict", "partial_fit"):
        raise TypeError(
            f"{_WHO}: estimator must be an object with progressive, or with predict "
            f"and partial_fit; got {estimator!r}."
        )
    if not isinstance(stream, Iterable):
        raise TypeError(f"{_WHO}: stream must be batches (X, y); got {stream!r}.")
    if classes is not None:
        Scale.given(_WHO, classes)
    runner = _ByRows(estimator, classes) if steps else _ByBatches(estimator, classes)
    return _progress(runner, stream)


def _has(estimator: Any, *methods: str) -> bool:
    return all(callable(getattr(estimator, method, None)) for method in methods)


class _ByRows:
    """Leaves it to the estimator to predict each row before learning it."""

    def __init__(self, estimator: Any, classes: Any) -> None:
        self.estimator = estimator
        self.given = {} if classes is None else {"classes": classes}

    @property
    def classes(self) -> Any:
        """The classes in whose steps losses are counted."""
        return self.given.get("classes", getattr(self.estimator, "classes_", None))

    def predict_and_learn(self, X: Any, y: Any) -> Labels | None:
        """Return the predictions."""
        predicted: Labels = self.estimator.progressive(X, y, **self.given)
        return predicted


class _ByBatches:
    """Predicts each batch, then learns it."""

    def __init__(self, estimator: Any, classes: Any) -> None:
        self.estimator = estimator
        self.classes = classes
        # What the losses are counted in and what partial_fit is told: a regressor is
        # told nothing.
        self.tells = "classes" in signature(estimator.partial_fit).parameters

    def predict_and_learn(self, X: Any, y: Any) -> Labels | None:
        """Return the predictions; None if there is nothing yet to predict with."""
        if self.tells and self.classes is None:
            column = read_labels(_WHO, getattr(self.estimator, "classes_", y))
            hint = " Name all of them in classes=, lowest first."
            self.classes = Scale.inferred(_WHO, column, hint).classes
        predicted: Labels | None = None
        with suppress(NotFittedError):
            predicted = self.estimator.predict(X)
        if self.tells:
            self.estimator.partial_fit(X, y, classes=self.classes)
        else:
            self.estimator.partial_fit(X, y)
        return predicted


def _shape_of(batch: Any) -> str:
    kind = type(batch).__name__
    return f"{kind} of {len(batch)}" if isinstance(batch, tuple | list) else kind


def _progress(
    runner: _ByRows | _ByBatches, stream: Iterable[tuple[Any, Any]]
) -> Iterator[Progress]:
    rounds, total = 0, 0.0
    for number, batch in enumerate(stream):
        if not isinstance(batch, tuple | list) or len(batch) != 2:
            raise DataError(
                f"{_WHO}: stream must be batches (X, y), two each; got "
                f"{_shape_of(batch)} as batch {number}."
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
