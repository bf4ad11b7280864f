"""Linear ensembles of PRanks: one weight vector per member."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from peckorder._core.row_transform import RowTransform, UnusableRow
from peckorder._core.threads import Stop, apart, share
from peckorder._core.typing import Floats, Rows
from peckorder._core.validation import count_rows
from peckorder.ordinal.compiled import ensemble
from peckorder.ordinal.compiled.ensemble import Members, Outcome, Scratch
from peckorder.ordinal.compiled.linear import PRankState, RowBlock
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
from peckorder.storage.format import Node

# Masks drawn at a time: they stay in the processor's cache until they are used.
_MASKS = 1 << 17
# Votes, moves of thresholds, or copied weights, in memory at a time.
_CELLS = 1 << 20


def _lag_of(name: str) -> Callable[[Any], Any]:
    """Return what writes a lag, null without averages."""
    return lambda learner: getattr(learner, name) if learner.averaged else None


def _check(node: Node) -> None:
    check_members(node)
    if not node.owner.averaged and {"lag", "threshold_lag"} & node.values.keys():
        raise node.refuse("lag", "null, since rules are not averaged")
    if node.owner.averaged and node.values["clock"] == 0:
        raise node.refuse("clock", "of one round at least")


@dataclass(kw_only=True)
class EnsembleLearner(AggregateLearner):
    """Members with weights (N, d), the constant feature's last.

    If rules are averaged, ``clock * weights - lag`` are the sums of a member's weights
    after each round, as in `PRankLearner`, and thresholds likewise; else there are no
    lags. Rounds in which a member is not offered the row count like others: so the sum
    of all members has an average as each of them has.
    """

    stored_fields: ClassVar = Table(
        *MEMBERS,
        Field("weights", floats("rules", "weights")),
        Field("lag", floats("rules", "weights"), _lag_of("lag"), optional=True),
        Field(
            "threshold_lag", floats("rules", "thresholds"), _lag_of("threshold_lag"), optional=True
        ),
        complete=_check,
    )

    transform: RowTransform
    averaged: bool
    weights: Floats
    lag: Floats = field(default_factory=partial(np.zeros, (0, 0)))
    threshold_lag: Floats = field(default_factory=partial(np.zeros, (0, 0)))

    def __post_init__(self) -> None:
        """Start the lags."""
        if self.averaged and not len(self.lag):
            self.lag = np.zeros_like(self.weights)
            self.threshold_lag = np.zeros_like(self.thresholds)

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

    @property
    def n_columns(self) -> int:
        """How many numbers a step has."""
        return 1

    def as_they_count(self, step: Floats, time: Floats) -> Floats:
        """Return what steps of those rounds add to the mean of all members."""
        return step / len(self)

    def _learn(self, block: RowBlock) -> tuple[int, Outcome]:
        by_total = self.predicts_by_total(block)
        before = self._state_of_total() if by_total else None
        work = partial(self._learn_members, block, by_total)
        result = self.learn_by_members(block, block.n_rows * self.weights.size, work)
        if before is None or result.unusable >= 0:
            return result.unusable, result.outcome
        unusable = ensemble.predict_by_total(block, self.transform, before, result.outcome)
        return unusable, result.outcome

    def _learn_members(
        self, block: RowBlock, by_total: bool, members: slice, give_up: Stop
    ) -> BlockResult:
        """Let a range of members learn a block."""
        n_members = members.stop - members.start
        by_votes = block.predicted.size > 0 and not by_total
        outcome = Outcome.allocate(block.n_rows, self.n_levels, moves=by_total, votes=by_votes)
        counts = np.zeros(2, dtype=np.int64)
        shared = Members(
            self.weights[members],
            self.thresholds[members],
            self.right[members],
            self.lag[members],
            self.threshold_lag[members],
        )
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
                self.most_offers,
                state,
                self.clock + first,
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
        return all((array == array[:1]).all() for array in (self.weights, *self._lags()))

    def _lags(self) -> tuple[Floats, Floats]:
        return self.lag, self.threshold_lag

    def _state_of_total(self) -> PRankState:
        """Return the sums over members, in the order of the members."""
        return PRankState(
            self.weights.sum(axis=0),
            self.thresholds.sum(axis=0),
            self.lag.sum(axis=0),
            self.threshold_lag.sum(axis=0),
            self.clock,
            self.averaged,
        )

    @property
    def n_rules(self) -> int:
        """How many rules of a member `rules` sums."""
        return self.clock if self.averaged else 1

    def rules(self) -> LinearRule:
        """Return the rules by which members predict, up to a positive factor.

        Sums, not means: sums of integers are exact.
        """
        if not self.averaged or self.clock == 0:
            return LinearRule(self.weights, self.thresholds)
        weights = self.clock * self.weights - self.lag
        return LinearRule(weights, self.clock * self.thresholds - self.threshold_lag)

    def mean_rules(self) -> LinearRule:
        """Return the rules by which members predict, each on the scale of a single one."""
        weights, thresholds = self.rules()
        n_rules = max(1, self.n_rules)
        return LinearRule(weights / n_rules, thresholds / n_rules)

    def total(self) -> LinearRule:
        """Return the sum of all members' rules, in the order of the members."""
        return LinearRule(*(part.sum(axis=0) for part in self.rules()))

    def mean_rule(self) -> LinearRule:
        """Return the mean of all members."""
        weights, thresholds = self.total()
        n_rules = len(self) * max(1, self.n_rules)
        return LinearRule(weights / n_rules, thresholds / n_rules)

    def total_thresholds(self) -> Floats:
        """Return the thresholds that `total_scores` are compared with."""
        return self.total().thresholds

    def mean_scores(self, rows: Rows) -> Floats:
        """Return the mean of the members' scores of every row."""
        return self.total_scores(rows) / (len(self) * max(1, self.n_rules))

    def mean_thresholds(self) -> Floats:
        """Return the mean of the members' thresholds."""
        return self.mean_rule().thresholds

    def total_scores(self, rows: Rows) -> Floats:
        """Return the sum of the members' scores of every row."""
        return scores(rows, self.transform, self.total().weights)

    def ballots(self, rows: Rows) -> Ballots:
        """Let the members vote on every row."""
        n_rows = count_rows(rows)
        ballots = Ballots.none(n_rows, self.n_levels)
        n_threads = self.n_threads_for(n_rows * self.weights.size)
        state = Members(*self.rules(), self.right, *self._lags())
        for unusable in share(n_rows, n_threads, partial(self._vote, rows, state, ballots)):
            if unusable >= 0:
                raise UnusableRow(unusable)
        return ballots

    def _vote(
        self, rows: Rows, state: Members, ballots: Ballots, positions: slice, give_up: Stop
    ) -> int:
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

    def alone(self, j: int) -> Self:
        """Return a learner of member j, which has learnt nothing yet."""
        member = slice(j, j + 1)
        names = ("weights", "lag", "threshold_lag")
        return self._alone(j, **{name: getattr(self, name)[member].copy() for name in names})

    def joined(self, parts: Sequence[Self]) -> Self:
        """Return a learner of members that have learnt the same rows alone."""
        names = ("weights", "lag", "threshold_lag")
        state = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        return self._joined(parts, **state)

    def merge(self, other: Self) -> Self:
        """Return a learner with the members of both, each with the average that it has."""
        clock = max(self.clock, other.clock)
        both = ((one, clock / one.clock if one.averaged else 1.0) for one in (self, other))
        lags = zip(*([factor * lag for lag in one._lags()] for one, factor in both), strict=True)
        lag, threshold_lag = map(np.concatenate, lags)
        weights = np.concatenate([self.weights, other.weights])
        return self.merged(other, weights=weights, lag=lag, threshold_lag=threshold_lag)
