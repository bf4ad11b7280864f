"""TREC runs by the names of their files."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peckorder._core.errors import refusal
from peckorder.datasets import Qrels, Run
from peckorder.tables.columns import Columns, check_column
from peckorder.tables.files.arrow_cells import numbers_of
from peckorder.tables.files.paths import check_is_file, format_of, name_of
from peckorder.tables.files.read import read_columns
from peckorder.tables.files.standard_streams import is_standard

_SUFFIX = re.compile(r"\.(run|res|trec|txt)?(\.gz|\.zst)?$")


def run_names(paths: Sequence[str]) -> list[str]:
    """Return names of runs: those of their files, or whole paths where two are equal."""
    for path in paths:
        if list(paths).count(path) > 1:
            raise refusal("runs", "differ", f"{path!r} twice", error=ValueError)
    stems = [
        name_of(path) if is_standard(path) else _SUFFIX.sub("", Path(path).name) for path in paths
    ]
    pairs = zip(paths, stems, strict=True)
    return [stem if stems.count(stem) == 1 else path for path, stem in pairs]


def read_run_columns(path: str, format: str | None = None) -> Columns:
    """Read a run, or a table with its columns; scores are numbers."""
    check_is_file(path)
    if format is None and is_standard(path):
        format = "run"
    columns = read_columns(path, format=format_of(path, format) or "run")
    return _with_numbers(columns, "score")


def read_qrels(path: str) -> Qrels:
    """Read judgements, or a table with their columns."""
    arrays = qrels_columns(path).arrays
    return Qrels(arrays["qid"], arrays["docid"], arrays["grade"])


def qrels_columns(path: str) -> Columns:
    """Read the columns of judgements; refuse a table that lacks one, or numbers."""
    check_is_file(path)
    format = None if is_standard(path) else format_of(path, None)
    return _with_numbers(read_columns(path, format=format or "qrels"), "grade")


def _with_numbers(columns: Columns, value: str) -> Columns:
    for name in ("qid", "docid", value):
        check_column(columns, name, name)
    numbers = numbers_of(columns, value)
    return Columns({**columns.arrays, value: numbers}, columns.source, columns.notes)


def as_run(columns: Columns) -> Run:
    """Return a run; equal scores are ordered by the column of ranks, if any."""
    arrays = columns.arrays
    rank: Any = arrays.get("rank")
    score = numbers_of(columns, "score")
    return Run(arrays["qid"], arrays["docid"], score, rank)
