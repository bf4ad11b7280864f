"""Thresholds chosen by Z itself: the paper's second method."""

from collections.abc import Callable
from math import exp
from typing import Any

import numpy as np

from peckorder._core.threads import MIN_ITEMS_PER_THREAD, Team
from peckorder._core.typing import Floats, Ints
from peckorder.boosting.compiled import row_masses
from peckorder.boosting.compiled import search_by_z as kernels
from peckorder.boosting.compiled import search_by_z_bounds as limits
from peckorder.boosting.compiled.search_by_r import LEARNT, N_BINS, TOGETHER
from peckorder.boosting.pairs.distribution import (
    UNIT,
    Distribution,
    GradedPart,
    ListedPart,
)
from peckorder.boosting.weak.thresholds import Thresholds, Weak
from peckorder.exceptions import DataError

# Scores further apart cannot be put into products.
_WIDEST = 1300.0
_NONE = np.empty(0, dtype=np.int64)


class PairWeights:
    """The weights of pairs as products, level by level, and of those that are listed.

    `arrays` are what the search wants to see; `weigh` fills them.
    """

    def __init__(self, distribution: Distribution) -> None:
        n_rows = len(distribution.potentials)
        one: dict[Any, Any] = {type(part): part for part in distribution.parts}
        self._graded: Any = one.get(GradedPart)
        self._listed: Any = one.get(ListedPart)
        level_of = np.full(n_rows, -1, dtype=np.int32)
        levels, utility = np.zeros(1, dtype=np.int64), np.empty(0)
        if self._graded is not None:
            part = self._graded
            levels, utility = part.levels, part.utility
            sizes = np.diff(part.starts)
            level_of[part.rows] = np.repeat(np.arange(len(sizes)), sizes)
        self.n_levels = int(levels[-1])
        self._masses = np.zeros((n_rows, 2))
        self._others = np.empty((self.n_levels, 2))
        better, worse = _NONE, _NONE
        if self._listed is not None:
            better, worse = self._listed.better, self._listed.worse
        ends = np.concatenate([better, worse])
        links = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=n_rows))])
        pairs = np.argsort(ends, kind="stable") % max(len(better), 1)
        self._weight = np.empty(len(better))
        self.arrays: Any = (
            level_of,
            np.repeat(levels[:-1], np.diff(levels)),
            np.repeat(levels[1:], np.diff(levels)),
            utility,
            self._masses,
            self._others,
            links,
            pairs,
            better,
            worse,
            self._weight,
        )

    def weigh(self, distribution: Distribution) -> None:
        """Fill in the weights that a distribution has now."""
        scores, log_total = distribution.scores, distribution.log_total
        if self._graded is not None:
            self._weigh_graded(scores, log_total, distribution.team)
        if self._listed is not None:
            part = self._listed
            row_masses.listed_masses(
                part.better,
                part.worse,
                part.log_weight,
                scores,
                log_total,
                self._weight,
            )

    def _weigh_graded(self, scores: Floats, log_total: float, team: Team) -> None:
        part = self._graded

        def work(some: slice, give_up: Callable[[], bool]) -> float:
            return row_masses.graded_masses(
                some.start,
                some.stop,
                part.levels,
                part.starts,
                part.rows,
                part.log_weight,
                part.utility,
                part.log_query,
                log_total,
                scores,
                self._masses,
                self._others,
            )

        worth = len(part.rows) // MIN_ITEMS_PER_THREAD["rows"]
        widest = max(team.share(len(part.levels) - 1, work, worth))
        if widest > _WIDEST:
            raise DataError(
                f"RankBoost: scores must be within {_WIDEST:g} of each other in a "
                f"query, offset included, if alpha='analytic'; got {widest!r}. Use "
                "alpha='numeric'."
            )


