"""A model and its rows: features found by name in a file, scores, and what adds to them."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from scipy import sparse as sp

from peckorder._core import column_names as words
from peckorder._core.errors import refusal
from peckorder._core.typing import Array, Floats, Predictor
from peckorder.boosting.ordinal_boost import OrdinalBoost
from peckorder.boosting.rankboost import RankBoost
from peckorder.ordinal.multiclass_perceptron import MulticlassPerceptron
from peckorder.tables.answers import Cuts, LabelScale
from peckorder.tables.coders import ByTarget, Category, Coder, LeftOut, Number
from peckorder.tables.columns import Columns, listed
from peckorder.tables.features import MOST_LEVELS, SCALED, matrix_of
from peckorder.tables.table_ranker import TableRanker, takes_gaps

_NOT_FEATURES: Final = words.QUERY | words.TARGET | words.ID


@dataclass(frozen=True, slots=True, eq=False)
class ModelRows:
    """A fitted model that predicts from arrays, with the names of its features if any.

    `model` is the ranker itself; `table`, if there is one, prepares columns for it;
    then `names` are those of columns.
    """

    model: Any
    names: tuple[str, ...] | None
    table: TableRanker | None = None

    @classmethod
    def of(cls, model: Any) -> Self:
        """Remove the names from a model, which would warn of arrays without them."""
        found = getattr(model, "feature_names_in_", None)
        names = None if found is None else tuple(map(str, found))
        if isinstance(model, TableRanker):
            return cls(model.ranker_, names, model)
        if names is not None:
            del model.feature_names_in_
        return cls(model, names)

    @property
    def n_features(self) -> int:
        """How many features a row has."""
        return int((self.table or self.model).n_features_in_)

    def sources(self, source: str, header: Sequence[str]) -> dict[str, str]:
        """Return the column of each feature; refuse if one is missing.

        Of a model without names these are all columns that by their names are neither
        queries, targets nor ids, in their order.
        """
        if self.names is None:
            left = [n for n in header if not words.first_named([n], _NOT_FEATURES)]
            if len(left) != self.n_features:
                raise refusal(
                    source,
                    f"have {self.n_features} columns of features, as the model "
                    "has, which keeps no names",
                    f"{len(left)}: {listed(left)}",
                )
            return {name: name for name in left}
        if self.table is None:
            found = {name: source_of(name, header) for name in self.names}
        else:
            found = {name: name if name in header else None for name in self._coders()}
        missing = [unscaled(name) for name, column in found.items() if column is None]
        if missing:
            raise refusal(
                source,
                "have all columns that the model learnt from",
                f"none for {listed(missing)}",
                hint=f"It has {listed(header)}.",
            )
        return {name: column for name, column in found.items() if column is not None}

    def _coders(self) -> dict[str, Coder]:
        """Return how columns become numbers, but for those that are left out."""
        coders = {} if self.table is None else self.table._named_coders()
        return {name: coder for name, coder in coders.items() if type(coder) is not LeftOut}

    def names_of_rows(self) -> set[str]:
        """Return the columns by whose values rows are recognised: text of many values."""
        return {
            name
            for name, coder in self._coders().items()
            if isinstance(coder, ByTarget)
            or (isinstance(coder, Category) and len(coder.levels) > MOST_LEVELS)
        }

    def numbers(self, sources: dict[str, str]) -> Collection[str]:
        """Return the columns that are numbers; others are text as it stands."""
        if self.table is not None:
            return {name for name, coder in self._coders().items() if coder.reads_numbers}
        return {column for name, column in sources.items() if unscaled(name) == column}

    def levels(self, sources: dict[str, str]) -> dict[str, tuple[frozenset[str], str]]:
        """Return, for columns of text, the values learnt from, and what others count as."""
        if self.table is not None:
            known = {name: (coder.known(), coder) for name, coder in self._coders().items()}
            number = self._gap()
            return {
                name: (values, coder.unseen or number)
                for name, (values, coder) in known.items()
                if values is not None and not coder.reads_numbers
            }
        found: dict[str, set[str]] = {}
        for feature, column in sources.items():
            inner = unscaled(feature)
            if inner != column:
                found.setdefault(column, set()).add(inner[len(column) + 1 :])
        return {column: (frozenset(values), "none") for column, values in found.items()}

    def _gap(self) -> str:
        """Return what NaN means to the model."""
        is_filled = self.table is not None and self.table.scale_ is not None
        may_miss = takes_gaps(self.model) and not is_filled
        if may_miss:
            abstains = isinstance(self.model, RankBoost) and not hasattr(self.model, "forest_")
            return "an abstention" if abstains else "a missing value"
        return "the mean"

    def gaps(self, sources: dict[str, str]) -> dict[str, str]:
        """Return what an empty cell of each column means."""
        coders, texts = self._coders(), self.levels(sources)
        number = self._gap()
        if self.table is None:
            columns = sources.values()
            return {c: "none of its values" if c in texts else number for c in columns}
        return {name: coder.gap or number for name, coder in coders.items()}

    def matrix(self, columns: Columns, n_before: int = 0) -> Floats:
        """Return the features of rows, the first of which is row `n_before` + 1."""
        sources = self.sources(columns.source, columns.names)
        if self.table is None:
            for name in sorted(self.numbers(sources)):
                _check_cells(columns, name, Number(), n_before)
            names = self.names or tuple(sources)
            X = matrix_of(columns, names)
        else:
            for name, coder in sorted(self._coders().items()):
                _check_cells(columns, name, coder, n_before)
            names = tuple(self.table.prepared_names_)
            X = self.table._prepared(columns.arrays)
        self.check_cells(columns.source, X, n_before, names)
        return X

    def array(self, X: Any) -> Any:
        """Return rows without names, in the order of the features, for the ranker."""
        if self.table is None:
            return X
        dense = X.toarray() if sp.issparse(X) else X
        return self.table._prepared(dict(zip(self.table._names(), dense.T, strict=True)))

    def before(self, columns: Columns) -> tuple[tuple[str, ...], Floats]:
        """Return names and values of features as they are before scaling."""
        sources = self.sources(columns.source, columns.names)
        if self.table is None:
            plain = tuple(map(unscaled, self.names or tuple(sources)))
            return plain, matrix_of(columns, plain)
        names = tuple(self.table.prepared_names_)
        return names, self.table._prepared(columns.arrays, is_scaled=False)

    def added(self, X: Any) -> dict[str, Array]:
        """Return the columns that are added to rows: scores, and classes if there are some.

        Scores are on the scale of the labels if the model knows it.
        """
        score, answer = scores_of(self.model, X), None if self.table is None else self.table.answer_
        if isinstance(answer, LabelScale):
            return {"score": answer(score)}
        classes = None
        if isinstance(answer, Cuts):
            classes = answer(score)
        elif gives_classes(self.model):
            classes = np.asarray(self.model.predict(X))
        if classes is None:
            return {"score": score}
        is_text = classes.dtype.kind not in "iuf"
        return {"score": score, "predicted": classes.astype(object) if is_text else classes}

    @property
    def explained(self) -> str:
        """What contributions of features add up to."""
        return "mean log odds" if isinstance(self.model, OrdinalBoost) else "score"

    def contributions(self, X: Any) -> tuple[Floats, Floats]:
        """Return what each prepared column adds to the scores of rows, and a constant."""
        added, constant = contributions(self.model, X)
        answer = None if self.table is None else self.table.answer_
        if isinstance(answer, LabelScale):
            return answer.slope * added, answer(constant)
        return added, constant

    def check_cells(
        self, source: str, X: Any, n_before: int = 0, names: Sequence[str] | None = None
    ) -> None:
        """Refuse empty or infinite cells that the model cannot use."""
        cells = X.data if sp.issparse(X) else X
        may_miss = takes_gaps(self.model)
        is_bad = np.isinf(cells) if may_miss else ~np.isfinite(cells)
        if not is_bad.any():
            return
        dense = X.toarray() if sp.issparse(X) else X
        is_bad = np.isinf(dense) if may_miss else ~np.isfinite(dense)
        row, column = np.argwhere(is_bad)[0].tolist()
        name = str(column + 1) if names is None else unscaled(names[column])
        value = "an empty cell" if np.isnan(dense[row, column]) else dense[row, column]
        raise refusal(
            f"column {name!r} of {source}",
            "be finite numbers",
            f"{value} in row {n_before + row + 1}",
        )


def unscaled(feature: str) -> str:
    """Return a feature without its scaling."""
    formula = SCALED.fullmatch(feature)
    return feature if formula is None else formula[1]


def source_of(feature: str, header: Sequence[str]) -> str | None:
    """Return the column of a feature, if there is one."""
    if feature in header:
        return feature
    inner = unscaled(feature)
    if inner in header:
        return inner
    for at in (match.start() for match in re.finditer("=", inner)):
        if inner[:at] in header:
            return inner[:at]
    return None


def _check_cells(columns: Columns, name: str, coder: Coder, n_before: int) -> None:
    """Refuse a cell that a coder cannot read, by the number of its row in the file."""
    row = coder.first_wrong(columns.arrays[name])
    if row is not None:
        raise refusal(
            f"column {name!r} of {columns.source}",
            coder.rule,
            f"{str(columns.arrays[name][row])[:40]!r} in row {n_before + row + 1}",
        )


def scores_of(model: Predictor, X: Any) -> Floats:
    """Return a score for each row, larger is better.

    Of an ordinal model it is the score that is compared with thresholds, or the mean
    rank of the voted rule or by probabilities, or the position of the predicted class.
    """
    if hasattr(model, "rank"):
        return np.asarray(model.predict(X))
    if isinstance(model, MulticlassPerceptron):
        return np.asarray(np.argmax(model.decision_function(X), axis=1), dtype=np.float64)
    if hasattr(model, "decision_function") and not isinstance(model, OrdinalBoost):
        return np.asarray(model.decision_function(X))
    if hasattr(model, "mean_rank"):
        return np.asarray(model.mean_rank(X))
    raise refusal(
        "the model",
        "score rows of features, or people's items",
        type(model).__name__,
        error=ValueError,
    )


def gives_classes(model: object) -> bool:
    """Return whether a fitted ranker predicts classes, not only scores."""
    return hasattr(model, "classes_") and not hasattr(model, "rank")


def contributions(model: Any, X: Any) -> tuple[Floats, Floats]:
    """Return what each feature adds to the scores of rows, and the constant part.

    Their sum is the score, of OrdinalBoost the mean log odds. Of boosted models these are
    what they say themselves, of RankBoost the sums of its rankings by feature; of a
    linear model ``coef * x``, x
    scaled to length one with its constant where the model does so. Other scores are no
    sums over features.
    """
    if hasattr(model, "explain"):
        added = model.explain(X)
        if gives_classes(model):
            return added, np.full(len(added), model.expected_value_)
        return added, model.predict(X) - added.sum(axis=1)
    coef = getattr(model, "coef_", None)
    if coef is None or np.ndim(coef) != 1:
        raise refusal(
            "the model",
            "be boosted for scores, PersonalRanker or linear with one weight per feature",
            " ".join(repr(model).split()),
            error=ValueError,
        )
    rows = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    constant = np.full(len(rows), float(getattr(model, "intercept_", 0.0)))
    if getattr(model, "unit_norm", False):
        squares = np.einsum("ij,ij->i", rows, rows) + bool(model.fit_intercept)
        length = np.sqrt(np.where(squares > 0.0, squares, 1.0))
        rows, constant = rows / length[:, None], constant / length
    return rows * coef, constant
