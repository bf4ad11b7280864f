"""On-line ordinal estimators as files: labels, parameters and arrays of the learner.

How rows are transformed, which kernel there is and how large arrays are follows from
the parameters that learning began with: a new learner is made from these, and gets the
values of the file.
"""

from copy import copy
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from peckorder._core.errors import named
from peckorder._core.typing import Floats
from peckorder.feedback import Scale
from peckorder.ordinal.learners.base import Learner, Tally
from peckorder.ordinal.learners.baselines import PerceptronLearner, WidrowHoffLearner
from peckorder.ordinal.learners.ensemble import EnsembleLearner
from peckorder.ordinal.learners.kernel_ensemble import KernelEnsembleLearner
from peckorder.ordinal.learners.kernel_prank import KernelPRankLearner, KernelVotedLearner
from peckorder.ordinal.learners.polynomial import FEW, PolynomialLearner, n_monomials
from peckorder.ordinal.learners.prank import PRankLearner
from peckorder.ordinal.learners.voted import Updates, VotedLearner, joined
from peckorder.similarity.kernel_function import NO_ITEMS, Items
from peckorder.storage.fields import (
    OMITTED,
    Field,
    FieldType,
    Table,
    array,
    floats,
    ints,
    matrix,
    nested,
    whole,
)
from peckorder.storage.format import Node, read_value
from peckorder.storage.format.packing import labels as packed_labels
from peckorder.storage.models import check_bounds, refused_parameters, stored_parameter

if TYPE_CHECKING:
    from peckorder.ordinal.base import OrdinalEstimator

# Beyond, float64 does not tell rounds and rows apart.
MOST_ROUNDS = 2**53


def _read_rounds(node: Node, name: str) -> int:
    node.sizes["rounds"] = node.whole(name, 1, MOST_ROUNDS)
    return node.sizes["rounds"]


_TALLY = (
    Field("rounds", FieldType(_read_rounds), attrgetter("tally.rounds")),
    Field("mistakes", whole(), attrgetter("tally.mistakes")),
    Field("loss", whole(), attrgetter("tally.loss")),
)
_PRANK = (
    *_TALLY,
    Field("weights", floats("weights")),
    Field("thresholds", floats("thresholds", ascending=True)),
    Field("lag", floats("weights")),
    Field("threshold_lag", floats("thresholds")),
)


# The updates of voted rules.

_UPDATES = Table(
    Field("support", matrix("support", "features")),
    Field("row", ints("updates", below="support")),
    Field("step", floats("updates")),
    Field("score", floats("updates")),
    Field("truth", ints("updates", below="thresholds+1")),
    Field("round", ints("updates", below="rounds", rising=True)),
)


def _all_updates(learner: VotedLearner) -> Any:
    return joined(learner.record) if learner.record else OMITTED


def _complete_voted(node: Node) -> None:
    first = node.values.pop("first_weights"), node.values.pop("first_thresholds")
    updates = node.values.pop("updates", None)
    node.values["first"] = first
    node.values["record"] = () if updates is None else (updates,)


def _record(width: int) -> FieldType:
    """Return the type of lists of steps: the number of a row first, the round last."""

    def read(node: Node, name: str) -> tuple[Floats, ...]:
        record = node.floats(name, None, width)
        for column, below in ((0, MOST_ROUNDS), (-1, node.sizes["rounds"])):
            values = record[:, column]
            is_sound = (values >= 0) & (values < below) & (values == np.floor(values))
            if not is_sound.all():
                raise node.refuse(name, "of numbers of rows and rounds")
        return (record,) if len(record) else ()

    return FieldType(read, lambda parts: np.concatenate([np.empty((0, width)), *parts]))


# Learners with a kernel.

_ITEMS = Table(
    Field("matrix", matrix("support", "columns")), Field("number", ints("support", below="numbers"))
)


