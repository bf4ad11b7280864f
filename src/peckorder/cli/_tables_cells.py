"""What the text of cells stands for: whole numbers, numbers, or itself.

A type is told from all cells of a column, by the same rules whether a file is read
whole or in blocks: so a model finds in `rank` what it was fitted to.
"""

import re
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from peckorder.compare import _column_names as words

_EMPTY = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "-nan", "-NaN")
_IDS = words.USER | words.ITEM | words.QUERY | words.ID
# Digits that a number would not be written with again, or that none holds.
_NO_NUMBER = "^-?0[0-9]|^[0-9]{20}"
# Text is mostly told by its first cells.
_FIRST = 1000


def id_columns(names: Iterable[str], given: Iterable[str]) -> frozenset[str]:
    """Return the columns of ids: those given, and those that are named so."""
    usual = (name for name in names if words.first_named([name], _IDS))
    return frozenset([*usual, *given])


def typed(column: pa.ChunkedArray, *, is_id: bool) -> pa.ChunkedArray:
    """Return a column of text as numbers if all cells are, else as it stands.

    An id is never changed: digits with zeros before them, or more than 64 bits hold,
    are text. Elsewhere they are numbers.
    """
    if numbers(column[:_FIRST]) is None:
        return column
    bare = _bare(column)
    if is_id and _any(bare, _NO_NUMBER):
        return column
    whole = _cast(bare, pa.int64())
    if whole is not None and not _has_letter(bare, "x") and not _has_letter(bare, "X"):
        return whole  # Arrow takes 0x1F for one, which we do not
    if is_id and _any(bare, "^-?[0-9]{19,}$"):
        return column
    found = numbers(column)
    return column if found is None else found


def numbers(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return a column of text as numbers, true and false as 1 and 0; None if not all.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from peckorder.cli._tables_cells import numbers
    >>> numbers(pa.chunked_array([["1", "NA", " 2.5"]])).to_pylist()
    [1.0, None, 2.5]
    >>> numbers(pa.chunked_array([["True", "", "false"]])).to_pylist()
    [1.0, None, 0.0]
    >>> numbers(pa.chunked_array([["1", "two"]])) is None
    True
    """
    bare = _bare(column)
    found = _cast(bare, pa.float64())
    if found is not None:
        return found
    lower = pc.utf8_lower(bare)
    is_known = pc.is_in(lower, value_set=pa.array(["true", "false"], lower.type))
    if not pc.all(pc.or_(is_known, pc.is_null(lower)), min_count=0).as_py():
        return None
    return pc.equal(lower, "true").cast(pa.int8()).cast(pa.float64())


def first_text(column: pa.ChunkedArray) -> str:
    """Return the first cell of a column that is no number."""
    cells: list[str | None] = _bare(column).to_pylist()
    return next(
        c for c in cells if c is not None and numbers(pa.chunked_array([[c]])) is None
    )


def _bare(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text without spaces around it, and gaps where nothing stands."""
    bare = pc.utf8_trim_whitespace(column)
    is_gap = pc.is_in(bare, value_set=pa.array(_EMPTY, column.type))
    return pc.if_else(is_gap, pa.scalar(None, column.type), bare)


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
    >>> from peckorder.cli._tables_cells import has_names
    >>> [has_names(line.split()) for line in ("196 242 3", "M 0.45 1", "id 1990 2000")]
    [False, False, True]
    """
    found = [cell for cell in cells if is_number(cell)]
    if len(found) == len(cells) or len(set(found)) < len(found):
        return False
    return not any(re.fullmatch(r"[+-]?\d*\.\d+", cell) for cell in found)
