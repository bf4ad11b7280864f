"""The ordinal scale: the classes and their order."""

from collections.abc import Hashable, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any, NoReturn, Self

import numpy as np

from peckorder._core.compiled.jit import compiled
from peckorder._core.errors import refusal, warn
from peckorder._core.typing import Floats, Ints, Labels
from peckorder._core.validation import check_distinct
from peckorder.feedback._labels_and_queries import EXACT, LabelColumn, as_objects, is_missing

# Labels are read in blocks, so that they are never copied as a whole.
_BLOCK = 1 << 16


@compiled
def _encode(values: Floats, classes: Floats, level: Ints) -> int:
    """Write the position of each value among the ascending `classes` to `level`.

    values (n,), classes (k,) strictly ascending, level (n,) written in place.
    Returns the first row whose value is no class, or -1.
    """
    k = classes.shape[0]
    for i in range(values.shape[0]):
        value = values[i]
        low = 0
        if k <= 16:
            # Counted, not searched: there is no branch to mispredict.
            for c in range(k):
                low += classes[c] < value
        else:
            high = k
            while low < high:
                middle = (low + high) // 2
                if classes[middle] < value:
                    low = middle + 1
                else:
                    high = middle
        if low == k or classes[low] != value:
            return i
        level[i] = low
    return -1


