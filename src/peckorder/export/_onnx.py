"""From a fitted model to an ONNX file's content."""

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import DTypeLike
from sklearn.utils.validation import check_is_fitted

from peckorder._core.errors import entry, refusal
from peckorder._core.row_transform import RowTransform
from peckorder._core.typing import Floats, Labels
from peckorder.estimators import (
    MPRank,
    MPRankCV,
    MulticlassPerceptron,
    OrdinalBoost,
    PRank,
    RankBoost,
    SVRank,
    TableRanker,
    WidrowHoff,
)
from peckorder.export._graph import Graph, onnx_package, write_forest, write_rankboost
from peckorder.ordinal.learners.baselines import WeightsLearner
from peckorder.ordinal.learners.prank import PRankLearner
from peckorder.tables.answers import Answer, Cuts, LabelScale
from peckorder.tables.coders import Dates, LeftOut, Number

if TYPE_CHECKING:
    from onnx import ModelProto

# Shorter rows are not brought to unit norm.
_TINY = 1e-300
_EXPORTABLE = (
    "a WidrowHoff, a MulticlassPerceptron, a PRank, MPRank, MPRankCV or SVRank with "
    "kernel='linear' (of PRank the averaged or last rule, without a budget), a RankBoost on "
    "thresholds, features or trees of numbers, or an OrdinalBoost on numbers"
)


@entry
def to_onnx(model: Any, *, dtype: DTypeLike = np.float64) -> "ModelProto":
    """Write a fitted model as an ONNX graph, to be run without Python.

    The graph takes rows `X` and, if the model was fitted with one, their `offset`. It
    returns `scores`, those of ``decision_function`` (of ``predict`` for models that
    rank), and of ordered classes also `labels`, those of ``predict``. All that a model
    does to rows is in it: the constant feature, ``unit_norm``, what a missing value
    means, the names of classes.

    Parameters
    ----------
    model : estimator
        A fitted `WidrowHoff`, `MulticlassPerceptron`, or one of `PRank` (the averaged
        or the last rule), `MPRank`, `MPRankCV` and `SVRank` with a linear kernel, or a
        `RankBoost` whose weak rankings are thresholds, features, or trees without
        columns of categories, an `OrdinalBoost` without such columns; or a `TableRanker`
        of numbers with one of these inside, whose scaling is in the graph, as are its
        cuts between classes or its scale of labels.
    dtype : {numpy.float64, numpy.float32}, default=numpy.float64
        The type of `X`. Arithmetic is in float64 for both, as in the model.

    Returns
    -------
    graph : onnx.ModelProto
        ``onnx.save(graph, path)`` writes it to a file.

    Notes
    -----
    Scores differ from the model's by rounding, since sums are made in another order:
    by 1e-12 at most, relative to the sum of what is summed up. Labels are the same,
    unless a score lies that near a threshold.

    Rows are dense. To `RankBoost` NaN abstains; to its trees and to `OrdinalBoost` it is
    a missing value. What a sparse matrix does not store has to be written out as the
    model took it: as 0, but as NaN if fitted with ``missing="abstain"``. The other
    models refuse rows whose scores are not finite. So do the graphs of those with
    classes: the run ends with an error (an index of Gather is out of bounds), rather
    than with a class out of thin air. Other graphs return scores that are not finite.

    A graph has O(features) numbers, O(rounds) for `RankBoost`, for which a row costs
    O(log thresholds) a feature, or the depth of all trees. Opset 18; for `RankBoost` and
    `OrdinalBoost` also the operator TreeEnsemble of ai.onnx.ml, version 5: the older ones have no
    thresholds in float64.

    Examples
    --------
    >>> import numpy as np
    >>> from onnxruntime import InferenceSession
    >>> from peckorder import PRank
    >>> from peckorder.export import to_onnx
    >>> X = np.array([[0.1], [0.9], [0.4], [0.8]])
    >>> grades = ["poor", "fair", "good", "great"]
    >>> model = PRank(classes=grades, max_iter=50)
    >>> model = model.fit(X, ["poor", "great", "fair", "good"])
    >>> session = InferenceSession(to_onnx(model).SerializeToString())
    >>> scores, labels = session.run(["scores", "labels"], {"X": X})
    >>> labels.tolist()
    ['poor', 'great', 'fair', 'good']
    >>> float(np.abs(scores - model.decision_function(X)).max()) < 1e-12
    True
    """
    given = _input_type(dtype)
    table = model if type(model) is TableRanker else None
    if table is not None:
        _check_numbers(table)
        model = table.ranker_
    what = _obstacle(model)
    if what is not None:
        error = ValueError if type(model) in _ORDINAL | _SCORES else TypeError
        raise refusal("model", f"be {_EXPORTABLE}", what, error=error)
    onnx_package()
    graph = Graph((model if table is None else table).n_features_in_, given)
    if table is not None:
        is_used = np.array([isinstance(coder, Number) for coder in table.coders_])
        if not is_used.all():
            graph.X = graph("Gather", graph.X, graph.constant(np.flatnonzero(is_used)), axis=1)
        write_scaling(graph, table.shift_, table.scale_)
    if type(model) in _ORDINAL:
        _ORDINAL[type(model)](graph, model, _writable(model.classes_))
    else:
        scores = _SCORES[type(model)](graph, model)
        write_answer(graph, scores, None if table is None else table.answer_)
    return graph.model(type(model).__name__)


