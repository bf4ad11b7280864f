"""Many PRanks at once, each offered its own rows, some perhaps several times.

Members do not interact while they learn, so a range of them can be trained by one
thread and another range by another, with the same result.
"""

from typing import NamedTuple, Self

import numpy as np

from peckorder._core.compiled.jit import compiled, inlined, inlined_sum
from peckorder._core.compiled.rows import row_add, row_is_sound, row_scale, row_score, rows_ahead
from peckorder._core.row_transform import RowTransform
from peckorder._core.threads import apart
from peckorder._core.typing import Floats, Ints, Rows
from peckorder.ordinal.compiled.linear import (
    PRankState,
    RowBlock,
    level_of,
    level_of_sum,
    next_row,
    threshold_move,
)

_LOW, _GOLDEN = np.uint64(0xFFFFFFFF), np.uint64(0x9E3779B9)
SMALLEST = np.finfo(np.float64).min
_32, _16, _15 = np.uint64(32), np.uint64(16), np.uint64(15)


class Members(NamedTuple):
    """Members of an ensemble, changed in place.

    weights (members, d), thresholds (members, k-1), and right (members,), how many of
    its offers a member placed rightly. lag and threshold_lag, of the same shapes,
    are those of `PRankState` if rules are averaged; else they have no rows.
    """

    weights: Floats
    thresholds: Floats
    right: Ints
    lag: Floats
    threshold_lag: Floats


class Scratch(NamedTuple):
    """Members that are offered a row, their scores, and by lags: arrays (members + 3,)."""

    drawn: Ints
    scores: Floats
    lagging: Floats

    @classmethod
    def allocate(cls, n_members: int) -> Self:
        """Return new arrays, for one thread."""
        size = n_members + 3
        return cls(apart(np.zeros(size, np.int64)), apart(np.zeros(size)), apart(np.zeros(size)))


class Outcome(NamedTuple):
    """What members did with n rows; arrays other than steps are empty if not needed.

    steps (n,) and moves (n, k-1) receive by how much the weights and thresholds of all
    members together were moved, votes and right_votes (n, k) how the members vote on
    each row before they learn it: once each, and once for each row they placed rightly.
    """

    steps: Floats
    moves: Floats
    votes: Ints
    right_votes: Ints

    @classmethod
    def allocate(cls, n_rows: int, n_levels: int, *, moves: bool, votes: bool) -> Self:
        """Return arrays of zeros; those not needed have no rows."""
        shape = n_rows if votes else 0, n_levels
        return cls(
            np.zeros(n_rows),
            np.zeros((n_rows if moves else 0, n_levels - 1)),
            np.zeros(shape, np.int64),
            np.zeros(shape, np.int64),
        )

    def sub_block(self, first: int, size: int) -> Self:
        """Return the arrays of `size` rows from position `first` on."""
        block = slice(first, first + size)
        steps, moves = self.steps[block], self.moves[block]
        return type(self)(steps, moves, self.votes[block], self.right_votes[block])


@inlined
def scramble(x: np.uint64) -> np.uint64:
    """Mix 32 bits so that each bit of the input moves half of those of the output.

    In 64-bit arithmetic throughout, in which nothing overflows.
    """
    x = x ^ (x >> _16)
    x = (x * np.uint64(0x7FEB352D)) & _LOW
    x = x ^ (x >> _15)
    x = (x * np.uint64(0x846CA68B)) & _LOW
    return x ^ (x >> _16)


@inlined
def draw(key: np.uint64, early: np.uint64, late: np.uint64) -> np.uint64:
    """Return 32 random bits of a member in a round.

    As `scramble`, with the key's other half and the round put in between.
    """
    x = (key & _LOW) ^ early
    x = x ^ (x >> _16)
    x = (x * np.uint64(0x7FEB352D)) & _LOW
    x = x ^ (x >> _15) ^ (key >> _32) ^ late
    x = (x * np.uint64(0x846CA68B)) & _LOW
    return x ^ (x >> _16)


