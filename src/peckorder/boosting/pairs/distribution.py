"""The distribution over crucial pairs that RankBoost keeps, and never lists."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, log2
from typing import Any

import numpy as np

from peckorder._core.threads import MIN_ITEMS_PER_THREAD, Team
from peckorder._core.typing import Floats, Ints
from peckorder.boosting.compiled import (
    graded_moments,
    graded_pairs,
    listed_pairs,
    rounds,
    search_by_r,
)

# Potentials are counted in these units: their absolute sum is at most 2, so a sum of
# some of them is an exact integer of 64 bits, whatever the order in which it is made.
UNIT = 2.0**61
_NONE = np.empty(0)


class Part(ABC):
    """Some of the pairs, over rows 0..n of the feedback."""

    @property
    @abstractmethod
    def n_masses(self) -> int:
        """How many numbers the weight of the part is the sum of."""

    @abstractmethod
    def weigh(self, scores: Floats, team: Team) -> float:
        """Weigh the pairs by the scores; return the largest logarithm of a mass."""

    @abstractmethod
    def total(self, top: float, unit: float) -> int:
        """Return the sum of the masses over exp(top), in units."""

    @abstractmethod
    def spread(
        self, log_total: float, alone: bool, potentials: Ints, team: Team
    ) -> int:
        """Add the potentials of rows, in units.

        A part that is `alone` may write over those of before, and returns by how much
        the sum of some of them has changed at most.
        """

    @abstractmethod
    def moments(
        self, scores: Floats, log_total: float, ranking: Floats
    ) -> tuple[float, float, float]:
        """Return the sums of D, D s and D s**2 for ``s = h(x0) - h(x1)``."""

    @abstractmethod
    def span(self, ranking: Floats) -> float:
        """Return the largest |s|."""


@dataclass(eq=False)
class GradedPart(Part):
    """Pairs of rows of a query whose grades differ, as `kernels.graded` has them.

    `moved_rows` (n,) says which row is at a place; it is empty if each row has the
    place of its number, so that nobody needs to look it up. The weight of a pair is a
    difference of `utility` (levels,), which is empty if all weigh the same. `room`
    makes the arrays that are as long as there are rows.
    """

    levels: Ints
    starts: Ints
    moved_rows: Ints
    log_weight: Floats
    utility: Floats
    log_step: Floats
    log_query: Floats
    room: Callable[[int], Floats] = np.empty

    def __post_init__(self) -> None:
        self.n_rows, n_levels = int(self.starts[-1]), len(self.starts) - 1
        self.up, self.down = self.room(self.n_rows), self.room(self.n_rows)
        self.up_scale, self.down_scale = np.empty(n_levels), np.empty(n_levels)
        self.base = np.empty(len(self.levels) - 1)
        self.log_mass = np.empty(n_levels)

    @cached_property
    def rows(self) -> Ints:
        """The row at each place."""
        is_moved = len(self.moved_rows) > 0
        return self.moved_rows if is_moved else np.arange(self.n_rows)

    @property
    def n_masses(self) -> int:
        """The number of masses."""
        return len(self.levels) - 1

    def weigh(self, scores: Floats, team: Team) -> float:
        """Weigh the pairs by the scores; return the largest logarithm of a mass."""

        def work(some: slice, give_up: Callable[[], bool]) -> float:
            graded_pairs.weigh(
                some.start,
                some.stop,
                self.levels,
                self.starts,
                self.moved_rows,
                self.log_weight,
                self.log_step,
                self.log_query,
                scores,
                self.up,
                self.down,
                self.up_scale,
                self.down_scale,
                self.base,
                self.log_mass,
            )
            return graded_pairs.largest(
                some.start, some.stop, self.levels, self.log_mass
            )

        return max(team.share(self.n_masses, work, self._worth))

    def total(self, top: float, unit: float) -> int:
        """Return the sum of the masses over exp(top), in units."""
        return graded_pairs.total(
            0, self.n_masses, self.levels, self.log_mass, top, unit
        )

    def spread(
        self, log_total: float, alone: bool, potentials: Ints, team: Team
    ) -> int:
        """Add the potentials of rows, in units, or write them if it is alone."""

        def work(some: slice, give_up: Callable[[], bool]) -> int:
            return graded_pairs.spread(
                some.start,
                some.stop,
                self.levels,
                self.starts,
                self.moved_rows,
                self.up,
                self.down,
                self.up_scale,
                self.down_scale,
                self.base,
                log_total,
                UNIT,
                alone,
                potentials,
            )

        return sum(team.share(self.n_masses, work, self._worth))

    @property
    def _worth(self) -> int:
        return self.n_rows // MIN_ITEMS_PER_THREAD["rows"]

    def moments(
        self, scores: Floats, log_total: float, ranking: Floats
    ) -> tuple[float, float, float]:
        """Return the sums of D, D s and D s**2."""
        return graded_moments.moments(
            self.levels,
            self.starts,
            self.rows,
            self.log_weight,
            self.log_step,
            self.log_query,
            scores,
            log_total,
            ranking,
        )

    def span(self, ranking: Floats) -> float:
        """Return the largest |s|."""
        return graded_moments.span(self.levels, self.starts, self.rows, ranking)


@dataclass(eq=False)
class ListedPart(Part):
    """Pairs that are listed."""

    better: Ints
    worse: Ints
    log_weight: Floats
    scores: Floats = field(default_factory=lambda: _NONE)

    @property
    def n_masses(self) -> int:
        """The number of masses."""
        return len(self.better)

    @property
    def _pairs(self) -> tuple[Ints, Ints, Floats]:
        return self.better, self.worse, self.log_weight

    def weigh(self, scores: Floats, team: Team) -> float:
        """Weigh the pairs by the scores; return the largest logarithm of a mass."""
        self.scores = scores
        return listed_pairs.largest(*self._pairs, scores)

    def total(self, top: float, unit: float) -> int:
        """Return the sum of the masses over exp(top), in units."""
        return listed_pairs.total(*self._pairs, self.scores, top, unit)

    def spread(
        self, log_total: float, alone: bool, potentials: Ints, team: Team
    ) -> int:
        """Add the potentials of rows, in units, or write them if it is alone."""
        pairs = *self._pairs, self.scores, log_total, UNIT
        if not alone:
            listed_pairs.spread(*pairs, potentials)
            return 0
        before = potentials.copy()
        potentials[:] = 0
        listed_pairs.spread(*pairs, potentials)
        return search_by_r.drift(potentials, before)

    def moments(
        self, scores: Floats, log_total: float, ranking: Floats
    ) -> tuple[float, float, float]:
        """Return the sums of D, D s and D s**2."""
        return listed_pairs.moments(*self._pairs, scores, log_total, ranking)

    def span(self, ranking: Floats) -> float:
        """Return the largest |s|."""
        return listed_pairs.span(self.better, self.worse, ranking)


class Distribution:
    """D over the crucial pairs among rows 0..n, given their scores H.

    scores (n,) are H. D(x0, x1) is ``Phi(x0, x1) exp(H(x0) - H(x1))`` over its sum,
    whose logarithm is `log_total`. `potentials` (n,) are
    ``sum_x' D(x', x) - D(x, x')`` in units of 2**-61; they add up to zero. No sum of
    some of them has changed between two moves by more than `travelled` (1,) has grown.
    `room` makes scores and potentials, all zero.
    """

    def __init__(
        self,
        parts: list[Part],
        n_rows: int,
        team: Team,
        room: Callable[..., Any] = np.zeros,
    ) -> None:
        self.parts = parts
        self.team = team
        self.scores: Floats = room(n_rows)
        self.potentials: Ints = room(n_rows, dtype=np.int64)
        self.travelled = np.zeros(1)
        self.log_total = 0.0
        self.mass_unit = mass_unit(sum(part.n_masses for part in parts))

    def move(self, scores: Floats) -> None:
        """Go to other scores."""
        self.scores = scores
        self.weigh(scores)
        parts, potentials = self.parts, self.potentials
        if len(parts) == 1:
            moved = parts[0].spread(self.log_total, True, potentials, self.team)
        else:
            before = potentials.copy()
            potentials[:] = 0
            for part in parts:
                part.spread(self.log_total, False, potentials, self.team)
            moved = search_by_r.drift(potentials, before)
        self.travelled[0] = rounds.further(
            float(self.travelled[0]), moved, len(potentials)
        )

    def add(self, alpha: float, ranking: Floats) -> None:
        """Go to where a ranking with a weight leads, in place."""
        rounds.add(alpha, ranking, self.scores)
        self.move(self.scores)

    def weigh(self, scores: Floats) -> None:
        """Find the total at other scores, leaving potentials where they are."""
        top = max(part.weigh(scores, self.team) for part in self.parts)
        mass = sum(part.total(top, self.mass_unit) for part in self.parts)
        self.log_total = graded_pairs.log_of_total(top, mass, self.mass_unit)

    def moments(self, scores: Floats, ranking: Floats) -> tuple[float, float, float]:
        """Return the sums of D, D s and D s**2 at other scores, s = h(x0) - h(x1).

        D is divided by the total at the scores moved to last, so that the first is Z.
        """
        parts = [part.moments(scores, self.log_total, ranking) for part in self.parts]
        mass, first, second = (sum(column) for column in zip(*parts, strict=True))
        return mass, first, second

    @property
    def noise(self) -> float:
        """What rounding may leave of an r of zero."""
        return rounds.noise(self.scores)

    def span(self, ranking: Floats) -> float:
        """Return the largest difference of a ranking on a pair."""
        return max(part.span(ranking) for part in self.parts)


def mass_unit(n_masses: int) -> float:
    """Return how many units a mass of 1 has.

    As fine as a sum of so many masses, none above 1, can be without overflow.
    """
    return float(2.0 ** (62 - ceil(log2(max(n_masses, 1)))))
