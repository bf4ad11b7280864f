"""The comparison on embedded problems: repetitions with new rows, in the one engine."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from inspect import signature
from time import perf_counter
from typing import ClassVar

import numpy as np
from sklearn.base import clone

from peckorder._core.errors import entry_named
from peckorder._core.typing import Estimator, Floats
from peckorder.compare.candidates import Candidate, Constant, TaskInfo
from peckorder.compare.contest import Case, Contest, Plan, Progress, Result, run_contest
from peckorder.compare.measures import Measure
from peckorder.compare.problems import PROBLEMS, Problem, Split
from peckorder.compare.tuning import fit_model


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What one ranker achieved on one problem, repetition by repetition.

    `measured` (repetitions, measures) is on test rows, the loss that decides first;
    `seconds` are those of `fit`; `curves` (repetitions, points) are how the loss fell,
    None for rankers that have no such curve.
    """

    ranker: str
    measured: Floats
    seconds: Floats
    curves: Floats | None = None

    @property
    def losses(self) -> Floats:
        """The loss of each repetition."""
        return self.measured[:, 0]

    @property
    def loss(self) -> float:
        """The mean loss."""
        return float(self.losses.mean())


@dataclass(frozen=True, slots=True)
class Comparison:
    """All outcomes on one problem, the best first."""

    problem: Problem
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedCase(Case):
    """A problem as a case of a contest: its splits are repetitions with new rows."""

    problem: Problem
    measures: tuple[Measure, ...]
    candidates: tuple[Candidate, ...]
    unit: str = "repetitions"
    spread: float = 1.0

    split_option: ClassVar[str] = "repeats"
    leaves_out_failures: ClassVar[bool] = False

    @classmethod
    def of(cls, problem: Problem, rankers: Mapping[str, Estimator]) -> "EmbeddedCase":
        """Return the case of a problem, with rankers and its baseline."""

        def candidate(name: str, ranker: Estimator) -> Candidate:
            return Candidate(name, lambda info: _prepared(ranker, problem, info.seed))

        measures = (Measure(name, name.startswith("ndcg")) for name in problem.measures)
        # Nothing is fitted for the baseline: the problem measures it.
        baseline = Candidate(problem.ignorant, lambda info: Constant(), origin="")
        candidates = (candidate(*item) for item in rankers.items())
        return cls(problem, tuple(measures), (*candidates, baseline))

    def plan(self, n_splits: int, seed: int) -> Plan:
        """Return the repetitions; repetition r draws with ``seed + r``."""
        trials = (
            Repetition(self.problem, self.problem.draw(seed + r), seed + r, r == 0)
            for r in range(n_splits)
        )
        return Plan(n_splits, trials)


@dataclass(frozen=True, slots=True, eq=False)
class Repetition:
    """One drawing of a problem."""

    problem: Problem
    split: Split
    seed: int
    is_first: bool

    @property
    def name(self) -> str:
        """The name of the problem."""
        return self.problem.name

    def run(self, candidate: Candidate, result: Result) -> None:
        """Fit, measure and follow one ranker."""
        problem, split = self.problem, self.split
        if not candidate.origin:
            self._add(result, problem.measure_ignorant(split), np.nan, None)
            return
        model = candidate.make(TaskInfo(self.seed, np.shape(split.X_train)[1]))
        rows = split.X_train, split.y_train, split.qid_train
        if self.is_first:
            # The first fit of all is not timed, since it may wait for the compiler.
            fit_model(clone(model), *rows)
        begin = perf_counter()
        fit_model(model, *rows)
        seconds = perf_counter() - begin
        curve = problem.follow(model, split)
        self._add(result, problem.measure(model, split), seconds, curve)

    def _add(
        self, result: Result, measured: tuple[float, ...], seconds: float, curve: Floats | None
    ) -> None:
        for name, value in zip(self.problem.measures, measured, strict=True):
            result.values[name] = np.append(result.values.get(name, []), value)
        result.seconds.append(seconds)
        if curve is not None:
            result.curves.append(curve)


def _prepared(ranker: Estimator, problem: Problem, seed: int) -> Estimator:
    """Clone a ranker; set what the problem asks for and the ranker leaves open."""
    parameters = signature(type(ranker)).parameters
    params = ranker.get_params(deep=False)
    wanted = {**problem.settings, "random_state": seed}
    at_default = {
        name: value
        for name, value in wanted.items()
        if name in params and params[name] == parameters[name].default
    }
    prepared: Estimator = clone(ranker).set_params(**at_default)
    return prepared


@entry_named("compare")
def run(
    problems: Iterable[Problem] = PROBLEMS,
    rankers: Mapping[str, Estimator] | None = None,
    *,
    repeats: int = 20,
    seed: int = 0,
    on_progress: Progress | None = None,
) -> tuple[Comparison, ...]:
    """Train every ranker on every problem, `repeats` times.

    All rankers see the same rows in the same order. A baseline, such as the median
    class of the training rows or a random order, takes part.

    Parameters
    ----------
    problems : iterable of Problem, default=PROBLEMS
        What to learn.
    rankers : mapping of str to estimator, default=None
        What learns it; the estimators are cloned. `fit` gets the queries, where there
        are any, if it has a parameter `qid`. None: for each problem those of its kind,
        such as `ORDINAL_RANKERS`.
    repeats : int, default=20
        Repetitions, each with new rows; at least two, for an interval.
    seed : int, default=0
        Repetition r draws with ``seed + r``.
    on_progress : callable, default=None
        Called with (steps done, steps in all, what comes next).

    Returns
    -------
    comparisons : tuple of Comparison
        One per problem.

    Examples
    --------
    >>> from peckorder import compare
    >>> (square,) = compare.run(compare.PROBLEMS[:1], repeats=2)
    >>> square.outcomes[0].ranker
    'PRank, averaged'
    """
    cases = [
        EmbeddedCase.of(problem, problem.rankers if rankers is None else rankers)
        for problem in problems
    ]
    n_steps = [repeats * (len(case.candidates) - 1) for case in cases]
    comparisons = []
    for k, case in enumerate(cases):

        def report_progress(
            done: int, total: int, label: str, before: int = sum(n_steps[:k])
        ) -> None:
            if on_progress is not None:
                on_progress(before + done, sum(n_steps), label)

        contest = run_contest(case, n_splits=repeats, seed=seed, on_progress=report_progress)
        comparisons.append(Comparison(case.problem, _outcomes(contest)))
    return tuple(comparisons)


def _outcomes(contest: Contest) -> tuple[Outcome, ...]:
    """Return the results of one problem; a shorter curve goes on as it ends."""
    curves = [curve for result in contest.results for curve in result.curves]
    longest = max(map(len, curves), default=0)
    outcomes = []
    for result in contest.results:
        padded = [np.pad(c, (0, longest - len(c)), "edge") for c in result.curves]
        measured = [result.values[measure.name] for measure in contest.measures]
        outcomes.append(
            Outcome(
                result.name,
                np.stack(measured, axis=1),
                np.array(result.seconds),
                np.array(padded) if len(padded) == contest.n_splits else None,
            )
        )
    return tuple(outcomes)
