"""The on-line learners: one visit to each row, in order.

`rows` is `(X,)` for a dense matrix and `(data, indices, indptr)` for CSR. Numba
compiles a kernel for each form and drops the branch of the other one, so one loop
serves both.

With `intercept` the last weight belongs to a constant feature. With `unit_norm` a
row counts as divided by its norm, the constant included. Neither is ever stored.

A row with a NaN or an infinity gives a score that is not finite, whatever the
weights (zero times infinity is NaN): every kernel stops there and returns the
position of that row, so the data need not be searched beforehand.
"""

import numpy as np

from peckorder._typing import Floats, Ints, Rows
from peckorder.kernels._jit import kernel, part, prefetch, sum_part

# A score of Widrow-Hoff is a rank; one beyond this is a run that diverges.
DIVERGED = 1e12


@part
def row_dot(rows: Rows, i: int, weights: Floats) -> float:
    """Return the sum of ``x[j] * weights[j]`` over the features of row `i`."""
    if len(rows) == 1:
        return dense_dot(rows[0], i, weights)
    data, indices, indptr = rows
    first, last = np.intp(indptr[i]), np.intp(indptr[i + 1])
    # Sums in four strands, for one would wait for itself. Not left to the compiler:
    # it would use the processor's gather instructions, which are slow.
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    quads = first + (last - first) // 4 * 4
    for p in range(first, quads, 4):
        a += data[p] * weights[np.uintp(indices[p])]
        b += data[p + 1] * weights[np.uintp(indices[p + 1])]
        c += data[p + 2] * weights[np.uintp(indices[p + 2])]
        d += data[p + 3] * weights[np.uintp(indices[p + 3])]
    for p in range(quads, last):
        a += data[p] * weights[np.uintp(indices[p])]
    return (a + b) + (c + d)


@sum_part
def dense_dot(X: Floats, i: int, weights: Floats) -> float:
    """Return the product of row `i` of a matrix with `weights`."""
    total = 0.0
    for j in range(X.shape[1]):
        total += X[i, j] * weights[j]
    return total


@sum_part
def row_square(rows: Rows, i: int) -> float:
    """Return the squared norm of row `i`."""
    total = 0.0
    if len(rows) == 1:
        X = rows[0]
        for j in range(X.shape[1]):
            # Through float64 before the product, which may overflow in float32.
            value = np.float64(X[i, j])
            total += value * value
    else:
        data, _, indptr = rows
        for p in range(indptr[i], indptr[i + 1]):
            value = np.float64(data[p])
            total += value * value
    return total


@part
def row_add(rows: Rows, i: int, amount: float, weights: Floats) -> None:
    """Add `amount` times row `i` to `weights`."""
    if len(rows) == 1:
        X = rows[0]
        for j in range(X.shape[1]):
            weights[j] += amount * X[i, j]
    else:
        data, indices, indptr = rows
        for p in range(np.intp(indptr[i]), np.intp(indptr[i + 1])):
            weights[np.uintp(indices[p])] += amount * data[p]


@part
def row_write(rows: Rows, i: int, weights: Floats) -> None:
    """Overwrite the features' part of `weights` with row `i`."""
    if len(rows) == 1:
        X = rows[0]
        for j in range(X.shape[1]):
            weights[j] = X[i, j]
    else:
        for j in range(weights.shape[0]):
            weights[j] = 0.0
        row_add(rows, i, 1.0, weights)


@part
def row_scale(rows: Rows, i: int, intercept: bool, unit_norm: bool) -> float:
    """Return what row `i` is multiplied by before it is looked at.

    NaN for a row whose squared norm overflows, so that it is not taken for zero.
    """
    if not unit_norm:
        return 1.0
    square = row_square(rows, i)
    if intercept:
        square += 1.0
    if square == np.inf:
        return np.nan
    return 1.0 / np.sqrt(square) if square > 1e-300 else 1.0


@part
def row_score(
    rows: Rows, i: int, weights: Floats, intercept: bool, scale: float
) -> float:
    """Return the score of row `i`, multiplied by `scale`."""
    score = row_dot(rows, i, weights)
    if intercept:
        score += weights[weights.shape[0] - 1]
    return score * scale


@part
def rows_ahead(rows: Rows) -> int:
    """Return how many rounds before its turn a row is asked for; 0 for never.

    The weights depend on every earlier row, so the processor waits at each
    mispredicted mistake; unless told what comes next, the memory waits with it.
    Long rows are streams that the processor foresees by itself.
    """
    if len(rows) == 1:
        row_bytes: int = rows[0].shape[1] * rows[0].itemsize
        return 1 + 3072 // row_bytes if row_bytes <= 4096 else 0
    return 2


