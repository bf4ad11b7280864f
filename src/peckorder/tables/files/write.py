"""Tables out: a whole file or none, or standard output."""

import csv as lines
import gzip
import io
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv
from pyarrow import parquet as pq

from peckorder._core.cells import is_number
from peckorder._core.errors import named, refusal
from peckorder._core.text_files import check_target as check_path
from peckorder._core.text_files import whole_file
from peckorder._core.typing import Array
from peckorder.tables.columns import Columns
from peckorder.tables.files.source import is_standard, short, shown_out
from peckorder.tables.files.trec import COMMENT, DOCID, QID, TARGET

_SPACES = " \t\r\n\v\f"
# All at which any reader may end a line.
_LINE_ENDS = re.compile("[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")


class BinaryFile(Protocol):
    """What bytes are written to."""

    def write(self, data: bytes, /) -> int:
        """Write bytes; return how many."""


class _Writer(Protocol):
    def write(self, columns: Columns) -> None: ...
    def close(self) -> None: ...


def check_target(path: str | os.PathLike[str]) -> None:
    """Raise, before any work, if nothing can be written at a path."""
    if not is_standard(path):
        with named(str(path)):
            check_path("the output", path)


def write_blocks(path: str | os.PathLike[str], blocks: Iterable[Columns], kind: str) -> int:
    """Write blocks of rows in a format; return how many rows there were."""
    check_target(path)
    n_rows, writer = 0, None
    with _sink(path) as sink:
        try:
            for block in blocks:
                # Not around the loop: making the blocks is the caller's work.
                with named(shown_out(path)):
                    writer = writer or _WRITERS[kind](sink, block)
                    writer.write(block)
                n_rows += len(block)
        except (pa.ArrowTypeError, pa.ArrowNotImplementedError, pa.ArrowInvalid):
            rule = f"be of one type in all rows to be written as {kind}"
            with named(shown_out(path)):
                got = f"others in rows from {n_rows + 1} on"
                raise refusal("columns", rule, got) from None
        finally:
            if writer is not None:
                writer.close()
    return n_rows


@contextmanager
def _sink(path: str | os.PathLike[str]) -> Iterator[BinaryFile]:
    """Open a file that appears when all of it is written, or never."""
    if is_standard(path):
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    suffix = Path(os.path.realpath(path)).suffix.lower()
    with whole_file(path) as raw, _packed(suffix, raw) as sink:
        yield sink


@contextmanager
def _packed(suffix: str, raw: IO[bytes]) -> Iterator[BinaryFile]:
    if suffix == ".gz":
        # Without a date equal data are equal bytes.
        with gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
            yield packed
    elif suffix == ".zst":
        below = pa.PythonFile(_Unclosed(raw), "w")
        with pa.CompressedOutputStream(below, "zstd") as packed:
            yield packed
    else:
        yield raw


class _Csv:
    def __init__(self, sink: BinaryFile, first: Columns, mark: str = ",") -> None:
        header = io.StringIO()
        lines.writer(header, delimiter=mark, lineterminator="\n").writerow(first.names)
        sink.write(header.getvalue().encode())
        self._sink, self._mark = sink, mark

    def write(self, columns: Columns) -> None:
        table = to_arrow(columns)
        if _needs_quotes(table, self._mark):
            # Arrow would put all text in quotes.
            cells = [column.cast(pa.string()).to_pylist() for column in table.columns]
            text = io.StringIO()
            writer = lines.writer(text, delimiter=self._mark, lineterminator="\n")
            writer.writerows(zip(*cells, strict=True))
            self._sink.write(text.getvalue().encode())
        elif len(table):
            options = csv.WriteOptions(
                include_header=False, delimiter=self._mark, quoting_style="none"
            )
            csv.write_csv(table, _Unclosed(self._sink), options)

    def close(self) -> None:
        """There is nothing to end."""


def _needs_quotes(table: pa.Table, mark: str) -> bool:
    """Say whether a text has marks of CSV, or spaces at its ends."""
    pattern = f'["\r\n{mark}]|^\\s|\\s$'
    return any(
        pc.any(pc.match_substring_regex(column, pattern)).as_py()
        for column in table.columns
        if pa.types.is_string(column.type)
    )


class _Tsv(_Csv):
    def __init__(self, sink: BinaryFile, first: Columns) -> None:
        super().__init__(sink, first, "\t")


class _Parquet:
    def __init__(self, sink: BinaryFile, first: Columns) -> None:
        self._schema = to_arrow(first).schema
        self._writer = pq.ParquetWriter(_Unclosed(sink), self._schema)

    def write(self, columns: Columns) -> None:
        self._writer.write_table(to_arrow(columns).cast(self._schema))

    def close(self) -> None:
        self._writer.close()


class _Text:
    """Lines of text, made from columns by a function per format."""

    def __init__(self, lines_of: Callable[[Columns], Iterator[str]]) -> None:
        self._lines_of = lines_of

    def __call__(self, sink: BinaryFile, first: Columns) -> _Writer:
        self._sink = sink
        return self

    def write(self, columns: Columns) -> None:
        text = "".join(self._lines_of(columns))
        self._sink.write(text.encode("utf-8", "surrogateescape"))

    def close(self) -> None:
        """There is nothing to end."""


