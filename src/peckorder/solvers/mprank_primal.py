"""Magnitude-preserving ranking by features: products of rows, and their sums."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh, lapack

from peckorder._typing import Floats
from peckorder.solvers.gram import Matrix
from peckorder.solvers.mprank_weighing import Weighing

# Entries of the blocks in which dense rows are looked at.
_ENTRIES = 1 << 16


def blocks(X: Matrix) -> Iterator[slice]:
    """Cut rows into blocks that a processor cache holds."""
    size = max(64, _ENTRIES // max(1, X.shape[1]))
    for first in range(0, X.shape[0], size):
        yield slice(first, min(first + size, X.shape[0]))


def times(X: Matrix, coef: Floats) -> Floats:
    """Return ``X coef`` in double precision, without a copy of all rows."""
    if sparse.issparse(X) or X.dtype == np.float64:
        return np.asarray(X @ coef)
    out = np.empty(X.shape[0])
    for some in blocks(X):
        out[some] = X[some].astype(np.float64) @ coef
    return out


def times_transposed(X: Matrix, a: Floats) -> Floats:
    """Return ``X' a`` in double precision, without a copy of all rows."""
    if sparse.issparse(X) or X.dtype == np.float64:
        return np.asarray(X.T @ a)
    return np.sum(  # type: ignore[no-any-return]
        [a[some] @ X[some].astype(np.float64) for some in blocks(X)], axis=0
    )


@dataclass(frozen=True, eq=False)
class ScaledRows:
    """``R V X``: rows times the roots of their weights, centred, never formed."""

    X: Matrix
    weighing: Weighing

    def times(self, coef: Floats) -> Floats:
        """Return ``R V X coef``."""
        return self.weighing.project(self.weighing.root * times(self.X, coef))

    def times_transposed(self, beta: Floats) -> Floats:
        """Return ``(R V X)' beta``."""
        scaled = self.weighing.root * self.weighing.project(beta)
        return times_transposed(self.X, scaled)

    def column_squares(self) -> Floats:
        """Return the squared norm of each column."""
        X, weighing = self.X, self.weighing
        v = weighing.root**2
        if sparse.issparse(X):
            sums = np.asarray(X.multiply(X).T @ v)
        else:
            sums = np.sum([v[b] @ X[b].astype(np.float64) ** 2 for b in blocks(X)], 0)
        means = query_means(X, weighing)
        if sparse.issparse(means):
            less = np.asarray(means.multiply(means).T @ weighing.mass)
        else:
            less = weighing.mass @ means**2
        return np.maximum(sums - less, 0.0)  # type: ignore[no-any-return]

    def dense(self) -> Floats:
        """Form the matrix, for few entries."""
        X, weighing = self.X, self.weighing
        rows = (X.toarray() if sparse.issparse(X) else X).astype(np.float64)
        rows -= (weighing.averaging @ rows)[weighing.query]
        rows -= (weighing.averaging @ rows)[weighing.query]
        scaled: Floats = rows * weighing.root[:, np.newaxis]
        return scaled

    def gram(self) -> Floats:
        """Return products of rows less their queries' means, not yet scaled."""
        X, weighing = self.X, self.weighing
        if sparse.issparse(X):
            wide = X.astype(np.float64)
            return np.ascontiguousarray((wide @ wide.T).toarray())
        K = np.zeros((len(weighing), len(weighing)))
        step = max(64, 64 * _ENTRIES // max(1, len(weighing)))
        for first in range(0, X.shape[1], step):
            some = X[:, first : first + step].astype(np.float64)
            some -= (weighing.averaging @ some)[weighing.query]
            K += some @ some.T
        return K


def query_means(X: Matrix, weighing: Weighing) -> Any:
    """Return the weighted mean row of each query; sparse if the rows are."""
    if sparse.issparse(X):
        return weighing.averaging @ X.astype(np.float64)
    total = np.zeros((weighing.n_queries, X.shape[1]))
    for some in blocks(X):
        total += weighing.averaging[:, some] @ X[some].astype(np.float64)
    return total


def moments(X: Matrix, target: Floats, weighing: Weighing) -> tuple[Floats, Floats]:
    """Return ``A = X' V R V X`` and ``X' V target``, of a scaled, centred target.

    Sums are double precision, products within a block of rows that of the rows. Blocks
    are shifted by something near their mean first, so that little is lost.
    """
    if sparse.issparse(X):
        return _sparse_moments(X, target, weighing)
    d = X.shape[1]
    A, g, total = np.zeros((d, d)), np.zeros(d), np.zeros(d)
    root = weighing.root.astype(X.dtype)
    is_one, is_weighed = weighing.n_queries == 1, not weighing.is_plain
    if is_one:
        shift = X[next(blocks(X))].mean(axis=0, dtype=np.float64).astype(X.dtype)
    else:
        means = query_means(X, weighing).astype(X.dtype)
    right = target.astype(X.dtype)
    for some in blocks(X):
        rows = X[some] - (shift if is_one else means[weighing.query[some]])
        if is_weighed:
            rows *= root[some, np.newaxis]
        A += rows.T @ rows
        g += right[some] @ rows
        if is_one:
            total += root[some] @ rows
    if is_one:
        mass = float(weighing.mass[0])
        A -= np.outer(total, total / mass)
        g -= total * (float(right.astype(np.float64) @ weighing.root) / mass)
    return A, g


def _sparse_moments(
    X: Matrix, target: Floats, weighing: Weighing
) -> tuple[Floats, Floats]:
    wide = X.astype(np.float64)
    g = np.asarray(wide.T @ (weighing.root * target))
    means = query_means(X, weighing)
    scaled = sparse.diags_array(weighing.root) @ wide
    lowered = sparse.diags_array(np.sqrt(weighing.mass)) @ means
    A = (scaled.T @ scaled).toarray() - (lowered.T @ lowered).toarray()
    return A, g


def cholesky(A: Floats, g: Floats, ridge: float) -> Floats | None:
    """Return ``(A + ridge)^-1 g``; None if rounding forbids it."""
    B = A.copy()
    np.fill_diagonal(B, B.diagonal() + ridge)
    factor, info = lapack.dpotrf(B.T, lower=0, overwrite_a=1, clean=0)
    if info != 0:
        return None
    coef: Floats = lapack.dpotrs(factor, g, lower=0)[0]
    rest = g - A @ coef - ridge * coef
    if rest @ rest > 1e-24 * (g @ g):
        coef = coef + lapack.dpotrs(factor, rest, lower=0)[0]
    return coef


def by_eigenvalues(A: Floats, g: Floats, ridge: float) -> Floats:
    """Return ``(A + ridge)^-1 g``, of least norm where rounding hides the ridge."""
    values, vectors = eigh(A, driver="evd")
    values = np.maximum(values, 0.0)
    noise = len(values) * np.finfo(np.float64).eps * values.max(initial=0.0)
    inside = vectors.T @ g
    if ridge < noise:
        inside[values <= noise] = 0.0
    return vectors @ (inside / (values + ridge))  # type: ignore[no-any-return]
