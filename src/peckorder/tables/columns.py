"""A table as a file gives it: named columns of numbers or text."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from peckorder._core.errors import refusal
from peckorder._core.parameters import did_you_mean
from peckorder._core.typing import Array, Bools, Ints

_MOST_NAMED: Final = 30
# What new text counts as where rare texts are one level.
RARE: Final = "one of the rare ones"


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Columns of equal length, by name, in the order of the file.

    Numbers are float64 or integers, NaN where a cell is empty; everything else is an
    array of objects: text, None where a cell is empty. `source` is what messages call
    the file; `notes` are sentences about what may surprise in how it was read. `orders`
    has the texts of columns that are ordered by themselves, lowest first; `levels` are
    the values that the file declares of columns of text, in its order.
    """

    arrays: Mapping[str, Array]
    source: str
    notes: tuple[str, ...] = ()
    orders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.arrays)

    def __len__(self) -> int:
        return len(next(iter(self.arrays.values()), ()))


def cut_out(columns: Columns, rows: Ints | Bools | slice) -> Columns:
    """Return some rows."""
    arrays = {name: column[rows] for name, column in columns.arrays.items()}
    return Columns(arrays, columns.source, orders=columns.orders)


def joined(pieces: Sequence[Columns]) -> Columns:
    """Return the rows of all pieces, which have the same columns."""
    if len(pieces) == 1:
        return pieces[0]
    arrays = {
        name: np.concatenate([piece.arrays[name] for piece in pieces]) for name in pieces[0].names
    }
    return Columns(arrays, pieces[0].source)


def frame_names(X: object) -> tuple[str, ...] | None:
    """Return the names of a frame's columns; None of anything without names of text."""
    names = tuple(getattr(X, "columns", ()))
    is_text = all(isinstance(name, str) for name in names)
    return names if names and is_text else None


def categoricals(X: Any, names: Sequence[str]) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Return the orders of ordered columns of a frame, and its unordered categoricals.

    Categoricals of pandas may be ordered, enumerations of polars are.
    """
    orders: dict[str, tuple[str, ...]] = {}
    unordered: list[str] = []
    for name in names if frame_names(X) is not None else ():
        dtype = X[name].dtype
        kind = type(dtype).__name__
        if kind == "CategoricalDtype" and dtype.ordered:
            orders[name] = tuple(map(str, dtype.categories.tolist()))
        elif kind == "Enum":
            orders[name] = tuple(dtype.categories.to_list())
        elif kind in ("CategoricalDtype", "Categorical"):
            unordered.append(name)
    return orders, unordered


def split_names(texts: Iterable[str], known: Iterable[str]) -> Iterator[str]:
    """Yield names, also those between commas, which may be part of a name that is known.

    Examples
    --------
    >>> from peckorder.tables.columns import split_names
    >>> list(split_names(["good,so, so,top", "poor"], ["so, so"]))
    ['good', 'so, so', 'top', 'poor']
    """
    known = set(known)
    with_commas = {name for name in known if "," in name}
    for text in texts:
        parts, first = [text] if text in known else text.split(","), 0
        while first < len(parts):
            longer = range(len(parts), first + 1, -1)
            last = next(
                (k for k in longer if ",".join(parts[first:k]).strip() in with_commas), first + 1
            )
            name = ",".join(parts[first:last])
            yield name if name in known else name.strip()
            first = last


def numbers_rows(array: Array) -> bool:
    """Return whether a column counts the rows up or down; some may have been left out."""
    if not numeric(array) or len(array) < 3:
        return False
    steps = np.diff(array.astype(np.float64))
    steps = steps if steps[0] > 0 else -steps
    return bool((steps > 0).all() and (steps == 1).mean() > 0.9)


def check_column(columns: Columns, what: str, given: str) -> None:
    """Refuse the name of a column that is not there; list those that are."""
    if given not in columns.arrays:
        raise refusal(
            what,
            f"be a column of {columns.source}, which has {listed(columns.names)}",
            repr(given),
            hint=did_you_mean(given, columns.names, {}),
        )


def short(value: object, most: int = 60) -> str:
    """Return how a value is quoted in a message."""
    # Which NumPy would write with its type.
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= most else f"{text[: most - 4]}...{text[-1]}"


def counted(n: int, one: str, many: str) -> str:
    """Return a number with a noun in the singular or plural."""
    return f"{n:,} {one if n == 1 else many}"


def listed(names: Sequence[str]) -> str:
    """Return names with commas, some of them if there are many."""
    every = [name if len(name) <= 40 else f"{name[:37]}..." for name in names]
    more = f" and {len(every) - _MOST_NAMED} more" if len(every) > _MOST_NAMED else ""
    return ", ".join(every[:_MOST_NAMED]) + more


def in_seconds(array: Array) -> Array:
    """Return durations as seconds, NaN where one is missing; other arrays as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from peckorder.tables.columns import in_seconds
    >>> in_seconds(np.array([90_000, "NaT"], dtype="timedelta64[ms]")).tolist()
    [90.0, nan]
    """
    return array / np.timedelta64(1, "s") if array.dtype.kind == "m" else array


def numeric(array: Array) -> bool:
    """Return whether a column has numbers."""
    return array.dtype.kind in "biuf"


def distinct(array: Array) -> Array:
    """Return the different values of a column, ascending, without gaps."""
    if numeric(array):
        return np.unique(array[~np.isnan(array)] if array.dtype.kind == "f" else array)
    return np.array(sorted({str(v) for v in array.tolist() if v is not None}), object)


def is_empty(array: Array) -> Bools:
    """Return which cells of a column are empty."""
    if numeric(array):
        return np.isnan(array) if array.dtype.kind == "f" else np.zeros(len(array), bool)
    return np.array([value is None for value in array.tolist()])


def is_whole(values: Array) -> bool:
    """Return whether numbers are whole or halves, as grades are."""
    return bool(np.isfinite(values).all() and (2 * values == np.round(2 * values)).all())


def drawn(n_rows: int, groups: Ints | None, most: float, seed: int, fewest: int = 1) -> Ints:
    """Return the positions of at most `most` rows, drawn at random; all if they are few.

    Groups are drawn whole, at least `fewest` of them, even if they have more rows than
    `most`. O(n log n) time.
    """
    if n_rows <= most:
        return np.arange(n_rows)
    rng = np.random.default_rng(seed)
    if groups is None:
        return np.sort(rng.permutation(n_rows)[: int(most)])
    group, sizes = np.unique(groups, return_inverse=True, return_counts=True)[1:]
    order = rng.permutation(len(sizes))
    n_whole = int((np.cumsum(sizes[order]) <= most).sum())
    return np.flatnonzero(np.isin(group, order[: max(n_whole, fewest)]))
