"""A loss of all pairs within queries as a function of the scores, to be minimised."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from peckorder._core.threads import MIN_ITEMS_PER_THREAD, n_cores, share
from peckorder._core.typing import Floats, Ints
from peckorder.magnitude.compiled import label_pair_losses, pair_losses
from peckorder.magnitude.mprank_solver.query_weights import QueryWeights

# From this length on NumPy sorts a query faster than the kernel does.
_LONG = 256


class Risk(Protocol):
    """A convex function of the scores.

    Wherever rows are: scores and slopes may stand for columns that are elsewhere, as
    long as their sums and inner products are those of the columns.
    """

    @property
    def power(self) -> int:
        """The power of the loss of a pair; 2 if there are no kinks."""

    def __call__(self, scores: Any) -> tuple[float, Any]:
        """Return the risk, and its slope in the scores."""


@dataclass(frozen=True, eq=False)
class PairRisk:
    """``C / P sum_q sum_{i,j in q} v_i v_j loss(pair)``, P the sum of squared masses.

    The loss is ``max(0, |De| - epsilon)^power``, or if `one_sided`
    ``max(0, |Dy| - sign(Dy) Dh)^power`` for pairs with Dy != 0: that of errors in the
    order contrary to y. Errors are scores less `label`, which is y less an offset. With
    a `top_weight` pairs weigh more the larger the larger y of theirs is.
    """

    y: Floats
    label: Floats
    weights: QueryWeights
    C: float
    power: int
    epsilon: float
    one_sided: bool
    top_weight: float

    @property
    def is_by_label(self) -> bool:
        """Whether it matters which row of a pair has the larger label."""
        return self.one_sided or self.top_weight > 0.0

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return the risk, and its slope in the scores. O(n log n) time."""
        s = self._state
        scores = scores if s.order is None else scores[s.order]
        s.share(pair_losses.errors, scores, s.label, s.weight, s.error)
        if self.one_sided:
            s.share(
                label_pair_losses.discordant, s.y, s.error, s.error, True, s.weight,
                s.lifted, self.power, s.spares, s.tables, s.places, s.slope, s.value,
            )  # fmt: skip
        elif self.is_by_label:
            s.share(
                label_pair_losses.lifted_band, s.error, s.weight, s.lifted,
                self.epsilon, self.power, s.spares, s.tables, s.slope, s.value,
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
        """C / P, for weights as the weights has them."""
        mass = np.bincount(self.weights.query, self.weights.weight)
        return self.C / float(mass @ mass)

    @cached_property
    def _state(self) -> "_State":
        return _State.of(self)


@dataclass(frozen=True, eq=False)
class _State:
    """Columns in the order of queries, and room to work in.

    `places` has the rows of each query from the largest error of the last call on: the
    next call has less to sort. Where labels matter, it is scratch, and rows are sorted
    by y. `long` are the queries that NumPy sorts.
    """

    order: Ints | None
    offsets: Ints
    y: Floats
    label: Floats
    weight: Floats
    lifted: Floats
    error: Floats
    slope: Floats
    value: Floats
    spares: Floats
    tables: Floats
    places: Ints
    long: list[slice]
    n_threads: int

    @classmethod
    def of(cls, risk: PairRisk) -> "_State":
        query, n = risk.weights.query, len(risk.label)
        sizes = np.bincount(query)
        order: Any = None
        if risk.is_by_label:
            order = np.lexsort((risk.y, query))
        elif len(sizes) > 1:
            order = np.argsort(query, kind="stable")
        columns = risk.y, risk.label, risk.weights.weight
        if order is not None:
            columns = tuple(column[order] for column in columns)
        y, label, weight = (np.ascontiguousarray(c, np.float64) for c in columns)
        n_fields = 5 if risk.top_weight > 0.0 else 4
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        state = cls(
            order,
            offsets,
            y,
            label,
            weight,
            np.empty(n) if risk.top_weight > 0.0 else weight,
            np.empty(n),
            np.empty(n),
            np.empty(len(sizes)),
            np.empty((4 if risk.is_by_label else 3, n)),
            np.empty((2, n if risk.is_by_label else 0, n_fields)),
            np.arange(n),
            [slice(*offsets[q : q + 2]) for q in np.flatnonzero(sizes >= _LONG)],
            min(n_cores(), n // MIN_ITEMS_PER_THREAD["rows"], len(sizes)),
        )
        if risk.top_weight > 0.0:
            top = y, weight, risk.top_weight, state.lifted
            state.share(pair_losses.lift, *top)
        return state

    def sort_long(self) -> None:
        """Sort long queries by error; the kernel sorts the others."""
        for rows in self.long:
            self.places[rows] = rows.start + np.argsort(-self.error[rows])

    def share(self, kernel: Callable[..., None], *arguments: Any) -> None:
        """Call a kernel for ranges of queries, shared among threads."""
        offsets, n_queries = self.offsets, len(self.value)
        if self.n_threads <= 1:
            kernel(offsets, 0, n_queries, *arguments)
            return

        def work(block: slice, stopped: Callable[[], bool]) -> None:
            kernel(offsets, block.start, block.stop, *arguments)

        share(n_queries, self.n_threads, work)
