"""CalibratedOrdinal: probabilities of ordered classes, for any ranker that has scores."""

from typing import Any, ClassVar, Final, NamedTuple, Self

import numpy as np
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator, clone
from sklearn.utils import ClassifierTags, get_tags, indexable
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from peckorder._base import all_or_nothing, shares_of
from peckorder._core.errors import entry, refusal
from peckorder._core.typing import Estimator, Floats, Ints, Labels, MatrixLike, VectorLike
from peckorder._core.validation import Rule, Rules, check_parameters, whole
from peckorder.feedback import Scale, read_labels
from peckorder.metrics import rank_loss
from peckorder.storage.fields import Field, FieldType, Table, floats, number, scale
from peckorder.storage.format import Node
from peckorder.storage.format.labels import write_labels
from peckorder.storage.mixin import StoredModel, inner_models
from peckorder.storage.models import document, read_document

_MOST_STEPS: Final = 200
# Scores that differ by less are equal, relative to the largest, and whatever it is.
_ROUNDING: Final = 1e-12
_SMALLEST: Final = 1e-300

_ranker = Rule(
    "an estimator with fit and predict",
    lambda value: (
        hasattr(value, "fit") and hasattr(value, "predict") and not isinstance(value, type)
    ),
)
_folds = Rule(
    "an integer >= 2, 'prefit', or a splitter of scikit-learn",
    lambda value: (
        value == "prefit"
        if isinstance(value, str)
        else whole(2).accepts(value) or callable(getattr(value, "split", None))
    ),
)


class Odds(NamedTuple):
    """What makes probabilities of a score: see `CalibratedOrdinal`.

    Thresholds ascend strictly, and the slope is not negative: a higher score never makes
    a higher level less likely.
    """

    slope: float
    center: float
    thresholds: Floats


def fit_odds(scores: Floats, levels: Ints, n_levels: int, weight: Floats | None = None) -> Odds:
    """Return the proportional odds with the most likelihood, by Newton's method.

    The likelihood of level y at score s, ``F(b[y] - a s) - F(b[y-1] - a s)``, is
    ``F(b[y] - a s) F(a s - b[y-1]) (1 - exp(b[y-1] - b[y]))``: its logarithm is concave,
    and minus infinity where thresholds meet, so that they stay in order. To it the
    weight of one row is added, shared by all levels at one deviation on either side of
    the mean: with it there is one maximum, of finite numbers, even where scores separate
    levels or a level has no row. O(n + k**3) time per step.
    """
    weight = np.ones(len(scores)) if weight is None else weight
    size = float(np.abs(scores).max()) or 1.0
    x = scores / size  # whose squares are numbers
    mean = float(np.average(x, weights=weight))
    spread = float(np.sqrt(np.average((x - mean) ** 2, weights=weight)))
    is_flat = not (spread > _ROUNDING and spread * size > _SMALLEST)
    spread = 1.0 if is_flat else spread
    every = np.arange(n_levels)
    z = np.concatenate([(x - mean) / spread, np.repeat([-1.0, 1.0], n_levels)])
    level = np.concatenate([levels, every, every])
    w = np.concatenate([weight, np.full(2 * n_levels, 0.5 / n_levels)])
    share = np.cumsum(np.bincount(level, w, n_levels))[:-1] / w.sum()
    start = np.append(0.0, np.log(share) - np.log1p(-share))
    found = start if is_flat else _maximum(z, level, w, start)
    if found[0] <= 0.0:
        # The best slope that does not fall is 0, and then thresholds are those of shares.
        return Odds(0.0, mean * size, start[1:])
    return Odds(float(found[0]) / (spread * size), mean * size, found[1:])


def _maximum(z: Floats, level: Ints, w: Floats, start: Floats) -> Floats:
    at = start
    value, gradient, hessian = _likelihood(z, level, w, at)
    for _ in range(_MOST_STEPS):
        step = np.linalg.solve(hessian, gradient)
        gain = float(gradient @ step)
        if not gain > 1e-20 * len(z):
            break
        size = 1.0
        while size > 1e-12:
            after = at + size * step
            if (np.diff(after[1:]) > 0.0).all():
                new = _likelihood(z, level, w, after)
                if new[0] >= value + 1e-4 * size * gain:
                    break
            size /= 2.0
        else:
            break
        at, (value, gradient, hessian) = after, new
    return at


