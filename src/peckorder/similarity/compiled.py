"""The factors of transformed rows, and the kernels of pairs of rows."""

from typing import NamedTuple

import numpy as np

from peckorder._core.compiled.jit import compiled, inlined
from peckorder._core.compiled.rows import (
    dense_distance,
    dense_dot,
    row_add,
    row_clear,
    row_dot,
    row_scale,
)
from peckorder._core.row_transform import RowTransform
from peckorder._core.typing import Floats, Ints, Rows

LINEAR, POLY, RBF = 0, 1, 2
# Rows of the second matrix that stay in the processor's cache.
_TILE = 64


class Parameters(NamedTuple):
    """Which kernel, and its parameters."""

    kind: int
    gamma: float
    coef0: float
    degree: int


@compiled
def scales(rows: Rows, transform: RowTransform, scale: Floats) -> None:
    """Write to scale (n,) the factor that each row is multiplied by."""
    for i in range(scale.shape[0]):
        scale[i] = row_scale(rows, i, transform.intercept, transform.unit_norm)


@inlined
def power_of(product: float, gamma: float, coef0: float, degree: int) -> float:
    """Return the polynomial kernel of two rows from their product."""
    base = gamma * product + coef0
    power = base
    for _ in range(degree - 1):
        power *= base
    return power


@compiled
def squares(rows: Rows, buffer: Floats, square: Floats) -> None:
    """Write the squared norm of each row of a CSR matrix to square (n,).

    By the very sum that `gram` makes, so that a row and its double are at distance
    zero. buffer (d,), all zeros, is scratch.
    """
    for i in range(square.shape[0]):
        row_add(rows, i, 1.0, buffer)
        square[i] = row_dot(rows, i, buffer, buffer.shape[0])
        row_clear(rows, i, buffer)


@compiled
def gram(
    x_rows: Rows,
    z_rows: Rows,
    parameters: Parameters,
    x_square: Floats,
    z_square: Floats,
    last: Ints,
    buffer: Floats,
    values: Floats,
) -> None:
    """Write the kernels of each row i with the first ``last[i]`` others to values.

    values (n, m). Both matrices are dense, or both CSR; x_square and z_square are
    squared norms, of CSR rows for RBF. buffer (d,), all zeros, is scratch.
    """
    kind, gamma, coef0, degree = parameters
    n, m = values.shape
    if len(x_rows) == 1:
        first = 0
        while first < m:
            for i in range(n):
                for j in range(first, min(first + _TILE, last[i])):
                    if kind == RBF:
                        distance = dense_distance(x_rows[0], i, z_rows[0][j])
                        values[i, j] = np.exp(-gamma * distance)
                        continue
                    product = dense_dot(x_rows[0], i, z_rows[0][j])
                    if kind == POLY:
                        product = power_of(product, gamma, coef0, degree)
                    values[i, j] = product
            first += _TILE
    else:
        for i in range(n):
            row_add(x_rows, i, 1.0, buffer)
            for j in range(last[i]):
                product = row_dot(z_rows, j, buffer, buffer.shape[0])
                if kind == RBF:
                    # Digits are lost where norms are large and the distance small.
                    distance = x_square[i] + z_square[j] - 2.0 * product
                    product = np.exp(-gamma * max(distance, 0.0))
                elif kind == POLY:
                    product = power_of(product, gamma, coef0, degree)
                values[i, j] = product
            row_clear(x_rows, i, buffer)


@compiled
def monomials(X: Floats, factor: Ints, variable: Ints, values: Floats) -> None:
    """Write the monomials of each row of X (n, d) to values (n, monomials).

    The first is one; each other is the one in position ``factor[c]``, which is before
    it, times the feature ``variable[c]``.
    """
    for i in range(values.shape[0]):
        values[i, 0] = 1.0
        for c in range(1, values.shape[1]):
            values[i, c] = values[i, factor[c]] * X[i, variable[c]]
