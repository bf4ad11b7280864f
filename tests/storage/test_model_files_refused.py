"""What cannot be saved or loaded is refused in a sentence, and nothing is half done."""

import json
import os
import struct
from datetime import datetime

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

import peckorder
from peckorder import AggregatePRank, MPRank, MPRankCV, PRank, RankBoost, SVRank
from peckorder.collaborative import ItemMean, PersonalRanker
from peckorder.exceptions import DataError, ModelFileError
from support.damaged_files import aligned, laid_out, opened, sealed
from support.helpers import exactly, plus_one_squared
from support.stored_models import CASES, RATINGS, RELEVANCE, X, Y


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.peckorder"


def assert_refused(path, what):
    sentence = f"load: path must be a sound model file; got {str(path)!r}, {what}."
    with pytest.raises(ModelFileError, match=exactly(sentence)):
        peckorder.load(path)


def fitted(name="prank"):
    return CASES[name].fit()


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
    for size in [*range(20), *range(20, len(content), 9), len(content) - 1]:
        path.write_bytes(content[:size])
        with pytest.raises(ModelFileError, match=r"which is (empty|cut short|damaged)"):
            peckorder.load(path)


def test_a_bit_changed_anywhere(path):
    fitted().save(path)
    content = bytearray(path.read_bytes())
    for place in [*range(20), *range(20, len(content), 9), len(content) - 1]:
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
        f"PRank: path must be a file, not a folder; got {str(tmp_path)!r}.",
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
        f"{kind.__name__}: leave_pair_out_error must be called on a model that still "
        "has the rows of its fit; got one learnt by partial_fit, copied or loaded."
    )
    with pytest.raises(DataError, match=exactly(sentence)):
        peckorder.load(path).leave_pair_out_error()


def test_going_on_from_a_fit_that_was_loaded(path):
    MPRank().fit(X, RELEVANCE).save(path)
    with pytest.raises(DataError, match=r"^MPRank: partial_fit must be called on"):
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


def test_a_time_zone_that_is_a_place(path):
    zone = pytest.importorskip("zoneinfo").ZoneInfo("UTC")
    classes = [datetime(2020, 1, day, tzinfo=zone) for day in (1, 2, 3, 4)]
    check_not_saved(
        PRank(classes=classes).fit(X, np.array(classes, dtype=object)[Y - 1]),
        path,
        TypeError,
        "PRank: classes must be plain values to be saved, as a file holds no code; got "
        "a datetime in a time zone of no fixed offset, or with a fold.",
    )
