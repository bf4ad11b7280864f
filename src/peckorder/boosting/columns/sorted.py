"""Features as columns that are cut into groups, the largest values first.

A dense column with at most 255 groups is kept as bins, one byte an entry; any other as
its rows in the order of their values, up to 17 bytes a stored entry
(21 from 2**31 entries on).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from peckorder._core.threads import Team
from peckorder._core.typing import Floats, Ints
from peckorder.boosting.columns.binned import BinnedColumns, Cuts, cells, no_bins
from peckorder.boosting.compiled import binning

# Columns shorter than this are sorted: a histogram would be as long as they are.
_SHORT = 1024
# Columns that are taken out of a matrix at a time: a line of each row.
_AT_ONCE = 8
# Makes a zero of minus zero, and is nothing else.
_ZERO = 0.0
# Entries that are sorted at a time.
_CHUNK = 1 << 18


@dataclass(frozen=True)
class SortedColumns:
    """Columns as `kernels.thresholds.search_sorted` wants them."""

    features: Ints
    starts: Ints
    rows: Ints
    is_last: Ints
    groups: Ints
    group_ends: Ints
    values: Floats
    zero: Ints
    abstains: Ints


def cut_columns(
    X: Any,
    rows: Ints,
    *,
    unstored: bool,
    max_bins: int | None,
    team: Team,
    sort: bool = False,
) -> tuple[BinnedColumns, SortedColumns]:
    """Cut the columns of X into groups, looking at some rows only.

    Row i of the columns is ``rows[i]``. X is dense, NaN where a feature abstains, or in
    CSR form; what that does not store is zero if `unstored`, else abstains too. With
    `sort` no column is binned.
    """
    if sparse.issparse(X):
        stored = X[rows].tocsc()
        stored.sort_indices()
        return no_bins(len(rows)), _sort_sparse(stored, unstored, max_bins)
    if sort or len(rows) < _SHORT:
        columns = np.arange(X.shape[1])
        return no_bins(len(rows)), _sort_dense(X, rows, columns, max_bins)
    binned, others = _bin(X, rows, max_bins, team)
    return binned, _sort_dense(X, rows, others, max_bins)


def _bin(
    X: Any, rows: Ints, max_bins: int | None, team: Team
) -> tuple[BinnedColumns, Ints]:
    """Bin dense columns; return those that have too many values, too."""
    n_rows, n_columns = len(rows), X.shape[1]
    # What is never written takes no memory.
    bins = np.empty((n_columns, n_rows), dtype=np.uint8)
    cuts = Cuts(n_columns)

    def work(some: slice, give_up: Callable[[], bool]) -> None:
        # The same memory for all columns: new pages would cost as much as the sort.
        room, room_for_cells = np.empty((_AT_ONCE + 1, n_rows)), cells()
        ordered = room[0]
        for first in range(some.start, some.stop, _AT_ONCE):
            if give_up():
                return
            columns = room[1 : 1 + min(_AT_ONCE, some.stop - first)]
            binning.take_columns(X, rows, first, columns)
            for c, column in enumerate(columns, first):
                ordered[:] = column
                ordered.sort()
                cuts.find(c, ordered, max_bins)
                if cuts.n_bins[c] >= 0:
                    cuts.fill(c, column, bins[c], room_for_cells)

    team.share(n_columns, work)
    return cuts.columns(bins, n_rows), np.flatnonzero(cuts.n_bins < 0)


def no_sorted() -> SortedColumns:
    """Return no columns at all."""
    return _Joined(0).columns(np.empty(0, dtype=np.int64))


def _sort_dense(
    X: Any, rows: Ints, columns: Ints, max_bins: int | None
) -> SortedColumns:
    """Sort dense columns by their values, some at a time."""
    step = max(1, _CHUNK // max(len(rows), 1))
    joined = _Joined(len(rows) * len(columns))
    for first in range(0, len(columns), step):
        joined.add(_sort_some(X, rows, columns[first : first + step], max_bins))
    return joined.columns(columns)


def _sort_some(
    X: Any, rows: Ints, columns: Ints, max_bins: int | None
) -> SortedColumns:
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
    """Sorted columns put behind each other, in memory that is asked for once.

    What is never written of it takes none.
    """

    def __init__(self, n_entries: int) -> None:
        self._rows = np.empty(n_entries, dtype=np.int32)
        self._is_last = np.empty(n_entries, dtype=np.uint8)
        self._group_ends: Ints = np.empty(n_entries, dtype=_small(n_entries))
        self._values = np.empty(n_entries)
        self._n_entries, self._n_groups = 0, 0
        self._of_columns: list[tuple[Ints, Ints, Ints, Ints]] = []

    def add(self, some: SortedColumns) -> None:
        """Put columns behind those that are there."""
        start, stop = self._n_entries, self._n_entries + len(some.rows)
        first, last = self._n_groups, self._n_groups + len(some.values)
        self._rows[start:stop], self._is_last[start:stop] = some.rows, some.is_last
        np.add(some.group_ends, start, out=self._group_ends[first:last])
        self._values[first:last] = some.values
        self._of_columns.append(
            (some.starts[1:] + start, some.groups[1:] + first, some.zero, some.abstains)
        )
        self._n_entries, self._n_groups = stop, last

    def columns(self, features: Ints) -> SortedColumns:
        """Return all of them."""
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
    """Return the smaller of two types that have room for a number."""
    return np.int32 if largest < 1 << 31 else np.int64


def _sort_sparse(X: Any, unstored: bool, max_bins: int | None) -> SortedColumns:
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
    group_column, group_value = column[heads], value[heads] + _ZERO
    sizes = np.diff(np.append(np.flatnonzero(is_first), len(value)))
    group_size = sizes[has_value[is_first]]
    zero = np.full(n_columns, -1)
    extra = np.zeros(len(heads), dtype=np.int64)
    if unstored:
        n_unstored = n_rows - n_stored
        wanting = np.setdiff1d(
            np.flatnonzero(n_unstored), group_column[group_value == 0.0]
        )
        group_column = np.concatenate([group_column, wanting])
        group_value = np.concatenate([group_value, np.zeros(len(wanting))])
        group_size = np.concatenate([group_size, np.zeros(len(wanting), np.int64)])
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
    groups = np.concatenate(
        [[0], np.cumsum(np.bincount(group_column, minlength=n_columns))]
    )
    holds = np.flatnonzero(extra)
    zero[group_column[holds]] = holds - groups[group_column[holds]]
    before = np.cumsum(group_size) - group_size
    ends = (
        before + group_size - before[groups[:-1][group_column]] + starts[group_column]
    )
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


def _coarse(column: Ints, size: Ints, n_columns: int, most: int) -> Any:
    """Tell which groups begin one of at most `most` larger groups of their column.

    As `kernels.binning.cut_points` does it.
    """
    kept = np.ones(len(column), dtype=bool)
    bounds = np.concatenate([[0], np.cumsum(np.bincount(column, minlength=n_columns))])
    for c in np.flatnonzero(np.diff(bounds) > most).tolist():
        some = slice(bounds[c], bounds[c + 1])
        # Places count from the smallest value on, as there.
        last = np.cumsum(size[some][::-1])
        cuts = (np.arange(1, most + 1) * last[-1] - 1) // most
        tops = len(last) - 1 - np.searchsorted(last, cuts, side="right")
        kept[some] = False
        kept[bounds[c] + tops] = True
    return kept
