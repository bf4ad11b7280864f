"""The best mixture of planes: against all sets of planes that might be in use."""

from itertools import combinations

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from peckorder.magnitude.svrank_solver.minimise import Master, shares

pytestmark = pytest.mark.jit_off
EXAMPLES = settings(max_examples=20 if numba.config.DISABLE_JIT else 150)


def value(G, b, x):
    return b @ x - x @ G @ x / 4


def best_of_all_sets(G, b):
    """Return the largest value of the best mixtures of all sets of planes."""
    n, best = len(b), -np.inf
    for size in range(1, n + 1):
        for chosen in map(list, combinations(range(n), size)):
            # Slopes are level, and shares add up to one.
            system = np.ones((size + 1, size + 1))
            system[:size, :size] = G[np.ix_(chosen, chosen)] / 2
            system[size, size] = 0.0
            found = np.linalg.lstsq(system, np.append(b[chosen], 1.0), rcond=1e-10)[0]
            x = np.zeros(n)
            x[chosen] = found[:size]
            if x.min() >= -1e-9 and abs(x.sum() - 1) < 1e-9:
                best = max(best, value(G, b, np.maximum(x, 0.0) / x.clip(0).sum()))
    return best


@st.composite
def planes(draw, most=6):
    """Draw slopes, few dimensions and repeated planes among them, and heights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(1, most)), draw(st.integers(1, 4))
    A = rng.normal(size=(n, d))
    A = draw(st.sampled_from([A, np.round(A), A + 5.0, A[[0] * n], 0.0 * A, 100.0 * A]))
    b = draw(st.sampled_from([rng.normal(size=n), np.zeros(n), np.ones(n)]))
    return A, b, int(rng.integers(n))


@EXAMPLES
@given(planes())
def test_no_set_of_planes_has_a_better_mixture(drawn):
    A, b, first = drawn
    G = A @ A.T
    x = shares(G, b, np.eye(len(b))[first])
    assert x.min() >= 0.0
    assert x.sum() == pytest.approx(1.0, rel=1e-12)
    scale = 1.0 + np.abs(b).max() + np.abs(G).max()
    assert value(G, b, x) >= best_of_all_sets(G, b) - 1e-12 * scale


@EXAMPLES
@given(planes(most=40))
def test_no_plane_is_steeper_than_the_mixture(drawn):
    A, b, first = drawn
    G = A @ A.T
    x = shares(G, b, np.eye(len(b))[first])
    slope = b - G @ x / 2
    scale = 1.0 + np.abs(b).max() + np.abs(G).max()
    assert slope.max() - slope @ x <= 1e-11 * scale


def test_a_start_that_is_best_stays():
    G, b = np.diag([4.0, 4.0]), np.zeros(2)
    assert_allclose(shares(G, b, np.array([0.5, 0.5])), [0.5, 0.5])


def test_the_lowest_point_of_planes_worked_by_hand():
    # w^2 + max(2w + 1, -2w + 1) is lowest at w = 0, where it is 1.
    master, zero = Master(), np.zeros((1, 1))
    master.add(np.array([[2.0]]), 1.0, zero)
    w, bound, noise = master.solve()
    assert (w[0, 0], bound) == (-1.0, 0.0)
    master.add(np.array([[-2.0]]), 1.0, zero)
    w, bound, noise = master.solve()
    assert_allclose([w[0, 0], bound], [0.0, 1.0], atol=1e-15)
    assert 0.0 < noise < 1e-12


def test_planes_far_steeper_than_their_mixture_report_their_rounding():
    master, zero = Master(), np.zeros((1, 1))
    for slope in (1e12, -1e12):
        master.add(np.array([[slope]]), 1.0, zero)
    _, bound, noise = master.solve()
    assert bound - noise <= 1.0
    assert noise > 1e-9
