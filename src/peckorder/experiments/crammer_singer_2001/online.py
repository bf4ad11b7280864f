"""Crammer and Singer (2001): settings, on-line rankers, and the square problem."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from peckorder import MulticlassPerceptron, PRank, WidrowHoff
from peckorder._core.typing import Floats, Ints
from peckorder.datasets import make_square
from peckorder.exceptions import DataError
from peckorder.experiments.framework import Claim, Data, Measured, Part, Shown, Units, Values
from peckorder.experiments.framework.online import (
    LEAST_LOSS,
    NOISE,
    lowest,
    rounds_shown,
    running_median,
)
from peckorder.experiments.framework.statistics import (
    column,
    columns,
    difference_text,
    lower_than_all,
    mean_curve,
    mean_row,
    side,
    verdict,
)
from peckorder.metrics import rank_loss
from peckorder.reports import Chart, Table

RANKS = (1, 2, 3, 4, 5)
LAST, AVERAGED, PERCEPTRON = "PRank", "PRank, averaged", "multiclass perceptron"
MEDIAN, CONSTANT = "running median", "a constant"
MIDDLE = RANKS[len(RANKS) // 2]
# The first few rounds are too noisy to judge.
FIRST_JUDGED = 10
# The "first rounds" of the claim.
FIRST_ROUNDS = (FIRST_JUDGED, 100)
CLAIM = (
    "Synthetic: PRank has the lowest time-averaged rank loss in the end; Widrow-Hoff "
    "is lowest in the first rounds; the multiclass perceptron is always worst."
)
OnlineRanker = PRank | MulticlassPerceptron | WidrowHoff
Curves = dict[str, Floats]


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes and grids of one preset."""

    synthetic: bool
    # The square: sequences, their length, when the rule is tested, and on how many.
    sequences: int
    rounds: int
    tested_after: int
    test_points: int
    square_steps: tuple[float, ...]
    # Movies: lower limits of the ratings per viewer of both sets, targets per set.
    more_than: tuple[int, int]
    targets: int
    raw_steps: tuple[float, ...]
    unit_steps: tuple[float, ...]
    scales: tuple[float, ...]
    # Batches: samples and sizes of the square, viewers, grids of the SVMs, passes.
    samples: int
    sizes: tuple[int, ...]
    viewers: int
    most_learnt: int
    class_costs: tuple[float, ...]
    regression_costs: tuple[float, ...]
    folds: int
    passes: tuple[int, ...]


def stepped(step: float) -> str:
    """Return the name of Widrow-Hoff with this step."""
    return f"Widrow-Hoff, step {step:g}"


def learners(steps: Sequence[float], **settings: Any) -> dict[str, OnlineRanker]:
    """Return the paper's three rankers, and PRank with averaged rules, by name."""
    return {
        LAST: PRank(rule="last", **settings),
        AVERAGED: PRank(rule="averaged", **settings),
        PERCEPTRON: MulticlassPerceptron(**settings),
        **{stepped(eta): WidrowHoff(eta=eta, **settings) for eta in steps},
    }


def progressive_losses(
    learner: OnlineRanker, X: Data, y: Ints, n_ranks: int = len(RANKS)
) -> Floats:
    """Return the loss of every round, predicted before its row is learned.

    NaN throughout if the run diverges, as Widrow-Hoff does when its step is too large.
    """
    try:
        predicted = learner.progressive(X, y, classes=range(1, n_ranks + 1))
    except DataError:
        return np.full(len(y), np.nan)
    return np.asarray(np.abs(predicted - y), dtype=float)


def lost_after(losses: Floats, rounds: Ints) -> list[float]:
    """Return the total loss after each of the rounds, as integers if it is finite."""
    totals = np.cumsum(losses)[rounds - 1]
    return list(totals if np.isnan(totals).any() else totals.astype(np.int64))


def curves_of(units: Units, rounds: Ints) -> Curves:
    """Return time-averaged losses: one row per repetition, one column per round."""
    return {name: lost / rounds for name, lost in columns(units, "lost").items()}


