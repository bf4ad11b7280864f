"""Pairs that come in batches: the model is that of one fit to all."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import peckorder
from peckorder import MPRank, Preferences
from support.helpers import refuses
from support.slow_pairs import problems


def joined(batches):
    """Return all rows, and all pairs with their rows renumbered."""
    rows, better, worse, weight, size, offset, row_weight = ([] for _ in range(7))
    first = 0
    for X, feedback, more in batches:
        pairs = feedback.pairs()
        better.append(pairs.better + first)
        worse.append(pairs.worse + first)
        weight.append(pairs.weight)
        size.append(feedback.sizes())
        rows.append(X)
        offset.append(more.get("offset", np.zeros(len(X))))
        row_weight.append(more.get("sample_weight", np.ones(len(X))))
        first += len(X)
    columns = map(np.concatenate, (better, worse, weight, size))
    more = {"offset": np.concatenate(offset), "sample_weight": np.concatenate(row_weight)}
    return np.concatenate(rows), Preferences(*columns), more


@given(st.integers(1, 3).flatmap(lambda d: st.lists(problems(d), min_size=1, max_size=4)))
def test_batches_give_the_model_of_all_pairs(batches):
    X, feedback, more = joined(batches)
    expected = MPRank(C=3.0).fit(X, feedback, **more)
    model = MPRank(C=3.0)
    for rows, pairs, options in batches:
        model.partial_fit(rows, pairs, **options)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-7, atol=1e-9)
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-8, abs=1e-10)
    assert model.intercept_ == 0.0
    continued = MPRank(C=3.0).fit(batches[0][0], batches[0][1], **batches[0][2])
    for rows, pairs, options in batches[1:]:
        continued.partial_fit(rows, pairs, **options)
    np.testing.assert_allclose(continued.coef_, expected.coef_, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_many_pairs_a_batch(form):
    rng = np.random.default_rng(0)
    batches = []
    for k in range(3):
        X = rng.normal(size=(50, 4)) + 1000.0
        better = rng.integers(0, 50, 300)
        worse = (better + 1 + rng.integers(0, 49, 300)) % 50
        weight = 10.0 ** (3 * k) * rng.uniform(0.1, 1.0, 300)
        batches.append((X, Preferences(better, worse, weight, rng.uniform(0, 2, 300)), {}))
    X, feedback, more = joined(batches)
    model = MPRank()
    for rows, pairs, _ in batches:
        model.partial_fit(form(rows), pairs)
    np.testing.assert_allclose(model.coef_, MPRank().fit(X, feedback, **more).coef_, rtol=1e-9)


def test_a_copy_or_a_stored_model_goes_on(tmp_path):
    X = np.random.default_rng(0).normal(size=(6, 2))
    pairs = Preferences([0, 1, 4], [1, 2, 3], size=[1, 2, 3])
    model = MPRank().partial_fit(X, pairs)
    copied = pickle.loads(pickle.dumps(model))
    model.save(tmp_path / "model")
    expected = model.partial_fit(X[::-1].copy(), pairs).coef_
    for other in (copied, peckorder.load(tmp_path / "model")):
        np.testing.assert_array_equal(other.partial_fit(X[::-1].copy(), pairs).coef_, expected)


def test_labels_and_pairs_are_not_mixed():
    X, pairs = np.eye(3), Preferences([0, 1], [1, 2])
    with refuses("MPRank: y must be Preferences, as in the calls before; got the other."):
        MPRank().partial_fit(X, pairs).partial_fit(X, [1, 2, 3])
    with refuses("MPRank: y must be labels, as in the calls before; got the other."):
        MPRank().partial_fit(X, [1, 2, 3]).partial_fit(X, pairs)
