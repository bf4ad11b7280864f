"""PRank: the last rule, and the average of all rules."""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from peckorder._core.row_transform import RowTransform
from peckorder._core.typing import Floats, Ints, Rows
from peckorder.ordinal.compiled import linear
from peckorder.ordinal.compiled.linear import PRankState, RowBlock, UpdateLog
from peckorder.ordinal.learners.base import TALLY, Learner, Tally, scores
from peckorder.storage.fields import Field, Table, floats

_NO_LOG = UpdateLog.allocate(0)


class LinearRule(NamedTuple):
    """Weights (the constant feature's last) and the thresholds that cut the score."""

    weights: Floats
    thresholds: Floats


@dataclass
class PRankLearner(Learner):
    """A linear score and ordered integer thresholds, and the sums of both.

    The sums are kept lazily: after T rounds the sum of the weights after each round
    is ``T * weights - lag``. So a round without a mistake costs nothing, and one
    with a mistake touches only the features of its row.
    """

    stored_fields: ClassVar = Table(
        *TALLY,
        Field("weights", floats("weights")),
        Field("thresholds", floats("thresholds", ascending=True)),
        Field("lag", floats("weights")),
        Field("threshold_lag", floats("thresholds")),
    )

    transform: RowTransform
    averaged: bool
    weights: Floats
    thresholds: Floats
    lag: Floats = field(init=False)
    threshold_lag: Floats = field(init=False)
    tally: Tally = field(default_factory=Tally)

    def __post_init__(self) -> None:
        """Start the sums."""
        self.lag = np.zeros_like(self.weights)
        self.threshold_lag = np.zeros_like(self.thresholds)

    def learn_block(self, block: RowBlock) -> int:
        """Learn a block; return the position of an unusable row, or -1."""
        return self._learn(block, _NO_LOG)[0]

    def _learn(self, block: RowBlock, log: UpdateLog) -> tuple[int, int]:
        """Learn a block; return where an unusable row is (or -1), and the updates."""
        counts = np.zeros(2, dtype=np.int64)
        state = PRankState(
            self.weights,
            self.thresholds,
            self.lag,
            self.threshold_lag,
            self.tally.rounds,
            self.averaged,
        )
        unusable = linear.prank(block, self.transform, state, log, counts)
        self.tally.add(block.n_rows, counts)
        return unusable, int(counts[0])

    def learn_block_with_steps(self, block: RowBlock) -> tuple[int, Floats]:
        """Learn a block; return as well the step that each row made."""
        log, steps = UpdateLog.allocate(block.n_rows), np.zeros(block.n_rows)
        unusable, n_updates = self._learn(block, log)
        steps[log.round[:n_updates]] = log.step[:n_updates]
        return unusable, steps

    @property
    def n_columns(self) -> int:
        """How many numbers a step has."""
        return 1

    def as_they_count(self, step: Floats, time: Floats) -> Floats:
        """Return what steps of those rounds add to the rule that predicts."""
        rounds = self.tally.rounds
        return step * (rounds - time) / rounds if self.averaged else step

    def is_finite(self) -> bool:
        """Whether nothing has overflowed so far."""
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(np.isfinite(self.rule().weights).all())

    def rule(self) -> LinearRule:
        """Return the rule that predicts, up to a positive factor.

        Sums, not means: sums of integers are exact, so a score that lies on a
        threshold is seen to.
        """
        rounds = self.tally.rounds
        if not self.averaged or rounds == 0:
            return LinearRule(self.weights, self.thresholds)
        return LinearRule(
            rounds * self.weights - self.lag, rounds * self.thresholds - self.threshold_lag
        )

    def mean_rule(self) -> LinearRule:
        """Return the rule that predicts, on the scale of a single rule."""
        weights, thresholds = self.rule()
        if not self.averaged or self.tally.rounds == 0:
            return LinearRule(weights, thresholds)
        return LinearRule(weights / self.tally.rounds, thresholds / self.tally.rounds)

    def mean_scores(self, rows: Rows) -> Floats:
        """Return the score of every row, to be compared with the mean thresholds."""
        return scores(rows, self.transform, self.mean_rule().weights)

    def levels(self, rows: Rows) -> Ints:
        """Return the predicted level of every row."""
        weights, thresholds = self.rule()
        score = scores(rows, self.transform, weights)
        return np.searchsorted(thresholds, score, side="right")
