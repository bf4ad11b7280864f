"""Rows of users as numbers for trees: which columns are categories, which only rise.

A column of categories becomes the bins of its levels. The levels are those that occur in
training; a missing one, and one that did not occur, is NaN: trees send both to the side
that they have learnt for missing categories.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from peckorder._core.errors import refusal, warn
from peckorder._core.typing import Array, Bools, Floats, Ints, Labels, Matrix, MatrixLike
from peckorder._core.validation import (
    Rule,
    Rules,
    check_csr,
    did_you_mean,
    masked_as_nan,
    naming_columns,
)
from peckorder.feedback import is_missing
from peckorder.storage.fields import Field, FieldType, Table, array
from peckorder.storage.format.labels import write_labels
from peckorder.storage.format.node import Node
from peckorder.trees.columns import MOST_BINS

_FROM_DTYPE = "from_dtype"
_ROWS: Any = {
    "accept_sparse": "csr",
    "dtype": [np.float64, np.float32],
    "order": "C",
    "ensure_all_finite": "allow-nan",
}


def _is_list(value: object) -> bool:
    """Whether a value is a list of anything, perhaps an array, but no text."""
    is_text = isinstance(value, str | bytes | Mapping)
    return not is_text and hasattr(value, "__len__") and getattr(value, "ndim", 1) == 1


FEATURE_RULES: Rules = {
    "categorical_features": Rule(
        "None, 'from_dtype', or a list: one True or False per column, positions or names",
        lambda value: value is None or str(value) == _FROM_DTYPE or _is_list(value),
    ),
    "monotonic_cst": Rule(
        "None, a list with 1, 0 or -1 per column, or a dict of these by name",
        lambda value: value is None or isinstance(value, Mapping) or _is_list(value),
    ),
}


class _Codes(NamedTuple):
    """A column that is no numbers: positions among labels, -1 for a missing one."""

    codes: Ints
    labels: list[Hashable]


@dataclass(frozen=True, eq=False)
class Levels:
    """The levels of a column of categories in training, each with its bin.

    Of more than 255 the rarest share the last bin. Levels are ascending floats or, in
    any order, objects.
    """

    levels: Labels
    bins: Ints

    @classmethod
    def of(cls, column: Floats | _Codes, name: str) -> Self:
        """Return the levels that occur in a column."""
        if isinstance(column, _Codes):
            counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.labels))
            occurs = [(label, n) for label, n in zip(column.labels, counts, strict=True) if n]
            # Whatever order the categories were declared in.
            occurs.sort(key=lambda item: str(item[0]))
            levels = np.fromiter((label for label, _ in occurs), object, len(occurs))
            counts = np.array([n for _, n in occurs], dtype=np.int64)
        else:
            values = column[~np.isnan(column)].astype(np.float64)
            levels, counts = np.unique(values, return_counts=True)
        bins = np.arange(len(levels))
        if len(levels) > MOST_BINS:
            own = MOST_BINS - 1
            warn(
                f"{name} has {len(levels)} categories; the {len(levels) - own} rarest "
                "of them count as one."
            )
            by_rarity = np.argsort(-counts, kind="stable")
            bins[by_rarity] = np.minimum(np.arange(len(levels)), own)
        return cls(levels, bins)

    def bins_of(self, column: Floats | _Codes, name: str) -> Floats:
        """Return the bin of each row, NaN for missing levels and for those not known."""
        is_number = self.levels.dtype.kind == "f"
        n_levels = len(self.levels)
        if isinstance(column, _Codes):
            if is_number and n_levels and column.labels:
                _refuse_kind(name, "numbers", column.labels[0])
            known = dict(zip(self.levels.tolist(), self.bins.tolist(), strict=True))
            bins = [known.get(label, np.nan) for label in column.labels]
            # The last entry is for missing labels, -1.
            return np.array([*bins, np.nan])[column.codes]
        given = ~np.isnan(column)
        if n_levels == 0 or not given.any():
            return np.full(len(column), np.nan)
        if not is_number:
            _refuse_kind(name, "categories", column[given][0].item())
        position = np.searchsorted(self.levels, column)
        position[position == n_levels] = 0
        return np.where(self.levels[position] == column, self.bins[position], np.nan)


def _refuse_kind(name: str, kind: str, got: object) -> None:
    raise refusal("X", f"have {kind} in {name}, as in training", repr(got))


@dataclass(frozen=True, eq=False)
class TreeFeatures:
    """How the columns of X become numbers for trees, as `bin_columns` takes them.

    levels has the columns of categories; rises (n_features,) is 1 where trees must never
    fall with a column, -1 where they must never rise.
    """

    levels: Mapping[int, Levels]
    rises: Ints

    @property
    def is_category(self) -> Bools:
        """Which columns are categories."""
        mask = np.zeros(len(self.rises), dtype=bool)
        mask[list(self.levels)] = True
        return mask

    @classmethod
    def learnt(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        categorical_features: Any = None,
        monotonic_cst: Any = None,
        *,
        unstored: bool = True,
    ) -> tuple[Self, Matrix]:
        """Read the rows that an estimator is fitted to; return them as numbers, too.

        Sets its names and number of features. Entries that a sparse X does not store
        are zero if `unstored`, else missing. O(entries) time, and a sort of each column
        of categories.
        """
        X = masked_as_nan(X)
        columns = _Columns.of(estimator, X, categorical_features, reset=True)
        n_features = int(estimator.n_features_in_)
        which = columns.chosen
        rises = _rises(monotonic_cst, columns.names, n_features)
        if rises[which].any():
            name = columns.name(which[int(np.argmax(rises[which] != 0))])
            raise refusal("monotonic_cst", "be 0 for categories", f"a constraint of {name}")
        given = {c: columns.column(c, unstored) for c in which}
        levels = {c: Levels.of(column, columns.name(c)) for c, column in given.items()}
        return cls(levels, rises), columns.filled(cls(levels, rises), given)

    def matrix(self, estimator: BaseEstimator, X: MatrixLike, *, unstored: bool = True) -> Matrix:
        """Return rows as numbers, bins for categories, in training or after it.

        They are as they were given, and not copied, if they are C-ordered float32 or
        float64, or in CSR form, and no column is one of categories.
        """
        X = masked_as_nan(X)
        columns = _Columns.of(estimator, X, list(self.levels), reset=False)
        return columns.filled(self, {c: columns.column(c, unstored) for c in self.levels})


class _Columns:
    """Columns of X after scikit-learn's checks, of which some are of categories.

    `is_mixed` is a frame, or an array of objects, with such columns: they are NaN in
    `rows`, and have any values in X.
    """

    def __init__(self, X: Any, names: Sequence[Any] | None, n_features: int) -> None:
        self.X, self.names, self.n_features = X, names, n_features
        self.chosen: list[int] = []
        self.rows: Any = None
        self.is_mixed = False
        self._stored: Any = None

    @classmethod
    def of(cls, estimator: BaseEstimator, X: Any, categorical: Any, *, reset: bool) -> Self:
        """Check X as scikit-learn does; set names and number of features if `reset`."""
        is_frame = _is_frame(X)
        may_be_mixed = is_frame or (isinstance(X, np.ndarray) and X.dtype.kind in "OU")
        how = {"skip_check_array": True} if may_be_mixed else _ROWS
        rows: Any = validate_data(estimator, X, reset=reset, **how)
        names = getattr(estimator, "feature_names_in_", None)
        found = cls(X, None if names is None else names.tolist(), int(estimator.n_features_in_))
        if not isinstance(categorical, str):
            given = () if categorical is None else categorical
            found.chosen = _positions(given, found.names, found.n_features)
        elif is_frame:
            found.chosen = _declared(X)
        found.is_mixed = may_be_mixed and bool(found.chosen)
        if found.is_mixed:
            rows = found._numbers(estimator)
        elif may_be_mixed:
            with naming_columns(X):
                rows = validate_data(estimator, X, reset=False, **_ROWS)
        found.rows = rows if isinstance(rows, np.ndarray) else check_csr(rows)
        return found

    def _numbers(self, estimator: BaseEstimator) -> Floats:
        """Return a matrix of the columns that are no categories, NaN in the others."""
        X, chosen = self.X, set(self.chosen)
        others = [c for c in range(self.n_features) if c not in chosen]
        matrix = np.full((len(X), self.n_features), np.nan)
        if others:
            part = X.iloc[:, others] if hasattr(X, "iloc") else X[:, others]
            how = _ROWS | {"accept_sparse": False, "ensure_all_finite": False}
            with naming_columns(part):
                matrix[:, others] = check_array(part, estimator=estimator, input_name="X", **how)
        checked: Floats = check_array(matrix, estimator=estimator, input_name="X", **_ROWS)
        return checked

    def name(self, column: int) -> str:
        """Return how messages call a column."""
        return f"column {column if self.names is None else self.names[column]!r}"

    def column(self, column: int, unstored: bool) -> Floats | _Codes:
        """Return a column of categories."""
        if self.is_mixed:
            X = self.X
            given = X.iloc[:, column] if hasattr(X, "iloc") else X[:, column]
            return _plain(_cells(given, self.name(column)))
        if isinstance(self.rows, np.ndarray):
            return self.rows[:, column]
        if self._stored is None:
            self._stored = self.rows.tocsc()
        values = np.full(self.rows.shape[0], 0.0 if unstored else np.nan)
        entries = slice(self._stored.indptr[column], self._stored.indptr[column + 1])
        values[self._stored.indices[entries]] = self._stored.data[entries]
        return values

    def filled(self, features: TreeFeatures, given: Mapping[int, Floats | _Codes]) -> Matrix:
        """Return the matrix, with bins in the columns of categories."""
        rows: Any = self.rows
        bins = {c: features.levels[c].bins_of(column, self.name(c)) for c, column in given.items()}
        if not bins:
            return rows  # type: ignore[no-any-return]
        if isinstance(rows, np.ndarray):
            matrix = rows if self.is_mixed else rows.copy()
            for c, column in bins.items():
                matrix[:, c] = column
            return matrix
        # All entries of such a column are stored: a bin of 0 is no missing one.
        return _joined(self._stored, bins)


def _joined(stored: Any, bins: Mapping[int, Floats]) -> Matrix:
    n_rows, every = stored.shape[0], np.arange(stored.shape[0])
    parts, first = [], 0
    for c in sorted(bins):
        column = (bins[c].astype(stored.dtype), every, np.array([0, n_rows]))
        parts += [stored[:, first:c], sparse.csc_array(column, shape=(n_rows, 1))]
        first = c + 1
    return check_csr(sparse.hstack([*parts, stored[:, first:]], format="csr"))


def _is_frame(X: Any) -> bool:
    """Whether X is a frame of pandas or polars, neither of which is imported."""
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "__getitem__")


def _declared(X: Any) -> list[int]:
    """Return the columns of a frame that are categories by their type."""
    kinds = [type(dtype).__name__ for dtype in X.dtypes]
    of_categories = ("CategoricalDtype", "Categorical", "Enum")
    return [c for c, kind in enumerate(kinds) if kind in of_categories]


def _cells(column: Any, name: str) -> Floats | _Codes:
    """Read a column of a frame, or of objects."""
    dtype: Any = getattr(column, "dtype", None)
    kind = type(dtype).__name__
    if kind == "CategoricalDtype":
        return _Codes(np.asarray(column.cat.codes, np.int64), dtype.categories.tolist())
    if kind in ("Categorical", "Enum"):
        known = column.drop_nulls().unique()
        numbers = known.to_physical().to_numpy().astype(np.int64)
        order = np.argsort(numbers)
        given = column.to_physical().cast(int).fill_null(-1).to_numpy()
        codes = np.searchsorted(numbers[order], given)
        labels = known.to_list()
        return _Codes(np.where(given < 0, -1, codes), [labels[k] for k in order])
    values: Array = np.asarray(column)
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    cells = values.tolist()
    try:
        different = set(cells)
    except TypeError as error:
        raise refusal("X", f"have labels in {name}", f"an {error}") from None
    labels = [label for label in different if not is_missing(label)]
    position = {label: k for k, label in enumerate(labels)}
    return _Codes(np.fromiter((position.get(cell, -1) for cell in cells), np.int64), labels)


def _plain(column: Floats | _Codes) -> Floats | _Codes:
    """Return labels that all are numbers as numbers."""
    if isinstance(column, _Codes):
        if not all(isinstance(label, int | float | np.number) for label in column.labels):
            return column
        return np.array([*column.labels, np.nan], dtype=np.float64)[column.codes]
    return column


def _positions(given: Any, names: Sequence[Any] | None, n_features: int) -> list[int]:
    """Return the columns that `categorical_features` means."""
    what = "categorical_features"
    values = given.tolist() if hasattr(given, "tolist") else list(given)
    if values and all(isinstance(value, bool | np.bool_) for value in values):
        if len(values) != n_features:
            rule = f"have one True or False per column, {n_features} in all"
            raise refusal(what, rule, len(values), error=ValueError)
        return np.flatnonzero(values).tolist()
    if all(isinstance(value, str) for value in values):
        return sorted({_named(what, value, names) for value in values})
    for value in values:
        is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not is_whole or not -n_features <= value < n_features:
            rule = f"be names of columns, or positions below {n_features}"
            raise refusal(what, rule, repr(value), error=ValueError)
    return sorted({int(value) % n_features for value in values})


def _named(what: str, name: Any, names: Sequence[Any] | None) -> int:
    """Return the position of a column."""
    if names is None:
        rule = "have names only where X has names of columns"
        raise refusal(what, rule, repr(name), error=ValueError)
    if name not in names:
        hint = did_you_mean(name, names, {})
        raise refusal(what, "name columns of X", repr(name), hint=hint, error=ValueError)
    return names.index(name)


def _rises(given: Any, names: Sequence[Any] | None, n_features: int) -> Ints:
    """Return 1, 0 or -1 for each column, as `monotonic_cst` says."""
    what = "monotonic_cst"
    rises = np.zeros(n_features, dtype=np.int64)
    if given is None:
        return rises
    if isinstance(given, Mapping):
        values = {_named(what, name, names): value for name, value in given.items()}
    else:
        if len(given) != n_features:
            rule = f"have one number per column, {n_features} in all"
            raise refusal(what, rule, len(given), error=ValueError)
        values = dict(enumerate(given.tolist() if hasattr(given, "tolist") else given))
    for column, value in values.items():
        if isinstance(value, str) or value not in (-1, 0, 1):
            raise refusal(what, "be 1, 0 or -1", repr(value), error=ValueError)
        rises[column] = value
    return rises


def _write_levels(features: TreeFeatures) -> list[dict[str, Any]]:
    return [
        {"column": c, "labels": write_labels(kept.levels), "bins": kept.bins}
        for c, kept in features.levels.items()
    ]


def _read_levels(node: Node, name: str) -> dict[int, Levels]:
    found: dict[int, Levels] = {}
    n_features = node.sizes["features"]
    for child in node.children(name):
        column = child.whole("column", 0, n_features - 1)
        labels = child.labels("labels")
        bins = child.ints("bins", len(labels), below=MOST_BINS)
        if column in found:
            raise node.refuse(name, "one for each column at most")
        found[column] = Levels(_checked(child, labels), bins)
    return found


def _checked(node: Node, labels: Labels) -> Labels:
    """Refuse levels that could not be looked up."""
    if labels.dtype.kind == "f":
        # NaN is not above anything.
        is_sound = bool(np.isfinite(labels).all() and (labels[1:] > labels[:-1]).all())
    else:
        is_sound = labels.dtype == object and len(set(labels.tolist())) == len(labels)
    if not is_sound:
        raise node.refuse("labels", "distinct levels, numbers ascending")
    return labels


FEATURES = Table(
    Field("levels", FieldType(_read_levels), _write_levels), Field("rises", array("i8", "features"))
)
