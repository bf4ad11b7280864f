"""Columns of bins, one byte an entry, and where columns are cut into these."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from peckorder._core.typing import Floats, Ints
from peckorder.boosting.compiled import binning
from peckorder.boosting.compiled import search_by_r as kernels

# The most values that have a bin each; the last bin is for rows without one.
MOST_BINS = kernels.N_BINS - 1
# Cells of equal width in which values are looked up.
_CELLS = 2048
# Makes a zero of minus zero, and is nothing else.
_ZERO = 0.0


@dataclass(frozen=True)
class BinnedColumns:
    """Columns as `kernels.thresholds.search_binned` wants them.

    Column c, of feature features[c], is ``bins[features[c]]``; the values of its groups
    are ``values[groups[c] : groups[c + 1]]``.
    """

    features: Ints
    bins: Ints
    n_bins: Ints
    abstains: Ints
    groups: Ints
    values: Floats


def no_bins(n_rows: int) -> BinnedColumns:
    """Return no columns at all."""
    none = np.empty(0, dtype=np.int64)
    bins = np.empty((0, n_rows), dtype=np.uint8)
    return BinnedColumns(none, bins, none, none, np.zeros(1, np.int64), np.empty(0))


class Cuts:
    """Where columns are cut into groups, the largest values first.

    tops (columns, 256) are the largest values of groups, -inf behind the last;
    n_bins (columns,) count the groups, -1 if there are too many; n_values (columns,)
    the rows that have a value; lows (columns,) are the smallest values.
    """

    def __init__(self, n_columns: int) -> None:
        self.tops = np.full((n_columns, kernels.N_BINS), -np.inf)
        self.n_bins, self.n_values = np.zeros((2, n_columns), dtype=np.int64)
        self.lows = np.zeros(n_columns)

    def find(self, c: int, ordered: Any, max_bins: int | None) -> None:
        """Cut a column, whose entries ascend, NaN last, as `kernels.binning` does."""
        # Of its own type: else all of the column would be converted.
        top = ordered.dtype.type(np.inf)
        n_values = int(np.searchsorted(ordered, top, side="right"))
        self.n_values[c], self.lows[c] = n_values, ordered[0]
        room = self.tops[c, :-1]
        self.n_bins[c] = binning.cut_points(ordered, n_values, max_bins or 0, room)

    def fill(self, c: int, column: Floats, bins: Ints, cells: Ints) -> None:
        """Write to bins (n,) the groups of values (n,) of a column that is cut."""
        binning.fill_bins(
            column,
            self.tops[c],
            self.n_bins[c],
            self.lows[c],
            kernels.ABSTAINS,
            cells,
            bins,
        )

    def extended(self, others: Self) -> Self:
        """Return these columns and others behind them."""
        both = type(self)(0)
        for name, value in vars(self).items():
            setattr(both, name, np.concatenate([value, getattr(others, name)]))
        return both

    def columns(self, bins: Ints, n_rows: int) -> BinnedColumns:
        """Return those columns that are cut, of which there are n rows."""
        kept = np.flatnonzero(self.n_bins >= 0)
        n_bins = self.n_bins[kept]
        is_top = np.arange(kernels.N_BINS) < n_bins[:, np.newaxis]
        return BinnedColumns(
            kept,
            bins,
            n_bins,
            (self.n_values[kept] < n_rows).astype(np.int64),
            np.concatenate([[0], np.cumsum(n_bins)]),
            self.tops[kept][is_top] + _ZERO,
        )


def cells() -> Ints:
    """Return room in which to look up where values belong."""
    return np.empty(_CELLS, dtype=np.int16)


def threshold_at(values: Floats, groups: Ints, c: int, cut: int) -> float:
    """Return the threshold that a cut of column c stands for."""
    own = values[groups[c] : groups[c + 1]]
    return float(own[cut]) if cut < len(own) else -np.inf
