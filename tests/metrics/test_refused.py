"""What cannot be measured is refused, in one sentence."""

import re

import numpy as np
import pytest

from peckorder import metrics
from peckorder.exceptions import DataError
from support.helpers import exactly
from support.metrics_by_enumeration import METRICS, OF_GOOD_ROWS, Metric

PAIRWISE = [
    metrics.disagreement,
    metrics.misranking,
    metrics.kendall_tau,
    metrics.mean_squared_difference,
    metrics.root_mean_squared_difference,
    metrics.mean_absolute_difference,
]
SKIPPED = "Rows without a label are left out by evaluate(..., missing_labels='skip')."
DIFFERENCES = [metric.__name__ for metric in PAIRWISE if "difference" in metric.__name__]
EVERY = (
    METRICS
    | {function.__name__: Metric(function, None) for function in PAIRWISE}
    | {"rank probability": Metric(metrics.rank_probability, None, options={"k": 1})}
)
WITH_QUERIES = [name for name in EVERY if name != "rank probability"]
FIRST_K = ["precision at 3", "recall at 3", "hits at 3", "rank probability"]
OPTIONAL_K = [("ndcg", "k"), ("reciprocal rank", "k"), ("expected rank", "cap")]

every_metric = pytest.mark.parametrize("name", EVERY)
every_metric_with_queries = pytest.mark.parametrize("name", WITH_QUERIES)
every_metric_with_ties = pytest.mark.parametrize("name", METRICS)
every_pairwise = pytest.mark.parametrize("metric", PAIRWISE, ids=lambda m: m.__name__)


def raises_refusal(sentence, error=DataError):
    return pytest.raises(error, match=exactly(sentence))


# --- columns ---


def shape_of(name, shape):
    return f"{name} must be one number per row, of one row at least; got an array of shape {shape}."


OF_COLUMNS = [
    ([0, 1, 2], [1.0, 2.0], "y_score must be as long as y_true, 3 rows; got 2."),
    ([0, 1, np.nan], [1.0, 3.0, 2.0], f"y_true must be finite; got nan in row 2. {SKIPPED}"),
    ([0, 1, np.inf], [1.0, 3.0, 2.0], "y_true must be finite; got inf in row 2."),
    ([0, 1, -np.inf], [1.0, 3.0, 2.0], "y_true must be finite; got -inf in row 2."),
    ([], [], shape_of("y_true", (0,))),
    ([[0], [1]], [1.0, 2.0], shape_of("y_true", (2, 1))),
    ([0, 1], [[1.0, 2.0]], shape_of("y_score", (1, 2))),
    (["low", "high"], [1.0, 2.0], "y_true must be numbers; got ['low', 'high']."),
    ([0, 1], ["a", "b"], "y_score must be numbers; got ['a', 'b']."),
]


@every_metric
@pytest.mark.parametrize(("truth", "score", "sentence"), OF_COLUMNS)
def test_bad_columns_are_refused_by_every_metric(name, truth, score, sentence):
    metric = EVERY[name]
    with raises_refusal(f"{metric.name}: {sentence}"):
        metric(truth, score)


@every_metric
def test_a_score_that_is_nan_is_refused(name):
    metric = EVERY[name]
    is_difference = metric.name in DIFFERENCES
    rule = "finite" if is_difference else "without gaps"
    hint = "" if is_difference else " Fill them, with -inf to rank these rows last."
    with raises_refusal(f"{metric.name}: y_score must be {rule}; got nan in row 1.{hint}"):
        metric([0, 1, 2], [1.0, np.nan, 2.0])


@pytest.mark.parametrize("name", DIFFERENCES)
@pytest.mark.parametrize(
    ("truth", "score", "sentence"),
    [
        ([0, 1], [np.inf, 0], "y_score must be finite; got inf in row 0."),
        (
            [1e200, 0.0],
            [0.0, 1.0],
            "y_score must be within 1e+145 of y_true, so that squares are finite; got 1e+200.",
        ),
    ],
)
def test_differences_that_are_not_finite_are_refused(name, truth, score, sentence):
    with raises_refusal(f"{name}: {sentence}"):
        getattr(metrics, name)(truth, score)


