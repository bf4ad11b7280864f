"""Clusters of real processes."""

import contextlib

import numpy as np
import pytest

pytest.importorskip("distributed")


@contextlib.contextmanager
def processes(n_workers):
    """Start workers, one thread each, and a client that is at hand."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


class SharedCluster:
    """Two worker processes for all tests: starting them is what takes the time."""

    def __init__(self):
        self._open = contextlib.ExitStack()
        self._client = self._open.enter_context(processes(2))

    def client(self):
        """Return a client of two workers, of a new cluster if a lost one does not come back."""
        try:
            self._client.wait_for_workers(2, timeout=20)
        except TimeoutError:
            self.close()
            self._client = self._open.enter_context(processes(2))
        return self._client

    def close(self):
        self._open.close()


@pytest.fixture(scope="session")
def cluster():
    shared = SharedCluster()
    yield shared
    shared.close()


@pytest.fixture
def client(cluster):
    """Both workers are there, also if one was killed before."""
    return cluster.client()


@pytest.fixture(scope="session")
def start_cluster():
    """Start a separate cluster, to be left without workers."""
    return processes


@pytest.fixture(scope="session")
def letor():
    """Rows in queries of 1 to 40 rows, with grades, real labels and weights."""
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 41, size=60)
    n = int(sizes.sum())
    X = rng.normal(size=(n, 7)) * [1, 2, 5, 0.1, 1, 1, 30] + [0, 1, 2, 3, 50, 5, 6]
    y = X @ rng.normal(size=7) / 20 + rng.normal(size=n)
    weight = rng.uniform(0.1, 3.0, size=n) * (rng.random(n) < 0.9)
    return {
        "X": X,
        "y": y,
        "grade": np.clip(np.round(y + 1.5), 0, 4).astype(int),
        "qid": np.repeat(rng.permutation(60), sizes),
        "weight": weight,
        "bounds": np.concatenate([[0], np.cumsum(sizes)]),
    }
