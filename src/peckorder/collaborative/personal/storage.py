"""Personal rankers as files: ratings, what is shared, and the people learnt so far."""

from copy import copy
from itertools import pairwise
from typing import Any

import numpy as np

from peckorder._core.typing import Ints
from peckorder.collaborative.personal.item_kernel import ItemKernel
from peckorder.collaborative.personal.models import (
    ConstantModel,
    EstimatorOnFeatures,
    EstimatorOnKernel,
    KernelModel,
    PersonModel,
    SharedModel,
    ShiftModel,
)
from peckorder.feedback import Ids, Ratings, id_list, read_only
from peckorder.storage.format import Contents, Node, from_bytes, pack, to_bytes
from peckorder.storage.format.labels import as_objects
from peckorder.storage.format.packing import labels
from peckorder.storage.mixin import inner_models
from peckorder.storage.models import (
    document,
    read_document,
)

_KINDS: tuple[type, ...] = (
    ConstantModel,
    ShiftModel,
    KernelModel,
    EstimatorOnFeatures,
    EstimatorOnKernel,
)
_NOTHING = np.zeros(0, dtype=np.int64)


def personal_state(model: Any) -> dict[str, Any]:
    """Return the ratings, what is shared, and people."""
    ratings = model._ratings
    return {
        "users": labels(ratings.users),
        "items": labels(ratings.items),
        "ratings": ratings.csr,
        "shared": _of_shared(model._shared),
        "changed": _of_changed(model._changed),
        "people": _of_people(model._people),
    }


def restore_personal(model: Any, node: Node) -> None:
    """Take back what `personal_state` returned."""
    ratings = _ratings(node)
    shared = _shared(node.child("shared"), ratings)
    model._publish(ratings, shared)
    model._changed = _changed(node.child("changed"), ratings.n_items)
    model._people = _people(node.child("people"), shared, ratings, model._rows)


def person_bytes(
    user: Any, learnt: PersonModel, rated: tuple[Ints, Any] | None = None
) -> bytes:
    """Return what was learnt of one person, without what is shared.

    With what the person rated, where the ranker does not know it.
    """
    arrays: list[Any] = []
    header = pack(
        {
            "people": _of_people({user: learnt}),
            "changed": _of_changed({} if rated is None else {user: rated}),
        },
        arrays,
    )
    return to_bytes("PersonalRanker", Contents(header, arrays))


def take_person(model: Any, data: bytes) -> None:
    """Let a ranker know a person from `person_bytes`; raise Damaged."""
    node = Node.of(*from_bytes(data))
    changed = _changed(node.child("changed"), model._ratings.n_items)
    people = _people(node.child("people"), model._shared, model._ratings, model._rows)
    node.close()
    model._changed.update(changed)
    model._people.update(people)


def without_people(model: Any) -> Any:
    """Return a ranker on the same shared part and ratings that knows nobody yet.

    O(1): nothing of what is shared is copied.
    """
    bare = copy(model)
    bare._changed, bare._people = {}, {}
    return bare


def _of_shared(shared: SharedModel) -> dict[str, Any]:
    state: dict[str, Any] = {"means": shared.means, "noise": float(shared.noise)}
    kernel = shared.kernel
    if kernel is None:
        return state | {"features": shared.features, "references": shared.references}
    names = ("factors", "viewers", "held")
    return state | {"kernel": {name: getattr(kernel, name) for name in names}}


def _of_changed(changed: dict[Any, tuple[Ints, Any]]) -> dict[str, Any]:
    rated = [rated for rated, _ in changed.values()]
    values = [values for _, values in changed.values()]
    return {
        "users": labels(as_objects(list(changed))),
        "ends": _ends(rated),
        "rated": np.concatenate([_NOTHING, *rated]),
        "values": np.concatenate([np.zeros(0), *values]),
    }


def _ends(parts: list[Ints]) -> Ints:
    return np.cumsum([0, *map(len, parts)], dtype=np.int64)


def _of_people(people: dict[Any, PersonModel]) -> dict[str, Any]:
    """Return all people in a few arrays, and estimators one by one."""
    known: list[Any] = list(people.values())
    rated = [getattr(one, "rated", _NOTHING) for one in known]
    coef = [
        getattr(one, "coef", np.zeros(len(items)))
        for one, items in zip(known, rated, strict=True)
    ]
    shifts = [getattr(one, "shift", getattr(one, "intercept", 0.0)) for one in known]
    models = [one.estimator for one in known if hasattr(one, "estimator")]
    return {
        "users": labels(as_objects(list(people))),
        "kinds": np.array([_KINDS.index(type(one)) for one in known], dtype=np.uint8),
        "shifts": np.array(shifts, dtype=np.float64),
        "ridges": np.array([getattr(one, "ridge", 0.0) for one in known], np.float64),
        "ends": _ends(rated),
        "rated": np.concatenate([_NOTHING, *rated]),
        "coef": np.concatenate([np.zeros(0), *coef]),
        "models": [document(model) for model in models],
    }