@pytest.mark.parametrize(
    ("truth", "score", "sentence"),
    [
        ([None, 1], [1, 2], f"y_true must be finite; got nan in row 0. {SKIPPED}"),
        (1, 2, shape_of("y_true", ())),
        ([0, 1], ["10", "9"], "y_score must be numbers; got ['10', '9']."),
        ([[1], [2, 3]], [1, 2], "y_true must be numbers; got [[1], [2, 3]]."),
        ([1j, 2], [1, 2], "y_true must be numbers; got [1j, 2]."),
        (np.array([1j, 2]), [1, 2], f"y_true must be numbers; got {np.array([1j, 2])!r}."),
    ],
)
def test_other_bad_columns_are_refused(truth, score, sentence):
    with raises_refusal(f"ndcg: {sentence}"):
        metrics.ndcg(truth, score)


def test_a_long_column_is_not_shown_whole():
    with pytest.raises(DataError, match="y_true must be numbers") as caught:
        metrics.ndcg(["word"] * 10_000, np.zeros(10_000))
    assert len(str(caught.value)) < 1000


# --- large numbers are no reason to refuse, nor to warn ---


def test_truths_may_be_as_far_apart_as_can_be():
    assert metrics.disagreement([-1.7e308, 1.7e308], [1, 2]) == 0.0


def test_scores_may_be_too_large_for_single_precision():
    got = metrics.reciprocal_rank([0, 1], [1e300, 2e300], ties="docid", docid=["b", "a"])
    assert got == 0.5


@pytest.mark.parametrize("k", [2**31, 2**62, 10**30])
def test_k_may_be_larger_than_any_list(k):
    truth, score = [0, 1, 1], [3, 2, 1]
    assert metrics.precision_at(truth, score, k) == pytest.approx(2 / k)
    assert metrics.recall_at(truth, score, k) == 1.0
    assert metrics.hits_at(truth, score, k) == 1.0
    assert metrics.expected_rank(truth, score, cap=k) == 2.0
    assert metrics.ndcg(truth, score, k=k) == metrics.ndcg(truth, score)


# --- parameters ---


def a_k(who, name, value, start=""):
    return f"{who}: {name} must be {start}an integer >= 1; got {value!r}."


@pytest.mark.parametrize("name", FIRST_K)
@pytest.mark.parametrize("k", [0, -1, 2.5, 2.0, "3", None, True, np.nan])
def test_a_bad_k_is_refused(name, k):
    metric = EVERY[name].function
    with raises_refusal(a_k(metric.__name__, "k", k), ValueError):
        metric([0, 1], [1.0, 2.0], k)


@pytest.mark.parametrize(("name", "option"), OPTIONAL_K)
@pytest.mark.parametrize("k", [0, -1, 2.5, 2.0, "3", True])
def test_a_bad_optional_k_is_refused(name, option, k):
    metric = EVERY[name].function
    with raises_refusal(a_k(metric.__name__, option, k, "None or "), ValueError):
        metric([0, 1], [1.0, 2.0], **{option: k})


def test_a_k_may_be_of_numpy():
    assert metrics.precision_at([0, 1], [1, 2], np.int32(1)) == 1.0


def test_there_is_no_rank_of_a_good_row_that_is_not_there():
    sentence = "rank_probability: k must be at most the number of good rows, 1; got 2."
    with raises_refusal(sentence):
        metrics.rank_probability([0, 1], [1, 2], 2)


def of_ties(value, hint=""):
    rule = "one of 'expected', 'best', 'worst', 'order', 'docid'"
    return {"ties": value}, ValueError, f"ties must be {rule}; got {value!r}.{hint}"


