"""Ranked lists: sorting them, and counting their pairs.

`offsets` (q+1,) cut an array into lists. Each function handles the lists
``first..last``, so that threads can share them.
"""

import numpy as np

from peckorder._core.compiled.jit import compiled, inlined
from peckorder._core.typing import Floats, Ints

# Runs as short as this are sorted by insertion.
_RUN = 16


@inlined
def merge(
    key: Floats, item: Floats, to_key: Floats, to_item: Floats, first: int, middle: int, last: int
) -> float:
    """Merge two runs, sorted descending, into the same positions of other arrays.

    Stable. Returns the sum, over pairs whose left key is smaller than their right one,
    of the products of their items.
    """
    # Items taken from the right so far are larger than what remains of the left. Only
    # sums, no differences, which might cancel.
    taken, out = 0.0, 0.0
    i, j, position = first, middle, first
    while i < middle and j < last:
        # Without a branch on the keys, which could not be predicted.
        is_left = key[i] >= key[j]
        from_ = i if is_left else j
        to_key[position] = key[from_]
        to_item[position] = item[from_]
        out += taken * item[from_] if is_left else 0.0
        taken += 0.0 if is_left else item[from_]
        i += is_left
        j += not is_left
        position += 1
    while i < middle:
        to_key[position] = key[i]
        to_item[position] = item[i]
        out += taken * item[i]
        i += 1
        position += 1
    while j < last:
        to_key[position] = key[j]
        to_item[position] = item[j]
        j += 1
        position += 1
    return out


@inlined
def sort(
    key: Floats, item: Floats, spare_key: Floats, spare_item: Floats, first: int, last: int
) -> float:
    """Sort keys descending in the positions first..last, their items with them; stable.

    Returns the sum, over pairs that were out of order, of the products of their items.
    """
    out = 0.0
    start = first
    while start < last:
        end = min(start + _RUN, last)
        for i in range(start + 1, end):
            k, w = key[i], item[i]
            j = i - 1
            while j >= start and key[j] < k:
                out += item[j] * w
                key[j + 1] = key[j]
                item[j + 1] = item[j]
                j -= 1
            key[j + 1] = k
            item[j + 1] = w
        start = end
    width = _RUN
    is_spare = False
    while width < last - first:
        start = first
        while start < last:
            middle, end = min(start + width, last), min(start + 2 * width, last)
            if is_spare:
                out += merge(spare_key, spare_item, key, item, start, middle, end)
            else:
                out += merge(key, item, spare_key, spare_item, start, middle, end)
            start = end
        is_spare = not is_spare
        width *= 2
    if is_spare:
        for i in range(first, last):
            key[i] = spare_key[i]
            item[i] = spare_item[i]
    return out


@compiled
def sort_lists(
    offsets: Ints,
    first: int,
    last: int,
    key: Floats,
    item: Floats,
    spare_key: Floats,
    spare_item: Floats,
) -> None:
    """Sort each list by its keys (n,), descending, and its items (n,) with them.

    Equal keys keep their order. The spare arrays (n,) are scratch.
    """
    for q in range(first, last):
        sort(key, item, spare_key, spare_item, offsets[q], offsets[q + 1])


@inlined
def end_of_ties(score: Floats, start: int, last: int, broken: bool) -> int:
    """Return the position after those that have the score of position `start`."""
    end = start + 1
    while not broken and end < last and score[end] == score[start]:
        end += 1
    return end


@inlined
def differing_pairs(key: Floats, weight: Floats, first: int, last: int) -> float:
    """Return the weight of the pairs whose keys, which are sorted, differ.

    A sum of positive terms: what would be subtracted might be all there is.
    """
    total, above = 0.0, 0.0
    start = first
    while start < last:
        end = end_of_ties(key, start, last, False)
        level = 0.0
        for i in range(start, end):
            level += weight[i]
        total += above * level
        above += level
        start = end
    return total


