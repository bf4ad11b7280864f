"""Linear ensembles of PRanks: one weight vector per member."""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Self

import numpy as np

from peckorder._core.row_transform import RowTransform, UnusableRow
from peckorder._core.threads import MIN_ITEMS_PER_THREAD, Stop, apart, share
from peckorder._core.typing import Floats, Ints, Rows
from peckorder._core.validation import count_rows
from peckorder.ordinal.compiled import ensemble
from peckorder.ordinal.compiled.ensemble import Members, Outcome, Scratch
from peckorder.ordinal.compiled.linear import RowBlock
from peckorder.ordinal.learners.base import scores
from peckorder.ordinal.learners.ensemble_base import NO_BALLOTS, AggregateLearner, Ballots
from peckorder.ordinal.learners.prank import LinearRule

# Masks drawn at a time: they stay in the processor's cache until they are used.
_MASKS = 1 << 17
# Votes, moves of thresholds, or copied weights, in memory at a time.
_CELLS = 1 << 20

_NO_STEPS, _NO_MOVES = np.empty(0), np.empty((0, 0))


class _Wanted(NamedTuple):
    """Which parts of the outcome are needed."""

    steps: bool
    moves: bool
    votes: bool

    def allocate(self, n_rows: int, n_levels: int) -> Outcome:
        """Return arrays for an outcome, all zeros; those not needed are empty."""
        ballots = Ballots.none(n_rows, n_levels) if self.votes else NO_BALLOTS
        return Outcome(
            np.zeros(n_rows) if self.steps else _NO_STEPS,
            np.zeros((n_rows, n_levels - 1)) if self.moves else _NO_MOVES,
            *ballots,
        )


class _BlockResult(NamedTuple):
    """What a range of members did with a block."""

    unusable: int
    tally: Ints
    outcome: Outcome


@dataclass(kw_only=True)
class EnsembleLearner(AggregateLearner):
    """Members with weights (N, d), the constant feature's last."""

    transform: RowTransform
    weights: Floats

    def copy(self) -> Self:
        """Return an independent copy."""
        copied = super().copy()
        copied.weights = self.weights.copy()
        return copied

    def learn_block(self, block: RowBlock) -> int:
        """Learn a block; return the position of an unusable row, or -1."""
        return self._learn(block, with_steps=False)[0]

    def learn_block_with_steps(self, block: RowBlock) -> tuple[int, Floats]:
        """Learn a block; return as well the step per row, summed over members."""
        return self._learn(block, with_steps=True)

    def _learn(self, block: RowBlock, *, with_steps: bool) -> tuple[int, Floats]:
        steps = np.zeros(block.n_rows if with_steps else 0)
        size = block.n_rows
        if block.predicted.size:
            size = max(1, _CELLS // self.n_levels)
        for first in range(0, block.n_rows, size):
            result = self._learn_part(block.sub_block(first, size), with_steps)
            if result.unusable >= 0:
                return first + result.unusable, steps
            if with_steps:
                steps[first : first + size] = result.outcome.steps
        return -1, steps

    def _learn_part(self, block: RowBlock, with_steps: bool) -> _BlockResult:
        predicts = block.predicted.size > 0
        by_total = predicts and self.aggregate == "bayes_point" and not self.are_alike
        before = self.total() if by_total else None
        wanted = _Wanted(with_steps or by_total, by_total, predicts and not by_total)
        work = partial(self._learn_members, block, wanted)
        result = _joined(share(len(self), self._threads(block.n_rows), work))
        self.tally.add(block.n_rows, result.tally)
        self.clock += block.n_rows
        if result.unusable >= 0:
            return result
        if wanted.votes:
            ballots = Ballots(result.outcome.votes, result.outcome.right_votes)
            block.predicted[:] = self.decide(ballots)
        if before is not None:
            unusable = ensemble.predict_by_total(block, self.transform, *before, result.outcome)
            result = result._replace(unusable=unusable)
        return result

    def _learn_members(
        self, block: RowBlock, wanted: _Wanted, members: slice, give_up: Stop
    ) -> _BlockResult:
        """Let a range of members learn a block."""
        n_members = members.stop - members.start
        outcome = wanted.allocate(block.n_rows, self.n_levels)
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
                return _BlockResult(first + unusable, counts, outcome)
            if give_up():
                break
        if not is_alone:
            for array, learnt in zip(shared, state, strict=True):
                array[:] = learnt
        return _BlockResult(-1, counts, outcome)

    def _threads(self, n_rows: int) -> int:
        work = n_rows * self.weights.size
        return min(self.n_threads, 1 + work // MIN_ITEMS_PER_THREAD["products"])

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
        work = partial(self._vote, rows, ballots)
        for unusable in share(n_rows, self._threads(n_rows), work):
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


def _joined(results: list[_BlockResult]) -> _BlockResult:
    """Sum what ranges of members did; sums of integers, so exact."""
    outcomes = zip(*(result.outcome for result in results), strict=True)
    return _BlockResult(
        min((r.unusable for r in results if r.unusable >= 0), default=-1),
        np.sum([result.tally for result in results], axis=0),
        Outcome(*(np.sum(arrays, axis=0) for arrays in outcomes)),
    )
