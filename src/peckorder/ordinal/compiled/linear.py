"""The on-line learners: one visit to each row, in order.

A row with a NaN or an infinity gives a score that is not finite, whatever the
weights (zero times infinity is NaN), and so does a sparse row with an index out of
range: every kernel stops there and returns the position of that row, so the data need
not be searched beforehand.
"""

import numpy as np

from peckorder._core.compiled.jit import compiled, inlined
from peckorder._core.compiled.rows import (
    fetch,
    row_add,
    row_clear,
    row_scale,
    row_score,
    row_square,
    rows_ahead,
)
from peckorder._core.typing import Floats, Ints, Rows

# A score of Widrow-Hoff is a rank; one beyond this is a run that diverges.
DIVERGED = 1e12


@compiled
def scores(
    rows: Rows, intercept: bool, unit_norm: bool, weights: Floats, score: Floats
) -> None:
    """Write the score of every row to `score` (n,)."""
    for i in range(score.shape[0]):
        scale = row_scale(rows, i, intercept, unit_norm)
        score[i] = row_score(rows, i, weights, intercept, scale)


@inlined
def place(score: float, thresholds: Floats) -> int:
    """Return the level of a score: how many thresholds it has reached."""
    level = 0
    if thresholds.shape[0] <= 16:
        # Counted, not searched: there is no branch to mispredict.
        for r in range(thresholds.shape[0]):
            level += score >= thresholds[r]
        return level
    high = thresholds.shape[0]
    while level < high:
        middle = (level + high) // 2
        if score >= thresholds[middle]:
            level = middle + 1
        else:
            high = middle
    return level


@inlined
def threshold_move(score: float, threshold: float, is_above: bool) -> float:
    """Return by how much a misplaced row of that score moves a threshold down."""
    side = 1.0 if is_above else -1.0
    return side if side * (score - threshold) <= 0.0 else 0.0


@inlined
def next_row(rows: Rows, start: int, order: Ints, t: int, ahead: int) -> int:
    """Return the row to visit in round `t`, and ask for one that comes later."""
    row: int = start + t
    if order.shape[0]:
        row = order[t]
    elif ahead:
        fetch(rows, row + ahead)
    return row


@compiled
def prank(
    rows: Rows,
    added: Rows,
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
    update_score: Floats,
    tally: Ints,
) -> int:
    """Visit rows by PRank, learning from each one that is misplaced.

    The rows are `order` (n,) or, if that is empty, the n rows from `start` on. They
    are added to the weights from `added`, which is `rows` too unless the two are
    features whose products are a kernel.
    level (n,) in 0..k-1; weights (d,) and thresholds (k-1,) are changed in place.
    If `averaged`, so are lag (d,) and threshold_lag (k-1,), such that after T rounds
    the sum of the weights after each round is ``T * weights - lag``; `rounds` of
    them went before. predicted (n,), or empty, receives the level that the rule
    (averaged or last) gives each row before it is learnt; update_* (n,), or empty,
    the round, step and score of each update. tally receives the number of mistakes of
    the last rule, which is that of updates, and the steps by which it missed. Returns
    the first row whose score is not finite, or -1.
    """
    n_thresholds = thresholds.shape[0]
    ahead = rows_ahead(rows)
    for t in range(level.shape[0]):
        i = next_row(rows, start, order, t, ahead)
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
        if update_round.shape[0]:
            update_round[tally[0]] = t
            update_score[tally[0]] = score
        step = 0.0
        for r in range(n_thresholds):
            move = threshold_move(score, thresholds[r], truth > r)
            thresholds[r] -= move
            threshold_lag[r] -= move * now
            step += move
        step *= scale
        row_add(added, i, step, weights)
        if intercept:
            weights[weights.shape[0] - 1] += step
        if averaged:
            row_add(added, i, step * now, lag)
            if intercept:
                lag[lag.shape[0] - 1] += step * now
        if update_round.shape[0]:
            update_step[tally[0]] = step
        tally[0] += 1
        tally[1] += abs(guess - truth)
    return -1


@inlined
def add_votes(
    t: int,
    n: int,
    is_latest: bool,
    row_scores: Floats,
    thresholds: Floats,
    mean: Floats,
    n_votes: Ints,
) -> None:
    """Add the n votes of a rule on row `t`; one if it is the last, without any."""
    if n > 0 or (is_latest and n_votes[t] == 0):
        rank = 1 + place(row_scores[t], thresholds)
        mean[t] += max(n, 1) * rank
        n_votes[t] += max(n, 1)


@compiled
def vote(
    rows: Rows,
    start: int,
    intercept: bool,
    unit_norm: bool,
    weights: Floats,
    thresholds: Floats,
    support: Rows,
    support_row: Ints,
    step: Floats,
    score: Floats,
    truth: Ints,
    votes: Ints,
    latest: Ints,
    latest_votes: Ints,
    z: Floats,
    row_scales: Floats,
    row_scores: Floats,
    n_votes: Ints,
    mean: Floats,
) -> int:
    """Write the mean rank that voted PRank gives to rows from `start` on to `mean`.

    Rule 0 has `weights` (d,) and `thresholds` (k-1,), which are changed in place to
    those of the later rules: rule h adds ``step[h]`` times row ``support_row[h]`` of
    `support` to the weights, and moves the thresholds as that row did, which had
    ``score[h]`` and the level ``truth[h]``. votes (h,). Row t is judged by the rules
    up to ``latest[t]``, the last of which has ``latest_votes[t]`` votes; where all
    votes are zero, by the last alone. latest (n,) never falls. z (d,), all zeros, and
    row_scales, row_scores and n_votes (n,) are scratch. Returns the first row without a
    finite score, or -1.
    """
    n = mean.shape[0]
    for t in range(n):
        i = start + t
        row_scales[t] = row_scale(rows, i, intercept, unit_norm)
        row_scores[t] = row_score(rows, i, weights, intercept, row_scales[t])
        if not np.isfinite(row_scores[t]):
            return t
        mean[t] = 0.0
        n_votes[t] = 0
    first = 0
    for h in range(votes.shape[0]):
        while first < n and latest[first] < h:
            first += 1
        if h > 0:
            row_add(support, support_row[h], 1.0, z)
            if intercept:
                z[z.shape[0] - 1] = 1.0
            for r in range(thresholds.shape[0]):
                thresholds[r] -= threshold_move(score[h], thresholds[r], truth[h] > r)
        for t in range(first, n):
            if h > 0:
                scale = row_scales[t] * step[h]
                row_scores[t] += row_score(rows, start + t, z, intercept, scale)
            is_latest = h == latest[t]
            n_of_rule = latest_votes[t] if is_latest else votes[h]
            add_votes(t, n_of_rule, is_latest, row_scores, thresholds, mean, n_votes)
        if h > 0:
            row_clear(support, support_row[h], z)
    for t in range(n):
        if not np.isfinite(row_scores[t]):
            return t
        mean[t] /= n_votes[t]
    return -1


@compiled
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
        i = next_row(rows, start, order, t, ahead)
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
            if square == np.inf:
                return t
            step = eta / square if square > 0.0 else 0.0
        step *= (level[t] + 1 - score) * scale
        row_add(rows, i, step, weights)
        if intercept:
            weights[weights.shape[0] - 1] += step
    return -1


@compiled
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
        i = next_row(rows, start, order, t, ahead)
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
