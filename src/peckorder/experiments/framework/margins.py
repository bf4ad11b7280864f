"""Sides of what is claimed to be alike, or no worse: by a margin that is stated."""

from peckorder._core.typing import Floats
from peckorder.experiments.framework.verdicts import side


def within(differences: Floats, margin: float) -> int:
    """Return 1 if the 95 % interval lies within the margin, -1 if outside, else 0."""
    return min(side(margin - differences), side(margin + differences))


def not_behind(lead: float, half: float, margin: float) -> int:
    """Return 1 if a lead is above minus the margin by its interval, -1 if below it."""
    if lead - half > -margin:
        return 1
    return -1 if lead + half < -margin else 0
