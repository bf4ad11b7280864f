"""Linear SVRank on a cluster: the planes of partitions, summed.

The minimiser is that of one process. It needs the risk at some scores and its slope;
here scores are represented by their w, and a slope s by the plane ``X' s`` of d numbers.
Workers keep the scores of their rows.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from functools import reduce
from threading import Lock
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import clone

from peckorder._core.errors import refusal
from peckorder._core.typing import Floats
from peckorder.distributed.cluster.partitions import Partitions, load, map_partitions
from peckorder.distributed.cluster.sources import Source
from peckorder.distributed.fitting.common import (
    check_queries,
    named_after,
    refuse_weightless,
    set_features,
)
from peckorder.estimators import MPRank, SVRank
from peckorder.feedback import Opinions
from peckorder.magnitude.base import MagnitudeModel
from peckorder.magnitude.mprank_solver.moments import RunningMoments
from peckorder.magnitude.mprank_solver.solve import TrainingRows
from peckorder.magnitude.svrank_solver.loss import PairRisk
from peckorder.magnitude.svrank_solver.minimise import minimise
from peckorder.magnitude.svrank_solver.space import Features
from peckorder.streams.block import Block

if TYPE_CHECKING:
    from _thread import LockType

    from distributed import Client


def check_linear(estimator: MagnitudeModel) -> None:
    """Refuse kernels: they would need the rows of one worker at another."""
    if estimator.kernel != "linear":
        raise refusal(
            "kernel",
            "be 'linear' for a distributed fit, since kernels are of rows of different workers",
            repr(estimator.kernel),
            error=ValueError,
        )


def read(estimator: MagnitudeModel, block: Block) -> TrainingRows | None:
    """Check a partition as `fit` does; None if all its weights are zero, or labels missing.

    Rows with weight zero are checked as well, so that refusals do not depend on where
    partitions end.
    """
    is_weightless = block.weight is not None and not block.weight.any()
    weight = None if is_weightless else block.weight
    with named_after(estimator):
        rows = Opinions.of(block.y, estimator.missing_labels).rows
        is_unlabelled = rows is not None and len(rows) == 0
        y = np.zeros(len(block.y)) if is_unlabelled else block.y
        given = estimator._read(block.X, y, block.qid, weight, None, reset=True)
    return None if is_weightless or is_unlabelled else given


def fit_mprank(estimator: MPRank, source: Source, client: "Client") -> None:
    """Learn in one pass: partitions are read, summed and dropped."""
    with named_after(estimator):
        estimator._check()
        check_linear(estimator)
    partitions = map_partitions(client, source, moments_of, clone(estimator), source.has_queries)
    moments = partitions.joined(join)
    if moments is None:
        refuse_weightless()
    with named_after(estimator), np.errstate(over="ignore", invalid="ignore"):
        estimator._fit_moments(moments)
    set_features(estimator, partitions)


def moments_of(block: Block, estimator: MPRank, has_queries: bool) -> RunningMoments | None:
    """Return the moments of a partition; None if all its weights are zero."""
    given = read(estimator, block)
    if given is None:
        return None
    moments = RunningMoments.empty(estimator.n_features_in_, has_queries=has_queries)
    with named_after(estimator), np.errstate(over="ignore", invalid="ignore"):
        return moments.add(*given.columns)


def join(moments_of_parts: list[RunningMoments | None]) -> RunningMoments | None:
    """Join moments, in their order."""
    known = [moments for moments in moments_of_parts if moments is not None]
    with np.errstate(over="ignore", invalid="ignore"):
        return reduce(RunningMoments.merge, known) if known else None


# Columns of scores that a worker keeps of each partition: those on a line from the best
# point so far are sums of two of them.
_KEPT: Final = 6


def fit_svrank(estimator: SVRank, source: Source, client: "Client") -> None:
    """Learn from planes that workers compute where the rows are."""
    with named_after(estimator):
        estimator._check()
        check_linear(estimator)
    check_queries(estimator, source)
    partitions = load(client, source)
    risk = SummedRisk.of(partitions, estimator)
    limits = estimator._limits()
    with np.errstate(over="ignore", invalid="ignore"):
        solution = minimise(Weights(partitions.n_features), risk, limits)
    with named_after(estimator):
        estimator._check_finite(solution)
    estimator._store(estimator._solution(solution, risk.mean_off(solution.w[0])))
    set_features(estimator, partitions)
    if not solution.is_converged:
        with named_after(estimator):
            estimator._warn(limits)


class Line:
    """Scores of all rows, represented by w, perhaps as ``start + length along``.

    Then a worker with both columns need not multiply rows again.
    """

    __array_ufunc__ = None  # numbers of NumPy leave it to __rmul__

    def __init__(
        self,
        w: Floats,
        start: Floats | None = None,
        along: Floats | None = None,
        length: float = 0.0,
    ) -> None:
        self.w = w
        self.start, self.along, self.length = start, along, float(length)

    def __array__(self, dtype: object = None, copy: object = None) -> Floats:
        return self.w

    def __add__(self, other: "Line") -> "Line":
        w = self.w + other.w
        if other.start is None and other.along is not None:
            return Line(w, self.w, other.along, other.length)
        return Line(w)

    def __sub__(self, other: "Line") -> "Line":
        return Line(self.w - other.w)

    def __rmul__(self, length: float) -> "Line":
        return Line(length * self.w, None, self.w, length)

    @property
    def parts(self) -> tuple[Floats, Floats | None, float]:
        """What is sent to a worker: start, along and length."""
        if self.start is None:
            return self.w, None, 0.0
        return self.start, self.along, self.length


@dataclass(frozen=True)
class Weights:
    """Weights of features; their scores and slopes are on the workers."""

    n_features: int

    def zero(self) -> Floats:
        """Return the origin."""
        return np.zeros((1, self.n_features))

    def of_slope(self, slope: Floats) -> Floats:
        """Return the gradient in w, which represents a slope."""
        return slope[np.newaxis]

    def scores(self, w: Floats) -> Any:
        """Return what represents the scores."""
        return Line(w[0])


@dataclass(frozen=True, eq=False)
class SummedRisk:
    """The risk of all partitions, each with its share of the squared masses.

    `shares` has one share per partition, in whose units its own risk is; zero where all
    weights are zero.
    """

    partitions: Partitions
    estimator: SVRank
    fit: str
    shares: Floats
    masses: Floats

    @classmethod
    def of(cls, partitions: Partitions, estimator: SVRank) -> "SummedRisk":
        """Let workers read their rows, and return their weights."""
        bare, fit = clone(estimator), uuid4().hex
        answers = np.array(partitions.ask(_weights, bare, fit))
        largest, mass, squares = answers.T
        if not largest.max() > 0.0:
            refuse_weightless()
        units = largest / largest.max()
        shares = units**2 * squares
        return cls(partitions, bare, fit, shares / shares.sum(), units * mass)

    @property
    def power(self) -> int:
        """The power of the loss of a pair."""
        return int(self.estimator.power)

    def __call__(self, scores: Line) -> tuple[float, Floats]:
        """Return the risk, and the plane that touches it. One message per worker."""
        answers = self.partitions.ask(_plane, self.estimator, self.fit, *scores.parts)
        total = self.shares @ np.stack(answers)
        return float(total[0]), total[1:]

    def mean_off(self, w: Floats) -> float:
        """Return the mean difference of labels and scores, over all rows."""
        means = self.partitions.ask(_mean_off, self.estimator, self.fit, w)
        return float(self.masses @ means / self.masses.sum())


@dataclass(eq=False)
class _State:
    """The state of a partition: checked rows, their risk, some scores."""

    rows: TrainingRows
    risk: PairRisk
    space: Features
    scores: OrderedDict[bytes, Floats] = field(default_factory=OrderedDict)
    lock: "LockType" = field(default_factory=Lock)

    def scores_of(self, w: Floats) -> Floats:
        """Return scores, kept or computed."""
        key = w.tobytes()
        scores = self.scores.pop(key, None)
        return self.keep(key, self.space.scores(w[np.newaxis]) if scores is None else scores)

    def keep(self, key: bytes, scores: Floats) -> Floats:
        self.scores[key] = scores
        while len(self.scores) > _KEPT:
            self.scores.popitem(last=False)
        return scores


# Deleted with the rows: partitions that Dask drops or moves are read again. The name of
# the fit, and its state; None where all weights are zero.
_states: WeakKeyDictionary[Block, tuple[str, _State | None]] = WeakKeyDictionary()
_lock = Lock()


def _state(block: Block, estimator: SVRank, fit: str) -> _State | None:
    """Return the state of a partition; None if all its weights are zero."""
    with _lock:
        known, state = _states.get(block, (None, None))
        if known != fit:
            rows = read(estimator, block)
            state = None
            if rows is not None:
                state = _State(rows, estimator._risk(rows), Features(rows.rows))
            _states[block] = fit, state
    return state


def _weights(block: Block, estimator: SVRank, fit: str) -> tuple[float, float, float]:
    """Return the largest weight; in its units, the mass and squares of queries'."""
    state = _state(block, estimator, fit)
    if state is None:
        return 0.0, 0.0, 0.0
    largest = 1.0 if block.weight is None else float(np.max(block.weight))
    weights = state.rows.weights
    mass = np.bincount(weights.query, weights.weight)
    return largest, float(mass.sum()), float(mass @ mass)


def _plane(
    block: Block, estimator: SVRank, fit: str, start: Floats, along: Floats | None, length: float
) -> Floats:
    """Return the risk of a partition, and its gradient in w, as d + 1 numbers."""
    state = _state(block, estimator, fit)
    if state is None:
        return np.zeros(1 + len(start))
    with state.lock, np.errstate(over="ignore", invalid="ignore"):
        scores = state.scores_of(start)
        if along is not None:
            scores = scores + length * state.scores_of(along)
            state.keep((start + length * along).tobytes(), scores)
        value, slope = state.risk(scores)
        return np.append(value, state.space.of_slope(slope)[0])


def _mean_off(block: Block, estimator: SVRank, fit: str, w: Floats) -> float:
    """Return the mean difference of labels and scores in a partition."""
    state = _state(block, estimator, fit)
    if state is None:
        return 0.0
    with state.lock:
        return state.rows.weights.mean(state.rows.label - state.scores_of(w))
