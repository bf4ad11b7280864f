"""Whether a paper's claims hold: comparisons, and verdicts that allow for their number."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from scipy import stats

from peckorder._core.typing import Floats
from peckorder.experiments.framework import Claim, Comparison

LEVEL = 0.05
RULE = (
    "A claim is a list of comparisons. A comparison is sure if the mean of the paired "
    "differences is not zero, by Student's t, at 5 % for all comparisons of the paper "
    "together (Holm). Yes: all are sure and on the claimed side. No: none is, and at least "
    "one is sure on the other side. Open: none is sure. In part: all else. So an interval "
    "of 95 %, which is of one difference alone, may lie on one side of zero where the "
    "verdict is open."
)


def above_zero(differences: Floats) -> Comparison:
    """Return whether the mean of paired differences is above zero, NaN left out."""
    differences = differences[np.isfinite(differences)]
    n = len(differences)
    mean = float(differences.mean()) if n else 0.0
    if n < 2 or mean == 0.0:
        return Comparison(int(np.sign(mean)), 1.0)
    error = float(differences.std(ddof=1)) / np.sqrt(n)
    p = 2.0 * float(stats.t.sf(abs(mean) / error, n - 1)) if error > 0.0 else 0.0
    return Comparison(int(np.sign(mean)), p)


def below(losses: Floats, rival: Floats) -> Comparison:
    """Return whether paired losses are lower than a rival's in the mean."""
    return above_zero(rival - losses)


def exactly(difference: float) -> Comparison:
    """Return whether a number that is not left to chance is above zero."""
    return Comparison(int(np.sign(difference)), None)


def all_of(comparisons: Iterable[Comparison]) -> Comparison:
    """Return one comparison that supports a claim if all of these do.

    It contradicts the claim if one does: of k comparisons the p of that one times k.
    """
    values = list(comparisons)
    against = [_p(one) for one in values if one.sign < 0]
    if against:
        return Comparison(-1, min(1.0, len(values) * min(against)))
    if any(one.sign == 0 for one in values):
        return Comparison(0, 1.0)
    return Comparison(1, max(map(_p, values)))


def _p(comparison: Comparison) -> float:
    return 0.0 if comparison.p is None else comparison.p


def below_all(losses: Floats, rivals: Iterable[Floats]) -> Comparison:
    """Return whether paired losses are lower than every rival's."""
    return all_of(below(losses, rival) for rival in rivals)


def within(differences: Floats, margin: float) -> Comparison:
    """Return whether the mean of paired differences is within the margin."""
    return all_of((above_zero(margin - differences), above_zero(margin + differences)))


def judged(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Return all claims of a paper with their verdicts, by Holm's method.

    The i-th smallest of m values of p, from 0 on, is sure if it and all smaller ones are
    at most ``0.05 / (m - i)``. What is not left to chance is sure, and does not count.
    A claim that has its verdict keeps it.
    """
    values = sorted(one.p for claim in claims for one in claim.comparisons if one.p is not None)
    limit = -1.0
    for i, p in enumerate(values):
        if p > LEVEL / (len(values) - i):
            break
        limit = p
    return tuple(claim if claim.holds else _judged(claim, limit) for claim in claims)


def _judged(claim: Claim, limit: float) -> Claim:
    sides = tuple(one.sign if _p(one) <= limit or one.p is None else 0 for one in claim.comparisons)
    return replace(claim, holds=verdict(sides), sides=sides)


def verdict(sides: Iterable[int]) -> str:
    """Judge comparisons: 1 supports the claim, -1 contradicts it, 0 is open."""
    values = list(sides)
    if values and min(values) > 0:
        return "yes"
    if any(value > 0 for value in values):
        return "in part"
    return "no" if any(value < 0 for value in values) else "open"


def tally(claim: Claim) -> str:
    """Format how many of a claim's comparisons support it, contradict it, or are open."""
    counts = {
        "for": claim.sides.count(1),
        "against": claim.sides.count(-1),
        "open": claim.sides.count(0),
    }
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count)
