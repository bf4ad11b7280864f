"""The baselines of the PRank paper: with kernels, averaged, and the uniform update."""

from functools import partial

import numba
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from peckorder import MulticlassPerceptron, WidrowHoff
from support import online_oracles
from support.helpers import integer_data, plus_one_squared, raises_unchanged, real_data, refuses

EXAMPLES = settings(max_examples=4 if numba.config.DISABLE_JIT else 15, deadline=None)
MODELS = {
    "constant": (partial(WidrowHoff, eta=0.25), partial(online_oracles.WidrowHoff, eta=0.25)),
    "normalized": (
        partial(WidrowHoff, eta=0.5, step="normalized"),
        partial(online_oracles.WidrowHoff, eta=0.5, step="normalized"),
    ),
    "max": (MulticlassPerceptron, online_oracles.MulticlassPerceptron),
    "uniform": (
        partial(MulticlassPerceptron, update="uniform"),
        partial(online_oracles.MulticlassPerceptron, update="uniform"),
    ),
}
KERNELS = {
    "poly": ({"kernel": "poly", "gamma": 1.0}, online_oracles.polynomial()),
    "rbf": ({"kernel": "rbf", "gamma": 0.5}, online_oracles.gaussian(0.5)),
    "function": ({"kernel": plus_one_squared}, online_oracles.polynomial()),
}
every_model = pytest.mark.parametrize("name", MODELS)
every_kernel = pytest.mark.parametrize("kernel", KERNELS)
every_rule = pytest.mark.parametrize("rule", ["last", "averaged"])
X, Y = real_data(1, n=40)
VIEW = {"fit_intercept": False, "unit_norm": False}


@pytest.mark.jit_off
@every_model
@every_kernel
@every_rule
@EXAMPLES
@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_kernels_are_learnt_as_defined(name, kernel, rule, seed, intercept, is_sparse):
    A, b = real_data(seed, n=23, k=4)
    options, function = KERNELS[kernel]
    view = {"fit_intercept": intercept, "unit_norm": True}
    make, slow = MODELS[name]
    rows = sparse.csr_array(A) if is_sparse else A
    model = make(rule=rule, classes=[1, 2, 3, 4], **options, **view)
    seen = {"intercept": intercept, "unit_norm": True}
    oracle = slow(A.shape[1], 4, rule=rule, kernel=function, **seen)
    # In two parts, of which the second knows the first by its support.
    predicted = [model.progressive(rows[part], b[part]) for part in (slice(0, 9), slice(9, 18))]
    expected = oracle.progressive(A[:18].tolist(), b[:18].tolist())
    later = [oracle.predict(x) for x in A[18:].tolist()]
    assume(oracle.closest > 1e-9)
    assert_array_equal(np.concatenate(predicted), expected)
    assert_array_equal(model.predict(rows[18:]), later)
    counts = model.n_rounds_, model.n_mistakes_, model.cumulative_loss_
    assert counts == (oracle.rounds, oracle.mistakes, oracle.loss)
    scores = np.array([oracle.scores(x) for x in A[18:].tolist()])
    is_wide = isinstance(model, MulticlassPerceptron)
    found = model.decision_function(rows[18:])
    assert_allclose(found, scores if is_wide else scores[:, 0], rtol=1e-9, atol=1e-9)
    coef = oracle.coefficients()
    # The square of a row that rounding makes zero is no coefficient there.
    large = {number for number, steps in coef.items() if max(map(abs, steps)) > 1e-9}
    assert large <= set(model.support_.tolist()) <= set(coef)
    expected = np.array([coef[number] for number in model.support_.tolist()]).T
    assert_allclose(np.atleast_2d(model.dual_coef_), expected, rtol=1e-9, atol=1e-9)
    assert model.dual_coef_.ndim == 1 + is_wide


@every_model
@every_rule
@EXAMPLES
@given(st.integers(0, 2**32 - 1))
def test_a_kernel_does_what_its_features_do(name, rule, seed):
    A, b = integer_data(seed, n=30, d=2, high=1)
    features = np.column_stack([np.ones(30), A**2, A[:, 0] * A[:, 1], A, A[:, 0] * A[:, 1], A])
    make = partial(MODELS[name][0], rule=rule, max_iter=2, **VIEW)
    if name == "constant":
        make = partial(make, eta=2.0**-6)
    by_kernel = make(kernel="poly", gamma=1.0).fit(A[:20], b[:20])
    by_weights = make().fit(features[:20], b[:20])
    assert by_kernel.n_rounds_ == 40
    close = {"rtol": 1e-9, "atol": 1e-9}
    scores = by_weights.decision_function(features)
    if name == "max":  # in which no sum is rounded: ties are those of the features
        assert_array_equal(by_kernel.predict(A), by_weights.predict(features))
        assert_allclose(by_kernel.decision_function(A), scores, **close)
    if name in ("constant", "normalized"):
        assert_allclose(by_kernel.decision_function(A), scores, **close)


@every_model
@every_rule
def test_precomputed_values_are_those_of_their_function(name, rule):
    make = partial(MODELS[name][0], rule=rule, max_iter=3, **VIEW)
    values = make(kernel="precomputed").fit(plus_one_squared(X, X) / 50, Y)
    rows = make(kernel=lambda A, B: plus_one_squared(A, B) / 50).fit(X, Y)
    assert_array_equal(values.support_, rows.support_)
    assert_allclose(values.dual_coef_, rows.dual_coef_, rtol=1e-9)
    with refuses(
        f"{type(values).__name__}: kernel must be 'linear', 'poly', 'rbf' or a function to go on "
        "learning, since new rows have no column among the old ones; got 'precomputed'."
    ):
        values.partial_fit(plus_one_squared(X, X), Y)


