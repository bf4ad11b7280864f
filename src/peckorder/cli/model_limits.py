"""What a saved model cannot be used for."""

import numpy as np

from peckorder.collaborative import PersonalRanker
from peckorder.estimators import RankBoost, TableRanker
from peckorder.export._onnx import is_exportable
from peckorder.tables.model_rows import gives_classes


def no_classes(model: object, kind: str) -> str:
    """Return that a model of scores gives no classes, if it learnt from classes."""
    inner = model.ranker_ if isinstance(model, TableRanker) else model
    if kind != "ordinal" or gives_classes(inner):
        return ""
    return "It gives scores, not classes: rank writes no column predicted."


def model_limits(model: object, kind: str = "") -> str:
    """Return what a saved model cannot be used for; `kind` is that of its task."""
    return " ".join(filter(None, (no_classes(model, kind), _cannot(model))))


def _cannot(model: object) -> str:
    """Return what a model cannot be used for beside ranking."""
    inner = model.ranker_ if isinstance(model, TableRanker) else model
    coef = getattr(inner, "coef_", None)
    is_plain = coef is not None and np.ndim(coef) == 1
    cannot = []
    if not (is_plain or isinstance(inner, RankBoost | PersonalRanker)):
        cannot.append("explained (peckorder explain)")
    if not is_exportable(model):
        cannot.append("exported (to_onnx)")
    if not cannot:
        return ""
    what = f"{type(inner).__name__}"
    kernel = getattr(inner, "kernel", "linear")
    if kernel != "linear":
        what += f" with kernel={kernel!r}"
    elif is_plain and isinstance(model, TableRanker):
        what = "columns of text are coded for it"
    return f"It cannot be {' or '.join(cannot)}: {what}."
