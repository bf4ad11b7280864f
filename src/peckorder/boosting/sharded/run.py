"""RankBoost over shards: rounds that know the rows by their sums alone."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf, nan
from typing import Any, NamedTuple, Protocol

import numpy as np

from peckorder._core.typing import Ints
from peckorder.boosting.columns.binned import Cuts, threshold_at
from peckorder.boosting.compiled import graded_pairs, histograms
from peckorder.boosting.compiled import rounds as kernels
from peckorder.boosting.compiled import search_by_r as search
from peckorder.boosting.pairs.distribution import UNIT, mass_unit
from peckorder.boosting.sharded.cuts import find_cuts
from peckorder.boosting.sharded.shard import Record, joined
from peckorder.boosting.solver.rounds import Boosted, Round, check_alpha
from peckorder.boosting.solver.run import Options

# Bytes of columns that a worker sorts at a time.
_SORTED = 1 << 28


class Lost(Exception):
    """A shard is gone."""


class Crew(Protocol):
    """Those who hold the shards."""

    @property
    def n_workers(self) -> int:
        """How many there are."""

    def ask(self, question: str, *arguments: Any) -> list[Any]:
        """Ask all shards; return an answer a worker. Raises Lost if one is gone."""

    def replace(self, *arguments: Any) -> None:
        """Make lost shards again, and let them `repeat`. Raises Lost if it must.

        Then `ask` does so, too, until all are there.
        """


def answered(ask: Callable[[], list[Any]], recover: Callable[[], None]) -> list[Any]:
    """Ask until nobody is lost meanwhile; `recover` makes up for those who are."""
    while True:
        try:
            return ask()
        except Lost:
            with suppress(Lost):  # another one, whom the next question will miss
                recover()


@dataclass(frozen=True)
class Rows:
    """What is known of all rows that count: how many, in which queries and columns."""

    n_rows: int
    n_queries: int
    n_pairs: int
    n_columns: int
    dtype: Any
    most_rows: int


class RoundTraffic(NamedTuple):
    """What went between the one who drives and the workers in a round."""

    n_bytes: int
    n_questions: int
    n_columns: int


@dataclass
class Traffic:
    """What went between the one who drives and the workers.

    The bytes of all numbers, 8 each, in questions, which go to every worker, and in
    answers, of which each worker gives one. A round of q questions, for the sums of k
    columns of at most b bins, takes ``8 W (10 + q + k (b + 1))`` bytes with W workers;
    q is 3, or 4 if there were more columns to be asked for than expected.
    """

    n_bytes: int = 0
    n_questions: int = 0
    rounds: list[RoundTraffic] = field(default_factory=list)


class ShardedRun:
    """RankBoost on its way; `boosted` and `smoothing` are what came of it."""

    def __init__(self, who: str, crew: Crew, rows: Rows, options: Options) -> None:
        self._who, self._crew, self._rows, self._options = who, crew, rows, options
        self.smoothing = options.smoothing_for(rows.n_pairs)
        self.boosted = Boosted([0.0])
        self.traffic = Traffic()
        self._account = options.account(rows.n_columns, self.smoothing)
        default = options.default
        self._default = search.LEARNT if default is None else int(default)
        self._unit = mass_unit(rows.n_queries)
        self._cuts = Cuts(0)
        self._records: list[Record] | None = None
        self._log_total = nan
        self._largest, self._travelled, self._step, self._size = 0.0, 0.0, 0.0, 0.0
        self._n_asked = 0
        self._ceilings = np.full(rows.n_columns, inf)

    def _ask(self, question: str, *arguments: Any) -> Any:
        """Ask all shards, bringing back those that are lost; join their answers."""
        answers = answered(lambda: self._crew.ask(question, *arguments), self._recover)
        sent = self._crew.n_workers * n_bytes(arguments)
        self.traffic.n_bytes += sent + n_bytes(answers)
        self.traffic.n_questions += 1
        return joined(question, answers)

    def _recover(self) -> None:
        # How far potentials moved is known of old shards only.
        self._ceilings[:] = inf
        self._crew.replace(self._cuts, self._records, self._log_total)

    def cut(self) -> None:
        """Find where to cut all columns, and have them binned."""
        rows = self._rows
        step = int(np.clip(_SORTED // (8 * rows.most_rows), 1, rows.n_columns))
        for first in range(0, rows.n_columns, step):
            last = min(first + step, rows.n_columns)
            cuts = find_cuts(
                self._ask, self._who, first, last, self._options.max_bins, rows.dtype
            )
            self._ask("cut", first, cuts)
            self._cuts = self._cuts.extended(cuts)
        columns = self._cuts.columns(np.empty((0, 0), np.uint8), rows.n_rows)
        self._columns = columns
        self._most = int(columns.n_bins.max(initial=1))

    def go(self) -> None:
        """Boost."""
        self._records = []
        found = self._move((-1, 0, 0.0, 0.0))
        while len(self.boosted.rounds) < self._options.n_rounds:
            record = self._record(found)
            if record is None:
                return
            found = self._take(record)

    def _record(self, found: Ints) -> Record | None:
        """Return a threshold with its weight; None if it is of no use."""
        size, feature, cut, default, r = found.tolist()
        share, rate = r / UNIT, self._options.learning_rate
        alpha = rate * kernels.approximate(share, self.smoothing)
        noise = kernels.NOTHING * (1.0 + self._largest)
        if float(size) <= noise * UNIT or not alpha * share > 0.0:
            return None
        check_alpha(alpha)
        return feature, cut, float(default), alpha

    def _take(self, record: Record) -> Ints:
        """Add a round; return the best threshold for the next one."""
        feature, cut, default, alpha = record
        traffic, log_total = self.traffic, self._log_total
        bytes_before, asked_before = traffic.n_bytes, traffic.n_questions
        account = self._account
        account.enter(feature, cut, default, alpha)
        # From now on it may count with r < 0, too.
        self._ceilings[feature] = inf
        self._records = [*(self._records or []), record]
        found = self._move(record)
        round_ = Round(feature, self._threshold(feature, cut), default, alpha)
        self.boosted.add(round_, self._log_total - log_total)
        traffic.rounds.append(
            RoundTraffic(
                traffic.n_bytes - bytes_before,
                traffic.n_questions - asked_before,
                self._n_asked,
            )
        )
        return found

    def _move(self, record: Record) -> Ints:
        """Go to where a round leads; return the best threshold there.

        Columns are asked for, along with the potentials, that may be worth it if these
        move as far as they did before; the others if it turns out that they may be.
        """
        n_rounds = len(self._records or [])
        self._log_total = nan  # that of the round before leads nowhere now
        self._largest, top = self._ask("weigh", n_rounds, *record).tolist()
        mass = self._ask("total", top, self._unit)
        self._log_total = graded_pairs.log_of_total(top, mass, self._unit)
        asked = self._worthwhile(self._travelled + self._step, self._size)
        moved, sums = self._ask("spread", self._log_total, asked, self._most)
        before = self._travelled
        self._travelled = kernels.further(before, moved, self._rows.n_rows)
        self._step = self._travelled - before
        found = np.zeros(search.FOUND, dtype=np.int64)
        found[search.FEATURE] = -1
        self._search(asked, sums, found)
        others = self._worthwhile(self._travelled, float(found[search.SIZE]))
        others = np.setdiff1d(others, asked)
        if len(others):
            self._search(others, self._ask("sums", others, self._most), found)
        self._size = float(found[search.SIZE])
        self._n_asked = len(asked) + len(others)
        return found

    def _threshold(self, feature: int, cut: int) -> float:
        columns = self._columns
        return threshold_at(columns.values, columns.groups, feature, cut)

    def _worthwhile(self, travelled: float, size: float) -> Ints:
        """Return the columns that may have an |r| of some size."""
        return np.flatnonzero(self._ceilings + travelled >= size)

    def _search(self, features: Ints, sums: Ints, found: Ints) -> None:
        account = self._account
        kernel: Any = histograms.find
        kernel(
            features,
            sums,
            self._columns.n_bins,
            self._columns.abstains,
            self._default,
            account.cumulative,
            *account.lists,
            account.floors,
            self._travelled,
            self._ceilings,
            found,
        )


def n_bytes(message: Any) -> int:
    """Return the bytes of the numbers in a message."""
    if isinstance(message, np.ndarray):
        return message.nbytes
    if isinstance(message, tuple | list):
        return sum(map(n_bytes, message))
    if isinstance(message, Cuts):
        return sum(map(n_bytes, vars(message).values()))
    return 0 if message is None else 8
