"""MPRank, SVRank, RankBoost and baselines: parameters held out, scores, measures."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from peckorder._core.typing import Floats
from peckorder.estimators import MPRank, RankBoost, SVRank
from peckorder.experiments.cortes_2007.data import Config, Problem
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
    """Parameters, chosen on reviewers who are not tested."""

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
    found: Floats = MEASURES[name](y, score, qid=query, per_query=True)
    return found


def mean_of(tests: Sequence[Floats], scores: Sequence[Floats], name: str) -> float:
    """Return the mean of a measure over reviewers."""
    return float(np.nanmean(judge(tests, scores, name)))


def ridge_path(
    K: Floats, y: Floats, n_train: int, ridges: Floats, *, is_free: bool
) -> Floats:
    """Return test scores (n_test, n_ridges) of kernel ridge regression, but a constant.

    Labels are less their mean. With a constant that is free beside the kernels it is
    MPRank, of ridge ``n / (2 C)``. O(n^3) for one decomposition, O(n^2) a ridge.
    """
    inner, target = K[:n_train, :n_train], y[:n_train] - y[:n_train].mean()
    if is_free:
        by_row = inner.mean(axis=0)
        inner = inner - by_row - by_row[:, None] + by_row.mean()
    values, vectors = eigh(inner, check_finite=False)
    shares = (vectors.T @ target)[:, None] / (np.maximum(values, 0.0)[:, None] + ridges)
    scores: Floats = (K[n_train:, :n_train] @ vectors) @ shares
    return scores


def choose(
    problems: Sequence[Problem], config: Config, unit: float, most_rounds: int
) -> Chosen:
    """Choose all parameters on these reviewers, each ranker by its own measure.

    MPRank and kernel ridge by MSD, SVRank by M1D, RankBoost by misrankings. Kernel
    ridge has MPRank's width; SVRank begins with it.
    """
    tests = [problem.test for problem in problems]
    gamma, C = _choose_mprank(problems, tests, config)
    ridges = np.array(config.ridges)
    paths = [
        ridge_path(
            _kernels(problem, gamma), problem.y, problem.n_train, ridges, is_free=False
        )
        for problem in problems
    ]
    ridge = config.ridges[_least_of_paths(tests, paths, "msd")]

    svrank = _choose_svrank(problems, tests, config, unit, gamma)
    rounds = [count for count in config.rounds if count <= most_rounds]
    boosts = list(product((True, False), rounds))
    found = np.concatenate(
        [_boosted(problems, rounds, is_cumulative=flag) for flag in (True, False)]
    )
    is_cumulative, n_rounds = boosts[int(np.argmin(found))]
    return Chosen(gamma, C, ridge, *svrank, n_rounds, rounds[-1], is_cumulative, unit)


def _choose_mprank(
    problems: Sequence[Problem], tests: Sequence[Floats], config: Config
) -> tuple[float, float]:
    least = np.inf
    for gamma in config.gammas:
        paths = [
            ridge_path(
                _kernels(problem, gamma),
                problem.y,
                problem.n_train,
                problem.n_train / (2.0 * np.array(config.Cs)),
                is_free=True,
            )
            for problem in problems
        ]
        for C, errors in zip(config.Cs, _path_errors(tests, paths, "msd"), strict=True):
            if errors < least:
                least, found = errors, (gamma, C)
    return found


def _choose_svrank(
    problems: Sequence[Problem],
    tests: Sequence[Floats],
    config: Config,
    unit: float,
    gamma: float,
) -> tuple[float, float, float]:
    """Choose one parameter after the other: C, epsilon, then the widths next to it.

    A large C is dear: going up ends where the error has clearly begun to rise.
    """

    def error(gamma: float, C: float, epsilon: float) -> float:
        scores = [
            _svrank(_kernels(problem, gamma), problem, C * unit, epsilon * unit, 1e-3)
            for problem in problems
        ]
        return mean_of(tests, scores, "m1d")

    middle = config.epsilons[len(config.epsilons) // 2]
    found = (gamma, config.svrank_weights[0], middle)
    least = error(*found)
    for C in config.svrank_weights[1:]:
        now = error(gamma, C, middle)
        if now < least:
            least, found = now, (gamma, C, middle)
        elif now > 1.01 * least:
            break
    C = found[1]
    place = config.gammas.index(gamma)
    others = [(gamma, C, epsilon) for epsilon in config.epsilons if epsilon != middle]
    for tried in others:
        if (now := error(*tried)) < least:
            least, found = now, tried
    for width in config.gammas[max(place - 1, 0) : place + 2]:
        tried = (width, *found[1:])
        if width != gamma and (now := error(*tried)) < least:
            least, found = now, tried
    return found


def _path_errors(
    tests: Sequence[Floats], paths: Sequence[Floats], name: str
) -> list[float]:
    columns = range(paths[0].shape[1])
    return [mean_of(tests, [path[:, c] for path in paths], name) for c in columns]


def _least_of_paths(tests: Sequence[Floats], paths: Sequence[Floats], name: str) -> int:
    return int(np.argmin(_path_errors(tests, paths, name)))


def _boosted(
    problems: Sequence[Problem], rounds: Sequence[int], *, is_cumulative: bool
) -> Floats:
    """Return the mean misranking after each of some numbers of rounds."""
    found = np.full((len(problems), len(rounds)), np.nan)
    for i, problem in enumerate(problems):
        model = _booster(problem, rounds[-1], is_cumulative=is_cumulative)
        if model is None:
            continue
        staged = enumerate(
            model.staged_predict(problem.rows[problem.n_train :]), start=1
        )
        wanted = dict(zip(rounds, range(len(rounds)), strict=True))
        for count, scores in staged:
            if count in wanted:
                place = wanted[count]
                found[i, place:] = judge([problem.test], [scores], "misranking")
    means: Floats = np.nanmean(found, axis=0)
    return means


def _booster(problem: Problem, n_rounds: int, *, is_cumulative: bool) -> Any:
    """Return RankBoost on the training half; None if all its ratings are equal."""
    if np.ptp(problem.train) == 0:
        return None
    model = RankBoost(n_rounds=n_rounds, cumulative=is_cumulative, n_jobs=1)
    return model.fit(problem.rows[: problem.n_train], problem.train)


def _kernels(problem: Problem, gamma: float) -> Floats:
    kernels: Floats = np.exp(-gamma * problem.distances)
    return kernels


def _svrank(K: Floats, each: Problem, C: float, epsilon: float, tol: float) -> Floats:
    n = each.n_train
    model = SVRank(C=C, epsilon=epsilon, kernel="precomputed", tol=tol)
    scores: Floats = model.fit(K[:n, :n], each.train).predict(K[n:, :n])
    return scores


def predictions(problem: Problem, chosen: Chosen) -> dict[str, Floats]:
    """Return every ranker's scores of the test half."""
    n = problem.n_train
    K = _kernels(problem, chosen.gamma)
    model = MPRank(C=chosen.C, kernel="precomputed").fit(K[:n, :n], problem.train)
    with_ridge = K[:n, :n] + chosen.ridge * np.eye(n)
    target = problem.train - problem.train.mean()
    ridge = cho_solve(cho_factor(with_ridge, lower=True), target)
    other = K
    if chosen.svrank_gamma != chosen.gamma:
        other = _kernels(problem, chosen.svrank_gamma)
    C, epsilon = chosen.svrank_weight * chosen.unit, chosen.epsilon * chosen.unit
    booster = _booster(problem, chosen.n_rounds, is_cumulative=chosen.is_cumulative)
    nothing = np.zeros(len(problem.y) - n)
    boosted = nothing if booster is None else booster.predict(problem.rows[n:])
    return {
        "MPRank": model.predict(K[n:, :n]),
        "SVRank": _svrank(other, problem, C, epsilon, 1e-4),
        "RankBoost": boosted,
        "kernel ridge": K[n:, :n] @ ridge,
        "item mean": problem.popular[n:],
        "constant": nothing,
    }


def all_measures(
    problems: Iterable[Problem], chosen: Chosen
) -> dict[str, dict[str, Floats]]:
    """Return every measure of every ranker, a value a reviewer; problems pass by."""
    tests: list[Floats] = []
    scores: dict[str, list[Floats]] = {name: [] for name in RANKERS}
    for problem in problems:
        tests.append(problem.test)
        for name, found in predictions(problem, chosen).items():
            scores[name].append(found)
    return {
        name: {measure: judge(tests, scores[name], measure) for measure in MEASURES}
        for name in RANKERS
    }
