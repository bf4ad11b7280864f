"""The space of the w of SVRank: features, or kernels of rows."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from peckorder._core.typing import Floats
from peckorder.magnitude.mprank_solver.kernel_matrix import (
    NEGATIVE,
    STORED_ROWS,
    Gram,
    refuse_indefinite,
)
from peckorder.magnitude.mprank_solver.rows import times, times_transposed
from peckorder.similarity.kernel_function import Matrix


class Space(Protocol):
    """Elements are arrays u with ``<u, v> = u[0] . v[-1]``."""

    def zero(self) -> Floats:
        """Return the origin."""

    def of_slope(self, slope: Floats) -> Floats:
        """Return the gradient in w, given that in the scores."""

    def scores(self, w: Floats) -> Floats:
        """Return the scores of all rows."""


def inner(u: Floats, v: Floats) -> float:
    """Return the inner product of two elements of a space."""
    return dot(u[0], v[-1])


def dot(a: Floats, b: Floats) -> float:
    """Return the product of two vectors.

    Not by BLAS, whose threads take longer to start than this takes.
    """
    return float(np.einsum("i,i->", a, b))


def square_norm(u: Floats) -> float:
    """Return the squared norm of an element, at least zero in spite of rounding."""
    square = inner(u, u)
    return 0.0 if square < 0.0 else square


@dataclass(frozen=True, eq=False)
class Features:
    """Elements are (1, d): weights of features. Rows are not copied."""

    X: Matrix

    def zero(self) -> Floats:
        """Return the origin."""
        return np.zeros((1, self.X.shape[1]))

    def of_slope(self, slope: Floats) -> Floats:
        """Return ``X' slope``. Slopes sum to zero in a query: no need to centre."""
        return times_transposed(self.X, slope)[np.newaxis]

    def scores(self, w: Floats) -> Floats:
        """Return ``X w``."""
        return times(self.X, w[0])


class Kernels:
    """Elements are (2, n): coefficients of rows, and their scores."""

    def __init__(self, gram: Gram) -> None:
        self.gram = gram
        self.K: Floats | None = None
        if len(gram) <= STORED_ROWS:
            self.K = gram.dense_matrix()[0]
        else:
            gram.check()
        diagonal = gram.diagonal() if self.K is None else self.K.diagonal()
        self._largest = float(np.abs(diagonal).max(initial=0.0))

    def zero(self) -> Floats:
        """Return the origin."""
        return np.zeros((2, len(self.gram)))

    def of_slope(self, slope: Floats) -> Floats:
        """Return the slope itself, and kernels times it."""
        image = self.gram.product(slope) if self.K is None else self.K @ slope
        square, length = dot(slope, image), dot(slope, slope)
        if -np.inf < square < -NEGATIVE * self._largest * length:
            refuse_indefinite(square / length)
        return np.stack([slope, image])

    def scores(self, w: Floats) -> Floats:
        """Return the scores, which are part of the element."""
        scores: Floats = w[1]
        return scores
