"""Records that grow: pieces in order, never many of them."""

from collections.abc import Callable, Sized
from typing import TypeVar

P = TypeVar("P", bound=Sized)


def grown(
    record: tuple[P, ...], new: P, join: Callable[[tuple[P, P]], P]
) -> tuple[P, ...]:
    """Add a piece, joining pieces of like size: each entry is copied O(log n) times.

    The pieces are never written to, so that copies of a record may share them.
    """
    while record and len(record[-1]) <= len(new):
        new, record = join((record[-1], new)), record[:-1]
    return (*record, new)
