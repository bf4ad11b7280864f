"""Ratings that are made up: as asked for, and missing for a reason."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from peckorder.datasets import make_ratings
from support.helpers import exactly


def test_the_same_seed_makes_the_same():
    a, b, c = (make_ratings(30, 40, random_state=seed) for seed in (1, 1, 2))
    assert_array_equal(a.matrix(), b.matrix())
    assert len(a) != len(c) or a.csr.data.tolist() != c.csr.data.tolist()


def test_levels_and_counts():
    ratings = make_ratings(300, 200, density=0.2, levels=7, random_state=0)
    assert set(ratings.csr.data) == set(range(1, 8))
    assert ratings.per_user.min() >= 5
    assert 0.15 < len(ratings) / (300 * 200) < 0.25
    # A long tail: the mean is well above the median.
    assert ratings.per_user.mean() > 1.1 * np.median(ratings.per_user)


def test_some_items_are_rated_far_more_often():
    ratings = make_ratings(400, 200, density=0.1, random_state=0)
    most = np.sort(ratings.per_item)[::-1]
    assert most[:20].sum() > 0.3 * len(ratings)


def test_people_rate_what_they_expect_to_like():
    chosen = make_ratings(400, 200, choice=1.0, random_state=0).csr.data.mean()
    blind = make_ratings(400, 200, choice=0.0, random_state=0).csr.data.mean()
    assert abs(blind - 3) < 0.15
    assert chosen > blind + 0.3


def test_all_items_can_be_rated():
    ratings = make_ratings(3, 4, density=1.0, min_per_user=4, random_state=0)
    assert_array_equal(ratings.per_user, [4, 4, 4])


def test_tastes_are_there_to_be_learnt():
    # Users who agree on half of the items agree on the other half.
    ratings = make_ratings(60, 400, n_factors=1, density=1.0, min_per_user=400, random_state=0)
    table = ratings.matrix()
    table -= table.mean(axis=0)
    halves = [np.corrcoef(table[:, k::2])[np.triu_indices(60, 1)] for k in (0, 1)]
    assert np.corrcoef(*halves)[0, 1] > 0.9


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_users": 0}, "n_users must be an integer >= 1; got 0."),
        ({"levels": 1}, "levels must be an integer >= 2; got 1."),
        ({"density": 0}, "density must be a number > 0 and <= 1; got 0."),
        ({"choice": -1}, "choice must be a finite number >= 0; got -1."),
        ({"n_items": 3}, "min_per_user must be at most n_items, 3; got 5."),
    ],
)
def test_refusals(options, sentence):
    with pytest.raises(ValueError, match=exactly(f"make_ratings: {sentence}")):
        make_ratings(**options)
