"""Every metric is what one gets by trying all orders of equal scores."""

from math import inf
from unittest import mock

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from peckorder import metrics
from peckorder.metrics import _pairs
from support import metrics_by_enumeration
from support.metrics_by_enumeration import METRICS, OF_GOOD_ROWS, good_by

pytestmark = [
    pytest.mark.jit_off,
    pytest.mark.filterwarnings("ignore:.*every row is good:UserWarning"),
]

EXAMPLES = settings(max_examples=10 if numba.config.DISABLE_JIT else 30)
every_metric = pytest.mark.parametrize("name", METRICS)
every_metric_of_good_rows = pytest.mark.parametrize("name", OF_GOOD_ROWS)

# Whole grades are counted by one kernel, the others are sorted by another.
grades = st.sampled_from([0, 1, 2, 3])
reals = st.sampled_from([0.0, 0.5, 1.0, 1.75, 2.5, 200.0])
few_scores = st.sampled_from([0.0, -0.0, 2.5, inf, -inf])


def rows(*columns, max_size=7):
    """Return columns of one length, as lists."""
    row = st.tuples(*columns)
    lists = st.lists(row, min_size=1, max_size=max_size)
    return lists.map(lambda table: [list(column) for column in zip(*table)])  # noqa: B905


tied_lists = st.one_of(rows(grades, few_scores), rows(reals, few_scores))
masked_lists = rows(grades, few_scores, st.booleans())


def value(metric, truth, score, **options):
    return metric(truth, score, per_query=True, **options).item()


def assert_same(got, wanted):
    assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)


def mean(values, counts):
    return np.average(values, weights=counts)


def best(metric):
    return np.max if metric.larger_is_better else np.min


def worst(metric):
    return np.min if metric.larger_is_better else np.max


@every_metric
@EXAMPLES
@given(tied_lists)
def test_expected_is_the_mean_over_all_orders(name, columns):
    metric, (truth, score) = METRICS[name], columns
    values, counts = metric.of_all(truth, score, good_by(truth, metric.good or 1))
    assert_same(value(metric, truth, score), mean(values, counts))


@every_metric
@EXAMPLES
@given(tied_lists)
def test_best_is_the_best_of_all_orders(name, columns):
    metric, (truth, score) = METRICS[name], columns
    values, _ = metric.of_all(truth, score, good_by(truth, metric.good or 1))
    assert_same(value(metric, truth, score, ties="best"), best(metric)(values))


@every_metric
@EXAMPLES
@given(tied_lists)
def test_worst_is_the_worst_of_all_orders(name, columns):
    metric, (truth, score) = METRICS[name], columns
    values, _ = metric.of_all(truth, score, good_by(truth, metric.good or 1))
    assert_same(value(metric, truth, score, ties="worst"), worst(metric)(values))


@every_metric
@EXAMPLES
@given(tied_lists)
def test_order_is_that_of_the_rows(name, columns):
    metric, (truth, score) = METRICS[name], columns
    order = metrics_by_enumeration.as_they_stand(score)
    wanted = metric.of(order, truth, good_by(truth, metric.good or 1))
    assert_same(value(metric, truth, score, ties="order"), wanted)


# Three of the scores are the same number in single precision.
NEARLY_EQUAL = [1.0, 1.0 + 1e-9, 1.0 - 1e-9, 1.0 + 1e-6, -2.0]


@every_metric
@EXAMPLES
@given(rows(grades, st.sampled_from(NEARLY_EQUAL)), st.permutations("bAaZ90ä"))
def test_docid_is_the_descending_order_of_names(name, columns, names):
    metric, (truth, score) = METRICS[name], columns
    docid = names[: len(truth)]
    order = metrics_by_enumeration.as_trec_eval_does(score, docid)
    wanted = metric.of(order, truth, good_by(truth, metric.good or 1))
    assert_same(value(metric, truth, score, ties="docid", docid=docid), wanted)


@every_metric_of_good_rows
@EXAMPLES
@given(masked_lists)
def test_expected_with_a_mask_is_the_mean_over_all_orders(name, columns):
    metric, (truth, score, mask) = METRICS[name], columns
    values, counts = metric.of_all(truth, score, mask)
    assert_same(value(metric, truth, score, good=mask), mean(values, counts))


