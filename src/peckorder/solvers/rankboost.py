"""A run of RankBoost, from data to rounds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from peckorder._threads import Team
from peckorder._typing import Floats
from peckorder.feedback import Preferences
from peckorder.solvers import rounds
from peckorder.solvers.boosting import Boosted, Steps, boost, take
from peckorder.solvers.columns import cut_columns
from peckorder.solvers.distribution import distribution, feedback_rows
from peckorder.solvers.least_z import LeastZ
from peckorder.solvers.score_table import Columns
from peckorder.solvers.weak import Account, Thresholds, Weak, WeakLearner
from peckorder.solvers.weak_features import Features
from peckorder.solvers.weak_own import OwnLearner, ranked

# A weak ranking with its weight, as it is kept.
RECORD = np.dtype(
    [
        ("feature", np.int64),
        ("threshold", np.float64),
        ("default", np.float64),
        ("alpha", np.float64),
    ]
)


@dataclass(frozen=True)
class Options:
    """How to boost: parameters of the estimator, smoothing None for "auto"."""

    n_rounds: int
    learning_rate: float
    alpha: str
    weak: tuple[Any, ...]
    cumulative: bool
    default: float | None
    unstored: bool
    smoothing: float | None
    max_bins: int | None
    equal_queries: bool


class Run:
    """RankBoost on its way: rows of the feedback, distribution, learners, rounds.

    Raises ValueError if no pair weighs anything.
    """

    def __init__(
        self,
        X: Any,
        preferences: Preferences,
        sample_weight: Floats | None,
        offset: Floats | None,
        options: Options,
        team: Team,
    ) -> None:
        self.options = options
        self.rows = feedback_rows(preferences, sample_weight)
        if len(self.rows) == 0:
            raise NoPairs
        kept = preferences.restrict(self.rows)
        smoothing = options.smoothing
        self.smoothing = 1.0 / kept.n_pairs if smoothing is None else smoothing
        self.distribution = distribution(
            kept,
            None if sample_weight is None else sample_weight[self.rows],
            len(self.rows),
            equal_queries=options.equal_queries,
            one_graded=options.alpha == "analytic",
            team=team,
        )
        self._learners = self._weak_learners(X, team)
        start = np.zeros(len(self.rows))
        self.distribution.move(start)
        log_total = self.distribution.log_total
        if offset is not None:
            self.distribution.move(offset[self.rows])
        self.boosted = Boosted([self.distribution.log_total - log_total])

    def _weak_learners(self, X: Any, team: Team) -> list[WeakLearner]:
        options = self.options
        learners: list[WeakLearner] = []
        for weak in options.weak:
            if weak == "threshold":
                learners.append(self._thresholds(X, team))
            elif weak == "feature":
                columns = self._columns(X, team, max_bins=None, sort=True)[1]
                is_narrow = options.alpha == "approximate"
                learners.append(
                    Features(columns, options.default, options.cumulative, is_narrow)
                )
            else:
                learners.append(
                    OwnLearner(weak, X, self.rows, options.alpha, options.cumulative)
                )
        return learners

    def _columns(self, X: Any, team: Team, **how: Any) -> Any:
        return cut_columns(
            X, self.rows, unstored=self.options.unstored, team=team, **how
        )

    def _thresholds(self, X: Any, team: Team) -> Any:
        options = self.options
        by_z = options.alpha == "analytic"
        account = Account(
            X.shape[1],
            options.learning_rate,
            self.smoothing,
            options.cumulative,
        )
        columns = self._columns(X, team, max_bins=options.max_bins)
        default = None if options.default is None else int(options.default)
        kind: Any = LeastZ if by_z else Thresholds
        return kind(*columns, account, default, team)

    def repeat(self, X: Any, records: Any, rankings: list[Any]) -> None:
        """Add the rounds of an earlier run, as they rank these rows."""
        own = iter(rankings)
        columns = Columns(X[self.rows], unstored=self.options.unstored)
        for feature, threshold, default, alpha in records.tolist():
            kind: Any = Features if np.isnan(threshold) else Thresholds
            kind = OwnLearner if feature < 0 else kind
            learner: Any = next(
                (a for a in self._learners if isinstance(a, kind)), None
            )
            if learner is None:
                raise ValueError(
                    "RankBoost: weak must be as in the last fit with warm_start; got "
                    f"{self.options.weak!r}."
                )
            if feature < 0:
                ranking = next(own)
                values, cut = ranked(ranking, X)[self.rows], 0
            else:
                ranking = None
                values = columns.rank(feature, threshold, default)
                at = default if kind is Features else threshold
                cut = learner.cut_at(feature, at)
            weak = Weak(
                feature, threshold, default, 0.0, 0.0, values, cut, ranking=ranking
            )
            take(self.boosted, self.distribution, learner, weak, alpha)

    def go(self, monitor: Callable[[Boosted], bool] | None) -> None:
        """Boost."""
        options = self.options
        steps = Steps(options.alpha, self.smoothing, options.learning_rate)
        state = self.boosted, self.distribution
        if monitor is None and rounds.can_run(self.distribution, self._learners, steps):
            learner: Any = self._learners[0]
            rounds.run(*state, learner, steps, options.n_rounds)
        else:
            boost(*state, self._learners, steps, options.n_rounds, monitor)


class NoPairs(ValueError):
    """There is nothing to learn from."""
