"""Cortes, Mohri and Rastogi (2007): settings, printed figures, data and problems."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.random import Generator
from scipy import sparse

from peckorder import datasets
from peckorder._core.typing import Floats, Ints
from peckorder.collaborative import damped_means
from peckorder.exceptions import DataError, MissingDataError
from peckorder.feedback import Ratings


@dataclass(frozen=True, slots=True)
class Config:
    """One preset.

    Widths of the Gaussian kernel are ``gamma`` times the mean squared distance of two
    items, and SVRank's C and epsilon are in standard deviations of the ratings, so
    that one grid serves films and jokes.
    """

    synthetic: bool
    repetitions: int
    reviewers: int
    held_out: int
    dense_repetitions: int
    dense_reviewers: int
    dense_held_out: int
    references: int
    most_rounds: int
    dense_most_rounds: int
    # Subsets of given ratings: more ratings of a user, and at least so many of an item.
    subsets: tuple[tuple[int, int], ...]
    online_reviewers: int
    online_train: int
    online_rounds: int
    sizes: tuple[int, ...]
    left_out_repetitions: int
    left_out_reviewers: int
    gammas: tuple[float, ...]
    Cs: tuple[float, ...]
    ridges: tuple[float, ...]
    svrank_weights: tuple[float, ...]
    epsilons: tuple[float, ...]
    rounds: tuple[int, ...]


# A printed mean, and the standard deviation over repetitions.
Printed: TypeAlias = Sequence[float]

ALL = 10**9
BOOKS_SUBSET = "Books, a part"


@dataclass(frozen=True, slots=True)
class Group:
    """Reference reviewers with `low` to `high` ratings.

    `density` is the share of all items whose ratings are kept, drawn at random; 0 keeps
    all of them.
    """

    name: str
    low: int = 1
    high: int = ALL
    density: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Reviews:
    """A set of ratings, its groups, and the numbers of ratings of test reviewers."""

    ratings: Ratings
    groups: tuple[Group, ...]
    low: int
    high: int


@dataclass(frozen=True, slots=True, eq=False)
class Reviewer:
    """A test reviewer: ratings in random order, the first `n_train` for training."""

    row: int
    items: Ints
    values: Floats
    n_train: int


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """One reviewer's ratings, and the reference reviewers' ratings of the items.

    `distances` are squared, divided by their mean over pairs of items; `popular` is
    the mean rating of each item by all others.
    """

    rows: Floats
    distances: Floats
    y: Floats
    n_train: int
    popular: Floats

    @property
    def train(self) -> Floats:
        """The labels to learn from."""
        return self.y[: self.n_train]

    @property
    def test(self) -> Floats:
        """The labels to predict."""
        return self.y[self.n_train :]

    def training_half(self) -> "Problem":
        """Return the training half, itself divided into halves."""
        n = self.n_train
        return Problem(self.rows[:n], self.distances[:n, :n], self.y[:n], n // 2, self.popular[:n])


def bins(name: str) -> tuple[Group, ...]:
    """Return the paper's groups of reference reviewers."""
    limits = ((20, 40), (40, 60), (60, 80))
    return tuple(Group(f"{name} {low}-{high}", low, high) for low, high in limits)


def load_movielens(config: Config, folder: Path | None) -> Reviews:
    """Return MovieLens 1M, or synthetic ratings."""
    if config.synthetic:
        ratings = datasets.make_ratings(500, 250, density=0.22, random_state=1)
    else:
        ratings = datasets.load_movielens_1m(folder).ratings
    return Reviews(ratings, bins("MovieLens"), 50, 300)


def load_jester(config: Config, folder: Path | None) -> Reviews:
    """Return Jester, or synthetic ratings of 100 items."""
    if config.synthetic:
        ratings = datasets.make_ratings(
            500, 100, density=0.5, levels=20, choice=0.0, random_state=2
        )
    else:
        ratings = datasets.load_jester(folder).ratings
    return Reviews(ratings, bins("Jester"), 50, 300)


def load_netflix(config: Config, folder: Path | None) -> Reviews:
    """Return the dense matrix, with groups thinned to the paper's densities."""
    if config.synthetic:
        ratings = datasets.make_ratings(150, 150, density=0.85, random_state=3)
    else:
        ratings = datasets.load_netflix_matrix(folder).ratings
    groups = (
        *(Group(f"Netflix {p}%", density=p / 100) for p in (32, 46, 58)),
        Group("Netflix whole"),
    )
    return Reviews(ratings, groups, 20, ALL)


