"""Films for one person: viewers as features, halves of ratings, four measures.

Viewers' ratings are from 1 on, so that a zero in a dense table is "not rated".
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import sparse

from peckorder import RankBoost
from peckorder._core.typing import Floats, Ints
from peckorder.collaborative import MinNormRegression, NearestRanker, damped_means
from peckorder.datasets import load_movielens_1m, make_ratings
from peckorder.experiments.freund_2003.config import Config
from peckorder.feedback import Ratings
from peckorder.metrics import (
    average_precision,
    coverage,
    disagreement,
    predicted_rank_of_top,
)

SCALE = (1.0, 2.0, 3.0, 4.0, 5.0)
MEASURES = ("disagreement", "AP", "PROT", "coverage")
DAMPING = 5.0
BOOST, PLAIN = "RankBoost", "RankBoost, WeakLearn.3"
REGRESSION, NEAREST = "regression", "nearest neighbour"
SIMILARITY, MEAN, CONSTANT = "vector similarity", "item mean", "constant"
PRINTED = (BOOST, SIMILARITY, NEAREST, REGRESSION)


def load_films(config: Config, folder: Path | None) -> Ratings:
    """Return MovieLens 1M, or made ratings."""
    if not config.made:
        films: Ratings = load_movielens_1m(folder).ratings
        return films
    return make_ratings(150, 160, density=0.25, min_per_user=10, random_state=0)


@dataclass(frozen=True)
class Target:
    """A person, whose films are halved."""

    learnt: Ints
    tested: Ints
    given: Floats
    truth: Floats


def halve(ratings: Any, person: int, rng: Generator) -> Target | None:
    """Draw the halves; None if either has one rating only, so nothing to order."""
    rated = slice(ratings.indptr[person], ratings.indptr[person + 1])
    items, values = ratings.indices[rated], ratings.data[rated].astype(float)
    order = rng.permutation(len(items))
    half = len(items) // 2
    one, other = order[:half], order[half:]
    if len(np.unique(values[one])) < 2 or len(np.unique(values[other])) < 2:
        return None
    return Target(items[one], items[other], values[one], values[other])


def draw_targets(
    ratings: Any, people: Ints, count: int, rng: Generator
) -> list[Target]:
    """Take people in their order, but for those whose halves cannot be ordered."""
    targets: list[Target] = []
    for person in people:
        if len(targets) == count:
            break
        if (target := halve(ratings, int(person), rng)) is not None:
            targets.append(target)
    return targets


class Viewers:
    """Viewers who are features, with what is known of each from all films."""

    def __init__(self, table: Any) -> None:
        table = sparse.csr_array(table)
        count = np.maximum(np.diff(table.indptr), 1)
        self.means: Floats = np.asarray(table.sum(axis=1)).ravel() / count
        squares = np.asarray(table.power(2).sum(axis=1)).ravel()
        self.norms: Floats = np.sqrt(squares)
        self.deviations: Floats = np.sqrt(
            np.maximum(squares / count - self.means**2, 0.0)
        )
        self.by_item = sparse.csr_array(table.T)
        self._table = table
        self.density = float(np.diff(table.indptr).mean())

    def __len__(self) -> int:
        return len(self.means)

    def mean_of(self, size: int) -> float:
        """Return the mean of all ratings by the first viewers."""
        return float(self._table.data[: self._table.indptr[size]].mean())


def boosted(
    viewers: Viewers, target: Target, size: int, **settings: Any
) -> tuple[Floats, RankBoost]:
    """Return the scores by RankBoost on the first viewers, and the model."""
    columns = slice(0, size)
    rounds = settings.pop("n_rounds", 40 + size // 10)
    model = RankBoost(n_rounds=rounds, missing="abstain", n_jobs=1, **settings)
    model.fit(viewers.by_item[target.learnt][:, columns], target.given)
    return model.predict(viewers.by_item[target.tested][:, columns]), model


@dataclass(frozen=True)
class Tables:
    """What viewers gave to the films of a target, NaN where nothing."""

    viewers: Viewers
    target: Target
    learnt: Floats
    tested: Floats

    @classmethod
    def of(cls, viewers: Viewers, target: Target) -> "Tables":
        """Read the rows of both halves."""
        rows = [
            viewers.by_item[items].toarray() for items in (target.learnt, target.tested)
        ]
        learnt, tested = (np.where(row == 0.0, np.nan, row) for row in rows)
        return cls(viewers, target, learnt, tested)

    def regression(self, size: int, *, normalize: bool = False) -> Floats:
        """Regress on the first viewers, their gaps filled with their means.

        Normalised, every viewer and the target have mean 0 and variance 1.
        """
        means, scale = self.viewers.means, self.viewers.deviations
        given = self.target.given
        centre, spread = 0.0, 1.0
        if normalize:
            centre, spread = float(given.mean()), float(given.std())
            given = (given - centre) / spread
        filled = [
            _filled(table[:, :size], means[:size], scale[:size], normalize)
            for table in (self.learnt, self.tested)
        ]
        scores = MinNormRegression().fit(filled[0], given).predict(filled[1])
        return np.asarray(centre + spread * scores)

    def neighbors(self, **settings: Any) -> NearestRanker:
        """Return all viewers, nearest first; of the first of them: a part of these."""
        model = NearestRanker(ratings=SCALE, n_neighbors=len(self.viewers), **settings)
        model.fit(self.learnt, self.target.given)
        # Who rated all of these films answers with the mean of all his ratings.
        rated = ~np.isnan(self.learnt[:, model.neighbors_])
        every = rated.all(axis=0)
        model.defaults_[every] = self.viewers.means[model.neighbors_[every]]
        return model

    def nearest(
        self, model: NearestRanker, size: int, k: int = 1, *, by_rated: bool = False
    ) -> Floats:
        """Return the mean of the k nearest of the first viewers."""
        chosen = np.flatnonzero(model.neighbors_ < size)[:k]
        if len(chosen) == 0:
            return np.zeros(len(self.tested))
        columns = model.neighbors_[chosen]
        seen = self.tested[:, columns]
        filled = np.where(np.isnan(seen), model.defaults_[chosen], seen)
        weight = np.ones(len(chosen))
        if by_rated:
            weight = (~np.isnan(self.learnt[:, columns])).sum(axis=0).astype(float)
        scores: Floats = filled @ (weight / weight.sum())
        return scores

    def similarities(self, size: int) -> Floats:
        """Return how similar the first viewers are to the target."""
        given = self.target.given
        product = given @ np.nan_to_num(self.learnt[:, :size])
        weights: Floats = product / (np.linalg.norm(given) * self.viewers.norms[:size])
        return weights

    def vector_similarity(self, size: int) -> Floats:
        """Add up what the first viewers gave above their means, by similarity."""
        weights = self.similarities(size)
        above = np.nan_to_num(self.tested[:, :size] - self.viewers.means[:size])
        total = np.abs(weights).sum()
        scores: Floats = self.target.given.mean() + (above @ weights) / (total or 1.0)
        return scores

    def item_mean(self, size: int) -> Floats:
        """Return the mean rating by the first viewers, drawn to that of all films."""
        mean = self.viewers.mean_of(size)
        table = self.tested[:, :size]
        count = (~np.isnan(table)).sum(axis=1)
        return damped_means(np.nansum(table, axis=1), count, mean, DAMPING)


def _filled(table: Floats, means: Floats, scale: Floats, centred: bool) -> Floats:
    if not centred:
        return np.where(np.isnan(table), means, table)
    above = np.nan_to_num(table - means)
    return np.divide(above, scale, out=np.zeros(table.shape), where=scale > 0.0)


def compared(
    tables: Tables, sizes: Sequence[int], nearest: NearestRanker | None = None
) -> dict[str, list[Floats]]:
    """Return the scores by every ranker, a list of one for each number of features."""
    viewers, target = tables.viewers, tables.target
    nearest = tables.neighbors() if nearest is None else nearest
    return {
        BOOST: [boosted(viewers, target, size)[0] for size in sizes],
        SIMILARITY: [tables.vector_similarity(size) for size in sizes],
        NEAREST: [tables.nearest(nearest, size) for size in sizes],
        REGRESSION: [tables.regression(size) for size in sizes],
        MEAN: [tables.item_mean(size) for size in sizes],
        CONSTANT: [np.zeros(len(target.truth)) for _ in sizes],
    }


def measures(truths: Sequence[Floats], scores: Sequence[Floats]) -> dict[str, float]:
    """Return the four measures, means over people; good is the highest rating."""
    truth, score = np.concatenate(truths), np.concatenate(scores)
    person = np.repeat(np.arange(len(truths)), [len(each) for each in truths])
    return {
        "disagreement": float(disagreement(truth, score, qid=person)),
        **top_measures(truth, score, person),
    }


def top_measures(truth: Floats, score: Floats, person: Ints) -> dict[str, float]:
    """Return the three measures of good films, means over people."""
    with warnings.catch_warnings():
        # Of people who gave one rating only, whom nothing can be asked about.
        warnings.filterwarnings("ignore", ".*every row is good", UserWarning)
        return {
            "AP": float(average_precision(truth, score, good="top", qid=person)),
            "PROT": float(predicted_rank_of_top(truth, score, qid=person)),
            "coverage": float(coverage(truth, score, good="top", qid=person)),
        }


def tabulated(
    targets: Sequence[Target], scored: Sequence[Mapping[str, Sequence[Floats]]]
) -> dict[str, dict[str, list[float]]]:
    """Return ranker, then measure, then a value for each number of features."""
    truths = [target.truth for target in targets]
    found: dict[str, dict[str, list[float]]] = {}
    for name in scored[0]:
        columns = zip(*(scores[name] for scores in scored), strict=True)
        rows = [measures(truths, column) for column in columns]
        found[name] = {which: [row[which] for row in rows] for which in MEASURES}
    return found
