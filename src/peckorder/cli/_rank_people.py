"""What people are expected to give: a file of users and items, or a list for one."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peckorder.cli._rank_rows import Choices, cut_out, joined, numbered
from peckorder.cli._roles import check_column
from peckorder.cli._tables import iter_columns
from peckorder.cli._tables_source import short
from peckorder.collaborative import PersonalRanker
from peckorder.compare._column_names import ITEM, USER, first_named
from peckorder.compare._columns import Columns
from peckorder.compare._model_rows import listed
from peckorder.exceptions import DataError

_N_SHOWN = 10


def ranked_ratings(
    model: PersonalRanker,
    file: str,
    format: str | None,
    given: tuple[str | None, str | None],
    choices: Choices,
    on_lists: Callable[[int], None],
) -> Iterator[Columns]:
    """Yield the rows of a file with predicted ratings, one list a person."""
    # Text as it stands: no id is changed on its way through.
    columns = joined(list(iter_columns(file, format=format)))
    user = _column(columns, "user", given[0], USER)
    item = _column(columns, "item", given[1], ITEM)
    users = like(columns.arrays[user], model.users_)
    items = like(columns.arrays[item], model.items_)
    ids, of_row = np.unique(users.astype(str), return_inverse=True)
    order = np.argsort(of_row, kind="stable")
    ends = np.searchsorted(of_row[order], np.arange(len(ids) + 1))
    score = np.empty(len(users))
    known = set(model.items_.tolist())
    for begin, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        rows = order[begin:end]
        some = items[rows].tolist()
        unknown = [k for k, each in zip(rows, some, strict=True) if each not in known]
        if unknown:
            raise DataError(
                f"rank: column {item!r} of {columns.source} must be items that the "
                f"model knows; got {short(columns.arrays[item][unknown[0]])} in row "
                f"{unknown[0] + 1}."
            )
        score[rows] = model.predict(users[rows[0]], some)
    table = Columns({**columns.arrays, "score": score}, columns.source)
    yield numbered(table, replace(choices, qid=user, docid=item), on_lists)


def _column(
    columns: Columns, what: str, given: str | None, usual: frozenset[str]
) -> str:
    found = given or first_named(columns.names, usual)
    if found is None:
        raise DataError(
            f"rank: {columns.source} must have a column of the {what}, given by "
            f"--{what} where none is named so; got {listed(columns.names)}."
        )
    check_column("rank", columns.source, columns.names, what, found)
    return found


def recommended(
    model: PersonalRanker,
    user: str | None,
    choices: Choices,
    on_lists: Callable[[int], None],
) -> Iterator[Columns]:
    """Yield what a person is expected to like most."""
    if user is None:
        raise ValueError("rank: file or user must be given; got neither.")
    who = like(np.array([user], dtype=object), model.users_)[0]
    if who not in set(model.users_.tolist()):
        raise ValueError(f"rank: user must be one that the model knows; got {user!r}.")
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


def like(ids: NDArray[Any], known: NDArray[Any]) -> NDArray[Any]:
    """Return ids of a file in the type that a model knows: numbers, or text.

    Text that is no such number stays text, which no model of numbers knows.

    Examples
    --------
    >>> import numpy as np
    >>> from peckorder.cli._rank_people import like
    >>> like(np.array(["7", "1.5"], dtype=object), np.array([1, 7])).tolist()
    [7, '1.5']
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
    except (TypeError, ValueError):
        return text
    return found if isinstance(text, str) else text
