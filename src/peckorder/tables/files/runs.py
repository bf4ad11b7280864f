"""TREC runs by the names of their files."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peckorder.datasets import Qrels, Run
from peckorder.tables.columns import Columns
from peckorder.tables.files.cells import numbers_of
from peckorder.tables.files.read import as_qrels, format_of, read_columns
from peckorder.tables.files.source import check_is_file, is_standard, name_of
from peckorder.tables.roles import column_of

_SUFFIX = re.compile(r"\.(run|res|trec|txt)?(\.gz|\.zst)?$")


def run_names(who: str, paths: Sequence[str]) -> list[str]:
    """Call runs by their files, by whole paths if two are called the same.

    Examples
    --------
    >>> from peckorder.tables.files.runs import run_names
    >>> run_names("fuse", ["runs/bm25.v2.run.gz", "dense.txt"])
    ['bm25.v2', 'dense']
    """
    for path in paths:
        if list(paths).count(path) > 1:
            raise ValueError(f"{who}: runs must differ; got {path!r} twice.")
    stems = [
        name_of(path) if is_standard(path) else _SUFFIX.sub("", Path(path).name)
        for path in paths
    ]
    pairs = zip(paths, stems, strict=True)
    return [stem if stems.count(stem) == 1 else path for path, stem in pairs]


def read_run_columns(who: str, path: str, format: str | None = None) -> Columns:
    """Read a run, or a table with its columns; scores are numbers."""
    check_is_file(path)
    if format is None and is_standard(path):
        format = "run"
    columns = read_columns(path, format=format_of(path, format) or "run")
    return _with_numbers(who, columns, "score")


def read_qrels(who: str, path: str) -> Qrels:
    """Read judgements, or a table with their columns."""
    arrays = qrels_columns(who, path).arrays
    return Qrels(arrays["qid"], arrays["docid"], arrays["grade"])


def qrels_columns(who: str, path: str) -> Columns:
    """Read the columns of judgements; refuse a table that lacks one, or numbers."""
    check_is_file(path)
    return _with_numbers(who, as_qrels(path), "grade")


def _with_numbers(who: str, columns: Columns, value: str) -> Columns:
    for name in ("qid", "docid", value):
        column_of(who, columns, name, name, ())
    numbers = numbers_of(who, columns, value)
    return Columns({**columns.arrays, value: numbers}, columns.source, columns.notes)


def as_run(who: str, columns: Columns) -> Run:
    """Return a run, whose own ranks decide between equal scores."""
    arrays = columns.arrays
    rank: Any = arrays.get("rank")
    score = numbers_of(who, columns, "score")
    return Run(arrays["qid"], arrays["docid"], score, rank)
