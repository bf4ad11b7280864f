"""Harrington (2003): settings, all methods on one stream, and how they compare."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TypeAlias

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike

from peckorder import AggregatePRank, PRank, WidrowHoff
from peckorder._core.typing import Floats, Ints
from peckorder.exceptions import DataError
from peckorder.experiments.framework.experiment import Data, Units, Values
from peckorder.experiments.framework.online import rounds_shown, running_median
from peckorder.experiments.framework.statistics import (
    column,
    difference_text,
    lower_than_all,
    mean_curve,
    mean_text,
    side,
)
from peckorder.metrics import rank_loss, time_averaged_rank_loss
from peckorder.ordinal.learners.base import nearest_level
from peckorder.ordinal.learners.ensemble import EnsembleLearner
from peckorder.ordinal.learners.ensemble_base import Ballots
from peckorder.reports import Chart, Curve, Table

TAUS = (0.3, 0.6, 0.9)
ETAS = (0.2, 0.1, 0.05, 0.01)

LAST, AVERAGED, VOTED = "PRank", "PRank, averaged", "voted PRank"
POINT, BAGGED, VOTING = "OAP-BPM", "OAP-Bagg", "OAP-VP"
MEDIAN_OF = "OAP, median of the members"
REGRESSION = "Widrow-Hoff"
CONSTANT, RUNNING_MEDIAN = "best constant", "running median"
RAW = ", not rounded"
# The methods with a tau; means of ranks are shown rounded and not rounded.
WITH_TAU = (POINT, BAGGED + RAW, BAGGED, VOTING + RAW, VOTING, MEDIAN_OF)
# The methods of Figures 2 and 3.
FIGURE = (LAST, REGRESSION, POINT, BAGGED, VOTING)
# Suffixes of names, and how the texts call these readings of the paper.
READINGS = ((RAW, "Means not rounded, as printed"), ("", "Means rounded"))
OnlineRanker = PRank | WidrowHoff | AggregatePRank
Losses: TypeAlias = Mapping[str, Floats]


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
    synthetic: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """How ratings become an instance, and how Widrow-Hoff steps on such instances."""

    label: str
    centred: bool
    fit_intercept: bool
    unit_norm: bool
    step: str = "constant"

    @property
    def rows(self) -> dict[str, bool]:
        """The parameters of all estimators."""
        return {"fit_intercept": self.fit_intercept, "unit_norm": self.unit_norm}


class Task:
    """A stream of instances with ranks 1..k, the last of which are the test set."""

    def __init__(self, X: Data, y: Ints, n_train: int, n_ranks: int) -> None:
        self.n_ranks = n_ranks
        self.ranks = range(1, n_ranks + 1)
        self.train = X[:n_train], y[:n_train]
        self.test = X[n_train:], y[n_train:]


@dataclass
class Race:
    """The losses of every method: on-line after the given rounds, and in the test."""

    task: Task
    rounds: Ints
    online: dict[str, Floats] = field(default_factory=dict)
    test: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, progressive: ArrayLike | None, tested: ArrayLike | None) -> None:
        """Add the losses of progressive and of test predictions, if there are any."""
        if progressive is not None:
            losses = time_averaged_rank_loss(self.task.train[1], progressive)
            # Five digits are enough for a curve, and keep files short.
            self.online[name] = losses[self.rounds - 1].round(5)
        if tested is not None:
            self.test[name] = rank_loss(self.task.test[1], tested)


def curve_rounds(n_rounds: int, *include: int) -> Ints:
    """Return about 40 rounds, evenly spaced on a logarithmic axis, and those given."""
    return rounds_shown(n_rounds, 40, first=10, log=True, include=include)


def named(method: str, setting: float) -> str:
    """Return the name of a method with this tau or eta."""
    return f"{method} {setting:g}"


def race(task: Task, form: Form, rounds: Ints, members: int, seed: int, *, online: bool) -> Race:
    """Train all methods on a task; without `online` only the test is measured."""
    result = Race(task, rounds)
    add_constants(result, online=online)
    for name, model in single_learners(form):
        _add_single(result, name, model, online=online)
    for tau in TAUS:
        _add_ensembles(result, form, tau, members, seed, online=online)
    return result


def add_constants(result: Race, *, online: bool) -> None:
    """Add the best constant in hindsight, and the median of the ranks so far."""
    task = result.task
    y, y_test = task.train[1], task.test[1]
    median = running_median(y, task.n_ranks)
    last_median = int(np.quantile(y, 0.5, method="lower"))
    best, best_in_test = (
        min(task.ranks, key=lambda rank: float(np.abs(labels - rank).mean()))
        for labels in (y, y_test)
    )
    constant = np.full(y.size, best)
    n = y_test.size
    result.add(CONSTANT, constant if online else None, [best_in_test] * n)
    result.add(RUNNING_MEDIAN, median if online else None, [last_median] * n)


def single_learners(form: Form) -> Iterator[tuple[str, PRank | WidrowHoff]]:
    """Yield the methods with one rule, by name."""
    yield LAST, PRank(rule="last", **form.rows)
    yield AVERAGED, PRank(rule="averaged", **form.rows)
    yield VOTED, PRank(rule="voted", **form.rows)
    for eta in ETAS:
        yield named(REGRESSION, eta), WidrowHoff(eta=eta, step=form.step, **form.rows)


def _add_single(result: Race, name: str, model: PRank | WidrowHoff, *, online: bool) -> None:
    X_test, _ = result.task.test
    try:
        progressive = _learn(model, result.task, online=online)
    except DataError:
        if not name.startswith(REGRESSION):
            raise
        # It diverged: there is no loss to compare.
        result.test[name] = np.nan
        if online:
            result.online[name] = np.full(result.rounds.size, np.nan)
        return
    if isinstance(model, PRank) and name == VOTED:
        mean = model.mean_rank(X_test)
        result.add(VOTED, progressive, _rounded(mean, result.task))
        result.add(VOTED + RAW, None, mean)
    else:
        result.add(name, progressive, model.predict(X_test))


def _learn(model: OnlineRanker, task: Task, *, online: bool) -> ArrayLike | None:
    if online:
        predicted: Ints = model.progressive(*task.train, classes=task.ranks)
        return predicted
    model.partial_fit(*task.train, classes=task.ranks)
    return None


def _rounded(mean: Floats, task: Task) -> Ints:
    return nearest_level(mean, task.n_ranks) + 1


def _add_ensembles(
    result: Race, form: Form, tau: float, members: int, seed: int, *, online: bool
) -> None:
    task = result.task
    X_test, _ = task.test
    # One seed for all of them, so that their members are the same.
    settings: Values = {"tau": tau, "n_estimators": members, "random_state": seed}
    settings |= {"n_jobs": 1, **form.rows}
    point = AggregatePRank(aggregate="bayes_point", **settings)
    progressive = _learn(point, task, online=online)
    result.add(named(POINT, tau), progressive, point.predict(X_test))

    voting = RecordingEnsemble(aggregate="voted", **settings)
    _learn(voting, task, online=online)
    bagged = AggregatePRank(aggregate="bagging", **settings)
    _learn(bagged, task, online=False)
    votes = voting.progressive_votes() if online else (None, None)
    for name, box, model in zip((BAGGED, VOTING), votes, (bagged, voting), strict=True):
        before = None if box is None else mean_rank(box)
        after = model.mean_rank(X_test)
        result.add(named(name, tau) + RAW, before, after)
        rounded = None if before is None else _rounded(before, task)
        result.add(named(name, tau), rounded, _rounded(after, task))

    median = AggregatePRank(aggregate="median", **settings)
    _learn(median, task, online=False)
    result.add(named(MEDIAN_OF, tau), None, median.predict(X_test))


@dataclass(kw_only=True)
class _RecordingLearner(EnsembleLearner):
    """An ensemble that records the votes of its decisions."""

    recorded: list[Ballots]

    def decide(self, ballots: Ballots) -> Ints:
        """Turn votes into levels, and record them."""
        self.recorded.append(ballots)
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

    def progressive_votes(self) -> tuple[Ints, Ints]:
        """Return votes (n_rounds, n_ranks): one per member, one per correct row.

        To be called after `progressive`, before any other prediction. While no member
        has a correct row, every member has one vote of the second kind as well.
        """
        recorded = self._learner.recorded
        one_each = np.concatenate([ballots.one_each for ballots in recorded])
        by_right = np.concatenate([ballots.by_right for ballots in recorded])
        is_empty = by_right.sum(axis=1, keepdims=True) == 0
        return one_each, np.where(is_empty, one_each, by_right)


def mean_rank(votes: Ints) -> Floats:
    """Return the mean rank, from 1 on, of each row's votes."""
    ranks = np.arange(1, votes.shape[1] + 1)
    return np.asarray(votes @ ranks / votes.sum(axis=1))


