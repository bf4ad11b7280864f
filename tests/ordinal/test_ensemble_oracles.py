"""Ensembles do what their definition says, given the masks that were drawn."""

import numba
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from peckorder import AggregatePRank, PRank
from support import online_oracles
from support.helpers import AGGREGATES, messy_csr, plus_one_squared, real_data

pytestmark = pytest.mark.jit_off

EXAMPLES = settings(max_examples=8 if numba.config.DISABLE_JIT else 30)
FORMS = {
    "dense": lambda X, seed: X,
    "csr": lambda X, seed: sparse.csr_array(X),
    "messy csr": messy_csr,
}
forms = st.sampled_from(sorted(FORMS))
kinds = st.sampled_from([np.float64, np.float32])
every_aggregate = pytest.mark.parametrize("aggregate", AGGREGATES)

# Parameters, the budget among them, and the oracle's kernel; None for weights.
EXACT = {
    "linear": ({"member_rule": "last"}, None),
    "linear averaged": ({"member_rule": "averaged"}, None),
    "poly": ({"kernel": "poly", "gamma": 1}, online_oracles.polynomial()),
    "function": ({"kernel": plus_one_squared}, online_oracles.polynomial()),
    "linear budget": ({"budget": 3}, online_oracles.dot),
    "poly budget": ({"kernel": "poly", "gamma": 1, "budget": 2}, online_oracles.polynomial()),
}
REAL = {
    "linear": ({"member_rule": "last"}, None),
    "linear averaged": ({"member_rule": "averaged"}, None),
    "poly": ({"kernel": "poly", "gamma": 0.5}, online_oracles.polynomial(0.5)),
    "rbf": ({"kernel": "rbf", "gamma": 0.5}, online_oracles.gaussian(0.5)),
    "rbf budget": ({"kernel": "rbf", "gamma": 0.5, "budget": 4}, online_oracles.gaussian(0.5)),
}
exact_kernels = pytest.mark.parametrize("name", EXACT)
real_kernels = pytest.mark.parametrize("name", REAL)
last_rules = pytest.mark.parametrize("name", [name for name in REAL if "averaged" not in name])


def close(a, b):
    assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@st.composite
def ensembles(draw):
    """Return the number of members, how often each is offered a row, a seed."""
    n, tau = draw(st.integers(1, 6)), draw(st.sampled_from([0.05, 0.4, 0.8, 1.0, None]))
    how = {"sampling": "poisson"} if tau is None else {"tau": tau}
    return {"n_estimators": n, "random_state": draw(st.integers(0, 10_000))} | how


@st.composite
def integer_problems(draw):
    """Small integers: no sum is ever rounded, and scores fall on thresholds."""
    k, d, n = draw(st.integers(2, 5)), draw(st.integers(1, 3)), draw(st.integers(1, 14))
    X = draw(hnp.arrays(np.int64, (n + 3, d), elements=st.integers(-2, 2)))
    y = draw(st.lists(st.integers(1, k), min_size=n, max_size=n))
    X, view = X.astype(draw(kinds)), {"fit_intercept": draw(st.booleans())}
    return X[:n], np.array(y), X[n:], k, draw(forms), view | {"unit_norm": False}


@st.composite
def real_problems(draw):
    k, d = draw(st.integers(2, 5)), draw(st.integers(2, 5))
    seed = draw(st.integers(0, 2**32 - 1))
    X, y = real_data(seed, n=draw(st.integers(2, 25)) + 5, d=d, k=k)
    X[np.random.default_rng(seed).random(X.shape) < draw(st.sampled_from([0, 0.5]))] = 0
    view = {"fit_intercept": draw(st.booleans()), "unit_norm": draw(st.booleans())}
    return X[5:], y[5:], X[:5], k, draw(forms), view


def masks_of(model):
    """Return the masks drawn so far, one row per member."""
    members = model._learner.members
    everyone = slice(0, len(members))
    return members.masks(everyone, -members.clock, members.clock).T


