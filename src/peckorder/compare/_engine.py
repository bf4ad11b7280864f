"""The comparison itself."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import sqrt
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
from scipy import stats
from sklearn.base import clone

from peckorder._typing import Floats
from peckorder._validation import Rule, whole
from peckorder.compare._problems import PROBLEMS, Problem, Split
from peckorder.compare._rankers import RANKERS
from peckorder.feedback import Scale, read_labels
from peckorder.metrics import rank_loss, time_averaged_rank_loss

CONSTANT = "(always the median class)"

Trial: TypeAlias = tuple[float, float, Floats | None]

# NumPy's generators take no larger seed, and every repetition adds one.
_SEED = Rule(
    "an integer from 0 to 2**31",
    lambda value: whole(0).accepts(value) and value <= 2**31,
)


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """How one ranker fared on one problem, repetition by repetition.

    `losses` are mean rank losses on test rows, `seconds` those of `fit`; `curves`
    (repetitions, rounds) are time-averaged rank losses of one pass, None for rankers
    that don't learn on-line.
    """

    ranker: str
    losses: Floats
    seconds: Floats
    curves: Floats | None = None

    @property
    def loss(self) -> float:
        """The mean loss."""
        return float(self.losses.mean())

    @property
    def half_width(self) -> float:
        """Half the 95 % interval of the mean loss, by Student's t."""
        return float(half_width(self.losses))


@dataclass(frozen=True, slots=True)
class Comparison:
    """All outcomes on one problem, the best first."""

    problem: Problem
    outcomes: tuple[Outcome, ...]


def run(
    problems: Iterable[Problem] = PROBLEMS,
    rankers: Mapping[str, Any] = RANKERS,
    *,
    repeats: int = 20,
    seed: int = 0,
    on_progress: Callable[[int, int, str], None] | None = None,
) -> tuple[Comparison, ...]:
    """Train every ranker on every problem, `repeats` times.

    All rankers see the same rows in the same order. A constant, the median class of
    the training rows, stands beside them.

    Parameters
    ----------
    problems : iterable of Problem, default=PROBLEMS
        What to learn.
    rankers : mapping of str to estimator, default=RANKERS
        What learns it; the estimators are cloned.
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
    >>> square, diabetes = compare.run(repeats=2)
    >>> square.outcomes[0].ranker
    'PRank, averaged'
    """
    whole(2).check("compare", "repeats", repeats)
    _SEED.check("compare", "seed", seed)
    problems, comparisons = tuple(problems), []
    total, done = len(problems) * repeats * len(rankers), 0
    for problem in problems:
        trials: dict[str, list[Trial]] = {name: [] for name in rankers}
        constant = []
        for repetition in range(repeats):
            split = problem.draw(seed + repetition)
            constant.append(_constant_loss(problem, split))
            for name, ranker in rankers.items():
                if on_progress is not None:
                    on_progress(done, total, f"{problem.name}: {name}")
                model = _prepared(ranker, problem, seed + repetition)
                is_first = repetition == 0
                trials[name].append(_try(model, problem, split, is_first=is_first))
                done += 1
        outcomes = [_collect(name, trial) for name, trial in trials.items()]
        outcomes.append(Outcome(CONSTANT, np.array(constant), np.full(repeats, np.nan)))
        outcomes.sort(key=lambda outcome: outcome.loss)
        comparisons.append(Comparison(problem, tuple(outcomes)))
    if on_progress is not None:
        on_progress(total, total, "done")
    return tuple(comparisons)


def half_width(values: Floats) -> Floats:
    """Return half the 95 % interval of the mean over the first axis."""
    n = len(values)
    spread = np.std(values, axis=0, ddof=1)
    return np.asarray(stats.t.ppf(0.975, n - 1) * spread / sqrt(n))


def _prepared(ranker: Any, problem: Problem, seed: int) -> Any:
    """Clone a ranker and set what the problem asks for and the ranker leaves open."""
    default = type(ranker)().get_params()
    wanted = {**problem.settings, "random_state": seed}
    open_ones = {
        name: value
        for name, value in wanted.items()
        if name in default and ranker.get_params()[name] == default[name]
    }
    return clone(ranker).set_params(**open_ones)


def _try(model: Any, problem: Problem, split: Split, *, is_first: bool) -> Trial:
    """Return loss, seconds and curve of one ranker in one repetition.

    The first fit of all is not timed, since it may wait for the compiler.
    """
    X, y, classes = split.X_train, split.y_train, problem.classes
    curve = None
    if hasattr(model, "progressive"):
        guesses = clone(model).progressive(X, y, classes=classes)
        curve = time_averaged_rank_loss(y, guesses, classes=classes)
    if is_first:
        clone(model).fit(X, y)
    begin = perf_counter()
    model.fit(X, y)
    seconds = perf_counter() - begin
    loss = rank_loss(split.y_test, model.predict(split.X_test), classes=classes)
    return loss, seconds, curve


def _constant_loss(problem: Problem, split: Split) -> float:
    known = read_labels("compare", split.y_train)
    scale = Scale.given("compare", problem.classes)
    level = scale.levels("compare", known, slice(None))
    middle = problem.classes[int(np.quantile(level, 0.5, method="lower"))]
    guesses = [middle] * len(split.y_test)
    return rank_loss(split.y_test, guesses, classes=problem.classes)


def _collect(name: str, trials: list[Trial]) -> Outcome:
    losses, seconds, curves = zip(*trials, strict=True)
    has_curves = all(curve is not None for curve in curves)
    return Outcome(
        name,
        np.array(losses),
        np.array(seconds),
        np.array(curves) if has_curves else None,
    )
