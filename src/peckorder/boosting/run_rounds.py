"""RankBoost's rounds: a weak ranking each, for the distribution the last one left."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Any, TypeAlias

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from peckorder._core.compiled.barrier import cancelling
from peckorder._core.errors import refusal
from peckorder._core.threads import APART, Team
from peckorder._core.typing import Array, Floats, Ints, Matrix
from peckorder.boosting.columns import cut_columns
from peckorder.boosting.compiled import rounds as compiled
from peckorder.boosting.compiled.binned_columns import BinnedColumns, add_binned
from peckorder.boosting.compiled.search_by_r import LEARNT, Settings
from peckorder.boosting.compiled.sorted_columns import SortedColumns
from peckorder.boosting.distribution import Distribution, GradedPairSet, make_distribution
from peckorder.boosting.round_record import RankedRows, Round, RoundLog, recorded
from peckorder.boosting.thresholds import (
    CandidateTable,
    Thresholds,
    ThresholdsByZ,
    allocate_histograms,
)
from peckorder.boosting.weak_learners import AlphaRule, CustomLearner, Features, Ranking, Weak
from peckorder.feedback import Preferences
from peckorder.metrics import Metric

# What finds a weak ranking for a distribution.
WeakLearner: TypeAlias = Thresholds | Features | CustomLearner

_NONE = np.empty(0)
# Entries looked at in one call of compiled rounds, between two chances to interrupt.
_ENTRIES_PER_CALL = 1 << 26


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

    def alpha_rule(self, n_pairs: int) -> AlphaRule:
        """Return how to weigh rankings, given the number of pairs."""
        smoothing = 1.0 / n_pairs if self.smoothing is None else self.smoothing
        return AlphaRule(self.alpha, smoothing, self.learning_rate)

    def candidates(self, n_features: int, smoothing: float) -> CandidateTable:
        """Return an empty table of thresholds."""
        default = LEARNT if self.default is None else int(self.default)
        rate, cumulative = self.learning_rate, self.cumulative
        settings = Settings(default, cumulative, rate, smoothing)
        return CandidateTable(n_features, settings)

    def thresholds(
        self,
        columns: tuple[BinnedColumns, SortedColumns],
        n_features: int,
        smoothing: float,
        team: Team,
    ) -> Thresholds:
        """Return the weak learner that cuts columns at thresholds."""
        learner = ThresholdsByZ if self.alpha == "analytic" else Thresholds
        return learner(*columns, self.candidates(n_features, smoothing), team)


class Booster:
    """RankBoost in progress: distribution, learners, and the rounds so far."""

    def __init__(
        self,
        distribution: Distribution,
        learners: Sequence[WeakLearner],
        rule: AlphaRule,
        n_rounds: int,
        offset: Floats | None = None,
    ) -> None:
        self.distribution, self.learners = distribution, learners
        self.rule, self.n_rounds = rule, n_rounds
        distribution.move(distribution.scores)
        log_total = distribution.log_total
        if offset is not None:
            distribution.move(offset)
        self.log = RoundLog([distribution.log_total - log_total], rule.smoothing)

    def resume(self, records: Array) -> None:
        """Add the rounds of an interrupted fit, on the same columns of bins."""
        learner: Any = self.learners[0]
        distribution = self.distribution
        for feature, threshold, default, alpha in records.tolist():
            cut = learner.cut_at(feature, threshold)
            bins = learner.binned.bins[feature]
            add_binned(alpha, bins, cut, default, distribution.scores)
            before = distribution.log_total
            distribution.weigh(distribution.scores)
            weak = Weak(feature, threshold, default, 0.0, 0.0, _NONE, cut)
            learner.record(weak, alpha)
            round_ = Round(feature, threshold, default, alpha)
            self.log.add(round_, distribution.log_total - before)
        # Potentials depend on the scores after the last round only.
        distribution.move(distribution.scores)

    def add_round(self, learner: WeakLearner, weak: Weak, alpha: float) -> None:
        """Add a ranking, and move the distribution to the new scores."""
        before, scores = self.distribution.log_total, self.distribution.scores
        compiled.add_ranking(alpha, weak.values, scores)
        self.distribution.move(scores)
        learner.record(weak, alpha)
        round_ = Round(weak.feature, weak.threshold, weak.default, alpha, weak.ranking)
        self.log.add(round_, self.distribution.log_total - before)

    def boost(
        self,
        monitor: Callable[[RoundLog], bool] | None = None,
        *,
        report: Callable[[], None] | None = None,
        every: int | None = None,
    ) -> None:
        """Add rounds until there are `n_rounds`, or no ranking is of any use.

        The monitor is called after every round, and ends boosting by returning True.
        Only the compiled loop reports, after at most `every` rounds.
        """
        if monitor is None and has_compiled_loop(self):
            learner: Any = self.learners[0]
            _CompiledRounds(self, learner).boost(report, every)
            return
        while len(self.log.rounds) < self.n_rounds:
            choice = self._choose()
            if choice is None:
                return
            check_alpha(choice[-1])
            self.add_round(*choice)
            if monitor is not None and monitor(self.log):
                return

    def _choose(self) -> tuple[WeakLearner, Weak, float] | None:
        """Return the best weak ranking of all learners, and its weight."""
        for learner in self.learners:
            learner.clear_exclusions()
        while True:
            choices = [(one, one.choose(self.distribution)) for one in self.learners]
            useful = [(learner, weak) for learner, weak in choices if weak is not None]
            if not useful:
                return None
            learner, weak = max(useful, key=lambda choice: choice[1].gain)
            alpha = self.rule.rate * self.rule.alpha(weak, self.distribution)
            if not alpha * weak.r > 0.0:
                return None  # rounding is all that is left
            # The search knows the approximate alpha only, which is never the larger.
            if learner.may_add(weak, alpha):
                return learner, weak, alpha
            learner.exclude(weak)


class InMemoryBooster(Booster):
    """RankBoost on rows that are all in memory; `rows` are in pairs of positive weight."""

    def __init__(
        self,
        X: Matrix,
        rows: Ints,
        preferences: Preferences,
        sample_weight: Floats | None,
        offset: Floats | None,
        options: Options,
        team: Team,
    ) -> None:
        self.options, self.X, self.rows, self._team = options, X, rows, team
        kept = preferences.restrict(rows)
        distribution = make_distribution(
            kept,
            None if sample_weight is None else sample_weight[rows],
            len(rows),
            equal_queries=options.equal_queries,
            one_graded=options.alpha == "analytic",
            team=team,
        )
        rule = options.alpha_rule(kept.n_pairs)
        learners = [self._learner(weak, rule.smoothing) for weak in options.weak]
        start = None if offset is None else offset[rows]
        super().__init__(distribution, learners, rule, options.n_rounds, start)

    def _learner(self, weak: Any, smoothing: float) -> WeakLearner:
        options, team = self.options, self._team
        cut = partial(cut_columns, self.X, self.rows, unstored=options.unstored, team=team)
        if weak == "threshold":
            columns = cut(max_bins=options.max_bins)
            return options.thresholds(columns, self.X.shape[1], smoothing, team)
        if weak == "feature":
            sorted_ = cut(max_bins=None, sort=True)[1]
            is_narrow = options.alpha == "approximate"
            return Features(sorted_, options.default, options.cumulative, is_narrow)
        return CustomLearner(weak, self.X, self.rows, options.alpha, options.cumulative)

    def repeat(self, records: Array, rankings: list[Ranking]) -> None:
        """Add the rounds of an earlier fit, as they rank these rows."""
        ranked_rows = RankedRows(self.X, unstored=self.options.unstored)
        for round_ in recorded(records, rankings):
            feature, threshold, default, alpha, ranking = round_
            kind: Any = Features if np.isnan(threshold) else Thresholds
            kind = kind if ranking is None else CustomLearner
            learner: Any = next((one for one in self.learners if isinstance(one, kind)), None)
            if learner is None:
                rule = "be as in the last fit with warm_start"
                raise refusal("weak", rule, repr(self.options.weak), error=ValueError)
            values = ranked_rows.values(round_)[self.rows]
            cut = 0
            if ranking is None:
                cut = learner.cut_at(feature, default if kind is Features else threshold)
            weak = Weak(feature, threshold, default, 0.0, 0.0, values, cut, ranking=ranking)
            self.add_round(learner, weak, alpha)


class EarlyStopping:
    """Follows a metric on rows held out; remembers after which round it was best.

    `rows` are those of queries, or of connected components of pairs, that are held out,
    `y` (n_rows,) and `qid` their labels and queries; or `y` are preferences among them.
    """

    def __init__(
        self,
        metric: Metric,
        patience: int | None,
        rows: Ints,
        y: Floats | Preferences,
        qid: Ints | None,
        X: Matrix,
        offset: Floats | None,
        *,
        unstored: bool,
    ) -> None:
        self._metric, self._patience = metric, patience
        self.rows, self._y, self._qid = rows, y, qid
        self.values: list[float] = []
        self.best = 0
        self._held_rows = RankedRows(X[self.rows], unstored=unstored)
        start = np.zeros(len(self.rows)) if offset is None else offset[self.rows]
        self._scores = start.astype(np.float64)
        self._evaluate()
        if np.isnan(self.values[0]):
            raise refusal(
                "validation_fraction",
                "hold out a query for which metric is defined",
                "no pair" if qid is None else f"none in {len(np.unique(qid))} queries",
            )

    def __call__(self, log: RoundLog) -> bool:
        """Add the last round; return whether to stop."""
        self._scores += log.rounds[-1].alpha * self._held_rows.values(log.rounds[-1])
        self._evaluate()
        n_waited = len(self.values) - 1 - self.best
        return self._patience is not None and n_waited >= self._patience

    def _evaluate(self) -> None:
        with warnings.catch_warnings():
            if self.values:  # the warning was given before the first round
                warnings.simplefilter("ignore", UndefinedMetricWarning)
            value = self._metric.mean(self._y, self._scores, self._qid)
        sign = 1.0 if self._metric.kind.larger_is_better else -1.0
        self.values.append(value)
        if sign * value > sign * self.values[self.best]:
            self.best = len(self.values) - 1


def has_compiled_loop(booster: Booster) -> bool:
    """Return whether rounds need no Python: thresholds by |r| of one graded set."""
    if len(booster.learners) != 1 or booster.rule.method != "approximate":
        return False
    pair_sets = booster.distribution.pair_sets
    is_graded = len(pair_sets) == 1 and isinstance(pair_sets[0], GradedPairSet)
    return is_graded and type(booster.learners[0]) is Thresholds


class _CompiledRounds:
    """Rounds in one compiled loop, whose threads meet at barriers inside it."""

    def __init__(self, booster: Booster, learner: Thresholds) -> None:
        self._booster, self._learner = booster, learner
        distribution, binned, sorted_ = (booster.distribution, learner.binned, learner.sorted)
        graded: Any = distribution.pair_sets[0]
        n_rows, n_features = len(distribution.potentials), learner.candidates.n_features
        self._distribution = compiled.GradedDistribution(
            graded.pairs,
            graded.sums,
            distribution.scores,
            distribution.potentials,
            distribution.total_drift,
            distribution.mass_unit,
        )
        column_of = np.full(n_features, -1)
        column_of[sorted_.features] = np.arange(len(sorted_.features))
        # None where there are none: what they need is not compiled then.
        self._columns = (
            binned if len(binned.features) else None,
            sorted_ if len(sorted_.features) else None,
        )
        self._n_entries = len(binned.features) * n_rows + len(sorted_.rows) + n_rows + n_features
        self._n_threads = n_threads = learner.n_threads(n_rows, "round_entries")
        self._workspace = compiled.Workspace(
            column_of=column_of,
            ceilings=learner.ceilings,
            binned_order=np.empty(len(binned.features), dtype=np.int64),
            sorted_order=np.empty(len(sorted_.features), dtype=np.int64),
            histograms=allocate_histograms(n_threads),
            group_sums=np.empty((n_threads, learner.most_groups + APART), np.int64),
            ranking=np.empty(n_rows),
        )

    def boost(self, report: Callable[[], None] | None, every: int | None) -> None:
        """Add rounds until there are enough, or nothing is left."""
        log, learner = self._booster.log, self._learner
        distribution, n_rounds = self._booster.distribution, self._booster.n_rounds
        chunk = max(1, _ENTRIES_PER_CALL // self._n_entries)
        chunk = chunk if every is None else min(chunk, every)
        while len(log.rounds) < n_rounds:
            n_asked = min(chunk, n_rounds - len(log.rounds))
            record = np.empty((n_asked, compiled.RECORD))
            n_done = self._add_rounds(record)
            for feature, cut, default, alpha, log_total in record[:n_done].tolist():
                check_alpha(alpha)
                threshold = learner.threshold(int(feature), int(cut))
                round_ = Round(int(feature), threshold, default, alpha)
                log.add(round_, log_total - distribution.log_total)
                distribution.log_total = log_total
            if report is not None:
                report()
            if n_done < n_asked:
                return

    def _add_rounds(self, record: Floats) -> int:
        """Do rounds in threads; return how many are recorded."""
        n_threads, candidates = self._n_threads, self._learner.candidates
        candidates.reserve(len(record))
        state, turns, best_size = np.zeros((3, APART), dtype=np.int64)
        noises, tops = np.empty((2, n_threads))
        masses, moves = np.empty((2, n_threads), dtype=np.int64)
        best = np.empty((n_threads, APART), dtype=np.int64)
        arguments = (
            self._distribution,
            *self._columns,
            candidates.settings,
            candidates.arrays,
            candidates.size,
            self._workspace,
            compiled.Shared(state, turns, best_size, best, noises, tops, masses, moves),
            record,
        )
        # Compiled here, if it must be: a thread that is late keeps the others spinning.
        compiled.boost(0, 0, *arguments)

        def work(thread: slice, give_up: Callable[[], bool]) -> tuple[int, int]:
            with cancelling(state):
                return compiled.boost(thread.start, len(record), *arguments)

        # Ctrl-C may come before all threads are at work.
        with cancelling(state):
            n_done, candidates.size = self._learner.team.share(n_threads, work)[0]
        return n_done


def check_alpha(alpha: float) -> None:
    """Refuse a weight that is infinite."""
    if not isfinite(alpha):
        raise refusal("smoothing", "be > 0 where a weak ranking errs on no pair", "0")
