"""Two ensembles made one: members side by side, and nothing else changed."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from peckorder import AggregatePRank, PRank
from peckorder.ordinal import kernel_estimator
from peckorder.ordinal.learners.kernel_ensemble import KernelEnsembleLearner
from peckorder.ordinal.learners.polynomial import PolynomialLearner
from support.helpers import (
    AGGREGATES,
    PAPER,
    integer_data,
    plus_one_squared,
    raises_unchanged,
    same,
    shown,
)

X, Y = integer_data(1, n=80)
A, B = slice(0, 50), slice(50, 80)
KERNELS = {
    "linear": {},
    "poly": {"kernel": "poly", "gamma": 1},
    "rbf": {"kernel": "rbf", "gamma": 0.5},
    "function": {"kernel": plus_one_squared},
    "budget": {"budget": 5},
}
every_kernel = pytest.mark.parametrize("name", KERNELS)


def ensemble(n=3, seed=0, **options):
    view = {"classes": [1, 2, 3, 4]} | PAPER
    return AggregatePRank(n_estimators=n, random_state=seed, **view | options)


def two(name, **options):
    """Return ensembles of 3 and of 4 members, of other rows each."""
    options = KERNELS[name] | options
    a = ensemble(3, seed=1, **options).fit(X[A], Y[A])
    return a, ensemble(4, seed=2, **options).fit(X[B], Y[B])


def votes_of(model):
    """Return what each member counts for each class."""
    return model.predict_proba(X) * model.n_estimators


@every_kernel
def test_members_are_those_of_both(name):
    a, b = two(name, aggregate="bagging")
    merged = a.merge(b)
    for what in ("member_thresholds_", "votes_"):
        parts = [getattr(a, what), getattr(b, what)]
        # Averages over another number of rounds are scaled.
        assert_allclose(getattr(merged, what), np.concatenate(parts), rtol=1e-14)
    assert_array_equal(np.round(votes_of(merged)), np.round(votes_of(a) + votes_of(b)))


@pytest.mark.parametrize(("rule", "rtol"), [("last", 0.0), ("averaged", 1e-14)])
def test_weights_are_those_of_both(rule, rtol):
    a, b = two("linear", fit_intercept=True, member_rule=rule)
    merged = a.merge(b)
    for what in ("member_coef_", "member_intercept_", "member_thresholds_"):
        parts = [getattr(a, what), getattr(b, what)]
        assert_allclose(getattr(merged, what), np.concatenate(parts), rtol=rtol)
    assert_allclose(merged.coef_, merged.member_coef_.mean(axis=0), rtol=1e-12)


@every_kernel
def test_the_mean_score_is_that_of_all_members(name):
    a, b = two(name)
    expected = (3 * a.decision_function(X) + 4 * b.decision_function(X)) / 7
    merged = a.merge(b)
    assert_allclose(merged.decision_function(X), expected, rtol=1e-9, atol=1e-9)


@every_kernel
def test_the_mean_threshold_is_that_of_all_members(name):
    a, b = two(name)
    expected = (3 * a.thresholds_ + 4 * b.thresholds_) / 7
    assert_allclose(a.merge(b).thresholds_, expected, rtol=1e-12, atol=1e-12)


@every_kernel
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_neither_of_the_two_changes(name, aggregate):
    a, b = two(name, aggregate=aggregate)
    before = copy.deepcopy((vars(a), vars(b)))
    a.merge(b).partial_fit(X, Y)
    assert same((vars(a), vars(b)), before)


@every_kernel
def test_rounds_and_mistakes_add_up(name):
    a, b = two(name)
    merged = a.merge(b)
    for what in ("n_rounds_", "n_mistakes_", "cumulative_loss_"):
        assert getattr(merged, what) == getattr(a, what) + getattr(b, what)


def test_passes_are_those_of_the_longer():
    a = ensemble(max_iter=2).fit(X, Y)
    b = ensemble(seed=1, max_iter=3).fit(X, Y)
    assert a.merge(b).n_iter_ == b.merge(a).n_iter_ == 3


@every_kernel
def test_the_parameters_say_how_many_members_there_are(name):
    a, b = two(name)
    merged = a.merge(b)
    assert merged.get_params() == a.get_params() | {"n_estimators": 7}


def test_members_are_counted_not_parameters():
    a, b = two("linear")
    a.set_params(n_estimators=10)
    merged = a.merge(b)
    assert merged.n_estimators == len(merged.votes_) == 7


@pytest.mark.parametrize("name", ["poly", "rbf", "function", "budget"])
def test_rows_of_the_second_are_numbered_on(name):
    a, b = two(name)
    merged = a.merge(b)
    assert_array_equal(merged.support_, [*a.support_, *(50 + b.support_)])
    coefs = [3 * a.dual_coef_, 4 * b.dual_coef_]
    assert_allclose(7 * merged.dual_coef_, np.concatenate(coefs), rtol=1e-12)


@every_kernel
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_a_merged_ensemble_goes_on_learning(name, aggregate):
    a, b = two(name, aggregate=aggregate)
    merged = a.merge(b)
    expected = merged.predict(X)
    predicted = merged.progressive(X, Y)
    assert merged.n_rounds_ == 160
    assert predicted[0] == expected[0]
    assert not same(merged.member_thresholds_, a.merge(b).member_thresholds_)


@every_kernel
def test_members_with_different_keys_keep_their_masks(name):
    a = ensemble(3, seed=1, **KERNELS[name]).fit(X[A], Y[A])
    b = ensemble(4, seed=2, **KERNELS[name]).fit(X[A], Y[A])
    merged = a.merge(b).partial_fit(X[B], Y[B])
    alone = [model.partial_fit(X[B], Y[B]).votes_ for model in (a, b)]
    assert_array_equal(merged.votes_, np.concatenate(alone))


@every_kernel
def test_members_with_the_same_keys_draw_other_masks_from_then_on(name):
    a = ensemble(3, seed=1, **KERNELS[name]).fit(X[A], Y[A])
    b = ensemble(3, seed=1, **KERNELS[name]).fit(X[A], Y[A])
    merged = a.merge(b)
    assert_array_equal(merged.votes_[:3], merged.votes_[3:])
    members = merged._learner.members
    masks = members.masks(slice(0, 6), 0, 64)
    assert len({column.tobytes() for column in masks.T}) == 6
    assert_array_equal(masks[:, :3], a._learner.members.masks(slice(0, 3), 0, 64))


def test_an_ensemble_can_be_merged_with_itself_again_and_again():
    merged = ensemble(3).fit(X, Y)
    for _ in range(3):
        merged = merged.merge(merged)
    assert len(np.unique(merged._learner.members.key)) == 24


def test_merging_twice_gives_the_same():
    a, b = two("linear")
    again = a.merge(copy.deepcopy(b)), a.merge(b)
    assert same(*(shown(merged.partial_fit(X, Y), X) for merged in again))


def test_the_clock_goes_on_from_the_later_of_both():
    a, b = two("linear")
    clocks = a.merge(b)._learner.clock, b.merge(a)._learner.clock
    assert clocks == (50, 50)


def test_features_and_sums_merge_to_the_same(monkeypatch):
    merged = []
    for few, kind in ((1024, PolynomialLearner), (0, KernelEnsembleLearner)):
        monkeypatch.setattr(kernel_estimator, "FEW", few)
        a, b = two("poly")
        merged.append(a.merge(b).partial_fit(X, Y))
        assert type(merged[-1]._learner) is kind
    for what in ("support_", "dual_coef_", "votes_", "member_thresholds_"):
        assert_array_equal(*(getattr(model, what) for model in merged))
    assert_array_equal(*(model.predict(X) for model in merged))


def test_ensembles_without_support_can_be_merged():
    options = {"kernel": "rbf", "tau": 1e-9}
    a = ensemble(3, seed=1, **options).fit(X[A], Y[A])
    merged = a.merge(ensemble(4, seed=2, **options).fit(X[B], Y[B]))
    assert merged.support_.size == 0
    assert_array_equal(merged.predict(X), 4)


def test_what_an_ensemble_was_fitted_with_counts_not_what_is_set_since():
    a, b = ensemble().fit(X, Y), ensemble(seed=1).fit(X, Y).set_params(tau=0.1)
    assert a.merge(b).n_estimators == 6


def test_features_without_names_go_with_any():
    pd = pytest.importorskip("pandas")
    a = ensemble().fit(pd.DataFrame(X, columns=["p", "q", "r"]), Y)
    b = ensemble(seed=1).fit(X, Y)
    assert a.merge(b).feature_names_in_.tolist() == ["p", "q", "r"]


def fitted(rows=X, **options):
    return lambda: ensemble(**options).fit(rows, Y)


def with_names(*columns):
    return lambda: ensemble().fit(pytest.importorskip("pandas").DataFrame(X, columns=columns), Y)


OTHER = "AggregatePRank: other must be"
PRECOMPUTED = fitted(plus_one_squared(X, X), kernel="precomputed")
# Options of the second ensemble, and what it should have been.
DIFFERENT = [
    ({"tau": 0.5}, "one with tau=0.6; got 0.5."),
    ({"aggregate": "median"}, "one with aggregate='bayes_point'; got 'median'."),
    ({"kernel": "rbf"}, "one with kernel='linear'; got 'rbf'."),
    ({"gamma": 2}, "one with gamma=None; got 2."),
    ({"degree": 3}, "one with degree=2; got 3."),
    ({"coef0": 0.0}, "one with coef0=1.0; got 0.0."),
    ({"budget": 9}, "one with budget=None; got 9."),
    ({"fit_intercept": True}, "one with fit_intercept=False; got True."),
    ({"unit_norm": True}, "one with unit_norm=False; got True."),
    (
        {"classes": [1, 2, 3, 4, 5]},
        "of the classes [1, 2, 3, 4]; got [1, 2, 3, 4, 5]. Give both the same classes=.",
    ),
]
# How the first and the second are made, the error, and its message.
REFUSED = [
    *((fitted(), fitted(**options), ValueError, f"{OTHER} {rule}") for options, rule in DIFFERENT),
    (fitted(), fitted(X[:, :2]), ValueError, f"{OTHER} of 3 features; got 2."),
    (
        with_names("p", "q", "r"),
        with_names("p", "r", "q"),
        ValueError,
        f"{OTHER} of the features ['p', 'q', 'r']; got ['p', 'r', 'q'].",
    ),
    (
        PRECOMPUTED,
        PRECOMPUTED,
        ValueError,
        "AggregatePRank: kernel must be 'linear', 'poly', 'rbf' or a function to "
        "merge, since columns of two precomputed ones stand for different rows; got "
        "'precomputed'.",
    ),
    *(
        (fitted(), make, TypeError, f"{OTHER} an AggregatePRank; got an object of type {kind}.")
        for make, kind in (
            (lambda: PRank().fit(X, Y), "PRank"),
            (lambda: None, "NoneType"),
            (list, "list"),
        )
    ),
    (
        ensemble,
        fitted(),
        NotFittedError,
        "This AggregatePRank instance is not fitted yet. Call 'fit' with appropriate "
        "arguments before using this estimator.",
    ),
    (
        fitted(),
        ensemble,
        NotFittedError,
        f"{OTHER} fitted; got {ensemble()!r}. Call its fit first.",
    ),
]


@pytest.mark.parametrize(("first", "second", "error", "message"), REFUSED, ids=range(len(REFUSED)))
def test_ensembles_that_do_not_match_are_refused(first, second, error, message):
    a, b = first(), second()
    with raises_unchanged(a, error, message):
        a.merge(b)
