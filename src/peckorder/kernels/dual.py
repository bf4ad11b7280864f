"""Learners that see rows only through a kernel: a number for each two rows.

A score is a sum over the rows learnt from, always taken in the order in which they
came: it must not depend, not by a bit, on where a stream was cut into blocks.
"""

import numpy as np

from peckorder._typing import Floats, Ints
from peckorder.kernels._jit import kernel, part
from peckorder.kernels.ensemble import (
    count_votes,
    draw,
    keep_wrong,
    move_thresholds,
)
from peckorder.kernels.online import place, threshold_move


@part
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


@kernel
def scores(past: Floats, now: Floats, coef: Floats, score: Floats) -> None:
    """Write to score (n,) the sums of past (n, support) weighted by coef (support,).

    `now` is empty.
    """
    for t in range(score.shape[0]):
        score[t] = expand(past, now, t, 0, past.shape[1], coef)


@kernel
def prank(
    past: Floats,
    now: Floats,
    level: Ints,
    coef: Floats,
    lag: Floats,
    sums: Floats,
    thresholds: Floats,
    threshold_lag: Floats,
    rounds: int,
    averaged: bool,
    budget: int,
    window: int,
    predicted: Ints,
    update_round: Ints,
    update_step: Floats,
    update_score: Floats,
    tally: Ints,
) -> int:
    """Visit a block of n rows by PRank with a kernel.

    past (n, support) and now (n, n) are the kernels of the rows with those learnt
    from before, and with one another. coef and lag (support + n,), changed in place,
    hold the integer coefficients, and each times the round it was made in; the sums of
    thresholds before that round are in sums (support + n, k-1). A positive `budget` is
    the most coefficients that are kept: the oldest are set to zero, and the average
    then is taken over the rounds since the `window` newest began. tally (3,) counts
    mistakes, lost steps and coefficients dropped. Other arguments as in
    `online.prank`. Returns the first row whose score or kernel is not finite, or -1.
    """
    n_past, n_thresholds = past.shape[1], thresholds.shape[0]
    first, n_kept = 0, n_past
    middle = max(n_past - window, 0)
    n_newer = n_past - middle
    for t in range(level.shape[0]):
        here = n_past + t
        score = expand(past, now, t, first, here, coef)
        if not (np.isfinite(score) and np.isfinite(now[t, t])):
            return t
        guess, truth = place(score, thresholds), level[t]
        time = float(rounds + t)
        if predicted.shape[0]:
            predicted[t] = guess
        if predicted.shape[0] and averaged and time > 0:
            since, begin = first, 0.0
            if tally[2] > 0:
                since, begin = middle, lag[middle] / coef[middle]
            total = (time - begin) * expand(past, now, t, first, since, coef)
            total += time * expand(past, now, t, since, here, coef)
            total -= expand(past, now, t, since, here, lag)
            predicted[t] = place_of_sum(
                total, time, thresholds, threshold_lag, sums[middle : middle + tally[2]]
            )
        if guess == truth:
            continue
        step = 0.0
        for r in range(n_thresholds):
            if sums.shape[0]:
                sums[here, r] = time * thresholds[r] - threshold_lag[r]
            move = threshold_move(score, thresholds[r], truth > r)
            thresholds[r] -= move
            threshold_lag[r] -= move * time
            step += move
        coef[here] = step
        lag[here] = step * time
        update_round[tally[0]] = t
        update_step[tally[0]] = step
        update_score[tally[0]] = score
        tally[0] += 1
        tally[1] += abs(guess - truth)
        # A step may be zero: thresholds moved apart, and nothing was added.
        if step == 0.0 or budget == 0:
            continue
        n_kept += 1
        n_newer += 1
        if n_kept > budget:
            first = 1 + oldest_place(coef, first)
            coef[first - 1] = 0.0
            lag[first - 1] = 0.0
            n_kept -= 1
            tally[2] += 1
        if n_newer > window:
            middle = oldest_place(coef, middle + 1)
            n_newer -= 1
    return -1


@part
def place_of_sum(
    total: float, time: float, thresholds: Floats, lag: Floats, before: Floats
) -> int:
    """Return the level of a sum of scores among the sums of thresholds.

    The thresholds are summed over all rounds up to `time` but those before the window,
    whose sum is ``before[0]`` unless empty.
    """
    level = 0
    for r in range(thresholds.shape[0]):
        threshold = time * thresholds[r] - lag[r]
        if before.shape[0]:
            threshold -= before[0, r]
        level += total >= threshold
    return level


@part
def oldest_place(coef: Floats, first: int) -> int:
    """Return the first place, from `first` on, with a coefficient."""
    while coef[first] == 0.0:
        first += 1
    return first


@kernel
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
            if n_of_rule > 0 or (is_latest and n_votes[t] == 0):
                rank = 1 + place(row_scores[t], thresholds)
                mean[t] += max(n_of_rule, 1) * rank
                n_votes[t] += max(n_of_rule, 1)
    for t in range(n):
        if not np.isfinite(row_scores[t]):
            return t
        mean[t] /= n_votes[t]
    return -1


@part
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


@kernel
def learn(
    past: Floats,
    now: Floats,
    level: Ints,
    coins: Ints,
    coef: Floats,
    thresholds: Floats,
    right: Ints,
    budget: int,
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

    past, now and level as in `prank`; coef (support + n, members). Of each member,
    oldest (members,) is the place of its oldest coefficient, or an earlier one, and
    n_kept (members,) the number of them. If not empty, said (n, members) receives the
    scores before each row. Other arguments as in `ensemble.learn`.
    Returns the first row whose score or kernel is not finite, or -1.
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
            step, off = move_thresholds(scores[c], truth, thresholds[j], moves, t)
            loss += off
            coef[n_past + t, j] = step
            n_kept[j] += step != 0.0
            if 0 < budget < n_kept[j]:
                oldest[j] = oldest_place(coef[:, j], oldest[j])
                coef[oldest[j], j] = 0.0
                n_kept[j] -= 1
    tally[0] += mistakes
    tally[1] += loss
    return -1


@kernel
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
