"""The work of `peckorder fit`: a ranker by its name, fitted to a file as `compare` fits it."""

import inspect
from ast import literal_eval
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from peckorder._core.errors import named, refusal
from peckorder._core.validation import check_parameters, did_you_mean
from peckorder.cli.models import needed_package
from peckorder.cli.options import FitOptions, OutputOptions, PairOptions, separate_columns
from peckorder.cli.outputs import ReportProgress, ResultPrinter, role_lines, roles_as_json
from peckorder.cli.pairs import load_pairs
from peckorder.comparison.candidates import Candidate, TaskInfo, plain_name
from peckorder.comparison.pairs_case import CANDIDATES, FURTHER, LEFT_OUT, LeftOut, folds_of
from peckorder.comparison.refit import TASKS, fit_ratings, fit_table, fitted_candidates, unfitted
from peckorder.comparison.table_case import make_table_case
from peckorder.comparison.tuning import Wrapper, fit_model
from peckorder.datasets import Documents
from peckorder.estimators import RankBoost
from peckorder.tables.columns import Columns, counted
from peckorder.tables.files.paths import name_of
from peckorder.tables.files.read import read_table
from peckorder.tables.files.trec import QID, TARGET, whole_numbers
from peckorder.tables.roles import is_unset
from peckorder.tables.task import SCORES, Task, ratings_of, recognise

_OF_PAIRS: Final = {plain_name(c.name): c for c in (*CANDIDATES, *FURTHER) if c.can_be_saved}
_CANDIDATES: Final = {kind: fitted_candidates(kind) for kind in TASKS} | {"pairs": _OF_PAIRS}
# What MPRankCV chooses from is no setting of an MPRank.
_UNTOLD: Final = ("classes", "Cs", "gammas", "keep")


class Settings(NamedTuple):
    """Parameters: those that `compare` gives, those chosen, those set by hand."""

    as_in_compare: Mapping[str, object]
    chosen: Mapping[str, object]
    by_hand: Mapping[str, object]
    left_out: str = "rows"

    def sentence(self) -> str:
        """Describe them in a sentence."""
        parts = [
            (self.as_in_compare, "as in compare"),
            (self.chosen, f"chosen on {self.left_out} left out"),
            (self.by_hand, "--set"),
        ]
        texts = [f"{_assignments(values)} ({why})" for values, why in parts if values]
        return f"settings: {'; '.join(texts) or 'the defaults of the class'}"


