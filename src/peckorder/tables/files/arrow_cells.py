"""The values of columns of text: whole numbers, numbers, true and false, or text.

The rules of `peckorder._core.cells`, for whole columns in Arrow. They are the same
whether a file is read whole or in blocks, so that `rank` reads what a model was fitted
to.
"""

from collections.abc import Callable, Collection, Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from peckorder._core import column_names as words
from peckorder._core.cells import COMMA, GAPS, MARKS, NUMBER, number_of
from peckorder._core.errors import refusal
from peckorder._core.typing import Floats
from peckorder.feedback import is_missing
from peckorder.tables.columns import Columns, is_empty, short

_IDS = words.USER | words.ITEM | words.QUERY | words.ID | words.CODE
_LABELS = words.TARGET | words.RATING
# A column with at most this share of other cells looks like one of numbers.
_FEW = 0.1
# Digits that reading and writing as a number would change.
_NO_NUMBER = "^-?0[0-9]|^[0-9]{20}"
_FLAGS = ("true", "false")
# Most columns of text are recognised by their first cells.
_FIRST = 1000


def id_columns(names: Iterable[str], given: Iterable[str]) -> frozenset[str]:
    """Return the columns of ids: those given, and those with names of ids."""
    usual = (name for name in names if words.first_named([name], _IDS))
    return frozenset([*usual, *given])


def typed(name: str, column: pa.ChunkedArray, *, is_id: bool, has_commas: bool) -> pa.ChunkedArray:
    """Return a column of text as numbers if all cells are, else unchanged.

    An id is never changed: digits with zeros before them, or more than 64 bits hold,
    are text. Elsewhere whole numbers with zeros before them are text too, unless the
    column has a name of labels: nobody writes amounts so.
    """
    if numbers(column[:_FIRST], has_commas=has_commas) is None:
        return column
    bare = _bare(column)
    if is_id and _n(bare, _NO_NUMBER):
        return column
    whole = _cast(bare, pa.int64())
    if whole is not None and _n(bare, "^0[0-9]"):
        return whole if words.first_named([name], _LABELS) else column
    if whole is not None and not _n(bare, "[xX]"):
        return whole  # Arrow reads 0x1F as a number
    if is_id and _n(bare, "^-?[0-9]{19,}$"):
        return column
    found = numbers(column, has_commas=has_commas)
    return column if found is None else found


def remark(name: str, column: pa.ChunkedArray, found: pa.ChunkedArray) -> str | None:
    """Return what may surprise in how a column was read, None if nothing."""
    if not pa.types.is_string(found.type):
        bare = pc.utf8_trim_whitespace(column)
        is_mark = pc.is_in(bare, value_set=pa.array(MARKS, column.type))
        marks = pc.value_counts(bare.filter(is_mark)).to_pylist()
        if not marks:
            return None
        n_times = sum(mark["counts"] for mark in marks)
        which = ", ".join(repr(mark["values"]) for mark in marks)
        times = "1 time" if n_times == 1 else f"{n_times} times"
        return f"{name}: {which} was taken for an empty cell, {times}."
    bare = _bare(column[:_FIRST])
    if 2 * _n(bare, f"{NUMBER}|{COMMA}") < len(bare) - bare.null_count:
        return None
    bare = _bare(column)
    is_text = pc.invert(pc.match_substring_regex(bare, NUMBER))
    n_known = len(bare) - bare.null_count
    n_texts = pc.sum(is_text).as_py() or 0
    commas = _n(bare, COMMA)
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


def numbers(column: pa.ChunkedArray, *, has_commas: bool = False) -> pa.ChunkedArray | None:
    """Return a column of text as numbers, true and false as 1 and 0; None if not all."""
    found = decimals(column, has_commas=has_commas)
    if found is not None:
        return found
    found = flags(column)
    return None if found is None else found.cast(pa.int8()).cast(pa.float64())


def decimals(column: pa.ChunkedArray, *, has_commas: bool = False) -> pa.ChunkedArray | None:
    """Return a column of text as numbers; None if not all are.

    Numbers may have decimal commas where `has_commas`, if none has a decimal point.
    """
    if pa.types.is_float64(column.type):  # parsed already
        return column
    found = _cast(column, pa.float64())  # most columns have nothing but numbers
    if found is not None:
        return found
    bare = _bare(column)
    found = _cast(bare, pa.float64())
    if found is None and has_commas and not _n(bare, "[.]"):
        found = _cast(pc.replace_substring_regex(bare, COMMA, r"\1.\2"), pa.float64())
    return found


