"""What a column is for, why, and how it is found: as given, or by its usual names."""

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple, overload

from peckorder.exceptions import DataError
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
def column_of(
    who: str, columns: Columns, what: str, given: str | None, usual: Iterable[str]
) -> str: ...
@overload
def column_of(
    who: str,
    columns: Columns,
    what: str,
    given: str | None,
    usual: Iterable[str],
    *,
    optional: bool,
) -> str | None: ...
def column_of(
    who: str,
    columns: Columns,
    what: str,
    given: str | None,
    usual: Iterable[str],
    *,
    optional: bool = False,
) -> str | None:
    """Return the column that was named, or the first that has a usual name."""
    if given is not None:
        check_column(who, columns, what, given)
        return given
    small = {name.lower(): name for name in reversed(columns.names)}
    for word in usual:
        if word in small:
            return small[word]
    if optional:
        return None
    raise DataError(
        f"{who}: {columns.source} must have a column of the {what}, which has "
        f"{listed(columns.names)}; got none by its usual names. Add --{what} NAME."
    )
