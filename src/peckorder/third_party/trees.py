"""What boosted trees of all other libraries have in common."""

from abc import ABCMeta, abstractmethod
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar, Final, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from peckorder._base import all_or_nothing
from peckorder._core.errors import entry, named, refusal, requiring
from peckorder._core.parameters import SEED
from peckorder._core.typing import Bools, Floats, Ints, MatrixLike, VectorLike
from peckorder._core.validation import Rule, Rules, check_parameters, not_negative, positive, whole
from peckorder.feedback import LabelColumn, Queries, Scale, read_grades, read_labels
from peckorder.metrics import disagreement, rank_loss, ranks
from peckorder.storage.fields import Field, FieldType, Table, ints
from peckorder.storage.format import Damaged, Node
from peckorder.storage.mixin import StoredModel
from peckorder.storage.models import refused_parameters

# Longer texts of models are not read: Python needs some ten times as much for them.
LONGEST: Final = 1 << 28
# Levels of categories are numbers below this: each library keeps sets of them.
MOST_LEVELS: Final = 256


def installed(package: str) -> bool:
    """Return whether a package can be imported."""
    return find_spec(package) is not None


def _read_model(node: Node, name: str) -> Any:
    """Return the booster of a text that has been checked."""
    owner: Trees = node.owner
    text = node.array(name, "u1", None).tobytes()
    if len(text) > LONGEST:
        raise node.refuse(name, f"of at most {LONGEST:,} bytes")
    if not text.isascii():
        raise node.refuse(name, "a text in ASCII")
    n_classes = 0 if owner.classes is None else len(node.values.get("seen_", ()))
    n_features = node.sizes["features"]
    if max(owner._categories, default=-1) >= n_features:
        raise node.refuse(name, "of no more categories than features")
    owner._check_text(text.decode("ascii"), n_features, n_classes)
    library = owner._library()
    try:
        return owner._loaded(library, text)
    except Exception:  # each library has classes of its own
        raise node.refuse(name, f"a text that {owner.package} reads") from None


def _write_model(model: Any) -> Any:
    if model.model_ is None:
        return None
    return np.frombuffer(model._text(model.model_), dtype=np.uint8)


def _complete(node: Node) -> None:
    values, owner = node.values, node.owner
    values["model_"] = values.pop("model", None)
    if owner.classes is not None:
        with refused_parameters(), named(type(owner).__name__):
            scale = Scale.given(owner.classes)
        seen = values.get("seen_")
        if seen is None or not 0 < len(seen) <= len(scale) or seen[-1] >= len(scale):
            raise node.refuse("seen", "levels of the classes")
        values["classes_"] = scale.classes
        if (values["model_"] is None) != (len(seen) == 1):
            raise node.refuse("model", "missing where one class was seen, and there alone")
    elif values["model_"] is None or "seen_" in values:
        raise node.refuse("model", "there, and seen levels not, without classes")


_STORED: Final = Table(
    Field("seen", ints(None, rising=True), "seen_", optional=True),
    Field("model", FieldType(_read_model, lambda text: text), _write_model, optional=True),
    complete=_complete,
)


def _with_classes(model: Any) -> bool:
    return model.classes is not None


def _without_classes(model: Any) -> bool:
    return model.classes is None


def _are_positions(value: object) -> bool:
    if value is None:
        return True
    is_list = isinstance(value, list | tuple) and len(set(map(repr, value))) == len(value)
    return is_list and all(whole(0).accepts(position) for position in value)  # type: ignore[attr-defined]


