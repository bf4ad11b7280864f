"""Training of one person after the other, in any process."""

import warnings
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from math import nan
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import clone

from peckorder._core.errors import entry_named, refusal, shortened
from peckorder._core.pickling import SavedPlainly
from peckorder._core.threads import at_most, blas_threads_for
from peckorder._core.typing import Floats, Ints
from peckorder.collaborative import PersonalRanker
from peckorder.collaborative.baselines import ViewerModel
from peckorder.collaborative.personal.storage import person_bytes
from peckorder.feedback import Ratings, id_list
from peckorder.metrics import Metric, RankedLists, metrics_by_name
from peckorder.tables.model_rows import scores_of


class Record(NamedTuple):
    """The result for one person: a model, or the reason why there is none."""

    row: int
    person: Any
    n_ratings: int
    seconds: float
    measures: tuple[float, ...]
    reason: str | None
    model: bytes | None


class HeldOut(NamedTuple):
    """Ratings held out, and the metrics measured on them."""

    test: Ratings | None
    metrics: tuple[str, ...]

    def ratings_of(self, person: object) -> tuple[Ints, Floats]:
        """Return the positions of the items held out for a person, and the ratings."""
        assert self.test is not None
        csr, row = self.test.csr, self.test.user_index(person)
        stored = slice(csr.indptr[row], csr.indptr[row + 1])
        return csr.indices[stored].astype(np.intp), csr.data[stored]

    def check(self) -> None:
        """Refuse held-out ratings that a metric refuses, whatever the scores are."""
        if self.test is None or len(self.test.csr.data) == 0:
            return
        y = self.test.csr.data
        scores, person = np.zeros(len(y)), self.test.csr.tocoo().row
        lists = RankedLists.of(y, scores, person, "expected", None)
        for metric in metrics_by_name(self.metrics):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the scores are not real
                    metric.per_query(y, scores, person, lists)
            except ValueError as error:
                raise refusal(
                    "test",
                    f"have ratings that {metric.name!r} can be measured on",
                    f"others: {shortened(error)}",
                ) from None

    def measure(self, y: Floats, scores: Floats) -> tuple[float, ...]:
        """Return the metrics of a person's scores; NaN where they are undefined."""
        lists = RankedLists.of(y, scores, None, "expected", None)
        metrics = metrics_by_name(self.metrics)
        return tuple(_measured(metric, y, scores, lists) for metric in metrics)


def _measured(metric: Metric, y: Floats, scores: Floats, lists: RankedLists) -> float:
    try:
        return float(metric.per_query(y, scores, None, lists)[0])
    except ValueError:  # such as scores that are too large: others go on
        return nan


@dataclass(frozen=True, eq=False)
class OnRows(SavedPlainly):
    """Any estimator of rows, on features (n_items, n_features) of items.

    own (n_users,) is the column that is the person's own, -1 if there is none: it is
    left out. Estimators that take tables of viewers are given all items.
    """

    estimator: Any
    ratings: Ratings
    features: Any
    own: Ints
    held_out: HeldOut

    def learn(self, row: int, rated: Ints, values: Floats) -> Any:
        """Fit a copy of the estimator."""
        if not isinstance(self.estimator, ViewerModel):
            return clone(self.estimator).fit(self._rows(row, rated), values)
        y = np.full(self.ratings.n_items, np.nan)
        y[rated] = values
        return clone(self.estimator).fit(self._rows(row, slice(None)), y)

    def scores(self, row: int, model: Any, items: Ints) -> Floats:
        """Return the scores of the fitted copy for items."""
        X = self._rows(row, items)
        if isinstance(model, ViewerModel):
            return np.asarray(model.predict(X))
        return scores_of(model, X)

    def stored(self, row: int, model: Any) -> bytes:
        """Return the bytes of a model file."""
        data: bytes = model.to_bytes()
        return data

    def _rows(self, row: int, items: Ints | slice) -> Any:
        X, column = self.features[items], int(self.own[row])
        return X if column < 0 else np.delete(X, column, axis=1)


@dataclass(frozen=True, eq=False)
class OnShared(SavedPlainly):
    """People on top of what a fitted `PersonalRanker` has learnt from everybody.

    positions (n_items,) are those of the ratings' items in the ranker, which was fitted
    on the same ratings if `has_same_ratings`.
    """

    ranker: PersonalRanker
    ratings: Ratings
    positions: Ints
    has_same_ratings: bool
    held_out: HeldOut

    @entry_named("PersonalRanker")
    def learn(self, row: int, rated: Ints, values: Floats) -> Any:
        """Solve one small system; return it with what it was made of."""
        rated = self.positions[rated]
        order = np.argsort(rated)
        rated, values = rated[order], values[order]
        return self.ranker._learn_person(self._person(row), rated, values), (rated, values)

    def scores(self, row: int, model: Any, items: Ints) -> Floats:
        """Return the ratings that are expected of the person."""
        there = self.positions[items]
        scores: Floats = self.ranker.item_means_[there] + model[0].scores(there)
        return scores

    @entry_named("PersonalRanker")
    def stored(self, row: int, model: Any) -> bytes:
        """Return a few numbers for each rating, without what is shared."""
        learnt, rated = model
        return person_bytes(self._person(row), learnt, None if self.has_same_ratings else rated)

    def _person(self, row: int) -> Any:
        return id_list(self.ratings.users[row : row + 1])[0]


# All that a process needs to train people; sent to it once.
Task: TypeAlias = OnRows | OnShared


def learn_people(task: Task, rows: list[int]) -> list[Record]:
    """Learn the people of some rows, with one thread."""
    with blas_threads_for(0), at_most(1):
        return [_learn_one(task, row) for row in rows]


def learn_from_file(path: str, rows: list[int]) -> list[Record]:
    """Do the same with a task in a file, which is opened once per process."""
    return learn_people(_opened(path), rows)


@lru_cache(maxsize=1)
def _opened(path: str) -> Task:
    import joblib

    # Mapped, so that all processes have one copy of large arrays between them.
    task: Task = joblib.load(path, mmap_mode="r")
    return task


def _learn_one(task: Task, row: int) -> Record:
    csr = task.ratings.csr
    stored = slice(csr.indptr[row], csr.indptr[row + 1])
    rated, values = csr.indices[stored].astype(np.intp), csr.data[stored]
    person = id_list(task.ratings.users[row : row + 1])[0]
    measures = (nan,) * len(task.held_out.metrics)
    begin = perf_counter()
    try:
        model = task.learn(row, rated, values)
        taken = perf_counter() - begin
        data = task.stored(row, model)
    except (ValueError, ArithmeticError) as error:
        # The person's ratings are not enough, or unfit; those of others may be better.
        reason = str(error) or type(error).__name__
        taken = perf_counter() - begin
        return Record(row, person, len(values), taken, measures, reason, None)
    if task.held_out.test is not None:
        items, given = task.held_out.ratings_of(person)
        if len(items):
            with suppress(ValueError, ArithmeticError):  # scores that are none
                measures = task.held_out.measure(given, task.scores(row, model, items))
    return Record(row, person, len(values), taken, measures, None, data)
