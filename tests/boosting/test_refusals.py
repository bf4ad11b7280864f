"""What RankBoost refuses, and is afterwards as it was."""

import copy
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from peckorder import Preferences, RankBoost
from peckorder.exceptions import DataError
from support.helpers import exactly, raises_unchanged, same

RNG = np.random.default_rng(0)
X = np.round(RNG.standard_normal((12, 3)), 1) + 0.0
Y, QID, ONES = np.arange(12) % 3, np.repeat([0, 1, 2], 4), np.ones(12)
WEAK = (
    "'tree', or 'threshold', 'feature', a regressor, a function of X and potentials, or a "
    "list of these"
)
FLAG = "True or False"
NO_NUMBERS = [float("nan"), float("inf"), "1", True, 1j]

BAD = {
    "n_rounds": ("an integer >= 1", [0, -1, 1.0, True, None, "1"]),
    "learning_rate": ("'auto' or a finite number > 0", [0, -0.5, None, *NO_NUMBERS]),
    "alpha": ("one of 'approximate', 'analytic', 'numeric'", ["third", None, 3, []]),
    "weak": (WEAK, ["thresholds", None, [], (), 3, ["threshold", "x"], [None]]),
    "cumulative": (FLAG, [1, None, "yes"]),
    "default": ("None or a finite number", NO_NUMBERS),
    "missing": ("one of 'zero', 'abstain'", ["nan", None, 0]),
    "smoothing": ("'auto' or a number >= 0", [-0.1, None, "none", *NO_NUMBERS]),
    "max_bins": ("None or an integer from 2 to 255", [1, 256, 2.0, True, "9", -1]),
    "query_weight": ("one of 'pairs', 'equal'", ["query", None, 1]),
    "validation_fraction": ("None or a number > 0 and < 1", [0, 1, 1.0, -0.5, *NO_NUMBERS]),
    "n_iter_no_change": ("None or an integer >= 1", [0, -1, 1.0, True, "1"]),
    "warm_start": (FLAG, [1, None, "yes"]),
    "loss": ("one of 'exponential', 'logistic'", ["hinge", None]),
    "pair_weight": ("None or one of 'ndcg'", ["map", 1]),
    "max_leaf_nodes": ("an integer >= 2", [1, None, 2.0]),
    "max_depth": ("None or an integer >= 1", [0, 1.5]),
    "min_samples_leaf": ("an integer >= 1", [0, 0.5, None]),
    "l2": ("a finite number >= 0", [-1, None, *NO_NUMBERS]),
    "max_features": ("a number > 0 and <= 1", [0, 2, "sqrt", None]),
    "subsample": ("a number > 0 and <= 1", [0, 1.5, None]),
    "n_jobs": ("-1 or an integer >= 1", [0, -2, None, 1.0, True, "all"]),
}
NEAR = [
    ("alpha", "Numeric", "'numeric'"),
    ("alpha", "approx", "'approximate'"),
    ("missing", "abstains", "'abstain'"),
    ("query_weight", "pair", "'pairs'"),
]
TOGETHER = {
    "default for thresholds": (
        {"default": 0.5},
        "default must be None, 0 or 1 for thresholds; got 0.5.",
    ),
    "default for both": (
        {"default": -1, "weak": ["feature", "threshold"], "alpha": "numeric"},
        "default must be None, 0 or 1 for thresholds; got -1.",
    ),
    "analytic features": (
        {"alpha": "analytic", "weak": "feature"},
        "alpha must be 'approximate' or 'numeric' with weak='feature'; got 'analytic'.",
    ),
    "analytic features in a list": (
        {"alpha": "analytic", "weak": ["threshold", "feature"]},
        "alpha must be 'approximate' or 'numeric' with weak='feature'; got 'analytic'.",
    ),
    "patience": (
        {"n_iter_no_change": 3},
        "validation_fraction must be a number with n_iter_no_change; got None.",
    ),
    "trees beside others": (
        {"weak": ["tree", "threshold"]},
        "weak must have no others beside 'tree'; got ['tree', 'threshold'].",
    ),
    "analytic trees": (
        {"alpha": "analytic", "weak": "tree"},
        "alpha must be 'approximate' with weak='tree'; got 'analytic'.",
    ),
    "default for trees": (
        {"default": 0, "weak": "tree"},
        "default must be None with weak='tree'; got 0.",
    ),
    "smooth trees": (
        {"smoothing": 0.1, "weak": "tree"},
        "smoothing must be 'auto' with weak='tree'; got 0.1.",
    ),
    "logistic thresholds": (
        {"loss": "logistic"},
        "loss must be 'exponential' without weak='tree'; got 'logistic'.",
    ),
    "weights of pairs of thresholds": (
        {"pair_weight": "ndcg"},
        "pair_weight must be None without weak='tree'; got 'ndcg'.",
    ),
    "samples for thresholds": (
        {"subsample": 0.5},
        "subsample must be 1.0 without weak='tree'; got 0.5.",
    ),
    "leaves of thresholds": (
        {"max_leaf_nodes": 31},
        "max_leaf_nodes must be 15 without weak='tree'; got 31.",
    ),
    "validation and a warm start": (
        {"validation_fraction": 0.2, "warm_start": True},
        "validation_fraction must be None with warm_start; got 0.2.",
    ),
}


