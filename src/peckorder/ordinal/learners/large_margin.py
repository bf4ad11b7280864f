"""PRank with a large-margin update: linear, with a kernel, and voted."""

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Final

import numpy as np

from peckorder._core.row_transform import UnusableRow
from peckorder._core.typing import Array, Floats, Ints, Rows
from peckorder.ordinal.compiled import large_margin
from peckorder.ordinal.compiled.dual import Averaged, KernelValues
from peckorder.ordinal.compiled.large_margin import StepLog, Update
from peckorder.ordinal.compiled.linear import PRankState, RowBlock, VotedRows
from peckorder.ordinal.learners.base import TALLY, Tally, appended, nearest_level, steps_type
from peckorder.ordinal.learners.kernel_base import SUPPORT, KernelLearner
from peckorder.ordinal.learners.prank import LinearRule, PRankLearner
from peckorder.similarity.kernel_function import Items
from peckorder.storage.fields import Field, Table, floats, number
from peckorder.storage.format import Node

_HARD: Final = Update(romma=False, C=np.inf)


def _check_order(node: Node) -> None:
    # The compiled search would read such thresholds wrongly; those of ROMMA are counted.
    thresholds, update = node.values["thresholds"], node.owner.update
    if not (update.romma or (np.diff(thresholds) >= 0).all()):
        raise node.refuse("thresholds", "ascending")


def _in_order(thresholds: Floats) -> Floats:
    """Return thresholds as a search needs them, which counts the same number."""
    return np.sort(thresholds)


@dataclass
class LargeMarginLearner(PRankLearner):
    """A linear score and thresholds, with real numbers for both."""

    stored_fields: ClassVar = Table(
        *TALLY,
        Field("weights", floats("weights")),
        Field("thresholds", floats("thresholds")),
        Field("lag", floats("weights")),
        Field("threshold_lag", floats("thresholds")),
        complete=_check_order,
    )

    update: Update = _HARD

    def learn_block(self, block: RowBlock) -> int:
        """Learn a block; return the position of an unusable row, or -1."""
        counts = np.zeros(2, dtype=np.int64)
        state = PRankState(
            self.weights,
            self.thresholds,
            self.lag,
            self.threshold_lag,
            self.tally.rounds,
            self.averaged,
        )
        unusable = large_margin.learn(block, self.transform, state, self.update, counts)
        self.tally.add(block.n_rows, counts)
        return unusable

    def rule(self) -> LinearRule:
        """Return the rule that predicts, up to a positive factor."""
        weights, thresholds = super().rule()
        return LinearRule(weights, _in_order(thresholds))


@dataclass(kw_only=True)
class KernelMarginLearner(KernelLearner):
    """Coefficients of the rows that were learnt from, and thresholds.

    As with weights, ``rounds * coef - lag`` is the sum of the coefficients after each
    round.
    """

    stored_fields: ClassVar = Table(
        *TALLY,
        Field("thresholds", floats("thresholds")),
        Field("threshold_lag", floats("thresholds")),
        Field("square", number(low=0.0)),
        Field("coef", floats("support")),
        Field("lag", floats("support")),
        SUPPORT,
        complete=_check_order,
    )
    _keeps_all: ClassVar[bool] = False

    update: Update
    averaged: bool
    thresholds: Floats
    threshold_lag: Floats = field(init=False)
    square: float = 0.0
    coef: Floats = field(default_factory=partial(np.empty, 0))
    lag: Floats = field(default_factory=partial(np.empty, 0))
    tally: Tally = field(default_factory=Tally)

    def __post_init__(self) -> None:
        """Start the sums of thresholds."""
        self.threshold_lag = np.zeros_like(self.thresholds)

    def _learn(self, block: RowBlock, items: Items, values: KernelValues, earlier: Ints) -> int:
        n, before = block.n_rows, self.tally.rounds
        coef, lag = (np.append(old, np.zeros(n)) for old in (self.coef, self.lag))
        counts, square = np.zeros(3, dtype=np.int64), np.array([self.square])
        log = StepLog.allocate(n if self._keeps_all else 0, self.thresholds.size)
        unusable = large_margin.learn_kernels(
            values,
            block.level,
            block.predicted,
            Averaged(coef, lag, lag),
            Averaged(self.thresholds, self.threshold_lag, self.threshold_lag),
            before,
            self.averaged,
            self.update,
            square,
            log,
            counts,
        )
        if unusable >= 0:
            return unusable
        self.tally.add(n, counts)
        self.square = float(square[0])
        kept = coef != 0
        if self.averaged:
            kept |= lag != 0
        if self._keeps_all:
            kept[: len(self.support)] = True
            kept[len(self.support) + log.round[: counts[2]]] = True
            self._record(block, log.first(counts[2]), before)
        columns = self._add_support(items, np.column_stack([coef, lag]), kept)
        self.coef, self.lag = np.ascontiguousarray(columns.T)
        if block.predicted.size:
            self._predict(items, before, block.predicted)
        return -1

    def _record(self, block: RowBlock, log: StepLog, before: int) -> None:
        """Remember the updates of a block, if they will be needed."""

    def _predict(self, items: Items, before: int, predicted: Ints) -> None:
        """Correct the predictions, for a rule that votes."""

    def is_finite(self) -> bool:
        """Whether nothing has overflowed so far."""
        coef, thresholds, _ = self._rule()
        return bool(np.isfinite(coef).all() and np.isfinite(thresholds).all())

    def _rule(self) -> tuple[Floats, Floats, float]:
        """Return coefficients and thresholds of the rule that predicts, times a number."""
        rounds = self.tally.rounds
        if not self.averaged or rounds == 0:
            return self.coef, _in_order(self.thresholds), 1
        with np.errstate(over="ignore", invalid="ignore"):
            thresholds = _in_order(rounds * self.thresholds - self.threshold_lag)
            return rounds * self.coef - self.lag, thresholds, rounds

    def mean_thresholds(self) -> Floats:
        """Return the thresholds that the mean score is compared with."""
        _, thresholds, rounds = self._rule()
        return thresholds / rounds

    def expansion(self) -> tuple[Ints, Array]:
        """Return numbers of rows and their coefficients in the rule that predicts."""
        coef, _, rounds = self._rule()
        return self.support.number, coef / rounds

    def mean_scores(self, rows: Rows) -> Floats:
        """Return the score of every row, to be compared with the mean thresholds."""
        coef, _, rounds = self._rule()
        return self._scores(rows, coef) / rounds

    def levels(self, rows: Rows) -> Ints:
        """Return the predicted level of every row."""
        coef, thresholds, _ = self._rule()
        return np.searchsorted(thresholds, self._scores(rows, coef), side="right")


