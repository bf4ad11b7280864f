"""Updates of PRank that leave a margin: by projection, and by ROMMA.

Weights and thresholds move by real numbers, so the loops of `linear` and `dual`, whose
sums are of integers, do not serve. Thresholds of ROMMA may cross, hence a level is
always counted.
"""

from typing import NamedTuple, Self

import numpy as np

from peckorder._core.compiled.jit import compiled, inlined
from peckorder._core.compiled.rows import row_add, row_scale, row_score, row_square, rows_ahead
from peckorder._core.row_transform import RowTransform
from peckorder._core.typing import Floats, Ints
from peckorder.ordinal.compiled.dual import Averaged, KernelValues, expand
from peckorder.ordinal.compiled.linear import (
    PRankState,
    RowBlock,
    VotedRows,
    level_of_sum,
    next_row,
    threshold_move,
)


class Update(NamedTuple):
    """By projection with slack `C`, which may be infinite, or by ROMMA."""

    romma: bool
    C: float


class StepLog(NamedTuple):
    """Receives what each update did; arrays (n,), thresholds (n, k-1), or empty.

    Rule h is ``decay[h]`` times the one before plus ``step[h]`` times a row, with
    ``thresholds[h]``; ``right[h]`` says whether the row was placed rightly before.
    """

    round: Ints
    decay: Floats
    step: Floats
    right: Ints
    thresholds: Floats

    @classmethod
    def allocate(cls, n_rows: int, n_thresholds: int) -> Self:
        """Return a log with room for one update per row."""
        decay, step = np.empty(n_rows), np.empty(n_rows)
        ints = np.empty((2, n_rows), dtype=np.int64)
        return cls(ints[0], decay, step, ints[1], np.empty((n_rows, n_thresholds)))

    def first(self, n: int) -> Self:
        """Return the first n updates."""
        round_, decay, step, right, thresholds = self
        return type(self)(round_[:n], decay[:n], step[:n], right[:n], thresholds[:n])


@inlined
def count_reached(score: float, thresholds: Floats) -> int:
    """Return how many thresholds a score has reached, in whatever order they are."""
    level = 0
    for r in range(thresholds.shape[0]):
        level += score >= thresholds[r]
    return level


@inlined
def slack(score: float, threshold: float, is_above: bool, C: float) -> float:
    """Return the multiplier of a margin: by how much it is missed, from 0 to C."""
    missed = 1.0 - (score - threshold) if is_above else 1.0 + (score - threshold)
    return min(max(missed, 0.0), C)


@inlined
def excess(at: float, score: float, square: float, truth: int, C: float, b: Floats) -> float:
    """Return a function of the new score that rises through 0 at the right one."""
    total = 0.0
    for r in range(b.shape[0]):
        multiplier = slack(at, b[r], truth > r, C)
        total += multiplier if truth > r else -multiplier
    return at - score - square * total


@inlined
def projected_score(score: float, square: float, truth: int, C: float, b: Floats) -> float:
    """Return the score of the row after the projection, exactly but for rounding.

    It is the zero of a function that is linear between its 4 kinds of breakpoints,
    each kind in ascending order as thresholds are: a binary search in each, and one
    linear equation, in O(k log k).
    """
    n = b.shape[0]
    low, high = -np.inf, np.inf
    for kind in range(4):
        is_above, is_capped = kind < 2, kind % 2 == 1
        if is_capped and np.isinf(C):
            continue
        shift = 1.0 if is_above else -1.0
        if is_capped:
            shift -= C * shift
        first, last = (0, truth) if is_above else (truth, n)
        while first < last:
            middle = (first + last) // 2
            at = b[middle] + shift
            if excess(at, score, square, truth, C, b) <= 0.0:
                low, first = max(low, at), middle + 1
            else:
                high, last = min(high, at), middle
    n_free, total = 0, 0.0
    for r in range(n):
        side = 1.0 if truth > r else -1.0
        # From where the margin is met to where its multiplier is C, to the bit as above.
        met, capped = b[r] + side, b[r] + (side - C * side)
        if min(met, capped) <= low and high <= max(met, capped):
            n_free += 1
            total += side + b[r]
        elif (high <= capped) if truth > r else (capped <= low):
            total += side * C
    at = (score + square * total) / (1.0 + square * n_free)
    return min(max(at, low), high)


