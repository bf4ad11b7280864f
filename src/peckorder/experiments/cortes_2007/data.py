"""Reviewers: who is tested, who is referred to, and what is known of an item."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.random import Generator

from peckorder import datasets
from peckorder._core.typing import Floats, Ints
from peckorder.collaborative import damped_means
from peckorder.exceptions import MissingDataError
from peckorder.experiments.cortes_2007.config import Config
from peckorder.feedback import Ratings

ALL = 10**9
PART = "Books, a part"


@dataclass(frozen=True, slots=True)
class Group:
    """Reference reviewers by how many items they rated, or how many of these to keep.

    `density` is the share of all items whose ratings are kept, drawn at random; 0 keeps
    what there is.
    """

    name: str
    low: int = 1
    high: int = ALL
    density: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Reviews:
    """A set of ratings, its groups, and how many ratings a test reviewer has."""

    ratings: Ratings
    groups: tuple[Group, ...]
    low: int
    high: int


@dataclass(frozen=True, slots=True, eq=False)
class Reviewer:
    """Whose ratings are learnt: in random order, the first `n_train` for training."""

    row: int
    items: Ints
    values: Floats
    n_train: int


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """One reviewer's ratings with what others say of the items.

    `distances` are squared, in units of the mean of two items; `popular` is the mean
    rating of each item by everybody else.
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


_BINS = ((20, 40), (40, 60), (60, 80))


def _bins(name: str) -> tuple[Group, ...]:
    return tuple(Group(f"{name} {low}-{high}", low, high) for low, high in _BINS)


def load_movielens(config: Config, folder: Path | None) -> Reviews:
    """Return MovieLens 1M, or people and items made up."""
    if config.made:
        ratings = datasets.make_ratings(500, 250, density=0.22, random_state=1)
    else:
        ratings = datasets.load_movielens_1m(folder).ratings
    return Reviews(ratings, _bins("MovieLens"), 50, 300)


def load_jester(config: Config, folder: Path | None) -> Reviews:
    """Return Jester, or people and 100 items made up."""
    if config.made:
        ratings = datasets.make_ratings(
            500, 100, density=0.5, levels=20, choice=0.0, random_state=2
        )
    else:
        ratings = datasets.load_jester(folder).ratings
    return Reviews(ratings, _bins("Jester"), 50, 300)


def load_netflix(config: Config, folder: Path | None) -> Reviews:
    """Return the dense matrix, with groups thinned to the paper's densities."""
    if config.made:
        ratings = datasets.make_ratings(150, 150, density=0.85, random_state=3)
    else:
        ratings = datasets.load_netflix_matrix(folder).ratings
    groups = (
        *(Group(f"Netflix {p}%", density=p / 100) for p in (32, 46, 58)),
        Group("Netflix whole"),
    )
    return Reviews(ratings, groups, 20, ALL)


def load_books(config: Config, folder: Path | None) -> Reviews:
    """Return reviewers of many books, and books of at least ten of them.

    The paper's 200 books a reviewer; 100 where that leaves next to nothing, as of the
    part of the set that is often passed on.
    """
    if config.made:
        ratings = datasets.make_ratings(
            45, 80, density=0.3, levels=10, choice=0.0, random_state=4
        )
        return Reviews(ratings, (Group("Books"),), 4, ALL)
    with warnings.catch_warnings():
        # That it is a part is said in the report.
        warnings.filterwarnings(
            "ignore", "load_book_crossing: .* to be the published set", UserWarning
        )
        ratings = datasets.load_book_crossing(folder).ratings
    whole = frequent(ratings, 200, 10)
    if whole is not None and whole.n_users >= 50:
        return Reviews(whole, (Group("Books"),), 4, ALL)
    part = frequent(ratings, 100, 10)
    if part is None:
        raise MissingDataError(
            "cortes-2007: Book-Crossing must have books with 10 reviews by reviewers "
            f"of 100 books; got none in {len(ratings):,} ratings. Get the whole file, "
            "BX-Book-Ratings.csv."
        )
    return Reviews(part, (Group(PART),), 4, ALL)


