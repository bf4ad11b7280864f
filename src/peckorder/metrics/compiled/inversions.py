"""Pairs of a ranked list that are in the wrong order, counted by sorting it.

Without weights: the counts are integers, and half of the memory is moved.
"""

from peckorder._core.compiled.jit import compiled, inlined
from peckorder._core.compiled.lists import end_of_ties
from peckorder._core.typing import Floats, Ints

# Runs as short as this are sorted by insertion.
_RUN = 16


@inlined
def merge(key: Floats, to_key: Floats, first: int, middle: int, last: int) -> int:
    """Merge two runs, sorted descending; return the pairs with a smaller left key."""
    out = 0
    i, j, place = first, middle, first
    while i < middle and j < last:
        # Without a branch on the keys, which could not be predicted.
        left, right = key[i], key[j]
        is_left = left >= right
        to_key[place] = left if is_left else right
        # What is left of the left run is smaller than what is taken from the right.
        out += 0 if is_left else middle - i
        i += is_left
        j += not is_left
        place += 1
    while i < middle:
        to_key[place] = key[i]
        i += 1
        place += 1
    while j < last:
        to_key[place] = key[j]
        j += 1
        place += 1
    return out


@inlined
def sort(key: Floats, spare: Floats, first: int, last: int) -> int:
    """Sort keys descending in the places first..last; return the pairs out of order."""
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
def settle_ties(
    score: Floats, truth: Floats, spare: Floats, first: int, last: int
) -> int:
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
    """Do what `lists.pairs` does, every row weighing one. spare (n,) is scratch."""
    for q in range(first, last):
        a, b = offsets[q], offsets[q + 1]
        counts[q, 1] = 0 if broken else settle_ties(score, truth, spare, a, b)
        counts[q, 0] = sort(truth, spare, a, b)
        counts[q, 2] = (b - a) * (b - a - 1) // 2 - equal_pairs(truth, a, b)


@compiled
def tied_pairs(
    score: Floats, truth: Floats, spare: Floats, first: int, last: int
) -> int:
    """Prepare a list too long for one thread: see `settle_ties`."""
    return settle_ties(score, truth, spare, first, last)


@compiled
def sort_part(key: Floats, spare: Floats, first: int, last: int) -> int:
    """Sort a part of a list; return its pairs that were out of order."""
    return sort(key, spare, first, last)


@compiled
def join_parts(
    key: Floats, spare: Floats, first: int, middle: int, last: int
) -> tuple[int, int]:
    """Merge two sorted parts into `spare`; return pairs out of order, and equal."""
    out = merge(key, spare, first, middle, last)
    return out, equal_pairs(spare, first, last)
