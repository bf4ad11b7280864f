"""A ranker by its name, with settings as text, fitted to a table."""

import inspect
from ast import literal_eval
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Final

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from peckorder import collaborative, estimators
from peckorder._core.typing import Floats, Ints, Labels
from peckorder._core.validation import check_parameters, did_you_mean
from peckorder.compare.candidates.settings import (
    MOST_ROWS,
    Settings,
    chosen_of,
    entrant_of,
    fit_as_in_compare,
    fixed_settings,
    setting_of,
)
from peckorder.compare.contest.case import _keys, chosen_rows
from peckorder.compare.contest.refit import innermost, of_columns
from peckorder.tables import column_names as words
from peckorder.tables.columns import Columns
from peckorder.tables.features import Coding, Scaling
from peckorder.tables.ratings import ratings_of
from peckorder.tables.sampling import drawn
from peckorder.tables.task import Task, kind_of_labels, recognise, split_names

RANKERS: Final[dict[str, Any]] = {
    name: getattr(estimators, name)
    for name in estimators.__all__
    if name != "TableRanker"
} | {"PersonalRanker": collaborative.PersonalRanker}
_ORDINAL: Final = ("AggregatePRank", "MulticlassPerceptron", "PRank", "WidrowHoff")


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A model, what columns are for, and how many rows it was fitted to.

    `ranker` is the class that was asked for; `model` may be a `TableRanker` around it.
    `kind` is what `compare` would take the table for.
    """

    model: Any
    ranker: Any
    task: Task
    n_rows: int
    settings: Settings
    is_scaled: bool = False
    notes: tuple[str, ...] = ()
    kind: str = ""


def make_ranker(name: str, settings: Iterable[str]) -> tuple[Any, dict[str, Any]]:
    """Return an unfitted ranker, and what was set: such as ``C=10``, ``kernel=rbf``.

    Examples
    --------
    >>> from peckorder.compare.fit_by_name import make_ranker
    >>> make_ranker("MPRank", ["C=10"])
    (MPRank(C=10), {'C': 10})
    """
    if name not in RANKERS:
        lower = {known.lower(): known for known in RANKERS}
        near = [lower[word] for word in get_close_matches(name.lower(), lower)]
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise ValueError(
            f"fit: ranker must be one of {', '.join(RANKERS)}; got {name!r}.{hint}"
        )
    kind = RANKERS[name]
    known = [p for p in inspect.signature(kind.__init__).parameters if p != "self"]
    parameters = {}
    for setting in settings:
        key, is_set, value = setting.partition("=")
        if not is_set or key.strip() not in known:
            hint = did_you_mean(key.strip(), known, {})
            raise ValueError(
                f"fit: set must be NAME=VALUE, NAME one of {', '.join(known)}; got "
                f"{setting!r}.{hint}"
            )
        parameters[key.strip()] = _value(value.strip())
    ranker = kind(**parameters)
    check_parameters(ranker, kind._rules)
    return ranker, parameters


def _value(text: str) -> Any:
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
    by_hand: Mapping[str, Any] | None = None,
    scale: bool | None = None,
    classes: Iterable[str] | None = None,
    drop: Iterable[str] = (),
    **given: str | None,
) -> Fitted:
    """Fit a ranker to the columns that are given, or go by the usual names.

    The ranker has the settings that `compare` gives it, but for those in `by_hand`; if
    there are none of these, it also chooses what it chooses there. `scale` puts
    features to mean 0 and deviation 1 and fills empty cells; None: unless the ranker is
    RankBoost, to which neither matters. Rows without a label or a query are left out.
    """
    name, by_hand = type(ranker).__name__, by_hand or {}
    task = _recognised(name, columns, classes, drop, given)
    if task.kind == "ratings":
        table, notes = ratings_of(columns, task)
        settings = Settings({}, {}, by_hand)
        fitted = ranker.fit(table)
        n_rows = len(table)
        return Fitted(fitted, fitted, task, n_rows, settings, notes=notes)
    chosen = chosen_rows(columns, task, np.inf, 0, fewest=2)
    whole, notes = columns, (*columns.notes, *chosen.notes)
    columns = _some(columns, chosen.rows)
    coding = Coding.of(columns, task.features, whole)
    task = replace(task, column_roles=coding.with_roles(task.column_roles))
    X, scaling = coding.matrix(columns), None
    scaled = name != "RankBoost" if scale is None else scale
    if scaled:
        scaling = Scaling.learn(X)
        X = scaling.apply(X)
    y, qid = _labels(columns, task), _column(columns, task.query)
    people = _column(columns, task.user)
    if task.kind == "ordinal" and classes is not None:
        ranker.set_params(classes=list(task.classes or ()))
    fitted, settings = _fit(ranker, task, X, y, qid, people, by_hand)
    model = of_columns(fitted, coding.levels, scaling)
    kind = kind_of_labels(columns.arrays[task.target], task.query, task.classes)
    return Fitted(model, fitted, task, len(columns), settings, scaled, notes, kind)


def _recognised(
    name: str,
    columns: Columns,
    classes: Iterable[str] | None,
    drop: Iterable[str],
    given: Mapping[str, str | None],
) -> Task:
    """Say what a table is for, to a ranker."""
    named = {role: column for role, column in given.items() if column is not None}
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
    roles = (
        role._replace(why="its name") if role.column == by_name else role
        for role in task.column_roles
    )
    return replace(task, column_roles=tuple(roles))


def _fit(
    ranker: Any,
    task: Task,
    X: Floats,
    y: Any,
    qid: Labels | None,
    people: Labels | None,
    by_hand: Mapping[str, Any],
) -> tuple[Any, Settings]:
    """Fit with the settings of `compare`, or those by hand."""
    entrant = entrant_of(type(ranker).__name__, task.kind)
    if entrant is None:
        return fit_rows(ranker, X, y, qid), Settings({}, {}, by_hand)
    setting = setting_of(task.kind, X.shape[1], seed=0)
    fixed = set_as_in_compare(ranker, task.kind, by_hand)
    if by_hand or task.kind == "ordinal":
        return fit_rows(ranker, X, y, qid), Settings(fixed, {}, by_hand)
    query = _numbers(qid)
    groups = query if people is None else _numbers(people)
    if type(ranker).__name__ == "RankBoost" and len(y) > MOST_ROWS:
        rows = drawn(len(y), groups, MOST_ROWS, seed=0)
        some = None if query is None else query[rows]
        inside = None if groups is None else groups[rows]
        sample = fit_as_in_compare(entrant, setting, X[rows], y[rows], some, inside)
        chosen = chosen_of(sample)
        ranker.set_params(**chosen)
        return fit_rows(ranker, X, y, qid), Settings(fixed, chosen, {})
    model = fit_as_in_compare(entrant, setting, X, y, query, groups)
    return innermost(model), Settings(fixed, chosen_of(model), {})


def set_as_in_compare(
    ranker: Any, kind: str, by_hand: Mapping[str, Any]
) -> dict[str, Any]:
    """Give a ranker the fixed settings that `compare` gives it; return these."""
    name = type(ranker).__name__
    entrant = entrant_of(name, "ordinal" if name in _ORDINAL else kind)
    if entrant is None:
        return {}
    # None of them depends on the number of features.
    every = fixed_settings(entrant, setting_of(kind, n_features=1, seed=0))
    fixed = {name: value for name, value in every.items() if name not in by_hand}
    ranker.set_params(**fixed)
    return fixed


def fit_rows(ranker: Any, X: Any, y: Any, qid: Labels | None) -> Any:
    """Fit a ranker, and tell it the queries if it wants to know them."""
    if qid is not None and has_fit_parameter(ranker, "qid"):
        return ranker.fit(X, y, qid=qid)
    return ranker.fit(X, y)


def _labels(columns: Columns, task: Task) -> Any:
    labels = columns.arrays[task.target]
    is_text = labels.dtype == object
    if task.kind != "ordinal":
        return np.asarray(labels, dtype=np.float64)
    is_whole = not is_text and (np.trunc(labels) == labels).all()
    return labels.astype(np.int64) if is_whole else labels


def _column(columns: Columns, name: str | None) -> Labels | None:
    return None if name is None else columns.arrays[name]


def _numbers(labels: Any) -> Ints | None:
    """Return the number of each label."""
    return None if labels is None else np.unique(_keys(labels), return_inverse=True)[1]


def _some(columns: Columns, rows: Ints) -> Columns:
    if len(rows) == len(columns):
        return columns
    return Columns({n: a[rows] for n, a in columns.arrays.items()}, columns.source)