def load_books(config: Config, folder: Path | None) -> Reviews:
    """Return reviewers of many books, and books reviewed by at least ten of them.

    Reviewers have 200 books, as in the paper, or 100 if that leaves almost nothing, as
    for the subset that is often distributed.
    """
    if config.synthetic:
        ratings = datasets.make_ratings(45, 80, density=0.3, levels=10, choice=0.0, random_state=4)
        return Reviews(ratings, (Group("Books"),), 4, ALL)
    with warnings.catch_warnings():
        # The report says that it is a subset.
        warnings.filterwarnings(
            "ignore", "load_book_crossing: .* to be the published set", UserWarning
        )
        ratings = datasets.load_book_crossing(folder).ratings
    kept = frequent(ratings, 200)
    if kept is not None and kept.n_users >= 50:
        return Reviews(kept, (Group("Books"),), 4, ALL)
    kept = frequent(ratings, 100)
    if kept is None:
        raise MissingDataError(
            "cortes-2007: Book-Crossing must have books with 10 reviews by reviewers "
            f"of 100 books; got none in {len(ratings):,} ratings. Get the whole file, "
            "BX-Book-Ratings.csv."
        )
    return Reviews(kept, (Group(BOOKS_SUBSET),), 4, ALL)


def frequent(ratings: Ratings, least_items: int, least_users: int = 10) -> Ratings | None:
    """Return users with enough items, then items with enough of these users."""
    try:
        active = ratings.filter(min_per_user=least_items, repeat=False)
        return active.filter(min_per_item=least_users, repeat=False)
    except DataError:
        return None


def draw_reviewers(reviews: Reviews, count: int, rng: Generator) -> list[Reviewer]:
    """Draw test reviewers, and the half of their ratings that is for training."""
    sizes = reviews.ratings.per_user
    eligible = np.flatnonzero((sizes >= reviews.low) & (sizes <= reviews.high))
    rows = rng.choice(eligible, min(count, len(eligible)), replace=False)
    return [halved(reviews.ratings, int(row), rng) for row in rows]


def halved(ratings: Ratings, row: int, rng: Generator, n_train: int | None = None) -> Reviewer:
    """Shuffle a reviewer's ratings; by default half of them are for training."""
    csr = ratings.csr
    first, last = csr.indptr[row : row + 2]
    order = first + rng.permutation(last - first)
    n_train = len(order) // 2 if n_train is None else n_train
    return Reviewer(row, csr.indices[order], csr.data[order], n_train)


def draw_features(
    reviews: Reviews, group: Group, without: Sequence[Reviewer], count: int, rng: Generator
) -> Floats:
    """Return (n_items, count) ratings of reference reviewers not in `without`.

    Missing ratings are replaced by the median of the reviewer's ratings.
    """
    ratings = reviews.ratings
    sizes = ratings.per_user
    eligible = np.flatnonzero((sizes >= group.low) & (sizes <= group.high))
    eligible = np.setdiff1d(eligible, [reviewer.row for reviewer in without])
    chosen = ratings.csr[rng.choice(eligible, min(count, len(eligible)), replace=False)]
    if group.density:
        n_rows, n_items = chosen.shape
        kept = rng.random(chosen.nnz) < group.density / (chosen.nnz / (n_rows * n_items))
        starts = np.concatenate([[0], np.cumsum(kept)])[chosen.indptr]
        parts = chosen.data[kept], chosen.indices[kept], starts
        chosen = sparse.csr_array(parts, shape=chosen.shape)
    return filled(chosen)


def filled(ratings: sparse.csr_array) -> Floats:
    """Return ratings (n_items, n_users), with medians of users for missing ones."""
    table = np.empty(ratings.shape[::-1])
    for column, (start, end) in zip(table.T, pairwise(ratings.indptr), strict=True):
        rated = ratings.data[start:end]
        column[:] = np.median(rated) if len(rated) else 0.0
        column[ratings.indices[start:end]] = rated
    return table


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """The ratings of all items by reference reviewers, and the scale of distances."""

    table: Floats
    scale: float
    total: Floats
    count: Floats
    mean: float

    @classmethod
    def of(cls, ratings: Ratings, table: Floats) -> "Features":
        """Compute the mean squared distance, and sums and counts of all ratings."""
        csr, n_items = ratings.csr, ratings.n_items
        total = np.bincount(csr.indices, csr.data, n_items).astype(float)
        count = np.bincount(csr.indices, minlength=n_items).astype(float)
        scale = 2.0 * float(table.var(axis=0).sum())
        return cls(table, scale, total, count, float(csr.data.mean()))

    def problem(self, reviewer: Reviewer) -> Problem:
        """Return the learning problem of one reviewer."""
        items, y = reviewer.items, reviewer.values
        rows = self.table[items]
        popular = damped_means(self.total[items] - y, self.count[items] - 1, self.mean)
        distances = squared_distances(rows) / self.scale
        return Problem(rows, distances, y, reviewer.n_train, popular)


def squared_distances(rows: Floats) -> Floats:
    """Return the squared distances of all pairs of rows."""
    centred = rows - rows.mean(axis=0)
    products = centred @ centred.T
    squares = products.diagonal()
    distances: Floats = np.maximum(squares[:, None] + squares - 2.0 * products, 0.0)
    np.fill_diagonal(distances, 0.0)
    return distances
