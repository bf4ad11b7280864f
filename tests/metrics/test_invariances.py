"""What must not change a metric does not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from peckorder import metrics
from peckorder._core.threads import MIN_ITEMS_PER_THREAD
from peckorder.metrics import _lists
from support.metrics_by_enumeration import METRICS, Metric

pytestmark = pytest.mark.filterwarnings("ignore:.*every row is good:UserWarning")

EXAMPLES = settings(max_examples=15)
EVERY = METRICS | {
    "misranking": Metric(metrics.misranking, None),
    "squared difference": Metric(metrics.mean_squared_difference, None),
    "absolute difference": Metric(metrics.mean_absolute_difference, None),
}
OF_ORDER = [name for name in EVERY if "difference" not in name]
PAIRWISE = [
    "disagreement",
    "misranking",
    "kendall tau",
    "squared difference",
    "absolute difference",
]
every_metric = pytest.mark.parametrize("name", EVERY)
every_metric_of_order = pytest.mark.parametrize("name", OF_ORDER)
every_metric_with_ties = pytest.mark.parametrize("name", METRICS)
seeds = st.integers(0, 2**32 - 1)


def queries(seed, n_queries=8, longest=12, real=False):
    """Return rows of queries of several sizes, one after the other, with ties."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, longest + 1, n_queries)
    n = sizes.sum()
    truth = rng.integers(0, 4, n) / (1.5 if real else 1)
    return truth, rng.integers(0, 5, n) / 2, np.repeat(np.arange(n_queries), sizes)


def values(metric, truth, score, qid=None, **options):
    return metric(truth, score, qid=qid, per_query=True, **options)


def assert_same(got, wanted):
    assert_allclose(got, wanted, rtol=1e-13, atol=1e-15)


# --- scores ---

TRANSFORMS = {
    "affine": lambda score: 8 * score - 3,
    "exponential": np.exp,
    "cube": lambda score: (score - 1) ** 3,
    "ranks": lambda score: np.unique(score, return_inverse=True)[1],
    "infinite ends": lambda score: np.where(
        score == score.max(), np.inf, np.where(score == score.min(), -np.inf, score)
    ),
}


@every_metric_of_order
@EXAMPLES
@given(seeds, st.sampled_from(sorted(TRANSFORMS)))
def test_only_the_order_of_scores_counts(name, seed, transform):
    truth, score, qid = queries(seed)
    wanted = values(EVERY[name], truth, score, qid)
    assert_same(values(EVERY[name], truth, TRANSFORMS[transform](score), qid), wanted)


@every_metric
@EXAMPLES
@given(seeds)
def test_scores_may_be_shifted(name, seed):
    truth, score, qid = queries(seed)
    wanted = values(EVERY[name], truth, score, qid)
    assert_same(values(EVERY[name], truth, score + 16.0, qid), wanted)


@pytest.mark.parametrize("name", ["disagreement", "misranking", "kendall tau"])
@EXAMPLES
@given(seeds)
def test_only_the_order_of_truths_counts_for_pairs(name, seed):
    truth, score, qid = queries(seed)
    wanted = values(EVERY[name], truth, score, qid)
    assert_same(values(EVERY[name], np.exp(truth), score, qid), wanted)
    assert_same(values(EVERY[name], 1000 * truth - 7, score, qid), wanted)


@EXAMPLES
@given(seeds)
def test_the_reverse_order_has_the_other_disagreement(seed):
    truth, score, qid = queries(seed)
    forth = values(metrics.disagreement, truth, score, qid)
    assert_same(values(metrics.disagreement, truth, -score, qid), 1 - forth)


# --- rows ---


@every_metric_with_ties
@pytest.mark.parametrize("ties", ["expected", "best", "worst"])
@EXAMPLES
@given(seeds)
def test_the_order_of_rows_does_not_count(name, ties, seed):
    truth, score, qid = queries(seed)
    mixed = np.random.default_rng(seed).permutation(len(truth))
    got = values(METRICS[name], truth[mixed], score[mixed], qid[mixed], ties=ties)
    wanted = values(METRICS[name], truth, score, qid, ties=ties)
    ids = list(dict.fromkeys(qid[mixed].tolist()))
    assert_same(got, wanted[ids])


@every_metric_with_ties
@EXAMPLES
@given(seeds)
def test_the_order_of_rows_does_not_count_with_names(name, seed):
    truth, score, qid = queries(seed)
    rng = np.random.default_rng(seed)
    docid, mixed = rng.permutation(len(truth)), rng.permutation(len(truth))
    got = values(
        METRICS[name], truth[mixed], score[mixed], qid[mixed], ties="docid", docid=docid[mixed]
    )
    wanted = values(METRICS[name], truth, score, qid, ties="docid", docid=docid)
    assert_array_equal(got, wanted[list(dict.fromkeys(qid[mixed].tolist()))])


