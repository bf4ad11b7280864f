"""A table as a file gives it: named columns of numbers or text."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Columns of equal length, by name, in the order of the file.

    Numbers are float64 or integers, NaN where a cell is empty; everything else is an
    array of objects: text, None where a cell is empty. `source` is what messages call
    the file; `notes` are sentences about what was read in a way one may not expect.
    """

    arrays: Mapping[str, NDArray[Any]]
    source: str
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.arrays)

    def __len__(self) -> int:
        return len(next(iter(self.arrays.values()), ()))
