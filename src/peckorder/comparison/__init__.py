"""Which ranker is best? Train them all on the same data and measure them alike."""

from peckorder.comparison.embedded import Comparison, run
from peckorder.comparison.problems import (
    GRADED_RANKERS,
    MAGNITUDE_RANKERS,
    ORDINAL_RANKERS,
    PROBLEMS,
    GradedProblem,
    MagnitudeProblem,
    OrdinalProblem,
    Problem,
    Split,
)
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
    "Problem",
    "Split",
    "half_width",
    "run",
]
