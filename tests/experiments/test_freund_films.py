"""The protocol of films in the RankBoost paper, by slow and obvious versions."""

from itertools import permutations

import numpy as np
import pytest
from scipy import sparse

from peckorder import RankBoost
from peckorder.collaborative import ItemMean, MinNormRegression, NearestRanker, VectorSimilarity
from peckorder.datasets import make_ratings
from peckorder.experiments.freund_2003 import chance, ideas
from peckorder.experiments.freund_2003 import films as films_module
from peckorder.experiments.freund_2003.films import bin_name, in_bin, thinned


@pytest.fixture(scope="module")
def films():
    return make_ratings(40, 60, density=0.4, min_per_user=10, random_state=3)


def test_halves_are_disjoint_and_all_that_was_rated(films):
    rng = np.random.default_rng(0)
    for person in range(films.n_users):
        target = films_module.halve(films.csr, person, rng)
        if target is None:
            continue
        items, values = films.csr[[person]].indices, films.csr[[person]].data
        assert not set(target.learnt) & set(target.tested)
        assert set(target.learnt) | set(target.tested) == set(items)
        assert len(target.learnt) == len(items) // 2
        given = dict(zip(target.learnt, target.given, strict=True))
        given |= dict(zip(target.tested, target.truth, strict=True))
        assert given == dict(zip(items, values, strict=True))


def test_who_cannot_be_ordered_is_passed_over():
    ratings = make_ratings(3, 12, density=1.0, random_state=0).csr.copy()
    ratings.data[ratings.indptr[1] : ratings.indptr[2]] = 4.0
    targets = films_module.draw_targets(ratings, np.array([1, 0, 2]), 3, np.random.default_rng(0))
    assert len(targets) == 2


@pytest.fixture(scope="module")
def case(films):
    """A target, viewers, and all that is known as dense tables."""
    viewers = films_module.Viewers(films.csr[:30])
    target = films_module.halve(films.csr, 35, np.random.default_rng(1))
    X = films.csr[:30].toarray().T
    y = np.full(films.n_items, np.nan)
    y[target.learnt] = target.given
    return films_module.Tables.of(viewers, target), np.where(X == 0, np.nan, X), y


@pytest.mark.parametrize("size", [7, 20, 30])
@pytest.mark.parametrize("normalize", [False, True])
def test_regression_is_that_of_the_library(case, size, normalize):
    tables, X, y = case
    model = MinNormRegression(normalize=normalize).fit(X[:, :size], y)
    expected = model.predict(X[tables.target.tested][:, :size])
    found = tables.regression(size, normalize=normalize)
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("size", [3, 20, 30])
@pytest.mark.parametrize("k", [1, 4])
def test_nearest_is_that_of_the_library_for_the_first_viewers(case, size, k):
    tables, X, y = case
    model = NearestRanker(ratings=(1.0, 2.0, 3.0, 4.0, 5.0), n_neighbors=k).fit(X[:, :size], y)
    expected = model.predict(X[tables.target.tested][:, :size])
    found = tables.nearest(tables.neighbors(), size, k)
    assert found == pytest.approx(expected, abs=1e-12)


def test_nearest_by_what_they_rated_is_that_of_the_library(case):
    tables, X, y = case
    settings = {"ratings": (1.0, 2.0, 3.0, 4.0, 5.0), "shrinkage": 10.0}
    model = NearestRanker(n_neighbors=5, weights="rated", **settings).fit(X, y)
    expected = model.predict(X[tables.target.tested])
    found = tables.nearest(tables.neighbors(shrinkage=10.0), 30, 5, by_rated=True)
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("size", [7, 30])
def test_similarity_and_means_are_those_of_the_library(case, size):
    tables, X, y = case
    tested = X[tables.target.tested][:, :size]
    similar = VectorSimilarity().fit(X[:, :size], y).predict(tested)
    assert tables.vector_similarity(size) == pytest.approx(similar, abs=1e-12)
    mean = ItemMean(damping=films_module.DAMPING).fit(X[:, :size], y).predict(tested)
    assert tables.item_mean(size) == pytest.approx(mean, abs=1e-12)


def test_boosting_has_the_rounds_of_the_paper(case):
    tables, X, _ = case
    target = tables.target
    scores, model = films_module.boosted(tables.viewers, target, 20)
    assert model.n_rounds == 42
    dense = RankBoost(n_rounds=42).fit(X[target.learnt][:, :20], target.given)
    expected = dense.predict(X[target.tested][:, :20])
    assert scores == pytest.approx(expected, abs=1e-12)


