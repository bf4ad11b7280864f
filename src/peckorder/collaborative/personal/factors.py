"""What items have in common, learnt from everybody: biases and factors."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import svds

from peckorder._core.typing import Floats

# Rows whose systems are held at a time: some 16 MiB with ten factors.
_BLOCK = 16_384
# How much the SVD's factors count beside the noise.
SVD_WEIGHT = 4.0
# Ratings that are off the mean by about so much are not scaled.
_ORDINARY = 0.01, 100.0


@dataclass(frozen=True, eq=False)
class Factors:
    """``rating = mean + item_bias + person's bias + factors . person + noise``.

    item_bias (n_items,), factors (n_items, k), of which a person's part is drawn from a
    standard normal distribution; person_bias (n_users,); noise is a variance. `people`
    (n_users, k) is what is thought of those parts, None if it was not asked.
    """

    mean: float
    item_bias: Floats
    person_bias: Floats
    factors: Floats
    noise: float
    people: Floats | None = None


@dataclass(eq=False)
class _Side:
    """People, or items: what is believed of each, bias first.

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

    def learn(self, rated: Any, ratings: Any, other: "_Side", noise: float) -> None:
        """Take the posterior given the other side, then the prior that fits it best."""
        second, by_bias = other.moments()
        with_one = other.mean.copy()
        with_one[:, 0] = 1.0
        d = len(self.prior)
        for first in range(0, len(self.mean), _BLOCK):
            some = slice(first, first + _BLOCK)
            precision = (rated[some] @ second).reshape(-1, d, d) / noise
            precision[:, np.arange(d), np.arange(d)] += 1.0 / self.prior
            target = (ratings[some] @ with_one - rated[some] @ by_bias) / noise
            covariance = np.linalg.inv(precision)
            self.covariance[some] = covariance
            self.mean[some] = np.einsum("nij,nj->ni", covariance, target)
        spread = np.einsum("nii->ni", self.covariance)
        is_known = np.diff(rated.indptr) > 0
        squares = (self.mean**2 + spread)[is_known].mean(axis=0)
        self.prior = np.maximum(squares, 1e-12)  # ratings vary by about 1


def alternate(csr: Any, n_factors: int, max_iter: int, rng: Any) -> Factors:
    """Learn by alternating least squares that know how unsure each factor is.

    People's and items' vectors have normal priors whose variances are learnt, as is the
    noise: variational Bayes, in which each half step is a ridge regression a row with
    the other side's covariances added to its squares. So factors that the data do not
    speak for die out, and there is no ridge to choose.

    A step takes O(n_ratings k^2 + (n_users + n_items) k^3) time.
    """
    mean = float(csr.data.mean())
    rated = sparse.csr_array(
        (np.ones(len(csr.data)), csr.indices, csr.indptr), shape=csr.shape
    )
    ratings = rated.copy()
    unit = _unit(csr.data - mean)
    ratings.data = (csr.data - mean) / unit
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
    """Return a power of two near the size of values, 1 for those of most scales."""
    size = float(np.abs(values).max())
    if size == 0.0 or _ORDINARY[0] < size < _ORDINARY[1]:
        return 1.0
    return float(2.0 ** np.floor(np.log2(size)))


def _noise(rated: Any, ratings: Any, people: _Side, items: _Side) -> float:
    """Return the mean of the expected squares of what is not explained."""
    theirs = items.covariance[:, 1:, 1:].reshape(len(items.mean), -1)
    squares = _squares(items.mean[:, 1:])
    total = float(np.diff(rated.indptr) @ people.covariance[:, 0, 0])
    total += float(items.covariance[rated.indices, 0, 0].sum())
    for first in range(0, rated.shape[0], _BLOCK):
        some = slice(first, min(first + _BLOCK, rated.shape[0]))
        stored = slice(rated.indptr[some.start], rated.indptr[some.stop])
        row = np.repeat(np.arange(some.start, some.stop), np.diff(rated[some].indptr))
        column = rated.indices[stored]
        off = ratings.data[stored] - people.mean[row, 0] - items.mean[column, 0]
        off -= np.einsum("nk,nk->n", people.mean[row, 1:], items.mean[column, 1:])
        mean, covariance = people.mean[some], people.covariance[some]
        ours = covariance[:, 1:, 1:].reshape(len(mean), -1)
        total += float(off @ off)
        total += float(np.vdot(rated[some] @ (squares + theirs), ours))
        total += float(np.vdot(rated[some] @ theirs, _squares(mean[:, 1:])))
        crossed = np.vdot(rated[some] @ items.mean[:, 1:], covariance[:, 0, 1:])
        crossed += np.vdot(rated[some] @ items.covariance[:, 0, 1:], mean[:, 1:])
        total += 2.0 * float(crossed)
    return total / len(ratings.data)


def _squares(vectors: Floats) -> Floats:
    """Return x x' of each row, flat."""
    products = vectors[:, :, np.newaxis] * vectors[:, np.newaxis, :]
    return products.reshape(len(vectors), -1)


def decompose(csr: Any, n_factors: int, damping: float, rng: Any) -> Factors:
    """Learn from damped means and one truncated SVD of the items' unit residuals.

    Rougher than `alternate`, and cheaper: gaps count as zeros. O(n_ratings k) time for
    each of a few dozen products.
    """
    plain = damped_means(csr, damping)
    left = residuals(csr, plain)
    n_factors = min(n_factors, min(csr.shape) - 1)
    factors = np.zeros((csr.shape[1], 0))
    unit = _unit(csr.data - plain.mean)
    noise = float((left.data / unit) @ (left.data / unit)) / len(left.data)
    noise = max(noise, 1e-12) * unit**2
    if n_factors > 0 and left.data.any():
        start = rng.normal(size=min(csr.shape))
        unit = unit_columns(left).astype(np.float64)
        _, values, vectors = svds(unit, k=n_factors, v0=start)
        factors = vectors.T * values * np.sqrt(noise * SVD_WEIGHT)
    return Factors(plain.mean, plain.item_bias, plain.person_bias, factors, noise)


def damped_means(csr: Any, damping: float) -> Factors:
    """Return biases alone: damped means of items, then of people on top of them."""
    mean = float(csr.data.mean())
    row = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
    off = csr.data - mean
    item = _damped(csr.indices, off, csr.shape[1], damping)
    off = off - item[csr.indices]
    person = _damped(row, off, csr.shape[0], damping)
    off = off - person[row]
    noise = float(off @ off) / len(off)
    return Factors(mean, item, person, np.zeros((csr.shape[1], 0)), noise)


def _damped(place: Any, value: Floats, size: int, damping: float) -> Floats:
    count = np.bincount(place, minlength=size) + damping
    total = np.bincount(place, value, minlength=size)
    return np.divide(total, count, out=np.zeros(size), where=count > 0)  # type: ignore[no-any-return]


def residuals(csr: Any, factors: Factors) -> Any:
    """Return what the biases of items and people leave of the ratings, as CSR."""
    row = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
    left = csr.data - factors.mean - factors.item_bias[csr.indices]
    left -= factors.person_bias[row]
    return sparse.csr_array((left, csr.indices, csr.indptr), shape=csr.shape)


def unit_columns(csr: Any) -> Any:
    """Return a matrix with columns of length 1, or 0 if there is nothing in them."""
    size = np.sqrt(np.bincount(csr.indices, csr.data**2, minlength=csr.shape[1]))
    share = np.divide(1.0, size, out=np.zeros(len(size)), where=size > 0)
    data = (csr.data * share[csr.indices]).astype(np.float32)
    return sparse.csr_array((data, csr.indices, csr.indptr), shape=csr.shape)
