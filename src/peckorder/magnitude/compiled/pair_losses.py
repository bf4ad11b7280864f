"""Losses of pairs and their slopes, without a loop over pairs.

These losses depend on errors alone; those in `label_pair_losses` on labels too.

`offsets` (q+1,) divide rows into queries. Functions work on the queries
``first..last``, so that threads can share them. Sums over pairs are of ordered pairs
(i, j): each two rows count twice.

Sums over the rows above a row follow from those of the row before: for a step by t,
with W, D and Q the sums of w, w gap and w gap**2 over them, ``Q += 2 t D + t**2 W`` and
``D += t W``. Nothing is subtracted, so nothing cancels.
"""

from typing import NamedTuple

import numpy as np

from peckorder._core.compiled.jit import compiled, inlined
from peckorder._core.compiled.lists import sort
from peckorder._core.typing import Floats, Ints


class ErrorRows(NamedTuple):
    """Errors and weights of rows (n,), and an order of the rows of each query (n,)."""

    error: Floats
    weight: Floats
    order: Ints


@inlined
def middle_value(values: Floats, weight: Floats, first: int, last: int) -> float:
    """Return the value nearest to the weighted mean, of rows with positive weight.

    One of the values, not the mean, so that exact differences stay exact.
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


@compiled
def errors(
    offsets: Ints, first: int, last: int, scores: Floats, y: Floats, weight: Floats, error: Floats
) -> None:
    """Write to error (n,) scores less truths, up to one constant per query.

    Both are shifted near zero first: losses of pairs do not depend on a constant, but a
    large one would cost digits. O(n).
    """
    for q in range(first, last):
        a, b = offsets[q], offsets[q + 1]
        score, truth = middle_value(scores, weight, a, b), middle_value(y, weight, a, b)
        for i in range(a, b):
            error[i] = (scores[i] - score) - (y[i] - truth)


@compiled
def lift(
    offsets: Ints,
    first: int,
    last: int,
    y: Floats,
    weight: Floats,
    top_weight: float,
    lifted: Floats,
) -> None:
    """Write to lifted (n,) the weights of rows in pairs with rows of no larger y.

    The weight times ``1 + top_weight t``, with t from 0 at the lowest to 1 at the
    highest y of the rows of a query with positive weight; 0 if all are equal. O(n).
    """
    for q in range(first, last):
        a, b = offsets[q], offsets[q + 1]
        low, high = np.inf, -np.inf
        for i in range(a, b):
            if weight[i] > 0.0:
                low, high = min(low, y[i]), max(high, y[i])
        for i in range(a, b):
            lifted[i] = weight[i]
            if weight[i] > 0.0 and high > low:
                lifted[i] += weight[i] * (top_weight * ((y[i] - low) / (high - low)))


@inlined
def squares(error: Floats, weight: Floats, first: int, last: int, gradient: Floats) -> float:
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


@inlined
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
    """Sum the losses of rows with the rows beyond their band on one side.

    s, weight and slope are visited from `start` on, n of them, by steps of 1 where s
    descends or of -1 where it ascends. Adds to slope, which is the derivative with
    respect to s over the power and the row's weight, and returns the loss, each pair
    once.
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


@compiled
def band(
    offsets: Ints,
    first: int,
    last: int,
    rows: ErrorRows,
    epsilon: float,
    power: int,
    work: Floats,
    gradient: Floats,
    value: Floats,
) -> None:
    """Sum ``max(0, |error_j - error_i| - epsilon)**power`` over pairs of each query.

    A pair weighs the product of its rows' weights. power is 1 or 2. Writes to value
    (q,) the sums, to gradient (n,) their slopes in the errors, zero at kinks; sorts the
    order of rows by error, descending. work (3, n) is scratch. O(n log n); squares
    without a band need no order, O(n).
    """
    error, weight, order = rows.error, rows.weight, rows.order
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
        # Both sides have the same pairs.
        one_side(s, other, b - 1, b - a, -1, epsilon, power, slope)
        value[q] = 2.0 * one_side(s, other, a, b - a, 1, epsilon, power, slope)
        for i in range(a, b):
            gradient[order[i]] = 2.0 * power * other[i] * slope[i]
