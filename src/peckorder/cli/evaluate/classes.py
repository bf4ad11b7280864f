"""Measures of predicted classes: how many steps they are off, how often right."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from peckorder._core.typing import Floats, Ints
from peckorder.exceptions import DataError
from peckorder.metrics import intervals
from peckorder.tables.columns import Columns, distinct, numeric
from peckorder.tables.files.cells import is_gap, is_number
from peckorder.tables.files.source import short
from peckorder.tables.task import split_names

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
    >>> from peckorder.cli.evaluate.classes import class_measure
    >>> class_measure("rank_loss"), class_measure("zero-one"), class_measure("ap")
    ('mean rank loss', 'zero-one loss', None)
    """
    word = " ".join(name.lower().replace("_", " ").replace("-", " ").split())
    plain = {measure.replace("-", " "): measure for measure in MEASURES}
    return (plain | _ALIASES).get(word)


def levels_of(
    columns: Columns, names: Iterable[str], classes: Iterable[str] | None
) -> list[Ints]:
    """Return the places of labels on their scale, from 0 on; -1 of empty cells.

    Without `classes` the scale is of all numbers there are, ascending: a step is one
    from a class to the next, as in `compare`. Numbers are compared by their values, to
    the last digit, text as it stands.
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
        every = sorted({v for a in arrays.values() for v in distinct(a).tolist()})
        scale = _Scale(tuple(map(_text, every)), {v: k for k, v in enumerate(every)})
    else:
        given = tuple(split_names(classes, ()))
        values = {value: k for k, c in enumerate(given) for value in _values(c)}
        scale = _Scale(given, values)
    return [_places(columns, name, array, scale) for name, array in arrays.items()]


class _Scale(NamedTuple):
    """Classes as they are written, and the places of their values and texts."""

    labels: tuple[str, ...]
    place: dict[Any, int]


def _values(label: str) -> tuple[Any, ...]:
    """Return what a label stands for: its text, and a number if it is one.

    Whole numbers are such, of which a float would not hold every digit.
    """
    if not is_number(label):
        return (label,)
    try:
        return label, int(label)
    except ValueError:
        return label, float(label)


def _text(value: float) -> str:
    """Write a number of a scale."""
    return str(int(value) if float(value).is_integer() else value)


def _places(columns: Columns, name: str, array: NDArray[Any], scale: _Scale) -> Ints:
    found = np.empty(len(array), dtype=np.int64)
    labels, place = scale
    is_text = not numeric(array)
    for row, label in enumerate(array.tolist()):
        if is_gap(label):
            found[row] = -1
            continue
        key = str(label) if is_text and label is not None else label
        if key not in place:
            rule = f"one of {', '.join(labels)}" if len(labels) <= 31 else "a class"
            raise DataError(
                f"evaluate: column {name!r} of {columns.source} must be {rule}; got "
                f"{short(label)} in row {row + 1}."
            )
        found[row] = place[key]
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
