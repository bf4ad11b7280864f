"""Thresholds of features as weak rankings, chosen by |r| or by Z."""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf

import numpy as np

from peckorder._core.compiled.bins import N_BINS
from peckorder._core.errors import refusal
from peckorder._core.threads import MIN_ITEMS_PER_THREAD, Team
from peckorder._core.typing import Floats, Ints
from peckorder.boosting.compiled import pairs as pair_functions
from peckorder.boosting.compiled import search_by_r, search_by_z
from peckorder.boosting.compiled.binned_columns import TOGETHER, BinnedColumns, rank_binned
from peckorder.boosting.compiled.pairs import UNIT
from peckorder.boosting.compiled.search_by_r import (
    Candidates,
    Settings,
    add_to_candidate,
    find_candidate,
    set_floor,
)
from peckorder.boosting.compiled.sorted_columns import SortedColumns, rank_by_cut
from peckorder.boosting.distribution import Distribution, GradedPairSet, ListedPairSet
from peckorder.boosting.weak_learners import Weak

# How many candidates there is memory for at first.
_CAPACITY = 256
# Scores further apart cannot be put into products.
_WIDEST = 1300.0


class CandidateTable:
    """The thresholds that were added, with the sums of their alphas."""

    def __init__(self, n_features: int, settings: Settings) -> None:
        self.n_features, self.settings = n_features, settings
        self.size = 0
        cuts, defaults, following, floors = np.empty((4, _CAPACITY), dtype=np.int64)
        sums, ratios = np.empty((2, _CAPACITY))
        heads = np.full(n_features, -1)
        self.arrays = Candidates(heads, cuts, defaults, following, sums, floors, ratios)

    def find(self, weak: Weak) -> int:
        """Return the number of a threshold, -1 if it was not added."""
        return find_candidate(weak.feature, weak.cut, int(weak.default), self.arrays)

    def add(self, feature: int, cut: int, default: float, alpha: float) -> None:
        """Add to the sum of a threshold."""
        self.reserve(1)
        self.size = add_to_candidate(
            feature, cut, int(default), alpha, self.size, self.settings, self.arrays
        )

    def reserve(self, n_more: int) -> None:
        """Allocate memory for more thresholds."""
        heads, *lists = self.arrays
        n_lacking = self.size + n_more - len(lists[0])
        if n_lacking > 0:
            added = max(n_lacking, len(lists[0]))
            self.arrays = Candidates(
                heads, *(np.append(a, np.empty(added, a.dtype)) for a in lists)
            )


