"""One value per row: labels of any type, grades, and queries, which group rows."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from reprlib import repr as short
from typing import Any, NamedTuple, Self, TypeVar, cast

import numpy as np
from sklearn.utils import column_or_1d

from peckorder._core.errors import refusal
from peckorder._core.typing import Array, Bools, Floats, Ints, Labels
from peckorder._core.validation import check_distinct, check_whole, is_number, one_of, unmasked

MISSING_LABELS = one_of("raise", "skip")

_A = TypeVar("_A", bound=Array)
# Up to this size, float64 represents every integer exactly.
EXACT = 2.0**53
# No float64 is as large, and Python refuses to print some of these integers.
_TOO_LARGE = 2**1024
_ABSTAINS = "If a missing label means no opinion on its row, set missing_labels='skip'."


@dataclass(frozen=True, slots=True)
class LabelColumn:
    """One label per row.

    `values` are numbers, or objects without an order, or, if `categories` is not None,
    positions among these (lowest first, -1 for a missing label).
    """

    values: Labels
    categories: tuple[Hashable, ...] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def check_length(self, n_rows: int) -> None:
        """Raise unless there is one label per row."""
        if len(self) != n_rows:
            raise refusal(
                "y",
                "be one label per row",
                f"{len(self)} labels for {n_rows} rows",
                error=ValueError,
            )

    def labelled_rows(self) -> Ints | None:
        """Return the rows that have a label; None if all have one."""
        is_ordered = self.categories is not None
        is_gap = self.values < 0 if is_ordered else missing_cells(self.values)
        return np.flatnonzero(~is_gap) if is_gap.any() else None

    def at(self, rows: Ints) -> "LabelColumn":
        """Return the labels of some rows."""
        values = self.values[rows]
        return read_labels(values) if self.categories is None else replace(self, values=values)

    @property
    def is_numeric(self) -> bool:
        """Whether the labels are numbers."""
        return self.categories is None and self.values.dtype.kind in "biuf"

    def label(self, row: int) -> Any:
        """Return the label of `row` as a plain Python object."""
        value = self.values[row : row + 1].tolist()[0]
        if self.categories is None:
            return value
        return None if value < 0 else self.categories[value]


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN, NaT or pandas' NA."""
    try:
        return value is None or not bool(value == value)  # noqa: PLR0124
    except (TypeError, ValueError):
        return True  # pandas' NA is neither equal nor unequal to itself


def missing_cells(column: Labels) -> Bools:
    """Return which cells of a column are missing."""
    if column.dtype.kind in "fcMmV":
        # A missing number, or date, is the only value that differs from itself.
        return column != column  # type: ignore[no-any-return]  # noqa: PLR0124
    if column.dtype.kind == "O":
        return np.fromiter(map(is_missing, column), bool, len(column))
    return np.zeros(len(column), dtype=bool)


def read_labels(y: Any, name: str = "y") -> LabelColumn:
    """Read labels of any type; numbers are not copied."""
    if y is None:
        raise refusal(
            name,
            "be one label per row",
            "None (it requires y to be passed, but the target y is None)",
            error=ValueError,
        )
    unmasked(name, y)
    declared = _declared_order(y)
    if declared is not None:
        return declared
    if hasattr(y, "dtype"):
        y = _as_array(y)  # or pandas' nullable integers would become floats
    try:
        values = column_or_1d(y, warn=True)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        raise refusal(
            name,
            "be one label per row, tuples in an array of objects",
            "sequences of several lengths",
        ) from None
    if values.dtype.kind == "c":
        raise refusal(name, "be real", "complex numbers")
    if values.dtype.kind == "O" and all(is_number(v) for v in values.tolist()):
        y = values.tolist()
        if any(isinstance(v, int) and abs(v) >= _TOO_LARGE for v in y):
            raise refusal(name, "be numbers below 2**1024", "a larger one")
        values = np.asarray(y)
    check_whole(name, y, values)
    if values.dtype.kind not in "biuf":
        values = as_objects(values)
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        check_distinct(name, values, values.astype(np.float64))
    return LabelColumn(values)