@compiled
def pairs(
    offsets: Ints,
    first: int,
    last: int,
    score: Floats,
    truth: Floats,
    weight: Floats,
    spare: Floats,
    spare_weight: Floats,
    broken: bool,
    counts: Floats,
) -> None:
    """Sum the weights of the pairs of each list, which is sorted by score, best first.

    score, truth and weight (n,) in that order; truth and weight are changed. Writes
    to counts (q, 3) the weight of the pairs whose truths differ: in the wrong order,
    of equal scores (none if `broken`), and of all. spare and spare_weight (n,) are
    scratch. O(n log n).
    """
    for q in range(first, last):
        a, b = offsets[q], offsets[q + 1]
        counts[q, 1] = 0.0
        start = a
        while start < b:
            end = end_of_ties(score, start, b, broken)
            if end - start > 1:
                # Truths in descending order, so that none is in the wrong one.
                sort(truth, weight, spare, spare_weight, start, end)
                counts[q, 1] += differing_pairs(truth, weight, start, end)
            start = end
        counts[q, 0] = sort(truth, weight, spare, spare_weight, a, b)
        counts[q, 2] = differing_pairs(truth, weight, a, b)


@compiled
def graded_pairs(
    offsets: Ints,
    first: int,
    last: int,
    score: Floats,
    grade: Ints,
    weight: Floats,
    above: Floats,
    group: Floats,
    broken: bool,
    counts: Floats,
) -> None:
    """Compute the same as `pairs` for few grades 0..g-1.

    above and group (g,) are scratch. O(n + lists * g) and g for each group of ties.
    """
    n_grades = above.shape[0]
    for q in range(first, last):
        a, b = offsets[q], offsets[q + 1]
        for g in range(n_grades):
            above[g] = 0.0
        wrong, tied = 0.0, 0.0
        start = a
        while start < b:
            end = end_of_ties(score, start, b, broken)
            if end - start == 1:
                for g in range(grade[start]):
                    wrong += above[g] * weight[start]
                above[grade[start]] += weight[start]
            else:
                for g in range(n_grades):
                    group[g] = 0.0
                for i in range(start, end):
                    group[grade[i]] += weight[i]
                above_sum, tied_sum = 0.0, 0.0
                for g in range(n_grades):
                    wrong += above_sum * group[g]
                    tied += tied_sum * group[g]
                    above_sum += above[g]
                    tied_sum += group[g]
                for g in range(n_grades):
                    above[g] += group[g]
            start = end
        total, lower = 0.0, 0.0
        for g in range(n_grades):
            total += lower * above[g]
            lower += above[g]
        counts[q, 0] = wrong
        counts[q, 1] = tied
        counts[q, 2] = total


@compiled
def differences(
    offsets: Ints,
    first: int,
    last: int,
    error: Floats,
    weight: Floats,
    squared: Floats,
    absolute: Floats,
) -> None:
    """Write the mean differences of errors, sorted in each list, over ordered pairs.

    squared and absolute (q,): the means of the squared and of the absolute ones, each
    pair weighted by the product of its weights, pairs of a row with itself included.
    """
    for q in range(first, last):
        a, b = offsets[q], offsets[q + 1]
        total, mean = 0.0, 0.0
        for i in range(a, b):
            total += weight[i]
            mean += weight[i] * error[i]
        mean = mean / total if total > 0.0 else np.nan
        square, gaps, passed, sum_passed = 0.0, 0.0, 0.0, 0.0
        for i in range(a, b):
            gap = error[i] - mean
            square += weight[i] * gap * gap
            # Sorted, so the absolute value is known: descending, or ascending.
            gaps += weight[i] * (sum_passed - passed * gap)
            passed += weight[i]
            sum_passed += weight[i] * gap
        squared[q] = 2.0 * square / total
        absolute[q] = 2.0 * abs(gaps) / (total * total)