@dataclass(eq=False)
class Thresholds:
    """Thresholds of features, the largest |r| first; the paper's third method."""

    binned: BinnedColumns
    sorted: SortedColumns
    candidates: CandidateTable
    team: Team

    def __post_init__(self) -> None:
        self.most_groups = int(np.diff(self.sorted.groups).max(initial=0))
        self._of_binned = {f: c for c, f in enumerate(self.binned.features.tolist())}
        self._of_sorted = {f: c for c, f in enumerate(self.sorted.features.tolist())}
        self.ceilings = np.full(self.candidates.n_features, inf)
        self._values = np.empty(0)
        self._histograms = allocate_histograms(self.team.n_threads)
        self._excluded: list[int] = []

    def choose(self, distribution: Distribution) -> Weak | None:
        """Return the best ranking, or None if there is none of any use."""
        drift_so_far = float(distribution.total_drift[0])
        best = self._search(distribution.potentials, drift_so_far)
        if best[search_by_r.SIZE] <= distribution.noise * UNIT:
            return None
        size, feature, cut, default, r = best.tolist()
        n_rows = len(distribution.potentials)
        return self._weak(feature, cut, default, r / UNIT, size / UNIT, n_rows)

    def _weak(
        self, feature: int, cut: int, default: int, r: float, gain: float, n_rows: int
    ) -> Weak:
        if len(self._values) == 0:
            # The same memory for all rounds: new pages would cost more than the work.
            self._values = np.empty(n_rows)
        self._rank(feature, cut, default, self._values)
        threshold = self.threshold(feature, cut)
        return Weak(feature, threshold, float(default), r, gain, self._values, cut)

    def may_add(self, weak: Weak, alpha: float) -> bool:
        """Return whether a ranking may be added with a weight."""
        p = self.candidates.find(weak)
        so_far = 0.0 if p < 0 else float(self.candidates.arrays.sums[p])
        return not self.candidates.settings.cumulative or so_far + alpha > 0.0

    def record(self, weak: Weak, alpha: float) -> None:
        """Record that a ranking has been added."""
        self.candidates.add(weak.feature, weak.cut, weak.default, alpha)
        # From now on it may count with r < 0, too.
        self.ceilings[weak.feature] = inf

    def exclude(self, weak: Weak) -> None:
        """Do not choose a ranking again until exclusions are cleared."""
        p, arrays = self.candidates.find(weak), self.candidates.arrays
        arrays.floors[p], arrays.ratios[p] = 0, inf
        self._excluded.append(p)

    def clear_exclusions(self) -> None:
        """Let all rankings be chosen again."""
        for p in self._excluded:
            set_floor(p, self.candidates.settings, self.candidates.arrays)
        self._excluded = []

    def cut_at(self, feature: int, threshold: float) -> int:
        """Return the cut at a threshold of an earlier fit, or the next one below."""
        columns, c = self._column(feature)
        groups = columns.values[columns.groups[c] : columns.groups[c + 1]]
        return int((groups > threshold).sum())

    def _column(self, feature: int) -> tuple[BinnedColumns | SortedColumns, int]:
        if feature in self._of_binned:
            return self.binned, self._of_binned[feature]
        return self.sorted, self._of_sorted[feature]

    def _search(self, potentials: Ints, drift_so_far: float) -> Ints:
        binned, sorted_, candidates = self.binned, self.sorted, self.candidates
        n_threads = self.n_threads(len(potentials))
        turns = np.zeros((2, 1), dtype=np.int64)
        binned_queue = self._queue(binned.features, n_threads, turns[0])
        sorted_queue = self._queue(sorted_.features, n_threads, turns[1])
        best_size = np.zeros(1, dtype=np.int64)
        limits = search_by_r.Limits(self.ceilings, drift_so_far, best_size)
        rules = candidates.settings, candidates.arrays, limits

        def search(thread: slice, give_up: Callable[[], bool]) -> Ints:
            best, workspace = nothing_chosen(), self._histograms[thread.start]
            sums = np.empty(self.most_groups, dtype=np.int64)
            # What there is none of need not be compiled.
            if len(binned.features):
                search_by_r.search_binned(binned_queue, binned, potentials, *rules, workspace, best)
            if len(sorted_.features):
                search_by_r.search_sorted(sorted_queue, sorted_, potentials, *rules, sums, best)
            return best

        choices = self.team.share(n_threads, search)
        # The first feature of those with the largest |r|.
        size, feature = search_by_r.SIZE, search_by_r.FEATURE
        return max(choices, key=lambda best: (best[size], -best[feature]))

    def _queue(self, features: Ints, n_threads: int, turns: Ints) -> search_by_r.ColumnQueue:
        order = np.empty(len(features), dtype=np.int64)
        n_ahead = search_by_r.AHEAD * n_threads
        search_by_r.order_by_ceilings(n_ahead, features, self.ceilings, order)
        return search_by_r.ColumnQueue(n_threads, turns, order)

    def n_threads(self, n_rows: int, item: str = "entries") -> int:
        """Return how many threads a search is worth."""
        n_binned = len(self.binned.features) * n_rows
        n_entries = max(n_binned, len(self.sorted.rows))
        worth = n_entries // MIN_ITEMS_PER_THREAD[item]
        return max(1, min(self.team.n_threads, worth, n_rows))

    def threshold(self, feature: int, cut: int) -> float:
        """Return the threshold that a cut of a feature stands for."""
        return threshold_at(*self._column(feature), cut)

    def _rank(self, feature: int, cut: int, default: float, values: Floats) -> None:
        """Write the ranking by a cut."""
        columns, c = self._column(feature)
        if isinstance(columns, BinnedColumns):
            rank_binned(columns.bins[feature], cut, float(default), values)
        else:
            rank_by_cut(columns, c, cut, float(default), values)


