"""Ensembles of PRanks with a kernel: one support, coefficients per member."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Self

import numpy as np

from peckorder._core.row_transform import UnusableRow
from peckorder._core.threads import Stop
from peckorder._core.typing import Floats, Ints, Rows
from peckorder._core.validation import count_rows
from peckorder.ordinal.compiled import dual
from peckorder.ordinal.compiled.dual import KernelMembers, KernelValues
from peckorder.ordinal.compiled.ensemble import Outcome
from peckorder.ordinal.compiled.linear import RowBlock
from peckorder.ordinal.learners.ensemble_base import (
    MEMBERS,
    AggregateLearner,
    Ballots,
    BlockResult,
    check_members,
)
from peckorder.ordinal.learners.kernel_base import NO_VALUES, SUPPORT, KernelLearner
from peckorder.similarity.kernel_function import Items
from peckorder.storage.fields import Field, Table, floats


@dataclass(kw_only=True)
class KernelEnsembleLearner(AggregateLearner, KernelLearner):
    """Members with integer coefficients (support, N) of rows that some misplaced.

    `budget` is the most rows that a member keeps, 0 for all of them.
    """

    stored_fields: ClassVar = Table(
        *MEMBERS, Field("coef", floats("support", "rules")), SUPPORT, complete=check_members
    )

    coef: Floats

    def _learn(self, block: RowBlock, items: Items, values: KernelValues, earlier: Ints) -> int:
        thresholds = self.thresholds.sum(axis=0)
        by_total = self.predicts_by_total(block)
        work = partial(self._learn_members, block, values, earlier, by_total)
        n_products = (values.past.size + values.now.size) * len(self)
        result = self.learn_by_members(block, n_products, work)
        if result.unusable >= 0:
            return result.unusable
        coef, scores = result.state
        self.coef = self._add_support(items, coef, np.asarray(coef.any(axis=1)))
        if by_total:
            moves = result.outcome.moves
            before = thresholds - (np.cumsum(moves, axis=0) - moves)
            block.predicted[:] = (scores.sum(axis=1)[:, np.newaxis] >= before).sum(axis=1)
        return -1

    def _learn_members(
        self,
        block: RowBlock,
        values: KernelValues,
        earlier: Ints,
        by_total: bool,
        members: slice,
        give_up: Stop,
    ) -> BlockResult:
        """Let a range of members learn a block."""
        n, n_members = block.n_rows, members.stop - members.start
        by_votes = block.predicted.size > 0 and not by_total
        coef = np.zeros((len(self.support) + n, n_members))
        coef[: len(self.support)] = self.coef[:, members]
        scores = np.empty((n, n_members) if by_total else (0, 0))
        outcome = Outcome.allocate(n, self.n_levels, moves=by_total, votes=by_votes)
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
            self.most_offers,
            state,
            earlier,
            self.budget,
            np.empty(n_members + 1, dtype=np.int64),
            np.empty(n_members),
            (scores, outcome),
            counts,
        )
        return BlockResult(unusable, counts, outcome, (coef, scores))

    def _alike(self) -> bool:
        return bool((self.coef == self.coef[:, :1]).all())

    def expansion(self) -> tuple[Ints, Floats]:
        """Return numbers of rows and their coefficients in the mean of all members."""
        number, inverse = np.unique(self.support.number, return_inverse=True)
        coef = np.zeros(len(number))
        # A row may have several positions, having been dropped by some members only.
        np.add.at(coef, inverse, self.coef.mean(axis=1))
        return number, coef

    def total_scores(self, rows: Rows) -> Floats:
        """Return the sum of the members' scores of every row."""
        return self._scores(rows, self.coef.sum(axis=1))

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

    def alone(self, j: int) -> Self:
        """Return a learner of member j, which has learnt nothing yet."""
        kernel = replace(self.kernel, n_threads=1)
        return self._alone(j, kernel=kernel, coef=self.coef[:, j : j + 1].copy())

    def joined(self, parts: Sequence[Self]) -> Self:
        """Return a learner of members that have learnt the same rows alone.

        A row that several of them keep is kept once.
        """
        support = self.support
        for part in parts:
            is_new = ~np.isin(part.support.number, support.number)
            if is_new.any():
                support += part.support[is_new]
        order = np.argsort(support.number)
        support = support[order]
        coef: Floats = np.zeros((len(support), len(parts)))
        for j, part in enumerate(parts):
            position = np.searchsorted(support.number, part.support.number)
            coef[position, j] = part.coef[:, 0]
        return self._joined(parts, support=support, coef=coef)

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
