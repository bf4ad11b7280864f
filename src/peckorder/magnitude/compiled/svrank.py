"""SVRank: losses of pairs without a loop over pairs, and the best mixture of planes.

Losses here depend on errors alone; those in `label_pair_losses` on labels too.
`offsets` (q+1,) divide rows into queries. Functions work on the queries
``first..last``, so that threads can share them. Sums over pairs are of ordered pairs
(i, j): each two rows count twice.

Sums over the rows above a row follow from those of the row before: for a step by t,
with W, D and Q the sums of w, w gap and w gap**2 over them, ``Q += 2 t D + t**2 W`` and
``D += t W``. Nothing is subtracted, so nothing cancels.

The mixture of cutting planes is a concave quadratic over shares that add up to one. The
n planes in use come first in `order`; R has the Cholesky factor, ``R'R``, of their
``G / 2 + lift``. `lift` is added to all entries alike, which shares of a given sum do
not see; with it planes that are affinely independent are independent. As planes enter
and leave, the factor changes in O(n^2).
"""

from typing import NamedTuple

import numpy as np

from peckorder._core.compiled.jit import compiled, inlined, inlined_sum
from peckorder._core.compiled.lists import sort
from peckorder._core.typing import Floats, Ints

# A plane counts as a mixture of others if no more of its square remains than this.
_DEPENDENT = 1e-13
# A rise of this size, beside the terms it is a difference of, is rounding.
_NOISE = 1e-15


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


@inlined
def add_row(A: Floats, row: int, first: int, last: int, factor: float, to: Floats) -> None:
    """Add to `to` a factor times the columns first..last of a row."""
    i = np.uintp(row)
    for j in range(np.uintp(first), np.uintp(last)):
        to[j] += factor * A[i, j]


@inlined_sum
def row_product(A: Floats, row: int, first: int, last: int, x: Floats) -> float:
    """Return the product of the columns first..last of a row with x."""
    total, i = 0.0, np.uintp(row)
    for j in range(np.uintp(first), np.uintp(last)):
        total += A[i, j] * x[j]
    return total


@inlined
def rotate(A: Floats, row: int, first: int, last: int, cos: float, sin: float) -> None:
    """Rotate the columns first..last of a row and the row below it."""
    i, below = np.uintp(row), np.uintp(row + 1)
    for j in range(np.uintp(first), np.uintp(last)):
        a, b = A[i, j], A[below, j]
        A[i, j] = cos * a + sin * b
        A[below, j] = cos * b - sin * a


@inlined
def solve_lower(R: Floats, n: int, x: Floats) -> None:
    """Replace x (n,) by ``R'^-1 x``."""
    for i in range(n):
        x[i] /= R[i, i]
        add_row(R, i, i + 1, n, -x[i], x)


@inlined
def solve_upper(R: Floats, n: int, x: Floats) -> None:
    """Replace x (n,) by ``R^-1 x``."""
    for k in range(n):
        i = n - 1 - k
        x[i] = (x[i] - row_product(R, i, i + 1, n, x)) / R[i, i]


@inlined
def append(
    G: Floats, lift: float, order: Ints, n: int, plane: int, R: Floats, column: Floats
) -> bool:
    """Write a plane to the factor; return whether it is independent of the others."""
    square = G[plane, plane] / 2.0 + lift
    for i in range(n):
        column[i] = G[plane, order[i]] / 2.0 + lift
    solve_lower(R, n, column)
    rest = square
    for i in range(n):
        R[i, n] = column[i]
        rest -= column[i] * column[i]
    R[n, n] = np.sqrt(max(rest, 0.0))
    return bool(rest > _DEPENDENT * square)


@inlined
def remove(order: Ints, n: int, position: int, R: Floats) -> None:
    """Remove a plane from the order and, by rotations, from the factor."""
    for j in range(position, n - 1):
        order[j] = order[j + 1]
    for i in range(n):
        for j in range(np.uintp(max(position, i - 1)), np.uintp(n - 1)):
            R[i, j] = R[i, j + np.uintp(1)]
    for i in range(position, n - 1):
        a, b = R[i, i], R[i + 1, i]
        length = np.hypot(a, b)
        cos, sin = a / length, b / length
        R[i, i] = length
        rotate(R, i, i + 1, n - 1, cos, sin)


@inlined
def slopes(G: Floats, b: Floats, x: Floats, order: Ints, n: int, slope: Floats) -> None:
    """Write ``b - G x / 2`` for all planes to slope (T,)."""
    for t in range(len(b)):
        slope[t] = b[t]
    for i in range(n):
        add_row(G, order[i], 0, len(b), -x[order[i]] / 2.0, slope)


