"""What MPRank says of rows left out: at any scale, with ties, of many features."""

import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from peckorder import MPRank, MPRankCV

SCALES = [1e-100, 1e-12, 1e-7, 1e-3, 1.0, 1e3, 1e7, 1e50]


def make(n=20, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ np.arange(1.0, d + 1) + 3.0 * rng.normal(size=n)


def misranked(X, y, C):
    """Retrain without each pair, and look at the order of its scores."""
    wrong = total = 0
    for i, j in combinations(range(len(y)), 2):
        if y[i] == y[j]:
            continue
        rest = [k for k in range(len(y)) if k not in (i, j)]
        coef = MPRank(C=C, solver="eigh").fit(X[rest], y[rest]).coef_
        predicted = (X[j] - X[i]) @ coef
        # What is equal is tied, and wrong.
        wrong += not predicted * np.sign(y[j] - y[i]) > 0.0
        total += 1
    return wrong / total


def given_as(form, X):
    if form == "precomputed":
        return {"kernel": "precomputed"}, X @ X.T
    return {}, sparse.csr_array(X) if form == "sparse" else X


@pytest.mark.parametrize("form", ["dense", "sparse", "precomputed"])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("shape", [(20, 3), (9, 12)])
def test_pairs_are_misranked_as_retraining_says_at_any_scale(shape, scale, form):
    X, y = make(*shape)
    parameters, rows = given_as(form, scale * X)
    model = MPRank(**parameters).fit(rows, y)
    expected = misranked(scale * X, y, 1.0)
    assert 0.0 < expected < 0.5
    assert model.leave_pair_out_error("misranking") == pytest.approx(expected)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("method", ["exact", "paper"])
def test_order_does_not_depend_on_the_units_of_features(scale, method):
    X, y = make()
    expected = MPRank(C=3.0).fit(X, y).leave_pair_out_error("misranking", method=method)
    scaled = MPRank(C=3.0 / scale**2).fit(scale * X, y)
    found = scaled.leave_pair_out_error("misranking", method=method)
    assert found == expected
    chosen = MPRankCV(Cs=[3.0 / scale**2], cost="misranking").fit(scale * X, y)
    assert method == "paper" or chosen.errors_[0, 0] == expected


def test_the_papers_approximation_has_small_scores_too():
    X, y = make(60)
    model = MPRank().fit(1e-8 * X, y)
    exact = model.leave_pair_out_error("misranking")
    printed = model.leave_pair_out_error("misranking", method="paper")
    assert printed == pytest.approx(exact, abs=0.01)
    assert exact < 0.5


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "precomputed"])
@pytest.mark.parametrize("scale", [1e-7, 1e-4, 1.0, 1e4])
@pytest.mark.parametrize("C", [1e-8, 1.0, 1e6, 1e12])
def test_rows_that_are_one_are_tied(kernel, scale, C):
    # Labels differ within couples of equal rows only, so every pair that counts is one.
    X, _ = make(7, 2)
    X = scale * np.repeat(X, 2, axis=0)
    qid = np.repeat(np.arange(7), 2)
    y = np.tile([0.0, 1.0], 7)
    rows = X @ X.T if kernel == "precomputed" else X
    model = MPRank(C=C, kernel=kernel, gamma=0.3 / scale**2).fit(rows, y, qid=qid)
    assert model.leave_pair_out_error("misranking", keep="C_prime") == 1.0


@pytest.mark.parametrize("scale", [1e-7, 1.0, 1e7])
def test_ties_among_other_pairs_count(scale):
    X = scale * np.array([[0.0], [0.0], [1.0], [1.0], [2.0], [2.0]])
    y = np.array([0.0, 0.1, 1.0, 1.1, 2.0, 2.1])
    # The three couples are tied, all others in the order of the feature.
    for C in (1e-3, 1.0, 1e3):
        error = MPRank(C=C / scale**2).fit(X, y).leave_pair_out_error("misranking")
        assert error == pytest.approx(3 / 15)


def test_an_offset_of_any_size_counts():
    X, y = make()
    offset = 1e-9 * X[:, 1]
    model = MPRank().fit(1e-9 * X, y, offset=offset)
    wrong = 0
    for i, j in combinations(range(20), 2):
        rest = [k for k in range(20) if k not in (i, j)]
        other = MPRank().fit(1e-9 * X[rest], y[rest], offset=offset[rest])
        predicted = 1e-9 * (X[j] - X[i]) @ other.coef_ + offset[j] - offset[i]
        wrong += not predicted * (y[j] - y[i]) > 0.0
    found = model.leave_pair_out_error("misranking")
    assert found == pytest.approx(wrong / 190)


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_memory_does_not_grow_with_the_square_of_features(form):
    X, y = make(6, 4000)
    model = MPRank().fit(form(X), y)
    expected = MPRank(kernel="precomputed").fit(X @ X.T, y).leave_pair_out_error()
    tracemalloc.start()
    found = model.leave_pair_out_error()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == pytest.approx(expected)
    # A matrix of all features would have 128 MB, the rows have 0.2.
    assert peak < 3e6


@pytest.mark.parametrize("shape", [(9, 3), (9, 8), (9, 9), (9, 30), (30, 3)])
@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_any_number_of_features(shape, form):
    X, y = make(*shape)
    model = MPRank(C=2.0).fit(form(X), y)
    given = MPRank(C=2.0, kernel="precomputed").fit(X @ X.T, y)
    for cost in ("squared", "absolute", "misranking"):
        expected = given.leave_pair_out_error(cost)
        assert model.leave_pair_out_error(cost) == pytest.approx(expected)
    np.testing.assert_allclose(model.leave_one_out_predictions(), given.leave_one_out_predictions())
