"""Boosted rankers as files: weak rankings with their weights."""

from typing import Any

import numpy as np

from peckorder.boosting.rounds import RECORD, ScoreTable
from peckorder.storage.format import Node
from peckorder.storage.models import stored_parameter

# Sums of weights must be finite.
_LARGEST_ALPHA = 1e100


def boosted_state(model: Any) -> dict[str, Any]:
    """Return the rounds, and what is shown of them."""
    if model.own_rankings_:
        stored_parameter(type(model).__name__, "weak", model.own_rankings_[0])
    rankers = model.weak_rankers_
    return {
        "rankers": {name: rankers[name].copy() for name in RECORD.names or ()},
        "bounds": model.bounds_,
        "smoothing": float(model.smoothing_),
        "importances": model.feature_importances_,
        "validation_scores": getattr(model, "validation_scores_", None),
        "unstored": bool(model._unstored),
        "has_offset": bool(model._has_offset),
    }


def restore_boosted(model: Any, node: Node) -> None:
    """Take back what `boosted_state` returned."""
    model.feature_importances_ = node.floats("importances", "features")
    if getattr(model, "n_features_in_", None) != node.sizes["features"]:
        raise node.refuse("importances", "a number a feature")
    model.weak_rankers_ = rankers = _rankers(
        node.child("rankers"), model.n_features_in_
    )
    model.own_rankings_ = []
    model.n_rounds_ = len(rankers)
    model.bounds_ = node.floats("bounds", len(rankers) + 1)
    model.smoothing_ = node.number("smoothing", low=0.0)
    if node.has("validation_scores"):
        model.validation_scores_ = node.floats("validation_scores", None, finite=False)
    model._unstored = node.flag("unstored")
    model._has_offset = node.flag("has_offset")
    model._table = ScoreTable.of(rankers)


def _rankers(node: Node, n_features: int) -> Any:
    feature = node.ints("feature", "rounds", below=n_features)
    threshold = node.floats("threshold", "rounds", finite=False)
    default = node.floats("default", "rounds")
    alpha = node.floats("alpha", "rounds")
    if not (np.abs(alpha) <= _LARGEST_ALPHA).all():
        raise node.refuse("alpha", f"at most {_LARGEST_ALPHA:g}")
    is_cut = ~np.isnan(threshold)
    if not np.isin(default[is_cut], (0.0, 1.0)).all():
        raise node.refuse("default", "0 or 1 for thresholds")
    rankers = np.empty(len(feature), dtype=RECORD)
    rankers["feature"], rankers["threshold"] = feature, threshold
    rankers["default"], rankers["alpha"] = default, alpha
    return rankers
