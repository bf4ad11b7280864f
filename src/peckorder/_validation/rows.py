"""Data matrices: dense, CSR, pandas or polars in; read-only C-ordered views out."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import validate_data

from peckorder._typing import Rows
from peckorder.exceptions import DataError


def check_rows(estimator: Any, X: Any, *, reset: bool, norms: bool) -> Rows:
    """Return the rows of `X` as kernels want them, copied only if they must be.

    Shape, dtype and feature names are checked by scikit-learn, in its own words.
    C-ordered float32 and float64 and CSR pass as they are, everything else is
    converted. If `norms` will be taken of the rows, a CSR matrix whose columns are
    out of order or repeated within a row is put in order first, in a copy.

    That all values are finite is *not* checked here, because it would cost a second
    pass over the data: kernels stop at a row that is not, and `check_finite_row`
    then says what is wrong with it.
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
    _check_structure(type(estimator).__name__, X)
    if norms and not X.has_canonical_format:
        # An entry stored in two parts would count wrongly in its row's norm.
        X = X.copy()
        X.sum_duplicates()
    return as_rows(X)


def as_rows(X: Any) -> Rows:
    """Return read-only views of an array, or of a matrix in CSR form."""
    if not sparse.issparse(X):
        return (_read_only(X),)
    return _read_only(X.data), _read_only(X.indices), _read_only(X.indptr)


def count_rows(rows: Rows) -> int:
    """Return the number of rows."""
    return len(rows[0]) if len(rows) == 1 else len(rows[2]) - 1


def check_finite_row(who: str, rows: Rows, row: int) -> None:
    """Raise scikit-learn's own error if `row` has a NaN or an infinity."""
    values = rows[0][row : row + 1]
    if len(rows) == 3:
        values = rows[0][rows[2][row] : rows[2][row + 1]]
    assert_all_finite(values, estimator_name=who, input_name="X")


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    # Writeable, read-only and strided arrays are compilations of their own: one
    # form for all keeps kernels from being compiled thrice.
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def _check_structure(who: str, X: Any) -> None:
    # SciPy builds a matrix from any index array; a kernel would follow a wrong
    # index out of the weights.
    indices, indptr = X.indices, X.indptr
    # Read as unsigned, a negative index is a huge one.
    unsigned = indices.view(f"u{indices.itemsize}")
    inside = indices.size == 0 or int(unsigned.max()) < X.shape[1]
    ascends = indptr[0] == 0 and indptr[-1] <= X.data.size
    if not (inside and ascends and np.all(indptr[1:] >= indptr[:-1])):
        raise DataError(
            f"{who}: X must be a well-formed CSR matrix; got indices that point "
            "outside of it. X.check_format() says where."
        )
