"""How good ranked lists are, in expectation over random orders of equal scores.

Lists are in the order of their scores, best first; a group is a run of equal scores or,
if ties are `broken`, a single row. R rows are above a group of Q rows, of which q are
good, and r good rows are above it. Undefined values are NaN.

At the end are sums over samples of queries. Their random numbers are counter-based:
each is a function of a key and of two numbers. So threads can share the samples, and no
draw is stored.
"""

import numpy as np

from peckorder._core.compiled.jit import compiled, inlined, inlined_sum
from peckorder._core.compiled.lists import end_of_ties
from peckorder._core.typing import Floats, Ints

_STEP = np.uint64(0x9E3779B97F4A7C15)
_32 = np.uint64(32)
_LOW_BYTE = np.uint64(255)
# Signs drawn at a time, one bit each; a word has those of as many samples.
GROUP = 8


@inlined
def count_good(good: Ints, first: int, last: int) -> int:
    """Return the number of good rows."""
    n = 0
    for i in range(first, last):
        n += good[i]
    return n


@compiled
def average_precision(
    offsets: Ints, first: int, last: int, score: Floats, good: Ints, broken: bool, value: Floats
) -> None:
    """Write to value (q,) the mean of ``k / rank`` of the k-th good row."""
    for list_ in range(first, last):
        a, b = offsets[list_], offsets[list_ + 1]
        above, total = 0, 0.0
        start = a
        while start < b:
            end = end_of_ties(score, start, b, broken)
            q, size = count_good(good, start, end), end - start
            if q > 0:
                # A good row at p of the group has (p-1)(q-1)/(Q-1) good ones before it.
                slope = (q - 1) / (size - 1) if size > 1 else 0.0
                expected = 0.0
                for p in range(size):
                    expected += (above + 1 + p * slope) / (start - a + p + 1)
                total += expected * q / size
            above += q
            start = end
        value[list_] = total / above if above > 0 else np.nan


@compiled
def first_good(
    offsets: Ints,
    first: int,
    last: int,
    score: Floats,
    good: Ints,
    broken: bool,
    cap: int,
    reciprocal: Floats,
    rank: Floats,
    hit: Floats,
) -> None:
    """Write expectations about the rank of the first good row to arrays (q,).

    Its reciprocal, 0 beyond `cap`; the rank itself, at most `cap`; and the probability
    that it is at most `cap`. The probability of position l in its group is that of
    l - 1 bad rows, then a good one: a product of ratios, which neither overflows nor
    cancels.
    """
    for list_ in range(first, last):
        a, b = offsets[list_], offsets[list_ + 1]
        start = a
        q, end = 0, a
        while start < b:
            end = end_of_ties(score, start, b, broken)
            q = count_good(good, start, end)
            if q > 0:
                break
            start = end
        if q == 0:
            reciprocal[list_] = np.nan
            rank[list_] = np.nan
            hit[list_] = np.nan
            continue
        size, before = end - start, start - a
        none_yet = 1.0
        reciprocal[list_] = 0.0
        rank[list_] = 0.0
        hit[list_] = 0.0
        for p in range(size - q + 1):
            here = none_yet * (q / (size - p))
            position = before + p + 1
            rank[list_] += here * min(position, cap)
            none_yet *= (size - p - q) / (size - p)
            if position <= cap:
                reciprocal[list_] += here / position
                hit[list_] = 1.0 - none_yet
            if none_yet == 0.0:
                break


@compiled
def last_good(
    offsets: Ints, first: int, last: int, score: Floats, good: Ints, broken: bool, value: Floats
) -> None:
    """Write to value (q,) the number of good rows over the rank of the last one."""
    for list_ in range(first, last):
        a, b = offsets[list_], offsets[list_ + 1]
        n_good = count_good(good, a, b)
        if n_good == 0:
            value[list_] = np.nan
            continue
        above, start = 0, a
        q, end = 0, a
        while start < b:
            end = end_of_ties(score, start, b, broken)
            q = count_good(good, start, end)
            above += q
            if above == n_good:
                break
            start = end
        # From the last row upwards: no good one below, then a good one.
        none_yet, expected = 1.0, 0.0
        for p in range(end - start, q - 1, -1):
            expected += none_yet * (q / p) / (start - a + p)
            none_yet *= (p - q) / p
            if none_yet == 0.0:
                break
        value[list_] = n_good * expected


