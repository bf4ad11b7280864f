"""A ranker by its name, with settings as text, fitted to a table."""

import inspect
import warnings
from ast import literal_eval
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Final, NamedTuple

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from peckorder import collaborative, estimators
from peckorder._core.errors import named, refusal
from peckorder._core.typing import Array, Floats, Ints, Labels, MatrixLike
from peckorder._core.validation import check_parameters, did_you_mean
from peckorder.compare.candidates import (
    Candidate,
    TaskInfo,
    TrainingRows,
    graded_candidates,
    magnitude_candidates,
    ordinal_candidates,
)
from peckorder.compare.refit import table_model
from peckorder.compare.table_case import MOST_ROWS, group_keys, select_rows
from peckorder.compare.tuning import (
    SampledMPRank,
    Wrapper,
    chosen_settings,
    innermost,
    list_loss,
    pair_loss,
    rows_of,
)
from peckorder.tables import column_names as words
from peckorder.tables.columns import Columns, drawn
from peckorder.tables.features import Coding, Scaling
from peckorder.tables.task import Task, kind_of_labels, ratings_of, recognise, split_names

RANKERS: Final[dict[str, Any]] = {
    name: getattr(estimators, name) for name in estimators.__all__ if name != "TableRanker"
} | {"PersonalRanker": collaborative.PersonalRanker}
_ORDINAL: Final = ("AggregatePRank", "MulticlassPerceptron", "PRank", "WidrowHoff")
_NAMES_IN_COMPARE: Final = {"AggregatePRank": "OAP-BPM (100 PRanks)"}
_CANDIDATES: Final = {
    "ordinal": ordinal_candidates,
    "graded": graded_candidates,
    "magnitude": magnitude_candidates,
}


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


def make_ranker(name: str, settings: Iterable[str]) -> tuple[Any, dict[str, object]]:
    """Return an unfitted ranker, and what was set: such as ``C=10``, ``kernel=rbf``.

    Examples
    --------
    >>> from peckorder.compare.fit_by_name import make_ranker
    >>> make_ranker("MPRank", ["C=10"])
    (MPRank(C=10), {'C': 10})
    """
    if name not in RANKERS:
        lower = {ranker.lower(): ranker for ranker in RANKERS}
        near = [lower[word] for word in get_close_matches(name.lower(), lower)]
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
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


def fit_table(
    ranker: Any,
    columns: Columns,
    *,
    by_hand: Mapping[str, object] | None = None,
    scale: bool | None = None,
    classes: Iterable[str] | None = None,
    drop: Iterable[str] = (),
    **roles: str | None,
) -> Fitted:
    """Fit a ranker to the columns that are given, or go by the usual names.

    The ranker has the settings that `compare` gives it, but for those in `by_hand`; if
    there are none of these, it also chooses what it chooses there. `scale` puts
    features to mean 0 and deviation 1 and fills empty cells; None: unless the ranker is
    RankBoost, to which neither matters. Rows without a label or a query are left out.
    """
    name, by_hand = type(ranker).__name__, by_hand or {}
    task = _recognised(name, columns, classes, drop, roles)
    if task.kind == "ratings":
        ratings, notes = ratings_of(columns, task)
        model = ranker.fit(ratings)
        settings = Settings({}, {}, by_hand)
        return Fitted(model, model, task, len(ratings), settings, notes=notes)
    selected = select_rows(columns, task, np.inf, 0, fewest=2)
    whole, columns = columns, selected.columns
    coding = Coding.of(columns, task.features, whole)
    task = replace(task, column_roles=coding.with_roles(task.column_roles))
    X, scaling = coding.matrix(columns), None
    scaled = name != "RankBoost" if scale is None else scale
    if scaled:
        scaling = Scaling.learn(X)
        X = scaling.apply(X)
    if task.kind == "ordinal" and classes is not None:
        ranker.set_params(classes=list(task.classes or ()))
    qid = None if task.query is None else columns.arrays[task.query]
    people = None if task.user is None else columns.arrays[task.user]
    rows = _Rows(X, _labels(columns, task), qid, people)
    fitted, settings = _fit(ranker, task.kind, rows, by_hand)
    model = table_model(fitted, coding.levels, scaling)
    kind = kind_of_labels(columns.arrays[task.target], task.query, task.classes)
    notes = selected.notes
    return Fitted(model, fitted, task, len(columns), settings, scaled, notes, kind)


def _recognised(
    name: str,
    columns: Columns,
    classes: Iterable[str] | None,
    drop: Iterable[str],
    roles: Mapping[str, str | None],
) -> Task:
    """Return what a table is for, to a ranker."""
    named = {role: column for role, column in roles.items() if column is not None}
    kind = "ratings" if name == "PersonalRanker" else "magnitude"
    by_name: str | None = None
    if kind != "ratings" and "qid" not in named:
        left_out = {*split_names(drop, columns.names), *named.values()}
        others = [column for column in columns.names if column not in left_out]
        by_name = words.first_named(others, words.QUERY)
        named |= {} if by_name is None else {"qid": by_name}
    if "qid" in named:
        kind = "graded"
    if name in _ORDINAL:
        kind = "ordinal"
    task = recognise(columns, task=kind, classes=classes, drop=drop, **named)
    column_roles = (
        role._replace(why="its name") if role.column == by_name else role
        for role in task.column_roles
    )
    return replace(task, column_roles=tuple(column_roles))


