"""The pairs of a feedback that weigh, as parts of a distribution."""

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from peckorder._core.threads import Team
from peckorder._core.typing import Floats, Ints
from peckorder.boosting.pairs.distribution import (
    Distribution,
    GradedPart,
    ListedPart,
    Part,
)
from peckorder.feedback import GradedRows, PairList, Pairs, Preferences

_NONE = np.empty(0)


def feedback_rows(preferences: Preferences, sample_weight: Floats | None) -> Ints:
    """Return the rows that are in a pair that weighs, in an order good for kernels."""
    seen: list[Ints] = [_in_pairs(part, sample_weight) for part in preferences.parts]
    if len(seen) == 1 and isinstance(preferences.parts[0], GradedRows):
        return seen[0]  # each once, query by query
    rows = np.concatenate(seen)
    first = np.unique(rows, return_index=True)[1]
    return np.asarray(rows[np.sort(first)])


def _in_pairs(part: Any, sample_weight: Floats | None) -> Any:
    """Return the rows of a part that are in a pair that weighs."""
    if isinstance(part, PairList):
        better, worse, weight = part.pairs
        weighs = weight > 0
        if sample_weight is not None:
            weighs &= (sample_weight[better] > 0) & (sample_weight[worse] > 0)
        return np.concatenate([better[weighs], worse[weighs]])
    if part.scale == 0:
        return part.rows[:0]
    rows = part.rows
    if sample_weight is not None:
        rows = rows[sample_weight[rows] > 0]
        part = part.restricted(rows)
    lowest, highest = part.grade[part.offsets[:-1]], part.grade[part.offsets[1:] - 1]
    is_paired = np.repeat(lowest < highest, np.diff(part.offsets))
    return rows[is_paired]


def distribution(
    preferences: Preferences,
    sample_weight: Floats | None,
    n_rows: int,
    *,
    equal_queries: bool,
    one_graded: bool,
    team: Team,
) -> Distribution:
    """Return the distribution over pairs among n rows.

    With `equal_queries` the pairs of every query weigh 1 together. With `one_graded`
    the pairs of all graded parts but the first are listed.
    """
    log_weight = None if sample_weight is None else np.log(sample_weight)
    parts: list[Part] = []
    pairs = []
    for part in preferences.parts:
        # One graded part is enough for those who look into it.
        if isinstance(part, PairList) or (parts and one_graded):
            pairs.append(part.listed())
        elif part.scale > 0 and len(part.rows):
            parts.append(graded_part(part, log_weight, equal_queries, team))
    if pairs:
        parts.append(_listed(pairs, log_weight))
    return Distribution(parts, n_rows, team)


def _listed(pairs: list[Pairs], log_weight: Floats | None) -> ListedPart:
    better, worse, weight = (np.concatenate(c) for c in zip(*pairs, strict=True))
    weighs = weight > 0
    better, worse, log_pair = better[weighs], worse[weighs], np.log(weight[weighs])
    if log_weight is not None:
        log_pair += log_weight[better] + log_weight[worse]
    return ListedPart(better, worse, log_pair)


def graded_part(
    part: GradedRows, log_weight: Floats | None, equal_queries: bool, team: Team
) -> GradedPart:
    """Return the pairs of rows of a query whose grades differ."""
    starts = np.append(part.level_starts, len(part.rows))
    levels = np.searchsorted(starts, part.offsets)
    utility, log_step = _NONE, _NONE
    if part.kind != "unit":
        utility = part.utility[starts[:-1]]
        log_step, rise = np.zeros(len(utility)), np.diff(utility)
        np.log(rise, out=log_step[1:], where=rise > 0)  # a query's first has none
    is_moved = not np.array_equal(part.rows, np.arange(len(part.rows)))
    result = GradedPart(
        levels,
        starts,
        part.rows if is_moved else part.rows[:0],
        _NONE if log_weight is None else log_weight[part.rows],
        utility,
        log_step,
        np.full(len(levels) - 1, log(part.scale)),
    )
    if equal_queries:
        result.weigh(np.zeros(int(part.rows.max()) + 1), team)
        log_mass = result.log_mass[levels[:-1]]
        # A query of one grade has no pair to weigh.
        np.subtract(0.0, log_mass, out=result.log_query, where=log_mass > -np.inf)
    return result


@dataclass(frozen=True, eq=False)
class GradedQueries:
    """Queries in which each row has the place of its number, as in `GradedPart`."""

    levels: Ints
    starts: Ints
    log_weight: Floats
    log_query: Floats
    n_pairs: int

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.starts[-1])

    def part(self, room: Callable[[int], Floats] = np.empty) -> GradedPart:
        """Return their pairs, as a part of a distribution."""
        none = self.levels[:0]
        return GradedPart(
            self.levels,
            self.starts,
            none,
            self.log_weight,
            _NONE,
            _NONE,
            self.log_query,
            room,
        )


class GradedBlocks:
    """Grades that come in blocks of whole queries, put behind each other.

    Rows are numbered in the order in which `add` returns them, so that each has the
    place of its number. 8 bytes a level and 16 a query, and 8 a row if rows weigh.
    """

    def __init__(self, *, equal_queries: bool, team: Team) -> None:
        self._equal_queries, self._team = equal_queries, team
        self._blocks: list[tuple[Ints, Ints, Floats, Floats]] = []
        self.n_rows, self.n_levels, self.n_pairs = 0, 0, 0

    def add(self, preferences: Preferences, sample_weight: Floats | None) -> Ints:
        """Add a block; return its rows that are in a pair that weighs, in order."""
        rows = feedback_rows(preferences, sample_weight)
        if len(rows) == 0:
            return rows
        kept: Any = preferences.restrict(rows).parts[0]
        log_weight = None if sample_weight is None else np.log(sample_weight[rows])
        part = graded_part(kept, log_weight, self._equal_queries, self._team)
        ends = part.levels[1:] + self.n_levels, part.starts[1:] + self.n_rows
        self._blocks.append((*ends, part.log_weight, part.log_query))
        self.n_rows += len(rows)
        self.n_levels += len(part.starts) - 1
        self.n_pairs += kept.n_pairs
        return rows

    def joined(self) -> GradedQueries:
        """Return the queries of all blocks."""
        zero = np.zeros(1, dtype=np.int64)
        columns = zip((zero[:0], zero[:0], _NONE, _NONE), *self._blocks, strict=True)
        self._blocks = []
        levels, starts = (np.concatenate([zero, *next(columns)]) for _ in range(2))
        log_weight, log_query = (np.concatenate(next(columns)) for _ in range(2))
        return GradedQueries(levels, starts, log_weight, log_query, self.n_pairs)
