"""The distribution over graded pairs, which are never listed.

A pair x0 below x1 has the weight ``w0 w1 c exp(H0 - H1)``. Sums are kept as logarithms,
so that scores H may be in the thousands; but for queries whose scores are close to each
other, where everything fits into floating point.
"""

from math import exp, factorial, inf, log
from typing import Any, NamedTuple

import numpy as np

from peckorder._core.compiled.jit import compiled, inlined_exact
from peckorder._core.typing import Floats, Ints
from peckorder.boosting.compiled.pairs import UNIT, GradedPairs

# Beyond this exp(H) and exp(-H) of a level are too far apart to be divided.
_WIDE = 600.0
# Up to this products of the two do not underflow.
_NARROW = 300.0
# The bits of a float but for its sign.
_SIZE = 0x7FFFFFFFFFFFFFFF
# Added and taken away again, it leaves the nearest integer, and that in the last bits.
_ROUND = 1.5 * 2.0**52
_LOG2_E = 1.4426950408889634
# log 2 in two pieces, the first so short that it times a small integer is exact.
_LOG_2, _LOG_2_REST = 0.6931471803691238, 1.9082149292705877e-10
_C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13 = (
    1.0 / factorial(k) for k in range(2, 14)
)
# What the bits of such a sum exceed n by, and what 2**n has for an exponent of zero.
_ROUND_BITS, _BIAS = 0x4338000000000000, 1023


class PairSums(NamedTuple):
    """The sums of weights over levels and queries that `weigh` writes.

    up, down (n,) are exp(-H) and exp(H) of the rows by position, over their largest in
    a level or query; up_scale, down_scale (levels,) are the factors that make them
    potentials: logarithms, or over exp(base), where base (queries,) is not NaN.
    The logarithm of the weight of a query is in log_mass (levels,) at its first level.
    """

    up: Floats
    down: Floats
    up_scale: Floats
    down_scale: Floats
    base: Floats
    log_mass: Floats


@inlined_exact
def exp_moderate(x: float) -> float:
    """Return exp(x) for x between -700 and 700, to one unit in the last place.

    With ``x = n log 2 + s`` it is ``2**n exp(s)``, by Taylor's series up to s**13,
    which is exact to rounding for |s| <= log(2) / 2. The same bits on every machine.
    """
    shifted = x * _LOG2_E + _ROUND
    n = shifted - _ROUND
    s = (x - n * _LOG_2) - n * _LOG_2_REST
    s2 = s * s
    s4 = s2 * s2
    # By halves, so that few operations wait for each other.
    low = (_C2 + s * _C3) + s2 * (_C4 + s * _C5)
    middle = (_C6 + s * _C7) + s2 * (_C8 + s * _C9)
    high = (_C10 + s * _C11) + s2 * (_C12 + s * _C13)
    rest = low + s4 * (middle + s4 * high)
    exponent = np.float64(shifted).view(np.int64) - _ROUND_BITS + _BIAS
    return (1.0 + (s + s2 * rest)) * np.int64(exponent << 52).view(np.float64)


@inlined_exact
def in_order(bits: Any) -> Any:
    """Turn the bits of floats into integers of the same order, and these back."""
    return bits ^ ((bits >> 63) & _SIZE)


@inlined_exact
def copy_scores(
    first: Any, last: Any, rows: Ints, scores: Floats, up: Floats
) -> tuple[float, float]:
    """Write to `up` the scores of the positions first..last; return least and largest.

    Processors compare several integers at a time, and floats one by one.
    """
    low, high = _SIZE, -_SIZE
    if rows.shape[0] == 0:
        for i in range(first, last):
            score = scores[i]
            up[i] = score
            key = in_order(np.float64(score).view(np.int64))
            low, high = min(low, key), max(high, key)
    else:
        for i in range(first, last):
            score = scores[rows[i]]
            up[i] = score
            key = in_order(np.float64(score).view(np.int64))
            low, high = min(low, key), max(high, key)
    least, largest = np.int64(in_order(low)), np.int64(in_order(high))
    return least.view(np.float64), largest.view(np.float64)


@inlined_exact
def add_logs(a: float, b: float) -> float:
    """Return log(exp(a) + exp(b))."""
    low, high = min(a, b), max(a, b)
    return high if low == -inf else high + log(1.0 + exp(low - high))


