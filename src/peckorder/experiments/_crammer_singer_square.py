"""Crammer and Singer (2001): three on-line rankers on the square."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.random import Generator

from peckorder._typing import Floats, Ints
from peckorder.datasets import make_square
from peckorder.experiments._crammer_singer_online import (
    AVERAGED,
    CONSTANT,
    LAST,
    MEDIAN,
    PERCEPTRON,
    RANKS,
    Config,
    best_step,
    curves_of,
    difference_text,
    learners,
    losses_on_the_way,
    lost_after,
    rounds_shown,
    running_median,
    stepped,
)
from peckorder.experiments._experiment import Claim, Measured, Part, Shown, Values
from peckorder.experiments._tables import column, half_width, mean_curve, mean_text
from peckorder.metrics import rank_loss
from peckorder.reports import Cell, Chart, Table

NOISE = 0.125
# By quadrature: the rank of the point without its noise, on points with it.
LEAST_LOSS = 0.1526
MIDDLE = 3
CLAIM = (
    "Synthetic: PRank has the lowest time-averaged rank loss in the end; Widrow-Hoff "
    "is lowest in the first rounds; the multiclass perceptron is always worst."
)


def load(config: Config, folder: Path | None) -> Values:
    """Return what the square depends on: nothing is read."""
    return {"noise": NOISE}


def count(config: Config) -> int:
    """Return the number of sequences."""
    return config.sequences


def shown_after(config: Config) -> Ints:
    """Return the rounds of the curves, those of the table among them."""
    marks = rounds_in_table(config)
    return np.union1d(rounds_shown(config.rounds, 60, log=True), marks)


def rounds_in_table(config: Config) -> Ints:
    """Return the rounds of the table."""
    steps = [100, 1_000, config.tested_after, config.rounds]
    return np.unique([step for step in steps if step <= config.rounds])


def measure(config: Config, data: Values, unit: int, rng: Generator) -> Measured:
    """Run all rankers over one sequence, testing each rule on the way."""
    n, cut = config.rounds, config.tested_after
    seed = int(rng.integers(2**31))
    X, y = make_square(n + config.test_points, noise=NOISE, random_state=seed)
    X, y, X_test, y_test = X[:n], y[:n], X[n:], y[n:]
    rounds = shown_after(config)
    lost, tested = {}, {}
    settings = {"fit_intercept": False, "unit_norm": False}
    for name, learner in learners(config.square_steps, **settings).items():
        first = losses_on_the_way(learner, X[:cut], y[:cut])
        tested[name] = rank_loss(y_test, learner.predict(X_test))
        losses = np.concatenate([first, losses_on_the_way(learner, X[cut:], y[cut:])])
        lost[name] = lost_after(losses, rounds)
    lost[MEDIAN] = lost_after(np.abs(running_median(y) - y), rounds)
    lost[CONSTANT] = lost_after(np.abs(MIDDLE - y), rounds)
    tested[MEDIAN] = rank_loss(y_test, np.full(len(y_test), running_median(y)[cut]))
    tested[CONSTANT] = rank_loss(y_test, np.full(len(y_test), MIDDLE))
    return Measured({"lost": lost, "tested": tested})


def show(config: Config, units: Sequence[Values], seconds: Sequence[Values]) -> Shown:
    """Lay out curves, the table and the claim."""
    rounds = shown_after(config)
    curves = {key: curves_of(units, key, rounds) for key in units[0]["lost"]}
    steps = [stepped(eta) for eta in config.square_steps]
    best = best_step({name: curves[name][:, -1] for name in steps}, steps)
    return Shown(
        paragraphs=(
            "Every point is predicted before it is learnt; a curve at t is the mean "
            "loss of the first t predictions. The features are those of the kernel "
            "(x.z + 1)², neither scaled nor given another constant. The paper gives "
            "its results as a figure only: no number is printed to set ours beside.",
        ),
        tables=(_table(config, units, curves, rounds),),
        charts=(_chart(len(units), curves, rounds, best),),
        claims=(_claim(config, curves, rounds, steps),),
    )


def _table(
    config: Config, units: Sequence[Values], curves: dict[str, Floats], rounds: Ints
) -> Table:
    marks = rounds_in_table(config)
    places = np.searchsorted(rounds, marks)
    rows: list[tuple[Cell, ...]] = [
        (
            name,
            *(mean_text(curve[:, place]) for place in places),
            mean_text(column(units, "tested", name)),
        )
        for name, curve in curves.items()
    ]
    blanks = ("",) * len(marks)
    rows.append(("no rule can do better", *blanks, f"{LEAST_LOSS:.3f}"))
    headings = (
        "ranker",
        *(f"first {mark:,}" for mark in marks),
        f"new points after {config.tested_after:,}",
    )
    caption = (
        "Mean rank loss of the predictions made on the way, and of the rule after "
        f"{config.tested_after:,} rounds on {config.test_points:,} new points; means "
        f"over {len(units)} sequences with 95 % intervals. The constant is rank "
        f"{MIDDLE} of {len(RANKS)}. Nothing is printed in the paper but a figure."
    )
    return Table(headings, tuple(rows), caption)


def _chart(n: int, curves: dict[str, Floats], rounds: Ints, best: str) -> Chart:
    drawn = (LAST, AVERAGED, best, PERCEPTRON, MEDIAN)
    kept = rounds >= 10
    return Chart(
        "Time-averaged rank loss on the square",
        "round",
        "time-averaged rank loss",
        tuple(mean_curve(key, rounds[kept], curves[key][:, kept]) for key in drawn),
        f"Means over {n} sequences with 95 % intervals. Of the steps of Widrow-Hoff "
        "the one with the lowest loss in the end is drawn; the paper's is not known.",
        ("no rule can do better", LEAST_LOSS),
        log_x=True,
    )


def _claim(
    config: Config, curves: dict[str, Floats], rounds: Ints, steps: Sequence[str]
) -> Claim:
    ours, perceptron = curves[LAST], curves[PERCEPTRON]
    shown = rounds >= 10
    kept = rounds[shown]
    found, in_the_end, at_first = [], [], []
    for name in steps:
        paired = (ours - curves[name])[:, shown]
        half = half_width(paired)
        low, high = paired.mean(axis=0) - half, paired.mean(axis=0) + half
        in_the_end.append(high[-1] < 0)
        at_first.append(low[0] > 0)
        last = difference_text(ours[:, -1], curves[name][:, -1])
        found.append(f"PRank minus {name} {last} after {rounds[-1]:,} rounds")
        # From here on, and not only here, PRank is below for sure.
        above = np.flatnonzero(high >= 0)
        start = 0 if above.size == 0 else above[-1] + 1
        if start < len(kept):
            found[-1] += f" (below from round {kept[start]:,} on)"
    others = [curves[name].mean(axis=0) for name in (LAST, *steps)]
    exceptions = kept[(np.max(others, axis=0) > perceptron.mean(axis=0))[shown]]
    if exceptions.size:
        found.append(
            "the perceptron is not always worst: another mean was above its own "
            f"between rounds {exceptions[0]:,} and {exceptions[-1]:,}"
        )
    else:
        found.append("the perceptron is worst throughout")
    early = int(np.searchsorted(rounds, config.tested_after))
    best = best_step({name: curves[name][:, early] for name in steps}, steps)
    soon = difference_text(ours[:, early], curves[best][:, early])
    found.append(
        f"after {config.tested_after:,} rounds PRank minus the best of these, {best}, "
        f"{soon}"
    )
    averaged = difference_text(curves[AVERAGED][:, -1], ours[:, -1])
    found.append(f"in the end averaged PRank minus PRank {averaged}")
    tests = [all(in_the_end), all(at_first), exceptions.size == 0]
    some = [any(in_the_end), any(at_first), exceptions.size == 0]
    holds = "yes" if all(tests) else "in part" if any(some) else "no"
    return Claim(CLAIM, holds, "; ".join(found) + ".")


PART = Part(
    "square",
    "On-line: the square",
    load,
    count,
    measure,
    show,
)
