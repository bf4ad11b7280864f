"""A loss of all pairs within queries as a function of the scores."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from peckorder._core.threads import MIN_ITEMS_PER_THREAD, Stop, n_cores, share
from peckorder._core.typing import Floats, Ints
from peckorder.feedback import Queries
from peckorder.magnitude.compiled import svrank as compiled
from peckorder.magnitude.compiled.label_pair_losses import (
    LabelledRows,
    Scratch,
    discordant,
    lifted_band,
)
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


@dataclass(frozen=True, eq=False)
class PairRisk:
    """``factor sum_q sum_{i,j in q} v_i v_j loss(pair)`` with the weights v of rows.

    Losses are those of `peckorder.losses.pair_loss`. Errors are scores less `label`,
    which is y less an offset. With a `top_weight` pairs weigh more the larger the
    larger y of theirs is.
    """

    kind: str
    y: Floats
    label: Floats
    queries: Queries
    weight: Floats
    power: int
    epsilon: float
    top_weight: float
    factor: float = 1.0

    @property
    def is_band(self) -> bool:
        """Whether both sides of a pair cost, beyond a band."""
        return self.kind in {"mp", "svr"}

    @property
    def is_by_label(self) -> bool:
        """Whether it matters which row of a pair has the larger label."""
        return not self.is_band or self.top_weight > 0.0

    def __call__(self, scores: Floats) -> tuple[float, Floats]:
        """Return the risk, and its slope in the scores. O(n log n) time."""
        work = self._workspace
        scores = scores if work.order is None else scores[work.order]
        if self.kind == "hr":
            work.error[:] = scores
        else:
            work.share(compiled.errors, scores, work.label, work.weight, work.error)
        result = work.slope, work.value
        if not self.is_band:
            is_key = self.kind != "hmp"
            if not is_key:
                work.labelled.key[:] = scores
            work.share(discordant, work.labelled, is_key, self.power, work.scratch, *result)
        elif self.is_by_label:
            work.share(lifted_band, work.labelled, self.epsilon, self.power, work.scratch, *result)
        else:
            if self.power == 1 or self.epsilon > 0.0:
                work.sort_long()
            rows = compiled.ErrorRows(work.error, work.weight, work.scratch.ends)
            spares = work.scratch.spares
            work.share(compiled.band, rows, self.epsilon, self.power, spares, *result)
        value, arranged = self.factor * float(work.value.sum()), self.factor * work.slope
        if work.order is None:
            return value, arranged
        slope = np.empty_like(arranged)
        slope[work.order] = arranged
        return value, slope

    @cached_property
    def _workspace(self) -> "_Workspace":
        return _Workspace.of(self)


@dataclass(frozen=True, eq=False)
class _Workspace:
    """Columns in the order of queries, results and scratch memory.

    Where labels matter, rows are sorted by y. Otherwise `scratch.ends` has the rows of
    each query by the errors of the last call: the next call has less to sort. `long`
    are the queries that NumPy sorts.
    """

    order: Ints | None
    offsets: Ints
    labelled: LabelledRows
    label: Floats
    slope: Floats
    value: Floats
    scratch: Scratch
    long: list[slice]
    n_threads: int

    @property
    def error(self) -> Floats:
        """Scores less labels, up to one constant per query; scores for "hr"."""
        return self.labelled.values

    @property
    def weight(self) -> Floats:
        """The weights of rows."""
        return self.labelled.weight

    @classmethod
    def of(cls, risk: PairRisk) -> "_Workspace":
        queries, n = risk.queries, len(risk.y)
        offsets, order = queries.offsets, queries.order
        if risk.is_by_label:
            order = np.arange(n) if order is None else order.copy()
            sort_within_lists(-queries.arrange(risk.y), order, offsets, stable=False)
        y, label, weight = (
            np.ascontiguousarray(c if order is None else c[order], np.float64)
            for c in (risk.y, risk.label, risk.weight)
        )
        has_top = risk.top_weight > 0.0
        error, lifted = np.empty(n), np.empty(n) if has_top else weight
        key = np.empty(n) if risk.kind == "hmp" else error
        n_in_tables = n if risk.is_by_label else 0
        workspace = cls(
            order,
            offsets,
            LabelledRows(y, key, error, weight, lifted),
            label,
            np.empty(n),
            np.empty(len(queries)),
            Scratch(
                np.empty((4 if risk.is_by_label else 3, n)),
                np.empty((2, n_in_tables, 5 if has_top else 4)),
                np.arange(n),
            ),
            [slice(*offsets[q : q + 2]) for q in np.flatnonzero(queries.sizes >= _LONG)],
            min(n_cores(), n // MIN_ITEMS_PER_THREAD["rows"], len(queries)),
        )
        if has_top:
            workspace.share(compiled.lift, y, weight, risk.top_weight, lifted)
        return workspace

    def sort_long(self) -> None:
        """Sort long queries by error; the compiled function sorts the others."""
        order = self.scratch.ends
        for rows in self.long:
            order[rows] = rows.start + np.argsort(-self.error[rows])

    def share(self, function: Callable[..., None], *arguments: object) -> None:
        """Call a compiled function for ranges of queries, shared among threads."""
        offsets, n_queries = self.offsets, len(self.value)
        if self.n_threads <= 1:
            function(offsets, 0, n_queries, *arguments)
            return

        def work(block: slice, stopped: Stop) -> None:
            function(offsets, block.start, block.stop, *arguments)

        share(n_queries, self.n_threads, work)
