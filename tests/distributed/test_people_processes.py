"""Fleets in processes: the same models, whoever dies meanwhile."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import psutil
import pytest

from peckorder import RankBoost
from peckorder.collaborative import PersonalRanker
from peckorder.datasets import make_ratings
from peckorder.distributed import fit_people, open_people
from peckorder.distributed.people import fit_people as _people
from peckorder.distributed.people.workers import Processes, Run, WorkerCrashes
from peckorder.exceptions import ClusterError
from support.helpers import exactly
from support.worker_tasks import Crashing, all_of

RATINGS = make_ratings(60, 30, random_state=1)
SOURCES, TESTS = Path(_people.__file__).parents[3], Path(__file__).parents[1]


def workers():
    """Return the processes that do work for this one, those of other tests too."""
    return {
        child
        for child in psutil.Process().children(recursive=True)
        if child.status() != psutil.STATUS_ZOMBIE and "LokyProcess" in " ".join(child.cmdline())
    }


class KillOne:
    """Kills one of the workers that were not there before, once so many people are learnt."""

    def __init__(self, after):
        self.after, self.killed, self.others = after, [], workers()

    def __call__(self, done, total):
        if done >= self.after and not self.killed:
            victim = (workers() - self.others).pop()
            victim.send_signal(signal.SIGKILL)
            self.killed.append(victim.pid)


# Starting processes is what takes the time: one at a time always, two on request.
RANKER = PersonalRanker(n_factors=3, random_state=0)


@pytest.mark.parametrize(
    ("name", "model", "n_jobs"),
    [
        ("people", RANKER, 1),
        pytest.param("people", RANKER, 2, marks=pytest.mark.slow),
        pytest.param("people.sqlite", RankBoost(n_rounds=20), 2, marks=pytest.mark.slow),
    ],
    ids=["one", "parquet", "sqlite"],
)
def test_a_killed_process_changes_nothing(name, model, n_jobs, tmp_path, monkeypatch):
    if n_jobs == 1:  # which would else be this process
        monkeypatch.setattr(_people, "workers_for", lambda task, *_: Processes(task, 1))
    killer, path = KillOne(after=5), tmp_path / name
    train, test = RATINGS.split(0.3, random_state=0)
    options = {"test": test, "metrics": ["disagreement", "ndcg@5"]}
    people = fit_people(train, None, model, n_jobs=2, store=path, progress=killer, **options)
    assert len(killer.killed) == 1
    monkeypatch.undo()
    assert all_of(people) == all_of(fit_people(train, None, model, n_jobs=1, **options))
    assert len(people) + len(people.reasons) == RATINGS.n_users
    assert workers() <= killer.others


def run_of(task, attempts=3):
    """Learn all rows in two processes; return the models, and who ended processes."""
    found, crashing, is_complete = {}, [], True

    def take(records):
        for record in records:
            assert record.row not in found
            found[record.row] = record.model

    workers = Processes(task, 2)
    workers.attempts = attempts
    try:
        Run(workers, range(12), take).finish()
    except WorkerCrashes as crashes:
        crashing, is_complete = crashes.rows, crashes.is_complete
    finally:
        workers.close()
    assert is_complete
    return found, crashing


@pytest.mark.slow
def test_people_who_crash_processes_are_found_and_all_others_learnt(tmp_path):
    found, crashing = run_of(Crashing({7: 99}, str(tmp_path)), attempts=1)
    assert crashing == [7]
    assert found == {row: str(row).encode() for row in range(12) if row != 7}


@pytest.mark.slow
def test_people_who_crash_a_process_once_are_learnt(tmp_path):
    found, crashing = run_of(Crashing({0: 1, 11: 1}, str(tmp_path)))
    assert crashing == []
    assert found == {row: str(row).encode() for row in range(12)}


@pytest.mark.slow
def test_questions_to_lost_workers_end(tmp_path):
    task = Crashing(dict.fromkeys(range(12), 99), str(tmp_path))
    workers = Processes(task, 1)
    workers.attempts = 1
    try:
        with pytest.raises(WorkerCrashes) as caught:
            Run(workers, range(12), lambda records: None).finish()
    finally:
        workers.close()
    assert not caught.value.is_complete
    # The first are to blame by then, and some were not begun.
    assert set(caught.value.rows) <= set(range(12))


def test_they_are_named(monkeypatch):
    class AlwaysCrashing:
        def __init__(self, workers, rows, take):
            self.rows = list(rows)

        def finish(self):
            raise WorkerCrashes(self.rows[:7], is_complete=True)

    monkeypatch.setattr(_people, "Run", AlwaysCrashing)
    sentence = (
        "fit_people: worker processes crashed repeatedly while training 0, 1, 2, 3, 4 "
        "and 2 more (out of memory?). All others are trained. What is trained is in "
        "the store, if there is one: the same call tries the rest again."
    )
    with pytest.raises(ClusterError, match=exactly(sentence)):
        fit_people(RATINGS, None, RankBoost(), n_jobs=1)


SCRIPT = """
import os, signal, sys
from peckorder import RankBoost
from peckorder.datasets import make_ratings
from peckorder.distributed import fit_people
from peckorder.distributed.people.store_parquet import ParquetStore
from peckorder.distributed.people.store_sqlite import SqliteStore

