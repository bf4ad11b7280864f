"""A run of RankBoost, from data to rounds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from peckorder._core.threads import Team
from peckorder._core.typing import Floats
from peckorder.boosting.columns.binned import BinnedColumns
from peckorder.boosting.columns.sorted import SortedColumns, cut_columns
from peckorder.boosting.compiled import rounds as kernels
from peckorder.boosting.pairs.distribution import Distribution
from peckorder.boosting.pairs.from_feedback import distribution, feedback_rows
from peckorder.boosting.solver import rounds_compiled
from peckorder.boosting.solver.rounds import Boosted, Round, Steps, boost, take
from peckorder.boosting.solver.score_table import Columns
from peckorder.boosting.weak.custom import OwnLearner, ranked
from peckorder.boosting.weak.features import Features
from peckorder.boosting.weak.thresholds import Account, Thresholds, Weak, WeakLearner
from peckorder.boosting.weak.thresholds_by_z import LeastZ
from peckorder.feedback import Preferences

_NONE = np.empty(0)
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

    def smoothing_for(self, n_pairs: int) -> float:
        """Return the smoothing that so many pairs call for."""
        return 1.0 / n_pairs if self.smoothing is None else self.smoothing

    def account(self, n_features: int, smoothing: float) -> Account:
        """Return an account of thresholds in which nothing is yet."""
        return Account(n_features, self.learning_rate, smoothing, self.cumulative)

    def thresholds(
        self,
        columns: tuple[BinnedColumns, SortedColumns],
        n_features: int,
        smoothing: float,
        team: Team,
    ) -> Thresholds:
        """Return the weak learner that cuts columns at thresholds."""
        default = None if self.default is None else int(self.default)
        kind = LeastZ if self.alpha == "analytic" else Thresholds
        return kind(*columns, self.account(n_features, smoothing), default, team)


class Run:
    """RankBoost on its way: distribution, learners, rounds."""

    def __init__(
        self,
        distribution: Distribution,
        learners: list[WeakLearner],
        options: Options,
        smoothing: float,
        offset: Floats | None = None,
    ) -> None:
        self.options, self.smoothing = options, smoothing
        self.distribution, self.learners = distribution, learners
        distribution.move(distribution.scores)
        log_total = distribution.log_total
        if offset is not None:
            distribution.move(offset)
        self.boosted = Boosted([distribution.log_total - log_total])

    def resume(self, records: Any) -> None:
        """Add the rounds of a run that was interrupted, on the same columns of bins."""
        learner: Any = self.learners[0]
        pairs, boosted = self.distribution, self.boosted
        for feature, threshold, default, alpha in records.tolist():
            cut = learner.cut_at(feature, threshold)
            bins = learner.binned.bins[feature]
            kernels.add_binned(alpha, bins, cut, default, pairs.scores)
            before = pairs.log_total
            pairs.weigh(pairs.scores)
            learner.note(Weak(feature, threshold, default, 0.0, 0.0, _NONE, cut), alpha)
            round_ = Round(feature, threshold, default, alpha)
            boosted.add(round_, pairs.log_total - before)
        # Potentials depend on where the last round led, not on the way.
        pairs.move(pairs.scores)

    def go(
        self,
        monitor: Callable[[Boosted], bool] | None = None,
        watch: rounds_compiled.Watch | None = None,
    ) -> None:
        """Boost, until the monitor says so; it is asked after every round.

        Who watches is told now and then.
        """
        options = self.options
        steps = Steps(options.alpha, self.smoothing, options.learning_rate)
        state = self.boosted, self.distribution
        if monitor is None and rounds_compiled.can_run(
            self.distribution, self.learners, steps
        ):
            learner: Any = self.learners[0]
            rounds_compiled.run(*state, learner, steps, options.n_rounds, watch)
        else:
            boost(*state, self.learners, steps, options.n_rounds, monitor)


class RunInMemory(Run):
    """RankBoost on rows that are all at hand.

    Raises NoPairs if no pair weighs anything.
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
        self.options, self._team = options, team
        self.rows = feedback_rows(preferences, sample_weight)
        if len(self.rows) == 0:
            raise NoPairs
        kept = preferences.restrict(self.rows)
        self.smoothing = options.smoothing_for(kept.n_pairs)
        pairs = distribution(
            kept,
            None if sample_weight is None else sample_weight[self.rows],
            len(self.rows),
            equal_queries=options.equal_queries,
            one_graded=options.alpha == "analytic",
            team=team,
        )
        start = None if offset is None else offset[self.rows]
        super().__init__(pairs, self._weak(X), options, self.smoothing, start)

    def _weak(self, X: Any) -> list[WeakLearner]:
        options = self.options
        learners: list[WeakLearner] = []
        for weak in options.weak:
            if weak == "threshold":
                columns = self._columns(X, max_bins=options.max_bins)
                learners.append(
                    options.thresholds(columns, X.shape[1], self.smoothing, self._team)
                )
            elif weak == "feature":
                sorted_ = self._columns(X, max_bins=None, sort=True)[1]
                is_narrow = options.alpha == "approximate"
                learners.append(
                    Features(sorted_, options.default, options.cumulative, is_narrow)
                )
            else:
                learners.append(
                    OwnLearner(weak, X, self.rows, options.alpha, options.cumulative)
                )
        return learners

    def _columns(self, X: Any, **how: Any) -> tuple[BinnedColumns, SortedColumns]:
        return cut_columns(
            X, self.rows, unstored=self.options.unstored, team=self._team, **how
        )

    def repeat(self, X: Any, records: Any, rankings: list[Any]) -> None:
        """Add the rounds of an earlier run, as they rank these rows."""
        own = iter(rankings)
        columns = Columns(X[self.rows], unstored=self.options.unstored)
        for feature, threshold, default, alpha in records.tolist():
            kind: Any = Features if np.isnan(threshold) else Thresholds
            kind = OwnLearner if feature < 0 else kind
            learner: Any = next((a for a in self.learners if isinstance(a, kind)), None)
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


class NoPairs(ValueError):
    """There is nothing to learn from."""
