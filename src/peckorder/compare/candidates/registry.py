"""Who takes part: for each task the rankers that can do it, with small grids."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import RidgeCV

from peckorder._core.typing import Floats, Ints
from peckorder.compare.candidates.baselines import BestFeature
from peckorder.compare.candidates.calibration import Cut, OnScale, fit
from peckorder.compare.candidates.third_party import (
    LightGBM,
    Mord,
    XGBoost,
    installed,
    tree_stages,
)
from peckorder.compare.candidates.tuning import (
    Chosen,
    Loss,
    SampledMPRank,
    Stopped,
    boosted_stages,
    pair_loss,
    step_loss,
)
from peckorder.estimators import (
    AggregatePRank,
    PRank,
    RankBoost,
    SVRank,
)

# Kernels of all pairs of rows are kept and decomposed: some seconds.
KERNEL_ROWS: Final = 4000
# Pairs are left out, with a kernel, of so many: a decomposition, a product for each C.
SAMPLED_ROWS: Final = 800
_RIDGES: Final = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)


class Setting(NamedTuple):
    """What rankers are made for: a seed, sizes, levels, what decides."""

    seed: int
    n_features: int
    n_levels: int = 2
    loss: Loss = pair_loss


@dataclass(frozen=True, slots=True)
class Entrant:
    """A ranker that takes part.

    `make` returns it for a `Setting`. `scaled`: it is given standardised features
    without gaps. `home` is the package it comes from. `most_rows`: beyond so many rows
    to learn from it is left out.
    """

    name: str
    make: Callable[[Setting], Any]
    scaled: bool = True
    home: str = "peckorder"
    most_rows: int | None = None


class Constant(BaseEstimator):  # type: ignore[misc]
    """The same answer for all rows: the lower median of what it learnt from."""

    def fit(self, X: Floats, y: Floats) -> Self:
        """Learn the median."""
        self.answer_ = float(np.quantile(y, 0.5, method="lower"))
        return self

    def predict(self, X: Floats) -> Floats:
        """Return it."""
        return np.full(len(X), self.answer_)


class Feature(BaseEstimator):  # type: ignore[misc]
    """The feature that, rising or falling, disagrees least with the labels."""

    def fit(self, X: Floats, y: Floats, qid: Ints | None = None) -> Self:
        """Choose it."""
        both = np.hstack([X, -X])
        self.model_ = BestFeature().fit(both, y, qid=qid)
        self.feature_ = self.model_.feature_ % X.shape[1]
        return self

    def predict(self, X: Floats) -> Floats:
        """Return it, gaps last."""
        return self.model_.predict(np.hstack([X, -X]))


def rankboost(setting: Setting) -> Any:
    """Return RankBoost, which chooses its number of rounds on rows left out."""
    grid = {"cumulative": [True, False]}
    return Stopped(
        RankBoost(), boosted_stages, "n_rounds", grid, setting.loss, setting.seed
    )


def trees(kind: Any) -> Callable[[Setting], Any]:
    """Return how boosted trees of another library are made for a setting."""
    return lambda setting: Stopped(
        kind(seed=setting.seed),
        tree_stages,
        "n_estimators",
        None,
        setting.loss,
        setting.seed,
    )


def _cut(make: Callable[[Setting], Any]) -> Callable[[Setting], Any]:
    return lambda s: Cut(make(s._replace(loss=pair_loss)), s.n_levels, s.seed)


def _gammas(setting: Setting) -> tuple[float, ...]:
    return tuple(factor / setting.n_features for factor in (0.1, 0.3, 1.0))


def _svrank(setting: Setting) -> Any:
    grid = {"C": [1.0, 100.0, 10_000.0]}
    return Chosen(SVRank(tol=1e-4), grid, setting.loss, setting.seed)


def _prank(setting: Setting, **more: Any) -> PRank:
    levels = list(range(setting.n_levels))
    return PRank(
        max_iter=10,
        shuffle=True,
        unit_norm=False,
        classes=levels,
        random_state=setting.seed,
        **more,
    )


def _kernel_prank(setting: Setting) -> Any:
    model = _prank(setting, kernel="rbf", budget=2000)
    return Chosen(model, {"gamma": _gammas(setting)}, step_loss, setting.seed)


def _ensemble(setting: Setting) -> Any:
    return AggregatePRank(
        unit_norm=False,
        classes=list(range(setting.n_levels)),
        max_iter=10,
        random_state=setting.seed,
    )


def _rbf(setting: Setting) -> Any:
    return SampledMPRank(
        kernel="rbf",
        Cs=(1.0, 10.0, 100.0, 1000.0, 10_000.0),
        gammas=_gammas(setting)[1:],
        most_rows=SAMPLED_ROWS,
        seed=setting.seed,
    )


def _outside(ridge: Callable[[Setting], Any], trees: Any) -> tuple[Entrant, ...]:
    found = [Entrant("Ridge", ridge, home="scikit-learn")]
    for name, package, kind in (
        ("LightGBM", "lightgbm", LightGBM),
        ("XGBoost", "xgboost", XGBoost),
    ):
        if installed(package):
            found.append(Entrant(name, trees(kind), scaled=False, home=package))
    return tuple(found)


def ordinal() -> tuple[Entrant, ...]:
    """Return who can predict ordered classes."""
    entrants = [
        Entrant("PRank", _prank),
        Entrant("PRank, RBF kernel", _kernel_prank, most_rows=2 * KERNEL_ROWS),
        Entrant("PRank, quadratic", lambda s: _prank(s, kernel="poly", degree=2)),
        Entrant("OAP-BPM (100 PRanks)", _ensemble),
        Entrant("MPRank", _cut(lambda s: SampledMPRank(seed=s.seed))),
        Entrant("MPRank, RBF kernel", _cut(_rbf), most_rows=KERNEL_ROWS),
        Entrant("RankBoost", _cut(rankboost), scaled=False),
        *_outside(_cut(lambda s: RidgeCV(_RIDGES)), lambda kind: _cut(trees(kind))),
    ]
    if installed("mord"):
        grid = {"alpha": [0.1, 1.0, 10.0]}
        entrants.append(
            Entrant(
                "mord", lambda s: Chosen(Mord(), grid, step_loss, s.seed), True, "mord"
            )
        )
    constant = Entrant("(always the median class)", lambda s: Constant(), home="")
    return (*entrants, constant)


def magnitude() -> tuple[Entrant, ...]:
    """Return who can predict distances."""

    def on_scale(make: Callable[[Setting], Any]) -> Callable[[Setting], Any]:
        return lambda s: OnScale(make(s), s.seed)

    return (
        Entrant("MPRank", lambda s: SampledMPRank(seed=s.seed)),
        Entrant("MPRank, RBF kernel", _rbf, most_rows=KERNEL_ROWS),
        Entrant("SVRank", lambda s: Standardised(_svrank(s))),
        Entrant("RankBoost", on_scale(rankboost), scaled=False),
        *_outside(lambda s: RidgeCV(_RIDGES), _regressed),
        Entrant("(the same score for all)", lambda s: Constant(), home=""),
    )


def _regressed(kind: Any) -> Callable[[Setting], Any]:
    """Trees for distances do least squares, whatever the queries."""
    return lambda s: WithoutQueries(trees(kind)(s))


class Standardised(BaseEstimator):  # type: ignore[misc]
    """A model of labels with mean 0 and deviation 1, for one whose settings have units.

    SVRank's band is 0.1 wide, whatever the labels are measured in.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(
        self,
        X: Floats,
        y: Floats,
        qid: Ints | None = None,
        groups: Ints | None = None,
    ) -> Self:
        """Fit to scaled labels."""
        self.mean_, self.scale_ = float(y.mean()), float(y.std()) or 1.0
        self.model_ = fit(self.model, X, (y - self.mean_) / self.scale_, qid, groups)
        return self

    def predict(self, X: Floats) -> Floats:
        """Return scores on the scale of the labels."""
        return np.asarray(self.mean_ + self.scale_ * self.model_.predict(X))


