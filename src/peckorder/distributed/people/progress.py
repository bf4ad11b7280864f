"""How far a run is: told to a function, on a terminal, or not at all."""

import sys
from collections.abc import Callable
from time import monotonic
from typing import Any, Final, TypeAlias

Tell: TypeAlias = Callable[[int, int], None]
# Seconds between two lines.
_PAUSE: Final = 0.2


def teller(progress: Any, n_known: int) -> Tell:
    """Return what is to be called with (people done, people in all).

    `n_known` were in the store before.
    """
    if callable(progress):
        tell: Tell = progress
        return tell
    is_wanted = sys.stderr.isatty() if progress is None else progress
    return Line(n_known) if is_wanted else lambda done, total: None


class Line:
    """One line on a terminal, written again and again."""

    def __init__(self, n_known: int) -> None:
        self._n_known, self._begin, self._last = n_known, monotonic(), 0.0

    def __call__(self, done: int, total: int) -> None:
        """Write how far it is, how fast, and how long it will take."""
        now = monotonic()
        if done < total and now - self._last < _PAUSE:
            return
        self._last = now
        rate = (done - self._n_known) / max(now - self._begin, 1e-9)
        left = f", {(total - done) / rate:,.0f} s left" if rate and done < total else ""
        text = f"{done:,} of {total:,} people, {rate:,.1f} a second{left}"
        end = "\n" if done == total else ""
        sys.stderr.write(f"\r{text:<70}{end}")
        sys.stderr.flush()
