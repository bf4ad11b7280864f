"""Ratings that a user gives for those of a paper: parts of papers load them here."""

from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from peckorder._core.errors import refusal
from peckorder.datasets import titled_ratings
from peckorder.exceptions import MissingDataError
from peckorder.feedback import Ratings

MOST_RANKS: Final = 20


@lru_cache(maxsize=1)
def given_ratings(path: Path) -> tuple[str, Ratings]:
    """Return what ratings are called, and the ratings; read once per process."""
    return titled_ratings(path)


def describe_ratings(path: Path) -> str:
    """Return a phrase that says which ratings they are, and how many."""
    name, ratings = given_ratings(path)
    low, high = ratings.csr.data.min(), ratings.csr.data.max()
    return (
        f"{name}, {len(ratings):,} ratings from {low:g} to {high:g} of {ratings.n_items:,} items "
        f"by {ratings.n_users:,} users"
    )


@lru_cache(maxsize=1)
def given_ranks(path: Path) -> Ratings:
    """Return the ratings as ranks: the lowest is 1, the next 2, and so on.

    Raises MissingDataError, so that a part is left out, if there are too many.
    """
    name, ratings = given_ratings(path)
    levels = np.unique(ratings.csr.data)
    if not 2 <= len(levels) <= MOST_RANKS:
        raise refusal(
            name,
            f"have 2 to {MOST_RANKS} different ratings, which are the ranks",
            f"{len(levels):,}",
            error=MissingDataError,
        )
    if np.array_equal(levels, np.arange(1, len(levels) + 1)):
        return ratings
    user, item, value = ratings.triples()
    return Ratings(user, item, np.searchsorted(levels, value) + 1.0)


def require(path: Path, count: int, wanted: int, what: str) -> None:
    """Raise MissingDataError, so that a part is left out, if there are too few."""
    if count < wanted:
        raise refusal(
            given_ratings(path)[0],
            f"have {wanted:,} or more {what}",
            f"{count:,}",
            error=MissingDataError,
        )
