"""Rounds, their record, the scores that they give to rows, and how models store them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from math import exp
from operator import itemgetter
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from peckorder._core.threads import MIN_ITEMS_PER_THREAD, n_cores, share
from peckorder._core.typing import Array, Floats, Ints, Matrix
from peckorder._core.validation import as_rows
from peckorder.boosting.compiled.rounds import FeatureTables, add_scores
from peckorder.boosting.weak_learners import Ranking, Scaled, ranked
from peckorder.storage.fields import (
    OMITTED,
    Field,
    FieldType,
    Table,
    flag,
    floats,
    ints,
    nested,
    number,
)
from peckorder.storage.format import Node
from peckorder.storage.mixin import StoredModel, inner_models
from peckorder.storage.models import document, read_document, stored_parameter
from peckorder.trees.features import FEATURES, TreeFeatures
from peckorder.trees.forest import FOREST, Forest

# In a model file: sums of weights must be finite.
_LARGEST_ALPHA = 1e100
# Models that hold others, and might be nested without end.
_NOT_WEAK = ("RankBoost", "TableRanker", "CalibratedOrdinal")
# A weak ranking with its weight, as it is kept.
RECORD = np.dtype(
    [
        ("feature", np.int64),
        ("threshold", np.float64),
        ("default", np.float64),
        ("alpha", np.float64),
    ]
)


class Round(NamedTuple):
    """A weak ranking with its weight; `ranking` if it is a custom one."""

    feature: int
    threshold: float
    default: float
    alpha: float
    ranking: Ranking | None = None


@dataclass
class RoundLog:
    """The rounds so far, the smoothing of their alphas, and logarithms of the bounds."""

    log_bounds: list[float]
    smoothing: float
    rounds: list[Round] = field(default_factory=list)

    def add(self, round_: Round, log_z: float) -> None:
        """Add a round, which multiplies the bound by Z."""
        self.rounds.append(round_)
        self.log_bounds.append(self.log_bounds[-1] + log_z)

    def bounds(self, n_rounds: int) -> Floats:
        """Return the bounds before the first round and after each of n."""
        return np.array([exp(min(b, 700.0)) for b in self.log_bounds[: n_rounds + 1]])


def recorded(records: Array, rankings: list[Ranking]) -> Iterator[Round]:
    """Yield the rounds of a model, given its records and custom rankings."""
    custom = iter(rankings)
    for feature, threshold, default, alpha in records.tolist():
        ranking = next(custom) if feature < 0 else None
        yield Round(feature, threshold, default, alpha, ranking)


class RankedRows:
    """The rows of a matrix, to be ranked by one round after another."""

    def __init__(self, X: Matrix, *, unstored: bool) -> None:
        self._X = X
        self._columns: Any = X if isinstance(X, np.ndarray) else X.tocsc()
        self._fill = 0.0 if unstored else np.nan

    def _column(self, feature: int) -> Floats:
        """Return a column, NaN where the feature abstains."""
        if not sparse.issparse(self._columns):
            return np.asarray(self._columns[:, feature], dtype=np.float64)
        column = np.full(self._X.shape[0], self._fill)
        stored = slice(*self._columns.indptr[feature : feature + 2])
        column[self._columns.indices[stored]] = self._columns.data[stored]
        return column

    def values(self, round_: Round) -> Floats:
        """Return the values of a round's weak ranking for all rows."""
        if round_.ranking is not None:
            return ranked(round_.ranking, self._X)
        column, threshold = self._column(round_.feature), round_.threshold
        values = column if np.isnan(threshold) else (column > threshold).astype(float)
        return np.where(np.isnan(column), round_.default, values)


