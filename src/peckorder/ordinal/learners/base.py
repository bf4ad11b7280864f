"""What all on-line learners share: how rows are learnt, and how learners are stored."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sized
from copy import copy
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar, Final, Self, TypeVar

import numpy as np

from peckorder._core.row_transform import NONE, RowTransform, UnusableRow
from peckorder._core.typing import Floats, Ints, Rows
from peckorder._core.validation import count_rows
from peckorder.ordinal.compiled import linear
from peckorder.ordinal.compiled.linear import RowBlock
from peckorder.storage.fields import Field, FieldType, Table, whole
from peckorder.storage.format import Node

# Rows between two checks for Ctrl-C; also the size of all scratch memory.
BLOCK = 1 << 16
# Beyond, float64 does not tell rounds and rows apart.
MOST_ROUNDS: Final = 2**53
P = TypeVar("P", bound=Sized)


@dataclass  # no slots: skops saves what has a __dict__, or is frozen
class Tally:
    """Rounds, mistakes and loss of a learner since it started."""

    rounds: int = 0
    mistakes: int = 0
    loss: int = 0

    def copy(self) -> Self:
        """Return an independent copy."""
        return type(self)(self.rounds, self.mistakes, self.loss)

    def add(self, rounds: int, counts: Ints) -> None:
        """Count another block, whose mistakes and loss lead `counts`."""
        self.rounds += rounds
        self.mistakes += int(counts[0])
        self.loss += int(counts[1])

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.rounds + other.rounds, self.mistakes + other.mistakes, self.loss + other.loss
        )


class Learner(ABC):
    """The state of an on-line learner, which changes in place as its arrays do."""

    stored_fields: ClassVar[Table]
    transform: RowTransform
    tally: Tally

    @abstractmethod
    def learn_block(self, block: RowBlock) -> int:
        """Learn a block; return the position of an unusable row, or -1."""

    @abstractmethod
    def levels(self, rows: Rows) -> Ints:
        """Return the predicted level of every row."""

    def is_finite(self) -> bool:
        """Whether nothing has overflowed so far: integers never do."""
        return True

    def copy(self) -> Self:
        """Return an independent copy."""
        # Not by `copy.copy`, which takes longer than learning a row.
        copied, changes = type(self).__new__(type(self)), np.ndarray | Tally | Learner
        for name, value in vars(self).items():
            vars(copied)[name] = value.copy() if isinstance(value, changes) else value
        return copied


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


def _read_rounds(node: Node, name: str) -> int:
    node.sizes["rounds"] = node.whole(name, 1, MOST_ROUNDS)
    return node.sizes["rounds"]


TALLY: Final = (
    Field("rounds", FieldType(_read_rounds), attrgetter("tally.rounds")),
    Field("mistakes", whole(), attrgetter("tally.mistakes")),
    Field("loss", whole(), attrgetter("tally.loss")),
)


def steps_type(width: int) -> FieldType:
    """Return the type of lists of steps: the number of a row first, the round last."""

    def read(node: Node, name: str) -> tuple[Floats, ...]:
        record = node.floats(name, None, width)
        for column, below in ((0, MOST_ROUNDS), (-1, node.sizes["rounds"])):
            values = record[:, column]
            is_sound = (values >= 0) & (values < below) & (values == np.floor(values))
            if not is_sound.all():
                raise node.refuse(name, "of numbers of rows and rounds")
        return (record,) if len(record) else ()

    return FieldType(read, lambda parts: np.concatenate([np.empty((0, width)), *parts]))


def write_learner(learner: Learner) -> dict[str, Any]:
    """Return what is written of a learner."""
    return learner.stored_fields.write(learner)


def read_learner(blank: Any, node: Node) -> Any:
    """Return a learner like `blank`, a new one, with the values of the node."""
    node.owner, learner = blank, copy(blank)
    for name in ("weights", "thresholds"):
        shape = np.shape(getattr(blank, name, 0))
        if shape:
            node.sizes |= {name: shape[-1]} | ({"rules": shape[0]} if shape[1:] else {})
    values = blank.stored_fields.read(node)
    if "rounds" in values:
        values["tally"] = Tally(*(values.pop(field.name) for field in TALLY))
    vars(learner).update(values)
    if not learner.is_finite():
        raise node.refuse("weights", "small enough for finite sums")
    return learner
