"""Files of other programs: tables in ARFF and Excel's, and what LightGBM puts beside a table."""

import io
import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple
from zipfile import BadZipFile, ZipFile

import numpy as np

from peckorder._core.cells import is_number
from peckorder._core.errors import named, refusal, requiring, warn
from peckorder._core.typing import Ints, PathLike
from peckorder.tables.columns import short
from peckorder.tables.files.source import Inflated, check_text
from peckorder.tables.files.standard_streams import is_standard

_RELATION = re.compile(rb"(\s*%[^\n]*\n|\s)*@relation\b", re.IGNORECASE)
_WORD: Final = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_WORD}|[^\s{{]+)\s*(.*)", re.IGNORECASE)
_VALUE = re.compile(rf"\s*({_WORD}|[^,]*)\s*(?:,|$)")
_TYPES: Final = ("numeric", "real", "integer", "string", "date")
# What a sheet of Excel may have.
_MOST_ROWS, _MOST_COLUMNS = 1 << 20, 1 << 14
_WORKBOOK, _OLD_WORKBOOK = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
QUERIES, _UNUSED = ".query", (".weight", ".position")


class ArffHeader(NamedTuple):
    """Names of columns, the values of those of text, and how many bytes come before rows."""

    names: list[str]
    levels: dict[str, tuple[str, ...]]
    size: int


def is_arff(head: bytes) -> bool:
    """Return whether a file begins as ARFF does."""
    return _RELATION.match(head) is not None


def is_workbook(head: bytes) -> bool:
    """Return whether a file begins as one of Excel does; refuse those before 2007."""
    if head.startswith(_OLD_WORKBOOK):
        hint = "Save it as .xlsx or .csv."
        raise refusal("the file", "be a table", "Excel's format of before 2007", hint=hint)
    return head.startswith(_WORKBOOK)


def arff_header(head: bytes) -> ArffHeader:
    """Read the declarations of a dense ARFF file.

    Nominal attributes have their values in the order of the file.
    """
    check_text(head)
    names, levels, size = [], {}, 0
    for line in head.splitlines(keepends=True):
        size += len(line)
        text = line.decode("utf-8", "replace").strip()
        if text.lower().startswith("@data"):
            break
        if not text.lower().startswith("@attribute"):
            continue
        match = _ATTRIBUTE.match(text)
        kind = match[2].strip() if match else ""
        if match is None or not (kind.startswith("{") or kind.split()[:1]):
            raise refusal("an attribute", "have a name and a type", short(text))
        name = _bare(match[1])
        if kind.startswith("{"):
            values = tuple(_values(kind, name))
            if not _ascend(values):  # numbers in their order are numbers
                levels[name] = values
        elif kind.split()[0].lower() not in _TYPES:
            rule = f"be {', '.join(_TYPES)} or nominal"
            raise refusal(f"attribute {short(name)}", rule, short(kind))
        names.append(name)
    else:
        raise refusal("the file", "have a line @data in its first 1 MB", "none")
    if not names:
        raise refusal("the file", "declare attributes before @data", "none")
    if re.match(rb"\s*\{", head[size:]):
        raise refusal("rows", "have all their values", "sparse ones, in braces")
    return ArffHeader(names, levels, size)


def _values(kind: str, name: str) -> Iterator[str]:
    """Yield the values of a nominal attribute."""
    if not kind.endswith("}"):
        raise refusal(f"attribute {short(name)}", "have its values in braces", short(kind))
    text = kind[1:-1].strip()
    at = 0
    while at < len(text):
        match = _VALUE.match(text, at)
        if match is None:
            raise refusal(f"attribute {short(name)}", "have its values in braces", short(kind))
        yield _bare(match[1])
        at = match.end()


def _ascend(words: Sequence[str]) -> bool:
    if not all(map(is_number, words)):
        return False
    numbers = list(map(float, words))
    return numbers == sorted(numbers)


def _bare(word: str) -> str:
    """Return a word without its quotation marks."""
    word = word.strip()
    if word[:1] in ("'", '"') and word[-1:] == word[:1] and len(word) > 1:
        return re.sub(r"\\(.)", r"\1", word[1:-1])
    return word


def sheet_rows(file: Inflated) -> Iterator[tuple[str | None, ...]]:
    """Yield the rows of the first sheet of a workbook that are not empty, as text.

    Numbers are written as Python does, dates as ISO does. Sizes are bounded by what a
    sheet may have, and as those of compressed files.
    """
    with requiring("openpyxl", "to read .xlsx", "openpyxl, or save the table as .csv"):
        openpyxl: Any = import_module("openpyxl")
    data = file.read()
    try:
        with ZipFile(io.BytesIO(data)) as parts:
            file.check_holds(sum(part.file_size for part in parts.infolist()), len(data))
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        sheet = book.worksheets[0]
        if others := [short(other.title) for other in book.worksheets[1:]]:
            first = short(sheet.title)
            warn(
                f"of the workbook only the first sheet, {first}, is read, not {', '.join(others)}."
            )
        sheet.reset_dimensions()
        n_cells = 0
        for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
            n_cells += len(row)
            if number > _MOST_ROWS or len(row) > _MOST_COLUMNS:
                rule = f"have at most {_MOST_ROWS:,} rows and {_MOST_COLUMNS:,} columns"
                raise refusal("the sheet", rule, "more")
            file.check_holds(8 * n_cells, len(data))
            if any(cell is not None for cell in row):
                yield tuple(map(_text, row))
    except (BadZipFile, KeyError, IndexError, SyntaxError, TypeError, OSError) as error:
        raise refusal("the file", "be a sound workbook of Excel", type(error).__name__) from None


def _text(cell: Any) -> str | None:
    if cell is None or isinstance(cell, bool):
        return None if cell is None else str(cell).lower()
    if isinstance(cell, float):
        return repr(int(cell)) if cell.is_integer() and abs(cell) < 1 << 53 else repr(cell)
    if isinstance(cell, datetime) and cell == datetime.combine(cell.date(), datetime.min.time()):
        cell = cell.date()
    return cell.isoformat() if isinstance(cell, date) else str(cell)


class Sidecar(NamedTuple):
    """Queries of the rows of a file, as another file beside it tells: how many of each."""

    path: str
    ends: Ints
    notes: tuple[str, ...]

    def queries(self, first: int, n_rows: int, *, is_last: bool) -> Ints:
        """Return the numbers of queries of some rows, from 1; check how many there are."""
        total, last = int(self.ends[-1]), first + n_rows
        if last > total or (is_last and last < total):
            n_rows_in_all = f"{last}" if is_last else f"{last} or more"
            rule = f"sum to the number of rows, {n_rows_in_all}"
            raise refusal(f"the numbers in {self.path}", rule, total)
        return 1 + np.searchsorted(self.ends, np.arange(first, last), side="right")


def sidecar_of(path: PathLike) -> Sidecar | None:
    """Return what LightGBM would read beside a file: the sizes of its queries."""
    if is_standard(path):
        return None
    beside = Path(f"{path}{QUERIES}")
    if not beside.is_file():
        return None
    with named(str(beside)):
        words = _words(beside)
        try:
            sizes = np.array([int(word) for word in words], dtype=np.int64)
        except (ValueError, OverflowError):
            raise refusal("lines", "be numbers of rows", short(_wrong(words))) from None
        # Summed as numbers of Python, which have no largest one.
        if not words or sizes.min() < 0 or sum(sizes.tolist()) >= 1 << 53:
            odd = min(sizes.tolist(), key=lambda size: (size >= 0, -size), default="none")
            raise refusal("lines", "be numbers of rows, one for each query", odd)
    unused = [name for mark in _UNUSED if Path(name := f"{path}{mark}").is_file()]
    notes = [f"The queries are those of {beside}, whose numbers are the column qid."]
    notes += [f"{', '.join(unused)}: not used."] if unused else []
    return Sidecar(str(beside), np.cumsum(sizes), tuple(notes))


def _words(path: Path) -> Sequence[str]:
    try:
        return path.read_text(encoding="utf-8").split()
    except UnicodeDecodeError:
        raise refusal("text", "be UTF-8", "other bytes") from None


def _wrong(words: Sequence[str]) -> str:
    return next((word for word in words if not re.fullmatch(r"\d{1,18}", word)), words[0])