class _Unclosed(io.RawIOBase):
    """A file that Arrow may close without closing the one below."""

    def __init__(self, sink: BinaryFile) -> None:
        self._sink, self._at = sink, 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def write(self, data: Any) -> int:
        self._sink.write(data)
        self._at += len(data)
        return len(data)


def to_arrow(columns: Columns) -> pa.Table:
    """Return columns as a table of Arrow."""
    return pa.table(
        {
            name: pa.array(
                column, type=pa.string() if column.dtype == object else None, from_pandas=True
            )
            for name, column in columns.arrays.items()
        }
    )


def _json_lines(columns: Columns) -> Iterator[str]:
    cells = [_finite(_cells(column, None)) for column in columns.arrays.values()]
    for row in zip(*cells, strict=True):
        record = dict(zip(columns.names, row, strict=True))
        yield json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


def _finite(cells: list[object]) -> list[object]:
    """Put gaps in the place of infinities, for which JSON has no words."""
    return [None if c in (math.inf, -math.inf) else c for c in cells]


def _letor_lines(columns: Columns) -> Iterator[str]:
    arrays = columns.arrays
    features = [name for name in arrays if name.isdecimal()]
    n_rows = len(columns)
    target = _cells(arrays.get(TARGET, np.zeros(n_rows, dtype=np.int64)), "NULL")
    for row, grade in enumerate(target):
        if isinstance(grade, str) and not is_number(grade.strip()):
            raise refusal(
                f"column {short(TARGET)}",
                "be numbers to be written as LETOR",
                f"{short(arrays[TARGET][row])} in row {row + 1}",
            )
    qid = _words(columns, QID) if QID in arrays else None
    keys = [f" {name}:" for name in features]
    cells = list(zip(*(_cells(arrays[f], "NULL") for f in features), strict=True))
    said = [n for n in arrays if n not in (TARGET, QID, *features)]
    notes = [_cells(arrays[name], "") for name in said]
    for row in range(n_rows):
        head = f"{target[row]}" if qid is None else f"{target[row]} qid:{qid[row]}"
        values = cells[row] if features else ()
        body = "".join(f"{k}{v}" for k, v in zip(keys, values, strict=True))
        shown = ", ".join(
            str(note[row]) if name == COMMENT else f"{name} = {note[row]}"
            for name, note in zip(said, notes, strict=True)
        )
        yield f"{head}{body}" + (f" #{_LINE_ENDS.sub(' ', shown)}\n" if said else "\n")


def _run_lines(columns: Columns) -> Iterator[str]:
    place = "position" if "position" in columns.arrays else "rank"
    for needed in (QID, DOCID, "score", place):
        if needed not in columns.arrays:
            raise refusal(
                "a run",
                "have the columns qid, docid, score and rank",
                ", ".join(map(short, columns.names)),
            )
    qid, docid = _words(columns, QID), _words(columns, DOCID)
    score = columns.arrays["score"].tolist()
    rank = columns.arrays[place].tolist()
    tag = _words(columns, "tag") if "tag" in columns.arrays else None
    for row in range(len(columns)):
        system = "peckorder" if tag is None else tag[row]
        yield (f"{qid[row]} Q0 {docid[row]} {int(rank[row])} {score[row]!r} {system}\n")


def _qrels_lines(columns: Columns) -> Iterator[str]:
    names = (QID, DOCID, "grade")
    if not set(names) <= set(columns.names):
        raise refusal(
            "qrels", "have the columns qid, docid and grade", ", ".join(map(short, columns.names))
        )
    qid, docid = _words(columns, QID), _words(columns, DOCID)
    grade = _cells(columns.arrays["grade"], "NULL")
    for row in range(len(columns)):
        yield f"{qid[row]} 0 {docid[row]} {grade[row]}\n"


def _cells(column: Array, gap: str | None) -> list[object]:
    """Return the cells of a column as Python's own, gaps as `gap`."""
    cells = column.tolist()
    if column.dtype.kind == "f":
        # NaN alone is not equal to itself.
        return [c if c == c else gap for c in cells]  # noqa: PLR0124
    return [gap if c is None else c for c in cells] if column.dtype == object else cells


def _words(columns: Columns, name: str) -> list[str]:
    words = [_word(cell) for cell in columns.arrays[name].tolist()]
    for word in words:
        if not word or any(mark in word for mark in f"{_SPACES}#"):
            raise refusal(f"column {short(name)}", "be words without spaces", short(word))
    return words


def _word(cell: object) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return "" if cell is None else str(cell)


_WRITERS: dict[str, Callable[[BinaryFile, Columns], _Writer]] = {
    "csv": _Csv,
    "tsv": _Tsv,
    "parquet": _Parquet,
    "jsonl": _Text(_json_lines),
    "letor": _Text(_letor_lines),
    "run": _Text(_run_lines),
    "qrels": _Text(_qrels_lines),
}
