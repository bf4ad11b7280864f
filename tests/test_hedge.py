"""Rankers combined on-line: Hedge's weights and greedy orders, against the definitions."""

from itertools import permutations
from math import isnan, log

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from peckorder import Preferences
from peckorder.exceptions import DataError
from peckorder.hedge import Hedge, greedy_order
from peckorder.metrics import disagreement
from support.helpers import refuses

EXAMPLES = settings(max_examples=60, deadline=None)
NAN = float("nan")
SCORES = np.array([[3.0, 1.0], [2.0, 2.0], [1.0, 3.0]])


def preference(scores, weights, u, v):
    """Return by how much rankers prefer row u to row v; a ranker with no opinion says 1/2."""
    total = 0.0
    for w, a, b in zip(weights, scores[u], scores[v], strict=True):
        total += w * (0.5 if isnan(a) or isnan(b) or a == b else float(a > b))
    return total


def slow_order(scores, weights):
    """Order rows as published, by the matrix of preferences."""
    n = len(scores)
    pref = [[preference(scores, weights, u, v) for v in range(n)] for u in range(n)]
    left, order = list(range(n)), []
    while left:
        potential = {u: sum(pref[u][v] - pref[v][u] for v in left) for u in left}
        order.append(max(left, key=lambda u: (potential[u], -u)))
        left.remove(order[-1])
    return order


def agreement(order, scores, weights):
    return sum(
        preference(scores, weights, u, v) for i, u in enumerate(order) for v in order[i + 1 :]
    )


def slow_loss(pairs, scores, weights):
    """Return the loss of a combination: the mean of 1 - PREF over weighted pairs."""
    total = sum(weight for _, _, weight in pairs)
    wrong = (w * (1 - preference(scores, weights, u, v)) for u, v, w in pairs)
    return sum(wrong) / total


some_scores = st.sampled_from([NAN, 0.0, 1.0, 2.0, 3.0, -np.inf, np.inf])


SEVEN, FOUR = st.integers(1, 7), st.integers(1, 4)


@st.composite
def tables(draw, n_rows=SEVEN, n_rankers=FOUR):
    n, m = draw(n_rows), draw(n_rankers)
    cells = draw(st.lists(some_scores, min_size=n * m, max_size=n * m))
    weights = draw(st.lists(st.integers(0, 5), min_size=m, max_size=m))
    return np.reshape(cells, (n, m)), np.array(weights, dtype=float)


@EXAMPLES
@given(tables(n_rows=st.integers(1, 12)))
@pytest.mark.jit_off
def test_the_greedy_order_is_that_of_its_definition(table):
    scores, weights = table
    assert greedy_order(scores, weights).tolist() == slow_order(scores.tolist(), weights.tolist())


@EXAMPLES
@given(tables(n_rows=st.integers(1, 6)))
def test_the_greedy_order_agrees_at_least_half_as_much_as_the_best(table):
    scores, weights = table[0].tolist(), table[1].tolist()
    found = agreement(greedy_order(*table).tolist(), scores, weights)
    best = max(agreement(order, scores, weights) for order in permutations(range(len(scores))))
    assert found >= best / 2
    assert found <= best + 1e-9


@EXAMPLES
@given(tables())
def test_one_ranker_is_followed(table):
    scores = table[0][:, 0]
    assume(not np.isnan(scores).any())
    expected = np.argsort(-scores, kind="stable")
    assert_array_equal(greedy_order(table[0], [1.0] + [0.0] * (table[0].shape[1] - 1)), expected)


def test_without_weights_all_rankers_count_alike():
    scores = np.random.default_rng(0).normal(size=(30, 3))
    assert_array_equal(greedy_order(scores), greedy_order(scores, [2, 2, 2]))


def test_the_order_does_not_depend_on_scales():
    scores = np.random.default_rng(1).normal(size=(40, 4))
    other = np.column_stack([scores[:, 0] * 9, np.exp(scores[:, 1]), scores[:, 2:] - 7])
    assert_array_equal(greedy_order(scores, [1, 2, 3, 4]), greedy_order(other, [1, 2, 3, 4]))


@st.composite
def rounds_of_pairs(draw):
    m, beta = draw(st.integers(1, 4)), draw(st.sampled_from([0.1, 0.5, 0.9, 0.999]))
    rounds = []
    for _ in range(draw(st.integers(1, 8))):
        scores, _ = draw(tables(n_rows=st.integers(2, 6), n_rankers=st.just(m)))
        row = st.integers(0, len(scores) - 1)
        pair = st.tuples(row, row, st.integers(1, 3)).filter(lambda p: p[0] != p[1])
        rounds.append((draw(st.lists(pair, min_size=1, max_size=6)), scores))
    return m, beta, rounds


@EXAMPLES
@given(rounds_of_pairs())
def test_weights_and_losses_are_those_of_the_definition(problem):
    m, beta, rounds = problem
    hedge, weights, total = Hedge(m, beta), np.full(m, 1 / m), 0.0
    for pairs, scores in rounds:
        assert_allclose(hedge.weights, weights, rtol=1e-9)
        losses = [slow_loss(pairs, scores.tolist(), one) for one in np.eye(m).tolist()]
        total += slow_loss(pairs, scores.tolist(), weights.tolist())
        weights = weights * beta ** np.array(losses)
        weights /= weights.sum()
        feedback = Preferences(*zip(*pairs, strict=True))
        assert_allclose(hedge.losses_of(feedback, scores), losses, rtol=1e-9, atol=1e-12)
        assert hedge.update(feedback, scores) is hedge
        assert_array_equal(hedge.order(scores), greedy_order(scores, hedge.weights))
    assert_allclose(hedge.loss, total, rtol=1e-9, atol=1e-9)
    assert hedge.n_rounds == len(rounds)


