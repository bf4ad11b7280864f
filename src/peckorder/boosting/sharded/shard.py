"""A share of the rows of RankBoost, of which only sums leave the shard.

A shard has whole queries. Questions and answers are a few numbers and histograms; all
sums are exact integers, so that they do not depend on how queries are shared out.
"""

from collections.abc import Callable, Sequence
from math import isnan
from typing import Any, TypeAlias

import numpy as np

from peckorder._core.compiled.bins import copy_columns, cut_points
from peckorder._core.threads import MIN_ITEMS_PER_THREAD, Team
from peckorder._core.typing import Floats, Ints
from peckorder.boosting.columns import MOST_BINS, ZERO, Cuts, allocate_cells
from peckorder.boosting.compiled.binned_columns import add_binned, sum_columns
from peckorder.boosting.compiled.pairs import GradedPairs
from peckorder.boosting.distribution import GradedPairSet
from peckorder.boosting.thresholds import allocate_histograms

# A round: feature, cut, default and alpha.
Record: TypeAlias = tuple[int, int, float, float]

_NONE = np.empty(0)


class Shard:
    """Rows, their bins, scores and potentials.

    `blocks` are dense X with the numbers of the rows in pairs, in the order of these;
    they are dropped once all columns are binned.
    """

    def __init__(
        self, blocks: Sequence[tuple[Floats, Ints]], pairs: GradedPairs, n_columns: int
    ) -> None:
        self._blocks = list(blocks)
        self._pairs = GradedPairSet(pairs)
        self.n_rows, self.n_columns = self._pairs.n_rows, n_columns
        self._bins = np.empty((n_columns, self.n_rows), dtype=np.uint8)
        self._scores = np.zeros(self.n_rows)
        self._potentials = np.zeros(self.n_rows, dtype=np.int64)
        self._n_rounds, self._largest, self._top = -1, 0.0, 0.0
        self._n_cut = 0
        self._range: tuple[int, int] | None = None
        self._ordered: Floats = np.empty((0, 0))

    # How columns are cut: they are sorted, a block at a time.

    def values(self, first: int, last: int, team: Team) -> tuple[Any, ...]:
        """Return the values of columns first..last.

        How many, the least and the largest, how many distinct ones (-1 if they are
        more than 255), and these, the largest first, of all columns.
        """
        n_values = self._sort(first, last, team)
        n_columns = last - first
        ends = np.full((2, n_columns), np.nan)
        n_tops, all_tops = np.empty(n_columns, dtype=np.int64), []
        for c, (n, ordered) in enumerate(zip(n_values, self._ordered, strict=True)):
            tops = np.empty(MOST_BINS)
            n_tops[c] = cut_points(ordered, n, 0, tops)
            all_tops.append(tops[: max(n_tops[c], 0)] + ZERO)
            if n:
                ends[:, c] = ordered[0], ordered[n - 1]
        return n_values, ends, n_tops, np.concatenate(all_tops)

    def count(self, first: int, last: int, starts: Ints, probes: Floats, team: Team) -> Ints:
        """Return how many values are not above probes.

        Column first + c has the probes ``starts[c] : starts[c + 1]``.
        """
        n_values = self._sort(first, last, team)
        counts = np.empty(len(probes), dtype=np.int64)
        for c, (n, ordered) in enumerate(zip(n_values, self._ordered, strict=True)):
            own = slice(starts[c], starts[c + 1])
            counts[own] = np.searchsorted(ordered[:n], probes[own], side="right")
        return counts

    def cut(self, first: int, cuts: Cuts, team: Team) -> None:
        """Bin columns from `first` on, given where to cut them."""
        last = first + len(cuts.n_bins)
        if last <= self._n_cut:
            return

        def work(share: slice, give_up: Callable[[], bool]) -> None:
            column, cells = np.empty(self.n_rows), allocate_cells()
            for c in range(share.start, share.stop):
                self._copy_columns(first + c, column[np.newaxis])
                cuts.fill(c, column, self._bins[first + c], cells)

        team.share(last - first, work)
        self._range, self._ordered = None, np.empty((0, 0))
        self._n_cut = last
        if last == self.n_columns:
            self._blocks = []

    def _sort(self, first: int, last: int, team: Team) -> Ints:
        """Sort columns, unless they are sorted; return how many values each has."""
        if self._range != (first, last):
            self._ordered = np.empty((last - first, self.n_rows))

            def work(share: slice, give_up: Callable[[], bool]) -> None:
                self._copy_columns(first + share.start, self._ordered[share])
                for c in range(share.start, share.stop):
                    self._ordered[c] += ZERO
                    self._ordered[c].sort()

            team.share(last - first, work)
            self._range = first, last
        counts = [np.searchsorted(o, np.inf, side="right") for o in self._ordered]
        return np.array(counts, dtype=np.int64)

    def _copy_columns(self, first: int, columns: Floats) -> None:
        start = 0
        for X, rows in self._blocks:
            copy_columns(X, rows, first, columns[:, start : start + len(rows)])
            start += len(rows)

    # Rounds. A question that comes twice is answered twice, and changes nothing more.

    def weigh(
        self, n_rounds: int, feature: int, cut: int, default: float, alpha: float, team: Team
    ) -> Floats:
        """Add round number n_rounds (0: none); weigh the pairs.

        Returns the largest size of a score, and the largest logarithm of a mass.
        """
        if n_rounds != self._n_rounds:
            if n_rounds:
                self._add(feature, cut, default, alpha)
            self._top = self._pairs.weigh(self._scores, team)
            self._n_rounds = n_rounds
        return np.array([self._largest, self._top])

    def _add(self, feature: int, cut: int, default: float, alpha: float) -> None:
        bins = self._bins[feature]
        self._largest = add_binned(alpha, bins, cut, default, self._scores)

    def total(self, top: float, unit: float, team: Team) -> int:
        """Return the sum of masses over exp(top), in units."""
        return self._pairs.total(top, unit)

    def spread(self, log_total: float, features: Ints, n_bins: int, team: Team) -> tuple[int, Ints]:
        """Find potentials; return their drift, and the sums of the given features."""
        moved = self._pairs.spread(log_total, True, self._potentials, team)
        return moved, self.sums(features, n_bins, team)

    def sums(self, features: Ints, n_bins: int, team: Team) -> Ints:
        """Return the potentials of the bins of features: (features, n_bins)."""
        sums = np.empty((len(features), n_bins), dtype=np.int64)

        def work(share: slice, give_up: Callable[[], bool]) -> None:
            workspace = allocate_histograms(1)[0]
            columns = features, self._bins, self._potentials
            sum_columns(share.start, share.stop, *columns, workspace, sums)

        worth = 1 + sums.shape[0] * self.n_rows // MIN_ITEMS_PER_THREAD["entries"]
        if len(features):
            team.share(len(features), work, worth)
        return sums

    def repeat(
        self, cuts: Cuts, records: list[Record] | None, log_total: float, team: Team
    ) -> None:
        """Catch up with the other shards: cuts, rounds, and the total after these.

        `records` are None before the first round, log_total NaN before there are
        potentials.
        """
        if len(cuts.n_bins):
            self.cut(0, cuts, team)
        if records is None:
            return
        for record in records:
            self._add(*record)
        self._top = self._pairs.weigh(self._scores, team)
        self._n_rounds = len(records)
        if not isnan(log_total):
            self._pairs.spread(log_total, True, self._potentials, team)


