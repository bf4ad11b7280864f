"""The one boundary between users' input and the arrays that the rest trusts.

Data matrices, and columns of numbers: one value per row. The rules of parameters are
those of `peckorder._core.parameters`.
"""

# ruff: noqa: PLC0414

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Integral
from reprlib import repr as short
from typing import Any, NoReturn, TypeVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.validation import validate_data

from peckorder._core.cells import is_number as is_number_text
from peckorder._core.errors import caller, refusal, refusal_of
from peckorder._core.parameters import LARGEST as LARGEST
from peckorder._core.parameters import Rule as Rule
from peckorder._core.parameters import Rules as Rules
from peckorder._core.parameters import boolean as boolean
from peckorder._core.parameters import check_parameters as check_parameters
from peckorder._core.parameters import did_you_mean as did_you_mean
from peckorder._core.parameters import finite as finite
from peckorder._core.parameters import fraction as fraction
from peckorder._core.parameters import is_number as is_number
from peckorder._core.parameters import not_negative as not_negative
from peckorder._core.parameters import one_of as one_of
from peckorder._core.parameters import one_or_two as one_or_two
from peckorder._core.parameters import open_fraction as open_fraction
from peckorder._core.parameters import optional as optional
from peckorder._core.parameters import or_function as or_function
from peckorder._core.parameters import positive as positive
from peckorder._core.parameters import refuse_parameter as refuse_parameter
from peckorder._core.parameters import whole as whole
from peckorder._core.threads import Stop, share_rows
from peckorder._core.typing import Array, Bools, Floats, MatrixLike, Rows, Seed, SparseMatrix

T = TypeVar("T")

_TIMED = np.datetime64, np.timedelta64


def check_rows(estimator: BaseEstimator, X: MatrixLike, *, reset: bool, norms: bool) -> Rows:
    """Return the rows of `X` for compiled functions, copied only if they must be.

    Shape, dtype and feature names are checked by scikit-learn, in its own words.
    C-ordered float32 and float64 and CSR pass as they are, everything else is
    converted. If `norms` will be taken of the rows, a CSR matrix whose columns are
    out of order or repeated within a row is put in order first, in a copy.

    That values are finite and columns exist is *not* checked here, because it would
    cost a second pass over the data: compiled functions stop at such a row, and
    `check_unusable_row` then raises what is wrong with it.
    """
    if not reset and _is_ready(X, estimator):
        return as_rows(X)
    checked = read_matrix(estimator, X, rows_without_gaps, reset=reset, finite=False)
    if not sparse.issparse(checked):
        return as_rows(checked)
    _check_pointers(checked)
    # An entry stored in two parts would count wrongly in its row's norm.
    return as_rows(_in_order(checked) if norms else checked)


def _is_ready(X: Any, estimator: BaseEstimator) -> bool:
    """Whether scikit-learn would return rows as they are, and refuse nothing.

    It takes several times as long to find out as a model to learn a row.
    """
    return (
        type(X) is np.ndarray
        and X.dtype in (np.float64, np.float32)
        and X.flags.c_contiguous
        and X.ndim == 2
        and len(X) > 0
        and X.shape[1] == estimator.n_features_in_
        and not hasattr(estimator, "feature_names_in_")
    )


def check_finite(X: Any) -> None:
    """Raise in scikit-learn's words if a matrix has a NaN or an infinity."""
    values = X.data if sparse.issparse(X) else X

    def add_up(rows: slice, give_up: Stop) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            return float(values[rows].sum())

    # Sums of large values may be infinite, too.
    if not np.isfinite(share_rows(values, add_up)).all():
        assert_all_finite(values, estimator_name=caller(), input_name="X")


def check_csr(X: Any) -> SparseMatrix:
    """Return a CSR matrix with indices that can be trusted, a copy if it must be.

    Its columns exist, ascend and come once per row: a pass over its indices.
    """
    _check_pointers(X)
    if len(X.indices) and not 0 <= X.indices.min() <= X.indices.max() < X.shape[1]:
        _refuse_structure()
    return _in_order(X)


def _in_order(X: SparseMatrix) -> SparseMatrix:
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


