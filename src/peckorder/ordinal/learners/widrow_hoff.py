"""The Widrow-Hoff rule: ranks learnt as numbers."""

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from peckorder._core.row_transform import View
from peckorder._core.typing import Floats, Ints, Rows
from peckorder.ordinal.compiled import linear as kernels
from peckorder.ordinal.learners.base import Tally, Visit, nearest_level, scores


@dataclass
class WidrowHoffLearner:
    """A linear score that is pulled towards the rank of every row."""

    view: View
    eta: float
    normalized: bool
    n_levels: int
    weights: Floats
    tally: Tally = field(default_factory=Tally)

    def copy(self) -> Self:
        """Return a learner that goes its own way from here."""
        return replace(self, weights=self.weights.copy(), tally=replace(self.tally))

    def visit(self, visit: Visit) -> int:
        """Learn a block; return the position of a row that cannot be, or -1."""
        counts = np.zeros(2, dtype=np.int64)
        stopped = kernels.widrow_hoff(
            visit.rows,
            visit.start,
            visit.order,
            visit.level,
            self.view.intercept,
            self.view.unit_norm,
            self.weights,
            self.eta,
            self.normalized,
            self.n_levels,
            visit.predicted,
            counts,
        )
        self.tally.add(len(visit), counts)
        return stopped

    def is_finite(self) -> bool:
        """Whether nothing has overflowed so far."""
        return bool(np.isfinite(self.weights).all())

    def scores(self, rows: Rows) -> Floats:
        """Return the score of every row, a rank before rounding."""
        return scores(rows, self.view, self.weights)

    def levels(self, rows: Rows) -> Ints:
        """Return the predicted level of every row."""
        return nearest_level(self.scores(rows), self.n_levels)
