"""Rounds of boosting for ordered classes, with proportional or free odds.

Classes have levels 0 to m, between which are m thresholds. With proportional odds, one
score f and ascending thresholds t, ``P(level > k) = s(f - t[k])``, s being the sigmoid.
For a row of level y, let ``a = s(t[y] - f)`` and ``b = s(t[y - 1] - f)`` (1 and 0 where
there is no such threshold): its probability is ``a - b``. As ``s' = s (1 - s)``, the
derivative of ``log(a - b)`` by f is ``(b (1 - b) - a (1 - a)) / (a - b)``:

    slope = a + b - 1,    curvature = a (1 - a) + b (1 - b).

Since ``s(u) - s(v) = s(u) s(-v) (1 - exp(v - u))``, the loss of a row is a sum of
logistic losses, one for each threshold beside it, and of a term of its class alone:

    -log s(t[y] - f) - log s(f - t[y - 1]) - log(1 - exp(-(t[y] - t[y - 1]))).

All three are convex in f and t together; the last is infinite where two thresholds meet.
"""

from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from scipy.linalg import solveh_banded
from scipy.special import expit

from peckorder._core.threads import MIN_ITEMS_PER_THREAD, Stop, Team
from peckorder._core.typing import Bools, Floats, Ints
from peckorder.boosting.compiled.ordinal_loss import (
    free_terms,
    proportional_terms,
    sum_by_threshold,
    sum_held_out_losses,
)
from peckorder.trees.columns import Columns
from peckorder.trees.forest import Forest, Tree
from peckorder.trees.growing import Grower, TreeOptions

# Rows whose terms are summed together, whatever the threads.
_BLOCK = 1 << 12
# A leaf never moves a score by more than this in a step of full length: rows that are
# far off have so little curvature that a Newton step would go anywhere.
_LONGEST_STEP = 8.0
# Of the weight of all rows, what the curvature by a threshold is at least.
_LEAST_CURVATURE = 1e-9
# By what share the diagonal of second derivatives exceeds the others.
_LEAST_EXCESS = 1e-12
# Between thresholds, however little the class weighs that they enclose.
_LEAST_GAP = 1e-9
# By how much of itself a loss must fall to be better, and not by rounding.
_LEAST_FALL = 1e-9
# What log odds are multiplied by at the most, and divided by, to be right on held-out rows.
_LARGEST_FACTOR = 4.0


class OrdinalOptions(NamedTuple):
    """How rounds are run; each grows from a share of the rows, drawn by seed and round."""

    n_rounds: int
    learning_rate: float
    subsample: float
    seed: int
    tree: TreeOptions


