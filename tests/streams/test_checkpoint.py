"""Checkpoints: a process that is killed loses nothing that was written down."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn import config_context

import peckorder
from peckorder import MPRank, PRank
from peckorder.exceptions import ModelFileError
from peckorder.streams import fit, from_arrays, from_csv
from support import stream_child
from support.helpers import exactly, real_data, same, shown
from support.stream_files import written

TESTS = Path(__file__).parents[1]


# Models remember the names of columns, and are shown arrays.
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")


def check_same(model, other, X):
    assert same(shown(model, X), shown(other, X))


@pytest.fixture(scope="module")
def child():
    """Return a process that learns on demand."""
    paths = [str(Path(peckorder.__file__).parents[1]), str(TESTS)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, str(TESTS / "support" / "stream_child.py")]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
        bufsize=1,
    ) as process:
        assert process.stdout.readline() == "ready\n"
        yield process
        process.stdin.close()


def run(child, task, n_lines=None, delay=0.0):
    """Let the child learn; kill it after so many lines; return what it said."""
    child.stdin.write(json.dumps(task) + "\n")
    child.stdin.flush()
    rows, pid, ended = [], None, None
    while ended is None:
        if pid is not None and n_lines is not None and len(rows) >= n_lines:
            time.sleep(delay)
            os.kill(pid, signal.SIGKILL)
            n_lines = None
        word, number = child.stdout.readline().split()
        if word == "pid":
            pid = int(number)
        elif word == "rows":
            rows.append(int(number))
        else:
            ended = int(number)
    return rows, ended


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no kill -9 here")
@pytest.mark.parametrize(
    ("estimator", "kind", "n_passes"),
    [
        ("averaged", "csv", 1),
        ("averaged", "arrays", 2),
        ("members", "letor", 1),
        ("rbf", "arrays", 1),
        ("mprank", "parquet", 1),
    ],
)
def test_killed_again_and_again_it_ends_with_the_same_model(
    child, tmp_path, estimator, kind, n_passes
):
    X, y = real_data(0, n=600)
    qid = np.repeat(np.arange(40), 15)
    written(kind, tmp_path, X, y * 1.0, qid, group=90)
    task = {
        "estimator": estimator,
        "kind": kind,
        "path": str(tmp_path / kind),
        "n_passes": n_passes,
        "checkpoint": str(tmp_path / "killed.peckorder"),
        "every": 0,
        "pause": 0.002,
    }
    rng = random.Random(1)
    n_learnt, n_killed = 0, 0
    for n_lines in (0, 1, 2, 5, 3, 4):
        rows, ended = run(child, task, n_lines, rng.uniform(0, 0.006))
        # What was written down is not learnt again.
        assert all(number > n_learnt for number in rows)
        n_learnt = max([n_learnt, *rows])
        # On a machine that is busy it may be done before it is killed.
        n_killed += ended == -signal.SIGKILL
        assert ended in (0, -signal.SIGKILL)
    assert n_killed > 0
    rows, ended = run(child, task | {"pause": 0})
    assert ended == 0
    assert all(number > n_learnt for number in rows)
    whole = {"checkpoint": str(tmp_path / "whole.peckorder"), "pause": 0, "every": 99}
    assert run(child, task | whole)[1] == 0
    killed = (tmp_path / "killed.peckorder").read_bytes()
    assert killed == (tmp_path / "whole.peckorder").read_bytes()
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []
    model = stream_child.ESTIMATORS[estimator]()
    expected = fit(model, stream_child.STREAMS[kind](tmp_path / kind), n_passes=n_passes)
    check_same(peckorder.load(tmp_path / "killed.peckorder"), expected, X)


@pytest.fixture
def begun(tmp_path):
    """Return data, and the checkpoint of a fit that was interrupted after 20 rows."""
    X, y = real_data(4)
    file = tmp_path / "model.peckorder"

    def stop(done, _):
        if done == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(PRank(), from_arrays(X, y, rows=10), checkpoint=file, progress=stop)
    return X, y, file


def test_a_fit_goes_on_where_it_was(begun):
    X, y, file = begun
    reported = []
    stream = from_arrays(X, y, rows=10)
    model = fit(PRank(), stream, checkpoint=file, progress=lambda done, _: reported.append(done))
    assert reported == [30, 40, 50, 60]
    check_same(model, PRank().fit(X, y), X)


def test_progress_counts_earlier_passes_after_a_stop(tmp_path):
    X, y = real_data(4)
    # A CSV file does not say how many rows it has.
    stream = written("csv", tmp_path, X, y * 1.0, rows=25)
    assert stream.n_rows is None
    file = tmp_path / "model.peckorder"

    def stop(done, _):
        if done == 85:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(PRank(), stream, n_passes=2, checkpoint=file, progress=stop)
    reported = []
    fit(
        PRank(),
        stream,
        n_passes=2,
        checkpoint=file,
        progress=lambda *progress: reported.append(progress),
    )
    assert reported == [(110, 120), (120, 120)]


def test_two_fits_of_one_checkpoint_are_refused(begun):
    X, y, file = begun
    sentence = (
        f"fit: checkpoint must be of one fit at a time; got {str(file)!r}, which "
        "another fit writes to. Wait for it, or choose another."
    )
    refused = []

    def once_more(done, _):
        with pytest.raises(FileExistsError, match=exactly(sentence)):
            fit(PRank(), from_arrays(X, y, rows=10), checkpoint=file)
        refused.append(done)

    stream = from_arrays(X, y, rows=10)
    model = fit(PRank(), stream, checkpoint=file, every=0, progress=once_more)
    assert refused == [30, 40, 50, 60]
    check_same(model, PRank().fit(X, y), X)
    assert list(file.parent.iterdir()) == [file]


def test_a_link_is_the_file_it_points_to(begun, tmp_path):
    X, y, file = begun
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "latest"
    link.symlink_to(file)
    draft = file.with_name(f".{file.name}.0123abcd")
    draft.write_bytes(b"of a process that was killed")
    refused = []

    def once_more(done, _):
        with pytest.raises(FileExistsError, match="of one fit at a time"):
            fit(PRank(), from_arrays(X, y, rows=10), checkpoint=file)
        refused.append(done)

    stream = from_arrays(X, y, rows=10)
    model = fit(PRank(), stream, checkpoint=link, progress=once_more)
    assert refused == [30, 40, 50, 60]
    check_same(model, peckorder.load(file), X)
    assert link.is_symlink()
    assert not draft.exists()
    assert list(link.parent.iterdir()) == [link]


def test_a_fit_that_is_finished_gives_its_model_at_once(begun):
    X, y, file = begun
    stream = from_arrays(X, y, rows=10)
    fit(PRank(), stream, checkpoint=file)
    content = file.read_bytes()
    reported = []
    model = fit(PRank(), stream, checkpoint=file, progress=lambda *_: reported.append(1))
    assert reported == []
    assert file.read_bytes() == content
    check_same(model, PRank().fit(X, y), X)
    # And is a model like any other.
    check_same(peckorder.load(file), model, X)
    model.partial_fit(X, y)


def test_saving_a_model_of_a_checkpoint_forgets_the_stream(begun, tmp_path):
    X, y, file = begun
    peckorder.load(file).save(tmp_path / "plain.peckorder")
    sentence = (
        f"fit: checkpoint must be a sound one, or no file yet; got "
        f"{str(tmp_path / 'plain.peckorder')!r}, which holds a model, but no position "
        "in a stream."
    )
    with pytest.raises(ModelFileError, match=exactly(sentence)):
        fit(PRank(), from_arrays(X, y), checkpoint=tmp_path / "plain.peckorder")


@pytest.mark.parametrize(
    ("estimator", "change", "options", "what"),
    [
        (PRank(), {"rows": 11}, {}, "stream (rows)"),
        (PRank(), {"X": 1.0}, {}, "stream (X)"),
        (PRank(), {"y": 0}, {}, "stream (y)"),
        (PRank(rule="last"), {}, {}, "value of rule"),
        (MPRank(), {}, {}, "estimator"),
        (PRank(), {}, {"n_passes": 2}, "number of passes"),
        (PRank(), {}, {"classes": [1, 2, 3, 4]}, "list of classes"),
    ],
)
def test_other_terms_are_refused(begun, estimator, change, options, what):
    X, y, file = begun
    content = file.read_bytes()
    X, y = X + change.get("X", 0.0), y if "y" not in change else y[::-1].copy()
    sentence = (
        "fit: checkpoint must be of the same stream, estimator and options; got "
        f"{str(file)!r}, written with another {what}. Remove it to start anew."
    )
    stream = from_arrays(X, y, rows=change.get("rows", 10))
    with pytest.raises(ValueError, match=exactly(sentence)):
        fit(estimator, stream, checkpoint=file, **options)
    assert file.read_bytes() == content


def test_one_value_of_many_makes_another_stream(tmp_path):
    X, y = np.zeros((20_000, 20)), np.arange(20_000) % 3
    file = tmp_path / "model.peckorder"
    fit(PRank(), from_arrays(X, y), checkpoint=file)
    X[12_345, 6] = 1.0
    with pytest.raises(ValueError, match=r"written with another stream \(X\)"):
        fit(PRank(), from_arrays(X, y), checkpoint=file)


def test_a_map_that_was_written_since_is_another_stream(tmp_path):
    np.save(tmp_path / "X.npy", np.zeros((60, 2)))
    X, y = np.load(tmp_path / "X.npy", mmap_mode="r"), np.arange(60) % 3
    file = tmp_path / "model.peckorder"
    fit(PRank(), from_arrays(X, y), checkpoint=file)
    fit(PRank(), from_arrays(X, y), checkpoint=file)
    os.utime(tmp_path / "X.npy", (1, 1))
    with pytest.raises(ValueError, match=r"written with another stream \(X\)"):
        fit(PRank(), from_arrays(X, y), checkpoint=file)


@pytest.mark.parametrize("kind", ["parquet", "csv", "letor"])
def test_other_files_are_refused(tmp_path, kind):
    X, y = real_data(4)
    stream = written(kind, tmp_path, X, y * 1.0, rows=10)
    fit(PRank(), stream, checkpoint=tmp_path / "model.peckorder")
    (tmp_path / "later").mkdir()
    other = written(kind, tmp_path / "later", X, y * 1.0, rows=10)
    with pytest.raises(ValueError, match=r"written with another stream \(files\)"):
        fit(PRank(), other, checkpoint=tmp_path / "model.peckorder")


def test_a_small_csv_file_that_was_changed_is_read_again(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("a,y\n1,0\n2,1\n3,2\n")
    stream = from_csv(file, "y")
    with file.open("a") as end:
        end.write("4,-9\n")
    model = fit(MPRank(), stream, checkpoint=tmp_path / "model.peckorder")
    again = fit(MPRank(), from_csv(file, "y"), checkpoint=tmp_path / "model.peckorder")
    plain = MPRank().fit([[1.0], [2.0], [3.0], [4.0]], [0.0, 1.0, 2.0, -9.0])
    assert model.coef_ == pytest.approx(plain.coef_)
    assert again.coef_ == pytest.approx(plain.coef_)


def test_a_link_to_a_folder_that_does_not_exist_is_refused(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "none" / "model")
    stream = from_arrays(*real_data(2), rows=10)
    with pytest.raises(FileNotFoundError, match="checkpoint must be in a folder that exists"):
        fit(PRank(), stream, checkpoint=tmp_path / "link")


@pytest.mark.parametrize("damage", [lambda b: b[:-7], lambda b: b"", lambda b: b"text"])
def test_damaged_files_are_refused(begun, damage):
    X, y, file = begun
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(ModelFileError, match=r"^fit: checkpoint must be a sound one"):
        fit(PRank(), from_arrays(X, y, rows=10), checkpoint=file)


def test_the_estimator_keeps_its_parameters(begun):
    X, y, file = begun
    with config_context(enable_metadata_routing=True):
        model = PRank().set_score_request(sample_weight=True)
        fit(model, from_arrays(X, y, rows=10), checkpoint=file)
        requests = model.get_metadata_routing().score.requests
    assert requests == {"sample_weight": True}
