"""The kernel parameters that ordinal estimators share."""

from typing import Any

import numpy as np

from peckorder._core.row_transform import View
from peckorder._core.typing import Ints, Rows
from peckorder._core.validation import count_rows
from peckorder.exceptions import DataError
from peckorder.ordinal.base import OrdinalEstimator
from peckorder.ordinal.learners.kernel_prank import KernelVotedLearner
from peckorder.ordinal.learners.polynomial import FEW, n_monomials
from peckorder.similarity.kernel_function import KernelFunction


class KernelEstimator(OrdinalEstimator):
    """An ordinal estimator whose scores may be sums over a kernel."""

    kernel: Any
    gamma: float | None
    degree: int
    coef0: float
    budget: int | None

    def __sklearn_tags__(self) -> Any:
        """Declare that precomputed kernels have a column a row."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _is_primal(self) -> bool:
        """Whether weights of features are learnt, not coefficients of rows."""
        return self.kernel == "linear" and self.budget is None

    def _view(self) -> View:
        if self.kernel == "precomputed":
            return View(intercept=False, unit_norm=False)
        return super()._view()

    def _kernel_function(self, n_features: int) -> KernelFunction:
        is_named = isinstance(self.kernel, str)
        return KernelFunction(
            self._who,
            self._view(),
            n_features,
            self.kernel if is_named else "function",
            1.0 / n_features if self.gamma is None else float(self.gamma),
            float(self.coef0),
            int(self.degree),
            None if is_named else self.kernel,
        )

    def _has_few_monomials(self, kernel: KernelFunction) -> bool:
        """Whether a polynomial kernel is better replaced by its features."""
        is_replaceable = kernel.name == "poly" and self.budget is None
        return is_replaceable and n_monomials(kernel) <= FEW

    def _check_first_rows(self, rows: Rows) -> None:
        n_rows, n_columns = count_rows(rows), self.n_features_in_
        if self.kernel == "precomputed" and n_rows != n_columns:
            raise DataError(
                f"{self._who}: X must be square with kernel='precomputed', a column "
                f"for each row; got {n_rows} rows and {n_columns} columns."
            )

    def _check_unchanged(self, classes: Any) -> None:
        super()._check_unchanged(classes)
        if self.kernel == "precomputed":
            raise DataError(
                f"{self._who}: kernel must be 'linear', 'poly', 'rbf' or a function to "
                "go on learning, since new rows have no column among the old ones; got "
                "'precomputed'."
            )

    @property
    def support_(self) -> Ints:
        """The rows that the score is a sum over, in ascending order."""
        return self._expansion("support_")[0]

    @property
    def dual_coef_(self) -> Any:
        """The coefficients of the rows in `support_`."""
        return self._expansion("dual_coef_")[1]

    def _expansion(self, name: str) -> tuple[Ints, Any]:
        """Return the rows of the score and their coefficients, for an attribute."""
        learner: Any = vars(self).get("_learner")
        is_voted = isinstance(learner, KernelVotedLearner)
        if is_voted or not hasattr(learner, "expansion"):
            raise AttributeError(
                f"{self._who}: {name} exists once fitted with a kernel or a budget, "
                "but for the voted rule."
            )
        number, coef = learner.expansion()
        order = np.flatnonzero(coef)
        order = order[np.argsort(number[order])]
        return number[order], coef[order]
