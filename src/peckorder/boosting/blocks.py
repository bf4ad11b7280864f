"""RankBoost on rows that come in blocks of whole queries, wherever these are."""

from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from peckorder._base import checked_weight
from peckorder._core.errors import refusal
from peckorder._core.threads import Team
from peckorder._core.typing import Floats, Ints, Matrix, MatrixLike
from peckorder.boosting.distribution import GradedBlocks
from peckorder.boosting.rankboost import NO_WEIGHT, RankBoost, refuse_feedback, without_pairs
from peckorder.boosting.run_rounds import FinishedBooster, Options
from peckorder.feedback import Preferences

# Parameters that other values need all rows in memory for.
_REQUIRED = {"alpha": "approximate", "validation_fraction": None, "warm_start": False}


def options_for_blocks(model: RankBoost, where: str) -> Options:
    """Return how to boost; refuse parameters that need all rows in memory.

    `where` ends the rule, as in "on a stream".
    """
    model._check()
    if model.weak not in ("threshold", ["threshold"], ("threshold",)):
        raise refusal("weak", f"be 'threshold' {where}", repr(model.weak), error=ValueError)
    for name, required in _REQUIRED.items():
        value = getattr(model, name)
        if value != required:
            raise refusal(name, f"be {required!r} {where}", repr(value), error=ValueError)
    return model._options()


class CheckedBlocks:
    """Blocks checked as `fit` does, and their graded queries.

    The first block sets the model's number of features.
    """

    def __init__(self, model: RankBoost, team: Team) -> None:
        equal_queries = model.query_weight == "equal"
        self.graded = GradedBlocks(equal_queries=equal_queries, team=team)
        self._model = model
        self._has_weights: bool | None = None
        self.n_rows, self.n_queries, self.n_flat = 0, 0, 0

    def add(
        self, X: MatrixLike, y: ArrayLike, qid: ArrayLike | None, weight: ArrayLike | None
    ) -> tuple[Floats, Ints]:
        """Return a block's X, dense, and its rows that are in pairs, in order."""
        model = self._model
        rows = model._rows(X, reset=self.n_rows == 0)
        n_rows = rows.shape[0]
        if self._has_weights not in (None, weight is not None):
            raise refusal("weight", "be given in all blocks, or in none", "both")
        self._has_weights = weight is not None
        weights = checked_weight(weight, n_rows)
        preferences = Preferences.of_labels(y, qid, n_rows=n_rows)
        graded: Any = preferences.parts[0]
        self.n_rows += n_rows
        self.n_queries += len(graded.offsets) - 1
        self.n_flat += graded.n_flat_queries
        paired = self.graded.add(preferences, weights)
        return self._dense(rows), paired

    def _dense(self, X: Matrix) -> Floats:
        """Return rows with an entry everywhere, NaN where a feature abstains."""
        if isinstance(X, np.ndarray):
            return X
        if self._model.missing == "zero":
            return X.toarray()
        dense = np.full(X.shape, np.nan, dtype=X.dtype)
        row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        dense[row, X.indices] = X.data
        return dense

    def check(self) -> None:
        """Refuse blocks without a pair to learn from."""
        if self.graded.n_rows == 0:
            seen = self.n_rows, self.n_queries, self.n_flat
            refuse_blocks(*seen)


def refuse_blocks(n_rows: int, n_queries: int, n_flat: int) -> NoReturn:
    """Refuse rows in queries, so many of one grade, without a pair to learn from."""
    got = without_pairs(n_rows, n_queries, n_flat) if n_flat else NO_WEIGHT
    refuse_feedback(got)


def publish(model: RankBoost, booster: FinishedBooster) -> None:
    """Set the fitted attributes of a model."""
    model._has_offset = False
    model._publish(booster, None)
