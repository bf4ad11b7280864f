"""The problems that rankers are compared on when no file is given."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from peckorder._typing import Floats, Labels
from peckorder.datasets import make_square


class Split(NamedTuple):
    """Rows to learn from, in order, and rows to be tested on."""

    X_train: Floats
    y_train: Labels
    X_test: Floats
    y_test: Labels


@dataclass(frozen=True, slots=True)
class Problem:
    """Data with ordered classes that can be drawn, or divided, again and again.

    Parameters
    ----------
    name : str
        What it is called.
    description : str
        What it is, in a sentence or two.
    classes : tuple
        The classes, lowest first.
    draw : callable
        From a seed to a Split.
    settings : mapping, default={}
        Parameters that rankers are given here, if they have them and don't set them.
    reference : tuple of (str, float) or None, default=None
        A loss worth knowing, such as the smallest possible, and its name.

    Examples
    --------
    >>> from peckorder.compare import PROBLEMS
    >>> PROBLEMS[0].draw(0).X_train.shape
    (5000, 6)
    """

    name: str
    description: str
    classes: tuple[Any, ...]
    draw: Callable[[int], Split]
    settings: Mapping[str, Any] = field(default_factory=dict)
    reference: tuple[str, float] | None = None


def _draw_square(seed: int) -> Split:
    X, y = make_square(6000, random_state=seed)
    return Split(X[:5000], y[:5000], X[5000:], y[5000:])


def _draw_diabetes(seed: int) -> Split:
    X, progression = load_diabetes(return_X_y=True)
    cuts = np.quantile(progression, [0.2, 0.4, 0.6, 0.8])
    grade = 1 + np.searchsorted(cuts, progression, side="right")
    order = np.random.RandomState(seed).permutation(len(grade))
    train, test = order[:300], order[300:]
    scaler = StandardScaler().fit(X[train])
    return Split(
        scaler.transform(X[train]),
        grade[train],
        scaler.transform(X[test]),
        grade[test],
    )


PROBLEMS: Final = (
    Problem(
        "The square",
        "Points of the unit square in five ordered classes that bend around its "
        "centre, with noise (the problem of the papers on PRank and OAP-BPM): one "
        "pass over 5,000 points, tested on 1,000 new ones, features as in the papers.",
        (1, 2, 3, 4, 5),
        _draw_square,
        {"fit_intercept": False, "unit_norm": False},
        ("no rule can do better", 0.1526),
    ),
    Problem(
        "Diabetes",
        "How far the disease of 442 patients went within a year, in five grades of "
        "equal frequency, from ten standardised measurements: ten shuffled passes "
        "over 300 patients, tested on the other 142.",
        (1, 2, 3, 4, 5),
        _draw_diabetes,
        {"max_iter": 10, "shuffle": True},
    ),
)
