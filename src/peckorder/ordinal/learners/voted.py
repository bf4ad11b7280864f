"""Voted PRank: every rule there ever was, each with its votes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from peckorder._core.growing import grown
from peckorder._core.pickling import SavedPlainly
from peckorder._core.row_transform import NONE, Stopped
from peckorder._core.typing import Floats, Ints, Rows
from peckorder._core.validation import as_rows, count_rows
from peckorder.ordinal.compiled import linear as kernels
from peckorder.ordinal.learners.base import Visit, nearest_level
from peckorder.ordinal.learners.prank import PRankLearner
from peckorder.similarity.kernel_function import Matrix, stack, take

# Rows judged between two looks at the keyboard; each costs a pass over all updates.
_BLOCK = 1024


@dataclass(frozen=True)
class Updates(SavedPlainly):
    """Updates in the order they were made: what was added to which rule, and when.

    Rule h of all has seen the first h updates. Kept in place of the rules
    themselves, which would be all features and thresholds each: from the score and
    the true level of a row follows how it moved the thresholds.
    """

    support: Matrix
    row: Ints
    step: Floats
    score: Floats
    truth: Ints
    round: Ints

    def __len__(self) -> int:
        return len(self.round)


@dataclass
class VotedLearner(PRankLearner):
    """PRank with a record of its updates; the rules vote by how long they stood."""

    first: tuple[Floats, Floats] = field(init=False)
    record: tuple[Updates, ...] = ()

    def __post_init__(self) -> None:
        """Remember the rule that precedes every update."""
        self.first = self.weights.copy(), self.thresholds.copy()

    def copy(self) -> Self:
        """Return a learner that goes its own way from here."""
        copied = super().copy()
        copied.first = self.first
        return copied

    def visit(self, visit: Visit) -> int:
        """Learn a block; return the position of a row that cannot be, or -1."""
        n, before = len(visit), self.tally.rounds
        rounds, steps, scores = np.empty(n, dtype=np.int64), np.empty(n), np.empty(n)
        stopped, n_updates = self._visit(visit, NONE, rounds, steps, scores)
        if stopped >= 0:
            return stopped
        place = rounds[:n_updates]
        used = visit.order[place] if visit.order.size else visit.start + place
        kept, row = np.unique(used, return_inverse=True)
        if n_updates:
            new = Updates(
                take(visit.rows, kept, self._n_features),
                row.astype(np.int64),
                steps[:n_updates].copy(),
                scores[:n_updates].copy(),
                visit.level[place],
                before + place,
            )
            self.record = grown(self.record, new, joined)
        if visit.predicted.size:
            time = np.arange(before, before + n)
            mean = self._mean_ranks(visit.rows, visit.start, time)
            visit.predicted[:] = nearest_level(mean, self.thresholds.size + 1)
        return -1

    @property
    def _n_features(self) -> int:
        return self.weights.size - self.view.intercept

    @property
    def votes(self) -> Ints:
        """The rounds each rule got right, from the first rule to the last."""
        changes = [updates.round for updates in self.record]
        return votes_between(changes, self.tally.rounds)

    def mean_ranks(self, rows: Rows) -> Floats:
        """Return the mean rank, 1..k, of every row over all votes."""
        return self._mean_ranks(rows, 0, np.full(count_rows(rows), self.tally.rounds))

    def levels(self, rows: Rows) -> Ints:
        """Return the predicted level of every row."""
        return nearest_level(self.mean_ranks(rows), self.thresholds.size + 1)

    def _mean_ranks(self, rows: Rows, start: int, time: Ints) -> Floats:
        """Judge rows from `start` on, each by what was known before its `time`."""
        updates, votes = self._updates(), self.votes
        changes = np.concatenate(([-1], updates.round))
        support = as_rows(updates.support)
        mean = np.empty(time.size)
        for first in range(0, time.size, _BLOCK):
            now = time[first : first + _BLOCK]
            latest = np.searchsorted(updates.round, now, side="left")
            stopped = kernels.vote(
                rows,
                start + first,
                self.view.intercept,
                self.view.unit_norm,
                self.first[0],
                self.first[1].copy(),
                support,
                np.concatenate(([-1], updates.row)),
                np.concatenate(([0.0], updates.step)),
                np.concatenate(([0.0], updates.score)),
                np.concatenate(([0], updates.truth)),
                votes[: latest[-1] + 1],
                latest,
                now - changes[latest] - 1,
                np.zeros_like(self.weights),
                np.empty(now.size),
                np.empty(now.size),
                np.empty(now.size, dtype=np.int64),
                mean[first : first + _BLOCK],
            )
            if stopped >= 0:
                raise Stopped(start + first + stopped)
        return mean

    def _updates(self) -> Updates:
        """Join the record into one piece, and keep it so."""
        if not self.record:
            nothing, no_numbers = np.empty((0, self._n_features)), np.empty(0)
            return Updates(nothing, NONE, no_numbers, no_numbers, NONE, NONE)
        if len(self.record) > 1:
            self.record = (joined(self.record),)
        return self.record[0]


def votes_between(changes: Sequence[Ints], rounds: int) -> Ints:
    """Return the rounds that each rule stood, given those in which rules changed."""
    votes: Ints = np.diff(np.concatenate([[-1], *changes, [rounds]])) - 1
    return votes


def joined(record: tuple[Updates, ...]) -> Updates:
    """Join pieces of a record, putting their rows one below the other."""
    offsets = np.cumsum([0, *(updates.support.shape[0] for updates in record[:-1])])
    return Updates(
        stack([updates.support for updates in record]),
        np.concatenate([u.row + o for u, o in zip(record, offsets, strict=True)]),
        np.concatenate([updates.step for updates in record]),
        np.concatenate([updates.score for updates in record]),
        np.concatenate([updates.truth for updates in record]),
        np.concatenate([updates.round for updates in record]),
    )
