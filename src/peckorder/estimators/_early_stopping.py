"""The number of rounds chosen by queries that are held out."""

from typing import Any

import numpy as np

from peckorder._typing import Floats, Ints
from peckorder.exceptions import DataError
from peckorder.feedback import Queries
from peckorder.metrics._names import Metric
from peckorder.solvers.boosting import Boosted
from peckorder.solvers.score_table import Columns
from peckorder.solvers.weak_own import ranked


def held_out(who: str, qid: Any, n_rows: int, share: float, rng: Any) -> Ints:
    """Return the rows of some queries, drawn at random: a share of all, whole."""
    if qid is None:
        raise DataError(
            f"{who}: qid must be given with validation_fraction, which holds out whole "
            "queries; got None."
        )
    queries = Queries.of(who, qid, n_rows)
    if len(queries) < 2:
        raise DataError(
            f"{who}: qid must have two queries at least with validation_fraction; got "
            f"{len(queries)}."
        )
    n_held = min(max(1, round(share * len(queries))), len(queries) - 1)
    is_held = np.zeros(len(queries), dtype=bool)
    is_held[rng.permutation(len(queries))[:n_held]] = True
    return np.flatnonzero(is_held[queries.of_rows()])


class EarlyStopping:
    """Follows a metric on rows held out; remembers after which round it was best."""

    def __init__(
        self,
        metric: Metric,
        patience: int | None,
        X: Any,
        y: Any,
        qid: Any,
        offset: Floats | None,
        *,
        unstored: bool,
    ) -> None:
        self._metric, self._patience = metric, patience
        self._y, self._qid = y, qid
        self._X, self._columns = X, Columns(X, unstored=unstored)
        self._scores = np.zeros(X.shape[0]) if offset is None else offset.copy()
        self.values: list[float] = []
        self.best = 0
        self._note()

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
        value = self._metric.mean(self._y, self._scores, self._qid)
        sign = 1.0 if self._metric.kind.larger_is_better else -1.0
        self.values.append(value)
        if sign * value > sign * self.values[self.best]:
            self.best = len(self.values) - 1