@compiled
def good_at_top(
    offsets: Ints,
    first: int,
    last: int,
    score: Floats,
    good: Ints,
    broken: bool,
    k: int,
    at_top: Floats,
    n_good: Floats,
) -> None:
    """Write the expected number of good rows among the first k, and of all rows.

    k is 0 for as many rows as are good.
    """
    for list_ in range(first, last):
        a, b = offsets[list_], offsets[list_ + 1]
        at_top[list_] = 0.0
        all_good = count_good(good, a, b)
        n_good[list_] = all_good
        depth = k if k > 0 else all_good
        start = a
        while start < b and start - a < depth:
            end = end_of_ties(score, start, b, broken)
            q = count_good(good, start, end)
            inside = min(end - a, depth) - (start - a)
            at_top[list_] += q * (inside / (end - start))
            start = end


@compiled
def bad_above_good(
    offsets: Ints, first: int, last: int, score: Floats, good: Ints, broken: bool, value: Floats
) -> None:
    """Write to value (q,) the mean share of good rows that the first bad ones leave.

    Of m bad rows with the same score as a good one 0, 1, ..., m are above it, with equal
    probability.
    """
    for list_ in range(first, last):
        a, b = offsets[list_], offsets[list_ + 1]
        n_good = count_good(good, a, b)
        if n_good == 0:
            value[list_] = np.nan
            continue
        most = min(n_good, b - a - n_good)
        total, above, start = 0.0, 0, a
        while start < b:
            end = end_of_ties(score, start, b, broken)
            q = count_good(good, start, end)
            m = end - start - q
            if q > 0 and most > 0:
                # min(above + j, most) of j from 0 to m: a ramp, then a constant.
                ramp = min(max(most - above, 0), m + 1)
                counted = ramp * above + ramp * (ramp - 1) / 2 + (m + 1 - ramp) * most
                total += q * (counted / (m + 1)) / most
            above += m
            start = end
        value[list_] = 1.0 - total / n_good


@compiled
def rank_biased(
    offsets: Ints,
    first: int,
    last: int,
    score: Floats,
    good: Ints,
    broken: bool,
    p: float,
    value: Floats,
) -> None:
    """Write to value (q,) the sum of ``(1 - p) p**(rank - 1)`` over good rows."""
    for list_ in range(first, last):
        a, b = offsets[list_], offsets[list_ + 1]
        total, patience, start = 0.0, 1.0, a
        while start < b:
            end = end_of_ties(score, start, b, broken)
            rest = patience * p ** (end - start)
            q = count_good(good, start, end)
            total += (patience - rest) * (q / (end - start))
            patience, start = rest, end
        value[list_] = total if count_good(good, a, b) > 0 else np.nan


@compiled
def content_at(
    offsets: Ints,
    first: int,
    last: int,
    score: Floats,
    content: Floats,
    broken: bool,
    k: int,
    products: Floats,
    value: Floats,
) -> None:
    """Write to value (q,) the expectation of 1 / rank of the row that contents a reader.

    content (n,) has probabilities, in the order of scores. In a group of equal scores
    the probability that p rows, in random order, leave a reader unsatisfied is the mean
    product of p of their complements. It is kept in ``products[start + p - 1]``, and
    becomes that of one row more by weights that are not negative.
    """
    for list_ in range(first, last):
        a, b = offsets[list_], offsets[list_ + 1]
        total, unsatisfied, start, best = 0.0, 1.0, a, 0.0
        for i in range(a, b):
            best = max(best, content[i])
        while start < b and start - a < k and unsatisfied > 0.0:
            end = end_of_ties(score, start, b, broken)
            depth = min(end - start, k - (start - a))
            for n in range(end - start):
                leaves = 1.0 - content[start + n]
                for p in range(min(n + 1, depth), 0, -1):
                    before = products[start + p - 2] if p > 1 else 1.0
                    here = products[start + p - 1] if p <= n else 0.0
                    products[start + p - 1] = ((n + 1 - p) * here + p * leaves * before) / (n + 1)
            before = 1.0
            for p in range(depth):
                here = products[start + p]
                total += unsatisfied * (before - here) / (start - a + p + 1)
                before = here
            unsatisfied *= before
            start = end
        value[list_] = total if best > 0.0 else np.nan


