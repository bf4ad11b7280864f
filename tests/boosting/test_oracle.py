"""The slow RankBoost against the golden cases, and against itself."""

from itertools import pairwise
from math import exp, inf, log, sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from support import rankboost_oracle

CASES = range(7)
METHODS = {1: "numeric", 2: "analytic", 3: "approximate"}
close = pytest.approx


def centred(scores, rows):
    scores = np.asarray(scores, dtype=float)
    return scores - scores[rows].mean()


def pairs_in(case):
    if "pairs" in case:
        return [tuple(pair) for pair in case["pairs"]]
    return rankboost_oracle.pairs_of(case["grade"], case.get("query"))


def boosted(case, pairs=None, **options):
    method = METHODS[case.get("method", 3)]
    options = {"alpha": method, "cumulative": case.get("cum", False)} | options
    options = {"n_rounds": case["T"], "smoothing": case["eps"]} | options
    return rankboost_oracle.boost(case["features"], pairs or pairs_in(case), **options)


def assert_same_rounds(found, expected, tolerance=1e-13):
    """Compare rounds; a ranking may stand for its complement, with alpha negated."""
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        same = tuple(theirs["h"]) == ours.h
        sign = 1 if same else -1
        if not same:
            assert_array_equal(1 - np.array(ours.h), theirs["h"])
        assert ours.r == close(sign * theirs["r"], abs=tolerance)
        assert ours.alpha == close(sign * theirs["alpha"], abs=tolerance)
        assert_allclose(ours.Z, theirs["Z"], rtol=0, atol=tolerance)


@pytest.fixture(params=CASES, ids=lambda i: f"case{i}")
def case(request, golden):
    return golden("rankboost")["cases"][request.param]


@pytest.fixture
def edge(golden):
    return golden("rankboost")["edge"]


def test_no_golden_case_is_left_out(golden):
    golden = golden("rankboost")
    assert len(golden["cases"]) == len(CASES)
    assert {case["q_def"] for case in golden["cases"]} == {"adaptive"}
    edges = {"perfect_feature", "all_abstain", "no_crucial_pairs", "qdef0"}
    assert set(golden["edge"]) == edges


def test_runs_the_golden_rounds(case):
    result = boosted(case)
    assert_same_rounds(result.rounds, case["rounds"])
    sizes = [abs(one.r) for one in result.rounds]
    assert_allclose(sizes, [one["abs_r"] for one in case["rounds"]], rtol=0, atol=1e-13)


def test_ends_at_the_golden_scores(case):
    rows = case["feedback_items"]
    assert rankboost_oracle.feedback_of(pairs_in(case)) == rows
    expected = case["H_centred_on_feedback_items"]
    assert_allclose(centred(boosted(case).H, rows), expected, rtol=0, atol=1e-13)


def test_ends_with_the_golden_weights_of_pairs(case):
    assert_allclose(boosted(case).D, case["D_final"], rtol=0, atol=1e-12)


def test_bounds_the_golden_losses(case):
    pairs, result = pairs_in(case), boosted(case)
    assert result.bounds[-1] == close(case["prod_Z"], abs=1e-13)
    # Equal sums of alphas in another order differ in the last bits.
    H = np.round(result.H, 9)
    loss = rankboost_oracle.ranking_loss(pairs, H)
    assert loss == close(case["rloss_ties_1"], abs=1e-14)
    assert loss <= result.bounds[-1]
    half = rankboost_oracle.ranking_loss(pairs, H, tied=0.5)
    assert half == close(case["rloss_ties_half"], abs=1e-14)


def test_begins_with_the_golden_potentials(case):
    found, _ = rankboost_oracle.potentials(pairs_in(case), [0.0] * len(case["features"]))
    assert_allclose(found, case["potentials_initial"], rtol=0, atol=1e-15)


def test_no_golden_case_is_decided_by_rounding(case):
    assert boosted(case).closest > 1e-3


def test_breaks_ties_as_the_golden_rounds_do(case):
    keys = [one.key for one in boosted(case).rounds]
    expected = [(r["feature"], float(r["theta"]), r["q_def"]) for r in case["rounds"]]
    assert keys == expected


