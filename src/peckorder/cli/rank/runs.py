"""Runs fused by a model that has learnt how."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from peckorder.cli.rank.notes import Noted
from peckorder.datasets import from_runs
from peckorder.estimators import TableRanker
from peckorder.exceptions import DataError
from peckorder.tables.columns import Columns, listed
from peckorder.tables.files.runs import as_run, read_run_columns, run_names
from peckorder.tables.model_rows import ModelRows
from peckorder.tables.roles import ColumnRole, Role
from peckorder.tables.scoring import scores_of


def fused_runs(model: Any, files: Sequence[str], noted: Noted) -> Iterator[Columns]:
    """Yield the documents of all runs with their scores, query by query.

    A run is called by its file, or as one says: NAME=FILE. Runs that a model knows and
    that are not given say nothing of any document.
    """
    wanted = ModelRows.of(model)
    if wanted.names is None:
        raise DataError(
            "rank: the model must have learnt from runs, and know their names; got "
            f"{type(wanted.model).__name__} without names."
        )
    if _is_of_columns(wanted.table):
        raise DataError(
            "rank: file must be a table, with the columns that the model learnt from, "
            f"{listed(wanted.names)}; got {listed(files)}."
        )
    tables = {
        name: read_run_columns("rank", path)
        for name, path in _named(files, wanted.names)
    }
    documents = from_runs({n: as_run("rank", tables[n]) for n in tables})
    X = np.full((len(documents), len(wanted.names)), np.nan)
    places = [wanted.names.index(name) for name in tables]
    X[:, places] = documents.X
    for name, columns in tables.items():
        noted.take(ColumnRole(name, Role.RUN, f"of {columns.source}"))
    absent = [name for name in wanted.names if name not in tables]
    if absent:
        noted.say(f"No run is given for {listed(absent)}: taken to list no document.")
    qid: Any = documents.qid
    docid: Any = documents.docid
    arrays = {
        "qid": qid.astype(object),
        "docid": docid.astype(object),
        "score": scores_of(wanted.model, wanted.array(X)),
    }
    yield Columns(arrays, "the runs")


def _named(files: Sequence[str], known: Sequence[str]) -> list[tuple[str, str]]:
    """Return names and paths of runs; refuse those that the model does not know."""
    given = [file.partition("=") for file in files]
    is_named = [name in known and bool(path) for name, _, path in given]
    paths = [
        path if named else file
        for (_, _, path), file, named in zip(given, files, is_named, strict=True)
    ]
    for (name, _, path), file, is_known in zip(given, files, is_named, strict=True):
        if path and not is_known and not Path(file).exists():
            raise DataError(_unknown(name, known, ""))
    names = run_names("rank", paths)
    found = [
        given[k][0] if named else name
        for k, (name, named) in enumerate(zip(names, is_named, strict=True))
    ]
    for name in found:
        if name not in known:
            advice = (
                f" Say which it is: {known[0]}=FILE; or give a table if these are its "
                "columns."
            )
            raise DataError(_unknown(name, known, advice))
        if found.count(name) > 1:
            raise DataError(f"rank: runs must differ; got {name!r} twice.")
    return list(zip(found, paths, strict=True))


def _unknown(name: str, known: Sequence[str], advice: str) -> str:
    return (
        "rank: runs must be called as those that the model learnt from, "
        f"{listed(known)}; got {name!r}.{advice}"
    )


def _is_of_columns(table: TableRanker | None) -> bool:
    """Say whether a model has surely not learnt from runs.

    Models of runs have no text, and what they do not list is 0, if anything.
    """
    if table is None:
        return False
    has_text = any(values is not None for values in table.levels_)
    return has_text or (table.shift_ is not None and bool(np.any(table.shift_)))