def _check_record(node: Node) -> None:
    for record in node.values["record"]:
        number, right, time = record[:, 0], record[:, 3], record[:, -1]
        is_sound = (
            np.isin(number, node.values["support"].number).all()
            and np.isin(right, (0, 1)).all()
            and (time[1:] > time[:-1]).all()
        )
        if not is_sound:
            raise node.refuse("record", "of rows of the support, flags and rounds")


@dataclass(kw_only=True)
class VotedMarginLearner(KernelMarginLearner):
    """The same with a record of its updates, for the rules to vote.

    A rule also has the vote of the round in which it was replaced, if it placed that
    row rightly: most updates are for a margin, not for a mistake. The record has, per
    update, the number of a row, decay, step, that flag, the thresholds, the round.
    """

    _keeps_all: ClassVar[bool] = True

    first_thresholds: Floats = field(init=False)
    record: tuple[Floats, ...] = ()

    def __post_init__(self) -> None:
        """Remember the rule that precedes every update."""
        super().__post_init__()
        self.first_thresholds = self.thresholds.copy()

    @property
    def stored_fields(self) -> Table:  # type: ignore[override]
        """The fields, whose record is as wide as there are thresholds."""
        return KernelMarginLearner.stored_fields.extended(
            Field("first_thresholds", floats("thresholds")),
            Field("record", steps_type(5 + self.thresholds.size)),
            complete=_check_record,
        )

    def _record(self, block: RowBlock, log: StepLog, before: int) -> None:
        # In one array: float64 holds all integers that can occur.
        new = np.column_stack(
            [
                block.numbers[log.round],
                log.decay,
                log.step,
                log.right,
                log.thresholds,
                before + log.round,
            ]
        )
        self.record = appended(self.record, new, np.concatenate)

    def _predict(self, items: Items, before: int, predicted: Ints) -> None:
        time = np.arange(before, before + len(items))
        mean = self._mean_ranks(self.kernel.values(items, self.support), time)
        predicted[:] = nearest_level(mean, self.thresholds.size + 1)

    def _updates(self) -> Floats:
        """Return the record, led by the rule before all updates."""
        start = np.zeros(5 + self.thresholds.size)
        start[1], start[4:-1], start[-1] = 1.0, self.first_thresholds, -1.0
        return np.concatenate([start[np.newaxis], *self.record])

    @property
    def votes(self) -> Ints:
        """The rounds each rule got right, from the first rule to the last."""
        updates = self._updates()
        stood = np.diff(np.append(updates[:, -1], self.tally.rounds)) - 1
        stood[:-1] += updates[1:, 3]
        return np.asarray(stood, dtype=np.int64)

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
        updates = self._updates()
        number, decay, step, right = np.ascontiguousarray(updates[:, :4].T)
        changed = np.ascontiguousarray(updates[:, -1])
        sorter = np.argsort(self.support.number)
        position = np.searchsorted(self.support.number, number, sorter=sorter)
        latest = np.searchsorted(changed[1:], time, side="left")
        latest_votes = (time - changed[latest]).astype(np.int64) - 1
        mean = np.empty(time.size)
        log = StepLog(
            changed.astype(np.int64),
            decay,
            step,
            right.astype(np.int64),
            np.ascontiguousarray(updates[:, 4:-1]),
        )
        unusable = large_margin.vote(
            past,
            np.append(sorter, 0)[position],
            log,
            self.votes[: latest[-1] + 1],
            VotedRows.allocate(latest, latest_votes, mean),
        )
        if unusable >= 0:
            raise UnusableRow(unusable)
        return mean
