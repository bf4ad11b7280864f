"""What the text of cells stands for: whole numbers, numbers, or itself.

A type is told from all cells of a column, by the same rules whether a file is read
whole or in blocks: so a model finds in `rank` what it was fitted to.
"""

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from peckorder._core.typing import Floats
from peckorder.exceptions import DataError
from peckorder.tables import column_names as words
from peckorder.tables.columns import Columns, is_empty
from peckorder.tables.files.source import short

# What stands for a value that is not known.
_SMALL = ("?", "na", "n/a", "n.a.", "#n/a", "null", "none", "nil", "-", "--", "missing")
_MARKS = tuple({w for s in _SMALL for w in (s, s.upper(), s.title(), s.capitalize())})
_EMPTY = ("", "NaN", "nan", "-nan", "-NaN", *_MARKS)
_IDS = words.USER | words.ITEM | words.QUERY | words.ID | words.CODE
_LABELS = words.TARGET | words.RATING
# A column with so few cells that are no numbers looks like one of numbers.
_FEW = 0.1
_NUMBER = r"^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$"
_COMMA = r"^([+-]?[0-9]*),([0-9]+)$"
# Digits that a number would not be written with again, or that none holds.
_NO_NUMBER = "^-?0[0-9]|^[0-9]{20}"
# Text is mostly told by its first cells.
_FIRST = 1000


def id_columns(names: Iterable[str], given: Iterable[str]) -> frozenset[str]:
    """Return the columns of ids: those given, and those that are named so."""
    usual = (name for name in names if words.first_named([name], _IDS))
    return frozenset([*usual, *given])


def typed(
    name: str, column: pa.ChunkedArray, *, is_id: bool, has_commas: bool
) -> pa.ChunkedArray:
    """Return a column of text as numbers if all cells are, else as it stands.

    An id is never changed: digits with zeros before them, or more than 64 bits hold,
    are text. Elsewhere whole numbers with zeros before them are text too, unless they
    are named as labels are: nobody writes amounts so.
    """
    if numbers(column[:_FIRST], has_commas=has_commas) is None:
        return column
    bare = _bare(column)
    if is_id and _any(bare, _NO_NUMBER):
        return column
    whole = _cast(bare, pa.int64())
    if whole is not None and _any(bare, "^0[0-9]"):
        return whole if words.first_named([name], _LABELS) else column
    if whole is not None and not _has_letter(bare, "x") and not _has_letter(bare, "X"):
        return whole  # Arrow takes 0x1F for one, which we do not
    if is_id and _any(bare, "^-?[0-9]{19,}$"):
        return column
    found = numbers(column, has_commas=has_commas)
    return column if found is None else found


def remark(name: str, column: pa.ChunkedArray, found: pa.ChunkedArray) -> str | None:
    """Say what one may not expect of how a column was read.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from peckorder.tables.files.cells import remark, typed
    >>> cells = pa.chunked_array([["1", "?", "2"]])
    >>> remark("size", cells, typed("size", cells, is_id=False, has_commas=False))
    "size: '?' was taken for an empty cell, 1 time."
    >>> cells = pa.chunked_array([[*map(str, range(19)), "3 kg"]])
    >>> remark("size", cells, typed("size", cells, is_id=False, has_commas=False))
    "size: text, since '3 kg' in row 20 is no number; all but 1 of 20 cells are."
    """
    if not pa.types.is_string(found.type):
        marks = pc.value_counts(column.filter(_is_marked(column)))
        if not len(marks):
            return None
        seen = [(m["values"].strip(), m["counts"]) for m in marks.to_pylist()]
        n_times = sum(count for _, count in seen)
        which = ", ".join(dict.fromkeys(repr(mark) for mark, _ in seen))
        times = "1 time" if n_times == 1 else f"{n_times} times"
        return f"{name}: {which} was taken for an empty cell, {times}."
    bare = _bare(column[:_FIRST])
    if 2 * _n(bare, f"{_NUMBER}|{_COMMA}") < len(bare) - bare.null_count:
        return None
    bare = _bare(column)
    is_text = pc.invert(pc.match_substring_regex(bare, _NUMBER))
    n_known = len(bare) - bare.null_count
    n_texts = pc.sum(is_text).as_py() or 0
    commas = _n(bare, _COMMA)
    if not n_texts or (n_texts > _FEW * n_known and n_texts > commas):
        return None
    row = pc.index(is_text, pa.scalar(True)).as_py()
    cell = bare[row].as_py()
    cell = cell if len(cell) <= 40 else f"{cell[:37]}..."
    if n_texts == commas:
        return (
            f"{name}: text, since {cell!r} in row {row + 1} has a decimal comma; with "
            "';' between columns it would be a number."
        )
    return (
        f"{name}: text, since {cell!r} in row {row + 1} is no number; all but "
        f"{n_texts} of {n_known} cells are."
    )


