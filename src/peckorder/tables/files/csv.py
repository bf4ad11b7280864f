"""CSV and TSV: the one reader of the command line and of streams.

Arrow cuts lines into cells, all of them text; `cells` decides what they mean.
"""

import csv as lines
import io
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from peckorder._core.cells import COMMA, GAPS, has_names, is_number, may_have_commas
from peckorder._core.errors import refusal
from peckorder.tables.columns import short
from peckorder.tables.files.arrow_cells import first_cell, id_columns, numbers, remark, typed
from peckorder.tables.files.other_programs import arff_header, is_arff
from peckorder.tables.files.source import HEAD, Inflated, check_distinct, check_text, not_utf_8

# Names of columns that are numbers, or a function that returns them of all names.
Numbers: TypeAlias = Collection[str] | Callable[[tuple[str, ...]], Collection[str]]
# Returns the values of cells of text, None if one of them is of another kind.
Reader: TypeAlias = Callable[[pa.ChunkedArray], "pa.ChunkedArray | None"]

# A line must fit in a block.
BLOCK = 1 << 22
_TOO_LONG = "straddling object"
_NO_BYTES = "Empty CSV file"
_WRONG_ROW: Final = re.compile(
    r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+): (.*?)( \.\.\.)?\Z", re.DOTALL
)
_NO_DOUBLE = "conversion error to double"
# The delimiter of MovieLens' files, and what replaces it for Arrow, which wants one
# character.
_TWO: Final = "::"
_ONE: Final = "\x1f"
# Cells that are parted by any number of blanks and tabs.
BLANKS: Final = " "
_MAX_NOTES: Final = 5
# Further back than this many quotation marks no open one is looked for.
_MAX_QUOTES: Final = 1000


@dataclass(frozen=True, slots=True)
class Header:
    """The delimiter, the names of columns, and whether the first line has them.

    `line` are the bytes before the first row.
    """

    delimiter: str
    names: list[str]
    is_there: bool
    line: bytes = b""
    quote: str = '"'
    # Of nominal columns of ARFF, which are text.
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def has_commas(self) -> bool:
        """Whether numbers may have decimal commas."""
        return self.delimiter == BLANKS or may_have_commas(self.delimiter)


def csv_text(
    file: Inflated,
    delimiter: str | None,
    names: tuple[str, ...] | None = None,
    *,
    whole: bool = False,
) -> tuple[Header, Iterator[pa.Table]]:
    """Return the header of a CSV file, and its rows as text, all at once or in blocks.

    `names` are other names for the columns.
    """
    header = read_header(file.head, delimiter, names)
    file.check_columns(len(header.names))
    return header, text_tables(file, header, range(len(header.names)), whole=whole)


def with_types(
    header: Header, table: pa.Table, ids: Collection[str] = ()
) -> tuple[pa.Table, list[str]]:
    """Return columns of text with types by all cells, and notes about them.

    `ids` are further columns of ids.
    """
    nominal = _nominal(header, table)
    # Without names the ids of users and items come first.
    unnamed = () if header.is_there else header.names[:2]
    kept = id_columns(header.names, (*ids, *unnamed))
    found = pa.table(
        {
            name: nominal[name]
            if name in nominal
            else typed(name, table[name], is_id=name in kept, has_commas=header.has_commas)
            for name in table.column_names
        }
    )
    remarks = (
        remark(name, table[name], found[name]) for name in table.column_names if name not in kept
    )
    notes = [note for note in remarks if note]
    n_more = len(notes) - _MAX_NOTES
    if n_more > 1:
        notes = [*notes[:_MAX_NOTES], f"And {n_more} such columns."]
    return found, notes


def _nominal(header: Header, table: pa.Table) -> dict[str, pa.ChunkedArray]:
    """Return the columns that are declared as text, null where there is no value."""
    columns = {}
    for name in header.levels:
        cells = pc.utf8_trim_whitespace(table[name]).to_pylist()
        known = [None if cell in ("", "?") else cell for cell in cells]
        columns[name] = pa.chunked_array([known], pa.string())
    return columns


