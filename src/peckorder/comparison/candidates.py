"""The candidates of a comparison: for each task the rankers that can do it.

A candidate belongs together with how its features are prepared and how its scores are
calibrated: `Candidate.fit` returns all of it as one `FittedCandidate`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Any, Final, NamedTuple, Self

import numpy as np

from peckorder._core.typing import Estimator, Floats, Ints, Predictor
from peckorder.comparison.baselines import BestSignedFeature, Constant
from peckorder.comparison.tuning import (
    Answering,
    GradesAsClasses,
    Grid,
    GridTuned,
    IgnoringQueries,
    Loss,
    RoundsTuned,
    SampledMPRank,
    StandardizedLabels,
    boosted_stages,
    fit_model,
    layers,
    pair_loss,
    step_loss,
    to_classes,
    to_label_scale,
    tree_stages,
    with_settings,
)
from peckorder.estimators import (
    AggregatePRank,
    MPRank,
    MPRankCV,
    MulticlassPerceptron,
    OrdinalBoost,
    PRank,
    RankBoost,
    SVRank,
    WidrowHoff,
)
from peckorder.tables.answers import Answer
from peckorder.tables.coded_columns import (
    Coders,
    category_positions,
    joined_levels,
    recoded,
    with_categories,
)
from peckorder.tables.scaling import Scaling
from peckorder.third_party import CatBoost, LightGBM, Mord, Ridge, Trees, XGBoost, installed

# Kernels of all pairs of rows are kept and decomposed: some seconds.
KERNEL_ROWS: Final = 4000
# Every ranker, of whatever library, tries up to three settings on inner folds. Rounds of
# boosting come along with a fit, a C or ridge with a decomposition: they do not count.
_PASSES: Final = {"max_iter": [3, 10, 30]}
_CS: Final = (0.01, 0.1, 1.0, 10.0, 1e2, 1e3, 1e4, 1e5, 1e6)


class TaskInfo(NamedTuple):
    """What a model is made for: a seed, sizes, and the loss that settings minimise.

    `has_few_pairs`: they can be visited one by one. `categories` are the columns with
    numbers of levels.
    """

    seed: int
    n_features: int
    n_levels: int = 2
    loss: Loss = pair_loss
    has_few_pairs: bool = False
    categories: tuple[int, ...] = ()


Make = Callable[[TaskInfo], Estimator]


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows to learn from; rows of a group are never divided.

    `coders` are how columns become `X`, with the codes that were learnt from these rows;
    `uncoded` are the rows without codes.
    """

    X: Floats
    y: Floats
    qid: Ints | None
    groups: Ints | None
    coders: Coders
    uncoded: Floats

    @cached_property
    def scaling(self) -> Scaling:
        """How features are standardised by these rows."""
        return Scaling.learn(self.X)

    @cached_property
    def scaled_rows(self) -> Floats:
        """Standardised features, without gaps."""
        return self.scaling.apply(self.X)

    @cached_property
    def of_categories(self) -> Self:
        """The rows with one column of level numbers for text without an order."""
        X = joined_levels(self.coders, self.X, self.uncoded)
        return replace(self, X=X, coders=with_categories(self.coders))


