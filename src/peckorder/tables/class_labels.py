"""The ordered classes of a column: numbers are the same by value, text by letters."""

from collections.abc import Mapping, Sequence
from typing import Any

from peckorder.exceptions import DataError

_MOST_SHOWN = 12
# Where so few labels are no numbers, they were meant to be.
_FEW = 0.1


def ordered_classes(
    target: str,
    seen: Sequence[Any],
    classes: Sequence[str] | None,
    *,
    is_text: bool,
    advice: str = "",
) -> tuple[Any, ...]:
    """Return classes, lowest first; text has no order unless it is given.

    `seen` are the different labels of the column `target`, ascending; `classes` is the
    order that was given, as text. `advice` is what else may be wrong where none was.

    Examples
    --------
    >>> from peckorder.tables.class_labels import ordered_classes
    >>> ordered_classes("y", [1000001, 1000002], ["1000002.0", "1000001"],
    ...                 is_text=False)
    (1000002, 1000001)
    """
    if classes is None and is_text:
        shown = ",".join(map(str, seen[:_MOST_SHOWN]))
        raise DataError(
            f"compare: classes must be given, lowest first, for labels that are text "
            f"(such as --classes {shown} in their right order); got none for "
            f"{target!r}.{advice}"
        )
    if is_text:
        ordered, unknown = tuple(classes or ()), []
    else:
        by_value = {value: whole_if_it_is(value) for value in seen}
        if classes is None:
            return tuple(by_value.values())
        ordered = tuple(_found(label, by_value) for label in classes)
        unknown = [label for label in ordered if label not in by_value]
    missing = [label for label in seen if label not in ordered]
    if missing or unknown or len(set(ordered)) < max(len(ordered), 2):
        raise DataError(
            f"compare: classes must be the labels in {target!r}, each once, lowest "
            f"first: {', '.join(map(str, seen))}; got "
            f"{', '.join(map(str, classes or ()))}."
        )
    return ordered


def slip_among(labels: Sequence[Any]) -> str:
    """Point at the first text among labels that are numbers, all but a few.

    Examples
    --------
    >>> from peckorder.tables.class_labels import slip_among
    >>> slip_among(["1", "5", "five", None, "2"])
    " Or mend 'five' in row 3: all other labels are numbers."
    >>> slip_among(["low", "high", "1"])
    ''
    """
    known = [label for label in labels if label is not None]
    wrong = [label for label in known if not _is_number(label)]
    if not wrong or len(wrong) > max(1, _FEW * len(known)) or len(known) < 3:
        return ""
    row = list(labels).index(wrong[0]) + 1
    others = "all other" if len(wrong) == 1 else f"all but {len(wrong)}"
    return f" Or mend {wrong[0]!r} in row {row}: {others} labels are numbers."


def _is_number(label: Any) -> bool:
    try:
        float(label)
    except ValueError:
        return False
    return True


def whole_if_it_is(value: Any) -> Any:
    """Return a number as an integer where it is one."""
    return int(value) if float(value).is_integer() else value


def _found(label: str, by_value: Mapping[Any, Any]) -> Any:
    """Return the label that a text is the number of; the text if there is none."""
    for kind in (int, float):  # a float does not hold all integers
        try:
            number = kind(label)
        except ValueError:
            continue
        if number in by_value:
            return by_value[number]
    return label
