"""Learners that see rows only through a kernel: one number per pair of rows.

A score is a sum over the rows learnt from, always taken in the order in which they
came: it must not depend, not by a bit, on where a stream was cut into blocks.
"""

from typing import NamedTuple

import numpy as np

from peckorder._core.compiled.jit import compiled, inlined
from peckorder._core.typing import Floats, Ints
from peckorder.ordinal.compiled.ensemble import (
    Outcome,
    add_moves,
    count_votes,
    keep_wrong,
    move_thresholds,
    select_members,
)
from peckorder.ordinal.compiled.linear import (
    UpdateLog,
    VotedRows,
    VotingRules,
    add_votes,
    finish_votes,
    level_of,
    level_of_sum,
    move_as,
    record_update,
    threshold_move,
)


class KernelValues(NamedTuple):
    """Kernels of the n rows of a block.

    past (n, support) with the rows learnt from before; now (n, n) with one another.
    """

    past: Floats
    now: Floats


class Averaged(NamedTuple):
    """A value after each round, and the lags of two averages; arrays of one length.

    ``T * value - lag`` is the sum of the values after each round since the average
    began; `newer` is the same for an average that began later.
    """

    value: Floats
    lag: Floats
    newer: Floats


class Averaging(NamedTuple):
    """How many rounds went before, and which of them are averaged.

    A positive `budget` is the most rows that are kept: the coefficients of the oldest
    are set to zero, and rules that had them can no longer be averaged. Therefore a
    newer average replaces the older one after `window` updates if rows have been
    dropped. clock (4,), changed in place: the rounds in which the older and the newer
    average began, updates since, rows dropped.
    """

    rounds: int
    averaged: bool
    budget: int
    window: int
    clock: Ints


class KernelMembers(NamedTuple):
    """Members of an ensemble with a kernel, changed in place.

    coef (support + n, members), thresholds (members, k-1), right (members,). Of each
    member, oldest (members,) is the position of its oldest coefficient, or one before,
    and n_kept (members,) the number of them.
    """

    coef: Floats
    thresholds: Floats
    right: Ints
    oldest: Ints
    n_kept: Ints


@inlined
def expand(values: KernelValues, t: int, first: int, last: int, coef: Floats) -> float:
    """Return the weighted sum of the kernels of row `t` with the rows first..last.

    Positions are those of `past`, then those of `now`.
    """
    n_past = values.past.shape[1]
    score = 0.0
    for s in range(first, min(last, n_past)):
        score += values.past[t, s] * coef[s]
    for s in range(max(first, n_past), last):
        score += values.now[t, s - n_past] * coef[s]
    return score


@compiled
def scores(values: KernelValues, coef: Floats, score: Floats) -> None:
    """Write to score (n,) the sums of past (n, support) weighted by coef (support,)."""
    for t in range(score.shape[0]):
        score[t] = expand(values, t, 0, values.past.shape[1], coef)


