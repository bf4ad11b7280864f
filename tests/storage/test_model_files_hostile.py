"""Files with a checksum that fits, made to do harm: refused before they can."""

import struct

import numpy as np
import pytest

import peckorder
from peckorder import PRank
from peckorder.exceptions import DataError, ModelFileError
from support.damaged_files import closed, laid_out, opened, sealed
from support.helpers import exactly
from support.stored_models import CASES, X, Y


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.peckorder"


def assert_refused(path, what):
    sentence = f"load: path must be a sound model file; got {str(path)!r}, {what}."
    with pytest.raises(ModelFileError, match=exactly(sentence)):
        peckorder.load(path)


def parts_of(name, path):
    """Return the header and the arrays of a model's file."""
    CASES[name].fit().save(path)
    return opened(path.read_bytes())


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (b"{", "whose header is no JSON"),
        (b"[]", "whose header is no JSON object"),
        (b"{}", "whose header lists no arrays"),
        (b'{"arrays":[],"arrays":[]}', "whose header says a thing twice"),
        (b'{"arrays":[],"x":NaN}', "whose header has NaN, which is no JSON"),
        (b'{"arrays":[]}', "in which the header must have 'peckorder'"),
        ('{"ä":[]}'.encode(), "whose header is no JSON"),
        (b'{"arrays":' + b"[" * 5000 + b"]" * 5000 + b"}", None),
        (b'{"arrays":[],"x":' + b"9" * 5000 + b"}", "whose header is no JSON"),
        (b'{"arrays":[["<f8",[1]]]}', "whose header describes an array badly"),
        (b'{"arrays":[["<f8",[-1],"C"]]}', "whose header describes an array badly"),
        (b'{"arrays":[["|O8",[1],"C"]]}', "whose header describes an array badly"),
        (b'{"arrays":[["<f8",[true],"C"]]}', "whose header describes an array badly"),
        (b'{"arrays":[["<f8",[1,1,1],"C"]]}', "whose header describes an array badly"),
        (b'{"arrays":[["<f8",[60],"C"]]}', "which is shorter than it says"),
        (b'{"arrays":[["<f8",[50,50],"C"]]}', "which is shorter than it says"),
    ],
)
def test_headers_that_are_no_json_objects(text, what, path):
    path.write_bytes(sealed(laid_out(text, [])))
    assert_refused(path, what or "whose header is nested more than 32 deep")


def test_texts_with_brackets_are_not_deep(path):
    model = PRank(classes=["[" * 99, "{" * 99, '"[\\"', "]"])
    model.fit(X, np.array(model.classes)[Y - 1]).save(path)
    assert peckorder.load(path).classes == model.classes


def test_arrays_that_come_to_less_than_the_file(path):
    header, parts = parts_of("prank", path)
    path.write_bytes(sealed(closed(header, parts)[:-32] + bytes(64)))
    assert_refused(path, "which is longer than it says")


def changed(name, path, change):
    """Write the file of a model in which one thing is changed, the checksum right."""
    header, parts = parts_of(name, path)
    arrays = [
        np.frombuffer(part, dtype=form[0]).reshape(form[1]).copy()
        for part, form in zip(parts, header["arrays"], strict=True)
    ]

    def array(*names):
        node = header["state"]
        for key in names:
            node = node[key]
        return arrays[node["array"]]

    change(header, array)
    path.write_bytes(closed(header, [a.tobytes() for a in arrays]))


def put(value, *names):
    def change(header, array):
        *most, last = names
        node = header
        for key in most:
            node = node[key]
        node[last] = value

    return change


def fill(value, where, *names):
    def change(header, array):
        array(*names)[where] = value

    return change


def scribble(*changes):
    def change(header, array):
        for one in changes:
            one(header, array)

    return change