@inlined
def advance(x: Floats, order: Ints, n: int, move: Floats, longest: float) -> int:
    """Move the shares in use along `move` (n,), no further than to the first zero.

    Returns the position of the share that is zero, -1 if `longest` comes first. Shares
    do not move if nothing bounds the length.
    """
    leaves, length = -1, longest
    for i in range(n):
        if move[i] < 0.0 and x[order[i]] < -move[i] * length:
            leaves, length = i, x[order[i]] / -move[i]
    if length == np.inf:
        return -1
    total = 0.0
    for i in range(n):
        share = max(x[order[i]] + length * move[i], 0.0)
        x[order[i]] = 0.0 if i == leaves else share
        total += x[order[i]]
    for i in range(n):
        x[order[i]] /= total
    return leaves


@inlined
def climb(
    G: Floats, b: Floats, x: Floats, order: Ints, n: int, R: Floats, slope: Floats, work: Floats
) -> int:
    """Move to the best mixture of the planes in use; return how many remain in use.

    Those whose share would be negative leave. `slope` has the slopes, before and after.
    """
    move, ones = work[0], work[1]
    while True:
        for i in range(n):
            move[i] = slope[order[i]] - slope[order[0]]
            ones[i] = 1.0
        solve_lower(R, n, move)
        solve_upper(R, n, move)
        solve_lower(R, n, ones)
        solve_upper(R, n, ones)
        rise, total = 0.0, 0.0
        for i in range(n):
            rise += move[i]
            total += ones[i]
        for i in range(n):
            move[i] -= ones[i] * (rise / total)
        leaves = advance(x, order, n, move, 1.0)
        if leaves >= 0:
            remove(order, n, leaves, R)
            n -= 1
        slopes(G, b, x, order, n, slope)
        if leaves < 0:
            return n


@inlined
def exchange(
    G: Floats, lift: float, x: Floats, order: Ints, n: int, plane: int, R: Floats, work: Floats
) -> int:
    """Add a plane that is a mixture of those in use, of which one or more leave.

    Its column is in the factor. There is no curvature towards it: the move ends where a
    share is zero. Returns how many planes are in use then.
    """
    move = work[0]
    while True:
        for i in range(n):
            move[i] = -R[i, n]
        solve_upper(R, n, move)
        move[n] = 1.0
        order[n] = plane
        leaves = advance(x, order, n + 1, move, np.inf)
        if leaves < 0:
            return n
        remove(order, n, leaves, R)
        n -= 1
        if append(G, lift, order, n, plane, R, work[1]):
            order[n] = plane
            return n + 1


@inlined
def start(G: Floats, lift: float, x: Floats, order: Ints, R: Floats, work: Floats) -> int:
    """Write the factor of planes that have a share; return their number.

    Those that rounding has made mixtures of others lose theirs.
    """
    n, total = 0, 0.0
    for t in range(len(x)):
        if x[t] > 0.0 and append(G, lift, order, n, t, R, work[0]):
            order[n] = t
            n += 1
            total += x[t]
        else:
            x[t] = 0.0
    for i in range(n):
        x[order[i]] /= total
    return n


@compiled
def best_mixture(
    G: Floats, b: Floats, x: Floats, order: Ints, R: Floats, work: Floats, max_changes: int
) -> int:
    """Move the shares x (T,) to the largest ``b'x - x' G x / 4``.

    x is on the simplex to begin with, and at the end. G (T, T) is positive
    semidefinite. Planes enter by the steepest slope, one at a time. order (T + 1,), R
    (T + 1, T + 1) and work (3, T + 1) are scratch. Returns how often planes entered,
    which is at most `max_changes`. O(T n) each time with n planes in use, and O(n^3) to
    begin with.
    """
    slope = work[2]
    lift = 0.0
    for t in range(len(b)):
        lift = max(lift, G[t, t] / 2.0)
    lift = lift if lift > 0.0 else 1.0
    n = start(G, lift, x, order, R, work)
    slopes(G, b, x, order, n, slope)
    before = -np.inf
    for change in range(max_changes):
        n = climb(G, b, x, order, n, R, slope, work)
        linear, level = 0.0, 0.0
        for i in range(n):
            linear += x[order[i]] * b[order[i]]
            level += x[order[i]] * slope[order[i]]
        enters = 0
        for t in range(len(b)):
            enters = t if slope[t] > slope[enters] else enters
        value = (linear + level) / 2.0
        noise = _NOISE * (abs(linear) + abs(linear - level))
        if slope[enters] <= level + noise or value <= before:
            return change
        before = value
        is_new = True
        for i in range(n):
            is_new &= order[i] != enters
        # A plane in use is the steepest only by rounding: climb once more.
        if is_new and append(G, lift, order, n, enters, R, work[0]):
            order[n] = enters
            n += 1
        elif is_new:
            n = exchange(G, lift, x, order, n, enters, R, work)
            slopes(G, b, x, order, n, slope)
    return max_changes
