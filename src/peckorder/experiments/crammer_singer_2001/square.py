"""Crammer and Singer (2001): three on-line rankers on the square."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.random import Generator

from peckorder._core.typing import Floats, Ints
from peckorder.datasets import make_square
from peckorder.experiments.crammer_singer_2001.online import (
    AVERAGED,
    CONSTANT,
    FIRST_JUDGED,
    LAST,
    MEDIAN,
    PERCEPTRON,
    RANKS,
    Config,
    best_step,
    curves_of,
    learners,
    losses_on_the_way,
    lost_after,
    sides_below,
    stepped,
)
from peckorder.experiments.framework.experiment import (
    Claim,
    Measured,
    Part,
    Shown,
    Values,
)
from peckorder.experiments.framework.online import (
    LEAST_LOSS,
    NOISE,
    lower_than_all,
    rounds_shown,
    running_median,
)
from peckorder.experiments.framework.tables import column, mean_curve, mean_text
from peckorder.experiments.framework.verdicts import difference_text, verdict
from peckorder.metrics import rank_loss
from peckorder.reports import Cell, Chart, Table

MIDDLE = 3
# What the claim's "first rounds" are; those before are the luck of the draw.
FIRST_ROUNDS = (FIRST_JUDGED, 100)
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
    return rounds_shown(config.rounds, 60, log=True, wanted=marks)


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
    median = running_median(y, len(RANKS))
    lost[MEDIAN] = lost_after(np.abs(median - y), rounds)
    lost[CONSTANT] = lost_after(np.abs(MIDDLE - y), rounds)
    tested[MEDIAN] = rank_loss(y_test, np.full(len(y_test), median[cut]))
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
    kept = rounds >= FIRST_JUDGED
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
    """Judge the three rankers with every step of Widrow-Hoff, for want of the paper's.

    A comparison is of one ranker with the two others at a round shown: PRank's is at
    the last, Widrow-Hoff's are at `FIRST_ROUNDS`, the perceptron's at all.
    """
    last = len(rounds) - 1
    from_here = min(FIRST_ROUNDS[0], int(rounds[-1]))
    judged = [place for place, n in enumerate(rounds) if n >= from_here]
    early = [place for place in judged if rounds[place] <= FIRST_ROUNDS[1]]
    found, in_the_end, at_first = [], [], []
    for name in steps:
        field = (LAST, name, PERCEPTRON)
        in_the_end.append(_is_lowest(curves, LAST, field, last))
        first = [_is_lowest(curves, name, field, place) for place in early]
        at_first += first
        found.append(
            f"{_told(curves, LAST, name, last)} after {rounds[-1]:,} rounds"
            f"{_below_from(curves, name, rounds)}; {name} is lowest at "
            f"{first.count(1)} of {len(first)} rounds shown from {rounds[early[0]]:,} "
            f"to {rounds[early[-1]]:,}"
        )
    found.append(f"{_told(curves, LAST, PERCEPTRON, last)} in the end")
    everyone = (LAST, *steps, PERCEPTRON)
    worst = [_is_lowest(curves, PERCEPTRON, everyone, p, sign=-1) for p in judged]
    found.append(
        f"the perceptron is above all others for sure at {worst.count(1)} of "
        f"{len(worst)} rounds shown from {rounds[judged[0]]:,} on"
    )
    exceptions = rounds[judged][np.array(worst) < 1]
    if exceptions.size:
        found[-1] += f"; where it is not: {exceptions[0]:,} to {exceptions[-1]:,}"
    soon = int(np.searchsorted(rounds, config.tested_after))
    best = best_step({name: curves[name][:, soon] for name in steps}, steps)
    found.append(
        f"after {config.tested_after:,} rounds the best of these is {best}: "
        f"{_told(curves, LAST, best, soon)}"
    )
    found.append(f"in the end {_told(curves, AVERAGED, LAST, last)}")
    holds = verdict([*in_the_end, *at_first, *worst])
    return Claim(CLAIM, holds, "; ".join(found) + ".")


def _is_lowest(
    curves: dict[str, Floats],
    name: str,
    field: Sequence[str],
    place: int,
    sign: int = 1,
) -> int:
    """Return the side of one ranker against all others; with sign -1, as highest."""
    rivals = [sign * curves[each][:, place] for each in field if each != name]
    return lower_than_all(sign * curves[name][:, place], rivals)


def _told(curves: dict[str, Floats], ours: str, theirs: str, place: int) -> str:
    gap = difference_text(curves[ours][:, place] - curves[theirs][:, place])
    return f"{ours} minus {theirs} {gap}"


def _below_from(curves: dict[str, Floats], name: str, rounds: Ints) -> str:
    """Say from which round on, and not only there, PRank is below for sure."""
    sides = np.array(sides_below(curves[LAST], curves[name], rounds))
    not_below = np.flatnonzero(sides <= 0)
    start = 0 if not_below.size == 0 else int(not_below[-1]) + 1
    if start == len(sides):
        return ""
    return f" (below from round {rounds[start - len(sides)]:,} on)"


PART = Part(
    "square",
    "On-line: the square",
    load,
    count,
    measure,
    show,
)
