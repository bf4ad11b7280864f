"""Personal rankers as files: ratings, what is shared, and the people learnt so far."""

from copy import copy
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from peckorder._core.typing import Floats, Ints
from peckorder.collaborative.personal.item_kernel import ItemKernel
from peckorder.collaborative.personal.models import (
    ConstantModel,
    EstimatorOnFeatures,
    EstimatorOnKernel,
    KernelModel,
    People,
    Person,
    PersonModel,
    SharedModel,
    ShiftModel,
)
from peckorder.feedback import Ids, Ratings, id_list, read_only
from peckorder.storage.fields import (
    Field,
    FieldType,
    Table,
    floats,
    ints,
    nested,
    nullable,
    number,
    sparse,
)
from peckorder.storage.format import Contents, Node, from_bytes, pack, to_bytes
from peckorder.storage.format.labels import as_objects, write_labels
from peckorder.storage.mixin import inner_models
from peckorder.storage.models import document, read_document

if TYPE_CHECKING:
    from peckorder.collaborative import PersonalRanker

# The items that a person rated, and the ratings, by user.
_Changed: TypeAlias = dict[Any, tuple[Ints, Floats]]
_KINDS: tuple[type, ...] = (
    ConstantModel,
    ShiftModel,
    KernelModel,
    EstimatorOnFeatures,
    EstimatorOnKernel,
)
_NOTHING = np.zeros(0, dtype=np.int64)


def _ids(size: str) -> FieldType:
    """Return the type of distinct ids."""

    def read(node: Node, name: str) -> Any:
        ids = node.labels(name, size)
        try:
            if len(set(id_list(ids))) == len(ids):
                return ids
        except TypeError:  # not hashable
            pass
        raise node.refuse(name, "distinct ids")

    return FieldType(read, write_labels)


# What is shared.

_KERNEL = Table(
    Field("factors", floats("items", None)),
    Field("viewers", sparse("viewers", "items", kinds="f4", form="csc")),
    Field("held", nullable(floats("items", "items", kinds="f4"))),
)
_SHARED = (Field("means", floats("items")), Field("noise", number(low=0.0)))
_BY_KERNEL = Table(*_SHARED, Field("kernel", nested(_KERNEL, ItemKernel)))
_BY_REFERENCES = Table(
    *_SHARED,
    Field("features", floats("items", "references")),
    Field("references", ints("references", below="users")),
)


def _write_shared(shared: SharedModel) -> dict[str, Any]:
    return (_BY_REFERENCES if shared.kernel is None else _BY_KERNEL).write(shared)


def _read_shared(node: Node, name: str) -> SharedModel:
    node = node.child(name, inherit=True)
    if node.has("kernel"):
        node.sizes["viewers"] = 2 * node.sizes["users"]
        values = _BY_KERNEL.read(node)
        features = values["kernel"].factors
        return SharedModel(**values, features=features, references=None)
    values = _BY_REFERENCES.read(node)
    values["references"] = values["references"].astype(np.intp)
    return SharedModel(**values, kernel=None)


# People: the items that each rated, one person after another. Their classes differ, so
# that these few arrays have a writer and a reader in place of a table.


def _ends(parts: list[Ints]) -> Ints:
    return np.cumsum([0, *map(len, parts)], dtype=np.int64)


def _write_changed(changed: _Changed) -> dict[str, Any]:
    rated = [rated for rated, _ in changed.values()]
    values = [values for _, values in changed.values()]
    return {
        "users": write_labels(as_objects(list(changed))),
        "ends": _ends(rated),
        "rated": np.concatenate([_NOTHING, *rated]),
        "values": np.concatenate([np.zeros(0), *values]),
    }


def _write_people(people: dict[Any, PersonModel]) -> dict[str, Any]:
    persons: list[Any] = list(people.values())
    rated = [getattr(one, "rated", _NOTHING) for one in persons]
    coef = [
        getattr(one, "coef", np.zeros(len(items)))
        for one, items in zip(persons, rated, strict=True)
    ]
    shifts = [getattr(one, "shift", getattr(one, "intercept", 0.0)) for one in persons]
    models = [one.estimator for one in persons if hasattr(one, "estimator")]
    return {
        "users": write_labels(as_objects(list(people))),
        "kinds": np.array([_KINDS.index(type(one)) for one in persons], dtype=np.uint8),
        "shifts": np.array(shifts, dtype=np.float64),
        "ridges": np.array([getattr(one, "ridge", 0.0) for one in persons], np.float64),
        "ends": _ends(rated),
        "rated": np.concatenate([_NOTHING, *rated]),
        "coef": np.concatenate([np.zeros(0), *coef]),
        "models": [document(model) for model in models],
    }


def _read_lists(node: Node) -> list[tuple[Any, slice, Ints]]:
    """Return per user where the rated items are, and the items in ascending order."""
    users = id_list(_ids("people").read(node, "users"))
    rated = node.ints("rated", "rated", below="items").astype(np.intp)
    ends = node.pointers("ends", len(rated), len(users) + 1).tolist()
    parts = [slice(*both) for both in pairwise(ends)]
    if not all((np.diff(rated[part]) > 0).all() for part in parts):
        raise node.refuse("rated", "strictly ascending for each user")
    return [(u, part, rated[part]) for u, part in zip(users, parts, strict=True)]