@dataclass(frozen=True, eq=False)  # no named tuple: skops would load a plain one
class ScoreTable:
    """The scores of values, feature by feature; fields are those of `FeatureTables`."""

    features: Ints
    starts: Ints
    thresholds: Floats
    steps: Floats
    slopes: Floats
    missing: Floats

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
        is_first[1:] = (threshold[1:] != threshold[:-1]) | (position[1:] != position[:-1])
        added = np.bincount(np.cumsum(is_first) - 1, alpha).astype(np.float64)
        n_cuts = np.bincount(position[is_first], minlength=n_features)
        starts = np.concatenate([[0], np.cumsum(n_cuts)])
        steps = np.empty(len(added) + n_features)
        for u, (first, last) in enumerate(pairwise(starts.tolist())):
            steps[first + u] = 0.0
            np.cumsum(added[first:last], out=steps[first + u + 1 : last + u + 1])
        features = features.astype(np.int64)
        return cls(features, starts, threshold[is_first], steps, slopes, missing)

    def scores(self, X: Matrix, *, unstored: bool) -> Floats:
        """Return the scores of rows; O(rows, used features) or O(stored entries)."""
        n_rows, n_columns = X.shape
        scores, rows, size = np.zeros(n_rows), as_rows(X), n_rows * len(self.features)
        position_of, of_unstored = self.features[:0], self.missing[:0]
        if not isinstance(X, np.ndarray):
            size, position_of = X.nnz, np.full(n_columns, -1)
            position_of[self.features] = np.arange(len(self.features))
            of_unstored = self._zero_scores() if unstored else self.missing
        base, tables = float(of_unstored.sum()), FeatureTables(**vars(self))
        arguments = rows, tables, position_of, of_unstored, base, scores

        def work(part: slice, give_up: Callable[[], bool]) -> None:
            add_scores(part.start, part.stop, *arguments)

        worth = size // MIN_ITEMS_PER_THREAD["entries"]
        share(n_rows, max(1, min(n_cores(), worth)), work)
        return scores

    def _zero_scores(self) -> Floats:
        """Return the score of a zero in each feature."""
        starts, is_below = self.starts, self.thresholds < 0.0
        n_below = np.diff(np.append(0, np.cumsum(is_below))[starts])
        positions = starts[:-1] + np.arange(len(starts) - 1) + n_below
        return np.asarray(self.steps[positions])

    def contributions(self, X: Matrix, *, unstored: bool) -> Floats:
        """Return the scores of rows feature by feature: (rows, columns)."""
        result = np.zeros(X.shape)
        features, starts, thresholds, steps, slopes, missing = FeatureTables(**vars(self))
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


def _check_rankers(node: Node) -> None:
    alpha, default = node.values["alpha"], node.values["default"]
    if not (np.abs(alpha) <= _LARGEST_ALPHA).all():
        raise node.refuse("alpha", f"at most {_LARGEST_ALPHA:g}")
    is_cut = ~np.isnan(node.values["threshold"])
    if not np.isin(default[is_cut], (0.0, 1.0)).all():
        raise node.refuse("default", "0 or 1 for thresholds")


def _records(feature: Ints, threshold: Floats, default: Floats, alpha: Floats) -> Array:
    rankers = np.empty(len(feature), dtype=RECORD)
    rankers["feature"], rankers["threshold"] = feature, threshold
    rankers["default"], rankers["alpha"] = default, alpha
    return rankers


_RANKERS = Table(
    Field("feature", ints("rounds", below="features"), itemgetter("feature")),
    Field("threshold", floats("rounds", finite=False), itemgetter("threshold")),
    Field("default", floats("rounds"), itemgetter("default")),
    Field("alpha", floats("rounds"), itemgetter("alpha")),
    complete=_check_rankers,
)


def tree_records(alphas: Floats) -> Array:
    """Return records of trees: weights alone."""
    rankers = np.full(len(alphas), np.nan, dtype=RECORD)
    rankers["feature"], rankers["alpha"] = -1, alphas
    return rankers


def _plain_rankers(model: Any) -> Any:
    if hasattr(model, "forest_"):
        return OMITTED
    # The rounds of custom learners are named by these.
    rankers, is_own = model.weak_rankers_.copy(), model.weak_rankers_["feature"] < 0
    rankers["feature"][is_own], rankers["default"][is_own] = 0, 0.0
    return rankers


