"""The masks of ensembles: fair, independent, and a function of member and round."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import binomtest, chi2, chisquare
from scipy.stats import poisson as poisson_distribution

from peckorder.ordinal.compiled.ensemble import draw_masks
from peckorder.ordinal.learners.ensemble_base import bernoulli, member_keys, poisson

TAUS = [0.05, 0.3, 0.6, 0.9]
# A fair source fails one test in ten thousand; seeds are fixed.
RARE = 1e-4


def masks_of(seed, n_members=64, n_rounds=4096, tau=0.6, first=0):
    """Return masks (rounds, members)."""
    masks = np.empty((n_rounds, n_members), dtype=np.uint8)
    draw_masks(member_keys(seed, n_members), np.uint64(first), bernoulli(tau), masks)
    return masks


def correlations(masks):
    """Return the correlation of each two columns, times the root of the rows."""
    table = np.corrcoef(masks.T.astype(float)) * np.sqrt(len(masks))
    return table[np.triu_indices(len(table), 1)]


@pytest.mark.jit_off
def test_a_mask_depends_on_its_member_and_round_alone():
    whole = masks_of(1, n_members=7, n_rounds=50)
    key, threshold = member_keys(1, 7), bernoulli(0.6)
    for t in range(50):
        for members in (slice(0, 3), slice(3, 7)):
            masks = np.empty((1, members.stop - members.start), dtype=np.uint8)
            draw_masks(key[members], np.uint64(t), threshold, masks)
            assert_array_equal(masks[0], whole[t, members])


@pytest.mark.jit_off
def test_without_the_compiler_the_masks_are_the_same():
    # Written down from the compiled function.
    masks = masks_of(3, n_members=4, n_rounds=6, tau=0.5, first=2**32 - 3)
    assert_array_equal(masks @ [8, 4, 2, 1], [12, 15, 2, 8, 8, 2])


def test_more_members_do_not_change_the_first():
    assert_array_equal(masks_of(2, n_members=5), masks_of(2, n_members=9)[:, :5])


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("first", [0, 10**6, 2**32 - 2048, 2**40])
def test_ones_are_as_frequent_as_tau(tau, first):
    masks = masks_of(5, tau=tau, first=first)
    assert binomtest(int(masks.sum()), masks.size, tau).pvalue > RARE


@pytest.mark.parametrize("tau", TAUS)
def test_each_member_has_its_share(tau):
    masks = masks_of(6, n_members=100, tau=tau)
    z = (masks.sum(axis=0) - tau * 4096) / np.sqrt(tau * (1 - tau) * 4096)
    assert chi2.sf((z**2).sum(), 100) > RARE
    assert chi2.cdf((z**2).sum(), 100) > RARE


@pytest.mark.parametrize("tau", TAUS)
def test_each_round_has_its_share(tau):
    masks = masks_of(7, n_members=1000, n_rounds=500, tau=tau)
    z = (masks.sum(axis=1) - tau * 1000) / np.sqrt(tau * (1 - tau) * 1000)
    assert chi2.sf((z**2).sum(), 500) > RARE
    assert chi2.cdf((z**2).sum(), 500) > RARE


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("seed", [0, 8])
def test_members_are_not_correlated(tau, seed):
    z = correlations(masks_of(seed, tau=tau))
    # 2016 pairs: the largest of so many normal deviates is rarely beyond 5.4.
    assert np.abs(z).max() < 5.4
    assert chi2.sf((z**2).sum(), z.size) > RARE


@pytest.mark.parametrize("tau", TAUS)
def test_rounds_are_not_correlated(tau):
    z = correlations(masks_of(9, n_members=4096, n_rounds=64, tau=tau).T)
    assert np.abs(z).max() < 5.4
    assert chi2.sf((z**2).sum(), z.size) > RARE


@pytest.mark.parametrize("lag", [1, 2, 3, 8, 64, 256, 1024])
def test_a_round_does_not_predict_a_later_one(lag):
    masks = masks_of(10, n_rounds=8192, tau=0.5).astype(int)
    pairs = 2 * masks[:-lag] + masks[lag:]
    counts = np.bincount(pairs.ravel(), minlength=4)
    expected = pairs.size / 4
    assert chi2.sf(((counts - expected) ** 2 / expected).sum(), 3) > RARE


@pytest.mark.parametrize("apart", [1, 2, 32])
def test_a_member_does_not_predict_another(apart):
    masks = masks_of(11, n_rounds=8192, tau=0.5).astype(int)
    pairs = 2 * masks[:, :-apart] + masks[:, apart:]
    counts = np.bincount(pairs.ravel(), minlength=4)
    expected = pairs.size / 4
    assert chi2.sf(((counts - expected) ** 2 / expected).sum(), 3) > RARE


def test_other_seeds_draw_other_masks():
    one, other = masks_of(12).ravel(), masks_of(13).ravel()
    both = np.corrcoef(one, other)[0, 1] * np.sqrt(one.size)
    assert abs(both) < 4


def test_rounds_beyond_two_to_the_32_are_not_those_from_zero():
    early, late = masks_of(14), masks_of(14, first=2**32)
    both = np.corrcoef(early.ravel(), late.ravel())[0, 1] * np.sqrt(early.size)
    assert abs(both) < 4


def test_counting_goes_on_beyond_two_to_the_32():
    whole = masks_of(15, n_rounds=20, first=2**32 - 10)
    assert_array_equal(whole[10:], masks_of(15, n_rounds=10, first=2**32))


def test_a_mask_that_is_always_one():
    assert masks_of(16, tau=1.0).all()


def test_a_mask_that_is_almost_always_one():
    assert 0 < (masks_of(16, n_rounds=16384, tau=1 - 1e-5) == 0).sum() < 40


@pytest.mark.parametrize("tau", [1e-300, 5e-324, 1e-10])
def test_a_mask_that_is_almost_never_one(tau):
    assert bernoulli(tau) == 1
    assert not masks_of(17, tau=tau).any()


def poisson_masks(seed, n_members=64, n_rounds=4096, first=0):
    masks = np.empty((n_rounds, n_members), dtype=np.uint8)
    draw_masks(member_keys(seed, n_members), np.uint64(first), poisson(), masks)
    return masks


@pytest.mark.parametrize("first", [0, 2**32 - 2048])
def test_offers_have_the_poisson_distribution(first):
    counts = np.bincount(np.minimum(poisson_masks(18, first=first), 6).ravel())
    expected = poisson_distribution.pmf(np.arange(7), 1)
    expected[6] = poisson_distribution.sf(5, 1)
    assert chisquare(counts, expected * counts.sum()).pvalue > RARE


def test_shares_of_offers_are_exact_to_32_bits():
    expected = poisson_distribution.sf(np.arange(12), 1) * 2**32
    assert np.abs(poisson() - expected).max() <= 0.5
    assert poisson_distribution.sf(12, 1) * 2**32 < 0.5


@pytest.mark.jit_off
def test_an_offer_is_one_more_than_that_of_a_smaller_threshold():
    whole = poisson_masks(3, n_members=4, n_rounds=40, first=2**32 - 3)
    expected = np.zeros_like(whole)
    for threshold in poisson():
        masks = np.empty_like(whole)
        draw_masks(member_keys(3, 4), np.uint64(2**32 - 3), np.array([threshold]), masks)
        expected += masks
    assert_array_equal(whole, expected)


def test_offers_of_members_are_not_correlated():
    z = correlations(poisson_masks(19))
    assert np.abs(z).max() < 5.4
    assert chi2.sf((z**2).sum(), z.size) > RARE
