"""Rankers of other packages, where these are installed, with the interface of ours."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from peckorder._core.typing import Floats, Ints
from peckorder.comparison.tuning import ROUNDS


def installed(package: str) -> bool:
    """Return whether a package can be imported."""
    return find_spec(package) is not None


class Trees(BaseEstimator):  # type: ignore[misc]
    """Boosted trees: LambdaMART within queries, classes if asked for, else least squares.

    A library goes by the number of `leaves` of a tree, or by its `depth`; `sizes` has
    those to try. With `classes` it is fitted for the probabilities of levels, not for a
    score, and predicts the median level.
    """

    package: ClassVar[str]
    sizes: ClassVar[Mapping[str, Sequence[object]]]

    def __init__(
        self,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        *,
        leaves: int = 15,
        depth: int = 5,
        classes: bool = False,
        seed: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.leaves = leaves
        self.depth = depth
        self.classes = classes
        self.seed = seed

    def fit(self, X: Floats, y: Floats, qid: Ints | None = None) -> Self:
        """Boost trees."""
        common = {
            "n_estimators": self.n_estimators,
            "learning_rate": self.learning_rate,
            **self._options(X),
        }
        package = import_module(self.package)
        if self.classes:
            self.seen_, level = np.unique(y, return_inverse=True)
            self.model_ = self._classifier(package, common)
            if len(self.seen_) > 1:
                self.model_.fit(X, level)
        elif qid is None:
            self.model_ = self._regressor(package, common).fit(X, y)
        else:
            order = np.argsort(qid, kind="stable")
            sorted_qid = np.unique(qid[order], return_inverse=True)[1]
            self.model_ = self._ranker(package, common, X[order], grades(y)[order], sorted_qid)
        return self

    def predict(self, X: Floats, rounds: int | None = None) -> Floats:
        """Return scores, or median levels, after all rounds or the first few."""
        if not self.classes:
            return np.asarray(self._scores(X, rounds), dtype=np.float64)
        if len(self.seen_) == 1:
            return np.full(len(X), float(self.seen_[0]))
        shares = np.asarray(self._scores(X, rounds), dtype=np.float64)
        if shares.ndim == 1:
            shares = np.stack([1 - shares, shares], axis=1)
        is_below = np.cumsum(shares[:, :-1], axis=1) < 0.5
        return np.asarray(self.seen_[is_below.sum(axis=1)], dtype=np.float64)

    @abstractmethod
    def _options(self, X: Floats) -> dict[str, object]:
        """Return further parameters."""

    @abstractmethod
    def _classifier(self, package: Any, common: dict[str, Any]) -> Any:
        """Return an unfitted classifier."""

    @abstractmethod
    def _regressor(self, package: Any, common: dict[str, Any]) -> Any:
        """Return an unfitted regressor."""

    @abstractmethod
    def _ranker(self, package: Any, common: dict[str, Any], X: Floats, y: Ints, qid: Ints) -> Any:
        """Return a ranker fitted to rows that are sorted by query, from 0 on."""

    @abstractmethod
    def _scores(self, X: Floats, rounds: int | None) -> Any:
        """Return scores, or probabilities of classes, after so many rounds."""


class LightGBM(Trees):
    """LightGBM, by the number of leaves."""

    package = "lightgbm"
    sizes: ClassVar = {"leaves": (7, 15, 31)}

    def _options(self, X: Floats) -> dict[str, object]:
        return {
            "num_leaves": self.leaves,
            "random_state": self.seed,
            "verbosity": -1,
            "deterministic": True,
            "force_row_wise": True,
            "n_jobs": _threads(X),
        }

    def _classifier(self, package: Any, common: dict[str, Any]) -> Any:
        return package.LGBMClassifier(**common)

    def _regressor(self, package: Any, common: dict[str, Any]) -> Any:
        return package.LGBMRegressor(**common)

    def _ranker(self, package: Any, common: dict[str, Any], X: Floats, y: Ints, qid: Ints) -> Any:
        return package.LGBMRanker(**common).fit(X, y, group=np.bincount(qid))

    def _scores(self, X: Floats, rounds: int | None) -> Any:
        return self.model_.booster_.predict(X, num_iteration=rounds or -1)


class XGBoost(Trees):
    """XGBoost, by the depth of trees."""

    package = "xgboost"
    sizes: ClassVar = {"depth": (3, 5, 8)}

    def _options(self, X: Floats) -> dict[str, object]:
        return {
            "max_depth": self.depth,
            "random_state": self.seed,
            "tree_method": "hist",
            "n_jobs": _threads(X),
        }

    def _classifier(self, package: Any, common: dict[str, Any]) -> Any:
        return package.XGBClassifier(**common)

    def _regressor(self, package: Any, common: dict[str, Any]) -> Any:
        return package.XGBRegressor(**common)

    def _ranker(self, package: Any, common: dict[str, Any], X: Floats, y: Ints, qid: Ints) -> Any:
        ranker = package.XGBRanker(objective="rank:ndcg", lambdarank_pair_method="topk", **common)
        return ranker.fit(X, y, qid=qid)

    def _scores(self, X: Floats, rounds: int | None) -> Any:
        predict = self.model_.predict_proba if self.classes else self.model_.predict
        return predict(X, iteration_range=(0, 0 if rounds is None else rounds))


class CatBoost(Trees):
    """CatBoost, by the depth of its symmetric trees."""

    package = "catboost"
    sizes: ClassVar = {"depth": (4, 6, 8)}

    def _options(self, X: Floats) -> dict[str, object]:
        return {
            "depth": self.depth,
            "random_seed": self.seed,
            "verbose": False,
            "allow_writing_files": False,
            "thread_count": _threads(X) or -1,
        }

    def _classifier(self, package: Any, common: dict[str, Any]) -> Any:
        return package.CatBoostClassifier(loss_function="MultiClass", **common)

    def _regressor(self, package: Any, common: dict[str, Any]) -> Any:
        return package.CatBoostRegressor(**common)

    def _ranker(self, package: Any, common: dict[str, Any], X: Floats, y: Ints, qid: Ints) -> Any:
        return package.CatBoostRanker(loss_function="YetiRank", **common).fit(X, y, group_id=qid)

    def _scores(self, X: Floats, rounds: int | None) -> Any:
        predict = self.model_.predict_proba if self.classes else self.model_.predict
        return predict(X, ntree_end=rounds or 0)


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


def grades(y: Floats) -> Ints:
    """Return grades as these packages take them: integers from 0 to 30."""
    values, position = np.unique(y, return_inverse=True)
    is_plain = values[0] >= 0 and values[-1] <= 30 and (values % 1 == 0).all()
    if is_plain:
        return y.astype(np.int64)
    if len(values) <= 31:
        return np.asarray(position)
    cuts = np.quantile(y, np.arange(1, 16) / 16)
    return np.searchsorted(cuts, y)
