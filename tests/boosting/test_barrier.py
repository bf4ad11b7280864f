"""Threads that meet at a barrier inside compiled code."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from peckorder import RankBoost
from peckorder._core.compiled.barrier import CANCELLED, barrier_wait
from peckorder._core.compiled.jit import compiled
from peckorder._core.threads import MIN_ITEMS_PER_THREAD
from peckorder.boosting.compiled import rounds
from peckorder.boosting.compiled.search_by_r import next_turn


@compiled
def count_together(thread, n_threads, n_barriers, state, counts):
    """Add 1 to the count of all, in turns; return the number of barriers passed."""
    for t in range(n_barriers):
        if t % n_threads == thread:
            most = 0
            for k in range(n_threads):
                most = max(most, counts[k])
            counts[thread] = most + 1
        if not barrier_wait(n_threads, state):
            return t
    return n_barriers


@compiled
def collect_turns(n_threads, turns, taken):
    """Mark the turns that this thread gets."""
    turn = next_turn(n_threads, turns)
    while turn < taken.shape[0]:
        taken[turn] += 1
        turn = next_turn(n_threads, turns)


def in_threads(n_threads, work):
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(work, range(n_threads)))


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_all_see_what_was_written_before_a_barrier(n_threads):
    state = np.zeros(3, dtype=np.int64)
    counts = np.zeros(n_threads, dtype=np.int64)
    count_together(0, 1, 0, state, counts)  # compiled before threads need it
    done = in_threads(n_threads, lambda k: count_together(k, n_threads, 300, state, counts))
    assert done == [300] * n_threads
    assert counts.max() == 300


def test_a_thread_that_waits_for_one_that_left_gives_up():
    state = np.zeros(3, dtype=np.int64)
    state[CANCELLED] = 1
    assert count_together(0, 2, 5, state, np.zeros(2, dtype=np.int64)) == 0


@pytest.mark.parametrize("n_threads", [1, 3])
def test_every_turn_is_taken_once(n_threads):
    turns, taken = np.zeros(1, dtype=np.int64), np.zeros(1000, dtype=np.int64)
    collect_turns(n_threads, turns, taken[:0])
    turns[0] = 0
    in_threads(n_threads, lambda _: collect_turns(n_threads, turns, taken))
    assert_array_equal(taken, 1)


@pytest.mark.parametrize("max_bins", [None, 255])
def test_rounds_in_threads_give_the_same_bits(max_bins, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((1500, 6)), rng.integers(0, 4, 1500)
    X[:, 0] = np.round(X[:, 0])
    qid = np.repeat(np.arange(30), 50)
    monkeypatch.setitem(MIN_ITEMS_PER_THREAD, "round_entries", 1)
    models = [
        RankBoost(n_rounds=30, max_bins=max_bins, n_jobs=n).fit(X, y, qid=qid) for n in (1, 2, 3)
    ]
    for model in models[1:]:
        assert model.weak_rankers_.tolist() == models[0].weak_rankers_.tolist()
        assert_array_equal(model.bounds_, models[0].bounds_)


@pytest.mark.parametrize("failing", [0, 1, 2])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_thread_that_fails_raises_and_ends_the_others(failing, error, monkeypatch):
    boost = rounds.boost

    def failing_boost(thread, n_rounds, *arguments):
        if n_rounds > 0 and thread == failing:
            raise error
        return boost(thread, n_rounds, *arguments)

    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((1500, 6)), rng.integers(0, 4, 1500)
    monkeypatch.setitem(MIN_ITEMS_PER_THREAD, "round_entries", 1)
    model = RankBoost(n_rounds=30, max_bins=255, n_jobs=3).fit(X, y)
    before = model.weak_rankers_
    monkeypatch.setattr(rounds, "boost", failing_boost)
    with pytest.raises(error):
        model.fit(X, y)
    assert model.weak_rankers_ is before
