"""Voted PRank: every rule there ever was, each with its votes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from peckorder._core.pickling import SavedPlainly
from peckorder._core.row_transform import NONE, UnusableRow
from peckorder._core.typing import Floats, Ints, Rows
from peckorder._core.validation import as_rows, count_rows
from peckorder.ordinal.compiled import linear
from peckorder.ordinal.compiled.linear import RowBlock, UpdateLog, VotedRows, VotingRules
from peckorder.ordinal.learners.base import appended, nearest_level
from peckorder.ordinal.learners.prank import PRankLearner
from peckorder.similarity.kernel_function import Matrix, select_rows, stack
from peckorder.storage.fields import OMITTED, Field, Table, floats, ints, matrix, nested
from peckorder.storage.format import Node

# Rows judged between two checks for Ctrl-C; each costs a pass over all updates.
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


_UPDATES = Table(
    Field("support", matrix("support", "features")),
    Field("row", ints("updates", below="support")),
    Field("step", floats("updates")),
    Field("score", floats("updates")),
    Field("truth", ints("updates", below="thresholds+1")),
    Field("round", ints("updates", below="rounds", rising=True)),
)


def _all_updates(learner: "VotedLearner") -> Any:
    return joined(learner.record) if learner.record else OMITTED


def _complete(node: Node) -> None:
    updates = node.values.pop("updates", None)
    node.values["record"] = () if updates is None else (updates,)


@dataclass
class VotedLearner(PRankLearner):
    """PRank with a record of its updates; the rules vote by how long they stood."""

    stored_fields: ClassVar = PRankLearner.stored_fields.extended(
        Field("first_weights", floats("weights")),
        Field("first_thresholds", floats("thresholds", ascending=True)),
        Field("updates", nested(_UPDATES, Updates), _all_updates, optional=True),
        complete=_complete,
    )

    first_weights: Floats = field(init=False)
    first_thresholds: Floats = field(init=False)
    record: tuple[Updates, ...] = ()

    def __post_init__(self) -> None:
        """Remember the rule that precedes every update."""
        super().__post_init__()
        self.first_weights, self.first_thresholds = self.weights.copy(), self.thresholds.copy()

    def learn_block(self, block: RowBlock) -> int:
        """Learn a block; return the position of an unusable row, or -1."""
        n, before = block.n_rows, self.tally.rounds
        log = UpdateLog.allocate(n)
        unusable, n_updates = self._learn(block._replace(predicted=NONE), log)
        if unusable >= 0:
            return unusable
        log = log.first(n_updates)
        position = log.round
        used = block.order[position] if block.order.size else block.start + position
        kept, row = np.unique(used, return_inverse=True)
        if n_updates:
            new = Updates(
                select_rows(block.rows, kept, self._n_features),
                row.astype(np.int64),
                log.step.copy(),
                log.score.copy(),
                block.level[position],
                before + position,
            )
            self.record = appended(self.record, new, joined)
        if block.predicted.size:
            time = np.arange(before, before + n)
            mean = self._mean_ranks(block.rows, block.start, time)
            block.predicted[:] = nearest_level(mean, self.thresholds.size + 1)
        return -1

    @property
    def _n_features(self) -> int:
        return self.weights.size - self.transform.intercept

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
        support, support_row = as_rows(updates.support), np.append([-1], updates.row)
        step, score = np.append([0.0], updates.step), np.append([0.0], updates.score)
        truth = np.append([0], updates.truth)
        mean = np.empty(time.size)
        for first in range(0, time.size, _BLOCK):
            now = time[first : first + _BLOCK]
            latest = np.searchsorted(updates.round, now, side="left")
            unusable = linear.vote(
                rows,
                start + first,
                self.transform,
                (self.first_weights, self.first_thresholds.copy()),
                support,
                support_row,
                VotingRules(step, score, truth, votes[: latest[-1] + 1]),
                VotedRows.allocate(latest, now - changes[latest] - 1, mean[first : first + _BLOCK]),
                np.zeros_like(self.weights),
            )
            if unusable >= 0:
                raise UnusableRow(start + first + unusable)
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
        *(
            np.concatenate([getattr(updates, name) for updates in record])
            for name in ("step", "score", "truth", "round")
        ),
    )
