"""Features as columns that are cut into groups, the largest values first.

A dense column with at most 255 groups is kept as bins, one byte per entry; any other as
its rows in the order of their values, up to 17 bytes per stored entry
(21 from 2**31 entries on).
"""

from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np

from peckorder._core.compiled.bins import N_BINS, copy_columns, cut_points, fill_bins
from peckorder._core.threads import Team
from peckorder._core.typing import Bools, Floats, Ints, Matrix, SparseMatrix
from peckorder.boosting.compiled.binned_columns import BinnedColumns
from peckorder.boosting.compiled.sorted_columns import SortedColumns

# The most values that have a bin each; the last bin is for rows without one.
MOST_BINS = N_BINS - 1
# Adding it makes a zero of minus zero, and changes nothing else.
ZERO = 0.0
# Columns shorter than this are sorted: a histogram would be as long as they are.
_SHORT = 1024
# Columns that are copied from a matrix at a time: a cache line of each row.
COPIED_TOGETHER = 8
# Cells of equal width in which values are looked up.
_CELLS = 2048
# Entries that are sorted at a time.
_CHUNK = 1 << 18


def no_bins(n_rows: int) -> BinnedColumns:
    """Return no columns at all."""
    none = np.empty(0, dtype=np.int64)
    bins = np.empty((0, n_rows), dtype=np.uint8)
    return BinnedColumns(none, bins, none, none, np.zeros(1, np.int64), np.empty(0))


class Cuts(NamedTuple):
    """Where columns are cut into groups, the largest values first.

    tops (columns, 256) are the largest values of groups, -inf behind the last;
    n_bins (columns,) count the groups, -1 if there are too many; n_values (columns,)
    the rows that have a value; lows (columns,) are the smallest values.
    """

    tops: Floats
    n_bins: Ints
    n_values: Ints
    lows: Floats

    @classmethod
    def allocate(cls, n_columns: int) -> Self:
        """Return arrays to be filled in."""
        n_bins, n_values = np.zeros((2, n_columns), dtype=np.int64)
        return cls(np.full((n_columns, N_BINS), -np.inf), n_bins, n_values, np.zeros(n_columns))

    def find(self, c: int, ordered: Floats, max_bins: int | None) -> None:
        """Cut a column, whose entries ascend, NaN last, by `cut_points`."""
        # Infinity of its own type: else all of the column would be converted.
        top = ordered.dtype.type(np.inf)
        n_values = int(np.searchsorted(ordered, top, side="right"))
        self.n_values[c], self.lows[c] = n_values, ordered[0]
        tops = self.tops[c, :-1]
        self.n_bins[c] = cut_points(ordered, n_values, max_bins or 0, tops)

    def fill(self, c: int, column: Floats, bins: Ints, cells: Ints) -> None:
        """Write to bins (n,) the groups of values (n,) of a column that is cut."""
        n_bins, low = self.n_bins[c], self.lows[c]
        fill_bins(column, self.tops[c], n_bins, low, cells, bins)

    def columns(self, bins: Ints, n_rows: int) -> BinnedColumns:
        """Return the columns that are cut, of n rows."""
        kept = np.flatnonzero(self.n_bins >= 0)
        n_bins = self.n_bins[kept]
        is_top = np.arange(N_BINS) < n_bins[:, np.newaxis]
        return BinnedColumns(
            kept,
            bins,
            n_bins,
            (self.n_values[kept] < n_rows).astype(np.int64),
            np.concatenate([[0], np.cumsum(n_bins)]),
            self.tops[kept][is_top] + ZERO,
        )


def allocate_cells() -> Ints:
    """Return workspace in which to look up the groups of values."""
    return np.empty(_CELLS, dtype=np.int16)


def cut_columns(
    X: Matrix, rows: Ints, *, unstored: bool, max_bins: int | None, team: Team, sort: bool = False
) -> tuple[BinnedColumns, SortedColumns]:
    """Cut the columns of X into groups, looking at the given rows only.

    Row i of the columns is ``rows[i]``. X is dense, NaN where a feature abstains, or in
    CSR form; entries it does not store are zero if `unstored`, else abstain too. With
    `sort` no column is binned.
    """
    if not isinstance(X, np.ndarray):
        stored = X[rows].tocsc()
        stored.sort_indices()
        return no_bins(len(rows)), _sort_sparse(stored, unstored, max_bins)
    if sort or len(rows) < _SHORT:
        columns = np.arange(X.shape[1])
        return no_bins(len(rows)), _sort_dense(X, rows, columns, max_bins)
    binned, others = _bin(X, rows, max_bins, team)
    return binned, _sort_dense(X, rows, others, max_bins)


