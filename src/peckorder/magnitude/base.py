"""What rankers that keep magnitudes share: data in, scores out."""

from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted, validate_data

from peckorder._base.scores import ScoreEstimator, checked_offset, checked_weight
from peckorder._core.row_transform import View
from peckorder._core.typing import Floats, Ints
from peckorder._core.validation import Rules, check_csr, check_finite
from peckorder.exceptions import DataError
from peckorder.feedback import Queries
from peckorder.feedback._preferences import _grades
from peckorder.magnitude.mprank_solver.gram import Gram
from peckorder.magnitude.mprank_solver.primal import times
from peckorder.magnitude.mprank_solver.training_rows import Sample
from peckorder.magnitude.mprank_solver.weighting import Weighing
from peckorder.magnitude.storage import MAGNITUDE
from peckorder.similarity.kernel_function import KernelFunction
from peckorder.similarity.parameters import KERNEL_RULES

RULES: Final[Rules] = {
    name: KERNEL_RULES[name] for name in ("kernel", "gamma", "degree", "coef0")
}


class Given(NamedTuple):
    """Data as it was read: the rows that weigh, of all that were given.

    `label` is y less the offset; queries are numbered; `kept` picks the rows, which
    are `is_own` if the user cannot change them any more.
    """

    X: Any
    y: Floats
    label: Floats
    offset: Floats | None
    query: Ints
    weight: Floats | None
    kept: Any
    n_rows: int
    has_queries: bool
    is_own: bool


class MagnitudeModel(ScoreEstimator):
    """Scores rows by features, or by kernels with the rows it was learnt from."""

    kernel: Any
    gamma: Any
    degree: int
    coef0: float

    # Whether every fit goes through all entries of a kernel matrix that is given.
    _copies_kernels: ClassVar[bool] = False
    _stored_fields: ClassVar = MAGNITUDE
    _learnt: ClassVar[tuple[str, ...]] = (
        "coef_",
        "dual_coef_",
        "intercept_",
        "objective_",
        "dual_gap_",
        "n_iter_",
        "_gram",
    )

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self)
        X = self._rows(X, reset=False)
        if self._gram is not None:
            scores: Floats = self._gram.scores(X, self._support_coef)
        else:
            is_given = not hasattr(self, "coef_")
            scores = times(X, self.dual_coef_ if is_given else self.coef_)
        return scores + self.intercept_  # type: ignore[no-any-return]

    def __sklearn_tags__(self) -> Any:
        """Declare to scikit-learn what the estimator takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _rows(self, X: Any, *, reset: bool, later: bool = False) -> Any:
        # Many rows to learn from are looked through by several threads.
        by_ourselves = reset and not sparse.issparse(X)
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            ensure_all_finite=not by_ourselves,
        )
        # Kernels that are copied are looked through on the way.
        if by_ourselves and not (later and X.shape[0] == X.shape[1]):
            check_finite(self._who, X)
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
        rows = X
        is_copied = self._copies_kernels and self.kernel == "precomputed"
        later = is_copied and sample_weight is None
        X = self._rows(X, reset=reset, later=later)
        n_rows = X.shape[0]
        y = _grades(self._who, y, "unit")
        if len(y) != n_rows:
            raise DataError(
                f"{self._who}: y must be one number a row, {n_rows} in all; got "
                f"{len(y)}."
            )
        weight = checked_weight(self._who, sample_weight, n_rows)
        weight = None if weight is None else weight.copy()
        if offset is not None:
            offset = checked_offset(self._who, offset, n_rows).copy()
        label = y if offset is None else y - offset
        query = Queries.of(self._who, qid, n_rows).of_rows()
        whole = Given(
            X,
            y,
            label,
            offset,
            query,
            weight,
            slice(None),
            n_rows,
            qid is not None,
            _is_own(X, rows),
        )
        if weight is None or weight.min() > 0:
            return whole
        kept = np.flatnonzero(weight)
        if len(kept) == 0:
            raise DataError(
                f"{self._who}: sample_weight must be > 0 for some row; got zero for "
                "all (there must be at least one non-zero sample weight)."
            )
        return whole._replace(
            X=X[kept],
            y=y[kept],
            label=label[kept],
            offset=None if offset is None else offset[kept],
            query=np.unique(query[kept], return_inverse=True)[1],
            weight=weight[kept],
            kept=kept,
            is_own=True,
        )

    def _sampled(self, given: Given, gamma: float | None) -> Sample:
        """Return what there is to learn from, rows with their kernel."""
        rows = given.X
        if self.kernel != "linear":
            self._check_square(given.n_rows)
            if self.kernel == "precomputed" and not isinstance(given.kept, slice):
                rows = rows[:, given.kept]
            rows = Gram.of(self._kernel_function(gamma), rows, is_own=given.is_own)
        weighing = Weighing.of(given.query, given.weight)
        return Sample(
            self._who,
            rows,
            given.y,
            given.label,
            given.offset,
            weighing,
            given.weight,
            given.is_own,
        )

    def _check_square(self, n_rows: int) -> None:
        if self.kernel == "precomputed" and n_rows != self.n_features_in_:
            raise DataError(
                f"{self._who}: X must be square with kernel='precomputed', a column "
                f"for each row; got {n_rows} rows and {self.n_features_in_} columns."
            )

    def _forget(self) -> None:
        for name in self._learnt:
            self.__dict__.pop(name, None)


def _is_own(X: Any, given: Any) -> bool:
    """Tell whether rows that were checked have nothing in common with those given."""
    if sparse.issparse(X):
        arrays = ("data", "indices", "indptr")
        theirs = [getattr(given, name, None) for name in arrays]
        return not any(
            isinstance(there, np.ndarray)
            and np.may_share_memory(getattr(X, name), there)
            for name, there in zip(arrays, theirs, strict=True)
        )
    if isinstance(given, np.ndarray):
        return not np.may_share_memory(X, given)
    # Frames and others may show an array of their own.
    return isinstance(given, list | tuple)