@compiled
def prank(
    values: KernelValues,
    level: Ints,
    predicted: Ints,
    coef: Averaged,
    earlier: Ints,
    threshold: Averaged,
    averaging: Averaging,
    updates: UpdateLog,
    tally: Ints,
) -> int:
    """Learn a block of n rows by PRank with a kernel.

    level, predicted, updates and tally as in `linear.prank`. coef (support + n,) holds
    integer coefficients; earlier (support + n,) is the last position before of the same
    row, or -1. Returns the first row whose score or kernel is not finite, or -1.
    """
    rounds, averaged, budget, window, clock = averaging
    thresholds = threshold.value
    n_past = values.past.shape[1]
    first, n_kept = 0, n_past
    for t in range(level.shape[0]):
        here = n_past + t
        score = expand(values, t, first, here, coef.value)
        if not (np.isfinite(score) and np.isfinite(values.now[t, t])):
            return t
        guess, truth = level_of(score, thresholds), level[t]
        time = float(rounds + t)
        if predicted.shape[0]:
            predicted[t] = guess
            if averaged and time > 0:
                total = time * score - expand(values, t, first, here, coef.lag)
                predicted[t] = level_of_sum(total, time, thresholds, threshold.lag)
        if guess == truth:
            continue
        step = 0.0
        for r in range(thresholds.shape[0]):
            move = threshold_move(score, thresholds[r], truth > r)
            thresholds[r] -= move
            threshold.lag[r] -= move * time
            threshold.newer[r] -= move * time
            step += move
        record_update(updates, tally[0], t, step, score)
        tally[0] += 1
        tally[1] += abs(guess - truth)
        # It may be zero: thresholds moved apart, and nothing is added.
        if budget == 0 or step == 0.0:
            coef.value[here] = step
            coef.lag[here] = step * time
            continue
        known = earlier[here]
        is_new = known < 0 or not is_kept(coef, known, averaged)
        position = here if is_new else known
        coef.value[position] += step
        coef.lag[position] += step * time
        coef.newer[position] += step * time
        clock[2] += 1
        n_kept += is_new
        if not is_kept(coef, position, averaged):
            n_kept -= 1
        if n_kept > budget:
            first = drop_oldest(coef, first, averaged)
            n_kept, clock[3] = n_kept - 1, clock[3] + 1
        if clock[2] >= window:
            start_newer_average(coef, time, clock)
            start_newer_average(threshold, time, clock)
            clock[0] = clock[1] if clock[3] > 0 else clock[0]
            clock[1], clock[2] = int(time), 0
            # Rows that only the older average used are gone with it.
            n_kept = count_kept(coef, first, here, averaged)
    return -1


@inlined
def is_kept(coef: Averaged, s: int, averaged: bool) -> bool:
    """Whether a rule that predicts, now or later, uses the row in position `s`."""
    return coef.value[s] != 0.0 or (averaged and (coef.lag[s] != 0.0 or coef.newer[s] != 0.0))


@inlined
def count_kept(coef: Averaged, first: int, last: int, averaged: bool) -> int:
    """Return how many rows are kept in the positions first..last, both included."""
    n_kept = 0
    for s in range(first, last + 1):
        n_kept += is_kept(coef, s, averaged)
    return n_kept


@inlined
def drop_oldest(coef: Averaged, first: int, averaged: bool) -> int:
    """Drop the first row that is kept, from `first` on; return its position."""
    while not is_kept(coef, first, averaged):
        first += 1
    coef.value[first] = 0.0
    coef.lag[first] = 0.0
    coef.newer[first] = 0.0
    return first


@inlined
def start_newer_average(average: Averaged, time: float, clock: Ints) -> None:
    """Start another newer average, which replaces the older if rows were dropped."""
    for s in range(average.value.shape[0]):
        if clock[3] > 0:
            average.lag[s] = average.newer[s]
        average.newer[s] = average.value[s] * time


@compiled
def vote(
    past: Floats, thresholds: Floats, position: Ints, rules: VotingRules, voted: VotedRows
) -> int:
    """Compute the mean rank that voted PRank gives to n rows.

    past (n, support) are the kernels of the rows with those learnt from; rule h adds
    the row in ``position[h]``. Other arguments as in `linear.vote`.
    """
    n = voted.mean.shape[0]
    for t in range(n):
        voted.score[t] = 0.0
        voted.mean[t] = 0.0
        voted.n_votes[t] = 0
    first = 0
    for h in range(rules.votes.shape[0]):
        while first < n and voted.latest[first] < h:
            first += 1
        if h > 0:
            move_as(h, rules, thresholds)
        for t in range(first, n):
            if rules.step[h] != 0.0:
                voted.score[t] += past[t, position[h]] * rules.step[h]
            is_latest = h == voted.latest[t]
            n_of_rule = voted.latest_votes[t] if is_latest else rules.votes[h]
            add_votes(t, n_of_rule, is_latest, thresholds, voted)
    return finish_votes(voted)


@inlined
def expand_all(
    values: KernelValues, t: int, first: int, last: int, coef: Floats, scores: Floats
) -> None:
    """Write the scores that all members give to row `t`, summed as by `expand`."""
    n_past, n_members = values.past.shape[1], coef.shape[1]
    for j in range(n_members):
        scores[j] = 0.0
    for s in range(first, min(last, n_past)):
        value = values.past[t, s]
        for j in range(n_members):
            scores[j] += value * coef[s, j]
    for s in range(max(first, n_past), last):
        value = values.now[t, s - n_past]
        for j in range(n_members):
            scores[j] += value * coef[s, j]