def with_numbers(header: Header, tables: Iterable[pa.Table], wanted: Numbers) -> Iterator[pa.Table]:
    """Yield blocks of rows, with numbers in the columns that are wanted so.

    A block does not show the type of a column: columns in `wanted` are numbers, and all
    others unchanged text.
    """
    wanted = wanted(tuple(header.names)) if callable(wanted) else wanted
    read = partial(numbers, has_commas=header.has_commas)
    n_before = 0
    for table in tables:
        columns = {name: table[name] for name in table.column_names} | _nominal(header, table)
        for name in filter(wanted.__contains__, table.column_names):
            columns[name] = values_of(columns[name], read, short(name), "numbers", n_before)
        yield pa.table(columns)
        n_before += len(table)


def values_of(
    cells: pa.ChunkedArray, read: Reader, column: str, rule: str, n_before: int, hint: str = ""
) -> pa.ChunkedArray:
    """Return the values of cells, the first of which is in row `n_before` + 1."""
    values = read(cells)
    if values is None:
        row, text = first_cell(cells, lambda cell: read(cell) is None)
        got = f"{short(text)} in row {n_before + row + 1}"
        raise refusal(f"column {column}", f"be {rule}", got, hint=hint)
    return values


class NotParsedError(Exception):
    """Arrow cannot read a cell as a number."""


def text_tables(
    source: Inflated,
    header: Header,
    positions: Sequence[int],
    *,
    whole: bool = False,
    block_size: int = BLOCK,
    parsed: Collection[int] = (),
    ahead: bool = True,
) -> Iterator[pa.Table]:
    """Yield columns at some positions as text, all rows at once or in blocks.

    Columns at the positions `parsed` are parsed as numbers, null where there is a gap:
    half the work, but Arrow knows neither decimal commas nor spaces around a mark. A
    cell that it cannot read raises `NotParsedError`; `cells` may yet read it as text.
    Threads read ahead if `ahead`, which takes the memory of several blocks.
    """
    is_two, is_blank = header.delimiter == _TWO, header.delimiter == BLANKS
    delimiter = _ONE if is_two or is_blank else header.delimiter
    file = None if is_two or is_blank or whole else source.native(len(header.line))
    if file is None:
        source.read(len(header.line))
        file = _Squeezed(source) if is_blank else _Watched(source, header.delimiter)
    numbered = [str(k) for k in range(len(header.names))]
    included = [numbered[k] for k in positions]
    options: dict[str, Any] = {
        "read_options": csv.ReadOptions(
            block_size=block_size, column_names=numbered, use_threads=ahead
        ),
        "parse_options": csv.ParseOptions(
            delimiter=delimiter,
            quote_char=False if is_two else header.quote,
            newlines_in_values=True,
        ),
        "convert_options": csv.ConvertOptions(
            column_types=dict.fromkeys(included, pa.string())
            | {numbered[k]: pa.float64() for k in parsed},
            include_columns=included,
            null_values=list(GAPS),
        ),
    }
    try:
        for table in _parsed(file, whole, options):
            yield table.rename_columns([header.names[k] for k in positions])
    except pa.ArrowInvalid as error:
        # Not by Arrow's handler of rows, which prints an error if they are not UTF-8.
        wrong = _WRONG_ROW.search(str(error))
        if wrong is None and _NO_DOUBLE in str(error):
            raise NotParsedError from None
        raise _csv_refusal(str(error), wrong, header, block_size, source.head) from None
    is_quoted = not is_two and header.quote == '"'
    text = _open_quotation(file, delimiter, block_size) if is_quoted else None
    if text is not None:
        raise refusal("quotation marks", "be closed", f"the end of the file behind {short(text)}")


def _parsed(
    file: "pa.NativeFile | _Watched", whole: bool, options: dict[str, Any]
) -> Iterator[pa.Table]:
    try:
        if whole:
            yield csv.read_csv(file, **options)
            return
        with csv.open_csv(file, **options) as reader:
            for batch in reader:
                yield pa.Table.from_batches([batch])
    except pa.ArrowInvalid as error:
        if str(error) != _NO_BYTES:
            raise
        types = options["convert_options"].column_types
        yield pa.schema(types).empty_table()


