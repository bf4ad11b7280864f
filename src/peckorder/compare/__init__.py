"""Which ranker is best? Train them all on the same data and measure them alike."""

from peckorder.compare.embedded.graded import GradedProblem
from peckorder.compare.embedded.magnitude import MagnitudeProblem
from peckorder.compare.embedded.ordinal import OrdinalProblem
from peckorder.compare.embedded.problem import Problem, Split
from peckorder.compare.embedded.problems import PROBLEMS
from peckorder.compare.embedded.rankers import (
    GRADED_RANKERS,
    MAGNITUDE_RANKERS,
    ORDINAL_RANKERS,
)
from peckorder.compare.embedded.run import Comparison, Outcome, run
from peckorder.metrics import half_width

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