@every_metric_with_ties
@EXAMPLES
@given(seeds)
def test_mixed_queries_keep_the_order_of_their_rows(name, seed):
    truth, score, qid = queries(seed)
    # Rows of all queries take turns, those of each query stay in their order.
    turn = np.concatenate([np.arange(n) for n in np.bincount(qid)])
    mixed = np.argsort(turn, kind="stable")
    got = values(METRICS[name], truth[mixed], score[mixed], qid[mixed], ties="order")
    assert_array_equal(got, values(METRICS[name], truth, score, qid, ties="order"))


@pytest.mark.parametrize("name", PAIRWISE)
@EXAMPLES
@given(seeds)
def test_weights_go_with_their_rows(name, seed):
    truth, score, qid = queries(seed)
    rng = np.random.default_rng(seed)
    weight, mixed = rng.random(len(truth)), rng.permutation(len(truth))
    got = values(EVERY[name], truth[mixed], score[mixed], qid[mixed], sample_weight=weight[mixed])
    wanted = values(EVERY[name], truth, score, qid, sample_weight=weight)
    assert_allclose(got, wanted[list(dict.fromkeys(qid[mixed].tolist()))], atol=1e-13)


@EXAMPLES
@given(seeds)
def test_a_whole_weight_is_as_many_rows(seed):
    truth, score, _ = queries(seed, n_queries=1)
    weight = np.random.default_rng(seed).integers(0, 4, len(truth))
    table = np.repeat([truth, score], weight, axis=1)
    if table.size:
        got = values(metrics.disagreement, truth, score, sample_weight=weight)
        assert_same(got, values(metrics.disagreement, *table))


# --- queries ---

LABELS = {
    "words": lambda q: [f"query {i}" for i in q],
    "array of words": lambda q: np.array([f"query {i}" for i in q]),
    "bytes": lambda q: [str(i).encode() for i in q],
    "floats": lambda q: q / 8 - 3,
    "descending": lambda q: -q,
    "tuples": lambda q: [("a", int(i)) for i in q],
    "tuples of several lengths": lambda q: [(1,) * (i + 1) for i in q],
    "several types": lambda q: [[1, "1", 2.5, (1,)][i] if i < 4 else f"{i}" for i in q],
    "sets": lambda q: [frozenset([int(i)]) for i in q],
    "booleans": lambda q: q == 0,
    "dates": lambda q: np.datetime64("2000-01-01") + q,
    "unsigned": lambda q: q.astype(np.uint8),
    "large integers": lambda q: [2**70 + int(i) for i in q],
    "integers of either sign and 64 bits": lambda q: [int(i) + 2**63 if i else -1 for i in q],
    "objects": lambda q: q.astype(object),
}


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("name", ["ndcg", "disagreement", "average precision"])
@EXAMPLES
@given(seeds)
def test_queries_may_have_any_names(name, labels, seed):
    truth, score, qid = queries(seed, n_queries=2 if labels == "booleans" else 8)
    mixed = np.random.default_rng(seed).permutation(len(truth))
    truth, score, qid = truth[mixed], score[mixed], qid[mixed]
    got = values(EVERY[name], truth, score, LABELS[labels](qid))
    assert_array_equal(got, values(EVERY[name], truth, score, qid))


@every_metric
@EXAMPLES
@given(seeds)
def test_values_are_in_the_order_of_first_rows(name, seed):
    truth, score, qid = queries(seed)
    mixed = np.random.default_rng(seed).permutation(len(truth))
    truth, score, qid = truth[mixed], score[mixed], qid[mixed]
    alone = [
        values(EVERY[name], truth[qid == q], score[qid == q]).item()
        for q in dict.fromkeys(qid.tolist())
    ]
    assert_same(values(EVERY[name], truth, score, qid), alone)


@every_metric
@EXAMPLES
@given(seeds, st.integers(0, 8))
def test_blocks_of_queries_may_be_measured_apart(name, seed, cut):
    truth, score, qid = queries(seed)
    parts = [
        values(EVERY[name], truth[part], score[part], qid[part])
        for part in (qid < cut, qid >= cut)
        if part.any()
    ]
    assert_array_equal(values(EVERY[name], truth, score, qid), np.concatenate(parts))


@every_metric_with_ties
@EXAMPLES
@given(seeds, st.integers(1, 7))
def test_the_mean_is_that_of_the_blocks(name, seed, cut):
    truth, score, qid = queries(seed)
    parts = [
        METRICS[name](truth[part], score[part], qid=qid[part], undefined="zero")
        for part in (qid < cut, qid >= cut)
    ]
    got = METRICS[name](truth, score, qid=qid, undefined="zero")
    assert_same(got, np.average(parts, weights=[cut, 8 - cut]))


@every_metric_with_ties
@EXAMPLES
@given(seeds)
def test_a_query_of_weight_two_is_two_queries(name, seed):
    truth, score, qid = queries(seed)
    again = qid == 0
    twice = METRICS[name](
        np.append(truth, truth[again]),
        np.append(score, score[again]),
        qid=np.append(qid, np.full(again.sum(), 99)),
        undefined="zero",
    )
    weight = dict.fromkeys(range(8), 1) | {0: 2}
    got = METRICS[name](truth, score, qid=qid, undefined="zero", query_weight=weight)
    assert_same(got, twice)