def joined(question: str, answers: list[Any]) -> Any:
    """Return the answers of several shards as one: exact, whatever their order."""
    if question in ("cut", "repeat"):
        return None
    if question == "weigh":
        return np.max(answers, axis=0)
    if question == "values":
        return _joined_values(*zip(*answers, strict=True))
    if question == "spread":
        return tuple(map(sum, zip(*answers, strict=True)))
    return sum(answers)


def _joined_values(
    n_values: Sequence[Ints],
    ends: Sequence[Floats],
    n_distinct: Sequence[Ints],
    distinct: Sequence[Floats],
) -> tuple[Ints, Floats, Ints, Floats]:
    """Join what `Shard.values` returns."""
    low, high = np.array(ends)[:, 0], np.array(ends)[:, 1]
    all_ends = np.array([np.fmin.reduce(low), np.fmax.reduce(high)])
    starts = [np.cumsum([0, *np.maximum(n, 0)]) for n in n_distinct]
    n_joined = np.full(len(n_values[0]), -1)
    columns = []
    for c, counts in enumerate(np.array(n_distinct).T):
        if counts.min() >= 0:
            several = zip(distinct, starts, strict=True)
            union = np.unique(np.concatenate([d[s[c] : s[c + 1]] for d, s in several]))
            if len(union) <= MOST_BINS:
                n_joined[c] = len(union)
                columns.append(union[::-1])
    return (np.sum(n_values, axis=0), all_ends, n_joined, np.concatenate([_NONE, *columns]))
