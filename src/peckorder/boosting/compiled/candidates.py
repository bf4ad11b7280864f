"""What has been added to each threshold so far: a list a feature, by cuts.

The candidates of a feature begin at heads[feature] and go on by `following`, -1 at the
end; candidate p has cuts[p], defaults[p] and the sum of its alphas, sums[p]. If sums
must stay positive, its r has to be above floors[p], or the weights of pairs put right
and wrong in a ratio above ratios[p]: else its alpha would take away all it has.
"""

from math import exp

from peckorder._core.compiled.jit import compiled
from peckorder._core.typing import Floats, Ints


@compiled
def find(
    feature: int,
    cut: int,
    q: int,
    heads: Ints,
    cuts: Ints,
    defaults: Ints,
    following: Ints,
) -> int:
    """Return the number of a candidate, -1 if it is in no list."""
    place = heads[feature]
    while place >= 0 and (cuts[place] != cut or defaults[place] != q):
        place = following[place]
    return int(place)


@compiled
def set_floor(
    place: int,
    rate: float,
    smoothing: float,
    unit: float,
    sums: Floats,
    floors: Ints,
    ratios: Floats,
) -> None:
    """Write how far a candidate may fall.

    ``alpha = rate log((1 + r + e) / (1 - r + e)) / 2`` is minus its sum at the floor.
    """
    ratio = exp(max(-2.0 * sums[place] / rate, -700.0))
    floor = (1.0 + smoothing) * (ratio - 1.0) / (ratio + 1.0)
    floors[place] = int(max(floor, -1.5) * unit)
    ratios[place] = ratio


@compiled
def enter(
    feature: int,
    cut: int,
    q: int,
    alpha: float,
    size: int,
    rate: float,
    smoothing: float,
    unit: float,
    heads: Ints,
    cuts: Ints,
    defaults: Ints,
    following: Ints,
    sums: Floats,
    floors: Ints,
    ratios: Floats,
) -> int:
    """Add alpha to a candidate, which becomes number `size` if it is new.

    Returns the number of candidates there are now.
    """
    place = find(feature, cut, q, heads, cuts, defaults, following)
    if place < 0:
        place = size
        before, here = -1, heads[feature]
        while here >= 0 and cuts[here] < cut:
            before, here = here, following[here]
        cuts[place] = cut
        defaults[place] = q
        sums[place] = 0.0
        following[place] = here
        if before < 0:
            heads[feature] = place
        else:
            following[before] = place
    sums[place] += alpha
    set_floor(place, rate, smoothing, unit, sums, floors, ratios)
    return max(size, place + 1)
