"""What is known of published data, held against what was read."""

import sys
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from peckorder.feedback import Ratings


def check_facts(
    who: str, title: str, known: Mapping[str, Any], found: Mapping[str, Any]
) -> None:
    """Warn, in one sentence, if data differ from the published set.

    They may be part of it, on purpose; what cannot be read at all is refused
    elsewhere.
    """
    differ = [name for name in known if known[name] != found[name]]
    if differ:
        published = ", ".join(f"{_shown(known[name])} {name}" for name in differ)
        here = ", ".join(f"{_shown(found[name])} {name}" for name in differ)
        warnings.warn(
            f"{who}: {title} must have {published} to be the published set; got "
            f"{here}.",
            UserWarning,
            stacklevel=_callers(),
        )


def ratings_facts(ratings: Ratings, items: str) -> dict[str, Any]:
    """Return what can be counted of ratings."""
    return {
        "ratings": len(ratings),
        "users": ratings.n_users,
        items: ratings.n_items,
    }


def counts(values: Any, levels: range) -> tuple[int, ...]:
    """Return how often each level occurs."""
    return tuple(int(np.count_nonzero(values == level)) for level in levels)


def _callers() -> int:
    """Return how many frames below `check_facts` are ours, so that users see theirs."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(
        "peckorder."
    ):
        frame, level = frame.f_back, level + 1
    return level


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return "/".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