@entry
class Trees(StoredModel, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """Boosted trees: of lists within queries, of classes if asked for, else least squares.

    A library goes by the number of `leaves` of a tree, or by its `depth`; `sizes` has
    those that a comparison tries, `sizes_of_levels` what it tries besides where there are
    categories. `model_` is the library's own booster, None where one
    class was seen.
    """

    package: ClassVar[str]
    sizes: ClassVar[Mapping[str, Sequence[object]]]
    sizes_of_levels: ClassVar[Mapping[str, Sequence[object]]] = {}

    _stored_fields: ClassVar = _STORED
    _rules: ClassVar[Rules] = {
        "n_estimators": whole(1),
        "learning_rate": positive,
        "leaves": Rule("an integer from 2 to 4096", lambda v: whole(2).accepts(v) and v <= 4096),
        "depth": Rule("an integer from 1 to 16", lambda v: whole(1).accepts(v) and v <= 16),
        "categorical_features": Rule(
            "None or a list of positions of columns, each once", _are_positions
        ),
        "cat_smooth": not_negative,
        "random_state": SEED,
    }

    def __init__(
        self,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        *,
        leaves: int = 15,
        depth: int = 5,
        classes: VectorLike | None = None,
        categorical_features: Sequence[int] | None = None,
        cat_smooth: float = 10.0,
        random_state: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.leaves = leaves
        self.depth = depth
        self.classes = classes
        self.categorical_features = categorical_features
        self.cat_smooth = cat_smooth
        self.random_state = random_state

    def fit(self, X: MatrixLike, y: VectorLike, qid: VectorLike | None = None) -> Self:
        """Boost trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; NaN is a missing value. Categories are whole numbers from 0 to 255.
        y : array-like of shape (n_samples,)
            Their labels: numbers, or some of `classes`.
        qid : array-like of shape (n_samples,), default=None
            The query of each row; not used with `classes`.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_parameters(self, self._rules)
        library = self._library()
        with all_or_nothing(self):
            rows = validate_data(self, X, dtype=np.float64, ensure_all_finite=False)
            self._check_categories(rows)
            column = read_labels(y)
            column.check_length(len(rows))
            if self.classes is not None:
                self._fit_classes(library, rows, column)
                return self
            values = read_grades(y)
            if qid is None:
                self.model_ = self._boosted(library, "values", rows, values, None)
            else:
                Queries.of(qid, len(rows))  # refuses what is not one query per row
                queries = np.unique(np.asarray(qid), return_inverse=True)[1]
                order = np.argsort(queries, kind="stable")
                lists = rows[order], grades(values)[order], queries[order]
                self.model_ = self._boosted(library, "lists", *lists)
        return self

    def _fit_classes(self, library: Any, X: Floats, column: LabelColumn) -> None:
        scale = Scale.given(self.classes)
        levels = scale.levels(column, slice(None))
        self.classes_ = scale.classes
        self.seen_, target = np.unique(levels, return_inverse=True)
        is_alone = len(self.seen_) == 1
        self.model_ = None if is_alone else self._boosted(library, "classes", X, target, None)

    def rename(self, classes: VectorLike) -> Self:
        """Give the classes of a fitted ranker other names, in the same order."""
        self.classes_ = Scale.given(classes).classes
        return self.set_params(classes=classes)  # type: ignore[no-any-return]

    def predict(self, X: MatrixLike, rounds: int | None = None) -> Any:
        """Return scores, or median classes, after all rounds or the first few.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        rounds : int, default=None
            After how many rounds; None for all.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Larger is better; or one of `classes` for each row.
        """
        rows = self._rows(X)
        if self.classes is None:
            return np.asarray(self._scores(rows, rounds), dtype=np.float64)
        is_below = np.cumsum(self._shares(rows, rounds)[:, :-1], axis=1) < 0.5
        return self.classes_[self.seen_[is_below.sum(axis=1)]]

    def score(self, X: MatrixLike, y: VectorLike, qid: VectorLike | None = None) -> float:
        """Return 1 minus the disagreement, or of classes minus the mean rank loss."""
        if self.classes is not None:
            return -float(rank_loss(y, self.predict(X), classes=self.classes_))
        values = np.asarray(y, dtype=np.float64)
        return 1.0 - float(disagreement(values, self.predict(X), qid=qid))

    @available_if(_without_classes)  # type: ignore[untyped-decorator]
    def rank(self, X: MatrixLike, qid: VectorLike | None = None) -> Ints:
        """Return the position of each row in the list of its query, 1 for the best."""
        return ranks(self.predict(X), qid)

    @available_if(_without_classes)  # type: ignore[untyped-decorator]
    def explain(self, X: MatrixLike) -> Floats:
        """Return what each feature adds to the scores of rows, by the library's SHAP values."""
        return np.asarray(self._contributions(self._rows(X)), dtype=np.float64)

    @available_if(_with_classes)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: MatrixLike) -> Floats:
        """Return the probability of each class, 0 for those that were not seen."""
        rows = self._rows(X)
        shares = np.zeros((len(rows), len(self.classes_)))
        shares[:, self.seen_] = self._shares(rows, None)
        return shares

    @available_if(_with_classes)  # type: ignore[untyped-decorator]
    def decision_function(self, X: MatrixLike) -> Floats:
        """Return the mean position of the class, from 0 on, by the probabilities."""
        return np.asarray(self._shares(self._rows(X), None) @ self.seen_)

    def _rows(self, X: MatrixLike) -> Floats:
        check_is_fitted(self)
        rows: Floats = validate_data(
            self, X, reset=False, dtype=np.float64, ensure_all_finite=False
        )
        if not self._categories:
            return rows
        columns = np.array(self._categories)
        rows, given = rows.copy(), rows[:, columns]
        rows[:, columns] = np.where(_are_levels(given), given, np.nan)
        return rows

    @property
    def _categories(self) -> list[int]:
        """The columns that are categories, ascending."""
        return sorted(int(column) for column in self.categorical_features or ())

    def _check_categories(self, X: Floats) -> None:
        columns = self._categories
        if columns and columns[-1] >= X.shape[1]:
            rule = f"be positions below {X.shape[1]}"
            raise refusal("categorical_features", rule, columns[-1])
        given = X[:, columns]
        is_wrong = ~(_are_levels(given) | np.isnan(given))
        if is_wrong.any():
            rule = f"be whole numbers from 0 to {MOST_LEVELS - 1} in columns of categories"
            raise refusal("X", rule, float(given[is_wrong][0]))

    def _shares(self, X: Floats, rounds: int | None) -> Floats:
        """Return the probability of each class that was seen."""
        if self.model_ is None:
            return np.ones((len(X), 1))
        shares = np.asarray(self._scores(X, rounds), dtype=np.float64)
        return np.stack([1 - shares, shares], axis=1) if shares.ndim == 1 else shares

    def _library(self) -> Any:
        with requiring(self.package, f"for a {type(self).__name__} model", self.package):
            return import_module(self.package)

    def __sklearn_tags__(self) -> Any:
        """Declare to scikit-learn what the estimator accepts."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there is a booster, or one class."""
        return hasattr(self, "model_")

    @abstractmethod
    def _boosted(self, library: Any, kind: str, X: Floats, y: Any, qid: Ints | None) -> Any:
        """Return a booster of "values", of "classes" from 0 on, or of "lists".

        Rows of lists are sorted by query, which are numbers from 0 on.
        """

    @abstractmethod
    def _scores(self, X: Floats, rounds: int | None) -> Any:
        """Return scores, or probabilities of classes, after so many rounds."""

    @abstractmethod
    def _contributions(self, X: Floats) -> Any:
        """Return what features add to scores."""

    @abstractmethod
    def _text(self, model: Any) -> bytes:
        """Return a booster as its library writes it, in ASCII."""

    @abstractmethod
    def _loaded(self, library: Any, text: bytes) -> Any:
        """Return the booster of a text."""

    @abstractmethod
    def _check_text(self, text: str, n_features: int, n_classes: int) -> None:
        """Refuse a text whose trees could not be followed; `n_classes` is 0 for scores."""


def _are_levels(cells: Floats) -> Bools:
    return np.asarray((cells >= 0) & (cells < MOST_LEVELS) & (cells == np.floor(cells)))


def few_threads(X: Floats) -> bool:
    """Return whether a table is small: more than one thread would be slower on it."""
    return bool(X.size < 1_000_000)


def grades(y: Floats) -> Ints:
    """Return grades as these packages take them: integers from 0 to 30."""
    values, position = np.unique(y, return_inverse=True)
    is_plain = values[0] >= 0 and values[-1] <= 30 and (values % 1 == 0).all()
    if is_plain:
        return y.astype(np.int64)
    if len(values) <= 31:
        return np.asarray(position)
    cuts = np.quantile(y, np.arange(1, 16) / 16)
    return np.searchsorted(cuts, y)


def require(fits: bool, rule: str) -> None:
    """Refuse a text of which a rule does not hold."""
    if not fits:
        raise Damaged(f"in which the model of another library must have {rule}")


def fields(value: Any, required: str, optional: str = "") -> dict[str, Any]:
    """Return an object of JSON that has the required names, and no others than optional ones."""
    names = set(required.split())
    is_object = isinstance(value, dict) and names <= value.keys()
    rule = f"the entries {', '.join(sorted(names))} in one place"
    require(is_object and value.keys() <= names | set(optional.split()), rule)
    return value  # type: ignore[no-any-return]


def integers(values: Any, low: int, high: int, n: int | None = None) -> Ints:
    """Return a list of JSON with n integers from low to below high."""
    is_list = isinstance(values, list) and n in (None, len(values))
    fits = is_list and all(type(value) is int and low <= value < high for value in values)
    require(fits, f"lists of the right length of integers from {low} to below {high}")
    return np.array(values, dtype=np.int64)


def finite_numbers(values: Any, n: int | None = None) -> Floats:
    """Return a list of JSON with n finite numbers."""
    is_list = isinstance(values, list) and n in (None, len(values))
    fits = is_list and all(type(value) in (int, float) and abs(value) < 1e308 for value in values)
    require(fits, "lists of the right length of finite numbers")
    return np.array(values, dtype=np.float64)
