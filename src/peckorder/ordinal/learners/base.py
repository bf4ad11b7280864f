"""What all on-line learners share: how rows are visited, block by block."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np

from peckorder._core.row_transform import NONE, Stopped, View
from peckorder._core.typing import Floats, Ints, Rows
from peckorder._core.validation import count_rows
from peckorder.ordinal.compiled import linear as kernels
from peckorder.similarity.kernel_function import block_size

# Rows between two looks at the keyboard; also the size of all scratch memory.
BLOCK = 1 << 16


@dataclass(slots=True)
class Visit:
    """A block of rows on their way through a kernel.

    The rows are `order` or, if that is empty, those from `start` on; `level` holds
    their true levels; `predicted`, unless empty, receives the predicted ones. Row 0
    of `rows` has the number `first_number` among all rows ever given. What is added
    to weights are the rows of `added`, if given, in place of those of `rows`.
    """

    rows: Rows
    start: int
    order: Ints
    level: Ints
    predicted: Ints
    first_number: int = 0
    added: Rows | None = None

    def __len__(self) -> int:
        return self.level.size

    @property
    def chosen(self) -> slice | Ints:
        """What picks the rows out of all."""
        if self.order.size:
            return self.order
        return slice(self.start, self.start + len(self))

    @property
    def numbers(self) -> Ints:
        """The numbers of the rows among all rows ever given."""
        if self.order.size:
            return self.first_number + self.order
        first = self.first_number + self.start
        return np.arange(first, first + len(self))

    def part(self, first: int, size: int) -> Self:
        """Return the `size` rows, or as many as there are, from place `first` on."""
        some = slice(first, first + size)
        return replace(
            self,
            start=self.start + first,
            order=self.order[some],
            level=self.level[some],
            predicted=self.predicted[some],
        )


@dataclass  # no slots: skops saves what has a __dict__, or is frozen
class Tally:
    """What a learner has been through since it started."""

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
            self.rounds + other.rounds,
            self.mistakes + other.mistakes,
            self.loss + other.loss,
        )


class Learner(Protocol):
    """The state of an on-line learner."""

    @property
    def view(self) -> View:
        """How rows are looked at."""
        ...

    @property
    def tally(self) -> Tally:
        """What the learner has been through."""
        ...

    def copy(self) -> Self:
        """Return a learner that goes its own way from here."""
        ...

    def visit(self, visit: Visit) -> int:
        """Learn a block; return the position of a row that cannot be, or -1."""
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
    """Let `learner` visit every row once, in the given order.

    `levels` tells the true levels of some rows; row 0 has the number `first_number`
    among all rows ever given to the learner. Needs memory for one block only.
    Raises Stopped; the learner is then in no useful state.
    """
    n_rows = count_rows(rows)
    for first in range(0, n_rows, BLOCK):
        last = min(first + BLOCK, n_rows)
        some = slice(first, last)
        chosen = some if order is None else order[some]
        visit = Visit(
            rows,
            first,
            NONE if order is None else order[some],
            levels(chosen),
            NONE if predicted is None else predicted[some],
            first_number,
        )
        stopped = learner.visit(visit)
        if stopped >= 0:
            raise Stopped(
                first + stopped if order is None else int(order[some][stopped])
            )
    if not learner.is_finite():
        raise Stopped(None)


def scores(rows: Rows, view: View, weights: Floats) -> Floats:
    """Return the score of every row; raise Stopped at one that is not finite."""
    score = np.empty(count_rows(rows))
    kernels.scores(rows, view.intercept, view.unit_norm, weights, score)
    is_finite = np.isfinite(score)
    if not is_finite.all():
        raise Stopped(int(np.argmin(is_finite)))
    return score


def nearest_level(rank: Floats, n_levels: int) -> Ints:
    """Round ranks 1..k, half upwards, to levels 0..k-1."""
    level: Ints = np.clip(np.floor(rank + 0.5), 1, n_levels).astype(np.int64) - 1
    return level


def visit_in_blocks(
    visit: Visit, n_support: Callable[[], int], learn: Callable[[Visit], int]
) -> int:
    """Let rows be learnt block by block; return the position of one that cannot be."""
    first = 0
    while first < len(visit):
        part = visit.part(first, block_size(n_support()))
        stopped = learn(part)
        if stopped >= 0:
            return first + stopped
        first += len(part)
    return -1
