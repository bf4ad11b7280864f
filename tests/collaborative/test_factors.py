"""The shared part of personal rankers against slow and obvious versions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from peckorder import Ratings
from peckorder.collaborative.personal import factors, item_kernel
from peckorder.collaborative.personal.factors import (
    _noise,
    _Side,
    factorize_als,
    factorize_svd,
    learn_biases,
    residuals,
)
from peckorder.collaborative.personal.item_kernel import ItemKernel


def some_ratings(seed=0, n_users=14, n_items=9, share=0.5):
    rng = np.random.default_rng(seed)
    table = rng.integers(1, 6, (n_users, n_items)).astype(float)
    table[rng.random(table.shape) > share] = np.nan
    table[0, :3], table[1:4, 0] = [1, 3, 5], [2, 4, 5]
    return Ratings.from_matrix(table)


def random_side(rng, n, d):
    root = rng.normal(0, 0.3, (n, d, d))
    return _Side(rng.normal(0, 0.5, (n, d)), root @ root.mT, rng.random(d) + 0.1)


def second_moments(side, i, one):
    """E[v v'] of (bias, 1, factors), or of (1, bias, factors)."""
    place = [1, *range(2, 1 + len(side.prior))]
    place[0] = 1 - one
    mean = np.zeros(1 + len(side.prior))
    mean[one], mean[place] = 1.0, side.mean[i]
    second = np.outer(mean, mean)
    second[np.ix_(place, place)] += side.covariance[i]
    return mean, second


def centred(ratings):
    csr = ratings.csr.copy()
    csr.data = csr.data - csr.data.mean()
    ones = csr.copy()
    ones.data = np.ones(len(csr.data))
    return ones, csr


@pytest.mark.parametrize("block", [1, 5, 1000])
def test_the_noise_is_the_expected_square(block, monkeypatch):
    monkeypatch.setattr(factors, "_BLOCK", block)
    rng = np.random.default_rng(3)
    ones, csr = centred(some_ratings())
    people, items = (random_side(rng, n, 3) for n in csr.shape)
    total = 0.0
    for u, i in zip(*csr.nonzero(), strict=True):
        m, M = second_moments(people, u, one=1)
        w, W = second_moments(items, i, one=0)
        r = csr[u, i]
        total += r * r - 2 * r * (m @ w) + np.vdot(M, W)
    assert_allclose(_noise(ones, csr, people, items), total / csr.nnz, rtol=1e-10)


@pytest.mark.parametrize("block", [4, 1000])
def test_a_half_step_is_the_best_given_the_other_side(block, monkeypatch):
    monkeypatch.setattr(factors, "_BLOCK", block)
    rng = np.random.default_rng(4)
    ones, csr = centred(some_ratings(1))
    people, items = (random_side(rng, n, 3) for n in csr.shape)
    prior = people.prior.copy()
    people.learn(ones, csr, items, 0.7)
    table = csr.toarray()
    for u in range(csr.shape[0]):
        rated = ones.indices[ones.indptr[u] : ones.indptr[u + 1]]
        A, b = np.diag(1.0 / prior), np.zeros(3)
        for i in rated:
            _, W = second_moments(items, i, one=0)
            # x = (1, factors) is what meets the person's vector; W has it at 0 and 2.
            A += W[np.ix_([0, 2, 3], [0, 2, 3])] / 0.7
            b += (table[u, i] * W[0, [0, 2, 3]] - W[1, [0, 2, 3]]) / 0.7
        assert_allclose(people.covariance[u], np.linalg.inv(A), atol=1e-10)
        assert_allclose(people.mean[u], np.linalg.solve(A, b), atol=1e-10)
    variance = people.mean**2 + np.einsum("nii->ni", people.covariance)
    known = ones.sum(axis=1) > 0
    assert_allclose(people.prior, variance[known].mean(axis=0))


def planted(seed=0, n_users=300, n_items=60, noise=0.5):
    rng = np.random.default_rng(seed)
    table = 3 + rng.normal(0, 0.5, n_items) + rng.normal(0, 0.5, (n_users, 1))
    table = table + rng.normal(size=(n_users, 2)) @ rng.normal(size=(2, n_items))
    table = table + noise * rng.normal(size=table.shape)
    table[rng.random(table.shape) < 0.5] = np.nan
    return Ratings.from_matrix(table)


def test_noise_and_factors_are_found_and_others_die_out():
    shared = factorize_als(planted().csr, 5, 40, np.random.RandomState(0))
    sizes = np.sort((shared.factors**2).sum(axis=0))[::-1]
    assert abs(shared.noise - 0.25) < 0.03
    assert sizes[1] > 20
    assert sizes[2] < 0.02 * sizes[1]


def test_no_factors_leave_biases():
    shared = factorize_als(planted().csr, 0, 10, np.random.RandomState(0))
    assert shared.factors.shape == (60, 0)
    assert shared.noise > 1.5


def test_damped_means():
    ratings = Ratings(["a", "a", "b"], [1, 2, 2], [5.0, 1.0, 3.0])
    plain = learn_biases(ratings.csr, 1.0)
    assert plain.mean == 3.0
    assert_allclose(plain.item_bias, [1.0, -2 / 3])
    assert_allclose(plain.person_bias, [(1.0 - 4 / 3) / 3, (2 / 3) / 2])
    left = residuals(ratings.csr, plain)
    assert_allclose(plain.noise, (left.data**2).mean())


def cosine(a, b):
    size = np.linalg.norm(a) * np.linalg.norm(b)
    return 0.0 if size == 0 else a @ b / size


@pytest.mark.parametrize("is_held", [True, False])
def test_kernels_are_factors_and_cosines(is_held, monkeypatch):
    if not is_held:
        monkeypatch.setattr(item_kernel, "MAX_STORED_ITEMS", 0)
    monkeypatch.setattr(item_kernel, "_BLOCK", 4)
    ratings = some_ratings(2)
    shared = factorize_als(ratings.csr, 2, 3, np.random.RandomState(0))
    kernel = ItemKernel.learn(ratings.csr, shared, 0.8, 1.5)
    assert (kernel.held is None) != is_held
    left = residuals(ratings.csr, shared).toarray()
    seen = (~np.isnan(ratings.matrix())).astype(float)
    n = ratings.n_items
    wanted = shared.factors @ shared.factors.T / shared.noise
    for i in range(n):
        for j in range(n):
            wanted[i, j] += 0.8 * cosine(left[:, i], left[:, j])
            wanted[i, j] += 1.5 * cosine(seen[:, i], seen[:, j])
    rows, columns = np.array([3, 0, 5]), np.array([1, 3])
    picked = kernel.between(rows, columns)
    assert_allclose(picked, wanted[np.ix_(rows, columns)], atol=1e-5)
    coef = np.array([0.5, -0.25])
    for items in (rows, slice(None)):
        scores = kernel.scores(items, columns, coef)
        assert_allclose(scores, wanted[items][:, columns] @ coef, atol=1e-5)


def test_the_svd_is_that_of_unit_residuals():
    ratings = some_ratings(3)
    shared = factorize_svd(ratings.csr, 2, 5.0, np.random.RandomState(0))
    left = residuals(ratings.csr, shared).toarray()
    unit = left / np.linalg.norm(left, axis=0)
    _, s, v = np.linalg.svd(unit)
    best = (v[:2].T * s[:2] ** 2) @ v[:2]
    scale = shared.noise * factors.SVD_WEIGHT
    assert_allclose(shared.factors @ shared.factors.T, scale * best, atol=1e-5)


@pytest.mark.parametrize("learn", [factorize_als, factorize_svd])
def test_the_seed_decides(learn):
    csr = some_ratings(4).csr
    first, second = (learn(csr, 2, 4, np.random.RandomState(7)) for _ in range(2))
    assert_array_equal(first.factors, second.factors)
