"""The viewers who order the person's items most as the person does."""

from typing import Any, ClassVar

import numpy as np

from peckorder._core.typing import Floats
from peckorder._core.validation import Rule, Rules, not_negative, one_of, whole
from peckorder.collaborative.baselines.base import ViewerModel, column_means
from peckorder.exceptions import DataError
from peckorder.metrics import disagreement
from peckorder.storage.fields import Field, Table, floats, ints

# Where ratings are real numbers, so many of them are tried as defaults.
_MOST_DEFAULTS = 32


def _are_ratings(values: Any) -> bool:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return array.ndim == 1 and array.size > 0 and bool(np.isfinite(array).all())


class NearestRanker(ViewerModel, stored=True):
    r"""Ranks as the viewer does who disagrees least with the person.

    For each viewer and each q of the possible ratings, items that the viewer has not
    rated get q, and the disagreement with the person's order is taken over all pairs
    that the person tells apart, a tie counting one half. The least wins: of equal ones
    the first viewer, then the smallest q. A viewer who rated all of the person's items
    has the mean of all his ratings for q; one who rated none of them is left out.

    Parameters
    ----------
    ratings : array-like or None, default=None
        The possible ratings. None: those that occur in X, or 32 of them evenly spread
        if there are more.
    n_neighbors : int, default=1
        How many viewers there are to average, each with his own q.
    shrinkage : float, default=0.0
        How much it counts that a viewer rated many of the person's items: with n of
        them, ``1/2 + (loss - 1/2) n / (n + shrinkage)`` is minimised.
    weights : {"uniform", "rated"}, default="uniform"
        How much each of several viewers weighs in the mean: the same, or as many of the
        person's items as he rated.

    Attributes
    ----------
    neighbors_ : ndarray of shape (n_neighbors,)
        The columns of the viewers, nearest first; fewer if there are no more.
    defaults_ : ndarray of shape (n_neighbors,)
        What they give to items they have not rated.
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
            "None or one or more finite numbers",
            lambda value: value is None or _are_ratings(value),
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
        ratings: Any = None,
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
            raise DataError(
                f"{self._who}: y must have two different ratings to compare; got {got}."
            )
        count = (~np.isnan(table)).sum(axis=0)
        known = np.flatnonzero(count)
        if len(known) == 0:
            raise DataError(
                f"{self._who}: X must have a viewer who rated an item of the person; "
                "got none."
            )
        table, count = table[:, known], count[known]
        loss, default = self._best(table, target, self._defaults(X))
        complete = count == len(target)
        mean = column_means(X)[known]
        default[complete] = mean[complete]
        if self.shrinkage:
            loss = 0.5 + (loss - 0.5) * (count / (count + self.shrinkage))
        order = np.argsort(loss, kind="stable")[: self.n_neighbors]
        self.neighbors_ = known[order]
        self.defaults_, self.losses_ = default[order], loss[order]
        share = count[order] if self.weights == "rated" else np.ones(len(order))
        self._shares = share / share.sum()

    def _defaults(self, X: Floats) -> Floats:
        if self.ratings is not None:
            return np.unique(np.asarray(self.ratings, dtype=np.float64))
        values = np.unique(X[~np.isnan(X)])
        if len(values) <= _MOST_DEFAULTS:
            return values
        places = np.linspace(0, len(values) - 1, _MOST_DEFAULTS)
        return values[places.astype(np.intp)]

    @staticmethod
    def _best(table: Floats, y: Floats, defaults: Floats) -> tuple[Floats, Floats]:
        """Return the least loss of each viewer, and the smallest q that has it."""
        n_items, n_viewers = table.shape
        truth = np.tile(y, n_viewers)
        viewer = np.repeat(np.arange(n_viewers), n_items)
        loss, best = np.full(n_viewers, np.inf), np.zeros(n_viewers)
        for q in defaults:
            scores = np.where(np.isnan(table), q, table).T.ravel()
            now = disagreement(truth, scores, qid=viewer, per_query=True)
            is_less = now < loss
            loss[is_less], best[is_less] = now[is_less], q
        return loss, best

    def _scores(self, X: Floats) -> Floats:
        seen = X[:, self.neighbors_]
        filled = np.where(np.isnan(seen), self.defaults_, seen)
        scores: Floats = filled @ self._shares
        return scores