HOSTILE = {
    "an unknown class": ("prank", put("Pipeline", "model"), "in which model must be"),
    "an unknown entry": (
        "prank",
        put(1, "state", "__class__"),
        "in which state must not have '__class__'",
    ),
    "a parameter of another class": (
        "prank",
        put(1, "parameters", "n_rounds"),
        "in which parameters must be those of PRank",
    ),
    "a parameter against its rule": (
        "prank",
        put(-1, "parameters", "max_iter"),
        "in which parameters break a rule: PRank: max_iter must be an integer >= 1; got -1",
    ),
    "a degree without end": (
        "prank-poly",
        put(10**15, "state", "begun_with", "degree"),
        "in which degree must be at most 4096",
    ),
    "a table without a ranker to begin with": (
        "table",
        put({}, "parameters"),
        "in which parameters must be all that TableRanker needs",
    ),
    "a weak learner of a round that is not there": (
        "rankboost-learner",
        put(5, "state", "rankings", 4, "round"),
        r"in which state.rankings\[4\].round must be an integer from 4 to 4",
    ),
    "a weak learner of a round before": (
        "rankboost-learner",
        put(0, "state", "rankings", 1, "round"),
        r"in which state.rankings\[1\].round must be an integer from 1 to 4",
    ),
    "a weak learner of other features": (
        "rankboost-learners",
        put(2, "state", "rankings", 0, "model", "n_features"),
        "in which state",
    ),
    "boosting in boosting": (
        "rankboost-learner",
        put("RankBoost", "state", "rankings", 0, "model", "model"),
        r"in which state.rankings\[0\].model.model must be one of 'AggregatePRank'",
    ),
    "a weak learner that is no estimator": (
        "rankboost-learners",
        put(
            {"name": "Pipeline", "parameters": {}},
            "parameters",
            "weak",
            "estimators",
            1,
            "estimator",
        ),
        "in which parameters.weak.1",
    ),
    "weak learners that are no list": (
        "rankboost-learners",
        put("threshold", "parameters", "weak", "estimators"),
        "in which parameters.weak must be a list of estimators",
    ),
    "a table in a table": (
        "table",
        put("TableRanker", "state", "ranker", "model"),
        "in which state.ranker.model must be one of 'AggregatePRank', 'CalibratedOrdinal', "
        "'CatBoost', 'LightGBM', 'MPRank', 'MPRankCV', 'Mord', 'MulticlassPerceptron', "
        "'OrdinalBoost', 'PRank', 'RankBoost', 'Ridge', 'SVRank', 'WidrowHoff', 'XGBoost'",
    ),
    "a ranker of fewer columns": (
        "table-boosted",
        put(3, "state", "ranker", "n_features"),
        "in which state.ranker",
    ),
    "a column more than there is": (
        "table",
        put(4, "n_features"),
        r"in which state.is_text must be of shape \(4\)",
    ),
    "a scale of nothing": ("table", fill(0.0, 1, "scale"), "in which state.scale must be positive"),
    "a mean beyond all numbers": (
        "table",
        fill(np.inf, 1, "shift"),
        "in which state.shift must be finite",
    ),
    "values of text that point outside": (
        "table-text",
        fill(3, 1, "ends"),
        "in which state.ends must be from 0 to 2, never falling",
    ),
    "cuts that fall": (
        "table-classes",
        fill(9.0, 1, "answer", "thresholds"),
        "in which state.answer.thresholds must be ascending",
    ),
    "a cut nowhere": (
        "table-classes",
        fill(np.nan, slice(None), "answer", "thresholds"),
        "in which state.answer.thresholds must be ascending",
    ),
    "a class more than there are parts": (
        "table-classes",
        put({"kind": "values", "values": [1, 2]}, "state", "answer", "classes"),
        r"in which state.answer.classes must be of shape \(4\)",
    ),
    "a class twice": (
        "table-classes",
        put({"kind": "values", "values": [1, 2, 2, 3]}, "state", "answer", "classes"),
        "in which state.answer.classes must be two or more that differ",
    ),
    "an unknown kind of answer": (
        "table-classes",
        put("code", "state", "answer", "kind"),
        "in which state.answer.kind must be one of 'classes', 'label scale'",
    ),
    "a scale that turns the order around": (
        "table-label-scale",
        put(-1.0, "state", "answer", "slope"),
        "in which state.answer.slope must be a finite number >= 0",
    ),
    "cuts of classes": (
        "table-text",
        put({"kind": "label scale", "slope": 1.0, "origin": 0.0}, "state", "answer"),
        "in which state.answer must be missing where the ranker itself predicts classes",
    ),
    "a mean without a deviation": (
        "table",
        put(None, "state", "scale"),
        "in which state.scale must be one of the arrays",
    ),
    "threads without end": (
        "aggregate-voted",
        put(10**9, "parameters", "n_jobs"),
        "in which n_jobs must be at most 1024",
    ),
    "a parameter without end": (
        "prank",
        put("x\n" * 10**6, "parameters", "rule"),
        "in which parameters break a rule: PRank: rule must be .{,330}$",
    ),
    "a name without end": (
        "prank",
        put(1, "state", "x\n" * 10**6),
        "in which state must not have .{,60}$",
    ),
    "labels of one hash": (
        "prank-days",
        put([i * (2**61 - 1) for i in range(99)], "state", "classes", "values"),
        "in which state.classes.values must be of different hashes",
    ),
    "features without end": (
        "mprank-poly-sparse",
        put(2**60, "n_features"),
        "in which n_features must be an integer from 1 to 2147483647",
    ),
    "a seed that is none": ("prank", put("x", "parameters", "random_state"), "in which "),
    "features beyond the weights": (
        "prank",
        put(2**30, "n_features"),
        r"in which state.learner.weights must be of shape \(1073741825,\)",
    ),
    "members beyond the keys": (
        "aggregate-rbf",
        put(10**12, "state", "begun_with", "n_estimators"),
        r"in which state.learner.key must be of shape \(1000000000000,\)",
    ),
    "an array in two places": (
        "prank",
        lambda header, array: header["state"]["learner"].update(
            lag=header["state"]["learner"]["weights"]
        ),
        "in which ",
    ),
    "weights that are not finite": (
        "prank",
        fill(np.nan, 0, "learner", "weights"),
        "in which state.learner.weights must be finite",
    ),
    "weights whose sums are not finite": (
        "prank",
        fill(1e308, 0, "learner", "weights"),
        "in which state.learner.weights must be small enough for finite sums",
    ),
    "an average without lags": (
        "perceptron-averaged",
        put(None, "state", "learner", "lag"),
        "in which state.learner.lag must be there if rules are averaged, and else null",
    ),
    "thresholds that cross": (
        "prank",
        fill(1e6, 0, "learner", "thresholds"),
        "in which state.learner.thresholds must be ascending",
    ),
    "classes twice": (
        "prank",
        fill(2, 0, "classes", "numbers"),
        "in which state.classes must be two distinct labels at least",
    ),
    "a class that cannot be hashed": (
        "prank-days",
        put([[1], [2], [3], [4]], "state", "classes", "values"),
        "in which state.classes.values must be hashable",
    ),
    "a column beyond the weights": (
        "prank-voted-sparse",
        fill(2**30, 0, "learner", "updates", "support", "indices"),
        "in which state.learner.updates.support.indices must be from 0 to below 3",
    ),
    "a negative column": (
        "prank-rbf-sparse",
        fill(-1, 0, "learner", "support", "matrix", "indices"),
        "in which state.learner.support.matrix.indices must be from 0 to below 4",
    ),
    "pointers that fall": (
        "prank-voted-sparse",
        fill(2**30, 1, "learner", "updates", "support", "indptr"),
        r"in which state.learner.updates.support.indptr must be from 0 to \d+, never",
    ),
    "an update by a row that is not there": (
        "prank-voted",
        fill(10**6, 0, "learner", "updates", "row"),
        r"in which state.learner.updates.row must be from 0 to below \d+",
    ),
    "updates at the same time": (
        "prank-voted",
        fill(0, slice(None), "learner", "updates", "round"),
        "in which state.learner.updates.round must be strictly ascending",
    ),
    "a vote by a row that is not there": (
        "prank-rbf-voted",
        fill(10**6, (0, 0), "learner", "record"),
        "in which state.learner.record must be of rows of the support, levels and",
    ),
    "a column of kernels that is not there": (
        "prank-precomputed",
        fill(48, -1, "learner", "support", "number"),
        "in which state.learner.support.number must be from 0 to below 48",
    ),
    "rows of a budget that nobody uses": (
        "prank-budget",
        scribble(
            fill(0, slice(None), "learner", "coef"),
            fill(0, slice(None), "learner", "lag"),
            fill(0, slice(None), "learner", "newer"),
        ),
        "in which state.learner.support must be rows in use, as many as the budget",
    ),
    "an average that has not begun": (
        "prank-budget",
        fill(10**6, 0, "learner", "clock"),
        "in which state.learner.clock must be of rounds that have been",
    ),
    "votes without end": (
        "aggregate-voted",
        fill(255 * 30 + 1, 0, "learner", "right"),
        "in which state.learner.right must be of rounds that have been",
    ),
    "a feature that is not there": (
        "rankboost",
        fill(3, 0, "rankers", "feature"),
        "in which state.rankers.feature must be from 0 to below 3",
    ),
    "a default that is none": (
        "rankboost",
        fill(0.5, 0, "rankers", "default"),
        "in which state.rankers.default must be 0 or 1 for thresholds",
    ),
    "a duration for a number": (
        "mprank",
        put({"timedelta64": ["s", 1, 5]}, "parameters", "C"),
        "in which parameters break a rule: MPRank: C must be a finite number > 0; got np",
    ),
    "no time at all for a number": (
        "prank",
        put({"timedelta64": ["s", 1, -(2**63)]}, "parameters", "max_iter"),
        "in which parameters break a rule: PRank: max_iter must be an integer >= 1; got np",
    ),
    "a number beyond 64 bits": (
        "prank",
        put(2**63, "parameters", "max_iter"),
        r"in which parameters break a rule: PRank: max_iter must be below 2\*\*63, as "
        "an integer; got 9223372036854775808",
    ),
    "half a character": (
        "personal",
        scribble(
            put("strings", "state", "users", "kind"),
            fill([0xED, 0xA0, 0x80], slice(0, 3), "users", "text"),
        ),
        "in which state.users.text must be UTF-8",
    ),
    "a C of zero": (
        "mprank-rbf",
        put(0.0, "state", "fitted_C"),
        "in which state.fitted_C must be a number > 0",
    ),
    "a query without end": (
        "mprank-rbf",
        fill(2**60, 0, "sample", "query"),
        r"in which state.sample.query must be from 0 to below \d+",
    ),
    "a weight below zero": (
        "mprank-rbf",
        fill(-1.0, 0, "sample", "weight"),
        "in which state.sample.weight must be positive",
    ),
    "a pair of one row": (
        "mprank-preferences-rbf",
        scribble(fill(1, 0, "pairs", "better"), fill(1, 0, "pairs", "worse")),
        "in which state.pairs.better must be pairs of rows, each in some pair",
    ),
    "a pair of a weight below zero": (
        "mprank-preferences-rbf",
        fill(-1.0, 0, "pairs", "root"),
        "in which state.pairs.root must be positive, 1 at most",
    ),
    "a pair of a row that is not there": (
        "mprank-preferences-rbf",
        fill(48, 0, "pairs", "worse"),
        r"in which state.pairs.worse must be from 0 to below \d+",
    ),
    "a row of a fit that is not there": (
        "mprank-rbf",
        fill(48, -1, "kept"),
        "in which state.kept must be from 0 to below 48",
    ),
    "a viewer that is not there": (
        "nearest",
        fill(9, 0, "neighbors_"),
        "in which state.neighbors_ must be from 0 to below 9",
    ),
    "an item that is not there": (
        "personal",
        fill(10, -1, "ratings", "indices"),
        "in which state.ratings.indices must be from 0 to below 10",
    ),
    "an item twice": (
        "personal",
        fill(0, slice(0, 2), "ratings", "indices"),
        "in which state.ratings.indices must be strictly ascending in each row",
    ),
    "an item twice for a new person": (
        "personal",
        fill(1, slice(None), "changed", "rated"),
        "in which state.changed.rated must be strictly ascending for each user",
    ),
    "a person of no kind": (
        "personal",
        fill(9, 0, "people", "kinds"),
        "in which state.people.kinds must be from 0 to below 5",
    ),
    "an estimator of another width": (
        "personal-estimator",
        fill(3, 0, "people", "kinds"),
        "in which state.people.models must be of features, or of kernels, that there",
    ),
    "an estimator that is a person": (
        "personal-estimator",
        put("PersonalRanker", "state", "people", "models", 0, "model"),
        r"in which state.people.models\[0\].model must be one of 'AggregatePRank'",
    ),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_files(what, path):
    name, change, pattern = HOSTILE[what]
    changed(name, path, change)
    start = "^load: path must be a sound model file; got .*, "
    with pytest.raises(ModelFileError, match=start + pattern):
        peckorder.load(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda header, array: array("shared", "kernel", "factors").fill(1e200),
        lambda header, array: array("shared", "kernel", "held").fill(-5.0),
    ],
    ids=["beyond all numbers", "not positive definite"],
)
def test_similarities_of_items_that_are_none(change, path):
    changed("personal", path, change)
    sentence = "PersonalRanker: the similarities of items must be finite, and positive definite"
    with pytest.raises(DataError, match=f"^{sentence}"), np.errstate(all="ignore"):
        peckorder.load(path).predict("u05")


