"""Tables in files: read whole or in blocks of rows, as named columns."""

import os
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import NoReturn

import numpy as np
from scipy import sparse as sp

from peckorder._core.errors import refusal
from peckorder.datasets import Documents
from peckorder.tables.columns import Columns, short
from peckorder.tables.files.arrow import json_blocks, parquet_blocks, to_columns
from peckorder.tables.files.csv import Numbers, check_names, csv_blocks, read_csv
from peckorder.tables.files.paths import format_of, format_to_write
from peckorder.tables.files.source import Inflated, opened
from peckorder.tables.files.standard_streams import is_standard
from peckorder.tables.files.trec import (
    documents_to_columns,
    iter_letor_documents,
    qrels_columns,
    read_letor,
    run_columns,
)
from peckorder.tables.files.write import write_blocks

# None: found by the first line.
_DELIMITERS: dict[str, str | None] = {"csv": None, "tsv": "\t"}
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
    rank, score and tag; qrels qid, docid and grade.
    """
    known_format = format_of(path, format)
    with opened(path) as file:
        return _read_all(known_format or guess_format(file.head), path, file, ids, names)


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
            return _read_all(table_format, path, file, ids, names)
        documents = read_letor(file)
        if sp.issparse(documents.X) and len(documents) and names is None:
            return documents
        columns = documents_to_columns(file.source, documents, None)
        return _not_empty(_renamed(columns, names))


def iter_columns(
    path: str | os.PathLike[str],
    *,
    rows: int = 65_536,
    format: str | None = None,
    numbers: Numbers = (),
    names: tuple[str, ...] | None = None,
) -> Iterator[Columns]:
    """Yield blocks of at most `rows` rows, for files larger than memory.

    Runs and qrels are read at once. `numbers` are columns of numbers, or a function that
    returns them, given all names. All other columns of a CSV file are text, unchanged:
    some of the rows are not enough to infer a type.
    """
    known_format = format_of(path, format)
    previous = None
    with opened(path, streamed=True) as file:
        table_format = known_format or guess_format(file.head)
        for block in _blocks(table_format, path, file, rows, numbers, names):
            if len(block) == 0:
                continue
            if previous is not None:
                block = _with_columns_of(previous, block)  # noqa: PLW2901
            for begin in range(0, len(block), rows):
                slices = {
                    name: column[begin : begin + rows] for name, column in block.arrays.items()
                }
                yield Columns(slices, file.source)
            previous = block
        if previous is None:
            _refuse_empty()


def letor_documents(
    path: str | os.PathLike[str], *, rows: int = 65_536, format: str | None = None
) -> Iterator[Documents] | None:
    """Return the rows of a LETOR file in sparse blocks; None for other formats."""
    if file_format(path, format) != "letor":
        return None

    def blocks() -> Iterator[Documents]:
        with opened(path, streamed=True) as file:
            n_rows = 0
            for block in iter_letor_documents(file, rows):
                n_rows += len(block)
                yield block
            if n_rows == 0:
                _refuse_empty()

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
    lines = (line.strip() for line in head.splitlines())
    first = next((line for line in lines if line and line[:1] != b"#"), b"")
    if _LETOR_LINE.fullmatch(first):
        return "letor"
    words = first.split()
    # A table of another format has delimiters other than spaces.
    has_delimiter = re.search(rb"[;|\t]|\S::\S", first) is not None
    is_trec = words[1:2] in ([b"Q0"], [b"0"]) or not has_delimiter
    is_trec = is_trec and b"," not in first
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
        table, notes = read_csv(file, _DELIMITERS[table_format], ids=ids, names=names)
        return _not_empty(replace(to_columns(file.source, table), notes=tuple(notes)))
    return _not_empty(next(_blocks(table_format, path, file, None, (), names)))


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
        if table_format in _DELIMITERS:
            tables = csv_blocks(file, _DELIMITERS[table_format], numbers, names)
            names = None
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
