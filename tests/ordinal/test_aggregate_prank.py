"""What ensembles promise: masks, votes, medians, members."""

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from peckorder import AggregatePRank, PRank
from peckorder._core.threads import MIN_ITEMS_PER_THREAD
from peckorder.ordinal.learners import base
from peckorder.ordinal.learners import ensemble as linear
from support.helpers import AGGREGATES, PAPER, integer_data, make, real_data, refuses, same, shown

X, Y = real_data(2)
CLASSES = range(1, 5)
KERNELS = {
    "linear": {},
    "poly": {"kernel": "poly"},
    "rbf": {"kernel": "rbf", "gamma": 0.5},
    "rbf budget": {"kernel": "rbf", "gamma": 0.5, "budget": 6},
    "budget": {"budget": 6},
}
every_kernel = pytest.mark.parametrize("name", KERNELS)
every_aggregate = pytest.mark.parametrize("aggregate", AGGREGATES)


def ensemble(name="linear", n=5, **options):
    return AggregatePRank(
        n_estimators=n, **{"random_state": 0, "classes": CLASSES} | KERNELS[name] | options
    )


@st.composite
def streams(draw):
    """Return pieces of a stream, and by which method each is learnt."""
    cuts = sorted(draw(st.sets(st.integers(1, len(Y) - 1), max_size=5)))
    bounds = [0, *cuts, len(Y)]
    methods = st.sampled_from(["partial_fit", "progressive"])
    return [(slice(a, b), draw(methods)) for a, b in pairwise(bounds)]


@every_kernel
@every_aggregate
@settings(max_examples=8)
@given(streams(), st.sampled_from([1, 2, 3]), st.integers(1, 40))
def test_threads_batches_and_blocks_do_not_change_the_model(name, aggregate, stream, n_jobs, block):
    whole = ensemble(name, aggregate=aggregate, n_jobs=1).fit(X, Y)
    model = ensemble(name, aggregate=aggregate, n_jobs=n_jobs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(MIN_ITEMS_PER_THREAD, "products", 1)
        patch.setattr(linear, "_MASKS", 17)
        patch.setattr(base, "BLOCK", block)
        for some, method in stream:
            getattr(model, method)(X[some], Y[some])
        assert same(shown(model, X), shown(whole, X))


@every_kernel
@every_aggregate
@settings(max_examples=8)
@given(streams(), st.sampled_from([1, 2, 3]))
def test_threads_batches_and_blocks_do_not_change_progressive_predictions(
    name, aggregate, stream, n_jobs
):
    # In integers, so that it does not matter when the parts of a sum are added up.
    rows, y = integer_data(2, n=len(Y))
    view = {"unit_norm": False}
    whole = ensemble(name, aggregate=aggregate, **view).progressive(rows, y)
    model = ensemble(name, aggregate=aggregate, n_jobs=n_jobs, **view)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(MIN_ITEMS_PER_THREAD, "products", 1)
        patch.setattr(linear, "_MASKS", 17)
        patch.setattr(linear, "_CELLS", 50)
        parts = [model.progressive(rows[some], y[some]) for some, _ in stream]
    assert_array_equal(np.concatenate(parts), whole)


@every_kernel
def test_the_first_members_do_not_depend_on_how_many_follow(name):
    few, many = ensemble(name, n=3).fit(X, Y), ensemble(name, n=9).fit(X, Y)
    assert_array_equal(few.votes_, many.votes_[:3])
    assert_array_equal(few.member_thresholds_, many.member_thresholds_[:3])


def test_the_weights_of_the_first_members_do_not_depend_on_how_many_follow():
    few, many = ensemble(n=3).fit(X, Y), ensemble(n=9).fit(X, Y)
    assert same(few.member_coef_, many.member_coef_[:3])


@every_kernel
def test_a_seed_makes_the_same_members_again(name):
    once, again = (ensemble(name, random_state=7).fit(X, Y) for _ in range(2))
    assert same(shown(once, X), shown(again, X))


@every_kernel
def test_another_seed_makes_other_members(name):
    one, other = (ensemble(name, random_state=seed).fit(X, Y) for seed in (0, 1))
    assert not same(one.member_thresholds_, other.member_thresholds_)


def test_without_a_seed_no_two_ensembles_are_alike():
    one, other = (ensemble(n=20, random_state=None).fit(X, Y) for _ in range(2))
    assert not same(one.member_thresholds_, other.member_thresholds_)


def test_a_random_state_is_used_further():
    source = np.random.RandomState(0)
    one, other = (ensemble(n=20, random_state=source).fit(X, Y) for _ in range(2))
    assert not same(one.member_thresholds_, other.member_thresholds_)


def test_passes_draw_other_masks():
    model = ensemble(n=1, tau=0.5, max_iter=2).fit(X, Y)
    masks = model._learner.masks(slice(0, 1), -120, 120)
    assert not same(masks[:60], masks[60:])


@every_kernel
@every_aggregate
def test_shares_of_votes_sum_to_one(name, aggregate):
    share = ensemble(name, aggregate=aggregate).fit(X, Y).predict_proba(X)
    assert share.shape == (60, 4)
    assert np.all(share >= 0)
    assert_allclose(share.sum(axis=1), 1, rtol=1e-12)


@every_kernel
@every_aggregate
def test_the_mean_rank_is_that_of_the_shares(name, aggregate):
    model = ensemble(name, aggregate=aggregate).fit(X, Y)
    expected = model.predict_proba(X) @ [1, 2, 3, 4]
    assert_allclose(model.mean_rank(X), expected, rtol=1e-12)


def ranks_of(model):
    """Return what each member of a linear ensemble says of X."""
    scores = model.member_coef_ @ X.T + model.member_intercept_[:, np.newaxis]
    above = scores[:, :, np.newaxis] >= model.member_thresholds_[:, np.newaxis]
    return 1 + above.sum(axis=2)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_each_member_has_one_vote(n):
    model = ensemble(n=n, aggregate="bagging", unit_norm=False).fit(X, Y)
    counts = [(ranks_of(model) == rank).sum(axis=0) for rank in CLASSES]
    assert_array_equal(np.round(n * model.predict_proba(X)), np.transpose(counts))


def test_a_member_has_as_many_votes_as_it_was_right():
    model = ensemble(aggregate="voted", unit_norm=False).fit(X, Y)
    expected = model.votes_ @ ranks_of(model) / model.votes_.sum()
    assert_allclose(model.mean_rank(X), expected, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 10])
