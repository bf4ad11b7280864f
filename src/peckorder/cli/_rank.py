"""`peckorder rank`: put the rows of a file in order."""

from collections.abc import Callable, Iterator
from typing import Annotated

from cyclopts import Parameter

import peckorder
from peckorder._validation import not_negative, optional, whole
from peckorder.cli._rank_notes import Noted
from peckorder.cli._rank_people import one_score, ranked_ratings, recommended
from peckorder.cli._rank_rows import Choices, ranked_blocks
from peckorder.cli._say import AsJson, Quiet, Speaker
from peckorder.cli._tables import format_of, write_columns
from peckorder.cli._tables_source import (
    STDIN,
    check_is_file,
    is_standard,
    name_of,
    shown_out,
)
from peckorder.cli._tables_write import check_target
from peckorder.collaborative import PersonalRanker
from peckorder.compare._columns import Columns


def rank(
    model: str,
    file: str | None = None,
    /,
    *,
    out: Annotated[str, Parameter(name=["--out", "-o"])] = STDIN,
    qid: str | None = None,
    docid: str | None = None,
    positions: bool = True,
    user: str | None = None,
    item: str | None = None,
    columns: str | None = None,
    cut: Annotated[bool, Parameter(negative="")] = False,
    min_gap: float = 0.0,
    max_rows: int | None = None,
    sort: Annotated[bool, Parameter(negative="")] = False,
    features: Annotated[bool, Parameter(negative="")] = False,
    format: str | None = None,
    out_format: str | None = None,
    rows: int = 65_536,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Score the rows of a file, and number them within their queries.

    Example: peckorder rank wine.peckorder new.csv --out ranked.csv

    Example: zcat test.txt.gz | peckorder rank m.peckorder - --format letor
    --out-format run --docid docid > my.run

    Example: peckorder rank films.peckorder --user 17 --max-rows 20

    Files may be larger than memory: rows are read in blocks, and a query is held until
    it is complete. The rows of a query must stand together, therefore. Columns of the
    file that are no features are kept; score, position, gap (to the next in the list)
    and above_cut (whether a row stands above the largest gap) are added. Without a
    column of queries all rows are one list, of which only scores are held in memory,
    unless --sort is asked for.

    Parameters
    ----------
    model
        A model file.
    file
        A table with the features of the model; further columns are kept. For a
        PersonalRanker one of users and items, or none with --user. "-" reads standard
        input.
    out
        The file to write; "-", the default, for standard output.
    qid
        The column of queries; by default the usual names.
    docid
        The column that names documents, for runs; by default the usual names.
    positions
        Number rows within their lists, and tell gaps. Without, rows go straight
        through, in any order of queries.
    user
        For a PersonalRanker: the column of users, or the person if there is no file,
        who gets the 10 best of what he has not rated, or --max-rows.
    item
        For a PersonalRanker: the column of items, or the one item to score for a
        person if there is no file.
    columns
        Names for the columns of a file, as in user,item,rating.
    cut
        Write only rows above the largest gap of their list.
    min_gap
        Lists without a gap above this one are not cut.
    max_rows
        Write no more rows of a list than this, the first by their positions.
    sort
        Write lists best first, not in the order of the file.
    features
        Keep the columns of features too.
    format, out_format
        csv, tsv, parquet, jsonl, letor or run, if names of files do not tell.
    rows
        Rows of a block.
    json
        Print a summary as JSON; needs --out FILE.
    quiet
        Print nothing but errors.
    """
    speaker = Speaker(json=json, quiet=quiet, out=out)
    not_negative.check("rank", "min_gap", min_gap)
    optional(whole(1)).check("rank", "max_rows", max_rows)
    whole(1).check("rank", "rows", rows)
    if not positions:
        _check_without_positions({"cut": cut, "max_rows": max_rows, "sort": sort})
    check_target(out)
    names = None if columns is None else tuple(map(str.strip, columns.split(",")))
    kind = _out_format(out, out_format, file, format)
    check_is_file(model)
    ranker = peckorder.load(model)
    choices = Choices(
        qid, docid, positions, cut, min_gap, max_rows, sort, features, kind
    )
    n_lists, noted = 0, Noted()

    def on_lists(n_new: int) -> None:
        nonlocal n_lists
        n_lists += n_new

    blocks: Iterator[Columns]
    if isinstance(ranker, PersonalRanker):
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
    with speaker.bar("Ranking") as tell:
        n_rows = write_columns(out, _watched(blocks, tell), format=kind)
        tell(n_rows, n_rows)
    of_lists = f" of {n_lists} list{'' if n_lists == 1 else 's'}" if n_lists else ""
    speaker.say(
        {
            "model": model,
            "file": None if file is None else name_of(file),
            "out": out,
            "rows": n_rows,
            "lists": n_lists,
            "notes": noted.sentences,
        },
        f"{n_rows} row{'' if n_rows == 1 else 's'}{of_lists} in {shown_out(out)}",
        *noted.sentences,
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
        return format_of(out, out_format, "--out-format") or "letor"
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
