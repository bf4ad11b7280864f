"""One ranker per person, trained on all cores or a cluster, into a store."""

import sys
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeAlias

from joblib import cpu_count
from numpy.typing import ArrayLike

from peckorder._core.errors import entry, refusal
from peckorder._core.typing import Estimator, MatrixLike, PathLike
from peckorder._core.validation import Rule, optional, whole
from peckorder.collaborative import check_ratings
from peckorder.distributed.cluster.client import reporting_lost_scheduler, usable_client
from peckorder.distributed.people.plan import Table, check_held_out, make_plan
from peckorder.distributed.people.reader import People, open_people
from peckorder.distributed.people.store import Memory, Store, check_ids, open_store
from peckorder.distributed.people.tasks import Record, Task
from peckorder.distributed.people.workers import Run, WorkerCrashes, workers_for
from peckorder.exceptions import ClusterError
from peckorder.feedback import Ratings, id_list

if TYPE_CHECKING:
    from distributed import Client

_PROGRESS = Rule(
    "None, True, False or a function of (done, total)",
    lambda value: value is None or isinstance(value, bool) or callable(value),
)
# Seconds between two updates of the progress line.
_PAUSE: Final = 0.2
ProgressCallback: TypeAlias = Callable[[int, int], None]
# So many of the people whose training crashed are named.
_NAMED = 5


@entry
def fit_people(
    ratings: Ratings,
    people: ArrayLike | None,
    estimator: Estimator,
    *,
    store: PathLike | None = None,
    features: MatrixLike | None = None,
    references: int | ArrayLike | None = None,
    fill: str | None = None,
    center: str | float | None = None,
    test: Ratings | None = None,
    metrics: str | Sequence[str] = "disagreement",
    client: "Client | None" = None,
    n_jobs: int | None = None,
    progress: bool | ProgressCallback | None = None,
) -> People:
    r"""Train one ranker per person, on all cores of this machine or on a Dask cluster.

    The models are those that one process with one thread would learn, one person after
    the other, bit for bit on like machines. Each goes to the store once: a process that
    crashes is replaced and its people are trained again, and the same call after an
    interrupt, or a crash, trains those who are missing.

    Parameters
    ----------
    ratings : Ratings
        Who gave what to which.
    people : array-like or None
        The ids of those who get a model, each once; None for everybody.
    estimator : estimator
        A `PersonalRanker`: what is shared is learnt from `ratings` once, unless it is
        fitted, and each person on top of it. Or any other of peckorder's estimators, a
        copy of which is fitted for each person to the rows of what the person rated.
    store : path or None, default=None
        Where models go while others are trained: one SQLite file, if the name ends in
        .sqlite, .sqlite3 or .db; else a folder of Parquet files. None: memory.
    features : array-like or sparse matrix of shape (n_items, n_features), default=None
        The rows of items, in the order of ``ratings.items``. None: what reference
        viewers gave to them, as in `problem`.
    references : int, array-like or None, default=None
        The reference viewers: so many with the most ratings, None for 300, or their
        ids. People are no references to themselves: their own column is left out.
    fill, center : default=None
        As in `problem`. `fill` None is "abstain" for estimators that take NaN, and
        "median" for others. Where there are no such viewers, with `features` and for a
        `PersonalRanker`, these two and `references` must be None.
    test : Ratings or None, default=None
        Ratings held out, of the same users and items, to measure each model on.
    metrics : str or list of str, default="disagreement"
        What is measured on them; names as in `peckorder.metrics.evaluate`. NaN where
        that is undefined, or a metric does not take a model's scores.
    client : distributed.Client or None, default=None
        A Dask cluster. None: processes of this machine.
    n_jobs : int or None, default=None
        How many processes; None for one per core. With 1 all is done in this one.
    progress : None, bool or callable, default=None
        Called with (people done, people in all); True writes a line to stderr, and None
        does so on a terminal only.

    Returns
    -------
    people : People
        A mapping from ids to models, with a table of what was measured; of all who are
        in the store, from this call and earlier ones.

    Raises
    ------
    DataError
        If people are not known or named twice, or if the store is of something else:
        another estimator, other parameters, ratings, features, metrics or another
        version of peckorder. If ratings held out are none that a metric takes.
    FileExistsError
        If another run writes to the store.
    ClusterError
        If the process of a person crashes repeatedly, out of memory for instance. All
        others are in the store by then, unless one process after the other crashed
        with different people; the same call tries the rest again.

    Notes
    -----
    A person whose ratings no model can be learnt from (too few, all equal) is a record
    with the reason, and no end of the run. Ctrl-C keeps what is finished.

    What is shared is sent to each worker once: O(n_ratings), with O(n_items n_features)
    for features, or the item kernel of `PersonalRanker`. Processes of one machine map
    the same file, so that it is in memory once. A person then costs a few bytes to ask
    for and the bytes of the model to return. Each process has one thread for algebra.

    Models come in the order in which they are finished. A batch of them is written as
    one Parquet file, or one transaction, whole or not at all. A `random_state` of None
    lets each person's training draw its own numbers.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from peckorder.collaborative import PersonalRanker
    >>> from peckorder.datasets import make_ratings
    >>> from peckorder.distributed import fit_people, open_people
    >>> train, test = make_ratings(40, 30, random_state=0).split(0.3, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/people.sqlite"
    ...     ranker = PersonalRanker(n_factors=2, random_state=0)
    ...     people = fit_people(train, None, ranker, store=path, test=test, n_jobs=1)
    ...     best = open_people(path)[train.users[0]].recommend(n=3)
    >>> len(people), len(best)
    (40, 3)
    >>> bool(np.nanmean(people.columns()["disagreement"]) < 0.5)
    True
    """
    check_ratings(ratings)
    optional(whole(1)).check("n_jobs", n_jobs)
    _PROGRESS.check("progress", progress)
    rows = _rows(ratings, people)
    if store is not None:
        check_ids(ratings.users)
    held_out = check_held_out(ratings, test, metrics)
    table = Table(features, references, fill, center)
    plan = make_plan(ratings, estimator, held_out, table)
    if client is not None:
        client = usable_client(client)
    kept = open_store(store, plan.about, plan.shared)
    try:
        missing = [row for row in rows if row not in kept.rows]
        on_progress = progress_callback(progress, len(rows) - len(missing))
        on_progress(len(rows) - len(missing), len(rows))
        if missing:
            task = plan.task(kept.shared)
            n_workers = min(n_jobs or cpu_count(), len(missing))
            _run(task, missing, kept, client, n_workers, len(rows), on_progress)
    finally:
        kept.close()
    if isinstance(kept, Memory):
        return People(kept)
    assert store is not None
    return open_people(store)


