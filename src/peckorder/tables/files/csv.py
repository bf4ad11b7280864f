"""CSV and TSV: all rows at once, or in blocks."""

import csv as lines
import io
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import pyarrow as pa
from pyarrow import csv

from peckorder.exceptions import DataError
from peckorder.tables.files.cells import (
    first_text,
    has_names,
    id_columns,
    is_number,
    numbers,
    remark,
    typed,
)
from peckorder.tables.files.source import (
    HEAD,
    Inflated,
    check_text,
    not_utf_8,
    short,
)

# Names of columns that are numbers, or what tells them from all names.
Numbers: TypeAlias = Collection[str] | Callable[[tuple[str, ...]], Collection[str]]

# A line must fit in a block.
BLOCK = 1 << 22  # of which several are on their way at a time
_TOO_LONG = "straddling object"
# What stands between columns of MovieLens' files, and what Arrow, which wants one
# letter, is given instead.
_TWO: Final = "::"
_ONE: Final = "\x1f"
_TAIL: Final = 1 << 16
_MOST_NOTES: Final = 5


@dataclass(frozen=True, slots=True)
class _Header:
    """What stands between columns, their names, and whether the file has them."""

    delimiter: str
    names: list[str]
    is_there: bool


def csv_blocks(
    who: str,
    file: Inflated,
    delimiter: str | None,
    wanted: Numbers | None,
    *,
    ids: Collection[str] = (),
    names: tuple[str, ...] | None = None,
    notes: list[str] | None = None,
) -> Iterator[pa.Table]:
    """Yield the rows of a CSV file: all at once, or in blocks if `wanted` are named.

    In blocks a type cannot be told from all rows: columns in `wanted` are numbers
    then, and all others text as it stands in the file. `ids` are columns of ids, which
    are not changed, beside those that are named so. `names` are other names for the
    columns, or names for those that have none. `notes` are added to, of a whole file,
    by what one may not expect of how it was read.
    """
    header = _header(who, file.head, delimiter, names)
    watched = _Watched(file, header.delimiter)
    tables = _texts(who, watched, header, file.head, whole=wanted is None)
    # Where a comma stands between columns it does not stand within numbers.
    has_commas = header.delimiter in ";\t|"
    if wanted is None:
        (table,) = _ended(who, tables, watched)
        # Those of users and items come first.
        unnamed = () if header.is_there else header.names[:2]
        kept = id_columns(header.names, (*ids, *unnamed))
        found = _each(
            table,
            lambda name, cells: typed(
                name, cells, is_id=name in kept, has_commas=has_commas
            ),
        )
        if notes is not None:
            notes += _remarks(table, found, kept)
        yield found
        return
    n_before = 0
    some = wanted(tuple(header.names)) if callable(wanted) else wanted

    def read(name: str, cells: pa.ChunkedArray) -> pa.ChunkedArray:
        if name not in some:
            return cells
        found = numbers(cells, has_commas=has_commas)
        if found is None:
            place, text = first_text(cells, has_commas=has_commas)
            raise DataError(
                f"{who}: column {short(name)} must be numbers; got {short(text)} in "
                f"row {n_before + place + 1}."
            )
        return found

    for table in _ended(who, tables, watched):
        yield _each(table, read)
        n_before += len(table)


def _remarks(table: pa.Table, found: pa.Table, ids: Collection[str]) -> list[str]:
    """Say of columns, the first few, what one may not expect of how they were read."""
    every = [
        said
        for name in table.column_names
        if name not in ids and (said := remark(name, table[name], found[name]))
    ]
    more = len(every) - _MOST_NOTES
    return every if more <= 1 else [*every[:_MOST_NOTES], f"And {more} such columns."]


def _each(
    table: pa.Table, read: Callable[[str, pa.ChunkedArray], pa.ChunkedArray]
) -> pa.Table:
    return pa.table({name: read(name, table[name]) for name in table.column_names})


def _texts(
    who: str, file: "_Watched", header: _Header, head: bytes, *, whole: bool
) -> Iterator[pa.Table]:
    """Yield all cells as text, at once or in blocks."""
    wrong: list[Any] = []

    def on_wrong_row(row: Any) -> str:
        wrong.append(row)
        return "error"

    places = [str(k) for k in range(len(header.names))]
    quote: Any = False if header.delimiter == _TWO else '"'
    options: dict[str, Any] = {
        "read_options": csv.ReadOptions(block_size=BLOCK, column_names=places),
        "parse_options": csv.ParseOptions(
            delimiter=_ONE if header.delimiter == _TWO else header.delimiter,
            quote_char=quote,
            newlines_in_values=True,
            invalid_row_handler=on_wrong_row,
        ),
        "convert_options": csv.ConvertOptions(
            column_types=dict.fromkeys(places, pa.string())
        ),
    }
    n_named = int(header.is_there)  # the line of names is the first row
    try:
        if whole:
            yield csv.read_csv(file, **options).rename_columns(header.names)[n_named:]
            return
        with csv.open_csv(file, **options) as reader:
            for batch in reader:
                table = pa.Table.from_batches([batch]).rename_columns(header.names)
                n_before = min(n_named, len(table))
                n_named -= n_before
                yield table[n_before:]
    except pa.ArrowInvalid as error:
        sentence = _sentence(who, str(error), wrong, header, head)
        raise DataError(sentence) from None