def _own_rankings(model: Any) -> Any:
    """Return what is written of rankings by custom learners, if these are estimators of ours."""
    if not getattr(model, "own_rankings_", ()):
        return OMITTED
    rounds = np.flatnonzero(model.weak_rankers_["feature"] < 0).tolist()
    written = []
    for round_, ranking in zip(rounds, model.own_rankings_, strict=True):
        regressor = getattr(ranking, "regressor", ranking)
        if not isinstance(ranking, Scaled) or not isinstance(regressor, StoredModel):
            stored_parameter("weak", regressor)  # which it is not
        written.append(
            {"round": round_, "scale": float(ranking.scale), "model": document(regressor)}
        )
    return written


def _read_rankings(node: Node, name: str) -> dict[int, Scaled]:
    """Return rankings by the number of their round."""
    inner = {n: kind for n, kind in inner_models().items() if n not in _NOT_WEAK}
    rankings: dict[int, Scaled] = {}
    for child in node.children(name):
        round_ = child.whole("round", max(rankings, default=-1) + 1, node.sizes["rounds"] - 1)
        scale = child.number("scale")
        model = read_document(child.child("model"), inner)
        if getattr(model, "n_features_in_", None) != node.sizes["features"]:
            raise node.refuse(name, "models of the same features")
        rankings[round_] = Scaled(model, scale)
    return rankings


def _of_trees(name: str) -> Callable[[Any], Any]:
    return lambda model: getattr(model, name) if hasattr(model, "forest_") else OMITTED


def _alphas_of_trees(model: Any) -> Any:
    return model.weak_rankers_["alpha"] if hasattr(model, "forest_") else OMITTED


def _complete(node: Node) -> None:
    names = ("rankers", "forest", "columns", "alphas")
    rankers, forest, columns, alphas = (node.values.pop(name, None) for name in names)
    rankings: dict[int, Scaled] = node.values.pop("rankings", {})
    of_trees = {value is None for value in (forest, columns, alphas)}
    if of_trees != {rankers is not None}:
        raise node.refuse("rankers", "weak rankings, or trees with their weights")
    if rankings:
        if forest is not None:
            raise node.refuse("rankings", "missing beside trees")
        own = list(rankings)
        rankers["feature"][own], rankers["default"][own] = -1, np.nan
        rankers["threshold"][own] = np.nan
    if forest is not None:
        if len(forest) != len(alphas):
            raise node.refuse("alphas", "one weight per tree")
        if (forest.column >= forest.n_columns).any():
            raise node.refuse("column", "a feature")
        rankers = tree_records(alphas)
        if (forest.is_category != columns.is_category).any():
            raise node.refuse("columns", "categories where the trees have them")
        node.values |= {"forest_": forest, "_features": columns}
    node.values |= {
        "weak_rankers_": rankers,
        "own_rankings_": list(rankings.values()),
        "n_rounds_": len(rankers),
        "_table": ScoreTable.of(rankers),
    }


BOOSTED = Table(
    Field("rankers", nested(_RANKERS, _records), _plain_rankers, optional=True),
    Field("rankings", FieldType(_read_rankings), _own_rankings, optional=True),
    Field("forest", nested(FOREST, Forest), _of_trees("forest_"), optional=True),
    Field("columns", nested(FEATURES, TreeFeatures), _of_trees("_features"), optional=True),
    Field("alphas", floats("rounds"), _alphas_of_trees, optional=True),
    Field("bounds", floats("rounds+1"), "bounds_"),
    Field("smoothing", number(low=0.0), "smoothing_"),
    Field("importances", floats("features"), "feature_importances_"),
    Field("validation_scores", floats(None, finite=False), "validation_scores_", optional=True),
    Field("unstored", flag(), "_unstored"),
    Field("has_offset", flag(), "_has_offset"),
    Field("has_queries", flag(), "_has_queries", optional=True),
    complete=_complete,
)
