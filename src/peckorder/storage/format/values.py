"""Plain values as JSON, what a parameter or a label may be; and what no file holds.

None, booleans, integers, finite floats and texts stand for themselves, lists for lists;
anything else is an object with one entry, whose name says what it is.
"""

from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from math import isfinite
from typing import Any, Final

import numpy as np
from scipy import sparse

from peckorder._core.typing import Array


class Damaged(Exception):
    """A file is not what it should be; the text says in what, as a relative clause.

    For instance "which is cut short", or "in which classes must be distinct".
    """


class Unstorable(TypeError):
    """A file cannot hold a value; the text says what was given."""


def broken(path: str, rule: str) -> Damaged:
    """Return what is said of a part of the header that breaks a rule."""
    return Damaged(f"in which {path} must be {rule}")


def unsuited(value: object) -> Unstorable:
    """Return what is said of a value that has no place in a file."""
    return Unstorable(f"an object of type {type(value).__name__}")


# Longer integers take too long to be written in tens.
_LARGEST = 1 << 4096
# In which NumPy counts time.
UNITS: Final = frozenset(("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"))


def scalar(value: Any) -> Any:
    """Return a value as JSON has it; raise Unstorable if a file cannot hold it."""
    if isinstance(value, np.generic) and value.dtype.kind in "biufUS":
        value = value.item()
    kind = type(value)
    is_plain = (
        value is None
        or kind in (bool, str)
        or (kind is int and abs(value) < _LARGEST)
        or (kind is float and isfinite(value))
    )
    if is_plain:
        return value
    if kind is datetime and not _is_plain(value):
        raise Unstorable("a datetime in a time zone of no fixed offset, or with a fold")
    if kind not in _WRITERS:
        raise unsuited(value)
    return {kind.__name__: _WRITERS[kind](value)}


def _is_plain(moment: datetime) -> bool:
    """Whether its text says all: no place on earth, no hour that comes twice."""
    return moment.fold == 0 and type(moment.tzinfo) in (type(None), timezone)


def _counted(moment: Any) -> list[Any]:
    return [*np.datetime_data(moment.dtype), int(moment.astype(np.int64))]


_WRITERS: Final[dict[type, Callable[[Any], Any]]] = {
    float: repr,
    bytes: bytes.hex,
    date: date.isoformat,
    datetime: datetime.isoformat,
    timedelta: lambda value: [value.days, value.seconds, value.microseconds],
    tuple: lambda value: [scalar(part) for part in value],
    np.datetime64: _counted,
    np.timedelta64: _counted,
}


def read_value(path: str, node: Any) -> Any:
    """Return the value that JSON stands for; lists become lists."""
    if isinstance(node, list):
        return [read_value(path, part) for part in node]
    if not isinstance(node, dict):
        return node
    if len(node) == 1:
        ((kind, text),) = node.items()
        if kind == "tuple" and isinstance(text, list):
            return tuple(read_value(path, part) for part in text)
        if kind == "dict" and isinstance(text, list):
            return dict(_pair(path, part) for part in text)
        try:
            if kind in _READERS:
                return _READERS[kind](text)
        except (TypeError, ValueError, OverflowError):
            pass
    raise broken(path, "a plain value")


def _pair(path: str, node: Any) -> tuple[str, Any]:
    """Return an entry of a dict, with the name of a column as its key."""
    if not (isinstance(node, list) and len(node) == 2 and isinstance(node[0], str)):
        raise broken(path, "a plain value")
    return node[0], read_value(path, node[1])


def _of_float(text: Any) -> float:
    if text not in ("nan", "inf", "-inf"):
        raise ValueError
    return float(text)


def _of_timedelta(parts: Any) -> timedelta:
    if not (len(parts) == 3 and all(type(part) is int for part in parts)):
        raise ValueError
    return timedelta(*parts)


def _of_moment(kind: str) -> Callable[[Any], Any]:
    def read(parts: Any) -> Any:
        unit, step, count = parts
        if not (isinstance(unit, str) and type(step) is int and type(count) is int):
            raise ValueError
        if unit not in UNITS or not 1 <= step < 2**31:
            raise ValueError
        return np.array(count, dtype=np.int64).view(f"{kind}8[{step}{unit}]")[()]

    return read


_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "float": _of_float,
    "bytes": bytes.fromhex,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "timedelta": _of_timedelta,
    "datetime64": _of_moment("M"),
    "timedelta64": _of_moment("m"),
}


def pack(value: Any, arrays: list[Array]) -> Any:
    """Return a value as JSON has it, arrays being put in the list.

    Of dicts, lists, arrays of numbers, matrices in CSR or CSC form and plain values.
    """
    if isinstance(value, dict):
        return {name: pack(part, arrays) for name, part in value.items()}
    if isinstance(value, list):
        return [pack(part, arrays) for part in value]
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if sparse.issparse(value):
        parts = {"data": value.data, "indices": value.indices, "indptr": value.indptr}
        return pack({"shape": list(value.shape)} | parts, arrays)
    return scalar(value)
