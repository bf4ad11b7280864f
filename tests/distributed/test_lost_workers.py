"""Workers that are lost: the same model, or an error."""

import os
import signal
import sys
import threading
import time

import cloudpickle
import dask
import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose

from peckorder import MPRank, SVRank
from peckorder.distributed import fit
from peckorder.distributed.cluster import client as _cluster
from peckorder.exceptions import ClusterError

N_PARTS, N_ROWS = 8, 60


def slow_rows(k, folder, seconds):
    """Make the rows of a partition, slowly; leave a note that it was begun."""
    import time
    from pathlib import Path
    from uuid import uuid4

    import numpy as np

    (Path(folder) / f"{k}-{uuid4().hex}").touch()
    time.sleep(seconds)
    return np.random.default_rng(k).normal(size=(60, 4))


def slow_data(folder, seconds):
    """Arrays whose partitions take time to make."""
    make = dask.delayed(lambda k: slow_rows(k, folder, seconds), pure=True)
    parts = [da.from_delayed(make(k), (N_ROWS, 4), np.float64) for k in range(N_PARTS)]
    X = da.concatenate(parts)
    qid = da.repeat(da.arange(N_PARTS * 6, chunks=6), 10)
    return X, X @ np.array([1.0, -2.0, 0.5, 3.0]) + da.sin(X[:, 0] * 9), qid


def in_thread(work):
    """Start work; return the thread and where its result or error will be."""
    outcome = {}

    def run():
        try:
            outcome["result"] = work()
        except Exception as error:
            outcome["error"] = error

    thread = threading.Thread(target=run)
    thread.start()
    return thread, outcome


def wait_until(is_so, seconds=60.0):
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture(scope="module", autouse=True)
def by_value():
    """Functions of this module travel as they are: workers cannot import it."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


@pytest.mark.parametrize("estimator", [MPRank(), pytest.param(SVRank(), marks=pytest.mark.slow)])
def test_a_worker_killed_in_the_middle(client, tmp_path, estimator):
    X, y, qid = slow_data(str(tmp_path), 0.1)
    pids = list(client.run(os.getpid).values())
    thread, outcome = in_thread(lambda: fit(estimator, X, y, qid=qid, client=client))
    wait_until(lambda: len(list(tmp_path.iterdir())) >= 5)
    os.kill(pids[0], signal.SIGKILL)
    assert thread.is_alive()
    thread.join(120)
    assert "error" not in outcome, outcome.get("error")
    begun = [path.name.split("-")[0] for path in tmp_path.iterdir()]
    assert len(begun) > len(set(begun)) == N_PARTS  # some had to be made again
    rows, labels, queries = dask.compute(X, y, qid, scheduler="synchronous")
    expected = type(estimator)().fit(rows, labels, qid=queries)
    assert_allclose(estimator.coef_, expected.coef_, rtol=1e-10)
    assert_allclose(estimator.intercept_, expected.intercept_, atol=1e-10)


def test_rows_that_were_only_in_memory(client):
    address, other = sorted(client.scheduler_info()["workers"])
    pid = client.run(os.getpid)[address]
    rows = [np.arange(20.0).reshape(10, 2) + k for k in range(2)]
    places = [
        client.scatter(part, workers=[where], direct=False)
        for part, where in zip(rows, (address, other), strict=True)
    ]
    X = da.concatenate([da.from_delayed(dask.delayed(part), (10, 2), float) for part in places])
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: address not in client.nthreads())
    model = MPRank()
    with pytest.raises(ClusterError, match="lost together with a worker"):
        fit(model, X, da.arange(20, chunks=10))
    assert not hasattr(model, "coef_")


@pytest.mark.slow
def test_a_partition_that_kills_its_worker(client):
    def allow(n, dask_scheduler=None):
        before = dask_scheduler.allowed_failures
        dask_scheduler.allowed_failures = n
        return before

    def fatal(x):
        import os

        if x.shape[0]:
            os._exit(1)
        return x

    before = client.run_on_scheduler(allow, 0)
    X = da.ones((2, 1), chunks=(2, 1)).map_blocks(fatal, meta=np.empty((0, 1)))
    with pytest.raises(ClusterError, match="crashed with the same one"):
        fit(MPRank(), X, da.arange(2, chunks=2))
    client.run_on_scheduler(allow, before)


@pytest.mark.slow
def test_no_worker_left(start_cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(_cluster, "PATIENCE", 0.5)
    X, y, _ = slow_data(str(tmp_path), 1.0)
    with start_cluster(1) as client:
        thread, outcome = in_thread(lambda: fit(MPRank(), X, y, client=client))
        wait_until(lambda: any(tmp_path.iterdir()))
        client.cluster.scale(0)
        thread.join(60)
        assert "after the last one was lost" in str(outcome["error"])
        with pytest.raises(ClusterError, match=r"got none within 0\.5 seconds"):
            fit(MPRank(), X, y, client=client)
