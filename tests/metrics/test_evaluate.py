"""Tables of metrics, their names, intervals and comparisons."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from peckorder import metrics
from peckorder.exceptions import DataError, MissingExtraError
from peckorder.metrics import METRICS, compare, evaluate
from support.helpers import exactly

RNG = np.random.default_rng(0)
QID = np.repeat(np.arange(30), 10)
Y = RNG.integers(0, 3, 300)
Y[::10], Y[1::10] = 0, 2  # every query has rows that are good, and that are not
GOOD = Y + 0.3 * RNG.standard_normal(300)
POOR = RNG.standard_normal(300)

BY_NAME = {
    "ap": metrics.average_precision,
    "ap(top)": lambda *a, **o: metrics.average_precision(*a, good="top", **o),
    "ap(2)": lambda *a, **o: metrics.average_precision(*a, good=2, **o),
    "map": metrics.average_precision,
    "rr": metrics.reciprocal_rank,
    "mrr": metrics.reciprocal_rank,
    "prot": metrics.predicted_rank_of_top,
    "coverage": metrics.coverage,
    "coverage(1)": lambda *a, **o: metrics.coverage(*a, good=1, **o),
    "p@5": lambda *a, **o: metrics.precision_at(*a, 5, **o),
    "p@5(2)": lambda *a, **o: metrics.precision_at(*a, 5, good=2, **o),
    "recall@3": lambda *a, **o: metrics.recall_at(*a, 3, **o),
    "hits@1": lambda *a, **o: metrics.hits_at(*a, 1, **o),
    "rank": metrics.expected_rank,
    "rank@2": lambda *a, **o: metrics.expected_rank(*a, cap=2, **o),
    "ndcg": metrics.ndcg,
    "rr@2(2)": lambda *a, **o: metrics.reciprocal_rank(*a, k=2, good=2, **o),
    "precision_at@5": lambda *a, **o: metrics.precision_at(*a, 5, **o),
    "ndcg@4(exponential)": lambda *a, **o: metrics.ndcg(*a, k=4, gain="exponential", **o),
    "ndcg@10": lambda *a, **o: metrics.ndcg(*a, k=10, **o),
    "err": metrics.expected_reciprocal_rank,
    "err@3": lambda *a, **o: metrics.expected_reciprocal_rank(*a, k=3, **o),
    "rbp": metrics.rank_biased_precision,
    "rbp(0.5)": lambda *a, **o: metrics.rank_biased_precision(*a, p=0.5, **o),
    "rprec": metrics.r_precision,
    "bpref(2)": lambda *a, **o: metrics.bpref(*a, good=2, **o),
    "graded_ap": metrics.graded_average_precision,
    "tau": metrics.kendall_tau,
    "disagreement": metrics.disagreement,
    "misranking": metrics.misranking,
    "msd": metrics.mean_squared_difference,
    "mad": metrics.mean_absolute_difference,
    "rmsd": metrics.root_mean_squared_difference,
    "rmse": metrics.rmse,
    "mae": metrics.mae,
    "qwk": metrics.quadratic_weighted_kappa,
    "macro_mae": metrics.macro_mae,
}


def test_every_kind_of_metric_is_named_here():
    words = {name.split("@")[0].split("(")[0] for name in BY_NAME}
    assert words >= set(METRICS)


@pytest.mark.parametrize("name", BY_NAME)
def test_a_name_stands_for_its_function(name):
    expected = BY_NAME[name](Y, GOOD, qid=QID, per_query=True)
    assert_allclose(evaluate(Y, GOOD, name, qid=QID).values[name], expected, rtol=0)


@pytest.mark.parametrize("name", BY_NAME)
def test_the_mean_is_that_of_the_function(name):
    expected = BY_NAME[name](Y, GOOD, qid=QID)
    assert evaluate(Y, GOOD, name, qid=QID)[name] == pytest.approx(expected, rel=1e-14)


def test_ties_and_docids_reach_the_metrics():
    table = evaluate([1, 0], [1.0, 1.0], "rr", ties="docid", docid=["a", "b"])
    assert table["rr"] == 0.5


def test_an_interval_surrounds_its_mean():
    table = evaluate(Y, POOR, ["ndcg", "tau"], qid=QID)
    assert all(low < table[name] < high for name, (low, high) in table.intervals.items())


def test_an_interval_is_as_wide_as_theory_says():
    table = evaluate(Y, POOR, "tau", qid=QID, n_bootstrap=5000)
    low, high = table.intervals["tau"]
    spread = table.values["tau"].std() / np.sqrt(30)
    assert high - low == pytest.approx(2 * 1.96 * spread, rel=0.05)


def test_one_query_tells_nothing_of_others():
    table = evaluate([0, 1], [0.0, 1.0], "tau")
    assert np.isnan(table.intervals["tau"]).all()


def test_a_table_is_a_mapping_of_names():
    table = evaluate(Y, GOOD, ["tau", "ap"], qid=QID)
    assert (list(table), len(table), "ap" in table) == (["tau", "ap"], 2, True)


def test_a_generator_of_queries_is_read_once():
    table = evaluate(Y, GOOD, ["tau", "msd"], qid=(q for q in QID))
    assert len(table.queries) == 30


def test_queries_without_a_value_are_counted():
    with pytest.warns(UserWarning, match="in 1 of 3 queries every row is good"):
        table = evaluate([1, 0, 0, 0, 1, 1], [1.0] * 6, "ap", qid=[1, 1, 2, 2, 3, 3])
    assert str(table).splitlines()[1].split()[-2:] == ["2", "1"]


def test_no_value_at_all_is_nan():
    table = evaluate([0, 0], [1.0, 2.0], "ap")
    assert np.isnan([table["ap"], *table.intervals["ap"]]).all()


def test_the_queries_are_shown_in_their_order():
    table = evaluate([1, 0, 1, 0], [1.0, 0.0, 1.0, 0.0], "ap", qid=["b", "b", "a", "a"])
    assert table.queries.tolist() == ["b", "a"]


def test_the_same_seed_gives_the_same_intervals():
    one, other = (evaluate(Y, POOR, "ap", qid=QID) for _ in range(2))
    assert one.intervals == other.intervals


def test_becomes_a_pandas_frame():
    pytest.importorskip("pandas")
    frame = evaluate(Y, GOOD, ["ndcg", "ap"], qid=QID).to_pandas()
    assert frame["metric"].tolist() == ["ndcg", "ap"]


def test_becomes_a_polars_frame():
    pytest.importorskip("polars")
    frame = evaluate(Y, GOOD, ["ndcg", "ap"], qid=QID).to_polars()
    assert frame["metric"].to_list() == ["ndcg", "ap"]


def test_a_missing_library_of_frames_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    sentence = (
        "metrics: polars must be installed for this; got none. Type "
        "pip install 'peckorder[frames]'."
    )
    with pytest.raises(MissingExtraError, match=exactly(sentence)):
        evaluate(Y, GOOD, "ap", qid=QID).to_polars()


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("ndgc@10", " Did you mean 'ndcg'?"),
        ("ndgc", " Did you mean 'ndcg'?"),
        ("auc", " Did you mean 'tau'?"),
        ("accuracy", ""),
        (3, ""),
        ("", ""),
        ("ap(", " Did you mean 'ap' or 'p'?"),
    ],
)
def test_an_unknown_name_is_refused(name, hint):
    sentence = (
        "evaluate: names must be a metric such as 'ap', 'ap(top)', 'ndcg@10'; got "
        f"{name!r}.{hint} There are {', '.join(map(repr, METRICS))}."
    )
    with pytest.raises(ValueError, match=exactly(sentence)):
        evaluate(Y, GOOD, [name])


@pytest.mark.parametrize(
    ("name", "rule"), [("p", "with a cut-off, as in 'p@10'"), ("tau@3", "without a cut-off")]
)
def test_a_name_with_the_wrong_cutoff_is_refused(name, rule):
    word = name.split("@")[0].split("(")[0]
    sentence = f"evaluate: the name of {word!r} must be {rule}; got {name!r}."
    with pytest.raises(ValueError, match=exactly(sentence)):
        evaluate(Y, GOOD, name)


def test_a_cutoff_of_nothing_is_refused():
    sentence = "evaluate: the cut-off must be >= 1; got 'ndcg@0'."
    with pytest.raises(ValueError, match=exactly(sentence)):
        evaluate(Y, GOOD, "ndcg@0")


def test_capitals_are_as_good():
    assert evaluate(Y, GOOD, "NDCG@3", qid=QID)["NDCG@3"] == metrics.ndcg(Y, GOOD, k=3, qid=QID)


def test_tells_by_how_much_one_is_better():
    a, b = (evaluate(Y, score, ["ap", "tau"], qid=QID) for score in (GOOD, POOR))
    gaps = compare(a, b).differences
    assert gaps == pytest.approx({name: a[name] - b[name] for name in gaps})


def test_a_clear_difference_has_a_small_p():
    a, b = (evaluate(Y, score, "tau", qid=QID) for score in (GOOD, POOR))
    assert compare(a, b, n_permutations=999).p_values["tau"] == 1 / 1000


def test_no_difference_has_a_p_of_one():
    a = evaluate(Y, GOOD, "tau", qid=QID)
    assert compare(a, a).p_values["tau"] == 1.0


def test_p_is_that_of_all_signs():
    y, qid = [1, 0] * 4, np.repeat(np.arange(4), 2)
    a, b = (evaluate(y, s, "tau", qid=qid) for s in (y, [0, 1] + [1, 0] * 3))
    # The gaps are 2, 0, 0, 0: every sign gives a mean as far from zero.
    assert compare(a, b).p_values["tau"] == 1.0


def test_random_differences_have_random_ps():
    rng = np.random.default_rng(1)
    ps = []
    for _ in range(40):
        a, b = (evaluate(Y, rng.standard_normal(300), "tau", qid=QID) for _ in range(2))
        ps.append(compare(a, b, n_permutations=200, n_bootstrap=2).p_values["tau"])
    assert 0.25 < np.mean(ps) < 0.75
    assert min(ps) < 0.2


def test_other_metrics_cannot_be_compared():
    a, b = evaluate(Y, GOOD, "ap", qid=QID), evaluate(Y, GOOD, "rr", qid=QID)
    sentence = "compare: b must have a metric of a, ap; got rr."
    with pytest.raises(DataError, match=exactly(sentence)):
        compare(a, b)


@pytest.mark.parametrize(
    ("rows", "got"), [(slice(10, None), "none called 0"), (slice(None, -10), "none called 29")]
)
def test_other_queries_cannot_be_compared(rows, got):
    a, b = (evaluate(Y[r], GOOD[r], qid=QID[r]) for r in (slice(None), rows))
    sentence = f"compare: b must be of the same 30 queries as a; got {got}."
    with pytest.raises(DataError, match=exactly(sentence)):
        compare(a, b)


def test_more_queries_cannot_be_compared():
    a, b = evaluate(Y[:290], GOOD[:290], qid=QID[:290]), evaluate(Y, GOOD, qid=QID)
    sentence = "compare: b must be of the same 29 queries as a; got 30."
    with pytest.raises(DataError, match=exactly(sentence)):
        compare(a, b)


def test_the_order_of_queries_and_metrics_does_not_matter():
    rows = np.random.default_rng(2).permutation(300)
    a = evaluate(Y, GOOD, ["tau", "ap"], qid=QID)
    b = evaluate(Y[rows], POOR[rows], ["rr", "ap", "tau"], qid=QID[rows])
    gaps = compare(a, b).differences
    assert gaps == pytest.approx({name: a[name] - b[name] for name in ("tau", "ap")})
    ordered = compare(a, evaluate(Y, POOR, ["tau", "ap"], qid=QID))
    assert compare(a, b).p_values == ordered.p_values


def test_other_weights_cannot_be_compared():
    a = evaluate(Y, GOOD, qid=QID)
    b = evaluate(Y, GOOD, qid=QID, query_weight=np.arange(30))
    sentence = "compare: query_weight must be the same for both; got others."
    with pytest.raises(DataError, match=exactly(sentence)):
        compare(a, b)


def test_something_else_cannot_be_compared():
    a = evaluate(Y, GOOD, "ap", qid=QID)
    sentence = "compare: b must be what evaluate returns; got an object of type float."
    with pytest.raises(TypeError, match=exactly(sentence)):
        compare(a, 0.5)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("ndcg(top)", "with 'linear' or 'exponential' in brackets, if any"),
        ("ap(linear)", "with what is good in brackets, a grade or 'top'"),
        ("tau(2)", "without brackets"),
        ("ndcg@5(exp)", "with 'linear' or 'exponential' in brackets, if any"),
        ("ap(best)", "with what is good in brackets, a grade or 'top'"),
    ],
)
def test_a_name_with_the_wrong_brackets_is_refused(name, rule):
    sentence = f"evaluate: the metric must be {rule}; got {name!r}."
    with pytest.raises(ValueError, match=exactly(sentence)):
        evaluate(Y, GOOD, name)


@pytest.mark.parametrize("names", [5, [None], [], ()])
def test_no_names_are_refused(names):
    sentence = (
        "evaluate: names must be one metric or several, such as 'ap' or ['ap', "
        f"'ndcg@10']; got {names if names != () else []!r}."
    )
    if names == [None]:
        sentence = "evaluate: names must be a metric such as 'ap', 'ap(top)', 'ndcg@10'; got None."
    with pytest.raises(ValueError, match=exactly(sentence).removesuffix("$")):
        evaluate(Y, GOOD, names)


def test_no_names_at_all_are_the_usual_metrics():
    assert list(evaluate(Y, GOOD, None, qid=QID)) == ["ndcg@10", "ap", "rr"]


@pytest.mark.parametrize("seed", [-1, "a", 0.5])
def test_a_seed_is_refused(seed):
    sentence = f"random_state must be None or an integer >= 0; got {seed!r}."
    with pytest.raises(ValueError, match=exactly(f"evaluate: {sentence}")):
        evaluate(Y, GOOD, random_state=seed)
    a = evaluate(Y, GOOD)
    with pytest.raises(ValueError, match=exactly(f"compare: {sentence}")):
        compare(a, a, random_state=seed)


@pytest.mark.parametrize("kind", [k for k in METRICS.values() if k.takes_weight])
def test_weights_of_rows_reach_the_metrics_of_pairs(kind):
    weight, name = RNG.random(300), kind.function.__name__
    table = evaluate(Y, GOOD, name, qid=QID, sample_weight=weight)
    expected = kind.function(Y, GOOD, qid=QID, sample_weight=weight)
    assert table[name] == pytest.approx(expected, rel=1e-14)
    assert table[name] != evaluate(Y, GOOD, name, qid=QID)[name]


def test_places_have_no_weights():
    sentence = (
        "evaluate: names must be metrics of pairs or rows, tau, disagreement, misranking, msd, "
        "rmsd, mad, rmse, mae, qwk, macro_mae, with sample_weight; got 'ap'."
    )
    with pytest.raises(ValueError, match=exactly(sentence)):
        evaluate(Y, GOOD, ["tau", "ap"], sample_weight=np.ones(300))


def test_queries_may_weigh():
    weight = RNG.random(30)
    table = evaluate(Y, GOOD, "ap", qid=QID, query_weight=weight)
    expected = metrics.average_precision(Y, GOOD, qid=QID, query_weight=weight)
    assert table["ap"] == pytest.approx(expected, rel=1e-14)


def test_a_query_without_weight_is_not_there():
    weight = np.repeat([0.0, 2.0], 15)
    some = evaluate(Y, POOR, "tau", qid=QID, query_weight=weight, n_bootstrap=9000)
    rest = evaluate(Y[150:], POOR[150:], "tau", qid=QID[150:], n_bootstrap=9000)
    assert some["tau"] == pytest.approx(rest["tau"], rel=1e-14)
    assert_allclose(some.intervals["tau"], rest.intervals["tau"], atol=0.02)
    p = (compare(t, t).p_values["tau"] for t in (some, rest))
    assert list(p) == [1.0, 1.0]


def test_undefined_queries_may_count_as_zero():
    options = {"qid": [1, 1, 2, 2], "undefined": "zero"}
    table = evaluate([1, 0, 0, 0], [1.0, 0.0, 1.0, 0.0], "ap", **options)
    assert (table["ap"], table.values["ap"].tolist()) == (0.5, [1.0, 0.0])


def test_undefined_queries_may_be_refused():
    sentence = "average_precision: every query must have a good row; got query 2 without."
    with pytest.raises(DataError, match=exactly(sentence)):
        evaluate([1, 0, 0], [1.0, 0.0, 0.0], "ap", qid=[1, 1, 2], undefined="raise")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_may_have_a_row_a_query(library):
    pytest.importorskip(library)
    table = evaluate(Y, GOOD, ["ndcg", "ap"], qid=QID)
    frame = getattr(table, f"to_{library}")(per_query=True)
    assert list(frame.columns) == ["query", "ndcg", "ap"]
    assert list(frame["query"]) == list(range(30))
    assert list(frame["ap"]) == table.values["ap"].tolist()


def weighted(score, **options):
    """Evaluate with queries that weigh differently, in an order of rows of its own."""
    rows = np.random.default_rng(7).permutation(300)
    weight = dict(zip(range(30), np.linspace(0.0, 3.0, 30), strict=True))
    options = {"qid": QID[rows], "query_weight": weight} | options
    return evaluate(Y[rows], score[rows], "tau", **options)


def test_weights_count_in_comparisons():
    a, b = (
        weighted(GOOD),
        evaluate(Y, POOR, "tau", qid=QID, query_weight=np.linspace(0.0, 3.0, 30)),
    )
    found = compare(a, b, n_bootstrap=20_000)
    order = np.argsort(a.queries)
    gaps = a.values["tau"][order] - b.values["tau"]
    weight = np.linspace(0.0, 3.0, 30)
    assert found.differences["tau"] == pytest.approx(np.average(gaps, weights=weight))
    # The spread of a ratio of sums, to first order.
    spread = np.sqrt((weight**2 * (gaps - found.differences["tau"]) ** 2).sum())
    low, high = found.intervals["tau"]
    assert high - low == pytest.approx(3.92 * spread / weight.sum(), rel=0.05)


def test_a_query_without_weight_has_no_say_in_chance():
    # Only the last query differs, and it does not count.
    y, qid = np.array([1, 0] * 20), np.repeat(np.arange(20), 2)
    score, weight = y.astype(float), np.ones(20)
    score[-2:], weight[-1] = [0, 1], 0.0
    a, b = (evaluate(y, s, "tau", qid=qid, query_weight=weight) for s in (y, score))
    assert compare(a, b).p_values["tau"] == 1.0
    weight[:-1] = 0.0
    c, d = (evaluate(y, s, "tau", qid=qid, query_weight=weight) for s in (y, score))
    assert np.isnan(compare(c, d).p_values["tau"])


def test_the_seed_decides_chance():
    a, b = (evaluate(Y, RNG.random(300), "tau", qid=QID) for _ in range(2))
    ps = {compare(a, b, n_permutations=50, random_state=s).p_values["tau"] for s in range(9)}
    assert len(ps) > 1


@pytest.mark.parametrize("qid", [5, "aab", {1, 2, 3}])
def test_queries_that_are_none_are_refused(qid):
    with pytest.raises(DataError, match="evaluate: qid must be one value per row; got"):
        evaluate([1, 0, 1], [1.0, 2.0, 3.0], "ap", qid=qid)


def test_what_to_do_with_undefined_queries_is_checked_first():
    with pytest.raises(ValueError, match=r"evaluate: undefined must be .*; got 'x'\."):
        evaluate([1, 0], [1.0, 2.0], "ap", undefined="x")


def test_ids_of_several_kinds_are_texts_in_a_frame():
    pytest.importorskip("polars")
    qid = np.array([1, 1, "b", "b"], dtype=object)
    table = evaluate([1, 0, 1, 0], [1.0, 0.0, 1.0, 0.0], "ap", qid=qid)
    assert table.to_polars(per_query=True)["query"].to_list() == ["1", "b"]


def test_tables_are_tables_in_notebooks():
    good, poor = (evaluate(Y, score, ["ap", "ndcg@10"], qid=QID) for score in (GOOD, POOR))
    for result in (good, compare(good, poor)):
        page = result._repr_html_()
        assert page.count("<tr>") == 3
        shown = [cell for line in repr(result).splitlines() for cell in line.split("  ") if cell]
        assert all(f">{cell.strip()}</t" in page for cell in shown)
