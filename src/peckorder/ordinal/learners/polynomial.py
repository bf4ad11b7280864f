"""Polynomial kernels by their features, where these are few.

The kernel (gamma x.z + c)**p is the sum over all monomials m of degree up to p of
``weight(m) m(x) m(z)``. Weights on monomials give the scores that coefficients of rows
give, at a cost that does not grow with the rows learnt from. The weight goes to one
of the two sides as it is, not its root to both: integers stay integers, and a score
that lies on a threshold is seen to.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement
from math import comb, factorial, prod
from typing import Self, TypeAlias

import numpy as np

from peckorder._core.row_transform import NONE, RowTransform, UnusableRow, map_blocks
from peckorder._core.typing import Array, Floats, Ints, Rows
from peckorder._core.validation import as_rows, count_rows
from peckorder.ordinal.compiled.linear import RowBlock
from peckorder.ordinal.learners.base import (
    Learner,
    Tally,
    appended,
    read_learner,
    steps_type,
    write_learner,
)
from peckorder.ordinal.learners.baselines import WeightsLearner
from peckorder.ordinal.learners.ensemble import EnsembleLearner
from peckorder.ordinal.learners.prank import PRankLearner
from peckorder.similarity import compiled
from peckorder.similarity.kernel_function import KernelFunction
from peckorder.storage.fields import Field, FieldType, Table
from peckorder.storage.format import Node

# Monomials up to this many are used in place of the kernel.
FEW = 1024
# Values of monomials in memory at a time.
_VALUES = 1 << 20


def n_monomials(kernel: KernelFunction) -> int:
    """Return how many monomials a polynomial kernel has."""
    return comb(kernel.n_columns + kernel.transform.intercept + kernel.degree, kernel.degree)


@dataclass(frozen=True, slots=True)
class Monomials:
    """All monomials of transformed rows, and their weights.

    Each is an earlier one, `factor`, times one feature, `variable`.
    """

    kernel: KernelFunction
    weight: Floats
    factor: Ints
    variable: Ints

    @classmethod
    def of_kernel(cls, kernel: KernelFunction) -> Self:
        """Expand the power of the kernel."""
        n_features = kernel.n_columns + kernel.transform.intercept
        positions: dict[tuple[int, ...], int] = {(): 0}
        for degree in range(1, kernel.degree + 1):
            for features in combinations_with_replacement(range(n_features), degree):
                positions[features] = len(positions)
        return cls(
            kernel,
            np.array([_weight(kernel, features) for features in positions]),
            np.array([positions[features[:-1]] for features in positions]),
            np.array([features[-1] if features else 0 for features in positions]),
        )

    def __len__(self) -> int:
        return len(self.weight)

    def of(self, rows: Rows, selected: slice | Ints) -> Floats:
        """Return the monomials of rows; raise UnusableRow with the position of one."""
        matrix = self.kernel.items(rows, selected, NONE).matrix
        dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        values = np.empty((dense.shape[0], len(self)))
        X = as_rows(dense)[0]
        compiled.monomials(X, self.factor, self.variable, values)
        return values


def _weight(kernel: KernelFunction, features: tuple[int, ...]) -> float:
    """Return the factor of a product of features in the kernel."""
    rest = kernel.degree - len(features)
    orders = map(factorial, (rest, *Counter(features).values()))
    ways = factorial(kernel.degree) // prod(orders)
    with np.errstate(over="ignore", under="ignore"):
        powers = (np.float64(kernel.gamma) ** len(features), np.float64(kernel.coef0) ** rest)
        return float(ways * powers[0] * powers[1])


_Linear: TypeAlias = PRankLearner | EnsembleLearner | WeightsLearner


def _read_linear(node: Node, name: str) -> _Linear:
    learner: _Linear = read_learner(node.owner.linear, node.child(name, inherit=True))
    return learner


@dataclass
class PolynomialLearner(Learner):
    """A linear learner of monomials that remembers which rows it added, how often.

    The record has a line for each step: number of the row, step, which a baseline has
    for each of its columns, and round. It alone grows with the rows, and only
    `expansion` uses it.
    """

    monomials: Monomials
    linear: _Linear
    record: tuple[Floats, ...] = field(default=())

    @property
    def stored_fields(self) -> Table:  # type: ignore[override]
        """The fields, whose record is as wide as steps are."""
        return Table(
            Field("linear", FieldType(_read_linear, write_learner)),
            Field("record", steps_type(2 + self.linear.n_columns)),
        )

    @property
    def transform(self) -> RowTransform:  # type: ignore[override]
        """How rows are transformed before their monomials are taken."""
        return self.monomials.kernel.transform

    @property
    def tally(self) -> Tally:  # type: ignore[override]
        """Rounds, mistakes and loss so far."""
        return self.linear.tally

    @property
    def members(self) -> EnsembleLearner:
        """The ensemble, if the learner is one."""
        assert isinstance(self.linear, EnsembleLearner)
        return self.linear

    def with_threads(self, n_threads: int) -> Self:
        """Return the same ensemble with another number of threads."""
        return replace(self, linear=self.members.with_threads(n_threads))

    def learn_block(self, block: RowBlock) -> int:
        """Learn a block; return the position of an unusable row, or -1."""
        size = max(1, _VALUES // len(self.monomials))
        for first in range(0, block.n_rows, size):
            sub_block, before = block.sub_block(first, size), self.tally.rounds
            try:
                plain = self.monomials.of(sub_block.rows, sub_block.selected)
            except UnusableRow as damaged:
                return first + (damaged.row or 0)
            with np.errstate(over="ignore", invalid="ignore"):
                weighted = plain * self.monomials.weight
            unusable, steps = self.linear.learn_block_with_steps(
                sub_block._replace(
                    rows=as_rows(plain), added=as_rows(weighted), start=0, order=NONE
                )
            )
            if unusable >= 0:
                return first + unusable
            position = np.flatnonzero(steps if steps.ndim == 1 else steps.any(axis=1))
            if position.size:
                # In one array: float64 holds all integers that can occur.
                number = sub_block.numbers[position]
                new = np.column_stack([number, steps[position], before + position])
                self.record = appended(self.record, new, np.concatenate)
        return -1

    def is_finite(self) -> bool:
        """Whether nothing has overflowed so far."""
        return self.linear.is_finite()

    def mean_thresholds(self) -> Floats:
        """Return the thresholds that the mean score is compared with."""
        assert not isinstance(self.linear, WeightsLearner)
        return self.linear.mean_rule().thresholds

    def expansion(self) -> tuple[Ints, Array]:
        """Return numbers of rows and their coefficients in the rule that predicts.

        Those of the last rule of PRank are integers.
        """
        width = self.linear.n_columns
        record = np.concatenate([np.empty((0, 2 + width)), *self.record])
        numbers, inverse = np.unique(record[:, 0].astype(np.int64), return_inverse=True)
        coef = np.zeros((len(numbers), width))
        np.add.at(coef, inverse, self.linear.as_they_count(record[:, 1:-1], record[:, -1:]))
        if isinstance(self.linear, PRankLearner) and not self.linear.averaged:
            coef = coef.astype(np.int64)
        return numbers, coef[:, 0] if width == 1 else coef

    def levels(self, rows: Rows) -> Ints:
        """Return the predicted level of every row."""
        return self._from_linear("levels", rows)

    def scores(self, rows: Rows) -> Floats:
        """Return the scores of every row by a baseline."""
        return self._from_linear("scores", rows)

    def mean_scores(self, rows: Rows) -> Floats:
        """Return the score of every row, to be compared with the mean thresholds."""
        return self._from_linear("mean_scores", rows)

    def mean_ranks(self, rows: Rows) -> Floats:
        """Return the mean rank, 1..k, of every row over all votes of an ensemble."""
        return self._from_linear("mean_ranks", rows)

    def shares(self, rows: Rows) -> Floats:
        """Return the share of the votes of an ensemble that each level has."""
        return self._from_linear("shares", rows)

    def _from_linear(self, method: str, rows: Rows) -> Array:
        """Call a method of the linear learner, block by block."""
        function: Callable[[Rows], Array] = getattr(self.linear, method)

        def call(block: slice) -> Array:
            return function(as_rows(self.monomials.of(rows, block)))

        size = max(1, _VALUES // len(self.monomials))
        return np.concatenate(map_blocks(count_rows(rows), size, call))

    def alone(self, j: int) -> Self:
        """Return a learner of member j, which has learnt nothing yet."""
        return replace(self, linear=self.members.alone(j))

    def joined(self, parts: Sequence[Self]) -> Self:
        """Return an ensemble of members that have learnt the same rows alone.

        Its record has a line per row, since rows came at another round to each.
        """
        linear = self.members.joined([part.members for part in parts])
        pieces = (piece for part in parts for piece in part.record)
        number, step, _ = np.concatenate([np.empty((0, 3)), *pieces]).T
        numbers, inverse = np.unique(number, return_inverse=True)
        total = np.bincount(inverse, step, len(numbers))
        record = np.column_stack([numbers, total, np.zeros(len(numbers))])
        return replace(self, linear=linear, record=(record[total != 0],))

    def merge(self, other: Self) -> Self:
        """Return an ensemble with the members of both.

        Rows of the other are numbered on from the rounds of this one.
        """
        shift = np.array([self.tally.rounds, 0, 0])
        theirs = [piece + shift for piece in other.record]
        joined = np.concatenate([np.empty((0, 3)), *self.record, *theirs])
        return replace(self, linear=self.members.merge(other.members), record=(joined,))
