"""The golden cases of PRank, through public functions only."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from peckorder import PRank
from peckorder.bounds import prank_mistake_bound
from support import online_oracles
from support.helpers import PAPER, exactly

pytestmark = pytest.mark.jit_off


@pytest.fixture(params=range(4), ids=lambda i: f"case{i}")
def case(request, golden):
    return golden("prank")["cases"][request.param]


def published(case, **options):
    return PRank(rule="last", classes=range(1, case["k"] + 1), **PAPER, **options)


def started(case, n_rows):
    """Fit the first rows from the start that the case gives."""
    return published(case).fit(
        case["X"][:n_rows], case["y"][:n_rows], coef_init=case["w0"], thresholds_init=case["b0"]
    )


def test_learns_the_golden_weights(case):
    assert_allclose(started(case, None).coef_, case["w"], rtol=0, atol=1e-9)


def test_learns_the_golden_thresholds(case):
    assert_array_equal(started(case, None).thresholds_, case["b"])


def test_adds_up_the_golden_loss(case):
    assert started(case, None).cumulative_loss_ == case["cumulative_loss"]


def test_predicts_the_golden_test_rows(case):
    predicted = started(case, None).predict(case["X_test"])
    assert_array_equal(predicted, case["test_preds"])


def test_predicts_every_row_before_learning_it(case):
    model = started(case, 1)
    first = model.cumulative_loss_
    later = model.progressive(case["X"][1:], case["y"][1:])
    assert first == abs(case["preds"][0] - case["y"][0])
    assert_array_equal(later, case["preds"][1:])


def test_predicts_every_row_of_a_cold_start_before_learning_it(golden):
    for case in golden("prank")["cases"]:
        if case["w0"] is None:
            predicted = published(case).progressive(case["X"], case["y"])
            assert_array_equal(predicted, case["preds"])


def test_moves_the_thresholds_by_the_golden_steps(case):
    model = started(case, 1)
    start = np.zeros(case["k"] - 1) if case["b0"] is None else np.array(case["b0"])
    seen = [start, model.thresholds_]
    for x, y in zip(case["X"][1:], case["y"][1:], strict=True):
        seen.append(model.partial_fit([x], [y]).thresholds_)
    assert_array_equal(-np.diff(seen, axis=0), case["taus"])


def test_refuses_the_start_whose_thresholds_would_cross(golden):
    case = golden("prank")["noninteger_counterexample"]
    expected = exactly(
        "PRank: thresholds_init must be integers in ascending order, else they could "
        "cross while learning; got [0.0, 0.5]."
    )
    with pytest.raises(ValueError, match=expected):
        published(case).fit(
            [case["x"]], [case["y"]], coef_init=case["w0"], thresholds_init=case["b0"]
        )


def test_the_refused_start_would_indeed_have_crossed(golden):
    case = golden("prank")["noninteger_counterexample"]
    learner = online_oracles.PRank(1, 3, "last", w0=case["w0"], b0=case["b0"])
    learner.learn(case["x"], case["y"])
    assert learner.b == case["b_after"]


@pytest.fixture
def separable(golden):
    case = golden("prank")["separable"]
    model = published(case, max_iter=case["passes"]).fit(case["X"], case["y"])
    return case, model


def test_learns_a_separable_problem_with_the_golden_loss(separable):
    case, model = separable
    assert model.cumulative_loss_ == case["rank_loss"]


def test_ends_a_separable_problem_at_the_golden_weights(separable):
    case, model = separable
    assert_allclose(model.coef_, case["final_w"], rtol=0, atol=1e-9)


def test_ends_a_separable_problem_at_the_golden_thresholds(separable):
    case, model = separable
    assert_array_equal(model.thresholds_, case["final_b"])


def test_computes_the_golden_bounds(separable):
    case, _ = separable
    bound = prank_mistake_bound(case["X"], case["y"], case["w_star"], case["b_star"])
    assert_allclose(bound, [case["bound_tight"], case["bound"]], rtol=1e-9)


def test_loses_less_than_both_bounds(separable):
    case, model = separable
    bound = prank_mistake_bound(case["X"], case["y"], case["w_star"], case["b_star"])
    assert model.cumulative_loss_ <= bound.tight <= bound.printed
