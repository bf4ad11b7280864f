"""Harrington (2003): all methods on one stream, on-line and on what follows it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.random import RandomState

from peckorder import AggregatePRank, PRank, WidrowHoff
from peckorder._core.typing import Floats, Ints
from peckorder.exceptions import DataError
from peckorder.experiments.framework.experiment import Units
from peckorder.experiments.framework.online import (
    rounds_shown,
    running_median,
)
from peckorder.experiments.framework.statistics import (
    column,
    difference_text,
    lower_than_all,
    mean_curve,
    mean_text,
    side,
)
from peckorder.metrics import rank_loss, time_averaged_rank_loss
from peckorder.ordinal.learners.base import Learner, nearest_level
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


@dataclass(frozen=True, slots=True)
class Config:
    """How much is run.

    `rounds` and `long_rounds` are of the square problem; `made` puts made ratings in
    the place of real ones.
    """

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
        """What every estimator is told."""
        return {"fit_intercept": self.fit_intercept, "unit_norm": self.unit_norm}


class Task:
    """A stream of instances with ranks 1..k; the last are for the test alone."""

    def __init__(self, X: Any, y: Ints, n_learnt: int, n_ranks: int) -> None:
        self.n_ranks = n_ranks
        self.ranks = range(1, n_ranks + 1)
        self.learnt = X[:n_learnt], y[:n_learnt]
        self.kept = X[n_learnt:], y[n_learnt:]


@dataclass
class Race:
    """What each method lost: on-line after so many rounds, and in the test."""

    task: Task
    rounds: Ints
    online: dict[str, Floats] = field(default_factory=dict)
    test: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, told: Any, asked: Any) -> None:
        """Take what was said of rows before they were learnt, and of the test.

        None is for what was not asked.
        """
        if told is not None:
            losses = time_averaged_rank_loss(self.task.learnt[1], told)
            # More digits than this are of no use to a curve, and make long files.
            self.online[name] = losses[self.rounds - 1].round(5)
        if asked is not None:
            self.test[name] = rank_loss(self.task.kept[1], asked)


def places_on_the_way(n_rounds: int, *include: int) -> Ints:
    """Return about 40 rounds, evenly spaced on a logarithmic axis, and those wanted."""
    return rounds_shown(n_rounds, 40, first=10, log=True, include=include)


def named(method: str, setting: float) -> str:
    """Return what a method is called with this tau or eta."""
    return f"{method} {setting:g}"


def race(
    task: Task, form: Form, rounds: Ints, members: int, seed: int, *, online: bool
) -> Race:
    """Let all methods learn a task; without `online` only the test is of interest."""
    found = Race(task, rounds)
    add_constants(found, online=online)
    for name, model in single_learners(form):
        _add_single(found, name, model, online=online)
    for tau in TAUS:
        settings = {
            **form.rows,
            "n_estimators": members,
            "tau": tau,
            "n_jobs": 1,
            "random_state": seed,  # for all the same: the members are the same
        }
        _add_ensembles(found, tau, settings, online=online)
    return found


def add_constants(found: Race, *, online: bool) -> None:
    """Add the best constant in hindsight, and the median of what has been seen."""
    task = found.task
    _, y = task.learnt
    _, y_test = task.kept
    told = running_median(y, task.n_ranks)
    at_last = int(np.quantile(y, 0.5, method="lower"))
    fixed, fixed_test = _best_constant(y, task), _best_constant(y_test, task)
    found.add(
        CONSTANT, np.full(y.size, fixed) if online else None, [fixed_test] * y_test.size
    )
    found.add(RUNNING_MEDIAN, told if online else None, [at_last] * y_test.size)


def _best_constant(y: Ints, task: Task) -> int:
    return min(task.ranks, key=lambda rank: float(np.abs(y - rank).mean()))


def single_learners(form: Form) -> Iterator[tuple[str, Any]]:
    """Yield the methods with one rule, by name."""
    yield LAST, PRank(rule="last", **form.rows)
    yield AVERAGED, PRank(rule="averaged", **form.rows)
    yield VOTED, PRank(rule="voted", **form.rows)
    for eta in ETAS:
        yield named(REGRESSION, eta), WidrowHoff(eta=eta, step=form.step, **form.rows)


def _add_single(found: Race, name: str, model: Any, *, online: bool) -> None:
    X_test, _ = found.task.kept
    try:
        told = _learn(model, found.task, online=online)
    except DataError:
        if not name.startswith(REGRESSION):
            raise
        # It diverged, so that it has no loss, and nothing is said of one.
        found.test[name] = np.nan
        if online:
            found.online[name] = np.full(found.rounds.size, np.nan)
        return
    if name != VOTED:
        found.add(name, told, model.predict(X_test))
        return
    mean = model.mean_rank(X_test)
    found.add(VOTED, told, _rounded(mean, found.task))
    found.add(VOTED + RAW, None, mean)


def _learn(model: Any, task: Task, *, online: bool) -> Any:
    if online:
        return model.progressive(*task.learnt, classes=task.ranks)
    model.partial_fit(*task.learnt, classes=task.ranks)
    return None


def _rounded(mean: Floats, task: Task) -> Ints:
    return nearest_level(mean, task.n_ranks) + 1


def _add_ensembles(
    found: Race, tau: float, settings: dict[str, Any], *, online: bool
) -> None:
    task = found.task
    X_test, _ = task.kept
    point = AggregatePRank(aggregate="bayes_point", **settings)
    told = _learn(point, task, online=online)
    found.add(named(POINT, tau), told, point.predict(X_test))

    voting = VotesKept(aggregate="voted", **settings)
    _learn(voting, task, online=online)
    bagged = AggregatePRank(aggregate="bagging", **settings)
    _learn(bagged, task, online=False)
    votes = voting.votes_on_the_way() if online else (None, None)
    for name, box, model in zip((BAGGED, VOTING), votes, (bagged, voting), strict=True):
        before = None if box is None else mean_rank(box)
        after = model.mean_rank(X_test)
        found.add(named(name, tau) + RAW, before, after)
        whole = None if before is None else _rounded(before, task)
        found.add(named(name, tau), whole, _rounded(after, task))

    median = AggregatePRank(aggregate="median", **settings)
    _learn(median, task, online=False)
    found.add(named(MEDIAN_OF, tau), None, median.predict(X_test))


@dataclass(kw_only=True)
class _Keeping(EnsembleLearner):
    """An ensemble that keeps the votes by which it decided."""

    kept: list[Ballots]

    def decide(self, ballots: Ballots) -> Ints:
        """Turn votes into levels, and keep them."""
        self.kept.append(ballots)
        return super().decide(ballots)


class VotesKept(AggregatePRank):
    """An ensemble that tells how its members voted on rows before learning them.

    The paper's losses are of mean ranks that are not rounded, `progressive` rounds.
    """

    def _new_learner(
        self, n_features: int, n_levels: int, rng: RandomState, **start: Any
    ) -> Learner:
        learner = super()._new_learner(n_features, n_levels, rng, **start)
        parts = {field.name: getattr(learner, field.name) for field in fields(learner)}  # type: ignore[arg-type]
        return _Keeping(**parts, kept=[])

    def votes_on_the_way(self) -> tuple[Ints, Ints]:
        """Return the votes (n_rounds, n_ranks), one each and one a row had right.

        To be asked after `progressive`, before anything else is predicted. While no
        member has a row right, each has one vote of the second kind as well.
        """
        kept = self._learner.kept
        one_each = np.concatenate([ballots.one_each for ballots in kept])
        by_right = np.concatenate([ballots.by_right for ballots in kept])
        nobody = by_right.sum(axis=1, keepdims=True) == 0
        return one_each, np.where(nobody, one_each, by_right)


def mean_rank(votes: Ints) -> Floats:
    """Return the mean rank, from 1 on, of each row's votes."""
    ranks = np.arange(1, votes.shape[1] + 1)
    return np.asarray(votes @ ranks / votes.sum(axis=1))


