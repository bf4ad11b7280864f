"""Plain values as JSON: what a parameter or a label may be.

None, booleans, integers, finite floats and texts stand for themselves, lists for lists;
anything else is an object with one entry, whose name says what it is.
"""

from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from math import isfinite
from typing import Any, Final

import numpy as np

from peckorder.formats._damaged import broken

# Longer integers take too long to be written in tens.
_LARGEST = 1 << 4096


def unsuited(value: Any) -> str:
    """Return how a value that has no place in a file is named."""
    return f"an object of type {type(value).__name__}"


def scalar(value: Any) -> Any:
    """Return a value as JSON has it; raise TypeError if a file cannot hold it."""
    if isinstance(value, np.generic) and value.dtype.kind in "biufUS":
        value = value.item()
    kind = type(value)
    if value is None or kind in (bool, str):
        return value
    if kind is int and abs(value) < _LARGEST:
        return value
    if kind is float:
        return value if isfinite(value) else {"float": repr(value)}
    if kind is bytes:
        return {"bytes": value.hex()}
    if kind is date:
        return {"date": value.isoformat()}
    if kind is datetime and _is_plain(value):
        return {"datetime": value.isoformat()}
    if kind is timedelta:
        return {"timedelta": [value.days, value.seconds, value.microseconds]}
    if kind is tuple:
        return {"tuple": [scalar(part) for part in value]}
    raise TypeError(unsuited(value))


def _is_plain(moment: datetime) -> bool:
    """Whether its text says all: no place on earth, no hour that comes twice."""
    return moment.fold == 0 and type(moment.tzinfo) in (type(None), timezone)


def read_value(place: str, node: Any) -> Any:
    """Return the value that JSON stands for; lists become lists."""
    if isinstance(node, list):
        return [read_value(place, part) for part in node]
    if not isinstance(node, dict):
        return node
    if len(node) == 1:
        ((kind, text),) = node.items()
        if kind == "tuple" and isinstance(text, list):
            return tuple(read_value(place, part) for part in text)
        try:
            if kind in _READERS:
                return _READERS[kind](text)
        except (TypeError, ValueError, OverflowError):
            pass
    raise broken(place, "a plain value")


def _of_float(text: Any) -> float:
    if text not in ("nan", "inf", "-inf"):
        raise ValueError
    return float(text)


def _of_timedelta(parts: Any) -> timedelta:
    if not (len(parts) == 3 and all(type(part) is int for part in parts)):
        raise ValueError
    return timedelta(*parts)


_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "float": _of_float,
    "bytes": bytes.fromhex,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "timedelta": _of_timedelta,
}
