"""The one boundary between users' input and the arrays that the rest trusts.

Parameters, data matrices, and columns of numbers: one value per row.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Integral, Real
from reprlib import repr as short
from typing import Any, NoReturn, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import validate_data

from peckorder._core.errors import caller, refusal
from peckorder._core.threads import Stop, share_rows
from peckorder._core.typing import Array, Floats, MatrixLike, Rows, SparseMatrix


@dataclass(frozen=True, slots=True)
class Rule:
    """A predicate on one parameter, with the words of the message when it fails."""

    text: str
    accepts: Callable[[Any], bool]
    hint: Callable[[Any], str] = lambda value: ""

    def check(self, name: str, value: object) -> None:
        """Raise if `value` breaks the rule."""
        if not self.accepts(value):
            raise refusal(
                name, f"be {self.text}", repr(value), hint=self.hint(value), error=ValueError
            )


Rules: TypeAlias = dict[str, Rule]

LARGEST = float(np.finfo(np.float64).max)
# What compiled functions count with.
_BEYOND_64_BITS = 2**63

boolean = Rule("True or False", lambda value: isinstance(value, bool | np.bool_))


def is_number(value: object) -> bool:
    """Whether a value is a real number, booleans included, durations not.

    NumPy counts its durations among the integers.
    """
    return isinstance(value, Real) and not isinstance(value, np.timedelta64)


def whole(minimum: int) -> Rule:
    """Accept integers not below `minimum`; booleans are refused."""

    def accepts(value: object) -> bool:
        if isinstance(value, bool) or not (isinstance(value, Integral) and is_number(value)):
            return False
        return int(value) >= minimum

    return Rule(f"an integer >= {minimum}", accepts)


def _is_number(value: object) -> bool:
    return is_number(value) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    """Return a number of Python, which compares exactly with one of any size."""
    return value.item() if isinstance(value, np.generic) else value


# Compared, not converted: an integer may be too large for a float.
positive = Rule(
    "a finite number > 0", lambda value: _is_number(value) and 0 < _plain(value) < LARGEST
)
not_negative = Rule(
    "a finite number >= 0", lambda value: _is_number(value) and 0 <= _plain(value) < LARGEST
)


finite = Rule(
    "a finite number", lambda value: _is_number(value) and -LARGEST < _plain(value) < LARGEST
)
fraction = Rule("a number > 0 and <= 1", lambda value: _is_number(value) and 0 < value <= 1)


def optional(rule: Rule) -> Rule:
    """Accept None as well."""
    return Rule(
        f"None or {rule.text}", lambda value: value is None or rule.accepts(value), rule.hint
    )


def or_function(rule: Rule, kind: str) -> Rule:
    """Accept functions as well."""
    return Rule(
        f"{rule.text} or a function {kind}", lambda value: callable(value) or rule.accepts(value)
    )


def one_of(*choices: str, aliases: Mapping[str, str] | None = None) -> Rule:
    """Accept exactly the given words; for others, suggest similar ones."""
    words = ", ".join(repr(choice) for choice in choices)
    return Rule(
        f"one of {words}",
        lambda value: isinstance(value, str) and value in choices,
        lambda value: did_you_mean(value, choices, aliases or {}),
    )


def did_you_mean(value: object, choices: Iterable[str], aliases: Mapping[str, str]) -> str:
    """Return a sentence that suggests what was meant, or nothing."""
    word = value.lower() if isinstance(value, str) else ""
    if word in aliases:
        return f" Did you mean {aliases[word]!r}?"
    by_lower_name = {choice.lower(): choice for choice in choices}
    near = [by_lower_name[name] for name in get_close_matches(word, by_lower_name)]
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def check_parameters(owner: object, rules: Rules) -> None:
    """Raise on the first attribute of `owner` that breaks its rule, or 64 bits."""
    for name, rule in rules.items():
        value = getattr(owner, name)
        rule.check(name, value)
        if isinstance(value, Integral) and abs(int(value)) >= _BEYOND_64_BITS:
            raise refusal(name, "be below 2**63, as an integer", repr(value), error=ValueError)


def refuse_parameter(owner: object, name: str, rule: str) -> NoReturn:
    """Refuse an attribute of `owner` that breaks a rule together with others."""
    raise refusal(name, rule, repr(getattr(owner, name)), error=ValueError)


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
    checked = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        order="C",
        ensure_all_finite=False,
    )
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


def numbers(name: str, values: object, *, finite: bool = False) -> Floats:
    """Return values as an array of floats without NaN."""
    try:
        given = np.asarray(values)
    except ValueError:
        given = np.array("of rows of different lengths")
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
        if abs(largest) >= 2**53:
            raise refusal(name, "be below 2**53, exact as float64", repr(largest))
    array = given.astype(np.float64, copy=False)
    is_bad = ~np.isfinite(array) if finite else np.isnan(array)
    if is_bad.any():
        row = int(np.argmax(is_bad))
        rule = "finite" if finite else "without gaps"
        hint = "" if finite else " Fill them, with -inf to rank these rows last."
        raise refusal(name, f"be {rule}", f"{float(array[row])!r} in row {row}", hint=hint)
    return array


def _as_floats(name: str, given: Array) -> Floats:
    try:
        return given.astype(np.float64)
    except OverflowError:  # an integer, or a fraction, of hundreds of digits
        raise refusal(name, "be numbers below 2**1024", "a larger one") from None


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
