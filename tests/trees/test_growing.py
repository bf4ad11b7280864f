"""Trees against the same grown the obvious way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from tests.support.slow_trees import SlowTree

from peckorder._core.threads import Team
from peckorder.trees.columns import bin_columns
from peckorder.trees.forest import Forest
from peckorder.trees.growing import Grower, TreeOptions

pytestmark = pytest.mark.jit_off
# Without the compiler NumPy warns of products of hashes that wrap around.
WRAPS = pytest.mark.filterwarnings("ignore:overflow")
EXACT = {"category_l2": 0.0, "category_smoothing": 0.0}


def rows_of_all_kinds(seed, n, n_values=4):
    """Five columns: two with ties and gaps, one of categories, one constant, one empty."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_values, (n, 5)).astype(float)
    X[rng.random((n, 5)) < 0.2] = np.nan
    X[:, 3], X[:, 4] = 1.5, np.nan
    return X, np.array([False, False, True, False, False])


def grown(X, slopes, curvatures, options, *, n_threads=1, rows=None, seed=0, **columns):
    """Return a tree, and what it adds to all rows."""
    with Team(n_threads) as team:
        grower = Grower(bin_columns(X, team, **columns), options, team, slopes.shape[1])
        grower._n_threads = n_threads  # however few rows there are
        grower._held, grower._growth = grower._allocate()
        tree = grower.grow(slopes, curvatures, rows, seed)
        scores = np.zeros(slopes.shape)
        others = None if rows is None else np.setdiff1d(np.arange(len(slopes)), rows)
        grower.add_to(scores, 1.0, others)
    return tree, scores


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 24),
    n_thresholds=st.sampled_from([1, 1, 3]),
    leaves=st.integers(1, 6),
    least=st.integers(0, 3),
    depth=st.sampled_from([None, 1, 2]),
    l2=st.sampled_from([0.0, 0.7]),
    rise=st.sampled_from([-1, 0, 1]),
    n_threads=st.sampled_from([1, 3]),
)
def test_a_tree_is_the_obvious_one(
    seed, n, n_thresholds, leaves, least, depth, l2, rise, n_threads
):
    X, is_category = rows_of_all_kinds(seed, n)
    rng = np.random.default_rng(seed + 1)
    slopes = rng.normal(size=(n, n_thresholds))
    curvatures = rng.uniform(0.5, 2.0, (n, n_thresholds))
    options = TreeOptions(leaves, depth, least, l2, **EXACT)
    rises = np.array([rise, 0, 0, 0, 0])
    slow = SlowTree(X, slopes, curvatures, options, is_category, rises)
    _, scores = grown(
        X, slopes, curvatures, options, n_threads=n_threads, is_category=is_category, rises=rises
    )
    assert_allclose(scores, slow.scores(), rtol=1e-6, atol=1e-6)


@WRAPS
@given(seed=st.integers(0, 10**6), n_thresholds=st.sampled_from([1, 3]))
@settings(max_examples=10, deadline=None)
def test_threads_and_the_form_of_rows_do_not_matter(seed, n_thresholds):
    X, is_category = rows_of_all_kinds(seed, 60, 7)
    rng = np.random.default_rng(seed)
    slopes = rng.normal(size=(60, n_thresholds))
    curvatures = rng.uniform(0.0, 1.0, (60, n_thresholds))
    options = TreeOptions(8, None, 2, 0.1, 0.6)
    rows = np.flatnonzero(rng.random(60) < 0.7)
    cases = [
        (X, 1),
        (X, 3),
        (np.asfortranarray(X), 2),
        (X.astype(np.float32), 1),
        (sparse.csr_array(X), 1),
    ]
    first, *others = (
        grown(x, slopes, curvatures, options, n_threads=t, rows=rows, seed=3,
              is_category=is_category)
        for x, t in cases
    )  # fmt: skip
    for tree, scores in others:
        assert_array_equal(scores, first[1])
        for a, b in zip(tree, first[0], strict=True):
            assert_array_equal(a, b)


@pytest.mark.parametrize(("n_columns", "n_thresholds"), [(3, 1), (21, 1), (3, 2)])
def test_large_leaves_are_shared_and_small_ones_are_not(n_columns, n_thresholds):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 300, (2500, n_columns)).astype(float)
    X[:, 1], X[rng.random(X.shape) < 0.1] = rng.integers(0, 5, 2500), np.nan
    is_category = np.arange(n_columns) == 1
    slopes = (X[:, :1] > 100) + rng.normal(size=(2500, n_thresholds))
    rows = np.flatnonzero(rng.random(2500) < 0.9)
    first, *others = (
        grown(X, slopes, np.ones_like(slopes), TreeOptions(6), n_threads=t, rows=rows,
              is_category=is_category)
        for t in (1, 2, 5)
    )  # fmt: skip
    assert first[0].rows.min() < 500
    for tree, scores in others:
        assert_array_equal(scores, first[1])
        for a, b in zip(tree, first[0], strict=True):
            assert_array_equal(a, b)


