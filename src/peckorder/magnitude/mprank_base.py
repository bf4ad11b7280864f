"""What MPRank and MPRankCV share: fitting squares, and pairs and rows left out."""

import warnings
from abc import abstractmethod
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from peckorder._base.transaction import all_or_nothing
from peckorder._core.typing import Floats
from peckorder._core.validation import one_of
from peckorder.exceptions import DataError
from peckorder.magnitude.base import Given, MagnitudeModel
from peckorder.magnitude.mprank_solver.errors import refuse_large
from peckorder.magnitude.mprank_solver.gram import Gram
from peckorder.magnitude.mprank_solver.leave_out import COSTS, LeftOut
from peckorder.magnitude.mprank_solver.solve import Method, Problem, Solution
from peckorder.magnitude.mprank_solver.training_rows import Sample
from peckorder.magnitude.storage import SQUARED

COST = one_of(*COSTS)
KEEP = one_of("C", "C_prime")


class SquaredModel(MagnitudeModel):
    """Learns by squares of differences, for which leaving rows out has a closed form.

    A subclass checks its parameters in `_check`, and says in `_fit` how it learns.
    """

    _stored_fields: ClassVar = SQUARED
    _learnt: ClassVar[tuple[str, ...]] = (
        *MagnitudeModel._learnt,
        "_moments",
        "_sample",
        "_fitted_C",
    )

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        qid: Any = None,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> Self:
        """Learn from scratch.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; kernels among them if the kernel is "precomputed". The model
            keeps them, for some to be left out later on: a copy, or, of more than
            1 MiB, what was given, which then must not be changed.
        y : array-like of shape (n_samples,)
            How good each row is: any real numbers, compared within queries.
        qid : array-like of shape (n_samples,), default=None
            The query of each row; None for one query of all rows.
        sample_weight : array-like of shape (n_samples,), default=None
            A pair weighs the product of its rows' weights.
        offset : array-like of shape (n_samples,), default=None
            Known scores to learn on top of.

        Returns
        -------
        self
            The fitted estimator.
        """
        with all_or_nothing(self):
            self._check()
            given = self._read(X, y, qid, sample_weight, offset, reset=True)
            with np.errstate(over="ignore", invalid="ignore"):
                self._fit(given)
            self._has_offset = offset is not None
        return self

    @abstractmethod
    def _check(self) -> None:
        """Say what is wrong with parameters."""

    @abstractmethod
    def _fit(self, given: Given) -> None:
        """Learn."""

    def leave_pair_out_error(
        self, cost: str = "squared", keep: str = "C", method: str = "exact"
    ) -> float:
        """Return the mean cost of pairs of training rows, each left out of training.

        A pair costs by how much its scores' difference misses that of its labels, as
        told by a model learnt without both rows. Let R subtract the mean, K be the
        kernels between two R, and ``G = R - K (K + ridge)^-1``, ``e = G y``. Then::

            r_j - r_i = [(G_ii + G_ij) e_j - (G_jj + G_ij) e_i] / (G_ii G_jj - G_ij^2)

        is the difference of the residuals, exactly; any cost follows from it. A copy of
        the model, or one loaded from a file, has the training rows that this needs only
        if its scores need them too: not with a linear or a given kernel.

        Parameters
        ----------
        cost : {"squared", "absolute", "misranking"}, default="squared"
            The square or size of the difference; or 1 if the pair is in the wrong order
            or tied, as a share of the pairs whose labels differ.
        keep : {"C", "C_prime"}, default="C"
            What the models without a pair keep: C, or the weight ``C' = 2 C / n`` of
            each row, as in the paper. With queries or unequal weights, only the latter:
            pairs within queries are left out, each weighs the product of its rows'
            weights.
        method : {"exact", "paper"}, default="exact"
            "paper" is the approximation of Proposition 2: the mean score without the
            pair is taken to be that with it. Bad for few rows and a large C.

        Returns
        -------
        error : float
            The mean over pairs; NaN if there is none. O(n^3) time and O(n^2) memory for
            n rows; O(n^2 d) time with d features where d is far less than n.

        Examples
        --------
        >>> from peckorder import MPRank
        >>> X, y = [[0], [1], [2], [4]], [0, 1, 3, 4]
        >>> round(MPRank(C=10).fit(X, y).leave_pair_out_error(), 3)
        1.933
        """
        COST.check(self._who, "cost", cost)
        one_of("exact", "paper").check(self._who, "method", method)
        sample = self._sample_left_out("leave_pair_out_error", keep, 3)
        if method == "paper" and not sample.weighing.is_plain:
            raise DataError(
                f"{self._who}: method must be 'exact' for a model fitted with queries "
                "or unequal weights; got 'paper'."
            )
        left_out = LeftOut(sample)
        ridge = sample.weighing.ridge(self._fitted_C, 2 if keep == "C" else 0)
        if method == "paper":
            return float(left_out.pair_error_as_printed(ridge, cost))
        return float(left_out.pair_error(ridge, cost))

    def leave_one_out_predictions(self, keep: str = "C") -> Floats:
        """Return the score of each training row by a model learnt without it.

        With G and e as in `leave_pair_out_error`, it is ``y_i - e_i / G_ii``, on the
        scale of y: the constant suits the other rows of its query.

        Parameters
        ----------
        keep : {"C", "C_prime"}, default="C"
            What the models keep, as in `leave_pair_out_error`.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            With the offset added. NaN for rows that weigh nothing, or are alone in
            their query. O(n^3) time, O(n^2) memory.

        Examples
        --------
        >>> from peckorder import MPRank
        >>> X, y = [[0], [1], [2], [4]], [0, 1, 3, 4]
        >>> MPRank(C=10).fit(X, y).leave_one_out_predictions().round(2).tolist()
        [0.57, 1.35, 1.99, 5.52]
        """
        sample = self._sample_left_out("leave_one_out_predictions", keep, 2)
        ridge = sample.weighing.ridge(self._fitted_C, 1 if keep == "C" else 0)
        scores = np.full(len(self.dual_coef_), np.nan)
        scores[self._kept] = sample.y - LeftOut(sample).row_residuals(ridge)
        return scores

    def _sample_left_out(self, name: str, keep: str, least: int) -> Sample:
        """Return what rows can be left out of, or say why they cannot."""
        check_is_fitted(self)
        KEEP.check(self._who, "keep", keep)
        sample: Sample | None = vars(self).get("_sample")
        if sample is None:
            raise DataError(
                f"{self._who}: {name} must be asked of a model that still has the rows "
                "of its fit; got one learnt by partial_fit, copied or loaded."
            )
        self._check_rows(sample)
        if len(sample.weighing) < least:
            refuse_few(self._who, name, least, len(sample.weighing))
        check_keep(self._who, keep, sample)
        return sample

    def _check_rows(self, sample: Sample) -> None:
        """Refuse rows that were changed since."""
        if sample.has_changed():
            raise DataError(
                f"{self._who}: X must be as it was when fitted, since large rows are "
                "not copied; got rows that were changed since. Fit again."
            )

    def __getstate__(self) -> Any:
        """Leave the training rows behind, unless scores need them."""
        state = dict(super().__getstate__())
        if state.get("_gram") is None:
            state.pop("_sample", None)
        return state

    def _learn(self, given: Given, sample: Sample, C: float, method: Method) -> None:
        """Learn, and keep the result."""
        problem = Problem(self._who, sample.label, sample.weighing, float(C))
        if isinstance(sample.rows, Gram):
            solution = problem.solve_kernel(sample.rows, method)
        else:
            solution = problem.solve_linear(sample.rows, method)
        self._forget()
        self._sample = sample.kept()
        self._fitted_C = float(C)
        is_kept = self.kernel not in ("linear", "precomputed")
        self._gram = sample.rows if is_kept else None
        self._kept, self._has_queries = given.kept, given.has_queries
        self._publish(solution, given.n_rows, method)

    def _publish(self, solution: Solution, n_rows: int, method: Method) -> None:
        if not np.isfinite([solution.objective, solution.dual.sum()]).all():
            refuse_large(self._who)
        if solution.coef is not None:
            self.coef_ = solution.coef
        self._support_coef = solution.dual
        self.dual_coef_ = np.zeros(n_rows)
        self.dual_coef_[self._kept] = solution.dual
        self.intercept_ = solution.intercept
        self.objective_ = solution.objective
        self.dual_gap_ = solution.gap
        self.n_iter_ = solution.n_iter
        if not solution.is_converged:
            warnings.warn(
                f"{self._who}: not converged after {solution.n_iter} iterations: the "
                f"objective may be {solution.gap:.2g} above its minimum. Raise "
                f"max_iter (now {method.limits.max_iter}) or tol (now "
                f"{method.limits.tol:g}), or take another solver.",
                ConvergenceWarning,
                stacklevel=5,
            )


def refuse_few(who: str, name: str, least: int, n_rows: int) -> NoReturn:
    """Say that there are too few rows to leave some out."""
    raise DataError(
        f"{who}: X must be {least} rows or more for {name}, so that one is left to "
        f"learn from; got {n_rows} sample{'' if n_rows == 1 else 's'}."
    )


def check_keep(who: str, keep: str, sample: Sample) -> None:
    """Say what cannot be kept where rows differ in weight."""
    if keep == "C" and not sample.weighing.is_plain:
        raise DataError(
            f"{who}: keep must be 'C_prime' with queries or unequal weights, since at "
            "the same C each pair left out would change the weights of other rows in "
            "its own way; got 'C'."
        )
