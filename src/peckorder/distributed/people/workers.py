"""Who learns: this process, processes of this machine, or a Dask cluster."""

import os
import shutil
import signal
import warnings
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from time import monotonic, sleep
from typing import Any, Final, NamedTuple, Protocol

from peckorder.distributed.cluster.client import PATIENCE, Borrowed, check_version
from peckorder.distributed.people.tasks import (
    WHO,
    Record,
    Task,
    learn_from_file,
    learn_people,
)
from peckorder.exceptions import ClusterError

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# Seconds between two looks at whether a cluster has workers, a process its driver.
_LOOK: Final = 1.0
_DONE = ("finished", "error", "cancelled")


class News(NamedTuple):
    """What came in: lots that are learnt, and lots whose process died with them."""

    learnt: list[list[Record]]
    lost: list[list[int]]


class Workers(Protocol):
    """Whoever takes rows in, and gives records out in any order.

    `room` is how many lots of rows may be with them at a time; after `attempts` deaths
    of a process that had one person alone, that person is to blame.
    """

    room: int
    attempts: int

    def submit(self, rows: list[int]) -> None:
        """Take some rows in."""

    def news(self) -> News:
        """Wait for something to happen."""

    def close(self) -> None:
        """Stop whatever runs, and leave nothing behind."""


class ThisProcess:
    """Learns one lot after the other when asked for news."""

    room, attempts = 1, 1

    def __init__(self, task: Task) -> None:
        self._task = task
        self._rows: list[int] = []

    def submit(self, rows: list[int]) -> None:
        """Take some rows in."""
        self._rows = rows

    def news(self) -> News:
        """Learn them."""
        return News([learn_people(self._task, self._rows)], [])

    def close(self) -> None:
        """Do nothing: there is nothing to be stopped."""


class Processes:
    """Processes of this machine, started anew when one of them dies.

    What they share lies in a file that each maps into its memory once.
    """

    attempts = 3

    def __init__(self, task: Task, n_jobs: int) -> None:
        import joblib

        self._n_jobs = n_jobs
        self.room = 2 * n_jobs
        self._pool: Any = None
        self._running: dict[Any, list[int]] = {}
        self._folder = TemporaryDirectory(prefix="peckorder-")
        try:
            self._path = str(Path(self._folder.name) / "task")
            joblib.dump(task, self._path)
        except BaseException:
            self._folder.cleanup()
            raise

    def submit(self, rows: list[int]) -> None:
        """Hand rows to the processes, which are started if there are none."""
        from joblib.externals.loky import ProcessPoolExecutor

        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self._n_jobs,
                initializer=_begin,
                initargs=(os.getpid(), self._folder.name),
                env=dict.fromkeys(_THREADS, "1"),
            )
        with warnings.catch_warnings():
            # One that has become too large has left, and is started again.
            warnings.filterwarnings("ignore", message="A worker stopped")
            try:
                future = self._pool.submit(learn_from_file, self._path, rows)
            except BrokenProcessPool as error:
                # As if it had died a moment later.
                future = _failed(error)
        self._running[future] = rows

    def news(self) -> News:
        """Wait for rows that are learnt; if a process has died, all are lost."""
        done, _ = wait(self._running, return_when=FIRST_COMPLETED)
        learnt, lost = [], []
        for future in done:
            rows = self._running.pop(future)
            try:
                learnt.append(future.result())
            except BrokenProcessPool:
                lost.append(rows)
        if lost:
            # None of the others will be heard of any more.
            lost += self._running.values()
            self._running = {}
            self._stop()
        return News(learnt, lost)

    def close(self) -> None:
        """End the processes, whatever they do."""
        try:
            self._stop()
        finally:
            self._folder.cleanup()

    def _stop(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True, kill_workers=True)


