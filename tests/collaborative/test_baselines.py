"""The papers' baselines: golden cases, slow twins, variants and refusals."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from peckorder.collaborative import (
    Correlation,
    ItemMean,
    MinNormRegression,
    NearestRanker,
    VectorSimilarity,
)
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
    Correlation(),
    Correlation(normalization="item", default_vote=0.5, inverse_frequency=True),
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


def correlation_by_hand(X, y, viewer, default, inverse_frequency):
    """One weight, sum by sum, and how many items both rated."""
    own, other, mass = [], [], []
    n_common = 0
    for j in range(len(X)):
        a, v = y[j], X[j, viewer]
        n_common += not np.isnan(a) and not np.isnan(v)
        if default is None and (np.isnan(a) or np.isnan(v)):
            continue
        if np.isnan(a) and np.isnan(v):
            continue
        n_raters = sum(not np.isnan(r) for r in [*X[j], a])
        own.append(default if np.isnan(a) else a)
        other.append(default if np.isnan(v) else v)
        mass.append(np.log((X.shape[1] + 1) / n_raters) if inverse_frequency else 1.0)
    mean_own, mean_other = np.nanmean(y), mean_of(X[:, viewer])
    if default is not None or inverse_frequency:
        if sum(mass) == 0:
            return 0.0, n_common
        mean_own, mean_other = np.average(own, weights=mass), np.average(other, weights=mass)
    product = square_own = square_other = 0.0
    for a, v, f in zip(own, other, mass, strict=True):
        product += f * (a - mean_own) * (v - mean_other)
        square_own += f * (a - mean_own) ** 2
        square_other += f * (v - mean_other) ** 2
    if min(square_own, square_other) < 1e-20:
        return 0.0, n_common
    return product / np.sqrt(square_own * square_other), n_common


def mean_of(column):
    return np.nanmean(column) if (~np.isnan(column)).any() else 0.0


@given(
    tables(),
    st.sampled_from([None, None, 2.0, 3.5]),
    st.booleans(),
    st.sampled_from([1.0, 2.5]),
    st.integers(1, 3),
    st.sampled_from(["all", "item"]),
)
def test_correlation_by_hand(table, default, inverse_frequency, amplification, overlap, form):
    X, y = table
    weights = []
    for viewer in range(X.shape[1]):
        weight, n_common = correlation_by_hand(X, y, viewer, default, inverse_frequency)
        weight = np.sign(weight) * abs(weight) ** amplification
        weights.append(weight if n_common >= overlap else 0.0)
    scores = []
    for row in X:
        rated = [v for v in range(X.shape[1]) if not np.isnan(row[v])]
        above = sum(weights[v] * (row[v] - mean_of(X[:, v])) for v in rated)
        mass = sum(abs(weights[v]) for v in (rated if form == "item" else range(X.shape[1])))
        scores.append(np.nanmean(y) + (above / mass if mass else 0.0))
    model = Correlation(
        normalization=form,
        amplification=amplification,
        default_vote=default,
        inverse_frequency=inverse_frequency,
        min_overlap=overlap,
    ).fit(X, y)
    assert_allclose(model.weights_, weights, atol=1e-9)
    # Weights of rounding alone would decide about the mass.
    if max(np.abs(weights)) > 1e-9:
        assert_allclose(model.predict(X), scores, atol=1e-9)


def test_correlation_is_pearsons_where_all_is_rated():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(20, 4)), rng.normal(size=20)
    wanted = [np.corrcoef(column, y)[0, 1] for column in X.T]
    assert_allclose(Correlation().fit(X, y).weights_, wanted)
    # A default that is not needed changes nothing; neither do units.
    assert_allclose(Correlation(default_vote=9.0).fit(X, y).weights_, wanted)
    assert_allclose(Correlation().fit(X * 1e95, y * 1e-200).weights_, wanted)
    assert_allclose(Correlation().fit(X * 1e-200, y * 1e200).weights_, wanted)


def test_equal_ratings_correlate_with_nothing():
    # The mean of three times 0.1 is not 0.1.
    X, y = [[0.1, 5.0], [0.1, 1.0], [0.1, 4.0], [NAN, 2.0]], [1.0, 2.0, 3.0, NAN]
    model = Correlation().fit(X, y)
    assert model.weights_[0] == 0.0
    assert model.weights_[1] != 0.0
    same = Correlation().fit(X, [0.1, 0.1, 0.1, NAN])
    assert same.weights_.tolist() == [0.0, 0.0]
    assert_allclose(same.predict(X), [0.1] * 4)


def test_what_everybody_rated_counts_nothing_by_inverse_frequencies():
    X = np.array([[5.0, 1.0], [1.0, 5.0], [4.0, NAN], [2.0, NAN], [5.0, NAN]])
    y = np.array([5.0, 1.0, 1.0, 2.0, 3.0])
    model = Correlation(inverse_frequency=True).fit(X, y)
    assert_allclose(model.weights_, [np.corrcoef(X[2:, 0], y[2:])[0, 1], 0.0], atol=1e-12)


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
        Correlation(amplification=0),
        [[1.0]],
        [1.0],
        "Correlation: amplification must be a finite number > 0; got 0.",
    ),
    (
        Correlation(default_vote="mean"),
        [[1.0]],
        [1.0],
        "Correlation: default_vote must be None or a finite number; got 'mean'.",
    ),
    (
        Correlation(min_overlap=0),
        [[1.0]],
        [1.0],
        "Correlation: min_overlap must be an integer >= 1; got 0.",
    ),
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
