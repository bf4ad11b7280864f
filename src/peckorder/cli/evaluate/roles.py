"""What columns of a scored table are: targets, scores, classes, queries."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from peckorder._core.errors import refusal
from peckorder.tables import column_names as words
from peckorder.tables.columns import Columns, check_column, listed
from peckorder.tables.roles import ColumnRole, Role

_SCORES: Final = ("score", "scores", "y_score", "prediction", "pred", "y_pred")
_CLASSES: Final = ("predicted", "predicted_class")
# What `rank` adds beside.
_ADDED: Final = ("position", "gap", "above_cut")
TARGETS: Final = words.TARGET | {"y_true"}
# For --qid: all rows are one list, whatever columns are called.
NONE: Final = "none"


class Roles(NamedTuple):
    """Columns by what they are for; `column_roles` for reports."""

    target: str
    score: str | None
    predicted: str | None
    query: str | None
    column_roles: tuple[ColumnRole, ...]


def find_roles(columns: Columns, given: Mapping[str, str | None]) -> Roles:
    """Find targets, scores, classes and queries, as given or by their names.

    Targets and queries have the names by which `compare` knows them; people are
    queries, too, since each has a list.

    Examples
    --------
    >>> import numpy as np
    >>> from peckorder.cli.evaluate.roles import find_roles
    >>> from peckorder.tables.columns import Columns
    >>> names = ("customer", "stars", "score", "position")
    >>> table = Columns({name: np.arange(2) for name in names}, "ranked.csv")
    >>> find_roles(table, {})[:4]
    ('stars', 'score', None, 'customer')
    """
    named = {role: name for role, name in given.items() if name is not None}
    if named.get("qid") == NONE and NONE not in columns.names:
        named["qid"] = ""
    for role, name in named.items():
        if name:
            check_column(columns, role, name)
    small = {words.plain(name): name for name in reversed(columns.names)}
    free = [name for name in columns.names if name not in named.values()]
    others = {word: name for word, name in small.items() if name in free}
    predicted = named.get("predicted") or _first(others, _CLASSES)
    score = named.get("score") or _first(others, _SCORES)
    if score is None and predicted is not None and "predicted" not in named:
        # Numbers are scores, too.
        is_text = columns.arrays[predicted].dtype.kind not in "iuf"
        score = None if is_text else predicted
    left = [name for name in free if name not in (score, predicted, *_ADDED)]
    target = named.get("target") or words.first_named(left, TARGETS)
    if target is None and set(columns.names) >= {"qid", "docid", "score"}:
        raise refusal(
            "qrels",
            "be given, by --qrels FILE, to measure a run (or targets, by --target NAME)",
            f"{columns.source} alone",
        )
    if target is None:
        raise refusal(
            columns.source,
            f"have a column of targets, which has {listed(columns.names)}",
            "none by its usual names",
            hint="Add --target NAME.",
        )
    left = [name for name in left if name != target]
    query = named.get("qid")
    if query is None:
        query = words.first_named(left, words.QUERY)
        query = query or words.first_named(left, words.USER)
    columns_by_role = {
        "target": target,
        "score": score,
        "predicted": None if predicted == score else predicted,
        "qid": query or None,
    }
    roles = {
        "target": Role.KNOWN_TARGET,
        "score": Role.SCORE,
        "predicted": Role.PREDICTED,
        "qid": Role.QUERY,
    }
    column_roles = [
        ColumnRole(name, roles[role], f"--{role}" if role in named else "its name")
        for role, name in columns_by_role.items()
        if name is not None
    ]
    return Roles(target, score, predicted, query or None, tuple(column_roles))


def _first(names: Mapping[str, str], usual: tuple[str, ...]) -> str | None:
    return next((names[word] for word in usual if word in names), None)
