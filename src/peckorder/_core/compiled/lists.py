"""Ranked lists: sorting them, and counting their pairs.

`offsets` (q+1,) cut an array into lists. Each function handles the lists
``first..last``, so that threads can share them.
"""

from typing import Any, TypeAlias

import numpy as np

from peckorder._core.compiled.jit import compiled, inlined
from peckorder._core.typing import Floats, Ints

# An array, or None for ones: Numba compiles a function for each, without the branches
# of the other. Ones are integers, and half of the memory is moved.
Items: TypeAlias = Any
# Runs as short as this are sorted by insertion.
_RUN = 16


@inlined
def item_at(item: Items, i: int) -> Any:
    """Return an item, or 1."""
    return 1 if item is None else item[i]


@inlined
def merge(
    key: Floats, item: Items, to_key: Floats, to_item: Items, first: int, middle: int, last: int
) -> float:
    """Merge two runs, sorted descending, into the same positions of other arrays.

    Stable. Returns the sum, over pairs whose left key is smaller than their right one,
    of the products of their items.
    """
    # Items taken from the right so far are larger than what remains of the left. Only
    # sums, no differences, which might cancel.
    zero = 0 if item is None else 0.0
    taken, out = zero, zero
    i, j, position = first, middle, first
    while i < middle and j < last:
        # Without a branch on the keys, which could not be predicted.
        is_left = key[i] >= key[j]
        if item is None:
            to_key[position] = key[i] if is_left else key[j]
            out += 0 if is_left else middle - i
        else:
            from_ = i if is_left else j
            to_key[position] = key[from_]
            weight = item[from_]
            to_item[position] = weight
            out += taken * weight if is_left else 0.0
            taken += 0.0 if is_left else weight
        i += is_left
        j += not is_left
        position += 1
    while i < middle:
        to_key[position] = key[i]
        if to_item is not None:
            to_item[position] = item[i]
            out += taken * item[i]
        i += 1
        position += 1
    while j < last:
        to_key[position] = key[j]
        if to_item is not None:
            to_item[position] = item[j]
        j += 1
        position += 1
    return out


@inlined
def sort(
    key: Floats, item: Items, spare_key: Floats, spare_item: Items, first: int, last: int
) -> float:
    """Sort keys descending in the positions first..last, their items with them; stable.

    Returns the sum, over pairs that were out of order, of the products of their items.
    """
    out = 0 if item is None else 0.0
    start = first
    while start < last:
        end = min(start + _RUN, last)
        for i in range(start + 1, end):
            k, w = key[i], item_at(item, i)
            j = i - 1
            while j >= start and key[j] < k:
                out += item_at(item, j) * w
                key[j + 1] = key[j]
                if item is not None:
                    item[j + 1] = item[j]
                j -= 1
            key[j + 1] = k
            if item is not None:
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
            if item is not None:
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
def differing_pairs(key: Floats, weight: Items, first: int, last: int) -> float:
    """Return the weight of the pairs whose keys, which are sorted, differ.

    A sum of positive terms: what would be subtracted might be all there is.
    """
    zero = 0 if weight is None else 0.0
    total, above = zero, zero
    start = first
    while start < last:
        end = end_of_ties(key, start, last, False)
        level = zero
        for i in range(start, end):
            level += item_at(weight, i)
        total += above * level
        above += level
        start = end
    return total


@inlined
def sort_ties(
    score: Floats,
    truth: Floats,
    weight: Items,
    spare: Floats,
    spare_weight: Items,
    first: int,
    last: int,
) -> Any:
    """Sort the truths of equal scores, best first: none is in the wrong order then.

    Returns the weight of their pairs that differ.
    """
    tied = 0 if weight is None else 0.0
    start = first
    while start < last:
        end = end_of_ties(score, start, last, False)
        if end - start > 1:
            sort(truth, weight, spare, spare_weight, start, end)
            tied += differing_pairs(truth, weight, start, end)
        start = end
    return tied


@compiled
def pairs(
    offsets: Ints,
    first: int,
    last: int,
    score: Floats,
    truth: Floats,
    weight: Items,
    spare: Floats,
    spare_weight: Items,
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
        if not broken:
            counts[q, 1] = sort_ties(score, truth, weight, spare, spare_weight, a, b)
        counts[q, 0] = sort(truth, weight, spare, spare_weight, a, b)
        counts[q, 2] = differing_pairs(truth, weight, a, b)


@compiled
def sort_part(
    score: Floats, truth: Floats, spare: Floats, first: int, last: int, broken: bool
) -> tuple[float, float]:
    """Sort the truths of a part of a list; return pairs in the wrong order, and tied."""
    tied = 0 if broken else sort_ties(score, truth, None, spare, None, first, last)
    return sort(truth, None, spare, None, first, last), tied


@compiled
def join_parts(truth: Floats, spare: Floats, middle: int) -> tuple[float, float]:
    """Merge two sorted parts into `spare`; return pairs in the wrong order, and all."""
    last = truth.shape[0]
    wrong = merge(truth, None, spare, None, 0, middle, last)
    return wrong, differing_pairs(spare, None, 0, last)


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
