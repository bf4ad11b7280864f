"""What a column is for, why, and how it is found: as given, or by its usual names."""

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import NamedTuple, overload

from peckorder._core.errors import refusal
from peckorder._core.validation import did_you_mean
from peckorder.tables.columns import Columns, check_column, listed


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


@overload
def column_of(columns: Columns, what: str, given: str | None, usual: Iterable[str]) -> str: ...
@overload
def column_of(
    columns: Columns, what: str, given: str | None, usual: Iterable[str], *, optional: bool
) -> str | None: ...
def column_of(
    columns: Columns, what: str, given: str | None, usual: Iterable[str], *, optional: bool = False
) -> str | None:
    """Return the column that was named, or the first that has a usual name."""
    if given is not None:
        check_column(columns, what, given)
        return given
    small = {name.lower(): name for name in reversed(columns.names)}
    for word in usual:
        if word in small:
            return small[word]
    if optional:
        return None
    raise refusal(
        columns.source,
        f"have a column of the {what}, which has {listed(columns.names)}",
        "none by its usual names",
        hint=f"Add --{what} NAME.",
    )


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


def find_row_roles(
    names: Sequence[str],
    where: str,
    *,
    target: object,
    qid: object = None,
    weight: object = None,
    features: object = None,
) -> RowRoles:
    """Return the columns of each role, as given; without `features` all others are."""
    for role, name in (("target", target), ("qid", qid), ("weight", weight)):
        if name is not None or role == "target":
            check_one_column(role, name, names, where)
    others = [str(name) for name in (target, qid, weight) if name is not None]
    if len(set(others)) < len(others):
        raise refusal("target, qid and weight", "be different columns", repr(others))
    if features is None:
        features = [name for name in names if name not in others]
    elif isinstance(features, str) or not isinstance(features, Iterable):
        raise refusal("features", "be None or a list of columns", repr(features), error=TypeError)
    wanted = list(features)
    for name in wanted:
        check_one_column("features", name, names, where)
        if name in others or wanted.count(name) > 1:
            raise refusal("features", "be columns of their own, each once", f"{name!r} again")
    if not wanted:
        raise refusal("features", "be one column at least", "none")
    return RowRoles(
        tuple(wanted),
        str(target),
        None if qid is None else str(qid),
        None if weight is None else str(weight),
    )


def check_one_column(role: str, name: object, names: Sequence[str], where: str) -> None:
    """Refuse a column that a file does not have, or has twice."""
    if not isinstance(name, str):
        raise refusal(role, "be the name of a column", repr(name), error=TypeError)
    count = list(names).count(name)
    if count == 0:
        few = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
        raise refusal(
            role,
            f"be a column of {where!r}, which has {few}",
            repr(name),
            hint=did_you_mean(name, names, {}),
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
