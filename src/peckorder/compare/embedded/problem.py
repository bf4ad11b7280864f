"""What a problem is that rankers can be compared on."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from peckorder._core.typing import Floats, Labels


class Split(NamedTuple):
    """Rows to learn from, in order, and rows to be tested on; queries if there are."""

    X_train: Floats
    y_train: Labels
    X_test: Floats
    y_test: Labels
    qid_train: Labels | None = None
    qid_test: Labels | None = None


class Axes(NamedTuple):
    """What the curves of a kind of problem show, and from which point on."""

    title: str
    x_label: str
    y_label: str
    caption: str
    first: int = 1


@dataclass(frozen=True, slots=True)
class Problem(ABC):
    """Data that can be drawn, or divided, again and again, and how to measure on it.

    Subclasses are the kinds of problem: `OrdinalProblem`, `GradedProblem` and
    `MagnitudeProblem`.

    Parameters
    ----------
    name : str
        What it is called.
    description : str
        What it is, in a sentence or two.
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
    draw: Callable[[int], Split]
    settings: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    reference: tuple[str, float] | None = field(default=None, kw_only=True)

    # What is measured, the loss that decides first; in words; what knows nothing.
    measures: ClassVar[tuple[str, ...]]
    meaning: ClassVar[str]
    ignorant: ClassVar[str]
    # What is compared unless other rankers are given.
    rankers: ClassVar[Mapping[str, Any]]
    axes: ClassVar[Axes]

    @abstractmethod
    def measure(self, model: Any, split: Split) -> tuple[float, ...]:
        """Return all measures of a fitted model on the rows to be tested on."""

    @abstractmethod
    def measure_ignorant(self, split: Split) -> tuple[float, ...]:
        """Return all measures of what knows nothing about the rows."""

    @abstractmethod
    def follow(self, model: Any, split: Split) -> Floats | None:
        """Return how the loss falls while a fitted model learns, if that can be said.

        A curve that is shorter than others goes on as it ends.
        """
