"""Which columns of a table are targets, scores, classes and queries, for `evaluate`."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from peckorder._core import column_names as words
from peckorder._core.errors import refusal
from peckorder.tables.columns import Columns, check_column, listed, numeric
from peckorder.tables.roles import (
    AS_LEARNT,
    ColumnRole,
    Role,
    find_people,
    find_query,
    find_target,
    given_columns,
)

SCORES: Final = ("score", "scores", "y_score", "prediction", "pred", "y_pred")
_CLASSES: Final = ("predicted", "predicted_class")
# What `rank` adds beside scores and classes.
PLACES: Final = ("position", "gap", "above_cut")


class Roles(NamedTuple):
    """Columns by what they are for; `column_roles` for reports."""

    target: str
    score: str | None
    predicted: str | None
    query: str | None
    column_roles: tuple[ColumnRole, ...]
    notes: tuple[str, ...] = ()


def missing_column(columns: Columns, what: str, metric: str | None = None) -> Exception:
    """Return the refusal of a table without a column."""
    wanted = f"have a column of the {what}" + (f" for {metric!r}" if metric else "")
    return refusal(
        columns.source,
        f"{wanted}, which has {listed(columns.names)}",
        "none by its usual names",
        hint=f"Add --{what} NAME.",
    )


def find_roles(
    columns: Columns,
    given: Mapping[str, str | None],
    known: Mapping[str, str] = MappingProxyType({}),
) -> Roles:
    """Find targets, scores, classes and queries, as given or by their names.

    `known` are those that a model knows by name. Targets and queries have the names by
    which `compare` knows them; people are queries, too, since each has a list. In what
    `rank` wrote the target may also be the only column of numbers left.

    Examples
    --------
    >>> import numpy as np
    >>> from peckorder.cli.evaluate.roles import find_roles
    >>> from peckorder.tables.columns import Columns
    >>> names = ("customer", "stars", "score", "position")
    >>> table = Columns({name: np.arange(4) // 2 for name in names}, "ranked.csv")
    >>> find_roles(table, {})[:4]
    ('stars', 'score', None, 'customer')
    """
    every = given_columns(columns, given)
    unset = {role for role, name in every.items() if name is None}
    learnt = {
        role: name
        for role, name in known.items()
        if role not in every and (role == "target" or name in columns.names)
    }
    for role, name in learnt.items():
        check_column(columns, role, name)
    named = {role: name for role, name in every.items() if name is not None} | learnt
    free = [name for name in columns.names if name not in named.values()]
    by_name = {words.plain(name): name for name in reversed(free)}
    predicted = named.get("predicted")
    if predicted is None and "predicted" not in unset:
        predicted = first_of(by_name, _CLASSES)
    score = named.get("score")
    if score is None and "score" not in unset:
        score = first_of(by_name, SCORES)
        if score is None and predicted is not None and "predicted" not in named:
            # Numbers are scores, too.
            is_text = columns.arrays[predicted].dtype.kind not in "iuf"
            score = None if is_text else predicted
    left = [name for name in free if name not in (score, predicted, *PLACES)]
    target, notes, only = named.get("target"), tuple[str, ...](), None
    query: str | None = None
    if target is None and "target" not in unset:
        target, notes = find_target(columns, left, may_drop=False)
        only = _only_numbers(columns, left) if target is None else None
        target = target or only
        if target is None and score is not None and len(left) > 2 and words.are_unnamed(left):
            # Ratings without names: person, item, rating.
            target, query = left[2], left[0]
            notes += (f"{target!r} was taken for ratings, {query!r} for people, by their place.",)
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
            hint="Add --target NAME, or --model FILE, which knows it.",
        )
    left = [name for name in left if name != target]
    query = named.get("qid") or query
    if query is None and "qid" not in unset:
        query = find_query(columns, left, has_lists=True).column
        query = query or find_people(columns, left)
    found = (
        ("target", target, Role.KNOWN_TARGET),
        ("score", score, Role.SCORE),
        ("predicted", None if predicted == score else predicted, Role.PREDICTED),
        ("qid", query, Role.QUERY),
    )
    reasons = {option: f"--{option}" for option in named}
    reasons |= dict.fromkeys(learnt, AS_LEARNT)
    if only is not None:
        reasons["target"] = "the only numbers beside what rank writes"
    column_roles = tuple(
        ColumnRole(name, role, reasons.get(option, "its name"))
        for option, name, role in found
        if name is not None
    )
    return Roles(target, score, predicted, query, column_roles, notes)


def _only_numbers(columns: Columns, left: Sequence[str]) -> str | None:
    """Return the one column of numbers that is no id, in what `rank` wrote."""
    if not {"score", *PLACES} <= set(columns.names):
        return None
    ids = words.QUERY | words.USER | words.ITEM | words.CODE | words.ID
    numbers = [n for n in left if numeric(columns.arrays[n]) and not words.first_named([n], ids)]
    return numbers[0] if len(numbers) == 1 else None


def first_of(names: Mapping[str, str], usual: tuple[str, ...]) -> str | None:
    """Return the column of the first usual name that there is."""
    return next((names[word] for word in usual if word in names), None)
