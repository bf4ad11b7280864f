"""Biases and factors of items, learnt from the ratings of all people."""

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import svds

from peckorder._core.typing import Floats, Ints, SparseMatrix
from peckorder.collaborative._means import damped_means

# Rows per block of linear systems: about 16 MiB with ten factors.
_BLOCK = 16_384
# The weight of the SVD's factors relative to the noise.
SVD_WEIGHT = 4.0
# Ratings that differ from the mean by sizes in this range are not scaled.
_USUAL_SIZES = 0.01, 100.0


@dataclass(frozen=True, eq=False)
class Factors:
    """``rating = mean + item_bias + person_bias + factors . person + noise``.

    item_bias (n_items,), person_bias (n_users,), factors (n_items, k). The weights of a
    person have a standard normal prior; `people` (n_users, k) are their posterior
    means, or None. noise is a variance.
    """

    mean: float
    item_bias: Floats
    person_bias: Floats
    factors: Floats
    noise: float
    people: Floats | None = None


@dataclass(eq=False)
class _Side:
    """The posterior of people, or of items: bias first, then k factors.

    mean (n, 1 + k), covariance (n, 1 + k, 1 + k), prior variance (1 + k,).
    """

    mean: Floats
    covariance: Floats
    prior: Floats

    def moments(self) -> tuple[Floats, Floats]:
        """Return E[x x'] of x = (1, factors), flat, and E[bias x]."""
        with_one = self.mean.copy()
        with_one[:, 0] = 1.0
        second = with_one[:, :, np.newaxis] * with_one[:, np.newaxis, :]
        second[:, 1:, 1:] += self.covariance[:, 1:, 1:]
        by_bias = self.mean[:, :1] * with_one
        by_bias[:, 1:] += self.covariance[:, 0, 1:]
        return second.reshape(len(second), -1), by_bias

    def learn(
        self, rated: SparseMatrix, ratings: SparseMatrix, other: "_Side", noise: float
    ) -> None:
        """Compute the posterior given the other side, then the prior that fits it."""
        second, by_bias = other.moments()
        with_one = other.mean.copy()
        with_one[:, 0] = 1.0
        d = len(self.prior)
        for first in range(0, len(self.mean), _BLOCK):
            rows = slice(first, first + _BLOCK)
            precision = (rated[rows] @ second).reshape(-1, d, d) / noise
            precision[:, np.arange(d), np.arange(d)] += 1.0 / self.prior
            target = (ratings[rows] @ with_one - rated[rows] @ by_bias) / noise
            covariance = np.linalg.inv(precision)
            self.covariance[rows] = covariance
            self.mean[rows] = np.einsum("nij,nj->ni", covariance, target)
        spread = np.einsum("nii->ni", self.covariance)
        has_ratings = np.diff(rated.indptr) > 0
        squares = (self.mean**2 + spread)[has_ratings].mean(axis=0)
        self.prior = np.maximum(squares, 1e-12)  # ratings vary by about 1


def factorize_als(
    csr: SparseMatrix, n_factors: int, max_iter: int, rng: np.random.RandomState
) -> Factors:
    """Learn by alternating least squares with uncertainties (variational Bayes).

    People's and items' vectors have normal priors whose variances are learnt, as is the
    noise. Each half step is a ridge regression per row, with the other side's
    covariances added to its squares. Factors without support in the data vanish, and
    there is no ridge to choose.

    An iteration takes O(n_ratings k^2 + (n_users + n_items) k^3) time.
    """
    mean = float(csr.data.mean())
    unit = _unit(csr.data - mean)
    rated, ratings = indicators(csr), _with_data(csr, (csr.data - mean) / unit)
    rated_t, ratings_t = rated.T.tocsr(), ratings.T.tocsr()
    variance = float(ratings.data.var())
    n_people, n_items = csr.shape
    d = 1 + n_factors
    start = np.zeros((n_items, d))
    start[:, 1:] = rng.normal(0.0, 0.1, (n_items, n_factors))
    start[:, 0] = ratings_t.sum(axis=1) / (np.diff(rated_t.indptr) + 5.0)
    items = _Side(start, np.zeros((n_items, d, d)), np.ones(d))
    items.prior[:] = [0.25 * variance, *[1.0 / max(n_factors, 1)] * n_factors]
    people = _Side(np.zeros((n_people, d)), np.zeros((n_people, d, d)), np.ones(d))
    people.prior[:] = [0.2 * variance, *[variance] * n_factors]
    noise = 0.7 * variance
    for _ in range(max_iter):
        people.learn(rated, ratings, items, noise)
        items.learn(rated_t, ratings_t, people, noise)
        noise = max(_noise(rated, ratings, people, items), 1e-6 * variance)
    return Factors(
        mean,
        items.mean[:, 0] * unit,
        people.mean[:, 0] * unit,
        items.mean[:, 1:] * np.sqrt(people.prior[1:]) * unit,
        noise * unit**2,
        people.mean[:, 1:] / np.sqrt(people.prior[1:]),
    )


