"""CSV and TSV: all rows at once, or in blocks."""

import csv as lines
import re
from collections.abc import Callable, Collection, Iterator
from typing import Any, TypeAlias

import pyarrow as pa
from pyarrow import csv

from peckorder.cli._tables_source import HEAD, Inflated, check_text, short
from peckorder.exceptions import DataError

# Names of columns that are numbers, or what tells them from all names.
Numbers: TypeAlias = Collection[str] | Callable[[tuple[str, ...]], Collection[str]]

# A line must fit in a block.
BLOCK = 1 << 22  # of which several are on their way at a time
_EMPTY = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "-nan", "-NaN")
_TOO_LONG = "straddling object"


def csv_blocks(
    who: str,
    file: Inflated,
    delimiter: str | None,
    numbers: Numbers | None,
) -> Iterator[pa.Table]:
    """Yield the rows of a CSV file: all at once, or in blocks if `numbers` are named.

    In blocks a type cannot be told from all rows: columns in `numbers` are numbers
    then, and all others text as it stands in the file.
    """
    delimiter, given, names = _header(who, file.head, delimiter)
    types = None
    if numbers is not None:
        numbers = numbers(tuple(names)) if callable(numbers) else numbers
        is_number = {True: pa.float64(), False: pa.string()}
        pairs = zip(given, names, strict=True)
        types = {raw: is_number[name in numbers] for raw, name in pairs}
    wrong: list[Any] = []

    def on_wrong_row(row: Any) -> str:
        wrong.append(row)
        return "error"

    options: dict[str, Any] = {
        "read_options": csv.ReadOptions(block_size=BLOCK),
        "parse_options": csv.ParseOptions(
            delimiter=delimiter,
            newlines_in_values=True,
            invalid_row_handler=on_wrong_row,
        ),
        "convert_options": csv.ConvertOptions(null_values=_EMPTY, column_types=types),
    }
    try:
        if numbers is None:
            yield csv.read_csv(file, **options).rename_columns(names)
            return
        with csv.open_csv(file, **options) as reader:
            for batch in reader:
                yield pa.Table.from_batches([batch]).rename_columns(names)
    except pa.ArrowInvalid as error:
        raise DataError(_sentence(who, str(error), wrong, names)) from None


def _header(
    who: str, head: bytes, delimiter: str | None
) -> tuple[str, list[str], list[str]]:
    """Return what stands between columns, their names as written and as we call them.

    A column without a name, as an index written by pandas has none, gets its number.
    """
    check_text(who, head)
    text = head.removeprefix("\N{BYTE ORDER MARK}".encode()).lstrip(b"\r\n")
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
    try:
        given = next(lines.reader([line], delimiter=delimiter, strict=True))
    except lines.Error:
        raise DataError(
            f"{who}: the line of names must be sound CSV; got {short(line)}."
        ) from None
    names = [name.strip() or f"column {k}" for k, name in enumerate(given, 1)]
    again = [name for k, name in enumerate(names) if name in names[:k]]
    if again:
        raise DataError(
            f"{who}: names of columns must differ; got {short(again[0])} twice."
        )
    if all(map(_is_number, names)):
        raise DataError(
            f"{who}: the first line must name the columns; got {short(line)}."
        )
    return delimiter, given, names


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _sentence(who: str, message: str, wrong: list[Any], names: list[str]) -> str:
    if wrong:
        row = wrong[0]
        where = f"line {row.number}, " if row.number else ""
        return (
            f"{who}: lines must have as many cells as the first, "
            f"{row.expected_columns}; got {row.actual_columns} in "
            f"{where}{short(row.text)}."
        )
    if _TOO_LONG in message:
        return (
            f"{who}: lines must be shorter than {BLOCK >> 20} MB; got a longer one, or "
            "a quotation mark that nothing closes."
        )
    refused = re.search(r"column #(\d+): .*?(?:invalid value '(.*)'|$)", message, re.S)
    if refused:
        column = f"column {short(names[int(refused[1])])}"
        if refused[2] is None:
            return f"{who}: text must be UTF-8; got other bytes in {column}."
        return f"{who}: {column} must be numbers; got {short(refused[2])}."
    return f"{who}: the file must be sound CSV; got {short(message, 200)}."