@compiled
def draw_masks(key: Ints, first_round: np.uint64, thresholds: Ints, masks: Ints) -> None:
    """Write to masks (rounds, members) how many thresholds random numbers are below.

    The mask of member j in a round depends on ``key[j]`` and the number of the round
    alone, not on any mask before it. key (members,), first_round and thresholds, which
    descend, are uint64; a mask is above r with probability ``thresholds[r] / 2**32``.
    """
    most = thresholds.shape[0]
    for t in range(masks.shape[0]):
        now = first_round + np.uint64(t)
        early = scramble(((now & _LOW) + _GOLDEN) & _LOW)
        late = scramble((early + (now >> _32) + _GOLDEN) & _LOW)
        if most == 1:
            for j in range(masks.shape[1]):
                masks[t, j] = draw(key[j], early, late) < thresholds[0]
            continue
        for j in range(masks.shape[1]):
            x, count = draw(key[j], early, late), 0
            while count < most and x < thresholds[count]:
                count += 1
            masks[t, j] = count


@inlined_sum
def dense_dots(
    X: Floats, i: int, a: Floats, b: Floats, c: Floats, d: Floats
) -> tuple[float, float, float, float]:
    """Return the products of row `i` of a matrix with four weight vectors."""
    sum_a, sum_b, sum_c, sum_d = 0.0, 0.0, 0.0, 0.0
    for j in range(X.shape[1]):
        x = X[i, j]
        sum_a += x * a[j]
        sum_b += x * b[j]
        sum_c += x * c[j]
        sum_d += x * d[j]
    return sum_a, sum_b, sum_c, sum_d


@inlined
def sparse_dots(
    rows: Rows, i: int, size: int, a: Floats, b: Floats, c: Floats, d: Floats
) -> tuple[float, float, float, float]:
    """Do the same for a CSR matrix; NaN if an index is not that of a feature."""
    data, indices, indptr = rows  # type: ignore[misc]
    sum_a, sum_b, sum_c, sum_d = 0.0, 0.0, 0.0, 0.0
    for p in range(np.uintp(indptr[i]), np.uintp(indptr[i + 1])):
        x, j = data[p], np.uintp(indices[p])
        if j >= np.uintp(size):
            return np.nan, np.nan, np.nan, np.nan
        sum_a += x * a[j]
        sum_b += x * b[j]
        sum_c += x * c[j]
        sum_d += x * d[j]
    return sum_a, sum_b, sum_c, sum_d


@inlined
def member_scores(
    rows: Rows,
    i: int,
    intercept: bool,
    scale: float,
    weights: Floats,
    drawn: Ints,
    n_drawn: int,
    scores: Floats,
) -> None:
    """Write the scores that the drawn members give to row `i`.

    Four members at a time, so that the row is read once for all four. The last one
    is repeated to fill up the last four, hence drawn and scores (members + 3,): a
    member's score must not depend on who is drawn beside it, not by a bit.
    """
    for more in range(3):
        drawn[n_drawn + more] = drawn[n_drawn - 1]
    size = weights.shape[1] - intercept
    c = 0
    while c < n_drawn:
        j, k = np.uintp(drawn[c]), np.uintp(drawn[c + 1])
        m, n = np.uintp(drawn[c + 2]), np.uintp(drawn[c + 3])
        if len(rows) == 1:
            four = dense_dots(rows[0], i, weights[j], weights[k], weights[m], weights[n])
        else:
            four = sparse_dots(rows, i, size, weights[j], weights[k], weights[m], weights[n])
        if intercept:
            scores[c] = (four[0] + weights[j, size]) * scale
            scores[c + 1] = (four[1] + weights[k, size]) * scale
            scores[c + 2] = (four[2] + weights[m, size]) * scale
            scores[c + 3] = (four[3] + weights[n, size]) * scale
        else:
            scores[c] = four[0] * scale
            scores[c + 1] = four[1] * scale
            scores[c + 2] = four[2] * scale
            scores[c + 3] = four[3] * scale
        c += 4


@inlined
def count_votes(
    scores: Floats, thresholds: Floats, right: Ints, votes: Ints, right_votes: Ints, t: int
) -> bool:
    """Add the members' votes on row `t`; return False without a finite score."""
    for j in range(thresholds.shape[0]):
        if not np.isfinite(scores[j]):
            return False
        guess = level_of(scores[j], thresholds[j])
        votes[t, guess] += 1
        right_votes[t, guess] += right[j]
    return True


