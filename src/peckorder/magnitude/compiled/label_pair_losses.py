"""Losses of pairs that depend on which label is the larger, and their slopes.

Arguments are as in `svrank`, but the rows of each query are in the order of y,
ascending. They are sorted by `key` in short runs, which are merged two by two; at each
merge the rows of one run have no larger labels than those of the other. O(n log n).

A pair weighs the weight of the row of the smaller label times the *lifted* weight of
the other (of equal ones, the later), which is its weight unless the top counts more.
"""

from typing import Any, NamedTuple

import numpy as np

from peckorder._core.compiled.jit import compiled, inlined
from peckorder._core.compiled.lists import end_of_ties, sort
from peckorder._core.typing import Floats, Ints

# The fields of a row in a table, which are moved together. The last one may be absent,
# if lifted weights are the weights.
KEY, WEIGHT, SLOPE, ROW, LIFTED = 0, 1, 2, 3, 4
# Pairs of so few rows are compared one by one.
_FEW = 16


class LabelledRows(NamedTuple):
    """Columns (n,) of rows: what pairs are compared by, what losses are of, weights."""

    y: Floats
    key: Floats
    values: Floats
    weight: Floats
    lifted: Floats


class Scratch(NamedTuple):
    """Memory to work in: spares (4, n), tables (2, n, 4 or 5) and ends (n,).

    Lifted weights other than the weights need the fifth field of tables.
    """

    spares: Floats
    tables: Floats
    ends: Ints


@inlined
def lifted_field(table: Floats) -> int:
    """Return the field of lifted weights."""
    return LIFTED if table.shape[1] > LIFTED else WEIGHT


@inlined
def move_row(table: Floats, source: Any, to: Floats, target: Any) -> None:
    """Copy the fields of a row."""
    to[target, KEY] = table[source, KEY]
    to[target, WEIGHT] = table[source, WEIGHT]
    to[target, SLOPE] = table[source, SLOPE]
    to[target, ROW] = table[source, ROW]
    if table.shape[1] > LIFTED:
        to[target, LIFTED] = table[source, LIFTED]


@inlined
def merge(table: Floats, to: Floats, first: int, middle: int, last: int) -> None:
    """Merge two runs, keys descending, into the same rows of another table.

    Of equal keys those of the right run come first.
    """
    # Unsigned, so that no index is checked for being negative.
    i, j, target = np.uintp(first), np.uintp(middle), np.uintp(first)
    while i < middle and j < last:
        # Without a branch on the keys, which could not be predicted.
        is_left = table[i, KEY] > table[j, KEY]
        move_row(table, i if is_left else j, to, target)
        i += np.uintp(is_left)
        j += np.uintp(not is_left)
        target += np.uintp(1)
    i = i if i < middle else j
    while target < last:
        move_row(table, i, to, target)
        i += np.uintp(1)
        target += np.uintp(1)


@inlined
def fill(
    s: Floats,
    order: Floats,
    rows: LabelledRows,
    slope: Floats,
    first: int,
    last: int,
    table: Floats,
) -> None:
    """Write rows to a table, in the given order, with their keys `s`."""
    for i in range(first, last):
        row = int(order[i])
        table[i, KEY] = s[i]
        table[i, WEIGHT] = rows.weight[row]
        table[i, SLOPE] = slope[row]
        table[i, ROW] = row
        table[i, lifted_field(table)] = rows.lifted[row]


@inlined
def discordant_few(rows: LabelledRows, first: int, last: int, power: int, slope: Floats) -> float:
    """Do what `discordant_between` does for all pairs of a few rows, one by one."""
    y, key, values = rows.y, rows.key, rows.values
    loss = 0.0
    for j in range(first + 1, last):
        for i in range(first, j):
            if y[i] < y[j] and key[i] > key[j]:
                gap = values[i] - values[j]
                rise = rows.weight[i] * rows.lifted[j] * (1.0 if power == 1 else gap)
                slope[i] += rise
                slope[j] -= rise
                loss += gap * rise
    return loss


