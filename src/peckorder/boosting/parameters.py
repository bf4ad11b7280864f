"""The parameters of RankBoost: their rules, alone and together, and what follows from them."""

from typing import Any, Final

import numpy as np

from peckorder._core.validation import (
    Rule,
    Rules,
    boolean,
    check_parameters,
    finite,
    fraction,
    generator,
    not_negative,
    one_of,
    optional,
    positive,
    refuse_parameter,
    whole,
)
from peckorder.boosting.run_rounds import Options
from peckorder.boosting.tree_rounds import TreeSettings
from peckorder.feedback import MISSING_LABELS
from peckorder.metrics import metric_by_name
from peckorder.trees.features import FEATURE_RULES
from peckorder.trees.growing import TreeOptions

_WORDS = ("threshold", "feature", "tree")
# What parameters must be with trees, and what those of trees must be without.
_WITH_TREES = {"alpha": "approximate", "default": None, "smoothing": "auto"}
_WITHOUT_TREES = {
    "loss": "exponential",
    "pair_weight": None,
    "categorical_features": "from_dtype",
    "monotonic_cst": None,
    "max_leaf_nodes": 15,
    "max_depth": None,
    "min_samples_leaf": 20,
    "l2": 1.0,
    "max_features": 1.0,
    "subsample": 1.0,
}


def _several(weak: object) -> tuple[Any, ...]:
    return tuple(weak) if isinstance(weak, list | tuple) else (weak,)


def _is_weak(value: object) -> bool:
    return len(_several(value)) > 0 and all(
        weak in _WORDS
        if isinstance(weak, str)
        else not isinstance(weak, type)
        and (callable(weak) or (hasattr(weak, "fit") and hasattr(weak, "predict")))
        for weak in _several(value)
    )


RULES: Final[Rules] = {
    "n_rounds": whole(1),
    "learning_rate": Rule(
        "'auto' or a finite number > 0",
        lambda value: str(value) == "auto" or positive.accepts(value),
    ),
    "alpha": one_of("approximate", "analytic", "numeric"),
    "weak": Rule(
        "'tree', or 'threshold', 'feature', a regressor, a function of X and "
        "potentials, or a list of these",
        _is_weak,
    ),
    "cumulative": boolean,
    "default": optional(finite),
    "missing": one_of("zero", "abstain"),
    "missing_labels": MISSING_LABELS,
    "smoothing": Rule(
        "'auto' or a number >= 0", lambda value: str(value) == "auto" or not_negative.accepts(value)
    ),
    "max_bins": Rule(
        "None or an integer from 2 to 255",
        lambda value: value is None or (whole(2).accepts(value) and value <= 255),
    ),
    "query_weight": one_of("pairs", "equal"),
    "validation_fraction": Rule(
        "None or a number > 0 and < 1",
        lambda value: value is None or (fraction.accepts(value) and value < 1),
    ),
    "n_iter_no_change": optional(whole(1)),
    "warm_start": boolean,
    "loss": one_of("exponential", "logistic"),
    "pair_weight": optional(one_of("ndcg")),
    "max_leaf_nodes": whole(2),
    "max_depth": optional(whole(1)),
    "min_samples_leaf": whole(1),
    "l2": not_negative,
    "max_features": fraction,
    "subsample": fraction,
    "n_jobs": Rule("-1 or an integer >= 1", lambda value: whole(-1).accepts(value) and value != 0),
} | FEATURE_RULES


def check(model: Any) -> None:
    """Refuse parameters that break a rule, alone or together."""
    check_parameters(model, RULES)
    generator(model.random_state)
    metric_by_name(model.metric, "metric")
    words = [weak for weak in _several(model.weak) if isinstance(weak, str)]
    required = _WITH_TREES if has_trees(model) else _WITHOUT_TREES
    if has_trees(model) and len(_several(model.weak)) > 1:
        refuse_parameter(model, "weak", "have no others beside 'tree'")
    for name, value in required.items():
        given = getattr(model, name)
        if given is not value and not (np.isscalar(given) and given == value):
            where = "with" if has_trees(model) else "without"
            refuse_parameter(model, name, f"be {value!r} {where} weak='tree'")
    if "threshold" in words and model.default not in (None, 0, 1):
        refuse_parameter(model, "default", "be None, 0 or 1 for thresholds")
    if "feature" in words and model.alpha == "analytic":
        rule = "be 'approximate' or 'numeric' with weak='feature'"
        refuse_parameter(model, "alpha", rule)
    if model.n_iter_no_change is not None and model.validation_fraction is None:
        refuse_parameter(model, "validation_fraction", "be a number with n_iter_no_change")
    if model.warm_start and model.validation_fraction is not None:
        refuse_parameter(model, "validation_fraction", "be None with warm_start")


def has_trees(model: Any) -> bool:
    """Return whether weak rankings are trees."""
    return "tree" in [weak for weak in _several(model.weak) if isinstance(weak, str)]


def tree_settings_of(model: Any) -> TreeSettings:
    """Return how to boost trees."""
    return TreeSettings(
        n_rounds=model.n_rounds,
        learning_rate=0.1 if model.learning_rate == "auto" else float(model.learning_rate),
        loss=model.loss,
        follows_ndcg=model.pair_weight is not None,
        options=TreeOptions(
            max_leaf_nodes=model.max_leaf_nodes,
            max_depth=model.max_depth,
            min_samples_leaf=model.min_samples_leaf,
            l2=float(model.l2),
            max_features=float(model.max_features),
        ),
        subsample=float(model.subsample),
        unstored=model.missing == "zero",
        max_bins=model.max_bins,
        equal_queries=model.query_weight == "equal",
        seed=int(generator(model.random_state).randint(2**31 - 1)),
    )


def options_of(model: Any) -> Options:
    """Return how to boost other weak rankings."""
    return Options(
        n_rounds=model.n_rounds,
        learning_rate=1.0 if model.learning_rate == "auto" else float(model.learning_rate),
        alpha=model.alpha,
        weak=_several(model.weak),
        cumulative=bool(model.cumulative),
        default=model.default,
        unstored=model.missing == "zero",
        smoothing=None if model.smoothing == "auto" else float(model.smoothing),
        max_bins=model.max_bins,
        equal_queries=model.query_weight == "equal",
    )
