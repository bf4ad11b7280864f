"""Weak rankings: what one round of RankBoost may choose from."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol

import numpy as np

from peckorder._core.threads import MIN_ITEMS_PER_THREAD, Team
from peckorder._core.typing import Floats, Ints
from peckorder.boosting.columns.binned import BinnedColumns, threshold_at
from peckorder.boosting.columns.sorted import SortedColumns
from peckorder.boosting.compiled import candidates as accounts
from peckorder.boosting.compiled import search_by_r as kernels
from peckorder.boosting.compiled import weak_rankings
from peckorder.boosting.pairs.distribution import UNIT, Distribution

# What grows with the thresholds that were added, and from which size on.
_LISTS = ("cuts", "defaults", "following", "floors", "sums", "ratios")
_ROOM = 256


@dataclass(frozen=True, slots=True, eq=False)
class Weak:
    """A weak ranking h with what it was chosen for.

    h is 1 where the feature is above the threshold, 0 where it is not, and the default
    where it abstains; the feature itself if the threshold is NaN; or what `ranking`
    says of rows, if there is one. values (n,) are h of the rows of the feedback, `cut`
    is the place of the threshold in its column.
    """

    feature: int
    threshold: float
    default: float
    r: float
    gain: float
    values: Floats
    cut: int = 0
    ranking: Any = None

    @property
    def key(self) -> tuple[int, int, float]:
        """What makes it the same as one of another round."""
        return self.feature, self.cut, self.default


class WeakLearner(Protocol):
    """What finds a weak ranking for a distribution."""

    def choose(self, distribution: Distribution) -> Weak | None:
        """Return the best weak ranking, or None if there is none of any use."""

    def may_add(self, weak: Weak, alpha: float) -> bool:
        """Tell whether a ranking may be added with a weight."""

    def note(self, weak: Weak, alpha: float) -> None:
        """Take notice that it has been."""

    def bar(self, weak: Weak) -> None:
        """Do not choose it again until released."""

    def release(self) -> None:
        """Let all that was barred be chosen again."""


class Account:
    """What has been added to each threshold so far, as `kernels.account` keeps it.

    If it is `cumulative`, the sum of a threshold must stay positive.
    """

    def __init__(
        self,
        n_features: int,
        rate: float,
        smoothing: float,
        cumulative: bool,
    ) -> None:
        self.n_features, self.cumulative = n_features, cumulative
        self.rate, self.smoothing = rate, smoothing
        self.size = 0
        self.heads = np.full(n_features, -1)
        self.cuts, self.defaults, self.following, self.floors = np.empty(
            (4, _ROOM), dtype=np.int64
        )
        self.sums, self.ratios = np.empty((2, _ROOM))
        self._barred: list[int] = []

    @property
    def lists(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Who is where."""
        return self.heads, self.cuts, self.defaults, self.following

    @property
    def arrays(self) -> tuple[Any, ...]:
        """All there is."""
        return *self.lists, self.sums, self.floors, self.ratios

    def may_add(self, weak: Weak, alpha: float) -> bool:
        """Tell whether a threshold may be added with a weight."""
        place = self._find(weak)
        has = 0.0 if place < 0 else float(self.sums[place])
        return not self.cumulative or has + alpha > 0.0

    def enter(self, feature: int, cut: int, default: float, alpha: float) -> None:
        """Add to the sum of a threshold."""
        self.reserve(1)
        self.size = accounts.enter(
            feature,
            cut,
            int(default),
            alpha,
            self.size,
            self.rate,
            self.smoothing,
            UNIT,
            *self.arrays,
        )

    def bar(self, weak: Weak) -> None:
        """Refuse a threshold until it is released."""
        place = self._find(weak)
        self.floors[place], self.ratios[place] = 0, inf
        self._barred.append(place)

    def release(self) -> None:
        """Let all thresholds be chosen again."""
        for place in self._barred:
            self._set_floor(place)
        self._barred = []

    def reserve(self, room: int) -> None:
        """Make room for more thresholds."""
        lacking = self.size + room - len(self.cuts)
        if lacking > 0:
            more = max(lacking, len(self.cuts))
            for name in _LISTS:
                grown = np.concatenate(
                    [getattr(self, name), np.empty(more, getattr(self, name).dtype)]
                )
                setattr(self, name, grown)

    def _set_floor(self, place: int) -> None:
        accounts.set_floor(
            place,
            self.rate,
            self.smoothing,
            UNIT,
            self.sums,
            self.floors,
            self.ratios,
        )

    def _find(self, weak: Weak) -> int:
        return accounts.find(weak.feature, weak.cut, int(weak.default), *self.lists)


