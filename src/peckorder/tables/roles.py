"""What a column is for, why, and how it is found: as given, or by its usual names."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum
from numbers import Integral
from typing import Any, Final, NamedTuple, Self

import numpy as np

from peckorder._core import column_names as words
from peckorder._core.cells import number_of
from peckorder._core.errors import refusal
from peckorder._core.parameters import did_you_mean
from peckorder._core.typing import Array
from peckorder.tables.columns import Columns, check_column, is_empty, listed, numeric

# The reason for a role that a model knows by the name of its column.
AS_LEARNT: Final = "as the model learnt"


class Role(Enum):
    """What a column is for. The value is what reports call it."""

    TARGET = "to predict"
    KNOWN_TARGET = "target"
    RATING = "rating"
    QUERY = "query"
    DOCUMENT = "document"
    USER = "user"
    GROUP = "person, kept whole"
    ITEM = "item"
    BETTER = "the better item"
    WORSE = "the worse item"
    WEIGHT = "weight of the pair"
    SIZE = "by how much it is better"
    SCORE = "score"
    PREDICTED = "predicted class"
    RUN = "run"
    FEATURE = "feature"
    TEXT_FEATURES = "features"
    IGNORED = "left out"

    @property
    def is_feature(self) -> bool:
        """Whether a model learns from the column, as one feature or as several."""
        return self in (Role.FEATURE, Role.TEXT_FEATURES)


class ColumnRole(NamedTuple):
    """The role of a column, and the reason for it."""

    column: str
    role: Role
    why: str


# As the name of a column: there is none for the role.
NONE: Final = "none"


def given_columns(columns: Columns, options: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return the columns that were given for roles, None for a role without a column.

    A role without a column is given by the empty text, or by "none" unless a column is
    called so. Roles of which nothing was said are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from peckorder.tables.columns import Columns
    >>> from peckorder.tables.roles import given_columns
    >>> table = Columns({"size": np.arange(3)}, "sizes.csv")
    >>> given_columns(table, {"target": "size", "qid": "none", "user": None})
    {'target': 'size', 'qid': None}
    """
    found: dict[str, str | None] = {}
    for role, name in options.items():
        if name is None:
            continue
        found[role] = None if is_unset(name, columns.names) else name
        if found[role] is not None:
            check_column(columns, role, name)
    return found


def is_unset(name: str | None, names: Collection[str]) -> bool:
    """Return whether the name of a column says that there is none."""
    return name == "" or (name == NONE and NONE not in names)


class Found(NamedTuple):
    """A column that was found by its name, if there is one, and what is to be noted."""

    column: str | None
    notes: tuple[str, ...] = ()


def find_query(columns: Columns, names: Sequence[str], *, has_lists: bool = False) -> Found:
    """Find queries by their usual names: whole numbers, or text, with several rows each.

    Where the name may mean something else, as ``q``, the rows of one stand together.
    `has_lists`: whatever their number of rows, as in a file that is ranked, which may
    have one query, or in one block of it.
    """
    candidates = _by_strength(names, words.QUERY)
    wrong = {name: why for name in candidates if (why := _no_query(columns, name, has_lists))}
    found = [name for name in candidates if name not in wrong]
    notes = [
        f"{name}: not taken for queries, {why} (--qid {name!r} if they are)."
        for name, why in wrong.items()
        if not has_lists
    ]
    return Found(next(iter(found), None), (*notes, *_others("qid", found, "queries")))


def _no_query(columns: Columns, name: str, has_lists: bool) -> str:
    """Return why the values of a column cannot be those of queries; empty if they can."""
    array = columns.arrays[name]
    known = array[~is_empty(array)]
    numbers = known if numeric(array) else [n for n in map(number_of, known.tolist()) if n]
    if not all(float(number).is_integer() for number in np.unique(np.asarray(numbers)).tolist()):
        return "since not all are whole"
    is_sure = words.first_named([name], words.SURE) is not None
    if has_lists and is_sure:
        return ""
    values, count = np.unique(known if numeric(array) else known.astype(str), return_counts=True)
    n_runs = 1 + int((known[1:] != known[:-1]).sum())
    is_scattered = not is_sure and n_runs > 2 * len(values)
    if len(values) < 2:
        return "" if has_lists else "since there is one only"
    if 2 * int(count[count > 1].sum()) < len(known):
        return "since most have one row"
    return "since rows of one do not stand together" if is_scattered else ""


def _refuse_pairs(columns: Columns) -> None:
    """Refuse a table that has pairs of items and nothing else."""
    found = words.pair_columns(columns.names)
    if "better" in found and set(found.values()) == set(columns.names):
        raise refusal(
            columns.source,
            "be rows with features and something to predict",
            f"pairs of items, {', '.join(map(repr, columns.names))}",
            hint="Give the features of items, by --items FILE; without any there is "
            "peckorder.rank_items. If they are no pairs, add --target NAME.",
        )


def find_people(columns: Columns, names: Sequence[str]) -> str | None:
    """Find people by their usual names, of whom most have several rows."""
    found = words.first_named(names, words.USER)
    if found is None:
        return None
    count = np.unique(columns.arrays[found].astype(str), return_counts=True)[1]
    return found if 2 * int(count[count > 1].sum()) >= len(columns) else None


