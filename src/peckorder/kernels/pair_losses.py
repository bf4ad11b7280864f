"""Losses of pairs and their slopes, without a loop over pairs.

`offsets` (q+1,) cut rows into queries. Kernels do the queries ``first..last`` of them,
so that threads can share the queries. Sums over pairs are of ordered pairs (i, j): each
two rows count twice.

What a row has to do with the rows above it is known from what the row before had to do
with them: for a step by t, with W, D and Q the sums of w, w gap and w gap**2 over them,
``Q += 2 t D + t**2 W`` and ``D += t W``. Nothing is subtracted that might cancel.
"""

from typing import Any

import numpy as np

from peckorder._typing import Floats, Ints
from peckorder.kernels._jit import kernel, part
from peckorder.kernels.lists import end_of_ties, sort

# The fields of a row in the tables of `discordant`: together they are moved at once.
KEY, WEIGHT, SLOPE, PLACE = 0, 1, 2, 3
# As few rows as this are compared one with another.
_FEW = 16


@part
def middle_value(values: Floats, weight: Floats, first: int, last: int) -> float:
    """Return the value nearest to the weighted mean, of rows that weigh anything.

    One of the values, not the mean: what is exact in differences of them stays so.
    """
    total, mean = 0.0, 0.0
    for i in range(first, last):
        if weight[i] > 0.0:
            total += weight[i]
            mean += (values[i] - mean) * (weight[i] / total)
    nearest, distance = 0.0, -1.0
    for i in range(first, last):
        gap = abs(values[i] - mean)
        if weight[i] > 0.0 and (distance < 0.0 or gap < distance):
            nearest, distance = values[i], gap
    return nearest


@kernel
def errors(
    offsets: Ints,
    first: int,
    last: int,
    scores: Floats,
    y: Floats,
    weight: Floats,
    error: Floats,
) -> None:
    """Write to error (n,) scores less truths, but for a constant a query.

    Both are brought near zero first: losses of pairs do not see a constant, but a large
    one would cost digits. O(n).
    """
    for q in range(first, last):
        a, b = offsets[q], offsets[q + 1]
        score, truth = middle_value(scores, weight, a, b), middle_value(y, weight, a, b)
        for i in range(a, b):
            error[i] = (scores[i] - score) - (y[i] - truth)


@part
def squares(
    error: Floats, weight: Floats, first: int, last: int, gradient: Floats
) -> float:
    """Do what `band` does for squares without a band: no need to sort."""
    total, mean = 0.0, 0.0
    for i in range(first, last):
        total += weight[i]
        mean += weight[i] * error[i]
    mean = mean / total if total > 0.0 else 0.0
    loss = 0.0
    for i in range(first, last):
        gap = error[i] - mean
        loss += weight[i] * gap * gap
        gradient[i] = 4.0 * total * weight[i] * gap
    return 2.0 * total * loss


@part
def one_side(
    s: Floats,
    weight: Floats,
    start: int,
    n: int,
    step: int,
    epsilon: float,
    power: int,
    slope: Floats,
) -> float:
    """Add up what rows have to do with those beyond their band on one side.

    s, weight and slope are visited from `start` on, n of them, by steps of 1 where s
    descends or of -1 where it ascends. Adds to slope, which is the derivative with
    respect to s over the power and the row's own weight, and returns the loss, each
    pair once.
    """
    sign = -1.0 if step > 0 else 1.0
    total, gaps, loss = 0.0, 0.0, 0.0
    beyond, square, before = start, 0.0, s[start]
    for k in range(n):
        i = start + step * k
        move = abs(before - s[i])
        before = s[i]
        square += move * (2.0 * gaps + total * move)
        gaps += total * move
        # The row itself is never beyond, so this ends.
        gap = abs(s[beyond] - s[i]) - epsilon
        while gap > 0.0:
            total += weight[beyond]
            gaps += weight[beyond] * gap
            square += weight[beyond] * gap * gap
            beyond += step
            gap = abs(s[beyond] - s[i]) - epsilon
        slope[i] += sign * (total if power == 1 else gaps)
        loss += weight[i] * (gaps if power == 1 else square)
    return loss


