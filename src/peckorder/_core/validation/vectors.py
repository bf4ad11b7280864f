"""Columns of numbers: scores, truths, weights, offsets."""

from numbers import Real
from reprlib import repr as short
from typing import Any

import numpy as np

from peckorder._core.typing import Floats
from peckorder.exceptions import DataError


def numbers(who: str, name: str, values: Any, *, finite: bool = False) -> Floats:
    """Return values as an array of floats without NaN."""
    try:
        given = np.asarray(values)
    except ValueError:
        given = np.array("of rows of different lengths")
    if given.dtype.kind == "O" and all(
        v is None or isinstance(v, Real) for v in given.ravel()
    ):
        given = given.astype(np.float64)
    if given.dtype.kind not in "biuf":
        hint = ""
        if str(getattr(values, "dtype", "")) == "category":
            hint = f" Of ordered categories give the codes: {name}.cat.codes."
        raise DataError(f"{who}: {name} must be numbers; got {short(values)}.{hint}")
    if given.ndim != 1 or given.size == 0:
        raise DataError(
            f"{who}: {name} must be one number per row, of one row at least; got an "
            f"array of shape {given.shape}."
        )
    if given.dtype.kind in "iu" and int(np.abs(given).max()) >= 2**53:
        raise DataError(
            f"{who}: {name} must be below 2**53 to be told apart; got "
            f"{int(given[np.argmax(np.abs(given))])!r}."
        )
    array = given.astype(np.float64, copy=False)
    is_bad = ~np.isfinite(array) if finite else np.isnan(array)
    if is_bad.any():
        row = int(np.argmax(is_bad))
        rule = "finite" if finite else "without gaps"
        hint = "" if finite else " Fill them, with -inf to rank these rows last."
        raise DataError(
            f"{who}: {name} must be {rule}; got {float(array[row])!r} in row {row}."
            f"{hint}"
        )
    return array


def one_a_row(who: str, name: str, values: Any, n_rows: int) -> Floats:
    """Return finite numbers, as many as there are rows."""
    column = numbers(who, name, values, finite=True)
    if len(column) != n_rows:
        raise DataError(
            f"{who}: {name} must be one number per row, {n_rows} in all; got "
            f"{len(column)}."
        )
    return column


def weights(who: str, sample_weight: Any, n_rows: int) -> Floats:
    """Return the weights of rows, none of them negative."""
    weight = one_a_row(who, "sample_weight", sample_weight, n_rows)
    if weight.min() < 0:
        row = int(np.argmin(weight))
        raise DataError(
            f"{who}: sample_weight must be >= 0; got {float(weight[row])!r} in row "
            f"{row}."
        )
    return weight
