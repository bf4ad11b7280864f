"""Runs short enough to be worked by hand, with the working shown."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from peckorder import MulticlassPerceptron, PRank, WidrowHoff
from support.helpers import PAPER

pytestmark = pytest.mark.jit_off

# Row 1 scores 0, reaches both thresholds and is placed top, but is of the lowest
# class: both thresholds rise to 1 and the weight falls by 2. Row 2 scores 4 and is
# right. Row 3 scores 0, one class too low: only the first threshold comes down, to
# 0, and the weight moves by its value, 0.
X, Y = [[1.0], [-2.0], [0.0]], [1, 3, 2]


def test_the_last_rule_of_three_rows():
    model = PRank(rule="last", **PAPER).fit(X, Y)
    assert_array_equal(model.coef_, [-2.0])
    assert_array_equal(model.thresholds_, [0.0, 1.0])


def test_the_mistakes_of_three_rows():
    # Row 1 misses by two steps, row 3 by one.
    model = PRank(rule="last", **PAPER).fit(X, Y)
    assert (model.n_rounds_, model.n_mistakes_, model.cumulative_loss_) == (3, 2, 3)


def test_the_average_of_three_rules():
    # After the rows: w = -2, -2, -2; b = (1, 1), (1, 1), (0, 1).
    model = PRank(rule="averaged", **PAPER).fit(X, Y)
    assert_allclose(model.coef_, [-2.0], rtol=1e-15)
    assert_allclose(model.thresholds_, [2 / 3, 1.0], rtol=1e-15)


def test_the_votes_of_three_rules():
    # The zero rule erred at once, the second was right once, the third is new.
    model = PRank(rule="voted", **PAPER).fit(X, Y)
    assert_array_equal(model.votes_, [0, 1, 0])


def test_the_only_rule_with_a_vote_decides():
    # It is w = -2, b = (1, 1): a row of -1 scores 2 and is top, a row of 1 is lowest.
    model = PRank(rule="voted", **PAPER).fit(X, Y)
    assert_array_equal(model.mean_rank([[-1.0], [1.0]]), [3.0, 1.0])


def test_without_votes_the_last_rule_decides():
    # One row, one mistake: no rule has a vote; the last has w = -1, b = 1.
    model = PRank(rule="voted", classes=[1, 2], **PAPER).fit([[1.0]], [1])
    assert_array_equal(model.votes_, [0, 0])
    assert_array_equal(model.mean_rank([[1.0], [-1.0]]), [1.0, 2.0])


def test_a_half_is_rounded_upwards():
    # Rule 1 (zero) says 2 always and is right once, then wrong of the row 1: rule 2
    # has w = -1, b = 1 and is right of the row 1 once. For the row 1 they vote 2, 1.
    model = PRank(rule="voted", **PAPER).fit([[1.0], [1.0], [1.0]], [2, 1, 1])
    assert_array_equal(model.mean_rank([[1.0]]), [1.5])
    assert_array_equal(model.predict([[1.0]]), [2])


def test_a_rule_before_learning_predicts_the_highest_class():
    model = PRank(rule="last", classes=[1, 2, 3], **PAPER).fit([[5.0]], [3])
    assert_array_equal(model.predict([[-1.0], [0.0], [1.0]]), [3, 3, 3])
    assert model.n_mistakes_ == 0


def test_the_constant_is_a_feature_of_one():
    # (3, 1) is wrong by one step: w = -(3, 1), the threshold rises to 1.
    model = PRank(rule="last", classes=[1, 2], unit_norm=False).fit([[3.0]], [1])
    assert_array_equal(model.coef_, [-3.0])
    assert model.intercept_ == -1.0


def test_unit_norm_counts_the_constant():
    # (3, 4) and the constant have norm sqrt(26).
    model = PRank(rule="last", classes=[1, 2]).fit([[3.0, 4.0]], [1])
    assert_allclose(model.coef_, -np.array([3, 4]) / np.sqrt(26), rtol=1e-15)
    assert model.intercept_ == pytest.approx(-1 / np.sqrt(26), rel=1e-15)


def test_unit_norm_without_the_constant():
    model = PRank(rule="last", classes=[1, 2], fit_intercept=False)
    model.fit([[3.0, 4.0]], [1])
    assert_allclose(model.coef_, [-0.6, -0.8], rtol=1e-15)
    assert model.intercept_ == 0.0


def test_widrow_hoff_without_a_factor_two():
    # s = 0, y = 2: w = 0.5 * 2 * 1 = 1. Then s = 2, y = 1: w = 1 - 0.5 * 1 * 2 = 0.
    model = WidrowHoff(eta=0.5, **PAPER).partial_fit([[1.0]], [2], classes=[1, 2])
    assert_array_equal(model.coef_, [1.0])
    assert_array_equal(model.partial_fit([[2.0]], [1]).coef_, [0.0])


def test_widrow_hoff_with_the_normalized_step():
    # s = 0, y = 2, |x|^2 = 4: w = (0.5 / 4) * 2 * 2 = 0.5.
    model = WidrowHoff(eta=0.5, step="normalized", classes=[1, 2], **PAPER)
    assert_array_equal(model.fit([[2.0]], [2]).coef_, [0.5])


def test_widrow_hoff_learns_from_rows_it_had_right():
    model = WidrowHoff(eta=0.5, classes=[1, 2], **PAPER).fit([[1.0]], [1])
    assert model.n_mistakes_ == 0
    assert_array_equal(model.coef_, [0.5])


def test_widrow_hoff_rounds_half_upwards():
    # w = 0.5 * 1 * 1 = 0.5, so a row of 3 scores 1.5.
    model = WidrowHoff(eta=0.5, classes=[1, 2], **PAPER).fit([[1.0]], [1])
    assert_array_equal(model.predict([[3.0]]), [2])


def test_the_perceptron_moves_two_prototypes():
    # All scores are 0, so the lowest class is predicted: 3 gains x and 1 loses it.
    model = MulticlassPerceptron(classes=[1, 2, 3], **PAPER).fit([[2.0]], [3])
    assert_array_equal(model.coef_, [[-2.0], [0.0], [2.0]])
    assert_array_equal(model.intercept_, [0.0, 0.0, 0.0])


def test_the_perceptron_prefers_the_lowest_of_equals():
    model = MulticlassPerceptron(classes=[1, 2, 3], **PAPER).fit([[2.0]], [3])
    assert_array_equal(model.predict([[0.0]]), [1])
