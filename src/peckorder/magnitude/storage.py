"""Magnitude-preserving rankers as files: weights, rows with a kernel, moments.

Rows that scores do not need are left behind, as in a pickle.
"""

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from peckorder._core.row_transform import RowTransform
from peckorder._core.typing import Floats, Matrix
from peckorder.magnitude.mprank_solver.kernel_matrix import Gram
from peckorder.magnitude.mprank_solver.kernel_stream import Visits
from peckorder.magnitude.mprank_solver.moments import RunningMoments
from peckorder.magnitude.mprank_solver.pair_solve import TrainingPairs
from peckorder.magnitude.mprank_solver.pairs import PairWeights
from peckorder.magnitude.mprank_solver.rows import QueryWeights
from peckorder.magnitude.mprank_solver.solve import TrainingRows
from peckorder.similarity.kernel_function import KernelFunction
from peckorder.storage.fields import (
    OMITTED,
    Field,
    Table,
    flag,
    floats,
    ints,
    matrix,
    nested,
    nullable,
    number,
    whole,
    word,
)
from peckorder.storage.format import Node
from peckorder.storage.models import MOST_DEGREE, stored_parameter

if TYPE_CHECKING:
    from peckorder.magnitude.base import MagnitudeModel


def _kernel_name(gram: Gram) -> str:
    function = gram.function
    if function.function is not None:
        stored_parameter("kernel", function.function)  # which it is not
    return function.name


def _check_gram(node: Node) -> None:
    X, centre = node.values["X"], node.values["centre"]
    if X.shape[0] == 0:
        raise node.refuse("rows", "one row at least")
    is_centred = node.values["name"] == "rbf" and isinstance(X, np.ndarray)
    if (centre is not None) != is_centred:
        raise node.refuse("centre", "given with dense rows and an 'rbf' kernel alone")


def _gram(X: Matrix, centre: Floats | None, name: str, **parameters: Any) -> Gram:
    transform = RowTransform(intercept=False, unit_norm=False)
    return Gram(KernelFunction(transform, X.shape[1], name, **parameters), X, centre)


_GRAM = Table(
    Field("name", word("poly", "rbf"), _kernel_name),
    Field("gamma", number(low=0.0), attrgetter("function.gamma")),
    Field("coef0", number(), attrgetter("function.coef0")),
    Field("degree", whole(1, MOST_DEGREE), attrgetter("function.degree")),
    Field("rows", matrix("support", "features", kinds="f8"), "X"),
    Field("centre", nullable(floats("features"))),
    complete=_check_gram,
)


def _kept_rows(model: "MagnitudeModel") -> Any:
    if model._gram is None:
        return OMITTED
    return None if isinstance(model._kept, slice) else model._kept


def _complete_magnitude(node: Node) -> None:
    values, gram = node.values, node.values["_gram"]
    dual_coef, kept = values.get("dual_coef_"), values.pop("kept", None)
    if gram is None:
        n_features = node.sizes["features"]
        if kept is not None:
            raise node.refuse("kept", "null without rows of a kernel")
        # Without weights a kernel matrix was given, with one column per training row.
        if "coef_" not in values and (dual_coef is None or len(dual_coef) != n_features):
            raise node.refuse("dual_coef", f"of shape ({n_features},)")
        return
    if dual_coef is None:
        raise node.refuse("dual_coef", "one coefficient per row")
    if kept is None and len(gram) != len(dual_coef):
        raise node.refuse("dual_coef", f"of shape ({len(gram)},)")
    values["_kept"] = slice(None) if kept is None else kept


MAGNITUDE = Table(
    Field("coef", floats("features"), "coef_", optional=True),
    Field("dual_coef", floats("rows"), "dual_coef_", optional=True),
    Field("intercept", number(), "intercept_"),
    Field("objective", number(), "objective_"),
    Field("dual_gap", number(finite=False), "dual_gap_"),
    Field("n_iter", whole(), "n_iter_"),
    Field("has_offset", flag(), "_has_offset"),
    Field("has_queries", flag(), "_has_queries", optional=True),
    Field("gram", nullable(nested(_GRAM, _gram)), "_gram"),
    Field("kept", ints("support", below="rows", rising=True), _kept_rows, optional=True),
    complete=_complete_magnitude,
)


