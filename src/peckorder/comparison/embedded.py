"""The comparison on embedded problems: repetitions with new rows, in the one engine."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import signature
from time import perf_counter
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import clone

from peckorder._core.errors import entry_named
from peckorder._core.typing import Array, Estimator
from peckorder.comparison.baselines import Constant
from peckorder.comparison.candidates import Candidate, TaskInfo
from peckorder.comparison.contest import Case, Contest, Plan, Progress, Result, Trial, run_contest
from peckorder.comparison.measures import Measure
from peckorder.comparison.problems import PROBLEMS, Problem
from peckorder.comparison.tuning import fit_model


class Comparison(NamedTuple):
    """A problem, and what its rankers achieved.

    `values` and `curves` of a result have one entry per repetition. Curves are as long
    as the longest of all: a shorter one goes on as it ends.
    """

    problem: Problem
    contest: Contest


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedCase(Case):
    """A problem as a case of a contest: its splits are repetitions with new rows."""

    problem: Problem
    measures: tuple[Measure, ...]
    candidates: tuple[Candidate, ...]
    kind: str = "embedded"
    unit: str = "repetitions"
    spread: float = 1.0

    split_option: ClassVar[str] = "repeats"
    leaves_out_failures: ClassVar[bool] = False

    @classmethod
    def of(cls, problem: Problem, rankers: Mapping[str, Estimator]) -> "EmbeddedCase":
        """Return the case of a problem, with rankers and its baseline."""
        measures = tuple(Measure(name, name.startswith("ndcg")) for name in problem.measures)
        candidates = [
            Candidate(name, partial(_prepared, ranker, problem)) for name, ranker in rankers.items()
        ]
        # Nothing is fitted for the baseline: the problem knows what it says.
        baseline = Candidate(problem.baseline, lambda info: Constant(), origin="")
        return cls(problem, measures, (*candidates, baseline))

    def plan(self, n_splits: int, seed: int) -> Plan:
        """Return the repetitions; repetition r draws with ``seed + r``."""
        return Plan(n_splits, (self._repetition(seed + r, r == 0) for r in range(n_splits)))

    def _repetition(self, seed: int, is_first: bool) -> Trial:
        problem, split = self.problem, self.problem.draw(seed)
        rows = split.X_train, split.y_train, split.qid_train

        def run(candidate: Candidate, result: Result) -> None:
            model: Any = _Same(problem.baseline_answer(split))
            seconds = np.nan
            if candidate.origin:
                model = candidate.make(TaskInfo(seed, np.shape(split.X_train)[1]))
                if is_first:
                    # The first fit of all is not timed, since it may wait for the compiler.
                    fit_model(clone(model), *rows)
                begin = perf_counter()
                fit_model(model, *rows)
                seconds = perf_counter() - begin
                curve = problem.follow(model, split)
                result.curves += [] if curve is None else [curve]
            for name, value in zip(problem.measures, problem.measure(model, split), strict=True):
                result.values[name] = np.append(result.values.get(name, []), value)
            result.seconds.append(seconds)

        return Trial(problem.name, run)


class _Same:
    """A baseline, which says the same of all rows."""

    def __init__(self, answer: Hashable) -> None:
        self._answer = answer

    def predict(self, X: Any) -> Array:
        return np.array([self._answer] * len(X))


def _prepared(ranker: Estimator, problem: Problem, info: TaskInfo) -> Estimator:
    """Clone a ranker; set what the problem asks for and the ranker leaves open."""
    parameters = signature(type(ranker)).parameters
    params = ranker.get_params(deep=False)
    wanted = {**problem.settings, "random_state": info.seed}
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
    >>> from peckorder import comparison
    >>> (square,) = comparison.run(comparison.PROBLEMS[:1], repeats=2)
    >>> square.contest.best.name
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
        _lengthen_curves(contest)
        comparisons.append(Comparison(case.problem, contest))
    return tuple(comparisons)


def _lengthen_curves(contest: Contest) -> None:
    longest = max((len(curve) for result in contest.results for curve in result.curves), default=0)
    for result in contest.results:
        result.curves = [np.pad(c, (0, longest - len(c)), "edge") for c in result.curves]
