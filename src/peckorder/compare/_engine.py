"""The comparison itself."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import sqrt
from time import perf_counter
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import clone

from peckorder._typing import Floats
from peckorder.compare._problems import PROBLEMS, Problem, Split
from peckorder.compare._rankers import RANKERS
from peckorder.metrics import rank_loss, time_averaged_rank_loss

# Enough rows for every class to occur; compiles what a ranker needs before timing.
_WARM_UP = 50

CONSTANT = "(always the median class)"


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """How one ranker fared on one problem, repetition by repetition.

    `losses` are mean rank losses on test rows, `seconds` those of `fit`; `curves`
    (repetitions, rounds), or None, are time-averaged rank losses of one pass.
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
    for name, value, least in (("repeats", repeats, 2), ("seed", seed, 0)):
        if not isinstance(value, int) or value < least:
            raise ValueError(
                f"compare: {name} must be an integer >= {least}; got {value!r}."
            )
    problems, comparisons = tuple(problems), []
    total, done = len(problems) * repeats * len(rankers), 0
    for problem in problems:
        trials: dict[str, list[tuple[float, float, Floats]]] = {n: [] for n in rankers}
        constant = []
        for repetition in range(repeats):
            split = problem.draw(seed + repetition)
            constant.append(_constant_loss(split))
            for name, ranker in rankers.items():
                if on_progress is not None:
                    on_progress(done, total, f"{problem.name}: {name}")
                model = clone(ranker).set_params(**problem.settings)
                trials[name].append(_try(model, split, seed + repetition))
                done += 1
        outcomes = [_collect(name, trial) for name, trial in trials.items()]
        outcomes.append(Outcome(CONSTANT, np.array(constant), np.zeros(repeats)))
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


def _try(model: Any, split: Split, seed: int) -> tuple[float, float, Floats]:
    """Return loss, seconds and curve of one ranker in one repetition."""
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    X, y = split.X_train, split.y_train
    guesses = clone(model).progressive(X, y, classes=np.unique(y))
    clone(model).fit(X[:_WARM_UP], y[:_WARM_UP])
    begin = perf_counter()
    model.fit(X, y)
    seconds = perf_counter() - begin
    loss = -model.score(split.X_test, split.y_test)
    return loss, seconds, time_averaged_rank_loss(y, guesses)


def _constant_loss(split: Split) -> float:
    middle = np.quantile(split.y_train, 0.5, method="lower")
    return rank_loss(split.y_test, np.full(len(split.y_test), middle))


def _collect(name: str, trials: list[tuple[float, float, Floats]]) -> Outcome:
    losses, seconds, curves = zip(*trials, strict=True)
    return Outcome(name, np.array(losses), np.array(seconds), np.array(curves))
