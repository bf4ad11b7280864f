"""The search for the threshold with the least Z, over sorted columns.

As a threshold falls, rows pass from below it to above it. With every row the weights of
the pairs that are put right and wrong change by sums over the other levels of its
query, and over the pairs in which it is listed; so all cuts of a column cost one scan.
``1 - Z = (sqrt(right) - sqrt(wrong))**2``.
"""

from math import exp, sqrt

import numpy as np

from peckorder._typing import Floats, Ints
from peckorder.kernels._jit import kernel, part

# What is smaller is what rounding left of zero; a square root would magnify it.
_NOTHING = 1e-14
# 1 - Z is compared in these units, so that rounding does not tell equal cuts apart.
_UNIT = 2.0**40
# What a search finds: 1 - Z in units, the feature, the cut, q, right, wrong.
GAIN, FEATURE, CUT, DEFAULT, RIGHT, WRONG = range(6)
FOUND = 6


@kernel
def masses(
    levels: Ints,
    starts: Ints,
    rows: Ints,
    log_weight: Floats,
    log_query: Floats,
    log_total: float,
    scores: Floats,
    up: Floats,
    down: Floats,
    ups: Floats,
    downs: Floats,
) -> float:
    """Write the weights of which that of a pair is the product, of rows and of levels.

    ``up[x1] down[x0]`` is D(x0, x1) but for the step between grades; ups and downs
    (levels,) are sums over levels. Half of the query's and of the total's logarithm
    goes into either, and scores are taken from the middle of their query. Returns the
    largest difference of scores in a query; up to 1300 no product is lost.
    """
    is_weighted = log_weight.shape[0] > 0
    widest = 0.0
    for q in range(levels.shape[0] - 1):
        first, last = starts[levels[q]], starts[levels[q + 1]]
        low, high = scores[rows[first]], scores[rows[first]]
        for i in range(first, last):
            low = min(low, scores[rows[i]])
            high = max(high, scores[rows[i]])
        widest = max(widest, high - low)
        middle, half = (low + high) / 2, (log_query[q] - log_total) / 2
        for level in range(levels[q], levels[q + 1]):
            ups[level] = 0.0
            downs[level] = 0.0
            for i in range(starts[level], starts[level + 1]):
                x = rows[i]
                extra = half + (log_weight[i] if is_weighted else 0.0)
                up[x] = exp(min(extra + middle - scores[x], 700.0))
                down[x] = exp(min(extra + scores[x] - middle, 700.0))
                ups[level] += up[x]
                downs[level] += down[x]
    return widest


@kernel
def pair_weights(
    better: Ints,
    worse: Ints,
    log_weight: Floats,
    scores: Floats,
    log_total: float,
    weight: Floats,
) -> None:
    """Write to weight (p,) the share of each listed pair in the total."""
    for p in range(better.shape[0]):
        gap = scores[worse[p]] - scores[better[p]]
        weight[p] = exp(log_weight[p] + gap - log_total)


@part
def raise_row(
    x: int,
    level_of: Ints,
    level_begin: Ints,
    level_end: Ints,
    utility: Floats,
    up: Floats,
    down: Floats,
    ups: Floats,
    downs: Floats,
    ups_on: Floats,
    downs_on: Floats,
    links: Ints,
    pairs: Ints,
    better: Ints,
    worse: Ints,
    weight: Floats,
    is_on: Ints,
) -> tuple[float, float]:
    """Put a row above the threshold; return by how much `right` and `wrong` change.

    Its pairs with rows below are now ranked, its pairs with rows above no longer.
    """
    right, wrong = 0.0, 0.0
    own = level_of[x]
    if own >= 0:
        is_unit = utility.shape[0] == 0
        x_up, x_down = up[x], down[x]
        off, on = 0.0, 0.0
        for level in range(level_begin[own], own):
            step = 1.0 if is_unit else utility[own] - utility[level]
            off += step * (downs[level] - downs_on[level])
            on += step * downs_on[level]
        right += x_up * off
        wrong -= x_up * on
        off, on = 0.0, 0.0
        for level in range(own + 1, level_end[own]):
            step = 1.0 if is_unit else utility[level] - utility[own]
            off += step * (ups[level] - ups_on[level])
            on += step * ups_on[level]
        wrong += x_down * off
        right -= x_down * on
        ups_on[own] += x_up
        downs_on[own] += x_down
    if pairs.shape[0] == 0:
        return right, wrong
    is_on[x] = 1
    for k in range(links[x], links[x + 1]):
        p = pairs[k]
        if better[p] == x:
            right += 0.0 if is_on[worse[p]] else weight[p]
            wrong -= weight[p] if is_on[worse[p]] else 0.0
        else:
            wrong += 0.0 if is_on[better[p]] else weight[p]
            right -= weight[p] if is_on[better[p]] else 0.0
    return right, wrong


