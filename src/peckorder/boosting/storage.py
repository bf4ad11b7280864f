"""Boosted rankers as files: weak rankings with their weights."""

from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from peckorder._core.typing import Array, Floats, Ints
from peckorder.boosting.rounds import RECORD, ScoreTable
from peckorder.storage.fields import Field, Table, flag, floats, ints, nested, number
from peckorder.storage.format import Node
from peckorder.storage.models import stored_parameter

if TYPE_CHECKING:
    from peckorder.boosting.rankboost import RankBoost

# Sums of weights must be finite.
_LARGEST_ALPHA = 1e100


def _check_rankers(node: Node) -> None:
    alpha, default = node.values["alpha"], node.values["default"]
    if not (np.abs(alpha) <= _LARGEST_ALPHA).all():
        raise node.refuse("alpha", f"at most {_LARGEST_ALPHA:g}")
    is_cut = ~np.isnan(node.values["threshold"])
    if not np.isin(default[is_cut], (0.0, 1.0)).all():
        raise node.refuse("default", "0 or 1 for thresholds")


def _records(feature: Ints, threshold: Floats, default: Floats, alpha: Floats) -> Array:
    rankers = np.empty(len(feature), dtype=RECORD)
    rankers["feature"], rankers["threshold"] = feature, threshold
    rankers["default"], rankers["alpha"] = default, alpha
    return rankers


_RANKERS = Table(
    Field("feature", ints("rounds", below="features"), itemgetter("feature")),
    Field("threshold", floats("rounds", finite=False), itemgetter("threshold")),
    Field("default", floats("rounds"), itemgetter("default")),
    Field("alpha", floats("rounds"), itemgetter("alpha")),
    complete=_check_rankers,
)


def _plain_rankers(model: "RankBoost") -> Array:
    if model.own_rankings_:
        stored_parameter("weak", model.own_rankings_[0])
    return model.weak_rankers_


def _complete(node: Node) -> None:
    rankers = node.values.pop("rankers")
    node.values |= {
        "weak_rankers_": rankers,
        "own_rankings_": [],
        "n_rounds_": len(rankers),
        "_table": ScoreTable.of(rankers),
    }


BOOSTED = Table(
    Field("rankers", nested(_RANKERS, _records), _plain_rankers),
    Field("bounds", floats("rounds+1"), "bounds_"),
    Field("smoothing", number(low=0.0), "smoothing_"),
    Field("importances", floats("features"), "feature_importances_"),
    Field("validation_scores", floats(None, finite=False), "validation_scores_", optional=True),
    Field("unstored", flag(), "_unstored"),
    Field("has_offset", flag(), "_has_offset"),
    complete=_complete,
)
