"""PRank with a kernel: scores are sums over the rows it erred on."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, NamedTuple, Self

import numpy as np

from peckorder._core.row_transform import NONE, RowTransform, UnusableRow
from peckorder._core.typing import Array, Bools, Floats, Ints, Rows
from peckorder.ordinal.compiled import dual
from peckorder.ordinal.compiled.dual import Averaged, Averaging, KernelValues
from peckorder.ordinal.compiled.linear import RowBlock, UpdateLog, VotedRows, VotingRules
from peckorder.ordinal.learners.base import (
    Tally,
    appended,
    finite_scores,
    learn_in_blocks,
    nearest_level,
)
from peckorder.ordinal.learners.voted import votes_between
from peckorder.similarity.kernel_function import NO_ITEMS, Items, KernelFunction

NO_VALUES = np.empty((0, 0))
_no_numbers = partial(np.empty, 0)


def _new_clock() -> Ints:
    return np.zeros(4, dtype=np.int64)


class Expansion(NamedTuple):
    """Coefficients of the rows with these numbers, and the thresholds of the score."""

    number: Ints
    coef: Floats
    thresholds: Floats


@dataclass
class KernelPRankLearner:
    """Integer coefficients of the rows that were misplaced, and their thresholds.

    As with weights, ``rounds * coef - lag`` is the sum of the coefficients after each
    round. `budget` is the most rows to keep, 0 for all of them. Rules that had rows
    which are gone cannot be averaged any more: once some are, the average is taken over
    the last updates only, between an eighth and a quarter of the budget. For this there
    are the lags of a newer average, `newer`, and `clock`: when the average and the
    newer one began, updates made since, rows dropped.
    """

    _keeps_all: ClassVar[bool] = False

    kernel: KernelFunction
    averaged: bool
    budget: int
    thresholds: Floats
    threshold_lag: Floats = field(init=False)
    threshold_newer: Floats = field(init=False)
    clock: Ints = field(default_factory=_new_clock)
    support: Items = NO_ITEMS
    coef: Floats = field(default_factory=_no_numbers)
    lag: Floats = field(default_factory=_no_numbers)
    newer: Floats = field(default_factory=_no_numbers)
    tally: Tally = field(default_factory=Tally)

    def __post_init__(self) -> None:
        """Start the sums of thresholds."""
        self.threshold_lag = np.zeros_like(self.thresholds)
        self.threshold_newer = np.zeros_like(self.thresholds)

    @property
    def transform(self) -> RowTransform:
        """How rows are transformed."""
        return self.kernel.transform

    def copy(self) -> Self:
        """Return an independent copy.

        All but the thresholds is replaced as it changes, never written to.
        """
        copied = replace(
            self,
            thresholds=self.thresholds.copy(),
            clock=self.clock.copy(),
            tally=replace(self.tally),
        )
        copied.threshold_lag = self.threshold_lag.copy()
        copied.threshold_newer = self.threshold_newer.copy()
        return copied

    def learn_block(self, block: RowBlock) -> int:
        """Learn a block; return the position of an unusable row, or -1."""
        return learn_in_blocks(block, lambda: len(self.support), self._learn)

    def _learn(self, block: RowBlock) -> int:
        try:
            items = self.kernel.items(block.rows, block.selected, block.numbers)
        except UnusableRow as damaged:
            return damaged.row or 0
        n, before = block.n_rows, self.tally.rounds
        past = self.kernel.values(items, self.support)
        coef = Averaged(*(np.append(old, np.zeros(n)) for old in (self.coef, self.lag, self.newer)))
        log, counts = UpdateLog.allocate(n), np.zeros(2, dtype=np.int64)
        window = max(1, self.budget // 8)
        unusable = dual.prank(
            KernelValues(past, self.kernel.values_among(items)),
            block.level,
            block.predicted,
            coef,
            earlier_positions(self.support, items) if self.budget else NONE,
            Averaged(self.thresholds, self.threshold_lag, self.threshold_newer),
            Averaging(before, self.averaged, self.budget, window, self.clock),
            log,
            counts,
        )
        if unusable >= 0:
            return unusable
        self.tally.add(n, counts)
        self._record(block, log.first(counts[0]), before)
        self._keep(items, coef)
        if block.predicted.size:
            self._predict(items, before, block.predicted)
        return -1

    def _record(self, block: RowBlock, log: UpdateLog, before: int) -> None:
        """Remember the updates of a block, if they will be needed."""

    def _predict(self, items: Items, before: int, predicted: Ints) -> None:
        """Correct the predictions, for a rule that votes."""

    def _keep(self, items: Items, coef: Averaged) -> None:
        """Add the rows that a block used, and remove those it dropped."""
        kept = coef.value != 0
        if self.averaged:
            kept |= (coef.lag != 0) | (coef.newer != 0)
        elif self._keeps_all:
            kept[: len(self.support)] = True
        support, new = keep_items(self.kernel, self.support, items, kept)
        columns = np.column_stack(coef)[kept]
        if self.budget:
            self.support = support + new
        else:
            self.support, columns = add_up(support, new, columns)
        self.coef, self.lag, self.newer = np.ascontiguousarray(columns.T)

    def is_finite(self) -> bool:
        """Whether nothing has overflowed so far: integers never do."""
        return True

    def mean_thresholds(self) -> Floats:
        """Return the thresholds that the mean score is compared with."""
        rule, rounds = self._rule()
        return rule.thresholds / rounds

    def _rule(self) -> tuple[Expansion, float]:
        """Return the sum of the rules that predict, and their number.

        Sums, not means: sums of integers are exact.
        """
        number, rounds = self.support.number, self.tally.rounds
        if not self.averaged or rounds == 0:
            return Expansion(number, self.coef, self.thresholds), 1
        coef = rounds * self.coef - self.lag
        thresholds = rounds * self.thresholds - self.threshold_lag
        return Expansion(number, coef, thresholds), rounds - self.clock[0]

    def expansion(self) -> tuple[Ints, Array]:
        """Return numbers of rows and their coefficients in the rule that predicts."""
        (number, coef, _), rounds = self._rule()
        return number, coef / rounds if self.averaged else coef.astype(np.int64)

    def mean_scores(self, rows: Rows) -> Floats:
        """Return the score of every row, to be compared with the mean thresholds."""
        rule, rounds = self._rule()
        return self._scores(rows, rule.coef) / rounds

    def levels(self, rows: Rows) -> Ints:
        """Return the predicted level of every row."""
        (_, coef, thresholds), _ = self._rule()
        return np.searchsorted(thresholds, self._scores(rows, coef), side="right")

    def _scores(self, rows: Rows, coef: Floats) -> Floats:
        return kernel_scores(self.kernel, rows, self.support, coef)


@dataclass
class KernelVotedLearner(KernelPRankLearner):
    """PRank with a kernel and a record of its updates, for the rules to vote."""

    # What has been added once belongs to some rule for ever.
    _keeps_all: ClassVar[bool] = True

    first_thresholds: Floats = field(init=False)
    record: tuple[Floats, ...] = ()

    def __post_init__(self) -> None:
        """Remember the rule that precedes every update."""
        super().__post_init__()
        self.first_thresholds = self.thresholds.copy()

    def copy(self) -> Self:
        """Return an independent copy."""
        copied = super().copy()
        copied.first_thresholds = self.first_thresholds
        return copied

    def _record(self, block: RowBlock, log: UpdateLog, before: int) -> None:
        number, truth = block.numbers[log.round], block.level[log.round]
        # In one array: float64 holds all integers that can occur.
        columns = [number, log.step, log.score, truth, before + log.round]
        new = np.column_stack(columns)
        self.record = appended(self.record, new, np.concatenate)

    def _predict(self, items: Items, before: int, predicted: Ints) -> None:
        time = np.arange(before, before + len(items))
        past = self.kernel.values(items, self.support)
        mean = self._mean_ranks(past, time)
        predicted[:] = nearest_level(mean, self.thresholds.size + 1)

    @property
    def votes(self) -> Ints:
        """The rounds each rule got right, from the first rule to the last."""
        changes = [piece[:, 4].astype(np.int64) for piece in self.record]
        return votes_between(changes, self.tally.rounds)

    def mean_ranks(self, rows: Rows) -> Floats:
        """Return the mean rank, 1..k, of every row over all votes."""

        def judge(block: slice, past: Floats) -> Floats:
            return self._mean_ranks(past, np.full(len(past), self.tally.rounds))

        return np.concatenate(self.kernel.map_blocks(rows, self.support, judge))

    def levels(self, rows: Rows) -> Ints:
        """Return the predicted level of every row."""
        return nearest_level(self.mean_ranks(rows), self.thresholds.size + 1)

    def _mean_ranks(self, past: Floats, time: Ints) -> Floats:
        """Judge rows by what was known before their `time`, given their kernels."""
        before = np.array([[0.0, 0.0, 0.0, 0.0, -1.0]])
        updates = np.concatenate([before, *self.record])
        number, step, score, truth, changed = np.ascontiguousarray(updates.T)
        sorter = np.argsort(self.support.number)
        position = np.searchsorted(self.support.number, number, sorter=sorter)
        latest = np.searchsorted(changed[1:], time, side="left")
        latest_votes = (time - changed[latest]).astype(np.int64) - 1
        mean = np.empty(time.size)
        votes = self.votes[: latest[-1] + 1]
        unusable = dual.vote(
            past,
            self.first_thresholds.copy(),
            np.append(sorter, 0)[position],
            VotingRules(step, score, truth.astype(np.int64), votes),
            VotedRows.allocate(latest, latest_votes, mean),
        )
        if unusable >= 0:
            raise UnusableRow(unusable)
        return mean


def kernel_scores(kernel: KernelFunction, rows: Rows, support: Items, coef: Floats) -> Floats:
    """Return the sum of the kernels of every row with the support."""

    def score(block: slice, past: Floats) -> Floats:
        values = np.empty(len(past))
        dual.scores(KernelValues(past, NO_VALUES), coef, values)
        return values

    return finite_scores(np.concatenate(kernel.map_blocks(rows, support, score)))


def keep_items(
    kernel: KernelFunction, support: Items, items: Items, kept: Bools
) -> tuple[Items, Items]:
    """Return what is kept of the support and what of new items."""
    old, new = kept[: len(support)], kept[len(support) :]
    if not old.all():
        support = support[old]
    return support, kernel.supporting(items, new)


def earlier_positions(support: Items, items: Items) -> Ints:
    """Return per position of both the last one before of the same row, or -1."""
    number = np.concatenate([support.number, items.number])
    order = np.argsort(number, kind="stable")
    is_same = number[order[1:]] == number[order[:-1]]
    earlier = np.full(len(number), -1)
    earlier[order[1:][is_same]] = order[:-1][is_same]
    return earlier


def add_up(support: Items, new: Items, coef: Floats) -> tuple[Items, Floats]:
    """Join new items to the support, adding up the coefficients of equal numbers.

    coef (support + new, columns). A row that is learnt again, in another pass, has
    its number already.
    """
    if not (len(new) and len(support)):
        return support + new, coef
    follow_on = new.number.min() > support.number.max()
    if follow_on or not np.isin(new.number, support.number).any():
        return support + new, coef
    number = np.concatenate([support.number, new.number])
    _, first, inverse = np.unique(number, return_index=True, return_inverse=True)
    total = np.zeros((len(first), coef.shape[1]))
    np.add.at(total, inverse, coef)
    order = np.argsort(first)
    is_new = first[order][len(support) :] - len(support)
    return support + new[is_new], total[order]