def as_objects(values: Labels) -> Labels:
    """Return labels as objects: dates as NumPy's where Python's have too few digits."""
    objects: Labels = values.astype(object)
    if values.dtype.kind in "mM" and any(type(value) is int for value in objects.tolist()):
        objects[:] = list(values)
    return objects


def read_grades(y: Any, weight: str = "unit") -> Floats:
    """Return grades as float64, the positions of ordered categories."""
    return _grades(read_labels(y), weight)


def _grades(column: LabelColumn, weight: str, rows: Ints | None = None, hint: str = "") -> Floats:
    """Return grades; those of `rows`, for the refusal to name."""
    values, rule = column.values, "finite numbers"
    if len(values) == 0:
        raise refusal("y", "be at least one grade", "[]")
    if column.categories is None and not column.is_numeric:
        rule = "numbers or an ordered categorical"
        is_grade = np.fromiter(map(is_number, values.tolist()), bool, len(values))
    elif column.categories is not None:
        rule, is_grade = "without missing grades", values >= 0
    elif weight == "exponential":
        rule = "finite integers >= 0 if weight='exponential'"
        is_grade = np.isfinite(values) & (values >= 0) & (values == np.floor(values))
    elif values.dtype.kind in "iu":
        rule = "less than 2**53 in size"
        is_grade = np.abs(values.astype(np.float64)) < EXACT
    else:
        is_grade = np.isfinite(values)
    if not is_grade.all():
        row = int(np.argmin(is_grade))
        hint = hint if is_missing(column.label(row)) else ""
        got = f"{short(column.label(row))} in row {row if rows is None else rows[row]}"
        raise refusal("y", f"be {rule}", got, hint=hint)
    return values.astype(np.float64)


def _declared_order(y: Any) -> LabelColumn | None:
    """Read a pandas ordered categorical or a polars Enum; None for other labels."""
    dtype: Any = getattr(y, "dtype", None)
    if getattr(dtype, "ordered", False):  # pandas, without importing it
        codes = y.cat.codes if hasattr(y, "cat") else y.codes
        return LabelColumn(np.asarray(codes), tuple(dtype.categories.tolist()))
    if type(dtype).__module__.startswith("polars") and type(dtype).__name__ == "Enum":
        codes = y.to_physical().cast(int).fill_null(-1).to_numpy()
        return LabelColumn(codes, tuple(dtype.categories.to_list()))
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """The rows of each query, made contiguous.

    Query q has the rows ``order[offsets[q] : offsets[q + 1]]``, in the order in which
    they were given; if `order` is None they are ``offsets[q] : offsets[q + 1]`` as
    they are. ids (n_queries,) are the queries in the order of their first rows.
    """

    offsets: Ints
    order: Ints | None
    ids: Labels

    @classmethod
    def of(cls, qid: Any, n_rows: int | None = None, *, name: str = "qid") -> Self:
        """Group rows by query: one value per row, of any type, in any order.

        None means one query of all rows. Without n_rows, any length is accepted. Errors
        call the column `name`: users and items are grouped here too. O(n_rows) if the
        rows of each query are contiguous, else a sort of numbers.
        """
        if qid is None:
            return cls(np.array([0, n_rows or 0]), None, np.zeros(1, dtype=np.int64))
        column = read_column(name, qid)
        if n_rows is not None and len(column) != n_rows:
            raise refusal(name, f"be one value per row, {n_rows} in all", len(column))
        if column.dtype.kind in "OT":
            column, ids = _hashed(name, column)
            starts = _run_starts(column)
            query = column[starts]
        else:
            starts = _run_starts(column)
            query, first = _ranked(column[starts])
            ids = column[starts[first]]
        return cls._of_runs(np.append(starts, len(column)), query, ids)

    @classmethod
    def _of_runs(cls, bounds: Ints, query: Ints, ids: Labels) -> Self:
        """Join runs of rows, run i being ``bounds[i] : bounds[i + 1]``."""
        if len(ids) == len(query):
            return cls(bounds, None, ids)
        of_rows = np.repeat(query, np.diff(bounds))
        sizes = np.bincount(of_rows, minlength=len(ids))
        order = _stable_order(of_rows, len(ids))
        return cls(np.concatenate([[0], np.cumsum(sizes)]), order, ids)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> Ints:
        """The number of rows of each query."""
        return np.diff(self.offsets)

    def arrange(self, values: _A) -> _A:
        """Return values, one per row, in the order of queries; a view if possible."""
        return values if self.order is None else cast(_A, values[self.order])

    def restore(self, values: _A) -> _A:
        """Return values in the order of queries in the order of rows."""
        if self.order is None:
            return values
        restored = np.empty_like(values)
        restored[self.order] = values
        return restored

    def of_rows(self) -> Ints:
        """Return the position of the query of each row."""
        return self.restore(np.repeat(np.arange(len(self)), self.sizes))


