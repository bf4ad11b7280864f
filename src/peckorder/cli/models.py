"""The work of `peckorder explain` and `peckorder info`, and what models cannot be used for."""

import os
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from rich.table import Table as Screen

import peckorder
from peckorder._core.errors import entry_named, refusal
from peckorder._core.typing import Array, Bools, Floats, Matrix
from peckorder.cli.options import ExplainOptions, OutputOptions
from peckorder.cli.outputs import ResultPrinter, screen
from peckorder.collaborative import PersonalRanker
from peckorder.datasets import Documents
from peckorder.estimators import TableRanker
from peckorder.export._onnx import is_exportable
from peckorder.storage.format import VERSION, read_file
from peckorder.tables.columns import Columns, counted, joined, short
from peckorder.tables.files.paths import name_of, shown_out
from peckorder.tables.files.read import iter_columns, letor_documents, read_table, write_columns
from peckorder.tables.files.trec import documents_to_columns
from peckorder.tables.model_rows import ModelRows, unscaled

_MOST_NAMES: Final = 20
_MOST_VALUES: Final = 12


def run_explain(
    model: str, file: str | None, options: ExplainOptions, output: OutputOptions
) -> None:
    """Return how much each feature adds to the scores of rows."""
    out, numbers = options.out, options.row or (1,)
    printer = ResultPrinter(output, out)
    ranker = peckorder.load(model)
    if isinstance(ranker, PersonalRanker):
        for name, given in (("file", file), ("row", options.row), ("out", out)):
            if given is not None:
                raise refusal(
                    name,
                    "not be given for a PersonalRanker, which is asked by user and item",
                    "one",
                    hint="Type peckorder explain MODEL --user USER --item ITEM.",
                )
        _explain_person(printer, ranker, options)
        return
    if file is None:
        raise refusal("file", "be given for this model", "none")
    model_rows = ModelRows.of(ranker)
    X, raw, names, cells = _rows(model_rows, file, options.format)
    for number in numbers:
        if not 1 <= number <= X.shape[0]:
            raise refusal("row", f"be from 1 to {X.shape[0]}", number)
    added, constant = model_rows.contributions(X)
    written = []
    if out is not None:
        columns = {name: added[:, k] for k, name in enumerate(names)}
        parts = {"constant": constant, model_rows.explained: constant + added.sum(axis=1)}
        n_rows = write_columns(out, Columns({**columns, **parts}, name_of(file)))
        written.append(f"{counted(n_rows, 'row', 'rows')} in {shown_out(out)}")
    what = model_rows.explained
    rows = [_explained(names, raw, cells, added, constant, k - 1, what) for k in numbers]
    printer.emit(
        {"model": model, "file": name_of(file), "rows": rows, "out": out},
        *(_screen(row, options.top, what) for row in rows),
        *written,
    )


def _rows(
    model_rows: ModelRows, file: str, format: str | None
) -> tuple[Matrix, Matrix, tuple[str, ...], Mapping[str, Array]]:
    """Return the features of all rows, before they were scaled too, their names, and cells."""
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
            return X, raw, tuple(str(k + 1) for k in range(model_rows.n_features)), {}
        table = documents_to_columns(name_of(file), table, None)
    X = model_rows.matrix(table)
    names, raw = model_rows.before(table)
    return X, raw, names, table.arrays


def _explained(
    names: tuple[str, ...],
    raw: Any,
    cells: Mapping[str, Array],
    added: Floats,
    constant: Floats,
    row: int,
    what: str,
) -> dict[str, Any]:
    values = raw[[row]].toarray()[0] if hasattr(raw, "toarray") else raw[row]
    order = np.argsort(-np.abs(added[row]), kind="stable")
    # Of text the code tells nobody anything.
    shown = {name: cells[name][row] for name in names if name in cells}
    texts = {name: {"cell": cell} for name, cell in shown.items() if isinstance(cell, str)}
    return {
        "row": row + 1,
        what: float(added[row].sum() + constant[row]),
        "constant": float(constant[row]),
        "features": [
            {"feature": names[k], "value": float(values[k]), "adds": float(added[row, k])}
            | texts.get(names[k], {})
            for k in order.tolist()
        ],
    }


def _screen(row: dict[str, Any], top: int, what: str) -> Screen:
    every = row["features"]
    rows = [(f["feature"], f.get("cell", f["value"]), f["adds"]) for f in every[:top]]
    rest = sum(f["adds"] for f in every[top:])
    if len(every) > top:
        rows.append((counted(len(every) - top, "other", "others"), "", rest))
    rows.append(("constant", "", row["constant"]))
    title = f"row {row['row']}: {what} {row[what]:.4f}"
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
    item_rows = [(str(name), adds) for name, adds in items[:top]]
    viewer_rows = [(str(name), adds) for name, adds in viewers[:top]]
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
        screen("by what the person rated", ("item", "adds"), item_rows),
        screen("by others who rated it", ("viewer", "adds"), viewer_rows),
    )