@pytest.fixture
def model():
    return RankBoost(n_rounds=2).fit(X, Y, qid=QID)


def with_value(values, value, row=1):
    values = np.array(values, dtype=float)
    values[row] = value
    return values


# Arguments of fit, and what is said of them.
SHORT = "must be one number per row, 12 in all; got 11."
FORM = "must be one number per row, of one row at least; got an array of shape"
LETTERS = "['a', 'a', 'a', 'a', 'a', 'a', ...]"
DATA = {
    "grades": ({"y": Y[1:], "qid": None}, "y must be one number per row, 12 in all; got 11."),
    "grades and queries": (
        {"y": Y[1:], "qid": QID[1:]},
        "y must be one number per row, 12 in all; got 11.",
    ),
    "no grades": ({"y": []}, "y must be at least one grade; got []."),
    "NaN grade": (
        {"y": with_value(Y, np.nan)},
        "y must be finite numbers; got nan in row 1. If a missing label means no opinion on its "
        "row, set missing_labels='skip'.",
    ),
    "infinite grade": (
        {"y": with_value(Y, -np.inf)},
        "y must be finite numbers; got -inf in row 1.",
    ),
    "words": (
        {"y": [str(y) for y in Y]},
        "y must be numbers or an ordered categorical; got '0' in row 0.",
    ),
    "unordered": (
        {"y": pd.Categorical(Y.astype(str))},
        "y must be numbers or an ordered categorical; got '0' in row 0.",
    ),
    "missing category": (
        {"y": pd.Categorical([None, *Y[1:]], categories=[0, 1, 2], ordered=True)},
        "y must be without missing grades; got None in row 0. If a missing label means no opinion "
        "on its row, set missing_labels='skip'.",
    ),
    "huge grades": (
        {"y": Y * 2**60},
        "y must be less than 2**53 in size; got 1152921504606846976 in row 1.",
    ),
    "one grade": (
        {"y": QID},
        "y must contain two rows of one query with different "
        "grades and positive weights; got 3 of 3 queries with one "
        "grade only.",
    ),
    "short qid": ({"qid": QID[1:]}, "qid must be one value per row, 12 in all; got 11."),
    "qid as a matrix": (
        {"qid": QID[:, np.newaxis]},
        "qid must be one-dimensional; got an array of shape (12, 1).",
    ),
    "qid with a gap": ({"qid": [None, *QID[1:]]}, "qid must be without gaps; got None in row 0."),
    "qid as one word": ({"qid": "abc"}, "qid must be one value per row; got 'abc'."),
    "negative weight": (
        {"sample_weight": with_value(ONES, -0.5)},
        "sample_weight must be >= 0; got -0.5 in row 1.",
    ),
    "short weights": ({"sample_weight": ONES[1:]}, f"sample_weight {SHORT}"),
    "one weight": ({"sample_weight": 1.0}, f"sample_weight {FORM} ()."),
    "NaN weight": (
        {"sample_weight": with_value(ONES, np.nan)},
        "sample_weight must be finite; got nan in row 1.",
    ),
    "infinite weight": (
        {"sample_weight": with_value(ONES, np.inf)},
        "sample_weight must be finite; got inf in row 1.",
    ),
    "words as weights": (
        {"sample_weight": ["a"] * 12},
        f"sample_weight must be numbers; got {LETTERS}.",
    ),
    "short offset": ({"offset": ONES[1:]}, f"offset {SHORT}"),
    "offset as a matrix": ({"offset": ONES[:, np.newaxis]}, f"offset {FORM} (12, 1)."),
    "NaN offset": (
        {"offset": with_value(ONES, np.nan)},
        "offset must be finite; got nan in row 1.",
    ),
    "infinite offset": (
        {"offset": with_value(ONES, -np.inf)},
        "offset must be finite; got -inf in row 1.",
    ),
    "offsets too far apart": (
        {"offset": with_value(with_value(ONES, 1e308), -1e308, 2)},
        "offset must have finite differences; got -1e+308 and 1e+308.",
    ),
    "words as offset": ({"offset": "abc"}, "offset must be numbers; got 'abc'."),
    "rows there are not": (
        {"y": Preferences([0, 12], [1, 2]), "qid": None},
        "y must be preferences among the 12 rows of X; got row 12.",
    ),
    "graded rows there are not": (
        {"y": Preferences.from_grades(np.arange(13)), "qid": None},
        "y must be preferences among the 12 rows of X; got row 12.",
    ),
    "pairs without weight": (
        {"y": Preferences([0], [1], [0.0]), "qid": None},
        "y must be at least one pair with a weight > 0; got weights of zero only.",
    ),
    "grades without pairs": (
        {"y": Preferences.from_grades(ONES), "qid": None},
        "y must be at least one pair with a weight > 0; got no pair at all.",
    ),
}
QUERIES = [("qid", {}, {"qid": QID}), ("query_weight", {"query_weight": "equal"}, {})]
WIDE = [
    ([[0.0, 0.0], [0.5, 3.0]], None, 3.0, 1),
    ([[0.25, 1.0], [0.5, np.nan]], 2.5, 1.5, 1),
    ([[-0.5, 1.0], [0.75, 1.5]], 9, 1.25, 0),
]
PERFECT = "smoothing must be > 0 where a weak ranking errs on no pair; got 0."