@inlined
def discordant_between(
    table: Floats, values: Floats, is_key: bool, first: int, middle: int, last: int, power: int
) -> float:
    """Add the slopes of pairs of two runs, now one; return their loss, each pair once.

    Keys descend; rows numbered below `middle` should have the lower ones. Slopes are
    derivatives over the power. `is_key` if values are the keys.
    """
    lifted = lifted_field(table)
    total, gaps, square, loss = 0.0, 0.0, 0.0, 0.0
    before = values[int(table[first, ROW])]
    for i in range(np.uintp(first), np.uintp(last)):
        here = table[i, KEY] if is_key else values[int(table[i, ROW])]
        move, before = before - here, here
        square += move * (2.0 * gaps + total * move)
        gaps += total * move
        # A factor in place of a branch.
        upper = 1.0 if table[i, ROW] >= middle else 0.0
        weight = upper * table[i, lifted]
        table[i, SLOPE] -= weight * (total if power == 1 else gaps)
        loss += weight * (gaps if power == 1 else square)
        total += (1.0 - upper) * table[i, WEIGHT]
    total, gaps = 0.0, 0.0
    for k in range(np.uintp(last - first)):
        j = np.uintp(last - 1) - k
        here = table[j, KEY] if is_key else values[int(table[j, ROW])]
        gaps += total * (here - before)
        before = here
        lower = 1.0 if table[j, ROW] < middle else 0.0
        weight = lower * table[j, WEIGHT]
        table[j, SLOPE] += weight * (total if power == 1 else gaps)
        total += (1.0 - lower) * table[j, lifted]
    return loss


@inlined
def discordant_runs(
    rows: LabelledRows,
    first: int,
    last: int,
    power: int,
    scratch: Scratch,
    slope: Floats,
    table: Floats,
) -> tuple[int, float]:
    """Write to `table` rows in runs, keys descending, y the lower the earlier the run.

    A run has the rows of one y, or of several that are few. Writes the ends of the
    runs; returns their number, and the loss of pairs within them.
    """
    spares, y = scratch.spares, rows.y
    s, order, spare_s, spare_order = spares[0], spares[1], spares[2], spares[3]
    n_runs, loss, start = 0, 0.0, first
    for i in range(first, last):
        s[i] = rows.key[i]
        order[i] = i
        slope[i] = 0.0
    while start < last:
        end = end_of_ties(y, start, last, False)
        while end < last:
            next_end = end_of_ties(y, end, last, False)
            if next_end - start > _FEW:
                break
            end = next_end
        if end - start <= _FEW:
            loss += discordant_few(rows, start, end, power, slope)
        sort(s, order, spare_s, spare_order, start, end)
        scratch.ends[first + n_runs] = end
        n_runs, start = n_runs + 1, end
    fill(s, order, rows, slope, first, last, table)
    return n_runs, loss


