"""RankBoost on a stream that was interrupted ends with the identical model."""

import json
import os
import signal
import subprocess
import sys
import time
from mmap import mmap
from types import SimpleNamespace

import numpy as np
import pytest

from peckorder import RankBoost, load
from peckorder.boosting import blocks
from peckorder.boosting.compiled import rounds
from peckorder.exceptions import DataError
from peckorder.streams import Stream, from_arrays
from peckorder.streams.fitting import rankboost
from peckorder.streams.fitting.rankboost import KeptRows, fit_boosted
from support.rankboost_settings import assert_same_model

N_ROUNDS = 400


def problem():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 4))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=3000) > 0.5).astype(int)
    return X, y, np.repeat(np.arange(100), 30)


def boosted(path, **options):
    model = RankBoost(n_rounds=N_ROUNDS, max_bins=32)
    stream = from_arrays(*problem(), rows=500)
    return fit_boosted(model, stream, checkpoint=path, **options)


def expected():
    X, y, qid = problem()
    return RankBoost(n_rounds=N_ROUNDS, max_bins=32).fit(X, y, qid=qid)


def test_after_kill_9_the_same_call_goes_on(tmp_path):
    path = tmp_path / "model"
    here = os.path.dirname(__file__)
    folders = os.pathsep.join([here, os.path.dirname(here)])
    slowly = (
        "import os, sys, time; sys.path[:0] = sys.argv[2].split(os.pathsep);"
        "import test_rankboost_checkpoint as the;"
        "from peckorder.streams.fitting.checkpoint import Checkpoint;"
        "write = Checkpoint.write;"
        "Checkpoint.write = lambda *a: (write(*a), time.sleep(0.05));"
        "the.boosted(sys.argv[1], every=0)"
    )
    process = subprocess.Popen([sys.executable, "-c", slowly, str(path), folders])
    try:
        while process.poll() is None and not (path.exists() and n_rounds(path) > 3):
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
    finally:
        process.kill()
    assert process.wait() == -signal.SIGKILL
    assert 3 < n_rounds(path) < N_ROUNDS
    read = []
    model = boosted(path, progress=lambda *progress: read.append(progress))
    assert_same_model(model, expected())
    assert read == []  # nor was the stream read again
    assert list(tmp_path.iterdir()) == [path]
    assert_same_model(load(path), expected())
    assert_same_model(boosted(path), expected())


def n_rounds(path):
    return load(path).n_rounds_


class Stop(Exception):
    pass


