"""Pairs of rows, listed or as they follow from grades."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self, TypeAlias

import numpy as np

from peckorder._core.typing import Array, Bools, Floats, Ints
from peckorder.feedback._labels_and_queries import read_only

# Row numbers below this multiple of their count are looked up in a table.
_DENSE = 8


class Pairs(NamedTuple):
    """Pairs of rows with weights.

    better (n_pairs,) and worse (n_pairs,) are row numbers; weight (n_pairs,) >= 0.
    """

    better: Ints
    worse: Ints
    weight: Floats


@dataclass(frozen=True, eq=False)
class PairList:
    """Feedback whose pairs are listed, in read-only arrays; size None is 1 for all."""

    pairs: Pairs
    size: Floats | None = None

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

    def sizes(self) -> Floats:
        """Return by how much the better row of each pair should score more."""
        return np.ones(self.n_pairs) if self.size is None else self.size

    def links(self) -> tuple[Ints, Ints]:
        """Return rows that are connected by pairs with a weight."""
        better, worse, weight = self.pairs
        return better[weight > 0], worse[weight > 0]

    def ordered(self) -> Self:
        """Drop sizes, and pairs of size 0."""
        if self.size is None:
            return self
        return replace(self, pairs=Pairs(*_kept(self.size > 0, *self.pairs)), size=None)

    def scaled(self, factor: float) -> Self:
        """Multiply all weights."""
        better, worse, weight = self.pairs
        return replace(self, pairs=Pairs(better, worse, read_only(factor * weight)))

    def restricted(self, rows: Ints) -> Self:
        """Renumber rows by their positions in `rows`; drop pairs with other rows."""
        better = positions_in(rows, self.pairs.better)
        worse = positions_in(rows, self.pairs.worse)
        kept = (better >= 0) & (worse >= 0)
        size = None if self.size is None else read_only(self.size[kept])
        pairs = Pairs(*_kept(kept, better, worse, self.pairs.weight))
        return replace(self, pairs=pairs, size=size)

    def renumbered(self, rows: Ints) -> Self:
        """Call row i ``rows[i]``."""
        better, worse, weight = self.pairs
        return replace(self, pairs=Pairs(read_only(rows[better]), read_only(rows[worse]), weight))


@dataclass(frozen=True, eq=False)
class GradedRows:
    """Feedback whose pairs follow from grades and are not listed; read-only arrays.

    Query q has the rows ``rows[offsets[q] : offsets[q + 1]]``, ascending by grade
    (n_rows,). The weight of a pair is `scale` times 1, g1 - g0 or 2**g1 - 2**g0, if
    `kind` is "unit", "gap" or "exponential".
    """

    rows: Ints
    grade: Floats
    offsets: Ints
    kind: str
    scale: float = 1.0

    @property
    def utility(self) -> Floats:
        """What weights are differences of; the grade for "unit"."""
        return np.exp2(self.grade) if self.kind == "exponential" else self.grade

    @cached_property
    def level_starts(self) -> Ints:
        """The start of each level: a run of equal grades within a query."""
        is_start = np.ones(len(self.rows), dtype=bool)
        is_start[1:] = self.grade[1:] != self.grade[:-1]
        is_start[self.offsets[:-1]] = True
        return np.flatnonzero(is_start)

    @cached_property
    def _query_of_level(self) -> Ints:
        return np.searchsorted(self.offsets, self.level_starts, side="right") - 1

    @property
    def n_flat_queries(self) -> int:
        """The number of queries with a single grade."""
        is_paired = self.n_below > 0
        return len(self.offsets) - 1 - len(np.unique(self._query_of_level[is_paired]))

    @cached_property
    def n_below(self) -> Ints:
        """The number of rows with a lower grade in the query, per level."""
        return self.level_starts - self.offsets[self._query_of_level]

    @property
    def level_sizes(self) -> Ints:
        """The number of rows per level."""
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
        # The step between two levels is part of the weight of every pair of a row below
        # and a row above it, so the total is a sum of positive numbers.
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
        starts = np.repeat(self.offsets[:-1], np.diff(self.offsets))
        better, worse = with_first_rows(starts, np.repeat(self.n_below, self.level_sizes))
        if self.kind == "unit":
            weight = np.full(len(better), self.scale)
        else:
            weight = self.scale * (self.utility[better] - self.utility[worse])
        return Pairs(self.rows[better], self.rows[worse], weight)

    def sizes(self) -> Floats:
        """Return 1 for each pair: grades have an order only."""
        return np.ones(self.n_pairs)

    def links(self) -> tuple[Ints, Ints]:
        """Return neighbours in queries of several grades, whose rows are all connected."""
        if self.scale == 0:
            return self.rows[:0], self.rows[:0]
        lowest, highest = self.grade[self.offsets[:-1]], self.grade[self.offsets[1:] - 1]
        is_linked = np.repeat(lowest < highest, np.diff(self.offsets))
        is_linked[self.offsets[1:] - 1] = False
        before = np.flatnonzero(is_linked)
        return self.rows[before], self.rows[before + 1]

    def ordered(self) -> Self:
        """Return the same: there are no sizes."""
        return self

    def scaled(self, factor: float) -> Self:
        """Multiply all weights."""
        return replace(self, scale=factor * self.scale)

    def restricted(self, rows: Ints) -> Self:
        """Renumber rows by their positions in `rows`; drop the others."""
        position = positions_in(rows, self.rows)
        kept = position >= 0
        n_before = np.concatenate([[0], np.cumsum(kept)])
        return replace(
            self,
            rows=read_only(position[kept]),
            grade=read_only(self.grade[kept]),
            offsets=read_only(np.unique(n_before[self.offsets])),  # no empty queries
        )

    def renumbered(self, rows: Ints) -> Self:
        """Call row i ``rows[i]``."""
        return replace(self, rows=read_only(rows[self.rows]))


Part: TypeAlias = PairList | GradedRows


def _kept(kept: Bools, *columns: Array) -> Iterator[Array]:
    """Yield some entries of columns, read-only."""
    return (read_only(column[kept]) for column in columns)


def with_first_rows(starts: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Pair each row with rows from its start on, so many of them."""
    better = np.repeat(np.arange(len(counts)), counts)
    worse = np.repeat(starts - np.cumsum(counts) + counts, counts)
    return better, worse + np.arange(len(better))


def positions_in(rows: Ints, wanted: Ints) -> Ints:
    """Return the position of each wanted number in `rows`, -1 if it is not there."""
    if len(rows) == 0:
        return np.full(len(wanted), -1)
    last = max(int(rows.max()), int(wanted.max(initial=0)))
    if last < _DENSE * (len(rows) + len(wanted)):
        position = np.full(last + 1, -1)
        position[rows] = np.arange(len(rows))
        return position[wanted]
    order = np.argsort(rows)
    nearest = order[np.searchsorted(rows, wanted, sorter=order).clip(max=len(rows) - 1)]
    return np.where(rows[nearest] == wanted, nearest, -1)