class OrdinalBooster:
    """Boosts trees on rows of known levels, each of which has a row of positive weight.

    trees and thresholds, the latter before the first round and after each, are what is
    learnt. Odds are proportional, or free: then trees divide thresholds as well, and
    thresholds stay as they were.
    """

    def __init__(
        self,
        columns: Columns,
        level: Ints,
        weight: Floats,
        options: OrdinalOptions,
        team: Team,
        *,
        free: bool,
    ) -> None:
        self._level, self._weight, self._options, self._team = level, weight, options, team
        self._is_free = free
        # Rows without weight are held out.
        self._rows = np.flatnonzero(weight > 0.0)
        self._others = np.flatnonzero(weight == 0.0)
        self._counts: Floats = np.bincount(level, weight).astype(np.float64)
        below, above = np.cumsum(self._counts)[:-1], np.cumsum(self._counts[::-1])[-2::-1]
        # Their quotients may be beyond all numbers.
        (low, low_bits), (high, high_bits) = np.frexp(below), np.frexp(above)
        start = np.log(low / high) + (low_bits - high_bits) * np.log(2.0)
        start += _LEAST_GAP * np.arange(len(below))
        self.thresholds: list[Floats] = [start]
        self.trees: list[Tree] = []
        n_rows, width = len(level), len(start) if free else 1
        self.scores = np.zeros((n_rows, width))
        self._slopes, self._curvatures = np.empty((2, n_rows, width))
        n_threads = min(team.n_threads, 1 + n_rows * width // MIN_ITEMS_PER_THREAD["rows"])
        self._n_threads = n_threads
        self._grower = Grower(columns, options.tree, team, width)

    def repeat(self, forest: Forest, thresholds: Floats, scores: Floats) -> None:
        """Go on from rounds that were learnt before, with their scores of all rows."""
        starts = np.cumsum(forest.sizes)[:-1]
        parts = [np.split(getattr(forest, name), starts) for name in Tree._fields]
        self.trees = [Tree(*nodes) for nodes in zip(*parts, strict=True)] if len(forest) else []
        self.thresholds = list(np.broadcast_to(thresholds, (len(forest) + 1, thresholds.shape[1])))
        self.scores += scores

    def boost(self) -> None:
        """Run the rounds that are left."""
        while len(self.trees) < self._options.n_rounds:
            self.add_round()

    def loss_of(self, rows: Ints, weight: Floats) -> float:
        """Return the weighted sum of the rank losses and ranked probability scores of rows."""
        return sum_held_out_losses(self.scores, self.thresholds[-1], self._level, weight, rows)

    def log_odds(self, rows: Ints) -> Floats:
        """Return the log odds of rows being above each threshold."""
        return np.asarray(self.scores[rows] - self.thresholds[-1])

    def add_round(self) -> None:
        """Grow a tree, and fit the thresholds to the scores that it leaves."""
        options = self._options
        rng = np.random.default_rng([options.seed, len(self.trees)])
        self._write_terms()
        rows, others = self._sample(rng)
        seed = int(rng.integers(1 << 62))
        tree = self._grower.grow(self._slopes, self._curvatures, rows, seed)
        self._grower.add_to(self.scores, options.learning_rate, others)
        self.trees.append(tree._replace(value=options.learning_rate * tree.value))
        thresholds = self.thresholds[-1]
        self.thresholds.append(thresholds if self._is_free else self._refitted(thresholds))

    def _sample(self, rng: np.random.Generator) -> tuple[Ints | None, Ints | None]:
        """Return the rows that a tree grows from, None for all, and the others."""
        if self._options.subsample < 1.0:
            is_drawn = rng.random(len(self._rows)) < self._options.subsample
            if is_drawn.any():
                is_in = np.zeros(len(self._level), dtype=bool)
                is_in[self._rows[is_drawn]] = True
                return np.flatnonzero(is_in), np.flatnonzero(~is_in)
        return (self._rows, self._others) if len(self._others) else (None, None)

    def _write_terms(self) -> None:
        thresholds = self.thresholds[-1]
        ends = np.concatenate([[-np.inf], thresholds, [np.inf]])
        terms, given = (free_terms, thresholds) if self._is_free else (proportional_terms, ends)

        def write(share: slice, _: Stop) -> None:
            terms(
                self.scores, given, self._level, self._weight, _LONGEST_STEP,
                share.start, share.stop, self._slopes, self._curvatures,
            )  # fmt: skip

        self._team.share(len(self._level), write, self._n_threads)

    def _refitted(self, thresholds: Floats) -> Floats:
        """Return thresholds after a Newton step that lowers the loss at the scores."""
        n_rows = len(self._level)
        n_blocks = -(-n_rows // _BLOCK)
        sums = np.empty((n_blocks, len(thresholds), 2))

        def add_up(share: slice, _: Stop) -> None:
            for block in range(share.start, share.stop):
                first, last = block * _BLOCK, min((block + 1) * _BLOCK, n_rows)
                sum_by_threshold(
                    self.scores, thresholds, self._level, self._weight, first, last, sums[block]
                )

        self._team.share(n_blocks, add_up, self._n_threads)
        slope, curvature = np.add.reduce(sums, axis=0).T
        return newton_step(thresholds, slope, curvature, self._counts)


def calibrating_factor(log_odds: Floats, is_above: Bools, weight: Floats) -> float:
    """Return the factor of log odds (n, m) with the least logistic loss, within bounds.

    Found by bisection, since the slope of the loss rises with the factor.
    """
    low, high = 1.0 / _LARGEST_FACTOR, _LARGEST_FACTOR
    for _ in range(30):
        middle = 0.5 * (low + high)
        errors = is_above - expit(middle * log_odds)
        if (weight @ (errors * log_odds)).sum() > 0.0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


class Choice(NamedTuple):
    """The odds that lost least on rows held out, after so many rounds.

    losses are those of held-out rows before the first round and after each; log odds
    times factor are right on average there; booster is that of the first fold.
    """

    free: bool
    n_rounds: int
    factor: float = 1.0
    losses: Floats | None = None
    booster: OrdinalBooster | None = None


def choose(
    columns: Columns,
    level: Ints,
    weight: Floats,
    options: OrdinalOptions,
    team: Team,
    *,
    kinds: Sequence[bool],
    folds: Sequence[Ints],
    patience: int | None,
) -> Choice:
    """Boost with odds of each kind, free or not, beside each fold; take what loses least.

    The boosters of all folds run side by side, until there was no better round for
    `patience` rounds.
    """
    held = np.concatenate(folds)
    is_above = level[held, np.newaxis] > np.arange(level.max())
    choices = []
    for free in kinds:
        boosters = []
        for rows in folds:
            kept = weight.copy()
            kept[rows] = 0.0
            boosters.append(OrdinalBooster(columns, level, kept, options, team, free=free))
        losses: list[float] = []
        best, log_odds = 0, np.zeros(is_above.shape)
        while len(losses) <= options.n_rounds and not (patience and len(losses) > best + patience):
            if losses:
                for booster in boosters:
                    booster.add_round()
            pairs = list(zip(boosters, folds, strict=True))
            losses.append(sum(booster.loss_of(rows, weight) for booster, rows in pairs))
            if len(losses) == 1 or losses[-1] < losses[best] * (1.0 - _LEAST_FALL):
                best = len(losses) - 1
                log_odds = np.concatenate([booster.log_odds(rows) for booster, rows in pairs])
        factor = calibrating_factor(log_odds, is_above, weight[held]) if best else 1.0
        means = np.array(losses) / weight[held].sum()
        choices.append((means[best], Choice(free, best, factor, means, boosters[0])))
    return min(choices, key=itemgetter(0))[1]


def newton_step(thresholds: Floats, slope: Floats, curvature: Floats, counts: Floats) -> Floats:
    """Return ascending thresholds (m,) at which the loss is not larger.

    slope and curvature (m,) are the derivatives of the logistic losses of rows; counts
    (m + 1,) the weights of classes, that have terms ``-log(1 - exp(-gap))`` besides.

    A step d is cut to ``u d``. No gap becomes less than half of what it was, by the
    first bound on u. So, along the step, the third derivative of every term is at most r
    times its second: that of the logistic loss by ``max |d|``, of a gap g by ``|d[k] -
    d[k - 1]| coth(g / 2)``, which at most doubles. Then the second derivative of the
    loss along the step grows by ``exp(r u)`` at most, the first is at most
    ``-D + D (exp(r u) - 1) / r``, D being the second one at 0, and not above zero up to
    ``u = log(1 + r) / r``, the other bound.
    """
    gaps = np.diff(thresholds)
    inner = counts[1:-1]
    with np.errstate(over="ignore"):
        pull = inner / np.expm1(gaps)
        stiffness = inner / (2.0 * np.sinh(0.5 * gaps)) ** 2
    gradient, banded = slope.copy(), np.zeros((2, len(thresholds)))
    banded[1] = curvature + _LEAST_CURVATURE * counts.sum()
    gradient[1:] -= pull
    gradient[:-1] += pull
    banded[1, 1:] += stiffness
    banded[1, :-1] += stiffness
    banded[0, 1:] = -stiffness
    # However stiff, the matrix is positive definite in spite of rounding.
    banded[1] *= 1.0 + _LEAST_EXCESS
    step = -gradient / banded[1] if len(gradient) == 1 else -solveh_banded(banded, gradient)
    moved = np.diff(step)
    closing = np.max(-moved / gaps, initial=0.0)
    ratio = max(np.abs(step).max(), np.max(2.0 * np.abs(moved) / np.tanh(0.5 * gaps), initial=0.0))
    if ratio == 0.0:
        return thresholds
    length = min(np.log1p(ratio) / ratio, 0.5 / closing if closing > 0.0 else np.inf)
    found = thresholds + length * step
    return found if (np.diff(found) > _LEAST_GAP).all() else thresholds