def _bin(X: Floats, rows: Ints, max_bins: int | None, team: Team) -> tuple[BinnedColumns, Ints]:
    """Bin dense columns; return also which have too many values."""
    n_rows, n_columns = len(rows), X.shape[1]
    # Pages that are never written take no memory.
    bins = np.empty((n_columns, n_rows), dtype=np.uint8)
    cuts = Cuts.allocate(n_columns)

    def work(share: slice, give_up: Callable[[], bool]) -> None:
        # The same memory for all columns: new pages would cost as much as the sort.
        workspace, cells = np.empty((COPIED_TOGETHER + 1, n_rows)), allocate_cells()
        ordered = workspace[0]
        for first in range(share.start, share.stop, COPIED_TOGETHER):
            if give_up():
                return
            columns = workspace[1 : 1 + min(COPIED_TOGETHER, share.stop - first)]
            copy_columns(X, rows, first, columns)
            for c, column in enumerate(columns, first):
                ordered[:] = column
                ordered.sort()
                cuts.find(c, ordered, max_bins)
                if cuts.n_bins[c] >= 0:
                    cuts.fill(c, column, bins[c], cells)

    team.share(n_columns, work)
    return cuts.columns(bins, n_rows), np.flatnonzero(cuts.n_bins < 0)


def no_sorted() -> SortedColumns:
    """Return no columns at all."""
    return _Joined(0).columns(np.empty(0, dtype=np.int64))


