"""What on-line ordinal estimators with a kernel share."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import Tags

from peckorder._core.errors import entry, refusal
from peckorder._core.row_transform import RowTransform
from peckorder._core.typing import Array, Ints, Rows, VectorLike
from peckorder._core.validation import count_rows
from peckorder.ordinal.base import OrdinalEstimator
from peckorder.ordinal.learners.polynomial import FEW, n_monomials
from peckorder.similarity.kernel_function import KernelFunction


@entry
class KernelEstimator(OrdinalEstimator):
    """An ordinal estimator whose scores may be sums over a kernel."""

    kernel: str | Callable[..., object]
    gamma: float | None
    degree: int
    coef0: float
    budget: int | None

    def __sklearn_tags__(self) -> Tags:
        """Declare that precomputed kernels have one column per row."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _is_primal(self) -> bool:
        """Whether weights of features are learnt, not coefficients of rows."""
        return self.kernel == "linear" and self.budget is None

    def _transform(self) -> RowTransform:
        if self.kernel == "precomputed":
            return RowTransform(intercept=False, unit_norm=False)
        return super()._transform()

    def _kernel_function(self, n_features: int) -> KernelFunction:
        return KernelFunction.of_parameters(self._transform(), n_features, self, self.gamma)

    def _has_few_monomials(self, kernel: KernelFunction) -> bool:
        """Whether a polynomial kernel is better replaced by its features."""
        is_replaceable = kernel.name == "poly" and self.budget is None
        return is_replaceable and n_monomials(kernel) <= FEW

    def _n_weights(self, n_features: int) -> int | None:
        """Return how many weights a rule has; None for coefficients of rows."""
        if self._is_primal():
            return n_features + bool(self.fit_intercept)
        kernel = self._kernel_function(n_features)
        return n_monomials(kernel) if self._has_few_monomials(kernel) else None

    def _check_first_rows(self, rows: Rows) -> None:
        n_rows, n_columns = count_rows(rows), self.n_features_in_
        if self.kernel == "precomputed" and n_rows != n_columns:
            raise refusal(
                "X",
                "be square with kernel='precomputed', a column for each row",
                f"{n_rows} rows and {n_columns} columns",
            )

    def _check_unchanged(self, classes: VectorLike | None) -> None:
        super()._check_unchanged(classes)
        if self.kernel == "precomputed":
            raise refusal(
                "kernel",
                "be 'linear', 'poly', 'rbf' or a function to go on learning, "
                "since new rows have no column among the old ones",
                "'precomputed'",
            )

    @property
    def support_(self) -> Ints:
        """The rows that the score is a sum over, in ascending order."""
        return self._expansion("support_")[0]

    @property
    def dual_coef_(self) -> Array:
        """The coefficients of the rows in `support_`."""
        return self._expansion("dual_coef_")[1]

    def _expansion(self, name: str) -> tuple[Ints, Array]:
        """Return the rows of the score and their coefficients, for an attribute."""
        learner: Any = vars(self).get("_learner")
        is_voted = hasattr(learner, "votes")
        if is_voted or not hasattr(learner, "expansion"):
            raise refusal(
                f"{name} exists once fitted with a kernel or a budget, but for the voted rule",
                error=AttributeError,
            )
        number, coef = learner.expansion()
        order = np.flatnonzero(coef if coef.ndim == 1 else coef.any(axis=1))
        order = order[np.argsort(number[order])]
        return number[order], coef[order].T
