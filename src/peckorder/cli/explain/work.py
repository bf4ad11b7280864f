"""The work of `peckorder explain`."""

from typing import Any

import numpy as np
from rich.table import Table as Screen

import peckorder
from peckorder._core.errors import entry_named, refusal
from peckorder._core.typing import Floats, Matrix
from peckorder._core.validation import whole
from peckorder.cli.console import ResultPrinter, screen
from peckorder.cli.explain.command import ExplainOptions
from peckorder.cli.options import OutputOptions
from peckorder.cli.outputs import check_outputs
from peckorder.cli.rank.people import known_id
from peckorder.cli.rank.rows import joined
from peckorder.collaborative import PersonalRanker
from peckorder.datasets import Documents
from peckorder.tables.columns import Columns, counted
from peckorder.tables.files.read import iter_columns, letor_documents, read_table, write_columns
from peckorder.tables.files.source import check_is_file, name_of, shown_out
from peckorder.tables.files.trec import documents_to_columns
from peckorder.tables.model_rows import ModelRows, contributions


def run_explain(
    model: str, file: str | None, options: ExplainOptions, output: OutputOptions
) -> None:
    """Return how much each feature adds to the scores of rows."""
    out, numbers = options.out, options.row or (1,)
    printer = ResultPrinter(output, out)
    whole(1).check("top", options.top)
    check_outputs({"-o": out}, [model, file])
    check_is_file(model)
    ranker = peckorder.load(model)
    if isinstance(ranker, PersonalRanker):
        for name, given in (("file", file), ("row", options.row), ("out", out)):
            if given is not None:
                raise refusal(
                    name,
                    "not be given for a PersonalRanker, which is asked by user and item",
                    "one",
                )
        _explain_person(printer, ranker, options)
        return
    if file is None:
        raise refusal("file", "be given for this model", "none")
    model_rows = ModelRows.of(ranker)
    X, raw, names = _rows(model_rows, file, options.format)
    for number in numbers:
        if not 1 <= number <= X.shape[0]:
            raise refusal("row", f"be from 1 to {X.shape[0]}", number)
    added, constant = contributions(model_rows.model, X)
    written = []
    if out is not None:
        columns = {name: added[:, k] for k, name in enumerate(names)}
        parts = {"constant": constant, "score": constant + added.sum(axis=1)}
        n_rows = write_columns(out, Columns({**columns, **parts}, name_of(file)))
        written.append(f"{counted(n_rows, 'row', 'rows')} in {shown_out(out)}")
    rows = [_explained(names, raw, added, constant, k - 1) for k in numbers]
    printer.emit(
        {"model": model, "file": name_of(file), "rows": rows, "out": out},
        *(_screen(row, options.top) for row in rows),
        *written,
    )


def _rows(
    model_rows: ModelRows, file: str, format: str | None
) -> tuple[Matrix, Matrix, tuple[str, ...]]:
    """Return the features of all rows, before they were scaled too, and their names."""
    table: Columns | Documents
    if letor_documents(file, format=format) is None:
        # Called while the file is open, whose name refusals would take.
        @entry_named("explain")
        def numbers(header: tuple[str, ...]) -> Any:
            return model_rows.numbers(model_rows.sources(name_of(file), header))

        # Text as it stands, as `rank` reads it.
        table = joined(list(iter_columns(file, format=format, numbers=numbers)))
    else:
        table = read_table(file, format=format)
    if isinstance(table, Documents):
        if model_rows.names is None:
            raw = table.X[:, : model_rows.n_features]
            X = model_rows.array(raw)
            model_rows.check_cells(name_of(file), X)
            return X, raw, tuple(str(k + 1) for k in range(model_rows.n_features))
        table = documents_to_columns(name_of(file), table, None)
    X = model_rows.matrix(table)
    names, raw = model_rows.before(table)
    return X, raw, names


def _explained(
    names: tuple[str, ...], raw: Any, added: Floats, constant: Floats, row: int
) -> dict[str, Any]:
    values = raw[[row]].toarray()[0] if hasattr(raw, "toarray") else raw[row]
    order = np.argsort(-np.abs(added[row]), kind="stable")
    return {
        "row": row + 1,
        "score": float(added[row].sum() + constant[row]),
        "constant": float(constant[row]),
        "features": [
            {"feature": names[k], "value": float(values[k]), "adds": float(added[row, k])}
            for k in order.tolist()
        ],
    }


def _screen(row: dict[str, Any], top: int) -> Screen:
    every = row["features"]
    rows = [(f["feature"], f["value"], f["adds"]) for f in every[:top]]
    rest = sum(f["adds"] for f in every[top:])
    if len(every) > top:
        rows.append((counted(len(every) - top, "other", "others"), "", rest))
    rows.append(("constant", "", row["constant"]))
    title = f"row {row['row']}: score {row['score']:.4f}"
    return screen(title, ("feature", "value", "adds"), rows)


def _explain_person(
    printer: ResultPrinter, ranker: PersonalRanker, options: ExplainOptions
) -> None:
    user, item, top = options.user, options.item, options.top
    if user is None or item is None:
        raise refusal(
            "user and item", "be given for a PersonalRanker", f"user={user!r}, item={item!r}"
        )
    user_id = known_id("user", user, ranker.users_)
    item_id = known_id("item", item, ranker.items_)
    reasons = ranker.explain(user_id, item_id)
    items = list(zip(reasons.items.tolist(), reasons.by_items.tolist(), strict=True))
    viewers = list(zip(reasons.viewers.tolist(), reasons.by_viewers.tolist(), strict=True))
    printer.emit(
        {
            "user": user,
            "item": item,
            "score": reasons.score,
            "item_mean": reasons.item_mean,
            "person": reasons.person,
            "by_factors": reasons.by_factors,
            "by_items": [{"item": i, "adds": a} for i, a in items],
            "by_viewers": [{"viewer": v, "adds": a} for v, a in viewers],
        },
        f"user {user}, item {item}: {reasons.score:.2f} = {reasons.item_mean:.2f} (the "
        f"item's mean) {reasons.person:+.2f} (the person) "
        f"{reasons.by_items.sum():+.2f} (what the person rated)",
        screen("by what the person rated", ("item", "adds"), _texts(items[:top])),
        screen("by others who rated it", ("viewer", "adds"), _texts(viewers[:top])),
    )


def _texts(pairs: list[tuple[object, float]]) -> list[tuple[str, float]]:
    return [(str(name), adds) for name, adds in pairs]
