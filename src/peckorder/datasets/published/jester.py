"""Jester: ratings of jokes on a continuous scale, in workbooks."""

import numpy as np
from sklearn.utils import Bunch

from peckorder._core.errors import caller, entry, named, refusal
from peckorder._core.typing import Floats
from peckorder.datasets.fetching.download import fetch
from peckorder.datasets.fetching.folders import Folder, require
from peckorder.datasets.fetching.known_facts import check_facts, ratings_facts
from peckorder.datasets.fetching.publishers import JESTER
from peckorder.datasets.formats.xls import read_xls
from peckorder.feedback import Ratings

_JESTER_SCALE = (-10.0, 10.0)
_NOT_RATED = 99.0
_JESTER_FACTS = {
    "ratings": 4_136_360,
    "users": 73_421,
    "jokes": 100,
    "as lowest": -9.95,
    "as highest": 10.0,
}


@entry
def load_jester(folder: Folder = None) -> Bunch:
    """Read Jester data set 1: 4,136,360 ratings of 100 jokes by 73,421 users.

    Parameters
    ----------
    folder : path, default=None
        Where ``jester`` is, or its files: three workbooks, `jester-data-1.xls` and so
        on, or the zip files with them as they were downloaded. None: PECKORDER_DATA,
        then the cache.

    Returns
    -------
    bunch : Bunch
        `ratings`, a `Ratings` of users 1 to 73,421, in the order of rows of the three
        files, and jokes 1 to 100; their `scale`, -10 to 10.

    Raises
    ------
    MissingDataError
        If a file is not found, with what to get and where to put it.
    DataError
        If the number of ratings of a row is not the one declared, or a rating is
        outside the scale.

    Examples
    --------
    >>> from peckorder.datasets import load_jester
    >>> jokes = load_jester()  # doctest: +SKIP
    """
    return _load_jester(folder)


@entry
def fetch_jester(
    folder: Folder = None, *, url: str | None = None, progress: bool | None = None
) -> Bunch:
    """Download Jester data set 1 unless it exists, and read it.

    Free for research that cites Goldberg, Roeder, Gupta and Perkins, "Eigentaste: A
    Constant Time Collaborative Filtering Algorithm", Information Retrieval 4, 2001.

    Parameters
    ----------
    folder, url, progress
        As in `fetch_movielens_100k`.

    Returns
    -------
    bunch : Bunch
        As of `load_jester`.

    Examples
    --------
    >>> from peckorder.datasets import fetch_jester
    >>> jokes = fetch_jester()  # doctest: +SKIP
    """
    return _load_jester(fetch(JESTER, folder, url, progress))


def _load_jester(folder: Folder) -> Bunch:
    names = [f"jester-data-{k}.xls" for k in (1, 2, 3)]
    files = [require(JESTER, (name,), folder) for name in names]
    tables = []
    for file in files:
        table = read_xls(file.read())
        with named(f"{caller()}, {file.name}"):
            tables.append(_jokes(table))
    matrix = np.concatenate(tables)
    ratings = Ratings.from_matrix(
        matrix,
        missing=_NOT_RATED,
        users=np.arange(1, len(matrix) + 1),
        items=np.arange(1, matrix.shape[1] + 1),
    )
    values = ratings.csr.data
    facts = ratings_facts(ratings, "jokes") | {
        "as lowest": float(values.min()),
        "as highest": float(values.max()),
    }
    check_facts(JESTER.title, _JESTER_FACTS, facts)
    return Bunch(ratings=ratings, scale=_JESTER_SCALE)


def _jokes(table: Floats) -> Floats:
    """Return the ratings of a workbook; raise for a contradictory row."""
    if table.shape[1] != 101:
        raise refusal("a row", "have 101 columns, the first a count", table.shape[1])
    count, matrix = table[:, 0], table[:, 1:]
    low, high = _JESTER_SCALE
    is_rating = (matrix >= low) & (matrix <= high)
    is_sound = (is_rating | (matrix == _NOT_RATED)).all(axis=1)
    if not is_sound.all():
        row = int(np.argmin(is_sound))
        value = matrix[row][~is_rating[row] & (matrix[row] != _NOT_RATED)][0]
        raise refusal(f"row {row + 1}", "have ratings from -10 to 10, or 99 for none", f"{value:g}")
    is_counted = is_rating.sum(axis=1) == count
    if not is_counted.all():
        row = int(np.argmin(is_counted))
        raise refusal(
            f"row {row + 1}",
            f"have as many ratings as it says, {count[row]:g}",
            is_rating[row].sum(),
        )
    return matrix
