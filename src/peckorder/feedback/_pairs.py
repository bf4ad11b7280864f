"""The parts that preferences are the sum of: listed pairs, or graded rows."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from peckorder._core.typing import Floats, Ints

# Row numbers below this many times their count are looked up in a table.
_DENSE = 8


class Pairs(NamedTuple):
    """Pairs of rows with their weights, one after another.

    better (n_pairs,) and worse (n_pairs,) are row numbers, weight (n_pairs,) is not
    negative.
    """

    better: Ints
    worse: Ints
    weight: Floats


@dataclass(frozen=True, eq=False)
class PairList:
    """A part of a feedback whose pairs are listed; read-only arrays."""

    pairs: Pairs

    @property
    def n_pairs(self) -> int:
        """The number of pairs."""
        return len(self.pairs.better)

    @cached_property
    def total_weight(self) -> float:
        """The sum of all weights."""
        return float(np.sum(self.pairs.weight))

    @property
    def last_row(self) -> int:
        """The largest row number, -1 if there is none."""
        better, worse, _ = self.pairs
        return int(max(better.max(initial=-1), worse.max(initial=-1)))

    def listed(self) -> Pairs:
        """Return the pairs."""
        return self.pairs

    def scaled(self, factor: float) -> Self:
        """Multiply all weights."""
        better, worse, weight = self.pairs
        return replace(self, pairs=Pairs(better, worse, read_only(factor * weight)))

    def restricted(self, rows: Ints) -> Self:
        """Renumber rows by their places in `rows`; drop pairs with a missing end."""
        better = places_of(rows, self.pairs.better)
        worse = places_of(rows, self.pairs.worse)
        kept = (better >= 0) & (worse >= 0)
        columns = better[kept], worse[kept], self.pairs.weight[kept]
        return replace(self, pairs=Pairs(*map(read_only, columns)))


@dataclass(frozen=True, eq=False)
class GradedRows:
    """A part of a feedback whose pairs follow from grades, and are not listed.

    Query q has the rows ``rows[offsets[q] : offsets[q + 1]]``, the worst grade first;
    grade (n_rows,) are their grades. A pair weighs `scale` times what `kind` says:
    1 ("unit"), g1 - g0 ("gap") or 2**g1 - 2**g0 ("exponential"). All arrays are
    read-only.
    """

    rows: Ints
    grade: Floats
    offsets: Ints
    kind: str
    scale: float = 1.0

    @property
    def utility(self) -> Floats:
        """The phi of which a weight is a difference; the grade for "unit"."""
        return np.exp2(self.grade) if self.kind == "exponential" else self.grade

    @cached_property
    def level_starts(self) -> Ints:
        """Where runs of equal grades begin, within queries."""
        is_start = np.ones(len(self.rows), dtype=bool)
        is_start[1:] = self.grade[1:] != self.grade[:-1]
        is_start[self.offsets[:-1]] = True
        return np.flatnonzero(is_start)

    @cached_property
    def _query_of_level(self) -> Ints:
        return np.searchsorted(self.offsets, self.level_starts, side="right") - 1

    @property
    def n_flat_queries(self) -> int:
        """The number of queries with one grade only."""
        is_paired = self.n_below > 0
        return len(self.offsets) - 1 - len(np.unique(self._query_of_level[is_paired]))

    @cached_property
    def n_below(self) -> Ints:
        """For each level, how many rows of its query have a lower grade."""
        return self.level_starts - self.offsets[self._query_of_level]

    @property
    def level_sizes(self) -> Ints:
        """For each level, the number of its rows."""
        return np.diff(self.level_starts, append=len(self.rows))

    @cached_property
    def n_pairs(self) -> int:
        """The number of pairs."""
        return int(np.sum(self.level_sizes * self.n_below))

    @cached_property
    def total_weight(self) -> float:
        """The sum of all weights."""
        if self.kind == "unit":
            return self.scale * self.n_pairs
        # A step from a level to the next is in every pair of a row below it and one
        # above: a sum of positive numbers.
        step = np.flatnonzero(self.n_below)
        starts = self.level_starts
        utility = self.utility[starts]
        n_above = self.offsets[1:][self._query_of_level[step]] - starts[step]
        n_pairs = self.n_below[step] * n_above
        return self.scale * float(np.sum(n_pairs * (utility[step] - utility[step - 1])))

    @property
    def last_row(self) -> int:
        """The largest row number, -1 if there is none."""
        return int(self.rows.max(initial=-1))

    def listed(self) -> Pairs:
        """List the pairs: O(n_pairs) time and memory."""
        n_below = np.repeat(self.n_below, self.level_sizes)
        better = np.repeat(np.arange(len(self.rows)), n_below)
        # The rows below a row are the first ones of its query.
        place = np.arange(len(better)) - np.repeat(
            np.cumsum(n_below) - n_below, n_below
        )
        worse = np.repeat(np.repeat(self.offsets[:-1], np.diff(self.offsets)), n_below)
        worse += place
        if self.kind == "unit":
            weight = np.full(len(better), self.scale)
        else:
            weight = self.scale * (self.utility[better] - self.utility[worse])
        return Pairs(self.rows[better], self.rows[worse], weight)

    def scaled(self, factor: float) -> Self:
        """Multiply all weights."""
        return replace(self, scale=factor * self.scale)

    def restricted(self, rows: Ints) -> Self:
        """Renumber rows by their places in `rows`; drop those that are not there."""
        places = places_of(rows, self.rows)
        kept = places >= 0
        n_before = np.concatenate([[0], np.cumsum(kept)])
        return replace(
            self,
            rows=read_only(places[kept]),
            grade=read_only(self.grade[kept]),
            offsets=read_only(np.unique(n_before[self.offsets])),  # no empty queries
        )


Part: TypeAlias = PairList | GradedRows


def read_only(array: Any) -> Any:
    """Return the array, made read-only."""
    array.flags.writeable = False
    return array


def places_of(rows: Ints, wanted: Ints) -> Ints:
    """Return the place of each wanted number in `rows`, -1 if it is not there."""
    if len(rows) == 0:
        return np.full(len(wanted), -1)
    last = max(int(rows.max()), int(wanted.max(initial=0)))
    if last < _DENSE * (len(rows) + len(wanted)):
        place = np.full(last + 1, -1)
        place[rows] = np.arange(len(rows))
        return place[wanted]
    order = np.argsort(rows)
    nearest = order[np.searchsorted(rows, wanted, sorter=order).clip(max=len(rows) - 1)]
    return np.where(rows[nearest] == wanted, nearest, -1)
