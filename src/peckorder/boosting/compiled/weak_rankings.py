"""What a weak ranking says of rows, and what features say without a threshold.

Columns are as in `thresholds`.
"""

from peckorder._core.compiled.jit import compiled
from peckorder._core.typing import Floats, Ints
from peckorder.boosting.compiled.search_by_r import ABSTAINS


@compiled
def rank_sorted(
    start: int,
    stop: int,
    rows: Ints,
    group_ends: Ints,
    cut: int,
    unstored: float,
    default: float,
    ranking: Floats,
) -> None:
    """Write to ranking (n,) a column, cut: 1 above, 0 below, `default` if it abstains.

    group_ends are those of the column's own groups; rows that are not stored get
    `unstored`.
    """
    for i in range(ranking.shape[0]):
        ranking[i] = unstored
    n_groups = group_ends.shape[0]
    above = group_ends[cut - 1] if cut > 0 else start
    ranked = group_ends[n_groups - 1] if n_groups > 0 else start
    for k in range(start, stop):
        value = 1.0 if k < above else 0.0
        ranking[rows[k]] = value if k < ranked else default


@compiled
def rank_binned(bins: Ints, cut: int, default: float, ranking: Floats) -> None:
    """Write to ranking (n,) a column of bins (n,), cut."""
    for i in range(ranking.shape[0]):
        value = 1.0 if bins[i] < cut else 0.0
        ranking[i] = default if bins[i] == ABSTAINS else value


@compiled
def value_sums(
    starts: Ints,
    rows: Ints,
    groups: Ints,
    group_ends: Ints,
    values: Floats,
    zero: Ints,
    potentials: Ints,
    unit: float,
    weighted: Floats,
    ranked: Floats,
) -> None:
    """Write what potentials give with the values of columns, and without them.

    To weighted (c,) the sums of ``f(x) pi(x)`` over the rows that have a value, to
    ranked (c,) those of ``pi(x)``. Columns are as in `search_sorted`. Sums go group by
    group, so that it does not matter how a column is stored.
    """
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
            result += values[g] * (group / unit)
        weighted[c] = result
        ranked[c] = all_ranked / unit


@compiled
def rank_values(
    start: int,
    stop: int,
    rows: Ints,
    group_ends: Ints,
    values: Floats,
    unstored: float,
    default: float,
    ranking: Floats,
) -> None:
    """Write to ranking (n,) the values of a column, `default` where it abstains."""
    for i in range(ranking.shape[0]):
        ranking[i] = unstored
    k = start
    for g in range(group_ends.shape[0]):
        while k < group_ends[g]:
            ranking[rows[k]] = values[g]
            k += 1
    while k < stop:
        ranking[rows[k]] = default
        k += 1