@inlined_exact
def level_sums(
    first: int, last: int, rows: Ints, log_weight: Floats, scores: Floats, up: Floats, down: Floats
) -> tuple[float, float, float, float]:
    """Write to `up` exp(-H) and to `down` exp(H) over their largest in one level.

    Returns the logarithms of these largest and of the sums of what is written.
    """
    is_weighted, is_moved = log_weight.shape[0] > 0, rows.shape[0] > 0
    up_top, down_top = -inf, -inf
    for i in range(first, last):
        score = scores[rows[i] if is_moved else i]
        extra = log_weight[i] if is_weighted else 0.0
        up_top = max(up_top, extra - score)
        down_top = max(down_top, extra + score)
    spread = up_top + down_top
    both = exp(-spread)
    up_sum, down_sum = 0.0, 0.0
    if is_weighted or spread > _WIDE:
        for i in range(first, last):
            score = scores[rows[i] if is_moved else i]
            extra = log_weight[i] if is_weighted else 0.0
            up[i] = exp(extra - score - up_top)
            down[i] = exp(extra + score - down_top)
            up_sum += up[i]
            down_sum += down[i]
    else:
        for i in range(first, last):
            # A division costs less than another exponential.
            value = exp(-scores[rows[i] if is_moved else i] - up_top)
            up[i] = value
            down[i] = both / value
            up_sum += value
            down_sum += both / value
    return up_top, down_top, up_top + log(up_sum), down_top + log(down_sum)


@inlined_exact
def sum_both(first: Any, last: Any, up: Floats, down: Floats) -> tuple[float, float]:
    """Return the sums of both over first..last, every fourth position apart.

    So that an addition need not wait for the one before.
    """
    up_0, up_1, up_2, up_3 = 0.0, 0.0, 0.0, 0.0
    down_0, down_1, down_2, down_3 = 0.0, 0.0, 0.0, 0.0
    one, two, three, four = np.uintp(1), np.uintp(2), np.uintp(3), np.uintp(4)
    rest = last - (last - first) % four
    for i in range(first, rest, four):
        up_0 += up[i]
        up_1 += up[i + one]
        up_2 += up[i + two]
        up_3 += up[i + three]
        down_0 += down[i]
        down_1 += down[i + one]
        down_2 += down[i + two]
        down_3 += down[i + three]
    for i in range(rest, last):
        up_0 += up[i]
        down_0 += down[i]
    return (up_0 + up_1) + (up_2 + up_3), (down_0 + down_1) + (down_2 + down_3)


@inlined_exact
def weigh_narrow(
    begin: int, end: int, starts: Ints, low: float, high: float, sums: PairSums
) -> float:
    """Weigh a query without a logarithm, if all pairs have the same weight but for H.

    The scores are in `up`. What is written, and returned, is over exp(high - low).
    """
    up, down = sums.up, sums.down
    up_scale, down_scale = sums.up_scale, sums.down_scale
    both = exp(low - high)
    for i in range(np.uintp(starts[begin]), np.uintp(starts[end])):
        value = exp_moderate(low - up[i])
        up[i] = value
        # A division costs less than another exponential.
        down[i] = both / value
    below, mass = 0.0, 0.0
    for level in range(begin, end):
        up_sum, down_sum = sum_both(np.uintp(starts[level]), np.uintp(starts[level + 1]), up, down)
        up_scale[level] = below
        down_scale[level] = up_sum
        mass += below * up_sum
        below += down_sum
    above = 0.0
    for level in range(end - 1, begin - 1, -1):
        up_sum = down_scale[level]
        down_scale[level] = above
        above += up_sum
    return mass


@compiled
def weigh(first: int, last: int, pairs: GradedPairs, scores: Floats, sums: PairSums) -> None:
    """Write the sums of queries first..last at some scores.

    A sum over the levels below, or above, grows from level to level by positive terms
    only. O(n + levels) time.
    """
    levels, starts, rows = pairs.levels, pairs.starts, pairs.rows
    log_weight, log_step, log_query = pairs.log_weight, pairs.log_step, pairs.log_query
    up, down, base, log_mass = sums.up, sums.down, sums.base, sums.log_mass
    up_scale, down_scale = sums.up_scale, sums.down_scale
    is_unit = log_step.shape[0] == 0
    is_plain = is_unit and log_weight.shape[0] == 0
    for q in range(first, last):
        begin, end = levels[q], levels[q + 1]
        if is_plain:
            low, high = copy_scores(
                np.uintp(starts[begin]), np.uintp(starts[end]), rows, scores, up
            )
            if high - low < _NARROW:
                mass = weigh_narrow(begin, end, starts, low, high, sums)
                base[q] = high - low + log_query[q]
                log_mass[begin] = base[q] + log(mass) if mass > 0.0 else -inf
                continue
        base[q] = np.nan
        # The sum of exp(H) of lower levels, and the same with the weights of steps.
        below, weighted, mass = -inf, -inf, -inf
        for level in range(begin, end):
            up_top, down_top, up_sum, down_sum = level_sums(
                starts[level], starts[level + 1], rows, log_weight, scores, up, down
            )
            if is_unit:
                weighted = below
            elif level > begin:
                weighted = add_logs(weighted, log_step[level] + below)
            mass = add_logs(mass, weighted + up_sum)
            up_scale[level] = up_top + weighted + log_query[q]
            down_scale[level] = down_top
            # Kept for the way back, from the highest level down.
            log_mass[level] = up_sum
            below = add_logs(below, down_sum)
        above, weighted = -inf, -inf
        for level in range(end - 1, begin - 1, -1):
            if is_unit:
                weighted = above
            elif level < end - 1:
                weighted = add_logs(weighted, log_step[level + 1] + above)
            down_scale[level] += weighted + log_query[q]
            above = add_logs(above, log_mass[level])
        # Every query has a level.
        log_mass[begin] = mass + log_query[q]