def _likelihood(z: Floats, level: Ints, w: Floats, at: Floats) -> tuple[float, Floats, Floats]:
    """Return the log likelihood, its gradient, and minus its matrix of second derivatives."""
    slope, thresholds = at[0], at[1:]
    n = len(thresholds)
    gradient, hessian = np.zeros(n + 1), np.zeros((n + 1, n + 1))
    value = 0.0
    for sign, first in ((1.0, level < n), (-1.0, level > 0)):
        # The threshold above a row, then the one below it.
        r = level[first] if sign > 0 else level[first] - 1
        x, weight = z[first], w[first]
        margin = sign * (thresholds[r] - slope * x)
        value += float(weight @ log_expit(margin))
        pull = sign * weight * expit(-margin)
        curve = weight * expit(margin) * expit(-margin)
        gradient[0] -= pull @ x
        gradient[1:] += np.bincount(r, pull, n)
        cross = np.bincount(r, curve * x, n)
        hessian[0, 0] += curve @ (x * x)
        hessian[0, 1:] -= cross
        hessian[1:, 0] -= cross
        hessian[np.arange(1, n + 1), np.arange(1, n + 1)] += np.bincount(r, curve, n)
    if n > 1:
        mass = np.bincount(level, w, n + 1)[1:-1]
        gap = np.diff(thresholds)
        value += float(mass @ np.log(-np.expm1(-gap)))
        pull = mass / np.expm1(gap)
        curve = pull * (1.0 + 1.0 / np.expm1(gap))
        gradient[2:] += pull
        gradient[1:-1] -= pull
        low = np.arange(1, n)
        hessian[low, low] += curve
        hessian[low + 1, low + 1] += curve
        hessian[low, low + 1] -= curve
        hessian[low + 1, low] -= curve
    return value, gradient, hessian


def _read_estimator(node: Node, name: str) -> Any:
    inner = {n: kind for n, kind in inner_models().items() if n != "CalibratedOrdinal"}
    return read_document(node.child(name), inner)


def _write_estimator(model: object) -> dict[str, Any]:
    if not isinstance(model, StoredModel):
        raise refusal(
            "estimator",
            "be one of peckorder's own estimators to be saved, as a file holds no code",
            type(model).__name__,
            error=TypeError,
        )
    return document(model)


def _write_classes(model: Any) -> Any:
    return write_labels(model.classes_)


def _complete(node: Node) -> None:
    values = node.values
    if not (np.diff(values["thresholds_"]) > 0.0).all():
        raise node.refuse("thresholds", "strictly ascending")
    values["classes_"] = values.pop("classes").classes
    if len(values["classes_"]) != len(values["thresholds_"]) + 1:
        raise node.refuse("classes", "one more than thresholds")
    if getattr(values["estimator_"], "n_features_in_", None) != node.sizes["features"]:
        raise node.refuse("estimator.n_features", "as many as there are")


