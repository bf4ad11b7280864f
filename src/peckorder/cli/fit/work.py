"""The work of `peckorder fit`."""

from typing import Any

from peckorder._core.errors import refusal
from peckorder.cli.console import ResultPrinter, role_lines, roles_as_json
from peckorder.cli.fit.command import FitOptions
from peckorder.cli.model_limits import no_classes
from peckorder.cli.options import OutputOptions, separate_columns
from peckorder.cli.outputs import check_model, check_outputs
from peckorder.collaborative import PersonalRanker
from peckorder.compare.fit_by_name import (
    Fitted,
    Settings,
    fit_rows,
    fit_table,
    make_ranker,
    set_as_in_compare,
)
from peckorder.datasets import Documents
from peckorder.tables.columns import counted
from peckorder.tables.files.read import read_table
from peckorder.tables.files.source import is_standard, name_of
from peckorder.tables.files.trec import QID, TARGET, whole_numbers
from peckorder.tables.task import Task


def run_fit(file: str, options: FitOptions, output: OutputOptions) -> None:
    """Fit a ranker to a file; write the model, with the names of its features."""
    printer = ResultPrinter(output)
    ranker, by_hand = make_ranker(options.ranker, options.set_ or ())
    if is_standard(options.out):
        raise refusal("out", "be a file", "'-'")
    check_outputs({"-o": options.out}, [file])
    check_model("-o", options.out)
    with printer.progress(f"Fitting {options.ranker}"):
        fitted = _fit(ranker, by_hand, file, options)
        fitted.model.save(options.out)
    read_names = getattr(fitted.model, "feature_names_in_", ())
    names = getattr(fitted.model, "prepared_names_", read_names)
    limits = list(filter(None, [no_classes(fitted.model, fitted.kind)]))
    printer.emit(
        {
            "file": name_of(file),
            "rows": fitted.n_rows,
            "model": str(options.out),
            "class": type(fitted.ranker).__name__,
            "parameters": fitted.ranker.get_params(deep=False),
            "settings": fitted.settings._asdict(),
            "taken": roles_as_json(fitted.task.column_roles),
            "features": list(names) or getattr(fitted.ranker, "n_features_in_", None),
            "scaled": fitted.is_scaled,
            "notes": [*fitted.notes, *limits],
        },
        *_lines(fitted),
        f"{options.ranker}: fitted to {counted(fitted.n_rows, 'row', 'rows')}, in {options.out}",
        *limits,
    )


def _fit(ranker: Any, by_hand: dict[str, object], file: str, options: FitOptions) -> Fitted:
    roles = options.roles
    ids = [name for role in ("qid", "user", "item") if (name := roles[role])]
    names = separate_columns(options.columns)
    source = read_table(file, format=options.format, ids=ids, names=names)
    if isinstance(source, Documents):
        return _fit_sparse(ranker, by_hand, source, options)
    return fit_table(
        ranker,
        source,
        by_hand=by_hand,
        scale=options.scale,
        classes=options.classes,
        drop=options.drop or (),
        **roles,
    )


def _fit_sparse(
    ranker: Any, by_hand: dict[str, object], documents: Documents, options: FitOptions
) -> Fitted:
    """Fit to a LETOR file with few features per row: as they are, by their numbers.

    Nothing is chosen on rows left out there.
    """
    if isinstance(ranker, PersonalRanker):
        raise refusal("PersonalRanker", "have a table of ratings", "LETOR")
    X, y, qid = documents
    query = None if qid is None else QID
    own = {"target": TARGET, "qid": query}
    for name in (*options.roles, "drop", "classes", "scale"):
        value = getattr(options, name)
        if value and value != own.get(name):
            raise refusal(
                name, "not be asked for where most features of a LETOR file are absent", f"--{name}"
            )
    task = Task("graded", TARGET, query)
    fixed = set_as_in_compare(ranker, task.kind, by_hand)
    fitted = fit_rows(ranker, X, whole_numbers(y), qid)
    return Fitted(fitted, fitted, task, len(y), Settings(fixed, {}, by_hand))


def _lines(fitted: Fitted) -> list[str]:
    """Describe the roles of columns; features are counted, not listed."""
    lines = role_lines(fitted.task.column_roles)
    n_features = getattr(fitted.ranker, "n_features_in_", None)
    if n_features is not None:
        scaled = ", scaled to mean 0 and deviation 1" if fitted.is_scaled else ""
        lines.append(f"{counted(n_features, 'feature', 'features')}{scaled}")
    return [*lines, *fitted.notes, fitted.settings.sentence()]
