"""One person's ratings as a learning problem, with other viewers as features."""

from numbers import Real
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from peckorder._core.typing import Floats, Labels
from peckorder._core.validation import Rule, boolean, finite, one_of
from peckorder.exceptions import DataError
from peckorder.feedback import Ratings

_WHO = "problem"
_FILL = one_of("median", "mean", "zero", "abstain", aliases={"nan": "abstain"})
_CENTER = Rule(
    "None, 'viewer', 'middle' or a finite number",
    lambda value: (
        value is None or value in ("viewer", "middle")
        if not isinstance(value, Real)
        else finite.accepts(value)
    ),
)


@overload
def problem(
    ratings: Ratings,
    user: Any,
    references: ArrayLike,
    fill: str = ...,
    center: str | float | None = ...,
    *,
    items: ArrayLike | str | None = ...,
    return_items: Literal[False] = ...,
) -> tuple[Floats, Floats]: ...
@overload
def problem(
    ratings: Ratings,
    user: Any,
    references: ArrayLike,
    fill: str = ...,
    center: str | float | None = ...,
    *,
    items: ArrayLike | str | None = ...,
    return_items: Literal[True],
) -> tuple[Floats, Floats, Labels]: ...
def problem(
    ratings: Ratings,
    user: Any,
    references: ArrayLike,
    fill: str = "median",
    center: str | float | None = None,
    *,
    items: ArrayLike | str | None = None,
    return_items: bool = False,
) -> tuple[Floats, Floats] | tuple[Floats, Floats, Labels]:
    """Return X and y to learn one person's order from, a row an item.

    Parameters
    ----------
    ratings : Ratings
        Who gave what to which.
    user : hashable
        The person, whose ratings are y.
    references : array-like
        The ids of the viewers whose ratings are the columns of X; not the person.
    fill : {"median", "mean", "zero", "abstain"}, default="median"
        What stands where a viewer has not rated an item: the median or the mean of all
        that this viewer rated, 0 (after centring), or NaN.
    center : None, "viewer", "middle" or float, default=None
        What is subtracted from the features: nothing; each viewer's mean; the middle
        between the lowest and the highest of all ratings; or a number.
    items : None, "all" or array-like, default=None
        The rows: what the person rated, all items, or those with these ids.
    return_items : bool, default=False
        Return the ids of the rows as well.

    Returns
    -------
    X : ndarray of shape (n_items, n_references)
        The features.
    y : ndarray of shape (n_items,)
        The person's ratings; NaN where there is none.
    items : ndarray of shape (n_items,)
        The ids of the rows, with `return_items`.

    Notes
    -----
    O(n_references (n_items + k)) time, for viewers with k ratings each.

    Examples
    --------
    >>> from peckorder import Ratings
    >>> from peckorder.collaborative import problem
    >>> ratings = Ratings(list("aaabbcc"), [1, 2, 3, 1, 2, 2, 3], [5, 1, 3, 4, 2, 1, 5])
    >>> X, y = problem(ratings, "a", ["b", "c"])
    >>> X.tolist(), y.tolist()
    ([[4.0, 3.0], [2.0, 1.0], [3.0, 5.0]], [5.0, 1.0, 3.0])
    >>> X, _ = problem(ratings, "a", ["b", "c"], fill="zero", center="middle")
    >>> X.tolist()
    [[1.0, 0.0], [-1.0, -2.0], [0.0, 2.0]]
    """
    check_ratings(_WHO, ratings)
    check_fill_and_center(_WHO, fill, center)
    boolean.check(_WHO, "return_items", return_items)
    row = ratings.user_index(user)
    viewers = ratings.restrict(users=references)
    if row in [ratings.user_index(viewer) for viewer in viewers.users.tolist()]:
        raise DataError(
            f"{_WHO}: references must be others than the user; got {user!r} among them."
        )
    check_fillable(_WHO, viewers, fill)
    person = ratings.restrict(users=[user])
    if isinstance(items, str) and items != "all":
        raise DataError(f"{_WHO}: items must be None, 'all' or ids; got {items!r}.")
    if items is None:
        items = ratings.of(user).items
    if not isinstance(items, str):
        person = person.restrict(items=items)
    given = viewers.restrict(items=person.items)
    X = viewer_table(ratings, viewers, given, fill, center)
    y = person.matrix()[0]
    return (X, y, person.items) if return_items else (X, y)


def check_fill_and_center(who: str, fill: Any, center: Any) -> None:
    """Refuse ways to fill gaps, and to centre, that there are none of."""
    _FILL.check(who, "fill", fill)
    _CENTER.check(who, "center", center)


def check_fillable(who: str, viewers: Ratings, fill: str) -> None:
    """Refuse viewers who have rated nothing, where their ratings are to fill gaps."""
    if fill not in ("median", "mean"):
        return
    for viewer, count in zip(viewers.users.tolist(), viewers.per_user, strict=True):
        if count == 0:
            raise DataError(
                f"{who}: references must have ratings to fill gaps with; got none of "
                f"{viewer!r}."
            )


def viewer_table(
    ratings: Ratings,
    viewers: Ratings,
    given: Ratings,
    fill: str,
    center: str | float | None,
) -> Floats:
    """Return what viewers gave to items, a row an item and a column a viewer.

    `viewers` has all their ratings, `given` those of the items that are wanted; of
    `ratings`, all there are, the middle is taken.
    """
    centres = _centres(ratings, viewers, center)
    X = given.matrix().T
    X -= centres
    fills = np.zeros(X.shape[1])
    if fill != "zero":
        fills = _fills(viewers, fill) - centres
    return np.ascontiguousarray(np.where(np.isnan(X), fills, X))


def check_ratings(who: str, ratings: Any) -> None:
    """Refuse what is not `Ratings`; tell how to get them from what is."""
    if not isinstance(ratings, Ratings):
        hint = ""
        if isinstance(getattr(ratings, "ratings", None), Ratings):
            hint = " They are in its .ratings: give these."
        elif hasattr(ratings, "columns") or hasattr(ratings, "column_names"):
            hint = (
                " Make them of a frame with Ratings.from_frame(frame, user=, item=, "
                "rating=), which takes the names of its columns."
            )
        raise TypeError(
            f"{who}: ratings must be Ratings; got an object of type "
            f"{type(ratings).__name__}.{hint}"
        )


def _centres(ratings: Ratings, viewers: Ratings, center: str | float | None) -> Floats:
    if center == "viewer":
        return _of_each(viewers, np.mean)
    middle = 0.0
    if center == "middle":
        middle = (ratings.csr.data.min() + ratings.csr.data.max()) / 2.0
    elif center is not None:
        middle = float(center)
    return np.full(viewers.n_users, middle)


def _fills(viewers: Ratings, fill: str) -> Floats:
    if fill in ("median", "mean"):
        return _of_each(viewers, np.median if fill == "median" else np.mean)
    return np.full(viewers.n_users, np.nan)


def _of_each(viewers: Ratings, function: Any) -> Floats:
    """Return what a function makes of all ratings of each viewer; 0 of none."""
    parts = np.split(viewers.csr.data, viewers.csr.indptr[1:-1])
    return np.array([function(part) if len(part) else 0.0 for part in parts])