class OnDask:
    """A Dask cluster. What is shared goes to every worker once."""

    # Dask itself tries several workers before it gives up.
    attempts = 2

    def __init__(self, task: Task, client: Any) -> None:
        self._task, self._client = task, Borrowed(client)
        self.room = 2 * max(1, sum(client.nthreads().values()))
        self._shared: Any = None
        self._running: dict[Any, list[int]] = {}

    def submit(self, rows: list[int]) -> None:
        """Hand rows to the cluster."""
        from peckorder._version import __version__

        if self._shared is None:
            self._shared = self._scattered()
        future = self._client.submit(
            _learn_on_worker, self._shared, __version__, rows, pure=False
        )
        self._running[future] = rows

    def news(self) -> News:
        """Wait for rows that are learnt; what is shared may be lost with a worker."""
        from distributed import KilledWorker

        learnt, lost = [], []
        for future in self._done():
            rows = self._running.pop(future)
            try:
                learnt.append(future.result())
            except KilledWorker:
                lost.append(rows)
            except CancelledError:
                # The only worker that had what is shared is gone: it is sent again.
                self._shared = None
                lost.append(rows)
        return News(learnt, lost)

    def _done(self) -> list[Any]:
        """Wait for futures that are done; give up when there is nobody left."""
        from distributed import wait as wait_for

        alone_since: float | None = None
        while True:
            done = [one for one in self._running if one.status in _DONE]
            if done:
                return done
            with suppress(TimeoutError, CancelledError):
                some = list(self._running)
                wait_for(some, _LOOK, return_when="FIRST_COMPLETED")
                continue
            if self._client.nthreads():
                alone_since = None
                continue
            alone_since = monotonic() if alone_since is None else alone_since
            if monotonic() - alone_since > PATIENCE:
                raise ClusterError(
                    f"{WHO}: the cluster must have workers; got none for {PATIENCE:g} "
                    "seconds, after the last one was lost. The same call goes on from "
                    "the store."
                )

    def _scattered(self) -> Any:
        """Send what is shared to all workers; wait for some if there are none."""
        since = monotonic()
        while True:
            reason: Exception
            try:
                self._client.wait_for_workers(1, timeout=PATIENCE)
                [sent] = self._client.scatter([self._task], hash=False)
            except (TimeoutError, OSError, KeyError) as error:
                # A worker that died a moment ago may still be on the list, or have
                # left it meanwhile, of which Dask says no more than its address.
                reason = error
            else:
                if self._is_copied(sent):
                    return sent
                reason = CancelledError()
            if monotonic() - since > PATIENCE:
                raise ClusterError(
                    f"{WHO}: the cluster must have a worker to send ratings to; got "
                    f"none within {PATIENCE:g} seconds ({type(reason).__name__})."
                ) from reason
            sleep(_LOOK)

    def _is_copied(self, sent: Any) -> bool:
        """Let all workers fetch what one has; return whether it was not lost by that.

        Dask's own way, ``scatter(broadcast=True)``, waits for ever for a worker that
        dies meanwhile. What such a one was to fetch, another has.
        """
        from distributed import wait as wait_for

        copies = [
            self._client.submit(
                _has, sent, workers=[address], allow_other_workers=True, pure=False
            )
            for address in self._client.nthreads()
        ]
        with suppress(TimeoutError, CancelledError):
            wait_for(copies, PATIENCE)
        return bool(sent.status == "finished")

    def close(self) -> None:
        """Take back what has not been done, if there is a cluster left."""
        with self._client:
            if self._client.status == "running":
                with suppress(OSError):
                    self._client.cancel(list(self._running))
            self._running, self._shared = {}, None


def workers_for(task: Task, client: Any, n_jobs: int) -> Workers:
    """Return who is to learn."""
    if client is not None:
        return OnDask(task, client)
    return ThisProcess(task) if n_jobs == 1 else Processes(task, n_jobs)


def _has(task: Task) -> None:
    """Have what is shared: it was fetched for this call."""


def _learn_on_worker(task: Task, version: str, rows: list[int]) -> list[Record]:
    check_version(WHO, version)
    return learn_people(task, rows)


def _begin(driver: int, folder: str) -> None:
    """Make a new process one that obeys its driver, and goes when the driver does."""
    # The driver alone hears Ctrl-C, and stops the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_leave_with, args=(driver, folder), daemon=True).start()


def _leave_with(driver: int, folder: str) -> None:
    """End this process, and what the driver would have taken away, if it is killed."""
    while os.getppid() == driver:
        sleep(_LOOK)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def _failed(error: BaseException) -> Any:
    future: Future[Any] = Future()
    future.set_exception(error)
    return future
