"""The work of `peckorder fit`: a ranker by its name, fitted to a file as `compare` fits it."""

import inspect
import warnings
from ast import literal_eval
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from peckorder import collaborative, estimators
from peckorder._core.errors import named, refusal
from peckorder._core.typing import Floats, Labels
from peckorder._core.validation import check_parameters, did_you_mean
from peckorder.cli.models import no_classes, remember_columns
from peckorder.cli.options import FitOptions, OutputOptions, ids_of, roles_of, separate_columns
from peckorder.cli.outputs import ResultPrinter, role_lines, roles_as_json
from peckorder.collaborative import PersonalRanker
from peckorder.compare.candidates import CANDIDATES, Candidate, TaskInfo, TrainingRows
from peckorder.compare.refit import table_model
from peckorder.compare.table_case import (
    MOST_ROWS,
    leak_notes,
    numbered,
    numeric_labels,
    select_rows,
)
from peckorder.compare.tuning import (
    SampledMPRank,
    Wrapper,
    chosen_settings,
    fit_model,
    innermost,
    list_loss,
    pair_loss,
    rows_of,
)
from peckorder.datasets import Documents
from peckorder.tables.columns import Columns, counted, drawn
from peckorder.tables.features import Coding, Scaling
from peckorder.tables.files.paths import name_of
from peckorder.tables.files.read import read_table
from peckorder.tables.files.trec import QID, TARGET, whole_numbers
from peckorder.tables.roles import is_unset
from peckorder.tables.task import SCORES, Task, kind_of_labels, ratings_of, recognise

RANKERS: Final[dict[str, Any]] = {
    name: getattr(estimators, name) for name in estimators.__all__ if name != "TableRanker"
} | {"PersonalRanker": collaborative.PersonalRanker}
_ORDINAL: Final = ("AggregatePRank", "MulticlassPerceptron", "PRank", "WidrowHoff")
_NAMES_IN_COMPARE: Final = {"AggregatePRank": "OAP-BPM (100 PRanks)"}


