"""PRank with a kernel: scores are sums over the rows it erred on."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from peckorder._core.growing import grown
from peckorder._core.row_transform import NONE, Stopped, View
from peckorder._core.typing import Floats, Ints, Rows
from peckorder._core.validation import count_rows
from peckorder.ordinal.compiled import dual as kernels
from peckorder.ordinal.learners.base import Tally, Visit, nearest_level, visit_in_blocks
from peckorder.ordinal.learners.voted import votes_between
from peckorder.similarity.kernel_function import NOTHING, Items, KernelFunction

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
    support: Items = NOTHING
    coef: Floats = field(default_factory=_no_numbers)
    lag: Floats = field(default_factory=_no_numbers)
    newer: Floats = field(default_factory=_no_numbers)
    tally: Tally = field(default_factory=Tally)

    def __post_init__(self) -> None:
        """Start the sums of thresholds."""
        self.threshold_lag = np.zeros_like(self.thresholds)
        self.threshold_newer = np.zeros_like(self.thresholds)

    @property
    def view(self) -> View:
        """How rows are looked at."""
        return self.kernel.view

    def copy(self) -> Self:
        """Return a learner that goes its own way from here.

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

    def visit(self, visit: Visit) -> int:
        """Learn a block; return the position of a row that cannot be, or -1."""
        return visit_in_blocks(visit, lambda: len(self.support), self._visit)

    def _visit(self, visit: Visit) -> int:
        try:
            items = self.kernel.items(visit.rows, visit.chosen, visit.numbers)
        except Stopped as damaged:
            return damaged.row or 0
        n, before = len(visit), self.tally.rounds
        past = self.kernel.values(items, self.support)
        coef, lag, newer = (
            np.append(known, np.zeros(n)) for known in (self.coef, self.lag, self.newer)
        )
        places, steps, scores = np.empty(n, dtype=np.int64), np.empty(n), np.empty(n)
        counts = np.zeros(2, dtype=np.int64)
        stopped = kernels.prank(
            past,
            self.kernel.values_among(items),
            visit.level,
            coef,
            lag,
            newer,
            earlier_places(self.support, items) if self.budget else NONE,
            self.thresholds,
            self.threshold_lag,
            self.threshold_newer,
            before,
            self.averaged,
            self.budget,
            max(1, self.budget // 8),
            self.clock,
            visit.predicted,
            places,
            steps,
            scores,
            counts,
        )
        if stopped >= 0:
            return stopped
        self.tally.add(n, counts)
        place = places[: counts[0]]
        self._note(
            visit.numbers[place],
            steps[: counts[0]],
            scores[: counts[0]],
            visit.level[place],
            before + place,
        )
        self._keep(items, coef, lag, newer)
        if visit.predicted.size:
            self._predict(items, before, visit.predicted)
        return -1

    def _note(
        self, number: Ints, step: Floats, score: Floats, truth: Ints, time: Ints
    ) -> None:
        """Remember the updates of a block, if they will be needed."""

    def _predict(self, items: Items, before: int, predicted: Ints) -> None:
        """Correct the predictions that the kernel made, if the rule is another."""

    def _keep(self, items: Items, coef: Floats, lag: Floats, newer: Floats) -> None:
        """Take up the rows that a block added, and let go of those it dropped."""
        kept = coef != 0
        if self.averaged:
            kept |= (lag != 0) | (newer != 0)
        elif self._keeps_all:
            kept[: len(self.support)] = True
        support, new = keep_items(self.kernel, self.support, items, kept)
        columns = np.column_stack([coef, lag, newer])[kept]
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

    def expansion(self) -> tuple[Ints, Any]:
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
        score = np.empty(count_rows(rows))
        for some, past in self.kernel.blocks(rows, self.support):
            kernels.scores(past, NO_VALUES, coef, score[some])
        is_finite = np.isfinite(score)
        if not is_finite.all():
            raise Stopped(int(np.argmin(is_finite)))
        return score


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
        """Return a learner that goes its own way from here."""
        copied = super().copy()
        copied.first_thresholds = self.first_thresholds
        return copied

    def _note(
        self, number: Ints, step: Floats, score: Floats, truth: Ints, time: Ints
    ) -> None:
        # In one array: float64 holds all integers that can occur.
        new = np.column_stack([number, step, score, truth, time])
        self.record = grown(self.record, new, np.concatenate)

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
        mean = np.empty(count_rows(rows))
        for some, past in self.kernel.blocks(rows, self.support):
            time = np.full(len(past), self.tally.rounds)
            mean[some] = self._mean_ranks(past, time, some.start)
        return mean

    def levels(self, rows: Rows) -> Ints:
        """Return the predicted level of every row."""
        return nearest_level(self.mean_ranks(rows), self.thresholds.size + 1)

    def _mean_ranks(self, past: Floats, time: Ints, start: int = 0) -> Floats:
        """Judge rows by what was known before their `time`, given their kernels."""
        before = np.array([[0.0, 0.0, 0.0, 0.0, -1.0]])
        updates = np.concatenate([before, *self.record])
        number, step, score, truth, changed = np.ascontiguousarray(updates.T)
        sorter = np.argsort(self.support.number)
        place_of = np.searchsorted(self.support.number, number, sorter=sorter)
        place_of = np.append(sorter, 0)[place_of]
        latest = np.searchsorted(changed[1:], time, side="left")
        mean = np.empty(time.size)
        stopped = kernels.vote(
            past,
            self.first_thresholds.copy(),
            place_of,
            step,
            score,
            truth.astype(np.int64),
            self.votes[: latest[-1] + 1],
            latest,
            (time - changed[latest]).astype(np.int64) - 1,
            np.empty(time.size),
            np.empty(time.size, dtype=np.int64),
            mean,
        )
        if stopped >= 0:
            raise Stopped(start + stopped)
        return mean


def keep_items(
    kernel: KernelFunction, support: Items, items: Items, kept: Any
) -> tuple[Items, Items]:
    """Return what is kept of the support and what of new items."""
    known, new = kept[: len(support)], kept[len(support) :]
    if not known.all():
        support = support[known]
    return support, kernel.supporting(items, new)


def earlier_places(support: Items, items: Items) -> Ints:
    """Return for each place of both the last one before of the same row, or -1."""
    number = np.concatenate([support.number, items.number])
    order = np.argsort(number, kind="stable")
    is_same = number[order[1:]] == number[order[:-1]]
    earlier = np.full(len(number), -1)
    earlier[order[1:][is_same]] = order[:-1][is_same]
    return earlier


def add_up(support: Items, new: Items, coef: Floats) -> tuple[Items, Floats]:
    """Join new items to the support, adding up the coefficients of equal numbers.

    coef (support + new, columns). A row that is visited again, in another pass, has
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