@inlined
def count_average_votes(
    now: float,
    scores: Floats,
    lagging: Floats,
    members: Members,
    votes: Ints,
    right_votes: Ints,
    t: int,
) -> bool:
    """Do the same by the averages of the rules after each of `now` rounds."""
    thresholds, threshold_lag = members.thresholds, members.threshold_lag
    for j in range(thresholds.shape[0]):
        total = now * scores[j] - lagging[j]
        if not np.isfinite(total):
            return False
        guess = level_of_sum(total, now, thresholds[j], threshold_lag[j])
        votes[t, guess] += 1
        right_votes[t, guess] += members.right[j]
    return True


@inlined
def select_members(masks: Ints, t: int, n_before: int, drawn: Ints) -> int:
    """Write to `drawn` who is offered row `t` after `n_before` offers; return how many."""
    n_drawn = 0
    for j in range(masks.shape[1]):
        drawn[n_drawn] = j
        n_drawn += masks[t, j] > n_before
    return n_drawn


@inlined
def keep_wrong(
    drawn: Ints, n_drawn: int, scores: Floats, thresholds: Floats, truth: int, right: Ints
) -> int:
    """Keep of the drawn members, and their scores, those that misplace the row."""
    n_thresholds = thresholds.shape[1]
    n_wrong = 0
    for c in range(n_drawn):
        j, score = drawn[c], scores[c]
        # Written so that a score which is not finite is never right.
        low = thresholds[j, truth - 1] if truth > 0 else SMALLEST
        high = thresholds[j, truth] if truth < n_thresholds else np.inf
        is_right = (score >= low) & (score < high)
        right[j] += is_right
        drawn[n_wrong] = j
        scores[n_wrong] = score
        n_wrong += not is_right
    return n_wrong


@inlined
def move_thresholds(score: float, truth: int, thresholds: Floats) -> tuple[float, int]:
    """Move the thresholds of a member that misplaced a row.

    Returns the step of its weights, and by how many levels it was off.
    """
    step, guess = 0.0, 0
    for r in range(thresholds.shape[0]):
        threshold = thresholds[r]
        guess += score >= threshold
        move = threshold_move(score, threshold, truth > r)
        thresholds[r] = threshold - move
        step += move
    return step, abs(guess - truth)


@inlined
def add_moves(score: float, truth: int, thresholds: Floats, moves: Floats, t: int) -> None:
    """Add to ``moves[t]``, unless empty, how far the thresholds are going to move."""
    if moves.shape[0]:
        for r in range(thresholds.shape[0]):
            moves[t, r] += threshold_move(score, thresholds[r], truth > r)


@inlined
def add_lags(
    now: float, score: float, truth: int, thresholds: Floats, threshold_lag: Floats
) -> None:
    """Change the lags of a member's thresholds, which are going to move."""
    for r in range(thresholds.shape[0]):
        threshold_lag[r] -= threshold_move(score, thresholds[r], truth > r) * now