def refused_fits():
    """Yield a name, parameters, arguments of fit, and the error with its sentence."""
    for name, (rule, values) in BAD.items():
        for value in values:
            sentence = f"{name} must be {rule}; got {value!r}."
            yield f"{name}={value!r}", {name: value}, {}, ValueError(sentence)
    for name, value, hint in NEAR:
        sentence = f"{name} must be {BAD[name][0]}; got {value!r}. Did you mean {hint}?"
        yield f"{name}={value!r}", {name: value}, {}, ValueError(sentence)
    for title, (options, sentence) in TOGETHER.items():
        yield title, options, {}, ValueError(sentence)
    for title, (given, sentence) in DATA.items():
        yield title, {}, given, DataError(sentence)
    sentence = (
        "y must be one label per row; got None (it requires y to be passed, but the "
        "target y is None)."
    )
    yield "no labels", {}, {"y": None, "qid": None}, ValueError(sentence)
    sentence = "y must be one number per row, 12 in all; got 11."
    yield "short labels with queries", {}, {"y": Y[1:]}, DataError(sentence)
    for name, options, given in QUERIES:
        sentence = f"{name} must be left out with Preferences, which know no queries; got one."
        pairs = {"y": Preferences([0], [1]), "qid": None} | given
        yield f"{name} with pairs", options, pairs, ValueError(sentence)
    sentence = (
        "y must be preferences without sizes, of which RankBoost would learn the order only; got "
        "sizes. Give y.without_sizes(), or let sizes be weights."
    )
    sized = {"y": Preferences([0], [1], size=[2.0]), "qid": None}
    yield "sizes", {}, sized, DataError(sentence)
    two_rows = {"X": [[0.0], [1.0]], "y": [0, 1], "qid": None}
    for alpha in ("approximate", "analytic", "numeric"):
        for weak in ("threshold", lambda X, p: lambda X: X[:, 0] > 0):
            options = {"alpha": alpha, "weak": weak, "smoothing": 0}
            yield f"no smoothing, {alpha}", options, two_rows, DataError(PERFECT)
    for rows, default, width, feature in WIDE:
        sentence = (
            "X must be within a range of 1, defaults too, if features are weak "
            f"rankings and alpha='approximate'; got {width!r} in feature {feature}. "
            "Scale X to [0, 1], or use alpha='numeric'."
        )
        for form in (np.asarray, sparse.csr_array):
            given = {"X": form(rows), "y": [0, 1], "qid": None}
            options = {"weak": "feature", "default": default}
            yield f"a range of {width}", options, given, DataError(sentence)


CASES = list(refused_fits())