_MOMENTS = Table(
    Field("has_queries", flag()),
    Field("factor", floats("features+1", "features+1")),
    Field("unit", number(low=0.0)),
    Field("mass", number(low=0.0)),
    Field("squared_masses", number(low=0.0)),
    Field("origin", floats("features+1")),
    Field("mean", floats("features+1")),
    Field("has_pairs", flag(), optional=True),
)


def _moments(has_pairs: bool | None = None, **values: Any) -> RunningMoments:
    # Files from before there were pairs have no such entry.
    return RunningMoments(**values, has_pairs=bool(has_pairs))


def _training_rows(model: "MagnitudeModel") -> TrainingRows | None:
    """Return the training rows, if the file is to have them."""
    training = None if model._gram is None else vars(model).get("_training")
    return training if isinstance(training, TrainingRows) else None


def _check_sample(node: Node) -> None:
    weight, query = node.values["weight"], node.values["query"]
    if len(query) == 0 or np.bincount(query).min() == 0:
        raise node.refuse("query", "numbered without gaps")
    if weight is not None and not weight.min() > 0.0:
        raise node.refuse("weight", "positive")


_VISITS = Table(
    Field("beta", floats("support")),
    Field("image", floats("support")),
    Field("sums", floats("support")),
    Field("diagonal", floats("support")),
)
_SAMPLE = Table(
    Field("y", floats("support")),
    Field("offset", nullable(floats("support"))),
    Field("weight", nullable(floats("support"))),
    Field("query", ints("support", below="support"), attrgetter("weights.query")),
    Field("has_queries", flag()),
    complete=_check_sample,
)


def _complete_squared(node: Node) -> None:
    values = node.values
    sample, gram = values.pop("sample", None), values["_gram"]
    pairs = values.pop("pairs", None)
    if pairs is not None:
        if gram is None or "_fitted_C" not in values or sample is not None:
            raise node.refuse("pairs", "with a kernel, and without a sample")
        kept, n_rows = values["_kept"], len(values["dual_coef_"])
        values["_training"] = TrainingPairs(
            rows=gram, weights=pairs, kept=kept, n_rows=n_rows, is_copy=True
        )
    if sample is None:
        if "_visits" in values:
            raise node.refuse("visits", "with the rows that were visited")
        return
    if gram is None or "_fitted_C" not in values:
        raise node.refuse("sample", "with a kernel")
    y, offset, weight = sample["y"], sample["offset"], sample["weight"]
    values["_training"] = TrainingRows(
        rows=gram,
        y=y,
        label=y if offset is None else y - offset,
        offset=offset,
        weights=QueryWeights.of(sample["query"], weight),
        weight=weight,
        has_queries=sample["has_queries"],
        kept=values["_kept"],
        n_rows=len(values["dual_coef_"]),
        is_copy=True,
    )


def _training_pairs(model: "MagnitudeModel") -> PairWeights | None:
    """Return the listed pairs, if the file is to have them."""
    training = None if model._gram is None else vars(model).get("_training")
    return training.weights if isinstance(training, TrainingPairs) else None


def _check_pairs(node: Node) -> None:
    better, worse, root = (node.values[name] for name in ("better", "worse", "root"))
    ends = np.bincount(np.concatenate([better, worse]), minlength=node.sizes["support"])
    if len(better) == 0 or (better == worse).any() or ends.min() == 0:
        raise node.refuse("better", "pairs of rows, each in some pair")
    if not (root.min() > 0.0 and root.max() == 1.0):
        raise node.refuse("root", "positive, 1 at most")


_PAIRS = Table(
    Field("better", ints("pairs", below="support")),
    Field("worse", ints("pairs", below="support")),
    Field("root", floats("pairs")),
    Field("size", floats("pairs")),
    Field("lead", floats("pairs")),
    complete=_check_pairs,
)


# What pairs are left out of, and partial_fit continues from.
SQUARED = MAGNITUDE.extended(
    Field("fitted_C", number(positive=True), "_fitted_C", optional=True),
    Field("moments", nested(_MOMENTS, _moments), "_moments", optional=True),
    Field("visits", nested(_VISITS, Visits), "_visits", optional=True),
    Field("sample", nested(_SAMPLE, dict), _training_rows, optional=True),
    Field("pairs", nested(_PAIRS, PairWeights.connected), _training_pairs, optional=True),
    complete=_complete_squared,
)

TUNED = SQUARED.extended(
    Field("C", number(positive=True), "C_"),
    Field("gamma", nullable(number(low=0.0)), "gamma_"),
    Field("errors", floats(None, None, finite=False), "errors_"),
)
