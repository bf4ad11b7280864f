"""Lines of the Netflix Prize, ``movie:`` and ``customer,rating,date``; compiled."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from peckorder._core.compiled.jit import compiled, inlined

_NEWLINE, _RETURN, _COMMA, _ZERO, _COLON = 10, 13, 44, 48, 58
_LARGEST = 2**31 - 1


class PrizeRows(NamedTuple):
    """The arrays that `read_ratings` writes, with room for a rating per line."""

    customer: NDArray[np.int32]
    movie: NDArray[np.int32]
    rating: NDArray[np.uint8]


@inlined
def _integer(text: NDArray[np.uint8], at: int) -> tuple[int, int]:
    """Return the integer at a position, at most 2**31, and the position after it."""
    number = 0
    digit = int(text[at]) - _ZERO
    while 0 <= digit <= 9:
        number = min(10 * number + digit, _LARGEST + 1)
        at += 1
        digit = int(text[at]) - _ZERO
    return number, at


@compiled
def read_ratings(text: NDArray[np.uint8], movie: int, rows: PrizeRows) -> tuple[int, int, int]:
    """Parse whole lines and write them to `rows`.

    text (n,) ends in a newline; `movie` is that of the lines before, or -1. Returns the
    number of ratings, the movie of the last line, and the position of a malformed line,
    or -1.
    """
    at, row = 0, 0
    while at < text.shape[0]:
        start = at
        number, at = _integer(text, at)
        if number > _LARGEST:
            return row, movie, start
        if at > start:
            if text[at] == _COLON:
                movie = number
                at += 1
            elif (
                movie >= 0
                and text[at] == _COMMA
                and 1 <= int(text[at + 1]) - _ZERO <= 5
                and text[at + 2] == _COMMA
            ):
                rows.customer[row], rows.movie[row] = number, movie
                rows.rating[row] = text[at + 1] - _ZERO
                row += 1
                while text[at] != _NEWLINE:
                    at += 1
            else:
                return row, movie, start
        if text[at] == _RETURN:
            at += 1
        if text[at] != _NEWLINE:
            return row, movie, start
        at += 1
    return row, movie, -1
