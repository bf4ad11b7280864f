"""Rankers of tables as files."""

from typing import Any

import numpy as np

from peckorder.storage.format import Node
from peckorder.storage.format.labels import as_objects
from peckorder.storage.format.packing import labels
from peckorder.storage.mixin import StoredModel, inner_models
from peckorder.storage.models import document, read_document
from peckorder.tables.preparing import n_coded


def table_state(model: Any) -> dict[str, Any]:
    """Return how columns are prepared, and the ranker."""
    if not isinstance(model.ranker_, StoredModel):
        raise TypeError(
            "TableRanker: ranker must be one of peckorder's own estimators to be "
            f"saved, as a file holds no code; got {type(model.ranker_).__name__}."
        )
    texts = [values for values in model.levels_ if values is not None]
    flat = [value for values in texts for value in values]
    return {
        "is_text": np.array([values is not None for values in model.levels_]),
        "levels": labels(as_objects(flat)) if texts else None,
        "ends": np.cumsum([0, *map(len, texts)]) if texts else None,
        "shift": model.shift_,
        "scale": model.scale_,
        "ranker": document(model.ranker_),
    }


def restore_table(model: Any, node: Node) -> None:
    """Take back what `table_state` returned."""
    n_columns = getattr(model, "n_features_in_", 0)
    names = getattr(model, "feature_names_in_", None)
    if names is not None and len(set(names.tolist())) < n_columns:
        raise node.refuse("feature_names", "names that differ")
    is_text = node.array("is_text", "b1", (n_columns,))
    levels: list[tuple[str, ...] | None] = [None] * n_columns
    if is_text.any():
        flat = node.labels("levels").tolist()
        if not all(type(value) is str for value in flat):
            raise node.refuse("levels", "texts")
        ends = node.pointers("ends", len(flat), int(is_text.sum()) + 1).tolist()
        for k, place in enumerate(np.flatnonzero(is_text).tolist()):
            values = tuple(flat[ends[k] : ends[k + 1]])
            if len(set(values)) < len(values):
                raise node.refuse("levels", "texts that differ within a column")
            levels[place] = values
    elif node.has("levels") or node.has("ends"):
        raise node.refuse("levels", "null without columns of text")
    width = n_coded(levels)
    model.levels_, model.shift_, model.scale_ = levels, None, None
    if node.has("shift"):
        model.shift_ = node.floats("shift", width)
        model.scale_ = node.floats("scale", width)
        if not (model.scale_ > 0).all():
            raise node.refuse("scale", "positive")
    elif node.has("scale"):
        raise node.refuse("scale", "null without shift")
    inner = {n: kind for n, kind in inner_models().items() if n != "TableRanker"}
    ranker = read_document(node.child("ranker"), inner)
    if getattr(ranker, "n_features_in_", None) != width:
        raise node.refuse("ranker.n_features", f"{width}, as many as columns")
    model.ranker_ = ranker