def threshold_at(columns: BinnedColumns | SortedColumns, c: int, cut: int) -> float:
    """Return the threshold that a cut of column c stands for."""
    own = columns.values[columns.groups[c] : columns.groups[c + 1]]
    return float(own[cut]) if cut < len(own) else -inf


def allocate_histograms(n_threads: int) -> Ints:
    """Return the workspace of `search_binned` for each thread.

    Nothing of two threads is in one cache line: they would wait for each other.
    """
    return np.empty((n_threads, 2 + TOGETHER, N_BINS), dtype=np.int64)


def nothing_chosen() -> Ints:
    """Return a choice to be replaced by any threshold with r != 0."""
    best = np.zeros(search_by_r.CHOICE, dtype=np.int64)
    best[search_by_r.FEATURE] = -1
    return best


class PairWeights:
    """The weights of pairs as the search by Z needs them; `weigh` fills them in."""

    def __init__(self, distribution: Distribution) -> None:
        n_rows = len(distribution.potentials)
        pair_sets = distribution.pair_sets  # one of each kind at most
        self._graded = next((p for p in pair_sets if isinstance(p, GradedPairSet)), None)
        self._listed = next((p for p in pair_sets if isinstance(p, ListedPairSet)), None)
        level_of = np.full(n_rows, -1, dtype=np.int32)
        levels: Ints = np.zeros(1, dtype=np.int64)
        utility: Floats = np.empty(0)
        if self._graded is not None:
            graded = self._graded.numbered_pairs
            levels, utility = graded.levels, graded.utility
            sizes = np.diff(graded.starts)
            level_of[graded.rows] = np.repeat(np.arange(len(sizes)), sizes)
        self.n_levels = int(levels[-1])
        better: Ints = np.empty(0, dtype=np.int64)
        worse = better
        if self._listed is not None:
            better, worse, _ = self._listed.pairs
        ends = np.concatenate([better, worse])
        self.arrays = search_by_z.PairMasses(
            level_of=level_of,
            level_begin=np.repeat(levels[:-1], np.diff(levels)),
            level_end=np.repeat(levels[1:], np.diff(levels)),
            utility=utility,
            masses=np.zeros((n_rows, 2)),
            others=np.empty((self.n_levels, 2)),
            links=np.append(0, np.cumsum(np.bincount(ends, minlength=n_rows))),
            pairs=np.argsort(ends, kind="stable") % max(len(better), 1),
            better=better,
            worse=worse,
            weight=np.empty(len(better)),
        )

    def weigh(self, distribution: Distribution) -> None:
        """Fill in the weights that a distribution has now."""
        scores, log_total = distribution.scores, distribution.log_total
        if self._graded is not None:
            self._weigh_graded(self._graded, scores, log_total, distribution.team)
        if self._listed is not None:
            pair_functions.masses_listed(self._listed.pairs, scores, log_total, self.arrays.weight)

    def _weigh_graded(
        self, graded: GradedPairSet, scores: Floats, log_total: float, team: Team
    ) -> None:
        pairs, (masses, others) = graded.numbered_pairs, self.arrays[4:6]

        def work(first: int, last: int) -> float:
            return pair_functions.masses_graded(
                first, last, pairs, log_total, scores, masses, others
            )

        widest = max(graded.share(team, work))
        if widest > _WIDEST:
            raise refusal(
                "scores",
                f"be within {_WIDEST:g} of each other in a query, offset "
                "included, if alpha='analytic'",
                repr(widest),
                hint="Use alpha='numeric'.",
            )