def both_run(case, aggregate, ensemble, problem):
    """Let model and oracle go through the rows; return them and their predictions."""
    (options, kernel), (X, y, _, k, form, view) = case, problem
    model = AggregatePRank(
        aggregate=aggregate, classes=range(1, k + 1), **ensemble, **options, **view
    )
    predicted = model.progressive(FORMS[form](X, 1), y)
    seen = {"intercept": view["fit_intercept"], "unit_norm": view["unit_norm"]}

    def member():
        if kernel is None:
            return online_oracles.PRank(X.shape[1], k, "last", **seen)
        return online_oracles.KernelPRank(k, kernel, "last", options.get("budget"), **seen)

    members = [member() for _ in range(model.n_estimators)]
    averaged = options.get("member_rule") == "averaged"
    oracle = online_oracles.Ensemble(members, masks_of(model).tolist(), aggregate, averaged)
    return model, oracle, predicted, oracle.progressive(X.tolist(), y.tolist())


def assert_same(model, oracle, equal):
    """Compare all that the two have learnt."""
    assert_array_equal(model.votes_, oracle.right)
    has_weights = hasattr(model, "member_coef_")
    rules = oracle.mean_rules() if has_weights else [(None, m.b) for m in oracle.members]
    thresholds = [b for _, b in rules]
    equal(model.member_thresholds_, thresholds)
    equal(model.thresholds_, np.mean(thresholds, axis=0))
    mistakes = sum(m.mistakes for m in oracle.members)
    loss = sum(m.loss for m in oracle.members)
    assert (model.n_mistakes_, model.cumulative_loss_) == (mistakes, loss)
    if has_weights:
        weights = np.array([w for w, _ in rules])
        equal(model.member_coef_, weights[:, : model.n_features_in_])
        equal(model.coef_, weights.mean(axis=0)[: model.n_features_in_])
        constant = weights[:, -1] if model.fit_intercept else 0 * weights[:, 0]
        equal(model.member_intercept_, constant)
        equal(model.intercept_, constant.mean())
        return
    total = {}
    for member in oracle.members:
        for number, coef in member.expansion():
            total[number] = total.get(number, 0) + coef
    total = sorted((number, coef) for number, coef in total.items() if coef)
    assert_array_equal(model.support_, [number for number, _ in total])
    assert_array_equal(model.dual_coef_ * model.n_estimators, [c for _, c in total])


@every_aggregate
@exact_kernels
@EXAMPLES
@given(ensembles(), integer_problems())
def test_integers_are_predicted_exactly_as_defined(aggregate, name, ensemble, problem):
    _, _, X_test, _, form, _ = problem
    run = both_run(EXACT[name], aggregate, ensemble, problem)
    model, oracle, predicted, expected = run
    assert_array_equal(predicted, expected)
    later = [oracle.predict(x) for x in X_test.tolist()]
    assert_array_equal(model.predict(FORMS[form](X_test, 2)), later)


@exact_kernels
@EXAMPLES
@given(ensembles(), integer_problems())
def test_integers_are_learnt_exactly_as_defined(name, ensemble, problem):
    model, oracle, _, _ = both_run(EXACT[name], "bayes_point", ensemble, problem)

    def equal(a, b):
        # Means of exact sums, which may be divided after or before they are added.
        assert_allclose(a, b, rtol=1e-15, atol=1e-15)

    assert_same(model, oracle, equal)


@every_aggregate
@exact_kernels
@EXAMPLES
@given(ensembles(), integer_problems())
def test_votes_are_counted_exactly_as_defined(aggregate, name, ensemble, problem):
    _, _, X_test, _, form, _ = problem
    model, oracle, _, _ = both_run(EXACT[name], aggregate, ensemble, problem)
    rows = FORMS[form](X_test, 2)
    assert_array_equal(model.mean_rank(rows), [oracle.mean_rank(x) for x in X_test.tolist()])
    assert_array_equal(model.predict_proba(rows), [oracle.shares(x) for x in X_test.tolist()])


@every_aggregate
@real_kernels
@EXAMPLES
@given(ensembles(), real_problems())
def test_real_numbers_are_predicted_as_defined(aggregate, name, ensemble, problem):
    _, _, X_test, _, form, _ = problem
    run = both_run(REAL[name], aggregate, ensemble, problem)
    model, oracle, predicted, expected = run
    later = [oracle.predict(x) for x in X_test.tolist()]
    assume(oracle.closest > 1e-9)
    assert_array_equal(predicted, expected)
    assert_array_equal(model.predict(FORMS[form](X_test, 2)), later)


