"""What columns contribute, against the definition: all coalitions are enumerated."""

from itertools import combinations
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from peckorder._core.threads import Team
from peckorder.trees.columns import bin_columns
from peckorder.trees.explain import contributions, expected_score
from peckorder.trees.forest import Forest
from peckorder.trees.growing import Grower, TreeOptions


def forest_of(seed, *, n=40, n_columns=4, n_thresholds=1, n_trees=2, leaves=7):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n, n_columns)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    is_category = np.arange(n_columns) == 2
    with Team(1) as team:
        columns = bin_columns(X, team, is_category=is_category)
        grower = Grower(columns, TreeOptions(leaves, None, 1), team, n_thresholds)
        trees = [
            grower.grow(rng.normal(size=(n, n_thresholds)), np.ones((n, n_thresholds)))
            for _ in range(n_trees)
        ]
    return Forest.of(trees, is_category), X


def goes_above(forest, node, value):
    if np.isnan(value):
        return bool(forest.missing[node])
    if forest.is_category[forest.column[node]]:
        word = int(forest.sets[node, int(value) // 64]) & (2**64 - 1)
        return bool(word >> (int(value) % 64) & 1)
    return value >= forest.cut[node]


def worth(forest, root, node, row, coalition, level):
    """Return the mean score below a node if only some columns of a row are known."""
    if forest.column[node] < 0:
        return forest.value[node]
    below = root + forest.below[node]
    sides = [worth(forest, root, below + k, row, coalition, level) for k in range(2)]
    if forest.column[node] == forest.n_columns:
        return sides[int(level < forest.cut[node])]
    if forest.column[node] in coalition:
        return sides[int(goes_above(forest, node, row[forest.column[node]]))]
    n_rows = forest.rows[below : below + 2]
    return np.dot(sides, n_rows) / n_rows.sum()


def shapley(forest, row, level):
    """Return what each column contributes, by the definition."""
    n = forest.n_columns
    roots = np.cumsum(forest.sizes) - forest.sizes

    def total(coalition):
        return sum(worth(forest, root, root, row, set(coalition), level) for root in roots)

    values = np.zeros(n)
    for c in range(n):
        others = [k for k in range(n) if k != c]
        for size in range(n):
            weight = factorial(size) * factorial(n - size - 1) / factorial(n)
            for coalition in combinations(others, size):
                values[c] += weight * (total([*coalition, c]) - total(coalition))
    return values, total([])


@pytest.mark.jit_off
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n_thresholds=st.sampled_from([1, 1, 3]))
def test_contributions_are_shapley_values(seed, n_thresholds):
    forest, X = forest_of(seed, n_thresholds=n_thresholds)
    for level in range(n_thresholds):
        found = contributions(forest, X[:4], level)
        for row, values in zip(X[:4], found, strict=True):
            expected, constant = shapley(forest, row, level)
            assert_allclose(values, expected, rtol=1e-10, atol=1e-12)
            assert expected_score(forest, level) == pytest.approx(constant, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize(("n_columns", "leaves"), [(1, 40), (3, 200), (40, 200)])
def test_contributions_add_up_however_deep_trees_are(n_columns, leaves):
    forest, X = forest_of(0, n=400, n_columns=n_columns, n_trees=5, leaves=leaves)
    scores = np.zeros((400, 1))
    forest.add_scores(X, scores)
    found = contributions(forest, X).sum(axis=1) + expected_score(forest)
    assert_allclose(found, scores[:, 0], rtol=1e-11, atol=1e-12)


def test_a_mean_is_that_of_the_rows_that_trees_were_grown_from():
    forest, X = forest_of(1, n=200)
    scores = np.zeros((200, 1))
    forest.add_scores(X, scores)
    assert expected_score(forest) == pytest.approx(scores.mean(), rel=1e-12)


@pytest.mark.parametrize("unstored", [True, False])
def test_sparse_rows_are_explained_as_dense_ones(unstored):
    forest, X = forest_of(2)
    filled = np.nan_to_num(X)
    stored = sparse.csr_array(filled)
    dense = filled if unstored else np.where(filled == 0.0, np.nan, filled)
    assert_array_equal(
        contributions(forest, stored, unstored=unstored), contributions(forest, dense)
    )


def test_a_single_leaf_contributes_nothing():
    forest, X = forest_of(3, leaves=1)
    assert_array_equal(contributions(forest, X), np.zeros(X.shape))
    assert expected_score(forest) == pytest.approx(forest.value.sum())
    none = forest.first(0)
    assert_array_equal(contributions(none, X), np.zeros(X.shape))
    assert expected_score(none) == 0.0
