"""Harrington (2003): settings, and all methods on one stream of instances."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike

from peckorder import AggregatePRank, PRank, WidrowHoff
from peckorder._core.typing import Floats, Ints
from peckorder.exceptions import DataError
from peckorder.experiments.framework import Data, Values
from peckorder.experiments.framework.online import rounds_shown, running_median
from peckorder.metrics import rank_loss, time_averaged_rank_loss
from peckorder.ordinal.learners.ensemble import EnsembleLearner
from peckorder.ordinal.learners.ensemble_base import Ballots

TAUS = (0.3, 0.6, 0.9)
ETAS = (0.2, 0.1, 0.05, 0.01)

LAST, AVERAGED, VOTED = "PRank", "PRank, averaged", "voted PRank"
POINT, BAGGED, VOTING = "OAP-BPM", "OAP-Bagg", "OAP-VP"
MEDIAN_OF = "OAP, median of the members"
REGRESSION = "Widrow-Hoff"
CONSTANT, RUNNING_MEDIAN = "best constant", "running median"
# Means of ranks are shown rounded and not rounded.
RAW = ", not rounded"


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes of one preset; `rounds` and `long_rounds` are of the square problem."""

    trials: int
    rounds: int
    long_rounds: int
    test_size: int
    members: int
    judged_trials: int
    movie_trials: int
    more_than: int
    synthetic: bool


@dataclass(frozen=True, slots=True)
class Form:
    """How ratings become an instance, and how Widrow-Hoff steps on such instances."""

    label: str
    centred: bool
    fit_intercept: bool
    unit_norm: bool
    step: str = "constant"

    @property
    def rows(self) -> dict[str, Any]:
        """The parameters of all estimators."""
        return {"fit_intercept": self.fit_intercept, "unit_norm": self.unit_norm}


def curve_rounds(n_rounds: int, *include: int) -> Ints:
    """Return about 40 rounds, evenly spaced on a logarithmic axis, and those given."""
    return rounds_shown(n_rounds, 40, first=10, log=True, include=include)


def named(method: str, setting: float) -> str:
    """Return the name of a method with this tau or eta."""
    return f"{method} {setting:g}"


class Race:
    """A stream of instances with ranks 1..k, and the losses of every method on it.

    The last instances are the test set. `online` has the losses after the given
    rounds, `test` those of the test; without rounds only the test is measured.
    """

    def __init__(
        self, X: Data, y: Ints, n_train: int, n_ranks: int, rounds: Ints | None = None
    ) -> None:
        self.ranks = range(1, n_ranks + 1)
        self.train_set = X[:n_train], y[:n_train]
        self.test_set = X[n_train:], y[n_train:]
        self.rounds = rounds
        self.online: dict[str, Floats] = {}
        self.test: dict[str, float] = {}

    def add(self, name: str, progressive: ArrayLike | None, tested: ArrayLike | None) -> None:
        """Add the losses of progressive and of test predictions, if there are any."""
        if progressive is not None and self.rounds is not None:
            losses = time_averaged_rank_loss(self.train_set[1], progressive)
            # Five digits are enough for a curve, and keep files short.
            self.online[name] = losses[self.rounds - 1].round(5)
        if tested is not None:
            self.test[name] = rank_loss(self.test_set[1], tested)

    def run(self, form: Form, members: int, seed: int) -> Self:
        """Train and test all methods."""
        self.add_constants()
        for name, model in single_learners(form):
            self._add_single(name, model)
        for tau in TAUS:
            self._add_ensembles(form, tau, members, seed)
        return self

    def add_constants(self) -> None:
        """Add the best constant in hindsight, and the median of the ranks so far."""
        y, y_test = self.train_set[1], self.test_set[1]
        best, best_in_test = (
            min(self.ranks, key=lambda rank: float(np.abs(labels - rank).mean()))
            for labels in (y, y_test)
        )
        last_median = int(np.quantile(y, 0.5, method="lower"))
        self.add(CONSTANT, np.full(y.size, best), [best_in_test] * y_test.size)
        medians = running_median(y, len(self.ranks))
        self.add(RUNNING_MEDIAN, medians, [last_median] * y_test.size)

    def _add_single(self, name: str, model: PRank | WidrowHoff) -> None:
        X_test, _ = self.test_set
        try:
            self.add(name, self._learn(model), model.predict(X_test))
        except DataError:
            if not name.startswith(REGRESSION):
                raise
            # It diverged: there is no loss to compare.
            self.test[name] = np.nan
            if self.rounds is not None:
                self.online[name] = np.full(self.rounds.size, np.nan)
        if isinstance(model, PRank) and name == VOTED:
            self.add(VOTED + RAW, None, model.mean_rank(X_test))

    def _learn(self, model: PRank | WidrowHoff | AggregatePRank) -> Ints | None:
        """Train; return the progressive predictions if they are to be measured."""
        if self.rounds is None:
            model.partial_fit(*self.train_set, classes=self.ranks)
            return None
        predicted: Ints = model.progressive(*self.train_set, classes=self.ranks)
        return predicted

    def _add_ensembles(self, form: Form, tau: float, members: int, seed: int) -> None:
        X_test, _ = self.test_set
        # One seed for all of them, so that their members are the same.
        settings: Values = {"tau": tau, "n_estimators": members, "random_state": seed}
        settings |= {"n_jobs": 1, **form.rows}
        point = AggregatePRank(aggregate="bayes_point", **settings)
        self.add(named(POINT, tau), self._learn(point), point.predict(X_test))
        for method, aggregate in ((BAGGED, "bagging"), (VOTING, "voted")):
            model = RecordingEnsemble(aggregate=aggregate, **settings)
            progressive, name = self._learn(model), named(method, tau)
            means = None if progressive is None else model.progressive_means()
            self.add(name + RAW, means, model.mean_rank(X_test))
            self.add(name, progressive, model.predict(X_test))
        median = AggregatePRank(aggregate="median", **settings)
        median.partial_fit(*self.train_set, classes=self.ranks)
        self.add(named(MEDIAN_OF, tau), None, median.predict(X_test))


def single_learners(form: Form) -> Iterator[tuple[str, PRank | WidrowHoff]]:
    """Yield the methods with one rule, by name."""
    for name, rule in ((LAST, "last"), (AVERAGED, "averaged"), (VOTED, "voted")):
        yield name, PRank(rule=rule, **form.rows)
    for eta in ETAS:
        yield named(REGRESSION, eta), WidrowHoff(eta=eta, step=form.step, **form.rows)


@dataclass(kw_only=True)
class _RecordingLearner(EnsembleLearner):
    """An ensemble that records the mean ranks by which it decides, not rounded."""

    recorded: list[Floats]

    def decide(self, ballots: Ballots) -> Ints:
        """Turn votes into levels, and record their means."""
        self.recorded.append(self.mean_by_votes(ballots))
        return super().decide(ballots)


class RecordingEnsemble(AggregatePRank):
    """An ensemble that records its members' votes on rows before learning them.

    The paper's losses are of mean ranks that are not rounded, `progressive` rounds.
    """

    _learner: _RecordingLearner

    def _new_learner(
        self, n_features: int, n_levels: int, rng: RandomState, **start: ArrayLike | None
    ) -> _RecordingLearner:
        learner = super()._new_learner(n_features, n_levels, rng, **start)
        values = {f.name: getattr(learner, f.name) for f in fields(learner)}
        return _RecordingLearner(**values, recorded=[])

    def progressive_means(self) -> Floats:
        """Return the mean rank, from 1 on, of each row before it was learned.

        To be called after `progressive`, before any other prediction.
        """
        return np.concatenate(self._learner.recorded)
