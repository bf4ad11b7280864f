"""Learns to put things in order: from ratings, grades, preferences and ranked lists."""

from peckorder import bounds, datasets, metrics, model_selection
from peckorder.estimators import (
    AggregatePRank,
    MulticlassPerceptron,
    PRank,
    RankBoost,
    WidrowHoff,
)
from peckorder.feedback import Preferences

__version__ = "0.1.0"

__all__ = [
    "AggregatePRank",
    "MulticlassPerceptron",
    "PRank",
    "Preferences",
    "RankBoost",
    "WidrowHoff",
    "bounds",
    "datasets",
    "metrics",
    "model_selection",
]
