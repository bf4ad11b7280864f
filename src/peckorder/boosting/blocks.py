"""RankBoost on rows that come in blocks of whole queries, wherever these are."""

from typing import Any, NoReturn

import numpy as np
from scipy import sparse

from peckorder._base.scores import checked_weight
from peckorder._core.threads import Team
from peckorder._core.typing import Ints
from peckorder.boosting.fitted import (
    NOTHING_WEIGHS,
    refuse_feedback,
    without_pairs,
)
from peckorder.boosting.pairs.from_feedback import GradedBlocks
from peckorder.boosting.rankboost import RankBoost
from peckorder.boosting.solver.rounds import Finished
from peckorder.boosting.solver.run import Options
from peckorder.exceptions import DataError
from peckorder.feedback import Preferences

# What takes all rows at hand, and what there is instead.
_WANTED = {
    "alpha": "approximate",
    "validation_fraction": None,
    "warm_start": False,
}


def options_for_blocks(model: RankBoost, where: str) -> Options:
    """Return how to boost; refuse what needs all rows at hand, as they are not there.

    `where` ends the rule, as in "on a stream".
    """
    model._check()
    if model.weak not in ("threshold", ["threshold"], ("threshold",)):
        raise ValueError(
            f"{model._who}: weak must be 'threshold' {where}; got {model.weak!r}."
        )
    for name, wanted in _WANTED.items():
        value = getattr(model, name)
        if value != wanted:
            raise ValueError(
                f"{model._who}: {name} must be {wanted!r} {where}; got {value!r}."
            )
    return model._options()


class CheckedBlocks:
    """Blocks as they come, checked as `fit` does, and what is gathered of them.

    The model remembers from the first block on how many features there are.
    """

    def __init__(self, model: RankBoost, team: Team) -> None:
        equal_queries = model.query_weight == "equal"
        self.graded = GradedBlocks(equal_queries=equal_queries, team=team)
        self._model = model
        self._has_weights: bool | None = None
        self.n_rows, self.n_queries, self.n_flat = 0, 0, 0

    def add(self, X: Any, y: Any, qid: Any, weight: Any) -> tuple[Any, Ints]:
        """Return a block's X, dense, and its rows that count, in their order."""
        model, who = self._model, self._model._who
        X = model._rows(X, reset=self.n_rows == 0)
        if self._has_weights not in (None, weight is not None):
            raise DataError(
                f"{who}: weight must be given in all blocks, or in none; got both."
            )
        self._has_weights = weight is not None
        weight = checked_weight(who, weight, X.shape[0])
        preferences = Preferences.of_labels(who, y, qid, n_rows=X.shape[0])
        part: Any = preferences.parts[0]
        self.n_rows += X.shape[0]
        self.n_queries += len(part.offsets) - 1
        self.n_flat += part.n_flat_queries
        rows = self.graded.add(preferences, weight)
        return self._dense(X), rows

    def _dense(self, X: Any) -> Any:
        """Return rows with an entry everywhere, NaN where a feature abstains."""
        if not sparse.issparse(X):
            return X
        if self._model.missing == "zero":
            return X.toarray()
        dense = np.full(X.shape, np.nan, dtype=X.dtype)
        row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        dense[row, X.indices] = X.data
        return dense

    def check(self) -> None:
        """Refuse blocks of which there is nothing to learn."""
        if self.graded.n_rows == 0:
            seen = self.n_rows, self.n_queries, self.n_flat
            refuse_blocks(self._model._who, *seen)


def refuse_blocks(who: str, n_rows: int, n_queries: int, n_flat: int) -> NoReturn:
    """Refuse so many rows in so many queries, so many flat, of which none weighs."""
    got = without_pairs(n_rows, n_queries, n_flat) if n_flat else NOTHING_WEIGHS
    refuse_feedback(who, got)


def publish(model: RankBoost, run: Finished) -> None:
    """Let the model know what was learnt."""
    model._has_offset = False
    model._publish(run, None)
