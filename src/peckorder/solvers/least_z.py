"""Thresholds chosen by Z itself: the paper's second method."""

from collections.abc import Callable
from typing import Any

import numpy as np

from peckorder._typing import Floats
from peckorder.exceptions import DataError
from peckorder.kernels import least_z as kernels
from peckorder.kernels.thresholds import LEARNT
from peckorder.solvers.distribution import Distribution, GradedPart, ListedPart
from peckorder.solvers.weak import Thresholds, Weak

# Entries that make another thread worth its start.
_WORTH_A_THREAD = 1 << 15
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
        level_of = np.full(n_rows, -1)
        levels, utility = np.zeros(1, dtype=np.int64), np.empty(0)
        if self._graded is not None:
            part = self._graded
            levels, utility = part.levels, part.utility
            sizes = np.diff(part.starts)
            level_of[part.rows] = np.repeat(np.arange(len(sizes)), sizes)
        self.n_levels = int(levels[-1])
        self._up, self._down = np.zeros(n_rows), np.zeros(n_rows)
        self._ups, self._downs = np.zeros(self.n_levels), np.zeros(self.n_levels)
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
            self._up,
            self._down,
            self._ups,
            self._downs,
            links,
            pairs,
            better,
            worse,
            self._weight,
        )

    def weigh(self, scores: Floats, log_total: float) -> None:
        """Fill in the weights at these scores."""
        if self._graded is not None:
            part = self._graded
            widest = kernels.masses(
                part.levels,
                part.starts,
                part.rows,
                part.log_weight,
                part.log_query,
                log_total,
                scores,
                self._up,
                self._down,
                self._ups,
                self._downs,
            )
            if widest > _WIDEST:
                raise DataError(
                    f"RankBoost: scores must be within {_WIDEST:g} of each other in a "
                    f"query, offset included, if alpha='analytic'; got {widest!r}. Use "
                    "alpha='numeric'."
                )
        if self._listed is not None:
            part = self._listed
            kernels.pair_weights(
                part.better,
                part.worse,
                part.log_weight,
                scores,
                log_total,
                self._weight,
            )


class LeastZ(Thresholds):
    """Thresholds of features, the least Z first; all columns are sorted."""

    _weights: PairWeights | None = None

    def choose(self, distribution: Distribution) -> Weak | None:
        """Return the best ranking, or None if there is none of any use."""
        if self._weights is None:
            self._weights = PairWeights(distribution)
        weights, n_rows = self._weights, len(distribution.potentials)
        weights.weigh(distribution.scores, distribution.log_total)
        found = self._least(weights, n_rows)
        gain = kernels.gain_of(found)
        if gain == 0.0:
            return None
        feature, cut, default = (int(value) for value in found[1:4])
        values = np.empty(n_rows)
        self._rank(feature, cut, default, values)
        threshold = self.threshold(feature, cut)
        r = float(found[kernels.RIGHT] - found[kernels.WRONG])
        return Weak(feature, threshold, float(default), r, gain, values, cut)

    def _least(self, weights: PairWeights, n_rows: int) -> Floats:
        columns, account = self.sorted, self.account
        lists: Any = account.lists

        def search(some: slice, give_up: Callable[[], bool]) -> Floats:
            found = np.zeros(kernels.FOUND)
            search_columns: Any = kernels.search
            search_columns(
                some.start,
                some.stop,
                columns.features,
                columns.starts,
                columns.rows,
                columns.groups,
                columns.group_ends,
                columns.zero,
                columns.abstains,
                LEARNT if self.default is None else self.default,
                account.smoothing,
                account.cumulative,
                *lists,
                account.ratios,
                *weights.arrays,
                np.empty(weights.n_levels),
                np.empty(weights.n_levels),
                np.empty(n_rows, dtype=np.uint8),
                np.empty(n_rows, dtype=np.uint8),
                np.empty(n_rows, dtype=np.int32),
                np.empty(self.room + 1, dtype=np.int64),
                found,
            )
            return found

        worth = len(columns.features) * n_rows // _WORTH_A_THREAD
        found = self.team.share(len(columns.features), search, worth)
        # The first feature of those with the least Z.
        return max(found, key=lambda f: (f[kernels.GAIN], -f[kernels.FEATURE]))
