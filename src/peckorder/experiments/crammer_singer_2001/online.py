"""Crammer and Singer (2001): settings, on-line rankers, and the square problem."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from peckorder import MulticlassPerceptron, PRank, WidrowHoff
from peckorder._core.typing import Floats, Ints
from peckorder.datasets import make_square
from peckorder.exceptions import DataError
from peckorder.experiments.framework import (
    Claim,
    Comparison,
    Data,
    Measured,
    Part,
    Shown,
    Units,
    Values,
)
from peckorder.experiments.framework.claims import above_zero, all_of, below, below_all
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
    mean_curve,
    mean_row,
    side,
)
from peckorder.metrics import rank_loss
from peckorder.reports import Chart, Table

RANKS = (1, 2, 3, 4, 5)
LAST, AVERAGED, PERCEPTRON = "PRank", "PRank, averaged", "multiclass perceptron"
MEDIAN, CONSTANT = "running median", "a constant"
# The paper's step, which Harrington (2003) names, over the squared norm of the row. As a
# constant it diverges on the square, whose features have squared norms of 1 to 9.
PAPER_STEP = 1.0
NORMALISED = f"Widrow-Hoff, normalised step {PAPER_STEP:g}"
MIDDLE = RANKS[len(RANKS) // 2]
# The first few rounds are too noisy to judge.
FIRST_JUDGED = 10
# The "first rounds" of the claim.
FIRST_ROUNDS = (FIRST_JUDGED, 100)
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
    """Return the paper's three rankers, and PRank with averaged rules, by name.

    Widrow-Hoff has the paper's step, normalised, and these constant ones.
    """
    return {
        LAST: PRank(rule="last", **settings),
        AVERAGED: PRank(rule="averaged", **settings),
        PERCEPTRON: MulticlassPerceptron(**settings),
        NORMALISED: WidrowHoff(eta=PAPER_STEP, step="normalized", **settings),
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


def comparisons_below(ours: Floats, theirs: Floats, rounds: Ints) -> tuple[Comparison, ...]:
    """Return, for every judged round, whether ours is below."""
    judged = rounds >= min(FIRST_JUDGED, int(rounds[-1]))
    return tuple(above_zero(paired) for paired in (theirs - ours)[:, judged].T)


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
        losses, tested[name] = progressive_losses(learner, X[:cut], y[:cut]), np.nan
        if np.isfinite(losses).all():
            tested[name] = rank_loss(y_test, learner.predict(X_test))
            after = progressive_losses(learner, X[cut:], y[cut:])
            losses = np.concatenate([losses, after])
        else:
            losses = np.full(n, np.nan)
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
            _step_text(units, curves),
            "Every point is predicted before it is learned; a curve at t is the mean "
            "loss of the first t predictions. The features are those of the kernel "
            "(x.z + 1)², not scaled and without a further constant. The paper gives "
            "its results as a figure only: no number is printed to compare with.",
        ),
        tables=(_square_table(config, units, curves, rounds),),
        charts=(_square_chart(len(units), curves, rounds, best),),
        claims=tuple(_square_claims(config, curves, rounds, steps)),
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
    names = (LAST, AVERAGED, NORMALISED, best, PERCEPTRON, MEDIAN)
    judged = rounds >= FIRST_JUDGED
    return Chart(
        "Time-averaged rank loss on the square",
        "round",
        "time-averaged rank loss",
        tuple(mean_curve(key, rounds[judged], curves[key][:, judged]) for key in names),
        f"Means over {n} sequences with 95 % intervals. Of the steps of Widrow-Hoff "
        "the paper's, normalised, is drawn, and the constant one with the lowest final loss.",
        ("no rule can do better", LEAST_LOSS),
        log_x=True,
    )


def _step_text(units: Units, curves: Curves) -> str:
    constant = stepped(PAPER_STEP)
    text = (
        f"The paper's step of Widrow-Hoff is lost in the available copies; Harrington (2003) "
        f"says that it was {PAPER_STEP:g}. "
    )
    if constant in curves:
        n_diverged = int(np.isnan(curves[constant][:, -1]).sum())
        text += f"As a constant it diverges in {n_diverged} of {len(units)} sequences. "
    return text + "Over the squared norm of the row it gives the paper's picture: it is judged."


def _square_claims(
    config: Config, curves: Curves, rounds: Ints, steps: Sequence[str]
) -> Iterator[Claim]:
    """Judge what the paper says of its three rankers.

    A comparison is of one ranker with the two others at a round shown: PRank's is at
    the last, Widrow-Hoff's are at `FIRST_ROUNDS`, the perceptron's at all.
    """
    last = len(rounds) - 1
    start = min(FIRST_ROUNDS[0], int(rounds[-1]))
    judged = [position for position, n in enumerate(rounds) if n >= start]
    early = [position for position in judged if rounds[position] <= FIRST_ROUNDS[1]]
    best = lowest({name: curves[name][:, last] for name in steps}, steps)
    tested = int(np.searchsorted(rounds, config.tested_after))
    best_before = lowest({name: curves[name][:, tested] for name in steps}, steps)
    yield Claim(
        'Synthetic: PRank "achieves the best performance" in the end.',
        (_is_lowest(curves, LAST, (NORMALISED, PERCEPTRON), last),),
        f"After {rounds[-1]:,} rounds {_gap_text(curves, LAST, NORMALISED, last)}"
        f"{_below_from(curves, NORMALISED, rounds)}, "
        f"{_gap_text(curves, LAST, PERCEPTRON, last)}. Of constant steps, which are ours, "
        f"the best in hindsight is {best}: {_gap_text(curves, LAST, best, last)}"
        f"{_below_from(curves, best, rounds)}; after {config.tested_after:,} rounds "
        f"{best_before}: {_gap_text(curves, LAST, best_before, tested)}. In the end "
        f"{_gap_text(curves, AVERAGED, LAST, last)}.",
    )
    first = f"{rounds[early[0]]:,} to {rounds[early[-1]]:,}"
    yield Claim(
        'Synthetic: Widrow-Hoff "initially suffers the smallest instantaneous loss".',
        tuple(_is_lowest(curves, NORMALISED, (LAST, PERCEPTRON), position) for position in early),
        f"One comparison for each round shown from {first}. After {rounds[early[-1]]:,} "
        f"{_gap_text(curves, NORMALISED, LAST, early[-1])}, "
        f"{_gap_text(curves, NORMALISED, PERCEPTRON, early[-1])}.",
    )
    yield Claim(
        'Synthetic: the performance of the multiclass perceptron is "constantly worse" than '
        "that of Widrow-Hoff and PRank.",
        tuple(_is_highest(curves, PERCEPTRON, (LAST, NORMALISED), p) for p in judged),
        f"One comparison for each round shown from {rounds[judged[0]]:,} on. After "
        f"{rounds[early[-1]]:,} {_gap_text(curves, PERCEPTRON, LAST, early[-1])}, in the end "
        f"{_gap_text(curves, PERCEPTRON, LAST, last)}, "
        f"{_gap_text(curves, PERCEPTRON, NORMALISED, last)}.",
    )


def _is_lowest(curves: Curves, name: str, rivals: Sequence[str], position: int) -> Comparison:
    return below_all(curves[name][:, position], [curves[rival][:, position] for rival in rivals])


def _is_highest(curves: Curves, name: str, rivals: Sequence[str], position: int) -> Comparison:
    ours = curves[name][:, position]
    return all_of(below(curves[rival][:, position], ours) for rival in rivals)


def _gap_text(curves: Curves, ours: str, theirs: str, position: int) -> str:
    gap = difference_text(curves[ours][:, position] - curves[theirs][:, position])
    return f"{ours} minus {theirs} {gap}"


def _below_from(curves: Curves, name: str, rounds: Ints) -> str:
    """Return the round after which the interval of PRank stays below, as a note."""
    judged = rounds >= min(FIRST_JUDGED, int(rounds[-1]))
    sides = np.array([-side(gap) for gap in (curves[LAST] - curves[name])[:, judged].T])
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
