"""Freund et al. (2003): settings, films for one person, four measures, their tables.

Ratings are at least 1, so that a zero in a dense table means "not rated".
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import sparse

from peckorder import RankBoost
from peckorder._core.typing import Floats, Ints
from peckorder.collaborative import MinNormRegression, NearestRanker, damped_means
from peckorder.datasets import load_movielens_1m, make_ratings
from peckorder.experiments.framework import Values
from peckorder.experiments.framework.given import given_ranks, require
from peckorder.feedback import Ratings
from peckorder.metrics import average_precision, coverage, disagreement, predicted_rank_of_top


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes of all parts.

    A split is a draw of viewers who are features and of people who are targets; a
    partition divides all queries into four folds.
    """

    synthetic: bool
    # Figure 4: rounds on films, and on lists.
    learner_splits: int
    learner_targets: int
    learner_features: int
    film_rounds: int
    list_rounds: int
    # Table 1.
    list_partitions: int
    run_partitions: int
    # Figure 5.
    sizes: tuple[int, ...]
    splits: int
    targets: int
    # Figures 6 and 7: limits of the bins, both included.
    bins: tuple[tuple[int, int], ...]
    density_features: int
    density_splits: int
    density_targets: int
    feedback_features: int
    feedback_splits: int
    feedback_targets: int
    # The ideas that the paper proposes.
    idea_features: int
    idea_splits: int
    idea_targets: int
    bipartite_features: int
    # OHSUMED: the largest number of rounds to choose from.
    letor_rounds: int
    fold_rounds: int


FEWEST_IN_BIN = 20
MEASURES = ("disagreement", "AP", "PROT", "coverage")
DAMPING = 5.0
BOOST, PLAIN = "RankBoost", "RankBoost, WeakLearn.3"
REGRESSION, NEAREST = "regression", "nearest neighbour"
SIMILARITY, MEAN, CONSTANT = "vector similarity", "item mean", "constant"
PRINTED = (BOOST, SIMILARITY, NEAREST, REGRESSION)


def load_films(config: Config, folder: Path | None) -> Ratings:
    """Return MovieLens 1M, or synthetic ratings."""
    if not config.synthetic:
        films: Ratings = load_movielens_1m(folder).ratings
        return films
    return make_ratings(150, 160, density=0.25, min_per_user=10, random_state=0)


def load_given(config: Config, path: Path | None) -> Ratings:
    """Return the ratings that are given, if they have enough users for every figure."""
    assert path is not None
    films = given_ranks(path)
    features = max(
        *config.sizes, config.learner_features, config.feedback_features, config.idea_features
    )
    require(path, films.n_users, features + config.targets, "users")
    return films


def load_given_bins(config: Config, path: Path | None) -> Ratings:
    """Return the same, if every bin has users, too."""
    films = load_given(config, path)
    assert path is not None
    for limits in config.bins:
        count = len(in_bin(films, np.arange(films.n_users), limits))
        # Of whom features take their share.
        kept = 1.0 - config.feedback_features / films.n_users
        wanted = int(np.ceil(FEWEST_IN_BIN / kept))
        require(path, count, wanted, f"users with {bin_name(limits)} ratings")
    return films


@dataclass(frozen=True)
class Target:
    """A person, with the films of the training and of the test half."""

    learnt: Ints
    tested: Ints
    given: Floats
    truth: Floats


def halve(ratings: sparse.csr_array, person: int, rng: Generator) -> Target | None:
    """Draw the halves; None if all ratings of one of them are equal."""
    rated = slice(ratings.indptr[person], ratings.indptr[person + 1])
    items, values = ratings.indices[rated], ratings.data[rated].astype(float)
    order = rng.permutation(len(items))
    half = len(items) // 2
    one, other = order[:half], order[half:]
    if len(np.unique(values[one])) < 2 or len(np.unique(values[other])) < 2:
        return None
    return Target(items[one], items[other], values[one], values[other])


def draw_targets(
    ratings: sparse.csr_array, people: Ints, count: int, rng: Generator
) -> list[Target]:
    """Return the first people with different ratings in both halves."""
    targets: list[Target] = []
    for person in people:
        if len(targets) == count:
            break
        if (target := halve(ratings, int(person), rng)) is not None:
            targets.append(target)
    return targets


def in_bin(films: Ratings, people: Ints, limits: tuple[int, int]) -> Ints:
    """Return the people whose number of ratings is within the limits."""
    count = films.per_user[people]
    return people[(count >= limits[0]) & (count <= limits[1])]


def bin_name(limits: tuple[int, int]) -> str:
    """Format the limits of a bin."""
    low, high = limits
    return f"{low}-{high}" if high < 1000 else f"over {low - 1}"


def thinned(ratings: sparse.csr_array, rng: Generator) -> sparse.csr_array:
    """Return 10 to 20 ratings of each viewer, drawn at random."""
    kept = []
    for start, end in pairwise(ratings.indptr.tolist()):
        count = min(int(rng.integers(10, 21)), end - start)
        kept.append(np.sort(start + rng.permutation(end - start)[:count]))
    chosen = np.concatenate(kept)
    starts = np.concatenate([[0], np.cumsum([len(rows) for rows in kept])])
    arrays = ratings.data[chosen], ratings.indices[chosen], starts
    return sparse.csr_array(arrays, shape=ratings.shape)


