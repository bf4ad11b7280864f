"""What magnitude-preserving rankers share: data in, scores and left-out errors out."""

import warnings
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from peckorder._typing import Floats, Ints
from peckorder._validation import Rules, check_csr, one_of
from peckorder.estimators._kernels import KERNEL_RULES
from peckorder.estimators._scores import ScoreEstimator, checked_offset, checked_weight
from peckorder.exceptions import DataError
from peckorder.feedback import Queries
from peckorder.feedback._preferences import _grades
from peckorder.solvers.gram import KernelFunction
from peckorder.solvers.mprank import Method, Problem, Solution
from peckorder.solvers.mprank_gram import Gram
from peckorder.solvers.mprank_left_out import COSTS, LeftOut, Sample
from peckorder.solvers.mprank_primal import times
from peckorder.solvers.mprank_weighing import Weighing
from peckorder.solvers.online import View

RULES: Final[Rules] = {
    name: KERNEL_RULES[name] for name in ("kernel", "gamma", "degree", "coef0")
}
COST = one_of(*COSTS)
KEEP = one_of("C", "C_prime")
LEARNT: Final = (
    "coef_",
    "dual_coef_",
    "intercept_",
    "objective_",
    "dual_gap_",
    "n_iter_",
    "_gram",
    "_moments",
    "_sample",
    "_fitted_C",
)


class Given(NamedTuple):
    """Data as it was read: the rows that weigh, of all that were given.

    `label` is y less the offset; queries are numbered; `kept` picks the rows.
    """

    X: Any
    y: Floats
    label: Floats
    query: Ints
    weight: Floats | None
    kept: Any
    n_rows: int
    has_queries: bool


class MagnitudeModel(ScoreEstimator):
    """Scores rows by features, or by kernels with the rows it was learnt from."""

    kernel: Any
    gamma: Any
    degree: int
    coef0: float

    def leave_pair_out_error(
        self, cost: str = "squared", keep: str = "C", method: str = "exact"
    ) -> float:
        """Return the mean cost of pairs of training rows, each left out of training.

        A pair costs by how much its scores' difference misses that of its labels, as
        told by a model learnt without both rows. Let R subtract the mean, K be the
        kernels between two R, and ``G = R - K (K + ridge)^-1``, ``e = G y``. Then::

            r_j - r_i = [(G_ii + G_ij) e_j - (G_jj + G_ij) e_i] / (G_ii G_jj - G_ij^2)

        is the difference of the residuals, exactly; any cost follows from it.

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
                "of its fit; got one learnt by partial_fit, or copied."
            )
        if len(sample.weighing) < least:
            refuse_few(self._who, name, least, len(sample.weighing))
        check_keep(self._who, keep, sample)
        return sample

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self)
        X = self._rows(X, reset=False)
        if self._gram is not None:
            return self._gram.scores(X, self._support_coef) + self.intercept_
        is_given = not hasattr(self, "coef_")
        return times(X, self.dual_coef_ if is_given else self.coef_) + self.intercept_

    def __sklearn_tags__(self) -> Any:
        """Declare to scikit-learn what the estimator takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def __getstate__(self) -> Any:
        """Leave the training rows behind, unless scores need them."""
        state = dict(super().__getstate__())
        if state.get("_gram") is None:
            state.pop("_sample", None)
        return state

    def _rows(self, X: Any, *, reset: bool) -> Any:
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
        )
        return check_csr(self._who, X) if sparse.issparse(X) else X

    def _kernel_function(self, gamma: float | None) -> KernelFunction:
        is_named = isinstance(self.kernel, str)
        d = self.n_features_in_
        return KernelFunction(
            self._who,
            View(intercept=False, unit_norm=False),
            d,
            self.kernel if is_named else "function",
            1.0 / d if gamma is None else float(gamma),
            float(self.coef0),
            int(self.degree),
            None if is_named else self.kernel,
        )

    def _read(
        self, X: Any, y: Any, qid: Any, sample_weight: Any, offset: Any, *, reset: bool
    ) -> Given:
        """Check data, and leave out rows that weigh nothing."""
        X = self._rows(X, reset=reset)
        n_rows = X.shape[0]
        y = _grades(self._who, y, "unit")
        if len(y) != n_rows:
            raise DataError(
                f"{self._who}: y must be one number a row, {n_rows} in all; got "
                f"{len(y)}."
            )
        weight = checked_weight(self._who, sample_weight, n_rows)
        label = y
        if offset is not None:
            label = y - checked_offset(self._who, offset, n_rows)
        query = Queries.of(self._who, qid, n_rows).of_rows()
        if weight is None or weight.min() > 0:
            kept: Any = slice(None)
            return Given(X, y, label, query, weight, kept, n_rows, qid is not None)
        kept = np.flatnonzero(weight)
        if len(kept) == 0:
            raise DataError(
                f"{self._who}: sample_weight must be > 0 for some row; got zero for "
                "all (there must be at least one non-zero sample weight)."
            )
        query = np.unique(query[kept], return_inverse=True)[1]
        return Given(
            X[kept],
            y[kept],
            label[kept],
            query,
            weight[kept],
            kept,
            n_rows,
            qid is not None,
        )

    def _sampled(self, given: Given, gamma: float | None) -> Sample:
        """Return what there is to learn from, rows with their kernel."""
        rows = given.X
        if self.kernel != "linear":
            self._check_square(given.n_rows)
            if self.kernel == "precomputed" and not isinstance(given.kept, slice):
                rows = rows[:, given.kept]
            rows = Gram(self._kernel_function(gamma), rows)
        weighing = Weighing.of(given.query, given.weight)
        return Sample(self._who, rows, given.y, given.label, weighing, given.weight)

    def _learn(self, given: Given, sample: Sample, C: float, method: Method) -> None:
        """Learn, and keep the result."""
        problem = Problem(self._who, sample.label, sample.weighing, float(C))
        with np.errstate(over="ignore", invalid="ignore"):
            if isinstance(sample.rows, Gram):
                solution = problem.solve_kernel(sample.rows, method)
            else:
                solution = problem.solve_linear(sample.rows, method)
        self._forget()
        self._sample, self._fitted_C = sample, float(C)
        is_kept = self.kernel not in ("linear", "precomputed")
        self._gram = sample.rows if is_kept else None
        self._kept, self._has_queries = given.kept, given.has_queries
        self._publish(solution, sample.weighing, given.n_rows, method)

    def _check_square(self, n_rows: int) -> None:
        if self.kernel == "precomputed" and n_rows != self.n_features_in_:
            raise DataError(
                f"{self._who}: X must be square with kernel='precomputed', a column "
                f"for each row; got {n_rows} rows and {self.n_features_in_} columns."
            )

    def _forget(self) -> None:
        for name in LEARNT:
            self.__dict__.pop(name, None)

    def _publish(
        self, solution: Solution, weighing: Weighing, n_rows: int, method: Method
    ) -> None:
        if not np.isfinite([solution.objective, solution.dual.sum()]).all():
            raise DataError(
                f"{self._who}: X and y must be small enough for their squares to be "
                "finite; got an objective that is not."
            )
        if solution.coef is not None:
            self.coef_ = solution.coef
        self._support_coef = solution.dual
        self.dual_coef_ = np.zeros(n_rows)
        self.dual_coef_[self._kept] = solution.dual
        self.intercept_ = weighing.mean(solution.error)
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
                stacklevel=4,
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