def sides_below(ours: Floats, theirs: Floats, rounds: Ints) -> list[int]:
    """Return 1 for every judged round at which ours is below, -1 if above, else 0."""
    judged = rounds >= min(FIRST_JUDGED, int(rounds[-1]))
    return [-side(paired) for paired in (ours - theirs)[:, judged].T]


def load_square(config: Config, folder: Path | None) -> Values:
    """Return the parameter of the square problem; no file is read."""
    return {"noise": NOISE}


def square_rounds(config: Config) -> Ints:
    """Return the rounds of the curves, including those of the table."""
    marks = rounds_in_table(config)
    return rounds_shown(config.rounds, 60, log=True, include=marks)


def rounds_in_table(config: Config) -> Ints:
    """Return the rounds of the table."""
    marks = [100, 1_000, config.tested_after, config.rounds]
    return np.unique([mark for mark in marks if mark <= config.rounds])


def measure_square(config: Config, data: Values, unit: int, rng: Generator) -> Measured:
    """Run all rankers over one sequence, and test every rule on the way."""
    n, cut = config.rounds, config.tested_after
    seed = int(rng.integers(2**31))
    X, y = make_square(n + config.test_points, noise=NOISE, random_state=seed)
    X, y, X_test, y_test = X[:n], y[:n], X[n:], y[n:]
    rounds = square_rounds(config)
    lost, tested = {}, {}
    settings = {"fit_intercept": False, "unit_norm": False}
    for name, learner in learners(config.square_steps, **settings).items():
        first = progressive_losses(learner, X[:cut], y[:cut])
        tested[name] = rank_loss(y_test, learner.predict(X_test))
        losses = np.concatenate([first, progressive_losses(learner, X[cut:], y[cut:])])
        lost[name] = lost_after(losses, rounds)
    median = running_median(y, len(RANKS))
    for name, predicted, last in ((MEDIAN, median, median[cut]), (CONSTANT, MIDDLE, MIDDLE)):
        lost[name] = lost_after(np.abs(predicted - y), rounds)
        tested[name] = rank_loss(y_test, np.full(len(y_test), last))
    return Measured({"lost": lost, "tested": tested})


def show_square(config: Config, units: Units, seconds: Units) -> Shown:
    """Show the curves, the table and the claim."""
    rounds = square_rounds(config)
    curves = curves_of(units, rounds)
    steps = [stepped(eta) for eta in config.square_steps]
    best = lowest({name: curves[name][:, -1] for name in steps}, steps)
    return Shown(
        paragraphs=(
            "Every point is predicted before it is learned; a curve at t is the mean "
            "loss of the first t predictions. The features are those of the kernel "
            "(x.z + 1)², not scaled and without a further constant. The paper gives "
            "its results as a figure only: no number is printed to compare with.",
        ),
        tables=(_square_table(config, units, curves, rounds),),
        charts=(_square_chart(len(units), curves, rounds, best),),
        claims=(_square_claim(config, curves, rounds, steps),),
    )


def _square_table(config: Config, units: Units, curves: Curves, rounds: Ints) -> Table:
    marks = rounds_in_table(config)
    positions = np.searchsorted(rounds, marks)
    rows = [
        mean_row(name, *curve[:, positions].T, column(units, "tested", name))
        for name, curve in curves.items()
    ]
    rows.append(("no rule can do better", *[""] * len(marks), f"{LEAST_LOSS:.3f}"))
    headings = (
        "ranker",
        *(f"first {mark:,}" for mark in marks),
        f"new points after {config.tested_after:,}",
    )
    caption = (
        "Mean rank loss of the on-line predictions, and of the rule after "
        f"{config.tested_after:,} rounds on {config.test_points:,} new points; means "
        f"over {len(units)} sequences with 95 % intervals. The constant is rank "
        f"{MIDDLE} of {len(RANKS)}. The paper prints a figure only."
    )
    return Table(headings, tuple(rows), caption)