def is_exportable(model: Any) -> bool:
    """Return whether `to_onnx` takes a fitted model, except for its classes."""
    try:
        if type(model) is TableRanker:
            _check_numbers(model)
            model = model.ranker_
    except ValueError:
        return False
    return _obstacle(model) is None


def _check_numbers(table: TableRanker) -> None:
    check_is_fitted(table)
    coders = table._named_coders()
    others = [name for name, c in coders.items() if not isinstance(c, Number | LeftOut)]
    if others:
        what = "dates" if isinstance(coders[others[0]], Dates) else "text"
        raise refusal(
            "columns of a TableRanker",
            "be numbers, as X is",
            f"{what} in {others[0]!r}",
            hint="Export model.ranker_, and give it model.prepare(X).",
            error=ValueError,
        )


def _input_type(dtype: DTypeLike) -> DTypeLike:
    given: np.dtype[Any] | None = None
    with suppress(TypeError):
        given = np.dtype(dtype)
    # None is float64 to NumPy.
    if dtype is None or given not in (np.float64, np.float32):
        raise refusal("dtype", "be float64 or float32", repr(dtype), error=ValueError)
    return given


def _obstacle(model: Any) -> str | None:
    """Return why a model cannot be written, None if it can be.

    A subclass may predict in another way than the class that it extends.
    """
    if isinstance(model, type):
        return f"the class {model.__name__}"
    name = type(model).__name__
    if type(model) not in _ORDINAL | _SCORES:
        return name
    check_is_fitted(model)
    if isinstance(model, RankBoost | OrdinalBoost):
        return _obstacle_of_trees(model)
    if hasattr(model, "coef_"):
        return None
    begun: dict[str, Any] = getattr(model, "_begun_with", vars(model))
    for parameter, plain in (("rule", ("averaged", "last")), ("kernel", ("linear",))):
        if parameter in begun and begun[parameter] not in plain:
            return f"{name} with {parameter}={begun[parameter]!r}"
    return f"{name} with budget={begun.get('budget')!r}"


def _obstacle_of_trees(model: RankBoost | OrdinalBoost) -> str | None:
    name, features = type(model).__name__, getattr(model, "_features", None)
    if features is not None and features.levels:
        return f"{name} with columns of categories"
    if isinstance(model, OrdinalBoost):
        return f"{name} of one class" if len(model._present) == 1 else None
    return f"{name} with custom weak rankings" if model.own_rankings_ else None


