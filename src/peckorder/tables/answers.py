"""What makes answers of scores: cuts between classes, or the scale of the labels."""

from dataclasses import dataclass
from typing import Any, Final, Self, TypeAlias

import numpy as np

from peckorder._core.typing import Array, Floats, Ints, Labels
from peckorder.storage.fields import Field, FieldType, Table, floats, labels, number
from peckorder.storage.format import Node


@dataclass(frozen=True, eq=False)  # no named tuple: skops would load a plain one
class Cuts:
    """Thresholds that cut scores into classes; a score on a threshold is below it."""

    thresholds: Floats
    classes: Labels

    @classmethod
    def learn(cls, scores: Floats, levels: Ints, n_levels: int) -> Self:
        """Learn cuts into levels, from 0 on, with the fewest steps lost."""
        return cls(least_errors(scores, levels, n_levels), np.arange(float(n_levels)))

    def __call__(self, scores: Floats) -> Array:
        """Return the class of each score."""
        return np.asarray(self.classes[np.searchsorted(self.thresholds, scores)])


@dataclass(frozen=True, eq=False)
class LabelScale:
    """The line that puts scores on the scale of the labels: ``origin + slope * score``."""

    slope: float
    origin: float

    @classmethod
    def learn(cls, scores: Floats, y: Floats) -> Self:
        """Learn the best line that does not fall."""
        centred = scores - scores.mean()
        mass = float(centred @ centred)
        slope = max(float(centred @ y) / mass, 0.0) if mass > 0 else 0.0
        return cls(slope, float(y.mean() - slope * scores.mean()))

    def __call__(self, scores: Floats) -> Floats:
        """Return values like labels."""
        return np.asarray(self.origin + self.slope * scores)


Answer: TypeAlias = Cuts | LabelScale


def least_errors(scores: Floats, levels: Ints, n_levels: int) -> Floats:
    """Return thresholds that turn scores into levels with the least sum of steps.

    ``|l - y|`` is the number of thresholds that stand between, so that threshold r can
    be chosen by itself: with the fewest rows on its wrong side, the lowest of equals.
    They ascend, since a row that should be above r + 1 should be above r too.
    O(n log n + n k) time.

    Examples
    --------
    >>> import numpy as np
    >>> from peckorder.tables.answers import least_errors
    >>> least_errors(np.array([0.1, 0.2, 0.6, 0.9]), np.array([0, 0, 1, 2]), 3)
    array([0.4 , 0.75])
    """
    order = np.argsort(scores, kind="stable")
    ranked, level = scores[order], levels[order]
    # Cuts stand before the first row, between two that differ, and behind the last.
    between = np.flatnonzero(ranked[1:] > ranked[:-1]) + 1
    cuts = np.concatenate([[0], between, [len(ranked)]])
    edges = np.concatenate([[-np.inf], (ranked[between - 1] + ranked[between]) / 2, [np.inf]])
    thresholds = np.empty(n_levels - 1)
    for r in range(1, n_levels):
        above = np.concatenate([[0], np.cumsum(level >= r)])[cuts]
        below = cuts - above
        wrong = above + (below[-1] - below)
        thresholds[r - 1] = edges[np.argmin(wrong)]
    return thresholds


# A threshold is infinite where no row of a class was seen.
_CUTS: Final = Table(
    Field("thresholds", floats("cuts", finite=False, ascending=True)),
    Field("classes", labels("cuts+1")),
)
_SCALE: Final = Table(Field("slope", number(low=0.0)), Field("origin", number()))
_KINDS: Final[dict[str, tuple[type[Any], Table]]] = {
    "classes": (Cuts, _CUTS),
    "label scale": (LabelScale, _SCALE),
}


def _read(node: Node, name: str) -> Answer:
    part = node.child(name)
    kind, table = _KINDS[part.word("kind", *_KINDS)]
    answer: Answer = kind(**table.read(part))
    if isinstance(answer, Cuts):
        if np.isnan(answer.thresholds).any():
            raise part.refuse("thresholds", "numbers")
        names = answer.classes.tolist()
        if len(names) < 2 or len(set(names)) < len(names):
            raise part.refuse("classes", "two or more that differ")
    return answer


def _write(answer: Answer) -> dict[str, Any]:
    name = "classes" if isinstance(answer, Cuts) else "label scale"
    return {"kind": name, **_KINDS[name][1].write(answer)}


STORED_ANSWER: Final = FieldType(_read, _write)
