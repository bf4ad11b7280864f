"""A user's own weak learner."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from peckorder._core.typing import Floats, Ints
from peckorder.boosting.pairs.distribution import UNIT, Distribution
from peckorder.boosting.weak.thresholds import Weak
from peckorder.exceptions import DataError


@dataclass(eq=False)
class OwnLearner:
    """Asks somebody else for a ranking of all rows, given their potentials.

    `learner` is a regressor, fitted to the potentials anew each time, or a function of
    X and the potentials that returns a function of X.
    """

    learner: Any
    X: Any
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
            # Potentials are tiny: a regressor is asked for an order, not for its scale.
            ranking.scale = 1.0 / distribution.span(values)
            values = values * ranking.scale
        self._check(values, distribution)
        r = float(np.sum(values * potentials[self.rows]))
        # There is no telling whether it is one of a round before.
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
        """Tell whether a ranking may be added with a weight."""
        return not self.cumulative or alpha > 0.0

    def note(self, weak: Weak, alpha: float) -> None:
        """Take notice that a ranking has been added."""

    def bar(self, weak: Weak) -> None:
        """Do nothing: what may not be added is not chosen."""

    def release(self) -> None:
        """Do nothing."""

    def _learn(self, potentials: Floats) -> Callable[[Any], Any]:
        if hasattr(self.learner, "predict"):
            return Scaled(clone(self.learner).fit(self.X, potentials))
        found: Callable[[Any], Any] = self.learner(self.X, potentials)
        if not callable(found):
            raise DataError(
                "RankBoost: what weak returns must be a function of X, the ranking; "
                f"got {found!r}."
            )
        return found

    def _check(self, values: Floats, distribution: Distribution) -> None:
        width = distribution.span(values)
        if self.method == "approximate" and width > 1.0 + 1e-9:
            raise DataError(
                "RankBoost: a ranking by weak must be within a range of 1 if "
                f"alpha='approximate'; got {width!r}. Scale it, or use alpha='numeric'."
            )
        if self.method == "analytic" and not is_step(values):
            raise DataError(
                "RankBoost: a ranking by weak must be 0 or 1 everywhere if "
                "alpha='analytic'; got other values. Use alpha='numeric'."
            )


@dataclass
class Scaled:
    """The predictions of a regressor, times a number."""

    regressor: Any
    scale: float = 1.0

    def __call__(self, X: Any) -> Any:
        """Return them."""
        return self.scale * np.asarray(self.regressor.predict(X), dtype=np.float64)


def ranked(ranking: Callable[[Any], Any], X: Any) -> Floats:
    """Return what a user's ranking says of rows: a finite number each."""
    try:
        values = np.asarray(ranking(X), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"RankBoost: a ranking by weak must be numbers; got {error}."
        ) from error
    rule = (
        f"RankBoost: a ranking by weak must be one number per row, {X.shape[0]} in all"
    )
    if values.shape != (X.shape[0],):
        raise DataError(f"{rule}; got an array of shape {values.shape}.")
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise DataError(f"{rule}, finite; got {float(values[row])!r} in row {row}.")
    return values


def is_step(values: Floats) -> bool:
    """Tell whether a ranking is 0 or 1 everywhere."""
    return bool(((values == 0.0) | (values == 1.0)).all())
