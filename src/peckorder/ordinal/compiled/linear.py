"""The on-line learners: each row is learnt once, in order.

A row with a NaN or an infinity gives a score that is not finite, whatever the
weights (zero times infinity is NaN), and so does a sparse row with an index out of
range: every function stops there and returns the position of that row, so the data
need not be checked beforehand.
"""

from typing import NamedTuple, Self

import numpy as np

from peckorder._core.compiled.jit import compiled, inlined
from peckorder._core.compiled.rows import (
    fetch,
    row_add,
    row_clear,
    row_scale,
    row_score,
    rows_ahead,
)
from peckorder._core.row_transform import RowTransform
from peckorder._core.typing import Floats, Ints, Rows


class RowBlock(NamedTuple):
    """A block of n rows to learn.

    The rows are `order` (n,) or, if that is empty, those from `start` on; level (n,)
    holds their true levels, 0..k-1; predicted (n,), unless empty, receives the
    predicted ones. What is added to the weights are the rows of `added`, which is
    `rows` too unless the two are features whose products are a kernel. Row 0 of `rows`
    has the number `first_number` among all rows ever given.
    """

    rows: Rows
    added: Rows
    start: int
    order: Ints
    level: Ints
    predicted: Ints
    first_number: int = 0

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.level.size

    @property
    def selected(self) -> slice | Ints:
        """The index that selects the rows from all."""
        if self.order.size:
            return self.order
        return slice(self.start, self.start + self.n_rows)

    @property
    def numbers(self) -> Ints:
        """The numbers of the rows among all rows ever given."""
        if self.order.size:
            return self.first_number + self.order
        first = self.first_number + self.start
        return np.arange(first, first + self.n_rows)

    def sub_block(self, first: int, size: int) -> Self:
        """Return the `size` rows, or as many as there are, from position `first` on."""
        positions = slice(first, first + size)
        return self._replace(
            start=self.start + first,
            order=self.order[positions],
            level=self.level[positions],
            predicted=self.predicted[positions],
        )


class PRankState(NamedTuple):
    """The rule of PRank after `rounds` rounds; the arrays are changed in place.

    weights (d,) and thresholds (k-1,). If `averaged`, lag (d,) and threshold_lag
    (k-1,) are kept such that after T rounds the sum of the weights after each round is
    ``T * weights - lag``.
    """

    weights: Floats
    thresholds: Floats
    lag: Floats
    threshold_lag: Floats
    rounds: int
    averaged: bool


class UpdateLog(NamedTuple):
    """Receives the round, step and score of each update; arrays (n,), or empty."""

    round: Ints
    step: Floats
    score: Floats

    @classmethod
    def allocate(cls, n_rows: int) -> Self:
        """Return a log with room for one update per row."""
        return cls(np.empty(n_rows, np.int64), np.empty(n_rows), np.empty(n_rows))

    def first(self, n: int) -> Self:
        """Return the first n updates."""
        return type(self)(self.round[:n], self.step[:n], self.score[:n])


class VotingRules(NamedTuple):
    """Rules of voted PRank, each the one before it and an update.

    Rule h adds ``step[h]`` times a row that had ``score[h]`` and the level
    ``truth[h]``; it has ``votes[h]`` votes. Rule 0 is the one before all updates.
    """

    step: Floats
    score: Floats
    truth: Ints
    votes: Ints


class VotedRows(NamedTuple):
    """Rows that rules vote on, and what the votes add up to.

    Row t is judged by the rules up to ``latest[t]``, the last of which has
    ``latest_votes[t]`` votes; where all votes are zero, by the last alone. latest (n,)
    never falls. mean (n,) receives the mean ranks; the others (n,) are scratch.
    """

    latest: Ints
    latest_votes: Ints
    mean: Floats
    scale: Floats
    score: Floats
    n_votes: Ints

    @classmethod
    def allocate(cls, latest: Ints, latest_votes: Ints, mean: Floats) -> Self:
        """Return the rows with new scratch arrays."""
        n = len(mean)
        scale, score, n_votes = np.empty(n), np.empty(n), np.empty(n, np.int64)
        return cls(latest, latest_votes, mean, scale, score, n_votes)


@compiled
def scores(rows: Rows, transform: RowTransform, weights: Floats, score: Floats) -> None:
    """Write the score of every row to `score` (n,)."""
    for i in range(score.shape[0]):
        scale = row_scale(rows, i, transform.intercept, transform.unit_norm)
        score[i] = row_score(rows, i, weights, transform.intercept, scale)


@inlined
def level_of(score: float, thresholds: Floats) -> int:
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
def level_of_sum(total: float, time: float, thresholds: Floats, lag: Floats) -> int:
    """Return the level of a sum of scores among the sums of thresholds."""
    level = 0
    for r in range(thresholds.shape[0]):
        level += total >= time * thresholds[r] - lag[r]
    return level


@inlined
def record_update(updates: UpdateLog, position: int, t: int, step: float, score: float) -> None:
    """Write an update to the log."""
    updates.round[position] = t
    updates.step[position] = step
    updates.score[position] = score


@inlined
def threshold_move(score: float, threshold: float, is_above: bool) -> float:
    """Return how far down a misplaced row of that score moves a threshold."""
    side = 1.0 if is_above else -1.0
    return side if side * (score - threshold) <= 0.0 else 0.0


