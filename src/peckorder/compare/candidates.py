"""The candidates of a comparison: for each task the rankers that can do it.

A candidate belongs together with how its features are prepared and how its scores are
calibrated: `Candidate.fit` returns all of it as one `FittedCandidate`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any, Final, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import RidgeCV

from peckorder._core.typing import Estimator, Floats, Ints, Labels, Predictor
from peckorder.compare.third_party import LightGBM, Mord, XGBoost, installed, tree_stages
from peckorder.compare.tuning import (
    Calibrated,
    GridTuned,
    Loss,
    RoundsTuned,
    SampledMPRank,
    ToClasses,
    ToLabelScale,
    Wrapper,
    boosted_stages,
    fit_model,
    pair_loss,
    step_loss,
)
from peckorder.estimators import AggregatePRank, PRank, RankBoost, SVRank
from peckorder.metrics import disagreement
from peckorder.tables.coded_columns import Coders
from peckorder.tables.features import Scaling

# Kernels of all pairs of rows are kept and decomposed: some seconds.
KERNEL_ROWS: Final = 4000
# Pairs are left out, with a kernel, of so many: a decomposition, a product for each C.
SAMPLED_ROWS: Final = 800
_RIDGES: Final = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)


class TaskInfo(NamedTuple):
    """What a model is made for: a seed, sizes, and the loss that settings minimise."""

    seed: int
    n_features: int
    n_levels: int = 2
    loss: Loss = pair_loss


Make = Callable[[TaskInfo], Estimator]


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows to learn from; rows of a group are never divided.

    `coders` are how columns become `X`, with the codes that were learnt from these rows.
    """

    X: Floats
    y: Floats
    qid: Ints | None = None
    groups: Ints | None = None
    coders: Coders = field(default_factory=dict)

    @cached_property
    def scaling(self) -> Scaling:
        """How features are standardised by these rows."""
        return Scaling.learn(self.X)

    @cached_property
    def scaled_rows(self) -> Floats:
        """Standardised features, without gaps."""
        return self.scaling.apply(self.X)


@dataclass(frozen=True, slots=True, eq=False)
class FittedCandidate:
    """Everything that answers for new rows: preparation, model and calibration."""

    model: Predictor
    scaling: Scaling | None = None
    seconds: float = 0.0

    def scores(self, X: Floats) -> Floats:
        """Return the scores of rows as they are, before calibration."""
        X = X if self.scaling is None else self.scaling.apply(X)
        model = self.model.model_ if isinstance(self.model, Calibrated) else self.model
        return np.asarray(model.predict(X))

    def answers(self, scores: Floats) -> Floats:
        """Turn scores into what the task asks for."""
        return self.model.answer(scores) if isinstance(self.model, Calibrated) else scores


@dataclass(frozen=True, slots=True)
class Candidate:
    """A ranker that takes part in a comparison.

    `make` returns the unfitted model for a `TaskInfo`. `scaled`: it is given
    standardised features without gaps. `origin` is the package it comes from, empty for
    baselines. `most_rows`: with more rows to learn from it is left out.
    """

    name: str
    make: Make
    scaled: bool = True
    origin: str = "peckorder"
    most_rows: int | None = None

    def fit(self, info: TaskInfo, rows: TrainingRows) -> FittedCandidate:
        """Fit a new model; it chooses its settings on rows left out of `rows`."""
        X = rows.scaled_rows if self.scaled else rows.X
        begin = perf_counter()
        model = fit_model(self.make(info), X, rows.y, rows.qid, rows.groups)
        seconds = perf_counter() - begin
        return FittedCandidate(model, rows.scaling if self.scaled else None, seconds)


class BestFeature(BaseEstimator):  # type: ignore[misc]
    """The one feature that disagrees least with the grades it learns from."""

    def fit(self, X: Floats, y: Labels, *, qid: Labels | None = None) -> Self:
        """Choose the feature."""
        losses = [
            np.nanmean(disagreement(y, column, qid=qid, per_query=True))
            for column in _gaps_last(X).T
        ]
        self.feature_ = int(np.argmin(losses))
        return self

    def predict(self, X: Floats) -> Floats:
        """Return the feature; rows on which it abstains come last."""
        return _gaps_last(X)[:, self.feature_]


