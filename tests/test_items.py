"""Items ranked by comparisons alone: least squares, with the errors of least squares."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from scipy import sparse, stats
from sklearn.exceptions import ConvergenceWarning

from peckorder import MPRank, Preferences, rank_items
from support import slow_pairs
from support.helpers import refuses
from support.slow_pairs import problems


def design(pairs, n_items):
    """Return the matrix of scaled differences, one row per comparison, and their sizes."""
    D, size = np.zeros((len(pairs), n_items)), np.zeros(len(pairs))
    for k, (better, worse, weight, apart) in enumerate(pairs):
        D[k, better], D[k, worse] = np.sqrt(weight), -np.sqrt(weight)
        size[k] = np.sqrt(weight) * apart
    return D, size


def quietly(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rank_items(*arguments, **options)


@pytest.mark.parametrize("few", [3_000, 0])
@given(problems())
def test_is_least_squares_with_its_errors(few, problem):
    X, feedback, _ = problem
    n_items = len(X)
    D, size = design(list(slow_pairs.listed(feedback)), n_items)
    inverse = np.linalg.pinv(D.T @ D, hermitian=True, rcond=1e-10)
    expected = inverse @ D.T @ size
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("peckorder.items._FEW", few)
        ranking = quietly(feedback, ids=np.arange(n_items))
        np.testing.assert_allclose(ranking.scores, expected, atol=1e-8)
        rank = np.linalg.matrix_rank(D, tol=1e-8)
        assert ranking.dof == len(D) - rank
        sigma = np.nan
        if ranking.dof:
            sigma = np.sqrt(np.sum((size - D @ expected) ** 2) / ranking.dof)
        assert ranking.sigma == pytest.approx(sigma, abs=1e-7, nan_ok=True)
        is_used = np.abs(D).any(axis=0)
        connected = feedback.components(n_items)
        a, b = (column.ravel() for column in np.indices((n_items, n_items)))
        found = ranking.difference(a, b, level=0.9)
        is_known = (connected[a] == connected[b]) & is_used[a]
        variance = inverse[a, a] + inverse[b, b] - 2.0 * inverse[a, b]
        error = np.where(is_known, sigma * np.sqrt(np.maximum(variance, 0.0)), np.nan)
        np.testing.assert_allclose(found.standard_error, error, atol=1e-7)
        apart = np.where(is_known, expected[a] - expected[b], np.nan)
        np.testing.assert_allclose(found.difference, apart, atol=1e-8)
        if ranking.dof:
            half = stats.t.ppf(0.95, ranking.dof) * error
            np.testing.assert_allclose(found.high - found.low, 2.0 * half, atol=1e-5)
            spread = np.where(is_known, sigma * np.sqrt(1.0 + variance), np.nan)
            if sigma > 1e-6:
                chance = stats.t.cdf(apart / spread, ranking.dof)
                np.testing.assert_allclose(ranking.probability(a, b), chance, atol=1e-6)
        else:
            assert np.isnan(ranking.probability(a, b)).all()
    if few:
        errors = np.where(is_used, sigma * np.sqrt(inverse.diagonal()), np.nan)
        np.testing.assert_allclose(ranking.standard_errors(), errors, atol=1e-7)


def matches(rng, truth, n_matches, noise=1.0):
    a = rng.integers(0, len(truth), n_matches)
    b = (a + 1 + rng.integers(0, len(truth) - 1, n_matches)) % len(truth)
    weight = rng.choice([0.5, 1.0, 4.0], n_matches)
    margin = truth[a] - truth[b] + noise * rng.normal(size=n_matches) / np.sqrt(weight)
    better, worse = np.where(margin > 0, a, b), np.where(margin > 0, b, a)
    return Preferences(better, worse, weight, np.abs(margin))


def test_intervals_contain_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(0)
    truth, covered, said, won = rng.normal(size=6), [], [], []
    for _ in range(400):
        ranking = rank_items(matches(rng, truth, 100, noise=2.0))
        a, b = np.triu_indices(6, 1)
        _, _, low, high = ranking.difference(a, b, level=0.8)
        covered.append((low <= truth[a] - truth[b]) & (truth[a] - truth[b] <= high))
        said.append(ranking.probability(a, b))
        won.append(truth[a] - truth[b] + 2.0 * rng.normal(size=len(a)) > 0)
    assert np.mean(covered) == pytest.approx(0.8, abs=0.02)
    assert np.mean(said) == pytest.approx(np.mean(won), abs=0.02)


def test_is_mprank_of_indicators_without_a_ridge():
    pairs = matches(np.random.default_rng(0), np.arange(20.0), 200)
    model = MPRank(C=1e10).fit(sparse.eye_array(20, format="csr"), pairs)
    np.testing.assert_allclose(rank_items(pairs).scores, model.coef_, rtol=1e-6)


def test_weights_have_no_unit_but_that_of_sigma():
    pairs = matches(np.random.default_rng(0), np.arange(5.0), 30)
    one, other = rank_items(pairs), rank_items(100.0 * pairs)
    np.testing.assert_allclose(other.scores, one.scores)
    np.testing.assert_allclose(other.standard_errors(), one.standard_errors())
    assert other.sigma == pytest.approx(10.0 * one.sigma)


def test_items_that_nothing_connects_are_said():
    pairs = Preferences([0, 1, 3, 4], [1, 0, 4, 3], size=[3, 1, 2, 2])
    sentence = (
        "rank_items: comparisons connect no more than 3 separate parts, of 2, 2, 1 items: scores "
        "can be compared within a part only. Look at `component`, and add comparisons between "
        "parts, or fit MPRank, whose ridge draws all to zero."
    )
    with pytest.warns(UserWarning, match="separate parts") as caught:
        ranking = rank_items(pairs, ids=list("abcde"))
    assert str(caught[0].message) == sentence
    assert ranking.component.tolist() == [0, 0, 1, 2, 2]
    assert ranking.ranks.tolist() == [1, 2, 1, 1, 2]
    np.testing.assert_allclose(ranking.scores, [0.5, -0.5, 0.0, 0.0, 0.0], atol=1e-15)
    assert np.isnan(ranking.difference("a", ["c", "d"]).difference).all()
    assert np.isnan(ranking.probability("c", "c")).all()
    assert np.isnan(ranking.standard_errors()).tolist() == [False, False, True, False, False]


TABLE = {"winner": ["bob", "ann", "ann", "eve"], "loser": ["eve", "bob", "eve", "bob"],
         "margin": [2, 3, 4, 1]}  # fmt: skip


@pytest.mark.parametrize("form", [dict, pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("as_id", [str, lambda name: len(name) + ord(name[0])])
def test_frames_of_matches(form, as_id):
    table = {
        name: column if name == "margin" else [as_id(value) for value in column]
        for name, column in TABLE.items()
    }
    ranking = rank_items(form(table))
    ids = sorted(as_id(name) for name in ("ann", "bob", "eve"))
    assert ranking.ids.tolist() == ids
    pairs = Preferences.from_frame(table, ids)
    np.testing.assert_array_equal(ranking.scores, rank_items(pairs).scores)
    found = ranking.difference(as_id("ann"), as_id("eve"))
    place = [ids.index(as_id("ann")), ids.index(as_id("eve"))]
    assert found.difference[0] == pytest.approx(np.subtract(*ranking.scores[place]))
    given = rank_items(form(table), ids=ids[::-1])
    np.testing.assert_allclose(given.scores, ranking.scores[::-1])


def test_many_items_are_ranked_without_a_dense_matrix():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=20_000)
    ranking = quietly(matches(rng, truth, 100_000, noise=0.1))
    assert np.corrcoef(ranking.scores, truth)[0, 1] > 0.99
    found = ranking.difference([1, 2], [3, 4])
    assert np.all(np.abs(found.difference - (truth[[1, 2]] - truth[[3, 4]])) < 0.5)
    assert np.all((found.standard_error > 0.01) & (found.standard_error < 0.2))
    with refuses(
        "ItemRanking: standard_errors must be asked for 3,000 items at most; got 20,000. Ask "
        "for those of some by difference()."
    ):
        ranking.standard_errors()


RANKING = rank_items(TABLE)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: rank_items(Preferences([0], [1], weight=[0])),
            "rank_items: y must be at least one pair with a weight > 0; got weights of zero only.",
        ),
        (
            lambda: rank_items(Preferences([0], [3]), ids=["a", "b"]),
            "rank_items: ids must be one per item, 4 at least; got 2.",
        ),
        (
            lambda: rank_items(Preferences([0], [1]), ids=["a", "a"]),
            "rank_items: ids must be distinct; got 'a' again.",
        ),
        (
            lambda: rank_items({"winner": ["a"], "other name": ["b"]}),
            "rank_items: frame must have a column 'better', or one with another usual name; got "
            "'winner', 'other name'. Give better=NAME.",
        ),
        (
            lambda: rank_items(Preferences([0, 1], [1, 2], size=[1e200, 1])),
            "rank_items: size must be small enough for its squares to be finite; got 1e+200.",
        ),
        (
            lambda: RANKING.difference("ann", "bob", level=1.0),
            "ItemRanking: level must be a number > 0 and < 1; got 1.0.",
        ),
        (
            lambda: RANKING.difference("anne", "bob"),
            "ItemRanking: better must be one of the 3 that are known; got 'anne'. Did you mean "
            "'ann'?",
        ),
        (
            lambda: RANKING.probability(["ann", "bob", "eve"], ["eve", "bob"]),
            "ItemRanking: worse must be as many as better, 3 in all; got 2.",
        ),
    ],
)
def test_is_refused_in_one_sentence(call, sentence):
    with refuses(sentence):
        call()


def test_says_that_iteration_did_not_converge():
    # A long chain whose weights differ a lot, of more items than are decomposed.
    n_items = 3_200
    weight = 10.0 ** np.random.default_rng(0).uniform(-7, 0, n_items - 1)
    chain = Preferences(np.arange(1, n_items), np.arange(n_items - 1), weight)
    with pytest.warns(ConvergenceWarning, match="rank_items: not converged after 32000 iterations"):
        scores = rank_items(chain).scores
    assert np.abs(np.diff(scores) - 1.0).max() > 0.1


def test_iteration_that_rounding_ends_is_no_reason_to_warn():
    n_items = 3_200
    weight = 10.0 ** np.random.default_rng(0).uniform(-1, 0, n_items - 1)
    chain = Preferences(np.arange(1, n_items), np.arange(n_items - 1), weight)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = rank_items(chain).scores
    assert np.abs(np.diff(scores) - 1.0).max() < 1e-8