def find_target(columns: Columns, names: Sequence[str], *, may_drop: bool = True) -> Found:
    """Find what is to be predicted by its usual names; sure names come first.

    `may_drop`: other columns with such a name are features, unless they are left out.
    """
    _refuse_pairs(columns)
    found = _by_strength(names, words.TARGET)
    found.sort(key=lambda name: not _differs(columns.arrays[name]))
    notes = _others("target", found, "what is to be predicted")
    if notes and may_drop:
        drop = " ".join(f"--drop {name!r}" for name in found[1:])
        notes = (f"{notes[0]} If it is not known before, {drop}.",)
    return Found(next(iter(found), None), notes)


def _differs(array: Array) -> bool:
    known = array[~is_empty(array)]
    return len(known) > 0 and bool((known != known[0]).any())


def _by_strength(names: Sequence[str], usual: frozenset[str]) -> list[str]:
    """Return the columns with usual names, those with sure names first."""
    found = [name for name in names if words.first_named([name], usual)]
    return sorted(found, key=lambda name: words.first_named([name], words.SURE) is None)


def _others(option: str, found: Sequence[str], what: str) -> tuple[str, ...]:
    """Note that others than the first column have such a name."""
    if len(found) < 2:
        return ()
    others = ", ".join(map(repr, found[1:]))
    return (f"{found[0]!r} was taken for {what}; {others} could be that, too (--{option} NAME).",)


def find_column(columns: Columns, what: str, given: str | None, usual: Iterable[str]) -> str | None:
    """Return the column that was given, or the first that has a usual name, or None."""
    if given is not None:
        check_column(columns, what, given)
        return given
    small = {name.lower(): name for name in reversed(columns.names)}
    return next((small[word] for word in usual if word in small), None)


def column_of(columns: Columns, what: str, given: str | None, usual: Iterable[str]) -> str:
    """Return the column that was given, or the first that has a usual name."""
    found = find_column(columns, what, given, usual)
    if found is None:
        raise refusal(
            columns.source,
            f"have a column of the {what}, which has {listed(columns.names)}",
            "none by its usual names",
            hint=f"Add --{what} NAME.",
        )
    return found


class RowRoles(NamedTuple):
    """The columns that rows for learning are made of."""

    features: tuple[str, ...]
    target: str
    qid: str | None
    weight: str | None

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        others = (self.target, self.qid, self.weight)
        return [*self.features, *(name for name in others if name is not None)]


class GivenRoles(NamedTuple):
    """Columns as the user names them: by role, None for none; features None for all others."""

    columns: Mapping[str, Any]
    features: tuple[Any, ...] | None

    @classmethod
    def of(cls, features: object, **columns: Any) -> Self:
        """Check names; `columns` has target, query and weight, by the names of parameters."""
        for role, name in columns.items():
            if name is not None or role == "target":
                _check_label(role, name)
        given = [name for name in columns.values() if name is not None]
        if len(set(given)) < len(given):
            *roles, last = columns
            raise refusal(f"{', '.join(roles)} and {last}", "be different columns", repr(given))
        if features is None:
            return cls(columns, None)
        if isinstance(features, str) or not isinstance(features, Iterable):
            rule, got = "be None or a list of columns", repr(features)
            raise refusal("features", rule, got, error=TypeError)
        wanted = tuple(features)
        for name in wanted:
            _check_label("features", name)
            if name in given or wanted.count(name) > 1:
                raise refusal("features", "be columns of their own, each once", f"{name!r} again")
        return cls(columns, wanted)

    def find(self, names: Sequence[Any], where: str) -> RowRoles:
        """Return the columns of each role among the names of a table."""
        for role, name in self.columns.items():
            if name is not None:
                check_one_column(role, name, names, where)
        others = self.columns.values()
        features = self.features
        if features is None:
            features = tuple(name for name in names if name not in others)
        for name in features:
            check_one_column("features", name, names, where)
        if not features:
            raise refusal("features", "be one column at least", "none")
        return RowRoles(features, *others)


def _check_label(role: str, name: object) -> None:
    """Refuse labels that no column has; those of pandas may be whole numbers."""
    if not isinstance(name, str | Integral):
        raise refusal(role, "be the name of a column", repr(name), error=TypeError)


def check_one_column(role: str, name: object, names: Sequence[Any], where: str) -> None:
    """Refuse a column that a file does not have, or has twice."""
    count = list(names).count(name)
    if count == 0:
        few = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
        raise refusal(
            role,
            f"be a column of {where!r}, which has {few}",
            repr(name),
            hint=did_you_mean(name, map(str, names), {}),
        )
    if count > 1:
        raise refusal(role, f"be one column of {where!r}", f"{name!r}, of which there are {count}")


def check_same_columns(
    roles: RowRoles, names: Sequence[str], where: str, first: str, *, may_have_more: bool
) -> None:
    """Refuse a file that lacks a column of the first, or has another one."""
    for name in roles.columns:
        check_one_column("every column", name, names, where)
    more = [name for name in names if name not in roles.columns]
    if more and not may_have_more:
        raise refusal(
            "every file",
            f"have the columns of {first!r}, and no others unless features names some",
            f"{more[0]!r} in {where!r}",
        )
