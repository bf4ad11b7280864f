"""Tables in files: read whole or in blocks of rows, as named columns."""

import os
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import NoReturn

import numpy as np
import pyarrow as pa
from scipy import sparse as sp

from peckorder._core.cells import is_number
from peckorder._core.errors import refusal
from peckorder.datasets import Documents
from peckorder.tables.columns import Columns, short
from peckorder.tables.files.arrow import json_blocks, parquet_blocks, to_columns
from peckorder.tables.files.arrow_cells import with_points
from peckorder.tables.files.csv import (
    Header,
    Numbers,
    check_names,
    csv_text,
    header_of,
    with_numbers,
    with_types,
)
from peckorder.tables.files.other_programs import is_arff, is_workbook, sheet_rows, sidecar_of
from peckorder.tables.files.paths import format_of, format_to_write
from peckorder.tables.files.source import Inflated, opened
from peckorder.tables.files.standard_streams import is_standard
from peckorder.tables.files.trec import (
    ONE_LIST,
    QID,
    documents_to_columns,
    iter_letor_documents,
    qrels_columns,
    read_letor,
    run_columns,
)
from peckorder.tables.files.write import write_blocks

# None: found by the first line.
_DELIMITERS: dict[str, str | None] = {"csv": None, "tsv": "\t", "arff": None}
_LETOR_LINE = re.compile(rb"\S+(\s+qid:\S+(\s+\d+:\S+)*|(\s+\d+:\S+)+)\s*(#.*)?")


def read_columns(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    ids: Collection[str] = (),
    names: tuple[str, ...] | None = None,
) -> Columns:
    """Read all rows of a file, plain or in gzip or zstd; "-" is standard input.

    The format, one of `FORMATS`, is by default that of the suffix, or of the first line
    if the suffix has none, such as .txt. `ids` are further columns of ids: they stay
    text if numbers would change them. `names` replace those in the file. A LETOR file
    has the columns target, qid, features named 1, 2, ... and docid; a run qid, docid,
    rank, score and tag; qrels qid, docid and grade. A file of LightGBM beside it that
    tells the sizes of queries gives the column qid.
    """
    known_format = format_of(path, format)
    with opened(path) as file:
        columns = _read_all(known_format or guess_format(file.head), path, file, ids, names)
        return _with_queries(columns, path)


def read_table(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    ids: Collection[str] = (),
    names: tuple[str, ...] | None = None,
) -> Columns | Documents:
    """Read all rows; of a LETOR file with few features per row, as sparse documents."""
    known_format = format_of(path, format)
    with opened(path) as file:
        table_format = known_format or guess_format(file.head)
        if table_format != "letor":
            return _with_queries(_read_all(table_format, path, file, ids, names), path)
        documents = read_letor(file)
        if sp.issparse(documents.X) and len(documents) and names is None:
            sidecar = sidecar_of(path)
            if sidecar is None or documents.qid is not None:
                return documents
            return replace(documents, qid=sidecar.queries(0, len(documents), is_last=True))
        columns = documents_to_columns(file.source, documents, None)
        return _with_queries(_not_empty(_renamed(columns, names)), path)


def iter_columns(
    path: str | os.PathLike[str],
    *,
    rows: int = 65_536,
    format: str | None = None,
    numbers: Numbers = (),
    names: tuple[str, ...] | None = None,
    points: Collection[str] = (),
) -> Iterator[Columns]:
    """Yield blocks of at most `rows` rows, for files larger than memory.

    Runs and qrels are read at once. `numbers` are columns of numbers, or a function that
    returns them, given all names. All other columns of a CSV file are text, unchanged:
    some of the rows are not enough to infer a type. Only decimal commas of the columns
    `points` become points, since in other files they would stand between thousands.
    """
    known_format = format_of(path, format)
    previous, sidecar, n_before = None, sidecar_of(path), 0
    with opened(path, streamed=True) as file:
        table_format = known_format or guess_format(file.head)
        for block in _blocks(table_format, path, file, rows, numbers, names, points):
            if len(block) == 0:
                continue
            if previous is not None:
                block = _with_columns_of(previous, block)  # noqa: PLW2901
            previous = block
            if sidecar is not None and QID not in block.arrays:
                ids = sidecar.queries(n_before, len(block), is_last=False)
                block = replace(block, arrays={**block.arrays, QID: ids})  # noqa: PLW2901
            n_before += len(block)
            for begin in range(0, len(block), rows):
                slices = {
                    name: column[begin : begin + rows] for name, column in block.arrays.items()
                }
                yield Columns(slices, file.source)
        if previous is None:
            _refuse_empty()
        if sidecar is not None:
            sidecar.queries(n_before, 0, is_last=True)


