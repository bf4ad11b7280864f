"""Rows that come one by one, with a kernel: visits of their coefficients; compiled."""

from typing import NamedTuple

from peckorder._core.compiled.jit import compiled, inlined, inlined_sum
from peckorder._core.typing import Floats


class Known(NamedTuple):
    """What is kept of each row: five numbers, its kernel with itself, and its label.

    `image` is K beta, `sums` is K weight. Rows that are still to come have zeros.
    """

    label: Floats
    weight: Floats
    beta: Floats
    image: Floats
    sums: Floats
    diagonal: Floats


class Settings(NamedTuple):
    """The cost, the least and largest ridge, and a constant step or 0 for the safe one.

    `is_exact` has each step end where the cost is least.
    """

    C: float
    low: float
    high: float
    is_exact: bool
    step: float


class Totals(NamedTuple):
    """Sums over rows: of weights, squares, weights times columns, and coefficients."""

    mass: float
    label: float
    beta: float
    image: float
    sums: float
    heaviest: float


@inlined_sum
def _dot(a: Floats, b: Floats, n: int) -> float:
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total


@inlined_sum
def _sum(a: Floats, n: int) -> float:
    total = 0.0
    for i in range(n):
        total += a[i]
    return total


@inlined
def _totals(known: Known, n: int) -> Totals:
    weight, heaviest = known.weight, 0.0
    for i in range(n):
        heaviest = max(heaviest, weight[i])
    return Totals(
        _sum(weight, n),
        _dot(weight, known.label, n),
        _sum(known.beta, n),
        _dot(weight, known.image, n),
        _dot(weight, known.sums, n),
        heaviest,
    )


@inlined
def _curvature(known: Known, totals: Totals, i: int) -> float:
    """Return the kernel of a row with itself, centred."""
    common = (2.0 * known.sums[i] - totals.sums / totals.mass) / totals.mass
    curvature: float = max(known.diagonal[i] - common, 0.0)
    return curvature


@inlined
def _ridge(known: Known, totals: Totals, settings: Settings, i: int) -> float:
    whole = totals.mass / (2.0 * settings.C)
    ridge: float = min(max(whole / known.weight[i], settings.low), settings.high)
    return ridge


@inlined
def _safe_step(known: Known, totals: Totals, settings: Settings, n: int) -> float:
    """Return the largest step that surely converges, for a row of the largest weight."""
    most = 0.0
    for i in range(n):
        curvature = _curvature(known, totals, i) + _ridge(known, totals, settings, i)
        most = max(most, known.weight[i] / totals.heaviest * curvature)
    return 0.5 / most


@inlined
def _visit(row: Floats, i: int, known: Known, settings: Settings, step: float, n: int) -> None:
    """Change one coefficient. row (n,) has the kernels of row i."""
    known.image[i] = _dot(row, known.beta, n)
    totals = _totals(known, n)
    ridge = _ridge(known, totals, settings, i)
    common = totals.beta / totals.mass * (known.sums[i] - totals.sums / totals.mass)
    score = known.image[i] - totals.image / totals.mass - common
    slope = known.label[i] - totals.label / totals.mass - score - ridge * known.beta[i]
    if settings.is_exact:
        change = slope / (_curvature(known, totals, i) + ridge)
    else:
        if step == 0.0:
            step = _safe_step(known, totals, settings, n)
        change = 2.0 * step * known.weight[i] / totals.heaviest * slope
    known.beta[i] += change
    for j in range(n):
        known.image[j] += change * row[j]


@compiled
def arrive(K: Floats, known: Known, settings: Settings, first: int) -> None:
    """Take in rows from `first` on, one after the other, and visit each as it comes.

    K (m, n) has the kernels of these m rows with all n.
    """
    for k in range(K.shape[0]):
        i, row = first + k, K[k]
        for j in range(i):
            known.sums[j] += known.weight[i] * row[j]
        known.sums[i] = _dot(row, known.weight, i + 1)
        known.diagonal[i] = row[i]
        _visit(row, i, known, settings, settings.step, i + 1)


@compiled
def revisit(K: Floats, known: Known, settings: Settings, first: int) -> None:
    """Visit rows from `first` on once more; K (m, n) as in `arrive`."""
    n = K.shape[1]
    step = settings.step
    if not settings.is_exact and step == 0.0:
        step = _safe_step(known, _totals(known, n), settings, n)
    for k in range(K.shape[0]):
        _visit(K[k], first + k, known, settings, step, n)