def _square_chart(n: int, curves: Curves, rounds: Ints, best: str) -> Chart:
    names = (LAST, AVERAGED, best, PERCEPTRON, MEDIAN)
    judged = rounds >= FIRST_JUDGED
    return Chart(
        "Time-averaged rank loss on the square",
        "round",
        "time-averaged rank loss",
        tuple(mean_curve(key, rounds[judged], curves[key][:, judged]) for key in names),
        f"Means over {n} sequences with 95 % intervals. Of the steps of Widrow-Hoff "
        "the one with the lowest final loss is drawn; the paper's is not known.",
        ("no rule can do better", LEAST_LOSS),
        log_x=True,
    )


def _square_claim(config: Config, curves: Curves, rounds: Ints, steps: Sequence[str]) -> Claim:
    """Judge the three rankers with every step of Widrow-Hoff, as the paper's is lost.

    A comparison is of one ranker with the two others at a round shown: PRank's is at
    the last, Widrow-Hoff's are at `FIRST_ROUNDS`, the perceptron's at all.
    """
    last = len(rounds) - 1
    start = min(FIRST_ROUNDS[0], int(rounds[-1]))
    judged = [position for position, n in enumerate(rounds) if n >= start]
    early = [position for position in judged if rounds[position] <= FIRST_ROUNDS[1]]
    texts, in_the_end, at_first = [], [], []
    for name in steps:
        rankers = (LAST, name, PERCEPTRON)
        in_the_end.append(_is_lowest(curves, LAST, rankers, last))
        first = [_is_lowest(curves, name, rankers, position) for position in early]
        at_first += first
        texts.append(
            f"{_gap_text(curves, LAST, name, last)} after {rounds[-1]:,} rounds"
            f"{_below_from(curves, name, rounds)}; {name} is lowest at "
            f"{first.count(1)} of {len(first)} rounds shown from {rounds[early[0]]:,} "
            f"to {rounds[early[-1]]:,}"
        )
    texts.append(f"{_gap_text(curves, LAST, PERCEPTRON, last)} in the end")
    everyone = (LAST, *steps, PERCEPTRON)
    worst = [_is_lowest(curves, PERCEPTRON, everyone, p, sign=-1) for p in judged]
    text = (
        f"the interval of the perceptron is above all others at {worst.count(1)} of "
        f"{len(worst)} rounds shown from {rounds[judged[0]]:,} on"
    )
    exceptions = rounds[judged][np.array(worst) < 1]
    if exceptions.size:
        text += f"; exceptions: {exceptions[0]:,} to {exceptions[-1]:,}"
    tested = int(np.searchsorted(rounds, config.tested_after))
    best = lowest({name: curves[name][:, tested] for name in steps}, steps)
    texts += [
        text,
        f"after {config.tested_after:,} rounds the best step is {best}: "
        f"{_gap_text(curves, LAST, best, tested)}",
        f"in the end {_gap_text(curves, AVERAGED, LAST, last)}",
    ]
    holds = verdict([*in_the_end, *at_first, *worst])
    return Claim(CLAIM, holds, "; ".join(texts) + ".")


def _is_lowest(
    curves: Curves, name: str, rankers: Sequence[str], position: int, sign: int = 1
) -> int:
    """Return the side of one ranker against all others; with sign -1, as highest."""
    rivals = [sign * curves[rival][:, position] for rival in rankers if rival != name]
    return lower_than_all(sign * curves[name][:, position], rivals)


def _gap_text(curves: Curves, ours: str, theirs: str, position: int) -> str:
    gap = difference_text(curves[ours][:, position] - curves[theirs][:, position])
    return f"{ours} minus {theirs} {gap}"


def _below_from(curves: Curves, name: str, rounds: Ints) -> str:
    """Return the round after which the interval of PRank stays below, as a note."""
    sides = np.array(sides_below(curves[LAST], curves[name], rounds))
    not_below = np.flatnonzero(sides <= 0)
    start = 0 if not_below.size == 0 else int(not_below[-1]) + 1
    if start == len(sides):
        return ""
    return f" (below from round {rounds[start - len(sides)]:,} on)"


SQUARE = Part(
    "square",
    "On-line: the square",
    load_square,
    lambda config: config.sequences,
    measure_square,
    show_square,
)
