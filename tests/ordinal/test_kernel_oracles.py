"""PRank with a kernel does what its definition says, row by row."""

import numba
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from peckorder import AggregatePRank, PRank
from peckorder.ordinal import kernel_estimator
from support import online_oracles
from support.helpers import RULES, messy_csr, plus_one_squared, real_data

pytestmark = pytest.mark.jit_off

EXAMPLES = settings(max_examples=10 if numba.config.DISABLE_JIT else 40)
FORMS = {
    "dense": lambda X, seed: X,
    "csr": lambda X, seed: sparse.csr_array(X),
    "messy csr": messy_csr,
}
KINDS = [np.float64, np.float32]
forms = st.sampled_from(sorted(FORMS))
budgets = st.sampled_from([None, 1, 2, 3, 5, 8])

# The parameters of a kernel, and what the oracle calls for each two rows.
EXACT = {
    "linear": ({"kernel": "linear"}, online_oracles.dot),
    "poly": ({"kernel": "poly", "gamma": 1, "degree": 2}, online_oracles.polynomial()),
    "cubic": (
        {"kernel": "poly", "gamma": 2, "degree": 3, "coef0": -1},
        online_oracles.polynomial(2, 3, -1),
    ),
    "function": ({"kernel": plus_one_squared}, online_oracles.polynomial()),
}
REAL = {
    "rbf": ({"kernel": "rbf", "gamma": 0.5}, online_oracles.gaussian(0.5)),
    "poly": (
        {"kernel": "poly", "gamma": 0.5, "degree": 3, "coef0": 0.25},
        online_oracles.polynomial(0.5, 3, 0.25),
    ),
    "linear": ({"kernel": "linear"}, online_oracles.dot),
}

# Weights, not rows: the voted rule takes no budget.
WEIGHTS = ("voted", "linear")


def rules_of(kernels):
    """Return all rules with all kernels, where rows are kept."""
    pairs = [(r, name) for r in RULES for name in kernels if (r, name) != WEIGHTS]
    return pytest.mark.parametrize(("rule", "name"), pairs)


exact_rules, real_rules = rules_of(EXACT), rules_of(REAL)
exact_kernels = pytest.mark.parametrize("name", [n for n in EXACT if n != "linear"])
real_kernels = pytest.mark.parametrize("name", REAL)


def assert_close(a, b):
    assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@st.composite
def integer_problems(draw):
    """Small integers: no sum is ever rounded, and scores fall on thresholds."""
    k, d, n = draw(st.integers(2, 5)), draw(st.integers(1, 3)), draw(st.integers(1, 16))
    X = draw(hnp.arrays(np.int64, (n + 3, d), elements=st.integers(-2, 2)))
    y = draw(st.lists(st.integers(1, k), min_size=n, max_size=n))
    kind, intercept = draw(st.sampled_from(KINDS)), draw(st.booleans())
    view = {"fit_intercept": intercept, "unit_norm": False}
    return X[:n].astype(kind), np.array(y), X[n:].astype(kind), k, draw(forms), view


@st.composite
def real_problems(draw):
    k, d = draw(st.integers(2, 5)), draw(st.integers(2, 5))
    seed = draw(st.integers(0, 2**32 - 1))
    X, y = real_data(seed, n=draw(st.integers(2, 30)) + 5, d=d, k=k)
    X[np.random.default_rng(seed).random(X.shape) < draw(st.sampled_from([0, 0.5]))] = 0
    view = {"fit_intercept": draw(st.booleans()), "unit_norm": draw(st.booleans())}
    return X[5:], y[5:], X[:5], k, draw(forms), view


def both_run(options, kernel, rule, budget, problem):
    """Let model and oracle go through the rows; return them and their predictions."""
    X, y, _, k, form, view = problem
    model = PRank(rule=rule, budget=budget, classes=range(1, k + 1), **view, **options)
    oracle = online_oracles.KernelPRank(
        k, kernel, rule, budget, intercept=view["fit_intercept"], unit_norm=view["unit_norm"]
    )
    predicted = model.progressive(FORMS[form](X, 1), y)
    return model, oracle, predicted, oracle.progressive(X.tolist(), y.tolist())


def possible(rule, name, budget):
    """Return the budget, or one with which rows are kept and the rule exists."""
    if rule == "voted":
        return None
    return budget or (4 if name == "linear" else None)


def assert_same(model, oracle, equal):
    """Compare all that the two have learnt."""
    counts = model.n_rounds_, model.n_mistakes_, model.cumulative_loss_
    assert counts == (oracle.rounds, oracle.mistakes, oracle.loss)
    if model.rule == "voted":
        assert_array_equal(model.votes_, [votes for _, _, votes in oracle.rules])
        return
    expected = oracle.expansion()
    assert_array_equal(model.support_, [number for number, _ in expected])
    equal(model.dual_coef_, [coef for _, coef in expected])
    equal(model.thresholds_, oracle.thresholds())


@exact_rules
@EXAMPLES
@given(integer_problems(), budgets)
def test_integers_are_predicted_exactly_as_defined(rule, name, problem, budget):
    budget = possible(rule, name, budget)
    _, _, X_test, _, form, _ = problem
    model, oracle, predicted, expected = both_run(*EXACT[name], rule, budget, problem)
    assert_array_equal(predicted, expected)
    later = [oracle.predict(x) for x in X_test.tolist()]
    assert_array_equal(model.predict(FORMS[form](X_test, 2)), later)


