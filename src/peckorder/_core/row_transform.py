"""How learners transform a row, and the signal that a row is unusable."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

NONE = np.empty(0, dtype=np.int64)
T = TypeVar("T")


class UnusableRow(Exception):
    """A row gave a score that is not finite, or of a run that diverges.

    The row is None if it is not known: it made the weights infinite.
    """

    def __init__(self, row: int | None) -> None:
        super().__init__(row)
        self.row = row


class RowTransform(NamedTuple):
    """How a row is transformed: with a constant feature, to unit norm."""

    intercept: bool
    unit_norm: bool


def map_blocks(n_rows: int, size: int, work: Callable[[slice], T]) -> list[T]:
    """Call `work` for blocks of rows; unusable rows are counted from the first row."""
    results = []
    for first in range(0, n_rows, size):
        try:
            results.append(work(slice(first, min(first + size, n_rows))))
        except UnusableRow as unusable:
            raise UnusableRow(first + (unusable.row or 0)) from None
    return results