def test_nobody_near_means_no_order(case):
    tables, _, _ = case
    model = tables.neighbors()
    model.neighbors_ = model.neighbors_ + 30
    assert tables.nearest(model, 30).tolist() == [0.0] * len(tables.tested)


@pytest.mark.filterwarnings("ignore:RankBoost. no weak ranking")
def test_viewers_who_rated_none_of_the_films_are_near_to_nobody(case):
    target, n_films = case[0].target, case[1].shape[0]
    others = np.setdiff1d(np.arange(n_films), target.learnt)[:3]
    rated = np.zeros((8, n_films))
    rated[:, others] = 3.0
    viewers = films_module.Viewers(sparse.csr_array(rated))
    tables = films_module.Tables.of(viewers, target)
    assert tables.neighbors() is None
    scores = films_module.compared(tables, [8])
    assert set(scores[films_module.NEAREST][0]) == {0.0}
    assert all(np.isfinite(values).all() for (values,) in scores.values())


def test_thinned_viewers_keep_some_of_their_ratings(films):
    before = films.csr[:20]
    after = thinned(before, np.random.default_rng(0))
    count = np.diff(after.indptr)
    full = np.diff(before.indptr)
    assert (count >= np.minimum(full, 10)).all()
    assert (count <= 20).all()
    rows, columns = after.nonzero()
    assert after.data.tolist() == before[rows, columns].tolist()


def test_bins_include_their_limits(films):
    people = np.arange(films.n_users)
    parts = [in_bin(films, people, limits) for limits in ((0, 19), (20, 999))]
    assert sorted(np.concatenate(parts)) == people.tolist()
    assert films.per_user[parts[1]].min() >= 20
    assert bin_name((21, 40)) == "21-40"
    assert bin_name((101, 100_000)) == "over 100"


def test_measures_are_means_over_people():
    none = np.zeros(0)
    targets = [
        films_module.Target(none, none, none, np.array(truth))
        for truth in ([2.0, 1.0], [3.0, 1.0, 3.0])
    ]
    scores = [np.array([1.0, 2.0]), np.array([2.0, 3.0, 1.0])]
    found = films_module.measures(targets, scores)
    assert found["disagreement"] == pytest.approx((1 + 1) / 2)
    assert found["PROT"] == pytest.approx((1 / 2 + 1 / 2) / 2)
    assert found["AP"] == pytest.approx((1 / 2 + (1 / 2 + 2 / 3) / 2) / 2)
    assert found["coverage"] == pytest.approx((1 / 2 + 2 / 3) / 2)


# Chance.


def test_random_guessing_is_the_mean_over_all_orders():
    found = chance.by_chance_alone(6, 1 / 3)
    sums = np.zeros(3)
    orders = set(permutations([1, 1, 0, 0, 0, 0]))
    for order in orders:
        ranks = np.flatnonzero(order) + 1
        sums += [np.mean([1, 2] / ranks), 1 / ranks[0], 2 / ranks[1]]
    expected = sums / len(orders)
    assert [found[which] for which in chance.TOP] == pytest.approx(expected)


def test_good_films_have_the_highest_rating_given():
    assert chance.good_fraction(np.array([3.0, 4.0, 4.0, 1.0])) == 0.5


# Ideas.


def test_similarity_gets_the_threshold_with_the_largest_r(case):
    tables, _, _ = case
    X = tables.viewers.by_item[tables.target.learnt]
    potentials = np.random.default_rng(5).standard_normal(X.shape[0])
    potentials -= potentials.mean()
    learner = ideas.similarity_learner(tables, 30)
    found = float(learner(X, potentials)(X) @ potentials)
    centred = np.nan_to_num(tables.learnt - tables.viewers.means)
    values = centred @ tables.similarities(30)
    best = max(float((values > cut) @ potentials) for cut in values)
    assert found == pytest.approx(best, abs=1e-12)


def test_a_hybrid_is_no_worse_on_what_it_learnt(case):
    tables, _, _ = case
    viewers, target = tables.viewers, tables.target
    weak = ["threshold", ideas.similarity_learner(tables, 30)]
    _, model = films_module.boosted(viewers, target, 30, weak=weak, n_rounds=1)
    _, plain = films_module.boosted(viewers, target, 30, n_rounds=1)
    assert model.bounds_[-1] <= plain.bounds_[-1] + 1e-12


def test_stumps_may_put_unrated_films_on_either_side():
    table = np.array([[1.0, np.nan]])
    assert ideas.stump_table(table).tolist() == [[1.0, 0.0, 1.0, 6.0]]
