"""Work shared among threads, so that Ctrl-C is still heard."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Event
from typing import TypeVar

T = TypeVar("T")


def share(
    n: int, n_threads: int, work: Callable[[slice, Callable[[], bool]], T]
) -> list[T]:
    """Cut 0..n into as many parts as there are threads; do the work of each in one.

    `work` is told its part, and asks now and then whether to give up: another thread
    has failed, or somebody has pressed Ctrl-C.
    """
    n_parts = max(1, min(n, n_threads))
    cuts = [n * i // n_parts for i in range(n_parts + 1)]
    parts = [slice(a, b) for a, b in pairwise(cuts)]
    give_up = Event()

    def guarded(part: slice) -> T:
        try:
            return work(part, give_up.is_set)
        except BaseException:
            give_up.set()
            raise

    if n_parts == 1:
        return [guarded(parts[0])]
    with ThreadPoolExecutor(n_parts - 1) as pool:
        others = [pool.submit(guarded, part) for part in parts[1:]]
        try:
            return [guarded(parts[0]), *(other.result() for other in others)]
        except BaseException:
            # Ctrl-C may come while this thread waits for the others.
            give_up.set()
            raise
