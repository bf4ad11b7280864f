"""From columns of users, items and ratings to a table of ratings."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from peckorder.feedback import Ratings
from peckorder.tables.columns import Columns, counted, numeric
from peckorder.tables.task import Task


def ratings_of(columns: Columns, task: Task) -> tuple[Ratings, tuple[str, ...]]:
    """Return the ratings of a file, and what is to be said of its rows.

    Rows without an id or a rating are left out; of two ratings of the same item by the
    same person the later row counts.

    Examples
    --------
    >>> import numpy as np
    >>> from peckorder.tables.columns import Columns
    >>> from peckorder.tables.ratings import ratings_of
    >>> from peckorder.tables.task import recognise
    >>> rows = {"user": [1, 1, 2], "item": [7, 7, 7], "rating": [1.0, 5.0, 3.0]}
    >>> table = Columns({k: np.array(v) for k, v in rows.items()}, "given.csv")
    >>> ratings, notes = ratings_of(table, recognise(table))
    >>> ratings.csr.toarray().ravel().tolist(), notes
    ([5.0, 3.0], ('1 rating was given again later: the last one counts.',))
    """
    user, item = columns.arrays[str(task.user)], columns.arrays[str(task.item)]
    value = columns.arrays[task.target].astype(np.float64)
    known = np.isfinite(value) & _given(user) & _given(item)
    notes = list(columns.notes)
    if not known.all():
        lacking = counted(int((~known).sum()), "row lacks", "rows lack")
        notes.append(f"{lacking} an id or a rating: left out.")
    ratings = Ratings(user[known], item[known], value[known], duplicates="last")
    again = int(known.sum()) - len(ratings)
    if again:
        given = "1 rating was" if again == 1 else f"{again:,} ratings were"
        notes.append(f"{given} given again later: the last one counts.")
    return ratings, tuple(notes)


def _given(array: NDArray[Any]) -> NDArray[np.bool_]:
    if numeric(array):
        return np.isfinite(array.astype(np.float64))
    return np.array([value is not None for value in array.tolist()])