@compiled
def discordant(
    offsets: Ints,
    first: int,
    last: int,
    rows: LabelledRows,
    is_key: bool,
    power: int,
    scratch: Scratch,
    gradient: Floats,
    value: Floats,
) -> None:
    """Sum ``(values_i - values_j)**power`` over pairs with y_i < y_j, key_i > key_j.

    The difference must not be negative for such a pair, as it is not if values are the
    keys (`is_key`). Writes to value (q,) the sums over ordered pairs, to gradient (n,)
    their slopes in `values`. power is 1 or 2.
    """
    work, ends, values = scratch.tables, scratch.ends, rows.values
    for q in range(first, last):
        a, b = offsets[q], offsets[q + 1]
        side = 0
        n_runs, loss = discordant_runs(rows, a, b, power, scratch, gradient, work[side])
        while n_runs > 1:
            table, to = work[side], work[1 - side]
            start = a
            for r in range(0, n_runs, 2):
                middle = ends[a + r]
                end = ends[a + r + 1] if r + 1 < n_runs else middle
                merge(table, to, start, middle, end)
                if middle < end:
                    loss += discordant_between(to, values, is_key, start, middle, end, power)
                ends[a + r // 2] = end
                start = end
            n_runs, side = (n_runs + 1) // 2, 1 - side
        value[q] = 2.0 * loss
        for i in range(a, b):
            row = int(work[side, i, ROW])
            gradient[row] = 2.0 * power * work[side, i, SLOPE]


@inlined
def band_few(
    rows: LabelledRows, first: int, last: int, epsilon: float, power: int, slope: Floats
) -> float:
    """Do what `band_between` does for all pairs of a few rows, one by one."""
    error, loss = rows.key, 0.0
    for j in range(first + 1, last):
        for i in range(first, j):
            gap = abs(error[i] - error[j]) - epsilon
            if gap > 0.0:
                rise = rows.weight[i] * rows.lifted[j] * (1.0 if power == 1 else gap)
                loss += gap * rise
                rise = rise if error[i] > error[j] else -rise
                slope[i] += rise
                slope[j] -= rise
    return loss


@inlined
def band_between(
    table: Floats, first: int, middle: int, last: int, descends: bool, epsilon: float, power: int
) -> float:
    """Sum the losses of rows of either run with those of the other, on one side.

    As `svrank.one_side` does for one run: rows are visited in the order of keys,
    descending or not. Rows below `middle` are of the run of smaller labels.
    Adds to slopes, and returns the loss, each pair once.
    """
    lifted, sign = lifted_field(table), -1.0 if descends else 1.0
    # Of the rows beyond the band: those of smaller labels, and of larger ones.
    total, gaps, square = 0.0, 0.0, 0.0
    top_total, top_gaps, top_square = 0.0, 0.0, 0.0
    # Unsigned, so that no index is checked for being negative.
    start, end, n_beyond = np.uintp(first), np.uintp(last - 1), np.uintp(0)
    beyond = start if descends else end
    before, loss = table[beyond, KEY], 0.0
    for k in range(np.uintp(last - first)):
        i = start + k if descends else end - k
        here = table[i, KEY]
        move = abs(before - here)
        before = here
        square += move * (2.0 * gaps + total * move)
        gaps += total * move
        top_square += move * (2.0 * top_gaps + top_total * move)
        top_gaps += top_total * move
        # The row itself is never beyond, so this ends.
        gap = abs(table[beyond, KEY] - here) - epsilon
        while gap > 0.0:
            upper = 1.0 if table[beyond, ROW] >= middle else 0.0
            weight = (1.0 - upper) * table[beyond, WEIGHT]
            top = upper * table[beyond, lifted]
            total += weight
            gaps += weight * gap
            square += weight * gap * gap
            top_total += top
            top_gaps += top * gap
            top_square += top * gap * gap
            n_beyond += np.uintp(1)
            beyond = start + n_beyond if descends else end - n_beyond
            gap = abs(table[beyond, KEY] - here) - epsilon
        upper = 1.0 if table[i, ROW] >= middle else 0.0
        weight = (1.0 - upper) * table[i, WEIGHT]
        top = upper * table[i, lifted]
        by_gaps = top * gaps + weight * top_gaps
        by_one = top * total + weight * top_total
        table[i, SLOPE] += sign * (by_one if power == 1 else by_gaps)
        loss += by_gaps if power == 1 else top * square + weight * top_square
    return loss


@compiled
def lifted_band(
    offsets: Ints,
    first: int,
    last: int,
    rows: LabelledRows,
    epsilon: float,
    power: int,
    scratch: Scratch,
    gradient: Floats,
    value: Floats,
) -> None:
    """Do what `svrank.band` does, with lifted weights; errors are the keys.

    Writes to value (q,) the sums, to gradient (n,) their slopes in the errors.
    """
    spares, work = scratch.spares, scratch.tables
    s, order, spare_s, spare_order = spares[0], spares[1], spares[2], spares[3]
    for q in range(first, last):
        a, b = offsets[q], offsets[q + 1]
        for i in range(a, b):
            s[i] = rows.key[i]
            order[i] = i
            gradient[i] = 0.0
        loss = 0.0
        for start in range(a, b, _FEW):
            end = min(start + _FEW, b)
            loss += band_few(rows, start, end, epsilon, power, gradient)
            sort(s, order, spare_s, spare_order, start, end)
        fill(s, order, rows, gradient, a, b, work[0])
        side, width = 0, _FEW
        while width < b - a:
            table, to = work[side], work[1 - side]
            for start in range(a, b, 2 * width):
                middle, end = min(start + width, b), min(start + 2 * width, b)
                merge(table, to, start, middle, end)
                if middle < end:
                    # Both sides have the same pairs.
                    band_between(to, start, middle, end, False, epsilon, power)
                    loss += band_between(to, start, middle, end, True, epsilon, power)
            side, width = 1 - side, 2 * width
        value[q] = 2.0 * loss
        for i in range(a, b):
            row = int(work[side, i, ROW])
            gradient[row] = 2.0 * power * work[side, i, SLOPE]