# What is added to names, and what is said of it.
READINGS = ((RAW, "Means not rounded, as printed"), ("", "Means rounded"))
# Names of the methods that have a tau, with what is not rounded beside what is.
WITH_TAU = (POINT, BAGGED + RAW, BAGGED, VOTING + RAW, VOTING, MEDIAN_OF)


def with_tau(method: str, tau: float) -> str:
    """Return what a method of `WITH_TAU` is called with this tau."""
    stem = method.removesuffix(RAW)
    return named(stem, tau) + method[len(stem) :]


def losses_of(units: Units, *keys: str) -> dict[str, Floats]:
    """Return the losses under `keys`, one a repetition, of every method."""
    first: Any = units[0]
    for key in keys:
        first = first[key]
    return {name: column(units, *keys, name) for name in first}


def lowest(losses: Mapping[str, Floats], names: Iterable[str]) -> str:
    """Return which of `names` has the lowest mean; one with a gap is passed over."""
    kept = [name for name in names if np.isfinite(losses[name]).all()]
    return min(kept, key=lambda name: float(losses[name].mean()))


def best(losses: Mapping[str, Floats], method: str) -> str:
    """Return the name of a method with its best tau or eta, in hindsight."""
    if method == REGRESSION:
        return lowest(losses, [named(method, eta) for eta in ETAS])
    if method in WITH_TAU:
        return lowest(losses, [with_tau(method, tau) for tau in TAUS])
    return method


