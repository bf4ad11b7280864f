"""From scores to what a task asks for: classes, or values on the labels' scale."""

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import has_fit_parameter

from peckorder._core.typing import Floats, Ints

N_INNER = 3


def inner_folds(
    n_rows: int, groups: Ints | None, seed: int
) -> Iterator[tuple[Any, Any]]:
    """Return rows to learn from and rows left out, whole groups at a time.

    Groups are queries or people; if all rows are of one, its rows are dealt out.
    """
    rng = np.random.default_rng(seed)
    unit = np.arange(n_rows)
    if groups is not None and (groups != groups[0]).any():
        unit = np.unique(groups, return_inverse=True)[1]
    n_units = int(unit.max()) + 1
    n_folds = min(N_INNER, n_units)
    fold = rng.permutation(np.arange(n_units) % n_folds)[unit]
    for k in range(n_folds):
        yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


def fit(
    model: Any, X: Floats, y: Floats, qid: Ints | None, groups: Ints | None = None
) -> Any:
    """Fit a model, and tell it the queries if it wants to know them.

    So with `groups`, which what chooses on rows left out is to keep whole: people, or
    queries that the ranker inside is not told.
    """
    known = {"qid": qid, "groups": groups}
    return model.fit(
        X,
        y,
        **{
            name: values
            for name, values in known.items()
            if values is not None and has_fit_parameter(model, name)
        },
    )


def least_errors(scores: Floats, levels: Ints, n_levels: int) -> Floats:
    """Return thresholds that turn scores into levels with the least sum of steps.

    ``|l - y|`` is the number of thresholds that stand between, so that threshold r can
    be chosen by itself: with the fewest rows on its wrong side, the lowest of equals.
    They ascend, since a row that should be above r + 1 should be above r too.
    O(n log n + n k) time.

    Examples
    --------
    >>> import numpy as np
    >>> from peckorder.compare.candidates.calibration import least_errors
    >>> least_errors(np.array([0.1, 0.2, 0.6, 0.9]), np.array([0, 0, 1, 2]), 3)
    array([0.4 , 0.75])
    """
    order = np.argsort(scores, kind="stable")
    ranked, level = scores[order], levels[order]
    # Cuts stand before the first row, between two that differ, and behind the last.
    between = np.flatnonzero(ranked[1:] > ranked[:-1]) + 1
    cuts = np.concatenate([[0], between, [len(ranked)]])
    edges = np.concatenate(
        [[-np.inf], (ranked[between - 1] + ranked[between]) / 2, [np.inf]]
    )
    thresholds = np.empty(n_levels - 1)
    for r in range(1, n_levels):
        above = np.concatenate([[0], np.cumsum(level >= r)])[cuts]
        below = cuts - above
        wrong = above + (below[-1] - below)
        thresholds[r - 1] = edges[np.argmin(wrong)]
    return thresholds


class Finished(BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """A scorer whose scores on rows left out say what its scores mean."""

    def __init__(self, scorer: Any, seed: int = 0) -> None:
        self.scorer = scorer
        self.seed = seed

    def fit(
        self,
        X: Floats,
        y: Floats,
        qid: Ints | None = None,
        groups: Ints | None = None,
    ) -> Self:
        """Fit the scorer; then what turns scores into answers."""
        groups = qid if groups is None else groups
        self.scorer_ = fit(clone(self.scorer), X, y, qid, groups)
        self._finish(self._left_out(X, y, qid, groups), y)
        return self

    def _left_out(
        self, X: Floats, y: Floats, qid: Ints | None, groups: Ints | None
    ) -> Floats:
        if hasattr(self.scorer_, "left_out_scores_"):
            return np.asarray(self.scorer_.left_out_scores_)
        # Of queries and people all rows are left out at once, not one at a time.
        if groups is None and hasattr(self.scorer_, "leave_one_out_predictions"):
            return np.asarray(self.scorer_.leave_one_out_predictions())
        scores = np.empty(len(y))
        for train, test in inner_folds(len(y), groups, self.seed):
            some = None if qid is None else qid[train]
            inside = None if groups is None else groups[train]
            model = fit(clone(self.scorer), X[train], y[train], some, inside)
            scores[test] = model.predict(X[test])
        return scores

    def predict(self, X: Floats) -> Floats:
        """Return answers."""
        return self.answer(self.scorer_.predict(X))

    @abstractmethod
    def answer(self, scores: Floats) -> Floats:
        """Turn scores into answers."""

    @abstractmethod
    def _finish(self, scores: Floats, y: Floats) -> None:
        """Learn how, from scores of rows left out."""


class Cut(Finished):
    """Levels: scores cut where the fewest steps are lost on rows left out."""

    def __init__(self, scorer: Any, n_levels: int = 2, seed: int = 0) -> None:
        super().__init__(scorer, seed)
        self.n_levels = n_levels

    def _finish(self, scores: Floats, y: Floats) -> None:
        self.thresholds_ = least_errors(scores, y.astype(np.int64), self.n_levels)

    def answer(self, scores: Floats) -> Floats:
        """Return levels."""
        return np.searchsorted(self.thresholds_, scores).astype(np.float64)


class OnScale(Finished):
    """Values: scores put on the labels' scale by the best rising line."""

    def _finish(self, scores: Floats, y: Floats) -> None:
        centred = scores - scores.mean()
        mass = float(centred @ centred)
        self.slope_ = max(float(centred @ y) / mass, 0.0) if mass > 0 else 0.0
        self.shift_ = float(y.mean() - self.slope_ * scores.mean())

    def answer(self, scores: Floats) -> Floats:
        """Return values."""
        return np.asarray(self.shift_ + self.slope_ * scores)
