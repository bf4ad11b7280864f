"""Work shared among threads, so that Ctrl-C is still heard."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Event
from typing import Any, Self, TypeVar

T = TypeVar("T")


class Team:
    """Threads that stay together for several pieces of work, started when needed."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def share(
        self,
        n: int,
        work: Callable[[slice, Callable[[], bool]], T],
        most: int | None = None,
    ) -> list[T]:
        """Cut 0..n into as many parts as there are threads; do the work of each in one.

        `work` is told its part, and asks now and then whether to give up: another
        thread has failed, or somebody has pressed Ctrl-C. No more than `most` threads
        take part.
        """
        n_threads = self.n_threads if most is None else min(self.n_threads, most)
        n_parts = max(1, min(n, n_threads))
        give_up = Event()

        def guarded(part: slice) -> T:
            try:
                return work(part, give_up.is_set)
            except BaseException:
                give_up.set()
                raise

        if n_parts == 1:
            return [guarded(slice(0, n))]
        cuts = [n * i // n_parts for i in range(n_parts + 1)]
        parts = [slice(a, b) for a, b in pairwise(cuts)]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.n_threads - 1)
        others = [self._pool.submit(guarded, part) for part in parts[1:]]
        try:
            return [guarded(parts[0]), *(other.result() for other in others)]
        except BaseException:
            # Ctrl-C may come while this thread waits for the others.
            give_up.set()
            raise


def share(
    n: int, n_threads: int, work: Callable[[slice, Callable[[], bool]], T]
) -> list[T]:
    """Share one piece of work among threads, as a `Team` does."""
    with Team(n_threads) as team:
        return team.share(n, work)
