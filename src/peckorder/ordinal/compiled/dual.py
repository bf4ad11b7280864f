"""Learners that see rows only through a kernel: a number for each two rows.

A score is a sum over the rows learnt from, always taken in the order in which they
came: it must not depend, not by a bit, on where a stream was cut into blocks.
"""

import numpy as np

from peckorder._core.compiled.jit import compiled, inlined
from peckorder._core.typing import Floats, Ints
from peckorder.ordinal.compiled.ensemble import (
    count_votes,
    draw,
    keep_wrong,
    move_thresholds,
    tell_moves,
)
from peckorder.ordinal.compiled.linear import add_votes, place, threshold_move


@inlined
def expand(
    past: Floats, now: Floats, t: int, first: int, last: int, coef: Floats
) -> float:
    """Return the sum of the kernels of row `t` with the rows in places first..last.

    The places are those of `past`, and then those of `now`.
    """
    n_past = past.shape[1]
    score = 0.0
    for s in range(first, min(last, n_past)):
        score += past[t, s] * coef[s]
    for s in range(max(first, n_past), last):
        score += now[t, s - n_past] * coef[s]
    return score


@compiled
def scores(past: Floats, now: Floats, coef: Floats, score: Floats) -> None:
    """Write to score (n,) the sums of past (n, support) weighted by coef (support,).

    `now` is empty.
    """
    for t in range(score.shape[0]):
        score[t] = expand(past, now, t, 0, past.shape[1], coef)


@compiled
def prank(
    past: Floats,
    now: Floats,
    level: Ints,
    coef: Floats,
    lag: Floats,
    newer: Floats,
    earlier: Ints,
    thresholds: Floats,
    threshold_lag: Floats,
    threshold_newer: Floats,
    rounds: int,
    averaged: bool,
    budget: int,
    window: int,
    clock: Ints,
    predicted: Ints,
    update_round: Ints,
    update_step: Floats,
    update_score: Floats,
    tally: Ints,
) -> int:
    """Visit a block of n rows by PRank with a kernel.

    past (n, support) and now (n, n) are the kernels of the rows with those learnt
    from before, and with one another. coef (support + n,), changed in place, holds the
    integer coefficients, and lag (support + n,) what makes ``T * coef - lag`` the sum
    of the coefficients after each round since ``clock[0]``.

    A positive `budget` is the most rows that are kept: the coefficients of the oldest
    are set to zero, and rules that had them can no longer be averaged. Therefore newer
    (support + n,) and threshold_newer (k-1,) are the lags of an average that began in
    round ``clock[1]``, ``clock[2]`` updates ago, and that takes the place of the other
    after `window` updates if rows, ``clock[3]`` of them, have been dropped.
    earlier (support + n,) is the last place before of the same row, or -1.

    Other arguments as in `online.prank`. Returns the first row whose score or kernel
    is not finite, or -1.
    """
    n_past = past.shape[1]
    first, n_kept = 0, n_past
    for t in range(level.shape[0]):
        here = n_past + t
        score = expand(past, now, t, first, here, coef)
        if not (np.isfinite(score) and np.isfinite(now[t, t])):
            return t
        guess, truth = place(score, thresholds), level[t]
        time = float(rounds + t)
        if predicted.shape[0]:
            predicted[t] = guess
            if averaged and time > 0:
                total = time * score - expand(past, now, t, first, here, lag)
                predicted[t] = place_of_sum(total, time, thresholds, threshold_lag)
        if guess == truth:
            continue
        step = 0.0
        for r in range(thresholds.shape[0]):
            move = threshold_move(score, thresholds[r], truth > r)
            thresholds[r] -= move
            threshold_lag[r] -= move * time
            threshold_newer[r] -= move * time
            step += move
        update_round[tally[0]] = t
        update_step[tally[0]] = step
        update_score[tally[0]] = score
        tally[0] += 1
        tally[1] += abs(guess - truth)
        # It may be zero: thresholds moved apart, and nothing is added.
        if budget == 0 or step == 0.0:
            coef[here] = step
            lag[here] = step * time
            continue
        known = earlier[here]
        is_new = known < 0 or not is_kept(coef, lag, newer, known, averaged)
        spot = here if is_new else known
        coef[spot] += step
        lag[spot] += step * time
        newer[spot] += step * time
        clock[2] += 1
        n_kept += is_new
        if not is_kept(coef, lag, newer, spot, averaged):
            n_kept -= 1
        if n_kept > budget:
            first = drop_oldest(coef, lag, newer, first, averaged)
            n_kept, clock[3] = n_kept - 1, clock[3] + 1
        if clock[2] >= window:
            begin_anew(coef, lag, newer, time, clock)
            begin_anew(thresholds, threshold_lag, threshold_newer, time, clock)
            clock[0] = clock[1] if clock[3] > 0 else clock[0]
            clock[1], clock[2] = int(time), 0
            # Rows that had a part in the older average only are gone with it.
            n_kept = count_kept(coef, lag, newer, first, here, averaged)
    return -1


