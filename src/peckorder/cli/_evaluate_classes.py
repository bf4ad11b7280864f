"""Measures of predicted classes: how many steps they are off, how often right."""

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from peckorder._typing import Floats, Ints
from peckorder.cli._tables_source import short
from peckorder.compare._columns import Columns
from peckorder.compare._task import _parted, distinct, numeric
from peckorder.exceptions import DataError
from peckorder.metrics._resampling import intervals

LOSS: Final = "mean rank loss"
RIGHT: Final = "exactly right"
WRONG: Final = "zero-one loss"
MEASURES: Final = (LOSS, RIGHT, WRONG)
_ALIASES: Final = {
    "rank loss": LOSS,
    "accuracy": RIGHT,
    "zero one": WRONG,
    "zero one loss": WRONG,
}


def class_measure(name: str) -> str | None:
    """Return a measure of classes by its name; None if it is no such name.

    Examples
    --------
    >>> from peckorder.cli._evaluate_classes import class_measure
    >>> class_measure("rank_loss"), class_measure("zero-one"), class_measure("ap")
    ('mean rank loss', 'zero-one loss', None)
    """
    word = " ".join(name.lower().replace("_", " ").replace("-", " ").split())
    plain = {measure.replace("-", " "): measure for measure in MEASURES}
    return (plain | _ALIASES).get(word)


def levels_of(
    columns: Columns, names: Iterable[str], classes: Iterable[str] | None
) -> list[Ints]:
    """Return the places of labels on their scale, from 0 on.

    Without `classes` the scale is of all numbers there are, ascending: a step is one
    from a class to the next, as in `compare`.
    """
    arrays = {name: columns.arrays[name] for name in names}
    if classes is None:
        for name, array in arrays.items():
            if not numeric(array):
                raise DataError(
                    "evaluate: classes must be given, lowest first, for labels that "
                    f"are text, by --classes; got none for {name!r}, which has "
                    f"{', '.join(map(str, distinct(array)[:12]))}."
                )
        every = np.unique(np.concatenate([distinct(a) for a in arrays.values()]))
        order = [f"{value:g}" for value in every.tolist()]
    else:
        order = list(_parted(classes, ()))
    place = {label: k for k, label in enumerate(order)}
    return [_places(columns, name, array, place) for name, array in arrays.items()]


def _places(
    columns: Columns, name: str, array: NDArray[Any], place: dict[str, int]
) -> Ints:
    found = np.empty(len(array), dtype=np.int64)
    is_number = numeric(array)
    for row, label in enumerate(array.tolist()):
        text = f"{label:g}" if is_number else str(label)
        if text not in place:
            rule = f"one of {', '.join(place)}" if len(place) <= 31 else "a class"
            is_gap = label is None or text == "nan"
            got = "an empty cell" if is_gap else short(label)
            raise DataError(
                f"evaluate: column {name!r} of {columns.source} must be {rule}; got "
                f"{got} in row {row + 1}."
            )
        found[row] = place[text]
    return found


def measured_classes(
    truth: Ints, guess: Ints, names: Iterable[str], n_bootstrap: int, seed: int
) -> list[dict[str, Any]]:
    """Return means over rows, with 95 % bootstrap intervals."""
    steps = np.abs(guess - truth).astype(np.float64)
    values: dict[str, Floats] = {
        LOSS: steps,
        RIGHT: (steps == 0).astype(np.float64),
        WRONG: (steps > 0).astype(np.float64),
    }
    chosen = list(names)
    table = np.stack([values[name] for name in chosen])
    bounds = intervals(table, np.ones(len(steps)), n_bootstrap, seed).tolist()
    return [
        {
            "metric": name,
            "mean": float(values[name].mean()),
            "low": low,
            "high": high,
            "rows": len(steps),
        }
        for name, (low, high) in zip(chosen, bounds, strict=True)
    ]
