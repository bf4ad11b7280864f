"""Every learner does what its definition says, row by row."""

import numba
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from support.helpers import LEARNERS, make, make_oracle, messy_csr, real_data

pytestmark = pytest.mark.jit_off

EXAMPLES = settings(max_examples=15 if numba.config.DISABLE_JIT else 50)
FORMS = {
    "dense": lambda X, seed: X,
    "csr": lambda X, seed: sparse.csr_array(X),
    "messy csr": messy_csr,
}
KINDS = [np.float64, np.float32]
every_learner = pytest.mark.parametrize("name", LEARNERS)
# With the step eta / ||x||^2, or of a third, sums of integers are integers no more.
exact_learners = pytest.mark.parametrize("name", [n for n in LEARNERS if n[0] not in "nu"])


@st.composite
def integer_problems(draw):
    """Small integers: no sum is ever rounded, and scores fall on thresholds."""
    k, d = draw(st.integers(2, 6)), draw(st.integers(1, 3))
    n = draw(st.integers(1, 8))
    X = draw(hnp.arrays(np.int64, (n + 3, d), elements=st.integers(-2, 2)))
    y = draw(st.lists(st.integers(1, k), min_size=n, max_size=n))
    form, kind = draw(st.sampled_from(sorted(FORMS))), draw(st.sampled_from(KINDS))
    return X[:n], np.array(y), X[n:], k, form, kind, draw(st.booleans())


@st.composite
def real_problems(draw):
    k, d = draw(st.integers(2, 6)), draw(st.integers(2, 6))
    seed = draw(st.integers(0, 2**32 - 1))
    X, y = real_data(seed, n=draw(st.integers(2, 40)) + 5, d=d, k=k)
    X[np.random.default_rng(seed).random(X.shape) < draw(st.sampled_from([0, 0.5]))] = 0
    view = {"fit_intercept": draw(st.booleans()), "unit_norm": draw(st.booleans())}
    form = draw(st.sampled_from(sorted(FORMS)))
    return X[5:], y[5:], X[:5], k, form, view


def both_run(name, X, y, k, form, kind, view):
    """Let learner and oracle go through the rows; return them and their predictions."""
    model = make(name, classes=range(1, k + 1), **view)
    oracle = make_oracle(name, X.shape[1], k, **view)
    X = X.astype(kind)
    predicted = model.progressive(FORMS[form](X, 1), y)
    return model, oracle, predicted, oracle.progressive(X.tolist(), y.tolist())


def weights_of(model):
    weights = np.atleast_2d(model.coef_)
    constant = np.reshape(model.intercept_, (-1, 1))
    return np.hstack([weights, constant]) if model.fit_intercept else weights


def assert_same(name, model, oracle, equal):
    """Compare all that the two have learnt."""
    if name == "voted":
        assert_array_equal(model.votes_, [votes for _, _, votes in oracle.rules])
    else:
        equal(weights_of(model), np.atleast_2d(oracle.weights()))
    if hasattr(model, "thresholds_"):
        equal(model.thresholds_, oracle.thresholds())
    counts = model.n_rounds_, model.n_mistakes_, model.cumulative_loss_
    assert counts == (oracle.rounds, oracle.mistakes, oracle.loss)


@exact_learners
@EXAMPLES
@given(integer_problems())
def test_integers_are_predicted_exactly_as_defined(name, problem):
    X, y, X_test, k, form, kind, intercept = problem
    view = {"fit_intercept": intercept, "unit_norm": False}
    model, oracle, predicted, expected = both_run(name, X, y, k, form, kind, view)
    assert_array_equal(predicted, expected)
    later = [oracle.predict(x) for x in X_test.tolist()]
    assert_array_equal(model.predict(FORMS[form](X_test.astype(kind), 2)), later)


@exact_learners
@EXAMPLES
@given(integer_problems())
def test_integers_are_learnt_exactly_as_defined(name, problem):
    X, y, _, k, form, kind, intercept = problem
    view = {"fit_intercept": intercept, "unit_norm": False}
    model, oracle, _, _ = both_run(name, X, y, k, form, kind, view)
    assert_same(name, model, oracle, assert_array_equal)


@EXAMPLES
@given(integer_problems())
def test_integers_get_exactly_the_mean_rank_defined(problem):
    X, y, X_test, k, form, kind, intercept = problem
    view = {"fit_intercept": intercept, "unit_norm": False}
    model, oracle, _, _ = both_run("voted", X, y, k, form, kind, view)
    expected = [oracle.mean_rank(x) for x in X_test.tolist()]
    assert_array_equal(model.mean_rank(FORMS[form](X_test.astype(kind), 2)), expected)


@every_learner
@EXAMPLES
@given(real_problems())
def test_real_numbers_are_predicted_as_defined(name, problem):
    X, y, X_test, k, form, view = problem
    model, oracle, predicted, expected = both_run(name, X, y, k, form, np.float64, view)
    later = [oracle.predict(x) for x in X_test.tolist()]
    assume(oracle.closest > 1e-9)
    assert_array_equal(predicted, expected)
    assert_array_equal(model.predict(FORMS[form](X_test, 2)), later)


@every_learner
@EXAMPLES
@given(real_problems())
def test_real_numbers_are_learnt_as_defined(name, problem):
    X, y, _, k, form, view = problem
    model, oracle, _, _ = both_run(name, X, y, k, form, np.float64, view)
    assume(oracle.closest > 1e-9)

    def close(a, b):
        assert_allclose(a, b, rtol=1e-9, atol=1e-9)

    assert_same(name, model, oracle, close)


@pytest.mark.skipif(
    numba.config.DISABLE_JIT,
    reason="a Python number times a float32 is a float32 in NumPy, not in Numba",
)
@every_learner
@EXAMPLES
@given(real_problems())
def test_single_precision_is_learnt_in_double(name, problem):
    X, y, _, k, form, view = problem
    model, oracle, predicted, expected = both_run(name, X, y, k, form, np.float32, view)
    assume(oracle.closest > 1e-9)

    def close(a, b):
        assert_allclose(a, b, rtol=1e-9, atol=1e-9)

    assert_array_equal(predicted, expected)
    assert_same(name, model, oracle, close)
