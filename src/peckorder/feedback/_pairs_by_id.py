"""Pairs of ids in columns of a frame or a text file, and their row numbers."""

import csv
from collections.abc import Iterable, Mapping
from importlib import import_module
from io import StringIO
from itertools import chain
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from peckorder._core.cells import may_have_commas, number_of, whole_ids
from peckorder._core.column_names import pair_columns
from peckorder._core.errors import refusal, requiring
from peckorder._core.text_files import Source, check_source, read_text, shown
from peckorder._core.typing import Array, Floats, Frame, Ints, PathLike
from peckorder._core.validation import did_you_mean
from peckorder.feedback._labels_and_queries import Queries
from peckorder.feedback.ratings.ids import Ids, id_list

_ROLES = ("better", "worse", "weight", "size")


class PairColumns(NamedTuple):
    """The columns of pairs; None for one there is not."""

    better: Any
    worse: Any
    weight: Any
    size: Any


def find_pair_columns(
    names: Iterable[object], given: Mapping[str, str | None], source: str
) -> dict[str, str]:
    """Return the columns of pairs by their roles, as given or by their usual names."""
    listed = [name for name in names if isinstance(name, str)]
    found = pair_columns([name for name in listed if name not in given.values()])
    found |= {role: name for role, name in given.items() if name is not None}
    for role in _ROLES[:2]:
        if role not in found:
            rule = f"have a column {role!r}, or one with another usual name"
            raise refusal(source, rule, ", ".join(map(repr, listed)), hint=f"Give {role}=NAME.")
    for role, name in found.items():
        if name not in listed:
            hint = did_you_mean(name, listed, {})
            raise refusal(role, f"be a column of the {source}", repr(name), hint=hint)
    return found


def columns_of_frame(frame: Any, given: Mapping[str, str | None]) -> PairColumns:
    """Return the columns of a frame or a mapping."""
    names = getattr(frame, "column_names", None)
    names = getattr(frame, "columns", None) if names is None else names
    names = list(frame) if isinstance(frame, Mapping) else names
    if not isinstance(names, Iterable) or not hasattr(frame, "__getitem__"):
        raise refusal("frame", "have columns", f"a {type(frame).__name__}")
    found = find_pair_columns(names, given, "frame")
    return PairColumns(*(frame[found[role]] if role in found else None for role in _ROLES))


def columns_of_csv(path: Source, sep: str, given: Mapping[str, str | None]) -> PairColumns:
    """Read a text file with one pair per line, and a line of names."""
    check_source(path)
    if not isinstance(sep, str) or len(sep) != 1 or sep in '"\r\n':
        rule = "be one character, but no quote and no end of a line"
        raise refusal("sep", rule, repr(sep), error=ValueError)
    try:
        # Ids may contain what `splitlines` would take for the end of a line.
        lines = (StringIO(block.decode(), newline="") for block in read_text(path))
        rows = csv.reader(
            chain.from_iterable(lines), delimiter=sep, skipinitialspace=True, strict=True
        )
        table = [(rows.line_num, row) for row in rows if row]
    except UnicodeDecodeError:
        raise refusal("path", "be UTF-8 text", "other bytes") from None
    except csv.Error as error:
        raise refusal("path", f"be a file of fields between {sep!r}", error) from None
    if len(table) < 2:
        raise refusal("path", "hold at least one pair, under a line of names", "none")
    names = [name.strip() for name in table[0][1]]
    found = find_pair_columns(names, given, "file")
    for number, row in table[1:]:
        if len(row) != len(names):
            text = shown(sep.join(row).encode())
            raise refusal(f"line {number}", f"be {len(names)} fields between {sep!r}", text)
    columns: dict[str, Any] = dict.fromkeys(_ROLES)
    for role, name in found.items():
        place = names.index(name)
        cells = [(number, row[place].strip()) for number, row in table[1:]]
        columns[role] = [cell for _, cell in cells]
        if role in ("weight", "size"):
            columns[role] = _numbers(role, cells, has_commas=may_have_commas(sep))
    return PairColumns(**columns)


def _numbers(role: str, cells: list[tuple[int, str]], *, has_commas: bool) -> Floats:
    values = np.empty(len(cells))
    for i, (number, cell) in enumerate(cells):
        value = number_of(cell, has_commas=has_commas)
        if value is None or not np.isfinite(value):
            raise refusal(f"line {number}", f"have a finite number as {role}", repr(cell))
        values[i] = value
    return values


def columns_of_parquet(path: PathLike | IO[bytes], given: Mapping[str, str | None]) -> PairColumns:
    """Read a Parquet file with one pair per row."""
    with requiring("pyarrow", "to read Parquet", "'peckorder[frames]'"):
        parquet = import_module("pyarrow.parquet")
    try:
        table = parquet.ParquetFile(path).read()
    except FileNotFoundError:
        raise
    except (import_module("pyarrow").ArrowInvalid, OSError, TypeError) as error:
        raise refusal("path", "be a sound Parquet file", error) from None
    return columns_of_frame(table, given)


def row_numbers(columns: PairColumns, ids: ArrayLike) -> tuple[Ints, Ints]:
    """Return the row numbers of pairs of ids, given the id of each row.

    Text of a file stands for integers if ids are integers.
    """
    codes, known = Ids.from_column("ids", ids)
    if len(known) != len(codes):
        again = int(np.argmax(np.bincount(codes) > 1))
        raise refusal("ids", "be distinct", f"{id_list(known.values)[again]!r} again")
    row_of = np.argsort(codes)
    above, below = (
        row_of[_positions(role, column, known)]
        for role, column in zip(("better", "worse"), columns, strict=False)
    )
    if len(above) == len(below) and np.any(above == below):
        pair = int(np.argmax(above == below))
        name = id_list(known.values)[codes[above[pair]]]
        raise refusal("worse", "be another id than better", f"{name!r} for both in pair {pair}")
    return above, below


def _positions(role: str, column: Any, known: Ids) -> Ints:
    if isinstance(column, list) and known.values.dtype.kind in "iu":
        whole = whole_ids(column)
        column = column if whole is None else whole
    groups = Queries.of(column, name=role)
    positions = [known.position(value, role) for value in id_list(groups.ids)]
    return np.array(positions, np.int64)[groups.of_rows()]


def to_frame(
    library: str, columns: Mapping[str, Array], ids: ArrayLike | None, n_rows: int
) -> Frame:
    """Return columns of pairs as a frame of a library, with ids for row numbers."""
    columns = dict(columns)
    if ids is not None:
        codes, known = Ids.from_column("ids", ids)
        if len(codes) < n_rows:
            raise refusal("ids", f"be one per row, {n_rows} at least", len(codes))
        columns |= {role: known.values[codes[columns[role]]] for role in ("better", "worse")}
    with requiring(library, "for this", "'peckorder[frames]'"):
        frame: Frame = import_module(library).DataFrame(columns)
    return frame
