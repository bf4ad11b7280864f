"""On-line learners as files: the arrays alone.

All else, how rows are looked at, which kernel there is and how large arrays are,
follows from the parameters that learning began with: a learner that knows nothing yet
is made from these, and filled.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np

from peckorder.ordinal.learners.base import Tally
from peckorder.ordinal.learners.baselines import PerceptronLearner, WidrowHoffLearner
from peckorder.ordinal.learners.ensemble import EnsembleLearner
from peckorder.ordinal.learners.ensemble_base import AggregateLearner
from peckorder.ordinal.learners.kernel_ensemble import KernelEnsembleLearner
from peckorder.ordinal.learners.kernel_prank import (
    KernelPRankLearner,
    KernelVotedLearner,
)
from peckorder.ordinal.learners.polynomial import PolynomialLearner
from peckorder.ordinal.learners.prank import PRankLearner
from peckorder.ordinal.learners.voted import Updates, VotedLearner, joined
from peckorder.similarity.kernel_function import NO_ITEMS, Items, KernelFunction
from peckorder.storage.format import Node

# Beyond, float64 does not tell rounds and rows apart.
MOST_ROUNDS = 2**53

_PRANK = ("weights", "thresholds", "lag", "threshold_lag")
_KERNEL_PRANK = (
    "thresholds",
    "threshold_lag",
    "threshold_newer",
    "clock",
    "coef",
    "lag",
    "newer",
)


def learner_state(learner: Any) -> dict[str, Any]:
    """Return what a learner knows."""
    if isinstance(learner, PolynomialLearner):
        record = np.concatenate([np.empty((0, 3)), *learner.record])
        return {"linear": learner_state(learner.linear), "record": record}
    tally = learner.tally
    state = {"rounds": tally.rounds, "mistakes": tally.mistakes, "loss": tally.loss}
    return state | _WRITERS[type(learner)](learner)


def _attributes(*names: str) -> Callable[[Any], dict[str, Any]]:
    return lambda learner: {name: getattr(learner, name) for name in names}


def _of_voted(learner: VotedLearner) -> dict[str, Any]:
    weights, thresholds = learner.first
    state: dict[str, Any] = {"first_weights": weights, "first_thresholds": thresholds}
    if learner.record:
        updates = joined(learner.record)
        names = ("support", "row", "step", "score", "truth", "round")
        state["updates"] = {name: getattr(updates, name) for name in names}
    return _attributes(*_PRANK)(learner) | state


def _of_items(items: Items) -> dict[str, Any] | None:
    return {"matrix": items.matrix, "number": items.number} if len(items) else None


def _of_kernel(learner: KernelPRankLearner) -> dict[str, Any]:
    return _attributes(*_KERNEL_PRANK)(learner) | {
        "support": _of_items(learner.support)
    }


def _of_kernel_voted(learner: KernelVotedLearner) -> dict[str, Any]:
    record = np.concatenate([np.empty((0, 5)), *learner.record])
    first = learner.first_thresholds
    return _of_kernel(learner) | {"first_thresholds": first, "record": record}


_MEMBERS = ("key", "thresholds", "right", "clock")


def _of_kernel_ensemble(learner: KernelEnsembleLearner) -> dict[str, Any]:
    support = _of_items(learner.support)
    return _attributes(*_MEMBERS, "coef")(learner) | {"support": support}


_WRITERS: Final[dict[type, Callable[[Any], dict[str, Any]]]] = {
    PRankLearner: _attributes(*_PRANK),
    VotedLearner: _of_voted,
    KernelPRankLearner: _of_kernel,
    KernelVotedLearner: _of_kernel_voted,
    EnsembleLearner: _attributes(*_MEMBERS, "weights"),
    KernelEnsembleLearner: _of_kernel_ensemble,
    WidrowHoffLearner: _attributes("weights"),
    PerceptronLearner: _attributes("weights"),
}


def filled(blank: Any, node: Node) -> Any:
    """Return a learner like `blank` that knows what the node says."""
    if isinstance(blank, PolynomialLearner):
        linear = filled(blank.linear, node.child("linear"))
        record = _record(node, 3, linear.tally.rounds)
        return replace(blank, linear=linear, record=(record,) if len(record) else ())
    tally = Tally(
        node.whole("rounds", 1, MOST_ROUNDS), node.whole("mistakes"), node.whole("loss")
    )
    learner = _READERS[type(blank)](replace(blank, tally=tally), node)
    if not learner.is_finite():
        raise node.refuse("weights", "small enough for finite sums")
    return learner


def _like(node: Node, name: str, blank: Any, *, ascending: bool = False) -> Any:
    """Take an array of the shape that it has in a learner that knows nothing."""
    return node.floats(name, *blank.shape, ascending=ascending)


def _weighted(blank: Any, node: Node) -> Any:
    return replace(blank, weights=_like(node, "weights", blank.weights))


def _prank(blank: PRankLearner, node: Node) -> PRankLearner:
    return replace(
        blank,
        weights=_like(node, "weights", blank.weights),
        thresholds=_like(node, "thresholds", blank.thresholds, ascending=True),
        lag=_like(node, "lag", blank.weights),
        threshold_lag=_like(node, "threshold_lag", blank.thresholds),
    )


def _voted(blank: VotedLearner, node: Node) -> PRankLearner:
    learner: Any = _prank(blank, node)
    learner.first = (
        _like(node, "first_weights", blank.weights),
        _like(node, "first_thresholds", blank.thresholds, ascending=True),
    )
    if node.has("updates"):
        n_features = blank.weights.size - blank.transform.intercept
        learner.record = (_updates(learner, node.child("updates"), n_features),)
    return learner  # type: ignore[no-any-return]


def _updates(learner: VotedLearner, node: Node, n_features: int) -> Updates:
    support = node.matrix("support", n_features)
    return Updates(
        support,
        node.ints("row", "updates", below=support.shape[0]),
        node.floats("step", "updates"),
        node.floats("score", "updates"),
        node.ints("truth", "updates", below=learner.thresholds.size + 1),
        node.ints("round", "updates", below=learner.tally.rounds, rising=True),
    )


def _items(node: Node, kernel: KernelFunction) -> Items:
    """Take rows that others are compared with, as wide as these will be."""
    if not node.has("support"):
        return NO_ITEMS
    part = node.child("support")
    width = (
        0 if kernel.is_precomputed else kernel.n_columns + kernel.transform.intercept
    )
    matrix = part.matrix("matrix", width)
    below = kernel.n_columns if kernel.is_precomputed else MOST_ROUNDS
    number = part.ints("number", matrix.shape[0], below=below)
    if len(number) == 0:
        raise part.refuse("number", "of one row at least")
    return Items(matrix, number)


def _kernel_prank(blank: KernelPRankLearner, node: Node) -> KernelPRankLearner:
    support = _items(node, blank.kernel)
    learner = replace(
        blank,
        thresholds=_like(node, "thresholds", blank.thresholds, ascending=True),
        clock=node.ints("clock", 4, below=MOST_ROUNDS),
        support=support,
        coef=node.floats("coef", len(support)),
        lag=node.floats("lag", len(support)),
        newer=node.floats("newer", len(support)),
    )
    learner.threshold_lag = _like(node, "threshold_lag", blank.thresholds)
    learner.threshold_newer = _like(node, "threshold_newer", blank.thresholds)
    began, began_newer = learner.clock[:2].tolist()
    if not began <= began_newer < learner.tally.rounds:
        raise node.refuse("clock", "of rounds that have been")
    if learner.budget:
        _check_budget(learner, node)
    return learner


def _check_budget(learner: KernelPRankLearner, node: Node) -> None:
    """Refuse rows that the kernel would look for in vain when it drops the oldest."""
    is_kept = learner.coef != 0
    if learner.averaged:
        is_kept |= (learner.lag != 0) | (learner.newer != 0)
    if len(learner.support) > learner.budget or not is_kept.all():
        raise node.refuse("support", "rows in use, as many as the budget at most")


def _kernel_voted(blank: KernelVotedLearner, node: Node) -> KernelVotedLearner:
    learner: Any = _kernel_prank(blank, node)
    learner.first_thresholds = _like(
        node, "first_thresholds", blank.thresholds, ascending=True
    )
    record = _record(node, 5, learner.tally.rounds)
    number, step, truth, time = record[:, 0], record[:, 1], record[:, 3], record[:, 4]
    n_levels = learner.thresholds.size + 1
    is_sound = (
        # A step of zero moved thresholds apart, and added nothing.
        np.isin(number[step != 0], learner.support.number).all()
        and ((truth >= 0) & (truth < n_levels) & (truth == np.floor(truth))).all()
        and (time[1:] > time[:-1]).all()
    )
    if not is_sound:
        raise node.refuse("record", "of rows of the support, levels and rounds")
    learner.record = (record,) if len(record) else ()
    return learner  # type: ignore[no-any-return]


def _record(node: Node, width: int, rounds: int) -> Any:
    """Take steps: first the number of a row, last the round."""
    record = node.floats("record", None, width)
    number, time = record[:, 0], record[:, -1]
    for values, below in ((number, MOST_ROUNDS), (time, rounds)):
        is_sound = (values >= 0) & (values < below) & (values == np.floor(values))
        if not is_sound.all():
            raise node.refuse("record", "of numbers of rows and rounds")
    return record


def _members(blank: Any, node: Node) -> Any:
    n_members, rounds = len(blank), blank.tally.rounds
    if n_members * rounds > MOST_ROUNDS:
        raise node.refuse("rounds", "few enough for votes to be counted")
    thresholds = _like(node, "thresholds", blank.thresholds, ascending=True)
    return replace(
        blank,
        key=node.array("key", "u8", (n_members,)),
        thresholds=thresholds,
        right=node.ints("right", n_members, below=rounds + 1),
        clock=node.whole("clock", 0, MOST_ROUNDS),
    )


def _ensemble(blank: EnsembleLearner, node: Node) -> AggregateLearner:
    return _weighted(_members(blank, node), node)  # type: ignore[no-any-return]


def _kernel_ensemble(blank: KernelEnsembleLearner, node: Node) -> AggregateLearner:
    learner, support = _members(blank, node), _items(node, blank.kernel)
    coef = node.floats("coef", len(support), len(blank))
    return replace(learner, support=support, coef=coef)  # type: ignore[no-any-return]


_READERS: Final[dict[type, Callable[[Any, Node], Any]]] = {
    PRankLearner: _prank,
    VotedLearner: _voted,
    KernelPRankLearner: _kernel_prank,
    KernelVotedLearner: _kernel_voted,
    EnsembleLearner: _ensemble,
    KernelEnsembleLearner: _kernel_ensemble,
    WidrowHoffLearner: _weighted,
    PerceptronLearner: _weighted,
}
