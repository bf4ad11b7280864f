"""What magnitude-preserving rankers share: checked training data, and scores."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Final, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from peckorder._base import ScoreEstimator, all_or_nothing, checked_offset, checked_weight
from peckorder._core.errors import entry, refusal
from peckorder._core.row_transform import RowTransform
from peckorder._core.threads import blas_threads_for
from peckorder._core.typing import Floats, Ints, Matrix, MatrixLike, VectorLike
from peckorder._core.validation import (
    Rules,
    check_csr,
    check_finite,
    check_parameters,
    read_matrix,
    rows_without_gaps,
)
from peckorder.feedback import MISSING_LABELS, Opinions, Preferences, Queries
from peckorder.magnitude.mprank_solver.kernel_matrix import Gram
from peckorder.magnitude.mprank_solver.pair_solve import TrainingPairs
from peckorder.magnitude.mprank_solver.pairs import PairWeights
from peckorder.magnitude.mprank_solver.ridge import Solution
from peckorder.magnitude.mprank_solver.rows import QueryWeights, times
from peckorder.magnitude.mprank_solver.solve import TrainingRows
from peckorder.magnitude.storage import MAGNITUDE
from peckorder.similarity.kernel_function import KernelFunction
from peckorder.similarity.parameters import KERNEL_RULES

# The name of a kernel, or a function of two matrices.
Kernel: TypeAlias = str | Callable[..., Any]
Training: TypeAlias = TrainingRows | TrainingPairs
AnyTraining = TypeVar("AnyTraining", TrainingRows, TrainingPairs)
RULES: Final[Rules] = {
    **{name: KERNEL_RULES[name] for name in ("kernel", "gamma", "degree", "coef0")},
    "missing_labels": MISSING_LABELS,
}


@entry
class MagnitudeModel(ScoreEstimator):
    """Scores rows by features, or by kernels with the training rows.

    A subclass learns in `_fit`.
    """

    kernel: Kernel
    gamma: float | None
    degree: int
    coef0: float
    missing_labels: str

    _stored_fields: ClassVar = MAGNITUDE

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | Preferences,
        *,
        qid: VectorLike | None = None,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> Self:
        """Learn from scratch.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows; kernels among them if the kernel is "precomputed". Where rows can
            be left out later (`MPRank`, `MPRankCV`) they are kept: a copy or, above 1
            MiB, the array itself, which must not be changed then.
        y : array-like of shape (n_samples,) or Preferences
            How good each row is: any real numbers, compared within queries. Or pairs of
            rows, with the differences that their scores should have: 1 for pairs
            without sizes.
        qid : array-like of shape (n_samples,), default=None
            The query of each row; None for one query of all rows. Not with preferences.
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
            training: Training
            if isinstance(y, Preferences):
                training = self._read_pairs(X, y, qid, sample_weight, offset, reset=True)
            else:
                training = self._read(X, y, qid, sample_weight, offset, reset=True)
            few = blas_threads_for(self._n_products(training))
            with np.errstate(over="ignore", invalid="ignore"), few:
                if isinstance(training, TrainingPairs):
                    self._fit_pairs(training)
                else:
                    self._fit(training)
            self._has_offset = offset is not None
            weights = training.weights
            self._has_queries = not isinstance(weights, PairWeights) and weights.n_queries > 1
        return self

    def _n_products(self, training: Training) -> float:
        """Return about how many multiplications a decomposition takes."""
        n, d = float(training.n_rows), float(self.n_features_in_)
        return n * d * min(n, d) if self.kernel == "linear" else n * n * max(n, d)

    def _check(self) -> None:
        """Refuse invalid parameters."""
        check_parameters(self, self._rules)

    @abstractmethod
    def _fit(self, training: TrainingRows) -> None:
        """Learn from checked data."""

    @abstractmethod
    def _fit_pairs(self, training: TrainingPairs) -> None:
        """Learn from checked data."""

    def _scores(self, X: MatrixLike) -> Floats:
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        if self._gram is not None:
            scores: Floats = self._gram.scores(rows, self.dual_coef_[self._kept])
        else:
            is_linear = hasattr(self, "coef_")
            scores = times(rows, self.coef_ if is_linear else self.dual_coef_)
        return scores + self.intercept_

    def __sklearn_tags__(self) -> Any:
        """Declare to scikit-learn what the estimator takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _rows(self, X: MatrixLike, *, reset: bool, checks_later: bool = False) -> Matrix:
        # Dense training rows are checked for NaN below, by several threads. What is no
        # matrix yet may become a sparse one: a frame of sparse columns.
        by_ourselves = reset and not sparse.issparse(X)
        finite = not by_ourselves
        rows: Matrix = read_matrix(self, X, rows_without_gaps, reset=reset, finite=finite)
        is_sparse = sparse.issparse(rows)
        # The check of a dense kernel matrix for symmetry also finds what is not finite.
        checks_later = checks_later and not is_sparse and rows.shape[0] == rows.shape[1]
        if by_ourselves and not checks_later:
            check_finite(rows)
        return check_csr(rows) if is_sparse else rows

    def _kernel_function(self, gamma: float | None) -> KernelFunction:
        transform = RowTransform(intercept=False, unit_norm=False)
        return KernelFunction.of_parameters(transform, self.n_features_in_, self, gamma)

    def _read(
        self,
        X: MatrixLike,
        y: ArrayLike,
        qid: VectorLike | None,
        sample_weight: ArrayLike | None,
        offset: ArrayLike | None,
        *,
        reset: bool,
    ) -> TrainingRows:
        """Check data, and leave out rows without a label, or of zero weight."""
        keeps_all = sample_weight is None and self.missing_labels == "raise"
        checks_later = self.kernel == "precomputed" and keeps_all
        rows = self._rows(X, reset=reset, checks_later=checks_later)
        n_rows = rows.shape[0]
        y, is_kept = Opinions.of(y, self.missing_labels, n_rows=n_rows).in_full()
        if not is_kept.any():
            raise refusal("y", "have a label in some row", "none")
        weight = checked_weight(sample_weight, n_rows)
        if offset is not None:
            offset = checked_offset(offset, n_rows).copy()
        label = y if offset is None else y - offset
        query = Queries.of(qid, n_rows).of_rows()
        is_copy = _is_copy(rows, X)
        kept: slice | Ints = slice(None)
        if weight is not None:
            weight = weight.copy()
            is_kept &= weight > 0
        if not is_kept.all():
            kept = np.flatnonzero(is_kept)
            if len(kept) == 0:
                raise refusal(
                    "sample_weight",
                    "be > 0 for some row",
                    "zero for all (there must be at least one non-zero sample weight)",
                )
            rows, is_copy = rows[kept], True
            y, label = y[kept], label[kept]
            weight = None if weight is None else weight[kept]
            offset = None if offset is None else offset[kept]
            query = np.unique(query[kept], return_inverse=True)[1]
        weights = QueryWeights.of(query, weight)
        return TrainingRows(
            rows=rows,
            y=y,
            label=label,
            offset=offset,
            weights=weights,
            weight=weight,
            has_queries=qid is not None,
            kept=kept,
            n_rows=n_rows,
            is_copy=is_copy,
        )

    def _read_pairs(
        self,
        X: MatrixLike,
        preferences: Preferences,
        qid: VectorLike | None,
        sample_weight: ArrayLike | None,
        offset: ArrayLike | None,
        *,
        reset: bool,
    ) -> TrainingPairs:
        """Check data, and leave out rows that are in no pair."""
        if qid is not None:
            rule = "be left out with Preferences, which know no queries"
            raise refusal("qid", rule, "one", error=ValueError)
        rows = self._rows(X, reset=reset)
        n_rows = rows.shape[0]
        weight = checked_weight(sample_weight, n_rows)
        known = None if offset is None else checked_offset(offset, n_rows)
        with np.errstate(over="ignore", invalid="ignore"):
            weights, used = PairWeights.of(preferences, n_rows, weight, known)
        is_copy, kept = _is_copy(rows, X), slice(None) if len(used) == n_rows else used
        if len(used) < n_rows:
            rows, is_copy = rows[used], True
        return TrainingPairs(rows=rows, weights=weights, kept=kept, n_rows=n_rows, is_copy=is_copy)

    def _training_rows(self, training: AnyTraining, gamma: float | None) -> AnyTraining:
        """Return what to learn from: the rows, or their kernels."""
        X: Any = training.rows
        if self.kernel == "linear":
            return training
        if self.kernel == "precomputed":
            if training.n_rows != self.n_features_in_:
                raise refusal(
                    "X",
                    "be square with kernel='precomputed', one column per row",
                    f"{training.n_rows} rows and {self.n_features_in_} columns",
                )
            X = X if isinstance(training.kept, slice) else X[:, training.kept]
        function = self._kernel_function(gamma)
        return replace(training, rows=Gram.of(function, X, is_copy=training.is_copy))

    def _store(self, solution: Solution, training: Training | None = None) -> None:
        """Store a solution, with the rows of its coefficients, in place of another."""
        for name in ("coef_", "dual_coef_", "_moments", "_training", "_fitted_C", "_visits"):
            self.__dict__.pop(name, None)
        self._has_offset, self._gram = False, None
        self._kept: slice | Ints = slice(None)
        if solution.coef is not None:
            self.coef_ = solution.coef
        self.intercept_ = solution.intercept
        self.objective_ = solution.objective
        self.dual_gap_ = solution.gap
        self.n_iter_ = solution.n_iter
        if training is None or solution.dual is None:
            return
        self.dual_coef_ = np.zeros(training.n_rows)
        self.dual_coef_[training.kept] = solution.dual
        if self.kernel not in ("linear", "precomputed"):
            self._gram, self._kept = training.rows, training.kept


def _is_copy(rows: Matrix, X: MatrixLike) -> bool:
    """Return whether checked rows share no memory with those of the user."""
    if sparse.issparse(rows):
        return not any(
            isinstance(array := getattr(X, name, None), np.ndarray)
            and np.may_share_memory(getattr(rows, name), array)
            for name in ("data", "indices", "indptr")
        )
    if isinstance(X, np.ndarray):
        return not np.may_share_memory(rows, X)
    # Data frames and others may return a view of an array of theirs.
    return isinstance(X, list | tuple)
