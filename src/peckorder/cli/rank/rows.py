"""Rows of a file scored in blocks, and numbered within queries that are complete."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peckorder._core.typing import Floats
from peckorder.cli.rank.notes import Noted
from peckorder.cli.rank.output_columns import ADDED, with_target
from peckorder.cli.rank.spill import Spilled
from peckorder.datasets import Documents
from peckorder.exceptions import DataError
from peckorder.feedback import Queries
from peckorder.gaps import cut_at_gap, gaps
from peckorder.metrics import ranks
from peckorder.tables.column_names import QUERY, first_named
from peckorder.tables.columns import Columns, check_column
from peckorder.tables.files.read import iter_columns, letor_documents
from peckorder.tables.files.source import name_of, short
from peckorder.tables.files.trec import MOST_FEATURES, TARGET, documents_to_columns
from peckorder.tables.model_rows import ModelRows, unscaled
from peckorder.tables.roles import ColumnRole, Role, column_of
from peckorder.tables.scoring import classes_of, scores_of

_DOCUMENTS = ("docid", "doc_id", "document", "doc", "item", "item_id", "id")


@dataclass(frozen=True, slots=True)
class Choices:
    """How rows are to be listed and written; `qid` is the column of lists."""

    qid: str | None
    docid: str | None
    positions: bool
    cut: bool
    min_gap: float
    max_rows: int | None
    sort: bool
    features: bool
    kind: str
    target: str | None = None


def ranked_blocks(
    model: Any,
    file: str,
    format: str | None,
    rows: int,
    names: tuple[str, ...] | None,
    choices: Choices,
    on_lists: Callable[[int], None],
    noted: Noted,
) -> Iterator[Columns]:
    """Yield rows with scores and places, as soon as their lists are complete."""
    wanted = ModelRows.of(model)
    blocks = scored_blocks(wanted, file, format, rows, names, choices, noted)
    return listed_blocks(name_of(file), blocks, choices, on_lists, noted)


def scored_blocks(
    wanted: ModelRows,
    file: str,
    format: str | None,
    rows: int,
    names: tuple[str, ...] | None,
    choices: Choices,
    noted: Noted,
) -> Iterator[Columns]:
    """Yield what is kept of rows, with their scores."""
    n_before = 0
    for kept, X in _rows(wanted, file, format, rows, names, choices, noted):
        if n_before == 0 and choices.qid is not None:
            check_column("rank", kept, "qid", choices.qid)
        added: dict[str, NDArray[Any]] = {"score": scores_of(wanted.model, X)}
        classes = classes_of(wanted.model, X)
        if classes is not None:
            is_text = classes.dtype.kind not in "iuf"
            added["predicted"] = classes.astype(object) if is_text else classes
        others = without_added(kept, noted if n_before == 0 else None)
        n_before += len(kept)
        yield Columns({**others.arrays, **added}, kept.source)


def without_added(columns: Columns, noted: Noted | None) -> Columns:
    """Return a file's rows without columns of the names that are added; say so.

    A file that was ranked before has them, or its labels are called so.
    """
    own = [name for name in columns.names if name in ADDED]
    if own and noted is not None:
        noted.say(
            f"{', '.join(own)} of {columns.source}: left out, since `rank` writes its "
            "own. Give what you want to keep another name."
        )
    kept = {name: a for name, a in columns.arrays.items() if name not in own}
    return Columns(kept, columns.source)


def _rows(
    wanted: ModelRows,
    file: str,
    format: str | None,
    rows: int,
    names: tuple[str, ...] | None,
    choices: Choices,
    noted: Noted,
) -> Iterator[tuple[Columns, Any]]:
    """Yield what is kept of rows, and their features."""
    n_before = 0
    documents = letor_documents(file, format=format, rows=rows)
    if documents is not None:
        for block in documents:
            yield _of_documents(wanted, name_of(file), block, n_before, choices, noted)
            n_before += len(block)
        return

    def numbers(header: tuple[str, ...]) -> Any:
        return wanted.numbers(wanted.sources("rank", name_of(file), header))

    for columns in iter_columns(
        file, rows=rows, format=format, numbers=numbers, names=names
    ):
        X = wanted.matrix("rank", columns, n_before)
        sources = wanted.sources("rank", columns.source, columns.names)
        noted.look(columns, wanted.levels(sources))
        noted.count_gaps(columns, wanted.gaps(sources))
        used = set(sources.values()) - {choices.qid, choices.docid}
        keeps = choices.features
        kept = {n: a for n, a in columns.arrays.items() if keeps or n not in used}
        n_before += len(columns)
        yield Columns(kept, columns.source), X


def _of_documents(
    wanted: ModelRows,
    who: str,
    block: Documents,
    n_before: int,
    choices: Choices,
    noted: Noted,
) -> tuple[Columns, Any]:
    """Return documents of a LETOR file: a feature that no line has is 0 in all.

    Of all features those of the model are taken, be their numbers large or small.
    """
    shown: int | list[int]
    if wanted.names is None:
        X = wanted.array(block.X[:, : wanted.n_features])
        wanted.check_cells("rank", who, X, n_before)
        shown = wanted.n_features
    else:
        needed = {unscaled(name) for name in wanted.names}
        shown = sorted(int(name) for name in needed if _is_feature(name))
        columns = documents_to_columns(who, block, shown)
        X = wanted.matrix("rank", columns, n_before)
        sources = wanted.sources("rank", who, columns.names)
        noted.count_gaps(columns, wanted.gaps(sources))
    return documents_to_columns(who, block, shown if choices.features else 0), X


def _is_feature(name: str) -> bool:
    """Say whether a name is a number by which a LETOR file knows a feature."""
    is_number = re.fullmatch("[1-9][0-9]{0,9}", name) is not None
    return is_number and int(name) <= MOST_FEATURES


def listed_blocks(
    who: str,
    blocks: Iterable[Columns],
    choices: Choices,
    on_lists: Callable[[int], None],
    noted: Noted,
) -> Iterator[Columns]:
    """Yield rows numbered within their lists, all of which are complete."""
    left = iter(blocks)
    first = next(left)
    found = with_target(first, _with_columns(first, choices), noted)
    for role, name, asked in (
        (Role.QUERY, found.qid, choices.qid and "--qid"),
        (Role.DOCUMENT, found.docid, choices.docid and "--docid"),
    ):
        if name is not None:
            noted.take(ColumnRole(name, role, asked or "its name"))
    if found.qid is None:
        noted.say("No column of queries: all rows are one list (--qid NAME).")
    blocks = chain([first], left)
    if found.positions and found.qid is None:
        yield from _one_list(blocks, found, on_lists)
        return
    for block in whole_lists(who, blocks, found):
        yield numbered(block, found, on_lists)


def _one_list(
    blocks: Iterable[Columns], choices: Choices, on_lists: Callable[[int], None]
) -> Iterator[Columns]:
    """Yield all rows as one list; its rows wait on the disk until all are scored.

    Sorted, those that are to be written are held in memory.
    """
    with Spilled(blocks) as spilled:
        every = _places(spilled.score, None, choices)
        on_lists(1)
        done, held = 0, []
        for block in spilled:
            here = slice(done, done + len(block))
            done += len(block)
            placed = {name: column[here] for name, column in every.items()}
            part = Columns({**block.arrays, **placed}, block.source)
            part = written(part, np.flatnonzero(is_asked(placed, choices)), choices)
            if choices.sort:
                held.append(part)
            else:
                yield part
    if held:
        whole = joined(held)
        yield cut_out(whole, np.argsort(whole.arrays["position"], kind="stable"))


def whole_lists(
    who: str, blocks: Iterable[Columns], choices: Choices
) -> Iterator[Columns]:
    """Yield blocks that end where a query does, or as they come without positions.

    Refuses a query that comes again. Memory: the rows of a query and of a block, and
    the ids of all queries.
    """
    pieces: list[Columns] = []
    seen: set[Any] = set()
    n_before, qid = 0, choices.qid
    for block in blocks:
        if qid is None or not choices.positions:
            yield block
            continue
        last = _last_run(block.arrays[qid])
        if last > 0 or (pieces and pieces[-1].arrays[qid][-1] != block.arrays[qid][0]):
            whole = joined([*pieces, cut_out(block, slice(0, last))])
            if len(whole):
                _check_together(who, whole.arrays[qid], seen, qid, n_before)
                n_before += len(whole)
                yield whole
            pieces = []
        pieces.append(cut_out(block, slice(last, None)))
    if qid is not None and pieces:
        whole = joined(pieces)
        _check_together(who, whole.arrays[qid], seen, qid, n_before)
        yield whole


def _last_run(ids: NDArray[Any]) -> int:
    """Return where the last run of equal ids begins."""
    changes = np.flatnonzero(ids[1:] != ids[:-1])
    return int(changes[-1]) + 1 if len(changes) else 0


def _check_together(
    who: str, ids: NDArray[Any], seen: set[Any], name: str, n_before: int
) -> None:
    starts = np.r_[0, np.flatnonzero(ids[1:] != ids[:-1]) + 1]
    for row, query in zip(starts.tolist(), ids[starts].tolist(), strict=True):
        if query is None or query != query:  # noqa: PLR0124
            raise DataError(
                f"rank: column {short(name)} of {who} must be without gaps; got an "
                f"empty cell in row {n_before + row + 1}."
            )
        if query in seen:
            raise DataError(
                f"rank: rows of a query must stand together in {who}; got query "
                f"{short(query)} again in row {n_before + row + 1}. Sort the file by "
                f"{short(name)} before."
            )
        seen.add(query)


def cut_out(columns: Columns, rows: Any) -> Columns:
    """Return some rows."""
    some = {name: column[rows] for name, column in columns.arrays.items()}
    return Columns(some, columns.source)


def joined(pieces: list[Columns]) -> Columns:
    """Return the rows of all pieces, which have the same columns."""
    if len(pieces) == 1:
        return pieces[0]
    arrays = {
        name: np.concatenate([piece.arrays[name] for piece in pieces])
        for name in pieces[0].names
    }
    return Columns(arrays, pieces[0].source)


def _with_columns(block: Columns, choices: Choices) -> Choices:
    """Return the choices with the columns that were found by their names."""
    qid = choices.qid or first_named(block.names, QUERY)
    docid = column_of("rank", block, "docid", choices.docid, _DOCUMENTS, optional=True)
    return replace(choices, qid=qid, docid=docid)


def numbered(
    block: Columns, choices: Choices, on_lists: Callable[[int], None]
) -> Columns:
    """Return rows of complete lists with their places; those that are to be written."""
    rows: NDArray[Any] = np.arange(len(block))
    if choices.positions:
        qid = None if choices.qid is None else block.arrays[choices.qid]
        placed = _places(block.arrays["score"], qid, choices)
        block = Columns({**block.arrays, **placed}, block.source)
        on_lists(int((placed["position"] == 1).sum()))
        if choices.sort:
            of_row = Queries.of("rank", qid, len(block)).of_rows()
            rows = np.lexsort((placed["position"], of_row))
        rows = rows[is_asked(placed, choices)[rows]]
    return written(block, rows, choices)


def _places(score: Floats, qid: Any, choices: Choices) -> dict[str, NDArray[Any]]:
    """Return where rows stand in their lists."""
    above = cut_at_gap(score, qid, min_gap=choices.min_gap)
    return {
        "position": ranks("rank", score, qid),
        "gap": gaps(score, qid),
        "above_cut": above.astype(np.int64),
    }


def is_asked(placed: dict[str, NDArray[Any]], choices: Choices) -> NDArray[np.bool_]:
    """Say which rows are to be written."""
    most = np.inf if choices.max_rows is None else choices.max_rows
    asked = placed["position"] <= most
    return np.asarray(asked & (placed["above_cut"] == 1) if choices.cut else asked)


def written(block: Columns, rows: Any, choices: Choices) -> Columns:
    """Return some rows, with the names by which they are written."""
    arrays = dict(block.arrays)
    if choices.kind in ("run", "letor"):
        arrays = _renamed(arrays, choices)
    return cut_out(Columns(arrays, block.source), rows)


def _renamed(
    arrays: dict[str, NDArray[Any]], choices: Choices
) -> dict[str, NDArray[Any]]:
    """Give queries, documents and targets the names by which they are written."""
    new = {choices.qid: "qid", choices.docid: "docid"}
    if choices.kind == "letor":
        new[choices.target] = TARGET
        # Not the one of that name, if another was asked for or none.
        arrays = {
            name: column
            for name, column in arrays.items()
            if name != TARGET or choices.target == TARGET
        }
    return {new.get(name, name): column for name, column in arrays.items()}
