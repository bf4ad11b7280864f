"""RankBoost: rounds of weak rankings, each for the distribution the last one left."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import exp, inf, isfinite, log
from typing import Any, NamedTuple, Protocol

import numpy as np

from peckorder._core.typing import Floats
from peckorder.boosting.compiled import rounds as kernels
from peckorder.boosting.pairs.distribution import Distribution
from peckorder.boosting.weak.custom import is_step
from peckorder.boosting.weak.thresholds import Weak, WeakLearner
from peckorder.exceptions import DataError

# Newton's iteration stops when a step is this small, in units of the last place.
_PRECISE = 4e-16
_MOST_STEPS = 200


class Round(NamedTuple):
    """A weak ranking with its weight; `ranking` if it is none of a feature."""

    feature: int
    threshold: float
    default: float
    alpha: float
    ranking: Any = None


@dataclass
class Boosted:
    """The rounds so far, and the logarithms of the bounds before and after each."""

    log_bounds: list[float]
    rounds: list[Round] = field(default_factory=list)

    def add(self, round_: Round, log_z: float) -> None:
        """Add a round, which multiplies the bound by Z."""
        self.rounds.append(round_)
        self.log_bounds.append(self.log_bounds[-1] + log_z)


class Finished(Protocol):
    """What is left of a run: its rounds, and the smoothing that was used."""

    boosted: Boosted
    smoothing: float


def take(
    boosted: Boosted,
    distribution: Distribution,
    learner: WeakLearner,
    weak: Weak,
    alpha: float,
) -> None:
    """Add a ranking, and move the distribution to where it leads."""
    before = distribution.log_total
    distribution.add(alpha, weak.values)
    learner.note(weak, alpha)
    round_ = Round(weak.feature, weak.threshold, weak.default, alpha, weak.ranking)
    boosted.add(round_, distribution.log_total - before)


@dataclass(frozen=True)
class Steps:
    """How much weight a weak ranking gets: `method`, smoothing, learning rate."""

    method: str
    smoothing: float
    rate: float

    def alpha(self, weak: Weak, distribution: Distribution) -> float:
        """Return the weight of a ranking, the learning rate in it."""
        return self.rate * self._whole(weak, distribution)

    def _whole(self, weak: Weak, distribution: Distribution) -> float:
        if self.method == "approximate":
            return kernels.approximate(weak.r, self.smoothing)
        if is_step(weak.values):
            _, first, second = distribution.moments(distribution.scores, weak.values)
            right, wrong = _mass((second - first) / 2), _mass((second + first) / 2)
            if self.method == "analytic":
                extra = self.smoothing / 2
                return _half_log(right + extra, wrong + extra)
            limit = _half_log(2.0 + self.smoothing, self.smoothing)
            return float(np.clip(_half_log(right, wrong), -limit, limit))
        return newton(weak, distribution, self.smoothing)


def boost(
    boosted: Boosted,
    distribution: Distribution,
    learners: Sequence[WeakLearner],
    steps: Steps,
    n_rounds: int,
    monitor: Callable[[Boosted], bool] | None,
) -> None:
    """Add rounds until there are `n_rounds`, nothing is left, or the monitor says so.

    The distribution is at the scores of the rounds so far.
    """
    while len(boosted.rounds) < n_rounds:
        choice = _choose(distribution, learners, steps)
        if choice is None:
            return
        check_alpha(choice[-1])
        take(boosted, distribution, *choice)
        if monitor is not None and monitor(boosted):
            return


def check_alpha(alpha: float) -> None:
    """Refuse a weight that is infinite."""
    if not isfinite(alpha):
        raise DataError(
            "RankBoost: smoothing must be > 0 where a weak ranking errs on no pair; "
            "got 0."
        )


def _choose(
    distribution: Distribution,
    learners: Sequence[WeakLearner],
    steps: Steps,
) -> tuple[WeakLearner, Weak, float] | None:
    """Return the best weak ranking of all learners, and its weight."""
    for learner in learners:
        learner.release()
    while True:
        found = [(learner, learner.choose(distribution)) for learner in learners]
        useful = [(learner, weak) for learner, weak in found if weak is not None]
        if not useful:
            return None
        learner, weak = max(useful, key=lambda pair: pair[1].gain)
        alpha = steps.alpha(weak, distribution)
        if not alpha * weak.r > 0.0:
            return None  # rounding is all that is left
        # The search knows the approximate alpha only, which is never the larger one.
        if learner.may_add(weak, alpha):
            return learner, weak, alpha
        learner.bar(weak)


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
    # Rounding leaves something of a zero, which a logarithm would magnify.
    return value if value > kernels.NOTHING else 0.0


def bounds(log_bounds: Sequence[float]) -> Floats:
    """Return the bounds themselves."""
    return np.array([exp(min(value, 700.0)) for value in log_bounds])
