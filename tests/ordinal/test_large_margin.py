"""PRank with updates that leave a margin: what they are, what they guarantee."""

import numba
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from peckorder import PRank
from peckorder.bounds import prank_mistake_bound
from support import online_oracles
from support.helpers import messy_csr, plus_one_squared, raises_unchanged, real_data, refuses

pytestmark = pytest.mark.jit_off

EXAMPLES = settings(max_examples=15 if numba.config.DISABLE_JIT else 60)
RULES = ["last", "averaged", "voted"]
UPDATES = [("projection", None), ("projection", 1.0), ("projection", 0.2), ("romma", 1.0)]
every_update = pytest.mark.parametrize(("update", "C"), UPDATES)
every_rule = pytest.mark.parametrize("rule", RULES)
PLAIN = {"fit_intercept": False, "unit_norm": False}


@st.composite
def single_updates(draw):
    """A rule and a row, some of whose numbers are equal."""
    k, d = draw(st.integers(2, 5)), draw(st.integers(1, 3))
    numbers = st.one_of(st.integers(-3, 3).map(float), st.floats(-4, 4, allow_subnormal=False))
    w, x = (draw(st.lists(numbers, min_size=d, max_size=d)) for _ in range(2))
    b = sorted(draw(st.lists(numbers, min_size=k - 1, max_size=k - 1)))
    return w, b, x, draw(st.integers(1, k)), k


def updated(w, b, x, y, k, **options):
    """Return weights and thresholds after one row."""
    model = PRank(rule="last", classes=range(1, k + 1), **options, **PLAIN)
    model.fit([x], [y], coef_init=w, thresholds_init=b)
    return model.coef_, model.thresholds_


@EXAMPLES
@given(single_updates(), st.sampled_from([None, 2.0, 0.5, 0.01]))
def test_a_projection_is_the_nearest_rule(problem, C):
    w, b, x, y, k = problem
    coef, thresholds = updated(w, b, x, y, k, update="projection", C=C)
    expected = online_oracles.projection(w, b, x, y, np.inf if C is None else C)
    assert_allclose(coef, expected[0], rtol=1e-9, atol=1e-9)
    assert_allclose(thresholds, expected[1], rtol=1e-9, atol=1e-9)
    assert (np.diff(thresholds) >= 0).all()


