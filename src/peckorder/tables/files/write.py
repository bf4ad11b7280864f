"""Writing tables: a whole file or none, or standard output."""

import csv as lines
import gzip
import io
import json
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv
from pyarrow import parquet as pq

from peckorder._core.cells import is_number
from peckorder._core.errors import named, refusal
from peckorder._core.text_files import whole_file
from peckorder._core.typing import Array
from peckorder.tables.columns import Columns, short
from peckorder.tables.files.paths import check_target, shown_out
from peckorder.tables.files.standard_streams import is_standard
from peckorder.tables.files.trec import COMMENT, DOCID, QID, TARGET

_SPACES = " \t\r\n\v\f"
# Characters at which some reader may end a line.
_LINE_ENDS = re.compile("[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")


def write_blocks(path: str | os.PathLike[str], blocks: Iterable[Columns], kind: str) -> int:
    """Write blocks of rows in a format; return how many rows there were."""
    check_target(path)
    n_rows = 0
    with _sink(path) as sink:
        try:
            with closing(_Parquet(sink) if kind == "parquet" else _Text(sink, kind)) as writer:
                for block in blocks:
                    # Not around the loop: making the blocks is the caller's work.
                    with named(shown_out(path)):
                        writer.write(block)
                    n_rows += len(block)
        except (pa.ArrowTypeError, pa.ArrowNotImplementedError, pa.ArrowInvalid):
            rule = f"be of one type in all rows to be written as {kind}"
            with named(shown_out(path)):
                got = f"others in rows from {n_rows + 1} on"
                raise refusal("columns", rule, got) from None
    return n_rows


@contextmanager
def _sink(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
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
def _packed(suffix: str, raw: IO[bytes]) -> Iterator[Any]:
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


class _Parquet:
    """A Parquet file whose columns have the types of the first block."""

    def __init__(self, sink: IO[bytes]) -> None:
        self._sink = sink
        self._writer: Any = None

    def write(self, columns: Columns) -> None:
        table = to_arrow(columns)
        self._writer = self._writer or pq.ParquetWriter(_Unclosed(self._sink), table.schema)
        self._writer.write_table(table.cast(self._writer.schema))

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class _Text:
    """Lines of text; CSV begins with the names of columns."""

    def __init__(self, sink: IO[bytes], kind: str) -> None:
        self._sink, self._kind, self._is_first = sink, kind, True

    def write(self, columns: Columns) -> None:
        if self._kind in _DELIMITERS:
            text = _csv_text(columns, _DELIMITERS[self._kind], has_names=self._is_first)
            self._is_first = False
        else:
            text = "".join(_LINES_OF[self._kind](columns))
        self._sink.write(text.encode("utf-8", "surrogateescape"))

    def close(self) -> None:
        """Do nothing: all is written."""


def _csv_text(columns: Columns, delimiter: str, *, has_names: bool) -> str:
    table, text = to_arrow(columns), io.StringIO()
    writer = lines.writer(text, delimiter=delimiter, lineterminator="\n")
    if has_names:
        writer.writerow(columns.names)
    # Arrow would put all text in quotes, or none.
    pattern = f'["\r\n{delimiter}]|^\\s|\\s$'
    texts = [column for column in table.columns if pa.types.is_string(column.type)]
    if any(pc.any(pc.match_substring_regex(column, pattern)).as_py() for column in texts):
        cells = [column.cast(pa.string()).to_pylist() for column in table.columns]
        writer.writerows(zip(*cells, strict=True))
    elif len(table):
        options = csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style="none")
        with pa.BufferOutputStream() as buffer:
            csv.write_csv(table, buffer, options)
            text.write(buffer.getvalue().to_pybytes().decode())
    return text.getvalue()


class _Unclosed(io.RawIOBase):
    """A file that Arrow may close without closing the one below."""

    def __init__(self, sink: IO[bytes]) -> None:
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
    """Replace infinities, which JSON does not have, by gaps."""
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
    others = [n for n in arrays if n not in (TARGET, QID, *features)]
    notes = [_cells(arrays[name], "") for name in others]
    for row in range(n_rows):
        head = f"{target[row]}" if qid is None else f"{target[row]} qid:{qid[row]}"
        values = cells[row] if features else ()
        body = "".join(f"{k}{v}" for k, v in zip(keys, values, strict=True))
        shown = ", ".join(
            str(note[row]) if name == COMMENT else f"{name} = {note[row]}"
            for name, note in zip(others, notes, strict=True)
        )
        yield f"{head}{body}" + (f" #{_LINE_ENDS.sub(' ', shown)}\n" if others else "\n")


def _run_lines(columns: Columns) -> Iterator[str]:
    rank_column = "position" if "position" in columns.arrays else "rank"
    if not {QID, DOCID, "score", rank_column} <= set(columns.names):
        rule = "have the columns qid, docid, score and rank"
        raise refusal("a run", rule, ", ".join(map(short, columns.names)))
    qid, docid = _words(columns, QID), _words(columns, DOCID)
    score = columns.arrays["score"].tolist()
    rank = columns.arrays[rank_column].tolist()
    tag = _words(columns, "tag") if "tag" in columns.arrays else None
    for row in range(len(columns)):
        system = "peckorder" if tag is None else tag[row]
        yield (f"{qid[row]} Q0 {docid[row]} {int(rank[row])} {score[row]!r} {system}\n")


def _qrels_lines(columns: Columns) -> Iterator[str]:
    if not {QID, DOCID, "grade"} <= set(columns.names):
        rule = "have the columns qid, docid and grade"
        raise refusal("qrels", rule, ", ".join(map(short, columns.names)))
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


def written_ids(column: Array) -> list[str]:
    """Return ids as they are written in runs and LETOR."""
    return [_word(cell) for cell in column.tolist()]


def _words(columns: Columns, name: str) -> list[str]:
    words = written_ids(columns.arrays[name])
    for word in words:
        if not word or any(mark in word for mark in f"{_SPACES}#"):
            raise refusal(f"column {short(name)}", "be words without spaces", short(word))
    return words


def _word(cell: object) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return "" if cell is None else str(cell)


_DELIMITERS = {"csv": ",", "tsv": "\t"}
_LINES_OF = {"jsonl": _json_lines, "letor": _letor_lines, "run": _run_lines, "qrels": _qrels_lines}
