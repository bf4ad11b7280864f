"""Pairs of items in one file and features of items in another, for `fit` and `evaluate`."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from peckorder._core import column_names as words
from peckorder._core.errors import caller, named, refusal
from peckorder._core.typing import Array, Floats
from peckorder.cli.models import are_among, like
from peckorder.cli.options import PairOptions, TableOptions, separate_columns
from peckorder.comparison.pairs_case import ItemsInPairs
from peckorder.estimators import RankBoost
from peckorder.feedback import Preferences
from peckorder.tables.columns import (
    Columns,
    check_column,
    counted,
    is_empty,
    joined,
    listed,
    short,
    split_names,
)
from peckorder.tables.features import Coding
from peckorder.tables.files.arrow_cells import numbers_of
from peckorder.tables.files.paths import name_of
from peckorder.tables.files.read import iter_columns, read_columns
from peckorder.tables.model_rows import ModelRows
from peckorder.tables.roles import ColumnRole, Role, given_columns

_ROLES: Final = {
    "better": Role.BETTER,
    "worse": Role.WORSE,
    "weight": Role.WEIGHT,
    "size": Role.SIZE,
}


@dataclass(frozen=True, slots=True, eq=False)
class PairsOfItems:
    """Preferences among the rows of a table, and the column of ids by which they were named."""

    preferences: Preferences
    id_column: str
    column_roles: tuple[ColumnRole, ...]
    notes: tuple[str, ...]


_UNUSED: Final = "no part of a pair; see --size and --weight"
# A column with this share of the ids of pairs is that of ids, with some wrong ones.
_MOST: Final = 0.5

# Where intervals are over pairs that all are connected.
TOO_NARROW: Final = (
    "All pairs are connected: intervals are over pairs, and too narrow where pairs share items."
)


class LoadedPairs(NamedTuple):
    """Pairs of items with their features, the roles of all columns, and notes."""

    data: ItemsInPairs
    id_column: str
    column_roles: tuple[ColumnRole, ...]
    notes: tuple[str, ...]


def load_pairs(file: str, options: TableOptions, pairs: PairOptions) -> LoadedPairs:
    """Read a file of pairs and the table of their items, to learn from."""
    items = read_items(str(pairs.items), pairs)
    names = separate_columns(options.columns)
    found = read_pairs(file, items, pairs, options.format, names)
    dropped = tuple(split_names(options.drop or (), items.names))
    for name in dropped:
        check_column(items, "drop", name)
    others = {found.id_column, *dropped}
    features = [name for name in items.names if name not in others]
    keep, category = options.keep or (), options.category or ()
    coding = Coding.of(items, features, category=category, keep=keep)
    left_out = (ColumnRole(name, Role.IGNORED, "--drop") for name in dropped)
    roles = (*found.column_roles, *left_out, *coding.column_roles)
    n_alone = len(items) - len(found.preferences.paired_rows())
    alone = (f"{counted(n_alone, 'item is', 'items are')} in no pair.",) if n_alone else ()
    data = ItemsInPairs(found.preferences, items, coding)
    return LoadedPairs(data, found.id_column, roles, (*found.notes, *alone, *coding.notes))


def read_items(file: str, options: PairOptions, model: ModelRows | None = None) -> Columns:
    """Read a table of items; for a model text as it stands, as `rank` reads it."""
    if model is None:
        return read_columns(file, ids=[options.id] if options.id else [])
    name = caller()

    # Called while the file is open, whose name refusals would take.
    def numbers(header: tuple[str, ...]) -> Collection[str]:
        with named(name):
            return model.numbers(model.sources(name_of(file), header))

    return joined(list(iter_columns(file, numbers=numbers)))


def usual_measures(preferences: Preferences, model: ModelRows | None) -> tuple[str, ...]:
    """Return what pairs are measured by: their order, if all have one, and their sizes.

    The scale of RankBoost's scores has no meaning.
    """
    if not preferences.has_sizes or (model is not None and isinstance(model.model, RankBoost)):
        return ("disagreement",)
    of_order = ("disagreement",) if (preferences.sizes() > 0).all() else ()
    return (*of_order, "msd", "mad")


def read_pairs(
    file: str,
    items: Columns,
    options: PairOptions,
    format: str | None,
    names: tuple[str, ...] | None = None,
) -> PairsOfItems:
    """Read a file of pairs, whose ids are looked up in a table of items."""

    def amounts(header: tuple[str, ...]) -> list[str]:
        given = {role: getattr(options, role) for role in _ROLES}
        usual = words.pair_columns([name for name in header if name not in given.values()])
        found = (given[role] or usual.get(role) for role in ("weight", "size"))
        return [name for name in found if name in header]

    # Ids as they stand: text, unless the file has types.
    columns = joined(list(iter_columns(file, format=format, names=names, numbers=amounts)))
    found, reasons = _columns_of(columns, options)
    for role in ("better", "worse"):
        _check_full(columns, found[role])
    ends = [columns.arrays[found[role]] for role in ("better", "worse")]
    id_column, why = _id_column(items, ends, options.id)
    ids = items.arrays[id_column]
    _check_full(items, id_column)
    _check_once(items, id_column)
    ends = [like(end, ids) for end in ends]
    for role, end in zip(("better", "worse"), ends, strict=True):
        _check_known(columns, found[role], end, items, id_column)
    weight, size = (
        _amounts(columns, found[role]) if role in found else None for role in ("weight", "size")
    )
    same = np.flatnonzero(ends[0] == ends[1])
    if len(same):
        rule = "have two items in each row"
        raise refusal(columns.source, rule, f"{short(ends[0][same[0]])} twice in row {same[0] + 1}")
    row_of = {value: row for row, value in enumerate(ids.tolist())}
    better, worse = ([row_of[value] for value in end.tolist()] for end in ends)
    preferences = Preferences(better, worse, weight, size)
    roles = [ColumnRole(name, _ROLES[role], reasons[role]) for role, name in found.items()]
    unused = [name for name in columns.names if name not in found.values()]
    roles += [ColumnRole(name, Role.IGNORED, _UNUSED) for name in unused]
    column_roles = (*roles, ColumnRole(id_column, Role.ITEM, why))
    return PairsOfItems(preferences, id_column, column_roles, (*columns.notes, *items.notes))


def _columns_of(columns: Columns, options: PairOptions) -> tuple[dict[str, str], dict[str, str]]:
    """Return the columns of pairs by their roles, and the reasons."""
    given = given_columns(columns, {role: getattr(options, role) for role in _ROLES})
    free = [name for name in columns.names if name not in given.values()]
    every = words.pair_columns(free) | given
    found = {role: name for role in _ROLES if (name := every.get(role)) is not None}
    missing = [role for role in ("better", "worse") if role not in found]
    if missing:
        kinds = ", ".join(" and ".join(pair) for pair in words.PAIR)
        raise refusal(
            columns.source,
            f"have two columns of ids, the better one and the worse one ({kinds})",
            listed(columns.names),
            hint=f"Add {' '.join(f'--{role} NAME' for role in missing)}.",
        )
    return found, {role: f"--{role}" if role in given else "its name" for role in found}


def _id_column(items: Columns, ends: Sequence[Array], given: str | None) -> tuple[str, str]:
    """Return the column of ids, given, by its name, or the first that has all ids of pairs."""
    if given is not None:
        check_column(items, "id", given)
        return given, "--id"
    usual = [name for name in items.names if words.first_named([name], words.ITEM | words.ID)]
    others = [name for name in items.names if name not in usual]
    share = {name: _share_known(ends, items.arrays[name]) for name in items.names}
    whole = [name for name in items.names if share[name] == 1.0]
    by_name = [name for name in whole if name in usual]
    if by_name:
        return by_name[0], "its name"
    if len(whole) > 1:
        rule = "be given where several columns have all ids of the pairs"
        raise refusal("id", rule, listed(whole), hint=f"Add --id {short(whole[0])}, or another.")
    if whole:
        return whole[0], "it has all ids of the pairs"
    if usual:
        return usual[0], "its name"
    # An id that is wrong, or there twice, is then named.
    likeliest = max(others, key=lambda name: share[name])
    if share[likeliest] >= _MOST:
        return likeliest, "it has most ids of the pairs"
    raise refusal(
        items.source,
        "have a column with the ids of the pairs",
        listed(items.names),
        hint="Add --id NAME.",
    )


def _share_known(ends: Sequence[Array], ids: Array) -> float:
    """Return the share of ids of pairs in a column, below 1 if one is there twice."""
    known = np.concatenate([are_among(like(end, ids), ids) for end in ends])
    share = float(known.mean()) if len(known) else 0.0
    return share if len(set(ids.tolist())) == len(ids) else min(share, _MOST)


def _check_full(columns: Columns, name: str) -> None:
    gaps = np.flatnonzero(is_empty(columns.arrays[name]))
    if len(gaps):
        what = f"column {short(name)} of {columns.source}"
        raise refusal(what, "have an id in every row", f"an empty cell in row {gaps[0] + 1}")


def _check_once(items: Columns, name: str) -> None:
    first: dict[object, int] = {}
    for row, value in enumerate(items.arrays[name].tolist()):
        if first.setdefault(value, row) != row:
            what = f"column {short(name)} of {items.source}"
            got = f"{short(value)} in rows {first[value] + 1} and {row + 1}"
            raise refusal(what, "have every id once", got)


def _check_known(columns: Columns, name: str, ids: Array, items: Columns, id_column: str) -> None:
    unknown = np.flatnonzero(~are_among(ids, items.arrays[id_column]))
    if len(unknown):
        more = f", and {counted(len(unknown) - 1, 'more row', 'more rows')}"
        raise refusal(
            f"column {short(name)} of {columns.source}",
            f"have ids that are in column {short(id_column)} of {items.source}",
            f"{short(ids[unknown[0]])} in row {unknown[0] + 1}{more if len(unknown) > 1 else ''}",
        )


def _amounts(columns: Columns, name: str) -> Floats:
    amounts = numbers_of(columns, name)
    wrong = np.flatnonzero(~np.isfinite(amounts) | (amounts < 0))
    if len(wrong):
        what = f"column {short(name)} of {columns.source}"
        raise refusal(what, "be numbers >= 0", f"{amounts[wrong[0]]:g} in row {wrong[0] + 1}")
    return amounts
