"""Magnitude-preserving ranking: centring rows and kernels, sweeps, pairs left out."""

from typing import Any

import numpy as np

from peckorder._core.compiled.jit import compiled, inlined, inlined_sum
from peckorder._core.typing import Floats, Ints

# Costs of a pair that is left out.
SQUARED, ABSOLUTE, MISRANKING = 0, 1, 2

_TILE, _SMALL_TILE = 64, 8
# Rows whose sums are kept apart, so that rounding does not grow with all of them.
_BLOCK = 256
# Scores that differ by no more than this, beside what they are the difference of, are
# tied: rounding may be all there is.
_TIED = 1e-12


@inlined_sum
def _dot(a: Floats, b: Floats) -> float:
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@compiled
def mirror(K: Floats, diagonal: Floats) -> None:
    """Copy the upper triangle of K to the lower one, and write its diagonal."""
    n = K.shape[0]
    for first in range(0, n, _TILE):
        for other in range(0, first + 1, _TILE):
            for i in range(first, min(first + _TILE, n)):
                for j in range(other, min(other + _TILE, i)):
                    K[i, j] = K[j, i]
    for i in range(n):
        K[i, i] = diagonal[i]


@inlined
def _difference(X: Floats) -> float:
    """Return how far X is asymmetric.

    Sizes are compared by their bits, which have the same order, and which processors
    compare several at a time. All tiles have one size: those at the end overlap their
    neighbours. They are small, as each of their rows is on another page.
    """
    n = X.shape[0]
    difference: Any = 0
    if n < _SMALL_TILE:
        for i in range(n):
            for j in range(i):
                off = np.float64(X[i, j]) - np.float64(X[j, i])
                difference = max(difference, np.float64(abs(off)).view(np.int64))
        return np.int64(difference).view(np.float64)
    last = n - _SMALL_TILE
    for start in range(0, n, _SMALL_TILE):
        first = np.uintp(min(start, last))
        for begin in range(0, start + 1, _SMALL_TILE):
            other = np.uintp(min(begin, last))
            for a in range(np.uintp(_SMALL_TILE)):
                for b in range(np.uintp(_SMALL_TILE)):
                    here, there = X[first + a, other + b], X[other + b, first + a]
                    value = np.float64(here) - np.float64(there)
                    difference = max(difference, np.float64(abs(value)).view(np.int64))
    return np.int64(difference).view(np.float64)


@compiled
def copy_symmetric(X: Floats, K: Floats, extremes: Floats) -> None:
    """Copy X to K, unless that is empty.

    Writes the largest entry to extremes (2,), and how far X is asymmetric.
    """
    n = X.shape[0]
    is_copied = K.shape[0] > 0
    size: Any = 0
    for i in range(n):
        for j in range(np.uintp(n)):
            value = np.float64(X[i, j])
            if is_copied:
                K[i, j] = value
            size = max(size, np.float64(abs(value)).view(np.int64))
    extremes[0] = np.int64(size).view(np.float64)
    extremes[1] = _difference(X)


@compiled
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
        if by_query.shape[0] == 1:
            scale, only = root[i], there[0]
            for j in range(np.uintp(i + 1)):
                less = here * mine[j] + only * normal[j]
                K[i, j] = scale * root[j] * K[i, j] - less
            if is_dropped[0]:  # the first row of the only query
                K[i, 0] = 0.0
            K[i, i] += ridge
            continue
        for j in range(i + 1):
            value = root[i] * root[j] * K[i, j]
            value -= here * mine[j] + there[query[j]] * normal[j]
            K[i, j] = 0.0 if is_dropped[j] else value
        K[i, i] += ridge


@compiled
def sweep(K: Floats, target: Floats, ridge: float, step: Floats, beta: Floats) -> None:
    """Visit each coordinate: ``beta_i += 2 step_i (target - (K + ridge) beta)_i``.

    `step` has one step per row. K has both triangles.
    """
    for i in range(target.size):
        slope = target[i] - _dot(K[i], beta) - ridge * beta[i]
        beta[i] += 2.0 * step[i] * slope


@inlined
def _is_misranked(truth: float, predicted: float, size: float) -> float:
    """Return 1 for a pair in the wrong order, or tied, else 0.

    `size` is that of the numbers which `predicted` is the difference of.
    """
    if abs(predicted) <= _TIED * size:
        return 1.0
    return 1.0 if (truth > 0.0) != (predicted > 0.0) else 0.0