class LeastZ(Thresholds):
    """Thresholds of features, the least Z first.

    Columns are numbered with the binned ones first. What `kernels.least_z_limits` keeps
    of them is in `_kept` and `_shares`.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        binned, columns = self.binned, self.sorted
        self._features = np.concatenate([binned.features, columns.features])
        self._abstains = np.concatenate([binned.abstains, columns.abstains])
        n_groups = np.concatenate([binned.n_bins, np.diff(columns.groups)])
        self._cut_starts = np.concatenate([[0], np.cumsum(n_groups + 1)])
        n_defaults = 2 if self.default is None and self._abstains.any() else 1
        # What is never written takes no memory; zero is no limit.
        self._kept = np.zeros((n_defaults, self._cut_starts[-1]), dtype=np.float32)
        self._shares = np.full(len(self._features), limits.SAFE)
        self._limits = np.zeros(len(self._features))
        self._weights: Any = None
        self._scores: Floats = np.empty(0)
        self._log_total = 0.0

    def choose(self, distribution: Distribution) -> Weak | None:
        """Return the best ranking, or None if there is none of any use."""
        self._move(distribution)
        self._weights.weigh(distribution)
        self._limit(distribution.potentials)
        found = self._least(len(distribution.potentials))
        gain = kernels.gain_of(found)
        if gain == 0.0:
            return None
        feature, cut, default = (int(value) for value in found[1:4])
        values = np.empty(len(distribution.potentials))
        self._rank(feature, cut, default, values)
        threshold = self.threshold(feature, cut)
        r = float(found[kernels.RIGHT] - found[kernels.WRONG])
        return Weak(feature, threshold, float(default), r, gain, values, cut)

    def _move(self, distribution: Distribution) -> None:
        """Lower the shares of weight that are left of pairs since columns were scanned.

        A pair has changed by the factor ``exp(dH(x0) - dH(x1)) / Z``.
        """
        scores, log_total = distribution.scores, distribution.log_total
        if self._weights is None:
            self._weights = PairWeights(distribution)
            self._scores, self._log_total = scores.copy(), log_total
        change = row_masses.change(scores, self._scores)
        left = exp(min(self._log_total - log_total - change, 0.0))
        self._shares *= left * limits.SAFE
        self._log_total = log_total

    @property
    def _rule(self) -> tuple[Any, ...]:
        account = self.account
        default = LEARNT if self.default is None else self.default
        return default, account.cumulative, *account.lists

    def _limit(self, potentials: Ints) -> None:
        """Find out what 1 - Z of each column cannot exceed."""
        binned, columns, n_binned = self.binned, self.sorted, len(self.binned.features)
        kernel: Any = limits  # which do not say how many they take of the rule

        def limit_binned(some: slice, give_up: Callable[[], bool]) -> None:
            kernel.limit_binned(
                some.start,
                some.stop,
                binned.features,
                binned.bins,
                binned.n_bins,
                binned.abstains,
                potentials,
                1.0 / UNIT,
                *self._rule,
                self._kept,
                self._cut_starts,
                self._shares,
                np.empty(TOGETHER, dtype=np.int64),
                np.empty((TOGETHER, N_BINS), dtype=np.int64),
                np.empty(N_BINS + 1),
                self._limits,
            )

        def limit_sorted(some: slice, give_up: Callable[[], bool]) -> None:
            kernel.limit_sorted(
                some.start,
                some.stop,
                columns.features,
                columns.starts,
                columns.rows,
                columns.is_last,
                columns.groups,
                columns.group_ends,
                columns.zero,
                columns.abstains,
                potentials,
                1.0 / UNIT,
                *self._rule,
                self._kept,
                self._cut_starts[n_binned:],
                self._shares[n_binned:],
                np.empty(self.room + 1),
                self._limits[n_binned:],
            )

        worth = self.n_threads(len(potentials))
        if n_binned:
            self.team.share(n_binned, limit_binned, worth)
        if len(columns.features):
            self.team.share(len(columns.features), limit_sorted, worth)

    def _least(self, n_rows: int) -> Floats:
        """Scan columns, the most promising first, until no other can be better."""
        columns, account, weights = self.sorted, self.account, self._weights
        order = np.argsort(-self._limits, kind="stable")
        worth = max(1, len(order) * n_rows // MIN_ITEMS_PER_THREAD["entries"])
        n_threads = min(self.team.n_threads, worth)
        best = np.zeros(1)

        def search(thread: slice, give_up: Callable[[], bool]) -> Floats:
            found = np.zeros(kernels.FOUND)
            search_columns: Any = kernels.search
            search_columns(
                thread.start,
                n_threads,
                order,
                self._limits,
                best,
                self._features,
                self._abstains,
                self._cut_starts,
                self._kept,
                self._shares,
                len(self.binned.features),
                self.binned.bins,
                columns.starts,
                columns.rows,
                columns.groups,
                columns.group_ends,
                columns.zero,
                account.smoothing,
                *self._rule,
                account.ratios,
                *weights.arrays,
                np.empty(2 * weights.n_levels),
                np.empty(n_rows, dtype=np.uint8),
                np.empty(n_rows, dtype=np.uint8),
                np.empty(N_BINS, dtype=np.uintp),
                np.zeros(n_rows, dtype=np.int32),
                np.empty(max(self.room, N_BINS) + 1, dtype=np.uintp),
                found,
            )
            return found

        found = self.team.share(n_threads, search)
        # The first feature of those with the least Z.
        return max(found, key=lambda f: (f[kernels.GAIN], -f[kernels.FEATURE]))
