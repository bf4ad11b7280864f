"""The work of `peckorder rank`."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import peckorder
from peckorder._core.errors import entry_named, refusal
from peckorder._core.validation import not_negative, optional, whole
from peckorder.cli.console import ReportProgress, ResultPrinter, role_lines, roles_as_json
from peckorder.cli.options import OutputOptions
from peckorder.cli.outputs import check_outputs
from peckorder.cli.rank.command import RankOptions
from peckorder.cli.rank.notes import Notes
from peckorder.cli.rank.output_columns import TYPED, as_numbers, with_grades
from peckorder.cli.rank.people import ranked_people
from peckorder.cli.rank.rows import listed_blocks, ranked_blocks
from peckorder.collaborative import PersonalRanker
from peckorder.datasets import from_runs
from peckorder.estimators import TableRanker
from peckorder.tables.columns import Columns, listed
from peckorder.tables.files.read import file_format, format_of, format_to_write, write_columns
from peckorder.tables.files.runs import as_run, read_run_columns, run_names
from peckorder.tables.files.source import check_is_file, is_standard, name_of, shown_out
from peckorder.tables.model_rows import ModelRows, scores_of
from peckorder.tables.roles import ColumnRole, Role


def run_rank(
    model: str, files: tuple[str, ...], options: RankOptions, output: OutputOptions
) -> None:
    """Score the rows of a file, and number them within their queries."""
    out = options.out
    printer = ResultPrinter(output, out)
    not_negative.check("min_gap", options.min_gap)
    optional(whole(1)).check("max_rows", options.max_rows)
    whole(1).check("rows", options.rows)
    if not options.positions:
        _check_without_positions(options)
    # A run may be given as NAME=FILE.
    named = [file.partition("=")[2] or None for file in files]
    check_outputs({"-o": out}, [model, *files, *named])
    options = replace(options, out_format=_out_format(options, files))
    check_is_file(model)
    notes = Notes()
    blocks = _blocks(peckorder.load(model), files, options, notes)
    with printer.progress("Ranking") as report_progress:
        counted = _counted(blocks, report_progress)
        n_rows = write_columns(out, counted, format=options.out_format)
        report_progress(n_rows, n_rows)
    n_lists = notes.n_lists
    of_lists = f" of {n_lists} list{'' if n_lists == 1 else 's'}" if n_lists else ""
    printer.emit(
        {
            "model": model,
            "file": name_of(files[0]) if files else None,
            "files": [name_of(file) for file in files],
            "out": out,
            "rows": n_rows,
            "lists": n_lists,
            "taken": roles_as_json(notes.column_roles),
            "notes": notes.sentences,
        },
        *(f"  {line}" for line in role_lines(notes.column_roles)),
        f"{n_rows} row{'' if n_rows == 1 else 's'}{of_lists} in {shown_out(out)}",
        *notes.sentences,
    )


def _blocks(
    ranker: Any, files: tuple[str, ...], options: RankOptions, notes: Notes
) -> Iterator[Columns]:
    """Return the ranked rows, block by block, as they are written."""
    file = files[0] if files else None
    blocks: Iterator[Columns]
    is_fusion = _are_runs(ranker, files, options.format)
    if is_fusion:
        lines = fused_runs(ranker, files, notes)
        blocks = listed_blocks(lines, options, notes)
    elif len(files) > 1:
        raise refusal("file", "be one, unless the model has learnt from runs", ", ".join(files))
    elif isinstance(ranker, PersonalRanker):
        blocks = ranked_people(ranker, file, options, notes)
    elif file is None:
        raise refusal("file", "be given for this model", "none")
    else:
        blocks = ranked_blocks(ranker, file, options, notes)
    has_types = not is_fusion and file is not None and options.out_format in TYPED
    if has_types and file_format(str(file), options.format) in ("csv", "tsv"):
        ids = (options.qid, options.docid, options.user, options.item)
        blocks = as_numbers(blocks, filter(None, ids))
    return with_grades(blocks, notes) if options.out_format == "letor" else blocks


def _are_runs(ranker: Any, files: tuple[str, ...], format: str | None) -> bool:
    """Return whether to fuse runs: several, or one that is a run by its name."""
    if isinstance(ranker, PersonalRanker) or not files:
        return False
    if len(files) > 1:
        return not hasattr(ranker, "classes_")
    path = files[0].partition("=")[2] or files[0]
    is_run = not is_standard(path) and format_of(path, format) == "run"
    # A run may be a table of features itself: its ranks and scores.
    return is_run and not {"rank", "score"} & set(getattr(ranker, "feature_names_in_", ()))


def _check_without_positions(options: RankOptions) -> None:
    for name in ("cut", "max_rows", "sort"):
        if getattr(options, name):
            option = name.replace("_", "-")
            raise refusal(option, "be left out with --no-positions, which it needs", f"--{option}")


def _out_format(options: RankOptions, files: tuple[str, ...]) -> str:
    """Return the format to write: as given, by the name, or that of the input."""
    if options.out_format is not None or not is_standard(options.out):
        advice = " Or say what it is, as by --out-format csv."
        return format_to_write(options.out, options.out_format, advice=advice)
    if not files:
        return "csv"
    file = files[0] if len(files) == 1 else "the.run"
    return format_of(file, options.format) or "csv"


@entry_named("rank")  # not the name of the file that is written
def _counted(blocks: Iterator[Columns], report_progress: ReportProgress) -> Iterator[Columns]:
    """Report how many rows were written so far."""
    n_rows = 0
    for block in blocks:
        yield block
        n_rows += len(block)
        report_progress(n_rows)


def fused_runs(model: Any, files: Sequence[str], notes: Notes) -> Iterator[Columns]:
    """Yield the documents of all runs with their scores, query by query.

    A run is called by its file, or by a given name: NAME=FILE. Runs that a model knows
    and that are not given list no document.
    """
    model_rows = ModelRows.of(model)
    if model_rows.names is None:
        raise refusal(
            "the model",
            "have learnt from runs, and know their names",
            f"{type(model_rows.model).__name__} without names",
        )
    if _is_of_columns(model_rows.table):
        raise refusal(
            "file",
            f"be a table, with the columns that the model learnt from, {listed(model_rows.names)}",
            listed(files),
        )
    tables = {name: read_run_columns(path) for name, path in _named(files, model_rows.names)}
    documents = from_runs({n: as_run(tables[n]) for n in tables})
    X = np.full((len(documents), len(model_rows.names)), np.nan)
    positions = [model_rows.names.index(name) for name in tables]
    X[:, positions] = documents.X
    for name, columns in tables.items():
        notes.add_role(ColumnRole(name, Role.RUN, f"of {columns.source}"))
    absent = [name for name in model_rows.names if name not in tables]
    if absent:
        notes.add(f"No run is given for {listed(absent)}: taken to list no document.")
    arrays = {
        "qid": np.asarray(documents.qid).astype(object),
        "docid": np.asarray(documents.docid).astype(object),
        "score": scores_of(model_rows.model, model_rows.array(X)),
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
            raise _unknown(name, known)
    names = run_names(paths)
    called = [
        given[k][0] if named else name
        for k, (name, named) in enumerate(zip(names, is_named, strict=True))
    ]
    for name in called:
        if name not in known:
            advice = f"Say which it is: {known[0]}=FILE; or give a table if these are its columns."
            raise _unknown(name, known, advice)
        if called.count(name) > 1:
            raise refusal("runs", "differ", f"{name!r} twice")
    return list(zip(called, paths, strict=True))


def _unknown(name: str, known: Sequence[str], hint: str = "") -> Exception:
    rule = f"be called as those that the model learnt from, {listed(known)}"
    return refusal("runs", rule, repr(name), hint=hint)


def _is_of_columns(table: TableRanker | None) -> bool:
    """Return whether a model has surely not learnt from runs.

    Models of runs have no text, and what they do not list is 0, if anything.
    """
    if table is None:
        return False
    has_text = any(values is not None for values in table.levels_)
    return has_text or (table.shift_ is not None and bool(np.any(table.shift_)))