@every_model
def test_a_kernel_sees_what_is_curved(name):
    rng = np.random.default_rng(0)
    A = rng.uniform(-1, 1, (1200, 2))
    b = 1 + np.digitize((A**2).sum(axis=1), [0.3, 0.7])
    plain, curved = (
        MODELS[name][0](rule="averaged", **options).fit(A[:800], b[:800])
        for options in ({}, {"kernel": "rbf", "gamma": 3.0, "max_iter": 3})
    )
    assert curved.score(A[800:], b[800:]) > -0.12 > -0.45 > plain.score(A[800:], b[800:])


@pytest.mark.parametrize("name", ["constant", "max", "uniform"])
def test_an_average_is_steadier_than_the_last_rule(name):
    losses = {"last": [], "averaged": []}
    for seed in range(8):
        A, b = real_data(seed, n=600)
        for rule, loss in losses.items():
            model = MODELS[name][0](rule=rule, unit_norm=False).fit(A[:400], b[:400])
            loss.append(-model.score(A[400:], b[400:]))
    assert np.mean(losses["averaged"]) < np.mean(losses["last"])
    assert np.std(losses["averaged"]) < np.std(losses["last"])


@pytest.mark.parametrize("update", ["max", "uniform"])
@EXAMPLES
@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_mistakes_of_the_perceptron_are_bounded(update, seed, k):
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(k, 3))
    M /= np.linalg.norm(M)
    A = rng.normal(size=(400, 3))
    scores = np.sort(A @ M.T, axis=1)
    clear = scores[:, -1] - scores[:, -2] > 0.15
    assume(clear.sum() > 5)
    A, b = A[clear], 1 + np.argmax(A[clear] @ M.T, axis=1)
    gamma, R = (scores[:, -1] - scores[:, -2])[clear].min(), np.linalg.norm(A, axis=1).max()
    model = MulticlassPerceptron(update=update, max_iter=30, classes=range(1, k + 1), **VIEW)
    assert model.fit(A, b).n_mistakes_ <= 2 * R**2 / gamma**2


def test_the_uniform_update_by_hand():
    model = MulticlassPerceptron(update="uniform", classes=[1, 2, 3], **VIEW)
    # All scores are 0: classes 1 and 2 come before 3, each of which loses a half.
    assert_array_equal(model.partial_fit([[2.0]], [3]).coef_, [[-1.0], [-1.0], [2.0]])
    # Class 3 alone comes before 1, as 2 is equal and comes after.
    assert_array_equal(model.partial_fit([[2.0]], [1]).coef_, [[1.0], [-1.0], [0.0]])


def test_the_published_rules_are_the_default():
    assert (WidrowHoff().rule, WidrowHoff().kernel) == ("last", "linear")
    defaults = MulticlassPerceptron().get_params()
    assert (defaults["rule"], defaults["update"], defaults["kernel"]) == ("last", "max", "linear")


def test_a_run_that_diverges_is_refused_with_a_kernel():
    model = WidrowHoff(kernel="poly", eta=5.0, unit_norm=False, max_iter=50)
    with pytest.raises(ValueError, match="eta must be small enough for the run to converge") as e:
        model.fit(X, Y)
    assert str(e.value).endswith("Lower eta, scale the features, or set step='normalized'.")


REFUSED = [
    (WidrowHoff(rule="mean"), "rule must be one of 'last', 'averaged'; got 'mean'."),
    (MulticlassPerceptron(rule="voted"), "rule must be one of 'last', 'averaged'; got 'voted'."),
    (
        MulticlassPerceptron(update="Uniform"),
        "update must be one of 'max', 'uniform'; got 'Uniform'. Did you mean 'uniform'?",
    ),
    (WidrowHoff(kernel="rbf", gamma=0), "gamma must be None or a finite number > 0; got 0."),
]


@pytest.mark.parametrize(("model", "sentence"), REFUSED)
def test_bad_options_are_refused(model, sentence):
    with raises_unchanged(model, ValueError, f"{type(model).__name__}: {sentence}"):
        model.fit(X, Y)


@pytest.mark.parametrize(
    ("model", "name", "value"),
    [
        (WidrowHoff(), "rule", "averaged"),
        (WidrowHoff(kernel="rbf"), "gamma", 2.0),
        (MulticlassPerceptron(), "update", "uniform"),
        (MulticlassPerceptron(), "kernel", "rbf"),
    ],
)
def test_another_rule_cannot_go_on(model, name, value):
    model.fit(X, Y)
    before = model.get_params()[name]
    model.set_params(**{name: value})
    sentence = f"{name} must be {before!r} as when learning began; got {value!r}. "
    sentence = f"{type(model).__name__}: {sentence}Call fit to start anew."
    with raises_unchanged(model, ValueError, sentence):
        model.partial_fit(X, Y)


def test_the_step_may_change_with_a_kernel():
    model = WidrowHoff(kernel="rbf").fit(X, Y)
    model.set_params(eta=0.5, step="normalized").partial_fit(X[:1], Y[:1])
    assert model.n_rounds_ == 41


def test_weights_are_gone_after_a_fit_with_a_kernel():
    for model in (WidrowHoff(), MulticlassPerceptron()):
        model.fit(X, Y).set_params(kernel="rbf").fit(X, Y)
        assert not hasattr(model, "coef_")
        assert not hasattr(model.set_params(kernel="linear").fit(X, Y), "support_")
