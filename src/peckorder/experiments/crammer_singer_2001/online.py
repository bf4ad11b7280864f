"""Crammer and Singer (2001): what the on-line parts share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from peckorder import MulticlassPerceptron, PRank, WidrowHoff
from peckorder._core.typing import Floats, Ints
from peckorder.exceptions import DataError
from peckorder.experiments.framework.experiment import Values
from peckorder.experiments.framework.tables import column
from peckorder.experiments.framework.verdicts import side

RANKS = (1, 2, 3, 4, 5)
LAST, AVERAGED, PERCEPTRON = "PRank", "PRank, averaged", "multiclass perceptron"
WIDROW_HOFF = "Widrow-Hoff"
MEDIAN, CONSTANT = "running median", "a constant"
# The first few rounds are the luck of the draw.
FIRST_JUDGED = 10


@dataclass(frozen=True, slots=True)
class Config:
    """How much is run, and on what."""

    made: bool
    # The square: sequences, their length, where the rule is tested, and on how much.
    sequences: int
    rounds: int
    tested_after: int
    test_points: int
    square_steps: tuple[float, ...]
    # Movies: sets of viewers with more than so many ratings, targets in each.
    more_than: tuple[int, int]
    targets: int
    raw_steps: tuple[float, ...]
    unit_steps: tuple[float, ...]
    scales: tuple[float, ...]
    # Batches: samples, sizes of the square's, the most of a viewer's; peers' choices.
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
    return f"{WIDROW_HOFF}, step {step:g}"


def learners(steps: Sequence[float], **settings: Any) -> dict[str, Any]:
    """Return the paper's three rankers, and PRank with averaged rules, by name."""
    return {
        LAST: PRank(rule="last", **settings),
        AVERAGED: PRank(rule="averaged", **settings),
        PERCEPTRON: MulticlassPerceptron(**settings),
        **{stepped(eta): WidrowHoff(eta=eta, **settings) for eta in steps},
    }


def losses_on_the_way(learner: Any, X: Any, y: Ints) -> Floats:
    """Return the loss of every round, each predicted before it is learnt.

    NaN throughout if the run diverges, as Widrow-Hoff does when its step is too large.
    """
    try:
        guesses = learner.progressive(X, y, classes=RANKS)
    except DataError:
        return np.full(len(y), np.nan)
    return np.asarray(np.abs(guesses - y), dtype=float)


def lost_after(losses: Floats, rounds: Ints) -> list[Any]:
    """Return the steps lost in all after some rounds: whole numbers, being short."""
    totals = np.cumsum(losses)[rounds - 1]
    return list(totals if np.isnan(totals).any() else totals.astype(np.int64))


def curves_of(units: Sequence[Values], key: str, rounds: Ints) -> Floats:
    """Return time-averaged losses: a row a repetition, a column a round shown."""
    return column(units, "lost", key) / rounds


def best_step(losses: dict[str, Floats], names: Sequence[str]) -> str:
    """Return which of `names` loses least in the mean; one that diverges is out."""
    means = [np.mean(losses[name]) for name in names]
    return names[int(np.argmin(np.where(np.isnan(means), np.inf, means)))]


def sides_below(ours: Floats, theirs: Floats, rounds: Ints) -> list[int]:
    """Return for the rounds shown where ours is: 1 below theirs, -1 above, 0 open.

    Rounds before `FIRST_JUDGED` are left out.
    """
    judged = rounds >= min(FIRST_JUDGED, int(rounds[-1]))
    return [-side(paired) for paired in (ours - theirs)[:, judged].T]
