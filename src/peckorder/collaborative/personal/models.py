"""What a personal ranker learns: a model that all people share, and one per person."""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final, NamedTuple, NoReturn, Protocol

import numpy as np
from scipy.linalg import lapack, lstsq
from sklearn.base import clone

from peckorder._core.errors import refusal
from peckorder._core.threads import blas_threads_for
from peckorder._core.typing import Estimator, Floats, Ints, Predictor
from peckorder.collaborative.personal.item_kernel import ItemKernel
from peckorder.magnitude.mprank_cv import MPRankCV

# In units of the noise: the shared model expects 1.
RIDGES = 2.0 ** np.arange(-3, 5)
# A ridge that is smaller, relative to the kernel, is lost in the rounding of cosines.
_SMALL = 1e-7


class PersonModel(Protocol):
    """The model of one person: scores of items relative to the item means."""

    def scores(self, items: Ints | slice) -> Floats:
        """Return what to add to the means of these items."""


@dataclass(frozen=True, eq=False)
class ShiftModel:
    """A person with enough ratings, but without references to compare them with."""

    shift: float

    def scores(self, items: Ints | slice) -> Floats:
        """Return the same number for all items."""
        return np.float64(self.shift)  # type: ignore[return-value]


class ConstantModel(ShiftModel):
    """A person of whom only the level of the ratings is known."""


@dataclass(frozen=True, eq=False)
class KernelModel:
    """Coefficients of the rated items: ``intercept + sum_j coef_j K_ij``."""

    kernel: ItemKernel
    rated: Ints
    coef: Floats
    intercept: float
    ridge: float

    @classmethod
    def learn(
        cls, kernel: ItemKernel, rated: Ints, y: Floats, C: str | float | None
    ) -> "KernelModel":
        """Learn from ratings minus item means; C as in `PersonalRanker`."""
        with blas_threads_for(float(len(y)) ** 3):
            K = kernel.between(rated, rated)
            if not np.isfinite(K).all():
                _refuse_kernel()
            ridge = 1.0
            if C == "leave_pair_out":
                ridge = _leave_pair_out_ridge(K, y)
            elif C is not None:
                ridge = len(y) / (2.0 * float(C))
            coef, intercept = solve(K, y, ridge)
        if not np.isfinite([intercept, *coef]).all():
            _refuse_kernel()
        return cls(kernel, rated, coef, intercept, ridge)

    def scores(self, items: Ints | slice) -> Floats:
        """Return the sums for these items."""
        with blas_threads_for(float(len(self.coef)) * len(self.kernel.factors)):
            return self.intercept + self.kernel.scores(items, self.rated, self.coef)