@dataclass(frozen=True, slots=True, eq=False)
class FittedCandidate:
    """Everything that answers for new rows: preparation, model and calibration."""

    model: Predictor
    coders: Coders
    of_categories: bool = False
    scaling: Scaling | None = None
    seconds: float = 0.0

    @property
    def answer(self) -> Answer | None:
        """What makes answers of the scores, if they are not answers themselves."""
        found = (layer.answer_ for layer in layers(self.model) if isinstance(layer, Answering))
        return next(found, None)

    def scores(self, uncoded: Floats) -> Floats:
        """Return the scores of rows without codes, before they are made answers."""
        X = recoded(self.coders, uncoded)
        if self.of_categories:
            X = joined_levels(self.coders, X, uncoded)
        X = X if self.scaling is None else self.scaling.apply(X)
        model = self.model.model_ if isinstance(self.model, Answering) else self.model
        return np.asarray(model.predict(X))

    def answers(self, scores: Floats) -> Floats:
        """Turn scores into what the task asks for."""
        return scores if self.answer is None else np.asarray(self.answer(scores))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A ranker that takes part in a comparison.

    `make` returns the unfitted model for a `TaskInfo`. `scaled`: it is given
    standardised features without gaps. `origin` is the package it comes from, empty for
    baselines. `most_rows`: with more rows to learn from it is left out.
    `can_be_saved`: it is no baseline, and there is a model that answers as it does.
    `of_categories`: it is given text without an order as categories.
    """

    name: str
    make: Make
    scaled: bool = True
    origin: str = "peckorder"
    most_rows: int | None = None
    can_be_saved: bool = True
    of_categories: bool = False

    def fixed(self, values: Mapping[str, object]) -> "Candidate":
        """Return the candidate with parameters that are not chosen."""
        return replace(self, make=lambda info: with_settings(self.make(info), values))

    def fit(self, info: TaskInfo, rows: TrainingRows) -> FittedCandidate:
        """Fit a new model; it chooses its settings on rows left out of `rows`."""
        coders, rows = rows.coders, self.rows(rows)
        X = rows.scaled_rows if self.scaled else rows.X
        if self.of_categories:
            info = info._replace(categories=tuple(category_positions(rows.coders)))
        begin = perf_counter()
        model = fit_model(self.make(info), X, rows.y, rows.qid, rows.groups)
        seconds = perf_counter() - begin
        scaling = rows.scaling if self.scaled else None
        return FittedCandidate(model, coders, self.of_categories, scaling, seconds)

    def rows(self, rows: TrainingRows) -> TrainingRows:
        """Return rows as this candidate learns from them."""
        return rows.of_categories if self.of_categories else rows


def rankboost(info: TaskInfo) -> RoundsTuned:
    """Return RankBoost, which chooses its number of rounds on rows left out."""
    grid: Grid = [
        {"cumulative": [True, False], "learning_rate": [1.0]},
        {"cumulative": [True], "learning_rate": [0.3]},
    ]
    return RoundsTuned(RankBoost(), boosted_stages, "n_rounds", grid, info.loss, info.seed)


def _rankboost_trees(info: TaskInfo) -> RoundsTuned:
    """Return RankBoost on trees."""
    model = RankBoost(
        weak="tree",
        min_samples_leaf=5,
        max_features=0.7,
        categorical_features=info.categories or None,
        random_state=info.seed,
    )
    grid: Grid = {"max_leaf_nodes": [7, 15, 31]}
    return RoundsTuned(model, boosted_stages, "n_rounds", grid, info.loss, info.seed)


def _rankboost_trees_on_queries(info: TaskInfo) -> RoundsTuned:
    model = RankBoost(
        weak="tree",
        loss="logistic" if info.has_few_pairs else "exponential",
        query_weight="equal",
        max_features=0.5,
        subsample=0.5,
        categorical_features=info.categories or None,
        random_state=info.seed,
    )
    slow: dict[str, list[Any]] = {"learning_rate": [0.05], "l2": [10.0]}
    grid: Grid = [
        {"max_leaf_nodes": [7]},
        {"max_leaf_nodes": [15], "min_samples_leaf": [100]},
        {"max_leaf_nodes": [31], "min_samples_leaf": [100], **slow},
    ]
    return RoundsTuned(model, boosted_stages, "n_rounds", grid, info.loss, info.seed)


def _ordinal_boost(info: TaskInfo) -> RoundsTuned:
    model = OrdinalBoost(
        classes=list(range(info.n_levels)),
        categorical_features=info.categories or None,
        random_state=info.seed,
    )
    grid: Grid = [
        {"odds": ["proportional"], "max_leaf_nodes": [7]},
        {"odds": ["free"], "max_leaf_nodes": [15, 31]},
    ]
    return RoundsTuned(model, boosted_stages, "n_rounds", grid, step_loss, info.seed)


def linear_mprank(info: TaskInfo) -> SampledMPRank:
    """Return MPRank, which chooses C by leaving pairs out."""
    return SampledMPRank(MPRank(), _CS, seed=info.seed)


def boosted_trees(trees: type[Trees], *, classes: bool = False) -> Make:
    """Return how boosted trees of another library are made."""

    def make(info: TaskInfo) -> RoundsTuned:
        levels = list(range(info.n_levels)) if classes else None
        categories = list(info.categories) or None
        model = trees(classes=levels, categorical_features=categories, random_state=info.seed)
        loss = step_loss if classes else info.loss
        grid: Grid = {**trees.sizes, **(trees.sizes_of_levels if categories else {})}
        return RoundsTuned(model, tree_stages, "n_estimators", grid, loss, info.seed)

    return make


def _to_classes(make: Make) -> Make:
    return lambda info: to_classes(make(info._replace(loss=pair_loss)), info.n_levels, info.seed)


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


def _tuned_prank(info: TaskInfo, **kernel: Any) -> GridTuned:
    return GridTuned(_prank(info, **kernel), _PASSES, step_loss, info.seed)


def _rbf_prank(info: TaskInfo) -> GridTuned:
    model = _prank(info, kernel="rbf", budget=2000)
    gammas = [factor / info.n_features for factor in (0.1, 0.3, 1.0)]
    return GridTuned(model, {"gamma": gammas}, step_loss, info.seed)


def _prank_on_grades(info: TaskInfo) -> GridTuned:
    return GridTuned(GradesAsClasses(_prank(info)), _PASSES, info.loss, info.seed)


def _prank_ensemble(info: TaskInfo) -> GridTuned:
    model = AggregatePRank(
        unit_norm=False, classes=list(range(info.n_levels)), random_state=info.seed
    )
    return GridTuned(model, _PASSES, step_loss, info.seed)


def _rbf_mprank(info: TaskInfo) -> SampledMPRank:
    return SampledMPRank(MPRank(kernel="rbf"), _CS[2:7], gammas=(0.3, 1.0), seed=info.seed)


def _ridge(info: TaskInfo) -> Any:
    return Ridge()


def _trees(adapt: Callable[[Make], Make], *, classes: bool = False) -> tuple[Candidate, ...]:
    """Return the boosted trees that are installed."""
    libraries: tuple[type[Trees], ...] = (LightGBM, XGBoost, CatBoost)
    what = " (median class)" if classes else ""
    return tuple(
        Candidate(
            f"{trees.__name__}{what}",
            adapt(boosted_trees(trees, classes=classes)),
            scaled=False,
            origin=trees.package,
            of_categories=True,
        )
        for trees in libraries
        if installed(trees.package)
    )


def _own_trees(name: str, make: Make) -> Candidate:
    return Candidate(name, make, scaled=False, of_categories=True)


def _baseline(name: str, make: Make) -> Candidate:
    return Candidate(name, make, scaled=False, origin="", can_be_saved=False)


def ordinal_candidates() -> tuple[Candidate, ...]:
    """Return the candidates that predict ordered classes."""
    candidates = [
        Candidate("PRank", _tuned_prank),
        Candidate("PRank (RBF kernel)", _rbf_prank, most_rows=2 * KERNEL_ROWS),
        Candidate("PRank (quadratic)", lambda i: _tuned_prank(i, kernel="poly", degree=2)),
        Candidate("OAP-BPM (100 PRanks)", _prank_ensemble),
        Candidate("MPRank", _to_classes(linear_mprank)),
        Candidate("MPRank (RBF kernel)", _to_classes(_rbf_mprank), most_rows=KERNEL_ROWS),
        Candidate("RankBoost", _to_classes(rankboost), scaled=False),
        _own_trees("RankBoost (trees)", _to_classes(_rankboost_trees)),
        _own_trees("OrdinalBoost", _ordinal_boost),
        Candidate("Ridge", _to_classes(_ridge), origin="scikit-learn"),
        *_trees(_to_classes),
        *_trees(lambda make: make, classes=True),
    ]
    if installed("mord"):
        grid = {"alpha": [0.1, 1.0, 10.0]}

        def mord(info: TaskInfo) -> GridTuned:
            model = Mord(classes=list(range(info.n_levels)))
            return GridTuned(model, grid, step_loss, info.seed)

        candidates.append(Candidate("mord", mord, origin="mord"))
    constant = _baseline("(always the median class)", lambda i: Constant())
    return (*candidates, constant)


def magnitude_candidates() -> tuple[Candidate, ...]:
    """Return the candidates that predict distances."""

    # Least squares, whatever the queries.
    def ignoring(make: Make) -> Make:
        return lambda info: IgnoringQueries(make(info))

    def on_label_scale(make: Make) -> Make:
        return lambda info: to_label_scale(make(info), info.seed)

    return (
        Candidate("MPRank", linear_mprank),
        Candidate("MPRank (RBF kernel)", _rbf_mprank, most_rows=KERNEL_ROWS),
        Candidate("SVRank", lambda i: StandardizedLabels(_svrank(i))),
        Candidate("RankBoost", on_label_scale(rankboost), scaled=False),
        _own_trees("RankBoost (trees)", on_label_scale(_rankboost_trees)),
        Candidate("Ridge", ignoring(_ridge), origin="scikit-learn"),
        *_trees(ignoring),
        _baseline("(the same score for all)", lambda i: Constant()),
    )


def graded_candidates() -> tuple[Candidate, ...]:
    """Return the candidates that rank the rows of a query."""
    return (
        Candidate("RankBoost", rankboost, scaled=False),
        _own_trees("RankBoost (trees)", _rankboost_trees_on_queries),
        Candidate("MPRank", linear_mprank),
        Candidate("SVRank", _svrank),
        Candidate("PRank on grades", _prank_on_grades),
        Candidate("Ridge", _ridge, origin="scikit-learn"),
        *_trees(lambda make: make),
        _baseline("(the best feature)", lambda i: BestSignedFeature()),
        _baseline("(a random order)", lambda i: Constant()),
    )


CANDIDATES: Final = {
    "ordinal": ordinal_candidates,
    "magnitude": magnitude_candidates,
    "graded": graded_candidates,
}


def further_candidates(kind: str) -> tuple[Candidate, ...]:
    """Return rankers that can be fitted to a task but are not compared."""
    if kind != "ordinal":
        return (Candidate("MPRankCV", lambda i: MPRankCV()),)
    return (
        Candidate("AggregatePRank", _prank_ensemble),
        Candidate("MPRankCV", _to_classes(lambda i: MPRankCV())),
        Candidate(
            "MulticlassPerceptron", lambda i: MulticlassPerceptron(classes=list(range(i.n_levels)))
        ),
        Candidate("SVRank", _to_classes(_svrank)),
        Candidate("WidrowHoff", lambda i: WidrowHoff(classes=list(range(i.n_levels)))),
    )


def plain_name(name: str) -> str:
    """Return the name of a candidate without case, in today's spelling.

    Examples
    --------
    >>> from peckorder.comparison.candidates import plain_name
    >>> plain_name("MPRank, RBF kernel") == plain_name("mprank (RBF kernel)")
    True
    """
    return re.sub(r",\s*(.+)$", r" (\1)", name.strip()).lower()
