"""Data matrices: dense, CSR, pandas or polars in; read-only C-ordered views out."""

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import validate_data

from peckorder._core.threads import Stop, share_rows
from peckorder._core.typing import Rows
from peckorder.exceptions import DataError


def check_rows(estimator: Any, X: Any, *, reset: bool, norms: bool) -> Rows:
    """Return the rows of `X` as kernels want them, copied only if they must be.

    Shape, dtype and feature names are checked by scikit-learn, in its own words.
    C-ordered float32 and float64 and CSR pass as they are, everything else is
    converted. If `norms` will be taken of the rows, a CSR matrix whose columns are
    out of order or repeated within a row is put in order first, in a copy.

    That values are finite and columns exist is *not* checked here, because it would
    cost a second pass over the data: kernels stop at a row where it is otherwise, and
    `check_unusable_row` then says what is wrong with it.
    """
    X = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        order="C",
        ensure_all_finite=False,
    )
    if not sparse.issparse(X):
        return as_rows(X)
    _check_pointers(type(estimator).__name__, X)
    # An entry stored in two parts would count wrongly in its row's norm.
    return as_rows(_in_order(X) if norms else X)


def check_finite(who: str, X: Any) -> None:
    """Raise in scikit-learn's words if a dense array has a NaN or an infinity."""

    def add_up(some: slice, give_up: Stop) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):
            return X[some].sum()

    # Sums of large values may be infinite, too.
    if not np.isfinite(share_rows(X, add_up)).all():
        assert_all_finite(X, estimator_name=who, input_name="X")


def check_csr(who: str, X: Any) -> Any:
    """Return a CSR matrix that may be followed anywhere, a copy if it must be.

    Its columns exist, ascend and come once a row: a pass over its indices.
    """
    _check_pointers(who, X)
    if len(X.indices) and not 0 <= X.indices.min() <= X.indices.max() < X.shape[1]:
        _refuse_structure(who)
    return _in_order(X)


def _in_order(X: Any) -> Any:
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def as_rows(X: Any) -> Rows:
    """Return read-only views of an array, or of a matrix in CSR form."""
    if not sparse.issparse(X):
        return (_read_only(X),)
    return _read_only(X.data), _read_only(X.indices), _read_only(X.indptr)


def count_rows(rows: Rows) -> int:
    """Return the number of rows."""
    return len(rows[0]) if len(rows) == 1 else len(rows[2]) - 1


def check_unusable_row(who: str, rows: Rows, row: int, n_features: int) -> bool:
    """Raise if `row`, at which learning stopped, is damaged: NaN, infinite, misplaced.

    Learning stops for other reasons too, which only the caller knows. Returns
    whether the row is too long for its squared norm to be a float64.
    """
    if len(rows) == 1:
        values = rows[0][row]
    else:
        data, indices, indptr = rows
        stored = slice(indptr[row], indptr[row + 1])
        values = data[stored]
        if np.any((indices[stored] < 0) | (indices[stored] >= n_features)):
            _refuse_structure(who)
    assert_all_finite(values, estimator_name=who, input_name="X")
    return float(np.abs(values).max(initial=0.0)) > 1e150


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    # Writeable, read-only and strided arrays are compilations of their own: one
    # form for all keeps kernels from being compiled thrice.
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def _check_pointers(who: str, X: Any) -> None:
    # SciPy builds a matrix from any arrays; a kernel would follow these anywhere.
    indptr = X.indptr
    ends = indptr[0] == 0 and indptr[-1] <= min(X.data.size, X.indices.size)
    if not (ends and np.all(indptr[1:] >= indptr[:-1])):
        _refuse_structure(who)


def _refuse_structure(who: str) -> NoReturn:
    raise DataError(
        f"{who}: X must be a well-formed CSR matrix; got indices that point "
        "outside of it. X.check_format() says where."
    )
