"""The coders of all columns of a table: the numbers they make side by side, and their fields.

What depends on the target is learnt here, and where it is learnt from other rows; so are
the fields by which a model file has them.
"""

from collections.abc import Mapping
from itertools import chain
from reprlib import repr as short
from typing import Any, Final, TypeAlias

import numpy as np

from peckorder._core.errors import warn
from peckorder._core.typing import Array, Floats, Ints
from peckorder.feedback import GradedRows, Opinions, Preferences, Scale, read_grades, read_labels
from peckorder.storage.fields import OMITTED, Field, FieldType, array, nullable, texts
from peckorder.storage.format import Node
from peckorder.tables.coders import (
    Amount,
    ByTarget,
    Category,
    Coder,
    Dates,
    LeftOut,
    Number,
    OneHot,
    Ordered,
    as_numbers,
    as_texts,
    or_nan,
)
from peckorder.tables.columns import listed

# The coder of each column, by its name.
Coders: TypeAlias = Mapping[str, Coder]

# The folds of rows whose codes are learnt from the others.
_N_FOLDS: Final = 5

# Of more levels trees see mean targets, not a category: libraries number levels by a byte.
_MOST_CATEGORIES: Final = 255


def coded(coders: Coders, columns: Mapping[str, Array], n_rows: int) -> Floats:
    """Return the columns of numbers that are made of columns, side by side."""
    X = np.empty((n_rows, sum(len(coder.names("")) for coder in coders.values())))
    position = 0
    for name, coder in coders.items():
        width = len(coder.names(""))
        if width:
            X[:, position : position + width] = coder.apply(name, columns[name])
        position += width
    return X


def coded_names(coders: Coders) -> list[str]:
    """Return the names of columns of numbers: ``alcohol``, ``colour=red``."""
    return [made for name, coder in coders.items() for made in coder.names(name)]


def with_codes(
    coders: Coders, X: Floats, y: Floats, qid: Array | None = None, groups: Array | None = None
) -> tuple[Coders, Floats]:
    """Learn the codes of columns that are coded by the target; replace numbers of levels.

    The code of a row is learnt from other rows, those of four in five folds: rows of a
    query, or another group, are in one fold. With queries codes are of the difference to
    the mean of the query. Coders that are returned have learnt from all rows. O(n) time
    per column.
    """
    if not any(isinstance(coder, ByTarget) for coder in coders.values()):
        return coders, X
    kept_whole = groups if qid is None else qid
    unit = np.arange(len(y))
    if kept_whole is not None:
        unit = np.unique(kept_whole, return_inverse=True)[1]
    if qid is not None:
        is_known = ~np.isnan(y)
        counts = np.maximum(np.bincount(unit, is_known), 1)
        y = y - (np.bincount(unit, np.where(is_known, y, 0.0)) / counts)[unit]
    n_units = int(unit.max()) + 1
    fold = np.random.default_rng(0).permutation(np.arange(n_units) % _N_FOLDS)[unit]
    found, X, position = dict(coders), X.copy(), 0
    for name, coder in coders.items():
        if isinstance(coder, ByTarget):
            level = X[:, position].copy()
            for k in range(min(_N_FOLDS, n_units)):
                others = fold != k
                X[~others, position] = coder.learn(level[others], y[others]).code(level[~others])
            found[name] = coder.learn(level, y)
        position += len(coder.names(""))
    return found, X


def recoded(coders: Coders, X: Floats) -> Floats:
    """Return rows with codes in place of the numbers of levels."""
    if not any(isinstance(coder, ByTarget) for coder in coders.values()):
        return X
    X, position = X.copy(), 0
    for coder in coders.values():
        if isinstance(coder, ByTarget):
            X[:, position] = coder.code(X[:, position])
        position += len(coder.names(""))
    return X


def with_categories(coders: Coders) -> Coders:
    """Return coders with one column of level numbers for text without an order."""
    return {name: _as_category(coder) for name, coder in coders.items()}


def _as_category(coder: Coder) -> Coder:
    if isinstance(coder, OneHot):
        return Category(coder.levels, coder.of_numbers, coder.has_other)
    if isinstance(coder, ByTarget) and len(coder.levels) < _MOST_CATEGORIES:
        return Category(coder.levels, coder.of_numbers, has_other=True)
    return coder


def joined_levels(coders: Coders, X: Floats, uncoded: Floats) -> Floats:
    """Return the columns that `with_categories` makes, of rows that `coders` made.

    `X` are these rows with codes in place of numbers of levels, `uncoded` without.
    """
    if not category_positions(with_categories(coders)):
        return X
    parts, position = [], 0
    for coder in coders.values():
        columns = slice(position, position + len(coder.names("")))
        position = columns.stop
        if not isinstance(_as_category(coder), Category):
            parts.append(X[:, columns])
        elif isinstance(coder, ByTarget):
            parts.append(uncoded[:, columns])
        else:
            has_level = uncoded[:, columns] == 1
            level = np.where(has_level.any(axis=1), has_level.argmax(axis=1), -1)
            parts.append(or_nan(level)[:, None])
    return np.hstack(parts)


