"""The ratings of one person as a learning problem, with other viewers as features."""

from collections.abc import Callable, Hashable
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from peckorder._core.errors import entry, refusal
from peckorder._core.typing import Floats, Labels, VectorLike
from peckorder._core.validation import Rule, boolean, finite, is_number, one_of
from peckorder.feedback import Ratings

_FILL = one_of("median", "mean", "zero", "abstain", aliases={"nan": "abstain"})
_CENTER = Rule(
    "None, 'viewer', 'middle' or a finite number",
    lambda value: (
        value is None or value in ("viewer", "middle")
        if not is_number(value)
        else finite.accepts(value)
    ),
)


@overload
def problem(
    ratings: Ratings,
    user: Hashable,
    references: VectorLike,
    fill: str = ...,
    center: str | float | None = ...,
    *,
    items: ArrayLike | str | None = ...,
    return_items: Literal[False] = ...,
) -> tuple[Floats, Floats]: ...
@overload
def problem(
    ratings: Ratings,
    user: Hashable,
    references: VectorLike,
    fill: str = ...,
    center: str | float | None = ...,
    *,
    items: ArrayLike | str | None = ...,
    return_items: Literal[True],
) -> tuple[Floats, Floats, Labels]: ...
@entry
def problem(
    ratings: Ratings,
    user: Hashable,
    references: VectorLike,
    fill: str = "median",
    center: str | float | None = None,
    *,
    items: ArrayLike | str | None = None,
    return_items: bool = False,
) -> tuple[Floats, Floats] | tuple[Floats, Floats, Labels]:
    """Return X and y to learn one person's order from, with one row per item.

    Parameters
    ----------
    ratings : Ratings
        The ratings of all people.
    user : hashable
        The person, whose ratings are y.
    references : array-like
        The ids of the viewers whose ratings are the columns of X; not the person.
    fill : {"median", "mean", "zero", "abstain"}, default="median"
        The value of missing ratings: the median or the mean of all ratings of the
        viewer, 0 (after centring), or NaN.
    center : None, "viewer", "middle" or float, default=None
        Subtracted from the features: nothing; the mean of each viewer; the middle
        between the lowest and the highest of all ratings; or a number.
    items : None, "all" or array-like, default=None
        The rows: the items that the person rated, all items, or those with these ids.
    return_items : bool, default=False
        Return the ids of the rows as well.

    Returns
    -------
    X : ndarray of shape (n_items, n_references)
        The features.
    y : ndarray of shape (n_items,)
        The person's ratings; NaN if missing.
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
    check_ratings(ratings)
    check_fill_and_center(fill, center)
    boolean.check("return_items", return_items)
    row = ratings.user_index(user)
    viewers = ratings.restrict(users=references)
    if row in [ratings.user_index(viewer) for viewer in viewers.users.tolist()]:
        raise refusal("references", "be others than the user", f"{user!r} among them")
    check_fillable(viewers, fill)
    person = ratings.restrict(users=[user])
    if isinstance(items, str) and items != "all":
        raise refusal("items", "be None, 'all' or ids", repr(items))
    if items is None:
        items = ratings.of(user).items
    if not isinstance(items, str):
        person = person.restrict(items=items)
    selected = viewers.restrict(items=person.items)
    X = viewer_table(ratings, viewers, selected, fill, center)
    y = person.matrix()[0]
    return (X, y, person.items) if return_items else (X, y)


def check_fill_and_center(fill: object, center: object) -> None:
    """Raise for unknown values of `fill` and `center`."""
    _FILL.check("fill", fill)
    _CENTER.check("center", center)


def check_fillable(viewers: Ratings, fill: str) -> None:
    """Raise for viewers without ratings if their ratings are to fill gaps."""
    if fill not in ("median", "mean"):
        return
    for viewer, count in zip(viewers.users.tolist(), viewers.per_user, strict=True):
        if count == 0:
            raise refusal("references", "have ratings to fill gaps with", f"none of {viewer!r}")


def viewer_table(
    ratings: Ratings, viewers: Ratings, selected: Ratings, fill: str, center: str | float | None
) -> Floats:
    """Return the ratings of viewers, one row per item and one column per viewer.

    `viewers` has all their ratings, `selected` those of the items in the table;
    `ratings` are those of all people, for their middle.
    """
    centres: Floats = np.zeros(viewers.n_users)
    if center == "viewer":
        centres = _per_viewer(viewers, np.mean)
    elif center == "middle":
        centres += (ratings.csr.data.min() + ratings.csr.data.max()) / 2.0
    elif center is not None:
        centres += float(center)
    X = selected.matrix().T
    X -= centres
    fills: Floats = np.zeros(X.shape[1])
    if fill in ("median", "mean"):
        statistic = np.median if fill == "median" else np.mean
        fills = _per_viewer(viewers, statistic) - centres
    elif fill == "abstain":
        fills[:] = np.nan
    return np.ascontiguousarray(np.where(np.isnan(X), fills, X))


def check_ratings(ratings: object) -> None:
    """Raise unless these are `Ratings`, with a hint how to get them."""
    if not isinstance(ratings, Ratings):
        hint = ""
        if isinstance(getattr(ratings, "ratings", None), Ratings):
            hint = " They are in its .ratings: give these."
        elif hasattr(ratings, "columns") or hasattr(ratings, "column_names"):
            hint = (
                " Make them of a frame with Ratings.from_frame(frame, user=, item=, "
                "rating=), which takes the names of its columns."
            )
        raise refusal(
            "ratings",
            "be Ratings",
            f"an object of type {type(ratings).__name__}",
            hint=hint,
            error=TypeError,
        )


def _per_viewer(viewers: Ratings, statistic: Callable[[Floats], float]) -> Floats:
    """Return a statistic of all ratings of each viewer; 0 if there are none."""
    rows = np.split(viewers.csr.data, viewers.csr.indptr[1:-1])
    return np.array([statistic(row) if len(row) else 0.0 for row in rows])
