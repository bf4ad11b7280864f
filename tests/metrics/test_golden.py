"""The golden cases of the metrics, through public functions only."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from peckorder import metrics

# Lists of good rows only, and of one row, are among the cases.
pytestmark = [
    pytest.mark.jit_off,
    pytest.mark.filterwarnings("ignore:.*every row is good:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*left out of the mean:UserWarning"),
]

N_CASES = 10


def by_mask(function):
    return lambda case: function(case["c"], case["H"], good=case["good"])


def by_truth(function):
    return lambda case: function(case["c"], case["H"])


# How each golden value is asked for.
VALUES = {
    "ap": by_mask(metrics.average_precision),
    "prot": by_mask(metrics.reciprocal_rank),
    "coverage": by_mask(metrics.coverage),
    "disagreement": by_truth(metrics.disagreement),
    "misranking69": by_truth(metrics.misranking),
    "msd": by_truth(metrics.mean_squared_difference),
    "m1d": by_truth(metrics.mean_absolute_difference),
}
every_value = pytest.mark.parametrize("name", VALUES)


def assert_same(got, wanted):
    assert_allclose(got, wanted, rtol=0, atol=1e-12)


@every_value
@pytest.mark.parametrize("i", range(N_CASES))
def test_small_lists_have_the_golden_values(golden, i, name):
    case = golden("metrics")["cases"][i]
    # What is undefined is null there.
    assert_same(VALUES[name](case), np.nan if case[name] is None else case[name])


def test_there_are_no_other_small_lists(golden):
    assert len(golden("metrics")["cases"]) == N_CASES


@every_value
def test_a_large_list_has_the_golden_values(golden, name):
    case = golden("metrics")["large"]
    assert_same(VALUES[name](case), case[name])


def test_the_good_rows_of_a_large_list_are_those_of_the_highest_grade(golden):
    case = golden("metrics")["large"]
    assert_same(metrics.predicted_rank_of_top(case["c"], case["H"]), case["prot"])
    assert_same(metrics.coverage(case["c"], case["H"]), case["coverage"])


@pytest.mark.parametrize("k", [1, 2, 11])
def test_ranks_have_the_golden_probabilities(golden, k):
    case = golden("metrics")["large"]
    wanted = {p["i"]: p["p"] for p in golden("metrics")["large_pr_rank"] if p["k"] == k}
    got = metrics.rank_probability(case["c"], case["H"], k, good=case["good"])
    assert_same([got[i - 1] for i in wanted], list(wanted.values()))
    assert_same(got.sum(), 1.0)


def test_the_rank_loss_is_the_golden_one(golden):
    case = golden("metrics")["rank_loss"]
    assert_same(metrics.rank_loss(case["y"], case["pred"]), case["mean"])


@pytest.mark.parametrize("i", range(2))
@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("ap", metrics.average_precision),
        ("prot", metrics.reciprocal_rank),
        ("coverage", metrics.coverage),
    ],
)
def test_a_constant_scorer_guesses_at_random(golden, i, name, metric):
    case = golden("metrics")["random_guessing"][i]
    truth = np.arange(case["N"]) < case["K"]
    assert_same(metric(truth, np.zeros(case["N"])), case[name])
