"""Magnitude-preserving rankers as files: weights, rows with a kernel, moments.

Rows that scores do not need are left behind, as in a pickle.
"""

from typing import Any

import numpy as np

from peckorder._core.row_transform import RowTransform
from peckorder._core.typing import Floats
from peckorder.magnitude.mprank_solver.kernel_matrix import Gram
from peckorder.magnitude.mprank_solver.moments import RunningMoments
from peckorder.magnitude.mprank_solver.query_weights import QueryWeights
from peckorder.magnitude.mprank_solver.solve import TrainingRows
from peckorder.similarity.kernel_function import KernelFunction
from peckorder.storage.format import Node
from peckorder.storage.models import MOST_DEGREE, stored_parameter

_MOMENTS = (
    "has_queries",
    "factor",
    "unit",
    "mass",
    "squared_masses",
    "origin",
    "mean",
)


def magnitude_state(model: Any) -> dict[str, Any]:
    """Return what scores need, and what is shown of how they were found."""
    known = vars(model)
    gram = known.get("_gram")
    state = {
        "coef": known.get("coef_"),
        "dual_coef": known.get("dual_coef_"),
        "intercept": float(model.intercept_),
        "objective": float(model.objective_),
        "dual_gap": float(model.dual_gap_),
        "n_iter": model.n_iter_,
        "has_offset": bool(model._has_offset),
        "gram": None if gram is None else _of_gram(gram),
    }
    if gram is not None:
        kept = known["_kept"]
        state["kept"] = None if isinstance(kept, slice) else kept.astype(np.int64)
    return state


def _of_gram(gram: Gram) -> dict[str, Any]:
    function = gram.function
    if function.function is not None:
        stored_parameter(function.who, "kernel", function.function)  # which it is not
    names = ("name", "gamma", "coef0", "degree")
    parts = {name: getattr(function, name) for name in names}
    return parts | {"rows": gram.X, "centre": gram.centre}


def restore_magnitude(model: Any, node: Node) -> None:
    """Take back what `magnitude_state` returned."""
    n_features = getattr(model, "n_features_in_", None)
    if n_features is None:
        raise node.refuse("coef", "of rows with features")
    if node.has("coef"):
        model.coef_ = node.floats("coef", n_features)
    if node.has("dual_coef"):
        model.dual_coef_ = node.floats("dual_coef", None)
    model._gram = None
    if node.has("gram"):
        if not hasattr(model, "dual_coef_"):
            raise node.refuse("dual_coef", "a coefficient a row")
        _restore_gram(model, node, n_features)
    elif not hasattr(model, "coef_") and (
        getattr(model, "dual_coef_", np.empty(0)).shape != (n_features,)
    ):
        # Kernels were given: a column of X is a row learnt from.
        raise node.refuse("dual_coef", f"of shape ({n_features},)")
    model.intercept_ = node.number("intercept")
    model.objective_ = node.number("objective")
    model.dual_gap_ = node.number("dual_gap", finite=False)
    model.n_iter_ = node.whole("n_iter")
    model._has_offset = node.flag("has_offset")


def _restore_gram(model: Any, node: Node, n_features: int) -> None:
    model._gram = gram = _gram(type(model).__name__, node.child("gram"), n_features)
    n_rows = len(model.dual_coef_)
    model._kept = slice(None)
    if node.has("kept"):
        model._kept = node.ints("kept", len(gram), below=n_rows, rising=True)
    elif len(gram) != n_rows:
        raise node.refuse("dual_coef", f"of shape ({len(gram)},)")
    model._support_coef = model.dual_coef_[model._kept]


def _gram(who: str, node: Node, n_features: int) -> Gram:
    function = KernelFunction(
        who,
        RowTransform(intercept=False, unit_norm=False),
        n_features,
        node.word("name", ("poly", "rbf")),
        node.number("gamma", low=0.0),
        node.number("coef0"),
        node.whole("degree", 1, MOST_DEGREE),
    )
    X = node.matrix("rows", n_features, kinds="f8")
    centre = node.floats("centre", n_features) if node.has("centre") else None
    if X.shape[0] == 0:
        raise node.refuse("rows", "one row at least")
    if (centre is not None) != (function.name == "rbf" and isinstance(X, np.ndarray)):
        raise node.refuse("centre", "given with dense rows and an 'rbf' kernel alone")
    return Gram(function, X, centre)


def sample_state(model: Any) -> dict[str, Any]:
    """Return what pairs are left out of, and streams go on from, if it is kept."""
    known = vars(model)
    sample, moments = known.get("_training"), known.get("_moments")
    state: dict[str, Any] = {"fitted_C": known.get("_fitted_C"), "moments": None}
    if moments is not None:
        state["moments"] = {name: getattr(moments, name) for name in _MOMENTS}
    if sample is None or known.get("_gram") is None:
        return state | {"sample": None}
    parts = {"y": sample.y, "offset": sample.offset, "weight": sample.weight}
    query = sample.weights.query.astype(np.int64)
    has_queries = bool(model._has_queries)
    return state | {"sample": parts | {"query": query, "has_queries": has_queries}}


def restore_sample(model: Any, node: Node) -> None:
    """Take back what `sample_state` returned."""
    who, n_features = type(model).__name__, model.n_features_in_
    if node.has("fitted_C"):
        model._fitted_C = node.number("fitted_C", low=0.0)
    if node.has("moments"):
        model._moments = _moments(who, node.child("moments"), n_features + 1)
    if node.has("sample"):
        part = node.child("sample")
        if model._gram is None or not hasattr(model, "_fitted_C"):
            raise node.refuse("sample", "with a kernel")
        model._has_queries = part.flag("has_queries")
        model._training = _training(who, part, model._gram)


def _training(who: str, node: Node, gram: Gram) -> TrainingRows:
    n_rows = len(gram)
    y = node.floats("y", n_rows)
    offset = node.floats("offset", n_rows) if node.has("offset") else None
    weight: Floats | None = None
    if node.has("weight"):
        weight = node.floats("weight", n_rows)
        if not weight.min() > 0.0:
            raise node.refuse("weight", "positive")
    query = node.ints("query", n_rows, below=n_rows)
    if np.bincount(query).min() == 0:
        raise node.refuse("query", "numbered without gaps")
    label = y if offset is None else y - offset
    weights = QueryWeights.of(query, weight)
    return TrainingRows(who, gram, y, label, offset, weights, weight, is_copy=True)


def _moments(who: str, node: Node, size: int) -> RunningMoments:
    return RunningMoments(
        who,
        node.flag("has_queries"),
        node.floats("factor", size, size),
        node.number("unit", low=0.0),
        node.number("mass", low=0.0),
        node.number("squared_masses", low=0.0),
        node.floats("origin", size),
        node.floats("mean", size),
    )
