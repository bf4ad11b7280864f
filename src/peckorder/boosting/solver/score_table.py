"""Weak rankings put together: one table a feature, so that rounds cost nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from peckorder._core.threads import MIN_ITEMS_PER_THREAD, n_cores, share
from peckorder._core.typing import Floats, Ints
from peckorder._core.validation import as_rows
from peckorder.boosting.compiled import score_tables as kernels


class Columns:
    """The columns of a matrix, one at a time; NaN where a feature abstains."""

    def __init__(self, X: Any, *, unstored: bool) -> None:
        self._X = X.tocsc() if sparse.issparse(X) else X
        self._fill = 0.0 if unstored else np.nan

    def __getitem__(self, feature: int) -> Floats:
        if not sparse.issparse(self._X):
            return np.asarray(self._X[:, feature], dtype=np.float64)
        column = np.full(self._X.shape[0], self._fill)
        stored = slice(*self._X.indptr[feature : feature + 2])
        column[self._X.indices[stored]] = self._X.data[stored]
        return column

    def rank(self, feature: int, threshold: float, default: float) -> Floats:
        """Return what a weak ranking says of all rows."""
        column = self[feature]
        values = column if np.isnan(threshold) else (column > threshold).astype(float)
        return np.where(np.isnan(column), default, values)


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """The scores of values, feature by feature, as `kernels.score_tables` has them."""

    features: Ints
    starts: Ints
    thresholds: Floats
    steps: Floats
    slopes: Floats
    missing: Floats

    @classmethod
    def of(cls, rankers: Any) -> Self:
        """Put together weak rankings: records of feature, threshold, default, alpha.

        A threshold of NaN stands for the feature itself. O(k log k) time.
        """
        rankers = rankers[rankers["feature"] >= 0]
        features, place = np.unique(rankers["feature"], return_inverse=True)
        n_features = len(features)

        def summed(values: Floats, places: Ints) -> Floats:
            return np.bincount(places, values, n_features).astype(np.float64)

        alpha, threshold = rankers["alpha"], rankers["threshold"]
        is_slope = np.isnan(threshold)
        missing = summed(alpha * rankers["default"], place)
        slopes = summed(alpha[is_slope], place[is_slope])
        # Cuts by feature and threshold, those of several rounds as one.
        order = np.lexsort((threshold, place))
        order = order[~is_slope[order]]
        alpha, threshold, place = alpha[order], threshold[order], place[order]
        is_first = np.ones(len(order), dtype=bool)
        is_first[1:] = (threshold[1:] != threshold[:-1]) | (place[1:] != place[:-1])
        added = np.bincount(np.cumsum(is_first) - 1, alpha).astype(np.float64)
        n_cuts = np.bincount(place[is_first], minlength=n_features)
        starts = np.concatenate([[0], np.cumsum(n_cuts)])
        steps = np.empty(len(added) + n_features)
        kernels.pile_up(starts, added, steps)
        features = features.astype(np.int64)
        return cls(features, starts, threshold[is_first], steps, slopes, missing)

    def scores(self, X: Any, *, unstored: bool) -> Floats:
        """Return the scores of rows; O(rows, used features) or O(stored entries)."""
        n_rows = X.shape[0]
        scores = np.zeros(n_rows)
        kernel: Any = kernels.dense_scores
        arguments: tuple[Any, ...] = self.features, *self._tables
        size = n_rows * len(self.features)
        if sparse.issparse(X):
            kernel, size = kernels.sparse_scores, X.nnz
            arguments = self._sparse(X.shape[1], unstored)
        X = as_rows(X)

        def work(rows: slice, give_up: Callable[[], bool]) -> None:
            kernel(rows.start, rows.stop, *X, *arguments, scores)

        share(
            n_rows,
            max(1, min(n_cores(), size // MIN_ITEMS_PER_THREAD["entries"])),
            work,
        )
        return scores

    @property
    def _tables(self) -> tuple[Ints, Floats, Floats, Floats, Floats]:
        return self.starts, self.thresholds, self.steps, self.slopes, self.missing

    def _sparse(self, n_columns: int, unstored: bool) -> tuple[Any, ...]:
        place = np.full(n_columns, -1)
        place[self.features] = np.arange(len(self.features))
        of_none = self._of_zero() if unstored else self.missing
        return place, *self._tables, of_none, float(of_none.sum())

    def _of_zero(self) -> Floats:
        """Return the score of a zero in each feature."""
        n_below = np.diff(np.append(0, np.cumsum(self.thresholds < 0.0))[self.starts])
        places = self.starts[:-1] + np.arange(len(self.features)) + n_below
        return np.asarray(self.steps[places])

    def contributions(self, X: Any, *, unstored: bool) -> Floats:
        """Return the scores of rows feature by feature: (rows, columns)."""
        result = np.zeros(X.shape)
        for u, feature in enumerate(self.features.tolist()):
            one = ScoreTable(
                self.features[u : u + 1],
                self.starts[u : u + 2] - self.starts[u],
                self.thresholds[self.starts[u] : self.starts[u + 1]],
                self.steps[self.starts[u] + u : self.starts[u + 1] + u + 1],
                self.slopes[u : u + 1],
                self.missing[u : u + 1],
            )
            result[:, feature] = one.scores(X, unstored=unstored)
        return result