def run_info(model: str, output: OutputOptions) -> None:
    """Tell what is in a model file: class, parameters, features, versions."""
    printer = ResultPrinter(output)
    ranker = peckorder.load(model)
    header: Any = read_file(model)[0]
    is_table = isinstance(ranker, TableRanker)
    names, formulas = _features(ranker)
    inner = ranker.ranker_ if is_table else ranker
    result = {
        "file": model,
        "bytes": os.stat(model).st_size,
        "class": type(inner).__name__,
        "kept_as": "TableRanker" if is_table else None,
        "parameters": inner.get_params(deep=False),
        "n_features": getattr(ranker, "n_features_in_", None),
        "feature_names": names or None,
        "columns": known_columns(ranker) or None,
        "scaled_as": formulas or None,
        "learnt": _learnt(inner),
        "answers": _answers(ranker) if is_table else None,
        "written_by": f"peckorder {header['peckorder']}",
        "format": VERSION,
        "checksum": "ok",
    }
    scaled = "mean 0, deviation 1" if formulas else None
    first = ", ".join(names[:_MOST_NAMES])
    if len(names) > _MOST_NAMES:
        first += f" and {len(names) - _MOST_NAMES} more"
    shown = {**result, "scaled_as": scaled, "feature_names": first, "checksum": "ok (SHA-256)"}
    for name in ("parameters", "learnt", "columns", "answers"):
        pairs: Any = result[name] or {}
        shown[name] = ", ".join(f"{key}={_short_text(value)}" for key, value in pairs.items())
    width = max(map(len, shown))
    printer.emit(
        result,
        *(
            f"{name.replace('_', ' '):<{width}}  {value}"
            for name, value in shown.items()
            if value not in (None, "")
        ),
    )


def _features(ranker: Any) -> tuple[list[str], list[str]]:
    """Return the names of columns, and formulas of features that are scaled."""
    names = [str(name) for name in getattr(ranker, "feature_names_in_", ())]
    if not isinstance(ranker, TableRanker):
        # Files older than TableRanker have only formulas.
        plain = list(map(unscaled, names))
        return plain, names if names != plain else []
    if ranker.shift_ is None or ranker.scale_ is None:
        return names, []
    scaling = zip(
        ranker.prepared_names_, ranker.shift_.tolist(), ranker.scale_.tolist(), strict=True
    )
    return names, [f"({name} - {m!r}) / {s!r}" for name, m, s in scaling]


def _learnt(ranker: object) -> dict[str, object]:
    """Return the plain values among what was learnt, and the sizes of the rest."""
    values: dict[str, object] = {}
    for name in sorted(vars(ranker)):
        if name.startswith("_") or not name.endswith("_") or name == "feature_names_in_":
            continue
        value = getattr(ranker, name)
        if isinstance(value, bool | int | float | str):
            values[name] = value
        elif hasattr(value, "shape"):
            is_short = value.ndim == 1 and value.size <= _MOST_VALUES
            size = " x ".join(map(str, value.shape)) or "1"
            values[name] = value.tolist() if is_short else f"<{size} values>"
    return values


def _answers(table: TableRanker) -> dict[str, object] | None:
    """Return what makes answers of scores, if they are not answers themselves."""
    if table.answer_ is None:
        return None
    values = vars(table.answer_).items()
    return {name: np.asarray(value).tolist() for name, value in values}


def _short_text(value: object) -> str:
    """Return a value as text, or how many values there are."""
    if isinstance(value, list):
        return f"[{', '.join(_short_text(item) for item in value)}]"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, str) and value.startswith("<"):  # a number of values
        return value
    return short(value)


def known_columns(model: object) -> dict[str, str]:
    """Return the columns that a model knows by name, by the options that name them."""
    names = {"target": getattr(model, "target_", None), "qid": getattr(model, "query_", None)}
    return {option: name for option, name in names.items() if name is not None}


def model_limits(model: object) -> str:
    """Return what a saved model cannot be used for."""
    inner = model.ranker_ if isinstance(model, TableRanker) else model
    coef = getattr(inner, "coef_", None)
    is_plain = coef is not None and np.ndim(coef) == 1
    cannot = []
    if not (is_plain or hasattr(inner, "explain")):
        cannot.append("explained (peckorder explain)")
    if not is_exportable(model):
        cannot.append("exported (to_onnx)")
    if not cannot:
        return ""
    what, kernel = type(inner).__name__, getattr(inner, "kernel", "linear")
    if kernel != "linear":
        what += f" with kernel={kernel!r}"
    elif is_plain and isinstance(model, TableRanker):
        what = "columns of text are coded for it"
    return f"It cannot be {' or '.join(cannot)}: {what}."


def needed_package(model: object) -> str | None:
    """Return the other library that a saved model needs, if it needs one."""
    inner = model.ranker_ if isinstance(model, TableRanker) else model
    return getattr(inner, "package", None)


def known_id(role: str, given: str, known: Array) -> Any:
    """Return an id as a model knows it; refuse one that it does not know."""
    ids = like(np.array([given], dtype=object), known)
    if not are_among(ids, known)[0]:
        raise refusal(role, "be one that the model knows", repr(given))
    return ids[0]


def like(ids: Array, known: Array) -> Array:
    """Return ids of a file in the type that a model knows: numbers, or text.

    Text that is no such number stays text, which no model of numbers knows; nor is one
    that the number would be written otherwise: 007 and 7 are two ids.

    Examples
    --------
    >>> import numpy as np
    >>> from peckorder.cli.models import like
    >>> like(np.array(["7", "1.5", "007"], dtype=object), np.array([1, 7])).tolist()
    [7, '1.5', '007']
    """
    is_number = known.dtype.kind in "iuf"
    if is_number and ids.dtype.kind not in "iuf":
        read = int if known.dtype.kind in "iu" else float
        return np.array([_as(read, text) for text in ids.tolist()], dtype=object)
    if not is_number and ids.dtype.kind in "iuf":
        return np.array([str(number) for number in ids.tolist()], dtype=object)
    return ids


def _as(read: Callable[[str], float], text: Any) -> Any:
    """Return the number that is written so, to the last digit, or the text."""
    try:
        number = read(text)
    except (TypeError, ValueError, OverflowError):
        return text
    forms = {str(number), str(number).removesuffix(".0")}
    return number if isinstance(text, str) and text.strip() in forms else text


def are_among(ids: Array, known: Array) -> Bools:
    """Return which ids a model knows."""
    every = set(known.tolist())
    return np.array([value in every for value in ids.tolist()], dtype=bool)