def _ended(
    who: str, tables: Iterator[pa.Table], file: "_Watched"
) -> Iterator[pa.Table]:
    """Yield tables; refuse a last cell whose quotation is not closed."""
    last = ""
    for table in tables:
        if len(table):
            last = table.columns[-1][-1].as_py() or ""
        yield table
    if file.is_open_behind(last):
        raise DataError(
            f"{who}: quotation marks must be closed; got the end of the file behind "
            f"{short(last)}."
        )


class _Watched(io.RawIOBase):
    """A file with its `::` as one letter; it counts quotation marks."""

    def __init__(self, file: io.RawIOBase, delimiter: str) -> None:
        self._file, self._is_two = file, delimiter == _TWO
        self._mark = delimiter.encode()
        self._held, self._n_quotes, self._tail = b"", 0, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(max(len(buffer) - 1, 1)) or b""
        if self._is_two:
            is_end = not data
            data = (self._held + data).replace(_TWO.encode(), _ONE.encode())
            # A colon at the end may be the first half of two.
            self._held = b":" if data.endswith(b":") and not is_end else b""
            data = data[:-1] if self._held else data
            if not data and not is_end:
                return self.readinto(buffer)
        else:
            self._n_quotes += data.count(b'"')
            self._tail = (self._tail + data)[-_TAIL:]
        buffer[: len(data)] = data
        return len(data)

    def is_open_behind(self, last: str) -> bool:
        """Say whether the file ended within a quotation, its last cell."""
        if self._is_two or self._n_quotes % 2 == 0:
            return False
        opened = self._mark + b'"' + last.encode().replace(b'"', b'""')
        return self._tail.endswith(opened[-_TAIL:])


def _header(
    who: str, head: bytes, delimiter: str | None, given: tuple[str, ...] | None
) -> _Header:
    """Read the line of names, or number the columns of a file that has none.

    A column without a name, as an index written by pandas has none, gets its number.
    """
    check_text(who, head)
    text = head.removeprefix("\N{BYTE ORDER MARK}".encode()).lstrip(b"\r\n")
    if re.match(rb"(\s*%[^\n]*\n)*\s*@relation", text, re.IGNORECASE):
        raise DataError(
            f"{who}: the file must be CSV; got ARFF, which is not read. Save its data "
            "as CSV, with a first line of names."
        )
    if not text.strip():
        raise DataError(f"{who}: the file must begin with names of columns; got none.")
    first, *rest = re.split(rb"[\r\n]", text, maxsplit=1)
    if not rest and len(text) >= HEAD:
        raise DataError(
            f"{who}: the line of names must be shorter than 1 MB; got "
            f"{short(first.decode('utf-8', 'replace'))}."
        )
    line = first.decode("utf-8")
    if delimiter is None:
        outside = re.sub('"[^"]*"', "", line)
        delimiter = max(",;\t|", key=outside.count)
        delimiter = _TWO if _TWO in outside and delimiter not in outside else delimiter
    names = _cells(who, line, delimiter)
    is_there = has_names(names)
    if delimiter == _TWO or given is not None:
        # Files with :: have no names; who gives names to columns gives all.
        is_there = is_there and not any(map(is_number, names))
    if given is not None:
        check_names(who, given, len(names))
        names = list(given)
    elif not is_there:
        if len(names) < 2:
            raise DataError(
                f"{who}: the first line must name the columns; got {short(line)}."
            )
        names = [f"column {k}" for k in range(1, len(names) + 1)]
    check_names(who, names, len(names))
    return _Header(delimiter, names, is_there)


def check_names(who: str, names: Sequence[str], n_columns: int) -> None:
    """Refuse names that are not one for each column, and different."""
    if len(names) != n_columns:
        raise DataError(
            f"{who}: columns must be {n_columns} names, one for each column; got "
            f"{len(names)}, {', '.join(names)}."
        )
    again = [name for k, name in enumerate(names) if name in names[:k]]
    if again:
        raise DataError(
            f"{who}: names of columns must differ; got {short(again[0])} twice. If the "
            "first line has no names, give them by --columns."
        )


def _cells(who: str, line: str, delimiter: str) -> list[str]:
    if delimiter == _TWO:
        cells = line.split(_TWO)
    else:
        try:
            cells = next(lines.reader([line], delimiter=delimiter, strict=True))
        except lines.Error:
            raise DataError(
                f"{who}: the line of names must be sound CSV; got {short(line)}."
            ) from None
    return [name.strip() or f"column {k}" for k, name in enumerate(cells, 1)]


def _line_of(text: str, head: bytes) -> int | None:
    """Return the number of a line, if it is among the first."""
    lines_ = head.decode("utf-8", "replace").splitlines()
    return lines_.index(text.rstrip("\r\n")) + 1 if text in lines_ else None


def _sentence(
    who: str, message: str, wrong: list[Any], header: _Header, head: bytes
) -> str:
    if wrong:
        row = wrong[0]
        text = row.text.replace(_ONE, _TWO)
        number = row.number or _line_of(text, head)
        where = f"line {number}, " if number else ""
        return (
            f"{who}: lines must have as many cells as the first, "
            f"{row.expected_columns}; got {row.actual_columns} in "
            f"{where}{short(text)}."
        )
    if _TOO_LONG in message:
        return (
            f"{who}: lines must be shorter than {BLOCK >> 20} MB; got a longer one, or "
            "a quotation mark that nothing closes."
        )
    refused = re.search(r"column #(\d+)", message)
    if refused:
        name = header.names[int(refused[1])]
        return not_utf_8(who, f"other bytes in column {short(name)}", head)
    return f"{who}: the file must be sound CSV; got {short(message, 200)}."