def test_characters_beyond_unicode(path):
    model = PRank(classes=["a", "b", "c", "d"]).fit(X, np.array(list("abcd"))[Y - 1])
    model.save(path)
    header, parts = opened(path.read_bytes())
    number = header["state"]["classes"]["letters"]["array"]
    parts[number] = struct.pack("<4I", 97, 98, 99, 0x110000)
    path.write_bytes(closed(header, parts))
    assert_refused(path, "in which state.classes.letters must be characters of Unicode")


@pytest.mark.parametrize("text", [b'{"' + b'\\"' * 10**6, b'{"x":' + b"[" * 10**6])
def test_long_headers_are_looked_through_once(text, path):
    path.write_bytes(sealed(laid_out(text, [])))
    with pytest.raises(ModelFileError, match=r"whose header is (no JSON|nested more)"):
        peckorder.load(path)


@pytest.mark.parametrize(
    ("name", "change", "what"),
    [
        (
            "aggregate-averaged",
            lambda header, array: header["state"]["learner"].pop("lag"),
            r"in which state.learner.lag must be of shape \(5, 4\)",
        ),
        (
            "aggregate-bayes-point",
            put("averaged", "state", "begun_with", "member_rule"),
            r"in which state.learner.lag must be of shape \(5, 4\)",
        ),
        (
            "aggregate-averaged",
            put("last", "state", "begun_with", "member_rule"),
            "in which state.learner.lag must be null, since rules are not averaged",
        ),
        (
            "aggregate-averaged",
            put(0, "state", "learner", "clock"),
            "in which state.learner.clock must be of one round at least",
        ),
    ],
)
def test_averages_that_do_not_suit_the_rule(name, change, what, path):
    changed(name, path, change)
    with pytest.raises(ModelFileError, match=what):
        peckorder.load(path)
