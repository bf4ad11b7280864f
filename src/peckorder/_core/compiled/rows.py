"""The rows of a data matrix, dense or sparse, one at a time.

`rows` is `(X,)` for a dense matrix and `(data, indices, indptr)` for CSR. Numba
compiles a function for each form and drops the branch of the other one, so one loop
serves both.

With `intercept` the last weight belongs to a constant feature. With `unit_norm` a
row counts as divided by its norm, the constant included. Neither is ever stored.
"""

import numpy as np

from peckorder._core.compiled.jit import inlined, inlined_sum, prefetch
from peckorder._core.typing import Floats, Ints, Rows

# Positions are unsigned where the compiler could not know that they are not negative:
# it would else provide for counting from the end at every access.
_1, _2, _3, _4 = np.uintp(1), np.uintp(2), np.uintp(3), np.uintp(4)


@inlined
def row_dot(rows: Rows, i: int, weights: Floats, n_features: int) -> float:
    """Return the sum of ``x[j] * weights[j]`` over the features of row `i`."""
    if len(rows) == 1:
        return dense_dot(rows[0], i, weights)
    return sparse_dot(rows[0], rows[1], rows[2], i, weights, n_features)


@inlined
def sparse_dot(
    data: Floats, indices: Ints, indptr: Ints, i: int, weights: Floats, n_features: int
) -> float:
    """Return the product of row `i` of a CSR matrix with `weights`.

    NaN if an index is not that of a feature. Summed in four strands, since one
    would wait for itself; not left to the compiler, which would choose the
    processor's gather instructions, slower than single loads.
    """
    first, last = np.uintp(indptr[i]), np.uintp(indptr[i + 1])
    size = np.uintp(n_features)
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    quads = first + (last - first) // _4 * _4
    for p in range(first, quads, _4):
        j, k = np.uintp(indices[p]), np.uintp(indices[p + _1])
        m, n = np.uintp(indices[p + _2]), np.uintp(indices[p + _3])
        if j >= size or k >= size or m >= size or n >= size:
            return np.nan
        a += data[p] * weights[j]
        b += data[p + _1] * weights[k]
        c += data[p + _2] * weights[m]
        d += data[p + _3] * weights[n]
    for p in range(quads, last):
        j = np.uintp(indices[p])
        if j >= size:
            return np.nan
        a += data[p] * weights[j]
    return (a + b) + (c + d)


@inlined_sum
def dense_dot(X: Floats, i: int, weights: Floats) -> float:
    """Return the product of row `i` of a matrix with `weights`."""
    total = 0.0
    for j in range(X.shape[1]):
        # Through float64 before the product: weights may be a row in float32 too.
        total += np.float64(X[i, j]) * weights[j]
    return total


@inlined_sum
def dense_distance(X: Floats, i: int, z: Floats) -> float:
    """Return the squared distance of row `i` of a matrix from `z`."""
    total = 0.0
    for j in range(X.shape[1]):
        gap = np.float64(X[i, j]) - np.float64(z[j])
        total += gap * gap
    return total


@inlined_sum
def row_square(rows: Rows, i: int) -> float:
    """Return the squared norm of row `i`."""
    total = 0.0
    if len(rows) == 1:
        X = rows[0]
        for j in range(X.shape[1]):
            # Through float64 before the product, which may overflow in float32.
            value = np.float64(X[i, j])
            total += value * value
    else:
        data, _, indptr = rows
        for p in range(np.uintp(indptr[i]), np.uintp(indptr[i + 1])):
            value = np.float64(data[p])
            total += value * value
    return total


@inlined_sum
def row_is_sound(rows: Rows, i: int, n_features: int) -> bool:
    """Whether row `i` has finite values only, and columns that exist."""
    total = 0.0
    if len(rows) == 1:
        X = rows[0]
        for j in range(X.shape[1]):
            total += X[i, j] * 0.0
    else:
        data, indices, indptr = rows
        for p in range(np.uintp(indptr[i]), np.uintp(indptr[i + 1])):
            if np.uintp(indices[p]) >= np.uintp(n_features):
                return False
            total += data[p] * 0.0
    return total == 0.0


@inlined
def row_product(rows: Rows, others: Rows, i: int) -> float:
    """Return the product of row `i` with that of others, the same rows or dense ones."""
    total = 0.0
    if len(rows) == 1:
        X, Z = rows[0], others[0]
        for j in range(X.shape[1]):
            # Through float64 before the product, which may overflow in float32.
            total += np.float64(X[i, j]) * np.float64(Z[i, j])
        return total
    return row_square(rows, i)


@inlined
def row_add(rows: Rows, i: int, amount: float, weights: Floats) -> None:
    """Add `amount` times row `i` to `weights`."""
    if len(rows) == 1:
        X = rows[0]
        for j in range(X.shape[1]):
            weights[j] += amount * X[i, j]
    else:
        data, indices, indptr = rows
        for p in range(np.uintp(indptr[i]), np.uintp(indptr[i + 1])):
            weights[np.uintp(indices[p])] += amount * data[p]


@inlined
def row_clear(rows: Rows, i: int, weights: Floats) -> None:
    """Set the `weights` of the features of row `i` to zero."""
    if len(rows) == 1:
        for j in range(rows[0].shape[1]):
            weights[j] = 0.0
    else:
        _, indices, indptr = rows
        for p in range(np.uintp(indptr[i]), np.uintp(indptr[i + 1])):
            weights[np.uintp(indices[p])] = 0.0


@inlined
def row_scale(rows: Rows, i: int, intercept: bool, unit_norm: bool) -> float:
    """Return the factor that row `i` is multiplied by before it is used.

    NaN for a row whose squared norm overflows, which must not pass for zero.
    """
    if not unit_norm:
        return 1.0
    square = row_square(rows, i)
    if intercept:
        square += 1.0
    if square == np.inf:
        return np.nan
    return 1.0 / np.sqrt(square) if square > 1e-300 else 1.0


@inlined
def row_score(rows: Rows, i: int, weights: Floats, intercept: bool, scale: float) -> float:
    """Return the score of row `i`, multiplied by `scale`."""
    last: int = weights.shape[0] - 1
    if intercept:
        score: float = row_dot(rows, i, weights, last) + weights[last]
        return score * scale
    return row_dot(rows, i, weights, last + 1) * scale


@inlined
def rows_ahead(rows: Rows) -> int:
    """Return how many rounds before its turn a row is prefetched; 0 for never.

    The weights depend on every earlier row, so the processor waits at each
    mispredicted mistake; without a prefetch, memory waits with it. Long rows and
    sparse ones are streams that the processor prefetches by itself.
    """
    if len(rows) == 1:
        row_bytes: int = rows[0].shape[1] * rows[0].itemsize
        if row_bytes <= 4096:
            return 1 + 6144 // row_bytes
    return 0


@inlined
def fetch(rows: Rows, i: int) -> None:
    """Prefetch row `i` of a dense matrix."""
    if len(rows) == 1:
        X = rows[0]
        if i < X.shape[0]:
            index = i * X.shape[1]
            last = index + X.shape[1]
            # A range with a step would be a division to begin with.
            while index < last:
                prefetch(X, index)
                index += 64 // X.itemsize
