"""Rows of a file scored in blocks, and numbered within queries that are complete."""

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import Any

import numpy as np

from peckorder._core.errors import entry_named, refusal
from peckorder._core.typing import Array, Bools, Floats, Ints, Matrix, VectorLike
from peckorder.cli.options import RankOptions, separate_columns
from peckorder.cli.outputs import Notes
from peckorder.cli.rank.output_columns import ADDED, Spilled, with_target
from peckorder.datasets import Documents
from peckorder.feedback import Queries, is_missing
from peckorder.gaps import cut_at_gap, gaps
from peckorder.metrics import ranks
from peckorder.tables.columns import Columns, cut_out, joined, short
from peckorder.tables.files.paths import name_of
from peckorder.tables.files.read import iter_columns, letor_documents
from peckorder.tables.files.trec import MOST_FEATURES, TARGET, documents_to_columns
from peckorder.tables.files.write import written_ids
from peckorder.tables.model_rows import ModelRows, unscaled
from peckorder.tables.roles import (
    AS_LEARNT,
    ColumnRole,
    Role,
    find_column,
    find_query,
    given_columns,
)

_DOCUMENTS = ("docid", "doc_id", "document", "doc", "item", "item_id", "id")


def scored_blocks(
    model_rows: ModelRows,
    file: str,
    options: RankOptions,
    notes: Notes,
    known: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Columns]:
    """Yield the columns of rows that are kept, with scores; `known` as in `listed_blocks`."""
    n_before = 0
    for kept, X in _rows(model_rows, file, options, notes, known):
        if n_before == 0:
            given_columns(kept, {"qid": options.qid})
        added = model_rows.added(X)
        others = without_added(kept, notes if n_before == 0 else None)
        n_before += len(kept)
        yield Columns({**others.arrays, **added}, kept.source)


def without_added(columns: Columns, notes: Notes | None) -> Columns:
    """Return a file's rows without columns of the names that are added; note it.

    A file that was ranked before has them, or its labels are called so.
    """
    own = [name for name in columns.names if name in ADDED]
    if own and notes is not None:
        notes.add(
            f"{', '.join(own)} of {columns.source}: left out, since `rank` writes its "
            "own. Give what you want to keep another name."
        )
    kept = {name: a for name, a in columns.arrays.items() if name not in own}
    return Columns(kept, columns.source)


def _rows(
    model_rows: ModelRows, file: str, options: RankOptions, notes: Notes, known: Mapping[str, str]
) -> Iterator[tuple[Columns, Matrix]]:
    """Yield the columns of rows that are kept, and features."""
    n_before, source = 0, name_of(file)
    documents = letor_documents(file, format=options.format, rows=options.rows)
    if documents is not None:
        for block in documents:
            n_shown, X = _document_features(source, model_rows, block, n_before, notes)
            kept = documents_to_columns(source, block, n_shown if options.features else 0)
            yield kept, X
            n_before += len(block)
        return

    @entry_named("rank")  # not the file, inside which it is called
    def numbers(header: tuple[str, ...]) -> Any:
        return model_rows.numbers(model_rows.sources(source, header))

    for columns in iter_columns(
        file,
        rows=options.rows,
        format=options.format,
        numbers=numbers,
        names=separate_columns(options.columns),
        points=[name for option, name in known.items() if option == "target"],
    ):
        X = model_rows.matrix(columns, n_before)
        sources = model_rows.sources(columns.source, columns.names)
        notes.count_unseen(columns, model_rows.levels(sources))
        notes.count_gaps(columns, model_rows.gaps(sources))
        used = set(sources.values()) - {options.qid, options.docid} - model_rows.names_of_rows()
        arrays = {
            name: array
            for name, array in columns.arrays.items()
            if options.features or name not in used
        }
        n_before += len(columns)
        yield Columns(arrays, columns.source), X


