"""Magnitude-preserving ranking: centring kernels, sweeps, and pairs left out."""

from peckorder._typing import Floats, Ints
from peckorder.kernels._jit import kernel, part, sum_part

# Costs of a pair that is left out.
SQUARED, ABSOLUTE, MISRANKING = 0, 1, 2

_TILE = 64
# Scores of a pair that differ by no more than this, beside their labels, are tied.
_TIED = 1e-12


@sum_part
def _dot(a: Floats, b: Floats) -> float:
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@kernel
def mirror(K: Floats, diagonal: Floats) -> None:
    """Write the upper triangle of K over the lower one, and its diagonal anew."""
    n = K.shape[0]
    for first in range(0, n, _TILE):
        for other in range(0, first + 1, _TILE):
            for i in range(first, min(first + _TILE, n)):
                for j in range(other, min(other + _TILE, i)):
                    K[i, j] = K[j, i]
    for i in range(n):
        K[i, i] = diagonal[i]


@kernel
def asymmetry(K: Floats, largest: Floats) -> None:
    """Find the largest entry, and the largest difference to the transpose."""
    n = K.shape[0]
    size, difference = 0.0, 0.0
    for first in range(0, n, _TILE):
        for other in range(0, first + 1, _TILE):
            for i in range(first, min(first + _TILE, n)):
                for j in range(other, min(other + _TILE, i + 1)):
                    size = max(size, abs(K[i, j]))
                    difference = max(difference, abs(K[i, j] - K[j, i]))
    largest[0] = size
    largest[1] = difference


@kernel
def correct(
    K: Floats,
    root: Floats,
    normal: Floats,
    query: Ints,
    by_row: Floats,
    by_query: Floats,
    is_dropped: Ints,
    ridge: float,
) -> None:
    """Turn the lower triangle of K into that of ``R (V K V) R + ridge I``.

    V = diag(root); R = I - N N', N having `normal` in the column of each row's query.
    ``by_row = B - N (N' B) / 2`` with ``B = V K V N`` (n, q), `by_query` its transpose.
    Rows that are dropped become those of the identity.
    """
    n = K.shape[0]
    for i in range(n):
        if is_dropped[i]:
            K[i, :i] = 0.0
            K[i, i] = 1.0
            continue
        mine, there, here = by_query[query[i]], by_row[i], normal[i]
        for j in range(i + 1):
            value = root[i] * root[j] * K[i, j]
            value -= here * mine[j] + there[query[j]] * normal[j]
            K[i, j] = 0.0 if is_dropped[j] else value
        K[i, i] += ridge


@kernel
def sweep(K: Floats, target: Floats, ridge: float, step: Floats, beta: Floats) -> None:
    """Visit each coordinate: ``beta_i += 2 step_i (target - (K + ridge) beta)_i``.

    `step` has a step a row. K is symmetric and whole.
    """
    for i in range(target.size):
        slope = target[i] - _dot(K[i], beta) - ridge * beta[i]
        beta[i] += 2.0 * step[i] * slope


@part
def _cost(kind: int, truth: float, off: float) -> float:
    """Return the cost of a pair whose labels, and whose residuals, differ by these."""
    if kind == 0:
        return off * off
    if kind == 1:
        return abs(off)
    # What is equal to rounding is tied.
    return 1.0 if truth * (truth - off) <= _TIED * truth * truth else 0.0


@kernel
def leave_pairs_out(
    kind: int,
    G: Floats,
    e: Floats,
    y: Floats,
    root: Floats,
    weight: Floats,
    result: Floats,
) -> None:
    """Add up the costs of the pairs of one query, each left out of training.

    With the lower triangle of G = R - R K R (R K R + ridge)^-1 and e = G target, both
    scaled by root, residuals of a pair solve the 2 x 2 system of its part of G.
    result : the sum of weighted costs, of weights, and the least determinant over the
    product of the diagonal.
    """
    n = y.size
    total, mass, least = 0.0, 0.0, result[2]
    for i in range(n):
        for j in range(i):
            truth = y[j] - y[i]
            if kind == 2 and truth == 0.0:
                continue
            a, b, c = G[i, i], G[j, j], G[i, j]
            if n == 2:
                # Nothing is left to tell the constant, which the difference is free of.
                off = (e[j] / root[j] - e[i] / root[i]) / (a + b)
            else:
                d = a * b - c * c
                least = min(least, d / (a * b) if a * b > 0.0 else 0.0)
                least = min(least, a, b)
                off = (a * e[j] - c * e[i]) / root[j] - (b * e[i] - c * e[j]) / root[i]
                off /= d
            w = weight[i] * weight[j]
            total += w * _cost(kind, truth, off)
            mass += w
    result[0] += total
    result[1] += mass
    result[2] = least


@kernel
def leave_pairs_out_as_printed(
    kind: int, U: Floats, off: Floats, y: Floats, result: Floats
) -> None:
    """Add up the costs of pairs left out by Proposition 2 of the paper, corrected.

    `off` are the scores U (t - mean t) less the targets t, which are y less an offset;
    its mean stands in for that of the scores without the pair.
    """
    n = y.size
    q = off.sum() / n
    total, pairs = 0.0, 0.0
    for i in range(n):
        for j in range(i):
            truth = y[j] - y[i]
            if kind == 2 and truth == 0.0:
                continue
            vii = ((n - 1) * U[i, i] + U[i, j]) / (n - 2)
            vij = ((n - 1) * U[i, j] + U[i, i]) / (n - 2)
            vjj = ((n - 1) * U[j, j] + U[j, i]) / (n - 2)
            vji = ((n - 1) * U[j, i] + U[j, j]) / (n - 2)
            up = (1.0 - vii - vij) * off[j] - (1.0 - vji - vjj) * off[i]
            up -= (vjj + vji - vii - vij) * q
            down = (1.0 - vjj) * (1.0 - vii) - vij * vji
            total += _cost(kind, truth, -up / down)
            pairs += 1.0
    result[0] = total
    result[1] = pairs