@kernel
def band(
    offsets: Ints,
    first: int,
    last: int,
    error: Floats,
    weight: Floats,
    epsilon: float,
    power: int,
    order: Ints,
    work: Floats,
    gradient: Floats,
    value: Floats,
) -> None:
    """Sum ``max(0, |error_j - error_i| - epsilon)**power`` over pairs of each query.

    error and weight (n,); a pair weighs the product of its rows' weights. power is 1 or
    2. Writes to value (q,) the sums, to gradient (n,) their slopes in `error`, zero at
    kinks. order (n,) holds the rows of each query in any order; they are sorted by
    error, descending, unless they are so already. work (3, n) is scratch. O(n log n);
    squares without a band need no order, O(n).
    """
    s, other, slope = work[0], work[1], work[2]
    for q in range(first, last):
        a, b = offsets[q], offsets[q + 1]
        value[q] = 0.0
        if a == b:
            continue
        if power == 2 and epsilon == 0.0:
            value[q] = squares(error, weight, a, b, gradient)
            continue
        is_sorted = True
        for i in range(a, b):
            s[i] = error[order[i]]
            is_sorted &= i == a or s[i - 1] >= s[i]
        if not is_sorted:
            for i in range(a, b):
                slope[i] = order[i]
            sort(s, slope, other, gradient, a, b)
            for i in range(a, b):
                order[i] = int(slope[i])
        for i in range(a, b):
            other[i] = weight[order[i]]
            slope[i] = 0.0
        # Both sides see the same pairs.
        one_side(s, other, b - 1, b - a, -1, epsilon, power, slope)
        value[q] = 2.0 * one_side(s, other, a, b - a, 1, epsilon, power, slope)
        for i in range(a, b):
            gradient[order[i]] = 2.0 * power * other[i] * slope[i]


@part
def among_few(
    y: Floats,
    key: Floats,
    values: Floats,
    weight: Floats,
    first: int,
    last: int,
    power: int,
    slope: Floats,
) -> float:
    """Do what `between` does for all pairs of a few rows, one by one."""
    loss = 0.0
    for j in range(first + 1, last):
        for i in range(first, j):
            if y[i] < y[j] and key[i] > key[j]:
                gap = values[i] - values[j]
                rise = 1.0 if power == 1 else gap
                slope[i] += weight[j] * rise
                slope[j] -= weight[i] * rise
                loss += weight[i] * weight[j] * gap * rise
    return loss


@part
def move_row(table: Floats, from_: Any, to: Floats, place: Any) -> None:
    """Copy the four fields of a row."""
    to[place, KEY] = table[from_, KEY]
    to[place, WEIGHT] = table[from_, WEIGHT]
    to[place, SLOPE] = table[from_, SLOPE]
    to[place, PLACE] = table[from_, PLACE]


@part
def merge(table: Floats, to: Floats, first: int, middle: int, last: int) -> None:
    """Merge two runs, keys descending, into the same places of another table.

    Of equal keys those of the right run come first.
    """
    # Unsigned, so that no place is looked at for being one from the end.
    i, j, place = np.uintp(first), np.uintp(middle), np.uintp(first)
    while i < middle and j < last:
        # Without a branch on the keys, which could not be predicted.
        is_left = table[i, KEY] > table[j, KEY]
        move_row(table, i if is_left else j, to, place)
        i += np.uintp(is_left)
        j += np.uintp(not is_left)
        place += np.uintp(1)
    i = i if i < middle else j
    while place < last:
        move_row(table, i, to, place)
        i += np.uintp(1)
        place += np.uintp(1)


