"""The work of `peckorder fit`."""

from pathlib import Path
from typing import Any

from peckorder.cli.column_report import role_lines
from peckorder.cli.console import Speaker
from peckorder.cli.model_limits import no_classes
from peckorder.cli.outputs import check_model, check_outputs
from peckorder.collaborative import PersonalRanker
from peckorder.compare.candidates.settings import Settings
from peckorder.compare.fit_by_name import (
    Fitted,
    fit_rows,
    fit_table,
    make_ranker,
    set_as_in_compare,
)
from peckorder.datasets import Documents
from peckorder.exceptions import DataError
from peckorder.tables.columns import counted
from peckorder.tables.files.read import read_table
from peckorder.tables.files.source import is_standard, name_of
from peckorder.tables.files.trec import QID, TARGET, whole_numbers
from peckorder.tables.task import Task


def run_fit(
    file: str,
    *,
    ranker: str,
    out: Path,
    set_: list[str] | None,
    target: str | None,
    qid: str | None,
    user: str | None,
    item: str | None,
    rating: str | None,
    classes: list[str] | None,
    drop: list[str] | None,
    columns: str | None,
    scale: bool | None,
    format: str | None,
    json: bool,
    quiet: bool,
) -> None:
    """Fit a ranker to a file; write the model, with the names of its features."""
    speaker = Speaker(json=json, quiet=quiet)
    model, by_hand = make_ranker(ranker, set_ or ())
    if is_standard(out):
        raise ValueError("fit: out must be a file; got '-'.")
    check_outputs("fit", {"-o": out}, [file])
    check_model("fit", "-o", out)
    named = None if columns is None else tuple(map(str.strip, columns.split(",")))
    given = {
        "target": target,
        "qid": qid,
        "user": user,
        "item": item,
        "rating": rating,
    }
    with speaker.bar(f"Fitting {ranker}"):
        found = _fitted(
            (model, by_hand), file, format, scale, classes, drop or [], named, given
        )
        try:
            found.model.save(out)
        except TypeError as error:
            raise ValueError(str(error)) from None
    names = getattr(found.model, "prepared_names_", None)
    names = list(
        getattr(found.model, "feature_names_in_", ()) if names is None else names
    )
    limits = list(filter(None, [no_classes(found.model, found.kind)]))
    speaker.say(
        {
            "file": name_of(file),
            "rows": found.n_rows,
            "model": str(out),
            "class": type(found.ranker).__name__,
            "parameters": found.ranker.get_params(deep=False),
            "settings": found.settings._asdict(),
            "taken": {t.column: [t.role.value, t.why] for t in found.task.column_roles},
            "features": names or getattr(found.ranker, "n_features_in_", None),
            "scaled": found.is_scaled,
            "notes": [*found.notes, *limits],
        },
        *_told(found),
        f"{ranker}: fitted to {counted(found.n_rows, 'row', 'rows')}, in {out}",
        *limits,
    )


def _fitted(
    ranker: tuple[Any, dict[str, Any]],
    file: str,
    format: str | None,
    scale: bool | None,
    classes: list[str] | None,
    drop: list[str],
    names: tuple[str, ...] | None,
    given: dict[str, str | None],
) -> Fitted:
    ids = [name for role in ("qid", "user", "item") if (name := given[role])]
    source = read_table(file, format=format, ids=ids, names=names)
    try:
        if isinstance(source, Documents):
            asked = {**given, "drop": drop, "classes": classes, "scale": scale}
            return _fitted_sparse(ranker, source, asked)
        model, by_hand = ranker
        return fit_table(
            model,
            source,
            by_hand=by_hand,
            scale=scale,
            classes=classes,
            drop=drop,
            **given,
        )
    except DataError as error:
        raise DataError(str(error).replace("compare: ", "fit: ", 1)) from None


def _fitted_sparse(
    ranker: tuple[Any, dict[str, Any]], documents: Documents, asked: dict[str, Any]
) -> Fitted:
    """Fit to a LETOR file with few features a row: as they are, by their numbers.

    Nothing is chosen on rows left out there.
    """
    model, by_hand = ranker
    if isinstance(model, PersonalRanker):
        raise DataError("fit: PersonalRanker must have a table of ratings; got LETOR.")
    X, y, qid = documents
    own = {"target": TARGET, "qid": None if qid is None else QID}
    for name, value in asked.items():
        if value and value != own.get(name):
            raise ValueError(
                f"fit: {name} must not be asked for where most features of a LETOR "
                f"file are absent; got --{name}."
            )
    query = None if qid is None else QID
    task = Task("graded", TARGET, query)
    fixed = set_as_in_compare(model, task.kind, by_hand)
    fitted = fit_rows(model, X, whole_numbers(y), qid)
    return Fitted(fitted, fitted, task, len(y), Settings(fixed, {}, by_hand))


def _told(found: Fitted) -> list[str]:
    """Say what columns were taken for; features are counted, not listed."""
    lines = role_lines(found.task.column_roles)
    n_features = getattr(found.ranker, "n_features_in_", None)
    if n_features is not None:
        scaled = ", scaled to mean 0 and deviation 1" if found.is_scaled else ""
        lines.append(f"{counted(n_features, 'feature', 'features')}{scaled}")
    return [*lines, *found.notes, found.settings.told()]
