"""PersonalRanker in several threads at once: nothing lost, nothing half done, no wait for ever."""

import copy
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

import peckorder.io
from peckorder import MPRank
from peckorder.collaborative import PersonalRanker
from peckorder.datasets import make_ratings

RATINGS = make_ratings(60, 120, random_state=0)
ITEMS = RATINGS.items.tolist()
N_THREADS = 4
# A thread that waits for ever is a failure, not a test that hangs.
PATIENCE = 60.0


def fitted(**options):
    return PersonalRanker(n_factors=2, max_iter=2, **options).fit(RATINGS)


@pytest.fixture(autouse=True)
def _many_switches():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def together(*tasks):
    """Run tasks in threads that begin at the same moment; return their results."""
    barrier = threading.Barrier(len(tasks))

    def run(task):
        barrier.wait(PATIENCE)
        return task()

    pool = ThreadPoolExecutor(len(tasks))
    try:
        futures = [pool.submit(run, task) for task in tasks]
        return [future.result(PATIENCE) for future in futures]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def value_of(item):
    return 1.0 + ITEMS.index(item) % 5


def rating(model, user, items):
    return lambda: [model.update(user, item, value_of(item)) for item in items]


@pytest.mark.parametrize("user", ["new", RATINGS.users[0]])
def test_no_rating_is_lost(user):
    model = fitted()
    together(*(rating(model, user, ITEMS[k::N_THREADS]) for k in range(N_THREADS)))
    rated, values = model._rated(user)
    assert_array_equal(rated, np.arange(len(ITEMS)))
    assert_array_equal(values, [value_of(item) for item in ITEMS])
    alone = fitted()
    for item in ITEMS:
        alone.update(user, item, value_of(item))
    assert_array_equal(model.predict(user), alone.predict(user))


def check_belongs_together(model):
    """Check that each person's model is the one of that person's ratings."""
    for user, person in model._people.items():
        if person.model is not None and person.ratings is not None:
            expected = model._learn_person(user, *person.ratings)
            every = slice(None)
            assert_array_equal(person.model.scores(every), expected.scores(every))


@pytest.mark.parametrize(
    "copied",
    [
        lambda model: peckorder.io.from_bytes(model.to_bytes()),
        lambda model: pickle.loads(pickle.dumps(model)),
        copy.copy,
        copy.deepcopy,
    ],
    ids=["saved", "pickled", "copied", "copied deeply"],
)
def test_what_is_copied_beside_updates_belongs_together(copied):
    model = fitted()
    users = [f"new {k}" for k in range(8)]

    def update():
        for item in ITEMS[:40]:
            for user in users:
                model.update(user, item, value_of(item))

    copies = together(update, lambda: [copied(model) for _ in range(12)])[1]
    for one in copies:
        check_belongs_together(one)
    copies[-1].update("later", ITEMS[0], 3.0)


def test_answers_beside_updates_are_of_one_moment():
    model, user = fitted(), "new"
    for item in ITEMS[:2]:
        model.update(user, item, value_of(item))
    # The scores after each number of ratings.
    alone, possible = copy.copy(model), {}
    for n, item in enumerate(ITEMS[2:60], 3):
        alone.update(user, item, value_of(item))
        possible[n] = alone.predict(user)
    possible[2] = model.predict(user)

    def ask():
        return [model.recommend(user, len(ITEMS)) for _ in range(100)]

    for listed in together(rating(model, user, ITEMS[2:60]), ask, ask)[1]:
        n_rated = len(ITEMS) - len(listed)
        columns = np.searchsorted(model.items_, listed.items)
        assert_array_equal(listed.scores, possible[n_rated][columns])


def test_people_asked_for_at_once_are_learnt_as_alone():
    model = fitted()
    users = [user for user in RATINGS.users.tolist() if len(set(RATINGS.of(user).values)) > 1]
    answers = together(*[lambda: [model.predict(user) for user in users]] * N_THREADS)
    alone = fitted()
    for user, *scores in zip(users, *answers, strict=True):
        for one in scores:
            assert_array_equal(one, alone.predict(user))


def test_an_estimator_that_asks_the_ranker_does_not_wait_for_itself():
    inside = threading.local()

    class Asking(MPRank):
        def fit(self, X, y):
            if not vars(inside):
                inside.is_so = True
                model.update("other", ITEMS[len(y)], 3.0)
                model.predict(RATINGS.users[0])
            return super().fit(X, y)

    model = fitted(estimator=Asking())
    together(*(rating(model, "new", ITEMS[k::N_THREADS]) for k in range(N_THREADS)))
    assert len(model._rated("new")[0]) == len(ITEMS)


def test_two_fits_at_once_are_refused():
    begun, go_on = threading.Event(), threading.Event()

    class Slow(PersonalRanker):
        def _learn_shared(self, ratings):
            begun.set()
            assert go_on.wait(PATIENCE)
            return super()._learn_shared(ratings)

    model = Slow(n_factors=1, max_iter=1)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(model.fit, RATINGS)
        assert begun.wait(PATIENCE)
        with pytest.raises(RuntimeError, match="another thread is changing this model"):
            model.fit(RATINGS)
        go_on.set()
        assert first.result(PATIENCE) is model
    model.fit(RATINGS)


def test_copies_of_every_kind_can_be_changed(tmp_path):
    model = fitted().update("new", ITEMS[0], 1.0).update("new", ITEMS[1], 5.0)
    joblib.dump(model, tmp_path / "model")
    model.save(tmp_path / "model.peckorder")
    copies = [
        copy.copy(model),
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
        joblib.load(tmp_path / "model"),
        peckorder.load(tmp_path / "model.peckorder"),
    ]
    for one in copies:
        assert_array_equal(one.predict("new"), model.predict("new"))
        one.update("new", ITEMS[2], 2.0)
        assert len(one._rated("new")[0]) == 3
    assert len(model._rated("new")[0]) == 2
    assert clone(model).fit(RATINGS).update("new", ITEMS[0], 1.0)
