"""Verdicts on what a paper claims, all by one rule."""

from collections.abc import Iterable

import numpy as np

from peckorder._core.typing import Floats
from peckorder.metrics import half_width

RULE = (
    "A claim is a list of comparisons. Yes: in all of them the 95 % interval of the "
    "paired difference lies on the side that is claimed. No: in none, and in some on "
    "the other side. Open: every interval has zero in it. In part: all else."
)


def side(differences: Floats) -> int:
    """Return the sign of the mean of paired differences, 0 if that is open.

    Open is what has zero in its 95 % interval, and what was repeated but once.
    """
    differences = differences[np.isfinite(differences)]
    if len(differences) < 2:
        return 0
    mean, half = float(differences.mean()), float(half_width(differences))
    return 0 if abs(mean) <= half else int(np.sign(mean))


def verdict(sides: Iterable[int]) -> str:
    """Judge comparisons: 1 is for the claim, -1 against it, 0 is open."""
    found = list(sides)
    if found and all(each > 0 for each in found):
        return "yes"
    if any(each > 0 for each in found):
        return "in part"
    return "no" if any(each < 0 for each in found) else "open"


def difference_text(differences: Floats, decimals: int = 3) -> str:
    """Write the mean of paired differences, with its sign, and half its interval."""
    text = f"{differences.mean():+.{decimals}f}"
    if len(differences) > 1:
        text += f" ± {float(half_width(differences)):.{decimals}f}"
    return text.replace("-", "\N{MINUS SIGN}")
