"""Workers that train people: this process, others of this machine, or Dask.

`Run` submits rows in batches and collects records, one per person.
"""

import ctypes
import os
import signal
import sys
import warnings
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from peckorder._core.errors import refusal
from peckorder.distributed.cluster import client as cluster
from peckorder.distributed.people.tasks import Record, Task, learn_from_file, learn_people
from peckorder.exceptions import ClusterError

if TYPE_CHECKING:
    from distributed import Client
    from distributed import Future as DaskFuture

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_DONE = ("finished", "error", "cancelled")
_PR_SET_PDEATHSIG: Final = 1
# Seconds between two looks of a process whether its driver is alive.
_WATCH: Final = 0.2


class Completed(NamedTuple):
    """Batches that are trained, and batches whose process crashed."""

    trained: list[list[Record]]
    lost: list[list[int]]


class ThisProcess:
    """Trains a batch when waited for."""

    max_batches, attempts = 1, 1

    def __init__(self, task: Task) -> None:
        self._task = task
        self._rows: list[int] = []

    def submit(self, rows: list[int]) -> None:
        """Submit a batch of rows."""
        self._rows = rows

    def wait(self) -> Completed:
        """Train the batch."""
        return Completed([learn_people(self._task, self._rows)], [])

    def close(self) -> None:
        """Do nothing."""


class Processes:
    """Processes of this machine, started again when one of them crashes.

    The shared data is in a file that each maps into its memory once. The process that
    loky has for such things removes it when all others are gone, however they ended.
    """

    attempts = 3

    def __init__(self, task: Task, n_jobs: int) -> None:
        import joblib
        from joblib.externals.loky.backend import resource_tracker

        self._n_jobs = n_jobs
        self.max_batches = 2 * n_jobs
        self._pool: Any = None
        self._running: dict[Future[list[Record]], list[int]] = {}
        self._folder = TemporaryDirectory(prefix="peckorder-")
        resource_tracker.register(self._folder.name, "folder")
        try:
            self._path = str(Path(self._folder.name) / "task")
            joblib.dump(task, self._path)
        except BaseException:
            self._remove_folder()
            raise

    def submit(self, rows: list[int]) -> None:
        """Submit rows to the processes, which are started if there are none."""
        from joblib.externals.loky import ProcessPoolExecutor

        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self._n_jobs,
                initializer=_begin,
                initargs=(os.getpid(),),
                env=dict.fromkeys(_THREADS, "1"),
            )
        with warnings.catch_warnings():
            # One that became too large ends, and is started again.
            warnings.filterwarnings("ignore", message="A worker stopped")
            try:
                future = self._pool.submit(learn_from_file, self._path, rows)
            except BrokenProcessPool as error:
                # As if it had crashed a moment later.
                future = _failed(error)
        self._running[future] = rows

    def wait(self) -> Completed:
        """Wait for trained batches; if a process has crashed, all others are lost."""
        done, _ = wait(self._running, return_when=FIRST_COMPLETED)
        trained, lost = [], []
        for future in done:
            rows = self._running.pop(future)
            try:
                trained.append(future.result())
            except BrokenProcessPool:
                lost.append(rows)
        if lost:
            # No others will return.
            lost += self._running.values()
            self._running = {}
            self._stop()
        return Completed(trained, lost)

    def close(self) -> None:
        """End the processes at once."""
        try:
            self._stop()
        finally:
            self._remove_folder()

    def _remove_folder(self) -> None:
        from joblib.externals.loky.backend import resource_tracker

        self._folder.cleanup()
        resource_tracker.unregister(self._folder.name, "folder")

    def _stop(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True, kill_workers=True)