@compiled
def largest(first: int, last: int, levels: Ints, log_mass: Floats) -> float:
    """Return the largest logarithm of the weights of queries first..last."""
    top = -inf
    for q in range(first, last):
        top = max(top, log_mass[levels[q]])
    return top


@compiled
def total(first: int, last: int, levels: Ints, log_mass: Floats, top: float, unit: float) -> int:
    """Return the weights of queries over exp(top), in units: exact integers."""
    mass = 0
    for q in range(first, last):
        mass += int(np.rint(exp(log_mass[levels[q]] - top) * unit))
    return mass


@compiled
def log_of_total(top: float, mass: int, unit: float) -> float:
    """Return the logarithm of a sum of weights, given by `total`."""
    return top + log(mass / unit)


@inlined_exact
def write_potentials(
    first: Any, last: Any, rise: float, fall: float, up: Floats, down: Floats, potentials: Ints
) -> tuple[int, int]:
    """Write the potentials of rows first..last; return their sum, and all that rose."""
    total, rose = 0, 0
    for i in range(first, last):
        potential = int(np.rint(up[i] * rise - down[i] * fall))
        total += potential
        rose += max(potential - potentials[i], 0)
        potentials[i] = potential
    return total, rose


@compiled
def spread(
    first: int,
    last: int,
    pairs: GradedPairs,
    sums: PairSums,
    log_total: float,
    overwrite: bool,
    potentials: Ints,
) -> int:
    """Add to potentials (m,) those of the rows of queries first..last, in units.

    The weight of pairs in which a row is the better one minus that of pairs in which it
    is the worse one, over exp(log_total). One exponential per query, or two per level;
    the rest is in `sums`. With `overwrite` the earlier potentials are replaced; the
    result is the most by which the sum of any rows has changed.
    """
    levels, starts, rows = pairs.levels, pairs.starts, pairs.rows
    up, down, base = sums.up, sums.down, sums.base
    up_scale, down_scale = sums.up_scale, sums.down_scale
    moved = 0
    for q in range(first, last):
        is_narrow = base[q] == base[q]
        # Only a query without a pair has more than twice _NARROW, and no use for it.
        excess = min(base[q] - log_total, 2.0 * _NARROW) if is_narrow else -inf
        factor = UNIT * exp(excess)
        rest = 0
        for level in range(levels[q], levels[q + 1]):
            if is_narrow:
                rise, fall = factor * up_scale[level], factor * down_scale[level]
            else:
                rise = exp(up_scale[level] - log_total) * UNIT
                fall = exp(down_scale[level] - log_total) * UNIT
            begin, end = np.uintp(starts[level]), np.uintp(starts[level + 1])
            if overwrite and rows.shape[0] == 0:
                # Changes of a query add up to zero: the positive ones are half.
                total, rose = write_potentials(begin, end, rise, fall, up, down, potentials)
                rest += total
                moved += rose
                continue
            for i in range(begin, end):
                potential = int(np.rint(up[i] * rise - down[i] * fall))
                rest += potential
                row = np.uintp(rows[i]) if rows.shape[0] > 0 else i
                before = potentials[row]
                if overwrite:
                    moved += max(potential - before, 0)
                    before = 0
                potentials[row] = before + potential
        # What rounding leaves of zero would distinguish a ranking from its complement.
        last_position = starts[levels[q + 1]] - 1
        potentials[rows[last_position] if rows.shape[0] > 0 else last_position] -= rest
        moved += abs(rest)
    return moved


@compiled
def add_masses(
    first: int, last: int, pairs: GradedPairs, sums: PairSums, log_total: float, masses: Floats
) -> None:
    """Add to masses (m,) the weight of the pairs of each row of queries first..last.

    Over exp(log_total), from the same sums as `spread`. O(n) time.
    """
    levels, starts, rows = pairs.levels, pairs.starts, pairs.rows
    up, down, base = sums.up, sums.down, sums.base
    up_scale, down_scale = sums.up_scale, sums.down_scale
    for q in range(first, last):
        is_narrow = base[q] == base[q]
        excess = min(base[q] - log_total, 2.0 * _NARROW) if is_narrow else 0.0
        factor = exp(excess)
        for level in range(levels[q], levels[q + 1]):
            if is_narrow:
                rise, fall = factor * up_scale[level], factor * down_scale[level]
            else:
                rise, fall = exp(up_scale[level] - log_total), exp(down_scale[level] - log_total)
            for i in range(starts[level], starts[level + 1]):
                masses[rows[i] if rows.shape[0] > 0 else i] += up[i] * rise + down[i] * fall
