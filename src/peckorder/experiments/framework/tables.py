"""Means with their intervals, and tables that set ours beside the printed figures."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from peckorder._core.typing import Floats
from peckorder.metrics import half_width
from peckorder.reports import Cell, Curve, Table


def column(units: Sequence[dict[str, Any]], *keys: str) -> Floats:
    """Return one value, or list of values, of every repetition; None becomes NaN.

    ``column(units, "loss", "PRank")`` is the array of ``unit["loss"]["PRank"]``.
    """
    found: list[Any] = []
    for unit in units:
        value: Any = unit
        for key in keys:
            value = value[key]
        found.append(value)
    return np.array(found, dtype=float)


def mean_text(values: Floats, decimals: int = 3) -> str:
    """Write the mean of values, NaN left out, and half its interval."""
    values = values[np.isfinite(values)]
    if values.size == 0:
        return ""
    mean = f"{values.mean():.{decimals}f}"
    if values.size == 1:
        return mean
    return f"{mean} ± {float(half_width(values)):.{decimals}f}"


def printed_text(printed: Sequence[float] | float | None, decimals: int = 2) -> str:
    """Write a printed figure, with its spread if it has one."""
    if printed is None:
        return ""
    if isinstance(printed, int | float):
        return f"{printed:.{decimals}f}"
    mean, spread = printed
    return f"{mean:.{decimals}f} ± {spread:.{decimals}f}"


def beside_printed(
    heading: str,
    rows: Iterable[tuple[str, Floats, Sequence[float] | float | None]],
    caption: str,
    *,
    decimals: int = 3,
    printed_decimals: int = 2,
) -> Table:
    """Return a table of (label, ours in every repetition, printed or None).

    The gap is our mean minus the printed one.
    """
    lines: list[tuple[Cell, ...]] = []
    for label, ours, printed in rows:
        kept = ours[np.isfinite(ours)]
        first = printed[0] if isinstance(printed, Sequence) else printed
        known = kept.size > 0 and first is not None
        gap = f"{kept.mean() - first:+.{decimals}f}" if known else ""
        lines.append(
            (
                label,
                mean_text(ours, decimals),
                printed_text(printed, printed_decimals),
                gap.replace("-", "\N{MINUS SIGN}"),
            )
        )
    return Table((heading, "ours", "printed", "gap"), tuple(lines), caption)


def mean_curve(label: str, x: Any, values: Floats) -> Curve:
    """Return the mean of curves, one a repetition, with the band of its interval."""
    mean = values.mean(axis=0)
    if values.shape[0] < 2:
        return Curve(label, np.asarray(x), mean)
    half = half_width(values)
    return Curve(label, np.asarray(x), mean, mean - half, mean + half)