def _unit(values: Floats) -> float:
    """Return a power of two near the largest size, or 1 for usual scales."""
    size = float(np.abs(values).max())
    if size == 0.0 or _USUAL_SIZES[0] < size < _USUAL_SIZES[1]:
        return 1.0
    return float(2.0 ** np.floor(np.log2(size)))


def _noise(rated: SparseMatrix, ratings: SparseMatrix, people: _Side, items: _Side) -> float:
    """Return the mean of the expected squared residuals."""
    item_covariance = items.covariance[:, 1:, 1:].reshape(len(items.mean), -1)
    squares = _squares(items.mean[:, 1:])
    total = float(np.diff(rated.indptr) @ people.covariance[:, 0, 0])
    total += float(items.covariance[rated.indices, 0, 0].sum())
    for first in range(0, rated.shape[0], _BLOCK):
        rows = slice(first, min(first + _BLOCK, rated.shape[0]))
        stored = slice(rated.indptr[rows.start], rated.indptr[rows.stop])
        row = np.repeat(np.arange(rows.start, rows.stop), np.diff(rated[rows].indptr))
        column = rated.indices[stored]
        residual = ratings.data[stored] - people.mean[row, 0] - items.mean[column, 0]
        residual -= np.einsum("nk,nk->n", people.mean[row, 1:], items.mean[column, 1:])
        mean, covariance = people.mean[rows], people.covariance[rows]
        person_covariance = covariance[:, 1:, 1:].reshape(len(mean), -1)
        total += float(residual @ residual)
        both = rated[rows] @ (squares + item_covariance)
        total += float(np.vdot(both, person_covariance))
        total += float(np.vdot(rated[rows] @ item_covariance, _squares(mean[:, 1:])))
        crossed = np.vdot(rated[rows] @ items.mean[:, 1:], covariance[:, 0, 1:])
        crossed += np.vdot(rated[rows] @ items.covariance[:, 0, 1:], mean[:, 1:])
        total += 2.0 * float(crossed)
    return total / len(ratings.data)


def _squares(vectors: Floats) -> Floats:
    """Return x x' of each row, flat."""
    products = vectors[:, :, np.newaxis] * vectors[:, np.newaxis, :]
    return products.reshape(len(vectors), -1)


def factorize_svd(
    csr: SparseMatrix, n_factors: int, damping: float, rng: np.random.RandomState
) -> Factors:
    """Learn from damped means and one truncated SVD of the items' unit residuals.

    Less exact than `factorize_als`, and cheaper: missing ratings count as zeros. Each
    of a few dozen products takes O(n_ratings k) time.
    """
    biases = learn_biases(csr, damping)
    left = residuals(csr, biases)
    n_factors = min(n_factors, min(csr.shape) - 1)
    factors = np.zeros((csr.shape[1], 0))
    unit = _unit(csr.data - biases.mean)
    noise = float((left.data / unit) @ (left.data / unit)) / len(left.data)
    noise = max(noise, 1e-12) * unit**2
    if n_factors > 0 and left.data.any():
        start = rng.normal(size=min(csr.shape))
        columns = unit_columns(left).astype(np.float64)
        _, values, vectors = svds(columns, k=n_factors, v0=start)
        factors = vectors.T * values * np.sqrt(noise * SVD_WEIGHT)
    return replace(biases, factors=factors, noise=noise)


def learn_biases(csr: SparseMatrix, damping: float) -> Factors:
    """Learn biases without factors: damped means of items, then those of people."""
    mean = float(csr.data.mean())
    row = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
    left = csr.data - mean
    item = _damped(csr.indices, left, csr.shape[1], damping)
    left = left - item[csr.indices]
    person = _damped(row, left, csr.shape[0], damping)
    left = left - person[row]
    noise = float(left @ left) / len(left)
    return Factors(mean, item, person, np.zeros((csr.shape[1], 0)), noise)


def _damped(group: Ints, value: Floats, n_groups: int, damping: float) -> Floats:
    count = np.bincount(group, minlength=n_groups)
    total = np.bincount(group, value, minlength=n_groups)
    return damped_means(total, count, damping=damping)


def residuals(csr: SparseMatrix, factors: Factors) -> SparseMatrix:
    """Return the ratings minus the biases of items and people, as CSR."""
    row = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
    left = csr.data - factors.mean - factors.item_bias[csr.indices]
    left -= factors.person_bias[row]
    return _with_data(csr, left)


def indicators(csr: SparseMatrix) -> SparseMatrix:
    """Return 1 for every rating that is stored, as CSR."""
    return _with_data(csr, np.ones(len(csr.data)))


def unit_columns(csr: SparseMatrix) -> SparseMatrix:
    """Return the matrix with columns scaled to length 1; columns of zeros stay."""
    size = np.sqrt(np.bincount(csr.indices, csr.data**2, minlength=csr.shape[1]))
    share = np.divide(1.0, size, out=np.zeros(len(size)), where=size > 0)
    return _with_data(csr, (csr.data * share[csr.indices]).astype(np.float32))


def _with_data(csr: SparseMatrix, data: Floats) -> SparseMatrix:
    """Return the same cells with other values."""
    parts = data, csr.indices, csr.indptr
    return cast(SparseMatrix, sparse.csr_array(parts, shape=csr.shape))
