"""Metrics of orders: queries, means, what is undefined, and very large ties."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln
from sklearn.exceptions import UndefinedMetricWarning

from peckorder import metrics
from peckorder.exceptions import DataError
from support.helpers import exactly
from support.metrics_by_enumeration import METRICS

every_metric = pytest.mark.parametrize("name", METRICS)
NEEDS = {
    "graded_average_precision": "a row with a grade above 0",
    "ndcg": "a row with a gain",
    "disagreement": "a pair of rows whose truths differ",
    "kendall_tau": "a pair of rows whose truths differ",
}
# The highest grade of a list is in it: such metrics are always defined.
CAN_FAIL = [name for name, metric in METRICS.items() if metric.good != "top"]
every_metric_that_can_fail = pytest.mark.parametrize("name", CAN_FAIL)


def needs(metric):
    return NEEDS.get(metric.name, "a good row")


# --- by hand ---


def test_average_precision_is_the_mean_precision_at_the_good_rows():
    assert metrics.average_precision([1, 0, 1], [3, 2, 1]) == (1 / 1 + 2 / 3) / 2


def test_the_reciprocal_rank_is_that_of_the_first_good_row():
    assert metrics.reciprocal_rank([0, 1, 1], [3, 2, 1]) == 1 / 2


def test_the_top_row_may_be_of_any_grade():
    assert metrics.predicted_rank_of_top([-5, -4, -6], [3, 2, 1]) == 1 / 2


def test_coverage_is_by_the_last_good_row():
    assert metrics.coverage([2, 1, 2, 0], [4, 3, 2, 1]) == 2 / 3


def test_coverage_takes_grades():
    assert metrics.coverage([2, 0, 1, 0], [4, 3, 2, 1], good=1) == 2 / 3


def test_a_short_list_is_divided_by_k_all_the_same():
    assert metrics.precision_at([1, 0], [2, 1], 10) == 0.1


def test_recall_is_the_share_of_the_good_rows():
    assert metrics.recall_at([1, 0, 1], [3, 2, 1], 2) == 0.5


def test_a_hit_among_two_of_four_tied_rows_comes_half_of_the_time():
    assert metrics.hits_at([1, 0, 0, 0], [1, 1, 1, 1], 2) == 0.5


def test_ranks_beyond_the_cap_count_as_the_cap():
    assert metrics.expected_rank([0, 0, 0, 1], [4, 3, 2, 1], cap=2) == 2.0


def test_a_cap_beyond_the_list_does_nothing():
    assert metrics.expected_rank([0, 0, 0, 1], [4, 3, 2, 1], cap=100) == 4.0


def test_the_exponential_gain_is_a_power_of_two():
    wanted = (3 / 1 + 1 / np.log2(4)) / (3 / 1 + 1 / np.log2(3))
    got = metrics.ndcg([2, 0, 1], [3, 2, 1], gain="exponential")
    assert got == pytest.approx(wanted, rel=1e-14)


def test_infinite_scores_are_first_and_last():
    assert metrics.kendall_tau([3, 1, 2], [np.inf, -np.inf, 0.0]) == 1.0


def test_equal_infinite_scores_are_tied():
    assert metrics.disagreement([3, 1], [np.inf, np.inf]) == 0.5


def test_zeros_of_either_sign_are_tied():
    assert metrics.disagreement([3, 1], [0.0, -0.0]) == 0.5


def test_booleans_are_truths():
    assert metrics.reciprocal_rank([False, True], [2, 1]) == 0.5


def test_a_mask_may_contradict_the_grades():
    mask = [False, True]
    assert metrics.reciprocal_rank([1, 0], [1, 2], good=mask) == 1.0


@pytest.mark.parametrize(("ties", "wanted"), [("best", 1.0), ("worst", 0.5)])
def test_the_best_order_is_that_of_the_mask(ties, wanted):
    mask = [False, True]
    got = metrics.reciprocal_rank([1, 0], [1, 1], good=mask, ties=ties)
    assert got == wanted


def test_misranking_counts_ties_as_wrong():
    truth, score = [0, 1, 2, 2], [1, 1, 1, 0]
    worst = metrics.disagreement(truth, score, ties="worst")
    assert metrics.misranking(truth, score) == worst


@every_metric
def test_what_is_given_is_not_changed(name):
    truth, score = np.array([0.5, 2, 1, 0]), np.array([1.0, 2, 2, 3])
    qid = np.array([2, 1, 2, 1])
    given = [column.copy() for column in (truth, score, qid)]
    for column in (truth, score, qid):
        column.flags.writeable = False
    METRICS[name](truth, score, qid=qid, undefined="zero", per_query=True)
    for column, before in zip((truth, score, qid), given, strict=True):
        assert_array_equal(column, before)


@pytest.mark.parametrize("kind", [np.float32, np.int8, np.uint8, np.float16, object])
def test_numbers_may_be_of_any_kind(kind):
    truth, score = np.array([0, 2, 1], kind), np.array([1, 2, 3], kind)
    assert metrics.disagreement(truth, score) == 1 / 3


def test_columns_may_be_strided():
    table = np.array([[0.0, 1.0], [2.0, 2.0], [1.0, 3.0]])
    assert metrics.disagreement(table[:, 0], table[:, 1]) == 1 / 3


# --- what is undefined ---


def undefined(metric):
    """Return two queries: one without a value, and a perfect one."""
    return {"y_true": [0, 0, 1, 0], "y_score": [2, 1, 2, 1], "qid": [*"aabb"]}


PERFECT = {
    "precision at 3": 1 / 3,
    "precision at 9": 1 / 9,
    "disagreement": 0.0,
    "rank-biased precision": 1 - 0.7,
}


@every_metric_that_can_fail
def test_undefined_queries_are_left_out_and_counted(name):
    metric = METRICS[name]
    sentence = (
        f"{metric.name}: 1 of 2 queries are left out of the mean, having no "
        f"{needs(metric).removeprefix('a ')}."
    )
    with pytest.warns(UndefinedMetricWarning, match=exactly(sentence)):
        got = metric.function(**undefined(metric), **metric.options)
    assert got == PERFECT.get(name, 1.0)


@every_metric_that_can_fail
def test_undefined_queries_may_count_as_zero(name):
    metric = METRICS[name]
    rows = undefined(metric)
    got = metric.function(**rows, **metric.options, undefined="zero")
    assert got == PERFECT.get(name, 1.0) / 2


@every_metric_that_can_fail
def test_undefined_queries_may_be_refused(name):
    metric = METRICS[name]
    sentence = f"{metric.name}: every query must have {needs(metric)}; got query 'a' without."
    with pytest.raises(DataError, match=exactly(sentence)):
        metric.function(**undefined(metric), **metric.options, undefined="raise")


@pytest.mark.parametrize("name", [7, 2.5, "b", ("b", 1)])
def test_the_refused_query_is_called_by_its_name(name):
    other = type(name)([*"ab"]) if isinstance(name, tuple) else type(name)(0)
    sentence = f"ndcg: every query must have a row with a gain; got query {name!r} without."
    with pytest.raises(DataError, match=exactly(sentence)):
        metrics.ndcg([1, 0, 0], [1, 2, 3], qid=[other, name, name], undefined="raise")


@every_metric_that_can_fail
def test_a_value_a_query_is_nan_where_undefined_without_a_warning(name):
    metric = METRICS[name]
    got = metric.function(**undefined(metric), **metric.options, per_query=True)
    assert_array_equal(got, [np.nan, PERFECT.get(name, 1.0)])


@every_metric_that_can_fail
def test_a_value_a_query_may_be_zero_where_undefined(name):
    metric = METRICS[name]
    options = metric.options | {"per_query": True, "undefined": "zero"}
    got = metric.function(**undefined(metric), **options)
    assert_array_equal(got, [0.0, PERFECT.get(name, 1.0)])


@every_metric_that_can_fail
def test_the_mean_of_nothing_is_nan(name):
    metric = METRICS[name]
    with pytest.warns(UndefinedMetricWarning, match="2 of 2 queries are left out"):
        got = metric([0, 0], [1, 2], qid=[1, 2])
    assert type(got) is float
    assert np.isnan(got)


@pytest.mark.parametrize("name", ["rank of top", "coverage"])
def test_a_query_always_has_a_highest_grade(name):
    got = METRICS[name]([0, -1, -1, -3], [2, 1, 2, 1], qid=[*"aabb"], undefined="raise")
    assert got == 1.0


@pytest.mark.parametrize("function", ["mean_squared_difference", "mean_absolute_difference"])
def test_queries_without_weight_have_no_mean_difference(function):
    sentence = f"{function}: 1 of 2 queries are left out of the mean, having no weight > 0."
    with pytest.warns(UndefinedMetricWarning, match=exactly(sentence)):
        got = getattr(metrics, function)(
            [1, 2, 1, 2], [1, 3, 1, 2], qid=[*"aabb"], sample_weight=[0, 0, 1, 1]
        )
    assert got == 0.0


def test_pairs_without_weight_are_no_pairs():
    got = metrics.disagreement([1, 2, 3], [3, 2, 1], sample_weight=[0, 0, 1], per_query=True)
    assert_array_equal(got, [np.nan])


def test_lists_of_good_rows_only_give_a_warning():
    sentence = (
        "recall_at: in 1 of 2 queries every row is good, so that every order is "
        "perfect. Rows of grade 1 and above are good. Set `good` for another."
    )
    with pytest.warns(UserWarning, match=exactly(sentence)):
        got = metrics.recall_at([1, 2, 1, 0], [1, 2, 3, 4], 1, qid=[*"aabb"])
    assert got == (0.5 + 0.0) / 2


def test_lists_of_one_grade_give_a_warning_without_a_question():
    # There is no `good` to ask about.
    sentence = (
        "predicted_rank_of_top: in 1 of 2 queries every row is good, being of the "
        "highest grade, so that every order is perfect."
    )
    with pytest.warns(UserWarning, match=exactly(sentence)) as caught:
        got = metrics.predicted_rank_of_top([1, 1, 1, 0], [1, 2, 3, 4], qid=[*"aabb"])
    assert got == (1.0 + 0.5) / 2
    assert caught[0].filename == __file__


def test_a_warning_points_at_its_caller():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        metrics.ndcg([0], [1])
        metrics.recall_at([1], [1], 1)
    assert [w.filename for w in caught] == [__file__, __file__]


# --- weights of queries ---

PAIRS = {"y_true": [0, 1, 0, 1, 0, 1], "y_score": [2, 1, 1, 2, 1, 1], "qid": [*"bbaacc"]}


def test_queries_weigh_the_same():
    assert metrics.disagreement(**PAIRS) == (1 + 0 + 0.5) / 3


def test_weights_are_in_the_order_of_first_rows():
    assert metrics.disagreement(**PAIRS, query_weight=[2, 1, 1]) == (2 + 0 + 0.5) / 4


def test_weights_may_be_by_query():
    weight = {"a": 1, "b": 2, "c": 1, "not here": 9}
    assert metrics.disagreement(**PAIRS, query_weight=weight) == (2 + 0 + 0.5) / 4


def test_weights_of_undefined_queries_do_not_count():
    rows = PAIRS | {"y_true": [0, 0, 0, 1, 0, 1]}
    with pytest.warns(UndefinedMetricWarning, match="1 of 3"):
        got = metrics.disagreement(**rows, query_weight=[100, 1, 3])
    assert got == (0 + 3 * 0.5) / 4


def test_without_any_weight_the_mean_is_nan():
    assert np.isnan(metrics.disagreement(**PAIRS, query_weight=[0, 0, 0]))


def test_weights_by_tuples():
    qid = [("x", q) for q in "bbaacc"]
    weight = {("x", "a"): 1, ("x", "b"): 2, ("x", "c"): 1}
    got = metrics.disagreement(**PAIRS | {"qid": qid}, query_weight=weight)
    assert got == (2 + 0 + 0.5) / 4


# --- a single row, and ties of a million ---


@every_metric
@pytest.mark.filterwarnings("ignore:.*every row is good:UserWarning")
def test_a_single_row_is_perfect_or_undefined(name):
    metric = METRICS[name]
    needs_pairs = metric.name in {"disagreement", "kendall_tau"}
    perfect = PERFECT.get(name, 1.0)
    got = metric([1], [0.5], per_query=True)
    assert_array_equal(got, [np.nan if needs_pairs else perfect])


N = 10**6
HARMONIC = (1 / np.arange(1, N + 1)).sum()
DISCOUNTS = 1 / np.log2(np.arange(2, N + 2))
# What a constant scorer gets with one good row, with half of them, and with all but
# one: n choose k without overflow.
ONE, HALF, MOST = 1, N // 2, N - 1


def average_precision(k):
    return (HARMONIC + (k - 1) / (N - 1) * (N - HARMONIC)) / N


def first_rank(k):
    """Return the probabilities of the ranks of the first of k."""
    rank = np.arange(1, N - k + 2)
    bad_before = gammaln(N - k + 1) - gammaln(N - k - rank + 2)
    return np.exp(bad_before - gammaln(N + 1) + gammaln(N - rank + 1)) * k


GUESSES = {
    "average precision": average_precision,
    "reciprocal rank": lambda k: (first_rank(k) / np.arange(1, N - k + 2)).sum(),
    "rank of top": lambda k: (first_rank(k) / np.arange(1, N - k + 2)).sum(),
    "coverage": lambda k: k * (first_rank(k) / np.arange(N, k - 1, -1)).sum(),
    "precision at 3": lambda k: k / N,
    "recall at 3": lambda k: 3 / N,
    "hits at 1": lambda k: k / N,
    "hits at 3": lambda k: first_rank(k)[:3].sum(),
    "expected rank": lambda k: (N + 1) / (k + 1),
    "ndcg": lambda k: k / N * DISCOUNTS.sum() / DISCOUNTS[:k].sum(),
    "ndcg at 3": lambda k: k / N * DISCOUNTS[:3].sum() / DISCOUNTS[: min(3, k)].sum(),
    "disagreement": lambda k: 0.5,
    "kendall tau": lambda k: 0.0,
}


@pytest.mark.parametrize("n_good", [ONE, HALF, MOST])
@pytest.mark.parametrize("name", GUESSES)
def test_a_million_equal_scores(name, n_good):
    truth, score = np.zeros(N), np.zeros(N)
    truth[:n_good] = 1
    # Logarithms of factorials of a million have eight digits behind the point.
    wanted = GUESSES[name](n_good)
    assert_allclose(METRICS[name](truth, score), wanted, rtol=2e-8, atol=1e-15)


@pytest.mark.parametrize("name", GUESSES)
@pytest.mark.filterwarnings("ignore:.*every row is good:UserWarning")
def test_a_million_good_rows(name):
    got = METRICS[name](np.ones(N), np.zeros(N), per_query=True)
    wanted = {"recall at 3": 3 / N, "disagreement": np.nan, "kendall tau": np.nan}
    assert_allclose(got, [wanted.get(name, 1.0)], rtol=1e-12)


@pytest.mark.parametrize("name", CAN_FAIL)
def test_a_million_bad_rows(name):
    got = METRICS[name](np.zeros(N), np.zeros(N), per_query=True)
    assert_array_equal(got, [np.nan])


@pytest.mark.parametrize("weight", [None, np.ones(N)], ids=["counted", "weighed"])
def test_a_million_different_truths_with_equal_scores(weight):
    truth = np.random.default_rng(0).random(N)
    got = metrics.disagreement(truth, np.zeros(N), sample_weight=weight)
    assert_allclose(got, 0.5, rtol=1e-12)


def test_a_million_distinct_scores_in_the_reverse_order():
    assert metrics.disagreement(np.arange(N), -np.arange(N)) == 1.0


@pytest.mark.parametrize("n_queries", [1, 1000])
def test_very_many_small_queries_have_their_values(n_queries):
    truth = np.tile([0, 1, 1], n_queries)
    score = np.tile([1, 1, 0], n_queries)
    qid = np.repeat(np.arange(n_queries), 3)
    got = metrics.average_precision(truth, score, qid=qid, per_query=True)
    assert_allclose(got, np.full(n_queries, ((1 + 1 / 2) / 2 + 2 / 3) / 2), rtol=1e-14)