def _document_features(
    source: str, model_rows: ModelRows, block: Documents, n_before: int, notes: Notes
) -> tuple[int | list[int], Matrix]:
    """Return features of a LETOR file, and which; one that no line has is 0 in all.

    Of all features those of the model are taken, be their numbers large or small.
    """
    if model_rows.names is None:
        X = model_rows.array(block.X[:, : model_rows.n_features])
        model_rows.check_cells(source, X, n_before)
        return model_rows.n_features, X
    needed = {unscaled(name) for name in model_rows.names}
    numbers = sorted(int(name) for name in needed if _is_feature(name))
    columns = documents_to_columns(source, block, numbers)
    X = model_rows.matrix(columns, n_before)
    sources = model_rows.sources(source, columns.names)
    notes.count_gaps(columns, model_rows.gaps(sources))
    return numbers, X


def _is_feature(name: str) -> bool:
    """Return whether a name is the number of a feature in a LETOR file."""
    is_number = re.fullmatch("[1-9][0-9]{0,9}", name) is not None
    return is_number and int(name) <= MOST_FEATURES


def listed_blocks(
    blocks: Iterable[Columns],
    options: RankOptions,
    notes: Notes,
    known: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Columns]:
    """Yield rows numbered within their lists, all of which are complete.

    `known` are columns by options, which a model knows by name: they are looked for
    before the usual names.
    """
    others = iter(blocks)
    first = next(others)
    learnt = {option: name for option, name in known.items() if name in first.names}
    resolved = with_target(first, _with_columns(first, options, learnt), notes, learnt)
    for role, option in ((Role.QUERY, "qid"), (Role.DOCUMENT, "docid")):
        name = getattr(resolved, option)
        if name is not None:
            why = f"--{option}" if getattr(options, option) else "its name"
            why = AS_LEARNT if why == "its name" and learnt.get(option) == name else why
            notes.column_roles.append(ColumnRole(name, role, why))
    if resolved.qid is None:
        notes.add("No column of queries: all rows are one list (--qid NAME).")
    blocks = chain([first], others)
    if resolved.positions and resolved.qid is None:
        yield from _one_list(blocks, resolved, notes)
        return
    for block in whole_lists(blocks, resolved):
        yield numbered(block, resolved, notes)


def _one_list(blocks: Iterable[Columns], options: RankOptions, notes: Notes) -> Iterator[Columns]:
    """Yield all rows as one list; its rows wait on the disk until all are scored.

    Sorted, those that are to be written are held in memory.
    """
    with Spilled(blocks) as spilled:
        every = _places(spilled.score, None, options)
        notes.n_lists += 1
        done, held = 0, []
        for block in spilled:
            here = slice(done, done + len(block))
            done += len(block)
            placed = {name: column[here] for name, column in every.items()}
            listed = Columns({**block.arrays, **placed}, block.source)
            rows = np.flatnonzero(is_written(placed, options))
            if options.sort:
                held.append(written_rows(listed, rows, options))
            else:
                yield written_rows(listed, rows, options)
    if held:
        whole = joined(held)
        yield cut_out(whole, np.argsort(whole.arrays["position"], kind="stable"))


def whole_lists(blocks: Iterable[Columns], options: RankOptions) -> Iterator[Columns]:
    """Yield blocks that end where a query does, or as they come without positions.

    Refuses a query that comes again. Memory: the rows of a query and of a block, and
    the ids of all queries.
    """
    pieces: list[Columns] = []
    seen: set[Hashable] = set()
    n_before, qid = 0, options.qid
    for block in blocks:
        if qid is None or not options.positions:
            yield block
            continue
        last = _last_run(block.arrays[qid])
        if last > 0 or (pieces and pieces[-1].arrays[qid][-1] != block.arrays[qid][0]):
            whole = joined([*pieces, cut_out(block, slice(0, last))])
            if len(whole):
                _check_together(whole, seen, qid, n_before)
                n_before += len(whole)
                yield whole
            pieces = []
        pieces.append(cut_out(block, slice(last, None)))
    if qid is not None and pieces:
        whole = joined(pieces)
        _check_together(whole, seen, qid, n_before)
        yield whole