@real_kernels
@EXAMPLES
@given(ensembles(), real_problems())
def test_real_numbers_are_learnt_as_defined(name, ensemble, problem):
    _, _, X_test, _, form, _ = problem
    model, oracle, _, _ = both_run(REAL[name], "bayes_point", ensemble, problem)
    assume(oracle.closest > 1e-9)
    assert_same(model, oracle, close)
    if REAL[name][1] is None:
        rules, see = oracle.mean_rules(), oracle.members[0].see
        scores = [np.mean([np.dot(w, see(x)) for w, _ in rules]) for x in X_test.tolist()]
    else:
        scores = [np.mean([m.score(x) for m in oracle.members]).item() for x in X_test.tolist()]
    close(model.decision_function(FORMS[form](X_test, 2)), scores)


def last_prank(model, X, y):
    """Return the published algorithm with the kernel of an ensemble."""
    names = ("kernel", "gamma", "degree", "coef0", "budget")
    options = {name: getattr(model, name) for name in names}
    view = {"fit_intercept": model.fit_intercept, "unit_norm": model.unit_norm}
    rule = "averaged" if model.member_rule == "averaged" else "last"
    alone = PRank(rule=rule, classes=model.classes_, **options, **view)
    return alone.fit(X, y) if len(y) else alone


@last_rules
@EXAMPLES
@given(ensembles(), real_problems())
def test_a_member_is_a_prank_that_saw_its_rows_only(name, ensemble, problem):
    X, y, _, k, form, view = problem
    options, kernel = REAL[name]
    # A budget counts a row that comes again once, of a PRank alone twice.
    assume("budget" not in options or "sampling" not in ensemble)
    X = FORMS[form](X, 1)
    model = AggregatePRank(classes=range(1, k + 1), **ensemble, **options, **view)
    model.fit(X, y)
    for j, masks in enumerate(masks_of(model)):
        mine = np.repeat(np.arange(len(y)), masks)
        if mine.size == 0:
            assert not model.member_thresholds_[j].any()
            continue
        alone = last_prank(model, X[mine], y[mine])
        assert_array_equal(model.member_thresholds_[j], alone.thresholds_)
        assert model.votes_[j] == len(mine) - alone.n_mistakes_
        if kernel is None:
            close(model.member_coef_[j], alone.coef_)
            close(model.member_intercept_[j], alone.intercept_)


@pytest.mark.parametrize("name", ["rbf", "rbf budget"])
@EXAMPLES
@given(ensembles(), real_problems())
def test_a_member_keeps_the_rows_that_a_prank_keeps(name, ensemble, problem):
    X, y, _, k, _, view = problem
    options, _ = REAL[name]
    assume("sampling" not in ensemble)  # alone, rows that come again are other rows
    model = AggregatePRank(classes=range(1, k + 1), **ensemble, **options, **view)
    learner = model.fit(X, y)._learner
    for j, masks in enumerate(masks_of(model)):
        mine = np.flatnonzero(masks)
        kept = np.flatnonzero(learner.coef[:, j])
        if mine.size == 0:
            assert kept.size == 0
            continue
        alone = last_prank(model, X[mine], y[mine])
        assert_array_equal(learner.support.number[kept], mine[alone.support_])
        assert_array_equal(learner.coef[kept, j], alone.dual_coef_)


@pytest.mark.parametrize("n_members", [1, 2, 5])
@real_kernels
@settings(max_examples=10)
@given(real_problems())
def test_members_that_see_all_rows_are_one_prank(name, n_members, problem):
    X, y, X_test, k, form, view = problem
    options, kernel = REAL[name]
    ensemble = {"n_estimators": n_members, "tau": 1, "classes": range(1, k + 1)}
    model = AggregatePRank(**ensemble, **options, **view).fit(FORMS[form](X, 1), y)
    alone = last_prank(model, FORMS[form](X, 1), y)
    assume(np.abs(alone.decision_function(X_test)[:, None] - alone.thresholds_).min() > 1e-9)
    assert_array_equal(model.predict(X_test), alone.predict(X_test))
    assert_array_equal(model.thresholds_, alone.thresholds_)
    if kernel is None:
        assert_allclose(model.coef_, alone.coef_, rtol=1e-12, atol=1e-12)
        assert_allclose(model.intercept_, alone.intercept_, rtol=1e-12, atol=1e-12)
        return
    assert_array_equal(model.support_, alone.support_)
    assert_array_equal(model.dual_coef_, alone.dual_coef_)