class OnDask:
    """A Dask cluster. The shared data is sent to every worker once."""

    # Dask itself tries several workers before it gives up.
    attempts = 2

    def __init__(self, task: Task, client: "Client") -> None:
        self._task, self._client = task, cluster.ReleasingClient(client)
        self.max_batches = 2 * max(1, sum(client.nthreads().values()))
        self._shared: DaskFuture | None = None
        self._running: dict[DaskFuture, list[int]] = {}

    def submit(self, rows: list[int]) -> None:
        """Submit rows to the cluster."""
        from peckorder._version import __version__

        if self._shared is None:
            self._shared = self._scattered()
        future = self._client.submit(_learn_on_worker, self._shared, __version__, rows, pure=False)
        self._running[future] = rows

    def wait(self) -> Completed:
        """Wait for trained batches; the shared data may be lost with a worker."""
        from distributed import KilledWorker

        trained, lost = [], []
        for future in self._done():
            rows = self._running.pop(future)
            try:
                trained.append(future.result())
            except KilledWorker:
                lost.append(rows)
            except CancelledError:
                # The only worker with the shared data is lost: it is sent again.
                self._shared = None
                lost.append(rows)
        return Completed(trained, lost)

    def _done(self) -> list["DaskFuture"]:
        """Wait for futures that are done, of which there may be none after a loss."""
        hint = "The same call goes on from the store."
        running = list(self._running)
        with suppress(CancelledError):
            cluster.wait_until_done(self._client, running, "FIRST_COMPLETED", hint)
        return [future for future in running if future.status in _DONE]

    def _scattered(self) -> "DaskFuture":
        """Send the shared data to all workers; wait for some if there are none."""
        since = monotonic()
        while True:
            reason: Exception
            try:
                self._client.wait_for_workers(1, timeout=cluster.PATIENCE)
                [sent] = self._client.scatter([self._task], hash=False)
            except (TimeoutError, OSError, KeyError) as error:
                # A worker that just died may still be listed, or have left meanwhile:
                # then Dask's error has no more than its address.
                reason = error
            else:
                if self._is_copied(sent):
                    return sent
                reason = CancelledError()
            if monotonic() - since > cluster.PATIENCE:
                raise refusal(
                    "the cluster",
                    "have a worker to send ratings to",
                    f"none within {cluster.PATIENCE:g} seconds ({type(reason).__name__})",
                    error=ClusterError,
                ) from reason
            sleep(cluster.LOOK)

    def _is_copied(self, sent: "DaskFuture") -> bool:
        """Let all workers fetch what one has; return whether it was not lost by that.

        Dask's own way, ``scatter(broadcast=True)``, waits forever for a worker that dies
        meanwhile. Another worker has the same data.
        """
        from distributed import wait as wait_for

        copies = [
            self._client.submit(_has, sent, workers=[address], allow_other_workers=True, pure=False)
            for address in self._client.nthreads()
        ]
        with suppress(TimeoutError, CancelledError):
            wait_for(copies, cluster.PATIENCE)
        return bool(sent.status == "finished")

    def close(self) -> None:
        """Cancel what has not been done, if there is a cluster left."""
        with self._client:
            if self._client.status == "running":
                with suppress(OSError):
                    self._client.cancel(list(self._running))
            self._running, self._shared = {}, None


# At most `max_batches` are submitted at a time; a person is given up after `attempts`
# crashes of processes that trained nobody else.
Workers: TypeAlias = ThisProcess | Processes | OnDask


def workers_for(task: Task, client: "Client", n_jobs: int) -> Workers:
    """Return the workers that train."""
    if client is not None:
        return OnDask(task, client)
    return ThisProcess(task) if n_jobs == 1 else Processes(task, n_jobs)


def _has(task: Task) -> None:
    """Do nothing: the shared data was fetched for this call."""


def _learn_on_worker(task: Task, version: str, rows: list[int]) -> list[Record]:
    cluster.check_version(version)
    return learn_people(task, rows)


def _begin(driver: int) -> None:
    """Make a new process end when its driver does, and ignore Ctrl-C."""
    # The driver alone hears Ctrl-C, and stops the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        # A decomposition may keep the thread below from running for minutes.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    Thread(target=_leave_with, args=(driver,), daemon=True).start()


def _leave_with(driver: int) -> None:
    """End this process when the driver is killed."""
    while os.getppid() == driver:
        sleep(_WATCH)
    os._exit(1)


