"""What people are expected to give: a file of users and items, or a list for one."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peckorder.cli.rank.notes import Noted
from peckorder.cli.rank.output_columns import with_target
from peckorder.cli.rank.rows import (
    Choices,
    cut_out,
    is_asked,
    joined,
    numbered,
    without_added,
    written,
)
from peckorder.collaborative import PersonalRanker
from peckorder.exceptions import DataError
from peckorder.feedback import Queries
from peckorder.metrics import ranks
from peckorder.tables.column_names import ITEM, USER, are_unnamed, first_named
from peckorder.tables.columns import Columns, check_column, listed
from peckorder.tables.files.cells import is_gap
from peckorder.tables.files.read import iter_columns
from peckorder.tables.files.source import short
from peckorder.tables.roles import ColumnRole, Role

_N_SHOWN = 10


def ranked_ratings(
    model: PersonalRanker,
    file: str,
    format: str | None,
    names: tuple[str, ...] | None,
    given: tuple[str | None, str | None],
    choices: Choices,
    on_lists: Callable[[int], None],
    noted: Noted,
) -> Iterator[Columns]:
    """Yield the rows of a file with predicted ratings, one list a person.

    Those of whom the model knows nothing, neither user nor item, come last in their
    lists, without a score; in a run, which has no place for them, not at all.
    """
    # Text as it stands: no id is changed on its way through.
    columns = without_added(
        joined(list(iter_columns(file, format=format, names=names))), noted
    )
    user = _column(columns, "user", given[0], USER, 0)
    item = _column(columns, "item", given[1], ITEM, 1)
    for role, name, option in (
        (Role.USER, user, given[0]),
        (Role.ITEM, item, given[1]),
    ):
        noted.take(
            ColumnRole(name, role, f"--{role.value}" if option else "its name or place")
        )
    who = like(columns.arrays[user], model.users_)
    what = like(columns.arrays[item], model.items_)
    is_known = _among(who, model.users_) & _among(what, model.items_)
    if not is_known.all():
        row = int(np.argmin(is_known))
        noted.say(
            f"{_n_rows((~is_known).sum())} a user or an item that the model does not "
            f"know, such as row {row + 1} ({short(columns.arrays[user][row])}, "
            f"{short(columns.arrays[item][row])}): no score. Fit again with them."
        )
    if not is_known.any():
        raise DataError(
            f"rank: {columns.source} must have users and items that the model knows; "
            f"got {short(columns.arrays[user][0])} and "
            f"{short(columns.arrays[item][0])} in row 1, and no others."
        )
    known, asked = cut_out(columns, is_known), replace(choices, qid=user, docid=item)
    asked = with_target(columns, asked, noted)
    score, n_seen = _scores(model, who[is_known], what[is_known])
    if n_seen:
        noted.say(
            f"{_n_rows(n_seen)} a rating that the model was fitted to: what it says of "
            "them is no measure of what it would say of others."
        )
    table = Columns({**known.arrays, "score": score}, columns.source)
    if is_known.all() or choices.kind == "run":
        yield numbered(table, asked, on_lists)
        return
    every = replace(asked, cut=False, max_rows=None, sort=False)
    placed = numbered(table, every, on_lists)
    yield _with_unknown(columns, is_known, placed, asked)


def _scores(
    model: PersonalRanker, users: NDArray[Any], items: NDArray[Any]
) -> tuple[NDArray[Any], int]:
    """Return what people are expected to give, and how much of it they have given."""
    ids, of_row = np.unique(users.astype(str), return_inverse=True)
    order = np.argsort(of_row, kind="stable")
    ends = np.searchsorted(of_row[order], np.arange(len(ids) + 1))
    score, n_seen = np.empty(len(users)), 0
    for begin, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        rows = order[begin:end]
        one, some = users[rows[0]], items[rows].tolist()
        score[rows] = model.predict(one, some)
        rated = set(model.items_[model._rated(one)[0]].tolist())
        n_seen += sum(each in rated for each in some)
    return score, n_seen


def _with_unknown(
    columns: Columns, is_known: NDArray[np.bool_], placed: Columns, choices: Choices
) -> Columns:
    """Return all rows: those without a score are the last of their lists."""
    arrays: dict[str, NDArray[Any]] = dict(columns.arrays)
    for name, column in placed.arrays.items():
        if name not in arrays:
            is_whole = column.dtype.kind in "iu"
            arrays[name] = np.zeros(len(columns), np.int64 if is_whole else np.float64)
            arrays[name][is_known] = column
            arrays[name][~is_known] = 0 if is_whole else np.nan
    table = Columns(arrays, columns.source)
    if not choices.positions:
        return table
    # Rows without a user are one list, too; no name of a user is empty.
    users = arrays[str(choices.qid)].tolist()
    qid = ["" if is_gap(user) else str(user) for user in users]
    arrays["position"] = ranks(
        "rank", np.where(is_known, -arrays["position"].astype(np.float64), -np.inf), qid
    )
    rows = np.flatnonzero(is_asked(arrays, choices))
    if choices.sort:
        of_row = Queries.of("rank", qid, len(table)).of_rows()
        rows = rows[np.lexsort((arrays["position"][rows], of_row[rows]))]
    return written(table, rows, choices)


def _among(ids: NDArray[Any], known: NDArray[Any]) -> NDArray[np.bool_]:
    every = set(known.tolist())
    return np.array([each in every for each in ids.tolist()], dtype=bool)


def _n_rows(n: Any) -> str:
    return "1 row has" if n == 1 else f"{n} rows have"


def _column(
    columns: Columns, what: str, given: str | None, usual: frozenset[str], place: int
) -> str:
    """Return the column of users or items; without names they are the first two."""
    found = given or first_named(columns.names, usual)
    if found is None and are_unnamed(columns.names):
        found = columns.names[place]
    if found is None:
        raise DataError(
            f"rank: {columns.source} must have a column of the {what}, given by "
            f"--{what} where none is named so; got {listed(columns.names)}."
        )
    check_column("rank", columns, what, found)
    return found


def recommended(
    model: PersonalRanker,
    user: str | None,
    choices: Choices,
    on_lists: Callable[[int], None],
) -> Iterator[Columns]:
    """Yield what a person is expected to like most."""
    who = _one("user", user, model.users_)
    best = model.recommend(who, choices.max_rows or _N_SHOWN)
    on_lists(1)
    rows = np.arange(len(best))
    rows = rows[best.above_cut] if choices.cut else rows
    items = best.items if best.items.dtype.kind in "iuf" else best.items.astype(object)
    arrays: dict[str, NDArray[Any]] = {
        "user": np.full(len(best), user, dtype=object),
        "item": items,
        "score": best.scores,
        "position": 1 + np.arange(len(best)),
        "gap": best.gaps,
        "above_cut": best.above_cut.astype(np.int64),
    }
    if choices.kind in ("run", "letor"):
        arrays = {"qid": arrays.pop("user"), "docid": arrays.pop("item"), **arrays}
    yield cut_out(Columns(arrays, "recommendations"), rows)


def one_score(
    model: PersonalRanker, user: str | None, item: str, choices: Choices
) -> Iterator[Columns]:
    """Yield what a person is expected to give to one item."""
    who, what = _one("user", user, model.users_), _one("item", item, model.items_)
    named = ("qid", "docid") if choices.kind in ("run", "letor") else ("user", "item")
    arrays: dict[str, NDArray[Any]] = {
        named[0]: np.array([user], dtype=object),
        named[1]: np.array([item], dtype=object),
        "score": model.predict(who, [what]),
        "position": np.ones(1, dtype=np.int64),
    }
    yield Columns(arrays, "prediction")


def _one(role: str, given: str | None, known: NDArray[Any]) -> Any:
    if given is None:
        raise ValueError("rank: file or user must be given; got neither.")
    return known_id("rank", role, given, known)


def known_id(who: str, role: str, given: str, known: NDArray[Any]) -> Any:
    """Return an id as a model knows it; refuse one that it does not know."""
    found = like(np.array([given], dtype=object), known)
    if not _among(found, known)[0]:
        raise ValueError(
            f"{who}: {role} must be one that the model knows; got {given!r}."
        )
    return found[0]


def like(ids: NDArray[Any], known: NDArray[Any]) -> NDArray[Any]:
    """Return ids of a file in the type that a model knows: numbers, or text.

    Text that is no such number stays text, which no model of numbers knows; nor is one
    that the number would be written otherwise: 007 and 7 are two ids.

    Examples
    --------
    >>> import numpy as np
    >>> from peckorder.cli.rank.people import like
    >>> like(np.array(["7", "1.5", "007"], dtype=object), np.array([1, 7])).tolist()
    [7, '1.5', '007']
    """
    is_number = known.dtype.kind in "iuf"
    if is_number and ids.dtype.kind not in "iuf":
        read = int if known.dtype.kind in "iu" else float
        return np.array([_as(read, each) for each in ids.tolist()], dtype=object)
    if not is_number and ids.dtype.kind in "iuf":
        return np.array([str(each) for each in ids.tolist()], dtype=object)
    return ids


def _as(read: Callable[[str], Any], text: Any) -> Any:
    """Return the number that is written so, to the last digit, or the text."""
    try:
        found = read(text)
    except (TypeError, ValueError, OverflowError):
        return text
    forms = {str(found), str(found).removesuffix(".0")}
    return found if isinstance(text, str) and text.strip() in forms else text