@compiled
def learn(
    block: RowBlock,
    transform: RowTransform,
    masks: Ints,
    most: int,
    members: Members,
    rounds: int,
    scratch: Scratch,
    outcome: Outcome,
    tally: Ints,
) -> int:
    """Offer each row of a block to members as often as masks (n, members) says.

    A member is offered a row again, at most `most` times, after all have learnt it
    once. rounds counts those before the block, which averages need. tally (2,) counts
    mistakes and lost steps. Returns the first row with a score that is not finite, or
    -1.
    """
    rows, intercept = block.rows, transform.intercept
    weights, thresholds, right, lag, threshold_lag = members
    drawn, scores, lagging = scratch
    averaged = lag.shape[0] > 0
    steps, moves, votes, right_votes = outcome
    n_members = thresholds.shape[0]
    ahead = rows_ahead(rows)
    # Counted apart: threads that write next to each other wait for each other.
    mistakes, loss = 0, 0
    for t in range(block.level.shape[0]):
        i = next_row(rows, block.start, block.order, t, ahead)
        scale = row_scale(rows, i, intercept, transform.unit_norm)
        truth = block.level[t]
        if votes.shape[0]:
            for j in range(n_members):
                drawn[j] = j
            member_scores(rows, i, intercept, scale, weights, drawn, n_members, scores)
            if averaged and rounds + t > 0:
                member_scores(rows, i, intercept, scale, lag, drawn, n_members, lagging)
                now = float(rounds + t)
                if not count_average_votes(now, scores, lagging, members, votes, right_votes, t):
                    return t
            elif not count_votes(scores, thresholds, right, votes, right_votes, t):
                return t
        for offer in range(most):
            # First who, then what: the loops that follow have no mask to mispredict.
            n_drawn = select_members(masks, t, offer, drawn)
            if n_drawn == 0:
                # Damaged rows are found whichever members are drawn.
                if offer == 0 and not row_is_sound(rows, i, weights.shape[1] - intercept):
                    return t
                break
            member_scores(rows, i, intercept, scale, weights, drawn, n_drawn, scores)
            n_wrong = keep_wrong(drawn, n_drawn, scores, thresholds, truth, right)
            mistakes += n_wrong
            for c in range(n_wrong):
                j = drawn[c]
                if not np.isfinite(scores[c]):
                    return t
                add_moves(scores[c], truth, thresholds[j], moves, t)
                if averaged:
                    add_lags(float(rounds + t), scores[c], truth, thresholds[j], threshold_lag[j])
                step, off = move_thresholds(scores[c], truth, thresholds[j])
                loss += off
                steps[t] += step
                row_add(block.added, i, step * scale, weights[j])
                if intercept:
                    weights[j, weights.shape[1] - 1] += step * scale
                if averaged:
                    late = step * scale * float(rounds + t)
                    row_add(block.added, i, late, lag[j])
                    if intercept:
                        lag[j, lag.shape[1] - 1] += late
    tally[0] += mistakes
    tally[1] += loss
    return -1


@compiled
def predict_by_total(
    block: RowBlock, transform: RowTransform, state: PRankState, outcome: Outcome
) -> int:
    """Predict rows by the sum of all members, moving it as `learn` moved them.

    The arrays of `state`, changed in place, are the sums over members before the block,
    whose rows come in their own order. Returns the first row with a score that is not
    finite, or -1.
    """
    rows, intercept = block.rows, transform.intercept
    total, total_thresholds, lag, threshold_lag, rounds, averaged = state
    ahead = rows_ahead(rows)
    for t in range(block.predicted.shape[0]):
        i = next_row(rows, block.start, block.order, t, ahead)
        scale = row_scale(rows, i, intercept, transform.unit_norm)
        score = row_score(rows, i, total, intercept, scale)
        if not np.isfinite(score):
            return t
        block.predicted[t] = level_of(score, total_thresholds)
        now = float(rounds + t)
        if averaged and now > 0:
            late = now * score - row_score(rows, i, lag, intercept, scale)
            block.predicted[t] = level_of_sum(late, now, total_thresholds, threshold_lag)
        for r in range(total_thresholds.shape[0]):
            total_thresholds[r] -= outcome.moves[t, r]
            if averaged:
                threshold_lag[r] -= outcome.moves[t, r] * now
        step = outcome.steps[t]
        if step != 0.0:
            row_add(block.added, i, step * scale, total)
            if intercept:
                total[total.shape[0] - 1] += step * scale
            if averaged:
                row_add(block.added, i, step * scale * now, lag)
                if intercept:
                    lag[lag.shape[0] - 1] += step * scale * now
    return -1


@compiled
def vote(
    rows: Rows,
    start: int,
    transform: RowTransform,
    members: Members,
    scratch: Scratch,
    votes: Ints,
    right_votes: Ints,
) -> int:
    """Let all members vote on the n rows from `start` on: votes, right_votes (n, k).

    Their lags do not matter: weights and thresholds are those of the rules. Returns the
    first row with a score that is not finite, or -1.
    """
    weights, thresholds, right = members.weights, members.thresholds, members.right
    drawn, scores = scratch.drawn, scratch.scores
    intercept = transform.intercept
    ahead = rows_ahead(rows)
    n_members = thresholds.shape[0]
    for j in range(n_members):
        drawn[j] = j
    for t in range(votes.shape[0]):
        i = next_row(rows, start, drawn[:0], t, ahead)
        scale = row_scale(rows, i, intercept, transform.unit_norm)
        member_scores(rows, i, intercept, scale, weights, drawn, n_members, scores)
        if not count_votes(scores, thresholds, right, votes, right_votes, t):
            return t
    return -1