@part
def line_up(
    c: int,
    starts: Ints,
    rows: Ints,
    groups: Ints,
    group_ends: Ints,
    zero: int,
    abstainers_first: bool,
    is_stored: Ints,
    queue: Ints,
    stops: Ints,
) -> None:
    """Write to queue (n,) the rows in the order in which they pass the threshold.

    Those on which the column abstains are first, or left out. stops (groups + 1,) tell
    how many have passed at each cut.
    """
    n_groups = groups[c + 1] - groups[c]
    valid = group_ends[groups[c + 1] - 1] if n_groups > 0 else starts[c]
    for i in range(is_stored.shape[0]):
        is_stored[i] = 0
    for k in range(starts[c], starts[c + 1]):
        # Entries behind the last group abstain.
        is_stored[rows[k]] = 1 if k < valid else 2
    size = 0
    if abstainers_first:
        for i in range(is_stored.shape[0]):
            if is_stored[i] == 2 or (is_stored[i] == 0 and zero < 0):
                queue[size] = i
                size += 1
    k = starts[c]
    for g in range(n_groups):
        stops[g] = size
        while k < group_ends[groups[c] + g]:
            queue[size] = rows[k]
            size += 1
            k += 1
        if g == zero:
            for i in range(is_stored.shape[0]):
                if is_stored[i] == 0:
                    queue[size] = i
                    size += 1
    stops[n_groups] = size


@kernel
def search(
    first: int,
    last: int,
    features: Ints,
    starts: Ints,
    rows: Ints,
    groups: Ints,
    group_ends: Ints,
    zero: Ints,
    abstains: Ints,
    default: int,
    smoothing: float,
    cumulative: bool,
    heads: Ints,
    cuts: Ints,
    defaults: Ints,
    following: Ints,
    ratios: Floats,
    level_of: Ints,
    level_begin: Ints,
    level_end: Ints,
    utility: Floats,
    up: Floats,
    down: Floats,
    ups: Floats,
    downs: Floats,
    links: Ints,
    pairs: Ints,
    better: Ints,
    worse: Ints,
    weight: Floats,
    ups_on: Floats,
    downs_on: Floats,
    is_on: Ints,
    is_stored: Ints,
    queue: Ints,
    stops: Ints,
    found: Floats,
) -> None:
    """Search the columns first..last; write to found (6,).

    Columns and candidates are as in `thresholds`, but that a candidate of a round
    before may speak against itself only while ``right > ratio wrong``, both smoothed.
    level_of (n,) is -1 for rows without grades; the levels of level l's query are
    ``level_begin[l] : level_end[l]``. ups_on and downs_on
    (levels,), is_on, is_stored and queue (n,), stops (groups + 1,) are room for work.
    O(n levels) time a column.
    """
    half = smoothing / 2.0
    for c in range(first, last):
        n_groups = groups[c + 1] - groups[c]
        lowest = default if default >= 0 else 0
        highest = 1 if default < 0 and abstains[c] else lowest
        for q in range(lowest, highest + 1):
            # Where every row has a value the rows stand in line already.
            is_direct = starts[c + 1] - starts[c] == queue.shape[0] and not abstains[c]
            if not is_direct:
                line_up(
                    c, starts, rows, groups, group_ends, zero[c], q == 1,
                    is_stored, queue, stops,
                )  # fmt: skip
            for level in range(ups_on.shape[0]):
                ups_on[level] = 0.0
                downs_on[level] = 0.0
            if pairs.shape[0] > 0:
                for i in range(is_on.shape[0]):
                    is_on[i] = 0
            right, wrong, passed = 0.0, 0.0, 0
            place = heads[features[c]] if cumulative else -1
            for cut in range(n_groups + 1):
                if is_direct:
                    end = group_ends[groups[c] + cut - 1] - starts[c] if cut > 0 else 0
                else:
                    end = stops[cut]
                while passed < end:
                    x = rows[starts[c] + passed] if is_direct else queue[passed]
                    more, less = raise_row(
                        x, level_of, level_begin, level_end, utility,
                        up, down, ups, downs, ups_on, downs_on,
                        links, pairs, better, worse, weight, is_on,
                    )  # fmt: skip
                    right += more
                    wrong += less
                    passed += 1
                while place >= 0 and cuts[place] < cut:
                    place = following[place]
                good = right if right > _NOTHING else 0.0
                bad = wrong if wrong > _NOTHING else 0.0
                gain = np.rint((sqrt(good) - sqrt(bad)) ** 2 * _UNIT)
                # Of equals the first by feature, cut and q; q is the outer loop here.
                is_earlier = (
                    gain > 0.0
                    and gain == found[GAIN]
                    and found[FEATURE] == features[c]
                    and cut < found[CUT]
                )
                if gain <= found[GAIN] and not is_earlier:
                    continue
                if cumulative and good <= bad:
                    old = place
                    while old >= 0 and cuts[old] == cut and defaults[old] != q:
                        old = following[old]
                    if old < 0 or cuts[old] != cut:
                        continue
                    if good + half <= ratios[old] * (bad + half):
                        continue
                found[GAIN] = gain
                found[FEATURE] = features[c]
                found[CUT] = cut
                found[DEFAULT] = q
                found[RIGHT] = good
                found[WRONG] = bad


def gain_of(found: Floats) -> float:
    """Return 1 - Z of what a search has found."""
    return float(found[GAIN] / _UNIT)
