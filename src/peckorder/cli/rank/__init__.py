"""The work of `peckorder rank`."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import peckorder
from peckorder._core.errors import entry_named, refusal
from peckorder._core.validation import not_negative, optional, whole
from peckorder.cli.fuse import fused_runs
from peckorder.cli.options import OutputOptions, RankOptions
from peckorder.cli.outputs import (
    Notes,
    ReportProgress,
    ResultPrinter,
    check_outputs,
    role_lines,
    roles_as_json,
)
from peckorder.cli.rank.output_columns import TYPED, as_numbers, with_grades
from peckorder.cli.rank.people import ranked_people
from peckorder.cli.rank.rows import listed_blocks, ranked_blocks
from peckorder.collaborative import PersonalRanker
from peckorder.tables.columns import Columns, counted
from peckorder.tables.files.read import file_format, format_of, format_to_write, write_columns
from peckorder.tables.files.source import check_is_file, is_standard, name_of, shown_out


def run_rank(
    model: str, files: tuple[str, ...], options: RankOptions, output: OutputOptions
) -> None:
    """Score the rows of a file, and number them within their queries."""
    out = options.out
    printer = ResultPrinter(output, out)
    not_negative.check("min_gap", options.min_gap)
    optional(whole(1)).check("max_rows", options.max_rows)
    whole(1).check("rows", options.rows)
    for name in () if options.positions else ("cut", "max_rows", "sort"):
        if getattr(options, name):
            option = name.replace("_", "-")
            raise refusal(option, "be left out with --no-positions, which it needs", f"--{option}")
    # A run may be given as NAME=FILE.
    named = [file.partition("=")[2] or None for file in files]
    check_outputs({"-o": out}, [model, *files, *named])
    options = replace(options, out_format=_out_format(options, files))
    check_is_file(model)
    notes = Notes()
    blocks = _blocks(peckorder.load(model), files, options, notes)
    with printer.progress("Ranking") as report_progress:
        reported = _reported(blocks, report_progress)
        n_rows = write_columns(out, reported, format=options.out_format)
        report_progress(n_rows, n_rows)
    n_lists = notes.n_lists
    of_lists = f" of {counted(n_lists, 'list', 'lists')}" if n_lists else ""
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
        f"{counted(n_rows, 'row', 'rows')}{of_lists} in {shown_out(out)}",
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
def _reported(blocks: Iterator[Columns], report_progress: ReportProgress) -> Iterator[Columns]:
    """Report how many rows were written so far."""
    n_rows = 0
    for block in blocks:
        yield block
        n_rows += len(block)
        report_progress(n_rows)
