"""Labels of rows: numbers, ordered categoricals, or objects of any type."""

from collections.abc import Hashable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d

from peckorder._core.errors import refusal
from peckorder._core.typing import Bools, Floats, Labels

# Up to this size, float64 represents every integer exactly.
EXACT = 2.0**53


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
    declared = _declared_order(y)
    if declared is not None:
        return declared
    if hasattr(y, "dtype"):
        y = np.asarray(y)  # or pandas' nullable integers would become floats
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
    if values.dtype.kind == "O" and all(isinstance(v, Real) for v in values.tolist()):
        values = np.asarray(values.tolist())
    if values.dtype.kind not in "biuf":
        values = values.astype(object)
    return LabelColumn(values)


def read_grades(y: Any, weight: str = "unit") -> Floats:
    """Return grades as float64, the positions of ordered categories."""
    column = read_labels(y)
    values, rule = column.values, "finite numbers"
    if len(values) == 0:
        raise refusal("y", "be at least one grade", "[]")
    if column.categories is None and not column.is_numeric:
        raise refusal(
            "y", "be numbers or an ordered categorical", f"{column.label(0)!r} in place 0"
        )
    if column.categories is not None:
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
        raise refusal("y", f"be {rule}", f"{column.label(row)!r} in row {row}")
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
