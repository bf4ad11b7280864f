"""Threads that meet inside a kernel, which is a hundred times as fast as in Python.

A thread that is early spins until the last one comes: the work between two meetings
must be short, and all threads must be running. `places` (3,) is what they share.
"""

from typing import Any

from peckorder._core.compiled.jit import (
    atomic_add,
    atomic_load,
    atomic_store,
    inlined,
    sched_yield,
)
from peckorder._core.typing import Ints

# How many have come, how many meetings there were, whether somebody has left for good.
_COME, _MEETINGS, CANCELLED = range(3)
PLACES = 3
# Looks at the counter before others are let in: some microseconds.
_PATIENCE = 1 << 10


@inlined
def meet(n_threads: int, places: Ints) -> bool:
    """Wait for the other threads; tell whether they come.

    What any thread has written before, all see afterwards.
    """
    if n_threads == 1:
        return True
    meeting = atomic_load(places, _MEETINGS)
    if atomic_add(places, _COME, 1) == n_threads - 1:
        atomic_store(places, _COME, 0)
        atomic_store(places, _MEETINGS, meeting + 1)
        return True
    n_looks = 0
    while atomic_load(places, _MEETINGS) == meeting:
        n_looks += 1
        if n_looks % _PATIENCE == 0:
            # The one waited for may be waiting for this processor.
            sched_yield()
            if atomic_load(places, CANCELLED) != 0:
                return False
    return True


@inlined
def take_turn(n_threads: int, turns: Any) -> int:
    """Return 0, 1, 2, ... to whoever asks, each number once; turns (1,) counts them."""
    if n_threads == 1:
        turns[0] += 1
        return int(turns[0] - 1)
    return int(atomic_add(turns, 0, 1))
