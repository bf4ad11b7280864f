"""Polynomial kernels by their features, where these are few.

The kernel (gamma x.z + c)**p is the sum over all monomials m of degree up to p of
``weight(m) m(x) m(z)``. Weights on monomials give the scores that coefficients of rows
give, at a cost that does not grow with the rows learnt from. The weight goes to one
of the two sides as it is, not its root to both: integers stay integers, and a score
that lies on a threshold is seen to.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement
from math import comb, factorial, prod
from typing import Any, Self

import numpy as np

from peckorder._core.growing import grown
from peckorder._core.row_transform import NONE, Stopped, View
from peckorder._core.typing import Floats, Ints, Rows
from peckorder._core.validation import as_rows, count_rows
from peckorder.ordinal.learners.base import Tally, Visit
from peckorder.ordinal.learners.ensemble import EnsembleLearner
from peckorder.ordinal.learners.prank import PRankLearner
from peckorder.similarity import compiled as kernels
from peckorder.similarity.kernel_function import KernelFunction

# Monomials up to this many are used in place of the kernel.
FEW = 1024
# Values of monomials held at a time.
_CELLS = 1 << 20


def n_monomials(kernel: KernelFunction) -> int:
    """Return how many monomials a polynomial kernel has."""
    return comb(kernel.n_columns + kernel.view.intercept + kernel.degree, kernel.degree)


@dataclass(frozen=True, slots=True)
class Monomials:
    """All monomials of rows as a kernel looks at them, and their weights.

    Each is an earlier one, `factor`, times one feature, `variable`.
    """

    kernel: KernelFunction
    weight: Floats
    factor: Ints
    variable: Ints

    @classmethod
    def of_kernel(cls, kernel: KernelFunction) -> Self:
        """Expand the power of the kernel."""
        n_features = kernel.n_columns + kernel.view.intercept
        places: dict[tuple[int, ...], int] = {(): 0}
        for degree in range(1, kernel.degree + 1):
            for chosen in combinations_with_replacement(range(n_features), degree):
                places[chosen] = len(places)
        return cls(
            kernel,
            np.array([_weight(kernel, chosen) for chosen in places]),
            np.array([places[chosen[:-1]] for chosen in places]),
            np.array([chosen[-1] if chosen else 0 for chosen in places]),
        )

    def __len__(self) -> int:
        return len(self.weight)

    def of(self, rows: Rows, chosen: slice | Ints) -> Floats:
        """Return the monomials of some rows; raise Stopped with the place of one."""
        matrix = self.kernel.items(rows, chosen, NONE).matrix
        dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        values = np.empty((dense.shape[0], len(self)))
        X = as_rows(dense)[0]
        kernels.monomials(X, self.factor, self.variable, values)
        return values


def _weight(kernel: KernelFunction, chosen: tuple[int, ...]) -> float:
    """Return how much a product of features counts in the kernel."""
    rest = kernel.degree - len(chosen)
    orders = map(factorial, (rest, *Counter(chosen).values()))
    ways = factorial(kernel.degree) // prod(orders)
    with np.errstate(over="ignore", under="ignore"):
        powers = (
            np.float64(kernel.gamma) ** len(chosen),
            np.float64(kernel.coef0) ** rest,
        )
        return float(ways * powers[0] * powers[1])


@dataclass
class PolynomialLearner:
    """A linear learner of monomials that remembers which rows it added, how often.

    The record has a line for each step: number of the row, step, round. It alone grows
    with the rows, and only what `expansion` tells is taken from it.
    """

    monomials: Monomials
    linear: PRankLearner | EnsembleLearner
    record: tuple[Floats, ...] = field(default=())

    @property
    def view(self) -> View:
        """How rows are looked at before their monomials are taken."""
        return self.monomials.kernel.view

    @property
    def tally(self) -> Tally:
        """What the learner has been through."""
        return self.linear.tally

    @property
    def members(self) -> EnsembleLearner:
        """The ensemble, if the learner is one."""
        assert isinstance(self.linear, EnsembleLearner)
        return self.linear

    def with_threads(self, n_threads: int) -> Self:
        """Return the same ensemble, set to work on so many threads."""
        return replace(self, linear=self.members.with_threads(n_threads))

    def copy(self) -> Self:
        """Return a learner that goes its own way from here."""
        return replace(self, linear=self.linear.copy())

    def visit(self, visit: Visit) -> int:
        """Learn a block; return the position of a row that cannot be, or -1."""
        size = max(1, _CELLS // len(self.monomials))
        for first in range(0, len(visit), size):
            part, before = visit.part(first, size), self.tally.rounds
            try:
                plain = self.monomials.of(part.rows, part.chosen)
            except Stopped as stopped:
                return first + (stopped.row or 0)
            with np.errstate(over="ignore", invalid="ignore"):
                weighted = plain * self.monomials.weight
            inner = Visit(
                as_rows(plain),
                0,
                NONE,
                part.level,
                part.predicted,
                added=as_rows(weighted),
            )
            stopped_at, steps = self.linear.visit_telling_steps(inner)
            if stopped_at >= 0:
                return first + stopped_at
            place = np.flatnonzero(steps)
            if place.size:
                # In one array: float64 holds all integers that can occur.
                columns = [part.numbers[place], steps[place], before + place]
                new = np.column_stack(columns)
                self.record = grown(self.record, new, np.concatenate)
        return -1

    def is_finite(self) -> bool:
        """Whether nothing has overflowed so far."""
        return self.linear.is_finite()

    def mean_thresholds(self) -> Floats:
        """Return the thresholds that the mean score is compared with."""
        return self.linear.mean_rule().thresholds

    def expansion(self) -> tuple[Ints, Any]:
        """Return numbers of rows and their coefficients in the rule that predicts."""
        number, step, time = np.concatenate([np.empty((0, 3)), *self.record]).T
        is_averaged = isinstance(self.linear, PRankLearner) and self.linear.averaged
        if isinstance(self.linear, EnsembleLearner):
            step = step / len(self.linear)
        elif is_averaged:
            step = step * (self.tally.rounds - time) / self.tally.rounds
        numbers, inverse = np.unique(number.astype(np.int64), return_inverse=True)
        is_last = isinstance(self.linear, PRankLearner) and not is_averaged
        coef = np.zeros(len(numbers), dtype=np.int64 if is_last else np.float64)
        np.add.at(coef, inverse, step.astype(coef.dtype))
        return numbers, coef

    def levels(self, rows: Rows) -> Ints:
        """Return the predicted level of every row."""
        return self._ask("levels", rows)  # type: ignore[no-any-return]

    def mean_scores(self, rows: Rows) -> Floats:
        """Return the score of every row, to be compared with the mean thresholds."""
        return self._ask("mean_scores", rows)  # type: ignore[no-any-return]

    def mean_ranks(self, rows: Rows) -> Floats:
        """Return the mean rank, 1..k, of every row over all votes of an ensemble."""
        return self._ask("mean_ranks", rows)  # type: ignore[no-any-return]

    def shares(self, rows: Rows) -> Floats:
        """Return the share of the votes of an ensemble that each level has."""
        return self._ask("shares", rows)  # type: ignore[no-any-return]

    def _ask(self, question: str, rows: Rows) -> Any:
        """Put a question to the linear learner, block by block."""
        n_rows = count_rows(rows)
        size = max(1, _CELLS // len(self.monomials))
        answers = []
        for first in range(0, n_rows, size):
            some = slice(first, min(first + size, n_rows))
            try:
                values = self.monomials.of(rows, some)
                answers.append(getattr(self.linear, question)(as_rows(values)))
            except Stopped as stopped:
                raise Stopped(first + (stopped.row or 0)) from None
        return np.concatenate(answers)

    def merge(self, other: Self) -> Self:
        """Return an ensemble with the members of both.

        Rows of the other are numbered on from the rounds of this one.
        """
        shift = np.array([self.tally.rounds, 0, 0])
        theirs = [piece + shift for piece in other.record]
        joined = np.concatenate([np.empty((0, 3)), *self.record, *theirs])
        return replace(self, linear=self.members.merge(other.members), record=(joined,))
