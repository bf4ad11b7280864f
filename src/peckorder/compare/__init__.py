"""Which ranker is best? Train them all on the same data and measure them alike."""

from peckorder.compare._engine import Comparison, Outcome, half_width, run
from peckorder.compare._graded import GradedProblem
from peckorder.compare._magnitudes import MagnitudeProblem
from peckorder.compare._ordinal import OrdinalProblem
from peckorder.compare._problem import Problem, Split
from peckorder.compare._problems import PROBLEMS
from peckorder.compare._rankers import (
    GRADED_RANKERS,
    MAGNITUDE_RANKERS,
    ORDINAL_RANKERS,
)

__all__ = [
    "GRADED_RANKERS",
    "MAGNITUDE_RANKERS",
    "ORDINAL_RANKERS",
    "PROBLEMS",
    "Comparison",
    "GradedProblem",
    "MagnitudeProblem",
    "OrdinalProblem",
    "Outcome",
    "Problem",
    "Split",
    "half_width",
    "run",
]
