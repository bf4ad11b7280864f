"""Linear ensembles of PRanks: a weight vector a member."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Self

import numpy as np

from peckorder._core.row_transform import Stopped, View
from peckorder._core.threads import MIN_ITEMS_PER_THREAD, share
from peckorder._core.typing import Floats, Ints, Rows
from peckorder._core.validation import count_rows
from peckorder.ordinal.compiled import ensemble as kernels
from peckorder.ordinal.learners.base import Visit, scores
from peckorder.ordinal.learners.ensemble_base import (
    NO_BALLOTS,
    AggregateLearner,
    Ballots,
)
from peckorder.ordinal.learners.prank import LinearRule

# Coins tossed at a time: they stay near the processor until they are used.
_COINS = 1 << 17
# Votes, or moves of thresholds, held at a time.
_CELLS = 1 << 20

_NO_STEPS, _NO_MOVES = np.empty(0), np.empty((0, 0))


class _Told(NamedTuple):
    """What a range of members did with a block."""

    stopped: int
    tally: Ints
    steps: Floats
    moves: Floats
    ballots: Ballots


@dataclass(kw_only=True)
class EnsembleLearner(AggregateLearner):
    """Members with weights (N, d), the constant feature's last."""

    view: View
    weights: Floats

    def copy(self) -> Self:
        """Return a learner that goes its own way from here."""
        copied = super().copy()
        copied.weights = self.weights.copy()
        return copied

    def visit(self, visit: Visit) -> int:
        """Learn a block; return the position of a row that cannot be, or -1."""
        return self.visit_telling_steps(visit, telling=False)[0]

    def visit_telling_steps(
        self, visit: Visit, *, telling: bool = True
    ) -> tuple[int, Floats]:
        """Learn a block; return as well the step that each row made, members summed."""
        steps = np.zeros(len(visit) if telling else 0)
        size = len(visit)
        if visit.predicted.size:
            size = max(1, _CELLS // self.n_levels)
        for first in range(0, len(visit), size):
            part = visit.part(first, size)
            told = self._visit(part, telling=telling)
            if told.stopped >= 0:
                return first + told.stopped, steps
            steps[first : first + size] = told.steps if telling else 0
        return -1, steps

    def _visit(self, visit: Visit, *, telling: bool) -> _Told:
        predicts = visit.predicted.size > 0
        by_total = predicts and self.aggregate == "bayes_point" and not self.are_alike
        by_votes = predicts and not by_total
        before = self.total() if by_total else None
        work = partial(self._learn, visit, telling or by_total, by_total, by_votes)
        threads = self._threads(len(visit))
        all_told = share(len(self), threads, work)
        told = _joined(all_told)
        self.tally.add(len(visit), told.tally)
        self.clock += len(visit)
        if told.stopped >= 0:
            return told
        if by_votes:
            visit.predicted[:] = self.decide(told.ballots)
        if before is not None:
            stopped = kernels.follow(
                visit.rows,
                visit.added or visit.rows,
                visit.start,
                self.view.intercept,
                self.view.unit_norm,
                *before,
                told.steps,
                told.moves,
                visit.predicted,
            )
            told = told._replace(stopped=stopped)
        return told

    def _learn(
        self,
        visit: Visit,
        tell_steps: bool,
        tell_moves: bool,
        tell_votes: bool,
        members: slice,
        give_up: Callable[[], bool],
    ) -> _Told:
        """Let some of the members learn a block."""
        n, n_members = len(visit), members.stop - members.start
        steps = np.zeros(n) if tell_steps else _NO_STEPS
        moves = np.zeros((n, self.n_levels - 1)) if tell_moves else _NO_MOVES
        ballots = Ballots.none(n, self.n_levels) if tell_votes else NO_BALLOTS
        counts = np.zeros(2, dtype=np.int64)
        drawn, members_scores = self._scratch(n_members)
        size = max(1, _COINS // n_members)
        for first in range(0, n, size):
            part, some = visit.part(first, size), slice(first, first + size)
            stopped = kernels.learn(
                part.rows,
                part.added or part.rows,
                part.start,
                part.order,
                part.level,
                self.coins(members, first, len(part)),
                self.view.intercept,
                self.view.unit_norm,
                self.weights[members],
                self.thresholds[members],
                self.right[members],
                drawn,
                members_scores,
                steps[some],
                moves[some],
                ballots.one_each[some],
                ballots.by_right[some],
                counts,
            )
            if stopped >= 0:
                return _Told(first + stopped, counts, steps, moves, ballots)
            if give_up():
                break
        return _Told(-1, counts, steps, moves, ballots)

    @staticmethod
    def _scratch(n_members: int) -> tuple[Ints, Floats]:
        return np.empty(n_members + 3, dtype=np.int64), np.empty(n_members + 3)

    def _threads(self, n_rows: int) -> int:
        work = n_rows * self.weights.size
        return min(self.n_threads, 1 + work // MIN_ITEMS_PER_THREAD["products"])

    def is_finite(self) -> bool:
        """Whether nothing has overflowed so far."""
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(np.isfinite(self.total().weights).all())

    def _alike(self) -> bool:
        return bool((self.weights == self.weights[0]).all())

    def total(self) -> LinearRule:
        """Return the sum of all members, in the order of the members."""
        return LinearRule(self.weights.sum(axis=0), self.thresholds.sum(axis=0))

    def mean_rule(self) -> LinearRule:
        """Return the mean of all members."""
        weights, thresholds = self.total()
        return LinearRule(weights / len(self), thresholds / len(self))

    def total_scores(self, rows: Rows) -> Floats:
        """Return the sum of the members' scores of every row."""
        return scores(rows, self.view, self.total().weights)

    def ballots(self, rows: Rows) -> Ballots:
        """Let the members vote on every row."""
        n_rows = count_rows(rows)
        ballots = Ballots.none(n_rows, self.n_levels)
        work = partial(self._ballot, rows, ballots)
        stopped = share(n_rows, self._threads(n_rows), work)
        for row in stopped:
            if row >= 0:
                raise Stopped(row)
        return ballots

    def _ballot(
        self, rows: Rows, ballots: Ballots, some: slice, give_up: Callable[[], bool]
    ) -> int:
        drawn, members_scores = self._scratch(len(self))
        size = max(1, _COINS // len(self))
        for first in range(some.start, some.stop, size):
            now = slice(first, min(first + size, some.stop))
            stopped = kernels.ballot(
                rows,
                first,
                self.view.intercept,
                self.view.unit_norm,
                self.weights,
                self.thresholds,
                self.right,
                drawn,
                members_scores,
                ballots.one_each[now],
                ballots.by_right[now],
            )
            if stopped >= 0:
                return first + stopped
            if give_up():
                break
        return -1

    def merge(self, other: Self) -> Self:
        """Return a learner with the members of both."""
        return self.merged(other, weights=np.concatenate([self.weights, other.weights]))


def _joined(parts: list[_Told]) -> _Told:
    """Put together what ranges of members did; sums of integers, so exact."""
    places = [part.stopped for part in parts if part.stopped >= 0]
    return _Told(
        min(places, default=-1),
        np.sum([part.tally for part in parts], axis=0),
        np.sum([part.steps for part in parts], axis=0),
        np.sum([part.moves for part in parts], axis=0),
        sum((part.ballots for part in parts[1:]), start=parts[0].ballots),
    )
