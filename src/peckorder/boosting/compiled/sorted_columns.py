"""Columns of rows in the order of their values, the largest first."""

from typing import NamedTuple

from peckorder._core.compiled.jit import compiled, inlined
from peckorder._core.typing import Floats, Ints
from peckorder.boosting.compiled.pairs import UNIT


class SortedColumns(NamedTuple):
    """Columns of rows, sorted by their values and cut into groups of equal ones.

    Column c has the entries ``starts[c] : starts[c + 1]`` of rows; its groups
    ``groups[c] : groups[c + 1]`` end at group_ends, where is_last is 1, and have the
    values `values`. Entries behind the last group abstain. Group zero[c], if it is not
    -1, holds the rows that are not stored as well; else these abstain.
    """

    features: Ints
    starts: Ints
    rows: Ints
    is_last: Ints
    groups: Ints
    group_ends: Ints
    values: Floats
    zero: Ints
    abstains: Ints


@inlined
def sum_groups(columns: SortedColumns, c: int, potentials: Ints, sums: Ints) -> None:
    """Write to `sums` the potentials of the groups of a column."""
    rows, groups, group_ends = columns.rows, columns.groups, columns.group_ends
    k, last, zero, stored = columns.starts[c], columns.starts[c + 1], columns.zero[c], 0
    first_group = groups[c]
    for g in range(groups[c + 1] - first_group):
        end, group = group_ends[first_group + g], 0
        while k < end:
            group += potentials[rows[k]]
            k += 1
        sums[g] = group
        stored += group
    if zero >= 0:
        while k < last:
            stored += potentials[rows[k]]
            k += 1
        # Potentials add up to zero.
        sums[zero] -= stored


@inlined
def order_sorted_rows(
    columns: SortedColumns,
    c: int,
    abstainers_first: bool,
    is_stored: Ints,
    queue: Ints,
    stops: Ints,
) -> None:
    """Write the rows of a column as `order_binned_rows` does.

    is_stored (n,) is workspace.
    """
    start, zero = columns.starts[c], columns.zero[c]
    rows = columns.rows[start : columns.starts[c + 1]]
    group_ends = columns.group_ends[columns.groups[c] : columns.groups[c + 1]]
    n_groups = group_ends.shape[0]
    valid = group_ends[n_groups - 1] - start if n_groups > 0 else 0
    for i in range(is_stored.shape[0]):
        is_stored[i] = 0
    for k in range(rows.shape[0]):
        # Entries behind the last group abstain.
        is_stored[rows[k]] = 1 if k < valid else 2
    size = 0
    if abstainers_first:
        for i in range(is_stored.shape[0]):
            if is_stored[i] == 2 or (is_stored[i] == 0 and zero < 0):
                queue[size] = i
                size += 1
    k = 0
    for g in range(n_groups):
        stops[g] = size
        while k < group_ends[g] - start:
            queue[size] = rows[k]
            size += 1
            k += 1
        if g == zero:
            for i in range(is_stored.shape[0]):
                if is_stored[i] == 0:
                    queue[size] = i
                    size += 1
    stops[n_groups] = size


@compiled
def sum_values(columns: SortedColumns, potentials: Ints, weighted: Floats, ranked: Floats) -> None:
    """Write what potentials give with the values of columns, and without them.

    To weighted (c,) the sums of ``f(x) pi(x)`` over the rows that have a value, to
    ranked (c,) those of ``pi(x)``. Sums go group by group, so that it does not matter
    how a column is stored.
    """
    starts, rows, zero = columns.starts, columns.rows, columns.zero
    groups, group_ends, values = columns.groups, columns.group_ends, columns.values
    for c in range(weighted.shape[0]):
        k, stored, all_ranked = starts[c], 0, 0
        result = 0.0
        hidden = 0
        if zero[c] >= 0:
            for entry in range(starts[c], starts[c + 1]):
                stored += potentials[rows[entry]]
            hidden = -stored  # all add up to zero
        for g in range(groups[c], groups[c + 1]):
            group = hidden if g - groups[c] == zero[c] else 0
            while k < group_ends[g]:
                group += potentials[rows[k]]
                k += 1
            all_ranked += group
            result += values[g] * (group / UNIT)
        weighted[c] = result
        ranked[c] = all_ranked / UNIT


@compiled
def rank_by_cut(columns: SortedColumns, c: int, cut: int, default: float, ranking: Floats) -> None:
    """Write to ranking (n,) 1 above a cut of a column, 0 below, the default elsewhere.

    Rows on which the column abstains get the default.
    """
    rows, group_ends = columns.rows, columns.group_ends
    start, first, last = columns.starts[c], columns.groups[c], columns.groups[c + 1]
    unstored = default
    if columns.zero[c] >= 0:
        unstored = 1.0 if columns.zero[c] < cut else 0.0
    for i in range(ranking.shape[0]):
        ranking[i] = unstored
    above = group_ends[first + cut - 1] if cut > 0 else start
    ranked = group_ends[last - 1] if last > first else start
    for k in range(start, columns.starts[c + 1]):
        value = 1.0 if k < above else 0.0
        ranking[rows[k]] = value if k < ranked else default


@compiled
def rank_by_values(columns: SortedColumns, c: int, default: float, ranking: Floats) -> None:
    """Write to ranking (n,) the values of a column, the default where it abstains."""
    unstored = 0.0 if columns.zero[c] >= 0 else default
    for i in range(ranking.shape[0]):
        ranking[i] = unstored
    k = columns.starts[c]
    for g in range(columns.groups[c], columns.groups[c + 1]):
        while k < columns.group_ends[g]:
            ranking[columns.rows[k]] = columns.values[g]
            k += 1
    while k < columns.starts[c + 1]:
        ranking[columns.rows[k]] = default
        k += 1
