"""MPRank, SVRank, RankBoost and baselines: choice of parameters, scores, measures."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from peckorder._core.typing import Floats
from peckorder.estimators import MPRank, RankBoost, SVRank
from peckorder.experiments.cortes_2007.data import Config, Problem
from peckorder.experiments.framework import Values
from peckorder.metrics import (
    disagreement,
    mean_absolute_difference,
    mean_squared_difference,
    misranking,
)

MEASURES: dict[str, Callable[..., Any]] = {
    "msd": mean_squared_difference,
    "m1d": mean_absolute_difference,
    "misranking": misranking,
    "ties half": disagreement,
}
RANKERS = ("MPRank", "SVRank", "RankBoost", "kernel ridge", "item mean", "constant")


@dataclass(frozen=True, slots=True)
class Chosen:
    """Parameters that were chosen on reviewers who are not tested."""

    gamma: float
    C: float
    ridge: float
    svrank_gamma: float
    svrank_weight: float
    epsilon: float
    n_rounds: int
    most_rounds: int
    is_cumulative: bool
    unit: float


def judge(tests: Sequence[Floats], scores: Sequence[Floats], name: str) -> Floats:
    """Return a measure of each reviewer's test half; NaN where it has no pair."""
    query = np.repeat(np.arange(len(tests)), [len(test) for test in tests])
    y, score = np.concatenate(tests), np.concatenate(scores)
    values: Floats = MEASURES[name](y, score, qid=query, per_query=True)
    return values


def mean_of(tests: Sequence[Floats], scores: Sequence[Floats], name: str) -> float:
    """Return the mean of a measure over reviewers."""
    return float(np.nanmean(judge(tests, scores, name)))


def ridge_path(problem: Problem, gamma: float, ridges: Floats, *, is_free: bool) -> Floats:
    """Return test scores (n_test, n_ridges) of kernel ridge regression.

    Labels are centred, and scores are up to a constant. With a free constant it is
    MPRank, of ridge ``n / (2 C)``. O(n^3) for one decomposition, O(n^2) per ridge.
    """
    n, K = problem.n_train, gaussian(problem, gamma)
    inner, target = K[:n, :n], problem.train - problem.train.mean()
    values, vectors = eigh(centred(inner) if is_free else inner, check_finite=False)
    shares = (vectors.T @ target)[:, None] / (np.maximum(values, 0.0)[:, None] + ridges)
    scores: Floats = (K[n:, :n] @ vectors) @ shares
    return scores


def mprank_path(problem: Problem, gamma: float, config: Config) -> Floats:
    """Return test scores (n_test, n_Cs) of MPRank, up to a constant."""
    ridges = problem.n_train / (2.0 * np.array(config.Cs))
    return ridge_path(problem, gamma, ridges, is_free=True)


def choose(problems: Sequence[Problem], config: Config, unit: float, most_rounds: int) -> Chosen:
    """Choose all parameters on these reviewers.

    MPRank's and kernel ridge's by MSD, SVRank's by M1D, RankBoost's by misrankings.
    Kernel ridge has MPRank's width; the search of SVRank starts with it.
    """
    tests = [problem.test for problem in problems]
    gamma, C = _choose_mprank(problems, tests, config)
    ridges = np.array(config.ridges)
    paths = [ridge_path(problem, gamma, ridges, is_free=False) for problem in problems]
    ridge = config.ridges[int(np.argmin(_path_errors(tests, paths, "msd")))]
    svrank = _choose_svrank(problems, tests, config, unit, gamma)
    rounds = [count for count in config.rounds if count <= most_rounds]
    boosts = list(product((True, False), rounds))
    errors = [_boosted(problems, rounds, is_cumulative=flag) for flag in (True, False)]
    is_cumulative, n_rounds = boosts[int(np.argmin(errors))]
    return Chosen(gamma, C, ridge, *svrank, n_rounds, rounds[-1], is_cumulative, unit)


def _choose_mprank(
    problems: Sequence[Problem], tests: Sequence[Floats], config: Config
) -> tuple[float, float]:
    least = np.inf
    for gamma in config.gammas:
        paths = [mprank_path(problem, gamma, config) for problem in problems]
        for C, errors in zip(config.Cs, _path_errors(tests, paths, "msd"), strict=True):
            if errors < least:
                least, best = errors, (gamma, C)
    return best