path, number, n_jobs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
ParquetStore.batch = SqliteStore.batch = 5

def stop(done, total):
    assert not {"dask", "distributed"} & set(sys.modules)  # not needed
    if done >= 23:
        os.kill(os.getpid(), number)

ratings = make_ratings(60, 30, random_state=1)
model = RankBoost(n_rounds=20)
fit_people(ratings, None, model, n_jobs=n_jobs, store=path, progress=stop)
"""


@pytest.mark.parametrize(
    ("name", "number", "n_jobs"),
    [
        ("people", signal.SIGKILL, 1),
        pytest.param("people", signal.SIGKILL, 2, marks=pytest.mark.slow),
        pytest.param("people.sqlite", signal.SIGINT, 2, marks=pytest.mark.slow),
        pytest.param("people", signal.SIGINT, 2, marks=pytest.mark.slow),
        pytest.param("people.sqlite", signal.SIGKILL, 2, marks=pytest.mark.slow),
    ],
)
def test_a_driver_that_is_stopped_goes_on_where_it_was(name, number, n_jobs, tmp_path):
    path, held = tmp_path / name, tmp_path / "held"
    held.mkdir()
    ended = driver(path, number, n_jobs, held)
    if number == signal.SIGKILL:
        assert ended.returncode == -signal.SIGKILL
    else:
        assert ended.stderr.strip().endswith("KeyboardInterrupt")
    # Batches of five, and after Ctrl-C all that came in.
    kept = len(all_of(open_people(path)))
    assert (20 if number == signal.SIGKILL else 23) <= kept < RATINGS.n_users
    check_all_is_taken_away(held)
    model, reported = RankBoost(n_rounds=20), []
    people = fit_people(
        RATINGS,
        None,
        model,
        n_jobs=1,
        store=path,
        progress=lambda *progress: reported.append(progress),
    )
    assert reported[0] == (kept, RATINGS.n_users)
    assert all_of(people) == all_of(fit_people(RATINGS, None, model, n_jobs=1))


def check_all_is_taken_away(folder):
    """Wait for what processes share, which they take away when their driver is gone."""
    begin = monotonic()
    while list(folder.glob("peckorder-*")):
        assert monotonic() - begin < 30
        sleep(0.1)


def driver(path, number, n_jobs, folder):
    """Run a program that sends itself a signal in the midst of its work."""
    return driver_of(SCRIPT, folder, str(path), str(int(number)), str(n_jobs))


def driver_of(script, folder, *arguments):
    # Files, not pipes, which the processes that outlive it would keep open.
    with (folder / "out").open("w+") as out, (folder / "err").open("w+") as err:
        ended = subprocess.run(
            [sys.executable, "-c", script, *arguments],
            env=os.environ | {"PYTHONPATH": f"{SOURCES}:{TESTS}", "TMPDIR": str(folder)},
            stdout=out,
            stderr=err,
            check=False,
        )
    ended.stdout, ended.stderr = (folder / "out").read_text(), (folder / "err").read_text()
    return ended


ONE_PROCESS = """
import os, signal, sys
import psutil
from peckorder.collaborative import PersonalRanker
from peckorder.datasets import make_ratings
from peckorder.distributed.people import fit_people as module
from peckorder.distributed.people.workers import Processes

module.workers_for = lambda task, client, n_jobs: Processes(task, n_jobs)

def stop(done, total):
    if done >= 5:
        print(*(child.pid for child in psutil.Process().children(recursive=True)), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

ratings = make_ratings(60, 30, random_state=1)
module.fit_people(ratings, None, PersonalRanker(n_factors=1), n_jobs=1, progress=stop)
"""


BUSY = """
import os, signal, sys
from pathlib import Path
from time import monotonic, sleep
import psutil
from peckorder.distributed.people.workers import Processes
from support.worker_tasks import Busy

folder = Path(sys.argv[1])
workers = Processes(Busy({}, str(folder)), 1)
workers.submit([0])
end = monotonic() + 60
while not (folder / "begun").exists():
    assert monotonic() < end
    sleep(0.01)
print(*(child.pid for child in psutil.Process().children(recursive=True)), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it ends when it is done")


@pytest.mark.parametrize("script", [ONE_PROCESS, pytest.param(BUSY, marks=linux)])
def test_processes_end_when_their_driver_is_killed(script, tmp_path):
    ended = driver_of(script, tmp_path, str(tmp_path))
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    pids = [int(pid) for pid in ended.stdout.split()]
    assert pids
    begin = monotonic()
    while any(map(is_alive, pids)):
        assert monotonic() - begin < 30
        sleep(0.1)
    check_all_is_taken_away(tmp_path)


def is_alive(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
