"""Learns to put things in order: from ratings, grades, preferences and ranked lists."""

from peckorder import bounds, datasets, metrics
from peckorder.estimators import (
    AggregatePRank,
    MulticlassPerceptron,
    PRank,
    WidrowHoff,
)

__version__ = "0.1.0"

__all__ = [
    "AggregatePRank",
    "MulticlassPerceptron",
    "PRank",
    "WidrowHoff",
    "bounds",
    "datasets",
    "metrics",
]