@dataclass(frozen=True, eq=False)
class EstimatorOnFeatures:
    """An estimator fitted to features (n_items, n_features) of the rated items."""

    estimator: Predictor
    features: Floats

    def scores(self, items: Ints | slice) -> Floats:
        """Return the estimator's predictions for these items."""
        predicted = self.estimator.predict(self.features[items])
        return np.asarray(predicted, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class EstimatorOnKernel:
    """An estimator fitted to the kernel matrix of the rated items."""

    estimator: Predictor
    kernel: ItemKernel
    rated: Ints

    def scores(self, items: Ints | slice) -> Floats:
        """Return the estimator's predictions for these items."""
        K = self.kernel.between(items, self.rated)
        return np.asarray(self.estimator.predict(K), dtype=np.float64)


class Person(NamedTuple):
    """What is known of one person; replaced as a whole, so that it belongs together.

    `ratings` are the columns that were rated, ascending, and the values, None for those
    given to `fit`; `model` is None until it is asked for.
    """

    ratings: tuple[Ints, Floats] | None = None
    model: PersonModel | None = None


_NOBODY: Final = Person()


class People:
    """People by their ids, for several threads at once.

    A person is learnt without the lock, and swapped in under it if nobody was faster.
    """

    def __init__(self, people: Mapping[Any, Person] | None = None) -> None:
        self._people: dict[Any, Person] = dict(people or {})
        self._lock = Lock()

    def get(self, user: Hashable) -> Person:
        """Return what is known of a person, perhaps nothing."""
        return self._people.get(user, _NOBODY)

    def replace(self, user: Hashable, before: Person, after: Person) -> bool:
        """Swap a person if what is known is still `before`; return whether it was."""
        with self._lock:
            is_same = self.get(user) is before
            if is_same:
                self._people[user] = after
        return is_same

    def update(self, people: Mapping[Any, Person]) -> None:
        """Add people, or replace them."""
        with self._lock:
            self._people.update(people)

    def copy(self) -> "People":
        """Return the people of this moment."""
        with self._lock:
            return People(self._people)

    def items(self) -> list[tuple[Any, Person]]:
        """Return the people of this moment with their ids."""
        return list(self.copy()._people.items())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.copy()._people)

    def __len__(self) -> int:
        return len(self._people)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the lock, which belongs to this process."""
        return {"people": self.copy()._people}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["people"])  # type: ignore[misc]


@dataclass(frozen=True, eq=False)
class SharedModel:
    """Item means (n_items,), and a kernel of items or features of them, or both.

    With references, features (n_items, n_references) are their residuals, and
    references (n_references,) the rows of these people; else features are factors.
    """

    means: Floats
    noise: float
    kernel: ItemKernel | None
    features: Floats
    references: Ints | None

    def learn_person(
        self,
        estimator: Estimator | None,
        C: str | float | None,
        row: int | None,
        rated: Ints,
        values: Floats,
    ) -> PersonModel:
        """Learn one person from ratings of items; `row` is None for a new one."""
        y = values - self.means[rated]
        if len(y) < 2 or values.min() == values.max():
            return ConstantModel(float(y.mean()) if len(y) else 0.0)
        if estimator is None and self.kernel is not None:
            return KernelModel.learn(self.kernel, rated, y, C)
        if len(y) < 3:
            return ConstantModel(float(y.mean()))
        learner = MPRankCV() if estimator is None else clone(estimator)
        if getattr(learner, "kernel", None) == "precomputed" and self.kernel:
            learner.fit(self.kernel.between(rated, rated), y)
            return EstimatorOnKernel(learner, self.kernel, rated)
        features = self.features_for(row)
        if features.shape[1] == 0:
            return ShiftModel(float(y.mean()))  # the only reference is the person
        return EstimatorOnFeatures(learner.fit(features[rated], y), features)

    def features_for(self, row: int | None) -> Floats:
        """Return the features; people are no references for themselves."""
        if self.references is None or row is None:
            return self.features
        others = self.references != row
        return self.features if others.all() else self.features[:, others]


def solve(K: Floats, y: Floats, ridge: float) -> tuple[Floats, float]:
    """Return MPRank's coefficients, which sum to 0, and the intercept; K is lost.

    MPRank is kernel ridge regression with an intercept that is not penalised:
    ``(K + ridge) coef + intercept = y``. One Cholesky factorisation.
    """
    n = len(y)
    if ridge < _SMALL * float(np.trace(K)) / n:
        return _least_squares(K, y, ridge)
    K.flat[:: n + 1] += ridge
    right = np.empty((n, 2), order="F")
    right[:, 0], right[:, 1] = y, 1.0
    # The transpose is the same matrix, in the column order that LAPACK needs.
    _, solution, info = lapack.dposv(K.T, right, overwrite_a=1, overwrite_b=1)
    if info != 0:  # the ridge is above rounding, so the kernel itself is wrong
        _refuse_kernel()
    intercept = float(solution[:, 0].sum() / solution[:, 1].sum())
    return solution[:, 0] - intercept * solution[:, 1], intercept


def _refuse_kernel() -> NoReturn:
    # Never of ratings; but a file may say anything.
    raise refusal(
        "the similarities of items",
        "be finite, and positive definite as a matrix",
        "others",
        hint="Fit the ranker again.",
    )


def _least_squares(K: Floats, y: Floats, ridge: float) -> tuple[Floats, float]:
    """Return the smallest solution, where the ridge is lost in rounding."""
    n = len(y)
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = K
    system.flat[: n * (n + 1) : n + 2] += ridge
    system[:n, n] = system[n, :n] = np.sqrt(np.trace(K) / n)
    solution = lstsq(system, np.append(y, 0.0), cond=_SMALL)[0]
    return solution[:n], float(solution[n] * system[0, n])


def _leave_pair_out_ridge(K: Floats, y: Floats) -> float:
    """Return the ridge with the smallest exact squared error on pairs left out."""
    n = len(y)
    if n < 3:
        return 1.0
    search = MPRankCV(Cs=n / (2.0 * RIDGES), kernel="precomputed", keep="C_prime")
    return n / (2.0 * search.fit(K, y).C_)