class MeanFeature(BaseEstimator):  # type: ignore[misc]
    """The mean of those features of a row that do not abstain."""

    def fit(self, X: Floats, y: Labels) -> Self:
        """Learn nothing."""
        return self

    def predict(self, X: Floats) -> Floats:
        """Return the means."""
        return np.asarray(np.nanmean(X, axis=1))


def _gaps_last(X: Floats) -> Floats:
    return np.where(np.isnan(X), np.nanmin(X) - 1.0, X)


class BestSignedFeature(BaseEstimator):  # type: ignore[misc]
    """The feature that, rising or falling, disagrees least with the labels."""

    def fit(self, X: Floats, y: Floats, qid: Ints | None = None) -> Self:
        """Choose it."""
        self.model_ = BestFeature().fit(np.hstack([X, -X]), y, qid=qid)
        self.feature_ = self.model_.feature_ % X.shape[1]
        return self

    def predict(self, X: Floats) -> Floats:
        """Return it, gaps last."""
        return self.model_.predict(np.hstack([X, -X]))


class Constant(BaseEstimator):  # type: ignore[misc]
    """The same answer for all rows: the lower median of the labels."""

    def fit(self, X: Floats, y: Floats) -> Self:
        """Learn the median."""
        self.answer_ = float(np.quantile(y, 0.5, method="lower"))
        return self

    def predict(self, X: Floats) -> Floats:
        """Return it."""
        return np.full(len(X), self.answer_)


class StandardizedLabels(Wrapper):
    """A model of labels with mean 0 and deviation 1, for one whose settings have units.

    SVRank's band is 0.1 wide, whatever the labels are measured in.
    """

    def fit(
        self, X: Floats, y: Floats, qid: Ints | None = None, groups: Ints | None = None
    ) -> Self:
        """Fit to standardised labels."""
        self.mean_, self.scale_ = float(y.mean()), float(y.std()) or 1.0
        standardised = (y - self.mean_) / self.scale_
        self.model_ = fit_model(self.model, X, standardised, qid, groups)
        return self

    def predict(self, X: Floats) -> Floats:
        """Return scores on the scale of the labels."""
        return np.asarray(self.mean_ + self.scale_ * self.model_.predict(X))


class IgnoringQueries(Wrapper):
    """A model that does not see the queries, though its inner folds keep them whole."""

    def fit(self, X: Floats, y: Floats, groups: Ints | None = None) -> Self:
        """Fit all rows as one list."""
        self.model_ = fit_model(self.model, X, y, None, groups)
        return self


class GradesAsClasses(Wrapper):
    """PRank on grades: it learns classes, and its score ranks."""

    def fit(self, X: Floats, y: Floats) -> Self:
        """Learn the grades as levels of one scale."""
        values, level = np.unique(y, return_inverse=True)
        classes = list(range(max(2, len(values))))
        self.model_ = self.model.set_params(classes=classes)
        self.model_.fit(X, level)
        return self

    def predict(self, X: Floats) -> Floats:
        """Return scores."""
        model: Any = self.model_
        return np.asarray(model.decision_function(X))


def rankboost(info: TaskInfo) -> RoundsTuned:
    """Return RankBoost, which chooses its number of rounds on rows left out."""
    grid = {"cumulative": [True, False]}
    return RoundsTuned(RankBoost(), boosted_stages, "n_rounds", grid, info.loss, info.seed)


def linear_mprank(info: TaskInfo) -> SampledMPRank:
    """Return MPRank, which chooses C by leaving pairs out."""
    return SampledMPRank(seed=info.seed)


def boosted_trees(trees: type[LightGBM | XGBoost]) -> Make:
    """Return how boosted trees of another library are made."""
    return lambda info: RoundsTuned(
        trees(seed=info.seed), tree_stages, "n_estimators", None, info.loss, info.seed
    )


def _to_classes(make: Make) -> Make:
    return lambda info: ToClasses(make(info._replace(loss=pair_loss)), info.n_levels, info.seed)


def _gammas(info: TaskInfo) -> tuple[float, ...]:
    return tuple(factor / info.n_features for factor in (0.1, 0.3, 1.0))


def _svrank(info: TaskInfo) -> GridTuned:
    grid = {"C": [1.0, 100.0, 10_000.0]}
    return GridTuned(SVRank(tol=1e-4), grid, info.loss, info.seed)


