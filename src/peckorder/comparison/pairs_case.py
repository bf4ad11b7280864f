"""Pairs of items: rankers fitted to them, and compared on pairs that are left out."""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from time import perf_counter
from typing import Any, Final, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from peckorder._core.typing import Floats, Ints
from peckorder.comparison.candidates import KERNEL_ROWS, Candidate, TaskInfo
from peckorder.comparison.contest import Case, Plan, Result, Trial
from peckorder.comparison.measures import Measure, Values
from peckorder.comparison.tuning import ROUNDS, boosted_stages
from peckorder.estimators import MPRank, MPRankCV, RankBoost, SVRank, TableRanker
from peckorder.exceptions import DataError
from peckorder.feedback import Preferences
from peckorder.metrics import disagreement, mean_squared_difference, metric_by_name
from peckorder.model_selection import PairKFold
from peckorder.tables.coded_columns import heights_of
from peckorder.tables.columns import Columns
from peckorder.tables.features import Coding
from peckorder.tables.roles import ColumnRole

_CS: Final = tuple(10.0**power for power in range(-2, 5))
# What is left out, in words.
LEFT_OUT: Final = {"pair": "pairs", "row": "items", "component": "connected components"}


class Record(BaseEstimator):  # type: ignore[misc]
    """The weight of the pairs in which an item is the better one, less that of others."""

    def fit(self, X: Floats, y: Preferences) -> Self:
        """Sum up."""
        self.scores_ = heights_of(self, y, len(X))
        return self

    def predict(self, X: Floats) -> Floats:
        """Return the sums of the items that were learnt from, which X must be."""
        return self.scores_


CANDIDATES: Final = (
    Candidate("RankBoost", lambda info: RankBoost(), scaled=False),
    Candidate(
        "RankBoost (trees)",
        lambda info: RankBoost(
            weak="tree", min_samples_leaf=5, max_features=0.7, random_state=info.seed
        ),
        scaled=False,
    ),
    Candidate("MPRank", lambda info: MPRank()),
    Candidate("MPRank (RBF kernel)", lambda info: MPRank(kernel="rbf"), most_rows=KERNEL_ROWS),
    Candidate("SVRank", lambda info: SVRank(tol=1e-4)),
    Candidate("(won less lost)", lambda info: Record(), origin="", can_be_saved=False),
)
# By the names of their classes, for `fit`.
FURTHER: Final = (Candidate("MPRankCV", lambda info: MPRankCV()),)


class LeftOut(NamedTuple):
    """The settings that do best on what is left out, and how they do there.

    `by` is what was left out, as in `PairKFold`, in `n_folds`; `n_settings` were tried.
    """

    chosen: Mapping[str, object]
    by: str
    metric: str
    value: float
    n_settings: int
    n_folds: int

    def sentence(self) -> str:
        """Describe it in a sentence."""
        what = LEFT_OUT[self.by].capitalize()
        least = f", the least of {self.n_settings} settings" if self.n_settings > 1 else ""
        return f"{what} left out, {self.n_folds} folds: {self.metric} {self.value:.4g}{least}."


def folds_of(preferences: Preferences, by: str, n_splits: int = 5, seed: int = 0) -> PairKFold:
    """Return so many folds, or the most that there are pairs for."""
    while True:
        cv = PairKFold(n_splits, by=by, random_state=seed)
        try:
            cv.split(preferences)
        except DataError:
            if n_splits == 2:
                raise
            n_splits -= 1
        else:
            return cv


def choose_on_pairs(
    ranker: Any, X: Floats, preferences: Preferences, by_hand: Iterable[str], by: str
) -> LeftOut | None:
    """Choose settings on pairs left out; None if there are too few.

    Of RankBoost the number of rounds, and whether features may fall; else C. What counts
    is the squared error of sizes where there are some, or the share of wrong pairs.
    """
    by_hand, is_boosted = set(by_hand), isinstance(ranker, RankBoost)
    has_C = "C" in ranker.get_params()  # MPRankCV chooses it by itself
    grid: dict[str, tuple[object, ...]] = {"C": _CS} if has_C and "C" not in by_hand else {}
    if is_boosted and ranker.weak == "threshold" and "cumulative" not in by_hand:
        grid = {"cumulative": (True, False)}
    rounds = {"n_rounds": ROUNDS[-1]} if is_boosted and "n_rounds" not in by_hand else {}
    settings = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    try:
        folds = list(folds_of(preferences, by).split(preferences))
    except DataError:
        return None
    loss: Any = mean_squared_difference if preferences.has_sizes else disagreement
    losses = np.zeros((len(settings), len(ROUNDS) if rounds else 1))
    for k, values in enumerate(settings):
        for train, test in folds:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = clone(ranker).set_params(**values, **rounds).fit(X, train)
                stages = boosted_stages(model, X) if rounds else [model.predict(X)]
                losses[k] += [test.total_weight * loss(test, scores) for scores in stages]
    losses /= sum(test.total_weight for _, test in folds)
    k, stage = divmod(int(np.argmin(losses)), losses.shape[1])
    chosen = settings[k] | ({"n_rounds": ROUNDS[stage]} if rounds else {})
    metric = "msd" if preferences.has_sizes else "disagreement"
    return LeftOut(chosen, by, metric, float(losses[k, stage]), losses.size, len(folds))


