"""A loss of all pairs within queries as a function of the scores."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from peckorder._core.threads import MIN_ITEMS_PER_THREAD, Stop, n_cores, share
from peckorder._core.typing import Floats
from peckorder.feedback import Queries
from peckorder.magnitude.compiled import svrank as compiled
from peckorder.magnitude.compiled.label_pair_losses import (
    LabelledRows,
    Scratch,
    discordant,
    lifted_band,
)
from peckorder.magnitude.mprank_solver.pairs import PairWeights
from peckorder.metrics import sort_within_lists

# From this length on NumPy sorts a query faster than the compiled function does.
_LONG = 256


class Risk(Protocol):
    """A convex function of the scores.

    Scores and slopes may represent columns on other machines, as long as their sums and
    inner products are those of the columns.
    """

    @property
    def power(self) -> int:
        """The power of the loss of a pair; 2 if there are no kinks."""

    def __call__(self, scores: Any) -> tuple[float, Any]:
        """Return the risk, and its slope in the scores."""


class PairRisk:
    """``factor sum_q sum_{i,j in q} v_i v_j loss(pair)`` with the weights v of rows.

    Losses are those of `peckorder.losses.pair_loss`. Errors are scores less `label`,
    which is y less an offset. With a `top_weight` pairs weigh more the larger the
    larger y of theirs is. Memory is allocated once, for all calls.
    """

    def __init__(
        self,
        kind: str,
        y: Floats,
        label: Floats,
        queries: Queries,
        weight: Floats,
        power: int,
        epsilon: float,
        top_weight: float,
        factor: float = 1.0,
    ) -> None:
        self.kind, self.power, self.epsilon, self.factor = kind, power, epsilon, factor
        self._is_band = kind in {"mp", "svr"}
        # Whether it matters which row of a pair has the larger label.
        self._is_by_label = not self._is_band or top_weight > 0.0
        n, order = len(y), queries.order
        if self._is_by_label:
            order = np.arange(n) if order is None else order.copy()
            sort_within_lists(-queries.arrange(y), order, queries.offsets, stable=False)
        y, label, weight = (
            np.ascontiguousarray(c if order is None else c[order], np.float64)
            for c in (y, label, weight)
        )
        self._order, self._offsets, self._label = order, queries.offsets, label
        error, lifted = np.empty(n), np.empty(n) if top_weight > 0.0 else weight
        key = np.empty(n) if kind == "hmp" else error
        self._rows = LabelledRows(y, key, error, weight, lifted)
        self._slope, self._value = np.empty(n), np.empty(len(queries))
        n_in_tables = n if self._is_by_label else 0
        self._scratch = Scratch(
            np.empty((4 if self._is_by_label else 3, n)),
            np.empty((2, n_in_tables, 5 if top_weight > 0.0 else 4)),
            # If labels do not matter, the rows of each query by the errors of the last
            # call: the next call has less to sort.
            np.arange(n),
        )
        is_long = queries.sizes >= _LONG
        self._long = [slice(*self._offsets[q : q + 2]) for q in np.flatnonzero(is_long)]
        self._n_threads = min(n_cores(), n // MIN_ITEMS_PER_THREAD["rows"], len(queries))
        if top_weight > 0.0:
            self._share(compiled.lift, y, weight, top_weight, lifted)

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return the risk, and its slope in the scores. O(n log n) time."""
        rows, scratch, result = self._rows, self._scratch, (self._slope, self._value)
        scores = scores if self._order is None else scores[self._order]
        if self.kind == "hr":
            rows.values[:] = scores
        else:
            # Up to one constant per query.
            self._share(compiled.errors, scores, self._label, rows.weight, rows.values)
        if self.kind == "hmp":
            rows.key[:] = scores
        if not self._is_band:
            is_key = self.kind != "hmp"
            self._share(discordant, rows, is_key, self.power, scratch, *result)
        elif self._is_by_label:
            self._share(lifted_band, rows, self.epsilon, self.power, scratch, *result)
        else:
            if self.power == 1 or self.epsilon > 0.0:
                self._sort_long()
            plain = compiled.ErrorRows(rows.values, rows.weight, scratch.ends)
            self._share(compiled.band, plain, self.epsilon, self.power, scratch.spares, *result)
        value, arranged = self.factor * float(self._value.sum()), self.factor * self._slope
        if self._order is None:
            return value, arranged
        slope = np.empty_like(arranged)
        slope[self._order] = arranged
        return value, slope

    def _sort_long(self) -> None:
        """Sort long queries by error; the compiled function sorts the others."""
        order = self._scratch.ends
        for rows in self._long:
            order[rows] = rows.start + np.argsort(-self._rows.values[rows])

    def _share(self, function: Callable[..., None], *arguments: object) -> None:
        """Call a compiled function for ranges of queries, shared among threads."""
        offsets, n_queries = self._offsets, len(self._value)
        if self._n_threads <= 1:
            function(offsets, 0, n_queries, *arguments)
            return

        def work(block: slice, stopped: Stop) -> None:
            function(offsets, block.start, block.stop, *arguments)

        share(n_queries, self._n_threads, work)


class ListedRisk:
    """``factor sum_k v_k loss(pair k)`` over listed pairs, by the losses of `PairRisk`.

    v are weights relative to the largest. One-sided losses leave out pairs of size 0.
    """

    def __init__(
        self, kind: str, pairs: PairWeights, power: int, epsilon: float, factor: float
    ) -> None:
        self.power, self.epsilon, self._pairs = power, epsilon, pairs
        self._is_band = kind in {"mp", "svr"}
        weight = pairs.root**2
        self._weight = factor * (weight if self._is_band else weight * (pairs.size > 0))

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return the risk, and its slope in the scores. O(n_pairs + n_rows) time."""
        pairs = self._pairs
        error = (scores[pairs.better] - scores[pairs.worse]) - pairs.apart
        loss = np.abs(error) - self.epsilon if self._is_band else -error
        np.maximum(loss, 0.0, out=loss)
        sign = np.sign(error)
        slope = self._weight * sign * (loss > 0.0 if self.power == 1 else 2.0 * loss)
        return float(self._weight @ loss**self.power), pairs.sums(slope)
