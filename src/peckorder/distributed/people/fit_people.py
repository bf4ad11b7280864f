"""One ranker per person, trained on all cores or a cluster, into a store."""

import hashlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from reprlib import repr as short
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
from joblib import cpu_count
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_array, get_tags

from peckorder._core.errors import caller, entry, named, refusal
from peckorder._core.typing import Estimator, Ints, Matrix, MatrixLike, PathLike
from peckorder._core.validation import Rule, check_parameters, optional, whole
from peckorder._version import __version__
from peckorder.collaborative import (
    PersonalRanker,
    check_fill_and_center,
    check_fillable,
    check_ratings,
    viewer_table,
)
from peckorder.collaborative.personal.storage import without_people
from peckorder.distributed.cluster.client import reporting_lost_scheduler, usable_client
from peckorder.distributed.people.reader import People, open_people, shared_ranker
from peckorder.distributed.people.store import FORMAT, About, Memory, Store, check_ids, open_store
from peckorder.distributed.people.tasks import HeldOut, OnRows, OnShared, Record, Task
from peckorder.distributed.people.workers import Run, WorkerCrashes, workers_for
from peckorder.exceptions import ClusterError
from peckorder.feedback import Ratings, fingerprint, id_list
from peckorder.metrics import metrics_by_name
from peckorder.storage.format import Contents, pack, to_bytes
from peckorder.storage.mixin import MODELS
from peckorder.storage.models import parameters_of

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
    names = ", ".join(map(repr, people[:_NAMED]))
    if len(people) > _NAMED:
        names += f" and {len(people) - _NAMED:,} more"
    others = "All others are trained"
    if not crashes.is_complete:
        others = "One process after the other crashed; some others were not started"
    return refusal(
        f"worker processes crashed repeatedly while training {names} (out of memory?)",
        hint=f"{others}. What is trained is in the store, if there is one: the "
        "same call tries the rest again.",
        error=ClusterError,
    )


# Reference viewers by default.
_REFERENCES: Final = 300


@dataclass(frozen=True, eq=False)
class Plan:
    """A run: what identifies it, the part that models share, and what workers get.

    `shared` makes the bytes that a new store begins with; `task` takes those of the
    store, new or not.
    """

    about: About
    shared: Callable[[], bytes | None]
    task: Callable[[bytes | None], Task]


class Table(NamedTuple):
    """How items become rows: given features, or reference viewers; None by default."""

    features: MatrixLike | None
    references: int | ArrayLike | None
    fill: str | None
    center: str | float | None

    def check_without_viewers(self, with_what: str) -> None:
        """Refuse settings of viewers where there are none."""
        for name in ("references", "fill", "center"):
            value = getattr(self, name)
            if value is not None:
                raise refusal(name, f"be None with {with_what}", short(value), error=TypeError)


def check_held_out(ratings: Ratings, test: Ratings | None, metrics: str | Sequence[str]) -> HeldOut:
    """Check held-out ratings and metrics, the latter also without ratings."""
    names = [metric.name for metric in metrics_by_name(metrics)]
    if len(set(names)) < len(names):
        raise refusal("metrics", "be distinct", repr(names), error=ValueError)
    if test is None:
        return HeldOut(None, ())
    with named(f"{caller()}: test"):
        check_ratings(test)
    for name in ("users", "items"):
        if not np.array_equal(getattr(test, name), getattr(ratings, name)):
            raise refusal(
                "test", f"have the same {name} as ratings, as after ratings.split()", "others"
            )
    held_out = HeldOut(test, tuple(names))
    held_out.check()
    return held_out


def make_plan(ratings: Ratings, estimator: Estimator, held_out: HeldOut, table: Table) -> Plan:
    """Check everything; compute what identifies a store."""
    _check_estimator(estimator)
    about: About = {
        "format": FORMAT,
        "peckorder": __version__,
        "estimator": type(estimator).__name__,
        "parameters": _digests_of_parameters(estimator),
        "shown": repr(estimator),
        "ratings": fingerprint(ratings),
        "test": None if held_out.test is None else fingerprint(held_out.test),
        "metrics": list(held_out.metrics),
    }
    if isinstance(estimator, PersonalRanker):
        return _on_shared(about, ratings, estimator, held_out, table)
    return _on_rows(about, ratings, estimator, held_out, table)