@every_metric
def test_one_query_is_no_query(name):
    truth, score, _ = queries(0, n_queries=1)
    got = values(EVERY[name], truth, score, ["the only one"] * len(truth))
    assert_array_equal(got, values(EVERY[name], truth, score))


# --- how the work is done ---

WAYS = [{}, {"ties": "best"}, {"ties": "worst"}, {"ties": "order"}, {"ties": "docid"}]
every_way = pytest.mark.parametrize("options", WAYS, ids=lambda way: way.get("ties"))


def of_all(table, options):
    """Return the values of all metrics that take ties."""
    truth, score, qid = table
    if options.get("ties") == "docid":
        options = options | {"docid": np.arange(len(truth))}
    return [values(m, truth, score, qid, **options) for m in METRICS.values()]


@pytest.mark.parametrize("real", [False, True], ids=["grades", "reals"])
@pytest.mark.parametrize("n_queries", [1, 2, 3, 50])
@every_way
def test_threads_do_not_show(monkeypatch, options, n_queries, real):
    table = queries(n_queries, n_queries, longest=300, real=real)
    monkeypatch.setattr(_lists, "n_cores", lambda: 1)
    one = of_all(table, options)
    monkeypatch.setattr(_lists, "n_cores", lambda: 7)
    monkeypatch.setitem(MIN_ITEMS_PER_THREAD, "rows", 1)
    for got, wanted in zip(of_all(table, options), one, strict=True):
        assert_array_equal(got, wanted)


@pytest.mark.parametrize("length", [0, 100, 10**9], ids=["all", "some", "none"])
@pytest.mark.parametrize("mixed", [False, True], ids=["in order", "mixed"])
@every_way
def test_long_lists_and_short_ones_are_sorted_the_same(monkeypatch, options, mixed, length):
    table = queries(3, 40, longest=200)
    if mixed:
        order = np.random.default_rng(0).permutation(len(table[0]))
        table = tuple(column[order] for column in table)
    wanted = of_all(table, options)
    monkeypatch.setattr(_lists, "_LONG", length)
    for got, before in zip(of_all(table, options), wanted, strict=True):
        assert_same(got, before)


@pytest.mark.parametrize("power", ["squared", "absolute"])
def test_differences_do_not_show_how_they_are_sorted(monkeypatch, power):
    metric = EVERY[f"{power} difference"]
    table = queries(3, 40, longest=400)
    wanted = values(metric, *table)
    for length in (0, 10**9):
        monkeypatch.setattr(_lists, "_LONG", length)
        assert_same(values(metric, *table), wanted)
    monkeypatch.setattr(_lists, "n_cores", lambda: 7)
    monkeypatch.setitem(MIN_ITEMS_PER_THREAD, "rows", 1)
    assert_same(values(metric, *table), wanted)


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e-155, 1e155, 1e300])
@pytest.mark.parametrize("name", PAIRWISE)
def test_the_scale_of_weights_does_not_count(name, scale):
    truth, score, qid = queries(3, real=True)
    weight = np.random.default_rng(0).integers(1, 4, len(truth)) / 4.0
    wanted = values(EVERY[name], truth, score, qid, sample_weight=weight)
    found = values(EVERY[name], truth, score, qid, sample_weight=weight * scale)
    rounding = {"rtol": 1e-3} if scale == 1e-320 else {"rtol": 1e-12}
    assert_allclose(found, wanted, atol=1e-15, **rounding)
    whole = EVERY[name](truth, score, sample_weight=weight * scale)
    assert_allclose(whole, EVERY[name](truth, score, sample_weight=weight), **rounding)


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e300, 1.7e308])
@pytest.mark.parametrize(
    "name", [*PAIRWISE, "rmse", "mae", "macro_mae", "quadratic_weighted_kappa"]
)
def test_the_scale_of_the_weights_of_a_query_does_not_count(name, scale):
    metric = EVERY.get(name) or getattr(metrics, name)
    truth, score, qid = queries(3)
    weight = np.where(qid == qid[-1], scale, 1.0)
    wanted = values(metric, truth, 2 * score, qid)
    found = values(metric, truth, 2 * score, qid, sample_weight=weight)
    assert_allclose(found, wanted, atol=1e-15, rtol=1e-12)
    alone = metric(truth, 2 * score, sample_weight=np.full(len(truth), scale))
    assert_allclose(alone, metric(truth, 2 * score), rtol=1e-12)


@pytest.mark.parametrize("scale", [5e-324, 1.7e308])
def test_the_scale_of_the_weights_of_queries_does_not_count(scale):
    truth, score, qid = queries(3)
    weights = np.full(8, scale)
    weighted = metrics.ndcg(truth, score, qid=qid, query_weight=weights, undefined="zero")
    assert weighted == pytest.approx(metrics.ndcg(truth, score, qid=qid, undefined="zero"))
