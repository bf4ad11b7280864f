"""Linear scores, and the classes that they are cut into."""

from typing import Any

import numpy as np

from peckorder._core.row_transform import RowTransform
from peckorder._core.typing import Floats, Labels
from peckorder.export._graph import Graph

# Shorter rows are not brought to unit norm.
_TINY = 1e-300


def write_scaling(graph: Graph, shift: Floats | None, scale: Floats | None) -> None:
    """Scale rows before all else, if they are; gaps become 0, the mean."""
    if shift is None or scale is None:
        return
    centred = graph("Sub", graph.X, graph.constant(shift))
    scaled = graph("Div", centred, graph.constant(scale))
    graph.X = graph("Where", graph("IsNaN", scaled), graph.constant(0.0), scaled)


def write_prank(graph: Graph, model: Any, classes: Labels) -> None:
    """Cut a score by thresholds: by the sums that the model itself predicts by."""
    learner = model._learner
    scale = _scale(graph, learner.transform)
    rule, mean_rule = learner.rule(), learner.mean_rule()
    scores = _scores(graph, learner.transform, mean_rule.weights, scale)
    graph.output(graph.flat(scores), "scores", np.float64)
    is_mean = learner.averaged and learner.tally.rounds > 0
    sums = _scores(graph, learner.transform, rule.weights, scale) if is_mean else scores
    is_above = graph("GreaterOrEqual", sums, graph.constant(rule.thresholds))
    level = graph.over_columns("ReduceSum", graph.cast(is_above, np.int64))
    _write_labels(graph, level, sums, classes)


def write_widrow_hoff(graph: Graph, model: Any, classes: Labels) -> None:
    """Round a score, half upwards, to a rank from 1 to the number of classes."""
    learner = model._learner
    scale = _scale(graph, learner.transform)
    scores = _scores(graph, learner.transform, learner.weights, scale)
    graph.output(graph.flat(scores), "scores", np.float64)
    rank = graph("Floor", graph("Add", scores, graph.constant(0.5)))
    highest = graph.constant(float(len(classes)))
    rank = graph("Clip", rank, graph.constant(1.0), highest)
    level = graph("Sub", graph.cast(rank, np.int64), graph.constant(np.array(1)))
    _write_labels(graph, level, scores, classes)


def write_perceptron(graph: Graph, model: Any, classes: Labels) -> None:
    """Take the class with the largest score, the lowest of equal ones."""
    learner = model._learner
    scale = _scale(graph, learner.transform)
    scores = _scores(graph, learner.transform, learner.weights.T, scale)
    graph.output(scores, "scores", np.float64, len(classes))
    level = graph("ArgMax", scores, axis=1, keepdims=1)
    _write_labels(graph, level, scores, classes)


def write_magnitudes(graph: Graph, model: Any) -> None:
    """Add up features and a constant."""
    products = graph.flat(graph.times(graph.X, model.coef_))
    scores = graph("Add", products, graph.constant(float(model.intercept_)))
    if model._has_offset:
        scores = graph.add_offset(scores)
    graph.output(scores, "scores", np.float64)


def _scores(
    graph: Graph, transform: RowTransform, weights: Floats, scale: str | None
) -> str:
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
