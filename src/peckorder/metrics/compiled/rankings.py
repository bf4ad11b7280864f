"""How good ranked lists are, in expectation over random orders of equal scores.

Lists are in the order of their scores, best first; a group is a run of equal scores or,
if ties are `broken`, a single row. R rows are above a group of Q rows, of which q are
good, and r good rows are above it. Undefined values are NaN.

Pairs in the wrong order are counted by sorting, without weights: the counts are
integers, and half of the memory is moved.
"""

import numpy as np

from peckorder._core.compiled.jit import compiled, inlined
from peckorder._core.compiled.lists import end_of_ties
from peckorder._core.typing import Floats, Ints

# Runs as short as this are sorted by insertion.
_RUN = 16


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
    """Write the expected number of good rows among the first k, and of all rows."""
    for list_ in range(first, last):
        a, b = offsets[list_], offsets[list_ + 1]
        at_top[list_] = 0.0
        n_good[list_] = count_good(good, a, b)
        start = a
        while start < b and start - a < k:
            end = end_of_ties(score, start, b, broken)
            q = count_good(good, start, end)
            inside = min(end - a, k) - (start - a)
            at_top[list_] += q * (inside / (end - start))
            start = end


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
def merge(key: Floats, to_key: Floats, first: int, middle: int, last: int) -> int:
    """Merge two runs, sorted descending; return the pairs with a smaller left key."""
    out = 0
    i, j, position = first, middle, first
    while i < middle and j < last:
        # Without a branch on the keys, which could not be predicted.
        left, right = key[i], key[j]
        is_left = left >= right
        to_key[position] = left if is_left else right
        # The rest of the left run is smaller than what is taken from the right.
        out += 0 if is_left else middle - i
        i += is_left
        j += not is_left
        position += 1
    while i < middle:
        to_key[position] = key[i]
        i += 1
        position += 1
    while j < last:
        to_key[position] = key[j]
        j += 1
        position += 1
    return out


@inlined
def sort(key: Floats, spare: Floats, first: int, last: int) -> int:
    """Sort keys first..last, descending; return the pairs out of order."""
    out = 0
    start = first
    while start < last:
        end = min(start + _RUN, last)
        for i in range(start + 1, end):
            k = key[i]
            j = i - 1
            while j >= start and key[j] < k:
                key[j + 1] = key[j]
                j -= 1
            out += i - 1 - j
            key[j + 1] = k
        start = end
    width = _RUN
    is_spare = False
    while width < last - first:
        start = first
        while start < last:
            middle, end = min(start + width, last), min(start + 2 * width, last)
            if is_spare:
                out += merge(spare, key, start, middle, end)
            else:
                out += merge(key, spare, start, middle, end)
            start = end
        is_spare = not is_spare
        width *= 2
    if is_spare:
        for i in range(first, last):
            key[i] = spare[i]
    return out


@inlined
def equal_pairs(key: Floats, first: int, last: int) -> int:
    """Return the number of pairs with equal keys, which are sorted."""
    equal = 0
    start = first
    while start < last:
        end = end_of_ties(key, start, last, False)
        equal += (end - start) * (end - start - 1) // 2
        start = end
    return equal


@inlined
def sort_ties(score: Floats, truth: Floats, spare: Floats, first: int, last: int) -> int:
    """Sort the truths of equal scores, best first; return their pairs that differ."""
    tied = 0
    start = first
    while start < last:
        end = end_of_ties(score, start, last, False)
        if end - start > 1:
            sort(truth, spare, start, end)
            tied += (end - start) * (end - start - 1) // 2
            tied -= equal_pairs(truth, start, end)
        start = end
    return tied


@compiled
def pairs(
    offsets: Ints,
    first: int,
    last: int,
    score: Floats,
    truth: Floats,
    spare: Floats,
    broken: bool,
    counts: Floats,
) -> None:
    """Do what `lists.pairs` does for weights of one. spare (n,) is scratch."""
    for q in range(first, last):
        a, b = offsets[q], offsets[q + 1]
        counts[q, 1] = 0 if broken else sort_ties(score, truth, spare, a, b)
        counts[q, 0] = sort(truth, spare, a, b)
        counts[q, 2] = (b - a) * (b - a - 1) // 2 - equal_pairs(truth, a, b)


@compiled
def tied_pairs(score: Floats, truth: Floats, spare: Floats, first: int, last: int) -> int:
    """Prepare a list too long for one thread: see `sort_ties`."""
    return sort_ties(score, truth, spare, first, last)


@compiled
def sort_part(key: Floats, spare: Floats, first: int, last: int) -> int:
    """Sort a part of a list; return its pairs that were out of order."""
    return sort(key, spare, first, last)


@compiled
def join_parts(key: Floats, spare: Floats, first: int, middle: int, last: int) -> tuple[int, int]:
    """Merge two sorted parts into `spare`; return pairs out of order, and equal."""
    out = merge(key, spare, first, middle, last)
    return out, equal_pairs(spare, first, last)