@compiled
def gains(
    offsets: Ints,
    first: int,
    last: int,
    score: Floats,
    gain: Floats,
    ideal: Floats,
    discount: Floats,
    broken: bool,
    k: int,
    value: Floats,
) -> None:
    """Write the discounted gain over that of the ideal order to value (q,).

    gain (n,) in the order of scores, ideal (n,) the same gains in descending order;
    ``discount[p]`` is the sum of the discounts of the first p ranks. Equal scores
    share the mean of their gains.
    """
    for list_ in range(first, last):
        a, b = offsets[list_], offsets[list_ + 1]
        best, total = 0.0, 0.0
        for i in range(a, min(b, a + k)):
            best += ideal[i] * (discount[i - a + 1] - discount[i - a])
        start = a
        while start < b and start - a < k:
            end = end_of_ties(score, start, b, broken)
            group = 0.0
            for i in range(start, end):
                group += gain[i]
            discounts = discount[min(end - a, k)] - discount[start - a]
            total += group / (end - start) * discounts
            start = end
        value[list_] = total / best if best > 0.0 else np.nan


@compiled
def lost_in_product(a: float, b: float) -> float:
    """Return ``a b`` minus what it is rounded to, exactly: Dekker's product.

    Not inlined: each step must be rounded by itself.
    """
    split = 134217729.0  # 2**27 + 1
    a_high = split * a - (split * a - a)
    b_high = split * b - (split * b - b)
    a_low, b_low = a - a_high, b - b_high
    return ((a_high * b_high - a * b) + a_high * b_low + a_low * b_high) + a_low * b_low


@compiled
def rank_weights(q: int, k: int, weight: Floats) -> None:
    """Write to weight (Q,) the relative probability of each rank of the k-th good row.

    As multiples of the largest, from which ratios of neighbours lead to both ends. Each
    product carries on what its rounding lost, so that millions are as exact as one.
    """
    size = len(weight)
    for p in range(size):
        weight[p] = 0.0
    likeliest = min((k - 1) * size // max(q - 1, 1) + 1, size - q + k)
    weight[likeliest - 1] = 1.0
    for step in (1, -1):
        position, here, lost = likeliest, 1.0, 0.0
        while here > 0.0:
            # The ratio of the probabilities of neighbours is `times / by`.
            lower = min(position, position + step)
            times = float(lower * (size - q + k - lower))
            by = float((lower - k + 1) * (size - lower))
            if step < 0:
                times, by = by, times
            if times == 0.0:
                break
            before = here
            here = before * times / by
            rest = before * times - here * by + lost * times
            rest += lost_in_product(before, times) - lost_in_product(here, by)
            lost = rest / by
            position += step
            weight[position - 1] = here + lost


@inlined
def random_word(key: np.uint64, i: int) -> np.uint64:
    """Return the i-th word of a key: the generator known as SplitMix64."""
    z = key + (np.uint64(i) + np.uint64(1)) * _STEP
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inlined_sum
def weighted_sum(count: Ints, values: Floats, c: int) -> float:
    """Return the sum of a row of values, each times its count."""
    total = 0.0
    for i in range(count.shape[0]):
        total += count[i] * values[c, i]
    return total


@compiled
def bootstrap(
    first: int, last: int, key: np.uint64, values: Floats, count: Ints, sums: Floats
) -> None:
    """Write to sums (c, samples) those of n items drawn from n, with replacement.

    values (c, n), n < 2**32; count (n,) is scratch. The samples first..last are
    drawn: O(n c) time each, the draws of a sample being the same for all c.
    """
    n = count.shape[0]
    for sample in range(first, last):
        own = random_word(key, sample)
        for i in range(n):
            count[i] = 0
        for i in range(n):
            count[((random_word(own, i) >> _32) * np.uint64(n)) >> _32] += 1
        for c in range(values.shape[0]):
            sums[c, sample] = weighted_sum(count, values, c)


@compiled
def random_signs(
    first: int, last: int, key: np.uint64, values: Floats, table: Floats, sums: Floats
) -> None:
    """Add to sums (c, samples) those of values (c, n) with random signs.

    The samples 8 first..8 last are drawn, the signs being the same for all c. Of eight
    values the 256 sums are tabulated in table (c, 256), and one of them is drawn: O(c)
    time for a sample and eight values.
    """
    columns, n = values.shape
    for group in range((n + GROUP - 1) // GROUP):
        start = group * GROUP
        for c in range(columns):
            table[c, 0] = 0.0
            for bit in range(GROUP):
                value = values[c, start + bit] if start + bit < n else 0.0
                # Those below have the sums of the bits before.
                for byte in range(1 << bit):
                    table[c, byte + (1 << bit)] = table[c, byte] + value
                    table[c, byte] -= value
        own = random_word(key, group)
        for eight in range(first, last):
            word = random_word(own, eight)
            for c in range(columns):
                for s in range(GROUP):
                    drawn = (word >> np.uint64(8 * s)) & _LOW_BYTE
                    sums[c, GROUP * eight + s] += table[c, drawn]
