"""One table of fields per class: how its objects are written to a model file and read.

A `Table` lists the fields of a class, each with a `FieldType`. Writing asks the object
for its attributes. Reading trusts nothing: the type of a field checks type, shape and
range, and the function `complete` of the table what concerns several fields.

Sizes have names, as in ``floats("rounds")`` and ``floats("rounds+1")``: all fields of
an object, and of the objects nested in it, agree on them.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from peckorder.feedback import Scale
from peckorder.storage.format.labels import as_objects, write_labels
from peckorder.storage.format.node import Node, Size

# What a function in place of an attribute returns for no entry at all.
OMITTED: Final = object()


def _as_it_is(value: Any) -> Any:
    return value


class FieldType(NamedTuple):
    """How a value is read from an entry, with all checks, and how it is written."""

    read: Callable[[Node, str], Any]
    write: Callable[[Any], Any] = _as_it_is


class Field(NamedTuple):
    """An entry of a file, and the attribute of the object whose value it is.

    A function in place of the attribute's name computes what is written; `complete`
    of the table then makes an attribute of what was read. An optional attribute may be
    missing in the object: the entry is null then.
    """

    name: str
    type: FieldType
    attribute: str | Callable[[Any], Any] | None = None
    optional: bool = False

    @property
    def key(self) -> str:
        """The name under which `Table.read` returns the value."""
        return self.attribute if isinstance(self.attribute, str) else self.name

    def value(self, owner: Any) -> Any:
        """Return the value that an object has, None if the attribute is missing."""
        if callable(self.attribute):
            return self.attribute(owner)
        return getattr(owner, self.key, None) if self.optional else getattr(owner, self.key)


class Table:
    """The fields of a class.

    `complete` is called when all fields have been read: it checks what concerns several
    of them, and may add to ``node.values`` and remove from it.
    """

    def __init__(self, *fields: Field, complete: Callable[[Node], None] | None = None) -> None:
        self.fields = fields
        self._complete = [] if complete is None else [complete]

    def extended(self, *fields: Field, complete: Callable[[Node], None] | None = None) -> "Table":
        """Return the table of a derived class, with more fields."""
        table = Table(*self.fields, *fields)
        table._complete = [*self._complete, *([] if complete is None else [complete])]
        return table

    def write(self, owner: Any) -> dict[str, Any]:
        """Return what is written of an object, in plain values and arrays."""
        entries = {}
        for field in self.fields:
            value = field.value(owner)
            if value is not OMITTED:
                entries[field.name] = None if value is None else field.type.write(value)
        return entries

    def read(self, node: Node) -> dict[str, Any]:
        """Return the checked values by attribute, without the missing ones."""
        for field in self.fields:
            if not field.optional or node.has(field.name):
                node.values[field.key] = field.type.read(node, field.name)
        for complete in self._complete:
            complete(node)
        return node.values


def _declared(
    read: Callable[..., Any], write: Callable[[Any], Any] = _as_it_is
) -> Callable[..., FieldType]:
    """Return a function that makes types of a method of `Node` with its rules."""

    def declare(*sizes: Size, **rules: Any) -> FieldType:
        return FieldType(lambda node, name: read(node, name, *sizes, **rules), write)

    declare.__doc__ = f"Return the type of what `Node.{read.__name__}` reads."
    return declare


flag = _declared(Node.flag, bool)
whole = _declared(Node.whole)
number = _declared(Node.number, float)
word = _declared(Node.word)
array = _declared(Node.array)
floats = _declared(Node.floats)
ints = _declared(Node.ints, lambda values: np.asarray(values, dtype=np.int64))
labels = _declared(Node.labels, write_labels)
matrix = _declared(Node.matrix)
sparse = _declared(Node.sparse)


def _read_scale(node: Node, name: str) -> Scale:
    classes = node.labels(name)
    values = classes.tolist()
    try:
        are_distinct = len(set(values)) == len(values)
    except TypeError:  # not hashable
        are_distinct = False
    # What differs from itself is missing.
    if len(values) < 2 or not are_distinct or any(one != one for one in values):  # noqa: PLR0124
        raise node.refuse(name, "two distinct labels at least")
    return Scale(classes)


scale = FieldType(_read_scale, lambda classes: write_labels(classes.classes))


def texts() -> FieldType:
    """Return the type of lists of texts."""

    def read(node: Node, name: str) -> list[Any]:
        values: list[Any] = node.labels(name).tolist()
        if not all(type(value) is str for value in values):
            raise node.refuse(name, "texts")
        return values

    return FieldType(read, lambda values: write_labels(as_objects(values)))


def nullable(inner: FieldType) -> FieldType:
    """Return the type of values that may be None."""
    return FieldType(
        lambda node, name: inner.read(node, name) if node.has(name) else None, inner.write
    )


def nested(table: Table, make: Callable[..., Any]) -> FieldType:
    """Return the type of objects with a table; `make` gets the values by name."""
    return FieldType(
        lambda node, name: make(**table.read(node.child(name, inherit=True))), table.write
    )
