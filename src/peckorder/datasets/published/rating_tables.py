"""Matrices of ratings, of users and Netflix's."""

import numpy as np
from sklearn.utils import Bunch

from peckorder._core.errors import caller, entry, named, refusal
from peckorder._core.text_files import Source, check_source, read_text, shown
from peckorder._core.typing import Floats
from peckorder._core.validation import finite
from peckorder.datasets.fetching.folders import Folder, require
from peckorder.datasets.fetching.publishers import PUBLISHED, check_facts, ratings_facts
from peckorder.feedback import Ratings

_NETFLIX = PUBLISHED["netflix_subset"]


@entry
def load_netflix_matrix(folder: Folder = None) -> Bunch:
    """Read a 1200 x 1200 matrix of Netflix-style ratings: 1,111,768 from 1 to 5.

    Parameters
    ----------
    folder : path, default=None
        Where ``netflix_subset`` is, or its file `netflix_1200x1200.txt`, also with
        ``.gz``. None: PECKORDER_DATA, then the cache.

    Returns
    -------
    bunch : Bunch
        `ratings`, a `Ratings` whose ids are the numbers of rows and columns from 0 on,
        and their `scale`. That they are Netflix's is known from the file name only.

    See Also
    --------
    load_ratings_matrix : Any such file.

    Examples
    --------
    >>> from peckorder.datasets import load_netflix_matrix
    >>> movies = load_netflix_matrix()  # doctest: +SKIP
    """
    found = require(_NETFLIX, ("netflix_1200x1200.txt",), folder)
    scale = (1.0, 5.0)
    with found.open() as file, named(f"{caller()}, {found.name}"):
        ratings = _matrix(file, 0.0, scale, None)
    facts = ratings_facts(ratings, "items")
    check_facts(found.name, _NETFLIX.facts, facts)
    return Bunch(ratings=ratings, scale=scale)


@entry
def load_ratings_matrix(
    path: Source,
    *,
    missing: float = 0.0,
    scale: tuple[float, float] | None = None,
    sep: str | None = None,
) -> Ratings:
    r"""Read a matrix of ratings, one line per user and one column per item.

    Parameters
    ----------
    path : path or file
        Decompressed if it is a gzip file.
    missing : float, default=0
        The value of missing ratings.
    scale : (lowest, highest), default=None
        Ratings outside this range are an error.
    sep : str, default=None
        The separator of numbers. None: spaces and tabs.

    Returns
    -------
    ratings : Ratings
        The ids are the numbers of rows and columns from 0 on.

    Raises
    ------
    DataError
        For the first malformed line, with its number.

    Examples
    --------
    >>> import io
    >>> from peckorder.datasets import load_ratings_matrix
    >>> load_ratings_matrix(io.StringIO("5 0 1\n0 0 3\n")).of(1)
    Rated(items=array([2]), values=array([3.]))
    """
    check_source(path)
    finite.check("missing", missing)
    return _matrix(path, missing, scale, sep)


def _matrix(
    path: Source, missing: float, scale: tuple[float, float] | None, sep: str | None
) -> Ratings:
    low, high = scale or (-np.inf, np.inf)
    mark = None if sep is None else sep.encode()
    rows: list[Floats] = []
    number = 0
    for block in read_text(path):
        for line in block.split(b"\n")[:-1]:
            number += 1
            if not line.strip():
                continue
            rule = f"{len(rows[0])} numbers" if rows else "numbers"
            try:
                row = np.array(line.split(mark), dtype=np.float64)
            except ValueError:
                row = np.empty(0)
            if len(row) == 0 or (rows and len(row) != len(rows[0])):
                raise refusal(f"line {number}", f"be {rule}", shown(line))
            is_sound = (row == missing) | ((row >= low) & (row <= high))
            if not (is_sound & np.isfinite(row)).all():
                wrong = row[~(is_sound & np.isfinite(row))][0]
                raise refusal(
                    f"line {number}",
                    f"be ratings from {low:g} to {high:g}, or {missing:g} for none",
                    f"{wrong:g}",
                )
            rows.append(row)
    if not rows:
        raise refusal("path", "hold at least one row", "none")
    return Ratings.from_matrix(np.stack(rows), missing=missing)