def _ratings(node: Node) -> Ratings:
    users, items = (_distinct(node, name) for name in ("users", "items"))
    csr = node.sparse("ratings", (len(users), len(items)), kinds="f8", rising=True)
    if len(csr.data) == 0:
        raise node.refuse("ratings", "one rating at least")
    return Ratings._of(
        Ids("user", read_only(users)), Ids("item", read_only(items)), csr
    )


def _distinct(node: Node, name: str) -> Any:
    ids = node.labels(name)
    try:
        if len(set(id_list(ids))) == len(ids):
            return ids
    except TypeError:  # not hashable
        pass
    raise node.refuse(name, "distinct ids")


def _shared(node: Node, ratings: Ratings) -> SharedModel:
    n_items = ratings.n_items
    means, noise = node.floats("means", n_items), node.number("noise", low=0.0)
    if node.has("kernel"):
        kernel = _kernel(node.child("kernel"), ratings)
        return SharedModel(means, noise, kernel, kernel.factors, None)
    features = node.floats("features", n_items, "references")
    references = node.ints("references", "references", below=ratings.n_users)
    return SharedModel(means, noise, None, features, references.astype(np.intp))


def _kernel(node: Node, ratings: Ratings) -> ItemKernel:
    n_items, shape = ratings.n_items, (2 * ratings.n_users, ratings.n_items)
    held = None
    factors = node.floats("factors", n_items, None)
    if node.has("held"):
        held = node.floats("held", n_items, n_items, kinds="f4")
    return ItemKernel(
        factors, node.sparse("viewers", shape, kinds="f4", form="csc"), held
    )


def _parts(node: Node, name: str, n_items: int) -> list[tuple[Any, slice, Ints]]:
    """Take who rated which items: user, where, items in ascending order."""
    users = id_list(_distinct(node, name))
    rated = node.ints("rated", "rated", below=n_items).astype(np.intp)
    ends = node.pointers("ends", len(rated), len(users) + 1).tolist()
    parts = [slice(*both) for both in pairwise(ends)]
    for part in parts:
        if not (np.diff(rated[part]) > 0).all():
            raise node.refuse("rated", "strictly ascending for each user")
    return [(u, part, rated[part]) for u, part in zip(users, parts, strict=True)]


def _changed(node: Node, n_items: int) -> dict[Any, tuple[Ints, Any]]:
    parts = _parts(node, "users", n_items)
    values = node.floats("values", "rated")
    return {user: (rated, values[part]) for user, part, rated in parts}


def _people(
    node: Node, shared: SharedModel, ratings: Ratings, rows: dict[Any, int]
) -> dict[Any, PersonModel]:
    parts = _parts(node, "users", ratings.n_items)
    kinds = node.ints("kinds", len(parts), kinds="u1", below=len(_KINDS)).tolist()
    shifts = node.floats("shifts", len(parts)).tolist()
    ridges = node.floats("ridges", len(parts)).tolist()
    coef = node.floats("coef", "rated")
    models, people = iter(node.children("models")), {}
    for (user, part, rated), code, shift, ridge in zip(
        parts, kinds, shifts, ridges, strict=True
    ):
        kind, kernel = _KINDS[code], shared.kernel
        person: PersonModel
        if kind in (ConstantModel, ShiftModel):
            person = kind(shift)
        elif kind is KernelModel and kernel is not None:
            person = KernelModel(kernel, rated, coef[part], shift, ridge)
        else:
            person = _by_estimator(node, models, shared, kind, rated, rows.get(user))
        people[user] = person
    return people


def _by_estimator(
    node: Node,
    models: Any,
    shared: SharedModel,
    kind: type,
    rated: Ints,
    row: int | None,
) -> PersonModel:
    """Take a person who was learnt by an estimator."""
    part = next(models, None)
    if part is None:
        raise node.refuse("models", "as many as people need")
    model = read_document(part, inner_models())
    features = shared.features_for(row)
    n_columns = features.shape[1] if kind is EstimatorOnFeatures else len(rated)
    if model.n_features_in_ != n_columns or (
        kind is not EstimatorOnFeatures and not shared.kernel
    ):
        raise node.refuse("models", "of features, or of kernels, that there are")
    if kind is EstimatorOnFeatures:
        return EstimatorOnFeatures(model, features)
    assert shared.kernel is not None
    return EstimatorOnKernel(model, shared.kernel, rated)