@inlined
def add_step(
    members: KernelMembers, j: int, here: int, step: float, earlier: Ints, budget: int
) -> None:
    """Add a step to a member's coefficient of the row in position `here`.

    That of its last position before, if it keeps one; for a new one beyond the budget
    its oldest is dropped.
    """
    coef, _, _, oldest, n_kept = members
    known = here
    if budget > 0 and coef[here, j] == 0.0:
        known = earlier[here]
        while known >= 0 and coef[known, j] == 0.0:
            known = earlier[known]
        known = here if known < 0 else known
    was_kept = coef[known, j] != 0.0
    coef[known, j] += step
    n_kept[j] += int(coef[known, j] != 0.0) - int(was_kept)
    if 0 < budget < n_kept[j]:
        while coef[oldest[j], j] == 0.0:
            oldest[j] += 1
        coef[oldest[j], j] = 0.0
        n_kept[j] -= 1


@compiled
def learn(
    values: KernelValues,
    level: Ints,
    masks: Ints,
    most: int,
    members: KernelMembers,
    earlier: Ints,
    budget: int,
    drawn: Ints,
    scores: Floats,
    outcome: tuple[Floats, Outcome],
    tally: Ints,
) -> int:
    """Offer each of n rows to members as often as masks (n, members) says.

    level, budget and earlier as in `prank`, but one row may have many positions, having
    been dropped by some members only. drawn (members + 1,) and scores (members,) are
    scratch. If not empty, the first of `outcome` (n, members) receives the scores
    before each row; the second is that of `ensemble.learn`, without steps. Returns the
    first row whose score or kernel is not finite, or -1.
    """
    coef, thresholds, right, oldest, _ = members
    scores_before, (_, moves, votes, right_votes) = outcome
    n_past, n_members = values.past.shape[1], coef.shape[1]
    mistakes, loss = 0, 0
    for t in range(level.shape[0]):
        if not np.isfinite(values.now[t, t]):
            return t
        truth = level[t]
        n_drawn = select_members(masks, t, 0, drawn)
        if n_drawn == 0 and not (votes.shape[0] or scores_before.shape[0]):
            continue
        first = oldest[0]
        for j in range(n_members):
            first = min(first, oldest[j])
        expand_all(values, t, first, n_past + t, coef, scores)
        if scores_before.shape[0]:
            for j in range(n_members):
                scores_before[t, j] = scores[j]
        if votes.shape[0] and not count_votes(scores, thresholds, right, votes, right_votes, t):
            return t
        for offer in range(most):
            if offer > 0:
                n_drawn = select_members(masks, t, offer, drawn)
            if n_drawn == 0:
                break
            # In place: a member that is drawn comes no earlier than its turn.
            for c in range(n_drawn):
                j = drawn[c]
                scores[c] = scores[j]
                if offer > 0:
                    scores[c] = expand(values, t, first, n_past + t + 1, coef[:, j])
            n_wrong = keep_wrong(drawn, n_drawn, scores, thresholds, truth, right)
            mistakes += n_wrong
            for c in range(n_wrong):
                j = drawn[c]
                if not np.isfinite(scores[c]):
                    return t
                add_moves(scores[c], truth, thresholds[j], moves, t)
                step, off = move_thresholds(scores[c], truth, thresholds[j])
                loss += off
                if step != 0.0:
                    add_step(members, j, n_past + t, step, earlier, budget)
    tally[0] += mistakes
    tally[1] += loss
    return -1


@compiled
def vote_of_members(
    values: KernelValues,
    coef: Floats,
    thresholds: Floats,
    right: Ints,
    scores: Floats,
    votes: Ints,
    right_votes: Ints,
) -> int:
    """Let all members vote on n rows; `now` is empty, other arguments as in `learn`."""
    for t in range(votes.shape[0]):
        expand_all(values, t, 0, values.past.shape[1], coef, scores)
        if not count_votes(scores, thresholds, right, votes, right_votes, t):
            return t
    return -1
