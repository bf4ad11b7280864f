"""What a kept model cannot be used for."""

from typing import Any

import numpy as np

from peckorder.collaborative import PersonalRanker
from peckorder.estimators import RankBoost, TableRanker
from peckorder.export._onnx import is_exportable


def refusals(model: Any) -> str:
    """Say what a kept model cannot be used for beside ranking; nothing if for all."""
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