def _failed(error: BaseException) -> Future[list[Record]]:
    future: Future[list[Record]] = Future()
    future.set_exception(error)
    return future


# Seconds that a batch of rows should take, and the most rows in one.
_BATCH_SECONDS: Final = 0.25
_MAX_ROWS: Final = 256
# After so many crashes in a row, each with other people, it is not due to people.
_MAX_CRASHES: Final = 12


class WorkerCrashes(RuntimeError):
    """Worker processes crashed while they trained the people of `rows`.

    If the run `is_complete`, everybody else has been trained.
    """

    def __init__(self, rows: list[int], *, is_complete: bool) -> None:
        super().__init__("worker processes crashed")
        self.rows, self.is_complete = rows, is_complete


class Run:
    """Submits rows to workers, and passes records to `on_records`, each person once.

    When a process crashes, the rows that it had are isolated: they are submitted again
    one by one, and nothing else meanwhile, so that whoever crashes a process is found.
    Such a person is postponed until all others are trained, then tried again, and given
    up when processes have crashed often enough. If one process after the other crashes
    with different people, the run ends soon. It always ends: every few crashes are
    followed by a person who is trained or postponed, and each of those postponed is
    tried a few times.
    """

    def __init__(
        self, workers: Workers, rows: Sequence[int], on_records: Callable[[list[Record]], None]
    ) -> None:
        self._workers, self._on_records = workers, on_records
        self._waiting, self._to_isolate = deque(rows), deque[int]()
        self._postponed = deque[int]()
        self._n_crashes: Counter[int] = Counter()
        self._crashing: list[int] = []
        self._n_submitted = self._n_in_a_row = 0
        self._is_isolated = False
        self._seconds = _BATCH_SECONDS

    def finish(self) -> None:
        """Train everybody; raise `WorkerCrashes` if that is not possible."""
        while self._submit_batches():
            trained, lost = self._workers.wait()
            self._n_submitted -= len(trained) + len(lost)
            for records in trained:
                self._n_in_a_row = 0
                self._update_pace(records)
                self._on_records(records)
            if lost:
                self._isolate(lost)
        if self._crashing:
            raise WorkerCrashes(self._crashing, is_complete=True)

    def _submit_batches(self) -> bool:
        """Submit as much as possible; return whether there is anything to wait for."""
        if self._to_isolate:
            if self._n_submitted == 0:
                self._is_isolated = True
                self._submit([self._to_isolate.popleft()])
            return True
        self._is_isolated = False
        while self._waiting and self._n_submitted < self._workers.max_batches:
            self._submit(self._next_batch())
        if self._n_submitted == 0 and self._postponed:
            self._is_isolated = True
            self._submit([self._postponed.popleft()])
        return self._n_submitted > 0

    def _submit(self, rows: list[int]) -> None:
        self._n_submitted += 1
        self._workers.submit(rows)

    def _next_batch(self) -> list[int]:
        """Return rows worth a message; few at the end, for all workers to have some."""
        fair = -(-len(self._waiting) // self._workers.max_batches)
        size = max(1, min(int(_BATCH_SECONDS / self._seconds), _MAX_ROWS, fair))
        return [self._waiting.popleft() for _ in range(size)]

    def _update_pace(self, records: list[Record]) -> None:
        now = sum(record.seconds for record in records) / len(records)
        self._seconds = 0.5 * (self._seconds + max(now, _BATCH_SECONDS / _MAX_ROWS))

    def _isolate(self, lost: list[list[int]]) -> None:
        self._n_in_a_row += 1
        if not self._is_isolated:
            self._to_isolate.extend(row for rows in lost for row in rows)
        else:
            [[row]] = lost
            self._n_crashes[row] += 1
            is_crashing = self._n_crashes[row] >= self._workers.attempts
            (self._crashing if is_crashing else self._postponed).append(row)
        if self._n_in_a_row >= _MAX_CRASHES and (self._to_isolate or self._waiting):
            rows = [*self._crashing, *self._postponed, *self._to_isolate]
            raise WorkerCrashes(rows, is_complete=False)
