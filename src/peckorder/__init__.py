"""Learns to put things in order: from ratings, grades, preferences and ranked lists."""

from typing import TYPE_CHECKING, Any

from peckorder import (
    bounds,
    collaborative,
    datasets,
    export,
    gaps,
    losses,
    metrics,
    model_selection,
)
from peckorder._version import __version__ as __version__
from peckorder.estimators import (
    AggregatePRank,
    MPRank,
    MPRankCV,
    MulticlassPerceptron,
    PRank,
    RankBoost,
    SVRank,
    WidrowHoff,
)
from peckorder.feedback import Preferences, Ratings

if TYPE_CHECKING:
    from peckorder.io import load
else:

    def __getattr__(name: str) -> Any:
        """Find `load` when it is asked for: most programs never do."""
        if name != "load":
            raise AttributeError(f"module 'peckorder' has no attribute {name!r}")
        from peckorder.io import load

        return load


__all__ = [
    "AggregatePRank",
    "MPRank",
    "MPRankCV",
    "MulticlassPerceptron",
    "PRank",
    "Preferences",
    "RankBoost",
    "Ratings",
    "SVRank",
    "WidrowHoff",
    "bounds",
    "collaborative",
    "datasets",
    "export",
    "gaps",
    "load",
    "losses",
    "metrics",
    "model_selection",
]
