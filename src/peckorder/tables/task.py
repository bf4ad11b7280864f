"""What is to be learnt from a table: recognised by its columns, or as the user says."""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from peckorder._core import column_names as words
from peckorder._core.errors import refusal
from peckorder._core.typing import Array, Bools
from peckorder._core.validation import one_of, optional
from peckorder.feedback import Ratings
from peckorder.tables.columns import (
    Columns,
    check_column,
    counted,
    distinct,
    is_empty,
    is_whole,
    numeric,
    short,
    split_names,
)
from peckorder.tables.roles import ColumnRole, Role, find_query, find_target, given_columns
from peckorder.tables.text_cells import amount_notes, order_of_words, slip_among, with_amounts

TASKS: Final = ("ordinal", "magnitude", "graded", "ratings")
# What rankers of scores learn: grades if there are queries, else magnitudes.
SCORES: Final = ("graded", "magnitude")
MOST_CLASSES: Final = 12
MOST_GRADES: Final = 31
_TASK = optional(one_of(*TASKS, aliases={"real": "magnitude", "ranking": "graded"}))


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What is to be learnt, from which columns.

    `kind` is one of `TASKS`. `target` is what is to be predicted (of ratings, the
    rating); `query` and, of ratings, `user` and `item` may be columns too; without a
    query, `user` is the column of people whose rows are not divided. `features` are the
    others that may be learnt from. `classes` are the ordered labels of an ordinal
    task, lowest first. `column_roles` has the role of every column; `notes` are
    sentences about what was guessed. `has_amounts`: the target is numbers in text, see
    `with_amounts`.
    """

    kind: str
    target: str
    query: str | None = None
    user: str | None = None
    item: str | None = None
    features: tuple[str, ...] = ()
    classes: tuple[Hashable, ...] | None = None
    column_roles: tuple[ColumnRole, ...] = ()
    notes: tuple[str, ...] = ()
    has_amounts: bool = False


def recognise(
    columns: Columns,
    *,
    task: str | tuple[str, str] | None = None,
    target: str | None = None,
    qid: str | None = None,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    drop: Iterable[str] = (),
    classes: Iterable[str] | None = None,
) -> Task:
    """Return what is to be learnt from a table.

    `task` None: ratings, if it has columns of users, items and ratings; graded, if it
    has one of queries and a target of few grades; ordinal, if the target is of few
    whole numbers or `classes` are given; else magnitude. `SCORES`: graded if there are
    queries, else magnitude. `target`, `qid`, `user`, `item` and `rating` are names of
    columns, "none" for no column; None looks for the usual names, and for a target at
    the last column if none has one. Users are people whose rows are not
    divided where there are neither ratings nor queries; items and ratings are for
    ratings only. `drop` are columns to leave out; `classes` the labels in order, lowest
    first, needed where they are text.
    """
    if task != SCORES:
        _TASK.check("task", task)
    if not len(columns):
        raise refusal(columns.source, "have rows", "none")
    options = {"target": target, "qid": qid, "user": user, "item": item, "rating": rating}
    every = given_columns(columns, options)
    given = {role: column for role, column in every.items() if column is not None}
    unset = every.keys() - given
    if "target" in unset:
        raise refusal("target", "be the column to predict", repr(target))
    dropped = tuple(split_names(drop, columns.names))
    for column in dropped:
        check_column(columns, "drop", column)
    left = [name for name in columns.names if name not in dropped]
    table = replace(columns, arrays={name: columns.arrays[name] for name in left})
    _check_apart(given, dropped)
    if task == "ratings" or (task is None and not {"target", "qid"} & set(given)):
        found = _ratings(table, given, unset, must=task == "ratings")
        if found is not None:
            _check_alone(given, "qid", "where there are no ratings")
            return _with_roles(columns, found, given, dropped)
    for role in ("item", "rating"):
        _check_alone(given, role, "for ratings (--task ratings)")
    return _with_roles(columns, _rows(table, task, given, unset, classes), given, dropped)


def _check_apart(given: Mapping[str, str], dropped: tuple[str, ...]) -> None:
    """Refuse a column with two roles."""
    for role, column in given.items():
        if column in dropped:
            raise refusal("drop", f"not name what --{role} does", repr(column))
        others = [other for other in given if given[other] == column and other != role]
        if others and {role, *others} != {"target", "rating"}:
            raise refusal(f"{role} and {others[0]}", "be two columns", f"{column!r} for both")


def _check_alone(given: Mapping[str, str], role: str, when: str) -> None:
    if role in given:
        raise refusal(role, f"only be given {when}", repr(given[role]))


def _ratings(
    table: Columns, given: Mapping[str, str], unset: Collection[str], *, must: bool
) -> Task | None:
    """Return the task of ratings, if a table has their columns."""
    names = [name for name in table.names if name not in given.values()]
    found = {
        "user": given.get("user") or words.first_named(names, words.USER),
        "item": given.get("item") or words.first_named(names, words.ITEM),
        "rating": given.get("rating")
        or given.get("target")
        or words.first_named(names, words.RATING),
    }
    if None in found.values() and words.are_unnamed(table.names):
        shaped = _shaped_ratings(table)
        found = {role: found[role] or shaped.get(role) for role in found}
    found |= dict.fromkeys(found.keys() & unset)
    missing = [role for role, column in found.items() if column is None]
    wanted = must or {"item", "rating"} & set(given)
    if missing and wanted:
        raise refusal(
            missing[0],
            f"be a column of {table.source}, given by --{missing[0]}, where none is named so",
            ", ".join(table.names),
        )
    if missing:
        return None
    user, item, rating = (str(found[role]) for role in ("user", "item", "rating"))
    if len({user, item, rating}) < 3:
        raise refusal(
            "user, item and rating", "be three columns", f"{user!r}, {item!r} and {rating!r}"
        )
    notes = amount_notes(table, rating)
    if not numeric(table.arrays[rating]) and not notes:
        if not wanted:
            return None
        raise refusal("rating", "be a column of numbers", f"{rating!r}, which is text")
    return Task("ratings", rating, user=user, item=item, notes=notes, has_amounts=bool(notes))


def _shaped_ratings(table: Columns) -> dict[str, str]:
    """Find user, item and rating in whole numbers without names: pairs come once."""
    names = table.names
    if not 3 <= len(names) <= 4:
        return {}
    first, second, third = (table.arrays[name] for name in names[:3])
    if not all(numeric(column) for column in table.arrays.values()):
        return {}
    are_ids = all(
        is_whole(column) and 10 < len(distinct(column)) < len(table) for column in (first, second)
    )
    pairs = len(np.unique(np.stack([first, second]), axis=1).T) if are_ids else 0
    if pairs != len(table) or len(distinct(third)) > MOST_GRADES:
        return {}
    return dict(zip(("user", "item", "rating"), names[:3], strict=True))


def _rows(
    table: Columns,
    task: str | tuple[str, str] | None,
    given: Mapping[str, str],
    unset: Collection[str],
    classes: Iterable[str] | None,
) -> Task:
    """Return the task of rows of features with something to predict."""
    query, notes = given.get("qid"), list[str]()
    if query is None and "qid" not in unset:
        free = [name for name in table.names if name not in given.values()]
        query, found_notes = find_query(table, free)
        notes += found_notes
    if query is None and task == "graded":
        raise refusal(
            "qid",
            f"be a column of {table.source}, given by --qid, where none is named so",
            ", ".join(table.names),
        )
    user = None if "user" in unset else _people(table, query, given)
    others = [name for name in table.names if name not in (query, user)]
    target = given.get("target")
    if target is None:
        target, found_notes = find_target(table, others)
        notes += found_notes
    if target is None and others:
        is_unnamed = words.are_unnamed(others)
        target = _unnamed_target(table, others, query) if is_unnamed else others[-1]
        place = "last" if target == others[-1] else "first"
        notes.append(f"{target!r} is to be predicted because it comes {place} (--target NAME).")
    if target is None or len(others) < 2:
        raise refusal(
            table.source,
            "have a column to predict and one to learn from",
            ", ".join(table.names) or "none",
        )
    if classes is not None:
        classes = tuple(split_names(classes, map(str, distinct(table.arrays[target]).tolist())))
    of_amounts = amount_notes(table, target) if classes is None else ()
    labels = (with_amounts(table, target) if of_amounts else table).arrays[target]
    notes += of_amounts
    if task == SCORES:
        task = SCORES[query is None]
    kind = task if isinstance(task, str) else kind_of_labels(labels, query, classes)
    ordered = None
    if kind == "ordinal":
        is_text = not numeric(labels)
        values = distinct(labels).tolist()
        levels = table.levels.get(target, ())
        if is_text and classes is None and set(values) <= set(levels):
            classes = tuple(level for level in levels if level in values)
        elif is_text and classes is None:
            classes = _guessed_classes(table, target, values)
            if classes is not None:
                shown = " < ".join(classes)
                notes.append(f"{target!r} has the classes {shown} (--classes for another order).")
        advice = slip_among(labels.tolist()) if is_text and classes is None else ""
        ordered = ordered_classes(target, values, classes, is_text=is_text, advice=advice)
    elif not numeric(labels):
        raise refusal(
            "target",
            f"be a column of numbers for task={kind!r}",
            f"{target!r}, which is text",
            hint=slip_among(labels.tolist()),
        )
    if len(distinct(labels)) < 2:
        raise refusal(
            "target",
            "have at least two different values",
            f"{distinct(labels).tolist()!r} in {target!r}",
        )
    features = tuple(name for name in others if name != target)
    told: dict[str, Any] = {"notes": tuple(notes), "has_amounts": bool(of_amounts)}
    return Task(kind, target, query, user, features=features, classes=ordered, **told)


def _guessed_classes(table: Columns, target: str, values: Sequence[str]) -> tuple[str, ...] | None:
    """Return labels in the order that the table, or what they mean, gives them."""
    order = table.orders.get(target)
    if order is None:
        return order_of_words(values)
    return tuple(label for label in order if label in values)


def _people(table: Columns, query: str | None, given: Mapping[str, str]) -> str | None:
    """Return the column of people, whose rows are not divided."""
    user = given.get("user")
    if query is not None:
        _check_alone(given, "user", f"where there are no queries ({query!r} has some)")
        return None
    if user is None:
        free = [name for name in table.names if name not in given.values()]
        user = words.first_named(free, words.USER)
        if user is None:
            return None
        n_people = len(distinct(table.arrays[user]))
        n_known = int((~is_empty(table.arrays[user])).sum())
        # Neither one row per person nor one person can be divided by people.
        return user if 1 < n_people < n_known else None
    if len(distinct(table.arrays[user])) < 2:
        raise refusal(
            "user",
            "have at least two different values, so that some can be left out",
            f"{distinct(table.arrays[user]).tolist()!r} in {user!r}",
        )
    return user


def _unnamed_target(table: Columns, names: list[str], query: str | None) -> str:
    """Of columns without names take the last, if it may be one, else the first.

    Where queries are named, they are those of a file of LightGBM beside the table, in
    which labels come first.
    """
    last, first = table.arrays[names[-1]], table.arrays[names[0]]
    is_first = query == "qid" or not numeric(last)
    return names[0] if is_first and numeric(first) else names[-1]


def kind_of_labels(labels: Array, query: str | None, classes: tuple[Hashable, ...] | None) -> str:
    """Return the kind of task by its labels, where it is not given."""
    values = distinct(labels)
    if query is not None:
        few = numeric(labels) and len(values) <= MOST_GRADES and is_whole(values)
        return "graded" if few else "magnitude"
    if classes is not None or not numeric(labels):
        return "ordinal"
    few = len(values) <= MOST_CLASSES and 3 * len(values) <= len(labels)
    return "ordinal" if few and is_whole(values) else "magnitude"


def _with_roles(
    columns: Columns, task: Task, given: Mapping[str, str], dropped: tuple[str, ...]
) -> Task:
    """Return the task with the role of every column, and the reason for it."""
    is_ratings = task.kind == "ratings"
    roles = {
        task.target: Role.RATING if is_ratings else Role.TARGET,
        task.query: Role.QUERY,
        task.user: Role.USER if is_ratings else Role.GROUP,
        task.item: Role.ITEM,
    }
    options = {column: f"--{option}" for option, column in reversed(list(given.items()))}

    def role_of(name: str) -> ColumnRole:
        if name in dropped:
            return ColumnRole(name, Role.IGNORED, "--drop")
        if name in roles:
            why = options.get(name) or _why(name, task, columns)
            if name == task.target and task.classes and name in columns.levels:
                why += f"; {' < '.join(map(str, task.classes))}"
            return ColumnRole(name, roles[name], why)
        if is_ratings:
            return ColumnRole(name, Role.IGNORED, "not part of a rating")
        return ColumnRole(name, Role.FEATURE, "")

    return replace(task, column_roles=tuple(map(role_of, columns.names)))


def _why(name: str, task: Task, columns: Columns) -> str:
    known = words.QUERY | words.USER | words.ITEM | words.RATING | words.TARGET
    if words.first_named([name], known):
        return "its name"
    if task.kind == "ratings":
        return "its place and values"
    return "the last column" if name == columns.names[-1] else "its place"


_MAX_SHOWN = 12


def ordered_classes(
    target: str,
    values: Sequence[Hashable],
    classes: Sequence[str] | None,
    *,
    is_text: bool,
    advice: str = "",
) -> tuple[Hashable, ...]:
    """Return classes, lowest first; text has no order unless it is given.

    `values` are the different labels of the column `target`, ascending; `classes` is
    the order that was given, as text. `advice` is a hint for where none was.
    """
    if classes is None and is_text and len(values) > MOST_GRADES:
        raise refusal(
            "target",
            "be numbers, or text of few different values",
            f"{target!r}, text of {len(values):,}, such as {short(values[0])}",
            hint=advice,
        )
    if classes is None and is_text:
        shown = ",".join(map(str, values[:_MAX_SHOWN]))
        raise refusal(
            "classes",
            "be given, lowest first, for labels that are text (such as "
            f"--classes {shown} in their right order)",
            f"none for {target!r}",
            hint=advice,
        )
    if is_text:
        ordered: tuple[Hashable, ...] = tuple(classes or ())
        unknown: list[Hashable] = []
    else:
        by_value = {value: whole_if_it_is(value) for value in values}
        if classes is None:
            return tuple(by_value.values())
        ordered = tuple(_found(label, by_value) for label in classes)
        unknown = [label for label in ordered if label not in by_value]
    missing = [label for label in values if label not in ordered]
    if missing or unknown or len(set(ordered)) < max(len(ordered), 2):
        raise refusal(
            "classes",
            f"be the labels in {target!r}, each once, lowest first: {', '.join(map(str, values))}",
            ", ".join(map(str, classes or ())),
        )
    return ordered


def whole_if_it_is(value: Hashable) -> Hashable:
    """Return a number as an integer where it is one."""
    number: Any = value  # a large integer is more exact than a float
    return int(number) if float(number).is_integer() else value


def _found(label: str, by_value: Mapping[Hashable, Hashable]) -> Hashable:
    """Return the label that a text is the number of; the text if there is none."""
    for kind in (int, float):  # a float does not hold all integers
        try:
            number = kind(label)
        except ValueError:
            continue
        if number in by_value:
            return by_value[number]
    return label


def ratings_of(columns: Columns, task: Task) -> tuple[Ratings, tuple[str, ...]]:
    """Return the ratings of a file, and notes about its rows.

    Rows without an id or a rating are left out; of two ratings of the same item by the
    same person the later row counts.
    """
    user, item = columns.arrays[str(task.user)], columns.arrays[str(task.item)]
    if task.has_amounts:
        columns = with_amounts(columns, task.target)
    value = columns.arrays[task.target].astype(np.float64)
    known = np.isfinite(value) & _given(user) & _given(item)
    notes = [*columns.notes, *task.notes]
    if not known.all():
        lacking = counted(int((~known).sum()), "row lacks", "rows lack")
        notes.append(f"{lacking} an id or a rating: left out.")
    ratings = Ratings(user[known], item[known], value[known], duplicates="last")
    again = int(known.sum()) - len(ratings)
    if again:
        given = "1 rating was" if again == 1 else f"{again:,} ratings were"
        notes.append(f"{given} given again later: the last one counts.")
    return ratings, tuple(notes)


def _given(array: Array) -> Bools:
    if numeric(array):
        return np.isfinite(array.astype(np.float64))
    return np.array([value is not None for value in array.tolist()])
