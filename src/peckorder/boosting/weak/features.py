"""Features themselves as weak rankings: the paper's first form."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from peckorder._core.typing import Floats, Ints
from peckorder.boosting.columns.sorted import SortedColumns
from peckorder.boosting.compiled import weak_rankings as kernels
from peckorder.boosting.pairs.distribution import UNIT, Distribution
from peckorder.boosting.weak.thresholds import Weak
from peckorder.exceptions import DataError


@dataclass(eq=False)
class Features:
    """Features, the largest |r| first, with a default where they abstain.

    The default is given, or the better end of the feature's range: r is linear in it.
    """

    columns: SortedColumns
    default: float | None
    cumulative: bool
    narrow: bool

    def __post_init__(self) -> None:
        columns, groups = self.columns, self.columns.groups
        has_values = np.diff(groups) > 0
        low, high = np.zeros((2, len(columns.features)))
        high[has_values] = columns.values[groups[:-1][has_values]]
        low[has_values] = columns.values[groups[1:][has_values] - 1]
        if self.default is None:
            self._ends = np.stack([low, np.where(columns.abstains != 0, high, low)])
        else:
            self._ends = np.full((2, len(low)), float(self.default))
        # A ranking that says nothing must not be chosen for its default.
        self._is_ranking = has_values
        if self.narrow:
            self._check_range(low, high)
        # Values larger than 1 leave larger remains.
        self._scale = np.maximum(np.maximum(np.abs(low), np.abs(high)), 1.0)
        self._sums: dict[Any, float] = {}
        self._barred: set[Any] = set()

    def _check_range(self, low: Floats, high: Floats) -> None:
        abstains = self.columns.abstains != 0
        top = np.where(abstains, np.maximum(high, self._ends.max(axis=0)), high)
        bottom = np.where(abstains, np.minimum(low, self._ends.min(axis=0)), low)
        width = np.where(self._is_ranking, top - bottom, 0.0)
        if width.max(initial=0.0) > 1.0:
            worst = int(np.argmax(width))
            raise DataError(
                "RankBoost: X must be within a range of 1, defaults too, if features "
                "are weak rankings and alpha='approximate'; got "
                f"{float(width[worst])!r} in feature {self.columns.features[worst]}. "
                "Scale X to [0, 1], or use alpha='numeric'."
            )

    def choose(self, distribution: Distribution) -> Weak | None:
        """Return the best ranking, or None if there is none of any use."""
        weighted, ranked = self._weigh(distribution.potentials)
        r = np.where(self._is_ranking, weighted - self._ends * ranked, 0.0)
        size = np.abs(r)
        size[size <= distribution.noise * self._scale] = 0.0
        if self.cumulative:
            may_fall = {key[0] + len(ranked) * key[1] for key in self._sums}
            is_old = np.zeros(r.size, dtype=bool)
            is_old[list(may_fall)] = True
            size = np.where((r > 0) | is_old.reshape(r.shape), size, 0.0)
        for column, which, _ in self._barred:
            size[which, column] = 0.0
        # By features first, then by defaults.
        column, which = divmod(int(np.argmax(size.T)), 2)
        if size[which, column] == 0.0:
            return None
        return self._weak(column, which, float(r[which, column]), distribution)

    def may_add(self, weak: Weak, alpha: float) -> bool:
        """Tell whether a ranking may be added with a weight."""
        return not self.cumulative or self._sums.get(weak.key, 0.0) + alpha > 0.0

    def note(self, weak: Weak, alpha: float) -> None:
        """Take notice that a ranking has been added."""
        self._sums[weak.key] = self._sums.get(weak.key, 0.0) + alpha

    def bar(self, weak: Weak) -> None:
        """Do not choose a ranking again in this round."""
        self._barred.add(weak.key)

    def release(self) -> None:
        """Let all that was barred be chosen again."""
        self._barred.clear()

    def cut_at(self, feature: int, default: float) -> int:
        """Return which of the two defaults a ranking of an earlier fit has."""
        return int(self._ends[0, feature] != default)

    def _weigh(self, potentials: Ints) -> tuple[Floats, Floats]:
        columns = self.columns
        weighted, ranked = np.empty((2, len(columns.features)))
        kernels.value_sums(
            columns.starts,
            columns.rows,
            columns.groups,
            columns.group_ends,
            columns.values,
            columns.zero,
            potentials,
            UNIT,
            weighted,
            ranked,
        )
        # What is left of zero by rounding must not speak for a default.
        return weighted, np.where(columns.abstains != 0, ranked, 0.0)

    def _weak(
        self, column: int, which: int, r: float, distribution: Distribution
    ) -> Weak:
        default = float(self._ends[which, column])
        return self._make(column, which, default, r, len(distribution.potentials))

    def _make(
        self, column: int, which: int, default: float, r: float, n_rows: int
    ) -> Weak:
        columns, values = self.columns, np.empty(n_rows)
        groups = slice(columns.groups[column], columns.groups[column + 1])
        kernels.rank_values(
            columns.starts[column],
            columns.starts[column + 1],
            columns.rows,
            columns.group_ends[groups],
            columns.values[groups],
            0.0 if columns.zero[column] >= 0 else default,
            default,
            values,
        )
        feature = int(columns.features[column])
        return Weak(feature, float("nan"), default, r, abs(r), values, which)
