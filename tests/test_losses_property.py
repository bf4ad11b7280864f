"""Losses of pairs are what the loop over pairs gives, and so are their slopes."""

from fractions import Fraction

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from peckorder.losses import pair_loss

pytestmark = pytest.mark.jit_off

EXAMPLES = settings(max_examples=10 if numba.config.DISABLE_JIT else 60)
KINDS = ["mp", "svr", "hr", "hmp", "hmpc"]
CONVEX = ["mp", "svr", "hr", "hmpc"]
every_loss = pytest.mark.parametrize(
    ("kind", "power"), [(kind, power) for kind in KINDS for power in (1, 2)]
)
every_convex_loss = pytest.mark.parametrize(
    ("kind", "power"), [(kind, power) for kind in CONVEX for power in (1, 2)]
)

# Halves and quarters: every sum is exact, and kinks are met.
few = st.integers(-4, 4).map(lambda n: n / 2)
many = st.floats(-8, 8, width=16)
weights = st.sampled_from([0.0, 0.5, 1.0, 1.0, 3.0])
tops = st.sampled_from([0.0, 0.5, 3.0])


def tables(value, max_size=60):
    row = st.tuples(value, value, weights, st.integers(0, 3))
    rows = st.lists(row, min_size=1, max_size=max_size)
    return rows.map(lambda table: [np.array(c) for c in zip(*table, strict=True)])


def one_pair(kind, dh, dy, epsilon):
    """Return the loss of a pair to the power 1, and its slope in dh."""
    de = dh - dy
    sign = (de > 0) - (de < 0)
    if kind in {"mp", "svr"}:
        return (abs(de) - epsilon, sign) if abs(de) > epsilon else (0, 0)
    if kind == "hmpc":
        gap = abs(dy) - dh if dy > 0 else abs(dy) + dh
        return (gap, -1 if dy > 0 else 1) if dy != 0 and gap > 0 else (0, 0)
    if not dh * dy < 0:
        return 0, 0
    return (abs(dh), (dh > 0) - (dh < 0)) if kind == "hr" else (abs(de), sign)


def lifts(y, qid, weight, top_weight):
    """Return ``1 + top_weight t`` of each row, t from 0 to 1 within its query."""
    out = []
    for i in range(len(y)):
        others = [y[j] for j in range(len(y)) if qid[j] == qid[i] and (weight[j] or i == j)]
        low, span = min(others), max(others) - min(others)
        t = (y[i] - low) / span if span else Fraction(0)
        out.append(1 + Fraction(top_weight) * t)
    return out


def by_pairs(kind, scores, y, power, epsilon=0.0, qid=None, weight=None, top_weight=0.0):
    """Sum over all ordered pairs, in fractions."""
    h, y = [list(map(Fraction, map(float, column))) for column in (scores, y)]
    n = len(h)
    qid = np.zeros(n) if qid is None else qid
    w = list(map(Fraction, np.ones(n) if weight is None else weight))
    lift = lifts(y, qid, w, top_weight)
    value, gradient = Fraction(0), [Fraction(0)] * n
    for i in range(n):
        for j in range(n):
            if qid[i] != qid[j]:
                continue
            loss, sign = one_pair(kind, h[j] - h[i], y[j] - y[i], Fraction(epsilon))
            pair = w[i] * w[j] * (lift[i] if y[i] > y[j] else lift[j])
            value += pair * loss**power
            slope = pair * power * loss ** (power - 1) * sign if loss else 0
            gradient[j] += slope
            gradient[i] -= slope
    return float(value), np.array(gradient, dtype=float)


def options(kind, power, top_weight=0.0, epsilon=0.5):
    how = {"power": power, "top_weight": top_weight}
    return how | ({"epsilon": epsilon} if kind == "svr" else {})


def assert_same(got, expected):
    value, gradient = expected
    scale = max(abs(gradient).max(), 1e-300)
    assert_allclose(got.value, value, rtol=1e-13, atol=1e-300)
    assert_allclose(got.gradient, gradient, rtol=1e-12, atol=1e-13 * scale)


@every_loss
@EXAMPLES
@given(tables(few), tops)
def test_the_loop_over_pairs_gives_the_same_with_ties_and_kinks(kind, power, table, top):
    h, y, weight, qid = table
    how = options(kind, power, top)
    got = pair_loss(kind, h, y, qid=qid, sample_weight=weight, **how)
    assert_same(got, by_pairs(kind, h, y, qid=qid, weight=weight, **how))


@every_loss
@EXAMPLES
@given(tables(many), tops)
def test_the_loop_over_pairs_gives_the_same(kind, power, table, top):
    h, y, _, _ = table
    if kind == "hmp":
        y = np.round(y)  # its rounding is relative to the widest difference
    how = options(kind, power, top, epsilon=1.375)
    assert_same(pair_loss(kind, h, y, **how), by_pairs(kind, h, y, **how))