@dataclass(eq=False)
class Thresholds:
    """Thresholds of features, the largest |r| first; the paper's third method."""

    binned: BinnedColumns
    sorted: SortedColumns
    account: Account
    default: int | None
    team: Team

    def __post_init__(self) -> None:
        self.room = int(np.diff(self.sorted.groups).max(initial=0))
        self._of_binned = {f: c for c, f in enumerate(self.binned.features.tolist())}
        self._of_sorted = {f: c for c, f in enumerate(self.sorted.features.tolist())}
        self.default_rule = kernels.LEARNT if self.default is None else self.default
        self.ceilings = np.full(self.account.n_features, inf)
        self._values = np.empty(0)
        # Nothing of two threads in one cache line: they would wait for each other.
        rooms = self.team.n_threads, 2 + kernels.TOGETHER, kernels.N_BINS
        self._rooms = np.empty(rooms, dtype=np.int64)

    def choose(self, distribution: Distribution) -> Weak | None:
        """Return the best ranking, or None if there is none of any use."""
        found = self._search(distribution.potentials, float(distribution.travelled[0]))
        if found[kernels.SIZE] <= distribution.noise * UNIT:
            return None
        size, feature, cut, default, r = found.tolist()
        if len(self._values) == 0:
            # The same memory for all rounds: new pages would cost more than the work.
            self._values = np.empty(len(distribution.potentials))
        values = self._values
        self._rank(feature, cut, default, values)
        threshold = self.threshold(feature, cut)
        return Weak(
            feature, threshold, float(default), r / UNIT, size / UNIT, values, cut
        )

    def may_add(self, weak: Weak, alpha: float) -> bool:
        """Tell whether a ranking may be added with a weight."""
        return self.account.may_add(weak, alpha)

    def note(self, weak: Weak, alpha: float) -> None:
        """Take notice that a ranking has been added."""
        self.account.enter(weak.feature, weak.cut, weak.default, alpha)
        # From now on it may count with r < 0, too.
        self.ceilings[weak.feature] = inf

    def bar(self, weak: Weak) -> None:
        """Do not choose a ranking again until released."""
        self.account.bar(weak)

    def release(self) -> None:
        """Let all that was barred be chosen again."""
        self.account.release()

    def cut_at(self, feature: int, threshold: float) -> int:
        """Return the cut at a threshold of an earlier fit, or the next one below."""
        columns, c = self._column(feature)
        groups = columns.values[columns.groups[c] : columns.groups[c + 1]]
        return int((groups > threshold).sum())

    def _column(self, feature: int) -> tuple[BinnedColumns | SortedColumns, int]:
        if feature in self._of_binned:
            return self.binned, self._of_binned[feature]
        return self.sorted, self._of_sorted[feature]

    def _search(self, potentials: Ints, travelled: float) -> Ints:
        binned, sorted_, account = self.binned, self.sorted, self.account
        kernel: Any = kernels  # which do not say how many they take of `lists`
        rule = self.default_rule, account.cumulative
        lists: Any = *account.lists, account.floors, self.ceilings
        best = np.zeros(1, dtype=np.int64)
        n_threads = self.n_threads(len(potentials))
        turns = np.zeros((2, 1), dtype=np.int64)
        binned_order = self._order(binned.features, n_threads)
        sorted_order = self._order(sorted_.features, n_threads)

        def search_binned(thread: slice, give_up: Callable[[], bool]) -> Ints:
            columns, sums, found = self._room_of(thread.start)
            kernel.search_binned(
                n_threads,
                turns[0],
                binned_order,
                binned.features,
                binned.bins,
                binned.n_bins,
                binned.abstains,
                potentials,
                *rule,
                *lists,
                travelled,
                best,
                columns,
                sums,
                found,
            )
            return found

        def search_sorted(thread: slice, give_up: Callable[[], bool]) -> Ints:
            found = self._room_of(thread.start)[-1]
            kernel.search_sorted(
                n_threads,
                turns[1],
                sorted_order,
                sorted_.features,
                sorted_.starts,
                sorted_.rows,
                sorted_.is_last,
                sorted_.groups,
                sorted_.group_ends,
                sorted_.zero,
                sorted_.abstains,
                potentials,
                *rule,
                *lists,
                travelled,
                best,
                np.empty(self.room, dtype=np.int64),
                found,
            )
            return found

        found = []
        if len(binned.features):
            found += self.team.share(n_threads, search_binned)
        if len(sorted_.features):
            found += self.team.share(n_threads, search_sorted)
        # The first feature of those with the largest |r|.
        return max(found, key=lambda f: (f[kernels.SIZE], -f[kernels.FEATURE]))

    def _room_of(self, thread: int) -> tuple[Ints, Ints, Ints]:
        """Return room for columns, sums and what is found, with nothing found yet."""
        room = self._rooms[thread]
        found = np.zeros(kernels.FOUND, dtype=np.int64)
        found[kernels.FEATURE] = -1  # before all features: r = 0 is of no use
        return room[0], room[1 : 1 + kernels.TOGETHER], found

    def _order(self, features: Ints, n_threads: int) -> Ints:
        order = np.empty(len(features), dtype=np.int64)
        n_ahead = kernels.AHEAD * n_threads
        kernels.put_ahead(n_ahead, features, self.ceilings, order)
        return order

    def n_threads(self, n_rows: int, worth_a_thread: int | None = None) -> int:
        """Return how many threads a search is worth."""
        worth_a_thread = worth_a_thread or MIN_ITEMS_PER_THREAD["entries"]
        n_binned = len(self.binned.features) * n_rows
        n_entries = max(n_binned, len(self.sorted.rows))
        return max(1, min(self.team.n_threads, n_entries // worth_a_thread, n_rows))

    def threshold(self, feature: int, cut: int) -> float:
        """Return the threshold that a cut of a feature stands for."""
        columns, c = self._column(feature)
        return threshold_at(columns.values, columns.groups, c, cut)

    def _rank(self, feature: int, cut: int, default: float, values: Floats) -> None:
        """Write the ranking by a cut."""
        columns, c = self._column(feature)
        if isinstance(columns, BinnedColumns):
            weak_rankings.rank_binned(
                columns.bins[feature], cut, float(default), values
            )
        else:
            zero = columns.zero[c]
            weak_rankings.rank_sorted(
                columns.starts[c],
                columns.starts[c + 1],
                columns.rows,
                columns.group_ends[columns.groups[c] : columns.groups[c + 1]],
                cut,
                float(zero < cut) if zero >= 0 else float(default),
                float(default),
                values,
            )
