"""Rows as kernels see them, and the kernels of each two rows."""

import numpy as np

from peckorder._typing import Floats, Ints, Rows
from peckorder.kernels._jit import kernel, part
from peckorder.kernels.rows import dense_dot, row_add, row_clear, row_dot, row_scale

LINEAR, POLY, RBF = 0, 1, 2
# Rows of the second matrix that stay near the processor while the first goes by.
_TILE = 64


@kernel
def scales(rows: Rows, intercept: bool, unit_norm: bool, scale: Floats) -> None:
    """Write to scale (n,) what each row is multiplied by."""
    for i in range(scale.shape[0]):
        scale[i] = row_scale(rows, i, intercept, unit_norm)


@part
def bend(
    product: float,
    kind: int,
    gamma: float,
    coef0: float,
    degree: int,
    x_square: float,
    z_square: float,
) -> float:
    """Return the kernel of two rows from their product and their squared norms."""
    if kind == LINEAR:
        return product
    if kind == POLY:
        base = gamma * product + coef0
        power = base
        for _ in range(degree - 1):
            power *= base
        return power
    distance = x_square + z_square - 2.0 * product
    return float(np.exp(-gamma * max(distance, 0.0)))


@kernel
def squares(rows: Rows, buffer: Floats, square: Floats) -> None:
    """Write the squared norm of each row to square (n,).

    By the very sum that `gram` makes, so that a row and its double are at distance
    zero. buffer (d,), all zeros, is scratch.
    """
    for i in range(square.shape[0]):
        if len(rows) == 1:
            square[i] = dense_dot(rows[0], i, rows[0][i])
        else:
            row_add(rows, i, 1.0, buffer)
            square[i] = row_dot(rows, i, buffer, buffer.shape[0])
            row_clear(rows, i, buffer)


@kernel
def gram(
    x_rows: Rows,
    z_rows: Rows,
    kind: int,
    gamma: float,
    coef0: float,
    degree: int,
    x_square: Floats,
    z_square: Floats,
    earlier: bool,
    buffer: Floats,
    values: Floats,
) -> None:
    """Write the kernel of each two rows to values (n, m).

    Both matrices are dense, or both CSR. If `earlier`, only those of each row with
    itself and the rows before it. buffer (d,), all zeros, is scratch.
    """
    n, m = values.shape
    if len(x_rows) == 1:
        first = 0
        while first < m:
            last = min(first + _TILE, m)
            for i in range(n):
                for j in range(first, min(last, i + 1) if earlier else last):
                    product = dense_dot(x_rows[0], i, z_rows[0][j])
                    values[i, j] = bend(
                        product, kind, gamma, coef0, degree, x_square[i], z_square[j]
                    )
            first = last
    else:
        size = buffer.shape[0]
        for i in range(n):
            row_add(x_rows, i, 1.0, buffer)
            for j in range(i + 1 if earlier else m):
                product = row_dot(z_rows, j, buffer, size)
                values[i, j] = bend(
                    product, kind, gamma, coef0, degree, x_square[i], z_square[j]
                )
            row_clear(x_rows, i, buffer)


@kernel
def monomials(X: Floats, factor: Ints, variable: Ints, values: Floats) -> None:
    """Write the monomials of each row of X (n, d) to values (n, monomials).

    The first is one; each other is the one in place ``factor[c]``, which is before
    it, times the feature ``variable[c]``.
    """
    for i in range(values.shape[0]):
        values[i, 0] = 1.0
        for c in range(1, values.shape[1]):
            values[i, c] = values[i, factor[c]] * X[i, variable[c]]
