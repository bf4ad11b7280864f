"""Weak rankings, their weights, and learners other than thresholds."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone

from peckorder._core.errors import refusal
from peckorder._core.typing import Floats, Ints, Matrix, Predictor
from peckorder.boosting.compiled.pairs import UNIT
from peckorder.boosting.compiled.rounds import NOTHING, approximate_alpha
from peckorder.boosting.compiled.sorted_columns import SortedColumns, rank_by_values, sum_values
from peckorder.boosting.distribution import Distribution

# Newton's iteration stops when a step is this small, in units of the last place.
_PRECISE = 4e-16
_MOST_STEPS = 200
# A user's ranking: a function of X that returns one number per row.
Ranking: TypeAlias = Callable[[Any], Any]


@dataclass(frozen=True, slots=True, eq=False)
class Weak:
    """A weak ranking h, with r and the gain that it was chosen for.

    h is 1 where the feature is above the threshold, 0 where it is not, and the default
    where it abstains; the feature itself if the threshold is NaN; or the values of
    `ranking`, if there is one. values (n,) are h of the rows of the feedback, `cut`
    is the position of the threshold in its column.
    """

    feature: int
    threshold: float
    default: float
    r: float
    gain: float
    values: Floats
    cut: int = 0
    ranking: Ranking | None = None


@dataclass(eq=False)
class Features:
    """Features as weak rankings, the largest |r| first: the paper's first form.

    The default where they abstain is given, or the better end of the feature's range:
    r is linear in it. The `cut` of a ranking is which end. There is a column for every
    feature.
    """

    columns: SortedColumns
    default: float | None
    cumulative: bool
    narrow: bool

    def __post_init__(self) -> None:
        columns, groups = self.columns, self.columns.groups
        has_values = np.diff(groups) > 0
        low, high = np.zeros((2, len(columns.features)))
        high[has_values] = columns.values[groups[:-1][has_values]]
        low[has_values] = columns.values[groups[1:][has_values] - 1]
        if self.default is None:
            self._ends = np.stack([low, np.where(columns.abstains != 0, high, low)])
        else:
            self._ends = np.full((2, len(low)), float(self.default))
        # A column without values must not be chosen for its default.
        self._is_ranking = has_values
        if self.narrow:
            self._check_range(low, high)
        # Rounding leaves more of values larger than 1.
        self._scale = np.maximum(np.maximum(np.abs(low), np.abs(high)), 1.0)
        self._sums = np.zeros_like(self._ends)
        self._is_old, self._is_excluded = np.zeros((2, *self._ends.shape), dtype=bool)

    def _check_range(self, low: Floats, high: Floats) -> None:
        abstains = self.columns.abstains != 0
        top = np.where(abstains, np.maximum(high, self._ends.max(axis=0)), high)
        bottom = np.where(abstains, np.minimum(low, self._ends.min(axis=0)), low)
        width = np.where(self._is_ranking, top - bottom, 0.0)
        if width.max(initial=0.0) > 1.0:
            worst = int(np.argmax(width))
            raise refusal(
                "X",
                "be within a range of 1, defaults too, if features are weak "
                "rankings and alpha='approximate'",
                f"{float(width[worst])!r} in feature {self.columns.features[worst]}",
                hint="Scale X to [0, 1], or use alpha='numeric'.",
            )

    def choose(self, distribution: Distribution) -> Weak | None:
        """Return the best ranking, or None if there is none of any use."""
        columns = self.columns
        weighted, ranked = np.empty((2, len(columns.features)))
        sum_values(columns, distribution.potentials, weighted, ranked)
        # What rounding leaves of zero must not decide on a default.
        ranked[columns.abstains == 0] = 0.0
        r = np.where(self._is_ranking, weighted - self._ends * ranked, 0.0)
        size = np.abs(r)
        size[size <= distribution.noise * self._scale] = 0.0
        if self.cumulative:
            size = np.where((r > 0) | self._is_old, size, 0.0)
        size[self._is_excluded] = 0.0
        # By features first, then by defaults.
        column, end = divmod(int(np.argmax(size.T)), 2)
        if size[end, column] == 0.0:
            return None
        default, values = (float(self._ends[end, column]), np.empty_like(distribution.scores))
        rank_by_values(columns, column, default, values)
        feature, own_r = int(columns.features[column]), float(r[end, column])
        return Weak(feature, float("nan"), default, own_r, abs(own_r), values, end)

    def may_add(self, weak: Weak, alpha: float) -> bool:
        """Return whether a ranking may be added with a weight."""
        return not self.cumulative or self._sums[weak.cut, weak.feature] + alpha > 0.0

    def record(self, weak: Weak, alpha: float) -> None:
        """Record that a ranking has been added."""
        if weak.default == self._ends[weak.cut, weak.feature]:  # an earlier fit may have others
            self._sums[weak.cut, weak.feature] += alpha
            self._is_old[weak.cut, weak.feature] = True

    def exclude(self, weak: Weak) -> None:
        """Do not choose a ranking again in this round."""
        self._is_excluded[weak.cut, weak.feature] = True

    def clear_exclusions(self) -> None:
        """Let all rankings be chosen again."""
        self._is_excluded[:] = False

    def cut_at(self, feature: int, default: float) -> int:
        """Return which of the two defaults a ranking of an earlier fit has."""
        return int(self._ends[0, feature] != default)


@dataclass(eq=False)
class CustomLearner:
    """Asks a user's learner for a ranking of all rows, given their potentials.

    `learner` is a regressor, fitted to the potentials anew each time, or a function of
    X and the potentials that returns a function of X.
    """

    learner: Any
    X: Matrix
    rows: Ints
    method: str
    cumulative: bool

    def choose(self, distribution: Distribution) -> Weak | None:
        """Return the best ranking, or None if there is none of any use."""
        potentials = np.zeros(self.X.shape[0])
        potentials[self.rows] = distribution.potentials / UNIT
        ranking = self._learn(potentials)
        values = ranked(ranking, self.X)[self.rows]
        if isinstance(ranking, Scaled) and distribution.span(values) > 0.0:
            # Potentials are tiny: only the order that a regressor finds has a meaning.
            ranking.scale = 1.0 / distribution.span(values)
            values = values * ranking.scale
        self._check(values, distribution)
        r = float(np.sum(values * potentials[self.rows]))
        # Whether it is one of an earlier round is unknown.
        scale = max(1.0, float(np.abs(values).max()))
        if abs(r) <= distribution.noise * scale or (self.cumulative and r < 0.0):
            return None
        gain = abs(r)
        if self.method == "analytic":
            _, first, second = distribution.moments(distribution.scores, values)
            right, wrong = max(second - first, 0.0) / 2, max(second + first, 0.0) / 2
            gain = float((np.sqrt(right) - np.sqrt(wrong)) ** 2)
        nan = float("nan")
        return Weak(-1, nan, nan, r, gain, values, ranking=ranking)

    def may_add(self, weak: Weak, alpha: float) -> bool:
        """Return whether a ranking may be added with a weight."""
        return not self.cumulative or alpha > 0.0

    def record(self, weak: Weak, alpha: float) -> None:
        """Do nothing: every ranking is a new one."""

    def exclude(self, weak: Weak) -> None:
        """Do nothing: what may not be added is not chosen."""

    def clear_exclusions(self) -> None:
        """Do nothing."""

    def _learn(self, potentials: Floats) -> Ranking:
        if hasattr(self.learner, "predict"):
            return Scaled(clone(self.learner).fit(self.X, potentials))
        ranking: Ranking = self.learner(self.X, potentials)
        if not callable(ranking):
            raise refusal("what weak returns", "be a function of X, the ranking", repr(ranking))
        return ranking

    def _check(self, values: Floats, distribution: Distribution) -> None:
        width = distribution.span(values)
        if self.method == "approximate" and width > 1.0 + 1e-9:
            raise refusal(
                "a ranking by weak",
                "be within a range of 1 if alpha='approximate'",
                repr(width),
                hint="Scale it, or use alpha='numeric'.",
            )
        if self.method == "analytic" and not is_step(values):
            raise refusal(
                "a ranking by weak",
                "be 0 or 1 everywhere if alpha='analytic'",
                "other values",
                hint="Use alpha='numeric'.",
            )


@dataclass
class Scaled:
    """The predictions of a regressor, times a number."""

    regressor: Predictor
    scale: float = 1.0

    def __call__(self, X: Matrix) -> Floats:
        """Return them."""
        return self.scale * np.asarray(self.regressor.predict(X), dtype=np.float64)


def ranked(ranking: Ranking, X: Matrix) -> Floats:
    """Return the values of a user's ranking: one finite number per row."""
    try:
        values = np.asarray(ranking(X), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise refusal("a ranking by weak", "be numbers", error) from error
    rule = f"be one number per row, {X.shape[0]} in all"
    if values.shape != (X.shape[0],):
        raise refusal("a ranking by weak", rule, f"an array of shape {values.shape}")
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        got = f"{float(values[row])!r} in row {row}"
        raise refusal("a ranking by weak", f"{rule}, finite", got)
    return values


def is_step(values: Floats) -> bool:
    """Return whether a ranking is 0 or 1 everywhere."""
    return bool(((values == 0.0) | (values == 1.0)).all())


@dataclass(frozen=True)
class AlphaRule:
    """How much weight a weak ranking gets: `method`, smoothing, learning rate."""

    method: str
    smoothing: float
    rate: float

    def alpha(self, weak: Weak, distribution: Distribution) -> float:
        """Return the weight of a ranking, before the learning rate."""
        if self.method == "approximate":
            return approximate_alpha(weak.r, self.smoothing)
        if is_step(weak.values):
            _, first, second = distribution.moments(distribution.scores, weak.values)
            right, wrong = _mass((second - first) / 2), _mass((second + first) / 2)
            if self.method == "analytic":
                extra = self.smoothing / 2
                return _half_log(right + extra, wrong + extra)
            limit = _half_log(2.0 + self.smoothing, self.smoothing)
            return float(np.clip(_half_log(right, wrong), -limit, limit))
        return newton(weak, distribution, self.smoothing)


def newton(weak: Weak, distribution: Distribution, smoothing: float) -> float:
    """Return the alpha that minimises ``Z = sum D exp(alpha s)``, s = h(x0) - h(x1).

    Newton's iteration on the slope of log Z, which is convex, between bounds that it
    must not leave; where it would, or does not halve its last step but one, the
    interval is halved instead. So the error at least halves every other iteration, and
    near the minimum, where log Z curves, it is squared in each. Nothing beyond
    ``log((2 + e) / e) / 2``, over the largest difference of values if that is above 1,
    is looked at: the minimum lies at infinity if the ranking errs on no pair.
    """
    h = weak.values
    span = distribution.span(h)
    limit = _half_log(2.0 + smoothing, smoothing) / max(1.0, span)
    sign = 1.0 if weak.r > 0 else -1.0
    h = sign * h

    def slope(alpha: float) -> tuple[float, float]:
        mass, first, second = distribution.moments(distribution.scores + alpha * h, h)
        mean = first / mass
        return mean, second / mass - mean * mean

    if limit < inf and slope(limit)[0] <= 0.0:
        return sign * limit
    low, high = 0.0, min(limit, 1.0 / max(span, 1e-300))
    while high < limit and slope(high)[0] < 0.0:
        low, high = high, min(2.0 * high, limit)
        if high == inf or high * span > 1e3:
            return sign * inf
    alpha, step, before = (low + high) / 2, high - low, inf
    for _ in range(_MOST_STEPS):
        value, curve = slope(alpha)
        low, high = (alpha, high) if value < 0.0 else (low, alpha)
        move = value / curve if curve > 0.0 else inf
        if min(abs(move), high - low) <= _PRECISE * alpha:
            break
        is_safe = low < alpha - move < high and abs(move) <= before / 2
        following = alpha - move if is_safe else (low + high) / 2
        before, step = step, abs(following - alpha)
        alpha = following
    return sign * alpha


def _half_log(a: float, b: float) -> float:
    """Return half the logarithm of a/b, where one of them may be zero."""
    if a == b:
        return 0.0
    if a == 0.0 or b == 0.0:
        return inf if a > 0.0 else -inf
    return 0.5 * log(a / b)


def _mass(value: float) -> float:
    # Rounding leaves a remainder of zero, which a logarithm would magnify.
    return value if value > NOTHING else 0.0