def letor_documents(
    path: str | os.PathLike[str], *, rows: int = 65_536, format: str | None = None
) -> Iterator[Documents] | None:
    """Return the rows of a LETOR file in sparse blocks; None for other formats."""
    if file_format(path, format) != "letor":
        return None

    def blocks() -> Iterator[Documents]:
        with opened(path, streamed=True) as file:
            n_rows, sidecar = 0, sidecar_of(path)
            for block in iter_letor_documents(file, rows):
                if sidecar is not None and block.qid is None:
                    ids = sidecar.queries(n_rows, len(block), is_last=False)
                    block = replace(block, qid=ids)  # noqa: PLW2901
                n_rows += len(block)
                yield block
            if n_rows == 0:
                _refuse_empty()
            if sidecar is not None:
                sidecar.queries(n_rows, 0, is_last=True)

    return blocks()


def write_columns(
    path: str | os.PathLike[str], columns: Columns | Iterable[Columns], *, format: str | None = None
) -> int:
    """Write rows to a file, atomically; return how many.

    Blocks of rows have the same columns. The format, one of `FORMATS`, is by default that
    of the suffix, of .txt LETOR; .gz and .zst are compressed, "-" is standard output.
    """
    if format is None and is_standard(path):
        format = "csv"
    blocks = [columns] if isinstance(columns, Columns) else columns
    return write_blocks(path, blocks, format_to_write(path, format))


def file_format(path: str | os.PathLike[str], format: str | None) -> str:
    """Return the format of a file to read, by its name or else by its contents."""
    known_format = format_of(path, format)
    if known_format is not None:
        return known_format
    with opened(path, streamed=True) as file:
        return guess_format(file.head)


def guess_format(head: bytes) -> str:
    """Return the format of a file by its first line; CSV if it is no other."""
    if is_workbook(head):
        return "xlsx"
    if is_arff(head):
        return "arff"
    lines = (line.strip() for line in head.splitlines())
    first = next((line for line in lines if line and line[:1] != b"#"), b"")
    if _LETOR_LINE.fullmatch(first):
        return "letor"
    words = first.split()
    # A table of another format has delimiters other than spaces.
    has_delimiter = re.search(rb"[;|\t]|\S::\S", first) is not None
    # Nor are all cells of runs and qrels numbers, unless the second is 0.
    are_numbers = all(is_number(word.decode("utf-8", "replace")) for word in words)
    is_trec = words[1:2] in ([b"Q0"], [b"0"]) or not (has_delimiter or are_numbers)
    # A line of names has no grade, nor a rank and a score.
    numbers_at = {4: [3], 6: [3, 4]}.get(len(words), [])
    has_numbers = any(is_number(words[k].decode("utf-8", "replace")) for k in numbers_at)
    is_trec = is_trec and b"," not in first and (has_numbers or words[1:2] == [b"Q0"])
    return {4: "qrels", 6: "run"}.get(len(words), "csv") if is_trec else "csv"


def _read_all(
    table_format: str,
    path: str | os.PathLike[str],
    file: Inflated,
    ids: Collection[str],
    names: tuple[str, ...] | None,
) -> Columns:
    """Read all rows, of which there must be some."""
    if table_format in _DELIMITERS:
        _check_arff(table_format, file)
        header, tables = csv_text(file, _DELIMITERS[table_format], names, whole=True)
    elif table_format == "xlsx":
        header, tables = _sheet(file, names)
    else:
        return _not_empty(next(_blocks(table_format, path, file, None, (), names)))
    (text,) = tables
    table, notes = with_types(header, text, ids)
    columns = replace(to_columns(file.source, table), notes=tuple(notes), levels=header.levels)
    return _not_empty(columns)


