"""The baselines of the PRank paper: the Widrow-Hoff rule and the perceptron."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from peckorder._core.row_transform import RowTransform
from peckorder._core.typing import Floats, Ints, Rows
from peckorder.ordinal.compiled import linear
from peckorder.ordinal.compiled.linear import RowBlock
from peckorder.ordinal.learners.base import TALLY, Learner, Tally, nearest_level, scores
from peckorder.storage.fields import Field, Table, floats


@dataclass(kw_only=True)
class _WeightsLearner(Learner):
    """A learner that is its weights."""

    transform: RowTransform
    weights: Floats
    tally: Tally = field(default_factory=Tally)

    def is_finite(self) -> bool:
        """Whether nothing has overflowed so far."""
        return bool(np.isfinite(self.weights).all())


@dataclass(kw_only=True)
class WidrowHoffLearner(_WeightsLearner):
    """A linear score that is pulled towards the rank of every row."""

    stored_fields: ClassVar = Table(*TALLY, Field("weights", floats("weights")))

    eta: float
    normalized: bool
    n_levels: int

    def learn_block(self, block: RowBlock) -> int:
        """Learn a block; return the position of an unusable row, or -1."""
        counts = np.zeros(2, dtype=np.int64)
        unusable = linear.widrow_hoff(
            block, self.transform, self.weights, self.eta, self.normalized, self.n_levels, counts
        )
        self.tally.add(block.n_rows, counts)
        return unusable

    def scores(self, rows: Rows) -> Floats:
        """Return the score of every row, a rank before rounding."""
        return scores(rows, self.transform, self.weights)

    def levels(self, rows: Rows) -> Ints:
        """Return the predicted level of every row."""
        return nearest_level(self.scores(rows), self.n_levels)


@dataclass(kw_only=True)
class PerceptronLearner(_WeightsLearner):
    """One weight vector per level; the level with the largest score wins."""

    stored_fields: ClassVar = Table(*TALLY, Field("weights", floats("rules", "weights")))

    def learn_block(self, block: RowBlock) -> int:
        """Learn a block; return the position of an unusable row, or -1."""
        counts = np.zeros(2, dtype=np.int64)
        unusable = linear.perceptron(block, self.transform, self.weights, counts)
        self.tally.add(block.n_rows, counts)
        return unusable

    def scores(self, rows: Rows) -> Floats:
        """Return the score of every row for every level."""
        return np.column_stack([scores(rows, self.transform, w) for w in self.weights])

    def levels(self, rows: Rows) -> Ints:
        """Return the predicted level of every row; the lowest of equal ones."""
        level: Ints = np.argmax(self.scores(rows), axis=1)
        return level
