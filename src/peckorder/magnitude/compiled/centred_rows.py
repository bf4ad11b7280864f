"""Passes over dense rows, less what their queries have in common, in doubles."""

from typing import Any

import numpy as np

from peckorder._core.compiled.jit import compiled, inlined, inlined_sum
from peckorder._core.typing import Floats, Ints

# Rows whose sums are kept apart, so that rounding does not grow with all of them.
_BLOCK = 256


@inlined_sum
def _score(row: Floats, mean: Floats, coef: Floats) -> float:
    total = 0.0
    for c in range(coef.shape[0]):
        total += (row[c] - mean[c]) * coef[c]
    return total


@inlined
def _empty(part_sum: Floats, total: Floats) -> None:
    """Add what was summed so far to the total, and begin anew."""
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
            _empty(part_sum, total)
    _empty(part_sum, total)


@compiled
def centre(
    X: Floats, query: Ints, means: Floats, root: Floats, out: Floats, sums: Floats
) -> None:
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
    """Write scores, scaled, and add to total (d,) what they leave of targets, by rows.

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
            _empty(part_sum, total)
    _empty(part_sum, total)


@compiled
def fingerprint(bits: Ints, first: int) -> Any:
    """Return a number that changes, but for a great coincidence, if some bits do.

    Each is multiplied by an odd number of its own, so that places count, too, from
    the place `first` on. The numbers of parts add up, and may run over, to the whole's.
    """
    total = np.int64(0)
    for i in range(np.uintp(bits.shape[0])):
        place = np.uintp(first) + i
        total += np.int64(bits[i]) * np.int64(np.uintp(2) * place + np.uintp(1))
    return total
