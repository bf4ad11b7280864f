"""What the baselines of the PRank paper share: rules, kernels and averages."""

from abc import abstractmethod
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike

from peckorder._core.errors import entry
from peckorder._core.row_transform import RowTransform
from peckorder._core.typing import Floats, MatrixLike
from peckorder._core.validation import Rules, one_of
from peckorder.ordinal.base import OrdinalEstimator
from peckorder.ordinal.compiled.baselines import Step
from peckorder.ordinal.kernel_estimator import KernelEstimator
from peckorder.ordinal.learners.baselines import KernelBaselineLearner, WeightsLearner
from peckorder.ordinal.learners.polynomial import Monomials, PolynomialLearner
from peckorder.similarity.parameters import KERNEL_RULES

_KERNEL: Rules = {name: rule for name, rule in KERNEL_RULES.items() if name != "budget"}
_Learner: TypeAlias = WeightsLearner | KernelBaselineLearner | PolynomialLearner


@entry
class BaselineEstimator(KernelEstimator):
    """A baseline: linear or with a kernel, the last rule or the average of all."""

    _rules: ClassVar[Rules] = (
        OrdinalEstimator._rules | {"rule": one_of("last", "averaged")} | _KERNEL
    )
    _not_in_old_files: ClassVar[dict[str, Any]] = {
        "rule": "last",
        "kernel": "linear",
        "gamma": None,
        "degree": 2,
        "coef0": 1.0,
    }
    _fixed: ClassVar[tuple[str, ...]] = ("rule", *OrdinalEstimator._fixed, *_KERNEL)

    rule: str
    # Every row counts, or every one that was misplaced: none may be dropped.
    budget = None
    _learner: _Learner

    @abstractmethod
    def _step(self, n_levels: int) -> Step:
        """Return how a row changes the rule."""

    @abstractmethod
    def _weight_shape(self, n_weights: int, n_levels: int) -> tuple[int, ...]:
        """Return the shape of weights, or of coefficients of that many rows."""

    def decision_function(self, X: MatrixLike) -> Floats:
        """Return the scores of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        score : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Of `WidrowHoff` a rank before rounding: 1 stands for the lowest class. Of
            `MulticlassPerceptron` a score for each class, the largest being predicted.
        """
        return self._from_learner("scores", X)

    def _shapes(self, n_features: int, n_levels: int) -> dict[str, tuple[int, ...]]:
        n_weights = self._n_weights(n_features)
        if n_weights is None:
            return {}
        return {"weights": self._weight_shape(n_weights, n_levels)}

    def _new_learner(
        self, n_features: int, n_levels: int, rng: RandomState, **start: ArrayLike | None
    ) -> _Learner:
        step, is_averaged = self._step(n_levels), self.rule == "averaged"
        if self._is_primal():
            n_weights = n_features + bool(self.fit_intercept)
            weights = np.zeros(self._weight_shape(n_weights, n_levels))
            return WeightsLearner.start(step, is_averaged, self._transform(), weights)
        kernel = self._kernel_function(n_features)
        if self._has_few_monomials(kernel):
            monomials = Monomials.of_kernel(kernel)
            weights = np.zeros(self._weight_shape(len(monomials), n_levels))
            transform = RowTransform(intercept=False, unit_norm=False)
            linear = WeightsLearner.start(step, is_averaged, transform, weights)
            return PolynomialLearner(monomials, linear)
        coef = np.empty((0, 1 if step.regression else n_levels))
        return KernelBaselineLearner(
            step=step, averaged=is_averaged, kernel=kernel, budget=0, coef=coef, lag=coef.copy()
        )

    def _publish(self) -> None:
        for name in ("coef_", "intercept_"):
            self.__dict__.pop(name, None)  # of a fit with another kernel
        if not isinstance(self._learner, WeightsLearner):
            return
        weights = self._learner.mean_weights()
        self.coef_ = weights[..., : self.n_features_in_]
        last = weights[..., -1] if self.fit_intercept else np.zeros(weights.shape[:-1])
        self.intercept_ = last if weights.ndim > 1 else float(last)
