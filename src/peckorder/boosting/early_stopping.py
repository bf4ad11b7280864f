"""The number of rounds chosen by queries that are held out."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from peckorder._core.typing import Floats
from peckorder.boosting.solver.rounds import Boosted
from peckorder.boosting.solver.score_table import Columns
from peckorder.boosting.weak.custom import ranked
from peckorder.exceptions import DataError
from peckorder.feedback._pairs import GradedRows
from peckorder.metrics import Metric


class EarlyStopping:
    """Follows a metric on queries held out; remembers after which round it was best.

    A share of all queries is drawn at random, whole; `rows` are theirs.
    """

    def __init__(
        self,
        metric: Metric,
        patience: int | None,
        share: float,
        rng: Any,
        graded: GradedRows,
    ) -> None:
        self._metric, self._patience = metric, patience
        sizes = np.diff(graded.offsets)
        n_held = min(max(1, round(share * len(sizes))), len(sizes) - 1)
        is_held = np.zeros(len(sizes), dtype=bool)
        is_held[rng.permutation(len(sizes))[:n_held]] = True
        kept = np.repeat(is_held, sizes)
        self.rows = graded.rows[kept]
        self._y = graded.grade[kept]
        self._qid = np.repeat(np.arange(len(sizes)), sizes)[kept]
        self.values: list[float] = []
        self.best = 0

    def begin(self, X: Any, offset: Floats | None, *, unstored: bool) -> None:
        """Look at the rows before the first round."""
        self._X = X[self.rows]
        self._columns = Columns(self._X, unstored=unstored)
        start = np.zeros(len(self.rows)) if offset is None else offset[self.rows]
        self._scores = start.astype(np.float64)
        self._note()
        if np.isnan(self.values[0]):
            raise DataError(
                "RankBoost: validation_fraction must hold out a query for which metric "
                f"is defined; got none in {len(np.unique(self._qid))} queries."
            )

    def __call__(self, boosted: Boosted) -> bool:
        """Add the last round; tell whether to stop."""
        feature, threshold, default, alpha, ranking = boosted.rounds[-1]
        if ranking is not None:
            self._scores += alpha * ranked(ranking, self._X)
        else:
            self._scores += alpha * self._columns.rank(feature, threshold, default)
        self._note()
        waited = len(self.values) - 1 - self.best
        return self._patience is not None and waited >= self._patience

    def _note(self) -> None:
        with warnings.catch_warnings():
            if self.values:  # it has been said before the first round
                warnings.simplefilter("ignore", UndefinedMetricWarning)
            value = self._metric.mean(self._y, self._scores, self._qid)
        sign = 1.0 if self._metric.kind.larger_is_better else -1.0
        self.values.append(value)
        if sign * value > sign * self.values[self.best]:
            self.best = len(self.values) - 1
