"""Golden cases of the averaged and voted rules and of the baselines."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from peckorder import MulticlassPerceptron, PRank, WidrowHoff
from peckorder.datasets import square_labels
from support.helpers import PAPER

pytestmark = pytest.mark.jit_off


@pytest.fixture(params=range(2), ids=lambda i: f"case{i}")
def case(request, golden):
    return golden("oap_and_online")["oap"][request.param]


@pytest.fixture
def averaged(case):
    return PRank(rule="averaged", **PAPER).fit(case["X"], case["y"])


@pytest.fixture
def voted(case):
    return PRank(rule="voted", **PAPER).fit(case["X"], case["y"])


def test_averages_the_golden_weights(case, averaged):
    total = averaged.coef_ * averaged.n_rounds_
    assert_allclose(total, case["averaged"]["w_sum"], rtol=0, atol=1e-9)


def test_averages_the_golden_thresholds(case, averaged):
    total = averaged.thresholds_ * averaged.n_rounds_
    assert_allclose(total, case["averaged"]["b_sum"], rtol=0, atol=1e-9)


def test_predicts_by_the_golden_average(case, averaged):
    predicted = averaged.predict(case["X_test"])
    assert_array_equal(predicted, case["averaged"]["test_preds"])


def test_counts_the_golden_votes(case, voted):
    assert_array_equal(voted.votes_, case["voted"]["v"])


def test_keeps_as_many_rules_as_the_golden_case(case, voted):
    assert len(voted.votes_) == case["voted"]["n_hyp"] == voted.n_mistakes_ + 1


def test_votes_for_the_golden_mean_ranks(case, voted):
    mean = voted.mean_rank(case["X_test"])
    assert_allclose(mean, case["voted"]["mean"], rtol=0, atol=1e-9)


def test_predicts_by_the_golden_votes(case, voted):
    assert_array_equal(voted.predict(case["X_test"]), case["voted"]["rank"])


@pytest.fixture
def baselines(golden):
    return golden("oap_and_online")["online_baselines"]


@pytest.mark.parametrize("i", range(4))
def test_widrow_hoff_predicts_the_golden_rows(baselines, i):
    expected = baselines["widrow_hoff"][i]
    model = WidrowHoff(eta=expected["eta"], **PAPER)
    predicted = model.progressive(baselines["X"], baselines["y"])
    assert_array_equal(predicted, expected["preds"])


@pytest.mark.parametrize("i", range(4))
def test_widrow_hoff_learns_the_golden_weights(baselines, i):
    expected = baselines["widrow_hoff"][i]
    model = WidrowHoff(eta=expected["eta"], **PAPER)
    model.fit(baselines["X"], baselines["y"])
    assert_allclose(model.coef_, expected["w"], rtol=0, atol=1e-9)


def test_the_golden_steps_are_the_four_of_the_specification(baselines):
    etas = [expected["eta"] for expected in baselines["widrow_hoff"]]
    assert etas == [0.2, 0.1, 0.05, 0.01]


def test_the_perceptron_predicts_the_golden_rows(baselines):
    model = MulticlassPerceptron(**PAPER)
    predicted = model.progressive(baselines["X"], baselines["y"])
    assert_array_equal(predicted, baselines["mc_perceptron"]["preds"])


def test_the_perceptron_learns_the_golden_prototypes(baselines):
    model = MulticlassPerceptron(**PAPER).fit(baselines["X"], baselines["y"])
    expected = baselines["mc_perceptron"]["W"]
    assert_allclose(model.coef_, expected, rtol=0, atol=1e-9)


def test_labels_the_golden_points(golden):
    case = golden("oap_and_online")["synthetic_labels"]
    assert_array_equal(square_labels(case["x"], case["noise"]), case["y"])


def test_labels_are_integers(golden):
    case = golden("oap_and_online")["synthetic_labels"]
    assert square_labels(case["x"]).dtype == np.int64
