"""Ensembles of PRanks with a kernel: one support, a column of coefficients a member."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Self

import numpy as np

from peckorder._core.row_transform import NONE, Stopped, View
from peckorder._core.threads import MIN_ITEMS_PER_THREAD, share
from peckorder._core.typing import Floats, Ints, Rows
from peckorder._core.validation import count_rows
from peckorder.ordinal.compiled import dual as kernels
from peckorder.ordinal.learners.base import Visit, visit_in_blocks
from peckorder.ordinal.learners.ensemble_base import (
    NO_BALLOTS,
    AggregateLearner,
    Ballots,
)
from peckorder.ordinal.learners.kernel_prank import (
    NO_VALUES,
    add_up,
    earlier_places,
    keep_items,
)
from peckorder.similarity.kernel_function import NOTHING, Items, KernelFunction


class _Told(NamedTuple):
    """What a range of members did with a block."""

    stopped: int
    tally: Ints
    coef: Floats
    said: Floats
    moves: Floats
    ballots: Ballots


@dataclass(kw_only=True)
class KernelEnsembleLearner(AggregateLearner):
    """Members with integer coefficients (support, N) of rows that some misplaced.

    `budget` is the most rows that a member keeps, 0 for all of them.
    """

    kernel: KernelFunction
    budget: int
    coef: Floats
    support: Items = NOTHING

    @property
    def view(self) -> View:
        """How rows are looked at."""
        return self.kernel.view

    def visit(self, visit: Visit) -> int:
        """Learn a block; return the position of a row that cannot be, or -1."""
        return visit_in_blocks(visit, lambda: len(self.support), self._visit)

    def _visit(self, visit: Visit) -> int:
        try:
            items = self.kernel.items(visit.rows, visit.chosen, visit.numbers)
        except Stopped as damaged:
            return damaged.row or 0
        past = self.kernel.values(items, self.support)
        now = self.kernel.values_among(items)
        thresholds = self.thresholds.sum(axis=0)
        earlier = earlier_places(self.support, items) if self.budget else NONE
        by_total = self.aggregate == "bayes_point" and not self.are_alike
        by_total = by_total and visit.predicted.size > 0
        work = partial(self._learn, visit, past, now, earlier, by_total)
        told = share(len(self), self._threads(past.size + now.size), work)
        stopped = min((t.stopped for t in told if t.stopped >= 0), default=-1)
        if stopped >= 0:
            return stopped
        self.tally.add(len(visit), np.sum([t.tally for t in told], axis=0))
        self.clock += len(visit)
        self._keep(items, np.hstack([t.coef for t in told]))
        if by_total:
            score = np.hstack([t.said for t in told]).sum(axis=1)
            moves = np.sum([t.moves for t in told], axis=0)
            before = thresholds - (np.cumsum(moves, axis=0) - moves)
            visit.predicted[:] = (score[:, np.newaxis] >= before).sum(axis=1)
        elif visit.predicted.size:
            ballots = sum((t.ballots for t in told[1:]), start=told[0].ballots)
            visit.predicted[:] = self.decide(ballots)
        return -1

    def _learn(
        self,
        visit: Visit,
        past: Floats,
        now: Floats,
        earlier: Ints,
        by_total: bool,
        members: slice,
        give_up: Callable[[], bool],
    ) -> _Told:
        """Let some of the members learn a block."""
        n, n_members = len(visit), members.stop - members.start
        by_votes = visit.predicted.size > 0 and not by_total
        coef = np.zeros((len(self.support) + n, n_members))
        coef[: len(self.support)] = self.coef[:, members]
        said = np.empty((n, n_members) if by_total else (0, 0))
        moves = np.zeros((n, self.n_levels - 1) if by_total else (0, 0))
        ballots = Ballots.none(n, self.n_levels) if by_votes else NO_BALLOTS
        counts = np.zeros(2, dtype=np.int64)
        stopped = kernels.learn(
            past,
            now,
            visit.level,
            self.coins(members, 0, n),
            coef,
            self.thresholds[members],
            self.right[members],
            self.budget,
            earlier,
            np.zeros(n_members, dtype=np.int64),
            np.count_nonzero(coef, axis=0),
            np.empty(n_members + 1, dtype=np.int64),
            np.empty(n_members),
            said,
            moves,
            ballots.one_each,
            ballots.by_right,
            counts,
        )
        return _Told(stopped, counts, coef, said, moves, ballots)

    def _keep(self, items: Items, coef: Floats) -> None:
        """Take up the rows that a block added, and let go of those it dropped."""
        kept = coef.any(axis=1)
        support, new = keep_items(self.kernel, self.support, items, kept)
        if self.budget:
            self.support, self.coef = support + new, coef[kept]
        else:
            self.support, self.coef = add_up(support, new, coef[kept])

    def _threads(self, n_kernels: int) -> int:
        work = n_kernels * len(self)
        return min(self.n_threads, 1 + work // MIN_ITEMS_PER_THREAD["products"])

    def _alike(self) -> bool:
        return bool((self.coef == self.coef[:, :1]).all())

    def is_finite(self) -> bool:
        """Whether nothing has overflowed so far: integers never do."""
        return True

    def expansion(self) -> tuple[Ints, Floats]:
        """Return numbers of rows and their coefficients in the mean of all members."""
        number, inverse = np.unique(self.support.number, return_inverse=True)
        coef = np.zeros(len(number))
        # A row may have several places, having been dropped by some members only.
        np.add.at(coef, inverse, self.coef.mean(axis=1))
        return number, coef

    def total_scores(self, rows: Rows) -> Floats:
        """Return the sum of the members' scores of every row."""
        score, total = np.empty(count_rows(rows)), self.coef.sum(axis=1)
        for some, past in self.kernel.blocks(rows, self.support):
            kernels.scores(past, NO_VALUES, total, score[some])
        is_finite = np.isfinite(score)
        if not is_finite.all():
            raise Stopped(int(np.argmin(is_finite)))
        return score

    def ballots(self, rows: Rows) -> Ballots:
        """Let the members vote on every row."""
        ballots = Ballots.none(count_rows(rows), self.n_levels)
        for some, past in self.kernel.blocks(rows, self.support):
            stopped = kernels.ballot(
                past,
                NO_VALUES,
                self.coef,
                self.thresholds,
                self.right,
                np.empty(len(self)),
                ballots.one_each[some],
                ballots.by_right[some],
            )
            if stopped >= 0:
                raise Stopped(some.start + stopped)
        return ballots

    def with_threads(self, n_threads: int) -> Self:
        """Return the same ensemble, set to work on so many threads."""
        kernel = replace(self.kernel, n_threads=n_threads)
        return replace(self, kernel=kernel, n_threads=n_threads)

    def merge(self, other: Self) -> Self:
        """Return a learner with the members of both.

        Rows of the other are numbered on from the rounds of this one.
        """
        number = other.support.number + self.tally.rounds
        theirs = Items(other.support.matrix, number)
        shape = (len(self.support) + len(theirs), len(self) + len(other))
        coef: Floats = np.zeros(shape)
        coef[: len(self.support), : len(self)] = self.coef
        coef[len(self.support) :, len(self) :] = other.coef
        return self.merged(other, support=self.support + theirs, coef=coef)
