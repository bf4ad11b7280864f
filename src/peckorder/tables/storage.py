"""Rankers of tables as files."""

from itertools import chain
from typing import Any

import numpy as np

from peckorder._core.errors import refusal
from peckorder._core.typing import Ints
from peckorder.storage.fields import Field, FieldType, Table, array, floats, nullable
from peckorder.storage.fields import texts as text_list
from peckorder.storage.format import Node
from peckorder.storage.mixin import StoredModel, inner_models
from peckorder.storage.models import document, read_document
from peckorder.tables.preparing import n_coded


def _read_ends(node: Node, name: str) -> Ints:
    n_columns, texts = int(node.values["is_text"].sum()), node.values["levels"]
    return node.pointers(name, len(texts or ()), n_columns + 1)


# The texts of all columns of text, one after another, and where each column ends.
_LEVELS = (
    Field(
        "is_text",
        array("b1", "features"),
        lambda model: np.array([texts is not None for texts in model.levels_]),
    ),
    Field(
        "levels",
        nullable(text_list()),
        lambda model: _joined([texts for texts in model.levels_ if texts is not None]),
    ),
    Field(
        "ends",
        nullable(FieldType(_read_ends)),
        lambda model: _ends([texts for texts in model.levels_ if texts is not None]),
    ),
)


def _joined(columns: list[tuple[str, ...]]) -> list[str] | None:
    return list(chain(*columns)) if columns else None


def _ends(columns: list[tuple[str, ...]]) -> Ints | None:
    return np.cumsum([0, *map(len, columns)]) if columns else None


def _levels(node: Node) -> list[tuple[str, ...] | None]:
    """Return the texts of each column, None for a column of numbers."""
    is_text, flat, ends = (node.values.pop(field.name) for field in _LEVELS)
    levels: list[tuple[str, ...] | None] = [None] * len(is_text)
    if is_text.any() != (flat is not None) or is_text.any() != (ends is not None):
        raise node.refuse("levels", "null without columns of text, and only then")
    for k, column in enumerate(np.flatnonzero(is_text).tolist()):
        levels[column] = texts = tuple(flat[ends[k] : ends[k + 1]])
        if len(set(texts)) < len(texts):
            raise node.refuse("levels", "texts that differ within a column")
    return levels


def _complete(node: Node) -> None:
    values = node.values
    names = getattr(node.owner, "feature_names_in_", None)
    if names is not None and len(set(names.tolist())) < len(names):
        raise node.refuse("feature_names", "names that differ")
    values["levels_"] = _levels(node)
    width = n_coded(values["levels_"])
    if node.sizes.setdefault("prepared", width) != width:
        raise node.refuse("shift", f"of shape ({width})")
    shift, scale = values["shift_"], values["scale_"]
    if (shift is None) != (scale is None):
        is_absent = "null without shift" if shift is None else "one of the arrays"
        raise node.refuse("scale", is_absent)
    if scale is not None and not (scale > 0).all():
        raise node.refuse("scale", "positive")
    if getattr(values["ranker_"], "n_features_in_", None) != width:
        raise node.refuse("ranker.n_features", f"{width}, as many as columns")


def _write_ranker(ranker: object) -> dict[str, Any]:
    if not isinstance(ranker, StoredModel):
        raise refusal(
            "ranker",
            "be one of peckorder's own estimators to be saved, as a file holds no code",
            type(ranker).__name__,
            error=TypeError,
        )
    return document(ranker)


def _read_ranker(node: Node, name: str) -> StoredModel:
    inner = {n: kind for n, kind in inner_models().items() if n != "TableRanker"}
    model: StoredModel = read_document(node.child(name), inner)
    return model


TABLE = Table(
    *_LEVELS,
    Field("shift", nullable(floats("prepared")), "shift_"),
    Field("scale", nullable(floats("prepared")), "scale_"),
    Field("ranker", FieldType(_read_ranker, _write_ranker), "ranker_"),
    complete=_complete,
)