def with_points(tables: Iterable[pa.Table], names: Collection[str]) -> Iterator[pa.Table]:
    """Yield rows with decimal points in place of commas, in columns of text so named."""
    for table in tables:
        columns = {name: table[name] for name in table.column_names}
        for name in filter(columns.__contains__, names):
            if pa.types.is_string(columns[name].type):
                columns[name] = pc.replace_substring_regex(columns[name], COMMA, r"\1.\2")
        yield pa.table(columns)


def flags(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return a column of true and false as booleans; None if not all are."""
    lower = pc.utf8_lower(_bare(column))
    is_flag = pc.is_in(lower, value_set=pa.array(_FLAGS, lower.type))
    if not pc.all(pc.or_(is_flag, pc.is_null(lower)), min_count=0).as_py():
        return None
    return pc.equal(lower, "true")


def whole_ids(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return a column of ids as int64 if all are written as such; None if not.

    ``007`` is none, so that it stays apart from ``7``.
    """
    text, found = column, _cast(column, pa.int64())
    if found is None:
        text = _bare(column)
        found = _cast(text, pa.int64())
    is_kept = found is not None and found.cast(text.type).equals(text)
    return found if is_kept else None


def with_nulls(column: pa.ChunkedArray, gaps: Collection[str]) -> pa.ChunkedArray:
    """Return a column of text with null for cells that are gaps."""
    if not pc.any(pc.is_in(column, value_set=pa.array(gaps, column.type))).as_py():
        return column
    # Not by Arrow's if_else: up to version 21 it garbles text beside a null.
    return pa.chunked_array([[None if cell in gaps else cell for cell in column.to_pylist()]])


def first_cell(
    column: pa.ChunkedArray, is_odd: Callable[[pa.ChunkedArray], bool]
) -> tuple[int, str]:
    """Return the position and the text of the first cell that is odd by itself.

    Cells may be odd only together, as decimal points beside decimal commas, or numbers
    beside true and false: then it is the first one of the rarer kind.
    """
    cells: list[str | None] = _bare(column).to_pylist()
    known = [(row, cell) for row, cell in enumerate(cells) if cell is not None]
    odd = (pair for pair in known if is_odd(pa.chunked_array([[pair[1]]])))
    flags = [pair for pair in known if pair[1].lower() in _FLAGS]
    others = [pair for pair in known if pair[1].lower() not in _FLAGS]
    if flags and others:
        return next(odd, min(flags, others, key=len)[0])
    n_commas = sum("," in cell for _, cell in known)
    mark = "." if 2 * n_commas >= len(known) else ","
    rare = next((pair for pair in known if mark in pair[1]), known[0])
    return next(odd, rare)


def _bare(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text without spaces around it, and null for gaps."""
    bare = pc.utf8_trim_whitespace(column)
    is_gap = pc.is_in(bare, value_set=pa.array(GAPS, column.type))
    return pc.if_else(is_gap, pa.scalar(None, column.type), bare)


def _n(column: pa.ChunkedArray, pattern: str) -> int:
    """Count the cells that match."""
    return int(pc.sum(pc.match_substring_regex(column, pattern)).as_py() or 0)


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray | None:
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        return None


def numbers_of(columns: Columns, name: str, *, gaps: bool = False) -> Floats:
    """Return a column as numbers; refuse text, and gaps unless `gaps`."""
    column = columns.arrays[name]
    if column.dtype.kind in "iuf":
        found: Floats = np.asarray(column, dtype=np.float64)
    else:
        found = np.array([_number(cell) for cell in column.tolist()], dtype=np.float64)
    is_refused = np.isnan(found)
    if gaps:
        is_refused &= ~is_empty(column)
    if is_refused.any():
        row = int(np.argmax(is_refused))
        got = "an empty cell" if is_missing(column[row]) else short(column[row])
        raise refusal(
            f"column {short(name)} of {columns.source}", "be numbers", f"{got} in row {row + 1}"
        )
    return found


def _number(cell: object) -> float:
    """Return a cell as a number, NaN if it is none."""
    if isinstance(cell, str):
        found = number_of(cell)
        return float("nan") if found is None else found
    return float("nan") if cell is None else float(cell)  # type: ignore[arg-type]
