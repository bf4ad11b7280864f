"""Cortes, Mohri and Rastogi (2007) on ratings that a user gives."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.random import Generator

from peckorder._core.typing import Ints
from peckorder.experiments.cortes_2007.data import (
    ALL,
    Config,
    Features,
    Group,
    Reviews,
    bins,
    filled,
    halved,
)
from peckorder.experiments.cortes_2007.figure_1 import measure_convergence, show_convergence
from peckorder.experiments.cortes_2007.tables import measure_groups, of_rankers, show_groups
from peckorder.experiments.framework import Measured, Part, Values
from peckorder.experiments.framework.given import given_ratings, require
from peckorder.feedback import Ratings

NAME = "Ratings"
# Sets of the paper, whose printed figures are shown beside ours.
PRINTED_AS = {"MovieLens 1M": "MovieLens", "Jester data set 1": "Jester"}
# Percent of the table that is filled, of the paper's subsets of the Netflix data.
PRINTED_FILLED = (32, 46, 58)
NEAR = 5.0
# Half of them are learnt from.
FEWEST_RATINGS = 4


def _count(ratings: Ratings, low: int, high: int = ALL) -> int:
    sizes = ratings.per_user
    return int(((sizes >= low) & (sizes <= high)).sum())


def load_bins(config: Config, path: Path | None) -> Reviews:
    """Return reviewers in bins, and test reviewers, as of MovieLens."""
    assert path is not None
    title, ratings = given_ratings(path)
    reviews = Reviews(ratings, bins(PRINTED_AS.get(title, NAME)), 50, 300)
    wanted = config.reviewers + config.held_out
    require(path, _count(ratings, 50, 300), wanted, "users with 50 to 300 ratings")
    for group in reviews.groups:
        what = f"users with {group.low} to {group.high} ratings"
        require(path, _count(ratings, group.low, group.high), config.references, what)
    return reviews


def load_all(config: Config, path: Path | None) -> Reviews:
    """Return all reviewers; one with enough ratings is learnt on-line."""
    assert path is not None
    ratings = given_ratings(path)[1]
    low = config.online_train + 20
    require(path, _count(ratings, low), 1, f"users with {low:,} or more ratings")
    require(path, ratings.n_users, config.references + 1, "users")
    return Reviews(ratings, (Group("all"),), low, ALL)


@dataclass(frozen=True, slots=True, eq=False)
class Subset:
    """Ratings of items with enough of them, and the rows of users with enough."""

    name: str
    ratings: Ratings
    users: Ints


def load_subsets(config: Config, path: Path | None) -> tuple[Subset, ...]:
    """Return the paper's three subsets of the Netflix data, the sparsest first.

    All have the same users, those of the first, of whom test reviewers are drawn.
    """
    assert path is not None
    title, ratings = given_ratings(path)
    per_user, per_item = ratings.per_user, ratings.per_item
    active = np.flatnonzero(per_user > config.subsets[0][0])
    wanted = config.references + config.dense_reviewers + config.dense_held_out
    subsets = []
    for printed, (least_items, least_users) in zip(PRINTED_FILLED, config.subsets, strict=False):
        what = f"users with more than {least_items:,} ratings"
        require(path, int((per_user > least_items).sum()), wanted, what)
        items = per_item >= least_users
        require(path, int(items.sum()), 2, f"items with {least_users:,} or more ratings")
        kept = ratings.restrict(users=ratings.users[active], items=ratings.items[items])
        users = np.flatnonzero(per_user[active] > least_items)
        density = kept.per_user[users].mean() / kept.n_items
        subsets.append(Subset(subset_name(title, printed, least_items, density), kept, users))
    return tuple(subsets)


def subset_name(title: str, printed: int, least_items: int, density: float) -> str:
    """Return the name of a subset: as it is printed, if it is about that of the paper."""
    if title == "The Netflix Prize" and abs(100.0 * density - printed) <= NEAR:
        return f"Netflix {printed}%"
    return f"{NAME} of more than {least_items:,} items, {density:.0%} filled"


def measure_subsets(config: Config, data: Sequence[Subset], unit: int, rng: Generator) -> Measured:
    """Test all rankers on reviewers of all subsets, with references of each."""
    drawn = _mixture(data, config.dense_held_out + config.dense_reviewers, rng)
    values: Values = {"reviewers": config.dense_reviewers, "groups": {}}
    for subset in data:
        ratings = subset.ratings
        references = np.setdiff1d(subset.users, drawn)
        chosen = rng.choice(references, config.references, replace=False)
        features = Features.of(ratings, filled(ratings.csr[chosen]))
        reviewers = [halved(ratings, int(row), rng) for row in drawn]
        held_out, tested = (
            [features.problem(r) for r in part if len(r.values) >= FEWEST_RATINGS]
            for part in (reviewers[: config.dense_held_out], reviewers[config.dense_held_out :])
        )
        spread = float(ratings.csr.data.std())
        values["groups"][subset.name] = of_rankers(
            held_out, tested, config, spread, config.dense_most_rounds
        )
    return Measured(values)


def _mixture(data: Sequence[Subset], count: int, rng: Generator) -> Ints:
    """Draw users, one after the other from each subset."""
    drawn: list[int] = []
    for k in range(count):
        left = np.setdiff1d(data[k % len(data)].users, drawn)
        drawn.append(int(rng.choice(left)))
    return np.array(drawn)


GIVEN = (
    Part(
        "bins",
        "Tables 1 and 2: the ratings given, by the protocol for MovieLens",
        load_bins,
        lambda config: config.repetitions,
        measure_groups,
        partial(show_groups, name=NAME, title="The ratings given"),
    ),
    Part(
        "subsets",
        "Tables 1 and 2: the ratings given, by the protocol for Netflix",
        load_subsets,
        lambda config: config.dense_repetitions,
        measure_subsets,
        partial(show_groups, name=NAME, title="The ratings given"),
    ),
    Part(
        "convergence",
        "Figure 1(a): on-line against batch, on the ratings given",
        load_all,
        lambda config: config.online_reviewers,
        measure_convergence,
        partial(show_convergence, source="the ratings given"),
    ),
)