def category_positions(coders: Coders) -> list[int]:
    """Return which columns of numbers are numbers of levels."""
    made = [coder for coder in coders.values() for _ in coder.names("")]
    return [k for k, coder in enumerate(made) if isinstance(coder, Category)]


def warn_of_new_values(coders: Coders, columns: Mapping[str, Array]) -> None:
    """Warn of columns of text, or codes, of which no value was learnt from."""
    for name, coder in coders.items():
        known = coder.known()
        if known is None:
            continue
        column = as_numbers(name, columns[name]) if coder.reads_numbers else columns[name]
        values = {text for text in as_texts(column) if text is not None}
        if values and known.isdisjoint(values):
            warn(
                f"no value of column {name!r} was learnt from: {short(min(values))} is none of "
                f"{listed(sorted(known))}; all count as {coder.unseen or 'missing ones'}."
            )


def heights_of(ranker: object, y: Any, n_rows: int) -> Floats:
    """Return what is to be predicted as numbers: levels of classes, grades, pairs won.

    NaN where a label is missing, and means no opinion to the ranker.
    """
    if isinstance(y, Preferences):
        heights = np.zeros(n_rows)
        for part in y.parts:
            if isinstance(part, GradedRows):
                heights[part.rows] += part.grade
            else:
                better, worse, weight = part.pairs
                np.add.at(heights, better, weight)
                np.subtract.at(heights, worse, weight)
        return heights
    column = read_labels(y)
    column.check_length(n_rows)
    if hasattr(ranker, "missing_labels"):
        grade, is_labelled = Opinions.of(y, ranker.missing_labels).in_full()
        return np.where(is_labelled, grade, np.nan)
    if not hasattr(ranker, "classes"):
        return read_grades(y)
    classes: Any = ranker.classes
    scale = Scale.inferred(column) if classes is None else Scale.given(classes)
    return scale.levels(column, slice(None)).astype(np.float64)


_KINDS: Final[dict[str, Any]] = {
    coder.kind: coder for coder in (LeftOut, OneHot, Category, Ordered, ByTarget, Amount, Dates)
}


def _write(position: int, coder: Coder) -> dict[str, Any]:
    """Return what a model file says of the coder of a column."""
    return {"column": position, "kind": coder.kind, **coder.fields.write(coder)}


def _read(node: Node, n_columns: int) -> tuple[int, Coder]:
    """Return a coder, and the position of its column, trusting nothing."""
    position = node.whole("column", 0, n_columns - 1)
    kind = _KINDS[node.word("kind", *_KINDS)]
    return position, kind(**kind.fields.read(node))


def _read_ends(node: Node, name: str) -> Ints:
    n_columns, levels = int(node.values["is_text"].sum()), node.values["levels"]
    return node.pointers(name, len(levels or ()), n_columns + 1)


def _plain_levels(model: Any) -> list[tuple[str, ...] | None]:
    """Return, for each column with a column per text, its texts; None for others."""
    return [
        coder.levels if isinstance(coder, OneHot) and coder.is_plain else None
        for coder in model.coders_
    ]


def _text_levels(model: Any) -> list[tuple[str, ...]]:
    return [levels for levels in _plain_levels(model) if levels is not None]


def _write_others(model: Any) -> Any:
    """Return the coders of columns that are neither numbers nor a column per text."""
    plain = _plain_levels(model)
    others = [
        _write(k, coder)
        for k, coder in enumerate(model.coders_)
        if plain[k] is None and type(coder) is not Number
    ]
    return others or OMITTED


def _read_others(node: Node, name: str) -> list[tuple[int, Coder]]:
    n_columns = node.sizes["features"]
    return [_read(child, n_columns) for child in node.children(name)]


# The texts of all columns of text, one after another, and where each column ends. Others
# than these and numbers are in `coders`, which older files do not have.
CODERS = (
    Field(
        "is_text",
        array("b1", "features"),
        lambda model: np.array([levels is not None for levels in _plain_levels(model)]),
    ),
    Field(
        "levels",
        nullable(texts()),
        lambda model: list(chain(*columns)) if (columns := _text_levels(model)) else None,
    ),
    Field(
        "ends",
        nullable(FieldType(_read_ends)),
        lambda model: (
            np.cumsum([0, *map(len, columns)]) if (columns := _text_levels(model)) else None
        ),
    ),
    Field("coders", FieldType(_read_others), _write_others, optional=True),
)


def read_coders(node: Node) -> list[Coder]:
    """Return the coder of each column."""
    is_text, flat, ends = (node.values.pop(field.name) for field in CODERS[:3])
    coders: list[Coder] = [Number()] * len(is_text)
    if is_text.any() != (flat is not None) or is_text.any() != (ends is not None):
        raise node.refuse("levels", "null without columns of text, and only then")
    for k, column in enumerate(np.flatnonzero(is_text).tolist()):
        levels = tuple(flat[ends[k] : ends[k + 1]])
        coders[column] = OneHot(levels)
        if len(set(levels)) < len(levels):
            raise node.refuse("levels", "texts that differ within a column")
    for column, coder in node.values.pop("coders", ()):
        if type(coders[column]) is not Number:
            raise node.refuse("coders", "one for each column at most")
        coders[column] = coder
    return coders