@inlined
def project(
    score: float, square: float, truth: int, C: float, now: float, b: Floats, lag: Floats
) -> float:
    """Move the thresholds, and their lags, by a projection; return the step of the row.

    Those below the class only fall and those above only rise, each kind by a function
    that never falls itself: so they stay in order, rounding included.
    """
    at, step, is_free = projected_score(score, square, truth, C, b), 0.0, False
    for r in range(b.shape[0]):
        side = 1.0 if truth > r else -1.0
        move = side * slack(at, b[r], truth > r, C)
        is_free |= 0.0 < abs(move) < C
        if truth > r:
            moved = max(min(b[r], at - 1.0), b[r] - C)
        else:
            moved = min(max(b[r], at + 1.0), b[r] + C)
        lag[r] += now * (moved - b[r])
        b[r] = moved
        step += move
    if square > 1.0 and (is_free or step == 0.0):
        # Of a long row the sum would lose what is left of multipliers near 0.
        step = (at - score) / square
    return step


@inlined
def romma(
    score: float, square: float, norm: float, truth: int, now: float, b: Floats, lag: Floats
) -> tuple[float, float]:
    """Move the thresholds, and their lags, by ROMMA; return decay and step.

    norm is the squared one of all weights and thresholds. Where its two conditions
    cannot both hold, the rule starts anew from the row.
    """
    step, n_moved, overlap = 0.0, 0.0, 0.0
    for r in range(b.shape[0]):
        move = threshold_move(score, b[r], truth > r)
        step += move
        n_moved += abs(move)
        overlap -= move * b[r]
    overlap += step * score
    u_square = step * step * square + n_moved
    rest = u_square * norm - overlap * overlap
    decay, factor = 0.0, 1.0 / u_square
    if rest > 1e-12 * u_square * norm:
        decay = (u_square * norm - overlap) / rest
        factor = norm * (1.0 - overlap) / rest
    for r in range(b.shape[0]):
        moved = decay * b[r] - factor * threshold_move(score, b[r], truth > r)
        lag[r] += now * (moved - b[r])
        b[r] = moved
    return decay, factor * step


@inlined
def is_satisfied(score: float, truth: int, is_romma: bool, guess: int, b: Floats) -> bool:
    """Whether a row changes nothing: it is placed rightly, and by a margin."""
    if is_romma:
        return guess == truth
    most = 0.0
    for r in range(b.shape[0]):
        most = max(most, slack(score, b[r], truth > r, 1.0))
    return most == 0.0


@inlined
def sum_of_squares(values: Floats) -> float:
    """Return the squared norm."""
    total = 0.0
    for j in range(values.shape[0]):
        total += values[j] * values[j]
    return total


@inlined
def rescale(values: Floats, lag: Floats, decay: float, now: float) -> None:
    """Multiply values by `decay`, their lags as averages need."""
    for j in range(values.shape[0]):
        lag[j] += now * (decay - 1.0) * values[j]
        values[j] *= decay


@compiled
def learn(
    block: RowBlock, transform: RowTransform, state: PRankState, update: Update, tally: Ints
) -> int:
    """Learn a block of rows; arguments and result as those of `linear.prank`."""
    rows, intercept = block.rows, transform.intercept
    weights, thresholds, lag, threshold_lag, rounds, averaged = state
    ahead = rows_ahead(rows)
    for t in range(block.level.shape[0]):
        i = next_row(rows, block.start, block.order, t, ahead)
        scale = row_scale(rows, i, intercept, transform.unit_norm)
        score = row_score(rows, i, weights, intercept, scale)
        if not np.isfinite(score):
            return t
        guess, truth, now = count_reached(score, thresholds), block.level[t], float(rounds + t)
        if block.predicted.shape[0]:
            block.predicted[t] = guess
            if averaged and now > 0:
                total = now * score - row_score(rows, i, lag, intercept, scale)
                block.predicted[t] = level_of_sum(total, now, thresholds, threshold_lag)
        tally[0] += guess != truth
        tally[1] += abs(guess - truth)
        if is_satisfied(score, truth, update.romma, guess, thresholds):
            continue
        square = (row_square(rows, i) + (1.0 if intercept else 0.0)) * scale * scale
        if not square < np.inf:
            return t
        if update.romma:
            norm = sum_of_squares(weights) + sum_of_squares(thresholds)
            decay, step = romma(score, square, norm, truth, now, thresholds, threshold_lag)
            rescale(weights, lag, decay, now)
        else:
            step = project(score, square, truth, update.C, now, thresholds, threshold_lag)
        step *= scale
        row_add(rows, i, step, weights)
        row_add(rows, i, step * now, lag)
        if intercept:
            weights[weights.shape[0] - 1] += step
            lag[lag.shape[0] - 1] += step * now
    return -1


