"""Learns to put things in order: from ratings, grades, preferences and ranked lists."""

from importlib import import_module
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
    from peckorder import streams
    from peckorder.io import load
else:

    def __getattr__(name: str) -> Any:
        """Find `load` and `streams` when asked for them: most programs never do."""
        if name == "load":
            from peckorder.io import load

            return load
        if name == "streams":
            return import_module("peckorder.streams")
        raise AttributeError(f"module 'peckorder' has no attribute {name!r}")


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
    "streams",
]
