"""Queries: which rows belong together."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from peckorder._typing import Ints, Labels
from peckorder.exceptions import DataError


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """The rows of each query, made contiguous.

    Query q has the rows ``order[offsets[q] : offsets[q + 1]]``, in the order in which
    they were given; if `order` is None they are ``offsets[q] : offsets[q + 1]`` as
    they stand. ids (n_queries,) are the queries in the order of their first rows.
    """

    offsets: Ints
    order: Ints | None
    ids: Labels

    @classmethod
    def of(cls, who: str, qid: Any, n_rows: int) -> Self:
        """Group rows by their query: one value a row, of any type, in any order.

        None stands for one query of all rows. O(n_rows) where the rows of each query
        stand together, else a sort.
        """
        if qid is None:
            return cls(np.array([0, n_rows]), None, np.zeros(1, dtype=np.int64))
        column, names = _column(who, qid)
        if len(column) != n_rows:
            raise DataError(
                f"{who}: qid must be one value a row, {n_rows} in all; got "
                f"{len(column)}."
            )
        # Runs of equal values are few beside the rows.
        is_start = np.ones(n_rows, dtype=bool)
        is_start[1:] = column[1:] != column[:-1]
        starts = np.flatnonzero(is_start)
        ends = np.append(starts[1:], n_rows)[: len(starts)]
        ids, first, code = np.unique(
            column[starts], return_index=True, return_inverse=True
        )
        by_first_row = np.argsort(first)
        ids = ids[by_first_row]
        if names is not None:
            ids = names[ids]
        if len(ids) == len(starts):
            return cls(np.append(starts, n_rows), None, ids)
        rank = np.empty_like(by_first_row)
        rank[by_first_row] = np.arange(len(ids))
        query = np.repeat(rank[code], ends - starts)
        sizes = np.bincount(query, minlength=len(ids))
        order = np.argsort(query, kind="stable")
        return cls(np.concatenate([[0], np.cumsum(sizes)]), order, ids)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> Ints:
        """The number of rows of each query."""
        return np.diff(self.offsets)

    def arrange(self, values: Any) -> Any:
        """Put values, one a row, in the order of queries; a view if they are in it."""
        return values if self.order is None else values[self.order]

    def restore(self, values: Any) -> Any:
        """Put values in the order of queries back in the order of rows."""
        if self.order is None:
            return values
        restored = np.empty_like(values)
        restored[self.order] = values
        return restored

    def of_rows(self) -> Ints:
        """Return the place of its query for each row, in the order of rows."""
        return self.restore(np.repeat(np.arange(len(self)), self.sizes))  # type: ignore[no-any-return]


def _column(who: str, qid: Any) -> tuple[Labels, Labels | None]:
    """Return values that can be sorted and, if they stand for others, these."""
    if isinstance(qid, str | bytes) or not isinstance(qid, Iterable):
        raise DataError(f"{who}: qid must be one value a row; got {qid!r}.")
    column = np.asarray(qid) if hasattr(qid, "dtype") else _listed(list(qid))
    if column.ndim != 1:
        raise DataError(
            f"{who}: qid must be one-dimensional; got an array of shape {column.shape}."
        )
    if column.dtype.kind in "fMm":
        # A missing number, or date, is the only value that differs from itself.
        _check_gaps(who, column, column != column)  # noqa: PLR0124
    if column.dtype.kind != "O":
        return column, None
    values = column.tolist()
    _check_gaps(who, column, np.array([_is_gap(v) for v in values], dtype=bool))
    # Such values may not be comparable: each becomes its place among all of them.
    known: dict[Any, int] = {}
    try:
        codes = [known.setdefault(value, len(known)) for value in values]
    except TypeError as error:
        raise DataError(f"{who}: qid must be hashable values; got {error}.") from None
    names = np.empty(len(known), dtype=object)
    names[:] = list(known)
    return np.array(codes, dtype=np.int64), names


def _is_gap(value: Any) -> bool:
    """Tell a missing value, which is None or is not equal to itself."""
    try:
        return value is None or not bool(value == value)  # noqa: PLR0124
    except (TypeError, ValueError):
        return True  # pandas' NA, which is neither


def _check_gaps(who: str, column: Labels, is_gap: Any) -> None:
    if is_gap.any():
        row = int(np.argmax(is_gap))
        value = column[row : row + 1].tolist()[0]
        raise DataError(f"{who}: qid must be without gaps; got {value!r} in row {row}.")


def _listed(values: list[Any]) -> Labels:
    """Return an array of values that may be tuples, or of several types.

    Texts as they are: NumPy's own would lose zeros at their ends.
    """
    kinds = {type(value) for value in values}
    if kinds in ({int}, {float}):
        column = np.array(values)
        # Integers beyond 64 bits would become floats, and some of them one.
        if column.dtype.kind == ("i" if kinds == {int} else "f"):
            return column
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