@pytest.mark.parametrize(
    ("options", "given", "error"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_a_fit_is_refused(model, options, given, error):
    model.set_params(**options)
    with raises_unchanged(model, type(error), f"RankBoost: {error}"):
        model.fit(**{"X": X, "y": Y, "qid": QID} | given)


def test_numpy_scalars_are_parameters_too():
    model = RankBoost(
        n_rounds=np.int64(2),
        learning_rate=np.float32(0.5),
        cumulative=np.bool_(True),
        default=np.float64(1.0),
        smoothing=np.float32(0.25),
        max_bins=np.int8(7),
        n_jobs=np.int32(1),
        warm_start=np.bool_(False),
    )
    assert model.fit(X, Y, qid=QID).n_rounds_ == 2


@pytest.mark.parametrize("value", ["foo", None, 3, ["ap"], "", np.array(["ap", "ndcg"])])
def test_an_unknown_metric_is_refused(model, value):
    model.set_params(metric=value)
    before = copy.deepcopy(vars(model))
    pattern = (
        r"^RankBoost: \w+ must be a metric such as 'ap', 'ap\(top\)', 'ndcg@10'; got "
        rf"{re.escape(repr(value))}\."
    )
    with pytest.raises(ValueError, match=pattern):
        model.fit(X, Y, qid=QID)
    assert same(vars(model), before)


def test_an_unknown_metric_is_called_metric(model):
    with pytest.raises(ValueError, match=r"^RankBoost: metric must be a metric such as"):
        model.set_params(metric="foo").fit(X, Y, qid=QID)


def test_weights_of_zero_are_refused(model):
    before = copy.deepcopy(vars(model))
    with pytest.raises(DataError, match=r"^RankBoost: y must contain two rows of one"):
        model.fit(X, Y, qid=QID, sample_weight=0 * ONES)
    assert same(vars(model), before)


@pytest.mark.parametrize(
    "y",
    [
        Preferences([0], [1]),
        Preferences([0], [1]) + Preferences.from_grades(Y),
        Preferences.from_grades(Y) + Preferences.from_grades(Y),
    ],
    ids=["listed", "both", "graded"],
)
def test_preferences_among_rows_without_weight_are_refused(y):
    with pytest.raises(DataError, match=r"^RankBoost: y must contain two rows of one"):
        RankBoost().fit(X, y, sample_weight=0 * ONES)


INFINITE = "Input X contains infinity or a value too large for dtype('float64')."
ASK = {
    "fit": lambda model, rows: model.fit(rows, Y[: rows.shape[0]]),
    "predict": lambda model, rows: model.predict(rows),
    "rank": lambda model, rows: model.rank(rows),
    "score": lambda model, rows: model.score(rows, Y[: rows.shape[0]]),
    "explain": lambda model, rows: model.explain(rows),
    "staged_predict": lambda model, rows: list(model.staged_predict(rows)),
}
every_way = pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
every_form = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])


@every_way
@every_form
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values_are_refused(model, ask, form, value):
    rows = X.copy()
    rows[7, 1] = value
    with raises_unchanged(model, ValueError, INFINITE):
        ask(model, form(rows))


@every_way
@every_form
def test_no_rows_are_refused(model, ask, form):
    sentence = (
        "Found array with 0 sample(s) (shape=(0, 3)) while a minimum of 1 is required by RankBoost."
    )
    with raises_unchanged(model, ValueError, sentence):
        ask(model, form(np.empty((0, 3))))


@pytest.mark.parametrize("method", sorted(set(ASK) - {"fit"}))
def test_another_number_of_features_is_refused(model, method):
    sentence = "X has 2 features, but RankBoost is expecting 3 features as input."
    with raises_unchanged(model, ValueError, sentence):
        ASK[method](model, X[:, :2])


@pytest.mark.parametrize(
    "ask",
    [
        lambda model, offset: model.predict(X, offset=offset),
        lambda model, offset: model.rank(X, offset=offset),
        lambda model, offset: model.score(X, Y, offset=offset),
        lambda model, offset: list(model.staged_predict(X, offset=offset)),
    ],
)
def test_a_bad_offset_is_refused_when_asked(model, ask):
    with raises_unchanged(model, DataError, f"RankBoost: offset {SHORT}"):
        ask(model, ONES[1:])
    sentence = "RankBoost: offset must be finite; got nan in row 1."
    with raises_unchanged(model, DataError, sentence):
        ask(model, with_value(ONES, np.nan))


def test_queries_of_another_length_are_refused_when_asked(model):
    sentence = "RankBoost: qid must be one value per row, 12 in all; got 11."
    with raises_unchanged(model, DataError, sentence):
        model.rank(X, QID[1:])
    sentence = sentence.replace("RankBoost", "disagreement")
    with pytest.raises(DataError, match=exactly(sentence)):
        model.score(X, Y, qid=QID[1:])


@pytest.mark.parametrize("column", [3, 1000, -1])
@pytest.mark.parametrize("method", ["fit", "predict"])
def test_a_column_out_of_range_is_refused(model, column, method):
    rows = sparse.csr_array(X + 10)
    rows.indices[4] = column
    sentence = (
        "RankBoost: X must be a well-formed CSR matrix; got indices that point outside "
        "of it. X.check_format() says where."
    )
    with raises_unchanged(model, DataError, sentence):
        ASK[method](model, rows)


def test_scores_too_far_apart_for_the_least_Z_are_refused():
    model = RankBoost(alpha="analytic")
    sentence = (
        "RankBoost: scores must be within 1300 of each other in a query, offset "
        "included, if alpha='analytic'; got 1301.0. Use alpha='numeric'."
    )
    with raises_unchanged(model, DataError, sentence):
        model.fit(X, Y, offset=with_value(0 * ONES, 1301.0))
    apart = np.repeat([0.0, 5000.0, 10000.0], 4)
    assert model.fit(X, Y, qid=QID, offset=apart).n_rounds_ > 0