class _Rows(NamedTuple):
    X: Floats
    y: Labels
    qid: Labels | None
    people: Labels | None


def _fit(
    ranker: Any, kind: str, rows: _Rows, by_hand: Mapping[str, object]
) -> tuple[Any, Settings]:
    """Fit with the settings of `compare`, or those by hand."""
    X, y, qid, people = rows
    candidate = candidate_of(type(ranker).__name__, kind)
    if candidate is None:
        return fit_rows(ranker, X, y, qid), Settings({}, {}, by_hand)
    fixed = set_as_in_compare(ranker, kind, by_hand)
    if by_hand or kind == "ordinal":
        return fit_rows(ranker, X, y, qid), Settings(fixed, {}, by_hand)
    query = _numbered(qid)
    groups = query if people is None else _numbered(people)
    is_sample = type(ranker).__name__ == "RankBoost" and len(y) > MOST_ROWS
    train = TrainingRows(X, y, query, groups)
    if is_sample:
        sample = drawn(len(y), groups, MOST_ROWS, seed=0)
        train = TrainingRows(X[sample], y[sample], rows_of(query, sample), rows_of(groups, sample))
    with warnings.catch_warnings():
        # Of fits on parts of the rows.
        warnings.simplefilter("ignore")
        # The rows are prepared already.
        prepared = replace(candidate, scaled=False)
        model = prepared.fit(task_info(kind, X.shape[1]), train).model
    chosen = chosen_settings(model)
    if is_sample:
        ranker.set_params(**chosen)
        return fit_rows(ranker, X, y, qid), Settings(fixed, chosen, {})
    return innermost(model), Settings(fixed, chosen, {})


def candidate_of(name: str, kind: str) -> Candidate | None:
    """Return the candidate of `compare` for the name of a class, if there is one."""
    title = _NAMES_IN_COMPARE.get(name, name)
    ours = (c for c in _CANDIDATES[kind]() if c.origin == "peckorder")
    return next((candidate for candidate in ours if candidate.name == title), None)


def task_info(kind: str, n_features: int) -> TaskInfo:
    """Return what a candidate is made for."""
    loss = list_loss("ndcg@10") if kind == "graded" else pair_loss
    return TaskInfo(0, n_features, loss=loss)


def fixed_settings(candidate: Candidate, info: TaskInfo) -> dict[str, object]:
    """Return the parameters that are neither the class's defaults nor chosen.

    Examples
    --------
    >>> from peckorder.compare.fit_by_name import candidate_of, fixed_settings
    >>> from peckorder.compare.fit_by_name import task_info
    >>> fixed_settings(candidate_of("PRank", "ordinal"), task_info("ordinal", 2))
    {'max_iter': 10, 'random_state': 0, 'shuffle': True, 'unit_norm': False}
    """
    model = candidate.make(info)
    while isinstance(model, Wrapper):
        if isinstance(model, SampledMPRank):
            return {}
        model = model.model
    defaults = type(model)().get_params(deep=False)
    given = model.get_params(deep=False)
    return {
        name: value
        for name, value in given.items()
        if name != "classes" and value != defaults[name]
    }


def set_as_in_compare(ranker: Any, kind: str, by_hand: Mapping[str, object]) -> dict[str, object]:
    """Give a ranker the fixed settings that `compare` gives it; return these."""
    name = type(ranker).__name__
    candidate = candidate_of(name, "ordinal" if name in _ORDINAL else kind)
    if candidate is None:
        return {}
    # None of them depends on the number of features.
    every = fixed_settings(candidate, task_info(kind, n_features=1))
    fixed = {name: value for name, value in every.items() if name not in by_hand}
    ranker.set_params(**fixed)
    return fixed


def fit_rows(ranker: Any, X: MatrixLike, y: Labels, qid: Labels | None) -> Any:
    """Fit a ranker, with the queries if it takes them."""
    if qid is not None and has_fit_parameter(ranker, "qid"):
        return ranker.fit(X, y, qid=qid)
    return ranker.fit(X, y)


def _labels(columns: Columns, task: Task) -> Labels:
    labels = columns.arrays[task.target]
    if task.kind != "ordinal":
        return np.asarray(labels, dtype=np.float64)
    is_whole = labels.dtype != object and (np.trunc(labels) == labels).all()
    return labels.astype(np.int64) if is_whole else labels


def _numbered(ids: Array | None) -> Ints | None:
    """Return the number of each id."""
    if ids is None:
        return None
    return np.unique(group_keys(ids), return_inverse=True)[1]
