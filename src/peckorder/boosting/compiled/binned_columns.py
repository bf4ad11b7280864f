"""Columns cut into bins of values, the largest first, and their histograms."""

from typing import Any, NamedTuple

import numpy as np

from peckorder._core.compiled.bins import ABSTAINS, N_BINS
from peckorder._core.compiled.jit import compiled, inlined
from peckorder._core.typing import Floats, Ints

# Columns that are summed together: as many as have their addresses in registers.
TOGETHER = 4


class BinnedColumns(NamedTuple):
    """Columns of bins, one byte per entry.

    Column c, of feature features[c], is ``bins[features[c]]``; it has n_bins[c] groups,
    whose values are ``values[groups[c] : groups[c + 1]]``.
    """

    features: Ints
    bins: Ints
    n_bins: Ints
    abstains: Ints
    groups: Ints
    values: Floats


@inlined
def order_binned_rows(
    bins: Ints, n_groups: int, abstainers_first: bool, counts: Ints, queue: Ints, stops: Ints
) -> None:
    """Write to queue (n,) the rows in the order in which they pass the threshold.

    Those on which the column abstains are first, or behind all others. stops
    (groups + 1,) tell how many have passed at each cut. counts (256,) is workspace.
    """
    for b in range(N_BINS):
        counts[b] = 0
    for i in range(np.uintp(bins.shape[0])):
        counts[bins[i]] += np.uintp(1)
    size = counts[ABSTAINS] if abstainers_first else np.uintp(0)
    for g in range(n_groups):
        stops[g] = size
        size += counts[g]
        counts[g] = stops[g]
    stops[n_groups] = size
    counts[ABSTAINS] = np.uintp(0) if abstainers_first else size
    for i in range(np.uintp(bins.shape[0])):
        queue[counts[bins[i]]] = i
        counts[bins[i]] += np.uintp(1)


@compiled
def sum_four_columns(bins: Ints, features: Ints, potentials: Ints, sums: Ints) -> None:
    """Write to sums (4, 256) the potentials of the bins of four columns.

    Four at a time: a potential is read once, and additions to different histograms
    need not wait for each other.
    """
    for c in range(TOGETHER):
        for b in range(N_BINS):
            sums[c, b] = 0
    bins_0, bins_1 = bins[features[0]], bins[features[1]]
    bins_2, bins_3 = bins[features[2]], bins[features[3]]
    sums_0, sums_1, sums_2, sums_3 = sums[0], sums[1], sums[2], sums[3]
    for i in range(np.uintp(potentials.shape[0])):
        potential = potentials[i]
        sums_0[bins_0[i]] += potential
        sums_1[bins_1[i]] += potential
        sums_2[bins_2[i]] += potential
        sums_3[bins_3[i]] += potential


@compiled
def sum_column(bins: Ints, potentials: Ints, sums: Ints) -> None:
    """Write to sums[0] the potentials of the bins (n,) of one column.

    A quarter of the rows goes to each of sums (4, 256), which then are added up.
    """
    for k in range(TOGETHER):
        for b in range(N_BINS):
            sums[k, b] = 0
    n_rows = np.uintp(potentials.shape[0])
    quarter = n_rows // np.uintp(4)
    second, third = quarter, quarter + quarter
    fourth = third + quarter
    sums_0, sums_1, sums_2, sums_3 = sums[0], sums[1], sums[2], sums[3]
    for i in range(quarter):
        sums_0[bins[i]] += potentials[i]
        sums_1[bins[second + i]] += potentials[second + i]
        sums_2[bins[third + i]] += potentials[third + i]
        sums_3[bins[fourth + i]] += potentials[fourth + i]
    for i in range(fourth + quarter, n_rows):
        sums_0[bins[i]] += potentials[i]
    for b in range(N_BINS):
        sums_0[b] += sums_1[b] + sums_2[b] + sums_3[b]


@compiled
def sum_columns(
    first: int, last: int, features: Ints, bins: Ints, potentials: Ints, workspace: Ints, sums: Ints
) -> None:
    """Write to sums (k, b) the potentials of the bins of features first..last.

    bins (all features, n) are below b, or 255 where a feature abstains. workspace is
    (5, 256). O(n) time per feature.
    """
    together, histograms = workspace[TOGETHER], workspace[:TOGETHER]
    k = first
    while k < last:
        if last - k < TOGETHER:
            sum_column(bins[features[k]], potentials, histograms)
            n_done = 1
        else:
            n_done = TOGETHER
            for c in range(n_done):
                together[c] = features[k + c]
            sum_four_columns(bins, together, potentials, histograms)
        for c in range(n_done):
            for b in range(sums.shape[1]):
                sums[k + c, b] = histograms[c, b]
        k += n_done


@compiled
def rank_binned(bins: Ints, cut: int, default: float, ranking: Floats) -> None:
    """Write to ranking (n,) a column of bins (n,), cut."""
    for i in range(ranking.shape[0]):
        value = 1.0 if bins[i] < cut else 0.0
        ranking[i] = default if bins[i] == ABSTAINS else value


@compiled
def add_binned(alpha: float, bins: Ints, cut: int, default: float, scores: Floats) -> float:
    """Add alpha times a column of bins (n,), cut; return the largest absolute score."""
    largest: Any = 0
    for i in range(np.uintp(scores.shape[0])):
        value = 1.0 if bins[i] < cut else 0.0
        value = default if bins[i] == ABSTAINS else value
        score = scores[i] + alpha * value
        scores[i] = score
        # By bits, of which processors compare several at a time.
        largest = max(largest, np.float64(abs(score)).view(np.int64))
    return np.int64(largest).view(np.float64)
