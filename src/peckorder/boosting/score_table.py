"""Weak rankings put together: one table per feature, whatever the number of rounds."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy import sparse

from peckorder._core.threads import MIN_ITEMS_PER_THREAD, n_cores, share
from peckorder._core.typing import Array, Floats, Ints, Matrix
from peckorder._core.validation import as_rows
from peckorder.boosting.compiled import weak_rankings as compiled
from peckorder.boosting.compiled.weak_rankings import FeatureTables


class MatrixColumns:
    """The columns of a matrix, one at a time; NaN where a feature abstains."""

    def __init__(self, X: Matrix, *, unstored: bool) -> None:
        self._X: Any = X if isinstance(X, np.ndarray) else X.tocsc()
        self._fill = 0.0 if unstored else np.nan

    def __getitem__(self, feature: int) -> Floats:
        if not sparse.issparse(self._X):
            return np.asarray(self._X[:, feature], dtype=np.float64)
        column = np.full(self._X.shape[0], self._fill)
        stored = slice(*self._X.indptr[feature : feature + 2])
        column[self._X.indices[stored]] = self._X.data[stored]
        return column

    def rank(self, feature: int, threshold: float, default: float) -> Floats:
        """Return the values of a weak ranking for all rows."""
        column = self[feature]
        values = column if np.isnan(threshold) else (column > threshold).astype(float)
        return np.where(np.isnan(column), default, values)


class ScoreTable(FeatureTables):
    """The scores of values, feature by feature."""

    __slots__ = ()

    @classmethod
    def of(cls, rankers: Array) -> Self:
        """Put together weak rankings: records of feature, threshold, default, alpha.

        A threshold of NaN stands for the feature itself. O(k log k) time.
        """
        rankers = rankers[rankers["feature"] >= 0]
        features, position = np.unique(rankers["feature"], return_inverse=True)
        n_features = len(features)

        def summed(values: Floats, positions: Ints) -> Floats:
            return np.bincount(positions, values, n_features).astype(np.float64)

        alpha, threshold = rankers["alpha"], rankers["threshold"]
        is_slope = np.isnan(threshold)
        missing = summed(alpha * rankers["default"], position)
        slopes = summed(alpha[is_slope], position[is_slope])
        # Cuts by feature and threshold, those of several rounds as one.
        order = np.lexsort((threshold, position))
        order = order[~is_slope[order]]
        alpha, threshold, position = alpha[order], threshold[order], position[order]
        is_first = np.ones(len(order), dtype=bool)
        is_first[1:] = (threshold[1:] != threshold[:-1]) | (
            position[1:] != position[:-1]
        )
        added = np.bincount(np.cumsum(is_first) - 1, alpha).astype(np.float64)
        n_cuts = np.bincount(position[is_first], minlength=n_features)
        starts = np.concatenate([[0], np.cumsum(n_cuts)])
        steps = np.empty(len(added) + n_features)
        compiled.sum_steps(starts, added, steps)
        features = features.astype(np.int64)
        return cls(features, starts, threshold[is_first], steps, slopes, missing)

    def scores(self, X: Matrix, *, unstored: bool) -> Floats:
        """Return the scores of rows; O(rows, used features) or O(stored entries)."""
        n_rows, n_columns = X.shape
        scores = np.zeros(n_rows)
        function: Any = compiled.dense_scores
        arguments: tuple[Any, ...] = (self,)
        size = n_rows * len(self.features)
        if not isinstance(X, np.ndarray):
            function, size = compiled.sparse_scores, X.nnz
            arguments = self._sparse(n_columns, unstored)
        rows = as_rows(X)

        def work(part: slice, give_up: Callable[[], bool]) -> None:
            function(part.start, part.stop, *rows, *arguments, scores)

        worth = size // MIN_ITEMS_PER_THREAD["entries"]
        share(n_rows, max(1, min(n_cores(), worth)), work)
        return scores

    def _sparse(
        self, n_columns: int, unstored: bool
    ) -> tuple[Self, Ints, Floats, float]:
        position_of = np.full(n_columns, -1)
        position_of[self.features] = np.arange(len(self.features))
        scores = self._zero_scores() if unstored else self.missing
        return self, position_of, scores, float(scores.sum())

    def _zero_scores(self) -> Floats:
        """Return the score of a zero in each feature."""
        starts, is_below = self.starts, self.thresholds < 0.0
        n_below = np.diff(np.append(0, np.cumsum(is_below))[starts])
        positions = starts[:-1] + np.arange(len(starts) - 1) + n_below
        return np.asarray(self.steps[positions])

    def contributions(self, X: Matrix, *, unstored: bool) -> Floats:
        """Return the scores of rows feature by feature: (rows, columns)."""
        result = np.zeros(X.shape)
        features, starts, thresholds, steps, slopes, missing = self
        for u, feature in enumerate(features.tolist()):
            first, last = starts[u], starts[u + 1]
            own = ScoreTable(
                features[u : u + 1],
                starts[u : u + 2] - first,
                thresholds[first:last],
                steps[first + u : last + u + 1],
                slopes[u : u + 1],
                missing[u : u + 1],
            )
            result[:, feature] = own.scores(X, unstored=unstored)
        return result
