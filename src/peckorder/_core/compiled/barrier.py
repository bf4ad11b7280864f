"""Threads that work on one thing in turn, inside of compiled functions.

They meet at a barrier, which is a hundred times as fast as Python's: a thread that is
early spins until the last one arrives, so that the work between two barriers must be
short, and all must be running.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from peckorder._core.compiled.jit import atomic_add, atomic_load, atomic_store, inlined, sched_yield
from peckorder._core.typing import Floats, Ints

# What threads share at a barrier: how many have arrived, how often all have, whether
# one has left for good.
_ARRIVED, _GENERATION, CANCELLED = range(3)
# Looks at the counter before the processor is yielded: some microseconds.
_SPINS = 1 << 10


@inlined
def barrier_wait(n_threads: int, state: Ints) -> bool:
    """Wait for the other threads; return False if one has left for good.

    What any thread has written before, all see afterwards.
    """
    if n_threads == 1:
        return True
    generation = atomic_load(state, _GENERATION)
    if atomic_add(state, _ARRIVED, 1) == n_threads - 1:
        atomic_store(state, _ARRIVED, 0)
        atomic_store(state, _GENERATION, generation + 1)
        return True
    n_spins = 0
    while atomic_load(state, _GENERATION) == generation:
        n_spins += 1
        if n_spins % _SPINS == 0:
            # The missing thread may be waiting for this processor.
            sched_yield()
            if atomic_load(state, CANCELLED) != 0:
                return False
    return True


@inlined
def share_of(thread: int, n_threads: int, n: int) -> tuple[int, int]:
    """Return where the share of a thread of 0..n begins and ends."""
    return n * thread // n_threads, n * (thread + 1) // n_threads


@inlined
def largest_of(values: Floats) -> float:
    """Return the largest value of all threads."""
    largest = values[0]
    for k in range(1, values.shape[0]):
        largest = max(largest, values[k])
    return float(largest)


@inlined
def sum_of(values: Ints) -> int:
    """Return the sum of the values of all threads."""
    result = 0
    for k in range(values.shape[0]):
        result += values[k]
    return result


@contextmanager
def cancelling(state: Ints) -> Iterator[None]:
    """Let no thread wait at a barrier for one that has failed."""
    try:
        yield
    except BaseException:
        state[CANCELLED] = 1
        raise
