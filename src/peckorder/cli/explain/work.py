"""The work of `peckorder explain`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import peckorder
from peckorder._core.validation import whole
from peckorder.cli.console import Speaker, screen
from peckorder.cli.outputs import check_outputs
from peckorder.cli.rank.people import known_id
from peckorder.cli.rank.rows import joined
from peckorder.collaborative import PersonalRanker
from peckorder.datasets import Documents
from peckorder.tables.columns import Columns, counted
from peckorder.tables.files.read import (
    iter_columns,
    letor_documents,
    read_table,
    write_columns,
)
from peckorder.tables.files.source import check_is_file, name_of, shown_out
from peckorder.tables.files.trec import documents_to_columns
from peckorder.tables.model_rows import ModelRows
from peckorder.tables.scoring import contributions


def run_explain(
    model: str,
    file: str | None,
    *,
    row: list[int] | None,
    top: int,
    user: str | None,
    item: str | None,
    out: str | None,
    format: str | None,
    json: bool,
    quiet: bool,
) -> None:
    """Tell how much each feature adds to the scores of rows."""
    speaker = Speaker(json=json, quiet=quiet, out=out)
    whole(1).check("explain", "top", top)
    check_outputs("explain", {"-o": out}, [model, file])
    check_is_file(model)
    ranker = peckorder.load(model)
    if isinstance(ranker, PersonalRanker):
        for name, given in (("file", file), ("row", row), ("out", out)):
            if given is not None:
                raise ValueError(
                    f"explain: {name} must not be given for a PersonalRanker, which is "
                    f"asked by user and item; got one."
                )
        _explain_person(speaker, ranker, user, item, top)
        return
    if file is None:
        raise ValueError("explain: file must be given for this model; got none.")
    wanted = ModelRows.of(ranker)
    X, raw, names = _rows(wanted, file, format)
    chosen = row or [1]
    for number in chosen:
        if not 1 <= number <= X.shape[0]:
            raise ValueError(
                f"explain: row must be from 1 to {X.shape[0]}; got {number}."
            )
    added, constant = contributions(wanted.model, X)
    written = []
    if out is not None:
        columns = {name: added[:, k] for k, name in enumerate(names)}
        parts = {"constant": constant, "score": constant + added.sum(axis=1)}
        n_rows = write_columns(out, Columns({**columns, **parts}, name_of(file)))
        written.append(f"{counted(n_rows, 'row', 'rows')} in {shown_out(out)}")
    told = [_told(names, raw, added, constant, number - 1) for number in chosen]
    speaker.say(
        {"model": model, "file": name_of(file), "rows": told, "out": out},
        *(_shown(each, top) for each in told),
        *written,
    )


def _rows(
    wanted: ModelRows, file: str, format: str | None
) -> tuple[Any, Any, tuple[str, ...]]:
    """Return the features of all rows, before they were scaled too, and their names."""
    table: Columns | Documents
    if letor_documents(file, format=format) is None:

        def numbers(header: tuple[str, ...]) -> Any:
            return wanted.numbers(wanted.sources("explain", name_of(file), header))

        # Text as it stands, as `rank` reads it.
        table = joined(list(iter_columns(file, format=format, numbers=numbers)))
    else:
        table = read_table(file, format=format)
    if isinstance(table, Documents):
        if wanted.names is None:
            raw = table.X[:, : wanted.n_features]
            X = wanted.array(raw)
            wanted.check_cells("explain", name_of(file), X)
            return X, raw, tuple(str(k + 1) for k in range(wanted.n_features))
        table = documents_to_columns(name_of(file), table, None)
    X = wanted.matrix("explain", table)
    names, raw = wanted.before("explain", table)
    return X, raw, names


def _told(
    names: tuple[str, ...],
    raw: Any,
    added: NDArray[Any],
    constant: NDArray[Any],
    place: int,
) -> dict[str, Any]:
    values = raw[[place]].toarray()[0] if hasattr(raw, "toarray") else raw[place]
    order = np.argsort(-np.abs(added[place]), kind="stable")
    return {
        "row": place + 1,
        "score": float(added[place].sum() + constant[place]),
        "constant": float(constant[place]),
        "features": [
            {
                "feature": names[k],
                "value": float(values[k]),
                "adds": float(added[place, k]),
            }
            for k in order.tolist()
        ],
    }


def _shown(told: dict[str, Any], top: int) -> Any:
    every = told["features"]
    rows = [(f["feature"], f["value"], f["adds"]) for f in every[:top]]
    rest = sum(f["adds"] for f in every[top:])
    if len(every) > top:
        rows.append((counted(len(every) - top, "other", "others"), "", rest))
    rows.append(("constant", "", told["constant"]))
    title = f"row {told['row']}: score {told['score']:.4f}"
    return screen(title, ("feature", "value", "adds"), rows)


def _explain_person(
    speaker: Speaker,
    ranker: PersonalRanker,
    user: str | None,
    item: str | None,
    top: int,
) -> None:
    if user is None or item is None:
        raise ValueError(
            "explain: user and item must be given for a PersonalRanker; got "
            f"user={user!r}, item={item!r}."
        )
    who = known_id("explain", "user", user, ranker.users_)
    what = known_id("explain", "item", item, ranker.items_)
    try:
        found = ranker.explain(who, what)
    except TypeError as error:
        raise ValueError(str(error)) from None
    items = list(zip(found.items.tolist(), found.by_items.tolist(), strict=True))
    viewers = list(zip(found.viewers.tolist(), found.by_viewers.tolist(), strict=True))
    speaker.say(
        {
            "user": user,
            "item": item,
            "score": found.score,
            "item_mean": found.item_mean,
            "person": found.person,
            "by_factors": found.by_factors,
            "by_items": [{"item": i, "adds": a} for i, a in items],
            "by_viewers": [{"viewer": v, "adds": a} for v, a in viewers],
        },
        f"user {user}, item {item}: {found.score:.2f} = {found.item_mean:.2f} (the "
        f"item's mean) {found.person:+.2f} (the person) "
        f"{found.by_items.sum():+.2f} (what the person rated)",
        screen("by what the person rated", ("item", "adds"), _texts(items[:top])),
        screen("by others who rated it", ("viewer", "adds"), _texts(viewers[:top])),
    )


def _texts(pairs: list[tuple[Any, float]]) -> list[tuple[str, float]]:
    return [(str(name), adds) for name, adds in pairs]
