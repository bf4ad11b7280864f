"""Charts, tables and comparisons that the figures on films share."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from peckorder._core.typing import Floats
from peckorder.experiments.framework.experiment import Values
from peckorder.experiments.framework.tables import column, mean_curve, mean_text
from peckorder.experiments.framework.verdicts import side
from peckorder.experiments.freund_2003.movies import MEASURES
from peckorder.reports import Chart, Table

INTERVALS = (
    "± is half the 95 % interval of the mean over the draws; so are bands in charts."
)


def rankers(units: Sequence[Values]) -> list[str]:
    """Return the rankers of a part, in the order in which they were measured."""
    return list(units[0]["rankers"])


def of(units: Sequence[Values], ranker: str, measure: str) -> Floats:
    """Return a value for each repetition and place on the x axis."""
    return column(units, "rankers", ranker, measure)


def charts(
    units: Sequence[Values],
    title: str,
    x_label: str,
    x: Any,
    places: slice = slice(None),
    caption: str = "",
    *,
    log_x: bool = False,
) -> tuple[Chart, ...]:
    """Return a chart a measure, a curve a ranker."""
    return tuple(
        Chart(
            f"{title}: {measure}",
            x_label,
            measure,
            tuple(
                mean_curve(name, x, of(units, name, measure)[:, places])
                for name in rankers(units)
            ),
            caption,
            log_x=log_x,
        )
        for measure in MEASURES
    )


def by_place(
    units: Sequence[Values], measure: str, headings: Sequence[str], caption: str
) -> Table:
    """Return a table of one measure: a row a ranker, a column a place."""
    rows = tuple(
        (name, *(mean_text(each) for each in of(units, name, measure).T))
        for name in rankers(units)
    )
    return Table((measure, *headings), rows, caption)


def by_measure(units: Sequence[Values], place: int, caption: str) -> Table:
    """Return a table of all measures at one place: a row a ranker."""
    rows = tuple(
        (
            name,
            *(mean_text(of(units, name, measure)[:, place]) for measure in MEASURES),
        )
        for name in rankers(units)
    )
    return Table(("ranker", *MEASURES), rows, caption)


def gain(units: Sequence[Values], one: str, other: str, measure: str) -> Floats:
    """Return by how much `one` is better than `other`, each repetition and place."""
    difference = of(units, one, measure) - of(units, other, measure)
    return -difference if measure == "disagreement" else difference


def wins(units: Sequence[Values], one: str, other: str, places: slice) -> Floats:
    """Return 1 where `one` is better, -1 where it is worse, 0 where that is open.

    A row a measure, a column a place.
    """
    found = []
    for measure in MEASURES:
        gains = gain(units, one, other, measure)[:, places]
        found.append([side(each) for each in gains.T])
    return np.array(found)


def tally(outcome: Floats) -> str:
    """Write how often it was better, open and worse."""
    better, worse = int((outcome > 0).sum()), int((outcome < 0).sum())
    level = outcome.size - better - worse
    return f"better in {better}, open in {level}, worse in {worse} of {outcome.size}"


def drawn(units: Sequence[Values]) -> str:
    """Write how many draws there were, and of how many targets; some may lack some."""
    counts = sorted({int(unit["targets"]) for unit in units})
    ends = " to ".join(str(each) for each in dict.fromkeys((counts[0], counts[-1])))
    return f"{len(units)} draws of {ends} targets"