@every_metric_with_ties
@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        of_ties("expectd", " Did you mean 'expected'?"),
        of_ties("Worst", " Did you mean 'worst'?"),
        of_ties("random"),
        of_ties(None),
        of_ties(1),
        of_ties(["best"]),
        (
            {"undefined": "skp"},
            ValueError,
            "undefined must be one of 'skip', 'zero', 'raise'; got 'skp'. Did you mean 'skip'?",
        ),
        (
            {"ties": "docid"},
            DataError,
            "docid must be one name per row with ties='docid'; got None.",
        ),
        (
            {"ties": "docid", "docid": [*"abc"]},
            DataError,
            "docid must be as long as y_true, 2 rows; got 3.",
        ),
    ],
)
def test_bad_options_are_refused_by_every_metric(name, options, error, sentence):
    metric = METRICS[name]
    with raises_refusal(f"{metric.name}: {sentence}", error):
        metric([0, 1], [1.0, 2.0], **options)


def test_an_unknown_gain_is_refused():
    sentence = (
        "ndcg: gain must be one of 'linear', 'exponential'; got 'expontial'. Did you "
        "mean 'exponential'?"
    )
    with raises_refusal(sentence, ValueError):
        metrics.ndcg([0, 1], [1, 2], gain="expontial")


@pytest.mark.parametrize("gain", ["linear", "exponential"])
def test_negative_grades_are_no_gains(gain):
    with raises_refusal("ndcg: y_true must be >= 0 to be a gain; got -0.5."):
        metrics.ndcg([1, -0.5, 0], [1, 2, 3], gain=gain)


def test_grades_too_large_for_a_power_of_two_are_refused():
    with pytest.raises(DataError, match=r"^ndcg: y_true must be "):
        metrics.ndcg([2000, 1], [1, 2], gain="exponential")


@pytest.mark.parametrize("name", [*OF_GOOD_ROWS, "rank probability"])
@pytest.mark.parametrize(
    ("good", "sentence"),
    [
        *(
            (good, f"good must be a grade, 'top' or a mask; got {good!r}.")
            for good in (
                *("best", None, True, np.nan, np.inf),
                *([1, 0], ["a", "b"], [[True], [False]], [[1], [2, 3]]),
            )
        ),
        ([True, False, True], "good must be as long as y_true, 2 rows; got 3."),
    ],
)
def test_what_is_neither_a_grade_nor_a_mask_is_refused(name, good, sentence):
    metric = EVERY[name]
    with raises_refusal(f"{metric.name}: {sentence}"):
        metric([0, 1], [1.0, 2.0], good=good)


# --- names of documents ---


@pytest.mark.parametrize("docid", [[["a", "b"], ["c", "d"]], ["a", None], 7], ids=repr)
def test_names_without_an_order_are_refused(docid):
    with pytest.raises(DataError, match=r"^ndcg: docid must be "):
        metrics.ndcg([0, 1], [1, 2], ties="docid", docid=docid)


# --- queries ---


@every_metric_with_queries
@pytest.mark.parametrize(
    ("qid", "sentence"),
    [
        ([1, 1, 2], "qid must be one value per row, 2 in all; got 3."),
        ([1.0, np.nan], "qid must be without gaps; got nan in row 1."),
        (np.array([1, np.nan]), "qid must be without gaps; got nan in row 1."),
        ([1, np.nan], "qid must be without gaps; got nan in row 1."),
        (["a", np.nan], "qid must be without gaps; got nan in row 1."),
        (np.zeros((2, 1)), "qid must be one-dimensional; got an array of shape (2, 1)."),
        ([{}, {}], "qid must be hashable values; got unhashable type: 'dict'."),
    ],
)
def test_bad_queries_are_refused_by_every_metric(name, qid, sentence):
    metric = EVERY[name]
    with raises_refusal(f"{metric.name}: {sentence}"):
        metric([0, 1], [1.0, 2.0], qid=qid)