class Settings(NamedTuple):
    """Parameters: those that `compare` gives, those chosen, those set by hand."""

    as_in_compare: Mapping[str, object]
    chosen: Mapping[str, object]
    by_hand: Mapping[str, object]

    def sentence(self) -> str:
        """Describe them in a sentence."""
        parts = [
            (self.as_in_compare, "as in compare"),
            (self.chosen, "chosen on rows left out"),
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

    `ranker` is of the class that was named; `model` may be a `TableRanker` around it.
    `kind` is the task that `compare` would recognise in the table.
    """

    model: Any
    ranker: Any
    task: Task
    n_rows: int
    settings: Settings
    is_scaled: bool = False
    notes: tuple[str, ...] = ()
    kind: str = ""


def run_fit(file: str, options: FitOptions, output: OutputOptions) -> None:
    """Fit a ranker to a file; write the model, with the names of its features."""
    printer = ResultPrinter(output)
    ranker, by_hand = make_ranker(options.ranker, options.set_ or ())
    with printer.progress(f"Fitting {options.ranker}"):
        names = separate_columns(options.columns)
        source = read_table(file, format=options.format, ids=ids_of(options), names=names)
        if isinstance(source, Documents):
            fitted = _fit_sparse(ranker, by_hand, source, options)
        else:
            fitted = _fit_table(ranker, by_hand, source, options)
        remember_columns(fitted.model, fitted.task.column_roles)
        fitted.model.save(options.out)
    model, learnt = fitted.model, fitted.ranker
    features = getattr(model, "prepared_names_", getattr(model, "feature_names_in_", ()))
    n_features = getattr(learnt, "n_features_in_", None)
    limits = list(filter(None, [no_classes(model, fitted.kind)]))
    lines = role_lines(fitted.task.column_roles)
    if n_features is not None:
        # They are counted, not listed.
        scaled = ", scaled to mean 0 and deviation 1" if fitted.is_scaled else ""
        lines.append(f"{counted(n_features, 'feature', 'features')}{scaled}")
    printer.emit(
        {
            "file": name_of(file),
            "rows": fitted.n_rows,
            "model": str(options.out),
            "class": type(learnt).__name__,
            "parameters": learnt.get_params(deep=False),
            "settings": fitted.settings._asdict(),
            "taken": roles_as_json(fitted.task.column_roles),
            "features": list(features) or n_features,
            "scaled": fitted.is_scaled,
            "notes": [*fitted.notes, *limits],
        },
        *lines,
        *fitted.notes,
        fitted.settings.sentence(),
        f"{options.ranker}: fitted to {counted(fitted.n_rows, 'row', 'rows')}, in {options.out}",
        *limits,
    )


def make_ranker(name: str, settings: Iterable[str]) -> tuple[Any, dict[str, object]]:
    """Return an unfitted ranker, and what was set: such as ``C=10``, ``kernel=rbf``.

    Examples
    --------
    >>> from peckorder.cli.fit import make_ranker
    >>> make_ranker("MPRank", ["C=10"])
    (MPRank(C=10), {'C': 10})
    """
    if name not in RANKERS:
        hint = did_you_mean(name, RANKERS, {})
        raise refusal("ranker", f"be one of {', '.join(RANKERS)}", repr(name), hint=hint)
    ranker_class = RANKERS[name]
    signature = inspect.signature(ranker_class.__init__)
    names = [parameter for parameter in signature.parameters if parameter != "self"]
    parameters = {}
    for setting in settings:
        key, is_set, value = setting.partition("=")
        if not is_set or key.strip() not in names:
            hint = did_you_mean(key.strip(), names, {})
            raise refusal(
                "set", f"be NAME=VALUE, NAME one of {', '.join(names)}", repr(setting), hint=hint
            )
        parameters[key.strip()] = _value(value.strip())
    ranker = ranker_class(**parameters)
    with named(name):
        check_parameters(ranker, ranker_class._rules)
    return ranker, parameters


def _value(text: str) -> object:
    """Read a value: of Python if it is one, else as text."""
    lower = {"true": True, "false": False, "none": None}
    if text.lower() in lower:
        return lower[text.lower()]
    try:
        return literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _fit_sparse(
    ranker: Any, by_hand: Mapping[str, object], documents: Documents, options: FitOptions
) -> Fitted:
    """Fit to a LETOR file with few features per row: as they are, by their numbers.

    Nothing is chosen on rows left out there.
    """
    if isinstance(ranker, PersonalRanker):
        raise refusal("PersonalRanker", "have a table of ratings", "LETOR")
    X, y, qid = documents
    query = None if qid is None else QID
    own = {"target": TARGET, "qid": query}
    if is_unset(options.qid, (TARGET, QID)):
        qid, own["qid"] = None, options.qid
    for name in (*roles_of(options), "drop", "category", "keep", "classes", "scale"):
        value = getattr(options, name)
        if value and value != own.get(name):
            raise refusal(
                name, "not be asked for where most features of a LETOR file are absent", f"--{name}"
            )
    task = Task("graded", TARGET, None if qid is None else QID)
    candidate = _candidate_of(ranker, task.kind)
    fixed = _set_as_in_compare(ranker, candidate, task.kind, by_hand)
    fitted = fit_model(ranker, X, whole_numbers(y), qid)
    return Fitted(fitted, fitted, task, len(y), Settings(fixed, {}, by_hand))


def _fit_table(
    ranker: Any, by_hand: Mapping[str, object], columns: Columns, options: FitOptions
) -> Fitted:
    """Fit a ranker to the columns that are given, or go by the usual names.

    The ranker has the settings that `compare` gives it, but for those in `by_hand`; if
    there are none of these, it also chooses what it chooses there. Features are put to
    mean 0 and deviation 1, which fills empty cells; by default not for RankBoost, to
    which neither matters. Rows without a label or a query are left out.
    """
    name = type(ranker).__name__
    task = _recognised(name, columns, options)
    if task.kind == "ratings":
        ratings, notes = ratings_of(columns, task)
        model = ranker.fit(ratings)
        settings = Settings({}, {}, by_hand)
        return Fitted(model, model, task, len(ratings), settings, notes=notes)
    selected = select_rows(columns, task, np.inf, 0, fewest=2)
    whole, columns = columns, selected.columns
    coding = Coding.of(
        columns, task.features, whole, category=options.category or (), keep=options.keep or ()
    )
    task = replace(task, column_roles=coding.with_roles(task.column_roles))
    X, scaling = coding.matrix(columns), None
    labels = columns.arrays[task.target]
    y = numeric_labels(labels, task.classes)
    query, people = numbered(columns, task.query), numbered(columns, task.user)
    notes = (*selected.notes, *coding.notes, *leak_notes(coding, X, y, task.target, query))
    coding, X = coding.with_codes(X, y, query, people)
    is_scaled = name != "RankBoost" if options.scale is None else options.scale
    if is_scaled:
        scaling = Scaling.learn(X)
        X = scaling.apply(X)
    if task.kind == "ordinal" and (options.classes is not None or labels.dtype == object):
        ranker.set_params(classes=list(task.classes or ()))
    fitted, settings = _fit_rows(ranker, by_hand, X, columns, task)
    model = table_model(fitted, coding.coders, scaling)
    kind = kind_of_labels(labels, task.query, task.classes)
    return Fitted(model, fitted, task, len(columns), settings, is_scaled, notes, kind)


def _recognised(name: str, columns: Columns, options: FitOptions) -> Task:
    """Return what a table is for, to a ranker."""
    kind: str | tuple[str, str] = "ordinal" if name in _ORDINAL else SCORES
    if name == "PersonalRanker":
        kind = "ratings"
    drop = options.drop or ()
    return recognise(columns, task=kind, classes=options.classes, drop=drop, **roles_of(options))


def _fit_rows(
    ranker: Any, by_hand: Mapping[str, object], X: Floats, columns: Columns, task: Task
) -> tuple[Any, Settings]:
    """Fit with the settings of `compare`, or those by hand."""
    kind, y = task.kind, _labels(columns, task)
    qid = None if task.query is None else columns.arrays[task.query]
    candidate = _candidate_of(ranker, kind)
    fixed = _set_as_in_compare(ranker, candidate, kind, by_hand)
    if candidate is None or by_hand or kind == "ordinal":
        return fit_model(ranker, X, y, qid), Settings(fixed, {}, by_hand)
    query, people = numbered(columns, task.query), numbered(columns, task.user)
    groups = query if people is None else people
    sample: Any = slice(None)
    is_sample = type(ranker).__name__ == "RankBoost" and len(y) > MOST_ROWS
    if is_sample:
        sample = drawn(len(y), groups, MOST_ROWS, seed=0)
    train = TrainingRows(X[sample], y[sample], rows_of(query, sample), rows_of(groups, sample))
    with warnings.catch_warnings():
        # Of fits on parts of the rows.
        warnings.simplefilter("ignore")
        # The rows are prepared already.
        prepared = replace(candidate, scaled=False)
        model = prepared.fit(_task_info(kind, X.shape[1]), train).model
    chosen = chosen_settings(model)
    if is_sample:
        ranker.set_params(**chosen)
        return fit_model(ranker, X, y, qid), Settings(fixed, chosen, {})
    return innermost(model), Settings(fixed, chosen, {})


def _labels(columns: Columns, task: Task) -> Labels:
    labels = columns.arrays[task.target]
    if task.kind != "ordinal":
        return np.asarray(labels, dtype=np.float64)
    is_whole = labels.dtype != object and (np.trunc(labels) == labels).all()
    return labels.astype(np.int64) if is_whole else labels


def _candidate_of(ranker: Any, kind: str) -> Candidate | None:
    """Return the candidate of `compare` that is of the class of a ranker, if there is one."""
    name = type(ranker).__name__
    title = _NAMES_IN_COMPARE.get(name, name)
    candidates = CANDIDATES["ordinal" if name in _ORDINAL else kind]()
    ours = (c for c in candidates if c.origin == "peckorder" and c.name == title)
    return next(ours, None)


def _task_info(kind: str, n_features: int) -> TaskInfo:
    """Return what a candidate is made for."""
    loss = list_loss("ndcg@10") if kind == "graded" else pair_loss
    return TaskInfo(0, n_features, loss=loss)


def _set_as_in_compare(
    ranker: Any, candidate: Candidate | None, kind: str, by_hand: Mapping[str, object]
) -> dict[str, object]:
    """Give a ranker what its candidate neither leaves at its default nor chooses."""
    if candidate is None:
        return {}
    # Nothing of it depends on the number of features.
    model = candidate.make(_task_info(kind, n_features=1))
    while isinstance(model, Wrapper):
        if isinstance(model, SampledMPRank):
            return {}
        model = model.model
    defaults = type(model)().get_params(deep=False)
    fixed = {
        name: value
        for name, value in model.get_params(deep=False).items()
        if name != "classes" and value != defaults[name] and name not in by_hand
    }
    ranker.set_params(**fixed)
    return fixed