class Viewers:
    """Viewers who are features, with statistics of each over all films."""

    def __init__(self, table: sparse.csr_array) -> None:
        table = sparse.csr_array(table)
        count = np.maximum(np.diff(table.indptr), 1)
        self.means: Floats = np.asarray(table.sum(axis=1)).ravel() / count
        squares = np.asarray(table.power(2).sum(axis=1)).ravel()
        self.norms: Floats = np.sqrt(squares)
        self.deviations: Floats = np.sqrt(np.maximum(squares / count - self.means**2, 0.0))
        self.by_item = sparse.csr_array(table.T)
        self._table = table
        self.scale: Floats = np.unique(table.data)
        self.density = float(np.diff(table.indptr).mean())

    def __len__(self) -> int:
        return len(self.means)

    def mean_of(self, size: int) -> float:
        """Return the mean of all ratings by the first viewers."""
        return float(self._table.data[: self._table.indptr[size]].mean())


def draw(
    films: Ratings, n_viewers: int, n_targets: int, rng: Generator
) -> tuple[Viewers, list[Target]]:
    """Draw viewers who are features, and targets among the others."""
    order = rng.permutation(films.n_users)
    viewers = Viewers(films.csr[order[:n_viewers]])
    return viewers, draw_targets(films.csr, order[n_viewers:], n_targets, rng)


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
    """Viewers' ratings of the films of a target, NaN where there is none."""

    viewers: Viewers
    target: Target
    learnt: Floats
    tested: Floats

    @classmethod
    def of(cls, viewers: Viewers, target: Target) -> "Tables":
        """Read the rows of both halves."""
        rows = [viewers.by_item[items].toarray() for items in (target.learnt, target.tested)]
        learnt, tested = (np.where(row == 0.0, np.nan, row) for row in rows)
        return cls(viewers, target, learnt, tested)

    def regression(self, size: int, *, normalize: bool = False) -> Floats:
        """Regress on the first viewers, missing ratings being their means.

        With `normalize`, every viewer and the target have mean 0 and variance 1.
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

    def neighbors(self, **settings: Any) -> NearestRanker | None:
        """Return the model of all viewers, nearest first.

        None if nobody rated any of the films: then nobody is near.
        """
        if np.isnan(self.learnt).all():
            return None
        model = NearestRanker(ratings=self.viewers.scale, n_neighbors=len(self.viewers), **settings)
        model.fit(self.learnt, self.target.given)
        # Viewers who rated all of these films have the mean of all their ratings.
        has_all = ~np.isnan(self.learnt[:, model.neighbors_]).any(axis=0)
        model.defaults_[has_all] = self.viewers.means[model.neighbors_[has_all]]
        return model

    def nearest(
        self, model: NearestRanker | None, size: int, k: int = 1, *, by_rated: bool = False
    ) -> Floats:
        """Return the mean rating of the k nearest of the first viewers, zeros without one."""
        if model is None or not (model.neighbors_ < size).any():
            return np.zeros(len(self.tested))
        chosen = np.flatnonzero(model.neighbors_ < size)[:k]
        columns = model.neighbors_[chosen]
        ratings = self.tested[:, columns]
        filled = np.where(np.isnan(ratings), model.defaults_[chosen], ratings)
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
        """Return weighted sums of the deviations from the first viewers' means."""
        weights = self.similarities(size)
        above = np.nan_to_num(self.tested[:, :size] - self.viewers.means[:size])
        total = np.abs(weights).sum()
        scores: Floats = self.target.given.mean() + (above @ weights) / (total or 1.0)
        return scores

    def item_mean(self, size: int) -> Floats:
        """Return the damped mean rating by the first viewers, as `ItemMean` does."""
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
    """Return the scores by every ranker, one array per number of features."""
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


def measures(targets: Sequence[Target], scores: Sequence[Floats]) -> dict[str, float]:
    """Return the four measures, means over people; good is the highest rating."""
    truth = np.concatenate([target.truth for target in targets])
    score = np.concatenate(scores)
    person = np.repeat(np.arange(len(targets)), [len(target.truth) for target in targets])
    return {
        "disagreement": float(disagreement(truth, score, qid=person)),
        **top_measures(truth, score, person),
    }


def top_measures(truth: Floats, score: Floats, person: Ints) -> dict[str, float]:
    """Return the three measures of good films, means over people."""
    with warnings.catch_warnings():
        # People whose ratings are all equal.
        warnings.filterwarnings("ignore", ".*every row is good", UserWarning)
        return {
            "AP": float(average_precision(truth, score, good="top", qid=person)),
            "PROT": float(predicted_rank_of_top(truth, score, qid=person)),
            "coverage": float(coverage(truth, score, good="top", qid=person)),
        }


def tabulated(
    targets: Sequence[Target], scored: Sequence[Mapping[str, Sequence[Floats]]]
) -> dict[str, dict[str, list[float]]]:
    """Return ranker, then measure, then one value per number of features."""
    table = {}
    for name in scored[0]:
        by_size = zip(*(scores[name] for scores in scored), strict=True)
        rows = [measures(targets, scores) for scores in by_size]
        table[name] = {key: [row[key] for row in rows] for key in MEASURES}
    return table


def all_compared(viewers: Viewers, targets: Sequence[Target]) -> dict[str, dict[str, list[float]]]:
    """Return the measures of every ranker with all viewers as features."""
    scored = [compared(Tables.of(viewers, target), [len(viewers)]) for target in targets]
    return tabulated(targets, scored)


def joined(parts: Sequence[Mapping[str, Mapping[str, Sequence[float]]]]) -> Values:
    """Return ranker, then measure, then the first value of every part."""
    return {
        name: {key: [part[name][key][0] for part in parts] for key in MEASURES} for name in parts[0]
    }