def _writable(classes: Labels) -> Labels:
    """Return classes as a type that ONNX has: strings, int64, float64 or bool."""
    labels = classes.tolist()
    if all(isinstance(label, str) for label in labels):
        return np.array(labels, dtype=object)
    if classes.dtype.kind == "b":
        return classes
    if classes.dtype.kind in "iuf":
        wide: Labels = classes.astype(np.float64 if classes.dtype.kind == "f" else np.int64)
        if wide.tolist() == labels:
            return wide
    raise refusal(
        "classes_",
        "be strings, integers below 2**63, floats or booleans, all of one kind",
        repr(labels),
        error=ValueError,
    )


# Linear scores, and the classes that they are cut into.


def write_scaling(graph: Graph, shift: Floats | None, scale: Floats | None) -> None:
    """Scale rows before all else, if they are; gaps become 0, the mean."""
    if shift is None or scale is None:
        return
    centred = graph("Sub", graph.X, graph.constant(shift))
    scaled = graph("Div", centred, graph.constant(scale))
    graph.X = graph("Where", graph("IsNaN", scaled), graph.constant(0.0), scaled)


def write_prank(graph: Graph, model: PRank, classes: Labels) -> None:
    """Cut a score by thresholds: by the sums that the model itself predicts by."""
    learner = model._learner
    assert isinstance(learner, PRankLearner)  # checked by `_obstacle`
    scale = _scale(graph, learner.transform)
    rule, mean_rule = learner.rule(), learner.mean_rule()
    scores = _scores(graph, learner.transform, mean_rule.weights, scale)
    graph.output(graph.flat(scores), "scores", np.float64)
    is_mean = learner.averaged and learner.tally.rounds > 0
    sums = _scores(graph, learner.transform, rule.weights, scale) if is_mean else scores
    is_above = graph("GreaterOrEqual", sums, graph.constant(rule.thresholds))
    level = graph.over_columns("ReduceSum", graph.cast(is_above, np.int64))
    _write_labels(graph, level, sums, classes)


def write_widrow_hoff(graph: Graph, model: WidrowHoff, classes: Labels) -> None:
    """Round a score, half upwards, to a rank from 1 to the number of classes."""
    learner = model._learner
    assert isinstance(learner, WeightsLearner)  # checked by `_obstacle`
    scale = _scale(graph, learner.transform)
    scores = _scores(graph, learner.transform, learner.mean_weights(), scale)
    graph.output(graph.flat(scores), "scores", np.float64)
    rank = graph("Floor", graph("Add", scores, graph.constant(0.5)))
    highest = graph.constant(float(len(classes)))
    rank = graph("Clip", rank, graph.constant(1.0), highest)
    level = graph("Sub", graph.cast(rank, np.int64), graph.constant(np.array(1)))
    _write_labels(graph, level, scores, classes)


def write_perceptron(graph: Graph, model: MulticlassPerceptron, classes: Labels) -> None:
    """Take the class with the largest score, the lowest of equal ones."""
    learner = model._learner
    assert isinstance(learner, WeightsLearner)  # checked by `_obstacle`
    scale = _scale(graph, learner.transform)
    scores = _scores(graph, learner.transform, learner.mean_weights().T, scale)
    graph.output(scores, "scores", np.float64, len(classes))
    is_mean = learner.n_rules > 1
    sums = _scores(graph, learner.transform, learner.rule().T, scale) if is_mean else scores
    level = graph("ArgMax", sums, axis=1, keepdims=1)
    _write_labels(graph, level, sums, classes)


def write_ordinal_boost(graph: Graph, model: OrdinalBoost, classes: Labels) -> None:
    """Take the median class by the log odds of thresholds."""
    path, present = model._path[-1:], model._present
    width = path.shape[1] if model.odds_ == "free" else 1
    odds = graph("Sub", write_forest(graph, model._forest, width), graph.constant(path))
    # As `OrdinalBoost._spread`: infinite beside classes that had no rows.
    zero = graph("Mul", graph.over_columns("ReduceSum", odds), graph.constant(0.0))
    ends = (graph("Add", zero, graph.constant(end)) for end in (np.inf, -np.inf))
    low, high = ends
    every = graph("Concat", low, odds, high, axis=1)
    columns = np.searchsorted(present, np.arange(len(classes) - 1), "right")
    scores = graph("Gather", every, graph.constant(columns), axis=1)
    graph.output(scores, "scores", np.float64, len(classes) - 1)
    is_above = graph("Greater", odds, graph.constant(0.0))
    above = graph.over_columns("ReduceSum", graph.cast(is_above, np.int64))
    level = graph("Gather", graph.constant(present.astype(np.int64)), above, axis=0)
    _write_labels(graph, level, odds, classes)


