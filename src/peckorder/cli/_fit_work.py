"""The work of `peckorder fit`."""

from pathlib import Path
from typing import Any

from peckorder.cli._say import Speaker
from peckorder.cli._tables import read_table
from peckorder.cli._tables_source import is_standard, name_of
from peckorder.cli._tables_trec import QID, TARGET, whole_numbers
from peckorder.cli._tables_write import check_target
from peckorder.collaborative import PersonalRanker
from peckorder.compare._fitting import Fitted, fit_rows, fit_table, make_ranker
from peckorder.compare._task import Task
from peckorder.datasets import Documents
from peckorder.exceptions import DataError


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
    model = make_ranker(ranker, set_ or ())
    if is_standard(out):
        raise ValueError("fit: out must be a file; got '-'.")
    check_target(out)
    named = None if columns is None else tuple(map(str.strip, columns.split(",")))
    given = {
        "target": target,
        "qid": qid,
        "user": user,
        "item": item,
        "rating": rating,
    }
    with speaker.bar(f"Fitting {ranker}"):
        found = _fitted(model, file, format, scale, classes, drop or [], named, given)
        try:
            found.model.save(out)
        except TypeError as error:
            raise ValueError(str(error)) from None
    names = list(getattr(found.model, "feature_names_in_", ()))
    speaker.say(
        {
            "file": name_of(file),
            "rows": found.n_rows,
            "model": str(out),
            "class": ranker,
            "parameters": found.model.get_params(deep=False),
            "taken": {t.column: [t.role, t.why] for t in found.task.taken},
            "features": names or getattr(found.model, "n_features_in_", None),
            "scaled": found.is_scaled,
        },
        *_told(found),
        f"{ranker}: fitted to {found.n_rows} rows, in {out}",
    )


def _fitted(
    model: Any,
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
            return _fitted_sparse(model, source, scale)
        return fit_table(
            model, source, scale=scale, classes=classes, drop=drop, **given
        )
    except DataError as error:
        raise DataError(str(error).replace("compare: ", "fit: ", 1)) from None


def _fitted_sparse(model: Any, documents: Documents, scale: bool | None) -> Fitted:
    """Fit to a LETOR file with few features a row: as they are, by their numbers."""
    if isinstance(model, PersonalRanker):
        raise DataError("fit: PersonalRanker must have a table of ratings; got LETOR.")
    if scale:
        raise ValueError(
            "fit: scale must not be asked for where most features of a LETOR file are "
            "absent; got --scale."
        )
    X, y, qid = documents
    query = None if qid is None else QID
    task = Task("graded", TARGET, query)
    return Fitted(fit_rows(model, X, whole_numbers(y), qid), task, len(y))


def _told(found: Fitted) -> list[str]:
    """Say what columns were taken for; features are counted, not listed."""
    lines = [
        f"{t.column}: {t.role} ({t.why})" if t.why else f"{t.column}: {t.role}"
        for t in found.task.taken
        if not t.role.startswith("feature")
    ]
    n_features = getattr(found.model, "n_features_in_", None)
    if n_features is not None:
        scaled = ", scaled to mean 0 and deviation 1" if found.is_scaled else ""
        lines.append(f"{n_features} features{scaled}")
    return lines