@pytest.mark.parametrize(
    ("gap", "pi", "total"),
    [("unit", "pi_unit", "log_total_unit"), ("exponential", "pi_gap_2pow", "log_total_gap")],
)
def test_finds_the_golden_potentials(golden, gap, pi, total):
    case = golden("rankboost")["potentials"]
    pairs = rankboost_oracle.pairs_of(case["grade"], case["query"], gap=gap)
    found, log_total = rankboost_oracle.potentials(pairs, case["H"])
    assert_allclose(found, case[pi], rtol=0, atol=1e-13)
    assert log_total == close(case[total], abs=1e-13)


def test_finds_the_golden_potentials_of_huge_scores(golden):
    case = golden("rankboost")["potentials"]
    pairs = rankboost_oracle.pairs_of(case["grade"], case["query"])
    H = [300 * score for score in case["H"]]
    found, log_total = rankboost_oracle.potentials(pairs, H)
    expected = case["H_times_300"]
    assert_allclose(found, expected["pi"], rtol=1e-9, atol=1e-300)
    assert log_total == close(expected["log_total"], rel=1e-14)


def test_smoothing_tames_a_perfect_feature(edge):
    case = edge["perfect_feature"]
    result = boosted(case)
    found = [abs(one.alpha) for one in result.rounds]
    assert_allclose(found, case["alpha"], rtol=0, atol=1e-13)
    assert_allclose([one.Z for one in result.rounds], case["Z"], rtol=0, atol=1e-14)
    rows = range(4)
    assert_allclose(centred(result.H, rows), centred(case["H"], rows), atol=1e-13)


@pytest.mark.parametrize("alpha", METHODS.values())
def test_all_methods_end_alike_on_a_perfect_feature(edge, alpha):
    result = boosted(edge["perfect_feature"], alpha=alpha)
    assert result.rounds[0].alpha == close(edge["perfect_feature"]["alpha"][0])


@pytest.mark.parametrize("alpha", METHODS.values())
def test_a_perfect_feature_needs_smoothing(edge, alpha):
    with pytest.raises(ValueError, match="smoothing"):
        boosted(edge["perfect_feature"], alpha=alpha, smoothing=0.0)


@pytest.mark.parametrize("alpha", METHODS.values())
@pytest.mark.parametrize("weak", ["threshold", "feature"])
def test_stops_at_once_where_all_abstain(edge, alpha, weak):
    case = edge["all_abstain"] | {"T": 5, "eps": 0.01}
    result = boosted(case, alpha=alpha, weak=weak)
    assert len(result.rounds) == case["rounds"]
    assert_array_equal(result.H, case["H"])


@pytest.mark.parametrize("alpha", METHODS.values())
def test_stops_at_once_where_nothing_is_told(alpha):
    pairs = [(0, 1, 1.0), (1, 0, 1.0)]
    result = rankboost_oracle.boost([[0.0], [1.0]], pairs, n_rounds=5, alpha=alpha)
    assert result.rounds == []


def test_refuses_no_pairs(edge):
    pairs = rankboost_oracle.pairs_of(edge["no_crucial_pairs"]["grade"])
    assert edge["no_crucial_pairs"]["expected"] == "error"
    with pytest.raises(ValueError, match="positive weight"):
        rankboost_oracle.boost([[1.0]] * 3, pairs, n_rounds=1)


def test_keeps_a_default_that_is_given(edge):
    case = edge["qdef0"]
    result = boosted(case, default=0)
    for ours, theirs in zip(result.rounds, case["rounds"], strict=True):
        expected = theirs["feature"], float(theirs["theta"]), 0
        assert (ours.feature, ours.threshold, ours.default) == expected
    assert_same_rounds(result.rounds, case["rounds"])
    rows = case["feedback_items"]
    expected = case["H_centred_on_feedback_items"]
    assert_allclose(centred(result.H, rows), expected, rtol=0, atol=1e-13)


def test_bipartite_runs_the_golden_rounds(golden):
    case = golden("rankboost")["cases"][3]
    assert case["kind"] == "bip"
    result = rankboost_oracle.bipartite(case["features"], case["grade"], n_rounds=case["T"])
    assert_same_rounds(result.rounds, case["rounds"])
    assert_allclose(result.D, case["D_final"], rtol=0, atol=1e-13)


