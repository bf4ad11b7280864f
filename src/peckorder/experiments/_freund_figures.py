"""Charts, tables and verdicts that the figures on films share."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from peckorder._typing import Floats
from peckorder.experiments._experiment import Values
from peckorder.experiments._freund_movies import MEASURES
from peckorder.experiments._tables import column, half_width, mean_curve, mean_text
from peckorder.reports import Chart, Table


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
    """Return 1 where `one` is better beyond the interval, 0 within it, -1 worse.

    A row a measure, a column a place.
    """
    found = []
    for measure in MEASURES:
        gains = gain(units, one, other, measure)[:, places]
        mean, half = gains.mean(axis=0), half_width(gains)
        found.append(np.where(mean > half, 1, np.where(mean < -half, -1, 0)))
    return np.array(found)


def tally(outcome: Floats) -> str:
    """Write how often it was better, level and worse."""
    better, worse = int((outcome > 0).sum()), int((outcome < 0).sum())
    level = outcome.size - better - worse
    return f"better in {better}, level in {level}, worse in {worse} of {outcome.size}"


def judged(outcome: Floats) -> str:
    """Return "yes" if all are better, "no" if fewer than half are, else "in part"."""
    share = float((outcome > 0).mean())
    if share == 1.0:
        return "yes"
    return "in part" if share >= 0.5 else "no"


def holds(*parts: bool) -> str:
    """Return "yes" if all hold, "no" if none, else "in part"."""
    if all(parts):
        return "yes"
    return "in part" if any(parts) else "no"


def signed(values: Floats, decimals: int = 3) -> str:
    """Write the mean of differences, with its sign, and half its interval."""
    text = f"{values.mean():+.{decimals}f}"
    if len(values) > 1:
        text += f" ± {float(half_width(values)):.{decimals}f}"
    return text.replace("-", "\N{MINUS SIGN}")
