"""Magnitude-preserving ranking of a stream of rows with a kernel: the on-line version."""

from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np

from peckorder._core.pickling import SavedPlainly
from peckorder._core.typing import Floats
from peckorder.magnitude.compiled import kernel_stream as compiled
from peckorder.magnitude.compiled.kernel_stream import Known, Settings
from peckorder.magnitude.mprank_solver.iterative import Diverged
from peckorder.magnitude.mprank_solver.kernel_matrix import Gram, refuse_indefinite
from peckorder.magnitude.mprank_solver.ridge import Method, Solution
from peckorder.magnitude.mprank_solver.rows import (
    LARGEST_RIDGE,
    SMALLEST_RIDGE,
    QueryWeights,
    refuse_large,
)
from peckorder.magnitude.mprank_solver.solve import TrainingRows
from peckorder.similarity.kernel_function import KernelFunction

# Kernels that are computed together, those of some rows with all: 2 MiB, but for 16 rows.
_TILE: Final = 1 << 18
_FEWEST_ROWS, _MOST_ROWS = 16, 256
# A duality gap that has grown so much has no end.
_DIVERGED: Final = 1e12


@dataclass(frozen=True, eq=False)
class Visits(SavedPlainly):
    """What is kept of each row of a stream, beside the row itself.

    The coefficients `beta` maximise, one after the other, with kernels K and labels y
    less their means by the weights v of rows, W in all ::

        - beta' K beta - sum_i W / (2 C v_i) beta_i^2 + 2 beta' y

    as in section 2.5 of the paper. `image` is K beta and `sums` K v, of kernels as they
    are: the means of kernels follow from them, whichever rows are still to come. So the
    visit of a row takes its kernels with the rows so far and O(n) memory beside them.
    """

    beta: Floats
    image: Floats
    sums: Floats
    diagonal: Floats

    @classmethod
    def none(cls) -> Self:
        """Return the visits of no rows."""
        return cls(*np.empty((4, 0)))

    @classmethod
    def of_fit(cls, training: TrainingRows, dual: Floats) -> Self:
        """Return what the visits of rows that were learnt at once would have led to."""
        gram: Gram = training.rows
        return cls(
            dual.copy(), gram.product(dual), gram.product(_weight(training)), gram.diagonal()
        )

    def padded(self, n: int) -> Self:
        """Return a copy with zeros for rows that are new, n rows in all."""
        columns = np.zeros((4, n))
        columns[:, : len(self.beta)] = self.beta, self.image, self.sums, self.diagonal
        return type(self)(*columns)


def with_batch(
    before: TrainingRows | None, batch: TrainingRows, function: KernelFunction
) -> TrainingRows:
    """Return the rows of a stream, with their kernels, and those of a batch behind them."""
    if before is None:
        return replace(
            batch,
            rows=Gram.of(function, batch.rows, is_copy=batch.is_copy),
            kept=slice(None),
            n_rows=len(batch.y),
            is_copy=True,
        )
    both, n = (before, batch), (len(before.y), len(batch.y))
    weight = None
    if before.weight is not None or batch.weight is not None:
        weight = np.concatenate([_weight(part) for part in both])
    offset = None
    if before.offset is not None or batch.offset is not None:
        offset = np.concatenate(
            [np.zeros(len(p.y)) if p.offset is None else p.offset for p in both]
        )
    return TrainingRows(
        rows=before.rows.extended(batch.rows),
        y=np.concatenate([part.y for part in both]),
        label=np.concatenate([part.label for part in both]),
        offset=offset,
        weights=QueryWeights.of(np.zeros(sum(n), dtype=np.int64), weight),
        weight=weight,
        has_queries=False,
        kept=slice(None),
        n_rows=sum(n),
        is_copy=True,
    )


def _weight(training: TrainingRows) -> Floats:
    return np.ones(len(training.y)) if training.weight is None else training.weight


def learn_rows(
    training: TrainingRows, before: Visits, C: float, method: Method
) -> tuple[Visits, Solution]:
    """Visit the rows that are new, then all until the gap is small or passes are used up.

    O(n d) time per visit for n rows with d features. Raises Diverged if steps are long.
    """
    gram, n, n_known = training.rows, len(training.y), len(before.beta)
    gram.check()
    visits, weight = before.padded(n), _weight(training)
    known = Known(training.label, weight, visits.beta, visits.image, visits.sums, visits.diagonal)
    settings = Settings(
        C, SMALLEST_RIDGE, LARGEST_RIDGE, method.name != "gradient", method.step or 0.0
    )
    for rows in _blocks(n_known, n):
        compiled.arrive(gram.block(rows, rows.stop), known, settings, rows.start)
    limits, n_iter = method.limits, 1
    ridge = np.clip(weight.sum() / (2.0 * C) / weight, SMALLEST_RIDGE, LARGEST_RIDGE)
    target = training.label - weight @ training.label / weight.sum()
    at_zero = float(target @ (target / ridge))
    solution, last = _solution(known, ridge, n_iter), np.inf
    while True:
        if not solution.gap <= _DIVERGED * max(at_zero, SMALLEST_RIDGE):
            _refuse_steps(known, is_exact=settings.is_exact)
        if method.by_gap:
            is_done = solution.gap <= limits.tol * at_zero
        else:
            is_done = abs(last - solution.objective) <= limits.tol * solution.objective
        if is_done or n_iter >= limits.max_iter:
            break
        for rows in _blocks(0, n):
            compiled.revisit(gram.block(rows, n), known, settings, rows.start)
        n_iter, last = n_iter + 1, solution.objective
        solution = _solution(known, ridge, n_iter)
    # Who wants one visit per row knows that it is no solution.
    is_converged = is_done or limits.max_iter == 1
    return visits, replace(solution, is_converged=is_converged)


def _blocks(first: int, n: int) -> list[slice]:
    size = min(max(_TILE // n, _FEWEST_ROWS), _MOST_ROWS)
    return [slice(i, min(i + size, n)) for i in range(first, n, size)]


def _solution(known: Known, ridge: Floats, n_iter: int) -> Solution:
    """Return the coefficients, whose sum is zero, and how good they are. O(n)."""
    weight, share = known.weight, known.beta.sum() / known.weight.sum()
    dual = known.beta - share * weight
    score = known.image - share * known.sums
    intercept = float(weight @ (known.label - score) / weight.sum())
    residual = known.label - score - intercept
    error = residual - ridge * known.beta
    objective = float(dual @ score + residual @ (residual / ridge))
    gap = float(error @ (error / ridge))
    return Solution(None, dual, intercept, objective, gap, n_iter, True)


def _refuse_steps(known: Known, *, is_exact: bool) -> None:
    """Say why the gap has no end: long steps, large numbers or a wrong kernel."""
    size = np.abs(known.beta).max()
    curvature = float("nan")
    if np.isfinite(size) and size > 0.0:
        unit = known.beta / size
        share = unit.sum() / known.weight.sum()
        score = (known.image - share * size * known.sums) / size
        curvature = float((unit - share * known.weight) @ score / (unit @ unit))
    if not is_exact:
        raise Diverged(curvature)
    if not np.isfinite(curvature):
        refuse_large()
    refuse_indefinite(curvature)
