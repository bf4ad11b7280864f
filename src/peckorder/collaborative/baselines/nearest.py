"""The viewers whose order of the person's items is nearest to the person's."""

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from peckorder._core.errors import entry, refusal
from peckorder._core.typing import Floats
from peckorder._core.validation import Rule, Rules, not_negative, one_of, whole
from peckorder.collaborative._means import column_means
from peckorder.collaborative.baselines.base import ViewerModel
from peckorder.metrics import disagreement
from peckorder.storage.fields import Field, Table, floats, ints

# If ratings are real numbers, this many of them are tried as defaults.
_MAX_DEFAULTS = 32


def _are_ratings(values: object) -> bool:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
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