@compiled
def learn_kernels(
    values: KernelValues,
    level: Ints,
    predicted: Ints,
    coef: Averaged,
    threshold: Averaged,
    rounds: int,
    averaged: bool,
    update: Update,
    square: Floats,
    log: StepLog,
    tally: Ints,
) -> int:
    """Learn a block of n rows with a kernel.

    coef (support + n,) and threshold as in `dual.prank`, without a newer average;
    square (1,), changed in place, is the squared norm of the score function. tally (3,)
    counts mistakes, lost steps and updates. Returns the first unusable row, or -1.
    """
    thresholds, n_past = threshold.value, values.past.shape[1]
    for t in range(level.shape[0]):
        here = n_past + t
        score = expand(values, t, 0, here, coef.value)
        itself = values.now[t, t]
        if not (np.isfinite(score) and np.isfinite(itself)):
            return t
        guess, truth, now = count_reached(score, thresholds), level[t], float(rounds + t)
        if predicted.shape[0]:
            predicted[t] = guess
            if averaged and now > 0:
                total = now * score - expand(values, t, 0, here, coef.lag)
                predicted[t] = level_of_sum(total, now, thresholds, threshold.lag)
        tally[0] += guess != truth
        tally[1] += abs(guess - truth)
        if is_satisfied(score, truth, update.romma, guess, thresholds):
            continue
        decay = 1.0
        if update.romma:
            norm = square[0] + sum_of_squares(thresholds)
            decay, step = romma(score, itself, norm, truth, now, thresholds, threshold.lag)
            rescale(coef.value[:here], coef.lag[:here], decay, now)
        else:
            step = project(score, itself, truth, update.C, now, thresholds, threshold.lag)
        square[0] = max(
            0.0, decay * decay * square[0] + step * (2.0 * decay * score + step * itself)
        )
        coef.value[here] = step
        coef.lag[here] = step * now
        if log.round.shape[0]:
            at = tally[2]
            log.round[at] = t
            log.decay[at] = decay
            log.step[at] = step
            log.right[at] = guess == truth
            for r in range(thresholds.shape[0]):
                log.thresholds[at, r] = thresholds[r]
        tally[2] += 1
    return -1


@compiled
def vote(past: Floats, position: Ints, log: StepLog, votes: Ints, voted: VotedRows) -> int:
    """Compute the mean rank by all rules, of which ``log`` has one more than updates.

    past (n, support) as in `dual.vote`; rule 0 has step 0, and the thresholds before
    all updates. Returns the first row without a finite score, or -1.
    """
    n = voted.mean.shape[0]
    for t in range(n):
        voted.score[t] = 0.0
        voted.mean[t] = 0.0
        voted.n_votes[t] = 0
    first = 0
    for h in range(votes.shape[0]):
        while first < n and voted.latest[first] < h:
            first += 1
        for t in range(first, n):
            voted.score[t] *= log.decay[h]
            if log.step[h] != 0.0:
                voted.score[t] += past[t, position[h]] * log.step[h]
            is_latest = h == voted.latest[t]
            n_of_rule = voted.latest_votes[t] if is_latest else votes[h]
            if n_of_rule > 0 or (is_latest and voted.n_votes[t] == 0):
                rank = 1 + count_reached(voted.score[t], log.thresholds[h])
                voted.mean[t] += max(n_of_rule, 1) * rank
                voted.n_votes[t] += max(n_of_rule, 1)
    for t in range(n):
        if not np.isfinite(voted.score[t]):
            return t
        voted.mean[t] /= voted.n_votes[t]
    return -1