def _sort_dense(X: Floats, rows: Ints, columns: Ints, max_bins: int | None) -> SortedColumns:
    """Sort dense columns by their values, a block at a time."""
    step = max(1, _CHUNK // max(len(rows), 1))
    joined = _Joined(len(rows) * len(columns))
    for first in range(0, len(columns), step):
        joined.add(_sort_block(X, rows, columns[first : first + step], max_bins))
    return joined.columns(columns)


def _sort_block(X: Floats, rows: Ints, columns: Ints, max_bins: int | None) -> SortedColumns:
    n_rows = len(rows)
    values = X[np.ix_(rows, columns)].T.astype(np.float64)
    order = np.argsort(-values, axis=1, kind="stable")  # NaN last
    values = np.take_along_axis(values, order, axis=1)
    has_value = ~np.isnan(values)
    n_values = has_value.sum(axis=1)
    column = np.repeat(np.arange(len(columns)), n_values)
    row, value = order[has_value].astype(np.int32), values[has_value]
    n_gaps = n_rows - n_values
    return _grouped(columns, column, row, value, n_gaps, False, n_rows, max_bins)


class _Joined:
    """Sorted columns put behind each other, in memory that is allocated once."""

    def __init__(self, n_entries: int) -> None:
        self._rows = np.empty(n_entries, dtype=np.int32)
        self._is_last = np.empty(n_entries, dtype=np.uint8)
        self._group_ends: Ints = np.empty(n_entries, dtype=_small(n_entries))
        self._values = np.empty(n_entries)
        self._n_entries, self._n_groups = 0, 0
        self._of_columns: list[tuple[Ints, Ints, Ints, Ints]] = []

    def add(self, columns: SortedColumns) -> None:
        """Put columns behind those that are there."""
        start, stop = self._n_entries, self._n_entries + len(columns.rows)
        first, last = self._n_groups, self._n_groups + len(columns.values)
        self._rows[start:stop] = columns.rows
        self._is_last[start:stop] = columns.is_last
        np.add(columns.group_ends, start, out=self._group_ends[first:last])
        self._values[first:last] = columns.values
        ends = columns.starts[1:] + start, columns.groups[1:] + first
        self._of_columns.append((*ends, columns.zero, columns.abstains))
        self._n_entries, self._n_groups = stop, last

    def columns(self, features: Ints) -> SortedColumns:
        """Return all columns."""
        none = np.empty(0, dtype=np.int64)
        of_columns = zip((none,) * 4, *self._of_columns, strict=True)
        starts, groups, zero, abstains = map(np.concatenate, of_columns)
        return SortedColumns(
            features,
            np.concatenate([[0], starts]),
            self._rows[: self._n_entries],
            self._is_last[: self._n_entries],
            np.concatenate([[0], groups]),
            self._group_ends[: self._n_groups],
            self._values[: self._n_groups],
            zero,
            abstains,
        )


def _small(largest: int) -> type:
    """Return the smaller of two types that can hold a number."""
    return np.int32 if largest < 1 << 31 else np.int64


def _sort_sparse(X: SparseMatrix, unstored: bool, max_bins: int | None) -> SortedColumns:
    """Sort the stored entries of each column of a CSC matrix by their values."""
    n_rows, n_columns = X.shape
    column = np.repeat(np.arange(n_columns), np.diff(X.indptr))
    value = X.data.astype(np.float64)
    order = np.lexsort((-value, column))  # NaN last
    column, value = column[order], value[order]
    row = X.indices[order].astype(np.int32)
    is_gap = np.isnan(value)
    n_gaps = np.bincount(column[is_gap], minlength=n_columns)
    if not unstored:
        n_values = np.bincount(column[~is_gap], minlength=n_columns)
        column, row, value = column[~is_gap], row[~is_gap], value[~is_gap]
        n_gaps = n_rows - n_values
    features = np.arange(n_columns)
    return _grouped(features, column, row, value, n_gaps, unstored, n_rows, max_bins)


def _grouped(
    features: Ints,
    column: Ints,
    row: Ints,
    value: Floats,
    n_gaps: Ints,
    unstored: bool,
    n_rows: int,
    max_bins: int | None,
) -> SortedColumns:
    """Cut sorted entries (column, row, value) into groups of equal values."""
    n_columns = len(features)
    n_stored = np.bincount(column, minlength=n_columns)
    starts = np.concatenate([[0], np.cumsum(n_stored)])
    has_value = ~np.isnan(value)
    is_first = np.ones(len(value), dtype=bool)
    is_first[1:] = (value[1:] != value[:-1]) | (column[1:] != column[:-1])
    heads = np.flatnonzero(is_first & has_value)
    group_column, group_value = column[heads], value[heads] + ZERO
    sizes = np.diff(np.append(np.flatnonzero(is_first), len(value)))
    group_size = sizes[has_value[is_first]]
    zero = np.full(n_columns, -1)
    extra = np.zeros(len(heads), dtype=np.int64)
    if unstored:
        n_unstored = n_rows - n_stored
        lacking = np.setdiff1d(np.flatnonzero(n_unstored), group_column[group_value == 0.0])
        group_column = np.concatenate([group_column, lacking])
        group_value = np.concatenate([group_value, np.zeros(len(lacking))])
        group_size = np.concatenate([group_size, np.zeros(len(lacking), np.int64)])
        order = np.lexsort((-group_value, group_column))
        group_column, group_value = group_column[order], group_value[order]
        group_size = group_size[order]
        is_zero = (group_value == 0.0) & (n_unstored[group_column] > 0)
        extra = np.where(is_zero, n_unstored[group_column], 0)
    if max_bins is not None:
        kept = _coarse(group_column, group_size + extra, n_columns, max_bins)
        joined = np.cumsum(kept) - 1
        group_size = np.bincount(joined, group_size).astype(np.int64)
        extra = np.bincount(joined, extra).astype(np.int64)
        group_column, group_value = group_column[kept], group_value[kept]
    groups = np.concatenate([[0], np.cumsum(np.bincount(group_column, minlength=n_columns))])
    with_zero = np.flatnonzero(extra)
    own_column = group_column[with_zero]
    zero[own_column] = with_zero - groups[own_column]
    before = np.cumsum(group_size) - group_size
    ends = before + group_size - before[groups[:-1][group_column]] + starts[group_column]
    is_last = np.zeros(len(row), dtype=np.uint8)
    is_last[ends[group_size > 0] - 1] = 1
    return SortedColumns(
        features,
        starts,
        row,
        is_last,
        groups,
        ends.astype(_small(len(row))),
        group_value,
        zero,
        (n_gaps > 0).astype(np.int64),
    )


def _coarse(column: Ints, size: Ints, n_columns: int, most: int) -> Bools:
    """Return which groups begin one of at most `most` larger groups of their column.

    As `cut_points` does it.
    """
    kept = np.ones(len(column), dtype=bool)
    bounds = np.concatenate([[0], np.cumsum(np.bincount(column, minlength=n_columns))])
    for c in np.flatnonzero(np.diff(bounds) > most).tolist():
        own = slice(bounds[c], bounds[c + 1])
        # Positions count from the smallest value on, as there.
        last = np.cumsum(size[own][::-1])
        cuts = (np.arange(1, most + 1) * last[-1] - 1) // most
        tops = len(last) - 1 - np.searchsorted(last, cuts, side="right")
        kept[own] = False
        kept[bounds[c] + tops] = True
    return kept
