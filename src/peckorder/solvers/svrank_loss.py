"""A loss of all pairs within queries as a function of the scores, to be minimised."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from os import cpu_count
from typing import Any

import numpy as np

from peckorder._threads import share
from peckorder._typing import Floats, Ints
from peckorder.kernels import pair_losses
from peckorder.solvers.mprank_weighing import Weighing

# From this length on NumPy sorts a query faster than the kernel does.
_LONG = 256
# Rows that make another thread worth its start.
_WORTH_A_THREAD = 1 << 14


@dataclass(frozen=True, eq=False)
class PairRisk:
    """``C / P sum_q sum_{i,j in q} v_i v_j loss(pair)``, P the sum of squared masses.

    The loss is ``max(0, |De| - epsilon)^power``, or if `one_sided`
    ``max(0, |Dy| - sign(Dy) Dh)^power`` for pairs with Dy != 0: that of errors in the
    order contrary to y. Errors are scores less `label`, which is y less an offset.
    """

    y: Floats
    label: Floats
    weighing: Weighing
    C: float
    power: int
    epsilon: float
    one_sided: bool

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return the risk, and its slope in the scores. O(n log n) time."""
        s = self._state
        scores = scores if s.order is None else scores[s.order]
        s.share(pair_losses.errors, scores, s.label, s.weight, s.error)
        if self.one_sided:
            s.share(
                pair_losses.discordant, s.y, s.error, s.error, True, s.weight,
                self.power, s.spares, s.tables, s.places, s.slope, s.value,
            )  # fmt: skip
        else:
            if self.power == 1 or self.epsilon > 0.0:
                s.sort_long()
            s.share(
                pair_losses.band, s.error, s.weight, self.epsilon, self.power,
                s.places, s.spares, s.slope, s.value,
            )  # fmt: skip
        slope = np.empty_like(s.slope)
        slope[slice(None) if s.order is None else s.order] = self._scale * s.slope
        return self._scale * float(s.value.sum()), slope

    @cached_property
    def _scale(self) -> float:
        """C / P, for weights as the weighing has them."""
        mass = np.bincount(self.weighing.query, self.weighing.weight)
        return self.C / float(mass @ mass)

    @cached_property
    def _state(self) -> "_State":
        return _State.of(self)


@dataclass(frozen=True, eq=False)
class _State:
    """Columns in the order of queries, and room to work in.

    `places` has the rows of each query from the largest error of the last call on: the
    next call has less to sort. With one side, it is scratch, and rows are sorted by y.
    """

    order: Ints | None
    offsets: Ints
    y: Floats
    label: Floats
    weight: Floats
    error: Floats
    slope: Floats
    value: Floats
    spares: Floats
    tables: Floats
    places: Ints

    @classmethod
    def of(cls, risk: PairRisk) -> "_State":
        query, n = risk.weighing.query, len(risk.label)
        sizes = np.bincount(query)
        order: Any = None
        if risk.one_sided:
            order = np.lexsort((risk.y, query))
        elif len(sizes) > 1:
            order = np.argsort(query, kind="stable")
        columns = risk.y, risk.label, risk.weighing.weight
        if order is not None:
            columns = tuple(column[order] for column in columns)
        y, label, weight = (np.ascontiguousarray(c, np.float64) for c in columns)
        return cls(
            order,
            np.concatenate([[0], np.cumsum(sizes)]),
            y,
            label,
            weight,
            np.empty(n),
            np.empty(n),
            np.empty(len(sizes)),
            np.empty((4 if risk.one_sided else 3, n)),
            np.empty((2, n if risk.one_sided else 0, 4)),
            np.arange(n),
        )

    def sort_long(self) -> None:
        """Sort long queries by error; the kernel sorts the others."""
        for q in np.flatnonzero(np.diff(self.offsets) >= _LONG):
            first, last = self.offsets[q], self.offsets[q + 1]
            self.places[first:last] = first + np.argsort(-self.error[first:last])

    def share(self, kernel: Callable[..., None], *arguments: Any) -> None:
        """Call a kernel for ranges of queries, shared among threads."""
        offsets = self.offsets
        n_threads = min(cpu_count() or 1, int(offsets[-1]) // _WORTH_A_THREAD)

        def work(some: slice, give_up: Callable[[], bool]) -> None:
            kernel(offsets, some.start, some.stop, *arguments)

        share(len(offsets) - 1, max(1, n_threads), work)