@EXAMPLES
@given(rounds_of_pairs())
def test_the_losses_of_all_rounds_are_bounded(problem):
    m, beta, rounds = problem
    hedge = Hedge(m, beta)
    for pairs, scores in rounds:
        hedge.update(Preferences(*zip(*pairs, strict=True)), scores)
        best = hedge.losses.min()
        bound = (log(1 / beta) * best + log(m)) / (1 - beta)
        assert_allclose(hedge.loss_bound, bound)
        assert hedge.loss <= bound + 1e-9


@EXAMPLES
@given(tables(n_rows=st.integers(2, 7)), st.integers(0, 2**32 - 1))
def test_grades_are_their_pairs(table, seed):
    scores, _ = table
    y = np.random.default_rng(seed).integers(0, 3, len(scores))
    assume(np.ptp(y) > 0)
    hedge = Hedge(scores.shape[1])
    expected = hedge.losses_of(Preferences(*Preferences.from_grades(y).pairs()), scores)
    assert_allclose(hedge.losses_of(y, scores), expected, rtol=1e-12)
    if not np.isnan(scores).any():
        assert_allclose(expected, [disagreement(y, column) for column in scores.T], rtol=1e-12)


def test_pairs_of_size_zero_have_no_order():
    feedback = Preferences([0, 1], [1, 2], size=[2.0, 0.0])
    scores = np.array([[1.0, NAN], [2.0, 1.0], [3.0, 0.0]])
    assert_array_equal(Hedge(2).losses_of(feedback, scores), [1.0, 0.5])


def test_the_best_ranker_is_found():
    rng, hedge = np.random.default_rng(0), Hedge(5, beta=0.3)
    for _ in range(60):
        y = rng.normal(size=8)
        noise = rng.normal(size=(8, 5)) * [3.0, 3.0, 0.1, 3.0, 3.0]
        hedge.update(y, y[:, np.newaxis] + noise)
    assert hedge.weights.argmax() == 2
    assert hedge.weights[2] > 0.99
    assert hedge.loss / 60 < 0.1


def test_weights_do_not_vanish_after_many_rounds():
    hedge = Hedge(2, beta=0.01)
    for _ in range(500):
        hedge.update([1, 2, 3], SCORES)
    assert_array_equal(hedge.losses, [500.0, 0.0])
    assert_array_equal(hedge.weights, [0.0, 1.0])


def test_losses_of_a_round_are_not_learnt():
    hedge = Hedge(2)
    assert_array_equal(hedge.losses_of([1, 2, 3], SCORES), [1.0, 0.0])
    assert (hedge.n_rounds, hedge.loss, hedge.losses.tolist()) == (0, 0.0, [0.0, 0.0])


MATRIX = "scores must be numbers, a row per row and a column per ranker, one of each at least; got"
WEIGHTS = "weights must be one finite number >= 0 per ranker, 2 in all; got"
REFUSED = [
    (lambda: Hedge(0), "Hedge: n_rankers must be an integer >= 1; got 0.", ValueError),
    (lambda: Hedge(2, 1.0), "Hedge: beta must be a number > 0 and < 1; got 1.0.", ValueError),
    (
        lambda: Hedge(3).order(SCORES),
        "Hedge: scores must have a column per ranker, 3 in all; got 2.",
        DataError,
    ),
    (
        lambda: greedy_order([1.0, 2.0]),
        f"greedy_order: {MATRIX} an array of shape (2,) of float64.",
        DataError,
    ),
    (
        lambda: greedy_order([["a"]]),
        f"greedy_order: {MATRIX} an array of shape (1, 1) of <U1.",
        DataError,
    ),
    (lambda: greedy_order(SCORES, [1]), f"greedy_order: {WEIGHTS} [1].", ValueError),
    (lambda: greedy_order(SCORES, [1, -1]), f"greedy_order: {WEIGHTS} [1, -1].", ValueError),
    (lambda: greedy_order(SCORES, [1, NAN]), f"greedy_order: {WEIGHTS} [1.0, nan].", ValueError),
    (
        lambda: Hedge(2).update([1, 1, 1], SCORES),
        "Hedge: y must be at least one pair with a weight > 0; got no pair at all.",
        DataError,
    ),
    (
        lambda: Hedge(2).update([1, 2], SCORES),
        "Hedge: y must be one number per row, 3 in all; got 2.",
        DataError,
    ),
    (
        lambda: Hedge(2).update(Preferences([3], [0]), SCORES),
        "Hedge: y must be preferences among the 3 rows of X; got row 3.",
        DataError,
    ),
]


@pytest.mark.parametrize(("call", "sentence", "error"), REFUSED)
def test_what_cannot_be_combined_is_refused(call, sentence, error):
    with refuses(sentence, error):
        call()


def test_a_refused_round_is_not_learnt():
    hedge = Hedge(2).update([1, 2, 3], SCORES)
    with pytest.raises(DataError):
        hedge.update([1, 2], SCORES)
    assert (hedge.n_rounds, hedge.losses.tolist()) == (1, [1.0, 0.0])