class _Watched(io.RawIOBase):
    """A file with its `::` as one character; it remembers its end."""

    def __init__(self, file: Inflated, delimiter: str) -> None:
        self._file, self._is_two = file, delimiter == _TWO
        self._half, self.ends, self.n_quotes = b"", (b"", b""), 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        if not self._is_two:
            data = self._file.read(size)
            if data:  # a line fits in a block, so its end is in the last two
                self.ends = self.ends[-1], data
                self.n_quotes += data.count(b'"')
            return data
        data = self._file.read(size if size < 0 else max(size - 1, 1))
        is_end = not data
        data = (self._half + data).replace(_TWO.encode(), _ONE.encode())
        # A colon at the end may be the first half of two.
        self._half = b":" if data.endswith(b":") and not is_end else b""
        data = data[:-1] if self._half else data
        return data if data or is_end else self.read(size)


class _Squeezed(_Watched):
    """A file with its blanks and tabs, however many, as one character between cells."""

    def __init__(self, file: Inflated) -> None:
        super().__init__(file, BLANKS)

    def read(self, size: int = -1, /) -> bytes:
        """Read whole lines, fewer bytes than `size`; a line must fit in it."""
        more = self._file.read(size if size < 0 else max(size - len(self._half), 1))
        data, self._half = self._half + more, b""
        cut = data.rfind(b"\n") + 1
        if more and cut:
            data, self._half = data[:cut], data[cut:]
        data = squeezed(data)
        if data:
            self.ends = self.ends[-1], data
            self.n_quotes += data.count(b'"')
        return data


def squeezed(lines: bytes) -> bytes:
    """Return whole lines with one mark between cells, none at their ends."""
    if b'"' in lines:
        parts = re.split(rb'("[^"\r\n]*")', lines)
        parts[::2] = [re.sub(rb"[ \t]+", _ONE.encode(), part) for part in parts[::2]]
        lines = b"".join(parts)
    else:
        lines = re.sub(rb"[ \t]+", _ONE.encode(), lines)
    return re.sub(rb"\x1f?(\r?\n|\r|\Z|\A)\x1f?", rb"\1", lines)


def _open_quotation(
    file: "pa.NativeFile | _Watched", delimiter: str, block_size: int
) -> str | None:
    """Return the last cell if the file ended within its quotation marks.

    Then the number of marks is odd, and behind one that opens a cell there are double
    ones only. Marks are counted if the end of the file looks so.
    """
    if isinstance(file, _Watched):
        end = b"".join(file.ends)
    else:
        file.seek(max(0, file.size() - 2 * block_size))
        end = file.read()
    opening = delimiter.encode() + b'"'
    start = end.rfind(opening) if b'"' in end else -1
    while start >= 0:
        text = end[start + len(opening) :]
        if b'"' not in text.replace(b'""', b"") and _n_quotes(file) % 2:
            return text.decode("utf-8", "replace")
        if text.count(b'"') > _MAX_QUOTES:
            break
        start = end.rfind(opening, 0, start)
    return None


def _n_quotes(file: "pa.NativeFile | _Watched") -> int:
    if isinstance(file, _Watched):
        return file.n_quotes
    file.seek(0)
    return sum(data.count(b'"') for data in iter(lambda: file.read(BLOCK), b""))


def read_header(
    head: bytes,
    delimiter: str | None,
    given: tuple[str, ...] | None = None,
    *,
    is_named: bool = False,
) -> Header:
    """Read the line of names, or number the columns of a file that has none.

    A column without a name, as an index written by pandas, gets its number. With
    `is_named` the first line has names, even if they look like values or are equal.
    """
    check_text(head)
    text = head.removeprefix("\N{BYTE ORDER MARK}".encode()).lstrip(b"\r\n")
    if is_arff(text):
        if is_named:
            hint = "Save its data as CSV, with a first line of names."
            raise refusal("the file", "be CSV", "ARFF, which is not read", hint=hint)
        return _header_of_arff(head, given)
    if not text.strip():
        raise refusal("the file", "begin with names of columns", "none")
    first, *rest = re.split(rb"[\r\n]", text, maxsplit=1)
    before = head[: len(head) - len(rest[0])] if rest else head
    if not rest and len(text) >= HEAD:
        shown = short(first.decode("utf-8", "replace"))
        raise refusal("the line of names", "be shorter than 1 MB", shown)
    line = first.decode("utf-8")
    if delimiter is None:
        outside = re.sub('"[^"]*"', "", line)
        delimiter = max(",;\t|", key=outside.count)
        delimiter = _TWO if _TWO in outside and delimiter not in outside else delimiter
        delimiter = BLANKS if _are_blanks(outside, delimiter) else delimiter
    names = _cells(line, delimiter)
    if is_named:
        return Header(delimiter, names, True, before)
    header = header_of(names, given, delimiter)
    return replace(header, line=before if header.is_there else b"")