class Opinions(NamedTuple):
    """The grades of rows; `rows` are those that have one, None for all `n_rows`."""

    grade: Floats
    rows: Ints | None
    n_rows: int

    @classmethod
    def of(
        cls, y: Any, missing_labels: str, weight: str = "unit", n_rows: int | None = None
    ) -> Self:
        """Read grades, of which missing ones are refused, or skipped."""
        MISSING_LABELS.check("missing_labels", missing_labels)
        column = read_labels(y)
        rows = column.labelled_rows()
        if rows is None:
            grade = _grades(column, weight)
        elif missing_labels == "raise":
            grade = _grades(column, weight, hint=_ABSTAINS)
        else:
            grade = _grades(column.at(rows), weight, rows) if len(rows) else np.zeros(0)
        if n_rows is not None and len(column) != n_rows:
            raise refusal("y", f"be one number per row, {n_rows} in all", len(column))
        return cls(grade, rows, len(column))

    def in_full(self) -> tuple[Floats, Bools]:
        """Return a grade for every row, 0 for want of one, and which rows have one."""
        if self.rows is None:
            return self.grade, np.ones(self.n_rows, dtype=bool)
        grade, is_labelled = np.zeros(self.n_rows), np.zeros(self.n_rows, dtype=bool)
        grade[self.rows], is_labelled[self.rows] = self.grade, True
        return grade, is_labelled

    def queries(self, qid: Any) -> Queries:
        """Group the rows that have a grade by query."""
        queries = Queries.of(qid, self.n_rows)
        return queries if self.rows is None else Queries.of(queries.of_rows()[self.rows])


def read_column(name: str, qid: Any) -> Labels:
    """Return the column as an array; missing numbers and dates are refused."""
    is_column = isinstance(qid, Iterable) and not isinstance(
        qid, str | bytes | Mapping | set | frozenset
    )
    if not is_column:
        raise refusal(name, "be one value per row", short(qid))
    shape = getattr(qid, "shape", None)
    if isinstance(shape, tuple) and len(shape) != 1:
        raise refusal(name, "be one-dimensional", f"an array of shape {shape}")
    column = _converted(qid) if hasattr(qid, "__array__") else _listed(list(qid))
    if isinstance(qid, np.ma.MaskedArray):
        _check_gaps(name, qid, np.ma.getmaskarray(qid))
    if column.dtype.kind != "O":  # objects are checked when they are hashed
        _check_gaps(name, column, missing_cells(column))
    return column


def _converted(qid: Any) -> Labels:
    """Return a column as an array, by way of a list where NumPy has no such type."""
    column = _as_array(qid)
    if column.ndim == 1:
        return column
    # polars' structs and arrays
    return _listed(qid.to_list() if hasattr(qid, "to_list") else list(qid))


def _as_array(values: Any) -> Array:
    try:
        return np.asarray(values)
    except Exception:
        if not hasattr(values, "to_list"):
            raise
        return _listed(values.to_list())  # polars' integers of 128 bits