@dataclass(frozen=True, slots=True, eq=False)
class ItemsInPairs:
    """Pairs among the rows of a table, and how its columns become features."""

    preferences: Preferences
    items: Columns
    coding: Coding

    def fit(
        self,
        ranker: Any,
        *,
        scale: bool,
        by: str = "pair",
        by_hand: Iterable[str] = (),
        pairs: Preferences | None = None,
    ) -> tuple[TableRanker, LeftOut | None]:
        """Fit a ranker to the pairs, or some, with settings that are chosen on those left out.

        RankBoost learns their order only.
        """
        preferences = self.preferences if pairs is None else pairs
        if isinstance(ranker, RankBoost):
            preferences = preferences.without_sizes()
        model = TableRanker(clone(ranker), scale=scale)
        with warnings.catch_warnings():
            # Of a model with settings that are chosen only then.
            warnings.simplefilter("ignore")
            model._fit_columns(self.coding, self.items, preferences)
        left_out = choose_on_pairs(ranker, self.rows(model), preferences, by_hand, by)
        if left_out is not None:
            model.ranker.set_params(**left_out.chosen)
        model._fit_columns(self.coding, self.items, preferences)
        return model, left_out

    def rows(self, model: TableRanker) -> Floats:
        """Return the features of all items as a model prepares them."""
        return model._prepared(self.items.arrays)


@dataclass(frozen=True, slots=True, eq=False)
class PairsCase(Case):
    """Pairs of items, in folds of pairs, of items or of connected components, by `by`."""

    source: str
    data: ItemsInPairs
    by: str
    measures: tuple[Measure, ...]
    column_roles: tuple[ColumnRole, ...] = ()
    notes: tuple[str, ...] = ()
    kind: str = "pairs"
    candidates: tuple[Candidate, ...] = CANDIDATES
    unit: str = "pairs"
    spread: float = 1.0

    def plan(self, n_splits: int, seed: int) -> Plan:
        """Return the folds; values of pairs in one connected component vary together."""
        preferences = self.data.preferences
        better, worse, weight = preferences.pairs()
        component = preferences.components(len(self.data.items))[better]
        is_connected = (component == component[0]).all()
        # Sizes that are their numbers tell which pairs are in a fold.
        numbered = Preferences(better, worse, weight, np.arange(len(better)))
        cv = folds_of(preferences, self.by, n_splits, seed)
        tests = (test.sizes().astype(np.int64) for _, test in cv.split(numbered))
        trials = (
            self._trial(k, seed, train, test)
            for k, ((train, _), test) in enumerate(zip(cv.split(preferences), tests, strict=True))
        )
        return Plan(
            cv.n_splits,
            trials,
            self._measuring,
            len(preferences.paired_rows()),
            None if is_connected else component,
            "" if is_connected else "connected components",
        )

    def _trial(self, k: int, seed: int, train: Preferences, test: Ints) -> Trial:
        better, worse, _ = self.data.preferences.pairs()

        def run(candidate: Candidate, result: Result) -> None:
            """Fit one candidate, and keep by how much it puts the better items above."""
            ranker: Any = candidate.make(TaskInfo(seed, len(self.data.coding.features)))
            begin = perf_counter()
            if candidate.origin:
                model, left_out = self.data.fit(
                    ranker, scale=candidate.scaled, by=self.by, pairs=train
                )
                scores = model.ranker_.predict(self.data.rows(model))
                result.chosen.append({} if left_out is None else left_out.chosen)
            else:
                X = np.empty((len(self.data.items), 0))
                scores = ranker.fit(X, train).predict(X)
            result.seconds.append(perf_counter() - begin)
            result.record(test, len(better), scores[better[test]] - scores[worse[test]])

        return Trial(f"fold {k + 1}", run)

    def _measuring(self, rows: Ints) -> Any:
        """Return what makes values of pairs, whose means are those over pairs by weight."""
        size = self.data.preferences.sizes()[rows]
        weight = self.data.preferences.pairs().weight[rows]
        is_ordered = size > 0

        def values(above: Floats) -> Values:
            of_order = {
                "disagreement": (above < 0) + 0.5 * (above == 0),
                "misranking": (above <= 0).astype(np.float64),
                "tau": np.sign(above),
            }
            share = weight / weight[is_ordered].mean() if is_ordered.any() else weight
            found = {k: np.where(is_ordered, share * v, np.nan) for k, v in of_order.items()}
            share = weight / weight.mean()
            of_sizes = {"msd": share * (above - size) ** 2, "mad": share * np.abs(above - size)}
            return found | of_sizes

        return values

    def refit(self, name: str) -> TableRanker:
        """Fit a candidate to all pairs."""
        (candidate,) = (c for c in self.candidates if c.name == name)
        ranker = candidate.make(TaskInfo(0, len(self.data.coding.features)))
        return self.data.fit(ranker, scale=candidate.scaled, by=self.by)[0]


def measures_of_pairs(metric: str | None) -> tuple[Measure, ...]:
    """Return the measure that decides, by default disagreement, and disagreement."""
    if metric is not None:
        metric_by_name(metric, "metric").check_of_pairs("metric")
    names = dict.fromkeys([metric or "disagreement", "disagreement"])
    return tuple(map(Measure.of_lists, names))
