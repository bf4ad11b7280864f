"""A ranker by its name, with settings as text, fitted to a table."""

import inspect
from ast import literal_eval
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Final

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from peckorder import collaborative, estimators
from peckorder._typing import Floats, Labels
from peckorder._validation import check_parameters, did_you_mean
from peckorder.compare import _column_names as words
from peckorder.compare._columns import Columns
from peckorder.compare._features import Coding, Scaling
from peckorder.compare._task import Task, recognise
from peckorder.exceptions import DataError
from peckorder.feedback import Ratings

RANKERS: Final[dict[str, Any]] = {
    name: getattr(estimators, name) for name in estimators.__all__
} | {"PersonalRanker": collaborative.PersonalRanker}
_ORDINAL: Final = ("AggregatePRank", "MulticlassPerceptron", "PRank", "WidrowHoff")


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A model, what columns were taken for, and how many rows it was fitted to."""

    model: Any
    task: Task
    n_rows: int
    is_scaled: bool = False


def make_ranker(name: str, settings: Iterable[str]) -> Any:
    """Return an unfitted ranker; settings are such as ``C=10`` or ``kernel=rbf``.

    Examples
    --------
    >>> from peckorder.compare._fitting import make_ranker
    >>> make_ranker("MPRank", ["C=10"])
    MPRank(C=10)
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
    return ranker


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
    scale: bool | None = None,
    classes: Iterable[str] | None = None,
    drop: Iterable[str] = (),
    **given: str | None,
) -> Fitted:
    """Fit a ranker to the columns that are given, or go by the usual names.

    `scale` puts features to mean 0 and deviation 1 and fills empty cells; None: unless
    the ranker is RankBoost, to which neither matters.
    """
    name = type(ranker).__name__
    named = {role: column for role, column in given.items() if column is not None}
    kind = "ratings" if name == "PersonalRanker" else "magnitude"
    if kind != "ratings" and "qid" not in named:
        others = [column for column in columns.names if column != named.get("target")]
        query = words.first_named(others, words.QUERY)
        named |= {} if query is None else {"qid": query}
    if "qid" in named:
        kind = "graded"
    if name in _ORDINAL:
        kind = "ordinal"
    task = recognise(columns, task=kind, classes=classes, drop=drop, **named)
    if task.kind == "ratings":
        model = ranker.fit(_ratings(columns, task))
        return Fitted(model, task, len(columns))
    coding = Coding.of(columns, task.features)
    told = {line.column: line for line in coding.taken}
    taken = tuple(told.get(line.column, line) for line in task.taken)
    task = replace(task, taken=taken)
    X, names = coding.matrix(columns), coding.features
    scaled = name != "RankBoost" if scale is None else scale
    if scaled:
        scaling = Scaling.learn(X)
        X, names = scaling.apply(X), scaling.names(names)
    y = _labels(columns, task)
    if task.kind == "ordinal" and classes is not None:
        ranker.set_params(classes=list(task.classes or ()))
    model = fit_rows(ranker, X, y, _query(columns, task))
    model.feature_names_in_ = np.asarray(names, dtype=object)
    return Fitted(model, task, len(columns), scaled)


def fit_rows(ranker: Any, X: Any, y: Any, qid: Labels | None) -> Any:
    """Fit a ranker, and tell it the queries if it wants to know them."""
    if qid is not None and has_fit_parameter(ranker, "qid"):
        return ranker.fit(X, y, qid=qid)
    return ranker.fit(X, y)


def _labels(columns: Columns, task: Task) -> Any:
    labels = columns.arrays[task.target]
    is_text = labels.dtype == object
    is_gap = np.array([v is None for v in labels]) if is_text else np.isnan(labels)
    if is_gap.any():
        row = int(np.argmax(is_gap))
        raise DataError(
            f"fit: column {task.target!r} of {columns.source} must be without gaps; "
            f"got an empty cell in row {row + 1}."
        )
    if task.kind != "ordinal":
        return np.asarray(labels, dtype=np.float64)
    is_whole = not is_text and (np.trunc(labels) == labels).all()
    return labels.astype(np.int64) if is_whole else labels


def _query(columns: Columns, task: Task) -> Labels | None:
    return None if task.query is None else columns.arrays[task.query]


def _ratings(columns: Columns, task: Task) -> Ratings:
    user, item = columns.arrays[str(task.user)], columns.arrays[str(task.item)]
    rating: Floats = columns.arrays[task.target].astype(np.float64)
    return Ratings(user, item, rating)
