"""RankBoost's rounds with trees as weak rankings, by the losses of pairs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import inf, log
from typing import Any, Protocol, Self

import numpy as np

from peckorder._core.errors import refusal
from peckorder._core.threads import Team
from peckorder._core.typing import Bools, Floats, Ints, Matrix
from peckorder.boosting.compiled import pair_losses
from peckorder.boosting.compiled.pair_losses import Swaps
from peckorder.boosting.compiled.pairs import UNIT
from peckorder.boosting.distribution import Distribution, make_distribution
from peckorder.boosting.round_record import Round, RoundLog
from peckorder.feedback import GradedRows, Preferences
from peckorder.trees.columns import MOST_BINS, Columns, bin_columns
from peckorder.trees.features import TreeFeatures
from peckorder.trees.forest import Forest, Tree
from peckorder.trees.growing import Grower, TreeOptions

# The most that a leaf adds, before the learning rate. No exponential loss asks for more
# than 1; pairs that are far off have so little curvature by the logistic one that a
# Newton step would go anywhere.
_LONGEST_STEP = 8.0
# Of its slope, what the curvature of a row is at least.
_LEAST_CURVATURE = 1e-6
# Losses of pairs that all are right by hundreds are no numbers any more.
_LEAST_LOSS = 1e-300
# A step is halved so often until the bound does not rise.
_MOST_HALVINGS = 40
# Gains of grades are powers of two below infinity, and so are their sums.
_LARGEST_GRADE = 1000
_NONE = np.empty(0)
_NO_SWAPS = Swaps(_NONE, _NONE, np.empty(0, dtype=np.int64))


@dataclass(frozen=True)
class TreeSettings:
    """How to boost trees: parameters of the estimator.

    subsample is the share of queries that each tree is grown from.
    """

    n_rounds: int
    learning_rate: float
    loss: str
    follows_ndcg: bool
    options: TreeOptions
    subsample: float
    unstored: bool
    max_bins: int | None
    equal_queries: bool
    seed: int


@dataclass(frozen=True)
class TreeRanking:
    """The ranking of rows by one tree."""

    tree: Tree
    forest: Forest
    unstored: bool

    def __call__(self, X: Matrix) -> Floats:
        """Return the values of rows."""
        scores = np.zeros((X.shape[0], 1))
        self.forest.add_scores(X, scores, unstored=self.unstored)
        return scores[:, 0]


class Objective(Protocol):
    """A loss of pairs: its bound on the share of wrong pairs, and its derivatives."""

    must_fall: bool

    def move(self, scores: Floats) -> float:
        """Go to other scores; return the logarithm of the bound."""

    def derivatives(self) -> tuple[Floats, Floats]:
        """Return the slopes and curvatures of rows, (n, 1) each, at the scores moved to.

        In units in which the mean curvature is 1 at the start.
        """


class ExponentialLoss:
    """The exponential loss of the pairs of a distribution: O(rows)."""

    must_fall = True

    def __init__(self, distribution: Distribution) -> None:
        self._distribution = distribution
        distribution.move(distribution.scores)
        self._log_start = distribution.log_total

    def move(self, scores: Floats) -> float:
        """Go to other scores; return the logarithm of the bound."""
        self._distribution.weigh(scores)
        return self._distribution.log_total - self._log_start

    def derivatives(self) -> tuple[Floats, Floats]:
        """Return the slopes and curvatures of rows."""
        distribution = self._distribution
        distribution.spread()
        unit = 0.5 * len(distribution.potentials)
        slopes = (unit / UNIT) * distribution.potentials
        return slopes[:, np.newaxis], (unit * distribution.masses())[:, np.newaxis]


class PairwiseLoss:
    """A loss of pairs, visited one by one: O(pairs).

    With swaps the weight of a pair is that of the distribution times the change of NDCG
    if its rows were exchanged at the scores moved to.
    """

    def __init__(self, distribution: Distribution, is_logistic: bool, swaps: Swaps) -> None:
        self._distribution, self._is_logistic, self._swaps = distribution, is_logistic, swaps
        self._team = distribution.team
        self._exponential = ExponentialLoss(distribution)
        # The weight of all pairs, over which weights are taken: they may be huge.
        self._log_weight = distribution.log_total
        self.must_fall = len(swaps.gain) == 0
        n_rows = len(distribution.scores)
        self._slopes, self._curvatures = np.zeros((2, n_rows))
        self._scale = 0.0

    def move(self, scores: Floats) -> float:
        """Go to other scores; return the logarithm of the bound."""
        self._slopes[:], self._curvatures[:] = 0.0, 0.0
        pair_sets, top = self._distribution.pair_sets, inf
        if not self._is_logistic:
            top = max(pairs.largest_gap(scores) for pairs in pair_sets)
        arguments = self._swaps, scores, self._log_weight, top, self._slopes, self._curvatures
        sums = np.zeros(pair_losses.SUMS)
        for pairs in pair_sets:
            sums += pairs.add_derivatives(*arguments, team=self._team)
        weight, loss, round_weight = sums.tolist()
        if not self._is_logistic:
            total = float(self._curvatures.sum())
            self._scale = len(scores) / total if total > 0.0 else 0.0
            return self._exponential.move(scores)
        self._scale = 2.0 * len(scores) / round_weight if round_weight > 0.0 else 0.0
        return log(max(loss, _LEAST_LOSS)) - log(weight * log(2.0))

    def derivatives(self) -> tuple[Floats, Floats]:
        """Return the slopes and curvatures of rows."""
        slopes, curvatures = self._scale * self._slopes, self._scale * self._curvatures
        # Pairs that are far off have a slope, and a curvature that may be rounded to zero.
        curvatures = np.maximum(curvatures, _LEAST_CURVATURE * np.abs(slopes))
        return slopes[:, np.newaxis], curvatures[:, np.newaxis]


def swaps_of(graded: GradedRows) -> Swaps:
    """Return the gains of grades, ``2**g - 1``, over the best that a query can gain."""
    starts = graded.level_starts
    if not (graded.grade >= 0.0).all() or not (graded.grade <= _LARGEST_GRADE).all():
        worst = float(graded.grade.min()) if graded.grade.min() < 0.0 else graded.grade.max()
        raise refusal(
            "y", f"be grades from 0 to {_LARGEST_GRADE} with pair_weight='ndcg'", repr(float(worst))
        )
    gain, offsets = np.exp2(graded.grade) - 1.0, graded.offsets
    sizes = np.diff(offsets)
    # The best order is that of positions from the last of a query.
    rank = np.repeat(offsets[1:], sizes) - np.arange(len(gain))
    ideal = np.add.reduceat(gain / np.log2(1.0 + rank), offsets[:-1])
    query = np.searchsorted(offsets, starts, side="right") - 1
    return Swaps(
        gain[starts] / ideal[query], np.empty(len(gain)), np.empty(len(gain), dtype=np.int64)
    )


class TreeBooster:
    """RankBoost on trees in progress: the rows of columns and distribution are in pairs.

    Queries begin at offsets, if some are sampled; `scores` are those to begin with.
    """

    def __init__(
        self,
        columns: Columns,
        distribution: Distribution,
        settings: TreeSettings,
        is_category: Bools,
        team: Team,
        *,
        offsets: Ints,
        swaps: Swaps = _NO_SWAPS,
        scores: Floats | None = None,
    ) -> None:
        self.settings, self._offsets, self._is_category = settings, offsets, is_category
        self.objective: Objective
        if settings.loss == "exponential" and not settings.follows_ndcg:
            self.objective = ExponentialLoss(distribution)
        else:
            self.objective = PairwiseLoss(distribution, settings.loss == "logistic", swaps)
        n_rows, options = columns.n_rows, settings.options
        # Memory grows with leaves, of which there are no more than rows.
        most = max(2, min(options.max_leaf_nodes, n_rows // options.min_samples_leaf))
        self._grower = Grower(columns, replace(options, max_leaf_nodes=most), team)
        self._scores = np.zeros((n_rows, 1))
        if scores is not None:
            self._scores[:, 0] = scores
        self.log = RoundLog([self.objective.move(self._scores[:, 0])], 0.0)

    @classmethod
    def of_rows(
        cls,
        X: Matrix,
        rows: Ints,
        preferences: Preferences,
        sample_weight: Floats | None,
        offset: Floats | None,
        settings: TreeSettings,
        features: TreeFeatures,
        team: Team,
    ) -> Self:
        """Begin with some rows of X, which are in pairs of positive weight."""
        kept = preferences.restrict(rows)
        distribution = make_distribution(
            kept,
            None if sample_weight is None else sample_weight[rows] / sample_weight[rows].max(),
            len(rows),
            equal_queries=settings.equal_queries,
            one_graded=False,
            team=team,
        )
        graded: Any = kept.parts[0]
        columns = bin_columns(
            X,
            team,
            is_category=features.is_category,
            rises=features.rises,
            max_bins=settings.max_bins or MOST_BINS,
            unstored=settings.unstored,
            order=rows,
        )
        return cls(
            columns,
            distribution,
            settings,
            features.is_category,
            team,
            offsets=graded.offsets if settings.subsample < 1.0 else np.zeros(1, np.int64),
            swaps=swaps_of(graded) if settings.follows_ndcg else _NO_SWAPS,
            scores=None if offset is None else offset[rows],
        )

    def repeat(
        self, forest: Forest, alphas: Floats, blocks: Callable[[], Iterable[Matrix]]
    ) -> None:
        """Add the trees of an earlier fit to the same rows, which `blocks` returns in parts."""
        for t, alpha in enumerate(alphas.tolist()):
            self._scores, first = self._scores.copy(), 0
            for X in blocks():
                some = self._scores[first : first + X.shape[0]]
                forest.add_scores(X, some, slice(t, t + 1), unstored=self.settings.unstored)
                first += X.shape[0]
            self._record(forest.tree(t), alpha, self.objective.move(self._scores[:, 0]))

    def boost(self, monitor: Any = None) -> None:
        """Add rounds until there are `n_rounds`, or no tree is of any use.

        The monitor is called after every round, and ends boosting by returning True.
        """
        while len(self.log.rounds) < self.settings.n_rounds:
            if not self._add_round():
                return
            if monitor is not None and monitor(self.log):
                return

    def _add_round(self) -> bool:
        settings, objective, grower = self.settings, self.objective, self._grower
        number = len(self.log.rounds)
        slopes, curvatures = objective.derivatives()
        rows, others = self._sampled_rows(number)
        tree = grower.grow(slopes, curvatures, rows, settings.seed + number)
        is_sampled = settings.subsample < 1.0 or settings.options.max_features < 1.0
        if len(tree.column) == 1 and not is_sampled:
            return False
        tree = tree._replace(value=tree.value.clip(-_LONGEST_STEP, _LONGEST_STEP))
        grower.set_values(tree.value)
        step, rate = np.zeros_like(self._scores), settings.learning_rate
        grower.add_to(step, 1.0, others)
        # A tree of a sample may raise the bound of all pairs, however short the step.
        n_tries = _MOST_HALVINGS if not is_sampled or (slopes * step).sum() > 0.0 else 0
        for _ in range(n_tries if objective.must_fall else 1):
            scores = self._scores + rate * step
            log_bound = objective.move(scores[:, 0])
            if not objective.must_fall or log_bound <= self.log.log_bounds[-1]:
                self._scores = scores
                self._record(tree._replace(value=rate * tree.value), rate, log_bound)
                return True
            rate *= 0.5
        objective.move(self._scores[:, 0])
        if is_sampled:
            # The next sample may do better: this one's tree stays without effect.
            tree = tree._replace(value=0.0 * tree.value, gain=0.0 * tree.gain)
            self._record(tree, 0.0, self.log.log_bounds[-1])
        return is_sampled

    def _sampled_rows(self, number: int) -> tuple[Ints | None, Ints | None]:
        """Return the rows of a sample of queries, and the others; None for all."""
        share, n_queries = self.settings.subsample, len(self._offsets) - 1
        if share >= 1.0:
            return None, None
        random = np.random.default_rng([self.settings.seed, number])
        is_in = np.zeros(n_queries, dtype=bool)
        is_in[random.permutation(n_queries)[: max(1, round(share * n_queries))]] = True
        of_rows = np.repeat(is_in, np.diff(self._offsets))
        return np.flatnonzero(of_rows), np.flatnonzero(~of_rows)

    def _record(self, tree: Tree, alpha: float, log_bound: float) -> None:
        forest = Forest.of([tree], self._is_category)
        ranking = TreeRanking(tree, forest, self.settings.unstored)
        round_ = Round(-1, float("nan"), float("nan"), alpha, ranking)
        self.log.add(round_, log_bound - self.log.log_bounds[-1])
