"""A thread that reads ahead: so far and no further, and it always ends."""

import threading
import time

import pytest

from peckorder.streams.prefetch import prefetched


class Counter:
    """Counts, and records how far it was read and whether it was closed."""

    def __init__(self, end, error=None):
        self.made, self.end, self.error, self.closed = 0, end, error, False

    def __iter__(self):
        return self

    def __next__(self):
        if self.made == self.end:
            if self.error is not None:
                raise self.error
            raise StopIteration
        self.made += 1
        return self.made

    def close(self):
        self.closed = True


def threads():
    return [t for t in threading.enumerate() if t.name == "prefetch"]


def consume(source, size, error):
    with prefetched(source, size) as items:
        next(items)
        raise error


def check_ended(source):
    assert source.closed
    assert threads() == []


@pytest.mark.parametrize("size", [0, 1, 3])
def test_all_comes_in_its_order(size):
    source = Counter(50)
    with prefetched(source, size) as items:
        assert list(items) == list(range(1, 51))
    check_ended(source)


@pytest.mark.parametrize("size", [1, 3])
def test_no_more_is_made_than_may_wait(size):
    source = Counter(50)
    with prefetched(source, size) as items:
        assert next(items) == 1
        deadline = time.monotonic() + 5
        # What waits, the one in use and the one that finds no room.
        while source.made < size + 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.1)
        assert source.made == size + 2
    check_ended(source)


@pytest.mark.parametrize("size", [0, 2])
def test_an_error_comes_in_the_place_of_the_item(size):
    source = Counter(4, error=OSError("the disk is gone"))
    with prefetched(source, size) as items:
        assert [next(items) for _ in range(4)] == [1, 2, 3, 4]
        with pytest.raises(OSError, match="the disk is gone"):
            next(items)
    check_ended(source)


@pytest.mark.parametrize("size", [0, 2])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_consumer_that_fails_ends_the_thread(size, error):
    source = Counter(1000)
    with pytest.raises(error):
        consume(source, size, error)
    check_ended(source)