def with_tau(method: str, tau: float) -> str:
    """Return the name of a method of `WITH_TAU` with this tau."""
    stem = method.removesuffix(RAW)
    return named(stem, tau) + method[len(stem) :]


def losses_of(units: Units, *keys: str) -> dict[str, Floats]:
    """Return the losses under `keys`, one per repetition, of every method."""
    values = units[0]
    for key in keys:
        values = values[key]
    return {name: column(units, *keys, name) for name in values}


def losses_at(units: Units, position: int, *keys: str) -> dict[str, Floats]:
    """Return every method's on-line losses at one position of the curves."""
    curves_of = losses_of(units, "online", *keys)
    return {name: losses[:, position] for name, losses in curves_of.items()}


def best(losses: Losses, method: str) -> str:
    """Return the name of a method with its best tau or eta, in hindsight."""
    if method == REGRESSION:
        names = [named(method, eta) for eta in ETAS]
    elif method in WITH_TAU:
        names = [with_tau(method, tau) for tau in TAUS]
    else:
        return method
    finite = [name for name in names if np.isfinite(losses[name]).all()]
    return min(finite, key=lambda name: float(losses[name].mean()))


def compare(losses: Losses, name: str, rivals: Sequence[str]) -> tuple[int, str]:
    """Return the side of `name` against all its rivals, and the differences as text.

    1 if its loss is lower than all of theirs, -1 if higher than one of theirs, else 0.
    """
    gaps = {rival: losses[name] - losses[rival] for rival in rivals}
    sides = {rival: side(gap) for rival, gap in gaps.items()}

    def text_of(rival: str) -> str:
        return f"{rival} ({difference_text(gaps[rival])})"

    texts = []
    if lower := [rival for rival in rivals if sides[rival] < 0]:
        nearest = text_of(max(lower, key=lambda rival: float(gaps[rival].mean())))
        texts.append(f"lower than {len(lower)} of {len(gaps)}, the nearest {nearest}")
    for relation, sign in (("level with", 0), ("higher than", 1)):
        if others := [text_of(rival) for rival in rivals if sides[rival] == sign]:
            texts.append(f"{relation} {', '.join(others)}")
    text = f"{name} at {losses[name].mean():.3f} is {'; '.join(texts)}"
    return lower_than_all(losses[name], [losses[rival] for rival in rivals]), text


