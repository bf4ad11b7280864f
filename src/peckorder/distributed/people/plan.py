"""What is to be learnt, by whom and from what: checked before any work is done."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from reprlib import repr as short
from typing import Any, Final, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_array, get_tags

from peckorder._core.typing import Ints
from peckorder._core.validation import check_parameters, whole
from peckorder._version import __version__
from peckorder.collaborative import (
    PersonalRanker,
    check_fill_and_center,
    check_fillable,
    check_ratings,
    viewer_table,
)
from peckorder.collaborative.personal.storage import without_people
from peckorder.distributed.people.reader import shared_ranker
from peckorder.distributed.people.store import FORMAT, About
from peckorder.distributed.people.tasks import WHO, Judge, OnRows, OnShared, Task
from peckorder.exceptions import DataError
from peckorder.feedback import Ratings, fingerprint, id_list
from peckorder.metrics import metrics_by_name
from peckorder.storage.format import Contents, pack, to_bytes
from peckorder.storage.mixin import StoredModel
from peckorder.storage.models import parameters_of

_COUNT = whole(1)
# Reference viewers, if nothing is said of them.
_REFERENCES: Final = 300


@dataclass(frozen=True, eq=False)
class Plan:
    """A run: what it is told apart by, what models share, and what workers get.

    `shared` makes the bytes that a new store begins with; `task` takes those of the
    store, new or not.
    """

    about: About
    shared: Callable[[], bytes | None]
    task: Callable[[bytes | None], Task]


class Table(NamedTuple):
    """How items become rows: given features, or reference viewers; None if not said."""

    features: Any
    references: Any
    fill: str | None
    center: Any

    def check_without_viewers(self, with_what: str) -> None:
        """Refuse to be told of viewers where there are none: it would do nothing."""
        for name in ("references", "fill", "center"):
            value = getattr(self, name)
            if value is not None:
                raise TypeError(
                    f"{WHO}: {name} must be None with {with_what}; got {short(value)}."
                )


def judged(ratings: Ratings, test: Any, metrics: Any) -> Judge:
    """Check ratings that are held out, and metrics, also where none will be asked."""
    names = [metric.name for metric in metrics_by_name(WHO, metrics)]
    if len(set(names)) < len(names):
        raise ValueError(f"{WHO}: metrics must be distinct; got {names!r}.")
    if test is None:
        return Judge(None, ())
    check_ratings(f"{WHO}: test", test)
    for name in ("users", "items"):
        if not np.array_equal(getattr(test, name), getattr(ratings, name)):
            raise DataError(
                f"{WHO}: test must have the same {name} as ratings, as after "
                "ratings.split(); got others."
            )
    judge = Judge(test, tuple(names))
    judge.check()
    return judge


def planned(ratings: Ratings, estimator: Any, judge: Judge, table: Table) -> Plan:
    """Check everything; compute what a store is told apart by."""
    _check_estimator(estimator)
    about: About = {
        "format": FORMAT,
        "peckorder": __version__,
        "estimator": type(estimator).__name__,
        "parameters": _digests_of_parameters(estimator),
        "shown": repr(estimator),
        "ratings": fingerprint(WHO, ratings),
        "test": None if judge.test is None else fingerprint(WHO, judge.test),
        "metrics": list(judge.metrics),
    }
    if isinstance(estimator, PersonalRanker):
        return _on_shared(about, ratings, estimator, judge, table)
    return _on_rows(about, ratings, estimator, judge, table)


def _check_estimator(estimator: Any) -> None:
    if isinstance(estimator, type) or not callable(getattr(estimator, "fit", None)):
        raise TypeError(
            f"{WHO}: estimator must be an object with fit, such as MPRank(); got "
            f"{estimator!r}."
        )
    is_own = type(estimator).__module__.partition(".")[0] == "peckorder"
    if not (is_own and isinstance(estimator, StoredModel)):
        raise TypeError(
            f"{WHO}: estimator must be one of peckorder's own, whose models can be "
            f"stored without code; got {estimator!r}."
        )
    check_parameters(estimator, estimator._rules)


def _digests_of_parameters(estimator: Any) -> dict[str, str]:
    """Return a digest of each parameter, so that one that differs can be named."""
    who, found = type(estimator).__name__, {}
    for name, value in parameters_of(estimator).items():
        arrays: list[Any] = []
        header = {"value": pack(value, arrays)}
        data = to_bytes(who, Contents(header, arrays))
        found[name] = hashlib.sha256(data).hexdigest()[:32]
    return found


def _on_shared(
    about: About,
    ratings: Ratings,
    ranker: PersonalRanker,
    judge: Judge,
    table: Table,
) -> Plan:
    if table.features is not None:
        raise TypeError(
            f"{WHO}: features must be None with a PersonalRanker, which has its own; "
            f"got an object of type {type(table.features).__name__}."
        )
    table.check_without_viewers("a PersonalRanker, which has its own")
    if not hasattr(ranker, "_shared"):
        about = about | {"shared": None}
        everybody = np.arange(ratings.n_items)

        def learnt() -> bytes:
            return bytes(clone(ranker).fit(ratings).to_bytes())

        return Plan(about, learnt, _task_on_shared(ratings, everybody, True, judge))
    places = ranker._ratings._items.positions(WHO, ratings.items)
    is_its_own = fingerprint(WHO, ranker._ratings) == about["ratings"]
    data = without_people(ranker).to_bytes()
    about = about | {"shared": hashlib.sha256(data).hexdigest()}
    task = _task_on_shared(ratings, places, is_its_own, judge)
    return Plan(about, lambda: data, task)


def _task_on_shared(
    ratings: Ratings, places: Ints, is_its_own: bool, judge: Judge
) -> Callable[[bytes | None], Task]:
    def task(data: bytes | None) -> Task:
        ranker = shared_ranker(data)
        if is_its_own:
            ranker._publish(ratings, ranker._shared)  # one copy of the same ratings
        return OnShared(ranker, ratings, places, is_its_own, judge)

    return task


def _on_rows(
    about: About, ratings: Ratings, estimator: Any, judge: Judge, table: Table
) -> Plan:
    takes_nan = bool(get_tags(estimator).input_tags.allow_nan)
    own = np.full(ratings.n_users, -1, dtype=np.intp)
    if table.features is not None:
        table.check_without_viewers("features, which are taken as they are")
        features = _given(table.features, ratings.n_items, takes_nan)
        about = about | {"features": fingerprint(WHO, features)}
    else:
        fill = table.fill
        if fill is None:
            fill = "abstain" if takes_nan else "median"
        check_fill_and_center(WHO, fill, table.center)
        if fill == "abstain" and not takes_nan:
            raise ValueError(
                f"{WHO}: fill must be 'median', 'mean' or 'zero' for an estimator that "
                f"takes no NaN; got 'abstain' with {estimator!r}."
            )
        rows = _reference_rows(ratings, table.references)
        viewers = ratings.restrict(users=ratings.users[rows])
        check_fillable(WHO, viewers, fill)
        features = viewer_table(ratings, viewers, viewers, fill, table.center)
        own[rows] = np.arange(len(rows))
        is_number = isinstance(table.center, Real)
        about = about | {
            "references": id_list(viewers.users),
            "fill": fill,
            "center": float(table.center) if is_number else table.center,
        }
    task = OnRows(clone(estimator), ratings, features, own, judge)
    return Plan(about, lambda: None, lambda data: task)


def _given(features: Any, n_items: int, takes_nan: bool) -> Any:
    found = check_array(
        features,
        accept_sparse="csr",
        dtype=np.float64,
        ensure_all_finite="allow-nan" if takes_nan else True,
        input_name="features",
    )
    if found.shape[0] != n_items:
        raise DataError(
            f"{WHO}: features must have a row for each of the {n_items:,} items; got "
            f"{found.shape[0]:,} rows."
        )
    return found


def _reference_rows(ratings: Ratings, references: Any) -> Ints:
    if references is None:
        references = _REFERENCES
    if isinstance(references, Integral):
        _COUNT.check(WHO, "references", references)
        # As many with ratings as there are.
        most = np.argsort(-ratings.per_user, kind="stable")
        return most[ratings.per_user[most] > 0][: int(references)]
    rows = ratings._users.positions(f"{WHO}: references", references)
    if len(rows) == 0:
        raise DataError(
            f"{WHO}: references must be a number, or name somebody; got none."
        )
    return rows