def frequent(ratings: Ratings, least_items: int, least_users: int) -> Ratings | None:
    """Keep users of so many items, then items of so many of these users."""
    csr = ratings.csr
    row = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
    kept = (np.diff(csr.indptr) >= least_items)[row]
    counts = np.bincount(csr.indices[kept], minlength=csr.shape[1])
    kept &= (counts >= least_users)[csr.indices]
    if not kept.any():
        return None
    users, items = ratings.users[row[kept]], ratings.items[csr.indices[kept]]
    return Ratings(users, items, csr.data[kept])


def draw_reviewers(reviews: Reviews, count: int, rng: Generator) -> list[Reviewer]:
    """Draw test reviewers, and which half of their ratings is for training."""
    sizes = reviews.ratings.per_user
    known = np.flatnonzero((sizes >= reviews.low) & (sizes <= reviews.high))
    count = min(count, len(known))
    rows = rng.choice(known, count, replace=False)
    return [halved(reviews.ratings, int(row), rng) for row in rows]


def halved(
    ratings: Ratings, row: int, rng: Generator, n_train: int | None = None
) -> Reviewer:
    """Put a reviewer's ratings into random order; half of them are for training."""
    csr = ratings.csr
    first, last = csr.indptr[row : row + 2]
    order = first + rng.permutation(last - first)
    n_train = len(order) // 2 if n_train is None else n_train
    return Reviewer(row, csr.indices[order], csr.data[order], n_train)


def draw_features(
    reviews: Reviews,
    group: Group,
    without: Sequence[Reviewer],
    count: int,
    rng: Generator,
) -> Floats:
    """Return (n_items, count) ratings of reference reviewers, none of them `without`.

    What a reference reviewer did not rate has the median of what he rated.
    """
    ratings = reviews.ratings
    sizes = ratings.per_user
    known = np.flatnonzero((sizes >= group.low) & (sizes <= group.high))
    known = np.setdiff1d(known, [reviewer.row for reviewer in without])
    rows = rng.choice(known, min(count, len(known)), replace=False)
    chosen = ratings.csr[rows]
    column = np.repeat(np.arange(len(rows)), np.diff(chosen.indptr))
    items, values = chosen.indices, chosen.data
    if group.density:
        there = len(values) / (len(rows) * ratings.n_items)
        kept = rng.random(len(values)) < group.density / there
        column, items, values = column[kept], items[kept], values[kept]
    return filled(items, column, values, (ratings.n_items, len(rows)))


def filled(items: Ints, column: Ints, values: Floats, shape: tuple[int, int]) -> Floats:
    """Return the table of ratings, with columns' medians where there is none."""
    table = np.empty(shape)
    ends = np.searchsorted(column, np.arange(shape[1] + 1))
    for j in range(shape[1]):
        mine = values[ends[j] : ends[j + 1]]
        table[:, j] = np.median(mine) if len(mine) else 0.0
    table[items, column] = values
    return table


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """What reference reviewers say of all items, and how far two items are apart."""

    table: Floats
    scale: float
    total: Floats
    count: Floats
    mean: float

    @classmethod
    def of(cls, ratings: Ratings, table: Floats) -> "Features":
        """Measure the mean squared distance, and count what everybody rated."""
        csr, n_items = ratings.csr, ratings.n_items
        total = np.bincount(csr.indices, csr.data, n_items).astype(float)
        count = np.bincount(csr.indices, minlength=n_items).astype(float)
        scale = 2.0 * float(table.var(axis=0).sum())
        return cls(table, scale, total, count, float(csr.data.mean()))

    def problem(self, reviewer: Reviewer) -> Problem:
        """Return what there is to learn of one reviewer."""
        items, y = reviewer.items, reviewer.values
        rows = self.table[items]
        popular = damped_means(self.total[items] - y, self.count[items] - 1, self.mean)
        distances = squared_distances(rows) / self.scale
        return Problem(rows, distances, y, reviewer.n_train, popular)


def squared_distances(rows: Floats) -> Floats:
    """Return those of all pairs of rows."""
    centred = rows - rows.mean(axis=0)
    products = centred @ centred.T
    squares = products.diagonal()
    distances: Floats = np.maximum(squares[:, None] + squares - 2.0 * products, 0.0)
    np.fill_diagonal(distances, 0.0)
    return distances
