"""What cannot be saved or loaded is refused in a sentence, and nothing is half done."""

import json
import os
import struct

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

import peckorder
from fuzzing import aligned, closed, laid_out, opened, sealed
from helpers import exactly, plus_one_squared
from peckorder import AggregatePRank, MPRank, MPRankCV, PRank, RankBoost, SVRank
from peckorder.collaborative import ItemMean, PersonalRanker
from peckorder.exceptions import DataError, ModelFileError
from stored_models import CASES, RATINGS, RELEVANCE, X, Y


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.peckorder"


def assert_refused(path, what):
    sentence = f"load: path must be a sound model file; got {str(path)!r}, {what}."
    with pytest.raises(ModelFileError, match=exactly(sentence)):
        peckorder.load(path)


def fitted(name="prank"):
    return CASES[name].fit()


def parts_of(name, path):
    """Return the header and the arrays of a model's file."""
    fitted(name).save(path)
    return opened(path.read_bytes())


# What is no model file


def test_a_missing_file(path):
    sentence = (
        f"load: path must be a model file; got {str(path)!r}, which does not exist."
    )
    with pytest.raises(FileNotFoundError, match=exactly(sentence)):
        peckorder.load(path)


def test_a_folder(tmp_path):
    assert_refused(tmp_path, "which is a folder")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_not_waited_for(path):
    os.mkfifo(path)
    assert_refused(path, "which is no regular file")


@pytest.mark.parametrize("given", [3, None, b"model"])
def test_what_is_no_path(given):
    sentence = f"load: path must be a path; got {given!r}."
    with pytest.raises(TypeError, match=exactly(sentence)):
        peckorder.load(given)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "which is empty"),
        (b"user,item,rating\n1,2,3\n", "which does not begin as one"),
        (b"\x89pk", "which is cut short"),
        (b"\x89pko\r\n\x1a\n\1\0\0\0", "which is cut short"),
        (b"\x89pko\r\n\x1a\n" + struct.pack("<II", 1, 40), "which is cut short"),
        (b"\x89pko\n\x1a\n" + bytes(64), "which does not begin as one"),
        (
            b"\x89pko\r\n\x1a\n" + struct.pack("<II", 7, 40) + bytes(99),
            "which is of format version 7, beyond 1: a newer version of peckorder "
            "wrote it",
        ),
        (
            b"\x89pko\r\n\x1a\n" + struct.pack("<II", 0, 40) + bytes(99),
            "which is of format version 0, of which there is none",
        ),
        (
            b"\x89pko\r\n\x1a\n" + struct.pack("<II", 1, 2**32 - 1) + bytes(99),
            "whose header is longer than 8,388,608 bytes",
        ),
    ],
)
def test_other_files(content, what, path):
    path.write_bytes(content)
    assert_refused(path, what)


def test_a_file_cut_anywhere(path):
    fitted().save(path)
    content = path.read_bytes()
    for size in range(len(content)):
        path.write_bytes(content[:size])
        with pytest.raises(ModelFileError, match="which is (empty|cut short|damaged)"):
            peckorder.load(path)


def test_a_bit_changed_anywhere(path):
    fitted().save(path)
    content = bytearray(path.read_bytes())
    for place in range(len(content)):
        content[place] ^= 4
        path.write_bytes(content)
        with pytest.raises(ModelFileError):
            peckorder.load(path)
        content[place] ^= 4
    path.write_bytes(content)
    peckorder.load(path)


def test_a_file_with_something_behind(path):
    fitted().save(path)
    path.write_bytes(path.read_bytes() + b"\0")
    assert_refused(path, "which is damaged: its checksum does not fit")


