"""What is shared by all people, and how one of them is learnt on top of it."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from peckorder._core.typing import Floats, Ints
from peckorder.collaborative.personal.factors import (
    Factors,
    alternate,
    damped_means,
    decompose,
    residuals,
)
from peckorder.collaborative.personal.item_kernel import ItemKernel
from peckorder.collaborative.personal.person import (
    Constant,
    Learnt,
    OnFeatures,
    OnKernels,
    Shift,
    weighed,
)
from peckorder.exceptions import DataError
from peckorder.feedback import Ratings
from peckorder.magnitude.mprank_cv import MPRankCV

_LARGEST = 1e30


@dataclass(frozen=True, slots=True)
class Settings:
    """How the shared part is learnt: the parameters of `PersonalRanker`."""

    n_factors: int
    factorizer: str
    cosine_weight: float
    audience_weight: float
    references: Any
    damping: float
    max_iter: int

    def factors(self, csr: Any, rng: Any) -> Factors:
        """Return what is learnt of items, by the method that is set."""
        if self.references is not None:
            return damped_means(csr, self.damping)
        if self.factorizer == "svd":
            return decompose(csr, self.n_factors, self.damping, rng)
        return alternate(csr, self.n_factors, self.max_iter, rng)


@dataclass(frozen=True, eq=False)
class Community:
    """Item means (n_items,), and a kernel of items or features of them, or both.

    With references, features (n_items, n_references) are their residuals, and
    references (n_references,) the rows of these people; else features are factors.
    """

    means: Floats
    noise: float
    kernel: ItemKernel | None
    features: Floats
    references: Ints | None

    @classmethod
    def learn(cls, ratings: Ratings, settings: Settings, rng: Any) -> Self:
        """Learn from everybody."""
        csr = ratings.csr
        _check_size(csr.data)
        shared = settings.factors(csr, rng)
        means = shared.mean + shared.item_bias
        if settings.references is not None:
            rows = _rows(ratings, settings.references)
            features = np.ascontiguousarray(residuals(csr, shared)[rows].toarray().T)
            return cls(means, shared.noise, None, features, rows)
        kernel = ItemKernel.learn(
            csr, shared, settings.cosine_weight, settings.audience_weight
        )
        return cls(means, shared.noise, kernel, kernel.factors, None)

    def person(
        self, estimator: Any, C: Any, row: int | None, rated: Ints, values: Floats
    ) -> Learnt:
        """Learn one person from ratings of items; `row` is None for a new one."""
        y = values - self.means[rated]
        if len(y) < 2 or values.min() == values.max():
            return Constant(float(y.mean()) if len(y) else 0.0)
        if estimator is None and self.kernel is not None:
            return weighed(self.kernel, rated, y, C)
        if len(y) < 3:
            return Constant(float(y.mean()))
        learner = MPRankCV() if estimator is None else clone(estimator)
        if getattr(learner, "kernel", None) == "precomputed" and self.kernel:
            learner.fit(self.kernel.between(rated, rated), y)
            return OnKernels(learner, self.kernel, rated)
        features = self._features_for(row)
        if features.shape[1] == 0:
            return Shift(float(y.mean()))  # there is no reference but himself
        return OnFeatures(learner.fit(features[rated], y), features)

    def _features_for(self, row: int | None) -> Floats:
        """Return the features; a person is no reference to himself."""
        if self.references is None or row is None:
            return self.features
        others = self.references != row
        return self.features if others.all() else self.features[:, others]


def _check_size(values: Floats) -> None:
    """Refuse ratings whose squares are no numbers."""
    size = float(np.abs(values).max())
    if size > _LARGEST or 0.0 < size < 1.0 / _LARGEST:
        raise DataError(
            "PersonalRanker: ratings must be between 1e-30 and 1e+30 in size, so "
            f"that they can be squared; got {size!r} as the largest. Divide them."
        )


def _rows(ratings: Ratings, references: Any) -> Ints:
    """Return the rows of reference viewers: as named, or those with most ratings."""
    if not isinstance(references, Integral) and len(references) == 0:
        raise DataError(
            "PersonalRanker: references must be a number of people, or a list of some; "
            "got an empty list."
        )
    if isinstance(references, Integral):
        most = np.argsort(-ratings.per_user, kind="stable")
        return most[: int(references)]
    return np.array([ratings.user_index(user) for user in references], dtype=np.intp)
