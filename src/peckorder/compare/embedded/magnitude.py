"""Rows with real-valued relevance, measured by the distances between them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from peckorder._core.typing import Floats
from peckorder.compare.embedded.problem import Axes, Problem, Split
from peckorder.compare.embedded.rankers import MAGNITUDE_RANKERS
from peckorder.metrics import disagreement, mean_squared_difference

# Points of a curve: pairs that are at least so many tenths of all pairs apart.
_TENTHS = 10


@dataclass(frozen=True, slots=True)
class MagnitudeProblem(Problem):
    """A problem in which it matters how far apart two rows are, not only their order.

    The loss is the mean squared difference between the distances of scores and those of
    truths; the disagreement stands beside it. All rows are one list.

    Parameters
    ----------
    name, description, draw, settings, reference
        As in `Problem`.

    Examples
    --------
    >>> from peckorder import MPRank
    >>> from peckorder.compare import MagnitudeProblem, Split
    >>> X, y = [[0.0], [1.0], [3.0]], [0.0, 1.0, 3.0]
    >>> three_rows = MagnitudeProblem("three", "Three.", lambda seed: Split(X, y, X, y))
    >>> split = three_rows.draw(0)
    >>> loss, disagreement = three_rows.measure(MPRank(C=1e6).fit(X, y), split)
    >>> loss < 1e-6, disagreement
    (True, 0.0)
    """

    measures: ClassVar[tuple[str, ...]] = ("msd", "disagreement")
    meaning: ClassVar[str] = (
        "By how much the distances between scores miss those between truths, squared "
        "(msd), and the share of pairs that are ranked the wrong way (less is better "
        "for both), on rows that were not learnt from"
    )
    ignorant: ClassVar[str] = "(the same score for all)"
    rankers: ClassVar[Mapping[str, Any]] = MAGNITUDE_RANKERS
    axes: ClassVar[Axes] = Axes(
        "pairs that are far apart",
        "without the nearest pairs, tenths of all",
        "disagreement",
        "A line at t is the disagreement over pairs of test rows, without the t - 1 "
        "tenths of them whose truths are nearest to each other",
    )

    def measure(self, model: Any, split: Split) -> tuple[float, ...]:
        """Return the mean squared difference and the disagreement."""
        return _measured(model.predict(split.X_test), split)

    def measure_ignorant(self, split: Split) -> tuple[float, ...]:
        """Return what equal scores get."""
        return _measured(np.zeros(len(split.y_test)), split)

    def follow(self, model: Any, split: Split) -> Floats | None:
        """Return the disagreement over fewer and fewer pairs, the distant ones last."""
        truth, score = np.asarray(split.y_test), model.predict(split.X_test)
        first, second = np.triu_indices(len(truth), 1)
        distance = truth[second] - truth[first]
        gap = (score[second] - score[first]) * np.sign(distance)
        wrong = np.where(gap < 0, 1.0, np.where(gap == 0, 0.5, 0.0))
        apart = np.abs(distance)
        least = np.quantile(apart[apart > 0], np.arange(_TENTHS) / _TENTHS)
        return np.array([wrong[apart >= d].mean() for d in least])


def _measured(scores: Floats, split: Split) -> tuple[float, float]:
    return (
        mean_squared_difference(split.y_test, scores),
        disagreement(split.y_test, scores),
    )


def _draw_progression(seed: int) -> Split:
    X, progression = load_diabetes(return_X_y=True)
    order = np.random.RandomState(seed).permutation(len(progression))
    train, test = order[:300], order[300:]
    scaler = StandardScaler().fit(X[train])
    y = (progression - progression[train].mean()) / progression[train].std()
    return Split(
        scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]
    )


PROGRESSION: Final = MagnitudeProblem(
    "Progression",
    "How far the disease of 442 patients went within a year, as a number in standard "
    "deviations: who is ahead, and by how much? From ten standardised measurements of "
    "300 patients, tested on the other 142.",
    _draw_progression,
)