@given(seed=st.integers(0, 10**6), n_thresholds=st.sampled_from([1, 3]))
@settings(max_examples=20, deadline=None)
def test_a_forest_scores_rows_as_they_were_scored_in_learning(seed, n_thresholds):
    X, is_category = rows_of_all_kinds(seed, 40, 9)
    rng = np.random.default_rng(seed)
    total, trees = np.zeros((40, n_thresholds)), []
    for _ in range(3):
        slopes = rng.normal(size=(40, n_thresholds))
        tree, scores = grown(
            X, slopes, np.ones_like(slopes), TreeOptions(6, None, 1), is_category=is_category
        )
        total += scores
        trees.append(tree)
    forest = Forest.of(trees, is_category)
    for x in (X, sparse.csr_array(X)):
        scores = np.zeros((40, n_thresholds))
        forest.add_scores(x, scores)
        assert_array_equal(scores, total)
    parts = np.zeros((40, n_thresholds))
    forest.first(2).add_scores(X, parts)
    forest.add_scores(X, parts, slice(2, None))
    assert_array_equal(parts, total)


def test_scores_fall_from_threshold_to_threshold():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    slopes = rng.normal(size=(300, 4))
    _, scores = grown(X, slopes, np.ones_like(slopes), TreeOptions(31, None, 1))
    assert (np.diff(scores, axis=1) <= 0.0).all()
    assert (np.diff(scores, axis=1) < 0.0).any()


@pytest.mark.parametrize("direction", [1, -1])
def test_scores_are_monotone_where_they_must(direction):
    rng = np.random.default_rng(1)
    x = np.sort(rng.normal(size=400))
    X = np.column_stack([x, np.zeros(400)])
    slopes = (np.sin(3 * x) + direction * 0.3 * x)[:, np.newaxis]
    _, scores = grown(
        X, slopes, np.ones_like(slopes), TreeOptions(20, None, 1), rises=np.array([direction, 0])
    )
    steps = direction * np.diff(scores[:, 0])
    assert (steps >= 0.0).all()
    assert (steps > 0.0).any()


@pytest.mark.parametrize("scale", [1e-60, 1e-20, 1.0, 1e20, 1e60])
def test_the_scale_of_slopes_does_not_matter(scale):
    X, is_category = rows_of_all_kinds(0, 50)
    slopes = np.random.default_rng(0).normal(size=(50, 1))
    options = TreeOptions(8, None, 1)
    one = grown(X, slopes, np.ones((50, 1)), options, is_category=is_category)[0]
    other = grown(X, slopes * scale, np.ones((50, 1)), options, is_category=is_category)[0]
    assert_array_equal(other.column, one.column)
    assert_allclose(other.value, one.value * scale, rtol=1e-9)


def test_no_slopes_and_no_rows_give_a_single_leaf():
    X, _ = rows_of_all_kinds(0, 9)
    zeros = np.zeros((9, 1))
    for rows in (None, np.array([], dtype=np.int64), np.array([4])):
        tree, scores = grown(X, zeros, zeros, TreeOptions(8, None, 0), rows=rows)
        assert tree.column.tolist() == [-1]
        assert_array_equal(scores, zeros)


@WRAPS
def test_features_are_sampled_by_seed():
    rng = np.random.default_rng(0)
    X, slopes = rng.normal(size=(100, 6)), rng.normal(size=(100, 1))
    options = TreeOptions(8, None, 1, max_features=0.3)
    trees = [grown(X, slopes, np.ones((100, 1)), options, seed=s)[0] for s in (0, 0, 1)]
    assert_array_equal(trees[0].column, trees[1].column)
    assert trees[0].column.tolist() != trees[2].column.tolist()


@WRAPS
@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_a_split_looks_at_one_feature_at_least(n_columns):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, n_columns))
    options = TreeOptions(4, None, 1, max_features=0.01)
    for seed in range(20):
        tree, _ = grown(X, X[:, :1] + X[:, -1:], np.ones((60, 1)), options, seed=seed)
        assert (tree.column == -1).sum() == 4


@pytest.mark.parametrize("n_above", [5, 20])
def test_categories_without_rows_in_a_leaf_go_with_those_never_seen(n_above):
    # Those of category 2 are divided off first; then, in a leaf, 0 is above 1.
    category = np.repeat([0.0, 1.0, 2.0], [n_above, 25 - n_above, 10])
    X = np.column_stack([category == 2.0, category])
    slopes = np.select([category == 0.0, category == 1.0], [3.0, 1.0], -30.0)[:, np.newaxis]
    tree, _ = grown(
        X, slopes, np.ones_like(slopes), TreeOptions(3, None, 1, **EXACT),
        is_category=np.array([False, True]),
    )  # fmt: skip
    forest = Forest.of([tree], np.array([False, True]))
    new = np.array([[0.0, value] for value in (0.0, 1.0, 2.0, np.nan)])
    scores = np.zeros((4, 1))
    forest.add_scores(new, scores)
    with_most = 0 if n_above == 20 else 1
    assert scores[0] != scores[1]
    assert scores[2] == scores[3] == scores[with_most]


def test_importances_are_shares_of_gains():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    tree, _ = grown(X, X[:, 1:2], np.ones((200, 1)), TreeOptions(8, None, 1))
    shares = Forest.of([tree], np.zeros(3, bool)).importances()
    assert shares.sum() == pytest.approx(1.0)
    assert shares.argmax() == 1
