"""PRank: the last rule, and the average of all rules."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

import numpy as np

from peckorder._core.row_transform import NONE, View
from peckorder._core.typing import Floats, Ints, Rows
from peckorder.ordinal.compiled import linear as kernels
from peckorder.ordinal.learners.base import Tally, Visit, scores

_NO_STEPS = np.empty(0)


class LinearRule(NamedTuple):
    """Weights (the constant feature's last) and the thresholds that cut the score."""

    weights: Floats
    thresholds: Floats


@dataclass
class PRankLearner:
    """A linear score and ordered integer thresholds, and the sums of both.

    The sums are kept lazily: after T rounds the sum of the weights after each round
    is ``T * weights - lag``. So a round without a mistake costs nothing, and one
    with a mistake touches only the features of its row.
    """

    view: View
    averaged: bool
    weights: Floats
    thresholds: Floats
    lag: Floats
    threshold_lag: Floats
    tally: Tally = field(default_factory=Tally)

    @classmethod
    def start(
        cls, view: View, averaged: bool, weights: Floats, thresholds: Floats
    ) -> Self:
        """Start from the given rule."""
        lag, threshold_lag = np.zeros_like(weights), np.zeros_like(thresholds)
        return cls(view, averaged, weights, thresholds, lag, threshold_lag)

    def copy(self) -> Self:
        """Return a learner that goes its own way from here."""
        return replace(
            self,
            weights=self.weights.copy(),
            thresholds=self.thresholds.copy(),
            lag=self.lag.copy(),
            threshold_lag=self.threshold_lag.copy(),
            tally=replace(self.tally),
        )

    def visit(self, visit: Visit) -> int:
        """Learn a block; return the position of a row that cannot be, or -1."""
        return self._visit(visit, visit.predicted, NONE, _NO_STEPS, _NO_STEPS)[0]

    def _visit(
        self,
        visit: Visit,
        predicted: Ints,
        update_round: Ints,
        update_step: Floats,
        update_score: Floats,
    ) -> tuple[int, int]:
        """Run the kernel; return where it stopped (-1: nowhere) and its updates."""
        counts = np.zeros(2, dtype=np.int64)
        stopped = kernels.prank(
            visit.rows,
            visit.added or visit.rows,
            visit.start,
            visit.order,
            visit.level,
            self.view.intercept,
            self.view.unit_norm,
            self.weights,
            self.thresholds,
            self.lag,
            self.threshold_lag,
            self.tally.rounds,
            self.averaged,
            predicted,
            update_round,
            update_step,
            update_score,
            counts,
        )
        self.tally.add(len(visit), counts)
        return stopped, int(counts[0])

    def visit_telling_steps(self, visit: Visit) -> tuple[int, Floats]:
        """Learn a block; return as well the step that each row made."""
        steps, n = np.zeros(len(visit)), len(visit)
        places, sizes = np.empty(n, dtype=np.int64), np.empty(n)
        stopped, n_updates = self._visit(
            visit, visit.predicted, places, sizes, np.empty(n)
        )
        steps[places[:n_updates]] = sizes[:n_updates]
        return stopped, steps

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
            rounds * self.weights - self.lag,
            rounds * self.thresholds - self.threshold_lag,
        )

    def mean_rule(self) -> LinearRule:
        """Return the rule that predicts, on the scale of a single rule."""
        weights, thresholds = self.rule()
        if not self.averaged or self.tally.rounds == 0:
            return LinearRule(weights, thresholds)
        return LinearRule(weights / self.tally.rounds, thresholds / self.tally.rounds)

    def mean_scores(self, rows: Rows) -> Floats:
        """Return the score of every row, to be compared with the mean thresholds."""
        return scores(rows, self.view, self.mean_rule().weights)

    def levels(self, rows: Rows) -> Ints:
        """Return the predicted level of every row."""
        weights, thresholds = self.rule()
        score = scores(rows, self.view, weights)
        return np.searchsorted(thresholds, score, side="right")
