"""Means with intervals, and tables beside the printed figures."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from peckorder._core.typing import Floats
from peckorder.experiments.framework import Units
from peckorder.metrics import half_width
from peckorder.reports import Cell, Curve, Table

# A printed mean, with or without its spread.
Printed: TypeAlias = Sequence[float] | float | None


def column(units: Units, *keys: str) -> Floats:
    """Return one value, or list of values, per repetition; None becomes NaN.

    ``column(units, "loss", "PRank")`` is the array of ``unit["loss"]["PRank"]``.
    """
    values = list(units)
    for key in keys:
        values = [value[key] for value in values]
    return np.array(values, dtype=float)


def columns(units: Units, *keys: str) -> dict[str, Floats]:
    """Return the columns of all that is measured under these keys, by name."""
    values = units[0]
    for key in keys:
        values = values[key]
    return {name: column(units, *keys, name) for name in values}


def signed(value: float, decimals: int) -> str:
    """Format a number with its sign."""
    return f"{value:+.{decimals}f}".replace("-", "\N{MINUS SIGN}")


def mean_text(values: Floats, decimals: int = 3) -> str:
    """Format the mean of the finite values, and half its interval."""
    values = values[np.isfinite(values)]
    if values.size == 0:
        return ""
    mean = f"{values.mean():.{decimals}f}"
    if values.size == 1:
        return mean
    return f"{mean} ± {float(half_width(values)):.{decimals}f}"


def mean_row(label: str, *columns: Floats, decimals: int = 3) -> tuple[Cell, ...]:
    """Return a row of a table: a label, then means with half their intervals."""
    return label, *(mean_text(values, decimals) for values in columns)


def difference_text(differences: Floats, decimals: int = 3) -> str:
    """Format the mean of paired differences, with its sign, and half its interval."""
    text = signed(differences.mean(), decimals)
    if len(differences) > 1:
        text += f" ± {float(half_width(differences)):.{decimals}f}"
    return text


def printed_text(printed: Printed, decimals: int = 2) -> str:
    """Format a printed figure, with its spread if it has one."""
    if printed is None:
        return ""
    if isinstance(printed, int | float):
        return f"{printed:.{decimals}f}"
    return " ± ".join(f"{number:.{decimals}f}" for number in printed)


def beside_printed(
    heading: str, rows: Iterable[tuple[str, Floats, Printed]], caption: str, *, decimals: int = 3
) -> Table:
    """Return a table of (label, our value per repetition, printed figure or None).

    The gap is our mean minus the printed one.
    """
    lines: list[tuple[Cell, ...]] = []
    for label, values, printed in rows:
        finite = values[np.isfinite(values)]
        mean = printed[0] if isinstance(printed, Sequence) else printed
        has_gap = finite.size > 0 and mean is not None
        gap = signed(finite.mean() - mean, decimals) if has_gap else ""
        lines.append((label, mean_text(values, decimals), printed_text(printed), gap))
    return Table((heading, "ours", "printed", "gap"), tuple(lines), caption)


def mean_curve(label: str, x: ArrayLike, values: Floats) -> Curve:
    """Return the mean of curves, one per repetition, with the band of its interval."""
    mean = values.mean(axis=0)
    if values.shape[0] < 2:
        return Curve(label, np.asarray(x), mean)
    half = half_width(values)
    return Curve(label, np.asarray(x), mean, mean - half, mean + half)


def side(differences: Floats) -> int:
    """Return the sign of the mean of paired differences, by its own 95 % interval.

    0 if zero is in the interval, and if there is one repetition only. To be told in
    words: verdicts allow for the number of comparisons.
    """
    differences = differences[np.isfinite(differences)]
    if len(differences) < 2:
        return 0
    mean, half = float(differences.mean()), float(half_width(differences))
    return 0 if abs(mean) <= half else int(np.sign(mean))
