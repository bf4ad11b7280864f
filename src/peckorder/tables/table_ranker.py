"""TableRanker: columns are prepared, then ranked."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_array, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from peckorder._base import ROUTED_TO_FIT, ROUTED_TO_PREDICT, ROUTED_TO_SCORE, all_or_nothing
from peckorder._core.errors import entry, refusal
from peckorder._core.typing import Array, Estimator, Floats, MatrixLike, VectorLike
from peckorder._core.validation import Rule, Rules, boolean, check_parameters, masked_as_nan
from peckorder.feedback import Preferences, Queries
from peckorder.metrics import rank_loss
from peckorder.storage.fields import OMITTED, Field, FieldType, Table, floats, nullable
from peckorder.storage.format import Node
from peckorder.storage.mixin import StoredModel, inner_models
from peckorder.storage.models import document, read_document
from peckorder.tables.answers import STORED_ANSWER, Answer, Cuts, LabelScale
from peckorder.tables.coded_columns import (
    CODERS,
    Coders,
    category_positions,
    coded,
    coded_names,
    heights_of,
    joined_levels,
    read_coders,
    warn_of_new_values,
    with_categories,
)
from peckorder.tables.coders import ByTarget, Coder, LeftOut, OneHot
from peckorder.tables.columns import Columns, categoricals, frame_names, in_seconds
from peckorder.tables.features import Coding
from peckorder.tables.scaling import Scaling

# Of fewer rows it says little that they have no value of a column that was learnt from.
_MANY_ROWS: Final = 10


def _complete(node: Node) -> None:
    values = node.values
    names = getattr(node.owner, "feature_names_in_", None)
    if names is not None and len(set(names.tolist())) < len(names):
        raise node.refuse("feature_names", "names that differ")
    values["coders_"] = read_coders(node)
    width = sum(len(coder.names("")) for coder in values["coders_"])
    if node.sizes.setdefault("prepared", width) != width:
        raise node.refuse("shift", f"of shape ({width})")
    shift, scale = values["shift_"], values["scale_"]
    if (shift is None) != (scale is None):
        is_absent = "null without shift" if shift is None else "one of the arrays"
        raise node.refuse("scale", is_absent)
    if scale is not None and not (scale > 0).all():
        raise node.refuse("scale", "positive")
    for name in ("target_", "query_"):
        values.setdefault(name, None)
    if getattr(values["ranker_"], "n_features_in_", None) != width:
        raise node.refuse("ranker.n_features", f"{width}, as many as columns")
    # Files of before there were answers have none.
    answer = values["answer_"] = values.pop("answer", None)
    if answer is not None and not hasattr(values["ranker_"], "rank"):
        raise node.refuse("answer", "missing where the ranker itself predicts classes")


def _write_ranker(ranker: object) -> dict[str, Any]:
    if not isinstance(ranker, StoredModel):
        raise refusal(
            "ranker",
            "be one of peckorder's own estimators to be saved, as a file holds no code",
            type(ranker).__name__,
            error=TypeError,
        )
    return document(ranker)


def _read_ranker(node: Node, name: str) -> StoredModel:
    inner = {n: kind for n, kind in inner_models().items() if n != "TableRanker"}
    model: StoredModel = read_document(node.child(name), inner)
    return model


# Files of earlier versions have no names of columns other than features.
_NAME = FieldType(Node.text)
_STORED = Table(
    *CODERS,
    Field("shift", nullable(floats("prepared")), "shift_"),
    Field("scale", nullable(floats("prepared")), "scale_"),
    Field("ranker", FieldType(_read_ranker, _write_ranker), "ranker_"),
    Field("target", _NAME, "target_", optional=True),
    Field("query", _NAME, "query_", optional=True),
    Field(
        "answer",
        STORED_ANSWER,
        lambda model: OMITTED if model.answer_ is None else model.answer_,
        optional=True,
    ),
    complete=_complete,
)


_ranker = Rule(
    "an estimator with fit and predict",
    lambda value: (
        hasattr(value, "fit") and hasattr(value, "predict") and not isinstance(value, type)
    ),
)


_columns = Rule(
    "None or a list of names of columns",
    lambda value: (
        value is None
        or (isinstance(value, list | tuple) and all(isinstance(name, str) for name in value))
    ),
)


def _passed(name: str) -> Any:
    return available_if(lambda model: hasattr(model._ranker(), name))


@entry
class TableRanker(StoredModel, BaseEstimator, stored=True):  # type: ignore[misc]
    """A ranker of tables: columns become numbers, which are scaled, and gaps are filled.

    ``x -> (x - mean) / deviation`` of each column of numbers, learnt by `fit`, and 0 for
    an empty cell, which is the mean. The ranker learns from these alone, and this model
    takes rows as they are in a file. It is what `peckorder fit` and
    `peckorder compare --save` save, and prepares columns as they do:

    - text of up to 20 values: a column of 1 and 0 for each, and one for rare values;
    - text of more values: the mean of `y` over the rows of a value, drawn towards the mean
      of all rows the more, the fewer rows it has. A row that is learnt from has the mean
      of other rows, those of other folds;
    - text of amounts (``53.3%``, ``$6,188.62``, ``12 km``): these numbers;
    - dates: year, month, day, weekday, hour, days since 1970, as far as they differ;
    - ordered categoricals, and words as ``low``, ``medium``, ``high``: their position;
    - ids, names and text that hardly comes twice: left out (`left_out_`).

    Parameters
    ----------
    ranker : estimator
        `PRank`, `MPRank`, or any other that takes rows of numbers.
    scale : bool, default=True
        Whether columns are scaled and gaps filled. If not, a gap is NaN, which
        `RankBoost` takes as an abstention, trees as missing, and others refuse; and for
        boosted trees text without an order is one column of up to 255 categories, which
        are set as the ranker's `categorical_features`.
    category : list of str, default=None
        Columns whose values have no order, though they are numbers or look ordered.
        Unordered categoricals of a frame are such columns, too.
    keep : list of str, default=None
        Columns that are kept, though they look like ids.

    Attributes
    ----------
    ranker_ : estimator
        The fitted ranker, of prepared rows.
    coders_ : list
        For each column how it becomes numbers.
    levels_ : list
        For each column its values if it has a prepared column for each, else None.
    left_out_ : dict
        The columns that are left out, and why.
    shift_, scale_ : ndarray of shape (n_prepared,) or None
        The means and deviations of prepared columns; None without `scale`.
    answer_ : Cuts, LabelScale or None
        What makes answers of the ranker's scores, where `peckorder compare --save` or
        `peckorder fit` learnt it: ``answer_.thresholds`` cut them into
        ``answer_.classes``; or ``answer_.origin + answer_.slope * score`` is on the
        scale of the labels. None after `fit`: the ranker's own answers.
    prepared_names_ : list of str
        The names of prepared columns, such as ``alcohol`` and ``colour=red``.
    target_, query_ : str or None
        The names of the column that was learnt and of the column of queries, if they
        are known: `y` and `qid` were series with names, or columns of a file.
    n_features_in_ : int
        The number of columns before they were prepared.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if `fit` was given a frame.

    See Also
    --------
    peckorder.load : Reads what the command line keeps.

    Notes
    -----
    A frame is read by the names of its columns: their order does not matter, and others
    are ignored. An array has the columns in the order of `feature_names_in_`. Values of
    text that were not in the training rows count as rare ones; if there were none, they
    are 0 in all columns of their feature.

    The methods ``rank``, ``decision_function``, ``mean_rank``, ``predict_proba``,
    ``explain`` and ``staged_predict`` exist if the ranker has them. More rows can be
    learnt by ``model.ranker_.partial_fit(model.prepare(X), y)``.

    O(n d) time and memory for n rows and d prepared columns, beside the ranker's.

    `predict`, `save` and copying may run in several threads at once; `fit` may not run
    beside anything else on the same object.

    Examples
    --------
    >>> import numpy as np
    >>> from peckorder import MPRank, TableRanker
    >>> X = np.array([[11.0, "red"], [9.5, "white"], [12.5, "red"], [None, "white"]])
    >>> model = TableRanker(MPRank(C=10)).fit(X, [6.0, 4.0, 8.0, 5.0])
    >>> model.rank(np.array([[10.0, "red"], [13.0, "red"]], dtype=object)).tolist()
    [2, 1]
    """

    _stored_fields: ClassVar = _STORED
    _rules: ClassVar[Rules] = {
        "ranker": _ranker,
        "scale": boolean,
        "category": _columns,
        "keep": _columns,
    }

    # Models that were pickled before there were answers have none.
    answer_: Answer | None = None

    __metadata_request__fit: ClassVar = ROUTED_TO_FIT
    __metadata_request__predict: ClassVar = ROUTED_TO_PREDICT
    __metadata_request__score: ClassVar = ROUTED_TO_SCORE

    def __init__(
        self,
        ranker: Estimator,
        *,
        scale: bool = True,
        category: Sequence[str] | None = None,
        keep: Sequence[str] | None = None,
    ) -> None:
        self.ranker = ranker
        self.scale = scale
        self.category = category
        self.keep = keep

    def fit(self, X: MatrixLike, y: VectorLike, **fit_params: object) -> Self:
        """Learn how to prepare columns, then the ranker.

        Parameters
        ----------
        X : frame, or array-like of shape (n_samples, n_features)
            The rows, numbers or text.
        y : array-like of shape (n_samples,)
            What the ranker learns.
        **fit_params
            Further arguments of its `fit`: ``qid``, ``sample_weight``, ``offset``.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_parameters(self, self._rules)
        for name in fit_params:
            if not has_fit_parameter(self.ranker, name):
                ranker = type(self.ranker).__name__
                rule = f"be left out of fit for a {ranker}, which does not take it"
                raise refusal(name, rule, "one", error=TypeError)
        with all_or_nothing(self):
            self._fit(X, y, fit_params)
        return self

    def _fit(self, X: MatrixLike, y: VectorLike, fit_params: Mapping[str, object]) -> None:
        names, arrays = self._table(X, reset=True)
        orders, categories = categoricals(X, names)
        table = Columns(dict(zip(names, arrays, strict=True)), "X", orders=orders)
        coding = Coding.of(
            table,
            names,
            category=(*categories, *(self.category or ())),
            keep=self.keep or (),
            by_values=False,
        )
        reasons = {role.column: role.why for role in coding.column_roles}
        coders = self._fit_coded(coding, table, y, fit_params)
        self.coders_ = [coders.get(name, LeftOut(reasons[name])) for name in names]
        self.target_, self.query_ = _name_of(y), _name_of(fit_params.get("qid"))

    def _fit_columns(self, coding: Coding, table: Columns, y: VectorLike | Preferences) -> None:
        """Learn from the columns of a file, of which `coding` says what becomes of them."""
        self.coders_ = list(self._fit_coded(coding, table, y, {}).values())
        self.n_features_in_ = len(self.coders_)
        self.feature_names_in_ = np.array(list(coding.coders), dtype=object)
        self.target_ = self.query_ = None

    def _fit_coded(
        self,
        coding: Coding,
        table: Columns,
        y: VectorLike | Preferences,
        fit_params: Mapping[str, object],
    ) -> Coders:
        """Learn codes, means and deviations, then the ranker; return the coders."""
        prepared = uncoded = coding.matrix(table)
        if any(isinstance(coder, ByTarget) for coder in coding.coders.values()):
            qid: Any = fit_params.get("qid")
            query = None if qid is None else Queries.of(qid, len(prepared)).of_rows()
            heights = heights_of(self.ranker, y, len(prepared))
            coding, prepared = coding.with_codes(prepared, heights, query)
        coders, ranker = coding.coders, clone(self.ranker)
        self.shift_, self.scale_ = None, None
        if self.scale:
            if np.isinf(prepared).any():
                column = int(np.argmax(np.isinf(prepared).any(axis=0)))
                got = f"some in column {coding.features[column]!r}"
                raise refusal("X", "be without infinity", got, error=ValueError)
            self.shift_, self.scale_ = scaling = Scaling.learn(prepared)
            prepared = scaling.apply(prepared)
        elif _takes_categories(ranker):
            prepared = joined_levels(coders, prepared, uncoded)
            coders = with_categories(coders)
            ranker.set_params(categorical_features=category_positions(coders) or None)
        self.answer_ = None
        self.ranker_ = ranker.fit(prepared, y, **fit_params)
        return coders

    @classmethod
    def _of(
        cls,
        ranker: Estimator,
        coders: Mapping[str, Coder],
        scaling: tuple[Floats, Floats] | None,
        answer: Answer | None = None,
    ) -> Self:
        """Return a fitted model of a ranker that was fitted to prepared rows."""
        model = cls(clone(ranker), scale=scaling is not None)
        model.ranker_, model.coders_ = ranker, list(coders.values())
        model.shift_, model.scale_ = (None, None) if scaling is None else scaling
        model.target_ = model.query_ = None
        model.answer_ = answer
        model.n_features_in_ = len(coders)
        model.feature_names_in_ = np.array(list(coders), dtype=object)
        return model

    @property
    def levels_(self) -> list[tuple[str, ...] | None]:
        """The values of each column that has a prepared column for each of them."""
        return [coder.levels if isinstance(coder, OneHot) else None for coder in self.coders_]

    @property
    def left_out_(self) -> dict[str, str]:
        """The columns that are left out, and why."""
        pairs = self._named_coders().items()
        return {name: coder.why for name, coder in pairs if isinstance(coder, LeftOut)}

    @property
    def prepared_names_(self) -> list[str]:
        """The names of prepared columns."""
        return coded_names(self._named_coders())

    def prepare(self, X: MatrixLike) -> Floats:
        """Return rows as the ranker takes them.

        Parameters
        ----------
        X : frame, or array-like of shape (n_samples, n_features)
            The rows as they are.

        Returns
        -------
        prepared : ndarray of shape (n_samples, n_prepared)
            Numbers, scaled if `scale`.
        """
        check_is_fitted(self)
        names, arrays = self._table(X, reset=False)
        if not hasattr(self, "feature_names_in_"):
            names = self._names()
        return self._prepared(dict(zip(names, arrays, strict=True)))

    def predict(self, X: MatrixLike, **params: object) -> Any:
        """Return the ranker's scores, or classes, of rows.

        Parameters
        ----------
        X : frame, or array-like of shape (n_samples, n_features)
            The rows as they are.
        **params
            Further arguments of its `predict`: ``offset``.

        Returns
        -------
        answers : ndarray of shape (n_samples,)
            As the ranker returns them; classes, or scores on the scale of the labels,
            if there is an `answer_`.
        """
        return self._answered(self._call("predict", X, **params))

    def score(self, X: MatrixLike, y: VectorLike, **fit_params: object) -> float:
        """Return the ranker's own `score` of rows; of classes minus the mean rank loss."""
        if isinstance(self.answer_, Cuts):
            return -float(rank_loss(y, self.predict(X), classes=self.classes_))
        return float(self._call("score", X, y, **fit_params))

    @_passed("rank")  # type: ignore[untyped-decorator]
    def rank(self, X: MatrixLike, qid: VectorLike | None = None, **params: object) -> Any:
        """Return the position of each row in the list of its query, 1 for the best."""
        return self._call("rank", X, qid, **params)

    @available_if(
        lambda model: (
            isinstance(model.answer_, Cuts) or hasattr(model._ranker(), "decision_function")
        )
    )  # type: ignore[untyped-decorator]
    def decision_function(self, X: MatrixLike) -> Any:
        """Return the scores that are compared with the thresholds of classes."""
        return self._call("predict" if isinstance(self.answer_, Cuts) else "decision_function", X)

    @_passed("mean_rank")  # type: ignore[untyped-decorator]
    def mean_rank(self, X: MatrixLike) -> Any:
        """Return the mean rank of each row by the ranker's rules."""
        return self._call("mean_rank", X)

    @_passed("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: MatrixLike) -> Any:
        """Return the share of rules that predict each class."""
        return self._call("predict_proba", X)

    @_passed("explain")  # type: ignore[untyped-decorator]
    def explain(self, X: MatrixLike) -> Any:
        """Return what each prepared column adds to the scores of rows."""
        added = self._call("explain", X)
        return self.answer_.slope * added if isinstance(self.answer_, LabelScale) else added

    @_passed("staged_predict")  # type: ignore[untyped-decorator]
    def staged_predict(self, X: MatrixLike, **params: object) -> Any:
        """Yield what `predict` would return after each round."""
        return map(self._answered, self._call("staged_predict", X, **params))

    def _call(self, method: str, X: MatrixLike, *args: object, **params: object) -> Any:
        prepared = self.prepare(X)  # before there is a `ranker_`, this is refused
        return getattr(self.ranker_, method)(prepared, *args, **params)

    @property
    def classes_(self) -> Any:
        """The classes that are predicted, lowest first, if there are some."""
        if isinstance(self.answer_, Cuts):
            return self.answer_.classes
        return self._ranker().classes_

    def __sklearn_tags__(self) -> Any:
        """Return the tags of scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = bool(self.scale) or takes_gaps(self.ranker)
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there is a fitted ranker."""
        return hasattr(self, "ranker_")

    def _ranker(self) -> Any:
        return getattr(self, "ranker_", self.ranker)

    def _answered(self, scores: Any) -> Any:
        return scores if self.answer_ is None else self.answer_(scores)

    def _names(self) -> list[str]:
        """Return names of columns: their own, or scikit-learn's for those without."""
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return [f"x{k}" for k in range(self.n_features_in_)]
        return [str(name) for name in names]

    def _named_coders(self) -> dict[str, Coder]:
        return dict(zip(self._names(), self.coders_, strict=True))

    def _prepared(self, columns: Mapping[str, Array], *, is_scaled: bool = True) -> Floats:
        """Return prepared columns; those that are left out may be missing."""
        n_rows = len(next(iter(columns.values())))
        coders = self._named_coders()
        X = coded(coders, columns, n_rows)
        if n_rows >= _MANY_ROWS:
            warn_of_new_values(coders, columns)
        if self.shift_ is None or self.scale_ is None or not is_scaled:
            return X
        return Scaling(self.shift_, self.scale_).apply(X)

    def _table(self, X: MatrixLike, *, reset: bool) -> tuple[list[str], list[Array]]:
        """Return names and columns; of a frame the features, by name."""
        frame = frame_names(X)
        if frame is not None:
            names = list(frame) if reset else self._features_in(frame)
            if len(set(frame)) < len(frame):
                raise refusal("columns of X", "have names that differ", "one twice")
            if reset:
                validate_data(self, X, reset=True, skip_check_array=True)
            table: Any = X
            return names, [in_seconds(table[name].to_numpy()) for name in names]
        X = masked_as_nan(X)
        options: dict[str, Any] = {"dtype": None, "ensure_all_finite": False}
        if reset:
            table = validate_data(self, X, **options)
        else:
            # Not by validate_data, which would warn of arrays: columns in their order
            # are as good as names.
            table = check_array(X, **options, estimator=self, input_name="X")
            self._check_width(table.shape[1])
        names = self._names()
        if table.dtype.kind not in "biufOU":
            table = check_array(table, dtype=np.float64, ensure_all_finite=False)
        if table.dtype.kind == "U":
            table = table.astype(object)
        return names, list(table.T)

    def _check_width(self, n_columns: int) -> None:
        """Refuse another number of columns than there was, in scikit-learn's words."""
        if n_columns != self.n_features_in_:
            raise ValueError(
                f"X has {n_columns} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )

    def _features_in(self, frame: Sequence[str]) -> list[str]:
        if not hasattr(self, "feature_names_in_"):
            self._check_width(len(frame))
            return list(frame)
        needed = [n for n, coder in self._named_coders().items() if type(coder) is not LeftOut]
        missing = [name for name in needed if name not in set(frame)]
        if missing:
            rule = "have all columns that were learnt from"
            raise refusal("X", rule, f"none called {missing[0]!r}")
        return needed


def _name_of(column: object) -> str | None:
    """Return the name of a series, if it is a text."""
    name = getattr(column, "name", None)
    return name if isinstance(name, str) else None


def _takes_categories(ranker: Any) -> bool:
    """Return whether a ranker is trees, which divide categories without an order."""
    has_them = hasattr(ranker, "categorical_features")
    return has_them and getattr(ranker, "weak", "tree") == "tree"


def takes_gaps(ranker: object) -> bool:
    """Return whether NaN in a row means something to a ranker."""
    return isinstance(ranker, BaseEstimator) and bool(get_tags(ranker).input_tags.allow_nan)
