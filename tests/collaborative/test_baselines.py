"""The papers' baselines: golden cases, slow twins, variants and refusals."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from peckorder.collaborative import ItemMean, MinNormRegression, NearestRanker, VectorSimilarity
from peckorder.exceptions import DataError
from support.helpers import exactly, raises_unchanged

NAN = np.nan
BASELINES = [
    ItemMean(),
    MinNormRegression(),
    MinNormRegression(normalize=True),
    NearestRanker(),
    NearestRanker(n_neighbors=3, shrinkage=2.0, weights="rated"),
    VectorSimilarity(),
    VectorSimilarity(normalization="item"),
]


def with_gaps(values):
    return np.array([NAN if v is None else v for v in values], dtype=float)


def problem_of(case):
    X = np.array([with_gaps(row) for row in case["V"]]).T
    y = np.full(len(X), NAN)
    y[case["train_items"]] = case["a"]
    return X, y


@pytest.fixture(params=range(3))
def case(request, golden):
    return golden("baselines")["cases"][request.param]


def test_golden_has_no_case_that_is_not_tested(golden):
    assert len(golden("baselines")["cases"]) == 3


def test_golden_regression(case):
    X, y = problem_of(case)
    model = MinNormRegression().fit(X, y)
    assert_allclose(model.coef_, case["regression"]["w"], atol=1e-9)
    assert_allclose(model.predict(X), case["regression"]["pred"], atol=1e-9)


def test_golden_nearest(case):
    X, y = problem_of(case)
    model = NearestRanker(ratings=case["ratings"]).fit(X, y)
    wanted = case["nn"]
    assert model.neighbors_.tolist() == [wanted["viewer"]]
    assert_allclose(model.defaults_, [wanted["q"]], atol=1e-9)
    assert_allclose(model.losses_, [wanted["loss"]], atol=1e-9)
    assert_allclose(model.predict(X), wanted["scores"], atol=1e-9)


@pytest.mark.parametrize("normalization", ["all", "item"])
def test_golden_vector_similarity(case, normalization):
    X, y = problem_of(case)
    model = VectorSimilarity(normalization=normalization).fit(X, y)
    wanted = case[f"vsim_{normalization}"]
    assert_allclose(model.weights_, wanted["w"], atol=1e-9)
    assert_allclose(model.predict(X), wanted["pred"], atol=1e-9)


@st.composite
def tables(draw):
    """Ratings 1 to 5 with gaps, in which the person tells two items apart."""
    seed = draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    n_items, n_viewers = draw(st.integers(3, 9)), draw(st.integers(1, 6))
    X = rng.integers(1, 6, (n_items, n_viewers)).astype(float)
    X[rng.random(X.shape) < draw(st.sampled_from([0.0, 0.3, 0.7]))] = NAN
    y = rng.integers(1, 6, n_items).astype(float)
    y[rng.random(n_items) < 0.3] = NAN
    y[:2] = 1.0, 5.0
    X[0, 0] = 3.0
    return X, y


def loss_by_hand(y, scores):
    rated = [i for i in range(len(y)) if not np.isnan(y[i])]
    costs = []
    for i, j in combinations(rated, 2):
        low, high = (i, j) if y[i] < y[j] else (j, i)
        if y[low] < y[high]:
            costs.append(0.5 * (scores[low] == scores[high]) + (scores[low] > scores[high]))
    return np.mean(costs)


@given(tables())
def test_the_nearest_viewer_is_the_nearest(table):
    X, y = table
    rated = ~np.isnan(y)
    best = None
    for viewer, q in product(range(X.shape[1]), range(1, 6)):
        seen = ~np.isnan(X[rated, viewer])
        if not seen.any():
            continue
        default = np.nanmean(X[:, viewer]) if seen.all() else float(q)
        scores = np.where(np.isnan(X[:, viewer]), default, X[:, viewer])
        loss = loss_by_hand(y, scores)
        if best is None or loss < best[0] - 1e-12:
            best = loss, viewer, scores
    model = NearestRanker(ratings=[5, 1, 2, 4, 3]).fit(X, y)
    assert model.neighbors_.tolist() == [best[1]]
    assert_allclose(model.losses_, [best[0]], atol=1e-12)
    assert_array_equal(model.predict(X), best[2])


@given(tables(), st.integers(1, 4))
def test_several_neighbours_are_averaged(table, k):
    X, y = table
    model = NearestRanker(n_neighbors=k, weights="rated", shrinkage=1.5).fit(X, y)
    rated = ~np.isnan(y)
    total, mass = np.zeros(len(X)), 0.0
    for viewer, default in zip(model.neighbors_, model.defaults_, strict=True):
        count = (~np.isnan(X[rated, viewer])).sum()
        filled = np.where(np.isnan(X[:, viewer]), default, X[:, viewer])
        total, mass = total + count * filled, mass + count
    assert_allclose(model.predict(X), total / mass, atol=1e-12)
    assert (np.diff(model.losses_) >= 0).all()


def test_shrinkage_prefers_a_viewer_who_rated_more():
    # The first viewer is right about two items, the second wrong about one pair in six.
    X = [[5, 5, 4], [NAN, 4, NAN], [NAN, 2, NAN], [1, 3, 1]]
    y = [4, 3, 2, 1]
    few = NearestRanker(ratings=[3]).fit(np.array(X)[:, :2], y)
    many = NearestRanker(ratings=[3], shrinkage=3).fit(np.array(X)[:, :2], y)
    assert few.neighbors_.tolist() == [0]
    assert few.losses_.tolist() == [1 / 12]
    assert many.neighbors_.tolist() == [1]
    assert_allclose(many.losses_, [0.5 + (1 / 6 - 0.5) * 4 / 7])


def test_of_many_ratings_some_are_tried_as_defaults():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[rng.random(X.shape) < 0.5] = NAN
    model = NearestRanker(n_neighbors=3).fit(X, rng.normal(size=60))
    tried = model._defaults(X)
    assert len(tried) == 32
    assert {tried[0], tried[-1]} == {np.nanmin(X), np.nanmax(X)}


@given(tables())
def test_regression_is_the_shortest_of_the_best(table):
    X, y = table
    means = [np.nanmean(c) if (~np.isnan(c)).any() else 0.0 for c in X.T]
    C = np.where(np.isnan(X), means, X)
    rated = ~np.isnan(y)
    w = np.linalg.pinv(C[rated]) @ y[rated]
    assert_allclose(MinNormRegression().fit(X, y).predict(X), C @ w, atol=1e-7)


def test_normalised_regression_does_not_see_how_a_viewer_uses_the_scale():
    rng = np.random.default_rng(1)
    X, y = rng.integers(1, 6, (8, 3)).astype(float), rng.integers(1, 6, 8) * 1.0
    X[2, 1], y[7] = NAN, NAN
    model = MinNormRegression(normalize=True)
    before = model.fit(X, y).predict(X)
    stretched = X * [1.0, 3.0, 0.5] + [2.0, -1.0, 0.0]
    assert_allclose(model.fit(stretched, y).predict(stretched), before, atol=1e-9)
    assert_allclose(model.fit(X, 2 * y + 1).predict(X), 2 * before + 1, atol=1e-9)


def test_normalised_regression_by_hand():
    X, y = [[1.0], [3.0], [5.0]], [2.0, 4.0, NAN]
    scale = np.sqrt(8 / 3)
    # Scaled: -2/s, 0 and 2/s; the person -1 and 1; the best weight is s / 2.
    model = MinNormRegression(normalize=True).fit(X, y)
    assert_allclose(model.coef_, [scale / 2])
    assert_allclose(model.predict(X), [2.0, 3.0, 4.0])


def test_item_means_are_damped_towards_the_mean_of_all():
    X, y = [[5, 4, 3], [1, NAN, NAN], [NAN, NAN, NAN]], [3, NAN, NAN]
    damped = ItemMean(damping=2).fit(X, y).predict(X)
    assert_allclose(damped, [(2 * 3.25 + 12) / 5, (2 * 3.25 + 1) / 3, 3.25])
    assert ItemMean(damping=0).fit(X, y).predict(X).tolist() == [4.0, 1.0, 3.25]


@pytest.mark.parametrize("model", BASELINES, ids=repr)
def test_viewers_may_come_in_any_order(model):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(12, 5))
    X[rng.random(X.shape) < 0.3] = NAN
    y = rng.normal(size=12)
    y[8:] = NAN
    order = rng.permutation(5)
    before = model.fit(X, y).predict(X)
    assert_allclose(model.fit(X[:, order], y).predict(X[:, order]), before, atol=1e-9)


@pytest.mark.parametrize("model", BASELINES, ids=repr)
@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        ([NAN, NAN], "y must have a rating; got NaN alone."),
        (
            [1.0, np.inf],
            "y must be finite, or NaN where there is no rating; got infinity in row 1: "
            "Input y contains infinity.",
        ),
    ],
)
def test_refuses_a_person_without_usable_ratings(model, y, sentence):
    with raises_unchanged(model, DataError, f"{type(model).__name__}: {sentence}"):
        model.fit([[1.0], [2.0]], y)


REFUSED = [
    (
        ItemMean(damping=-1),
        [[1.0]],
        [1.0],
        "ItemMean: damping must be a finite number >= 0; got -1.",
    ),
    (ItemMean(), [[NAN]], [1.0], "ItemMean: X must have a rating; got NaN alone."),
    (
        MinNormRegression(normalize="yes"),
        [[1.0]],
        [1.0],
        "MinNormRegression: normalize must be True or False; got 'yes'.",
    ),
    (
        NearestRanker(ratings=[]),
        [[1.0]],
        [1.0],
        "NearestRanker: ratings must be None or one or more finite numbers; got [].",
    ),
    (
        NearestRanker(ratings="12345"),
        [[1.0]],
        [1.0],
        "NearestRanker: ratings must be None or one or more finite numbers; got '12345'.",
    ),
    (
        NearestRanker(n_neighbors=0),
        [[1.0]],
        [1.0],
        "NearestRanker: n_neighbors must be an integer >= 1; got 0.",
    ),
    (
        NearestRanker(weights="distance"),
        [[1.0]],
        [1.0],
        "NearestRanker: weights must be one of 'uniform', 'rated'; got 'distance'. "
        "Did you mean 'rated'?",
    ),
    (
        NearestRanker(),
        [[1.0], [2.0]],
        [3.0, 3.0],
        "NearestRanker: y must have two different ratings to compare; got 3.0 alone.",
    ),
    (
        NearestRanker(),
        [[NAN], [NAN], [1.0]],
        [3.0, 2.0, NAN],
        "NearestRanker: X must have a viewer who rated an item of the person; got none.",
    ),
    (
        VectorSimilarity(normalization="both"),
        [[1.0]],
        [1.0],
        "VectorSimilarity: normalization must be one of 'all', 'item'; got 'both'.",
    ),
]


@pytest.mark.parametrize(("model", "X", "y", "sentence"), REFUSED)
def test_refusals(model, X, y, sentence):
    with pytest.raises(ValueError, match=exactly(sentence)):
        model.fit(X, y)
    assert not [name for name in vars(model) if name.endswith("_")]