def _read_support(node: Node, name: str) -> Items:
    """Read rows that others are compared with, as wide as these will be."""
    kernel = node.owner.kernel
    is_precomputed, n_columns = kernel.is_precomputed, kernel.n_columns
    node.sizes["columns"] = 0 if is_precomputed else n_columns + kernel.transform.intercept
    node.sizes["numbers"] = n_columns if is_precomputed else MOST_ROUNDS
    support: Items = NO_ITEMS
    if node.has(name):
        support = nested(_ITEMS, Items).read(node, name)
        if len(support) == 0:
            raise node.refuse(f"{name}.number", "of one row at least")
    if len(support) != node.sizes["support"]:
        raise node.refuse(name, f"of {node.sizes['support']} rows")
    return support


_SUPPORT = Field(
    "support", FieldType(_read_support, lambda items: _ITEMS.write(items) if len(items) else None)
)
_KERNEL_PRANK = (
    *_TALLY,
    Field("thresholds", floats("thresholds", ascending=True)),
    Field("threshold_lag", floats("thresholds")),
    Field("threshold_newer", floats("thresholds")),
    Field("clock", ints(4, below=MOST_ROUNDS)),
    Field("coef", floats("support")),
    Field("lag", floats("support")),
    Field("newer", floats("support")),
    _SUPPORT,
)


def _check_kernel(node: Node) -> None:
    values, learner = node.values, node.owner
    began, began_newer = values["clock"][:2].tolist()
    if not began <= began_newer < values["rounds"]:
        raise node.refuse("clock", "of rounds that have been")
    if not learner.budget:
        return
    # The compiled function must find rows in use when it drops the oldest.
    is_kept = values["coef"] != 0
    if learner.averaged:
        is_kept |= (values["lag"] != 0) | (values["newer"] != 0)
    if len(values["support"]) > learner.budget or not is_kept.all():
        raise node.refuse("support", "rows in use, as many as the budget at most")


def _check_kernel_voted(node: Node) -> None:
    _check_kernel(node)
    n_levels = node.sizes["thresholds"] + 1
    for record in node.values["record"]:
        number, step, _, truth, time = record.T
        is_sound = (
            # A step of zero moved thresholds apart, and added nothing.
            np.isin(number[step != 0], node.values["support"].number).all()
            and ((truth >= 0) & (truth < n_levels) & (truth == np.floor(truth))).all()
            and (time[1:] > time[:-1]).all()
        )
        if not is_sound:
            raise node.refuse("record", "of rows of the support, levels and rounds")


_MEMBERS = (
    *_TALLY,
    Field("key", array("u8", "rules")),
    Field("thresholds", floats("rules", "thresholds", ascending=True)),
    Field("right", ints("rules", below="rounds+1")),
    Field("clock", whole(0, MOST_ROUNDS)),
)


def _check_members(node: Node) -> None:
    if node.sizes["rules"] * node.values["rounds"] > MOST_ROUNDS:
        raise node.refuse("rounds", "few enough for votes to be counted")


def _write_learner(learner: Learner) -> dict[str, Any]:
    return _LEARNERS[type(learner)].write(learner)


_LEARNERS: Final[dict[type, Table]] = {
    PRankLearner: Table(*_PRANK),
    VotedLearner: Table(
        *_PRANK,
        Field("first_weights", floats("weights"), lambda learner: learner.first[0]),
        Field(
            "first_thresholds",
            floats("thresholds", ascending=True),
            lambda learner: learner.first[1],
        ),
        Field("updates", nested(_UPDATES, Updates), _all_updates, optional=True),
        complete=_complete_voted,
    ),
    KernelPRankLearner: Table(*_KERNEL_PRANK, complete=_check_kernel),
    KernelVotedLearner: Table(
        *_KERNEL_PRANK,
        Field("first_thresholds", floats("thresholds", ascending=True)),
        Field("record", _record(5)),
        complete=_check_kernel_voted,
    ),
    EnsembleLearner: Table(
        *_MEMBERS, Field("weights", floats("rules", "weights")), complete=_check_members
    ),
    KernelEnsembleLearner: Table(
        *_MEMBERS, Field("coef", floats("support", "rules")), _SUPPORT, complete=_check_members
    ),
    WidrowHoffLearner: Table(*_TALLY, Field("weights", floats("weights"))),
    PerceptronLearner: Table(*_TALLY, Field("weights", floats("rules", "weights"))),
    PolynomialLearner: Table(
        Field(
            "linear",
            FieldType(
                lambda node, name: _learner(node.owner.linear, node.child(name, inherit=True)),
                _write_learner,
            ),
        ),
        Field("record", _record(3)),
    ),
}


