"""Voted PRank: every rule there ever was, each with its votes."""

from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

import numpy as np
from scipy import sparse

from peckorder._typing import Floats, Ints, Rows
from peckorder._validation import as_rows, count_rows
from peckorder.kernels import online as kernels
from peckorder.solvers.online import NONE, Visit, finite, nearest_level
from peckorder.solvers.prank import PRankLearner

Matrix: TypeAlias = Any  # an array, or a SciPy matrix in CSR form


@dataclass(frozen=True, slots=True)
class Updates:
    """Updates in the order they were made: what was added to which rule, and when.

    Rule h of all has seen the first h updates. Kept in place of the rules
    themselves, which would be a vector of all features each.
    """

    support: Matrix
    row: Ints
    step: Floats
    thresholds: Floats
    round: Ints


@dataclass
class VotedLearner(PRankLearner):
    """PRank with a record of its updates; the rules vote by how long they stood."""

    first: tuple[Floats, Floats] = field(init=False)
    record: tuple[Updates, ...] = ()

    def __post_init__(self) -> None:
        """Remember the rule that precedes every update."""
        self.first = self.weights.copy(), self.thresholds.copy()

    def copy(self) -> Self:
        """Return a learner that goes its own way from here."""
        copied = super().copy()
        copied.first = self.first
        return copied

    def visit(self, visit: Visit) -> int:
        """Learn a block; return the position of a row that cannot be, or -1."""
        n, before = visit.level.size, self.tally.rounds
        rounds, steps = np.empty(n, dtype=np.int64), np.empty(n)
        thresholds = np.empty((n, self.thresholds.size))
        stopped, n_updates = self._visit(visit, NONE, rounds, steps, thresholds)
        if stopped >= 0:
            return stopped
        place = rounds[:n_updates]
        used = visit.order[place] if visit.order.size else visit.start + place
        kept, row = np.unique(used, return_inverse=True)
        new = Updates(
            _take(visit.rows, kept, self._n_features),
            row.astype(np.int64),
            steps[:n_updates].copy(),
            thresholds[:n_updates].copy(),
            before + place,
        )
        if n_updates:
            self.record = (*self.record, new)
        if visit.predicted.size:
            time = np.arange(before, before + n)
            mean = self._mean_ranks(visit.rows, visit.start, time)
            visit.predicted[:] = nearest_level(mean, self.thresholds.size + 1)
        return -1

    @property
    def _n_features(self) -> int:
        return self.weights.size - self.view.intercept

    @property
    def votes(self) -> Ints:
        """The rounds each rule got right, from the first rule to the last."""
        changes = self._updates().round
        return np.diff(changes, prepend=-1, append=self.tally.rounds) - 1

    def mean_ranks(self, rows: Rows) -> Floats:
        """Return the mean rank, 1..k, of every row over all votes."""
        time = np.full(count_rows(rows), self.tally.rounds)
        return finite(self._mean_ranks(rows, 0, time))

    def levels(self, rows: Rows) -> Ints:
        """Return the predicted level of every row."""
        return nearest_level(self.mean_ranks(rows), self.thresholds.size + 1)

    def _mean_ranks(self, rows: Rows, start: int, time: Ints) -> Floats:
        """Judge rows from `start` on, each by what was known before its `time`."""
        updates = self._updates()
        latest = np.searchsorted(updates.round, time, side="left")
        changes = np.concatenate(([-1], updates.round))
        mean = np.empty(time.size)
        kernels.vote(
            rows,
            start,
            self.view.intercept,
            self.view.unit_norm,
            self.first[0],
            as_rows(updates.support),
            np.concatenate(([-1], updates.row)),
            np.concatenate(([0.0], updates.step)),
            np.concatenate((self.first[1][np.newaxis], updates.thresholds)),
            self.votes,
            latest,
            time - changes[latest] - 1,
            np.empty_like(self.weights),
            mean,
        )
        return mean

    def _updates(self) -> Updates:
        """Join the record into one piece, and keep it so."""
        if not self.record:
            nothing = np.empty((0, self._n_features))
            no_thresholds = np.empty((0, self.thresholds.size))
            return Updates(nothing, NONE, np.empty(0), no_thresholds, NONE)
        if len(self.record) > 1:
            self.record = (_join(self.record),)
        return self.record[0]


def _take(rows: Rows, chosen: Ints, n_features: int) -> Matrix:
    """Copy the chosen rows."""
    if len(rows) == 1:
        return rows[0][chosen]
    return sparse.csr_array(rows, shape=(count_rows(rows), n_features))[chosen]


def _stack(parts: list[Matrix]) -> Matrix:
    """Put matrices one below the other; sparse if one of them is."""
    if any(sparse.issparse(part) for part in parts):
        return sparse.vstack([sparse.csr_array(part) for part in parts], format="csr")
    return np.vstack(parts)


def _join(record: tuple[Updates, ...]) -> Updates:
    """Join pieces of a record, putting their rows one below the other."""
    offsets = np.cumsum([0, *(updates.support.shape[0] for updates in record[:-1])])
    return Updates(
        _stack([updates.support for updates in record]),
        np.concatenate([u.row + o for u, o in zip(record, offsets, strict=True)]),
        np.concatenate([updates.step for updates in record]),
        np.concatenate([updates.thresholds for updates in record]),
        np.concatenate([updates.round for updates in record]),
    )
