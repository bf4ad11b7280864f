"""Which ranker is best? Train them all on the same data and measure them alike."""

from peckorder.compare._engine import Comparison, Outcome, half_width, run
from peckorder.compare._problems import PROBLEMS, Problem, Split
from peckorder.compare._rankers import RANKERS

__all__ = [
    "PROBLEMS",
    "RANKERS",
    "Comparison",
    "Outcome",
    "Problem",
    "Split",
    "half_width",
    "run",
]
