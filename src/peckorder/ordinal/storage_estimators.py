"""On-line ordinal estimators as files."""

from typing import Any

import numpy as np

from peckorder.feedback import Scale
from peckorder.ordinal.learners.polynomial import FEW, n_monomials
from peckorder.ordinal.storage import filled, learner_state
from peckorder.storage.format import Node, read_value
from peckorder.storage.format.packing import labels
from peckorder.storage.models import check_bounds, check_rules, stored_parameter


def ordinal_state(model: Any) -> dict[str, Any]:
    """Return classes, the parameters that learning began with, and the learner."""
    who = type(model).__name__
    return {
        "classes": labels(model._scale.classes),
        "begun_with": {
            name: stored_parameter(who, name, value)
            for name, value in model._begun_with.items()
        },
        "n_iter": model.n_iter_,
        "learner": learner_state(model._learner),
    }


def restore_ordinal(model: Any, node: Node) -> None:
    """Take back what `ordinal_state` returned."""
    now = model.get_params(deep=False)
    scale = _scale(node)
    # As when it learnt: what parameters were set to since is for later.
    _begin_again(model, node.child("begun_with"))
    node = _with_room(model, node, len(scale))
    rng = np.random.RandomState(0)  # for keys that are replaced
    blank = model._new_learner(model.n_features_in_, len(scale), rng)
    learner = filled(blank, node.child("learner"))
    model._begin(scale)
    model._store(learner, n_iter=node.whole("n_iter", 1))
    for name, value in now.items():
        setattr(model, name, value)


def _scale(node: Node) -> Scale:
    classes = node.labels("classes")
    known = classes.tolist()
    try:
        are_distinct = len(set(known)) == len(known)
    except TypeError:  # not hashable
        are_distinct = False
    # What differs from itself is missing.
    if len(known) < 2 or not are_distinct or any(one != one for one in known):  # noqa: PLR0124
        raise node.refuse("classes", "two distinct labels at least")
    return Scale(classes)


def _begin_again(model: Any, node: Node) -> None:
    begun = {name: read_value(node.place, node.raw(name)) for name in model._fixed}
    for name, value in begun.items():
        setattr(model, name, value)
    check_rules(model._check)
    check_bounds(begun)


def _with_room(model: Any, node: Node, n_levels: int) -> Node:
    """Refuse arrays that are not as large as the parameters ask for.

    Before such arrays are made: a file is not to ask for more memory than it has bytes.
    """
    n_features = getattr(model, "n_features_in_", None)
    if n_features is None:
        raise node.refuse("learner", "of rows with features")
    for name, shape in _shapes(model, n_features, n_levels).items():
        if shape not in (
            node.shape("learner", name),
            node.shape("learner", "linear", name),
        ):
            raise node.refuse(f"learner.{name}", f"of shape {shape}")
    return node


def _shapes(model: Any, n_features: int, n_levels: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of arrays that grow with features, classes or members."""
    parameters = model.get_params(deep=False)
    n_members = parameters.get("n_estimators")
    shapes: dict[str, tuple[int, ...]] = {}
    before: tuple[int, ...] = ()
    if n_members is not None:
        shapes["key"], before = (n_members,), (n_members,)
        shapes["thresholds"] = (n_members, n_levels - 1)
    if "kernel" not in parameters or model._is_primal():
        width = n_features + bool(model.fit_intercept)
    elif model.kernel == "poly" and n_features <= FEW and model.budget is None:
        width = n_monomials(model._kernel_function(n_features))
        if width > FEW or parameters.get("rule") == "voted":
            return shapes
    else:
        return shapes
    is_a_class_each = "kernel" not in parameters and "eta" not in parameters
    shapes["weights"] = (*((n_levels,) if is_a_class_each else before), width)
    return shapes
