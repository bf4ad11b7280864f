"""Work shared among threads, so that Ctrl-C is still heard."""

from _thread import start_new_thread
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from os import cpu_count
from queue import SimpleQueue
from threading import Event
from typing import Any, Final, Self, TypeAlias, TypeVar

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
# The most threads that work begun here may take; None for all cores.
_most: ContextVar[int | None] = ContextVar("most threads", default=None)


def n_cores() -> int:
    """Return how many threads work begun here may take: one a core, or fewer."""
    return allowed(cpu_count() or 1)


def allowed(n_threads: int) -> int:
    """Return so many threads, or as many as work begun here may take.

    A worker of a cluster has its share of the cores, and others have theirs.
    """
    most = _most.get()
    return n_threads if most is None else min(n_threads, most)


@contextmanager
def at_most(n_threads: int) -> Iterator[None]:
    """Let work that is begun inside, in this thread, take no more threads."""
    token = _most.set(max(1, n_threads))
    try:
        yield
    finally:
        _most.reset(token)


class Team:
    """Threads that stay together for several pieces of work, started when needed.

    Made of simple queues, whose locks are never left held by a Ctrl-C that comes while
    they are waited for; those of executors and events may be.
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._inboxes: list[SimpleQueue[Any]] = []
        self._gone: SimpleQueue[None] = SimpleQueue()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        for inbox in self._inboxes:
            inbox.put(None)
        for _ in self._inboxes:
            self._gone.get()
        self._inboxes = []

    def share(
        self,
        n: int,
        work: Callable[[slice, Stop], T],
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
        first, *others = (slice(a, b) for a, b in pairwise(cuts))
        outbox: SimpleQueue[Any] = SimpleQueue()
        try:
            self._call_in(len(others))
            for place, (inbox, part) in enumerate(
                zip(self._inboxes, others, strict=False)
            ):
                inbox.put((guarded, part, place, outbox))
            done = [guarded(first)]
            told = sorted((outbox.get() for _ in others), key=lambda one: one[0])
        except BaseException:
            # Ctrl-C may come while this thread waits for the others.
            give_up.set()
            raise
        for _, result, error in told:
            if error is not None:
                raise error
            done.append(result)
        return done

    def _call_in(self, n_others: int) -> None:
        """Start threads until there are so many."""
        while len(self._inboxes) < n_others:
            inbox: SimpleQueue[Any] = SimpleQueue()
            start_new_thread(_serve, (inbox, self._gone))
            self._inboxes.append(inbox)


def _serve(inbox: SimpleQueue[Any], gone: SimpleQueue[None]) -> None:
    """Do whatever work comes in, until None comes."""
    while (task := inbox.get()) is not None:
        work, part, place, outbox = task
        answer: tuple[int, Any, BaseException | None]
        try:
            answer = place, work(part), None
        except BaseException as error:  # for the thread that asked to raise
            answer = place, None, error
        outbox.put(answer)
        del task, work, outbox, answer
    gone.put(None)


def share(n: int, n_threads: int, work: Callable[[slice, Stop], T]) -> list[T]:
    """Share one piece of work among threads, as a `Team` does."""
    with Team(n_threads) as team:
        return team.share(n, work)


def share_rows(X: Any, work: Callable[[slice, Stop], T]) -> list[T]:
    """Share the rows of a dense array among as many threads as a pass is worth."""
    n_threads = min(n_cores(), max(1, X.size // MIN_ITEMS_PER_THREAD["values"]))
    return share(len(X), n_threads, work)
