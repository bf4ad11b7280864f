"""The golden case of PRank with a kernel, by every way to compute it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from peckorder import PRank
from peckorder.ordinal import kernel_estimator
from peckorder.ordinal.learners.kernel_prank import KernelPRankLearner
from peckorder.ordinal.learners.polynomial import PolynomialLearner
from support.helpers import PAPER, plus_one_squared

pytestmark = pytest.mark.jit_off

POLY = {"kernel": "poly", "gamma": 1, "degree": 2, "coef0": 1}
WAYS = {
    "features": (POLY, PolynomialLearner),
    "sums": (POLY, KernelPRankLearner),
    "function": ({"kernel": plus_one_squared}, KernelPRankLearner),
    "precomputed": ({"kernel": "precomputed"}, KernelPRankLearner),
}


@pytest.fixture
def case(golden):
    return golden("prank")["kernel_case"]


@pytest.fixture(params=WAYS)
def way(request, case, monkeypatch):
    """Return a model of the way, and the rows to train and test it with."""
    options, learner = WAYS[request.param]
    if request.param == "sums":
        monkeypatch.setattr(kernel_estimator, "FEW", 0)
    X, X_test = np.array(case["X"]), np.array(case["X_test"])
    if request.param == "precomputed":
        X, X_test = plus_one_squared(X, X), plus_one_squared(X_test, X)
    model = PRank(rule="last", **PAPER, **options).fit(X, case["y"])
    assert type(model._learner) is learner
    return model, X, X_test


def test_learns_the_golden_coefficients(case, way):
    model, _, _ = way
    coef = np.zeros(len(case["coef"]), dtype=int)
    coef[model.support_] = model.dual_coef_
    assert_array_equal(coef, case["coef"])


def test_shows_coefficients_as_integers_that_are_not_zero(way):
    model, _, _ = way
    assert model.dual_coef_.dtype == np.int64
    assert np.all(model.dual_coef_ != 0)


def test_learns_the_golden_thresholds(case, way):
    model, _, _ = way
    assert_array_equal(model.thresholds_, case["b"])


def test_predicts_every_golden_row_before_learning_it(case, way):
    model, X, _ = way
    fresh = PRank(**model.get_params())
    assert_array_equal(fresh.progressive(X, case["y"]), case["preds"])


def test_gives_the_golden_scores(case, way):
    model, _, X_test = way
    score = model.decision_function(X_test)
    assert_allclose(score, case["test_scores"], rtol=0, atol=1e-9)


def test_predicts_the_golden_test_rows(case, way):
    model, _, X_test = way
    assert_array_equal(model.predict(X_test), case["test_preds"])


def test_has_neither_weights_nor_a_constant(way):
    model, _, _ = way
    assert not any(hasattr(model, name) for name in ("coef_", "intercept_"))


def test_the_golden_features_learn_the_golden_weights(case):
    root = np.sqrt(2)
    a, b = np.array(case["X"]).T
    features = np.column_stack([np.ones_like(a), root * a, root * b, a**2, b**2, root * a * b])
    model = PRank(rule="last", **PAPER).fit(features, case["y"])
    assert_allclose(model.coef_, case["explicit_w"], rtol=0, atol=1e-9)
    assert_array_equal(model.predict(case["feature_map"]), case["test_preds"])
