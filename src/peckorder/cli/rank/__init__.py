"""The work of `peckorder rank`: rows of a file, runs, and predicted ratings of people."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import peckorder
from peckorder._core.column_names import ITEM, USER, are_unnamed, first_named
from peckorder._core.errors import entry_named, refusal
from peckorder._core.typing import Array, Bools
from peckorder.cli.checks import out_format
from peckorder.cli.fuse import fused_runs
from peckorder.cli.models import are_among, known_columns, known_id, like
from peckorder.cli.options import OutputOptions, RankOptions, separate_columns
from peckorder.cli.outputs import Notes, ReportProgress, ResultPrinter, role_lines, roles_as_json
from peckorder.cli.rank.output_columns import TYPED, as_numbers, with_grades, with_target
from peckorder.cli.rank.rows import (
    listed_blocks,
    numbered,
    rows_to_write,
    scored_blocks,
    without_added,
    written_rows,
)
from peckorder.collaborative import PersonalRanker
from peckorder.feedback import is_missing
from peckorder.metrics import ranks
from peckorder.tables.columns import Columns, check_column, counted, cut_out, joined, listed, short
from peckorder.tables.files.paths import format_of, name_of, shown_out
from peckorder.tables.files.read import file_format, iter_columns, write_columns
from peckorder.tables.files.standard_streams import is_standard
from peckorder.tables.model_rows import ModelRows
from peckorder.tables.roles import ColumnRole, Role

# The best items of a person that are shown.
_N_SHOWN = 10


def run_rank(
    model: str, files: tuple[str, ...], options: RankOptions, output: OutputOptions
) -> None:
    """Score the rows of a file, and number them within their queries."""
    out = options.out
    printer = ResultPrinter(output, out)
    options = replace(options, out_format=out_format(options, files))
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
    elif isinstance(ranker, PersonalRanker) and file is not None:
        blocks = ranked_ratings(ranker, file, options, notes)
    elif isinstance(ranker, PersonalRanker) and options.item is not None:
        blocks = one_score(ranker, options)
    elif isinstance(ranker, PersonalRanker):
        blocks = recommended(ranker, options, notes)
    elif file is None:
        raise refusal("file", "be given for this model", "none")
    else:
        known = known_columns(ranker)
        scored = scored_blocks(ModelRows.of(ranker), file, options, notes, known)
        blocks = listed_blocks(scored, options, notes, known)
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


@entry_named("rank")  # not the name of the file that is written
def _reported(blocks: Iterator[Columns], report_progress: ReportProgress) -> Iterator[Columns]:
    """Report how many rows were written so far."""
    n_rows = 0
    for block in blocks:
        yield block
        n_rows += len(block)
        report_progress(n_rows)


def ranked_ratings(
    model: PersonalRanker, file: str, options: RankOptions, notes: Notes
) -> Iterator[Columns]:
    """Yield the rows of a file with predicted ratings, one list per person.

    Those of whom the model knows nothing, neither user nor item, come last in their
    lists, without a score; in a run, which has no place for them, not at all.
    """
    # Text as it stands: no id is changed on its way through.
    names = separate_columns(options.columns)
    blocks = iter_columns(file, format=options.format, names=names)
    columns = without_added(joined(list(blocks)), notes)
    user = _column(columns, "user", options.user, USER, 0)
    item = _column(columns, "item", options.item, ITEM, 1)
    for role, name, option in ((Role.USER, user, options.user), (Role.ITEM, item, options.item)):
        notes.column_roles.append(
            ColumnRole(name, role, f"--{role.value}" if option else "its name or place")
        )
    users = like(columns.arrays[user], model.users_)
    items = like(columns.arrays[item], model.items_)
    is_known = are_among(users, model.users_) & are_among(items, model.items_)
    if not is_known.all():
        row, n_unknown = int(np.argmin(is_known)), int((~is_known).sum())
        notes.add(
            f"{counted(n_unknown, 'row has', 'rows have')} a user or an item that the model "
            f"does not know, such as row {row + 1} ({short(columns.arrays[user][row])}, "
            f"{short(columns.arrays[item][row])}): no score. Fit again with them."
        )
    if not is_known.any():
        raise refusal(
            columns.source,
            "have users and items that the model knows",
            f"{short(columns.arrays[user][0])} and "
            f"{short(columns.arrays[item][0])} in row 1, and no others",
        )
    resolved = replace(options, qid=user, docid=item)
    resolved = with_target(columns, resolved, notes)
    score, n_seen = _scores(model, users[is_known], items[is_known])
    if n_seen:
        notes.add(
            f"{counted(n_seen, 'row has', 'rows have')} a rating that the model was fitted "
            "to: what it says of them is no measure of what it would say of others."
        )
    known = cut_out(columns, is_known).arrays
    table = Columns({**known, "score": score}, columns.source)
    if is_known.all() or options.out_format == "run":
        yield numbered(table, resolved, notes)
        return
    every = replace(resolved, cut=False, max_rows=None, sort=False)
    placed = numbered(table, every, notes)
    yield _with_unknown(columns, is_known, placed, resolved)


def _scores(model: PersonalRanker, users: Array, items: Array) -> tuple[Array, int]:
    """Return predicted ratings, and how many of them the model was fitted to."""
    ids, of_row = np.unique(users.astype(str), return_inverse=True)
    order = np.argsort(of_row, kind="stable")
    ends = np.searchsorted(of_row[order], np.arange(len(ids) + 1))
    score, n_seen = np.empty(len(users)), 0
    for begin, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        rows = order[begin:end]
        user, asked = users[rows[0]], items[rows].tolist()
        score[rows] = model.predict(user, asked)
        rated = set(model.items_[model._rated(user)[0]].tolist())
        n_seen += sum(item in rated for item in asked)
    return score, n_seen


def _with_unknown(
    columns: Columns, is_known: Bools, placed: Columns, options: RankOptions
) -> Columns:
    """Return all rows: those without a score are the last of their lists."""
    arrays: dict[str, Array] = dict(columns.arrays)
    for name, column in placed.arrays.items():
        if name not in arrays:
            is_whole = column.dtype.kind in "iu"
            arrays[name] = np.zeros(len(columns), np.int64 if is_whole else np.float64)
            arrays[name][is_known] = column
            arrays[name][~is_known] = 0 if is_whole else np.nan
    table = Columns(arrays, columns.source)
    if not options.positions:
        return table
    # Rows without a user are one list, too; no name of a user is empty.
    users = arrays[str(options.qid)].tolist()
    qid = ["" if is_missing(user) else str(user) for user in users]
    arrays["position"] = ranks(
        np.where(is_known, -arrays["position"].astype(np.float64), -np.inf), qid
    )
    return written_rows(table, rows_to_write(arrays, qid, options), options)


def _column(
    columns: Columns, what: str, given: str | None, usual: frozenset[str], position: int
) -> str:
    """Return the column of users or items; without names they are the first two."""
    name = given or first_named(columns.names, usual)
    if name is None and are_unnamed(columns.names):
        name = columns.names[position]
    if name is None:
        raise refusal(
            columns.source,
            f"have a column of the {what}, given by --{what} where none is named so",
            listed(columns.names),
        )
    check_column(columns, what, name)
    return name


def recommended(model: PersonalRanker, options: RankOptions, notes: Notes) -> Iterator[Columns]:
    """Yield what a person is expected to like most."""
    user_id = _given_id("user", options.user, model.users_)
    best = model.recommend(user_id, options.max_rows or _N_SHOWN)
    notes.n_lists += 1
    if best.scale is not None and (n := int((best.scores != best.scores.clip(*best.scale)).sum())):
        low, high = best.scale
        notes.add(
            f"{counted(n, 'score is', 'scores are')} beyond the scale of ratings, {low:g} to "
            f"{high:g}: the order needs them, as ratings they stand for its ends."
        )
    # In a run equal scores stand by the names of documents.
    position = ranks(best.scores, None, best.items if options.out_format == "run" else None)
    rows = np.argsort(position)
    rows = rows[best.above_cut[rows]] if options.cut else rows
    items = best.items if best.items.dtype.kind in "iuf" else best.items.astype(object)
    user, item = _names(options)
    arrays: dict[str, Array] = {
        user: np.full(len(best), options.user, dtype=object),
        item: items,
        "score": best.scores,
        "position": position,
        "gap": best.gaps,
        "above_cut": best.above_cut.astype(np.int64),
    }
    yield cut_out(Columns(arrays, "recommendations"), rows)


def one_score(model: PersonalRanker, options: RankOptions) -> Iterator[Columns]:
    """Yield what a person is expected to give to one item."""
    user_id = _given_id("user", options.user, model.users_)
    item_id = _given_id("item", options.item, model.items_)
    user, item = _names(options)
    arrays: dict[str, Array] = {
        user: np.array([options.user], dtype=object),
        item: np.array([options.item], dtype=object),
        "score": model.predict(user_id, [item_id], clip=True),
        "position": np.ones(1, dtype=np.int64),
    }
    yield Columns(arrays, "prediction")


def _names(options: RankOptions) -> tuple[str, str]:
    """Return what people and items are called in a format."""
    return ("qid", "docid") if options.out_format in ("run", "letor") else ("user", "item")


def _given_id(role: str, given: str | None, known: Array) -> Any:
    if given is None:
        raise refusal("file or user", "be given", "neither")
    return known_id(role, given, known)
