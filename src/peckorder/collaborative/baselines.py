"""Baselines that score items by the ratings of other people."""

from abc import ABCMeta, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lstsq
from sklearn.base import BaseEstimator
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from peckorder._base import all_or_nothing
from peckorder._core.errors import caller, entry, refusal
from peckorder._core.typing import Floats
from peckorder._core.validation import (
    Rule,
    Rules,
    boolean,
    check_parameters,
    finite,
    masked_as_nan,
    not_negative,
    one_of,
    optional,
    positive,
    whole,
)
from peckorder.collaborative._means import column_means, damped_means
from peckorder.metrics import disagreement
from peckorder.storage.fields import Field, Table, floats, ints, number
from peckorder.storage.mixin import StoredModel

_LARGEST = 1e100
# The mean of equal numbers may differ from them by rounding.
_ROUNDING = 1e-12
# If ratings are real numbers, this many of them are tried as defaults.
_MAX_DEFAULTS = 32


@entry
class ViewerModel(StoredModel, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """Scores items, one per row, by the ratings of viewers, one per column.

    NaN means "not rated", in X and in y. A subclass defines `_learn`, which sets the
    attributes, `_scores`, which uses them, and `_stored_fields`, which lists them.
    """

    _rules: ClassVar[Rules] = {}
    _may_be_inner = False

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from the ratings of viewers and of one person.

        Parameters
        ----------
        X : array-like of shape (n_items, n_viewers)
            The viewers' ratings; NaN if missing. Include items that the person has not
            rated: the mean of a viewer is that of all their ratings.
        y : array-like of shape (n_items,)
            The person's ratings; NaN if missing.

        Returns
        -------
        self
            The fitted estimator.
        """
        check_parameters(self, self._rules)
        with all_or_nothing(self):
            table = self._table(X, reset=True)
            self._learn(table, self._person(y, table))
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return a score for each item; larger is better.

        Parameters
        ----------
        X : array-like of shape (n_items, n_viewers)
            The ratings of the same viewers.

        Returns
        -------
        scores : ndarray of shape (n_items,)
            One per item, rated by the person or not.
        """
        check_is_fitted(self)
        return self._scores(self._table(X, reset=False))

    @abstractmethod
    def _learn(self, X: Floats, y: Floats) -> None:
        """Set the attributes that `_scores` needs; X and y may contain NaN."""

    @abstractmethod
    def _scores(self, X: Floats) -> Floats:
        """Return the scores of checked rows."""

    def _table(self, X: ArrayLike, *, reset: bool) -> Floats:
        table: Floats = validate_data(
            self, masked_as_nan(X), reset=reset, dtype=np.float64, ensure_all_finite="allow-nan"
        )
        if np.nanmax(np.abs(table), initial=0.0) > _LARGEST:
            raise refusal(
                "X",
                "be at most 1e+100 in size, so that ratings can be squared",
                repr(float(np.nanmax(np.abs(table)))),
            )
        return table

    def _person(self, y: ArrayLike | None, X: Floats) -> Floats:
        if y is None:
            raise ValueError(f"{caller()} requires y to be passed, but the target y is None")
        person: Floats = column_or_1d(masked_as_nan(y), warn=True, dtype=np.float64)
        check_consistent_length(X, person)
        if np.isinf(person).any():
            raise refusal(
                "y",
                "be finite, or NaN where there is no rating",
                f"infinity in row {int(np.argmax(np.isinf(person)))}: Input y contains infinity",
            )
        if np.isnan(person).all():
            raise refusal("y", "have a rating", "NaN alone")
        return person

    def __sklearn_tags__(self) -> Any:
        """Declare to scikit-learn which data the estimator accepts."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags


@entry
class ItemMean(ViewerModel, stored=True):
    r"""Scores an item by the mean of its ratings, shrunk towards the mean of all.

    ``score_j = (damping * mu + sum_v X_jv) / (damping + n_j)`` over the n_j viewers who
    rated j, with mu the mean of all ratings. The same for every person: `y` is only
    checked.

    Parameters
    ----------
    damping : float, default=5.0
        How many ratings equal to mu are added to every item; 0 for plain means. Items
        without a rating score mu.

    Attributes
    ----------
    mean_ : float
        The mean of all ratings.
    n_features_in_ : int
        The number of viewers.

    Notes
    -----
    O(n_items n_viewers) time.

    `predict`, `save` and copying may run in several threads at once; `fit` may not run
    beside anything else on the same object.

    Examples
    --------
    >>> from peckorder.collaborative import ItemMean
    >>> nan = float("nan")
    >>> X, y = [[5, 4], [nan, 3], [nan, nan]], [4, nan, nan]
    >>> ItemMean(damping=1.0).fit(X, y).predict(X).tolist()
    [4.333333333333333, 3.5, 4.0]
    """

    _rules: ClassVar[Rules] = {"damping": not_negative}
    _stored_fields: ClassVar = Table(Field("mean_", number()))

    def __init__(self, *, damping: float = 5.0) -> None:
        self.damping = damping

    def _learn(self, X: Floats, y: Floats) -> None:
        if np.isnan(X).all():
            raise refusal("X", "have a rating", "NaN alone")
        self.mean_ = float(np.nanmean(X))

    def _scores(self, X: Floats) -> Floats:
        is_rated = ~np.isnan(X)
        above = np.where(is_rated, X - self.mean_, 0.0).sum(axis=1)
        count = is_rated.sum(axis=1)
        return self.mean_ + damped_means(above, count, damping=self.damping)


class MinNormRegression(ViewerModel, stored=True):
    r"""Regresses a person's ratings on those of the viewers.

    Missing ratings of a viewer are replaced by the mean of their ratings: the matrix C.
    w is the vector of the smallest norm that minimises ``|C w - y|`` over the items
    that the person rated, without an intercept; ``score = C w``.

    Parameters
    ----------
    normalize : bool, default=False
        First scale the ratings of every viewer, and of the person, to mean 0 and
        variance 1, with 0 for missing ratings; scores are scaled back to the person's
        ratings.

    Attributes
    ----------
    coef_ : ndarray of shape (n_viewers,)
        The weights of the viewers; 0 for those without ratings.
    n_features_in_ : int
        The number of viewers.

    Notes
    -----
    O(n m min(n, m)) time for the n items that the person rated and m viewers.

    `predict`, `save` and copying may run in several threads at once; `fit` may not run
    beside anything else on the same object.

    Examples
    --------
    >>> from peckorder.collaborative import MinNormRegression
    >>> nan = float("nan")
    >>> X, y = [[5, 1], [3, nan], [1, 5], [nan, 5]], [5, 3, 1, nan]
    >>> MinNormRegression().fit(X, y).predict(X).round(3).tolist()
    [5.0, 3.0, 1.0, 3.0]
    """

    _rules: ClassVar[Rules] = {"normalize": boolean}
    _stored_fields: ClassVar = Table(
        Field("coef_", floats("features")),
        Field("_means", floats("features")),
        Field("_scales", floats("features")),
        Field("_centre", number()),
        Field("_scale", number(low=0.0)),
    )

    def __init__(self, *, normalize: bool = False) -> None:
        self.normalize = normalize

    def _learn(self, X: Floats, y: Floats) -> None:
        self._means = column_means(X)
        self._scales = np.ones(X.shape[1])
        rated = ~np.isnan(y)
        self._centre, self._scale = 0.0, 1.0
        if self.normalize:
            self._scales = np.sqrt(column_means((X - self._means) ** 2))
            self._scales[self._scales <= _ROUNDING * np.abs(self._means)] = 0.0
            self._centre, self._scale = float(y[rated].mean()), float(y[rated].std())
            if self._scale <= _ROUNDING * abs(self._centre):
                self._scale = 0.0
        target = _scaled(y[rated] - self._centre, np.float64(self._scale))
        self.coef_: Floats = lstsq(self._filled(X[rated]), target)[0]

    def _filled(self, X: Floats) -> Floats:
        if self.normalize:
            return _scaled(np.where(np.isnan(X), 0.0, X - self._means), self._scales)
        return np.where(np.isnan(X), self._means, X)

    def _scores(self, X: Floats) -> Floats:
        scores: Floats = self._centre + self._scale * (self._filled(X) @ self.coef_)
        return scores


def _scaled(values: Floats, scale: Floats | np.float64) -> Floats:
    """Divide by a scale; return 0 where it is 0."""
    varies = np.broadcast_to(scale > 0.0, values.shape)
    return np.divide(values, scale, out=np.zeros(values.shape), where=varies)


class _WeightedViewers(ViewerModel):
    """Adds the ratings of viewers above their means with weights, which are learnt."""

    _rules: ClassVar[Rules] = {"normalization": one_of("all", "item")}
    _stored_fields: ClassVar = Table(
        Field("weights_", floats("features")),
        Field("means_", floats("features")),
        Field("mean_", number()),
    )
    normalization: str

    @abstractmethod
    def _weights(self, X: Floats, y: Floats) -> Floats:
        """Return the weights of viewers; the means are known."""

    def _learn(self, X: Floats, y: Floats) -> None:
        self.means_ = column_means(X)
        self.mean_ = float(y[~np.isnan(y)].mean())
        self.weights_ = self._weights(X, y)

    def _scores(self, X: Floats) -> Floats:
        is_rated = ~np.isnan(X)
        above = np.where(is_rated, X - self.means_, 0.0) @ self.weights_
        mass = np.full(len(X), np.abs(self.weights_).sum())
        if self.normalization == "item":
            mass = is_rated @ np.abs(self.weights_)
        shift = np.divide(above, mass, out=np.zeros(len(X)), where=mass > 0)
        scores: Floats = self.mean_ + shift
        return scores


@entry
class VectorSimilarity(_WeightedViewers, stored=True):
    r"""Adds the ratings of viewers above their means, weighted by similarity.

    With the person's ratings a and those V_v of viewer v,
    ``w_v = <a, V_v> / (|a| |V_v|)``, the product over the items that both rated and
    each norm over all items that the one rated;
    ``score_j = mean(a) + sum_v w_v (V_vj - mean_v) / sum_v |w_v|`` over those who rated
    j.

    Parameters
    ----------
    normalization : {"all", "item"}, default="all"
        Which ``|w_v|`` are added: those of all viewers, as in the formula, which keeps
        the order; or of those who rated the item, for a weighted mean.

    Attributes
    ----------
    weights_ : ndarray of shape (n_viewers,)
        The similarities.
    means_ : ndarray of shape (n_viewers,)
        The mean rating of each viewer.
    mean_ : float
        The person's mean.
    n_features_in_ : int
        The number of viewers.

    Notes
    -----
    O(n_items n_viewers) time.

    `predict`, `save` and copying may run in several threads at once; `fit` may not run
    beside anything else on the same object.

    Examples
    --------
    >>> from peckorder.collaborative import VectorSimilarity
    >>> nan = float("nan")
    >>> X, y = [[5, 1], [3, nan], [1, 5], [nan, 5]], [5, 3, 1, nan]
    >>> VectorSimilarity().fit(X, y).predict(X).round(3).tolist()
    [4.107, 3.0, 1.638, 3.255]
    """

    def __init__(self, *, normalization: str = "all") -> None:
        self.normalization = normalization

    def _weights(self, X: Floats, y: Floats) -> Floats:
        rated = ~np.isnan(y)
        values = np.where(np.isnan(X), 0.0, X)
        product = y[rated] @ values[rated]
        size = np.linalg.norm(y[rated]) * np.linalg.norm(values, axis=0)
        weights: Floats = np.zeros(len(product))
        np.divide(product, size, out=weights, where=size > 0)
        return weights


@entry
class Correlation(_WeightedViewers, stored=True):
    r"""Adds the ratings of viewers above their means, weighted by correlation.

    With the person's ratings a and those V_v of viewer v, and the means of all ratings
    of each, sums over the items that both rated give
    ``w_v = sum_j (a_j - mean(a)) (V_vj - mean_v) / sqrt(sum_j (a_j - mean(a))^2 sum_j
    (V_vj - mean_v)^2)``, or 0 where one of the two rated all of them with their mean;
    ``score_j = mean(a) + sum_v w_v (V_vj - mean_v) / sum_v |w_v|`` over those who rated
    j.

    Parameters
    ----------
    normalization : {"all", "item"}, default="all"
        Which ``|w_v|`` are added: those of all viewers, as in the formula, which keeps
        the order; or of those who rated the item, for a weighted mean.
    amplification : float, default=1.0
        Weights become ``sign(w) |w|**amplification``: above 1 the most similar viewers
        count for more.
    default_vote : float or None, default=None
        Sum over the items that at least one of the two rated, with this rating where
        one is missing, and with the means over these items.
    inverse_frequency : bool, default=False
        In sums, item j counts ``log((m + 1) / n_j)`` times if n_j of the m viewers and
        the person rated it, and means are those over the items of the sum, weighted
        likewise: what everybody rated says less.
    min_overlap : int, default=1
        Viewers who rated fewer of the person's items have weight 0. From one item alone
        the correlation is 1, -1 or 0.

    Attributes
    ----------
    weights_ : ndarray of shape (n_viewers,)
        The correlations, amplified.
    means_ : ndarray of shape (n_viewers,)
        The mean rating of each viewer.
    mean_ : float
        The person's mean.
    n_features_in_ : int
        The number of viewers.

    Notes
    -----
    O(n_items n_viewers) time and memory.

    `predict`, `save` and copying may run in several threads at once; `fit` may not run
    beside anything else on the same object.

    References
    ----------
    J. S. Breese, D. Heckerman and C. Kadie: Empirical analysis of predictive algorithms
    for collaborative filtering. UAI 1998.

    Examples
    --------
    >>> from peckorder.collaborative import Correlation
    >>> nan = float("nan")
    >>> X, y = [[5, 1], [3, nan], [1, 5], [nan, 5]], [5, 3, 1, nan]
    >>> model = Correlation().fit(X, y)
    >>> model.weights_.round(3).tolist(), model.predict(X).round(3).tolist()
    ([1.0, -0.949], [5.325, 3.0, 1.325, 2.351])
    """

    _rules: ClassVar[Rules] = {
        **_WeightedViewers._rules,
        "amplification": positive,
        "default_vote": optional(finite),
        "inverse_frequency": boolean,
        "min_overlap": whole(1),
    }

    def __init__(
        self,
        *,
        normalization: str = "all",
        amplification: float = 1.0,
        default_vote: float | None = None,
        inverse_frequency: bool = False,
        min_overlap: int = 1,
    ) -> None:
        self.normalization = normalization
        self.amplification = amplification
        self.default_vote = default_vote
        self.inverse_frequency = inverse_frequency
        self.min_overlap = min_overlap

    def _weights(self, X: Floats, y: Floats) -> Floats:
        counts = np.ones(len(X))
        if self.inverse_frequency:
            n_raters = (~np.isnan(X)).sum(axis=1) + ~np.isnan(y)
            # Items that nobody rated are in no sum.
            counts = np.log((X.shape[1] + 1) / np.maximum(n_raters, 1))
        if self.default_vote is None:
            rated = ~np.isnan(y)
            X, y, counts = X[rated], y[rated], counts[rated]
        missing, unrated = np.isnan(X), np.isnan(y)[:, np.newaxis]
        is_used = ~(missing | unrated) if self.default_vote is None else ~(missing & unrated)
        mass = np.where(is_used, counts[:, np.newaxis], 0.0)
        is_plain = self.default_vote is None and not self.inverse_frequency
        person = np.broadcast_to(y[:, np.newaxis], X.shape)
        ones = self._directions(person, mass, np.full(1, self.mean_) if is_plain else None)
        others = self._directions(X, mass, self.means_ if is_plain else None)
        weights = (ones * others).sum(axis=0)
        weights[(~(missing | unrated)).sum(axis=0) < self.min_overlap] = 0.0
        amplified: Floats = np.sign(weights) * np.abs(weights) ** self.amplification
        return amplified

    def _directions(self, values: Floats, mass: Floats, centre: Floats | None) -> Floats:
        """Return deviations, times the root of their mass, in columns of length 1 or 0."""
        if self.default_vote is not None:
            values = np.where(np.isnan(values), self.default_vote, values)
        values = np.where(mass > 0, values, 0.0)
        if centre is None:
            centre = damped_means((mass * values).sum(axis=0), mass.sum(axis=0))
        above = np.where(mass > 0, values - centre, 0.0)
        above[np.abs(above) <= _ROUNDING * np.abs(centre)] = 0.0
        # Squares of what is at most 1 in size neither overflow nor all vanish.
        above = _scaled(above, np.abs(above).max(axis=0, initial=0.0)) * np.sqrt(mass)
        return _scaled(above, np.linalg.norm(above, axis=0))


def _are_ratings(values: object) -> bool:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return False
    return array.ndim == 1 and array.size > 0 and bool(np.isfinite(array).all())


@entry
class NearestRanker(ViewerModel, stored=True):
    r"""Ranks like the viewer who disagrees least with the person.

    For each viewer and each possible rating q, items that the viewer has not rated get
    q, and the disagreement with the person is computed over all pairs of items with
    different ratings of the person; a tie counts one half. The smallest disagreement
    wins: among equal ones the first viewer, then the smallest q. If a viewer rated all
    of the person's items, q is the mean of all their ratings; viewers who rated none of
    them are left out.

    Parameters
    ----------
    ratings : array-like or None, default=None
        The possible ratings. None: those that occur in X, or 32 of them evenly spread
        if there are more.
    n_neighbors : int, default=1
        The number of viewers to average, each with their own q.
    shrinkage : float, default=0.0
        The preference for viewers who rated many of the person's items: with n of them,
        ``1/2 + (loss - 1/2) n / (n + shrinkage)`` is minimised.
    weights : {"uniform", "rated"}, default="uniform"
        The weights of viewers in the mean: equal, or the number of the person's items
        that they rated.

    Attributes
    ----------
    neighbors_ : ndarray of shape (n_neighbors,)
        The columns of the viewers, nearest first; fewer if there are no more.
    defaults_ : ndarray of shape (n_neighbors,)
        Their values for items that they have not rated.
    losses_ : ndarray of shape (n_neighbors,)
        The disagreement of each, as minimised.
    n_features_in_ : int
        The number of viewers.

    Notes
    -----
    O(r m n log n) time for n items that the person rated, m viewers and r ratings;
    O(n m) memory.

    `predict`, `save` and copying may run in several threads at once; `fit` may not run
    beside anything else on the same object.

    Examples
    --------
    >>> from peckorder.collaborative import NearestRanker
    >>> nan = float("nan")
    >>> X, y = [[5, 1], [3, nan], [nan, 5], [4, 5]], [5, 3, 1, nan]
    >>> model = NearestRanker(ratings=[1, 2, 3, 4, 5]).fit(X, y)
    >>> model.predict(X).tolist(), model.neighbors_.tolist()
    ([5.0, 3.0, 1.0, 4.0], [0])
    """

    _rules: ClassVar[Rules] = {
        "ratings": Rule(
            "None or one or more finite numbers", lambda value: value is None or _are_ratings(value)
        ),
        "n_neighbors": whole(1),
        "shrinkage": not_negative,
        "weights": one_of("uniform", "rated", aliases={"distance": "rated"}),
    }
    _stored_fields: ClassVar = Table(
        Field("neighbors_", ints("neighbors", below="features")),
        Field("defaults_", floats("neighbors")),
        Field("losses_", floats("neighbors")),
        Field("_shares", floats("neighbors")),
    )

    def __init__(
        self,
        *,
        ratings: ArrayLike | None = None,
        n_neighbors: int = 1,
        shrinkage: float = 0.0,
        weights: str = "uniform",
    ) -> None:
        self.ratings = ratings
        self.n_neighbors = n_neighbors
        self.shrinkage = shrinkage
        self.weights = weights

    def _learn(self, X: Floats, y: Floats) -> None:
        rated = ~np.isnan(y)
        table, target = X[rated], y[rated]
        if target.min() == target.max():
            got = f"{float(target[0])!r} alone" if len(target) > 1 else "one sample"
            raise refusal("y", "have two different ratings to compare", got)
        count = (~np.isnan(table)).sum(axis=0)
        viewers = np.flatnonzero(count)
        if len(viewers) == 0:
            raise refusal("X", "have a viewer who rated an item of the person", "none")
        table, count = table[:, viewers], count[viewers]
        loss, default = self._best(table, target, self._defaults(X))
        complete = count == len(target)
        mean = column_means(X)[viewers]
        default[complete] = mean[complete]
        if self.shrinkage:
            loss = 0.5 + (loss - 0.5) * (count / (count + self.shrinkage))
        order = np.argsort(loss, kind="stable")[: self.n_neighbors]
        self.neighbors_ = viewers[order]
        self.defaults_, self.losses_ = default[order], loss[order]
        share = count[order] if self.weights == "rated" else np.ones(len(order))
        self._shares = share / share.sum()

    def _defaults(self, X: Floats) -> Floats:
        if self.ratings is not None:
            return np.unique(np.asarray(self.ratings, dtype=np.float64))
        values = np.unique(X[~np.isnan(X)])
        if len(values) <= _MAX_DEFAULTS:
            return values
        positions = np.linspace(0, len(values) - 1, _MAX_DEFAULTS)
        return values[positions.astype(np.intp)]

    @staticmethod
    def _best(table: Floats, y: Floats, defaults: Floats) -> tuple[Floats, Floats]:
        """Return the smallest loss of each viewer, and the smallest q that has it."""
        n_items, n_viewers = table.shape
        truth = np.tile(y, n_viewers)
        viewer = np.repeat(np.arange(n_viewers), n_items)
        loss, best = np.full(n_viewers, np.inf), np.zeros(n_viewers)
        for q in defaults:
            scores = np.where(np.isnan(table), q, table).T.ravel()
            losses = disagreement(truth, scores, qid=viewer, per_query=True)
            is_less = losses < loss
            loss[is_less], best[is_less] = losses[is_less], q
        return loss, best

    def _scores(self, X: Floats) -> Floats:
        ratings = X[:, self.neighbors_]
        filled = np.where(np.isnan(ratings), self.defaults_, ratings)
        scores: Floats = filled @ self._shares
        return scores