def check_unusable_row(rows: Rows, row: int, n_features: int) -> bool:
    """Raise if `row`, at which learning stopped, has NaN, infinity or a wrong column.

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
            _refuse_structure()
    assert_all_finite(values, estimator_name=caller(), input_name="X")
    return float(np.abs(values).max(initial=0.0)) > 1e150


def _read_only(array: Array) -> Array:
    # Writeable, read-only and strided arrays are compiled separately: with one form
    # for all, functions are compiled once.
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def _check_pointers(X: SparseMatrix) -> None:
    # SciPy builds a matrix from any arrays; compiled code would follow these anywhere.
    indptr = X.indptr
    ends = indptr[0] == 0 and indptr[-1] <= min(X.data.size, X.indices.size)
    if not (ends and np.all(indptr[1:] >= indptr[:-1])):
        _refuse_structure()


def _refuse_structure() -> NoReturn:
    raise refusal(
        "X",
        "be a well-formed CSR matrix",
        "indices that point outside of it",
        hint="X.check_format() says where.",
    )


def unmasked(name: str, values: T) -> T:
    """Return values; refuse a masked array, or a list of such, if some are masked.

    NumPy and scikit-learn would go on with what is under the mask.
    """
    row = -1
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        row = int(np.nonzero(np.ma.getmaskarray(values))[0][0])
    elif isinstance(values, list | tuple):
        row = next((k for k, value in enumerate(values) if _is_masked(value)), -1)
    if row >= 0:
        raise refusal(name, "be without masked values", f"one in row {row}")
    return values


def _is_masked(value: object) -> bool:
    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.is_masked(value))


def read_matrix(
    estimator: BaseEstimator,
    X: MatrixLike,
    read_gaps: Callable[[MatrixLike], MatrixLike],
    *,
    reset: bool,
    finite: bool | str,
) -> Any:
    """Return users' rows as a C-ordered or CSR matrix of float64 or float32.

    `read_gaps` says what masked values and missing dates are; `finite` is scikit-learn's
    `ensure_all_finite`.
    """
    with naming_columns(X):
        return validate_data(
            estimator,
            read_gaps(X),
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            ensure_all_finite=finite,
        )


@contextmanager
def naming_columns(X: Any) -> Iterator[None]:
    """Refuse a frame with dates, or with text, by its first column of no numbers.

    scikit-learn itself makes numbers of dates, in units of whatever they are stored in.
    """
    kinds = map(_kind, getattr(X, "dtypes", ())) if hasattr(X, "columns") else ()
    for name, kind in zip(getattr(X, "columns", ()), kinds, strict=False):
        if kind in ("m", "M"):
            raise _no_numbers(name, "dates or durations")
    try:
        yield
    except (TypeError, ValueError) as error:
        columns = () if refusal_of(error) else getattr(X, "columns", ())
        for k, name in enumerate(columns):
            cells = np.asarray(X.iloc[:, k] if hasattr(X, "iloc") else X[:, k])
            texts = (cell for cell in cells.ravel().tolist() if isinstance(cell, str))
            text = next((cell for cell in texts if not is_number_text(cell)), None)
            if text is not None:
                raise _no_numbers(name, f"the text {short(text)}") from None
        raise


def _no_numbers(name: object, got: str) -> Exception:
    hint = f"Use TableRanker({caller()}()), which makes numbers of text and dates."
    return refusal(f"column {name!r} of X", "be numbers", got, hint=hint)


def rows_without_gaps(X: MatrixLike) -> MatrixLike:
    """Return X; refuse masked values, and missing dates, which would become -9.2e18."""
    dates = _dates(X)
    if dates is not None and (is_missing := _are_nat(dates)).any():
        row = int(np.nonzero(is_missing)[0][0])
        raise refusal("X", "be without missing values", f"NaT in row {row}")
    return unmasked("X", _without_fill(X))


def _without_fill(X: Any) -> MatrixLike:
    """Return a frame of sparse columns as a dense one, if what they leave out is not 0.

    scikit-learn makes a sparse matrix of such a frame, which leaves out zeros.
    """
    types = np.ravel(getattr(X, "dtypes", ()))
    is_sparse = all(hasattr(dtype, "fill_value") for dtype in types)
    if is_sparse and any(dtype.fill_value != 0 for dtype in types):
        X = X.sparse.to_dense()
    matrix: MatrixLike = X
    return matrix


def _dates(X: Any) -> Array | None:
    """Return X as an array if it may have missing dates or durations, else None."""
    if isinstance(X, list | tuple):
        # Lists take long to convert: their first row tells.
        return np.asarray(X) if any(isinstance(v, _TIMED) for v in np.ravel(X[:1])) else None
    if hasattr(X, "dtypes"):
        kinds = {_kind(dtype) for dtype in np.ravel(X.dtypes)}
    else:
        kinds = {_kind(getattr(X, "dtype", None))}
    return np.asarray(X) if kinds <= {"m", "M", "O"} else None


def _kind(dtype: Any) -> str:
    """Return the kind of a type of NumPy or pandas; "M" for dates of polars."""
    is_temporal = getattr(dtype, "is_temporal", bool)()
    return "M" if is_temporal else str(getattr(dtype, "kind", ""))


def _are_nat(dates: Array) -> Bools:
    """Return which entries are missing dates or durations; objects may be anything."""
    if dates.dtype.kind != "O":
        return np.isnat(dates)
    found = [isinstance(value, _TIMED) and bool(np.isnat(value)) for value in dates.ravel()]
    return np.array(found, dtype=bool).reshape(dates.shape)


def masked_as_nan(X: MatrixLike) -> MatrixLike:
    """Return X, NaN for values that are masked in an array, and for missing dates.

    None for masked text, or other objects.
    """
    if isinstance(X, list | tuple) and any(map(_is_masked, X)):
        X = np.ma.stack(X)
    if _is_masked(X):
        masked: Any = X
        if masked.dtype.kind in "biuf":
            dtype = np.float32 if masked.dtype == np.float32 else np.float64
            return np.asarray(masked.astype(dtype).filled(np.nan))
        if masked.dtype.kind in "mM":
            X = masked.filled(np.array("NaT", masked.dtype))
        else:
            X = masked.astype(object).filled(None)
    dates = _dates(X)
    if dates is not None and (is_missing := _are_nat(dates)).any():
        return np.where(is_missing, np.nan, dates.astype(np.float64))
    return _without_fill(X)


def numbers(name: str, values: object, *, finite: bool = False, hint: str = "") -> Floats:
    """Return values as an array of floats without NaN, for which `hint` knows a way."""
    unmasked(name, values)
    try:
        given = np.asarray(values)
    except ValueError:
        given = np.array("of rows of different lengths")
    check_whole(name, values, given)
    if given.dtype.kind == "O" and all(v is None or is_number(v) for v in given.ravel()):
        given = _as_floats(name, given)
    if given.dtype.kind not in "biuf":
        hint = ""
        if str(getattr(values, "dtype", "")) == "category":
            hint = f" Of ordered categories give the codes: {name}.cat.codes."
        raise refusal(name, "be numbers", short(values), hint=hint)
    if given.ndim != 1 or given.size == 0:
        raise refusal(
            name, "be one number per row, of one row at least", f"an array of shape {given.shape}"
        )
    if given.dtype.kind in "iu":
        largest = max(int(given.max()), int(given.min()), key=abs)
        _check_exact(name, largest)
    array = given.astype(np.float64, copy=False)
    if given.dtype.itemsize > array.itemsize:
        check_distinct(name, given, array)
    is_bad = ~np.isfinite(array) if finite else np.isnan(array)
    if is_bad.any():
        row = int(np.argmax(is_bad))
        rule = "finite" if finite else "without gaps"
        if not finite:
            hint = "Fill them, with -inf to rank these rows last."
        value = float(array[row])
        hint = hint if np.isnan(value) else ""
        raise refusal(name, f"be {rule}", f"{value!r} in row {row}", hint=hint)
    return array


def _as_floats(name: str, given: Array) -> Floats:
    try:
        array: Floats = given.astype(np.float64)
    except OverflowError:  # an integer, or a fraction, of hundreds of digits
        raise refusal(name, "be numbers below 2**1024", "a larger one") from None
    whole_numbers = [int(v) for v in given.ravel().tolist() if isinstance(v, Integral)]
    _check_exact(name, max(whole_numbers, key=abs, default=0))
    return array


def _check_exact(name: str, largest: int) -> None:
    if abs(largest) >= 2**53:
        raise refusal(name, "be below 2**53, exact as float64", repr(largest))


def check_whole(name: str, values: object, given: Array) -> None:
    """Refuse integers among values that NumPy has rounded beside fractions."""
    if given.dtype.kind == "f" and isinstance(values, list | tuple) and given.size:
        with np.errstate(invalid="ignore"):
            is_large = np.abs(given) >= 2.0**53
        large = [values[row] for row in np.flatnonzero(is_large)] if given.ndim == 1 else []
        whole_numbers = [int(v) for v in large if isinstance(v, Integral)]
        _check_exact(name, max(whole_numbers, key=abs, default=0))


def check_distinct(name: str, given: Array, array: Floats) -> None:
    """Refuse numbers of more digits than float64 has if some become equal."""
    if len(np.unique(given)) > len(np.unique(array)):
        raise refusal(name, "be numbers that differ as float64", f"{given.dtype} with more digits")


def generator(random_state: Seed) -> np.random.RandomState:
    """Return the generator of a seed, as scikit-learn makes it."""
    try:
        made: np.random.RandomState = check_random_state(random_state)
    except (TypeError, ValueError):
        rule = "be None, an integer from 0 to 2**32 - 1 or a RandomState"
        raise refusal("random_state", rule, short(random_state), error=ValueError) from None
    return made


def one_per_row(name: str, values: object, n_rows: int) -> Floats:
    """Return finite numbers, as many as there are rows."""
    column = numbers(name, values, finite=True)
    if len(column) != n_rows:
        raise refusal(name, f"be one number per row, {n_rows} in all", len(column))
    return column


def weights(sample_weight: object, n_rows: int) -> Floats:
    """Return the weights of rows, none of them negative."""
    weight = one_per_row("sample_weight", sample_weight, n_rows)
    if weight.min() < 0:
        row = int(np.argmin(weight))
        raise refusal("sample_weight", "be >= 0", f"{float(weight[row])!r} in row {row}")
    return weight
