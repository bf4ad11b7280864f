"""What a personal ranker says of questions it cannot take, or takes with doubt."""

import warnings
from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np

from peckorder._core.typing import Ints
from peckorder.exceptions import DataError
from peckorder.feedback import Ratings, id_list


def refuse_user(
    who: str, ratings: Ratings, added: Iterable[Any], user: Any, error: DataError
) -> NoReturn:
    """Say how many people have rated something, and how one becomes one of them.

    `error` is what the ratings themselves say, and may name whom one had in mind;
    `added` are people with ratings that came later.
    """
    rated = set(ratings.users[ratings.per_user > 0].tolist()) | set(added)
    hint = str(error).partition(f"got {user!r}.")[2]
    raise DataError(
        f"{who}: user must be one who has rated something ({len(rated):,} have; "
        f"update(user, item, rating) adds one); got {user!r}.{hint}"
    ) from None


def listed_ids(who: str, name: str, ids: Any) -> list[Any]:
    """Return ids of any types in a list; refuse what is none."""
    if isinstance(ids, np.ndarray) and ids.ndim == 1:
        return id_list(ids)
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        raise DataError(
            f"{who}: {name} must be a list of ids, such as [{ids!r}]; got {ids!r}."
        )
    asked = list(ids)
    if any(isinstance(one, list | np.ndarray) for one in asked):
        raise DataError(f"{who}: {name} must be a list of ids; got {ids!r}.")
    return asked


def places(who: str, ratings: Ratings, items: Any) -> Ints:
    """Return the columns of some items; refuse what is no list of ids."""
    found = [ratings.item_index(item) for item in listed_ids(who, "items", items)]
    return np.array(found, dtype=np.intp)


def warn_of_few(who: str, user: Any, count: int, shift: float) -> None:
    """Tell that a person's taste is not known, and what is predicted instead."""
    used = "the item means are used"
    if count:
        used += f", shifted by {shift:+.2f} to the level of what the person gave"
    warnings.warn(
        f"{who}: too few different ratings of user {user!r} to learn from, {count} in "
        f"all: {used}.",
        UserWarning,
        stacklevel=4,
    )


def warn_off_range(who: str, learnt: tuple[float, float], rating: float) -> None:
    """Tell that a rating is none of those that were learnt from, or between them."""
    low, high = learnt
    if not low <= rating <= high:
        warnings.warn(
            f"{who}: rating should be from {low:g} to {high:g}, as those of fit are; "
            f"got {rating!r}.",
            UserWarning,
            stacklevel=3,
        )
