"""Work shared among threads: the same result, and Ctrl-C is heard."""

import threading
import time

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from peckorder import MPRank, MPRankCV, Ratings, SVRank
from peckorder._core import threads
from peckorder._core.threads import MIN_ITEMS_PER_THREAD, _blas, apart, blas_threads_for, share
from peckorder.collaborative.personal.item_kernel import ItemKernel
from peckorder.collaborative.personal.models import KernelModel
from peckorder.distributed.people.tasks import HeldOut, OnRows, learn_people
from peckorder.ordinal.compiled import dual, ensemble
from support.helpers import integer_data, make, raises_unchanged, same, shown

X, Y = integer_data(1)
MEMBERS = ["bayes_point members", "voted members", "poly members", "rbf members"]
# Where the kernel is that each kind of ensemble learns by.
LEARN = {name: (dual if "rbf" in name else ensemble) for name in MEMBERS}
every_kind = pytest.mark.parametrize("name", MEMBERS)


class Failure(Exception):
    pass


@pytest.fixture
def eager(monkeypatch):
    """Have every piece of work, however small, shared among threads."""
    monkeypatch.setitem(MIN_ITEMS_PER_THREAD, "products", 1)


def wait_for(is_so, seconds=10.0):
    """Wait until it is so, or until it will never be."""
    end = time.monotonic() + seconds
    while not is_so() and time.monotonic() < end:
        time.sleep(0.001)
    return is_so()


@pytest.mark.parametrize("n", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
def test_every_part_is_done_once_and_in_order(n, n_threads):
    parts = share(n, n_threads, lambda part, give_up: list(range(n))[part])
    assert [i for part in parts for i in part] == list(range(n))
    assert len(parts) == min(n, n_threads)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_nothing_is_one_part_of_nothing():
    assert share(0, 4, lambda part, give_up: part) == [slice(0, 0)]


def test_each_part_has_a_thread_of_its_own():
    meeting = threading.Barrier(3, timeout=10)
    seen = share(3, 3, lambda part, give_up: (meeting.wait(), threading.get_ident())[1])
    assert len(set(seen)) == 3
    assert seen[0] == threading.get_ident()


def test_nobody_gives_up_if_all_goes_well():
    assert share(4, 4, lambda part, give_up: give_up()) == [False] * 4


@pytest.mark.parametrize("failing", [0, 1, 2])
@pytest.mark.parametrize("failure", [Failure, KeyboardInterrupt])
def test_a_failure_is_passed_on(failing, failure):
    def work(part, give_up):
        if part.start == failing:
            raise failure("now")
        return part.start

    with pytest.raises(failure, match=r"^now$"):
        share(3, 3, work)


@pytest.mark.parametrize("failing", [0, 1])
def test_when_one_fails_the_others_give_up(failing):
    is_stopped = []

    def work(part, give_up):
        if part.start == failing:
            raise Failure("now")
        is_stopped.append(wait_for(give_up, seconds=1.0))

    with pytest.raises(Failure, match=r"^now$"):
        share(2, 2, work)
    assert is_stopped == [True]


def test_threads_have_ended_when_a_failure_is_heard_of():
    ended = []

    def work(part, give_up):
        if part.start == 0:
            raise KeyboardInterrupt("now")
        wait_for(give_up)
        time.sleep(0.01)
        ended.append(part.start)

    with pytest.raises(KeyboardInterrupt, match=r"^now$"):
        share(3, 3, work)
    assert sorted(ended) == [1, 2]


@every_kind
def test_small_work_is_not_shared(name, monkeypatch):
    seen, learn = [], LEARN[name].learn

    def noted(*args):
        seen.append(threading.get_ident())
        return learn(*args)

    monkeypatch.setattr(LEARN[name], "learn", noted)
    make(name, n_jobs=2, max_iter=2).fit(X, Y)
    assert set(seen) == {threading.get_ident()}


def meeting(function, n):
    """Return the function, and a list of its calls; they wait until n are there."""
    barrier, calls = threading.Barrier(n, timeout=10), []

    def waiting(*args):
        barrier.wait()
        calls.append(threading.get_ident())
        return function(*args)

    return waiting, calls


@every_kind
@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("method", ["partial_fit", "progressive"])
def test_members_learn_on_as_many_threads_as_asked(name, n_jobs, method, monkeypatch, eager):
    model = make(name, n_jobs=n_jobs).fit(X, Y)
    learn, calls = meeting(LEARN[name].learn, n_jobs)
    monkeypatch.setattr(LEARN[name], "learn", learn)
    getattr(model, method)(X, Y)
    assert len(set(calls)) == n_jobs


@every_kind
@pytest.mark.parametrize("n_jobs", [2, 3, 5, 9, -1, None])
def test_the_model_does_not_depend_on_the_threads(name, n_jobs, eager):
    shared = make(name, n_jobs=n_jobs, max_iter=2).fit(X, Y)
    assert same(shown(shared, X), shown(make(name, n_jobs=1, max_iter=2).fit(X, Y), X))


@every_kind
@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("method", ["fit", "partial_fit", "progressive"])
def test_an_interrupt_in_a_thread_leaves_the_model_as_it_was(
    name, n_jobs, method, monkeypatch, eager
):
    # In the second pass there are rows to compare with, and so there is work to share.
    model = make(name, n_jobs=n_jobs, max_iter=2).fit(X, Y)
    learn, here = LEARN[name].learn, threading.get_ident()

    def interrupted(*args):
        if n_jobs == 1 or threading.get_ident() != here:
            raise KeyboardInterrupt("now")
        return learn(*args)

    monkeypatch.setattr(LEARN[name], "learn", interrupted)
    with raises_unchanged(model, KeyboardInterrupt, "now"):
        getattr(model, method)(X, Y)


@every_kind
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_damaged_row_is_found_whatever_the_threads(name, n_jobs, eager):
    model = make(name, n_jobs=n_jobs).fit(X, Y)
    rows = X.copy()
    rows[[30, 40], 1] = np.inf
    sentence = "Input X contains infinity or a value too large for dtype('float64')."
    for method in (model.partial_fit, model.progressive, model.fit):
        with raises_unchanged(model, ValueError, sentence):
            method(rows, Y)


@pytest.mark.parametrize("name", ["bagging members", "voted members"])
@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_members_vote_on_as_many_threads_as_asked(name, n_jobs, monkeypatch, eager):
    model = make(name, n_jobs=n_jobs).fit(X, Y)
    vote, calls = meeting(ensemble.vote, n_jobs)
    monkeypatch.setattr(ensemble, "vote", vote)
    model.predict(X)
    assert len(set(calls)) == n_jobs


def test_the_threads_may_change_on_the_way(eager):
    model = make("bagging members", n_jobs=1).fit(X, Y)
    model.set_params(n_jobs=3).partial_fit(X, Y)
    expected = make("bagging members", n_jobs=1).fit(X, Y).partial_fit(X, Y)
    assert same(shown(model, X), shown(expected, X))


@pytest.mark.parametrize("array", [np.arange(5), np.eye(3), X[:, 1]])
def test_arrays_of_threads_have_no_neighbours(array):
    copied = apart(array)
    assert same(copied, np.ascontiguousarray(array))
    assert copied.flags.c_contiguous
    assert copied.flags.writeable
    start, room = (a.__array_interface__["data"][0] for a in (copied, copied.base))
    assert start - room >= 128
    assert copied.base.nbytes - copied.nbytes >= 256


def blas_threads():
    return [library.get_num_threads() for library in _blas()]


@pytest.fixture
def two_threads():
    """Let linear algebra have two threads, whatever this machine has."""
    with threadpool_limits(2, user_api="blas"):
        if set(blas_threads()) != {2}:
            pytest.skip("this linear algebra has no threads")
        yield
        assert set(blas_threads()) == {2}


@pytest.mark.usefixtures("two_threads")
def test_linear_algebra_of_few_products_has_one_thread():
    with blas_threads_for(1e3):
        assert set(blas_threads()) == {1}
        with blas_threads_for(1e3), blas_threads_for(1e12):
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {2}
    with blas_threads_for(1e12):
        assert set(blas_threads()) == {2}
    with pytest.raises(Failure), blas_threads_for(1e3):
        raise Failure
    assert set(blas_threads()) == {2}


def test_the_number_of_threads_is_put_back_by_whoever_leaves_last():
    before = blas_threads()
    begun, go_on = threading.Event(), threading.Event()

    def first():
        with blas_threads_for(0):
            begun.set()
            assert go_on.wait(10.0)

    thread = threading.Thread(target=first)
    thread.start()
    assert begun.wait(10.0)
    with blas_threads_for(0):
        go_on.set()
        thread.join(10.0)
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_the_number_of_threads_is_put_back_after_many_at_once():
    before = blas_threads()

    def work():
        for _ in range(300):
            with blas_threads_for(0):
                assert set(blas_threads()) == {1}

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60.0)
    assert blas_threads() == before