@pytest.mark.parametrize("qid", [7, 1.5])
def test_a_single_query_for_all_is_refused(qid):
    with pytest.raises(DataError, match=r"^ndcg: qid must be "):
        metrics.ndcg([0, 1], [1, 2], qid=qid)


# --- weights ---


@every_pairwise
@pytest.mark.parametrize(
    ("weight", "sentence"),
    [
        ([1, -1], "sample_weight must be >= 0; got -1.0 in row 1."),
        ([1, np.nan], "sample_weight must be finite; got nan in row 1."),
        ([np.inf, 1], "sample_weight must be finite; got inf in row 0."),
        ([1, 2, 3], "sample_weight must be one number per row, 2 in all; got 3."),
        (["a", "b"], "sample_weight must be numbers; got ['a', 'b']."),
    ],
)
@pytest.mark.parametrize("truth", [[0, 1], [0, 0.5]], ids=["grades", "reals"])
def test_bad_weights_of_rows_are_refused(metric, weight, sentence, truth):
    with raises_refusal(f"{metric.__name__}: {sentence}"):
        metric(truth, [1.0, 2.0], sample_weight=weight)


def of_queries(got):
    return (
        "query_weight must be one weight >= 0 per query, 2 in the order of their first "
        f"rows; got {got!r}."
    )


@every_metric_with_queries
@pytest.mark.parametrize(
    ("weight", "sentence"),
    [
        ([1, -1], of_queries([1.0, -1.0])),
        ([1, 2, 3], of_queries([1.0, 2.0, 3.0])),
        ({"a": -1, "b": 0}, of_queries([-1.0, 0.0])),
        ([1, np.nan], "query_weight must be finite; got nan in row 1."),
        (["x", "y"], "query_weight must be numbers; got ['x', 'y']."),
        ({"a": 1}, "query_weight must have a weight for every query; got none for 'b'."),
    ],
)
def test_bad_weights_of_queries_are_refused(name, weight, sentence):
    metric = EVERY[name]
    with raises_refusal(f"{metric.name}: {sentence}"):
        metric([0, 1, 0, 1], [1, 2, 3, 4], qid=[*"aabb"], query_weight=weight)


def test_names_of_rows_that_would_not_matter_are_refused():
    sentence = "ndcg: ties must be 'docid' for docid to matter; got 'expected'."
    with raises_refusal(sentence, ValueError):
        metrics.ndcg([1, 0], [1.0, 1.0], docid=["a", "b"])


def test_the_message_on_categories_says_where_their_numbers_are():
    pandas = pytest.importorskip("pandas")
    y = pandas.Series(pandas.Categorical(["low", "high"], ["low", "high"], ordered=True))
    with pytest.raises(DataError, match=r"Of ordered categories .*: y_true\.cat\.codes\."):
        metrics.ndcg(y, [1.0, 0.0])


@every_metric
@pytest.mark.parametrize(
    ("column", "rule"),
    [
        (np.array([2**60, 2**60 + 1, 2**60 + 2], object), "below 2**53, exact as float64"),
        (np.array([2**60, 2**60 + 1, 2**60 + 2]), "below 2**53, exact as float64"),
        ([2**60, 2**60 + 1, 0.5], "below 2**53, exact as float64"),
        (np.array([10**400, 1, 2], object), "numbers below 2**1024"),
        (1 + np.arange(3) * np.longdouble(2) ** -60, "numbers that differ as float64"),
    ],
    ids=["objects", "int64", "beside a fraction", "huge", "longdouble"],
)
def test_numbers_that_float64_cannot_tell_apart(name, column, rule):
    if getattr(column, "dtype", None) == np.longdouble and column[1] == 1:
        pytest.skip("long doubles are doubles here")
    for pair in (([0, 1, 1], column), (column, [0, 1, 2])):
        with pytest.raises(DataError, match=re.escape(f"must be {rule}; got ")):
            EVERY[name](*pair)
