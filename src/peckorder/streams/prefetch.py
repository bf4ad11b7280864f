"""Reading ahead: a thread makes the next blocks while one is learnt."""

from collections.abc import Iterator
from contextlib import contextmanager
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import TypeVar

T = TypeVar("T")

# How soon a thread that waits for room notices that nobody wants its blocks.
_A_WHILE = 0.05


class _End:
    """What the thread says last: that all is read, or why no more could be."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


@contextmanager
def prefetched(source: Iterator[T], size: int) -> Iterator[Iterator[T]]:
    """Give an iterator over what `source` yields, read ahead by a thread.

    No more than `size` items wait, beside the one being made and the one in use; 0
    reads in the caller's own thread. An error of the source is raised in the place of
    its next item. However the block of the context is left, the thread ends, and the
    source is closed.
    """
    if size == 0:
        try:
            yield source
        finally:
            _close(source)
        return
    waiting: Queue[T | _End] = Queue(size)
    unwanted = Event()
    thread = Thread(
        target=_read, args=(source, waiting, unwanted), name="prefetch", daemon=True
    )
    thread.start()
    try:
        yield _received(waiting)
    finally:
        unwanted.set()
        thread.join()


def _read(source: Iterator[T], waiting: "Queue[T | _End]", unwanted: Event) -> None:
    error: BaseException | None = None
    try:
        # The block is not kept in a name while the next is made: it may be all that
        # holds its memory.
        while not unwanted.is_set():
            item = next(source, None)
            if item is None:
                break
            _put(waiting, item, unwanted)
            del item
    except BaseException as caught:  # for the consumer to raise
        error = caught
    finally:
        _close(source)
    _put(waiting, _End(error), unwanted)


def _put(waiting: "Queue[T | _End]", item: "T | _End", unwanted: Event) -> None:
    while not unwanted.is_set():
        try:
            waiting.put(item, timeout=_A_WHILE)
        except Full:
            continue
        return


def _received(waiting: "Queue[T | _End]") -> Iterator[T]:
    while True:
        try:
            # Not for ever: some systems hear no Ctrl-C meanwhile.
            item = waiting.get(timeout=_A_WHILE)
        except Empty:
            continue
        if isinstance(item, _End):
            if item.error is not None:
                raise item.error
            return
        yield item
        del item


def _close(source: Iterator[T]) -> None:
    close = getattr(source, "close", None)
    if close is not None:
        close()
