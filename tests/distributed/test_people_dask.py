"""Fleets on a Dask cluster of real processes."""

import os
import signal
import threading
from time import monotonic, sleep

import pytest

from peckorder import RankBoost
from peckorder.collaborative import PersonalRanker
from peckorder.datasets import make_ratings
from peckorder.distributed import fit_people
from peckorder.distributed.cluster import client as _cluster
from peckorder.distributed.people.workers import OnDask, Run, WorkerCrashes
from peckorder.exceptions import ClusterError
from support.helpers import exactly
from support.worker_tasks import Crashing, Unlucky, all_of

RATINGS = make_ratings(60, 30, random_state=1)
# Sockets and loops that Dask itself leaves to be collected.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


class KillOne:
    """Kills a worker once so many people are learnt."""

    def __init__(self, client, after):
        self.pids, self.after, self.killed = client.run(os.getpid), after, []

    def __call__(self, done, total):
        if done >= self.after and not self.killed:
            self.killed.append(next(iter(self.pids.values())))
            os.kill(self.killed[0], signal.SIGKILL)


@pytest.mark.parametrize("name", ["people", pytest.param("people.sqlite", marks=pytest.mark.slow)])
def test_a_killed_worker_changes_nothing(client, name, tmp_path):
    model, killer = RankBoost(n_rounds=20), KillOne(client, after=5)
    people = fit_people(RATINGS, None, model, client=client, store=tmp_path / name, progress=killer)
    assert len(killer.killed) == 1
    assert all_of(people) == all_of(fit_people(RATINGS, None, model, n_jobs=1))


def test_people_on_top_of_a_personal_ranker(client):
    train, test = RATINGS.split(0.3, random_state=0)
    ranker = PersonalRanker(n_factors=3, random_state=0)
    ours = fit_people(train, None, ranker, client=client, test=test)
    assert all_of(ours) == all_of(fit_people(train, None, ranker, n_jobs=1, test=test))


def test_ctrl_c_leaves_the_cluster_as_it_was(client, tmp_path):
    def stop(done, total):
        if done >= 10:
            raise KeyboardInterrupt

    path, model = tmp_path / "people.sqlite", RankBoost(n_rounds=20)
    with pytest.raises(KeyboardInterrupt):
        fit_people(RATINGS, None, model, client=client, store=path, progress=stop)
    begin = monotonic()
    while client.processing() and any(client.processing().values()):
        assert monotonic() - begin < 20
        sleep(0.1)
    people = fit_people(RATINGS, None, model, client=client, store=path)
    assert all_of(people) == all_of(fit_people(RATINGS, None, model, n_jobs=1))


def test_a_worker_that_dies_while_it_fetches_what_is_shared(client, tmp_path):
    found = []

    def learn():
        workers = OnDask(Unlucky({}, str(tmp_path)), client)
        Run(workers, range(12), found.extend).finish()
        workers.close()

    thread = threading.Thread(target=learn, daemon=True)
    thread.start()
    thread.join(20)
    assert (tmp_path / "received-1").exists()
    assert sorted(record.row for record in found) == list(range(12))


def test_a_worker_that_left_a_moment_ago(client, monkeypatch):
    scatter, failed = client.scatter, []

    def scatter_late(*arguments, **options):
        if not failed:
            failed.append(True)
            raise KeyError("tcp://127.0.0.1:1")  # what Dask says
        return scatter(*arguments, **options)

    monkeypatch.setattr(_cluster, "LOOK", 0.05)
    monkeypatch.setattr(client, "scatter", scatter_late)
    some, model = RATINGS.users[:2], RankBoost(n_rounds=2)
    people = fit_people(RATINGS, some, model, client=client)
    assert all_of(people) == all_of(fit_people(RATINGS, some, model, n_jobs=1))
    assert failed


@pytest.mark.slow
def test_what_is_shared_is_sent_again_if_its_only_worker_dies(start_cluster):
    with start_cluster(1) as client:
        model, killer = RankBoost(n_rounds=20), KillOne(client, after=5)
        people = fit_people(RATINGS, None, model, client=client, progress=killer)
        assert len(killer.killed) == 1
    assert all_of(people) == all_of(fit_people(RATINGS, None, model, n_jobs=1))


@pytest.mark.slow
def test_people_who_crash_workers_are_found(start_cluster, tmp_path):
    found = []
    with start_cluster(2) as client:
        workers = OnDask(Crashing({7: 99}, str(tmp_path)), client)
        workers.attempts = 1
        run = Run(workers, range(12), lambda lot: found.extend(r.row for r in lot))
        with pytest.raises(WorkerCrashes) as caught:
            run.finish()
        workers.close()
    assert (caught.value.rows, caught.value.is_complete) == ([7], True)
    assert sorted(found) == [row for row in range(12) if row != 7]


@pytest.mark.slow
def test_a_cluster_that_loses_all_workers(start_cluster, monkeypatch, tmp_path):
    monkeypatch.setattr(_cluster, "PATIENCE", 2.0)
    with start_cluster(1) as client:

        def retire(done, total):
            if done >= 5 and client.nthreads():
                client.cluster.scale(0)
                while client.nthreads():
                    sleep(0.1)

        sentence = "fit_people: the cluster must have "
        path = tmp_path / "people.sqlite"
        with pytest.raises(ClusterError, match=sentence):
            fit_people(RATINGS, None, RankBoost(), client=client, store=path, progress=retire)
    people = fit_people(RATINGS, None, RankBoost(), n_jobs=1, store=path)
    assert all_of(people) == all_of(fit_people(RATINGS, None, RankBoost(), n_jobs=1))


def test_what_is_no_client():
    sentence = "fit_people: client must be a dask.distributed.Client; got an object of type str."
    with pytest.raises(TypeError, match=exactly(sentence)):
        fit_people(RATINGS, None, RankBoost(), client="tcp://localhost:8786")
