"""Reading a header with suspicion: every part by name, kind, shape and range."""

from reprlib import repr as short
from typing import Any, Self, TypeAlias

import numpy as np
from scipy import sparse

from peckorder._core.typing import Array, Floats, Ints, Labels
from peckorder.storage.format.labels import read_labels
from peckorder.storage.format.values import Damaged, broken, read_value

LARGEST = 2**62
# A dimension: a number, None for any, or a name, which "+1" may follow.
Size: TypeAlias = int | str | None


class ArrayPool:
    """The arrays of a file, each of which is read once."""

    def __init__(self, arrays: list[Array]) -> None:
        self._arrays: list[Array | None] = list(arrays)

    def pop(self, path: str, number: Any) -> Array:
        """Return an array, and remove it."""
        if type(number) is not int or not 0 <= number < len(self._arrays):
            raise broken(path, "one of the arrays")
        array = self._arrays[number]
        if array is None:
            raise broken(path, "an array of its own")
        self._arrays[number] = None
        return array

    def shape(self, number: Any) -> tuple[int, ...]:
        """Return the shape of an array; () if there is none."""
        if type(number) is not int or not 0 <= number < len(self._arrays):
            return ()
        array = self._arrays[number]
        return () if array is None else array.shape

    def check_empty(self) -> None:
        """Refuse a file with arrays that nothing refers to."""
        if any(array is not None for array in self._arrays):
            raise broken("every array", "part of the model")


