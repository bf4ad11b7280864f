"""Personal rankers on ratings of any size, ids of any kind, and hopeless references."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from peckorder import MPRank, Ratings
from peckorder.collaborative import MinNormRegression, PersonalRanker, VectorSimilarity
from peckorder.collaborative.personal.models import solve
from peckorder.datasets import make_ratings


def times(ratings, factor):
    users, items, values = ratings.triples()
    return Ratings(users, items, np.asarray(values) * factor)


@pytest.mark.parametrize("factorizer", ["als", "svd"])
@pytest.mark.parametrize("factor", [2.0**-60, 2.0**-20, 2.0**40, 2.0**80])
def test_predictions_scale_with_the_ratings(factorizer, factor):
    ratings = make_ratings(40, 30, density=0.3, random_state=0)
    model = PersonalRanker(factorizer=factorizer, n_factors=3, random_state=0)
    user = ratings.users[3]
    base = model.fit(ratings).predict(user)
    scaled = model.fit(times(ratings, factor)).predict(user)
    assert_allclose(scaled / factor, base, rtol=1e-3, atol=2e-3)


@pytest.mark.parametrize("factor", [1e-200, 1e150])
def test_ratings_without_squares_raise(factor):
    ratings = times(make_ratings(20, 10, density=0.5, random_state=0), factor)
    with pytest.raises(ValueError, match=r"^PersonalRanker: ratings must be between"):
        PersonalRanker().fit(ratings)


def test_a_person_with_a_date_for_a_name_keeps_all_ratings():
    ratings = make_ratings(20, 15, density=0.4, random_state=0)
    users, items, values = ratings.triples()
    days = np.datetime64("2020-01-01") + np.searchsorted(ratings.users, users)
    dated = Ratings(days, items, values)
    user = dated.users[3]
    n_rated = len(dated.of(user)[0])
    new = np.setdiff1d(dated.items, dated.of(user)[0])[0]
    model = PersonalRanker(n_factors=2, random_state=0).fit(dated)
    model.update(user, new, 3.0)
    assert len(model._rated(user)[0]) == n_rated + 1
    assert len(dated.restrict(users=dated.users[:2]).users) == 2


def test_no_references_raise_and_oneself_is_none():
    ratings = make_ratings(20, 15, density=0.5, random_state=0)
    expected = r"^PersonalRanker: references must be .*; got an empty list\.$"
    with pytest.raises(ValueError, match=expected):
        PersonalRanker(references=[]).fit(ratings)
    user = ratings.users[3]
    model = PersonalRanker(references=[user]).fit(ratings)
    items, values = ratings.of(user)
    shift = values.mean() - model.predict(user, items).mean()
    assert_allclose(shift, 0.0, atol=1e-9)


def test_an_additive_table_has_no_factors_to_find():
    table = Ratings.from_matrix([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]])
    model = PersonalRanker(factorizer="svd", damping=0, n_factors=1).fit(table)
    assert_allclose(model.predict(table.users[0]), [1.0, 2.0])


@pytest.mark.parametrize("ridge", [1e-300, 1e-14, 1e-9, 1.0])
def test_a_person_is_solved_whatever_the_ridge(ridge):
    rng = np.random.default_rng(0)
    F, y = rng.standard_normal((30, 3)), rng.standard_normal(30)
    K = F @ F.T
    coef, intercept = solve(K.copy(), y, ridge)
    scores = K @ coef + intercept
    whole = MPRank(kernel="precomputed", C=len(y) / (2.0 * max(ridge, 1e-9)))
    expected = whole.fit(K, y).predict(K)
    assert_allclose(scores, expected, atol=1e-5)
    assert abs(coef.sum()) < 1e-6 * np.abs(coef).sum() + 1e-6


@pytest.mark.parametrize("factor", [1e-13, 1.0, 1e50])
def test_normalised_regression_does_not_depend_on_the_scale(factor):
    X = np.array([[5, 1, 7], [3, np.nan, 7], [1, 5, 7], [np.nan, 5, 7]]) * factor
    y = np.array([5, 3, 1, np.nan]) * factor
    model = MinNormRegression(normalize=True).fit(X, y)
    assert_allclose(model.predict(X)[:3] / factor, [5.0, 3.0, 1.0], rtol=1e-9)
    assert model.coef_[2] == 0.0


def test_a_viewer_who_gives_the_same_to_all_has_no_weight():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(7, 1234567.1), rng.random(7)])
    model = MinNormRegression(normalize=True).fit(X, rng.random(7))
    assert model.coef_[0] == 0.0


@pytest.mark.parametrize("model", [MinNormRegression(), VectorSimilarity()])
def test_ratings_of_viewers_without_squares_raise(model):
    with pytest.raises(ValueError, match="X must be at most 1e"):
        model.fit([[1e200, 1.0], [2.0, 3.0]], [1.0, 2.0])


def test_equal_arrays_of_ids_are_found_whatever_their_type():
    ratings = Ratings([1, 2, 2], ["a", "a", "b"], [1.0, 2.0, 3.0])
    assert_array_equal(ratings.restrict(users=np.array([2])).users, [2])


def test_ids_of_several_types_are_asked_for_as_they_are():
    users, items = [0, 0, 0, 1, 1, ("a", 3), ("a", 3)], [1, "f2", 3, 1, "f2", 1, 3]
    ratings = Ratings(users, items, [1.0, 2.0, 5.0, 4.0, 2.0, 3.0, 1.0])
    model = PersonalRanker(n_factors=1, random_state=0).fit(ratings)
    model.fit_people([0, ("a", 3)])
    every = dict(zip(ratings.items.tolist(), model.predict(0), strict=True))
    assert model.predict(0, [1, "f2"]).tolist() == [every[1], every["f2"]]
    for wrong in (3, "x"):
        with pytest.raises(ValueError, match="users must be a list of ids, such as"):
            model.fit_people(wrong)
