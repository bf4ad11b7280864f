"""Potentials summed by bins in several places, and searched in one."""

from peckorder._core.compiled.jit import compiled
from peckorder._core.typing import Floats, Ints
from peckorder.boosting.compiled import search_by_r as search


@compiled
def count(
    first: int,
    last: int,
    features: Ints,
    bins: Ints,
    potentials: Ints,
    columns: Ints,
    room: Ints,
    sums: Ints,
) -> None:
    """Write to sums (k, b) the potentials of the bins of features first..last.

    bins (all features, n) are below b, or 255 where a feature abstains. columns (4,)
    and room (4, 256) are for work. O(n) time a feature.
    """
    most = sums.shape[1]
    k = first
    while k < last:
        n_left = last - k
        if n_left < search.TOGETHER:
            search.count_one(bins[features[k]], potentials, room)
            n_done = 1
        else:
            n_done = search.TOGETHER
            for c in range(n_done):
                columns[c] = features[k + c]
            search.count(bins, columns, potentials, room)
        for c in range(n_done):
            for b in range(most):
                sums[k + c, b] = room[c, b]
        k += n_done


@compiled
def find(
    features: Ints,
    sums: Ints,
    n_bins: Ints,
    abstains: Ints,
    default: int,
    cumulative: bool,
    heads: Ints,
    cuts: Ints,
    defaults: Ints,
    following: Ints,
    floors: Ints,
    travelled: float,
    ceilings: Floats,
    found: Ints,
) -> None:
    """Search features whose bins have the potentials `sums`; write to found (5,).

    n_bins and abstains (all features,) are as in `thresholds.search_binned`, so is the
    rest. O(bins) time.
    """
    for k in range(features.shape[0]):
        feature = features[k]
        limit = search.search_sums(
            sums[k], n_bins[feature], abstains[feature] != 0, default, feature,
            cumulative, heads, cuts, defaults, following, floors, found,
        )  # fmt: skip
        ceilings[feature] = search.height(limit, travelled)