def _learner(blank: Any, node: Node) -> Any:
    """Return a learner like `blank`, a new one, with the values of the node."""
    node.owner, learner = blank, copy(blank)
    for name in ("weights", "thresholds"):
        shape = np.shape(getattr(blank, name, 0))
        if shape:
            node.sizes |= {name: shape[-1]} | ({"rules": shape[0]} if shape[1:] else {})
    values = _LEARNERS[type(blank)].read(node)
    if "rounds" in values:
        values["tally"] = Tally(*(values.pop(field.name) for field in _TALLY))
    vars(learner).update(values)
    if not learner.is_finite():
        raise node.refuse("weights", "small enough for finite sums")
    return learner


# Estimators.


def _read_scale(node: Node, name: str) -> Scale:
    classes = node.labels(name)
    values = classes.tolist()
    try:
        are_distinct = len(set(values)) == len(values)
    except TypeError:  # not hashable
        are_distinct = False
    # What differs from itself is missing.
    if len(values) < 2 or not are_distinct or any(one != one for one in values):  # noqa: PLR0124
        raise node.refuse(name, "two distinct labels at least")
    return Scale(classes)


def _write_scale(scale: Scale) -> dict[str, Any]:
    return packed_labels(scale.classes)


def _begun_with(model: "OrdinalEstimator") -> dict[str, Any]:
    return {name: stored_parameter(name, value) for name, value in model._begun_with.items()}


def _read_begun(node: Node, name: str) -> "OrdinalEstimator":
    """Return the model with the parameters that learning began with.

    They may have been set to other values since.
    """
    entries, begun = node.child(name), copy(node.owner)
    for parameter in begun._fixed:
        value = read_value(entries.path, entries.raw(parameter))
        setattr(begun, parameter, value)
    with refused_parameters(), named(type(begun).__name__):
        begun._check()
    check_bounds({parameter: getattr(begun, parameter) for parameter in begun._fixed})
    model: OrdinalEstimator = begun
    return model


def _read_learner(node: Node, name: str) -> Any:
    begun, n_levels = node.values["begun_with"], len(node.values["_scale"])
    n_features = node.sizes["features"]
    # Before arrays are allocated: a file must not ask for more memory than its size.
    for part, shape in _shapes(begun, n_features, n_levels).items():
        if shape not in (node.shape(name, part), node.shape(name, "linear", part)):
            raise node.refuse(f"{name}.{part}", f"of shape {shape}")
    rng = np.random.RandomState(0)  # for keys that are replaced
    blank = begun._new_learner(n_features, n_levels, rng)
    return _learner(blank, node.child(name, inherit=True))


def _shapes(
    model: "OrdinalEstimator", n_features: int, n_levels: int
) -> dict[str, tuple[int, ...]]:
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
    is_one_per_class = "kernel" not in parameters and "eta" not in parameters
    shapes["weights"] = (*((n_levels,) if is_one_per_class else before), width)
    return shapes


def _complete(node: Node) -> None:
    values = node.values
    begun = values.pop("begun_with")
    begun._begin(values["_scale"])
    begun._store(values["_learner"], values["n_iter_"])
    parameters = begun.get_params(deep=False)
    values |= {k: v for k, v in vars(begun).items() if k not in parameters}


ORDINAL = Table(
    Field("classes", FieldType(_read_scale, _write_scale), "_scale"),
    Field("begun_with", FieldType(_read_begun), _begun_with),
    Field("n_iter", whole(1), "n_iter_"),
    Field("learner", FieldType(_read_learner, _write_learner), "_learner"),
    complete=_complete,
)
