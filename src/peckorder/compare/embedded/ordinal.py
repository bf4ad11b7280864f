"""Rows in ordered classes, measured by how many classes a prediction is off."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from peckorder._core.typing import Floats
from peckorder.compare.embedded.problem import Axes, Problem, Split
from peckorder.compare.embedded.rankers import ORDINAL_RANKERS
from peckorder.datasets import make_square
from peckorder.feedback import Scale, read_labels
from peckorder.metrics import rank_loss, time_averaged_rank_loss


@dataclass(frozen=True, slots=True)
class OrdinalProblem(Problem):
    """A problem whose rows belong to ordered classes.

    The loss is the mean number of classes between prediction and truth.

    Parameters
    ----------
    name, description, draw, settings, reference
        As in `Problem`.
    classes : tuple
        The classes, lowest first.

    Examples
    --------
    >>> from peckorder import PRank
    >>> from peckorder.compare import OrdinalProblem, Split
    >>> split = Split([[0.0], [1.0]], [1, 2], [[2.0], [0.0]], [2, 2])
    >>> two_rows = OrdinalProblem("two rows", "Two.", lambda seed: split, (1, 2))
    >>> two_rows.measure(PRank(max_iter=9).fit(split.X_train, split.y_train), split)
    (0.5,)
    """

    classes: tuple[Any, ...]

    measures: ClassVar[tuple[str, ...]] = ("mean rank loss",)
    meaning: ClassVar[str] = (
        "Steps between the predicted and the true class on rows that were not learnt "
        "from"
    )
    ignorant: ClassVar[str] = "(always the median class)"
    rankers: ClassVar[Mapping[str, Any]] = ORDINAL_RANKERS
    # The first few rows are the luck of the draw and would dwarf the rest.
    axes: ClassVar[Axes] = Axes(
        "learning as rows arrive",
        "rows seen",
        "time-averaged rank loss",
        "Every row is predicted before it is learnt. A line at t is the mean loss of "
        "the first t predictions of one pass",
        10,
    )

    def measure(self, model: Any, split: Split) -> tuple[float, ...]:
        """Return the mean rank loss."""
        guesses = model.predict(split.X_test)
        return (rank_loss(split.y_test, guesses, classes=self.classes),)

    def measure_ignorant(self, split: Split) -> tuple[float, ...]:
        """Return the loss of the median class of the rows to learn from."""
        known = read_labels("compare", split.y_train)
        scale = Scale.given("compare", self.classes)
        level = scale.levels("compare", known, slice(None))
        middle = self.classes[int(np.quantile(level, 0.5, method="lower"))]
        guesses = [middle] * len(split.y_test)
        return (rank_loss(split.y_test, guesses, classes=self.classes),)

    def follow(self, model: Any, split: Split) -> Floats | None:
        """Return the time-averaged loss of one pass, of what learns on-line."""
        if not hasattr(model, "progressive"):
            return None
        X, y = split.X_train, split.y_train
        guesses = clone(model).progressive(X, y, classes=self.classes)
        return time_averaged_rank_loss(y, guesses, classes=self.classes)


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


SQUARE: Final = OrdinalProblem(
    "The square",
    "Points of the unit square in five ordered classes that bend around its "
    "centre, with noise (the problem of the papers on PRank and OAP-BPM): one "
    "pass over 5,000 points, tested on 1,000 new ones, features as in the papers.",
    _draw_square,
    (1, 2, 3, 4, 5),
    settings={"fit_intercept": False, "unit_norm": False},
    reference=("no rule can do better", 0.1526),
)
DIABETES: Final = OrdinalProblem(
    "Diabetes",
    "How far the disease of 442 patients went within a year, in five grades of "
    "equal frequency, from ten standardised measurements: ten shuffled passes "
    "over 300 patients, tested on the other 142.",
    _draw_diabetes,
    (1, 2, 3, 4, 5),
    settings={"max_iter": 10, "shuffle": True},
)
