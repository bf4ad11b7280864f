"""Thresholds cross under ROMMA, as PRank's notes say."""

from fractions import Fraction

import pytest


def dot(a, b):
    return sum(p * q for p, q in zip(a, b, strict=True))


def romma_step(v, u):
    """Return the smallest vector with v'.v >= v.v and v'.u >= 1."""
    if not any(v):
        return [value / dot(u, u) for value in u]
    rest = dot(u, u) * dot(v, v) - dot(v, u) ** 2
    c = (dot(u, u) * dot(v, v) - dot(v, u)) / rest
    d = dot(v, v) * (1 - dot(v, u)) / rest
    return [c * old + d * new for old, new in zip(v, u, strict=True)]


@pytest.fixture(scope="module")
def thresholds():
    """The thresholds after each row of the counter-example in PRank's notes."""
    v, passed = [Fraction(0)] * 3, []
    for x, y in [(-3, 1), (1, 1), (3, 2), (1, 3)]:
        score, b = v[0] * x, v[1:]
        assert 1 + sum(score >= threshold for threshold in b) != y
        z = [1 if y > r else -1 for r in (1, 2)]
        tau = [zr if zr * (score - br) <= 0 else 0 for zr, br in zip(z, b, strict=True)]
        v = romma_step(v, [Fraction(sum(tau) * x), *(Fraction(-t) for t in tau)])
        passed.append(v[1:])
    return passed


def test_the_thresholds_go_the_way_the_notes_say(thresholds):
    assert thresholds[1:] == [
        [Fraction(1, 2), Fraction(1, 2)],
        [Fraction(8, 19), Fraction(11, 19)],
        [Fraction(20, 44), Fraction(3, 44)],
    ]


def test_the_thresholds_cross(thresholds):
    assert [low > high for low, high in thresholds] == [False, False, False, True]


def test_a_step_meets_its_two_constraints():
    v, u = [Fraction(1), Fraction(2), Fraction(-1)], [Fraction(-1), Fraction(1), 0]
    moved = romma_step(v, u)
    assert (dot(moved, v), dot(moved, u)) == (dot(v, v), 1)