FITTED = MPRank().fit(X, Y)
SMALL = {
    "MPRank": lambda: MPRank().fit(X, Y),
    "MPRank, kernel": lambda: MPRank(kernel="rbf").fit(X, Y),
    "MPRank.partial_fit": lambda: MPRank().partial_fit(X, Y),
    "pairs left out": FITTED.leave_pair_out_error,
    "rows left out": FITTED.leave_one_out_predictions,
    "MPRankCV": lambda: MPRankCV().fit(X, Y),
    "SVRank": lambda: SVRank().fit(X, Y),
    "a person": lambda: KernelModel.learn(KERNEL, np.arange(9), np.arange(9.0), None),
    "scores of a person": lambda: PERSON.scores(slice(None)),
    "a fleet": lambda: learn_people(ON_ROWS, [0, 1]),
}
KERNEL = ItemKernel(X[:20], sparse.csc_array((2, 20), dtype=np.float32), None)
PERSON = KernelModel(KERNEL, np.arange(9), np.arange(9.0), 0.0, 1.0)
_RATINGS = Ratings([0, 0, 1, 1], [0, 1, 0, 1], [1.0, 2.0, 3.0, 5.0])
ON_ROWS = OnRows(MPRank(), _RATINGS, np.eye(2), np.array([-1, -1]), HeldOut(None, ()))


@pytest.mark.parametrize("learn", SMALL.values(), ids=SMALL)
@pytest.mark.usefixtures("two_threads")
def test_small_problems_are_solved_by_one_thread(learn, monkeypatch):
    numbers = []
    real = threads._set_blas_threads
    monkeypatch.setattr(
        threads, "_set_blas_threads", lambda given: (numbers.append(given[0]), real(given))
    )
    learn()
    assert numbers[0] == 1
    assert numbers[-1] == 2