def _choose_svrank(
    problems: Sequence[Problem], tests: Sequence[Floats], config: Config, unit: float, gamma: float
) -> tuple[float, float, float]:
    """Choose one parameter after the other: C, epsilon, then the adjacent widths.

    A large C is expensive: the search stops where the error has clearly risen.
    """

    def error(gamma: float, C: float, epsilon: float) -> float:
        scores = [
            _svrank(gaussian(problem, gamma), problem, C * unit, epsilon * unit, 1e-3)
            for problem in problems
        ]
        return mean_of(tests, scores, "m1d")

    middle = config.epsilons[len(config.epsilons) // 2]
    best = (gamma, config.svrank_weights[0], middle)
    least = error(*best)
    for C in config.svrank_weights[1:]:
        now = error(gamma, C, middle)
        if now < least:
            least, best = now, (gamma, C, middle)
        elif now > 1.01 * least:
            break
    C = best[1]
    for epsilon in config.epsilons:
        trial = (gamma, C, epsilon)
        if epsilon != middle and (now := error(*trial)) < least:
            least, best = now, trial
    i = config.gammas.index(gamma)
    for width in config.gammas[max(i - 1, 0) : i + 2]:
        trial = (width, *best[1:])
        if width != gamma and (now := error(*trial)) < least:
            least, best = now, trial
    return best


def _path_errors(tests: Sequence[Floats], paths: Sequence[Floats], name: str) -> list[float]:
    columns = range(paths[0].shape[1])
    return [mean_of(tests, [path[:, c] for path in paths], name) for c in columns]


def _boosted(problems: Sequence[Problem], rounds: Sequence[int], *, is_cumulative: bool) -> Floats:
    """Return the mean misranking after each of these numbers of rounds."""
    errors = np.full((len(problems), len(rounds)), np.nan)
    for i, problem in enumerate(problems):
        model = _booster(problem, rounds[-1], is_cumulative=is_cumulative)
        if model is None:
            continue
        staged = model.staged_predict(problem.rows[problem.n_train :])
        for n_rounds, scores in enumerate(staged, start=1):
            if n_rounds in rounds:
                start = rounds.index(n_rounds)
                errors[i, start:] = judge([problem.test], [scores], "misranking")
    return np.asarray(np.nanmean(errors, axis=0))


def _booster(problem: Problem, n_rounds: int, *, is_cumulative: bool) -> RankBoost | None:
    """Return RankBoost on the training half; None if all its ratings are equal."""
    if np.ptp(problem.train) == 0:
        return None
    model = RankBoost(n_rounds=n_rounds, cumulative=is_cumulative, n_jobs=1)
    return model.fit(problem.rows[: problem.n_train], problem.train)


def gaussian(problem: Problem, gamma: float) -> Floats:
    """Return the Gaussian kernel between the items of a problem."""
    return np.asarray(np.exp(-gamma * problem.distances))


def centred(K: Floats) -> Floats:
    """Return the kernel between centred rows."""
    by_row = K.mean(axis=0)
    return np.asarray(K - by_row - by_row[:, None] + by_row.mean())


def _svrank(K: Floats, problem: Problem, C: float, epsilon: float, tol: float) -> Floats:
    n = problem.n_train
    model = SVRank(C=C, epsilon=epsilon, kernel="precomputed", tol=tol)
    scores: Floats = model.fit(K[:n, :n], problem.train).predict(K[n:, :n])
    return scores


def predictions(problem: Problem, chosen: Chosen) -> dict[str, Floats]:
    """Return the scores of the test half by every ranker."""
    n = problem.n_train
    K = gaussian(problem, chosen.gamma)
    model = MPRank(C=chosen.C, kernel="precomputed").fit(K[:n, :n], problem.train)
    with_ridge = K[:n, :n] + chosen.ridge * np.eye(n)
    target = problem.train - problem.train.mean()
    ridge = cho_solve(cho_factor(with_ridge, lower=True), target)
    svrank_K = gaussian(problem, chosen.svrank_gamma)
    C, epsilon = chosen.svrank_weight * chosen.unit, chosen.epsilon * chosen.unit
    booster = _booster(problem, chosen.n_rounds, is_cumulative=chosen.is_cumulative)
    zeros = np.zeros(len(problem.y) - n)
    boosted = zeros if booster is None else booster.predict(problem.rows[n:])
    return {
        "MPRank": model.predict(K[n:, :n]),
        "SVRank": _svrank(svrank_K, problem, C, epsilon, 1e-4),
        "RankBoost": boosted,
        "kernel ridge": K[n:, :n] @ ridge,
        "item mean": problem.popular[n:],
        "constant": zeros,
    }


def all_measures(problems: Iterable[Problem], chosen: Chosen) -> dict[str, dict[str, Floats]]:
    """Return every measure of every ranker, one value per reviewer."""
    tests: list[Floats] = []
    scores: dict[str, list[Floats]] = {name: [] for name in RANKERS}
    for problem in problems:
        tests.append(problem.test)
        for name, predicted in predictions(problem, chosen).items():
            scores[name].append(predicted)
    return {
        name: {measure: judge(tests, scores[name], measure) for measure in MEASURES}
        for name in RANKERS
    }


def choices_text(config: Config, chosen: Sequence[Values]) -> str:
    """Format the medians of the chosen values, and which were at an end of the grid.

    Beyond an end there may be better values.
    """
    median = {
        key: float(np.median([parameters[key] for parameters in chosen]))
        for key in chosen[0]
        if key != "is_cumulative"
    }
    plain = sum(not parameters["is_cumulative"] for parameters in chosen)
    text = (
        f"MPRank gamma {median['gamma']:g}, C {median['C']:g}; SVRank gamma "
        f"{median['svrank_gamma']:g}, C {median['svrank_weight']:g}, epsilon "
        f"{median['epsilon']:g}; RankBoost {median['n_rounds']:g} rounds, plain in "
        f"{plain} of {len(chosen)} and cumulative in the others"
    )
    at_ends = list(_at_ends(config, chosen))
    return f"{text}; at an end of the grid: {', '.join(at_ends)}" if at_ends else text


def _at_ends(config: Config, chosen: Sequence[Values]) -> Iterable[str]:
    """Name the parameters that were chosen at an end of their grid."""
    grids = {
        "gamma": ("MPRank's gamma", config.gammas),
        "C": ("MPRank's C", config.Cs),
        "ridge": ("the ridge", config.ridges),
        "svrank_gamma": ("SVRank's gamma", config.gammas),
        "svrank_weight": ("SVRank's C", config.svrank_weights),
    }
    for key, (label, grid) in grids.items():
        values = [parameters[key] for parameters in chosen]
        for end, limit in (("least", min(grid)), ("greatest", max(grid))):
            if count := values.count(limit):
                yield f"{label}, {end} ({limit:g}), {count} of {len(values)}"
    if count := sum(p["n_rounds"] == p["most_rounds"] for p in chosen):
        most = chosen[0]["most_rounds"]
        yield f"RankBoost's rounds, most ({most}), {count} of {len(chosen)}"