# Headers that fit their checksum


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
def test_headers_that_are_none(text, what, path):
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
        "in which parameters break a rule: PRank.__init__\\(\\) got an unexpected",
    ),
    "a parameter against its rule": (
        "prank",
        put(-1, "parameters", "max_iter"),
        "in which parameters break a rule: PRank: max_iter must be an integer >= 1; "
        "got -1",
    ),
    "a degree without end": (
        "prank-poly",
        put(10**15, "state", "begun_with", "degree"),
        "in which degree must be at most 4096",
    ),
    "a seed that is none": (
        "prank",
        put("x", "parameters", "random_state"),
        "in which ",
    ),
    "features beyond the weights": (
        "prank",
        put(2**40, "n_features"),
        r"in which state.learner.weights must be of shape \(1099511627777,\)",
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
        "in which state.classes must be two distinct labels at least",
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
        fill(2**62, 0, "learner", "right"),
        "in which state.learner.right must be from 0 to below 31",
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


def test_characters_beyond_unicode(path):
    model = PRank(classes=["a", "b", "c", "d"]).fit(X, np.array(list("abcd"))[Y - 1])
    model.save(path)
    header, parts = opened(path.read_bytes())
    number = header["state"]["classes"]["letters"]["array"]
    parts[number] = struct.pack("<4I", 97, 98, 99, 0x110000)
    path.write_bytes(closed(header, parts))
    assert_refused(path, "in which state.classes.letters must be characters of Unicode")


# What cannot be saved


def check_not_saved(model, path, error, sentence):
    before = set(path.parent.iterdir())
    with pytest.raises(error, match=exactly(sentence)):
        model.save(path)
    assert set(path.parent.iterdir()) == before


@pytest.mark.parametrize("model", [PRank(), MPRank(), RankBoost(), ItemMean()])
def test_a_model_that_is_not_fitted(model, path):
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        model.save(path)
    assert not path.exists()


@pytest.mark.parametrize("kind", [PRank, AggregatePRank, MPRank, SVRank])
def test_a_function_as_kernel(kind, path):
    y = RELEVANCE if kind in (MPRank, SVRank) else Y
    check_not_saved(
        kind(kernel=plus_one_squared).fit(X, y),
        path,
        TypeError,
        f"{kind.__name__}: kernel must be a name to be saved, as a file holds no code; "
        "got an object of type function.",
    )


def test_a_function_as_kernel_behind_a_name_set_since(path):
    model = PRank(kernel=plus_one_squared).fit(X, Y).set_params(kernel="rbf")
    check_not_saved(
        model,
        path,
        TypeError,
        "PRank: kernel must be a name to be saved, as a file holds no code; got an "
        "object of type function.",
    )
    model = SVRank(kernel=plus_one_squared).fit(X, RELEVANCE).set_params(kernel="rbf")
    check_not_saved(
        model,
        path,
        TypeError,
        "SVRank: kernel must be a name to be saved, as a file holds no code; got an "
        "object of type function.",
    )


def test_a_weak_learner_of_ones_own(path):
    model = RankBoost(n_rounds=2, weak=Ridge(), alpha="numeric").fit(X, Y)
    check_not_saved(
        model,
        path,
        TypeError,
        "RankBoost: weak must be 'threshold' or 'feature' to be saved, as a file holds "
        "no code; got an object of type Ridge.",
    )
    check_not_saved(
        model.set_params(weak="threshold"),
        path,
        TypeError,
        "RankBoost: weak must be 'threshold' or 'feature' to be saved, as a file holds "
        "no code; got an object of type Scaled.",
    )


def test_an_estimator_of_others_in_a_personal_ranker(path):
    check_not_saved(
        PersonalRanker(Ridge(), n_factors=1, random_state=0).fit(RATINGS),
        path,
        TypeError,
        "PersonalRanker: estimator must be None or one of peckorder's own estimators "
        "to be saved, as a file holds no code; got an object of type Ridge.",
    )


def test_a_random_state_is_set_to_something_plain_first(path):
    model = PRank(shuffle=True, random_state=np.random.RandomState(0)).fit(X, Y)
    check_not_saved(
        model,
        path,
        TypeError,
        "PRank: random_state must be None or an integer to be saved, as a file holds "
        "no code; got an object of type RandomState.",
    )
    model.set_params(random_state=None).save(path)
    assert peckorder.load(path).predict(X).tolist() == model.predict(X).tolist()


def test_labels_that_are_objects(path):
    classes = [1 + 2j, 2 + 2j]
    model = PRank(classes=classes).fit(X, np.array(classes, object)[Y % 2])
    check_not_saved(
        model,
        path,
        TypeError,
        "PRank: classes must be plain values to be saved, as a file holds no code; got "
        "an object of type complex.",
    )
    check_not_saved(
        model.set_params(classes=None),
        path,
        TypeError,
        "PRank: labels must be plain values to be saved; got labels of type "
        "complex128.",
    )


def test_a_class_derived_from_ours(path):
    class Mine(PRank):
        pass

    check_not_saved(
        Mine().fit(X, Y),
        path,
        TypeError,
        "Mine: a model must be of one of peckorder's own classes to be saved; got one "
        "of a class derived from them.",
    )


def test_parameters_that_break_a_rule(path):
    check_not_saved(
        PRank().fit(X, Y).set_params(max_iter=0),
        path,
        ValueError,
        "PRank: a model must be sound to be saved; got one in which parameters break a "
        "rule: PRank: max_iter must be an integer >= 1; got 0.",
    )


def test_places_where_nothing_can_be_written(tmp_path):
    model = PRank().fit(X, Y)
    check_not_saved(
        model,
        tmp_path,
        IsADirectoryError,
        f"PRank: path must be a file; got {str(tmp_path)!r}, a folder.",
    )
    nowhere = tmp_path / "none" / "model"
    sentence = f"PRank: path must be in a folder that exists; got {str(nowhere)!r}."
    with pytest.raises(FileNotFoundError, match=exactly(sentence)):
        model.save(nowhere)
    with pytest.raises(TypeError, match=exactly("PRank: path must be a path; got 3.")):
        model.save(3)


def test_an_error_while_writing_leaves_the_old_file(path, monkeypatch):
    model = PRank().fit(X, Y)
    model.save(path)
    before = path.read_bytes()

    def fail(handle):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        model.partial_fit(X, Y).save(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


# What needs rows that a file does not have


@pytest.mark.parametrize("kind", [MPRank, MPRankCV])
def test_pairs_of_a_linear_model_that_was_loaded(kind, path):
    kind().fit(X, RELEVANCE).save(path)
    sentence = (
        f"{kind.__name__}: leave_pair_out_error must be asked of a model that still "
        "has the rows of its fit; got one learnt by partial_fit, copied or loaded."
    )
    with pytest.raises(DataError, match=exactly(sentence)):
        peckorder.load(path).leave_pair_out_error()


def test_going_on_from_a_fit_that_was_loaded(path):
    MPRank().fit(X, RELEVANCE).save(path)
    with pytest.raises(DataError, match="^MPRank: partial_fit must be called on a new"):
        peckorder.load(path).partial_fit(X, RELEVANCE)


def test_the_layout_is_as_documented(path):
    PRank().fit(sparse.csr_array(X), Y).save(path)
    content = path.read_bytes()
    assert content[:8] == b"\x89pko\r\n\x1a\n"
    version, n_header = struct.unpack_from("<II", content, 8)
    assert version == 1
    header = json.loads(content[16 : 16 + n_header])
    assert header["model"] == "PRank"
    assert header["peckorder"] == peckorder.__version__
    kind, shape, order = header["arrays"][
        header["state"]["learner"]["weights"]["array"]
    ]
    assert (kind, shape, order) == ("<f8", [4], "C")
    assert aligned(len(content) - 32) == len(content) - 32
    compact = json.dumps(header, separators=(",", ":"), sort_keys=True).encode()
    assert content == sealed(laid_out(compact, opened(content)[1]))