def write_magnitudes(graph: Graph, model: MPRank | MPRankCV | SVRank) -> str:
    """Add up features and a constant; return the sum."""
    products = graph.flat(graph.times(graph.X, model.coef_))
    scores = graph("Add", products, graph.constant(float(model.intercept_)))
    if model._has_offset:
        scores = graph.add_offset(scores)
    return scores


def write_answer(graph: Graph, scores: str, answer: Answer | None) -> None:
    """Write scores, on the scale of the labels or with the classes that they are cut into."""
    if isinstance(answer, LabelScale):
        scaled = graph("Mul", scores, graph.constant(answer.slope))
        scores = graph("Add", scaled, graph.constant(answer.origin))
    graph.output(scores, "scores", np.float64)
    if isinstance(answer, Cuts):
        column = graph("Unsqueeze", scores, graph.constant(np.array([1])))
        is_above = graph("Greater", column, graph.constant(answer.thresholds))
        level = graph.over_columns("ReduceSum", graph.cast(is_above, np.int64))
        _write_labels(graph, level, column, _writable(answer.classes))


def _scores(graph: Graph, transform: RowTransform, weights: Floats, scale: str | None) -> str:
    """Return a column of scores for each column of weights, or for the only one."""
    if transform.intercept:
        products = graph.times(graph.X, weights[:-1])
        scores = graph("Add", products, graph.constant(weights[-1]))
    else:
        scores = graph.times(graph.X, weights)
    return scores if scale is None else graph("Mul", scores, scale)


def _scale(graph: Graph, transform: RowTransform) -> str | None:
    """Return what rows are multiplied by; NaN where their norm is not finite."""
    if not transform.unit_norm:
        return None
    square = graph.over_columns("ReduceSumSquare", graph.X)
    if transform.intercept:
        square = graph("Add", square, graph.constant(1.0))
    inverse = graph("Reciprocal", graph("Sqrt", square))
    is_long = graph("Greater", square, graph.constant(_TINY))
    scale = graph("Where", is_long, inverse, graph.constant(1.0))
    is_finite = graph("Less", square, graph.constant(np.inf))
    return graph("Where", is_finite, scale, graph.constant(np.nan))


def _write_labels(graph: Graph, level: str, scores: str, classes: Labels) -> None:
    """Write classes; scores that are not finite have none, which ends the run.

    The model refuses such rows. A graph cannot raise, but a level beyond the classes is
    an error of Gather by its definition.
    """
    is_finite = graph("Less", graph("Abs", scores), graph.constant(np.inf))
    all_finite = graph.over_columns("ReduceMin", graph.cast(is_finite, np.int64))
    none = graph.constant(np.array(len(classes)))
    level = graph("Where", graph.cast(all_finite, np.bool_), level, none)
    labels = graph("Gather", graph.constant(classes), graph.flat(level), axis=0)
    graph.output(labels, "labels", classes.dtype)


_ORDINAL: Final[dict[type, Callable[[Graph, Any, Labels], None]]] = {
    PRank: write_prank,
    WidrowHoff: write_widrow_hoff,
    MulticlassPerceptron: write_perceptron,
    OrdinalBoost: write_ordinal_boost,
}
_SCORES: Final[dict[type, Callable[[Graph, Any], str]]] = {
    MPRank: write_magnitudes,
    MPRankCV: write_magnitudes,
    SVRank: write_magnitudes,
    RankBoost: write_rankboost,
}