def _listed(values: list[Any]) -> Labels:
    """Return an array of values that may be tuples, or of several types."""
    types = set(map(type, values))
    if types in ({int}, {float}):
        column = np.array(values)
        # Integers beyond 64 bits would become floats, and different ones equal.
        if column.dtype.kind == ("i" if types == {int} else "f"):
            return column
    # Text stays objects too: NumPy's would lose trailing null characters.
    return np.fromiter(values, dtype=object, count=len(values))


def _hashed(name: str, column: Labels) -> tuple[Ints, Labels]:
    """Return the query of each row, and the queries in the order of first rows."""
    values = column.tolist()
    codes: defaultdict[Hashable, int] = defaultdict()
    codes.default_factory = codes.__len__
    try:
        query = np.fromiter(map(codes.__getitem__, values), np.int64, len(values))
    except TypeError as error:
        raise refusal(name, "be hashable values", error) from None
    for code, value in enumerate(codes):
        if _is_gap(value):
            _check_gaps(name, column, query == code)
    ids = np.empty(len(codes), dtype=column.dtype)
    ids[:] = list(codes)
    return query, ids


def _is_gap(value: object) -> bool:
    """Whether a value, or a part of a tuple other than None, is missing."""
    if isinstance(value, tuple):
        return any(_is_gap(part) for part in value if part is not None)
    return is_missing(value)


def _check_gaps(name: str, column: Labels, is_gap: Bools) -> None:
    if is_gap.any():
        row = int(np.argmax(is_gap))
        value = column[row : row + 1].tolist()[0]
        raise refusal(name, "be without gaps", f"{value!r} in row {row}")


def _run_starts(column: Labels) -> Ints:
    """Return the starts of runs of equal values: often few compared with rows."""
    is_start = np.ones(len(column), dtype=bool)
    is_start[1:] = column[1:] != column[:-1]
    return np.flatnonzero(is_start)


def _ranked(values: Labels) -> tuple[Ints, Ints]:
    """Return codes in the order of first occurrence, and the first occurrences."""
    if values.dtype.kind in "US" and len(values):
        rank, first = _ranked_keys(_digests(values))
        if np.array_equal(values[first][rank], values):
            return rank, first
    return _ranked_keys(values)


def _ranked_keys(keys: Labels) -> tuple[Ints, Ints]:
    order = np.argsort(keys)
    begins = _run_starts(keys[order])
    if not len(keys):
        return order, begins
    first = np.minimum.reduceat(order, begins)
    by_first = np.argsort(first)
    code = np.empty_like(by_first)
    code[by_first] = np.arange(len(by_first))
    rank = np.empty_like(order)
    rank[order] = np.repeat(code, np.diff(begins, append=len(keys)))
    return rank, first[by_first]


def _digests(texts: Labels) -> Labels:
    """Return a hash of each text, faster to sort: a polynomial modulo 2**64."""
    character = np.uint32 if texts.dtype.kind == "U" else np.uint8
    letters: Any = texts.view(character).reshape(len(texts), -1)
    powers = np.full(letters.shape[1], 0x9E3779B97F4A7C15, dtype=np.uint64).cumprod()
    return np.einsum("ij,j->i", letters, powers)  # type: ignore[no-any-return]


def _stable_order(numbers: Ints, end: int) -> Ints:
    """Return a stable argsort of numbers from 0 to `end`, by 16 bits at a time.

    NumPy sorts 16-bit numbers by counting, and longer ones by comparisons.
    """
    order = np.argsort(numbers.astype(np.uint16), kind="stable")
    for shift in range(16, int(end).bit_length(), 16):
        digit = (numbers[order] >> shift).astype(np.uint16)
        order = order[np.argsort(digit, kind="stable")]
    return order


def read_only(array: _A) -> _A:
    """Make an array read-only and return it."""
    array.flags.writeable = False
    return array
