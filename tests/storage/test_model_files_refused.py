"""What cannot be saved or loaded is refused in a sentence, and nothing is half done."""

import json
import os
import struct
from datetime import datetime
from functools import partial
from pathlib import Path

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
from support.helpers import plus_one_squared, refuses
from support.stored_models import CASES, RATINGS, RELEVANCE, X, Y


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.peckorder"


def fitted(name="prank"):
    return CASES[name].fit()


# Files that are no model files

MAGIC = b"\x89pko\r\n\x1a\n"


def started(version, n_header, rest=b""):
    return MAGIC + struct.pack("<II", version, n_header) + rest


# What is in a file, and how it is described.
CONTENTS = [
    (b"", "which is empty"),
    (b"user,item,rating\n1,2,3\n", "which does not begin as one"),
    (b"\x89pk", "which is cut short"),
    (MAGIC + b"\1\0\0\0", "which is cut short"),
    (started(1, 40), "which is cut short"),
    (b"\x89pko\n\x1a\n" + bytes(64), "which does not begin as one"),
    (
        started(7, 40, bytes(99)),
        "which is of format version 7, beyond 1: a newer version of peckorder wrote it",
    ),
    (started(0, 40, bytes(99)), "which is of format version 0, of which there is none"),
    (started(1, 2**32 - 1, bytes(99)), "whose header is longer than 8,388,608 bytes"),
]
needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
# How something comes to be at the path, and how it is described.
NOT_LOADED = [
    *((partial(Path.write_bytes, data=content), what) for content, what in CONTENTS),
    (Path.mkdir, "which is a folder"),
    # Which is not waited for.
    pytest.param(getattr(os, "mkfifo", None), "which is no regular file", marks=needs_pipes),
    (
        lambda path: path.write_bytes(fitted().to_bytes() + b"\0"),
        "which is damaged: its checksum does not fit",
    ),
]


@pytest.mark.parametrize(("make", "what"), NOT_LOADED, ids=range(len(NOT_LOADED)))
def test_other_files_are_refused(make, what, path):
    make(path)
    sentence = f"load: path must be a sound model file; got {str(path)!r}, {what}."
    with refuses(sentence, ModelFileError):
        peckorder.load(path)


def test_a_missing_file_is_refused(path):
    sentence = f"load: path must be a model file; got {str(path)!r}, which does not exist."
    with refuses(sentence, FileNotFoundError):
        peckorder.load(path)


@pytest.mark.parametrize("given", [3, None, b"model"])
def test_other_values_than_paths_are_refused(given):
    with refuses(f"load: path must be a path; got {given!r}.", TypeError):
        peckorder.load(given)


def test_a_file_cut_anywhere_is_refused(path):
    fitted().save(path)
    content = path.read_bytes()
    for size in [*range(20), *range(20, len(content), 9), len(content) - 1]:
        path.write_bytes(content[:size])
        with pytest.raises(ModelFileError, match=r"which is (empty|cut short|damaged)"):
            peckorder.load(path)


def test_a_bit_changed_anywhere_is_noticed(path):
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


# Models that are not saved


def check_not_saved(model, path, error, sentence):
    before = set(path.parent.iterdir())
    with refuses(sentence, error):
        model.save(path)
    assert set(path.parent.iterdir()) == before


@pytest.mark.parametrize("model", [PRank(), MPRank(), RankBoost(), ItemMean()])
def test_a_model_that_is_not_fitted_is_not_saved(model, path):
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        model.save(path)
    assert not path.exists()


def mine():
    class Mine(PRank):
        pass

    return Mine().fit(X, Y)


def with_labels(classes):
    return PRank(classes=classes).fit(X, np.array(classes, dtype=object)[Y % 2])


def in_a_place(zone="UTC"):
    zone = pytest.importorskip("zoneinfo").ZoneInfo(zone)
    return with_labels([datetime(2020, 1, day, tzinfo=zone) for day in (1, 2)])


def with_function(kind, **later):
    y = RELEVANCE if kind in (MPRank, SVRank) else Y
    return kind(kernel=plus_one_squared).fit(X, y).set_params(**later)


def with_learner(**later):
    return RankBoost(n_rounds=2, weak=Ridge(), alpha="numeric").fit(X, Y).set_params(**later)


NO_CODE = "to be saved, as a file holds no code; got an object of type"
FUNCTION = f"kernel must be a name {NO_CODE} function."
WEAK = (
    "RankBoost: weak must be 'threshold', 'feature', 'tree' or one of peckorder's own estimators "
    f"{NO_CODE}"
)