def _check_arff(table_format: str, file: Inflated) -> None:
    if table_format == "arff" and not is_arff(file.head):
        raise refusal("the file", "begin with @relation, as ARFF does", "another beginning")


def _sheet(file: Inflated, names: tuple[str, ...] | None) -> tuple[Header, Iterator[pa.Table]]:
    """Return the first sheet of a workbook as columns of text; its first row has names."""
    rows = list(sheet_rows(file))
    if not rows:
        _refuse_empty()
    width = max(k for k, cell in enumerate(rows[0], 1) if cell is not None)
    for number, row in enumerate(rows, 1):
        if any(cell is not None for cell in row[width:]):
            rule = f"have as many cells as the first, {width}"
            raise refusal("rows", rule, f"more in row {number} of those that are not empty")
    header = header_of([cell or "" for cell in rows[0][:width]], names)
    rows = rows[1:] if header.is_there else rows
    cells = ([row[k] if k < len(row) else None for row in rows] for k in range(width))
    arrays = [pa.chunked_array([column], pa.string()) for column in cells]
    return header, iter([pa.table(dict(zip(header.names, arrays, strict=True)))])


def _with_queries(columns: Columns, path: str | os.PathLike[str]) -> Columns:
    """Return rows with the queries that a file beside theirs tells, unless they have some."""
    sidecar = sidecar_of(path)
    if sidecar is None or QID in columns.arrays:
        return columns
    arrays = {**columns.arrays, QID: sidecar.queries(0, len(columns), is_last=True)}
    others = (note for note in columns.notes if note != ONE_LIST)
    return replace(columns, arrays=arrays, notes=(*sidecar.notes, *others))


def _not_empty(columns: Columns) -> Columns:
    if len(columns) == 0:
        _refuse_empty()
    return columns


def _renamed(columns: Columns, names: tuple[str, ...] | None) -> Columns:
    """Give columns other names, as many as there are."""
    if names is None:
        return columns
    check_names(names, len(columns.names))
    return Columns(dict(zip(names, columns.arrays.values(), strict=True)), columns.source)


def _blocks(
    table_format: str,
    path: str | os.PathLike[str],
    file: Inflated,
    rows: int | None,
    numbers: Numbers,
    names: tuple[str, ...] | None,
    points: Collection[str] = (),
) -> Iterator[Columns]:
    """Yield rows in blocks; all at once, unless they are CSV, if `rows` is None."""
    blocks: Iterable[Columns]
    if table_format == "letor" and rows is not None:
        blocks = (
            documents_to_columns(file.source, some, int(some.X.indices.max(initial=-1)) + 1)
            for some in iter_letor_documents(file, rows)
        )
    elif table_format == "letor":
        blocks = [documents_to_columns(file.source, read_letor(file), None)]
    elif table_format == "run":
        blocks = [run_columns(file)]
    elif table_format == "qrels":
        blocks = [qrels_columns(file)]
    else:
        if table_format in (*_DELIMITERS, "xlsx"):
            if table_format == "xlsx":
                header, text = _sheet(file, names)
            else:
                _check_arff(table_format, file)
                header, text = csv_text(file, _DELIMITERS[table_format], names)
            tables, names = with_numbers(header, text, numbers), None
            tables = with_points(tables, points) if header.has_commas else tables
        elif table_format == "parquet":
            tables = parquet_blocks(path, file, rows)
        else:
            tables = json_blocks(file, whole=rows is None)
        blocks = (to_columns(file.source, table) for table in tables)
    yield from (_renamed(columns, names) for columns in blocks)


def _with_columns_of(previous: Columns, block: Columns) -> Columns:
    """Return a block with the same columns; lines of JSON may lack some."""
    if block.names == previous.names:
        return block
    extra = [name for name in block.names if name not in previous.arrays]
    if extra:
        rule = "have no columns that the first ones have not"
        raise refusal("later rows", rule, short(extra[0]))
    gaps = {
        name: np.full(len(block), None if column.dtype == object else np.nan)
        for name, column in previous.arrays.items()
    }
    ordered = {name: block.arrays.get(name, gaps[name]) for name in gaps}
    return Columns(ordered, block.source)


def _refuse_empty() -> NoReturn:
    raise refusal("the file", "have rows", "none")
