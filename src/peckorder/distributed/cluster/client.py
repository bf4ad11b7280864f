"""The client of a cluster: the versions of its workers, waiting, and lost workers."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Self
from weakref import WeakValueDictionary

from peckorder._core.errors import refusal, requiring
from peckorder._version import __version__
from peckorder.exceptions import ClusterError, DataError, MissingExtraError

if TYPE_CHECKING:
    from distributed import Client, Future

# Seconds between two checks whether there are workers left, and how long a cluster may
# be without any.
LOOK: Final = 1.0
PATIENCE: Final = 30.0


def check_dask() -> None:
    """Raise if Dask is not installed."""
    with requiring("Dask", "with arrays, frames and workers", "'peckorder[dask]'"):
        for name in ("dask.array", "dask.dataframe", "distributed"):
            import_module(name)


def usable_client(client: "Client | None" = None) -> "Client":
    """Return a client whose workers have the same peckorder."""
    check_dask()
    from distributed import Client, default_client

    if client is None:
        try:
            client = default_client()
        except ValueError:
            raise refusal(
                "client",
                "be a Client of a Dask cluster",
                "None, and there is none at hand",
                hint="Start one first: from dask.distributed import Client; client = Client()",
                error=ClusterError,
            ) from None
    elif not isinstance(client, Client):
        raise refusal(
            "client",
            "be a dask.distributed.Client",
            f"an object of type {type(client).__name__}",
            error=TypeError,
        )
    if client.asynchronous:
        raise refusal(
            "client",
            "be one that waits for results",
            "one made with asynchronous=True",
            error=TypeError,
        )
    if client.status != "running":
        raise refusal(
            "client",
            "be connected to its scheduler",
            f"one that is {client.status}",
            error=ClusterError,
        )
    with reporting_lost_scheduler(client):
        _check_workers(client)
    return client


@contextmanager
def reporting_lost_scheduler(client: "Client") -> Iterator[None]:
    """Report a lost scheduler, or a closed client, for which Dask raises any error."""
    try:
        yield
    except (DataError, MissingExtraError):
        raise
    except Exception as error:
        if client is None or client.status == "running":
            raise
        raise refusal(
            "the scheduler",
            "stay in reach",
            f"a client that is {client.status} ({type(error).__name__})",
            error=ClusterError,
        ) from error


class ReleasingClient:
    """A client for the time of a `with`, after which nothing is left on its cluster.

    Futures are released with their last reference; but after an error they have one: the
    client keeps the error with the future that failed, and the error its frames, which
    refer to this future and all others. So they are released here.
    """

    def __init__(self, client: "Client") -> None:
        self._client = client
        self._futures: WeakValueDictionary[int, Future] = WeakValueDictionary()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for future in list(self._futures.values()):
            future.release()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        if name not in ("submit", "map", "compute", "scatter"):
            return method

        def recorded(*arguments: object, **options: object) -> Any:
            futures = method(*arguments, **options)
            for future in futures if isinstance(futures, list) else [futures]:
                self._futures[id(future)] = future
            return futures

        return recorded


def _check_workers(client: "Client") -> None:
    """Refuse a cluster without workers, or with another peckorder than ours."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
        # Workers that are dying just now do not matter.
        versions = client.run(_reporter(), on_error="ignore")
    except TimeoutError as error:
        raise refusal(
            "the cluster",
            "have a worker that answers",
            f"none within {PATIENCE:g} seconds ({type(error).__name__})",
            error=ClusterError,
        ) from error
    except OSError as error:
        raise refusal(
            "the scheduler", "be in reach", type(error).__name__, error=ClusterError
        ) from error
    for address, version in sorted(versions.items()):
        if version != __version__:
            got = "none" if version is None else f"version {version}"
            raise refusal(
                "every worker",
                f"have peckorder {__version__}, as here",
                f"{got} at {address}",
                hint="Install the same version everywhere.",
                error=ClusterError,
            )


def _reporter() -> Callable[[], str | None]:
    """Return a function that workers can run even without peckorder's modules."""

    def report() -> str | None:
        try:
            from peckorder import _version
        except ImportError:
            return None
        return _version.__version__

    return report


def check_version(version: str) -> None:
    """Refuse a driver of another version: workers may join at any time."""
    from peckorder import _version

    if _version.__version__ != version:
        raise refusal(
            "every worker",
            f"have peckorder {version}, as the driver has",
            f"version {_version.__version__} on one that joined later",
            error=ClusterError,
        )


def results(client: "Client", futures: list["Future"]) -> list[Any]:
    """Wait for results, which are computed again if a worker is lost with them.

    Raises if that is not possible: rows were only in its memory, or no worker is left.
    """
    with _translating_losses():
        wait_until_done(client, futures)
        got: list[Any] = client.gather(futures)
    return got


def wait_for(client: "Client", futures: list["Future"]) -> None:
    """Wait for results, and leave them on their workers."""
    with _translating_losses():
        wait_until_done(client, futures)
        failed = [future for future in futures if future.status != "finished"]
        client.gather(failed)


@contextmanager
def naming_partition(futures: list["Future"], titles: list[str]) -> Iterator[None]:
    """Name the partition in an error of a future."""
    try:
        yield
    except Exception as error:
        causes = (error, error.__cause__)
        for future, name in zip(futures, titles, strict=True):
            # peckorder's own errors name it already.
            if name not in str(error) and future.status == "error":
                failure = future.exception()
                if any(failure is one for one in causes):
                    error.add_note(f"This is of {name}.")
        raise


@contextmanager
def _translating_losses() -> Iterator[None]:
    from concurrent.futures import CancelledError

    from distributed import KilledWorker

    try:
        yield
    except KilledWorker as error:
        raise refusal(
            "a worker",
            "be able to hold a partition",
            "several that crashed with the same one, most likely out of memory",
            hint="Make the partitions smaller, or give workers more memory.",
            error=ClusterError,
        ) from error
    except CancelledError as error:
        raise refusal(
            "partitions",
            "be such that Dask can make them again, from files or by computing",
            "some that were lost together with a worker, or with the scheduler",
            hint="Fit again from data that can be read again.",
            error=ClusterError,
        ) from error


def wait_until_done(
    client: "Client", futures: list["Future"], return_when: str = "ALL_COMPLETED", hint: str = ""
) -> None:
    """Wait until futures are done or one failed; raise if there are no workers left."""
    from distributed import wait

    alone_since: float | None = None
    while True:
        try:
            wait(futures, timeout=LOOK, return_when=return_when)
        except TimeoutError:
            if any(future.status == "error" for future in futures):
                return
        else:
            return
        if _has_workers(client):
            alone_since = None
            continue
        alone_since = time.monotonic() if alone_since is None else alone_since
        if time.monotonic() - alone_since > PATIENCE:
            client.cancel(futures)
            raise refusal(
                "the cluster",
                "have workers",
                f"none for {PATIENCE:g} seconds, after the last one was lost",
                hint=hint,
                error=ClusterError,
            )


def _has_workers(client: "Client") -> bool:
    try:
        return bool(client.nthreads())
    except OSError:
        return False  # nor a scheduler, for now