def compare(
    losses: Mapping[str, Floats], name: str, rivals: Sequence[str]
) -> tuple[int, str]:
    """Return the side of `name` against all its rivals, and say by how much.

    1 if it loses less than all of them for sure, -1 if more than one of them, else 0.
    """
    gaps = {rival: losses[name] - losses[rival] for rival in rivals}
    sides = {rival: side(gap) for rival, gap in gaps.items()}

    def told(rival: str) -> str:
        return f"{rival} ({difference_text(gaps[rival])})"

    found = []
    if lower := [rival for rival in rivals if sides[rival] < 0]:
        nearest = told(max(lower, key=lambda rival: float(gaps[rival].mean())))
        found.append(f"lower than {len(lower)} of {len(gaps)}, the nearest {nearest}")
    for how, sign in (("level with", 0), ("higher than", 1)):
        if those := [told(rival) for rival in rivals if sides[rival] == sign]:
            found.append(f"{how} {', '.join(those)}")
    text = f"{name} at {losses[name].mean():.3f} is {'; '.join(found)}"
    return lower_than_all(losses[name], [losses[rival] for rival in rivals]), text


def difference_table(
    losses: Mapping[str, Floats], name: str, rivals: Sequence[str], caption: str
) -> Table:
    """Return paired differences between a method and others, a column a tau.

    A rival without a tau has all its differences in one row as well.
    """
    rows = []
    for rival in rivals:
        cells = []
        for tau in TAUS:
            theirs = with_tau(rival, tau) if rival in WITH_TAU else rival
            cells.append(difference_text(losses[named(name, tau)] - losses[theirs]))
        rows.append((f"{name} less {rival}", *cells))
    return Table(
        ("difference", *(f"tau = {tau}" for tau in TAUS)), tuple(rows), caption
    )


def tau_table(losses: Mapping[str, Floats], methods: Sequence[str], note: str) -> Table:
    """Return the paper's table: a row a method, a column a tau, and what has none."""
    rows = [
        (method, *(mean_text(losses[with_tau(method, tau)]) for tau in TAUS))
        for method in methods
    ]
    rows += [
        (name, *[mean_text(losses[name])] * len(TAUS))
        for name in (CONSTANT, RUNNING_MEDIAN)
    ]
    note += " The best constant, in hindsight, and the running median have no tau."
    return Table(("method", *(f"tau = {tau}" for tau in TAUS)), tuple(rows), note)


def curves(
    units: Units, rounds: Ints, names: Iterable[str], *keys: str
) -> tuple[Curve, ...]:
    """Return the mean on-line curves of some methods, with their intervals."""
    return tuple(
        mean_curve(name, rounds, column(units, "online", *keys, name)) for name in names
    )


def tau_charts(
    units: Units, rounds: Ints, caption: str, *keys: str
) -> tuple[Chart, ...]:
    """Return a chart for each ensemble, of all its taus."""
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


def after(units: Units, place: int, *keys: str) -> dict[str, Floats]:
    """Return every method's on-line losses at one place of the curves."""
    found = losses_of(units, "online", *keys)
    return {name: losses[:, place] for name, losses in found.items()}


def spread_interval(fewer: Floats, more: Floats) -> tuple[float, float]:
    """Return a 95 % interval of sd(more) - sd(fewer), of paired values.

    By 2000 resamples of the pairs, from a fixed seed.
    """
    n = len(fewer)
    drawn = np.random.default_rng(0).integers(n, size=(2000, n))
    gaps = more[drawn].std(axis=1, ddof=1) - fewer[drawn].std(axis=1, ddof=1)
    low, high = np.quantile(gaps, [0.025, 0.975])
    return float(low), float(high)
