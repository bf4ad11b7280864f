"""Work shared among threads that Ctrl-C can still interrupt; threads of linear algebra."""

from _thread import start_new_thread
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from itertools import pairwise
from os import cpu_count
from queue import SimpleQueue
from threading import Event, Lock
from typing import Any, Final, Self, TypeAlias, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from peckorder._core.typing import Array

T = TypeVar("T")
Stop: TypeAlias = Callable[[], bool]

# Items that repay starting another thread, by what an item is: the dearer an item, the
# fewer are needed.
MIN_ITEMS_PER_THREAD: Final = {
    "values": 1 << 21,  # one pass over memory takes about a millisecond
    "products": 1 << 20,  # a feature times a weight, of a member of an ensemble
    "entries": 1 << 18,  # a cell of a table: binned, summed or looked up
    "round_entries": 1 << 16,  # as above, by threads that have been started already
    "similarities": 1 << 15,  # a kernel of two rows: a product or a distance of both
    "rows": 1 << 14,  # a row or a pair: sorted, or its exponential taken
}
# The most threads that work started here may use; None for all cores.
_most: ContextVar[int | None] = ContextVar("most threads", default=None)


def n_cores() -> int:
    """Return how many threads work started here may use: one per core, or fewer."""
    return allowed(cpu_count() or 1)


def allowed(n_threads: int) -> int:
    """Return `n_threads`, or as many as work started here may use, if these are fewer.

    Workers of a cluster that share a machine share its cores.
    """
    most = _most.get()
    return n_threads if most is None else min(n_threads, most)


@contextmanager
def at_most(n_threads: int) -> Iterator[None]:
    """Limit the threads of work that is started inside, in this thread."""
    token = _most.set(max(1, n_threads))
    try:
        yield
    finally:
        _most.reset(token)


class Team:
    """Threads for several pieces of work, started when needed.

    Made of simple queues, whose locks are never left held by a Ctrl-C while they are
    waited for; those of executors and events may be.
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._inboxes: list[SimpleQueue[Callable[[], None] | None]] = []
        self._ended: SimpleQueue[None] = SimpleQueue()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for inbox in self._inboxes:
            inbox.put(None)
        for _ in self._inboxes:
            self._ended.get()
        self._inboxes = []

    def share(self, n: int, work: Callable[[slice, Stop], T], most: int | None = None) -> list[T]:
        """Split 0..n into one range per thread, and call `work` for each in its thread.

        `work` gets its range, and a function to call now and then that returns whether
        to give up: another thread has failed, or Ctrl-C was pressed. At most `most`
        threads are used.
        """
        n_threads = self.n_threads if most is None else min(self.n_threads, most)
        n_ranges = max(1, min(n, n_threads))
        give_up = Event()

        def guarded(positions: slice) -> T:
            try:
                return work(positions, give_up.is_set)
            except BaseException:
                give_up.set()
                raise

        # The number of a range, its result, and the error that it raised.
        outbox: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()

        def answer(i: int, positions: slice) -> None:
            try:
                outbox.put((i, guarded(positions), None))
            except BaseException as error:  # for the thread that waits to raise
                outbox.put((i, None, error))

        if n_ranges == 1:
            return [guarded(slice(0, n))]
        cuts = [n * i // n_ranges for i in range(n_ranges + 1)]
        first, *others = (slice(a, b) for a, b in pairwise(cuts))
        try:
            self._start(len(others))
            for i, positions in enumerate(others):
                self._inboxes[i].put(partial(answer, i, positions))
            results = [guarded(first)]
            answers = sorted((outbox.get() for _ in others), key=lambda a: a[0])
        except BaseException:
            # Ctrl-C may come while this thread waits for the others.
            give_up.set()
            raise
        for _, result, error in answers:
            if error is not None:
                raise error
            results.append(result)
        return results

    def _start(self, n_threads: int) -> None:
        """Start threads until there are `n_threads` beside this one."""
        while len(self._inboxes) < n_threads:
            inbox: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
            start_new_thread(_serve, (inbox, self._ended))
            self._inboxes.append(inbox)


def _serve(inbox: SimpleQueue[Callable[[], None] | None], ended: SimpleQueue[None]) -> None:
    """Do the tasks that come in, until None comes."""
    while (task := inbox.get()) is not None:
        task()
        del task
    ended.put(None)


def share(n: int, n_threads: int, work: Callable[[slice, Stop], T]) -> list[T]:
    """Share one piece of work among threads, as a `Team` does."""
    with Team(n_threads) as team:
        return team.share(n, work)


def share_rows(X: Array, work: Callable[[slice, Stop], T]) -> list[T]:
    """Share the rows of a dense array among as many threads as repay a pass."""
    n_threads = min(n_cores(), max(1, X.size // MIN_ITEMS_PER_THREAD["values"]))
    return share(len(X), n_threads, work)


# Values on either side of an array: two lines of a processor's cache, fetched together.
APART = 16


def apart(array: Array) -> Array:
    """Return a copy that is no neighbour of another array in memory.

    Threads that write next to each other wait for each other.
    """
    room = np.empty(array.size + 2 * APART, array.dtype)
    copied = room[APART:-APART].reshape(array.shape)
    copied[...] = array
    return copied


# Multiplications that repay threads of BLAS: some 50 ms of one core. Fewer would wait
# for each other longer than they work, as they spin: on a busy machine a hundred times.
_MANY_PRODUCTS: Final = 1e9
# BLAS has one number of threads for the whole process: whoever comes first lowers it,
# and whoever leaves last puts it back. Nothing is computed while the lock is held.
_few_threads = Lock()
_n_inside = 0
_numbers_before: list[int] = []


@cache
def _blas() -> list[Any]:
    """Return the libraries of linear algebra; to find them takes milliseconds."""
    found = ThreadpoolController().select(user_api="blas").lib_controllers
    return [library for library in found if library.get_num_threads() is not None]


def _set_blas_threads(numbers: list[int]) -> None:
    for library, number in zip(_blas(), numbers, strict=True):
        library.set_num_threads(number)
        # From 3.7 on, threadpoolctl ignores other threads than the first to set one.
        getattr(library, "clear_controlling_thread", int)()


@contextmanager
def blas_threads_for(n_products: float) -> Iterator[None]:
    """Limit linear algebra of few multiplications to one thread while inside.

    Takes some microseconds. Others that compute meanwhile are limited as well, since
    the limit is that of the process.
    """
    global _n_inside  # noqa: PLW0603
    if n_products >= _MANY_PRODUCTS:
        yield
        return
    with _few_threads:
        if _n_inside == 0:
            _numbers_before[:] = [library.get_num_threads() for library in _blas()]
            _set_blas_threads([1] * len(_numbers_before))
        _n_inside += 1
    try:
        yield
    finally:
        with _few_threads:
            _n_inside -= 1
            if _n_inside == 0:
                _set_blas_threads(_numbers_before)
