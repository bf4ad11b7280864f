"""Freund et al. (2003): charts, tables and comparisons of the figures on films."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from peckorder._core.typing import Floats
from peckorder.experiments.framework.experiment import Units
from peckorder.experiments.framework.statistics import column, mean_curve, mean_text, side
from peckorder.experiments.freund_2003.films import MEASURES
from peckorder.reports import Chart, Table

INTERVALS = "± is half the 95 % interval of the mean over the draws; so are bands in charts."


def rankers(units: Units) -> list[str]:
    """Return the rankers of a part, in the order in which they were measured."""
    return list(units[0]["rankers"])


def of(units: Units, ranker: str, measure: str) -> Floats:
    """Return one value per repetition and point of the x axis."""
    return column(units, "rankers", ranker, measure)


def charts(
    units: Units,
    title: str,
    x_label: str,
    x: ArrayLike,
    points: slice = slice(None),
    caption: str = "",
    *,
    log_x: bool = False,
) -> tuple[Chart, ...]:
    """Return one chart per measure, with one curve per ranker."""
    return tuple(
        Chart(
            f"{title}: {measure}",
            x_label,
            measure,
            tuple(
                mean_curve(name, x, of(units, name, measure)[:, points]) for name in rankers(units)
            ),
            caption,
            log_x=log_x,
        )
        for measure in MEASURES
    )


def by_point(units: Units, measure: str, headings: Sequence[str], caption: str) -> Table:
    """Return a table of one measure: one row per ranker, one column per point."""
    rows = tuple(
        (name, *(mean_text(values) for values in of(units, name, measure).T))
        for name in rankers(units)
    )
    return Table((measure, *headings), rows, caption)


def by_measure(units: Units, point: int, caption: str) -> Table:
    """Return a table of all measures at one point: one row per ranker."""
    rows = tuple(
        (name, *(mean_text(of(units, name, measure)[:, point]) for measure in MEASURES))
        for name in rankers(units)
    )
    return Table(("ranker", *MEASURES), rows, caption)


def gain(units: Units, one: str, other: str, measure: str) -> Floats:
    """Return by how much `one` is better than `other`, per repetition and point."""
    difference = of(units, one, measure) - of(units, other, measure)
    return -difference if measure == "disagreement" else difference


def wins(units: Units, one: str, other: str, points: slice = slice(None)) -> Floats:
    """Return 1 where `one` is better, -1 where it is worse, 0 where that is open.

    One row per measure, one column per point.
    """
    gains = [gain(units, one, other, measure)[:, points].T for measure in MEASURES]
    return np.array([[side(values) for values in by_point] for by_point in gains])


def tally(outcome: Floats) -> str:
    """Format the numbers of better, open and worse."""
    better, worse = int((outcome > 0).sum()), int((outcome < 0).sum())
    n_open = outcome.size - better - worse
    return f"better in {better}, open in {n_open}, worse in {worse} of {outcome.size}"


def drawn(units: Units) -> str:
    """Format the number of draws, and of their targets, which may vary."""
    counts = sorted({int(unit["targets"]) for unit in units})
    ends = " to ".join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))
    return f"{len(units)} draws of {ends} targets"
