"""Files to be compared on, with a header or without."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv

from peckorder.cli._tables import as_qrels, format_of, guessed, read_columns
from peckorder.cli._tables_arrow import to_columns
from peckorder.cli._tables_source import STDIN, check_text, name_of, opened, short
from peckorder.cli._tables_source import check_is_file as check_file
from peckorder.compare._columns import Columns
from peckorder.datasets import Qrels, Run
from peckorder.exceptions import DataError

_DELIMITERS = {"tsv": "\t", "csv": None}


def read_table(path: str, format: str | None, names: tuple[str, ...] | None) -> Columns:
    """Read a table; one without a line of names has those given, or numbers.

    A file whose suffix says nothing is taken for text with a column between each two
    delimiters. A first line of numbers alone is no line of names.
    """
    check_file(path)
    who = name_of(path)
    if path == STDIN:  # which can be read once only
        columns = read_columns(path, format=format)
        return columns if names is None else _renamed(columns, names)
    with opened(path) as file:
        head = file.head
    kind = _kind(path, format, head)
    if kind in ("run", "qrels"):
        raise DataError(
            f"compare: qrels must be given, by --qrels FILE, to compare runs; got "
            f"{who} alone."
        )
    if kind in _DELIMITERS:
        check_text(who, head)
        cells, delimiter = _first_line(head, _DELIMITERS[kind])
        if all(map(_is_number, cells)):
            return _without_header(path, who, delimiter, cells, names)
    columns = read_columns(path, format=kind)
    return columns if names is None else _renamed(columns, names)


def _kind(path: str, format: str | None, head: bytes) -> str:
    """Return the format of a file; if nothing tells, it is a table in text."""
    try:
        kind = format_of(path, format)
    except ValueError:
        if format is not None:
            raise
        return "csv"
    if kind is not None:
        return kind
    try:
        kind = guessed(name_of(path), head)
    except DataError:
        return "csv"
    words = head.split(b"\n", 1)[0].split()
    is_trec = kind == "letor" or words[1:2] in ([b"Q0"], [b"0"])
    return kind if is_trec else "csv"


def read_runs(paths: tuple[str, ...], qrels: str) -> tuple[Mapping[str, Run], Qrels]:
    """Read TREC runs, called by their files' names, and judgements."""
    runs: dict[str, Run] = {}
    for path in paths:
        check_file(path)
        columns = read_columns(path, format="run")
        name = re.sub(r"\.(run|res|trec|txt)?(\.gz|\.zst)?$", "", Path(path).name)
        if name in runs:
            name = str(path)
        table = columns.arrays
        runs[name] = Run(
            table["qid"], table["docid"], table["score"], table["rank"], table["tag"]
        )
    check_file(qrels)
    judged = as_qrels(qrels).arrays
    return runs, Qrels(judged["qid"], judged["docid"], judged["grade"])


def _renamed(columns: Columns, names: tuple[str, ...]) -> Columns:
    """Give columns other names, as many as there are."""
    if len(names) != len(columns.names):
        raise DataError(
            f"compare: columns must be {len(columns.names)} names, one for each column "
            f"of {columns.source}; got {len(names)}, {', '.join(names)}."
        )
    return Columns(
        dict(zip(names, columns.arrays.values(), strict=True)), columns.source
    )


def _first_line(head: bytes, delimiter: str | None) -> tuple[list[str], str]:
    text = (
        head.lstrip(b"\xef\xbb\xbf\r\n").split(b"\n", 1)[0].decode("utf-8", "replace")
    )
    text = text.rstrip("\r")
    delimiter = delimiter or max(",;\t|", key=text.count)
    return [cell.strip() for cell in text.split(delimiter)], delimiter


def _without_header(
    path: str | os.PathLike[str],
    who: str,
    delimiter: str,
    cells: list[str],
    names: tuple[str, ...] | None,
) -> Columns:
    numbered = tuple(f"column {k}" for k in range(1, len(cells) + 1))
    if len(cells) < 2:
        raise DataError(
            f"{who}: the file must have two columns or more; got {short(cells[0])} in "
            "its first line."
        )
    options: dict[str, Any] = {
        "read_options": csv.ReadOptions(column_names=list(numbered)),
        "parse_options": csv.ParseOptions(delimiter=delimiter),
    }
    try:
        with opened(path) as file:
            table = csv.read_csv(file, **options)
    except pa.ArrowInvalid as error:
        raise DataError(
            f"{who}: the file must be sound CSV; got {short(str(error), 200)}."
        ) from None
    columns = to_columns(who, table)
    return columns if names is None else _renamed(columns, names)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
