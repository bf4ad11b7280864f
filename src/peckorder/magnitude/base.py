"""What magnitude-preserving rankers share: checked training data, and scores."""

from collections.abc import Callable
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.validation import check_is_fitted, validate_data

from peckorder._base import ScoreEstimator, checked_offset, checked_weight
from peckorder._core.errors import entry, refusal
from peckorder._core.row_transform import RowTransform
from peckorder._core.typing import Floats, Ints, Matrix, MatrixLike, VectorLike
from peckorder._core.validation import Rules, check_csr, check_finite
from peckorder.feedback import Queries, read_grades
from peckorder.magnitude.mprank_solver.kernel_matrix import Gram
from peckorder.magnitude.mprank_solver.primal import times
from peckorder.magnitude.mprank_solver.query_weights import QueryWeights
from peckorder.magnitude.mprank_solver.solve import TrainingRows
from peckorder.magnitude.storage import MAGNITUDE
from peckorder.similarity.kernel_function import KernelFunction
from peckorder.similarity.parameters import KERNEL_RULES

# The name of a kernel, or a function of two matrices.
Kernel: TypeAlias = str | Callable[..., Any]
RULES: Final[Rules] = {name: KERNEL_RULES[name] for name in ("kernel", "gamma", "degree", "coef0")}


class TrainingData(NamedTuple):
    """Checked data without rows of zero weight.

    `label` is y less the offset; queries are numbered; `kept` selects the rows out of
    all `n_rows`. `is_copy` if the user cannot change the rows.
    """

    X: Matrix
    y: Floats
    label: Floats
    offset: Floats | None
    query: Ints
    weight: Floats | None
    kept: slice | Ints
    n_rows: int
    has_queries: bool
    is_copy: bool


@entry
class MagnitudeModel(ScoreEstimator):
    """Scores rows by features, or by kernels with the training rows."""

    kernel: Kernel
    gamma: float | None
    degree: int
    coef0: float

    # Whether every fit copies, and checks, all entries of a precomputed kernel matrix.
    _copies_kernels: ClassVar[bool] = False
    _stored_fields: ClassVar = MAGNITUDE
    _fitted_attributes: ClassVar[tuple[str, ...]] = (
        "coef_",
        "dual_coef_",
        "intercept_",
        "objective_",
        "dual_gap_",
        "n_iter_",
        "_gram",
    )

    def _scores(self, X: MatrixLike) -> Floats:
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        if self._gram is not None:
            scores: Floats = self._gram.scores(rows, self._support_coef)
        else:
            is_linear = hasattr(self, "coef_")
            scores = times(rows, self.coef_ if is_linear else self.dual_coef_)
        return scores + self.intercept_  # type: ignore[no-any-return]

    def __sklearn_tags__(self) -> Any:
        """Declare to scikit-learn what the estimator takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _rows(self, X: MatrixLike, *, reset: bool, checks_later: bool = False) -> Matrix:
        # Dense training rows are checked for NaN below, by several threads.
        by_ourselves = reset and not sparse.issparse(X)
        rows: Matrix = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            ensure_all_finite=not by_ourselves,
        )
        # A kernel matrix that will be copied is checked on the way.
        if by_ourselves and not (checks_later and rows.shape[0] == rows.shape[1]):
            check_finite(rows)
        return check_csr(rows) if sparse.issparse(rows) else rows

    def _kernel_function(self, gamma: float | None) -> KernelFunction:
        kernel = self.kernel
        d = self.n_features_in_
        return KernelFunction(
            RowTransform(intercept=False, unit_norm=False),
            d,
            kernel if isinstance(kernel, str) else "function",
            1.0 / d if gamma is None else float(gamma),
            float(self.coef0),
            int(self.degree),
            None if isinstance(kernel, str) else kernel,
        )

    def _read(
        self,
        X: MatrixLike,
        y: ArrayLike,
        qid: VectorLike | None,
        sample_weight: ArrayLike | None,
        offset: ArrayLike | None,
        *,
        reset: bool,
    ) -> TrainingData:
        """Check data, and leave out rows of zero weight."""
        is_copied = self._copies_kernels and self.kernel == "precomputed"
        checks_later = is_copied and sample_weight is None
        rows = self._rows(X, reset=reset, checks_later=checks_later)
        n_rows = rows.shape[0]
        y = read_grades(y, "unit")
        if len(y) != n_rows:
            raise refusal("y", f"be one number per row, {n_rows} in all", len(y))
        weight = checked_weight(sample_weight, n_rows)
        weight = None if weight is None else weight.copy()
        if offset is not None:
            offset = checked_offset(offset, n_rows).copy()
        label = y if offset is None else y - offset
        query = Queries.of(qid, n_rows).of_rows()
        data = TrainingData(
            rows,
            y,
            label,
            offset,
            query,
            weight,
            slice(None),
            n_rows,
            qid is not None,
            _is_copy(rows, X),
        )
        if weight is None or weight.min() > 0:
            return data
        kept = np.flatnonzero(weight)
        if len(kept) == 0:
            raise refusal(
                "sample_weight",
                "be > 0 for some row",
                "zero for all (there must be at least one non-zero sample weight)",
            )
        return data._replace(
            X=rows[kept],
            y=y[kept],
            label=label[kept],
            offset=None if offset is None else offset[kept],
            query=np.unique(query[kept], return_inverse=True)[1],
            weight=weight[kept],
            kept=kept,
            is_copy=True,
        )

    def _training_rows(self, data: TrainingData, gamma: float | None) -> TrainingRows:
        """Return what to learn from: rows, or their kernels, with their weights."""
        rows: Gram | Matrix = data.X
        if self.kernel != "linear":
            self._check_square(data.n_rows)
            X = data.X
            if self.kernel == "precomputed" and not isinstance(data.kept, slice):
                X = X[:, data.kept]
            rows = Gram.of(self._kernel_function(gamma), X, is_copy=data.is_copy)
        return TrainingRows(
            rows,
            data.y,
            data.label,
            data.offset,
            QueryWeights.of(data.query, data.weight),
            data.weight,
            data.is_copy,
        )

    def _check_square(self, n_rows: int) -> None:
        if self.kernel == "precomputed" and n_rows != self.n_features_in_:
            raise refusal(
                "X",
                "be square with kernel='precomputed', one column per row",
                f"{n_rows} rows and {self.n_features_in_} columns",
            )

    def _clear(self) -> None:
        for name in self._fitted_attributes:
            self.__dict__.pop(name, None)


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