@every_metric_of_good_rows
@EXAMPLES
@given(masked_lists)
def test_best_with_a_mask_is_the_best_of_all_orders(name, columns):
    metric, (truth, score, mask) = METRICS[name], columns
    values, _ = metric.of_all(truth, score, mask)
    assert_same(value(metric, truth, score, good=mask, ties="best"), best(metric)(values))


@every_metric_of_good_rows
@EXAMPLES
@given(masked_lists)
def test_worst_with_a_mask_is_the_worst_of_all_orders(name, columns):
    metric, (truth, score, mask) = METRICS[name], columns
    values, _ = metric.of_all(truth, score, mask)
    assert_same(value(metric, truth, score, good=mask, ties="worst"), worst(metric)(values))


@every_metric_of_good_rows
@EXAMPLES
@given(tied_lists, st.sampled_from(["top", 2, 0.5]))
def test_good_may_be_any_grade_or_the_highest(name, columns, good):
    metric, (truth, score) = METRICS[name], columns
    values, counts = metric.of_all(truth, score, good_by(truth, good))
    assert_same(value(metric, truth, score, good=good), mean(values, counts))


@EXAMPLES
@given(rows(grades, few_scores), st.sampled_from([None, 1, 3]), st.sampled_from([3, 3.5]))
def test_expected_reciprocal_rank(columns, k, highest):
    truth, score = columns
    options = {"k": inf if k is None else k, "highest": highest}
    lists = metrics_by_enumeration.every_list(tuple(score), tuple(truth), tuple(truth))
    every = [metrics_by_enumeration.expected_reciprocal_rank(one, **options) for one in lists]
    for ties, wanted in {
        "expected": mean(every, list(lists.values())),
        "best": max(every),
        "worst": min(every),
    }.items():
        got = value(metrics.expected_reciprocal_rank, truth, score, k=k, highest=highest, ties=ties)
        assert_same(got, wanted)
    # Unless told, the highest grade is that of all queries.
    queries = {"qid": [1] * len(truth) + [2], "per_query": True}
    both = metrics.expected_reciprocal_rank([*truth, 3], [*score, 0.0], **queries)
    assert_same(both, [value(metrics.expected_reciprocal_rank, truth, score, highest=3), 7 / 8])