def numbers(
    column: pa.ChunkedArray, *, has_commas: bool = False
) -> pa.ChunkedArray | None:
    """Return a column of text as numbers, true and false as 1 and 0; None if not all.

    Decimals may stand behind commas where `has_commas`, if none stand behind points.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from peckorder.tables.files.cells import numbers
    >>> numbers(pa.chunked_array([["1", "NA", " 2.5"]])).to_pylist()
    [1.0, None, 2.5]
    >>> numbers(pa.chunked_array([["True", "", "false"]])).to_pylist()
    [1.0, None, 0.0]
    >>> numbers(pa.chunked_array([["1", "two"]])) is None
    True
    """
    bare = _bare(column)
    found = _cast(bare, pa.float64())
    if found is None and has_commas and not _any(bare, "[.]"):
        found = _cast(pc.replace_substring_regex(bare, _COMMA, r"\1.\2"), pa.float64())
    if found is not None:
        return found
    lower = pc.utf8_lower(bare)
    is_known = pc.is_in(lower, value_set=pa.array(["true", "false"], lower.type))
    if not pc.all(pc.or_(is_known, pc.is_null(lower)), min_count=0).as_py():
        return None
    return pc.equal(lower, "true").cast(pa.int8()).cast(pa.float64())


def first_text(column: pa.ChunkedArray, *, has_commas: bool = False) -> tuple[int, str]:
    """Return the first cell of a column that is no number, and its place from 0 on."""
    cells: list[str | None] = _bare(column).to_pylist()
    return next(
        (place, cell)
        for place, cell in enumerate(cells)
        if cell is not None
        and numbers(pa.chunked_array([[cell]]), has_commas=has_commas) is None
    )


def _bare(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text without spaces around it, and gaps where nothing stands."""
    bare = pc.utf8_trim_whitespace(column)
    is_gap = pc.is_in(bare, value_set=pa.array(_EMPTY, column.type))
    return pc.if_else(is_gap, pa.scalar(None, column.type), bare)


def _n(column: pa.ChunkedArray, pattern: str) -> int:
    """Count the cells that match."""
    return int(pc.sum(pc.match_substring_regex(column, pattern)).as_py() or 0)


def _is_marked(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Say which cells have a mark for what is not known."""
    bare = pc.utf8_trim_whitespace(column)
    return pc.is_in(bare, value_set=pa.array(_MARKS, column.type))


def _cast(column: pa.ChunkedArray, kind: Any) -> pa.ChunkedArray | None:
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        return None


def _has_letter(column: pa.ChunkedArray, letter: str) -> bool:
    return bool(pc.any(pc.match_substring(column, letter)).as_py())


def _any(column: pa.ChunkedArray, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(column, pattern)).as_py())


def is_number(text: str) -> bool:
    """Say whether a cell is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def has_names(cells: list[str]) -> bool:
    """Say whether the first line of a table has names, not values.

    Numbers alone are none, nor is a line with a fraction or with a number twice.

    Examples
    --------
    >>> from peckorder.tables.files.cells import has_names
    >>> [has_names(line.split()) for line in ("196 242 3", "M 0.45 1", "id 1990 2000")]
    [False, False, True]
    """
    found = [cell for cell in cells if is_number(cell)]
    if len(found) == len(cells) or len(set(found)) < len(found):
        return False
    return not any(re.fullmatch(r"[+-]?\d*\.\d+", cell) for cell in found)


def numbers_of(who: str, columns: Columns, name: str, *, gaps: bool = False) -> Floats:
    """Return a column of numbers; refuse text, and gaps unless asked; name the row."""
    column = columns.arrays[name]
    found = column if column.dtype.kind in "iuf" else _parsed(column)
    is_bad = np.isnan(found)
    if gaps:
        is_bad &= ~is_empty(column)
    if is_bad.any():
        row = int(np.argmax(is_bad))
        cell = column[row]
        got = "an empty cell" if is_gap(cell) else short(cell)
        raise DataError(
            f"{who}: column {short(name)} of {columns.source} must be numbers; got "
            f"{got} in row {row + 1}."
        )
    return np.asarray(found, dtype=np.float64)


def is_gap(cell: Any) -> bool:
    """Say whether a cell is empty."""
    return cell is None or cell != cell  # noqa: PLR0124


def _parsed(column: NDArray[Any]) -> Floats:
    """Return the numbers that text stands for; NaN for other text."""
    return np.array([_number(cell) for cell in column.tolist()], dtype=np.float64)


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return float("nan")
