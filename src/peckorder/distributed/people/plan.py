"""What a run of `fit_people` is to do: all checked before anybody is trained."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from reprlib import repr as short
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_array, get_tags

from peckorder._core.errors import caller, named, refusal
from peckorder._core.typing import Estimator, Ints, Matrix, MatrixLike
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
from peckorder.distributed.people.tasks import HeldOut, OnRows, OnShared, Task
from peckorder.feedback import Ratings, fingerprint, id_list
from peckorder.metrics import metrics_by_name
from peckorder.storage.format import Contents, pack, to_bytes
from peckorder.storage.mixin import MODELS
from peckorder.storage.models import parameters_of

# Reference viewers by default.
_REFERENCES: Final = 300


@dataclass(frozen=True, eq=False)
class Plan:
    """A run: what identifies it, what models share, and what workers get.

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