# How a model is made, the error, and its sentence.
NOT_SAVED = [
    (lambda: with_function(PRank), TypeError, f"PRank: {FUNCTION}"),
    (lambda: with_function(AggregatePRank), TypeError, f"AggregatePRank: {FUNCTION}"),
    (lambda: with_function(MPRank), TypeError, f"MPRank: {FUNCTION}"),
    (lambda: with_function(SVRank), TypeError, f"SVRank: {FUNCTION}"),
    (lambda: with_function(PRank, kernel="rbf"), TypeError, f"PRank: {FUNCTION}"),
    (lambda: with_function(SVRank, kernel="rbf"), TypeError, f"SVRank: {FUNCTION}"),
    (with_learner, TypeError, f"{WEAK} Ridge."),
    (lambda: with_learner(weak="threshold"), TypeError, f"{WEAK} Ridge."),
    (
        lambda: PersonalRanker(Ridge(), n_factors=1, random_state=0).fit(RATINGS),
        TypeError,
        "PersonalRanker: estimator must be None or one of peckorder's own estimators "
        f"{NO_CODE} Ridge.",
    ),
    (
        lambda: PRank(shuffle=True, random_state=np.random.RandomState(0)).fit(X, Y),
        TypeError,
        f"PRank: random_state must be None or an integer {NO_CODE} RandomState.",
    ),
    (
        lambda: with_labels([1 + 2j, 2 + 2j]),
        TypeError,
        f"PRank: classes must be plain values {NO_CODE} complex.",
    ),
    (
        lambda: with_labels([1 + 2j, 2 + 2j]).set_params(classes=None),
        TypeError,
        "PRank: labels must be plain values to be saved; got labels of type complex128.",
    ),
    (
        in_a_place,
        TypeError,
        "PRank: classes must be plain values to be saved, as a file holds no code; got "
        "a datetime in a time zone of no fixed offset, or with a fold.",
    ),
    (
        mine,
        TypeError,
        "Mine: a model must be of one of peckorder's own classes to be saved; got one "
        "of a class derived from them.",
    ),
    (
        lambda: PRank().fit(X, Y).set_params(max_iter=0),
        ValueError,
        "PRank: a model must be sound to be saved; got one in which parameters break a "
        "rule: PRank: max_iter must be an integer >= 1; got 0.",
    ),
]


@pytest.mark.parametrize(("make", "error", "sentence"), NOT_SAVED, ids=range(len(NOT_SAVED)))
def test_models_that_are_not_plain_are_not_saved(make, error, sentence, path):
    check_not_saved(make(), path, error, sentence)


def test_a_random_state_can_be_set_to_something_plain_first(path):
    model = PRank(shuffle=True, random_state=np.random.RandomState(0)).fit(X, Y)
    model.set_params(random_state=None).save(path)
    assert peckorder.load(path).predict(X).tolist() == model.predict(X).tolist()


def test_paths_that_cannot_be_written_to_are_refused(tmp_path):
    model = PRank().fit(X, Y)
    check_not_saved(
        model,
        tmp_path,
        IsADirectoryError,
        f"PRank: path must be a file, not a folder; got {str(tmp_path)!r}.",
    )
    nowhere = tmp_path / "none" / "model"
    sentence = f"PRank: path must be in a folder that exists; got {str(nowhere)!r}."
    with refuses(sentence, FileNotFoundError):
        model.save(nowhere)
    with refuses("PRank: path must be a path; got 3.", TypeError):
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


# Calls that need rows which a file does not have


@pytest.mark.parametrize("kind", [MPRank, MPRankCV])
def test_pairs_cannot_be_left_out_of_a_linear_model_that_was_loaded(kind, path):
    kind().fit(X, RELEVANCE).save(path)
    sentence = (
        f"{kind.__name__}: leave_pair_out_error must be called on a model that still "
        "has the rows of its fit; got one learnt by partial_fit, copied or loaded."
    )
    with refuses(sentence, DataError):
        peckorder.load(path).leave_pair_out_error()


def test_a_fit_that_was_loaded_cannot_be_continued(path):
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
    kind, shape, order = header["arrays"][header["state"]["learner"]["weights"]["array"]]
    assert (kind, shape, order) == ("<f8", [4], "C")
    assert aligned(len(content) - 32) == len(content) - 32
    compact = json.dumps(header, separators=(",", ":"), sort_keys=True).encode()
    assert content == sealed(laid_out(compact, opened(content)[1]))