def _check_estimator(estimator: object) -> None:
    if isinstance(estimator, type) or not callable(getattr(estimator, "fit", None)):
        raise refusal(
            "estimator", "be an object with fit, such as MPRank()", repr(estimator), error=TypeError
        )
    if MODELS.get(type(estimator).__name__) is not type(estimator):
        raise refusal(
            "estimator",
            "be one of peckorder's own, whose models can be stored without code",
            repr(estimator),
            error=TypeError,
        )
    with named(type(estimator).__name__):
        check_parameters(estimator, estimator._rules)


def _digests_of_parameters(estimator: Estimator) -> dict[str, str]:
    """Return a digest of each parameter, so that one that differs can be named."""
    digests = {}
    for name, value in parameters_of(estimator).items():
        arrays: list[Any] = []
        header = {"value": pack(value, arrays)}
        with named(type(estimator).__name__):
            data = to_bytes(Contents(header, arrays))
        digests[name] = hashlib.sha256(data).hexdigest()[:32]
    return digests


def _on_shared(
    about: About, ratings: Ratings, ranker: PersonalRanker, held_out: HeldOut, table: Table
) -> Plan:
    if table.features is not None:
        raise refusal(
            "features",
            "be None with a PersonalRanker, which has its own",
            f"an object of type {type(table.features).__name__}",
            error=TypeError,
        )
    table.check_without_viewers("a PersonalRanker, which has its own")
    if hasattr(ranker, "_shared"):
        positions = ranker._ratings._items.positions(ratings.items)
        has_same_ratings = fingerprint(ranker._ratings) == about["ratings"]
        fitted = without_people(ranker).to_bytes()
        about = about | {"shared": hashlib.sha256(fitted).hexdigest()}
    else:
        positions, has_same_ratings, fitted = np.arange(ratings.n_items), True, None
        about = about | {"shared": None}

    def shared() -> bytes:
        return fitted or bytes(clone(ranker).fit(ratings).to_bytes())

    def task(data: bytes | None) -> Task:
        learnt = shared_ranker(data)
        if has_same_ratings:
            learnt._publish(ratings, learnt._shared)  # one copy of the same ratings
        return OnShared(learnt, ratings, positions, has_same_ratings, held_out)

    return Plan(about, shared, task)


def _on_rows(
    about: About, ratings: Ratings, estimator: Estimator, held_out: HeldOut, table: Table
) -> Plan:
    takes_nan = bool(get_tags(estimator).input_tags.allow_nan)
    own = np.full(ratings.n_users, -1, dtype=np.intp)
    if table.features is not None:
        table.check_without_viewers("features, which are taken as they are")
        features = _given(table.features, ratings.n_items, takes_nan)
        about = about | {"features": fingerprint(features)}
    else:
        fill = table.fill
        if fill is None:
            fill = "abstain" if takes_nan else "median"
        check_fill_and_center(fill, table.center)
        if fill == "abstain" and not takes_nan:
            raise refusal(
                "fill",
                "be 'median', 'mean' or 'zero' for an estimator that takes no NaN",
                f"'abstain' with {estimator!r}",
                error=ValueError,
            )
        rows = _reference_rows(ratings, table.references)
        viewers = ratings.restrict(users=ratings.users[rows])
        check_fillable(viewers, fill)
        features = viewer_table(ratings, viewers, viewers, fill, table.center)
        own[rows] = np.arange(len(rows))
        center = table.center
        about = about | {
            "references": id_list(viewers.users),
            "fill": fill,
            "center": float(center) if isinstance(center, Real) else center,
        }
    task = OnRows(clone(estimator), ratings, features, own, held_out)
    return Plan(about, lambda: None, lambda data: task)


def _given(features: MatrixLike, n_items: int, takes_nan: bool) -> Matrix:
    checked: Matrix = check_array(
        features,
        accept_sparse="csr",
        dtype=np.float64,
        ensure_all_finite="allow-nan" if takes_nan else True,
        input_name="features",
    )
    if checked.shape[0] != n_items:
        raise refusal(
            "features",
            f"have a row for each of the {n_items:,} items",
            f"{checked.shape[0]:,} rows",
        )
    return checked


def _reference_rows(ratings: Ratings, references: int | ArrayLike | None) -> Ints:
    if references is None:
        references = _REFERENCES
    if isinstance(references, Integral):
        whole(1).check("references", references)
        # As many with ratings as there are.
        most = np.argsort(-ratings.per_user, kind="stable")
        return most[ratings.per_user[most] > 0][: int(references)]
    with named(f"{caller()}: references"):
        rows = ratings._users.positions(references)
    if len(rows) == 0:
        raise refusal("references", "be a number, or name somebody", "none")
    return rows


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
