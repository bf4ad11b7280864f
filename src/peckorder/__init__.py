"""Learns to put things in order: from ratings, grades, preferences and ranked lists."""

from peckorder import (
    bounds,
    collaborative,
    datasets,
    gaps,
    losses,
    metrics,
    model_selection,
)
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

__version__ = "0.1.0"

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
    "gaps",
    "losses",
    "metrics",
    "model_selection",
]