@dataclass(frozen=True)
class Scale:
    """Ordered classes, lowest first. A label's level is its position among them."""

    classes: Labels

    @cached_property
    def _ascending(self) -> Floats | None:
        """The classes as ascending numbers; None unless float64 distinguishes them."""
        if self.classes.dtype.kind not in "biuf" or not _is_exact(self.classes):
            return None
        return np.sort(self.classes.astype(np.float64))

    @cached_property
    def _is_in_order(self) -> bool:
        return self._ascending is not None and np.array_equal(self._ascending, self.classes)

    @cached_property
    def _first_of_run(self) -> int | None:
        """The first class, if the classes are consecutive integers; else None."""
        ascending = self._ascending
        if ascending is None or not self._is_in_order:
            return None
        run = ascending[0] + np.arange(len(self))
        is_run = float(ascending[0]).is_integer() and np.array_equal(ascending, run)
        return int(ascending[0]) if is_run else None

    @cached_property
    def _level_of_label(self) -> dict[Hashable, int]:
        return {label: level for level, label in enumerate(self.classes.tolist())}

    def __str__(self) -> str:
        return _few(self.classes.tolist())

    def __len__(self) -> int:
        return int(self.classes.size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scale) and (self.classes.tolist() == other.classes.tolist())

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def given(cls, classes: Any) -> Self:
        """Return the scale of these classes, lowest first."""
        unordered = isinstance(classes, str | bytes | Set | Mapping)
        if unordered or not hasattr(classes, "__len__") or getattr(classes, "shape", None) == ():
            raise refusal(
                "classes", "be a list of labels, lowest first", repr(classes), error=TypeError
            )
        if getattr(getattr(classes, "dtype", None), "kind", "") in ("m", "M"):
            classes = as_objects(np.asarray(classes))
        labels = classes.tolist() if hasattr(classes, "tolist") else list(classes)
        if not all(isinstance(label, Hashable) for label in labels):
            raise refusal(
                "classes", "be a list of labels, not of lists", _few(labels), error=TypeError
            )
        if len(labels) < 2:
            raise refusal("classes", "be at least two labels", repr(labels), error=ValueError)
        if len(set(labels)) < len(labels) or any(
            label is not None and is_missing(label) for label in labels
        ):
            raise refusal(
                "classes", "be distinct labels, lowest first", _few(labels), error=ValueError
            )
        array = _label_array(labels)
        if array.dtype.kind == "f" and array.dtype.itemsize > 8:
            check_distinct("classes", array, array.astype(np.float64))
        return cls(array)

    @classmethod
    def inferred(cls, column: LabelColumn, hint: str = "") -> Self:
        """Return the scale of labels that have an order: numbers or categories."""
        if column.categories is not None:
            labels = _label_array(list(column.categories))
        elif column.is_numeric:
            labels = _distinct_numbers(column)
        else:
            _refuse_unordered(column)
        if labels.size < 2:
            number = "one class" if labels.size else "no class"
            raise refusal(
                "y", "hold at least two classes", f"{number}, {labels.tolist()!r}", hint=hint
            )
        if labels.size > max(100, len(column) // 2):
            warn(
                f"y has {labels.size} classes in {len(column)} rows; if it is "
                "a quantity, cut it into grades first."
            )
        return cls(labels)

    def levels(self, column: LabelColumn, rows: slice | Ints, name: str = "y") -> Ints:
        """Return the levels 0..k-1 of these rows; raise for unknown labels."""
        values = column.values[rows]
        if column.is_numeric and self._ascending is not None:
            level, wrong = self._levels_of_numbers(values, self._ascending)
        else:
            level = self._levels_of_objects(column, values, name)
            wrong = int(np.argmin(level)) if level.size and level.min() < 0 else -1
        if wrong >= 0:
            row = np.arange(len(column))[rows][wrong]
            self._refuse(column, int(row), name)
        return level

    def _levels_of_numbers(self, values: Labels, ascending: Floats) -> tuple[Ints, int]:
        """Return levels, and the first position whose number is no class, or -1."""
        if self._first_of_run is not None and values.dtype.kind == "i":
            level: Ints = np.subtract(values, self._first_of_run, dtype=np.int64)
            if level.size == 0 or (level.min() >= 0 and level.max() < len(self)):
                return level, -1
        level = np.empty(values.size, dtype=np.int64)
        wrong = _encode(values.astype(np.float64), ascending, level)
        if wrong < 0 and not self._is_in_order:
            level = np.argsort(self.classes)[level]
        return level, wrong

    def _levels_of_objects(self, column: LabelColumn, values: Labels, name: str) -> Ints:
        """Return levels, -1 for labels that are no class."""
        look_up = self._level_of_label.get
        if column.categories is not None:
            # One look-up per category; the last entry is for missing labels, -1.
            table = [look_up(label, -1) for label in column.categories]
            levels = [level for level in table if level >= 0]
            if levels != sorted(levels):
                raise refusal(
                    name,
                    f"be in the order of the classes {self}",
                    f"categories in the order {_few(list(column.categories))}",
                )
            return np.array([*table, -1], dtype=np.int64)[values]
        levels_of_labels = map(look_up, values.tolist(), repeat(-1))
        try:
            return np.fromiter(levels_of_labels, dtype=np.int64, count=values.size)
        except TypeError as error:
            raise refusal(name, "be labels that can be compared", f"an {error}") from None

    def _refuse(self, column: LabelColumn, row: int, name: str) -> NoReturn:
        label = column.label(row)
        if is_missing(label):
            raise refusal(name, "be without missing labels", f"{label!r} in row {row}")
        raise refusal(
            name,
            f"be one of the classes {self}",
            f"{label!r} in row {row}",
            hint="Name every class in classes=, lowest first.",
        )


def _is_exact(numbers: Labels) -> bool:
    """Whether no two integers of such sizes are equal after rounding to float64."""
    return bool(np.all(np.abs(numbers.astype(np.float64)) < EXACT))


def _label_array(labels: list[Hashable]) -> Labels:
    """Return labels as an array of the same, distinct values."""
    are_tuples = any(isinstance(label, tuple) for label in labels)
    array = np.empty(0) if are_tuples else np.asarray(labels)
    if array.ndim != 1 or array.tolist() != labels:
        # NumPy would convert mixed types to strings, and tuples to a matrix.
        array = np.fromiter(labels, dtype=object, count=len(labels))
    return array


def _distinct_numbers(column: LabelColumn) -> Labels:
    """Return the distinct labels, ascending, in O(rows log classes) time."""
    values = column.values
    classes = values[:0]
    level = np.empty(_BLOCK, dtype=np.int64)
    for first in range(0, values.size, _BLOCK):
        block = values[first : first + _BLOCK].astype(np.float64)
        new = _encode(block, classes.astype(np.float64), level)
        if new < 0 and not _is_exact(classes):
            new = 0  # some may differ as integers only
        if new < 0:
            continue
        if not np.isfinite(block).all():
            row = first + int(np.argmin(np.isfinite(block)))
            raise refusal("y", "be finite", f"{column.label(row)!r} in row {row}")
        classes = np.union1d(classes, values[first + new : first + _BLOCK])
    return classes


def _refuse_unordered(column: LabelColumn) -> NoReturn:
    labels = sorted(set(column.values.tolist()), key=repr)
    raise refusal(
        "y",
        "be numbers, an ordered categorical, or labels whose order classes= gives",
        _few(labels),
        hint="Pass classes=[...] with the lowest first (the order of the "
        "alphabet is rarely meant).",
    )


def _few(labels: list[Hashable]) -> str:
    """Return the list as text, shortened if it is long."""
    if len(labels) <= 8:
        return repr(labels)
    return f"{repr(labels[:4])[:-1]}, ..., {labels[-1]!r}] ({len(labels)} in all)"
