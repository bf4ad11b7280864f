"""Columns cut into bins: one byte per entry, the largest values first."""

import numpy as np

from peckorder._core.compiled.jit import compiled, inlined, prefetch
from peckorder._core.typing import Floats, Ints

# The bin of rows on which a column abstains.
ABSTAINS = 255
N_BINS = 256
# Rows between a hint to the processor and its use.
_AHEAD = np.uintp(16)
# Up to so many steps a table is faster than a binary search.
_MOST_STEPS = 4
# Between these, widths can be divided by.
_NARROWEST, _WIDEST = 1e-290, 1e290


@compiled
def copy_columns(X: Floats, rows: Ints, first: int, columns: Floats) -> None:
    """Write to columns (c, n) the given rows of the columns of X from `first` on."""
    n_columns, width = np.uintp(columns.shape[0]), np.uintp(X.shape[1])
    n_rows, start = np.uintp(rows.shape[0]), np.uintp(first)
    for i in range(n_rows):
        # Rows are far apart in memory: they are requested long before they are needed.
        later = np.uintp(rows[min(i + _AHEAD, n_rows - np.uintp(1))])
        entry = later * width + start
        prefetch(X, entry)
        prefetch(X, entry + n_columns - np.uintp(1))
        row = np.uintp(rows[i])
        for c in range(n_columns):
            columns[c, i] = X[row, start + c]


@compiled
def cut_points(ordered: Floats, n_values: int, max_bins: int, tops: Floats) -> int:
    """Write to `tops` the largest value of each group, the largest first.

    ordered (n,) ascends, NaN behind the n_values values. Every distinct value is a
    group if there are no more than `max_bins`; else the groups are as equal as their
    values permit, at most as many. Returns the number of groups, or -1 if there are
    more distinct values than tops has elements and there is no limit (max_bins=0).
    """
    capacity = tops.shape[0] if max_bins == 0 else max_bins
    n_groups = 0
    for i in range(n_values - 1, -1, -1):
        if i == n_values - 1 or ordered[i] != ordered[i + 1]:
            if n_groups == capacity:
                n_groups = -1
                break
            tops[n_groups] = ordered[i]
            n_groups += 1
    if n_groups >= 0 or max_bins == 0:
        return n_groups
    n_groups = 0
    for k in range(max_bins, 0, -1):
        top = ordered[(k * n_values - 1) // max_bins]
        if n_groups == 0 or top != tops[n_groups - 1]:
            tops[n_groups] = top
            n_groups += 1
    for g in range(n_groups, tops.shape[0]):
        tops[g] = -np.inf  # what the first attempt left
    return n_groups


@inlined
def search_tops(value: float, tops: Floats) -> int:
    """Return the group of a value by a binary search without branches."""
    g = 128 * (tops[128] >= value)
    g += 64 * (tops[g + 64] >= value)
    g += 32 * (tops[g + 32] >= value)
    g += 16 * (tops[g + 16] >= value)
    g += 8 * (tops[g + 8] >= value)
    g += 4 * (tops[g + 4] >= value)
    g += 2 * (tops[g + 2] >= value)
    return int(g + (tops[g + 1] >= value))


@inlined
def fill_cells(tops: Floats, n_groups: int, low: float, scale: float, cells: Ints) -> int:
    """Write to cells the first group that a value in each cell may belong to.

    A value v is in the cell ``(v - low) * scale``. Returns the largest number of tops
    in one cell, which is how many groups further on it may be.
    """
    n_cells, g, most = cells.shape[0], 0, 0
    for c in range(n_cells - 1, -1, -1):
        # Tops in higher cells are above all values in this one.
        while g + 1 < n_groups and (tops[g + 1] - low) * scale >= c + 1:
            g += 1
        cells[c] = g
        n_within, h = 0, g + 1
        while h < n_groups and (tops[h] - low) * scale >= c:
            n_within, h = n_within + 1, h + 1
        most = max(most, n_within)
    return most


@compiled
def fill_bins(
    column: Floats, tops: Floats, n_groups: int, low: float, cells: Ints, bins: Ints
) -> None:
    """Write to bins (n,) the group of each value of a column, ABSTAINS for NaN.

    tops (256,) descend, -inf behind the last group. A value belongs to the last group
    whose top is not below it; the first top is the largest value, low the smallest.
    The range between them is cut into cells of equal width, a table of where to look;
    values that lie too close together for that are found by a binary search. cells (c,)
    is workspace.
    """
    n_rows = np.uintp(column.shape[0])
    half = 0.5 * tops[0] - 0.5 * low
    scale, most = 0.0, _MOST_STEPS + 1
    if _NARROWEST < half < _WIDEST:
        scale = 0.5 * (cells.shape[0] - 1) / half
        most = fill_cells(tops, n_groups, low, scale, cells)
    if most > _MOST_STEPS:
        for i in range(n_rows):
            value = column[i]
            bins[i] = ABSTAINS if np.isnan(value) else search_tops(value, tops)
        return
    for i in range(n_rows):
        value = column[i]
        is_value = not np.isnan(value)
        distance = (value if is_value else low) - low
        g = np.uintp(cells[np.uintp(np.int64(distance * scale))])
        for _ in range(most):
            g += np.uintp(tops[g + np.uintp(1)] >= value)
        bins[i] = g if is_value else np.uintp(ABSTAINS)