def test_expected_reciprocal_rank_of_many_equal_scores():
    # None of the n rows is left out or counted twice: 1 - (1 - R)^n are content at all.
    n = 3000
    content = 0.5 ** np.arange(1, 61)
    got = metrics.expected_reciprocal_rank(np.ones(n), np.zeros(n), highest=1)
    assert_same(got, content @ (1 / np.arange(1, 61)))
    one_of_many = metrics.expected_reciprocal_rank(np.arange(n) == 7, np.zeros(n), highest=1)
    assert_same(one_of_many, 0.5 * np.mean(1 / np.arange(1, n + 1)))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: metrics.expected_reciprocal_rank([0, -1], [1, 2]), "y_true must be >= 0"),
        (lambda: metrics.expected_reciprocal_rank([0, 3], [1, 2], highest=2), "of at most 2; got"),
        (lambda: metrics.expected_reciprocal_rank([0, 2000], [1, 2]), "of at most 1000; got 2000"),
        (lambda: metrics.rank_biased_precision([0, 1], [1, 2], p=1), "p must be a number between"),
        (lambda: metrics.graded_average_precision([0, -1], [1, 2]), "y_true must be >= 0"),
        (lambda: metrics.graded_average_precision(np.arange(257), np.arange(257)), "at most 256"),
        (lambda: metrics.evaluate([0, 1], [1, 2], "rbp(top)"), r"as in 'rbp\(0\.9\)', if any"),
        (lambda: metrics.evaluate([0, 1], [1, 2], "rbp(1.5)"), "p must be a number between"),
    ],
)
def test_what_these_metrics_refuse(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


@EXAMPLES
@given(tied_lists)
def test_misranking_is_the_worst_disagreement(columns):
    truth, score = columns
    values, _ = METRICS["disagreement"].of_all(truth, score, good_by(truth, 1))
    assert_same(value(metrics.misranking, truth, score), max(values))


@EXAMPLES
@given(tied_lists, st.integers(0, 6))
def test_the_probability_of_a_rank_is_the_share_of_orders_with_it(columns, which):
    truth, score = columns
    truth[which % len(truth)] = 3  # at least one is good
    is_good = good_by(truth, 1)
    k = 1 + which % sum(is_good)
    got = metrics.rank_probability(truth, score, k)
    orders = list(metrics_by_enumeration.orders(score))
    places = [
        metrics_by_enumeration.ranks(metrics_by_enumeration.in_order(order, truth, is_good))[k - 1]
        for order in orders
    ]
    assert_same(got, np.bincount(places, minlength=len(truth) + 1)[1:] / len(orders))


@every_metric
@EXAMPLES
@given(st.lists(rows(grades, few_scores, max_size=5), min_size=1, max_size=6))
def test_the_mean_is_that_of_the_queries(name, lists):
    metric = METRICS[name]
    values = []
    for truth, score in lists:
        some, counts = metric.of_all(truth, score, good_by(truth, metric.good or 1))
        values.append(mean(some, counts))
    truth, score = map(np.concatenate, zip(*lists, strict=True))
    qid = np.repeat(np.arange(len(lists)), [len(truth) for truth, _ in lists])
    got = metric(truth, score, qid=qid, undefined="zero")
    assert_same(got, np.mean(np.nan_to_num(values)))


# --- weighted pairs, by two loops ---

weights = st.one_of(st.sampled_from([0.0, 1.0, 2.0]), st.floats(0.1, 10.0))
many_grades = st.integers(-300, 300)
real_truths = st.floats(-10, 10)
tied_scores = st.sampled_from([-3.0, 0.0, 0.25, 1.0, 2.0])
weighted_lists = st.one_of(
    rows(truths, scores, weights, max_size=60)
    for truths in (grades, many_grades, real_truths)
    for scores in (tied_scores, st.floats(-5, 5))
)
few_weighted_lists = rows(grades, tied_scores, weights, max_size=60)


def share(counts, of_ties):
    wrong, tied, total = counts
    return (wrong + of_ties * tied) / total if total else np.nan


@EXAMPLES
@given(weighted_lists)
def test_disagreement_weighs_its_pairs(columns):
    truth, score, weight = columns
    wanted = share(metrics_by_enumeration.weights_of_pairs(truth, score, weight), 0.5)
    assert_same(value(metrics.disagreement, truth, score, sample_weight=weight), wanted)


@EXAMPLES
@given(weighted_lists)
def test_misranking_weighs_its_pairs(columns):
    truth, score, weight = columns
    wanted = share(metrics_by_enumeration.weights_of_pairs(truth, score, weight), 1.0)
    assert_same(value(metrics.misranking, truth, score, sample_weight=weight), wanted)


@EXAMPLES
@given(weighted_lists)
def test_kendall_tau_weighs_its_pairs(columns):
    truth, score, weight = columns
    wanted = 1 - 2 * share(metrics_by_enumeration.weights_of_pairs(truth, score, weight), 0.5)
    assert_same(value(metrics.kendall_tau, truth, score, sample_weight=weight), wanted)


@EXAMPLES
@given(weighted_lists)
def test_the_best_order_has_no_tied_pair_wrong(columns):
    truth, score, weight = columns
    wanted = share(metrics_by_enumeration.weights_of_pairs(truth, score, weight), 0.0)
    got = value(metrics.disagreement, truth, score, sample_weight=weight, ties="best")
    assert_same(got, wanted)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [1, 0.5, 30], ids=["grades", "halves", "far apart"])
@EXAMPLES
@given(st.integers(0, 2**32 - 1), st.integers(17, 90))
def test_lists_longer_than_a_run_have_their_pairs_counted(scale, weighted, seed, n):
    # Both kernels sort short runs first, then merge them.
    rng = np.random.default_rng(seed)
    truth, score = rng.integers(0, 9, n) * scale, rng.integers(0, 30, n) / 4
    weight = rng.random(n) + 0.1 if weighted else np.ones(n)
    wanted = share(metrics_by_enumeration.weights_of_pairs(truth, score, weight), 0.5)
    options = {"sample_weight": weight} if weighted else {}
    assert_same(value(metrics.disagreement, truth, score, **options), wanted)


