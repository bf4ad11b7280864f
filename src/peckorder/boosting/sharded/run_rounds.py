"""RankBoost over shards: rounds that know the rows by their sums alone."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf, nan
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from peckorder._core.errors import refusal
from peckorder._core.typing import Floats, Ints
from peckorder.boosting.columns import MOST_BINS, Cuts
from peckorder.boosting.compiled import graded_pairs
from peckorder.boosting.compiled import rounds as compiled
from peckorder.boosting.compiled import search_by_r as search
from peckorder.boosting.compiled.pairs import UNIT
from peckorder.boosting.distribution import mass_unit
from peckorder.boosting.round_record import Round, RoundLog
from peckorder.boosting.run_rounds import Options, check_alpha
from peckorder.boosting.sharded.shard import Record, joined
from peckorder.boosting.thresholds import nothing_chosen, threshold_at

FloatType: TypeAlias = np.dtype[np.floating[Any]]

# Bytes of columns that a worker sorts at a time.
_SORTED = 1 << 28
# Into how many parts an interval is cut.
_PARTS = np.uint64(16)


class Lost(Exception):
    """A shard is gone."""


class Shards(Protocol):
    """The workers that have the shards."""

    @property
    def n_workers(self) -> int:
        """The number of workers."""

    def ask(self, question: str, *arguments: Any) -> list[Any]:
        """Ask all shards; return one answer per worker. Raises Lost if one is gone."""

    def replace(self, *arguments: Any) -> None:
        """Make lost shards again, and let them `repeat`.

        Raises Lost if another is gone; then `ask` does so, too, until all are there.
        """


def answered(ask: Callable[[], list[Any]], recover: Callable[[], None]) -> list[Any]:
    """Ask until no shard is lost meanwhile; `recover` replaces those that are."""
    while True:
        try:
            return ask()
        except Lost:
            with suppress(Lost):  # another one, which the next question will miss
                recover()


@dataclass(frozen=True)
class Rows:
    """How many rows in pairs there are, in how many queries and columns."""

    n_rows: int
    n_queries: int
    n_pairs: int
    n_columns: int
    dtype: FloatType
    most_rows: int


class RoundTraffic(NamedTuple):
    """What went between the driver and the workers in a round."""

    n_bytes: int
    n_questions: int
    n_columns: int


@dataclass
class Traffic:
    """What went between the driver and the workers.

    The bytes of all numbers, 8 each, in questions, which go to every worker, and in
    answers, one per worker. A round of q questions, for the sums of k
    columns of at most b bins, takes ``8 W (10 + q + k (b + 1))`` bytes with W workers;
    q is 3, or 4 if there were more columns to be asked for than expected.
    """

    n_bytes: int = 0
    n_questions: int = 0
    rounds: list[RoundTraffic] = field(default_factory=list)


class ShardedBooster:
    """RankBoost in progress over shards; `log` is the result."""

    def __init__(self, shards: Shards, rows: Rows, options: Options) -> None:
        self._shards, self._rows, self._options = shards, rows, options
        self._rule = options.alpha_rule(rows.n_pairs)
        self.log = RoundLog([0.0], self._rule.smoothing)
        self.traffic = Traffic()
        self._candidates = options.candidates(rows.n_columns, self._rule.smoothing)
        self._unit = mass_unit(rows.n_queries)
        self._cuts = Cuts.allocate(0)
        self._records: list[Record] | None = None
        self._log_total = nan
        self._largest, self._total_drift, self._drift, self._size = 0.0, 0.0, 0.0, 0.0
        self._n_asked = 0
        self._ceilings = np.full(rows.n_columns, inf)

    def _ask(self, question: str, *arguments: Any) -> Any:
        """Ask all shards, replacing those that are lost; join their answers."""
        answers = answered(lambda: self._shards.ask(question, *arguments), self._recover)
        sent = self._shards.n_workers * n_bytes(arguments)
        self.traffic.n_bytes += sent + n_bytes(answers)
        self.traffic.n_questions += 1
        return joined(question, answers)

    def _recover(self) -> None:
        # How far potentials moved is known of old shards only.
        self._ceilings[:] = inf
        self._shards.replace(self._cuts, self._records, self._log_total)

    def cut(self) -> None:
        """Find where to cut all columns, and have them binned."""
        rows = self._rows
        step = int(np.clip(_SORTED // (8 * rows.most_rows), 1, rows.n_columns))
        for first in range(0, rows.n_columns, step):
            last = min(first + step, rows.n_columns)
            cuts = find_cuts(self._ask, first, last, self._options.max_bins, rows.dtype)
            self._ask("cut", first, cuts)
            self._cuts = Cuts._make(map(np.concatenate, zip(self._cuts, cuts, strict=True)))
        self._columns = self._cuts.columns(np.empty((0, 0), np.uint8), rows.n_rows)
        self._most = int(self._columns.n_bins.max(initial=1))

    def boost(self) -> None:
        """Add rounds until there are enough, or no threshold is of any use."""
        self._records = []
        best = self._move((-1, 0, 0.0, 0.0))
        while len(self.log.rounds) < self._options.n_rounds:
            record = self._record(best)
            if record is None:
                return
            best = self._add_round(record)

    def _record(self, best: Ints) -> Record | None:
        """Return a threshold with its weight; None if it is of no use."""
        size, feature, cut, default, units = best.tolist()
        r, rule = units / UNIT, self._rule
        alpha = rule.rate * compiled.approximate_alpha(r, rule.smoothing)
        noise = compiled.NOTHING * (1.0 + self._largest)
        if float(size) <= noise * UNIT or not alpha * r > 0.0:
            return None
        check_alpha(alpha)
        return feature, cut, float(default), alpha

    def _add_round(self, record: Record) -> Ints:
        """Add a round; return the best threshold for the next one."""
        feature, cut, default, alpha = record
        traffic, log_total = self.traffic, self._log_total
        bytes_before, asked_before = traffic.n_bytes, traffic.n_questions
        self._candidates.add(feature, cut, default, alpha)
        # From now on it may count with r < 0, too.
        self._ceilings[feature] = inf
        self._records = [*(self._records or []), record]
        best = self._move(record)
        threshold = threshold_at(self._columns, feature, cut)
        round_ = Round(feature, threshold, default, alpha)
        self.log.add(round_, self._log_total - log_total)
        traffic.rounds.append(
            RoundTraffic(
                traffic.n_bytes - bytes_before, traffic.n_questions - asked_before, self._n_asked
            )
        )
        return best

    def _move(self, record: Record) -> Ints:
        """Go to the scores after a round; return the best threshold there.

        Along with the potentials come the sums of columns that may be worth it if the
        drift is that of the round before; the others are asked for if it is larger.
        """
        n_rounds = len(self._records or [])
        self._log_total = nan  # that of the round before is of no use now
        self._largest, top = self._ask("weigh", n_rounds, *record).tolist()
        mass = self._ask("total", top, self._unit)
        self._log_total = graded_pairs.log_of_total(top, mass, self._unit)
        asked = self._worthwhile(self._total_drift + self._drift, self._size)
        moved, sums = self._ask("spread", self._log_total, asked, self._most)
        before = self._total_drift
        self._total_drift = compiled.add_drift(before, moved, self._rows.n_rows)
        self._drift = self._total_drift - before
        best = nothing_chosen()
        self._search(asked, sums, best)
        others = self._worthwhile(self._total_drift, float(best[search.SIZE]))
        others = np.setdiff1d(others, asked)
        if len(others):
            self._search(others, self._ask("sums", others, self._most), best)
        self._size = float(best[search.SIZE])
        self._n_asked = len(asked) + len(others)
        return best

    def _worthwhile(self, drift_so_far: float, size: float) -> Ints:
        """Return the columns that may have an |r| of some size."""
        return np.flatnonzero(self._ceilings + drift_so_far >= size)

    def _search(self, features: Ints, sums: Ints, best: Ints) -> None:
        search.search_histograms(
            features,
            sums,
            self._columns,
            self._candidates.settings,
            self._candidates.arrays,
            self._ceilings,
            self._total_drift,
            best,
        )


def n_bytes(message: object) -> int:
    """Return the bytes of the numbers in a message."""
    if isinstance(message, np.ndarray):
        return message.nbytes
    if isinstance(message, tuple | list):
        return sum(map(n_bytes, message))
    return 0 if message is None else 8


def find_cuts(
    ask: Callable[..., Any], first: int, last: int, max_bins: int | None, dtype: FloatType
) -> Cuts:
    """Return where to cut columns first..last, whose values are of a type.

    The groups are those of `cut_points` on all rows, which stay where they are. Few
    distinct values are returned by the shards. Else order statistics are found by
    counting: floating-point numbers have the order of integers of as many bits, and of
    these an interval is cut in 16 at a time, for all columns and statistics at once.
    """
    n_values, (lows, highs), n_distinct, distinct = ask("values", first, last)
    cuts = Cuts.allocate(last - first)
    cuts.n_values[:], cuts.lows[:] = n_values, lows
    starts = np.cumsum([0, *np.maximum(n_distinct, 0)])
    most = MOST_BINS if max_bins is None else max_bins
    large = []
    for c, n in enumerate(n_distinct.tolist()):
        if 0 <= n <= most:
            cuts.n_bins[c] = n
            cuts.tops[c, :n] = distinct[starts[c] : starts[c + 1]]
        elif max_bins is None:
            raise refusal(
                "max_bins",
                "be an integer from 2 to 255 on a cluster if a feature has more than 255 values",
                f"None, and more of feature {first + c}",
                hint="Use max_bins=255.",
            )
        else:
            large.append(c)
    if large:
        ranks = (np.arange(1, most + 1) * n_values[large, np.newaxis] - 1) // most
        ends = lows[large], highs[large]
        statistics = _select(ask, (first, last), np.array(large), ranks, ends, dtype)
        for c, values in zip(large, statistics, strict=True):
            tops = np.unique(values)[::-1]
            cuts.n_bins[c] = len(tops)
            cuts.tops[c, : len(tops)] = tops
    return cuts


def _select(
    ask: Callable[..., Any],
    bounds: tuple[int, int],
    columns: Ints,
    ranks: Ints,
    ends: tuple[Floats, Floats],
    dtype: FloatType,
) -> Floats:
    """Return the values (columns, k) of ranks (columns, k) in ascending order.

    Of all integers that stand for a value, the least is sought which so many values do
    not exceed.
    """
    low, high = (
        np.broadcast_to(keys_of(end, dtype)[:, np.newaxis], ranks.shape).copy() for end in ends
    )
    while (is_open := low < high).any():
        probes = _between(low[is_open], high[is_open])
        column = columns[np.nonzero(is_open)[0]]
        counts = _count(ask, bounds, column, probes, dtype)
        is_enough = counts > ranks[is_open][:, np.newaxis]
        # The first probe that is enough, if any, is the end; the one before is not.
        n_less = (~is_enough).sum(axis=1)
        number = np.arange(len(probes))
        high[is_open] = np.where(
            n_less < probes.shape[1],
            probes[number, np.minimum(n_less, probes.shape[1] - 1)],
            high[is_open],
        )
        low[is_open] = np.where(
            n_less > 0, probes[number, np.maximum(n_less, 1) - 1] + 1, low[is_open]
        )
    return values_of(low, dtype) + 0.0


def _between(low: Ints, high: Ints) -> Ints:
    """Return the points (k, 16) at which the equal parts of intervals begin.

    In integers without a sign, as an interval may be longer than the largest with one.
    """
    span = high.view(np.uint64) - low.view(np.uint64)
    width, rest = (span // _PARTS)[:, np.newaxis], (span % _PARTS)[:, np.newaxis]
    number = np.arange(_PARTS, dtype=np.uint64)
    steps = width * number + rest * number // _PARTS
    return (low.view(np.uint64)[:, np.newaxis] + steps).view(np.int64)


def _count(
    ask: Callable[..., Any], bounds: tuple[int, int], column: Ints, probes: Ints, dtype: FloatType
) -> Ints:
    """Return how many values of columns do not exceed probes (k, 16).

    Each probe is sent once.
    """
    first, last = bounds
    starts, sent, where = [0], [], np.empty(probes.shape, dtype=np.int64)
    for c in range(last - first):
        own = column == c
        keys, inverse = np.unique(probes[own], return_inverse=True)
        where[own] = inverse.reshape(-1, probes.shape[1]) + starts[-1]
        sent.append(keys)
        starts.append(starts[-1] + len(keys))
    values = values_of(np.concatenate(sent), dtype)
    counts: Ints = ask("count", first, last, np.array(starts), values)
    return counts[where]


def keys_of(values: Floats, dtype: FloatType) -> Ints:
    """Return integers in the order of values, which are of a type."""
    if dtype == np.float32:
        bits = values.astype(np.float32).view(np.int32)
        return (bits ^ ((bits >> 31) & 0x7FFFFFFF)).astype(np.int64)
    bits = values.astype(np.float64).view(np.int64)
    return bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF)


def values_of(keys: Ints, dtype: FloatType) -> Floats:
    """Return the values of which integers are the keys."""
    if dtype == np.float32:
        short = keys.astype(np.int32)
        bits = short ^ ((short >> 31) & 0x7FFFFFFF)
        return bits.view(np.float32).astype(np.float64)
    return (keys ^ ((keys >> 63) & 0x7FFFFFFFFFFFFFFF)).view(np.float64)