@inlined
def place_of_sum(total: float, time: float, thresholds: Floats, lag: Floats) -> int:
    """Return the level of a sum of scores among the sums of thresholds."""
    level = 0
    for r in range(thresholds.shape[0]):
        level += total >= time * thresholds[r] - lag[r]
    return level


@inlined
def is_kept(coef: Floats, lag: Floats, newer: Floats, s: int, averaged: bool) -> bool:
    """Whether the row in place `s` has a part in a rule that predicts, or will."""
    return coef[s] != 0.0 or (averaged and (lag[s] != 0.0 or newer[s] != 0.0))


@inlined
def count_kept(
    coef: Floats, lag: Floats, newer: Floats, first: int, last: int, averaged: bool
) -> int:
    """Return how many rows are kept in the places first..last, both included."""
    n_kept = 0
    for s in range(first, last + 1):
        n_kept += is_kept(coef, lag, newer, s, averaged)
    return n_kept


@inlined
def drop_oldest(
    coef: Floats, lag: Floats, newer: Floats, first: int, averaged: bool
) -> int:
    """Drop the first row that is kept, from `first` on; return its place."""
    while not is_kept(coef, lag, newer, first, averaged):
        first += 1
    coef[first] = 0.0
    lag[first] = 0.0
    newer[first] = 0.0
    return first


@inlined
def begin_anew(
    value: Floats, lag: Floats, newer: Floats, time: float, clock: Ints
) -> None:
    """Begin another newer average, which replaces the older if rows were dropped."""
    for s in range(value.shape[0]):
        if clock[3] > 0:
            lag[s] = newer[s]
        newer[s] = value[s] * time


@compiled
def vote(
    past: Floats,
    thresholds: Floats,
    place_of: Ints,
    step: Floats,
    score: Floats,
    truth: Ints,
    votes: Ints,
    latest: Ints,
    latest_votes: Ints,
    row_scores: Floats,
    n_votes: Ints,
    mean: Floats,
) -> int:
    """Write the mean rank that voted PRank gives to n rows to mean (n,).

    past (n, support) are the kernels of the rows with those learnt from; rule h adds
    the row in ``place_of[h]``, ``step[h]`` times. Other arguments as in `online.vote`.
    """
    n = mean.shape[0]
    for t in range(n):
        row_scores[t] = 0.0
        mean[t] = 0.0
        n_votes[t] = 0
    first = 0
    for h in range(votes.shape[0]):
        while first < n and latest[first] < h:
            first += 1
        if h > 0:
            for r in range(thresholds.shape[0]):
                thresholds[r] -= threshold_move(score[h], thresholds[r], truth[h] > r)
        for t in range(first, n):
            if step[h] != 0.0:
                row_scores[t] += past[t, place_of[h]] * step[h]
            is_latest = h == latest[t]
            n_of_rule = latest_votes[t] if is_latest else votes[h]
            add_votes(t, n_of_rule, is_latest, row_scores, thresholds, mean, n_votes)
    for t in range(n):
        if not np.isfinite(row_scores[t]):
            return t
        mean[t] /= n_votes[t]
    return -1


