"""The row of a stream that an estimator refuses."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

from peckorder._core.errors import with_location
from peckorder._core.typing import Bools
from peckorder.streams.block import Block, Stream


@contextmanager
def locate_errors(stream: Stream, block: Block, first: int) -> Iterator[None]:
    """Add the location in the stream to an error about a block that begins at row `first`."""
    try:
        yield
    except ValueError as error:
        located = with_location(error, _where(stream, block, first, str(error)))
        if located is None:
            raise
        raise located from None


def _where(stream: Stream, block: Block, first: int, message: str) -> str:
    row = _refused_row(block, message)
    if row is not None:
        return f"This is in {stream.called(first + row)} of the stream."
    return (
        f"This is of {len(block)} rows of the stream, of which the first is {stream.called(first)}."
    )


def _refused_row(block: Block, message: str) -> int | None:
    """Return the first row with the value that scikit-learn refuses; None if none."""
    is_odd = np.isnan if "contains NaN" in message else np.isinf
    if message.startswith("Input X contains"):
        return _first_row(block.X, is_odd)
    if message.startswith("Input y contains") and block.y.dtype.kind == "f":
        return _first(is_odd(block.y))
    return None


def _first_row(X: Any, is_odd: np.ufunc) -> int | None:
    if sparse.issparse(X):
        place = _first(is_odd(X.data))
        if place is None:
            return None
        return int(np.searchsorted(X.indptr, place, side="right")) - 1
    return _first(is_odd(X).any(axis=1))


def _first(is_odd: Bools) -> int | None:
    return int(np.argmax(is_odd)) if is_odd.any() else None
