"""The comparison itself."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from inspect import signature
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from peckorder._core.typing import Floats
from peckorder._core.validation import Rule, whole
from peckorder.compare.embedded.problem import Problem, Split
from peckorder.compare.embedded.problems import PROBLEMS

# NumPy's generators take no larger seed, and every repetition adds one.
SEED = Rule(
    "an integer from 0 to 2**31",
    lambda value: whole(0).accepts(value) and value <= 2**31,
)


class Trial(NamedTuple):
    """How one ranker fared in one repetition."""

    measured: tuple[float, ...]
    seconds: float = np.nan
    curve: Floats | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """How one ranker fared on one problem, repetition by repetition.

    `measured` (repetitions, measures) is on test rows, the loss that decides first;
    `seconds` are those of `fit`; `curves` (repetitions, points) say how the loss fell,
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


def run(
    problems: Iterable[Problem] = PROBLEMS,
    rankers: Mapping[str, Any] | None = None,
    *,
    repeats: int = 20,
    seed: int = 0,
    on_progress: Callable[[int, int, str], None] | None = None,
) -> tuple[Comparison, ...]:
    """Train every ranker on every problem, `repeats` times.

    All rankers see the same rows in the same order. What knows nothing, such as the
    median class of the training rows or a random order, stands beside them.

    Parameters
    ----------
    problems : iterable of Problem, default=PROBLEMS
        What to learn.
    rankers : mapping of str to estimator, default=None
        What learns it; the estimators are cloned. `fit` is given the queries, where
        there are any, if it has a parameter `qid`. None: for each problem those of its
        kind, such as `ORDINAL_RANKERS`.
    repeats : int, default=20
        Repetitions, each with rows of its own; at least two, for an interval.
    seed : int, default=0
        Repetition r draws with ``seed + r``.
    on_progress : callable, default=None
        Called with (steps done, steps in all, what comes next).

    Returns
    -------
    comparisons : tuple of Comparison
        One a problem.

    Examples
    --------
    >>> from peckorder import compare
    >>> (square,) = compare.run(compare.PROBLEMS[:1], repeats=2)
    >>> square.outcomes[0].ranker
    'PRank, averaged'
    """
    whole(2).check("compare", "repeats", repeats)
    SEED.check("compare", "seed", seed)
    chosen = [
        (problem, problem.rankers if rankers is None else rankers)
        for problem in problems
    ]
    total, done = repeats * sum(len(compared) for _, compared in chosen), 0
    tell = on_progress or (lambda done, total, label: None)
    comparisons = []
    for problem, compared in chosen:
        trials = defaultdict(list)
        for repetition in range(repeats):
            split = problem.draw(seed + repetition)
            for name, ranker in compared.items():
                tell(done, total, f"{problem.name}: {name}")
                model = _prepared(ranker, problem, seed + repetition)
                is_first = repetition == 0
                trials[name].append(_try(model, problem, split, is_first=is_first))
                done += 1
            trials[problem.ignorant].append(Trial(problem.measure_ignorant(split)))
        comparisons.append(Comparison(problem, _collect(trials)))
    tell(total, total, "done")
    return tuple(comparisons)


def _prepared(ranker: Any, problem: Problem, seed: int) -> Any:
    """Clone a ranker and set what the problem asks for and the ranker leaves open."""
    default, own = signature(type(ranker)).parameters, ranker.get_params(deep=False)
    wanted = {**problem.settings, "random_state": seed}
    open_ones = {
        name: value
        for name, value in wanted.items()
        if name in own and own[name] == default[name].default
    }
    return clone(ranker).set_params(**open_ones)


def _try(model: Any, problem: Problem, split: Split, *, is_first: bool) -> Trial:
    """Fit, measure and follow one ranker in one repetition.

    The first fit of all is not timed, since it may wait for the compiler.
    """
    takes_queries = split.qid_train is not None and has_fit_parameter(model, "qid")
    more = {"qid": split.qid_train} if takes_queries else {}
    if is_first:
        clone(model).fit(split.X_train, split.y_train, **more)
    begin = perf_counter()
    model.fit(split.X_train, split.y_train, **more)
    seconds = perf_counter() - begin
    return Trial(problem.measure(model, split), seconds, problem.follow(model, split))


def _collect(trials: Mapping[str, list[Trial]]) -> tuple[Outcome, ...]:
    """Put the trials of each ranker together, and the best ranker first."""
    curves = [trial.curve for some in trials.values() for trial in some]
    longest = max((len(curve) for curve in curves if curve is not None), default=0)
    outcomes = []
    for name, some in trials.items():
        measured, seconds, _ = zip(*some, strict=True)
        drawn = [
            np.pad(trial.curve, (0, longest - len(trial.curve)), "edge")
            for trial in some
            if trial.curve is not None
        ]
        outcomes.append(
            Outcome(
                name,
                np.array(measured),
                np.array(seconds),
                np.array(drawn) if len(drawn) == len(some) else None,
            )
        )
    return tuple(sorted(outcomes, key=lambda outcome: outcome.loss))
