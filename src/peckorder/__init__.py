"""Learns to put things in order: from ratings, grades, preferences and ranked lists."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from peckorder._version import __version__ as __version__

if TYPE_CHECKING:
    from peckorder import (
        bounds,
        collaborative,
        datasets,
        export,
        gaps,
        hedge,
        losses,
        metrics,
        model_selection,
        streams,
    )
    from peckorder.comparison.leaderboard import compare
    from peckorder.estimators import (
        AggregatePRank,
        CalibratedOrdinal,
        MPRank,
        MPRankCV,
        MulticlassPerceptron,
        PRank,
        RankBoost,
        SVRank,
        TableRanker,
        WidrowHoff,
    )
    from peckorder.feedback import Preferences, Ratings
    from peckorder.io import load
    from peckorder.items import rank_items

# Where names are found when they are first asked for: a program that uses few of them,
# or a command that only says what is wrong with it, does not wait for all.
_HOMES = {
    "AggregatePRank": "estimators",
    "CalibratedOrdinal": "estimators",
    "MPRank": "estimators",
    "MPRankCV": "estimators",
    "MulticlassPerceptron": "estimators",
    "OrdinalBoost": "estimators",
    "PRank": "estimators",
    "Preferences": "feedback",
    "RankBoost": "estimators",
    "Ratings": "feedback",
    "SVRank": "estimators",
    "TableRanker": "estimators",
    "WidrowHoff": "estimators",
    "compare": "comparison.leaderboard",
    "load": "io",
    "rank_items": "items",
}

__all__ = [
    "AggregatePRank",
    "CalibratedOrdinal",
    "MPRank",
    "MPRankCV",
    "MulticlassPerceptron",
    "OrdinalBoost",
    "PRank",
    "Preferences",
    "RankBoost",
    "Ratings",
    "SVRank",
    "TableRanker",
    "WidrowHoff",
    "bounds",
    "collaborative",
    "compare",
    "datasets",
    "export",
    "gaps",
    "hedge",
    "load",
    "losses",
    "metrics",
    "model_selection",
    "rank_items",
    "streams",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        found = getattr(import_module(f"peckorder.{_HOMES[name]}"), name)
        globals()[name] = found
        return found
    if name in __all__:
        return import_module(f"peckorder.{name}")
    raise AttributeError(f"module 'peckorder' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
