"""What streams need of pyarrow, which is loaded when it is asked for."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from peckorder._core.validation import did_you_mean
from peckorder.exceptions import DataError, MissingExtraError
from peckorder.streams.block import Block

# Rows that are moved at a time: as many as stay in a cache while columns become rows.
_STRIP = 1024
# Digits of a whole number that fits in 64 bits whatever they are.
_DIGITS = 18


def pyarrow(who: str) -> Any:
    """Load the package, or say how it is installed."""
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtraError(
            f"{who}: pyarrow must be installed for this; "
            'pip install "peckorder[frames]" brings it.'
        ) from None
    return pa


class Roles(NamedTuple):
    """Which column is for what."""

    features: tuple[str, ...]
    target: str
    qid: str | None
    weight: str | None

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        others = [name for name in self[1:] if name is not None]
        return [*self.features, *others]


def find_roles(
    who: str,
    names: Sequence[str],
    features: Any,
    target: Any,
    qid: Any,
    weight: Any,
    where: Path,
) -> Roles:
    """Return the columns of each role; without features, these are all others."""
    for role, name in (("target", target), ("qid", qid), ("weight", weight)):
        if name is not None or role == "target":
            check_column(who, role, name, names, where)
    apart = [name for name in (target, qid, weight) if name is not None]
    if len(set(apart)) < len(apart):
        raise DataError(
            f"{who}: target, qid and weight must be different columns; got {apart!r}."
        )
    if features is None:
        features = [name for name in names if name not in apart]
    elif isinstance(features, str) or not isinstance(features, Iterable):
        raise TypeError(
            f"{who}: features must be None or a list of columns; got {features!r}."
        )
    features = list(features)
    for name in features:
        check_column(who, "features", name, names, where)
        if name in apart or features.count(name) > 1:
            raise DataError(
                f"{who}: features must be columns of their own, each once; got "
                f"{name!r} again."
            )
    if not features:
        raise DataError(f"{who}: features must be one column at least; got none.")
    return Roles(tuple(features), target, qid, weight)


def check_column(
    who: str, role: str, name: Any, names: Sequence[str], where: Path
) -> None:
    """Refuse a column that a file does not have, or has twice."""
    if not isinstance(name, str):
        raise TypeError(f"{who}: {role} must be the name of a column; got {name!r}.")
    count = list(names).count(name)
    if count == 0:
        few = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
        raise DataError(
            f"{who}: {role} must be a column of {where.name!r}, which has {few}; got "
            f"{name!r}.{did_you_mean(name, names, {})}"
        )
    if count > 1:
        raise DataError(
            f"{who}: {role} must be one column of {where.name!r}; got {name!r}, of "
            f"which there are {count}."
        )


def check_no_more(
    who: str, roles: Roles, names: Sequence[str], where: Path, first: Path
) -> None:
    """Refuse a file with a column that the first has not: it might be a feature."""
    more = [name for name in names if name not in roles.columns]
    if more:
        raise DataError(
            f"{who}: every file must have the columns of {first.name!r}, and no others "
            f"unless features names some; got {more[0]!r} in {where.name!r}."
        )


def is_number(pa: Any, kind: Any) -> bool:
    """Tell whether a type of Arrow is one of numbers."""
    t = pa.types
    is_plain = t.is_integer(kind) or t.is_floating(kind) or t.is_boolean(kind)
    return bool(is_plain or t.is_decimal(kind))


def check_numbers(who: str, pa: Any, schema: Any, roles: Roles, where: Path) -> None:
    """Refuse features and weights that are no numbers."""
    for name in [*roles.features, *([roles.weight] if roles.weight else [])]:
        kind = schema.field(name).type
        if not is_number(pa, kind):
            raise DataError(
                f"{who}: column {name!r} of {where.name!r} must be numbers; got {kind}."
            )


def block_of(pa: Any, batch: Any, roles: Roles, dtype: Any) -> Block:
    """Return the rows of a record batch."""
    X = np.empty((batch.num_rows, len(roles.features)), dtype=dtype)
    columns = [numbers_of(pa, batch.column(name)) for name in roles.features]
    for first in range(0, len(X), _STRIP):
        some = slice(first, first + _STRIP)
        strip = X[some]
        for place, column in enumerate(columns):
            strip[:, place] = column[some]
    weight = roles.weight
    return Block(
        X,
        values_of(pa, batch.column(roles.target)),
        None if roles.qid is None else queries_of(pa, batch.column(roles.qid)),
        None
        if weight is None
        else numbers_of(pa, batch.column(weight)).astype(np.float64),
    )


def numbers_of(pa: Any, column: Any) -> NDArray[Any]:
    """Return numbers; what is missing is NaN."""
    column = _decoded(pa, column)
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        column = column.cast(pa.float64())
    return column.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def queries_of(pa: Any, column: Any) -> NDArray[Any]:
    """Return queries; what is missing is NaN, NaT or None.

    Decimals are whole numbers or texts by their type alone: as float64, two queries
    that differ in a late digit would be one.
    """
    column = _decoded(pa, column)
    kind = column.type
    if pa.types.is_decimal(kind):
        if kind.bit_width < 128:  # of these pyarrow makes no larger integers
            column = column.cast(pa.decimal128(kind.precision, kind.scale))
        is_whole = kind.scale <= 0 and kind.precision - kind.scale <= _DIGITS
        column = column.cast(pa.int64() if is_whole else pa.string())
    return values_of(pa, column)


def values_of(pa: Any, column: Any) -> NDArray[Any]:
    """Return labels; what is missing is NaN, NaT or None."""
    column = _decoded(pa, column)
    kind = column.type
    if pa.types.is_decimal(kind) or pa.types.is_null(kind):
        column = column.cast(pa.float64())
    is_other = pa.types.is_temporal(kind) or pa.types.is_nested(kind)
    if is_other or is_number(pa, kind) or column.null_count:
        # Views would keep the whole batch.
        return np.array(column.to_numpy(zero_copy_only=False))
    # Equal texts are decoded once.
    encoded = column.dictionary_encode()
    names = np.array(encoded.dictionary.to_pylist() or [""])
    return names[encoded.indices.to_numpy(zero_copy_only=False)]  # type: ignore[no-any-return]


def _decoded(pa: Any, column: Any) -> Any:
    """Return a column as values of a plain type."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
