"""Columns of a matrix cut into groups of values, the largest first."""

import numpy as np

from peckorder._typing import Floats, Ints
from peckorder.kernels._jit import kernel, prefetch

# Rows between a hint to the processor and its use.
_AHEAD = 16


@kernel
def take_columns(X: Floats, rows: Ints, first: int, columns: Floats) -> None:
    """Write to columns (c, n) some rows of the columns of X from `first` on."""
    n_columns, width = columns.shape[0], X.shape[1]
    for i in range(rows.shape[0]):
        # Rows are far apart in memory: they are asked for long before they are needed.
        place = rows[min(i + _AHEAD, rows.shape[0] - 1)] * width + first
        prefetch(X, place)
        prefetch(X, place + n_columns - 1)
        for c in range(n_columns):
            columns[c, i] = X[rows[i], first + c]


@kernel
def cut_points(ordered: Floats, n_values: int, most: int, tops: Floats) -> int:
    """Write to `tops` the largest value of each group, the largest first.

    ordered (n,) ascends, NaN behind the n_values values. Every distinct value is a
    group if there are no more than `most`; else the groups are as equal as their
    values permit, at most as many. Returns the number of groups, or -1 if there are
    more distinct values than tops has room for and `most` is no limit (0).
    """
    room = tops.shape[0] if most == 0 else most
    n_groups = 0
    for i in range(n_values - 1, -1, -1):
        if i == n_values - 1 or ordered[i] != ordered[i + 1]:
            if n_groups == room:
                n_groups = -1
                break
            tops[n_groups] = ordered[i]
            n_groups += 1
    if n_groups >= 0 or most == 0:
        return n_groups
    n_groups = 0
    for k in range(most, 0, -1):
        top = ordered[(k * n_values - 1) // most]
        if n_groups == 0 or top != tops[n_groups - 1]:
            tops[n_groups] = top
            n_groups += 1
    for g in range(n_groups, tops.shape[0]):
        tops[g] = -np.inf  # what the first attempt left
    return n_groups


@kernel
def fill_bins(column: Floats, tops: Floats, abstains: int, bins: Ints) -> None:
    """Write to bins (n,) the group of each value of a column; `abstains` for NaN.

    tops (256,) descend, -inf behind the last group. A value belongs to the last group
    whose top is not below it; the first top is the largest value.
    """
    for i in range(column.shape[0]):
        value = column[i]
        # Eight steps of a search by halves, without a branch: none could be predicted.
        g = 128 * (tops[128] >= value)
        g += 64 * (tops[g + 64] >= value)
        g += 32 * (tops[g + 32] >= value)
        g += 16 * (tops[g + 16] >= value)
        g += 8 * (tops[g + 8] >= value)
        g += 4 * (tops[g + 4] >= value)
        g += 2 * (tops[g + 2] >= value)
        g += tops[g + 1] >= value
        bins[i] = abstains if np.isnan(value) else g