@part
def fetch(rows: Rows, i: int, weights: Floats) -> None:
    """Ask for row `i` of a dense matrix, or for the weights that a sparse one meets."""
    if len(rows) == 1:
        X = rows[0]
        if i < X.shape[0]:
            first = i * X.shape[1]
            for place in range(first, first + X.shape[1], 64 // X.itemsize):
                prefetch(X, place)
    else:
        _, indices, indptr = rows
        if i + 1 < indptr.shape[0]:
            for p in range(np.intp(indptr[i]), np.intp(indptr[i + 1])):
                prefetch(weights, indices[p])


@kernel
def scores(
    rows: Rows, intercept: bool, unit_norm: bool, weights: Floats, score: Floats
) -> None:
    """Write the score of every row to `score` (n,)."""
    for i in range(score.shape[0]):
        scale = row_scale(rows, i, intercept, unit_norm)
        score[i] = row_score(rows, i, weights, intercept, scale)


@part
def place(score: float, thresholds: Floats) -> int:
    """Return the level of a score: how many thresholds it has reached."""
    level = 0
    for r in range(thresholds.shape[0]):
        level += score >= thresholds[r]
    return level


@kernel
def prank(
    rows: Rows,
    start: int,
    order: Ints,
    level: Ints,
    intercept: bool,
    unit_norm: bool,
    weights: Floats,
    thresholds: Floats,
    lag: Floats,
    threshold_lag: Floats,
    rounds: int,
    averaged: bool,
    predicted: Ints,
    update_round: Ints,
    update_step: Floats,
    update_thresholds: Floats,
    tally: Ints,
) -> int:
    """Visit rows by PRank, learning from each one that is misplaced.

    The rows are `order` (n,) or, if that is empty, the n rows from `start` on.
    level (n,) in 0..k-1; weights (d,) and thresholds (k-1,) are changed in place.
    If `averaged`, so are lag (d,) and threshold_lag (k-1,), such that after T rounds
    the sum of the weights after each round is ``T * weights - lag``; `rounds` of
    them went before. predicted (n,), or empty, receives the level that the rule
    (averaged or last) gives each row before it is learnt; update_* (n, ...), or
    empty, the round, step and new thresholds of each update. tally receives the
    number of mistakes of the last rule, the steps by which it missed, and the
    number of updates. Returns the first row whose score is not finite, or -1.
    """
    n_thresholds = thresholds.shape[0]
    ahead = rows_ahead(rows)
    for t in range(level.shape[0]):
        i = start + t
        if order.shape[0]:
            i = order[t]
        elif ahead:
            fetch(rows, i + ahead, weights)
        scale = row_scale(rows, i, intercept, unit_norm)
        score = row_score(rows, i, weights, intercept, scale)
        if not np.isfinite(score):
            return t
        guess = place(score, thresholds)
        truth = level[t]
        now = float(rounds + t)
        if predicted.shape[0]:
            predicted[t] = guess
            if averaged and now > 0:
                lagging = row_score(rows, i, lag, intercept, scale)
                mean = now * score - lagging
                predicted[t] = 0
                for r in range(n_thresholds):
                    predicted[t] += mean >= now * thresholds[r] - threshold_lag[r]
        if guess == truth:
            continue
        tally[0] += 1
        tally[1] += abs(guess - truth)
        step = 0.0
        for r in range(n_thresholds):
            side = 1.0 if truth > r else -1.0
            move = side if side * (score - thresholds[r]) <= 0.0 else 0.0
            thresholds[r] -= move
            threshold_lag[r] -= move * now
            step += move
        step *= scale
        row_add(rows, i, step, weights)
        if intercept:
            weights[weights.shape[0] - 1] += step
        if averaged:
            row_add(rows, i, step * now, lag)
            if intercept:
                lag[lag.shape[0] - 1] += step * now
        if update_round.shape[0]:
            update_round[tally[2]] = t
            update_step[tally[2]] = step
            for r in range(n_thresholds):
                update_thresholds[tally[2], r] = thresholds[r]
        tally[2] += 1
    return -1


@kernel
def vote(
    rows: Rows,
    start: int,
    intercept: bool,
    unit_norm: bool,
    weights: Floats,
    support: Rows,
    support_row: Ints,
    step: Floats,
    thresholds: Floats,
    votes: Ints,
    latest: Ints,
    latest_votes: Ints,
    x: Floats,
    mean: Floats,
) -> None:
    """Write the mean rank that voted PRank gives to rows from `start` on to `mean`.

    Rule h starts from rule h-1 by adding ``step[h]`` times row ``support_row[h]`` of
    `support`; rule 0 has `weights` (d,). thresholds (h, k-1), votes (h,). Row t is
    judged by the rules up to ``latest[t]``, the last of which has ``latest_votes[t]``
    votes; where all votes are zero, by the last alone. NaN if a score is not
    finite. x (d,) is scratch.
    """
    for t in range(mean.shape[0]):
        i = start + t
        scale = row_scale(rows, i, intercept, unit_norm)
        score = row_score(rows, i, weights, intercept, scale)
        row_write(rows, i, x)
        if intercept:
            x[x.shape[0] - 1] = 1.0
        n_votes, ranks, rank = 0, 0.0, 0
        for h in range(latest[t] + 1):
            if h > 0:
                j = support_row[h]
                score += (scale * step[h]) * row_score(support, j, x, intercept, 1.0)
            n = latest_votes[t] if h == latest[t] else votes[h]
            if n == 0 and h < latest[t]:
                continue
            rank = 1 + place(score, thresholds[h])
            n_votes += n
            ranks += n * rank
        mean[t] = ranks / n_votes if n_votes else rank
        if not np.isfinite(score):
            mean[t] = np.nan


@kernel
def widrow_hoff(
    rows: Rows,
    start: int,
    order: Ints,
    level: Ints,
    intercept: bool,
    unit_norm: bool,
    weights: Floats,
    eta: float,
    normalized: bool,
    n_levels: int,
    predicted: Ints,
    tally: Ints,
) -> int:
    """Visit rows by the Widrow-Hoff rule, learning their ranks 1..k as numbers.

    Arguments as in `prank`. Returns the first row whose score is not finite or
    whose score is beyond any rank because the run diverges, or -1.
    """
    ahead = rows_ahead(rows)
    for t in range(level.shape[0]):
        i = start + t
        if order.shape[0]:
            i = order[t]
        elif ahead:
            fetch(rows, i + ahead, weights)
        scale = row_scale(rows, i, intercept, unit_norm)
        score = row_score(rows, i, weights, intercept, scale)
        # Written so that NaN is refused too.
        if not abs(score) <= DIVERGED:
            return t
        guess = int(min(max(np.floor(score + 0.5), 1.0), float(n_levels))) - 1
        if predicted.shape[0]:
            predicted[t] = guess
        tally[0] += guess != level[t]
        tally[1] += abs(guess - level[t])
        step = eta
        if normalized:
            square = row_square(rows, i) + (1.0 if intercept else 0.0)
            square *= scale * scale
            step = eta / square if square > 0.0 else 0.0
        step *= (level[t] + 1 - score) * scale
        row_add(rows, i, step, weights)
        if intercept:
            weights[weights.shape[0] - 1] += step
    return -1


@kernel
def perceptron(
    rows: Rows,
    start: int,
    order: Ints,
    level: Ints,
    intercept: bool,
    unit_norm: bool,
    weights: Floats,
    predicted: Ints,
    tally: Ints,
) -> int:
    """Visit rows by the multiclass perceptron; weights (k, d), one row a class.

    Arguments as in `prank`. Returns the first row with a score that is not finite,
    or -1.
    """
    last = weights.shape[1] - 1
    ahead = rows_ahead(rows)
    for t in range(level.shape[0]):
        i = start + t
        if order.shape[0]:
            i = order[t]
        elif ahead:
            fetch(rows, i + ahead, weights)
        scale = row_scale(rows, i, intercept, unit_norm)
        guess, best = 0, -np.inf
        for c in range(weights.shape[0]):
            score = row_score(rows, i, weights[c], intercept, scale)
            if not np.isfinite(score):
                return t
            if score > best:
                guess, best = c, score
        if predicted.shape[0]:
            predicted[t] = guess
        truth = level[t]
        if guess == truth:
            continue
        tally[0] += 1
        tally[1] += abs(guess - truth)
        row_add(rows, i, scale, weights[truth])
        row_add(rows, i, -scale, weights[guess])
        if intercept:
            weights[truth, last] += scale
            weights[guess, last] -= scale
    return -1