def problem(seed, n=9, d=3):
    """Draw features of which some abstain, grades, queries, weights, and offsets."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[rng.random((n, d)) < 0.2] = np.nan
    grades = rng.permutation(np.arange(n) % 3).tolist()
    qid = (np.arange(n) % 2).tolist()
    return X.tolist(), grades, qid, rng.uniform(0.5, 2, n).tolist(), rng.normal(size=n)


@pytest.mark.parametrize("seed", range(10))
def test_bipartite_equals_explicit_pairs(seed):
    X, grades, _, weights, _ = problem(seed)
    is_good = [None if g == 1 else g == 2 for g in grades]
    pairs = [
        (a, b, weights[a] * weights[b])
        for a in range(len(X))
        for b in range(len(X))
        if is_good[a] is False and is_good[b]
    ]
    options = {"n_rounds": 4, "smoothing": 0.05}
    rows = [x for x, good in enumerate(is_good) if good is not None]
    explicit = rankboost_oracle.boost(X, pairs, **options)
    by_rows = rankboost_oracle.bipartite(X, is_good, sample_weight=weights, **options)
    assert explicit.closest > 1e-9  # else rounding would decide
    sizes = [[abs(one.r), abs(one.alpha), one.Z] for one in explicit.rounds]
    found = [[abs(one.r), abs(one.alpha), one.Z] for one in by_rows.rounds]
    assert_allclose(found, sizes, rtol=0, atol=1e-13)
    assert_allclose(by_rows.D, explicit.D, rtol=0, atol=1e-13)
    H = centred(by_rows.H, rows)[rows]
    assert_allclose(H, centred(explicit.H, rows)[rows], rtol=0, atol=1e-13)


@pytest.mark.parametrize("cumulative", [False, True])
@pytest.mark.parametrize("weak", ["threshold", "feature"])
@pytest.mark.parametrize("alpha", METHODS.values())
@pytest.mark.parametrize("seed", range(3))
def test_the_bounds_are_what_the_scores_and_the_offset_leave(seed, alpha, weak, cumulative):
    X, grades, qid, weights, offset = problem(seed)
    if weak == "feature" and alpha == "analytic":
        X = np.where(np.isnan(X), np.nan, np.array(X) > 0).tolist()
    elif weak == "feature" and alpha == "approximate":
        X = (1 / (1 + np.exp(X))).tolist()
    pairs = rankboost_oracle.pairs_of(grades, qid, gap="gap", sample_weight=weights)
    result = rankboost_oracle.boost(
        X,
        pairs,
        n_rounds=8,
        alpha=alpha,
        cumulative=cumulative,
        smoothing=0.02,
        learning_rate=0.7,
        offset=offset,
        weak=weak,
    )
    assert result.rounds
    scores = np.array(result.H) + offset
    total = sum(w for _, _, w in pairs)
    left = [w * exp(scores[a] - scores[b]) / total for a, b, w in pairs]
    assert result.bounds[-1] == close(sum(left), rel=1e-12)
    assert_allclose(result.D, np.array(left) / sum(left), rtol=1e-11)
    assert rankboost_oracle.ranking_loss(pairs, scores) <= result.bounds[-1]
    assert all(after < before for before, after in pairwise(result.bounds))


@pytest.mark.parametrize("seed", range(5))
def test_searching_for_alpha_finds_the_formula(seed):
    X, grades, *_ = problem(seed)
    pairs = rankboost_oracle.pairs_of(grades)
    D = [1 / len(pairs)] * len(pairs)
    rows = rankboost_oracle.feedback_of(pairs)
    for weak in rankboost_oracle.weak_rankings(X, rows, "threshold", None):
        sums = rankboost_oracle.sums_of(pairs, D, weak.h)
        if sums.right > 0 and sums.wrong > 0 and abs(sums.r) > 1e-9:
            found = rankboost_oracle.step_of("numeric", sums, pairs, D, weak.h, 0.0)
            formula = 0.5 * log(sums.right / sums.wrong)
            assert found == close(formula, abs=1e-12)
            Z = sum(
                d * exp(found * (weak.h[a] - weak.h[b]))
                for d, (a, b, _) in zip(D, pairs, strict=True)
            )
            formula = sums.level + 2 * sqrt(sums.right * sums.wrong)
            assert_allclose(Z, formula, rtol=1e-13)


def test_a_search_that_finds_no_end_is_cut():
    pairs = [(0, 1, 1.0), (0, 2, 1.0)]
    options = {"n_rounds": 1, "alpha": "numeric", "weak": "feature", "smoothing": 0.01}
    result = rankboost_oracle.boost([[0.0], [1.0], [50.0]], pairs, **options)
    assert result.rounds[0].alpha == close(0.5 * log(2.01 / 0.01) / 50)


def test_a_search_is_cut_at_the_alpha_of_a_perfect_ranking():
    pairs = [(0, 1, 1000.0), (2, 3, 1.0)]
    X = [[0.0], [1.0], [1.0], [0.0]]
    options = {"n_rounds": 1, "alpha": "numeric", "smoothing": 0.1}
    result = rankboost_oracle.boost(X, pairs, **options)
    assert result.rounds[0].alpha == close(0.5 * log(2.1 / 0.1))


# A ranking that was chosen before is much too heavy only after many rounds.
@pytest.mark.parametrize(
    ("alpha", "n_rounds"), [("approximate", 60), ("analytic", 40), ("numeric", 20)]
)
def test_a_ranking_may_lose_weight_but_not_all_of_it(alpha, n_rounds):
    X, grades, qid, weights, _ = problem(8, d=2)
    pairs = rankboost_oracle.pairs_of(grades, qid, sample_weight=weights)
    options = {"n_rounds": n_rounds, "alpha": alpha, "smoothing": 0.05}
    result = rankboost_oracle.boost(X, pairs, cumulative=True, **options)
    total = {}
    for one in result.rounds:
        total[one.key] = total.get(one.key, 0.0) + one.alpha
        assert total[one.key] > 0
    assert min(one.alpha for one in result.rounds) < 0


def test_nothing_above_the_lowest_when_no_row_abstained():
    pairs = [(0, 1, 1.0), (2, 1, 0.5)]
    X = [[1.0], [2.0], [3.0], [None]]
    result = rankboost_oracle.boost(X, pairs, n_rounds=1, smoothing=0.1)
    assert result.rounds[0].default == 0
    assert result.rounds[0].h[3] == 0


def test_takes_the_first_of_equal_thresholds():
    # The second feature says the same, and the complement of (1, -inf, 0) comes first.
    X = [[None, None], [1.0, 1.0]]
    result = rankboost_oracle.boost(X, [(0, 1, 1.0)], n_rounds=1, smoothing=0.1)
    assert result.rounds[0].key == (0, 1.0, 1)
    positive = rankboost_oracle.boost(X, [(0, 1, 1.0)], n_rounds=1, smoothing=0.1, cumulative=True)
    assert positive.rounds[0].key == (0, -inf, 0)


def test_thresholds_may_be_given():
    X = [[0.0], [1.0], [2.0], [3.0]]
    pairs = rankboost_oracle.pairs_of([0, 0, 0, 1])
    result = rankboost_oracle.boost(X, pairs, n_rounds=1, thresholds=[[0.5]], smoothing=0.1)
    assert result.rounds[0].threshold == 0.5


def test_a_feature_as_ranking_keeps_defaults_to_its_own_range():
    X = [[0.2], [0.7], [None]]
    pairs = [(0, 1, 1.0), (2, 1, 1.0)]
    result = rankboost_oracle.boost(X, pairs, n_rounds=1, weak="feature", smoothing=0.1)
    assert result.rounds[0].key == (0, None, 0.2)
    assert result.rounds[0].r == close(0.5)
    wider = rankboost_oracle.boost(
        X, pairs, n_rounds=1, weak="feature", smoothing=0.1, default=(0, 1)
    )
    assert wider.rounds[0].key == (0, None, 0)
    assert wider.rounds[0].r == close(0.6)


@pytest.mark.parametrize(
    ("alpha", "values", "message"),
    [("approximate", [0.0, 2.0], "within"), ("analytic", [0.0, 0.5], "0 or 1")],
)
def test_refuses_values_for_which_a_formula_does_not_hold(alpha, values, message):
    X = [[value] for value in values]
    with pytest.raises(ValueError, match=message):
        rankboost_oracle.boost(X, [(0, 1, 1.0)], n_rounds=1, weak="feature", alpha=alpha)


def test_pairs_weigh_what_their_rows_and_grades_say():
    grades, qid, weights = [0, 2, 1, 0, 1], "aaabb", [1.0, 2.0, 3.0, 5.0, 0.0]
    options = {"gap": "exponential", "sample_weight": weights}
    pairs = rankboost_oracle.pairs_of(grades, qid, **options)
    assert pairs == [(0, 1, 6.0), (0, 2, 3.0), (2, 1, 12.0)]
    assert rankboost_oracle.pairs_of(grades, qid, query_weight="equal") == [
        (0, 1, close(1 / 3)),
        (0, 2, close(1 / 3)),
        (2, 1, close(1 / 3)),
        (3, 4, 1.0),
    ]