class WithoutQueries(BaseEstimator):  # type: ignore[misc]
    """A model that is not told the queries, though its inner folds keep them whole."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Floats, y: Floats, groups: Ints | None = None) -> Self:
        """Fit all rows as one list."""
        self.model_ = fit(self.model, X, y, None, groups)
        return self

    def predict(self, X: Floats) -> Floats:
        """Return scores."""
        return np.asarray(self.model_.predict(X))


def graded() -> tuple[Entrant, ...]:
    """Return who can rank the rows of a query."""

    def prank(setting: Setting) -> Any:
        return OnLevels(_prank(setting))

    return (
        Entrant("RankBoost", rankboost, scaled=False),
        Entrant("MPRank", lambda s: SampledMPRank(seed=s.seed)),
        Entrant("SVRank", _svrank),
        Entrant("PRank on grades", prank),
        *_outside(lambda s: RidgeCV(_RIDGES), trees),
        Entrant("(the best feature)", lambda s: Feature(), scaled=False, home=""),
        Entrant("(a random order)", lambda s: Constant(), home=""),
    )


class OnLevels(BaseEstimator):  # type: ignore[misc]
    """PRank on grades: it learns levels and is asked for its score."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Floats, y: Floats) -> Self:
        """Learn the grades as levels of one scale."""
        values, level = np.unique(y, return_inverse=True)
        self.model_ = self.model.set_params(classes=list(range(max(2, len(values)))))
        self.model_.fit(X, level)
        return self

    def predict(self, X: Floats) -> Floats:
        """Return scores."""
        return np.asarray(self.model_.decision_function(X))