def test_the_median_is_that_of_the_members_half_upwards(n):
    model = ensemble(n=n, aggregate="median", unit_norm=False).fit(X, Y)
    middle = np.median(ranks_of(model), axis=0)
    assert_array_equal(model.predict(X), np.floor(middle + 0.5))


def test_the_median_of_an_even_number_may_lie_between_two_ranks():
    model = ensemble(n=2, aggregate="median", unit_norm=False).fit(X, Y)
    ranks = ranks_of(model)
    split = ranks.sum(axis=0) % 2 == 1
    assert split.any()
    assert_array_equal(model.predict(X)[split], (ranks.sum(axis=0)[split] + 1) // 2)


@pytest.mark.parametrize("n", [1, 3, 4, 9])
def test_bagging_takes_the_mean_of_the_members_half_upwards(n):
    model = ensemble(n=n, aggregate="bagging", unit_norm=False).fit(X, Y)
    mean = ranks_of(model).mean(axis=0)
    assert_array_equal(model.predict(X), np.floor(mean + 0.5))


def test_all_votes_count_alike_if_no_member_was_ever_right():
    # The zero rule says 4 of the first row, which is of class 1.
    wrong = ensemble(aggregate="voted", tau=1).fit(X[:1], [1])
    assert not wrong.votes_.any()
    alike = ensemble(aggregate="bagging", tau=1).fit(X[:1], [1])
    assert_array_equal(wrong.mean_rank(X), alike.mean_rank(X))
    assert_array_equal(wrong.predict_proba(X), alike.predict_proba(X))
    assert_array_equal(wrong.predict(X), alike.predict(X))


def test_members_that_are_never_offered_a_row_predict_the_highest_class():
    model = ensemble(tau=1e-12).fit(X, Y)
    assert model.n_mistakes_ == 0
    assert_array_equal(model.predict(X), 4)
    assert_array_equal(model.member_coef_, 0)


@every_aggregate
def test_the_votes_are_the_offers_without_a_mistake(aggregate):
    model = ensemble(aggregate=aggregate).fit(X, Y)
    masks = model._learner.masks(slice(0, 5), -60, 60)
    assert model.votes_.sum() == masks.sum() - model.n_mistakes_


@every_kernel
def test_the_bayes_point_is_the_mean_of_the_members(name):
    model = ensemble(name).fit(X, Y)
    assert_allclose(model.thresholds_, model.member_thresholds_.mean(axis=0))
    level = np.searchsorted(model.thresholds_, model.decision_function(X), side="right")
    assert_array_equal(model.predict(X), model.classes_[level])


@every_kernel
def test_thresholds_stay_in_order(name):
    model = ensemble(name)
    for x, y in zip(X, Y, strict=True):
        model.partial_fit([x], [y])
        assert np.all(np.diff(model.member_thresholds_, axis=1) >= 0)
        assert np.all(np.diff(model.thresholds_) >= 0)


@every_kernel
@every_aggregate
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_predicts_and_continues_the_same(name, aggregate, copied):
    model = ensemble(name, aggregate=aggregate).fit(X, Y)
    revived = copied(model)
    assert same(shown(revived, X), shown(model, X))
    assert same(*(shown(m.partial_fit(X, Y), X) for m in (revived, model)))


@every_kernel
def test_a_clone_learns_the_same(name):
    model = ensemble(name, shuffle=True, max_iter=2).fit(X, Y)
    assert same(shown(clone(model).fit(X, Y), X), shown(model, X))


def test_classes_may_be_words():
    words = np.array(["bad", "fair", "good", "best"])
    model = ensemble(classes=words, aggregate="median").fit(X, words[Y - 1])
    expected = ensemble(aggregate="median").fit(X, Y).predict(X)
    assert_array_equal(model.predict(X), words[expected - 1])


def test_shares_come_in_the_order_of_the_classes():
    model = ensemble(classes=[4, 3, 2, 1], aggregate="bagging").fit(X, 5 - Y)
    expected = ensemble(aggregate="bagging").fit(X, Y).predict_proba(X)
    assert model.classes_.tolist() == [4, 3, 2, 1]
    assert_array_equal(model.predict_proba(X), expected)


@pytest.mark.parametrize("n", range(1, 10))
def test_a_member_does_not_depend_on_the_others_drawn(n):
    # Scores are computed for four members at a time; so in all constellations.
    rows = np.random.default_rng(0).standard_normal((60, 13))
    few = ensemble(n=n, **PAPER).fit(rows, Y)
    many = ensemble(n=11, **PAPER).fit(rows, Y)
    assert same(few.member_coef_, many.member_coef_[:n])


@pytest.mark.parametrize("name", ["poly members", "rbf members", "budget members"])
def test_the_coefficients_shown_give_the_scores(name):
    model = make(name, aggregate="bayes_point", **PAPER).fit(X, Y)
    Z = X[model.support_]
    if "rbf" in name:
        values = np.exp(-0.5 * ((X[:, np.newaxis] - Z) ** 2).sum(axis=2))
    else:
        values = (X @ Z.T + 1) ** 2 if "poly" in name else X @ Z.T
    expected = values @ model.dual_coef_
    assert_allclose(model.decision_function(X), expected, rtol=1e-9, atol=1e-9)


def noisy_table(seed=0, n=900, d=5):
    """Return skewed columns, and ten classes of a noisy skewed target."""
    rng = np.random.default_rng(seed)
    X = np.exp(rng.normal(size=(n, d)))
    target = np.log(X).sum(axis=1) + 2.0 * np.abs(rng.standard_t(3, n))
    return X, np.searchsorted(np.quantile(target, np.arange(1, 10) / 10), target)


def test_averages_are_better_and_depend_less_on_the_seed():
    X, y = noisy_table()
    losses = {}
    for rule in ("last", "averaged"):
        options = {"member_rule": rule, "n_estimators": 15, "max_iter": 10, "classes": range(10)}
        models = [AggregatePRank(random_state=seed, **options) for seed in range(4)]
        losses[rule] = [-m.fit(X[:600], y[:600]).score(X[600:], y[600:]) for m in models]
    one = -PRank(max_iter=10, classes=range(10)).fit(X[:600], y[:600]).score(X[600:], y[600:])
    assert np.mean(losses["averaged"]) < np.mean(losses["last"]) - 0.1
    assert np.ptp(losses["averaged"]) < 0.5 * np.ptp(losses["last"])
    assert abs(np.mean(losses["averaged"]) - one) < 0.1


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_averages_do_not_depend_on_threads_or_batches(aggregate, monkeypatch):
    X, y = noisy_table(n=300)
    options = {"member_rule": "averaged", "aggregate": aggregate, "n_estimators": 9}
    options |= {"random_state": 0, "classes": range(10)}
    one = AggregatePRank(**options, n_jobs=1).partial_fit(X, y)
    monkeypatch.setitem(MIN_ITEMS_PER_THREAD, "products", 1)
    for n_jobs in (2, 4):
        several = AggregatePRank(**options, n_jobs=n_jobs)
        for first in range(0, 300, 70):
            several.partial_fit(X[first : first + 70], y[first : first + 70])
        assert same(shown(several, X), shown(one, X))
    again = AggregatePRank(**options)
    predicted = [again.progressive(X[first : first + 50], y[first : first + 50])
                 for first in range(0, 300, 50)]  # fmt: skip
    assert same(shown(again, X), shown(one, X))
    whole = AggregatePRank(**options).progressive(X, y)
    assert_array_equal(np.concatenate(predicted), whole)


@pytest.mark.parametrize("options", [{"kernel": "rbf"}, {"kernel": "poly"}, {"budget": 5}], ids=str)
def test_averages_of_kernels_are_refused(options):
    sentence = (
        "AggregatePRank: member_rule must be 'last' with a kernel or a budget; got 'averaged'."
    )
    model = AggregatePRank(member_rule="averaged", **options)
    with refuses(sentence):
        model.fit([[0.0], [1.0]], [1, 2])
    assert not hasattr(model, "classes_")


def test_the_rule_of_members_cannot_change_between_batches():
    model = AggregatePRank(n_estimators=3, random_state=0).partial_fit([[0.0], [1.0]], [1, 2])
    sentence = (
        "AggregatePRank: member_rule must be 'last' as when learning began; got 'averaged'. "
        "Call fit to start anew."
    )
    with refuses(sentence):
        model.set_params(member_rule="averaged").partial_fit([[0.0]], [1])


def test_averaged_members_do_not_get_worse_with_passes_nor_depend_on_the_seed():
    # Rows like a census: a skewed column that is mostly 0, rare ones, unequal classes.
    rng, n = np.random.default_rng(0), 4000
    age, job = rng.integers(17, 90, n), rng.integers(0, 12, n)
    gain = np.where(rng.random(n) < 0.08, rng.lognormal(8, 1.2, n), 0)
    height = np.log1p(gain) / 10 - 0.0012 * (age - 45) ** 2 + 0.5 * rng.normal(size=12)[job]
    height += 1.1 * rng.normal(size=n)
    y = np.searchsorted(np.quantile(height, [0.05, 0.2, 0.55, 0.75, 0.92]), height)
    X = np.column_stack([age, gain, np.eye(12)[job]])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    half = n // 2

    def losses(rule, passes):
        options = {"n_estimators": 20, "member_rule": rule, "max_iter": passes, "shuffle": True}
        models = (AggregatePRank(**options, random_state=seed) for seed in range(5))
        return np.array([-m.fit(X[:half], y[:half]).score(X[half:], y[half:]) for m in models])

    once, often, last = losses("averaged", 1), losses("averaged", 20), losses("last", 20)
    assert often.max() < once.min()
    assert np.ptp(often) < 0.02
    assert np.ptp(last) > 0.1
    assert often.max() < last.min() - 0.05