class ThresholdsByZ(Thresholds):
    """Thresholds of features, the least Z first; the paper's second method."""

    def __post_init__(self) -> None:
        super().__post_init__()
        binned, sorted_ = self.binned, self.sorted
        features = np.concatenate([binned.features, sorted_.features])
        abstains = np.concatenate([binned.abstains, sorted_.abstains])
        n_groups = np.concatenate([binned.n_bins, np.diff(sorted_.groups)])
        cut_starts = np.concatenate([[0], np.cumsum(n_groups + 1)])
        is_learnt = self.candidates.settings.default == search_by_r.LEARNT
        n_defaults = 2 if is_learnt and abstains.any() else 1
        self._columns = search_by_z.ScannedColumns(
            binned=binned,
            sorted=sorted_,
            features=features,
            abstains=abstains,
            cut_starts=cut_starts,
            # Pages that are never written take no memory; zero is no limit.
            kept=np.zeros((n_defaults, cut_starts[-1]), dtype=np.float32),
            shares=np.full(len(features), search_by_z.SAFE),
            limits=np.zeros(len(features)),
        )
        self._weights: PairWeights | None = None
        self._scores: Floats = np.empty(0)
        self._log_total = 0.0

    def choose(self, distribution: Distribution) -> Weak | None:
        """Return the best ranking, or None if there is none of any use."""
        weights = self._update_weights(distribution)
        self._limit(distribution.potentials)
        best = self._scan(weights, len(distribution.potentials))
        gain = float(best[search_by_z.GAIN] / search_by_z.GAIN_UNIT)
        if gain == 0.0:
            return None
        feature, cut, default = (int(value) for value in best[1:4])
        r = float(best[search_by_z.RIGHT] - best[search_by_z.WRONG])
        return self._weak(feature, cut, default, r, gain, len(distribution.potentials))

    def _update_weights(self, distribution: Distribution) -> PairWeights:
        """Weigh the pairs; lower the shares that are left since columns were scanned.

        A pair has changed by the factor ``exp(dH(x0) - dH(x1)) / Z``.
        """
        scores, log_total = distribution.scores, distribution.log_total
        if self._weights is None:
            self._weights = PairWeights(distribution)
            self._scores, self._log_total = scores.copy(), log_total
        change = pair_functions.update_scores(scores, self._scores)
        left = exp(min(self._log_total - log_total - change, 0.0))
        shares = self._columns.shares
        shares *= left * search_by_z.SAFE
        self._log_total = log_total
        self._weights.weigh(distribution)
        return self._weights

    def _limit(self, potentials: Ints) -> None:
        """Find a limit of the 1 - Z of each column."""
        table = self.candidates
        arguments = self._columns, potentials, table.settings, table.arrays

        def limit_binned(share: slice, give_up: Callable[[], bool]) -> None:
            workspace, heights = allocate_histograms(1)[0], np.empty(N_BINS + 1)
            first, last = share.start, share.stop
            search_by_z.limit_binned(first, last, *arguments, workspace, heights)

        def limit_sorted(share: slice, give_up: Callable[[], bool]) -> None:
            heights = np.empty(self.most_groups + 1)
            search_by_z.limit_sorted(share.start, share.stop, *arguments, heights)

        worth = self.n_threads(len(potentials))
        if len(self.binned.features):
            self.team.share(len(self.binned.features), limit_binned, worth)
        if len(self.sorted.features):
            self.team.share(len(self.sorted.features), limit_sorted, worth)

    def _scan(self, weights: PairWeights, n_rows: int) -> Floats:
        """Scan columns, the most promising first, until no other can be better."""
        columns, table = self._columns, self.candidates
        order = np.argsort(-columns.limits, kind="stable")
        worth = max(1, len(order) * n_rows // MIN_ITEMS_PER_THREAD["entries"])
        n_threads = min(self.team.n_threads, worth)
        best_gain = np.zeros(1)
        rules = columns, table.settings, table.arrays, weights.arrays

        def search(thread: slice, give_up: Callable[[], bool]) -> Floats:
            best = np.zeros(search_by_z.CHOICE)
            workspace = search_by_z.ScanWorkspace(
                above=np.empty(2 * weights.n_levels),
                is_above=np.empty(n_rows, dtype=np.uint8),
                is_stored=np.empty(n_rows, dtype=np.uint8),
                counts=np.empty(N_BINS, dtype=np.uintp),
                queue=np.zeros(n_rows, dtype=np.int32),
                stops=np.empty(max(self.most_groups, N_BINS) + 1, dtype=np.uintp),
            )
            search_by_z.search(thread.start, n_threads, order, best_gain, *rules, workspace, best)
            return best

        choices = self.team.share(n_threads, search)
        # The first feature of those with the least Z.
        gain, feature = search_by_z.GAIN, search_by_z.FEATURE
        return max(choices, key=lambda best: (best[gain], -best[feature]))
