"""PRank with a kernel: scores are sums over the rows it erred on."""

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import numpy as np

from peckorder._core.row_transform import UnusableRow
from peckorder._core.typing import Array, Floats, Ints, Rows
from peckorder.ordinal.compiled import dual
from peckorder.ordinal.compiled.dual import Averaged, Averaging, KernelValues
from peckorder.ordinal.compiled.linear import RowBlock, UpdateLog, VotedRows, VotingRules
from peckorder.ordinal.learners.base import (
    MOST_ROUNDS,
    TALLY,
    Tally,
    appended,
    nearest_level,
    steps_type,
)
from peckorder.ordinal.learners.kernel_base import SUPPORT, KernelLearner
from peckorder.ordinal.learners.voted import votes_between
from peckorder.similarity.kernel_function import Items
from peckorder.storage.fields import Field, Table, floats, ints
from peckorder.storage.format import Node


def _check(node: Node) -> None:
    values, learner = node.values, node.owner
    began, began_newer = values["clock"][:2].tolist()
    if not began <= began_newer < values["rounds"]:
        raise node.refuse("clock", "of rounds that have been")
    if not learner.budget:
        return
    # The compiled function must find rows in use when it drops the oldest.
    is_kept = values["coef"] != 0
    if learner.averaged:
        is_kept |= (values["lag"] != 0) | (values["newer"] != 0)
    if len(values["support"]) > learner.budget or not is_kept.all():
        raise node.refuse("support", "rows in use, as many as the budget at most")


@dataclass(kw_only=True)
class KernelPRankLearner(KernelLearner):
    """Integer coefficients of the rows that were misplaced, and their thresholds.

    As with weights, ``rounds * coef - lag`` is the sum of the coefficients after each
    round. Rules that had rows which are gone, for the budget, cannot be averaged any
    more: once some are, the average is taken over the last updates only, between an
    eighth and a quarter of the budget. For this there are the lags of a newer average,
    `newer`, and `clock`: when the average and the newer one began, updates made since,
    rows dropped.
    """

    stored_fields: ClassVar = Table(
        *TALLY,
        Field("thresholds", floats("thresholds", ascending=True)),
        Field("threshold_lag", floats("thresholds")),
        Field("threshold_newer", floats("thresholds")),
        Field("clock", ints(4, below=MOST_ROUNDS)),
        Field("coef", floats("support")),
        Field("lag", floats("support")),
        Field("newer", floats("support")),
        SUPPORT,
        complete=_check,
    )
    _keeps_all: ClassVar[bool] = False

    averaged: bool
    thresholds: Floats
    threshold_lag: Floats = field(init=False)
    threshold_newer: Floats = field(init=False)
    clock: Ints = field(default_factory=lambda: np.zeros(4, np.int64))
    coef: Floats = field(default_factory=partial(np.empty, 0))
    lag: Floats = field(default_factory=partial(np.empty, 0))
    newer: Floats = field(default_factory=partial(np.empty, 0))
    tally: Tally = field(default_factory=Tally)

    def __post_init__(self) -> None:
        """Start the sums of thresholds."""
        self.threshold_lag = np.zeros_like(self.thresholds)
        self.threshold_newer = np.zeros_like(self.thresholds)

    def _learn(self, block: RowBlock, items: Items, values: KernelValues, earlier: Ints) -> int:
        n, before = block.n_rows, self.tally.rounds
        coef = Averaged(*(np.append(old, np.zeros(n)) for old in (self.coef, self.lag, self.newer)))
        log, counts = UpdateLog.allocate(n), np.zeros(2, dtype=np.int64)
        window = max(1, self.budget // 8)
        unusable = dual.prank(
            values,
            block.level,
            block.predicted,
            coef,
            earlier,
            Averaged(self.thresholds, self.threshold_lag, self.threshold_newer),
            Averaging(before, self.averaged, self.budget, window, self.clock),
            log,
            counts,
        )
        if unusable >= 0:
            return unusable
        self.tally.add(n, counts)
        self._record(block, log.first(counts[0]), before)
        kept = coef.value != 0
        if self.averaged:
            kept |= (coef.lag != 0) | (coef.newer != 0)
        elif self._keeps_all:
            kept[: len(self.support)] = True
        columns = self._add_support(items, np.column_stack(coef), kept)
        self.coef, self.lag, self.newer = np.ascontiguousarray(columns.T)
        if block.predicted.size:
            self._predict(items, before, block.predicted)
        return -1

    def _record(self, block: RowBlock, log: UpdateLog, before: int) -> None:
        """Remember the updates of a block, if they will be needed."""

    def _predict(self, items: Items, before: int, predicted: Ints) -> None:
        """Correct the predictions, for a rule that votes."""

    def mean_thresholds(self) -> Floats:
        """Return the thresholds that the mean score is compared with."""
        _, thresholds, rounds = self._rule()
        return thresholds / rounds

    def _rule(self) -> tuple[Floats, Floats, float]:
        """Return the coefficients and thresholds of the rule that predicts.

        They are sums over as many rules as the last number says: not means, since sums
        of integers are exact.
        """
        rounds = self.tally.rounds
        if not self.averaged or rounds == 0:
            return self.coef, self.thresholds, 1
        coef = rounds * self.coef - self.lag
        thresholds = rounds * self.thresholds - self.threshold_lag
        return coef, thresholds, rounds - self.clock[0]

    def expansion(self) -> tuple[Ints, Array]:
        """Return numbers of rows and their coefficients in the rule that predicts."""
        coef, _, rounds = self._rule()
        return self.support.number, coef / rounds if self.averaged else coef.astype(np.int64)

    def mean_scores(self, rows: Rows) -> Floats:
        """Return the score of every row, to be compared with the mean thresholds."""
        coef, _, rounds = self._rule()
        return self._scores(rows, coef) / rounds

    def levels(self, rows: Rows) -> Ints:
        """Return the predicted level of every row."""
        coef, thresholds, _ = self._rule()
        return np.searchsorted(thresholds, self._scores(rows, coef), side="right")


def _check_record(node: Node) -> None:
    n_levels = node.sizes["thresholds"] + 1
    for record in node.values["record"]:
        number, step, _, truth, time = record.T
        is_sound = (
            # A step of zero moved thresholds apart, and added nothing.
            np.isin(number[step != 0], node.values["support"].number).all()
            and ((truth >= 0) & (truth < n_levels) & (truth == np.floor(truth))).all()
            and (time[1:] > time[:-1]).all()
        )
        if not is_sound:
            raise node.refuse("record", "of rows of the support, levels and rounds")


@dataclass(kw_only=True)
class KernelVotedLearner(KernelPRankLearner):
    """PRank with a kernel and a record of its updates, for the rules to vote."""

    stored_fields: ClassVar = KernelPRankLearner.stored_fields.extended(
        Field("first_thresholds", floats("thresholds", ascending=True)),
        Field("record", steps_type(5)),
        complete=_check_record,
    )
    # What has been added once belongs to some rule for ever.
    _keeps_all: ClassVar[bool] = True

    first_thresholds: Floats = field(init=False)
    record: tuple[Floats, ...] = ()

    def __post_init__(self) -> None:
        """Remember the rule that precedes every update."""
        super().__post_init__()
        self.first_thresholds = self.thresholds.copy()

    def _record(self, block: RowBlock, log: UpdateLog, before: int) -> None:
        number, truth = block.numbers[log.round], block.level[log.round]
        # In one array: float64 holds all integers that can occur.
        new = np.column_stack([number, log.step, log.score, truth, before + log.round])
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