@inlined
def expand_all(
    past: Floats,
    now: Floats,
    t: int,
    first: int,
    last: int,
    coef: Floats,
    scores: Floats,
) -> None:
    """Write the scores that all members give to row `t`, summed as by `expand`."""
    n_past, n_members = past.shape[1], coef.shape[1]
    for j in range(n_members):
        scores[j] = 0.0
    for s in range(first, min(last, n_past)):
        value = past[t, s]
        for j in range(n_members):
            scores[j] += value * coef[s, j]
    for s in range(max(first, n_past), last):
        value = now[t, s - n_past]
        for j in range(n_members):
            scores[j] += value * coef[s, j]


@compiled
def learn(
    past: Floats,
    now: Floats,
    level: Ints,
    coins: Ints,
    coef: Floats,
    thresholds: Floats,
    right: Ints,
    budget: int,
    earlier: Ints,
    oldest: Ints,
    n_kept: Ints,
    drawn: Ints,
    scores: Floats,
    said: Floats,
    moves: Floats,
    votes: Ints,
    right_votes: Ints,
    tally: Ints,
) -> int:
    """Offer each of n rows to the members whose coin says so, by a kernel.

    past, now, level, budget and earlier as in `prank`, but that one row may have many
    places, having been dropped by some members only; coef (support + n, members). Of
    each member, oldest (members,) is the place of its oldest coefficient, or one
    before, and n_kept (members,) the number of them. If not empty, said (n, members)
    receives the scores before each row. Other arguments as in `ensemble.learn`. Returns
    the first row whose score or kernel is not finite, or -1.
    """
    n_past, n_members = past.shape[1], coef.shape[1]
    mistakes, loss = 0, 0
    for t in range(level.shape[0]):
        if not np.isfinite(now[t, t]):
            return t
        truth = level[t]
        n_drawn = draw(coins, t, drawn)
        if n_drawn == 0 and not (votes.shape[0] or said.shape[0]):
            continue
        first = oldest[0]
        for j in range(n_members):
            first = min(first, oldest[j])
        expand_all(past, now, t, first, n_past + t, coef, scores)
        if said.shape[0]:
            for j in range(n_members):
                said[t, j] = scores[j]
        if votes.shape[0] and not count_votes(
            scores, thresholds, right, votes, right_votes, t
        ):
            return t
        # In place: who is drawn comes no earlier than its turn.
        for c in range(n_drawn):
            scores[c] = scores[drawn[c]]
        n_wrong = keep_wrong(drawn, n_drawn, scores, thresholds, truth, right)
        mistakes += n_wrong
        for c in range(n_wrong):
            j = drawn[c]
            if not np.isfinite(scores[c]):
                return t
            tell_moves(scores[c], truth, thresholds[j], moves, t)
            step, off = move_thresholds(scores[c], truth, thresholds[j])
            loss += off
            if step == 0.0:
                continue
            known = earlier[n_past + t] if budget > 0 else -1
            while known >= 0 and coef[known, j] == 0.0:
                known = earlier[known]
            if known >= 0:
                coef[known, j] += step
                n_kept[j] -= coef[known, j] == 0.0
                continue
            coef[n_past + t, j] = step
            n_kept[j] += 1
            if 0 < budget < n_kept[j]:
                while coef[oldest[j], j] == 0.0:
                    oldest[j] += 1
                coef[oldest[j], j] = 0.0
                n_kept[j] -= 1
    tally[0] += mistakes
    tally[1] += loss
    return -1


@compiled
def ballot(
    past: Floats,
    now: Floats,
    coef: Floats,
    thresholds: Floats,
    right: Ints,
    scores: Floats,
    votes: Ints,
    right_votes: Ints,
) -> int:
    """Let all members vote on n rows; `now` is empty, other arguments as in `learn`."""
    for t in range(votes.shape[0]):
        expand_all(past, now, t, 0, past.shape[1], coef, scores)
        if not count_votes(scores, thresholds, right, votes, right_votes, t):
            return t
    return -1
