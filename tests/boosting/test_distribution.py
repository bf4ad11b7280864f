"""The distribution over pairs, which is never listed, is the one over listed pairs."""

from math import exp, log

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from peckorder import Preferences
from peckorder._core.threads import MIN_ITEMS_PER_THREAD, Team
from peckorder.boosting.compiled.pairs import UNIT
from peckorder.boosting.distribution import feedback_rows, make_distribution
from support import rankboost_oracle

pytestmark = pytest.mark.jit_off

KINDS = ["unit", "gap", "exponential"]
every_kind = pytest.mark.parametrize("kind", KINDS)
every_seed = pytest.mark.parametrize("seed", range(4))
every_size = pytest.mark.parametrize("size", [1.0, 30.0, 3000.0])


def at(scores, preferences, *, weight=None, n_threads=1, **options):
    """Return the distribution that is left at some scores."""
    options = {"equal_queries": False, "one_graded": False} | options
    with Team(n_threads) as team:
        found = make_distribution(preferences, weight, len(scores), team=team, **options)
        found.move(np.array(scores, dtype=float))
    return found


def problem(seed, kind="unit", n=14):
    """Draw feedback of graded rows, its pairs, weights and scores."""
    rng = np.random.default_rng(seed)
    y, qid = rng.integers(0, 4, n), rng.integers(0, 3, n)
    weight = rng.uniform(0.2, 3, n)
    pairs = rankboost_oracle.pairs_of(y, qid, gap=kind, sample_weight=weight)
    preferences = Preferences.from_grades(y, qid, weight=kind)
    return preferences, pairs, weight, rng.standard_normal(n)


@pytest.fixture
def case(golden):
    return golden("rankboost")["potentials"]


@pytest.mark.parametrize(
    ("kind", "pi", "total"),
    [("unit", "pi_unit", "log_total_unit"), ("exponential", "pi_gap_2pow", "log_total_gap")],
)
@pytest.mark.parametrize("listed", [False, True])
def test_finds_the_golden_potentials(case, kind, pi, total, listed):
    preferences = Preferences.from_grades(case["grade"], case["query"], weight=kind)
    if listed:
        preferences = Preferences(*preferences.pairs())
    found = at(case["H"], preferences)
    assert_allclose(found.potentials / UNIT, case[pi], rtol=0, atol=1e-13)
    assert_allclose(found.log_total, case[total], rtol=0, atol=1e-13)


@pytest.mark.parametrize("listed", [False, True])
def test_finds_the_golden_potentials_of_huge_scores(case, listed):
    preferences = Preferences.from_grades(case["grade"], case["query"])
    if listed:
        preferences = Preferences(*preferences.pairs())
    found = at(np.array(case["H"]) * 300, preferences)
    expected = case["H_times_300"]
    assert_allclose(found.potentials / UNIT, expected["pi"], rtol=0, atol=1e-12)
    assert_allclose(found.log_total, expected["log_total"], rtol=1e-14)


@every_kind
@every_size
@every_seed
def test_potentials_of_graded_rows(kind, size, seed):
    preferences, pairs, weight, scores = problem(seed, kind)
    expected, log_total = rankboost_oracle.potentials(pairs, size * scores)
    found = at(size * scores, preferences, weight=weight)
    assert_allclose(found.potentials / UNIT, expected, rtol=0, atol=1e-14 * (9 + size))
    assert_allclose(found.log_total, log_total, rtol=1e-14, atol=1e-13)


@every_size
@every_seed
def test_potentials_of_rows_that_all_weigh_the_same(size, seed):
    preferences, _, _, scores = problem(seed)
    better, worse, weight = preferences.pairs()
    pairs = list(zip(worse, better, weight, strict=True))
    expected, log_total = rankboost_oracle.potentials(pairs, size * scores)
    found = at(size * scores, preferences)
    assert_allclose(found.potentials / UNIT, expected, rtol=0, atol=1e-14 * (9 + size))
    assert_allclose(found.log_total, log_total, rtol=1e-14, atol=1e-13)


@pytest.mark.parametrize("width", [0.0, 1.0, 299.9, 300.1, 599.9, 600.1, 5000.0])
@pytest.mark.parametrize("order", ["right", "wrong", "mixed"])
@pytest.mark.parametrize("others", [False, True])
def test_potentials_of_queries_of_any_width(width, order, others):
    # Some widths are given to other formulas than others.
    rng = np.random.default_rng(0)
    y, qid = np.repeat([0, 1, 2], 4), np.zeros(12)
    scores = np.linspace(0, width, 12)
    scores = {"right": scores, "wrong": scores[::-1], "mixed": rng.permutation(scores)}
    scores = scores[order] + 7.0
    if others:  # whose pairs weigh about one each
        y, qid = np.append(y, [0, 1, 2]), np.append(qid, [1, 1, 1])
        scores = np.append(scores, [0.3, 0.1, -0.4])
    pairs = rankboost_oracle.pairs_of(y, qid)
    expected, log_total = rankboost_oracle.potentials(pairs, scores)
    found = at(scores, Preferences.from_grades(y, qid))
    precise = 1e-15 * (9 + width)
    assert_allclose(found.potentials / UNIT, expected, rtol=0, atol=precise)
    assert_allclose(found.log_total, log_total, rtol=1e-14, atol=1e-14)