def _assignments(values: Mapping[str, object]) -> str:
    texts = {k: f"{v:.4g}" if isinstance(v, float) else repr(v) for k, v in values.items()}
    return ", ".join(f"{name}={text}" for name, text in texts.items())


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A model, the roles of columns, and how many rows it was fitted to.

    `ranker` is the one that was named; `model` may be a `TableRanker` around it.
    """

    model: Any
    ranker: Any
    task: Task
    n_rows: int
    settings: Settings
    is_scaled: bool = False
    notes: tuple[str, ...] = ()
    of_items: int | None = None
    left_out: LeftOut | None = None

    @property
    def extent(self) -> str:
        """How much it was fitted to."""
        if self.of_items is None:
            return counted(self.n_rows, "row", "rows")
        pairs = counted(self.n_rows, "pair", "pairs")
        return f"{pairs} of {counted(self.of_items, 'item', 'items')}"


def run_fit(file: str, options: FitOptions, pairs: PairOptions, output: OutputOptions) -> None:
    """Fit a ranker to a file; write the model, with the names of its features."""
    printer = ResultPrinter(output)
    by_hand = read_settings(options.ranker, options.set_ or ())
    with printer.progress("Reading") as report_progress:
        names = separate_columns(options.columns)
        source: Documents | Columns | None = None
        if pairs.items is None:
            source = read_table(file, format=options.format, ids=options.ids(), names=names)
        if source is None:
            fitted = _fit_pairs(by_hand, file, options, pairs, report_progress)
        elif isinstance(source, Documents):
            fitted = _fit_sparse(by_hand, source, options, report_progress)
        else:
            fitted = _fit_table(by_hand, source, options, report_progress)
        report_progress(0, None, "Writing the model")
        fitted.model.save(options.out)
    model, learnt = fitted.model, fitted.ranker
    features = getattr(model, "prepared_names_", getattr(model, "feature_names_in_", ()))
    n_features = getattr(learnt, "n_features_in_", None)
    lines = role_lines(fitted.task.column_roles)
    if n_features is not None:
        # They are counted, not listed.
        scaled = ", scaled to mean 0 and deviation 1" if fitted.is_scaled else ""
        lines.append(f"{counted(n_features, 'feature', 'features')}{scaled}")
    package = needed_package(model)
    printer.emit(
        {
            "file": name_of(file),
            "rows": fitted.n_rows,
            "items": fitted.of_items,
            "model": str(options.out),
            "class": type(learnt).__name__,
            "parameters": learnt.get_params(deep=False),
            "settings": {k: v for k, v in fitted.settings._asdict().items() if k != "left_out"},
            "taken": roles_as_json(fitted.task.column_roles),
            "features": list(features) or n_features,
            "scaled": fitted.is_scaled,
            "needs": package,
            "left_out": None if fitted.left_out is None else fitted.left_out._asdict(),
            "notes": list(fitted.notes),
        },
        *lines,
        *fitted.notes,
        fitted.settings.sentence(),
        *([] if fitted.left_out is None else [fitted.left_out.sentence()]),
        f"{options.ranker}: fitted to {fitted.extent}, in {options.out}",
        *([f"It needs {package} wherever it is used."] if package else []),
    )


def tasks_of(name: str) -> tuple[str, ...]:
    """Return the tasks that have a ranker of this name, in a leaderboard or as a class.

    Examples
    --------
    >>> from peckorder.cli.fit import tasks_of
    >>> tasks_of("mprank (rbf kernel)"), tasks_of("PRank on grades")
    (('ordinal', 'magnitude'), ('graded',))
    """
    kinds = tuple(kind for kind in TASKS if plain_name(name) in _CANDIDATES[kind])
    if not kinds:
        every = {c.name: None for kind in TASKS for c in _CANDIDATES[kind].values()}
        names = sorted(every, key=str.lower)
        hint = did_you_mean(name, names, {})
        raise refusal("ranker", f"be one of {', '.join(names)}", repr(name), hint=hint)
    return kinds


def read_settings(name: str, settings: Iterable[str]) -> dict[str, object]:
    """Return the parameters of a ranker that are set: such as ``C=10``, ``kernel=rbf``.

    Examples
    --------
    >>> from peckorder.cli.fit import read_settings
    >>> read_settings("MPRank", ["C=10", "kernel=rbf"])
    {'C': 10, 'kernel': 'rbf'}
    """
    ranker = unfitted(_CANDIDATES[tasks_of(name)[0]][plain_name(name)])
    names = list(inspect.signature(type(ranker).__init__).parameters)[1:]
    parameters = {}
    for setting in settings:
        key, is_set, value = setting.partition("=")
        if not is_set or key.strip() not in names:
            hint = did_you_mean(key.strip(), names, {})
            raise refusal(
                "set", f"be NAME=VALUE, NAME one of {', '.join(names)}", repr(setting), hint=hint
            )
        parameters[key.strip()] = _value(value.strip())
    with named(type(ranker).__name__):
        check_parameters(ranker.set_params(**parameters), type(ranker)._rules)
    return parameters


def _value(text: str) -> object:
    """Read a value: of Python if it is one, else as text."""
    lower = {"true": True, "false": False, "none": None}
    if text.lower() in lower:
        return lower[text.lower()]
    try:
        return literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _candidate(name: str, kind: str, by_hand: Mapping[str, object]) -> Candidate:
    """Return the candidate of a name, with what was set by hand.

    Where a kernel or trees were set, it is the one of the same class that has them, if
    there is one: its other settings are chosen for that.
    """
    candidates = _CANDIDATES[kind]
    if plain_name(name) not in candidates:
        names = ", ".join(candidate.name for candidate in candidates.values())
        raise refusal("ranker", f"be one of {names} for task={kind!r}", repr(name))
    candidate = candidates[plain_name(name)]
    for key in {"kernel", "weak"} & set(by_hand):
        ranker = type(unfitted(candidate))
        alike = (other for other in candidates.values() if type(unfitted(other)) is ranker)
        same = (other for other in alike if getattr(unfitted(other), key) == by_hand[key])
        candidate = next(same, candidate)
    return candidate.fixed(by_hand)


def _fit_sparse(
    by_hand: Mapping[str, object],
    documents: Documents,
    options: FitOptions,
    report_progress: ReportProgress,
) -> Fitted:
    """Fit to a LETOR file with few features per row: as they are, by their numbers.

    Nothing is chosen on rows left out there.
    """
    kinds = tasks_of(options.ranker)
    if kinds == ("ratings",):
        raise refusal(options.ranker, "have a table of ratings", "LETOR")
    X, y, qid = documents
    query = None if qid is None else QID
    own = {"target": TARGET, "qid": query, "task": "graded"}
    if is_unset(options.qid, (TARGET, QID)):
        qid, query, own["qid"] = None, None, options.qid
    for name in (*options.roles(), "drop", "category", "keep", "classes", "scale", "task"):
        value = getattr(options, name)
        if value and value != own.get(name):
            raise refusal(
                name, "not be asked for where most features of a LETOR file are absent", f"--{name}"
            )
    kind = "graded" if "graded" in kinds else kinds[0]
    candidate = _candidate(options.ranker, kind, by_hand)
    if candidate.origin != "peckorder":
        rule = "be one of peckorder's where most features of a LETOR file are absent"
        raise refusal("ranker", rule, repr(options.ranker))
    ranker = unfitted(candidate)
    if hasattr(ranker, "classes"):
        ranker.set_params(classes=by_hand.get("classes"))
    settings = Settings(_fixed(ranker, {}, by_hand), {}, by_hand)
    report_progress(0, None, f"Fitting {options.ranker} to {counted(len(y), 'row', 'rows')}")
    fitted = fit_model(ranker, X, whole_numbers(y), qid)
    return Fitted(fitted, fitted, Task("graded", TARGET, query), len(y), settings)


def _fit_table(
    by_hand: Mapping[str, object],
    columns: Columns,
    options: FitOptions,
    report_progress: ReportProgress,
) -> Fitted:
    """Fit a ranker to the columns that are given, or go by the usual names.

    It is the candidate of `compare`, which chooses all settings that are not in
    `by_hand`. Features are put to mean 0 and deviation 1, which fills empty cells; by
    default not for RankBoost, to which neither matters. Rows without a label or a query
    are left out.
    """
    task = _recognised(columns, options)
    candidate = _candidate(options.ranker, task.kind, by_hand)
    what = f"Fitting {options.ranker} to {counted(len(columns), 'row', 'rows')}"
    if isinstance(candidate.make(TaskInfo(0, 1)), Wrapper):
        what += ", choosing on rows left out"
    report_progress(0, None, what)
    if task.kind == "ratings":
        ratings, notes = ratings_of(columns, task)
        model, ranker, chosen = fit_ratings(ratings, candidate)
        settings = Settings(_fixed(ranker, chosen, by_hand), chosen, by_hand)
        return Fitted(model, ranker, task, len(ratings), settings, notes=notes)
    if options.scale is not None:
        candidate = replace(candidate, scaled=options.scale)
    case = make_table_case(
        columns,
        task,
        most_rows=np.inf,
        fewest=2,
        category=options.category or (),
        keep=options.keep or (),
    )
    model, ranker, chosen = fit_table(case, candidate)
    settings = Settings(_fixed(ranker, chosen, by_hand), chosen, by_hand)
    task = replace(task, column_roles=case.column_roles)
    is_scaled = candidate.scaled
    return Fitted(model, ranker, task, len(case.y), settings, is_scaled, case.notes)


def _fit_pairs(
    by_hand: Mapping[str, object],
    file: str,
    options: FitOptions,
    pairs: PairOptions,
    report_progress: ReportProgress,
) -> Fitted:
    """Fit a ranker to pairs of items, whose features are in a table of their own.

    What the leaderboard's candidate is given is kept; what it would choose is chosen on
    pairs left out.
    """
    candidate = _candidate(options.ranker, "pairs", by_hand)
    ranker: Any = candidate.make(TaskInfo(0, 1))
    loaded = load_pairs(file, options, pairs)
    preferences, notes = loaded.data.preferences, loaded.notes
    if preferences.has_sizes and isinstance(ranker, RankBoost):
        notes += ("RankBoost learns the order only: sizes are not used.",)
    if options.by is not None:  # else it is not needed
        folds_of(preferences, options.by)
    what = f"Fitting {options.ranker} to {counted(len(preferences), 'pair', 'pairs')}"
    report_progress(0, None, f"{what}, choosing on what is left out")
    scale = candidate.scaled if options.scale is None else options.scale
    by = options.by or "pair"
    model, left_out = loaded.data.fit(ranker, scale=scale, by=by, by_hand=by_hand)
    chosen = {} if left_out is None else left_out.chosen
    return Fitted(
        model,
        model.ranker_,
        Task("pairs", loaded.id_column, column_roles=loaded.column_roles),
        len(preferences),
        Settings(_fixed(model.ranker, chosen, by_hand), chosen, by_hand, LEFT_OUT[by]),
        is_scaled=scale,
        notes=notes,
        of_items=len(loaded.data.items),
        left_out=left_out,
    )


def _recognised(columns: Columns, options: FitOptions) -> Task:
    """Return what a table is for, to a ranker, which may be for one task alone."""
    kinds = tasks_of(options.ranker)
    kind = kinds[0] if len(kinds) == 1 else options.task
    if options.task is not None and options.task not in kinds:
        rule = f"be {' or '.join(map(repr, kinds))} for {options.ranker}"
        raise refusal("task", rule, repr(options.task))
    drop = options.drop or ()
    asked: dict[str, Any] = {"classes": options.classes, "drop": drop, **options.roles()}
    task = recognise(columns, task=kind, **asked)
    if task.kind == "ratings" and "ratings" not in kinds:
        return recognise(columns, task=SCORES, **asked)
    return task


def _fixed(
    ranker: Any, chosen: Mapping[str, object], by_hand: Mapping[str, object]
) -> dict[str, object]:
    """Return what `compare` gives a ranker other than its defaults, and does not choose."""
    usual = inspect.signature(type(ranker).__init__).parameters
    return {
        name: value
        for name, value in ranker.get_params(deep=False).items()
        if name not in _UNTOLD and name not in chosen and name not in by_hand
        if value != usual[name].default
    }