def _read_changed(parent: Node, name: str) -> _Changed:
    node = parent.child(name)
    node.sizes["items"] = parent.sizes["items"]
    lists = _read_lists(node)
    values = node.floats("values", "rated")
    return {user: (rated, values[part]) for user, part, rated in lists}


def _read_people(parent: Node, name: str) -> dict[Any, PersonModel]:
    shared: SharedModel = parent.values["_shared"]
    rows = parent.values.get("rows")
    if rows is None:  # of a whole file; one person is read in constant time
        rows = {user: k for k, user in enumerate(id_list(parent.values["users"]))}
    node = parent.child(name)
    node.sizes["items"] = parent.sizes["items"]
    lists = _read_lists(node)
    kinds = node.ints("kinds", len(lists), kinds="u1", below=len(_KINDS)).tolist()
    shifts = node.floats("shifts", len(lists)).tolist()
    ridges = node.floats("ridges", len(lists)).tolist()
    coef = node.floats("coef", "rated")
    models = iter(node.children("models"))
    people: dict[Any, PersonModel] = {}
    for (user, part, rated), code, shift, ridge in zip(lists, kinds, shifts, ridges, strict=True):
        kind, kernel = _KINDS[code], shared.kernel
        if kind in (ConstantModel, ShiftModel):
            people[user] = kind(shift)
        elif kind is KernelModel and kernel is not None:
            people[user] = KernelModel(kernel, rated, coef[part], shift, ridge)
        else:
            model = next(models, None)
            if model is None:
                raise node.refuse("models", "as many as people need")
            estimator = read_document(model, inner_models())
            features = shared.features_for(rows.get(user))
            width = features.shape[1] if kind is EstimatorOnFeatures else len(rated)
            if estimator.n_features_in_ != width or (
                kind is not EstimatorOnFeatures and kernel is None
            ):
                raise node.refuse("models", "of features, or of kernels, that there are")
            if kind is EstimatorOnFeatures:
                people[user] = EstimatorOnFeatures(estimator, features)
            elif kernel is not None:
                people[user] = EstimatorOnKernel(estimator, kernel, rated)
    return people


def _changed_people(owner: Any) -> _Changed:
    people = owner._people.items()
    return {user: person.ratings for user, person in people if person.ratings is not None}


def _learnt_people(owner: Any) -> dict[Any, PersonModel]:
    people = owner._people.items()
    return {user: person.model for user, person in people if person.model is not None}


def _people(node: Node) -> dict[Any, Person]:
    """Take the ratings and the models of people out of what was read."""
    changed, models = node.values.pop("changed"), node.values.pop("people")
    users = dict.fromkeys([*models, *changed])
    return {user: Person(changed.get(user), models.get(user)) for user in users}


_CHANGED = Field("changed", FieldType(_read_changed, _write_changed), _changed_people)
_PEOPLE = Field("people", FieldType(_read_people, _write_people), _learnt_people)


def _complete(node: Node) -> None:
    users, items = node.values.pop("users"), node.values.pop("items")
    csr = node.values.pop("ratings")
    if len(csr.data) == 0:
        raise node.refuse("ratings", "one rating at least")
    ids = Ids("user", read_only(users)), Ids("item", read_only(items))
    node.owner._publish(Ratings._of(*ids, csr), node.values["_shared"])
    node.values["_people"] = People(_people(node))


class _OfOneMoment(Table):
    """The fields of a ranker whose people other threads may change meanwhile."""

    def write(self, owner: Any) -> dict[str, Any]:
        """Write a copy, in which ratings and models belong together."""
        return super().write(copy(owner))


PERSONAL = _OfOneMoment(
    Field("users", _ids("users"), attrgetter("_ratings.users")),
    Field("items", _ids("items"), attrgetter("_ratings.items")),
    Field("ratings", sparse("users", "items", kinds="f8", rising=True), attrgetter("_ratings.csr")),
    Field("shared", FieldType(_read_shared, _write_shared), "_shared"),
    _CHANGED,
    _PEOPLE,
    complete=_complete,
)


def person_bytes(user: Any, learnt: PersonModel, rated: tuple[Ints, Floats] | None = None) -> bytes:
    """Return what was learnt of one person, without what is shared.

    With what the person rated, where the ranker does not know it.
    """
    arrays: list[Any] = []
    entries = {
        "people": _write_people({user: learnt}),
        "changed": _write_changed({} if rated is None else {user: rated}),
    }
    header = pack(entries, arrays)
    return to_bytes(Contents(header, arrays))


def add_person(model: "PersonalRanker", data: bytes) -> None:
    """Add a person from `person_bytes` to a ranker; raise Damaged."""
    node = Node.of(*from_bytes(data))
    node.sizes["items"] = model._ratings.n_items
    node.values |= {"_shared": model._shared, "rows": model._rows}
    Table(_CHANGED, _PEOPLE).read(node)
    node.close()
    model._people.update(_people(node))


def without_people(model: "PersonalRanker") -> "PersonalRanker":
    """Return a ranker with the same shared model and ratings that knows nobody yet.

    Nothing of what is shared is copied.
    """
    bare = copy(model)
    bare._people = People()
    return bare