@part
def between(
    table: Floats,
    values: Floats,
    is_key: bool,
    first: int,
    middle: int,
    last: int,
    power: int,
) -> float:
    """Add the slopes of pairs of two runs, now one; return their loss, each pair once.

    Keys descend, and of the rows those in places below `middle` should have the lower
    ones. Slopes are as in `one_side`. `is_key` if values are the keys.
    """
    total, gaps, square, loss = 0.0, 0.0, 0.0, 0.0
    before = values[int(table[first, PLACE])]
    for i in range(np.uintp(first), np.uintp(last)):
        here = table[i, KEY] if is_key else values[int(table[i, PLACE])]
        move, before = before - here, here
        square += move * (2.0 * gaps + total * move)
        gaps += total * move
        # A factor in place of a branch.
        upper = 1.0 if table[i, PLACE] >= middle else 0.0
        weight = upper * table[i, WEIGHT]
        table[i, SLOPE] -= upper * (total if power == 1 else gaps)
        loss += weight * (gaps if power == 1 else square)
        total += table[i, WEIGHT] - weight
    total, gaps = 0.0, 0.0
    for k in range(np.uintp(last - first)):
        j = np.uintp(last - 1) - k
        here = table[j, KEY] if is_key else values[int(table[j, PLACE])]
        gaps += total * (here - before)
        before = here
        lower = 1.0 if table[j, PLACE] < middle else 0.0
        table[j, SLOPE] += lower * (total if power == 1 else gaps)
        total += table[j, WEIGHT] - lower * table[j, WEIGHT]
    return loss


@part
def first_runs(
    y: Floats,
    key: Floats,
    values: Floats,
    weight: Floats,
    first: int,
    last: int,
    power: int,
    spares: Floats,
    ends: Ints,
    slope: Floats,
    table: Floats,
) -> tuple[int, float]:
    """Write to `table` rows in runs, keys descending, y the lower the earlier the run.

    A run has the rows of one y, or of several that are few. Writes where the runs end;
    returns their number, and the loss of pairs within them.
    """
    s, place, spare_s, spare_place = spares[0], spares[1], spares[2], spares[3]
    n_runs, loss, start = 0, 0.0, first
    for i in range(first, last):
        s[i] = key[i]
        place[i] = i
        slope[i] = 0.0
    while start < last:
        end = end_of_ties(y, start, last, False)
        while end < last:
            further = end_of_ties(y, end, last, False)
            if further - start > _FEW:
                break
            end = further
        if end - start <= _FEW:
            loss += among_few(y, key, values, weight, start, end, power, slope)
        sort(s, place, spare_s, spare_place, start, end)
        ends[first + n_runs] = end
        n_runs, start = n_runs + 1, end
    for i in range(first, last):
        row = int(place[i])
        table[i, KEY] = s[i]
        table[i, WEIGHT] = weight[row]
        table[i, SLOPE] = slope[row]
        table[i, PLACE] = row
    return n_runs, loss


@kernel
def discordant(
    offsets: Ints,
    first: int,
    last: int,
    y: Floats,
    key: Floats,
    values: Floats,
    is_key: bool,
    weight: Floats,
    power: int,
    spares: Floats,
    work: Floats,
    ends: Ints,
    gradient: Floats,
    value: Floats,
) -> None:
    """Sum ``(values_i - values_j)**power`` over pairs with y_i < y_j, key_i > key_j.

    All of them (n,), rows in the order of y, ascending, in each query. The difference
    must not be negative for such a pair, as it is not if values are the keys, which
    `is_key` tells. Writes to value (q,) the sums over ordered pairs, to gradient (n,)
    their slopes in `values`. A pair weighs the product of its rows' weights. power is 1
    or 2; spares (4, n), work (2, n, 4) and ends (n,) are scratch.

    Rows of equal y are sorted by key, and the groups merged two by two. O(n log n).
    """
    for q in range(first, last):
        a, b = offsets[q], offsets[q + 1]
        side = 0
        n_runs, loss = first_runs(
            y, key, values, weight, a, b, power, spares, ends, gradient, work[side]
        )
        while n_runs > 1:
            table, to = work[side], work[1 - side]
            start = a
            for r in range(0, n_runs, 2):
                middle = ends[a + r]
                end = ends[a + r + 1] if r + 1 < n_runs else middle
                merge(table, to, start, middle, end)
                if middle < end:
                    loss += between(to, values, is_key, start, middle, end, power)
                ends[a + r // 2] = end
                start = end
            n_runs, side = (n_runs + 1) // 2, 1 - side
        value[q] = 2.0 * loss
        for i in range(a, b):
            place = int(work[side, i, PLACE])
            gradient[place] = 2.0 * power * weight[place] * work[side, i, SLOPE]