@inlined
def next_row(rows: Rows, start: int, order: Ints, t: int, ahead: int) -> int:
    """Return the row to learn in round `t`, and prefetch a later one."""
    row: int = start + t
    if order.shape[0]:
        row = order[t]
        if ahead and t + ahead < order.shape[0]:
            fetch(rows, order[t + ahead])
    elif ahead:
        fetch(rows, row + ahead)
    return row


@compiled
def prank(
    block: RowBlock, transform: RowTransform, state: PRankState, updates: UpdateLog, tally: Ints
) -> int:
    """Learn a block of rows by PRank, from each row that is misplaced.

    Predictions are those of the averaged rule, if it is kept, else of the last. tally
    receives the number of mistakes of the last rule, which is that of updates, and the
    steps by which it missed. Returns the first row whose score is not finite, or -1.
    """
    rows, intercept = block.rows, transform.intercept
    weights, thresholds, lag, threshold_lag, rounds, averaged = state
    ahead = rows_ahead(rows)
    for t in range(block.level.shape[0]):
        i = next_row(rows, block.start, block.order, t, ahead)
        scale = row_scale(rows, i, intercept, transform.unit_norm)
        score = row_score(rows, i, weights, intercept, scale)
        if not np.isfinite(score):
            return t
        guess = level_of(score, thresholds)
        truth = block.level[t]
        now = float(rounds + t)
        if block.predicted.shape[0]:
            block.predicted[t] = guess
            if averaged and now > 0:
                lagging = row_score(rows, i, lag, intercept, scale)
                total = now * score - lagging
                block.predicted[t] = level_of_sum(total, now, thresholds, threshold_lag)
        if guess == truth:
            continue
        step = 0.0
        for r in range(thresholds.shape[0]):
            move = threshold_move(score, thresholds[r], truth > r)
            thresholds[r] -= move
            threshold_lag[r] -= move * now
            step += move
        step *= scale
        row_add(block.added, i, step, weights)
        if intercept:
            weights[weights.shape[0] - 1] += step
        if averaged:
            row_add(block.added, i, step * now, lag)
            if intercept:
                lag[lag.shape[0] - 1] += step * now
        if updates.round.shape[0]:
            record_update(updates, tally[0], t, step, score)
        tally[0] += 1
        tally[1] += abs(guess - truth)
    return -1


@inlined
def add_votes(t: int, n: int, is_latest: bool, thresholds: Floats, voted: VotedRows) -> None:
    """Add the n votes of a rule on row `t`; one if it is the last, without any."""
    if n > 0 or (is_latest and voted.n_votes[t] == 0):
        rank = 1 + level_of(voted.score[t], thresholds)
        voted.mean[t] += max(n, 1) * rank
        voted.n_votes[t] += max(n, 1)


@compiled
def vote(
    rows: Rows,
    start: int,
    transform: RowTransform,
    first_rule: tuple[Floats, Floats],
    support: Rows,
    support_row: Ints,
    rules: VotingRules,
    voted: VotedRows,
    buffer: Floats,
) -> int:
    """Compute the mean rank that voted PRank gives to rows from `start` on.

    Rule 0 has the weights (d,) and thresholds (k-1,) of `first_rule`; the latter are
    changed in place to those of the later rules. Rule h adds row ``support_row[h]`` of
    `support`. buffer (d,), all zeros, is scratch. Returns the first row without a
    finite score, or -1.
    """
    weights, thresholds = first_rule
    intercept, n = transform.intercept, voted.mean.shape[0]
    for t in range(n):
        i = start + t
        voted.scale[t] = row_scale(rows, i, intercept, transform.unit_norm)
        voted.score[t] = row_score(rows, i, weights, intercept, voted.scale[t])
        if not np.isfinite(voted.score[t]):
            return t
        voted.mean[t] = 0.0
        voted.n_votes[t] = 0
    first = 0
    for h in range(rules.votes.shape[0]):
        while first < n and voted.latest[first] < h:
            first += 1
        if h > 0:
            row_add(support, support_row[h], 1.0, buffer)
            if intercept:
                buffer[buffer.shape[0] - 1] = 1.0
            move_as(h, rules, thresholds)
        for t in range(first, n):
            if h > 0:
                scale = voted.scale[t] * rules.step[h]
                voted.score[t] += row_score(rows, start + t, buffer, intercept, scale)
            is_latest = h == voted.latest[t]
            n_of_rule = voted.latest_votes[t] if is_latest else rules.votes[h]
            add_votes(t, n_of_rule, is_latest, thresholds, voted)
        if h > 0:
            row_clear(support, support_row[h], buffer)
    return finish_votes(voted)


@inlined
def move_as(h: int, rules: VotingRules, thresholds: Floats) -> None:
    """Move the thresholds as the update of rule `h` did."""
    for r in range(thresholds.shape[0]):
        is_above = rules.truth[h] > r
        thresholds[r] -= threshold_move(rules.score[h], thresholds[r], is_above)


@inlined
def finish_votes(voted: VotedRows) -> int:
    """Divide by the votes; return the first row without a finite score, or -1."""
    for t in range(voted.mean.shape[0]):
        if not np.isfinite(voted.score[t]):
            return t
        voted.mean[t] /= voted.n_votes[t]
    return -1
