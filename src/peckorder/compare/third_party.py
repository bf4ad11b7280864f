"""Rankers of other packages, where these are installed, with the interface of ours."""

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from peckorder._core.typing import Floats, Ints
from peckorder.compare.tuning import ROUNDS


def installed(package: str) -> bool:
    """Return whether a package can be imported."""
    return find_spec(package) is not None


class _Trees(BaseEstimator):  # type: ignore[misc]
    """The settings of boosted trees."""

    def __init__(self, n_estimators: int = 100, learning_rate: float = 0.1, seed: int = 0) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.seed = seed


class LightGBM(_Trees):
    """LightGBM: LambdaMART within queries, least squares without."""

    def fit(self, X: Floats, y: Floats, qid: Ints | None = None) -> Self:
        """Boost trees."""
        lightgbm = import_module("lightgbm")
        common = {
            "n_estimators": self.n_estimators,
            "learning_rate": self.learning_rate,
            "num_leaves": 15,
            "random_state": self.seed,
            "verbosity": -1,
            "deterministic": True,
            "force_row_wise": True,
            "n_jobs": _threads(X),
        }
        if qid is None:
            self.model_ = lightgbm.LGBMRegressor(**common).fit(X, y)
            return self
        order, sizes = _by_query(qid)
        self.model_ = lightgbm.LGBMRanker(**common).fit(X[order], _grades(y)[order], group=sizes)
        return self

    def predict(self, X: Floats, rounds: int | None = None) -> Floats:
        """Return scores, after all rounds or the first few."""
        booster = self.model_.booster_
        return np.asarray(booster.predict(X, num_iteration=rounds or -1))


class XGBoost(_Trees):
    """XGBoost: LambdaMART within queries, least squares without."""

    def fit(self, X: Floats, y: Floats, qid: Ints | None = None) -> Self:
        """Boost trees."""
        xgboost = import_module("xgboost")
        common = {
            "n_estimators": self.n_estimators,
            "learning_rate": self.learning_rate,
            "max_depth": 4,
            "random_state": self.seed,
            "tree_method": "hist",
            "n_jobs": _threads(X),
        }
        if qid is None:
            self.model_ = xgboost.XGBRegressor(**common).fit(X, y)
            return self
        order, _ = _by_query(qid)
        ranker = xgboost.XGBRanker(objective="rank:ndcg", lambdarank_pair_method="topk", **common)
        self.model_ = ranker.fit(X[order], _grades(y)[order], qid=qid[order])
        return self

    def predict(self, X: Floats, rounds: int | None = None) -> Floats:
        """Return scores, after all rounds or the first few."""
        first = (0, 0 if rounds is None else rounds)
        return np.asarray(self.model_.predict(X, iteration_range=first), dtype=np.float64)


class Mord(BaseEstimator):  # type: ignore[misc]
    """mord's ordinal logistic regression, all thresholds; levels in, levels out."""

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def fit(self, X: Floats, y: Floats) -> Self:
        """Fit; mord takes levels without gaps."""
        mord = import_module("mord")
        self.seen_, level = np.unique(y, return_inverse=True)
        if len(self.seen_) > 1:
            self.model_ = mord.LogisticAT(alpha=self.alpha).fit(X, level)
        return self

    def predict(self, X: Floats) -> Floats:
        """Return levels."""
        if len(self.seen_) == 1:
            return np.full(len(X), float(self.seen_[0]))
        return np.asarray(self.seen_[self.model_.predict(X)], dtype=np.float64)


def tree_stages(model: Any, X: Floats) -> Iterator[Floats]:
    """Yield the scores of boosted trees after each of `ROUNDS`."""
    return (model.predict(X, rounds) for rounds in ROUNDS)


def _threads(X: Floats) -> int | None:
    """Return one thread for a small table, on which more would be slower."""
    return 1 if X.size < 1_000_000 else None


def _by_query(qid: Ints) -> tuple[Ints, Ints]:
    """Return an order that puts queries together, and the sizes of queries."""
    order = np.argsort(qid, kind="stable")
    return order, np.unique(qid, return_counts=True)[1]


def _grades(y: Floats) -> Ints:
    """Return grades as both packages take them: integers from 0 to 30."""
    values, position = np.unique(y, return_inverse=True)
    is_plain = values[0] >= 0 and values[-1] <= 30 and (values % 1 == 0).all()
    if is_plain:
        return y.astype(np.int64)
    if len(values) <= 31:
        return np.asarray(position)
    cuts = np.quantile(y, np.arange(1, 16) / 16)
    return np.searchsorted(cuts, y)
