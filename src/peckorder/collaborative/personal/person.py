"""One person on top of what is shared: MPRank in its dual form, solved at once."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.linalg import lapack, lstsq

from peckorder._core.typing import Floats, Ints
from peckorder.collaborative.personal.item_kernel import ItemKernel
from peckorder.magnitude.mprank_cv import MPRankCV

# In units of the noise: what the shared part expects is 1.
RIDGES = 2.0 ** np.arange(-3, 5)
# A ridge that is smaller, beside the kernels, is lost in the rounding of cosines.
_SMALL = 1e-7


class Learnt(Protocol):
    """What was learnt of a person: scores of items on top of their means."""

    def scores(self, items: Ints | slice) -> Floats:
        """Return what is to be added to the means of some items."""


@dataclass(frozen=True, eq=False)
class Constant:
    """A person of whom nothing is known but how high he rates."""

    shift: float

    def scores(self, items: Ints | slice) -> Floats:
        """Return the same for all."""
        return np.float64(self.shift)  # type: ignore[return-value]


@dataclass(frozen=True, eq=False)
class Shift:
    """A person with ratings enough, but nobody to be compared with."""

    shift: float

    def scores(self, items: Ints | slice) -> Floats:
        """Return the same for all."""
        return np.float64(self.shift)  # type: ignore[return-value]


@dataclass(frozen=True, eq=False)
class Weighed:
    """Rated items with coefficients: ``intercept + sum_j coef_j K_ij``."""

    kernel: ItemKernel
    rated: Ints
    coef: Floats
    intercept: float
    ridge: float

    def scores(self, items: Ints | slice) -> Floats:
        """Return the sums for some items."""
        return self.intercept + self.kernel.scores(items, self.rated, self.coef)


@dataclass(frozen=True, eq=False)
class OnFeatures:
    """A person learnt by an estimator, from features (n_items, n_features)."""

    estimator: Any
    features: Floats

    def scores(self, items: Ints | slice) -> Floats:
        """Return what the estimator predicts of some items."""
        predicted = self.estimator.predict(self.features[items])
        return np.asarray(predicted, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class OnKernels:
    """A person learnt by an estimator, from kernels with what he rated."""

    estimator: Any
    kernel: ItemKernel
    rated: Ints

    def scores(self, items: Ints | slice) -> Floats:
        """Return what the estimator predicts of some items."""
        K = self.kernel.between(items, self.rated)
        return np.asarray(self.estimator.predict(K), dtype=np.float64)


def solve(K: Floats, y: Floats, ridge: float) -> tuple[Floats, float]:
    """Return MPRank's coefficients, which sum to 0, and the intercept; K is lost.

    Kernel ridge regression with an intercept that costs nothing, which MPRank is:
    ``(K + ridge) coef + intercept = y``. One Cholesky factorisation.
    """
    n = len(y)
    if ridge < _SMALL * float(np.trace(K)) / n:
        return _least_squares(K, y, ridge)
    K.flat[:: n + 1] += ridge
    right = np.empty((n, 2), order="F")
    right[:, 0], right[:, 1] = y, 1.0
    # The transpose is in the order of columns, as LAPACK wants it, and the same.
    _, solution, info = lapack.dposv(K.T, right, overwrite_a=1, overwrite_b=1)
    if info != 0:  # the ridge is above rounding, so the kernel is not what it should be
        raise np.linalg.LinAlgError(f"K is not positive definite; LAPACK says {info}.")
    intercept = float(solution[:, 0].sum() / solution[:, 1].sum())
    return solution[:, 0] - intercept * solution[:, 1], intercept


def _least_squares(K: Floats, y: Floats, ridge: float) -> tuple[Floats, float]:
    """Solve the same where the ridge is lost in rounding: the least solution."""
    n = len(y)
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = K
    system.flat[: n * (n + 1) : n + 2] += ridge
    system[:n, n] = system[n, :n] = np.sqrt(np.trace(K) / n)
    solution = lstsq(system, np.append(y, 0.0), cond=_SMALL)[0]
    return solution[:n], float(solution[n] * system[0, n])


def chosen_ridge(K: Floats, y: Floats) -> float:
    """Return the ridge with the least exact squared error on pairs left out."""
    n = len(y)
    if n < 3:
        return 1.0
    cs = n / (2.0 * RIDGES)
    search = MPRankCV(Cs=cs, kernel="precomputed", keep="C_prime")
    return n / (2.0 * search.fit(K, y).C_)


def weighed(kernel: ItemKernel, rated: Ints, y: Floats, C: Any) -> Weighed:
    """Learn a person from ratings less the items' means.

    C is None for the ridge that goes with the noise, a number, or "leave_pair_out".
    """
    K = kernel.between(rated, rated)
    ridge = 1.0
    if C == "leave_pair_out":
        ridge = chosen_ridge(K, y)
    elif C is not None:
        ridge = len(y) / (2.0 * float(C))
    return Weighed(kernel, rated, *solve(K, y, ridge), ridge)