def _last_run(ids: Array) -> int:
    """Return where the last run of equal ids begins."""
    changes = np.flatnonzero(ids[1:] != ids[:-1])
    return int(changes[-1]) + 1 if len(changes) else 0


def _check_together(columns: Columns, seen: set[Hashable], name: str, n_before: int) -> None:
    ids = columns.arrays[name]
    starts = np.r_[0, np.flatnonzero(ids[1:] != ids[:-1]) + 1]
    for row, query in zip(starts.tolist(), ids[starts].tolist(), strict=True):
        if is_missing(query):
            raise refusal(
                f"column {short(name)} of {columns.source}",
                "be without gaps",
                f"an empty cell in row {n_before + row + 1}",
            )
        if query in seen:
            raise refusal(
                "rows of a query",
                f"stand together in {columns.source}",
                f"query {short(query)} again in row {n_before + row + 1}",
                hint=f"Sort the file by {short(name)} before.",
            )
        seen.add(query)


def _with_columns(block: Columns, options: RankOptions, known: Mapping[str, str]) -> RankOptions:
    """Return the options with the columns that were found by their names."""
    given = given_columns(block, {"qid": options.qid, "docid": options.docid})
    qid, docid = given.get("qid"), given.get("docid")
    if "qid" not in given:
        qid = known.get("qid") or find_query(block, block.names, has_lists=True).column
    if "docid" not in given:
        docid = find_column(block, "docid", None, _DOCUMENTS)
    return replace(options, qid=qid, docid=docid)


def numbered(block: Columns, options: RankOptions, notes: Notes) -> Columns:
    """Return the rows of complete lists that are written, with their positions."""
    rows: Ints = np.arange(len(block))
    if options.positions:
        qid = None if options.qid is None else block.arrays[options.qid]
        docid = None
        if options.out_format == "run" and options.docid is not None:
            docid = np.array(written_ids(block.arrays[options.docid]))
        placed = _places(block.arrays["score"], qid, options, docid)
        block = Columns({**block.arrays, **placed}, block.source)
        notes.n_lists += int((placed["position"] == 1).sum())
        rows = rows_to_write(placed, qid, options)
    return written_rows(block, rows, options)


def rows_to_write(placed: dict[str, Array], qid: VectorLike | None, options: RankOptions) -> Ints:
    """Return the rows that are written; list by list and best first, if they are sorted.

    A run always is: its readers go by the order of lines, or by ranks.
    """
    rows = np.flatnonzero(is_written(placed, options))
    if options.sort or options.out_format == "run":
        position = placed["position"]
        of_row = Queries.of(qid, len(position)).of_rows()
        rows = rows[np.lexsort((position[rows], of_row[rows]))]
    return rows


def _places(
    score: Floats, qid: Array | None, options: RankOptions, docid: Array | None = None
) -> dict[str, Array]:
    """Return the positions of rows in their lists, and gaps.

    Equal scores stand as the rows do or, given `docid`, as trec_eval sorts them.
    """
    above = cut_at_gap(score, qid, min_gap=options.min_gap)
    return {
        "position": ranks(score, qid, docid),
        "gap": gaps(score, qid),
        "above_cut": above.astype(np.int64),
    }


def is_written(placed: dict[str, Array], options: RankOptions) -> Bools:
    """Return which rows are written."""
    most = np.inf if options.max_rows is None else options.max_rows
    is_first = placed["position"] <= most
    is_kept = is_first & (placed["above_cut"] == 1) if options.cut else is_first
    return np.asarray(is_kept)


def written_rows(block: Columns, rows: Ints, options: RankOptions) -> Columns:
    """Return some rows, with the names that the format requires."""
    new: dict[str | None, str] = {}
    arrays = dict(block.arrays)
    if options.out_format in ("run", "letor"):
        new = {options.qid: "qid", options.docid: "docid"}
    if options.out_format == "letor":
        new[options.target] = TARGET
        if options.target != TARGET:
            # Another was asked for, or none.
            arrays.pop(TARGET, None)
    renamed = {new.get(name, name): column for name, column in arrays.items()}
    return cut_out(Columns(renamed, block.source), rows)