every_way = pytest.mark.parametrize("ties", ["expected", "best", "worst", "order"])


@every_way
@EXAMPLES
@given(few_weighted_lists)
def test_counting_grades_and_sorting_truths_agree(ties, columns):
    truth, score, weight = columns
    options = {"sample_weight": weight, "ties": ties}
    counted = value(metrics.disagreement, truth, score, **options)
    with mock.patch.object(_pairs, "_FEW_GRADES", 0):
        assert_same(value(metrics.disagreement, truth, score, **options), counted)


@every_way
@EXAMPLES
@given(rows(grades, tied_scores, max_size=60))
def test_counting_and_sorting_agree_without_weights(ties, columns):
    counted = value(metrics.disagreement, *columns, ties=ties)
    with mock.patch.object(_pairs, "_FEW_GRADES", 0):
        assert_array_equal(value(metrics.disagreement, *columns, ties=ties), counted)


@every_way
@EXAMPLES
@given(rows(real_truths, tied_scores, max_size=60))
def test_weights_of_one_are_none(ties, columns):
    ones = [1.0] * len(columns[0])
    weighted = value(metrics.disagreement, *columns, ties=ties, sample_weight=ones)
    assert_array_equal(value(metrics.disagreement, *columns, ties=ties), weighted)


@every_way
@EXAMPLES
@given(rows(real_truths, tied_scores, max_size=60))
def test_a_list_in_two_parts_is_what_it_is_in_one(ties, columns):
    whole = value(metrics.disagreement, *columns, ties=ties)
    with mock.patch.object(_pairs, "_VERY_LONG", 1):
        assert_array_equal(value(metrics.disagreement, *columns, ties=ties), whole)


GRADED, REAL = [0, 63, 1], [0, 0.5, 1]
WAYS = {
    "grades": ("_count_grades", GRADED, {}),
    "weighted grades": ("_count_grades", GRADED, {"sample_weight": [1, 2, 3]}),
    "negative grades": ("_count_grades", [-63, 0, -1], {}),
    "many grades": ("compiled.pairs", [0, 64, 1], {}),
    "reals": ("compiled.pairs", REAL, {}),
    "weighted reals": ("compiled.pairs", REAL, {"sample_weight": [1, 2, 3]}),
    "a very long list": ("_count_in_parts", 2**17 * REAL, {}),
    "two long lists": ("compiled.pairs", 2**17 * REAL, {"qid": 2**16 * [1, 2, 3, 4, 5, 6]}),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_counting_is_used(way):
    name, truth, options = WAYS[way]
    score = np.arange(len(truth))
    used = mock.patch(f"{_pairs.__name__}.{name}", side_effect=KeyError(name))
    with used as function, pytest.raises(KeyError, match=name):
        metrics.disagreement(truth, score, **options)
    if name == "compiled.pairs":
        weight = function.call_args.args[5]
        assert (weight is not None) == ("sample_weight" in options)


@pytest.mark.parametrize("truth", [[0, 0, 1], [0.5, 0.5, 0.7]], ids=["counted", "sorted"])
def test_weights_may_be_of_very_different_sizes(truth):
    # Two pairs count, one of them is wrong; the third weighs 1e20 times as much.
    weight = [1e10, 1e10, 1e-10]
    got = value(metrics.disagreement, truth, [1, 3, 2], sample_weight=weight)
    assert got == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize("power", [1, 2])
@EXAMPLES
@given(rows(real_truths, st.floats(-10, 10), st.floats(0.1, 10), max_size=40))
def test_mean_differences_are_those_of_all_pairs(power, columns):
    truth, score, weight = columns
    ours = {1: metrics.mean_absolute_difference, 2: metrics.mean_squared_difference}
    wanted = metrics_by_enumeration.mean_difference(truth, score, weight, power)
    assert_same(value(ours[power], truth, score, sample_weight=weight), wanted)
    wanted = metrics_by_enumeration.mean_difference(truth, score, [1.0] * len(truth), power)
    assert_same(value(ours[power], truth, score), wanted)
