"""Linear ensembles of PRanks: one weight vector per member."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Self

import numpy as np

from peckorder._core.row_transform import RowTransform, UnusableRow
from peckorder._core.threads import Stop, apart, share
from peckorder._core.typing import Floats, Rows
from peckorder._core.validation import count_rows
from peckorder.ordinal.compiled import ensemble
from peckorder.ordinal.compiled.ensemble import Members, Outcome, Scratch
from peckorder.ordinal.compiled.linear import RowBlock
from peckorder.ordinal.learners.base import scores
from peckorder.ordinal.learners.ensemble_base import (
    MEMBERS,
    AggregateLearner,
    Ballots,
    BlockResult,
    check_members,
)
from peckorder.ordinal.learners.prank import LinearRule
from peckorder.storage.fields import Field, Table, floats

# Masks drawn at a time: they stay in the processor's cache until they are used.
_MASKS = 1 << 17
# Votes, moves of thresholds, or copied weights, in memory at a time.
_CELLS = 1 << 20


@dataclass(kw_only=True)
class EnsembleLearner(AggregateLearner):
    """Members with weights (N, d), the constant feature's last."""

    stored_fields: ClassVar = Table(
        *MEMBERS, Field("weights", floats("rules", "weights")), complete=check_members
    )

    transform: RowTransform
    weights: Floats

    def learn_block(self, block: RowBlock) -> int:
        """Learn a block; return the position of an unusable row, or -1."""
        return self.learn_block_with_steps(block)[0]

    def learn_block_with_steps(self, block: RowBlock) -> tuple[int, Floats]:
        """Learn a block; return as well the step per row, summed over members."""
        steps, size = np.zeros(block.n_rows), block.n_rows
        if block.predicted.size:
            size = max(1, _CELLS // self.n_levels)
        for first in range(0, block.n_rows, size):
            unusable, outcome = self._learn(block.sub_block(first, size))
            if unusable >= 0:
                return first + unusable, steps
            steps[first : first + size] = outcome.steps
        return -1, steps

    def _learn(self, block: RowBlock) -> tuple[int, Outcome]:
        by_total = self.predicts_by_total(block)
        before = self.total() if by_total else None
        work = partial(self._learn_members, block, by_total)
        result = self.learn_by_members(block, block.n_rows * self.weights.size, work)
        if before is None or result.unusable >= 0:
            return result.unusable, result.outcome
        unusable = ensemble.predict_by_total(block, self.transform, *before, result.outcome)
        return unusable, result.outcome

    def _learn_members(
        self, block: RowBlock, by_total: bool, members: slice, give_up: Stop
    ) -> BlockResult:
        """Let a range of members learn a block."""
        n_members = members.stop - members.start
        by_votes = block.predicted.size > 0 and not by_total
        outcome = Outcome.allocate(block.n_rows, self.n_levels, moves=by_total, votes=by_votes)
        counts = np.zeros(2, dtype=np.int64)
        shared = Members(self.weights[members], self.thresholds[members], self.right[members])
        is_alone = n_members == len(self) or shared.weights.size > _CELLS
        state = shared if is_alone else Members(*map(apart, shared))
        scratch = Scratch.allocate(n_members)
        size = max(1, _MASKS // n_members)
        for first in range(0, block.n_rows, size):
            sub_block = block.sub_block(first, size)
            unusable = ensemble.learn(
                sub_block,
                self.transform,
                self.masks(members, first, sub_block.n_rows),
                state,
                scratch,
                outcome.sub_block(first, size),
                counts,
            )
            if unusable >= 0:
                return BlockResult(first + unusable, counts, outcome)
            if give_up():
                break
        if not is_alone:
            for array, learnt in zip(shared, state, strict=True):
                array[:] = learnt
        return BlockResult(-1, counts, outcome)

    def is_finite(self) -> bool:
        """Whether nothing has overflowed so far."""
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(np.isfinite(self.total().weights).all())

    def _alike(self) -> bool:
        return bool((self.weights == self.weights[0]).all())

    def total(self) -> LinearRule:
        """Return the sum of all members, in the order of the members."""
        return LinearRule(self.weights.sum(axis=0), self.thresholds.sum(axis=0))

    def mean_rule(self) -> LinearRule:
        """Return the mean of all members."""
        weights, thresholds = self.total()
        return LinearRule(weights / len(self), thresholds / len(self))

    def total_scores(self, rows: Rows) -> Floats:
        """Return the sum of the members' scores of every row."""
        return scores(rows, self.transform, self.total().weights)

    def ballots(self, rows: Rows) -> Ballots:
        """Let the members vote on every row."""
        n_rows = count_rows(rows)
        ballots = Ballots.none(n_rows, self.n_levels)
        n_threads = self.n_threads_for(n_rows * self.weights.size)
        for unusable in share(n_rows, n_threads, partial(self._vote, rows, ballots)):
            if unusable >= 0:
                raise UnusableRow(unusable)
        return ballots

    def _vote(self, rows: Rows, ballots: Ballots, positions: slice, give_up: Stop) -> int:
        state = Members(self.weights, self.thresholds, self.right)
        scratch = Scratch.allocate(len(self))
        size = max(1, _MASKS // len(self))
        for first in range(positions.start, positions.stop, size):
            now = slice(first, min(first + size, positions.stop))
            votes = (votes[now] for votes in ballots)
            unusable = ensemble.vote(rows, first, self.transform, state, scratch, *votes)
            if unusable >= 0:
                return first + unusable
            if give_up():
                break
        return -1

    def merge(self, other: Self) -> Self:
        """Return a learner with the members of both."""
        return self.merged(other, weights=np.concatenate([self.weights, other.weights]))
