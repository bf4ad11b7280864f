"""The baselines of the PRank paper: the Widrow-Hoff rule and the perceptron."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from peckorder._core.row_transform import RowTransform
from peckorder._core.typing import Floats, Ints, Rows
from peckorder.ordinal.compiled import baselines, dual
from peckorder.ordinal.compiled.baselines import Columns, Step
from peckorder.ordinal.compiled.dual import KernelValues
from peckorder.ordinal.compiled.linear import RowBlock
from peckorder.ordinal.learners.base import (
    TALLY,
    Learner,
    Tally,
    finite_scores,
    nearest_level,
    scores,
)
from peckorder.ordinal.learners.kernel_base import NO_VALUES, SUPPORT, KernelLearner
from peckorder.similarity.kernel_function import Items
from peckorder.storage.fields import Field, Table, floats
from peckorder.storage.format import Node


def _lag(learner: Any) -> Floats | None:
    """Return the lags that are stored: null without an average."""
    lag: Floats = learner.lag
    return lag if learner.averaged else None


def _check(node: Node) -> None:
    if ("lag" in node.values) != node.owner.averaged:
        raise node.refuse("lag", "there if rules are averaged, and else null")


@dataclass(kw_only=True)
class _Baseline(Learner):
    """Scores in columns, and their averages.

    ``rounds * value - lag`` is the sum of the weights, or coefficients, after each
    round.
    """

    step: Step
    averaged: bool
    lag: Floats
    tally: Tally = field(default_factory=Tally)

    @property
    def n_rules(self) -> int:
        """How many rules the one that predicts is the sum of."""
        return max(self.tally.rounds, 1) if self.averaged else 1

    def _sum(self, value: Floats) -> Floats:
        """Return the sum of so many rules, not the mean: sums of integers are exact."""
        if not self.averaged or self.tally.rounds == 0:
            return value
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(self.tally.rounds * value - self.lag)

    def _columns(self, value: Floats, lag: Floats, n_columns: int, n_logged: int = 0) -> Columns:
        scores, sums, steps = (np.empty(n_columns) for _ in range(3))
        log = np.zeros((n_logged, n_columns))
        return Columns(value, lag, self.tally.rounds, self.averaged, scores, sums, steps, log)

    def scores(self, rows: Rows) -> Floats:
        """Return the score of every row: a rank before rounding, or one per level."""
        score = self.sums(rows) / self.n_rules
        return score[:, 0] if self.step.regression else score

    def levels(self, rows: Rows) -> Ints:
        """Return the predicted level of every row; the lowest of equal ones."""
        if self.step.regression:
            return nearest_level(self.scores(rows), self.step.n_levels)
        level: Ints = np.argmax(self.sums(rows), axis=1)
        return level

    @abstractmethod
    def sums(self, rows: Rows) -> Floats:
        """Return the scores (n, columns) by the sum of the rules."""


@dataclass(kw_only=True)
class WeightsLearner(_Baseline):
    """A baseline with weights: (d,) of one column, or (columns, d)."""

    transform: RowTransform
    weights: Floats

    @property
    def stored_fields(self) -> Table:  # type: ignore[override]
        """The fields; weights of one column are one-dimensional."""
        sizes = ("rules", "weights")[-self.weights.ndim :]
        return Table(
            *TALLY,
            Field("weights", floats(*sizes)),
            Field("lag", floats(*sizes), _lag, optional=True),
            complete=_check,
        )

    @classmethod
    def start(cls, step: Step, averaged: bool, transform: RowTransform, weights: Floats) -> Self:
        """Return a learner that has learnt nothing yet."""
        lag = np.zeros_like(weights)
        return cls(step=step, averaged=averaged, lag=lag, transform=transform, weights=weights)

    def learn_block(self, block: RowBlock) -> int:
        """Learn a block; return the position of an unusable row, or -1."""
        return self._learn(block, 0)[0]

    def learn_block_with_steps(self, block: RowBlock) -> tuple[int, Floats]:
        """Learn a block; return as well the steps (n, columns) that each row made."""
        return self._learn(block, block.n_rows)

    def _learn(self, block: RowBlock, n_logged: int) -> tuple[int, Floats]:
        counts, weights = np.zeros(2, dtype=np.int64), np.atleast_2d(self.weights)
        columns = self._columns(weights, np.atleast_2d(self.lag), len(weights), n_logged)
        unusable = baselines.learn(block, self.transform, columns, self.step, counts)
        self.tally.add(block.n_rows, counts)
        return unusable, columns.log

    @property
    def n_columns(self) -> int:
        """How many numbers a step has."""
        return len(np.atleast_2d(self.weights))

    def as_they_count(self, step: Floats, time: Floats) -> Floats:
        """Return what steps of those rounds add to the rule that predicts."""
        rounds = self.tally.rounds
        return step * (rounds - time) / rounds if self.averaged else step

    def is_finite(self) -> bool:
        """Whether nothing has overflowed so far."""
        return bool(np.isfinite(self.rule()).all())

    def rule(self) -> Floats:
        """Return the weights of the rule that predicts, times `n_rules`."""
        return self._sum(self.weights)

    def mean_weights(self) -> Floats:
        """Return the weights of the rule that predicts."""
        return self.rule() / self.n_rules

    def sums(self, rows: Rows) -> Floats:
        """Return the scores (n, columns) by the sum of the rules."""
        weights = np.atleast_2d(self.rule())
        return np.column_stack([scores(rows, self.transform, column) for column in weights])


@dataclass(kw_only=True)
class KernelBaselineLearner(_Baseline, KernelLearner):
    """A baseline with coefficients (support, columns) of rows."""

    coef: Floats

    @property
    def stored_fields(self) -> Table:  # type: ignore[override]
        """The fields, with as many columns as there are."""
        coef = floats("support", self.coef.shape[1])
        return Table(
            *TALLY,
            Field("coef", coef),
            Field("lag", coef, _lag, optional=True),
            SUPPORT,
            complete=_check,
        )

    def _learn(self, block: RowBlock, items: Items, values: KernelValues, earlier: Ints) -> int:
        counts, n_columns = np.zeros(2, dtype=np.int64), self.coef.shape[1]
        new = np.zeros((block.n_rows, n_columns))
        coef = np.concatenate([self.coef, new])
        lag = np.concatenate([self.lag, new]) if self.averaged else np.zeros_like(coef)
        columns = self._columns(coef, lag, n_columns)
        unusable = baselines.learn_kernels(
            values, block.level, block.predicted, columns, self.step, counts
        )
        if unusable >= 0:
            return unusable
        self.tally.add(block.n_rows, counts)
        kept = np.asarray(coef.any(axis=1) | lag.any(axis=1))
        both = self._add_support(items, np.hstack([coef, lag]), kept)
        self.coef = np.ascontiguousarray(both[:, :n_columns])
        if self.averaged:
            self.lag = np.ascontiguousarray(both[:, n_columns:])
        return -1

    def is_finite(self) -> bool:
        """Whether nothing has overflowed so far."""
        return bool(np.isfinite(self._sum(self.coef)).all())

    def expansion(self) -> tuple[Ints, Floats]:
        """Return numbers of rows and their coefficients in the rule that predicts."""
        coef = self._sum(self.coef) / self.n_rules
        return self.support.number, coef[:, 0] if self.step.regression else coef

    def sums(self, rows: Rows) -> Floats:
        """Return the scores (n, columns) by the sum of the rules."""
        columns = np.ascontiguousarray(self._sum(self.coef).T)

        def score(block: slice, past: Floats) -> Floats:
            values = np.empty((len(columns), len(past)))
            for coef, value in zip(columns, values, strict=True):
                dual.scores(KernelValues(past, NO_VALUES), coef, value)
            return values.T

        sums = np.concatenate(self.kernel.map_blocks(rows, self.support, score))
        for column in sums.T:
            finite_scores(column)
        return sums
