"""What all on-line learners share: how rows are learnt, block by block."""

from collections.abc import Callable, Sized
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

import numpy as np

from peckorder._core.row_transform import NONE, RowTransform, UnusableRow
from peckorder._core.typing import Floats, Ints, Rows
from peckorder._core.validation import count_rows
from peckorder.ordinal.compiled import linear
from peckorder.ordinal.compiled.linear import RowBlock
from peckorder.similarity import kernel_function

# Rows between two checks for Ctrl-C; also the size of all scratch memory.
BLOCK = 1 << 16
P = TypeVar("P", bound=Sized)


@dataclass  # no slots: skops saves what has a __dict__, or is frozen
class Tally:
    """Rounds, mistakes and loss of a learner since it started."""

    rounds: int = 0
    mistakes: int = 0
    loss: int = 0

    def add(self, rounds: int, counts: Ints) -> None:
        """Count another block, whose mistakes and loss lead `counts`."""
        self.rounds += rounds
        self.mistakes += int(counts[0])
        self.loss += int(counts[1])

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.rounds + other.rounds, self.mistakes + other.mistakes, self.loss + other.loss
        )


class Learner(Protocol):
    """The state of an on-line learner."""

    @property
    def transform(self) -> RowTransform:
        """How rows are transformed."""
        ...

    @property
    def tally(self) -> Tally:
        """Rounds, mistakes and loss so far."""
        ...

    def copy(self) -> Self:
        """Return an independent copy."""
        ...

    def learn_block(self, block: RowBlock) -> int:
        """Learn a block; return the position of an unusable row, or -1."""
        ...

    def is_finite(self) -> bool:
        """Whether nothing has overflowed so far."""
        ...

    def levels(self, rows: Rows) -> Ints:
        """Return the predicted level of every row."""
        ...


def learn(
    learner: Learner,
    rows: Rows,
    levels: Callable[[slice | Ints], Ints],
    *,
    order: Ints | None = None,
    predicted: Ints | None = None,
    first_number: int = 0,
) -> None:
    """Let `learner` learn every row once, in the given order.

    `levels` returns the true levels of selected rows; row 0 has the number
    `first_number` among all rows ever given to the learner. Needs memory for one block
    only. Raises UnusableRow; the learner is then in no useful state.
    """
    n_rows = count_rows(rows)
    for first in range(0, n_rows, BLOCK):
        positions = slice(first, min(first + BLOCK, n_rows))
        block = RowBlock(
            rows,
            rows,
            first,
            NONE if order is None else order[positions],
            levels(positions if order is None else order[positions]),
            NONE if predicted is None else predicted[positions],
            first_number,
        )
        unusable = learner.learn_block(block)
        if unusable >= 0:
            row = first + unusable
            raise UnusableRow(row if order is None else int(order[row]))
    if not learner.is_finite():
        raise UnusableRow(None)


def learn_in_blocks(
    block: RowBlock, n_support: Callable[[], int], learn: Callable[[RowBlock], int]
) -> int:
    """Learn smaller blocks; return the position of an unusable row, or -1."""
    first = 0
    while first < block.n_rows:
        size = kernel_function.block_size(n_support())
        sub_block = block.sub_block(first, size)
        unusable = learn(sub_block)
        if unusable >= 0:
            return first + unusable
        first += sub_block.n_rows
    return -1


def scores(rows: Rows, transform: RowTransform, weights: Floats) -> Floats:
    """Return the score of every row; raise UnusableRow at one that is not finite."""
    score = np.empty(count_rows(rows))
    linear.scores(rows, transform, weights, score)
    return finite_scores(score)


def finite_scores(score: Floats) -> Floats:
    """Return scores; raise UnusableRow at one that is not finite."""
    is_finite = np.isfinite(score)
    if not is_finite.all():
        raise UnusableRow(int(np.argmin(is_finite)))
    return score


def nearest_level(rank: Floats, n_levels: int) -> Ints:
    """Round ranks 1..k, half upwards, to levels 0..k-1."""
    level: Ints = np.clip(np.floor(rank + 0.5), 1, n_levels).astype(np.int64) - 1
    return level


def appended(record: tuple[P, ...], new: P, join: Callable[[tuple[P, P]], P]) -> tuple[P, ...]:
    """Append to a record, joining pieces of like size: O(log n) copies of each entry.

    The pieces are never written to, so that copies of a record may share them.
    """
    while record and len(record[-1]) <= len(new):
        new, record = join((record[-1], new)), record[:-1]
    return (*record, new)
