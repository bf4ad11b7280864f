"""A fleet on real ratings: the people of a personal ranker, in processes."""

import os

import pytest
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_limits

from peckorder.collaborative import PersonalRanker
from peckorder.datasets import load_movielens_100k
from peckorder.distributed import fit_people
from peckorder.exceptions import MissingDataError
from support.worker_tasks import all_of


@pytest.fixture(scope="module")
def ratings():
    if "PECKORDER_DATA" not in os.environ:
        pytest.skip("PECKORDER_DATA names no folder")
    try:
        return load_movielens_100k(os.environ["PECKORDER_DATA"]).ratings
    except MissingDataError as missing:
        pytest.skip(str(missing))


@pytest.mark.slow
def test_all_people_of_movielens(ratings, tmp_path):
    train, test = ratings.split(0.2, random_state=0)
    ranker = PersonalRanker(factorizer="svd", random_state=0).fit(train)
    people = fit_people(train, None, ranker, n_jobs=2, store=tmp_path / "people", test=test)
    assert sorted(people) == train.users.tolist()
    assert people.reasons == {}
    assert all_of(people) == all_of(fit_people(train, None, ranker, n_jobs=1, test=test))
    everybody = people.ranker()
    with threadpool_limits(1):  # several threads of algebra round in another way
        for user in train.users[::50].tolist():
            assert_array_equal(everybody.predict(user), ranker.predict(user))
    values = people.to_pandas()["disagreement"]
    assert 0.25 < values.mean() < 0.33
