"""Ensembles of PRanks with a kernel: one support, coefficients per member."""

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Self

import numpy as np

from peckorder._core.row_transform import NONE, RowTransform, UnusableRow
from peckorder._core.threads import MIN_ITEMS_PER_THREAD, Stop, share
from peckorder._core.typing import Bools, Floats, Ints, Rows
from peckorder._core.validation import count_rows
from peckorder.ordinal.compiled import dual
from peckorder.ordinal.compiled.dual import KernelMembers, KernelValues
from peckorder.ordinal.compiled.ensemble import Outcome
from peckorder.ordinal.compiled.linear import RowBlock
from peckorder.ordinal.learners.base import learn_in_blocks
from peckorder.ordinal.learners.ensemble_base import NO_BALLOTS, AggregateLearner, Ballots
from peckorder.ordinal.learners.kernel_prank import (
    NO_VALUES,
    add_up,
    earlier_positions,
    keep_items,
    kernel_scores,
)
from peckorder.similarity.kernel_function import NO_ITEMS, Items, KernelFunction

_NO_STEPS = np.empty(0)


class _BlockResult(NamedTuple):
    """What a range of members did with a block."""

    unusable: int
    tally: Ints
    coef: Floats
    scores: Floats
    outcome: Outcome


@dataclass(kw_only=True)
class KernelEnsembleLearner(AggregateLearner):
    """Members with integer coefficients (support, N) of rows that some misplaced.

    `budget` is the most rows that a member keeps, 0 for all of them.
    """

    kernel: KernelFunction
    budget: int
    coef: Floats
    support: Items = NO_ITEMS

    @property
    def transform(self) -> RowTransform:
        """How rows are transformed."""
        return self.kernel.transform

    def learn_block(self, block: RowBlock) -> int:
        """Learn a block; return the position of an unusable row, or -1."""
        return learn_in_blocks(block, lambda: len(self.support), self._learn)

    def _learn(self, block: RowBlock) -> int:
        try:
            items = self.kernel.items(block.rows, block.selected, block.numbers)
        except UnusableRow as damaged:
            return damaged.row or 0
        values = KernelValues(
            self.kernel.values(items, self.support), self.kernel.values_among(items)
        )
        thresholds = self.thresholds.sum(axis=0)
        earlier = earlier_positions(self.support, items) if self.budget else NONE
        by_total = self.aggregate == "bayes_point" and not self.are_alike
        by_total = by_total and block.predicted.size > 0
        work = partial(self._learn_members, block, values, earlier, by_total)
        n_threads = self._threads(values.past.size + values.now.size)
        results = share(len(self), n_threads, work)
        unusable = min((r.unusable for r in results if r.unusable >= 0), default=-1)
        if unusable >= 0:
            return unusable
        self.tally.add(block.n_rows, np.sum([r.tally for r in results], axis=0))
        self.clock += block.n_rows
        self._keep(items, np.hstack([r.coef for r in results]))
        if by_total:
            score = np.hstack([r.scores for r in results]).sum(axis=1)
            moves = np.sum([r.outcome.moves for r in results], axis=0)
            before = thresholds - (np.cumsum(moves, axis=0) - moves)
            block.predicted[:] = (score[:, np.newaxis] >= before).sum(axis=1)
        elif block.predicted.size:
            votes = [r.outcome.votes for r in results]
            right_votes = [r.outcome.right_votes for r in results]
            ballots = Ballots(np.sum(votes, axis=0), np.sum(right_votes, axis=0))
            block.predicted[:] = self.decide(ballots)
        return -1

    def _learn_members(
        self,
        block: RowBlock,
        values: KernelValues,
        earlier: Ints,
        by_total: bool,
        members: slice,
        give_up: Stop,
    ) -> _BlockResult:
        """Let a range of members learn a block."""
        n, n_members = block.n_rows, members.stop - members.start
        by_votes = block.predicted.size > 0 and not by_total
        coef = np.zeros((len(self.support) + n, n_members))
        coef[: len(self.support)] = self.coef[:, members]
        scores = np.empty((n, n_members) if by_total else (0, 0))
        moves = np.zeros((n, self.n_levels - 1) if by_total else (0, 0))
        ballots = Ballots.none(n, self.n_levels) if by_votes else NO_BALLOTS
        outcome = Outcome(_NO_STEPS, moves, *ballots)
        counts = np.zeros(2, dtype=np.int64)
        state = KernelMembers(
            coef,
            self.thresholds[members],
            self.right[members],
            np.zeros(n_members, dtype=np.int64),
            np.count_nonzero(coef, axis=0),
        )
        unusable = dual.learn(
            values,
            block.level,
            self.masks(members, 0, n),
            state,
            earlier,
            self.budget,
            np.empty(n_members + 1, dtype=np.int64),
            np.empty(n_members),
            (scores, outcome),
            counts,
        )
        return _BlockResult(unusable, counts, coef, scores, outcome)

    def _keep(self, items: Items, coef: Floats) -> None:
        """Add the rows that a block used, and remove those it dropped."""
        kept: Bools = np.asarray(coef.any(axis=1))
        support, new = keep_items(self.kernel, self.support, items, kept)
        if self.budget:
            self.support, self.coef = support + new, coef[kept]
        else:
            self.support, self.coef = add_up(support, new, coef[kept])

    def _threads(self, n_values: int) -> int:
        work = n_values * len(self)
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
        # A row may have several positions, having been dropped by some members only.
        np.add.at(coef, inverse, self.coef.mean(axis=1))
        return number, coef

    def total_scores(self, rows: Rows) -> Floats:
        """Return the sum of the members' scores of every row."""
        return kernel_scores(self.kernel, rows, self.support, self.coef.sum(axis=1))

    def ballots(self, rows: Rows) -> Ballots:
        """Let the members vote on every row."""
        ballots = Ballots.none(count_rows(rows), self.n_levels)

        def vote(block: slice, past: Floats) -> None:
            unusable = dual.vote_of_members(
                KernelValues(past, NO_VALUES),
                self.coef,
                self.thresholds,
                self.right,
                np.empty(len(self)),
                *(votes[block] for votes in ballots),
            )
            if unusable >= 0:
                raise UnusableRow(unusable)

        self.kernel.map_blocks(rows, self.support, vote)
        return ballots

    def with_threads(self, n_threads: int) -> Self:
        """Return the same ensemble with another number of threads."""
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