def _prank(info: TaskInfo, **kernel: Any) -> PRank:
    return PRank(
        max_iter=10,
        shuffle=True,
        unit_norm=False,
        classes=list(range(info.n_levels)),
        random_state=info.seed,
        **kernel,
    )


def _rbf_prank(info: TaskInfo) -> GridTuned:
    model = _prank(info, kernel="rbf", budget=2000)
    return GridTuned(model, {"gamma": _gammas(info)}, step_loss, info.seed)


def _prank_ensemble(info: TaskInfo) -> AggregatePRank:
    return AggregatePRank(
        unit_norm=False, classes=list(range(info.n_levels)), max_iter=10, random_state=info.seed
    )


def _rbf_mprank(info: TaskInfo) -> SampledMPRank:
    return SampledMPRank(
        kernel="rbf",
        Cs=(1.0, 10.0, 100.0, 1000.0, 10_000.0),
        gammas=_gammas(info)[1:],
        most_rows=SAMPLED_ROWS,
        seed=info.seed,
    )


def _other_libraries(adapt: Callable[[Make], Make]) -> tuple[Candidate, ...]:
    """Return ridge regression and the boosted trees that are installed."""
    ridge = adapt(lambda i: RidgeCV(_RIDGES))
    candidates = [Candidate("Ridge", ridge, origin="scikit-learn")]
    packages = (("LightGBM", "lightgbm", LightGBM), ("XGBoost", "xgboost", XGBoost))
    for name, package, trees in packages:
        if installed(package):
            make = adapt(boosted_trees(trees))
            candidates.append(Candidate(name, make, scaled=False, origin=package))
    return tuple(candidates)


def ordinal_candidates() -> tuple[Candidate, ...]:
    """Return the candidates that predict ordered classes."""
    candidates = [
        Candidate("PRank", _prank),
        Candidate("PRank, RBF kernel", _rbf_prank, most_rows=2 * KERNEL_ROWS),
        Candidate("PRank, quadratic", lambda i: _prank(i, kernel="poly", degree=2)),
        Candidate("OAP-BPM (100 PRanks)", _prank_ensemble),
        Candidate("MPRank", _to_classes(linear_mprank)),
        Candidate("MPRank, RBF kernel", _to_classes(_rbf_mprank), most_rows=KERNEL_ROWS),
        Candidate("RankBoost", _to_classes(rankboost), scaled=False),
        *_other_libraries(_to_classes),
    ]
    if installed("mord"):
        grid = {"alpha": [0.1, 1.0, 10.0]}
        candidates.append(
            Candidate("mord", lambda i: GridTuned(Mord(), grid, step_loss, i.seed), origin="mord")
        )
    constant = Candidate("(always the median class)", lambda i: Constant(), origin="")
    return (*candidates, constant)


def magnitude_candidates() -> tuple[Candidate, ...]:
    """Return the candidates that predict distances."""
    return (
        Candidate("MPRank", linear_mprank),
        Candidate("MPRank, RBF kernel", _rbf_mprank, most_rows=KERNEL_ROWS),
        Candidate("SVRank", lambda i: StandardizedLabels(_svrank(i))),
        Candidate("RankBoost", lambda i: ToLabelScale(rankboost(i), i.seed), scaled=False),
        # Least squares, whatever the queries.
        *_other_libraries(lambda make: lambda i: IgnoringQueries(make(i))),
        Candidate("(the same score for all)", lambda i: Constant(), origin=""),
    )


def graded_candidates() -> tuple[Candidate, ...]:
    """Return the candidates that rank the rows of a query."""
    return (
        Candidate("RankBoost", rankboost, scaled=False),
        Candidate("MPRank", linear_mprank),
        Candidate("SVRank", _svrank),
        Candidate("PRank on grades", lambda i: GradesAsClasses(_prank(i))),
        *_other_libraries(lambda make: make),
        Candidate("(the best feature)", lambda i: BestSignedFeature(), scaled=False, origin=""),
        Candidate("(a random order)", lambda i: Constant(), origin=""),
    )


CANDIDATES: Final = {
    "ordinal": ordinal_candidates,
    "magnitude": magnitude_candidates,
    "graded": graded_candidates,
}
