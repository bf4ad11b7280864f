"""The distribution over crucial pairs that RankBoost keeps, and never lists."""

from collections.abc import Callable
from functools import cached_property
from math import ceil, log, log2
from typing import TypeAlias, TypeVar

import numpy as np

from peckorder._core.threads import MIN_ITEMS_PER_THREAD, Team
from peckorder._core.typing import Array, Floats, Ints
from peckorder.boosting.compiled import graded_pairs, pair_losses, rounds
from peckorder.boosting.compiled import pairs as compiled
from peckorder.boosting.compiled.pair_losses import Swaps
from peckorder.boosting.compiled.pairs import GradedPairs, ListedPairs
from peckorder.feedback import GradedRows, PairList, Pairs, Preferences

T = TypeVar("T")
_NONE = np.empty(0)
Moments: TypeAlias = tuple[float, float, float]


class GradedPairSet:
    """Pairs of rows of a query whose grades differ.

    `allocate` makes the arrays that are as long as there are rows.
    """

    def __init__(self, pairs: GradedPairs, allocate: Callable[[int], Floats] = np.empty) -> None:
        self.pairs = pairs
        self.n_rows, n_levels = int(pairs.starts[-1]), len(pairs.starts) - 1
        # The weight of all pairs is the sum of so many numbers: one per query.
        self.n_masses = len(pairs.levels) - 1
        self.sums = graded_pairs.PairSums(
            up=allocate(self.n_rows),
            down=allocate(self.n_rows),
            up_scale=np.empty(n_levels),
            down_scale=np.empty(n_levels),
            base=np.empty(self.n_masses),
            log_mass=np.empty(n_levels),
        )

    @cached_property
    def n_pairs(self) -> int:
        """The number of pairs."""
        levels, starts = self.pairs.levels, self.pairs.starts
        first_of_query = np.repeat(starts[levels[:-1]], np.diff(levels))
        return int(np.sum(np.diff(starts) * (starts[:-1] - first_of_query)))

    @cached_property
    def numbered_pairs(self) -> GradedPairs:
        """The pairs, with the number of the row at each position in any case."""
        if len(self.pairs.rows):
            return self.pairs
        return self.pairs._replace(rows=np.arange(self.n_rows))

    def share(self, team: Team, work: Callable[[int, int], T]) -> list[T]:
        """Let threads work on queries first..last each."""
        return team.share(
            self.n_masses,
            lambda queries, _: work(queries.start, queries.stop),
            self.n_rows // MIN_ITEMS_PER_THREAD["rows"],
        )

    def weigh(self, scores: Floats, team: Team) -> float:
        """Weigh the pairs by the scores; return the largest logarithm of a mass."""
        levels, log_mass = self.pairs.levels, self.sums.log_mass

        def work(first: int, last: int) -> float:
            graded_pairs.weigh(first, last, self.pairs, scores, self.sums)
            return graded_pairs.largest(first, last, levels, log_mass)

        return max(self.share(team, work))

    def total(self, top: float, unit: float) -> int:
        """Return the sum of the masses over exp(top), in units."""
        levels, log_mass = self.pairs.levels, self.sums.log_mass
        return graded_pairs.total(0, self.n_masses, levels, log_mass, top, unit)

    def spread(self, log_total: float, overwrite: bool, potentials: Ints, team: Team) -> int:
        """Add the potentials of rows, in units.

        With `overwrite` earlier ones are replaced, and the result is the most by which
        the sum of any of them has changed.
        """

        def work(first: int, last: int) -> int:
            return graded_pairs.spread(
                first, last, self.pairs, self.sums, log_total, overwrite, potentials
            )

        return sum(self.share(team, work))

    def add_masses(self, log_total: float, masses: Floats, team: Team) -> None:
        """Add to masses (n,) the weights of the pairs of each row."""

        def work(first: int, last: int) -> None:
            graded_pairs.add_masses(first, last, self.pairs, self.sums, log_total, masses)

        self.share(team, work)

    def moments(self, scores: Floats, log_total: float, ranking: Floats) -> Moments:
        """Return the sums of D, D s and D s**2 for ``s = h(x0) - h(x1)``."""
        return compiled.moments_graded(self.numbered_pairs, scores, log_total, ranking)

    def span(self, ranking: Floats) -> float:
        """Return the largest |s|."""
        return compiled.span_graded(self.numbered_pairs, ranking)

    def largest_gap(self, scores: Floats) -> float:
        """Return the most by which the worse row of a pair is above the better one."""
        return pair_losses.largest_gap(self.pairs, scores)

    def add_derivatives(
        self,
        swaps: Swaps,
        scores: Floats,
        log_total: float,
        top: float,
        slopes: Floats,
        curvatures: Floats,
        *,
        team: Team,
    ) -> Floats:
        """Add the derivatives of a loss by the scores of rows; return sums over pairs."""
        sums = np.empty((self.n_masses, pair_losses.SUMS))
        work = np.empty((pair_losses.WORK, self.n_rows))

        def visit(queries: slice, _: object) -> None:
            first, last = queries.start, queries.stop
            if len(swaps.gain):
                pair_losses.write_discounts(first, last, self.pairs, scores, swaps)
            pair_losses.graded_derivatives(
                first,
                last,
                self.pairs,
                swaps,
                scores,
                log_total,
                top,
                work,
                slopes,
                curvatures,
                sums,
            )

        team.share(self.n_masses, visit, max(1, self.n_pairs // MIN_ITEMS_PER_THREAD["rows"]))
        return np.asarray(sums.sum(axis=0))


class ListedPairSet:
    """Pairs that are listed."""

    def __init__(self, pairs: ListedPairs) -> None:
        self.pairs = pairs
        self.n_masses = len(pairs.better)
        self._scores: Floats = _NONE

    def weigh(self, scores: Floats, team: Team) -> float:
        """Weigh the pairs by the scores; return the largest logarithm of a mass."""
        self._scores = scores
        return compiled.largest_listed(self.pairs, scores)

    def total(self, top: float, unit: float) -> int:
        """Return the sum of the masses over exp(top), in units."""
        return compiled.total_listed(self.pairs, self._scores, top, unit)

    def spread(self, log_total: float, overwrite: bool, potentials: Ints, team: Team) -> int:
        """Add the potentials of rows, in units, or overwrite them."""
        before = potentials.copy() if overwrite else potentials
        if overwrite:
            potentials[:] = 0
        compiled.spread_listed(self.pairs, self._scores, log_total, potentials)
        return compiled.drift(potentials, before) if overwrite else 0

    def add_masses(self, log_total: float, masses: Floats, team: Team) -> None:
        """Add to masses (n,) the weights of the pairs of each row."""
        compiled.add_masses_listed(self.pairs, self._scores, log_total, masses)

    def moments(self, scores: Floats, log_total: float, ranking: Floats) -> Moments:
        """Return the sums of D, D s and D s**2."""
        return compiled.moments_listed(self.pairs, scores, log_total, ranking)

    def span(self, ranking: Floats) -> float:
        """Return the largest |s|."""
        return compiled.span_listed(self.pairs, ranking)

    def largest_gap(self, scores: Floats) -> float:
        """Return the most by which the worse row of a pair is above the better one."""
        return float((scores[self.pairs.worse] - scores[self.pairs.better]).max())

    def add_derivatives(
        self,
        swaps: Swaps,
        scores: Floats,
        log_total: float,
        top: float,
        slopes: Floats,
        curvatures: Floats,
        *,
        team: Team,
    ) -> Floats:
        """Add those of the logistic loss by the scores of rows; return sums over pairs."""
        sums = np.empty((1, pair_losses.SUMS))
        pair_losses.listed_derivatives(self.pairs, scores, log_total, slopes, curvatures, sums)
        return np.asarray(sums[0])


PairSet: TypeAlias = GradedPairSet | ListedPairSet


class Distribution:
    """D over the crucial pairs among rows 0..n, given their scores H.

    scores (n,) are H. D(x0, x1) is ``Phi(x0, x1) exp(H(x0) - H(x1))`` over its sum,
    whose logarithm is `log_total`. `potentials` (n,) are
    ``sum_x' D(x', x) - D(x, x')`` in units of 2**-61; they add up to zero. No sum of
    any of them has changed between two moves by more than `total_drift` (1,) has grown.
    `allocate` makes scores and potentials, all zero.
    """

    def __init__(
        self,
        pair_sets: list[PairSet],
        n_rows: int,
        team: Team,
        allocate: Callable[..., Array] = np.zeros,
    ) -> None:
        self.pair_sets = pair_sets
        self.team = team
        self.scores: Floats = allocate(n_rows)
        self.potentials: Ints = allocate(n_rows, dtype=np.int64)
        self.total_drift = np.zeros(1)
        self.log_total = 0.0
        self.mass_unit = mass_unit(sum(pairs.n_masses for pairs in pair_sets))

    def move(self, scores: Floats) -> None:
        """Go to other scores."""
        self.scores = scores
        self.weigh(scores)
        self.spread()

    def spread(self) -> None:
        """Find the potentials at the scores that were weighed last."""
        pair_sets, potentials = self.pair_sets, self.potentials
        if len(pair_sets) == 1:
            moved = pair_sets[0].spread(self.log_total, True, potentials, self.team)
        else:
            before = potentials.copy()
            potentials[:] = 0
            for pairs in pair_sets:
                pairs.spread(self.log_total, False, potentials, self.team)
            moved = compiled.drift(potentials, before)
        self.total_drift[0] = rounds.add_drift(float(self.total_drift[0]), moved, len(potentials))

    def weigh(self, scores: Floats) -> None:
        """Find the total at other scores, and leave the potentials as they are."""
        top = max(pairs.weigh(scores, self.team) for pairs in self.pair_sets)
        mass = sum(pairs.total(top, self.mass_unit) for pairs in self.pair_sets)
        self.log_total = graded_pairs.log_of_total(top, mass, self.mass_unit)

    def masses(self) -> Floats:
        """Return the sum of D over the pairs of each row, at the scores weighed last."""
        masses = np.zeros(len(self.potentials))
        for pairs in self.pair_sets:
            pairs.add_masses(self.log_total, masses, self.team)
        return masses

    def moments(self, scores: Floats, ranking: Floats) -> Moments:
        """Return the sums of D, D s and D s**2 at other scores, s = h(x0) - h(x1).

        D is divided by the total at the scores moved to last, so that the first is Z.
        """
        moments = [pairs.moments(scores, self.log_total, ranking) for pairs in self.pair_sets]
        mass, first, second = (sum(column) for column in zip(*moments, strict=True))
        return mass, first, second

    @property
    def noise(self) -> float:
        """What rounding may leave of an r of zero."""
        return rounds.noise(self.scores)

    def span(self, ranking: Floats) -> float:
        """Return the largest difference of a ranking on a pair."""
        return max(pairs.span(ranking) for pairs in self.pair_sets)


def mass_unit(n_masses: int) -> float:
    """Return how many units a mass of 1 has.

    As fine as a sum of so many masses, none above 1, can be without overflow.
    """
    return float(2.0 ** (62 - ceil(log2(max(n_masses, 1)))))


def feedback_rows(preferences: Preferences, sample_weight: Floats | None) -> Ints:
    """Return the rows that are in a pair with positive weight, query by query."""
    paired = [_paired_rows(pairs, sample_weight) for pairs in preferences.parts]
    if len(paired) == 1 and isinstance(preferences.parts[0], GradedRows):
        return paired[0]  # each once
    rows = np.concatenate(paired)
    first = np.unique(rows, return_index=True)[1]
    return np.asarray(rows[np.sort(first)])


def _paired_rows(pairs: GradedRows | PairList, sample_weight: Floats | None) -> Ints:
    if isinstance(pairs, PairList):
        better, worse, weight = pairs.pairs
        is_positive = weight > 0
        if sample_weight is not None:
            is_positive &= (sample_weight[better] > 0) & (sample_weight[worse] > 0)
        return np.concatenate([better[is_positive], worse[is_positive]])
    if pairs.scale == 0:
        return pairs.rows[:0]
    rows = pairs.rows
    if sample_weight is not None:
        rows = rows[sample_weight[rows] > 0]
        pairs = pairs.restricted(rows)
    offsets = pairs.offsets
    is_paired = pairs.grade[offsets[:-1]] < pairs.grade[offsets[1:] - 1]
    return rows[np.repeat(is_paired, np.diff(offsets))]


def make_distribution(
    preferences: Preferences,
    sample_weight: Floats | None,
    n_rows: int,
    *,
    equal_queries: bool,
    one_graded: bool,
    team: Team,
) -> Distribution:
    """Return the distribution over pairs among n rows.

    With `equal_queries` the pairs of every query have a total weight of 1. With
    `one_graded` the pairs of all graded rows but the first are listed.
    """
    log_weight = None if sample_weight is None else np.log(sample_weight)
    pair_sets: list[PairSet] = []
    listed = []
    for pairs in preferences.parts:
        if isinstance(pairs, PairList) or (pair_sets and one_graded):
            listed.append(pairs.listed())
        elif pairs.scale > 0 and len(pairs.rows):
            pair_sets.append(graded_pair_set(pairs, log_weight, equal_queries, team))
    if listed:
        pair_sets.append(_listed(listed, log_weight))
    return Distribution(pair_sets, n_rows, team)


def _listed(pairs: list[Pairs], log_weight: Floats | None) -> ListedPairSet:
    better, worse, weight = (np.concatenate(c) for c in zip(*pairs, strict=True))
    kept = weight > 0
    better, worse, log_pair = better[kept], worse[kept], np.log(weight[kept])
    if log_weight is not None:
        log_pair += log_weight[better] + log_weight[worse]
    return ListedPairSet(ListedPairs(better, worse, log_pair))


def graded_pair_set(
    graded: GradedRows, log_weight: Floats | None, equal_queries: bool, team: Team
) -> GradedPairSet:
    """Return the pairs of rows of a query whose grades differ."""
    rows = graded.rows
    starts = np.append(graded.level_starts, len(rows))
    levels = np.searchsorted(starts, graded.offsets)
    utility, log_step = _NONE, _NONE
    if graded.kind != "unit":
        utility = graded.utility[starts[:-1]]
        log_step, rise = np.zeros(len(utility)), np.diff(utility)
        np.log(rise, out=log_step[1:], where=rise > 0)  # a query's first has none
    is_moved = not np.array_equal(rows, np.arange(len(rows)))
    result = GradedPairSet(
        GradedPairs(
            levels,
            starts,
            rows if is_moved else rows[:0],
            _NONE if log_weight is None else log_weight[rows],
            utility,
            log_step,
            np.full(len(levels) - 1, log(graded.scale)),
        )
    )
    if equal_queries:
        level_queries(result, int(rows.max()) + 1, team)
    return result


def level_queries(pair_set: GradedPairSet, n_rows: int, team: Team) -> None:
    """Let the pairs of every query have a total weight of 1."""
    pair_set.weigh(np.zeros(n_rows), team)
    log_mass = pair_set.sums.log_mass[pair_set.pairs.levels[:-1]]
    # A query of one grade has no pair to weigh.
    np.subtract(0.0, log_mass, out=pair_set.pairs.log_query, where=log_mass > -np.inf)


def unweighted_pairs(
    levels: Ints, starts: Ints, log_weight: Floats, log_query: Floats
) -> GradedPairs:
    """Return pairs of weight 1, but for rows and queries; rows stand in their order."""
    return GradedPairs(levels, starts, levels[:0], log_weight, _NONE, _NONE, log_query)
