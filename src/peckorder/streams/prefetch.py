"""Reading ahead: a thread reads the next blocks while a model learns from one."""

from collections.abc import Iterator
from contextlib import contextmanager
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Any, TypeVar

T = TypeVar("T")

# Seconds after which a waiting thread checks whether it must end.
_POLL_INTERVAL = 0.05


@contextmanager
def prefetched(source: Iterator[T], size: int) -> Iterator[Iterator[T]]:
    """Yield an iterator over the items of `source`, read ahead by a thread.

    The queue holds at most `size` items, besides the one being read and the one in use;
    with 0, items are read in the caller's thread. An error of the source is raised in
    place of its next item. The thread ends and the source is closed on leaving the
    context.
    """
    if size == 0:
        try:
            yield source
        finally:
            _close(source)
        return
    queue: Queue[Any] = Queue(size)
    stopped = Event()
    thread = Thread(target=_read, args=(source, queue, stopped), name="prefetch", daemon=True)
    thread.start()
    try:
        yield _items(queue)
    finally:
        stopped.set()
        thread.join()


def _read(source: Iterator[T], queue: "Queue[Any]", stopped: Event) -> None:
    error: BaseException | None = None
    try:
        # No variable refers to an item while the next is read, so that its memory can
        # be freed.
        while not stopped.is_set():
            item = next(source, None)
            if item is None:
                break
            _put(queue, item, stopped)
            del item
    except BaseException as caught:  # for the consumer to raise
        error = caught
    finally:
        _close(source)
    _put(queue, error, stopped)  # None at the end


def _put(queue: "Queue[Any]", item: object, stopped: Event) -> None:
    while not stopped.is_set():
        try:
            queue.put(item, timeout=_POLL_INTERVAL)
        except Full:
            continue
        return


def _items(queue: "Queue[Any]") -> Iterator[T]:
    while True:
        try:
            # With a timeout: without one, some systems do not react to Ctrl-C.
            item = queue.get(timeout=_POLL_INTERVAL)
        except Empty:
            continue
        if isinstance(item, BaseException):
            raise item
        if item is None:
            return
        yield item
        del item


def _close(source: Iterator[T]) -> None:
    close = getattr(source, "close", None)
    if close is not None:
        close()