@pytest.fixture
def interrupted(tmp_path, monkeypatch):
    """Return a checkpoint of a fit that failed in the middle of its rounds."""
    path = tmp_path / "model"
    boost = rounds.boost
    calls = []

    def fail_later(thread, n_rounds, *arguments):
        calls.append(n_rounds)
        if sum(calls) == 8:
            raise Stop
        return boost(thread, n_rounds, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(rounds, "boost", fail_later)
        with pytest.raises(Stop):
            boosted(path, every=0)
    return path


def test_an_error_leaves_the_rounds_before_it(interrupted):
    kept = load(interrupted)
    assert kept.n_rounds_ == 7
    whole = expected()
    assert kept.weak_rankers_.tolist() == whole.weak_rankers_[:7].tolist()
    assert_same_model(boosted(interrupted), whole)


@pytest.mark.parametrize("name", ["bins", "rest.npz", "terms"])
def test_incomplete_rows_are_read_again(interrupted, name):
    folder = interrupted.with_name("model.rows")
    (folder / name).write_bytes(b"cut")
    read = []
    model = boosted(interrupted, progress=lambda *progress: read.append(progress))
    assert_same_model(model, expected())
    assert len(read) == 7
    assert not folder.exists()


def changed(name, change):
    """Return what changes an array of the kept rows."""

    def damage(folder):
        with np.load(folder / "rest.npz") as rest:
            arrays = dict(rest)
        arrays[name] = change(arrays[name].copy())
        np.savez(folder / "rest.npz", **arrays)

    return damage


def with_first(value):
    def change(array):
        array.flat[0] = value
        return array

    return change


def in_bins(folder):
    bins = bytearray((folder / "bins").read_bytes())
    bins[0] = 254
    (folder / "bins").write_bytes(bins)


DAMAGE = {
    "a bin beyond all": in_bins,
    "starts far away": changed("starts", lambda a: np.append(a[:-1], a[-1]) + 10**9),
    "negative starts": changed("starts", with_first(-5)),
    "starts that fall": changed("starts", lambda a: np.concatenate([a[:1], a[-2:0:-1], a[-1:]])),
    "levels far away": changed("levels", with_first(10**12)),
    "too few levels": changed("levels", lambda a: a[:-1]),
    "too many bins": changed("n_bins", with_first(10**6)),
    "negative bins": changed("n_bins", with_first(-1)),
    "fewer columns": changed("n_bins", lambda a: a[:-1]),
    "other tops": changed("tops", lambda a: a[:, :3]),
    "another type": changed("starts", lambda a: a.astype(np.float32)),
    "fewer queries": changed("log_query", lambda a: a[:-1]),
}


@pytest.mark.parametrize("is_signed", [False, True])
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_changed_rows_are_read_again(interrupted, damage, is_signed):
    folder = interrupted.with_name("model.rows")
    damage(folder)
    if is_signed:
        # By somebody who knows how the digest is made.
        kept = KeptRows(interrupted, json.loads((folder / "terms").read_text()))
        (folder / "terms").write_text(json.dumps(kept._complete_terms()))
    read = []
    model = boosted(interrupted, progress=lambda *progress: read.append(progress))
    assert_same_model(model, expected())
    assert len(read) == 7


@pytest.fixture
def elsewhere(tmp_path):
    """Return where rows would be kept, with a file of somebody else."""
    folder = tmp_path / "model.rows"
    folder.mkdir()
    (folder / "bins").write_text("mine")
    (folder / "precious.txt").write_text("years of work")
    return folder


def test_a_folder_of_somebody_else_is_refused_before_a_row_is_read(elsewhere):
    read = []
    with pytest.raises(FileExistsError) as caught:
        boosted(elsewhere.with_name("model"), progress=lambda *progress: read.append(progress))
    assert str(caught.value) == (
        "fit: checkpoint must be one beside which rows can be kept, in "
        f"{str(elsewhere)!r}; got 'precious.txt' there. Choose another."
    )
    assert read == []
    assert (elsewhere / "precious.txt").read_text() == "years of work"


@pytest.mark.parametrize("is_link", [False, True])
def test_what_is_no_folder_of_rows_is_refused(tmp_path, is_link):
    place = tmp_path / "model.rows"
    if is_link:
        (tmp_path / "other").mkdir()
        place.symlink_to(tmp_path / "other")
    else:
        place.write_text("mine")
    with pytest.raises(FileExistsError, match=r"got what is no folder there\."):
        boosted(tmp_path / "model")
    assert place.is_symlink() == is_link
    assert is_link or place.read_text() == "mine"


def test_what_others_bring_to_the_folder_stays(tmp_path, interrupted):
    folder, note = tmp_path / "model.rows", tmp_path / "model.rows" / "note"

    def leave_a_note(*progress):
        note.write_text("mine")

    (folder / "terms").unlink()
    assert_same_model(boosted(interrupted, progress=leave_a_note), expected())
    assert list(folder.iterdir()) == [note]
    # The model is there, and asks for no room beside it.
    (folder / "bins").write_text("mine")
    assert_same_model(boosted(interrupted), expected())
    assert sorted(folder.iterdir()) == [folder / "bins", note]


class Disks:
    """Two disks, of which a folder of some name is the smaller one."""

    def __init__(self, monkeypatch, small, n_free):
        self.small, self.n_free = small, n_free
        monkeypatch.setattr(blocks, "disk_usage", self.usage)
        monkeypatch.setattr(rankboost.KeptRows, "shares_disk", lambda *folders: False)

    def usage(self, folder):
        return SimpleNamespace(free=self.n_free if folder.name == self.small else 2**40)


def test_bins_take_room_where_the_checkpoint_is(tmp_path, monkeypatch):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    # There is room for 12,000 entries as they are, and none for their bins.
    disks = Disks(monkeypatch, "there", 12_000 * 8)
    assert_same_model(boosted(here / "model", folder=there), expected())
    disks.small, disks.n_free = "here", 11_999
    read = []
    with pytest.raises(DataError) as caught:
        boosted(here / "other", folder=there, progress=lambda *_: read.append(1))
    assert str(caught.value) == (
        "fit: checkpoint must be on a disk with 12,000 bytes free for one byte per "
        f"entry; got {str(here)!r}, with 11,999 bytes."
    )
    assert read == []


def test_disk_space_for_bins_is_checked_when_all_rows_are_read(tmp_path, monkeypatch):
    class Unknown(Stream):
        source_name, rows, n_features, has_queries = "Unknown", 500, 4, True

        def pieces(self, start, skipped):
            yield from from_arrays(*problem(), rows=500)

        def identity(self):
            return {}

    (tmp_path / "there").mkdir()
    Disks(monkeypatch, tmp_path.name, 11_999)
    with pytest.raises(DataError, match=r"^fit: checkpoint must be on a disk with 12,"):
        fit_boosted(
            RankBoost(max_bins=9),
            Unknown(),
            checkpoint=tmp_path / "model",
            folder=tmp_path / "there",
        )
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_bins_are_on_disk_before_they_count_as_complete(tmp_path, monkeypatch):
    flushed = []

    class Noted(mmap):
        def flush(self, *arguments):
            flushed.append((tmp_path / "model.rows" / "terms").exists())
            return super().flush(*arguments)

    monkeypatch.setattr(rankboost, "mmap", Noted)
    boosted(tmp_path / "model")
    assert flushed == [False]


def test_two_fits_of_one_checkpoint_are_refused(tmp_path):
    path, refused = tmp_path / "model", []

    def once_more(*progress):
        with pytest.raises(FileExistsError, match="of one fit at a time"):
            boosted(path)
        refused.append(progress)

    assert_same_model(boosted(path, progress=once_more), expected())
    assert len(refused) == 7
    assert list(tmp_path.iterdir()) == [path]


def test_another_estimator_is_refused(interrupted):
    stream = from_arrays(*problem(), rows=500)
    with pytest.raises(ValueError, match="with another value of max_bins"):
        fit_boosted(RankBoost(max_bins=31), stream, checkpoint=interrupted)