@entry
class CalibratedOrdinal(StoredModel, BaseEstimator, stored=True):  # type: ignore[misc]
    """Probabilities of ordered classes by the scores of any ranker.

    ``P(class > r | x) = 1 / (1 + exp(thresholds_[r] - odds(x)))`` with ``odds(x) = slope_ *
    (score(x) - center_)``: proportional odds, whose slope and thresholds have the most
    likelihood on scores of rows that the ranker has not learnt. Thresholds ascend and the
    slope is not negative, so that the probabilities are in the order of scores.

    `PRank`, `MPRank`, `SVRank` and `RankBoost` say where a row stands; this says how
    sure that is. Votes of `AggregatePRank` are no such probabilities: its mean rank is
    taken as a score.

    Parameters
    ----------
    estimator : estimator
        The ranker: its scores are those of ``predict`` if it ranks, else of
        ``decision_function`` or ``mean_rank``, else of ``predict``. It learns the
        positions of classes, from 0 on.
    cv : int, "prefit" or splitter, default=5
        How rows are left out: so many folds, each with its share of every class, or a
        splitter of scikit-learn that leaves every row out once. "prefit": `estimator` is
        fitted already, and `fit` is given rows that it has not learnt.
    classes : array-like, default=None
        All classes, lowest first. Needed for labels without an order of their own, and
        for classes that the data may not show.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, lowest first.
    estimator_ : estimator
        The ranker, fitted to all rows.
    slope_ : float
        By how much a unit of score raises the logarithm of odds.
    center_ : float
        The mean score of rows left out.
    thresholds_ : ndarray of shape (n_classes - 1,)
        Strictly ascending.
    n_features_in_ : int
        The number of features, if the ranker has it.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the ranker has them.

    See Also
    --------
    AggregatePRank : `predict_proba` is the share of members that vote for a class.

    Notes
    -----
    The logarithm of the likelihood is concave (see Pratt, JASA 1981) and is maximised by
    Newton's method. To it the mean weight of a row is added, shared by all classes, at one
    deviation above and below the mean score, so that there is one maximum with finite
    thresholds even where scores separate the classes, or where a class has no row.
    Where left-out scores fall with the classes the slope is 0.

    Scores of one list only: queries, whose scores cannot be compared, have no classes
    in common.

    `cv` + 1 fits of the ranker, and O(n_samples + n_classes ** 3) per step of Newton's
    method, of which there are about ten.

    `predict`, `save` and copying may run in several threads at once; `fit` may not run
    beside anything else on the same object.

    Examples
    --------
    >>> from peckorder import CalibratedOrdinal, MPRank
    >>> from peckorder.datasets import make_square
    >>> X, y = make_square(600, random_state=0)
    >>> model = CalibratedOrdinal(MPRank(C=10)).fit(X[:400], y[:400])
    >>> model.predict_proba(X[400:402]).round(2)
    array([[0.13, 0.83, 0.03, 0.  , 0.  ],
           [0.  , 0.21, 0.52, 0.26, 0.01]])
    >>> model.predict(X[400:402]), y[400:402]
    (array([2, 3]), array([2, 3]))
    """

    _stored_fields: ClassVar = Table(
        Field("estimator", FieldType(_read_estimator, _write_estimator), "estimator_"),
        Field("slope", number(low=0.0), "slope_"),
        Field("center", number(), "center_"),
        Field("thresholds", floats(None), "thresholds_"),
        Field("classes", FieldType(scale.read), _write_classes),
        complete=_complete,
    )
    _rules: ClassVar[Rules] = {"estimator": _ranker, "cv": _folds}

    def __init__(
        self, estimator: Estimator, *, cv: Any = 5, classes: VectorLike | None = None
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.classes = classes

    def fit(self, X: MatrixLike, y: VectorLike, **fit_params: VectorLike) -> Self:
        """Fit the ranker, and the probabilities of its scores on rows left out.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels: numbers, an ordered categorical, or any of `classes`.
        **fit_params
            Further arguments of the ranker's `fit` with one value per row, such as
            ``sample_weight``, which counts in the likelihood too; ``groups`` for a
            splitter.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_parameters(self, self._rules)
        with all_or_nothing(self):
            X = indexable(X, y, *fit_params.values())[0]
            column = read_labels(y)
            groups = fit_params.pop("groups", None)
            self._check_arguments(fit_params)
            scale = self._scale(column)
            levels = scale.levels(column, slice(None))
            k, weight = len(scale), fit_params.get("sample_weight")
            if isinstance(self.cv, str):
                check_is_fitted(self.estimator)
                self.estimator_ = self.estimator
                scores = _scores(self.estimator_, X)
            else:
                self.estimator_ = self._fitted(X, levels, k, fit_params)
                scores = np.full(len(levels), np.nan)
                for train, test in self._folds(X, levels, groups):
                    rows, labels = _safe_split(self.estimator, X, levels, train)
                    params = {n: np.asarray(v)[train] for n, v in fit_params.items()}
                    model = self._fitted(rows, labels, k, params)
                    left_out, _ = _safe_split(self.estimator, X, levels, test, train)
                    scores[test] = _scores(model, left_out)
                if np.isnan(scores).any():
                    row = int(np.argmax(np.isnan(scores)))
                    raise refusal("cv", "leave every row out", f"row {row} in no fold")
            self.classes_ = scale.classes
            odds = fit_odds(scores, levels, k, None if weight is None else _relative(weight))
            self.slope_, self.center_, self.thresholds_ = odds
            for name in ("n_features_in_", "feature_names_in_"):
                if hasattr(self, name):
                    delattr(self, name)
                if hasattr(self.estimator_, name):
                    setattr(self, name, getattr(self.estimator_, name))
        return self

    def _check_arguments(self, fit_params: dict[str, VectorLike]) -> None:
        for name in fit_params:
            is_known = has_fit_parameter(self.estimator, name) and name not in ("offset", "qid")
            if isinstance(self.cv, str) or not is_known:
                rule = "be left out of fit, which does not take it here"
                raise refusal(name, rule, "one", error=TypeError)

    def _scale(self, column: Any) -> Scale:
        classes = self.classes
        if classes is None and isinstance(self.cv, str):
            classes = getattr(self.estimator, "classes_", None)
        return Scale.inferred(column) if classes is None else Scale.given(classes)

    def _fitted(self, X: Any, levels: Ints, n_levels: int, fit_params: dict[str, Any]) -> Any:
        model: Any = clone(self.estimator)
        if "classes" in model.get_params(deep=False):
            # Not all may be in a fold.
            model.set_params(classes=list(range(n_levels)))
        return model.fit(X, levels, **fit_params)

    def _folds(self, X: Any, levels: Ints, groups: Any) -> Any:
        if hasattr(self.cv, "split"):
            return self.cv.split(X, levels, groups)
        n_rows = len(levels)
        if n_rows < 2:
            raise refusal("X", "have two rows at least, so that one can be left out", n_rows)
        fold = np.empty(n_rows, dtype=np.int64)
        fold[np.argsort(levels, kind="stable")] = np.arange(n_rows) % min(self.cv, n_rows)
        every = range(int(fold.max()) + 1)
        return ((np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in every)

    def decision_function(self, X: MatrixLike) -> Floats:
        """Return the logarithm of odds by the ranker's scores, to be compared with thresholds.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            ``slope_ * (score - center_)``; above ``thresholds_[r]`` a class above r is more
            likely than not.
        """
        check_is_fitted(self, "thresholds_")
        scores = _scores(self.estimator_, X)
        return np.asarray(self.slope_ * (scores - self.center_))

    def predict_proba(self, X: MatrixLike) -> Floats:
        """Return the probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        shares : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`; each row sums to 1.
        """
        odds = self.decision_function(X)
        return shares_of(odds[:, np.newaxis] - self.thresholds_)

    def predict(self, X: MatrixLike) -> Labels:
        """Return the class with the least expected rank loss: the median one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        predicted : ndarray of shape (n_samples,)
            One of `classes_` for each row.
        """
        odds = self.decision_function(X)
        predicted: Labels = self.classes_[np.searchsorted(self.thresholds_, odds)]
        return predicted

    def score(self, X: MatrixLike, y: VectorLike) -> float:
        """Return minus the mean rank loss.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        score : float
            0 at best.
        """
        return -float(rank_loss(y, self.predict(X), classes=self.classes_))

    def __sklearn_tags__(self) -> Any:
        """Declare to scikit-learn what the ranker accepts."""
        tags = super().__sklearn_tags__()
        if isinstance(self.estimator, BaseEstimator):
            tags.input_tags = get_tags(self.estimator).input_tags
        tags.target_tags.required = True
        # Scikit-learn asks what has probabilities for these.
        tags.classifier_tags = ClassifierTags()
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there are thresholds."""
        return hasattr(self, "thresholds_")


def _relative(weight: VectorLike) -> Floats:
    """Return weights of rows, 1 in the mean over those that are not zero."""
    weights = np.asarray(weight, dtype=np.float64)
    weights = weights / weights.max()
    return np.asarray(weights * (np.count_nonzero(weights) / weights.sum()))


def _scores(model: Any, X: Any) -> Floats:
    """Return the one score that a ranker has for each row."""
    method = "predict"
    if not hasattr(model, "rank"):
        names = ("decision_function", "mean_rank", "predict")
        method = next(name for name in names if hasattr(model, name))
    found = getattr(model, method)(X)
    scores = np.asarray(found) if np.ndim(found) == 1 else None
    if scores is None or scores.dtype.kind not in "biuf":
        what = f"{method} returns {np.ndim(found)} dimensions of {np.asarray(found).dtype}"
        raise refusal(
            "estimator", "have one score per row", f"{type(model).__name__}, whose {what}"
        )
    if not np.isfinite(scores).all():
        raise refusal("estimator", "have finite scores", f"{scores[~np.isfinite(scores)][0]}")
    return scores.astype(np.float64)
