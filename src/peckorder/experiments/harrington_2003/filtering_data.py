"""Harrington (2003): one rating of an item from the others, on-line and in a test."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import sparse

from peckorder._core.typing import Floats, Ints
from peckorder.datasets import load_cystic_fibrosis, load_movielens_1m, make_ratings
from peckorder.experiments.framework.experiment import Measured, Values
from peckorder.experiments.framework.online import centred
from peckorder.experiments.harrington_2003.methods import (
    Config,
    Form,
    Task,
    places_on_the_way,
    race,
)
from peckorder.feedback import Ratings
from peckorder.ordinal.learners.base import nearest_level

OTHERS = "mean of the other ratings"
TEST_SHARE = 1 / 8


@dataclass(frozen=True, slots=True)
class Judged:
    """A set of items with several ratings each, and how instances are made of it.

    The first form is the one whose taus are all drawn.
    """

    what: str
    draw: Callable[[Any, Generator], tuple[Any, Ints]]
    lowest: int
    n_ranks: int
    forms: tuple[Form, ...]

    def named(self, config: Config) -> str:
        """Return what the data are called in captions."""
        return f"made data for {self.what}" if config.made else self.what

    def measure(self, config: Config, data: Any, unit: int, rng: Generator) -> Measured:
        """Draw targets and an order of the items; try every method on every form."""
        others, target = self.draw(data, rng)
        order = rng.permutation(len(target))
        others, y = others[order], target[order] - self.lowest + 1
        means = mean_of_others(others) - self.lowest + 1
        whole = nearest_level(means, self.n_ranks) + 1
        n_learnt = count_learnt(len(y))
        seed = int(rng.integers(2**31))
        middle = self.lowest + (self.n_ranks - 1) / 2
        values: Values = {"n_learnt": n_learnt, "online": {}, "test": {}}
        for form in self.forms:
            rows = instances(others, form, middle)
            task = Task(rows, y, n_learnt, self.n_ranks)
            rounds = places_on_the_way(n_learnt)
            found = race(task, form, rounds, config.members, seed, online=True)
            found.add(OTHERS, whole[:n_learnt], whole[n_learnt:])
            values["online"][form.label] = found.online
            values["test"][form.label] = found.test
        return Measured(values)


def count_learnt(n: int) -> int:
    """Return how many of `n` items are learnt; the others are for the test."""
    return n - round(n * TEST_SHARE)


def load_judged(config: Config, folder: Path | None) -> Ints:
    """Return the judges' scores (n_pairs, 4), from 0 to 2."""
    if config.made:
        made = make_ratings(4, 250, levels=3, min_per_user=250, random_state=0)
        return np.asarray(made.matrix().T - 1, dtype=np.int64)
    return np.asarray(load_cystic_fibrosis(folder).scores, dtype=np.int64)


def load_movies(config: Config, folder: Path | None) -> Any:
    """Return the ratings (n_movies, n_viewers), sparse, of movies with two or more."""
    if config.made:
        ratings = make_ratings(60, 200, density=0.3, random_state=0)
    else:
        ratings = load_movielens_1m(folder).ratings
    return table_of(ratings, config.more_than)


def table_of(ratings: Ratings, more_than: int) -> Any:
    """Return ratings by movie, of viewers with more than so many, two at least each."""
    viewers = np.flatnonzero(ratings.per_user > more_than)
    table = ratings.csr[viewers].T.tocsr()
    return table[np.flatnonzero(np.diff(table.indptr) >= 2)]


def draw_judged(scores: Ints, rng: Generator) -> tuple[Ints, Ints]:
    """Draw one judge's score a pair; the others', in their order, are the instance."""
    n, n_judges = scores.shape
    is_target = np.arange(n_judges) == rng.integers(n_judges, size=(n, 1))
    return scores[~is_target].reshape(n, n_judges - 1), scores[is_target]


def draw_movies(table: Any, rng: Generator) -> tuple[Any, Ints]:
    """Draw one viewer's rating a movie; the others' are the instance, by viewer."""
    n = table.shape[0]
    counts = np.diff(table.indptr)
    place = table.indptr[:-1] + rng.integers(0, counts, size=n)
    is_other = np.ones(table.nnz, dtype=bool)
    is_other[place] = False
    parts = (
        table.data[is_other],
        table.indices[is_other],
        table.indptr - np.arange(n + 1),
    )
    return sparse.csr_array(parts, shape=table.shape), table.data[place].astype(
        np.int64
    )


def mean_of_others(X: Any) -> Floats:
    """Return the mean rating in every row; of a sparse one, of what is stored."""
    if not sparse.issparse(X):
        return np.asarray(X.mean(axis=1))
    return np.asarray(X.sum(axis=1).ravel() / np.diff(X.indptr))


def instances(X: Any, form: Form, middle: float) -> Any:
    """Return ratings as a form has them: moved so that the middle is zero, or not.

    What is not stored in a sparse row is zero in either case.
    """
    return centred(X, middle) if form.centred else X.astype(float)


CYSTIC_FIBROSIS = Judged(
    "cystic fibrosis",
    draw_judged,
    0,
    3,
    (
        Form("centred, with a constant", True, True, False),
        Form("as given", False, False, False),
    ),
)
MOVIELENS = Judged(
    "MovieLens 1M",
    draw_movies,
    1,
    5,
    (
        Form("centred, with a constant, unit norm", True, True, True),
        Form("centred, with a constant", True, True, False, "normalized"),
    ),
)