@compiled
def leave_pairs_out(
    cost_kind: int, G: Floats, e: Floats, y: Floats, root: Floats, weight: Floats, result: Floats
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
            if cost_kind == MISRANKING and truth == 0.0:
                continue
            a, b, c = G[i, i], G[j, j], G[i, j]
            v, u = root[i], root[j]
            if n == 2:
                # No row is left for the constant, but the difference does not need it.
                over, under, down = 1.0 / u, 1.0 / v, a + b
                size = abs(e[j]) / u + abs(e[i]) / v
            else:
                least = min(least, a, b)
                d = a * b - c * c
                least = min(least, d / (a * b) if a * b > 0.0 else 0.0)
                # In this form nothing is lost if two rows are equal.
                over, under = a * v + c * u, b * u + c * v
                down = over * under - c * (v * over + u * under)
                size = (a * v + abs(c) * u) * abs(e[j])
                size += (b * u + abs(c) * v) * abs(e[i])
            off = (over * e[j] - under * e[i]) / down
            if cost_kind == SQUARED:
                cost = off * off
            elif cost_kind == ABSOLUTE:
                cost = abs(off)
            else:
                cost = _is_misranked(truth, truth - off, abs(truth) + size / abs(down))
            w = weight[i] * weight[j]
            total += w * cost
            mass += w
    result[0] += total
    result[1] += mass
    result[2] = least


@compiled
def misrank_pairs_left_out(
    H: Floats,
    smooth: Floats,
    target: Floats,
    y: Floats,
    offset: Floats,
    root: Floats,
    direction: Floats,
    weight: Floats,
    size: float,
    result: Floats,
) -> None:
    """Count the pairs of one query that are misranked, each left out of training.

    As `leave_pairs_out`, for scores that are small beside the labels: they are not a
    difference of labels and residuals here, in which they would be lost. With the lower
    triangle of H = R K R (R K R + ridge)^-1, `smooth` = H target, both scaled by root,
    and the `direction` that centring removes: let u = (R - H) target, without the part
    of the pair. Then the pair's scores are -(R - H)^-1 u, with the part of the pair;
    of their difference all that is not of the order of H goes away.
    offset : scores to be added, `size` : that of the entries of H times the target.
    result : the sum of weighted costs, and of weights.
    """
    n = y.size
    for i in range(n):
        for j in range(i):
            truth = y[j] - y[i]
            if truth == 0.0:
                continue
            a, b, c = H[i, i], H[j, j], H[i, j]
            p, q = direction[i], direction[j]
            if n == 2:
                # As above: only other queries matter.
                down = 1.0 - a - b
                up = (smooth[j] - (a + b) * target[j]) / root[j]
                up -= (smooth[i] - (a + b) * target[i]) / root[i]
                noise = size / root[j] + size / root[i]
            else:
                from_i = smooth[i] - a * target[i] - c * target[j]
                from_j = smooth[j] - b * target[j] - c * target[i]
                pair = p * target[i] + q * target[j]
                u, v = p * pair - from_i, q * pair - from_j
                up = (1.0 - p * p - q * q) * (from_j / q - from_i / p)
                up += (a * v - c * u) / q - (b * u - c * v) / p
                down = (1.0 - p * p - a) * (1.0 - q * q - b) - (p * q + c) ** 2
                down *= root[i] / p
                noise = size / p + size / q
            more = offset[j] - offset[i]
            noise = noise / abs(down) + abs(more)
            w = weight[i] * weight[j]
            result[0] += w * _is_misranked(truth, up / down + more, noise)
            result[1] += w


@compiled
def leave_pairs_out_as_printed(
    cost_kind: int, U: Floats, score: Floats, label: Floats, y: Floats, result: Floats
) -> None:
    """Add up the costs of pairs left out by Proposition 2 of the paper, corrected.

    `score` is U (t - mean t), t the labels, which are y less an offset; the mean of
    score - t stands in for that of the scores without the pair.
    """
    n = y.size
    q = (score.sum() - label.sum()) / n
    total, pairs = 0.0, 0.0
    for i in range(n):
        for j in range(i):
            truth = y[j] - y[i]
            if cost_kind == MISRANKING and truth == 0.0:
                continue
            vii = ((n - 1) * U[i, i] + U[i, j]) / (n - 2)
            vij = ((n - 1) * U[i, j] + U[i, i]) / (n - 2)
            vjj = ((n - 1) * U[j, j] + U[j, i]) / (n - 2)
            vji = ((n - 1) * U[j, i] + U[j, j]) / (n - 2)
            down = (1.0 - vjj) * (1.0 - vii) - vij * vji
            here, there = score[i] - label[i] - q, score[j] - label[j] - q
            if cost_kind == MISRANKING:
                # Scores may be small beside labels, which must not be subtracted.
                gap = label[j] - label[i]
                less, more = (vii + vij) * there, (vji + vjj) * here
                shrunk = (vii + vjj - vii * vjj + vij * vji) * gap
                size = abs(score[i]) + abs(score[j])
                size += abs(less) + abs(more) + abs(shrunk)
                predicted = (score[j] - score[i] - less + more - shrunk) / down
                predicted += truth - gap
                size = size / abs(down) + abs(truth - gap)
                total += _is_misranked(truth, predicted, size)
            else:
                off = (1.0 - vii - vij) * there - (1.0 - vji - vjj) * here
                off = abs(off / down)
                total += off if cost_kind == ABSOLUTE else off * off
            pairs += 1.0
    result[0] = total
    result[1] = pairs


@inlined_sum
def _score(row: Floats, mean: Floats, coef: Floats) -> float:
    total = 0.0
    for c in range(coef.shape[0]):
        total += (row[c] - mean[c]) * coef[c]
    return total


@inlined
def _flush(part_sum: Floats, total: Floats) -> None:
    """Add the partial sum to the total, and reset it."""
    for c in range(total.shape[0]):
        total[c] += part_sum[c]
        part_sum[c] = 0.0


@compiled
def add_rows(X: Floats, share: Floats, part_sum: Floats, total: Floats) -> None:
    """Add to total (d,) the rows of X times their shares; part_sum (d,) is zeros."""
    for i in range(X.shape[0]):
        for c in range(total.shape[0]):
            part_sum[c] += share[i] * X[i, c]
        if i % _BLOCK == _BLOCK - 1:
            _flush(part_sum, total)
    _flush(part_sum, total)


@compiled
def centre(X: Floats, query: Ints, means: Floats, root: Floats, out: Floats, sums: Floats) -> None:
    """Write rows less the mean of their query, times their root, in out's precision.

    What is written, times the root, is added to sums (d,), unless that is empty.
    """
    for i in range(X.shape[0]):
        mean, scale = means[query[i]], root[i]
        for c in range(X.shape[1]):
            out[i, c] = scale * (X[i, c] - mean[c])
        if sums.shape[0] > 0:
            for c in range(X.shape[1]):
                sums[c] += scale * out[i, c]


@compiled
def residual(
    X: Floats,
    query: Ints,
    means: Floats,
    root: Floats,
    target: Floats,
    coef: Floats,
    scores: Floats,
    part_sum: Floats,
    total: Floats,
) -> None:
    """Write scaled scores, and add to total (d,) residuals times rows.

    ``scores = root (x - mean) . coef`` and ``total = sum root (target - score)
    (x - mean)``, with the mean of each row's query (q, d). part_sum (d,) is zeros. One
    pass over the rows.
    """
    for i in range(X.shape[0]):
        mean = means[query[i]]
        scores[i] = root[i] * _score(X[i], mean, coef)
        off = root[i] * (target[i] - scores[i])
        for c in range(total.shape[0]):
            part_sum[c] += off * (X[i, c] - mean[c])
        if i % _BLOCK == _BLOCK - 1:
            _flush(part_sum, total)
    _flush(part_sum, total)


@compiled
def fingerprint(bits: Ints, first: int) -> Any:
    """Return a number that changes, almost surely, if bits do.

    Each word is multiplied by another odd number, so that positions count, from `first`
    on. The numbers of parts add up, modulo 2**64, to that of the whole.
    """
    total = np.int64(0)
    for i in range(np.uintp(bits.shape[0])):
        position = np.uintp(first) + i
        total += np.int64(bits[i]) * np.int64(np.uintp(2) * position + np.uintp(1))
    return total
