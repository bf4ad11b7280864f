"""Columns made ready for a ranker: text coded, numbers scaled, gaps filled."""

from collections.abc import Sequence
from numbers import Real
from reprlib import repr as short
from typing import Final, TypeAlias

import numpy as np

from peckorder._core.errors import refusal
from peckorder._core.typing import Array, Floats
from peckorder.feedback import is_missing

# Of a column of text its values in order; None of one of numbers.
Levels: TypeAlias = Sequence[Sequence[str] | None]

# Deviations that are nothing beside a mean: numbers that differ by their last bits.
_ROUNDING: Final = 4.0 * np.finfo(np.float64).eps


def learn_scaling(X: Floats) -> tuple[Floats, Floats]:
    """Return means and deviations of columns; what is constant or empty has 1.

    Columns are halved or doubled to below 1 first, so that no square overflows, and
    measured from one of their values, so that little is lost to a large mean.
    """
    if not len(X):
        return np.zeros(X.shape[1]), np.ones(X.shape[1])
    known = ~np.isnan(X)
    count = np.maximum(known.sum(axis=0), 1)
    _, power = np.frexp(np.abs(X).max(axis=0, initial=0.0, where=known))
    small = np.where(known, np.ldexp(X, -power), 0.0)
    origin = small[known.argmax(axis=0), np.arange(X.shape[1])]
    mean = origin + np.where(known, small - origin, 0.0).sum(axis=0) / count
    spread = np.sqrt((np.where(known, small - mean, 0.0) ** 2).sum(axis=0) / count)
    scale = np.where(spread > _ROUNDING * np.abs(mean), np.ldexp(spread, power), 1.0)
    return np.ldexp(mean, power), scale


def apply_scaling(X: Floats, shift: Floats, scale: Floats) -> Floats:
    """Return ``(X - shift) / scale``, 0 in gaps."""
    scaled = X - shift
    scaled /= scale
    scaled[np.isnan(scaled)] = 0.0
    return scaled


def learn_levels(name: str, column: Array) -> tuple[str, ...] | None:
    """Return the values of a column of text, ascending; None of one of numbers."""
    if column.dtype.kind in "biuf":
        return None
    if column.dtype != object:
        raise refusal(f"column {name!r}", "be numbers or text", column.dtype, error=TypeError)
    known = [cell for cell in column.tolist() if not is_missing(cell)]
    if all(isinstance(cell, Real) for cell in known):
        return None
    for cell in known:
        if not isinstance(cell, str | Real):
            # Scikit-learn's words for what no estimator can take.
            raise refusal(
                "argument",
                f"be a string or a number in column {name!r}",
                short(cell),
                error=TypeError,
            )
    return tuple(sorted({str(cell) for cell in known}))


def as_numbers(name: str, column: Array) -> Floats:
    """Return a column of numbers, NaN where a cell is empty; refuse other text."""
    if column.dtype.kind in "biuf":
        return column.astype(np.float64)
    numbers = np.empty(len(column))
    for row, cell in enumerate(column.tolist()):
        try:
            numbers[row] = np.nan if is_missing(cell) else float(cell)
        except (TypeError, ValueError):
            raise refusal(f"column {name!r}", "be numbers", f"{short(cell)} in row {row}") from None
    return numbers


def one_hot(column: Array, levels: Sequence[str]) -> Floats:
    """Return, for each of some texts, 1 where a column has it, else 0."""
    place = {level: k for k, level in enumerate(levels)}
    cells = column.tolist()
    found = [-1 if is_missing(v) else place.get(str(v), -1) for v in cells]
    code = np.array(found, dtype=np.int64)
    return np.asarray(code[:, None] == np.arange(len(levels)), dtype=np.float64)


def coded(names: Sequence[str], columns: Sequence[Array], levels: Levels) -> Floats:
    """Return numbers as they are, and for each value of text a column of 1 and 0."""
    width = n_coded(levels)
    X = np.empty((len(columns[0]) if columns else 0, width))
    place = 0
    for name, column, values in zip(names, columns, levels, strict=True):
        if values is None:
            X[:, place] = as_numbers(name, column)
            place += 1
            continue
        X[:, place : place + len(values)] = one_hot(column, values)
        place += len(values)
    return X


def n_coded(levels: Levels) -> int:
    """Return how many columns there are when text is coded."""
    return sum(1 if values is None else len(values) for values in levels)


def coded_names(names: Sequence[str], levels: Levels) -> list[str]:
    """Return names of coded columns: ``alcohol``, ``colour=red``."""
    found: list[str] = []
    for name, values in zip(names, levels, strict=True):
        found.extend([name] if values is None else [f"{name}={v}" for v in values])
    return found
