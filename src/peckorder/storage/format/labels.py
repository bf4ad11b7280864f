"""Labels and ids as arrays: numbers, texts, dates, or anything plain, by kind."""

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from peckorder._core.typing import Array, Labels
from peckorder.storage.format.values import UNITS, Unstorable, broken, scalar

if TYPE_CHECKING:
    from peckorder.storage.format.node import Node

_LAST_CHARACTER = 0x10FFFF
_MOST_ALIKE = 64
_NUMBERS = "b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8"
_KINDS = (*("numbers", "texts", "bytes", "dates"), *("durations", "objects", "strings", "values"))


def write_labels(labels: Labels) -> dict[str, Any]:
    """Return labels (n,) as `pack` takes them: plain values and arrays of numbers."""
    kind = labels.dtype.kind
    if kind in "biuf" and labels.dtype.itemsize <= 8:
        return {"kind": "numbers", "numbers": labels}
    if kind in "US":
        unit = np.uint32 if kind == "U" else np.uint8
        native = np.ascontiguousarray(labels, dtype=labels.dtype.newbyteorder("="))
        width = native.dtype.itemsize // np.dtype(unit).itemsize
        letters = native.view(unit).reshape(len(labels), width)
        return {"kind": "texts" if kind == "U" else "bytes", "letters": letters}
    if kind in "Mm":
        unit_, count = np.datetime_data(labels.dtype)
        if unit_ not in UNITS:
            raise Unstorable("dates without a unit")
        counts = labels.astype(labels.dtype.newbyteorder("=")).view(np.int64)
        name = "dates" if kind == "M" else "durations"
        return {"kind": name, "unit": unit_, "step": count, "counts": counts}
    if kind not in "OT":
        raise Unstorable(f"labels of type {labels.dtype}")
    values = labels.tolist()
    if kind == "T" and not all(type(value) is str for value in values):
        raise Unstorable("texts some of which are missing")
    if values and all(type(value) is str for value in values):
        written = [value.encode("utf-8", "surrogatepass") for value in values]
        ends = np.cumsum([0, *map(len, written)], dtype=np.int64)
        text = np.frombuffer(b"".join(written), dtype=np.uint8)
        name = "strings" if kind == "T" else "objects"
        return {"kind": name, "text": text, "ends": ends}
    return {"kind": "values", "values": [scalar(value) for value in values]}


def read_labels(node: "Node") -> Labels:
    """Return the labels (n,) that a node of a header stands for."""
    kind = node.word("kind", *_KINDS)
    if kind == "numbers":
        return node.array("numbers", _NUMBERS, None)
    if kind in ("texts", "bytes"):
        return _letters(node, kind)
    if kind in ("dates", "durations"):
        unit = node.word("unit", *sorted(UNITS))
        step = node.whole("step", 1, 2**31 - 1)
        counts = node.array("counts", "i8", None)
        code = "M" if kind == "dates" else "m"
        return counts.view(f"{code}8[{step}{unit}]")
    if kind == "values":
        return as_objects(_hashable(node, node.plain_list("values")))
    texts = _texts(node)
    if kind == "objects":
        return as_objects(texts)
    try:
        return np.array(texts, np.dtypes.StringDType())
    except UnicodeEncodeError:  # Python's texts may have half a character, NumPy's may not
        raise broken(f"{node.path}.text", "UTF-8") from None


def _hashable(node: "Node", values: list[Any]) -> list[Any]:
    """Refuse values among which a look-up would take for ever.

    Integers can be chosen such that all have the same hash; texts cannot.
    """
    try:
        hashes = np.array([hash(value) for value in values], dtype=np.int64)
    except TypeError:
        raise broken(f"{node.path}.values", "hashable") from None
    if len(hashes) and np.unique(hashes, return_counts=True)[1].max() > _MOST_ALIKE:
        raise broken(f"{node.path}.values", "of different hashes")
    return values


def _letters(node: "Node", kind: str) -> Labels:
    letters = node.array("letters", "u4" if kind == "texts" else "u1", None, None)
    if letters.shape[1] == 0:
        raise broken(f"{node.path}.letters", "at least one wide")
    if kind == "texts" and letters.size and letters.max() > _LAST_CHARACTER:
        raise broken(f"{node.path}.letters", "characters of Unicode")
    code = "U" if kind == "texts" else "S"
    flat = np.ascontiguousarray(letters).view(f"{code}{letters.shape[1]}")
    labels: Labels = flat.reshape(len(letters))
    return labels


def _texts(node: "Node") -> list[str]:
    text = node.array("text", "u1", None).tobytes()
    ends = node.pointers("ends", len(text)).tolist()
    try:
        return [text[first:last].decode("utf-8", "surrogatepass") for first, last in pairwise(ends)]
    except UnicodeDecodeError:
        raise broken(f"{node.path}.text", "UTF-8") from None


def as_objects(values: list[Any]) -> Array:
    """Return an array of objects, tuples among them."""
    return np.fromiter(values, dtype=object, count=len(values))