@exact_rules
@EXAMPLES
@given(integer_problems(), budgets)
def test_integers_are_learnt_exactly_as_defined(rule, name, problem, budget):
    budget = possible(rule, name, budget)
    model, oracle, _, _ = both_run(*EXACT[name], rule, budget, problem)
    assert_same(model, oracle, assert_array_equal)


@exact_kernels
@EXAMPLES
@given(integer_problems())
def test_integers_get_exactly_the_mean_rank_defined(name, problem):
    _, _, X_test, _, form, _ = problem
    model, oracle, _, _ = both_run(*EXACT[name], "voted", None, problem)
    expected = [oracle.mean_rank(x) for x in X_test.tolist()]
    assert_array_equal(model.mean_rank(FORMS[form](X_test, 2)), expected)


@real_rules
@EXAMPLES
@given(real_problems(), budgets)
def test_real_numbers_are_predicted_as_defined(rule, name, problem, budget):
    budget = possible(rule, name, budget)
    _, _, X_test, _, form, _ = problem
    model, oracle, predicted, expected = both_run(*REAL[name], rule, budget, problem)
    later = [oracle.predict(x) for x in X_test.tolist()]
    assume(oracle.closest > 1e-9)
    assert_array_equal(predicted, expected)
    assert_array_equal(model.predict(FORMS[form](X_test, 2)), later)


@real_rules
@EXAMPLES
@given(real_problems(), budgets)
def test_real_numbers_are_learnt_as_defined(rule, name, problem, budget):
    budget = possible(rule, name, budget)
    model, oracle, _, _ = both_run(*REAL[name], rule, budget, problem)
    assume(oracle.closest > 1e-9)
    assert_same(model, oracle, assert_close)


@real_kernels
@EXAMPLES
@given(real_problems(), budgets)
def test_scores_are_as_defined(name, problem, budget):
    budget = possible("last", name, budget)
    _, _, X_test, _, form, _ = problem
    model, oracle, _, _ = both_run(*REAL[name], "last", budget, problem)
    assume(oracle.closest > 1e-9)
    expected = [oracle.score(x) for x in X_test.tolist()]
    assert_close(model.decision_function(FORMS[form](X_test, 2)), expected)


@pytest.mark.skipif(
    numba.config.DISABLE_JIT,
    reason="a Python number times a float32 is a float32 in NumPy, not in Numba",
)
@real_kernels
@EXAMPLES
@given(real_problems(), budgets)
def test_single_precision_is_computed_in_double(name, problem, budget):
    budget = possible("last", name, budget)
    X, y, X_test, k, form, view = problem
    X, X_test = X.astype(np.float32), X_test.astype(np.float32)
    problem = X, y, X_test, k, form, view
    model, oracle, predicted, expected = both_run(*REAL[name], "last", budget, problem)
    assume(oracle.closest > 1e-9)
    assert_array_equal(predicted, expected)
    scores = [oracle.score(x) for x in X_test.tolist()]
    assert_close(model.decision_function(FORMS[form](X_test, 2)), scores)


@st.composite
def polynomials(draw):
    degree, coef0 = draw(st.integers(1, 3)), draw(st.sampled_from([0, 1, 2]))
    return {"kernel": "poly", "gamma": 1, "degree": degree, "coef0": coef0}


@pytest.mark.parametrize("rule", ["last", "averaged"])
@EXAMPLES
@given(integer_problems(), polynomials())
def test_features_and_sums_learn_the_same_integers(rule, problem, poly):
    X, y, X_test, k, form, view = problem
    model = PRank(rule=rule, classes=range(1, k + 1), **view, **poly)
    seen = []
    for few in (1024, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernel_estimator, "FEW", few)
            predicted = model.fit(FORMS[form](X, 1), y).predict(FORMS[form](X_test, 2))
        seen.append((model.support_, model.dual_coef_, model.thresholds_, predicted))
    for by_features, by_sums in zip(*seen, strict=True):
        assert_array_equal(by_features, by_sums)


@pytest.mark.parametrize("aggregate", ["bayes_point", "bagging", "voted", "median"])
@EXAMPLES
@given(integer_problems(), polynomials())
def test_members_learn_the_same_integers_by_features_and_by_sums(aggregate, problem, poly):
    X, y, X_test, k, form, view = problem
    options = {"classes": range(1, k + 1), "n_estimators": 3, "random_state": 1}
    model = AggregatePRank(aggregate=aggregate, **options, **view, **poly)
    seen = []
    for few in (1024, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernel_estimator, "FEW", few)
            model.fit(FORMS[form](X, 1), y)
            predicted = model.predict(FORMS[form](X_test, 2))
            shares = model.predict_proba(FORMS[form](X_test, 2))
        learnt = model.support_, model.dual_coef_, model.member_thresholds_
        seen.append((*learnt, model.votes_, predicted, shares))
    for by_features, by_sums in zip(*seen, strict=True):
        assert_array_equal(by_features, by_sums)


@pytest.mark.parametrize("rule", ["last", "averaged"])
@EXAMPLES
@given(integer_problems(), polynomials(), st.integers(1, 15))
def test_features_and_sums_predict_the_same_progressively(rule, problem, poly, cut):
    X, y, _, k, form, view = problem
    predicted = []
    for few in (1024, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernel_estimator, "FEW", few)
            model = PRank(rule=rule, classes=range(1, k + 1), **view, **poly)
            first = model.progressive(FORMS[form](X[:cut], 1), y[:cut])
            rest = model.progressive(X[cut:], y[cut:]) if cut < len(y) else []
        predicted.append([*first, *rest])
    assert predicted[0] == predicted[1]
