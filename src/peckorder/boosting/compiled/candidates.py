"""The sum of the alphas of each threshold so far: a linked list per feature, by cuts.

If sums must stay positive, the r of a candidate has to be above its floor, or the
weights of pairs ranked right and wrong in a ratio above its ratio: else its alpha would
make the sum negative.
"""

from math import exp
from typing import NamedTuple

from peckorder._core.compiled.jit import compiled
from peckorder._core.typing import Floats, Ints
from peckorder.boosting.compiled.pairs import UNIT


class Settings(NamedTuple):
    """How thresholds are chosen and weighted.

    `default` is 0, 1 or LEARNT, what a ranking gives to rows on which its feature
    abstains. If `cumulative`, the sum of the alphas of a threshold stays positive.
    """

    default: int
    cumulative: bool
    rate: float
    smoothing: float


class Candidates(NamedTuple):
    """The thresholds that were added.

    Those of a feature begin at heads[feature] and go on by `following`, -1 at the end;
    candidate p has cuts[p], defaults[p] and the sum of its alphas, sums[p].
    """

    heads: Ints
    cuts: Ints
    defaults: Ints
    following: Ints
    sums: Floats
    floors: Ints
    ratios: Floats


@compiled
def find_candidate(feature: int, cut: int, q: int, candidates: Candidates) -> int:
    """Return the number of a candidate, -1 if there is none."""
    p = candidates.heads[feature]
    while p >= 0 and (candidates.cuts[p] != cut or candidates.defaults[p] != q):
        p = candidates.following[p]
    return int(p)


@compiled
def set_floor(p: int, settings: Settings, candidates: Candidates) -> None:
    """Write how far a candidate may fall.

    ``alpha = rate log((1 + r + e) / (1 - r + e)) / 2`` is minus its sum at the floor.
    """
    ratio = exp(max(-2.0 * candidates.sums[p] / settings.rate, -700.0))
    floor = (1.0 + settings.smoothing) * (ratio - 1.0) / (ratio + 1.0)
    candidates.floors[p] = int(max(floor, -1.5) * UNIT)
    candidates.ratios[p] = ratio


@compiled
def add_to_candidate(
    feature: int,
    cut: int,
    q: int,
    alpha: float,
    size: int,
    settings: Settings,
    candidates: Candidates,
) -> int:
    """Add alpha to a candidate, which becomes number `size` if it is new.

    Returns the number of candidates there are now.
    """
    heads, cuts, following = candidates.heads, candidates.cuts, candidates.following
    p = find_candidate(feature, cut, q, candidates)
    if p < 0:
        p = size
        before, after = -1, heads[feature]
        while after >= 0 and cuts[after] < cut:
            before, after = after, following[after]
        cuts[p] = cut
        candidates.defaults[p] = q
        candidates.sums[p] = 0.0
        following[p] = after
        if before < 0:
            heads[feature] = p
        else:
            following[before] = p
    candidates.sums[p] += alpha
    set_floor(p, settings, candidates)
    return max(size, p + 1)
