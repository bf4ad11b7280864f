"""PRank with a kernel: the rows it keeps, in passes, blocks and forms of all kinds."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel
from sklearn.model_selection import cross_val_predict
from sklearn.utils import get_tags

from peckorder import AggregatePRank, PRank
from peckorder._core.validation import as_rows
from peckorder.ordinal import kernel_estimator as estimators
from peckorder.ordinal.learners import base, polynomial
from peckorder.ordinal.learners.kernel_prank import KernelPRankLearner
from peckorder.ordinal.learners.polynomial import PolynomialLearner
from peckorder.similarity import compiled, kernel_function
from support import online_oracles
from support.helpers import (
    KERNEL_LEARNERS,
    PAPER,
    RULES,
    integer_data,
    make,
    messy_csr,
    plus_one_squared,
    real_data,
    same,
    shown,
)

X, Y = integer_data(3)
POLY = {"kernel": "poly", "gamma": 1}
FORMS = {"dense": np.asarray, "csr": sparse.csr_array, "messy": lambda X: messy_csr(X, 1)}
WAYS = {"features": 1024, "sums": 0}
every_way = pytest.mark.parametrize("few", WAYS.values(), ids=WAYS)
two_rules = pytest.mark.parametrize("rule", ["last", "averaged"])


def passes_of_oracle(rule, n_passes, budget=None, orders=None, k=4):
    oracle = online_oracles.KernelPRank(k, online_oracles.polynomial(), rule, budget)
    for i in range(n_passes):
        for number in range(len(Y)) if orders is None else orders[i].tolist():
            oracle.learn(X[number].tolist(), int(Y[number]), number)
    return oracle


def assert_expansion(model, oracle):
    expected = oracle.expansion()
    assert_array_equal(model.support_, [number for number, _ in expected])
    coefs = [coef for _, coef in expected]
    # Sums of integers that are divided by the number of rounds, after or before.
    assert_allclose(model.dual_coef_, coefs, rtol=1e-12)
    assert_allclose(model.thresholds_, oracle.thresholds(), rtol=1e-12)


@two_rules
@every_way
@pytest.mark.parametrize("n_passes", [2, 4])
def test_a_row_that_is_added_in_several_passes_counts_once(rule, few, n_passes, monkeypatch):
    monkeypatch.setattr(estimators, "FEW", few)
    model = PRank(rule=rule, max_iter=n_passes, **POLY, **PAPER).fit(X, Y)
    oracle = passes_of_oracle(rule, n_passes)
    expected = dict(oracle.expansion())
    assert len(set(model.support_)) == len(model.support_)
    assert set(model.support_) == set(expected)
    coefs = [expected[number] for number in model.support_]
    assert_allclose(model.dual_coef_, coefs, rtol=1e-12)
    assert_array_equal(model.predict(X), [oracle.predict(x) for x in X.tolist()])


@two_rules
@pytest.mark.parametrize("budget", [1, 4, 9, 30])
def test_a_row_that_is_misplaced_again_counts_once_in_the_budget(rule, budget):
    model = PRank(rule=rule, max_iter=3, budget=budget, **POLY, **PAPER).fit(X, Y)
    oracle = passes_of_oracle(rule, 3, budget)
    assert_expansion(model, oracle)
    assert len(set(model.support_)) == len(model.support_) <= budget
    assert_array_equal(model.predict(X), [oracle.predict(x) for x in X.tolist()])


@two_rules
@pytest.mark.parametrize("budget", [None, 7])
def test_shuffled_passes_follow_the_drawn_orders(rule, budget):
    source = np.random.RandomState(4)
    orders = [source.permutation(len(Y)) for _ in range(3)]
    options = {"max_iter": 3, "shuffle": True, "random_state": 4, "budget": budget}
    model = PRank(rule=rule, **options, **POLY, **PAPER).fit(X, Y)
    oracle = passes_of_oracle(rule, 3, budget, orders)
    assert sorted(model.support_) == sorted(number for number, _ in oracle.expansion())
    assert_array_equal(model.predict(X), [oracle.predict(x) for x in X.tolist()])


@pytest.mark.parametrize("n_passes", [1, 3])
def test_the_voted_rule_remembers_all_passes(n_passes):
    model = PRank(rule="voted", max_iter=n_passes, **POLY, **PAPER).fit(X, Y)
    oracle = passes_of_oracle("voted", n_passes)
    assert_array_equal(model.votes_, [votes for _, _, votes in oracle.rules])
    assert_array_equal(model.mean_rank(X), [oracle.mean_rank(x) for x in X.tolist()])


@pytest.mark.parametrize("budget", [1, 2, 5, 100])
def test_no_more_rows_are_kept_than_the_budget_allows(budget):
    model = PRank(rule="last", kernel="rbf", budget=budget, classes=[1, 2, 3, 4])
    for first in range(0, 60, 7):
        model.partial_fit(X[first : first + 7], Y[first : first + 7])
        assert len(model._learner.support) == len(model.support_) <= budget


@pytest.mark.parametrize("budget", [1, 2, 5])
def test_no_member_keeps_more_rows_than_the_budget_allows(budget):
    model = AggregatePRank(n_estimators=4, kernel="rbf", budget=budget, random_state=0)
    learner = model.fit(X, Y)._learner
    kept = np.count_nonzero(learner.coef, axis=0)
    assert_array_equal(kept, budget)
    assert learner.coef.any(axis=1).all()


def test_a_budget_that_is_never_reached_changes_nothing():
    free = PRank(kernel="rbf").fit(X, Y)
    bound = PRank(kernel="rbf", budget=1000).fit(X, Y)
    assert same(shown(bound, X), shown(free, X))


BLOCKED = [name for name in KERNEL_LEARNERS if "last" not in name]


@pytest.mark.parametrize("name", BLOCKED)
@pytest.mark.parametrize("size", [1, 7, 59])
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_the_size_of_blocks_does_not_change_the_model(name, size, form, monkeypatch):
    rows, y = real_data(3)
    rows = FORMS[form](rows)
    whole = make(name).fit(rows, y)
    monkeypatch.setattr(kernel_function, "block_size", lambda n_support: size)
    monkeypatch.setattr(polynomial, "_VALUES", 10 * size)
    assert same(shown(make(name).fit(rows, y), rows), shown(whole, rows))


@pytest.mark.parametrize("name", BLOCKED)
@pytest.mark.parametrize("size", [1, 7, 59])
def test_the_size_of_blocks_does_not_change_progressive_predictions(name, size, monkeypatch):
    whole = make(name, unit_norm=False).progressive(X, Y)
    monkeypatch.setattr(kernel_function, "block_size", lambda n_support: size)
    monkeypatch.setattr(polynomial, "_VALUES", 10 * size)
    assert_array_equal(make(name, unit_norm=False).progressive(X, Y), whole)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("form", FORMS)
def test_given_values_give_the_model_of_their_kernel(rule, form):
    K = FORMS[form](plus_one_squared(X, X))
    model = PRank(rule=rule, kernel="precomputed", max_iter=2).fit(K, Y)
    function = PRank(rule=rule, kernel=plus_one_squared, max_iter=2, **PAPER).fit(X, Y)
    a, b = shown(model, K), shown(function, X)
    assert a.pop("n_features_in_") == 60
    assert b.pop("n_features_in_") == 3
    assert same(a, b)


@pytest.mark.parametrize("rule", RULES)
def test_given_values_predict_progressively_as_their_kernel_does(rule):
    K = plus_one_squared(X, X)
    predicted = PRank(rule=rule, kernel="precomputed").progressive(K, Y)
    expected = PRank(rule=rule, kernel=plus_one_squared, **PAPER).progressive(X, Y)
    assert_array_equal(predicted, expected)


@pytest.mark.parametrize("model", [PRank(), AggregatePRank(n_estimators=3, random_state=0)])
def test_given_values_are_cut_both_ways_in_cross_validation(model):
    given = model.__class__(**model.get_params() | {"kernel": "precomputed"})
    function = model.__class__(**model.get_params() | {"kernel": plus_one_squared} | PAPER)
    predicted = cross_val_predict(given, plus_one_squared(X, X), Y, cv=3)
    assert_array_equal(predicted, cross_val_predict(function, X, Y, cv=3))


@pytest.mark.parametrize("make_model", [PRank, AggregatePRank])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "precomputed"])
def test_only_given_values_have_one_column_per_row(make_model, kernel):
    tags = get_tags(make_model(kernel=kernel))
    assert tags.input_tags.pairwise == (kernel == "precomputed")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("kernel", "function"),
    [
        ("rbf", partial(rbf_kernel, gamma=0.4)),
        ("poly", partial(polynomial_kernel, gamma=0.4, degree=3)),
    ],
)
@pytest.mark.parametrize("view", [{}, PAPER])
def test_named_kernels_are_those_of_scikit_learn(kernel, function, form, view):
    rows, y = real_data(5)
    ours = PRank(kernel=kernel, gamma=0.4, degree=3, **view).fit(FORMS[form](rows), y)
    theirs = PRank(kernel=function, **view).fit(FORMS[form](rows), y)
    assert_array_equal(ours.support_, theirs.support_)
    score = theirs.decision_function(rows)
    assert_allclose(ours.decision_function(rows), score, rtol=1e-9, atol=1e-9)


def test_any_function_of_two_matrices_is_a_kernel():
    rows, y = real_data(5)
    model = PRank(kernel=laplacian_kernel, rule="last", **PAPER).fit(rows, y)
    Z = rows[model.support_]
    expected = laplacian_kernel(rows, Z) @ model.dual_coef_
    assert_allclose(model.decision_function(rows), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kernel", ["poly", "rbf"])
def test_gamma_is_one_over_the_number_of_features_by_default(kernel):
    rows, y = real_data(6, d=4)
    default = PRank(kernel=kernel).fit(rows, y)
    explicit = PRank(kernel=kernel, gamma=0.25).fit(rows, y)
    assert same(shown(default, rows), shown(explicit, rows))


@two_rules
@pytest.mark.parametrize("options", [POLY, {"kernel": "rbf", "gamma": 0.5}, {"budget": 9}])
def test_the_coefficients_shown_give_the_scores(rule, options):
    rows, y = real_data(7)
    model = PRank(rule=rule, **options, **PAPER).fit(rows, y)
    Z = rows[model.support_]
    values = rows @ Z.T
    if "gamma" in options:
        is_poly = options["kernel"] == "poly"
        values = (values + 1) ** 2 if is_poly else rbf_kernel(rows, Z, gamma=0.5)
    expected = values @ model.dual_coef_
    assert_allclose(model.decision_function(rows), expected, rtol=1e-9, atol=1e-9)
    level = np.searchsorted(model.thresholds_, model.decision_function(rows), "right")
    assert_array_equal(model.predict(rows), model.classes_[level])


@pytest.mark.parametrize("options", [POLY, {"kernel": "rbf"}, {"budget": 9}])
@pytest.mark.parametrize("rule", RULES)
def test_thresholds_may_be_started_from(options, rule):
    if rule == "voted" and "budget" in options:
        options = {"kernel": "rbf", "gamma": 2}
    model = PRank(rule=rule, classes=[1, 2, 3], **options)
    # Scores of zero lie between the thresholds: the row is of class 2, rightly.
    model.fit(X[:1], [2], thresholds_init=[-3, 5])
    assert model.n_mistakes_ == 0
    assert_array_equal(model.predict(X), 2)


@pytest.mark.parametrize(
    ("n_features", "learner"), [(43, PolynomialLearner), (44, KernelPRankLearner)]
)
def test_features_take_the_place_of_rows_where_they_are_few(n_features, learner):
    # C(43 + 2, 2) = 990 is few, C(44 + 2, 2) = 1035 is not.
    rows, y = real_data(8, d=n_features)
    model = PRank(kernel="poly", fit_intercept=False).fit(rows, y)
    assert type(model._learner) is learner


@pytest.mark.parametrize("name", ["rbf", "rbf voted", "rbf members"])
def test_sparse_rows_are_kept_sparse(name):
    model = make(name).fit(sparse.csr_array(X), Y)
    assert sparse.issparse(model._learner.support.matrix)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 3, 8, 33])
@pytest.mark.parametrize("form", FORMS)
def test_a_row_and_its_double_are_at_distance_zero(kind, d, form):
    rows, y = real_data(9, d=d)
    rows = FORMS[form]((1e3 * rows).astype(kind))
    model = PRank(rule="last", kernel="rbf", gamma=1e3, **PAPER).fit(rows, y)
    # Rows are so far apart that each is alike itself only.
    assert_array_equal(model.decision_function(rows)[model.support_], model.dual_coef_)


@pytest.mark.jit_off
@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("kind", [compiled.LINEAR, compiled.POLY, compiled.RBF])
@pytest.mark.parametrize("is_earlier", [False, True])
def test_gram_is_the_kernel_of_each_two_rows(form, kind, is_earlier):
    rows = as_rows(FORMS[form](X[:20]))
    buffer = np.zeros(3 if form == "csr" else 0)
    square, values = np.zeros(20), np.full((20, 20), -7.0)
    last = np.arange(1, 21) if is_earlier else np.full(20, 20)
    if form == "csr":
        compiled.squares(rows, buffer, square)
    parameters = compiled.Parameters(kind, 0.5, 2.0, 3)
    compiled.gram(rows, rows, parameters, square, square, last, buffer, values)
    products = X[:20] @ X[:20].T
    expected = {
        compiled.LINEAR: products,
        compiled.POLY: (0.5 * products + 2) ** 3,
        compiled.RBF: rbf_kernel(X[:20], gamma=0.5),
    }[kind]
    if is_earlier:
        assert np.all(values[np.triu_indices(20, 1)] == -7)
        values, expected = np.tril(values), np.tril(expected)
    assert_allclose(values, expected, rtol=1e-12)
    assert not buffer.any()


@pytest.mark.jit_off
def test_squares_are_those_of_the_rows():
    square = np.empty(60)
    compiled.squares(as_rows(sparse.csr_array(X)), np.zeros(3), square)
    assert_array_equal(square, (X**2).sum(axis=1))


@pytest.mark.jit_off
def test_monomials_are_products_of_earlier_ones():
    values = np.empty((60, 4))
    factor, variable = np.array([0, 0, 1, 2]), np.array([0, 1, 2, 1])
    compiled.monomials(as_rows(X)[0], factor, variable, values)
    _, b, c = X.T
    expected = np.column_stack([np.ones(60), b, b * c, b * c * b])
    assert_array_equal(values, expected)


def test_a_stream_of_single_rows_is_remembered_in_few_pieces():
    for rule, options in (("voted", {"kernel": "rbf"}), ("last", POLY)):
        model = PRank(rule=rule, classes=[1, 2, 3, 4], **options)
        for x, y in zip(X, Y, strict=True):
            model.partial_fit([x], [y])
        assert len(model._learner.record) <= np.log2(model.n_mistakes_) + 1


@two_rules
@settings(max_examples=60)
@given(
    st.integers(0, 10_000),
    st.integers(2, 8),
    st.integers(1, 5),
    st.integers(2, 5),
    st.sampled_from([1, 3, 100]),
)
def test_budgets_of_several_passes_are_as_defined(rule, seed, n, budget, passes, block):
    rows, y = integer_data(seed, n=n, d=2, k=2, high=2)
    options = {"budget": budget, "max_iter": passes, "classes": [1, 2]}
    oracle = online_oracles.KernelPRank(2, online_oracles.dot, rule, budget)
    for _ in range(passes):
        for number in range(n):
            oracle.learn(rows[number].tolist(), int(y[number]), number)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "BLOCK", block)
        model = PRank(rule=rule, **options, **PAPER).fit(rows, y)
    assert model.n_mistakes_ == oracle.mistakes
    assert_expansion(model, oracle)


def test_the_budget_counts_only_rows_that_still_count():
    # In the third pass a row of coefficient zero is of no average any more.
    rows, y = np.array([[-2.0, -1.0], [-1.0, 1.0], [2.0, -1.0]]), [2, 3, 2]
    options = {"budget": 2, "max_iter": 4, "classes": [1, 2, 3]}
    model = PRank(**options, **PAPER).fit(rows, y)
    assert model.support_.tolist() == [0, 2]
    assert model.dual_coef_.tolist() == [-0.75, -1.0]
