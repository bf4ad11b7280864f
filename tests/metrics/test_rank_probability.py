"""The probability of a rank, to the last digits, in short lists and in long ones."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from peckorder.exceptions import DataError
from peckorder.metrics import rank_probability
from support.helpers import exactly

N = 1_000_000
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097")


def among_equals(size, n_good, k):
    """Return the probabilities for the k-th good row of a list of equal scores."""
    return rank_probability(np.arange(size) < n_good, np.zeros(size), k)


def exact(size, n_good, k, rank):
    good_above, good_below = comb(rank - 1, k - 1), comb(size - rank, n_good - k)
    return Fraction(good_above * good_below, comb(size, n_good))


def log_factorial(n):
    """Return Stirling's series, exact to more than 20 digits from 1000 on."""
    n = Decimal(n)
    series = 1 / (12 * n) - 1 / (360 * n**3) + 1 / (1260 * n**5)
    return (n + Decimal("0.5")) * n.ln() - n + (2 * PI).ln() / 2 + series


def log_choose(n, k):
    return log_factorial(n) - log_factorial(k) - log_factorial(n - k)


def by_stirling(size, n_good, k, rank):
    with localcontext(prec=50):
        above, below = log_choose(rank - 1, k - 1), log_choose(size - rank, n_good - k)
        return float((above + below - log_choose(size, n_good)).exp())


@pytest.mark.jit_off
@pytest.mark.filterwarnings("ignore:.*every row is good:UserWarning")
@pytest.mark.parametrize("size", range(1, 10))
def test_short_lists_are_exact(size):
    for n_good in range(1, size + 1):
        for k in range(1, n_good + 1):
            got = among_equals(size, n_good, k)
            ranks = range(1, size + 1)
            wanted = [float(exact(size, n_good, k, rank)) for rank in ranks]
            assert_allclose(got, wanted, rtol=1e-15, atol=0)


def test_rows_above_and_below_the_group_have_no_part_in_it():
    truth, score = [0, 1, 1, 0, 1, 0], [9.0, 8.0, 5.0, 5.0, 5.0, 1.0]
    assert_allclose(rank_probability(truth, score, 2), [0, 0, 2 / 3, 1 / 3, 0, 0])


@pytest.mark.parametrize(
    ("size", "n_good", "k"),
    [
        (N, 1, 1),
        (N, 3, 2),
        (N, 20, 1),
        (N, 20, 20),
        (N, N - 3, N - 5),
        (10**5, 5 * 10**4, 25 * 10**3),
        (10**7, 3, 2),
    ],
)
def test_long_lists_are_exact(size, n_good, k):
    got = among_equals(size, n_good, k)
    likely = np.flatnonzero(got > 1e-300)
    ranks = 1 + likely[np.linspace(0, len(likely) - 1, 9, dtype=int)]
    wanted = [float(exact(size, n_good, k, int(rank))) for rank in ranks]
    assert_allclose(got[ranks - 1], wanted, rtol=1e-14, atol=0)


@pytest.mark.parametrize("size", [N, 10**7])
def test_long_lists_of_many_good_rows_are_exact(size):
    n_good, k = size // 2, size // 4
    got = among_equals(size, n_good, k)
    for rank in np.linspace(0.495, 0.505, 5) * size:
        wanted = by_stirling(size, n_good, k, int(rank))
        assert_allclose(got[int(rank) - 1], wanted, rtol=1e-14, atol=0)


@pytest.mark.parametrize(("n_good", "k"), [(7, 3), (N // 2, N // 3), (N - 1, 5)])
def test_the_mean_rank_is_known(n_good, k):
    got = among_equals(N, n_good, k)
    mean = np.arange(1, N + 1) @ got
    assert_allclose(mean, k * (N + 1) / (n_good + 1), rtol=1e-13)


@pytest.mark.parametrize("k", [1, N // 4, N // 2])
def test_probabilities_sum_to_one(k):
    assert_allclose(among_equals(N, N // 2, k).sum(), 1.0, rtol=1e-14)


def test_ranks_that_cannot_be_have_no_probability():
    got = among_equals(1000, 10, 4)
    assert_array_equal(np.flatnonzero(got), np.arange(3, 994))


def test_what_is_too_unlikely_for_a_number_is_zero():
    got = among_equals(N, N // 2, N // 4)
    assert got.min() == 0.0
    assert got[N // 4 - 1] == got[-N // 4 - 1] == 0.0


def test_the_order_from_below_is_the_order_from_above():
    assert_allclose(among_equals(N, 9, 2), among_equals(N, 9, 8)[::-1], rtol=1e-15)


def test_the_first_of_many_good_rows_is_soon_found():
    # One of two is good: the ranks 1, 2, 3, ... come with halves, quarters, ...
    got = among_equals(N, N // 2, 1)
    assert_allclose(got[:2], [1 / 2, 1 / 4 * N / (N - 1)], rtol=1e-15)


def test_a_k_may_be_of_a_small_type():
    assert_array_equal(among_equals(300, 299, np.uint8(200)), among_equals(300, 299, 200))


def test_a_mask_of_rows_of_different_lengths_is_refused():
    sentence = "rank_probability: good must be a grade, 'top' or a mask; got [[1], [2, 3]]."
    with pytest.raises(DataError, match=exactly(sentence)):
        rank_probability([1, 0], [1, 2], 1, good=[[1], [2, 3]])
