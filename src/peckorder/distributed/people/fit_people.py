"""Fleets: one ranker a person, on all cores or a cluster, into a store."""

from typing import Any

from joblib import cpu_count
from numpy.typing import ArrayLike

from peckorder._core.validation import Rule, optional, whole
from peckorder.collaborative import check_ratings
from peckorder.distributed.cluster.client import client_at_hand, in_reach
from peckorder.distributed.people.plan import Table, judged, planned
from peckorder.distributed.people.progress import Tell, teller
from peckorder.distributed.people.reader import MemorySource, People, open_people
from peckorder.distributed.people.scheduler import Deaths, Run
from peckorder.distributed.people.store import Memory, Store, check_ids, open_store
from peckorder.distributed.people.tasks import WHO, Record, Task
from peckorder.distributed.people.workers import workers_for
from peckorder.exceptions import ClusterError, DataError
from peckorder.feedback import Ratings, id_list

_PROGRESS = Rule(
    "None, True, False or a function of (done, total)",
    lambda value: value is None or isinstance(value, bool) or callable(value),
)
_N_JOBS = optional(whole(1))
# Of people who end their processes so many are named.
_NAMED = 5


def fit_people(
    ratings: Ratings,
    people: ArrayLike | None,
    estimator: Any,
    *,
    store: Any = None,
    features: Any = None,
    references: Any = None,
    fill: str | None = None,
    center: str | float | None = None,
    test: Ratings | None = None,
    metrics: Any = "disagreement",
    client: Any = None,
    n_jobs: int | None = None,
    progress: Any = None,
) -> People:
    r"""Train one ranker a person, on all cores of this machine or on a Dask cluster.

    The models are those that one process with one thread would learn, one person after
    the other, bit for bit on like machines. Each goes to the store once: a process that
    dies is replaced and its people are given out again, and the same call after an
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
        ids. A person is no reference to himself: his own column is left out.
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
        How many processes; None for one a core. With 1 all is done in this one.
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
        If the process of a person dies again and again, out of memory for instance. All
        others are in the store by then, unless one process after the other has died
        whoever was with it; the same call tries the rest again.

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
    check_ratings(WHO, ratings)
    _N_JOBS.check(WHO, "n_jobs", n_jobs)
    _PROGRESS.check(WHO, "progress", progress)
    rows = _rows(ratings, people)
    if store is not None:
        check_ids(ratings.users)
    judge = judged(ratings, test, metrics)
    table = Table(features, references, fill, center)
    plan = planned(ratings, estimator, judge, table)
    if client is not None:
        client = client_at_hand(WHO, client)
    kept = open_store(store, plan.about, plan.shared)
    try:
        missing = [row for row in rows if row not in kept.rows]
        tell = teller(progress, len(rows) - len(missing))
        tell(len(rows) - len(missing), len(rows))
        if missing:
            task = plan.task(kept.shared)
            n_workers = min(n_jobs or cpu_count(), len(missing))
            _run(task, missing, kept, client, n_workers, len(rows), tell)
    finally:
        kept.close()
    if isinstance(kept, Memory):
        return People(MemorySource(kept))
    return open_people(store)


def _rows(ratings: Ratings, people: Any) -> list[int]:
    if people is None:
        return list(range(ratings.n_users))
    rows: list[int] = ratings._users.positions(WHO, people, "people").tolist()
    if not rows:
        raise DataError(f"{WHO}: people must be None or name somebody; got none.")
    return rows


def _run(
    task: Task,
    missing: list[int],
    kept: Store,
    client: Any,
    n_workers: int,
    total: int,
    tell: Tell,
) -> None:
    n_done = total - len(missing)

    def take(records: list[Record]) -> None:
        nonlocal n_done
        kept.put(records)
        n_done += len(records)
        tell(n_done, total)

    workers = workers_for(task, client, n_workers)
    try:
        with in_reach(WHO, client):
            Run(workers, missing, take).finish()
    except Deaths as deaths:
        users = task.ratings.users
        raise _ended(
            [id_list(users[row : row + 1])[0] for row in deaths.rows], deaths
        ) from None
    finally:
        try:
            kept.flush()  # also after Ctrl-C
        finally:
            workers.close()


def _ended(people: list[Any], deaths: Deaths) -> ClusterError:
    named = ", ".join(map(repr, people[:_NAMED]))
    if len(people) > _NAMED:
        named += f" and {len(people) - _NAMED:,} more"
    if deaths.is_over:
        others = "All others are learnt"
    else:
        others = "Process after process died; some others were not begun"
    return ClusterError(
        f"{WHO}: people must be such that a process outlives them; got {named}, with "
        f"whom processes died, out of memory perhaps. {others}, and in the store if "
        "there is one: the same call tries the rest again."
    )