@pytest.mark.parametrize("size", [1.0, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("seed", range(8))
def test_the_last_row_has_its_margins_however_long_rows_are(size, seed):
    rng = np.random.default_rng(seed)
    rows, y = rng.normal(size=(12, 2)) * size, rng.integers(1, 5, 12)
    model = PRank(rule="last", update="projection", C=None, classes=range(1, 5), **PLAIN)
    model.fit(rows, y)
    margins = model.decision_function(rows[-1:]) - model.thresholds_
    assert (np.where(y[-1] > np.arange(1, 4), margins, -margins) >= 1 - 1e-9).all()


@pytest.mark.parametrize("C", [None, 0.3])
@pytest.mark.parametrize("seed", range(6))
def test_a_general_solver_finds_the_same_rule_with_order_as_a_condition(seed, C):
    # The projection never asks for the order: no rule nearer than it lacks it.
    rng = np.random.default_rng(seed)
    k, d = 5, 3
    w, x, b = rng.normal(size=d), rng.normal(size=d), np.sort(rng.normal(size=k - 1))
    y = int(rng.integers(1, k + 1))
    z = np.where(y > np.arange(1, k), 1.0, -1.0)
    start = np.concatenate([w, b, np.zeros(k - 1)])
    cost = 0.0 if C is None else C
    rule = slice(0, d + k - 1)
    margins = lambda v: z * (v[:d] @ x - v[d : d + k - 1]) - 1 + (cost > 0) * v[d + k - 1 :]  # noqa: E731
    conditions = [margins, lambda v: np.diff(v[d : d + k - 1]), lambda v: v[d + k - 1 :]]
    found = minimize(
        lambda v: ((v[rule] - start[rule]) ** 2).sum() / 2 + cost * v[d + k - 1 :].sum(),
        start,
        constraints=[{"type": "ineq", "fun": f} for f in conditions],
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert found.success
    coef, thresholds = updated(w, b, x, y, k, update="projection", C=C)
    assert_allclose([*coef, *thresholds], found.x[rule], atol=2e-5)


@st.composite
def streams(draw):
    k, d = draw(st.integers(2, 4)), draw(st.integers(2, 4))
    seed, n = draw(st.integers(0, 2**32 - 1)), draw(st.integers(2, 25))
    X, y = real_data(seed, n=n + 5, d=d, k=k)
    view = {"fit_intercept": draw(st.booleans()), "unit_norm": draw(st.booleans())}
    return X[5:], y[5:], X[:5], k, view, draw(st.booleans())


@every_update
@every_rule
@EXAMPLES
@given(streams())
def test_a_stream_is_learnt_as_defined(update, C, rule, problem):
    X, y, X_test, k, view, is_sparse = problem
    form = (lambda rows: messy_csr(rows, 1)) if is_sparse else np.asarray
    model = PRank(rule=rule, update=update, C=C, classes=range(1, k + 1), **view)
    oracle = online_oracles.LargeMarginPRank(
        X.shape[1], k, rule, update, C, intercept=view["fit_intercept"], unit_norm=view["unit_norm"]
    )
    predicted = model.progressive(form(X), y)
    expected = oracle.progressive(X.tolist(), y.tolist())
    later = [oracle.predict(x) for x in X_test.tolist()]
    assume(oracle.closest > 1e-7)
    assert_array_equal(predicted, expected)
    assert_array_equal(model.predict(form(X_test)), later)
    counts = model.n_rounds_, model.n_mistakes_, model.cumulative_loss_
    assert counts == (oracle.rounds, oracle.mistakes, oracle.loss)
    if rule == "voted":
        assert_array_equal(model.votes_, [votes for _, _, votes in oracle.rules])
        mean = [oracle.mean_rank(x) for x in X_test.tolist()]
        assert_allclose(model.mean_rank(form(X_test)), mean, rtol=1e-12)
        return
    weights = [*model.coef_, model.intercept_] if view["fit_intercept"] else model.coef_
    assert_allclose(weights, oracle.weights(), rtol=1e-6, atol=1e-9)
    assert_allclose(model.thresholds_, oracle.thresholds(), rtol=1e-6, atol=1e-9)


@every_update
@every_rule
def test_a_kernel_does_what_its_features_do(update, C, rule):
    X, y = real_data(3, n=90, d=2, k=4)
    a, b, root = X[:, 0], X[:, 1], np.sqrt(2.0)
    features = np.column_stack([np.ones(90), root * a, root * b, a * a, b * b, root * a * b])
    options = {"rule": rule, "update": update, "C": C, **PLAIN}
    plain = PRank(**options).fit(features[:60], y[:60])
    for kernel in ("poly", plus_one_squared):
        model = PRank(kernel=kernel, gamma=1.0, **options)
        model.partial_fit(X[:7], y[:7], classes=[1, 2, 3, 4]).partial_fit(X[7:60], y[7:60])
        assert_array_equal(model.predict(X), plain.predict(features))
        if rule == "voted":
            assert_array_equal(model.votes_, plain.votes_)
        else:
            scores = plain.decision_function(features)
            assert_allclose(model.decision_function(X), scores, rtol=1e-7, atol=1e-9)
            assert_allclose(model.thresholds_, plain.thresholds_, rtol=1e-7, atol=1e-9)


@every_update
@every_rule
def test_passes_of_a_precomputed_kernel_are_those_of_rows(update, C, rule):
    X, y = real_data(5, n=40, d=6, k=3)
    options = {"rule": rule, "update": update, "C": C, "max_iter": 3, **PLAIN}
    rows = PRank(**options).fit(X, y)
    given_kernel = PRank(kernel="precomputed", **options).fit(X @ X.T, y)
    assert np.mean(given_kernel.predict(X @ X.T) == rows.predict(X)) > 0.95
    assert abs(given_kernel.n_mistakes_ - rows.n_mistakes_) <= 2


@pytest.mark.parametrize("C", [None, 5.0, 0.3])
@EXAMPLES
@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_the_losses_of_projections_are_bounded_for_any_rule(C, seed, k):
    """The bound of the docstring, for the rule that labels follow, scaled, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 3))
    w, b = rng.normal(size=3), np.sort(rng.normal(size=k - 1))
    clean = 1 + (X @ w >= b[:, np.newaxis]).sum(axis=0)
    y = np.where(rng.random(120) < 0.1, rng.integers(1, k + 1, 120), clean)
    if C is None:
        margin = np.abs((X @ w)[:, np.newaxis] - b).min(axis=1)
        X, y = X[margin > 0.05], clean[margin > 0.05]
        assume(len(X))
    model = PRank(rule="last", update="projection", C=C, classes=range(1, k + 1), **PLAIN)
    model.progressive(X, y)
    steepness, radius = (k - 1) * (X**2).sum(axis=1).max() + 1.0, 0.0 if C is None else 1.0 / C
    for scale in (0.3, 1.0, 3.0, 20.0):
        u, cuts = scale * w, scale * b
        z = np.where(y[:, np.newaxis] > np.arange(1, k), 1.0, -1.0)
        hinge = np.maximum(0.0, 1.0 - z * ((X @ u)[:, np.newaxis] - cuts)).sum()
        if C is None and hinge > 0.0:
            continue
        more = 0.0 if C is None else 2.0 * C * hinge
        bound = max(steepness, radius) * (u @ u + cuts @ cuts + more)
        assert model.cumulative_loss_ <= bound
    if C is None:
        assert model.cumulative_loss_ <= prank_mistake_bound(X, y, w, b, classes=range(1, k + 1))[0]


def test_thresholds_of_romma_cross_and_are_counted():
    model = PRank(rule="last", update="romma", classes=[1, 2, 3], **PLAIN)
    model.fit([[-3.0], [1.0], [3.0], [1.0]], [1, 1, 2, 3])
    assert_allclose(model._learner.thresholds, [20 / 44, 3 / 44])
    assert_allclose(model.thresholds_, [3 / 44, 20 / 44])
    scores = model.decision_function([[-0.1], [0.3], [3.0]])
    assert [1 + int((score >= model._learner.thresholds).sum()) for score in scores] == [1, 2, 3]
    assert_array_equal(model.predict([[-0.1], [0.3], [3.0]]), [1, 2, 3])


def test_romma_starts_anew_where_its_conditions_contradict_each_other():
    model = PRank(rule="last", update="romma", classes=[1, 2], **PLAIN)
    model.fit([[1.0], [1.0]], [1, 2])
    assert_allclose([*model.coef_, *model.thresholds_], [0.5, -0.5])


X, Y = real_data(1, k=3)
REFUSED = [
    ({"update": "prank"}, "update must be one of 'perceptron', 'projection', 'romma'; got "
     "'prank'. Did you mean 'perceptron'?"),
    ({"update": "projection", "C": 0}, "C must be None or a finite number > 0; got 0."),
    ({"C": float("inf")}, "C must be None or a finite number > 0; got inf."),
    ({"update": "romma", "budget": 5}, "budget must be None unless update='perceptron', whose "
     "steps alone can be left out; got 5."),
]  # fmt: skip


@pytest.mark.parametrize(("options", "sentence"), REFUSED)
def test_bad_options_are_refused(options, sentence):
    with refuses(f"PRank: {sentence}"):
        PRank(**options).fit(X, Y)


def test_a_voted_rule_with_a_margin_has_no_weights_to_start_from():
    model = PRank(rule="voted", update="projection")
    with refuses(
        "PRank: coef_init must be None unless kernel='linear' and budget=None, and the voted rule "
        "update='perceptron', which alone have weights to start from; got [1, 1, 1]."
    ):
        model.fit(X, Y, coef_init=[1, 1, 1])


def test_first_thresholds_may_be_any_in_order():
    PRank(update="projection").fit(X, Y, thresholds_init=[0.25, 0.5])
    with refuses("PRank: thresholds_init must be in ascending order; got [0.5, 0.25]."):
        PRank(update="projection").fit(X, Y, thresholds_init=[0.5, 0.25])


@pytest.mark.parametrize(("name", "value"), [("update", "perceptron"), ("C", 2.0)])
def test_another_update_cannot_go_on(name, value):
    model = PRank(update="projection").fit(X, Y)
    before = model.get_params()[name]
    model.set_params(**{name: value})
    sentence = f"PRank: {name} must be {before!r} as when learning began; got {value!r}. "
    with raises_unchanged(model, ValueError, f"{sentence}Call fit to start anew."):
        model.partial_fit(X, Y)