def difference_table(losses: Losses, rivals: Sequence[str], caption: str) -> Table:
    """Return paired differences between OAP-BPM and others, one column per tau."""
    rows = []
    for rival in rivals:
        cells = []
        for tau in TAUS:
            theirs = with_tau(rival, tau) if rival in WITH_TAU else rival
            cells.append(difference_text(losses[named(POINT, tau)] - losses[theirs]))
        rows.append((f"{POINT} minus {rival}", *cells))
    headings = ("difference", *(f"tau = {tau}" for tau in TAUS))
    caption += " Below zero OAP-BPM is better."
    return Table(headings, tuple(rows), caption)


def tau_table(losses: Losses, methods: Sequence[str], caption: str) -> Table:
    """Return the paper's table: one row per method, one column per tau."""
    rows = [
        (method, *(mean_text(losses[with_tau(method, tau)]) for tau in TAUS)) for method in methods
    ]
    rows += [(name, *[mean_text(losses[name])] * len(TAUS)) for name in (CONSTANT, RUNNING_MEDIAN)]
    caption += " The best constant, in hindsight, and the running median have no tau."
    return Table(("method", *(f"tau = {tau}" for tau in TAUS)), tuple(rows), caption)


def curves(units: Units, rounds: Ints, names: Iterable[str], *keys: str) -> tuple[Curve, ...]:
    """Return the mean on-line curves of some methods, with their intervals."""
    return tuple(mean_curve(name, rounds, column(units, "online", *keys, name)) for name in names)


def tau_charts(units: Units, rounds: Ints, caption: str, *keys: str) -> tuple[Chart, ...]:
    """Return one chart per ensemble, with all its taus."""
    return tuple(
        Chart(
            f"{method}: every tau",
            "rounds",
            "mean rank loss so far",
            curves(units, rounds, [with_tau(method, tau) for tau in TAUS], *keys),
            caption,
            log_x=True,
        )
        for method in (POINT, BAGGED, VOTING)
    )


def spread_interval(fewer: Floats, more: Floats) -> tuple[float, float]:
    """Return a 95 % interval of sd(more) - sd(fewer), of paired values.

    By 2000 resamples of the pairs, from a fixed seed.
    """
    n = len(fewer)
    drawn = np.random.default_rng(0).integers(n, size=(2000, n))
    gaps = more[drawn].std(axis=1, ddof=1) - fewer[drawn].std(axis=1, ddof=1)
    low, high = np.quantile(gaps, [0.025, 0.975])
    return float(low), float(high)