class Node:
    """An object of the header, with the arrays that it refers to.

    Each entry is read once; `close` refuses those that were not. Where a dimension has
    a name, the first array with it sets the size in `sizes`. `values` are the fields
    read so far, and `owner` is the model that they belong to.
    """

    def __init__(self, path: str, entries: Any, arrays: ArrayPool) -> None:
        if not isinstance(entries, dict):
            raise broken(path, "an object")
        self.path = path
        self.sizes: dict[str, int] = {}
        self.values: dict[str, Any] = {}
        self.owner: Any = None
        self._entries = dict(entries)
        self._arrays_left = arrays
        self._children: list[Node] = []

    @classmethod
    def of(cls, header: Any, arrays: list[Array]) -> Self:
        """Return the outermost object."""
        return cls("the header", header, ArrayPool(arrays))

    def close(self) -> None:
        """Refuse what has not been read."""
        self._close()
        self._arrays_left.check_empty()

    def _close(self) -> None:
        if self._entries:
            raise Damaged(f"in which {self.path} must not have {short(sorted(self._entries)[0])}")
        for child in self._children:
            child._close()

    def has(self, name: str) -> bool:
        """Tell whether there is an entry, and take it if it is null."""
        if self._entries.get(name, self) is None:
            del self._entries[name]
            return False
        return name in self._entries

    def raw(self, name: str) -> Any:
        """Read an entry as JSON has it."""
        if name not in self._entries:
            raise Damaged(f"in which {self.path} must have {name!r}")
        return self._entries.pop(name)

    def _at(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path != "the header" else name

    def child(self, name: str, *, inherit: bool = False) -> "Node":
        """Read an object, one of the same owner with the same sizes if `inherit`."""
        child = self.nested(name, self.raw(name))
        if inherit:
            child.sizes, child.owner = self.sizes, self.owner
        return child

    def children(self, name: str) -> list["Node"]:
        """Read a list of objects."""
        parts = self.raw(name)
        if not isinstance(parts, list):
            raise broken(self._at(name), "a list")
        return [self.nested(f"{name}[{i}]", part) for i, part in enumerate(parts)]

    def nested(self, name: str, entries: Any) -> "Node":
        """Return an object that was given in an entry, with sizes of its own."""
        child = Node(self._at(name), entries, self._arrays_left)
        self._children.append(child)
        return child

    def shape(self, *names: str) -> tuple[int, ...]:
        """Return the shape of an array without taking it; () if there is none."""
        given: Any = self._entries
        for name in (*names, "array"):
            given = given.get(name) if isinstance(given, dict) else None
        return self._arrays_left.shape(given)

    def ignore(self) -> None:
        """Read all entries, whatever they are."""
        self._entries.clear()

    def names(self) -> list[str]:
        """Return the names of what has not been read yet."""
        return list(self._entries)

    def refuse(self, name: str, rule: str) -> Exception:
        """Return what is to be raised where an entry breaks a rule."""
        return broken(self._at(name), rule)

    def text(self, name: str) -> str:
        """Read a text."""
        value = self.raw(name)
        if not isinstance(value, str):
            raise self.refuse(name, "a text")
        return value

    def word(self, name: str, *words: str) -> str:
        """Read one of several words."""
        value = self.raw(name)
        if value not in words or not isinstance(value, str):
            raise self.refuse(name, f"one of {', '.join(map(repr, words))}")
        return value

    def flag(self, name: str) -> bool:
        """Read true or false."""
        value = self.raw(name)
        if not isinstance(value, bool):
            raise self.refuse(name, "true or false")
        return value

    def whole(self, name: str, low: int = 0, high: int = LARGEST) -> int:
        """Read an integer from low to high."""
        value = self.raw(name)
        if type(value) is not int or not low <= value <= high:
            raise self.refuse(name, f"an integer from {low} to {high}")
        return value

    def number(
        self, name: str, *, low: float = -np.inf, finite: bool = True, positive: bool = False
    ) -> float:
        """Read a number; NaN and infinities only where they are allowed."""
        value = read_value(self._at(name), self.raw(name))
        if type(value) is not float:
            raise self.refuse(name, "a float")
        if (finite and not np.isfinite(value)) or value < low:
            rule = "a finite number" if finite else "a number"
            raise self.refuse(name, rule if low == -np.inf else f"{rule} >= {low:g}")
        if positive and not value > 0.0:
            raise self.refuse(name, "a number > 0")
        return value

    def plain_list(self, name: str) -> list[Any]:
        """Read a list of plain values."""
        given = read_value(self._at(name), self.raw(name))
        if not isinstance(given, list):
            raise self.refuse(name, "a list")
        return given

    def labels(self, name: str, size: Size = None) -> Labels:
        """Read labels of any kind."""
        given = read_labels(self.child(name))
        self._fit(name, given.shape, (size,))
        return given

    def array(self, name: str, kinds: str, *shape: Size) -> Array:
        """Read an array of one of several types, such as "f4 f8"."""
        node = self.raw(name)
        number = node.get("array") if isinstance(node, dict) and len(node) == 1 else None
        array = self._arrays_left.pop(self._at(name), number)
        code = f"{array.dtype.kind}{array.dtype.itemsize}"
        if code not in kinds.split():
            raise self.refuse(name, f"of type {kinds.replace(' ', ' or ')}")
        if code == "b1" and array.size and array.view(np.uint8).max() > 1:
            raise self.refuse(name, "true or false throughout")
        self._fit(name, array.shape, shape)
        return array

    def _fit(self, name: str, given: tuple[int, ...], shape: tuple[Size, ...]) -> None:
        wanted = [self._size(size, n) for size, n in zip(shape, given, strict=False)]
        fits = all(w is None or w == n for w, n in zip(wanted, given, strict=False))
        if len(given) != len(shape) or not fits:
            words = [str(w) if w is not None else "any" for w in wanted]
            raise self.refuse(name, f"of shape ({', '.join(words)})")

    def _size(self, size: Size, given: int) -> int | None:
        """Return the size that a dimension must have; a new name gets the one given."""
        if not isinstance(size, str):
            return size
        first, _, more = size.partition("+")
        n_more = int(more or 0)
        return self.sizes.setdefault(first, given - n_more) + n_more

    def _known(self, name: str, size: int | str) -> int:
        """Return a size that an earlier field has set."""
        first = size.partition("+")[0] if isinstance(size, str) else ""
        if first and first not in self.sizes:
            raise self.refuse(name, f"null without {first}")
        return self._size(size, 0) or 0

    def floats(
        self,
        name: str,
        *shape: Size,
        kinds: str = "f8",
        finite: bool = True,
        ascending: bool = False,
    ) -> Floats:
        """Read an array of floats, finite ones unless said otherwise."""
        array = self.array(name, kinds, *shape)
        if finite and not np.isfinite(array).all():
            raise self.refuse(name, "finite")
        if ascending and not (array[..., 1:] >= array[..., :-1]).all():
            raise self.refuse(name, "ascending")
        return array

    def ints(
        self,
        name: str,
        *shape: Size,
        below: int | str = LARGEST,
        kinds: str = "i8",
        rising: bool = False,
    ) -> Ints:
        """Read an array of integers from 0 up, below a bound."""
        array = self.array(name, kinds, *shape)
        below = self._known(name, below)
        if array.size and not 0 <= int(array.min()) <= int(array.max()) < below:
            raise self.refuse(name, f"from 0 to below {below}")
        if rising and not (array[1:] > array[:-1]).all():
            raise self.refuse(name, "strictly ascending")
        return array

    def pointers(self, name: str, last: int | str, size: Size = None) -> Ints:
        """Read what cuts 0..last into parts: from 0, never falling, to last."""
        array = self.array(name, "i4 i8", size)
        last = self._known(name, last)
        ends = array.size > 0 and array[0] == 0 and array[-1] == last
        if not (ends and (array[1:] >= array[:-1]).all()):
            raise self.refuse(name, f"from 0 to {last}, never falling")
        return array

    def matrix(self, name: str, n_rows: Size, n_columns: int | str, *, kinds: str = "f4 f8") -> Any:
        """Read a matrix, dense or in CSR form."""
        n_columns = self._known(name, n_columns)
        node = self._entries.get(name)
        if isinstance(node, dict) and "indptr" not in node:
            return self.floats(name, n_rows, n_columns, kinds=kinds)
        return self.sparse(name, n_rows, n_columns, kinds=kinds)

    def sparse(
        self,
        name: str,
        n_rows: Size,
        n_columns: int | str,
        *,
        kinds: str,
        form: str = "csr",
        rising: bool = False,
    ) -> Any:
        """Read a matrix in CSR or CSC form that can be followed anywhere."""
        part = self.child(name, inherit=True)
        given = part.plain_list("shape")
        n_columns = self._known(name, n_columns)
        is_shape = len(given) == 2 and all(type(n) is int and 0 <= n < LARGEST for n in given)
        n_rows = self._size(n_rows, given[0]) if is_shape else None
        if not is_shape or n_rows not in (None, given[0]) or given[1] != n_columns:
            rule = f"({'any' if n_rows is None else n_rows}, {n_columns})"
            raise part.refuse("shape", rule)
        major, minor = given if form == "csr" else given[::-1]
        data = part.floats("data", None, kinds=kinds)
        indptr = part.pointers("indptr", len(data), major + 1)
        indices = part.ints("indices", len(data), below=minor, kinds="i4 i8")
        if rising and not _rises(indices, indptr):
            raise part.refuse("indices", "strictly ascending in each row")
        make = sparse.csr_array if form == "csr" else sparse.csc_array
        return make((data, indices, indptr), shape=tuple(given))


def _rises(indices: Ints, indptr: Ints) -> bool:
    """Tell whether indices rise within each part."""
    rises = np.ones(len(indices) + 1, dtype=bool)
    rises[1:-1] = indices[1:] > indices[:-1]
    rises[indptr] = True
    return bool(rises.all())