@every_size
@every_seed
@pytest.mark.parametrize("one_graded", [False, True])
def test_potentials_of_a_sum(size, seed, one_graded):
    first, of_first, weight, scores = problem(seed, "gap")
    second = 0.5 * problem(seed + 10)[0]
    third = Preferences([1, 0], [0, 1], [2.0, 1.0])
    better, worse, unweighed = (second + third).pairs()
    more = zip(worse, better, unweighed * weight[better] * weight[worse], strict=True)
    expected, log_total = rankboost_oracle.potentials([*of_first, *more], size * scores)
    total = first + second + third
    found = at(size * scores, total, weight=weight, one_graded=one_graded)
    assert_allclose(found.potentials / UNIT, expected, rtol=0, atol=1e-14 * (9 + size))
    assert_allclose(found.log_total, log_total, rtol=1e-14, atol=1e-13)
    kinds = [type(pairs).__name__ for pairs in found.pair_sets]
    assert kinds == ["GradedPairSet"] * (1 if one_graded else 2) + ["ListedPairSet"]


@every_kind
@every_seed
def test_equal_queries_have_a_total_of_one_each(kind, seed):
    rng = np.random.default_rng(seed)
    y, qid = rng.integers(0, 3, 14), rng.integers(0, 4, 14)
    weight, scores = rng.uniform(0.2, 3, 14), rng.standard_normal(14)
    options = {"sample_weight": weight, "query_weight": "equal"}
    pairs = rankboost_oracle.pairs_of(y, qid, gap=kind, **options)
    graded = Preferences.from_grades(y, qid, weight=kind)
    start = at(np.zeros(14), graded, weight=weight, equal_queries=True)
    n_queries = len({qid[a] for a, _, _ in pairs})
    assert_allclose(start.log_total, log(n_queries), rtol=0, atol=1e-14)
    found = at(scores, graded, weight=weight, equal_queries=True)
    expected, log_total = rankboost_oracle.potentials(pairs, scores)
    assert_allclose(found.potentials / UNIT, expected, rtol=0, atol=1e-14)
    assert_allclose(found.log_total, log_total, rtol=1e-14, atol=1e-14)


def test_what_a_pair_gives_one_row_it_takes_from_the_other():
    rng = np.random.default_rng(0)
    better = rng.integers(0, 30, 200)
    worse = (better + rng.integers(1, 30, 200)) % 30
    listed = Preferences(better, worse, rng.uniform(0, 1, 200))
    found = at(rng.standard_normal(30), listed)
    assert int(found.potentials.sum()) == 0
    assert np.abs(found.potentials).sum() <= 2 * UNIT


@every_kind
def test_the_potentials_do_not_depend_on_the_threads(kind, monkeypatch):
    monkeypatch.setitem(MIN_ITEMS_PER_THREAD, "rows", 1)
    rng = np.random.default_rng(1)
    y, qid = rng.integers(0, 5, 500), rng.integers(0, 40, 500)
    graded = Preferences.from_grades(y, qid, weight=kind)
    scores, weight = rng.standard_normal(500), rng.uniform(0.5, 1, 500)
    one, several = (
        at(scores, graded, weight=weight, n_threads=n, equal_queries=True) for n in (1, 3)
    )
    assert_array_equal(one.potentials, several.potentials)
    assert one.log_total == several.log_total


@every_kind
@every_seed
@pytest.mark.parametrize("listed", [False, True])
def test_moments_are_those_of_listed_pairs(kind, seed, listed):
    preferences, pairs, weight, scores = problem(seed, kind)
    rng = np.random.default_rng(seed + 100)
    h, moved = rng.standard_normal((2, len(scores)))
    if listed:
        preferences = Preferences(*preferences.pairs())
    found = at(scores, preferences, weight=weight)
    D = np.array(rankboost_oracle.shares(pairs, scores))
    D *= [exp(moved[a] - scores[a] - moved[b] + scores[b]) for a, b, _ in pairs]
    wrong = np.array([h[a] - h[b] for a, b, _ in pairs])
    expected = D.sum(), D @ wrong, D @ wrong**2
    assert_allclose(found.moments(moved, h), expected, rtol=1e-12, atol=1e-13)
    assert found.span(h) == np.abs(wrong).max()


def test_only_rows_in_a_pair_with_positive_weight_are_feedback():
    # Row 1 is alone in its query, rows 5 and 6 have one grade, row 4 has no weight.
    graded = Preferences.from_grades([0, 1, 1, 2, 0, 1, 1], list("abaaacc"))
    weight = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0])
    assert sorted(feedback_rows(graded, weight).tolist()) == [0, 2, 3]
    assert sorted(feedback_rows(graded, None).tolist()) == [0, 2, 3, 4]
    listed = Preferences([6, 5, 4], [1, 6, 0], [1.0, 0.0, 1.0])
    assert sorted(feedback_rows(listed, weight).tolist()) == [1, 6]
    assert sorted(feedback_rows(listed + graded, weight).tolist()) == [0, 1, 2, 3, 6]
    assert feedback_rows(0 * graded + listed, weight).tolist() == [6, 1]
    assert len(feedback_rows(0 * graded, None)) == 0
    assert len(feedback_rows(graded + listed, np.zeros(7))) == 0


@every_seed
def test_feedback_rows_are_those_of_the_pairs(seed):
    rng = np.random.default_rng(seed)
    y, qid = rng.integers(0, 2, 20), rng.integers(0, 9, 20)
    weight = rng.choice([0.0, 1.0], 20)
    pairs = rankboost_oracle.pairs_of(y, qid, sample_weight=weight)
    found = feedback_rows(Preferences.from_grades(y, qid), weight)
    assert sorted(found.tolist()) == rankboost_oracle.feedback_of(pairs)