@every_loss
@EXAMPLES
@given(tables(few), st.sampled_from([1e7, -1e12]), tops)
def test_a_constant_costs_no_digits(kind, power, table, constant, top):
    h, y, weight, qid = table
    how = options(kind, power, top) | {"qid": qid, "sample_weight": weight}
    near = pair_loss(kind, h, y, **how)
    far = pair_loss(kind, h + constant, y - 3 * constant, **how)
    assert_same(far, near)


@every_loss
@EXAMPLES
@given(tables(few), st.randoms(use_true_random=False), tops)
def test_the_order_of_rows_does_not_matter(kind, power, table, random, top):
    h, y, weight, qid = table
    how = options(kind, power, top)
    order = list(range(len(h)))
    random.shuffle(order)
    one = pair_loss(kind, h, y, qid=qid, sample_weight=weight, **how)
    other = pair_loss(kind, h[order], y[order], qid=qid[order], sample_weight=weight[order], **how)
    assert_allclose(other.value, one.value, rtol=1e-14)
    assert_allclose(other.gradient, one.gradient[order], rtol=1e-13, atol=1e-12)


@every_loss
@EXAMPLES
@given(tables(few), tops)
def test_rows_of_weight_zero_are_ignored(kind, power, table, top):
    h, y, weight, qid = table
    how = options(kind, power, top)
    is_there = weight > 0
    got = pair_loss(kind, h, y, qid=qid, sample_weight=weight, **how)
    assert_array_equal(got.gradient[~is_there], 0.0)
    if is_there.any():
        kept = h[is_there], y[is_there]
        rest = {"qid": qid[is_there], "sample_weight": weight[is_there]}
        got = got._replace(gradient=got.gradient[is_there])
        assert_same(got, pair_loss(kind, *kept, **rest, **how))


@every_loss
@EXAMPLES
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), tops)
def test_the_gradient_is_that_of_finite_differences(kind, power, seed, n, top):
    rng = np.random.default_rng(seed)
    # No difference of scores is nearer to a half than the last term: no kink in reach.
    h = rng.permutation(4 * n)[:n] / 32 + np.arange(n) / (1 << 14)
    y, weight = rng.integers(0, 4, n), rng.integers(0, 3, n)
    step = 2.0**-16
    how = options(kind, power, top) | {"sample_weight": weight}
    _, gradient = pair_loss(kind, h, y, **how)
    for i in range(min(n, 5)):
        up, down = h.copy(), h.copy()
        up[i] += step
        down[i] -= step
        rise = pair_loss(kind, up, y, **how).value - pair_loss(kind, down, y, **how).value
        # A parabola's difference quotient, too, is its slope.
        assert_allclose(rise / (2 * step), gradient[i], rtol=1e-6, atol=1e-4)


@every_loss
@EXAMPLES
@given(tables(few), tops)
def test_the_truths_of_each_query_may_be_shifted(kind, power, table, top):
    h, y, weight, qid = table
    how = options(kind, power, top) | {"qid": qid, "sample_weight": weight}
    shifted = pair_loss(kind, h, y + 4.0 * qid, **how)
    assert_same(shifted, pair_loss(kind, h, y, **how))


@every_loss
@EXAMPLES
@given(tables(few), st.sampled_from([0.25, 8.0]), tops)
def test_a_factor_of_scores_and_truths_comes_out(kind, power, table, factor, top):
    h, y, weight, qid = table
    how = {"qid": qid, "sample_weight": weight}
    one = pair_loss(kind, h, y, **how, **options(kind, power, top))
    wide = options(kind, power, top, epsilon=0.5 * factor)
    other = pair_loss(kind, factor * h, factor * y, **how, **wide)
    value, gradient = factor**power * one.value, factor ** (power - 1) * one.gradient
    assert_same(other, (value, gradient))


@every_convex_loss
@EXAMPLES
@given(tables(few), st.randoms(use_true_random=False), tops)
def test_the_convex_ones_lie_above_their_gradients(kind, power, table, random, top):
    h, y, weight, qid = table
    other = np.array([random.randint(-8, 8) / 4 for _ in h])
    how = options(kind, power, top) | {"qid": qid, "sample_weight": weight}
    here, there = pair_loss(kind, h, y, **how), pair_loss(kind, other, y, **how)
    below = here.value + here.gradient @ (other - h)
    assert there.value >= below - 1e-9 * (1 + abs(below))
    middle = pair_loss(kind, (h + other) / 2, y, **how).value
    assert middle <= (here.value + there.value) / 2 * (1 + 1e-12) + 1e-9
