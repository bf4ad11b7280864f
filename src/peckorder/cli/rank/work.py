"""The work of `peckorder rank`."""

from collections.abc import Callable, Iterator
from typing import Any

import peckorder
from peckorder._core.validation import not_negative, optional, whole
from peckorder.cli.column_report import role_lines
from peckorder.cli.console import Speaker
from peckorder.cli.outputs import check_outputs
from peckorder.cli.rank.notes import Noted
from peckorder.cli.rank.output_columns import TYPED, as_numbers, with_grades
from peckorder.cli.rank.people import one_score, ranked_ratings, recommended
from peckorder.cli.rank.rows import Choices, listed_blocks, ranked_blocks
from peckorder.cli.rank.runs import fused_runs
from peckorder.collaborative import PersonalRanker
from peckorder.tables.columns import Columns
from peckorder.tables.files.read import (
    format_of,
    format_to_write,
    kind_of,
    write_columns,
)
from peckorder.tables.files.source import (
    check_is_file,
    is_standard,
    name_of,
    shown_out,
)


def run_rank(
    model: str,
    files: tuple[str, ...],
    *,
    out: str,
    qid: str | None,
    docid: str | None,
    target: str | None,
    positions: bool,
    user: str | None,
    item: str | None,
    columns: str | None,
    cut: bool,
    min_gap: float,
    max_rows: int | None,
    sort: bool,
    features: bool,
    format: str | None,
    out_format: str | None,
    rows: int,
    json: bool,
    quiet: bool,
) -> None:
    """Score the rows of a file, and number them within their queries."""
    speaker = Speaker(json=json, quiet=quiet, out=out)
    not_negative.check("rank", "min_gap", min_gap)
    optional(whole(1)).check("rank", "max_rows", max_rows)
    whole(1).check("rank", "rows", rows)
    if not positions:
        _check_without_positions({"cut": cut, "max_rows": max_rows, "sort": sort})
    # A run may be given as NAME=FILE.
    named = [each.partition("=")[2] or None for each in files]
    check_outputs("rank", {"-o": out}, [model, *files, *named])
    file = files[0] if files else None
    names = None if columns is None else tuple(map(str.strip, columns.split(",")))
    kind = _out_format(out, out_format, file if len(files) < 2 else "the.run", format)
    check_is_file(model)
    ranker = peckorder.load(model)
    choices = Choices(
        qid, docid, positions, cut, min_gap, max_rows, sort, features, kind, target
    )
    n_lists, noted = 0, Noted()

    def on_lists(n_new: int) -> None:
        nonlocal n_lists
        n_lists += n_new

    blocks: Iterator[Columns]
    is_fusion = _are_runs(ranker, files, format)
    if is_fusion:
        lines = fused_runs(ranker, files, noted)
        blocks = listed_blocks("the runs", lines, choices, on_lists, noted)
    elif len(files) > 1:
        raise ValueError(
            "rank: file must be one, unless the model has learnt from runs; got "
            f"{', '.join(files)}."
        )
    elif isinstance(ranker, PersonalRanker):
        if file is None and item is not None:
            blocks = one_score(ranker, user, item, choices)
        elif file is None:
            blocks = recommended(ranker, user, choices, on_lists)
        else:
            blocks = ranked_ratings(
                ranker, file, format, names, (user, item), choices, on_lists, noted
            )
    elif file is None:
        raise ValueError("rank: file must be given for this model; got none.")
    else:
        blocks = ranked_blocks(
            ranker, file, format, rows, names, choices, on_lists, noted
        )
    is_text = not is_fusion and file is not None and kind in TYPED
    if is_text and kind_of(str(file), format) in ("csv", "tsv"):
        blocks = as_numbers(blocks, filter(None, (qid, docid, user, item)))
    if kind == "letor":
        blocks = with_grades(blocks, noted)
    with speaker.bar("Ranking") as tell:
        n_rows = write_columns(out, _watched(blocks, tell), format=kind)
        tell(n_rows, n_rows)
    of_lists = f" of {n_lists} list{'' if n_lists == 1 else 's'}" if n_lists else ""
    speaker.say(
        {
            "model": model,
            "file": None if file is None else name_of(file),
            "files": [name_of(each) for each in files],
            "out": out,
            "rows": n_rows,
            "lists": n_lists,
            "taken": {t.column: [t.role.value, t.why] for t in noted.column_roles},
            "notes": noted.sentences,
        },
        *(f"  {line}" for line in role_lines(noted.column_roles)),
        f"{n_rows} row{'' if n_rows == 1 else 's'}{of_lists} in {shown_out(out)}",
        *noted.sentences,
    )


def _are_runs(ranker: Any, files: tuple[str, ...], format: str | None) -> bool:
    """Say whether runs are to be fused: several, or one that is a run by its name."""
    if isinstance(ranker, PersonalRanker) or not files:
        return False
    if len(files) > 1:
        return not hasattr(ranker, "classes_")
    path = files[0].partition("=")[2] or files[0]
    is_run = not is_standard(path) and format_of(path, format) == "run"
    # A run may be a table of features itself: its ranks and scores.
    return is_run and not {"rank", "score"} & set(
        getattr(ranker, "feature_names_in_", ())
    )


def _check_without_positions(given: dict[str, object]) -> None:
    for name, value in given.items():
        if value:
            option = name.replace("_", "-")
            raise ValueError(
                f"rank: {option} must be left out with --no-positions, which it needs; "
                f"got --{option}."
            )


def _out_format(
    out: str, out_format: str | None, file: str | None, format: str | None
) -> str:
    """Return the format to write: as said, by the name, or that of the input."""
    if out_format is not None or not is_standard(out):
        advice = " Or say what it is, as by --out-format csv."
        return format_to_write(out, out_format, advice=advice)
    if file is None:
        return "csv"
    return format_of(file, format) or "csv"


def _watched(
    blocks: Iterator[Columns], tell: Callable[[int], None]
) -> Iterator[Columns]:
    """Tell how many rows were written so far."""
    n_rows = 0
    for block in blocks:
        yield block
        n_rows += len(block)
        tell(n_rows)