def _rows(ratings: Ratings, people: ArrayLike | None) -> list[int]:
    if people is None:
        return list(range(ratings.n_users))
    rows: list[int] = ratings._users.positions(people, "people").tolist()
    if not rows:
        raise refusal("people", "be None or name somebody", "none")
    return rows


def _run(
    task: Task,
    missing: list[int],
    kept: Store,
    client: "Client",
    n_workers: int,
    total: int,
    on_progress: ProgressCallback,
) -> None:
    n_done = total - len(missing)

    def store(records: list[Record]) -> None:
        nonlocal n_done
        kept.put(records)
        n_done += len(records)
        on_progress(n_done, total)

    workers = workers_for(task, client, n_workers)
    try:
        with reporting_lost_scheduler(client):
            Run(workers, missing, store).finish()
    except WorkerCrashes as crashes:
        users = task.ratings.users
        raise _crash_error(
            [id_list(users[row : row + 1])[0] for row in crashes.rows], crashes
        ) from None
    finally:
        try:
            kept.flush()  # also after Ctrl-C
        finally:
            workers.close()


def _crash_error(people: list[object], crashes: WorkerCrashes) -> Exception:
    named = ", ".join(map(repr, people[:_NAMED]))
    if len(people) > _NAMED:
        named += f" and {len(people) - _NAMED:,} more"
    others = "All others are trained"
    if not crashes.is_complete:
        others = "One process after the other crashed; some others were not started"
    return refusal(
        f"worker processes crashed repeatedly while training {named} (out of memory?)",
        hint=f"{others}. What is trained is in the store, if there is one: the "
        "same call tries the rest again.",
        error=ClusterError,
    )


def progress_callback(progress: bool | ProgressCallback | None, n_stored: int) -> ProgressCallback:
    """Return the function to be called with (people done, people in all).

    `n_stored` were in the store before.
    """
    if callable(progress):
        return progress
    is_wanted = sys.stderr.isatty() if progress is None else progress
    return ProgressLine(n_stored) if is_wanted else lambda done, total: None


class ProgressLine:
    """One line on a terminal, written again and again."""

    def __init__(self, n_stored: int) -> None:
        self._n_stored, self._begin, self._last = n_stored, monotonic(), 0.0

    def __call__(self, done: int, total: int) -> None:
        """Write how far it is, how fast, and how long it will take."""
        now = monotonic()
        if done < total and now - self._last < _PAUSE:
            return
        self._last = now
        rate = (done - self._n_stored) / max(now - self._begin, 1e-9)
        left = f", {(total - done) / rate:,.0f} s left" if rate and done < total else ""
        text = f"{done:,} of {total:,} people, {rate:,.1f} a second{left}"
        end = "\n" if done == total else ""
        sys.stderr.write(f"\r{text:<70}{end}")
        sys.stderr.flush()