def header_of(first: Sequence[str], given: tuple[str, ...] | None, delimiter: str = ",") -> Header:
    """Return the header of a table whose first row has these cells: names, or values."""
    names = [cell.strip() or f"column {k}" for k, cell in enumerate(first, 1)]
    has_commas = Header(delimiter, names, True).has_commas
    values = [re.sub(COMMA, r"\1.\2", name) for name in names] if has_commas else names
    is_there = has_names(values)
    if delimiter == _TWO or given is not None:
        # Files with :: have no names; given names are for all columns.
        is_there = is_there and not any(map(is_number, values))
    if given is not None:
        check_names(given, len(names))
        names = list(given)
    elif not is_there:
        if len(names) < 2:
            raise refusal("the first line", "name the columns", short(" ".join(first)))
        names = [f"column {k}" for k in range(1, len(names) + 1)]
    check_names(names, len(names))
    return Header(delimiter, names, is_there)


def _are_blanks(line: str, delimiter: str) -> bool:
    """Return whether blanks part the cells of a line.

    No mark does, or there are numbers between marks, which are decimal commas then.
    """
    if delimiter not in line:
        return len(line.split()) > 1
    cells = [cell.split() for cell in line.split(delimiter)]
    return max(map(len, cells)) > 1 and all(is_number(w) for words in cells for w in words)


def _header_of_arff(head: bytes, given: tuple[str, ...] | None) -> Header:
    """Return the header of a file that declares its columns before the first row."""
    found = arff_header(head)
    names = found.names if given is None else list(given)
    check_names(names, len(found.names))
    new = dict(zip(found.names, names, strict=True))
    levels = {new[name]: words for name, words in found.levels.items()}
    quote = '"' if b'"' in head[found.size :] else "'"
    return Header(",", names, True, head[: found.size], quote, levels)


def check_names(names: Sequence[str], n_columns: int) -> None:
    """Refuse names that are not one for each column, and different."""
    if len(names) != n_columns:
        rule = f"be {n_columns} names, one for each column"
        raise refusal("columns", rule, f"{len(names)}, {', '.join(names)}")
    check_distinct(names, "If the first line has no names, give them by --columns.")


def _cells(line: str, delimiter: str) -> list[str]:
    if delimiter == _TWO:
        cells = line.split(_TWO)
    elif delimiter == BLANKS:
        return _cells(squeezed(line.encode()).decode(), _ONE)
    else:
        try:
            cells = next(lines.reader([line], delimiter=delimiter, strict=True))
        except lines.Error:
            raise refusal("the line of names", "be sound CSV", short(line)) from None
    return [name.strip() or f"column {k}" for k, name in enumerate(cells, 1)]


def _line_of(text: str, is_cut: bool, head: bytes) -> int | None:
    """Return the number of a line, or of one that begins so, if it is among the first."""
    lines = enumerate(head.decode("utf-8", "replace").splitlines(), 1)
    return next(
        (k for k, line in lines if (line.startswith(text) if is_cut else line == text)), None
    )


def _csv_refusal(
    message: str, wrong: re.Match[str] | None, header: Header, block_size: int, head: bytes
) -> Exception:
    if wrong is not None:
        row, expected, actual, text, cut = wrong.groups()
        text = text.replace(_ONE, _TWO if header.delimiter == _TWO else " ").rstrip("\r\n")
        n_before = len(header.line.splitlines())
        number = int(row) + n_before if row else _line_of(text, cut is not None, head)
        where = f"line {number}, " if number else ""
        return refusal(
            "lines",
            f"have as many cells as the first, {expected}",
            f"{actual} in {where}{short(text)}",
        )
    if _TOO_LONG in message:
        return refusal(
            "lines",
            f"be shorter than {block_size >> 20} MB",
            "a longer one, or a quotation mark that nothing closes",
        )
    refused = re.search(r"column #(\d+)", message)
    if refused:
        name = header.names[int(refused[1])]
        return not_utf_8(f"other bytes in column {short(name)}", head)
    return refusal("the file", "be sound CSV", short(message, 200))
